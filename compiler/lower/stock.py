"""Lowering for the stock Femto-Container engine (target `femto`), which ends a run after 200 taken jumps: a turn of a loop over octets takes more of them."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I32, I64
from lpn.compiler.target import OUT_SIZE

from .base import Lowering
from .pieces import SIZES, Pieces

WORD = 4


class StockLowering(Pieces, Lowering):
    """`Lowering` with few jumps. Numbers of octets are of 64 bits here: those of 32 would be extended for each comparison."""

    sum_step, sums_in_loops, divides = 32, False, False

    def copy(self, source: ir.Value, octets: ir.Value, most: int, behind: int | None = None) -> None:
        """Sixteen octets a turn, then half as many as long as there are any; nothing is written that is not counted."""
        b = self.b
        start, left = (self.opaque(b.zext(v, I64)) for v in (self.written(), octets))
        self.in_pieces("copy", I64, lambda count: b.icmp_unsigned("<=", count, left), lambda i, size: self.copy_piece(source, start, i, size),
                       self.opaque, OUT_SIZE, [size for size in SIZES if size <= most])
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
