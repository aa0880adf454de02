"""`first i in low..high where (...)`: a codec's search for the first number that the condition holds of.

What does not ask for the number is asked once, before. Where all that it indexes has cells of one size, a turn steps from cell to
cell, and the number is what is left of the offset in the end: no turn multiplies.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

import llvmlite.ir as ir

from lpn.compiler.bits import I32, Val, i32
from lpn.lang import ast
from lpn.lang.instances import walk

from .places import Place, Value


class Searches:
    """Mixed into `Lowering`. `masked`: of loop variables that have bounds, more than their values; `stepped`: of those that are kept
    as offsets, the size of a cell and the offset in this turn."""

    masked: dict[object, int]
    stepped: dict[object, tuple[int, ir.Value]]

    def search(self, v: ast.CodecVar, place: Place, once: list[ast.Expr], each: list[ast.Expr]) -> None:
        """`once`, `each`: the parts of the condition that are asked before, and in each turn."""
        self.search_where(v, place, self.one_stride(v, each), partial(self.require_all, once), partial(self.require_all, each))

    def require_all(self, parts: list[ast.Expr], otherwise: ir.Block) -> None:
        for part in parts:
            self.require(part, otherwise)

    def search_where(self, v: ast.CodecVar, place: Place, stride: int, before: Callable[[ir.Block], None], asks: Callable[[ir.Block], None]) -> None:
        """`stride`: octets from cell to cell, if the number is a step from one to the next; `before`, `asks`: go on where what is asked holds, to
        the block otherwise."""
        b, low, high = self.b, int(v.low.const), int(v.high.const)
        size = 1 << (high - 1).bit_length()
        # Where none is found, the number behind the last is what is left: it is `low`, too, if it has the low bits of that.
        same = low == 0 and high == size
        slot = self.alloca(I32, v.name)
        b.store(i32(low * stride), slot)
        place.set(self.constant(place.width, low))
        head, found, nxt, done = (b.append_basic_block(f"first.{n}") for n in ("head", "found", "next", "done"))
        before(done)
        b.branch(head)
        b.position_at_end(head)
        at = b.load(slot, typ=I32)
        i = divided(b, at, stride, high)
        self.masked[v.loop] = size
        if stride > 1:
            self.stepped[v.loop] = stride, at
        self.env[v.loop] = Value(v.loop.type, self.resize(Val(32, (b.and_(i, i32(size - 1)),)), self.width_of(v.loop.type)))
        asks(nxt)
        b.branch(found)
        b.position_at_end(nxt)
        at = self.opaque(b.add(at, i32(stride)))        # or LLVM makes a constant of it where none is found
        b.store(at, slot)
        b.cbranch(b.icmp_unsigned("<=", at, i32((high - 1) * stride)), head, found if same else done)
        b.position_at_end(found)
        i = divided(b, b.load(slot, typ=I32), stride, high)
        place.set(self.resize(Val(32, (b.and_(i, i32(size - 1)) if same else i,)), place.width))
        b.branch(done)
        b.position_at_end(done)
        self.found_first(place)

    def require(self, e: ast.Expr, otherwise: ir.Block) -> None:
        """Goes on where the condition holds."""
        more = self.b.append_basic_block("holds")
        self.branch(e, more, otherwise)
        self.b.position_at_end(more)

    def one_stride(self, v: ast.CodecVar, each: list[ast.Expr]) -> int:
        """The octets from cell to cell of all that the number indexes; 1 if these differ, or a cell may be beyond the end."""
        if int(v.low.const) or self.forgetful:
            return 1
        cells = [n for n in walk(each) if isinstance(n, ast.Index) and isinstance(n.index, ast.Name) and n.index.decl is v.loop]
        found = {obj.stride if obj.count >= int(v.high.const) else 1
                 for obj in (self.state_region(n.base.decl)[0] for n in cells if isinstance(getattr(n.base, "decl", None), ast.Register))}
        stride = found.pop() if len(found) == 1 else 1
        return stride if stride * int(v.high.const) < 1 << 16 else 1


def divided(b: ir.IRBuilder, offset: ir.Value, stride: int, count: int) -> ir.Value:
    """The number of a cell, by its offset."""
    factor, shift = reciprocal(stride, count)
    product = b.mul(offset, i32(factor)) if factor > 1 else offset
    return b.lshr(product, i32(shift)) if shift else product


def reciprocal(stride: int, count: int) -> tuple[int, int]:
    """(factor, shift) with n == n * stride * factor >> shift for numbers up to `count`: the division leaves no rest. The product has 32 bits
    for offsets of 16."""
    twos = (stride & -stride).bit_length() - 1
    odd = stride >> twos
    shift = (odd * (count + 1)).bit_length() if odd > 1 else 0
    return -(-(1 << shift) // odd), shift + twos


def mentions(e: ast.Expr, loop: ast.VarDecl | None) -> bool:
    return any(isinstance(n, ast.Name) and n.decl is loop for n in walk(e))

