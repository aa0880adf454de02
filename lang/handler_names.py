"""What handlers of timing blocks are called: by what starts them.

When a program is replaced, a node knows a handler again by its name: its timer goes on then. So a name says what the handler waits for, and with whom it
began, and none changes when another handler is written beside it: `Block.every_125ms`, `Block.slot_4_of_11`, `Block.on_tx_done`, and what they start,
`Block.every_125ms.after_10ms`. Those that wait for the same are numbered from the second on: `Block.every_1s_2`.
"""
from __future__ import annotations

import zlib
from collections.abc import Collection
from itertools import count

from . import ast
from .hooks import number
from .limits import MAX_NAME

UNITS = (("s", 1_000_000), ("ms", 1000), ("us", 1))


def started_by(handler: ast.Handler) -> str:
    if handler.event is not None:
        return f"on_{handler.event.rpartition('.')[2]}"
    if handler.kind == "slot":
        return f"slot_{number(handler.slot)}_of_{number(handler.period)}"
    return f"every_{whole(number(handler.period))}"


def waited(after: ast.After) -> str:
    """`after_10ms`, or `after_max_2s` for a delay that is computed."""
    if after.delay.const is not None:
        return f"after_{whole(number(after.delay))}"
    return f"after_max_{whole(number(after.most))}" if after.most is not None else "after"


def whole(us: int) -> str:
    """A time without a point: `125ms`, `1500us`."""
    unit, size = next(((unit, size) for unit, size in UNITS if us % size == 0))
    return f"{us // size}{unit}"


def named(block: ast.Timing, name: str, taken: Collection[str]) -> str:
    """A name that none of `taken` is, and that an image has room for."""
    for n in count(1):
        one = name if n == 1 else f"{name}_{n}"
        if len(one.encode()) > MAX_NAME:        # `after` in `after` in `after`
            one = f"{block.name}.after_{zlib.crc32(one.encode()):08x}"
        if one not in taken:
            return one
    raise AssertionError
