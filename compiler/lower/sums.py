"""The Internet checksum's sum (RFC 1071): of values, of the headers that follow, of the payload.

Everything is summed in the packet's own byte order (RFC 1071, 2.B): loads need no swap, the result one. Of 32-bit words
two sums are kept: of whole words, modulo 2^32, and of their upper halves; the sum of the lower halves is what the second
leaves of the first. What lies at an odd octet counts with its octets exchanged (RFC 1071, 2.B); where that is not known
while lowering, it is a number kept beside the sums.
"""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.arithmetic import Arithmetic
from lpn.compiler.bits import I32, PKT, Val, i32, is_const
from lpn.compiler.layout import HeaderLayout, Unit, field_width
from lpn.compiler.target import MAX_PACKET
from lpn.lang import ast

from .instance import Instance

WORD = 4
AT_ONCE = 48                                    # octets of a header whose terms LLVM may have all before it adds them


class Sums(Arithmetic):
    """Mixed into `Lowering`."""

    divides = True                              # the target's: a division takes no longer than folding a sum

    @property
    def sum_step(self) -> int:
        """Octets of the packet in a turn, a power of two."""
        return 2 if self.target.small else 8

    def _call_inet_sum(self, e: ast.Call) -> Val:
        words, upper = i32(0), i32(0)
        numbers = [arg for arg in e.args if not (isinstance(arg, ast.Name) and arg.decl == "payload")]
        payload, since = len(numbers) < len(e.args), 0          # octets since the sums were made
        words, numbers = self.sum_lying(numbers, words)
        certain = False                         # that they are not all zero
        for arg in numbers:
            if since >= AT_ONCE:
                words, upper, since = *self.summed_here(words, upper), 0
            v = self.bits_of(arg)
            since += v.width // 8
            certain |= bool(v.const)
            words, upper = self.add_number(words, upper, v)
        if payload:
            words, upper = self.sum_payload(words, upper)
        total = self.lower_halves(words, upper)
        v = self.from_i32(16, self._swap(self.folded(total, certain), 2))
        if self.divides and v.const is None:
            self.totals[v.limbs[0]] = total, certain
        return v

    def complement(self, v: Val) -> Val:
        """What `~` makes of a number. Of a sum it is what the total's own complement, 2^32 - 1 - total, leaves modulo 2^16 - 1, which divides 2^32 - 1,
        unless the total is 0; and it is remembered whose complement this is."""
        if v.width != 16 or v.limbs[0] not in self.totals:      # of a sum that a cast made wider the upper bits are some, too
            return self.not_(v)
        total, certain = self.totals[v.limbs[0]]
        rest = self.residue(self._xor(total, i32(-1)))
        if not certain:
            rest = self.pick(self.b.icmp_unsigned("==", total, i32(0)), i32(0xFFFF), rest)
        out = self.from_i32(16, self._swap(rest, 2))
        self.complements[out.limbs[0]] = total
        return out

    def not_zero(self, v: Val) -> Val | None:
        """The complement of a sum, or 0xffff where that is 0 (RFC 768): of neither sum that is congruent to 0 it is 0. None of anything else."""
        total = self.complements.get(v.limbs[0])
        return None if total is None else self.from_i32(16, self._swap(self.b.sub(i32(0xFFFF), self.residue(total)), 2))

    def residue(self, total: ir.Value) -> ir.Value:
        """A sum modulo 2^16 - 1."""
        b = self.b
        if self.target.small:
            return b.urem(self.opaque(total, here=True), i32(0xFFFF))
        return b.urem(total, self.opaque(i32(0xFFFF), here=True))          # LLVM would multiply by a constant's reciprocal, to 64 bits

    def add_number(self, words: ir.Value, upper: ir.Value, v: Val) -> tuple[ir.Value, ir.Value]:
        """A number in network order, of whole 16-bit words."""
        for i, limb in enumerate(v.limbs):
            n = min(WORD, v.width // 8 - WORD * i)
            swapped = self._swap(limb, n)
            if n == 2 and not isinstance(swapped, ir.Constant):
                swapped = self.opaque(swapped)              # LLVM would add two of them as one 64-bit swap and shift
            words, upper = self.add_word(words, upper, swapped, n)
        return words, upper

    def add_word(self, words: ir.Value, upper: ir.Value, word: ir.Value, octets: int) -> tuple[ir.Value, ir.Value]:
        words = self.add32(words, word)
        return words, self.add32(upper, self._shr(word, 16)) if octets > 2 else upper

    def summed_here(self, words: ir.Value, upper: ir.Value) -> tuple[ir.Value, ...]:
        """The same sums, made where this stands: LLVM puts a sum's terms in an order of its own, and adds them when it has them
        all. Of a long header they are more than there is stack."""
        return tuple(x if isinstance(x, ir.Constant) else self.opaque(x, here=True, keeps=True) for x in (words, upper))

    def lower_halves(self, words: ir.Value, upper: ir.Value) -> ir.Value:
        """The two sums as one, of halves of words."""
        return words if is_const(upper, 0) else self.add32(self.b.sub(words, self._shl(upper, 16)), upper)

    def folded(self, total: ir.Value, certain: bool = False) -> ir.Value:
        """A sum of halves of words as one of 16 bits. It is congruent modulo 2^16 - 1, and 0 only where the total is: `certain` that it is not."""
        if not self.divides or is_const(total):
            return self.folded_by_shifts(total)
        folded = self.add32(self.residue(self.b.sub(total, i32(1))), i32(1))
        return folded if certain else self.pick(self.b.icmp_unsigned("==", total, i32(0)), i32(0), folded)

    def folded_by_shifts(self, total: ir.Value) -> ir.Value:
        for _ in range(2):
            total = self.add32(self._and(total, i32(0xFFFF)), self._shr(total, 16))
        return total

    # ---------------------------------------------------------------- payload

    def sum_payload(self, words: ir.Value, upper: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Adds what follows: in a header's equation the valid headers after it, and the rest of the packet."""
        later = []
        if self.this is not None and not self.this.local:
            one = self.this.inst
            later = [i for i in self.record.after(one)
                     if ((one.field, one.index), (i.field, i.index)) in self.program.summed]
        if not later:
            return self.sum_packet(self.payload_pointer(), words, upper)
        total = HeaderSum(self, words, upper)
        for one in self.each(later):
            total.header(one) if isinstance(one, Instance) else total.elements(one)
        return total.rest()

    def sum_packet(self, start: ir.Value, words: ir.Value, upper: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Adds what lies from `start` to the packet's end: `sum_step` octets a turn, then half as many as long as there are any, an odd one padded
        with zero. Loads of 16 bits need no second sum."""
        b, step = self.b, self.sum_step
        limit = self.payload_limit(start)
        ahead, total = self.alloca(PKT, "sum.ahead"), self.alloca(I32, "sum")
        b.store(self.lower_halves(words, upper), total)

        def add(p: ir.Value, first: int, octets: int) -> None:
            for k in range(first, first + octets, 2):
                with self.region("packet"):
                    half = self._load(p, k, min(2, octets))
                b.store(b.add(b.load(total, typ=I32), half), total)

        b.store(self.at(start, step), ahead)
        head, body, done = (b.append_basic_block(f"sum.{part}") for part in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        p = b.load(ahead, typ=PKT)
        self.while_payload(p, limit, body, done)
        add(p, -step, step)
        nxt, alone = self.at(p, step), self.target.small or self.parser_decl is None and not self.record_in_memory
        b.store(self.opaque(nxt) if alone else nxt, ahead)       # one place to keep, where LLVM would keep this one, too
        b.branch(head)
        b.position_at_end(done)
        q = self.alloca(PKT, "sum.at")
        b.store(self.at(self.opaque(b.load(ahead, typ=PKT)), -step), q)        # or the loop would keep both places
        while step > 1:
            step //= 2
            p = self.at(b.load(q, typ=PKT), step)
            if step == 1:                       # nothing comes behind it: one place is enough
                p = self.opaque(p)
            tail, done = b.append_basic_block("sum.tail"), b.append_basic_block("sum.end")
            self.while_payload(p, limit, tail, done)
            add(p, -step, step)
            if step > 1:
                b.store(p, q)
            b.branch(done)
            b.position_at_end(done)
        return b.load(total, typ=I32), i32(0)

    def payload_limit(self, start: ir.Value) -> ir.Value | None:
        """Where the payload ends, if that is not the packet's end."""
        if self.payload_part is not None:
            return self.opaque(self.payload_part[1])
        if self.cut_slot is None:
            return None
        return self.at(start, self.b.and_(self.opaque(self.payload_octets()), i32(2 * MAX_PACKET - 1)))

    def while_payload(self, pointer: ir.Value, limit: ir.Value | None, inside: ir.Block, outside: ir.Block) -> None:
        """Goes on inside while `pointer` is not beyond the payload."""
        b = self.b
        if limit is not None:
            more = b.append_basic_block("sum.more")
            b.cbranch(b.icmp_unsigned("<=", pointer, limit), more, outside)
            b.position_at_end(more)
        b.cbranch(b.icmp_unsigned("<=", pointer, self.end), inside, outside)
        b.position_at_end(inside)

    def sum_varbit(self, source: ir.Value, octets: ir.Value, most: int, words: ir.Value, upper: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Adds octets of the packet, at most `most`; the last word may read into the window, and is cut there."""
        b = self.b
        at, sums, uppers = self.alloca(I32, "sum.octets"), self.alloca(I32, "sum"), self.alloca(I32, "sum.upper")
        for slot, start in ((at, i32(0)), (sums, words), (uppers, upper)):
            b.store(start, slot)
        octets = self.opaque(octets)            # what LLVM knows of it, a verifier may not
        head, body, done = (b.append_basic_block(f"sum.octets.{part}") for part in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        i = b.load(at, typ=I32)
        b.cbranch(b.icmp_unsigned("<", i, octets), body, done)
        b.position_at_end(body)
        p = self.at(source, i)
        self.reject_unless(b.icmp_unsigned("<=", p, self.end), "RecordMismatch")
        word, left = self._load(p, 0, WORD), b.sub(octets, i)
        part = b.and_(word, b.sub(b.shl(i32(1), b.shl(b.and_(left, i32(3)), i32(3))), i32(1)))
        word = b.select(b.icmp_unsigned("<", left, i32(WORD)), part, word)
        b.store(b.add(b.load(sums, typ=I32), word), sums)
        b.store(b.add(b.load(uppers, typ=I32), b.lshr(word, i32(16))), uppers)
        nxt = b.add(i, i32(WORD))
        b.store(nxt, at)
        b.cbranch(b.icmp_unsigned("<", nxt, i32(most)), head, done)
        b.position_at_end(done)
        return b.load(sums, typ=I32), b.load(uppers, typ=I32)


class HeaderSum:
    """The sum while header after header is added to it. `odd`: whether an odd number of octets was added so far; None as
    long as every header had an even one."""

    def __init__(self, low: Sums, words: ir.Value, upper: ir.Value):
        self.low, self.odd = low, None
        self.words, self.upper = low.alloca(I32, "headers.sum"), low.alloca(I32, "headers.upper")
        low.b.store(words, self.words)
        low.b.store(upper, self.upper)

    def totals(self) -> tuple[ir.Value, ir.Value]:
        return self.low.b.load(self.words, typ=I32), self.low.b.load(self.upper, typ=I32)

    def keep(self, words: ir.Value, upper: ir.Value) -> None:
        self.low.b.store(words, self.words)
        self.low.b.store(upper, self.upper)

    def elements(self, f: ast.StructField) -> None:
        """Adds those of a stack that are valid, in a loop."""
        self.may_be_odd(self.low.record.by_field[f][0].layout)
        self.low.in_turns_of(f, self.header)

    def may_be_odd(self, layout: HeaderLayout) -> None:
        """A header comes that may have an odd number of octets, if it may."""
        if self.odd is None and not has_even_size(layout):
            self.odd = self.low.alloca(I32, "headers.odd")
            self.low.b.store(i32(0), self.odd)

    def header(self, inst: Instance) -> None:
        """Adds the header if it is valid."""
        b = self.low.b
        self.may_be_odd(inst.layout)
        valid, done = b.append_basic_block("sum.header"), b.append_basic_block("sum.next")
        b.cbranch(inst.valid(), valid, done)
        b.position_at_end(valid)
        if inst.lies_whole:
            self.octets(*inst.whole(), inst.layout.max_octets)
        else:
            self.parts(inst)
        b.branch(done)
        b.position_at_end(done)

    def parts(self, inst: Instance) -> None:
        """One after the other."""
        at = 0                                  # octets since the last that are not counted in `odd`
        for piece in pieces(inst):
            if not piece[0].variable:
                self.units(inst, piece, at)
                at += sum(u.octets for u in piece)
            elif self.odd is None:
                self.variable(inst, piece[0], at)
            else:
                self.count(i32(at & 1))
                at = 0
                self.variable(inst, piece[0], 0)
        if self.odd is not None:
            self.count(i32(at & 1))

    def octets(self, source: ir.Value, octets: ir.Value, most: int) -> None:
        """Of the packet, any number of them."""
        self.add(*self.low.sum_varbit(source, octets, most, i32(0), i32(0)))
        self.count(octets)

    def count(self, octets: ir.Value) -> None:
        """So many octets came, of which only the lowest bit is of interest."""
        low = self.low
        before = low.b.load(self.odd, typ=I32)
        low.b.store(low.b.xor(before, low._and(octets, i32(1))), self.odd)

    def units(self, inst: Instance, units: list[Unit], at: int) -> None:
        """Units that are always there, `at` octets after what is counted."""
        low = self.low
        words, upper = (i32(0), i32(0)) if self.odd is not None else self.totals()
        since = 0                               # octets since the sums were made
        for u in units:
            if since >= AT_ONCE:
                words, upper, since = *low.summed_here(words, upper), 0
            since += u.octets
            v = low.unit_number(inst, u)
            if u.little:                        # in the packet's order as it is
                v = low.shift(low.resize(v, v.width + 8 * (at & 1)), low.constant(32, 8 * (at & 1)), left=True)
                for i, limb in enumerate(v.limbs):
                    words, upper = low.add_word(words, upper, limb, v.width // 8 - WORD * i)
            else:
                after = 8 * (at + u.octets & 1)
                v = low.resize(v, (v.width + after + 15) // 16 * 16)
                words, upper = low.add_number(words, upper, low.shift(v, low.constant(32, after), left=True))
            at += u.octets
        self.add(words, upper, at <= 2)

    def add(self, words: ir.Value, upper: ir.Value, short: bool = False) -> None:
        """Keeps the new totals, or, of sums that may begin at an odd octet, adds them as they count there. `short`: they are of one 16-bit word."""
        low, b = self.low, self.low.b
        if self.odd is None:
            self.keep(words, upper)
            return
        total = words if short else low.folded_by_shifts(low.lower_halves(words, upper))       # header after header a division may take longer
        odd = b.icmp_unsigned("!=", b.load(self.odd, typ=I32), i32(0))
        so_far, upper = self.totals()
        self.keep(low.add32(so_far, b.select(odd, low._swap(total, 2), total)), upper)

    def variable(self, inst: Instance, u: Unit, at: int) -> None:
        """A unit that may be absent, a choice, or a varbit."""
        low, b = self.low, self.low.b
        if u.choice is not None:
            base, offset = inst.pointer(u)
            tag = inst.tag(u.choice)
            for arm in u.choice.arms:
                with b.if_then(low.eq(tag, low.constant(tag.width, arm.number))):
                    width = field_width(arm)
                    load = low.load_packet if inst.inst.in_packet else low.load
                    self.units_of(load(base, offset, width, True), at)
            return
        there, done = b.append_basic_block("sum.there"), b.append_basic_block("sum.absent")
        if u.when is None:
            b.branch(there)
        else:
            with low.this_is(inst):
                low.branch(u.when, there, done)
        b.position_at_end(there)
        if u.varbit:
            self.octets(*inst.varbit(u), u.max_octets)
        else:
            self.units(inst, [u], at)
            if self.odd is not None:
                self.count(i32(u.octets))
        b.branch(done)
        b.position_at_end(done)

    def units_of(self, v: Val, at: int) -> None:
        """Octets of the packet as a little-endian number."""
        low = self.low
        words, upper = (i32(0), i32(0)) if self.odd is not None else self.totals()
        octets = v.width // 8
        v = low.shift(low.resize(v, v.width + 8 * (at & 1)), low.constant(32, 8 * (at & 1)), left=True)
        for i, limb in enumerate(v.limbs):
            words, upper = low.add_word(words, upper, limb, v.width // 8 - WORD * i)
        self.add(words, upper, octets <= 2)
        if self.odd is not None:
            self.count(i32(octets))

    def rest(self) -> tuple[ir.Value, ir.Value]:
        """Adds what was not extracted."""
        low = self.low
        start = low.payload_pointer()
        if self.odd is None:
            return low.sum_packet(start, *self.totals())
        self.add(*low.sum_packet(start, i32(0), i32(0)))
        return self.totals()


def pieces(inst: Instance) -> list[list[Unit]]:
    """Units in order: those always there together, each other one alone."""
    out: list[list[Unit]] = []
    for u in inst.layout.units:
        if u.variable or not out or out[-1][0].variable:
            out.append([])
        out[-1].append(u)
    return out


def has_even_size(layout: HeaderLayout) -> bool:
    """Whether a header has an even number of octets whatever is there."""
    for u in layout.units:
        if u.varbit or u.when is not None and u.octets % 2:
            return False
        if u.choice is not None and any(field_width(arm) % 16 for arm in u.choice.arms):
            return False
    return sum(u.octets for u in layout.units if not u.variable) % 2 == 0
