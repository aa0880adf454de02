"""What the stock Femto-Container engine gets wrong, as a table, and sequences of any instructions: for whatever executes images for it."""
from __future__ import annotations

from collections.abc import Callable

from engine_isa import EXIT, insn, lddw, mov
from femto_stock import STACK, Stock, Stop
from hypothesis import strategies as st

from lpn.compiler import femto

M64 = (1 << 64) - 1
RETURN_77 = mov(0, 77) + EXIT
ILLEGAL = "illegal instruction"
NOT_LOADED = "not loaded"                       # by ours
#: Name -> (instructions, what ours says, what the stock engine says).
DEFECTS = {
    "byte swap to big-endian": (mov(0, 0x1234) + insn(0xDC, 0, imm=16) + EXIT, 0x3412, ILLEGAL),
    "byte swap to little-endian": (mov(0, 0x1234) + insn(0xD4, 0, imm=16) + EXIT, 0x1234, ILLEGAL),
    "unconditional byte swap": (mov(0, 0x1234) + insn(0xD7, 0, imm=16) + EXIT, 0x3412, ILLEGAL),
    "32-bit arithmetic": (insn(0x04, 0, imm=1) + EXIT, 1, ILLEGAL),
    "32-bit moves": (insn(0xB4, 0, imm=1) + EXIT, 1, ILLEGAL),
    "32-bit comparisons": (insn(0x16, 0, off=1) + mov(0, 1) + EXIT, 0, ILLEGAL),
    "long jumps": (insn(0x06, imm=1) + mov(0, 1) + EXIT, 0, ILLEGAL),
    "atomics": (insn(0x7A, 10, off=-8, imm=3) + insn(0xDB, 10, 0, -8) + insn(0x79, 0, 10, -8) + EXIT, 3, ILLEGAL),
    "sign-extending loads": (insn(0x7A, 10, off=-8, imm=-1) + insn(0x91, 0, 10, -8) + EXIT, M64, ILLEGAL),
    "sign-extending moves are plain ones": (mov(1, 0xFF) + insn(0xBF, 0, 1, 8) + EXIT, M64, 0xFF),
    "signed division is an unsigned one": (mov(0, 5) + insn(0x17, 0, imm=11) + insn(0x37, 0, off=1, imm=2) + EXIT, M64 - 2, M64 - 5 >> 1),
    "local calls": (insn(0x85, 0, 1, imm=1) + EXIT + RETURN_77, 77, "illegal call"),
    "negation": (mov(0, 5) + insn(0x87, 0) + EXIT, M64 - 4, ILLEGAL),
    "negation with another opcode": (mov(0, 5) + insn(0x8F, 0) + EXIT, NOT_LOADED, M64 - 4),
    "lddw's low word is signed": (lddw(0, 0x80000000) + EXIT, 0x80000000, 0xFFFFFFFF80000000),
    "division by zero": (mov(0, 7) + insn(0x37, 0) + EXIT, 0, "illegal division"),
    "modulo zero": (mov(0, 7) + insn(0x97, 0) + EXIT, 7, "illegal division"),
    "two hundred jumps": (insn(0x07, 0, imm=1) * 2 + insn(0xA5, 0, 0, -2, 202) + EXIT, 202, 202),
    "one jump more": (insn(0x07, 0, imm=1) * 2 + insn(0xA5, 0, 0, -2, 203) + EXIT, 203, "out of branches"),
    "a jump to instruction 0": (insn(0x07, 0, imm=1) + insn(0xA5, 0, 0, -2, 10) + EXIT, 10, "illegal jump"),
    "no exit at the end": (insn(0x05, off=1) + EXIT + insn(0x05, off=-2), 0, "no return"),
    "a jump one past the end": (insn(0x05, off=1) + EXIT, NOT_LOADED, 77),
    "a jump into an lddw": (insn(0x05, off=1) + insn(0x18, 0) + insn(0x95) + EXIT, NOT_LOADED, 0),
    "r10 is written": (mov(10, 5) + insn(0xBF, 0, 10) + EXIT, NOT_LOADED, 5),
}
MENDED = {
    "moves are not sign-extended": (mov(0, -1) + EXIT, M64, 0xFFFFFFFF),
    "moves keep 32 bits": (lddw(1, 0x100000001) + insn(0xBF, 0, 1) + EXIT, 0x100000001, 1),
}


def modelled(text: bytes, old: bool, behind: bytes = b"") -> int | str:
    """r0 of bare instructions in the model, or what it says."""
    return said(lambda: Stock(femto.image(text), old, behind=behind).execute({STACK: bytearray(512)}))


def said(run: Callable[[], int]) -> int | str:
    try:
        return run()
    except Stop as stop:
        return str(stop)


# ---------------------------------------------------------------- any instructions

WORDS = st.integers(0, M64).filter(lambda x: not x >> 31 & 1)
OPS = sorted({op for op in range(256)} - {0x18, 0xB8, 0xD8, 0x85})              # addresses, calls: above
IMMEDIATES = st.sampled_from([0, 1, 2, 7, 31, 32, 63, -1, -2, 0x7FFFFFFF, -0x80000000])


@st.composite
def sequences(draw) -> bytes:
    """Some instructions of any opcode, between registers that are known and a result that all of them are part of."""
    out = b"".join(lddw(n, draw(WORDS)) for n in range(1, 5)) + insn(0x7A, 10, off=-8, imm=draw(IMMEDIATES))
    for _ in range(draw(st.integers(1, 5))):
        op = draw(st.sampled_from(OPS))
        dst, src = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        if op & 7 in (1, 2, 3):                 # of the stack
            dst, src = (dst, 10) if op & 7 == 1 else (10, src)
        out += insn(op, dst, src, draw(st.sampled_from([0, 1])) if op & 7 in (5, 6) else -8 * draw(st.integers(0, 2)), draw(IMMEDIATES))
    out += insn(0x79, 0, 10, -8)
    return out + b"".join(insn(0xAF, 0, n) for n in range(1, 5)) + EXIT
