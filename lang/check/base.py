"""What all parts of the checker share: names, types as written, constants, and how a mismatch is told."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import ast, builtins
from ..diagnostics import Diagnostics
from ..foreign_types import written_here
from ..hooks import EVENTS
from ..instances import is_headers
from ..library import TYPES, imported_by
from ..source import Span
from ..types import (Bits, Bool, ChoiceType, EnumType, ErrorType, HeaderType, Integer, Meta, Packet, Stack, StructType, Type, Varbit,
                     Void)
from . import fold
from .scope import Scope, suggest

MAX_WIDTH = 128
MAX_ARITHMETIC = 64
MAX_COUNT = 1 << 16                             # elements of a stack or cells of a register

HEADERS = ("h", "hdr", "hdrs", "headers", "header")         # what the headers of a packet are usually called
METAS = ("m", "meta", "metadata", "md", "standard_metadata")      # and their meta
#: What stands for nothing, or for true and false, in other languages, and what is written here.
NOTHING = {**dict.fromkeys(("null", "NULL", "nullptr", "nil", "None"), "a header is asked whether it is there: h.x.isValid()"),
           **dict.fromkeys(("True", "TRUE"), "write true"), **dict.fromkeys(("False", "FALSE"), "write false")}

#: What the answer of a method is compared with where it went well.
ANSWERS = {"send": "OK", "cca": "CLEAR", "execute": "GREEN", "put": "COMPLETE", "hold": "STORED"}

#: The names of a method's answers.
GIVES = {"cca": ("CLEAR", "BUSY"), "execute": tuple(builtins.COLOURS), "put": tuple(builtins.PUT_RESULTS), **dict.fromkeys(("send",), ("OK", "BUSY"))}

KINDS = {
    ast.Const: "constant", ast.ConstDecl: "constant", ast.Typedef: "type", ast.Enum: "enum", ast.Struct: "struct", ast.Header: "header",
    ast.Codec: "codec", ast.Function: "function", ast.Extern: "extern", ast.Register: "register", ast.Counter: "counter",
    ast.Meter: "meter", ast.BufferDecl: "buffer", ast.Action: "action", ast.Table: "table", ast.Parser: "parser",
    ast.Processor: "processor", ast.Deparser: "deparser", ast.Timing: "timing block", ast.Protocol: "protocol",
    ast.VarDecl: "variable", ast.Param: "parameter", ast.Field: "field", ast.ChoiceField: "choice", ast.State: "state",
    ast.CodecVar: "variable", ast.TagBits: "tag variable", ast.ValueSet: "value set", ast.ErrorMember: "error",
}


def shared(block: object, name: str) -> str:
    """How others come to what has this name in a processor or timing block; empty where nothing has it."""
    for one in block.locals if isinstance(block, (ast.Timing, ast.Processor)) else []:
        if getattr(one, "name", None) == name:
            return "apply that one, a table is not shared" if isinstance(one, ast.Table) else "declare it at top level to share it"
    return ""


def kind_of(decl: object) -> str:
    return KINDS.get(type(decl), "name")


def root_name(e: ast.Expr) -> ast.Name | None:
    """The variable that a place belongs to."""
    while isinstance(e, (ast.Member, ast.Index, ast.Slice)):
        e = e.base
    return e if isinstance(e, ast.Name) else None


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def in_turn(e: ast.Expr) -> str:
    """As it stands, in parentheses where an operator or a cast beside it would take a part of it."""
    return f"({e.span.text})" if isinstance(e, (ast.Binary, ast.Conditional)) else e.span.text


def article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


class Base:
    """Mixed into `Checker`. A type of None means: something is wrong here and has been told."""

    # methods of the other parts
    expr: Callable[..., Type | None]
    value: Callable[..., bool]
    condition: Callable[[ast.Expr], None]
    key: Callable[[ast.Expr, Type | None, str], bool]
    is_constant: Callable[[ast.Expr, str], bool]
    index: Callable[[ast.Expr], bool]
    in_range: Callable[[ast.Expr, int], bool]
    target: Callable[[ast.Expr], Type | None]
    one_bit: Callable[[ast.Expr, ast.Expr, ast.Expr, Type | None], str]
    not_assignable: Callable[[ast.Expr], tuple[str, ...] | None]
    no_extras: Callable[[ast.Call], bool]
    arguments: Callable[[ast.Node, list[ast.Param], list[ast.Expr], str], bool]
    params: Callable[[list[ast.Param], tuple[type, ...], str], None]
    module_params: Callable[[ast.Parser | ast.Processor | ast.Deparser], None]
    const: Callable[[ast.Const | ast.ConstDecl], None]
    statement: Callable[[ast.Stmt], None]
    statements: Callable[[list[ast.Stmt]], None]
    block: Callable[[ast.Block], None]
    body: Callable[[ast.Function | ast.Action, Scope, Type | None], None]
    buffer_method: Callable[[ast.Call, ast.Member, ast.BufferDecl], Type | None]
    buffer_binding: Callable[[ast.Binding], tuple[int, ...] | None]
    set_buffers: Callable[[], None]
    emitted: Callable[[ast.Expr, str], bool]
    migrate_body: Callable[[ast.Migrate], None]
    old_member: Callable[[ast.Member, ast.Name, ast.Migrate], Type | None]
    ensure_local: Callable[[ast.Decl], None]
    varbit_allowed: bool
    unreached: bool                             # what is checked is never executed: a constant condition leads past it
    beyond: int                                 # how many indices were out of range there
    copies: int
    left_out: Callable[[int, bool], bool]
    frame_member: Callable[[ast.Member], Type | None]
    time: Callable[..., int | None]
    handler: ast.Handler | None
    loop_variables: set[ast.VarDecl]
    no_action: ast.Action

    def __init__(self, program: ast.Program):
        self.program = program
        self.diagnostics = Diagnostics()
        self.globals = Scope(None)
        self.scope = self.globals
        self.active: list[ast.Node] = []                    # declarations being resolved
        self.resolved: set[ast.Node] = set()
        # where the checker is: the module or description around, and what it allows
        self.module: ast.Node | None = None
        self.unknown: set[tuple[ast.Node | None, str]] = set()         # names that are declared nowhere, and in which module that was told
        self.twice: set[str] = set()                        # names of several declarations: what they mean is not known
        self.sent: set[object] = set()                      # deparsers that packets are sent or kept through
        self.told_one: set[object] = set()                  # registers of which was told that they have no elements
        self.told_kept: set[object] = set()                 # parameters of which was told that they cannot be assigned
        self.told_varbits: set[object] = set()              # varbits of which was told that they are no values
        self.misused: set[object] = set()                   # what was asked for a method that it has not
        self.told_structs: set[object] = set()              # headers of which was told that they should be structs, structs of which was told that they do not hold what they should
        self.choices: tuple[str, ...] = ()                  # the names of which one stands here, where a name is not known
        self.hook_refused = False                           # a binding names no hook that there is
        self.header: ast.Header | None = None               # `this`
        self.codec: ast.Codec | None = None
        self.assigned_to: ast.Expr | None = None            # the place whose type is asked for to assign it
        self.row_value = False                              # inside the value of a row's assignment
        self.function: ast.Node | None = None               # the function or action whose body is checked
        self.hidden: tuple[Scope, ...] = ()                 # in an `after`: what its handlers see
        self.errors: dict[str, ast.ErrorMember] = {}

    # ------------------------------------------------------------ telling

    def error(self, message: str, where: ast.Node | Span, *hints: str,
              notes: list[tuple[str, Span | None]] | None = None) -> None:
        self.diagnostics.error(message, where.span if isinstance(where, ast.Node) else where, *hints, notes=notes)

    def warning(self, message: str, where: ast.Node | Span, *hints: str,
                notes: list[tuple[str, Span | None]] | None = None, unused: bool = False) -> None:
        self.diagnostics.warning(message, where.span if isinstance(where, ast.Node) else where, *hints, notes=notes, unused=unused)

    def unit_of(self, e: ast.Expr | None) -> None:
        """A number that stands for a time without saying in what."""
        if isinstance(e, ast.Int) and e.unit is None and e.value:
            self.warning("a time without a unit is in microseconds", e, f"write {e.value} us, or {e.value} ms")
        elif isinstance(e, ast.Name) and isinstance(e.decl, (ast.Const, ast.ConstDecl)):
            self.unit_of(e.decl.value)

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        saved, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = saved

    @contextmanager
    def untold(self) -> Iterator[None]:
        """What is wrong is found again later, and told then."""
        told = set(self.unknown)
        with self.diagnostics.untold():
            yield
        self.unknown = told

    @contextmanager
    def setting(self, **values: object) -> Iterator[None]:
        """Attributes of the checker that hold while a part is checked."""
        saved = {name: getattr(self, name) for name in values}
        self.__dict__.update(values)
        try:
            yield
        finally:
            self.__dict__.update(saved)

    # ------------------------------------------------------------ names

    def declare(self, name: str, decl: ast.Node, scope: Scope | None = None) -> None:
        """Makes a name known in the innermost scope; told if it is known there already."""
        scope = scope or self.scope
        if name == "_":
            return
        old = scope.names.get(name)
        if old is not None and isinstance(old, ast.Node):
            imported = old.span.source is not decl.span.source
            self.error(f"'{name}' is declared twice", decl, "leave it out, if what is imported is meant, or rename it" if imported else "rename one of the two",
                       notes=[("the first one is here", old.span)])
            self.twice.add(name)
            return
        if name in builtins.NAMES and not isinstance(decl, (ast.Field, ast.ChoiceField)):       # a field is called by what has it
            self.error(f"'{name}' is a name of the language", decl, "choose another name")
        scope.names[name] = decl

    def declare_variable(self, name: str, decl: ast.Node) -> None:
        """As `declare`; told if the name means something else around. What an imported file declares cannot know the names of its importers."""
        hidden = self.scope.parent.find(name) if self.scope.parent is not None and name not in self.scope.names else None
        if isinstance(hidden, ast.Node) and hidden.span != decl.span and decl.span.source in (hidden.span.source, self.program.span.source):
            # the same place: the variable of a loop that is written out
            self.warning(f"'{name}' hides the {kind_of(hidden)} of that name", decl, "rename one of the two", notes=[("that one is here", hidden.span)])
        self.declare(name, decl)

    def find(self, name: str, where: ast.Node | Span, what: str = "name",
             accept: Callable[[object], bool] = lambda decl: True) -> object | None:
        """The declaration of a name; unknown names are told, once in a module, with the nearest that would do."""
        decl = self.scope.find(name)
        gone = next((one for scope in self.hidden if (one := scope.find(name)) is not None), None)
        if decl is None and gone is not None:
            headers = isinstance(gone, ast.VarDecl) and is_headers(gone.type)
            self.error(f"'{name}' belongs to the handler, which has ended when this runs", where,
                       f"declare it here too: {gone.type} {name};" if headers else "keep it in a register")     # type: ignore[attr-defined]
        elif decl is None and (self.module, name) not in self.unknown:
            self.unknown.add((self.module, name))
            names = [one for one in self.scope.all_names() if accept(self.scope.find(one))] + list(builtins.NAMES) * (what == "name")
            self.error(f"there is no {what} '{name}'", where, self.one_of_these(name) or self.member(name) or imported_by(name) or self.in_a_state(name) or self.elsewhere(name)
                       or self.header_called(name) or self.given(name) or NOTHING.get(name) or suggest(name, names))
        return decl

    def given(self, name: str) -> str:
        """Where a name is that of a parameter which other modules have, and not this one or a function."""
        params = [param for decl in self.program.decls if isinstance(decl, ast.Module) for param in decl.params if param.name == name]
        if not params:
            return ""
        if isinstance(params[0].type, Packet):
            return "the packet is a parser's and a deparser's; elsewhere what the parser left is payload"
        return "a function sees what it is given, each header as a parameter: function bit<8> f(H x) { ... }" if self.function is not None and is_headers(params[0].type) else ""

    def one_of_these(self, name: str) -> str:
        """Where an answer or a verdict is compared or assigned, which there are."""
        near = suggest(name, [one for one in self.choices if one.lower() == name.lower() or abs(len(one) - len(name)) < 2 and one.lower()[:6] == name.lower()[:6]])
        return near or f"there are {', '.join(self.choices)}" if self.choices else ""

    def expected(self, e: ast.Expr) -> tuple[str, ...]:
        """The names that go with a value: those of a method's answers, of what became of a frame, of a verdict."""
        if isinstance(e, ast.Call) and isinstance(e.callee, ast.Member):
            return GIVES.get(e.callee.name, ())
        if isinstance(e, ast.Member) and e.name == "verdict":
            return tuple(builtins.VERDICTS)
        return tuple(builtins.TX_RESULTS) if isinstance(e, ast.Name) and self.handler is not None and e.name == "result" else ()

    def no_varbit(self, decl: ast.Field, e: ast.Expr, hint: str) -> None:
        if decl not in self.told_varbits:
            self.told_varbits.add(decl)
            self.error(f"'{decl.name}' is a varbit: its bytes are not a value", e, hint)

    def header_called(self, name: str) -> str:
        """How a header of the module's own or its meta is called, and where a handler has headers and what its event tells."""
        if isinstance(self.module, ast.Timing) and name in METAS:
            return "a handler has no packet, and so no meta: no verdict, no port; the clock is node.clock"
        if isinstance(self.module, ast.Timing):
            return "headers of a packet of the handler's own are declared in it: headers h;" if name in HEADERS else \
                f"what the event tells is named behind it, as in on {self.event(name)}({name})" if name in ("result", "frame") else ""
        for param in getattr(self.module, "params", []):
            if is_headers(param.type) and (name in HEADERS or any(one.name == name for one in param.type.decl.fields)):
                return f"did you mean {param.name}{'.' + name if name not in HEADERS else ''}?"
            if isinstance(param.type, Meta) and name in METAS:
                return f"did you mean {param.name}?"
        if isinstance(self.module, ast.Processor) and name in METAS:
            return f"add a parameter to '{self.module.name}': inout meta {name}"
        return ""

    def event(self, name: str) -> str:
        """The event of the handler, if it tells that; else one that does."""
        event = EVENTS.get(getattr(self.handler, "event", None) or "")
        return self.handler.event or "" if event is not None and event.gives == name and self.handler is not None else \
            "radio.tx_done" if name == "result" else "radio.rx_done"

    def member(self, name: str) -> str:
        """What a name is called that belongs to an enum or is an error."""
        if name in self.errors:
            return f"errors are called with their word: error.{name}"
        enums = [f"{decl.name}.{name}" for decl in self.program.decls if isinstance(decl, ast.Enum) and any(one.name == name for one in decl.members)]
        return f"members are called by their enum: {' or '.join(enums)}" if enums else ""

    def in_a_state(self, name: str) -> str:
        """Which other state of the parser declares it."""
        for state in self.module.states if isinstance(self.module, ast.Parser) else []:
            if any(isinstance(one, ast.VarDecl) and one.name == name for one in state.statements):
                return f"it belongs to state '{state.name}': what another one needs of it is kept in a variable of the parser"
        return ""

    def elsewhere(self, name: str) -> str:
        """Where a name is known that is not known here."""
        for block in self.program.decls:
            if how := shared(block, name):
                return f"it belongs to {kind_of(block)} '{block.name}': {how}"      # type: ignore[attr-defined]
        return ""

    def names_of(self, *kinds: type) -> list[str]:
        """The names known here that mean a declaration of these kinds."""
        return [name for name in self.scope.all_names() if isinstance(self.scope.find(name), kinds)]

    def ensure(self, decl: ast.Node) -> bool:
        """Resolves a declaration whose type others use, before it is used; circles are told."""
        if decl in self.resolved:
            return True
        if decl in self.active:
            self.error(f"{kind_of(decl)} '{getattr(decl, 'name', '')}' is defined by itself", decl, "break the circle")
            self.resolved.add(decl)
            return False
        resolve = getattr(self, "resolve_" + type(decl).__name__, None)
        if resolve is not None:
            self.active.append(decl)
            with self.inside(self.globals), self.setting(module=None, header=None, codec=None, function=None,
                                                         row_value=False):
                resolve(decl)
            self.active.pop()
        self.resolved.add(decl)
        return True

    # ------------------------------------------------------------ types as written

    def type_of(self, ref: ast.TypeRef, little: bool = False) -> Type | None:
        """Resolves a type. little: `le<N>` may stand here."""
        if ref.type is None:
            ref.type = self.resolve_type(ref, little)
            if ref.size is not None and ref.type is not None:
                ref.type = self.stack_type(ref, ref.type)
        return ref.type

    def resolve_type(self, ref: ast.TypeRef, little: bool) -> Type | None:
        match ref.name:
            case "bit" | "int" | "le" | "varbit":
                return self.sized_type(ref, little)
            case "bool":
                return Bool()
            case "void":
                return Void()
            case "error":
                return ErrorType()
        decl = self.scope.find(ref.name)
        if decl is None and ref.name in ("packet", "packet_in", "packet_out", "meta"):      # P4's names of the packet too
            return Meta() if ref.name == "meta" else Packet()
        if not isinstance(decl, (ast.Typedef, ast.Enum, ast.Struct, ast.Header)):
            if decl is not None:
                self.error(f"'{ref.name}' is {article(kind_of(decl))}, not a type", ref)
            else:
                names = self.names_of(ast.Typedef, ast.Enum, ast.Struct, ast.Header)
                self.error(f"there is no type '{ref.name}'", ref, written_here(ref.name) or imported_by(ref.name, *TYPES)
                           or suggest(ref.name, [*names, "packet", "meta"]))
            return None
        if not self.ensure(decl):
            return None
        if isinstance(decl, ast.Typedef):
            return decl.type_ref.type
        return {ast.Enum: EnumType, ast.Struct: StructType, ast.Header: HeaderType}[type(decl)](decl)

    def sized_type(self, ref: ast.TypeRef, little: bool) -> Type | None:
        assert ref.width is not None
        limit = 1 << 16 if ref.name == "varbit" else MAX_WIDTH
        width = self.constant_number(ref.width, "a width")
        if width is None:
            return None
        if not 1 <= width <= limit:
            self.error(f"{ref.name}<{width}> is not possible", ref, f"widths are 1 to {limit}")
            return None
        if ref.name == "varbit":
            return Varbit(width)
        if ref.name == "le":
            if not little:
                self.error("le<N> says how a field lies in a header", ref, f"a value of it is bit<{width}>")
            elif width % 8:
                self.error(f"le<{width}> is not whole bytes", ref, "use a multiple of 8")
                return None
        return Bits(width, ref.name == "int")

    def stack_type(self, ref: ast.TypeRef, element: Type) -> Type | None:
        assert ref.size is not None
        if not isinstance(element, HeaderType):
            self.error("only headers make stacks", ref, "for an array of values use register<T>[n]; octets of any number in a header are a varbit")
            return None
        size = self.constant_number(ref.size, "a size")
        if size is None:
            return None
        if not 1 <= size <= 256:
            self.error(f"a stack of {size} headers is not possible", ref.size, "sizes are 1 to 256")
            return None
        return Stack(element, size)

    def width_of(self, type_: Type | None) -> int | None:
        """Bits of a scalar's representation."""
        match type_:
            case Bits():
                return type_.width
            case Bool():
                return 1
            case EnumType():
                base = type_.decl.base.type
                return base.width if isinstance(base, Bits) else None
        return None

    def representation(self, type_: EnumType) -> Type | None:
        """The bit<N> of an enum; as in P4 its values can be used as that (never the other way without a cast)."""
        return type_.decl.base.type

    # ------------------------------------------------------------ constants

    def constant_number(self, expr: ast.Expr, what: str, otherwise: str = "use a number or a const") -> int | None:
        """The value of an expression that must be a constant number; the expression gets a width of its own."""
        type_ = self.expr(expr)
        if type_ is None:
            return None
        if not isinstance(type_, (Bits, Integer)):
            self.error(f"{what} is a number, and this is {type_}", expr)
            return None
        if expr.const is None:
            self.error(f"{what} must be a constant", expr, otherwise)
            return None
        self.settle(expr)
        return int(expr.const)

    def settle(self, expr: ast.Expr) -> None:
        """A constant whose width nobody asks for is a bit<32>, or as wide as it needs."""
        if isinstance(expr.type, Integer) and expr.const is not None:
            value = int(expr.const)
            width = next((w for w in (32, 64, 128) if value < 1 << w), 128)
            self.force(expr, Bits(width, value < 0))
        elif isinstance(expr.type, Integer):
            self.force(expr, Bits(32))

    def force(self, expr: ast.Expr, type_: Type) -> None:
        """Gives an expression of integer constants its type, down to its leaves."""
        if not isinstance(expr.type, Integer):
            return
        expr.type = type_
        if isinstance(expr, ast.Unary):
            self.force(expr.operand, type_)
        elif isinstance(expr, ast.Binary):
            self.force(expr.left, type_)
            if expr.op in ("<<", ">>"):
                self.settle(expr.right)
            else:
                self.force(expr.right, type_)
        elif isinstance(expr, ast.Conditional):
            self.force(expr.then, type_)
            self.force(expr.otherwise, type_)
        if expr.const is not None:
            expr.const = fold.wrap(int(expr.const), type_)

    # ------------------------------------------------------------ fitting a value to its place

    def convert(self, expr: ast.Expr, want: Type | None, place: str) -> bool:
        """Whether the value (already typed) can go where `want` is needed; a constant without width takes it."""
        have = expr.type
        if have is None or want is None:
            return False
        if have == want:
            return True
        if isinstance(have, Integer) and isinstance(want, Bits):
            return self.fit(expr, want)
        if isinstance(have, EnumType) and self.representation(have) == want:
            return True
        self.mismatch(expr, have, want, place)
        return False

    def fit(self, expr: ast.Expr, want: Bits, beside: ast.Expr | None = None) -> bool:
        """Gives a constant without width the width `want`, that of what it is compared with, `beside`."""
        for part in self.branches(expr):
            value = None if part.const is None else int(part.const)
            complement = value is not None and value < 0 and -value <= 1 << want.width and has_complement(part)
            if value is not None and not fold.fits(value, want) and not complement:
                low = -(1 << want.width - 1) if want.signed else 0
                high = (1 << want.width - want.signed) - 1
                signed = Bits(want.width, True)
                meant = f"; with its sign it is ({signed}) {in_turn(beside)}" if beside is not None and not want.signed and value < 0 and fold.fits(value, signed) else ""
                self.error(f"{number(value)} does not fit {want}", part, f"{want} holds {low} to {number(high)}{meant}")
                return False
        self.force(expr, want)
        return True

    def branches(self, expr: ast.Expr) -> list[ast.Expr]:
        """The constants that a value without width may be: one, or those of `c ? a : b`."""
        if expr.const is None and isinstance(expr, ast.Conditional):
            return self.branches(expr.then) + self.branches(expr.otherwise)
        return [expr]

    def mismatch(self, expr: ast.Expr, have: Type, want: Type, place: str) -> None:
        hint = ""
        if isinstance(have, ChoiceType):
            hint = f"name its arm, as in {expr.span.text}.{have.decl.arms[0].name}" if have.decl.arms else ""
        elif isinstance(have, Bits) and isinstance(want, Bits):
            written = expr.span.text if isinstance(expr, (ast.Name, ast.Member, ast.Index)) else "..."
            hint = f"widths never change silently: cast it, ({want}) {written}"
            if have.width < want.width and (grown := growing(expr)) is not None:
                hint = f"widths never change silently: cast before bits are lost, ({want}) {in_turn(grown.left)} {grown.op} ..."
            parts = concatenated(expr)
            if len(parts) > 1:
                hint = f"its parts have {' + '.join(str(part.type.width) for part in parts if isinstance(part.type, Bits))} bits: cast one of them"
            elif have.width > want.width and not want.signed:
                hint += f", or take the bits you mean, {written}[{want.width - 1}:0]"
        elif isinstance(want, Bool) and isinstance(have, HeaderType):
            hint = f"ask whether it is there: {expr.span.text}.isValid()"
        elif isinstance(want, Bool) and isinstance(expr, ast.Int) and expr.value in (0, 1):
            hint = f"write {'true' if expr.value else 'false'}"
        elif isinstance(want, Bool) and isinstance(have, (Bits, Integer)):
            hint = f"compare it, as in x == {answer_of(expr) or 1}"
        elif isinstance(want, Bool) and isinstance(expr, ast.Call) and isinstance(expr.target, ast.Table):
            hint = f"ask for its result: {expr.span.text}.hit"
        elif isinstance(have, Bool) and isinstance(want, Bits):
            hint = "choose a number, as in cond ? 1 : 0" if want.width > 1 else "cast it, (bit<1>) ..., or write cond ? 1 : 0"
        elif isinstance(want, StructType) and not is_headers(want) and isinstance(have, (Bits, Integer)):
            hint = f"give its fields in order, {{ {', '.join(field.name for field in want.decl.fields)} }}; a variable without a value is all zero: {want} none;"
        elif isinstance(want, EnumType):
            hint = f"use a member, as in {want}.{want.decl.members[0].name}" if want.decl.members else ""
            if isinstance(have, Bits):
                hint += f", or cast it, ({want}) ..."
        elif isinstance(have, EnumType) and isinstance(want, Bits):
            hint = f"cast it, ({want}) ..."
        elif isinstance(have, StructType) and isinstance(want, StructType) and not is_headers(want) and not is_headers(have):
            known = {field.name for field in have.decl.fields}
            values = (f"{expr.span.text}.{field.name}" if field.name in known else "..." for field in want.decl.fields)
            hint = f"say where each field comes from: {{ {', '.join(values)} }}"
        self.error(f"{place} is {want}, and this is {described(have)}", expr, hint)


