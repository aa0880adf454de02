"""What both ways behind a branch begin with is done once, in front of it. Each way executes what it did."""
from __future__ import annotations

from collections import Counter

from .rewrite import Line, reads_writes, sweep
from .tails import needs_proof


def merge_begins(code: list[Line]) -> None:
    while merge_one(code):
        sweep(code)


def merge_one(code: list[Line]) -> bool:
    ways = Counter(line.target for line in code if line.target is not None)
    index = {line: i for i, line in enumerate(code)}
    for i, branch in enumerate(code):
        if not branch.insn.is_branch:
            continue
        on, to = code[i + 1], branch.target
        if on is to or on in ways or ways[to] != 1 or not code[index[to] - 1].insn.ends_block:      # others come there
            continue
        if on.insn != to.insn or on.insn.is_exit or on.target is not None or to.target is not None or needs_proof(on.insn):
            continue
        if reads_writes(on.insn)[1] & reads_writes(branch.insn)[0]:
            continue
        for line in code:
            if line.target is branch:
                line.target = on
        code[i], code[i + 1] = on, branch
        to.dead = True
        return True
    return False
