"""Mistakes a verifier could have, put into ours: each must be found by the soundness run. Name -> what it changes.

A fault is a function of pytest's `monkeypatch`. They are of the kinds that verifiers had: an end off by one, a carry forgotten, 32-bit
facts taken for 64-bit ones, a join that keeps one side, a clobber or a stale copy overlooked, a bound on time too low.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lpn.verifier import affine, arithmetic, comparisons, derived, domain as d, fixpoint, loops, memory, shrinking, state, transfer

verify = sys.modules["lpn.verifier.verify"]           # the module; the package has a function of that name
FAULTS = {}


def fault(function):
    FAULTS[function.__name__] = function
    return function


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The verifier with this mistake; what was remembered before does not hide it, and what it left is not believed behind it."""
    forget()
    with pytest.MonkeyPatch.context() as patch:
        FAULTS[name](patch)
        yield
    forget()


def forget() -> None:
    """What the verifier's functions remember."""
    for module in [module for name, module in sys.modules.items() if name.startswith("lpn.verifier")]:
        for thing in list(vars(module).values()):
            if hasattr(thing, "cache_clear"):
                thing.cache_clear()


def _op(patch, name, wrong):
    patch.setitem(d._OPS, name, wrong)


def _unproven(patch):
    """The last pass, which would catch a mistake of the search, looks at the rules only."""
    check = fixpoint.Fixpoint.check

    def wrong(self):
        with patch.context() as during:
            during.setattr(fixpoint, "leq", lambda a, b, local=None: None)
            check(self)
    patch.setattr(fixpoint.Fixpoint, "check", wrong)


def _changed(n, **changes):
    """The number with other bounds; itself if they contradict."""
    return comparisons._with(n, **changes) or n


# Numbers -------------------------------------------------------------------------------------------
@fault
def addition_forgets_the_second_bound(patch):
    add = d.add
    _op(patch, "ADD", lambda a, b: _changed(add(a, b), uhi=max(a.uhi, b.uhi)))


@fault
def addition_forgets_the_carry(patch):
    add = d.add
    _op(patch, "ADD", lambda a, b: d.make((a.bits + b.bits) & d.M64 & ~(a.mask | b.mask), a.mask | b.mask) or add(a, b))


@fault
def subtraction_takes_the_wrong_end(patch):
    sub = d.sub
    _op(patch, "SUB", lambda a, b: _changed(sub(a, b), shi=max(a.shi - b.shi, sub(a, b).slo)) if abs(a.shi) < 1 << 40 > abs(b.shi) else sub(a, b))


@fault
def multiplication_does_not_wrap(patch):
    mul = d.mul
    _op(patch, "MUL", lambda a, b: _changed(mul(a, b), uhi=min(d.M64, a.uhi * b.ulo)) if b.ulo else mul(a, b))


@fault
def and_is_below_the_first_only_strictly(patch):
    and_ = d.and_
    _op(patch, "AND", lambda a, b: _changed(and_(a, b), uhi=max(min(a.uhi, b.uhi) - 1, 0)))


@fault
def or_is_at_most_the_greater(patch):
    or_ = d.or_
    _op(patch, "OR", lambda a, b: _changed(or_(a, b), uhi=max(a.uhi, b.uhi)))


@fault
def xor_keeps_bits(patch):
    _op(patch, "XOR", lambda a, b: d.make(a.bits & ~b.mask, a.mask | b.mask))


@fault
def right_shift_by_the_greatest_count(patch):
    _op(patch, "RSH", lambda a, n: d.make(ulo=a.ulo >> n.uhi, uhi=a.uhi >> n.uhi))


@fault
def left_shift_by_the_least_count(patch):
    lsh = d.lsh
    _op(patch, "LSH", lambda a, n: lsh(a, d.const(n.ulo)))


@fault
def arithmetic_shift_without_sign(patch):
    _op(patch, "ARSH", d.rsh)
    patch.setattr(d, "arsh", lambda a, n: d.rsh(d.low32(a), n))


