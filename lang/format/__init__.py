"""One style for LPN sources: `format_source` puts every token in its place and loses no comment.

Where lines break is mostly the author's choice, as long as they are not longer than WIDTH columns; indentation, spaces
between tokens, blank lines and columns are not. The tokens come from the parse tree, so whatever the grammar accepts is
kept; rules that know a construct are tables of rule names (`spacing`, `breaks`, `rows`), and what no table names is set
token by token with the general ones. The result parses to the same program, and formatting it again changes nothing.
"""
from __future__ import annotations

import re

from ..build import items_of
from ..diagnostics import Diagnostics
from ..source import Source
from ..syntax import parse_tree
from .breaks import decide
from .columns import align
from .lines import Page
from .pieces import Text

WORDS = re.compile(r"\w+|[^\w\s]")            # what formatting must leave as it is, whatever stands between
WIDTH = 120                                     # columns of a line of code; comments may be longer


def format_source(source: Source) -> str:
    """The text of `source` in the one style. Raises DiagnosticError if it cannot be parsed."""
    diagnostics = Diagnostics()
    tree = parse_tree(source, diagnostics)
    if tree is not None:
        items_of(source, tree, diagnostics)
    diagnostics.raise_errors()
    assert tree is not None
    text = Text(source.text, tree)
    page = Page(text)
    decide(page, WIDTH)
    align(page, WIDTH)
    out = page.render()
    if WORDS.findall(out) != WORDS.findall(source.text):
        raise AssertionError(f"formatting would change {source.name}; it is left as it is")
    return out
