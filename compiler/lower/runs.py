"""Stacks of elements of one fixed size that lie in the packet one behind the other: where the first one is, and how many there are, says it all.

A parser takes them in a row, nobody makes or removes one by itself, and nothing is computed of them. Then an element is valid if there are more than its
index, and lies so many times its size behind the first; `pop_front` moves the begin, and all are written as one.
"""
from __future__ import annotations

from collections.abc import Iterable

import llvmlite.ir as ir

from lpn.compiler.bits import I8, I32, PKT, i32
from lpn.compiler.layout import HeaderLayout, InstanceLayout, Unit
from lpn.compiler.target import OUT_SIZE, WINDOW
from lpn.lang import ast
from lpn.lang.derive import Derived
from lpn.lang.effects import effects, instance_of
from lpn.lang.instances import header_of, walk
from lpn.lang.types import Stack

from .in_place import is_computed
from .instance import Instance
from .moves import At, Step, on_all_ways, taken
from .stacks import named

LEAVES_IT = {"extract", "assign", "emit", "move"}          # effects that leave an element where it is, or all of them
MOST = 255                                      # elements: their number is an octet of the record
STRAIGHT = 32                                   # octets that are copied without a loop: all that there may be, whatever there is
WORD = 4


def runs(program: ast.Program, derived: Derived) -> frozenset[ast.StructField]:
    """Such stacks."""
    if program.headers_struct is None:
        return frozenset()
    return frozenset(f for f in program.headers_struct.fields if isinstance(f.type, Stack) and 1 < f.type.size <= MOST and is_run(program, f, derived))


def is_run(program: ast.Program, f: ast.StructField, derived: Derived) -> bool:
    layout = HeaderLayout(header_of(f))
    if not layout.fixed or layout.runs > 1 or not layout.min_octets or is_computed(derived, f):
        return False
    if any(e.kind not in LEAVES_IT or e.kind == "extract" and e.codec is not None for e in effects(program) if e.instance is f):
        return False
    if any(isinstance(n, ast.Call) and n.target == "push_front" and n.callee.base.type == f.type for decl in program.decls for n in walk(decl)):
        return False
    return all(on_all_ways(parser, BEFORE, in_a_row(f)) for parser in program.modules if isinstance(parser, ast.Parser))


BEFORE, WITHIN, BEHIND = range(3)               # the first element of a stack, and what else moves the cursor behind the last


def in_a_row(f: ast.StructField) -> Step:
    """Nothing moves the cursor between two elements."""
    def step(call: ast.Call, at: int) -> At:
        if call.target != "extract" or instance_of(call.args[0], {}) is not f:
            return BEHIND if at == WITHIN else at
        return WITHIN if at != BEHIND and taken(call) is f else None
    return step


# ---------------------------------------------------------------- elements


class Element(Instance):
    """An element of such a stack. The first one has the variables: `count`, how many there are, and `start`, where it lies."""

    def __init__(self, lower, inst: InstanceLayout):
        self.first: Element = lower.instance(inst.field, 0) if inst.index else self
        self.offset = inst.index * inst.layout.min_octets
        if not inst.index:
            self.count, self.start = lower.alloca(I32, f"{inst.field.name}.count"), lower.alloca(PKT, f"{inst.field.name}.start")
        super().__init__(lower, inst)
        self.base_slots = []

    def begin_absent(self) -> None:
        """There are none where nothing is said."""

    def load_from_record(self) -> None:
        low, b, inst = self.lower, self.lower.b, self.inst
        if self.first is self:
            b.store(b.zext(b.load(low.at(low.rec, inst.valid), typ=I8, align=1), I32), self.count)
            b.store(start := low.at(low.pkt, low._load(low.rec, inst.bases[0], 2)), self.start)
            low.entry_checks.append(start)

    def valid(self) -> ir.Value:
        return self.lower.b.icmp_unsigned(">", self.many(), i32(self.inst.index))

    def many(self) -> ir.Value:
        """How many elements there are, as i32."""
        return self.lower.b.load(self.first.count, typ=I32)

    def set_valid(self, value: bool | ir.Value) -> None:
        """Of the element that is taken: it is the last one; or of none that there was."""
        if self.lower.miss is not None:
            self.lower.touched[self.first] = None
        self.set_many(i32(self.inst.index + 1 if value is True else 0))

    def set_many(self, count: ir.Value) -> None:
        low = self.lower
        low.b.store(count, self.first.count)
        if self.in_record:
            low._store(low.rec, self.inst.valid, 1, count)

    def begins_at(self) -> ir.Value:
        return self.lower.b.load(self.first.start, typ=PKT)

    def set_base(self, run: int, pointer: ir.Value) -> None:
        low = self.lower
        if self.first is self:
            low.b.store(pointer, self.start)
            if self.in_record:
                low._store(low.rec, self.inst.bases[0], 2, low.distance(low.pkt, pointer))

    def begin_anew(self) -> None:
        self.set_valid(False)
        self.set_base(0, self.lower.pkt)

    def become(self, other: Instance, units: Iterable[Unit]) -> None:
        """The same stack, where it was kept otherwise."""
        assert isinstance(other, Element)
        self.set_base(0, other.begins_at())
        self.set_many(other.many())

    def pointer(self, u: Unit) -> tuple[ir.Value, int]:
        """Behind one that begins within the packet the window's octets may be read, and farther only what is tested; but in a parser, which has come by there."""
        low, offset = self.lower, self.offset + u.offset
        start = self.begins_at()
        if low.unproven.get(self.inst.field, 0) + offset + u.octets <= WINDOW or low.parser_decl is not None:
            return start, offset
        end = low.opaque(low.at(start, offset + u.octets), here=True)           # what LLVM tests is what a verifier sees read
        low.reject_unless(low.b.icmp_unsigned("<=", end, low.end), "RecordMismatch")
        return end, -u.octets


