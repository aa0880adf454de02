"""Modules that other modules apply: `Options.apply(pkt, h.options, n)`. Each application is written out where it stands.

What is applied has been checked on its own. Its body is copied with its parameters bound: packet, meta, headers and stacks are
the caller's own; numbers and structs are copied in, and back when it has ended. A parser's states become states of the caller,
its `accept` goes on behind the call. Registers, counters, value sets and the entries of tables stay those of the module that
declares them, whoever applies it.
"""
from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import RESOLVED, by_reference, walk
from ..types import Bool, Packet

Module = ast.Parser | ast.Processor | ast.Deparser
Node = TypeVar("Node", bound=ast.Node)
SHARED = (ast.Register, ast.Counter, ast.Meter, ast.BufferDecl, ast.ValueSet)


def applications(node: object) -> list[ast.Call]:
    """The calls below a node that apply a module."""
    return [one for one in walk(node) if isinstance(one, ast.Call) and isinstance(one.target, (ast.Parser, ast.Processor, ast.Deparser))]


def write_out(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Writes out every application; tells circles."""
    done: set[Module] = set()

    def visit(module: Module, path: list[Module]) -> None:
        if module in done:
            return
        for call in applications([module.states] if isinstance(module, ast.Parser) else [module.apply] if isinstance(module, ast.Processor) else [module.body]):
            target = call.target
            assert isinstance(target, (ast.Parser, ast.Processor, ast.Deparser))
            if target in [*path, module]:
                circle = [*path, module][[*path, module].index(target):] + [target]
                diagnostics.error(f"'{target.name}' applies itself: {' -> '.join(one.name for one in circle)}", call.span,
                                  "every program ends: " + ("bound a state with max, and go round it" if isinstance(target, ast.Parser)
                                                            else "what is done several times stands in for (i in 0..4) { ... }"))
                done.update([*path, module])
                return
            visit(target, [*path, module])
        if module in done:
            return
        done.add(module)
        if isinstance(module, ast.Parser):
            States(module, diagnostics).write_out()
        elif isinstance(module, ast.Processor):
            module.apply = replaced(module.apply, module)
        else:
            module.body = replaced(module.body, module)

    for decl in program.decls:
        if isinstance(decl, (ast.Parser, ast.Processor, ast.Deparser)):
            visit(decl, [])


# ---------------------------------------------------------------- copies

class Copy:
    """A copy of a checked module's parts in which declarations inside are new, and parameters bound."""

    def __init__(self, call: ast.Call):
        module = call.target
        assert isinstance(module, (ast.Parser, ast.Processor, ast.Deparser))
        self.module, self.call = module, call
        self.new: dict[object, Any] = {}
        self.bound: dict[ast.Param, ast.Expr] = {}
        self.variables: list[ast.VarDecl] = []
        self.back: list[ast.Assign] = []
        for param, arg in zip(module.params, call.args):
            if by_reference(param.type) or isinstance(param.type, Packet):
                self.bound[param] = arg
            else:
                self.variable(param, arg)
        self.own: list[ast.Node] = getattr(module, "locals", [])
        for node in walk([getattr(module, "states", []), self.own, getattr(module, "apply", None), getattr(module, "body", None)]):
            self.declare(node)

    def declare(self, node: ast.Node) -> None:
        inner = [node.var] if isinstance(node, ast.For) and node.var is not None else []
        if isinstance(node, (ast.VarDecl, ast.ConstDecl, ast.State, ast.Action, ast.Param, ast.Table)):
            inner.append(node)
        for one in inner:
            self.new[one] = object.__new__(type(one))

    def variable(self, param: ast.Param, arg: ast.Expr) -> None:
        """A variable that holds a parameter while the module runs."""
        made = ast.VarDecl(param.span, param.type_ref, param.name, None if param.direction == "out" else arg, param.type)
        self.new[param] = made
        self.variables.append(made)
        if param.direction in ("out", "inout"):
            value = ast.Name(arg.span, param.name, made)
            value.type = param.type
            self.back.append(ast.Assign(self.call.span, arg, value))

    def of(self, node: Any) -> Any:
        """The copy of a node, of a list of nodes, or of anything that a name was resolved to."""
        if isinstance(node, (list, tuple)):
            return type(node)(self.of(one) for one in node)
        if not isinstance(node, ast.Node) or isinstance(node, SHARED):
            return node
        if isinstance(node, ast.Name) and node.decl in self.bound:
            return self.bound[node.decl]
        made = self.new[node] if node in self.new else object.__new__(type(node))
        skip = RESOLVED | ({"target"} if isinstance(node, ast.Call) else set())
        for one in fields(node):
            value = getattr(node, one.name)
            made.__dict__[one.name] = self.resolved(value) if one.name in skip else self.of(value)
        if isinstance(node, ast.For) and node.var is not None:
            made.var = self.of(node.var)
        if isinstance(node, ast.Table):
            made.shared = node.shared or node
        return made

    def resolved(self, value: Any) -> Any:
        return self.new.get(value, value) if isinstance(value, ast.Node) else value

    def locals(self) -> list[ast.Node]:
        """The module's variables and constants, fresh for each application."""
        return [self.of(one) for one in self.own if isinstance(one, (ast.VarDecl, ast.ConstDecl))]

    def kept(self) -> list[ast.Node]:
        """Actions and tables: of the caller's from now on."""
        return [self.of(one) for one in self.own if isinstance(one, (ast.Action, ast.Table))]


# ---------------------------------------------------------------- processors and deparsers

def replaced(node: Any, caller: Module) -> Any:
    """A statement with the applications in it written out."""
    if isinstance(node, ast.ExprStmt):
        if not isinstance(node.call.target, (ast.Processor, ast.Deparser)):
            return node
        copy = Copy(node.call)
        before = [*copy.variables, *copy.locals()]
        if isinstance(caller, ast.Processor):
            caller.locals += copy.kept()
        body = copy.of(copy.module.apply if isinstance(copy.module, ast.Processor) else copy.module.body)
        return ast.Block(node.span, [*before, ast.Applied(node.span, body), *copy.back])
    if isinstance(node, ast.Block):
        node.statements = [replaced(one, caller) for one in node.statements]
    elif isinstance(node, ast.If):
        node.then = replaced(node.then, caller)
        node.otherwise = replaced(node.otherwise, caller)
    elif isinstance(node, ast.For):
        node.body = replaced(node.body, caller)
    elif isinstance(node, ast.Switch):
        node.cases = [(labels, replaced(block, caller)) for labels, block in node.cases]
    return node


# ---------------------------------------------------------------- parsers

class States:
    """Writes out what a parser's states apply: a state is cut at each application."""

    def __init__(self, parser: ast.Parser, diagnostics: Diagnostics):
        self.parser, self.diagnostics = parser, diagnostics
        self.count = 0

    def write_out(self) -> None:
        todo = list(self.parser.states)
        while todo:
            made = self.cut(todo.pop(0))
            self.parser.states += made
            todo += made

    def cut(self, state: ast.State) -> list[ast.State]:
        """Ends a state before the first statement that applies a parser; the states that go on from there."""
        for at, s in enumerate(state.statements):
            calls = applications(s)
            if not calls:
                continue
            rest = state.statements[at + 1:]
            if isinstance(s, ast.Block):
                state.statements = [*state.statements[:at], *s.statements, *rest]
                return self.cut(state)
            if not isinstance(s, (ast.ExprStmt, ast.If)):
                self.diagnostics.error("a parser is not applied in a loop or a switch", calls[0].span,
                                       "go to a state of its own, with transition select")
                state.statements.remove(s)
                return []
            after = self.state(state, rest, state.transition)
            state.statements = state.statements[:at]
            if isinstance(s, ast.If):
                return [*self.branch(state, s, after), after]
            return [*self.apply(state, calls[0], after), after]
        return []

    def state(self, of: ast.State, statements: list[ast.Stmt], transition: ast.Transition | None) -> ast.State:
        self.count += 1
        return ast.State(of.span, f"{of.name}.{self.count}", statements, transition)

    def branch(self, state: ast.State, s: ast.If, after: ast.State) -> list[ast.State]:
        then = self.state(state, [s.then], go_to(after, s.then))
        otherwise = self.state(state, [s.otherwise], go_to(after, s.otherwise)) if s.otherwise is not None else after
        yes = ast.BoolLit(s.cond.span, True)
        yes.type, yes.const = Bool(), True
        state.transition = ast.Transition(s.span, [s.cond], [
            ast.SelectCase(s.span, [yes], then.name, None, then),
            ast.SelectCase(s.span, [ast.DontCare(s.span)], otherwise.name, None, otherwise)], inner=True)
        return [then] if otherwise is after else [then, otherwise]

    def apply(self, state: ast.State, call: ast.Call, after: ast.State) -> list[ast.State]:
        copy = Copy(call)
        parser = copy.module
        assert isinstance(parser, ast.Parser)
        self.count += 1
        state.statements += [*copy.variables, *copy.locals()]       # type: ignore[arg-type]
        after.statements = [*copy.back, *after.statements]
        states = [copy.of(one) for one in parser.states]
        for old, one in zip(parser.states, states):
            one.name = f"{parser.name}.{self.count}.{old.name}"
            one.reason = old.reason or f"{parser.name}.{old.name}"
            for case in one.transition.cases if one.transition is not None else []:
                if case.target == "accept":
                    case.state = after
                if case.state is not None:
                    case.target = case.state.name
        for one in states:                      # names are final now
            for case in one.transition.cases if one.transition is not None else []:
                case.target = case.state.name if case.state is not None else case.target
        first = next(new for old, new in zip(parser.states, states) if old.name == "start")
        state.transition = go_to(first, call)
        return states


def go_to(state: ast.State, where: ast.Node) -> ast.Transition:
    return ast.Transition(where.span, None, [ast.SelectCase(where.span, [], state.name, None, state)], inner=True)
