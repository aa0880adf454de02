"""Codecs: tags, rows and what they read and write."""
from __future__ import annotations

from collections.abc import Iterator

from .. import ast, builtins
from ..instances import children, walk, written_alike
from ..library import imported_by
from ..types import Bits, Bool, EnumType, ErrorType, HeaderType, Integer, StructType, Type, Varbit
from .base import Base, described, plural
from .scope import Scope, suggest


class Codecs(Base):
    def __init__(self, program: ast.Program):
        super().__init__(program)
        self.direct: set[ast.InlinePiece] = set()           # `inline:N` that are parts of a target

    def resolve_Codec(self, codec: ast.Codec) -> None:
        """The header it is for, and its parameters: what `via` needs to know."""
        decl = self.scope.find(codec.header_name)
        if isinstance(decl, ast.Header):
            if self.ensure(decl):
                codec.header = decl
        else:
            self.error(f"there is no header '{codec.header_name}'", codec,
                       imported_by(codec.header_name, "header") or suggest(codec.header_name, self.names_of(ast.Header)))
        self.params(codec.params, (Bits, Bool, EnumType, StructType, HeaderType), "a codec")
        for piece in codec.tag:
            piece.type = Bits(piece.width) if 1 <= piece.width <= 64 else None

    def codec_body(self, codec: ast.Codec) -> None:
        header = codec.header
        if header is None:
            return
        fields = Scope(self.globals)
        for param in header.params:
            self.declare(param.name, param, fields)
        for item in header.items:
            for one in ([item] if isinstance(item, (ast.Field, ast.ChoiceField)) else item.fields
                        if isinstance(item, ast.Word) else []):
                if one.name != "_":
                    fields.names.setdefault(one.name, one)
        scope = Scope(fields)
        hides = False
        for decl in (*codec.params, *(piece for piece in codec.tag if piece.name), *codec.vars):
            hidden = fields.names.get(decl.name)
            if isinstance(hidden, (ast.Field, ast.ChoiceField)):
                self.error(f"'{decl.name}' hides the field of header {header.name}", decl, "choose another name")
                hides = True
        if hides:
            return
        with self.inside(scope), self.setting(header=header, codec=codec):
            for param in codec.params:
                self.declare_variable(param.name, param)
            self.tag(codec)
            for var in codec.vars:
                self.codec_var(var)
            for group in codec.groups:
                self.group(codec, group)
        self.leave_out_repeated(codec)
        self.says_everything(codec, header)
        self.reads_what_was_said(codec)

    def tag(self, codec: ast.Codec) -> None:
        total = 0
        for piece in codec.tag:
            total += piece.width
            if not 1 <= piece.width <= 64:
                self.error(f"a tag variable of {piece.width} bits is not possible", piece, "use 1 to 64 bits")
            if piece.value is not None and piece.value >> piece.width:
                self.error(f"{piece.value} does not fit {piece.width} bits", piece)
            if piece.name:
                self.declare_variable(piece.name, piece)
        if total % 8:
            self.error(f"the tag of codec {codec.name} is not whole bytes: it has {total} bits",
                       codec.tag[0].span.to(codec.tag[-1].span), f"fill it up with constant bits, as in 0b{'0' * (-total % 8)}, or with variables")
        elif total > 64:
            self.error(f"the tag of codec {codec.name} is longer than 64 bits", codec.tag[0].span.to(codec.tag[-1].span))
        decided: dict[object, ast.Name] = {}
        for group in codec.groups:
            for name in group.tags:
                found = next((one for one in codec.tag if one.name == name.name), None)
                if found is None:
                    self.error(f"'{name.name}' is no tag variable", name,
                               suggest(name.name, [one.name for one in codec.tag if one.name]))
                    continue
                if found in decided:
                    self.error(f"tag variable '{name.name}' is decided twice", name,
                               notes=[("the first time is here", decided[found].span)])
                decided.setdefault(found, name)
                name.decl, name.type = found, found.type
        for piece in codec.tag:
            if piece.name and piece not in decided:
                self.error(f"no group of rows decides tag variable '{piece.name}'", piece, f"add {piece.name} {{ ... }}")

    def codec_var(self, var: ast.CodecVar) -> None:
        var.type = self.type_of(var.type_ref)
        if var.type is not None and not isinstance(var.type, (Bits, Bool, EnumType)):
            self.error(f"a codec's variable cannot be {var.type}", var)
            var.type = None
        if var.value is not None:
            self.value(var.value, var.type, f"'{var.name}'")
        elif var.loop is None:
            self.error(f"'{var.name}' has no value when compressing", var, "add = ..., or first i in low..high where (...)")
        else:
            assert var.low is not None and var.high is not None and var.cond is not None
            low, high = self.constant_number(var.low, "a bound"), self.constant_number(var.high, "a bound")
            if low is not None and high is not None and not 0 <= low < high:
                self.error("this range is empty", var.low.span.to(var.high.span), "write low..high; high itself is left out")
            elif high is not None and isinstance(var.type, Bits) and high - 1 >= 1 << var.type.width:
                self.error(f"{high - 1} does not fit {var.type}", var.high)
            elif var.type is not None and not isinstance(var.type, Bits):
                self.error("'first' finds a number", var, "declare the variable bit<N>")
            var.loop.type = self.type_of(var.loop.type_ref)
            self.loop_variables.add(var.loop)
            with self.inside(Scope(self.scope)):
                self.declare_variable(var.loop.name, var.loop)
                self.condition(var.cond)
        self.declare_variable(var.name, var)

    # ------------------------------------------------------------ rows

    def group(self, codec: ast.Codec, group: ast.Group) -> None:
        taken: dict[tuple[int, ...], ast.Row] = {}
        for row in group.rows:
            if group.tags:
                self.keys(group, row, taken)
            self.row(codec, row)
        if group.tags and not group.rows:
            self.error("a group needs rows", group)

    def keys(self, group: ast.Group, row: ast.Row, taken: dict[tuple[int, ...], ast.Row]) -> None:
        if len(row.keys) != len(group.tags):
            one_each = ", ".join(str(i) for i in range(len(group.tags)))
            self.error(f"this row has {plural(len(row.keys), 'key')}, and the group has {plural(len(group.tags), 'tag variable')}",
                       row.span if not row.keys else row.keys[0].span.to(row.keys[-1].span), f"write a number for each, as in {one_each}: ...")
            return
        values: list[int] = []
        for name, key in zip(group.tags, row.keys):
            piece = name.decl
            if not isinstance(piece, ast.TagBits) or piece.type is None:
                return
            if isinstance(key, ast.DontCare):
                self.error("a row's keys are numbers: compressing writes them", key, "write one row for each value")
                return
            if not (self.value(key, piece.type, f"tag variable '{piece.name}'") and self.is_constant(key, "a row's key")):
                return
            values.append(int(key.const or 0))
        first = taken.setdefault(tuple(values), row)
        if first is not row:
            self.error("a row with this key is here already", row.keys[0].span.to(row.keys[-1].span), "remove one, or change its key",
                       notes=[("the first one is here", first.keys[0].span)])

    def row(self, codec: ast.Codec, row: ast.Row) -> None:
        bits, good = 0, True
        for item in row.items:
            if isinstance(item, ast.RowWhere):
                self.condition(item.cond)
                if item.reason is not None:
                    self.value(item.reason, ErrorType(), "the reason")
            elif isinstance(item, ast.RowAssign):
                width = self.assignment(item)
                good &= width is not None
                bits += width or 0
            else:
                for target in item.targets:
                    width = self.inline_target(target, bits)
                    good &= width is not None
                    bits += width or 0
        if good and bits % 8:
            self.error(f"this row reads {bits} bits in line, which are not whole bytes", row,
                       "pad it, as in inline(x, pad:4)")

    def row_target(self, e: ast.Expr) -> Type | None:
        """What expanding assigns: a field of the header, a variable, an inout parameter."""
        with self.setting(varbit_allowed=True):
            type_ = self.expr(e)
        if type_ is None:
            return None
        if isinstance(e, ast.Name):
            if isinstance(e.decl, (ast.Field, ast.CodecVar)):
                return type_
            given_back = isinstance(e.decl, ast.Param) and e.decl.direction in ("out", "inout")
            if given_back and not isinstance(type_, (StructType, HeaderType)):
                return type_
        if arm_of(e) is not None:
            return type_
        self.error("a row says fields of the header, arms of its choices, variables and inout parameters, and this is none", e)
        return None

    def assignment(self, item: ast.RowAssign) -> int | None:
        """Types a row's equation; its bits in line, None if something is wrong."""
        type_ = self.row_target(item.target)
        if isinstance(type_, Varbit):
            self.error(f"'{getattr(item.target, 'name', '')}' is a varbit", item.target,
                       "take its bytes with inline(data : bits)")
            return None
        self.pieces(item, type_)
        with self.setting(row_value=True):
            if not self.value(item.value, type_, "what the row says"):
                return None
        widths = [self.width_of(node.type) for node in walk(item.value) if isinstance(node, ast.InlinePiece)]
        follows = any(isinstance(node, ast.Following) for node in walk(item.value))
        if follows and widths:
            self.error("inline and following cannot be in one equation", item.value)
            return None
        return None if None in widths else sum(width for width in widths if width is not None)

    def pieces(self, item: ast.RowAssign, type_: Type | None) -> None:
        """Each `inline:N` stands for the slice of the target where it lies in the concatenation."""
        width = self.width_of(type_)
        if width is None:
            return
        right = width
        for part in flatten(item.value):
            if isinstance(part, ast.InlinePiece) and part.width is not None:
                self.direct.add(part)
                bits = self.constant_number(part.width, "a width")
                if bits is None or not 1 <= bits <= right:
                    return                                              # the widths do not add up: told as a mismatch
                part.source = self.slice(item.target, right - 1, right - bits, width, part)
                right -= bits
            else:
                with self.setting(row_value=True), self.untold():
                    type_of_part = self.expr(part)
                bits = self.width_of(type_of_part)
                if bits is None:
                    return
                right -= bits

    def slice(self, target: ast.Expr, hi: int, lo: int, width: int, part: ast.Expr) -> ast.Expr:
        assert isinstance(target, (ast.Name, ast.Member))
        base = ast.Name(part.span, target.name) if isinstance(target, ast.Name) else ast.Member(part.span, target.base, target.name)
        base.decl, base.type = target.decl, target.type
        if lo == 0 and hi == width - 1 and isinstance(target.type, Bits):
            return base
        bounds = []
        for bound in (hi, lo):
            number = ast.Int(part.span, bound)
            number.type, number.const = Bits(32), bound
            bounds.append(number)
        out = ast.Slice(part.span, base, *bounds)
        out.type = Bits(hi - lo + 1)
        return out

    def inline_target(self, target: ast.InlineTarget, before: int) -> int | None:
        """Types `inline(x)`; its bits if they are known, 0 for a varbit."""
        if target.target is None:
            if target.width is not None and not 1 <= target.width <= 64:
                self.error(f"padding of {target.width} bits is not possible", target)
                return None
            return target.width
        type_ = self.row_target(target.target)
        if target.bits is not None:
            bits = self.expr(target.bits)
            if bits is not None and not (isinstance(bits, Integer) or isinstance(bits, Bits) and not bits.signed):
                self.error(f"a size is bit<N>, a number of bits, and this is {described(bits)}", target.bits)
                return None
            self.settle(target.bits)
        if type_ is None:
            return None
        if isinstance(type_, Varbit):
            if target.bits is None:
                self.error("the size of a varbit is not known here", target, "write inline(data : bits)")
                return None
            if before % 8:
                self.error("a varbit in line begins at a whole byte", target, f"{before} bits are before it")
                return None
            if target.bits.const is not None and target.bits.const % 8:
                self.error("a varbit is whole bytes", target.bits, "use a multiple of 8")
                return None
            return 0
        if target.bits is not None:
            self.error("only a varbit has a size here", target.bits)
            return None
        return self.width_of(type_)

    # ------------------------------------------------------------ inline and following

    def _InlinePiece(self, e: ast.InlinePiece, want: Type | None) -> Type | None:
        if not self.row_value:
            self.error("'inline' stands only in the rows of a codec", e)
            return None
        if e.width is not None:
            bits = self.constant_number(e.width, "a width")
            if bits is None:
                return None
            if e.source is None and e not in self.direct:
                self.error("the bits in line must be a part of the field", e,
                           "use inline:N directly or in '++'; elsewhere inline(expression)")
                return None
            return Bits(bits)
        assert e.source is not None
        with self.setting(row_value=False):
            type_ = self.expr(e.source)
        if isinstance(type_, Integer):
            self.error("the width of what is in line must be known", e.source, f"{e.source.span.text} bits of the field are inline:{e.source.span.text}")
            return None
        if type_ is not None and not isinstance(type_, (Bits, Bool, EnumType)):
            self.error(f"{described(type_)} cannot be in line here", e.source)
            return None
        return type_

    def _Following(self, e: ast.Following, want: Type | None) -> Type | None:
        if not self.row_value:
            self.error("'following' stands only in the rows of a codec", e)
            return None
        bits = self.constant_number(e.width, "a width")
        if bits is None:
            return None
        if bits % 8 or not 8 <= bits <= 64:
            self.error("following is of whole bytes, 8 to 64 bits", e.width)
            return None
        return Bits(bits)

    # ------------------------------------------------------------ losing nothing

    def says_everything(self, codec: ast.Codec, header: ast.Header) -> None:
        """Every field is said by all rows of some group, or has an equation: else compressing would lose it."""
        for field in header.fields():
            if field.equation is not None or field.name == "_" or field.type is None:
                continue
            lacking: ast.Row | None = None
            said = False
            for group in codec.groups:
                silent = [row for row in group.rows if field not in said_by(row)]
                if not silent:
                    said = True
                    break
                if len(silent) < len(group.rows):
                    lacking = silent[0]
            if said:
                continue
            if lacking is not None:
                self.error(f"this row does not say '{field.name}', and other rows do", lacking,
                           f"add {field.name} = ... or inline({field.name})")
            else:
                self.error(f"codec {codec.name} does not say '{field.name}' of {header.name}", codec,
                           f"add {field.name} = ... or inline({field.name}) to its rows")
        for choice in header.items:
            if isinstance(choice, ast.ChoiceField) and not any(
                    group.rows and all(says_choice(row, choice) for row in group.rows) for group in codec.groups):
                group = next((g for g in codec.groups if any(says_choice(row, choice) for row in g.rows)), None)
                row = next(r for r in group.rows if not says_choice(r, choice)) if group is not None else None
                arm = f"{choice.name}.{choice.arms[0].name}" if choice.arms else choice.name
                hint = f"add {arm} = ... or inline({arm}), or give '{choice.tag.name}' a value that has no arm"
                if row is not None:
                    self.error(f"this row does not say '{choice.name}', and other rows do", row, hint)
                else:
                    self.error(f"codec {codec.name} does not say '{choice.name}' of {header.name}", codec, hint)

    def reads_what_was_said(self, codec: ast.Codec) -> None:
        """Expanding, a row knows what earlier groups said in every row, and what it said itself so far."""
        known: set[object] = set()
        for group in codec.groups:
            for row in group.rows:
                here = set(known)
                for item in row.items:
                    self.not_of_payload(item)
                    for name in names_read(item):
                        if isinstance(name.decl, (ast.Field, ast.CodecVar)) and name.decl not in here:
                            self.error(f"'{name.name}' is read before it is said", name,
                                       "expanding knows only what earlier groups said in all rows, and this row so far")
                            here.add(name.decl)
                    here |= said_by(ast.Row(row.span, [], [item]), waiting=False)
            if group.rows:
                known |= set.intersection(*(said_by(row, waiting=False) for row in group.rows))

    def leave_out_repeated(self, codec: ast.Codec) -> None:
        """Where each row is to say what the header says already, `length = sizeof(payload)`, nothing is said: both ways it is computed, or holds, without that."""
        for group in codec.groups:
            for row in group.rows if not group.tags else []:
                row.items = [item for item in row.items if not is_repeated(item)]
        codec.groups = [group for group in codec.groups if group.tags or any(row.items for row in group.rows)]

    def not_of_payload(self, item: ast.RowItem) -> None:
        """What follows the header is known when compressing alone: expanding, the octets that say where it begins, and what of it is compressed
        too, are still to be read."""
        if not isinstance(item, (ast.RowAssign, ast.RowWhere)) or (item.cond if isinstance(item, ast.RowWhere) else item.value).type is None:
            return                              # told already
        name = next((name for name in names_evaluated(item) if name.decl == builtins.PAYLOAD), None)
        if name is None:
            return
        target = item.target if isinstance(item, ast.RowAssign) else None
        if isinstance(target, ast.Name) and isinstance(target.decl, ast.Field):
            help = f"leave '{target.name}' out of the rows: what no row says is computed from its equation, {target.name} = ... in the header"
        else:
            help = "what compressing alone knows is a variable, and the row says it: var bit<1> c = ... ? 1 : 0; and in the row c = 1"
        self.error("expanding does not know the payload, which begins behind this header", name, help)


