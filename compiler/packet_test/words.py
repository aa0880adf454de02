"""Text to tokens. `hex { ... }` is one token: inside, digits are octets."""
from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from lpn.lang.diagnostics import Diagnostics
from lpn.lang.source import Source, Span

from .model import Octets

MAX_DIGITS = 200
MAX_OCTETS = 4096
TOKEN = re.compile(r"""
      (?P<space>[ \t\r\n\f]+) | (?P<comment>//[^\n]*|/\*.*?\*/) | (?P<endless>/\*)
    | (?P<address>(?:ip6|eui64)"[^"\n]*") | (?P<text>"(?:[^"\\\n]|\\.)*") | (?P<open>(?:ip6|eui64)?"[^\n]*)
    | (?P<number>(?:[0-9]+[ws])?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<mark>&&&|==|!=|<=|>=|\.\.\.|\.\.|[{}()\[\]=;:,.<>/%-])
    | (?P<other>.)""", re.X | re.S)
OCTET = re.compile(r"""
      (?P<space>[ \t\r\n\f]+) | (?P<comment>//[^\n]*|/\*.*?\*/) | (?P<text>"(?:[^"\\\n]|\\.)*")
    | (?P<octets>(?:[0-9a-fA-F*]{2})+)(?P<more>/[0-9a-fA-F]{2}|\{[^{}\n]*\})? | (?P<rest>\.\.\.) | (?P<close>\})
    | (?P<group>\() | \)\{(?P<times>[^{}\n]*)\} | (?P<other>[^\s{}()]+|.)""", re.X | re.S)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", '"': '"', "\\": "\\"}


@dataclass(frozen=True)
class Token:
    """kind: name, number, text, address, octets, mark, end. `value`: int of a number or address, bytes of a text, Octets.
    `depth`: how many braces are open around it."""

    kind: str
    text: str
    span: Span
    value: object = None
    depth: int = 0


