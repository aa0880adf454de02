"""What is known where ways meet: the state that all of several are within, and widening, which makes joins stop growing."""
from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import product
from math import gcd

from . import affine, domain as d, exclusive, filled, octets, summands
from .affine import MAX_LINES
from .places import Places, joined_places, no_constants
from .state import INF, LEN, MADE_OF, MAX_DIFFS, MAX_NEAR, NEAR, NUMBER, State, Value, congruent, parts_made_of

ZERO = d.const(0)
FAR = 1 << 16                                         # of places: further than any region goes


def join(states: list[State], name, head: bool, keep=frozenset(), known: dict[int, Places] | None = None,
         guesses: tuple[filled.Span, ...] = ()) -> State:
    """The state all of `states` are within. `name(place)` gives the symbol for a place that differs between them; at
    a loop's head all its new symbols are related to each other, because that is where invariants start. `known`: by number of states,
    what became of the places when as many met here last; the state shares it then, and may not be changed in place. `guesses`: spans that were
    found here before."""
    if len(states) == 1 and not head:
        return states[0].copy()
    out, count = State(), len(states)
    zeros = no_constants(count)
    of = [s.regs for s in states], [s.frames for s in states]
    places = known.get(count) if known is not None else None
    if places is None or places.of != of:
        places = joined_places(of, name)
        if known is not None:
            known[count] = places
    out.regs, out.frames = (places.regs, places.frames) if known is not None else (places.regs.copy(), [f.copy() for f in places.frames])
    members = places.members.copy()
    first, more = states[0].vars, [s.vars for s in states[1:]]
    kept = first.keys()
    for each in more:
        kept = kept & each.keys()
    lines = _new_lines(states, members, places.made, kept) if places.made and (head or any([s.lines for s in states])) else {}
    for sym in (LEN, *(kept & keep), *[sym for s in states if s.owed for sym in s.owed], *(filled.wanted(states) if any([s.filled for s in states]) else ()),
                *[sym for x, (v, w, _) in states[0].added.items() if x not in members and v in members and all([s.added.get(x) == states[0].added[x] for s in states])
                  for sym in (x, w)],
                *[sym for x, (v, w, _) in states[0].defs.items() if w != LEN and x not in members and v in members and all([s.defs.get(x) == states[0].defs[x] for s in states])
                  for sym in ((x, w) if w else (x,))],
                *[sym for key, (base, _, _) in states[0].lines.items() for sym in ((base,) if base else key)], *[base for base, _, _ in lines.values() if base]):
        if sym in kept and sym not in members:
            members[sym] = (sym,) * count, zeros
    _join_defs(out, states, members, kept)
    first_strides, variables = states[0].strides, out.vars
    changed = []                                      # members that are something else in some state
    for sym, (syms, offs) in members.items():
        if offs is zeros:
            n = first[sym]
            for each in more:
                if (other := each[sym]) is not n:
                    n = d.join(n, other)
            variables[sym] = n
            if sym not in first_strides:
                continue
        else:
            changed.append(sym)
            nums = [(d.add(s.vars[a], d.const(o)) if o else s.vars[a]) if a else d.const(o) for s, a, o in zip(states, syms, offs)]
            n = nums[0]
            for other in nums:
                if other is not n:
                    n = d.join(n, other)
            variables[sym] = n
        if (not syms[0] or syms[0] in first_strides) and not n.is_const and (stride := _join_strides(states, syms, offs)):
            out.strides[sym] = stride
            variables[sym] = congruent(n, stride) or n
    _join_diffs(out, states, members, changed, places, head)
    _join_ends(out, states, places.cursors)
    _join_lines(out, states, members, lines)
    if any([s.filled for s in states]) or changed and _written_apart(states):
        out.filled = filled.joined(out, states, members, changed, guesses)
    if any([s.sums for s in states]):
        octets.join_sums(out, states, members, [x for x, (syms, _) in members.items() if any(sym in s.sums for s, sym in zip(states, syms))])
    if any([s.owed or s.settled for s in states]):
        octets.join_owed(out, states, members)
    if states[0].exclusive is not None:
        out.exclusive = exclusive.joined(out, states, members)
    return out


