"""What people write who know other languages, and what LPN has in its place: told where reading stops, in one message."""
from __future__ import annotations

from dataclasses import dataclass

from antlr4 import Token

from .extents import OPENERS, block_end, label_end, one_of, place_start, statement_end, statement_start, type_end, written
from .foreign_declarations import KEPT, OUTSIDE, TAKING, declared_elsewhere
from .foreign_types import address_kind, written_here
from .hooks import BOUND, EVENTS, HANDLED, handler_of
from .times import WRITTEN

OPERATORS = {"and": "&&", "or": "||"}
COMPARED = ("<", "<=", ">", ">=", "==", "!=")
CALCULATED = ("+", "-", "*", "&", "|", "^", "~", "!", "..")
LONG_TIMES = ("Hz", "hz", "kHz", "sec", "secs", "second", "seconds", "m", "mins", "minute", "minutes", "h", "hour", "hours", "msec", "usec", "ns")
DIRECTIONS = ("in", "out", "inout")
TYPE_WORDS = ("bit", "int", "bool", "le", "error")
ORDERS = ("le", "be", "little", "big")
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
            return Foreign(index, f"there is no unit '{name}'", "there are us, ms, s and min: 1500 us, 60 s", index, index + 1)
    if before.text == "." and is_number(token) and index > 1 and is_number(tokens[index - 2]):
        timed = index + 1 < len(tokens) and tokens[index + 1].text in WRITTEN
        hint = "take a smaller unit, as in 1500 us" if timed else ""
        return Foreign(index - 2, "numbers are whole", hint, index - 1, index + 1)
    if name.endswith("%") and "." in name:
        return Foreign(index, "numbers are whole", "only an energy budget has a share of the time, as in radio.on <= 0.5 %", index, index + 1, ("1",))
    if name in OPERATORS:
        return Foreign(index, f"there is no '{name}'", f"write {OPERATORS[name]}", index, index + 1, (OPERATORS[name],))
    if before.text == "not" and index - first > 0:
        return Foreign(index - 1, "there is no 'not'", "write !", index - 1, index, ("!",))
    if name == "->" and (before.text.isidentifier() or before.text == "]") and index + 1 < len(tokens) and tokens[first].text not in ("on", "timing"):
        return Foreign(index, "there is no '->'", f"write {written(tokens, place_start(tokens, index), index)}.{tokens[index + 1].text}", index, index + 1, (".",))
    if name == "&" and before.text in ("(", ",", "="):
        return Foreign(index, "there are no pointers", "a parameter that is changed is out or inout", index, index + 1 + (tokens[index + 1].text == "mut"))
    if before.text == "int" and (name.isidentifier() or name == ")") and not (name in ORDERS and tokens[index + 1].text == "<"):
        return Foreign(index - 1, "'int' needs a width", f"write int<32>{' ' + name if name != ')' else ''}", index - 1, index, ("int", "<", "32", ">"))
    if tokens[first].text in ("elif", "elsif", "elseif") and tokens[first - 1].text == "}":
        return Foreign(first, f"there is no '{tokens[first].text}'", "write else if", first, first + 1, ("else", "if"))
    then = next((at for at in range(first, index) if tokens[at].text == "then" and tokens[at - 1].text == ")"), None)
    if then is not None:
        return Foreign(then, "there is no 'then'", "write if (x == 1) { ... }", then, then + 1)
    after = tokens[index + 1] if index + 1 < len(tokens) else token
    if name == "=" and after.text == ">" and token.stop + 1 == after.start:
        does = tokens[index + 2:index + 4]
        if len(does) == 2 and does[0].text.isidentifier() and does[0].text != "reject" and does[1].text in ("(", ".", "[", "="):
            return Foreign(index, "what a case does stands in braces", f"write {written(tokens, first, index)}: {{ ... }}", first, block_end(tokens, index))
        return Foreign(index, "there is no '=>'", "what a key leads to stands behind ':', as in 1: udp;", index, index + 2, (":",))
    if name == ";" and tokens[first].text == "var" and "first" in (inside := [one.text for one in tokens[first:index]]) and "where" not in inside:
        return Foreign(index, "what 'first' looks for is not said", "add where (...), as in first i in 0..16 where (table[i] == x)",
                       first, statement_end(tokens, index))
    if name == "as" and index > first and (before.text.isidentifier() or before.text in (")", "]")):
        end = type_end(tokens, index + 1)
        return Foreign(index, "there is no 'as'", f"a cast stands in front: ({written(tokens, index + 1, end)}) x", index, end)
    if name == "in" and after.text == "{" and (before.text.isidentifier() or before.text in (")", "]")):
        end = statement_end(tokens, index)
        return Foreign(index, "only the description of a field says 'in'", f"write {one_of(tokens, place_start(tokens, index), index, end)}", index, end, ("==", tokens[index + 2].text))
    if before.text == "return" and name == "if":
        return Foreign(index, "an if is no value", "write return c ? a : b;", index, statement_end(tokens, index) - 1, ("0",))
    valued = tokens[first].text == "return" or tokens[first].text != "var" and any(one.text == "=" for one in tokens[first:index])
    if name == "if" and valued and index > first + 1 and before.text not in (";", "{", "}"):
        return Foreign(index, "an if is no value", "write c ? a : b", index, statement_end(tokens, index) - 1)
    if name == ":" and tokens[first].text == "const" and index == first + 2 or name == "=" and tokens[first].text == "const" and index == first + 2:
        type_ = written(tokens, index + 1, type_end(tokens, index + 1)) if name == ":" else "bit<8>"
        type_ = written_here(type_).removeprefix("write ") or type_
        return Foreign(index - 1, "the type of a constant stands before its name", f"write const {type_} {before.text} = ...;", first, statement_end(tokens, index))
    if tokens[first].text == "const" and name == "[" and before.text.isidentifier():
        end = statement_end(tokens, index)
        return Foreign(index, "a constant is one value", "a function can choose one: switch (i) { 0: { return 4; } default: { return 8; } }; a register has cells",
                       first, end + (tokens[end].text == ";"))
    if tokens[first].text == "match" and (begin := next((at for at in range(first, statement_end(tokens, first)) if tokens[at].text == "{"), 0)) > first + 1:
        value = written(tokens, first + 1, begin).strip("()")
        return Foreign(first, "there is no 'match'", f"write transition select({value}) {{ 1: here; default: there; }}" if in_state else
                       f"write switch ({value}) {{ 1: {{ ... }} default: {{ ... }} }}", first, statement_end(tokens, first))
    if tokens[first].text in ("let", "var") and tokens[first + 1].text == "mut":
        return Foreign(first, f"there is no '{tokens[first].text}'", "a variable begins with its type: bit<8> n = ...;", first, statement_end(tokens, first))
    if tokens[first].text == "static" and index == first + 1:
        return Foreign(first, "there is no 'static'", "what stays is a register: register<bit<8>> x;", first, statement_end(tokens, index))
    if name in ("=", ".") and before.text == ".." and before.stop + 1 == token.start:
        ends = "a range's high end is left out: 0..8 is 0 to 7" if tokens[first].text == "for" else "both ends of a range belong to it: 0..8 is 0 to 8"
        return Foreign(index, f"there is no '..{name}'", ends, index, index + 1)
    colon = index - 1 if before.text == ":" else index
    if name == ":" and tokens[colon + 1].text == ":" and tokens[colon].stop + 1 == tokens[colon + 1].start and tokens[colon - 1].text.isidentifier() \
            and tokens[first].text not in ("use", "import"):
        return Foreign(colon, "there is no '::'", f"write {tokens[colon - 1].text}.{tokens[colon + 2].text}", colon, colon + 2, (".",))
    if tokens[first].text == "every" and (share := next((at for at in range(first, index) if tokens[at].text == "%"), None)) is not None:
        return Foreign(share, "jitter and within are times", "as in every 125 ms jitter 500 us within 300 us { ... }", share, share + 1, ("us",))
    if name == "jitter" and tokens[first].text == "after":
        end = next((at for at in range(index, len(tokens)) if tokens[at].text in ("{", ";", "}", "max")), index)
        return Foreign(index, "what runs after a time has no jitter", "write after T { ... }, or after e max T { ... }; every has a jitter", index, end)
    if tokens[first].text == "slot" and index == first + 2 and is_number(before) and name in ("within", "jitter", "{"):
        return Foreign(index, "a slot is one of a slotframe", f"write slot {before.text} of 101 {{ ... }}", index, index, ("of", str(int(before.text) + 1 if before.text.isdigit() else 101)))
    if before.text == "migrate" and index == first + 1 and (name == "{" or is_number(token)):
        return Foreign(index - 1, "a migration says from which version it is", f"write migrate version {name if is_number(token) else 1} {{ ... }}", index, index,
                       ("version", "1") if name == "{" else ("version",))
    kept = index - (name == "<" and index > 1)              # in a module reading goes on to there, as of a type with that name
    if tokens[kept - 1].text == "persistent" and (word := tokens[kept].text) in ("counter", "meter", "buffer", "table"):
        return Foreign(kept, f"a {word} begins anew in the next version", "a register can be persistent, and count", kept - 1, kept)
    if name in COMPARED and in_state and before.text in ("{", ";") and index + 1 < len(tokens) and is_number(tokens[index + 1]):
        bound = tokens[index + 1].text
        below = f"0..{int(bound) - (name == '<')}" if name in ("<", "<=") and bound.isdigit() else bound if name == "==" else "low..high, or default for all others"
        return Foreign(index, "a case is a value, a mask or a range", f"write {below}", index, index + 1)
    if name == "*" and in_state and before.text in ("(", ",", "{", ";"):
        return Foreign(index, "there is no '*' among cases", "what takes everything is _", index, index + 1, ("_",))
    if before.text == "new" and tokens[index - 2].text == "=":
        return Foreign(index - 1, "there is no 'new'", "a variable begins with zeros: Peer p;", index - 2, statement_end(tokens, index) - 1)
    if tokens[first].text in ("wait", "sleep", "delay", "pause") and index == first + 1 and is_number(token):
        return Foreign(first, f"there is no '{tokens[first].text}'", "nothing waits: what comes later stands in after 10 ms { ... }", first, statement_end(tokens, first))
    if tokens[first].text == "after" and before.text in WRITTEN and name.isidentifier() and name != "max":
        return Foreign(index, "what runs then stands in braces", f"write {written(tokens, first, index)} {{ ... }}", first, statement_end(tokens, index))
    if name == "jitter" and tokens[first].text == "every" and any(one.text == "within" for one in tokens[first:index]):
        end = next((at for at in range(index, len(tokens)) if tokens[at].text in ("{", ";", "}")), index)
        return Foreign(index, "jitter stands in front of within", "write every T jitter J within D { ... }", index, end)
    if name == "else" and after.text == ":":
        return Foreign(index, "there is no 'else' among cases", "what is for all others is default: ...", index, index + 1, ("default",))
    ask = next((at for at in range(first, statement_end(tokens, first)) if tokens[at].text == "?"), 0) if tokens[first].text == "transition" else 0
    if ask and name in ("?", *COMPARED, "(", ".", "&&", "||") and (other := label_end(tokens, ask + 1)):
        condition, there = written(tokens, first + 1, ask), (written(tokens, ask + 1, other), written(tokens, other + 1, statement_end(tokens, other) - 1))
        return Foreign(ask, "a transition has no condition", f"write transition select({condition}) {{ true: {there[0]}; false: {there[1]}; }}",
                       first + 1, statement_end(tokens, first) - 1, ("accept",))
    if tokens[first].text == "transition" and name == "if":
        return Foreign(index, "a transition has no condition", "write transition select(a == b) { true: here; false: there; }", index, statement_end(tokens, index) - 1)
    if tokens[first].text == "transition" and name == "{" and index > first + 2 and tokens[first + 2].text == "(" and tokens[first + 1].text != "select":
        return Foreign(first + 1, f"there is no '{tokens[first + 1].text}' in a transition", "write transition select(...) { ... }", first + 1, first + 2, ("select",))
    if tokens[first].text == "transition" and before.text == "transition" and name == "switch":
        return Foreign(index, "there is no 'switch' in a transition", "write transition select(...) { ... }", index, index + 1, ("select",))
    if in_state and name == "select" and index == first:
        return Foreign(index, "a select belongs to a transition", "write transition select(...)", index, index, ("transition",))
    if name in ("bit", "int") and index > first and before.text != "<" and [one.text for one in tokens[index + 1:index + 5:2]] == ["<", ">"] \
            and tokens[index + 4].text == "(":
        type_ = written(tokens, index, index + 4)
        return Foreign(index, "a cast stands in parentheses, in front of its value", f"write ({type_}) x", index, index + 4,
                       ("(", *(one.text for one in tokens[index:index + 4]), ")"))
    if name in ("struct", "enum", "union") and before.text == "typedef":
        end = statement_end(tokens, index)
        return Foreign(index, f"a {name}'s name stands in front of its fields" if name != "enum" else "an enum's name stands in front of its members",
                       f"write {name} {tokens[end].text} {{ ... }}", index - 1, end + 2)
    if tokens[first].text in ("counter", "register") and index <= first + 2 and name in ("[", "(", ";") or tokens[first].text == "register" and index == first + 1:
        return without_type(tokens, first, index)
    if tokens[first].text in ("counter", "register") and name == "[" and before.text.isidentifier() and tokens[index - 2].text == ">":
        return Foreign(index, "how many cells there are stands behind the type",
                       f"write {written(tokens, first, index - 1)}{written(tokens, index, statement_end(tokens, index) - 1)} {before.text};", first, statement_end(tokens, first))
    if tokens[first].text == "meter" and name == "(" and index == first + 2:
        return Foreign(first, "a meter has a type, of what it counts in", f"write meter<bit<16>> {before.text}(...);", first, statement_end(tokens, first))
    return without_parentheses(tokens, index)


