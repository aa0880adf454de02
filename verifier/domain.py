"""What is known of a 64-bit number: known bits, unsigned and signed bounds, and the same bounds of its low 32 bits.

The abstract domain of the Linux kernel's verifier (tnum.c, struct bpf_reg_state): the product of known bits ("tnum": `bits`
where `mask` is 0) and four intervals that sharpen each other. `None` stands for the empty set: no value is
possible, the path is never taken. All operations over-approximate; tests/test_verifier_domain.py checks each on
concrete values. Nothing is left of what is known (`None`) where it is sharpened, by `meet`, `within` and comparisons. That two sets of bounds have no number in
common is not always seen at once, so arithmetic and joins may meet the empty set, too: no run comes there, and what they give is any number.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from functools import lru_cache
from weakref import WeakValueDictionary

M64, M32 = (1 << 64) - 1, (1 << 32) - 1
S64, S32 = 1 << 63, 1 << 31


def s64(x: int) -> int:
    x &= M64
    return x - (1 << 64) if x & S64 else x


def s32(x: int) -> int:
    x &= M32
    return x - (1 << 32) if x & S32 else x


CACHED = 1 << 14                                      # results remembered of each operation: programs ask the same things again


class Num:
    """A set of 64-bit values. Immutable; build with the functions below. Of the same fields there is one object: equal is identical."""
    __slots__ = ("bits", "mask", "ulo", "uhi", "slo", "shi", "ulo32", "uhi32", "slo32", "shi32", "__weakref__")

    def fields(self):
        return (self.bits, self.mask, self.ulo, self.uhi, self.slo, self.shi, self.ulo32, self.uhi32, self.slo32,
                self.shi32)

    @property
    def is_const(self) -> bool:
        return self.ulo == self.uhi

    def __contains__(self, value: int) -> bool:
        v, low = value & M64, value & M32
        return (v & ~self.mask == self.bits and self.ulo <= v <= self.uhi and self.slo <= s64(v) <= self.shi
                and self.ulo32 <= low <= self.uhi32 and self.slo32 <= s32(low) <= self.shi32)

    def __str__(self):
        if self.is_const:
            return str(self.slo)
        if self is TOP:
            return "any value"
        lo, hi = (self.slo, self.shi) if self.slo < 0 and (self.slo > -S64 or self.shi < S64 - 1) else (self.ulo, self.uhi)
        align = (self.mask & -self.mask) if self.mask else 1
        step = f", multiple of {align}" if 1 < align <= 4096 and not self.bits & (align - 1) else ""
        return f"{lo}..{_short(hi)}{step}"

    __repr__ = __str__


def _short(x: int) -> str:
    for k in (16, 31, 32, 63, 64):
        if x == (1 << k) - 1:
            return f"2^{k}-1"
    return str(x)


_KNOWN: WeakValueDictionary[tuple[int, ...], Num] = WeakValueDictionary()


def _raw(*fields: int) -> Num:
    n = _KNOWN.get(fields)
    if n is None:
        n = Num()
        (n.bits, n.mask, n.ulo, n.uhi, n.slo, n.shi, n.ulo32, n.uhi32, n.slo32, n.shi32) = fields
        _KNOWN[fields] = n
    return n


TOP = _raw(0, M64, 0, M64, -S64, S64 - 1, 0, M32, -S32, S32 - 1)


@lru_cache(maxsize=CACHED)
def _const(v: int) -> Num:
    low = v & M32
    return _raw(v, 0, v, v, s64(v), s64(v), low, low, s32(low), s32(low))


def const(value: int) -> Num:
    return _const(value & M64)


@lru_cache(maxsize=1 << 15)
def make(bits=0, mask=M64, ulo=0, uhi=M64, slo=-S64, shi=S64 - 1, ulo32=0, uhi32=M32, slo32=-S32, shi32=S32 - 1):
    """The Num with these bounds, each sharpened by the others; None if they contradict."""
    return _make(bits, mask, ulo, uhi, slo, shi, ulo32, uhi32, slo32, shi32)


@lru_cache(maxsize=CACHED)
def _make(bits, mask, ulo, uhi, slo, shi, ulo32, uhi32, slo32, shi32):
    for _ in range(3):
        before = (bits, mask, ulo, uhi, slo, shi, ulo32, uhi32, slo32, shi32)
        # bounds from known bits
        ulo, uhi = max(ulo, bits), min(uhi, bits | mask)
        slo, shi = max(slo, s64(bits | mask & S64)), min(shi, s64(bits | mask & ~S64))
        b, m = bits & M32, mask & M32
        ulo32, uhi32 = max(ulo32, b), min(uhi32, b | m)
        slo32, shi32 = max(slo32, s32(b | m & S32)), min(shi32, s32(b | m & ~S32))
        # low half from the whole
        if ulo >> 32 == uhi >> 32:
            ulo32, uhi32 = max(ulo32, ulo & M32), min(uhi32, uhi & M32)
        if slo >= -S32 and shi < S32:                 # the same number
            slo32, shi32 = slo, shi = max(slo32, slo), min(shi32, shi)
        # signed and unsigned
        if ulo32 & S32 == uhi32 & S32:
            slo32, shi32 = max(slo32, s32(ulo32)), min(shi32, s32(uhi32))
        if slo32 >= 0 or shi32 < 0:
            ulo32, uhi32 = max(ulo32, slo32 & M32), min(uhi32, shi32 & M32)
        if ulo & S64 == uhi & S64:
            slo, shi = max(slo, s64(ulo)), min(shi, s64(uhi))
        if slo >= 0 or shi < 0:
            ulo, uhi = max(ulo, slo & M64), min(uhi, shi & M64)
        if ulo > uhi or slo > shi or ulo32 > uhi32 or slo32 > shi32:
            return None
        # the whole from its low half: the bounds' own low halves must lie in [ulo32, uhi32]
        low = ulo & M32
        if low < ulo32:
            ulo = ulo - low + ulo32
        elif low > uhi32:
            ulo = ulo - low + (1 << 32) + ulo32
        low = uhi & M32
        if low > uhi32:
            uhi = uhi - low + uhi32
        elif low < ulo32:
            uhi = uhi - low - (1 << 32) + uhi32
        # known low bits: the bounds are congruent to them
        if mask:
            step = mask & -mask
            if step > 1:
                rest = bits & (step - 1)
                ulo += (rest - ulo) % step
                uhi -= (uhi - rest) % step
                slo += (rest - slo) % step
                shi -= (shi - rest) % step
        if ulo > uhi or slo > shi or uhi < 0:
            return None
        # known bits from bounds: the common prefix of both ends
        unknown = (1 << (ulo ^ uhi).bit_length()) - 1
        known = ~unknown & M64
        if (ulo ^ bits) & known & ~mask:
            return None
        bits, mask = bits | ulo & known, mask & unknown
        unknown = (1 << (ulo32 ^ uhi32).bit_length()) - 1
        known = ~unknown & M32
        if (ulo32 ^ bits) & known & ~mask:
            return None
        bits, mask = bits | ulo32 & known, mask & ~known
        if before == (bits, mask, ulo, uhi, slo, shi, ulo32, uhi32, slo32, shi32):
            break
    if ulo > uhi or slo > shi or ulo32 > uhi32 or slo32 > shi32:
        return None
    return _const(ulo) if ulo == uhi else _raw(bits, mask, ulo, uhi, slo, shi, ulo32, uhi32, slo32, shi32)


def unsigned(lo: int, hi: int) -> Num:
    return make(ulo=lo, uhi=hi)


def signed(lo: int, hi: int) -> Num:
    return make(slo=lo, shi=hi)


def hull(values: Collection[int]) -> Num:
    """What these values, of which there is one at least, have in common."""
    ones, some = M64, 0
    for v in values:
        ones, some = ones & v, some | v & M64
    signs, low, low_signs = [s64(v) for v in values], [v & M32 for v in values], [s32(v) for v in values]
    whole = [v & M64 for v in values]
    return make(ones, some & ~ones, min(whole), max(whole), min(signs), max(signs), min(low), max(low), min(low_signs), max(low_signs)) or TOP


@lru_cache(maxsize=None)
def of_size(size: int) -> Num:
    """Any value of `size` bytes, zero-extended."""
    return unsigned(0, (1 << 8 * size) - 1)


# Lattice -----------------------------------------------------------------------------------------
@lru_cache(maxsize=CACHED)
def join(a: Num, b: Num) -> Num:
    if a is b:
        return a
    mask = a.mask | b.mask | (a.bits ^ b.bits)
    return make(a.bits & ~mask, mask, min(a.ulo, b.ulo), max(a.uhi, b.uhi), min(a.slo, b.slo), max(a.shi, b.shi),
                min(a.ulo32, b.ulo32), max(a.uhi32, b.uhi32), min(a.slo32, b.slo32), max(a.shi32, b.shi32)) or TOP


@lru_cache(maxsize=CACHED)
def meet(a: Num, b: Num) -> Num | None:
    if a is b or b is TOP:
        return a
    if (a.bits ^ b.bits) & ~a.mask & ~b.mask:
        return None
    return make(a.bits | b.bits, a.mask & b.mask, max(a.ulo, b.ulo), min(a.uhi, b.uhi), max(a.slo, b.slo),
                min(a.shi, b.shi), max(a.ulo32, b.ulo32), min(a.uhi32, b.uhi32), max(a.slo32, b.slo32),
                min(a.shi32, b.shi32))


def leq(a: Num, b: Num) -> bool:
    """Every value of `a` is one of `b`."""
    return a is b or (
        not (a.mask & ~b.mask) and not (a.bits ^ b.bits) & ~b.mask and b.ulo <= a.ulo and a.uhi <= b.uhi
        and b.slo <= a.slo and a.shi <= b.shi and b.ulo32 <= a.ulo32 and a.uhi32 <= b.uhi32
        and b.slo32 <= a.slo32 and a.shi32 <= b.shi32)


def widen(old: Num, new: Num, steps: list[int]) -> Num:
    """A superset of both in which each bound that moved goes on to the next of `steps` (ascending), then to the end."""
    if leq(new, old):
        return old

    def down(before, now, end):
        if now >= before:
            return before
        at = bisect_right(steps, now)
        return steps[at - 1] if at and steps[at - 1] >= end else end

    def up(before, now, end):
        if now <= before:
            return before
        at = bisect_left(steps, now)
        return steps[at] if at < len(steps) and steps[at] <= end else end

    mask = old.mask | new.mask | (old.bits ^ new.bits)
    if mask != old.mask:                              # keep only the alignment
        mask = M64 & ~((mask & -mask) - 1)
    return make(old.bits & ~mask, mask, down(old.ulo, new.ulo, 0), up(old.uhi, new.uhi, M64),
                down(old.slo, new.slo, -S64), up(old.shi, new.shi, S64 - 1),
                down(old.ulo32, new.ulo32, 0), up(old.uhi32, new.uhi32, M32),
                down(old.slo32, new.slo32, -S32), up(old.shi32, new.shi32, S32 - 1)) or TOP


def within(a: Num, lo: int, hi: int) -> Num | None:
    """Those values of `a` that lie in lo..hi as signed numbers (the bounds may exceed 64 bits)."""
    if lo <= a.slo and a.shi <= hi:
        return a
    return make(a.bits, a.mask, a.ulo, a.uhi, max(a.slo, lo), min(a.shi, hi), a.ulo32, a.uhi32, a.slo32, a.shi32)


# Arithmetic, 64 bits -----------------------------------------------------------------------------
def _wrapped(lo: int, hi: int, width: int) -> tuple[int, int]:
    """Bounds modulo 2**width, full when the interval wraps unevenly."""
    if lo >> width == hi >> width:
        return lo & ((1 << width) - 1), hi & ((1 << width) - 1)
    return 0, (1 << width) - 1


def _signed_bounds(lo: int, hi: int, width: int) -> tuple[int, int]:
    half = 1 << (width - 1)
    turns = (lo + half) >> width
    if turns == (hi + half) >> width:
        return lo - (turns << width), hi - (turns << width)
    return -half, half - 1


def _linear(bits, mask, ulo, uhi, slo, shi, ulo32, uhi32, slo32, shi32) -> Num:
    return make(bits, mask, *_wrapped(ulo, uhi, 64), *_signed_bounds(slo, shi, 64), *_wrapped(ulo32, uhi32, 32),
                *_signed_bounds(slo32, shi32, 32)) or TOP


@lru_cache(maxsize=CACHED)
def add(a: Num, b: Num) -> Num:
    sv = a.bits + b.bits
    mu = ((a.mask + b.mask + sv) ^ sv | a.mask | b.mask) & M64
    return _linear(sv & M64 & ~mu, mu, a.ulo + b.ulo, a.uhi + b.uhi, a.slo + b.slo, a.shi + b.shi,
                   a.ulo32 + b.ulo32, a.uhi32 + b.uhi32, a.slo32 + b.slo32, a.shi32 + b.shi32)


@lru_cache(maxsize=CACHED)
def sub(a: Num, b: Num) -> Num:
    dv = (a.bits - b.bits) & M64
    mu = ((dv + a.mask) ^ (dv - b.mask) | a.mask | b.mask) & M64
    return _linear(dv & ~mu, mu, a.ulo - b.uhi, a.uhi - b.ulo, a.slo - b.shi, a.shi - b.slo,
                   a.ulo32 - b.uhi32, a.uhi32 - b.ulo32, a.slo32 - b.shi32, a.shi32 - b.slo32)


def mul(a: Num, b: Num) -> Num:
    if a.is_const and b.is_const:
        return const(a.ulo * b.ulo)
    zeros = _zeros(a) + _zeros(b)
    if zeros >= 64:
        return const(0)
    corners = [x * y for x in (a.slo, a.shi) for y in (b.slo, b.shi)]
    u = (a.ulo * b.ulo, a.uhi * b.uhi)
    u32 = (a.ulo32 * b.ulo32, a.uhi32 * b.uhi32)
    return make(0, M64 & ~((1 << zeros) - 1), *_wrapped(*u, 64), *_signed_bounds(min(corners), max(corners), 64),
                *_wrapped(*u32, 32)) or TOP


def _zeros(a: Num) -> int:
    """How many low bits are known zero."""
    live = a.bits | a.mask
    return 64 if not live else (live & -live).bit_length() - 1


def and_(a: Num, b: Num) -> Num:
    live, known = (a.bits | a.mask) & (b.bits | b.mask), a.bits & b.bits
    lo, hi = known, min(a.uhi, b.uhi)
    for n, m in (a, b), (b, a):
        if m.is_const and not (cut := (n.bits | n.mask) & ~m.bits) & cut + 1:      # only its lowest bits go: it is rounded down
            lo, hi = max(lo, n.ulo & ~cut), min(hi, n.uhi & ~cut)
    return make(known, live & ~known, lo, hi) or TOP


def or_(a: Num, b: Num) -> Num:
    if not (a.bits | a.mask) & (b.bits | b.mask):     # no bit of both: it is their sum
        return add(a, b)
    known = a.bits | b.bits
    return make(known, (a.mask | b.mask) & ~known, max(a.ulo, b.ulo), min(a.uhi + b.uhi, M64),
                ulo32=max(a.ulo32, b.ulo32), uhi32=min(a.uhi32 + b.uhi32, M32)) or TOP


def xor(a: Num, b: Num) -> Num:
    if not (a.bits | a.mask) & (b.bits | b.mask):
        return add(a, b)
    mask = a.mask | b.mask
    return make((a.bits ^ b.bits) & ~mask, mask, uhi=min(a.uhi + b.uhi, M64), uhi32=min(a.uhi32 + b.uhi32, M32)) or TOP


def lsh(a: Num, n: Num) -> Num:
    """n: a count below 64."""
    lo, hi = n.ulo, n.uhi
    bits, mask = (a.bits << lo & M64, a.mask << lo & M64) if lo == hi else (
        0, M64 & ~((1 << min(lo + _zeros(a), 64)) - 1))
    u = (a.ulo << lo, a.uhi << hi)
    s = (min(a.slo << lo, a.slo << hi), max(a.shi << lo, a.shi << hi))
    u32 = (a.ulo32 << lo, a.uhi32 << hi)
    return make(bits, mask, *(u if u[1] <= M64 else (0, M64)), *_signed_fit(s), *(u32 if u32[1] <= M32 else (0, M32))) or TOP


def _signed_fit(bounds):
    return bounds if -S64 <= bounds[0] and bounds[1] < S64 else (-S64, S64 - 1)


def rsh(a: Num, n: Num) -> Num:
    lo, hi = n.ulo, n.uhi
    bits, mask = (a.bits >> lo, a.mask >> lo) if lo == hi else (0, M64)
    return make(bits, mask, a.ulo >> hi, a.uhi >> lo) or TOP


def arsh(a: Num, n: Num) -> Num:
    lo, hi = n.ulo, n.uhi
    bits, mask = (s64(a.bits) >> lo & M64, s64(a.mask) >> lo & M64) if lo == hi else (0, M64)
    return make(bits & ~mask, mask, slo=min(a.slo >> lo, a.slo >> hi), shi=max(a.shi >> lo, a.shi >> hi)) or TOP


def div(a: Num, b: Num) -> Num:
    """Unsigned; b without zero."""
    return unsigned(a.ulo // b.uhi, a.uhi // max(b.ulo, 1))


def mod(a: Num, b: Num) -> Num:
    if a.uhi < b.ulo:
        return a
    if a.is_const and b.is_const:
        return const(a.ulo % b.ulo)
    return unsigned(0, min(a.uhi, b.uhi - 1))


def sdiv(a: Num, b: Num) -> Num:
    """Truncates towards zero (RFC 9669, 4.1); b without zero. -2^63 / -1 wraps."""
    if a.slo == -S64 and b.slo <= -1 <= b.shi:
        return TOP
    divisors = [d for d in {b.slo, b.shi, -1, 1} if b.slo <= d <= b.shi and d]
    corners = [_quotient(x, d) for x in (a.slo, a.shi) for d in divisors]
    return signed(min(corners), max(corners))


def _quotient(x: int, d: int) -> int:
    return abs(x) // abs(d) * (1 if (x < 0) == (d < 0) else -1)


def smod(a: Num, b: Num) -> Num:
    """The dividend's sign (RFC 9669, 4.1)."""
    top = max(abs(b.slo), abs(b.shi)) - 1
    return signed(max(-top, a.slo) if a.slo < 0 else 0, min(top, a.shi) if a.shi > 0 else 0)


