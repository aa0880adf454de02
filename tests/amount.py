"""How much is tried, beside the examples of random tests (conftest.py): `make test` takes a part of what takes longest, the same in every run."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from conftest import ALL

T = TypeVar("T")


def some(number: int, of: int = 2) -> int:
    """One of so many of a number of programs, packets, or the like; at least one."""
    return number if ALL else -(-number // of)


def turns(items: Sequence[T], place: int, count: int) -> list[T]:
    """So many of the items, others for the next place: those that follow each other have all of them between them."""
    return list(items) if ALL else [items[(place * count + i) % len(items)] for i in range(min(count, len(items)))]
