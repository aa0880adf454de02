"""Random expressions of a given type."""
from __future__ import annotations

from .base import BOOL, ERROR, Choose, Context, EnumInfo, HeaderInfo, StructInfo, Ty, Value, bit, is_constant, literal

COMPARE = ("==", "!=", "<", "<=", ">", ">=")


class Expressions:
    """`self.enums` and `self.constants` are the program's."""

    choose: Choose
    enums: list[EnumInfo]
    constants: list[Value]
    externs = False                             # whether the program declares `sample`
    errors: list[str]
    structs: list[StructInfo]
    plan = ""                                   # what the program is made for

    # ------------------------------------------------------------ types

    def is_number(self, ty: Ty) -> bool:
        """Whether sets and tables have ranges and masks of it; of signed numbers where the program is made for nothing else."""
        return ty.kind == "bit" or ty.kind == "int" and not self.plan

    def width(self, most: int = 64) -> int:
        c = self.choose
        match c.number(0, 4):
            case 0:
                return min(8, most)
            case 1:
                return c.pick([w for w in (1, 16, 32, 24, 48, 64, 31, 33, 63, 4, 128, 127, 65, 96) if w <= most])
        return c.number(1, most)

    def scalar(self, most: int = 64) -> Ty:
        """Any scalar type."""
        c = self.choose
        match c.number(0, 11):
            case 10:
                return BOOL
            case 11 if self.enums:
                return c.pick(self.enums).ty
            case 9:
                return Ty("int", max(2, self.width(most if c.chance(1, 4) else min(most, 64))))
        return bit(self.width(most))

    # ------------------------------------------------------------ leaves

    def constant(self, ty: Ty) -> str:
        c = self.choose
        if ty == ERROR:
            return f"error.{c.pick(['NoMatch', 'PacketTooShort', *self.errors])}"
        if ty.kind == "enum":
            info = next(e for e in self.enums if e.ty == ty)
            return f"{ty.name}.{c.pick(info.members)[0]}"
        same = [k.text for k in self.constants if k.ty == ty]
        if same and c.chance(1, 3):
            return c.pick(same)
        return literal(ty, c.value(ty.width))

    def leaf(self, ty: Ty, ctx: Context) -> str:
        c = self.choose
        values = ctx.readable()
        same = [v.text for v in values if v.ty == ty]
        if same and c.number(0, 3):
            return c.pick(same)
        others = [v for v in values if v.ty != ty]
        if others and c.number(0, 2):
            text = self.convert(c.pick(others), ty)
            if text:
                return text
        return self.constant(ty)

    def convert(self, value: Value, ty: Ty) -> str:
        """A value of another type as one of this type, "" where it takes more than a cast."""
        c = self.choose
        source = value.ty
        if ERROR in (source, ty):
            return f"({value.text} == {self.constant(ERROR)})" if ty == BOOL else ""
        if ty.kind in ("bit", "int"):
            if source.kind == "bool":
                if ty == bit(1) and c.chance(1, 2):
                    return f"((bit<1>) {value.text})"
                return f"({value.text} ? {literal(ty, c.value(ty.width))} : {literal(ty, 0)})"
            if source.kind == "bit" and source.width > ty.width and ty.kind == "bit":
                low = c.number(0, source.width - ty.width)
                return f"{value.text}[{low + ty.width - 1}:{low}]"
            return f"(({ty}) {value.text})"
        if ty.kind == "bool":
            if source == bit(1) and c.chance(1, 2):
                return f"((bool) {value.text})"
            if source.kind == "bit":
                return f"({value.text} {c.pick(('!=', '=='))} {literal(source, c.value(source.width))})"
            return ""
        if source.kind == "bit" and source.width >= ty.width:
            return f"(({ty.name}) ({value.text}[{ty.width - 1}:0]))"
        return ""

    # ------------------------------------------------------------ expressions

    def expr(self, ty: Ty, ctx: Context, depth: int = 2) -> str:
        if depth <= 0 or self.choose.chance(1, 4):
            return self.leaf(ty, ctx)
        if ty.kind == "bool":
            return self.condition(ctx, depth)
        if ty.kind in ("enum", "error"):
            if ctx.lookahead and ty.kind == "enum" and self.choose.chance(1, 4):
                return self.lookahead(ty)
            if self.choose.chance(1, 3):
                return self.conditional(ty, ctx, depth)
            return self.leaf(ty, ctx)
        special = self.special(ty, ctx, depth)
        if special:
            return special
        if ty.width > 64:
            return self.wide(ty, ctx, depth)
        return self.signed(ty, ctx, depth) if ty.kind == "int" else self.unsigned(ty, ctx, depth)

    def conditional(self, ty: Ty, ctx: Context, depth: int) -> str:
        guarded = [text for text in ctx.headers if text not in ctx.valid]
        if guarded and ctx.place != "function" and self.choose.chance(1, 3):
            text = self.choose.pick(guarded)
            values = [v for v in ctx.headers[text].values(text, False) if v.ty == ty]
            if values and "." in text:
                return f"({text}.isValid() ? {self.choose.pick(values).text} : {self.leaf(ty, ctx)})"
        return f"({self.expr(BOOL, ctx, depth - 1)} ? {self.expr(ty, ctx, depth - 1)} : {self.expr(ty, ctx, depth - 1)})"

    def unsigned(self, ty: Ty, ctx: Context, depth: int) -> str:
        c = self.choose
        width = ty.width
        one = lambda: self.expr(ty, ctx, depth - 1)
        match c.number(0, 13):
            case 0 | 1 | 2:
                return f"({one()} {c.pick('+-*')} {one()})"
            case 3:
                return f"({one()} {c.pick('&|^')} {one()})"
            case 4:
                return f"({one()} {c.pick(('<<', '>>'))} {c.number(0, width + 3) if c.number(0, 2) else self.amount(ctx, depth)})"
            case 5:
                return f"{c.pick('~-')}({one()})"
            case 6:
                return self.conditional(ty, ctx, depth)
            case 7 if width > 1:
                return self.concat(width, ctx, depth)
            case 8:
                return self.slice(ty, ctx, depth)
            case 9:
                return f"(({ty}) ({self.expr(self.scalar_number(), ctx, depth - 1)}))"
            case 10:
                return f"({one()} {c.pick('/%')} {self.divisor(ty, ctx)})"
            case 11:
                return f"({one()} {c.pick(('|+|', '|-|'))} {one()})"
            case 12:
                number = min(c.value(width), (1 << width) - 1)
                return f"({self.variable(ty, ctx)} {c.pick('+-&|^')} {number})"      # a constant that takes the other's width
            case 13 if width == 16 and ctx.place != "codec":
                return self.sum_of(ctx, depth)
        return f"({one()} {c.pick('+-^')} {one()})"

    def variable(self, ty: Ty, ctx: Context) -> str:
        same = [v.text for v in ctx.readable() if v.ty == ty]
        return self.choose.pick(same) if same else f"({literal(ty, 0)} ^ {self.leaf(ty, ctx)})"

    def scalar_number(self) -> Ty:
        if self.choose.chance(1, 5):
            return Ty("int", max(2, self.width(64)))
        return bit(self.width(128 if self.choose.chance(1, 5) else 64))

    def divisor(self, ty: Ty, ctx: Context) -> str:
        """Not a constant zero: that is refused."""
        same = [v.text for v in ctx.readable() if v.ty == ty and not v.text.startswith("K")]
        if same and self.choose.chance(1, 2):
            return self.choose.pick(same)
        return literal(ty, max(1, self.choose.value(ty.width)))

    def concat(self, width: int, ctx: Context, depth: int) -> str:
        high = self.choose.number(1, width - 1)
        return f"({self.expr(bit(high), ctx, depth - 1)} ++ {self.expr(bit(width - high), ctx, depth - 1)})"

    def slice(self, ty: Ty, ctx: Context, depth: int) -> str:
        c = self.choose
        width = min(128, ty.width + c.number(0, 64))
        low = c.number(0, width - ty.width)
        return f"({self.expr(bit(width), ctx, depth - 1)})[{low + ty.width - 1}:{low}]"

    def sum_of(self, ctx: Context, depth: int) -> str:
        c = self.choose
        args = [self.expr(bit(16 * c.pick((1, 2, 4, 8))), ctx, depth - 1) for _ in range(c.number(1, 3))]
        if ctx.payload and c.chance(1, 3):
            args.append("payload")
        return f"inet_sum({', '.join(args)})"

    def wide(self, ty: Ty, ctx: Context, depth: int) -> str:
        """Of more than 64 bits: there are fewer operators, and a signed one is put together by casts alone."""
        c = self.choose
        one = lambda: self.expr(ty, ctx, depth - 1)
        match kind := c.number(0, 5 if ty.kind == "int" else 7):
            case 0:
                return f"({one()} {c.pick('&|^')} {one()})"
            case 1:
                return f"(~{self.leaf(ty, ctx)})"
            case 2:
                return f"({one()} {c.pick(('<<', '>>'))} {c.number(0, ty.width + 1)})"
            case 3:
                return self.conditional(ty, ctx, depth)
        if kind == 4 or ty.kind == "int":
            return f"(({ty}) ({self.expr(self.scalar_number(), ctx, depth - 1)}))"
        return self.concat(ty.width, ctx, depth)

    def signed(self, ty: Ty, ctx: Context, depth: int) -> str:
        c = self.choose
        one = lambda: self.expr(ty, ctx, depth - 1)
        match c.number(0, 8):
            case 0 | 1:
                return f"({one()} {c.pick('+-*&|^')} {one()})"
            case 2:
                return f"(({ty}) ({self.expr(self.scalar_number(), ctx, depth - 1)}))"
            case 3:
                return self.conditional(ty, ctx, depth)
            case 4:
                return f"({c.pick('-~')}{self.leaf(ty, ctx)})"
            case 6:
                return f"({one()} {c.pick('/%')} {self.divisor(ty, ctx)})"
            case 7:
                return f"({one()} {c.pick(('|+|', '|-|'))} {one()})"
            case 8:
                amount = c.number(0, ty.width + 3) if c.number(0, 2) else self.amount(ctx, depth)
                return f"({one()} >> {amount})"
        return f"({one()} << {c.number(0, ty.width + 1)})"

    def amount(self, ctx: Context, depth: int) -> str:
        """Of a shift: those of more than 12 bits are above 32 bits where they are not 0."""
        ty = bit(self.width(16))
        text = self.expr(ty, ctx, depth - 1)
        return f"({text} ++ 32w0)" if ty.width > 12 else text              # no more is drawn: the other programs stay what they were

    # ------------------------------------------------------------ what only some places have

    def special(self, ty: Ty, ctx: Context, depth: int) -> str:
        c = self.choose
        if not c.chance(1, 5):
            return ""
        options = []
        if ty == bit(16) and ctx.payload:
            options.append(lambda: "sizeof(payload)")
        if ty == bit(16) and ctx.place in ("parser", "processor", "deparser") and ctx.headers:
            options.append(lambda: f"sizeof({c.pick([t for t in ctx.headers if '.' in t] or ['payload'])})")
        if ty in (bit(8), bit(16)) and ctx.place in ("processor", "bare"):
            varied = {f"{text}.{name}": most // 8 for text, info in ctx.headers.items() if text in ctx.valid and "." in text for name, most in info.varbits.items() if most >= 8}
            if varied:
                options.append(lambda: f"sizeof({c.pick(list(varied))})" if ty == bit(16) else self.octet_of(varied, ctx, depth))
        if ctx.octets and ty == bit(8):
            options.append(lambda: f"payload[{self.octet_index(ctx, depth)}]")
        if ctx.stacks and ty == bit(32):
            options.append(lambda: f"h.{c.pick(ctx.stacks)}.lastIndex")
        if ty == bit(16) and self.externs and ctx.place in ("processor", "action", "timing"):
            options += [lambda: f"sample({c.number(0, 99)}, {self.leaf(bit(8), ctx)})"] * 3
            options.append(lambda: f"sample({self.expr(bit(32), ctx, depth - 1)}, {self.expr(bit(8), ctx, depth - 1)})")
        if ctx.lookahead:
            options.append(lambda: self.lookahead(ty))
        if ctx.place in ("processor", "action", "deparser", "function"):
            options.append(lambda: self.of_node(ty))
        fitting = [f for f in ctx.callable if f.result == ty or isinstance(f.result, StructInfo) and any(t == ty for _, t in f.result.fields)]
        if fitting:
            options.append(lambda: self.call(c.pick(fitting), ty, ctx, depth))
        arrays = [r for r in ctx.registers if r.size and (r.cell == ty or isinstance(r.cell, StructInfo) and any(t == ty for _, t in r.cell.fields))]
        if arrays:
            options.append(lambda: self.cell(c.pick(arrays), ty, ctx, depth))
        return c.pick(options)() if options else ""

    def octet_index(self, ctx: Context, depth: int) -> str:
        c = self.choose
        if c.chance(1, 2):
            return str(c.number(0, 12) if c.number(0, 4) else c.pick((255, 2047, 2048, 65535)))
        return self.expr(bit(self.width(64)), ctx, depth - 1)

    def octet_of(self, varied: dict[str, int], ctx: Context, depth: int) -> str:
        """Of a varbit, from how many octets each has."""
        c = self.choose
        name = c.pick(list(varied))
        if c.chance(1, 2):
            return f"{name}[{c.number(0, varied[name] - 1)}]"
        ty = bit(self.width(64))
        index = self.expr(ty, ctx, depth - 1)
        if is_constant(index) and 1 << ty.width > varied[name]:                 # it has to be inside
            index = f"({index}) % {varied[name]}"
        return f"{name}[{index}]"

    def lookahead(self, ty: Ty) -> str:
        """Of whole octets, or of the first bits; little-endian, a signed number, an enum's value, which may be none of its members."""
        c = self.choose
        whole = (ty.width + 7) // 8 * 8
        if ty.kind != "bit" or c.chance(1, 2):
            return f"pkt.lookahead<{ty if ty.kind != 'bit' or whole > ty.width else f'le<{ty.width}>'}>()"
        if ty.width < 16 and self.enums and c.chance(1, 6):
            enum = next((e.ty for e in self.enums if e.ty.width == ty.width), None)
            if enum is not None:
                return f"((bit<{ty.width}>) pkt.lookahead<{enum}>())"
        text = f"pkt.lookahead<bit<{whole}>>()"
        return text if whole == ty.width else f"{text}[{ty.width - 1}:0]"

    def of_node(self, ty: Ty) -> str:
        if ty.kind != "bit":
            return ""
        name, width = self.choose.pick((("node.short", 16), ("node.ext", 64), ("node.pan", 16), ("node.clock", 32)))
        return self.convert(Value(name, bit(width)), ty) if width != ty.width else name

    def call(self, function, ty: Ty, ctx: Context, depth: int) -> str:
        """A call that gives a value: functions that change their arguments are called by statements."""
        args = self.arguments(function, ctx, depth)
        if args is None:
            return ""
        text = f"{function.name}({', '.join(args)})"
        if isinstance(function.result, StructInfo):
            return f"{text}.{self.choose.pick([n for n, t in function.result.fields if t == ty])}"
        return text

    def arguments(self, function, ctx: Context, depth: int) -> list[str] | None:
        """None where something is not at hand."""
        out = []
        for direction, what in function.params:
            if isinstance(what, HeaderInfo):
                fit = [t for t, info in ctx.headers.items() if info is what and t in ctx.valid and (direction != "inout" or ctx.assigns(t) and t not in out)]
            elif isinstance(what, StructInfo):
                fit = [n for n, info, writable in ctx.structs if info is what and (writable or direction != "inout")]
                if ctx.place in ("processor", "action", "bare", "timing") or not direction and ctx.place == "parser":
                    fit += [r.name if not r.size else f"{r.name}[{self.choose.number(0, r.size - 1)}]" for r in ctx.registers
                            if r.cell is what and (ctx.state or direction != "inout")]
                if not direction and depth > 0 and (not fit or self.choose.chance(2, 3)):
                    fit = self.makings(what, ctx, depth) or fit
                if not direction and self.is_listed(what) and self.choose.chance(1, 6):
                    fit = [self.list_of(what, ctx, depth)]
            elif direction:
                fit = [v.text for v in ctx.readable() if v.ty == what and v.writable and v.text not in out]
            else:
                fit = [self.expr(what, ctx, depth - 1)]
            if not fit or direction and ctx.place in ("codec", "header"):
                return None
            out.append(self.choose.pick(fit))
        return out

    def is_listed(self, struct: StructInfo) -> bool:
        """Programs of a plan are of what the plan is for: lists in lists are for the others."""
        return not self.plan or not any("." in name for name, _ in struct.fields)

    def list_of(self, struct: StructInfo, ctx: Context, depth: int) -> str:
        """A struct as a list of its members; the one in it comes last, and is a variable at times."""
        inner = [(name, ty) for name, ty in struct.fields if "." in name]
        members = [self.expr(ty, ctx, depth - 1) for name, ty in struct.fields if "." not in name]
        if inner:
            named = [name for name, info, _ in ctx.structs if info is self.structs[0]]
            members.append(self.choose.pick(named) if named and self.choose.chance(2, 3)
                           else f"{{{', '.join(self.expr(ty, ctx, depth - 1) for _, ty in inner)}}}")
        return f"{{{', '.join(members)}}}"

    def makings(self, struct: StructInfo, ctx: Context, depth: int) -> list[str]:
        """A call that makes a struct, the last of those that are possible: it may be of the header that is at hand."""
        for function in reversed([f for f in ctx.callable if f.result is struct]):
            args = self.arguments(function, ctx, depth - 1)
            if args is not None:
                return [f"{function.name}({', '.join(args)})"]
        return []

    def cell(self, register, ty: Ty, ctx: Context, depth: int) -> str:
        index = self.index(register, ctx, depth)
        if isinstance(register.cell, StructInfo):
            return f"{register.name}[{index}].{self.choose.pick([n for n, t in register.cell.fields if t == ty])}"
        return f"{register.name}[{index}]"

    def index(self, register, ctx: Context, depth: int) -> str:
        c = self.choose
        values = [v for v in ctx.readable() if v.ty.kind == "bit" and not v.text.startswith("K") and v.below <= register.size]
        if not values or c.chance(1, 3):
            return str(c.number(0, register.size - 1))
        value = c.pick([v for v in values if v.ty.width <= 32] or values)
        if depth > 1 and value.ty.width <= 64 and c.chance(1, 8):
            return f"({value.text} {c.pick('+^')} {self.expr(value.ty, ctx, 1)})"
        return value.text

    # ------------------------------------------------------------ conditions

    def condition(self, ctx: Context, depth: int) -> str:
        c = self.choose
        match c.number(0, 11):
            case 0:
                return f"({self.expr(BOOL, ctx, depth - 1)} && {self.expr(BOOL, ctx, depth - 1)})"
            case 1:
                return f"({self.expr(BOOL, ctx, depth - 1)} || {self.expr(BOOL, ctx, depth - 1)})"
            case 2:
                return f"!({self.expr(BOOL, ctx, depth - 1)})"
            case 3:
                names = [t for t in ctx.headers if "." in t]
                if names and ctx.place in ("parser", "processor", "deparser"):
                    return f"{c.pick(names)}.isValid()"
            case 11 if any(v.ty == ERROR for v in ctx.readable()):
                return f"({self.expr(ERROR, ctx, depth - 1)} {c.pick(('==', '!='))} {self.expr(ERROR, ctx, depth - 1)})"
            case 10 if ctx.meta:
                return f"({c.pick(('m.verdict == DROP', 'm.verdict != ACCEPT', 'm.reason == error.NoMatch', 'm.verdict == TRANSMIT'))})"
            case 4 | 8:
                deferred = [t for t, info in ctx.headers.items() if info.deferred and t in ctx.valid
                            and all(a in ctx.valid for a in ctx.bound.get(t, ()))]
                if deferred and ctx.place in ("processor",):
                    return f"{c.pick(deferred)}.holds()"
            case 5 if self.enums:
                ty = c.pick(self.enums).ty
                return f"({self.expr(ty, ctx, depth - 1)} {c.pick(('==', '!='))} {self.constant(ty)})"
            case 6:
                ty = Ty("int", max(2, self.width(64)))
                return f"({self.expr(ty, ctx, depth - 1)} {c.pick(COMPARE)} {self.expr(ty, ctx, depth - 1)})"
            case 7:
                ty = bit(self.width(128))
                return f"({self.expr(ty, ctx, depth - 1)} {c.pick(COMPARE[:2] if ty.width > 64 else COMPARE)} {self.expr(ty, ctx, depth - 1)})"
        values = [v for v in ctx.readable() if v.ty.kind == "bit"]
        if not values:
            return self.constant(BOOL)
        value = c.pick(values)
        chained = self.call_between(values, ctx, depth) if not self.plan and c.chance(1, 2) else ""
        return chained or f"({value.text} {c.pick(COMPARE[:2] if value.ty.width > 64 else COMPARE)} {self.constant(value.ty)})"

    def call_between(self, values: list[Value], ctx: Context, depth: int) -> str:
        """A call that may change something, between comparisons that are made alike."""
        c = self.choose
        calls = [f for f in ctx.callable if isinstance(f.result, Ty) and f.result.kind == "bit" and any(direction for direction, _ in f.params)]
        text = self.call(c.pick(calls), BOOL, ctx, depth - 1) if calls else ""
        compare, join = c.pick((("==", "&&"), ("!=", "||")))
        few = lambda ty: literal(ty, c.value(min(ty.width, 2)))
        ends = [f"{v.text} {compare} {few(v.ty)}" for v in (c.pick(values), c.pick(values))]
        return f"({ends[0]} {join} {text} {c.pick(('!=', '=='))} 0 {join} {ends[1]})" if text else ""
