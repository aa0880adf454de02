"""Statements, and the bodies of functions and actions."""
from __future__ import annotations

from .. import ast, builtins
from ..buffers import CALLS
from ..instances import is_headers, walk
from ..types import Array, Bits, EnumType, ErrorType, HeaderType, Integer, Meta, Packet, Stack, StructType, Type, Varbit, Void
from .base import Base, described, root_name
from .expressions import truth
from .scope import Scope, suggest
from .turns import copy, indices, write_turns

MAX_TURNS = 1 << 16                             # of a loop with the loops in it
MAX_STACK_TURNS = 64
REST_LATER = "a register can keep how far a run came, and the next one goes on from there"


NO_VERDICT = f"a verdict is one of {', '.join(builtins.VERDICTS)}"


class Statements(Base):
    def __init__(self, program: ast.Program):
        super().__init__(program)
        self.loop_variables: set[ast.VarDecl] = set()
        self.returns: Type | None = None                    # what `return` gives here; None: it is not allowed
        self.turns = 1                                      # of the loops around
        self.copies = 1                                     # of this place: loops around that are written out
        self.returns_anything = False                       # the type is wrong, which has been told
        self.filled_in: dict[ast.Handler | None, ast.VarDecl] = {}          # the headers variable of each handler

    def block(self, body: ast.Block) -> None:
        with self.inside(Scope(self.scope)):
            self.statements(body.statements)

    def statements(self, body: list[ast.Stmt]) -> None:
        for place, one in enumerate(body):
            self.statement(one)
            if always_leaves(one) and place + 1 < len(body):
                self.warning("this is never reached", body[place + 1], unused=True)
                for rest in body[place + 1:]:
                    self.statement(rest)
                return

    def statement(self, one: ast.Stmt) -> None:
        getattr(self, "_stmt_" + type(one).__name__)(one)

    def _stmt_Block(self, one: ast.Block) -> None:
        self.block(one)

    def _stmt_VarDecl(self, one: ast.VarDecl) -> None:
        one.type = self.type_of(one.type_ref)
        if one.init is not None:
            if self.value(one.init, one.type, f"'{one.name}'") and isinstance(one.type, (HeaderType, Stack)):
                self.error("a header variable begins invalid", one.init, "extract into it, or assign it later")
        self.variable_type(one)
        self.declare_variable(one.name, one)

    def variable_type(self, one: ast.VarDecl) -> None:
        match one.type:
            case Void() | Packet() | Meta() | Varbit():
                self.error(f"a variable cannot be {one.type}", one)
            case Stack():
                self.error("a stack is no variable", one, "declare it in the headers struct, or a variable for each header")
            case HeaderType():
                header = one.type.decl
                if not isinstance(self.module, ast.Parser) or self.function is not None:
                    self.error("header variables are for parsers", one, "elsewhere headers belong to the headers struct")
                elif isinstance(header, ast.Header) and header.params:
                    self.error(f"header {header.name} looks at other headers and cannot be a variable", one,
                               "declare it in the headers struct")
            case StructType() if is_headers(one.type) and self.handler is not None and self.function is None:
                self.headers_variable(one)
            case StructType() if is_headers(one.type) and isinstance(self.function, ast.Function):
                self.error("a function has no headers of its own", one, f"declare them in a handler, and give them to the function: inout {one.type} {one.name}")
            case StructType() if is_headers(one.type):
                self.error("a module has no headers of its own", one, "those of the packet are its parameter")

    def headers_variable(self, one: ast.VarDecl) -> None:
        """`headers h;` in a handler: filled in and sent."""
        struct = one.type.decl                                              # type: ignore[union-attr]
        if self.program.headers_struct is None:
            self.program.headers_struct = struct
        elif self.program.headers_struct is not struct:
            self.error("a program has one struct of headers", one,
                       notes=[("the other one is here", self.program.headers_struct.span)])
        if self.turns > 1:
            self.error("a handler fills in one packet", one, f"declare it before the loop: {one.name}.x.setInvalid() takes a header out")
            return
        old = self.filled_in.setdefault(self.handler, one)
        if old is not one:
            self.error("a handler fills in one packet", one, f"use '{old.name}' again: {old.name}.x.setInvalid() takes a header out",
                       notes=[("the first one is here", old.span)])

    def _stmt_ConstDecl(self, one: ast.ConstDecl) -> None:
        self.const(one)
        self.declare_variable(one.name, one)

    def const(self, one: ast.Const | ast.ConstDecl) -> None:
        one.type = self.type_of(one.type_ref)
        if self.value(one.value, one.type, f"'{one.name}'") and one.value.const is None:
            if isinstance(one.type, StructType):
                self.error("a constant is a number, a bool or a member of an enum", one, "write a constant for each field, or a function that returns the struct")
            else:
                self.error(f"'{one.name}' must be a constant", one.value, "use numbers and other constants")

    def _stmt_Assign(self, one: ast.Assign) -> None:
        with self.setting(varbit_allowed=True):
            type_ = self.target(one.target)
        if self.expected(one.target):
            with self.setting(choices=self.expected(one.target)):
                self.assigned(one, type_)
        else:
            self.assigned(one, type_)

    def assigned(self, one: ast.Assign, type_: Type | None) -> None:
        if isinstance(type_, Array):
            name, given = one.target.span.text, self.expr(one.value)
            cells = min(type_.size, given.size) if isinstance(given, Array) else type_.size
            self.error(f"{type_} is not assigned as a whole", one.target,
                       f"assign each cell: for (i in 0..{cells}) {{ {name}[i] = ...; }}" if isinstance(given, Array) else "assign one cell, as in r[0] = ...")
            return
        if isinstance(type_, (HeaderType, Varbit)):
            self.copied(one, type_)
            return
        if type_ is None and isinstance(one.target, ast.Name) and isinstance(one.target.decl, ast.Counter):
            return                              # told; the value of `c = c + 1` is the same mistake
        if type_ is None:                       # told; of a list nobody knows then what it should be
            for value in one.value.elements if isinstance(one.value, ast.ListExpr) else [one.value]:
                self.expr(value)
            return
        given = self.expr(one.value, type_)
        if is_verdict(one.target) and given not in (None, type_) and not isinstance(given, Integer):
            self.error(NO_VERDICT, one.value)       # no cast makes it one
            return
        if not self.convert(one.value, type_, f"'{one.target.span.text}'"):
            return
        self.verdict(one)
        if isinstance(type_, (Stack, Packet, Meta)) or is_headers(type_):
            self.error(f"{type_} is not assigned as a whole", one, "assign its elements, in a loop" if isinstance(type_, Stack)
                       else "assign its headers" if is_headers(type_) else "assign its fields")
        root = root_name(one.target)
        if isinstance(self.module, (ast.Parser, ast.Deparser)) and root is not None and isinstance(root.decl, ast.Register):
            self.error(f"a {type(self.module).__name__.lower()} writes no registers", one, "write it in a processor")

    def copied(self, one: ast.Assign, type_: HeaderType | Varbit) -> None:
        """`h.a = h.b;` of headers of one type, `h.a.data = h.b.data;` of varbits: what the one has becomes that of the other."""
        if isinstance(one.value, ast.ListExpr):
            hint = "a varbit is assigned another one" if isinstance(type_, Varbit) else f"assign its fields one by one, as in {one.target.span.text}.x = ..."
            self.error("a list stands only for a struct's value", one.value, hint)
            return
        with self.setting(varbit_allowed=True):
            given = self.expr(one.value)
        if given is None:
            return
        if isinstance(type_, Varbit) and isinstance(given, Varbit):
            if given.max_width > type_.max_width:
                self.error(f"'{one.target.span.text}' is {type_}, and this is {given}", one.value, "it may have more octets than there is room for")
        elif given != type_:
            self.error(f"'{one.target.span.text}' is {described(type_)}, and this is {described(given)}", one.value,
                       "assign a varbit of another header" if isinstance(type_, Varbit) else "assign a header of the same type, or its fields")
        if isinstance(self.module, ast.Parser):
            self.error("a parser assigns no whole headers and no varbits", one, "assign in a processor: here they come from the packet, by extract")

    def verdict(self, one: ast.Assign) -> None:
        target = one.target
        while isinstance(target, ast.Slice):
            target = target.base
        if is_verdict(target):
            if target is not one.target:
                self.error("a verdict has no parts", one.target, f"assign one of {', '.join(builtins.VERDICTS)}")
                return
            for choice in self.branches(one.value):
                name = next((name for name, number in builtins.VERDICTS.items() if number == choice.const), None)
                if name is None or choice.const is None:
                    self.error(NO_VERDICT, choice)
                elif isinstance(choice, ast.Int):
                    self.warning("a verdict is called by its name", choice, f"write {name}")

    def _stmt_If(self, one: ast.If) -> None:
        self.condition(one.cond)
        for name, branch, taken in (("then", one.then, True), ("otherwise", one.otherwise, False)):
            if branch is not None:
                before, never = self.beyond, truth(one.cond) == (not taken)
                with self.inside(Scope(self.scope)), self.setting(unreached=self.unreached or never):
                    self.statement(branch)
                if self.left_out(before, never):
                    setattr(one, name, ast.Block(branch.span, []))

    def _stmt_For(self, one: ast.For) -> None:
        low = self.constant_number(one.low, "a loop's bound")
        high = self.constant_number(one.high, "a loop's bound", f"count to the most it may be, and ask: for ({one.name} in 0..16) {{ if ({one.name} < ...) {{ ... }} }}")
        where = one.low.span.to(one.high.span)
        turns = high - low if low is not None and high is not None else 1     # else its variable is taken for a constant
        if turns < 0:
            self.error("a loop counts up", where, "write low..high; high itself is left out")
        elif turns > MAX_TURNS:
            self.error(f"a loop has at most {MAX_TURNS} turns", where, REST_LATER)
        one.var = ast.VarDecl(one.span, ast.TypeRef(one.span, "bit", ast.Int(one.span, 32)), one.name, None)
        one.var.type = self.type_of(one.var.type_ref)
        self.loop_variables.add(one.var)
        before = self.turns, self.copies
        self.turns *= max(turns, 1)
        if turns <= MAX_TURNS < self.turns:
            self.error(f"these loops make {self.turns} turns in all, and at most {MAX_TURNS} are possible", where,
                       f"with {turns} turns of this one those around it may make {MAX_TURNS // turns}; {REST_LATER}")
        if turns > 0 and any(map(self.is_element, indices(one))):
            self.copies *= turns
            if self.copies > MAX_STACK_TURNS:
                self.error(f"a loop whose variable names elements of a stack is written out: {self.copies} turns in all, and at most "
                           f"{MAX_STACK_TURNS} are possible", where)
                turns = 1                               # enough to check the rest
            write_turns(one, int(low or 0), turns)
        with self.inside(Scope(self.scope)):
            self.declare_variable(one.name, one.var)
            self.statement(one.body)
        self.turns, self.copies = before
        if turns > MAX_STACK_TURNS and any(isinstance(node, ast.Member) and node.decl == "next" for node in walk(one.body)):
            self.error(f"a loop of more than {MAX_STACK_TURNS} turns fills no stack", where,
                       "let a state go round: state more { pkt.extract(h.x.next); transition select(...) { ...: more; } }")

    def is_element(self, one: ast.Index) -> bool:
        """Whether it names an element of a stack: of one that stands outside the loop."""
        with self.untold():                 # it comes again with the loop's body
            return isinstance(self.expr(copy(one.base)), Stack)

    def _stmt_Switch(self, one: ast.Switch) -> None:
        table = self.action_run(one.value)
        type_ = None if table else self.expr(one.value)
        if isinstance(type_, Integer):
            self.settle(one.value)
            type_ = one.value.type
        if type_ is not None and not isinstance(type_, (Bits, EnumType)):
            applied = isinstance(one.value, ast.Call) and isinstance(one.value.target, ast.Table)
            self.error(f"switch is over numbers and enums, and this is {described(type_)}", one.value,
                       f"write {one.value.span.text}.action_run" if applied else "")
            type_ = None
        seen: dict[object, ast.Expr] = {}
        for labels, block in one.cases:
            for label in labels:
                if isinstance(label, ast.DontCare):
                    key: object = "default"
                elif table is not None:
                    key = self.action_label(label, table)
                elif type_ is None or not (self.label(label, type_, one.value) and self.is_constant(label, "a case")):
                    continue
                else:
                    key = label.const
                if key in seen and key is not None:
                    self.error("this case is here twice", label, "remove one",
                               notes=[("the first one is here", seen[key].span)])
                seen.setdefault(key, label)
            if block is not None:
                self.block(block)

    def label(self, label: ast.Expr, type_: Type, value: ast.Expr) -> bool:
        with self.setting(choices=self.expected(value)):
            return self.value(label, type_, "a case")

    def action_run(self, value: ast.Expr) -> ast.Table | None:
        """The table of `switch (t.apply().action_run)`."""
        if isinstance(value, ast.Member) and value.name == "action_run" and isinstance(value.base, ast.Call):
            self.expr(value.base)
            if isinstance(value.base.target, ast.Table):
                value.decl = "action_run"
                return value.base.target
        return None

    def action_label(self, label: ast.Expr, table: ast.Table) -> object:
        for ref in table.actions:
            if isinstance(label, ast.Name) and ref.name == label.name:
                label.decl = ref.action
                return ref.name
        names = [ref.name for ref in table.actions]
        self.error(f"this is no action of table '{table.name}'", label,
                   isinstance(label, ast.Name) and suggest(label.name, names) or f"it has {', '.join(names)}")
        return None

    def _stmt_Return(self, one: ast.Return) -> None:
        if self.returns_anything:
            if one.value is not None:
                self.expr(one.value)
        elif self.returns is None:
            self.error("there is nothing to return from here", one,
                       "write transition accept; or reject" if isinstance(self.module, ast.Parser) else "")
        elif isinstance(self.returns, Void):
            if one.value is not None:
                verdict = isinstance(one.value, ast.Name) and one.value.name in builtins.VERDICTS and isinstance(self.module, ast.Processor)
                self.error("nothing is returned here", one.value, f"write m.verdict = {one.value.span.text}; return;" if verdict else "write return;")
        elif one.value is None:
            self.error(f"a value of {self.returns} is returned here", one, "write return value;")
        else:
            self.value(one.value, self.returns, "what is returned")

    def _stmt_Exit(self, one: ast.Exit) -> None:
        if not isinstance(self.module, ast.Processor) and not isinstance(self.function, ast.Action):
            self.error("exit is for processors", one, "write return;" if self.function is not None or self.handler is not None else "")

    def _stmt_ExprStmt(self, one: ast.ExprStmt) -> None:
        type_ = self.expr(one.call)
        if type_ is not None and not isinstance(type_, Void) and isinstance(one.call.target, (ast.Function, str)) \
                and one.call.target not in ("radio.cca", *builtins.SENDS, *CALLS) and not effects(one.call):
            self.warning("the value of this call is not used", one)

    # ------------------------------------------------------------ functions and actions

    def params(self, params: list[ast.Param], allowed: tuple[type, ...], what: str) -> None:
        """Resolves parameter types."""
        for param in params:
            param.type = self.type_of(param.type_ref)
            if param.type is not None and not isinstance(param.type, allowed):
                hint = "make it an action of a processor, or give it what it needs of the meta" if isinstance(param.type, Meta) and what == "a function" else ""
                if isinstance(param.type, Stack) and ErrorType in allowed:
                    direction = param.direction + " " * bool(param.direction)
                    one = f", or one of them, {direction}{param.type.header} {param.name}" if HeaderType in allowed else ""
                    hint = f"give it all headers, {direction}headers h{one}"
                self.error(f"{what} has no parameter of type {param.type}", param, hint)
                param.type = None

    def body(self, decl: ast.Function | ast.Action, scope: Scope, returns: Type | None) -> None:
        anything = isinstance(decl, ast.Function) and returns is None
        with self.inside(Scope(scope)), self.setting(function=decl, returns=returns, returns_anything=anything):
            for param in decl.params:
                self.declare_variable(param.name, param)
            with self.inside(Scope(self.scope)):
                self.statements(decl.body.statements)


