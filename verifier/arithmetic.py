"""What arithmetic does: of numbers, and of pointers and bounded numbers."""
from __future__ import annotations

from ..compiler import isa
from ..compiler.isa import ALU_NAMES, Instruction
from . import affine, chains, derived, domain as d, summands
from .affine import MAX_LINES
from .memory import OFFSET_LIMIT, Memory, sample, spread
from .state import COMPLEMENT, LEN, LOW_COMPLEMENT, LOW_HALF, NULLABLE, NUMBER, POINTER, State, Value, number

SLO, SHI = -(1 << 63), (1 << 63) - 1
MAKING = {"AND", "LSH", "RSH", "DIV", "MUL"}           # of whose results is kept how they were made

HALVING = ("RSH", 1), ("DIV", 2)


class Arithmetic(Memory):
    """The part of the machine that computes. The rest is in transfer.py."""

    def alu(self, s: State, slot: int, insn: Instruction) -> Value | None:
        name, wide = ALU_NAMES[insn.code], insn.is_wide
        if name == "MOV":
            return self.move(s, slot, insn)
        a = self.read(s, insn.dst, slot)
        if name in ("NEG", "END"):
            if a is None:
                return None
            if a.kind != NUMBER:
                self.fail(23, slot, f"r{insn.dst} holds a {a.kind}, which has no {name}", "add or subtract a bounded number")
                return None
            n = s.num(a)
            if name == "NEG":
                return self.subtract(s, slot, number(0), a, wide)
            if insn.cls == isa.ALU and not insn.uses_reg:  # to little endian: the hosts are
                return self.narrow(s, a, insn.imm // 8, slot)
            out = self.fresh(s, slot, d.byte_swap(n, insn.imm))
            if out.sym and a.sym and not a.off and insn.imm < 64 and n.uhi >> insn.imm == 0:
                s.swapped[out.sym] = a.sym, insn.imm
            return out
        b = self.operand(s, insn, slot)
        if a is None or b is None:
            return None
        if insn.off == 1:
            name = "S" + name
        if a.kind != NUMBER or b.kind != NUMBER:
            return self.pointer_alu(s, slot, name, a, b, wide)
        return self.number_alu(s, slot, insn, name, a, b, wide)

    def move(self, s: State, slot: int, insn: Instruction) -> Value | None:
        v = self.operand(s, insn, slot)
        if v is None or not insn.uses_reg:
            return v
        if insn.off:
            if v.kind != NUMBER:
                self.fail(24, slot, f"r{insn.src} holds a {v.kind}, which cannot be sign-extended", "keep the whole pointer")
                return None
            return self.sign_extended(s, slot, v, insn.off, insn.is_wide)
        if insn.is_wide:
            if self.profile.target == "femto" and v.kind == NUMBER and s.num(v).uhi > d.M32:
                self.fail(11, slot, f"this engine moves 32 bits only, r{insn.src} may hold {s.num(v)}", "clear the upper half first",
                          f"when r{insn.src} is {sample(s.num(v), 1 << 32)}, r{insn.dst} becomes {sample(s.num(v), 1 << 32) & d.M32}")
            return v
        if v.kind == NUMBER:
            return self.narrow(s, v, 4, slot)
        if v.kind in (POINTER, LOW_HALF):             # clang subtracts pointers in 32 bits
            return v._replace(kind=LOW_HALF)
        self.fail(24, slot, f"r{insn.src} holds a {v.kind}, which cannot be truncated", "compare it with 0 first")
        return None

    def number_alu(self, s: State, slot: int, insn: Instruction, name: str, a: Value, b: Value, wide: bool) -> Value | None:
        na, nb, reg = s.num(a), s.num(b), f"r{insn.src}"
        if name == "ADD":
            return self.addition(s, slot, a, b, wide)
        if name == "SUB":
            return self.subtract(s, slot, a, b, wide)
        if name in ("DIV", "MOD", "SDIV", "SMOD"):
            nb = nb if wide else d.low32(nb)
            if 0 in nb and not derived.surely_not_zero(s, b):
                whole = s.num(b)
                upper = next((x for x in (1 << 32, 1 << 63) if not wide and b.sym and 0 not in whole and x in whole), 0)
                self.fail(28, slot, f"the divisor may be 0, it is {nb}",
                          ("compare its lower half with 0 first" if upper else "compare it with 0 first"),
                          f"when {reg} is {upper:#x}, its lower half, the divisor, is 0" if upper
                           else f"when {reg} is 0, this divides by it" if b.sym else "this divides by 0 in every run")
            if 0 in nb and nb.slo >= 0:
                nb = d.within(nb, 1, SHI) or d.const(1)
            limit = d.M32 >> 1 if name[0] == "S" else d.M32
            if wide and max(na.uhi, nb.uhi) > limit:
                self.unclean(slot)
            if name[0] == "S" and (min(na.slo, nb.slo) if wide else min(na.slo32, nb.slo32)) >= 0:
                name = name[1:]                       # of two that are not negative it is the same
        elif name in ("LSH", "RSH", "ARSH"):
            nb, width = (nb, 64) if wide else (d.low32(nb), 32)
            if nb.uhi >= width:
                self.fail(29, slot, f"the shift count is {nb}, which may be {width} or more", f"mask it with {width - 1} or compare it",
                          f"when {reg} is {sample(nb, width)}, engines disagree about the result" if b.sym else "engines disagree about the result")
                return self.fresh(s, slot, d.TOP if wide else d.of_size(4))
            if nb.is_const and nb.ulo == 0 and (wide or na.uhi <= d.M32):
                return a
            if wide and (nb.uhi > 31 or name == "ARSH" and na.uhi > d.M32 >> 1 or name == "RSH" and na.uhi > d.M32):
                self.unclean(slot)
            if nb.is_const and nb.ulo and (wide or na.uhi <= d.M32) and (extended := self.shift_back(s, slot, name, a, width - nb.ulo, wide)) is not None:
                return extended
        elif name == "AND" and nb.is_const and not (na.bits | na.mask) & ~(mask := nb.ulo if wide else nb.ulo & d.M32):
            return a                                  # the mask removes nothing
        elif name in ("OR", "XOR") and nb.is_const and nb.ulo == 0 and (wide or na.uhi <= d.M32):
            return a
        elif name == "XOR" and a.sym and nb.is_const and nb.ulo == (d.M64 if wide else d.M32) and (wide or na.uhi <= d.M32):
            ones = number(nb.ulo)                     # less the number: so compilers take 1 and another one off together, `len - 1 - x` is `len + ~x`
            return self._exact(s, slot, ones, a, d.alu("XOR", na, nb, wide), *self.difference(s, a, ones), True)
        elif name == "OR" and wide and nb.is_const and not nb.ulo & d.M32 and na.bits & nb.ulo == nb.ulo:
            return a                                  # it has these bits
        elif name in ("OR", "XOR") and not (na.bits | na.mask) & (nb.bits | nb.mask) & (d.M64 if wide else d.M32):
            return self.addition(s, slot, a, b, wide) # no bit of both: nothing is carried
        if name in ("MUL", "LSH") and a.sym and nb.is_const and (known := self.known_multiple(s, a, nb.ulo if name == "MUL" else 1 << nb.ulo, SHI if wide else d.M32)):
            return known
        if name == "AND" and a.sym and nb.is_const and (again := derived.made_before(s, *derived.bits_in(s, a.sym, a.off, 0, mask))):
            return Value(NUMBER, None, again, 0)
        if self.patient and name in ("AND", "MOD") and nb.is_const and (rest := self.rest(s, slot, a, mask + 1 if name == "AND" else nb.ulo, SHI if wide else d.M32, name == "AND")):
            return rest
        out = self.fresh(s, slot, d.alu(name, na, nb, wide))
        if name == "ARSH" and self.patient and (na.slo if wide else na.slo32) >= 0 and na.uhi <= (SHI if wide else d.M32):
            name = "RSH"                              # of what is not negative it is the same
        if out.sym and a.sym and name in MAKING:
            self.made_of(s, slot, name, a, b, out.sym, wide)
        if name == "LSH" and out.sym and b.sym and not b.off and (wide or s.num(b).uhi <= d.M32) and na.is_const and 0 < na.ulo << nb.uhi <= (SHI if wide else d.M32):
            s.powers[out.sym] = b.sym, na.ulo
        if name in ("ARSH", "XOR") and out.sym and a.sym and not a.off:
            derived.sign_of(s, name, a, b, out.sym, 64 if wide else 32)
        if self.patient and out.sym:
            self.below(s, name, a, b, out.sym, SHI if wide else d.M32)
        return out

    def below(self, s: State, name: str, a: Value, b: Value, out: int, limit: int) -> None:
        """A part of a number is below it, and what is left below what divided it, if neither is above the limit."""
        n, by = s.num(a), s.num(b)
        if max(n.uhi, by.uhi) > limit:
            return
        k = 0 if not by.is_const else by.ulo if name == "DIV" else 1 << by.ulo if name == "RSH" else 0
        if k and a.sym:
            s.learn_gap(a.sym, out, a.off + n.uhi // k - n.uhi, a.off + n.ulo // k - n.ulo)
            whole, unit = s.rounded.get(a.sym, (0, 0))          # where bits were cut off first that the division loses, too
            if unit and k % unit == 0 and not a.off and whole in s.vars:
                n = s.vars[whole]
                s.learn_gap(whole, out, n.uhi // k - n.uhi, n.ulo // k - n.ulo)
        elif name == "MOD" and b.sym:
            s.learn_gap(b.sym, out, b.off - by.uhi, b.off - 1)
        elif name == "AND" and a.sym and by.is_const and (cut := (n.bits | n.mask) & ~by.ulo) and not cut & cut + 1:      # rounded down
            least, most = remainder(s, a, cut + 1)
            s.learn_gap(a.sym, out, a.off - most, a.off - least)

    def rest(self, s: State, slot: int, a: Value, k: int, limit: int, masked: bool) -> Value | None:
        """What is left of a number by `k` is how far it is behind a multiple of `k`, where one is known to lie so near before it."""
        if not a.sym or k < 2 or masked and k & k - 1 or s.num(a).uhi > limit:
            return None
        for pair in [pair for pair in s.diff if a.sym in pair]:
            other = pair[pair[0] == a.sym]
            m, r = s.stride(Value(NUMBER, None, other, 0))
            lo, hi = self.difference(s, Value(NUMBER, None, other, 0), a)
            before = lo - (lo + r) % k                # so many behind the other one
            if m % k == 0 and hi - before < k:
                return self._exact(s, slot, a, Value(NUMBER, None, other, before), d.unsigned(0, k - 1), lo - before, hi - before, True)
        return None

    def made_of(self, s: State, slot: int, name: str, a: Value, b: Value, out: int, wide: bool) -> None:
        """What is kept of how a number was made of another one."""
        n, by, width, limit = s.num(a), s.num(b), *((64, SHI) if wide else (32, d.M32))
        counter = self.node.loop is not None and not a.off    # which a turn changes otherwise than by a constant; see shrinking.py
        if not by.is_const:
            if name == "AND" and self.node.loop is not None and a.sym == b.sym and {a.off, b.off} == {0, -1} and max(n.uhi, by.uhi) <= limit:
                s.cleared[out] = a.sym, 1
            return
        k = by.ulo if wide else by.ulo & d.M32
        if name == "AND":
            if k < d.M32 and not k & k + 1:
                self.keep_low(s, out, a, k)
            if not a.off and (k & k + 1 or k > d.M32 or a.sym in s.masked):
                y, _, low, mask = derived.bits_in(s, a.sym, 0, 0, k)
                s.masked[out] = y, low, mask
            if n.uhi <= limit and (cut := (n.bits | n.mask) & ~k) and not cut & cut + 1:
                if not a.off:
                    self.keep_high(s, out, a.sym, cut + 1)
                if summands.ends_within_packet(s, a.sym):
                    least, most = remainder(s, a, cut + 1)
                    self.rounded_down(s, slot, a.sym, out, a.off - most, a.off - least)
        elif name == "LSH":
            s.shifted[out] = a, width - k, wide
            if counter and k and n.uhi << k <= limit:
                s.scaled[out] = a.sym, -k
        elif name == "RSH" and k and (wide or n.uhi <= d.M32):
            if counter:
                y, unit = s.rounded.get(a.sym, (a.sym, 0))    # where the low bits were cut off first
                s.scaled[out] = y if 1 << k >= unit else a.sym, k
            if not a.off:
                y, _, low, mask = derived.bits_in(s, a.sym, 0, k, d.M64 >> k)
                s.masked[out] = y, low, mask
        if (name == "DIV" and k > 1 or name == "RSH" and k and self.patient) and (counter or self.patient) and n.uhi <= limit:
            s.quotients[out] = a.sym, a.off, k if name == "DIV" else 1 << k
        if (name, k) in HALVING and n.uhi <= limit:
            total, unit = s.rounded.get(a.sym, (a.sym, 0)) if not a.off else (a.sym, 0)     # where the lowest bit was cut off first
            summands.halfway(s, out, total if unit <= 2 else a.sym, a.off)
        if name in ("MUL", "LSH", "DIV", "RSH") and k and n.uhi <= limit:
            self.multiple(s, slot, name in ("MUL", "LSH"), a, k if name in ("MUL", "DIV") else 1 << k, out, limit)

    def multiple(self, s: State, slot: int, more: bool, a: Value, k: int, out: int, limit: int) -> None:
        """`out` is `k` times `a`, if that is not above the limit; or, if not `more`, a `k`th of it, rounded down."""
        if k == 1:
            return
        if more:
            if s.masked and s.lines:
                self.divided_before(s, slot, limit)
            if s.num(a).uhi * k <= limit:
                s.products[out] = a.sym, k, k * a.off
                if k & k - 1:                         # else the bits known say it
                    s.strides[out] = k, 0
                affine.subdivide(s, out, a.sym, k, k * a.off)
                for whole in [whole for q in s.lines and {q for _, q in s.lines} for whole, slope in affine.divided_into(s, q, a.sym) if slope == k]:
                    self.part_of(s, slot, out, whole)
            return
        least, most = remainder(s, a, k)
        for m, slope, c in [(a.sym, 1, 0), *[(m, slope, c) for (m, y), (base, slope, c) in s.lines.items() if y == a.sym and not base and slope > 0]]:
            lo, hi = s.bounds(out)
            if summands.ends_within_packet(s, m) and len(s.lines) < MAX_LINES and slope * k * hi <= SHI:      # so many whole parts of it are in the packet, too
                whole = self.fresh_symbol(s, slot, d.signed(slope * k * lo, slope * k * hi) or d.TOP, 1)
                s.lines[whole, out] = 0, slope * k, 0
                self.rounded_down(s, slot, m, whole, slope * (a.off - most) - c, slope * (a.off - least) - c)
                return

    def divided_before(self, s: State, slot: int, limit: int) -> None:
        """What was divided before a multiple of it was compared with the packet's end: of the quotient as many whole parts are in the packet."""
        on = {y for _, y in s.lines}
        for q, y, low in derived.quotients(s):
            if y in on and q not in on and s.vars[y].uhi <= limit:
                self.multiple(s, slot, False, Value(NUMBER, None, y, 0), 1 << low, q, limit)

    def known_multiple(self, s: State, a: Value, k: int, limit: int) -> Value | None:
        """`k` times `a`, if it has a name and is not above the limit."""
        if not (s.lines or s.products) or k < 2 or s.num(a).uhi * k > limit:
            return None
        for x, c in affine.multiples(s, a.sym, k):
            s.strides.setdefault(x, (k, c % k))
            return Value(NUMBER, None, x, k * a.off - c)
        return None

    def part_of(self, s: State, slot: int, part: int, whole: int) -> None:
        """The product `part` is at most `whole`, which lies behind a cursor: so is the place as far behind it."""
        affine.line_up(s, part)
        cursor = summands.cursor_before(s, whole)
        if cursor is not None and part not in s.added:
            (lo, hi), (least, most) = s.bounds(cursor), s.bounds(part)
            if (places := d.signed(lo + least, hi + most)) is not None:
                self.relate_sum(s, self.fresh_symbol(s, slot, places, 1), Value(POINTER, "pkt", cursor, 0), Value(NUMBER, None, part, 0))

    def rounded_down(self, s: State, slot: int, x: int, whole: int, lo: int, hi: int) -> None:
        """`whole` is x + lo..hi. What lies that far behind a cursor lies as far from what is `x` behind it."""
        s.learn_gap(x, whole, lo, hi)
        if (cursor := summands.cursor_before(s, x)) is not None:
            there = self.fresh_symbol(s, slot, d.add(s.vars[cursor], s.vars[whole]), 2)
            self.relate_sum(s, there, Value(POINTER, "pkt", cursor, 0), Value(NUMBER, None, whole, 0))

    def shift_back(self, s: State, slot: int, name: str, a: Value, size: int, wide: bool) -> Value | None:
        """Code without 32-bit arithmetic, or without sign extension, extends the low `size` bits by shifting them up and down; None if it is not that."""
        origin, bits, same = s.shifted.get(a.sym, (None, 0, False)) if name != "LSH" else (None, 0, False)
        unit = 1 << (64 if wide else 32) - size
        if origin is None or (bits, same) != (size, wide) or origin.sym and origin.sym not in s.vars or a.off % unit:
            return None
        if a.off:                                     # of what is that much more
            origin = origin._replace(off=origin.off + a.off // unit)
            if s.offsets(origin)[0] < SLO or s.offsets(origin)[1] > SHI:
                return None
        if name == "ARSH":
            return self.sign_extended(s, slot, origin, size, wide)
        if size == 32:
            return self.narrow(s, origin, 4, slot)
        return origin if s.num(origin).uhi >> size == 0 else None

    def sign_extended(self, s: State, slot: int, v: Value, size: int, wide: bool) -> Value:
        """The low `size` bits as a signed number, of 64 bits if `wide`, else of 32 that are extended by zeros."""
        known = s.num(v)
        n = d.sign_extend(known, size)
        if n == known:
            return v if wide or known.uhi <= d.M32 else self.fresh(s, slot, d.low32(n))
        if known.ulo >> size - 1 == known.uhi >> size - 1 == 1 and v.sym:      # surely negative
            return v._replace(off=v.off - (1 << size) + (0 if wide else 1 << 32))
        out = self.fresh(s, slot, n if wide else d.low32(n))
        if out.sym and v.sym and not v.off and size <= 32 and known.uhi >> size == 0:
            s.extended[out.sym] = v.sym, size
        return out

    def unclean(self, slot: int) -> None:
        """The instruction needs more than 32 bits of a register."""
        if self.checking:
            self.wide_slots.add(slot)

    def addition(self, s: State, slot: int, a: Value, b: Value, wide: bool) -> Value:
        if not a.sym:
            a, b = b, a
        na, nb = s.num(a), s.num(b)
        n = d.alu("ADD", na, nb, wide)
        if not b.sym:
            # symbol + constant, as long as no wrap separates it from the number
            if wide and SLO <= na.slo + b.off and na.shi + b.off <= SHI and abs(a.off + b.off) < 1 << 62:
                return a._replace(off=a.off + b.off)
            off = d.s32(b.off)
            if not wide and na.uhi <= d.M32 and 0 <= na.ulo + off and na.uhi + off <= d.M32:
                return a._replace(off=a.off + off)
            out = self.fresh(s, slot, n)
            if out.sym and a.sym and not wide:
                s.halves[out.sym] = a.sym, a.off + off & d.M32, d.M32
            return out
        if (less := self.less(s, slot, a, b, n, wide)) is not None:
            return less
        exact = SLO <= na.slo + nb.slo and na.shi + nb.shi <= SHI if wide else na.uhi + nb.uhi <= d.M32
        if exact and self.patient and (known_sum := summands.sum_of(s, a.sym, b.sym)):
            return Value(NUMBER, None, known_sum[0], a.off + b.off + known_sum[1])
        out = self.fresh(s, slot, n)
        if out.sym and exact:
            self.relate_sum(s, out.sym, a, b)
        return out

    def less(self, s: State, slot: int, a: Value, b: Value, n: d.Num, wide: bool) -> Value | None:
        """Their sum, where one is a constant less an unknown: the other one, less that; None if it is not that. `n`: what is known of it."""
        for x, y in (a, b), (b, a):
            v, w, c = s.defs.get(y.sym) or next(((v, base, c) for (z, v), (base, k, c) in s.lines.items() if z == y.sym and k == -1 and not base and v in s.vars), (0, LEN, 0))
            if w or not x.sym:
                continue
            off = x.off + y.off + c
            more, taken = x._replace(off=off if wide else d.s32(off)), Value(NUMBER, None, v, 0)
            lo, hi = self.difference(s, taken, more)
            if (SLO <= lo and hi <= SHI) if wide else (0 <= lo and hi <= d.M32):      # modulo 2^32 no more is asked
                return self._exact(s, slot, more, taken, n, lo, hi, True)
        return None

    def relate_sum(self, s: State, sym: int, a: Value, b: Value) -> None:
        """sym = a + b, exactly. From another sum of one of the two it is as far as the other one is from what was added there. A name is of a number
        of 64 bits: of a sum that may be none nothing is said."""
        (alo, ahi), (blo, bhi) = s.offsets(a), s.offsets(b)
        if alo + blo < SLO or ahi + bhi > SHI:
            return
        s.learn_gap(a.sym, sym, blo + a.off, bhi + a.off)
        s.learn_gap(b.sym, sym, alo + b.off, ahi + b.off)
        moved = a.off + b.off
        for mine, other in (a.sym, b.sym), (b.sym, a.sym):
            for theirs, w, c in summands.sums_with(s, mine):
                lo, hi = s.gap(theirs, other)
                s.learn_gap(w, sym, lo + moved + c, hi + moved + c)
        summands.note(s, b.sym, a.sym, sym, -moved)
        for x, t in list(s.defs.items()):
            if t[0] in (a.sym, b.sym):
                summands.define(s, x, *t)

    def subtract(self, s: State, slot: int, a: Value, b: Value, wide: bool) -> Value:
        if not b.sym:
            return self.addition(s, slot, a, number(-b.off), wide)
        if (size := derived.magnitude(s, a, b, 64 if wide else 32)) is not None:
            return self.fresh(s, slot, size)
        na, nb = s.num(a), s.num(b)
        n = d.alu("SUB", na, nb, wide)
        lo, hi = self.difference(s, b, a)
        if not wide and -d.M32 <= lo and hi < 0 and na.uhi <= d.M32 and nb.uhi <= d.M32:     # it surely goes through 0
            around = d.M32 + 1
            return self._exact(s, slot, a._replace(off=a.off + around), b, n, lo + around, hi + around, True)
        small = na.uhi <= d.M32 and nb.uhi <= d.M32
        out = self._exact(s, slot, a, b, n, lo, hi, wide and SLO <= lo and hi <= SHI or 0 <= lo and hi <= d.M32 and small)
        if self.patient and not wide and small and (lo < 0 or hi > d.M32) and out.sym:      # a comparison behind it may say that it has not gone through 0
            whole = self.fresh_symbol(s, slot, d.signed(lo, hi) or d.TOP, 1)
            summands.define(s, whole, b.sym, a.sym, a.off - b.off)
            s.halves[out.sym] = whole, 0, d.M32
        return out

    def difference(self, s: State, a: Value, b: Value) -> tuple[int, int]:
        """Bounds of b - a."""
        if self.patient:
            self.effort += (len(s.defs) + len(s.added)) // chains.A_STEP
            lo, hi = chains.gap(s, a.sym, b.sym)
        else:
            lo, hi = s.gap(a.sym, b.sym)
        return lo + b.off - a.off, hi + b.off - a.off

    def _exact(self, s: State, slot: int, a: Value, b: Value, n: d.Num, lo: int, hi: int, exact: bool) -> Value:
        """a - b, which lies in lo..hi if `exact`; `n` is what is known without."""
        if not exact:
            return self.fresh(s, slot, n)
        n = d.within(n, lo, hi) or n
        if a.sym == b.sym:
            return number(a.off - b.off)
        if not b.sym:
            return Value(NUMBER, None, a.sym, a.off - b.off)
        out = self.fresh(s, slot, n)
        if out.sym:
            summands.define(s, out.sym, b.sym, a.sym, a.off - b.off)
            if self.patient or summands.ends_within_packet(s, a.sym):
                lo, hi = s.bounds(b.sym)
                s.learn_gap(out.sym, a.sym, lo - a.off + b.off, hi - a.off + b.off)
        return out

    # Pointers ------------------------------------------------------------------------------------
    def pointer_alu(self, s: State, slot: int, name: str, a: Value, b: Value, wide: bool) -> Value | None:
        kinds = {a.kind, b.kind}
        if NULLABLE in kinds:
            self.fail(26, slot, "arithmetic on a pointer that may be null", "compare it with 0 first",
                      "when the helper finds nothing, the pointer is 0, and a small number afterwards")
            return None
        if wide and name == "XOR" and a.kind == POINTER and b == number(-1):
            return a._replace(kind=COMPLEMENT)
        if not wide and name == "XOR" and a.kind in (POINTER, LOW_HALF) and b == number(d.M32):
            return a._replace(kind=LOW_COMPLEMENT)
        if COMPLEMENT in kinds or LOW_COMPLEMENT in kinds:
            if name != "ADD" or (kinds != {COMPLEMENT, POINTER} if wide else not kinds & {POINTER, LOW_HALF}) or not self.of_one(a, b):
                begin = a if a.kind in (COMPLEMENT, LOW_COMPLEMENT) else b
                self.fail(23, slot, f"{name} of a {begin.kind}", f"add a pointer of the same region to it, in {64 if begin.kind == COMPLEMENT else 32} bits",
                          f"the result would show where {begin.named} lies")
                return None
            begin, end = (a, b) if a.kind in (COMPLEMENT, LOW_COMPLEMENT) else (b, a)
            if not wide:
                return self.pointer_difference(s, slot, end, begin._replace(off=begin.off + 1), wide)
            return self.addition(s, slot, self.pointer_difference(s, slot, end, begin, wide), number(-1), wide)
        if name == "SUB" and NUMBER not in kinds:
            if not self.of_one(a, b):
                self.fail(24, slot, f"pointers to {a.named} and {b.named} are subtracted", "subtract pointers of one region",
                          f"the result depends on where {a.named} and {b.named} lie in memory" if a.region != b.region else f"a helper may have found each {a.named} elsewhere")
                return None
            if wide and LOW_HALF not in kinds or not wide:
                return self.pointer_difference(s, slot, a, b, wide)
        if not wide or LOW_HALF in kinds:
            half = a if a.kind == LOW_HALF else b
            other = b if half is a else a
            if not wide and name in ("ADD", "SUB") and half.kind == LOW_HALF and other.kind == NUMBER and (half is a or name == "ADD"):
                if not other.sym:
                    off = d.s32(other.off)
                    return half._replace(off=half.off + (off if name == "ADD" else -off))
                if s.num(other).uhi <= OFFSET_LIMIT:  # modulo 2^32 it is the half of the pointer that many further
                    moved = self.move_pointer(s, slot, name, half._replace(kind=POINTER), other)
                    return moved and moved._replace(kind=LOW_HALF)
            self.fail(24, slot, "32-bit arithmetic truncates a pointer", "only the difference of two pointers may be taken in 32 bits",
                      f"the result depends on where {a.named or b.named} lies in memory")
            return None
        if name == "OR" and wide and POINTER in kinds and self.disjoint(s, a, b):
            name = "ADD"
        if name not in ("ADD", "SUB") or (name == "ADD" and a.kind == b.kind) or (name == "SUB" and b.kind == POINTER):
            self.fail(23, slot, f"{name} is no operation on a pointer", "add or subtract a bounded number" if name != "OR" else
                      "add a bounded number, or align the pointer above all bits of the number",
                      f"the result would point anywhere, or show where {(a if a.kind == POINTER else b).named} lies")
            return None
        pointer, n = (a, b) if a.kind == POINTER else (b, a)
        return self.move_pointer(s, slot, name, pointer, n)

    def disjoint(self, s: State, a: Value, b: Value) -> bool:
        """A number of which all bits lie below those of a pointer's address: where that is aligned compilers make an OR of the sum."""
        pointer, n = (a, b) if a.kind == POINTER else (b, a)
        at, low = s.num(pointer), s.num(n)
        some = low.bits | low.mask
        return n.kind == NUMBER and some < self._base(pointer) and not some & (at.bits | at.mask)

    def move_pointer(self, s: State, slot: int, name: str, p: Value, n: Value) -> Value | None:
        if p.region == "ctx" and n.sym:
            self.fail(21, slot, "a variable number is added to the context pointer", "read each slot at its own offset")
            return None
        (plo, phi), (nlo, nhi) = s.offsets(p), s.offsets(n)
        lo, hi = (plo + nlo, phi + nhi) if name == "ADD" else (plo - nhi, phi - nlo)
        if lo < -OFFSET_LIMIT or hi > OFFSET_LIMIT:
            known = s.num(n)
            if nhi > d.M32 and known.uhi32 <= OFFSET_LIMIT:
                self.fail(30, slot, f"only the low 32 bits of the number added to the pointer are bounded: {known.ulo32}..{known.uhi32}",
                          "clear the upper half after the comparison",
                          f"when the number is {(big := known.ulo32 | 1 << 32):#x}, its lower half is {known.ulo32}, and the pointer moves by {big}"
                          if (known.ulo32 | 1 << 32) in known else "")
            if nlo == nhi and 0 < abs(nlo) <= OFFSET_LIMIT and phi - plo > 1 << 40 and self.node.loop is not None:     # no turn of it says how far the pointer is
                self.fail(23, slot, f"the pointer to {p.named} moves by {nlo} in every turn, and nothing bounds how far",
                          f"compare it with {'pkt_end' if p.region == 'pkt' else 'its end'} in every turn, or how often the loop turns with what is left",
                          f"after {OFFSET_LIMIT // abs(nlo) + 1:,} turns it is more than {OFFSET_LIMIT:,} bytes from where {p.named} begins")
            else:
                self.fail(23, slot, f"the pointer to {p.named} would move to offset {spread(lo, hi)}: the number is {known}",
                          "bound it first", _moves(known, lo, hi, p.named))
            if nhi - nlo > 1 << 40 or phi - plo > 1 << 40:
                return None
        if name == "ADD" and (not n.sym or not p.sym):
            if p.region == "pkt":
                affine.line_up(s, n.sym)
            return Value(POINTER, p.region, p.sym or n.sym, p.off + n.off)
        if name == "SUB" and not n.sym:
            return p._replace(off=p.off - n.off)
        if name == "SUB" and n.sym == p.sym:
            return Value(POINTER, p.region, 0, p.off - n.off)
        if name == "ADD" and (known_sum := summands.sum_of(s, p.sym, n.sym)):
            there, c = known_sum
            return Value(POINTER, p.region, there, p.off + n.off + c)
        if name == "ADD" and p.region == "pkt":
            affine.line_up(s, n.sym)
        bounds = d.signed(lo, hi) or d.TOP
        known = d.add(s.num(p), s.num(n)) if name == "ADD" else d.sub(s.num(p), s.num(n))
        known = d.meet(bounds, known) or bounds
        sym = self.fresh_symbol(s, slot, known)
        if name == "ADD":
            self.relate_sum(s, sym, p, n)
        else:
            s.learn_gap(p.sym, sym, p.off - nhi, p.off - nlo)
            summands.note(s, n.sym, sym, p.sym, p.off - n.off)
        return Value(POINTER, p.region, sym, 0)

    def pointer_difference(self, s: State, slot: int, a: Value, b: Value, wide: bool) -> Value:
        lo, hi = self.difference(s, b, a)
        if wide:
            return self._exact(s, slot, a, b, d.signed(lo, hi) or d.TOP, lo, hi, True)
        if 0 <= lo and hi <= d.M32:
            return self._exact(s, slot, a, b, d.unsigned(lo, hi) or d.of_size(4), lo, hi, True)
        return self.fresh(s, slot, d.of_size(4))


def remainder(s: State, v: Value, k: int) -> tuple[int, int]:
    """Bounds of what is left of a number when it is divided by `k`."""
    m, r = s.stride(v)
    return (r % k, r % k) if m % k == 0 else (0, k - 1)


def _moves(n: d.Num, lo: int, hi: int, region: str) -> str:
    """An example of a number that takes a pointer too far, of which lo..hi would be the offsets."""
    far = next((x for x in ((n.shi, hi) if hi > OFFSET_LIMIT else (n.slo, lo)) if abs(x) < 1 << 63 and x & d.M64 in n), None)
    return f"when the number is {far}, the pointer is more than {OFFSET_LIMIT:,} bytes from where {region} begins" if far is not None else ""
