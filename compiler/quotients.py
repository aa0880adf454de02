"""Quotients and remainders of `bit<N>` while LLVM IR is built, in 32-bit registers but for divisors of more than 32 bits: longer dividends are
divided digit by digit, as on paper."""
from __future__ import annotations

from functools import lru_cache

import llvmlite.ir as ir

from .arithmetic import Arithmetic
from .bits import I32, I64, MASK32, Val, i32

HALF = 16                                       # bits of a digit
DIGITS = (1 << HALF) - 1


@lru_cache
def factors(n: int) -> list[int] | None:
    """Numbers of at most 16 bits whose product is n; None if there are none."""
    out, p = [1], 2
    while n > 1 and p <= DIGITS:
        if n % p == 0:
            n, out = n // p, [*out[:-1], out[-1] * p] if out[-1] * p <= DIGITS else [*out, p]
        else:
            p = p + 1 if p * p <= n else max(n, p + 1)
    return out if n == 1 else None


class Quotients(Arithmetic):
    """Division and what is left. By zero gives 0, the remainder then is the dividend (RFC 9669, 4.1)."""

    def divide(self, a: Val, c: Val, remainder: bool) -> Val:
        """Unsigned."""
        b, known = self.b, c.const
        if a.const is not None and known:
            return self.constant(a.width, a.const % known if remainder else a.const // known)
        if known and not known & known - 1:
            return self.and_(a, self.constant(a.width, known - 1)) if remainder else self.shift(a, self.constant(32, known.bit_length() - 1), left=False)
        if known and a.width > 32 and (parts := factors(known)) is not None:
            return self.by_parts(a, known, parts, remainder)
        half = a.width <= 32 or isinstance(c.limbs[1], ir.Constant) and c.limbs[1].constant == 0
        x, y, zero = a.limbs[0] if half else self.to_i64(a), c.limbs[0] if half else self.to_i64(c), None
        if not known:
            y = self.opaque(y, here=True)       # as an array's index, see `array_cell`; here, or LLVM knows it from comparisons before
            zero = b.icmp_unsigned("==", y, ir.Constant(y.type, 0))
            y = self.opaque(b.select(zero, ir.Constant(y.type, 1), y), here=True)
        if a.width <= 32:
            r = Val(a.width, (b.urem(x, y) if remainder else b.udiv(x, y),))
        elif half:
            r = self.by_half(a, y, remainder)
        else:
            r = self.from_i64(a.width, b.urem(x, y) if remainder else b.udiv(x, y))
        return r if zero is None else self.select(zero, a if remainder else self.constant(a.width, 0), r)

    def divide_signed(self, a: Val, c: Val, remainder: bool) -> Val:
        """Truncates; the remainder has the dividend's sign. By zero as for unsigned numbers."""
        (x, s), (y, t) = self.magnitude(a), self.magnitude(c)
        r = self.divide(x, y, remainder)
        s = s if remainder else self.xor(s, t)
        return self.sub(self.xor(r, s), s)

    def by_parts(self, a: Val, c: int, parts: list[int], remainder: bool) -> Val:
        """33 to 64 bits by a constant, one factor after the other. With what is left, one digit more is a number of 32 bits."""
        b, q = self.b, self.words(a)
        for part in parts:
            y = i32(part)
            digits = [b.udiv(q.limbs[1], y)]
            left = b.sub(q.limbs[1], b.mul(digits[0], y))
            for digit in b.lshr(q.limbs[0], i32(HALF)), b.and_(q.limbs[0], i32(DIGITS)):
                x = b.or_(b.shl(left, i32(HALF)), digit)
                digits.append(b.udiv(x, y))
                left = b.sub(x, b.mul(digits[-1], y))
            q = Val(a.width, (b.or_(b.shl(digits[1], i32(HALF)), digits[2]), digits[0]))
        if not remainder:
            return q
        return Val(a.width, (left, i32(0))) if parts == [c] else self.sub(a, self.mul(q, self.constant(a.width, c)))

    def by_half(self, a: Val, y: ir.Value, remainder: bool) -> Val:
        """33 to 64 bits by 1 to 32, not zero: as Knuth has it (The Art of Computer Programming, volume 2, 4.3.1, algorithm D), for a divisor whose highest
        bit is set, so that a digit guessed of its upper half is at most 2 too large."""
        b = self.b
        low, top = self.words(a).limbs
        if isinstance(y, ir.Constant):
            known = y.constant & MASK32
            n, d = i32(32 - known.bit_length()), i32(known << 32 - known.bit_length())
        else:
            n, d = i32(0), y                    # how far the divisor is shifted
            for step in (16, 8, 4, 2, 1):
                small = b.icmp_unsigned("<", d, i32(1 << 32 - step))
                n, d = b.select(small, b.add(n, i32(step)), n), b.select(small, b.shl(d, i32(step)), d)
        high = b.udiv(top, y)
        left = b.sub(top, b.mul(high, y))
        n = self.below_32(n)
        left = b.or_(b.shl(left, n), b.lshr(b.lshr(low, i32(1)), self.below_32(b.xor(n, i32(31)))))
        low = b.shl(low, n)
        rest = self.opaque(b.and_(b.lshr(d, i32(HALF)), i32(DIGITS >> 1)))            # its highest bit is set, which no verifier would see
        upper, lower, digits = b.add(rest, i32(1 << HALF - 1)), b.and_(d, i32(DIGITS)), []
        for digit in b.lshr(low, i32(HALF)), b.and_(low, i32(DIGITS)):
            q = b.udiv(left, upper)
            rest = b.sub(left, b.mul(q, upper))
            for _ in range(2):
                large = b.or_(b.icmp_unsigned(">", q, i32(DIGITS)), b.icmp_unsigned(">", b.mul(q, lower), b.or_(b.shl(rest, i32(HALF)), digit)))
                large = b.and_(large, b.icmp_unsigned("<=", rest, i32(DIGITS)))
                q, rest = b.select(large, b.sub(q, i32(1)), q), b.select(large, b.add(rest, upper), rest)
            left = b.sub(b.or_(b.shl(left, i32(HALF)), digit), b.mul(q, d))
            digits.append(q)
        if remainder:
            return Val(a.width, (b.lshr(left, n), i32(0)))
        return self.mask_top(a.width, [b.or_(b.shl(digits[0], i32(HALF)), digits[1]), high])

    def words(self, a: Val) -> Val:
        """The same, and it does not matter what it was made by: if by a swap, LLVM would shift 64 bits."""
        return Val(a.width, (self.opaque(a.limbs[0]), a.limbs[1]))

    # ---- in one register of 64 bits

    def to_i64(self, v: Val) -> ir.Value:
        if v.const is not None:
            return ir.Constant(I64, v.const)
        low = self.b.zext(v.limbs[0], I64)
        if len(v.limbs) == 1:
            return low
        return self.b.or_(low, self.b.shl(self.b.zext(v.limbs[1], I64), ir.Constant(I64, 32)))

    def from_i64(self, width: int, x: ir.Value) -> Val:
        limbs = [self.b.trunc(x, I32)]
        if width > 32:
            limbs.append(self.b.trunc(self.b.lshr(x, ir.Constant(I64, 32)), I32))
        return self.mask_top(width, limbs)
