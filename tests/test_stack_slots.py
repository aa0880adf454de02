"""Values that are not needed together share bytes of the stack, numbers of 32 bits take four; the meaning stays."""
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler import build
from lpn.compiler.asm import assemble
from lpn.compiler.build import compile_program
from lpn.compiler.forms import MOST, SMALL, Level
from lpn.compiler.fuzz.differential import Variant, load_case, run_case
from lpn.compiler.passes.stack_slots import with_less_stack
from lpn.compiler.stack import stack_used, variable_octets
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.runtime.raw import run_raw

CONSTRUCTS = Path(__file__).parent / "constructs"
BIG = "r6 = 0x1122334455667788 ll\n"
FORMS = {
    "one after the other": (BIG + "*(u64 *)(r10 - 8) = r6\nr0 = *(u64 *)(r10 - 8)\n*(u64 *)(r10 - 16) = r0\nr1 = *(u64 *)(r10 - 16)\nr0 += r1\nexit", 8),
    "both at once": (BIG + "*(u64 *)(r10 - 8) = r6\n*(u64 *)(r10 - 16) = r6\nr0 = *(u64 *)(r10 - 8)\nr1 = *(u64 *)(r10 - 16)\nr0 += r1\nexit", 16),
    "numbers of 32 bits": (
        "w6 = 7\nw7 = w6\nw7 += 1\n*(u64 *)(r10 - 8) = r6\n*(u64 *)(r10 - 16) = r7\nr0 = *(u64 *)(r10 - 8)\nr1 = *(u64 *)(r10 - 16)\nr0 += r1\nexit", 8),
    "one that comes from the other": (
        "w6 = 7\n*(u64 *)(r10 - 8) = r6\nr7 = *(u64 *)(r10 - 8)\n*(u64 *)(r10 - 16) = r7\nr0 = *(u64 *)(r10 - 8)\nr1 = *(u64 *)(r10 - 16)\nr0 += r1\nexit", 8),
    "a place of two values": (BIG + "*(u64 *)(r10 - 8) = r6\nr0 = *(u64 *)(r10 - 8)\nw7 = 9\n*(u64 *)(r10 - 8) = r7\n*(u32 *)(r10 - 16) = w7\n"
                              "r1 = *(u64 *)(r10 - 8)\nr0 += r1\nw1 = *(u32 *)(r10 - 16)\nr0 += r1\nexit", 8),
    "written in parts": ("w6 = 7\n*(u32 *)(r10 - 24) = w6\n*(u32 *)(r10 - 20) = w6\nr0 = *(u64 *)(r10 - 24)\nexit", 8),
    "written on one of two ways": ("w6 = 7\n*(u32 *)(r10 - 24) = w6\nif r6 == 7 goto A\nw6 = 9\n*(u32 *)(r10 - 24) = w6\nA: w0 = *(u32 *)(r10 - 24)\nexit", 4),
    "around a loop": ("w6 = 0\n*(u64 *)(r10 - 16) = r6\nA: r6 = *(u64 *)(r10 - 16)\nw6 += 3\n*(u64 *)(r10 - 16) = r6\nw7 = 5\n*(u64 *)(r10 - 8) = r7\n"
                      "r0 = *(u64 *)(r10 - 8)\nif r6 < 30 goto A\nr1 = *(u64 *)(r10 - 16)\nr0 += r1\nexit", 8),
    "what has an address, and all above it": ("w6 = 7\n*(u64 *)(r10 - 8) = r6\n*(u64 *)(r10 - 16) = r6\n*(u64 *)(r10 - 32) = r6\nr1 = r10\nr1 += -16\n"
                                              "r0 = *(u64 *)(r1 + 8)\nr2 = *(u64 *)(r10 - 32)\nr0 += r2\nexit", 20),
    "what has an address, and bytes below it in one number with it": (
        BIG + "*(u64 *)(r10 - 16) = r6\nr1 = r10\nr1 += -12\nr0 = *(u32 *)(r1 + 0)\nr2 = *(u64 *)(r10 - 16)\nr0 += r2\nexit", 16),
    "two numbers of 32 bits, read as parts of both": (
        "w6 = 7\n*(u64 *)(r10 - 16) = r6\nw7 = 9\n*(u64 *)(r10 - 8) = r7\nr0 = *(u64 *)(r10 - 12)\nexit", 16),
    "r10 in another way": ("w6 = 7\n*(u64 *)(r10 - 32) = r6\nr1 = r10\nr0 = 1\nr1 += -32\nr0 = *(u64 *)(r1 + 0)\nexit", 32),
}


