"""Helpers of the engine that a program declares: what they may look like, and where they are called.

What the engine itself knows by name is compared with its table by the compiler (compiler/externs.py)."""
from __future__ import annotations

from .. import ast
from ..hooks import CONTEXTS
from ..types import Bits, Bool, EnumType, Type, Void
from .base import Base

MAX_PARAMS = 5                                  # registers r1 to r5
MAX_COST = 1 << 20                              # cycles


class Externs(Base):
    def resolve_Extern(self, decl: ast.Extern) -> None:
        result = self.type_of(decl.return_type)
        if result is not None and not isinstance(result, Void) and not passes(result):
            self.error(f"a helper of the engine cannot return {result}", decl.return_type, "it returns bit<1> to bit<32>, a bool, an enum, or void")
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
