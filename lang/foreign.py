"""What people write who know other languages, and what LPN has in its place: told where reading stops, in one message."""
from __future__ import annotations

from dataclasses import dataclass

from antlr4 import Token

OPENERS = {"{": "}", "(": ")", "[": "]"}
OPERATORS = {"and": "&&", "or": "||"}
LONG_TIMES = ("sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes", "h", "hour", "hours", "msec", "usec", "ns")
# What begins a declaration elsewhere.
DECLARATIONS = {
    **dict.fromkeys(("bit", "int", "bool", "void", "fn", "func", "fun", "def"), "a function is written like this: function bit<8> f(bit<8> x) { ... }"),
    **dict.fromkeys(("class", "record", "message", "union", "header_union"), "there are header, for what lies in the packet, and struct"),
    **dict.fromkeys(("from", "use", "using", "include", "require"), "it is written like this: import std.ipv6;"),
    **dict.fromkeys(("static", "let", "var"), "there are const, for what stays the same, and register"),
    **dict.fromkeys(("V1Switch", "package", "main"), "it is written like this: protocol Hop version 1 { on radio.rx_done : Rx -> Forward -> Tx; }"),
}
LOOP = "a loop has a constant number of turns: for (i in 0..4) { ... }"


@dataclass
class Foreign:
    """`at`: the token that is not LPN. What stands from token `start` to before `end` is left out, or `words` are read in its place."""

    at: int
    what: str
    help: str
    start: int
    end: int
    words: tuple[str, ...] = ()


def foreign_word(tokens: list[Token], index: int, in_state: bool) -> Foreign | None:
    """What is known of the word that reading stopped at, or behind, whatever it is part of. in_state: of a parser."""
    if index == 0:
        return None
    token, before = tokens[index], tokens[index - 1]
    name, first = token.text, statement_start(tokens, index)
    if is_number(before) and name.isalnum():
        whole = written(tokens, index - 1, index + 1)
        if before.stop + 1 == token.start:
            return Foreign(index - 1, f"'{whole}' is not a number", "as in 17, 0x11, 0b1_0001, or 8w17 with its width", index, index + 1)
        if name in LONG_TIMES:
            return Foreign(index, f"there is no unit '{name}'", "there are us, ms and s: 1500 us, 60 s", index, index + 1)
    if before.text == "." and is_number(token) and index > 1 and is_number(tokens[index - 2]):
        timed = index + 1 < len(tokens) and tokens[index + 1].text in ("us", "ms", "s")
        return Foreign(index - 2, "numbers are whole", "take a smaller unit, as in 1500 us" if timed else "", index - 1, index + 1)
    if name in OPERATORS:
        return Foreign(index, f"there is no '{name}'", f"write {OPERATORS[name]}", index, index + 1, (OPERATORS[name],))
    if before.text == "not" and index - first > 0:
        return Foreign(index - 1, "there is no 'not'", "write !", index - 1, index, ("!",))
    if name == "->" and before.text.isidentifier() and index + 1 < len(tokens) and tokens[first].text not in ("on", "timing"):
        return Foreign(index, "there is no '->'", f"write {before.text}.{tokens[index + 1].text}", index, index + 1, (".",))
    if name == "&" and before.text in ("(", ",", "="):
        return Foreign(index, "there are no pointers", "a parameter that is changed is out or inout", index, index + 1)
    if before.text == "int" and (name.isidentifier() or name == ")"):
        return Foreign(index - 1, "'int' needs a width", f"write int<32>{' ' + name if name != ')' else ''}", index - 1, index, ("int", "<", "32", ">"))
    if tokens[first].text in ("elif", "elsif", "elseif") and tokens[first - 1].text == "}":
        return Foreign(first, f"there is no '{tokens[first].text}'", "write else if", first, first + 1, ("else", "if"))
    then = next((at for at in range(first, index) if tokens[at].text == "then" and tokens[at - 1].text == ")"), None)
    if then is not None:
        return Foreign(then, "there is no 'then'", "write if (x == 1) { ... }", then, then + 1)
    if in_state and name == "select" and index == first:
        return Foreign(index, "a select belongs to a transition", "write transition select(...)", index, index, ("transition",))
    return None