def bare_address(tokens: list[Token], index: int) -> Foreign | None:
    """An address without its quotes, which token `index` is part of."""
    def joins(at: int) -> bool:
        return tokens[at - 1].stop + 1 == tokens[at].start and all(one.text.isalnum() or one.text in (":", "-", ".") for one in tokens[at - 1:at + 1])
    start, end = index, index + 1
    while start and joins(start):
        start -= 1
    while joins(end):
        end += 1
    end -= tokens[end - 1].text == ":" and (tokens[end - 2].text != ":" or tokens[end - 3].text == ":")        # of the case that it is the key of
    kind = address_kind(text := written(tokens, start, end))
    return Foreign(start, "an address stands in quotes", f'write {kind}"{text}"', start, end, ("0",)) if kind else None


def without_type(tokens: list[Token], first: int, index: int) -> Foreign:
    """A counter or register that does not say of what, as in P4 or C."""
    word, end = tokens[first].text, statement_end(tokens, first)
    name = tokens[end - 2].text if tokens[end - 2].text.isidentifier() else tokens[first + 1].text if tokens[first + 1].text.isidentifier() else "x"
    size = next((one.text for one in tokens[index:end] if is_number(one) or one.text.isidentifier() and one.text != name), "") if tokens[index].text in ("[", "(") else ""
    type_ = "bit<32>" if word == "counter" else "bit<16>"
    return Foreign(first, f"a {word} has a type, of what it {'counts in' if word == 'counter' else 'holds'}",
                   f"write {word}<{type_}>{f'[{size}]' if size else ''} {name};", first, end)


