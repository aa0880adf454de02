"""The abstract machine that also remembers memory: what was stored to the header record or loaded from the packet is what the next load of
it gives, in this module and in the next one of the chain.

Contents are slots of the outermost frame, far from the stack's: so they are joined and compared like those. No two regions share memory.
"""
from __future__ import annotations

from ..compiler.isa import Instruction
from . import bits, domain as d, octets
from .calls import PUTS
from .descriptors import ContextDescriptor, HelperSpec
from .state import LEN, NUMBER, POINTER, State, Value, number
from .transfer import Machine

ROOM = 100_000                                        # between the regions' first slots; offsets that are remembered are far below
FIRST = {region: ROOM * (i + 1) for i, region in enumerate(("rec", "ctx", "pkt", "state", "out"))}
MOVED = ROOM * 8                                      # slots of what is no memory: how many octets loops' cursors moved over; see growth.py
KEPT = ("rec", "ctx", "pkt")                          # an interrupt may change the state, and nobody loads what was written to the output
CLOCK = 84, 88                                        # of the context (lpn): a call takes its time
FARTHEST = 4096                                       # offsets remembered
ANYWHERE = ROOM - 1                                   # in notes: somewhere in the region


class Lost(Exception):
    """The walk takes too long, does not find a loop's invariant, or has lost where something is written: the sum of the modules' bounds has to do."""


