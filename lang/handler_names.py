"""What handlers of timing blocks are called: by what starts them.

When a program is replaced, a node knows a handler again by its name: its timer goes on then. So a name says what the handler waits for, and none changes when
another handler is written beside it: `Block.every_125ms`, `Block.slot_4_of_11`, `Block.on_tx_done`. The body of an `after` is `Block.after_3f9a`: the digits
stand for the handler that starts it and how long it waits, in the few octets that a frame has for names. Those that wait for the same are numbered from the
second on: `Block.every_1s_2`.
"""
from __future__ import annotations

import zlib
from collections.abc import Collection
from itertools import count

from . import ast
from .hooks import number
from .times import UNITS


def started_by(block: ast.Timing, handler: ast.Handler, taken: Collection[str]) -> str:
    """The name of a handler, which none of `taken` is."""
    if handler.event is not None:
        what = f"on_{handler.event.rpartition('.')[2]}"
    elif handler.kind == "slot":
        what = f"slot_{number(handler.slot)}_of_{number(handler.period)}"
    else:
        what = f"every_{whole(number(handler.period))}"
    return alone(f"{block.name}.{what}", taken)


def started_in(block: ast.Timing, outer: ast.Handler, after: ast.After, taken: Collection[str]) -> str:
    """The name of what an `after` in a handler starts."""
    waits = f"after {number(after.delay)}" if after.delay.const is not None else f"after max {number(after.most)}"
    digits = zlib.crc32(f"{outer.name} {waits}".encode()) & 0xffff
    return alone(f"{block.name}.after_{digits:04x}", taken)


def whole(us: int) -> str:
    """A time without a point: `125ms`, `1500us`."""
    unit, size = next((unit, size) for unit, size in reversed(UNITS.items()) if us % size == 0)
    return f"{us // size}{unit}"


def alone(name: str, taken: Collection[str]) -> str:
    return next(one for n in count(1) if (one := name if n == 1 else f"{name}_{n}") not in taken)
