"""Ways that end alike share their end, where no way executes more for it.

Two ways to one place whose last instructions are the same execute those of one of them: of the one that runs on into the place; the other jumps in
front of them now, not behind its own. Where nothing runs into the end of the other, its jumps lead to the shared one, and so they do to ends that
return.
"""
from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from ..isa import ALU64, ALU_OPS, FRAME_POINTER, JA, Instruction
from .flow import in_circles
from .regions import regions
from .rewrite import Line, reads_writes, runs_in, sweep

Keys = dict[Line, tuple | None]
Reached = dict[Line, int]                      # see regions.py

ADD, SUB = ALU_OPS["ADD"], ALU_OPS["SUB"]


def merge_tails(code: list[Line]) -> None:
    """Until there are no ends alike."""
    while True:
        before = len(code)
        merge_once(code)
        sweep(code)
        if len(code) == before:
            return


def merge_once(code: list[Line]) -> None:
    """The longest first; what has taken part is left for the next time."""
    jumps: dict[Line, list[Line]] = {}
    for line in code:
        if line.target is not None:
            jumps.setdefault(line.target, []).append(line)
    changed: set[int] = set()
    circle = in_circles(code)
    turning = Counter(circle)
    loops = [one if turning[one] > 1 else None for one in circle]
    reached = regions(code)
    keys: Keys = {}
    for ends in ways_to_one_place(code):
        for length, a, b in sorted(alike_pairs(code, ends, loops, keys, reached), key=lambda pair: -pair[0]):
            for gone, kept in ((a, b), (b, a)):
                span = {*range(gone - length, gone + 1), *range(kept - length, kept + 1)}
                if len(span) == 2 * length + 2 and not span & changed and is_free(code, gone, kept, length):
                    changed |= span
                    share(code, gone, kept, length, jumps)
                    keys.clear()                # jumps lead elsewhere
                    break


def ways_to_one_place(code: list[Line]) -> Iterator[list[int]]:
    """Of each place with several ways to it the indices behind their last instructions: of the jump there, or the return, or of the place itself."""
    index = {line: i for i, line in enumerate(code)}
    found: dict[Line | None, list[int]] = {}
    for i, line in enumerate(code):
        if line.insn.ends_block:
            found.setdefault(line.target, []).append(i)
    for place, ends in found.items():
        at = index[place] if place is not None else 0
        if at and not code[at - 1].insn.ends_block:
            ends.append(at)
        if len(ends) > 1:
            yield ends


def alike_pairs(code: list[Line], ends: list[int], loops: list[int | None], keys: Keys, reached: Reached) -> Iterator[tuple[int, int, int]]:
    """Ends with as many instructions alike before them, at least one."""
    left: dict[tuple | None, deque[int]] = {}   # by what their last instruction is
    for end in ends:
        left.setdefault(shared_by(code[end - 1], keys, reached), deque()).append(end)
    left.pop(None, None)
    for a in ends:
        others = left.get(shared_by(code[a - 1], keys, reached), ())
        if others:
            others.popleft()                    # itself
        for b in others:
            if length := alike(code, a, b, loops, keys, reached):
                yield length, a, b


def alike(code: list[Line], a: int, b: int, loops: list[int | None], keys: Keys, reached: Reached) -> int:
    """How many instructions before a and b are the same. Those of a loop are not those of another, or of none: it would be entered there, too."""
    n, most = 0, min(a, b)
    while (n < most and loops[a - n - 1] == loops[b - n - 1] and (what := shared_by(code[a - n - 1], keys, reached)) is not None
           and what == shared_by(code[b - n - 1], keys, reached)):
        n += 1
    return n


def shared_by(line: Line, keys: Keys, reached: Reached) -> tuple | None:
    """What instructions have in common that may be one, for a verifier too, which knows less where ways have met; None of one that is no other's.
    `keys` keeps it."""
    if line not in keys:
        insn = line.insn
        keys[line] = None if needs_proof(line, reached) or insn.ends_block else (
            line.target, insn.op, insn.dst, insn.src, insn.imm, insn.off if line.target is None else None, reached.get(line))
    return keys[line]


def needs_proof(line: Line, reached: Reached) -> bool:
    """What a helper is given, where memory is reached, how far a pointer moves: it may be known on each way, and not where they have met. `reached`: memory
    of which nothing has to be known."""
    insn = line.insn
    base = insn.src if insn.is_load else insn.dst
    return insn.is_call and not asks_nothing(insn) or (insn.is_load or insn.is_store or insn.is_atomic) and base != FRAME_POINTER and line not in reached \
        or insn.is_alu and insn.cls == ALU64 and insn.uses_reg and insn.code in (ADD, SUB)


def asks_nothing(call: Instruction) -> bool:
    """Whether a helper is given nothing."""
    return reads_writes(call)[0] == 0


def is_free(code: list[Line], gone: int, kept: int, length: int) -> bool:
    """Whether the way that goes on in the other's instructions executes no more of them."""
    end, other = code[gone], code[kept]
    if not end.insn.ends_block:                 # it runs on into the place
        return False
    if not runs_in(code, gone - length):        # all jump to the other one
        return True
    return not end.insn.is_exit and not (other.insn.is_goto and other.target is end.target)


def share(code: list[Line], gone: int, kept: int, length: int, jumps: dict[Line, list[Line]]) -> None:
    end = code[gone]
    for jump in jumps.pop(end, ()):
        jump.target = code[kept] if end.insn.is_exit else end.target
        jumps.setdefault(jump.target, []).append(jump)
    for old, new in zip(code[gone - length:gone], code[kept - length:kept]):
        for jump in jumps.pop(old, ()):
            jump.target = new
            jumps.setdefault(new, []).append(jump)
        old.dead = True
    end.dead = not runs_in(code, gone - length)
    end.insn, end.target = Instruction(JA), code[kept - length]
