"""Random headers."""
from __future__ import annotations

from .base import BOOL, ChoiceInfo, Context, EnumInfo, FieldInfo, HeaderInfo, Ty, Value, as_number, bit, literal, most
from .stmt import Statements, indent


class Headers(Statements):
    errors: list[str]

    def header(self, name: str, params: list[tuple[HeaderInfo, str]], simple: bool = False) -> tuple[HeaderInfo, list[str]]:
        """`simple`: one that a codec can describe."""
        c = self.choose
        info = HeaderInfo(name, params=params)
        self.free: list[Value] = []             # fields that decide nothing and are decided by nothing behind them
        lines: list[str] = self.framed(info, simple) if self.enums and c.chance(1, 8) else []
        for _ in range(c.number(1, 5 if not simple else 3)):
            lines += self.item(info, c.number(0, 11), simple)
        if simple and self.enums and not info.choices and c.chance(1, 4):
            lines += self.choice(info)
        if c.chance(1, 6 if simple else 16):    # longer than the window behind a packet
            for _ in range(c.number(4, (30 if c.chance(1, 3) else 20) if simple else 7)):
                lines.append(self.add(info, "{ty} {};", bit(8 * c.pick((16, 12, 8, 15, 9)))))
        if c.chance(1, 4):
            lines += self.where(info)
        text = ", ".join(f"{h.name} {n}" for h, n in params)
        return info, [f"header {name}{f'({text})' if params else ''} {{", *("    " + line for line in lines), "}"]

    def item(self, info: HeaderInfo, kind: int, simple: bool) -> list[str]:
        c = self.choose
        if kind == 0:
            return [self.plain(info, bit(8))]
        if kind == 1:
            return self.word(info)
        if kind == 2:
            ty = bit(8 * c.number(1, 16 if c.chance(1, 5) else 8))
            return [self.add(info, f"le<{ty.width}> {{}};", ty)]
        if kind == 3:
            return [self.add(info, "{ty} {};", bit(8 * c.pick((9, 12, 16, 8, 10))))]
        if kind == 4 and self.free:
            if c.chance(1, 4):
                return self.decided_together(info)
            ty = bit(8 * c.number(1, 16 if c.chance(1, 6) else 6))
            little = c.chance(1, 3)
            equation = f" = {literal(ty, c.value(ty.width))}" if c.chance(1, 5) else ""
            deferred = bool(equation) and little        # no more is drawn: the other programs stay what they were
            when = self.header_condition(info)
            name = self.fresh("a")
            info.fields.append(FieldInfo(name, ty, bool(equation), deferred, when=True))
            return [f"{'le' if little else 'bit'}<{ty.width}> {name}{equation}{' deferred' if deferred else ''} when ({when});"]
        if kind == 5 and not (simple and info.choices):
            done = self.choice(info)
            if done:
                return done
        if kind == 6 and (not simple or not info.varbits):
            return self.varbit(info)
        if kind == 7:
            return [self.equation(info)]
        return self.bits(info)

    def framed(self, info: HeaderInfo, simple: bool) -> list[str]:
        """What begins with one word that tells all its shapes, as a frame control field does."""
        c = self.choose
        tags = [c.pick(self.enums) for _ in range(c.number(1, 2 if not simple else 1))]
        width = 8 * c.pick((2, 1, 3))
        if sum(e.ty.width for e in tags) > width - 2:
            return []
        parts: list[str] = []
        fields: list[FieldInfo] = []
        left = width
        for at, enum in enumerate(tags):
            more = c.number(0, left - sum(e.ty.width for e in tags[at:]))
            parts += self.parts(info, more)
            parts.append(self.add(info, "{ty} {};", enum.ty))
            fields.append(info.fields[-1])
            left -= more + enum.ty.width
        parts += self.parts(info, left)
        lines = [f"word {c.pick(('le', 'be'))}<{width}> {{", *indent(parts), "}"] if c.number(0, 2) else parts
        for enum, tag in zip(tags, fields):
            if c.chance(1, 3):
                lines += self.item(info, 4, simple)
            lines += self.arms(info, tag, enum)
        return lines

    def decided_together(self, info: HeaderInfo) -> list[str]:
        """Fields that are there if a field has a value, or has not, perhaps if more is true."""
        c = self.choose
        fit = [v for v in self.free if v.ty.kind == "bit" and v.ty.width <= 32]
        if not fit:
            return []
        value = fit[0] if c.number(0, 2) else c.pick(fit)
        number = literal(value.ty, c.value(min(value.ty.width, 2)))
        lines = []
        for _ in range(c.number(2, 3)):
            condition = f"{value.text} {c.pick(('==', '!='))} {number}"
            if c.chance(1, 3):
                condition = f"{condition} {c.pick(('&&', '||'))} {self.header_condition(info)}"
            ty, name = bit(8 * c.number(1, 4)), self.fresh("a")
            info.fields.append(FieldInfo(name, ty, when=True))
            lines.append(f"{ty} {name} when ({condition});")
        return lines

    # ------------------------------------------------------------ fields

    def add(self, info: HeaderInfo, text: str, ty: Ty, free: bool = True, **how) -> str:
        """`text` has {} for the field's name."""
        name = self.fresh("a")
        info.fields.append(FieldInfo(name, ty, **how))
        if free:
            self.free.append(Value(name, ty))
        return text.replace("{ty}", str(ty)).replace("{}", name)

    def plain(self, info: HeaderInfo, ty: Ty) -> str:
        c = self.choose
        if self.is_number(ty) and c.chance(1, 8):
            one = lambda: as_number(ty, c.value(ty.width))
            low = one()
            high = c.number(low, most(ty))
            more = f", {one()}" if c.chance(1, 2) else ""
            some = f"{one()} &&& {one()}" if c.chance(1, 3) else f"{low}..{high}"
            return self.add(info, f"{ty} {{}} in {{ {some}{more} }};", ty)
        if ty.kind == "bit" and c.chance(1, 10):
            return self.add(info, f"{ty} {{}} = {literal(ty, c.value(ty.width))};", ty, equation=True)
        if ty.kind == "enum" and c.chance(1, 5):
            member = c.pick(next(e for e in self.enums if e.ty == ty).members)[0]
            return self.add(info, f"{ty} {{}} in {{ {ty}.{member} }};", ty)
        return self.add(info, "{ty} {};", ty)

    def bits(self, info: HeaderInfo) -> list[str]:
        """Fields of odd widths, together whole bytes."""
        return self.parts(info, 8 * self.choose.number(1, 6))

    def parts(self, info: HeaderInfo, left: int) -> list[str]:
        c = self.choose
        out = []
        while left:
            ty = bit(c.number(1, min(left, 40 if c.chance(1, 4) else 13)))
            fit = [e.ty for e in self.enums if e.ty.width <= left]
            match c.number(0, 7):
                case 5 if fit:
                    ty = c.pick(fit)
                case 6:
                    ty = BOOL
                case 7 if left > 1:
                    ty = Ty("int", c.number(2, min(left, 16)))
            left -= ty.width
            if ty.kind == "bit" and c.chance(1, 12):
                out.append(f"{ty} _ = {literal(ty, c.value(ty.width))};")
            else:
                out.append(self.plain(info, ty))
        return out

    def word(self, info: HeaderInfo) -> list[str]:
        width = 8 * (self.choose.number(1, 5) if self.choose.number(0, 4) else self.choose.pick((6, 8, 7)))
        kind = self.choose.pick(("le", "be", "le"))
        return [f"word {kind}<{width}> {{", *("    " + line for line in self.parts(info, width)), "}"]

    def choice(self, info: HeaderInfo) -> list[str]:
        c = self.choose
        tags = [(f, e) for f in info.fields for e in self.enums if f.ty == e.ty and not f.when and any(v.text == f.name for v in self.free)]
        if not tags:
            if not self.enums:
                return []
            enum = c.pick(self.enums)
            before = [f"bit<{-enum.ty.width % 8}> _;"] if enum.ty.width % 8 else []
            line = self.add(info, "{ty} {};", enum.ty)
            tag = info.fields[-1]
            return [*before, line, *self.arms(info, tag, enum)]
        tag, enum = c.pick(tags)
        return self.arms(info, tag, enum)

    def arms(self, info: HeaderInfo, tag: FieldInfo, enum: EnumInfo, every: bool = False) -> list[str]:
        c = self.choose
        arms: list[tuple[str, Ty]] = []
        texts = []
        for member, _ in enum.members:
            if every or c.number(0, 3):
                ty = bit(8 * c.number(1, 16 if c.chance(1, 6) else 8))
                arms.append((member, ty))
                texts.append(f"{member}: {'le' if c.chance(1, 3) else 'bit'}<{ty.width}>;")
        if not arms:
            return []
        name = self.fresh("c")
        info.choices.append(ChoiceInfo(name, tag.name, enum, tuple(arms)))
        return [f"choice ({tag.name}) {{ {' '.join(texts)} }} {name};"]

    def varbit(self, info: HeaderInfo) -> list[str]:
        """A run of bytes whose number an earlier field says, or is computed from it."""
        c = self.choose
        most = 8 * c.pick((4, 3, 16, 31, 255))
        name = self.fresh("d")
        if c.chance(1, 2):
            width = 8
            length = self.fresh("a")
            more = c.number(0, 2)
            info.fields.append(FieldInfo(length, bit(width), True))
            lines = [f"bit<8> {length} = (bit<8>) (sizeof({name}) + {more});",
                     f"varbit<{most}> {name} sized (8 * ((bit<16>) {length} - {more}));"]
        else:
            fit = [v for v in self.free if v.ty.kind == "bit" and 2 <= v.ty.width <= 16]
            lines = []
            if not fit:
                lines = self.parts(info, 8)
                fit = [v for v in self.free if v.ty.kind == "bit" and 2 <= v.ty.width <= 16]
                if not fit:
                    return lines
            value = c.pick(fit[-3:])
            unit = c.pick((8, 16, 1)) if value.ty.width < 9 else 8
            lines.append(f"varbit<{most}> {name} sized ({unit} * (bit<16>) {value.text}[{min(4, value.ty.width - 1)}:0]);")
        info.varbits[name] = most
        return lines

    def equation(self, info: HeaderInfo) -> str:
        c = self.choose
        ctx = self.header_context(info)
        match c.number(0, 6):
            case 0:
                info.payload = True
                return self.add(info, f"bit<16> {{}} = {c.number(0, 20)} + sizeof(payload);", bit(16), free=False, equation=True)
            case 1:
                return self.add(info, f"bit<8> {{}} = (bit<8>) (sizeof(this) {c.pick('+-*')} {c.number(0, 4)});", bit(8), free=False, equation=True)
            case 2:
                return self.add(info, f"{c.pick(('bit', 'le'))}<16> {{}} = sizeof(this);", bit(16), free=False, equation=True)
            case 3 | 4:
                args = [self.leaf(bit(16 * c.number(1, 4)), ctx) for _ in range(c.number(1, 3))]
                args = [a for a in args if "{" not in a]
                if c.chance(2, 3):
                    info.payload = info.sums = True
                    args.append("payload")
                return self.add(info, f"bit<16> {{}} = {c.pick(('', '~'))}inet_sum({', '.join(args)}) deferred;", bit(16), free=False, equation=True, deferred=True)
            case 5:
                ty = bit(8 * c.number(1, 4))
                return self.add(info, f"{ty} {{}} = {self.expr(ty, ctx, 2)} deferred;", ty, free=False, equation=True, deferred=True)
        ty = bit(8 * c.number(1, 4))
        return self.add(info, f"{ty} {{}} = {self.expr(ty, ctx, 2)};", ty, free=False, equation=True)

    # ------------------------------------------------------------ conditions

    def header_context(self, info: HeaderInfo) -> Context:
        ctx = Context("header", values=list(self.free), functions=[f for f in self.functions if f.plain])
        if self.choose.chance(1, 8):
            ctx.registers = [r for r in self.registers if not self.lossless]
        for header, name in info.params:
            ctx.values += [Value(f"{name}.{f.name}", f.ty) for f in header.fields]
        return ctx

    def header_condition(self, info: HeaderInfo) -> str:
        c = self.choose
        value = c.pick(self.free)
        if value.ty.kind == "bool":
            return value.text
        if c.chance(1, 3):
            return self.expr(BOOL, Context("header", values=list(self.free)), 2)
        if value.ty.kind == "bit" and value.ty.width > 1:
            bit_ = c.number(0, value.ty.width - 1)
            return f"{value.text}[{bit_}:{bit_}] == {c.number(0, 1)}"
        return f"{value.text} {c.pick(('==', '!='))} {self.constant(value.ty)}"

    def where(self, info: HeaderInfo) -> list[str]:
        """Mostly true: a header that is never there tests little."""
        c = self.choose
        values = [v for v in self.header_context(info).values if v.ty.kind in ("bit", "int")]
        if not values:
            return []
        one = c.pick(values)
        condition = f"{one.text} != {self.constant(one.ty)}"
        if c.chance(1, 2):
            condition += f" {c.pick(('||', '&&'))} {self.header_condition(info) if self.free else 'true'}"
        if self.errors and c.chance(1, 2):
            return [f"where ({condition}, error.{c.pick(self.errors)});"]
        return [f"where ({condition});"]

    # ------------------------------------------------------------ enums

    def enum(self, at: int, short: bool = False) -> tuple[EnumInfo, str]:
        c = self.choose
        width = c.pick((2, 1, 3, 4) if short else (2, 1, 3, 8, 4, 2, 8, c.pick((16, 12, 5, 32))))
        numbers: list[int] = []
        for _ in range(c.number(2, 4)):
            number = c.value(width)
            if number not in numbers:
                numbers.append(number)
        members = tuple((f"m{n}", number) for n, number in enumerate(numbers))
        name = f"E{at}"
        texts = [m if n and number == numbers[n - 1] + 1 or not n and not number else f"{m} = {number}" for n, (m, number) in enumerate(members)]
        return EnumInfo(Ty("enum", width, name), members), f"enum bit<{width}> {name} {{ {', '.join(texts)} }}"
