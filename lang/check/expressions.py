"""Types of operators, literals and sets. Every method returns the type, or None after telling what is wrong."""
from __future__ import annotations

from ipaddress import IPv6Address

from .. import ast, builtins
from ..instances import written_alike
from ..types import (Array, Bits, Bool, EnumType, ErrorType, HeaderType, Integer, Stack, StructType, Type, Varbit)
from . import fold
from .base import MAX_ARITHMETIC, MAX_WIDTH, Base, described, in_turn

#: What is done with what is no value.
NO_VALUE = {ast.Table: "apply it, and ask what came of it: {0}.apply().hit", ast.Header: "name one that is there: h.x, or {0} x; in a state of a parser",
            ast.Meter: "ask it with {0}.execute(), fill it with {0}.reset()", ast.BufferDecl: "what it keeps is the packet of the chain on {0}.complete", ast.Action: "an action is called: {0}(...)"}
COMPARE = ("==", "!=", "<", "<=", ">", ">=")
ORDER = ("<", "<=", ">", ">=")
LOGIC = ("&", "|", "^")


def truth(e: ast.Expr) -> bool | None:
    """What a condition is whenever it is anything, though part of it is known to a run alone: `x == 1 && false` is false. None: not known."""
    if e.const is not None:
        return bool(e.const)
    if isinstance(e, ast.Unary) and e.op == "!":
        inner = truth(e.operand)
        return None if inner is None else not inner
    if isinstance(e, ast.Binary) and e.op in ("&&", "||"):
        sides, decides = (truth(e.left), truth(e.right)), e.op == "||"
        return decides if decides in sides else None if None in sides else not decides
    return None


