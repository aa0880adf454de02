"""Text to parse tree. ANTLR stops at the first mistake; here it is put into the language's words, mended in the
token list (one token put in, taken out or changed, or the smallest faulty item dropped), and the text is read again:
several mistakes are reported, and one mistake gives one message."""
from __future__ import annotations

import unicodedata
from difflib import get_close_matches

from antlr4 import CommonTokenStream, InputStream, ParserRuleContext, Token
from antlr4.atn.PredictionMode import PredictionMode
from antlr4.CommonTokenFactory import CommonTokenFactory
from antlr4.error.Errors import ParseCancellationException, RecognitionException
from antlr4.error.ErrorStrategy import BailErrorStrategy
from antlr4.ListTokenSource import ListTokenSource

from .deep import deep
from .diagnostics import Diagnostics
from .extents import statement_start, written
from .foreign import bare_address, foreign, foreign_choice, foreign_field, foreign_part, foreign_variable, foreign_word, result_behind
from .foreign_declarations import DECLARATIONS
from .foreign_types import address_as_number
from .grammar.LpnLexer import LpnLexer
from .grammar.LpnParser import LpnParser
from .source import Source, Span

MAX_ERRORS = 20
LONGEST = 60                                    # characters of a token that is named in a message
MAX_ALIKE = 3                                         # errors about one character
AHEAD = 80                                      # tokens behind a mistake that a repair is tried on
SURE = 12                                       # tokens that are read behind a repair that is taken for what was meant
SOFT = 4                                        # tokens that can be read of a declaration as something else
WHOLE = 1 << 20                                 # how far a text without mistake is read
MAX_DEPTH = 100                                 # others that an expression stands in, or a statement
MAX_BRACKETS = 3 * MAX_DEPTH + 10               # the same: two of a statement, one of an expression, and some of the last ones and around them
OPENERS = {"{": "}", "(": ")", "[": "]"}
CLOSERS = {close: open_ for open_, close in OPENERS.items()}
BRACKETS = {*OPENERS, *CLOSERS}
# What a declaration may begin with.
BEGINS = LpnParser.atn.nextTokens(LpnParser.atn.ruleToStartState[LpnParser.RULE_item])
TYPES = {text.strip("'"): number for number, text in enumerate(LpnParser.literalNames)}
OPENING, CLOSING = ({TYPES[text] for text in texts} for texts in (OPENERS, CLOSERS))

# Rules whose text can be dropped as a whole, and what a missing `;` is said to follow.
NOUNS = {
    "fieldDecl": "the field", "structField": "the field", "varDecl": "the variable", "varStatement": "the variable",
    "constDecl": "the constant", "statement": "the statement", "transition": "the transition", "importDecl": "the import",
    "choiceItem": "the choice", "choiceArm": "the arm", "whereItem": "the condition", "codecTag": "the tag",
    "codecVar": "the variable", "codecItem": "the row", "codecRow": "the row", "registerDecl": "the register",
    "counterDecl": "the counter", "meterDecl": "the meter", "bufferDecl": "the buffer", "tableKey": "the key",
    "tableProperty": "the property", "tableEntry": "the entry", "selectCase": "the case", "energyBudget": "the limit",
    "protocolItem": "the binding", "typedefDecl": "the type", "externDecl": "the extern",
}
DROPPABLE = set(NOUNS) | {
    "item", "headerItem", "wordItem", "parserItem", "stateDecl", "processorItem", "handler", "timingItem", "switchCase",
    "tableDecl", "actionDecl", "energyDecl", "codecGroup", "block",
}
# What stands where, for messages about what was expected.
WORDS = {
    "program": "a declaration (header, struct, parser, ...)", "headerItem": "a field", "fieldDecl": "a field",
    "structDecl": "a field", "wordItem": "a field", "statement": "a statement", "block": "a statement",
    "parserDecl": "a state", "processorDecl": "a declaration or `apply`", "codecDecl": "a row or a group of rows",
    "tableDecl": "a property (key, actions, size, default_action, entries)", "protocolDecl": "a binding (on ...: A -> B;)",
    "timingDecl": "a handler (every, on, slot)", "selectTransition": "a case", "codecGroup": "a row", "enumDecl": "a name",
}


