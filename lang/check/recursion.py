"""Functions do not call themselves: every program ends, and calls are put in line."""
from __future__ import annotations

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import walk

Body = ast.Function | ast.Action


def recursion(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Tells each circle of functions or actions once."""
    done: set[Body] = set()

    def visit(body: Body, path: list[tuple[Body, ast.Call | None]]) -> None:
        for node in walk(body.body):
            if not isinstance(node, ast.Call) or not isinstance(node.target, (ast.Function, ast.Action)):
                continue
            on_path = [one for one, _ in path]
            if node.target in on_path:
                circle = [one.name for one in on_path[on_path.index(node.target):]] + [node.target.name]
                done.update(on_path)
                diagnostics.error(f"'{node.target.name}' calls itself: {' -> '.join(circle)}", node.span,
                                  "use a loop with a constant bound, for (i in 0..n)")
            elif node.target not in done:
                visit(node.target, [*path, (node.target, node)])
        done.add(body)

    for decl in program.decls:
        locals_ = [local for local in getattr(decl, "locals", []) if isinstance(local, ast.Action)]
        for body in [decl, *locals_] if isinstance(decl, (ast.Function, ast.Action)) else locals_:
            if body not in done:
                visit(body, [(body, None)])