def without_parentheses(tokens: list[Token], index: int) -> Foreign | None:
    """What stands behind `if`, `switch`, `for` or `select` as in Rust, Go or Python."""
    word, end = tokens[index - 1].text, next((at for at in range(index, len(tokens)) if tokens[at].text in ("{", ";", "}")), index)
    inside = [one.text for one in tokens[index:end]]
    if word not in ("if", "switch", "for", "select") or inside[:1] == ["("] or tokens[end].text != "{" or inside.count("(") != inside.count(")"):
        return None
    if word == "for" and ".." not in inside:
        ended = indented_end(tokens, index - 1) if ":" in inside else statement_end(tokens, index)
        return Foreign(index - 1, "a loop is not written like this", LOOP, index - 1, ended)
    form = f"{'transition select' if word == 'select' else word} ({written(tokens, index, end)})".replace("select (", "select(")
    return Foreign(index, f"what stands behind '{word}' is in parentheses", f"write {form} {{ ... }}", index, end, ("(", *inside, ")"))


def indented_end(tokens: list[Token], start: int) -> int:
    """Behind what stands further to the right than the statement, as in Python, and behind a brace that closes it."""
    end = next((at for at in range(start + 1, len(tokens) - 1) if tokens[at].line > tokens[start].line and tokens[at].column <= tokens[start].column), len(tokens) - 1)
    return end + (tokens[end].text == "}" and tokens[end].column == tokens[start].column)


