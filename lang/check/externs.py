"""Helpers of the engine that a program declares: what they may look like, and where they are called.

What the engine itself knows by name is compared with its table by the compiler (compiler/externs.py)."""
from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..diagnostics import Diagnostics
from ..hooks import CONTEXTS
from ..instances import walk
from ..types import Bits, Bool, EnumType, Type, Void
from .base import Base, plural

MAX_PARAMS = 5                                  # registers r1 to r5
MAX_COST = 1 << 20                              # cycles


class Externs(Base):
    def resolve_Extern(self, decl: ast.Extern) -> None:
        result = self.type_of(decl.return_type)
        if result is not None and not isinstance(result, Void) and not passes(result):
            self.error(f"a helper of the engine cannot return {result}", decl.return_type, "it returns up to 32 bits, a bool, an enum, or void")
            decl.return_type.type = None
        self.params(decl.params, (Bits, Bool, EnumType), "an extern")
        for param in decl.params:
            if param.type is not None and not passes(param.type):
                self.error(f"a helper of the engine cannot take {param.type}", param, "it takes bit<1> to bit<32>, bools and enums")
            if param.direction in ("out", "inout"):
                self.error(f"a helper of the engine changes no argument, and '{param.name}' is {param.direction}", param, "let it return the value")
        if len(decl.params) > MAX_PARAMS:
            self.error(f"a helper of the engine takes at most {MAX_PARAMS} numbers, and this takes {len(decl.params)}", decl)
        cost = self.constant_number(decl.cost, "a cost") if decl.cost is not None else None
        if decl.cost is not None and cost is not None and not 0 < cost <= MAX_COST:
            self.error(f"a cost is 1 to {MAX_COST} cycles", decl.cost)
        for context in decl.contexts:
            if context not in CONTEXTS:
                self.error(f"there is no context '{context}'", decl, f"there are {', '.join(CONTEXTS)}")


def passes(type_: Type) -> bool:
    """Whether values of a type go through a register of 32 bits."""
    if isinstance(type_, Bits):
        return type_.width <= 32 and not type_.signed
    return isinstance(type_, (Bool, EnumType))


def contexts(program: ast.Program, diagnostics: Diagnostics) -> None:
    """A helper is called only where it is declared to run. One message for each call."""
    told: set[ast.Call] = set()
    for hook in program.hooks:
        for module in hook.chain:
            for call in calls(module, set()):
                extern = call.target
                assert isinstance(extern, ast.Extern)
                if extern.contexts and hook.context not in extern.contexts and call not in told:
                    told.add(call)
                    diagnostics.error(f"'{extern.name}' cannot be called in context {hook.context}, where {hook.event} runs '{module.name}'", call.span,
                                      f"it is declared for {plural(len(extern.contexts), 'context')}: {', '.join(extern.contexts)}",
                                      notes=[("it is declared here", extern.span)])


def calls(node: object, seen: set[ast.Node]) -> Iterator[ast.Call]:
    """The calls of externs below a node, also through functions and actions."""
    for one in walk(node):
        target = one.target if isinstance(one, ast.Call) else one.action if isinstance(one, ast.ActionRef) else None
        if isinstance(target, ast.Extern):
            assert isinstance(one, ast.Call)
            yield one
        elif isinstance(target, (ast.Function, ast.Action)) and target not in seen:
            seen.add(target)
            yield from calls(target.body, seen)
