"""What is in the language, but not yet in the compiler: refused in one place, never ignored."""
from __future__ import annotations

from collections.abc import Callable

from . import ast
from .diagnostics import Diagnostics
from .instances import walk

DECLARATIONS: dict[type, str] = {
    ast.Timing: "timing blocks", ast.BufferDecl: "buffers",
}
PLURAL = ("blocks", "buffers")

Refuse = Callable[[str, ast.Node, str], None]


def unsupported(program: ast.Program, diagnostics: Diagnostics) -> None:
    def refuse(what: str, node: ast.Node, hint: str = "") -> None:
        verb = "are" if what.endswith(PLURAL) else "is"
        diagnostics.error(f"{what} {verb} not supported yet", node.span, hint)

    for decl in program.decls:
        if isinstance(decl, ast.Protocol) and decl.timing:
            refuse("timing in a protocol", decl, "")
        for node in walk(decl):
            for kind, what in DECLARATIONS.items():
                if isinstance(node, kind):
                    refuse(what, node)
            if isinstance(node, ast.Timing):
                break
            if isinstance(node, ast.Expr):
                expression(node, refuse)


def expression(node: ast.Expr, refuse: Refuse) -> None:
    if isinstance(node, ast.Call):
        if isinstance(node.target, str) and "." in node.target:
            refuse(node.target + "()", node, "")