def neg(a: Num) -> Num:
    return sub(const(0), a)


def sign_extend(a: Num, width: int) -> Num:
    """The low `width` bits as a signed number."""
    half, full = 1 << (width - 1), (1 << width) - 1
    if width <= 32 and -half <= a.slo32 and a.shi32 < half:
        lo, hi = a.slo32, a.shi32
    elif -half <= a.slo and a.shi < half:
        lo, hi = a.slo, a.shi
    else:
        lo, hi = -half, half - 1
    if a.is_const:
        low = a.ulo & full
        return const(low - (full + 1) if low & half else low)
    bits, mask = a.bits & full, a.mask & full
    high = M64 & ~full
    if mask & half:
        mask |= high
    elif bits & half:
        bits |= high
    return make(bits, mask, slo=lo, shi=hi) or signed(-half, half - 1)


def low32(a: Num) -> Num:
    """The low half, zero-extended."""
    if a.uhi <= M32:
        return a
    return make(a.bits & M32, a.mask & M32, a.ulo32, a.uhi32, 0, M32, a.ulo32, a.uhi32, a.slo32, a.shi32) or of_size(4)


def low_bits(a: Num, mask: int) -> Num:
    """Those of a mask of 2^n - 1, n <= 32."""
    a = low32(a)
    if mask == M32:
        return a
    return unsigned(a.ulo & mask, a.uhi & mask) if a.ulo & ~mask == a.uhi & ~mask else make(a.bits & mask, a.mask & mask)