class Expressions(Base):
    def expr(self, e: ast.Expr, want: Type | None = None) -> Type | None:
        """Types an expression. want: what its place asks for, where a list or a number without width needs to know;
        a number without width takes it, every other mismatch is the caller's to tell (`value`)."""
        e.type = getattr(self, "_" + type(e).__name__)(e, want)
        if isinstance(e.type, Integer) and isinstance(want, Bits) and not self.fit(e, want):
            e.type = None
        return e.type

    def value(self, e: ast.Expr, want: Type | None, place: str) -> bool:
        """Types an expression that must be of type `want`. place: what it is for, for the message."""
        self.expr(e, want)
        return self.convert(e, want, place)

    def condition(self, e: ast.Expr) -> None:
        self.value(e, Bool(), "a condition")

    # ------------------------------------------------------------ literals

    def _Int(self, e: ast.Int, want: Type | None) -> Type | None:
        e.const = e.value
        if e.width is None:
            return Integer()
        type_ = Bits(e.width, e.signed)
        if not fold.fits(e.value, type_):
            self.error(f"the number does not fit {type_}", e, f"it needs {e.value.bit_length() + e.signed} bits")
            return None
        return type_

    def _BoolLit(self, e: ast.BoolLit, want: Type | None) -> Type | None:
        e.const = e.value
        return Bool()

    def _DontCare(self, e: ast.DontCare, want: Type | None) -> Type | None:
        self.error("'_' stands only where values are matched", e, "write a value")
        return None

    def _Tuple(self, e: ast.Tuple, want: Type | None) -> Type | None:
        hint = "a struct's value is a list, in the order of its fields: { a, b }" if isinstance(want, StructType) else ""
        self.error("a tuple stands only in the cases of a select or the entries of a table", e, hint)
        return None

    def _RangeSet(self, e: ast.RangeSet, want: Type | None) -> Type | None:
        self.error("a range stands only where values are matched", e, "compare with both ends: low <= x && x <= high")
        return None

    def _ListExpr(self, e: ast.ListExpr, want: Type | None) -> Type | None:
        if not isinstance(want, StructType):
            self.error("a list stands only for a struct's value", e)
            return None
        fields = want.decl.fields
        if len(fields) != len(e.elements):
            self.error(f"{want} has {len(fields)} fields, and these are {len(e.elements)}", e,
                       f"in order: {', '.join(f.name for f in fields)}")
            return None
        good = [self.value(element, field.type, f"field '{field.name}'") for field, element in zip(fields, e.elements)]
        return want if all(good) else None

    # ------------------------------------------------------------ names

    def _Name(self, e: ast.Name, want: Type | None) -> Type | None:
        decl = self.scope.find(e.name)
        if decl is None:
            return self.builtin_name(e)
        e.decl = decl
        return self.named(e, decl)

    def builtin_name(self, e: ast.Name) -> Type | None:
        if e.name in builtins.VERDICTS:
            e.decl, e.const = e.name, builtins.VERDICTS[e.name]
            return builtins.VERDICT_TYPE
        for names in (builtins.RADIO_RESULTS, builtins.COLOURS, builtins.PUT_RESULTS):
            if e.name in names:
                e.decl, e.const = e.name, names[e.name]
                return Bits(8)
        if e.name == builtins.PAYLOAD:
            e.decl = e.name
            self.error("payload is not a value", e, "there are sizeof(payload), payload[i], and inet_sum(..., payload)")
        elif e.name in (builtins.NODE_NAME, "error", "radio", "net"):
            self.error(f"'{e.name}' is not a value", e, "what it has is called, as in radio.channel(20)" if e.name == "radio" else "name one of its members")
        elif e.name == "this":
            self.error("'this' is not a value", e, "sizeof(this) is the size of the header")
        else:
            self.find(e.name, e)
        return None

    def named(self, e: ast.Name, decl: object) -> Type | None:
        match decl:
            case ast.Const() | ast.ConstDecl():
                if not self.ensure(decl):
                    return None
                e.const = decl.value.const
                return decl.type if e.const is not None else None       # without value: told where it is declared
            case ast.VarDecl() | ast.Param() | ast.CodecVar():
                return decl.type
            case ast.TagBits():                             # compressing, it is not known before its row is
                self.error(f"tag variable '{decl.name}' chooses rows, and is not a value", e,
                           "assign a variable in its rows: var bit<N> x")
            case ast.Field():
                if isinstance(decl.type, Varbit) and not self.varbit_allowed:
                    self.no_varbit(decl, e, f"sizeof({decl.name}) is its size")
                    return None
                return decl.type
            case ast.ChoiceField():
                from ..types import ChoiceType
                return ChoiceType(decl)
            case ast.Register():
                self.ensure(decl)
                return decl.type
            case ast.Counter():
                cell = "i" * isinstance(decl.type, Array)
                self.error(f"counter '{decl.name}' is not a value", e,
                           f"count with {decl.name}.count({cell}), begin anew with {decl.name}.reset({cell}); what is read and assigned is a register")
            case ast.Enum():
                self.error(f"enum '{decl.name}' is not a value", e,
                           f"name a member, as in {decl.name}.{decl.members[0].name}")
            case ast.StructField():
                return decl.type
            case _:
                from .base import article, kind_of
                self.error(f"'{e.name}' is {article(kind_of(decl))}, not a value", e, NO_VALUE.get(type(decl), "").format(e.name))
        return None

    varbit_allowed = False
    unreached = False
    beyond = 0

    # ------------------------------------------------------------ operators

    def _Unary(self, e: ast.Unary, want: Type | None) -> Type | None:
        if e.op == "!":
            if not self.value(e.operand, Bool(), "the operand of '!'"):
                return None
            type_: Type | None = Bool()
        else:
            type_ = self.expr(e.operand, want if isinstance(e.operand, (ast.Conditional,)) else None)
            if type_ is None:
                return None
            if not isinstance(type_, (Bits, Integer)):
                self.error(f"'{e.op}' is for numbers, and this is {described(type_)}", e.operand)
                return None
            if e.op == "-" and not self.arithmetic_width(e, type_):
                return None
        if e.operand.const is not None:
            e.const = fold.unary(e.op, e.operand.const, type_)
        return type_

    def _Binary(self, e: ast.Binary, want: Type | None) -> Type | None:
        if e.op in ("&&", "||"):
            good, before = [self.value(e.left, Bool(), f"an operand of '{e.op}'")], self.beyond
            decided = truth(e.left) == (e.op == "||")
            with self.setting(unreached=self.unreached or decided):
                good.append(self.value(e.right, Bool(), f"an operand of '{e.op}'"))
            if self.left_out(before, decided):
                e.right = ast.BoolLit(e.right.span, e.op == "||")
                e.right.type, e.right.const = Bool(), e.op == "||"
            result: Type | None = Bool() if all(good) else None
            if decided and e.left.const is not None:
                e.const = e.left.const
                return result
        elif e.op == "&&&":
            self.error("a mask stands only where values are matched", e, "write (x & mask) == value")
            return None
        elif e.op == "++":
            result = self.concatenation(e)
        elif e.op in ("<<", ">>"):
            result = self.shift(e, want)
        else:
            result = self.binary(e, want)
        if result is not None and e.left.const is not None and e.right.const is not None:
            operands = e.left.type
            e.const = fold.binary(e.op, e.left.const, e.right.const, result if e.op == "++" else operands,
                                  self.width_of(e.right.type) or 0)
            if e.const is None:
                self.error("this constant is too large", e)
                return None
        return result

    def left_out(self, before: int, decided: bool) -> bool:
        """Whether a part that is never executed has an index out of range: it is there no more behind the checker. `before`: how many there were."""
        return decided and not self.unreached and self.beyond > before

    def binary(self, e: ast.Binary, want: Type | None) -> Type | None:
        """Operators whose operands have one type."""
        want = None if e.op in COMPARE else want
        with self.setting(choices=self.expected(e.right)):
            left = self.expr(e.left, want if isinstance(e.left, ast.Binary) else None)
        with self.setting(choices=self.expected(e.left)):
            right = self.expr(e.right, (left if isinstance(left, Bits) else want) if isinstance(e.right, ast.Binary) else None)
        if left is None or right is None:
            return None
        operands = self.unify(e, left, right)
        if operands is None:
            return None
        comparing = e.op in COMPARE
        if isinstance(operands, (Bits, Integer)):
            if e.op not in ("==", "!=", *LOGIC) and not self.arithmetic_width(e, operands):
                return None
        elif not comparing or e.op in ORDER or not isinstance(operands, (Bool, EnumType, ErrorType)):
            if isinstance(operands, (StructType, HeaderType, Stack)) and comparing:
                self.error(f"values of {operands} are not compared", e, "compare their fields")
            elif isinstance(operands, EnumType):
                self.error(f"'{e.op}' is for numbers, and these are {operands}", e, "cast both, as in (bit<N>) ...")
            else:
                self.error(f"'{e.op}' is for numbers, and these are {operands}", e,
                           "use && and ||" if isinstance(operands, Bool) else "")
            return None
        if e.op in ("/", "%") and e.right.const is not None:
            if e.right.const == 0:
                self.error("division by zero", e.right)
                return None
        if e.op in ("|+|", "|-|") and isinstance(operands, Integer):
            self.error(f"'{e.op}' needs a width", e, "give one of the numbers a width, as in 8w255")
            return None
        return Bool() if comparing else operands

    def unify(self, e: ast.Binary, left: Type, right: Type) -> Type | None:
        """The one type of both operands."""
        if left == right:
            return left
        if isinstance(left, Integer) and isinstance(right, Bits):
            return right if self.fit(e.left, right, e.right if e.op in COMPARE else None) else None
        if isinstance(right, Integer) and isinstance(left, Bits):
            return left if self.fit(e.right, left, e.left if e.op in COMPARE else None) else None
        enum_left = self.representation(left) if isinstance(left, EnumType) else None
        enum_right = self.representation(right) if isinstance(right, EnumType) else None
        if isinstance(enum_left, Bits) and (right == enum_left or isinstance(right, Integer)):
            return enum_left if isinstance(right, Bits) or self.fit(e.right, enum_left) else None
        if isinstance(enum_right, Bits) and (left == enum_right or isinstance(left, Integer)):
            return enum_right if isinstance(left, Bits) or self.fit(e.left, enum_right) else None
        hint = ""
        if isinstance(left, Bits) and isinstance(right, Bits):
            wide = left if left.width >= right.width else right
            hint = f"widths never change silently: cast one, as in ({wide}) ..."
        elif isinstance(left, EnumType) or isinstance(right, EnumType):
            enum = left if isinstance(left, EnumType) else right
            assert isinstance(enum, EnumType)
            member = enum.decl.members[0].name if enum.decl.members else "x"
            hint = f"compare with a member, as in {enum}.{member}, or cast"
        elif isinstance(e.left, ast.Binary) and e.left.op in COMPARE and e.op in COMPARE and isinstance(left, Bool):
            hint = f"each is a comparison of its own: {e.left.span.text} && {in_turn(e.left.right)} {e.op} {in_turn(e.right)}"
        elif isinstance(left, Bool) != isinstance(right, Bool):
            asked, by = (e.left, e.right) if isinstance(left, Bool) else (e.right, e.left)
            hint = "compare the number first, as in x == 1"
            if e.op in ("==", "!=") and isinstance(by, ast.Int) and by.value in (0, 1):
                hint = f"a bool is a condition itself: write {asked.span.text if by.value == (e.op == '==') else '!' + in_turn(asked)}"
        self.error(f"the operands of '{e.op}' have different types, {described(left)} and {described(right)}", e, hint)
        return None

    def arithmetic_width(self, e: ast.Expr, type_: Type) -> bool:
        if isinstance(type_, Bits) and type_.width > MAX_ARITHMETIC:
            op = getattr(e, "op", "this")
            self.error(f"'{op}' is for at most {MAX_ARITHMETIC} bits, and this is {type_}", e,
                       "wider values have ==, !=, &, |, ^, ~, ++, slices and shifts by constants")
            return False
        return True

    def shift(self, e: ast.Binary, want: Type | None) -> Type | None:
        """`want`: the type that its place asks for, which a number without width does not take by itself: it could be too much for the shifted one's."""
        left, right = self.expr(e.left), self.expr(e.right)
        if left is None or right is None:
            return None
        for side, type_ in ((e.left, left), (e.right, right)):
            if not isinstance(type_, (Bits, Integer)):
                self.error(f"'{e.op}' is for numbers, and this is {described(type_)}", side)
                return None
        if isinstance(right, Bits) and right.signed or (e.right.const is not None and e.right.const < 0):
            self.error("a shift's amount is not negative", e.right,
                       "use bit<N>" if e.right.const is None else "shift the other way")
            return None
        if isinstance(left, Integer) and e.right.const is None:
            here = isinstance(want, Bits) and not want.signed and isinstance(e.left, ast.Int)
            self.error("the number that is shifted needs a width", e.left,
                       f"write {want.width}w{e.left.span.text} << {in_turn(e.right)}" if here else "as in 16w1 << n")     # type: ignore[union-attr]
            return None
        if isinstance(left, Bits) and left.width > MAX_ARITHMETIC and e.right.const is None:
            self.error(f"values wider than {MAX_ARITHMETIC} bits are shifted by constants only", e)
            return None
        self.settle(e.right)
        written = isinstance(e.right, ast.Int) or isinstance(e.right, ast.Name) and isinstance(e.right.decl, ast.Const)
        if isinstance(left, Bits) and written and e.right.const is not None and e.right.const >= left.width and not left.signed and e.left.const is None:
            wide = Bits(left.width + int(e.right.const))
            self.warning(f"a {left} shifted by {e.right.const} is always 0", e,
                         f"cast it before: ({wide}) {in_turn(e.left)} << {e.right.const}" if e.op == "<<" and wide.width <= MAX_ARITHMETIC else "")
        return left

    def concatenation(self, e: ast.Binary) -> Type | None:
        left, right = self.expr(e.left), self.expr(e.right)
        total = 0
        for side, type_ in ((e.left, left), (e.right, right)):
            if type_ is None:
                return None
            if isinstance(type_, Integer):
                self.error("a number in '++' needs a width", side, "as in 8w0xff")
                return None
            if not isinstance(type_, Bits):
                self.error(f"'++' is for bit<N>, and this is {described(type_)}", side, "cast it")
                return None
            total += type_.width
        if total > MAX_WIDTH:
            self.error(f"this is {total} bits, and the widest value has {MAX_WIDTH}", e)
            return None
        return Bits(total)

    def _Conditional(self, e: ast.Conditional, want: Type | None) -> Type | None:
        self.condition(e.cond)
        before, chosen = self.beyond, truth(e.cond)
        with self.setting(unreached=self.unreached or chosen is False):
            then = self.expr(e.then, want)
        with self.setting(unreached=self.unreached or chosen is True):
            otherwise = self.expr(e.otherwise, want)
        if self.left_out(before, chosen is not None):
            e.then = e.otherwise = e.then if chosen else e.otherwise
        if then is None or otherwise is None or e.cond.type is None:
            return None
        if then != otherwise:
            if isinstance(then, Integer) and isinstance(otherwise, Bits):
                if not self.fit(e.then, otherwise):
                    return None
                then = otherwise
            elif isinstance(otherwise, Integer) and isinstance(then, Bits):
                if not self.fit(e.otherwise, then):
                    return None
            else:
                self.error(f"the two values have different types, {described(then)} and {described(otherwise)}", e,
                           "cast one of them")
                return None
        if isinstance(then, (StructType, HeaderType, Stack)):
            self.error(f"'?:' chooses numbers, not {then}", e, "use if")
            return None
        if e.cond.const is not None:
            e.const = (e.then if e.cond.const else e.otherwise).const
        return then

    def _Slice(self, e: ast.Slice, want: Type | None) -> Type | None:
        if isinstance(e.base, ast.Name) and e.base.name == builtins.PAYLOAD and self.scope.find(e.base.name) is None:
            self.error("payload has octets, and no slices", e, "join those that are meant: payload[i] ++ payload[i + 1]")
            return None
        base = self.expr(e.base)
        alike = written_alike(e.hi, e.lo)
        hi = self.constant_number(e.hi, "a slice's bound", alike and self.one_bit(e, e.base, e.hi, base) or "use a number or a const")
        lo = self.constant_number(e.lo, "a slice's bound") if hi is not None or not alike else None
        if base is None or hi is None or lo is None:
            return None
        if isinstance(base, Integer):
            self.error("the number that is sliced needs a width", e.base, "as in 16w0x1234")
            return None
        if not isinstance(base, Bits):
            self.error(f"slices are of bit<N>, and this is {described(base)}", e.base, "cast it")
            return None
        if not 0 <= lo <= hi < base.width:
            self.error(f"[{hi}:{lo}] is not a slice of {base}", e,
                       f"bits are numbered {base.width - 1} down to 0, the high one first")
            return None
        if e.base.const is not None:
            e.const = (int(e.base.const) >> lo) & (1 << hi - lo + 1) - 1
        return Bits(hi - lo + 1)

    def one_bit(self, e: ast.Expr, base: ast.Expr, at: ast.Expr, type_: Type | None) -> str:
        """How a bit is read, or set in a place that is assigned, where only a run knows which one."""
        if not isinstance(type_, Bits) or type_.width > MAX_ARITHMETIC:
            return ""
        if self.assigned_to is e:
            return f"a bit is set by {base.span.text} = {base.span.text} | {type_.width}w1 << {in_turn(at)}"
        return f"shift it down: ({in_turn(base)} >> {in_turn(at)})[0:0]"

    def _Cast(self, e: ast.Cast, want: Type | None) -> Type | None:
        target, source = self.type_of(e.target), self.expr(e.operand)
        if target is None or source is None:
            return None
        if isinstance(source, Integer):
            if isinstance(target, Bits):
                value = e.operand.const
                if value is None:
                    self.force(e.operand, target)
                    return target
                self.force(e.operand, target)
                e.const = fold.wrap(int(value), target)
                return target
            self.settle(e.operand)
            source = e.operand.type or source
        narrow = self.width_of(target)
        allowed = (
            isinstance(target, Bits) and isinstance(source, (Bits, EnumType))
            or isinstance(target, Bits) and isinstance(source, Bool) and target.width == 1
            or isinstance(target, Bool) and isinstance(source, Bits) and source.width == 1
            or isinstance(target, EnumType) and isinstance(source, Bits)
            and (source.width == narrow or e.operand.const is not None)
            or target == source
        )
        if not allowed:
            hint = ""
            if isinstance(target, Bool):
                hint = "compare it, as in x != 0"
            elif isinstance(source, Bool):
                hint = "only bit<1> and bool turn into each other: cond ? 1 : 0"
            elif isinstance(target, EnumType):
                hint = f"cast from bit<{narrow}>"
            self.error(f"{described(source)} cannot be cast to {target}", e, hint)
            return None
        if e.operand.const is not None:
            value = int(e.operand.const)
            if isinstance(target, EnumType) and not 0 <= value < 1 << (narrow or 0):
                self.error(f"{value} is not a value of {target}", e)
                return None
            e.const = fold.wrap(value, target)
        return target

    # ------------------------------------------------------------ sizes

    def _Sizeof(self, e: ast.Sizeof, want: Type | None) -> Type | None:
        result = Bits(16)
        operand = e.operand
        if operand is None:
            if self.header is None:
                self.error("'this' is the header being described", e, "name the header, as in sizeof(h.ip)")
                return None
            return result
        if isinstance(operand, ast.Name) and operand.name == builtins.PAYLOAD and self.scope.find(operand.name) is None:
            operand.decl = builtins.PAYLOAD
            return result
        with self.setting(varbit_allowed=True):
            type_ = self.expr(operand)
        if type_ is None:
            return None
        if isinstance(type_, (Varbit, HeaderType, Stack)):
            return result
        self.error(f"sizeof is for headers, varbit fields, payload and this, and this is {described(type_)}", operand)
        return None

    # ------------------------------------------------------------ sets

    def key(self, e: ast.Expr, want: Type | None, place: str) -> bool:
        """An element of a set that values of type `want` are compared with: constant, mask, range, `_`."""
        if isinstance(e, ast.DontCare):
            e.type = want
            return True
        if isinstance(e, ast.Binary) and e.op == "&&&":
            e.type = want
            return self.parts_of_key(e, [e.left, e.right], want, place, "a mask")
        if isinstance(e, ast.RangeSet):
            e.type = want
            if any(isinstance(end, ast.Binary) and end.op == "&&&" for end in (e.low, e.high)):
                self.error("a key is a range or has a mask, not both", e, "write value &&& mask; for a range of some of the bits select over a slice")
                return False
            good = self.parts_of_key(e, [e.low, e.high], want, place, "a range")
            if good and e.low.const is not None and e.high.const is not None and e.low.const > e.high.const:
                self.error("this range is empty", e, "write low..high; both belong to it")
                return False
            return good
        if isinstance(e, ast.Binary) and e.op == "/" and want == Bits(128) and isinstance(e.right, ast.Int) and e.right.value <= 128:      # which nothing divides
            mask = IPv6Address((1 << 128) - (1 << 128 - e.right.value))
            self.error("a prefix stands only in the entries of a table, for an lpm key", e, f'here it is written {e.left.span.text} &&& ip6"{mask}"')
            return False
        return self.value(e, want, place) and self.is_constant(e, place)

    def parts_of_key(self, e: ast.Expr, parts: list[ast.Expr], want: Type | None, place: str, what: str) -> bool:
        if want is not None and not isinstance(want, Bits):
            self.error(f"{what} is for numbers, and {place} is {want}", e)
            return False
        good = [self.value(part, want, place) and self.is_constant(part, place) for part in parts]
        return all(good)

    def is_constant(self, e: ast.Expr, place: str) -> bool:
        if e.const is None:
            self.error(f"{place} must be a constant", e, "use a number, a const or a member of an enum")
            return False
        return True
