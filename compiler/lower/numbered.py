"""Rows that say a number each and nothing else: in short code the numbers lie in one word, and the tag says how far it is shifted to get at the one that
is meant. That takes three instructions for all of these rows, where each on its own has a comparison, a constant and a jump.
"""
from __future__ import annotations

from dataclasses import dataclass

from lpn.compiler.bits import Val
from lpn.compiler.layout import field_width
from lpn.lang import ast

FEWEST = 3                                      # of two, a comparison tells them apart


@dataclass(frozen=True)
class Numbers:
    """What rows say of `target`: where the tag is `key`, the bits of `word` from `key * step` on."""

    rows: list[ast.Row]
    target: ast.Expr
    word: int
    step: int


def numbers(rows: list[tuple[ast.Row, int]]) -> Numbers | None:
    """Of those rows of a group, each with the tag that chooses it, whose only item says a constant of one field, the same in all of them."""
    said: dict[ast.Field, list[tuple[ast.Row, int, ast.RowAssign]]] = {}
    for row, key in rows:
        match row.items:
            case [ast.RowAssign(target=target, value=value) as item] if isinstance(getattr(target, "decl", None), ast.Field) and type(value.const) is int:
                said.setdefault(target.decl, []).append((row, key, item))
    for f, found in said.items():
        step = 1 << (field_width(f) - 1).bit_length()
        if len(found) >= FEWEST and all(key < 32 // step for _, key, _ in found):
            mask = (1 << field_width(f)) - 1
            word = sum((item.value.const & mask) << key * step for _, key, item in found)
            return Numbers([row for row, *_ in found], found[0][2].target, word, step)
    return None


class NumberedRows:
    """Mixed into `Lowering`."""

    def number(self, of: Numbers, key: Val) -> Val:
        """The one that the tag means."""
        far = self.shift(self.resize(key, 32), self.constant(32, of.step.bit_length() - 1), left=True)
        return self.slice(self.shift(self.constant(32, of.word), far, left=False), field_width(of.target.decl) - 1, 0)