def _written_apart(states: list[State]) -> bool:
    """Some way has written bytes of the stack that another one has not."""
    return any([f.written != g.written for s in states[1:] for f, g in zip(states[0].frames, s.frames)])


def _join_lines(out, states, members, new):
    """Lines and shifts that all know, and the new lines."""
    def same(sym):
        return not sym or sym in members and members[sym][0].count(sym) == len(states) and not any(members[sym][1])

    first = states[0]
    if not (first.lines or first.bits or new or any(parts_made_of(first))):
        return
    for key, line in first.lines.items():
        if all(s.lines.get(key) == line for s in states) and same(key[0]) and same(key[1]) and same(line[0]):
            out.lines[key] = line
    for part, known in zip(MADE_OF, parts_made_of(first)):
        if known:
            others, kept = [getattr(s, part) for s in states[1:]], getattr(out, part)
            for x, t in known.items():
                if all(each.get(x) == t for each in others) and same(x) and same(t[0]):
                    kept[x] = t
    for x, row in first.bits.items():
        if all(s.bits.get(x) == row for s in states) and same(x) and all(map(same, row.roots)):
            out.bits[x] = row
    for key, line in new.items():
        if len(out.lines) < MAX_LINES and same(line[0]):
            out.lines[key] = line
    affine.bound(out)


def _new_lines(states, members, new, kept):
    """At a loop's head places that move by constants in every turn lie on lines (Karr's domain, of two unknowns and one, in `kept`, that the loop leaves alone);
    so they do where ways behind the loop meet one that did not enter it."""
    lines: dict[tuple[int, int], tuple[int, int, int]] = {}
    along = {y for s in states for _, y in s.lines}
    counters = [y for y in new if 0 in members[y][0] or not along.isdisjoint(members[y][0])][:MAX_LINES]
    for x in new[:MAX_LINES]:
        for y in counters:
            if x != y and len(lines) < MAX_LINES and (line := _line(states, members[x], members[y], x, y)):
                base, k, _ = line
                if not base or base in members or base in kept and k != 1:      # what moves in step is a difference apart, which need not know its base
                    lines[x, y] = line
    return lines


def _line(states, xs, ys, x, y):
    """(base, k, c) with x = base + k * y + c in all states."""
    at = [i for i, sym in enumerate(ys[0]) if not sym]
    if not at:                                        # they begin where others of that line are
        started = next(((s.lines[sx, sy], ox, oy) for s, sx, ox, sy, oy in zip(states, *xs, *ys) if (sx, sy) in s.lines), None)
        if started is None:
            return _line_down(states, xs, ys, x, y)
        (base, k, c), ox, oy = started
        return _all_on(states, xs, ys, base, k, c + ox - k * oy)
    turned = [i for i in range(len(states)) if ys[0][i] == y and xs[0][i] == x and ys[1][i]]
    if turned:
        dx, dy = xs[1][turned[0]], ys[1][turned[0]]
    else:
        others = [i for i in at if ys[1][i] != ys[1][at[0]] and xs[0][i] == xs[0][at[0]]]
        if others:
            dx, dy = xs[1][others[0]] - xs[1][at[0]], ys[1][others[0]] - ys[1][at[0]]
        else:                                         # places that had one symbol have two now: the line of that one
            dx, dy = next((s.lines[sx, sy][1] for s, sx, sy in zip(states, xs[0], ys[0]) if (sx, sy) in s.lines), 0), 1
    if not dx or dx % dy:
        return None
    k, base = dx // dy, xs[0][at[0]]
    c = xs[1][at[0]] - k * ys[1][at[0]]
    if k == 1 and not base:
        return None                                   # a difference, which others keep
    return _all_on(states, xs, ys, base, k, c)


