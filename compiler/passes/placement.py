"""Where a block stands: behind a jump that goes to it, if none runs into it, or behind a branch and a jump that the opposite branch replaces.

LLVM has laid blocks out before the passes here made some of them smaller and others one.
"""
from __future__ import annotations

from dataclasses import replace

from ..isa import JMP_OPS, Instruction
from .rewrite import Line, Ways, repeated, targets_of

INVERSE = {JMP_OPS[a]: JMP_OPS[b] for pair in (("JEQ", "JNE"), ("JGT", "JLE"), ("JGE", "JLT"), ("JSGT", "JSLE"),
                                              ("JSGE", "JSLT")) for a, b in (pair, pair[::-1])}


def inverted(branch: Instruction) -> Instruction:
    return replace(branch, op=branch.op & 0x0F | INVERSE[branch.code])


@repeated
def place_beside(code: list[Line]) -> bool:
    """For short code: what a branch alone leads to, and what comes back to behind it, stands there, and no jump leads back. Who goes there has usually
    more to do than others."""
    ways = Ways(code)
    for i, branch in ways.lone_branches():
        on, to = code[i + 1], ways.index[branch.target]
        end = next(k for k in range(to, len(code)) if code[k].insn.ends_block)
        back = code[end]
        if branch.insn.code not in INVERSE or not back.insn.is_goto or back.target is not on or back in ways.to or to <= i <= end:
            continue
        block = code[to:end]
        branch.insn, branch.target = inverted(branch.insn), on
        del code[to:end + 1]
        at = code.index(branch) + 1
        code[at:at] = block
        return True
    return False


def place_blocks(code: list[Line]) -> bool:
    """In another order: a jump to instructions that follow an end of a block is left out, and they take its place. What
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
    targets, changed = targets_of(code), False
    out: list[Line] = []
    for run in runs:
        if run is not runs[0] and left.pop(run[0], None) is None:
            continue
        while True:
            out += run
            last = run[-1]
            if not last.insn.is_goto:
                break
            if last.target not in left:
                if len(run) < 2 or last in targets or run[-2].target not in left or run[-2].insn.code not in INVERSE:
                    break
                branch = run[-2]                # to what follows now
                branch.insn, branch.target, last.target = inverted(branch.insn), last.target, branch.target
            last.dead = changed = True
            run = left.pop(last.target)
    code[:] = out
    return changed
