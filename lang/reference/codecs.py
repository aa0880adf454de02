"""Codecs: the rows of one table, read in both directions."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from .. import ast
from ..instances import walk
from ..types import Varbit
from .headers import Instance, Located, fits
from .packet import Reader, Writer
from .scope import Scope
from .values import Rejected, unsigned, width_of, zero

if TYPE_CHECKING:
    from .run import Run


class Direction(ABC):
    """What expand and compress share: the scope of the codec's names and the reasons it rejects with."""

    def __init__(self, run: "Run", codec: ast.Codec, args: list[object], instance: Instance) -> None:
        self.run, self.codec, self.instance = run, codec, instance
        self.scope = Scope(this=instance, codec=self).bind(codec.params, args)
        self.said: list[Located] = []           # of what is in line: fields of the header
        for tag in codec.tag:
            self.scope.values[tag] = 0

    def failure(self, group: ast.Group, reason: ast.Expr | None = None) -> Rejected:
        """The row's own error, or the group's: `Codec.<its last tag variable>`, `Codec.where` where it has none."""
        last = group.tags[-1].name if group.tags else "where"
        return Rejected(self.run.reason(reason, f"{self.codec.name}.{last}", self.scope))

    def inout(self) -> dict[ast.Param, object]:
        """The parameters to copy back to the caller."""
        return {param: self.scope.values[param] for param in self.codec.params if param.direction in ("out", "inout")}

    @abstractmethod
    def inline(self, piece: ast.InlinePiece, scope: Scope) -> object:
        """The value of an in-line piece."""

    def following(self, width: int) -> object:
        """The bits that follow the encoding; a compressor never asks for them."""
        raise AssertionError("following is for expand")


class Expand(Direction):
    """From the compressed form in the packet to the header."""

    def expand(self) -> None:
        packet, instance = self.run.packet, self.instance
        instance.clear()
        instance.open = True
        self.assigned: set[ast.Field] = set()
        delayed: list[ast.RowAssign] = []
        try:
            for var in self.codec.vars:
                self.scope.values[var] = zero(var.type)
            self.reader = Reader(packet, 8 * packet.payload)
            self.tag()
            for group in self.codec.groups:
                for item in self.row(group).items:
                    if isinstance(item, ast.RowAssign) and contains(item.value, ast.Following):
                        delayed.append(item)
                    else:
                        self.item(item, group)
            for item in delayed:
                self.assign(item.target, self.run.evaluate(item.value, self.scope))
        finally:
            instance.open = False
        packet.payload = self.reader.position // 8
        instance.complete(self.assigned)

    def tag(self) -> None:
        """The whole tag first, so that a cut one is short whatever its bits."""
        total = sum(tag.width for tag in self.codec.tag)
        word, right = self.reader.bits(total), total
        for tag in self.codec.tag:
            right -= tag.width
            value = word >> right & ((1 << tag.width) - 1)
            if tag.value is not None and value != tag.value:
                raise Rejected(f"{self.codec.name}.tag")
            self.scope.values[tag] = value

    def row(self, group: ast.Group) -> ast.Row:
        values = [self.run.evaluate(tag, self.scope) for tag in group.tags]
        for row in group.rows:
            if self.run.expressions.match_keys(values, row.keys, self.scope) if group.tags else True:
                return row
        raise self.failure(group)

    def item(self, item: ast.RowItem, group: ast.Group) -> None:
        if isinstance(item, ast.RowWhere):
            if not self.run.evaluate(item.cond, self.scope):
                raise self.failure(group, item.reason)
        elif isinstance(item, ast.RowAssign):
            self.assign(item.target, self.run.evaluate(item.value, self.scope))
        else:
            for target in item.targets:
                self.target(target)

    def target(self, target: ast.InlineTarget) -> None:
        if target.target is None:
            self.reader.bits(target.width or 0)
        elif target.bits is not None:
            bits = self.run.number(target.bits, self.scope)
            data = self.reader.bytes(bits >> 3)
            assert isinstance(target.target.type, Varbit)
            if not fits(bits, target.target.type):
                raise Rejected(f"{self.instance.header.name}.{target.target.name}")     # type: ignore[attr-defined]
            self.assign(target.target, data)
        else:
            at, width = self.reader.position, width_of(target.target.type)
            self.assign(target.target, self.reader.bits(width))
            if isinstance(decl := getattr(target.target, "decl", None), (ast.Field, ast.ChoiceArm)):
                self.said.append(Located(decl, at, width))

    def assign(self, target: ast.Expr, value: object) -> None:
        self.run.assign(target, value, self.scope)
        decl = getattr(target, "decl", None)
        if isinstance(decl, ast.ChoiceArm) and decl.choice is not None:
            decl = decl.choice.tag.decl
        if isinstance(decl, ast.Field):
            self.assigned.add(decl)

    def inline(self, piece: ast.InlinePiece, scope: Scope) -> object:
        return self.reader.bits(width_of(piece.type))

    def following(self, width: int) -> object:
        """The bits behind this header's encoding; they are not consumed."""
        return self.run.packet.bits(self.reader.position, width)


