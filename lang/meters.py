"""Meters: token buckets in 32-bit arithmetic (RFC 2697, colour-blind).

A token comes every `interval` microseconds. A bucket keeps how many microseconds of tokens are missing from it, so that a
meter whose cells are all zero is full, and neither multiplication nor division of times is needed.
"""
from __future__ import annotations

from dataclasses import dataclass

from . import ast
from .builtins import COLOURS
from .source import Source, Span
from .types import Bits, StructType, Type

GREEN, YELLOW, RED = COLOURS.values()
LIMIT = 1 << 31                                 # microseconds of tokens that a bucket may hold

#: A cell's fields: microseconds of tokens that are missing from either bucket, and the time of the last packet.
FIELDS = ("committed", "excess", "time")


def _cell() -> StructType:
    nowhere = Span(Source("<meter>", ""), 1, 1, 1, 1)
    word = ast.TypeRef(nowhere, "bit")
    return StructType(ast.Struct(nowhere, "meter", [ast.StructField(nowhere, name, word, Bits(32)) for name in FIELDS]))


CELL: Type = _cell()


@dataclass(frozen=True)
class Rate:
    """`meter<...> m(interval, burst, excess)`: tokens of either bucket, microseconds from one to the next."""

    interval: int
    burst: int
    excess: int


def rate(meter: ast.Meter) -> Rate:
    """Of a checked meter."""
    interval, burst, *excess = [int(arg.const or 0) for arg in meter.args]
    return Rate(interval, burst, excess[0] if excess else 0)


def execute(cell: dict[str, int], rate: Rate, amount: int, clock: int) -> tuple[int, dict[str, int]]:
    """The colour of a packet that takes `amount` tokens at `clock`, and the cell afterwards."""
    passed = clock - cell["time"] & 0xFFFF_FFFF
    committed = max(cell["committed"] - passed, 0)
    excess = max(cell["excess"] - max(passed - cell["committed"], 0), 0)        # RFC 2697, 3: what the first bucket leaves
    cost, colour = amount * rate.interval, RED
    if amount <= rate.burst and cost <= rate.burst * rate.interval - committed:
        committed, colour = committed + cost, GREEN
    elif amount <= rate.excess and cost <= rate.excess * rate.interval - excess:
        excess, colour = excess + cost, YELLOW
    return colour, {"committed": committed, "excess": excess, "time": clock}
