"""How often a loop turns, by an unknown number of octets of the packet: of a copy it is the octets that are copied, of a walk over options those
that its cursor moves over. So time can be owed for them (octets.py)."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from . import domain as d
from .cfg import Loop
from .loops import moves
from .octets import LEN, NOTHING, Owed, Sum, owe, replaced, sum_of
from .state import INF, NUMBER, POINTER, State, Value


@dataclass(frozen=True)
class Growth:
    """The loop turns at most `again` times more, and at most (x + past) / step times; x is an unknown, or how far the packet cursor
    `cursor` moves, which was at least `start` before."""
    x: int
    past: int
    step: int
    again: int
    cursor: int = 0
    start: Sum = (NOTHING, 0)

    def owe(self, s: State, new: int, slot: int, turn: int, visit: object) -> bool:
        """In what the loop leaves, time is owed instead of being added; False if it cannot be. `new`: a symbol for the octets moved over, which are
        kept in `slot`; `turn`: cycles."""
        x = self.x
        if self.cursor:
            if new in s.vars or self.cursor not in s.vars:
                return False
            x = new
            s.vars[x] = d.unsigned(0, self.step * self.again)
            s.frames[0].slots[slot] = 8, Value(NUMBER, None, x, 0)
            replaced(s, self.cursor, (self.start[0] | {x}, self.start[1]), {v.sym for _, v in s.places() if v.region == "pkt"})
        elif x not in s.vars or s.bounds(x)[0] < 0:
            return False
        rate = Fraction(turn, self.step)
        owe(s, x, Owed(rate, max(rate * self.past, Fraction(0)), Fraction(self.again * turn), ((visit, self.step, self.past),)))
        return True


def growing(loop: Loop, entry: State, head: State, back: list[State], made: dict[int, int], again: int) -> Growth | None:
    """The nearest such bound; None if there is none. `entry`: before the loop; `head`: its invariant, with symbols `made` there -> places; `back`:
    along the ways back."""
    if not back:
        return None
    at_head, before, after = dict(head.places()), dict(entry.places()), [dict(s.places()) for s in back]
    shared = entry.sums.get(LEN, (NOTHING, 0))[0]
    found: list[tuple[Fraction, Growth]] = []
    for sym in sorted({v.sym for v in at_head.values()} & set(made)):
        old, was = at_head[made[sym]], before.get(made[sym])
        if was is None or was.kind != old.kind or was.region != old.region:
            continue
        was = was._replace(off=was.off - old.off)     # what the symbol was
        lo, hi = moves(sym, made[sym], old, back, after)
        if old.kind == POINTER and old.region == "pkt" and lo > 0 and lo < INF:
            growth = Growth(0, 0, lo, again, sym, sum_of(entry, was))
            found.append((Fraction(again), growth))
        elif old.kind == NUMBER:
            for x in sorted(shared):
                if x not in head.vars or any(x not in s.vars for s in back):
                    continue
                if 0 < lo < INF:                      # it goes up to x: where it turns again, x is so much more
                    least = min(s.gap(sym, x)[0] for s in back)
                    past, step = lo - least - entry.offsets(was)[0], lo
                elif -INF < hi < 0 and was.sym == x:  # it goes down from x
                    least = min(s.bounds(sym)[0] for s in back)
                    past, step = -hi + was.off - least, -hi
                else:
                    continue
                found.append(((entry.bounds(x)[1] + max(past, 0)) / Fraction(step), Growth(x, past, step, again)))
    # not for what it has nothing to do with: as near as what is known otherwise, or it is the unknown that ends the loop
    near = [each for each in found if each[0] <= again + 2 or 0 <= each[1].past <= each[1].step]
    return min(near, key=lambda each: each[0])[1] if near else None
