"""`following`: what a row says of the packet behind the whole encoding, and what is known there of the row that was taken."""
from __future__ import annotations

from collections.abc import Iterator

import llvmlite.ir as ir

from lpn.compiler.bits import Val
from lpn.lang import ast
from lpn.lang.instances import walk

from .instance import Instance


def has_following(e) -> bool:
    if isinstance(e, ast.Following):
        return True
    if isinstance(e, list):
        return any(has_following(x) for x in e)
    if isinstance(e, ast.Expr):
        return any(has_following(v) for k, v in vars(e).items() if k not in ("decl", "target", "type", "via"))
    return False


def looks_behind(codec: ast.Codec) -> bool:
    return any(isinstance(item, ast.RowAssign) and has_following(item.value) for group in codec.groups for row in group.rows for item in row.items)


def row_key(group: ast.Group, row: ast.Row) -> int:
    """The number of the group's tag bits that chooses a row."""
    number = 0
    for key, name in zip(row.keys, group.tags):
        number = number << name.decl.width | int(key.const)
    return number


def says_alone(codec: ast.Codec, group: ast.Group, param: ast.Param) -> bool:
    """Whether a parameter is assigned by the rows of this group alone, once by each at most."""
    times = {row: [*targets(row)].count(param) for each in codec.groups for row in each.rows}
    return all(count == 0 or count == 1 and row in group.rows for row, count in times.items())


def targets(row: ast.Row) -> Iterator[object]:
    """The declarations of what a row assigns, each as often as it does."""
    for item in row.items:
        if isinstance(item, ast.RowAssign):
            yield getattr(item.target, "decl", None)
        elif isinstance(item, ast.RowInline):
            yield from (getattr(t.target, "decl", None) for t in item.targets if t.target is not None)


class Followings:
    """Mixed into `Lowering`."""

    def run_following(self, codec: ast.Codec, inst: Instance, group: ast.Group, row: ast.Row, item: ast.RowAssign) -> None:
        """`following` looks at what comes after the whole encoding, in packets that took this row."""
        b = self.b
        then, other, done = (b.append_basic_block(n) for n in ("following", "followed.other", "followed"))
        b.cbranch(self.took(group, row), then, other)
        b.position_at_end(then)
        self.say_again(codec, group, {row})
        bound, self.looks_behind = self.bound, True
        ahead = max(n.type.width for n in walk(item.value) if isinstance(n, ast.Following)) // 8
        far = self.short and bound + ahead > self.target.window > 0
        if far:                                 # compared with the end once, on the other way, too: what follows need not be
            self.short_unless(self.at(self.cursor(), ahead))
            self.bound = bound = 0
        self.row_assign(inst, item.target, self.value(item.value))
        self.looks_behind = False
        self.require_lookahead()
        self.bound = bound
        b.branch(done)
        b.position_at_end(other)
        if far:
            self.short_unless(self.cursor())
        self.say_again(codec, group, set(group.rows) - {row})
        b.branch(done)
        b.position_at_end(done)

    def say_again(self, codec: ast.Codec, group: ast.Group, rows: set[ast.Row]) -> None:
        """What these rows of a group all say of the codec's parameters, and nothing behind them says otherwise, where one of them was taken."""
        if self.record_in_memory:               # what is stored in either case would be stored twice
            return
        said = [{item.target.decl: item.value.const for item in row.items if isinstance(item, ast.RowAssign)
                 and isinstance(item.target.decl, ast.Param) and item.value.const is not None} for row in rows]
        for param, value in said[0].items() if said else ():
            if all(other.get(param) == value for other in said) and says_alone(codec, group, param):
                self.env[param].set(self.constant(self.width_of(param.type), int(value)))

    def took(self, group: ast.Group, row: ast.Row) -> ir.Value:
        """Whether the packet's tag chose this row."""
        if not group.tags:
            return self.bool_const(True)
        key = self.group_key(group)
        return self.eq(key, self.constant(key.width, row_key(group, row)))

    def apart_of(self, v: Val) -> Val:
        """The same number, of which LLVM keeps nothing but itself."""
        return Val(v.width, tuple(self.opaque(limb, here=True, keeps=True) for limb in v.limbs))
