"""Copies from the packet to the output buffer, of so many octets as a packet has of something, and at most so many.

Where a deparser cannot emit more than the buffer holds, there is room: what a verifier must see of it is tested once, and no turn asks. Neither does one that
reads no farther than the window reaches. A few octets are all written that there may be, in no loop, and so many counted as there are.
"""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I32, i32, is_const
from lpn.compiler.target import OUT_SIZE, WINDOW

STEP = 4                                        # octets a turn
FEW = 16                                        # octets that are copied in no loop


class Copies:
    """Mixed into `Lowering`."""

    def copy(self, source: ir.Value, octets: ir.Value, most: int, behind: int | None = None) -> None:
        """The last turn may read into the window and write beyond, which what follows overwrites. Where the buffer may have no room for that, the rest goes
        octet by octet. `behind`: so far behind a place that is known to be in the packet the source lies, if it does."""
        whole = (most + STEP - 1) // STEP * STEP
        near = behind is not None and behind + whole <= WINDOW
        has_room = self.has_room_for(most, whole)
        if not is_const(octets):                # opaque: what LLVM knows of it, a verifier may not
            octets = self.opaque(octets)
        if near and has_room and whole <= FEW:
            self.copy_words(source, whole)
            self.b.store(self.opaque(self.b.add(self.written(), octets)), self.at_slot)
            self.at_most = OUT_SIZE
        else:
            self.copy_in_turns(source, octets, whole, near, has_room)

    def copy_words(self, source: ir.Value, octets: int) -> None:
        here = self.here()
        for at in range(0, octets, STEP):
            self.put(here, at, self.load_packet(source, at, 8 * STEP, True), True)

    def copy_in_turns(self, source: ir.Value, octets: ir.Value, most: int, near: bool, has_room: bool) -> None:
        b, limit = self.b, OUT_SIZE - STEP
        start = self.written()
        done_slot = self.alloca(I32, "copied")
        b.store(i32(0), done_slot)
        head, body, out = (b.append_basic_block(f"copy.{n}") for n in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        i = b.load(done_slot, typ=I32)
        b.cbranch(b.icmp_unsigned("<", i, octets), body, out)
        b.position_at_end(body)
        p = self.at(source, i)
        if not near:
            self.reject_unless(b.icmp_unsigned("<=", p, self.end), "RecordMismatch")
        to = b.add(start, i)
        if not has_room:
            word, rest = b.append_basic_block("copy.word"), b.append_basic_block("copy.rest")
            self.likely(b.cbranch(b.icmp_unsigned("<=", to, i32(limit)), word, rest))
            b.position_at_end(rest)
            self.copy_rest(p, to, b.sub(octets, i), out)
            b.position_at_end(word)
        self.store(self.at(self.out, to), 0, self.load(p, 0, 32, True), True)
        b.store(b.add(i, i32(STEP)), done_slot)
        nxt = b.load(done_slot, typ=I32)
        # One turn more where there may be more octets than the buffer has: what begins with it has filled it, and is refused then.
        b.cbranch(b.icmp_unsigned("<", nxt, i32(most if most <= OUT_SIZE else OUT_SIZE + STEP)), head, out)
        b.position_at_end(out)
        # opaque, or LLVM tests instead what the number was made from, and no verifier knows what that says of it
        b.store(self.opaque(b.add(start, octets)), self.at_slot)
        self.at_most = OUT_SIZE                 # tested anew at the next write

    def copy_rest(self, source: ir.Value, to: ir.Value, octets: ir.Value, done: ir.Block) -> None:
        """The last octets of a full buffer: fewer than four, or they do not fit. No loop: where `to` is a multiple of four not one octet fits, which
        a verifier may know, and a checker of certificates asks for all turns of a loop that it sees."""
        b = self.b
        if self.full is None:
            here, self.full = b.block, b.append_basic_block("copy.full")
            b.position_at_end(self.full)
            self.return_drop(i32(self.reason("PacketTooLong")))
            b.position_at_end(here)
        to = self.opaque(to)
        target = self.at(self.out, to)
        full = self.full
        for k in range(STEP - 1):
            octet, more = b.append_basic_block("copy.octet"), b.append_basic_block("copy.more")
            b.cbranch(b.icmp_unsigned("<", to, i32(OUT_SIZE - k)), octet, full)
            b.position_at_end(octet)
            self._store(target, k, 1, self._load(source, k, 1))
            b.cbranch(b.icmp_unsigned("<=", octets, i32(k + 1)), done, more)
            b.position_at_end(more)
        b.branch(full)
