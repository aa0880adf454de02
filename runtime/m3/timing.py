"""How long a Cortex-M3 takes for each instruction: the table of the Technical Reference Manual.

Arm Cortex-M3 TRM (DDI 0337), r2p1, 3.3.1 "Cortex-M3 instructions" and 3.3.2 "Load/store timings":

- most take 1 cycle; what writes the program counter P more, to fill the pipeline anew: 1 to 3, "depending on the alignment and width of
  the target instruction, and whether the processor manages to speculate the address early"; 2 here, and in the worst case 3 where
  the target has 32 bits and lies in two words, so that two fetches bring it;
- LDR 2, one less when it follows another LDR that does not make its address; STR 1, with a register offset 2, one
  less after an LDR; LDR of the program counter is never pipelined;
- LDM, STM, PUSH, POP, LDRD, STRD 1 + registers; MLA, MLS 2; UMULL, SMULL 3 to 5, UMLAL, SMLAL 4 to 7, by the
  operands' size; UDIV, SDIV 2 to 12, by the difference of the operands' leading zeros; IT 1;
- an instruction of an IT block whose condition fails takes 1;
- an access whose address is no multiple of its size goes over the bus in pieces, each a cycle more: a halfword at an odd address as two
  bytes, a word at one as a byte, a halfword and a byte, a word at another halfword as two (accesses.c).

Memory is taken as without wait states; `flash.py` has those of the STM32F103.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import capstone
from capstone import arm

UNALIGNED = {1: 0, 2: 1, 4: 2, 8: 4}    #: cycles more at most, by the bytes of an access
REFILL = 2                      #: P: cycles to fill the pipeline after a jump
MOST_REFILL = 3                 #: to an instruction of 32 bits that two words hold

_LOADS = frozenset(("ldr", "ldrb", "ldrh", "ldrsb", "ldrsh"))
_STORES = frozenset(("str", "strb", "strh"))
_CYCLES = {"mla": 2, "mls": 2, "tbb": 2, "tbh": 2, "msr": 2, "mrs": 2, "dmb": 2, "dsb": 2, "isb": 2}
_LONG = {"umull": 3, "smull": 3, "umlal": 4, "smlal": 4}


class Kind(Enum):
    """What decides an instruction's time."""

    PLAIN = 0
    LOAD = 1
    STORE = 2
    LONG = 3                    # multiplication with a 64-bit result
    DIVIDE = 4


@dataclass(frozen=True)
class Insn:
    """One Thumb instruction. Registers are capstone's numbers."""

    address: int
    size: int
    text: str
    kind: Kind
    cycles: int                 #: alone; without the refill; LONG and DIVIDE: at least
    conditional: bool           #: inside an IT block
    conditions: tuple[int, ...] #: IT: of the instructions behind it, as encoded
    compares: bool              #: sets flags and does nothing else: the one kind that does inside an IT block
    jump: bool                  #: may write the program counter
    indirect: bool              #: to an address in a register or in memory
    always: bool                #: jumps, whatever the flags
    target: int | None          #: LOAD: what it loads
    bases: tuple[int, ...]      #: LOAD, STORE: what makes the address
    octets: int                 #: LOAD, STORE: 1, 2 or 4
    operands: tuple[int, ...]   #: LONG, DIVIDE: both inputs
    pipelines: bool             #: a load or store behind it may take one cycle less


def make_disassembler() -> capstone.Cs:
    md = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    md.detail = True
    return md


def decode(code: bytes, address: int, md: capstone.Cs | None = None) -> list[Insn]:
    """All instructions of a stretch of code."""
    md = md or make_disassembler()
    out, left, at = [], 0, 0
    while at + 2 <= len(code):
        half = int.from_bytes(code[at:at + 2], "little")
        found = next(md.disasm(code[at:at + 4], address + at, 1), None)
        if found is None:
            raise ValueError(f"no Thumb instruction at {address + at:#x}: {code[at:at + 4].hex()}")
        conditional = left > 0
        left = max(0, left - 1)
        conditions = _it_conditions(half)
        left = len(conditions) or left
        out.append(_insn(found, conditional, conditions))
        at += found.size
    return out


def _it_conditions(half: int) -> tuple[int, ...]:
    """The conditions an IT instruction gives to those behind it; none when it is none (ARMv7-M ARM, A7.7.38)."""
    first, mask = half >> 4 & 0xF, half & 0xF
    if half & 0xFF00 != 0xBF00 or not mask:
        return ()
    more = 4 - (mask & -mask).bit_length()
    return (first, *(first & 0xE | mask >> 3 - i & 1 for i in range(more)))


