"""What a buffer's helpers take: rows of verifier/costs/*.json, measured on the emulated core.

A piece that is put either belongs to an entry that is there, perhaps as the last one that lacks, or makes what has waited longest give way: no
call does both. So each is a way of its own, with its own growth, and the longer one counts.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import ceil

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Hook
from lpn.compiler.bundle_parts import Buffer
from lpn.compiler.helpers import BY_NAME, which
from lpn.compiler.image import Flag, Image, Kind
from lpn.compiler.slowest.buffers import DROP, HOLD, PUT, TAKE, Buffers
from lpn.runtime.engines import DEFAULT_FUEL
from lpn.verifier.cost import UNIT, TableSize, buffer_way

from .core import CODE, CODE_SIZE, Core
from .engine import M3Program, Thumb2Program
from .firmware import Firmware
from .host import WINDOW
from .linked import Linked
from .timing import UNALIGNED

#: Helper -> ways in which `filled` of compiler/slowest/buffers.py fills a buffer for it.
WAYS = {"buffer_put": (2, 1), "buffer_hold": (1,), "buffer_take": (1,), "buffer_drop": (1,)}
CALLS = {"buffer_put": PUT, "buffer_hold": HOLD, "buffer_take": TAKE, "buffer_drop": DROP}
STACK = 96                      #: octets, of a container that calls one
TIMEOUT = 1 << 30                               #: microseconds until an entry is too old: it is looked at, and stays
#: Cycles more where it does not lie at words: of a unit that is put, copied by words; of a key, copied into an entry.
ALIGN_PUT, ALIGN_KEY = UNIT // 4 * 2 * UNALIGNED[4], 64 // 4 * 2 * UNALIGNED[4]
EMPTY = "w0 = 0\nexit"
IDLE = f"if r1 != 0 goto +1\ncall 2\n{EMPTY}"      #: could call, and never does
KEYS = 1, 3, 4, 16, 64                          #: octets of keys


@dataclass(frozen=True)
class Case:
    """Entries of a buffer, octets of a key and of an entry, octets that are put: from the output, and from the packet."""

    entries: int = 4
    key: int = 4
    size: int = 512
    head: int = 0
    length: int = 64

    @property
    def piece(self) -> int:
        return self.head + self.length

    @property
    def said(self) -> TableSize:
        """What a row is told of it."""
        return TableSize(self.entries, self.key, octets=self.size, piece=self.piece)


CASES = [Case(*each) for each in product((1, 4, 16), (1, 3, 18, 64), (64, 1280), (0,), (8, 64))] + [
    Case(*each) for each in ((4, 20, 1288, 256, 96), (4, 20, 2048, 3, 1021), (1, 1, 8, 0, 8), (4, 20, 1280, 0, 1280),
                                (2, 5, 2048, 0, 2048), (4, 20, 1288, 200, 0), (32, 1, 64, 0, 64))]


class Measurement:
    """On cores that are new each time, of translated code."""
    engine: type[M3Program] = Thumb2Program

    def image(self, text: bytes) -> Image:
        return Image("m", Kind.PROCESSOR, text, flags=Flag.CLEAN32, stack_used=STACK)

    def core(self) -> Core:
        return Core(window=WINDOW)

    def run(self, source: str, case: Case, way: tuple[str, int] | None = None) -> Linked:
        """A chain of one container, at most, without its translated code; the buffer filled for a helper's call."""
        buffer = Buffer("b", case.size, case.entries, (8 * case.key,), TIMEOUT)
        bundle = Bundle("p", 1, (self.image(assemble(source)),), (Hook("radio.rx_done", ("m",)),), buffers=(buffer,))
        program = self.engine(bundle, DEFAULT_FUEL, core=self.core())
        host, core = program.host, program.host.core
        buffers = Buffers(core, [buffer])

        host.run(bytes(case.length))
        for _ in host.completions():
            pass
        if way is not None:
            buffers.fill({0: (buffers.asked[0], way[1])})
        core.forget()
        host.run(bytes(case.length))
        return core.worst(apart=(CODE, CODE + CODE_SIZE))

    def source(self, way: int, case: Case, call: str) -> str:
        """A container that only does this call."""
        offset = case.size - case.piece if way == 2 else 0
        words = [offset, case.size, case.head, 0, case.length]
        return "\n".join([*(f"*(u64 *)(r10 - {at}) = -1" for at in range(32, STACK + 1, 8)),
                          *(f"*(u32 *)(r10 - {24 - 4 * i}) = {n}" for i, n in enumerate(words)),
                          f"w1 = {which(0, case.key, 20)}\nr2 = r10\nr2 += -{STACK}\nr3 = r10\nr3 += -24\n{call}", EMPTY])

    def call(self, name: str, way: int, case: Case) -> Linked:
        """The helper's call, as the chain takes longer with it."""
        return self.run(self.source(way, case, f"call {BY_NAME[name].number}"), case, (name, way)) - self.run(IDLE, case)

    def way(self, name: str, way: int) -> list[int]:
        """What it takes at most, as cost.py has it."""
        @cache
        def call(case: Case) -> Linked:
            return self.call(name, way, case)

        def slope(few: Case, many: Case, by: int) -> Linked:
            return (call(many) - call(few)) / by
        per_entry = {key: slope(Case(1, key), Case(17, key), 16).most for key in KEYS}
        per_byte = ((slope(Case(1, 64), Case(17, 64), 16) - slope(Case(1, 4), Case(17, 4), 16)) / 60).most
        key = (slope(Case(1, 4), Case(1, 64), 60)).most - per_byte
        units = [slope(Case(size=256), Case(size=size), (size - 256) // UNIT).most for size in (1024, 1984)]
        puts = [slope(Case(size=1984), Case(size=1984, length=length), (length - 64) // UNIT).most for length in (256, 1024)]
        growth = [0, ceil(max(0, key)), ceil(max(each - size * ceil(per_byte) for size, each in per_entry.items())), ceil(per_byte),
                  ceil(max(0, *units)), ceil(max(0, *puts))]
        growth[0] = ceil(max(call(case).most - buffer_way(growth, case.said) for case in CASES))
        return growth


class Interpreted(Measurement):
    """Of an interpreter of containers that are certified, and its own `move` of a register. `certify`: makes a container's certificate."""
    engine = M3Program

    def __init__(self, firmware: Firmware, certify: Callable[[bytes], bytes], move: Linked) -> None:
        self.firmware, self.certify, self.move = firmware, certify, move

    def image(self, text: bytes) -> Image:
        return replace(super().image(text), certificate=self.certify(text), flags=Flag.CLEAN32 | Flag.CERTIFIED)

    def core(self) -> Core:
        return Core(self.firmware, window=WINDOW)

    def call(self, name: str, way: int, case: Case) -> Linked:
        """As it takes longer than a move in its place."""
        called = self.run(self.source(way, case, f"call {BY_NAME[name].number}"), case, (name, way))
        return called - self.run(self.source(way, case, "r0 = r10"), case) + self.move

    def beyond(self, name: str) -> int:
        """What the way to the helper and back takes more than that of translated code, which `ways` have, or less: then it is negative. It is the same for each
        case but for what `ways` are above it."""
        return ceil(max(self.call(name, way, case).most - buffer_way(growth, case.said)
                        for way, growth in zip(WAYS[name], aligned()[name]) for case in CASES[::5]))


@cache
def aligned() -> dict[str, list[list[int]]]:
    """Of each helper of buffers, called from translated code, where all lies at words."""
    measurement = Measurement()
    return {name: [measurement.way(name, way) for way in each] for name, each in WAYS.items()}


@cache
def ways() -> dict[str, list[list[int]]]:
    """The same wherever it lies. An interpreter calls the same functions: what the way there takes more comes on top."""
    def anywhere(name: str, growth: list[int]) -> list[int]:
        copies = CALLS[name] in (PUT, HOLD)
        return [growth[0] + copies * ALIGN_KEY, *growth[1:5], growth[5] + copies * ALIGN_PUT]
    return {name: [anywhere(name, growth) for growth in each] for name, each in aligned().items()}