class Remembering(Machine):
    """As Machine."""
    unknowns = 256                                    # an instruction that several turns or modules have in common fills more places here

    def __init__(self, profile: ContextDescriptor, helpers: dict[int, HelperSpec]):
        super().__init__(profile, helpers)
        self.noted: list[int] | None = None           # where asked for: octets that are loaded
        self.ends: tuple[int, int] | None = None      # where asked for: the slot for what a buffer was given, its end and how much; the longest packet
        self.proving = False                          # is it no search? then nothing may be missed
        self.given: dict[int, Value] = {}             # by calls that gave a buffer octets of the packet, how many, where an end says so

    # Memory --------------------------------------------------------------------------------------
    def load(self, s: State, insn, slot: int) -> Value | None:
        at = s.regs[insn.src]
        if at is None or at.kind != POINTER or at.region not in KEPT or insn.mode == 0x80:
            return super().load(s, insn, slot)
        lo, hi = s.offsets(at)
        lo, hi, size = lo + insn.off, hi + insn.off, insn.size
        if self.noted is not None and lo != hi:
            self.noted.append(FIRST[at.region] + ANYWHERE)
        if lo != hi or not 0 <= lo < FARTHEST or at.region == "ctx" and (f := self.profile.field_at(lo)) and f.kind != "scalar":
            return super().load(s, insn, slot)
        first, slots = FIRST[at.region] + lo, s.frames[0].slots
        if self.noted is not None:
            self.noted += range(first, first + size)
        found = slots.get(first)
        if found and (found[0] == size or found[0] > size and found[1].kind == NUMBER and s.num(found[1]).uhi < 1 << 8 * size):
            return found[1]                           # of a number that fits the low octets are all there is
        row = self._content(s, first, size)
        out = super().load(s, insn, slot)
        if out is None or out.kind != NUMBER:
            return out
        if row is not None and all(type(entry) is int for entry in row):
            out = number(sum(entry << i for i, entry in enumerate(row) if type(entry) is int))
        elif row is not None and out.sym and not out.off:
            bits.keep(s, out.sym, tuple((out.sym, i) if entry is None else entry for i, entry in enumerate(row)))
        slots[first] = size, out
        return out

    def _content(self, s: State, first: int, size: int) -> list | None:
        """The bits of `size` octets, None each where nothing is known; None if nothing is known of any."""
        slots, row, some = s.frames[0].slots, [], False
        for octet in range(first, first + size):
            entries: list = [None] * 8
            for back in range(8):
                found = slots.get(octet - back)
                if found and found[0] > back and (whole := bits.row_of(s, found[1])) is not None:
                    entries, some = list(whole[8 * back:8 * back + 8]), True
                    break
            row += entries
        return row + [0] * (64 - 8 * size) if some else None

    def written(self, s: State, reg: int, off: int, size: int, slot: int, value: Value | None) -> None:
        """Before something is written through a register: where it is no pointer, or is known to point into the stack and not where, the state would keep what it knew
        of memory. No container that was accepted does so, but here less may be known than what it was accepted for."""
        if not self.proving:
            return
        at = s.regs[reg]
        if at is not None and at.kind == POINTER and value is not None:
            lo, hi = s.offsets(at)
            if not at.region.startswith("stack") or -self.profile.stack <= lo + off and hi + off + size <= 0 and (lo == hi or value.kind == NUMBER):
                return
        raise Lost(f"where slot {slot} writes is not known")

    def store(self, s: State, reg: int, off: int, size: int, value: Value | None, slot: int) -> None:
        self.written(s, reg, off, size, slot, value)
        super().store(s, reg, off, size, value, slot)
        at = s.regs[reg]
        if at is None or at.kind != POINTER or at.region not in FIRST:
            return
        lo, hi = s.offsets(at)
        lo, hi = lo + off, hi + off
        self.overwrite(s, at.region, lo, hi + size)
        if lo == hi and at.region in KEPT and 0 <= lo < FARTHEST and value is not None and value.kind == NUMBER:
            s.frames[0].slots[FIRST[at.region] + lo] = size, value if size == 8 else self.narrow(s, value, size, slot)

    def overwrite(self, s: State, region: str, lo: int, hi: int) -> None:
        """Nothing is known of octets lo..hi any more."""
        first, slots = FIRST[region], s.frames[0].slots
        if hi - lo <= 16:
            for off in range(first + lo - 7, first + hi):
                if off in slots and off + slots[off][0] > first + lo:
                    del slots[off]
        else:
            for off in [off for off, (size, _) in slots.items() if first <= off < first + min(hi, ROOM) and off + size > first + lo]:
                del slots[off]

    def buffer(self, s: State, reg: int, size: int, slot: int, write: bool) -> None:
        if write:
            self.written(s, reg, 0, size, slot, number(0))
        super().buffer(s, reg, size, slot, write)
        at = s.regs[reg]
        if write and at is not None and at.region in FIRST:
            lo, hi = s.offsets(at)
            self.overwrite(s, at.region, lo, hi + size)

    def atomic(self, s: State, slot: int, insn) -> None:
        at = s.regs[insn.dst]
        self.written(s, insn.dst, insn.off, insn.size, slot, number(0))
        super().atomic(s, slot, insn)
        if at is not None and at.region in FIRST:
            lo, hi = s.offsets(at)
            self.overwrite(s, at.region, lo + insn.off, hi + insn.off + insn.size)

    def call(self, s: State, slot: int, id: int) -> None:
        spec = self.helpers.get(id)
        self.written_by(s, slot, spec)
        words = [self.word_of(s, i) for i in (3, 4)] if self.ends is not None and spec is not None and spec.name in PUTS else []
        super().call(s, slot, id)
        self.overwrite(s, "ctx", *CLOCK)
        if words:
            self.end_of(s, slot, *words)

    def written_by(self, s: State, slot: int, spec: HelperSpec | None) -> None:
        """Before a call: what it writes to, if that is no pointer any more."""
        for reg, kind in enumerate(spec.args if spec is not None else (), 1):
            if kind != "write" and kind[0] != "write":
                continue
            v, (_, size) = s.regs[reg], self.octets_of(s, reg, kind)
            if size is None or size and (v is None or v.kind != POINTER):
                self.written(s, reg, 0, 0, slot, None)

    def end_of(self, s: State, slot: int, place: Value | None, n: Value | None) -> None:
        """A buffer was given n octets of the packet, as long as it was when the chain began, from a place on, or the helper has ended the run, where the
        packet does not have them (buffers.c): then the call took no longer than with none, and what loops moved over is before the place, which is within
        the longest packet."""
        assert self.ends is not None
        kept, longest = self.ends
        if place is None or n is None or not 0 <= s.offsets(place)[0] <= s.offsets(place)[1] <= longest:
            return
        slots, sym = s.frames[0].slots, self.symbol("given", self.node.id, slot)
        if kept not in slots and sym not in s.vars and octets.given(s, sym, place, n):
            s.vars[sym] = d.signed(0, longest)
            slots[kept], slots[kept + 8] = (8, Value(NUMBER, None, sym, 0)), (8, n)
            self.given[slot] = n

    def change_packet(self, s: State, slot: int) -> None:
        s.sums = {}
        super().change_packet(s, slot)
        self.overwrite(s, "pkt", 0, FARTHEST)
        s.bits = {x: row for x, row in s.bits.items() if LEN not in row.roots}

    # Octets of the packet ------------------------------------------------------------------------
    def move_pointer(self, s: State, slot: int, name: str, p: Value, n: Value) -> Value | None:
        out = super().move_pointer(s, slot, name, p, n)
        if out is not None and out.region == "pkt" and name == "ADD" and out.sym not in (p.sym, n.sym):
            octets.moved(s, out, p, n)
        return out

    def branch(self, s: State, slot: int, insn: Instruction) -> list[State | None]:
        compared = [v.sym for v in (s.regs[insn.dst], s.regs[insn.src]) if v is not None and v.region == "pkt"] if insn.uses_reg else []
        out = super().branch(s, slot, insn)
        if LEN in compared:
            for each in out:
                for sym in compared if each is not None else ():
                    octets.before_end(each, sym)
        return out

    # Bits ----------------------------------------------------------------------------------------
    def number_alu(self, s: State, slot: int, insn, name: str, a: Value, b: Value, wide: bool) -> Value | None:
        rows = bits.row_of(s, a), bits.row_of(s, b)
        nb = s.num(b)
        out = super().number_alu(s, slot, insn, name, a, b, wide)
        if name == "ADD" and (s.sums or s.owed) and out is not None and out.sym not in (a.sym, b.sym):
            octets.added(s, out, a, b, wide)
        if out is None or out.kind != NUMBER or not out.sym or out.off or out.sym in (a.sym, b.sym) or rows[0] is None or rows[1] is None:
            return out
        left, right = rows if wide else (bits.low(rows[0], 4), bits.low(rows[1], 4))
        row = None
        if name in ("AND", "OR", "XOR", "ADD"):
            row = bits.combined(name, left, right, out.sym)
        elif name in ("LSH", "RSH") and nb.is_const and nb.ulo < (64 if wide else 32):
            row = bits.shifted(left, nb.ulo if name == "LSH" else -nb.ulo)
        if row is not None:
            bits.keep(s, out.sym, row if wide else bits.low(row, 4))
        return out

    def alu(self, s: State, slot: int, insn) -> Value | None:
        a = s.regs[insn.dst]
        row = bits.row_of(s, a) if insn.code == 0xD0 and a is not None and a.kind == NUMBER else None
        out = super().alu(s, slot, insn)
        if row is not None and out is not None and out.sym and out.sym != a.sym and not out.off and (insn.uses_reg or insn.is_wide):
            bits.keep(s, out.sym, bits.swapped(row, insn.imm))
        return out

    def narrow(self, s: State, value: Value, size: int, slot: int) -> Value:
        row = bits.row_of(s, value)
        out = super().narrow(s, value, size, slot)
        if row is not None and out.sym and out.sym != value.sym and not out.off:
            bits.keep(s, out.sym, bits.low(row, size))
        return out


