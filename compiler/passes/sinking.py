"""What only one of two ways needs is made on that way, behind the branch, not in front of it.

LLVM does so before it gives out registers. What the register allocator adds, reloads and copies, stays where it put it, and constants that a
choice begins with stand in front of tests that they are not for.
"""
from __future__ import annotations

from ..isa import FRAME_POINTER, MODES
from .flow import liveness
from .rewrite import Line, Ways, reads_writes
from .spills import slot_of, takes_address

FARTHEST = 12                                   # instructions in front of a branch that are looked at


def sink(code: list[Line]) -> bool:
    """Where nothing else leads to the one way: the other executes less then, none executes more, and there is no more code."""
    ways = Ways(code)
    needed, _ = liveness(code)
    hidden = any(takes_address(line) for line in code)
    behind: dict[Line, list[Line]] = {}         # what comes in front of an instruction from now on
    moved: dict[Line, Line] = {}                # each with what was behind it
    for i, branch in enumerate(code):
        if not branch.insn.is_branch or branch in ways.to:
            continue
        on, to = i + 1, ways.index[branch.target]
        alone = {on: code[on] not in ways.to, to: to > on and ways.alone(branch)}
        read, written = reads_writes(branch.insn)
        stores: list[Line] = []                 # between
        for j in range(i - 1, max(i - FARTHEST, 0) - 1, -1):
            line = code[j]
            if line.insn.is_jump or line.insn.is_exit or line.insn.is_call or line in moved:
                break
            reads, writes = reads_writes(line.insn)
            where = [place for place in {on, to} if needed[place] & writes]
            if len(where) == 1 and alone[where[0]] and is_value(line) and not (writes & (read | written) or reads & written) and keeps(line, stores, hidden):
                [place] = where
                needed[place] = needed[place] & ~writes | reads
                behind.setdefault(code[place], []).insert(0, line)
                moved[line] = code[j + 1]
            else:
                read, written = read | reads, written | writes
                stores += [line] if line.insn.is_store or line.insn.is_atomic else []
            if line in ways.to:
                break
    if not moved:
        return False
    for line in code:
        if line.target in behind:
            line.target = behind[line.target][0]
        else:
            while line.target in moved:
                line.target = moved[line.target]
    code[:] = [each for line in code for each in (*behind.get(line, ()), *(() if line in moved else (line,)))]
    return True


def is_value(line: Line) -> bool:
    """Whether an instruction does nothing but make a value."""
    insn = line.insn
    return insn.is_alu or insn.is_lddw or insn.is_load and insn.mode == MODES["MEM"]


def keeps(line: Line, stores: list[Line], hidden: bool) -> bool:
    """Whether a value is the same behind these stores. `hidden`: the stack has other names, too."""
    if not line.insn.is_load or not stores:
        return True
    slot = slot_of(line)
    if hidden or slot is None:
        return not hidden and all(store.insn.dst == FRAME_POINTER for store in stores)
    return all((other := slot_of(store)) is None or other[0] + other[1] <= slot[0] or slot[0] + slot[1] <= other[0] for store in stores)
