"""Parse tree to syntax tree: the whole file, and its declarations."""
from __future__ import annotations

from . import ast, reread
from .build_expr import TooDeep
from .build_modules import ModuleBuilder
from .deep import deep
from .diagnostics import Diagnostics
from .grammar.LpnParser import LpnParser as P
from .source import Source
from .syntax import MAX_ERRORS, parse_tree

Items = tuple[list[ast.Import], list[ast.Node]]


def parse(source: Source, diagnostics: Diagnostics, mended: bool = False) -> Items:
    """The imports and declarations of one source. What is wrong is told to `diagnostics`; then the result is empty, or mended where it can be."""
    items = reread.kept(source)
    if items is not None:
        return items
    tree = parse_tree(source, diagnostics, mended)
    diagnostics.stopped(MAX_ERRORS)
    if tree is None:
        return [], []
    items = items_of(source, tree, diagnostics)
    if not diagnostics.items:
        reread.keep(source, items)
    return items


def items_of(source: Source, tree: P.ProgramContext, diagnostics: Diagnostics) -> Items:
    """The same of a tree that is there already."""
    builder = Builder(source, diagnostics)
    try:
        with deep():
            items = [builder.item(item) for item in tree.item()]
    except TooDeep as e:
        diagnostics.error(e.message, e.span, e.hint)
        return [], []
    imports = [item for item in items if isinstance(item, ast.Import)]
    return imports, [item for item in items if not isinstance(item, ast.Import)]


class Builder(ModuleBuilder):
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
        return ast.Codec(self.span(ctx), self.name(ctx.identifier(0)), self.params(ctx.params()), self.name(ctx.identifier(1)),
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