def foreign_part(tokens: list[Token], index: int, rules: list[str]) -> Foreign | None:
    """What is known of the part of a codec or a module that reading stopped in, at token `index`; `rules`: what was being read, the innermost first."""
    if not index or not rules:
        return None
    if rules[0] in ("errorDecl", "enumDecl") and tokens[index].text == ";":
        return Foreign(index, "names are separated by ','", f"write {before_and(tokens, index)}", index, index + 1, (",",))
    first = statement_start(tokens, index)
    if tokens[index].text == "<" and (word := tokens[index - 1].text) in KEPT and "param" in rules:
        return Foreign(index - 1, f"a {word} is no parameter", "functions and modules call it by its name: declare it at top level", first, statement_end(tokens, first))
    if tokens[index].text == "table" and ("param" in rules or tokens[index - 1].text == "(" and rules[0] in TAKING):
        return Foreign(index, "a table is no parameter", "the processor that has it applies it", first, statement_end(tokens, first))
    if tokens[first].text == "key" and tokens[index - 1].text == "=" and index == first + 2 and tokens[index].text != "{":
        end = next((at for at in range(index, len(tokens)) if tokens[at].text in (";", "}")), index)
        return Foreign(index, "the keys of a table stand in braces", f"write key = {{ {written(tokens, index, end)}; }}", index, end,
                       ("{", *(one.text for one in tokens[index:end]), ";", "}"))
    if tokens[index].text == "," and "tableEntry" in rules and tokens[index - 1].text == ")" and ":" in [one.text for one in tokens[first:index]]:
        return Foreign(index, "an entry of a table ends with ';'", "write ';' instead of ','", index, index + 1, (";",))
    if tokens[index].text == "," and "tableProperty" in rules and "tableEntry" not in rules and "tableKey" not in rules:
        close = block_end(tokens, index)
        names = [one.text for one in tokens[index:close] if one.text != ","]
        return Foreign(index, "each action of a table ends with ';'", f"write actions = {{ {tokens[index - 1].text}; {names[0] if names else 'drop'}; }}", index, close,
                       (*(";" if one.text == "," else one.text for one in tokens[index:close]), *([";"] if tokens[close - 1].text not in (",", ";") else [])))
    if "tableEntry" in rules and tokens[index].text == "," and (colon := next((at for at in range(index, statement_end(tokens, index)) if tokens[at].text == ":"), 0)):
        start = row_item(tokens, index)
        keys = written(tokens, start, colon)
        return Foreign(index, "several keys stand in parentheses", f"write ({keys}) : ...", start, statement_end(tokens, index))
    alone = "selectCase" in rules and row_item(tokens, index) == index - 1 and tokens[index - 2].text != ":"
    if tokens[index].text == "," and alone and (colon := next((at for at in range(index, statement_end(tokens, index)) if tokens[at].text == ":"), 0)):
        start, target = index - 1, tokens[colon + 1].text
        if commas(tokens, start):
            return Foreign(index, "several keys stand in parentheses", f"write ({written(tokens, start, colon)}): {target};", start, statement_end(tokens, index))
        return Foreign(index, "a case of a select has one key",
                       f"write a range, or a case for each: {tokens[start].text}: {target}; {tokens[index + 1].text}: {target};", index, colon)
    if tokens[index].text == "," and "switchCase" in rules and (is_number(tokens[index + 1]) or tokens[index + 1].text.isidentifier()):
        return Foreign(index, "each value of a case has a ':' behind it", f"write {tokens[index - 1].text}: {tokens[index + 1].text}: {{ ... }}", index, index + 1, (":",))
    return foreign_codec(tokens, index, rules) if "codecDecl" in rules else inside_module(tokens, index, rules)