def _line_down(states, xs, ys, x, y):
    """The same, if `y` begins as an unknown and goes down: the base is where `x` is when nothing is left, if that has a name."""
    for i in range(1, len(states)):
        if (xs[0][i], ys[0][i]) == (x, y):            # behind a turn, from the head
            dx, dy = xs[1][i], ys[1][i]
        elif (xs[0][i], ys[0][i]) == (xs[0][0], ys[0][0]):      # behind the first one, from where the loop is entered
            dx, dy = xs[1][i] - xs[1][0], ys[1][i] - ys[1][0]
        else:
            continue
        if dx * dy >= 0 or dx % dy:
            return None
        k = dx // dy
        ends = affine.ends(states[0], xs[0][0], ys[0][0], -k)
        return _all_on(states, xs, ys, ends[0][0], k, xs[1][0] - k * ys[1][0] - ends[0][1]) if ends else None
    return None


def _all_on(states, xs, ys, base, k, c):
    """The line, if it is one in all states."""
    if all(affine.on_line(s, (sx, ox), base, (sy, oy), k, c) for s, sx, ox, sy, oy in zip(states, *xs, *ys)):
        return base, k, c
    return None


def _join_strides(states, syms, offs):
    """The congruence all agree on (Granger's domain); None if it says nothing."""
    for s, sym in zip(states, syms):
        if sym and sym not in s.strides:
            return None
    m, r = None, 0
    for s, sym, off in zip(states, syms, offs):
        m2, r2 = s.stride(Value(NUMBER, None, sym, off))
        m, r = (m2, r2) if m is None else (gcd(m, m2, r - r2), r)
    return (m, r % m) if m > 1 else None


def _join_defs(out, states, members, kept):
    """x = w - v + c survives where it holds in every state for the joined x, v and w."""
    if any([s.defs for s in states]):
        _join_differences(out.defs, [s.defs for s in states], members, kept)
    if all([s.added for s in states]):
        _join_differences(out.added, [s.added for s in states], members, kept)


def _join_differences(made, known, members, kept):
    zeros = no_constants(len(known))
    for sym, (syms, offs) in list(members.items()):
        differences = [each.get(a) for each, a in zip(known, syms)]
        if None in differences:                       # where nothing is taken off, it is all of it: its difference from 0
            whole = next((t[1] for t in differences if t), 0)
            if not whole or any([t is None and a != whole for t, a in zip(differences, syms)]):
                continue
            differences = [t or (0, whole, 0) for t in differences]
        parts = []
        for k in (0, 1):
            wanted = tuple([x[k] for x in differences])
            found = [(m, o) for m, (ss, o) in members.items() if ss == wanted] if any(wanted) else [(0, zeros)]
            if wanted[0] in kept and len(set(wanted)) == 1 and wanted[0] not in members:
                members[wanted[0]] = wanted, zeros
                found.append((wanted[0], zeros))
            parts.append(found)
        for (v, ov), (w, ow) in product(*parts):      # places that moved by constants have the same symbol as those that did not
            constants = {x[2] + o - b + a for x, o, a, b in zip(differences, offs, ov, ow)}
            if len(constants) == 1 and sym not in (LEN, v, w):
                made[sym] = v, w, constants.pop()
                break


def _wanted(states, members, changed, in_packet, new):
    """Pairs of members whose difference may be worth keeping. They depend on which differences are known, not on what they are."""
    wanted = set()
    others = [(sym, *members[sym]) for sym in changed if members[sym][0].count(sym) < len(states)]
    own = members.keys() - {sym for sym, _, _ in others}
    if not others:
        for s in states:
            wanted.update([key for key in s.diff if key[0] in own and key[1] in own])
    for i, s in enumerate(states if others else ()):
        where: dict[int, list[int]] = {}              # what else than itself a symbol has become
        for sym, syms, _ in others:
            where.setdefault(syms[i], []).append(sym)
        for key in s.diff:
            a, b = key
            if a in own and b in own:
                wanted.add(key)
            if a in where or b in where:
                for x in [a, *where.get(a, ())] if a in own else where.get(a, ()):
                    for y in [b, *where.get(b, ())] if b in own else where.get(b, ()):
                        if x != y:
                            wanted.add((x, y) if x < y else (y, x))
        for sym, syms, offs in others:                # a new symbol and the one it came from
            base = syms[i]
            near = 0 < offs[i] <= MAX_NEAR or not offs[i] and sym in in_packet
            if LEN in members and sym != LEN and not base and near and len(wanted) < MAX_DIFFS // 2:
                wanted.add((LEN, sym) if LEN < sym else (sym, LEN))     # a constant place here, another one there: both before the end
            if base and base != sym and base in members:
                wanted.add((base, sym) if base < sym else (sym, base))
    alike: dict[tuple[int, ...], list[int]] = {}      # new symbols that came from the same ones: as far apart as the constants say
    for sym, syms, _ in others:
        if all(syms):
            for other in alike.setdefault(syms, []):
                if len(wanted) < MAX_DIFFS // 2:
                    wanted.add((other, sym) if other < sym else (sym, other))
            alike[syms].append(sym)
    if new is not None:
        if len(wanted) + len(new) * len(members) < 2 * MAX_DIFFS:
            wanted.update([(x, y) if x < y else (y, x) for x in new for y in members if x != y])
        else:
            for x in new:
                for y in members:
                    if x != y and len(wanted) < 2 * MAX_DIFFS:
                        wanted.add((x, y) if x < y else (y, x))
    return wanted


