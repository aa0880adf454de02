"""Parsers: states become blocks; bytes are read ahead within the window and compared with the packet's end once.

A parser has no side effects, so that bytes are missing may be noticed later: a check that fails reports `PacketTooShort`
instead of its own reason if the cursor has passed the end by then, and what is accepted is compared with it once. What is
reported is what checking every step at once would have reported (docs/language.md, "Short packets").
"""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace

import llvmlite.ir as ir

from lpn.compiler.bits import I32, PKT, Val, i32
from lpn.compiler.layout import InstanceLayout
from lpn.compiler.target import CTX_PAYLOAD
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bool, HeaderType

from .guess import usual_case
from .instance import Instance
from .places import Value
from .shapes import Shape
from .stmt import unrolled


@dataclass
class Way:
    """One way through a state, open at the end of `block`, with what is known on it: see `Parsers`; `stack_next`: how many
    elements of each stack were extracted."""

    block: ir.Block
    bound: int
    look: int
    stack_next: dict[ast.StructField, int]


class Parsers:
    """Mixed into `Lowering`. `bound`: how far the cursor may lie beyond what is known to be inside the packet; `look`: octets
    behind the cursor that a lookahead needs."""

    def parser(self, p: ast.Parser, accept) -> None:
        """Lowers parser `p`; `accept()` is called with the builder where it accepts."""
        self.cursor_slot = self.alloca(PKT, "cursor")
        self.bound = self.look = 0
        self.shape: Shape | None = None         # of the header being extracted, where it is known
        self.row_base, self.row_bit = None, 0
        self.looks_behind = False               # while `following` is evaluated: a guess knows it by the first that a function asks of it
        self.tentative = 0                      # inside parts of expressions that are evaluated on some paths only
        self.parser_decl, self.accept = p, accept
        self.stack_next: dict[ast.StructField, int] = {}
        self.state_blocks: dict[tuple, tuple[ir.Block, int]] = {}
        self.ahead: dict[ast.State, set] = {}
        self.visit_slots: dict[ast.State, ir.Value] = {}
        self.bind_packet_params(p.params)
        for local in p.locals:
            self.parser_local(local)
        self.b.store(self.pkt, self.cursor_slot)
        queue: list[tuple] = []
        self.state_queue = queue
        self.go_to(next(s for s in p.states if s.name == "start"))
        while queue:
            self.emit_state(*queue.pop(0))

    def parser_local(self, s: ast.Node) -> None:
        if isinstance(s, ast.ValueSet):
            return                              # a table
        if isinstance(s, ast.VarDecl) and isinstance(s.type, HeaderType):
            if s in self.env:
                self.env[s].set_valid(False)
                return
            layout = InstanceLayout(None, None, s.type.decl, self.record.header(s.type.decl),
                                    in_packet=not changes(self.parser_decl, s))
            self.env[s] = Instance(self, layout, local=True)
            self.env[s].set_valid(False)
        else:
            self.statement(s)

    # ---------------------------------------------------------------- cursor and checks

    def cursor(self) -> ir.Value:
        return self.b.load(self.cursor_slot, typ=PKT)

    def need(self, octets: int) -> None:
        """Makes `octets` behind the cursor readable."""
        if octets == 0:
            return
        if self.bound + octets > self.target.window:
            self.short_unless(self.cursor())
            self.bound = 0

    def short_unless(self, pointer: ir.Value) -> None:
        """Rejects as too short if `pointer` lies beyond the packet's end."""
        self.reject_unless(self.b.icmp_unsigned("<=", pointer, self.end), "PacketTooShort")

    def advance_static(self, octets: int) -> None:
        if octets:
            self.b.store(self.at(self.cursor(), octets), self.cursor_slot)
            self.bound += octets
            self.look = max(0, self.look - octets)

    def advance_by(self, octets: ir.Value) -> None:
        """A run-time number of octets; the packet must hold them."""
        self.require_lookahead()
        self.b.store(self.at(self.cursor(), octets), self.cursor_slot)
        self.short_unless(self.cursor())
        self.bound = 0

    def require_lookahead(self) -> None:
        if self.look and self.miss is None:     # what is guessed is compared with the end once
            self.short_unless(self.at(self.cursor(), self.look))
            self.bound = self.look = 0

    def take(self, width: int) -> Val:
        self.need(width // 8)
        v = self.load_packet(self.cursor(), 0, width, False)
        self.advance_static(width // 8)
        return v

    def peek(self, width: int) -> Val:
        if self.tentative:                      # not on every path: what it needs is tested here
            self.short_unless(self.at(self.cursor(), width // 8))
            return self.load_packet(self.cursor(), 0, width, False)
        self.need(width // 8)
        self.look = max(self.look, width // 8)
        return self.load_packet(self.cursor(), 0, width, False)

    def check(self, cond: ir.Value, reason: str) -> None:
        """Rejects with `reason` if false."""
        self.reject_if_not(cond, reason, self.at(self.cursor(), self.look))

    def check_that(self, e: ast.Expr, reason: str) -> None:
        """Rejects with `reason` unless the condition `e` holds."""
        if e.const:
            return
        b = self.b
        if self.miss is not None:
            ok = b.append_basic_block("usual")
            self.branch(e, ok, self.miss)
            b.position_at_end(ok)
            return
        ok, fail = b.append_basic_block("ok"), b.append_basic_block("fail")
        self.branch(e, ok, fail)
        b.position_at_end(fail)
        self.reject_now(reason)
        b.position_at_end(ok)

    def reject_at(self, reason: str, cursor: ir.Value | None) -> None:
        """Ends the block: too short if the cursor lies beyond the end, else `reason`."""
        if self.miss is not None:
            self.b.branch(self.miss)
            return
        number: ir.Value = i32(self.reason(reason))
        if cursor is not None and reason != "PacketTooShort":
            inside = self.b.icmp_unsigned("<=", cursor, self.end)
            number = self.b.select(inside, number, i32(self.reason("PacketTooShort")))
        self.return_drop(number)

    def reject_now(self, reason: str) -> None:
        self.reject_at(reason, self.at(self.cursor(), self.look))

    def reject_if_not(self, cond: ir.Value, reason: str, cursor: ir.Value) -> None:
        if isinstance(cond, ir.Constant) and cond.constant:
            return
        if self.miss is not None:
            self.as_guessed(cond)
            return
        b = self.b
        ok, fail = b.append_basic_block("ok"), b.append_basic_block("fail")
        self.likely(b.cbranch(cond, ok, fail))
        b.position_at_end(fail)
        self.reject_at(reason, cursor)
        b.position_at_end(ok)

    # ---------------------------------------------------------------- other packet methods

    def _call_advance(self, e: ast.Call) -> None:
        bits = self.bits_of(e.args[0])
        if bits.const is not None:
            self.need(bits.const // 8)
            self.advance_static(bits.const // 8)
        else:
            self.advance_by(self._shr(self.resize(bits, 32).limbs[0], 3))

    def _call_lookahead(self, e: ast.Call) -> Val:
        return self.peek(self.width_of(e.type))

    def _call_verify(self, e: ast.Call) -> None:
        self.check_that(e.args[0], e.args[1].decl.name)

    # ---------------------------------------------------------------- states

    def go_to(self, state: ast.State) -> None:
        """Ends the block with a jump to the state. Blocks differ by how full the stacks are and what was looked at."""
        ahead = self.stacks_ahead(state)
        self.stack_next = {f: n for f, n in self.stack_next.items() if f in ahead}
        if goes_round(state):                   # one block: what it leads to would be entered from two, and a loop has one entry
            self.require_lookahead()
        key = (state, tuple(sorted((f.name, n) for f, n in self.stack_next.items())), self.look)
        if key not in self.state_blocks:
            if self.bound and (state.max is not None or goes_round(state)):       # in a loop: the next turn starts from a proven cursor
                self.prove_cursor()
            block = self.b.append_basic_block(f"state.{state.name}")
            self.state_blocks[key] = (block, self.bound)
            self.state_queue.append((state, key, dict(self.stack_next), self.bound, self.look))
        block, bound = self.state_blocks[key]
        if self.bound > bound:
            self.prove_cursor()
        self.b.branch(block)

    def stacks_ahead(self, state: ast.State) -> set[ast.StructField]:
        """The stacks whose `next` or `last` this state or one after it names: only they make blocks differ."""
        if state not in self.ahead:
            seen, todo, found = set(), [state], set()
            while todo:
                s = todo.pop()
                if s is None or s in seen:
                    continue
                seen.add(s)
                found |= {n.base.decl for n in walk(s) if isinstance(n, ast.Member) and n.decl in ("next", "last", "lastIndex")}
                if s.transition is not None:
                    todo += [c.state for c in s.transition.cases]
            self.ahead[state] = found
        return self.ahead[state]

    def emit_state(self, state: ast.State, key: tuple, stacks: dict, bound: int, look: int) -> None:
        b = self.b
        b.position_at_end(self.state_blocks[key][0])
        self.joined()
        self.stack_next, self.bound, self.look = dict(stacks), bound, look
        if state.max is not None:
            self.count_visit(state)
        for way in self.through(state.statements, [self.way()]):
            self.enter(way)
            if state.transition is None:
                self.reject_now("NoMatch")
                continue
            if self.debug is not None:
                b.debug_metadata = self.debug.location(state.transition.span)
            self.transition(state, state.transition)

    # ---------------------------------------------------------------- ways through a state

    def way(self) -> Way:
        return Way(self.b.block, self.bound, self.look, dict(self.stack_next))

    def enter(self, way: Way) -> None:
        self.b.position_at_end(way.block)
        self.bound, self.look, self.stack_next = way.bound, way.look, dict(way.stack_next)

    def through(self, statements: list[ast.Stmt], ways: list[Way]) -> list[Way]:
        """Lowers statements for each way that leads to them; the ways that lead on."""
        for s in statements:
            ways = self.merged([after for way in ways for after in self.step(s, way)])
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
        if isinstance(s, ast.For) and unrolled(s):
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
            out.append(Way(done, max(w.bound for w in group), max(w.look for w in group), group[0].stack_next))
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

    def count_visit(self, state: ast.State) -> None:
        if state not in self.visit_slots:
            self.visit_slots[state] = self.alloca(I32, f"{state.name}.visits")
        slot = self.visit_slots[state]
        n = self.b.load(slot, typ=I32)
        self.reject_if_not(self.b.icmp_unsigned("<", n, i32(int(state.max.const))),
                           state.reason or f"{self.parser_decl.name}.{state.name}", self.at(self.cursor(), self.look))
        # opaque where it stands, or LLVM joins this test with the next: no verifier knows what two tests say together
        self.b.store(self.opaque(self.b.add(n, i32(1)), here=True), slot)

    def transition(self, state: ast.State, t: ast.Transition) -> None:
        b = self.b
        if t.select is None:
            self.take_case(t.cases[0])
            return
        values = [self.steady(self.bits_of(e), len(t.cases)) for e in t.select]
        for case in t.cases:
            keys = case.keys
            if len(keys) == 1 and isinstance(keys[0], ast.Tuple):
                keys = keys[0].elements
            if len(keys) == 1 and isinstance(keys[0], ast.DontCare):
                cond = self.bool_const(True)
            else:
                cond = self.bool_const(True)
                for v, k in zip(values, keys):
                    cond = self.land(cond, self.in_set(v, k.decl) if is_value_set(k) else self.matches(v, k))
            if isinstance(cond, ir.Constant):
                if cond.constant:
                    self.take_case(case)
                    return
                continue
            if self.miss is not None:
                usual = case is usual_case(state)
                self.as_guessed(cond if usual else self.lnot(cond))
                if usual:
                    self.take_case(case)
                    return
                continue
            hit, miss = b.append_basic_block("case"), b.append_basic_block("next")
            b.cbranch(cond, hit, miss)
            b.position_at_end(hit)
            saved = self.bound, self.look, dict(self.stack_next)
            self.take_case(case)
            self.bound, self.look, self.stack_next = saved
            b.position_at_end(miss)
        self.reject_now("NoMatch")

    def take_case(self, case: ast.SelectCase) -> None:
        if case.target == "accept":
            if self.bound + self.look:
                self.short_unless(self.at(self.cursor(), self.look))
            self.finish_parse()
            self.accept()
        elif case.target == "reject":
            self.reject_now(case.reason.decl.name if case.reason is not None else "NoMatch")
        else:
            self.go_to(case.state)

    def finish_parse(self) -> None:
        """Publishes where the payload begins, for who reads it behind the run."""
        if self.tells_payload:
            self._store(self.ctx, CTX_PAYLOAD, 4, self.distance(self.pkt, self.cursor()))


def goes_round(state: ast.State) -> bool:
    """Whether a state can be reached from itself."""
    seen: set[ast.State] = set()
    todo = [state]
    while todo:
        transition = todo.pop().transition
        for case in transition.cases if transition is not None else ():
            if case.state is state:
                return True
            if case.state is not None and case.state not in seen:
                seen.add(case.state)
                todo.append(case.state)
    return False


def returns(s: ast.Stmt) -> bool:
    """Whether a statement does nothing but return."""
    return isinstance(s, ast.Return) or isinstance(s, ast.Block) and len(s.statements) == 1 and returns(s.statements[0])


def is_value_set(key: ast.Expr) -> bool:
    return isinstance(key, ast.Name) and isinstance(key.decl, ast.ValueSet)


def changes(parser: ast.Parser, local: ast.VarDecl) -> bool:
    """Whether a parser's own header is ever made from something else than the packet's bytes as they are."""
    def named(e: ast.Expr) -> bool:
        while isinstance(e, (ast.Member, ast.Index, ast.Slice)):
            e = e.base
        return isinstance(e, ast.Name) and e.decl is local

    for node in walk(parser):
        if isinstance(node, ast.Assign) and named(node.target):
            return True
        if isinstance(node, ast.Call):
            if node.target == "extract" and node.via is not None and named(node.args[0]):
                return True
            if node.target == "setValid" and named(node.callee):
                return True
            if isinstance(node.target, ast.Function) and any(p.direction and named(a) for p, a in zip(node.target.params, node.args)):
                return True
            if node.via is not None and any(p.direction and named(a) for p, a in zip(node.via.codec.params, node.via.args)):
                return True
    return False
