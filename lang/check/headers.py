"""Header descriptions: layout in whole bytes, presence, checks and equations."""
from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from .. import ast, builtins
from ..instances import walk
from ..types import Bits, Bool, EnumType, ErrorType, HeaderType, Integer, Stack, Varbit
from .base import Base, described, plural
from .scope import Scope


class Headers(Base):
    def resolve_Header(self, header: ast.Header) -> None:
        """Types of fields and parameters: what others need to know of a header."""
        for param in header.params:
            param.type = self.type_of(param.type_ref)
            if param.type is not None and not isinstance(param.type, HeaderType):
                self.error(f"a header's parameters are headers, and this is {param.type}", param)
                param.type = None
            if param.direction in ("out", "inout"):
                self.error("a header only looks at its parameters", param, f"remove {param.direction}")
        for item in header.items:
            if isinstance(item, ast.Field):
                self.field_type(item, header, None)
            elif isinstance(item, ast.Word):
                for field in item.fields:
                    self.field_type(field, header, item)
            elif isinstance(item, ast.ChoiceField):
                item.header = header
                for arm in item.arms:
                    arm.type = self.type_of(arm.type_ref, little=True)
                    if arm.type is not None and not isinstance(arm.type, (Bits, EnumType)):
                        self.error(f"an arm cannot be {arm.type}", arm, "use bit<N> or le<N>")
                        arm.type = None

    def field_type(self, field: ast.Field, header: ast.Header, word: ast.Word | None) -> None:
        field.header = header
        field.type = self.type_of(field.type_ref, little=word is None)
        if field.type is not None and not isinstance(field.type, (Bits, Bool, EnumType, Varbit)):
            if not isinstance(field.type, (HeaderType, Stack)):
                self.error(f"a field cannot be {field.type}", field, "fields are bit<N>, int<N>, le<N>, varbit<N>, bool and enums")
            elif header not in self.told_structs:
                self.told_structs.add(header)
                self.error(f"a header has fields, and '{field.name}' is a header", field, f"what holds headers is a struct: struct {header.name} {{ ... }}")
            field.type = None
        if word is None and field.type_ref.name == "le" and isinstance(field.type, Bits):
            field.little = True

    # ------------------------------------------------------------ the whole description

    def header_body(self, header: ast.Header) -> None:
        outer = Scope(self.globals)
        for param in header.params:
            self.declare(param.name, param, outer)
        scope = Scope(outer)
        places: dict[object, int] = {}
        for place, item in enumerate(header.items):
            for field in parts(item):
                self.declare(field.name, field, scope)
                places[field] = place
        with self.inside(scope), self.setting(header=header):
            for place, item in enumerate(header.items):
                self.header_item(item, place, places)
        if self.layout(header):
            self.circles(header)

    def header_item(self, item: ast.HeaderItem, place: int, places: dict[object, int]) -> None:
        if isinstance(item, ast.Where):
            self.condition(item.cond)
            if item.reason is not None:
                self.value(item.reason, ErrorType(), "the reason")
            return
        if isinstance(item, ast.ChoiceField):
            self.choice(item, place, places)
            return
        for field in parts(item):
            assert isinstance(field, ast.Field)
            if isinstance(item, ast.Word) and not self.may_be_in_word(field):
                continue
            self.field(field, place, places)

    def may_be_in_word(self, field: ast.Field) -> bool:
        for attribute, what in ((field.when, "when"), (field.sized, "sized")):
            if attribute is not None:
                self.error(f"a field in a word cannot have '{what}'", attribute, "a word is there as a whole")
                return False
        if isinstance(field.type, Varbit):
            self.error("a varbit cannot be in a word", field)
            return False
        return True

    def field(self, field: ast.Field, place: int, places: dict[object, int]) -> None:
        if field.when is not None:
            self.condition(field.when)
            self.looks_back(field.when, place, places, "whether a field is there")
        if isinstance(field.type, Varbit):
            self.varbit(field, place, places)
        elif field.sized is not None and field.type is not None:
            self.error("only a varbit is sized", field.sized, "declare the field varbit<N>")
        if field.equation is not None and not isinstance(field.type, Varbit):
            if isinstance(field.equation, (ast.RangeSet, ast.ListExpr, ast.Tuple)):
                self.error("the values that a field may have stand behind 'in'", field.equation, f"write {field.name} in {{ {field.equation.span.text.strip('{()} ')} }}")
            else:
                self.value(field.equation, field.type, f"field '{field.name}'")
        if field.deferred and field.equation is None:
            self.error("'deferred' belongs to an equation", field, f"write {field.name} = ... deferred")
        if field.name == "_" and field.deferred:
            self.error("a field without a name cannot be deferred", field, "name it")
        for one in field.values or []:
            self.key(one, field.type, f"a value of '{field.name}'")
        if field.values is not None and not field.values:
            self.error(f"no value is allowed for '{field.name}'", field, "name them in in { ... }")

    def varbit(self, field: ast.Field, place: int, places: dict[object, int]) -> None:
        assert isinstance(field.type, Varbit)
        if field.sized is None:
            self.error(f"the size of '{field.name}' is not known", field, "add sized (bits)")
        else:
            type_ = self.expr(field.sized)
            if isinstance(type_, Integer) and field.sized.const is None:        # one of several numbers
                self.fit(field.sized, Bits(32))
            elif type_ is not None and field.sized.const is None and not (isinstance(type_, Bits) and not type_.signed):
                self.error(f"a size is bit<N>, a number of bits, and this is {described(type_)}", field.sized)
            self.settle(field.sized)
            self.looks_back(field.sized, place, places, "a size")
        if field.type.max_width % 8:
            self.error(f"{field.type} is not whole bytes", field, "use a multiple of 8")
        for wrong in (field.equation, *(field.values or [])):
            if wrong is not None:
                self.error("the bytes of a varbit cannot be checked", wrong, "remove this")

    def choice(self, choice: ast.ChoiceField, place: int, places: dict[object, int]) -> None:
        tag = choice.tag
        type_ = self.expr(tag)
        if type_ is None:
            return
        if not isinstance(tag.decl, ast.Field) or not isinstance(type_, EnumType):
            self.error("the tag of a choice is an earlier field of an enum type", tag,
                       "declare enum bit<N> Mode { ... } and a field of it")
            return
        self.looks_back(tag, place, places, "the tag of a choice")
        if tag.decl.equation is not None:
            self.error(f"'{tag.decl.name}' has an equation and is the tag of a choice: assigning an arm sets it", tag,
                       "say which values it may have, as in `in { ... }`, or ask for them in a `where`", notes=[("the equation is here", tag.decl.equation.span)])
        members = {member.name: member for member in type_.decl.members}
        seen: dict[str, ast.ChoiceArm] = {}
        if not choice.arms:
            self.error(f"choice '{choice.name}' has no arms", choice)
        for arm in choice.arms:
            if arm.name not in members:
                from .scope import suggest
                self.error(f"enum {type_} has no '{arm.name}'", arm,
                           suggest(arm.name, members) or f"it has {', '.join(members)}")
            elif arm.name in seen:
                self.error(f"arm '{arm.name}' is here twice", arm, notes=[("the first one is here", seen[arm.name].span)])
            else:
                seen[arm.name] = arm
                arm.number = members[arm.name].number
                if arm.number == 0 and tag.decl.when is not None:
                    self.error(f"'{tag.decl.name}' is 0 where it is absent, and 0 is '{arm.name}'", arm, "leave the arm out, or give the member another number")

    def looks_back(self, e: ast.Expr, place: int, places: dict[object, int], what: str) -> None:
        """A condition that decides the layout may only look at fields located before."""
        for node in walk(e):
            if isinstance(node, (ast.Name, ast.Member)) and node.decl in places and places[node.decl] >= place:
                self.error(f"{what} depends on '{node.name}', which comes later", node, "only earlier fields are known here")
            elif isinstance(node, ast.Sizeof) and node.operand is None:
                self.error(f"{what} depends on the header's own size", node, "only earlier fields are known here")
            elif isinstance(node, ast.Name) and node.decl == builtins.PAYLOAD:
                self.error(f"{what} depends on the payload", node, "only earlier fields are known here")

    # ------------------------------------------------------------ layout

    def layout(self, header: ast.Header) -> bool:
        """Headers, and every part that may be absent, are whole bytes."""
        position, start = 0, None
        for item in header.items:
            if isinstance(item, ast.Where):
                continue
            width = self.item_width(item)
            if width is None:
                return False
            plain = (isinstance(item, ast.Field) and item.when is None and not item.little
                     and not isinstance(item.type, Varbit))
            what = self.item_name(item)
            if not plain and position % 8:
                self.error(f"{what} does not begin at a whole byte", item, f"{missing(position)} before it")
                return False
            if not plain and width % 8:
                self.error(f"{what} is not whole bytes", item, f"it has {width} bits" if width else "")
                return False
            position += width
            start = item if position % 8 and start is None else start if position % 8 else None
        if position % 8:
            self.error(f"header {header.name} is not whole bytes", start or header,
                       f"{missing(position)}, beginning here")
            return False
        return True

    def item_width(self, item: ast.HeaderItem) -> int | None:
        if isinstance(item, ast.Word):
            widths = [self.width_of(field.type) for field in item.fields]
            if None in widths:
                return None
            total = sum(width for width in widths if width is not None)
            if item.width % 8 or not 8 <= item.width <= 64:
                self.error(f"a word of {item.width} bits is not possible", item, "words have 8 to 64 bits, in whole bytes")
                return None
            if total != item.width:
                self.error(f"the fields of this word have {total} bits, and the word has {item.width}", item,
                           "name the rest, as in bit<3> reserved")
                return None
            return item.width
        if isinstance(item, ast.ChoiceField):
            for arm in item.arms:
                width = self.width_of(arm.type)
                if width is None:
                    return None
                if width % 8:
                    self.error(f"arm '{arm.name}' is not whole bytes", arm, f"it has {width} bits")
                    return None
            return 0
        assert isinstance(item, ast.Field)
        return 0 if isinstance(item.type, Varbit) else self.width_of(item.type)

    def item_name(self, item: ast.HeaderItem) -> str:
        if isinstance(item, ast.Word):
            return "this word"
        assert isinstance(item, (ast.Field, ast.ChoiceField))
        return f"{'choice' if isinstance(item, ast.ChoiceField) else 'field'} '{item.name}'"

    # ------------------------------------------------------------ equations that need each other

    def circles(self, header: ast.Header) -> None:
        """No equation may need its own field, also not through the header's size (a varbit's size is that of its bytes)."""
        needs = needed(header)
        for field in needs:
            reached, todo = set(), list(needs[field])
            while todo:
                one = todo.pop()
                if one not in reached:
                    reached.add(one)
                    todo += needs.get(one, set())
            if field in reached:
                assert field.equation is not None
                self.error(f"the equation of '{field.name}' needs its own value", field.equation, "break the circle")
                return