# A right one of what is easily written otherwise, shown where nothing better is known.
FORMS = {
    "registerDecl": "register<bit<16>>[8] last;", "counterDecl": "counter<bit<32>> dropped;", "meterDecl": "meter<bit<16>> octets(100 us, 1280);",
    "bufferDecl": "buffer<1280>[2] partial timeout 60 s;", "tableKey": "key = { h.ip.dst : lpm; }", "tableEntry": "entries = { 7 : drop(); }",
    "choiceItem": "choice (mode) { short: le<16>; ext: le<64>; } dst;", "codecTag": "tag 0b011, tf:2, nh:1;",
    "codecRow": "tf { 3: flow = 0; 0: inline(ecn, pad:4, flow); }", "transition": "transition select(h.ip.next_header) { UDP: udp; default: accept; }",
    "energyBudget": "radio.on <= 9 %;", "protocolItem": "on radio.rx_done : Rx -> Forward -> Tx within 4 ms;", "externDecl": "extern bit<16> sample(bit<8> channel) cost 20 in { radio, net };",
    "enumDecl": "enum bit<2> Mode { none = 0, short = 2 }", "headerItem": "bit<8> length;", "fieldDecl": "bit<8> length;",
    "constDecl": "const bit<16> PORT = 7;", "functionDecl": "function bit<8> f(bit<8> x) { return x + 1; }",
    "actionDecl": "action drop() { m.verdict = DROP; }",
    "stateDecl": "state udp { pkt.extract(h.udp); transition accept; }", "tableDecl": "key = { h.dst : exact; } actions = { to; drop; } size = 16;",
    "selectCase": "0x11: udp;", "handler": "every 125 ms jitter 500 us within 300 us { radio.off(); }",
    "typedefDecl": "typedef bit<48> Mac;", "importDecl": "import std.ipv6;",
}
NO_NAME = "'{}' is a word of the language and cannot be a name here"
HANDLERS = ("every", "on", "slot")
STATEMENTS = ("if", "switch", "for", "return", "exit")
PRINTS = ("printf", "print", "println", "log", "log_msg", "puts", "DEBUG", "LOG_DEBUG")
BAD_CHARACTERS = {
    "@": ("annotations are not part of LPN", "remove it"), "#": ("there is no preprocessor", "there are import std.ipv6; and const bit<16> PORT = 7; a comment begins with //"),
    "'": ("a character is not a value of LPN", "write its number, as in 0x61"),
}


class Mistake(Exception):
    """Where reading stopped: the index of the token, and the rules being read, innermost first."""

    def __init__(self, index: int, rules: list[tuple[str, int]]):
        self.index, self.rules = index, rules


class Bail(BailErrorStrategy):
    def recover(self, recognizer: LpnParser, e: RecognitionException) -> None:
        stop(e.offendingToken, e.ctx or recognizer._ctx)

    def recoverInline(self, recognizer: LpnParser) -> Token:
        stop(recognizer.getCurrentToken(), recognizer._ctx)
        raise AssertionError


def stop(token: Token, context: ParserRuleContext | None) -> None:
    rules = []
    while context is not None:
        start = context.start.tokenIndex if context.start is not None else token.tokenIndex
        rules.append((LpnParser.ruleNames[context.getRuleIndex()], start))
        context = context.parentCtx
    raise Mistake(token.tokenIndex, rules)


def span_of(source: Source, token: Token) -> Span:
    """Where a token stands; one that was put in: where the one begins in front of which it was."""
    text = token.text if token.stop >= token.start and token.type != Token.EOF else ""
    newlines = text.count("\n")
    if newlines:
        return Span(source, token.line, token.column + 1, token.line + newlines, len(text) - text.rindex("\n"))
    return Span(source, token.line, token.column + 1, token.line, token.column + 1 + max(len(text), 1))


# ---------------------------------------------------------------- reading

