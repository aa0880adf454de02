"""Methods of packets and of the payload: extract, emit, advance, lookahead; truncate."""
from __future__ import annotations

from .. import ast, builtins
from ..instances import is_headers
from ..types import Bits, EnumType, HeaderType, Integer, Stack, StructType, Type, Void
from .base import Base, article, described, kind_of
from .scope import suggest


#: Methods of a packet by what they are called elsewhere, and what is asked in another way.
OF_PACKETS = {**dict.fromkeys(("empty", "isEmpty", "is_empty", "length", "len", "size", "left", "remaining"), "octets that are left are counted by sizeof(payload)"),
              **dict.fromkeys(("skip", "seek", "discard", "drop"), "write pkt.advance(bits)"),
              **dict.fromkeys(("peek", "look"), "write pkt.lookahead<bit<8>>()"),
              **dict.fromkeys(("read", "get", "take", "pull", "pop", "parse"), "write pkt.extract(h.x)")}


class PacketMethods(Base):
    def packet_method(self, e: ast.Call, callee: ast.Member) -> Type | None:
        name = callee.name
        methods = ("extract", "emit", "advance", "lookahead")
        if name not in methods:
            self.error(f"packet has no method '{name}'", callee, OF_PACKETS.get(name) or suggest(name, methods) or f"it has {', '.join(methods)}")
            return None
        e.target = name
        home = ast.Deparser if name == "emit" else ast.Parser
        if not isinstance(self.module, home) or self.function is not None:
            self.error(f"{name} is for {'deparsers' if name == 'emit' else 'parsers'}", e)
            return None
        if e.via is not None and name not in ("extract", "emit"):
            self.error("'via' belongs to extract and emit", e.via)
            return None
        if e.type_args and name != "lookahead":
            self.error(f"{name} takes no type", e.type_args[0])
            return None
        if name == "lookahead":
            return self.lookahead(e)
        if len(e.args) != 1:
            sized = "the header; how long a varbit is stands behind it in the header: sized (bits)" if name == "extract" and len(e.args) == 2 else ""
            self.error(f"{name} takes one argument", e, {"advance": "the number of bits"}.get(name) or self.codec_argument(e, name) or sized or "the header")
            return None
        if name == "advance":
            return self.advance(e)
        return self.extract(e, name)

    def codec_argument(self, e: ast.Call, name: str) -> str:
        """How a codec is named, where it is given like an argument."""
        given = e.args[1] if len(e.args) == 2 else None
        codec = given.callee if isinstance(given, ast.Call) else given
        if given is None or not isinstance(codec, ast.Name) or not isinstance(self.scope.find(codec.name), ast.Codec):
            return ""
        return f"a codec stands behind 'via': pkt.{name}({e.args[0].span.text} via {given.span.text})"

    def lookahead(self, e: ast.Call) -> Type | None:
        if e.args or len(e.type_args) != 1:
            self.error("lookahead takes a type and no arguments", e, "as in pkt.lookahead<bit<8>>()")
            return None
        type_ = self.type_of(e.type_args[0], little=True)
        if type_ is None:
            return None
        if not isinstance(type_, (Bits, EnumType)):
            self.error(f"lookahead is of bit<N>, int<N>, le<N> and enums, and this is {type_}", e.type_args[0],
                       "use bit<8>, bit<16>, ... and slices")
            return None
        return type_

    def advance(self, e: ast.Call) -> Type | None:
        bits = e.args[0]
        type_ = self.expr(bits)
        if type_ is None:
            return None
        if not (isinstance(type_, Integer) or isinstance(type_, Bits) and not type_.signed):
            self.error(f"advance takes bit<N>, a number of bits, and this is {described(type_)}", bits)
            return None
        if bits.const is not None and (bits.const < 0 or bits.const % 8):
            self.error(f"the packet is read in whole bytes, and {bits.const} bits are not", bits, "use a multiple of 8")
            return None
        self.settle(bits)
        return Void()

    def extract(self, e: ast.Call, name: str) -> Type | None:
        header = e.args[0]
        if name == "emit" and isinstance(header, ast.Name) and header.name == builtins.PAYLOAD and self.scope.find(header.name) is None:
            self.error("the payload follows what a deparser emits, and is not emitted", header, "leave this out; nothing can be put behind the payload")
            return None
        type_ = self.expr(header)
        if type_ is None:
            return None
        if isinstance(type_, Stack) and name == "extract":
            self.error("a stack is extracted one header at a time", header, "extract its .next")
            return None
        if isinstance(type_, Stack) and e.via is None:
            return Void()
        if isinstance(type_, Stack):
            type_ = type_.header
        if not isinstance(type_, HeaderType):
            inside = [field.name for field in type_.decl.fields] if isinstance(type_, StructType) and is_headers(type_) else []
            one = f"pkt.{name}({header.span.text}.{{}})"
            hint = (f"extract one of its headers: {one.format(inside[0])}" if name == "extract" else
                    f"emit its headers one by one: {'; '.join(one.format(each) for each in inside[:2])}; ...") if inside else ""
            hint = hint or ("what is emitted is a header's: declare one with this field" if name == "emit" and isinstance(type_, (Bits, Integer)) else "")
            self.error(f"{name} is for headers, and this is {'the struct of all of them' if inside else described(type_)}", header, hint)
            return None
        if name == "extract" and self.kept(header):
            return None
        if e.via is not None and not self.via(e.via, type_):
            return None
        return Void()

    def via(self, via: ast.Via, header: HeaderType) -> bool:
        codec = self.find(via.name, via, "codec", lambda decl: isinstance(decl, ast.Codec))
        if codec is None:
            return False
        if not isinstance(codec, ast.Codec):
            self.error(f"'{via.name}' is {article(kind_of(codec))}, not a codec", via)
            return False
        self.ensure(codec)
        via.codec = codec
        if codec.header is None:
            return False
        if codec.header is not header.decl:
            self.error(f"codec {codec.name} is for {codec.header.name}, and this is {header}", via)
            return False
        return self.arguments(via, codec.params, via.args, f"codec {codec.name}")

    def payload_method(self, e: ast.Call, callee: ast.Member) -> Type | None:
        callee.decl = callee.name
        if callee.name != "truncate":
            self.error(f"payload has no method '{callee.name}'", callee,
                       suggest(callee.name, ("truncate",)) or "there are sizeof(payload), payload[i] and payload.truncate(n)")
            return None
        e.target = "truncate"
        if not isinstance(self.module, ast.Processor):
            self.error("truncate is for processors", e)
            return None
        if len(e.args) != 1:
            self.error("truncate takes the number of bytes to keep", e)
            return None
        return Void() if self.value(e.args[0], Bits(16), "the number of bytes") else None
