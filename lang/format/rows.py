"""Which pieces stand in columns: the cells of declarations and other lines that are read as rows of a table."""
from __future__ import annotations

from dataclasses import dataclass, field

from antlr4 import ParserRuleContext
from antlr4.tree.Tree import TerminalNode

from ..grammar.LpnParser import LpnParser as P
from .lines import Page
from .pieces import Block, Item, child, kind_of

NAMED = "name"                                  # in KEYS: the declared name, then `=`

# By construct: the family of its rows, and what begins their cells (a token, NAMED, or `a|b`: what follows token a).
KEYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "StructField": ("field", (NAMED, "=")),
    "ConstDecl": ("const", (NAMED, "=")),
    "ConstStatement": ("const", (NAMED, "=")),
    "TypedefDecl": ("typedef", (NAMED,)),
    "VarDecl": ("variable", (NAMED, "=")),
    "VarStatement": ("variable", (NAMED, "=")),
    "CodecVar": ("variable", (NAMED, "=")),
    "RegisterDecl": ("state", (NAMED,)),
    "CounterDecl": ("state", (NAMED,)),
    "ValueSetDecl": ("state", (NAMED,)),
    "MeterDecl": ("state", (NAMED,)),
    "BufferDecl": ("state", (NAMED,)),
    "EnumMember": ("member", ("=",)),
    "KeyProperty": ("property", ("=",)),
    "ActionsProperty": ("property", ("=",)),
    "EntriesProperty": ("property", ("=",)),
    "DefaultProperty": ("property", ("=",)),
    "SizeProperty": ("property", ("=",)),
    "TableKey": ("key", (":",)),
    "TableEntry": ("entry", (":|",)),
    "SelectCase": ("case", (":|",)),
    "SwitchCase": ("case", (":|",)),
    "CodecRow": ("row", (":|",)),
    "ChoiceArm": ("arm", (":|",)),
    "OnBinding": ("binding", (":",)),
    "TimingBinding": ("binding", (":",)),
    "EnergyBudget": ("budget", ("<", "<=")),
}
NEUTRAL = {"ChoiceItem", "WhereItem"}           # may stand between the rows of a header
HEADED = {"CodecGroup"}                         # their braces are aligned, whatever blank lines are between them


@dataclass
class Row:
    """A line, or an item's first line, that may share columns with its neighbours. `cells`: pieces by column number;
    `inner`: the statements of its block but the first, which are aligned if all rows have as many."""

    family: str
    first: int
    last: int
    cells: list[tuple[int, int]] = field(default_factory=list)
    inner: list[int] = field(default_factory=list)


def rows_of(page: Page, block: Block, item: Item, blocks: dict[int, Block]) -> list[Row]:
    """The rows of an item; an empty list ends a table, a row of family "" lies in it without being part of it."""
    node = item.node
    while isinstance(node, ParserRuleContext) and kind_of(node) not in KEYS and node.getChildCount() == 1:
        node = node.getChild(0)
    if isinstance(node, TerminalNode):
        return []
    kind = kind_of(node)
    if kind == "FieldDecl":
        return [field_row(page, item, node)]
    if kind in KEYS:
        family, keys = KEYS[kind]
        if family == "property" and not one_line(page, item.first, item.last):
            return [Row(family, item.first, item.last)]
        return [Row(family, item.first, item.last, cells_of(page, node, keys))]
    if kind in NEUTRAL:
        return [Row("", item.first, item.last)]
    if kind == "IfStatement":
        return if_rows(page, node, blocks)
    if kind in HEADED:
        brace = page.text.first(child(node, "{"))           # type: ignore[arg-type]
        own = blocks[brace]
        return [] if own.multi else [Row(kind, item.first, item.last, [(1, brace)])]
    return braced_row(page, item, kind, blocks)


def cells_of(page: Page, node: ParserRuleContext, keys: tuple[str, ...]) -> list[tuple[int, int]]:
    cells = []
    for number, key in enumerate(keys, 1):
        found = child(node, P.IdentifierContext) if key == NAMED else child(node, key.rstrip("|"))
        if key.endswith("|"):                               # what follows the last token of this text
            same = [one for one in node.children if isinstance(one, TerminalNode) and one.symbol.text == key[:-1]]
            after = [one for one in node.children[node.children.index(same[-1]) + 1:]] if same else []
            found = after[0] if after else None
            if found is not None and isinstance(found, TerminalNode):
                found = None                                # `1: ;`
        if found is not None:
            cells.append((number, page.text.first(found)))
    return cells


def field_row(page: Page, item: Item, node: ParserRuleContext) -> Row:
    """A header's field: its name, its equation, and what follows the equation. A varbit does not widen the columns."""
    attributes = [one for one in node.children if isinstance(one, P.FieldAttributeContext)]
    if any(isinstance(one, P.SizedAttributeContext) for one in attributes):
        return Row("", item.first, item.last)
    row = Row("field", item.first, item.last, cells_of(page, node, (NAMED,)))
    if attributes and isinstance(attributes[0], P.EquationAttributeContext):
        row.cells += [(number, page.text.first(one)) for number, one in enumerate(attributes[:2], 2)]
    return row


def if_rows(page: Page, node: ParserRuleContext, blocks: dict[int, Block]) -> list[Row]:
    """Each `if (...) { ... }` that stands in one line; a last `else` below them is not part of the table."""
    begin = page.text.first(node)
    rows = [Row("if", begin, begin)]
    chain: ParserRuleContext | None = node
    while chain is not None:
        then, *otherwise = [one for one in chain.children if isinstance(one, P.StatementContext)]
        branch(page, rows[-1], then, blocks)
        chain = None
        for other in otherwise:
            word = page.text.first(child(other.parentCtx, "else"))         # type: ignore[arg-type]
            chained = isinstance(other, P.IfStatementContext)
            if page.starts[word] is None:
                rows[-1].cells.append((len(rows[-1].cells) + 1, word))
            elif chained:
                rows.append(Row("if", word, word))
            else:
                break
            if chained:
                chain = other
            else:
                branch(page, rows[-1], other, blocks)
    for row in rows:
        row.family = f"if {len(row.cells)}"
    return rows if all(one_line(page, row.first, row.last) for row in rows) else []


def branch(page: Page, row: Row, statement: ParserRuleContext, blocks: dict[int, Block]) -> None:
    """Adds a branch of an `if` to its row."""
    row.last = page.text.last(statement)
    if isinstance(statement, P.BlockStatementContext):
        brace = page.text.first(statement)
        row.cells.append((len(row.cells) + 1, brace))
        row.inner += [each.first for each in blocks[brace].items[1:]]


def braced_row(page: Page, item: Item, kind: str, blocks: dict[int, Block]) -> list[Row]:
    """A declaration in one line: its brace and the statements in it."""
    own = next((one for one in blocks.values() if one.close == item.last and one.open > item.first), None)
    if own is None or not one_line(page, item.first, item.last):
        return []
    return [Row(kind, item.first, item.last, [(1, own.open)], [each.first for each in own.items[1:]])]


def one_line(page: Page, first: int, last: int) -> bool:
    return all(start is None for start in page.starts[first + 1:last + 1])
