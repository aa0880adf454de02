"""Bytes in a codec's own form: for each group one of its rows, the tag that says so, and what is in line."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from lpn.compiler.generate.looked_for import Interest
from lpn.lang import ast
from lpn.lang.reference.packet import Writer
from lpn.lang.reference.values import width_of
from lpn.lang.types import Varbit

from .headers import NOTHING
from .numbers import Draw, looked_for, one_of

@dataclass
class Encoding:
    data: bytes
    rows: list[ast.Row]


def compressed(draw: Draw, codec: ast.Codec, fixed: Mapping[str, int] = {}, wanted: Interest = NOTHING,
               wishes: Mapping[object, int] = {}, begins: bytes = b"", barred: Set[ast.Row] = frozenset()) -> Encoding:
    """Bytes that a codec's table can read. `fixed`: tag variables by name; `wishes`: values that rows shall give to fields or
    parameters, where they can; `begins`: octets that are there already; `barred`: rows to leave out where there are others. An octet
    that is a length may promise more than there is."""
    tags: dict[object, int] = dict(present(codec, begins))
    chosen: list[ast.Row] = []
    for group in codec.groups:
        rows = [row for row in group.rows if fits(group, row, fixed, tags)] or group.rows
        rows = [row for row in rows if row not in barred] or rows
        rows = [row for row in rows if grants(row, wishes)] or rows
        says = [row for row in rows if any(decl in wanted.behind for item in row.items if isinstance(item, ast.RowInline) for decl, _ in pieces(item))]
        if 0 < len(says) < len(rows) and draw(st.booleans()):
            rows = says                         # that can give a field what somebody looks for
        row = draw(one_of(tuple(rows)))
        chosen.append(row)
        for tag, key in zip(group.tags, row.keys):
            tags.setdefault(tag.decl, int(key.const) if key.const is not None else 0)
    head, body = Writer(), Writer()
    for tag in codec.tag:
        head.bits(tag.value if tag.value is not None else fixed.get(tag.name, tags.get(tag, 0)), tag.width)
    for row in chosen:
        for item in row.items:
            for decl, width in pieces(item):
                if width is None:
                    body.bytes(draw(st.binary(max_size=12)))
                    continue
                if decl in wishes and wishes[decl] < 1 << width:
                    number = wishes[decl]
                else:
                    number = draw(looked_for(wanted, decl, width))
                body.bits(number, width)
    data = head.finish() + body.finish()
    return Encoding(begins + data[len(begins):], chosen)


def present(codec: ast.Codec, begins: bytes) -> Iterator[tuple[object, int]]:
    """The tag variables that lie whole in the octets that are there."""
    at, whole = 0, int.from_bytes(begins, "big")
    for tag in codec.tag:
        at += tag.width
        if at <= 8 * len(begins):
            yield tag, whole >> (8 * len(begins) - at) & ((1 << tag.width) - 1)


def fits(group: ast.Group, row: ast.Row, fixed: Mapping[str, int], tags: Mapping[object, int]) -> bool:
    """Whether the row is the one of tag variables that are given."""
    return all((tag.name not in fixed or key.const is None or key.const == fixed[tag.name])
               and (tag.decl not in tags or key.const is None or key.const == tags[tag.decl])
               for tag, key in zip(group.tags, row.keys))


def grants(row: ast.Row, wishes: Mapping[object, int]) -> bool:
    """False if the row gives a constant to something that shall have another value."""
    for item in row.items:
        if isinstance(item, ast.RowAssign) and item.value.const is not None:
            decl = getattr(item.target, "decl", None)
            if decl in wishes and int(item.value.const) != wishes[decl]:
                return False
    return True


def pieces(item: ast.RowItem) -> Iterator[tuple[object, int | None]]:
    """The inline pieces of a row's item: declaration and width; None for a run of bytes."""
    if isinstance(item, ast.RowInline):
        for target in item.targets:
            if target.target is None:
                yield None, target.width
            else:
                width = None if isinstance(target.target.type, Varbit) else width_of(target.target.type)
                yield getattr(target.target, "decl", None), width
    elif isinstance(item, ast.RowAssign):
        yield from ((None, width_of(each.type)) for each in nodes(item.value) if isinstance(each, ast.InlinePiece))


def nodes(expr: Any) -> Iterator[Any]:
    """The nodes of an expression in the order in which they are evaluated."""
    yield expr
    for name in ("base", "left", "right", "operand", "cond", "then", "otherwise", "args", "elements"):
        child = getattr(expr, name, None)
        for each in child if isinstance(child, list) else [child]:
            if isinstance(each, ast.Node):
                yield from nodes(each)