def truncate(a: Num, size: int) -> Num:
    """The low `size` bytes, zero-extended."""
    if size == 8:
        return a
    if size == 4:
        return low32(a)
    full = (1 << 8 * size) - 1
    return a if a.uhi <= full else make(a.bits & full, a.mask & full)


def byte_swap(a: Num, width: int) -> Num:
    size = width // 8
    swap = lambda x: int.from_bytes((x & ((1 << width) - 1)).to_bytes(size, "little"), "big")
    return make(swap(a.bits), swap(a.mask))


_OPS = {"ADD": add, "SUB": sub, "MUL": mul, "DIV": div, "MOD": mod, "OR": or_, "AND": and_, "XOR": xor, "LSH": lsh,
        "RSH": rsh, "ARSH": arsh, "SDIV": sdiv, "SMOD": smod}


@lru_cache(maxsize=CACHED)
def alu(name: str, a: Num, b: Num, wide: bool) -> Num:
    """a OP b in 64 or 32 bits (then zero-extended). Divisors are non-zero, shift counts below the width."""
    if wide:
        return _OPS[name](a, b)
    if name in ("ADD", "SUB"):
        return low32(_OPS[name](a, b))                # the 32-bit bounds are carried along
    if name in ("SDIV", "SMOD"):
        return low32(_OPS[name](sign_extend(a, 32), sign_extend(b, 32)))
    if name == "ARSH":
        return low32(arsh(sign_extend(a, 32), low32(b)))
    return low32(_OPS[name](low32(a), low32(b)))
