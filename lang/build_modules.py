"""Parse tree to syntax tree: parsers, processors, deparsers; timing blocks and the protocol."""
from __future__ import annotations

from typing import Any

from . import ast
from .build_statements import StatementBuilder
from .grammar.LpnParser import LpnParser as P
from .source import Span


class ModuleBuilder(StatementBuilder):
    def params(self, ctx: P.ParamsContext | None) -> list[ast.Param]:
        if ctx is None:
            return []
        return [ast.Param(self.span(p), self.name(p.identifier()), p.direction.text if p.direction else "",
                          self.type_ref(p.typeRef()))
                for p in ctx.param()]

    def _ParserDeclContext(self, ctx: P.ParserDeclContext) -> ast.Node:
        items = [self.item(one) for one in ctx.parserItem()]
        items = [self.local_const(one) for one in items]
        locals_ = [one for one in items if not isinstance(one, ast.State)]
        return ast.Parser(self.span(ctx), self.name(ctx.identifier()), self.params(ctx.params()), locals_,
                          [one for one in items if isinstance(one, ast.State)])

    def local_const(self, node: Any) -> Any:
        """Constants inside a module are ConstDecl, those at top level Const."""
        if isinstance(node, ast.Const):
            return ast.ConstDecl(node.span, node.type_ref, node.name, node.value)
        return node

    def _StateDeclContext(self, ctx: P.StateDeclContext) -> ast.Node:
        transition = self.node(ctx.transition()) if ctx.transition() else None
        bound = self.expr(ctx.expr()) if ctx.expr() else None
        return ast.State(self.span(ctx), self.name(ctx.identifier()), self.statements(ctx.statement()), transition, bound)

    def _SelectTransitionContext(self, ctx: P.SelectTransitionContext) -> ast.Node:
        cases = []
        for one in ctx.selectCase():
            if one.expr() is None:
                keys: list[ast.Expr] = [ast.DontCare(self.span(one.getChild(0)))]
            else:
                key = self.expr(one.expr())
                keys = key.elements if isinstance(key, ast.Tuple) else [key]
            cases.append(self.select_case(one.target(), keys, self.span(one)))
        return ast.Transition(self.span(ctx), self.exprs(ctx.exprs()), cases)

    def _DirectTransitionContext(self, ctx: P.DirectTransitionContext) -> ast.Node:
        return ast.Transition(self.span(ctx), None, [self.select_case(ctx.target(), [], self.span(ctx.target()))])

    def select_case(self, ctx: P.TargetContext, keys: list[ast.Expr], span: Span) -> ast.SelectCase:
        name = self.name(ctx.identifier())
        reason = self.expr(ctx.expr()) if ctx.expr() else None
        if reason is not None and name != "reject":
            self.error("only reject takes a reason", ctx, f"write transition {name};")
        return ast.SelectCase(span, keys, name, reason)

    def _ProcessorDeclContext(self, ctx: P.ProcessorDeclContext) -> ast.Node:
        params = self.params(ctx.params())
        items = [self.local_const(self.item(one)) for one in ctx.processorItem()]
        blocks = [one for one in items if isinstance(one, ast.Block)]
        name = self.name(ctx.identifier())
        if not blocks:
            self.error(f"processor '{name}' has no apply block", ctx.identifier(), "add apply { ... }")
        for extra in blocks[1:]:
            self.error(f"processor '{name}' has two apply blocks", extra.span, "keep one")
        body = blocks[0] if blocks else ast.Block(self.span(ctx), [])
        rest = [one for one in items if not isinstance(one, ast.Block)]
        if any(param.type_ref.name == "packet_out" for param in params):        # a P4 deparser is a control with an apply block
            for other in rest:
                if not isinstance(other, (ast.VarDecl, ast.ConstDecl)):
                    self.error("a deparser has variables and constants only", other.span, "do this in a processor before it")
            return ast.Deparser(self.span(ctx), name, params, ast.Block(body.span, [*rest, *body.statements]))
        return ast.Processor(self.span(ctx), name, params, rest, body)

    def _ApplyBlockContext(self, ctx: P.ApplyBlockContext) -> ast.Node:
        return self.block(ctx.block())

    def _DeparserDeclContext(self, ctx: P.DeparserDeclContext) -> ast.Node:
        span = self.span(ctx)
        return ast.Deparser(span, self.name(ctx.identifier()), self.params(ctx.params()), ast.Block(span, self.statements(ctx.statement())))

    # ------------------------------------------------------------ time

    def _TimingDeclContext(self, ctx: P.TimingDeclContext) -> ast.Node:
        items = [self.local_const(self.item(one)) for one in ctx.timingItem() if one.energyDecl() is None]
        energy = [self.energy_budget(budget) for one in ctx.timingItem() if one.energyDecl()
                  for budget in one.energyDecl().energyBudget()]
        handlers = [one for one in items if isinstance(one, ast.Handler)]
        return ast.Timing(self.span(ctx), self.name(ctx.identifier()),
                          [one for one in items if not isinstance(one, ast.Handler)], handlers, energy)

    def energy_budget(self, ctx: P.EnergyBudgetContext) -> ast.EnergyBudget:
        span, name, op = self.span(ctx), self.dotted(ctx.qualified()), ctx.getChild(1).getText()
        if ctx.PERCENTAGE():
            whole, _, digits = ctx.PERCENTAGE().getText().rstrip("% \t").partition(".")
            return ast.EnergyBudget(span, name, op, ast.Int(span, int(whole)), digits, True)
        return ast.EnergyBudget(span, name, op, self.expr(ctx.expr()), "", ctx.getChild(ctx.getChildCount() - 2).getText() == "%")

    def dotted(self, ctx: P.QualifiedContext) -> str:
        return ".".join(self.name(one) for one in ctx.identifier())

    def clauses(self, ctx: P.HandlerContext) -> dict[str, ast.Expr]:
        """Each expression of a handler by the word before it."""
        children = list(ctx.getChildren())
        return {children[i - 1].getText(): self.expr(child) for i,
                child in enumerate(children) if isinstance(child, P.ExprContext)}

    def _EveryHandlerContext(self, ctx: P.EveryHandlerContext) -> ast.Node:
        clauses = self.clauses(ctx)
        return ast.Handler(self.span(ctx), "every", None, [], clauses["every"], clauses.get("jitter"),
                           clauses.get("within"), self.block(ctx.block()))

    def _OnHandlerContext(self, ctx: P.OnHandlerContext) -> ast.Node:
        params = [ast.Param(self.span(one), self.name(one), "in", ast.TypeRef(self.span(one), "")) for one in ctx.identifier()]
        return ast.Handler(self.span(ctx), "on", self.dotted(ctx.qualified()), params, None, None,
                           self.clauses(ctx).get("within"), self.block(ctx.block()))

    def _SlotHandlerContext(self, ctx: P.SlotHandlerContext) -> ast.Node:
        clauses = self.clauses(ctx)
        return ast.Handler(self.span(ctx), "slot", None, [], clauses["of"], None, clauses.get("within"),
                           self.block(ctx.block()), clauses["slot"])

    def _ProtocolDeclContext(self, ctx: P.ProtocolDeclContext) -> ast.Node:
        bindings, timing, places = [], [], []
        for one in ctx.protocolItem():
            names, spans = [self.name(n) for n in one.identifier()], [self.span(n) for n in one.identifier()]
            if isinstance(one, P.TimingBindingContext):
                timing += names
                places += spans
                continue
            within = self.expr(one.expr()) if one.expr() else None
            bindings.append(ast.Binding(self.span(one), self.dotted(one.qualified()), self.exprs(one.exprs()), names, spans, within))
        version = self.expr(ctx.expr()) if ctx.expr() else None
        return ast.Protocol(self.span(ctx), self.name(ctx.identifier()), version, bindings, timing, places)