def needed(header: ast.Header) -> dict[ast.Field, set[ast.Field]]:
    """Of each field with an equation those with one that it needs the values of."""
    shape: set[ast.Field] = set()
    for item in header.items:
        for e in ([item.tag] if isinstance(item, ast.ChoiceField) else [item.when]
                  if isinstance(item, ast.Field) else []):
            shape |= mentioned(e, header)
    needs: dict[ast.Field, set[ast.Field]] = {}
    for field in header.fields():
        if field.equation is not None:
            sizes = any(isinstance(node, ast.Sizeof) and node.operand is None for node in walk(field.equation))
            read = mentioned(field.equation, header) | (shape if sizes else set())
            needs[field] = {one for one in read if one.equation is not None}
            # what decides whether the field is there decides its value too
            needs[field] |= {one for one in mentioned(field.when, header) if one.equation is not None}
    return needs


@lru_cache(64)                                  # the reference asks for each packet
def in_order_of_need(header: ast.Header) -> list[ast.Field]:
    """The fields with an equation, each behind those that its own needs."""
    needs, out = needed(header), []                         # type: ignore[var-annotated]
    while len(out) < len(needs):
        out += [field for field in needs if field not in out and needs[field] <= set(out)]
    return out


def missing(position: int) -> str:
    """What a whole byte would still need behind so many bits."""
    return f"{plural(8 - position % 8, 'bit')} {'is' if position % 8 == 7 else 'are'} missing"


def parts(item: ast.HeaderItem) -> list[ast.Field | ast.ChoiceField]:
    """The fields and choices of an item."""
    if isinstance(item, ast.Word):
        return list(item.fields)
    return [] if isinstance(item, ast.Where) else [item]


def mentioned(e: ast.Expr | None, header: ast.Header) -> set[ast.Field]:
    """The fields of `header` itself that an expression of its description reads."""
    found: set[ast.Field] = set()
    for node in own_names(e):
        if isinstance(node.decl, ast.Field) and node.decl.header is header:
            found.add(node.decl)
        elif isinstance(node.decl, ast.ChoiceField) and isinstance(node.decl.tag.decl, ast.Field):
            found.add(node.decl.tag.decl)
    return found


def own_names(e: ast.Expr | None) -> Iterator[ast.Name]:
    return (node for node in walk(e) if isinstance(node, ast.Name))


def needs_payload(e: ast.Expr | None) -> bool:
    """Whether an expression looks at what follows its header."""
    return any(isinstance(node, ast.Name) and node.decl == builtins.PAYLOAD for node in walk(e))
