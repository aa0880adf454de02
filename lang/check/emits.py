"""Which emits of a deparser one run can make one behind the other."""
from __future__ import annotations

from .. import ast
from ..instances import walk

Calls = list[ast.Call]
Pairs = list[tuple[ast.Call, ast.Call]]


def one_behind_the_other(body: ast.Stmt) -> Pairs:
    """Pairs of emits that a run can make, the first one first: not those of different branches."""
    pairs: Pairs = []
    follow(body, [], pairs)
    return pairs


def follow(node: ast.Stmt, before: Calls, pairs: Pairs) -> Calls:
    """The emits that may have been made behind a statement. `before`: those made in front of it. The turns of a loop count as they are written."""
    match node:
        case ast.Block(statements=statements):
            for statement in statements:
                before = follow(statement, before, pairs)
            return before
        case ast.If(then=then, otherwise=otherwise):
            return branches([then, otherwise], before, pairs)
        case ast.Switch(cases=cases):
            return branches([block for _, block in cases], before, pairs)
        case ast.For(written=True, body=body) | ast.Applied(body=body):
            return follow(body, before, pairs)
    calls = [each for each in walk(node) if isinstance(each, ast.Call) and each.target == "emit" and each.args]
    pairs += [(one, call) for i, call in enumerate(calls) for one in [*before, *calls[:i]]]
    return [*before, *calls]


def branches(several: list[ast.Stmt | None], before: Calls, pairs: Pairs) -> Calls:
    """One of them runs, or none."""
    made = [follow(branch, before, pairs)[len(before):] for branch in several if branch is not None]
    return before + [call for calls in made for call in calls]
