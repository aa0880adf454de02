"""Columns: cells of neighbouring rows are put below each other, and so are the comments behind lines."""
from __future__ import annotations

from collections.abc import Iterator

from .lines import Page
from .pieces import Block
from .rows import HEADED, Row, rows_of

REACH = 32                                      # blanks that a cell may be moved by
STOPS = (48, 60, 72)                            # columns for the comments behind lines, from 0
GAP = 2                                         # blanks before such a comment
INNER = 10                                      # the number of the column of a block's second statement


def align(page: Page, width: int) -> None:
    blocks = {block.open: block for block in page.text.blocks}
    tables = [table for block in page.text.blocks if block.multi or block.hugging for table in tables_of(page, block, blocks)]
    columns: dict[int, list[list[tuple[Row, int]]]] = {}
    for table in tables:
        if table[0].inner and len({len(row.inner) for row in table}) == 1:
            for row in table:
                row.cells += [(INNER + number, at) for number, at in enumerate(row.inner)]
        for number in sorted({number for row in table for number, _ in row.cells}):
            columns.setdefault(number, []).extend(runs(page, table, number))
    for number in sorted(columns):
        for run in columns[number]:
            level(page, run, width)
        page.place()
    comments(page)
    page.place()


def tables_of(page: Page, block: Block, blocks: dict[int, Block]) -> Iterator[list[Row]]:
    """Rows of one family without a blank line between them."""
    table: list[Row] = []
    before = block.open
    for item in block.items:
        rows = rows_of(page, block, item, blocks)
        blank = any(start is not None and start.blank for start in page.starts[before + 1:item.first + 1])
        shared = page.starts[item.first] is None and not (block.hugging and item is block.items[0])
        if shared or not rows or blank and rows[0].family not in HEADED:
            if table:
                yield table
            table = []
        if shared:
            rows = []
        for row in rows:
            if row.family == "":
                if table and table[0].family == "field":
                    table.append(row)
                continue
            if table and table[0].family != row.family:
                yield table
                table = []
            table.append(row)
        before = item.last
    if table:
        yield table


def runs(page: Page, table: list[Row], number: int) -> Iterator[list[tuple[Row, int]]]:
    """Neighbouring rows that have a cell in this column, in their first line."""
    run: list[tuple[Row, int]] = []
    for row in table:
        at = dict(row.cells).get(number)
        if at is not None and all(start is None for start in page.starts[row.first + 1:at + 1]):
            run.append((row, at))
        elif number > 1 or row.family:
            yield run
            run = []
    yield run


def level(page: Page, run: list[tuple[Row, int]], width: int) -> None:
    """Moves cells to the right, to where the furthest of them is; those that would go too far stay."""
    def offset(row: Row, at: int) -> int:
        return page.columns[at] - page.columns[row.first]

    def end(row: Row) -> int:
        line = next((i for i in range(row.first + 1, len(page.pieces)) if page.starts[i] is not None), len(page.pieces) - 1)
        return page.code_end(list(range(row.first, line)))
    nearest = min((offset(row, at) for row, at in run), default=0)
    run = [(row, at) for row, at in run if offset(row, at) <= nearest + REACH]
    while len(run) > 1:
        target = max(offset(row, at) for row, at in run)
        over = [(row, at) for row, at in run if end(row) <= width < end(row) + target - offset(row, at)]
        if not over:
            for row, at in run:
                page.pads[at] += target - offset(row, at)
            return
        run = [one for one in run if one not in over]


def comments(page: Page) -> None:
    """Comments behind code: in neighbouring lines below each other, at a stop that all of them reach."""
    run: list[tuple[int, int]] = []             # (piece of the comment, end of the code before it)
    for line in [*page.lines(), []]:
        start = page.starts[line[0]] if line else None
        at = next((i for i in line[1:] if page.pieces[i].comment and all(page.pieces[k].comment for k in line[line.index(i):])), None)
        if at is None or start is not None and start.blank:
            stop(page, run)
            run = []
        if at is not None:
            run.append((at, page.ends[at - 1]))
    stop(page, run)


def stop(page: Page, run: list[tuple[int, int]]) -> None:
    near = [end for _, end in run if end + GAP <= STOPS[-1]]
    column = next((each for each in STOPS if all(end + GAP <= each for end in near)), 0)
    for at, end in run:
        far = -(-(end + GAP) // 4) * 4
        page.pads[at] = (column if end + GAP <= STOPS[-1] else far) - end - 1
