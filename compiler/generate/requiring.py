"""Random headers that begin with what decides the rest of them, and what a parser requires of that when it has taken one."""
from __future__ import annotations

from .base import BOOL, Context, HeaderInfo, Value, bit
from .plans import Plans


class Requiring(Plans):
    def deciding_header(self, name: str) -> tuple[HeaderInfo, list[str]]:
        """What it begins with says what else is there: in a word at times, in one octet or several; a codec's header may be of this kind, too."""
        c = self.choose
        info = HeaderInfo(name)
        self.free = []
        lines = self.word(info) if c.chance(1, 3) else self.parts(info, 8 * c.pick((1, 2, 3, 4, 9)))
        tags = [(f, e) for f in info.fields for e in self.enums if f.ty == e.ty]
        first = [v for v in self.free if v.ty.width <= 16]
        if not first:
            return info, [f"header {name} {{", *("    " + line for line in lines), "}"]
        conditions: list[str] = []
        for _ in range(c.number(1, 4)):
            self.free = first
            conditions.append(condition := self.header_condition(info))
            match c.number(0, 7):
                case 0:
                    lines.append(self.plain(info, bit(8)))
                case 1 if tags:
                    tag, enum = c.pick(tags)
                    lines += self.arms(info, tag, enum, bool(c.number(0, 3)))
                case 2:
                    note, value = self.fresh("d"), c.pick(first)
                    info.varbits[note] = 24
                    unit = c.pick((8, 8, 8, 4))
                    when = f" when ({condition})" if c.chance(1, 2) else ""
                    lines.append(f"varbit<24> {note} sized ({unit} * (bit<16>) {self.low_bits(value)}){when};")
                case 3:
                    lines += self.where(info)
                case _:
                    lines.append(self.add(info, f"{{ty}} {{}} when ({condition});", bit(8 * c.number(1, 4)), free=False, when=True))
        info.decide = [v.text for v in first if any(v.text in condition for condition in conditions)]
        return info, [f"header {name} {{", *("    " + line for line in lines), "}"]

    def low_bits(self, value: Value) -> str:
        return f"{value.text}[{min(1, value.ty.width - 1)}:0]" if value.ty.kind == "bit" else f"(({value.text} == {self.constant(value.ty)}) ? 8w1 : 8w2)"

    def requiring(self, where: str, header: HeaderInfo) -> list[str]:
        """Behind the extract of a header: its layouts that are refused. Of what the header begins with, mostly, and beside that of anything."""
        c = self.choose
        first = self.deciding(where, header)
        if not first or not self.errors or c.chance(1, 2 if where.endswith(".last") else 8):
            return []
        out: list[str] = []
        for _ in range(c.number(1, 2)):
            self.free = first
            parts = [self.header_condition(header) for _ in range(c.number(1, 2))]
            if c.chance(1, 6):
                parts.insert(c.number(0, len(parts)), self.expr(BOOL, Context("parser", values=first, lookahead=True), 2))
            out.append(f"verify({' && '.join(f'({part})' for part in parts)}, error.{c.pick(self.errors)});")
        return out

    def guarding(self, where: str, header: HeaderInfo, target: str) -> list[str]:
        """A transition to one state that refuses the others; none where the header begins with nothing."""
        c = self.choose
        first = self.deciding(where, header)
        if not first:
            return []
        chosen = [c.pick(first) for _ in range(c.number(1, 2))]
        chosen += [Value(self.lookahead(ty), ty) for ty in [bit(c.pick((8, 16, 4)))] if c.chance(1, 2)]      # however much of the header is there
        reason = f"reject(error.{c.pick(self.errors)})" if c.number(0, 2) else "reject"
        lines = [f"transition select({', '.join(v.text for v in chosen)}) {{"]
        for _ in range(c.number(1, 3)):
            keys = [self.key(v.ty) for v in chosen]
            lines.append(f"    {keys[0] if len(keys) == 1 else '(' + ', '.join(keys) + ')'}: {target if c.number(0, 2) else reason};")
        lines += [f"    default: {target if c.chance(1, 3) else reason};"] if c.number(0, 2) else []
        return [*lines, "}"] if any(line.endswith(f"{target};") for line in lines) else [*lines[:-1], lines[-1].replace(reason, target), "}"]

    @staticmethod
    def deciding(where: str, header: HeaderInfo) -> list[Value]:
        """What parts of the header depend on."""
        return [Value(f"{where}.{f.name}", f.ty) for f in header.fields if f.name in header.decide]
