"""Where a block stands: behind a jump that goes to it, if none runs into it.

LLVM has laid blocks out before the passes here made some of them smaller and others one.
"""
from __future__ import annotations

from .rewrite import Line


def place_blocks(code: list[Line]) -> list[Line]:
    """The code in another order: a jump to instructions that follow an end of a block is left out, and they take its place. What
    stands first, which is usual, is served first."""
    runs: list[list[Line]] = []                 # from behind an end to the next one
    fresh = True
    for line in code:
        if fresh:
            runs.append([])
        runs[-1].append(line)
        fresh = line.insn.ends_block
    left = {run[0]: run for run in runs}        # those not placed, by how they begin
    del left[code[0]]
    out: list[Line] = []
    for run in runs:
        if run is not runs[0] and left.pop(run[0], None) is None:
            continue
        while True:
            out += run
            last = run[-1]
            if not last.insn.is_goto or last.target not in left:
                break
            last.dead = True
            run = left.pop(last.target)
    return out
