"""The path-dependent rules in calls; see `flow.py`."""
from __future__ import annotations

from collections.abc import Callable

from .. import ast, builtins
from ..buffers import CALLS, emitted, key_values
from ..diagnostics import Diagnostics
from ..instances import header_of, instances, is_headers, named_field, walk
from ..types import HeaderType, Stack
from .facts import NOWHERE, Key, Known, Paths, Values, join
from .flow_values import FlowValues, place_of, show, some

class FlowCalls(FlowValues):
    def __init__(self, program: ast.Program, diagnostics: Diagnostics):
        super().__init__(program, diagnostics)
        self.summaries: dict[ast.Function, dict[ast.Param, bool]] = {}
        self.ends: dict[tuple[ast.Function, Paths], Paths] = {}         # of functions that are given all headers
        self.accepts: dict[ast.SelectCase, Paths] = {}      # where the last parser ended, and what was known there
        self.looked_up: ast.Table | None = None             # while its keys are made
        self.sent: set[ast.Deparser] = set()                # deparsers that a send has put in line
        self.found: dict[ast.Deparser, set[object]] = {}    # headers that may be valid where a deparser begins
        self.returned: list[Paths] = []
        self.exited: list[Paths] = []

    execute: Callable[[ast.Node, Paths], Paths]             # of `Flow`

    def call(self, e: ast.Call, paths: Paths) -> Paths:
        target = e.target
        if isinstance(target, ast.Table):
            return join(*self.apply(target, paths))
        if isinstance(target, ast.Function):
            return self.function(target, e, paths)
        if isinstance(target, ast.Action):
            for arg in e.args:
                paths = self.eval(arg, paths)
            paths = self.act(target, paths)
            return self.given_back(target.params, e.args, paths)
        if target in ("setValid", "setInvalid", "holds", "isValid") and isinstance(e.callee, ast.Member):
            return self.header_call(str(target), e.callee.base, paths)
        if target in ("push_front", "pop_front") and isinstance(e.callee, ast.Member):
            stack, by = getattr(e.callee.base, "decl", None), int(e.args[0].const or 0)
            size = e.callee.base.type.size if isinstance(e.callee.base.type, Stack) else 0
            return frozenset(one.move(stack, size, by if target == "push_front" else -by) for one in paths)
        if target == "extract":
            return self.extract(e, paths)
        if target == "emit":
            return self.emit(e, paths)
        if target == "verify":
            holds, fails = self.decide(e.args[0], paths)
            self.eval(e.args[1], fails)
            return holds
        if target in builtins.SENDS:
            return self.send(e.args[0], e.args[1:], paths)
        if target in CALLS:
            front = emitted(e)
            rest = e.args[1:] if front is None else e.args[1:-1]
            return self.send(front, [*key_values(e), *rest], paths)
        for arg in e.args:
            if not (isinstance(arg, ast.Name) and arg.decl == builtins.PAYLOAD):
                paths = self.eval(arg, paths)
        return paths

    def header_call(self, method: str, base: ast.Expr, paths: Paths) -> Paths:
        key = self.key_of(base)
        if key is None:
            return paths
        if method in ("setValid", "setInvalid"):
            self.unseen(key, paths, appears=method == "setValid")
        if method == "setValid":
            return frozenset(one if key in one.valid else one.make_valid(key) for one in paths)
        if method == "setInvalid":
            return frozenset(one.make_invalid(key) for one in paths)
        if method == "holds":
            paths = self.needs_valid(base, key, paths)
            self.bound(base, paths, deferred=True)
        return paths

    def unseen(self, key: Key, paths: Paths, appears: bool) -> None:
        """A header becomes valid, or may be invalid from here on: notes which headers are then looked at that are not there."""
        struct = self.program.headers_struct
        for field in struct.fields if struct is not None else ():
            if appears and (key[0] is field or of_param(key, field)):
                self.program.unseen.update(arg for arg in looked_at(field) if of_param(key, field) or not all((arg, None) in one.valid for one in paths))
            elif not appears:                     # of a stack an element may be valid
                self.program.unseen.update(arg for arg in looked_at(field) if of_param(key, arg) or key[0] is arg
                                           and not all((field, None) in one.invalid for one in paths))

    def bound(self, e: ast.Expr, paths: Paths, deferred: bool) -> None:
        """The headers that a header's description looks at must be there when it is evaluated."""
        field = e.decl if isinstance(e, ast.Member) else None
        if not isinstance(field, ast.StructField) or not isinstance(field.type, HeaderType):
            return
        for arg in looked_at(field):
            if not all((arg, None) in one.valid for one in paths):
                own = show(e)
                other = f"{own.rpartition('.')[0]}.{arg.name}"
                never = all((arg, None) in one.invalid for one in paths)
                self.tell(f"'{own}' looks at '{other}', which {'is' if never else 'may'} not {'' if never else 'be '}valid here", e,
                          f"extract '{other}' before it" if not deferred else f"test it first: if ({other}.isValid()) {{ ... }}")

    def extract(self, e: ast.Call, paths: Paths) -> Paths:
        header = e.args[0]
        if e.via is not None:
            paths = self.via(e.via, paths)
        key = self.key_of(header)
        if key is None:
            return paths
        self.bound(header, paths, deferred=False)
        if key[1] == "next":
            assert isinstance(header, ast.Member) and isinstance(header.base.type, Stack)
            after = [one.fill(key[0], header.base.type.size) for one in paths]
            return frozenset(one for one in after if one is not None)
        asked = e.via is not None and named_field(header) in map(named_field, walk(e.via.args))     # the codec goes by the first
        if not self.once and not asked and any(key in one.valid for one in paths):
            self.again.setdefault(place_of(e), e)
        paths = frozenset(one.make_valid(key) for one in paths)
        return paths if e.via is not None else self.checked(key, header, paths)

    def checked(self, key: Key, e: ast.Expr, paths: Paths) -> Paths:
        """A header that was parsed has passed its own checks."""
        assert isinstance(e.type, HeaderType)
        header = e.type.decl
        assert isinstance(header, ast.Header)
        saved, self.this = self.this, key
        with self.diagnostics.untold():                     # told where the header is described
            for item in header.items:
                if isinstance(item, ast.Where):
                    paths = self.decide(item.cond, paths)[0]
                    continue
                for field in item.fields if isinstance(item, ast.Word) else [item] if isinstance(item, ast.Field) else []:
                    values = None
                    if field.when is None and field.values is not None and all(one.const is not None for one in field.values):
                        values = frozenset(int(one.const or 0) for one in field.values)
                    elif field.when is None and field.equation is not None and field.equation.const is not None and not field.deferred:
                        values = frozenset([int(field.equation.const)])
                    if values is not None:
                        paths = frozenset(one.set((*key, field), Values(values)) for one in paths)
        self.this = saved
        return paths

    def emit(self, e: ast.Call, paths: Paths) -> Paths:
        """The arguments of a codec are looked at only if the header is there."""
        if e.via is None:
            return paths
        key = self.key_of(e.args[0])
        if key is None:
            return self.via(e.via, paths)
        present = some(known.is_valid(key) for known in paths)
        absent = some(known.is_invalid(key) for known in paths)
        return join(self.via(e.via, present), absent)

    def finds(self, deparser: ast.Deparser, paths: Paths) -> None:
        """Notes which headers may be valid where a deparser begins."""
        self.found.setdefault(deparser, set()).update(
            one.field for one in instances(self.program) if any(not known.is_invalid((one.field, one.index)) for known in paths))

    def send(self, front: ast.Expr | None, others: list[ast.Expr], paths: Paths) -> Paths:
        """`front`: `Tx(h)`; the deparser is judged with what is known where it is put in line."""
        for arg in others:
            paths = self.eval(arg, paths)
        deparser = front.target if isinstance(front, ast.Call) else None
        if isinstance(deparser, ast.Deparser):
            self.sent.add(deparser)
            self.finds(deparser, paths)
            self.exited.append(NOWHERE)
            self.returned.append(NOWHERE)
            self.execute(deparser.body, paths)
            self.exited.pop()
            self.returned.pop()
        return paths

    def via(self, via: ast.Via, paths: Paths) -> Paths:
        assert via.codec is not None
        return self.arguments(via.codec.params, via.args, paths)

    def arguments(self, params: list[ast.Param], args: list[ast.Expr], paths: Paths, function: ast.Function | None = None) -> Paths:
        """Judges arguments; afterwards nothing is known of those that are given back. `function`: what they are for, if it is one."""
        for param, arg in zip(params, args):
            if isinstance(param.type, HeaderType):
                key = self.key_of(arg)
                if key is not None and param.direction != "out":
                    made = function is not None and all(key in one.invalid for one in paths) and makes_valid(function, param)
                    paths = self.needs_valid(arg, key, paths, instead=f"a function that makes a header valid has an out parameter for it: out {param.type} {param.name}" if made else "")
            elif param.direction != "out":
                paths = self.eval(arg, paths)
        return self.given_back(params, args, paths)

    def given_back(self, params: list[ast.Param], args: list[ast.Expr], paths: Paths) -> Paths:
        for param, arg in zip(params, args):
            if param.direction in ("out", "inout"):
                if isinstance(param.type, HeaderType):
                    key = self.key_of(arg)
                    if key is not None:
                        paths = frozenset(one.forget(key) for one in paths)
                else:
                    paths = self.assigned(arg, self.place(arg, paths))
        return paths

    # ------------------------------------------------------------ functions, actions, tables

    def function(self, function: ast.Function, e: ast.Call, paths: Paths) -> Paths:
        paths = self.arguments(function.params, e.args, paths, function)
        after = self.summary(function)
        for param, arg in zip(function.params, e.args):
            key = self.key_of(arg) if param in after else None
            if key is not None and param.direction in ("out", "inout"):
                if after[param]:
                    paths = frozenset(one.make_valid(key) for one in paths)
                else:
                    paths = frozenset(Known(one.valid - {key}, one.invalid - {key}, one.filled, one.values) for one in paths)
        return self.through(function, paths) if any(is_headers(param.type) for param in function.params) else paths

    def through(self, function: ast.Function, paths: Paths) -> Paths:
        """After a function that was given all headers, which may have changed which of them are valid. Its body is judged where it is described."""
        paths = frozenset(_forget_params(one, function) for one in paths)
        if (function, paths) not in self.ends:
            self.returned.append(NOWHERE)
            self.exited.append(NOWHERE)
            with self.diagnostics.untold():
                self.ends[function, paths] = join(self.execute(function.body, paths), self.returned.pop(), self.exited.pop())
        return self.ends[function, paths]

    def summary(self, function: ast.Function) -> dict[ast.Param, bool]:
        """Judges a function's body once. Which header parameters are surely valid when it returns."""
        if function not in self.summaries:
            headers = [param for param in function.params if isinstance(param.type, HeaderType)]
            self.summaries[function] = {param: param.direction != "out" for param in headers}
            start = Known(valid=frozenset((p, None) for p in headers if p.direction != "out"),
                          invalid=frozenset((p, None) for p in headers if p.direction == "out"))
            saved, self.this, self.alone = (self.this, self.alone), None, True
            self.returned.append(NOWHERE)
            self.exited.append(NOWHERE)
            end = join(self.execute(function.body, frozenset([start])), self.returned.pop(), self.exited.pop())
            self.this, self.alone = saved
            self.summaries[function] = {param: all((param, None) in one.valid for one in end) for param in headers}
        return self.summaries[function]

    def act(self, action: ast.Action, paths: Paths) -> Paths:
        """An action's body, with what is known where it runs."""
        if not paths:
            return paths
        paths = frozenset(_forget_params(one, action) for one in paths)
        self.returned.append(NOWHERE)
        end = self.execute(action.body, paths)
        return join(end, self.returned.pop())

    def apply(self, table: ast.Table, paths: Paths) -> tuple[Paths, Paths]:
        """After a hit and after a miss."""
        *hits, (_, miss) = self.runs(table, paths)
        return join(*(after for _, after in hits)), miss

    def runs(self, table: ast.Table, paths: Paths) -> list[tuple[ast.Action | None, Paths]]:
        """What is known after each action that a hit can run, and, last, after the default action."""
        self.looked_up = table
        for key in table.keys:
            paths = self.eval(key.expr, paths)
        self.looked_up = None
        out = [(ref.action, self.run_action(ref, paths)) for ref in table.actions]
        default = table.default_action
        return [*out, (default.action, self.run_action(default, paths)) if default is not None else (None, paths)]

    def run_action(self, ref: ast.ActionRef, paths: Paths) -> Paths:
        """An action as a table runs it: the arguments bound in the list, then its body."""
        if ref.action is None:
            return paths
        args = ref.bound + ref.args
        params = ref.action.params[:len(args)]
        for param, arg in zip(params, args):
            if param.direction != "out":
                paths = self.eval(arg, paths)
        return self.given_back(params, args, self.act(ref.action, paths))


def looked_at(field: ast.StructField) -> list[ast.StructField]:
    """The headers that the description of a header reads."""
    header = header_of(field)
    return [arg for param, arg in zip(header.params, field.args) if any(isinstance(one, ast.Name) and one.decl is param for one in walk(header.items))]


def makes_valid(function: ast.Function, param: ast.Param) -> bool:
    """Whether a function makes a header valid that it is given."""
    return any(isinstance(one, ast.Call) and one.target == "setValid" and isinstance(one.callee, ast.Member) and getattr(one.callee.base, "decl", None) is param
               for one in walk(function.body))


def of_param(key: Key, field: ast.StructField) -> bool:
    """Whether a function's parameter may stand for the header."""
    return isinstance(key[0], ast.Param) and header_of(field) is getattr(key[0].type, "decl", None)


def _forget_params(one: Known, called: ast.Action | ast.Function) -> Known:
    for param in called.params:
        one = one.forget((param, "var"))
    return one
