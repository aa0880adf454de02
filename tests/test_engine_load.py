"""What the engine refuses before a program runs, each alone, with the slot it names."""

import re
from pathlib import Path

import pytest
from engine_isa import EXIT, insn, lddw, mov

import lpn.runtime.engine.build as build
from lpn.compiler.helpers import HELPERS, render_header
from lpn.runtime.raw import run_raw

NOP = mov(0, 0)
R = "reserved field of an instruction set"
U = "unknown opcode"
J = "jump out of the text or into an lddw"

REFUSED = {
    "empty": (b"", "bad text", 0),
    "half an instruction": (NOP + EXIT[:4], "bad text", 0),
    "opcode 0": (NOP + insn(0) + EXIT, U, 1),
    "legacy packet load": (insn(0x20) + EXIT, U, 0),
    "end of width 8": (insn(0xDC, 0, imm=8) + EXIT, U, 0),
    "bswap with the source bit": (insn(0xDF, 0, imm=16) + EXIT, U, 0),
    "neg with the source bit": (insn(0x8F, 0) + EXIT, U, 0),
    "jump with the source bit": (insn(0x0D) + EXIT, U, 0),
    "call through a register": (insn(0x8D, imm=1) + EXIT, U, 0),
    "call by BTF id": (insn(0x85, 0, 2, imm=1) + EXIT, U, 0),
    "exit in the 32-bit class": (insn(0x96) + EXIT, U, 0),
    "sign-extending 8-byte load": (insn(0x99, 0, 1) + EXIT, U, 0),
    "atomic byte": (insn(0xD3, 1, 0, imm=0) + EXIT, U, 0),
    "atomic subtraction": (insn(0xDB, 1, 0, imm=0x10) + EXIT, U, 0),
    "lddw of a map": (lddw(0, 1, src=1) + EXIT, U, 0),
    "destination r11": (mov(11, 0) + EXIT, "bad register", 0),
    "source r12": (insn(0xBF, 0, 12) + EXIT, "bad register", 0),
    "mov to r10": (mov(10, 0) + EXIT, "write to r10", 0),
    "load to r10": (insn(0x79, 10, 1) + EXIT, "write to r10", 0),
    "lddw to r10": (lddw(10, 1) + EXIT, "write to r10", 0),
    "fetch to r10": (insn(0xDB, 1, 10, imm=1) + EXIT, "write to r10", 0),
    "swap of r10": (insn(0xDC, 10, imm=16) + EXIT, "write to r10", 0),
    "offset of add": (insn(0x07, 0, 0, 1, 1) + EXIT, R, 0),
    "offset 2 of div": (insn(0x37, 0, 0, 2, 1) + EXIT, R, 0),
    "offset 32 of a 32-bit move": (insn(0xBC, 0, 1, 32) + EXIT, R, 0),
    "offset of a move of an immediate": (insn(0xB7, 0, 0, 8, 1) + EXIT, R, 0),
    "source of an immediate form": (insn(0x07, 0, 3, 0, 1) + EXIT, R, 0),
    "immediate of a register form": (insn(0x0F, 0, 3, 0, 1) + EXIT, R, 0),
    "immediate of neg": (insn(0x87, 0, imm=1) + EXIT, R, 0),
    "immediate of a load": (insn(0x79, 0, 1, 0, 1) + EXIT, R, 0),
    "source of a store of an immediate": (insn(0x7A, 1, 1) + EXIT, R, 0),
    "destination of exit": (NOP + insn(0x95, 1), R, 1),
    "immediate of a jump": (insn(0x05, off=0, imm=1) + EXIT, R, 0),
    "offset of a long jump": (insn(0x06, off=1, imm=0) + EXIT, R, 0),
    "offset of a call": (insn(0x85, 0, 0, 1, 2) + EXIT, R, 0),
    "lddw at the end": (NOP + lddw(0, 1)[:8], "incomplete lddw", 1),
    "lddw with another instruction": (lddw(0, 1)[:8] + EXIT, "incomplete lddw", 0),
    "lddw with registers in its second slot": (insn(0x18) + insn(0, 1) + EXIT, "incomplete lddw", 0),
    "address with an upper half": (insn(0x18, 0, 8) + insn(0, imm=1) + EXIT, "incomplete lddw", 0),
    "jump one past the end": (NOP + insn(0x05, off=1) + EXIT, J, 1),
    "jump before the start": (insn(0x15, off=-2) + EXIT, J, 0),
    "jump into lddw": (insn(0x15, off=1) + lddw(0, 1) + EXIT, J, 0),
    "long jump far out": (insn(0x06, imm=0x7FFFFFFF) + EXIT, J, 0),
    "long jump far back": (insn(0x06, imm=-0x80000000) + EXIT, J, 0),
    "local call out": (insn(0x85, 0, 1, imm=1) + EXIT, J, 0),
    "local call into lddw": (insn(0x85, 0, 1, imm=1) + lddw(0, 1) + EXIT, J, 0),
    "no exit": (NOP, "falls off the end", 0),
    "conditional jump at the end": (NOP + insn(0x15, off=-2), "falls off the end", 1),
    "lddw as the last": (lddw(0, 1), "falls off the end", 0),
    "unknown helper": (insn(0x85, imm=999) + EXIT, "unknown helper", 0),
    "helper 0": (insn(0x85, imm=0) + EXIT, "unknown helper", 0),
    "negative helper": (insn(0x85, imm=-1) + EXIT, "unknown helper", 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    text, error, pc = REFUSED[name]
    result = run_raw(text)
    assert (result.error, result.pc, result.insns) == (error, pc, 0)


def test_jump_to_the_first_instruction_is_allowed():
    """Femto-Container refuses it."""
    text = insn(0x15, 0, off=2, imm=1) + mov(0, 1) + insn(0x05, off=-3) + EXIT
    assert run_raw(text).r0 == 1


def test_at_most_sixteen_functions():
    def functions(n):
        body = b"".join(mov(0, 7) + EXIT for _ in range(n))
        calls = b"".join(insn(0x85, 0, 1, imm=n - i - 1 + 1 + 2 * i) for i in range(n))
        return calls + EXIT + body

    assert run_raw(functions(15)).r0 == 7
    assert run_raw(functions(16)).error == "too many local functions"


def test_every_opcode_is_either_known_or_refused_with_an_error():
    """No first byte leads to a crash or to an error other than those of the check."""
    known = {op for op in range(256)
             for imm in (0, 1, 16)
             if run_raw(insn(op, 0, 0, 0, imm) + insn(0) + EXIT).error != U
             or run_raw(insn(op, 0, 0, 0, imm) + EXIT).error != U}
    # 13 operations in 4 forms less two of neg, 3 swaps, 11 + 11 jumps in two forms, ja, ja32, call, exit,
    # 3 lddw, 7 + 4 + 4 loads and stores, 2 of atomics with these immediates.
    assert len(known) == 50 + 3 + 44 + 4 + 3 + 15 + 2


def test_header_is_the_rendered_helper_table():
    path = Path(build.__file__).parent / "lpn_helpers.h"
    assert path.read_text() == render_header(), "run: python -m lpn.compiler.helpers"
    assert [h.number for h in HELPERS] == sorted({h.number for h in HELPERS})


def test_engine_compiles_without_a_warning():
    build.build(strict=True)


def test_engine_itself_needs_no_libc():
    """Only host.c includes headers that need one; the rest is freestanding."""
    for name in set(build.SOURCES + build.HEADERS) - {"host.c", "node_host.c"}:
        included = re.findall(r"#include <(.*)>", (Path(build.__file__).parent / name).read_text())
        assert set(included) <= {"stdint.h", "stddef.h", "stdbool.h"}, name
