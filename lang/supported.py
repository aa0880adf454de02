"""What is in the language, but not yet in the compiler: refused in one place, never ignored."""
from __future__ import annotations

from collections.abc import Callable

from . import ast
from .diagnostics import Diagnostics
from .instances import walk

DECLARATIONS: dict[type, str] = {
    ast.BufferDecl: "buffers",
}
PLURAL = ("buffers",)

Refuse = Callable[[str, ast.Node, str], None]


def unsupported(program: ast.Program, diagnostics: Diagnostics) -> None:
    def refuse(what: str, node: ast.Node, hint: str = "") -> None:
        verb = "are" if what.endswith(PLURAL) else "is"
        diagnostics.error(f"{what} {verb} not supported yet", node.span, hint)

    for decl in program.decls:
        if isinstance(decl, ast.Timing) and decl.energy:
            refuse("energy", decl.energy[0])
        for node in walk(decl):
            for kind, what in DECLARATIONS.items():
                if isinstance(node, kind):
                    refuse(what, node)
