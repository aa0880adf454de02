"""What several sums say together of a difference: where no name says how far two unknowns are apart, sums and differences that have names are put in for one another.

    rest = end - p                              p, n and i have names, and so have rest, q = p + n and r = q + i
    if (r + 2 > end) return DROP;
    left = rest - n - i;                        end - p - n - i is end - q - i, that is end - r: 2 at least

`State.defs`, `State.added` and lines of slope 1 or -1 are equations of mathematical integers; a form is one to which multiples of them are added, so all that are found are equal.
What is known of the simplest ones, an unknown or a difference of two, bounds it.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .state import State

Form = tuple[tuple[int, int], ...]                    # (symbol, factor), by symbol; no factor is 0
Equation = tuple[dict[int, int], int]                 # factors of symbols and a constant that are 0 together
TERMS = 4                                             # of a form, counted as often as their factors say
FORMS = 96                                            # that are looked at
TRIED = 1500                                          # equations that are added to them (rule 38)
A_STEP = 8                                            # of what is kept, takes as long as another instruction


def equations(s: State) -> dict[tuple[int, bool], list[Equation]]:
    """By a symbol and whether it is taken off there."""
    found: dict[tuple[int, bool], list[Equation]] = {}
    for terms, c in (*[_equation(x, v, w, -1, c) for sums in (s.defs, s.added) for x, (v, w, c) in sums.items()],
                     *[_equation(x, y, base, k, c) for (x, y), (base, k, c) in s.lines.items() if k in (1, -1)]):
        if all([sym in s.vars for sym in terms]):
            for sign in (1, -1):
                turned = {sym: sign * factor for sym, factor in terms.items() if factor}, sign * c
                for sym, factor in turned[0].items():
                    found.setdefault((sym, factor < 0), []).append(turned)
    return found


def _equation(x: int, y: int, base: int, k: int, c: int) -> tuple[dict[int, int], int]:
    """Of x = base + k * y + c."""
    terms: dict[int, int] = {}
    for sym, factor in (x, 1), (base, -1), (y, -k):
        if sym:
            terms[sym] = terms.get(sym, 0) + factor
    return terms, -c


def gap(s: State, a: int, b: int) -> tuple[int, int]:
    """Bounds of b - a."""
    lo, hi = s.gap(a, b)
    if a == b:
        return lo, hi
    known = equations(s)
    start: Form = tuple(sorted([(sym, factor) for sym, factor in ((a, -1), (b, 1)) if sym]))
    seen, todo, tried = {start}, [(start, 0)], 0
    for terms, more in todo:                          # it is `terms` and `more`
        least, most = _simple(s, terms)
        lo, hi = max(lo, least + more), min(hi, most + more)
        for equation, c in [each for sym, factor in terms for each in known.get((sym, factor > 0), ())]:     # by which something falls out
            tried += 1
            if tried > TRIED or len(seen) == FORMS:
                break
            other = dict(terms)
            for sym, factor in equation.items():
                other[sym] = other.get(sym, 0) + factor
            after = tuple(sorted([each for each in other.items() if each[1]]))
            if after not in seen and sum([abs(factor) for _, factor in after]) <= TERMS:
                seen.add(after)
                todo.append((after, more + c))
    return lo, hi


def _simple(s: State, terms: Form) -> tuple[int, int]:
    """Bounds of a form: of each unknown, but of a difference what is known of that."""
    if len(terms) == 2 and {factor for _, factor in terms} == {1, -1}:
        (a, factor), (b, _) = terms
        return s.gap(a, b) if factor < 0 else s.gap(b, a)
    least = most = 0
    for sym, factor in terms:
        lo, hi = s.bounds(sym)
        least, most = least + min(factor * lo, factor * hi), most + max(factor * lo, factor * hi)
    return least, most