def described(type_: Type) -> str:
    return "a number" if isinstance(type_, Integer) else f"choice '{type_}'" if isinstance(type_, ChoiceType) else str(type_)


def concatenated(expr: ast.Expr) -> list[ast.Expr]:
    """The parts of `a ++ b ++ c`; anything else is its own part."""
    return [*concatenated(expr.left), *concatenated(expr.right)] if isinstance(expr, ast.Binary) and expr.op == "++" else [expr]


def growing(expr: ast.Expr) -> ast.Binary | None:
    """The operation in an expression whose result may have more bits than it has room for: a cast of the whole comes too late for it."""
    if isinstance(expr, ast.Binary) and expr.const is None:
        return expr if expr.op in ("+", "*", "<<") else growing(expr.left) or growing(expr.right) if expr.op in ("|", "^", "&") else None
    return None


def answer_of(expr: ast.Expr) -> str:
    """What a call is compared with, where its answers have names."""
    if not isinstance(expr, ast.Call) or not isinstance(expr.callee, ast.Member):
        return ""
    return ANSWERS.get(expr.callee.name, "") if isinstance(expr.callee.decl, str) else ""


def number(value: int) -> str:
    return hex(value) if value > 0xffff else str(value)


def has_complement(expr: ast.Expr) -> bool:
    """Whether a constant is made with `~`, so that its high bits are meant to be ones of any width."""
    match expr:
        case ast.Unary():
            return expr.op == "~" or has_complement(expr.operand)
        case ast.Binary():
            return has_complement(expr.left) or has_complement(expr.right)
        case ast.Conditional():
            return has_complement(expr.then) or has_complement(expr.otherwise)
    return False
