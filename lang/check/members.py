"""Types of `a.b` and `a[i]`, and what may be assigned."""
from __future__ import annotations

from .. import ast, builtins
from ..library import errors
from ..types import Array, Bits, Bool, ChoiceType, EnumType, ErrorType, Frame, HeaderType, Integer, Meta, Stack, StructType, Type, Varbit
from .base import Base, described, kind_of, plural, root_name, shared
from .scope import suggest


class Members(Base):
    def _Member(self, e: ast.Member, want: Type | None) -> Type | None:
        if isinstance(e.base, ast.Name):
            known = self.scope.find(e.base.name)
            if isinstance(self.module, ast.Migrate) and e.base.name == "old":
                return self.old_member(e, e.base, self.module)
            if known is None and e.base.name == "error":
                return self.error_member(e, e.base)
            if known is None and e.base.name == builtins.NODE_NAME:
                return self.node_member(e, e.base)
            if isinstance(known, ast.Enum):
                return self.enum_member(e, e.base, known)
            if how := shared(known, e.name):
                self.error(f"'{e.name}' belongs to {kind_of(known)} '{e.base.name}'", e, how)
                return None
        if isinstance(e.base, ast.Call):
            return self.result_member(e)
        base = self.expr(e.base)
        match base:
            case None:
                return None
            case StructType():
                return self.struct_member(e, base.decl)
            case HeaderType():
                return self.header_member(e, base.decl)
            case ChoiceType():
                return self.choice_member(e, base.decl)
            case Stack():
                return self.stack_member(e, base)
            case Meta():
                if e.name in builtins.META:
                    e.decl = e.name
                    return builtins.META[e.name]
                self.no_member(e, "meta", list(builtins.META))
                return None
            case Frame():
                return self.frame_member(e)
        self.error(f"{described(base)} has no members", e, f"name a cell: {e.base.span.text}[i].{e.name}" if isinstance(base, Array) else "")
        return None

    def no_member(self, e: ast.Member, owner: str, names: list[str]) -> None:
        hint = suggest(e.name, names) or (f"it has {', '.join(names)}" if 0 < len(names) <= 12 else "")
        self.error(f"{owner} has no '{e.name}'", e, hint)

    def error_member(self, e: ast.Member, base: ast.Name) -> Type | None:
        member = self.errors.get(e.name)
        if member is None:
            hint = (f"add import std.{errors()[e.name]};" if e.name in errors() else "") or suggest(e.name, self.errors) or f"declare it: error {{ {e.name} }}"
            self.error(f"there is no error '{e.name}'", e, hint)
            return None
        e.decl, e.const = member, member.number
        base.decl = "error"
        return ErrorType()

    def node_member(self, e: ast.Member, base: ast.Name) -> Type | None:
        base.decl = builtins.NODE_NAME
        if e.name in builtins.NODE:
            e.decl = e.name
            return builtins.NODE[e.name]
        self.no_member(e, "node", list(builtins.NODE))
        return None

    def enum_member(self, e: ast.Member, base: ast.Name, enum: ast.Enum) -> Type | None:
        self.ensure(enum)
        base.decl = enum
        for member in enum.members:
            if member.name == e.name:
                e.decl, e.const = member, member.number
                return EnumType(enum)
        self.no_member(e, f"enum {enum.name}", [member.name for member in enum.members])
        return None

    def result_member(self, e: ast.Member) -> Type | None:
        """`t.apply().hit`."""
        assert isinstance(e.base, ast.Call)
        base = self.expr(e.base)
        if isinstance(e.base.target, ast.Table):
            if e.name in ("hit", "miss"):
                e.decl = e.name
                return Bool()
            if e.name == "action_run":
                e.decl = e.name
                self.error("action_run stands only in a switch", e, "write switch (t.apply().action_run) { ... }")
                return None
            self.no_member(e, "the result of a table", ["hit", "miss", "action_run"])
            return None
        if isinstance(base, StructType):
            return self.struct_member(e, base.decl)
        if base is not None:
            self.error(f"{described(base)} has no members", e)
        return None

    def struct_member(self, e: ast.Member, struct: ast.Struct) -> Type | None:
        self.ensure(struct)
        for field in struct.fields:
            if field.name == e.name:
                e.decl = field
                return field.type
        self.no_member(e, f"struct {struct.name}", [field.name for field in struct.fields])
        return None

    def header_member(self, e: ast.Member, header: ast.Header) -> Type | None:
        self.ensure(header)
        names = []
        choices = [one for one in header.items if isinstance(one, ast.ChoiceField)]
        items: list[ast.Field | ast.ChoiceField] = [*header.fields(), *choices]
        for item in items:
            if item.name == "_":
                continue
            names.append(item.name)
            if item.name == e.name:
                e.decl = item
                if not isinstance(item, ast.Field):
                    return ChoiceType(item)
                if isinstance(item.type, Varbit) and not self.varbit_allowed:
                    self.no_varbit(item, e, "sizeof(...) is its size, [i] one of its octets")
                    return None
                return item.type
        if e.name in builtins.HEADER_METHODS:
            self.error(f"'{e.name}' is called", e, f"write {e.name}()")
            return None
        if e.name in ("valid", "is_valid"):
            self.error(f"header {header.name} has no '{e.name}'", e, f"write {e.base.span.text}.isValid()")
            return None
        self.no_member(e, f"header {header.name}", names)
        return None

    def choice_member(self, e: ast.Member, choice: ast.ChoiceField) -> Type | None:
        for arm in choice.arms:
            if arm.name == e.name:
                e.decl = arm
                return arm.type
        self.no_member(e, f"choice '{choice.name}'", [arm.name for arm in choice.arms])
        return None

    def stack_member(self, e: ast.Member, stack: Stack) -> Type | None:
        if e.name in ("next", "last"):
            if not isinstance(self.module, ast.Parser):
                self.error(f"'.{e.name}' is for parsers", e, "elsewhere index the stack, as in h.x[0]")
                return None
            e.decl = e.name
            return stack.header
        if e.name in ("lastIndex", "size"):
            e.decl = e.name
            if e.name == "size":
                e.const = stack.size
            elif not isinstance(self.module, ast.Parser):
                self.error("'.lastIndex' is for parsers", e, "elsewhere ask the elements: h.x[0].isValid()")
                return None
            return Bits(32)
        self.no_member(e, "a stack", ["next", "last", "lastIndex", "size"])
        return None

    # ------------------------------------------------------------ a[i]

    def _Index(self, e: ast.Index, want: Type | None) -> Type | None:
        if isinstance(e.base, ast.Name) and e.base.name == builtins.PAYLOAD and self.scope.find(e.base.name) is None:
            e.base.decl = builtins.PAYLOAD
            if self.header is not None:
                self.error("payload[i] is for modules: a description does not depend on what follows its header", e,
                           "sizeof(payload) and inet_sum(..., payload) can stand here")
                return None
            return Bits(8) if self.index(e.index) else None
        if isinstance(e.index, ast.RangeSet):
            ends = (e.index.low.span.text, e.index.high.span.text)
            self.error("bits are taken with ':'", e.index, f"write {e.base.span.text}[{':'.join(sorted(ends, key=lambda end: int(end) if end.isdecimal() else 0, reverse=True))}]")
            return None
        with self.setting(varbit_allowed=isinstance(e.base, (ast.Name, ast.Member))):
            base = self.expr(e.base)
        good = self.index(e.index)
        if base is None or not good:
            return None
        if isinstance(base, Varbit):
            return self.octet_of(e, base)
        size = base.size if isinstance(base, (Stack, Array)) else None
        if size is not None and not self.in_range(e.index, size):
            return None
        if isinstance(base, Stack):
            if e.index.const is None:
                self.error("the index of a header stack must be a constant", e.index,
                           "use a number or the variable of a loop: for (i in 0..n); in a parser also .next and .last")
                return None
            return base.header
        if isinstance(base, Array):
            return base.cell
        if isinstance(e.base, ast.Name) and isinstance(e.base.decl, ast.Register) and not (isinstance(base, Bits) and e.index.const is not None):
            if e.base.decl not in self.told_one:            # of a register once: it is named in many places
                self.told_one.add(e.base.decl)
                self.error(f"register '{e.base.name}' is one value, and has no elements", e, f"declare how many: register<{described(base)}>[8] {e.base.name};")
            return None
        bit = f"for bits write [{e.index.const}:{e.index.const}]" if isinstance(base, Bits) else ""
        self.error(f"{described(base)} has no elements", e, bit if e.index.const is not None else self.one_bit(e, e.base, e.index, base))
        return None

    def octet_of(self, e: ast.Index, varbit: Varbit) -> Type | None:
        most = varbit.max_width // 8
        if self.header is not None:
            self.error("octets of a varbit are for modules: the parts of a header depend on its fields", e, "sizeof(...) of it can stand here")
        elif e.index.const is not None and e.index.const >= most:
            self.error(f"this varbit has at most {plural(most, 'octet')}, numbered from 0", e.index)
        else:
            return Bits(8)
        return None

    def in_range(self, index: ast.Expr, size: int) -> bool:
        """A constant index names one of so many elements, or is never reached."""
        if index.const is None or index.const < size:
            return True
        if not self.unreached:
            self.error(f"index {index.const} is out of range", index,
                       f"the last of {size} is {size - 1}" + (": end the loop earlier, or test its variable first" if self.copies > 1 else ""))
            return False
        self.beyond += 1
        return True

    def index(self, e: ast.Expr) -> bool:
        type_ = self.expr(e)
        if type_ is None:
            return False
        bits = self.representation(type_) if isinstance(type_, EnumType) else type_
        if not isinstance(bits, (Bits, Integer)) or isinstance(bits, Bits) and bits.signed:
            self.error(f"an index is bit<N>, and this is {described(type_)}", e)
            return False
        if e.const is not None and e.const < 0:
            self.error("an index is not negative", e)
            return False
        self.settle(e)
        return True

    # ------------------------------------------------------------ assignment

    def target(self, e: ast.Expr) -> Type | None:
        """The type of what is assigned to; what cannot be assigned is told."""
        with self.setting(assigned_to=e):
            type_ = self.expr(e)
        if type_ is None:
            return None
        return None if self.kept(e) else type_

    def kept(self, e: ast.Expr) -> bool:
        """Whether this cannot be assigned, and tells why: of a parameter once."""
        why = self.not_assignable(e)
        root = root_name(e)
        if why is not None and (root is None or root.decl not in self.told_kept):
            self.error(why[0], e, *why[1:])
        if why is not None and root is not None and isinstance(root.decl, ast.Param):
            self.told_kept.add(root.decl)
        return why is not None

    def not_assignable(self, e: ast.Expr) -> tuple[str, ...] | None:
        """Why an expression cannot be assigned (message, hint), or None."""
        match e:
            case ast.Name():
                return self.name_not_assignable(e)
            case ast.Member(decl=ast.StructField()):
                return self.not_assignable(e.base)
            case ast.Member(decl=ast.Register()):
                return ("the old state is only read", "assign this version's register")
            case ast.Member(decl=str()):
                if isinstance(e.base.type, Meta):
                    if e.decl in builtins.META_WRITABLE:
                        return self.not_assignable(e.base)
                    return (f"meta.{e.name} is given by the engine and cannot be assigned",)
                if e.decl == "next":
                    return None
                if isinstance(e.base.type, Frame):
                    return (f"frame.{e.name} is given by the engine and cannot be assigned",)
                if isinstance(e.base, ast.Name) and e.base.decl == builtins.NODE_NAME:
                    return (f"node.{e.name} is given by the engine and cannot be assigned",)
                return (f"'{e.name}' cannot be assigned",)
            case ast.Member(decl=ast.ChoiceField() as choice):
                return ("a choice is assigned by the name of an arm",
                        f"as in .{e.name}.{choice.arms[0].name}" if choice.arms else "")
            case ast.Member(decl=ast.ChoiceArm()):
                if isinstance(e.base, ast.Member):
                    return self.not_assignable(e.base.base)
                return ("an arm is assigned through its header",)
            case ast.Member(decl=ast.Field()):
                if isinstance(e.decl, ast.Field) and e.decl.equation is not None and not e.decl.deferred:
                    return (f"'{e.name}' is computed from its equation", "remove the assignment")
                return self.not_assignable(e.base)
            case ast.Index():
                if isinstance(e.base, ast.Name) and e.base.decl == builtins.PAYLOAD:
                    return ("payload cannot be assigned", "new octets are fields of a header that the deparser emits in front of it; payload.truncate(0) takes the old ones away")
                if isinstance(e.base.type, Varbit):
                    return ("octets of a varbit are the packet's and cannot be assigned", "a header that a program fills with octets of its own has fields for them")
                return self.not_assignable(e.base)
            case ast.Slice():
                return self.not_assignable(e.base)
        return ("this is a value, and cannot be assigned",)

    def name_not_assignable(self, e: ast.Name) -> tuple[str, ...] | None:
        decl = e.decl
        if isinstance(decl, ast.Param):
            if decl.direction in ("out", "inout"):
                return None
            if isinstance(self.function, ast.Action) and decl in self.function.params and decl.direction == "":
                return (f"parameter '{decl.name}' of an action is given by the table and cannot be assigned",
                        "copy it to a variable")
            if isinstance(self.module, ast.Deparser) and isinstance(decl.type, StructType):
                return ("a deparser changes no headers", "assign it in a processor before it in the chain")
            word = "inout" if isinstance(decl.type, (StructType, HeaderType, Meta)) else "inout, or copy it to a variable"
            return (f"'{decl.name}' is an in parameter and cannot be assigned", f"declare it {word}")
        if isinstance(decl, ast.VarDecl):
            if decl in self.loop_variables:
                return (f"'{decl.name}' counts the loop and cannot be assigned",)
            return None
        if isinstance(decl, ast.Register):
            return None
        if isinstance(decl, (ast.CodecVar, ast.Field)) and self.codec is not None:
            return None
        if isinstance(decl, ast.ChoiceField):
            return ("a choice is assigned by the name of an arm",)
        return (f"'{e.name}' is {'an' if kind_of(decl)[0] in 'aeiou' else 'a'} {kind_of(decl)} and cannot be assigned",)
