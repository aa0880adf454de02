"""Accesses that are not aligned: the emulated core counts what each takes more, and no bound of translated code is below that."""
from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Hook
from lpn.compiler.helpers import HELPERS
from lpn.compiler.image import Flag, Image, Kind
from lpn.compiler.isa import decode
from lpn.compiler.target import WINDOW
from lpn.runtime.engines import DEFAULT_FUEL, EngineUnavailable, get_engine
from lpn.verifier import LPN, analyse
from lpn.verifier.certificate import Certificate
from lpn.verifier.cost import load
from lpn.verifier.wcet import time_of

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.runtime.m3 import firmware, hooks                        # noqa: E402
from lpn.runtime.m3.code_costs import CodeCosts                    # noqa: E402
from lpn.runtime.m3.core import ACCESSES, HEAP, PAGE, Core         # noqa: E402
from lpn.runtime.m3.engine import Thumb2Program                    # noqa: E402
from lpn.runtime.m3.timing import unaligned_cycles                 # noqa: E402

#: DDI 0337, 3.3.2: cycles more by an access's octets and its address modulo 4.
MORE = {1: (0, 0, 0, 0), 2: (0, 1, 0, 1), 4: (0, 2, 1, 2)}
WIDTHS = {1: ("peek_byte", "poke_byte"), 2: ("peek_half", "poke_half"), 4: ("peek", "poke")}
RECORD, STATE, FRAME, STACK = 64, 32, bytes(range(40)), 64


@pytest.fixture(scope="module")
def small() -> Core:
    return Core(firmware.read(firmware.build("timing", [Path(__file__).parent / "m3_timing.s"])))


def cycles(core: Core, name: str, *arguments: int) -> int:
    core.forget()
    core.call(name, *arguments)
    return core.count().cycles


def test_the_hook_compiles_without_a_warning():
    assert hooks.build("m3", ACCESSES, strict=True).exists()


@pytest.mark.parametrize("octets", WIDTHS)
def test_the_core_counts_by_the_address(small, octets):
    """At pages of the emulator, too, where it makes several accesses of one."""
    content = bytes(range(1, 9))
    for base, at in product((HEAP + 64, HEAP + PAGE - 4, HEAP + 4 * PAGE - 4), range(8)):
        small.write(base, content + bytes(8))
        peek, poke = WIDTHS[octets]
        assert cycles(small, peek, base + at) - cycles(small, peek, HEAP) == MORE[octets][at % 4] == unaligned_cycles(base + at, octets)
        assert small.call(peek, base + at) == int.from_bytes((content + bytes(8))[at:at + octets], "little")
        assert cycles(small, poke, base + at, 0x44332211) - cycles(small, poke, HEAP) == MORE[octets][at % 4]
        assert small.read(base + at, octets) == b"\x11\x22\x33\x44"[:octets]


def test_what_is_not_executed_accesses_nothing(small):
    """Inside an IT block, and the block behind it is executed as ever."""
    for argument, more in ((5, 2), (6, 0)):
        assert cycles(small, "peek_if", HEAP + 1, argument) - cycles(small, "peek_if", HEAP, argument) == more
    assert small.call("in_it_block", HEAP, 1) == 9


# Translated code -------------------------------------------------------------------------------------
SUFFIX = {1: "u8", 2: "u16", 4: "u32"}
#: Region -> what leaves its address in r2, and offsets of accesses that lie inside; the packet is read in its window, too.
REGIONS = {"pkt": ("r2 = *(u64 *)(r1 + 0)", 64 - 4), "rec": ("r2 = *(u64 *)(r1 + 16)", RECORD - 4), "state": ("r2 = *(u64 *)(r1 + 24)", STATE - 4),
           "out": ("r2 = *(u64 *)(r1 + 32)", 60), "stack": (f"r2 = r10\nr2 += -{STACK}", STACK - 4)}


