"""Random LPN programs, well typed by construction: what the fuzzer and the differential tests compile and run.

Every decision is a number drawn through `Choose`; the smallest is always the simplest choice. The same seed gives the
same program, in every run and on every machine.
"""
from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Item = TypeVar("Item")
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
CONSTANT = re.compile(r"bit|int|true|false|error|[KE]\w*")       # what names are that stand in constants, too: types, the program's constants and enums


class Choose(ABC):
    """A source of decisions."""

    @abstractmethod
    def number(self, low: int, high: int) -> int:
        """A number from low to high, both included; low is the simplest."""

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.number(0, len(items) - 1)]

    def chance(self, n: int, of: int) -> bool:
        """True in `n` of `of` cases; False is the simpler one."""
        return self.number(0, of - 1) >= of - n

    def value(self, width: int) -> int:
        """A number of `width` bits; its ends more often than chance gives them."""
        top = (1 << width) - 1
        match self.number(0, 5):
            case 0:
                return self.number(0, min(top, 15))
            case 1:
                return self.pick(sorted({0, 1 & top, top, top >> 1, top ^ top >> 1, top - 1 & top}))
        return self.number(0, top)


class RandomChoose(Choose):
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


# ---------------------------------------------------------------- what a program is made of

@dataclass(frozen=True)
class Ty:
    """A scalar type: kind "bit", "int", "bool", "enum" or "error"."""

    kind: str
    width: int
    name: str = ""

    def __str__(self) -> str:
        return {"bit": f"bit<{self.width}>", "int": f"int<{self.width}>", "bool": "bool"}.get(self.kind, self.name)


def bit(width: int) -> Ty:
    return Ty("bit", width)


BOOL = Ty("bool", 1)
ERROR = Ty("error", 16, "error")


@dataclass(frozen=True)
class Value:
    """Something an expression can read: its text and type, and whether it can be assigned. `below`: a constant, the variable of a loop that is
    written out, is below that."""

    text: str
    ty: Ty
    writable: bool = False
    below: int = 0


@dataclass(frozen=True)
class EnumInfo:
    ty: Ty
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class FieldInfo:
    name: str
    ty: Ty
    equation: bool = False                      # checked when parsed: computed, never assigned
    deferred: bool = False
    when: bool = False


@dataclass(frozen=True)
class ChoiceInfo:
    name: str
    tag: str
    enum: EnumInfo
    arms: tuple[tuple[str, Ty], ...]


@dataclass
class HeaderInfo:
    name: str
    fields: list[FieldInfo] = field(default_factory=list)
    choices: list[ChoiceInfo] = field(default_factory=list)
    varbits: dict[str, int] = field(default_factory=dict)      # the bits of each, at most
    params: list[tuple["HeaderInfo", str]] = field(default_factory=list)
    payload: bool = False                       # an equation looks at the payload
    sums: bool = False                          # and sums it: no header may follow
    decide: list[str] = field(default_factory=list)            # what it begins with, and what of it is there depends on
    codec: str = ""                             # the codec made for it
    twins: tuple[FieldInfo, FieldInfo] | None = None            # two fields of it that its codec says in the same ways
    both: str = ""                              # a field that is computed of both
    codec_params: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def deferred(self) -> bool:
        return any(f.deferred for f in self.fields)

    @property
    def flat(self) -> bool:
        """All of it is always there, as it was received."""
        return not self.choices and not self.varbits and not any(f.when or f.equation for f in self.fields)

    def values(self, base: str, writable: bool) -> list[Value]:
        dot = f"{base}." if base else ""
        out = [Value(dot + f.name, f.ty, writable and (not f.equation or f.deferred)) for f in self.fields]
        for c in self.choices:
            out += self.chosen(c, dot)
        return out

    def chosen(self, c: ChoiceInfo, dot: str) -> list[Value]:
        """A choice's arms, read where they are there."""
        return [Value(f"({dot}{c.tag} == {c.enum.ty}.{arm} ? {dot}{c.name}.{arm} : {zero(ty)})", ty) for arm, ty in c.arms]

    def arms(self, base: str) -> list[Value]:
        """Places of choice arms: assigned, not read."""
        return [Value(f"{base}.{c.name}.{arm}", ty, True) for c in self.choices for arm, ty in c.arms]


@dataclass(frozen=True)
class StructInfo:
    """`fields`: all numbers, those of a struct in it by path."""

    name: str
    fields: tuple[tuple[str, Ty], ...]

    def values(self, base: str, writable: bool = True) -> list[Value]:
        return [Value(f"{base}.{name}", ty, writable) for name, ty in self.fields]


