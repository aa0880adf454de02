"""What a program takes from the library: headers and codecs of IEEE 802.15.4 and 6LoWPAN, which are lowered with guesses. What they have is read
from the library itself."""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.instances import walk
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.lang.types import Array, Bits, Bool, EnumType, HeaderType, StructType, Varbit

from .base import BOOL, ChoiceInfo, EnumInfo, FieldInfo, FunctionInfo, HeaderInfo, RegisterInfo, StructInfo, Ty

IMPORTS = ("std.ieee802154", "std.ipv6", "std.udp", "std.sixlowpan")
#: As they follow one another in a packet.
HEADERS = ("Mhr", "Mesh", "Ipv6", "Ipv6Ext", "Udp")


@cache
def program() -> ast.Program:
    return check(load(Source("library.lpn", "".join(f"import {name};" for name in IMPORTS))))


@dataclass
class Library:
    """Of one program: each thing once, by name. `headers`: in order, each behind those that it looks at; `functions`: what makes something of
    numbers and of these headers."""

    headers: list[HeaderInfo] = field(default_factory=list)
    functions: list[FunctionInfo] = field(default_factory=list)
    enums: list[EnumInfo] = field(default_factory=list)
    structs: list[StructInfo] = field(default_factory=list)
    registers: list[RegisterInfo] = field(default_factory=list)

    def __post_init__(self) -> None:
        decls = program().decls
        self.enums += [EnumInfo(scalar(EnumType(d)), tuple((m.name, m.number) for m in d.members)) for d in decls if isinstance(d, ast.Enum)]
        self.structs += [StructInfo(d.name, tuple((f.name, scalar(f.type)) for f in d.fields)) for d in decls if isinstance(d, ast.Struct)]
        self.registers += [self.register(d) for d in decls if isinstance(d, ast.Register)]
        found = {d.name: d for d in decls if isinstance(d, ast.Header)}
        for name in HEADERS:
            self.headers.append(self.header(found[name]))
        for d in decls:
            if isinstance(d, ast.Codec) and d.header is not None and d.header.name in HEADERS:
                header = next(h for h in self.headers if h.name == d.header.name)
                header.codec, header.codec_params = d.name, self.params(d.params)
            elif isinstance(d, ast.Function) and (result := self.what(d.return_type.type)) is not None:
                params = self.params(d.params)
                if all(what is not None and not direction for direction, what in params):
                    self.functions.append(FunctionInfo(d.name, result, tuple(params), plain=True))

    def what(self, type_: object) -> Any:
        """A number's type, a struct or a header as the generator knows it; None where it does not."""
        if isinstance(type_, (StructType, HeaderType)):
            return next((one for one in (*self.structs, *self.headers) if one.name == type_.decl.name), None)
        return scalar(type_) if isinstance(type_, (Bits, Bool, EnumType)) else None

    def params(self, params: list[ast.Param]) -> list[tuple[str, Any]]:
        return [(p.direction, self.what(p.type)) for p in params]

    def register(self, d: ast.Register) -> RegisterInfo:
        size, cell = (d.type.size, d.type.cell) if isinstance(d.type, Array) else (0, d.type)
        return RegisterInfo(d.name, self.what(cell), size)

    def header(self, d: ast.Header) -> HeaderInfo:
        info = HeaderInfo(d.name, params=[(self.what(p.type), p.name) for p in d.params])
        for f in d.fields():
            if isinstance(f.type, Varbit):
                info.varbits[f.name] = f.type.max_width
            elif f.name != "_":
                info.fields.append(FieldInfo(f.name, scalar(f.type), f.equation is not None, f.deferred, f.when is not None))
            of_payload = [n for n in walk(f.equation) if isinstance(n, ast.Name) and n.decl == "payload"]
            info.payload |= bool(of_payload)
            info.sums |= any(isinstance(n, ast.Call) and n.target == "inet_sum" and any(x in of_payload for x in n.args) for n in walk(f.equation))
        for item in d.items:
            if isinstance(item, ast.ChoiceField):
                tag = item.tag.decl
                enum = next(e for e in self.enums if e.ty == scalar(tag.type))
                info.choices.append(ChoiceInfo(item.name, tag.name, enum, tuple((arm.name, scalar(arm.type)) for arm in item.arms)))
        return info


def scalar(type_: object) -> Ty:
    if isinstance(type_, Bits):
        return Ty("int" if type_.signed else "bit", type_.width)
    if isinstance(type_, EnumType):
        return Ty("enum", type_.decl.base.type.width, type_.decl.name)
    assert isinstance(type_, Bool)
    return BOOL
