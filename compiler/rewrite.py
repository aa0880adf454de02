"""Bytecode as a list that can be edited: jumps point at instructions, not at offsets; source lines go along."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from .isa import ALU, ALU_OPS, EXIT, JA, JA32, MODES, STX, Instruction, decode, encode

Fact = TypeVar("Fact")
LEAVING = (EXIT, JA, JA32)                      # nothing comes behind it but what jumps there
ONWARDS: list[tuple[int, ...]] = []             # what most of all code is, made once


@dataclass(eq=False)
class Line:
    """One instruction; `target` of a jump; `source` (file, line) or None; `dead` marks it for removal."""

    insn: Instruction
    target: "Line | None" = None
    source: tuple[str, int] | None = None
    dead: bool = field(default=False, repr=False)


class RewriteError(Exception):
    """The result cannot be encoded."""


def read(text: bytes, lines: list[tuple[int, str, int]]) -> list[Line]:
    """`lines`: (slot, file, line), each valid until the next row."""
    at: dict[int, Line] = {}
    code: list[Line] = []
    rows, source, slot = sorted(lines), None, 0
    for insn in decode(text):
        while rows and rows[0][0] <= slot:
            source = rows[0][1:]
            rows = rows[1:]
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


def sweep(code: list[Line]) -> list[Line]:
    """Takes out what is dead or never reached; a jump to a dead instruction goes to the next that is not."""
    after: dict[Line, Line] = {}
    alive = None
    for line in reversed(code):
        if not line.dead:
            alive = line
        after[line] = alive
    for line in code:
        if line.target is not None:
            line.target = after[line.target]
    code = [line for line in code if not line.dead]
    index, seen, todo = {line: i for i, line in enumerate(code)}, bytearray(len(code)), [0]
    while todo:
        i = todo.pop()
        while i < len(code) and not seen[i]:
            seen[i] = 1
            line = code[i]
            if line.target is not None:
                todo.append(index[line.target])
            i = len(code) if line.insn.op in LEAVING else i + 1
    return [line for line, reached in zip(code, seen) if reached]


def neighbours(code: list[Line]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """For each instruction those that may come next, and those before it."""
    following = followers(code)
    preceding: list[list[int]] = [[] for _ in code]
    for i, to in enumerate(following):
        for j in to:
            preceding[j].append(i)
    return following, preceding


def followers(code: list[Line]) -> list[tuple[int, ...]]:
    """For each instruction those that may come next."""
    index, out = {line: i for i, line in enumerate(code)}, in_line(len(code))
    if code:
        out[-1] = ()
    for i, line in enumerate(code):
        if line.target is not None:
            out[i] = (index[line.target],) if line.insn.op in LEAVING else (index[line.target], *out[i])
        elif line.insn.op == EXIT:
            out[i] = ()
    return out


def in_line(count: int) -> list[tuple[int, ...]]:
    """(i + 1,) for each i below `count`."""
    while len(ONWARDS) < count:
        ONWARDS.append((len(ONWARDS) + 1,))
    return ONWARDS[:count]


def reads_writes(insn: Instruction) -> tuple[int, int]:
    """Registers read and written, as bit sets; a call reads r1-r5 and spoils r0-r5."""
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
    reads = src if insn.uses_reg else 0
    if insn.code != ALU_OPS["MOV"]:
        reads |= dst
    return reads, dst


def live_out(code: list[Line]) -> list[int]:
    """For each instruction the registers whose values are read after it."""
    return liveness(code)[1]


def liveness(code: list[Line]) -> tuple[list[int], list[int]]:
    """For each instruction the registers whose values are read from it on, and after it."""
    return backward(code, [reads_writes(line.insn) for line in code])


def backward(code: list[Line], all_effects: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Of what each instruction reads and writes, as bit sets: what is read from it on, and after it."""
    following = followers(code)
    before = [0] * len(code)
    out = [0] * len(code)
    changed = True
    while changed:
        changed = False
        for i in range(len(code) - 1, -1, -1):
            live = 0
            for j in following[i]:
                live |= before[j]
            reads, writes = all_effects[i]
            now = (live & ~writes) | reads
            if now != before[i] or live != out[i]:
                before[i], out[i], changed = now, live, True
    return before, out


def forward(code: list[Line], behind: Callable[[Line, frozenset[Fact], bool], frozenset[Fact]]) -> list[frozenset[Fact] | None]:
    """What is known before each instruction, on all ways to it; None where there is no way. `behind(line, facts, jumps)`: what is known
    behind one, where it jumps or where it does not."""
    index = {line: i for i, line in enumerate(code)}
    before: list[frozenset[Fact] | None] = [None] * len(code)
    before[0] = frozenset()
    todo = [0]
    while todo:
        i = todo.pop()
        line, facts = code[i], before[i]
        ways = [] if line.target is None else [(index[line.target], True)]
        if not line.insn.ends_block:
            ways.append((i + 1, False))
        for j, jumps in ways:
            after = behind(line, facts, jumps)
            met = after if before[j] is None else before[j] & after
            if met != before[j]:
                before[j] = met
                todo.append(j)
    return before
