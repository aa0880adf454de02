"""Mistakes about searches, tables of known content and sums that are put in for one another, each to be found by the soundness run: see faults.py, whose table they join."""
from __future__ import annotations

from faults import fault

from lpn.verifier import chains, domain as d, loops, summands, transfer


@fault
def the_middle_is_one_further(patch):
    right = summands.halfway
    patch.setattr(summands, "halfway", lambda s, m, total, off: right(s, m, total, off + 2))


@fault
def ends_come_together_a_turn_early(patch):
    right = loops._approaching

    def wrong(*given):
        found = right(*given)
        return found and (max(found[0] - 1, 1), found[1])
    patch.setattr(loops, "_approaching", wrong)


@fault
def an_or_adds_to_any_address(patch):
    right = transfer.Machine.disjoint

    def wrong(self, s, a, b):
        with patch.context() as during:
            during.setattr(transfer.Machine, "_base", lambda self, at: 1 << 16)
            return right(self, s, a, b)
    patch.setattr(transfer.Machine, "disjoint", wrong)


@fault
def a_table_holds_one_entry_less(patch):
    right = d.hull
    patch.setattr(d, "hull", lambda found: right(found[:-1] if len(found) > 1 else found))


@fault
def a_sum_of_sums_is_one_more(patch):
    right = chains.gap

    def wrong(s, a, b):
        (lo, hi), known = right(s, a, b), s.gap(a, b)
        return (lo, hi) if (lo, hi) == known else (min(lo + 1, hi), hi)
    patch.setattr(chains, "gap", wrong)
