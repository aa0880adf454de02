"""What is improved after LLVM: upper halves are cleared by one 32-bit move, results made where they are returned; the meaning stays."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.asm import assemble
from lpn.compiler.build import compile_program
from lpn.compiler.disasm import disassemble
from lpn.compiler.elf import read_object
from lpn.compiler.isa import ALU_OPS, ST, decode
from lpn.compiler.passes import peephole
from lpn.compiler.passes.bit_tests import bit_tests
from lpn.compiler.passes.copies import step_in_place
from lpn.compiler.passes.halves import narrow_swaps
from lpn.compiler.passes.peephole import PASSES, improve
from lpn.compiler.passes.returned import sink_results
from lpn.compiler.passes.rewrite import read, reads_writes, sweep, write
from lpn.compiler.passes.tails import merge_tails
from lpn.compiler.passes.wide_tests import wide_tests
from lpn.runtime.raw import run_raw
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.verify import verify
from programs import example, program

BEGIN = "r1 = 0x1122334455667788 ll\nr2 = r1\nr3 = 7\nr3 *= 1\n"      # r3 is tested, and nobody knows what a product is


def improved(code: str) -> tuple[bytes, bytes, list[str]]:
    """What is behind BEGIN, as it was and improved, which gives the same, and the instructions of that."""
    text = assemble(BEGIN + code)
    better, _ = improve(text, [])
    assert run_raw(better).r0 == run_raw(text).r0
    return text, better, [line.split("  ")[-1].strip() for line in disassemble(better)]


FORMS = {
    "alone": ("r1 <<= 32\nr1 >>= 32\nr0 = r1\nexit", ["w0 = w0"]),
    "of a copy": ("r3 = r1\nr3 <<= 32\nr3 >>= 32\nr0 = r3\nr0 += r1\nexit", ["w0 = w1"]),
    "into another": ("r1 <<= 32\nr3 = r1\nr3 >>= 32\nr0 = r3\nexit", ["w0 = w1"]),
    "into another, and still used": ("r1 <<= 32\nr3 = r1\nr3 >>= 32\nr0 = r3\nr0 += r1\nexit", []),
    "a jump between": ("if r3 == 8 goto B\nr1 <<= 32\nB: r1 >>= 32\nr0 = r1\nexit", []),
    "a jump to the copy": ("r4 = 1\nif r3 == 8 goto B\nr4 = 2\nB: r3 = r1\nr3 <<= 32\nr3 >>= 32\nr0 = r3\nr0 += r4\nexit", ["w0 = w1"]),
    "another distance": ("r1 <<= 32\nr1 >>= 31\nr0 = r1\nexit", []),
    "with the sign": ("r1 <<= 32\nr1 s>>= 32\nr0 = r1\nexit", []),
    "in 32 bits": ("w1 <<= 16\nw1 >>= 16\nr0 = r1\nexit", []),
}


@pytest.mark.parametrize("name", FORMS)
def test_upper_halves(name):
    code, moves = FORMS[name]
    text, better, shown = improved("r1 *= 1\n" + code)          # else it is a number that is known
    assert [line for line in shown if line in ("w0 = w0", "w0 = w1", "w1 = w1", "w3 = w1")] == moves
    assert len(better) < len(text) or not moves


STORED = {
    "in halves": ("r1 = 0x1122334455667788 ll\n*(u64 *)(r10 - 16) = r1\nr0 = *(u16 *)(r10 - 12)\nr2 = *(u16 *)(r10 - 16)\nr0 += r2\nexit",
                  ["*(u32 *)(r10 - 0x10) = 0x55667788", "*(u32 *)(r10 - 0xc) = 0x11223344"]),
    "with its sign": ("r1 = 0xfffffffffffffff7 ll\n*(u64 *)(r10 - 16) = r1\nr0 = *(u64 *)(r10 - 16)\nexit", ["*(u64 *)(r10 - 0x10) = -0x9"]),
    "an upper half alone": ("r1 = 0xfffffffe00000000 ll\n*(u64 *)(r10 - 16) = r1\nr0 = *(u16 *)(r10 - 12)\nexit", ["*(u32 *)(r10 - 0xc) = -0x2"]),
    "used, too": ("r1 = 0x1122334455667788 ll\n*(u64 *)(r10 - 16) = r1\nr0 = *(u16 *)(r10 - 12)\nr0 += r1\nexit",
                  ["r1 = 0x1122334455667788 ll", "*(u32 *)(r10 - 0xc) = 0x11223344"]),
    "read whole": ("r1 = 0x1122334455667788 ll\n*(u64 *)(r10 - 16) = r1\nif w3 == 8 goto B\n*(u64 *)(r10 - 16) = r3\nB: r0 = *(u64 *)(r10 - 16)\nexit",
                   ["*(u64 *)(r10 - 0x10) = r1"]),
    "another number on another way": ("r1 = 0x1122334455667788 ll\nif w3 == 8 goto B\nr1 = 5\nB: *(u64 *)(r10 - 16) = r1\nr0 = *(u32 *)(r10 - 12)\nexit",
                                      ["*(u64 *)(r10 - 0x10) = r1"]),
    "a jump to what stores it": ("r1 = 0x1122334455667788 ll\nB: *(u64 *)(r10 - 16) = r1\nw1 = 1\nr3 += 1\nif w3 < 9 goto B\nr0 = *(u32 *)(r10 - 12)\nexit",
                                 ["*(u64 *)(r10 - 0x10) = r1"]),
}


@pytest.mark.parametrize("name", STORED)
def test_constants_are_stored(name):
    """One of 64 bits needs no register either: with one a container was not 32-bit clean, and had no certificate."""
    code, said = STORED[name]
    text, better, shown = improved(code)
    assert [line for line in said if line not in shown] == [], shown
    assert len(better) <= len(text)


SWAPS = {
    "of 16 bits": ("r1 = *(u16 *)(r10 - 8)\nr1 = be64 r1\nr1 >>= 40\nr0 = r1\nexit", True),
    "of 32 bits": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nr1 >>= 52\nr0 = r1\nexit", True),
    "all of them": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nr1 >>= 32\nr0 = r1\nexit", True),
    "twice shifted": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nr2 = r1\nr2 >>= 54\nr1 >>= 36\nr0 = r2\nr0 += r1\nexit", True),
    "known from another block": ("w1 = w3\nif w3 == 8 goto B\nw1 += 1\nB: r1 = be64 r1\nr1 >>= 48\nr0 = r1\nexit", True),
    "of 64 bits": ("r1 = be64 r1\nr1 >>= 48\nr0 = r1\nexit", True),
    "of 64 bits on one path": ("if w3 == 8 goto B\nw1 = 1\nB: r1 = be64 r1\nr1 >>= 48\nr0 = r1\nexit", True),
    "of ISA v4": ("r1 = bswap64 r1\nr1 >>= 48\nr0 = r1\nexit", True),
    "shifted too little": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nr1 >>= 16\nr0 = r1\nexit", False),
    "used as it is": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nr2 = r1\nr2 >>= 40\nr0 = r1\nr0 += r2\nexit", False),
    "shifted in another block": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nif w3 == 8 goto B\nr1 >>= 40\nB: r1 >>= 48\nr0 = r1\nexit", False),
    "shifted in two blocks": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nif w3 == 8 goto B\nr1 >>= 40\nr0 = r1\nexit\nB: r1 >>= 48\nr0 = r1\nexit", True),
    "with the sign, tested": ("r1 = be64 r1\nr1 s>>= 48\nw0 = 1\nif w1 s< 0 goto B\nw0 = w1\nB: exit", True),
    "with the sign, all of it": ("r1 = be64 r1\nr1 s>>= 48\nr0 = r1\nexit", False),
    "used in another block": ("r1 = *(u32 *)(r10 - 8)\nr1 = be64 r1\nr2 = r1\nr2 >>= 40\nif w3 == 8 goto B\nr2 += r1\nB: r0 = r2\nexit", False),
}


@pytest.mark.parametrize("name", SWAPS)
def test_swaps(name):
    """What LLVM makes of narrow swaps and shifts keeps to 32 bits, and means what it meant."""
    code, narrowed = SWAPS[name]
    text = assemble(BEGIN + "*(u64 *)(r10 - 8) = r1\n" + code)
    better, _ = improve(text, [])
    assert run_raw(better).r0 == run_raw(text).r0
    shown = "".join(disassemble(better))
    assert ("be64" not in shown and "bswap64" not in shown) == narrowed


def test_a_branch_to_what_is_next_anyway():
    """Both its ways are one: nothing is asked, and what was loaded for it is not loaded."""
    text = assemble("r3 = *(u8 *)(r1 + 0)\nr4 = *(u8 *)(r1 + 1)\nif w3 & 1 goto A\nA: r0 = r4\nexit")
    assert [line.split("  ")[-1].strip() for line in disassemble(improve(text, [])[0])] == ["r0 = *(u8 *)(r1 + 0x1)", "exit"]


STORES = {
    "one": ("w1 = 5\n*(u32 *)(r10 - 8) = w1\nr0 = *(u16 *)(r10 - 8)\nexit", 1, 0),
    "two": ("w1 = -1\n*(u16 *)(r10 - 8) = w1\n*(u8 *)(r10 - 5) = w1\nr0 = *(u32 *)(r10 - 8)\nexit", 2, 0),
    "still used": ("r1 = -7\n*(u32 *)(r10 - 8) = w1\nr0 = *(u16 *)(r10 - 8)\nr0 ^= r1\nexit", 1, 1),
    "of 64 bits": ("w1 = -1\n*(u64 *)(r10 - 8) = r1\nr0 = *(u64 *)(r10 - 8)\nexit", 0, 1),
    "of 64 bits without a sign": ("w1 = 7\n*(u64 *)(r10 - 8) = r1\nr0 = *(u64 *)(r10 - 8)\nexit", 1, 0),
    "of 64 bits with it": ("r1 = -1\n*(u64 *)(r10 - 8) = r1\nr0 = *(u64 *)(r10 - 8)\nexit", 1, 0),
    "behind a test": ("w1 = 5\nif w3 == 8 goto B\n*(u32 *)(r10 - 8) = w1\nB: r0 = *(u32 *)(r10 - 8)\nexit", 1, 0),
    "where ways meet": ("w1 = 5\nif w3 == 8 goto B\nw1 = 6\nB: *(u32 *)(r10 - 8) = w1\nr0 = *(u32 *)(r10 - 8)\nexit", 0, 2),
    "changed before": ("w1 = 5\nw1 += 1\n*(u32 *)(r10 - 8) = w1\nr0 = *(u32 *)(r10 - 8)\nexit", 0, 1),
}


@pytest.mark.parametrize("name", STORES)
def test_stores_of_constants(name):
    code, stores, moves = STORES[name]
    text = assemble(BEGIN + "r1 *= 1\n*(u64 *)(r10 - 8) = r1\n" + code)
    better, _ = improve(text, [])
    assert run_raw(better).r0 == run_raw(text).r0
    insns = decode(better)
    assert sum(i.cls == ST for i in insns) == stores
    assert sum(i.is_alu and i.code == ALU_OPS["MOV"] and not i.uses_reg and i.dst < 2 for i in insns) == moves


DIVISORS = {
    "a remainder": ("w0 = w3\nw0 <<= 13\nw4 = 0xffff\nw0 %= w4\nexit", ["w0 %= 0xffff"]),
    "a quotient of 64 bits": ("r0 = r3\nr0 <<= 40\nr4 = 1000\nr0 /= r4\nexit", ["r0 /= 0x3e8"]),
    "with a sign": ("r0 = r3\nr0 -= 99\nr4 = -7\nr0 s/= r4\nexit", ["r0 s/= -0x7"]),
    "one that its sign would change": ("r0 = r3\nr0 <<= 40\nw4 = 0x80000000\nr0 %= r4\nexit", ["r0 %= r4"]),
    "one whose lower half is 0": ("w0 = w3\nr4 = 0x500000000 ll\nw0 /= w4\nexit", ["w0 /= w4"]),
    "0": ("w0 = w3\nw4 = 0\nw0 %= w4\nexit", []),
    "either of two": ("w0 = 200\nw4 = 3\nif w3 == 1 goto B\nw4 = 5\nB: w0 %= w4\nexit", ["w0 %= w4"]),
}


@pytest.mark.parametrize("name", DIVISORS)
def test_a_constant_is_divided_by_without_a_register(name):
    code, said = DIVISORS[name]
    text, better, shown = improved("r3 = *(u8 *)(r1 + 0)\n" + code)
    assert [line for line in said if line not in shown] == [], shown
    assert len(better) <= len(text)
    for first in (0, 1, 3, 99, 128, 255):
        assert run_raw(better, ctx=bytes([first]) * 16).r0 == run_raw(text, ctx=bytes([first]) * 16).r0


RELOADS = {                                     # code, whether the number is made where it was loaded
    "a constant": ("w4 = 0xffff\n*(u32 *)(r10 - 4) = w4\nw4 = w3\nw4 += 7\nw0 = *(u32 *)(r10 - 4)\nw0 %= w4\nexit", True),
    "on one of two ways": ("w4 = -3\n*(u32 *)(r10 - 4) = w4\nif w3 == 8 goto A\nw4 = w3\nA: w0 = *(u32 *)(r10 - 4)\nw0 -= w4\nexit", True),
    "one of two": ("w4 = 5\n*(u32 *)(r10 - 4) = w4\nif w3 == 8 goto A\nw4 = 6\n*(u32 *)(r10 - 4) = w4\nA: w4 = w3\nw0 = *(u32 *)(r10 - 4)\nw0 -= w4\nexit", False),
    "or a number": ("w4 = 5\n*(u32 *)(r10 - 4) = w4\nif w3 == 8 goto A\n*(u32 *)(r10 - 4) = w3\nA: w4 = 3\nw0 = *(u32 *)(r10 - 4)\nw0 -= w4\nexit", False),
    "a part of which is another's": ("w4 = 5\n*(u32 *)(r10 - 4) = w4\nif w3 == 8 goto A\n*(u8 *)(r10 - 3) = w3\nA: w4 = 3\nw0 = *(u32 *)(r10 - 4)\nw0 -= w4\nexit", False),
    "whose address is taken": ("w4 = 5\n*(u32 *)(r10 - 4) = w4\nr5 = r10\n*(u8 *)(r5 - 3) = w3\nw4 = 3\nw0 = *(u32 *)(r10 - 4)\nw0 -= w4\nexit", False),
}


@pytest.mark.parametrize("name", RELOADS)
def test_constants_are_not_reloaded(name):
    code, made = RELOADS[name]
    text, better, shown = improved("w3 = *(u8 *)(r1 + 0)\n" + code)
    assert not any("u32 *)(r10 - 4)" in line or "u32 *)(r10 -0x4)" in line or "r10 - 0x4" in line for line in shown) == made, shown
    for first in (0, 1, 7, 8, 99, 255):
        assert run_raw(better, ctx=bytes([first]) * 16).r0 == run_raw(text, ctx=bytes([first]) * 16).r0


def results(text: bytes, *others: bytes) -> list[tuple[int, int]]:
    """(r0, instructions executed) for each byte in memory."""
    found = [run_raw(text, ctx=given) for given in others]
    return [(r.r0, r.insns) for r in found]


ADDED = {                                       # code, sums that are left
    "one behind the other": ("r4 = r3\nr4 += 2\nr4 += 1\nr4 += 4\nr0 = r4\nexit", ["r0 += 0x7"]),
    "less and more": ("r0 = r3\nr0 += -2\nr0 += 1\nexit", ["r0 += -0x1"]),
    "of 32 bits": ("w0 = w3\nw0 += 0x7fffffff\nw0 += 2\nexit", ["w0 += -0x7fffffff"]),
    "more than stands in an instruction": ("r0 = r3\nr0 += 0x7fffffff\nr0 += 2\nexit", ["r0 += 0x7fffffff", "r0 += 0x2"]),
    "of two widths": ("r0 = r3\nw0 += 1\nr0 += 2\nexit", ["w0 += 0x1", "r0 += 0x2"]),
    "of two registers": ("r0 = r3\nr0 += 1\nr3 += 2\nr0 ^= r3\nexit", ["r0 += 0x1", "r3 += 0x2"]),
    "where ways meet": ("r0 = r3\nif w3 == 8 goto A\nr0 += 1\nA: r0 += 2\nexit", ["r0 += 0x1", "r0 += 0x2"]),
    "a register whose number is known": ("r4 = 3\nif w3 == 8 goto A\nw5 = 4\nr0 = r5\nA: r0 += r4\nexit", ["r0 += 0x3"]),
    "one that is 0": ("w4 = 0\nr0 = r3\nr0 += r4\nexit", []),
    "one with its upper half": ("r4 = 3\nr4 <<= 32\nr0 = r3\nr0 += r4\nexit", ["r0 += r4"]),
    "one of two numbers": ("r4 = 3\nr0 = 9\nif w3 == 8 goto A\nr4 = 4\nr0 = r3\nA: r0 += r4\nexit", ["r0 += r4"]),
}


@pytest.mark.parametrize("name", ADDED)
def test_constants_are_added_at_once(name: str) -> None:
    code, left = ADDED[name]
    text = assemble("r3 = *(u8 *)(r1 + 0)\nr0 = 5\n" + code)
    better, _ = improve(text, [])
    shown = [line.split("  ")[-1].strip() for line in disassemble(better)]
    assert [line for line in shown if " += " in line] == left
    inputs = bytes([8]), bytes([9]), bytes([3])
    assert [r0 for r0, _ in results(text, *inputs)] == [r0 for r0, _ in results(better, *inputs)]


def test_results_are_made_where_they_are_returned():
    text = assemble("r3 = *(u8 *)(r1 + 0)\nw0 = 7\nif w3 == 8 goto E\nif w3 == 9 goto E\nw0 = 5\nif w3 > 20 goto E\nr0 = r3\nr0 += 1\nE: exit")
    better, _ = improve(text, [])
    inputs = bytes([8]), bytes([9]), bytes([21]), bytes([3])
    assert [r0 for r0, _ in results(better, *inputs)] == [r0 for r0, _ in results(text, *inputs)] == [7, 7, 5, 4]
    assert [n for _, n in results(text, *inputs)] == [4, 5, 7, 9] and [n for _, n in results(better, *inputs)] == [4, 5, 6, 6]


@pytest.mark.parametrize("rest", ["B: r0 = r3\nexit", "r0 = 2\nC: w0 += 1\nif w0 == 40 goto C\nexit\nB: r0 = r3\nexit"])
def test_a_result_is_made_once(rest):
    """Also where it is between two ways: the branch over it jumps to the other one."""
    other = "" if rest[0] == "B" else "if w3 == 99 goto C\n"
    text = assemble(f"r3 = *(u8 *)(r1 + 0)\nif w3 != 8 goto A\nw0 = 7\nexit\nA: w3 += 1\n{other}if w3 != 10 goto B\nw0 = 7\nexit\n{rest}")
    better, _ = improve(text, [])
    inputs = bytes([8]), bytes([9]), bytes([21]), bytes([98])
    assert [r0 for r0, _ in results(better, *inputs)] == [r0 for r0, _ in results(text, *inputs)]
    assert all(new <= old for (_, new), (_, old) in zip(results(better, *inputs), results(text, *inputs)))
    assert sum("w0 = 0x7" in line for line in disassemble(better)) == 1 < sum("w0 = 0x7" in line for line in disassemble(text))


BETWEEN = {                                     # what stands between a mask and its test, and whether the test is one of bits
    "a constant": ("w5 = 1", True), "a spill": ("*(u64 *)(r10 - 8) = r4", True), "a load": ("r5 = *(u8 *)(r1 + 1)", True), "a copy": ("r5 = r4", True),
    "a copy of it": ("r5 = r6", False), "a spill of it": ("*(u64 *)(r10 - 8) = r6", False), "its original": ("r3 = r4", True), "arithmetic": ("w5 += w4", False),
}


@pytest.mark.parametrize("what", BETWEEN)
def test_what_stands_between_a_value_and_its_test(what):
    code, bits = BETWEEN[what]
    text = assemble("r3 = *(u8 *)(r1 + 0)\nr4 = *(u8 *)(r1 + 1)\nw5 = 0\n*(u64 *)(r10 - 8) = r3\nr6 = r3\nw6 &= 4\n"
                    f"{code}\nif w6 != 0 goto A\nr0 = *(u64 *)(r10 - 8)\nr0 += r3\nr0 += r5\nexit\nA: r0 = r5\nr0 -= r3\nexit")
    better, _ = improve(text, [])
    inputs = bytes([4, 1]), bytes([3, 2]), bytes([255, 0])
    assert [r0 for r0, _ in results(better, *inputs)] == [r0 for r0, _ in results(text, *inputs)]
    assert any(" & 0x4 " in line for line in disassemble(better)) == bits


def test_the_copy_of_a_result_is_not_tested():
    text = assemble("r0 = *(u8 *)(r1 + 0)\nr1 = r0\nw0 = 0x80001\nif w1 == 1 goto B\nexit\nB: w0 = 3\nexit")
    better, _ = improve(text, [])
    assert [line.split("  ")[-1].strip() for line in disassemble(better)][1:3] == ["if w0 == 0x1 goto +0x2", "w0 = 0x80001"]
    inputs = bytes([1]), bytes([2])
    assert results(better, *inputs) == [(3, 4), (0x80001, 4)] and [r0 for r0, _ in results(text, *inputs)] == [3, 0x80001]


SPILLED = {
    "reloaded into itself": ("*(u64 *)(r10 - 8) = r3\nw0 = 1\nr3 = *(u64 *)(r10 - 8)\nr0 += r3\nexit", 2),
    "put back": ("*(u64 *)(r10 - 8) = r3\nw3 = 1\nr4 = *(u64 *)(r10 - 8)\n*(u64 *)(r10 - 8) = r4\nr0 = *(u64 *)(r10 - 8)\nr0 ^= r3\nr0 += r4\nexit", 2),
    "on one way": ("*(u64 *)(r10 - 8) = r3\nif w3 == 8 goto A\nw3 = 5\nA: w0 += w3\nr3 = *(u64 *)(r10 - 8)\nr0 += r3\nexit", 0),
    "changed by half": ("*(u64 *)(r10 - 8) = r3\n*(u32 *)(r10 - 4) = w3\nr3 = *(u64 *)(r10 - 8)\nr0 = r3\nexit", 0),
    "of 32 bits": ("*(u32 *)(r10 - 8) = w3\nr3 = *(u32 *)(r10 - 8)\nr0 = r3\nexit", 2),
    "of 32 bits, and 64 in the register": ("r3 <<= 31\n*(u32 *)(r10 - 8) = w3\nr3 = *(u32 *)(r10 - 8)\nr0 = r3\nexit", 2),
    "through a pointer, too": ("r4 = r10\nr4 += -8\n*(u64 *)(r10 - 8) = r3\n*(u64 *)(r4 + 0) = r4\nr3 = *(u64 *)(r10 - 8)\nr0 = r3\nr0 -= r4\nexit", 0),
}


@pytest.mark.parametrize("name", SPILLED)
def test_what_a_register_holds_is_not_reloaded(name):
    code, saved = SPILLED[name]
    text = assemble("r3 = *(u8 *)(r1 + 0)\nw0 = w3\n" + code)
    better, _ = improve(text, [])
    before, after = (sum(i.is_load or i.is_store for i in decode(t)) for t in (text, better))
    assert before - after == saved
    for first in (8, 9, 3):
        assert run_raw(better, ctx=bytes([first])).r0 == run_raw(text, ctx=bytes([first])).r0


def test_a_block_stands_behind_the_jump_to_it():
    text = assemble("r3 = *(u8 *)(r1 + 0)\nw0 = 1\nif w3 == 8 goto A\nw0 = 2\ngoto B\nA: w0 = 3\nexit\nB: w0 += 4\nexit")
    better, _ = improve(text, [])
    assert len(text) - len(better) == 16            # a jump, and a constant that is never read
    assert results(better, bytes([8]), bytes([9])) == [(3, 4), (6, 5)] and [r0 for r0, _ in results(text, bytes([8]), bytes([9]))] == [3, 6]


def test_ways_that_end_alike_share_their_end():
    text = assemble("r3 = *(u8 *)(r1 + 0)\nw0 = 1\nw4 = 9\nif w3 == 8 goto A\nif w3 == 9 goto B\nw0 += 3\nw4 *= w3\nw0 ^= w4\ngoto C\n"
                    "A: w0 += 5\nw4 *= w3\nw0 ^= w4\ngoto C\nB: w4 *= w3\nw0 ^= w4\nC: w0 <<= 1\nw0 += w4\nexit")
    better, _ = improve(text, [])
    inputs = bytes([8]), bytes([9]), bytes([3])
    before, after = results(text, *inputs), results(better, *inputs)
    assert [r0 for r0, _ in before] == [r0 for r0, _ in after] and all(now <= then for (_, then), (_, now) in zip(before, after))
    assert sum(i.is_alu and i.code == ALU_OPS["MUL"] for i in decode(better)) == 1


def test_what_is_given_to_a_helper_is_not_shared():
    """Its argument is a constant on each way."""
    text = assemble("r6 = *(u8 *)(r1 + 0)\nr1 = 3\nif w6 == 8 goto A\nr1 = 4\nr2 = 5\ncall 4\nw0 = 0\nexit\nA: r2 = 5\ncall 4\nw0 = 0\nexit")
    better, _ = improve(text, [])
    assert sum(i.is_call for i in decode(better)) == 2


DECIDED = {
    "of a constant": ("w4 = 3\nif w4 > 2 goto A\nw0 = 7\nA: r0 += r3\nexit", 0),
    "asked twice": ("if w3 == 8 goto A\nw0 = 7\nA: if w3 == 8 goto B\nw0 += 2\nB: r0 += r3\nexit", 1),
    "the opposite": ("if w3 > 8 goto A\nw0 = 7\nA: if w3 <= 8 goto B\nw0 += 2\nB: r0 += r3\nexit", 1),
    "of what is equal to a constant": ("if w3 != 8 goto A\nif w3 & 1 goto A\nw0 = 7\nA: r0 += r3\nexit", 1),
    "changed between": ("if w3 == 8 goto A\nw3 += 1\nA: if w3 == 8 goto B\nw0 += 2\nB: r0 += r3\nexit", 2),
    "other halves": ("r3 <<= 31\nif w3 == 0 goto A\nw0 = 7\nA: if r3 == 0 goto B\nw0 += 2\nB: r0 += r3\nexit", 2),
    "into a loop": ("w4 = 0\nH: if w4 >= 3 goto B\nw0 += w3\nw4 += 1\ngoto H\nB: exit", 1),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_is_known_is_not_asked(name):
    code, left = DECIDED[name]
    text = assemble("r3 = *(u8 *)(r1 + 0)\nw0 = 1\n" + code)
    better, _ = improve(text, [])
    assert sum(i.is_branch for i in decode(better)) == left
    inputs = [bytes([n]) for n in (0, 1, 7, 8, 9)]
    assert all(now <= then and same == r0 for (r0, then), (same, now) in zip(results(text, *inputs), results(better, *inputs)))


COPIED = {
    "an operand": ("r5 = r3\nr4 += r5\nr0 += r4\nexit", 1),
    "the lower half": ("w5 = w3\nw4 += w5\nw0 += w4\nexit", 1),
    "of 64 bits the lower half": ("r3 <<= 31\nw5 = w3\nr4 += r5\nr0 += r4\nexit", 0),
    "changed since": ("r5 = r3\nr3 += 1\nr4 += r5\nr0 += r4\nr0 += r3\nexit", 0),
    "on one way": ("r5 = 1\nif w3 == 8 goto A\nr5 = r3\nA: r4 += r5\nr0 += r4\nexit", 0),
    "a step": ("r5 = r3\nr5 += 4\nr0 += r3\nr3 = r5\nr0 += r3\nexit", 2),
    "a step that is read": ("r5 = r3\nr5 += 4\nr0 += r5\nr3 = r5\nr3 *= 3\nr0 += r3\nr0 += r4\nr0 += r5\nexit", 1),
}


@pytest.mark.parametrize("name", COPIED)
def test_what_reads_a_copy_reads_the_original(name):
    code, saved = COPIED[name]
    text = assemble("r3 = *(u8 *)(r1 + 0)\nr4 = *(u8 *)(r1 + 1)\nw0 = 1\n" + code)
    better, _ = improve(text, [])
    assert (len(text) - len(better)) // 8 == saved
    inputs = bytes([8, 1]), bytes([9, 255]), bytes([3, 0])
    assert [r0 for r0, _ in results(text, *inputs)] == [r0 for r0, _ in results(better, *inputs)]


WRONG_BEFORE = {                                # what one pass alone, and often all of them, made another program of
    "a step that has been made one in place": (
        step_in_place, "r3 = *(u8 *)(r1 + 0)\nr0 = 9\nr4 = r3\nr4 += 1\nr3 = r4\nr3 += 2\nr0 = r3\nexit"),
    "the first instructions as the end of a way": (
        merge_tails, "if w2 == 16 goto X\nw0 = 5\nexit\nX: w2 += 1\nif w2 == 18 goto Y\nw2 = 17\nif w2 == 16 goto X\nw0 = 5\nexit\nY: w0 = 9\nexit"),
    "no sign of 64 bits, of which 32 are moved": (
        bit_tests, "r3 = *(u8 *)(r1 + 0)\nw0 = 1\nw3 <<= 24\nw3 s>>= 24\nif r3 s< 0 goto A\nexit\nA: w0 = 2\nexit"),
    "nor its opposite": (
        bit_tests, "r3 = *(u8 *)(r1 + 0)\nw0 = 1\nw3 <<= 24\nw3 s>>= 24\nif r3 s> -1 goto A\nexit\nA: w0 = 2\nexit"),
    "what the container is given, shifted with what is swapped": (
        narrow_swaps, "A: r2 >>= 40\nr0 += r2\nif r0 > 6 goto E\nr0 += 7\nr2 = *(u64 *)(r1 + 0)\nr2 = be64 r2\nif r0 > 6 goto A\nE: exit"),
    "a result from before the first instruction": (
        sink_results, "A: if w2 == 16 goto E\nw0 = 7\nw2 += -1\nif w2 > 20 goto A\nE: exit"),
    "a jump to a constant that nobody returns": (
        sink_results, "r3 = *(u8 *)(r1 + 0)\nw0 = 3\nif w2 == 16 goto Z\nw0 = 7\nexit\nZ: if w3 == 1 goto D\nif w3 == 3 goto A\n"
                      "D: w0 = 5\nw0 = 7\nexit\nA: w0 = w3\nexit"),
    "numbers that are made over the bit": (
        wide_tests, "r3 = *(u8 *)(r1 + 0)\nif w3 > 40 goto A\nr1 = 1\nr1 <<= r3\nr5 = r1\nr5 = 0x100000004 ll\nr5 &= 6\nif r5 != 0 goto A\nr0 = 1\nexit\nA: r0 = 2\nexit"),
}


@pytest.mark.parametrize("name", WRONG_BEFORE)
def test_the_meaning_stays(name):
    one, code = WRONG_BEFORE[name]
    text = assemble(code)
    lines = read(text, [])
    one(lines)
    sweep(lines)
    for better in (write(lines)[0], improve(text, [])[0]):
        for given_now in (bytes([first]) * size for first in (0, 1, 3, 128, 255) for size in (16, 17, 512)):
            before, after = run_raw(text, ctx=given_now), run_raw(better, ctx=given_now)
            assert (after.error, after.r0) == (before.error, before.r0) and before.error == "ok"


def test_a_loop_keeps_its_one_entry():
    """What leads into it, or ends, and what leads round it, or ends, are alike; if they were one, the loop would be entered there and where another way leads."""
    text = assemble("call 2\nw6 = w0\ncall 2\nw7 = w0\ncall 2\nif w0 == 1 goto O\nif w6 <= 9 goto L\nw0 = 1\nexit\n"
                    "O: if w6 > 8 goto E\nL: w6 += 1\nif w7 != w6 goto T\nE: w0 = 3\nexit\nT: if w6 <= 9 goto L\nw0 = 1\nexit")
    assert verify(text, PROFILES["lpn"]).accepted
    lines = read(text, [])
    merge_tails(lines)
    better = write(lines)[0]
    assert verify(better, PROFILES["lpn"]).accepted


LINES = st.one_of(
    st.builds("*(u{} *)(r10 - {}) = r{}".format, st.sampled_from((32, 64)), st.sampled_from((8, 16)), st.integers(3, 4)),
    st.builds("r{} = *(u{} *)(r10 - {})".format, st.integers(3, 4), st.sampled_from((32, 64)), st.sampled_from((8, 16))),
    st.builds("w0 = {}".format, st.integers(0, 3)), st.builds("w{} = {}".format, st.integers(3, 4), st.integers(0, 3)),
    st.builds("r{} = *(u8 *)(r1 + {})".format, st.integers(3, 4), st.integers(0, 3)), st.builds("r{} = r0".format, st.integers(3, 4)),
    st.builds("r0 = r{}".format, st.integers(3, 4)), st.just("exit"), st.builds("*(u8 *)(r1 + {}) = w0".format, st.integers(0, 3)),
    st.builds(lambda reg, n, to: f"if w{reg} == {n} goto +{to}", st.sampled_from((0, 3, 4)), st.integers(0, 3), st.integers(0, 6)),
    st.builds("goto +{}".format, st.integers(0, 4)), st.builds("{}{} += {}{}".format, st.just("w"), st.integers(3, 4), st.just("w"), st.integers(3, 4)),
    st.builds("r{} = r{}".format, st.integers(3, 5), st.integers(3, 5)), st.builds("w{} = w{}".format, st.integers(3, 5), st.integers(3, 5)),
    st.builds("r{} += {}".format, st.integers(3, 5), st.integers(1, 3)), st.builds("w0 += w{}".format, st.integers(3, 5)),
    st.builds(lambda reg, op, n, to: f"if w{reg} {op} {n} goto +{to}", st.integers(3, 4), st.sampled_from((">", "<=", "&", "s<", "s>=")), st.integers(0, 2), st.integers(0, 6)),
    st.builds("if r3 > r4 goto +{}".format, st.integers(0, 6)))


REGISTER = st.integers(3, 5)
SHIFTED = st.one_of(
    st.builds("r{0} = be64 r{0}".format, REGISTER), st.builds("r{0} = be64 r{0}\nr{0} >>= {1}".format, REGISTER, st.sampled_from((32, 40, 48))),
    st.builds("r{0} = be64 r{0}\nr{0} s>>= {1}".format, REGISTER, st.sampled_from((32, 48))), st.builds("r{} >>= {}".format, REGISTER, st.sampled_from((16, 33, 48))),
    st.builds("r{} = r{}".format, REGISTER, REGISTER), st.builds("w{} += w{}".format, REGISTER, REGISTER), st.builds("r{} += r{}".format, REGISTER, REGISTER),
    st.builds("*(u32 *)(r1 + 0) = w{}".format, REGISTER), st.builds("*(u64 *)(r1 + 8) = r{}".format, REGISTER), st.builds("r0 = r{}".format, REGISTER),
    st.builds("r{} = *(u64 *)(r1 + {})".format, REGISTER, st.sampled_from((0, 8))), st.builds("r{} = *(u32 *)(r1 + {})".format, REGISTER, st.sampled_from((0, 8))),
    st.builds("r{0} = be64 r{0}\nif r1 > {1} goto +1\nr{0} >>= 40\nr{0} >>= 48".format, REGISTER, st.integers(0, 1)),
    st.builds("if w{} s< 0 goto +{}".format, REGISTER, st.integers(0, 4)), st.builds("if r{} > 5 goto +{}".format, REGISTER, st.integers(0, 4)))


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(SHIFTED, max_size=12), st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=4))
def test_narrow_swaps_mean_what_wide_ones_meant(lines, inputs):
    text = assemble("\n".join(["r3 = *(u64 *)(r1 + 0)", "r4 = *(u32 *)(r1 + 8)", "w5 = 9", "w0 = 1", *lines, *["exit"] * 7]))
    better, _ = improve(text, [])
    for given_now in inputs:
        before, after = run_raw(text, ctx=given_now), run_raw(better, ctx=given_now)
        assert (after.error, after.r0, after.ctx) == (before.error, before.r0, before.ctx)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(LINES, max_size=24), st.lists(st.binary(min_size=4, max_size=4), min_size=1, max_size=4))
def test_no_way_takes_longer_or_leads_elsewhere(lines, inputs):
    text = assemble("\n".join(["r3 = *(u8 *)(r1 + 0)", "r4 = *(u8 *)(r1 + 1)", "r4 <<= 31", "w5 = 2", "w0 = 1", "*(u64 *)(r10 - 8) = r4", "*(u64 *)(r10 - 16) = r3",
                               *lines, *["exit"] * 7]))
    better, _ = improve(text, [])
    for given_now in inputs:
        before, after = run_raw(text, ctx=given_now), run_raw(better, ctx=given_now)
        assert (after.error, after.r0, after.ctx) == (before.error, before.r0, before.ctx)
        assert after.insns <= before.insns


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(st.one_of(LINES, SHIFTED), max_size=24))
def test_what_says_that_it_changed_nothing_has_changed_nothing(lines):
    """The rounds end when all passes say so."""
    code = read(assemble("\n".join(["r3 = *(u8 *)(r1 + 0)", "w5 = 2", "w0 = 1", "*(u64 *)(r10 - 8) = r3", *lines, *["exit"] * 7])), [])
    for one in PASSES * 2:
        before = [(line, line.insn, line.target, line.dead) for line in code]
        if not one(code):
            assert [(line, line.insn, line.target, line.dead) for line in code] == before, one.__name__
        sweep(code)


def test_few_passes_are_made(monkeypatch):
    """Of twelve rounds of 16 an example takes five at most, and one or two find nothing more in what is improved."""
    made = []

    def passes_over(text):
        made.clear()
        improve(text, [])
        return len(made)
    containers = compile_program(example("udp/udp"), listings=False).containers
    monkeypatch.setattr(peephole, "PASSES", tuple(lambda code, one=one: made.append(one) or one(code) for one in PASSES))
    assert max(passes_over(read_object(c.object, "lpn").text) for c in containers) <= 5 * len(PASSES)
    assert max(passes_over(c.code.text) for c in containers) <= 2 * len(PASSES)


ONE_OF = "r3 = {x}\nif w3 > {most} goto OUT\nr1 = 1\nr1 <<= r3\nr4 = {first} ll\nr5 = r1\nr5 &= r4\nif r5 != 0 goto A\n" \
         "r3 = {second} ll\nr1 &= r3\nif r1 {op} 0 goto B\nr0 = 1\nexit\nA: r0 = 2\nexit\nB: r0 = 3\nexit\nOUT: r0 = 4\nexit"
sets = st.integers(0, (1 << 64) - 1) | st.sets(st.integers(0, 63), max_size=4).map(lambda numbers: sum(1 << n for n in numbers))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 70), st.integers(0, 63), sets, sets, st.sampled_from(["==", "!="]))
def test_one_of_several_numbers_is_no_question_of_64_bits(x, most, first, second, op):
    text = assemble(ONE_OF.format(x=x, most=most, first=hex(first), second=hex(second), op=op))
    better, _ = improve(text, [])
    assert run_raw(better).r0 == run_raw(text).r0
    assert not any("<<=" in line for line in disassemble(better))


@pytest.mark.parametrize("code", [
    "r1 = 1\nr1 <<= r3\nr4 = 0x100000001 ll\nr1 &= r4\nif r1 != 0 goto A\nr0 = 1\nexit\nA: r0 = 2\nexit",                            # nothing says that r3 is small
    "if w3 > 70 goto A\nr1 = 1\nr1 <<= r3\nr4 = 0x100000001 ll\nr1 &= r4\nif r1 != 0 goto A\nr0 = 1\nexit\nA: r0 = 2\nexit",          # nor does this
    "if w3 > 40 goto A\nr1 = 1\nr1 <<= r3\nr4 = 0x100000001 ll\nr5 = r1\nr5 &= r4\nif r5 != 0 goto A\nr0 = r1\nexit\nA: r0 = 2\nexit",  # the bit is read
    "if w3 > 40 goto A\nr1 = 1\nr1 <<= r3\nr4 = 0x100000001 ll\nr1 &= r4\nif r1 != 0 goto A\nr0 = r4\nexit\nA: r0 = 2\nexit",          # the numbers are
    "r3 += 29\nif w3 > 40 goto B\nr1 = 1\nr1 <<= r3\nr4 = 0x100000001 ll\nr5 = r1\nr5 &= r4\nif r5 != 0 goto A\nr4 = 0x200000002 ll\nr1 &= r4\nif r1 != 0 goto B\nr0 = 1\nexit\n"
    "A: r0 = r1\nr0 >>= 30\nexit\nB: r0 = 2\nexit",                                                                          # the bit is read where the first test leads
    "if w3 > 40 goto A\nr1 = 1\nif w3 == 9 goto B\nr1 = 3\nB: r1 <<= r3\nr4 = 0x100000001 ll\nr1 &= r4\nif r1 != 0 goto A\nr0 = 1\nexit\nA: r0 = 2\nexit"])
def test_other_shifts_stay(code):
    text = assemble("r3 = 3\nr3 *= 1\n" + code)              # a product, of which nobody knows the bits
    better, _ = improve(text, [])
    assert run_raw(better).r0 == run_raw(text).r0
    assert any("<<=" in line for line in disassemble(better))


TWINS = "r6 = {n}\nr6 *= 1\nr5 = 5\nr4 = 4\n*(u64 *)(r10 - 8) = r6\n{twin}\nif w2 > 40 goto OUT\n{x}\nr1 = 1\nr1 <<= r3\nr4 = 0x100000024 ll\nr1 &= r4\n{between}\n" \
        "if r1 != 0 goto A\nr0 = r2\nr0 += r5\nr0 ^= {told}\nexit\nA: r0 = r2\nr0 *= r5\nr0 ^= {told}\nexit\nOUT: r0 = 9\nexit"
TWIN, X = "w2 = w6\nw2 &= 255", "r3 = r6\nr3 &= 255"


@pytest.mark.parametrize(("twin", "x", "between", "told", "gone"), [
    (TWIN, X, "", "r2", True), ("r2 = r6\nr2 &= 255", "w3 = w6\nw3 &= 255", "", "r2", True),
    (TWIN, X, "r4 = *(u64 *)(r10 - 8)", "r4", True), (TWIN, X, "r3 = 7", "r3", True), (TWIN, X, "r5 = r3\nr5 += 1", "r3", True),
    (TWIN, X, "", "r4", False), (TWIN, X, "r2 = 9", "r2", False), (TWIN, X, "r1 += 1", "r2", False), (TWIN, X, "r5 = r1", "r2", False), (TWIN, X, "r5 = r4", "r2", False),
    (TWIN, X, "r5 += 1\n" * 5, "r2", False), (TWIN, X, "*(u64 *)(r10 - 8) = r5", "r2", False),
    (TWIN, "r6 += 1\n" + X, "", "r2", False), (TWIN, "w2 = 3\n" + X, "", "r2", False), (TWIN + "\nw2 += 1", X, "", "r2", False),
    (TWIN, "r3 = r6\nr3 &= 127", "", "r2", False), ("w2 = w6\nw2 &= -1", "r3 = r6\nr3 &= -1", "", "r2", False), ("r2 = (s8)r6\nr2 &= 511", "r3 = r6\nr3 &= 511", "", "r2", False),
    ("w2 = w5\nw2 &= 255", X, "", "r2", False), (TWIN, "r3 = r6\nr3 += 255", "", "r2", False)])
def test_a_number_may_have_two_registers(twin: str, x: str, between: str, told: str, gone: bool) -> None:
    """LLVM compares its lower half with the most that the set has, and shifts by all of it; and loads what comes next before it jumps."""
    for n in (2, 3, 5, 32, 40, 41, 0x102, 0x123, -1):
        text = assemble(TWINS.format(n=n, twin=twin, x=x, between=between, told=told))
        lines = read(text, [])
        wide_tests(lines)
        sweep(lines)
        better = write(lines)[0]
        assert (run_raw(better).error, run_raw(better).r0) == (run_raw(text).error, run_raw(text).r0), n
        assert any("<<=" in line for line in disassemble(better)) != gone


def test_what_an_instruction_reads() -> None:
    """A byte swap has no second operand, though a bit says that it is a register; a helper reads its arguments, and who is not known may read five."""
    read_by = {code: reads_writes(decode(assemble(code))[0]) for code in ("r5 = be16 r5", "r5 = bswap32 r5", "r5 = -r5", "r5 = r0", "r5 += r0", "call 1", "call 2", "call 4", "call 999")}
    assert list(read_by.values()) == [(0x20, 0x20), (0x20, 0x20), (0x20, 0x20), (1, 0x20), (0x21, 0x20), (0x0e, 0x3f), (0, 0x3f), (0x06, 0x3f), (0x3e, 0x3f)]


def test_numbers_beyond_31_have_a_known_time() -> None:
    """A switch and an enum over the numbers of options: their containers have certificates, and deadlines are proved."""
    text = """
        enum bit<8> Kind { link = 1, prefix = 3, context = 34, plain = 0 }
        header H { Kind kind; bit<8> v; }
        struct headers { H h; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) {
            apply { switch (h.h.v) { 1: 3: 34: 40: 60: { m.verdict = DELIVER; } 2: 35: 44: 51: { m.verdict = CONSUMED; } default: { m.verdict = DROP; } } }
        }
        protocol E version 1 { on radio.rx_done : Rx -> P within 1 ms; }"""
    for container in compile_program(program(text)).containers:
        assert not any("<<=" in line for line in disassemble(container.image.text))


MASKED = {                                      # what is done with a number of 64 bits, and how many of its masks stay
    "a smaller mask": ("w1 &= 0xffff\nw1 &= 0x1fff\nr0 = r1\nexit", 1),
    "a smaller mask of all bits": ("w1 &= 0xffff\nr1 &= 0x1fff\nr0 = r1\nexit", 1),
    "another mask": ("w1 &= 0xff0\nw1 &= 0xf0f\nr0 = r1\nexit", 2),
    "of half, and all of it is read": ("w1 &= -1\nr1 &= -2\nr0 = r1\nexit", 1),
    "stored": ("w1 &= 0xffff\n*(u16 *)(r10 - 8) = r1\nr0 = *(u16 *)(r10 - 8)\nexit", 0),
    "stored whole": ("w1 &= 0xffff\n*(u32 *)(r10 - 8) = r1\nr0 = *(u32 *)(r10 - 8)\nexit", 1),
    "swapped": ("w1 &= 0xffff\nr1 = be16 r1\nr0 = r1\nexit", 0),
    "swapped whole": ("w1 &= 0xffff\nr1 = be32 r1\nr0 = r1\nexit", 1),
    "two ways": ("r1 &= 0xffff\nif r3 == 9 goto B\nw1 &= 0xff\nr0 = r1\nexit\nB: w1 &= 0x1fff\nr0 = r1\nr0 += 1\nexit", 2),
    "two ways, one of which reads it": ("r1 &= 0xffff\nif r3 != 9 goto B\nw1 &= 0xff\nr0 = r1\nexit\nB: r0 = r1\nr0 += r3\nexit", 2),
    "one way writes it": ("w1 &= 0xffff\nif r3 == 9 goto B\nr1 = r3\nB: w1 &= 0xfff\nr0 = r1\nexit", 1),
    "an atomic operation": ("*(u64 *)(r10 - 8) = r3\nw1 &= 0xff\nlock *(u64 *)(r10 - 8) += r1\nr0 = *(u64 *)(r10 - 8)\nexit", 1),
    "in a circle": ("r0 = 0\nA: w1 &= 0xffff\nw1 &= 0xfff\nr0 += r1\nr1 += 0xf123\nr3 += -1\nif r3 != 0 goto A\nexit", 1),
}


@pytest.mark.parametrize("name", MASKED)
def test_bits_that_nobody_reads_are_not_cleared(name: str) -> None:
    text, stay = MASKED[name]
    _, _, shown = improved(text)
    assert sum("&=" in line for line in shown) == stay