class Compress(Direction):
    """From the header to the first rows that say it."""

    def compress(self) -> bytes:
        self.variables()
        body = Writer()
        for group in self.codec.groups:
            row, pieces = self.row(group)
            for tag, key in zip(group.tags, row.keys):
                if not isinstance(key, ast.DontCare):
                    self.scope.values[tag.decl] = self.run.evaluate(key, self.scope)
            for value, width in pieces:
                body.bits(value, width)
        out = Writer()
        for tag in self.codec.tag:
            out.bits(tag.value if tag.value is not None else int(self.scope.values[tag]), tag.width)    # type: ignore[call-overload]
        return out.finish() + body.finish()

    def variables(self) -> None:
        for var in self.codec.vars:
            if var.loop is None:
                assert var.value is not None
                self.scope.values[var] = self.run.evaluate(var.value, self.scope)
                continue
            low, high = self.run.number(var.low, self.scope), self.run.number(var.high, self.scope)     # type: ignore[arg-type]
            self.scope.values[var] = next((i for i in range(low, high) if self.holds_for(var, i)), low)

    def holds_for(self, var: ast.CodecVar, number: int) -> bool:
        self.scope.values[var.loop] = number
        return bool(self.run.evaluate(var.cond, self.scope))                # type: ignore[arg-type]

    def row(self, group: ast.Group) -> tuple[ast.Row, list[tuple[int, int]]]:
        """The first row whose equations all hold, and its inline pieces: (value, width)."""
        for row in group.rows:
            self.pieces: list[tuple[int, int]] = []
            if all(self.holds(item) for item in row.items):
                return row, self.pieces
        raise self.failure(group)

    def holds(self, item: ast.RowItem) -> bool:
        if isinstance(item, ast.RowWhere):
            return bool(self.run.evaluate(item.cond, self.scope))
        if isinstance(item, ast.RowAssign):
            if contains(item.value, ast.Following):
                return True
            return self.chosen(item.target) and self.run.evaluate(item.value, self.scope) == self.run.evaluate(item.target, self.scope)
        return all(self.target(target) for target in item.targets)

    def chosen(self, target: ast.Expr) -> bool:
        """A row that says an arm is for headers whose tag names it."""
        arm = getattr(target, "decl", None)
        if not isinstance(arm, ast.ChoiceArm):
            return True
        assert arm.choice is not None
        return self.run.number(arm.choice.tag, self.scope) == arm.number

    def target(self, target: ast.InlineTarget) -> bool:
        """A varbit whose size is not what the codec's size expression gives cannot be said by the row."""
        if target.target is None:
            self.pieces.append((0, target.width or 0))
            return True
        if not self.chosen(target.target):
            return False
        value = self.run.evaluate(target.target, self.scope)
        if isinstance(value, bytes):
            self.pieces.append((int.from_bytes(value, "big"), 8 * len(value)))
            return target.bits is None or self.run.number(target.bits, self.scope) == 8 * len(value)
        width = width_of(target.target.type)
        self.pieces.append((unsigned(value, width), width))                 # type: ignore[arg-type]
        return True

    def inline(self, piece: ast.InlinePiece, scope: Scope) -> object:
        assert piece.source is not None
        value = self.run.evaluate(piece.source, scope)
        width = width_of(piece.type)
        self.pieces.append((unsigned(value, width), width))                 # type: ignore[arg-type]
        return value


def contains(expr: ast.Expr, kind: type) -> bool:
    """Whether an expression has a node of `kind` somewhere."""
    return any(isinstance(node, kind) for node in walk(expr))
