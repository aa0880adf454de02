"""Helpers that a program declares with `extern`: those of the engine, by the name in helpers.py, and the node's own.

The node's own are numbered from 128 in order of declaration. A bundle lists them, and whoever loads it binds them by name.
"""
from __future__ import annotations

from lpn.lang import ast
from lpn.lang.diagnostics import Diagnostics
from lpn.lang.types import Void

from . import bundle as bundles
from .helpers import BY_NAME, FIRST_OWN, LAST_OWN, Helper, Ret
from .state import scalar_width

WIDTH = 32                                      # of what helpers of the engine give and take


def declared(program: ast.Program) -> list[ast.Extern]:
    return [decl for decl in program.decls if isinstance(decl, ast.Extern)]


def own(program: ast.Program) -> list[ast.Extern]:
    """The node's own, in order of their numbers."""
    return [decl for decl in declared(program) if decl.name not in BY_NAME]


def helper_number(program: ast.Program, extern: ast.Extern) -> int:
    known = BY_NAME.get(extern.name)
    return known.number if known is not None else FIRST_OWN + own(program).index(extern)


def result_width(extern: ast.Extern) -> int:
    """Bits of the result; 0 for void."""
    type_ = extern.return_type.type
    return 0 if isinstance(type_, Void) else scalar_width(type_)


def manifest(program: ast.Program) -> tuple[bundles.Extern, ...]:
    """The node's own, as the bundle lists them."""
    return tuple(bundles.Extern(decl.name, tuple(scalar_width(p.type) for p in decl.params), result_width(decl),
                                int(decl.cost.const or 0) if decl.cost is not None else 0, tuple(decl.contexts))
                 for decl in own(program))


def check(program: ast.Program) -> ast.Program:
    """Compares the declarations with the helper table, and returns the program. Raises DiagnosticError."""
    diagnostics = Diagnostics()
    for decl in declared(program):
        known = BY_NAME.get(decl.name)
        if known is not None:
            agrees(decl, known, diagnostics)
            continue
        if decl.cost is None:
            diagnostics.error(f"what '{decl.name}' costs is not known", decl.span, f"say it in cycles: extern ... cost 100 in {{ {', '.join(decl.contexts) or 'net, radio'} }};")
        if not decl.contexts:
            diagnostics.error(f"where '{decl.name}' may be called is not known", decl.span, f"say it: extern ... cost {decl.cost.const if decl.cost is not None else 100} in {{ net, radio }};")
    for decl in own(program)[LAST_OWN - FIRST_OWN + 1:]:
        diagnostics.error(f"a node has at most {LAST_OWN - FIRST_OWN + 1} functions of its own", decl.span)
    diagnostics.raise_errors()
    return program


def agrees(decl: ast.Extern, helper: Helper, diagnostics: Diagnostics) -> None:
    """A helper that the engine has is declared as it is."""
    if not helper.declared:
        diagnostics.error(f"the engine's helper '{decl.name}' is the compiler's own", decl.span, "choose another name")
        return
    result = "void" if helper.ret is Ret.ZERO else f"bit<{WIDTH}>"
    params = ", ".join([f"bit<{WIDTH}>"] * len(helper.args))
    mine = [str(param.type) for param in decl.params]
    if str(decl.return_type.type) != result or ", ".join(mine) != params:
        diagnostics.error(f"the engine's helper '{decl.name}' is {result} {decl.name}({params}), and this is "
                          f"{decl.return_type.type} {decl.name}({', '.join(mine)})", decl.span, "declare it as it is")
    if decl.cost is not None and decl.cost.const != helper.cost_cycles:
        diagnostics.error(f"the engine's helper '{decl.name}' costs {helper.cost_cycles} cycles, and this says {decl.cost.const}", decl.cost.span,
                          "leave the cost out, or say what it is")
    if decl.contexts and set(decl.contexts) != set(helper.contexts):
        diagnostics.error(f"the engine's helper '{decl.name}' runs in {', '.join(helper.contexts)}, and this says {', '.join(decl.contexts)}", decl.span,
                          "leave the contexts out, or say what they are")
