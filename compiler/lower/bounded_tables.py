"""Match-action tables and value sets of an XDP program: the program looks them up itself, entry by entry, in its block of memory.

The kernel's maps know neither prefixes of several keys nor ranges nor priorities. So the control plane writes the entries in the
order in which they are tried, as rows of one size, and the first row that fits is the one. A row without an action ends the search.
"""
from __future__ import annotations

from dataclasses import dataclass

import llvmlite.ir as ir

from lpn.compiler.bits import I32, I64, Val, i32, limb_count
from lpn.compiler.state import scalar_width
from lpn.lang import ast
from lpn.lang import tables as control

from .processor import data_octets, entry_data, table_size

WORD = 4


@dataclass(frozen=True)
class Rows:
    """A table's rows: per key field the words of a mask (or of the range's low end) and those of the value (or of the high end), least
    significant first; the number of the action; its data. Sizes in bytes."""

    table: ast.Table

    @property
    def fields(self) -> list[tuple[int, int]]:
        """Words and offset of each key field."""
        out, at = [], 0
        for key in self.table.keys:
            words = limb_count(scalar_width(key.expr.type))
            out.append((words, at))
            at += 2 * WORD * words
        return out

    @property
    def action(self) -> int:
        return sum(2 * WORD * words for words, _ in self.fields)

    @property
    def data(self) -> int:
        return self.action + WORD

    @property
    def stride(self) -> int:
        return self.data + (data_octets(self.table) + WORD - 1) // WORD * WORD

    @property
    def size(self) -> int:
        return self.stride * table_size(self.table)

    def filled(self, entries: list[control.Entry]) -> bytes:
        """The rows of these entries. ValueError when there are too many."""
        if len(entries) > table_size(self.table):
            raise ValueError(f"table {self.table.name}: {len(entries)} entries, it holds {table_size(self.table)}")
        out = bytearray()
        for e in control.ordered(self.table, entries):
            row = bytearray()
            for (words, _), m in zip(self.fields, e.matches):
                for part in (m.low, m.high) if m.kind == "range" else (m.mask, m.value):
                    row += (part & (1 << m.width) - 1).to_bytes(WORD * words, "little")
            row += e.action.to_bytes(WORD, "little") + entry_data(self.table, e)
            out += row.ljust(self.stride, b"\0")
        return bytes(out.ljust(self.size, b"\0"))


class TableSearch:
    """Part of `BoundedLowering`."""

    def entry_of(self, t: ast.Table, keys: list[Val]) -> tuple[ir.Value, ir.Value]:
        """(the entry's action, 0 for a miss; where its data is). Which entry it was passes through memory, so that behind the search the
        kernel's verifier follows one path, not one for each entry."""
        b, rows = self.b, Rows(t.shared or t)
        start = self.memory.rows(self.table_index(t))
        turn = self.alloca(I32, f"{t.name}.row")
        self._store(self.ctx, self.memory.found, 4, i32(0))
        self._store(self.ctx, self.memory.found_at, 4, i32(0))
        b.store(i32(0), turn)
        head, fits, more, done = (b.append_basic_block(f"{t.name}.{part}") for part in ("search", "fits", "more", "found"))
        b.branch(head)
        b.position_at_end(head)
        at = self.hide(b.load(turn, typ=I32))
        row = self.at(self.at(self.ctx, start), b.zext(at, I64))
        differs = i32(0)
        for key, (words, offset), v in zip(rows.table.keys, rows.fields, keys):
            low = [self._load(row, offset + WORD * k, WORD) for k in range(words)]
            high = [self._load(row, offset + WORD * (words + k), WORD) for k in range(words)]
            differs = b.or_(differs, self.not_between(v, low, high) if key.match == "range" else self.unlike(v, low, high))
        action = self._load(row, rows.action, WORD)
        b.cbranch(b.icmp_unsigned("==", self.hide(differs), i32(0)), fits, more)
        b.position_at_end(fits)
        self._store(self.ctx, self.memory.found, 4, action)
        self._store(self.ctx, self.memory.found_at, 4, at)
        b.branch(done)
        b.position_at_end(more)
        following = self.hide(b.add(at, i32(rows.stride)))
        b.store(following, turn)
        last = b.append_basic_block(f"{t.name}.next")
        b.cbranch(b.icmp_unsigned("!=", self.hide(action), i32(0)), last, done)
        b.position_at_end(last)
        b.cbranch(b.icmp_unsigned("<", following, i32(rows.size)), head, done)
        b.position_at_end(done)
        where = self.recall(self.memory.found_at)
        self.reject_unless(b.icmp_unsigned("<=", where, i32(rows.size - rows.stride)), "NoMatch")
        data = self.at(self.at(self.ctx, start + rows.data), b.zext(self.hide(where), I64))
        return self.recall(self.memory.found), data

    def given_number(self, v: ir.Value) -> ir.Value:
        """One path, not one for each constant entry."""
        return self.forget_number(v)

    def unlike(self, v: Val, mask: list[ir.Value], value: list[ir.Value]) -> ir.Value:
        """Not 0 when the key under the mask is another value."""
        out = i32(0)
        for limb, m, x in zip(v.limbs, mask, value):
            out = self.b.or_(out, self.b.xor(self.b.and_(limb, m), x))
        return out

    def not_between(self, v: Val, low: list[ir.Value], high: list[ir.Value]) -> ir.Value:
        """Not 0 when the key is below the low end or above the high one: without a branch, by what a subtraction borrows."""
        return self.b.or_(self.borrow(list(v.limbs), low), self.borrow(high, list(v.limbs)))

    def borrow(self, x: list[ir.Value], y: list[ir.Value]) -> ir.Value:
        """1 when x < y, else 0."""
        b, out = self.b, ir.Constant(I64, 0)
        for a, c in zip(x, y):
            difference = b.sub(b.sub(b.zext(a, I64), b.zext(c, I64)), out)
            out = b.lshr(difference, ir.Constant(I64, 63))
        return b.trunc(out, I32)
