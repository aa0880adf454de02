"""Methods of what a program keeps: tables, counters, meters; buffers are elsewhere."""
from __future__ import annotations

from .. import ast
from ..types import Array, Bits, Type, Void
from .base import Base, article, kind_of
from .scope import suggest


class ObjectMethods(Base):
    def object_method(self, e: ast.Call, callee: ast.Member, decl: ast.Decl) -> Type | None:
        if not self.no_extras(e):
            return None
        callee.decl = callee.name
        methods = {ast.Table: ("apply",), ast.Counter: ("count", "reset"), ast.Meter: ("execute", "reset"),
                   ast.BufferDecl: ("put", "hold", "take", "drop"), ast.Register: ()}[type(decl)]
        if callee.name not in methods:
            self.misused.add(decl)
            hint = suggest(callee.name, methods) or f"it has {', '.join(methods)}"
            if isinstance(decl, ast.Register):
                cell = decl.name + "[i]" * isinstance(decl.type, Array)
                hint = f"a register is read by its name and written by assignment: {cell} = {cell} + 1"
            self.error(f"{article(kind_of(decl))} has no method '{callee.name}'", callee, hint)
            return None
        if isinstance(decl, ast.Table):
            e.target = decl
            if self.function is not None:
                self.error("an action applies no tables", e, "apply it in the apply block")
                return None
            if e.args:
                self.error("apply() takes no arguments", e)
                return None
            return Void()
        e.target = callee.name
        self.ensure(decl)
        if callee.name == "reset":
            assert isinstance(decl, (ast.Counter, ast.Meter))
            return self.reset(e, decl) if decl.type is not None else None
        if isinstance(decl, ast.Counter):
            return self.count(e, decl) if decl.type is not None else None
        if isinstance(decl, ast.Meter):
            return self.execute(e, decl)
        assert isinstance(decl, ast.BufferDecl)
        return self.buffer_method(e, callee, decl)

    def count(self, e: ast.Call, counter: ast.Counter) -> Type | None:
        if isinstance(self.module, (ast.Parser, ast.Deparser)):
            self.error(f"a {kind_of(self.module)} counts nothing", e, "count in a processor")
            return None
        wants = 1 if isinstance(counter.type, Array) else 0
        if len(e.args) != wants:
            self.error(f"counter '{counter.name}' {'is an array: count(i)' if wants else 'is one counter: count()'}", e,
                       f"it counts by one; what adds up something else is a register: x = x + {e.args[-1].span.text}" if len(e.args) > wants else "")
            return None
        if isinstance(counter.type, Array):
            if not self.cell_index(e.args[0], counter.type):
                return None
        return Void()

    def execute(self, e: ast.Call, meter: ast.Meter) -> Type | None:
        """`m.execute()`, `m.execute(amount)`, of an array with the index in front."""
        if isinstance(self.module, (ast.Parser, ast.Deparser)):
            self.error(f"a {kind_of(self.module)} meters nothing", e, "ask the meter in a processor")
            return None
        indices = 1 if isinstance(meter.type, Array) else 0
        if not indices <= len(e.args) <= indices + 1:
            self.error(f"meter '{meter.name}' {'is an array: execute(i) or execute(i, amount)' if indices else 'is one meter: execute() or execute(amount)'}", e)
            return None
        if isinstance(meter.type, Array) and not self.cell_index(e.args[0], meter.type):
            return None
        if len(e.args) > indices and not self.value(e.args[indices], meter.amount.type, "what a packet takes"):
            return None
        return Bits(8)

    def reset(self, e: ast.Call, decl: ast.Counter | ast.Meter) -> Type | None:
        """`c.reset()`, `m.reset(i)`: a cell is as it was in the beginning."""
        if isinstance(self.module, (ast.Parser, ast.Deparser)):
            self.error(f"a {kind_of(self.module)} changes no {kind_of(decl)}", e, "reset it in a processor")
            return None
        if len(e.args) != isinstance(decl.type, Array):
            self.error(f"{kind_of(decl)} '{decl.name}' {'is an array: reset(i)' if isinstance(decl.type, Array) else f'is one {kind_of(decl)}: reset()'}", e)
            return None
        return Void() if not isinstance(decl.type, Array) or self.cell_index(e.args[0], decl.type) else None

    def cell_index(self, e: ast.Expr, array: Array) -> bool:
        """An index; a constant one names a cell."""
        return self.index(e) and self.in_range(e, array.size)
