"""Times that are computed, and that 32 bits of microseconds have no room for: warnings where they are compared with the clock, added to it, or waited for."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import walk
from ..types import Bits
from .base import in_turn
from .expressions import ORDER
from .ranges import Ranges

WORD = Bits(32)


def long_times(found: defaultdict[type, list[Any]], ranges: Ranges, is_clock: Callable[[ast.Expr], bool], diagnostics: Diagnostics) -> None:
    """`m.time - r.since > (bit<32>) r.minutes * 60 s`: the product is at most 71 minutes, whatever is multiplied. Nothing is said of numbers that may be any."""
    told: set[ast.Node] = set()
    for one in times(found, is_clock):
        for product in walk(one):
            if not isinstance(product, ast.Binary) or product.op != "*" or product.const is not None or product.type != WORD or product in told:
                continue
            factor = product.left if product.left.const is None else product.right
            most = ranges.meant(factor)[1]
            if most < (1 << 32) - 1 and ranges.within(product)[1] >> 32:
                told.add(product)
                diagnostics.warning("this time is bit<32>: it wraps at 2^32 us, after 71 minutes", product.span,
                                    f"'{in_turn(factor)}' may be {most}: keep long times in a unit of their own, as minutes that an `every 1 min` counts")


def times(found: defaultdict[type, list[Any]], is_clock: Callable[[ast.Expr], bool]) -> Iterator[ast.Expr]:
    """Expressions that are microseconds: what a clock's difference is compared with, what is added to a clock, and how long an `after` waits."""
    for e in found[ast.Binary]:
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if e.op in ORDER and isinstance(one, ast.Binary) and one.op == "-" and (is_clock(one.left) or is_clock(one.right)) or e.op == "+" and later(one, is_clock):
                yield other
    for after in found[ast.After]:
        yield after.delay


def later(e: ast.Expr, is_clock: Callable[[ast.Expr], bool]) -> bool:
    """Whether a time is the clock's, or some time after it."""
    return is_clock(e) or isinstance(e, ast.Binary) and e.op == "+" and (later(e.left, is_clock) or later(e.right, is_clock))