def is_repeated(item: ast.RowItem) -> bool:
    """Whether it is the field's own equation once more, in the same words."""
    field = getattr(item.target, "decl", None) if isinstance(item, ast.RowAssign) else None
    if not isinstance(field, ast.Field) or field.equation is None:
        return False
    said, equation = item.value, field.equation
    return written_alike(said, equation) and [n.decl for n in walk(said) if isinstance(n, ast.Name)] == [n.decl for n in walk(equation) if isinstance(n, ast.Name)]


def arm_of(e: ast.Expr | None) -> ast.ChoiceArm | None:
    """The arm of the codec's own header that a row's target is."""
    own = isinstance(e, ast.Member) and isinstance(e.decl, ast.ChoiceArm) and isinstance(e.base, ast.Name)
    return e.decl if own else None


def says_choice(row: ast.Row, choice: ast.ChoiceField) -> bool:
    """Whether expanding the row gives an arm, or a tag that has none: then compressing it loses nothing."""
    for item in row.items:
        if isinstance(item, ast.RowAssign) and getattr(item.target, "decl", None) is choice.tag.decl and item.value.const is not None:
            if all(arm.number != int(item.value.const) for arm in choice.arms):
                return True
    return choice in said_by(row)


def follows(item: ast.RowItem) -> bool:
    """Whether an equation waits for what follows the header."""
    return isinstance(item, ast.RowAssign) and any(isinstance(node, ast.Following) for node in walk(item.value))


