"""Octets of any number in pieces: sixteen a turn, then the rest, for engines and verifiers that count turns."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import llvmlite.ir as ir

CHUNK = 16
SIZES = (CHUNK, 8, 4, 2, 1)


class Pieces:
    """Mixed into lowerings whose targets bound the turns of a loop."""

    def in_pieces(self, name: str, number: ir.IntType, has: Callable[[ir.Value], ir.Value], piece: Callable[[ir.Value, int], None],
                  hide: Callable[[ir.Value], ir.Value], below: int, sizes: Sequence[int] = SIZES) -> None:
        """`CHUNK` octets a turn while fewer than `below` are done, if that is of `sizes`, then once each of the others. `has(n)`: whether there are n
        octets; `piece(i, n)` works on n from the i-th on; `hide`: the same number, of which nobody knows which pieces there were."""
        b = self.b
        done = self.alloca(number, f"{name}.count")
        b.store(ir.Constant(number, 0), done)

        def one(i: ir.Value, size: int, there: ir.Block, otherwise: ir.Block) -> ir.Value:
            nxt = b.add(i, ir.Constant(number, size))
            b.cbranch(has(nxt), there, otherwise)
            b.position_at_end(there)
            piece(i, size)
            b.store(nxt, done)
            return nxt

        if CHUNK in sizes:
            head, body, out = (b.append_basic_block(f"{name}.{part}") for part in ("head", "body", "done"))
            b.branch(head)
            b.position_at_end(head)
            nxt = one(b.load(done, typ=number), CHUNK, body, out)
            b.cbranch(b.icmp_unsigned("<", nxt, ir.Constant(number, below)), head, out)
            b.position_at_end(out)
        for size in (size for size in sizes if size < CHUNK):
            more, less = b.append_basic_block(f"{name}.more"), b.append_basic_block(f"{name}.less")
            one(hide(b.load(done, typ=number)), size, more, less)
            b.branch(less)
            b.position_at_end(less)
