"""Calls: functions and actions of the program, tables, and the methods of built-in things."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ast, builtins, meters
from ..buffers import CALLS, emitted, key_values, of_call
from ..instances import by_reference
from ..tables import key_number, lookup
from ..types import Array, Void
from .headers import Instance, as_value, swap
from .scope import Scope
from .values import NotSupported, Rejected, StackValue, copy, unsigned, width_of, wrap, zero

if TYPE_CHECKING:
    from .run import Run


class Calls:
    def __init__(self, run: "Run") -> None:
        self.run = run

    def call(self, expr: ast.Call, scope: Scope) -> object:
        target = expr.target
        if isinstance(target, ast.Function):
            return self.function(target, expr, scope)
        if isinstance(target, ast.Action):
            args = [self.argument(param, arg, scope) for param, arg in zip(target.params, expr.args, strict=True)]
            self.action(target, args, scope, expr.args)
            return None
        if isinstance(target, ast.Table):
            return self.apply(target, scope)
        if isinstance(target, ast.Extern):
            return self.extern(target, expr, scope)
        if target in CALLS:
            return self.buffer(expr, scope)
        if target in builtins.OUTSIDE:
            return self.run.outside.call(expr, scope)
        name = target if isinstance(target, str) else getattr(expr.callee, "name", None)
        method = getattr(self, f"do_{name}", None)
        if method is None:
            raise NotSupported(f"{expr.span}: the reference does not execute {name}()")
        return method(expr, scope)

    # ------------------------------------------------------------ the program's own

    def function(self, function: ast.Function, expr: ast.Call, scope: Scope) -> object:
        """Values are copied in; `inout` ones are copied out in order. A header is the caller's own."""
        values = [self.argument(param, arg, scope) for param, arg in zip(function.params, expr.args, strict=True)]
        inner = Scope().bind(function.params, values)
        left = self.run.statements.body(function.body.statements, inner)
        self.copy_out(function.params, expr.args, inner.values, scope)
        return left.value if left is not None else None

    def argument(self, param: ast.Param, arg: ast.Expr, scope: Scope) -> object:
        """What a parameter begins with: an `out` one with zero, as a variable does."""
        if by_reference(param.type):
            return self.run.evaluate(arg, scope)
        if param.direction == "out":
            return zero(param.type)
        return copy(self.run.evaluate(arg, scope))

    def copy_out(self, params: list[ast.Param], args: list[ast.Expr], values: dict, scope: Scope) -> None:
        for param, arg in zip(params, args):
            if param.direction in ("out", "inout") and not by_reference(param.type) and param in values:
                self.run.assign(arg, values[param], scope)

    def action(self, action: ast.Action, args: list[object], scope: Scope, places: list[ast.Expr]) -> None:
        """An action's body sees its module's names; `return` ends the action."""
        inner = Scope(parent=self.module(scope)).bind(action.params, args)
        self.run.statements.body(action.body.statements, inner)
        self.copy_out(action.params, places, inner.values, scope)

    def module(self, scope: Scope) -> Scope:
        """The outermost scope: parameters and locals of the module."""
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def apply(self, table: ast.Table, scope: Scope) -> object:
        """`t.apply()`: the first entry that fits runs its action, else the default action."""
        keys = [key_number(key, self.run.number(key.expr, scope)) for key in table.keys]
        entry = lookup(table, self.run.state.entries[table.shared or table], keys)
        chosen, bound, given = table.default_action, [], []                 # type: ignore[var-annotated]
        if entry is not None:
            chosen, given = table.actions[entry.action - 1], list(entry.args)
            bound = chosen.args
        elif chosen is not None:
            bound = chosen.bound + chosen.args
        if chosen is not None and chosen.action is not None:
            args = [self.argument(param, arg, scope) for param, arg in zip(chosen.action.params, bound)]
            self.action(chosen.action, args + given, scope, bound)
        return {"hit": entry is not None, "miss": entry is None, "action_run": chosen.action if chosen else None}

    def extern(self, extern: ast.Extern, expr: ast.Call, scope: Scope) -> object:
        """The engine's own helpers, and those that a test gives as functions. A bool is whether the result is not 0."""
        args = [unsigned(self.run.number(arg, scope), width_of(arg.type)) for arg in expr.args]
        if extern.name == "clock_us":
            return self.run.outside.clock()
        if extern.name == "trace":
            self.run.outside.trace(*args)
            return None
        if extern.name not in self.run.externs:
            raise NotSupported(f"{expr.span}: the reference does not know the helper {extern.name}")
        result = int(self.run.externs[extern.name](*args) or 0) & 0xFFFF_FFFF
        type_ = extern.return_type.type
        return None if isinstance(type_, Void) else wrap(result, type_)

    # ------------------------------------------------------------ buffers

    def buffer(self, expr: ast.Call, scope: Scope) -> object:
        """`b.put(...)`, `b.hold(...)`, `b.take(key)`, `b.drop(key)`; of the entries that a run completes, the first has its chain."""
        run, decl = self.run, of_call(expr)
        assert decl is not None
        buffer, now = run.state.buffers[decl], int(run.outside.clock())      # type: ignore[call-overload]
        key = tuple(unsigned(run.number(value, scope), width_of(value.type)) for value in key_values(expr))
        free = run.completed is None
        given = [run.number(arg, scope) for arg in expr.args[1:3]] if expr.target == "buffer.put" else []
        front = emitted(expr)
        packet = run.packet.rest if front is None else run.outside.behind(front, run.packet.rest)
        buffer.sweep(now)
        entry, result = None, 0
        if expr.target == "buffer.put":
            result, entry = buffer.put(key, given[0], given[1], packet, now, free)
        elif expr.target == "buffer.hold":
            result = buffer.hold(key, packet, now)
        elif expr.target == "buffer.take":
            entry = buffer.take(key, free)
            result = int(entry is not None)
        else:
            result = buffer.drop(key)
        if entry is not None:
            run.completed = decl, entry
        return result & 0xFF

    # ------------------------------------------------------------ packet

    def do_extract(self, expr: ast.Call, scope: Scope) -> None:
        place = expr.args[0]
        instance = self.run.evaluate(place, scope)
        assert isinstance(instance, Instance)
        self.via(expr.via, scope, lambda codec, args: self.run.extract(instance, codec, args))
        if isinstance(place, ast.Member) and place.name == "next":
            stack = self.run.evaluate(place.base, scope)
            if isinstance(stack, StackValue):
                stack.next += 1

    def do_emit(self, expr: ast.Call, scope: Scope) -> None:
        value = self.run.evaluate(expr.args[0], scope)
        for instance in value.elements if isinstance(value, StackValue) else [value]:
            if instance.valid:                                              # type: ignore[attr-defined]
                self.via(expr.via, scope, lambda codec, args: self.run.emit(instance, codec, args))

    def via(self, via: ast.Via | None, scope: Scope, step) -> None:
        """Run `step` with the codec and its arguments, and copy its inout parameters back."""
        if via is None:
            step(None, [])
            return
        assert via.codec is not None
        args = [self.argument(param, arg, scope) for param, arg in zip(via.codec.params, via.args, strict=True)]
        self.copy_out(via.codec.params, via.args, step(via.codec, args), scope)

    def do_advance(self, expr: ast.Call, scope: Scope) -> None:
        self.run.packet.advance(self.run.number(expr.args[0], scope) >> 3)

    def do_lookahead(self, expr: ast.Call, scope: Scope) -> object:
        """The next bits: the first ones of the octets that have them, of `le<N>` all, the last octet first."""
        width = width_of(expr.type)
        octets = (width + 7) // 8
        bits = self.run.packet.bits(8 * self.run.packet.payload, 8 * octets)
        return as_value(swap(bits, width) if expr.type_args[0].name == "le" else bits >> 8 * octets - width, expr.type)

    def do_verify(self, expr: ast.Call, scope: Scope) -> None:
        if not self.run.evaluate(expr.args[0], scope):
            raise Rejected(self.run.reason(expr.args[1], "", scope))

    def do_truncate(self, expr: ast.Call, scope: Scope) -> None:
        self.run.packet.truncate(self.run.number(expr.args[0], scope))

    # ------------------------------------------------------------ headers

    def receiver(self, expr: ast.Call, scope: Scope):
        """What stands before the dot of a method."""
        assert isinstance(expr.callee, ast.Member)
        return self.run.evaluate(expr.callee.base, scope)

    def do_isValid(self, expr: ast.Call, scope: Scope) -> object:
        return self.receiver(expr, scope).valid

    def do_setValid(self, expr: ast.Call, scope: Scope) -> None:
        self.receiver(expr, scope).set_valid()

    def do_setInvalid(self, expr: ast.Call, scope: Scope) -> None:
        self.receiver(expr, scope).set_invalid()

    def do_holds(self, expr: ast.Call, scope: Scope) -> object:
        return self.receiver(expr, scope).holds()

    def do_push_front(self, expr: ast.Call, scope: Scope) -> None:
        self.receiver(expr, scope).push_front(self.run.number(expr.args[0], scope))

    def do_pop_front(self, expr: ast.Call, scope: Scope) -> None:
        self.receiver(expr, scope).pop_front(self.run.number(expr.args[0], scope))

    # ------------------------------------------------------------ the rest

    def do_inet_sum(self, expr: ast.Call, scope: Scope) -> object:
        return self.run.expressions.sum_of(expr.args, scope)

    def do_execute(self, expr: ast.Call, scope: Scope) -> object:
        """`m.execute([i][, amount])`; an index out of range is RED."""
        assert isinstance(expr.callee, ast.Member)
        meter = getattr(expr.callee.base, "decl", None)
        assert isinstance(meter, ast.Meter)
        cells, args = self.run.state.cells[meter], [self.run.number(arg, scope) for arg in expr.args]
        index = args.pop(0) if isinstance(cells, list) else 0
        if isinstance(cells, list) and index >= len(cells):
            return meters.RED
        cell = cells[index] if isinstance(cells, list) else cells
        clock = int(self.run.node["clock"])                                 # type: ignore[call-overload]
        colour, cell.fields = meters.execute(cell.fields, meters.rate(meter), args[0] if args else 1, clock)   # type: ignore[union-attr]
        return colour

    def do_reset(self, expr: ast.Call, scope: Scope) -> None:
        """`c.reset([i])`, `m.reset([i])`: a counter that has counted nothing, a meter that is full; of an index out of range nothing."""
        assert isinstance(expr.callee, ast.Member)
        decl = getattr(expr.callee.base, "decl", None)
        assert isinstance(decl, (ast.Counter, ast.Meter))
        cells = self.run.state.cells[decl]
        if not isinstance(decl.type, Array):
            self.run.state.cells[decl] = zero(decl.type)
            return
        index = self.run.number(expr.args[0], scope)
        assert isinstance(cells, list)
        if index < len(cells):
            cells[index] = zero(decl.type.cell)

    def do_count(self, expr: ast.Call, scope: Scope) -> None:
        """`c.count()`, `c.count(i)`; an index out of range counts nothing."""
        assert isinstance(expr.callee, ast.Member)
        counter = expr.callee.base
        decl = getattr(counter, "decl", None)
        assert isinstance(decl, ast.Counter)
        cells = self.run.state.cells[decl]
        mask = (1 << width_of(decl.cell.type)) - 1
        if not isinstance(cells, list):
            self.run.state.cells[decl] = (cells + 1) & mask                 # type: ignore[operator]
            return
        index = self.run.number(expr.args[0], scope)
        if index < len(cells):
            cells[index] = (cells[index] + 1) & mask
