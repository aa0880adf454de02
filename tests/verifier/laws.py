"""The laws of numbers (verifier/domain.py) on the same few thousand examples each time: what holds of each member holds of what is said of all.

An example is a set of numbers, as joins, bounds and comparisons make them, and some of its members: corners, powers of two and their neighbours.
"""
from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

from lpn.verifier import comparisons, domain as d

WIDTHS = (1, 3, 7, 8, 15, 16, 31, 32, 33, 48, 63)
CORNERS = sorted({(n + more) & d.M64 for k in WIDTHS for n in (1 << k, -(1 << k)) for more in (-1, 0, 1)} | {0, 1, 2, 5, 9, 12, 40, 127, 300, d.M64, d.M64 - 1})
Members = tuple[d.Num, tuple[int, ...]]


def truncating(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def compared(name: str, a: int, b: int, wide: bool) -> bool:
    """RFC 9669, 4.3; JNSET is what JSET is not."""
    width, signed = (d.M64, d.s64) if wide else (d.M32, d.s32)
    a, b = a & width, b & width
    if name in ("JSET", "JNSET"):
        return bool(a & b) == (name == "JSET")
    if name.startswith("JS"):
        a, b, name = signed(a), signed(b), name.replace("JS", "J")
    return {"JEQ": a == b, "JNE": a != b, "JGT": a > b, "JGE": a >= b, "JLT": a < b, "JLE": a <= b}[name]


def computed(name: str, a: int, b: int, wide: bool) -> int:
    """RFC 9669, 4.1, with divisors and shift counts in range."""
    mask, signed = (d.M64, d.s64) if wide else (d.M32, d.s32)
    a, b = a & mask, b & mask
    result = {"ADD": lambda: a + b, "SUB": lambda: a - b, "MUL": lambda: a * b, "OR": lambda: a | b, "AND": lambda: a & b, "XOR": lambda: a ^ b,
              "LSH": lambda: a << b, "RSH": lambda: a >> b, "ARSH": lambda: signed(a) >> b, "DIV": lambda: a // b, "MOD": lambda: a % b,
              "SDIV": lambda: truncating(signed(a), signed(b)), "SMOD": lambda: signed(a) - truncating(signed(a), signed(b)) * signed(b)}[name]()
    return result & mask


def examples(rng: random.Random, count: int) -> list[Members]:
    out: list[Members] = [(d.const(n), (n,)) for n in CORNERS[::5]]
    while len(out) < count:
        near = rng.choice(CORNERS)
        first = [rng.choice((rng.choice(CORNERS), near + rng.randrange(-9, 10), rng.getrandbits(rng.choice(WIDTHS)) << rng.choice((0, 0, 3, 32)), near ^ 1 << rng.randrange(64)))
                 & d.M64 for _ in range(rng.choice((1, 2, 2, 3, 4)))]
        n, members = d.const(first[0]), set(first)
        for m in first[1:]:
            n = d.join(n, d.const(m))
        for _ in range(rng.choice((0, 0, 1, 2))):             # cut by comparisons that hold of one
            x, other, wide = rng.choice(sorted(members)), rng.choice((near, rng.choice(CORNERS), rng.choice(first))), rng.random() < 0.5
            name = rng.choice(sorted(comparisons.SWAPPED))
            if not compared(name, x, other, wide):
                name = {**comparisons.NEGATED, "JNSET": "JSET"}[name]
            cut = comparisons.refine(name, n, d.const(other), wide)
            assert cut is not None, f"{name} of {x} and {other}: nothing is left of {n}"
            n, members = cut[0], {m for m in members if compared(name, m, other, wide)}
        assert all(m in n for m in members), f"{n} lacks one of {members}"
        out.append((n, tuple(sorted(members))))
    return out


def of(*members: int) -> Members:
    """The least set with these."""
    n = d.const(members[0])
    for m in members[1:]:
        n = d.join(n, d.const(m))
    return n, tuple(m & d.M64 for m in members)


def usable(name: str, nb: d.Num, ys: tuple[int, ...], wide: bool) -> Members:
    """A second operand that the machine allows: counts below the width, no divisor that may be 0."""
    if name in ("LSH", "RSH", "ARSH"):
        most = 63 if wide else 31
        return d.and_(nb, d.const(most)), tuple(y & most for y in ys)
    if name in ("DIV", "MOD", "SDIV", "SMOD"):
        nb = nb if wide else d.low32(nb)
        cut = d.within(nb, 1, (1 << 63) - 1) if 0 in nb else nb       # as number_alu
        return cut or d.const(1), tuple(y for y in (y & (d.M64 if wide else d.M32) for y in ys) if cut and y in cut)
    return nb, ys


def broken(seed: int = 1, count: int = 160, pairs: int = 400) -> Iterator[str]:
    """What does not hold."""
    rng = random.Random(seed)
    try:
        sets = examples(rng, count)
    except AssertionError as why:
        yield str(why)
        return
    ends = [of(n, m) for n in (1 << 63, -1, 1) for m in (n, 5, -7)]      # -2^63 / -1 is no number of 64 bits
    for (a, xs), (b, ys) in [*product(ends, ends), *((rng.choice(sets), rng.choice(sets)) for _ in range(pairs))]:
        for wide in (True, False):
            for name in d._OPS:
                nb, some = usable(name, b, ys, wide)
                result = d.alu(name, a, nb, wide)
                yield from (f"{x} {name} {y} is not in {result}" for x in xs for y in some if computed(name, x, y, wide) not in result)
            for name in comparisons.SWAPPED:
                cut = comparisons.refine(name, a, b, wide)
                for x, y in ((x, y) for x in xs for y in ys if compared(name, x, y, wide)):
                    if cut is None or x not in cut[0] or y not in cut[1]:
                        yield f"{x} {name} {y} ({wide}) is left out"
                if cut is not None and not (d.leq(cut[0], a) and d.leq(cut[1], b)):
                    yield f"{name} makes {a} or {b} larger"
        if missing := [m for m in (*xs, *ys) if m not in d.hull([*xs, *map(d.s64, ys)])]:
            yield f"{missing[0]} is not among those it is one of"
        both, met = d.join(a, b), d.meet(a, b)
        if not all(m in both for m in (*xs, *ys)) or not (d.leq(a, both) and d.leq(b, both)):
            yield f"the join of {a} and {b}"
        if any(x in b and (met is None or x not in met) for x in xs):
            yield f"what {a} and {b} share"
        if d.leq(a, b) and not all(x in b for x in xs):
            yield f"{a} is not within {b}"
        steps = sorted(rng.sample([d.s64(n) for n in CORNERS], 4))
        if not d.leq(both, d.widen(a, both, steps)):
            yield f"widening {a} to {both} by {steps}"
        lo, hi = sorted((d.s64(rng.choice(xs or (0,))) + rng.choice((-1, 0, 1)), d.s64(rng.choice(CORNERS))))
        cut = d.within(a, lo, hi)
        if any(lo <= d.s64(x) <= hi and (cut is None or x not in cut) for x in xs):
            yield f"{lo}..{hi} of {a}"
    for a, xs in sets:
        for x in xs:
            for width in (8, 16, 32):
                low = x & ((1 << width) - 1)
                if (low - (1 << width) if low >> (width - 1) else low) & d.M64 not in d.sign_extend(a, width):
                    yield f"{x} as a signed number of {width} bits is not in {d.sign_extend(a, width)}"
                if low not in d.truncate(a, width // 8):
                    yield f"the lower {width} bits of {x} are not in {d.truncate(a, width // 8)}"
            for width in (16, 32, 64):
                if int.from_bytes((x & ((1 << width) - 1)).to_bytes(width // 8, "little"), "big") not in d.byte_swap(a, width):
                    yield f"{x} with {width} bits swapped"
            if x & d.M32 not in d.low32(a) or -x & d.M64 not in d.neg(a):
                yield f"the low half of {x}, or its negative"