def tokenize(source: Source, diagnostics: Diagnostics) -> list[Token]:
    """The tokens, EOF last. What is no token is reported and left out."""
    lexer = LpnLexer(InputStream(source.text))
    lexer.removeErrorListeners()
    tokens: list[Token] = []
    bad: dict[str, list[Token]] = {}
    last_bad = None
    while True:
        token = lexer.nextToken()
        if token.type == LpnLexer.OTHER:
            quoted = last_bad is not None and last_bad.text == token.text == "'" and token.start - last_bad.stop <= 3
            neighbour = last_bad is not None and last_bad.stop + 1 == token.start or quoted
            if not neighbour:
                bad.setdefault(token.text, []).append(token)
            last_bad = token
        elif token.type == LpnLexer.OPEN_COMMENT:
            diagnostics.error("this comment is never closed", span_of(source, token), "end it with '*/'")
            while token.type != Token.EOF:
                token = lexer.nextToken()
            tokens.append(token)
        elif token.type == LpnLexer.OPEN_STRING:
            if diagnostics.errors < MAX_ERRORS:
                what, hint = of_string(token.text, tokens)
                diagnostics.error(what, span_of(source, token), hint)
            token.type = LpnLexer.ADDRESS
            tokens.append(token)
        else:
            tokens.append(token)
        if token.type == Token.EOF:
            for places in bad.values():
                tell_character(source, places, diagnostics)
            return tokens


def tell_character(source: Source, places: list[Token], diagnostics: Diagnostics) -> None:
    """A character that no token has is told at its first places; of the others only how many there are."""
    text = places[0].text
    what, hint = BAD_CHARACTERS.get(text) or (f"unexpected character {called(text)}", "names are of ASCII letters, digits and '_'" if text.isalpha() else "remove it")
    for token in places[:MAX_ALIKE]:
        more = len(places) - MAX_ALIKE if token is places[:MAX_ALIKE][-1] else 0
        if diagnostics.errors < MAX_ERRORS:
            diagnostics.error(what, span_of(source, token), hint, f"there are {more} more of it, the last in line {places[-1].line}" if more > 0 else "")


def called(text: str) -> str:
    """A character as itself, with its number and name where it may look like another one."""
    if text.isascii():
        return f"'{text}'" if text.isprintable() else f"'U+{ord(text):04X}'"
    return f"{text!r} (U+{ord(text):04X} {unicodedata.name(text, '')}".rstrip() + ")"


def of_string(text: str, before: list[Token]) -> tuple[str, str]:
    """What is wrong with a string behind these tokens, and what to do."""
    if text.startswith(("ip6", "eui64")):
        return "this address is never closed", "end it with '\"' on the same line"
    words = [token.text for token in before[-3:]]
    if words[-1:] == ["import"]:
        return "a module is imported by its name", "as in import std.udp;"
    printed = next((word for word in words if word in PRINTS), None)
    if printed is not None and words[-1] == "(":
        return f"there is no '{printed}'", "counters count, and lpnc run --verbose shows each packet; a node is told numbers: extern void trace(bit<32> what, bit<32> value);"
    if words and (number := address_as_number(words[-1], text)):
        return f"there is no {words[-1]}\"...\"", number
    return "a string is not a value of LPN", 'addresses are written ip6"fe80::1" or eui64"00-12-4b-00-01-02-03-04"'


def read(tokens: list[Token]) -> LpnParser.ProgramContext:
    """The parse tree. Raises Mistake at the first token that does not fit."""
    for index, token in enumerate(tokens):
        token.tokenIndex = index
    stream = CommonTokenStream(ListTokenSource(tokens))
    parser = LpnParser(stream)
    parser.removeErrorListeners()
    parser._errHandler = Bail()
    # Full-context prediction never decides otherwise for this grammar, and costs exponential time on `(a) - (a) - ...`.
    parser._interp.predictionMode = PredictionMode.SLL
    try:
        with deep():
            return parser.program()
    except ParseCancellationException as e:                 # raised by the base class's sync paths
        cause = e.args[0]
        stop(cause.offendingToken, cause.ctx)
        raise AssertionError


def parse_tree(source: Source, diagnostics: Diagnostics, mended: bool = False) -> LpnParser.ProgramContext | None:
    """The tree of a whole source, or None after telling `diagnostics` what is wrong; mended: the tree of what it is without that, if it can be told."""
    before = diagnostics.errors
    tokens = tokenize(source, diagnostics)
    if diagnostics.errors > before:
        # The places of what was left out are holes: only what is wrong without doubt is told.
        return None
    if deepest_bracket(tokens)[0] > MAX_BRACKETS:           # a mistake in such a text takes minutes to mend
        too_deep(source, tokens, diagnostics)
        return None
    while True:
        try:
            tree = read(tokens)
            return tree if mended or diagnostics.errors == before else None
        except Mistake as mistake:
            told = diagnostics.errors
            better = mend(source, tokens, mistake, diagnostics)
            if better is None or diagnostics.errors >= MAX_ERRORS:
                return None
            named = better[mistake.index:mistake.index + 1]
            again = not named or named[0].type == tokens[mistake.index].type or named[0].type != LpnParser.IDENT
            if diagnostics.errors == told and again:        # what is told again would be for ever; each word is made a name once
                return None
            tokens = better
        except RecursionError:
            too_deep(source, tokens, diagnostics)
            return None