def holds(condition: int, flags: int) -> bool:
    """Whether a condition holds (ARMv7-M ARM, A7.3). `flags`: the program status register."""
    n, z, c, v = (flags >> bit & 1 for bit in (31, 30, 29, 28))
    value = (z, c, n, v, c and not z, n == v, n == v and not z, 1)[condition >> 1]
    return bool(value) != bool(condition & 1 and condition != 15)


def _insn(c: capstone.CsInsn, conditional: bool, conditions: tuple[int, ...]) -> Insn:
    name = c.insn_name().lower().removesuffix(".w")
    operands = c.operands
    registers = [o.reg for o in operands if o.type == arm.ARM_OP_REG]
    memory = next((o.mem for o in operands if o.type == arm.ARM_OP_MEM), None)
    to_pc = arm.ARM_REG_PC in registers[:1] if name not in ("pop", "ldm") else arm.ARM_REG_PC in registers
    branch = name in ("b", "bl", "bx", "blx", "cbz", "cbnz", "tbb", "tbh")
    kind, cycles, target, bases, octets, inputs = Kind.PLAIN, _CYCLES.get(name, 1), None, (), 0, ()
    if name in _LOADS:
        kind, cycles, target = Kind.LOAD, 2, registers[0]
    elif name in _STORES:
        kind, cycles = Kind.STORE, 2 if memory.index else 1
    elif name in ("ldrd", "strd"):
        cycles = 3
    elif name in ("push", "pop"):
        cycles = 1 + len(registers)
    elif name.startswith(("ldm", "stm")):
        cycles = len(registers)                 # one of them is the base
    elif name in _LONG:
        kind, cycles, inputs = Kind.LONG, _LONG[name], tuple(registers[-2:])
    elif name in ("udiv", "sdiv"):
        kind, cycles, inputs = Kind.DIVIDE, 2, tuple(registers[-2:])
    if kind in (Kind.LOAD, Kind.STORE):
        bases = tuple(r for r in (memory.base, memory.index) if r)
        octets = 1 if name.endswith("b") else 2 if name.endswith("h") else 4
    indirect = (branch and name in ("bx", "blx", "tbb", "tbh")) or (to_pc and not branch)
    always = not conditional and (indirect or c.mnemonic.removesuffix(".w") in ("b", "bl"))
    return Insn(c.address, c.size, f"{c.mnemonic} {c.op_str}".strip(), kind, cycles, conditional,
                conditions, name in ("cmp", "cmn", "tst", "teq"), branch or to_pc, indirect, always,
                target, bases, octets, inputs, kind == Kind.LOAD and not to_pc and not conditional)


def static_cycles(insn: Insn, before: Insn | None) -> int:
    """Cycles without the refill and without what operands add. `before`: executed just before it in sequence."""
    pair = (before is not None and before.pipelines and not insn.conditional and before.target not in insn.bases
            and (insn.kind == Kind.LOAD and not insn.jump or insn.kind == Kind.STORE and insn.cycles == 2))
    return insn.cycles - pair


def operand_cycles(insn: Insn, a: int, b: int) -> int:
    """What the operands (unsigned words, in the order of `operands`) add to `cycles`."""
    if insn.kind == Kind.LONG:
        return (a > 0xFFFF) + (b > 0xFFFF)
    if insn.kind == Kind.DIVIDE:
        if insn.text.startswith("sdiv"):
            a, b = (x if x < 1 << 31 else (1 << 32) - x for x in (a, b))
        bits = a.bit_length() - b.bit_length() + 1 if b and a >= b else 0
        return min(10, (bits * 10 + 31) // 32)
    return 0


def unaligned_cycles(address: int, size: int) -> int:
    """What an access of 1, 2 or 4 bytes takes more by where it is. No multiple of a power of two takes more than that itself."""
    return 0 if address % size == 0 else 2 if size == 4 and address % 2 else 1


def most_refill(target: Insn, shift: int = 0) -> int:
    """Cycles to fill the pipeline with this instruction at most. `shift`: as if it lay so many bytes on."""
    return MOST_REFILL if target.size == 4 and (target.address + shift) % 4 else REFILL


def straight_cycles(insns: Iterable[Insn], before: Insn | None = None) -> int:
    """Cycles of instructions one after the other."""
    total = 0
    for insn in insns:
        total += static_cycles(insn, before)
        before = insn
    return total
