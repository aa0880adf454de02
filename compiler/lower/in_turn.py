"""Stacks whose elements are written, counted and summed in the turns of a loop.

What a deparser does with an element of variable size is long: each part that may be absent is asked for, a varbit is copied in a loop of its own, and the
checksum that covers it has as much code once more. Elements of a stack have the same layout, and lie in the header record at the same distance from each
other: the loop reads there whether the one it has come to is valid, and where it is. So the record has these stacks of a fused chain, too.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import llvmlite.ir as ir

from lpn.compiler.bits import I32, i32
from lpn.compiler.layout import InstanceLayout, RecordLayout, Unit
from lpn.compiler.target import OUT_SIZE
from lpn.lang import ast
from lpn.lang.check.headers import needs_payload
from lpn.lang.derive import Derived
from lpn.lang.effects import effects
from lpn.lang.instances import header_of, walk
from lpn.lang.types import Stack

from .instance import Instance

VARIABLE = 3                                    # elements of variable size from which on a stack is a loop
FIXED = 8                                       # of fixed size


def in_turn(program: ast.Program, record: RecordLayout, derived: Derived, chain: Collection[ast.Module] | None) -> frozenset[ast.StructField]:
    """The stacks for which a loop is worth it, of those that a deparser emits whole. `chain`: what is fused; those are of interest that it emits."""
    whole = {n.args[0].decl for deparser in program.decls if isinstance(deparser, ast.Deparser) for n in walk(deparser)
             if isinstance(n, ast.Call) and n.target == "emit" and n.via is None and isinstance(n.args[0].type, Stack)
             and not record.by_field[n.args[0].decl][0].run}
    if chain is not None:
        whole &= {e.instance for e in effects(program) if e.kind == "emit" and e.module in chain}
    return frozenset(f for f in whole if f.type.size > 1 and same_for_all(f, derived) and worth_it(record, f, chain is not None))


def same_for_all(f: ast.StructField, derived: Derived) -> bool:
    """Whether what is emitted of an element does not depend on those behind it."""
    return not any((f, x) in derived and needs_payload(x.equation) for x in header_of(f).fields())


def worth_it(record: RecordLayout, f: ast.StructField, fused: bool) -> bool:
    """Elements of fixed size are a few loads and stores each, which a fused chain has in registers."""
    if record.by_field[f][0].layout.fixed:
        return f.type.size >= FIXED and not fused
    return f.type.size >= VARIABLE


class Turning(Instance):
    """The element that a loop has come to. `turn`: its index, an i32."""

    stays = False

    def __init__(self, lower, first: InstanceLayout, second: InstanceLayout, turn: ir.Value):
        self.turn, self.first, self.second = turn, first, second
        super().__init__(lower, first)
        if not first.in_packet:
            self.image = self.there(first.image, second.image)

    def load_from_record(self) -> None:
        """Not before it is asked for."""

    def there(self, first: int, second: int) -> ir.Value:
        """What lies in the record at these places for the first two elements."""
        low = self.lower
        return low.at(low.at(low.rec, low.b.mul(self.turn, i32(second - first))), first)

    def valid(self) -> ir.Value:
        low = self.lower
        return low.b.icmp_unsigned("!=", low._load(self.there(self.first.valid, self.second.valid), 0, 1), i32(0))

    def pointer(self, u: Unit) -> tuple[ir.Value, int]:
        """The record is not trusted: an offset beyond the packet is refused where it is used."""
        if not self.inst.in_packet:
            return super().pointer(u)
        low = self.lower
        base = low.at(low.pkt, low._load(self.there(self.first.bases[u.run], self.second.bases[u.run]), 0, 2))
        low.reject_unless(low.b.icmp_unsigned("<=", base, low.end), "RecordMismatch")
        return base, u.offset


class InTurn:
    """Mixed into `Lowering`. `stacks_in_turn`: those that are loops where no packet is being parsed; `recorded`: those of a fused chain, which the
    record has, too."""

    stacks_in_turn: frozenset[ast.StructField] = frozenset()
    recorded: frozenset[ast.StructField] = frozenset()

    def is_loop(self, f: ast.StructField) -> bool:
        return f in self.stacks_in_turn and self.parser_decl is None and self.miss is None

    def each(self, instances: list[InstanceLayout]) -> Iterator[Instance | ast.StructField]:
        """Instances in their order; a stack that is a loop, all elements of which are among them, as one."""
        loops = {f for f in {one.field for one in instances} if self.is_loop(f) and sum(one.field is f for one in instances) == f.type.size}
        for one in instances:
            if one.field not in loops:
                yield self.instance(one.field, one.index)
            elif one.index == 0:
                yield one.field

    def in_turns_of(self, f: ast.StructField, body: Callable[[Instance], None]) -> None:
        """A loop over the elements of a stack. What it counts with is opaque, as of `loop`."""
        b, (first, second, *_) = self.b, self.record.by_field[f]
        slot = self.alloca(I32, f"{f.name}.turn")
        b.store(i32(0), slot)
        turn, done = b.append_basic_block("element"), b.append_basic_block("elements")
        b.branch(turn)
        b.position_at_end(turn)
        i = b.load(slot, typ=I32)
        body(Turning(self, first, second, i))
        following = self.opaque(b.add(i, i32(1)), here=True, keeps=True)
        b.store(following, slot)
        b.cbranch(b.icmp_unsigned("<", following, i32(f.type.size)), turn, done)
        b.position_at_end(done)

    def emit_in_turn(self, f: ast.StructField, call: ast.Call) -> None:
        """Emits the elements of a stack. Where the buffer has room for all, so much is said again in each turn: a verifier sees only that what is written
        grows."""
        before, size = self.at_most, f.type.size
        most = self.most_octets(call) // size
        known = before + size * most <= OUT_SIZE

        def element(inst: Instance) -> None:
            self.at_most = before + (size - 1) * most if known else OUT_SIZE
            if known:
                at = self.opaque(self.written(), here=True, keeps=True)
                self.reject_unless(self.b.icmp_unsigned("<=", at, i32(self.at_most)), "PacketTooLong")
                self.b.store(self.at(self.out, at) if self.walks else at, self.at_slot)
            self.emit_if_valid(inst, call)

        self.in_turns_of(f, element)
        self.at_most = before + size * most if known else OUT_SIZE
