"""Where names have their values: a module, a function's call, a header's or a codec's description."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from .. import ast

if TYPE_CHECKING:
    from .codecs import Direction
    from .headers import Instance


@dataclass(eq=False)
class Scope:
    """Values by declaration. `this`: the header whose description is evaluated; `codec`: what `inline` and
    `following` mean in a codec's row; `parent`: the module around an action's body."""

    values: dict[object, object] = field(default_factory=dict)
    this: Optional["Instance"] = None
    codec: Optional["Direction"] = None
    parent: Optional["Scope"] = None

    def holder(self, decl: object) -> Optional["Scope"]:
        """The scope that has a value for `decl`."""
        scope: Optional[Scope] = self
        while scope is not None and decl not in scope.values:
            scope = scope.parent
        return scope

    def bind(self, params: list[ast.Param], values: list[object]) -> "Scope":
        self.values.update(zip(params, values, strict=True))
        return self
