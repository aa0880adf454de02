"""Action data that goes straight into the packet: the lookup writes it where the action would put it, and nothing is copied.

Only where nobody can see that it was written on another way, too: every lookup in the table is the last thing that the chain does, one action has
data, a field of that size, which it assigns first; and whatever else comes of the lookup drops the packet. No action is given what a header says, and
none tells it as a reason: it would be what the lookup has written.
"""
from __future__ import annotations

from collections.abc import Iterator

from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Meta


def field_of_data(t: ast.Table, p: ast.Processor, program: ast.Program) -> ast.Expr | None:
    """The field that the data of `t` becomes, if processor `p` is the chain's last."""
    last = {s.call for s in last_statements(p.apply) if isinstance(s, ast.ExprStmt)}
    if t.default_action is None or any(isinstance(n, ast.Call) and n.target is t and n not in last for n in walk(program)):
        return None
    takers = [ref for ref in t.actions if len(ref.action.params) > len(ref.args)]
    others = [ref.action for ref in (*t.actions, t.default_action) if ref not in takers]
    given = [arg for ref in (*t.actions, t.default_action) for arg in (*ref.bound, *ref.args)]
    if len(takers) != 1 or not all(drops(action) for action in others) or not all(map(apart, given)):
        return None
    action, first = takers[0].action, next(iter(takers[0].action.body.statements), None)
    data = action.params[len(takers[0].args):]
    if len(data) == 1 and isinstance(first, ast.Assign) and isinstance(first.value, ast.Name) and first.value.decl is data[0]:
        return first.target
    return None


def last_statements(s: ast.Stmt | None) -> Iterator[ast.Stmt]:
    """Those behind which nothing runs."""
    if isinstance(s, ast.Block):
        yield from last_statements(s.statements[-1] if s.statements else None)
    elif isinstance(s, ast.If):
        yield from last_statements(s.then)
        yield from last_statements(s.otherwise)
    elif s is not None:
        yield s


def drops(action: ast.Action) -> bool:
    """Whether it drops the packet and does nothing else."""
    verdict = None
    for s in action.body.statements:
        if not (isinstance(s, ast.Assign) and isinstance(s.target, ast.Member) and isinstance(s.target.base.type, Meta) and apart(s.value)):
            return False
        if s.target.name == "verdict":
            verdict = s.value
        elif s.target.name != "reason":
            return False
    return isinstance(verdict, ast.Name) and verdict.decl == "DROP"


def apart(e: ast.Expr) -> bool:
    """Whether a value is the same whatever headers say. A header that is given as such is the action's own to read."""
    return not any(isinstance(n, ast.Call) or isinstance(getattr(n, "decl", None), (ast.Field, ast.ChoiceField, ast.ChoiceArm)) for n in walk(e))