@fault
def quotient_by_the_greatest_divisor(patch):
    _op(patch, "DIV", lambda a, b: d.unsigned(a.ulo // b.uhi, a.uhi // b.uhi))


@fault
def remainder_below_the_least_divisor(patch):
    _op(patch, "MOD", lambda a, b: d.unsigned(0, max(0, min(a.uhi, b.ulo - 1))))


@fault
def signed_remainder_is_not_negative(patch):
    _op(patch, "SMOD", lambda a, b: d.signed(0, max(abs(b.slo), abs(b.shi)) - 1))


@fault
def sign_extension_extends_with_zeros(patch):
    patch.setattr(d, "sign_extend", lambda a, width: d.truncate(a, width // 8) if width < 64 else a)


@fault
def byte_swap_of_the_wrong_width(patch):
    swap = d.byte_swap
    patch.setattr(d, "byte_swap", lambda a, width: swap(a, 16))


@fault
def low_half_keeps_the_whole_bounds(patch):
    patch.setattr(d, "low32", lambda a: a if a.uhi <= d.M32 else comparisons._with(d.of_size(4), uhi=min(a.uhi & d.M32, d.M32)) or d.of_size(4))


@fault
def facts_of_32_bits_bound_64(patch):
    refine = comparisons.refine
    patch.setattr(comparisons, "refine", lambda name, a, b, wide: refine(name, a, b, True))


@fault
def less_or_equal_is_less(patch):
    refine = comparisons.refine
    patch.setattr(comparisons, "refine", lambda name, a, b, wide: refine("JLT" if name == "JLE" else name, a, b, wide))


@fault
def unsigned_comparison_is_signed(patch):
    refine = comparisons.refine
    patch.setattr(comparisons, "refine", lambda name, a, b, wide: refine({"JLT": "JSLT", "JGE": "JSGE"}.get(name, name), a, b, wide))


@fault
def not_equal_moves_the_end_twice(patch):
    without = comparisons._without

    def wrong(a, b, wide):
        n = without(a, b, wide)
        return n if n is None or n is a or n.uhi <= n.ulo else comparisons._with(n, uhi=n.uhi - 1)
    patch.setattr(comparisons, "_without", wrong)


@fault
def a_bit_test_says_equal(patch):
    refine = comparisons.refine
    patch.setattr(comparisons, "refine", lambda name, a, b, wide: refine("JEQ" if name == "JSET" and b.is_const else name, a, b, wide))


@fault
def join_keeps_the_first_upper_bound(patch):
    join = d.join
    patch.setattr(d, "join", lambda a, b: _changed(join(a, b), uhi=max(a.uhi, b.ulo), shi=max(a.shi, b.slo)))
    _unproven(patch)


@fault
def join_keeps_the_first_bits(patch):
    patch.setattr(d, "join", lambda a, b: d.make(a.bits, a.mask, min(a.ulo, b.ulo), max(a.uhi, b.uhi)) or a)
    _unproven(patch)


# States --------------------------------------------------------------------------------------------
@fault
def iteration_stops_after_two_turns(patch):
    """Whether the invariant of a loop holds is looked at twice, and not at all in the proof."""
    leq, looked = fixpoint.leq, {}

    def wrong(a, b, local=None):
        looked[id(local)] = looked.get(id(local), 0) + 1
        return None if looked[id(local)] > 2 else leq(a, b, local)
    patch.setattr(fixpoint, "leq", wrong)
    _unproven(patch)


@fault
def written_on_one_path_is_enough(patch):
    join = fixpoint.join

    def wrong(states, name, head, keep=frozenset(), known=None, guesses=()):
        out = join(states, name, head, keep)
        for depth, frame in enumerate(out.frames):
            for s in states:
                frame.written |= s.frames[depth].written
        return out
    patch.setattr(fixpoint, "join", wrong)
    _unproven(patch)


@fault
def a_difference_is_one_too_small(patch):
    gap = state.State.gap

    def wrong(self, a, b):
        lo, hi = gap(self, a, b)
        return (lo + 1, hi) if lo < hi and (a, b) in self.diff else (lo, hi)
    patch.setattr(state.State, "gap", wrong)


@fault
def sums_never_overflow(patch):
    def wrong(self, s, slot, a, b, wide):
        if not a.sym:
            a, b = b, a
        if not b.sym:
            return a._replace(off=a.off + b.off)
        out = self.fresh(s, slot, d.alu("ADD", s.num(a), s.num(b), wide))
        if out.sym:
            self.relate_sum(s, out.sym, a, b)
        return out
    patch.setattr(transfer.Machine, "addition", wrong)


@fault
def every_product_is_a_multiple_of_4(patch):
    alu = transfer.Machine.number_alu

    def wrong(self, s, slot, name, a, b, wide):
        out = alu(self, s, slot, name, a, b, wide)
        if name in ("MUL", "OR", "XOR", "AND", "LSH") and out and out.sym:
            s.strides[out.sym] = 4, 0
        return out
    patch.setattr(transfer.Machine, "number_alu", wrong)


@fault
def a_copy_of_32_bits_is_a_copy(patch):
    patch.setattr(transfer.Machine, "narrow", lambda self, s, value, size, slot: value)


@fault
def shifted_up_and_down_is_the_same(patch):
    patch.setattr(transfer.Machine, "shift_back", lambda self, s, slot, name, a, size, wide: s.shifted[a.sym][0] if name != "LSH" and a.sym in s.shifted else None)


@fault
def what_was_extended_is_below_its_sign(patch):
    patch.setattr(derived, "learn_extended", lambda s, y, size, n: s.within(y, 0, (1 << size - 1) - 1, False))


@fault
def a_summand_is_one_more(patch):
    relate = transfer.Machine.relate_sum

    def wrong(self, s, sym, a, b):
        relate(self, s, sym, a, b)
        s.added[b.sym] = a.sym, sym, 1 - a.off - b.off
    patch.setattr(transfer.Machine, "relate_sum", wrong)


@fault
def a_number_is_more_even_than_its_bits(patch):
    stride = state.State.stride

    def wrong(self, v):
        m, r = stride(self, v)
        return (m, r) if not v.sym or v.sym in self.strides else (2 * m, r)
    patch.setattr(state.State, "stride", wrong)


@fault
def comparison_of_cursors_is_strict(patch):
    compare = transfer.Machine._compare
    patch.setattr(transfer.Machine, "_compare", lambda self, s, name, a, b: compare(self, s, "JLT" if name == "JLE" else name, a, b))


@fault
def unsigned_order_of_negative_numbers(patch):
    compare = transfer.Machine._compare_numbers

    def wrong(self, s, name, a, b, wide):
        return compare(self, s, name, a, b, wide) and (not (a.sym and b.sym) or name in ("JSET", "JNSET") or self._compare(s, name, a, b))
    patch.setattr(transfer.Machine, "_compare_numbers", wrong)


# Memory --------------------------------------------------------------------------------------------
@fault
def one_byte_more_of_the_packet(patch):
    check = memory.Memory._check_packet
    patch.setattr(transfer.Machine, "_check_packet", lambda self, s, at, size, slot, write: check(self, s, at, size - 1, slot, write))


@fault
def the_window_may_be_written(patch):
    check = memory.Memory._check_packet
    patch.setattr(transfer.Machine, "_check_packet", lambda self, s, at, size, slot, write: check(self, s, at, size, slot, False))


@fault
def one_byte_before_the_packet(patch):
    check = memory.Memory._check_packet
    patch.setattr(transfer.Machine, "_check_packet", lambda self, s, at, size, slot, write: check(
        self, s, at._replace(off=at.off + 1) if s.offsets(at)[0] == -1 else at, size, slot, write))


@fault
def one_byte_more_of_a_region(patch):
    check = memory.Memory._check_region
    patch.setattr(transfer.Machine, "_check_region", lambda self, s, at, size, slot, write: check(self, s, at, size - 1, slot, write))


@fault
def constants_may_be_written(patch):
    check = memory.Memory._check_region
    patch.setattr(transfer.Machine, "_check_region", lambda self, s, at, size, slot, write: check(self, s, at, size, slot, False))


@fault
def a_store_of_a_part_leaves_the_slot(patch):
    clear = memory.Memory.clear_stack
    patch.setattr(transfer.Machine, "clear_stack", lambda self, frame, lo, hi: clear(self, frame, lo, hi) if hi - lo >= 8 else None)


@fault
def a_variable_store_leaves_the_slots(patch):
    store = memory.Memory._store_stack

    def wrong(self, s, at, size, value, slot):
        lo, hi = s.offsets(at)
        if lo == hi:
            store(self, s, at, size, value, slot)
    patch.setattr(transfer.Machine, "_store_stack", wrong)


@fault
def a_variable_store_writes_all(patch):
    store = memory.Memory._store_stack

    def wrong(self, s, at, size, value, slot):
        store(self, s, at, size, value, slot)
        lo, hi = s.offsets(at)
        if lo >= -512 and hi + size <= 0:
            self.frame_of(s, at).written |= state.stack_bits(lo, hi - lo + size)
    patch.setattr(transfer.Machine, "_store_stack", wrong)


@fault
def stack_bytes_need_not_be_written(patch):
    patch.setattr(transfer.Machine, "readable_stack", lambda self, s, at, lo, hi, slot: None)


@fault
def an_atomic_leaves_the_slot(patch):
    atomic = transfer.Machine.atomic

    def wrong(self, s, slot, insn):
        kept = [dict(f.slots) for f in s.frames]
        atomic(self, s, slot, insn)
        for frame, slots in zip(s.frames, kept):
            frame.slots.update(slots)
    patch.setattr(transfer.Machine, "atomic", wrong)


@fault
def eight_bytes_lie_anywhere(patch):
    patch.setattr(transfer.Machine, "check_alignment", lambda self, *access: None)


@fault
def the_context_may_be_written(patch):
    patch.setattr(transfer.Machine, "_store_context", lambda self, at, size, slot: None)


@fault
def half_words_are_bytes(patch):
    of_size = d.of_size
    patch.setattr(d, "of_size", lambda size: of_size(1 if size == 2 else size))


# Calls ---------------------------------------------------------------------------------------------
@fault
def a_call_leaves_the_registers(patch):
    call = transfer.Machine.call

    def wrong(self, s, slot, id):
        kept = s.regs[1:6]
        call(self, s, slot, id)
        s.regs[1:6] = kept
    patch.setattr(transfer.Machine, "call", wrong)


@fault
def a_helper_writes_no_slot(patch):
    clear = memory.Memory.buffer

    def wrong(self, s, reg, size, slot, write):
        kept = [dict(f.slots) for f in s.frames]
        clear(self, s, reg, size, slot, write)
        for frame, slots in zip(s.frames, kept):
            frame.slots.update(slots)
    patch.setattr(transfer.Machine, "buffer", wrong)


@fault
def cursors_outlive_the_packet(patch):
    patch.setattr(transfer.Machine, "change_packet", lambda self, s, slot: None)


@fault
def found_is_never_null(patch):
    resolve = transfer.Machine._resolve
    patch.setattr(transfer.Machine, "_resolve", lambda self, s, v, null: resolve(self, s, v, False))


@fault
def a_function_keeps_the_callers_registers(patch):
    leave = transfer.Machine.leave

    def wrong(self, s):
        inside = s.regs[6:10]
        leave(self, s)
        s.regs[6:10] = [x or y for x, y in zip(inside, s.regs[6:10])]
    patch.setattr(transfer.Machine, "leave", wrong)


@fault
def a_function_has_no_stack_of_its_own(patch):
    check = memory.Memory._check_stack

    def wrong(self, s, at, size, *more):
        used = dict(self.stack_used)
        check(self, s, at, size, *more)
        self.stack_used = {k: v for k, v in self.stack_used.items() if k == "stack0"} or used
    patch.setattr(transfer.Machine, "_check_stack", wrong)


# Time, and what is said beside the rules -------------------------------------------------------------
@fault
def a_turn_less(patch):
    rank = loops.rank

    def wrong(*args):
        bound, counter = rank(*args)
        return max(1, bound - 1), counter
    patch.setattr(verify, "rank", wrong)


@fault
def loops_turn_once(patch):
    heaviest = loops.heaviest
    patch.setattr(verify, "heaviest", lambda graph, bounds, *more, **shared: heaviest(graph, {head: min(bound, 1) for head, bound in bounds.items()}, *more, **shared))


@fault
def jumps_are_not_counted(patch):
    heaviest = loops.heaviest
    patch.setattr(verify, "heaviest", lambda graph, bounds, live, weight, edge=None, shared=None: heaviest(
        graph, bounds, live, weight, lambda n, i: 0))


@fault
def an_access_touches_one_region(patch):
    place = memory.Memory.place

    def wrong(self, *args, **more):
        before = {slot: set(regions) for slot, regions in self.touched.items()}
        at = place(self, *args, **more)
        self.touched.update({slot: regions for slot, regions in before.items() if regions})
        return at
    patch.setattr(transfer.Machine, "place", wrong)


@fault
def an_access_is_as_aligned_as_its_region(patch):
    patch.setattr(transfer.Machine, "_alignment", lambda self, s, at: min(memory.WORD, self._base(at)))


@fault
def what_is_added_to_a_pointer_keeps_it_aligned(patch):
    def wrong(self, s, at):
        odd = at.off | self._base(at) | memory.WORD
        return odd & -odd
    patch.setattr(transfer.Machine, "_alignment", wrong)


@fault
def packets_begin_at_words(patch):
    base = memory.Memory._base
    patch.setattr(transfer.Machine, "_base", lambda self, at: 8 if at.region == "pkt" else base(self, at))


@fault
def everything_is_32_bits(patch):
    patch.setattr(transfer.Machine, "unclean", lambda self, slot: None)


@fault
def dead_ends_are_alive_elsewhere(patch):
    """A comparison that one path decides is taken as decided."""
    branch = transfer.Machine.branch

    def wrong(self, s, slot, insn):
        out = branch(self, s, slot, insn)
        if len(out) == 2 and all(after is not None for after in out) and insn.is_wide and not insn.uses_reg and insn.imm == 0:
            out[1] = None
        return out
    patch.setattr(transfer.Machine, "branch", wrong)


# ---------------------------------------------------------------- numbers made of others, in both widths

def _number_alu(patch, wrong):
    """`wrong` gives what an operation on two numbers makes, None where the verifier is right."""
    right = transfer.Machine.number_alu

    def number_alu(self, s, slot, insn, name, a, b, wide):
        out = wrong(self, s, slot, name, a, b, wide)
        return out if out is not None else right(self, s, slot, insn, name, a, b, wide)
    patch.setattr(transfer.Machine, "number_alu", number_alu)


@fault
def a_mask_in_32_bits_leaves_the_upper_half(patch):
    """One of these: an AND in 32 bits by a register whose constant has the upper bits, too."""
    def wrong(self, s, slot, name, a, b, wide):
        na, nb = s.num(a), s.num(b)
        return a if name == "AND" and nb.is_const and not (na.bits | na.mask) & ~nb.ulo else None
    _number_alu(patch, wrong)


@fault
def a_power_bounds_the_whole_count(patch):
    """A shift in 32 bits takes the lower half of the count."""
    right = transfer.Machine.number_alu

    def wrong(self, s, slot, insn, name, a, b, wide):
        k, n = s.num(a), d.low32(s.num(b))
        out = right(self, s, slot, insn, name, a, b, wide)
        if name == "LSH" and not wide and out.sym and b.sym and not b.off and k.is_const and 0 < k.ulo << min(n.uhi, 64) <= d.M32:
            s.powers[out.sym] = b.sym, k.ulo
        return out
    patch.setattr(transfer.Machine, "number_alu", wrong)


@fault
def what_is_not_0_is_above_it(patch):
    """A divisor."""
    def wrong(self, s, slot, name, a, b, wide):
        nb = s.num(b) if wide else d.low32(s.num(b))
        if name not in ("DIV", "MOD", "SDIV", "SMOD") or 0 not in nb or nb.slo >= 0 or not derived.surely_not_zero(s, b):
            return None
        return self.fresh(s, slot, d.alu(name, s.num(a), d.within(nb, 1, arithmetic.SHI) or d.const(1), wide))
    _number_alu(patch, wrong)


@fault
def what_shrinks_turns_once_less(patch):
    """A loop that shifts, divides or folds a number, or takes a bit from it."""
    right = shrinking.bounds
    patch.setattr(shrinking, "bounds", lambda *given: [(max(turns - 1, 1), how) for turns, how in right(*given)])


# ---------------------------------------------------------------- lists of as many entries as a number says

@fault
def a_complement_is_the_pointer_turned_negative(patch):
    right = transfer.Machine.pointer_alu

    def wrong(self, s, slot, name, a, b, wide):
        out = right(self, s, slot, name, a, b, wide)
        return out._replace(off=out.off + 1) if out is not None and out.kind == state.NUMBER and state.COMPLEMENT in (a.kind, b.kind) else out
    patch.setattr(transfer.Machine, "pointer_alu", wrong)


@fault
def a_product_is_of_one_more(patch):
    right = affine.line_up

    def wrong(s, x):
        if x in s.products:
            y, k, c = s.products[x]
            s.products[x] = y, k, c + k
        right(s, x)
    patch.setattr(affine, "line_up", wrong)


@fault
def a_division_leaves_something_over(patch):
    right = arithmetic.remainder
    patch.setattr(arithmetic, "remainder", lambda s, v, k: (max(right(s, v, k)[0], 1), max(right(s, v, k)[1], 1)))
