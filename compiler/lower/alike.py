"""Parts of a program that are written alike but for names."""
from __future__ import annotations

import re

TOKEN = re.compile(r'\w*"[^"]*"|\w+|[^\w\s]')      # a literal in quotes is one


def renamed(one: list[str], other: list[str], names: dict[str, str]) -> dict[str, str] | None:
    """What things are called in the other's tokens, beside what is known of that; None if more than names differ."""
    if len(one) != len(other):
        return None
    found = dict(names)
    for x, y in zip(one, other):
        if x != y and not (x.isidentifier() and y.isidentifier()) or found.setdefault(x, y) != y:
            return None
    return found