@dataclass(frozen=True)
class FunctionInfo:
    """A parameter is (direction, what): a Ty, StructInfo or HeaderInfo. `plain`: descriptions of headers may call it, too."""

    name: str
    result: Ty | StructInfo | None
    params: tuple[tuple[str, Any], ...]
    plain: bool = False
    stateful: bool = False                      # changes registers
    copies: bool = False                        # assigns whole headers


@dataclass(frozen=True)
class RegisterInfo:
    name: str
    cell: Ty | StructInfo
    size: int = 0                               # 0: a single cell


@dataclass(frozen=True)
class InstanceInfo:
    """A field of the headers struct."""

    name: str
    header: HeaderInfo
    size: int = 0                               # of a stack
    args: tuple[str, ...] = ()

    def texts(self) -> list[str]:
        return [f"h.{self.name}[{i}]" for i in range(self.size)] if self.size else [f"h.{self.name}"]


@dataclass
class Context:
    """What can be named where an expression or statement stands. `valid`: headers known to be there."""

    place: str                                  # parser, processor, deparser, function, action, codec, header
    values: list[Value] = field(default_factory=list)
    structs: list[tuple[str, StructInfo, bool]] = field(default_factory=list)
    headers: dict[str, HeaderInfo] = field(default_factory=dict)
    valid: set[str] = field(default_factory=set)
    bound: dict[str, tuple[str, ...]] = field(default_factory=dict)
    functions: list[FunctionInfo] = field(default_factory=list)
    registers: list[RegisterInfo] = field(default_factory=list)
    payload: bool = False                       # `sizeof(payload)` and inet_sum(.., payload) are possible
    assigns_headers: bool = False
    looping: bool = False
    lookahead: bool = False
    octets: bool = False                        # `payload[i]` is possible
    long: bool = False                          # inside a loop of many turns
    stacks: tuple[str, ...] = ()                # in a parser: those with .lastIndex
    result: Any = None
    meta: bool = False                          # `m.verdict` and `m.reason` can be read
    state: bool = False                         # registers can be changed
    copies: bool = False                        # whole headers can be assigned

    def inside(self) -> "Context":
        """A block within: its variables and knowledge are its own."""
        copy = Context(**self.__dict__)
        copy.values, copy.structs = list(self.values), list(self.structs)
        copy.headers, copy.valid = dict(self.headers), set(self.valid)
        return copy

    @property
    def callable(self) -> list[FunctionInfo]:
        return [f for f in self.functions if (self.state and self.place != "migrate" or not f.stateful) and (self.copies or not f.copies)]

    def assigns(self, text: str) -> bool:
        return self.assigns_headers and not text.endswith(".last")

    def readable(self) -> list[Value]:
        out = list(self.values)
        for name, struct, writable in self.structs:
            out += struct.values(name, writable)
        for text in self.headers:
            if text in self.valid:
                out += self.headers[text].values(text, self.assigns(text))
        for register in self.registers:
            base = f"{register.name}[1]" if register.size > 1 else f"{register.name}[0]" if register.size else register.name
            writes = self.state
            if isinstance(register.cell, StructInfo):
                out += register.cell.values(base, writes)
            else:
                out.append(Value(base, register.cell, writes))
        return out


def literal(ty: Ty, number: int) -> str:
    """A constant of exactly this type."""
    if ty.kind == "bool":
        return "true" if number & 1 else "false"
    if ty.kind == "bit":
        return f"{ty.width}w{number:#x}" if number > 9 else f"{ty.width}w{number}"
    if ty.kind == "int":
        if ty.width > 64 or number >> ty.width - 1 or not number & 1:
            return f"((int<{ty.width}>) {ty.width}w{number:#x})"
        return f"({'-' if number & 2 else ''}{ty.width}s{number})"
    return f"(({ty.name}) {ty.width}w{number})"


def as_number(ty: Ty, bits: int) -> int:
    """What these bits are of the type."""
    return bits - (1 << ty.width) if ty.kind == "int" and bits >> ty.width - 1 else bits


def most(ty: Ty) -> int:
    return (1 << ty.width - (ty.kind == "int")) - 1


def zero(ty: Ty) -> str:
    return literal(ty, 0)


@dataclass
class Program:
    """A generated program. `tables`: what the control plane gives it (lang/tables.py); `lossless`: it puts back every
    header it takes, unchanged."""

    text: str
    tables: dict[str, Any] = field(default_factory=dict)
    lossless: bool = False


def is_constant(text: str) -> bool:
    """Whether an expression names nothing that only a run knows."""
    return all(CONSTANT.fullmatch(name) for name in NAME.findall(text))