def remember(s: State, region: str, offset: int, size: int, value: Value) -> None:
    """The state knows what lies there."""
    s.frames[0].slots[FIRST[region] + offset] = size, value


def remembered(s: State) -> dict[int, tuple[int, Value]]:
    """What memory holds: slot -> (octets, value)."""
    return {off: held for off, held in s.frames[0].slots.items() if off >= ROOM}


def of_one_shape(states: list[State]) -> list[State]:
    """The same states; octets that one of them knows as a word are a word in the others too, where these know each. So a field of a header
    that was not found is 0, and not unknown, beside one that was."""
    words: dict[int, int] = {}
    for s in states:
        for off, (size, _) in s.frames[0].slots.items():
            if size > 1 and off >= ROOM and size > words.get(off, 0):
                words[off] = size
    return [_with_words(s, words) for s in states]


def _with_words(s: State, words: dict[int, int]) -> State:
    slots, out = s.frames[0].slots, s
    for off, size in words.items():
        known = slots.get(off)
        if known is None and off >= MOVED:            # this way did not lead through the loop
            if out is s:
                out = s.copy()
                slots = out.frames[0].slots
            slots[off] = size, number(0)
        if known is None or known[0] != 1 or known[1].sym or known[1].kind != NUMBER:
            continue
        octets_there = [slots.get(each) for each in range(off, off + size)]
        if any(each is None or each[0] != 1 or each[1].sym for each in octets_there):
            continue
        if out is s:
            out = s.copy()
            slots = out.frames[0].slots
        for each in range(off + 1, off + size):
            del slots[each]
        slots[off] = size, number(sum((each[1].off & 0xFF) << 8 * i for i, each in enumerate(octets_there) if each is not None))
    return out
