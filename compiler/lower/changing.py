"""What the body of a function or an action, or an expression, may change of what its caller names: a struct that it is given is a copy then."""
from __future__ import annotations

from lpn.lang import ast
from lpn.lang.instances import walk


def may_change(body: ast.Node, what: ast.Expr) -> bool:
    """Whether `body`, or what it calls, assigns a part of the variable or register that `what` is, or is a part of."""
    decl, todo, seen = root(what), [body], set()
    while decl is not None and todo:
        for n in walk(todo.pop()):
            if isinstance(n, ast.Assign) and root(n.target) is decl:
                return True
            if isinstance(n, ast.Call) and isinstance(n.target, (ast.Function, ast.Action)):
                if any(p.direction in ("out", "inout") and root(a) is decl for p, a in zip(n.target.params, n.args)):
                    return True
                if n.target not in seen:
                    seen.add(n.target)
                    todo.append(n.target.body)
            elif isinstance(n, ast.Call) and isinstance(n.target, ast.Table):
                todo += [one for one in n.target.actions if one not in seen]
                seen.update(n.target.actions)
            elif isinstance(n, ast.ActionRef) and n.action not in seen:
                if any(p.direction in ("out", "inout") and root(a) is decl for p, a in zip(n.action.params, n.args)):
                    return True
                seen.add(n.action)
                todo.append(n.action.body)
    return False


def root(e: ast.Expr) -> object:
    """The variable or register that a place is a part of; None if it is made anew."""
    while isinstance(e, (ast.Member, ast.Index, ast.Slice)):
        e = e.base
    return getattr(e, "decl", None)
