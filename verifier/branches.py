"""What is learnt where a branch is taken, and where it is not."""
from __future__ import annotations

from itertools import permutations
from math import gcd

from ..compiler import isa
from ..compiler.isa import Instruction
from . import affine, comparisons, domain as d, summands
from .memory import OFFSET_LIMIT, Memory, spread
from .state import LEN, LOW_HALF, NULLABLE, NUMBER, POINTER, State, Value, number

EQUAL = ("JEQ", "JNE", "JSET")
FAR = 1 << 40                                         # a length's bound, before it is compared; with it a name is of a number of 64 bits


class Branches(Memory):
    """The part of the machine that compares. The rest is in transfer.py."""

    def branch(self, s: State, slot: int, insn: Instruction) -> list[State | None]:
        """[state when not taken, state when taken]; None where that cannot be. Consumes `s`."""
        self.culprit = None
        name, wide = isa.JMP_NAMES[insn.code], insn.is_wide
        a, b = self.read(s, insn.dst, slot), self.operand(s, insn, slot)
        if a is None or b is None:
            return [s, s.copy()]
        kinds = {a.kind, b.kind}
        if kinds == {NUMBER}:
            if wide:
                self._clean_comparison(s, slot, name, a, b)
            if self.patient and a.sym and not b.sym and name not in EQUAL:
                self.compared.setdefault(a.sym, set()).add(b.off - a.off)
            if self.patient and a.sym and b.sym and a.sym != b.sym and name in ("JEQ", "JNE"):
                (p, n), (q, m) = sorted(((a.sym, a.off), (b.sym, b.off)))
                self.equated.setdefault((p, q), set()).add(n - m)
            self._name_sum(s, slot, a, b)
            self._name_sum(s, slot, b, a)
            if s.products:
                for sym in (a.sym, b.sym):
                    affine.line_up_parts(s, sym)
            taken = s.copy()
            ways = [s if self._compare_numbers(s, comparisons.NEGATED[name], a, b, wide) else None,
                    taken if self._compare_numbers(taken, name, a, b, wide) else None]
            if a.sym and b.sym:
                for way in ways:
                    if way is not None:               # of a number of 64 bits only the comparison says that there is such a place
                        self._name_sum(way, slot, a, b)
                        self._name_sum(way, slot, b, a)
                    if way is not None and (way.lines or self.patient):
                        self._name_multiples(way, slot, a.sym, b.sym)
            return ways
        zero = not (b.sym or b.off) and name in ("JEQ", "JNE") and b.kind == NUMBER
        if zero and not wide and a.kind in (POINTER, LOW_HALF) and self.profile.target == "xdp":    # of addresses that are loaded as 32 bits clang asks these
            return [s, s.copy()]                      # for NULL; they may be 0
        zero = zero and wide
        if kinds == {NULLABLE, NUMBER} and zero:
            other = s.copy()
            self._resolve(s, a, name != "JEQ")        # not taken: the opposite
            self._resolve(other, a, name == "JEQ")
            return [s, other]
        if kinds == {POINTER, NUMBER} and zero:
            if a.region in self.regions and self.regions[a.region].size == 0:
                return [s, s.copy()]                  # nothing says where an empty region lies
            return [s, None] if name == "JEQ" else [None, s]
        alike = not wide and kinds <= {POINTER, LOW_HALF} and name in ("JEQ", "JNE")      # no two pointers of a region are 2^32 bytes apart
        if (kinds == {POINTER} and wide or alike) and self.of_one(a, b) and name in ("JEQ", "JNE", "JLT", "JLE", "JGT", "JGE"):
            for v in (a, b):
                lo, hi = s.offsets(v)
                if lo < -OFFSET_LIMIT or hi > OFFSET_LIMIT:
                    self.fail(23, slot, f"a pointer to {v.named} at offset {spread(lo, hi)} is compared", "bound it first")
            taken = s.copy()
            return [s if self._compare(s, comparisons.NEGATED[name], a, b) else None,
                    taken if self._compare(taken, name, a, b) else None]
        if kinds == {POINTER} and not self.of_one(a, b):
            detail = f"pointers to {a.named} and {b.named} are compared"
            example = f"the outcome depends on where {a.named} and {b.named} lie in memory" if a.region != b.region else f"a helper may have found each {a.named} elsewhere"
        elif NULLABLE in kinds:
            self.fail(26, slot, "a pointer that may be null is compared with something else", "compare it with 0 first")
            return [s, s.copy()]
        else:
            detail = f"a {a.kind} is compared with a {b.kind}" + ("" if wide else " in 32 bits")
            example = f"the outcome depends on where {a.named or b.named or 'memory'} lies in memory"
        self.fail(24, slot, detail, "compare pointers of one region in 64 bits, or numbers", example)
        return [s, s.copy()]

    def _name_sum(self, s: State, slot: int, left: Value, length: Value) -> None:
        """Where a length is compared with what is left of the packet behind a cursor, the place that far behind the cursor is compared with the end."""
        cursor, end, _ = s.defs.get(left.sym, (0, left.sym, 0))
        if end != LEN or not length.sym or cursor and summands.sum_of(s, cursor, length.sym):
            return
        affine.line_up(s, length.sym)
        if not cursor:
            return
        (lo, hi), (least, most) = s.bounds(cursor), s.bounds(length.sym)
        if -FAR < least and most < FAR:
            self.relate_sum(s, self.fresh_symbol(s, slot, d.signed(lo + least, hi + most)), Value(POINTER, "pkt", cursor, 0), Value(NUMBER, None, length.sym, 0))

    def _name_multiples(self, s: State, slot: int, *compared: int) -> None:
        """Where a number is at most what a length was divided into, as many parts of it are in the packet: the place behind them has a name from now on.
        If there is patience, so has the one behind as many octets, where the number is at most the length of something in the packet."""
        for n, q in permutations(compared):
            if self.patient and q in s.added and n not in s.added and summands.ends_within_packet(s, q) and s.gap(q, n)[1] <= 0 <= s.bounds(n)[0]:
                self.part_of(s, slot, n, q)
            if s.lines and s.bounds(n)[0] >= 0:
                for whole, k in affine.divided_into(s, q, n):
                    least, most = affine.times(k, s.vars[n], 0)
                    if most < FAR and not affine.multiples(s, n, k):
                        part = self.fresh_symbol(s, slot, d.signed(least, most))
                        s.products[part] = n, k, 0
                        self.part_of(s, slot, part, whole)

    def _clean_comparison(self, s: State, slot: int, name: str, a: Value, b: Value) -> None:
        limit = d.M32 >> 1 if name.startswith("JS") and name != "JSET" else d.M32
        if s.num(a).uhi > limit or s.num(b).uhi > limit:
            self.unclean(slot)

    def _resolve(self, s: State, v: Value, null: bool) -> None:
        def known(x):
            if x is None or x.kind != NULLABLE or x.sym != v.sym:
                return x
            return number(0) if null else Value(POINTER, x.region, 0, 0)
        s.regs = [known(x) for x in s.regs]
        for f in s.frames:
            f.saved = tuple(known(x) for x in f.saved)
            f.slots = {off: (size, known(x)) for off, (size, x) in f.slots.items()}

    def _compare_numbers(self, s: State, name: str, a: Value, b: Value, wide: bool) -> bool:
        """Learn that `a NAME b`; False if it cannot be."""
        na, nb = s.num(a), s.num(b)
        both = comparisons.refine(name, na, nb, wide)
        if both is None or not s.learn(a, both[0]) or not s.learn(b, both[1]):
            return False
        if not (a.sym and b.sym) or name in ("JSET", "JNSET"):
            return True
        na, nb = s.num(a), s.num(b)                   # where a number is no lower half of another one, what the comparison has left of it
        if wide and name in ("JSLT", "JSLE", "JSGT", "JSGE", "JEQ", "JNE"):
            exact = True
        elif wide:
            exact = na.slo >= 0 and nb.slo >= 0 or na.shi < 0 and nb.shi < 0
        else:
            top = d.M32 >> 1 if name.startswith("JS") else d.M32
            exact = na.uhi <= top and nb.uhi <= top
        return self._compare(s, name, a, b) if exact else True

    def _compare(self, s: State, name: str, a: Value, b: Value) -> bool:
        """Learn `a NAME b` of two mathematical integers."""
        lo, hi = self.difference(s, a, b)             # b - a
        (ma, ra), (mb, rb) = s.stride(a), s.stride(b)
        m, r = gcd(ma, mb), rb - ra
        if m:
            lo, hi = lo + (r - lo) % m, hi - (hi - r) % m
        name = name.replace("JS", "J")
        if name == "JEQ":
            lo, hi = max(lo, 0), min(hi, 0)
        elif name == "JLT":
            lo = max(lo, 1)
        elif name == "JLE":
            lo = max(lo, 0)
        elif name == "JGT":
            hi = min(hi, -1)
        elif name == "JGE":
            hi = min(hi, 0)
        elif name == "JNE":
            lo, hi = lo + (lo == 0), hi - (hi == 0)
        if m:
            lo, hi = lo + (r - lo) % m, hi - (hi - r) % m
        if lo > hi:
            return False
        shift = a.off - b.off
        return s.learn_gap(a.sym, b.sym, lo + shift, hi + shift) and summands.learn_sums(s, a.sym, b.sym) and (not s.lines or affine.along(s, a.sym, b.sym))