def _join_diffs(out, states, members, changed, places, head):
    """Differences worth keeping: known in some state, or, at a loop's head, of a symbol made here. `changed`: members that are not the same
    unknown, without a constant, in all states."""
    if not changed and not head and len(states) == 2:
        return _both_diffs(out, *states, members.keys())
    wanted = sorted(_wanted(states, members, changed, places.in_packet, places.made if head else None))
    if not wanted:
        return
    outer, diff, parts = out.vars, out.diff, [(s.vars, s.diff) for s in states]
    plain = members.keys() - changed if changed else members.keys()
    for pair in wanted:
        if len(diff) >= MAX_DIFFS:
            break
        a, b = pair
        na, nb = outer[a], outer[b]
        klo, khi = nb.slo - na.shi, nb.shi - na.slo
        lo, hi = INF, -INF
        if a in plain and b in plain:                 # the same unknowns in all states: State.gap, written out
            for variables, gaps in parts:
                na, nb = variables[a], variables[b]
                l, h = nb.slo - na.shi, nb.shi - na.slo
                if (known := gaps.get(pair)) is not None:
                    if known[0] > l:
                        l = known[0]
                    if known[1] < h:
                        h = known[1]
                if l < lo:
                    lo = l
                if h > hi:
                    hi = h
                if lo <= klo and hi >= khi:
                    break                             # no more than the bounds say
            else:
                diff[pair] = lo, hi
            continue
        (syms_a, offs_a), (syms_b, offs_b) = members[a], members[b]
        for (variables, gaps), sa, oa, sb, ob in zip(parts, syms_a, offs_a, syms_b, offs_b):
            if sa == sb:
                l = h = ob - oa
            else:
                na, nb = variables[sa] if sa else ZERO, variables[sb] if sb else ZERO
                l, h = nb.slo - na.shi, nb.shi - na.slo
                if sa < sb:
                    if (known := gaps.get((sa, sb))) is not None:
                        l, h = max(l, known[0]), min(h, known[1])
                elif (known := gaps.get((sb, sa))) is not None:
                    l, h = max(l, -known[1]), min(h, -known[0])
                l, h = l + ob - oa, h + ob - oa
            if l < lo:
                lo = l
            if h > hi:
                hi = h
            if lo <= klo and hi >= khi:
                break
        else:
            diff[pair] = lo, hi


def _both_diffs(out: State, s: State, t: State, own: set[int]) -> None:
    """The most usual case: two ways meet, and all unknowns are the same on both."""
    outer, first, second, in_s, in_t = out.vars, s.vars, t.vars, s.diff, t.diff
    for pair in sorted(in_s if in_s.keys() == in_t.keys() else in_s.keys() | in_t.keys()):
        a, b = pair
        if a not in own or b not in own or len(out.diff) >= MAX_DIFFS:
            continue
        na, nb = first[a], first[b]
        lo, hi = nb.slo - na.shi, nb.shi - na.slo
        if (known := in_s.get(pair)) is not None:
            lo, hi = known[0] if known[0] > lo else lo, known[1] if known[1] < hi else hi
        na, nb = second[a], second[b]
        l, h = nb.slo - na.shi, nb.shi - na.slo
        if (known := in_t.get(pair)) is not None:
            l, h = known[0] if known[0] > l else l, known[1] if known[1] < h else h
        lo, hi = l if l < lo else lo, h if h > hi else hi
        na, nb = outer[a], outer[b]
        if lo > nb.slo - na.shi or hi < nb.shi - na.slo:
            out.diff[pair] = lo, hi


