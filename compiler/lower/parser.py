"""Parsers: states become blocks, and transitions the tests between them."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I32, PKT, Val, i32
from lpn.compiler.layout import InstanceLayout
from lpn.compiler.target import CTX_PAYLOAD, MAX_PACKET
from lpn.lang import ast
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.instances import walk
from lpn.lang.types import HeaderType, Stack

from .circles import Circles, Entered, goes_round, reachable
from .guess import usual_case
from .instance import Instance
from .shapes import Shape
from .stacks import ahead, counted_stacks

MOST_BLOCKS = 1 << 12                           # of states: a container has no room for more


class Parsers:
    """Mixed into `Lowering`."""

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
        self.latches: dict[tuple, ir.Block] = {}            # of the blocks that are lowered
        self.lowered: ast.State | None = None
        self.entered: Entered = ()                          # around the state that is lowered: by which states they were entered
        self.stacks_before: dict[ast.StructField, int] = {}         # how full the stacks were when it began, without those that are counted
        self.visit_slots: dict[ast.State, ir.Value] = {}
        self.ahead = ahead(p.states)            # the stacks that make blocks differ
        self.bind_packet_params(p.params)
        for local in p.locals:
            self.parser_local(local)
        self.b.store(self.pkt, self.cursor_slot)
        self.count_stacks(counted_stacks(p, self.target.small))
        self.limits = {state: int(state.max.const) for state in p.states if state.max is not None}
        self.circles = Circles(p.states, self.counted, self.limits)
        if self.target.counts_turns:
            self.count_circles(p)
        self.state_queue: dict[tuple, tuple] = {}           # by the key of its block
        self.go_to(next(s for s in p.states if s.name == "start"))
        apart = False                           # whether there are several ways through the states
        while self.state_queue:
            key = next(iter(self.state_queue))
            begun = self.state_queue.pop(key)
            apart = apart or bool(self.state_queue)
            with self.on_some_ways(apart):
                self.emit_state(key, *begun)

    def parser_local(self, s: ast.Node) -> None:
        if isinstance(s, ast.ValueSet):
            return                              # a table
        if isinstance(s, ast.VarDecl) and isinstance(s.type, HeaderType):
            if s in self.env:
                self.env[s].set_valid(False)
                return
            layout = InstanceLayout(None, None, s.type.decl, self.record.header(s.type.decl),
                                    in_packet=self.stays_in_packet(s))
            self.env[s] = Instance(self, layout, local=True)
            self.env[s].set_valid(False)
        else:
            self.statement(s)

    def stays_in_packet(self, s: ast.VarDecl) -> bool:
        """Whether a parser's own header is read where it lies."""
        return not changes(self.parser_decl, s)

    # ---------------------------------------------------------------- states

    def go_to(self, state: ast.State) -> None:
        """Ends the block with a jump to the state. Blocks differ by how full the stacks are, what was looked at and where circles were entered."""
        self.stack_next = {f: n for f, n in self.stack_next.items() if f not in self.counted}
        entered = self.circles.entered(state, self.entered if self.stack_next == self.stacks_before else ())
        self.stack_next = {f: n for f, n in self.stack_next.items() if f in self.ahead[state]}
        if goes_round(state):                   # one block: what it leads to would be entered from two, and a loop has one entry
            self.require_lookahead()
        key = (state, tuple(sorted((f.name, n) for f, n in self.stack_next.items())), self.look, entered)
        if key not in self.state_blocks:
            if len(self.state_blocks) == MOST_BLOCKS:
                raise DiagnosticError([Diagnostic("error", f"parser '{self.parser_decl.name}' has its states more than {MOST_BLOCKS} times: "
                                                  "they are lowered anew for each way into their circles, and for each number of elements in its stacks",
                                                  state.span, ["enter the circles at one of their states, or join states whose 'max' can be one"])])
            if self.bound and (state in self.limits or goes_round(state) and not self.fills_run(state)):       # in a loop: the next turn starts from a proven cursor
                self.prove_cursor()
            block = self.b.append_basic_block(f"state.{state.name}")
            self.state_blocks[key] = (block, self.bound)
            self.state_queue[key] = state, dict(self.stack_next), self.bound, self.look
        block, bound = self.state_blocks[key]
        if self.bound > bound:
            self.prove_cursor()
        again = key not in self.state_queue and self.lowered is not None and (self.lowered is state or self.lowered in reachable(state))
        self.b.branch(self.latch(key, block) if again else block)

    def latch(self, key: tuple, head: ir.Block) -> ir.Block:
        """The one block by which all ways back to a state lead: of a head with several LLVM makes loops in loops. No other way leads through it:
        what LLVM loads there for the next turn would be a second entry of the loop."""
        if key not in self.latches:
            self.latches[key] = self.b.append_basic_block(f"{head.name}.again")
            ir.IRBuilder(self.latches[key]).branch(head)
        return self.latches[key]

    def emit_state(self, key: tuple, state: ast.State, stacks: dict, bound: int, look: int) -> None:
        b = self.b
        b.position_at_end(self.state_blocks[key][0])
        self.joined()
        self.stack_next, self.bound, self.look, self.entered, self.stacks_before = dict(stacks), bound, look, key[-1], stacks
        self.lowered = state
        if state in self.limits:
            self.count_visit(state)
        statements, transition = self.guarded(state) if state.transition is not None else (state.statements, None)
        for way in self.through(statements, self.told_apart(state, self.way())):
            self.enter(way)
            if transition is None:
                self.reject_now("NoMatch")
                continue
            if self.debug is not None:
                b.debug_metadata = self.debug.location(transition.span)
            self.transition(state, transition)

    def count_circles(self, p: ast.Parser) -> None:
        """The turns of circles that need no `max` are counted, too: it is for the checker, which follows a number, and no cursor. The limit is never reached: each turn
        takes an octet, or an element of a stack, or is one of those that have a `max`."""
        headers = self.program.headers_struct
        elements = sum(field.type.size for field in headers.fields if isinstance(field.type, Stack)) if headers is not None else 0
        most = MAX_PACKET + 2 + elements + sum(self.limits.values())
        for state in p.states:
            if state not in self.limits and self.circles.around(state, frozenset(self.limits)):
                self.limits[state] = most

    def count_visit(self, state: ast.State) -> None:
        if state not in self.visit_slots:
            self.visit_slots[state] = self.alloca(I32, f"{state.name}.visits")
        slot = self.visit_slots[state]
        n = self.b.load(slot, typ=I32)
        self.reject_if_not(self.b.icmp_unsigned("<", n, i32(self.limits[state])),
                           "NoMatch" if state.max is None else state.reason or f"{self.parser_decl.name}.{state.name}", self.at(self.cursor(), self.look))
        # opaque where it stands, or LLVM joins this test with the next: no verifier knows what two tests say together
        self.b.store(self.opaque(self.b.add(n, i32(1)), here=True), slot)

    def transition(self, state: ast.State, t: ast.Transition) -> None:
        b = self.b
        if t.select is None:
            self.take_case(t.cases[0])
            return
        keys_of = {case: keysets(case) for case in t.cases}
        asked = [sum(len(keys) == len(t.select) and not isinstance(keys[i], ast.DontCare) for keys in keys_of.values()) for i in range(len(t.select))]
        values = [self.steady(self.bits_of(e), tests) for e, tests in zip(t.select, asked)]
        for case, keys in keys_of.items():
            if len(keys) == 1 and isinstance(keys[0], ast.DontCare):
                cond = self.bool_const(True)
            else:
                cond = self.bool_const(True)
                for e, v, k in zip(t.select, values, keys):
                    cond = self.land(cond, self.is_selected(e, v, k))
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
            self.stands_at_end(t.select, keys)
            self.take_case(case)
            self.bound, self.look, self.stack_next = saved
            b.position_at_end(miss)
        self.reject_now("NoMatch")

    def is_selected(self, e: ast.Expr, v: Val, key: ast.Expr) -> ir.Value:
        """Whether the value `v` of `e` is in a key's set."""
        if is_value_set(key):
            return self.in_set(v, key.decl)
        return self.is_at_end() if self.asks_for_end(e, key) else self.matches(v, key)

    def take_case(self, case: ast.SelectCase) -> None:
        if case.target == "accept":
            if self.bound + self.look:
                self.short_unless(self.at(self.cursor(), self.look))
            self.finish_parse()
            self.accept()
        elif case.target == "reject":
            self.reject_now(case.reason or "NoMatch")
        else:
            self.go_to(case.state)

    def finish_parse(self) -> None:
        """Publishes where the payload begins, for who reads it behind the run."""
        if self.tells_payload:
            self._store(self.ctx, CTX_PAYLOAD, 4, self.distance(self.pkt, self.cursor()))


def keysets(case: ast.SelectCase) -> list[ast.Expr]:
    """One for each expression that is selected by, or one for all."""
    return case.keys[0].elements if len(case.keys) == 1 and isinstance(case.keys[0], ast.Tuple) else case.keys


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
