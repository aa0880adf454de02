"""Parse tree to syntax tree: declarations and statements."""
from __future__ import annotations

from typing import Any, Callable

from antlr4 import ParserRuleContext

from . import ast
from .build_expr import ExpressionBuilder, TooDeep
from .diagnostics import Diagnostics
from .grammar.LpnParser import LpnParser as P
from .source import Source, Span
from .syntax import parse_tree

Items = tuple[list[ast.Import], list[ast.Node]]


def parse(source: Source, diagnostics: Diagnostics) -> Items:
    """The imports and declarations of one source. What is wrong is told to `diagnostics`; then the result is empty."""
    tree = parse_tree(source, diagnostics)
    return items_of(source, tree, diagnostics) if tree is not None else ([], [])


def items_of(source: Source, tree: P.ProgramContext, diagnostics: Diagnostics) -> Items:
    """The same of a tree that is there already."""
    builder = Builder(source, diagnostics)
    try:
        items = [builder.item(item) for item in tree.item()]
    except TooDeep as e:
        diagnostics.error("this is nested too deeply", e.span, "split it: name the parts")
        return [], []
    imports = [item for item in items if isinstance(item, ast.Import)]
    return imports, [item for item in items if not isinstance(item, ast.Import)]


class Builder(ExpressionBuilder):
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

    # ------------------------------------------------------------ top level

    def params(self, ctx: P.ParamsContext | None) -> list[ast.Param]:
        if ctx is None:
            return []
        return [ast.Param(self.span(p), self.name(p.identifier()), p.direction.text if p.direction else "",
                          self.type_ref(p.typeRef()))
                for p in ctx.param()]

    def _ImportDeclContext(self, ctx: P.ImportDeclContext) -> ast.Node:
        return ast.Import(self.span(ctx), [self.name(one) for one in ctx.qualified().identifier()])

    def _ConstDeclContext(self, ctx: P.ConstDeclContext) -> ast.Node:
        return ast.Const(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.typeRef()), self.expr(ctx.expr()))

    def _TypedefDeclContext(self, ctx: P.TypedefDeclContext) -> ast.Node:
        return ast.Typedef(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.typeRef()))

    def _EnumDeclContext(self, ctx: P.EnumDeclContext) -> ast.Node:
        members = [ast.EnumMember(self.span(m), self.name(m.identifier()), self.expr(m.expr()) if m.expr() else None)
                   for m in ctx.enumMember()]
        if ctx.typeRef():
            base = self.type_ref(ctx.typeRef())
        else:                                               # P4's enum without representation: the width its members need
            span = self.span(ctx.identifier())
            base = ast.TypeRef(span, "bit", ast.Int(span, max((len(members) - 1).bit_length(), 1)))
        return ast.Enum(self.span(ctx), self.name(ctx.identifier()), base, members)

    def _ErrorDeclContext(self, ctx: P.ErrorDeclContext) -> ast.Node:
        return ast.ErrorDecl(self.span(ctx), [ast.ErrorMember(self.span(one), self.name(one)) for one in ctx.identifier()])

    def _StructDeclContext(self, ctx: P.StructDeclContext) -> ast.Node:
        fields = []
        for one in ctx.structField():
            init = self.expr(one.expr()) if one.expr() else None
            fields.append(ast.StructField(self.span(one), self.name(one.identifier()), self.type_ref(one.typeRef()),
                                          init=init))
        return ast.Struct(self.span(ctx), self.name(ctx.identifier()), fields)

    def _FunctionDeclContext(self, ctx: P.FunctionDeclContext) -> ast.Node:
        return ast.Function(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.typeRef()),
                            self.params(ctx.params()), self.block(ctx.block()))

    def _ExternDeclContext(self, ctx: P.ExternDeclContext) -> ast.Node:
        name, *contexts = [self.name(one) for one in ctx.identifier()]
        cost = self.expr(ctx.expr()) if ctx.expr() else None
        return ast.Extern(self.span(ctx), name, self.type_ref(ctx.typeRef()), self.params(ctx.params()), cost, contexts)

    def _MigrateDeclContext(self, ctx: P.MigrateDeclContext) -> ast.Node:
        span = self.span(ctx)
        return ast.Migrate(span, self.expr(ctx.expr()), [self.node(one) for one in ctx.registerDecl()], ast.Block(span, self.statements(ctx.statement())))

    # ------------------------------------------------------------ headers

    def _HeaderDeclContext(self, ctx: P.HeaderDeclContext) -> ast.Node:
        return ast.Header(self.span(ctx), self.name(ctx.identifier()), self.params(ctx.params()),
                          [self.item(one) for one in ctx.headerItem()])

    def _WordItemContext(self, ctx: P.WordItemContext) -> ast.Node:
        return ast.Word(self.span(ctx), self.number(ctx.NUMBER()), ctx.getChild(1).getText() == "le",
                        [self.node(one) for one in ctx.fieldDecl()])

    def _ChoiceItemContext(self, ctx: P.ChoiceItemContext) -> ast.Node:
        tag, name = ctx.identifier()
        arms = []
        for one in ctx.choiceArm():
            type_ref = self.type_ref(one.typeRef())
            arms.append(ast.ChoiceArm(self.span(one), self.name(one.identifier()), type_ref, little=type_ref.name == "le"))
        choice = ast.ChoiceField(self.span(ctx), self.name(name), ast.Name(self.span(tag), self.name(tag)), arms)
        for arm in arms:
            arm.choice = choice
        return choice

    def _WhereItemContext(self, ctx: P.WhereItemContext) -> ast.Node:
        return ast.Where(self.span(ctx), *self.where(ctx.expr()))

    def where(self, ctx: P.ExprContext) -> tuple[ast.Expr, ast.Expr | None]:
        """`where cond` and `where (cond, reason)`."""
        cond = self.expr(ctx)
        if isinstance(cond, ast.Tuple):
            if len(cond.elements) > 2:
                self.error("where takes a condition and a reason", ctx, "write where (cond, error.X)")
            return cond.elements[0], cond.elements[1]
        return cond, None

    def _FieldDeclContext(self, ctx: P.FieldDeclContext) -> ast.Node:
        type_ref = self.type_ref(ctx.typeRef())
        field = ast.Field(self.span(ctx), self.name(ctx.identifier()), type_ref, little=type_ref.name == "le")
        seen: set[str] = set()
        for one in ctx.fieldAttribute():
            word = one.getChild(0).getText()
            if word in seen:
                self.error(f"this field has two '{word}'", one, "keep one")
            seen.add(word)
            if word == "=":
                field.equation = self.expr(one.expr())
            elif word == "deferred":
                field.deferred = True
            elif word == "in":
                field.values = self.exprs(one.exprs())
            elif word == "when":
                field.when = self.expr(one.expr())
            else:
                field.sized = self.expr(one.expr())
        return field

    # ------------------------------------------------------------ codecs

    def _CodecDeclContext(self, ctx: P.CodecDeclContext) -> ast.Node:
        tag = [self.tag_bits(one) for one in ctx.codecTag().tagBits()] if ctx.codecTag() else []
        variables: list[ast.CodecVar] = []
        groups: list[ast.Group] = []
        for item in ctx.codecItem():
            if item.codecVar():
                variables.append(self.codec_var(item.codecVar()))
            elif item.codecGroup():
                one = item.codecGroup()
                names = [ast.Name(self.span(n), self.name(n)) for n in one.identifier()]
                rows = [ast.Row(self.span(row), self.exprs(row.exprs()), [self.node(r) for r in row.rowItem()])
                        for row in one.codecRow()]
                groups.append(ast.Group(self.span(one), names, rows))
            else:
                row = ast.Row(self.span(item), [], [self.node(r) for r in item.rowItem()])
                groups.append(ast.Group(self.span(item), [], [row]))
        return ast.Codec(self.span(ctx), self.name(ctx.identifier()), self.params(ctx.params()), ctx.IDENT().getText(),
                         tag, variables, groups)

    def tag_bits(self, ctx: P.TagBitsContext) -> ast.TagBits:
        """`0b011`: the width is that of the digits as written; `tf:2`: a variable."""
        span = self.span(ctx)
        if ctx.identifier():
            return ast.TagBits(span, self.name(ctx.identifier()), self.number(ctx.NUMBER()))
        text = ctx.NUMBER().getText()
        number = self.literal(text, span)
        digits = text.replace("_", "").lower()
        if number.width is None and digits[:2] in ("0b", "0x"):
            number.width = len(digits[2:]) * (4 if digits[1] == "x" else 1)
        if number.width is None:
            self.error("the width of this constant is not known", span,
                       "write its bits, as in 0b011, or its width, as in 3w3")
            number.width = 8
        return ast.TagBits(span, "", number.width, number.value)

    def codec_var(self, ctx: P.CodecVarContext) -> ast.CodecVar:
        var = ast.CodecVar(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.plainType()),
                           self.expr(ctx.expr()) if ctx.expr() else None)
        if first := ctx.firstIn():
            name = first.identifier()
            span = self.span(name)
            var.loop = ast.VarDecl(span, ast.TypeRef(span, "bit", ast.Int(span, 32)), self.name(name), None)
            var.low, var.high = self.bounds(first.expr(0))
            var.cond = self.expr(first.expr(1))
        return var

    def bounds(self, ctx: P.ExprContext) -> tuple[ast.Expr, ast.Expr]:
        """`0..n` of a loop."""
        value = self.expr(ctx)
        if isinstance(value, ast.RangeSet):
            return value.low, value.high
        self.error("a loop runs over a range", ctx, "write it as low..high; high itself is left out")
        return value, value

    def _InlineItemContext(self, ctx: P.InlineItemContext) -> ast.Node:
        return ast.RowInline(self.span(ctx), [self.inline_target(one) for one in ctx.inlineTarget()])

    def inline_target(self, ctx: P.InlineTargetContext) -> ast.InlineTarget:
        target, *bits = [self.expr(one) for one in ctx.expr()]
        if isinstance(target, ast.Name) and target.name == "pad" and bits:
            if not isinstance(bits[0], ast.Int):
                self.error("the width of padding is a number", ctx, "write pad:2")
                return ast.InlineTarget(self.span(ctx), None, 1)
            return ast.InlineTarget(self.span(ctx), None, bits[0].value)
        return ast.InlineTarget(self.span(ctx), target, None, bits[0] if bits else None)

    def _WhereRowItemContext(self, ctx: P.WhereRowItemContext) -> ast.Node:
        return ast.RowWhere(self.span(ctx), *self.where(ctx.expr()))

    def _AssignRowItemContext(self, ctx: P.AssignRowItemContext) -> ast.Node:
        target, value = ctx.expr()
        return ast.RowAssign(self.span(ctx), self.expr(target), self.expr(value))

    # ------------------------------------------------------------ state, actions, tables

    def array_size(self, ctx: P.ArraySizeContext | None) -> ast.Expr | None:
        return None if ctx is None else self.expr(ctx.expr())

    def _RegisterDeclContext(self, ctx: P.RegisterDeclContext) -> ast.Node:
        persistent = ctx.getChild(0).getText() == "persistent"
        return ast.Register(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.typeRef()),
                            self.array_size(ctx.arraySize()), persistent)

    def _ValueSetDeclContext(self, ctx: P.ValueSetDeclContext) -> ast.Node:
        return ast.ValueSet(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.typeRef()),
                            self.array_size(ctx.arraySize()))

    def _CounterDeclContext(self, ctx: P.CounterDeclContext) -> ast.Node:
        return ast.Counter(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.typeRef()),
                           self.array_size(ctx.arraySize()))

    def _MeterDeclContext(self, ctx: P.MeterDeclContext) -> ast.Node:
        return ast.Meter(self.span(ctx), self.name(ctx.identifier()), self.type_ref(ctx.typeRef()),
                         self.exprs(ctx.exprs()), self.array_size(ctx.arraySize()))

    def _BufferDeclContext(self, ctx: P.BufferDeclContext) -> ast.Node:
        span = self.span(ctx)
        size = self.array_size(ctx.arraySize()) or ast.Int(span, 1)
        return ast.BufferDecl(span, self.name(ctx.identifier()), self.width(ctx.width()), size,
                              self.expr(ctx.expr()) if ctx.expr() else None)

    def _VarDeclContext(self, ctx: P.VarDeclContext) -> ast.Node:
        return ast.VarDecl(self.span(ctx), self.type_ref(ctx.typeRef()), self.name(ctx.identifier()),
                           self.expr(ctx.expr()) if ctx.expr() else None)

    def _ActionDeclContext(self, ctx: P.ActionDeclContext) -> ast.Node:
        return ast.Action(self.span(ctx), self.name(ctx.identifier()), self.params(ctx.params()), self.block(ctx.block()))

    def _TableDeclContext(self, ctx: P.TableDeclContext) -> ast.Node:
        table = ast.Table(self.span(ctx), self.name(ctx.identifier()), [], [], None, None, [])
        seen: set[str] = set()
        for one in ctx.tableProperty():
            name = type(one).__name__.removesuffix("PropertyContext").lower()
            if name in seen:
                self.error(f"this table has two '{name}'" if name != "default" else "this table has two 'default_action'", one, "keep one")
            seen.add(name)
            constant = one.getChild(0).getText() == "const"
            if name == "key":
                table.keys = [ast.TableKey(self.span(k), self.expr(k.expr()), self.name(k.identifier()))
                              for k in one.tableKey()]
            elif name == "actions":
                table.actions = [self.action_ref(a) for a in one.actionRef()]
            elif name == "entries":
                table.entries = [self.table_entry(e) for e in one.tableEntry()]
                table.const_entries = constant
            elif name == "default":
                table.default_action = self.action_ref(one.actionRef())
                table.const_default = constant
            else:
                table.size = self.expr(one.expr())
        return table

    def action_ref(self, ctx: P.ActionRefContext) -> ast.ActionRef:
        return ast.ActionRef(self.span(ctx), self.name(ctx.identifier()), self.exprs(ctx.exprs()))

    def table_entry(self, ctx: P.TableEntryContext) -> ast.TableEntry:
        priority, expressions = None, [self.expr(one) for one in ctx.expr()]
        if len(expressions) == 2:
            first = expressions.pop(0)
            if isinstance(first, ast.Int):
                priority = first.value
            else:
                self.error("a priority is a number", first.span)
        keys = expressions[0].elements if isinstance(expressions[0], ast.Tuple) else expressions
        return ast.TableEntry(self.span(ctx), keys, self.action_ref(ctx.actionRef()), priority)

    # ------------------------------------------------------------ parser, processor, deparser

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
            return ast.Deparser(self.span(ctx), name, params, rest, body)
        return ast.Processor(self.span(ctx), name, params, rest, body)

    def _ApplyBlockContext(self, ctx: P.ApplyBlockContext) -> ast.Node:
        return self.block(ctx.block())

    def _DeparserDeclContext(self, ctx: P.DeparserDeclContext) -> ast.Node:
        span = self.span(ctx)
        return ast.Deparser(span, self.name(ctx.identifier()), self.params(ctx.params()), [],
                            ast.Block(span, self.statements(ctx.statement())))

    # ------------------------------------------------------------ statements

    def statements(self, contexts: list[P.StatementContext]) -> list[ast.Stmt]:
        return [self.statement(one) for one in contexts if not isinstance(one, P.EmptyStatementContext)]

    def block(self, ctx: P.BlockContext) -> ast.Block:
        return ast.Block(self.span(ctx), self.statements(ctx.statement()))

    def statement(self, ctx: P.StatementContext) -> ast.Stmt:
        self.depth += 1
        if self.depth > 100:
            raise TooDeep(self.span(ctx))
        try:
            return self.node(ctx)
        finally:
            self.depth -= 1

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
        then, *otherwise = [self.statement(one) for one in ctx.statement()]
        return ast.If(self.span(ctx), self.expr(ctx.expr()), then, otherwise[0] if otherwise else None)

    def _ForStatementContext(self, ctx: P.ForStatementContext) -> ast.Stmt:
        low, high = self.bounds(ctx.expr())
        return ast.For(self.span(ctx), self.name(ctx.identifier()), low, high, self.statement(ctx.statement()))

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
        return ast.After(self.span(ctx), self.expr(ctx.expr()), self.block(ctx.block()))

    def _ExprStatementContext(self, ctx: P.ExprStatementContext) -> ast.Stmt:
        first, *value = [self.expr(one) for one in ctx.expr()]
        if value:
            return ast.Assign(self.span(ctx), first, value[0])
        if not isinstance(first, ast.Call):
            self.error("this statement does nothing", ctx, "assign the value, or remove it")
            return ast.Block(self.span(ctx), [])
        return ast.ExprStmt(self.span(ctx), first)

    # ------------------------------------------------------------ time

    def _TimingDeclContext(self, ctx: P.TimingDeclContext) -> ast.Node:
        items = [self.local_const(self.item(one)) for one in ctx.timingItem() if one.energyDecl() is None]
        energy = [self.energy_budget(budget) for one in ctx.timingItem() if one.energyDecl()
                  for budget in one.energyDecl().energyBudget()]
        handlers = [one for one in items if isinstance(one, ast.Handler)]
        return ast.Timing(self.span(ctx), self.name(ctx.identifier()),
                          [one for one in items if not isinstance(one, ast.Handler)], handlers, energy)

    def energy_budget(self, ctx: P.EnergyBudgetContext) -> ast.EnergyBudget:
        percent = ctx.getChild(ctx.getChildCount() - 2).getText() == "%"
        return ast.EnergyBudget(self.span(ctx), self.dotted(ctx.qualified()), ctx.getChild(1).getText(), self.expr(ctx.expr()), percent)

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
        params = [self.name(one) for one in ctx.identifier()]
        return ast.Handler(self.span(ctx), "on", self.dotted(ctx.qualified()), params, None, None,
                           self.clauses(ctx).get("within"), self.block(ctx.block()))

    def _SlotHandlerContext(self, ctx: P.SlotHandlerContext) -> ast.Node:
        clauses = self.clauses(ctx)
        return ast.Handler(self.span(ctx), "slot", None, [], clauses["of"], None, clauses.get("within"),
                           self.block(ctx.block()), clauses["slot"])

    def _ProtocolDeclContext(self, ctx: P.ProtocolDeclContext) -> ast.Node:
        bindings, timing = [], []
        for one in ctx.protocolItem():
            names = [self.name(n) for n in one.identifier()]
            if isinstance(one, P.TimingBindingContext):
                timing += names
                continue
            within = self.expr(one.expr()) if one.expr() else None
            bindings.append(ast.Binding(self.span(one), self.dotted(one.qualified()), self.exprs(one.exprs()), names,
                                        within))
        version = self.expr(ctx.expr()) if ctx.expr() else None
        return ast.Protocol(self.span(ctx), self.name(ctx.identifier()), version, bindings, timing)
