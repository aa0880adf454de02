"""Reads of headers that may not be there, and of choice arms that may not be chosen: the rules that depend on the path.

An abstract run of every module, in the order of the chain: what the parser's accepting paths extracted is what the
processors find. Functions are judged once, with their header parameters valid.
"""
from __future__ import annotations

from dataclasses import replace

from .. import ast
from ..diagnostics import Diagnostics
from ..hooks import handlers_of, number
from ..instances import instances, is_headers, named_field, walk
from ..types import Bool, HeaderType
from .codecs import arm_of
from .facts import NOWHERE, Known, Path, Paths, Values, join, merge
from .flow_calls import FlowCalls
from .flow_values import VERDICT, show

ENDED = frozenset((1, 2, 4))                    # DROP, DELIVER, CONSUMED: later modules do not run
MAKE_OTHERS = ("setValid", "setInvalid", "push_front", "pop_front")
TURNS = 8                                       # over a loop, before what changes in it is forgotten


class Flow(FlowCalls):
    def __init__(self, program: ast.Program, diagnostics: Diagnostics):
        super().__init__(program, diagnostics)

    def run(self) -> None:
        for decl in self.program.decls:
            if isinstance(decl, ast.Header):
                self.header(decl)
            elif isinstance(decl, ast.Function):
                self.summary(decl)
            elif isinstance(decl, ast.Codec):
                self.codec(decl)
        ends = [self.chain(hook.chain) for hook in self.program.hooks]
        parsed, used = ends[0] if ends else self.nothing_valid(), self.program.modules
        for decl in self.program.decls:
            if decl in used or decl in self.sent or decl in self.program.applied:
                continue                        # what is applied is judged where it is
            if isinstance(decl, ast.Parser):
                self.parser(decl)
            elif isinstance(decl, (ast.Processor, ast.Deparser)):
                self.module(decl, parsed)
            elif isinstance(decl, ast.Timing):
                for one in handlers_of(decl):
                    self.chain(one.chain)
        for span in (span for span, accept in self.verdicts.values() if accept):
            self.diagnostics.warning("m.verdict is ACCEPT here: a processor begins with it, whatever the one before it decided", span,
                                     "ask for it in the processor that assigns it, or keep it in a register")

    def chain(self, modules: list[ast.Module]) -> Paths:
        """Judges modules in the order in which they run. What the parser found."""
        parsed = after = self.nothing_valid()
        self.accepts, self.again = {}, {}                   # no parser runs before a handler
        for module in modules:
            if isinstance(module, ast.Parser):
                parsed = after = self.parser(module) or self.nothing_valid()
            else:
                after = self.module(module, after) or parsed
        self.replaced(modules)
        return parsed

    def replaced(self, modules: list[ast.Module]) -> None:
        """Headers that the parser may extract twice, where the chain emits what it took: the packet goes on without the first. A chain that makes headers valid or
        invalid builds another packet, for which the last one may be what is wanted."""
        if not self.again or not isinstance(modules[-1], ast.Deparser):
            return
        calls = [one for module in modules for one in walk(module) if isinstance(one, ast.Call)]
        if any(call.target in MAKE_OTHERS for call in calls):
            return
        emitted = {named_field(call.args[0]) for call in calls if call.target == "emit"}
        for call in self.again.values():
            header = call.args[0]
            if named_field(header) in emitted:
                self.diagnostics.warning(f"'{show(header)}' may have been extracted before: it is replaced here, and the packet goes on without the first", call.span,
                                         f"refuse a second one before it, verify(!{show(header, written=True)}.isValid(), error.NAME), or extract into a stack")

    def nothing_valid(self) -> Paths:
        return frozenset([Known(invalid=frozenset((one.field, one.index) for one in instances(self.program)))])

    # ------------------------------------------------------------ descriptions

    def header(self, header: ast.Header) -> None:
        """A choice in the header's own conditions and equations."""
        with self.describing(header):
            start: Paths = frozenset([Known(valid=frozenset((param, None) for param in header.params))])
            for item in header.items:
                for e in expressions_of(item):
                    self.eval(e, start)

    def codec(self, codec: ast.Codec) -> None:
        assert codec.header is not None
        with self.describing(codec.header):
            params = [*codec.params, *codec.header.params]
            headers = frozenset((param, None) for param in params if isinstance(param.type, HeaderType))
            start: Paths = frozenset([Known(valid=headers)])
            for var in codec.vars:
                for e in (var.value, var.cond):
                    if e is not None:
                        self.eval(e, start)
            for group in codec.groups:
                for row in group.rows:
                    paths = start
                    for item in row.items:
                        if isinstance(item, ast.RowWhere):
                            paths = self.decide(item.cond, paths)[0]
                        elif isinstance(item, ast.RowAssign):
                            paths = self.said(item.target, self.eval(item.value, paths))
                        else:
                            for target in item.targets:
                                if target.bits is not None:
                                    paths = self.eval(target.bits, paths)
                                paths = self.said(target.target, paths)

    def said(self, target: ast.Expr | None, paths: Paths) -> Paths:
        """A row that says an arm is for headers whose tag names it."""
        arm = arm_of(target)
        if arm is None or arm.choice is None or self.this is None:
            return paths
        return frozenset(one.set((*self.this, arm.choice.tag.decl), Values(frozenset([arm.number]))) for one in paths)

    # ------------------------------------------------------------ modules

    def parser(self, parser: ast.Parser) -> Paths:
        """What is known where the parser accepts."""
        start = self.given(parser, self.nothing_valid())
        for local in parser.locals:
            start = self.execute(local, start)
        first = next((state for state in parser.states if state.name == "start"), None)
        if first is None:
            return NOWHERE
        entry: dict[ast.State, Paths] = {first: start}
        accepted = NOWHERE
        self.accepts = {}
        todo = [first]
        visits: dict[ast.State, int] = {}
        while todo:
            state = todo.pop(0)
            visits[state] = visits.get(state, 0) + 1
            self.once = state.max is not None and state.max.const == 1
            paths = self.block(state.statements, entry[state])
            self.once = False
            variables: list[Path] = [(one, "var") if not isinstance(one.type, HeaderType) else (one, None)
                                     for one in state.statements if isinstance(one, ast.VarDecl)]
            assert state.transition is not None
            for case, reached in self.cases(state.transition, paths):
                for variable in variables if not state.transition.inner else []:
                    reached = frozenset(one.forget(variable) for one in reached)
                if case.target == "accept":
                    accepted = join(accepted, reached)
                    self.accepts[case] = reached
                elif case.reason is not None:
                    self.eval(case.reason, reached)
                elif case.state is not None:
                    old = entry.get(case.state, NOWHERE)
                    new = join(old, reached)
                    if visits.get(case.state, 0) > 4 * TURNS:
                        new = join_all(new)
                    if new != old or case.state not in entry:
                        entry[case.state] = new
                        if case.state not in todo:
                            todo.append(case.state)
        return frozenset(only_headers(one) for one in accepted)

    def given(self, module: ast.Parser | ast.Processor, paths: Paths) -> Paths:
        """The headers that whoever applies a module gives it: valid, unless it makes them."""
        for param in module.params:
            if isinstance(param.type, HeaderType):
                key = (param, None)
                paths = frozenset(one.make_invalid(key) if param.direction == "out" else one.make_valid(key) for one in paths)
        return paths

    def cases(self, transition: ast.Transition, paths: Paths) -> list[tuple[ast.SelectCase, Paths]]:
        """Each case with the paths that take it."""
        if transition.select is None:
            return [(transition.cases[0], paths)]
        for e in transition.select:
            paths = self.eval(e, paths)
        out = []
        for case in transition.cases:
            keys = case.keys if len(case.keys) == len(transition.select) else []
            taken, left = paths, NOWHERE
            exact = [(e, key) for e, key in zip(transition.select, keys) if not isinstance(key, ast.DontCare)]
            for e, key in exact:
                taken, missed = self.match(e, key, taken)
                left = join(left, missed)
            out.append((case, taken))
            paths = left
        return out

    def match(self, e: ast.Expr, key: ast.Expr, paths: Paths) -> tuple[Paths, Paths]:
        """Paths on which a value is and is not in a set's element."""
        if isinstance(e.type, Bool) and key.const is not None:
            true, false = self.decide(e, paths)
            return (true, false) if key.const else (false, true)
        if key.const is not None and not isinstance(key, (ast.RangeSet, ast.DontCare)):
            return self.compare(e, frozenset([int(key.const)]), paths)
        if isinstance(key, ast.RangeSet) and key.low.const is not None and key.high.const is not None and key.high.const - key.low.const < 64:
            return self.compare(e, frozenset(range(int(key.low.const), int(key.high.const) + 1)), paths)
        return paths, paths

    def module(self, module: ast.Module, paths: Paths) -> Paths:
        """A processor, deparser or handler; what is known where the next module runs."""
        self.exited.append(NOWHERE)
        self.returned.append(NOWHERE)
        if isinstance(module, ast.Processor):
            paths = frozenset(one.set(VERDICT, Values(frozenset([0]))) for one in self.given(module, paths))
            for local in module.locals:
                if isinstance(local, (ast.VarDecl, ast.ConstDecl)):
                    paths = self.execute(local, paths)
            end = self.execute(module.apply, paths)
            end = join(end, self.exited.pop(), self.returned.pop())
            end = frozenset(one for one in end if (one.about(VERDICT).only or frozenset([0])) - ENDED)
        else:
            assert isinstance(module, (ast.Deparser, ast.Handler))
            if isinstance(module, ast.Deparser):
                self.finds(module, paths)
            end = join(self.execute(module.body, paths), self.exited.pop(), self.returned.pop())
        return frozenset(only_headers(one) for one in end)

    # ------------------------------------------------------------ statements

    def block(self, statements: list[ast.Stmt], paths: Paths) -> Paths:
        for one in statements:
            if not paths:
                break
            paths = self.execute(one, paths)
        return paths

    def execute(self, one: ast.Node, paths: Paths) -> Paths:
        match one:
            case ast.Block():
                return self.block(one.statements, paths)
            case ast.VarDecl():
                return self.variable(one, paths)
            case ast.Assign():
                return self.assign(one, paths if isinstance(one.target.type, HeaderType) else self.eval(one.value, paths))
            case ast.If():
                then, otherwise = self.decide(one.cond, paths)
                then = self.execute(one.then, then) if then else NOWHERE
                if one.otherwise is not None and otherwise:
                    otherwise = self.execute(one.otherwise, otherwise)
                return join(then, otherwise)
            case ast.For():
                return self.loop(one, paths)
            case ast.Switch():
                return self.switch(one, paths)
            case ast.Return():
                if one.value is not None:
                    paths = self.eval(one.value, paths)
                self.returned[-1] = join(self.returned[-1], paths)
                return NOWHERE
            case ast.Exit():
                self.exited[-1] = join(self.exited[-1], paths)
                return NOWHERE
            case ast.ExprStmt():
                return self.eval(one.call, paths)
            case ast.After():
                return self.eval(one.delay, paths)
            case ast.Applied():
                self.returned.append(NOWHERE)
                end = self.execute(one.body, paths)
                return join(end, self.returned.pop())
        return paths

    def variable(self, one: ast.VarDecl, paths: Paths) -> Paths:
        if is_headers(one.type):                            # of a handler, which begins with none of them valid
            return paths
        if isinstance(one.type, HeaderType):
            return frozenset(known.make_invalid((one, None)) for known in paths)
        if one.init is not None:
            paths = self.eval(one.init, paths)
            return self.store((one, "var"), one.init, paths)
        paths = frozenset(known.forget((one, "var")) for known in paths)
        return frozenset(known.set((one, "var"), Values(frozenset([0]))) for known in paths)

    def assign(self, one: ast.Assign, paths: Paths) -> Paths:
        target = one.target
        if isinstance(target.type, HeaderType):
            to, of = self.key_of(target), self.key_of(one.value)
            if to is None or of is None or to == of:
                return paths
            for appears in (True, False):
                self.unseen(to, paths, appears)
            return frozenset(known.copy(to, of) for known in paths)
        paths = self.place(target, paths)
        if isinstance(target, ast.Slice) or isinstance(target, ast.Member) and isinstance(target.decl, ast.ChoiceArm):
            return self.assigned(target, paths)
        path = self.path_of(target)
        return self.store(path, one.value, paths) if path is not None else paths

    def loop(self, one: ast.For, paths: Paths) -> Paths:
        if number(one.high) - number(one.low) == 1:
            return self.execute(one.body, paths)
        for turn in range(TURNS):
            new = join(paths, self.execute(one.body, paths))
            if new == paths:
                return paths
            paths = new
        while True:
            new = join_all(join(paths, self.execute(one.body, paths)))
            if new == paths:
                return paths
            paths = new

    def switch(self, one: ast.Switch, paths: Paths) -> Paths:
        if isinstance(one.value, ast.Member) and one.value.decl == "action_run":
            return self.action_run(one, paths)
        paths = self.eval(one.value, paths)
        out, falling = NOWHERE, NOWHERE
        for labels, block in one.cases:
            for label in labels:
                if isinstance(label, ast.DontCare):
                    taken, paths = paths, NOWHERE
                else:
                    taken, paths = self.match(one.value, label, paths)
                falling = join(falling, taken)
            if block is not None:
                out = join(out, self.execute(block, falling) if falling else NOWHERE)
                falling = NOWHERE
        return join(out, paths, falling)


    def action_run(self, one: ast.Switch, paths: Paths) -> Paths:
        """Each case with what is known after its action."""
        assert isinstance(one.value, ast.Member) and isinstance(one.value.base, ast.Call) and isinstance(one.value.base.target, ast.Table)
        ran = self.runs(one.value.base.target, paths)
        out, falling = NOWHERE, NOWHERE
        for labels, block in one.cases:
            for label in labels:
                default = isinstance(label, ast.DontCare)
                falling = join(falling, *(after for action, after in ran if default or action is label.decl))
                ran = [] if default else [pair for pair in ran if pair[0] is not label.decl]
            if block is not None:
                out = join(out, self.execute(block, falling) if falling else NOWHERE)
                falling = NOWHERE
        return join(out, falling, *(after for _, after in ran))


def join_all(paths: Paths) -> Paths:
    """One path with what holds on all: a loop that keeps changing must settle."""
    if not paths:
        return paths
    one = merge(list(paths))
    return frozenset([replace(one, values=frozenset())])


def only_headers(one: Known) -> Known:
    """What the next module can know: nothing of variables."""
    return replace(one, values=frozenset(pair for pair in one.values if isinstance(pair[0][0], ast.StructField)),
                   valid=frozenset(key for key in one.valid if isinstance(key[0], ast.StructField)),
                   invalid=frozenset(key for key in one.invalid if isinstance(key[0], ast.StructField)))


def expressions_of(item: ast.HeaderItem) -> list[ast.Expr]:
    if isinstance(item, ast.Where):
        return [item.cond]
    out: list[ast.Expr] = []
    for field in item.fields if isinstance(item, ast.Word) else [item] if isinstance(item, ast.Field) else []:
        out += [e for e in (field.when, field.sized, field.equation) if e is not None]
    return out
