"""Tests whose answer the bits of a number tell, masks that clear nothing, and what is added to a place and known.

LLVM asks for the bits of a value where it is made, and not through the ways that meet before it: of a header's first word, put together field by
field on several ways, it asks later which form each field has. Here each register, and each place of the stack that only r10 names, has the bits that
are the same on all ways to an instruction; a way that no packet takes is none. Sums have no bits that are known: of a place that counts in words a test
for the last octet says to the checker of certificates, which follows bounds and no bits, that there is room for one more.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..isa import ALU, ALU64, ALU_OPS, FRAME_POINTER, JA, JMP32, JMP_OPS, MODES, REGISTERS, STX, Instruction, X, signed32
from .flow import jumps
from .ranges import range_tests, test_ends
from .rewrite import Line, reads_writes, sweep
from .spills import Slot, slot_of, takes_address

ADD, MOV, AND, OR, XOR, LSH, RSH, END, DIV, MOD = (ALU_OPS[n] for n in ("ADD", "MOV", "AND", "OR", "XOR", "LSH", "RSH", "END", "DIV", "MOD"))
JEQ, JNE, JSET, JGT, JGE, JLT, JLE = (JMP_OPS[n] for n in ("JEQ", "JNE", "JSET", "JGT", "JGE", "JLT", "JLE"))
HALF, ALL = (1 << 32) - 1, (1 << 64) - 1
UPPER = ALL ^ HALF
#: Which bits are known, and what they are; those that are not are 0 in both.
Bits = tuple[int, int]
NOTHING: Bits = 0, 0


def constant(value: int) -> Bits:
    return ALL, value & ALL


def both(x: Bits, y: Bits) -> Bits:
    """What is known where two ways meet."""
    known = x[0] & y[0] & ~(x[1] ^ y[1])
    return known, x[1] & known


def low(x: Bits, octets: int) -> Bits:
    """The lower octets, with zeros above."""
    mask = (1 << 8 * octets) - 1
    return x[0] & mask | ALL ^ mask, x[1] & mask


def swapped(x: Bits, octets: int) -> Bits:
    known, value = (int.from_bytes((part & (1 << 8 * octets) - 1).to_bytes(octets, "little"), "big") for part in x)
    return low((known, value), octets)


class Known:
    """What is known before an instruction. `parts`: a register -> (another, a mask) whose bits it has, of the lower half."""

    def __init__(self, registers: list[Bits] | None = None, slots: dict[Slot, Bits] | None = None, parts: dict[int, tuple[int, int]] | None = None):
        self.registers = registers if registers is not None else [NOTHING] * REGISTERS
        self.slots = slots if slots is not None else {}
        self.parts = parts if parts is not None else {}

    def copy(self) -> Known:
        return Known(self.registers[:], self.slots.copy(), self.parts.copy())

    def meet(self, other: Known) -> bool:
        """Keeps what both know; whether that is less than before."""
        registers = [x if x == y else both(x, y) for x, y in zip(self.registers, other.registers)]
        slots = {slot: met for slot, x in self.slots.items() if (y := other.slots.get(slot)) is not None and (met := x if x == y else both(x, y)) != NOTHING}
        parts = {reg: part for reg, part in self.parts.items() if other.parts.get(reg) == part}
        if registers == self.registers and slots == self.slots and parts == self.parts:
            return False
        self.registers, self.slots, self.parts = registers, slots, parts
        return True

    def operand(self, insn: Instruction, half: bool) -> Bits:
        x = self.registers[insn.src] if insn.uses_reg else constant(insn.imm)
        return low(x, 4) if half else x

    def result(self, insn: Instruction) -> Bits:
        """Of arithmetic."""
        half, code, x = insn.cls == ALU, insn.code, self.registers[insn.dst]
        if code == END:
            turns = insn.cls == ALU64 or insn.uses_reg          # bswap, or to network order
            return swapped(x, insn.imm // 8) if turns else low(x, insn.imm // 8)
        if insn.off:                            # with a sign
            return NOTHING
        y = self.operand(insn, half)
        if half:
            x = low(x, 4)
        if code == MOV:
            return y
        found = NOTHING
        if code in (AND, OR, XOR):
            found = combined(code, x, y)
        elif code in (LSH, RSH) and y[0] == ALL:
            by = y[1] & (31 if half else 63)
            known = x[0] >> by | ALL ^ ALL >> by if code == RSH else (x[0] << by | (1 << by) - 1) & ALL
            found = known, (x[1] >> by if code == RSH else x[1] << by) & known
        return low(found, 4) if half else found

    def step(self, line: Line, hidden: bool) -> None:
        """Behind an instruction that is no branch. `hidden`: the stack has other names, too."""
        insn, writes, slot = line.insn, reads_writes(line.insn)[1], None if hidden else slot_of(line)
        value, part = NOTHING, None
        if insn.is_alu:
            value, part = self.result(insn), self.part(insn)
        elif insn.is_lddw and insn.src == 0:
            value = constant(insn.imm)
        elif insn.is_load and insn.mode == MODES["MEM"]:
            value = low(self.slots.get(slot, NOTHING), insn.size)
        elif insn.is_store and slot is not None:
            self.slots = {other: x for other, x in self.slots.items() if other[0] >= slot[0] + slot[1] or slot[0] >= other[0] + other[1]}
            if insn.mode == MODES["MEM"]:
                self.slots[slot] = low(self.registers[insn.src] if insn.cls == STX else constant(insn.imm), slot[1])
        if not writes:
            return
        if self.parts:
            self.parts = {reg: of for reg, of in self.parts.items() if not (writes >> reg | writes >> of[0]) & 1}
        if writes != 1 << insn.dst:             # a call's
            self.registers = [NOTHING if writes >> reg & 1 else x for reg, x in enumerate(self.registers)]
            return
        self.registers[insn.dst] = value
        if part is not None and part[0] != insn.dst:
            self.parts[insn.dst] = part

    def part(self, insn: Instruction) -> tuple[int, int] | None:
        """What a result is of another register."""
        if insn.code == MOV and insn.uses_reg and not insn.off and insn.src != FRAME_POINTER:
            return insn.src, HALF
        if insn.code == AND and not insn.uses_reg and insn.dst in self.parts and (insn.cls == ALU or insn.imm >= 0):
            of, mask = self.parts[insn.dst]
            return of, mask & insn.imm
        return None

    def learn(self, reg: int, mask: int, value: int) -> None:
        """That these bits of a register are those of `value`; so are those of what it is a part of."""
        known, was = self.registers[reg]
        self.registers[reg] = known | mask, was & ~mask | value & mask
        if reg in self.parts:
            of, part = self.parts[reg]
            known, was = self.registers[of]
            self.registers[of] = known | mask & part, was & ~(mask & part) | value & mask & part

    def behind(self, branch: Instruction, holds: bool) -> Known:
        """What is known where a branch leads; `holds`: where it jumps."""
        out, code = self.copy(), branch.code
        if branch.uses_reg:
            return out
        width = HALF if branch.cls == JMP32 else ALL
        number = branch.imm & width
        if code == JEQ and holds or code == JNE and not holds:
            out.learn(branch.dst, width, number)
        elif code == JSET and not holds:
            out.learn(branch.dst, number, 0)
        elif code == JSET and one_bit(number):
            out.learn(branch.dst, number, number)
        elif code in (JEQ, JNE) and number == 0 and branch.dst in self.parts and one_bit(bit := self.parts[branch.dst][1]):
            out.learn(branch.dst, bit, bit)
        elif (most := number if (code, holds) in ((JGT, False), (JLE, True)) else number - 1 if (code, holds) in ((JGE, False), (JLT, True)) else -1) >= 0:
            out.learn(branch.dst, width & ~((1 << most.bit_length()) - 1), 0)
        return out

    def answer(self, branch: Instruction) -> bool | None:
        """Whether a branch jumps, where the bits tell."""
        half, code = branch.cls == JMP32, branch.code
        width = HALF if half else ALL
        x, y = self.registers[branch.dst], self.operand(branch, half)
        known = x[0] & y[0] & width
        if code in (JEQ, JNE):
            if (x[1] ^ y[1]) & known:
                return code == JNE
            return code == JEQ if known == width else None
        if code == JSET:
            if x[1] & y[1] & width:
                return True
            return False if (x[0] & ~x[1] | y[0] & ~y[1]) & width == width else None
        if code not in (JGT, JGE, JLT, JLE):
            return None
        least, most = x[1] & width, (x[1] | ~x[0]) & width
        lowest, highest = y[1] & width, (y[1] | ~y[0]) & width
        above, below = (least > highest, most <= lowest) if code in (JGT, JLE) else (least >= highest, most < lowest)
        return None if not above and not below else above == (code in (JGT, JGE))


def combined(code: int, x: Bits, y: Bits) -> Bits:
    if code == XOR:
        known = x[0] & y[0]
        return known, (x[1] ^ y[1]) & known
    ones = x[1] & y[1] if code == AND else x[1] | y[1]
    zeros = x[0] & ~x[1] | y[0] & ~y[1] if code == AND else x[0] & ~x[1] & y[0] & ~y[1]
    return ones | zeros, ones


def one_bit(number: int) -> bool:
    return number > 0 and number & number - 1 == 0


def decide_by_bits(code: list[Line]) -> bool:
    """Such branches are left out, or are jumps; such masks are left out; what is added is said as a constant, and so is what arithmetic gives. What is divided by is asked whether it is 0:
    the checker of certificates is to see it."""
    ranges, more = range_tests(code), {}
    changed, divides = False, any(line.insn.is_alu and line.insn.uses_reg and line.insn.code in (DIV, MOD) for line in code)
    for line, known in facts(code):
        insn = line.insn
        if insn.is_branch and not (divides and insn.imm in (0, 1)) and (answer := known.answer(insn)) is not None:
            line.dead, line.insn, changed = not answer, Instruction(JA) if answer else insn, True
        elif insn.is_alu and insn.code == AND and not insn.uses_reg:
            kept = constant(insn.imm)[1] & (HALF if insn.cls == ALU else ALL)
            if known.registers[insn.dst][0] & ~known.registers[insn.dst][1] & ~kept == ALL & ~kept:
                line.dead = changed = True
        elif insn.cls == ALU64 and insn.code == ADD and insn.uses_reg and (number := whole(known.registers[insn.src])) is not None:
            line.insn, line.dead, changed = replace(insn, op=insn.op & ~X, src=0, imm=number), number == 0, True
        elif (number := computed(insn, known)) is not None:
            line.insn, changed = number, True
        elif line in ranges:
            found = ranges[line]
            known_bits, value = known.registers[found.reg]
            more[found.branch] = test_ends(found, (value | ~known_bits) & HALF)
            changed |= line.dead
    if any(more.values()):
        code[:] = [each for line in code for each in ((more[line], line) if more.get(line) else (line,))]
    return changed


def computed(insn: Instruction, known: Known) -> Instruction | None:
    """What says the number that arithmetic gives, where that is known and is no copy."""
    if not insn.is_alu or insn.code == MOV:
        return None
    bits, number = known.result(insn)
    if bits != ALL:
        return None
    if insn.cls == ALU and insn.code != END:    # else the engine may have no arithmetic of 32 bits
        return Instruction(ALU | MOV, insn.dst, imm=signed32(number))
    return Instruction(ALU64 | MOV, insn.dst, imm=signed32(number)) if signed32(number) & ALL == number else None


def drop_constants(code: list[Line]) -> None:
    """Of registers that have them already. Late: before, others find what is made for one way only."""
    for line, known in facts(code):
        insn = line.insn
        if insn.is_alu and insn.code == MOV and not insn.uses_reg and known.registers[insn.dst] == low(constant(insn.imm), 4 if insn.cls == ALU else 8):
            line.dead = True
    sweep(code)


def whole(x: Bits) -> int | None:
    """The number that a register's bits are, if they are all known and it can stand in an instruction."""
    return signed32(x[1]) if x[0] == ALL and signed32(x[1]) & ALL == x[1] else None


