"""Names and where they are known."""
from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class Scope:
    """Declarations by name, inside an outer scope."""

    def __init__(self, parent: "Scope | None" = None, what: str = ""):
        self.parent = parent
        self.names: dict[str, object] = {}
        self.what = what                        # what the names belong to, for messages

    def find(self, name: str) -> object | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def all_names(self) -> set[str]:
        out: set[str] = set()
        scope: Scope | None = self
        while scope is not None:
            out |= scope.names.keys()
            scope = scope.parent
        return out


def suggest(name: str, names: Iterable[str]) -> str:
    """"did you mean x?", or nothing. Large and small letters are alike, unless they tell two names apart."""
    alike: dict[str, list[str]] = {}
    for one in sorted(names):
        alike.setdefault(one.lower(), []).append(one)
    near = get_close_matches(name.lower(), alike, 1, 0.6)
    close = get_close_matches(name, alike[near[0]], 1, 0) if near else []
    return f"did you mean {close[0]}?" if close else ""
