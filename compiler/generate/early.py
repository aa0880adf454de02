"""Random programs that ask something of a header's parts behind its extract, where it is made while they are taken (compiler/lower/parted.py, made_early.py).

Each part is there for one number of a field. Functions are of these fields, each alone, or of the whole header; a parser takes such headers of its own, straight
on, on some ways, in turns, behind what it looked at and where guesses meet. What they say is kept in a header that the packet need not have.
"""
from __future__ import annotations

from .base import Context, FieldInfo, FunctionInfo, HeaderInfo, InstanceInfo, Value, bit
from .stmt import indent
from .told import Told

SUM = "n"                                       # the variable that the answers go into


class Early(Told):
    apart: HeaderInfo
    deciding: FieldInfo                         # which parts of it are there
    numbered: dict[int, FieldInfo]                 # by its number
    answers: list[FunctionInfo]

    def early_headers(self, text: list[str]) -> list[HeaderInfo]:
        """What keeps the answers, a header of parts, one that a codec says, and an octet."""
        c = self.choose
        self.free = []
        kept, octet = HeaderInfo("H0"), HeaderInfo("H3")
        text += ["header H0 {", *indent([self.add(kept, "{ty} {};", bit(16)), self.add(kept, "{ty} {};", bit(8))]), "}"]
        text += self.parted_header("H1") + self.asking_functions()
        flat, lines = self.flat_header("H2", 4)
        text += lines + self.codec(flat, [kept], self.registers)
        text.append(f"header H3 {{ {self.add(octet, '{ty} {};', bit(8))} }}")
        own = [InstanceInfo("x1", self.apart)] if c.chance(1, 3) else []
        self.instances = [InstanceInfo("x0", kept), *own, InstanceInfo("x2", flat), InstanceInfo("x3", octet, 5)]
        return [kept, self.apart, flat, octet]

    def parted_header(self, name: str) -> list[str]:
        """Two or three parts, mostly for the greatest numbers of a few bits and of different sizes. What is behind them is always there, or of any size."""
        c = self.choose
        info = self.apart = HeaderInfo(name)
        self.free = []
        width = c.pick((4, 3, 2, 6))
        lines = [self.add(info, "{ty} {};", bit(one)) for one in c.pick(((8 - width, width), (width, 8 - width)))]
        self.deciding = next(f for f in info.fields if f.ty.width == width)
        top = (1 << width) - 1
        numbers = [top - 2, top - 1, top] if c.number(0, 3) else [c.value(width) for _ in range(3)]
        self.numbered = {}
        for at, number in enumerate(dict.fromkeys(numbers[:c.number(2, 3)])):
            lines.append(self.add(info, f"{{ty}} {{}} when ({self.deciding.name} == {number});", bit(8 * c.pick((at + 1, 1, 2, 4, 3))), free=False, when=True))
            self.numbered[number] = info.fields[-1]
        match c.number(0, 3):
            case 0 | 1:
                lines.append(self.add(info, "{ty} {};", bit(8)))
            case 2:
                note = self.fresh("d")
                info.varbits[note] = 24
                lines.append(f"varbit<24> {note} sized (8 * (bit<16>) ({self.deciding.name} == {numbers[0]} ? 8w1 : 8w2));")
        return [f"header {name} {{", *indent(lines), "}"]

    def asking_functions(self) -> list[str]:
        """One of the field that decides and of the parts, and one of the whole header that calls it."""
        c = self.choose
        fields = [self.deciding, *self.numbered.values()]
        whole, of_fields = self.fresh("f"), self.fresh("f")
        lines = [f"function bit<16> {of_fields}({', '.join(f'{f.ty} p{at}' for at, f in enumerate(fields))}) {{"]
        for at, number in enumerate(self.numbered, 1):
            value = f"{c.number(0, 300)} + (bit<16>) p{at}" if fields[at].ty.width <= 16 else f"p{at}[15:0]"
            lines.append(f"    if (p0 == {number}) {{ return {value}; }}")
        lines += [f"    return {c.pick(('(bit<16>) p0', '16w0', '(bit<16>) p0 * 3'))};", "}"]
        given = ", ".join(f"p0.{f.name}" for f in fields)
        lines += [f"function bit<16> {whole}({self.apart.name} p0) {{", f"    return {of_fields}({given}) {c.pick('*+^')} {c.number(1, 9)};", "}"]
        self.answers = [FunctionInfo(of_fields, bit(16), tuple(("", f.ty) for f in fields)), FunctionInfo(whole, bit(16), (("", self.apart),))]
        return lines

    # ------------------------------------------------------------ parsers

    def early_parser(self) -> list[str]:
        """Some states, one behind the other, which some packets leave early. What keeps the answers comes first, or becomes valid in the end."""
        c = self.choose
        self.module, self.straight = "parser", True
        locals_ = [f"bit<16> {SUM};", f"{self.apart.name} o;", f"{self.apart.name} p;"]
        ctx = self.parser_context()
        self.inout_locals(ctx, locals_)
        ctx.values.append(Value(SUM, bit(16), True))
        kept = f"h.x0.{self.instances[0].header.fields[0].name}"
        begins = c.number(0, 1)
        ctx.valid |= {"h.x0"} if begins else set()
        keeps = [f"{kept} = {SUM};"] if begins else ["h.x0.setValid();", f"{kept} = {SUM};"]
        count = c.number(1, 3)
        out: list[str] = []
        for at in range(count):
            own = f"s{at}" if at else "start"
            again = f"{own} max {c.number(1, 3)}" if at and c.chance(1, 3) else ""
            body = ["pkt.extract(h.x0);"] if begins and not at else []
            inner = ctx.inside()
            for _ in range(c.number(1 if at else 2, 3)):
                body += self.step(inner, 2)
            ctx.headers, ctx.valid = inner.headers, inner.valid
            leads = self.leading(f"s{at + 1}" if at < count - 1 else "accept", own if again else "accept")
            body += keeps if "accept" in leads else []
            out += [f"state {again or own} {{", *indent([*body, leads]), "}"]
        return ["parser Rx(packet pkt, out headers h) {", *indent(locals_ + out), "}"]

    def leading(self, to: str, other: str) -> str:
        """To the next state, or for some packets elsewhere."""
        c = self.choose
        if c.chance(1, 3) and other == "accept":
            return f"transition {to};"
        width = c.pick((8, 16, 64))
        value = c.pick((f"pkt.lookahead<bit<{width}>>()", f"{SUM}[{width % 15}:0]"))
        return f"transition select({value}) {{ {c.value(2)}: {other}; default: {to}; }}"

    def step(self, ctx: Context, depth: int) -> list[str]:
        """Something that is taken, and what is asked of it; some of that on some ways, and in turns."""
        c = self.choose
        match c.number(0, 9):
            case 5 if depth:
                condition, inner = self.asked_first(ctx), ctx.inside()
                then = [line for _ in range(c.number(1, 2)) for line in self.step(inner, depth - 1)]
                other = ["} else {", *indent(self.step(ctx.inside(), 0))] if c.chance(1, 2) else []
                return [f"if ({condition}) {{", *indent(then), *other, "}"]
            case 6 if depth:
                inner = ctx.inside()
                inner.looping = True
                body = [line for _ in range(c.number(1, 2)) for line in self.step(inner, depth - 1)]
                return [f"for ({self.fresh('i')} in 0..{c.number(1, 3)}) {{", *indent(body), "}"]
            case 4 if (self.parsers or self.stack_parsers) and not ctx.looping:
                return self.apply_parser(ctx) + self.questions(ctx)
            case 7:
                line = self.extract("h.x2", self.instances[-2].header, ctx)
                ctx.valid.add("h.x2")
                return [line, *self.questions(ctx)]
            case 8:
                return [f"if ({self.asked_first(ctx)}) {{ pkt.extract(h.x3.next); {' '.join(self.questions(ctx))} }}"]
            case 9 if self.errors and any(text in ctx.valid for text in "op"):
                return [f"verify({SUM} {c.pick(('!=', '>', '<'))} {c.pick((c.value(4), 60000))}, error.{c.pick(self.errors)});"]
        own = [f"h.{i.name}" for i in self.instances if i.header is self.apart]
        text = c.pick(("o", "o", "p", *own))
        ctx.headers[text] = self.apart
        ctx.valid.add(text)
        return [f"pkt.extract({text});", *self.between(ctx), *self.questions(ctx)]

    def asked_first(self, ctx: Context) -> str:
        """What decides whether a way is gone."""
        c = self.choose
        fields = [f"{text}.{f.name}[0:0]" for text in ctx.headers if text in ctx.valid for f in self.apart.fields[:2] if ctx.headers[text] is self.apart]
        return f"{c.pick(('pkt.lookahead<bit<2>>()', f'{SUM}[1:0]', *fields))} == {c.number(0, 1)}"

    def questions(self, ctx: Context) -> list[str]:
        """Some of them together, not all of a header that was just taken."""
        c = self.choose
        taken = [text for text in ctx.headers if text in ctx.valid and ctx.headers[text] is self.apart]
        out: list[str] = []
        for _ in range(c.number(0, 2) if taken else 0):
            operator = c.pick("-+^")
            parts = [self.question(c.pick(taken)) for _ in range(c.number(1, 2))]
            out.append(f"{SUM} = {SUM} + {f' {operator} '.join(parts)};")
        return out

    def question(self, text: str) -> str:
        of_fields, whole = self.answers
        given = ", ".join(f"{text}.{f.name}" for f in (self.deciding, *self.numbered.values()))
        return f"{whole.name}({text})" if self.choose.chance(1, 3) else f"{of_fields.name}({given})"
