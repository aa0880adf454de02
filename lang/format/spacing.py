"""How many blanks stand between two pieces of one line."""
from __future__ import annotations

from functools import lru_cache

from antlr4.tree.Tree import TerminalNode

from ..grammar.LpnParser import LpnParser
from .pieces import Piece, kind_of

# Constructs by how they set their colon; all others write `a: b`.
TIGHT_COLON = {"IndexExpr", "TagBits", "InlineWidthExpr", "FollowingExpr"}
WIDE_COLON = {"ConditionalExpr", "TableKey", "OnBinding", "TimingBinding"}
CALLED_WORDS = {"select", "sizeof", "inline"}               # words that look like the name of a function
SYMBOLS = {name.strip("'") for name in LpnParser.literalNames if not name.strip("'").isidentifier()}
TIGHT = {".", ".."}
ROW_GAP = 2                                     # blanks between the rows of a codec that stand in one line


def blanks(before: Piece, piece: Piece) -> int:
    """Blanks between two pieces that follow each other in a line. Two tokens never grow together."""
    if before.comment or piece.comment:
        return 1
    wanted = wish(before, piece)
    return wanted if wanted or not merge(before.text, piece.text) else 1


def wish(before: Piece, piece: Piece) -> int:
    left, right = before.text, piece.text
    if left == ";":
        rows = kind_of(before.inside) == "CodecRow" and starts(piece, "CodecRow")
        return ROW_GAP if rows else 1
    if left == ":" or right == ":":
        return colon(before if left == ":" else piece, before, piece)
    if right in (";", ",", ")", "]") or left in ("(", "["):
        return 0
    if left in TIGHT or right in TIGHT:
        return 0
    if left == "{" or right == "}":
        return 0 if (left, right) == ("{", "}") else 1
    if is_angle(piece) or left == "<" and is_angle(before):
        return 0
    if kind_of(before.inside) == "UnaryExpr":
        return 0
    if kind_of(before.inside) == "BinaryExpr" and (left, right) == (">", ">") and before.inside is piece.inside:
        return 0
    if right == "[":
        return 0 if before.name or left in (")", "]", ">") or left[-1].isalnum() else 1
    if right == "(":
        called = before.name or left in CALLED_WORDS or left == "]" or left == ">" and is_angle(before)
        return 0 if called or left == ")" and kind_of(piece.inside) == "CallExpr" else 1
    return 1


def colon(own: Piece, before: Piece, piece: Piece) -> int:
    kind = kind_of(own.inside)
    if kind == "InlineTarget":
        assert own.inside is not None
        return 0 if isinstance(own.inside.expr(1), LpnParser.NumberExprContext) else 1
    if kind in TIGHT_COLON:
        return 0
    return 1 if before is own or kind in WIDE_COLON else 0


def starts(piece: Piece, kind: str) -> bool:
    """Whether a construct of this kind begins with the piece."""
    node = piece.inside
    while node is not None and kind_of(node) != kind:
        node = node.parentCtx
    return node is not None and node.start is piece.token


def is_angle(piece: Piece) -> bool:
    """Whether a `<` or `>` encloses a type's parameter."""
    if piece.text not in ("<", ">") or piece.inside is None:
        return False
    own = [one.symbol.text for one in piece.inside.children if isinstance(one, TerminalNode)]
    return "<" in own and ">" in own


@lru_cache(maxsize=1 << 14)
def merge(left: str, right: str) -> bool:
    """Whether two tokens without a blank between them would be read as others."""
    if (left[-1].isalnum() or left[-1] == "_") and (right[0].isalnum() or right[0] == "_"):
        return True
    joined = left + right
    return any(len(symbol) > len(left) and joined.startswith(symbol) for symbol in SYMBOLS) or joined[:2] in ("//", "/*")
