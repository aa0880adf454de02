"""Random parsers, processors, deparsers, and the whole program."""
from __future__ import annotations

from .generate import (BOOL, Choose, Context, FunctionInfo, HeaderInfo, InstanceInfo, Program, RegisterInfo, StructInfo, Ty, Value,
                       bit, literal)
from .generate_codec import Codecs
from .generate_ends import Ends
from .generate_library import IMPORTS, Library
from .generate_parts import PartInfo, Parts
from .generate_plans import AGAIN, CIRCLES, GUESS, LOOKUP, SUM
from .generate_stmt import indent


class Generator(Codecs, Ends, Parts):
    """One program. `lossless`: headers are taken in order and put back unchanged."""

    def __init__(self, choose: Choose, lossless: bool = False) -> None:
        self.choose, self.lossless = choose, lossless
        self.enums, self.constants, self.structs, self.errors, self.inout, self.followed = [], [], [], [], [], set()
        self.instances: list[InstanceInfo] = []
        self.registers: list[RegisterInfo] = []
        self.functions: list[FunctionInfo] = []
        self.tables: dict[str, list] = {}
        self.given: dict[str, object] = {}
        self.parsers: list[PartInfo] = []
        self.processors: list[PartInfo] = []
        self.sets: list[tuple[str, Ty]] = []    # value sets of Rx
        self.global_actions: list[FunctionInfo] = []
        self.kept: list[RegisterInfo] = []      # persistent registers
        self.lost = False                       # a processor of what was sent
        self.stack_parsers: list[tuple[str, HeaderInfo, int]] = []          # name, element and size of the stack
        self.packet_actions: list[str] = []     # that take all headers
        self.persists = False                   # a processor has a persistent register
        self.following = ""                     # another version, which takes over while packets come
        self.sends = self.radios = False
        self.completing: list[str] = []         # buffers whose content has a chain of its own
        self.changing, self.listed = {}, {}
        self.straight = False                   # a parser that goes round nowhere and says little: what is worth a guess

    def program(self) -> Program:
        c = self.choose
        text: list[str] = []
        self.plan = "" if self.lossless else self.choose_plan()
        if c.chance(1, 16):
            text.append("import std.checksum;")
            self.functions.append(FunctionInfo("not_zero", bit(16), (("", bit(16)),), plain=True))
        for at in range(c.number(0, 2)):
            info, line = self.enum(at)
            self.enums.append(info)
            text.append(line)
        for at in range(c.number(0, 2)):
            ty = self.scalar(64)
            value = self.expr(ty, Context("codec"), 2) if c.chance(1, 3) else self.constant(ty)
            self.constants.append(Value(f"K{at}", ty))
            named = c.chance(1, 4)
            text += [f"typedef {ty} T{at};"] if named else []
            text.append(f"const {f'T{at}' if named else ty} K{at} = {value};")
        for at in range(c.number(0, 2)):
            struct = StructInfo(f"S{at}", tuple((f"s{n}", self.scalar(128 if c.chance(1, 6) else 64)) for n in range(c.number(1, 3))))
            inner = self.structs[0] if self.structs and c.chance(1, 3) else None
            lines = [f"{t} {n};" for n, t in struct.fields] + ([f"{inner.name} in{at};"] if inner else [])
            if inner:
                struct = StructInfo(struct.name, (*struct.fields, *((f"in{at}.{n}", t) for n, t in inner.fields)))
            self.structs.append(struct)
            text += [f"struct S{at} {{ {' '.join(lines)} }}"]
        self.errors = [f"Bad{n}" for n in range(c.number(0, 2))]
        if self.errors:
            text.append(f"error {{ {', '.join(self.errors)} }}")
        for _ in range(c.number(0, 2)):
            kept = c.chance(1, 6)
            text.append(("persistent " if kept else "") + self.register(self.registers, "R"))
            self.kept += self.registers[-1:] if kept else []
        if self.plan == GUESS:                  # what codecs search in
            self.registers.append(RegisterInfo(self.fresh("R"), bit(8), c.pick((4, 7, 16))))
            text.append(f"register<bit<8>>[{self.registers[-1].size}] {self.registers[-1].name};")
            self.given[self.registers[-1].name] = {str(i): i ^ 3 for i in range(4)}
        self.externs = not self.lossless and c.chance(1, 12)
        if self.externs:
            text.append("extern bit<16> sample(bit<32> x, bit<8> y) cost 20 in { radio, net };")
        for _ in range(c.number(1, 2) if c.chance(1, 3) else 0):
            made, lines = self.function([], self.functions, plain=True)
            self.functions.append(made)
            text += lines
        headers: list[HeaderInfo] = []
        own = 3
        if not self.lossless and self.plan not in (LOOKUP, SUM) and c.chance(1, 3 if self.plan == GUESS else 16):
            headers, own = self.of_library(text), 1
        for at in range(c.number(2 if self.plan == SUM else 1, own)):
            params = [(headers[0], "up")] if headers and not headers[0].params and c.chance(1, 3) else []
            simple = (c.chance(2, 5) or self.plan == GUESS and not any(h.codec for h in headers)) and not self.lossless
            if self.plan in (SUM, LOOKUP) and not at:
                params, simple = [], False
                info, lines = self.flat_header("H0") if self.plan == LOOKUP else self.summing_header("H0")
            elif self.plan == SUM and c.number(0, 2):
                params, simple = [], False
                info, lines = self.odd_header(f"H{at}")
            else:
                info, lines = self.header(f"H{at}", params, simple)
            text += lines
            if simple:
                plain = [h for h in headers if not h.codec]
                text += self.codec(info, plain, self.registers)
            headers.append(info)
        for _ in range(c.number(0, 2)):
            changed = [r for r in self.registers if not self.lossless and r.name.startswith("R")] if c.chance(1, 4) else []
            made, lines = self.function([h for h in headers], self.functions, registers=changed)
            self.functions.append(made)
            text += lines
        self.declare(headers)
        text.append("struct headers { " + " ".join(self.declared(i) for i in self.instances) + " }")
        chain = ["Rx"]
        for at in range(0 if self.lossless or not c.chance(1, 3) else c.number(1, 2)):
            text += self.sub_parser(at)
        text += self.parser()
        processors = 0 if self.lossless else c.number(1 if self.plan in (LOOKUP, AGAIN, SUM) else 0, 1 if self.plan == AGAIN or self.plan == LOOKUP and c.number(0, 2) else 2)
        deparses = bool(self.lossless or c.number(0, 4)) if self.plan not in (LOOKUP, AGAIN) else self.plan == AGAIN
        timed = not self.lossless and c.chance(1, 8)
        self.radios = timed or not self.lossless and c.chance(1, 8)
        self.sends = self.radios and deparses
        if processors:
            text += self.global_action() if c.chance(1, 5) else []
            for at in range(0 if not c.chance(1, 3) else c.number(1, 2)):
                text += self.sub_processor(at)
        for at in range(processors):
            chain.append(f"P{at}")
            kind = c.number(0, 23)
            if self.plan == AGAIN:
                text += self.saying_again(f"P{at}")
            elif self.plan == LOOKUP and at == processors - 1:
                text += self.last_lookup(f"P{at}", first=True)
            elif kind == 21 and at == processors - 1 and not deparses or kind == 22:
                text += self.last_lookup(f"P{at}")
            elif kind == 23 or kind == 20 and not self.sends:
                text += self.bare(f"P{at}", c.chance(2, 3))
            else:
                text += self.processor(f"P{at}", at)
        if self.sends and not self.completing and c.chance(1, 4):
            self.lost = True
            text += self.bare("Lost", False)
        if deparses:
            chain.append("Tx")
            text += self.deparser()
        timed = timed and not self.completing
        if timed:
            text += self.timing()
        bindings = indent(self.bindings(chain, timed))
        if self.kept or self.persists:
            self.following = "\n".join([*text, *self.migrate(), "protocol Random version 2 {", *bindings, "}"]) + "\n"
        text += ["protocol Random version 1 {", *bindings, "}"]
        return Program("\n".join(text) + "\n", self.given, self.lossless)

    # ------------------------------------------------------------ declarations

    def of_library(self, text: list[str]) -> list[HeaderInfo]:
        """Some of the library's headers, which come first in the packet."""
        c = self.choose
        library = Library()
        text[:0] = [f"import {name};" for name in IMPORTS]
        self.enums += library.enums
        self.structs += library.structs
        self.registers += library.registers
        if c.number(0, 3):
            self.given["contexts"] = {str(i): {"prefix": c.value(128), "length": c.pick((64, 128, 48))} for i in range(c.number(1, 3))}
        self.functions += library.functions
        return library.headers[c.number(0, 2):c.number(3, len(library.headers))]

    def register(self, into: list[RegisterInfo], prefix: str) -> str:
        c = self.choose
        cell = c.pick(self.structs) if self.structs and c.chance(1, 4) else self.scalar(128 if c.chance(1, 6) else 64)
        name, size = self.fresh(prefix), c.pick((0, 4, 1, 3, 7)) if c.chance(1, 2) else 0
        into.append(RegisterInfo(name, cell, size))
        if c.chance(1, 4):                      # the control plane says what it holds at first
            self.given[name] = self.given_cell(cell) if not size else {
                str(i): self.given_cell(cell) for i in sorted({c.number(0, size - 1) for _ in range(c.number(1, 3))})}
        return f"register<{cell.name if isinstance(cell, StructInfo) else cell}>{f'[{size}]' if size else ''} {name};"

    def declare(self, headers: list[HeaderInfo]) -> None:
        c = self.choose
        summing = [h for h in headers if h.sums][-1:]
        order = [h for h in headers if not h.sums]
        for one in summing:                     # a sum covers what follows it; of two, one would be inside the other
            order.insert(0 if self.plan == SUM else c.number(0, len(order)), one)
        for at, info in enumerate(order):
            alone = not at and self.plan in (SUM, LOOKUP)
            for copy in range(c.number(1, 2) if not info.sums and not alone else 1):
                size = c.number(1, 3) if not info.params and not info.sums and not alone and self.plan != GUESS and c.chance(1, 8 if self.plan == CIRCLES else 4) else 0
                args = []
                for header, _ in info.params:
                    fit = [i.name for i in self.instances if i.header is header and not i.size and not header.sums]
                    args.append(c.pick(fit) if fit else "")
                if "" not in args or not self.instances and not info.params:
                    self.instances.append(InstanceInfo(f"x{at}{'ab'[copy]}", info, size, tuple(args)))

    def declared(self, i: InstanceInfo) -> str:
        args = f"({', '.join(i.args)})" if i.args else ""
        return f"{i.header.name}{args}{f'[{i.size}]' if i.size else ''} {i.name};"

    def context(self, place: str) -> Context:
        ctx = Context(place, registers=list(self.registers), functions=list(self.functions))
        for i in self.instances:
            for text in i.texts():
                ctx.headers[text] = i.header
                ctx.bound[text] = tuple(f"h.{a}" for a in i.args)
        return ctx

    # ------------------------------------------------------------ parser

    def parser(self) -> list[str]:
        c = self.choose
        self.module = "parser"
        self.straight = self.plan in (GUESS, LOOKUP) or any(i.header.codec for i in self.instances) and c.chance(1, 3)
        count = c.number(1, 4) if self.plan != CIRCLES else 4
        ctx = self.context("parser")
        ctx.payload = ctx.lookahead = ctx.octets = True
        ctx.stacks = tuple(i.name for i in self.instances if i.size)
        ctx.assigns_headers = not self.lossless
        locals_ = []
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
                body += self.parser_statements(inner) if self.plan != LOOKUP or i is not self.instances[0] else []
                if i.size:
                    for _ in range(c.number(1, i.size) if self.lossless or not c.chance(1, 6) else i.size + 1):
                        body.append(self.extract(f"h.{i.name}.next", i.header, inner))
                    inner.headers[f"h.{i.name}.last"] = i.header
                    inner.valid.add(f"h.{i.name}.last")
                else:
                    structs = any(isinstance(what, StructInfo) for _, what in i.header.codec_params)
                    if i.header.codec and c.chance(3 if structs else 1, 5):     # what it fills is there before
                        body.append(f"pkt.extract(h.{i.name});")
                        inner.valid.add(f"h.{i.name}")
                    body.append(self.extract(f"h.{i.name}", i.header, inner))
                    inner.valid.add(f"h.{i.name}")
            body += self.parser_statements(inner)
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
            for n in reached:
                entry[n] = (entry[n] & inner.valid) if n in entry else set(inner.valid)
            out += [f"state {'start' if at == 0 else f's{at}'}{max_.rstrip()} {{", *indent(body + body_text), "}"]
        return ["parser Rx(packet pkt, out headers h) {", *indent(locals_ + out), "}"]

    def inout_locals(self, ctx: Context, lines: list[str]) -> None:
        """Variables for the parameters of codecs that give something back, and structs they take."""
        wanted = {ty for i in self.instances for d, ty in i.header.codec_params if d == "inout"}
        for ty in sorted(wanted, key=str):
            name = self.fresh("l")
            ctx.values.append(Value(name, ty, True))
            lines.append(f"{ty} {name};")
        for struct in [s for s in self.structs if any(what is s for i in self.instances for _, what in i.header.codec_params)]:
            name = self.fresh("l")
            ctx.structs.append((name, struct, True))
            lines.append(f"{struct.name} {name};")

    def via(self, header: HeaderInfo, ctx: Context) -> str:
        if not header.codec or not self.straight and self.choose.chance(1, 4):
            return ""
        args = self.arguments(FunctionInfo(header.codec, None, tuple(header.codec_params)), ctx, 2)
        return f" via {header.codec}({', '.join(args)})" if args is not None else ""

    def extract(self, text: str, header: HeaderInfo, ctx: Context) -> str:
        return f"pkt.extract({text}{self.via(header, ctx)});"

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
                    small = [v for v in ctx.readable() if v.ty.kind == "bit"]
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
                        header, name = c.pick(heads), self.fresh("y")
                        out += [f"{header.name} {name};", self.extract(name, header, ctx)]
                        ctx.headers[name] = header
                        ctx.valid.add(name)
                case _:
                    out += self.statement(ctx, 2)
        return out

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
                small = [v for v in ctx.readable() if v.ty.kind == "bit" and v.ty.width > 2 and " " not in v.text]
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

        values = [v for v in ctx.readable() if v.ty.kind in ("bit", "bool", "enum") and v.ty.width <= 64]
        if not values or c.chance(1, 4):
            name = targets[0]
            if name != "accept":
                reached.append(int(name[1:]))
            return [f"transition {name};"], reached
        chosen = [c.pick(values) for _ in range(c.number(1, 2))]
        if c.chance(1, 5):
            chosen[0] = Value(self.expr(bit(8), ctx, 2), bit(8))
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
        if ty.kind != "bit":
            return self.constant(ty) if c.number(0, 4) else "_"
        small = lambda: c.value(min(ty.width, 2)) if c.chance(1, 2) else c.value(ty.width)
        match c.number(0, 6):
            case 3 if ty.width > 1:
                return f"{small()} &&& {c.value(ty.width)}"
            case 4:
                low = small()
                return f"{low}..{c.number(low, (1 << ty.width) - 1)}"
            case 5:
                return "_"
            case 6:
                return literal(ty, small())
        return str(small())

    # ------------------------------------------------------------ deparser

    def deparser(self) -> list[str]:
        c = self.choose
        self.module = "deparser"
        ctx = self.context("deparser")
        ctx.payload = False
        ctx.octets = True
        lines: list[str] = []
        self.inout_locals(ctx, lines)
        for i in self.instances:
            if self.lossless:
                lines.append(f"pkt.emit(h.{i.name});")
                continue
            if self.plan == GUESS and c.number(0, 7):
                lines.append(f"pkt.emit(h.{i.name}{self.via(i.header, ctx)});")
                continue
            if c.chance(1, 10):
                continue
            if c.chance(1, 4):
                lines += self.statement(ctx, 1)
            if i.size and i.header.codec and c.chance(1, 2):
                lines.append(self.emit(f"h.{i.name}", i, ctx))
            elif i.size and i.header.codec:
                for text in i.texts():
                    lines.append(self.emit(text, i, ctx))
            elif i.size:
                lines.append(f"pkt.emit(h.{i.name});")
            elif c.chance(1, 6):
                lines += [f"if ({self.expr(BOOL, ctx, 2)}) {{", f"    {self.emit(f'h.{i.name}', i, ctx)}", "}"]
            else:
                lines.append(self.emit(f"h.{i.name}", i, ctx))
        if len(lines) > 2 and not self.lossless and not self.sends and c.chance(1, 4):
            kept = [line for line in lines if "pkt.emit" not in line]
            emits = [line for line in lines if line.startswith("pkt.emit") and " via " not in line and "?" not in line]
            if len(kept) + len(emits) == len(lines) and emits:
                part = ["deparser Tail(packet pkt, in headers h, bool all) {", *indent([emits[0], "if (all) {", *indent(emits[1:]), "}"]), "}"]
                return [*part, "deparser Tx(packet pkt, in headers h) {", *indent([*kept, f"Tail.apply(pkt, h, {self.expr(BOOL, ctx, 2)});"]), "}"]
        return ["deparser Tx(packet pkt, in headers h) {", *indent(lines), "}"]

    def emit(self, text: str, i: InstanceInfo, ctx: Context) -> str:
        inner = ctx.inside()
        if text in ctx.headers and self.choose.chance(1, 4):    # its codec may ask for what it is made of
            inner.valid.add(text)
            return f"if ({text}.isValid()) {{ pkt.emit({text}{self.via(i.header, inner)}); }}"
        return f"pkt.emit({text}{self.via(i.header, inner)});"
