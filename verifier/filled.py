"""Bytes of the stack that a loop writes: from one place up to another one, of which either may move with a counter.

A *span* (depth, first, end) says of the frame at that depth: each byte from r10 + first to below r10 + end is written, and no part of a pointer. Both are
*terms*, sums of unknowns times constants plus a constant; where the end is not behind the first, nothing is said. So `b[i] = x`, i counted from 0, leaves
(0, -16, i - 16) at the loop's head: nothing when it is entered, one byte more whenever i is; and where i is 16 these are plain written bytes (`settle`).

Where ways meet, spans are guessed and each is proved of every way: those that a way knows, in the unknowns of what is met; and, of a piece that one way has
written and another one has not, what is empty on that one and the piece on this one, a place that moved between them being its first or its end.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .state import Frame, State, Value

Term = tuple[int, tuple[tuple[int, int], ...]]        # constant; (symbol, factor), sorted
Span = tuple[int, Term, Term]                         # depth of the frame; first byte; the one behind the last

MAX_SPANS, MAX_PARTS = 8, 4                           # of a state; unknowns of a term (rule 38); forgetting is sound
TRIED = 32                                            # guesses where ways meet
FACTORS = 16                                          # by which a counter moves what it fills, at most
BYTES = (1 << 512) - 1


# Terms ----------------------------------------------------------------------------------------------
def constant(n: int) -> Term:
    return n, ()


def plus(t: Term, n: int) -> Term:
    return t[0] + n, t[1]


def linear(c: int, parts: Iterable[tuple[int, int]]) -> Term:
    """The term of a constant and of parts, in which symbols may be repeated or 0."""
    factors: dict[int, int] = {}
    for sym, k in parts:
        factors[sym] = factors.get(sym, 0) + k
    return c, tuple(sorted((sym, k) for sym, k in factors.items() if k and sym))


def minus(a: Term, b: Term) -> Term:
    if a[1] == b[1]:
        return a[0] - b[0], ()
    return linear(a[0] - b[0], (*a[1], *((sym, -k) for sym, k in b[1])))


def symbols(span: Span) -> Iterator[int]:
    for _, parts in span[1:]:
        for sym, _ in parts:
            yield sym


def place(s: State, v: Value) -> Term:
    """Where a pointer into the stack points, by what its offset was made of."""
    return resolved(s, (v.off, ((v.sym, 1),) if v.sym else ()), True)


def resolved(s: State, t: Term, differences: bool = False, constants: bool = True) -> Term:
    """The same number, by unknowns that others were made of: shifted left, added, on a line, and subtracted where `differences`; where `constants`,
    those that can be one number only are that."""
    seen, gone = set(), set()
    while todo := next(((sym, k) for sym, k in t[1] if sym not in seen), None):
        sym, k = todo
        seen.add(sym)
        if (origin := _origin(s, sym, differences, constants)) is None:
            continue
        rest = linear(t[0] + k * origin[0], (*((x, n) for x, n in t[1] if x != sym), *((x, k * n) for x, n in origin[1])))
        if len(rest[1]) <= MAX_PARTS and not any(x in gone for x, _ in origin[1]):
            t = rest
            gone.add(sym)
    return t


def _origin(s: State, sym: int, differences: bool, constants: bool) -> Term | None:
    """What is the same number as the symbol."""
    lo, hi = s.bounds(sym)
    if lo == hi and constants:
        return lo, ()
    if (shift := s.scaled.get(sym)) is not None and shift[1] < 0 and shift[0] in s.vars:
        return 0, ((shift[0], 1 << -shift[1]),)
    if (product := s.products.get(sym)) is not None and product[0] in s.vars:
        return product[2], (product[:2],)
    for (x, y), (base, k, c) in s.lines.items():
        if x == sym and y in s.vars and (not base or base in s.vars) and (abs(k) > 1 or y < x):
            return linear(c, ((base, 1), (y, k)))
    for x, (v, w, c) in s.added.items():              # x = w - v + c
        if w == sym and x in s.vars and (not v or v in s.vars):
            return linear(-c, ((x, 1), (v, 1)))
    if differences and sym in s.defs:
        v, w, c = s.defs[sym]
        if all(not x or x in s.vars for x in (v, w)):
            return linear(c, ((w, 1), (v, -1)))
    return None


def at_least(s: State, t: Term) -> int:
    """A number that the term is not below: by the bounds of each unknown, and of differences where one is added and another one subtracted."""
    c, parts = t
    if not parts:
        return c
    best = c
    for sym, k in parts:
        lo, hi = s.bounds(sym)
        best += k * (lo if k > 0 else hi)
    if len(parts) == 1:
        return best
    for sym, k in parts:
        if k > 0:
            for other, n in parts:
                if n < 0:
                    m = min(k, -n)
                    rest = linear(c, ((x, f - m if x == sym else f + m if x == other else f) for x, f in parts))
                    best = max(best, m * s.gap(other, sym)[0] + at_least(s, rest))
    return best


def _not_below(s: State, a: Term, b: Term) -> bool:
    """a >= b, certainly."""
    t = minus(a, b)
    if at_least(s, t) >= 0:
        return True
    if not t[1]:
        return False
    made = resolved(s, t)
    if made != t and at_least(s, made) >= 0:
        return True
    if s.defs and (whole := resolved(s, t, True)) != made and at_least(s, whole) >= 0:
        return True
    if s.added and (summed := resolved(s, t, False, False)) != made and at_least(s, summed) >= 0:      # a sum that is one number here
        return True
    return any([at_least(s, summed) >= 0 for summed in _summed_up(s, t)])


def _summed_up(s: State, t: Term) -> Iterator[Term]:
    """The same number, with two unknowns taken for their sum, of which more may be known."""
    factors = dict(t[1])
    for x, (v, w, c) in s.added.items() if len(factors) > 2 else ():      # w = v + x - c
        k = factors.get(x, 0)
        if k and k == factors.get(v) and x != v and w in s.vars:
            yield linear(t[0] + k * c, (*[part for part in t[1] if part[0] not in (x, v)], (w, k)))


# What a state knows -----------------------------------------------------------------------------------
def numbers(frame: Frame) -> int:
    """A bit for each byte that is written and no part of a pointer."""
    out = frame.written
    for off, (size, v) in frame.slots.items():
        if v.kind != "number" and off < 0:
            out &= ~(((1 << size) - 1) << (off + 512))
    return out


def covered(s: State, depth: int, first: Term, end: Term) -> bool:
    """All bytes from the first up to the end are written, and no part of a pointer: spans and plain bytes, one behind the other."""
    there = numbers(s.frames[depth])
    spans = [(lo, hi) for at, lo, hi in s.filled if at == depth]
    reached, todo = {first}, [first]
    while todo:
        now = todo.pop()                              # all before it is there; or what is still asked for begins here
        if _not_below(s, now, end):
            return True
        onward = [hi for lo, hi in spans if hi not in reached and _not_below(s, now, lo)]
        least = at_least(s, now)
        if -512 <= least < 0 and (run := ~(there >> least + 512) & BYTES) and (length := (run & -run).bit_length() - 1):
            onward.append(constant(least + length))
        todo += [each for each in onward if each not in reached]
        reached.update(onward)
    return False


def certain(s: State, depth: int) -> int:
    """A bit for each byte that spans say is written, whatever their unknowns are."""
    out = 0
    for at, first, end in s.filled:
        if at == depth:
            lo, hi = max(-at_least(s, _negative(first)), -512), min(at_least(s, end), 0)
            if lo < hi:
                out |= ((1 << hi - lo) - 1) << (lo + 512)
    return out


def _negative(t: Term) -> Term:
    return -t[0], tuple((sym, -k) for sym, k in t[1])


def settle(s: State) -> None:
    """What is certain is written; what can be one number only is that, too. Parts are replaced, not changed."""
    frames = list(s.frames)
    for depth, frame in enumerate(frames):
        if more := certain(s, depth) & ~frame.written:
            frames[depth] = frame.copy()
            frames[depth].written |= more
    s.frames = frames
    more = {(at, _fixed(s, first), _fixed(s, end)) for at, first, end in s.filled}.difference(s.filled)
    s.filled = tuple(sorted([span for span in {*s.filled, *more} if not _plain(s, span)]))


def _fixed(s: State, t: Term) -> Term:
    """With the unknowns that can be one number only taken for that."""
    known = {sym: lo for sym, _ in t[1] for lo, hi in (s.bounds(sym),) if lo == hi}
    return linear(t[0] + sum(k * known[sym] for sym, k in t[1] if sym in known), ((sym, k) for sym, k in t[1] if sym not in known)) if known else t


def _plain(s: State, span: Span) -> bool:
    """It says nothing that is not known of each byte. Of an unknown that is one number on this way it may say something where this way meets others."""
    depth, first, end = span
    if any([lo == hi for sym in symbols(span) for lo, hi in (s.bounds(sym),)]):
        return False
    lo, hi = max(at_least(s, first), -512), min(-at_least(s, _negative(end)), 0)
    return lo >= hi or not ((1 << hi - lo) - 1) << (lo + 512) & ~numbers(s.frames[depth])


def fill(s: State, depth: int, first: Term, size: int) -> None:
    """Numbers were written there. What continues a span goes from where that begins, or to where it ends; the piece alone is what a loop may repeat."""
    end, out = plus(first, size), []
    piece = depth, first, end
    for span in s.filled:
        at, lo, hi = span
        if at == depth and _not_below(s, first, lo) and _not_below(s, hi, first):
            if _not_below(s, hi, end):
                return                                # all of it was there
            first = lo
            if _not_below(s, end, hi):
                continue
        elif at == depth and _not_below(s, end, lo) and _not_below(s, hi, end):
            end = hi
            if _not_below(s, lo, first):
                continue
        out.append(span)
    s.filled = tuple(sorted({*out[-MAX_SPANS + 2:], piece, (depth, first, end)}))


def cut(s: State, depth: int, first: int, end: int) -> None:
    """A pointer is stored from byte `first` to below `end`."""
    lo, hi, out = constant(first), constant(end), []
    for span in s.filled:
        at, f, e = span
        if at != depth or _not_below(s, lo, e) or _not_below(s, f, hi):
            out.append(span)
        else:
            out += [(at, f, lo)] if _not_below(s, e, lo) else []
            out += [(at, hi, e)] if _not_below(s, hi, f) else []
    s.filled = tuple(sorted(out[:MAX_SPANS]))


def lasting(span: Span) -> bool:
    """Of more than one store: worth its unknowns, though no place may hold them any more."""
    return span[1][1] != span[2][1]


def collect(s: State, live: set[int]) -> None:
    """Spans of unknowns that are live; `live` grows by those of the lasting ones."""
    s.filled = tuple([span for span in s.filled if live.issuperset(symbols(span)) or lasting(span) and all(
        [lo < hi or sym in live for sym in symbols(span) for lo, hi in (s.bounds(sym),)])])
    for span in s.filled:
        live.update(symbols(span))


# Where ways meet ---------------------------------------------------------------------------------------
def wanted(states: list[State]) -> set[int]:
    """Symbols that lasting spans are about."""
    return {sym for s in states for span in s.filled if lasting(span) for sym in symbols(span)}


def joined(out: State, states: list[State], members: dict[int, tuple[tuple, tuple]], changed: list[int], before: tuple[Span, ...] = ()) -> tuple[Span, ...]:
    """The spans of the state that all of `states` are within. `members`: see places.py; `changed`: of these, those that are not the same everywhere.
    `before`: what was found when ways met here last."""
    before = tuple([span for span in before if all([sym in members for sym in symbols(span)])])
    kept: list[Span] = []
    tried: set[Span] = set()
    for span in chain(before, _guesses(out, states, members, changed)):     # where many ways meet that wrote much, there are a million
        if span in tried:
            continue
        if len(tried) == TRIED or len(kept) == MAX_SPANS:
            break
        tried.add(span)
        if not _plain(out, span) and all(_holds(s, i, span, members) for i, s in enumerate(states)):
            kept.append(span)
    return tuple(sorted(_needed(out, kept)))


def _needed(s: State, spans: list[Span]) -> list[Span]:
    """Without those that lie within another one, whatever the unknowns are that can be one number only here. Of two that say the same the first one stays."""
    out: list[Span] = []
    for i, span in enumerate(spans):
        if not any(_within(s, span, other) for other in out) and not any(_within(s, span, other) and not _within(s, other, span) for other in spans[i + 1:]):
            out.append(span)
    return out


def _within(s: State, span: Span, other: Span) -> bool:
    if span[0] != other[0]:
        return False
    below, behind = minus(span[1], other[1]), minus(other[2], span[2])
    return at_least(s, below) >= 0 and at_least(s, behind) >= 0 and all([lo < hi for sym, _ in (*below[1], *behind[1]) for lo, hi in (s.bounds(sym),)])


def _holds(s: State, i: int, span: Span, members: dict[int, tuple[tuple, tuple]]) -> bool:
    """Of state i, in whose unknowns the span is said."""
    def there(t: Term) -> Term:
        return linear(t[0] + sum(k * members[x][1][i] for x, k in t[1]), ((members[x][0][i], k) for x, k in t[1]))
    depth, first, end = span
    return covered(s, depth, there(first), there(end))


def _guesses(out: State, states: list[State], members: dict[int, tuple[tuple, tuple]], changed: list[int]) -> Iterator[Span]:
    names: list[dict[int, list[tuple[int, int]]]] = [{} for _ in states]    # symbol in state i -> (member, constant): it is member - constant
    if any([s.filled for s in states]):
        for m, (syms, offs) in members.items():
            for i, (sym, off) in enumerate(zip(syms, offs)):
                if sym:
                    names[i].setdefault(sym, []).append((m, off))
    for i, s in enumerate(states):
        for depth, first, end in s.filled:
            for lo, hi in product(_translated(first, names[i]), _translated(end, names[i])):
                yield depth, lo, hi
    moved = [(m, *members[m]) for m in changed]
    plain = [[numbers(frame) for frame in s.frames] for s in states]
    for j, there in enumerate(states):
        for i, here in enumerate(states):
            if i == j or not there.filled and not any([f & ~g for f, g in zip(plain[j], plain[i])]):
                continue
            steps = [(m, syms[i], offs[i], offs[j] - offs[i]) for m, syms, offs in moved if syms[i] == syms[j] and offs[i] != offs[j]]
            if not steps:
                continue
            for piece in _pieces(there, here, plain[j], plain[i]):
                yield from _moving(out, *piece, steps, names[j])
    for s, known in zip(states, names):
        also = _as_said(s, known)
        for depth, first, end in s.filled if also else ():
            for lo, hi in product(_translated(first, also), _translated(end, also)):
                yield depth, lo, hi
    begins = [(m, syms, offs) for m, (syms, offs) in members.items() if any([lo == hi for s, sym in zip(states, syms) for lo, hi in (s.bounds(sym),)])]
    for j, there in enumerate(states):
        for depth, first, end in there.filled:
            for q, m, sym, off in [(q, m, syms[j], offs[j]) for q, k in end[1] if k == 1 for m, syms, offs in begins if syms[j] not in (0, q)]:
                if (least := there.gap(sym, q)[0]) >= -FACTORS:     # up to there at least, and where the number is that constant perhaps nothing is written
                    for lo, hi in product(_translated(first, names[j]), _translated(linear(end[0], ((x, k) for x, k in end[1] if x != q)), names[j])):
                        yield depth, lo, linear(hi[0] + least - off, (*hi[1], (m, 1)))


def _as_said(s: State, names: dict[int, list[tuple[int, int]]]) -> dict[int, list[tuple[int, int]]]:
    """The same names, and those of symbols that are exactly so far from one that has a name; none, if there are no such."""
    also: dict[int, list[tuple[int, int]]] = {}
    for (a, b), (lo, hi) in s.diff.items() if s.filled else ():
        if lo == hi:
            for x, y, gap in ((a, b, lo), (b, a, -lo)):
                also.setdefault(x, []).extend((m, off + gap) for m, off in names.get(y, ()))
    return {x: also.get(x, []) + names.get(x, []) for x in also.keys() | names.keys()} if any(also.values()) else {}


def _translated(t: Term, names: dict[int, list[tuple[int, int]]]) -> Iterator[Term]:
    """A term of one state in the members' unknowns."""
    if all(x in names for x, _ in t[1]):
        for ways in islice(product(*(names[x] for x, _ in t[1])), 4):
            yield linear(t[0] - sum(k * off for (_, k), (_, off) in zip(t[1], ways)), ((m, k) for (_, k), (m, _) in zip(t[1], ways)))


