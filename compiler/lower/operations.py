"""Operations are counted as they are made: what is lowered to far too many is given up before it has taken minutes and all memory."""
from __future__ import annotations

from collections import Counter

import llvmlite.ir as ir

from lpn.lang.source import Span

MOST_OPERATIONS = 1 << 19                       # of LLVM's, before it optimises: some ten become one instruction, and it takes minutes for more


class TooMany(Exception):
    """More operations than a container is made of; `made_of`: how many of them are of which line, (file, line)."""

    def __init__(self, made_of: Counter[tuple[str, int]]):
        super().__init__()
        self.made_of = made_of


class Operations:
    """Of one container. `at`: the module's own statement that is being lowered, whatever it puts in line."""

    def __init__(self, most: int = MOST_OPERATIONS):
        self.most = self.left = self.began = most           # left now, and when this statement began
        self.at: Span | None = None
        self.made_of: Counter[tuple[str, int]] = Counter()

    def stand(self, at: Span) -> None:
        self.settle()
        self.at = at

    def settle(self) -> None:
        if self.at is not None and self.left < self.began:
            self.made_of[self.at.source.name, self.at.line] += self.began - self.left
        self.began = self.left

    def one(self) -> None:
        self.left -= 1
        if self.left < 0:
            self.settle()
            raise TooMany(self.made_of)


class Builder(ir.IRBuilder):
    def __init__(self, block: ir.Block, operations: Operations):
        super().__init__(block)
        self.operations = operations

    def _insert(self, instr: ir.Instruction) -> None:
        self.operations.one()
        super()._insert(instr)
