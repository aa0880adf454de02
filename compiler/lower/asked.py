"""Rows of a group that begin with the same condition ask it once, before it is looked which of them the packet has.

That a context is set is asked first by each row that makes an address of one. LLVM would ask it in each row.
"""
from __future__ import annotations

from dataclasses import dataclass

import llvmlite.ir as ir

from lpn.compiler.bits import Val
from lpn.lang import ast
from lpn.lang.instances import written_alike

from .made import RowSwitch


@dataclass(eq=False)
class AskedFirst:
    """The condition that several rows begin with. It is asked in `block`, from which `switch` leads on to them."""

    where: ast.RowWhere
    block: ir.Block
    switch: RowSwitch


class AskedOnce:
    """Mixed into `Lowering`."""

    def asked_first(self, codec: ast.Codec, group: ast.Group, rows: list[ast.Row], key: Val) -> dict[ast.Row, AskedFirst]:
        """Those of rows that are lowered together. A guess asks what its row asks. The builder stays where it is."""
        b, here = self.b, self.b.block
        out: dict[ast.Row, AskedFirst] = {}
        for together in rows_that_ask(rows) if self.miss is None else []:
            block, none = b.append_basic_block(f"{codec.name}.where"), b.append_basic_block("no_row")
            b.position_at_end(none)
            b.unreachable()
            b.position_at_end(block)
            where = together[0].items[0]
            with self.at_row():
                self.row_where(where, codec, group)
            out |= dict.fromkeys(together, AskedFirst(where, block, RowSwitch(b, key, none)))
        b.position_at_end(here)
        return out


def rows_that_ask(rows: list[ast.Row]) -> list[list[ast.Row]]:
    """Rows, two or more together, that begin with the same condition."""
    found: list[list[ast.Row]] = []
    for row in rows:
        first = row.items[0] if row.items else None
        if isinstance(first, ast.RowWhere):
            together = next((others for others in found if alike(others[0].items[0], first)), None)
            if together is None:
                found.append([row])
            else:
                together.append(row)
    return [others for others in found if len(others) > 1]


def alike(one: ast.RowWhere, other: ast.RowWhere) -> bool:
    a, b = one.reason, other.reason
    return (a is b or a is not None and b is not None and written_alike(a, b)) and written_alike(one.cond, other.cond)
