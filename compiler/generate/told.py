"""Random programs that tell what they found: every value that a parser takes or looks at ahead goes into the state, and so does its sign."""
from __future__ import annotations

from .base import FieldInfo, HeaderInfo, InstanceInfo, Ty, Value, bit, literal
from .meeting import Meetings, narrow
from .stmt import indent
from .tables import VERDICTS

#: What lies in the packet in a way of its own: little-endian numbers and words, choices, parts that may be absent, varbits; half of it plain.
KINDS = (2, 1, 2, 4, 5, 6, 8, 8)


class Told(Meetings):
    def told_header(self, name: str, first: bool) -> tuple[HeaderInfo, list[str]]:
        """Of numbers with a sign, little-endian ones, and parts that may be absent. The first one also keeps what the parser sees ahead."""
        c = self.choose
        info = HeaderInfo(name)
        self.free = []
        lines = [self.add(info, "{ty} {};", bit(32))] if first else self.with_sign(info)
        for _ in range(c.number(1, 4)):
            lines += self.item(info, c.pick(KINDS), False) if c.number(0, 3) else self.with_sign(info)
        return info, [f"header {name} {{", *("    " + line for line in lines), "}"]

    def with_sign(self, info: HeaderInfo) -> list[str]:
        """A number with a sign, and what its octets have beside it; in a word now and then."""
        c = self.choose
        width = c.number(2, 64 if c.chance(1, 6) else 24)
        rest = bit(-width % 8) if width % 8 else None
        parts = [self.add(info, "{ty} {};", Ty("int", width))]
        parts[c.number(0, 1):0] = [self.add(info, "{ty} {};", rest)] if rest else []
        whole = width + (rest.width if rest else 0)
        return [f"word {c.pick(('le', 'be'))}<{whole}> {{", *indent(parts), "}"] if c.chance(1, 3) else parts

    def ahead(self, i: InstanceInfo) -> list[str]:
        """What lies in front of a header, told before it is taken: the first bits of it, little-endian, with a sign."""
        c = self.choose
        kept = f"h.{self.instances[0].name}.{self.instances[0].header.fields[0].name}"
        lines = []
        for _ in range(c.number(0, 2)):
            width = c.number(1, 40)
            ty = c.pick((bit(width), Ty("int", max(2, width)), bit(8 * c.number(1, 6))))
            name = f"le<{ty.width}>" if ty.kind == "bit" and ty.width % 8 == 0 and c.number(0, 2) else str(ty)
            lines += [f"{ty} {(seen := self.fresh('l'))} = pkt.lookahead<{name}>();",
                      *(f"{kept} = {kept} * 3 + {one};" for one in told(Value(seen, ty)))]
        if lines and i.size:
            return [f"if ({kept} != 0) {{", *indent(lines), "}"]
        return lines

    def telling_parser(self) -> list[str]:
        """One state a header, in their order; what does not fit is refused for reasons of many kinds, each of its own."""
        c = self.choose
        out: list[str] = []
        for at, i in enumerate(self.instances):
            base = f"h.{i.name}{'.last' if i.size else ''}"
            body = self.ahead(i) if at else []
            body.append(f"pkt.extract(h.{i.name}{'.next' if i.size else ''});")
            plain = [v for v in i.header.values(base, False) if v.ty.kind in ("bit", "int") and v.ty.width <= 64 and " " not in v.text]
            for v in [c.pick(plain) for _ in range(c.number(0, 1))] if plain else []:
                compare = c.pick(("!=", "!=", "<=" if v.ty.kind == "int" else "!="))
                body.append(f"verify({v.text} {compare} {self.likely_literal(v.ty)}, error.{c.pick(self.errors)});")
            target = f"s{at + 1}" if at + 1 < len(self.instances) else "accept"
            if plain and c.chance(1, 2):
                v = c.pick(plain)
                cases = [f"{self.likely_literal(v.ty)}: " + (f"reject(error.{c.pick(self.errors)});" if c.number(0, 3) else "reject;")
                         for _ in range(c.number(1, 2))]
                body += [f"transition select({v.text}) {{", *indent([*cases, f"default: {target};"]), "}"]
            else:
                body.append(f"transition {target};")
            bound = f" max {c.number(1, 2)}" if i.size and c.chance(1, 2) else ""
            out += [f"state {f's{at}' if at else 'start'}{bound} {{", *indent(body), "}"]
        return ["parser Rx(packet pkt, out headers h) {", *indent(out), "}"]

    def likely_literal(self, ty: Ty) -> str:
        return literal(ty, self.choose.value(min(ty.width, 2)))

    def telling_all(self, name: str) -> list[str]:
        """A processor whose state says what every field of every header is, and whose verdict and reason follow from one of them."""
        c = self.choose
        seen = self.fresh("r")
        body: list[str] = []
        plain: list[Value] = []
        ctx = self.context("processor")
        for text, info in ctx.headers.items():
            lines = [f"{seen} = {seen} * 3 + {one};" for v in info.values(text, False) for one in told(v)]
            lines += [f"{seen} = {seen} * 5 + (bit<32>) sizeof({text}.{varbit});" for varbit in info.varbits]
            change = [f for f in info.fields if changeable(f)]
            if change and c.chance(1, 3):       # in the packet, or in an image of it
                one = c.pick(change)
                lines.append(f"{text}.{one.name} = {text}.{one.name} {c.pick('+-^')} {self.likely_literal(one.ty)};")
            body += [f"if ({text}.isValid()) {{", *indent(lines), "}"]
            plain += [Value(f"({text}.isValid() ? {v.text} : {literal(v.ty, 0)})", v.ty) for v in info.values(text, False)
                      if v.ty.kind == "int" and v.ty.width <= 64]
        body.append(f"m.port = {seen}[15:0];")
        body.append(f"m.verdict = {c.pick(('ACCEPT', 'TRANSMIT', 'DELIVER', 'CONSUMED'))};")
        if plain:
            v = c.pick(plain)
            body.append(f"if ({v.text} < {literal(v.ty, c.value(v.ty.width))}) {{ m.verdict = {c.pick(('DROP', *VERDICTS[:2]))}; "
                        f"m.reason = error.{c.pick(self.errors)}; }}")
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent([f"register<bit<32>> {seen};", "apply {", *indent(body), "}"]), "}"]


def told(v: Value) -> list[str]:
    """Numbers of 32 bits that tell a value: of one with a sign also what it is as a longer one, halved and compared."""
    if v.ty.kind == "bit":
        return [narrow(v)]
    if v.ty.kind == "bool":
        return [f"({v.text} ? 32w1 : 32w0)"]
    if v.ty.kind == "enum":
        return [narrow(Value(f"((bit<{v.ty.width}>) {v.text})", bit(v.ty.width)))] if v.ty.width <= 32 else []
    if v.ty.kind == "int" and v.ty.width <= 64:
        longer = f"((int<{v.ty.width + 32}>) {v.text})"
        return [f"((bit<32>) (bit<{v.ty.width + 32}>) {longer})" if v.ty.width <= 32 else f"((bit<{v.ty.width}>) {v.text})[31:0]",
                f"((bit<{v.ty.width + 32}>) {longer})[{v.ty.width + 31}:{v.ty.width}]", f"((bit<{v.ty.width}>) ({v.text} >> 1))[{min(31, v.ty.width - 1)}:0]"
                if v.ty.width >= 32 else f"((bit<32>) (bit<{v.ty.width}>) ({v.text} >> 1))"]
    return []


def changeable(f: FieldInfo) -> bool:
    return f.ty.kind in ("bit", "int") and f.ty.width <= 64 and not f.equation and not f.when
