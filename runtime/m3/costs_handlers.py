"""Programs that show what the interpreter's handlers take which an opcode alone does not tell: those that do several instructions at once, and
jumps that compare with 0. For costs.py.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

#: By handler (vm32_ops.h) its instructions, a jump to what follows them all. r7 points to memory, r3 and r5 are 0; r4 chooses the way out, see WAYS.
UNITS: dict[str, tuple[str, ...]] = {
    "jeq_zero": ("if w4 == 0 goto +0",),
    "jne_zero": ("if w4 != 0 goto +0",),
    **{f"mov_{name}": ("w2 = w3", f"w2 {op}= 1") for name, op in (("add", "+"), ("or", "|"), ("and", "&"), ("lsh", "<<"), ("rsh", ">>"))},
    "mov_add_reg": ("w2 = w3", "w2 += w5"),
    "mov_rsh_and": ("w2 = w3", "w2 >>= 1", "w2 &= 1"),
    "mov_and_jeq": ("w2 = w4", "w2 &= 3", "if w2 == 1 goto +0"),
    "mov_and_jne": ("w2 = w4", "w2 &= 3", "if w2 != 0 goto +0"),
    "mov_add_jgt": ("w2 = w4", "w2 += 1", "if w2 > w6 goto +0"),
    "and_jeq": ("w4 &= 3", "if w4 == 1 goto +0"),
    "and_jne": ("w4 &= 3", "if w4 != 0 goto +0"),
    "mov_jeq": ("w2 = w3", "if w4 == 1 goto +0"),
    "mov_imm_jeq": ("w2 = 5", "if w4 == 1 goto +0"),
    "jeq_jeq": ("if w4 == 1 goto +1", "if w4 == 2 goto +0"),
    "jeq_jne": ("if w4 == 1 goto +1", "if w4 != 0 goto +0"),
    "jeq_jeq_jne": ("if w4 == 1 goto +2", "if w4 == 2 goto +1", "if w4 != 0 goto +0"),
    "mov_add_load1": ("r2 = r7", "r2 += r5", "r8 = *(u8 *)(r2 + 0)"),
    "mov_add_load2": ("r2 = r7", "r2 += r5", "r8 = *(u16 *)(r2 + 0)"),
    "lsh_or": ("w2 <<= 1", "w2 |= w3"),
    "add_mov": ("w2 += 1", "w8 = w3"),
    "load2_add": ("r2 = *(u16 *)(r7 + 0)", "w8 += w2"),
    "load2_add_step": ("r2 = *(u16 *)(r7 + 0)", "w8 += w2", "r7 += 0"),
    "load2_swap": ("r2 = *(u16 *)(r7 + 0)", "r2 = be16 r2"),
    "load4_swap": ("r2 = *(u32 *)(r7 + 0)", "r2 = be32 r2"),
}
#: How they end: r4 -> which of the instructions jumps, counted from 1; 0: none.
WAYS: dict[str, dict[int, int]] = {
    "jeq_zero": {0: 1, 1: 0}, "jne_zero": {0: 0, 1: 1},
    "mov_and_jeq": {0: 0, 1: 3}, "mov_and_jne": {0: 0, 1: 3}, "mov_add_jgt": {0: 0, 9: 3}, "and_jeq": {0: 0, 1: 2}, "and_jne": {0: 0, 1: 2},
    "mov_jeq": {0: 0, 1: 2}, "mov_imm_jeq": {0: 0, 1: 2}, "jeq_jeq": {0: 0, 1: 1, 2: 2}, "jeq_jne": {0: 0, 1: 1, 2: 2}, "jeq_jeq_jne": {0: 0, 1: 1, 2: 2, 3: 3},
}
#: Octets that they load: of a certified program's memory.
LOADS = {"mov_add_load1": 1, "mov_add_load2": 2, "load2_add": 2, "load2_add_step": 2, "load2_swap": 2, "load4_swap": 4}


class Shown(NamedTuple):
    """`source`: assembler, given at once; `key`: of the cost table; `before`: sets the registers."""
    handler: str
    key: str
    source: tuple[str, ...]
    before: tuple[str, ...]
    octets: int                 #: of its load


def shown(certified: bool) -> Iterator[Shown]:
    """Every handler, in each of its ways."""
    for handler, source in UNITS.items():
        if handler in LOADS and not certified:
            continue
        for value, way in WAYS.get(handler, {0: 0}).items():
            before = ("w2 = 0", "w3 = 0", f"w4 = {value}", "w5 = 0", "w6 = 5", "w8 = 0", "w8 *= 1")     # a product is done with nothing behind it
            yield Shown(handler, f"{handler} {way} taken" if way else handler, source, before, LOADS.get(handler, 0))