def commas(tokens: list[Token], index: int) -> bool:
    """Whether the select that token `index` is in is over several values."""
    begin = next((at for at in range(index, 0, -1) if tokens[at].text == "select"), index)
    end = next((at for at in range(begin, index) if tokens[at].text == "{"), begin)
    return any(one.text == "," for one in tokens[begin:end])


def before_and(tokens: list[Token], index: int) -> str:
    """What stands before and behind a separator that should be a comma."""
    behind = tokens[index + 1].text
    return tokens[index - 1].text + (f", {behind}" if behind.isidentifier() else "")


def foreign_codec(tokens: list[Token], index: int, rules: list[str]) -> Foreign | None:
    token, before, start = tokens[index].text, tokens[index - 1].text, statement_start(tokens, index)
    if tokens[start].text == "codec" and token in ("{", "->", "<-", "<", "=", ":", "(", "for"):
        behind = token == "(" and before != tokens[start + 1].text
        what = "the parameters of a codec stand behind its name" if behind else "the header of a codec stands behind '<->'"
        return Foreign(index, what, "write codec C(bit<8> a) <-> H { ... }", start, statement_end(tokens, start))
    if rules[0] == "codecDecl" and token in TYPE_WORDS and before in (";", "{", "}"):
        return Foreign(index, "a variable of a codec begins with var", f"write var {written(tokens, index, statement_end(tokens, index))}", index, index, ("var",))
    if before == "tag" and token in TYPE_WORDS:
        return Foreign(index, "the bits of a tag have no type", "it is written like this: tag 0b011, tf:2, nh:1;", index - 1, statement_end(tokens, index))
    if "codecVar" in rules and token == "if":
        return Foreign(index, "the condition of `first` stands behind 'where'", "write first i in 0..4 where (...)", index, index + 1, ("where",))
    if before == "case":
        return Foreign(index - 1, "a row has no word in front of its key", f"write {token}: ...", index - 1, index)
    if token == "default" and rules[0] in ("codecGroup", "codecRow"):
        return Foreign(index, "a row's keys are numbers: compressing writes them", "write one row for each value", index, statement_end(tokens, index))
    if before == "pad" and token == ":":
        bits = tokens[index + 1].text
        return Foreign(index - 1, "padding is in line", f"write inline(pad:{bits})", index - 1, index + 2, ("inline", "(", "pad", ":", bits, ")"))
    if token == "=" and index > 1 and tokens[index - 2].text == "var":
        return Foreign(index - 2, "a variable of a codec has a type", f"write var bit<8> {before} = ...;", index - 2, statement_end(tokens, index))
    if before == "inline" and token.isidentifier():
        return Foreign(index, "what is in line stands in parentheses", f"write inline({token})", index, index + 1, ("(", token, ")"))
    item = row_item(tokens, index)
    if token == ";" and item == index - 1 and before.isidentifier() and tokens[item - 1].text in (";", "{", "}"):
        return Foreign(item, "a row says where a field comes from", f"write inline({before}); or {before} = ...;", item, index + 1)
    if tokens[item + 1].text == "==" and tokens[item].text.isidentifier() and item + 1 <= index and tokens[item - 1].text in (",", ":"):
        return Foreign(item + 1, "a row says what a field is with '='", f"write {tokens[item].text} = ...", item + 1, item + 2, ("=",))
    if tokens[item - 1].text == ";" and (token == "=" and index == item + 1 or token in (",", ";") and tokens[item].text in ("inline", "where")):
        return Foreign(item - 1, "what a row says is separated by ','", "a row ends with ';', and behind it comes the next one's key", item - 1, item, (",",))
    return None


def row_item(tokens: list[Token], index: int) -> int:
    """Where the item of a row begins that token `index` is in."""
    depth = 0
    for at in range(index - 1, -1, -1):
        text = tokens[at].text
        depth += (text in (")", "]")) - (text in ("(", "["))
        if depth <= 0 and text in (",", ";", ":", "{", "}") and not (text == ":" and tokens[at - 1].text in ("inline", "pad")):
            return at + 1
    return 0


