"""Bare bytecode on the emulated core: as `lpn.runtime.raw` on the host."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from lpn.runtime.engines import DEFAULT_FUEL, check_meta
from lpn.runtime.memory import Regions
from lpn.runtime.raw import RawResult, raw_result

from .core import Core, Count
from .firmware import Firmware
from .host import M3Host


CLEAN32, CERTIFIED, SINGLY = 1, 2, 4    #: as lpn_host_raw has them
GAP = 16                        #: bytes that belong to no region


class M3Buffer:
    """Bytes in the core's memory, 8-aligned, zeroed, with a gap behind them; every address there has 32 bits."""

    def __init__(self, core: Core, size: int, content: bytes = b"", *, low: bool = False) -> None:
        self.core, self.size = core, size
        room = max(size, len(content), 1)
        self.address = core.allocate(room + GAP, content.ljust(room, b"\0"))

    def bytes(self) -> bytes:
        return self.core.read(self.address, self.size)


class RawRunner:
    """Runs programs one after the other on the same core. `counting`: keep `count` of the last run's
    instructions, and their `worst` cycles. `firmware`: another than the engine as it usually is."""

    def __init__(self, counting: bool = False, firmware: Firmware | None = None) -> None:
        self.core = Core(firmware, window="lpn_execute", counting=counting)
        self.host = M3Host(0, 0, 0, self.core)
        self.count = Count()
        self.worst = 0

    def run(self, text: bytes, *, layout: str = "mem", ctx: bytes = b"", packet: bytes = b"", record_size: int = 0,
            state: bytes = b"", rodata: bytes = b"", data: bytes = b"", meta: Mapping[str, int] | None = None,
            fuel: int = DEFAULT_FUEL, host: M3Host | None = None, modes: int = 0) -> RawResult:
        """Run `text`; arguments as of `run_raw`. `modes`: CLEAN32, CERTIFIED, SINGLY. `host`: this runner's own, when helper `lookup` is to see its tables."""
        core, mark = self.core, self.core.mark()
        regions = Regions(layout, ctx, packet, record_size, state, rodata, data, check_meta(meta),
                          functools.partial(M3Buffer, core))
        table = b"".join(start.to_bytes(8, "little") + size.to_bytes(4, "little") + access.to_bytes(4, "little")
                         for start, size, access in regions.list)
        where = core.allocate(len(table), table)
        code = core.allocate(len(text), text)
        core.forget()
        core.call("lpn_host_raw", code, len(text), where, len(regions.list), regions.rodata.address, len(rodata),
                  regions.data.address, len(data), regions.ctx.address, 0, len(ctx) if layout == "mem" else 0, 0, fuel, modes,
                  host.handle if host else 0, self.host.room("result"))
        self.worst = core.worst()
        self.count = core.count()
        result = self.host.get_struct("result", "lpn_host_raw_result")
        core.release(mark)
        return raw_result(regions, self.host.error_name(result.error), result.r0, result.insns, result.pc)


@functools.cache
def runner() -> RawRunner:
    """One that does not count, for instruction tests."""
    return RawRunner()


def run_raw_m3(text: bytes, **given) -> RawResult:
    """Run `text` in the C engine on the emulated core."""
    return runner().run(text, **given)
