"""Where a statement, a place or a type begins and ends among tokens that may be wrong, and how it is written."""
from __future__ import annotations

from antlr4 import Token

OPENERS = {"{": "}", "(": ")", "[": "]"}


def written(tokens: list[Token], start: int, end: int) -> str:
    """As it stands in the source."""
    while end > start and tokens[end - 1].text == "-":
        end -= 1
    return tokens[start].getInputStream().getText(tokens[start].start, tokens[end - 1].stop) if end > start else ""


def place_start(tokens: list[Token], end: int) -> int:
    """Where the variable, field or element begins that ends before token `end`, or before a `-` there."""
    at = end - (tokens[end - 1].text == "-")
    depth = 0
    while at > 0:
        text = tokens[at - 1].text
        if depth == 0 and text not in (".", "]") and not (text.isidentifier() and (at == end or tokens[at].text in (".", "[", "-"))):
            break
        depth += (text == "]") - (text == "[")
        at -= 1
    return at


def type_end(tokens: list[Token], start: int) -> int:
    """Behind the type that begins there."""
    sized = tokens[start + 1].text == "<" if start + 1 < len(tokens) else False
    return next((at + 1 for at in range(start, len(tokens)) if tokens[at].text == ">"), start + 1) if sized else start + 1


def label_end(tokens: list[Token], start: int) -> int | None:
    """The colon behind what begins there, outside of brackets, where that is no more than the rest of a statement."""
    depth = 0
    for at in range(start, len(tokens)):
        text = tokens[at].text
        if text == ":" and not depth:
            return at
        if text in (";", "{", "}", "?"):
            return None
        depth += (text in ("(", "[")) - (text in (")", "]"))
    return None


def block_end(tokens: list[Token], start: int) -> int:
    """The brace that closes the block which token `start` is in."""
    depth, end = 0, start
    while tokens[end].type != Token.EOF and (depth or tokens[end].text != "}"):
        depth += (tokens[end].text == "{") - (tokens[end].text == "}")
        end += 1
    return end


def statement_start(tokens: list[Token], index: int) -> int:
    """Where the statement begins that token `index` is in; what stands in its parentheses is of it."""
    depth = 0
    for at in range(index - 1, -1, -1):
        text = tokens[at].text
        if text in (")", "]"):
            depth += 1
        elif text in ("(", "["):
            depth -= 1
        elif text in (";", "{", "}") and depth == 0:
            return at + 1
        if depth < 0:                                       # it is in the parentheses of this one
            depth = 0
    return 0


def statement_end(tokens: list[Token], start: int) -> int:
    """Behind its `;`, or the brace that closes its first one."""
    stack: list[str] = []
    for at in range(start, len(tokens)):
        text = tokens[at].text
        if text in OPENERS:
            stack.append(OPENERS[text])
        elif stack and text == stack[-1]:
            stack.pop()
            if not stack and text == "}":
                return at + 1
        elif not stack and text == ";":
            return at + 1
        elif not stack and text == "}" or tokens[at].type == Token.EOF:
            return at
    return len(tokens) - 1


def one_of(tokens: list[Token], start: int, index: int, end: int) -> str:
    """Whether what stands from `start` on is one of the values in the braces behind `in`, as conditions."""
    x, out, first = written(tokens, start, index), [], index + 2
    for at in range(first, end):
        if tokens[at].text in (",", "}"):
            through = next((i for i in range(first, at) if tokens[i].text == ".."), None)
            low, high = (written(tokens, *part) for part in ((first, through), (through + 1, at))) if through is not None else (written(tokens, first, at), "")
            out += [f"{low} <= {x} && {x} <= {high}" if high else f"{x} == {low}"] if low else []
            first = at + 1
    return " || ".join(out) or f"{x} == 1"
