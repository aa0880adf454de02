"""What both ways behind a branch begin with is done, or asked, once, in front of it. Each way executes what it did."""
from __future__ import annotations

from dataclasses import replace

from .regions import regions
from .rewrite import Line, Ways, reads_writes, sweep
from .tails import Reached, needs_proof


def merge_begins(code: list[Line]) -> None:
    """Until there are no begins alike. What an instruction reaches stays what it is: in front of the branch it reaches what it reached on both ways."""
    reached = regions(code)
    while merge_one(code, reached):
        sweep(code)


def merge_one(code: list[Line], reached: Reached) -> bool:
    ways = Ways(code)
    for i, branch in ways.lone_branches():
        on, to = code[i + 1], branch.target
        if on is to or on in ways.to or not same(on, to) or not may_be_in_front(on, branch, reached) or reached.get(on) != reached.get(to):
            continue
        for line in code:
            if line.target is branch:
                line.target = on
        code[i], code[i + 1] = on, branch
        to.dead = True
        return True
    return False


def may_be_in_front(line: Line, branch: Line, reached: Reached) -> bool:
    """Whether the branch asks what it asked when this has been executed, and a verifier does not need its answer for it."""
    if line.insn.is_goto or line.insn.is_exit or needs_proof(line, reached):
        return False
    return not reads_writes(line.insn)[1] & reads_writes(branch.insn)[0]


def same(one: Line, other: Line) -> bool:
    """Whether two instructions are the same, branches to the same place among them."""
    return one.target is other.target and replace(one.insn, off=other.insn.off) == other.insn if one.target is not None else one.insn == other.insn