@pytest.mark.parametrize("name", FORMS)
def test_takes(name: str) -> None:
    text, most = assemble(FORMS[name][0]), FORMS[name][1]
    less, _ = with_less_stack(text, [], 0)
    assert run_raw(less).r0 == run_raw(text).r0
    assert stack_used(less) == most and len(less) == len(text)


def test_variables_with_addresses_stay() -> None:
    text = assemble("w6 = 7\n*(u64 *)(r10 - 16) = r6\n*(u64 *)(r10 - 40) = r6\nr1 = r10\nr1 += -16\nr0 = *(u64 *)(r10 - 40)\nexit")
    assert stack_used(with_less_stack(text, [], 0)[0]) == 20 and stack_used(with_less_stack(text, [], 24)[0]) == 28
    assert variable_octets("  %a = alloca i1, align 1\n  %b = alloca [20 x i8], align 8\n  %c = alloca ptr, align 8\n") == 8 + 24 + 8


SIZES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


@st.composite
def codes(draw) -> str:
    """Stores, loads of what is written on every way, branches ahead."""
    lines = [f"r{r} = {draw(st.integers(0, 1 << 40)):#x} ll" for r in (6, 7)] + ["w8 = 3", "w9 = 4", "w0 = 0"]
    written: set[int] = set()
    ends: list[tuple[int, set[int]]] = []
    labels = 0
    for at in range(draw(st.integers(4, 40))):
        if ends and ends[-1][0] <= at:
            written = ends.pop()[1]
            lines.append(f"L{labels}: w9 += 1")
            labels += 1
        kind, size, reg = draw(st.integers(0, 4)), draw(st.sampled_from(list(SIZES))), draw(st.integers(6, 9))
        low = -8 * draw(st.integers(1, 5)) + size * draw(st.integers(0, 8 // size - 1))
        octets = set(range(low, low + size))
        if kind == 0 and not ends:
            ends.append((at + draw(st.integers(1, 4)), set(written)))
            lines.append(f"if r{reg} < {draw(st.integers(0, 9))} goto L{labels}")
        elif kind <= 2:
            lines.append(f"*({SIZES[size]} *)(r10 - {-low}) = {'r' if size == 8 else 'w'}{reg}")
            written |= octets
        elif octets <= written:
            lines += [f"{'r' if size == 8 else 'w'}{reg} = *({SIZES[size]} *)(r10 - {-low})", f"r0 += r{reg}"]
    if ends:
        lines.append(f"L{labels}: w9 += 1")
    return "\n".join([*lines, "exit"])


@settings(max_examples=150)
@given(codes())
def test_the_meaning_stays(code: str) -> None:
    text = assemble(code)
    less, _ = with_less_stack(text, [], 0)
    assert run_raw(less).r0 == run_raw(text).r0 and stack_used(less) <= stack_used(text)


@pytest.mark.parametrize("name", ["codec-of-a-choice", "stacks-that-move", "wide-products", "lookup-into-the-packet"])
def test_engines_agree_and_the_verifier_accepts(name: str) -> None:
    run_case(load_case(CONSTRUCTS / f"{name}.lpn"), (Variant("engine"), Variant("engine", True), Variant("engine", True, 0), Variant("thumb2", True)))


@pytest.mark.parametrize("level, most", [(MOST, 136), (SMALL, 104)])
def test_every_container_needs_less(level: Level, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one instruction less (a copy is none any more), not only where there is not enough; the stock engine's are as LLVM made them."""
    program = check(load(Path(__file__).parents[1] / "examples" / "udp" / "udp.lpn"))
    [less] = compile_program(program, fuse=True, level=level).containers
    monkeypatch.setattr(build, "with_less_stack", lambda text, lines, variables: (text, lines))
    [plain] = compile_program(program, fuse=True, level=level).containers
    assert stack_used(less.code.text) <= most < 0.75 * stack_used(plain.code.text)
    assert less.instructions == plain.instructions - 1
