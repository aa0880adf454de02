"""What atomic operations and calls of helpers do to the state."""
from __future__ import annotations

from ..compiler import isa
from ..compiler.helpers import size_said
from ..compiler.isa import Instruction
from . import domain as d
from .descriptors import HelperSpec
from .memory import Memory
from .state import CLOBBER, LEN, NULLABLE, NUMBER, POINTER, STALE_POINTER, State, Value, number, stack_bits

PUTS = "buffer_put", "buffer_hold"                    # helpers that are given five words: offset, size, octets of the output, place and octets of the packet


class Calls(Memory):
    """The part of the machine that calls helpers. The rest is in transfer.py."""

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
            if self.profile.align_atomic:
                self.check_alignment(s, at, insn.size, insn.size, slot, f"changes {insn.size} bytes", "use a place that is aligned to its size")
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
            self.fail(31, slot, f"helper {id} is unknown", self.profile.unknown, self.profile.unknown_does)
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
        """The third word that r3 points to, at most; the helper refuses more than the output has (lpn.h)."""
        most, word = self.regions["out"].size, self.word_of(s, 2)
        return min(most, s.num(word).uhi) if word is not None else most

    def word_of(self, s: State, i: int) -> Value | None:
        """Of the words that r3 points to one, a number; None where it is not known."""
        at = s.regs[3]
        if at is None or at.kind != POINTER or not at.region.startswith("stack") or at.sym:
            return None
        held = self.frame_of(s, at).slots.get(at.off + 4 * i)
        return held[1] if held is not None and held[0] == 4 and held[1].kind == NUMBER else None

    def arguments(self, s: State, slot: int, spec: HelperSpec) -> None:
        kinds, writes = list(spec.args), []
        for reg, kind in enumerate(kinds, 1):
            name = f"argument {reg} of {spec.name}"
            v = self.read(s, reg, slot)
            if v is None:
                continue
            if kind in ("scalar", "const"):
                if v.kind != NUMBER:
                    self.fail(25 if kind == "scalar" else 31, slot, f"{name} is a {v.kind}, a number is wanted", "give a number",
                              f"the node would learn where {v.named or 'memory'} lies" if kind == "scalar" else "")
                elif kind != "scalar" and not s.num(v).is_const:
                    self.fail(31, slot, f"{name} must be a constant, it is {s.num(v)}", "give the same number on every path",
                              f"it could be {s.num(v).ulo} or {s.num(v).uhi}")
                continue
            if isinstance(kind, tuple) and kind[0] == "region":
                if v.kind != POINTER or v.region != kind[1] or v.sym or v.off:
                    self.fail(31, slot, f"{name} must be the start of {kind[1]}", "load it from the context and do not move it")
                continue
            write, size = self.octets_of(s, reg, kind)
            if not size:                              # None: said already, argument 1 is a constant
                continue
            elif v.kind != POINTER:
                self.fail(31, slot, f"{name} must be a pointer to {size} bytes, it is a {v.kind}", "give the address of a buffer")
            elif write:
                writes.append((reg, size))            # reads of this call come first
            else:
                self.buffer(s, reg, size, slot, False)
        for reg, size in writes:
            self.buffer(s, reg, size, slot, True)

    def octets_of(self, s: State, reg: int, kind: str | tuple) -> tuple[bool, int | None]:
        """Of an argument that points to memory: whether the helper writes there, and how many octets it has; None: argument 1 says so, and is not known."""
        if isinstance(kind, tuple):
            return kind[0] == "write", kind[1]
        first = s.regs[1]
        known = first is not None and first.kind == NUMBER and s.num(first).is_const
        return kind == "write", size_said(s.num(first).ulo, reg) if known else None

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
        s.forget(LEN)
        s.vars[LEN] = d.signed(0, self.profile.max_packet)
