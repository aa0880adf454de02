"""What is written as a number: literals, constants and enum members of the program, checked against the type it is for."""
from __future__ import annotations

from difflib import get_close_matches
from typing import Optional, Union

from lpn.lang import ast, tables as control
from lpn.lang.diagnostics import Diagnostics
from lpn.lang.reference.values import wrap
from lpn.lang.types import Bits, Bool, EnumType, ErrorType, Type, Varbit

from .model import Numbers, Octets, Pattern, Value
from .words import shown


class Values:
    def __init__(self, program: ast.Program, diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics
        self.constants = {each.name: each for each in program.decls if isinstance(each, ast.Const) and each.value.const is not None}
        self.errors = control.errors_of(program.reasons)
        self.enums = {each.name: each for each in program.decls if isinstance(each, ast.Enum)}

    def number(self, value: Value, type_: Optional[Type]) -> Optional[int]:
        """The number; None, and an error, if it is none of that type."""
        if isinstance(type_, ErrorType) and value.kind == "name":
            return self.error(value)
        if value.kind == "octets" or type_ is None or not isinstance(type_, (Bits, Bool, EnumType)):
            self.diagnostics.error(f"this is no value of type {type_}", value.span)
            return None
        if value.kind == "bool" or isinstance(type_, Bool):
            return self.boolean(value, type_)
        if value.kind == "address" and (not isinstance(type_, Bits) or type_.width != value.bits):
            self.diagnostics.error(f"an address of {value.bits} bits is no value of type {type_}", value.span)
            return None
        number = self.named(value, type_) if value.kind == "name" else value.value
        if number is None:
            return None
        assert isinstance(number, int)
        bits = type_.decl.base.type if isinstance(type_, EnumType) else type_
        assert isinstance(bits, Bits)
        low, high = (-(1 << bits.width - 1), (1 << bits.width - 1) - 1) if bits.signed else (0, (1 << bits.width) - 1)
        if not low <= number <= high:
            self.diagnostics.error(f"{number} does not fit {bits}", value.span, f"{bits} holds {low} to {high}" if bits.width <= 64 else "")
            return None
        return number

    def error(self, value: Value) -> Optional[int]:
        """One of the program's errors, `BadKind` or `error.BadKind`."""
        name = str(value.value).removeprefix("error.")
        if name not in self.errors:
            near = get_close_matches(name, self.errors, 1)
            self.diagnostics.error(f"there is no error {shown(name)}", value.span,
                                   f"did you mean {near[0]}?" if near else f"there are {', '.join(self.errors)}")
        return self.errors.get(name)

    def boolean(self, value: Value, type_: Type) -> Optional[int]:
        if value.kind == "bool" and (isinstance(type_, Bool) or type_ == Bits(1)):
            return int(bool(value.value))
        self.diagnostics.error("true or false is expected" if isinstance(type_, Bool) else f"this is no value of type {type_}", value.span)
        return None

    def named(self, value: Value, type_: Type) -> Optional[int]:
        """A constant, a member of the type's enum, or `Enum.member`."""
        name = str(value.value)
        members = {each.name: each.number for each in type_.decl.members} if isinstance(type_, EnumType) else {}
        if name in members:
            return members[name]
        enum, _, member = name.rpartition(".")
        if enum in self.enums:
            found = [each.number for each in self.enums[enum].members if each.name == member]
            if found:
                return found[0]
            members = {f"{enum}.{each.name}": each.number for each in self.enums[enum].members}
        elif name in self.constants:
            constant = self.constants[name]
            return int(wrap(constant.value.const, constant.type))
        owners = [f"{each}.{name}" for each, decl in self.enums.items() if any(one.name == name for one in decl.members)]
        near = get_close_matches(name, [*members, *self.constants], 1)
        hint = f"members are called by their enum: {' or '.join(owners)}" if owners else f"did you mean {near[0]}?" if near else f"there are {', '.join(members)}" if members else "write a number or a constant of the program"
        self.diagnostics.error(f"there is no value {shown(name)}", value.span, hint)
        return None

    # ------------------------------------------------------------ patterns

    def one(self, pattern: Pattern, type_: Optional[Type]) -> Optional[int]:
        """A pattern that must be one number."""
        if pattern.value is None or pattern.mask or pattern.high:
            self.diagnostics.error("one value is expected", pattern.span)
            return None
        return self.number(pattern.value, type_)

    def numbers(self, pattern: Pattern, type_: Optional[Type]) -> Optional[Numbers]:
        """None for `_`, and where something is wrong."""
        if pattern.value is None:
            return None
        value = self.number(pattern.value, type_)
        mask = self.number(pattern.mask, type_) if pattern.mask else -1
        high = self.number(pattern.high, type_) if pattern.high else None
        if value is None or mask is None or (pattern.high and high is None):
            return None
        if mask >= 0 and value & ~mask:
            self.diagnostics.error("the value has bits outside of its mask: nothing can be it", pattern.span)
        if high is not None and high < value:
            self.diagnostics.error(f"there is nothing in {value}..{high}", pattern.span)
        return Numbers(value, mask, high)

    def wanted(self, pattern: Pattern, type_: Optional[Type], sending: bool) -> Union[Numbers, Octets, None]:
        """For a field: octets if it is a varbit."""
        if not isinstance(type_, Varbit) or pattern.value is None:
            return self.numbers(pattern, type_)
        octets = pattern.value.value
        if not isinstance(octets, Octets) or pattern.mask or pattern.high:
            self.diagnostics.error("octets are expected", pattern.span, 'write hex { 01 02 } or "text"')
            return None
        if sending and not octets.exact:
            self.diagnostics.error("a field that is sent has no octets left open", pattern.span)
        if 8 * len(octets.pairs) > type_.max_width:
            self.diagnostics.error(f"{len(octets.pairs)} octets, {type_} holds {type_.max_width // 8}", pattern.span)
        return octets

    def match(self, pattern: Pattern, key: ast.TableKey) -> Optional[control.Match]:
        """A table entry's key."""
        type_, width = key.expr.type, control.key_width(key.expr.type)
        if pattern.value is None:
            if key.match == "exact":
                self.diagnostics.error("an exact key is one value", pattern.span)
                return None
            return control.match(key.match, type_, None)
        value = self.number(pattern.value, type_)
        if value is None:
            return None
        for part, kind, sign in ((pattern.mask, "ternary", "&&&"), (pattern.prefix, "lpm", "/"), (pattern.high, "range", "..")):
            if part is not None and key.match != kind:
                self.diagnostics.error(f"'{sign}' is for {kind} keys, this one is {key.match}", pattern.span)
                return None
        if pattern.mask is not None:
            mask = self.number(pattern.mask, type_)
            return None if mask is None else control.match("ternary", type_, value, mask=mask)
        if pattern.high is not None:
            high = self.number(pattern.high, type_)
            return None if high is None else control.match("range", type_, value, high=high)
        if pattern.prefix is not None:
            length = pattern.prefix.value
            if not isinstance(length, int) or pattern.prefix.kind != "number" or not 0 <= length <= width:
                self.diagnostics.error(f"a prefix has 0 to {width} bits", pattern.prefix.span)
                return None
            return control.match("lpm", type_, value, prefix=length)
        return control.match(key.match, type_, value)
