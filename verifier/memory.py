"""Loads and stores: which bytes an access may touch, whether they are there, and what a load returns."""
from __future__ import annotations

from . import domain as d, filled, summands
from .rules import Violation
from .state import LOW_HALF, LEN, NUMBER, POINTER, State, Value, stack_bits

OFFSET_LIMIT = 1 << 18                                # pointers stay within this distance of their region
ENTRIES = 1 << 14                                     # of read-only data that are looked at for one load,
ALL_ENTRIES = 1 << 19                                 # and in all (rule 38)
WORD = 4                                              # bytes that an access of the core has at most


def spread(lo: int, hi: int) -> str:
    return str(lo) if lo == hi else f"{lo}..{hi}" if max(abs(lo), abs(hi)) < 1 << 40 else "unbounded"


def count(n: int) -> str:
    return f"{n} byte" + "s" * (n != 1)


def extent(first: int, size: int) -> str:
    return f"byte {first}" if size == 1 else f"bytes {first} to {first + size - 1}"


def below(off: int) -> str:
    """A place on the stack, as assembly writes it."""
    return f"r10 - {-off}" if off < 0 else f"r10 + {off}"


def sample(n: d.Num, least: int = 0) -> int:
    """A number of the set, not below `least` if there is one: what an example shows."""
    return next((x for x in (least, n.ulo, n.uhi) if x >= least and x in n), n.uhi)


