"""Copies of what has any size: no room is asked for where a deparser cannot emit more than the buffer holds, and up to its last octet they are right."""
from __future__ import annotations

import pytest
from programs import chain, program

from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.judge import sealed
from lpn.compiler.runner import make_runner

VARIANTS = (Variant("engine"), Variant("engine", True), Variant("engine", False, SMALL), Variant("engine", True, SMALL), Variant("rbpf"))
TYPES = """
header First  {{ bit<16> kind; bit<8> n in 0..{first}; varbit<{first} * 8> v sized (8 * (bit<16>) n); }}
header Second {{ bit<8> n; bit<8> more when (n == 7); varbit<{second} * 8> v sized (8 * (bit<16>) n); }}
header Word   {{ bit<16> x; }}
""".replace("in 0..{first}", "in {{ {numbers} }}").replace("{first} * 8", "{first_bits}").replace("{second} * 8", "{second_bits}")


def text(first: int, second: int, emits: str = "pkt.emit(h.w); pkt.emit(h.a); pkt.emit(h.b); pkt.emit(h.w);", change: str = "") -> str:
    types = TYPES.format(first=first, second=second, numbers=", ".join(map(str, range(first + 1))), first_bits=8 * first, second_bits=8 * second)
    return chain("First a; Second b; Word w;", "state start { pkt.extract(h.a); pkt.extract(h.b); transition accept; }", emits, types,
                 f"apply {{ h.w.setValid(); h.w.x = h.a.kind; {change} m.verdict = TRANSMIT; }}")


def frame(first: int, second: int, payload: int = 3) -> bytes:
    return bytes([1, 2, first, *(7 * k & 255 for k in range(first)), second, *([9] if second == 7 else []), *(5 * k & 255 for k in range(second + payload))])


#: Octets of the two varbits at most; with the rest, 10 octets, they fill the buffer, all but some octets of it, or more.
SIZES = [(1, 1), (4, 16), (16, 17), (17, 64), (61, 63), (64, 15), (100, 146), (100, 145), (100, 144), (101, 142), (103, 141), (120, 125), (120, 127), (120, 128), (200, 255)]


@pytest.mark.parametrize("first, second", SIZES)
def test_octets_of_any_number(first: int, second: int) -> None:
    numbers = [(a, b) for a in {0, 1, 2, 3, 5, first - 1, first} if a <= first for b in {0, 1, 3, 4, 7, second - 2, second - 1, second} if 0 <= b <= second]
    given = [frame(a, b, k) for a, b in sorted(numbers) for k in ((0, 9) if (a, b) == (first, second) else (2,))]
    for emits, change in (("pkt.emit(h.w); pkt.emit(h.a); pkt.emit(h.b); pkt.emit(h.w);", ""),
                          ("pkt.emit(h.b); pkt.emit(h.w); pkt.emit(h.a);", "h.b.n = h.b.n + 0; if (h.a.kind == 3) { h.a.setInvalid(); }")):
        run_case(Case(Program(text(first, second, emits, change), {}, False), [(one, {}) for one in given]), VARIANTS)


def measured(first: int, second: int, level) -> tuple[int, list[int]]:
    """Slots, and instructions executed for packets that have more and more octets."""
    checked = program(text(first, second))
    compiled = compile_program(checked, fuse=True, level=level)
    [(container, report)] = sealed(compiled)
    assert report.accepted
    engine, reference = make_runner("engine", checked, compiled=compiled), make_runner("reference", checked)
    found = []
    for one in (frame(0, 0), frame(4, 5), frame(8, 31)):
        result = engine.run(one)
        assert result.verdict == "TRANSMIT" and result.out == reference.run(one).out
        found.append(result.insns)
    return container.instructions, found


@pytest.mark.parametrize("level, slots, executed", [(2, 68, (60, 73, 151)), (SMALL, 67, (65, 78, 156))])
def test_what_copies_cost(level, slots: int, executed: tuple[int, ...]) -> None:
    """With a test of the room in each turn, and of the packet's end, they were 99 slots and 64 to 187 instructions, and with -Os 110 and 79 to 208."""
    found = measured(8, 32, level)
    assert found[0] <= slots and all(one <= most for one, most in zip(found[1], executed)), found
