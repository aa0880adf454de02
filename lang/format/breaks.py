"""Where lines begin: the author's choice where it is one, everything else by rule; lines that are too long are broken."""
from __future__ import annotations

from antlr4 import ParserRuleContext

from ..grammar.LpnParser import LpnParser
from .lines import Page, Start
from .pieces import Block, Piece, child, contexts, kind_of

STEP = 4
HUGGING = {"CodecGroup"}                        # may have their first row behind the brace, the others below it
OPERATIONS = {"BinaryExpr", "ConditionalExpr"}  # may be broken before their operators
# Words in front of which a statement may be broken.
CLAUSES = {"when", "in", "sized", "deferred", "within", "jitter", "via", "timeout", "where", "cost"}
DECLARED_LISTS = {"EnumDecl", "ErrorDecl"}      # lists that are set as blocks when they are too long for a line

Wish = tuple[str, object]                       # a start's kind, and the block or construct that it depends on


def decide(page: Page, width: int) -> None:
    """Sets the page's starts, so that as far as possible no line of code is longer than `width`."""
    for block in page.text.blocks:
        shape(page, block)
    wraps: set[int] = set()
    breaker = Breaker(page, wraps)
    while True:
        breaker.run()
        page.place()
        found = False
        for line in page.lines():
            if page.code_end(line) > width:
                found = breaker.shorten(line, width) or found
        if not found:
            return


def shape(page: Page, block: Block) -> None:
    """Whether a block is broken, as its author has it."""
    inner = page.pieces[block.open + 1:block.close + 1]
    if block.open < 0 or len(inner) == 1:
        return
    if block.is_list:
        block.multi = inner[0].newlines > 0 or inner[0].to_line_end
    else:
        broken = any(piece.newlines or piece.to_line_end or "\n" in piece.text for piece in inner)
        block.hugging = broken and kind_of(block.node) in HUGGING and not inner[0].newlines and not inner[-1].newlines
        block.multi = broken and not block.hugging


