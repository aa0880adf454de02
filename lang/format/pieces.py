"""What is set: the tokens of a parse tree with the comments between them, and the braces that make blocks."""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union

from antlr4 import ParserRuleContext, Token
from antlr4.tree.Tree import TerminalNode

from ..grammar.LpnParser import LpnParser

TAB = 4
Tree = Union[ParserRuleContext, TerminalNode]
# What the lexer skips and does not mean nothing to a reader: comments and P4's annotations. It lies between tokens.
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|@[A-Za-z_]\w*(?:\([^()]*\))?", re.S)
EXPRESSIONS = (LpnParser.ExprContext, LpnParser.ExprsContext)


def kind_of(context: ParserRuleContext | None) -> str:
    """The grammar's name of a construct: its alternative's label, else its rule."""
    return type(context).__name__.removesuffix("Context") if context is not None else ""


@dataclass(eq=False)
class Piece:
    """A token, a comment or an annotation. `newlines`: line ends in front of it; `column`: where it stood, from 0; `inside`: the
    construct of which a token is a direct part."""

    index: int
    text: str
    newlines: int
    column: int
    token: Token | None = None
    inside: ParserRuleContext | None = None
    name: bool = False                          # an identifier, even if it is spelled like a word of the language

    @property
    def comment(self) -> bool:
        return self.token is None

    @property
    def annotation(self) -> bool:
        """Part of what follows it."""
        return self.comment and self.text.startswith("@")

    @property
    def to_line_end(self) -> bool:
        return self.comment and self.text.startswith("//")


@dataclass(eq=False)
class Item:
    """What stands between two places where a block may break: its construct (None: it is a list's token run)."""

    first: int
    last: int
    node: Tree


@dataclass(eq=False)
class Block:
    """`{ ... }`, or the whole file. A list's elements are separated by commas, other items end with `;` or `}`."""

    node: ParserRuleContext
    open: int                                   # the piece of the brace; -1 of the file
    close: int
    items: list[Item] = field(default_factory=list)
    is_list: bool = False
    multi: bool = False                         # broken behind `{` and before `}`
    hugging: bool = False                       # broken between its items only


class Text:
    """The pieces in order, an empty one for the end of the file last, and the blocks, outer ones first."""

    def __init__(self, text: str, tree: ParserRuleContext):
        self.pieces: list[Piece] = []
        self.blocks: list[Block] = []
        self.of_token: dict[int, int] = {}      # token index -> piece index
        at = 0
        for leaf in leaves(tree):
            token = leaf.symbol
            end = token.type == LpnParser.EOF
            start = len(text) if end else token.start
            newlines = self.comments(text, at, start)
            parent = leaf.parentCtx
            word = isinstance(parent, LpnParser.IdentifierContext) or token.type == LpnParser.IDENT
            self.of_token[token.tokenIndex] = len(self.pieces)
            self.pieces.append(Piece(len(self.pieces), "" if end else token.text, newlines, token.column, token,
                                     None if end else parent, word))
            at = start if end else token.stop + 1
        self.find_blocks(tree)

    def comments(self, text: str, at: int, end: int) -> int:
        """Adds the comments between two tokens; the line ends behind the last one."""
        assert not COMMENT.sub("", text[at:end]).strip(), "the lexer skips what the formatter does not know"
        for found in COMMENT.finditer(text, at, end):
            newlines = text.count("\n", at, found.start())
            line = text[text.rfind("\n", 0, found.start()) + 1:found.start()]
            self.pieces.append(Piece(len(self.pieces), found.group().rstrip(), newlines, len(line.expandtabs(TAB))))
            at = found.end()
        return text.count("\n", at, end)

    def first(self, node: Tree) -> int:
        token = node.symbol if isinstance(node, TerminalNode) else node.start
        return self.of_token[token.tokenIndex]

    def last(self, node: Tree) -> int:
        token = node.symbol if isinstance(node, TerminalNode) else node.stop
        return self.of_token[token.tokenIndex]

    def find_blocks(self, tree: ParserRuleContext) -> None:
        items = [Item(self.first(child), self.last(child), child) for child in tree.children[:-1]]
        self.blocks.append(Block(tree, -1, len(self.pieces) - 1, items, multi=True))
        for node in contexts(tree):
            children = node.children or []
            opened = None
            for at, child in enumerate(children):
                if isinstance(child, TerminalNode) and child.symbol.text == "{":
                    opened = at
                elif isinstance(child, TerminalNode) and child.symbol.text == "}" and opened is not None:
                    self.blocks.append(self.block(node, children[opened:at + 1]))
                    opened = None

    def block(self, node: ParserRuleContext, children: list[Tree]) -> Block:
        block = Block(node, self.first(children[0]), self.last(children[-1]))
        inner = children[1:-1]
        if len(inner) == 1 and isinstance(inner[0], LpnParser.ExprsContext):
            inner = inner[0].children
        block.is_list = any(isinstance(child, EXPRESSIONS) or is_comma(child) for child in inner) or (
            bool(inner) and self.pieces[self.last(inner[-1])].text not in (";", "}"))
        fresh = True
        for child in inner:
            if fresh:
                block.items.append(Item(self.first(child), self.last(child), child))
            else:
                block.items[-1].last = self.last(child)
            fresh = is_comma(child) if block.is_list else self.pieces[self.last(child)].text in (";", "}")
        return block


def is_comma(node: Tree) -> bool:
    return isinstance(node, TerminalNode) and node.symbol.text == ","


def leaves(tree: ParserRuleContext) -> Iterator[TerminalNode]:
    """The tokens, in order; without recursion, for expressions may be deep."""
    stack: list[Tree] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, TerminalNode):
            yield node
        else:
            stack += reversed(node.children or [])


def contexts(tree: ParserRuleContext) -> Iterator[ParserRuleContext]:
    """The constructs, outer ones first."""
    stack: list[Tree] = [tree]
    while stack:
        node = stack.pop()
        if not isinstance(node, TerminalNode):
            yield node
            stack += reversed(node.children or [])


def child(node: ParserRuleContext, what: type | str) -> Tree | None:
    """The first child of a class, or the token of a text."""
    for one in node.children or []:
        if one.symbol.text == what if isinstance(one, TerminalNode) else not isinstance(what, str) and isinstance(one, what):
            return one
    return None