def too_deep(source: Source, tokens: list[Token], diagnostics: Diagnostics) -> None:
    diagnostics.error("this is nested too deeply", deepest(source, tokens), "split it: name the parts")


def deepest_bracket(tokens: list[Token]) -> tuple[int, Token]:
    """How many brackets are open in each other at most, and where first."""
    depth, best, where = 0, 0, tokens[0]
    for token in tokens:
        if token.type in OPENING:
            depth += 1
            if depth > best:
                best, where = depth, token
        elif token.type in CLOSING:
            depth -= 1
    return best, where


def deepest(source: Source, tokens: list[Token]) -> Span:
    """The first of the most deeply nested brackets, else the longest statement's start."""
    best, where = deepest_bracket(tokens)
    if best < 30:
        run, longest = 0, 0
        start = tokens[0]
        for token in tokens:
            if run == 0:
                start = token
            run = 0 if token.text in ";}" else run + 1
            if run > longest:
                longest, where = run, start
    return span_of(source, where)


# ---------------------------------------------------------------- mending

def make(kind: int, text: str, like: Token) -> Token:
    token = CommonTokenFactory.DEFAULT.create(like.source, kind, text, Token.DEFAULT_CHANNEL, like.start,
                                              like.start - 1, like.line, like.column)
    token.text = text
    return token


def kind_of(word: str) -> int:
    """The kind of a token that is put in."""
    return TYPES.get(word, LpnParser.IDENT if word.isidentifier() else LpnParser.NUMBER)