def is_number(token: Token) -> bool:
    return token.text[:1].isdigit()


def foreign(tokens: list[Token], index: int) -> Foreign | None:
    """What is known of the statement that reading stopped in, at token `index`."""
    start = statement_start(tokens, index)
    first = tokens[start].text
    before, token = tokens[index - 1].text if index else "", tokens[index].text

    def told(at: int, what: str, help: str) -> Foreign:
        return Foreign(at, what, help, start, statement_end(tokens, start))

    if first in ("while", "do") and tokens[start + 1].text in ("(", "{"):
        one = told(start, f"there is no '{first}'", LOOP)
        if first == "do" and tokens[one.end].text == "while":
            one.end = statement_end(tokens, one.end)
        return one
    if first == "for" and index - start <= 5 and tokens[start + 1].text == "(" and tokens[start + 3].text != "in":
        return told(start, "a loop is not written like this", LOOP)
    if first == "for" and before == ".." and token in (";", ")"):
        return told(index, "this loop has no end", LOOP)
    if first == "case" and index == start + 1:
        return Foreign(start, "a case has no word in front of it", "write 1: { ... }", start, start + 1)
    inside = [each.text for each in tokens[start:index]]
    if token == "=" and ":" in inside and "?" not in inside:
        return told(start + inside.index(":"), "what a case does stands in braces", f"write {written(tokens, start, start + inside.index(':'))}: {{ ... }}")
    if token == "[" and index - start > 1 and before.isidentifier() and (tokens[index - 2].text == ">" or tokens[index - 2].text.isidentifier()):
        return told(index, "a variable has no elements", f"a register has, register<bit<8>>[4] {before}; and so has a stack of headers")
    operator = tokens[index - 1] if index else tokens[0]
    begin = place_start(tokens, index - 1)
    target = written(tokens, begin, index - 1)
    joined = (token == "=" and before in ("+", "-", "*", "/", "%", "&", "|", "^", "<<") or token == ">=" and before == ">") \
        and operator.stop + 1 == tokens[index].start
    if target and (joined or token == ";" and (before == "++" or before == "-" and tokens[index - 2].text == "-")):
        if joined:
            end = statement_end(tokens, index) - 1
            value = written(tokens, index + 1, end)
            value = value if end == index + 2 else f"({value})"
            sign = before + token[:-1]
            return told(index - 1, f"there is no '{sign}='", f"write {target} = {target} {sign} {value}")
        sign = "+" if before == "++" else "-"
        return told(index - 1, f"there is no '{sign}{sign}' of a variable", f"write {target} = {target} {sign} 1")
    return None


def foreign_variable(tokens: list[Token], index: int) -> str:
    """What a variable outside of all modules is in LPN, which begins at token `index`; "" if that is none."""
    first = tokens[index].text
    if first not in ("bit", "int", "bool") and not first[:1].isupper():        # a type; else a misspelt word
        return ""
    end = next((at for at in range(index, len(tokens)) if tokens[at].text in ("(", "{", "}", ";", "=")), index)
    if end - index < 2 or tokens[end].text not in (";", "=") or not tokens[end - 1].text.isidentifier():
        return ""
    name, (type_, *size) = tokens[end - 1].text, written(tokens, index, end - 1).split("[", 1)
    register = f"register<{type_}>{''.join('[' + one for one in size)} {name};"
    return f"a value that stays is a register: {register}" if tokens[end].text == ";" else \
        f"a value that never changes is a constant: const {type_} {name} = ...; one that stays is a register: {register}"


