"""Random programs in which guesses of several shapes meet at a codec (compiler/lower/meeting.py).

A header of several shapes lies in front of a long codec, one of the packet's or one of the parser's own, which may be taken again behind it. What follows
is anything: a second codec, another header of shapes, one whose size depends on the first, elements of stacks, states that some packets skip. A
processor tells what it finds of every header, and the deparser emits them in any order.
"""
from __future__ import annotations

from .base import BOOL, Context, FunctionInfo, HeaderInfo, InstanceInfo, Value, bit
from .parser import Parsers
from .plans import MEET
from .stmt import indent
from .tables import VERDICTS

Taken = InstanceInfo | HeaderInfo | str         # of the packet, a new one of the parser's own, its own one of this name


class Meetings(Parsers):
    def meeting_headers(self, text: list[str]) -> list[HeaderInfo]:
        c = self.choose
        headers: list[HeaderInfo] = []
        for at, kind in enumerate(["shaped", "codec", *(c.pick(("label", "shaped", "codec", "depends", "odd")) for _ in range(c.number(1, 2)))]):
            name = f"H{at}"
            if kind == "shaped":
                info, lines = self.shaped_header(name)
            elif kind == "depends":
                info, lines = self.header(name, [(headers[0], "up")])
            elif kind == "odd":
                info, lines = self.odd_header(name)
            else:
                info, lines = self.flat_header(name, 4)
            text += lines
            if kind == "codec":
                made, lines = self.function_of_rows(info)
                self.functions.append(made)
                text += lines + self.codec(info, [h for h in headers if not h.codec and not h.params], self.registers)
            headers.append(info)
        return headers

    def function_of_rows(self, info: HeaderInfo) -> tuple[FunctionInfo, list[str]]:
        """One with more than one way through it, that rows may end in: what it yields may begin with what it is given."""
        c = self.choose
        name, ty = self.fresh("f"), c.pick([f.ty for f in info.fields if f.ty.kind == "bit"] or [bit(32)])
        high = 32 * c.number(1, (ty.width - 1) // 32) if ty.width > 32 and c.number(0, 2) else 0
        params = [bit(high), bit(ty.width - high)] if high else [ty]
        params += [bit(c.pick((8, 16, 32, 4)))] * c.number(0, 1)
        ctx = Context("function", values=[Value(f"p{n}", one) for n, one in enumerate(params)])
        low = bit(ty.width - high)
        body = [f"{low} v = p{1 if high else 0};", f"if ({self.expr(BOOL, ctx, 2)}) {{ v = {self.expr(low, ctx, 2)}; }}", f"return {'p0 ++ ' * bool(high)}v;"]
        texts = ", ".join(f"{one} p{n}" for n, one in enumerate(params))
        return FunctionInfo(name, ty, tuple(("", one) for one in params), plain=True), [f"function {ty} {name}({texts}) {{", *indent(body), "}"]

    # ------------------------------------------------------------ parsers

    def meeting_parser(self) -> list[str]:
        c = self.choose
        self.module, self.straight = "parser", True
        locals_: list[str] = []
        ctx = self.parser_context()
        self.inout_locals(ctx, locals_)
        taken = self.in_order()
        cuts = sorted(c.number(0, len(taken)) for _ in range(c.number(0, 4)))
        parts = [taken[low:high] for low, high in zip([0, *cuts], [*cuts, len(taken)])]
        some = self.taken_by_some()
        aside = c.number(1, len(parts)) if some and c.number(0, 2) else 0        # a state that some packets come through
        if aside:
            parts[aside:] = [[c.pick(some)], *(parts[aside:] or [[c.pick(some)]])]
        count = len(parts)
        entry: dict[int, set[str]] = {0: set()}
        first = ctx.inside()                    # whatever was taken: only headers of the packet are known in the next state
        out: list[str] = []
        for at, part in enumerate(parts):
            inner = first.inside()
            inner.valid = set(entry.get(at, set()))
            body: list[str] = []
            for one in part:
                body += self.between(inner) + self.take(one, inner, first, locals_)
            targets = [*(f"s{n}" for n in range(at + 1, count)), "accept"]
            back = [n for n in range(1, at + 1) if entry.get(n, {"?"}) <= inner.valid]
            if back and body and "pkt.extract" in body[-1] and c.chance(1, 4):          # it goes round, on an unusual way
                targets += [f"s{c.pick(back)}"] * 2
            if aside and at + 1 == aside:
                lines, reached = self.parting(inner, at)
            elif aside and at == aside:
                reached = [c.number(at + 1, count - 1)]
                lines = [f"transition s{reached[0]};"]
            else:
                lines, reached = self.transition(inner, targets, "", False, at, count)
            for n in reached:
                entry[n] = (entry[n] & inner.valid) if n in entry else set(inner.valid)
            out += [f"state {f's{at}' if at else 'start'} {{", *indent(body + lines), "}"]
        return ["parser Rx(packet pkt, out headers h) {", *indent(locals_ + out), "}"]

    def parting(self, ctx: Context, at: int) -> tuple[list[str], list[int]]:
        """To the next state, or to the one behind it."""
        c = self.choose
        values = [v for v in ctx.readable() if v.ty.kind in ("bit", "enum") and v.ty.width <= 64] or [Value("pkt.lookahead<bit<8>>()", bit(8))]
        value, (one, other) = c.pick(values), c.pick(((2, 1), (1, 2))) if self.plan == MEET else (2, 1)
        return [f"transition select({value.text}) {{ {self.key(value.ty)}: s{at + one}; default: s{at + other}; }}"], [at + 1, at + 2]

    def taken_by_some(self) -> list[InstanceInfo]:
        """What is taken of some packets alone."""
        return [i for i in self.instances if i.size]

    def in_order(self) -> list[Taken]:
        """What the parser takes: something of shapes, a codec, and anything behind it."""
        c = self.choose
        shaped = [i for i in self.instances if not i.header.codec and i.header.choices and not i.header.params]
        codecs = [i for i in self.instances if i.header.codec]
        if not shaped or not codecs:
            return list(self.instances)
        first = c.pick(shaped)
        front: list[Taken] = [c.pick((first, first.header))]
        others: list[Taken] = [i for i in self.instances if i is not front[0] and i is not codecs[0]]
        front += [i for i in self.instances if i.size and c.chance(1, 4)]       # and again behind it
        while others and c.chance(1, 4):
            front.append(others.pop(c.number(0, len(others) - 1)))
        behind = [one for one in others if c.chance(1, 2) or not one.header.codec and c.chance(1, 2)]
        behind += [c.pick([i.header for i in self.instances if not i.header.params]) for _ in range(c.chance(1, 3))]
        if isinstance(front[0], HeaderInfo):
            behind += ["own"] * c.chance(1, 3)
            front += ["own"] * c.chance(1, 12)
        behind.sort(key=lambda _: c.number(0, 99))
        return [*front, codecs[0], *behind]

    def take(self, one: Taken, ctx: Context, later: Context, locals_: list[str]) -> list[str]:
        """`later`: what states behind this one can name."""
        if isinstance(one, HeaderInfo):
            name = self.fresh("y")
            locals_.append(f"{one.name} {name};")
            later.headers[name] = ctx.headers[name] = one
        elif isinstance(one, str):
            name = next(text for text in ctx.headers if text.startswith("y"))
        elif any(f"h.{a}" not in ctx.valid for a in one.args):
            return []
        else:
            name = f"h.{one.name}.next" if one.size else f"h.{one.name}"
        line = self.extract(name, ctx.headers[name] if not isinstance(one, InstanceInfo) else one.header, ctx)
        if isinstance(one, InstanceInfo) and one.size:
            name = f"h.{one.name}.last"
            later.headers[name] = ctx.headers[name] = one.header
        ctx.valid.add(name)
        return [line]

    def between(self, ctx: Context) -> list[str]:
        """Little: what branches is no usual way."""
        c = self.choose
        match c.number(0, 9):
            case 6:
                return [f"pkt.advance({8 * c.number(1, 2)});"]
            case 7 if self.errors:
                return [f"verify({self.expr(BOOL, ctx, 2)} || {self.expr(BOOL, ctx, 1)}, error.{c.pick(self.errors)});"]
            case 8:
                return self.assignment(ctx)
            case 9:
                name = self.fresh("v")
                ctx.values.append(Value(name, bit(8), True))
                return [f"bit<8> {name} = pkt.lookahead<bit<8>>();"]
        return []

    # ------------------------------------------------------------ what is made of them

    def telling(self, name: str) -> list[str]:
        """A processor whose state says what every header has, and that looks some of it up."""
        c = self.choose
        seen, none = self.fresh("r"), self.fresh("act")
        body: list[str] = []
        tables: list[str] = []
        ctx = self.context("processor")                         # type: ignore[attr-defined]
        for text, info in ctx.headers.items():
            if not c.number(0, 5):
                continue
            values = [v for v in info.values(text, False) if v.ty.kind == "bit" and not v.text.startswith("payload")]
            lines = [f"{seen} = {seen} * 5 + 1;", *(f"{seen} = {seen} * 3 + {narrow(v)};" for v in values if c.number(0, 3))]
            plain = [v for v in values if " " not in v.text]
            if plain and len(tables) < 12 and c.chance(1, 4):
                key, table, kind = c.pick(plain), self.fresh("t"), c.pick(("exact", "ternary", "range", "lpm"))
                self.actions = [(none, [("x", bit(16))])]
                self.given[f"{name}.{table}"] = [self.given_entry([("", key.ty, kind)]) for _ in range(c.number(1, 4))]
                tables += [f"table {table} {{", f"    key = {{ {key.text} : {kind}; }}", f"    actions = {{ {none}; }}", "}"]
                lines.append(f"{table}.apply();")
            if c.chance(1, 6) and not info.codec:
                inner = ctx.inside()
                inner.valid, inner.assigns_headers = {text}, True
                lines += self.assignment(inner)
            other = f" else {{ m.port = m.port + {c.number(1, 9)}; }}" if c.chance(1, 3) else ""
            body += [f"if ({text}.isValid()) {{", *indent(lines), f"}}{other}"]
        body.append(f"m.verdict = {c.pick(VERDICTS[:3])};")
        action = f"action {none}(bit<16> x) {{ {seen} = {seen} ^ (16w0 ++ x); m.port = x; }}"
        lines = [f"register<bit<32>> {seen};", action, *tables, "apply {", *indent(body), "}"]
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent(lines), "}"]

    def meeting_deparser(self) -> list[str]:
        """Most of them, straight on, in any order unless an equation looks at what the struct declares behind its header."""
        c = self.choose
        self.module = "deparser"
        ctx = self.context("deparser")                          # type: ignore[attr-defined]
        lines: list[str] = []
        self.inout_locals(ctx, lines)
        ordered = any(i.header.payload for i in self.instances)
        for i in sorted(self.instances, key=lambda _: 0 if ordered else c.number(0, 4)):
            for text in [f"h.{i.name}"] if not i.size or c.chance(1, 3) else i.texts():
                kind = c.number(0, 11)
                if kind == 11 and text in ctx.headers:
                    lines.append(self.emit(text, i, ctx))       # type: ignore[attr-defined]
                elif kind == 10:
                    lines += self.assignment(ctx) if any(v.writable for v in ctx.readable()) else []
                elif kind:
                    lines.append(f"pkt.emit({text}{self.via(i.header, ctx)});")
        return ["deparser Tx(packet pkt, in headers h) {", *indent(lines), "}"]


def narrow(v: Value) -> str:
    """A value as one of 32 bits that its ends decide."""
    if v.ty.width <= 32:
        return f"((bit<32>) {v.text})"
    if " " in v.text:
        return f"((bit<32>) ({v.text})[31:0])"
    return f"({v.text}[31:0] ^ {v.text}[{v.ty.width - 1}:{v.ty.width - 32}])"