def effects(call: ast.Call) -> bool:
    """Whether a call changes an argument."""
    return isinstance(call.target, ast.Function) and any(p.direction in ("out", "inout") for p in call.target.params)


def given_back(node: ast.Node) -> list[ast.Expr]:
    """The places that a call, an action of a table or a codec is given for parameters that come back."""
    if isinstance(node, ast.Call) and isinstance(node.target, (ast.Function, ast.Action)):
        params, args = node.target.params, node.args
    elif isinstance(node, ast.ActionRef) and node.action is not None:
        params, args = node.action.params, node.bound + node.args
    elif isinstance(node, ast.Via) and node.codec is not None:
        params, args = node.codec.params, node.args
    else:
        return []
    return [arg for param, arg in zip(params, args) if param.direction in ("out", "inout")]


def written_registers(node: ast.Node) -> list[ast.Register]:
    """The registers that a statement or a call assigns."""
    places = [node.target] if isinstance(node, ast.Assign) else given_back(node)
    return [root.decl for root in map(root_name, places) if root is not None and isinstance(root.decl, ast.Register)]


def always_leaves(one: ast.Stmt | None) -> bool:
    """Whether nothing after the statement is reached."""
    match one:
        case ast.Return() | ast.Exit():
            return True
        case ast.Block():
            return any(always_leaves(part) for part in one.statements)
        case ast.If():
            return always_leaves(one.then) and always_leaves(one.otherwise)
        case ast.Switch():
            blocks = [block for _, block in one.cases]
            default = any(isinstance(label, ast.DontCare) for labels, _ in one.cases for label in labels)
            falls_out = not blocks or blocks[-1] is None
            return default and not falls_out and all(always_leaves(b) for b in blocks if b is not None)
    return False


def is_verdict(place: ast.Expr) -> bool:
    return isinstance(place, ast.Member) and place.decl == "verdict" and isinstance(place.base.type, Meta)
