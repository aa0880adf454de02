"""Where on the stack a container keeps what: values that are never needed at the same time share their bytes, and a number of 32 bits takes four.

LLVM gives whatever was once in a 64-bit register eight bytes, and each variable that it did not optimise away bytes of its own. Which instructions there
are does not change, only where they store and load, and how much: four bytes are stored in fewer cycles. And what is loaded from them has an upper half
of zeros: a copy of its lower half is a copy.
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..isa import ALU64, ALU_OPS, K, MODES, SIZES, STX, X
from .flow import Facts, backward, forward, jumps
from .renamed import rename_copies
from .rewrite import Line, read, sweep, write
from .spills import Held, slot_of, takes_address

MOVE, ADD = ALU64 | X | ALU_OPS["MOV"], ALU64 | K | ALU_OPS["ADD"]


@dataclass(eq=False)
class Kept:
    """A value, or several that some instruction may take for one another: the stores and loads of it. `low`, `high`: of its bytes, below r10."""

    lines: list[int] = field(default_factory=list)
    low: int = 0
    high: int = 0
    align: int = 1
    bytes: int = 0                              # a bit for each of its bytes, and those of all others beside them
    at: int | None = None                       # where it goes


def with_less_stack(text: bytes, lines: list[tuple[int, str, int]], variables: int) -> tuple[bytes, list[tuple[int, str, int]]]:
    code = read(text, lines)
    share_stack(code, variables)
    if rename_copies(code):
        sweep(code)
    return write(code)


def share_stack(code: list[Line], variables: int) -> None:
    """Gives everything its place anew, as near to r10 as it goes. What lies above an address that is computed stays where it is, and then so do the
    first `variables` bytes: those that LLVM gave to variables, of which some are known by their address."""
    known = addresses(code)
    if known is None:
        return
    fixed = max(*known, variables) if known else 0
    for off, octets in sorted({slot for line in code if (slot := slot_of(line)) is not None}, reverse=True):
        if off < -fixed < off + octets:         # some of its bytes are
            fixed = -off
    while narrow(code, kept(code, fixed)):
        pass
    values = kept(code, fixed)
    apart = needed_together(code, values)
    for value in sorted(values, key=lambda one: (one.low - one.high, -len(apart[one]))):
        size = value.high - value.low
        taken = [(other.at, other.at + other.high - other.low) for other in apart[value] if other.at is not None]
        below = -(-(fixed + size) // value.align) * value.align
        while any(start < size - below and -below < end for start, end in taken):
            below += value.align
        value.at = -below
    for value in values:
        for i in value.lines:
            insn = code[i].insn
            code[i].insn = replace(insn, off=insn.off - value.low + value.at)


def addresses(code: list[Line]) -> list[int] | None:
    """How far below r10 the places are whose addresses are computed, as `rX = r10; rX += n`; None where r10 is used in another way, too."""
    out = []
    for line, behind in zip(code, [*code[1:], None]):
        insn = line.insn
        if takes_address(line):
            add = behind.insn if behind is not None else insn
            if insn.op != MOVE or add.op != ADD or add.dst != insn.dst:
                return None
            out.append(-add.imm)
    return out


def kept(code: list[Line], fixed: int) -> list[Kept]:
    """What the code keeps below the fixed bytes."""
    slots = {i: slot for i, line in enumerate(code) if (slot := slot_of(line)) is not None and slot[0] < -fixed}
    stores = [i for i in slots if code[i].insn.is_store]
    at: dict[int, list[tuple[int, int]]] = {}   # by byte: (store, its bit), each byte of each store has one
    bits: dict[int, int] = {}
    for number, (i, octet) in enumerate((i, octet) for i in stores for octet in range(slots[i][1])):
        at.setdefault(slots[i][0] + octet, []).append((i, 1 << number))
        bits[i] = bits.get(i, 0) | 1 << number
    touched = {slot: [one for octet in range(slot[1]) for one in at.get(slot[0] + octet, ())] for slot in set(slots.values())}
    ended = {slot: sum(bit for _, bit in met) for slot, met in touched.items()}
    before = reaching(code, [(ended[slots[i]], bits[i]) if i in bits else (0, 0) for i in range(len(code))])
    leader = {i: i for i in slots}

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = i = leader[leader[i]]
        return i

    for i, slot in slots.items():               # all that a load may find is one value
        if code[i].insn.is_load:
            for store, bit in touched[slot]:
                if before[i] & bit:
                    leader[find(store)] = find(i)
    found: dict[int, Kept] = {}
    for i in leader:
        found.setdefault(find(i), Kept()).lines.append(i)
    total = 0
    for value in found.values():
        value.align = max(slots[i][1] for i in value.lines)
        value.low = min(slots[i][0] for i in value.lines) // value.align * value.align
        value.high = max(slots[i][0] + slots[i][1] for i in value.lines)
        value.bytes = (1 << value.high - value.low) - 1 << total
        total += value.high - value.low
    return list(found.values())


def reaching(code: list[Line], steps: list[tuple[int, int]]) -> list[int]:
    """What may hold before each instruction; `steps`: what an instruction ends, what it begins, as bit sets."""
    ways, before = jumps(code), [0] * len(code)
    again = True
    while again:                                # in order, and once more where a jump back brought something new
        again, held = False, 0
        for i, (way, (ends, begins)) in enumerate(zip(ways, steps)):
            before[i] = held = before[i] | held
            held = held & ~ends | begins
            if way is not None:
                to, on = way
                if to is not None and before[to] | held != before[to]:
                    before[to] |= held
                    again |= to <= i
                held = held if on else 0
    return before


def needed_together(code: list[Line], values: list[Kept]) -> dict[Kept, set[Kept]]:
    """For each value those that are needed where it is stored, or that are stored while it is needed."""
    of = {i: value for value in values for i in value.lines}
    effects = []
    for i, line in enumerate(code):
        value = of.get(i)
        if value is None:
            effects.append((0, 0))
            continue
        off, size = slot_of(line)
        mine = value.bytes & -value.bytes       # its first byte
        mask = ((1 << size) - 1) * (mine << off - value.low)
        effects.append((0, mask) if line.insn.is_store else (mask, 0))
    _, after = backward(code, effects)
    apart: dict[Kept, set[Kept]] = {value: set() for value in values}
    for i, value in of.items():
        if code[i].insn.is_store:
            for other in values:
                if other is not value and other.bytes & after[i]:
                    apart[value].add(other)
                    apart[other].add(value)
    return apart


def narrow(code: list[Line], values: list[Kept]) -> bool:
    """Numbers that are stored as 64 bits and whose upper halves are zero: four bytes. Of a pointer, which has no zeros there, no half is kept."""
    held = Held(code)
    facts = forward(code, [held.step(line) for line in code], held.behind)
    changed = False
    for value in values:
        lines = [code[i] for i in value.lines]
        if value.high - value.low == 8 and all(line.insn.size == 8 and line.insn.mode == MODES["MEM"] for line in lines) and all(
                line.insn.is_load or is_narrow(line, held, facts[i]) for i, line in zip(value.lines, lines)):
            for i in value.lines:
                insn = code[i].insn
                code[i].insn = replace(insn, op=insn.op & ~SIZES["DW"] | SIZES["W"])
            changed = True
    return changed


def is_narrow(line: Line, held: Held, facts: Facts | None) -> bool:
    """Whether the upper half of what is stored is zero."""
    insn = line.insn
    return facts is None or (held.has(insn.src, None, facts) if insn.cls == STX else insn.imm >= 0)