def _join_ends(out: State, states: list[State], cursors: set[int]) -> None:
    """Cursors that each way knows to be before the packet's end, if only by what it knows of both: with longer packets a cursor is further behind."""
    length = out.vars[LEN].slo
    for x in cursors:
        if x == LEN or out.vars[x].shi <= length or (LEN, x) in out.diff or len(out.diff) >= MAX_DIFFS:
            continue
        gaps = [s.gap(LEN, x) for s in states]
        if (most := max([hi for _, hi in gaps])) <= 0:
            out.diff[LEN, x] = min([lo for lo, _ in gaps]), most


def widen(old: State, new: State, fresh: frozenset, steps: Callable[[int], list[int]], longest: int, equated: dict[tuple[int, int], set[int]],
          apart: bool = False) -> None:
    """Make `new` (a join that includes what led to `old`) an upper bound that stops growing, in place. No packet is longer than `longest`. `equated`: two symbols
    -> differences at which a comparison asks whether they are equal: what comes to that in steps of 1 does not go beyond.

    apart: differences between symbols of this head go where one of the two moved; otherwise a symbol's bounds and its
    differences, widened in turns, can each pull the other back for ever."""
    if apart:
        moved = {sym for sym in fresh if sym in new.vars and (sym not in old.vars or new.vars[sym] != old.vars[sym])}
        new.diff = {key: b for key, b in new.diff.items() if not (moved & set(key) and fresh.issuperset(key))}
    for pair in equated:
        if not fresh.isdisjoint(pair) and all([sym in each.vars for each in (old, new) for sym in pair]):
            new.diff.setdefault(pair, new.gap(*pair))     # the bounds, which say it yet, are about to say less
    for sym in fresh:
        if sym in new.vars and sym in old.vars:
            wide = d.widen(old.vars[sym], new.vars[sym], steps(sym))
            new.vars[sym] = sym in new.strides and congruent(wide, new.strides[sym]) or wide
    for key, (lo, hi) in list(new.diff.items()):
        known = old.diff.get(key)
        if known is None:
            if key[0] not in old.vars or key[1] not in old.vars:
                continue
            if apart:
                del new.diff[key]
                continue
            known = old.gap(*key)                     # it was no more than the bounds say, which are about to say less
        lo, hi = min(lo, known[0]), max(hi, known[1])     # nor shrink again: it would grow once more as soon as the bounds do
        asked = equated.get(key, ())
        new.diff[key] = (lo if lo >= known[0] else -_beyond(-lo, [-n for n in asked])), (hi if hi <= known[1] else _beyond(hi, asked))
        if key[0] == LEN and key[1] in fresh:         # however wide it was made, a place before the packet's end is before that of the longest one
            new.vars[key[1]] = d.within(new.vars[key[1]], -INF, longest + new.diff[key][1]) or new.vars[key[1]]
    new.lines = {key: line for key, line in new.lines.items() if old.lines.get(key, line) == line}
    summands.bound(new)
    affine.bound(new, FAR)                           # else each of two could hold back the other one's steps from one bound worth trying to the next
    new.filled = tuple([span for span in new.filled if span in old.filled])
    if new.sums:
        octets.widened(old, new, apart)


def _beyond(most: int, asked: Collection[int]) -> int:
    """Where a difference that grew goes on to: a place that is before the packet's end, or not far behind it, mostly stays so; and so does what is before one that
    it is compared with."""
    steps = sorted({*NEAR, *[n + less for n in asked for less in (-1, 0)]}) if asked else NEAR
    return next((step for step in steps if most <= step), INF)
