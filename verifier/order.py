"""Whether what is known in one state follows from what is known in another."""
from __future__ import annotations

from . import affine, domain as d, exclusive, filled, octets
from .state import LEN, LOW_HALF, MADE_OF, NUMBER, POINTER, UNUSABLE, State, Value, congruent, parts_made_of, stack_bits


class Gap(str):
    """What is not, of two symbols' difference; `pair`: whose."""
    pair: tuple[int, int] = 0, 0


def _congruent_within(known: d.Num, stride: tuple[int, int], n: d.Num) -> bool:
    """Whether those of `known` with this stride are of `n`: a join moves bounds to such numbers, further than any state that meets there may have.
    That the stride is kept `leq` asks besides."""
    moved = congruent(known, stride)
    return moved is None or d.leq(moved, n)


def leq(a: State, b: State, local=None) -> str | None:
    """None if every concrete state of `a` is one of `b`; otherwise what is not. Only the symbols in `local` (those made where
    `b` is) may stand for something else in `a`: any other symbol is the same unknown in both."""
    if a is b:
        return None
    to: dict[int, tuple[int, int]] = {0: (0, 0), LEN: (LEN, 0)}

    def fits(place, va, vb):
        if vb is None or vb.kind in UNUSABLE:
            return None
        if va == vb and to.setdefault(vb.sym, (vb.sym, 0)) == (vb.sym, 0):
            return None                               # most places
        if va is None or va.region != vb.region or va.kind != vb.kind and (va.kind, vb.kind) != (POINTER, LOW_HALF):
            return f"place {place}: {va} is not {vb}"
        image = va.sym, va.off - vb.off
        if local is not None and vb.sym not in local and image != (vb.sym, 0):
            return f"place {place}: {va} is not {vb}"
        if to.setdefault(vb.sym, image) != image:
            return f"place {place}: {va} breaks an equality"
        return None

    for i in range(11):
        if (why := fits(i, a.regs[i], b.regs[i])):
            return why
    if len(a.frames) != len(b.frames):
        return "different depth"
    for depth, (fa, fb) in enumerate(zip(a.frames, b.frames)):
        for i, (va, vb) in enumerate(zip(fa.saved, fb.saved)):
            if (why := fits(("saved", depth, i), va, vb)):
                return why
        if fb.written & ~fa.written and (not a.filled or fb.written & ~fa.written & ~filled.certain(a, depth)):
            return f"stack bytes of frame {depth} not written"
        for off, (size, vb) in fb.slots.items():
            found = fa.slots.get(off)
            if found is None or found[0] != size:
                return f"stack slot {off} of frame {depth} not there"
            if (why := fits(("slot", depth, off), found[1], vb)):
                return why
        for off, (size, va) in fa.slots.items():      # a pointer must not pass as written bytes
            if va.kind != NUMBER and off not in fb.slots and fb.written & stack_bits(off, size):
                return f"stack slot {off} of frame {depth} holds a pointer"
    for sym, n in b.vars.items():
        if sym not in to:
            if sym not in a.vars:
                return f"symbol {sym} unknown"
            to[sym] = sym, 0
        base, off = to[sym]
        if not off and a.vars.get(base) is n:
            continue
        known = a.num(Value(NUMBER, None, base, off))
        if not d.leq(known, n) and not (sym in b.strides and _congruent_within(known, b.strides[sym], n)):
            return f"symbol {sym}: {known} is not within {n}"
    for (x, y), (lo, hi) in b.diff.items():
        (sx, ox), (sy, oy) = to[x], to[y]
        if sx == x and sy == y and ox == oy and a.diff.get((x, y)) == (lo, hi):
            continue
        glo, ghi = a.gap(sx, sy)
        if glo + oy - ox < lo or ghi + oy - ox > hi:
            why = Gap(f"difference of symbols {x}, {y}: {glo + oy - ox}..{ghi + oy - ox} is not within {lo}..{hi}")
            why.pair = x, y
            return why
    for x, (m, r) in b.strides.items():
        m2, r2 = a.stride(Value(NUMBER, None, *to[x]))
        if m2 % m or r2 % m != r:
            return f"stride of symbol {x}"
    for (x, y), (base, k, c) in b.lines.items():
        if base and to.setdefault(base, (base, 0)) != (base, 0) or x not in to or y not in to or not affine.on_line(a, to[x], base, to[y], k, c):
            return f"line of symbols {x}, {y}"
    for part, what, wanted in zip(MADE_OF, MADE_OF.values(), parts_made_of(b)):
        for x, t in wanted.items():
            if to.get(x) != (x, 0) or to.get(t[0], (t[0], 0)) != (t[0], 0) or getattr(a, part).get(x) != t:
                return f"{what} of symbol {x}"
    for x, row in b.bits.items():
        if a.bits.get(x) != row or any(to.get(y) != (y, 0) for y in {x} | row.roots):
            return f"bits of symbol {x}"
    for ours, theirs in (a.defs, b.defs), (a.added, b.added):
        for x, (v, w, c) in theirs.items():
            (sx, ox), (sv, ov), (sw, ow) = to[x], to[v], to[w]
            if ours.get(sx, (0, sx, 0)) != (sv, sw, c - ox + ow - ov):     # less nothing it is itself
                return f"definition of symbol {x}"
    if (span := filled.lost(a, b, to)) is not None:
        return f"stack bytes {span} not written"
    if b.exclusive and not exclusive.follow(a, b, to):
        return "what excludes each other"
    if b.sums and (place := octets.follows(a, b, to)) is not None:
        return f"sum of symbol {place}"
    return None
