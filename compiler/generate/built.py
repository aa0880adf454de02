"""Random programs whose headers are built, by codecs above all, changed on their way, and sent (compiler/lower/laid_out.py).

A plain header lies in front of what a codec expands, two of whose groups say the same of two fields. Processors change what was built, more than once,
take it away and make it valid again, and send packets of their own on the way; the deparser writes what was built first.
"""
from __future__ import annotations

import ipaddress

from .base import BOOL, Context, HeaderInfo, InstanceInfo, Value, bit
from .plans import WRITE
from .stmt import indent
from .told import Told
from .twins import ADDRESSES


class Built(Told):
    own = ""                                    # a deparser that is not the chain's

    def built_headers(self, text: list[str]) -> list[HeaderInfo]:
        """In front what lies in the packet, then what codecs make of it, then what processors make. Small, or it is kept elsewhere."""
        c = self.choose
        link = HeaderInfo("H0")
        self.free = []
        text += ["header H0 {", *indent([self.add(link, "{ty} {};", bit(8 * c.pick((4, 1, 2, 8)))) for _ in range(c.number(2, 4))]), "}"]
        headers = [link]
        for at in range(1, c.number(2, 3)):
            info, lines = self.small_header(f"H{at}", at == 1 and (c.number(0, 9) > 0 or self.plan == WRITE))
            text += lines + self.codec(info, [link], self.registers)
            headers.append(info)
        if c.number(0, 2):
            info, lines = self.small_header(f"H{len(headers)}", False)
            text += lines
            headers.append(info)
        return headers

    def small_header(self, name: str, twins: bool) -> tuple[HeaderInfo, list[str]]:
        """Of one size, with what is computed now and then."""
        c = self.choose
        info = HeaderInfo(name)
        self.free = []
        lines: list[str] = []
        at = c.number(0, 2)
        for n in range(3):
            if twins and n == at:
                lines += self.twin_fields(info)
            match c.number(0, 7):
                case 0 | 1:
                    lines += self.parts(info, 8 * c.number(1, 3))
                case 2:
                    lines += [f"word {c.pick(('le', 'be'))}<{(width := 8 * c.number(1, 3))}> {{", *indent(self.parts(info, width)), "}"]
                case 3 if not info.payload:
                    info.payload = True
                    lines.append(self.add(info, f"bit<16> {{}} = sizeof(payload){c.pick((' + 8', ''))};", bit(16), free=False, equation=True))
                case 4 if len(info.fields) > 1:
                    lines.append(self.summed(info))
                case 5 if not twins:
                    lines.append(self.add(info, "{ty} {};", bit(c.pick((48, 24, 64)))))
                case _:
                    lines.append(self.plain(info, bit(c.pick((8, 32, 16)))))
        return info, [f"header {name} {{", *("    " + line for line in lines), "}"]

    def summed(self, info: HeaderInfo) -> str:
        """A field that is computed of others, when the header is asked for it or sent."""
        c = self.choose
        whole = [f.name for f in info.fields if f.ty.kind == "bit" and f.ty.width % 16 == 0 and not f.equation][:2]
        if whole and c.chance(1, 2):
            return self.add(info, f"bit<16> {{}} = ~inet_sum({', '.join(whole)}) deferred;", bit(16), free=False, equation=True, deferred=True)
        ty = bit(8 * c.number(1, 2))
        return self.add(info, f"{ty} {{}} = {self.expr(ty, Context('header', values=list(self.free)), 2)};", ty, free=False, equation=True)

    @property
    def made(self) -> list[InstanceInfo]:
        """What does not lie in the packet."""
        return [i for i in self.instances if i is not self.instances[0] and not i.size]

    def declare_built(self, headers: list[HeaderInfo]) -> None:
        """Each once; one of them twice now and then, so that it can be copied."""
        c = self.choose
        for at, info in enumerate(headers):
            for copy in range(2 if at and not info.twins and c.chance(1, 4) else 1):
                self.instances.append(InstanceInfo(f"x{at}{'ab'[copy]}", info))

    # ------------------------------------------------------------ on the way

    def building(self, name: str) -> list[str]:
        c = self.choose
        twins = [i for i in self.made if i.header.twins is not None and i.header.codec]
        if self.plan == WRITE and twins and c.chance(1, 4):
            return self.said_by_registers(name, twins[0])
        ctx = self.changing_headers()
        ctx.octets = True
        kept = self.register(ctx.registers, "r")                # type: ignore[attr-defined]
        body: list[str] = []
        for _ in range(c.number(2, 6)):
            i = c.pick(self.made)
            text = f"h.{i.name}"
            match c.number(0, 9 if self.sends else 7):
                case 0 | 1:
                    body += self.changed(text, i.header, ctx)
                case 2:
                    body += self.taken_away(text, i.header, ctx)
                case 3:
                    if text not in ctx.valid:
                        body.append(f"{text}.setValid();")
                        ctx.valid.add(text)
                    body += self.fields_written(text, i.header, ctx, c.number(1, 4))
                case 4:
                    body += self.statement(ctx, 2)
                case 5:
                    copied = self.copied_header(ctx)
                    body += [copied] if copied else self.changed(text, i.header, ctx)
                case 6:
                    body += self.wrapped(ctx)
                case 7:
                    body += self.exchanged(ctx)
                case _:
                    body += self.sent(text, i.header, ctx)
        if c.number(0, 2):
            body.append(f"m.verdict = {c.pick(('TRANSMIT', 'ACCEPT', 'DELIVER'))};")
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent([kept, "apply {", *indent(body), "}"]), "}"]

    def said_by_registers(self, name: str, i: InstanceInfo) -> list[str]:
        """Two fields that are what registers say, which nothing changes: where they are written they are read there (lower/one_of_two.py)."""
        c = self.choose
        cells, lines = [], []
        for f in i.header.twins:
            cells.append(self.fresh("r"))
            lines.append(f"register<{f.ty}> {cells[-1]};")
            number = int(ipaddress.IPv6Address(c.pick(ADDRESSES))) >> 128 - f.ty.width
            self.given[cells[-1]] = number | c.value(f.ty.width // 2) if c.number(0, 3) else c.value(f.ty.width)
        body = [f"h.{i.name}.setValid();", *(f"h.{i.name}.{f.name} = {cell};" for f, cell in zip(i.header.twins, cells)), "m.verdict = TRANSMIT;"]
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent([*lines, "apply {", *indent(body), "}"]), "}"]

    def fields_written(self, text: str, info: HeaderInfo, ctx: Context, count: int) -> list[str]:
        """Of a header that is valid there. Some of them twice, some in part."""
        c = self.choose
        places = [v for v in info.values(text, True) if v.writable and "?" not in v.text]
        out: list[str] = []
        place: Value | None = None
        for _ in range(count if places else 0):
            place = place if place is not None and c.chance(1, 3) else c.pick(places)
            if place.ty.kind == "bit" and place.ty.width > 1 and c.chance(1, 4):
                low = c.number(0, place.ty.width - 1)
                high = c.number(low, place.ty.width - 1)
                out.append(f"{place.text}[{high}:{low}] = {self.expr(bit(high - low + 1), ctx, 1)};")
            else:
                out.append(f"{place.text} = {self.expr(place.ty, ctx, 2)};")
        return out

    def changed(self, text: str, info: HeaderInfo, ctx: Context) -> list[str]:
        c = self.choose
        inner = ctx.inside()
        inner.valid.add(text)
        lines = self.fields_written(text, info, inner, c.number(1, 4))
        return [f"if ({text}.isValid()) {{", *indent(lines), "}"] if text not in ctx.valid else lines

    def taken_away(self, text: str, info: HeaderInfo, ctx: Context) -> list[str]:
        """And made valid again at times: what it has then was there before, or is written."""
        c = self.choose
        again = [f"{text}.setValid();"] * c.chance(1, 3)
        if c.chance(1, 3):
            ctx.valid.discard(text)
            between = self.statement(ctx, 0) if again and c.chance(1, 2) else []
            if again:
                ctx.valid.add(text)
            return [f"{text}.setInvalid();", *between, *again]
        condition = self.expr(BOOL, ctx, 2)
        inner = ctx.inside()
        inner.valid.add(text)
        more = self.fields_written(text, info, inner, c.number(0, 2)) if again else []
        if not again:
            ctx.valid.discard(text)
        return [f"if ({condition}) {{", *indent([f"{text}.setInvalid();", *again, *more]), "}"]

    def exchanged(self, ctx: Context) -> list[str]:
        """Fields of two headers that are there become one another."""
        c = self.choose
        texts = [f"h.{i.name}" for i in self.made]
        places = [(text, f) for text in texts for f in ctx.headers[text].fields if not f.equation and f.ty.kind == "bit"]
        pairs = [(one, two) for n, one in enumerate(places) for two in places[n + 1:] if one[1].ty == two[1].ty]
        if not pairs:
            return self.wrapped(ctx)
        (here, f), (there, g) = c.pick(pairs)
        old = self.fresh("v")
        lines = [f"{f.ty} {old} = {here}.{f.name};", f"{here}.{f.name} = {there}.{g.name};", f"{there}.{g.name} = {old};"]
        return [f"if ({here}.isValid() && {there}.isValid()) {{", *indent(lines), "}"]

    def sent(self, text: str, info: HeaderInfo, ctx: Context) -> list[str]:
        """A packet of its own, of a header that is there for that alone now and then."""
        c = self.choose
        send = f"{c.pick(('radio', 'net'))}.send({c.pick((self.own, self.own, 'Tx'))}(h));"
        if c.chance(1, 3):
            return [f"if ({self.expr(BOOL, ctx, 2)}) {{ {send} }}"]
        if c.chance(1, 2):
            return [send]
        ctx.valid.add(text)
        lines = [f"{text}.setValid();", *self.fields_written(text, info, ctx, c.number(1, 3)), send]
        if c.number(0, 2):
            ctx.valid.discard(text)
            lines.append(f"{text}.setInvalid();")
        return lines

    # ------------------------------------------------------------ deparsers

    def built_deparser(self) -> list[str]:
        """What was built comes first, as it is; in any order unless an equation looks at what the struct declares behind its header."""
        c = self.choose
        self.module = "deparser"
        ctx = self.context("deparser")                          # type: ignore[attr-defined]
        locals_: list[str] = []
        self.inout_locals(ctx, locals_)                         # type: ignore[attr-defined]
        twins = [i for i in self.made if i.header.twins is not None and i.header.codec]
        if twins and (self.plan == WRITE or not c.number(0, 5)):                # alone they fit a buffer, and walk along it (lower/twins_written.py)
            emits = [self.written(i, ctx) for i in twins]
            return ["deparser Tx(packet pkt, in headers h) {", *indent([*locals_, *emits]), "}"]
        lines: list[str] = []
        ordered = any(i.header.payload for i in self.instances) or c.chance(1, 2)
        made = self.made if ordered else sorted(self.made, key=lambda i: c.number(0, 2 if i.header.codec else 3))
        rest = self.instances[:1] if not ordered and c.chance(1, 3) else []
        for i in [*made, *rest]:
            text = f"h.{i.name}"
            match c.number(0, 15):
                case 15:
                    pass
                case 14:
                    lines.append(self.emit(text, i, ctx))       # type: ignore[attr-defined]
                case 13:
                    lines += [f"if ({self.expr(BOOL, ctx, 2)}) {{ pkt.emit({text}); }}"]
                case _:
                    lines.append(f"pkt.emit({text});")
        plain = next((n for n, line in enumerate(lines) if not line.startswith("pkt.emit") or " via " in line), len(lines))
        lines[plain:plain] = locals_ if plain < len(lines) else []
        return ["deparser Tx(packet pkt, in headers h) {", *indent(lines), "}"]

    def written(self, i: InstanceInfo, ctx: Context) -> str:
        """What its codec is given may be made of the header in front, and of its own."""
        given, inner = [f"h.{one.name}" for one in (self.instances[0], i)], ctx.inside()
        plain = self.emit(given[1], i, ctx) if self.choose.chance(1, 4) else ""                 # type: ignore[attr-defined]
        if " via " in plain:
            return plain
        inner.valid |= {*given}
        return f"if ({' && '.join(f'{text}.isValid()' for text in given)}) {{ {self.packet_call('emit', given[1], i.header, inner)} }}"     # type: ignore[attr-defined]

    def own_deparser(self) -> list[str]:
        """Of packets that are sent on the way."""
        c = self.choose
        self.own = "Own"
        some = [i for i in self.instances if c.chance(1, 2)] or [c.pick(self.made)]
        lines = [f"pkt.emit(h.{i.name});" for i in some]
        return ["deparser Own(packet pkt, in headers h) {", *indent(lines), "}"]
