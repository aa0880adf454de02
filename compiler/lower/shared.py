"""Rows of a group that end in the same call make it once, whichever of them the packet has.

An address in a context is the interface identifier from three places, and the same work on it: each row says its own arguments, and
goes on to the call. LLVM would keep a copy of the function in each row.
"""
from __future__ import annotations

from dataclasses import dataclass

import llvmlite.ir as ir

from lpn.compiler.bits import Val
from lpn.lang import ast
from lpn.lang.instances import walk, written_alike
from lpn.lang.types import Bits

from .places import Place, variable


@dataclass(eq=False)
class SharedCall:
    """The call that ends several rows. `args`: expressions where all rows say the same, else variables that each of them sets."""

    call: ast.Call
    target: ast.Expr                            #: what the result is assigned to
    args: list[ast.Expr | Place]
    block: ir.Block                             #: where the call is made

    @property
    def function(self) -> ast.Function:
        assert isinstance(self.call.target, ast.Function)
        return self.call.target


class SharedCalls:
    """Mixed into `Lowering`."""

    def shared_calls(self, rows: list[ast.Row]) -> dict[ast.Row, SharedCall]:
        """Those of rows that are lowered together."""
        out: dict[ast.Row, SharedCall] = {}
        for together in rows_alike(rows):
            calls = [last_call(row) for row in together]
            args = [a if is_shared([c.args[i] for c in calls]) else variable(self, p.type, p.name)
                    for i, (p, a) in enumerate(zip(calls[0].target.params, calls[0].args))]
            shared = SharedCall(calls[0], together[0].items[-1].target, args, self.b.append_basic_block("call"))
            out |= {row: shared for row in together}
        return out

    def give_args(self, shared: SharedCall, row: ast.Row) -> None:
        """What this row gives to the call."""
        for place, arg in zip(shared.args, last_call(row).args):
            if isinstance(place, Place):
                place.set(self.value(arg))

    def make_call(self, shared: SharedCall) -> Val | ir.Value:
        """What the call yields."""
        return self.call_function(shared.function, [a.get() if isinstance(a, Place) else a for a in shared.args])


def last_call(row: ast.Row) -> ast.Call | None:
    """The call that a row's last item assigns to a field, if its function has more than one way through it and changes no argument."""
    item = row.items[-1] if row.items else None
    if not isinstance(item, ast.RowAssign) or not isinstance(item.target.decl, ast.Field):
        return None
    call = item.value
    if not isinstance(call, ast.Call) or not isinstance(call.target, ast.Function) or any(isinstance(n, ast.Following) for n in walk(call)):
        return None
    if any(p.direction in ("out", "inout") for p in call.target.params):
        return None
    return call if any(isinstance(n, (ast.If, ast.For, ast.Switch, ast.Conditional)) for n in walk(call.target.body)) else None


def is_shared(args: list[ast.Expr]) -> bool:
    """Whether all rows say the same here, and none says what it carries in line."""
    return all(written_alike(args[0], a) for a in args) and not any(isinstance(n, ast.InlinePiece) for n in walk(args[0]))


def alike(one: ast.Row, other: ast.Row) -> bool:
    """Whether two rows end in calls that differ in no more than the numbers they are given."""
    a, b = last_call(one), last_call(other)
    if a is None or b is None or a.target is not b.target or one.items[-1].target.decl is not other.items[-1].target.decl:
        return False
    return all(isinstance(p.type, Bits) or is_shared([x, y]) for x, y, p in zip(a.args, b.args, a.target.params))


def rows_alike(rows: list[ast.Row]) -> list[list[ast.Row]]:
    """Rows, two or more together, that can share their calls."""
    found: list[list[ast.Row]] = []
    for row in rows:
        together = next((others for others in found if alike(others[0], row)), None)
        if together is None:
            found.append([row])
        else:
            together.append(row)
    return [others for others in found if len(others) > 1]
