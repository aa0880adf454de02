"""The path-dependent rules in expressions; see `flow.py`."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from .. import ast
from ..diagnostics import Diagnostics, Span
from ..instances import named_field
from ..types import Bits, Bool, EnumType, HeaderType, Meta, Stack
from .base import root_name
from .facts import NOWHERE, Key, Known, Path, Paths, Values, join

VERDICT: Path = ("meta", "var", "verdict")

Place = tuple[int, int, int, int, int]


def place_of(e: ast.Expr) -> Place:
    return id(e.span.source), e.span.line, e.span.column, e.span.end_line, e.span.end_column


class FlowValues:
    def __init__(self, program: ast.Program, diagnostics: Diagnostics):
        self.program, self.diagnostics = program, diagnostics
        self.this: Key | None = None                        # the header being described
        self.told: set[Place] = set()                       # where a message stands: of a loop that is written out it is the first turn's
        self.alone = False                                  # a function's body, which is judged by itself
        self.once = False                                   # in a parser's state that no packet comes to twice
        self.again: dict[Place, ast.Call] = {}              # extracts of headers that may be valid
        self.verdicts: dict[Place, tuple[Span, bool]] = {}       # where m.verdict is compared, and whether it is ACCEPT on every path

    call: Callable[[ast.Call, Paths], Paths]                # of `FlowCalls`
    apply: Callable[[ast.Table, Paths], tuple[Paths, Paths]]

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

    def tell(self, message: str, e: ast.Expr, hint: str, notes: Sequence[tuple[str, Span | None]] = ()) -> None:
        if place_of(e) not in self.told:
            self.told.add(place_of(e))
            self.diagnostics.error(message, e.span, hint, notes=list(notes))

    def needs_valid(self, e: ast.Expr, key: Key, paths: Paths, assigning: bool = False, instead: str = "") -> Paths:
        """Tells if the header may be missing; `instead`: what to do where no path has it. Returns the paths with the header valid: one message is enough."""
        if not paths or self.this is not None and key == self.this or all(key in one.valid for one in paths):
            return paths
        name, written = show(e), show(e, written=True)
        never = all(key in one.invalid for one in paths)
        hint = f"test it first: if ({written}.isValid()) {{ ... }}"
        notes = [("the parser accepts here without it", case.span) for case, reached in self.accepts.items()
                 if not never and any(key in one.invalid for one in reached)][:1]
        given = self.given_alone(e) if not never else ""
        if given:
            hint, notes = f"give it the header, as in {given}, or {hint.replace(' first', '')}", [("a function is judged by itself, whoever calls it", None)]
        if never and instead:
            hint = instead
        elif never and assigning:
            hint = f"make it valid first: {written}.setValid();"
        elif never:
            hint = "no path to here extracts it or makes it valid"
        elif self.looked_up is not None:
            hint = f"test it where '{self.looked_up.name}' is applied, or in the key: {written}.isValid() ? ... : 0"
        elif assigning:
            hint += f", or make it valid: {written}.setValid();"
        self.tell(f"'{name}' {'is' if never else 'may'} not {'' if never else 'be '}valid here", e, hint, notes)
        present = some(known.is_valid(key) for known in paths)
        return present or frozenset(one.make_valid(key) for one in paths)

    def given_alone(self, e: ast.Expr) -> str:
        """The parameter that a function should have for a header of all those that it is given."""
        root, field = root_name(e), named_field(e)
        param = root.decl if root is not None else None
        if not self.alone or field is None or not isinstance(param, ast.Param):
            return ""
        return f"{param.direction} {e.type} {field.name}".strip()

    def needs_arm(self, e: ast.Member, key: Key | None, paths: Paths) -> None:
        arm = e.decl
        assert isinstance(arm, ast.ChoiceArm) and arm.choice is not None
        tag = arm.choice.tag
        if key is None or all(one.about((*key, tag.decl)).only == frozenset([arm.number]) for one in paths):
            return
        assert isinstance(e.base, (ast.Member, ast.Name)) and isinstance(tag.type, EnumType)
        owner, written = (f"{show(e.base.base, way)}." if isinstance(e.base, ast.Member) else "" for way in (False, True))
        member = f"{tag.type}.{arm.name}"
        self.tell(f"'{show(e)}' is read where {owner}{tag.name} is not known to be {member}", e,
                  f"test it first: if ({written}{tag.name} == {member}) {{ ... }}")

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
            case ast.Sizeof(operand=ast.Member(decl=ast.Field()) as operand):
                return self.member(operand, paths)
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
            if isinstance(e, ast.Cast) and keeps_number(e):
                return self.compare(e.operand, values, paths)
            return paths, paths
        universe: list[int] | None = None
        if isinstance(e.type, Bool):
            universe = [0, 1]
        elif isinstance(e.type, EnumType):
            universe = [member.number for member in e.type.decl.members]
        if path == VERDICT:
            accept = all(one.about(path).only == frozenset([0]) for one in paths)
            place = place_of(e)                                                 # of all turns of a loop
            self.verdicts[place] = (e.span, accept and self.verdicts.get(place, (e.span, True))[1])
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

    def place(self, e: ast.Expr, paths: Paths) -> Paths:
        """Judges a place that is assigned: the header that it lies in, and what its indices read."""
        match e:
            case ast.Slice():
                return self.place(e.base, paths)
            case ast.Index():
                return self.eval(e.index, self.place(e.base, paths))
            case ast.Member(decl=ast.Field() | ast.ChoiceArm()):
                header = e.base.base if isinstance(e.decl, ast.ChoiceArm) and isinstance(e.base, ast.Member) else e.base
                key = self.key_of(header)
                return paths if key is None else self.needs_valid(header, key, paths, assigning=True)
            case ast.Member():
                return self.place(e.base, paths)
        return paths

    def assigned(self, e: ast.Expr, paths: Paths) -> Paths:
        """After a place, or a part of it, was assigned something of which nothing is known: the tag of an arm names the arm."""
        while isinstance(e, ast.Slice):
            e = e.base
        path = self.path_of(e)
        if path is not None:
            return frozenset(one.forget(path) for one in paths)
        if isinstance(e, ast.Member) and isinstance(e.decl, ast.ChoiceArm) and isinstance(e.base, ast.Member) and e.decl.choice is not None:
            key = self.key_of(e.base.base)
            if key is not None:
                named = Values(frozenset([e.decl.number]))
                return frozenset(one.set((*key, e.decl.choice.tag.decl), named) for one in paths)
        return paths


def some(paths: Iterable[Known | None]) -> Paths:
    """Those that are paths."""
    return frozenset(one for one in paths if one is not None)


def keeps_number(e: ast.Cast) -> bool:
    """Whether a cast is of a bool or an enum, to bits that have room for each of its values."""
    match e.operand.type:
        case Bool():
            width = 1
        case EnumType(decl=ast.Enum(base=ast.TypeRef(type=Bits(width=width)))):
            pass
        case _:
            return False
    return isinstance(e.type, Bits) and not e.type.signed and e.type.width >= width


def show(e: ast.Expr, written: bool = False) -> str:
    """A header expression with its indices as numbers, or as they are `written`, where that is a name or a sum."""
    match e:
        case ast.Name():
            return e.name
        case ast.Member():
            return f"{show(e.base, written)}.{e.name}"
        case ast.Index():
            return f"{show(e.base, written)}[{show_index(e.index) if written else '...' if e.index.const is None else e.index.const}]"
        case ast.Call():
            return f"{show(e.callee, written)}(...)"
    return "this"


def show_index(e: ast.Expr) -> str:
    if isinstance(e, ast.Name):
        return e.name
    if isinstance(e, ast.Binary) and all(isinstance(side, (ast.Name, ast.Int)) for side in (e.left, e.right)):
        return f"{show_index(e.left)} {e.op} {show_index(e.right)}"
    return "..." if e.const is None else str(e.const)
