"""Parts of which one is there for one number of a field, and one for another: the numbers are told apart once, and what depends on them is lowered for each.

An option's length in four bits, say, 13 and 14 being said of one and of two octets that follow. Each part asks for its own number, what is sized by the field asks for them
again, and so does the check of what a part may be. Where the parts' numbers are in the field's upper half, one test says first that it is none of them.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import llvmlite.ir as ir

from lpn.compiler.bits import Val
from lpn.compiler.layout import Unit, field_width
from lpn.lang import ast
from lpn.lang.instances import walk

from .conditions import known_key
from .instance import Instance
from .shapes import Shape


@dataclass(frozen=True)
class Parts:
    """Units of a header from `first` on, before `end`, each there for a number of `field` of its own. `last`: all behind them depends on it, too, and
    the header ends on each way for itself."""

    field: ast.Field
    numbers: tuple[int, ...]
    first: int
    end: int
    last: bool


class PartedUnits:
    """Mixed into `Lowering`."""

    def extract_to_end(self, inst: Instance, units: list[Unit], oversize: dict[ast.Field, ir.Value]) -> None:
        """These units, which are the header's last, and what is checked behind them."""
        parts = self.parted(inst, units) if self.target.window and self.miss is None and self.shape is None else None
        if parts is None:
            self.extract_units(inst, units, oversize)
            self.end_header(inst, oversize)
            return
        self.extract_units(inst, units[:parts.first], oversize)
        self.require_lookahead()                # it reaches less far behind some parts than behind others
        b, done = self.b, self.b.append_basic_block("parted")
        known, before, after = self.known, (self.bound, self.look), []
        v = inst.slice_of(parts.field)
        v = Val(v.width, (self.opaque(v.limbs[0]),))            # as it is compared, or LLVM knows no bounds of what is made of it
        for number, block in self.ways_of(v, parts):
            b.position_at_end(block)
            inst.told[parts.field] = v if number is None else self.constant(v.width, number)
            self.bound, self.look = before
            there = units[parts.first:parts.end]
            self.known = known | {(inst, (parts.field, each)): each == number for each in parts.numbers}
            self.shape = Shape(0, 0, {u: u.octets * (number == each) for u, each in zip(there, parts.numbers)}, frozenset())
            self.extract_units(inst, there, oversize)
            self.make_early(units[:parts.first], there)
            if parts.last:
                sizes = dict(oversize)
                self.extract_units(inst, units[parts.end:], sizes)
                self.end_header(inst, sizes)
            self.shape = None
            after.append((self.bound, self.look))
            b.branch(done)
        self.known = known
        del inst.told[parts.field]
        b.position_at_end(done)
        self.bound, self.look = max(x for x, _ in after), max(x for _, x in after)
        if not parts.last:
            self.extract_to_end(inst, units[parts.end:], oversize)

    def parted(self, inst: Instance, units: Sequence[Unit]) -> Parts | None:
        """The first such parts of these units of which more is asked than whether they are there."""
        for first, u in enumerate(units):
            if (key := number_of(u)) is None:
                continue
            keys = [*takewhile(lambda other: other is not None and other[0] is key[0], map(number_of, units[first:]))]
            numbers = tuple(dict.fromkeys(number for _, number in keys))
            at, end = inst.layout.unit_of.get(key[0]), first + len(keys)
            if len(numbers) < 2 or len(numbers) < len(keys) or at is None or at.variable or field_width(key[0]) > 32 or at in units[first:]:
                continue
            last = end < len(units) and all(depends(each, key[0]) for each in units[end:])
            if last or any(u in units[first:end] for _, asked in self.wanted for u in asked):
                return Parts(key[0], numbers, first, end, last)
        return None

    def ways_of(self, v: Val, parts: Parts) -> Iterator[tuple[int | None, ir.Block]]:
        """The numbers that the field's `v` may be with the block each of them leads to; None: any other."""
        b = self.b
        others, least = b.append_basic_block("part.none"), min(parts.numbers)
        if 2 * least > 1 << v.width:
            more = b.append_basic_block("part.some")
            self.likely(b.cbranch(self.less(v, self.constant(v.width, least)), others, more))
            b.position_at_end(more)
        blocks = {}
        for number in parts.numbers:
            blocks[number], more = b.append_basic_block(f"part.{number}"), b.append_basic_block("part.other")
            b.cbranch(self.eq(v, self.constant(v.width, number)), blocks[number], more)
            b.position_at_end(more)
        b.branch(others)
        yield None, others
        yield from blocks.items()


def number_of(u: Unit) -> tuple[ast.Field, int] | None:
    """(field, number) of a part of one size that is there where a field before it has this number."""
    if u.when is None or u.varbit is not None or u.choice is not None or getattr(u.when, "op", None) != "==":
        return None
    return known_key(u.when)


def depends(u: Unit, f: ast.Field) -> bool:
    """Whether how large a part is depends on the field."""
    return any(isinstance(n, ast.Name) and n.decl is f for e in (u.when, u.varbit.sized if u.varbit is not None else None) if e is not None for n in walk(e))