def inside_module(tokens: list[Token], index: int, rules: list[str]) -> Foreign | None:
    """What is known of the item of a parser, processor or timing block that reading stopped in: one that stands outside of modules, or is written otherwise."""
    token, before, start = tokens[index].text, tokens[index - 1].text, statement_start(tokens, index)
    if token in OUTSIDE and index == start and rules[0] in ("processorDecl", "parserDecl", "timingDecl", "deparserDecl", "migrateDecl"):
        also = "; in a processor it may be an action" if token == "function" and rules[0] == "processorDecl" else ""
        return Foreign(index, f"'{token}' is declared outside of modules", f"move it there{also}", start, statement_end(tokens, start))
    if "statement" in rules or "block" in rules or "stateDecl" in rules:
        word, at = (tokens[start + 1].text, start + 2) if tokens[start].text == "persistent" else (tokens[start].text, start + 1)
        if word in KEPT and tokens[at].text == "<" or word in ("table", "action") and tokens[at].text.isidentifier():
            return Foreign(start, *declared_elsewhere(word, rules), start, statement_end(tokens, start))
    if token in TYPE_WORDS and before == "(" and "handler" in rules and "block" not in rules:
        close = next((at for at in range(index, len(tokens)) if tokens[at].text in (")", "{", ";")), index)
        return Foreign(index, "what an event tells has a name and no type", f"write ({tokens[close - 1].text})", index, close - 1)
    if "handler" in rules and "block" not in rules and (other := selected(tokens, index, start)):
        return other
    if tokens[start].text == "state" and token == "(" and index == start + 2:
        close = next((at for at in range(index, len(tokens)) if tokens[at].text in (")", "{", "}", ";")), index)
        return Foreign(index, "a state takes nothing", f"write state {before} {{ ... }}, or state {before} max 9 {{ ... }} where it is entered nine times at most",
                       index, close + (tokens[close].text == ")"))
    if tokens[start].text == "void" and token == "(" and index == start + 2 and "processorItem" in rules:
        return Foreign(start, "an action begins with its word", f"write action {before}(...) {{ ... }}", start, start + 1, ("action",))
    if "param" in rules and token in (")", ",") and tokens[index - 2].text in ("(", ",") and before in DIRECTIONS:
        return Foreign(index - 1, f"'{before}' stands before a parameter's type and name", f"write {before} bit<8> x", index, index, ("bit", "<", "8", ">", "x"))
    if "param" in rules and token in (")", ",") and tokens[index - 2].text in ("(", ",") and before.isidentifier() and before not in TYPE_WORDS:
        return Foreign(index - 1, f"parameter '{before}' has no type", f"as in bit<8> {before}", index - 1, index, ("bit", "<", "8", ">", before))
    return None


def selected(tokens: list[Token], index: int, start: int) -> Foreign | None:
    """A handler with a number or a comparison where its parameter stands, as a protocol's binding has them: it begins at token `start`."""
    opened = next((at for at in range(start, index + 1) if tokens[at].text == "("), None)
    value = is_number(tokens[index]) or tokens[index].text in (*COMPARED, *CALCULATED)
    if not value or opened is None or tokens[start].text != "on" or any(one.text == ")" for one in tokens[start:index]):
        return None
    event = written(tokens, start + 1, opened)
    if event not in BOUND:
        return None
    close = next((at for at in range(index, len(tokens)) if tokens[at].text in (")", "{", "}", ";")), index)
    if event not in HANDLED:
        return Foreign(start, f"{event} is not for timing blocks", "bind a chain to it in the protocol", start, statement_end(tokens, start))
    gives, outcomes = EVENTS[event].gives, EVENTS[event].outcomes
    named = next((one.text for one in tokens[opened:close] if one.text in outcomes), "")
    numbered = outcomes[int(tokens[index].text)] if tokens[index].text.isdecimal() and int(tokens[index].text) < len(outcomes) else ""
    return Foreign(index, f"a handler's parameter is a name, for the {gives}" if gives else f"{event} gives nothing", f"write {handler_of(event, named or numbered)}",
                   start, statement_end(tokens, start))


def is_number(token: Token) -> bool:
    return token.text[:1].isdigit()


