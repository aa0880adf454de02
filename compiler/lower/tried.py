"""Rows that a compressor tries one after the other, and that end in the same call: the call is made in one place, row after row.

An address is in a context with the interface identifier of the link, with one made of 16 bits, or with any: what a header has is compared
with the same function of each. LLVM would keep a copy of the function for each row; here each is a turn of a loop that calls it. What all
rows ask, and what the function says whichever of them it is, is asked once before.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import llvmlite.ir as ir

from lpn.compiler.bits import I32, Val, i32
from lpn.lang import ast
from lpn.lang.instances import is_headers, walk
from lpn.lang.types import Bits

from .asked import alike, first_asked
from .instance import Instance
from .places import Place
from .shared import SharedCall, rows_alike


class TriedInTurn:
    """Mixed into `Lowering`."""

    def in_turns(self, rows: list[ast.Row]) -> list[list[ast.Row]]:
        """The rows in their order, those together that share a call. What is guessed is straight."""
        if self.miss is not None or not self.target.window:
            return [[row] for row in rows]
        alike = {row: n for n, together in enumerate(rows_alike(rows)) for row in together}
        out: list[list[ast.Row]] = []
        for n, together in groupby(rows, key=alike.get):
            out += [list(together)] if n is not None else [[row] for row in together]
        return out

    def try_rows(self, codec: ast.Codec, inst: Instance, group: ast.Group, rows: list[ast.Row], bits: Place | None, done: ir.Block) -> None:
        """Goes on where none of them holds; `done`: where one of them was written."""
        b, slot = self.b, self.alloca(I32, "row")
        call = next(iter(self.shared_calls(rows).values()))
        begins = [b.append_basic_block("row.asks") for _ in rows]
        head, nxt, found, none = (b.append_basic_block(f"row.{n}") for n in ("turn", "next", "found", "none"))
        b.store(i32(0), slot)
        asked = [where for where in first_asked(rows[0]) if all(any(alike(where, other) for other in first_asked(row)) for row in rows)]
        self.items_hold(inst, asked, none)
        limbs = self.leading_holds(call, none)
        b.branch(head)
        b.position_at_end(head)
        self.by_turn(slot, begins)
        for row, block in zip(rows, begins):
            b.position_at_end(block)
            first = first_asked(row)
            own = [where for where in first if not any(alike(where, other) for other in asked)]
            self.items_hold(inst, own + row.items[len(first):-1], nxt)
            self.give_args(call, row)
            b.branch(call.block)
        b.position_at_end(call.block)
        self.field_is(call.target, self.make_call(call), nxt, limbs)
        b.branch(found)
        b.position_at_end(nxt)
        following = self.opaque(b.add(b.load(slot, typ=I32), i32(1)), here=True)
        b.store(following, slot)
        b.cbranch(b.icmp_unsigned("<", following, i32(len(rows))), head, none)
        b.position_at_end(found)
        writes = [b.append_basic_block("row.writes") for _ in rows]
        self.by_turn(slot, writes)
        before, most = self.at_most, 0
        for row, block in zip(rows, writes):
            b.position_at_end(block)
            self.at_most = before
            self.choose_row(codec, inst, group, row, bits)
            most = max(most, self.at_most)
            b.branch(done)
        b.position_at_end(none)
        self.at_most = most

    def by_turn(self, slot: ir.Value, blocks: list[ir.Block]) -> None:
        turn = self.b.switch(self.b.load(slot, typ=I32), blocks[-1])
        for n, block in enumerate(blocks[:-1]):
            turn.add_case(i32(n), block)

    def leading_holds(self, call: SharedCall, otherwise: ir.Block) -> int:
        """Goes on where the field begins as all rows say, as far as whole words do; how many."""
        shared = {p: a for p, a in zip(call.function.params, call.args) if isinstance(a, ast.Expr) and not is_headers(p.type)}
        parts = leading(call.function, set(shared))
        if not parts:
            return 0
        with self.standing_for(self.bound_params(list(shared), list(shared.values()), call.function.body)):
            says = self.concat(*(self.bits_of(e) for e in parts))
        self.words_are(self.value(call.target).limbs[::-1], says.limbs[::-1], otherwise)
        return len(says.limbs)

    def field_is(self, target: ast.Expr, value: Val | ir.Value, otherwise: ir.Block, leading: int) -> None:
        """Goes on where a field has this value, but for the words that it begins with."""
        has = self.value(target)
        if isinstance(has, Val) and isinstance(value, Val):
            self.words_are(has.limbs[::-1][leading:], value.limbs[::-1][leading:], otherwise)
        else:
            self.test_alone(self.b.icmp_unsigned("==", has, value), otherwise)

    def words_are(self, words: Sequence[ir.Value], others: Sequence[ir.Value], otherwise: ir.Block) -> None:
        for x, y in zip(words, others):
            self.test_alone(self.eq(Val(32, (x,)), Val(32, (y,))), otherwise)


def leading(f: ast.Function, params: set[ast.Param]) -> list[ast.Expr]:
    """The operands of `++` that a function's result begins with and that are made of these parameters alone: as many as are whole words. None
    where the result is not whole words, or there is more than one `return`."""
    returns = [n for n in walk(f.body) if isinstance(n, ast.Return)]
    last = f.body.statements[-1] if f.body.statements else None
    if returns != [last] or not isinstance(f.return_type.type, Bits) or f.return_type.type.width % 32:
        return []
    parts: list[ast.Expr] = []
    e = last.value
    while isinstance(e, ast.Binary) and e.op == "++":
        parts.insert(0, e.right)
        e = e.left
    parts.insert(0, e)
    found: list[ast.Expr] = []
    for part in parts[:-1]:
        if any(isinstance(n, ast.Call) or isinstance(n, ast.Name) and n.const is None and n.decl not in params for n in walk(part)):
            break
        found.append(part)
    while sum(part.type.width for part in found) % 32:
        found.pop()
    return found