def _pieces(there: State, here: State, written: list[int], known: list[int]) -> Iterator[tuple[int, Term, Term, Term, Term]]:
    """Of a constant length, written there and perhaps not here: depth, first, end; and the ends of the span that it belongs to. `written`, `known`: the
    frames' `numbers` there and here."""
    for depth, first, end in there.filled:
        if first[1] == end[1]:
            if (depth, first, end) not in here.filled:
                yield depth, first, end, first, end
            continue
        for at, lo, hi in here.filled:                # grown by a piece
            if at == depth and lo == first and hi[1] == end[1] and hi[0] < end[0]:
                yield depth, hi, end, first, end
            elif at == depth and hi == end and lo[1] == first[1] and first[0] < lo[0]:
                yield depth, first, lo, first, end
    for depth, (f, n, m) in enumerate(zip(there.frames, written, known)):
        if more := n & ~m & BYTES:
            runs = []
            while more:
                first = (more & -more).bit_length() - 1
                rest = ~(more >> first)
                length = (rest & -rest).bit_length() - 1
                runs.append((first - 512, first - 512 + length))
                more &= ~(((1 << length) - 1) << first)
            for first, end in runs[:4]:
                slots = sorted(off for off, (size, _) in f.slots.items() if first <= off and off + size <= end)
                ends = sorted({first, end, *slots})
                for lo, hi in islice(((a, b) for i, a in enumerate(ends) for b in ends[i + 1:] if b - a <= FACTORS), TRIED):
                    yield depth, constant(lo), constant(hi), constant(lo), constant(hi)


