"""What one instruction does to the state. Errors are found here; loads and stores are in memory.py."""
from __future__ import annotations

from math import gcd

from ..compiler import isa
from ..compiler.isa import ALU_NAMES, Instruction
from . import domain as d
from .descriptors import ContextDescriptor, HelperSpec
from .memory import OFFSET_LIMIT, Memory, spread
from .rules import Violation
from .state import (BROKEN, CLOBBER, CLOBBERED, LEN, LOW_HALF, NULLABLE, NUMBER, POINTER, STALE, STALE_POINTER, UNUSABLE, Frame,
                    State, Value, number, stack_bits)

SLO, SHI = -(1 << 63), (1 << 63) - 1


PUTS = "buffer_put", "buffer_hold"                    # helpers that are given five words: offset, size, octets of the output, place and octets of the packet


class Machine(Memory):
    """The abstract machine of one container under one profile."""

    def __init__(self, profile: ContextDescriptor, helpers: dict[int, HelperSpec]):
        self.profile, self.helpers = profile, helpers
        self.regions = dict(profile.regions)
        self.checking = False
        self.wide_slots: set[int] = set()             # instructions that need more than 32 bits of a register
        self.stack_used: dict[str, int] = {}          # by region name of the frame; see verify.py for the sum
        self.touched: dict[int, set[str]] = {}        # slot of a memory access -> regions; see wcet.py
        self.constants: dict[int, set[int]] = {}      # slot of a helper call -> values of r1, where known
        self.rooms: dict[int, int] = {}               # and what r5 is at most, where it is a number
        self.heads: dict[int, int] = {}               # of what a buffer is given, octets of the output at most
        self.symbols: dict[tuple, int] = {}
        self.failed: dict[int, tuple[int, str, str, str]] = {}      # slot -> what was broken there when it was met last
        self.sound = True                             # the instruction has broken nothing so far
        self.node = None

    # Symbols and registers -----------------------------------------------------------------------
    def symbol(self, *name) -> int:
        return self.symbols.setdefault(name, len(self.symbols) + LEN + 1)

    def fresh_symbol(self, s: State, slot: int, n: d.Num, k: int = 0) -> int:
        """A new unknown made by this instruction. Its last turn's symbol was renamed at the loop's head."""
        sym = self.symbol(self.node.id, slot, k)
        if sym in s.vars:
            if any(v.sym == sym for _, v in s.places()):
                if k < 12:
                    return self.fresh_symbol(s, slot, n, k + 1)
                raise Violation(38, slot, "the instruction makes too many unknowns", "make the program smaller")
            s.forget(sym)
        s.vars[sym] = n
        return sym

    def fresh(self, s: State, slot: int, n: d.Num) -> Value:
        if n.is_const:
            return number(n.ulo)
        return Value(NUMBER, None, self.fresh_symbol(s, slot, n), 0)

    def read(self, s: State, reg: int, slot: int) -> Value | None:
        """The value of a register; None (reported) if it holds nothing usable."""
        v = s.regs[reg]
        if v is None:
            self.fail(13, slot, f"r{reg} is not written on every path", "write it first", f"r{reg} holds what the code before this container left in it")
        elif v.kind in UNUSABLE:
            if v.kind == BROKEN:
                rule, detail, hint, example = self.failed[v.off]
                self.fail(rule, v.off, detail, hint, example)
            elif v.kind == CLOBBERED:
                self.fail(15, slot, f"r{reg} was destroyed by a call", "keep it in r6-r9 or on the stack", f"r{reg} holds what the called function left in it")
            elif v.kind == STALE:
                self.fail(20, slot, f"r{reg} points into the packet as it was before a call changed it", "load it from the context again",
                          f"the packet has moved, and r{reg} points to memory that is not the packet's any more")
            else:
                self.fail(13, slot, f"r{reg} holds a pointer on one path and something else on another", "use two registers",
                          f"on one way r{reg} is an address, on the other it is not, and nothing here tells which")
            return None
        return v

    def pointer(self, s: State, reg: int, slot: int) -> Value | None:
        v = self.read(s, reg, slot)
        if v is None or v.kind == POINTER:
            return v
        if v == number(0):
            self.fail(26, slot, f"r{reg} is null here", "use it only on the way where it is not 0", "this follows the null pointer")
        if v.kind == NULLABLE:
            self.fail(26, slot, f"r{reg} may be null", "compare it with 0 first", f"when the helper finds nothing, r{reg} is 0 and this follows the null pointer")
            return v._replace(kind=POINTER, sym=0)
        self.fail(24 if v.kind == LOW_HALF else 22, slot, f"r{reg} is used as an address but holds a {v.kind}",
                  "use the whole pointer" if v.kind == LOW_HALF else "load the address from the context",
                  f"when r{reg} is {_sample(s.num(v))}, this touches whatever lies at that address" if v.kind == NUMBER else "")
        return None

    def operand(self, s: State, insn: Instruction, slot: int) -> Value | None:
        """The second operand of arithmetic or of a comparison: immediates are sign-extended (RFC 9669, 4.1)."""
        if insn.uses_reg:
            return self.read(s, insn.src, slot)
        return number(insn.imm if insn.is_wide else insn.imm & d.M32)

    # Straight-line instructions ------------------------------------------------------------------
    def step(self, s: State, slot: int, insn: Instruction) -> None:
        """Execute a non-jump in place; calls of helpers are one, local calls and exits are not."""
        self.sound = True
        if insn.is_alu:
            s.regs[insn.dst] = self.alu(s, slot, insn) or self.broken(slot)
            self.note_clean(s, slot, insn.dst)
        elif insn.is_lddw:
            s.regs[insn.dst] = self.lddw(insn, slot)
            self.note_clean(s, slot, insn.dst)
        elif insn.is_load:
            s.regs[insn.dst] = self.load(s, insn, slot) or self.broken(slot)
            self.note_clean(s, slot, insn.dst)
        elif insn.is_atomic:
            self.atomic(s, slot, insn)
        elif insn.is_store:
            value = self.read(s, insn.src, slot) if insn.cls == isa.STX else number(insn.imm)
            self.store(s, insn.dst, insn.off, insn.size, value, slot)
        elif insn.is_call:
            self.call(s, slot, insn.imm)

    def broken(self, slot: int) -> Value | None:
        """For what has no value because a rule is broken: whoever reads it is told of that one."""
        return Value(BROKEN, None, 0, slot) if slot in self.failed else None

    def note_clean(self, s: State, slot: int, reg: int) -> None:
        v = s.regs[reg]
        if v is not None and v.kind == NUMBER and s.num(v).uhi > d.M32:
            self.unclean(slot)

    def lddw(self, insn: Instruction, slot: int) -> Value:
        name = {isa.FEMTO_LDDWD: "data", isa.FEMTO_LDDWR: "rodata"}.get(insn.op) or {
            isa.LDDW_RODATA: "rodata", isa.LDDW_DATA: "data"}.get(insn.src)
        if name is None:
            return number(insn.imm)
        if name not in self.regions or insn.imm > self.regions[name].size:
            size = self.regions[name].size if name in self.regions else 0
            self.fail(22, slot, f"address {insn.imm} of {name}, which has {size} bytes", "give the size of the section, or an offset inside it",
                      f"the pointer would lie {insn.imm - size} bytes behind {name}")
        return Value(POINTER, name, 0, d.s64(insn.imm))

    # Arithmetic ----------------------------------------------------------------------------------
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
            return self.fresh(s, slot, d.byte_swap(n, insn.imm))
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
            n = d.sign_extend(s.num(v), insn.off)
            if insn.is_wide:
                return v if n == s.num(v) else self.fresh(s, slot, n)
            return self.fresh(s, slot, d.low32(n))
        if insn.is_wide:
            if self.profile.target == "femto" and v.kind == NUMBER and s.num(v).uhi > d.M32:
                self.fail(11, slot, f"this engine moves 32 bits only, r{insn.src} may hold {s.num(v)}", "clear the upper half first",
                          f"when r{insn.src} is {_sample(s.num(v), 1 << 32)}, r{insn.dst} becomes {_sample(s.num(v), 1 << 32) & d.M32}")
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
            if 0 in nb:
                whole = s.num(b)
                upper = next((x for x in (1 << 32, 1 << 63) if not wide and b.sym and 0 not in whole and x in whole), 0)
                self.fail(28, slot, f"the divisor may be 0, it is {nb}",
                          ("compare its lower half with 0 first" if upper else "compare it with 0 first"),
                          f"when {reg} is {upper:#x}, its lower half, the divisor, is 0" if upper else f"when {reg} is 0, this divides by it" if b.sym else "this divides by 0 in every run")
                nb = d.within(nb, 1, SHI) or d.const(1)
            limit = d.M32 >> 1 if name[0] == "S" else d.M32
            if wide and max(na.uhi, nb.uhi) > limit:
                self.unclean(slot)
        elif name in ("LSH", "RSH", "ARSH"):
            nb, width = (nb, 64) if wide else (d.low32(nb), 32)
            if nb.uhi >= width:
                self.fail(29, slot, f"the shift count is {nb}, which may be {width} or more", f"mask it with {width - 1} or compare it",
                          f"when {reg} is {_sample(nb, width)}, engines disagree about the result" if b.sym else "engines disagree about the result")
                return self.fresh(s, slot, d.TOP if wide else d.of_size(4))
            if nb.is_const and nb.ulo == 0 and (wide or na.uhi <= d.M32):
                return a
            if wide and (nb.uhi > 31 or name == "ARSH" and na.uhi > d.M32 >> 1 or name == "RSH" and na.uhi > d.M32):
                self.unclean(slot)
            if wide and nb.is_const and nb.ulo == 32:
                return self.shift32(s, slot, name, a, na, nb)
        elif name == "AND" and nb.is_const and not (na.bits | na.mask) & ~nb.ulo:
            return a                                  # the mask removes nothing
        elif name in ("OR", "XOR") and nb.is_const and nb.ulo == 0 and (wide or na.uhi <= d.M32):
            return a
        out = self.fresh(s, slot, d.alu(name, na, nb, wide))
        if name in ("LSH", "RSH") and self.node.loop is not None and out.sym and a.sym and not a.off and nb.is_const and nb.ulo:
            n, limit = nb.ulo, SHI if wide else d.M32     # a counter that is shifted; see loops.py
            if na.slo >= 0 and (na.uhi <= limit if name == "RSH" else na.uhi << n <= limit):
                s.scaled[out.sym] = a.sym, n if name == "RSH" else -n
        if name == "MUL" and out.sym and nb.is_const and nb.ulo > 1 and na.uhi * nb.ulo <= (SHI if wide else d.M32):
            s.strides[out.sym] = nb.ulo, 0
        return out

    def shift32(self, s: State, slot: int, name: str, a: Value, na: d.Num, nb: d.Num) -> Value:
        """Code without 32-bit arithmetic extends by shifting up and down: the value is the one before."""
        origin = s.shifted.get(a.sym) if a.off == 0 else None
        if name == "LSH":
            out = self.fresh(s, slot, d.lsh(na, nb))
            if out.sym:
                s.shifted[out.sym] = a
            return out
        if origin is not None and (not origin.sym or origin.sym in s.vars):
            n = s.num(origin)
            if name == "RSH":
                return self.narrow(s, origin, 4, slot)
            if n.slo >= -(1 << 31) and n.shi < 1 << 31:
                return origin
            return self.fresh(s, slot, d.sign_extend(n, 32))
        return self.fresh(s, slot, d.rsh(na, nb) if name == "RSH" else d.arsh(na, nb))

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
                s.halves[out.sym] = a.sym, a.off + off & d.M32
            return out
        out = self.fresh(s, slot, n)
        exact = SLO <= na.slo + nb.slo and na.shi + nb.shi <= SHI if wide else na.uhi + nb.uhi <= d.M32
        if out.sym and exact:
            self.relate_sum(s, out.sym, a, b)
        return out

    def relate_sum(self, s: State, sym: int, a: Value, b: Value) -> None:
        """sym = a + b, exactly."""
        (alo, ahi), (blo, bhi) = s.offsets(a), s.offsets(b)
        s.learn_gap(a.sym, sym, blo + a.off, bhi + a.off)
        s.learn_gap(b.sym, sym, alo + b.off, ahi + b.off)

    def subtract(self, s: State, slot: int, a: Value, b: Value, wide: bool) -> Value:
        if not b.sym:
            return self.addition(s, slot, a, number(-b.off if wide else -b.off & d.M32), wide)
        na, nb = s.num(a), s.num(b)
        n = d.alu("SUB", na, nb, wide)
        lo, hi = self.difference(s, b, a)
        return self._exact(s, slot, a, b, n, lo, hi, wide and SLO <= lo and hi <= SHI or
                           0 <= lo and hi <= d.M32 and na.uhi <= d.M32 and nb.uhi <= d.M32)

    def difference(self, s: State, a: Value, b: Value) -> tuple[int, int]:
        """Bounds of b - a."""
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
            s.defs[out.sym] = b.sym, a.sym, a.off - b.off
        return out

    # Pointers ------------------------------------------------------------------------------------
    def pointer_alu(self, s: State, slot: int, name: str, a: Value, b: Value, wide: bool) -> Value | None:
        kinds = {a.kind, b.kind}
        if NULLABLE in kinds:
            self.fail(26, slot, "arithmetic on a pointer that may be null", "compare it with 0 first",
                      "when the helper finds nothing, the pointer is 0, and a small number afterwards")
            return None
        if name == "SUB" and NUMBER not in kinds:
            if a.region != b.region:
                self.fail(24, slot, f"pointers to {a.region} and {b.region} are subtracted", "subtract pointers of one region",
                          f"the result depends on where {a.region} and {b.region} lie in memory")
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
                      f"the result depends on where {a.region or b.region} lies in memory")
            return None
        if name not in ("ADD", "SUB") or (name == "ADD" and a.kind == b.kind) or (name == "SUB" and b.kind == POINTER):
            self.fail(23, slot, f"{name} is no operation on a pointer", "add or subtract a bounded number",
                      f"the result would point anywhere, or show where {(a if a.kind == POINTER else b).region} lies")
            return None
        pointer, n = (a, b) if a.kind == POINTER else (b, a)
        return self.move_pointer(s, slot, name, pointer, n)

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
            self.fail(23, slot, f"the pointer to {p.region} would move to offset {spread(lo, hi)}: the number is {known}",
                      "bound it first", _moves(known, lo, hi, p.region))
            if nhi - nlo > 1 << 40 or phi - plo > 1 << 40:
                return None
        if name == "ADD" and (not n.sym or not p.sym):
            return Value(POINTER, p.region, p.sym or n.sym, p.off + n.off)
        if name == "SUB" and not n.sym:
            return p._replace(off=p.off - n.off)
        if name == "SUB" and n.sym == p.sym:
            return Value(POINTER, p.region, 0, p.off - n.off)
        bounds = d.signed(lo, hi)
        known = d.add(s.num(p), s.num(n)) if name == "ADD" else d.sub(s.num(p), s.num(n))
        known = d.meet(bounds, known) or bounds
        sym = self.fresh_symbol(s, slot, known)
        if name == "ADD":
            self.relate_sum(s, sym, p, n)
        else:
            s.learn_gap(p.sym, sym, p.off - nhi, p.off - nlo)
        return Value(POINTER, p.region, sym, 0)

    def pointer_difference(self, s: State, slot: int, a: Value, b: Value, wide: bool) -> Value:
        lo, hi = self.difference(s, b, a)
        if wide:
            return self._exact(s, slot, a, b, d.signed(lo, hi), lo, hi, True)
        if 0 <= lo and hi <= d.M32:
            return self._exact(s, slot, a, b, d.unsigned(lo, hi), lo, hi, True)
        return self.fresh(s, slot, d.of_size(4))

    # Atomics and helpers -------------------------------------------------------------------------
    def atomic(self, s: State, slot: int, insn: Instruction) -> None:
        """Read, modify, write (RFC 9669, 5.3); what is left in memory is not tracked."""
        value = self.read(s, insn.src, slot)
        at = self.place(s, insn.dst, insn.off, insn.size, slot, True)
        if insn.imm == isa.ATOMIC_OPS["CMPXCHG"]:
            compared = self.read(s, 0, slot)
            if compared is not None and compared.kind != NUMBER:
                self.fail(25, slot, "a pointer is compared with memory", "compare numbers only")
        if at is not None:
            if at.region == "ctx":
                self.fail(21, slot, "an atomic operation on the context", "use it on the state")
            if at.region == "pkt":
                self.fail(22, slot, "an atomic operation on the packet", "use it on the state")
            if at.region.startswith("stack"):
                lo, hi = s.offsets(at)
                if -self.profile.stack <= lo and hi + insn.size <= 0:
                    self.readable_stack(s, at, lo, hi + insn.size, slot)
                    self.clear_stack(self.frame_of(s, at), lo, hi + insn.size)
        if value is not None and value.kind != NUMBER:
            self.fail(25, slot, "a pointer is an operand of an atomic operation", "use numbers only")
        if insn.imm & isa.FETCH:
            reg = 0 if insn.imm == isa.ATOMIC_OPS["CMPXCHG"] else insn.src
            s.regs[reg] = self.fresh(s, slot, d.TOP if insn.size == 8 else d.of_size(4))
            self.note_clean(s, slot, reg)

    def call(self, s: State, slot: int, id: int) -> None:
        spec = self.helpers.get(id)
        if spec is None:
            self.fail(31, slot, f"helper {id} is unknown", "call one of the table of helpers, or declare it with extern",
                      "the node would end the run, or call a function of its own")
        else:
            for context in self.profile.contexts:
                if spec.contexts is not None and context not in spec.contexts:
                    self.fail(31, slot, f"helper {spec.name} is not allowed in context {context}",
                              f"it is allowed in {', '.join(spec.contexts)}",
                              f"it could wait, or be in use, when context {context} interrupts it")
            self.arguments(s, slot, spec)
            first = s.regs[1]
            if self.checking and first is not None and first.kind == NUMBER and s.num(first).is_const:
                self.constants.setdefault(slot, set()).add(s.num(first).ulo)
            fifth = s.regs[5]
            if self.checking and fifth is not None and fifth.kind == NUMBER:
                self.rooms[slot] = max(self.rooms.get(slot, 0), s.num(fifth).uhi)
            if self.checking and spec.name in PUTS:
                self.heads[slot] = max(self.heads.get(slot, 0), self.head_of(s))
            if spec.changes_packet:
                self.change_packet(s, slot)
        for reg in range(1, 6):
            s.regs[reg] = CLOBBER
        ret = spec.ret if spec else "scalar"
        if ret == "zero":
            s.regs[0] = number(0)
        elif isinstance(ret, tuple):
            s.regs[0] = Value(NULLABLE, ret[1], self.fresh_symbol(s, slot, d.TOP), 0)
        else:
            s.regs[0] = self.fresh(s, slot, d.of_size(4) if ret == "u32" else d.TOP)
            self.note_clean(s, slot, 0)

    def head_of(self, s: State) -> int:
        """The third word that r4 points to, at most; the helper refuses more than the output has (lpn.h)."""
        at, most = s.regs[4], self.regions["out"].size
        held = self.frame_of(s, at).slots.get(at.off + 8) if at is not None and at.kind == POINTER and at.region.startswith("stack") and not at.sym else None
        return min(most, s.num(held[1]).uhi) if held is not None and held[0] == 4 and held[1].kind == NUMBER else most

    def arguments(self, s: State, slot: int, spec: HelperSpec) -> None:
        kinds, writes = list(spec.args), []
        for reg, kind in enumerate(kinds, 1):
            name = f"argument {reg} of {spec.name}"
            v = self.read(s, reg, slot)
            if v is None:
                continue
            if kind in ("scalar", "const", "size"):
                if v.kind != NUMBER:
                    self.fail(25 if kind == "scalar" else 31, slot, f"{name} is a {v.kind}, a number is wanted", "give a number",
                              f"the node would learn where {v.region or 'memory'} lies" if kind == "scalar" else "")
                elif kind != "scalar" and not s.num(v).is_const:
                    self.fail(31, slot, f"{name} must be a constant, it is {s.num(v)}", "give the same number on every path",
                              f"it could be {s.num(v).ulo} or {s.num(v).uhi}")
                continue
            if isinstance(kind, tuple) and kind[0] == "region":
                if v.kind != POINTER or v.region != kind[1] or v.sym or v.off:
                    self.fail(31, slot, f"{name} must be the start of {kind[1]}", "load it from the context and do not move it")
                continue
            write, size = kind == "write", None
            if isinstance(kind, tuple):
                write, size = kind[0] == "write", kind[1]
            elif reg < 5 and s.regs[reg + 1] is not None and s.regs[reg + 1].kind == NUMBER:
                n = s.num(s.regs[reg + 1])
                size = n.ulo if n.is_const else None
            if size is None:
                self.fail(31, slot, f"the size of {name} must be a constant", "give the same number on every path")
            elif size == 0:
                continue
            elif size > OFFSET_LIMIT:
                self.fail(31, slot, f"{name} has {size} bytes", f"at most {OFFSET_LIMIT} are possible")
            elif v.kind != POINTER:
                self.fail(31, slot, f"{name} must be a pointer to {size} bytes, it is a {v.kind}", "give the address of a buffer")
            elif write:
                writes.append((reg, size))            # reads of this call come first
            else:
                self.buffer(s, reg, size, slot, False)
        for reg, size in writes:
            self.buffer(s, reg, size, slot, True)

    def change_packet(self, s: State, slot: int) -> None:
        """Rule 20: the helper made another packet of it."""
        old = self.fresh_symbol(s, slot, s.vars[LEN], 20)

        def renamed(v):
            if v is None or v.region == "pkt":
                return None
            return v._replace(sym=old) if v.sym == LEN else v

        def register(v):
            return STALE_POINTER if v is not None and v.region == "pkt" else renamed(v)
        s.regs = [register(v) for v in s.regs]
        for frame in s.frames:
            frame.saved = tuple(register(v) for v in frame.saved)
            for off, (size, v) in list(frame.slots.items()):
                v = renamed(v)
                if v is None:
                    del frame.slots[off]
                    frame.written &= ~stack_bits(off, size)
                else:
                    frame.slots[off] = size, v
        s.diff = {k: b for k, b in s.diff.items() if LEN not in k}
        s.defs = {x: t for x, t in s.defs.items() if LEN not in t[:2] and x != LEN}
        s.lines = {k: t for k, t in s.lines.items() if LEN not in (*k, t[0])}
        s.vars[LEN] = d.signed(0, self.profile.max_packet)

    # Ends of blocks ------------------------------------------------------------------------------
    def enter(self, s: State) -> None:
        """A local call: r1-r5 pass, r6-r9 wait with the caller."""
        s.frames.append(Frame(saved=tuple(s.regs[6:10])))
        s.regs[6:10] = [None] * 4
        s.regs[0] = None
        s.regs[10] = Value(POINTER, f"stack{len(s.frames) - 1}", 0, 0)

    def leave(self, s: State) -> None:
        """Return from a local call: the callee's frame is gone, and so is what points to it."""
        frame = s.frames.pop()
        gone = f"stack{len(s.frames)}"
        s.regs[6:10] = frame.saved
        s.regs[1:6] = [CLOBBER] * 5
        s.regs[10] = Value(POINTER, f"stack{len(s.frames) - 1}", 0, 0)
        if s.regs[0] is not None and s.regs[0].region == gone:
            s.regs[0] = None
        for f in s.frames:
            for off, (_, v) in list(f.slots.items()):
                if v.region == gone:
                    raise Violation(25, None, "a pointer to a callee's frame outlives it", "return numbers only")

    def exit(self, s: State, slot: int) -> None:
        v = s.regs[0]
        if v is not None and v.kind == BROKEN:
            self.read(s, 0, slot)
        elif v is None or v.kind != NUMBER:
            what = "not set on every path" if v is None else f"a {v.kind} to {v.region}" if v.region else "clobbered"
            self.fail(14, slot, f"r0 is {what} at exit", "return a number",
                      "the verdict would be whatever is left in r0" if v is None else f"the verdict would show where {v.region} lies" if v.region else "")

    def branch(self, s: State, slot: int, insn: Instruction) -> list[State | None]:
        """[state when not taken, state when taken]; None where that cannot be. Consumes `s`."""
        self.sound = True
        name, wide = isa.JMP_NAMES[insn.code], insn.is_wide
        a, b = self.read(s, insn.dst, slot), self.operand(s, insn, slot)
        if a is None or b is None:
            return [s, s.copy()]
        kinds = {a.kind, b.kind}
        if kinds == {NUMBER}:
            if wide:
                self._clean_comparison(s, slot, name, a, b)
            taken = s.copy()
            return [s if self._compare_numbers(s, d.NEGATED[name], a, b, wide) else None,
                    taken if self._compare_numbers(taken, name, a, b, wide) else None]
        zero = NUMBER in kinds and not (b.sym or b.off) and name in ("JEQ", "JNE") and wide and b.kind == NUMBER
        if kinds == {NULLABLE, NUMBER} and zero:
            other = s.copy()
            self._resolve(s, a, name != "JEQ")        # not taken: the opposite
            self._resolve(other, a, name == "JEQ")
            return [s, other]
        if kinds == {POINTER, NUMBER} and zero:
            if a.region in self.regions and self.regions[a.region].size == 0:
                return [s, s.copy()]                  # nothing says where an empty region lies
            return [s, None] if name == "JEQ" else [None, s]
        if kinds == {POINTER} and wide and a.region == b.region and name in ("JEQ", "JNE", "JLT", "JLE", "JGT", "JGE"):
            for v in (a, b):
                lo, hi = s.offsets(v)
                if lo < -OFFSET_LIMIT or hi > OFFSET_LIMIT:
                    self.fail(23, slot, f"a pointer to {v.region} at offset {spread(lo, hi)} is compared", "bound it first")
            taken = s.copy()
            return [s if self._compare(s, d.NEGATED[name], a, b) else None,
                    taken if self._compare(taken, name, a, b) else None]
        if kinds == {POINTER} and a.region != b.region:
            detail, example = f"pointers to {a.region} and {b.region} are compared", f"the outcome depends on where {a.region} and {b.region} lie in memory"
        elif NULLABLE in kinds:
            self.fail(26, slot, "a pointer that may be null is compared with something else", "compare it with 0 first")
            return [s, s.copy()]
        else:
            detail = f"a {a.kind} is compared with a {b.kind}" + ("" if wide else " in 32 bits")
            example = f"the outcome depends on where {a.region or b.region or 'memory'} lies in memory"
        self.fail(24, slot, detail, "compare pointers of one region in 64 bits, or numbers", example)
        return [s, s.copy()]

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
        both = d.refine(name, na, nb, wide)
        if both is None or not s.learn(a, both[0]) or not s.learn(b, both[1]):
            return False
        if not (a.sym and b.sym) or name in ("JSET", "JNSET"):
            return True
        if wide and name in ("JSLT", "JSLE", "JSGT", "JSGE", "JEQ", "JNE"):
            exact = True
        elif wide:
            exact = na.slo >= 0 and nb.slo >= 0
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
        return s.learn_gap(a.sym, b.sym, lo + shift, hi + shift)


def _sample(n: d.Num, least: int = 0) -> int:
    """A number of the set, not below `least` if there is one: what an example shows."""
    return next((x for x in (least, n.ulo, n.uhi) if x >= least and x in n), n.uhi)


def _moves(n: d.Num, lo: int, hi: int, region: str) -> str:
    """An example of a number that takes a pointer too far, of which lo..hi would be the offsets."""
    far = next((x for x in ((n.shi, hi) if hi > OFFSET_LIMIT else (n.slo, lo)) if abs(x) < 1 << 63 and x & d.M64 in n), None)
    return f"when the number is {far}, the pointer leaves the neighbourhood of {region}" if far is not None else ""