def mend(source: Source, tokens: list[Token], mistake: Mistake, diagnostics: Diagnostics) -> list[Token] | None:
    """Reports the mistake and returns tokens without it; None if what follows cannot be trusted."""
    index = mistake.index
    token = tokens[index]
    opened = unclosed(tokens, index)
    missing = never_closed(tokens, index) if opened is not None else None
    if missing is not None:
        opener, end = missing
        diagnostics.error(f"this '{tokens[opener].text}' is never closed", span_of(source, tokens[opener]), f"add '}}' before line {tokens[end].line}")
        return tokens[:end] + [make(TYPES["}"], "}", tokens[end])] + tokens[end:]
    if token.type == Token.EOF:
        if opened is not None:
            diagnostics.error(f"this '{tokens[opened].text}' is never closed", span_of(source, tokens[opened]),
                              f"add '{OPENERS[tokens[opened].text]}' where it ends")
        else:
            noun = next((NOUNS[rule] for rule, _ in mistake.rules if rule in NOUNS), "a declaration")
            after = tokens[index - 1] if index else token
            diagnostics.error(f"the file ends in the middle of {noun}", span_of(source, after),
                              "finish it; most declarations end with ';' or '}'")
        return None
    if token.text in CLOSERS and (opened is None or token.text == ")" and tokens[opened].text == "{" and not brought_back(tokens, index)):
        diagnostics.error(f"nothing is open that this '{token.text}' could close", span_of(source, token), "remove it")
        return tokens[:index] + tokens[index + 1:]
    if token.text == "transition" and tokens[index - 1].text in (";", "{", "}") and any(rule == "stateDecl" for rule, _ in mistake.rules):
        diagnostics.error("a state has one transition, at its end", span_of(source, token),
                          "choose in that one: transition select(a == b) { true: here; false: there; }")
        return without_statement(tokens, index)
    if (bare := bare_address(tokens, index)) is not None:
        diagnostics.error(bare.what, span_of(source, tokens[bare.at]), bare.help)
        return tokens[:bare.start] + [make(kind_of(word), word, token) for word in bare.words] + tokens[bare.end:]
    if (keys := keys_in_a_row(tokens, mistake)) is not None:
        start, first, target, end = keys
        one, other, to = written(tokens, start, first - 1), written(tokens, first, next_colon(tokens, first)), written(tokens, target, end)
        diagnostics.error("a case of a select has one key", span_of(source, tokens[first]),
                          f"write {'a range, or ' if one[:1].isdigit() else ''}a case for each: {one}: {to}; {other}: {to};")
        return tokens[:first] + tokens[target:]
    if (function := result_behind(tokens, index)) is not None:
        name, close, body = function
        result = tokens[close + 2:body] or [make(TYPES["void"], "void", tokens[name])]
        diagnostics.error("the type of a function's result stands before its name", span_of(source, tokens[name if body == close + 1 else close + 1]),
                          f"write function {written(tokens, close + 2, body) or 'void'} {written(tokens, name, close + 1)} {{ ... }}")
        return [*tokens[:name], *result, *tokens[name:close + 1], *tokens[body:]]
    start = statement_start(tokens, index)
    within = [rule for rule, _ in mistake.rules]
    if other := foreign_word(tokens, index, "stateDecl" in within) or foreign_part(tokens, index, within):
        diagnostics.error(other.what, span_of(source, tokens[other.at]), other.help)
        return tokens[:other.start] + [make(kind_of(word), word, token) for word in other.words] + tokens[other.end:]
    if within[:1] == ["processorDecl"] and token.text in STATEMENTS or (
            within[:3] == ["identifier", "varDecl", "processorItem"] and tokens[start].type == LpnParser.IDENT and token.text in (".", "=", "(", "[")):
        diagnostics.error("statements of a processor stand in its apply block", span_of(source, tokens[start]), "write apply { ... } around them")
        return without_statement(tokens, start)
    if tokens[start].text == "when" and tokens[start - 1].text == "}" and any(rule == "headerDecl" for rule, _ in mistake.rules):
        diagnostics.error("a word is there whenever its header is", span_of(source, tokens[start]),
                          "make it a header, which is extracted where it is there; or one field, bit<8> x when (...), and take slices of it")
        return tokens[:start] + tokens[next(i for i in range(index, len(tokens)) if tokens[i].text == ";" or tokens[i].type == Token.EOF):]
    if any(rule in ("block", "statement", "stateDecl", "deparserDecl", "switchCase") for rule in within) \
            and (other := foreign(tokens, index, "selectCase" in within)):
        diagnostics.error(other.what, span_of(source, tokens[other.at]), other.help)
        return tokens[:other.start] + tokens[other.end:]
    if any(rule in ("choiceItem", "choiceArm", "fieldDecl") for rule in within) and (other := foreign_choice(tokens, index)):
        diagnostics.error(other.what, span_of(source, tokens[other.at]), other.help)
        return tokens[:other.start] + tokens[other.end:]
    if any(rule in ("structField", "fieldDecl", "headerItem", "headerDecl") for rule in within) and (other := foreign_field(tokens, index)):
        diagnostics.error(other.what, span_of(source, tokens[other.at]), other.help)
        return tokens[:other.start] + [make(kind_of(word), word, token) for word in other.words] + tokens[other.end:]
    name = within[:1] == ["enumDecl"] or within != [] and within[0] not in WORDS or tokens[index - 1].text == "." or named_before(token.text, diagnostics)
    edit = best_edit(tokens, index, leading(tokens, mistake), name)
    if edit is not None:
        kind, text, repaired = edit
        report(source, tokens, mistake, kind, text, diagnostics)
        return repaired
    report(source, tokens, mistake, "none", "", diagnostics)
    return drop_item(tokens, mistake)


def named_before(word: str, diagnostics: Diagnostics) -> bool:
    """Whether it was told of a word that it is no name."""
    return any(one.message == NO_NAME.format(word) for one in diagnostics.items)


def keys_in_a_row(tokens: list[Token], mistake: Mistake) -> tuple[int, int, int, int] | None:
    """Where a select's case has several keys, as a switch may: where it begins, the second one, what stands behind the last, and its end."""
    start = next((start for rule, start in mistake.rules if rule == "selectCase"), None)
    if start is None:
        return None
    end = next((at for at in range(start, len(tokens)) if tokens[at].text in (";", "{", "}", "?", ",") or tokens[at].type == Token.EOF), len(tokens))
    first = next_colon(tokens, start) + 1
    target = last = first
    while (last := next_colon(tokens, last)) < end:
        if last in (first, target):             # `::`
            return None
        target = last = last + 1
    leads = tokens[end].text == ";" and first < target and tokens[target + 1].text in (";", "(")
    return (start, first, target, end) if leads and mistake.index <= target else None