def names_read(item: ast.RowItem) -> Iterator[ast.Name]:
    """What an item reads of what was said before."""
    if not follows(item):
        yield from names_evaluated(item)


def names_evaluated(item: ast.RowItem) -> Iterator[ast.Name]:
    """What expanding an item evaluates; the source of `inline(e)` is only for compressing."""
    todo: list[object] = []
    if isinstance(item, ast.RowWhere):
        todo = [item.cond]
    elif isinstance(item, ast.RowAssign):
        todo = [item.value]
    else:
        todo = [target.bits for target in item.targets if target.bits is not None]
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.Name):
            yield node
        elif isinstance(node, ast.Expr) and not isinstance(node, ast.InlinePiece):
            todo += [getattr(node, name) for name in children(type(node))]
        elif isinstance(node, (list, tuple)):
            todo += node


def said_by(row: ast.Row, waiting: bool = True) -> set[object]:
    """The fields and variables that a row assigns when expanding. waiting: also with `following`, at the end."""
    found: set[object] = set()
    for item in row.items:
        if isinstance(item, ast.RowAssign) and (waiting or not follows(item)):
            found.add(getattr(item.target, "decl", None))
        elif isinstance(item, ast.RowInline):
            found |= {getattr(target.target, "decl", None) for target in item.targets if target.target is not None}
    for arm in [one for one in found if isinstance(one, ast.ChoiceArm) and one.choice is not None]:
        found |= {arm.choice, arm.choice.tag.decl}          # an arm says the tag too
    found |= {one.tag.decl for one in found if isinstance(one, ast.ChoiceField)}
    return found


def flatten(e: ast.Expr) -> list[ast.Expr]:
    """The parts of a concatenation from left to right."""
    if isinstance(e, ast.Binary) and e.op == "++":
        return flatten(e.left) + flatten(e.right)
    return [e]