def foreign_choice(tokens: list[Token], index: int) -> Foreign | None:
    """What is known of the choice that reading stopped in, at token `index`: its name or its arms stand as in a struct or union of C."""
    start = statement_start(tokens, index)
    words = [each.text for each in tokens[start:start + 6]]
    if words[:2] == ["choice", "("] and words[3:4] == [")"] and words[5:] == ["{"] and words[4].isidentifier():
        arms = statement_end(tokens, start)
        return Foreign(start + 4, "the name of a choice stands behind its arms", f"write {written(tokens, start, start + 4)} {{ ... }} {words[4]};",
                       start, arms + (tokens[arms].text == ";"))
    begin = next((at + 1 for at in range(start - 1, -1, -1) if tokens[at].text in ("{", "}")), start)
    name = next((at for at in range(start, len(tokens)) if tokens[at].text in (";", "{", "}")), index) - 1
    if begin < 6 or tokens[begin - 5].text != "choice" or tokens[begin - 1].text != "{" or name <= start or not tokens[name].text.isidentifier():
        return None
    close = next((at for at in range(begin, len(tokens)) if tokens[at].text in ("{", "}")), begin)
    return Foreign(start, "an arm's name stands before its type", f"write {tokens[name].text}: {written(tokens, start, name)};", begin, close)


def foreign_field(tokens: list[Token], index: int) -> Foreign | None:
    """What is known of the field of a struct or header that reading stopped in, at token `index`: its elements or its length, as in C; a tag that is no field."""
    start = statement_start(tokens, index)
    if tokens[start].text == "choice" and tokens[start + 1].text == "(" and tokens[index].text == "{" and not tokens[index - 2].text == "(":
        arms = statement_end(tokens, index)
        return Foreign(start + 2, "the tag of a choice is a field of the header", f"ask for each field: bit<8> x when ({written(tokens, start + 2, index - 1)} == 1);",
                       start, statement_end(tokens, arms))
    token, name = tokens[index].text, tokens[index - 1].text if index else ""
    if token not in ("[", "(") or index - start < 2 or not name.isidentifier() or not (tokens[index - 2].text == ">" or tokens[index - 2].text.isidentifier()):
        return None
    end, type_ = statement_end(tokens, start), written(tokens, start, index - 1)
    if type_.startswith("varbit"):
        return Foreign(index, "the length of a varbit stands behind 'sized', in bits", f"write {type_} {name} sized (8 * (bit<16>) n);", start, end)
    if token == "(":
        return None
    close = next((at for at in range(index, end) if tokens[at].text == "]"), end)
    if type_.isidentifier():
        return Foreign(index, "how many elements there are stands behind the type", f"write {type_}[{written(tokens, index + 1, close)}] {name};", start, end)
    return Foreign(index, "a field has no elements", f"headers make stacks, H[4] {name}; octets of any number are a varbit: varbit<32> {name} sized (8 * (bit<16>) n);",
                   start, end)


def result_behind(tokens: list[Token], index: int) -> tuple[int, int, int] | None:
    """Of the function whose head reading stopped in, at token `index`, where its name stands, the parenthesis that closes its parameters, and its body: the type of its
    result stands between these, behind `->` or `:`, or there is none."""
    name = statement_start(tokens, index) + 1
    if index <= name or tokens[name - 1].text != "function" or not tokens[name].text.isidentifier() or tokens[name + 1].text != "(":
        return None
    close = next((at for at in range(name, len(tokens)) if tokens[at].text in (")", "{", "}", ";")), index)
    body = next((at for at in range(close, len(tokens)) if tokens[at].text in ("{", "}", ";")), close)
    if tokens[close].text != ")" or tokens[body].text != "{" or body != close + 1 and (tokens[close + 1].text not in ("->", ":") or body == close + 2):
        return None
    return name, close, body


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


def written(tokens: list[Token], start: int, end: int) -> str:
    """As it stands in the source."""
    while end > start and tokens[end - 1].text == "-":
        end -= 1
    return tokens[start].getInputStream().getText(tokens[start].start, tokens[end - 1].stop) if end > start else ""


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
