"""Numbers made of another one: its low bits, any of its bits, what is shifted by it, its octets in the other order, its value as a signed number of fewer bits,
its size without a sign.

`State.halves[x]` is (y, c, m) where x is the bits of y + c that the mask m has; `State.masked[x]` is (y, n, m) where x is those of y shifted right by n;
`State.powers[x]` is (y, k) where x is k shifted left by y; `State.swapped[x]` is (y, n) where x is the low n bits of y with their octets in the other order;
`State.extended[x]` is (y, n) where x is y, of n <= 32 bits, taken as a signed number; `State.signs[x]` where x is -1 if y is negative as a number of n bits, else 0;
`State.turned[x]` where x is y with all of its n bits turned round if it is negative.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import domain as d, summands

if TYPE_CHECKING:
    from .state import State, Value


def learn_halves(s: State, sym: int, n: d.Num) -> bool:
    """What `n`, which is known of a symbol, says of its low bits, and of what it is the low bits of."""
    for x, (y, c, m) in list(s.halves.items()):
        if y == sym and x in s.vars and not s.meet(x, d.low_bits(d.add(n, d.const(c)), m), False):
            return False
        if x != sym or y not in s.vars or n.uhi > m:
            continue
        if not c and not (bits_of(s, y, n, 0, m) and s.meet(y, with_low(s.vars[y], n, m), False)):
            return False
        lo, hi = n.ulo - c & m, n.uhi - c & m
        if lo <= hi and (m == d.M32 or s.vars[y].uhi <= m) and not (s.meet(y, d.make(ulo32=lo, uhi32=hi), False) and summands.learn_difference(s, y)):
            return False
    return True


def with_low(y: d.Num, n: d.Num, m: int) -> d.Num | None:
    """Of the numbers between the bounds of `y` those whose low bits, which the mask has, may be `n`: where they are not 0, and 128 is the most, 127 is."""
    first, last = y.ulo & m, y.uhi & m
    lo = y.ulo + max(n.ulo - first, 0) if first <= n.uhi else y.ulo - first + m + 1 + n.ulo
    hi = y.uhi - max(last - n.uhi, 0) if last >= n.ulo else y.uhi - last - m - 1 + n.uhi
    return d.unsigned(lo, hi) if lo <= min(hi, d.M64) else None


def learn_masked(s: State, sym: int, n: d.Num) -> bool:
    """The same of bits wherever they are."""
    for x, (y, low, m) in list(s.masked.items()):
        if y == sym and x in s.vars and not s.meet(x, picked(n, low, m)):
            return False
        if x == sym and y in s.vars and not bits_of(s, y, n, low, m):
            return False
    return True


def picked(n: d.Num, low: int, m: int) -> d.Num:
    """The bits that a mask has of a number shifted right."""
    n = d.rsh(n, d.const(low)) if low else n
    return n if not m & m + 1 and n.uhi <= m else d.and_(n, d.const(m))


def bits_of(s: State, y: int, n: d.Num, low: int, m: int) -> bool:
    """The bits known of `n` are bits of `y`, from bit `low` on, as far as the mask has them."""
    told = m & ~n.mask
    return not told << low & s.vars[y].mask or s.meet(y, d.make(bits=(n.bits & told) << low & d.M64, mask=d.M64 & ~(told << low)), False)


def bits_in(s: State, x: int, c: int, low: int, m: int) -> tuple[int, int, int, int]:
    """Whose the bits are that the mask has of x + c shifted right by `low`: (y, what was added to y, by how much y is shifted, the mask)."""
    if x in s.masked and not c and s.masked[x][0] in s.vars:
        y, first, has = s.masked[x]
        return y, 0, first + low, has >> low & m
    y, c2, has = s.halves.get(x, (x, 0, d.M64))
    if y not in s.vars or (c or c2) and (low or m > has or m & m + 1):      # what is added may be carried into any bit but the low ones
        return x, c, low, m
    return y, c + c2 & m, low, has >> low & m


def made_before(s: State, y: int, c: int, low: int, m: int) -> int:
    """The symbol for those bits of y + c; 0: it has none."""
    same = [x for x, t in s.halves.items() if t == (y, c, m)] if not low else []
    return next((x for x in (*same, *(() if c else [x for x, t in s.masked.items() if t == (y, low, m)])) if x in s.vars), 0)


def quotients(s: State) -> list[tuple[int, int, int]]:
    """(x, y, n) where x is y shifted right by n, none of its bits left out."""
    return [(x, y, low) for x, (y, low, m) in s.masked.items()
            if low and not m & m + 1 and x in s.vars and y in s.vars and s.vars[y].uhi >> low <= m]


def learn_powers(s: State, sym: int, n: d.Num) -> bool:
    """More is known of how far a constant was shifted, or of what that gave: a length, mostly, which others are compared with."""
    for x, (y, k) in list(s.powers.items()):
        if y == sym and x in s.vars and n.uhi < 64 and not s.learn_of(x, d.within(s.vars[x], k << n.ulo, k << n.uhi)):
            return False
        if x == sym and y in s.vars and not s.within(y, (-(-n.ulo // k) - 1).bit_length() if n.ulo > k else 0, (n.uhi // k).bit_length() - 1, False):
            return False
    return True


def learn_quotients(s: State, sym: int, n: d.Num) -> bool:
    """More is known of a number, or of what it gave when it was divided."""
    for x, (y, c, k) in list(s.quotients.items()):
        if y == sym and x in s.vars:
            lo, hi = (n.slo + c) // k, (n.shi + c) // k
            (least, most) = s.bounds(x)
            if (lo > least or hi < most) and not s.learn_of(x, d.within(s.vars[x], lo, hi)):
                return False
        if x == sym and y in s.vars and not s.within(y, n.slo * k - c, n.shi * k + k - 1 - c, False):
            return False
    return True


def surely_not_zero(s: State, v: Value) -> bool:
    """Not even where its bounds have 0 between them: a number taken as a signed one is 0 where it is, and so is the lower half of that."""
    x, c, m = s.halves.get(v.sym, (v.sym, 0, d.M32))
    y, _ = s.extended.get(x, (0, 0))
    return not v.off and not c and m == d.M32 and y in s.vars and 0 not in s.vars[y]


def sign_of(s: State, name: str, a: Value, b: Value, out: int, width: int) -> None:
    """Compilers take the size of a signed number y without a branch: m = y s>> width - 1, (y ^ m) - m."""
    if name == "ARSH":
        if not b.sym and b.off == width - 1:
            s.signs[out] = a.sym, width
        return
    for x, mask in (a, b), (b, a):
        if not b.off and s.signs.get(mask.sym) == (x.sym, width):
            s.turned[out] = x.sym, width


def magnitude(s: State, a: Value, b: Value, width: int) -> d.Num | None:
    """What a - b is if it is such a size; None: it is not."""
    made = s.turned.get(a.sym)
    if made is None or a.off or b.off or made != s.signs.get(b.sym) or made[1] != width or made[0] not in s.vars:
        return None
    n = s.vars[made[0]]
    lo, hi = (n.slo, n.shi) if width == 64 else (n.slo32, n.shi32)
    return d.unsigned(max(lo, -hi, 0), max(-lo, hi))


def learn_swapped(s: State, sym: int, n: d.Num) -> bool:
    """A number is 0 where that with its octets in the other order is, and known where that is."""
    for x, (y, size) in list(s.swapped.items()):
        if sym in (x, y):
            other = y if sym == x else x
            if other in s.vars and (n.is_const or 0 not in n) and not s.meet(other, d.byte_swap(n, size) if n.is_const else d.within(s.vars[other], 1, d.M64)):
                return False
    return True


def learn_extended(s: State, y: int, size: int, n: d.Num) -> bool:
    """What the sign of `n` says of the symbol that it was before."""
    half = 1 << size - 1
    if n.uhi32 < 1 << 31:                             # bit 31 is the sign, whether it has 32 bits or 64
        return s.within(y, max(n.slo, 0), min(n.shi, half - 1), False)
    return n.ulo32 < 1 << 31 or s.within(y, half, 2 * half - 1, False)


def resolve_halves(s: State) -> None:
    """Places that hold the low bits of what surely has the same bits above them hold that number, less those bits."""
    for x, (y, c, m) in list(s.halves.items()):
        if x not in s.vars or y not in s.vars:
            continue
        lo, hi = s.bounds(y)
        if (above := lo + c & ~m) == hi + c & ~m:
            off = c - above
            s.learn_gap(y, x, off, off)
            s.rename(x, y, off)
