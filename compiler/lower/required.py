"""What the `verify`s behind an extract require of the header's first unit: the layouts that they refuse are measured, and no more.

`extract(h); verify(h.version == 6, ...)`: a packet of another version has to be whole all the same, and its header as it describes itself, before this
is its reason. That is found out on a way of its own, which ends there. On the other the header has the layouts that are left, mostly one.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

import llvmlite.ir as ir

from lpn.compiler.layout import Unit
from lpn.lang import ast
from lpn.lang.instances import walk

from .conditions import operands
from .guarded import as_verify, conjunction
from .narrowed import Narrowed, Never
from .shapes import Shape
from .ways import Way


@dataclass(frozen=True)
class Required:
    """`units`: so many that the header begins with are asked about; `verifies`: the statements behind the extract that ask. Packets that none of these
    refuses have `shape`, and the conditions `tests` say what that does not; `rest`: what is then still to be verified."""

    units: int
    verifies: list[ast.ExprStmt]
    tests: list[ast.Expr]
    shape: Shape
    rest: list[ast.ExprStmt]


class Requirements:
    """Mixed into `Lowering`."""

    def required_of(self, s: ast.Stmt, following: list[ast.Stmt]) -> Required | None:
        """What is required of the header that `s` extracts. What is guessed is one layout anyway."""
        if self.miss is not None or not isinstance(s, ast.ExprStmt) or s.call.target != "extract" or s.call.via is not None:
            return None
        if s not in self.requirements:
            self.requirements[s] = self.find_required(s.call.args[0], following)
        return self.requirements[s]

    def guarded(self, state: ast.State) -> tuple[list[ast.Stmt], ast.Transition]:
        """What a state does: its transition is a verify more, where that is required of the header that was extracted last."""
        statements, t = state.statements, state.transition
        if self.miss is not None or (split := as_verify(t)) is None:
            return statements, t
        verifies = [*takewhile(is_verify, reversed(statements))][::-1]
        extract = statements[-len(verifies) - 1] if len(verifies) < len(statements) else None
        required = self.required_of(extract, [*verifies, split[0]]) if extract is not None else None
        return ([*statements, split[0]], split[1]) if required is not None and required.verifies[-1] is split[0] else (statements, t)

    def find_required(self, taken: ast.Expr, following: list[ast.Stmt]) -> Required | None:
        """None where it is worth nothing: of the parts that are open without it, so many must be decided with it."""
        narrowed, facts = Narrowed(self.record.header(taken.type.decl), taken), {}
        open_before = narrowed.open()
        try:
            for s in takewhile(is_verify, following if open_before else []):
                facts[s] = [e for e in operands(s.call.args[0], "&&") if narrowed.learn(e)]
        except Never:
            return None
        still, most = len(narrowed.open()), 0 if self.target.small else len(open_before) // 2
        if still == len(open_before) or still > most:
            return None
        verifies = [*facts][:1 + max(n for n, known in enumerate(facts.values()) if known)]
        rest = [left for s in verifies if (left := without(s, facts[s])) is not None]
        return Required(len(narrowed.first), verifies, narrowed.tests, narrowed.shape(), rest)

    def step_required(self, s: ast.ExprStmt, required: Required, way: Way) -> list[Way]:
        """Extracts a header and verifies what is required of it; the ways that lead on."""
        self.enter(way)
        self.stand_at(s)
        target = s.call.args[0]
        if self.is_full(target):
            return self.step(s, way)
        b, inst, start = self.b, self.place(target), self.cursor()
        inst.open = True
        first, later = inst.layout.units[:required.units], inst.layout.units[required.units:]
        self.extract_units(inst, first, {})
        self.extracted(target)
        fits, refused = b.append_basic_block("required"), b.append_basic_block("refused")
        self.branch_required(start, required, first, fits, refused)
        begun, told, ways = self.way(), inst.in_record, []
        for block, shape, then in ((refused, None, required.verifies), (fits, required.shape, required.rest)):
            self.enter(replace(begun, block=block))
            inst.open, inst.in_record = True, told and shape is not None        # of what is refused nobody reads a record
            self.extract_later(inst, later, [], shape)
            self.all_extracted(inst)
            ways.append(self.through(then, [self.way()]))
        for refused_way in ways[0]:
            self.enter(refused_way)
            b.unreachable()
        return ways[1]

    def branch_required(self, start: ir.Value, required: Required, first: list[Unit], fits: ir.Block, refused: ir.Block) -> None:
        """As few words as they lie in are compared with what is known of the units that begin there."""
        b, asked = self.b, [*words(required.shape, first), *required.tests]
        for one in asked:
            more = b.append_basic_block("required.more") if one is not asked[-1] else fits
            if isinstance(one, ast.Expr):
                self.branch(one, more, refused)
            else:
                at, size, *bits = one
                mask, value = (self.constant(8 * size, number) for number in bits)
                self.likely(b.cbranch(self.eq(self.and_(self.load_packet(start, at, 8 * size, True), mask), value), more, refused))
            b.position_at_end(more)


def words(shape: Shape, first: list[Unit]) -> Iterator[tuple[int, int, int, int]]:
    """(offset, octets, mask, value), little-endian, of words in the packet that hold the bits of these units which a shape asks for."""
    octets: list[tuple[int, int]] = []
    behind = sum(u.octets for u in first)
    for u in first:
        behind -= u.octets
        mask, value = ((part >> 8 * behind & (1 << u.bits) - 1).to_bytes(u.octets, "little" if u.little else "big") for part in (shape.mask, shape.value))
        octets += zip(mask, value)
    at = 0
    while at < len(octets):
        if octets[at][0] == 0:
            at += 1
            continue
        last = max(n for n, (mask, _) in enumerate(octets[at:at + 4], 1) if mask)
        size = next((n for n in (1, 2, 4) if last <= n <= len(octets) - at), 2)
        mask, value = (int.from_bytes(part, "little") for part in zip(*octets[at:at + size]))
        yield at, size, mask, value
        at += size


def is_verify(s: ast.Stmt) -> bool:
    """Whether a statement is one that changes nothing."""
    return isinstance(s, ast.ExprStmt) and s.call.target == "verify" \
        and not any(isinstance(n, ast.Call) and n.target not in ("lookahead", "isValid") for n in walk(s.call.args[0]))


def without(s: ast.ExprStmt, known: list[ast.Expr]) -> ast.ExprStmt | None:
    """What is still to be verified where some conditions of it are known to hold."""
    left = [e for e in operands(s.call.args[0], "&&") if e not in known]
    return replace(s, call=replace(s.call, args=[conjunction(left), *s.call.args[1:]])) if left else None
