"""What is in the language, but not yet in the compiler: refused in one place, never ignored."""
from __future__ import annotations

from . import ast
from .diagnostics import Diagnostics


def unsupported(program: ast.Program, diagnostics: Diagnostics) -> None:
    for decl in program.decls:
        if isinstance(decl, ast.Timing) and decl.energy:
            diagnostics.error("energy is not supported yet", decl.energy[0].span)
