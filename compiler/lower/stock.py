"""Lowering for the stock Femto-Container engine (target `femto`), which ends a run after 200 taken jumps: a turn of a loop over octets takes more of them."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I32, I64
from lpn.compiler.target import OUT_SIZE

from .base import Lowering

COPY_CHUNK = 16
WORD = 4


class StockLowering(Lowering):
    """`Lowering` with few jumps. Numbers of octets are of 64 bits here: those of 32 would be extended for each comparison."""

    sum_step = 32

    def copy(self, source: ir.Value, octets: ir.Value, most: int) -> None:
        """Sixteen octets a turn, then half as many as long as there are any; nothing is written that is not counted."""
        b = self.b
        start, left = (self.opaque(b.zext(v, I64)) for v in (self.written(), octets))
        done_slot = self.alloca(I64, "copied")
        b.store(ir.Constant(I64, 0), done_slot)
        if most >= COPY_CHUNK:
            head, body, out = (b.append_basic_block(f"copy.{n}") for n in ("head", "body", "done"))
            b.branch(head)
            b.position_at_end(head)
            i = b.load(done_slot, typ=I64)
            nxt = b.add(i, ir.Constant(I64, COPY_CHUNK))
            b.cbranch(b.icmp_unsigned("<=", nxt, left), body, out)
            b.position_at_end(body)
            self.copy_piece(source, start, i, COPY_CHUNK)
            b.store(nxt, done_slot)
            b.cbranch(b.icmp_unsigned("<", nxt, ir.Constant(I64, OUT_SIZE)), head, out)
            b.position_at_end(out)
        step = COPY_CHUNK // 2
        while step:
            if step <= most:
                i = self.opaque(b.load(done_slot, typ=I64))
                more, out = b.append_basic_block("copy.more"), b.append_basic_block("copy.less")
                nxt = b.add(i, ir.Constant(I64, step))
                b.cbranch(b.icmp_unsigned("<=", nxt, left), more, out)
                b.position_at_end(more)
                self.copy_piece(source, start, i, step)
                b.store(nxt, done_slot)
                b.branch(out)
                b.position_at_end(out)
            step //= 2
        b.store(self.opaque(b.trunc(b.add(start, left), I32)), self.at_slot)
        self.at_most = OUT_SIZE                 # tested anew at the next write

    def copy_piece(self, source: ir.Value, start: ir.Value, i: ir.Value, octets: int) -> None:
        """So many octets behind the i-th, where there is room for them."""
        b = self.b
        p = self.at(source, i)
        self.reject_unless(b.icmp_unsigned("<=", p, self.end), "RecordMismatch")
        to = self.opaque(b.add(start, i))
        self.reject_unless(b.icmp_unsigned("<=", to, ir.Constant(I64, OUT_SIZE - octets)), "PacketTooLong")
        target, word = self.at(self.out, to), min(octets, WORD)
        for k in range(0, octets, word):
            self._store(target, k, word, self._load(p, k, word))
