"""Statements and function calls: one method a node. Functions are inlined where they are called."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lpn.compiler.bits import I32, Val, i32
from lpn.compiler.target import OUT_SIZE
from lpn.lang import ast
from lpn.lang.instances import by_reference, is_headers, walk
from lpn.lang.types import HeaderType, StructType, Varbit, Void

from .changing import may_change
from .places import Place, Value, variable
from .unroll import unrolled


class Statements:
    """Mixed into `Lowering`."""

    def run(self, statements: list[ast.Stmt]) -> None:
        for s in statements:
            if self.b.block.is_terminated:
                return
            self.statement(s)

    def stand_at(self, s: ast.Stmt) -> None:
        """What is made from here on is made of this statement."""
        if self.debug is not None:
            self.b.debug_metadata = self.debug.location(s.span)
        if not self.in_line:
            self.operations.stand(s.span)

    def statement(self, s: ast.Stmt) -> None:
        self.stand_at(s)
        getattr(self, "_stmt_" + type(s).__name__)(s)

    def _stmt_Block(self, s: ast.Block) -> None:
        self.run(s.statements)

    def _stmt_VarDecl(self, s: ast.VarDecl) -> None:
        if isinstance(s.type, HeaderType):
            raise self.unsupported(s, "a header variable outside a parser")
        if is_headers(s.type):
            return                              # the header record, which a handler finds empty
        place = self.env[s] if s in self.env else variable(self, s.type, s.name)
        self.env[s] = place
        if s.init is not None:
            place.set(self.value(s.init))
        else:
            place.clear()

    def _stmt_ConstDecl(self, s: ast.ConstDecl) -> None:
        pass                                    # uses are folded by the checker

    _stmt_Const = _stmt_ConstDecl

    def _stmt_Assign(self, s: ast.Assign) -> None:
        if isinstance(s.target.type, HeaderType):
            header = self.place(s.target)
            header.become(self.place(s.value), header.layout.units)
        elif isinstance(s.target.type, Varbit):
            self.copy_varbit(s.target, s.value)
        else:
            self.assign(s.target, self.value(s.value))

    def copy_varbit(self, target: ast.Member, value: ast.Member) -> None:
        """The octets stay where they are in the packet: the field gets their place."""
        to, of = self.place(target.base), self.place(value.base)
        source = of.layout.unit_of[value.decl]
        pointer, octets = of.varbit(source)
        to.set_varbit(to.layout.unit_of[target.decl], pointer, of.if_present(source, lambda: octets, lambda: i32(0)))

    def assign(self, target: ast.Expr, value) -> None:
        if isinstance(target, ast.Slice):
            whole = self.bits_of(target.base)
            hi, lo = int(target.hi.const), int(target.lo.const)
            parts = [self.slice(whole, whole.width - 1, hi + 1)] if hi < whole.width - 1 else []
            parts.append(value)
            if lo > 0:
                parts.append(self.slice(whole, lo - 1, 0))
            self.assign(target.base, self.concat(*parts))
            return
        decl = getattr(target, "decl", None)
        if isinstance(decl, ast.Field):
            inst = self.this if isinstance(target, ast.Name) else self.place(target.base)
            held = self.expanding.get(inst, {}).get(decl)
            if held is not None:
                self.expanding[inst][decl] = value
            else:
                inst.write(decl, value)
        elif isinstance(decl, ast.ChoiceArm):
            self.place(target.base.base).write_arm(decl, value)
        else:
            self.place(target).set(value)

    def _stmt_If(self, s: ast.If) -> None:
        if s.cond.const is not None:
            branch = s.then if s.cond.const else s.otherwise
            if branch is not None:
                self.statement(branch)
            return
        b = self.b
        then, done = b.append_basic_block("then"), b.append_basic_block("done")
        otherwise = b.append_basic_block("else") if s.otherwise is not None else done
        self.branch(s.cond, then, otherwise)
        for block, body in ((then, s.then), (otherwise, s.otherwise)):
            if body is None:
                continue
            b.position_at_end(block)
            with self.on_some_ways():
                self.statement(body)
            if not b.block.is_terminated:
                b.branch(done)
        b.position_at_end(done)

    def _stmt_For(self, s: ast.For) -> None:
        if not unrolled(s, self.target.small):
            self.loop(s, lambda: self.statement(s.body))
            return
        for i in range(int(s.low.const), int(s.high.const)):
            if self.b.block.is_terminated:
                return
            self.env[s.var] = Value(s.var.type, self.constant(32, i))
            self.statement(s.body)

    def loop(self, s: ast.For, body) -> None:
        """A loop in the container. What it counts with is opaque: LLVM would count otherwise, and no verifier could say how
        often it turns."""
        b = self.b
        slot = self.alloca(I32, s.name)
        b.store(i32(int(s.low.const)), slot)
        turn, done = b.append_basic_block("turn"), b.append_basic_block("turned")
        self.loop_edge()
        b.branch(turn)
        b.position_at_end(turn)
        i = b.load(slot, typ=I32)
        self.env[s.var], self.masked[s.var] = Value(s.var.type, Val(32, (i,))), int(s.high.const)
        self.loops_around += 1
        body()
        self.loops_around -= 1
        if not b.block.is_terminated:
            self.loop_edge()
            following = self.opaque(b.add(b.load(slot, typ=I32), i32(1)), here=True)
            b.store(following, slot)
            b.cbranch(b.icmp_unsigned("<", following, i32(int(s.high.const))), turn, done)
        b.position_at_end(done)

    def loop_edge(self) -> None:
        """What is known while lowering must hold in every turn."""
        if self.at_slot is not None and not self.walks:         # where a deparser walks, no loop writes
            self.rejoined()
            self.at_most = OUT_SIZE             # tested anew at the next write

    def _stmt_Switch(self, s: ast.Switch) -> None:
        self.switch(s, self.steady(self.bits_of(s.value), sum(len(labels) for labels, _ in s.cases)), self.bits_of)

    def switch(self, s: ast.Switch, value, number) -> None:
        """Runs the case whose label is `value`; `number(label)` is a label's value."""
        b, done = self.b, self.b.append_basic_block("switch.done")
        pending: list[ast.Expr] = []
        for labels, block in s.cases:
            pending += labels
            if block is None:                   # P4: falls through to the next body
                continue
            cond = self.bool_const(False)
            for label in pending:
                always = isinstance(label, ast.DontCare)
                cond = self.lor(cond, self.bool_const(True) if always else self.eq(value, number(label)))
            pending = []
            body, nxt = b.append_basic_block("case"), b.append_basic_block("next")
            b.cbranch(cond, body, nxt)
            b.position_at_end(body)
            with self.on_some_ways():
                self.statement(block)
            if not b.block.is_terminated:
                b.branch(done)
            b.position_at_end(nxt)
        b.branch(done)
        b.position_at_end(done)

    def _stmt_Return(self, s: ast.Return) -> None:
        place, block = self.returns[-1]
        if s.value is not None:
            place.set(self.value(s.value))
        self.b.branch(block)

    def _stmt_Exit(self, s: ast.Exit) -> None:
        self.b.branch(self.returns[0][1])

    def _stmt_Applied(self, s: ast.Applied) -> None:
        done = self.b.append_basic_block("applied")
        self.returns.append((None, done))
        self.in_line += 1
        with self.on_some_ways(any(isinstance(n, ast.Return) for n in walk(s.body))):
            self.statement(s.body)
        self.in_line -= 1
        if not self.b.block.is_terminated:
            self.b.branch(done)
        self.returns.pop()
        self.b.position_at_end(done)

    def _stmt_ExprStmt(self, s: ast.ExprStmt) -> None:
        self._expr_Call(s.call)

    # ---- functions and actions

    def call_function(self, f: ast.Function, args: list):
        """The result; `args` as of `call_body`."""
        t = f.return_type.type
        result = None if isinstance(t, Void) else variable(self, t, f.name)
        if result is not None:
            result.clear()
        self.call_body(f.params, args, f.body, result)
        return result.get() if result is not None else None

    def call_body(self, params: list[ast.Param], args: list, body: ast.Block, result) -> None:
        """Inlines `body` with its parameters bound: headers by reference, the rest by value; what is `out` or `inout` is
        copied back at the end, in order. args: expressions, or values that are ready (action data)."""
        bound = self.bound_params(params, args, body)
        self.run_body(bound, body, result)
        self.copy_back(params, args, bound)

    def run_body(self, bound: Mapping[object, Place], body: ast.Block, result) -> None:
        """Inlines `body`, whose parameters stand for these places."""
        called_at = self.b.debug_metadata
        with self.standing_for(bound):
            done = self.b.append_basic_block("return")
            self.returns.append((result, done))
            self.in_line += 1
            self.statement(body)
            self.in_line -= 1
            if not self.b.block.is_terminated:
                self.b.branch(done)
            self.returns.pop()
            self.b.position_at_end(done)
        self.b.debug_metadata = called_at       # what follows belongs to the caller's line again

    def bound_params(self, params: list[ast.Param], args: list, body: ast.Block) -> dict[ast.Param, Place]:
        """What parameters stand for in `body`. args: as of `call_body`."""
        bound: dict[ast.Param, Place] = {}
        for at, (p, a) in enumerate(zip(params, args)):
            if not isinstance(a, ast.Expr):
                bound[p] = Value(p.type, a)
            elif is_headers(p.type):
                continue                        # members of it carry their declarations
            elif by_reference(p.type):
                bound[p] = self.place(a)
            elif p.direction in ("out", "inout"):
                bound[p] = self.copied_in(p, a)
            elif isinstance(p.type, StructType):
                changes = any(may_change(one, a) for one in (body, *args[at + 1:]))
                bound[p] = self.copied_in(p, a) if changes else self.place(a)           # `in` parameters are not assigned
            else:
                bound[p] = Value(p.type, self.value(a))
        return bound

    @contextmanager
    def standing_for(self, bound: Mapping[object, Place]) -> Iterator[None]:
        """Names stand for these places in it."""
        saved = {name: self.env.get(name) for name in bound}
        self.env.update(bound)
        try:
            yield
        finally:
            for name, old in saved.items():
                if old is None:
                    self.env.pop(name, None)
                else:
                    self.env[name] = old

    def copied_in(self, p: ast.Param, a: ast.Expr) -> Place:
        """A variable for an `out` or `inout` parameter: the argument itself may be read meanwhile."""
        place = variable(self, p.type, p.name)
        if p.direction == "out":
            place.clear()
        else:
            place.set(self.value(a))
        return place

    def copy_back(self, params: list[ast.Param], args: list, bound: dict) -> None:
        for p, a in zip(params, args):
            if p.direction in ("out", "inout") and isinstance(a, ast.Expr) and not by_reference(p.type):
                self.assign(a, bound[p].get())
