"""The path-dependent rules in expressions and calls; see `flow.py`."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from .. import ast, builtins
from ..buffers import CALLS, emitted, key_values
from ..diagnostics import Diagnostics
from ..instances import walk
from ..types import Bool, EnumType, HeaderType, Meta, Stack
from .facts import NOWHERE, Key, Known, Path, Paths, Values, join


class FlowCalls:
    def __init__(self, program: ast.Program, diagnostics: Diagnostics):
        self.program, self.diagnostics = program, diagnostics
        self.this: Key | None = None                        # the header being described
        self.summaries: dict[ast.Function, dict[ast.Param, bool]] = {}
        self.accepts: dict[ast.SelectCase, Paths] = {}      # where the last parser ended, and what was known there
        self.sent: set[ast.Deparser] = set()                # deparsers that a send has put in line
        self.returned: list[Paths] = []
        self.exited: list[Paths] = []

    execute: Callable[[ast.Node, Paths], Paths]             # of `Flow`

    @contextmanager
    def describing(self, header: ast.Header) -> Iterator[None]:
        saved, self.this = self.this, (header, None)
        try:
            yield
        finally:
            self.this = saved

    # ------------------------------------------------------------ what expressions name

    def key_of(self, e: ast.Expr) -> Key | None:
        """The header that an expression names."""
        match e:
            case ast.Member(decl=ast.StructField() as field) if isinstance(field.type, HeaderType):
                return (field, None)
            case ast.Member(decl="last") | ast.Member(decl="next"):
                return (e.base.decl, e.decl) if isinstance(e.base, ast.Member) else None
            case ast.Index() if isinstance(e.base.type, Stack) and isinstance(e.base, ast.Member):
                return (e.base.decl, int(e.index.const or 0))
            case ast.Name() if isinstance(e.type, HeaderType):
                return (e.decl, None)
        return None

    def path_of(self, e: ast.Expr) -> Path | None:
        """The variable or header field that an expression names."""
        match e:
            case ast.Name(decl=ast.Field()):
                return (*self.this, e.decl) if self.this is not None else None
            case ast.Name(decl=ast.VarDecl()) | ast.Name(decl=ast.Param()) | ast.Name(decl=ast.CodecVar()):
                return (e.decl, "var")
            case ast.Member(decl=ast.Field()):
                key = self.key_of(e.base)
                return None if key is None else (*key, e.decl)
            case ast.Member(decl=str()) if isinstance(e.base.type, Meta):
                return ("meta", "var", e.decl)
            case ast.Member(decl=ast.StructField()):
                base = self.path_of(e.base)
                return None if base is None else (*base, e.decl)
        return None

    # ------------------------------------------------------------ telling

    def needs_valid(self, e: ast.Expr, key: Key, paths: Paths, assigning: bool = False) -> Paths:
        """Tells if the header may be missing. Returns the paths with the header valid: one message is enough."""
        if not paths or self.this is not None and key == self.this or all(key in one.valid for one in paths):
            return paths
        name = show(e)
        never = all(key in one.invalid for one in paths)
        hint = f"test it first: if ({name}.isValid()) {{ ... }}"
        if never and assigning:
            hint = f"make it valid first: {name}.setValid();"
        elif never:
            hint = "no path to here extracts it or makes it valid"
        elif assigning:
            hint += f", or make it valid: {name}.setValid();"
        notes = [("the parser accepts here without it", case.span) for case, reached in self.accepts.items()
                 if not never and any(key in one.invalid for one in reached)][:1]
        self.diagnostics.error(f"'{name}' {'is' if never else 'may'} not {'' if never else 'be '}valid here", e.span, hint, notes=notes)
        present = some(known.is_valid(key) for known in paths)
        return present or frozenset(one.make_valid(key) for one in paths)

    def needs_arm(self, e: ast.Member, key: Key | None, paths: Paths) -> None:
        arm = e.decl
        assert isinstance(arm, ast.ChoiceArm) and arm.choice is not None
        tag = arm.choice.tag
        if key is None or all(one.about((*key, tag.decl)).only == frozenset([arm.number]) for one in paths):
            return
        assert isinstance(e.base, (ast.Member, ast.Name)) and isinstance(tag.type, EnumType)
        owner = f"{show(e.base.base)}." if isinstance(e.base, ast.Member) else ""
        member = f"{tag.type}.{arm.name}"
        self.diagnostics.error(f"'{show(e)}' is read where {owner}{tag.name} is not known to be {member}", e.span,
                               f"test it first: if ({owner}{tag.name} == {member}) {{ ... }}")

    # ------------------------------------------------------------ expressions

    def eval(self, e: ast.Expr, paths: Paths) -> Paths:
        """Judges the reads of an expression; returns what is known after it."""
        if not paths:
            return paths
        match e:
            case ast.Binary(op="&&") | ast.Binary(op="||") | ast.Unary(op="!"):
                return join(*self.decide(e, paths))
            case ast.Binary():
                return self.eval(e.right, self.eval(e.left, paths))
            case ast.Unary():
                return self.eval(e.operand, paths)
            case ast.Cast():
                return self.eval(e.operand, paths)
            case ast.Conditional():
                then, otherwise = self.decide(e.cond, paths)
                return join(self.eval(e.then, then), self.eval(e.otherwise, otherwise))
            case ast.Slice():
                return self.eval(e.base, paths)
            case ast.Index():
                return self.eval(e.index, self.eval(e.base, paths))
            case ast.Member():
                return self.member(e, paths)
            case ast.Call():
                return self.call(e, paths)
            case ast.ListExpr():
                for element in e.elements:
                    paths = self.eval(element, paths)
            case ast.InlinePiece() if e.width is None and e.source is not None:
                return self.eval(e.source, paths)
        return paths

    def member(self, e: ast.Member, paths: Paths) -> Paths:
        if isinstance(e.decl, (ast.Field, ast.ChoiceField)):
            key = self.key_of(e.base)
            return paths if key is None else self.needs_valid(e.base, key, paths)
        if isinstance(e.decl, ast.ChoiceArm):
            paths = self.eval(e.base, paths)
            self.needs_arm(e, self.key_of(e.base.base) if isinstance(e.base, ast.Member) else self.this, paths)
            return paths
        if isinstance(e.base, (ast.Member, ast.Index, ast.Call)):
            return self.eval(e.base, paths)
        return paths

    # ------------------------------------------------------------ conditions

    def decide(self, e: ast.Expr, paths: Paths) -> tuple[Paths, Paths]:
        """Paths on which a condition is true, and on which it is false."""
        if e.const is not None:
            return (paths, NOWHERE) if e.const else (NOWHERE, paths)
        match e:
            case ast.Unary(op="!"):
                true, false = self.decide(e.operand, paths)
                return false, true
            case ast.Binary(op="&&"):
                true, false = self.decide(e.left, paths)
                right, wrong = self.decide(e.right, true)
                return right, join(false, wrong)
            case ast.Binary(op="||"):
                true, false = self.decide(e.left, paths)
                right, wrong = self.decide(e.right, false)
                return join(true, right), wrong
            case ast.Binary(op="==") | ast.Binary(op="!="):
                paths = self.eval(e.right, self.eval(e.left, paths))
                known, other = (e.left, e.right) if e.right.const is not None else (e.right, e.left)
                if other.const is None:
                    return paths, paths
                true, false = self.compare(known, frozenset([int(other.const)]), paths)
                return (true, false) if e.op == "==" else (false, true)
            case ast.Conditional():
                then, otherwise = self.decide(e.cond, paths)
                a, b = self.decide(e.then, then), self.decide(e.otherwise, otherwise)
                return join(a[0], b[0]), join(a[1], b[1])
            case ast.Call(target="isValid"):
                assert isinstance(e.callee, ast.Member)
                key = self.key_of(e.callee.base)
                if key is None:
                    return paths, paths
                valid = [one.is_valid(key) for one in paths]
                invalid = [one.is_invalid(key) for one in paths]
                return some(valid), some(invalid)
            case ast.Member(decl="hit" | "miss", base=ast.Call(target=ast.Table() as table)):
                hit, miss = self.apply(table, paths)
                return (hit, miss) if e.decl == "hit" else (miss, hit)
        paths = self.eval(e, paths)
        if isinstance(e.type, Bool):
            return self.compare(e, frozenset([1]), paths)
        return paths, paths

    def compare(self, e: ast.Expr, values: frozenset[int], paths: Paths) -> tuple[Paths, Paths]:
        """Paths on which a value is one of `values`, and on which it is none."""
        path = self.path_of(e)
        if path is None:
            if isinstance(e, ast.Cast) and isinstance(e.operand.type, (EnumType, Bool)):
                return self.compare(e.operand, values, paths)
            return paths, paths
        universe: list[int] | None = None
        if isinstance(e.type, Bool):
            universe = [0, 1]
        elif isinstance(e.type, EnumType):
            universe = [member.number for member in e.type.decl.members]
        true, false = set(), set()
        for one in paths:
            known = one.about(path)
            if universe is not None and known.only is None:
                known = known.within(universe)
            is_, is_not = known.within(values), known.without(values)
            if not is_.impossible:
                true.add(one.set(path, is_))
            if not is_not.impossible:
                false.add(one.set(path, is_not))
        return frozenset(true), frozenset(false)

    def store(self, path: Path, value: ast.Expr, paths: Paths) -> Paths:
        """After assigning `value` to `path`."""
        source = self.path_of(value)
        out = set()
        for one in paths:
            known = Values()
            if value.const is not None:
                known = Values(frozenset([int(value.const)]))
            elif source is not None:
                known = one.about(source)
            elif isinstance(value, ast.Conditional):
                known = self.either(value, one)
            out.add(one.forget(path).set(path, known))
        return frozenset(out)

    def either(self, value: ast.Expr, one: Known) -> Values:
        if value.const is not None:
            return Values(frozenset([int(value.const)]))
        if isinstance(value, ast.Conditional):
            return self.either(value.then, one).or_else(self.either(value.otherwise, one))
        path = self.path_of(value)
        return one.about(path) if path is not None else Values()

    def forget_target(self, e: ast.Expr, paths: Paths) -> Paths:
        path = self.path_of(e)
        if path is not None:
            return frozenset(one.forget(path) for one in paths)
        if isinstance(e, ast.Member) and isinstance(e.decl, ast.ChoiceArm) and isinstance(e.base, ast.Member) and e.decl.choice is not None:
            key = self.key_of(e.base.base)
            if key is not None:
                return frozenset(one.forget((*key, e.decl.choice.tag.decl)) for one in paths)
        return paths

    # ------------------------------------------------------------ calls

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
            return self.decide(e.args[0], paths)[0]
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
        if method == "setValid":
            return frozenset(one if key in one.valid else one.make_valid(key) for one in paths)
        if method == "setInvalid":
            return frozenset(one.make_invalid(key) for one in paths)
        if method == "holds":
            paths = self.needs_valid(base, key, paths)
            self.bound(base, paths, deferred=True)
        return paths

    def bound(self, e: ast.Expr, paths: Paths, deferred: bool) -> None:
        """The headers that a header's description looks at must be there when it is evaluated."""
        field = e.decl if isinstance(e, ast.Member) else None
        if not isinstance(field, ast.StructField) or not isinstance(field.type, HeaderType):
            return
        header = field.type.decl
        assert isinstance(header, ast.Header)
        for param, arg in zip(header.params, field.args):
            read = [one for one in walk(header.items) if isinstance(one, ast.Name) and one.decl is param]
            key = (arg, None)
            if read and not all(key in one.valid for one in paths):
                own = show(e)
                other = f"{own.rpartition('.')[0]}.{arg.name}"
                never = all(key in one.invalid for one in paths)
                self.diagnostics.error(f"'{own}' looks at '{other}', which {'is' if never else 'may'} not {'' if never else 'be '}valid here", e.span,
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
        paths = frozenset(one.make_valid(key) for one in paths)
        return paths if e.via is not None else self.checked(key, header, paths)

    def checked(self, key: Key, e: ast.Expr, paths: Paths) -> Paths:
        """A header that was parsed has passed its own checks."""
        assert isinstance(e.type, HeaderType)
        header = e.type.decl
        assert isinstance(header, ast.Header)
        saved, self.this = self.this, key
        before = len(self.diagnostics.items)
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
        del self.diagnostics.items[before:]                 # told where the header is described
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

    def send(self, front: ast.Expr | None, others: list[ast.Expr], paths: Paths) -> Paths:
        """`front`: `Tx(h)`; the deparser is judged with what is known where it is put in line."""
        for arg in others:
            paths = self.eval(arg, paths)
        deparser = front.target if isinstance(front, ast.Call) else None
        if isinstance(deparser, ast.Deparser):
            self.sent.add(deparser)
            self.exited.append(NOWHERE)
            self.returned.append(NOWHERE)
            self.execute(deparser.body, paths)
            self.exited.pop()
            self.returned.pop()
        return paths

    def via(self, via: ast.Via, paths: Paths) -> Paths:
        assert via.codec is not None
        return self.arguments(via.codec.params, via.args, paths)

    def arguments(self, params: list[ast.Param], args: list[ast.Expr], paths: Paths) -> Paths:
        """Judges arguments; afterwards nothing is known of those that are given back."""
        for param, arg in zip(params, args):
            if isinstance(param.type, HeaderType):
                key = self.key_of(arg)
                if key is not None and param.direction != "out":
                    paths = self.needs_valid(arg, key, paths)
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
                    if isinstance(arg, ast.Member) and isinstance(arg.decl, ast.Field):
                        key = self.key_of(arg.base)
                        if key is not None:
                            paths = self.needs_valid(arg.base, key, paths, assigning=True)
                    paths = self.forget_target(arg, paths)
        return paths

    # ------------------------------------------------------------ functions, actions, tables

    def function(self, function: ast.Function, e: ast.Call, paths: Paths) -> Paths:
        paths = self.arguments(function.params, e.args, paths)
        after = self.summary(function)
        for param, arg in zip(function.params, e.args):
            key = self.key_of(arg) if param in after else None
            if key is not None and param.direction in ("out", "inout"):
                if after[param]:
                    paths = frozenset(one.make_valid(key) for one in paths)
                else:
                    paths = frozenset(Known(one.valid - {key}, one.invalid - {key}, one.filled, one.values) for one in paths)
        return paths

    def summary(self, function: ast.Function) -> dict[ast.Param, bool]:
        """Judges a function's body once. Which header parameters are surely valid when it returns."""
        if function not in self.summaries:
            headers = [param for param in function.params if isinstance(param.type, HeaderType)]
            self.summaries[function] = {param: param.direction != "out" for param in headers}
            start = Known(valid=frozenset((p, None) for p in headers if p.direction != "out"),
                          invalid=frozenset((p, None) for p in headers if p.direction == "out"))
            saved, self.this = self.this, None
            self.returned.append(NOWHERE)
            self.exited.append(NOWHERE)
            end = join(self.execute(function.body, frozenset([start])), self.returned.pop(), self.exited.pop())
            self.this = saved
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
        for key in table.keys:
            paths = self.eval(key.expr, paths)
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


def some(paths: Iterable[Known | None]) -> Paths:
    """Those that are paths."""
    return frozenset(one for one in paths if one is not None)


def _forget_params(one: Known, action: ast.Action) -> Known:
    for param in action.params:
        one = one.forget((param, "var"))
    return one


def show(e: ast.Expr) -> str:
    """A header expression as it is written."""
    match e:
        case ast.Name():
            return e.name
        case ast.Member():
            return f"{show(e.base)}.{e.name}"
        case ast.Index():
            return f"{show(e.base)}[{e.index.const if e.index.const is not None else '...'}]"
        case ast.Call():
            return f"{show(e.callee)}(...)"
    return "this"
