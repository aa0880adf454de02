"""A field of the two that a loop is gone through for: where both lie in memory it is read there whenever it is asked for, and only its place is kept.

Not in the header record: LLVM takes everything that is written for something that may lie there, and reads all of it again.
"""
from __future__ import annotations

from lpn.compiler.bits import I32, i32
from lpn.lang import ast

from .instance import Instance
from .places import Swapped, Value


class OneOfTwo(Value):
    """`be` says which. Both have one type, of whole words. What lies nowhere else is copied into a variable."""

    def __init__(self, lower, inst: Instance, fields: tuple[ast.Field, ast.Field]):
        self.lower, self.inst, self.fields, self.type = lower, inst, fields, fields[0].type
        self.pieces = [lower.field_lying(inst, f) for f in fields]
        regions = {piece and piece[0] for piece in self.pieces}
        self.lies = len(regions) == 1 and None not in regions
        if self.lies:
            [self.region] = regions
            self.begin = lower.region_begin(self.region)
            self.at = lower.alloca(I32, fields[0].name)
        else:
            self.copy = Swapped(lower, self.type, fields[0].name)

    def be(self, number: int) -> None:
        """Says where it lies anew, and does not move on: no verifier would know an end of that."""
        low = self.lower
        if self.lies:
            low.b.store(i32(self.pieces[number][1]), self.at)
        else:
            self.copy.set(self.inst.read(self.fields[number]))

    def get(self):
        low = self.lower
        if not self.lies:
            return self.copy.get()
        with low.region(self.region):
            return low.load(low.at(self.begin, low.b.load(self.at, typ=I32)), 0, self.type.width)
