"""Bytecode as a list that can be edited: jumps point at instructions, not at offsets; source lines go along."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, wraps

from ..helpers import BY_NUMBER
from ..isa import ALU, ALU_OPS, CALL, CALL_HELPER, EXIT, JA, JA32, MODES, STX, Instruction, decode, encode

LEAVING = (EXIT, JA, JA32)                      # nothing comes behind it but what jumps there


@dataclass(eq=False, slots=True)
class Line:
    """One instruction; `target` of a jump; `source` (file, line) or None; `dead` marks it for removal."""

    insn: Instruction
    target: "Line | None" = None
    source: tuple[str, int] | None = None
    dead: bool = field(default=False, repr=False)


def read(text: bytes, lines: list[tuple[int, str, int]]) -> list[Line]:
    """`lines`: (slot, file, line), each valid until the next row."""
    at: dict[int, Line] = {}
    code: list[Line] = []
    rows, source, slot = sorted(lines, reverse=True), None, 0
    for insn in decode(text):
        while rows and rows[-1][0] <= slot:
            source = rows.pop()[1:]
        at[slot] = Line(insn, None, source)
        code.append(at[slot])
        slot += insn.slots
    for slot, line in at.items():
        if line.insn.is_jump:
            line.target = at[line.insn.target(slot)]
    return code


def write(code: list[Line]) -> tuple[bytes, list[tuple[int, str, int]]]:
    slot, where = 0, {}
    for line in code:
        where[line] = slot
        slot += line.insn.slots
    out, rows = [], []
    for line in code:
        insn = line.insn
        if line.target is not None:
            insn = insn.retarget(where[line], where[line.target])
        out.append(insn)
        if line.source is not None and (not rows or rows[-1][1:] != line.source):
            rows.append((where[line], *line.source))
    return encode(out), rows


def sweep(code: list[Line]) -> None:
    """Takes out what is dead or never reached; a jump to a dead instruction goes to the next that is not."""
    after: dict[Line, Line] = {}                # a dead instruction -> the next that is not
    alive = None
    for line in reversed(code):
        if line.dead:
            after[line] = alive
        else:
            alive = line
    if after:
        code[:] = [line for line in code if not line.dead]
    index: dict[Line, int] = {}
    for i, line in enumerate(code):
        index[line] = i
        if line.target in after:
            line.target = after[line.target]
    seen, todo = bytearray(len(code)), [0]
    while todo:
        i = todo.pop()
        while i < len(code) and not seen[i]:
            seen[i] = 1
            line = code[i]
            if line.target is not None:
                todo.append(index[line.target])
            if line.insn.op in LEAVING:
                break
            i += 1
    if 0 in seen:
        code[:] = [line for line, reached in zip(code, seen) if reached]


class Ways:
    """Where jumps lead, and where instructions stand, for as long as the code stays as it is."""

    def __init__(self, code: list[Line]) -> None:
        self.code = code
        self.to = Counter(line.target for line in code if line.target is not None)
        self.index = {line: i for i, line in enumerate(code)}

    def alone(self, branch: Line) -> bool:
        """Whether nothing else leads to where this one jumps."""
        return self.to[branch.target] == 1 and not runs_in(self.code, self.index[branch.target])

    def lone_branches(self) -> Iterator[tuple[int, Line]]:
        """Each branch that nothing else leads to the target of, and where it stands."""
        return ((i, line) for i, line in enumerate(self.code) if line.insn.is_branch and self.alone(line))


def repeated(step: Callable[[list[Line]], bool]) -> Callable[[list[Line]], None]:
    """What changes one place, as a pass: until it finds none."""
    @wraps(step)
    def until_done(code: list[Line]) -> None:
        while step(code):
            sweep(code)
    return until_done


def runs_in(code: list[Line], at: int) -> bool:
    """Whether an instruction is reached without a jump: from the one before it, or as the first of all."""
    return at == 0 or not code[at - 1].insn.ends_block


def targets_of(code: list[Line]) -> set[Line]:
    return {line.target for line in code if line.target is not None}


def reads_writes(insn: Instruction) -> tuple[int, int]:
    """Registers read and written, as bit sets; a call reads its arguments, r1-r5 if it is not known which, and spoils r0-r5."""
    if insn.op == CALL and insn.src == CALL_HELPER and (helper := BY_NUMBER.get(insn.imm)) is not None:
        return (1 << 1 + len(helper.args)) - 2, 0b111111
    return effects(insn.op, insn.dst, insn.src)


def clears_upper_half(insn: Instruction) -> bool:
    """Of the register that it writes."""
    return insn.cls == ALU and not (insn.code == ALU_OPS["END"] and insn.imm == 64) or insn.is_load and insn.size <= 4 and insn.mode == MODES["MEM"]


@lru_cache(4096)
def effects(op: int, to: int, of: int) -> tuple[int, int]:
    insn, dst, src = Instruction(op, to, of), 1 << to, 1 << of
    if insn.is_exit:
        return 1, 0
    if insn.is_call:
        return 0b111110, 0b111111
    if insn.is_goto:
        return 0, 0
    if insn.is_branch:
        return dst | (src if insn.uses_reg else 0), 0
    if insn.is_lddw:
        return 0, dst
    if insn.is_load:
        return src, dst
    if insn.is_atomic:
        return dst | src | 1, src | 1
    if insn.is_store:
        return dst | (src if insn.cls == STX else 0), 0
    reads = src if insn.uses_reg and insn.code != ALU_OPS["END"] else 0         # of a swap that bit says which way
    if insn.code != ALU_OPS["MOV"]:
        reads |= dst
    return reads, dst
