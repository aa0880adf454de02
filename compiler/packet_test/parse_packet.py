"""Tokens to packets, whole or by their fields, and to values."""
from __future__ import annotations

from lpn.lang.times import WRITTEN

from . import model
from .cursor import Cursor


class PacketParser(Cursor):
    def packet(self, sending: bool) -> model.Packet:
        token = self.here
        if token.kind in ("octets", "text"):
            return model.Packet(token.span, "octets", [self.octets()])
        if not sending and self.take("unchanged"):
            return model.Packet(token.span, "unchanged")
        if self.sees("frame") and self.tokens[self.at + 1].kind == "number":
            self.next()
            number = self.number("its number").value
            if not self.take("of"):
                raise self.fail("'of' and the capture")
            path, _ = self.text("the capture's file")
            assert isinstance(number, int)
            return model.Packet(self.since(token.span), "frame", frame=number, path=path)
        if self.take("via"):
            via = self.name("a deparser" if sending else "a parser").text
            pieces = self.pieces(sending)
            return model.Packet(self.since(token.span), "fields", pieces, via)
        if self.sees("{"):
            pieces = self.pieces(sending)
            return model.Packet(self.since(token.span), "fields", pieces)
        if self.take("hex"):
            raise self.fail("'{' and octets", "octets stand in braces: hex { 41 88 05 }")
        if token.kind == "name":
            self.next()
            pieces = self.pieces(sending) if self.take("with") else []
            return model.Packet(self.since(token.span), "named", pieces, name=token.text)
        raise self.fail("a packet", 'hex { 41 88 ... }, { mac { ... } payload "hello" }, via Tx { ... }, frame 7 of "x.pcap", or one by its name')

    def octets(self) -> model.Octets:
        token = self.next()
        if isinstance(token.value, model.Octets):
            return token.value
        assert isinstance(token.value, bytes)
        return model.Octets(token.span, [(byte, 0xFF) for byte in token.value])

    def pieces(self, sending: bool) -> list[model.Piece]:
        out: list[model.Piece] = []
        self.mark("{", "and the packet's headers")
        while not self.take("}"):
            token = self.here
            if token.kind in ("octets", "text"):
                out.append(self.octets())
            elif self.take("payload"):
                if self.here.kind not in ("octets", "text"):
                    raise self.fail("the payload's octets", 'payload "hello", or payload hex { 68 65 }')
                out.append(self.octets())
            elif token.kind == "name":
                absent = not sending and self.sees("no") and self.tokens[self.at + 1].kind == "name"
                if absent:
                    self.next()
                out.append(self.header(absent))
            else:
                raise self.fail("a header, hex { ... } or payload")
            if self.sees(",", ";"):
                self.next()
        return out

    def header(self, absent: bool) -> model.HeaderItem:
        begin = self.name("a header")
        cell = self.index()
        span = self.since(begin.span)
        return model.HeaderItem(span, begin.text, cell, [] if absent else self.fields(), absent)

    def index(self) -> model.Value | None:
        """`[2]` or `[LAST]`, if it is there."""
        if not self.take("["):
            return None
        if self.here.kind not in ("number", "name"):
            raise self.fail("an index", "a number, or a constant's name")
        value = self.value()
        self.mark("]", "behind the index")
        return value

    def fields(self) -> list[model.FieldItem]:
        out = []
        self.mark("{", "and fields")
        while not self.take("}"):
            name, span = self.qualified("a field")
            self.mark("=", "and a value")
            out.append(model.FieldItem(span, name, self.pattern()))
            if not self.take(",") and not self.take(";") and not self.sees("}"):
                raise self.fail("',' or '}'")
        return out

    # ------------------------------------------------------------ values

    def pattern(self, key: bool = False) -> model.Pattern:
        begin = self.here.span
        if self.take("_"):
            return model.Pattern(begin)
        value, mask, high, prefix = self.value(), None, None, None
        if self.take("&&&"):
            mask = self.value()
        elif self.take(".."):
            high = self.value()
        elif key and self.take("/"):
            prefix = self.value()
        return model.Pattern(self.since(begin), value, mask, high, prefix)

    def value(self) -> model.Value:
        token = self.here
        minus = self.take("-")
        if self.here.kind == "number":
            number = self.next().value
            assert isinstance(number, int)
            number = -number if minus else number
            if self.here.kind == "name" and self.here.text in WRITTEN:
                return model.Value(token.span.to(self.here.span), "time", number * WRITTEN[self.next().text])
            return model.Value(self.since(token.span), "number", number)
        if minus:
            raise self.fail("a number")
        if token.kind == "address":
            self.next()
            return model.Value(token.span, "address", token.value, 128 if token.text.startswith("ip6") else 64)
        if token.kind in ("octets", "text"):
            return model.Value(token.span, "octets", self.octets())
        if self.take("true", "false"):
            return model.Value(token.span, "bool", token.text == "true")
        if token.kind == "name":
            name, span = self.qualified("a value")
            return model.Value(span, "name", name)
        raise self.fail("a value", 'a number, a constant\'s name, ip6"fe80::1", true, hex { ... }')