class Runs:
    """Mixed into `Lowering`. `runs`: the stacks that are such; `unproven`: so many octets behind what is known to be in the packet one may begin."""

    runs: frozenset[ast.StructField] = frozenset()
    unproven: dict[ast.StructField, int]

    def first_of(self, f: ast.StructField) -> Element:
        return self.instance(f, 0)

    def octets_of_run(self, f: ast.StructField) -> ir.Value:
        """Those of all elements that there are, as i32."""
        first = self.first_of(f)
        return self.b.mul(first.many(), i32(first.layout.min_octets))

    def fills_run(self, state: ast.State) -> bool:
        """Whether a state leads to itself only by taking such elements, each time to blocks of its own."""
        stacks = named(state)
        return bool(stacks) and stacks <= self.runs and not self.circles.around(state, frozenset())

    def pop_run(self, f: ast.StructField, by: int) -> None:
        """The first elements are the stack's no more."""
        b, first = self.b, self.first_of(f)
        if by >= f.type.size:
            first.set_many(i32(0))
            return
        count, octets = first.many(), by * first.layout.min_octets
        start = self.at(first.begins_at(), octets)
        more, none, done = (b.append_basic_block(f"{f.name}.{name}") for name in ("more", "none", "popped"))
        b.cbranch(b.icmp_unsigned(">", count, i32(by)), more, none)
        b.position_at_end(more)
        farthest = self.unproven.get(f, 0) + octets + f.type.size * first.layout.min_octets
        if self.loops_around or farthest > WINDOW:
            start = self.opaque(start, here=True)
            self.reject_unless(b.icmp_unsigned("<=", start, self.end), "RecordMismatch")
        else:
            self.unproven[f] = self.unproven.get(f, 0) + octets
        first.set_base(0, start)
        first.set_many(b.sub(count, i32(by)))
        b.branch(done)
        b.position_at_end(none)
        first.set_many(i32(0))
        b.branch(done)
        b.position_at_end(done)

    def emit_run_of(self, f: ast.StructField) -> None:
        """All that there may be are written where they are few and there is room, and so many counted as there are: what follows overwrites the rest."""
        first, most = self.first_of(f), f.type.size * self.first_of(f).layout.min_octets
        octets = self.octets_of_run(f)
        if not self.is_straight(f) or self.at_most + most > OUT_SIZE:
            self.copy(first.begins_at(), octets, most, self.unproven.get(f, 0) if not self.loops_around else None)
            return
        if self.record_in_memory:               # which is not trusted
            octets = self.opaque(octets)
            self.reject_unless(self.b.icmp_unsigned("<=", octets, i32(most)), "RecordMismatch")
        here, start = self.here(), first.begins_at()
        for at in range(0, most, WORD):
            self.put(here, at, self.load_packet(start, at, 8 * min(WORD, most - at), True), True)
        self.wrote(octets, most)

    def is_straight(self, f: ast.StructField) -> bool:
        return f.type.size * self.first_of(f).layout.min_octets <= STRAIGHT
