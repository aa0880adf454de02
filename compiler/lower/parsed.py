"""Which headers a parser may have found when it comes to a state."""
from __future__ import annotations

from lpn.lang import ast
from lpn.lang.effects import in_body

from .circles import reachable

MAKES_VALID = ("extract", "setValid", "move")


def found_before(parser: ast.Parser) -> dict[ast.State, set[ast.StructField | None]]:
    """By state: the headers that it, or a state on a way to it, may have made valid."""
    made = {state: {e.instance for e in in_body(state.statements, parser, {}, set()) if e.kind in MAKES_VALID} for state in parser.states}
    before = {state: set(found) for state, found in made.items()}
    for state, found in made.items():
        for later in reachable(state):
            before[later] |= found
    return before