def facts(code: list[Line]) -> Iterator[tuple[Line, Known]]:
    """Each instruction that some way leads to, with what is known before it; what is known is the caller's until the next one."""
    ways, hidden = jumps(code), any(takes_address(line) for line in code)
    starts = sorted({0, *(i + 1 for i, way in enumerate(ways) if way is not None and i + 1 < len(code)),
                     *(way[0] for way in ways if way is not None and way[0] is not None)})
    end_of = dict(zip(starts, [*starts[1:], len(code)]))
    before: dict[int, Known] = {0: Known()}
    todo = {0}
    while todo:                                 # what stands first is followed first: most that leads to a place stands before it
        start = min(todo)
        todo.remove(start)
        known, end = before[start].copy(), end_of[start]
        last = code[end - 1].insn
        for line in code[start:end - last.is_branch]:
            known.step(line, hidden)
        to, on = ways[end - 1] or (None, True)
        answer = known.answer(last) if last.is_branch else None
        for place, leads in ((to, True), (end if on and end < len(code) else None, False)):
            if place is None or answer is not None and answer != leads:
                continue
            there = known.behind(last, leads) if last.is_branch else known.copy()
            if place not in before:
                before[place] = there
                todo.add(place)
            elif before[place].meet(there):
                todo.add(place)
    for start, known in sorted(before.items()):
        for line in code[start:end_of[start]]:
            yield line, known
            if not line.insn.is_branch and not line.dead:
                known.step(line, hidden)