def next_colon(tokens: list[Token], index: int) -> int:
    """The first one from here on that no bracket holds."""
    depth = 0
    for at in range(index, len(tokens)):
        depth += (tokens[at].text in ("(", "[")) - (tokens[at].text in (")", "]"))
        if tokens[at].text == ":" and depth <= 0:
            return at
    return len(tokens)


def brought_back(tokens: list[Token], index: int) -> bool:
    """Whether the statement that a `)` is in may have lost its `(`: one that begins with a word which has one behind it, or with a call."""
    start = statement_start(tokens, index)
    words = [token.text for token in tokens[start:index]]
    return words[:1] != [] and (words[0] in (*STATEMENTS, "transition", "verify") or "(" not in words and "=" not in words)


def unclosed(tokens: list[Token], index: int) -> int | None:
    """The innermost bracket open before token `index`."""
    stack: list[int] = []
    for at, token in enumerate(tokens[:index]):
        if token.text in OPENERS:
            stack.append(at)
        elif token.text in CLOSERS and stack and OPENERS[tokens[stack[-1]].text] == token.text:
            stack.pop()
    return stack[-1] if stack else None


def never_closed(tokens: list[Token], index: int) -> tuple[int, int] | None:
    """The brace that is missing if the file has ended or, by how it is written, the next declaration has begun: which one is open, and the
    token before which it should be closed. What begins a declaration may be a name elsewhere: then reading goes on for a few tokens more."""
    at_end = tokens[index].type == Token.EOF
    new = index if at_end else next((i for i in range(max(index - SOFT, 1), index + 1) if begins(tokens, i)), None)
    if new is None:
        new = next_handler(tokens, index)
    if new is None:
        return None
    stack: list[int] = []
    for at, token in enumerate(tokens[:new]):
        if token.text in OPENERS:
            stack.append(at)
        elif token.text in CLOSERS and stack:
            opener = stack.pop()
            if token.text == "}" and tokens[at - 1].line < token.line and token.column < indent(tokens, opener):
                return opener, at                           # it stands where one further out is closed
    return (stack[-1], new) if not at_end and stack and all(tokens[at].text == "{" for at in stack) else None


def next_handler(tokens: list[Token], index: int) -> int | None:
    """Where, by how it is written, the next handler of a timing block begins, inside one whose brace is missing."""
    start, opened = statement_start(tokens, index), unclosed(tokens, index)
    while opened is not None and (behind := statement_start(tokens, opened)) < opened and tokens[behind].text not in HANDLERS:
        opened = unclosed(tokens, opened)
    fits = opened is not None and start > opened and tokens[start].text in HANDLERS and tokens[start - 1].line < tokens[start].line
    return start if fits and tokens[start].column <= indent(tokens, opened) else None      # type: ignore[arg-type]


def indent(tokens: list[Token], index: int) -> int:
    """Where the line of a token begins."""
    return next(tokens[i].column for i in range(index, -1, -1) if not i or tokens[i - 1].line < tokens[i].line)


def leading(tokens: list[Token], mistake: Mistake) -> list[Token]:
    """What leads to the mistake: its declaration's tokens before it, without the parts that are finished, if that ends in the same mistake."""
    index = mistake.index
    item = next((start for rule, start in mistake.rules if rule == "item"), index)
    kept = set(range(item, index))
    for (rule, start), (_, around) in zip(mistake.rules, mistake.rules[1:]):
        opener = unclosed(tokens, start) if rule in DROPPABLE and item < start else None
        if opener is not None and opener >= around:
            kept.difference_update(range(opener + 1, start))
    short = [tokens[i] for i in sorted(kept)]
    try:
        stopped = stops([*short, *tokens[index:index + SOFT], tokens[-1]])
    except RecursionError:                                  # as deep as the text that was just read, from a few calls further down
        return tokens[item:index]
    same = stopped is not None and stopped.index == len(short) and [rule for rule, _ in stopped.rules] == [rule for rule, _ in mistake.rules]
    return short if same else tokens[item:index]


