"""What is known of a container whose packets are shorter than any may be: a radio's frames, a buffer's entries.

Its proof holds for all packets, its time is that of those it meets. The invariants stay what they are, with one fact more, the
packet's length: loops turn less often, and some edges are never taken.
"""
from __future__ import annotations

from dataclasses import replace

from . import domain as d
from .loops import rank
from .rules import Violation
from .state import LEN, NUMBER, State, Value
from .verify import Analysis


def shorter(analysis: Analysis, longest: int) -> Analysis:
    """The same analysis for packets of at most `longest` octets. No helper may change the packet."""
    invariants = {node: s for node, before in analysis.invariants.items() if (s := _cut(before, longest)) is not None}
    out = {edge: _cut(after, longest) for edge, after in analysis.out.items()}
    bounds = dict(analysis.bounds)
    for loop in analysis.graph.loops:
        head = invariants.get(loop.head)
        if head is None:
            bounds[loop.head] = 0
            continue
        try:
            turns, _ = rank(loop, head, [out.get(edge) for edge in loop.back_edges()], analysis.made.get(loop.head, {}), True)
        except Violation:                             # what bounded it is as good as before
            continue
        bounds[loop.head] = min(bounds[loop.head], turns)
    together = analysis.together and replace(analysis.together, back=tuple([(_cut(s, longest), cursor) for s, cursor in analysis.together.back]))
    return replace(analysis, invariants=invariants, bounds=bounds, out=out, live=lambda node, i: out.get((node, i)) is not None, together=together)


def _cut(s: State | None, longest: int) -> State | None:
    if s is None:
        return None
    s = s.copy()
    return s if s.learn(Value(NUMBER, None, LEN, 0), d.signed(0, longest)) else None
