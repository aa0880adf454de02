"""Meters against RFC 2697 as it is written: token by token, with fractions."""
from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.lang.meters import FIELDS, GREEN, RED, YELLOW, Rate, execute


class Buckets:
    """RFC 2697, 2 and 3, colour-blind: both buckets begin full; the second gets the tokens that the first has no room for."""

    def __init__(self, rate: Rate) -> None:
        self.rate, self.time = rate, 0
        self.committed, self.excess = Fraction(rate.burst), Fraction(rate.excess)

    def colour(self, amount: int, time: int) -> int:
        new = self.committed + Fraction(time - self.time, self.rate.interval)
        self.time = time
        self.committed = min(new, Fraction(self.rate.burst))
        self.excess = min(self.excess + new - self.committed, Fraction(self.rate.excess))
        if self.committed >= amount:
            self.committed -= amount
            return GREEN
        if self.excess >= amount:
            self.excess -= amount
            return YELLOW
        return RED


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.builds(Rate, st.integers(1, 5000), st.integers(1, 60), st.integers(0, 60)), st.integers(0, 0xFFFF_FFFF),
       st.lists(st.tuples(st.integers(0, 80), st.one_of(st.integers(0, 20000), st.integers(0, 0xFFFF_FFFF))), max_size=30))
def test_as_the_rfc_says(rate: Rate, start: int, packets: list[tuple[int, int]]) -> None:
    """The clock has 32 bits and may go round between two packets, but not a whole turn."""
    buckets, cell, time = Buckets(rate), dict.fromkeys(FIELDS, 0), start
    for amount, passed in packets:
        time += passed
        colour, cell = execute(cell, rate, amount, time & 0xFFFF_FFFF)
        assert colour == buckets.colour(amount, time)
        assert all(0 <= value < 1 << 32 for value in cell.values())