class Breaker:
    def __init__(self, page: Page, wraps: set[int]):
        self.page, self.text, self.pieces, self.wraps = page, page.text, page.pieces, wraps
        self.code = [piece.index for piece in self.pieces if not piece.comment]
        self.before = dict(zip(self.code, [-1, *self.code]))
        self.opens = {block.open: block for block in self.text.blocks}
        self.closes = {block.close: block for block in self.text.blocks}
        self.branches = [node for node in contexts(self.text.blocks[0].node)
                         if isinstance(node, (LpnParser.IfStatementContext, LpnParser.ForStatementContext))]

    def run(self) -> None:
        """Starts for all pieces."""
        self.page.starts = [None] * len(self.pieces)
        self.line: list[int] = [0] * len(self.pieces)           # the first piece of the line of a piece
        self.logical: list[int] = [0] * len(self.pieces)        # the same, of the line that its statement begins in
        wishes = self.wishes()
        before = -1
        for at in self.code:
            self.comments(before, at, wishes.get(at))
            before = at

    # ------------------------------------------------------------ wishes: starts of tokens, comments aside

    def wishes(self) -> dict[int, Wish]:
        out: dict[int, Wish] = {}
        for at, before in self.before.items():
            piece = self.pieces[at]
            moved = at + 1 < len(self.pieces) and self.is_operator(piece) and self.pieces[at + 1].newlines > 0
            broken = moved or at in self.wraps or self.apart(before, at)
            if broken and before >= 0 and self.may_break(self.pieces[before], piece):
                out[at] = ("cont", None)
        for block in self.text.blocks:
            self.block_wishes(block, out)
        for node in self.branches:
            self.branch_wishes(node, out)
        return out

    def apart(self, before: int, at: int) -> bool:
        """Whether two tokens stood in different lines."""
        return any(piece.newlines for piece in self.pieces[before + 1:at + 1])

    def block_wishes(self, block: Block, out: dict[int, Wish]) -> None:
        if not block.multi and not block.hugging:
            return
        for number, item in enumerate(block.items):
            if block.is_list and number:
                if item.first in out:
                    out[item.first] = ("item", block)
            elif number or not block.hugging:
                out[item.first] = ("item", block)
        if not block.hugging:
            out[block.close] = ("close", block) if block.open >= 0 else ("item", block)

    def branch_wishes(self, node: ParserRuleContext, out: dict[int, Wish]) -> None:
        statements = [one for one in node.children if isinstance(one, LpnParser.StatementContext)]
        for one in statements:
            at = self.text.first(one)
            bare = not isinstance(one, LpnParser.BlockStatementContext)
            chained = isinstance(one, LpnParser.IfStatementContext) and one is not statements[0]
            if bare and not chained and self.apart(self.before[at], at):
                out[at] = ("sub", node)
            else:
                out.pop(at, None)
        word = child(node, "else")
        if word is None:
            return
        at, end = self.text.first(word), self.text.last(statements[0])
        block = self.closes.get(end)
        below = self.apart(end, at)
        if not (block is not None and block.multi) and below or self.text.first(statements[0]) in out:
            out[at] = ("else", node)

    def is_operator(self, piece: Piece) -> bool:
        return kind_of(piece.inside) in OPERATIONS

    def may_break(self, before: Piece, piece: Piece) -> bool:
        """Whether a statement may be broken between two tokens."""
        if before.text in (",", "(") or before.text == "=" and not before.name:
            return True
        if self.is_operator(piece):
            return not (before.text == ">" and before.inside is piece.inside)       # `>>` is two tokens
        return piece.text == "->" or piece.text in CLAUSES and not piece.name

    # ------------------------------------------------------------ starts

    def comments(self, before: int, at: int, wish: Wish | None) -> None:
        """Starts of the token `at` and of the comments between it and the token before."""
        forced = led = False
        fresh = before < 0 or before in self.opens and self.opens[before].multi
        own = wish
        if wish is not None and wish[0] == "close":
            own = ("item", wish[1])
        for i in range(before + 1, at):
            piece, follower = self.pieces[i], self.pieces[i + 1]
            ends = piece.to_line_end or follower.newlines > 0 or i + 1 == at and (follower.text == "" or own is not wish)
            start: Wish | None = None
            if piece.newlines or piece.annotation and own is not None or i == 0:
                start = own or (("cont", None) if ends else None)
                led = not ends and start is not None        # the token stands behind it, in the same line
                forced = ends and own is None
            elif self.pieces[i - 1].to_line_end:
                start = own or ("cont", None)
            self.begin(i, start, at, fresh)
            fresh = fresh and start is None
            if piece.to_line_end:
                forced, led = True, False
        final = None if led else wish or (("cont", None) if forced else None)
        self.begin(at, final, at, fresh)

    def begin(self, i: int, wish: Wish | None, at: int, fresh: bool) -> None:
        """Notes that a line begins at piece i, for the sake of token `at`."""
        if wish is None:
            self.line[i] = self.line[i - 1] if i else 0
            self.logical[i] = self.logical[i - 1] if i else 0
            return
        kind, about = wish
        if kind == "cont":
            anchor, indent = self.continuation(at)
            self.page.starts[i] = Start(kind, anchor, indent)
            self.line[i], self.logical[i] = i, self.logical[i - 1]
            return
        if isinstance(about, Block):
            if about.hugging:
                anchor, indent = about.items[0].first, 0
            elif about.open < 0:
                anchor, indent = -1, 0
            else:
                anchor, indent = self.logical[about.open], STEP if kind == "item" else 0
        else:
            assert isinstance(about, ParserRuleContext)
            anchor, indent = self.logical[self.text.first(about)], STEP if kind == "sub" else 0
        blank = kind == "item" and self.pieces[i].newlines > 1 and not fresh and self.pieces[i].text != ""
        self.page.starts[i] = Start(kind, anchor, indent, blank)
        self.line[i] = self.logical[i] = i

    def continuation(self, at: int) -> tuple[int, int]:
        """The anchor and indent of a line that goes on with a statement at token `at`."""
        node = self.within(at)
        if node is None or isinstance(node, LpnParser.ProgramContext):
            return -1, 0
        piece = self.pieces[at]
        if isinstance(node, LpnParser.ConditionalExprContext) and piece.text == ":" and piece.inside is node:
            question = child(node, "?")
            assert question is not None
            return self.text.first(question), 0
        first = self.text.first(node)
        row = self.row_of(node)
        if row is not None and self.text.first(row) <= at:
            items = self.text.first(row)
            if node.start is row.parentCtx.start or self.line[first] == self.line[items]:
                return items, 0 if node is row.parentCtx else STEP
        line = self.line[first]
        start = self.page.starts[line]
        if line == first and start is not None and start.kind == "cont" and piece.inside is node and self.is_operator(piece):
            return first, 0
        return line, STEP

    def within(self, at: int) -> ParserRuleContext | None:
        """The innermost construct that holds token `at` and does not begin with it."""
        node = self.pieces[at].inside
        while node is not None and node.start is self.pieces[at].token:
            node = node.parentCtx
        return node

    def row_of(self, node: ParserRuleContext) -> ParserRuleContext | None:
        """The first item of the codec row that a construct is part of."""
        while node is not None and not isinstance(node, LpnParser.CodecRowContext):
            node = node.parentCtx
        return child(node, LpnParser.RowItemContext) if node is not None else None      # type: ignore[return-value]

    # ------------------------------------------------------------ lines that are too long

    def shorten(self, line: list[int], width: int) -> bool:
        """Breaks the outermost block of a line, else its loosest expression. False if there is nothing to break."""
        inside = set(line)
        for i in line:
            block = self.opens.get(i)
            if block is not None and not block.multi and not block.hugging and block.items and block.close in inside:
                if not block.is_list or kind_of(block.node) in DECLARED_LISTS:
                    block.multi = True
                    return True
        best: tuple[bool, int, int] | None = None
        for before, i in zip(line, line[1:]):
            if self.pieces[i].comment or self.pieces[before].comment or self.page.ends[before] > width:
                continue
            if not self.may_break(self.pieces[before], self.pieces[i]):
                continue
            anchor, indent = self.continuation(i)
            if (self.page.columns[anchor] if anchor >= 0 else 0) + indent >= self.page.columns[i]:
                continue
            rank = (self.pieces[before].text in ("(", "="), self.depth(i), -i)
            best = rank if best is None or rank < best else best
        if best is None:
            return False
        at = -best[2]
        self.wraps.add(at)
        node = self.within(at)
        if isinstance(node, LpnParser.ConditionalExprContext) and self.pieces[at].text == ":":
            question = child(node, "?")
            assert question is not None
            self.wraps.add(self.text.first(question))
        return True

    def depth(self, at: int) -> int:
        node, depth = self.within(at), 0
        while node is not None:
            node, depth = node.parentCtx, depth + 1
        return depth
