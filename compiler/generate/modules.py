"""Random programs: declarations, the chain of modules, the deparser."""
from __future__ import annotations

from .base import (BOOL, ERROR, Choose, Context, FunctionInfo, HeaderInfo, InstanceInfo, Program, RegisterInfo, StructInfo, Ty, Value,
                       bit)
from .built import Built
from .early import Early
from .library import IMPORTS, Library
from .parts import PartInfo
from .plans import AGAIN, CIRCLES, COPY, EARLY, GUESS, GUESSED, LIE, LOOKUP, MEET, MEETINGS, NEED, REFUSE, SUM, TELL, TWINS, WAYS, WRITE
from .stmt import indent
from .ways import Ways


class Generator(Built, Early, Ways):
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
        self.persists: dict[str, list[RegisterInfo]] = {}       # processor -> its persistent registers
        self.following = ""                     # another version, which takes over while packets come
        self.sends = self.radios = False
        self.completing: list[str] = []         # buffers whose content has a chain of its own
        self.changing, self.listed = {}, {}
        self.straight = False                   # a parser that goes round nowhere and says little: what is worth a guess

    def program(self) -> Program:
        c = self.choose
        text: list[str] = []
        self.plan = "" if self.lossless else self.choose_plan()
        put_back = self.lossless
        self.lossless |= self.plan == LIE       # but for what its processor changes
        self.wraps = self.plan in ("", *TWINS)
        self.declare_types(text)
        self.externs = not self.lossless and c.chance(1, 12)
        if self.externs:
            text.append("extern bit<16> sample(bit<32> x, bit<8> y) cost 20 in { radio, net };")
        for _ in range(c.number(1, 2) if c.chance(1, 3) else 0):
            made, lines = self.function([], self.functions, plain=True)
            self.functions.append(made)
            text += lines
        headers = self.declare_headers(text)
        for _ in range(c.number(0, 2)):
            changed = [r for r in self.registers if not self.lossless and r.name.startswith("R")] if c.chance(1, 4) else []
            made, lines = self.function([h for h in headers], self.functions, registers=changed)
            self.functions.append(made)
            text += lines
        self.declare_instances(headers)
        text.append("struct headers { " + " ".join(self.declared(i) for i in self.instances) + " }")
        chain = ["Rx"]
        for at in range(0 if self.lossless or self.plan in TWINS or not c.chance(1, 3) else c.number(1, 2)):
            text += self.sub_parser(at)
        text += {MEET: self.meeting_parser, WAYS: self.meeting_parser, TELL: self.telling_parser, EARLY: self.early_parser}.get(self.plan, self.parser)()
        processors = 1 if self.plan == LIE else 0 if self.lossless else c.number(1 if self.plan in (LOOKUP, AGAIN, SUM, COPY, TELL, NEED, EARLY, *TWINS) else 0,
                                                      1 if self.plan in (AGAIN, COPY) or self.plan == LOOKUP and c.number(0, 2) else 2)
        often = 12 if self.plan in (*GUESSED, *TWINS) else 4
        deparses = bool(self.lossless or self.plan == WRITE or c.number(0, often)) if self.plan not in (LOOKUP, AGAIN, COPY) else self.plan != LOOKUP
        timed = not self.lossless and c.chance(1, 8)
        self.radios = timed or not self.lossless and c.chance(3 if self.plan in TWINS else 1, 8)
        self.sends = self.radios and deparses
        text += self.own_deparser() if self.sends and self.plan in TWINS else []
        text += self.chosen_processors(processors, deparses)
        chain += [f"P{at}" for at in range(processors)]
        if self.sends and not self.completing and c.chance(1, 4):
            self.lost = True
            text += self.bare("Lost", False)
        if deparses:
            chain.append("Tx")
            text += {MEET: self.meeting_deparser, WAYS: self.ways_deparser, **dict.fromkeys(TWINS, self.built_deparser)}.get(self.plan, self.deparser)()
        timed = timed and not self.completing
        if timed:
            text += self.timing(text)
        bindings = indent(self.bindings(chain, timed))
        if self.kept or self.persists:
            self.following = "\n".join([*self.migrating(text), *self.migrate(), "protocol Random version 2 {", *bindings, "}"]) + "\n"
        text += ["protocol Random version 1 {", *bindings, "}"]
        return Program("\n".join(text) + "\n", self.given, put_back)

    def declare_types(self, text: list[str]) -> None:
        """Enums, constants, structs, errors, registers."""
        c = self.choose
        if c.chance(1, 16):
            text.append("import std.checksum;")
            self.functions.append(FunctionInfo("not_zero", bit(16), (("", bit(16)),), plain=True))
        for at in range(c.number(1 if self.plan in MEETINGS else 0, 2)):
            info, line = self.enum(at, self.plan in MEETINGS)
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
        self.errors = [f"Bad{n}" for n in range(c.number(0, 2) if self.plan not in (TELL, EARLY, REFUSE) else 3)]
        if self.errors:
            text.append(f"error {{ {', '.join(self.errors)} }}")
        for _ in range(c.number(0, 2)):
            kept = c.chance(1, 6)
            text.append(("persistent " if kept else "") + self.register(self.registers, "R", kept))
            self.kept += self.registers[-1:] if kept else []
        if self.plan in GUESSED:                # what codecs search in
            self.registers.append(RegisterInfo(self.fresh("R"), bit(8), c.pick((4, 7, 16))))
            text.append(f"register<bit<8>>[{self.registers[-1].size}] {self.registers[-1].name};")
            self.given[self.registers[-1].name] = {str(i): i ^ 3 for i in range(4)}

    def declare_headers(self, text: list[str]) -> list[HeaderInfo]:
        """Header types, and codecs for the simple ones."""
        c = self.choose
        if self.plan in MEETINGS:
            return self.meeting_headers(text)
        if self.plan in TWINS:
            return self.built_headers(text)
        if self.plan == EARLY:
            return self.early_headers(text)
        headers: list[HeaderInfo] = []
        own = 3
        if not self.lossless and self.plan not in (LOOKUP, SUM, TELL, NEED, REFUSE) and c.chance(1, 3 if self.plan == GUESS else 16):
            headers, own = self.of_library(text), 1
        for at in range(c.number(2 if self.plan in (SUM, NEED) else 1, own)):
            above = [h for h in headers if not h.params]
            params = [(headers[0], "up")] if above and above[0] is headers[0] and c.chance(1, 3) else []
            if params and c.chance(1, 2):
                params.append((c.pick(above), "over"))
            simple = (c.chance(2, 5) or self.plan == GUESS and not any(h.codec for h in headers)) and not self.lossless
            if self.plan == NEED:
                params = params or [(c.pick(above), "up")] if above and c.number(0, 3) else []
                simple = not self.lossless and bool(c.number(0, 2))
                info, lines = self.needing_header(f"H{at}", params, simple)
            elif self.plan == COPY and not at:
                params, simple = [], False
                info, lines = self.noted_header("H0")
            elif self.plan == TELL:
                params, simple = [], False
                info, lines = self.told_header(f"H{at}", not at)
            elif self.plan == REFUSE:
                params, simple = [], False
                info, lines = self.deciding_header(f"H{at}")
            elif self.plan in (SUM, LOOKUP) and not at:
                params, simple = [], False
                info, lines = self.flat_header("H0") if self.plan == LOOKUP else self.summing_header("H0")
            elif self.plan == LIE and not any(h.sums for h in headers) and c.chance(1, 3):
                params, simple = [], False
                info, lines = self.summing_header(f"H{at}")
            elif self.plan == LIE and c.chance(1, 2):
                params, simple = [], False
                info, lines = self.flat_header(f"H{at}")
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
        return headers

    def chosen_processors(self, count: int, deparses: bool) -> list[str]:
        """The processors of the chain, P0 and on, and what they apply."""
        c = self.choose
        text: list[str] = []
        if count:
            text += self.global_action() if c.chance(1, 5) else []
            for at in range(0 if self.plan in TWINS or not c.chance(1, 3) else c.number(1, 2)):
                text += self.sub_processor(at)
        for at in range(count):
            kind = c.number(0, 23)
            if self.plan in (*MEETINGS, EARLY) and (not at or c.chance(1, 2)):
                text += self.telling(f"P{at}")
            elif self.plan == TELL and not at:
                text += self.telling_all("P0")
            elif self.plan in TWINS and (not at or c.chance(1, 2)):
                text += self.building(f"P{at}")
            elif self.plan == AGAIN:
                text += self.saying_again(f"P{at}")
            elif self.plan == LIE:
                text += self.changing_in_place(f"P{at}")
            elif self.plan == COPY:
                text += self.copying(f"P{at}")
            elif self.plan == NEED and (not at or c.chance(1, 2)):
                text += self.coming_and_going(f"P{at}")
            elif self.plan == LOOKUP and at == count - 1:
                text += self.last_lookup(f"P{at}", first=True)
            elif kind == 21 and at == count - 1 and not deparses or kind == 22:
                text += self.last_lookup(f"P{at}")
            elif kind == 19:
                text += self.lookups_in_turns(f"P{at}")
            elif kind == 23 or kind == 20 and not self.sends:
                text += self.bare(f"P{at}", c.chance(2, 3))
            else:
                text += self.processor(f"P{at}", at)
        return text

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

    def register(self, into: list[RegisterInfo], prefix: str, kept: bool = False) -> str:
        """`kept`: a persistent one, of what has the same number in every version."""
        c = self.choose
        cell = c.pick(self.structs) if self.structs and c.chance(1, 4) else ERROR if not kept and c.chance(1, 8) else self.scalar(128 if c.chance(1, 6) else 64)
        name, size = self.fresh(prefix), c.pick((0, 4, 1, 3, 7)) if c.chance(1, 2) else 0
        into.append(RegisterInfo(name, cell, size))
        if c.chance(1, 4):                      # the control plane says what it holds at first
            self.given[name] = self.given_cell(cell) if not size else {
                str(i): self.given_cell(cell) for i in sorted({c.number(0, size - 1) for _ in range(c.number(1, 3))})}
        return f"register<{cell.name if isinstance(cell, StructInfo) else cell}>{f'[{size}]' if size else ''} {name};"

    def declare_instances(self, headers: list[HeaderInfo]) -> None:
        if self.plan in TWINS:
            self.declare_built(headers)
        elif self.plan != EARLY:                # which has declared them
            self.declare(headers)

    def declare(self, headers: list[HeaderInfo]) -> None:
        c = self.choose
        summing = [h for h in headers if h.sums][-1:]
        order = [h for h in headers if not h.sums]
        for one in summing:                     # a sum covers what follows it; of two, one would be inside the other
            order.insert(0 if self.plan == SUM else c.number(0, len(order)), one)
        for at, info in enumerate(order):
            alone = not at and self.plan in (SUM, LOOKUP, TELL)
            for copy in range(c.number(2 if self.plan == COPY and not at else 1, 2) if not info.sums and not alone else 1):
                many = not info.params and not info.sums and not alone and self.plan != GUESS and (self.plan not in MEETINGS or not info.codec and not info.choices)
                rare = 8 if self.plan == CIRCLES else 1 if self.plan == LIE and info.flat else 2 if self.plan == MEET else 4
                size = c.pick((1, 2, 3, 2, 3, 5, 8)) if many and c.chance(1, rare) else 0
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
            if self.plan == GUESS and c.number(0, 31):
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
            elif i.size and c.chance(1, 3):
                lines += [f"for (e in 0..{i.size}) {{", f"    pkt.emit(h.{i.name}[e]);", "}"]
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
            return f"if ({text}.isValid()) {{ {self.packet_call('emit', text, i.header, inner)} }}"
        return self.packet_call("emit", text, i.header, inner)
