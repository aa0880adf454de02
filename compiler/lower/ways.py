"""The ways through a state of a parser: where they part and meet, what is known on each of them, and what is evaluated on some
of them only."""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace

import llvmlite.ir as ir

from lpn.lang import ast
from lpn.lang.types import Bool

from .places import Scalar, Value
from .unroll import unrolled


@dataclass
class Way:
    """One way through a state, open at the end of `block`, with what is known on it: see `Cursor`; `stack_next`: how many
    elements of each stack were extracted; `early`: see `MadeEarly`."""

    block: ir.Block
    bound: int
    look: int
    stack_next: dict[ast.StructField, int]
    early: dict[ast.Call, Scalar]


class Ways:
    """Mixed into `Lowering`. `tentative`: inside parts of expressions that are evaluated on some paths only."""

    def way(self) -> Way:
        return Way(self.b.block, self.bound, self.look, dict(self.stack_next), dict(self.early))

    def enter(self, way: Way) -> None:
        self.b.position_at_end(way.block)
        self.bound, self.look, self.stack_next, self.early = way.bound, way.look, dict(way.stack_next), dict(way.early)

    def through(self, statements: list[ast.Stmt], ways: list[Way]) -> list[Way]:
        """Lowers statements for each way that leads to them; the ways that lead on."""
        rest = list(statements)
        while rest:
            s = rest.pop(0)
            required = self.required_of(s, rest)
            if required is not None:
                del rest[:len(required.verifies)]
            after: list[Way] = []
            for way in ways:
                self.behind = rest              # a function that is put in line has statements, too
                with self.on_some_ways(len(ways) > 1):
                    after += self.step(s, way) if required is None else self.step_required(s, required, way)
            ways = self.merged(after)
        return ways

    def step(self, s: ast.Stmt, way: Way) -> list[Way]:
        self.enter(way)
        if self.debug is not None:
            self.b.debug_metadata = self.debug.location(s.span)
        if isinstance(s, ast.Block):
            return self.through(s.statements, [way])
        if isinstance(s, ast.If) and s.cond.const is None:
            return self.merged(self.branches(s))
        if isinstance(s, ast.If):
            taken = s.then if s.cond.const else s.otherwise
            return [way] if taken is None else self.step(taken, way)
        if isinstance(s, ast.Switch):
            chain = self.chained(s)
            return [self.way()] if chain is None else self.step(chain, self.way())
        if isinstance(s, ast.For) and unrolled(s, self.target.small):
            ways = [way]
            for i in range(int(s.low.const), int(s.high.const)):
                self.env[s.var] = Value(s.var.type, self.constant(32, i))
                ways = self.through([s.body], ways)
            return ways
        if isinstance(s, ast.VarDecl):
            self.parser_local(s)
        else:
            self.statement(s)
        return [] if self.b.block.is_terminated else [self.way()]

    def branches(self, s: ast.If) -> list[Way]:
        """The ways out of an `if`."""
        b = self.b
        then, otherwise = b.append_basic_block("then"), b.append_basic_block("else")
        self.branch(s.cond, then, otherwise)
        before, after = self.way(), []
        for block, body in ((then, s.then), (otherwise, s.otherwise)):
            with self.on_some_ways():
                after += self.through([body] if body is not None else [], [replace(before, block=block)])
        return after

    def merged(self, ways: list[Way]) -> list[Way]:
        """Ways that differ only in how far the cursor may be are one from here on; how full stacks are keeps them apart."""
        groups: dict[tuple, list[Way]] = {}
        for way in ways:
            groups.setdefault(tuple(sorted((f.name, n) for f, n in way.stack_next.items())), []).append(way)
        out = []
        for group in groups.values():
            if len(group) == 1:
                out += group
                continue
            if len({way.look for way in group}) > 1:
                group = [self.settled(way) for way in group]
            done = self.b.append_basic_block("done")
            for way in group:
                self.b.position_at_end(way.block)
                self.b.branch(done)
            early = {e: made for e, made in group[0].early.items() if all(way.early.get(e) is made for way in group)}
            out.append(Way(done, max(w.bound for w in group), max(w.look for w in group), group[0].stack_next, early))
        return out

    def settled(self, way: Way) -> Way:
        """What was looked at is there: nothing is to be asked for where the cursor lies later."""
        self.enter(way)
        self.require_lookahead()
        return self.way()

    def loop(self, s: ast.For, body) -> None:
        """A loop of a state begins each turn with a cursor that is inside the packet; one of a function moves no cursor."""
        if self.parser_decl is None or self.returns:
            super().loop(s, body)
            return
        self.proven_cursor()

        def turn() -> None:
            for way in self.through([s.body], [self.way()]):
                self.enter(way)
                self.proven_cursor()

        super().loop(s, turn)
        self.bound = self.look = 0

    def proven_cursor(self) -> None:
        self.joined()
        self.require_lookahead()
        if self.bound:
            self.prove_cursor()

    def prove_cursor(self) -> None:
        """The test is one of its own: joined with others, it says nothing to a verifier."""
        self.b.store(self.opaque(self.cursor(), here=True), self.cursor_slot)
        self.short_unless(self.cursor())
        self.bound = 0

    # ---------------------------------------------------------------- what is evaluated on some paths only

    def branch(self, e: ast.Expr, yes: ir.Block, no: ir.Block) -> None:
        several = isinstance(e, ast.Conditional) or isinstance(e, ast.Binary) and e.op in ("&&", "||")
        with self.on_some_paths(several):
            super().branch(e, yes, no)

    def choose(self, e: ast.Expr, then, otherwise):
        with self.on_some_paths():
            return super().choose(e, then, otherwise)

    @contextmanager
    def on_some_paths(self, several: bool = True):
        if self.parser_decl is None or not several:
            yield
            return
        self.tentative += 1
        yield
        self.tentative -= 1

    def _stmt_Switch(self, s: ast.Switch) -> None:
        """As a chain of `if`, the value evaluated once."""
        if self.parser_decl is None:
            super()._stmt_Switch(s)
            return
        chain = self.chained(s)
        if chain is not None:
            self.statement(chain)

    def chained(self, s: ast.Switch) -> ast.Stmt | None:
        value = ast.VarDecl(s.value.span, None, "", None)
        value.type = s.value.type
        self.env[value] = Value(value.type, self.value(s.value))
        name = ast.Name(s.value.span, "", value)
        name.type = value.type
        chain: ast.Stmt | None = None
        pending: list[ast.Expr] = []
        arms = []
        for labels, block in s.cases:
            pending += labels
            if block is not None:
                arms.append((pending, block))
                pending = []
        for labels, block in reversed(arms):
            if any(isinstance(label, ast.DontCare) for label in labels):
                chain = block
                continue
            cond: ast.Expr | None = None
            for label in labels:
                test = ast.Binary(label.span, "==", name, label)
                cond = test if cond is None else ast.Binary(label.span, "||", cond, test)
                test.type = cond.type = Bool()
            chain = ast.If(s.span, cond, block, chain)
        return chain

    def _stmt_If(self, s: ast.If) -> None:
        """In a function that a parser calls: nothing is extracted there, so there is one way on, or none."""
        if self.parser_decl is None or s.cond.const is not None:
            super()._stmt_If(s)
            return
        if self.looks_behind and self.miss is not None and returns(s.then):
            self.as_guessed(self.condition(s.cond))
            self.statement(s.then)
            return
        ways = self.merged(self.branches(s))
        if ways:
            self.enter(ways[0])


def returns(s: ast.Stmt) -> bool:
    """Whether a statement does nothing but return."""
    return isinstance(s, ast.Return) or isinstance(s, ast.Block) and len(s.statements) == 1 and returns(s.statements[0])
