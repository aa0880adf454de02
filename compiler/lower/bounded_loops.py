"""Loops over octets of the packet in an XDP program: copies into the output, sums. The kernel's verifier follows each turn, and each way out of a loop."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I32, I64, PKT, i32
from lpn.compiler.target import MAX_PACKET, OUT_SIZE
from lpn.compiler.xdp import COPY_OCTETS, COPY_START

from .pieces import Pieces


class BoundedLoops(Pieces):
    """Mixed into `BoundedLowering`."""

    def copy(self, source: ir.Value, octets: ir.Value, most: int, behind: int | None = None) -> None:
        """Octet by octet is too long a way for the verifier: sixteen at once first, then the rest; nothing beyond either end. Where from,
        how far and how much come from memory at each turn: all ways out of the loop are one path then."""
        b = self.b
        self._store(self.ctx, COPY_OCTETS, 4, octets)
        self._store(self.ctx, COPY_START, 4, self.written())
        total = self.add32(self.recall(COPY_START), self.recall(COPY_OCTETS))
        self.reject_unless(b.icmp_unsigned("<=", total, i32(OUT_SIZE)), "PacketTooLong")
        self.in_pieces("copy", I32, self.more_octets, lambda i, size: self.copy_piece(source, i, size), self.forget_number, OUT_SIZE)
        b.store(self.add32(self.recall(COPY_START), self.recall(COPY_OCTETS)), self.at_slot)
        self.at_most = OUT_SIZE                 # tested anew at the next write

    def more_octets(self, count: ir.Value) -> ir.Value:
        return self.b.icmp_unsigned("<=", count, self.recall(COPY_OCTETS))

    def copy_piece(self, source: ir.Value, i: ir.Value, octets: int) -> None:
        b, word = self.b, min(octets, 4)
        p = self.forget(self.at(source, b.and_(self.hide(b.zext(i, I64)), ir.Constant(I64, 2 * OUT_SIZE - 1))))
        self.reject_unless(self.inside(self.at(p, octets)), "RecordMismatch")
        to = self.hide(b.zext(b.add(self.recall(COPY_START), i), I64))
        self.reject_unless(b.icmp_unsigned("<=", to, ir.Constant(I64, OUT_SIZE - octets)), "PacketTooLong")
        for k in range(0, octets, word):
            self._store(self.at(self.out, to), k, word, self._load(p, k, word))

    def sum_varbit(self, source: ir.Value, octets: ir.Value, most: int, words: ir.Value, upper: ir.Value) -> tuple[ir.Value, ir.Value]:
        """In halves of words, sixteen octets a turn, then the rest; how many there are comes from memory, as for `copy`."""
        b = self.b
        self._store(self.ctx, COPY_OCTETS, 4, octets)
        acc = self.alloca(I32, "sum")
        b.store(words, acc)

        def add(i: ir.Value, size: int) -> None:
            p = self.payload_at(source, i)
            self.reject_unless(self.inside(self.at(p, size)), "RecordMismatch")
            total = b.load(acc, typ=I32)
            for k in range(0, size, 2):
                total = b.add(total, self._load(p, k, min(size, 2)))
            b.store(total, acc)

        self.in_pieces("sum.octets", I32, self.more_octets, add, self.forget_number, most)
        return b.load(acc, typ=I32), upper

    def sum_packet(self, start: ir.Value, words: ir.Value, upper: ir.Value) -> tuple[ir.Value, ir.Value]:
        """As for other targets, in halves of words; each loop ends by itself within the largest packet."""
        b = self.b
        q, acc, turn = self.alloca(PKT, "sum.at"), self.alloca(I32, "sum"), self.alloca(I32, "sum.turn")
        b.store(self.forget(start), q)
        b.store(words, acc)
        limit = self.payload_limit(start)
        for size, turns in ((32, MAX_PACKET // 32), (2, 16), (1, 1)):
            head, body, done = (b.append_basic_block(f"sum{size}.{part}") for part in ("head", "body", "done"))
            b.store(i32(0), turn)
            b.branch(head)
            b.position_at_end(head)
            p = self.hide(b.load(q, typ=PKT))
            nxt = self.at(p, size)
            self.while_payload(nxt, limit, body, done)
            s = b.load(acc, typ=I32)
            for k in range(0, size, 2):
                s = b.add(s, self._load(p, k, min(size, 2)))
            b.store(s, acc)
            b.store(nxt, q)
            n = self.hide(b.add(b.load(turn, typ=I32), i32(1)))
            b.store(n, turn)
            b.cbranch(b.icmp_unsigned("<", n, i32(turns)), head, done)
            b.position_at_end(done)
            b.store(self.forget(b.load(q, typ=PKT)), q)         # however many turns it took
        return b.load(acc, typ=I32), upper