class Memory:
    """The part of the machine that knows regions. The rest is in transfer.py."""

    # Where ---------------------------------------------------------------------------------------
    def place(self, s: State, reg: int, off: int, size: int, slot: int, write: bool, raw: bool = False) -> Value | None:
        """The access's start as a pointer value, checked; None if the register is no pointer (reported)."""
        base = self.pointer(s, reg, slot)
        if base is None:
            return None
        at = base._replace(off=base.off + off)
        verb = "writes" if write else "reads"
        if self.checking:
            self.touched.setdefault(slot, set()).add(at.region.rstrip("0123456789"))
            if not raw:
                self.aligned[slot] = min(self.aligned.get(slot, WORD), self._alignment(s, at))
        if size == 8 and not raw:
            self.check_alignment(s, at, size, self.profile.align8, slot, f"{verb} 8 bytes", "access two words of 4 bytes")
        if at.region == "pkt":
            self._check_packet(s, at, size, slot, write)
        elif at.region.startswith("stack"):
            self._check_stack(s, at, size, slot, verb)
        elif at.region != "ctx":
            self._check_region(s, at, size, slot, write)
        return at

    def of_one(self, a: Value, b: Value) -> bool:
        """Pointers into the same memory: how far they are apart says nothing of where it lies."""
        return a.region == b.region and a.region not in self.found

    def _base(self, at: Value) -> int:
        """What the address of its region's first byte is a multiple of; of the stack, its last one's behind."""
        if at.region == "ctx" or at.region.startswith("stack"):
            return self.profile.align
        return 1 if at.region == "pkt" else self.regions[at.region].align

    def _alignment(self, s: State, at: Value) -> int:
        """What this address surely is a multiple of: 1, 2 or 4."""
        n = s.num(at)
        odd = n.bits | n.mask | self._base(at) | WORD
        return odd & -odd

    def check_alignment(self, s: State, at: Value, size: int, need: int, slot: int, does: str, instead: str) -> None:
        align, n = self._base(at), s.num(at)
        if align % need or (n.bits | n.mask) & (need - 1):
            first = n.slo if n.is_const else next((n.slo + i for i in range(need) if n.slo + i in n and (n.slo + i) % need), n.slo)
            where = f"{count(size)} at {below(first)}" if at.region.startswith("stack") else f"{extent(first % (1 << 32), size)} of {at.region}"
            self.fail(27, slot, f"{does} of {at.named} that need not be {need}-aligned", instead,
                      f"this {does.split()[0]} {where}" + (", which begins at any address" if align % need else ""))

    def _check_packet(self, s: State, at: Value, size: int, slot: int, write: bool) -> None:
        lo, hi = s.offsets(at)
        verb = "writes" if write else "reads"
        if write and not self.profile.packet_write:
            self.fail(22, slot, "writes to the packet, which is read-only here", "change a copy on the stack or in the output",
                      "others may still read the packet")
        if lo < -self.profile.headroom:
            self.fail(19, slot, f"{verb} {count(size)} at packet offset {spread(lo, hi)}, which may lie before the packet",
                      "compare the cursor with the packet's start, or add an unsigned number to it",
                      f"this {verb} byte {lo}, {count(-lo)} before the packet" if lo > -(1 << 40) else "")
        proven = s.bounds(LEN)[0]
        behind = at.off + size - s.gap(at.sym, LEN)[0]  # bytes of the access behind the end, at most
        window = 0 if write else self.profile.window
        if behind > window:
            first = max(0, lo + size - proven)
            far = count(behind) if first == behind else f"{spread(first, behind)} bytes"
            text = f"the cursor may be {far} beyond the proven {count(proven)}"
            if behind > self.profile.max_packet + size:
                text = f"the cursor is not bounded: only {count(proven)} proven"
            if window:
                text += f", {window} more are readable"
            self.fail(19, slot, f"{verb} {count(size)} at packet offset {spread(lo, hi)}; {text}",
                      f"compare {f'the cursor + {size}' if at.sym else f'pkt + {at.off + size}'} with pkt_end first", self._beyond(s, at, size, verb))

    def _beyond(self, s: State, at: Value, size: int, verb: str) -> str:
        """A packet's length, and which of its bytes the access touches then."""
        gap = s.gap(at.sym, LEN)[0]                   # length less cursor, at least
        length = max(s.bounds(LEN)[0], s.bounds(at.sym)[0] + gap) if at.sym not in (0, LEN) else s.bounds(LEN)[0]
        first = (0 if not at.sym else length if at.sym == LEN else length - gap) + at.off
        if length > s.bounds(LEN)[1] or abs(first) > 1 << 40:
            return ""
        return f"when the packet is {count(length)} long, this {verb} {extent(first, size)} of it"

    def _check_stack(self, s: State, at: Value, size: int, slot: int, verb: str) -> None:
        lo, hi = s.offsets(at)
        if hi - lo > OFFSET_LIMIT:
            self.fail(18, slot, f"stack offset r10 + ({spread(lo, hi)}) is not bounded", "mask or compare the index first",
                      f"this {verb} {count(size)} at {below(hi)}" if hi < 1 << 40 else "")
        elif lo < -self.profile.stack or hi + size > 0:
            rule = 18 if at.sym else 17
            first = lo if lo < -self.profile.stack else hi
            self.fail(rule, slot, f"{count(size)} at r10 + ({spread(lo, hi)}) are not within the {self.profile.stack} bytes below r10",
                      "mask or compare the index first" if at.sym else f"ask for {self.profile.stack} bytes at most" if size > self.profile.stack
                      else f"use places from r10 - {self.profile.stack} to r10 - {size}",
                      f"this {verb} {count(size)} at {below(first)}, {'below' if first < -self.profile.stack else 'which reach above'} the stack")
        elif self.checking:
            owner = self.node.chain[int(at.region.removeprefix("stack"))]
            if -lo > self.kept.get(owner, -lo):
                self.fail(17, slot, f"{count(size)} at r10 + ({spread(lo, hi)}) are not kept while another function is called, "
                          f"{count(self.kept[owner])} below r10 are: as many as addresses made of r10 and constants reach",
                          "add the lowest offset to r10 as a constant", "the called function would write over what lies there")
            self.stack_used[owner] = max(self.stack_used.get(owner, 0), -lo)

    def _check_region(self, s: State, at: Value, size: int, slot: int, write: bool) -> None:
        region = self.regions[at.region]
        verb = "writes" if write else "reads"
        if not (region.write if write else region.read):
            self.fail(22, slot, f"{verb} {at.region}, which is {'read' if write else 'write'}-only", "change a copy on the stack or in the state")
        lo, hi = s.offsets(at)
        if self.checking and at.region == "out":
            self.output = max(self.output, hi + size)
        if lo < 0 or hi + size > region.size:
            self.fail(22, slot, f"{verb} {count(size)} at offset {spread(lo, hi)} of {at.region}, which has {count(region.size)}",
                      "compare or mask the offset first" if at.sym else "use offsets inside it", self._outside(lo, hi, size, region.size, verb, at.region))

    @staticmethod
    def _outside(lo: int, hi: int, size: int, there: int, verb: str, region: str) -> str:
        first = lo if lo < 0 else hi
        if abs(first) > 1 << 40:
            return ""
        last = f"its last byte is {there - 1}" if there else "it has none here"
        return f"this {verb} {extent(first, size)} of {region}; {last}"

    # Loads ---------------------------------------------------------------------------------------
    def load(self, s: State, insn, slot: int) -> Value | None:
        size, signed = insn.size, insn.mode == 0x80
        at = self.place(s, insn.src, insn.off, size, slot, False)
        if at is None:
            return None
        if at.region == "ctx":
            value = self._load_context(s, at, size, slot)
        elif at.region.startswith("stack"):
            value = self._load_stack(s, at, size, slot)
        else:
            value = self._held(s, at, size, signed)
        if signed and at.region == "ctx" and self.profile.whole:
            self.fail(21, slot, f"a signed load of {count(size)} at context offset {at.off}", "load it and extend the register",
                      "no document says that the kernel extends what it puts there")
        if isinstance(value, d.Num):
            return self.fresh(s, slot, d.sign_extend(value, 8 * size) if signed else value)
        if value is not None and signed:
            if value.kind != NUMBER:
                self.fail(25, slot, "a signed load of a pointer", "load it without extending its sign",
                          "the number would show where the region lies")
                return None
            return self.fresh(s, slot, d.sign_extend(s.num(value), 8 * size))
        return value

    def _held(self, s: State, at: Value, size: int, signed: bool) -> d.Num:
        """What may be loaded of memory that nothing writes: of what it holds all that the address may lead to."""
        holds = self.regions[at.region].holds if at.region in self.regions else None
        (lo, hi), n, (m, r) = s.offsets(at), s.num(at), s.stride(at)
        if holds is None or lo < 0 or hi + size > len(holds) or hi - lo > ENTRIES:
            return d.of_size(size)
        key = at.region, n, m, r, size, signed
        if key not in self.held:
            places = range(lo + (r - lo) % m if m else lo, hi + 1, m or 1)
            self.looked += len(places)
            found = [int.from_bytes(holds[o:o + size], "little", signed=signed) for o in places if o in n] if self.looked <= ALL_ENTRIES else []
            self.held[key] = d.hull(found) if found else d.of_size(size)
        return self.held[key]

    def _load_context(self, s: State, at: Value, size: int, slot: int):
        if at.sym:
            self.fail(21, slot, "the context is read at a variable offset", "read each slot at its own offset",
                      f"it could be at offset {s.offsets(at)[0]} or at {s.offsets(at)[1]}")
            return d.of_size(size)
        field = self.profile.field_at(at.off)
        if field and field.kind != "scalar" and (at.off, size) == (field.offset, field.width):
            if field.kind == "pkt_end":
                return Value(POINTER, "pkt", LEN, 0)
            return Value(POINTER, field.kind, 0, 0)
        value = d.of_size(size)
        for off in range(at.off, at.off + size):
            f = self.profile.field_at(off)
            if f is None or f.kind != "scalar":
                if (there := self.profile.unsupported_at(off)) is not None:
                    self.fail(21, slot, f"reads {count(size)} at context offset {at.off}, where {there.name} is, which is not supported",
                              f"do without: known are {', '.join(x.name for x in self.profile.fields)}", "nothing is known here of what the kernel puts there")
                    return value
                what = f"pointer slot {f.name}" if f else "no field"
                self.fail(21, slot, f"reads {count(size)} at context offset {at.off}, where {what} is",
                          f"read all {f.width} bytes of {f.name} at offset {f.offset}" if f else "read a slot of the context",
                          "these would be bytes of an address" if f else f"the context's slots end at byte {self.profile.size - 1}")
                return value
        if self.profile.whole and (at.off, size) != (field.offset, field.width):
            self.fail(21, slot, f"reads {count(size)} at context offset {at.off}, a part of {field.name}",
                      f"read all {field.width} bytes of {field.name} at offset {field.offset}", "the kernel replaces loads of whole slots only")
        if field.max is not None and (at.off, size) == (field.offset, field.width):
            return d.unsigned(0, field.max)
        return value

    def frame_of(self, s: State, at: Value):
        return s.frames[int(at.region[5:])]

    def _load_stack(self, s: State, at: Value, size: int, slot: int):
        frame = self.frame_of(s, at)
        lo, hi = s.offsets(at)
        if lo == hi:
            found = frame.slots.get(lo)
            if found and found[0] == size:
                if found[1].kind == NUMBER and s.num(found[1]).uhi >> 8 * size:
                    s.learn(found[1], d.of_size(size))      # a loop has lost it
                return found[1]
            if found and found[1].kind == NUMBER and size < found[0]:
                return self.narrow(s, found[1], size, slot)
        if lo < -self.profile.stack or hi + size > 0:
            return d.of_size(size)
        self.readable_stack(s, at, lo, hi + size, slot)
        return d.of_size(size)

    @staticmethod
    def _filled(s: State, at: Value, size: int) -> bool:
        """These bytes are written, wherever they are, because a loop came that far."""
        first = filled.place(s, at)
        return bool(s.filled) and filled.covered(s, int(at.region[5:]), first, filled.plus(first, size))

    def readable_stack(self, s: State, at: Value, lo: int, hi: int, slot: int) -> None:
        """Bytes lo..hi of the frame are written and hold no pointer."""
        frame = self.frame_of(s, at)
        wanted = stack_bits(lo, hi - lo)
        missing = wanted & ~frame.written
        if missing and not self._filled(s, at, hi - s.offsets(at)[1]):
            first = (missing & -missing).bit_length() - 1 - 512
            self.fail(16, slot, f"stack byte r10 - {-first} may not have been written on every path", "write it first",
                      f"this reads what an earlier run left at r10 - {-first}")
        for off, (size, v) in frame.slots.items():
            if v.kind != NUMBER and off < hi and lo < off + size:
                self.fail(25, slot, f"reads bytes of the pointer spilled at r10 - {-off}", f"reload all {size} bytes",
                          f"the number read would be part of an address of {v.named or 'memory'}")

    # Stores --------------------------------------------------------------------------------------
    def store(self, s: State, reg: int, off: int, size: int, value: Value | None, slot: int) -> None:
        at = self.place(s, reg, off, size, slot, True)
        if at is None or value is None:
            return
        if at.region.startswith("stack"):
            self._store_stack(s, at, size, value, slot)
            return
        if value.kind != NUMBER:
            self.fail(25, slot, f"a {value.kind} is stored to {at.region}", "store numbers only",
                      f"whoever reads {at.named} later learns where {value.named or 'memory'} lies")
        if at.region == "ctx":
            self._store_context(at, size, slot)
            if self.checking and (field := self.profile.field_at(at.off)) is not None and field.name == "out_len":
                whole = at.off == field.offset and size >= field.width            # else the other octets of it count, too
                self.output = max(self.output, s.num(value).uhi if whole else self.regions["out"].size)        # none of it may be left from an older run

    def _store_context(self, at: Value, size: int, slot: int) -> None:
        if at.sym:
            self.fail(21, slot, "the context is written at a variable offset", "write each slot at its own offset",
                      "one of the offsets may be a pointer's")
            return
        for off in range(at.off, at.off + size):
            f = self.profile.field_at(off)
            if f is None or not f.writable:
                what = f"slot {f.name} is read-only" if f else "no field is there"
                self.fail(21, slot, f"writes {count(size)} at context offset {at.off}: {what}",
                          f"writable are {', '.join(x.name for x in self.profile.fields if x.writable) or 'no slots here'}",
                          "the engine would follow an address that the container made" if f and f.kind != "scalar" else "the engine relies on it")
                return
            self.cuts |= f.name == "cut"

    def _store_stack(self, s: State, at: Value, size: int, value: Value, slot: int) -> None:
        frame = self.frame_of(s, at)
        lo, hi = s.offsets(at)
        if lo < -self.profile.stack or hi + size > 0:
            if lo != hi and value.kind == NUMBER:
                self.fill(s, at, size)                # reported by place(), and perhaps found to be within later in the search
            return
        exact = lo == hi
        if value.kind != NUMBER:
            whole = 4 if value.kind == LOW_HALF and size == 4 else 8
            if not exact or size != whole or lo % whole:
                self.fail(25, slot, f"a {value.kind} is stored in {count(size)} at r10 + ({spread(lo, hi)})",
                          "spill pointers whole to 8-aligned slots",
                          "what is read there later would be parts of two addresses" if exact else f"it could be stored at {below(lo)} or at {below(hi)}")
                return
            if value.region and value.region.startswith("stack") and int(value.region[5:]) > int(at.region[5:]):
                self.fail(25, slot, "a pointer to this function's stack is stored in the caller's frame", "return numbers, or what they are in the caller's own frame",
                          "the caller could use it after the frame it points to is gone")
                return
        self.clear_stack(frame, lo, hi + size)
        if exact:
            frame.written |= stack_bits(lo, size)
            if value.kind != NUMBER or size == 8:
                frame.slots[lo] = size, value
            else:
                frame.slots[lo] = size, self.narrow(s, value, size, slot)
            if value.kind != NUMBER and s.filled:
                filled.cut(s, int(at.region[5:]), lo, lo + size)
        else:
            self.fill(s, at, size)

    def fill(self, s: State, at: Value, size: int) -> None:
        """Numbers were written at a variable offset."""
        lo, hi = s.offsets(at)
        if lo < -self.profile.stack or hi + size > 0 or stack_bits(lo, hi + size - lo) & ~filled.numbers(self.frame_of(s, at)):
            filled.fill(s, int(at.region[5:]), filled.place(s, at), size)

    def clear_stack(self, frame, lo: int, hi: int) -> None:
        """Bytes lo..hi may be overwritten: no value is known there, what is left of a pointer is nothing."""
        for off, (size, v) in list(frame.slots.items()):
            if off < hi and lo < off + size:
                del frame.slots[off]
                if v.kind != NUMBER:
                    frame.written &= ~stack_bits(off, size)

    # Buffers of helpers --------------------------------------------------------------------------
    def buffer(self, s: State, reg: int, size: int, slot: int, write: bool) -> None:
        """A helper reads or wholly writes `size` bytes at the register."""
        at = self.place(s, reg, 0, size, slot, write, raw=True)
        if at is None:
            return
        lo, hi = s.offsets(at)
        if at.region == "ctx":
            self.fail(31, slot, f"r{reg} points to the context, helpers take other memory", "copy what is needed to the stack")
        elif at.region.startswith("stack") and lo >= -self.profile.stack and hi + size <= 0:
            if not write:
                self.readable_stack(s, at, lo, hi + size, slot)
                return
            frame = self.frame_of(s, at)
            self.clear_stack(frame, lo, hi + size)
            if lo == hi:
                frame.written |= stack_bits(lo, size)
            else:
                self.fill(s, at, size)

    def narrow(self, s: State, value: Value, size: int, slot: int) -> Value:
        """The low bytes of a number; the number itself if they are all of it."""
        n = s.num(value)
        if n.uhi < 1 << 8 * size:
            return value
        lo, hi = s.offsets(value)
        if size >= 4 and value.sym and lo >> 8 * size == hi >> 8 * size:
            return value._replace(off=value.off - (lo >> 8 * size << 8 * size))
        out = self.fresh(s, slot, d.truncate(n, size))
        if size <= 4 and out.sym and value.sym:
            self.keep_low(s, out.sym, value, (1 << 8 * size) - 1)
        return out

    @staticmethod
    def keep_low(s: State, sym: int, value: Value, mask: int) -> None:
        """`sym` is the bits of a number that the mask has; of low bits themselves, those of what they are of."""
        y, c, m = s.halves.get(value.sym, (value.sym, 0, d.M64))
        if mask <= m and y in s.vars:
            s.halves[sym] = y, c + value.off & mask, mask
        else:
            s.halves[sym] = value.sym, value.off & mask, mask
        for high, known in s.rounded.items():
            if known == (value.sym, mask + 1) and not value.off and high in s.vars:
                summands.together(s, sym, high, value.sym)

    @staticmethod
    def keep_high(s: State, sym: int, y: int, unit: int) -> None:
        """`sym` is y, of at most 63 bits, without those of its bits that are less than `unit`: they and it are y together."""
        s.rounded[sym] = y, unit
        for low, known in s.halves.items():
            if known == (y, 0, unit - 1) and low in s.vars:
                summands.together(s, low, sym, y)

    def fail(self, rule: int, slot: int, detail: str, hint: str = "", example: str = "") -> None:
        """While the fixpoint is searched nothing is final: only the last pass reports."""
        if self.checking:
            raise Violation(rule, slot, detail, hint, example)
        if self.culprit is None:                      # the first of an instruction's mistakes
            self.failed[slot], self.culprit = (rule, detail, hint, example), slot