def foreign(tokens: list[Token], index: int, in_select: bool) -> Foreign | None:
    """What is known of the statement that reading stopped in, at token `index`. in_select: in a case of a select, which leads to a state."""
    begin = start = statement_start(tokens, index)
    if tokens[start].text == "else":
        start += 1                              # what is wrong is the statement behind it
    first = tokens[start].text
    before, token = tokens[index - 1].text if index else "", tokens[index].text
    if first in ("let", "var", "auto") and token in (":", "="):
        name = tokens[start + 1].text if tokens[start + 1].text != "mut" else tokens[start + 2].text
        type_ = written(tokens, index + 1, type_end(tokens, index + 1)) if token == ":" else "bit<8>"
        return Foreign(start, "a variable begins with its type", f"write {type_} {name} = ...;", start, statement_end(tokens, start))

    def told(at: int, what: str, help: str) -> Foreign:
        return Foreign(at, what, help, begin, statement_end(tokens, start))

    if first in ("while", "do") and tokens[start + 1].text in ("(", "{"):
        one = told(start, f"there is no '{first}'", LOOP)
        if first == "do" and tokens[one.end].text == "while":
            one.end = statement_end(tokens, one.end)
        return one
    if first == "for" and index - start <= 5 and tokens[start + 1].text == "(" and tokens[start + 3].text != "in":
        return told(start, "a loop is not written like this", LOOP)
    if first == "for" and before == ".." and token in (";", ")"):
        return told(index, "this loop has no end", LOOP)
    inside = [each.text for each in tokens[start:index]]
    if first == "case" and index == start + 1:
        colon = label_end(tokens, index)
        if colon is None or tokens[colon + 1].text == "{" or tokens[colon + 1].text == "case":
            return Foreign(start, "a case has no word in front of it", "write 1: { ... }", start, start + 1)
        return Foreign(start, "what a case does stands in braces", f"write {written(tokens, index, colon)}: {{ ... }}", start, block_end(tokens, colon))
    if token in (":", "=") and before.isidentifier() and tokens[index - 2].text in ("{", ",") and start > 1 and tokens[start - 1].text == "{" \
            and tokens[start - 2].text in ("=", "return", "(", ","):
        at = statement_start(tokens, start - 1)
        end = statement_end(tokens, at)
        return Foreign(index, "a struct's value names no fields", "it is a list, in their order: { a, b }", at, end + (tokens[end].text == ";"))
    at = start if token == "{" else statement_start(tokens, start - 1)          # of the assignment that a `{ .x = ... }` is in
    if token == "{" and "=" in inside and before[:1].isupper() or token == "." and before in ("{", ",") and any(one.text == "=" for one in tokens[at:start]):
        end = statement_end(tokens, at)
        return Foreign(index, "a struct's value names no fields", "it is a list, in their order: { a, b }", at, end + (tokens[end].text == ";"))
    if token in ("=", ";", ",") and not in_select and "?" not in inside and (colon := label_end(tokens, start)) is not None and colon < index:
        return Foreign(colon, "what a case does stands in braces", f"write {written(tokens, start, colon)}: {{ ... }}", start, block_end(tokens, index))
    if token == "[" and before == ">" and tokens[start].text in TYPE_WORDS:
        return told(index, "a variable has no elements", f"a register has, register<{written(tokens, start, index)}>[4] x; and so has a stack of headers")
    if token == "[" and index - start > 1 and before.isidentifier() and (tokens[index - 2].text == ">" or tokens[index - 2].text.isidentifier()):
        return told(index, "a variable has no elements", f"a register has, register<bit<8>>[4] {before}; and so has a stack of headers")
    operator = tokens[index - 1] if index else tokens[0]
    begin = place_start(tokens, index - 1)
    target = written(tokens, begin, index - 1)
    joined = (token == "=" and before in ("+", "-", "*", "/", "%", "&", "|", "^", "<<") or token == ">=" and before == ">") \
        and operator.stop + 1 == tokens[index].start
    counted = tokens[begin].text if joined and before == "+" or token == ";" and before == "++" else ""
    if counted and any(one.text == "counter" and any(name.text == counted for name in tokens[at:statement_end(tokens, at)]) for at, one in enumerate(tokens[:begin])):
        place = written(tokens, begin + 2, index - 2) if tokens[begin + 1].text == "[" else ""
        return told(index - 1, "a counter counts by its method", f"write {counted}.count({place});")
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
    behind = next((at for at in range(index + 2, end) if tokens[at].text == "[" and tokens[at - 1].text.isidentifier()), end)        # as in C
    if behind - index < 2 or tokens[end].text not in (";", "=") or not tokens[behind - 1].text.isidentifier():
        return ""
    name, (type_, *size) = tokens[behind - 1].text, (written(tokens, index, behind - 1) + written(tokens, behind, end)).split("[", 1)
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
    if begin < 6 or tokens[begin - 5].text != "choice" or tokens[begin - 1].text != "{":
        return None
    close = next((at for at in range(begin, len(tokens)) if tokens[at].text in ("{", "}")), begin)
    if (colon := label_end(tokens, start)) is not None and index <= colon:
        rest = written(tokens, colon, name + 1)
        if tokens[start].text == "default":
            return Foreign(start, "a choice has no default", "a member of the tag's enum without an arm has nothing there; write an arm for each that has", begin, close)
        if tokens[start + 1].text == "." and colon == start + 3:
            return Foreign(start, "an arm has the name of its member alone", f"write {tokens[start + 2].text}{rest};", begin, close)
        tag = tokens[begin - 3].text
        return Foreign(start, "an arm has the name of a member of its tag's enum", f"declare enum bit<8> Kind {{ one = {written(tokens, start, colon)}, ... }} for '{tag}', and write one{rest};",
                       begin, close)
    if name <= start or not tokens[name].text.isidentifier():
        return None
    return Foreign(start, "an arm's name stands before its type", f"write {tokens[name].text}: {written(tokens, start, name)};", begin, close)


