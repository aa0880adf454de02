"""Parse tree to syntax tree: statements."""
from __future__ import annotations

from typing import Any, Callable

from antlr4 import ParserRuleContext

from . import ast, builtins
from .build_expr import ExpressionBuilder, TooDeep
from .diagnostics import Diagnostics
from .foreign_declarations import KEPT, declared_elsewhere
from .grammar.LpnParser import LpnParser as P
from .limits import MAX_ROW
from .source import Source
from .syntax import MAX_DEPTH


class StatementBuilder(ExpressionBuilder):
    def __init__(self, source: Source, diagnostics: Diagnostics):
        super().__init__(source, diagnostics)
        self.methods: dict[type, Callable] = {}

    def item(self, ctx: ParserRuleContext) -> Any:
        """The node of the one child of an `item`, `headerItem`, `processorItem`, ..."""
        return self.node(ctx.getChild(0))

    def node(self, ctx: ParserRuleContext) -> Any:
        kind = type(ctx)
        if kind not in self.methods:
            self.methods[kind] = getattr(self, "_" + kind.__name__)
        return self.methods[kind](ctx)

    def bounds(self, ctx: P.ExprContext) -> tuple[ast.Expr, ast.Expr]:
        """`0..n` of a loop."""
        value = self.expr(ctx)
        if isinstance(value, ast.RangeSet):
            return value.low, value.high
        self.error("a loop runs over a range", ctx, "write it as low..high; high itself is left out")
        return value, value

    def statements(self, contexts: list[P.StatementContext]) -> list[ast.Stmt]:
        return [self.statement(one) for one in contexts if not isinstance(one, P.EmptyStatementContext)]

    def block(self, ctx: P.BlockContext) -> ast.Block:
        return ast.Block(self.span(ctx), self.statements(ctx.statement()))

    def statement(self, ctx: P.StatementContext) -> ast.Stmt:
        if self.statements_around > MAX_DEPTH:
            raise TooDeep(self.span(ctx))
        self.statements_around += 1
        try:
            return self.node(ctx)
        finally:
            self.statements_around -= 1

    def body(self, ctx: P.StatementContext) -> ast.Stmt:
        """What an `if` or a loop does: its braces are no statement of their own."""
        return self.block(ctx.block()) if isinstance(ctx, P.BlockStatementContext) else self.statement(ctx)

    def _BlockStatementContext(self, ctx: P.BlockStatementContext) -> ast.Stmt:
        return self.block(ctx.block())

    def _EmptyStatementContext(self, ctx: P.EmptyStatementContext) -> ast.Stmt:
        return ast.Block(self.span(ctx), [])

    def _VarStatementContext(self, ctx: P.VarStatementContext) -> ast.Stmt:
        return ast.VarDecl(self.span(ctx), self.type_ref(ctx.plainType()), self.name(ctx.identifier()),
                           self.expr(ctx.expr()) if ctx.expr() else None)

    def _ConstStatementContext(self, ctx: P.ConstStatementContext) -> ast.Stmt:
        return ast.ConstDecl(self.span(ctx), self.type_ref(ctx.plainType()), self.name(ctx.identifier()),
                             self.expr(ctx.expr()))

    def _IfStatementContext(self, ctx: P.IfStatementContext) -> ast.Stmt:
        """`else if` after `else if` is not deep for who reads it."""
        row = [ctx]
        while isinstance(last := row[-1].statement()[-1], P.IfStatementContext) and len(row[-1].statement()) == 2:
            row.append(last)
        if len(row) - 1 > MAX_ROW:
            raise TooDeep(self.span(ctx), f"this has {len(row) - 1} 'else if', and at most {MAX_ROW} are read", "use switch, a table, or a function that returns early")
        parts = [(self.span(one), self.expr(one.expr()), self.body(one.statement(0))) for one in row]
        made = self.body(last) if len(row[-1].statement()) == 2 else None
        for part in reversed(parts):
            made = ast.If(*part, made)
        assert made is not None
        return made

    def _ForStatementContext(self, ctx: P.ForStatementContext) -> ast.Stmt:
        low, high = self.bounds(ctx.expr())
        return ast.For(self.span(ctx), self.name(ctx.identifier()), low, high, self.body(ctx.statement()))

    def _SwitchStatementContext(self, ctx: P.SwitchStatementContext) -> ast.Stmt:
        cases: list[tuple[list[ast.Expr], ast.Block | None]] = []
        for one in ctx.switchCase():
            key = self.expr(one.expr()) if one.expr() else ast.DontCare(self.span(one.getChild(0)))
            cases.append(([key], self.block(one.block()) if one.block() else None))
        return ast.Switch(self.span(ctx), self.expr(ctx.expr()), cases)

    def _ReturnStatementContext(self, ctx: P.ReturnStatementContext) -> ast.Stmt:
        return ast.Return(self.span(ctx), self.expr(ctx.expr()) if ctx.expr() else None)

    def _ExitStatementContext(self, ctx: P.ExitStatementContext) -> ast.Stmt:
        return ast.Exit(self.span(ctx))

    def _AfterStatementContext(self, ctx: P.AfterStatementContext) -> ast.Stmt:
        delay, *most = map(self.expr, ctx.expr())
        return ast.After(self.span(ctx), delay, most[0] if most else None, self.block(ctx.block()))

    def _ExprStatementContext(self, ctx: P.ExprStatementContext) -> ast.Stmt:
        first, *value = [self.expr(one) for one in ctx.expr()]
        if value:
            return ast.Assign(self.span(ctx), first, value[0])
        if not isinstance(first, ast.Call):
            if isinstance(first, ast.Name) and first.name in ("break", "continue"):
                self.error(f"there is no '{first.name}'", ctx, "a case ends with its block; put what is not for every turn of a loop into an if")
            elif isinstance(first, ast.Name) and first.name in ("accept", "reject"):
                self.error(f"'{first.name}' ends a parser", ctx, f"write transition {first.name};")
            elif (word := declared(first)) is not None:
                message, hint = declared_elsewhere(word, rules_around(ctx))
                self.error(message, ctx, hint)
            elif isinstance(first, ast.Member) and (first.name in {*builtins.HEADER_METHODS, "count", "apply"} or isinstance(first.base, ast.Name) and first.base.name == "radio"):
                self.error(f"'{first.name}' is called", ctx, f"write {first.name}()" if first.name in builtins.HEADER_METHODS else f"write {self.span(ctx).text.rstrip('; ')}()")
            elif isinstance(first, ast.Name) and (verdict := first.name.upper()) in builtins.VERDICTS:
                self.error("this statement does nothing", ctx, f"a verdict is assigned: m.verdict = {verdict}")
            else:
                self.error("this statement does nothing", ctx, "assign the value, or remove it")
            return ast.Block(self.span(ctx), [])
        return ast.ExprStmt(self.span(ctx), first)


def declared(e: ast.Expr) -> str | None:
    """`register<S> x;` among statements, where it reads as two comparisons: which word it begins with."""
    inner = e.left if isinstance(e, ast.Binary) and e.op == ">" and isinstance(e.right, ast.Name) else None
    word = inner.left if isinstance(inner, ast.Binary) and inner.op == "<" and isinstance(inner.right, ast.Name) else None
    return word.name if isinstance(word, ast.Name) and word.name in KEPT else None


def rules_around(ctx: ParserRuleContext) -> set[str]:
    """The grammar's rules that a part of the text is in."""
    out = set()
    while ctx is not None:
        out.add(P.ruleNames[ctx.getRuleIndex()])
        ctx = ctx.parentCtx
    return out
