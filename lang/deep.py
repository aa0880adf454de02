"""How deep in each other the functions of Python may call: a program's chain of states, of operands or of calls is walked by functions that call themselves."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEEP = 8000                                     # calls: the usual stack of 8 MB has room for more than twice as many, whatever they do


@contextmanager
def deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
