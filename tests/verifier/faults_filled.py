"""Mistakes about the stack bytes that loops fill (verifier/filled.py), each to be found by the soundness run: see faults.py, whose table they join."""
from __future__ import annotations

import sys

from faults import _unproven, fault

from lpn.verifier import filled, fixpoint, state

order = sys.modules["lpn.verifier.order"]


@fault
def a_store_fills_a_byte_more(patch):
    fill = filled.fill
    patch.setattr(filled, "fill", lambda s, depth, first, size: fill(s, depth, first, size + 1))


@fault
def a_store_fills_the_byte_before(patch):
    fill = filled.fill
    patch.setattr(filled, "fill", lambda s, depth, first, size: fill(s, depth, filled.plus(first, -1), size + 1))


@fault
def spans_meet_over_a_hole(patch):
    """Of a byte that lies between them."""
    fill = filled.fill

    def wrong(s, depth, first, size):
        s.filled = tuple((at, lo, filled.plus(hi, 1) if at == depth else hi) for at, lo, hi in s.filled)
        fill(s, depth, first, size)
    patch.setattr(filled, "fill", wrong)


@fault
def what_is_covered_ends_one_later(patch):
    covered = filled.covered
    patch.setattr(filled, "covered", lambda s, depth, first, end: covered(s, depth, first, filled.plus(end, -1)))


@fault
def what_is_covered_begins_one_earlier(patch):
    covered = filled.covered
    patch.setattr(filled, "covered", lambda s, depth, first, end: covered(s, depth, filled.plus(first, 1), end))


@fault
def a_sum_is_at_least_one_more(patch):
    at_least = filled.at_least
    patch.setattr(filled, "at_least", lambda s, t: at_least(s, t) + bool(t[1]))


@fault
def a_sum_of_two_is_at_least_what_they_are_at_most(patch):
    at_least = filled.at_least
    patch.setattr(filled, "at_least", lambda s, t: -at_least(s, (-t[0], tuple((sym, -k) for sym, k in t[1]))) if len(t[1]) > 1 else at_least(s, t))


@fault
def a_factor_is_one(patch):
    """What was shifted left is taken for what it was."""
    origin = filled._origin

    def wrong(s, sym, *how):
        out = origin(s, sym, *how)
        return out and (out[0], tuple((x, 1 if k > 1 else k) for x, k in out[1]))
    patch.setattr(filled, "_origin", wrong)


@fault
def a_difference_is_a_sum(patch):
    origin = filled._origin

    def wrong(s, sym, *how):
        out = origin(s, sym, *how)
        return out and (out[0], tuple((x, abs(k)) for x, k in out[1]))
    patch.setattr(filled, "_origin", wrong)


@fault
def spans_outlive_their_unknowns(patch):
    forget = state.State.forget

    def wrong(self, sym):
        kept = self.filled
        forget(self, sym)
        self.filled = kept
    patch.setattr(state.State, "forget", wrong)


@fault
def a_pointer_leaves_spans_as_they_are(patch):
    patch.setattr(filled, "cut", lambda s, depth, first, end: None)


@fault
def a_pointer_is_written_numbers(patch):
    patch.setattr(filled, "numbers", lambda frame: frame.written)


@fault
def one_way_that_has_filled_is_enough(patch):
    holds = filled._holds
    patch.setattr(filled, "_holds", lambda s, i, span, members: not i or holds(s, i, span, members))
    _unproven(patch)


@fault
def a_turn_need_not_fill(patch):
    """Spans guessed at a loop's head are believed, and not looked at in the proof."""
    patch.setattr(filled, "lost", lambda a, b, to: None)
    patch.setattr(fixpoint, "widen", lambda old, new, *more: _kept(old, new, *more))


def _kept(old, new, *more):
    from lpn.verifier.join import widen
    widen(old, new, *more)
    new.filled = tuple(span for span in old.filled if all(sym in new.vars for sym in filled.symbols(span)))


@fault
def what_is_met_is_said_in_other_unknowns(patch):
    """A symbol's new meaning where ways meet is not the old one plus a constant."""
    holds = filled._holds
    patch.setattr(filled, "_holds", lambda s, i, span, members: holds(s, i, span, {m: (syms, (0,) * len(offs)) for m, (syms, offs) in members.items()}))
    _unproven(patch)


@fault
def certain_is_what_is_possible(patch):
    """Bytes up to where the end may be at most, not at least."""
    def wrong(s, depth):
        out = 0
        for at, first, end in s.filled:
            lo, hi = max(filled.at_least(s, first), -512), min(-filled.at_least(s, filled._negative(end)), 0)
            if at == depth and lo < hi:
                out |= ((1 << hi - lo) - 1) << (lo + 512)
        return out
    patch.setattr(filled, "certain", wrong)


@fault
def a_frame_has_the_spans_of_another(patch):
    covered = filled.covered

    def wrong(s, depth, first, end):
        kept = s.filled
        s.filled = tuple((depth, lo, hi) for _, lo, hi in kept)
        try:
            return covered(s, depth, first, end)
        finally:
            s.filled = kept
    patch.setattr(filled, "covered", wrong)


@fault
def a_span_is_cut_at_its_other_end(patch):
    """What is left before a pointer is taken for what is left behind it."""
    cut = filled.cut
    patch.setattr(filled, "cut", lambda s, depth, first, end: cut(s, depth, end, end))