def best_edit(tokens: list[Token], index: int, before: list[Token], name: bool) -> tuple[str, str, list[Token]] | None:
    """The change of one token at the mistake that lets the reader get furthest: (kind, text, new tokens). before: what leads to it, from the
    beginning of a declaration on; name: a name can stand here."""
    token = tokens[index]
    lone = token.text in (";", ",", ":", "=") or token.type == LpnParser.IDENT or token.type == LpnParser.NUMBER
    fresh_line = index > 0 and tokens[index - 1].line < token.line or token.text in CLOSERS
    insertions = [";", ")", ",", "]", ":", "=", ">", "}", "{", "("]
    tries: list[tuple[str, str]] = []
    if name and token.type not in (LpnParser.IDENT, LpnParser.NUMBER) and token.text.isidentifier():
        tries.append(("name", token.text))
    if fresh_line:
        tries.append(("insert", ";"))
    if token.text not in BRACKETS:
        tries.append(("delete", token.text))
    if token.text == "=":
        tries.append(("replace", "=="))
    if lone or token.text in ("==", "->", "."):
        tries += [("replace", text) for text in (";", ",", ":", "=") if text != token.text]
    tries += [("insert", text) for text in insertions]
    tries.append(("insert", "name"))
    if token.text in BRACKETS:
        tries.append(("delete", token.text))
    best, best_reach = None, 0
    end = min(len(tokens) - 1, index + AHEAD)
    for kind, text, *more in [*dict.fromkeys(tries), *cut_short(tokens, index)]:
        texts = [] if kind == "delete" else [text, *more]
        new = [make(LpnParser.IDENT if kind == "name" or one == "name" else TYPES[one], one, token) for one in texts]
        keep = index if kind == "insert" else index + 1
        reach = how_far(before + new + tokens[keep:end] + [tokens[-1]], len(before) + len(new)) + keep - index
        if kind == "delete" and text in BRACKETS and reach < SURE:
            continue                                        # brackets may well be right, and what is around them wrong
        if reach > best_reach:
            best, best_reach = (kind, text, tokens[:index] + new + tokens[keep:]), reach
        if reach >= SURE and kind == "name" or reach >= WHOLE:
            break
    return best if best_reach >= 3 else None


def cut_short(tokens: list[Token], index: int) -> list[tuple[str, ...]]:
    """What is put in where an expression ends too soon, so that the rest of its statement is not taken for part of it: the value that is missing,
    the other side of a `?`, and the brackets that are open."""
    if tokens[index].text not in (";", ")", "]", ","):
        return []
    start = next((i + 1 for i in range(index - 1, -1, -1) if tokens[i].text in (";", "{", "}")), 0)
    opened: list[str] = []
    for token in tokens[start:index]:
        if token.text in ("(", "["):
            opened.append(token.text)
        elif opened and token.text == OPENERS[opened[-1]]:
            opened.pop()
    closers = [OPENERS[text] for text in reversed(opened)] if tokens[index].text == ";" else []
    ways = [["name"], [], *([[":", "name"], ["name", ":", "name"]] if any(token.text == "?" for token in tokens[start:index]) else [])]
    return [("insert", *way, *closers) for way in ways if len(way) + len(closers) > 1]


def how_far(tokens: list[Token], index: int) -> int:
    """How many tokens from `index` on are read before the next mistake."""
    try:
        mistake = stops(tokens)
        return WHOLE if mistake is None else mistake.index - index
    except RecursionError:
        return 0


def stops(tokens: list[Token]) -> Mistake | None:
    """The first mistake."""
    try:
        read(tokens)
    except Mistake as mistake:
        return mistake
    return None


def drop_item(tokens: list[Token], mistake: Mistake) -> list[Token]:
    """Tokens without the smallest item around the mistake: from its start to its `;` or its closing brace. Between declarations: without
    what stands before the next one, which may be the rest of one that a brace has ended too soon."""
    if between(mistake):
        end = next(i for i, token in enumerate(tokens) if i > mistake.index and begins(tokens, i) or token.type == Token.EOF)
        return tokens[:mistake.index] + tokens[end:]
    start = next((start for rule, start in mistake.rules if rule in DROPPABLE and start < mistake.index), mistake.index)
    depth = 0
    for token in tokens[start:mistake.index]:
        depth += (token.text == "{") - (token.text == "}")
    end = mistake.index
    while tokens[end].type != Token.EOF:
        text = tokens[end].text
        if text == "}" and depth <= 0:
            break
        depth += (text == "{") - (text == "}")
        end += 1
        if depth <= 0 and text in (";", "}"):
            break
    if end == start:
        end += 1                                            # a brace that closes nothing here
    return tokens[:start] + tokens[min(end, len(tokens) - 1):]