class Translated:
    """A container of these lines, its bound, and its runs."""

    def __init__(self, lines: str) -> None:
        text = assemble(lines)
        report, self.analysis = analyse(text, LPN, record_size=RECORD, state_size=STATE)
        assert report.accepted, report.message
        self.costs = CodeCosts(text, report.clean32, report.stack, load("thumb2"))
        self.time = time_of(self.analysis, self.costs, {h.number: (h.name, h.cost_cycles) for h in HELPERS})
        calls = not report.clean32 or any(insn.is_call or insn.is_atomic for insn in decode(text))
        self.chain = load("thumb2").chain_of(RECORD, [report.output], calls=calls)
        image = Image("m", Kind.PROCESSOR, text, flags=Flag.CLEAN32 if report.clean32 else Flag(0), record_size=RECORD, state_size=STATE, record_hash=1, state_hash=1,
                      stack_used=report.stack, out_size=report.output)
        bundle = Bundle("p", 1, (image,), (Hook("radio.rx_done", ("m",)),), record_size=RECORD, record_hash=1, state_size=STATE, state_hash=1)
        self.program = Thumb2Program(bundle, DEFAULT_FUEL)

    @property
    def more(self) -> int:
        """Cycles of the bound for accesses that are not aligned."""
        aligned = replace(self.analysis, aligned=dict.fromkeys(self.analysis.aligned, 4))
        return self.time.worst - time_of(aligned, self.costs, {}).worst

    def run(self, place: int = 0) -> int:
        """Cycles, within the bounds."""
        self.program.place_packet(place)
        result = self.program.run(FRAME)
        assert result.fault is None
        assert self.time.best <= result.cycles and result.flash_cycles <= self.time.worst + self.chain.most
        return result.cycles


@given(st.lists(st.tuples(st.sampled_from([*REGIONS]), st.booleans(), st.sampled_from([*SUFFIX]), st.integers(0, 60), st.booleans()), max_size=12))
@settings(max_examples=60, deadline=None)
def test_no_run_is_above_its_bound_wherever_the_packet_begins(accesses):
    """Loads and stores of all widths in all regions, at offsets that are known and such as an octet of the packet says. What the bound has more is what
    the width takes at most, or what it takes there where that is known; what a run has more by where the packet begins is what the addresses say."""
    lines, said = [f"*(u64 *)(r10 - {at}) = 0" for at in range(8, STACK + 1, 8)], 0
    in_packet = [(4, len(FRAME)), (4, len(FRAME) + WINDOW - 4)]             # the engine zeroes the window by words, the first and last wherever they lie
    for region, write, octets, at, vague in accesses:
        address, last = REGIONS[region]
        at = min(at, last - 3)
        lines.append(address)
        if vague:                               # each octet is its place: it is at % 4, and nobody knows
            lines += [f"r2 += {at}", "r3 = *(u64 *)(r1 + 0)", f"r3 = *(u8 *)(r3 + {at % 4})", "w3 &= 3", "r2 += r3"]
        place = f"*({SUFFIX[octets]} *)(r2 + {0 if vague else at})"
        lines.append(f"{place} = 0" if write and region != "pkt" else f"r2 = {place}")     # a sum and a load may be one instruction
        said += max(MORE[octets]) if vague or region == "pkt" else MORE[octets][at % 4]
        if region == "pkt":
            in_packet.append((octets, at + at % 4 * vague))
    program = Translated("\n".join([*lines, "r0 = 0", "exit"]))
    assert program.more == said
    took = [program.run(place) for place in range(4)]
    more = [sum(MORE[octets][(at + place) % 4] for octets, at in in_packet) for place in range(4)]
    assert [cycles - took[0] for cycles in took] == [each - more[0] for each in more]


def test_a_stack_of_any_size_leaves_sp_at_words():
    """An image may say that it uses 61 octets: the checker takes whole words, and so does the translator. Once it took 61 off sp, which has no such value."""
    certificate = Certificate(2, 60, [], []).to_bytes()
    image = Image("m", Kind.PROCESSOR, assemble("w0 = 0\nexit"), certificate=certificate, flags=Flag.CLEAN32 | Flag.CERTIFIED)

    def code(stack: int) -> bytes:
        bundle = Bundle("p", 1, (replace(image, stack_used=stack),), (Hook("radio.rx_done", ("m",)),))
        program = Thumb2Program(bundle, DEFAULT_FUEL)
        assert not program.vouched
        return program.translated[0].code

    assert [code(stack) for stack in (57, 61, 63)] == [code(64)] * 3 and code(64) != code(56)
