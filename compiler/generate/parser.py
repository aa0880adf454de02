"""Random parsers: states, what they take, and where they go on."""
from __future__ import annotations

import re

from .base import BOOL, Context, FunctionInfo, HeaderInfo, InstanceInfo, StructInfo, Ty, Value, as_number, bit, literal, most
from .codec import Codecs
from .ends import Ends
from .parts import Parts
from .plans import CIRCLES, COPY, GUESS, LOOKUP, MEETINGS, REFUSE, TWINS, WRITE
from .requiring import Requiring
from .stmt import indent

MADE = re.compile(r" via \w+\((mk\w+\([^()]*\))")      # a struct that a function gives


class Parsers(Codecs, Ends, Parts, Requiring):
    def parser(self) -> list[str]:
        c = self.choose
        self.module = "parser"
        self.straight = self.plan in (GUESS, LOOKUP, COPY, *TWINS) or any(i.header.codec for i in self.instances) and c.chance(1, 3)
        count = c.number(1, 4) if self.plan != CIRCLES else 4
        locals_: list[str] = []
        ctx = self.parser_context()
        if self.stack_parsers:
            ctx.values.append(Value("total", bit(16), True))
            locals_.append("bit<16> total;")
        for _ in range(c.number(0, 2)):
            ty = self.scalar(64)
            name = self.fresh("l")
            ctx.values.append(Value(name, ty, True))
            locals_.append(f"{ty} {name};")
        self.inout_locals(ctx, locals_)
        for _ in range(c.number(0, 2) if c.chance(1, 4) else 0):
            locals_.append(self.value_set())
        entry: dict[int, set[str]] = {0: set()}
        # the headers that each state takes: in the struct's order if the program is lossless
        taken: list[list[InstanceInfo]] = [[] for _ in range(count)]
        for at, i in enumerate(self.instances):
            taken[at * count // len(self.instances)].append(i)
        out: list[str] = []
        for at in range(count):
            inner = ctx.inside()
            inner.valid = set(entry.get(at, set())) if self.plan != CIRCLES else set()      # any state may have led here
            body: list[str] = []
            loops = False
            for i in taken[at]:
                if any(f"h.{a}" not in inner.valid for a in i.args):
                    continue
                if not self.lossless and c.chance(1, 8) and not (self.plan and i is self.instances[0]):
                    continue
                if self.plan in TWINS and not i.header.codec and i is not self.instances[0] and c.number(0, 3):
                    continue                    # a processor makes it
                body += self.parser_statements(inner) if self.plan != LOOKUP or i is not self.instances[0] else []
                if i.size:
                    for _ in range(c.number(1, i.size) if self.lossless or not c.chance(1, 6) else i.size + 1):
                        body += [self.extract(f"h.{i.name}.next", i.header, inner), *self.requiring(f"h.{i.name}.last", i.header)]
                    inner.headers[f"h.{i.name}.last"] = i.header
                    inner.valid.add(f"h.{i.name}.last")
                else:
                    structs = any(isinstance(what, StructInfo) for _, what in i.header.codec_params)
                    if i.header.codec and c.chance(1 if self.plan in TWINS else 6 if structs else 2, 10):     # what it fills is there before
                        body.append(f"pkt.extract(h.{i.name});")
                        inner.valid.add(f"h.{i.name}")
                    body += [self.extract(f"h.{i.name}", i.header, inner), *self.requiring(f"h.{i.name}", i.header)]
                    inner.valid.add(f"h.{i.name}")
            last = taken[at][-1] if taken[at] else None
            guards = self.plan == REFUSE and last is not None and f"h.{last.name}{'.last' if last.size else ''}" in inner.valid and c.chance(1, 2)
            body += self.parser_statements(inner) if not guards else []
            if not self.lossless and not self.straight and c.chance(1, 4) and body:
                loops = True
            max_ = f" max {c.number(1, 4)}" if loops or c.chance(1, 10) else ""
            if self.plan == CIRCLES:            # bounded, or what it takes fills a stack
                loops, fills = True, any(".next" in line and line.startswith("pkt.extract") for line in body)
                max_ = f" max {c.number(1, 4)}" if not fills or c.chance(1, 2) else " "
            elif loops and c.chance(1, 4):        # the packet bounds it
                max_, body = " ", ["pkt.advance(8);", *body]
            targets = [f"s{n}" for n in range(at + 1, count)] + ["accept"]
            if self.plan == CIRCLES:
                targets += [f"s{n}" for n in range(1, at)] + ["start"] * c.chance(1, 8)
            body_text, reached = self.transition(inner, targets, f"s{at}" if at else "start", loops and bool(max_), at, count)
            if guards and (guard := self.guarding(f"h.{last.name}{'.last' if last.size else ''}", last.header, targets[0])):
                body_text, reached = guard, [at + 1] if targets[0] != "accept" else []
            for n in reached:
                entry[n] = (entry[n] & inner.valid) if n in entry else set(inner.valid)
            out += [f"state {'start' if at == 0 else f's{at}'}{max_.rstrip()} {{", *indent(body + body_text), "}"]
        return ["parser Rx(packet pkt, out headers h) {", *indent(locals_ + out), "}"]

    def parser_context(self) -> Context:
        """What a parser can name."""
        c = self.choose
        ctx = self.context("parser")
        ctx.payload = ctx.lookahead = ctx.octets = True
        ctx.stacks = tuple(i.name for i in self.instances if i.size)
        ctx.assigns_headers = not self.lossless and (self.plan not in MEETINGS or c.chance(1, 8))
        return ctx

    def inout_locals(self, ctx: Context, lines: list[str]) -> None:
        """Variables for the parameters of codecs that give something back, and structs they take."""
        wanted = {ty for i in self.instances for d, ty in i.header.codec_params if d == "inout"}
        for ty in sorted(wanted, key=str):
            name = self.fresh("l")
            ctx.values.append(Value(name, ty, True))
            lines.append(f"{ty} {name};")
        made = [i.header.codec_params[0][1] for i in self.instances if i.header.twins and self.choose.number(0, 3)]      # of what was taken
        for struct in [s for s in self.structs if s not in made and any(what is s for i in self.instances for _, what in i.header.codec_params)]:
            name = self.fresh("l")
            ctx.structs.append((name, struct, True))
            lines.append(f"{struct.name} {name};")

    def via(self, header: HeaderInfo, ctx: Context) -> str:
        if not header.codec or not self.straight and self.choose.chance(1, 4):
            return ""
        args = self.arguments(FunctionInfo(header.codec, None, tuple(header.codec_params)), ctx, 2)
        return f" via {header.codec}({', '.join(args)})" if args is not None else ""

    def extract(self, text: str, header: HeaderInfo, ctx: Context) -> str:
        return self.packet_call("extract", text, header, ctx)

    def packet_call(self, method: str, text: str, header: HeaderInfo, ctx: Context) -> str:
        """Of twins the struct is a variable at times, whose members are changed, too, not what a function gives there."""
        c = self.choose
        via = self.via(header, ctx)
        made = MADE.search(via) if header.twins else None
        if made is None or c.number(0, 1 if self.plan == WRITE else 3):
            return f"pkt.{method}({text}{via});"
        struct, name = header.codec_params[0][1], self.fresh("q")
        changes = []
        for member, ty in struct.fields if c.chance(1, 2) else ():
            changes += [f"{name}.{member} = {self.expr(ty, ctx, 1)};"] if c.chance(1, 3) else []
        return " ".join([f"{struct.name} {name} = {made[1]};", *changes, f"pkt.{method}({text}{via.replace(made[1], name, 1)});"])

    def parser_statements(self, ctx: Context) -> list[str]:
        c = self.choose
        out: list[str] = []
        if self.lossless or self.straight and c.number(0, 3):
            return out
        for _ in range(c.number(0, 2)):
            if (self.parsers or self.stack_parsers) and c.chance(1, 2):
                out += self.apply_parser(ctx)
                continue
            match c.number(0, 9):
                case 0:
                    out.append(f"pkt.advance({8 * c.number(0, 3)});")
                case 1:
                    small = [v for v in ctx.readable() if v.ty.kind == "bit" and not v.text.startswith("K")]
                    if small:
                        value = c.pick(small)
                        high = min(4, value.ty.width - 1)
                        out.append(f"pkt.advance({c.pick(('8 * ', '8 * ', ''))}(bit<16>) {value.text}[{high}:0]);" if " " not in value.text else f"pkt.advance({8});")
                case 2:
                    reason = f"error.{c.pick(self.errors)}" if self.errors else ""
                    if reason:
                        out.append(f"verify({self.expr(BOOL, ctx, 2)} || {self.expr(BOOL, ctx, 1)} || {self.expr(BOOL, ctx, 1)}, {reason});")
                case 3:
                    heads = [i.header for i in self.instances if not i.header.params and not i.header.payload]
                    if heads:
                        out += self.own_header(c.pick(heads), ctx)
                case _:
                    out += self.statement(ctx, 2)
        return out

    def own_header(self, header: HeaderInfo, ctx: Context) -> list[str]:
        """Takes a header of the parser's own."""
        name = self.fresh("y")
        lines = [f"{header.name} {name};", self.extract(name, header, ctx), *self.requiring(name, header)]
        ctx.headers[name] = header
        ctx.valid.add(name)
        return lines

    def special_statement(self, ctx: Context, depth: int) -> list[str]:
        """In a parser also what takes bytes on some paths only."""
        c = self.choose
        if ctx.place != "parser" or self.lossless:
            return super().special_statement(ctx, depth)
        match c.number(0, 6):
            case 6 if ctx.stacks and not ctx.long:
                i = c.pick([one for one in self.instances if one.name in ctx.stacks])
                line = self.extract(f"h.{i.name}.next", i.header, ctx)
                ctx.headers[f"h.{i.name}.last"] = i.header
                ctx.valid.add(f"h.{i.name}.last")
                return [line]
            case 0:
                return [f"pkt.advance({8 * c.number(0, 2)});"]
            case 1 if self.errors:
                return [f"verify({self.expr(BOOL, ctx, 2)} || {self.expr(BOOL, ctx, 1)}, error.{c.pick(self.errors)});"]
            case 2 | 3:
                fit = [i for i in self.instances if f"h.{i.name}" in ctx.headers and all(f"h.{a}" in ctx.valid for a in i.args)]
                if fit:
                    i = c.pick(fit)
                    line = self.extract(f"h.{i.name}", i.header, ctx)
                    ctx.valid.add(f"h.{i.name}")
                    return [line]
            case 4:
                small = [v for v in ctx.readable() if v.ty.kind == "bit" and v.ty.width > 2 and " " not in v.text and not v.text.startswith("K")]
                if small:
                    return [f"pkt.advance(8 * (bit<16>) {c.pick(small).text}[1:0]);"]
        return []

    def transition(self, ctx: Context, targets: list[str], own: str, loops: bool, at: int, count: int) -> tuple[list[str], list[int]]:
        c = self.choose
        reached: list[int] = []

        def target() -> str:
            name = targets[0] if c.number(0, 3) and self.plan != CIRCLES else c.pick(targets)
            if c.chance(1, 20):
                return "reject" if not self.errors or c.chance(1, 2) else f"reject(error.{c.pick(self.errors)})"
            if loops and c.chance(1, 8 if self.plan == CIRCLES else 2):
                return own
            if name not in ("accept", "start"):
                reached.append(int(name[1:]))
            return name

        values = [v for v in ctx.readable() if (v.ty.kind in ("bool", "enum") or self.is_number(v.ty)) and v.ty.width <= 64]
        if not values or c.chance(1, 4):
            name = targets[0]
            if name != "accept":
                reached.append(int(name[1:]))
            return [f"transition {name};"], reached
        chosen = [c.pick(values) for _ in range(c.number(1, 2))]
        if c.chance(1, 5):
            chosen[0] = Value(self.expr(bit(8), ctx, 2), bit(8))
        if self.plan in ("", CIRCLES, COPY) and c.chance(1, 4):                 # what comes, before it is taken
            ty = c.pick(self.enums).ty if self.enums and c.chance(1, 3) else bit(c.pick((16, 8, 24, 4, 32, self.width(32))))
            chosen[-1] = Value(self.lookahead(ty), ty)
        lines = [f"transition select({', '.join(v.text for v in chosen)}) {{"]
        for _ in range(c.number(2 if self.plan == CIRCLES else 1, 3)):
            keys = [self.key(v.ty) for v in chosen]
            lines.append(f"    {keys[0] if len(keys) == 1 else '(' + ', '.join(keys) + ')'}: {target()};")
        if c.chance(5, 6):
            name = targets[0]
            if name != "accept":
                reached.append(int(name[1:]))
            lines.append(f"    {'default' if c.number(0, 2) or len(chosen) > 1 else '_'}: {name};")
        elif at + 1 < count:
            reached.append(at + 1)
            lines.append(f"    {self.key(chosen[0].ty) if len(chosen) == 1 else '(' + ', '.join(self.key(v.ty) for v in chosen) + ')'}: s{at + 1};")
        return [*lines, "}"], reached

    def value_set(self) -> str:
        c = self.choose
        ty = c.pick(self.enums).ty if self.enums and c.chance(1, 4) else bit(c.pick((8, 16, self.width(64))))
        name, size = self.fresh("vs"), c.number(1, 8)
        self.sets.append((name, ty))
        values = {c.pick(next(e for e in self.enums if e.ty == ty).members)[0] if ty.kind == "enum" else self.near(ty.width)
                  for _ in range(c.number(0, size))}
        if values:
            self.given[f"Rx.{name}"] = sorted(values, key=str)
        return f"value_set<{ty}>[{size}] {name};"

    def key(self, ty: Ty) -> str:
        c = self.choose
        sets = [name for name, held in self.sets if held == ty]
        if sets and c.chance(1, 2):
            return c.pick(sets)
        if not self.is_number(ty):
            return self.constant(ty) if c.number(0, 4) else "_"
        small = lambda: as_number(ty, c.value(min(ty.width, 2)) if c.chance(1, 2) else c.value(ty.width))
        match c.number(0, 6):
            case 3 if ty.width > 1:
                return f"{small()} &&& {as_number(ty, c.value(ty.width))}"
            case 4:
                low = small()
                return f"{low}..{c.number(low, most(ty))}"
            case 5:
                return "_"
            case 6 if ty.kind == "bit":
                return literal(ty, small())
        return str(small())
