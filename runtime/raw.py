"""Bare bytecode on given memory: for instruction tests and for comparing engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lpn.runtime.engine.native import NativeHost, open_engine
from lpn.runtime.engines import DEFAULT_FUEL, check_meta
from lpn.runtime.memory import Regions


@dataclass(frozen=True)
class RawResult:
    """The end of a run, and the memory as it left it. `r0` is None unless `error` is "ok"."""

    error: str
    r0: int | None
    insns: int | None           #: None when the engine cannot count
    pc: int | None              #: slot of the instruction that failed or was the last
    ctx: bytes
    packet: bytes
    record: bytes
    state: bytes
    out: bytes
    data: bytes


def run_raw(text: bytes, *, layout: str = "mem", ctx: bytes = b"", packet: bytes = b"", record_size: int = 0,
            state: bytes = b"", rodata: bytes = b"", data: bytes = b"", meta: Mapping[str, int] | None = None,
            fuel: int = DEFAULT_FUEL, host: NativeHost | None = None) -> RawResult:
    """Run `text` in the C engine. Layouts: see `Regions`; r2 is the length of `ctx` in layout "mem", else 0.

    `host`: whose tables helper `lookup` sees.
    """
    ffi, lib = open_engine()
    regions = Regions(layout, ctx, packet, record_size, state, rodata, data, check_meta(meta))
    table = ffi.new("lpn_host_region[]", [list(r) for r in regions.list])
    result = ffi.new("lpn_host_raw_result *")
    lib.lpn_host_raw(text, len(text), table, len(regions.list),
                     ffi.cast("uint8_t *", regions.rodata.address), len(rodata),
                     ffi.cast("uint8_t *", regions.data.address), len(data),
                     regions.ctx.address, len(ctx) if layout == "mem" else 0, fuel, 0,
                     host.handle if host else ffi.NULL, result)
    name = ffi.string(lib.lpn_error_name(result.error)).decode()
    return raw_result(regions, name, result.r0, result.insns, result.pc)


def raw_result(regions: Regions, error: str, r0: int, insns: int | None, pc: int | None) -> RawResult:
    """The result with the memory as it is now."""
    return RawResult(error, r0 if error == "ok" else None, insns, pc, regions.ctx.bytes(),
                     regions.packet.bytes(), regions.record.bytes(), regions.state.bytes(),
                     regions.out.bytes(), regions.data.bytes())