class Words:
    """Reads a source; what is no token is reported and left out."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source, self.diagnostics = source, diagnostics
        self.text = source.text
        self.starts = [0]
        for line in source.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.line = 1

    def span(self, start: int, end: int) -> Span:
        """Positions come in order, nearly: the line of the last one is where to look from."""
        line, column = self.place(start)
        end_line, end_column = self.place(max(end, start + 1))
        return Span(self.source, line, column, end_line, end_column)

    def place(self, at: int) -> tuple[int, int]:
        line = self.line
        while line > 1 and self.starts[line - 1] > at:
            line -= 1
        while line < len(self.source.lines) and self.starts[line] <= at:
            line += 1
        self.line = line
        return line, at - self.starts[line - 1] + 1

    def tokens(self) -> list[Token]:
        """The tokens, one of kind "end" last."""
        out: list[Token] = []
        at, depth = 0, 0
        while at < len(self.text):
            if self.text[at] == "{" and out and out[-1].text == "hex" and out[-1].kind == "name":
                before = out.pop()
                octets, at = self.octets(at)
                span = before.span.to(octets.span)
                out.append(Token("octets", "hex", span, Octets(span, octets.pairs, octets.open), depth))
                continue
            if self.text[at] == "{" and out and out[-1].text == "events" and out[-1].kind == "name":
                text, at = self.block(at)
                out.append(Token("block", "{ ... }", out[-1].span, text, depth))
                continue
            match = TOKEN.match(self.text, at)
            assert match is not None and match.lastgroup is not None
            kind, word, start, at = match.lastgroup, match.group(), at, match.end()
            if kind in ("space", "comment"):
                continue
            span = self.span(start, at)
            if kind == "endless":
                self.diagnostics.error("this comment is never closed", span, "end it with '*/'")
                break
            if kind == "other":
                self.diagnostics.error(f"unexpected character {shown(word)}", span, "remove it")
                continue
            if kind == "open":
                self.diagnostics.error("this text is never closed", span, "end it with '\"' on the same line")
                kind, word = "text", '""'
            if word == "}":
                depth -= 1
            out.append(Token(kind, word, span, self.value(kind, word, span), depth))
            if word == "{":
                depth += 1
        end = len(self.text.rstrip())
        out.append(Token("end", "", self.span(max(end - 1, 0), end), None, 0))
        return out

    def value(self, kind: str, word: str, span: Span) -> object:
        if kind == "number":
            return self.number(word, span)
        if kind == "address":
            return self.address(word, span)
        return self.plain(word, span) if kind == "text" else None

    def number(self, word: str, span: Span) -> int:
        text = re.sub(r"^[0-9]+[ws]", "", word).replace("_", "")
        base = {"0x": 16, "0b": 2, "0o": 8}.get(text[:2].lower(), 10)
        if len(text) <= MAX_DIGITS:
            try:
                return int(text[2:] if base != 10 else text, base)
            except ValueError:
                pass
        self.diagnostics.error("this is not a number", span)
        return 0

    def address(self, word: str, span: Span) -> int:
        kind, text = word[:-1].split('"', 1)
        if kind == "ip6":
            try:
                if "%" not in text:
                    return int(ipaddress.IPv6Address(text))
            except ValueError:
                pass
            self.diagnostics.error(f"{shown(text)} is not an IPv6 address", span, 'write it as in ip6"fe80::1"')
            return 0
        digits = re.sub("[-:.]", "", text)
        if re.fullmatch("[0-9a-fA-F]{16}", digits):
            return int(digits, 16)
        self.diagnostics.error(f"{shown(text)} is not an EUI-64 address", span,
                               'write eight octets, as in eui64"00-12-4b-00-01-02-03-04"')
        return 0

    def plain(self, word: str, span: Span) -> bytes:
        """A text's octets, in UTF-8; `\\n`, `\\t`, `\\0`, `\\x41`, ... stand for one octet."""
        out = bytearray()
        body = word[1:-1]
        at = 0
        while at < len(body):
            c = body[at]
            if c != "\\":
                out += c.encode("utf-8", "replace")
                at += 1
                continue
            following = body[at + 1:at + 2]
            if following == "x" and re.fullmatch("[0-9a-fA-F]{2}", body[at + 2:at + 4]):
                out.append(int(body[at + 2:at + 4], 16))
                at += 4
                continue
            if following not in ESCAPES:
                self.diagnostics.error(f"there is no escape \\{shown(following)[1:-1]}", span,
                                       r'there are \n \r \t \0 \" \\ and \x41')
            out += ESCAPES.get(following, "").encode()
            at += 2
        return bytes(out)

    # ------------------------------------------------------------ events { ... }

    def block(self, start: int) -> tuple[Source, int]:
        """The text between the brace at `start` and the one that closes it, as a source with its places; what it says is
        another reader's business."""
        depth, at, line = 0, start, self.place(start)
        for match in re.finditer(r'//[^\n]*|"[^"\n]*"|[{}]', self.text[start:]):
            depth += {"{": 1, "}": -1}.get(match.group(), 0)
            if depth == 0:
                at = start + match.start()
                break
        else:
            self.diagnostics.error("this block is never closed", self.span(start, start + 1), "end it with '}'")
            at = len(self.text)
        return Source(self.source.name, "\n" * (line[0] - 1) + " " * line[1] + self.text[start + 1:at], self.source.path), at + 1

    # ------------------------------------------------------------ hex { ... }

    def octets(self, start: int) -> tuple[Octets, int]:
        """The block whose `{` is at `start`, and where the text goes on."""
        pairs: list[tuple[int, int]] = []
        groups: list[tuple[int, int]] = []      # where one begins: in the text, in `pairs`
        at, open_ = start + 1, False
        while at < len(self.text):
            match = OCTET.match(self.text, at)
            assert match is not None
            begin, at = at, match.end()
            if match["space"] or match["comment"]:
                continue
            if match["close"]:
                break
            span = self.span(begin, at)
            if open_:
                self.diagnostics.error("nothing can follow `...`", span)
                open_ = False
            if match["rest"]:
                open_ = True
            elif match["text"]:
                pairs += [(byte, 0xFF) for byte in self.plain(match["text"], span)]
            elif match["octets"]:
                pairs += self.pairs(match["octets"], match["more"] or "", span)
            elif match["group"]:
                groups.append((begin, len(pairs)))
            elif match["times"] is not None and groups:
                _, first = groups.pop()
                pairs[first:] = repeated(pairs[first:], self.times(match["times"], span))
            else:
                self.diagnostics.error(f"{shown(match.group())} is not an octet", span,
                                       "octets are two hex digits each, `*` for a digit that may be any; 40/f0 has a mask, 00{8} and (00 01){8} are repeated")
        else:
            self.diagnostics.error("this hex block is never closed", self.span(start, start + 1), "end it with '}'")
        for begin, _ in groups:
            self.diagnostics.error("this group is never closed", self.span(begin, begin + 1), "end it with ')' and how often: (00 01){8}")
        if len(pairs) > MAX_OCTETS:
            self.diagnostics.error(f"more than {MAX_OCTETS:,} octets", self.span(start, start + 1))
            del pairs[MAX_OCTETS:]
        return Octets(self.span(start, at), pairs, open_), at

    def pairs(self, digits: str, more: str, span: Span) -> list[tuple[int, int]]:
        out = []
        for at in range(0, len(digits), 2):
            both = digits[at:at + 2]
            out.append((int(both.replace("*", "0"), 16), (both[0] != "*") * 0xF0 | (both[1] != "*") * 0x0F))
        if more.startswith("/"):
            value, mask = out[-1][0], int(more[1:], 16)
            if value & ~mask:
                self.diagnostics.error(f"{value:02x} has bits outside of its mask {mask:02x}", span, f"write {value & mask:02x}/{mask:02x}")
            out[-1] = (value & mask, mask)
        elif more and len(out) > 1:
            self.diagnostics.error("one octet is repeated, or a group", span, f"write ({digits}){more}, or {digits[:-2]} {digits[-2:]}{more}")
        elif more:
            out = repeated(out, self.times(more[1:-1], span))
        return out

    def times(self, text: str, span: Span) -> int:
        digits = text.strip()
        if not re.fullmatch("[0-9]+", digits):
            self.diagnostics.error(f"how often is a number, not {shown(digits)}" if digits else "how often?", span, "as in 00{8} and (00 01){8}")
            return 1
        return int(digits[:MAX_DIGITS])


def repeated(pairs: list[tuple[int, int]], times: int) -> list[tuple[int, int]]:
    """So often, or as often as there is room for, and once more."""
    return pairs * min(times, MAX_OCTETS // max(len(pairs), 1) + 1)


def shown(text: str) -> str:
    """In quotes, cut, without control characters."""
    text = text if len(text) <= 30 else text[:27] + "..."
    return "'" + "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text) + "'"
