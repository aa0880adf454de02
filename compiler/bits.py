"""Values of `bit<N>` while LLVM IR is built: limbs of 32 bits, least significant first.

A Cortex-M3 has 32-bit registers, so no value wider than 32 bits is ever given to LLVM as one integer (DESIGN.md, "32-bit
clean"); the few operations that need a carry or a 64-bit unit say so. Constants are folded here to keep the IR small.
"""
from __future__ import annotations

from dataclasses import dataclass

import llvmlite.ir as ir

from .spaces import PACKET_SPACE

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
PTR = ir.PointerType()
PKT = ir.PointerType(addrspace=PACKET_SPACE)     #: into the packet
MASK32 = 0xFFFFFFFF


@dataclass(frozen=True)
class Val:
    """`width` bits in ceil(width / 32) limbs of type i32; bits of the top limb above the width are zero."""

    width: int
    limbs: tuple[ir.Value, ...]

    @property
    def const(self) -> int | None:
        """The value if every limb is a constant."""
        total = 0
        for i, limb in enumerate(self.limbs):
            if not isinstance(limb, ir.Constant):
                return None
            total |= (limb.constant & MASK32) << (32 * i)
        return total


def limb_count(width: int) -> int:
    return max(1, (width + 31) // 32)


def i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value & MASK32)


def is_const(v: ir.Value, value: int | None = None) -> bool:
    return isinstance(v, ir.Constant) and (value is None or (v.constant & MASK32) == value & MASK32)


