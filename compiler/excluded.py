"""Ways that a proof excludes, taken out of the text: the verifier knows how unknowns relate, the checker on a node what each of them is.

A branch to a loop over what is left of a packet may be one that is never taken, since what was read before has used it up. The checker does not see
that, and would need to be told how often a loop turns that nobody enters. Without the branch there is nothing to tell.

But a test that ends the run may be all that tells the checker how large a number is, although the proof knows that it never does: such tests can stay.
"""
from __future__ import annotations

from dataclasses import replace

from lpn.verifier.cfg import Node
from lpn.verifier.verify import Analysis

from .elf import Object
from .isa import JA, Instruction, slot_indices
from .passes.peephole import improve
from .passes.rewrite import read, sweep, write


def only_ends(node: Node) -> bool:
    """Whether the run ends from here on without a branch, and without memory being touched."""
    while not any(insn.is_load or insn.is_store or insn.is_atomic or insn.is_call for _, insn in node.code):
        if len(node.succs) != 1:
            return not node.succs
        [(node, _)] = node.succs
    return False


def without_excluded(code: Object, analysis: Analysis, ends: bool = True) -> Object | None:
    """The same without the branches of which the proof of an accepted text says that they are always taken, or never; None if it says so of none.
    `ends`: also those that would end the run at once. What is made of them is another text, with a proof of its own to be found."""
    lines = read(code.text, code.lines)
    at = dict(zip(slot_indices([line.insn for line in lines]), lines))
    ways: dict[int, set[str]] = {}                  # by branch, in each call that it belongs to
    for node in analysis.invariants:
        if node.last[1].is_branch:
            taken = {kind for i, (_, kind) in enumerate(node.succs) if analysis.live(node, i)}
            if not ends and all(kind in taken or only_ends(succ) for succ, kind in node.succs):
                taken = {kind for _, kind in node.succs}
            ways.setdefault(node.last[0], set()).update(taken)
    decided = {slot: kinds == {"taken"} for slot, kinds in ways.items() if len(kinds) == 1}
    if not decided:
        return None
    for slot, taken in decided.items():
        if taken:
            at[slot].insn = Instruction(JA)
        at[slot].dead = not taken
    sweep(lines)
    text, rows = improve(*write(lines))
    return replace(code, text=text, lines=rows)
