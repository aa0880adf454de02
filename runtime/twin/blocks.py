"""What a block of code costs: instructions and cycles, by the tables of runtime/m3 (the manual's, and the flash's wait states).

Exact where the code alone decides. What operands add is asked for where it is executed (`sites`). Instructions of an IT block
count as executed, but for a jump at the block's end, which shows by where execution goes on. Loads of literals from flash wait;
other loads from flash (constant data) are taken as loads from RAM, and all accesses as aligned.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from capstone import CsInsn, arm

from lpn.runtime.m3.flash import RAM, WAIT, fetch_waits
from lpn.runtime.m3.timing import REFILL, Insn, Kind, decode, make_disassembler, straight_cycles

LONG, UDIV, SDIV = 1, 2, 3      #: kinds of `Site`, as clock.h has them
WFI = 0xBF30                    #: ARMv7-M ARM, A7.7.262


@dataclass(frozen=True)
class Cost:
    """As `twin_block` of clock.h has it."""

    insns: int
    cycles: int
    jumped: int
    untaken: int


@dataclass(frozen=True)
class Site:
    """An instruction whose time depends on its inputs. `a`, `b`: numbers of registers."""

    address: int
    kind: int
    a: int
    b: int


_MD = make_disassembler()


@functools.lru_cache(maxsize=1 << 16)
def cost(code: bytes, address: int) -> Cost:
    """Of these bytes as one block. What is no instruction takes one cycle: the core will fault there."""
    try:
        insns = decode(code, address, _MD)
    except ValueError:
        return Cost(1, 1, REFILL, 0)
    cycles = straight_cycles(insns) + _literals(insns)
    waits, jumped = fetch_waits(insns, False), fetch_waits(insns, True)
    last = insns[-1]
    untaken = last.cycles - 1 if last.conditional and last.jump else 0
    return Cost(len(insns), cycles + waits, REFILL + jumped - waits, untaken)


def _literals(insns: list[Insn]) -> int:
    """Waits of loads relative to the program counter, in flash."""
    if insns[0].address >= RAM:
        return 0
    return WAIT * sum(insn.kind == Kind.LOAD and arm.ARM_REG_PC in insn.bases or insn.text.startswith(("tbb", "tbh"))
                      for insn in insns)


def idle(code: bytes, address: int) -> bool:
    """Does it matter how often this block runs, when it follows itself? Not if it reads nothing that it wrote a turn before,
    and writes nothing to memory."""
    written: set[int] = set()
    for insn in _MD.disasm(code, address):
        reads, writes = insn.regs_access()
        if _stores(insn):
            return False
        if any(r in _writes_of(code, address) and r not in written for r in reads if r not in _FREE):
            return False
        written.update(writes)
    return True


_FREE = frozenset((arm.ARM_REG_CPSR, arm.ARM_REG_PC, arm.ARM_REG_ITSTATE))


def _stores(insn: CsInsn) -> bool:
    return insn.mnemonic.startswith(("st", "push", "bl", "svc"))


def _writes_of(code: bytes, address: int) -> set[int]:
    return {r for insn in _MD.disasm(code, address) for r in insn.regs_access()[1]}


def halfwords(code: bytes) -> Iterator[tuple[int, int, int]]:
    """(offset, first halfword, second or 0) of each instruction (ARMv7-M ARM, A5.1)."""
    at = 0
    while at + 2 <= len(code):
        first = int.from_bytes(code[at:at + 2], "little")
        wide = first >> 11 in (0b11101, 0b11110, 0b11111)
        yield at, first, int.from_bytes(code[at + 2:at + 4], "little") if wide else 0
        at += 4 if wide else 2


def sites(code: bytes, address: int) -> Iterator[Site]:
    """Multiplications with 64-bit results, divisions (ARMv7-M ARM, A5.3.17)."""
    kinds = {0xFB8: LONG, 0xFBA: LONG, 0xFBC: LONG, 0xFBE: LONG, 0xFB9: SDIV, 0xFBB: UDIV}
    for at, first, second in halfwords(code):
        kind = kinds.get(first >> 4)
        if kind:
            yield Site(address + at, kind, first & 0xF, second & 0xF)


def waits_for_interrupt(code: bytes, address: int) -> Iterator[int]:
    """Where WFI is."""
    return (address + at for at, first, _ in halfwords(code) if first == WFI)
