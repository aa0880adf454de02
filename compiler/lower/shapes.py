"""The shapes a header most often has: all its variable parts, and the checks that go with them, known from one comparison.

Where presence, choice and validity of a header's parts depend only on its first unit (the frame control field of IEEE
802.15.4), a shape is a value of some of that unit's bits. Worth a comparison of its own is, of those with all choices at the
same arm, the one that the fewest bits decide, and of several such the shortest; other packets take the general path.
"""
from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from lpn.compiler.layout import HeaderLayout, Unit, field_width
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bits, EnumType

MOST_BITS = 10                                  # free bits that are tried in every combination
MOST_SHAPES = 2


class Unknown(Exception):
    """The expression depends on more than the first unit."""


@dataclass(frozen=True)
class Shape:
    """A header whose first unit satisfies `unit & mask == value`: octets of each later unit; the fields and `where`s that
    need no check."""

    mask: int
    value: int
    octets: dict[Unit, int]
    checked: frozenset


def shapes(layout: HeaderLayout) -> list[Shape]:
    """At most two shapes of the header, none if its parts depend on more than the first unit."""
    if layout not in CACHE:
        CACHE[layout] = find(layout)
    return CACHE[layout]


CACHE: dict[HeaderLayout, list[Shape]] = {}


def find(layout: HeaderLayout) -> list[Shape]:
    if not layout.units:                        # a header without fields
        return []
    first, later = layout.units[0], layout.units[1:]
    choices = [u.choice for u in later if u.choice is not None]
    if first.variable or not choices or any(u.varbit for u in later) or any(layout.unit_of[c.tag.decl] is not first for c in choices):
        return []
    try:
        described = Described(layout)
    except Unknown:
        return []
    if len(described.free) > MOST_BITS:
        return []
    out = []
    for k in range(min(MOST_SHAPES, min(len(c.arms) for c in choices))):
        arms = [sorted(c.arms, key=lambda a: -field_width(a))[k] for c in choices]
        tags = sum(arm.number << layout.shift_of[c.tag.decl] for c, arm in zip(choices, arms))
        found: list[Shape] = []
        for bits in product((0, 1), repeat=len(described.free)):
            v = tags | sum(1 << bit for bit, on in zip(described.free, bits) if on)
            if described.valid(v) and not any(v & s.mask == s.value for s in found):
                found.append(described.shape(v))
        if found:
            out.append(min(found, key=lambda s: (s.mask.bit_count(), sum(s.octets.values()))))
    return out


class Leading:
    """What conditions, checks and sizes of a header say of the units that it begins with: of the number that these are, one behind the other."""

    def __init__(self, layout: HeaderLayout, units: int = 1):
        self.layout, self.header = layout, layout.header
        self.first, self.later = layout.units[:units], layout.units[units:]
        octets = [sum(u.octets for u in self.first[i + 1:]) for i in range(units)]
        self.shift_of = {f: 8 * behind + shift for u, behind in zip(self.first, octets) for f, shift in u.fields}

    def fields(self, e: ast.Expr) -> set[ast.Field]:
        """The fields an expression reads; Unknown if one is not of these units, or it reads anything else."""
        self.evaluate(e, 0)
        return {n.decl for n in walk(e) if isinstance(n, ast.Name) and isinstance(n.decl, ast.Field)}

    def check_fields(self, part: object) -> set[ast.Field]:
        """The fields that decide whether a field or `where` is as it must be; empty if nothing is checked."""
        if isinstance(part, ast.Where):
            return self.fields(part.cond)
        if not isinstance(part, ast.Field) or part not in self.shift_of:
            return set()
        checked = part.values is not None or isinstance(part.type, EnumType) or part.equation is not None and not part.deferred
        if part.equation is not None and part.equation.const is None:
            raise Unknown
        for x in part.values or []:
            if x.const is None:
                raise Unknown
        return {part} if checked else set()

    def field(self, f: ast.Field, v: int) -> int:
        width = field_width(f)
        x = v >> self.shift_of[f] & ((1 << width) - 1)
        return x - (1 << width) if isinstance(f.type, Bits) and f.type.signed and x >> (width - 1) else x

    def holds(self, part: object, v: int) -> bool:
        if isinstance(part, ast.Where):
            return bool(self.evaluate(part.cond, v))
        x = self.field(part, v)
        if isinstance(part.type, EnumType) and x not in {m.number for m in part.type.decl.members}:
            return False
        if part.values is not None and x not in {int(y.const) for y in part.values}:
            return False
        return part.equation is None or part.deferred or x == int(part.equation.const)

    def evaluate(self, e: ast.Expr, v: int) -> int:
        if e.const is not None:
            return int(e.const)
        if isinstance(e, ast.Name) and e.decl in self.shift_of:
            return self.field(e.decl, v)
        if isinstance(e, ast.Slice):
            return self.evaluate(e.base, v) >> int(e.lo.const) & (1 << int(e.hi.const) - int(e.lo.const) + 1) - 1
        if isinstance(e, ast.Unary) and e.op == "!":
            return int(not self.evaluate(e.operand, v))
        if isinstance(e, ast.Conditional):
            values = self.evaluate(e.then, v), self.evaluate(e.otherwise, v)
            return values[0] if self.evaluate(e.cond, v) else values[1]
        if isinstance(e, ast.Binary) and e.op in OPERATORS:
            return int(OPERATORS[e.op](self.evaluate(e.left, v), self.evaluate(e.right, v)))
        raise Unknown


class Described(Leading):
    """A header's variable parts as functions of its first unit's number."""

    def __init__(self, layout: HeaderLayout):
        super().__init__(layout)
        self.checks: list = []
        mentioned: set[ast.Field] = set()
        for u in self.later:
            if u.when is not None:
                mentioned |= self.fields(u.when)
            if u.choice is not None:
                mentioned.add(u.choice.tag.decl)
        for item in self.header.items:
            for part in item.fields if isinstance(item, ast.Word) else [item]:
                try:
                    used = self.check_fields(part)
                except Unknown:
                    continue
                if used:
                    self.checks.append(part)
                    mentioned |= used
        self.bits = sorted({layout.shift_of[f] + i for f in mentioned for i in range(field_width(f))})
        tags = {u.choice.tag.decl for u in self.later if u.choice is not None}
        self.free = [b for b in self.bits
                     if not any(layout.shift_of[f] <= b < layout.shift_of[f] + field_width(f) for f in tags)]

    def valid(self, v: int) -> bool:
        return all(self.holds(part, v) for part in self.checks)

    def octets(self, v: int) -> dict[Unit, int]:
        out = {}
        for u in self.later:
            if u.choice is not None:
                tag = self.field(u.choice.tag.decl, v)
                out[u] = next((field_width(a) // 8 for a in u.choice.arms if a.number == tag), 0)
            else:
                out[u] = u.octets if u.when is None or self.evaluate(u.when, v) else 0
        return out

    def shape(self, v: int) -> Shape:
        """The shape of `v`, made as wide as it goes: bits that change nothing are left out of the mask."""
        octets = self.octets(v)
        open_bits: list[int] = []
        for bit in self.bits:
            trial = [*open_bits, bit]
            values = [v ^ sum(1 << b for b, flip in zip(trial, flips) if flip) for flips in product((0, 1), repeat=len(trial))]
            if all(self.valid(x) and self.octets(x) == octets for x in values):
                open_bits = trial
        mask = sum(1 << b for b in self.bits if b not in open_bits)
        return Shape(mask, v & mask, octets, frozenset(self.checks))


OPERATORS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "&&": lambda a, b: bool(a and b), "||": lambda a, b: bool(a or b),
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}