def foreign_field(tokens: list[Token], index: int) -> Foreign | None:
    """What is known of the field of a struct or header that reading stopped in, at token `index`: its elements or its length, as in C; a tag that is no field."""
    start = statement_start(tokens, index)
    if tokens[start].text == "choice" and tokens[start + 1].text == "(" and tokens[index].text == "{" and not tokens[index - 2].text == "(":
        arms = statement_end(tokens, index)
        return Foreign(start + 2, "the tag of a choice is a field of the header", f"ask for each field: bit<8> x when ({written(tokens, start + 2, index - 1)} == 1);",
                       start, statement_end(tokens, arms))
    if (other := foreign_order(tokens, start)) is not None:
        return other
    token, name = tokens[index].text, tokens[index - 1].text if index else ""
    if token in ("!=", *COMPARED[:4]) and index > start + 1 and name.isidentifier():
        end = next((at for at in range(index, len(tokens)) if tokens[at].text in ("when", ";", "}")), index)
        return Foreign(index, "a condition on a field's value stands by itself", f"write {written(tokens, start, index)}; where ({written(tokens, index - 1, end)});", index, end)
    if token == "," and name.isidentifier() and index - start > 1 and (other := tokens[index + 1].text).isidentifier() \
            and tokens[index + 2].text in (",", ";"):
        type_ = written(tokens, start, index - 1)
        return Foreign(index, "each field has its type", f"write {type_} {name}; {type_} {other};", index, statement_end(tokens, index) - 1)
    if token == ":" and name.isidentifier() and index == start + 1 and tokens[index + 1].text.isidentifier():
        type_ = written(tokens, index + 1, type_end(tokens, index + 1))
        return Foreign(index, "the type of a field stands before its name", f"write {written_here(type_).removeprefix('write ') or type_} {name};", start,
                       block_end(tokens, index))
    if token == ":" and name.isidentifier() and index > start + 1 and is_number(tokens[index + 1]) and tokens[index + 2].text == ";":
        return Foreign(index, "how many bits a field has stands in its type", f"write bit<{tokens[index + 1].text}> {name};", index, index + 2)
    if token == "if" and index == start and tokens[start + 1].text == "(":
        close = next((at for at in range(index, len(tokens)) if tokens[at].text == ")" and tokens[at + 1].text not in (")", "&&", "||", "==", "!=")), index)
        field = close + 1 + (tokens[close + 1].text == "{")
        end = statement_end(tokens, start)
        return Foreign(index, "a field that may be absent has 'when' behind it",
                       f"write {written(tokens, field, statement_end(tokens, field) - 1)} when {written(tokens, start + 1, close + 1)};", start, end)
    if tokens[start].text == "be" and token == "<" and index == start + 1:
        return Foreign(start, "a number is big-endian where nothing else is said", f"write bit{written(tokens, index, index + 3)}", start, index, ("bit",))
    if name == "varbit" and index == start + 1 and token.isidentifier():
        sized = written(tokens, index, statement_end(tokens, start)) if tokens[index + 1].text == "sized" else f"{token} sized (8 * (bit<16>) n);"
        return Foreign(index, "a varbit says how many bits it may have", f"write varbit<2032> {sized}", index, index, ("<", "2032", ">"))
    if token == "]" and name == "[" and tokens[index - 2].text.isidentifier():
        return Foreign(index, "a stack says how many elements it may have", f"write {tokens[index - 2].text}[4] {tokens[index + 1].text};", index, index, ("64",))
    if token == "if" and index > start + 1:
        return Foreign(index, "a field that may be absent has 'when' behind it", "write when (...)", index, index + 1, ("when",))
    if token == "{" and tokens[start].text == "le":
        return Foreign(start, "a little-endian number that has fields is a word", f"write word {written(tokens, start, index)} {{ ... }}", start, start, ("word",))
    if tokens[start].text == "verify" and tokens[start + 1].text == "(":
        end = statement_end(tokens, start)
        return Foreign(start, "a condition on a header's fields begins with where", f"write where {written(tokens, start + 1, end)}", start, end)
    if is_number(tokens[index]) and name == "in":
        end = next((at for at in range(index, len(tokens)) if tokens[at].text in (";", "}", "when")), index)
        return Foreign(index, "the values of a field stand in braces", f"write in {{ {written(tokens, index, end)} }}", index - 1, end)
    if token in ("(", "[") and name == "in":
        close = next((at for at in range(index, len(tokens)) if tokens[at].text in (OPENERS[token], ";", "}")), index)
        return Foreign(index, "the values of a field stand in braces", f"write in {{ {written(tokens, index + 1, close)} }}", index - 1, close + 1)
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


def foreign_order(tokens: list[Token], start: int) -> Foreign | None:
    """What is known of the field that begins there, where its type and how it lies in the packet are two words, as in `le int<16> x`."""
    end = next((at for at in range(start, len(tokens)) if tokens[at].text not in ("<", ">", "bit", "int", *ORDERS) and not is_number(tokens[at])), start)
    said = [token.text for token in tokens[start:end] if token.text not in ("<", ">")]
    order, kind, width = ([one for one in said if fits(one)] for fits in (ORDERS.__contains__, ("bit", "int").__contains__, str.isdigit))
    if not (len(order) == len(kind) == len(width) == 1 and len(said) == 3 and tokens[end].text.isidentifier()):
        return None
    type_, name = f"{kind[0]}<{width[0]}>", tokens[end].text
    if order[0] in ("be", "big"):
        return Foreign(start, "a number is big-endian where nothing else is said", f"write {type_} {name}", start, end, (kind[0], "<", width[0], ">"))
    if kind[0] == "bit":
        return Foreign(start, "a little-endian number has a type of its own", f"write le<{width[0]}> {name}", start, end, ("le", "<", width[0], ">"))
    return Foreign(start, "a little-endian number with a sign is a field of a word", f"write word le<{width[0]}> {{ {type_} {name}; }}", start, end, ("int", "<", width[0], ">"))


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
