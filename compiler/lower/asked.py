"""Rows of a group that begin with the same conditions ask them once, before it is looked which of them the packet has.

That a context is set is asked first by each row that makes an address of one, and that the link has an address by each that takes it from there. LLVM
would ask it in each row.
"""
from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import llvmlite.ir as ir

from lpn.compiler.bits import Val
from lpn.lang import ast
from lpn.lang.instances import written_alike

from .made import MadeForRows, RowSwitch


@dataclass(eq=False)
class AskedFirst:
    """A condition that several rows have among their first ones. It is asked in `block`, from which `switch` leads on."""

    block: ir.Block
    switch: RowSwitch


class AskedOnce:
    """Mixed into `Lowering`."""

    def asked_first(self, codec: ast.Codec, group: ast.Group, rows: list[ast.Row], key: Val, made: MadeForRows | None) -> dict[ast.Row, list[AskedFirst]]:
        """By row, what it asks together with others, in its order. A guess asks what its row asks. The builder stays where it is."""
        b, here = self.b, self.b.block
        out: dict[ast.Row, list[AskedFirst]] = {}
        for where, together in asked_together(rows) if self.miss is None else []:
            block, none = b.append_basic_block(f"{codec.name}.where"), b.append_basic_block("no_row")
            b.position_at_end(none)
            b.unreachable()
            b.position_at_end(block)
            known = {made.param: made.place} if made is not None and set(together) <= set(made.rows) else {}
            with self.at_row(), self.standing_for(known):
                self.row_where(where, codec, group)
            asked = AskedFirst(block, RowSwitch(b, key, none))
            for row in together:
                out.setdefault(row, []).append(asked)
        b.position_at_end(here)
        return out


def asked_together(rows: list[ast.Row]) -> list[tuple[ast.RowWhere, list[ast.Row]]]:
    """Conditions that two or more rows have among their first ones, with these rows. All rows ask them in this order, and nothing before or between them."""
    found: list[tuple[ast.RowWhere, list[ast.Row]]] = []
    for row in rows:
        last = -1
        for where in first_asked(row):
            at = next((i for i, (other, _) in enumerate(found) if alike(other, where)), len(found))
            if at <= last:
                break
            if at == len(found):
                found.append((where, []))
            found[at][1].append(row)
            last = at
    while any(len(together) == 1 for _, together in found):
        at = next(i for i, (_, together) in enumerate(found) if len(together) == 1)
        [alone] = found.pop(at)[1]
        for _, together in found[at:]:          # what it asks behind that, it asks by itself
            if alone in together:
                together.remove(alone)
        found = [one for one in found if one[1]]
    return found


def first_asked(row: ast.Row) -> list[ast.RowWhere]:
    """The conditions that a row begins with."""
    return [*takewhile(lambda item: isinstance(item, ast.RowWhere), row.items)]


def alike(one: ast.RowWhere, other: ast.RowWhere) -> bool:
    a, b = one.reason, other.reason
    return (a is b or a is not None and b is not None and written_alike(a, b)) and written_alike(one.cond, other.cond)
