"""Headers that a chain's deparser emits last, as its parser took them last: they lie before the payload already, and nothing of them is written to the
output. What is sent from the packet begins with the first of them that is valid.

Nobody makes or resizes one of them, or computes something of it; the first may be a stack whose first elements are removed.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from lpn.compiler.bits import PKT
from lpn.compiler.layout import RecordLayout
from lpn.compiler.target import CTX_PAYLOAD, OUT_SIZE
from lpn.lang import ast
from lpn.lang.derive import Derived
from lpn.lang.effects import effects, instance_of
from lpn.lang.instances import walk
from lpn.lang.types import Stack

from .codec import most_compressed
from .in_place import LEAVES_IT, emitted, is_computed
from .moves import in_order, on_all_ways


def lying_behind(program: ast.Program, record: RecordLayout, derived: Derived, chain: list[ast.Module]) -> list[ast.StructField]:
    """Such headers of a chain, in their order."""
    if not chain or not isinstance(chain[0], ast.Parser) or not isinstance(chain[-1], ast.Deparser):
        return []
    if longest_of(record, chain[-1]) > OUT_SIZE:           # more is refused, whether or not it is written
        return []
    statements, found = chain[-1].body.statements, []
    for s in reversed(statements):
        field = emitted(s)
        if field is None or field in found or not stays(program, record, derived, field):
            break
        found.insert(0, field)
        if moves(program, field):
            break
    while found and (emits(statements[:-len(found)], found) or not on_all_ways(chain[0], -1, in_order(found, others=True))):
        del found[0]
    return found


def longest_of(record: RecordLayout, d: ast.Deparser) -> float:
    """Octets that a deparser emits at most, as far as that is known."""
    nodes = list(walk(d.body))
    if any(isinstance(n, ast.For) and any(emitting(walk(n))) or isinstance(n, ast.Call) and isinstance(n.target, ast.Deparser) for n in nodes):
        return inf
    return sum(longest(record, n) for n in emitting(nodes))


def emitting(nodes: Iterable[ast.Node]) -> Iterator[ast.Call]:
    return (n for n in nodes if isinstance(n, ast.Call) and n.target == "emit")


def longest(record: RecordLayout, emit: ast.Call) -> int:
    """Octets that are emitted at most."""
    t = emit.args[0].type
    header = (t.header if isinstance(t, Stack) else t).decl
    return (t.size if isinstance(t, Stack) else 1) * (record.header(header).max_octets if emit.via is None else most_compressed(emit.via.codec))


def emits(statements: list[ast.Stmt], fields: list[ast.StructField]) -> bool:
    """Whether they emit one of these headers, or an element of one."""
    return any(instance_of(n.args[0], {}) in fields for s in statements for n in emitting(walk(s)))


def stays(program: ast.Program, record: RecordLayout, derived: Derived, field: ast.StructField) -> bool:
    """Whether a header that was taken lies in the packet as it is sent; its first elements may be gone, if it is a run."""
    first = record.by_field[field][0]
    kinds = LEAVES_IT | {"move"} if first.run else LEAVES_IT
    return first.in_packet and bool(first.layout.units) and not is_computed(derived, field) \
        and all(e.kind in kinds and e.codec is None for e in effects(program) if e.instance is field)


def moves(program: ast.Program, field: ast.StructField) -> bool:
    return any(e.instance is field and e.kind == "move" for e in effects(program))


class LyingBehind:
    """Mixed into `Lowering`. `lying_behind`: those of the chain."""

    lying_behind: list[ast.StructField] = []

    def send_lying(self) -> None:
        """Says where what is sent from the packet begins. That it is the payload stands there already, if that is told."""
        b = self.b
        begin = self.alloca(PKT, "begin")
        if not self.tells_payload:
            b.store(self.payload_pointer(), begin)
        for field in reversed(self.lying_behind):
            inst = self.elements(field)[0]      # of a stack no other is valid where this one is not
            with b.if_then(inst.valid()), inst.found_here():
                place, offset = inst.pointer(inst.layout.units[0])
                if self.tells_payload:
                    self._store(self.ctx, CTX_PAYLOAD, 4, self.distance(self.pkt, self.at(place, offset)))
                else:
                    b.store(self.at(place, offset), begin)
        if not self.tells_payload:
            self._store(self.ctx, CTX_PAYLOAD, 4, self.distance(self.pkt, b.load(begin, typ=PKT)))