def _moving(out: State, depth: int, first: Term, end: Term, whole_first: Term, whole_end: Term, steps: list[tuple[int, int, int, int]],
            names: dict[int, list[tuple[int, int]]]) -> Iterator[Span]:
    """What lacks this piece in one state and has it in the other one: `steps` are (member, its symbol, its constant in that state, how far it moves)."""
    size = end[0] - first[0]
    fixed = {sym for sym, ways in names.items() if (sym, 0) in ways}
    for m, sym, off, step in steps:
        if size % step or abs(k := size // step) > FACTORS:
            continue
        for lower in (False, True):
            k = -size // step if lower else size // step
            still, moving = (whole_end, first) if lower else (whole_first, end)
            if moving not in (whole_first, whole_end):
                continue
            # what moves is k * (sym + off + step) + rest in that state, and what stands still in the other one
            rest = linear(moving[0] - k * (off + step), (*moving[1], (sym, -k)))
            if all(x in fixed and x != sym for x, _ in rest[1]) and all(x in fixed for x, _ in still[1]):
                moves = linear(rest[0], (*rest[1], (m, k)))
                for stays, goes in {(still, moves): 0, (resolved(out, still), resolved(out, moves)): 0}:    # lines may be of these turns only
                    yield (depth, goes, stays) if lower else (depth, stays, goes)


def once_more(old: State, new: State) -> tuple[Span, ...]:
    """Of the spans guessed at a loop's head also those that its first turns do not show yet, where a counter was one number in the loops inside: they hold
    where the loop is entered, and whether each turn leaves them is seen in the next one."""
    return tuple([span for span in old.filled if all([sym in new.vars for sym in symbols(span)])])


def lost(a: State, b: State, to: dict[int, tuple[int, int]]) -> Span | None:
    """A span of `b` that is not known in `a`, where b's symbol x is symbol + constant `to[x]`; None if there is none."""
    for span in b.filled:
        depth, first, end = span
        if not all(x in to for x in symbols(span)):
            return span
        lo, hi = (linear(t[0] + sum(k * to[x][1] for x, k in t[1]), ((to[x][0], k) for x, k in t[1])) for t in (first, end))
        if span not in a.filled or (lo, hi) != (first, end):
            if not covered(a, depth, lo, hi):
                return span
    return None