class Bits:
    """The operations on `Val` but for arithmetic, emitted through one llvmlite builder (`self.b`)."""

    b: ir.IRBuilder
    half_register: str                          # the target's
    forgetful = False                           # whether memory is read anew behind an opaque place

    # ---- 32-bit building blocks with folding

    def _and(self, x, y):
        if is_const(x) and is_const(y):
            return i32(x.constant & y.constant)
        if is_const(x):
            x, y = y, x
        if is_const(y, 0):
            return y
        if is_const(y, MASK32):
            return x
        return self.b.and_(x, y)

    def _or(self, x, y):
        if is_const(x) and is_const(y):
            return i32(x.constant | y.constant)
        if is_const(x, 0):
            return y
        if is_const(y, 0):
            return x
        return self.b.or_(x, y)

    def _xor(self, x, y):
        if is_const(x) and is_const(y):
            return i32(x.constant ^ y.constant)
        if is_const(x, 0):
            return y
        if is_const(y, 0):
            return x
        return self.b.xor(x, y)

    def _shl(self, x, n: int):
        if n == 0:
            return x
        if n >= 32:
            return i32(0)
        return i32(x.constant << n) if is_const(x) else self.b.shl(x, i32(n))

    def _shr(self, x, n: int):
        if n == 0:
            return x
        if n >= 32:
            return i32(0)
        return i32((x.constant & MASK32) >> n) if is_const(x) else self.b.lshr(x, i32(n))

    # ---- making values

    def constant(self, width: int, value: int) -> Val:
        value &= (1 << width) - 1
        return Val(width, tuple(i32(value >> (32 * i)) for i in range(limb_count(width))))

    def from_i32(self, width: int, v: ir.Value) -> Val:
        """A value of at most 32 bits whose upper bits are known to be zero."""
        return Val(width, (v,))

    def mask_top(self, width: int, limbs: list[ir.Value]) -> Val:
        """Clears the bits of the top limb above the width."""
        rest = width % 32
        limbs = limbs[: limb_count(width)]
        if rest:
            limbs[-1] = self._and(limbs[-1], i32((1 << rest) - 1))
        return Val(width, tuple(limbs))

    def bool_to_bits(self, v: ir.Value, width: int = 1) -> Val:
        x = i32(int(v.constant)) if isinstance(v, ir.Constant) else self.b.zext(v, I32)
        return self.resize(Val(1, (x,)), width)

    def resize(self, v: Val, width: int) -> Val:
        """Truncates or zero-extends."""
        if width == v.width:
            return v
        if width > v.width:
            return Val(width, v.limbs + tuple(i32(0) for _ in range(limb_count(width) - len(v.limbs))))
        return self.mask_top(width, list(v.limbs))

    def slice(self, v: Val, hi: int, lo: int) -> Val:
        width = hi - lo + 1
        out = []
        for j in range(limb_count(width)):
            k, s = divmod(lo + 32 * j, 32)
            x = self._shr(v.limbs[k], s)
            if s and k + 1 < len(v.limbs) and width - 32 * j > 32 - s:
                x = self._or(x, self._shl(v.limbs[k + 1], 32 - s))
            out.append(x)
        if hi == v.width - 1:
            return Val(width, tuple(out))
        return self.mask_top(width, out)

    def concat(self, *parts: Val) -> Val:
        """`a ++ b ++ c`: the first is the most significant."""
        width = sum(p.width for p in parts)
        out: list[ir.Value] = [i32(0)] * limb_count(width)
        at = 0
        for part in reversed(parts):
            for i, limb in enumerate(part.limbs):
                k, s = divmod(at + 32 * i, 32)
                out[k] = self._or(out[k], self._shl(limb, s))
                if s and min(32, part.width - 32 * i) > 32 - s:
                    out[k + 1] = self._or(out[k + 1], self._shr(limb, 32 - s))
            at += part.width
        return Val(width, tuple(out))

    # ---- bitwise

    def and_(self, a: Val, c: Val) -> Val:
        return Val(a.width, tuple(self._and(x, y) for x, y in zip(a.limbs, c.limbs)))

    def or_(self, a: Val, c: Val) -> Val:
        return Val(a.width, tuple(self._or(x, y) for x, y in zip(a.limbs, c.limbs)))

    def xor(self, a: Val, c: Val) -> Val:
        return Val(a.width, tuple(self._xor(x, y) for x, y in zip(a.limbs, c.limbs)))

    def not_(self, a: Val) -> Val:
        return self.xor(a, self.constant(a.width, -1))

    def ne_zero(self, a: Val) -> ir.Value:
        return self.lnot(self.eq(a, self.constant(a.width, 0)))

    def opaque(self, v: ir.Value, here: bool = False, keeps: bool = False) -> ir.Value:
        """The same value, of which LLVM knows nothing: it would drop the mask of a shift whose result is not used, and no
        verifier could know that. `here`: it is not moved to where more is known either; `keeps`: what was read from memory
        before it stays known all the same."""
        result = self.b.asm(ir.FunctionType(v.type, [v.type]), "", self.half_register if v.type == I32 else "=r,0", [v], side_effect=here)
        if not self.forgetful and (keeps or not here):
            set.add(result.attributes, "readnone")
            if self.target.small:
                set.add(result.attributes, "willreturn")    # or what nobody asks for stays
        return result

    # ---- comparison (i1)

    def bool_const(self, v: bool) -> ir.Constant:
        return ir.Constant(I1, int(v))

    def eq(self, a: Val, c: Val) -> ir.Value:
        if a.const is not None and c.const is not None:
            return self.bool_const(a.const == c.const)
        if len(a.limbs) == 1:
            return self.b.icmp_unsigned("==", a.limbs[0], c.limbs[0])
        acc = None
        for x, y in zip(a.limbs, c.limbs):
            d = self._xor(x, y)
            acc = d if acc is None else self._or(acc, d)
        return self.b.icmp_unsigned("==", acc, i32(0))

    def less(self, a: Val, c: Val, or_equal: bool = False, signed: bool = False) -> ir.Value:
        if signed:
            flip = self.constant(a.width, 1 << (a.width - 1))
            a, c = self.xor(a, flip), self.xor(c, flip)
        if a.const is not None and c.const is not None:
            return self.bool_const(a.const <= c.const if or_equal else a.const < c.const)
        r = None
        for x, y in zip(a.limbs, c.limbs):
            if r is None:
                r = self.b.icmp_unsigned("<=" if or_equal else "<", x, y)
            else:
                r = self.b.or_(self.b.icmp_unsigned("<", x, y), self.b.and_(self.b.icmp_unsigned("==", x, y), r))
        return r

    def select(self, cond: ir.Value, a: Val, c: Val) -> Val:
        return Val(a.width, tuple(x if x is y else self.b.select(cond, x, y) for x, y in zip(a.limbs, c.limbs)))

    # ---- i1 logic with folding

    def land(self, x: ir.Value, y: ir.Value) -> ir.Value:
        if isinstance(x, ir.Constant):
            return y if x.constant else x
        if isinstance(y, ir.Constant):
            return x if y.constant else y
        return self.b.and_(x, y)

    def lor(self, x: ir.Value, y: ir.Value) -> ir.Value:
        if isinstance(x, ir.Constant):
            return x if x.constant else y
        if isinstance(y, ir.Constant):
            return y if y.constant else x
        return self.b.or_(x, y)

    def lnot(self, x: ir.Value) -> ir.Value:
        if isinstance(x, ir.Constant):
            return self.bool_const(not x.constant)
        return self.b.not_(x)

    # ---- memory: `width` a multiple of 8; no alignment is promised (every engine and the M3 allow 2 and 4 bytes)

    def at(self, base: ir.Value, offset: int | ir.Value) -> ir.Value:
        if isinstance(offset, int):
            if offset == 0:
                return base
            offset = ir.Constant(I64, offset)
        elif offset.type == I32:
            offset = self.b.zext(offset, I64)
        return self.b.gep(base, [offset], source_etype=I8)

    def _load(self, base, offset: int, size: int) -> ir.Value:
        ty = {1: I8, 2: I16, 4: I32}[size]
        v = self.reached(self.b.load(self.at(base, offset), typ=ty, align=size))
        return v if size == 4 else self.b.zext(v, I32)

    def _store(self, base, offset: int, size: int, v: ir.Value) -> None:
        ty = {1: I8, 2: I16, 4: I32}[size]
        if size != 4:
            v = ir.Constant(ty, v.constant & ((1 << 8 * size) - 1)) if is_const(v) else self.b.trunc(v, ty)
        self.reached(self.b.store(v, self.at(base, offset), align=size))

    def _swap(self, v: ir.Value, size: int) -> ir.Value:
        if size == 1:
            return v
        if is_const(v):
            return i32(int.from_bytes((v.constant & ((1 << 8 * size) - 1)).to_bytes(size, "little"), "big"))
        if size == 2:
            return self.b.zext(self.b.bswap(self.b.trunc(v, I16)), I32)
        return self.b.bswap(v)

    def reached(self, access: ir.Instruction) -> ir.Instruction:
        """Says of a load or store which memory it reaches, where that is known."""
        return access

    def load(self, base: ir.Value, offset: int, width: int, little: bool = False) -> Val:
        """The number in `width` / 8 octets at base + offset, in network or little-endian order."""
        size, limbs = width // 8, []
        for j in range(limb_count(width)):
            n = min(4, size - 4 * j)
            first = offset + (4 * j if little else size - 4 * j - n)
            if n == 3:                          # never beyond the field
                if little:
                    limb = self._or(self._load(base, first, 2), self._shl(self._load(base, first + 2, 1), 16))
                else:
                    limb = self._or(self._shl(self._load(base, first, 1), 16),
                                    self._swap(self._load(base, first + 1, 2), 2))
            else:
                limb = self._load(base, first, n)
                if not little:
                    limb = self._swap(limb, n)
            limbs.append(limb)
        return Val(width, tuple(limbs))

    def store(self, base: ir.Value, offset: int, v: Val, little: bool = False) -> None:
        size = v.width // 8
        for j, limb in enumerate(v.limbs):
            n = min(4, size - 4 * j)
            first = offset + (4 * j if little else size - 4 * j - n)
            if n == 3:
                if little:
                    self._store(base, first, 2, limb)
                    self._store(base, first + 2, 1, self._shr(limb, 16))
                else:
                    self._store(base, first, 1, self._shr(limb, 16))
                    self._store(base, first + 1, 2, self._swap(self._and(limb, i32(0xFFFF)), 2))
            else:
                self._store(base, first, n, limb if little else self._swap(limb, n))
