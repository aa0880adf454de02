"""What conditions of the bits that a header begins with leave of its layout."""
from __future__ import annotations

from itertools import product, takewhile

from lpn.compiler.layout import HeaderLayout, Unit, field_width
from lpn.lang import ast
from lpn.lang.instances import walk

from .shapes import MOST_BITS, Leading, Shape, Unknown

MOST_OCTETS = 8                                 # that a header begins with and conditions are of


class Never(Exception):
    """No packet is as it is required."""


class Narrowed(Leading):
    """A header's layout as far as conditions of its first octets decide it. `taken`: the expression that was extracted; `mask`, `value`: the bits that
    are known; `tests`: the conditions that say more than that."""

    def __init__(self, layout: HeaderLayout, taken: ast.Expr):
        fixed = [*takewhile(lambda u: not u.variable, layout.units)]
        super().__init__(layout, max(n for n in range(len(fixed) + 1) if sum(u.octets for u in fixed[:n]) <= MOST_OCTETS))
        self.taken, self.mask, self.value = taken, 0, 0
        self.tests: list[ast.Expr] = []

    def learn(self, e: ast.Expr) -> bool:
        """Whether a condition is of these octets alone, from here on known to hold."""
        try:
            fields = self.fields(e)
            free = self.free(fields)
            found = [equal] if (equal := self.equal(e)) is not None else [n for n in self.numbers(fields) if self.evaluate(e, n)]
        except Unknown:
            return False
        found = [n for n in found if not (n ^ self.value) & self.mask & sum(1 << bit for bit in self.bits(fields))]
        if not found:
            raise Never
        fixed = [bit for bit in free if len({n >> bit & 1 for n in found}) == 1]
        self.mask |= sum(1 << bit for bit in fixed)
        self.value |= sum(found[0] & 1 << bit for bit in fixed)
        if equal is None and len(found) < 1 << len(free) - len(fixed):
            self.tests.append(e)
        return bool(fields)

    def equal(self, e: ast.Expr) -> int | None:
        """The number of a field that is compared with a constant: of these as many bits as there are."""
        if not isinstance(e, ast.Binary) or e.op != "==" or e.right.const is None or e.left.const is not None or not isinstance(e.left, (ast.Name, ast.Member)):
            return None
        self.evaluate(e.left, 0)
        f = e.left.decl
        return (int(e.right.const) & (1 << field_width(f)) - 1) << self.shift_of[f]

    def fields(self, e: ast.Expr) -> set[ast.Field]:
        found = super().fields(e) | {n.decl for n in walk(e) if isinstance(n, ast.Member) and isinstance(n.decl, ast.Field)}
        if not found <= self.shift_of.keys():   # what a constant was made of
            raise Unknown
        return found

    def evaluate(self, e: ast.Expr, v: int) -> int:
        """What the header's own fields are called in it, or behind its extract: one that is computed may be another then."""
        if e.const is None and isinstance(e, ast.Member) and isinstance(e.decl, ast.Field) and self.is_taken(e.base):
            if e.decl in self.shift_of and e.decl.equation is None:
                return self.field(e.decl, v)
            raise Unknown
        return super().evaluate(e, v)

    def is_taken(self, e: ast.Expr) -> bool:
        """Whether an expression names the header behind its extract: what was the next element of a stack is the last."""
        taken = self.taken
        if isinstance(taken, ast.Member) and taken.decl == "next":
            return isinstance(e, ast.Member) and e.decl == "last" and e.base.decl is taken.base.decl
        return isinstance(e, type(taken)) and isinstance(e, (ast.Name, ast.Member)) and e.decl is taken.decl

    def bits(self, fields: set[ast.Field]) -> list[int]:
        return [self.shift_of[f] + i for f in fields for i in range(field_width(f))]

    def free(self, fields: set[ast.Field]) -> list[int]:
        """Their bits that are not known."""
        return [bit for bit in self.bits(fields) if not self.mask >> bit & 1]

    def numbers(self, fields: set[ast.Field]) -> list[int]:
        """What the first octets can be as far as these fields go, all other bits but those that are known 0."""
        free = self.free(fields)
        if len(free) > MOST_BITS:
            raise Unknown
        numbers = [self.value | sum(1 << bit for bit, on in zip(free, flips) if on) for flips in product((0, 1), repeat=len(free))]
        tests = [e for e in self.tests if self.fields(e) <= fields]
        return [n for n in numbers if all(self.evaluate(e, n) for e in tests)]

    def shape(self) -> Shape:
        """The octets of units that have as many in all packets, and the checks that hold for all."""
        octets = {u: found.pop() for u in self.later if len(found := self.sizes(u)) == 1}
        parts = [part for item in self.header.items for part in (item.fields if isinstance(item, ast.Word) else [item])]
        return Shape(self.mask, self.value, octets, frozenset(part for part in parts if self.always(part)))

    def open(self) -> list[Unit]:
        """The parts of which it is not known how many octets they have."""
        return [u for u in self.later if len(self.sizes(u)) != 1]

    def sizes(self, u: Unit) -> set[int]:
        """All that are possible; none if more than the first octets decide."""
        try:
            if u.choice is not None:
                tag = u.choice.tag.decl
                arms = {arm.number: field_width(arm) // 8 for arm in u.choice.arms}
                return {arms.get(self.field(tag, n), 0) for n in self.numbers({tag})} if tag in self.shift_of else set()
            there = {bool(self.evaluate(u.when, n)) for n in self.numbers(self.fields(u.when))} if u.when is not None else {True}
        except Unknown:
            return set()
        return {u.octets if one else 0 for one in there} if u.varbit is None else set()

    def always(self, part: object) -> bool:
        try:
            fields = self.check_fields(part)
            return bool(fields) and all(self.holds(part, n) for n in self.numbers(fields))
        except Unknown:
            return False
