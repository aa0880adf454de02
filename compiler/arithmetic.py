"""Arithmetic of `bit<N>` while LLVM IR is built: sums, products and shifts of limbs; quotients are in quotients.py."""
from __future__ import annotations

import llvmlite.ir as ir

from .bits import I32, MASK32, Bits, Val, i32


class Arithmetic(Bits):
    """With carries."""

    def sign_extend(self, v: Val, width: int) -> Val:
        if width <= v.width:
            return self.resize(v, width)
        sign = 1 << (v.width - 1)
        wide = self.resize(v, width)
        flip = self.constant(width, sign)
        return self.sub(self.xor(wide, flip), flip)

    def add(self, a: Val, c: Val) -> Val:
        if a.const is not None and c.const is not None:
            return self.constant(a.width, a.const + c.const)
        if c.const == 0:
            return a
        if a.const == 0:
            return c
        if a.width <= 32:
            return self.mask_top(a.width, [self.b.add(a.limbs[0], c.limbs[0])])
        out, carry = [], None
        for x, y in zip(a.limbs, c.limbs):
            s = self.b.add(x, y)
            over = self.b.icmp_unsigned("<", s, x)
            if carry is not None:
                t = self.b.add(s, carry)
                over = self.b.or_(over, self.b.icmp_unsigned("<", t, s))
                s = t
            carry = self.b.zext(over, I32)
            out.append(s)
        return self.mask_top(a.width, out)

    def neg(self, a: Val) -> Val:
        return self.sub(self.constant(a.width, 0), a)

    def sub(self, a: Val, c: Val) -> Val:
        if a.const is not None and c.const is not None:
            return self.constant(a.width, a.const - c.const)
        if c.const == 0:
            return a
        if a.width <= 32:
            return self.mask_top(a.width, [self.b.sub(a.limbs[0], c.limbs[0])])
        out, borrow = [], None
        for x, y in zip(a.limbs, c.limbs):
            d = self.b.sub(x, y)
            under = self.b.icmp_unsigned("<", x, y)
            if borrow is not None:
                t = self.b.sub(d, borrow)
                under = self.b.or_(under, self.b.icmp_unsigned("<", d, borrow))
                d = t
            borrow = self.b.zext(under, I32)
            out.append(d)
        return self.mask_top(a.width, out)

    def mul(self, a: Val, c: Val) -> Val:
        if a.const is not None and c.const is not None:
            return self.constant(a.width, a.const * c.const)
        if a.width <= 32:
            return self.mask_top(a.width, [self.b.mul(a.limbs[0], c.limbs[0])])
        b, (x, x_high), (y, y_high) = self.b, a.limbs, c.limbs
        high = self.product_high(x, y)
        for one, other in (x, y_high), (x_high, y):
            high = b.add(high, b.mul(one, other))
        return self.mask_top(a.width, [b.mul(x, y), high])

    def product_high(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The upper half of a product of two limbs, in 32 bits: of the halves' products none, and no sum made here, is larger."""
        b = self.b
        half, ones = i32(16), i32(0xFFFF)
        if isinstance(x, ir.Constant):
            x, y = y, x
        low, high = b.and_(x, ones), b.lshr(x, half)
        if isinstance(y, ir.Constant) and 0 <= y.constant <= 0xFFFF:
            return b.lshr(b.add(b.mul(high, y), b.lshr(b.mul(low, y), half)), half)
        y_low, y_high = b.and_(y, ones), b.lshr(y, half)
        middle = self.opaque(b.add(b.lshr(b.mul(low, y_low), half), b.mul(high, y_low)))     # or LLVM makes one product of 64 bits of all
        other = b.add(b.and_(middle, ones), b.mul(low, y_high))
        return b.add(b.add(b.mul(high, y_high), b.lshr(middle, half)), b.lshr(other, half))

    def shift(self, a: Val, c: Val, left: bool) -> Val:
        """By a constant of any size, or by a run-time amount for at most 64 bits; amounts of the width or more give 0."""
        n = c.const
        if n is not None:
            if n >= a.width:
                return self.constant(a.width, 0)
            if n == 0:
                return a
            if left:
                return self.concat(self.slice(a, a.width - 1 - n, 0), self.constant(n, 0))
            return self.resize(self.slice(a, a.width - 1, n), a.width)
        b = self.b
        amount = c.limbs[0]
        for extra in c.limbs[1:]:
            amount = b.or_(amount, b.select(b.icmp_unsigned("!=", extra, i32(0)), i32(MASK32), i32(0)))
        inside = b.icmp_unsigned("<", amount, i32(a.width))
        if a.width <= 32:
            safe = self.below_32(amount)
            r = b.shl(a.limbs[0], safe) if left else b.lshr(a.limbs[0], safe)
            return self.mask_top(a.width, [b.select(inside, r, i32(0))])
        return self.shift_pair(a, amount, inside, left)

    def shift_pair(self, a: Val, amount: ir.Value, inside: ir.Value, left: bool) -> Val:
        """33 to 64 bits by a run-time amount, in 32-bit registers: the limb that moves towards the other one, what it hands
        over, and for amounts of 32 or more the limbs change places."""
        b = self.b
        near, far = a.limbs if left else a.limbs[::-1]          # bits move from `near` to `far`
        n = self.below_32(amount)
        move, back = (b.shl, b.lshr) if left else (b.lshr, b.shl)
        handed = move(near, n)
        if a.const == (1 << 64) - 1:            # a mask: what leaves is what comes in
            taken = far
        else:
            rest = b.and_(b.xor(n, i32(31)), i32(31))
            taken = b.or_(move(far, n), back(back(near, i32(1)), rest))
        across = b.icmp_unsigned("!=", b.and_(amount, i32(32)), i32(0))
        taken = b.select(across, handed, taken)
        handed = b.select(across, i32(0), handed)
        taken, handed = (b.select(inside, x, i32(0)) for x in (taken, handed))
        return self.mask_top(a.width, [handed, taken] if left else [taken, handed])

    def below_32(self, amount: ir.Value) -> ir.Value:
        """A number modulo 32. The mask stays where LLVM knows that it changes nothing: what it knows it from a verifier may not see."""
        mask = i32(31)
        if isinstance(amount, ir.Instruction) and amount.opname == "and" and isinstance(amount.operands[1], ir.Constant) \
                and amount.operands[1].constant < 32:
            amount, mask = amount.operands
        return self.b.and_(self.opaque(amount), mask)

    # ---- signed numbers

    def sign(self, a: Val) -> Val:
        """All ones where `a` is negative as a signed number, else 0."""
        top = a.width - 32 * (len(a.limbs) - 1)
        if a.const is not None:
            return self.constant(a.width, -(a.const >> a.width - 1))
        ones = self.b.ashr(self.b.shl(a.limbs[-1], i32(32 - top)), i32(31))
        return self.mask_top(a.width, [ones] * len(a.limbs))

    def magnitude(self, a: Val) -> tuple[Val, Val]:
        """(|a|, sign)."""
        s = self.sign(a)
        return self.sub(self.xor(a, s), s), s

    def shift_signed(self, a: Val, c: Val) -> Val:
        """To the right; the sign comes in: what is shifted is the complement of a negative number."""
        s = self.sign(a)
        return self.xor(self.shift(self.xor(a, s), c, left=False), s)

    def saturate(self, a: Val, c: Val, subtract: bool, signed: bool) -> Val:
        """`|+|` and `|-|`."""
        r = self.sub(a, c) if subtract else self.add(a, c)
        if not signed:
            over = self.less(a, c) if subtract else self.less(r, a)
            return self.select(over, self.constant(a.width, 0 if subtract else -1), r)
        # beyond the range: the operands' signs say that the result has a's, and it does not
        one = self.xor(a, c)
        over = self.and_(one if subtract else self.not_(one), self.xor(a, r))
        end = self.xor(self.constant(a.width, (1 << a.width - 1) - 1), self.sign(a))
        return self.select(self.ne_zero(self.sign(over)), end, r)
