"""Parse tree to syntax tree: types and expressions."""
from __future__ import annotations

import ipaddress
import re

from antlr4 import ParserRuleContext, Token
from antlr4.tree.Tree import TerminalNodeImpl

from . import ast
from .diagnostics import Diagnostics
from .grammar.LpnParser import LpnParser as P
from .limits import MAX_ROW
from .source import Source, Span
from .syntax import MAX_DEPTH
from .times import WRITTEN

WIDTHED = re.compile(r"([0-9]+)([ws])(.+)")


class TooDeep(Exception):
    """The tree is too deep for its readers to recurse over."""

    def __init__(self, span: Span, message: str = "this is nested too deeply", hint: str = "split it: name the parts"):
        self.span, self.message, self.hint = span, message, hint


class ExpressionBuilder:
    def __init__(self, source: Source, diagnostics: Diagnostics):
        self.source, self.diagnostics = source, diagnostics
        self.expressions_around = self.statements_around = 0    # what is built stands in

    def span(self, node: ParserRuleContext | TerminalNodeImpl) -> Span:
        if isinstance(node, TerminalNodeImpl):
            return self.between(node.symbol, node.symbol)
        return self.between(node.start, node.stop or node.start)

    def between(self, first: Token, last: Token) -> Span:
        """Tokens hold no line breaks, so the last one ends on its own line."""
        length = 0 if last.type == -1 else len(last.text)
        return Span(self.source, first.line, first.column + 1, last.line, last.column + 1 + length)

    def error(self, message: str, where: object, *hints: str) -> None:
        self.diagnostics.error(message, where if isinstance(where, Span) else self.span(where), *hints)

    # ------------------------------------------------------------ types

    def name(self, ctx: P.IdentifierContext) -> str:
        return ctx.start.text

    def number(self, node: TerminalNodeImpl) -> int:
        """A plain number, as in `tag tf:2`."""
        return self.literal(node.symbol.text, self.span(node)).value

    def type_ref(self, ctx: P.TypeRefContext) -> ast.TypeRef:
        """For `typeRef` and `plainType`."""
        size = None
        base = ctx.baseType()
        expressions = []
        if isinstance(ctx, P.TypeRefContext):
            expressions = ctx.getTypedRuleContexts(P.ExprContext)
            if expressions:
                size = self.expr(expressions[0])
        if base is None:
            args = None
            if isinstance(ctx, P.TypeRefContext) and any(child.getText() == "(" for child in ctx.getChildren()):
                args = self.exprs(ctx.exprs())
            return ast.TypeRef(self.span(ctx), self.name(ctx.identifier()), None, args, size)
        name = base.getChild(0).getText()
        width = self.width(base.width()) if base.width() else None
        if name == "bit" and width is None:
            width = ast.Int(self.span(base), 1)             # P4: `bit` alone is `bit<1>`
        return ast.TypeRef(self.span(ctx), name, width, None, size)

    def width(self, ctx: P.WidthContext) -> ast.Expr:
        if ctx.NUMBER():
            return self.literal(ctx.getText(), self.span(ctx))
        if ctx.identifier():
            return ast.Name(self.span(ctx), ctx.getText())
        return self.expr(ctx.expr())

    # ------------------------------------------------------------ expressions

    def exprs(self, ctx: P.ExprsContext | None) -> list[ast.Expr]:
        return [] if ctx is None else [self.expr(one) for one in ctx.expr()]

    def expr(self, ctx: P.ExprContext) -> ast.Expr:
        if self.expressions_around > MAX_DEPTH:
            raise TooDeep(self.span(ctx))
        self.expressions_around += 1
        try:
            return getattr(self, "_" + type(ctx).__name__)(ctx)
        finally:
            self.expressions_around -= 1

    def _MemberExprContext(self, ctx: P.MemberExprContext) -> ast.Expr:
        return ast.Member(self.span(ctx), self.expr(ctx.expr()), self.name(ctx.identifier()))

    def _IndexExprContext(self, ctx: P.IndexExprContext) -> ast.Expr:
        base, *places = [self.expr(one) for one in ctx.expr()]
        if len(places) == 2:
            return ast.Slice(self.span(ctx), base, places[0], places[1])
        return ast.Index(self.span(ctx), base, places[0])

    def _CallExprContext(self, ctx: P.CallExprContext) -> ast.Expr:
        callee = ctx.expr()
        arguments = ctx.argument()
        if isinstance(callee, P.ParenExprContext) and len(callee.expr()) == 1 and isinstance(callee.expr(0), P.NameExprContext):
            # `(Mode) (x)` reads as a call of `(Mode)`; only a cast makes sense.
            if len(arguments) == 1 and arguments[0].identifier() is None and ctx.typeRef() is None:
                target = ast.TypeRef(self.span(callee.expr(0)), callee.expr(0).getText())
                return ast.Cast(self.span(ctx), target, self.expr(arguments[0].expr()))
        type_args = [self.type_ref(ctx.typeRef())] if ctx.typeRef() else []
        args, via = [], None
        for argument in arguments:
            args.append(self.expr(argument.expr()))
            if argument.identifier():
                via = ast.Via(self.between(argument.identifier().start, argument.stop), self.name(argument.identifier()),
                              self.exprs(argument.exprs()))
                if len(arguments) != 1:
                    self.error("'via' belongs to the only argument of extract or emit", argument)
        return ast.Call(self.span(ctx), self.expr(callee), args, type_args, via)

    def _UnaryExprContext(self, ctx: P.UnaryExprContext) -> ast.Expr:
        op = ctx.getChild(0).getText()
        operand = self.expr(ctx.expr())
        return operand if op == "+" else ast.Unary(self.span(ctx), op, operand)

    def _ParenExprContext(self, ctx: P.ParenExprContext) -> ast.Expr:
        inner = [self.expr(one) for one in ctx.expr()]
        return inner[0] if len(inner) == 1 else ast.Tuple(self.span(ctx), inner)

    def _CastExprContext(self, ctx: P.CastExprContext) -> ast.Expr:
        return ast.Cast(self.span(ctx), self.type_ref(ctx.plainType()), self.expr(ctx.expr()))

    def _BinaryExprContext(self, ctx: P.BinaryExprContext) -> ast.Expr:
        """What stands left in each other, as in a + b + c, is not deep for who reads it."""
        row = [ctx]
        while isinstance(left := row[-1].expr(0), P.BinaryExprContext):
            row.append(left)
        if len(row) > MAX_ROW:
            raise TooDeep(self.span(ctx), f"this has {len(row)} operators in a row, and at most {MAX_ROW} are read", "give a part of them a name")
        made = self.expr(row[-1].expr(0))
        for one in reversed(row):
            made = ast.Binary(self.span(one), self.operator(one), made, self.expr(one.expr(1)))
        return made

    def operator(self, ctx: P.BinaryExprContext) -> str:
        op = ctx.getChild(1).getText()
        if ctx.getChildCount() == 4:                        # `>>` is two tokens: `register<bit<8>>` closes two brackets
            first, second = ctx.getChild(1).symbol, ctx.getChild(2).symbol
            if first.stop + 1 != second.start:
                self.error("expected '>>'", self.between(first, second), "write the two without a blank between them")
            return ">>"
        return op

    def _ConditionalExprContext(self, ctx: P.ConditionalExprContext) -> ast.Expr:
        cond, then, otherwise = [self.expr(one) for one in ctx.expr()]
        return ast.Conditional(self.span(ctx), cond, then, otherwise)

    def _RangeExprContext(self, ctx: P.RangeExprContext) -> ast.Expr:
        low, high = ctx.expr()
        return ast.RangeSet(self.span(ctx), self.expr(low), self.expr(high))

    def _NumberExprContext(self, ctx: P.NumberExprContext) -> ast.Expr:
        number = self.literal(ctx.NUMBER().getText(), self.span(ctx))
        if ctx.unit():
            if number.width is not None:
                self.error("a time has no width", ctx, "write 125 ms")
            number.unit = ctx.unit().getText()
            number.value *= WRITTEN[number.unit]
        return number

    def _AddressExprContext(self, ctx: P.AddressExprContext) -> ast.Expr:
        kind, _, text = ctx.getText().partition('"')
        text = text.rstrip('"')
        if kind == "ip6":
            try:
                if "%" in text:
                    raise ValueError
                return ast.Int(self.span(ctx), int(ipaddress.IPv6Address(text)), 128)
            except ValueError:
                self.error(f"'{printable(text)}' is not an IPv6 address", ctx, 'write it as in ip6"fe80::1"')
                return ast.Int(self.span(ctx), 0, 128)
        digits = re.sub("[-:.]", "", text)
        if not re.fullmatch("[0-9a-fA-F]{16}", digits):
            self.error(f"'{printable(text)}' is not an EUI-64 address", ctx,
                       'write eight octets, as in eui64"00-12-4b-00-01-02-03-04"')
            digits = "0"
        return ast.Int(self.span(ctx), int(digits, 16), 64)

    def _BoolExprContext(self, ctx: P.BoolExprContext) -> ast.Expr:
        return ast.BoolLit(self.span(ctx), ctx.getText() == "true")

    def _SizeofExprContext(self, ctx: P.SizeofExprContext) -> ast.Expr:
        operand = self.expr(ctx.expr())
        if isinstance(operand, ast.Name) and operand.name == "this":
            return ast.Sizeof(self.span(ctx), None)
        return ast.Sizeof(self.span(ctx), operand)

    def _ErrorExprContext(self, ctx: P.ErrorExprContext) -> ast.Expr:
        base = ast.Name(self.span(ctx.getChild(0)), "error")
        return ast.Member(self.span(ctx), base, self.name(ctx.identifier()))

    def _InlineWidthExprContext(self, ctx: P.InlineWidthExprContext) -> ast.Expr:
        return ast.InlinePiece(self.span(ctx), self.width(ctx.width()), None)

    def _InlineExprContext(self, ctx: P.InlineExprContext) -> ast.Expr:
        return ast.InlinePiece(self.span(ctx), None, self.expr(ctx.expr()))

    def _FollowingExprContext(self, ctx: P.FollowingExprContext) -> ast.Expr:
        return ast.Following(self.span(ctx), self.width(ctx.width()))

    def _ListExprContext(self, ctx: P.ListExprContext) -> ast.Expr:
        return ast.ListExpr(self.span(ctx), self.exprs(ctx.exprs()))

    def _NameExprContext(self, ctx: P.NameExprContext) -> ast.Expr:
        text = ctx.getText()
        return ast.DontCare(self.span(ctx)) if text == "_" else ast.Name(self.span(ctx), text)

    def literal(self, text: str, span: Span) -> ast.Int:
        """`17`, `0xff`, `8w0x11`, `4s3`."""
        width, signed = None, False
        if match := WIDTHED.fullmatch(text):
            width, signed, text = int(match[1][:9]), match[2] == "s", match[3]
        digits, base = text.replace("_", "").lower(), 10
        if digits[:2] in ("0x", "0b", "0o", "0d"):
            base = {"x": 16, "b": 2, "o": 8, "d": 10}[digits[1]]
            digits = digits[2:]
        value = 0
        if not digits:
            self.error(f"'{text}' has no digits", span)
        elif len(digits) > 200:
            self.error("this number is too large", span, "the widest type is bit<128>")
        else:
            value = int(digits, base)
        if width is not None and not 1 <= width <= 128:
            self.error(f"a number of {width} bits is not possible", span, "widths are 1 to 128")
            width = None
        return ast.Int(span, value, width, signed)


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
