"""Where a block stands: behind a jump that goes to it, if none runs into it.

LLVM has laid blocks out before the passes here made some of them smaller and others one.
"""
from __future__ import annotations

from .rewrite import Line


def place_blocks(code: list[Line]) -> list[Line]:
    """The code in another order: a jump to instructions that follow an end of a block is left out, and they take its place. What
    stands first, which is usual, is served first."""
    runs: list[list[Line]] = [[]]               # from behind an end to the next one
    for line in code:
        runs[-1].append(line)
        if ends(line):
            runs.append([])
    heads = {run[0]: run for run in runs if run}
    placed: set[Line] = {code[0]}
    out: list[Line] = []
    for start in [run for run in runs if run]:
        if start[0] in placed and start[0] is not code[0]:
            continue
        run: list[Line] | None = start
        while run is not None:
            placed.add(run[0])
            last = run[-1]
            following = heads.get(last.target) if last.insn.is_goto else None
            if following is not None and following[0] in placed:
                following = None
            if following is not None:
                last.dead = True
            out += run
            run = following
    return out


def ends(line: Line) -> bool:
    return line.insn.is_goto or line.insn.is_exit
