"""What a comparison that holds says of the two numbers that are compared (domain.py)."""
from __future__ import annotations

from functools import lru_cache

from .domain import CACHED, M32, M64, Num, low32, make, meet, s32, s64

NEGATED = {"JEQ": "JNE", "JNE": "JEQ", "JGT": "JLE", "JLE": "JGT", "JGE": "JLT", "JLT": "JGE", "JSGT": "JSLE",
           "JSLE": "JSGT", "JSGE": "JSLT", "JSLT": "JSGE", "JSET": "JNSET"}
SWAPPED = {"JEQ": "JEQ", "JNE": "JNE", "JGT": "JLT", "JLT": "JGT", "JGE": "JLE", "JLE": "JGE", "JSGT": "JSLT",
           "JSLT": "JSGT", "JSGE": "JSLE", "JSLE": "JSGE", "JSET": "JSET", "JNSET": "JNSET"}


def _with(a: Num, **changes) -> Num | None:
    fields = dict(zip(Num.__slots__, a.fields()))
    fields.update(changes)
    return make(**fields)


@lru_cache(maxsize=CACHED)
def refine(name: str, a: Num, b: Num, wide: bool):
    """(a, b) where `a NAME b` holds; None if it cannot."""
    if name in ("JGT", "JGE", "JSGT", "JSGE"):
        turned = refine(SWAPPED[name], b, a, wide)
        return turned and (turned[1], turned[0])
    if name in ("JLT", "JLE", "JSLT", "JSLE"):
        at = (4 if "S" in name else 2) + (0 if wide else 4)     # of Num.fields: the lower bound; behind it the upper one
        strict = name in ("JLT", "JSLT")
        fa, fb = list(a.fields()), list(b.fields())
        lo, hi = max(fb[at], fa[at] + strict), min(fa[at + 1], fb[at + 1] - strict)
        fa[at + 1], fb[at] = hi, lo
        a2 = make(*fa)
        b2 = a2 and make(*fb)
        return (a2, b2) if b2 else None
    if name == "JEQ":
        if wide:
            both = meet(a, b)
            return both and (both, both)
        la, lb = low32(a), low32(b)
        both = meet(la, lb)
        if not both:
            return None
        out = []
        for n in (a, b):
            n = make((n.bits & ~M32) | both.bits & M32, (n.mask & ~M32) | both.mask & M32, n.ulo, n.uhi, n.slo, n.shi,
                     both.ulo32, both.uhi32, both.slo32, both.shi32)
            if n is None:
                return None
            out.append(n)
        return tuple(out)
    if name == "JNE":
        a2 = _without(a, b, wide)
        b2 = a2 and _without(b, a, wide)
        return (a2, b2) if b2 else None
    if name in ("JSET", "JNSET"):
        width = M64 if wide else M32
        if name == "JNSET":
            if b.is_const:
                if a.bits & b.ulo & width:
                    return None
                a = _with(a, mask=a.mask & ~(b.ulo & width))
            elif a.is_const and b.bits & a.ulo & width:
                return None
            return a and (a, b)
        if not (a.bits | a.mask) & (b.bits | b.mask) & width:
            return None
        if b.is_const:
            wanted = b.ulo & width
            if wanted & (wanted - 1) == 0 and a.mask & wanted:
                a = _with(a, bits=a.bits | wanted, mask=a.mask & ~wanted)
        return a and (a, b)
    raise ValueError(name)


def _without(a: Num, b: Num, wide: bool) -> Num | None:
    """`a` less the one value `b` is, if it is one: an end of an interval moves."""
    low = low32(b)
    if not low.is_const or (wide and not b.is_const):
        return a
    changes = {}
    v = low.ulo
    if wide:
        v = b.ulo
        if a.is_const and a.ulo == v:
            return None
        changes = {"ulo": a.ulo + (a.ulo == v), "uhi": a.uhi - (a.uhi == v),
                   "slo": a.slo + (a.slo == s64(v)), "shi": a.shi - (a.shi == s64(v))}
    else:
        if a.ulo32 == a.uhi32 == v:
            return None
        changes = {"ulo32": a.ulo32 + (a.ulo32 == v), "uhi32": a.uhi32 - (a.uhi32 == v),
                   "slo32": a.slo32 + (a.slo32 == s32(v)), "shi32": a.shi32 - (a.shi32 == s32(v))}
    if all(getattr(a, name) == value for name, value in changes.items()):
        return a
    return _with(a, **changes)