def without_statement(tokens: list[Token], start: int) -> list[Token]:
    """Tokens without the statement that begins there: to its `;`, or to the brace that closes its first one."""
    end, depth = start, 0
    while tokens[end].type != Token.EOF and not (depth == 0 and tokens[end].text == "}"):
        depth += (tokens[end].text == "{") - (tokens[end].text == "}")
        end += 1
        if depth == 0 and tokens[end - 1].text in (";", "}"):
            break
    return tokens[:start] + tokens[end:]


def between(mistake: Mistake) -> bool:
    """Whether a declaration is what should begin here."""
    rules = [rule for rule, _ in mistake.rules]
    return rules[:1] == ["program"] or rules[:2] == ["item", "program"]


def begins(tokens: list[Token], index: int) -> bool:
    """Whether a declaration begins here, by how the file is written: on a line of its own, no further to the right than its first one."""
    token = tokens[index]
    return token.type in BEGINS and token.line > tokens[index - 1].line and token.column <= margin(tokens)


def margin(tokens: list[Token]) -> int:
    """Where the line of the first token begins, in front of which one may have been dropped."""
    first = tokens[0]
    text = first.getInputStream().strdata
    before = text[text.rfind("\n", 0, first.start) + 1:first.start]
    return len(before) - len(before.lstrip())


# ---------------------------------------------------------------- wording

def report(source: Source, tokens: list[Token], mistake: Mistake, kind: str, text: str, diagnostics: Diagnostics) -> None:
    token, rules = tokens[mistake.index], [rule for rule, _ in mistake.rules]
    before = tokens[mistake.index - 1] if mistake.index else token
    here = span_of(source, token)
    noun = next((NOUNS[rule] for rule in rules if rule in NOUNS), None)
    form = next((f"it is written like this: {FORMS[rule]}" for rule in rules[:3] if rule in FORMS), "")
    if token.text == "<" and before.type == LpnParser.IDENT and kind in ("none", "delete"):
        close = get_close_matches(before.text, ("bit", "int", "le", "varbit"), 1)
        unsigned = f"write bit<{tokens[mistake.index + 1].text}>: a number without a sign" if before.text in ("uint", "u", "unsigned") else ""
        diagnostics.error(f"there is no type '{before.text}<...>'", span_of(source, before),
                          unsigned or (f"did you mean {close[0]}<...>?" if close else "there are bit<N>, int<N>, le<N> and varbit<N>"))
    elif kind == "name":
        if not named_before(text, diagnostics):             # where it is used, it is the same mistake
            diagnostics.error(NO_NAME.format(text), here, "choose another name")
    elif kind == "insert" and text == ";":
        after = span_of(source, before)
        place = Span(source, after.end_line, after.end_column, after.end_line, after.end_column + 1)
        diagnostics.error(f"expected ';' after {noun or 'this'}", place, "add ';'")
    elif kind == "insert" and text == "name":
        diagnostics.error(f"expected a name or a value before '{token.text}'", here, form)
    elif kind == "insert" and text in CLOSERS and before.line < token.line:
        opener = tokens[unclosed(tokens, mistake.index) or 0]
        diagnostics.error(f"this '{opener.text}' is never closed", span_of(source, opener),
                          f"add '{text}' before line {token.line}")
    elif kind == "insert":
        after = span_of(source, before)
        place = Span(source, after.end_line, after.end_column, after.end_line, after.end_column + 1)
        diagnostics.error(f"expected '{text}' after '{before.text}'", place, f"add '{text}'")
    elif kind == "replace":
        diagnostics.error(f"expected '{text}' instead of '{token.text}'", here)
    else:
        inside = next((WORDS[rule] for rule in rules[:2] if rule in WORDS), None)
        expected = f", expected {inside}" if inside else f" in {noun}" if noun else ""
        if between(mistake):
            expected = f", expected {WORDS['program']}"
        hint = "remove it" if kind == "delete" else form
        if token.text == "=" and rules[:1] == ["registerDecl"]:
            hint = f'it begins as 0; other values are given with --tables: {{"{before.text}": 1}}'
        if between(mistake):
            hint = foreign_variable(tokens, mistake.index) or DECLARATIONS.get(token.text, hint)
        name = token.text if len(token.text) <= LONGEST else token.text[:LONGEST] + "..."
        diagnostics.error(f"unexpected '{name}'{expected}", here, hint)
