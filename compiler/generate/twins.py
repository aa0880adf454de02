"""Random groups of codecs that say the same of two fields, but for names, literals and a thing or two that differ (compiler/lower/twins.py).

Rows of the first group are written with the names of the first of two things each: a field, members of a struct, numbers of the codec, functions,
constants. The second group has the same rows with the names of the others, mostly; some of its rows keep a name, say another literal, or another thing.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from .base import BOOL, Context, FieldInfo, FunctionInfo, HeaderInfo, RegisterInfo, StructInfo, Ty, Value, bit, literal
from .halves import NAME, Halves
from .plans import WRITE
from .stmt import indent

ADDRESSES = ("fe80::", "ff02::", "fd00::", "fe80::", "ff05::", "fec0::", "2001:db8::", "fe80::1")
NUMBER = re.compile(r"\D+")


@dataclass
class Pair:
    """Two fields of a codec. `names`: what things are called where the first is said, and where the second is; `cells`: where both look; `others`:
    what may stand for something else by mistake; `ahead`: a function of what follows the header; `both`: a
    field that is computed of both; `follows`: what they are may be known only at the end."""

    one: FieldInfo
    two: FieldInfo
    names: dict[str, str] = field(default_factory=dict)
    numbers: list[Value] = field(default_factory=list)
    cells: RegisterInfo | None = None
    struct: str = ""
    others: dict[str, str] = field(default_factory=dict)
    ahead: str = ""
    both: str = ""
    follows: bool = False


class Twins(Halves):
    tags: list[tuple[str, int]]

    def twin_fields(self, info: HeaderInfo) -> list[str]:
        """Two fields of the same words, one behind the other or nearly."""
        c = self.choose
        ty = bit(c.pick((64, 32, 128, 64, 96)))
        lines = [self.add(info, f"{ty} {{}};", ty)]
        one = info.fields[-1]
        lines += self.parts(info, 8 * c.number(1, 3)) if c.chance(1, 4) else []
        lines.append(self.add(info, f"{ty} {{}};", ty))
        info.twins = (one, info.fields[-1])
        if self.plan == WRITE and c.chance(1, 3):               # what rows may ask for
            said = f"bit<8> {{}} = {one.name}[7:0] {c.pick('^+')} {info.twins[1].name}[7:0];"
            lines.insert(c.number(0, 1) * len(lines), self.add(info, said, bit(8), free=False, equation=True))
            info.both = info.fields[-1].name
        return lines

    def twin_parts(self, info: HeaderInfo, link: HeaderInfo) -> tuple[list[str], Pair]:
        """What a pair's rows may name, and the declarations of that: a struct that a function makes, registers, functions."""
        c = self.choose
        one, two = info.twins
        pair, ty = Pair(one, two, {one.name: two.name}, both=info.both), one.ty
        names = [self.fresh("e") for _ in range(4)]
        names[2:] = [one.name, two.name] if c.chance(1, 3) else names[2:]       # a member may be called as a field is
        types = [BOOL, BOOL, ty, ty]
        if self.plan == WRITE and c.chance(1, 3):               # what is of both halves
            names.append(self.fresh("e"))
            types.append(bit(16))
        struct = StructInfo(self.fresh("S"), tuple(zip(names, types)))
        lines = [f"struct {struct.name} {{ {' '.join(f'{t} {n};' for n, t in struct.fields)} }}"]
        made = self.maker(struct, [link])                       # type: ignore[attr-defined]
        lines += self.half_and_half(made, struct, names, link) if int(NUMBER.sub("", names[0])) % 2 else made
        self.structs.append(struct)
        pair.names |= {names[0]: names[1], names[2]: names[3]}
        pair.struct = self.fresh("q")
        info.codec_params.append(("", struct))
        cells = [r for r in self.registers if r.cell == ty and r.size > 1]
        if not cells:
            cells = [RegisterInfo(self.fresh("R"), ty, c.pick((4, 16, 7)))]
            lines.append(f"register<{ty}>[{cells[0].size}] {cells[0].name};")
            self.registers += cells
            self.given[cells[0].name] = {str(i): c.value(ty.width) for i in range(c.number(1, 4))}    # type: ignore[attr-defined]
        pair.cells = c.pick(cells)
        called = [self.fresh("f"), self.fresh("f")]
        for name in called:
            ctx = Context("function", values=[Value("p0", ty), Value("p1", bit(16))])
            lines += [f"function {ty} {name}({ty} p0, bit<16> p1) {{", *indent([
                f"if ({self.expr(BOOL, ctx, 1)}) {{ return {self.expr(ty, ctx, 1)}; }}", f"return {self.expr(ty, ctx, 2)};"]), "}"]
            self.functions.append(FunctionInfo(name, ty, (("", ty), ("", bit(16))), plain=True))
        pair.others = {called[0]: called[1]}
        whole = self.fresh("f")                 # of all that is in the struct
        ctx = Context("function", structs=[("p0", struct, False)])
        lines += [f"function {ty} {whole}({struct.name} p0) {{", f"    return {self.expr(ty, ctx, 2)};", "}"]
        self.functions.append(FunctionInfo(whole, ty, (("", struct),), plain=True))
        pair.others[whole] = whole
        if self.plan == WRITE:
            pair.ahead, ctx = self.fresh("f"), Context("function", values=[Value("p0", bit(8))])
            lines += [f"function {ty} {pair.ahead}(bit<8> p0) {{", f"    return {self.expr(BOOL, ctx, 1)} ? {self.constant(ty)} : {self.expr(ty, ctx, 1)};", "}"]
        pair.numbers = [Value(self.fresh("x"), bit(8)) for _ in (one, two)]
        pair.names[pair.numbers[0].text] = pair.numbers[1].text
        return lines, pair

    def twin_param(self, pair: Pair, info: HeaderInfo, ctx: Context) -> str:
        """The codec's first parameter."""
        struct = info.codec_params[0][1]
        ctx.structs.append((pair.struct, struct, False))
        return f"{struct.name} {pair.struct}"

    def twin_variables(self, pair: Pair) -> list[str]:
        """What the codec looks for, or computes, when it compresses."""
        c = self.choose
        out = []
        for f, number in zip((pair.one, pair.two), pair.numbers):
            if c.number(0, 3):
                cond = f"{pair.cells.name}[i] == {f.name}"
                if f is pair.two and not c.number(0, 2):        # of some it asks something else
                    cond = f"({f.name}[0:0] == {c.number(0, 1)} ? {pair.cells.name}[i] != 0 && {pair.cells.name}[i][7:0] == {f.name}[7:0] : {cond})"
                before = f"{f.name} != {literal(f.ty, c.value(8))} && " if not c.number(0, 3) else ""
                out.append(f"var bit<8> {number.text} = first i in 0..{pair.cells.size} where ({before}{cond});")
            else:
                out.append(f"var bit<8> {number.text} = {f.name}[7:0];")
        return out

    # ------------------------------------------------------------ rows

    def twin_groups(self, pair: Pair, ctx: Context, most: int) -> list[str]:
        """Both groups. `most`: the bits that there are for their tags."""
        c = self.choose
        wide = 4 if c.chance(1, 2) and most > 6 + bool(pair.both) else 3
        pair.both = pair.both if most > 8 else ""
        first = [self.twin_row(pair, ctx) for _ in range(c.number(5, 6))] + ([f"inline({pair.one.name})"] if c.number(0, 5) else [])
        pair.follows = any("following" in row for row in first)
        said = [(self.fresh("t"), 1)] if pair.both else []
        both = [f"{said[0][0]} {{", f"    1: {pair.both} = {c.pick((0, c.value(8)))};", f"    0: inline({pair.both});", "}"] if said else []
        tag = self.fresh("t")
        tags = [(self.fresh("t"), 1), (self.fresh("t"), 3)] if wide == 4 and c.chance(1, 2) else [(self.fresh("t"), wide)]
        written = self.plan == WRITE            # it asks for more: rows of both in one order
        own = [*said, (tag, 3), *tags]
        self.tags[:] = [*own, *self.tags] if written and c.number(0, 3) else [*self.tags, *own]         # first, they lie in one octet
        keys = sorted(range(8), key=lambda _: c.number(0, 2)) if c.number(0, 2) else list(range(8))
        altered = c.number(0, len(first) - 1) if not c.chance(2 if written else 1, 3) else -1         # one of them, or less would be taken for twins
        second = [(key, self.twin_of(row, pair, at == altered)) for at, (key, row) in enumerate(zip(keys, first))]
        high = 8 if wide == 4 else 0
        used = {key for key, _ in second}
        for _ in range(c.number(0, 2)):         # what the first group has not
            key = c.number(0, high + 7)
            if key not in used:
                used.add(key)
                second.append((key, self.renamed_row(self.twin_row(pair, ctx), pair.names)))
        if c.chance(1, 8 if written else 2):
            second.sort(key=lambda _: c.number(0, 3))
        pair.follows |= any("following" in row for _, row in second)
        text = [f"{tag} {{", *(f"    {key}: {row};" for key, row in zip(keys, first)), "}"]
        between = [] if c.number(0, 19) else ["inline(pad:8);"]
        many = len(tags) > 1
        return [*both, *text, *between, f"{', '.join(n for n, _ in tags)} {{",
                *(f"    {f'{key >> 3}, {key & 7}' if many else key}: {row};" for key, row in second), "}"]

    def twin_row(self, pair: Pair, ctx: Context) -> str:
        """In the names of the first. What it has in line is whole octets."""
        c = self.choose
        f, ty = pair.one.name, pair.one.ty
        width, number, cells = ty.width, pair.numbers[0].text, pair.cells.name
        struct = next(struct for text, struct, _ in ctx.structs if text == pair.struct)
        asked, member = (f"{pair.struct}.{struct.fields[at][0]}" for at in (0, 2))
        function, whole = list(pair.others)
        more = f"{pair.struct}.{struct.fields[4][0]}" if len(struct.fields) > 4 else ""
        reason = f", error.{c.pick(self.errors)}" if self.errors and c.number(0, 2) else ""
        inside = 8 * c.number(1, width // 8 - 1)
        match c.pick((*range(16), *[16] * 2 * bool(pair.ahead), *[17] * 5 * bool(pair.both), *[18] * 3 * bool(more))):
            case 16:
                return f"{f} = {pair.ahead}(following:8)"
            case 17:
                row = c.pick((f"inline({f})", f"{f} = {literal(bit(width - inside), c.value(width - inside))} ++ inline:{inside}"))
                return f"where ({pair.both} {c.pick(('!=', '>', '<'))} {c.value(8)}{reason}), {row}"
            case 18:
                return f"{f} = {f'{literal(bit(width - 32), c.value(min(width - 32, 16)))} ++ ' * (width > 32)}{more} ++ {member}[15:0]"
            case 0:
                return f"{f} = {c.value(min(width, 8))}"
            case 1 | 14 | 15:
                return f"{f} = {self.quoted(ty)}"
            case 2:
                return f"{f} = {literal(bit(width - inside), c.value(width - inside))} ++ inline:{inside}"
            case 3:
                return f"where ({asked}{reason}), {f} = {member}"
            case 4:
                return f"{f} = {cells}[{number}]"
            case 5:
                return f"where ({cells}[{number}] != 0{reason}), {f} = {cells}[{number}] ^ (({ty}) inline({f}[15:0]))"
            case 6:
                return f"{f} = {function}({c.pick((member, f'{cells}[{number}]'))}, inline({f}[15:0]))"
            case 7 if self.plan != WRITE or c.chance(1, 4):
                return f"{f} = {whole}({pair.struct})"
            case 8:
                return f"inline({f}), where ({f}[{(low := c.number(0, width - 1))}:{low}] == {c.number(0, 1)}{reason})"
            case 9:
                return f"{f} = {self.expr(ty, self.of_first(ctx, pair), 2)}"
            case 10:
                return f"where ({self.expr(BOOL, self.of_first(ctx, pair), 2)}{reason}), {f} = {self.constant(ty)}"
            case 11:
                return f"{f} = {self.constant(ty)}"
            case 12:
                return f"{f} = {literal(bit(width - 8), c.value(width - 8))} ++ {number}"
        return f"where ({asked}), {f} = {literal(bit(width - inside), c.value(width - inside))} ++ {member}[{inside - 1}:0]"

    def of_first(self, ctx: Context, pair: Pair) -> Context:
        """What both groups may read, so that it can be renamed."""
        inner = ctx.inside()
        inner.values = [v for v in inner.values if v.text != pair.two.name]
        return inner

    def quoted(self, ty: Ty) -> str:
        text = f'ip6"{self.choose.pick(ADDRESSES)}"'
        return text if ty.width == 128 else f"{text}[127:{128 - ty.width}]"

    @staticmethod
    def renamed_row(row: str, names: dict[str, str]) -> str:
        return NAME.sub(lambda m: names.get(m.group(), m.group()), row)

    def twin_of(self, row: str, pair: Pair, altered: bool) -> str:
        """The row in the names of the second; `altered`: or nearly."""
        c = self.choose
        names, named = dict(pair.names), set(NAME.findall(row))
        if not altered:
            return self.renamed_row(row, names)
        kept = [name for name in list(names)[1:] if name in named]
        literals = list(re.finditer(r'\w*"[^"]*"|\b\d+w(0x)?[0-9a-f]+', row))
        ways = ["looks"] * (not pair.follows) + ["literal"] * 4 * bool(literals) + ["keeps"] * 4 * bool(kept) + ["exchanges"] * bool(kept)
        ways += ["stands"] * 2 * any(name in named for name, other in pair.others.items() if name != other) + ["reason"] * ("error." in row and bool(self.errors))
        match c.pick(ways or [""]):
            case "looks":                       # at the first
                return f"{pair.two.name} = {pair.one.name} ^ {literal(pair.one.ty, c.value(8))}"
            case "literal":                     # one of them is another one
                m = c.pick(literals)
                width = int(m.group().split("w")[0]) if '"' not in m.group() else 0
                other = literal(bit(width), c.value(width)) if width else f'ip6"{c.pick(ADDRESSES)}"'
                return self.renamed_row(row[:m.start()] + other + row[m.end():], names)
            case "keeps":
                del names[c.pick(kept)]
            case "exchanges":
                names |= {other: name for name, other in names.items() if name != pair.one.name and other != pair.two.name}
            case "stands":
                names |= pair.others
            case "reason":
                row = re.sub(r"error\.\w+", f"error.{c.pick(self.errors)}", row)
        return self.renamed_row(row, names)
