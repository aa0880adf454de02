"""Random codecs for simple headers."""
from __future__ import annotations

from .generate import BOOL, ChoiceInfo, Context, FieldInfo, HeaderInfo, RegisterInfo, StructInfo, Value, bit, literal
from .generate_header import Headers


class Codecs(Headers):
    def codec(self, info: HeaderInfo, headers: list[HeaderInfo], registers: list[RegisterInfo]) -> list[str]:
        c = self.choose
        info.codec = f"C{info.name}"
        ctx = Context("codec", registers=[r for r in registers if not isinstance(r.cell, StructInfo)])
        params = self.codec_params(info, headers, ctx)
        tagged = {choice.tag for choice in info.choices}
        said = [f for f in info.fields if (not f.equation or c.chance(1, 4)) and f.name not in tagged]
        known = list(ctx.values)
        fields = {f.name: Value(f.name, f.ty) for f in info.fields}
        variables: list[str] = []
        lengths: dict[str, str] = {}
        for name in info.varbits:
            lengths[name] = self.fresh("n")
            variables.append(f"var bit<8> {lengths[name]} = (bit<8>) sizeof({name});")
        extra: list[Value] = []
        for _ in range(c.number(0, 1)):
            ty = bit(self.width(16))
            name = self.fresh("x")
            inner = Context("codec", values=known + [fields[f.name] for f in info.fields], structs=ctx.structs)
            arrays = [r for r in ctx.registers if r.size and not isinstance(r.cell, StructInfo) and r.cell.kind == "bit"]
            if arrays and c.chance(1, 2):
                register = c.pick(arrays)
                ty = bit(8)
                variables.append(f"var bit<8> {name} = first i in 0..{register.size} where ({register.name}[i] == {self.expr(register.cell, inner, 1)});")
            else:
                variables.append(f"var {ty} {name} = {self.expr(ty, inner, 2)};")
            extra.append(Value(name, ty))
        todo: list[object] = [*said, *extra, *info.varbits]
        tags, body = [], []
        follows = False
        while todo:
            group = [todo.pop(0) for _ in range(min(len(todo), c.number(1, 3)))]
            names = []
            for _ in range(c.number(0, 2)):
                name, width = self.fresh("t"), c.number(1, 3)
                names.append((name, width))
                tags.append((name, width))
            if not names:
                items, follows = self.row(group, ctx, lengths, True, follows)
                body.append(", ".join(items) + ";")
            else:
                body.append(f"{', '.join(n for n, _ in names)} {{")
                keys: list[tuple[int, ...]] = []
                rows = c.number(1, 3)
                for at in range(rows):
                    key = tuple(c.value(w) for _, w in names)
                    if key in keys:
                        continue
                    keys.append(key)
                    items, follows = self.row(group, ctx, lengths, at == rows - 1, follows)
                    body.append(f"    {', '.join(map(str, key))}: {', '.join(items)};")
                body.append("}")
            ctx.values += [fields[f.name] if isinstance(f, FieldInfo) else f for f in group if not isinstance(f, str)
                           and (f.name if isinstance(f, FieldInfo) else f.text) not in self.followed]
        for choice in info.choices:
            tag = self.fresh("t")
            tags.append((tag, 3))
            body += [f"{tag} {{", *(f"    {key}: {item};" for key, item in enumerate(self.chosen(choice))), "}"]
        text = ", ".join(params)
        return [f"codec {info.codec}({text}) <-> {info.name} {{", *("    " + line for line in [*self.tag(tags), *variables, *body]), "}"]

    def codec_params(self, info: HeaderInfo, headers: list[HeaderInfo], ctx: Context) -> list[str]:
        c = self.choose
        texts = []
        for at in range(c.number(0, 2)):
            name = self.fresh("q")
            match c.number(0, 4):
                case 3 if headers:
                    header = c.pick(headers)
                    info.codec_params.append(("", header))
                    ctx.values += [v for v in header.values(name, False) if "?" not in v.text]
                    texts.append(f"{header.name} {name}")
                case 4 if self.structs:
                    struct = c.pick(self.structs)
                    info.codec_params.append(("", struct))
                    ctx.structs.append((name, struct, False))
                    texts.append(f"{struct.name} {name}")
                case 2:
                    ty = bit(self.width(16))
                    info.codec_params.append(("inout", ty))
                    ctx.values.append(Value(name, ty))
                    self.inout.append((name, ty))
                    texts.append(f"inout {ty} {name}")
                case _:
                    ty = self.scalar(64)
                    info.codec_params.append(("", ty))
                    ctx.values.append(Value(name, ty))
                    texts.append(f"{ty} {name}")
        return texts

    def chosen(self, choice: ChoiceInfo) -> list[str]:
        """Rows that say a choice: an arm, or a tag that has none."""
        c = self.choose
        rows = []
        for arm, ty in choice.arms:
            if c.chance(1, 3):
                rows.append(f"{choice.name}.{arm} = {literal(ty, c.value(min(ty.width, 3)))}")
            if c.chance(1, 4) and ty.width > 8:
                inside = 8 * c.number(1, ty.width // 8 - 1)
                rows.append(f"{choice.name}.{arm} = {literal(bit(ty.width - inside), c.value(ty.width - inside))} ++ inline:{inside}")
            rows.append(f"inline({choice.name}.{arm})")
        without = [member for member, _ in choice.enum.members if member not in {arm for arm, _ in choice.arms}]
        rows += [f"{choice.tag} = {choice.enum.ty}.{member}" for member in without]
        return rows[:8]

    inout: list[tuple[str, object]] = []
    followed: set[str] = set()                  # what `following` says is known only at the end

    def tag(self, tags: list[tuple[str, int]]) -> list[str]:
        """Constants fill the tag up to whole bytes."""
        if not tags:
            return [] if self.choose.chance(1, 2) else [f"tag 0b{self.choose.value(8):08b};"]
        pieces = [f"{n}:{w}" for n, w in tags]
        lacking = -sum(w for _, w in tags) % 8
        if lacking:
            pieces.insert(self.choose.number(0, len(pieces)), f"0b{self.choose.value(lacking):0{lacking}b}")
        return [f"tag {', '.join(pieces)};"]

    # ------------------------------------------------------------ rows

    def row(self, group: list, ctx: Context, lengths: dict[str, str], whole: bool, follows: bool) -> tuple[list[str], bool]:
        """The items of a row that says every member of `group`. `whole`: everything is carried in line."""
        c = self.choose
        items: list[str] = []
        bits = 0
        if c.chance(1, 6):
            error = f", error.{c.pick(self.errors)}" if self.errors and c.chance(1, 2) else ""
            items.append(f"where ({self.expr(BOOL, ctx, 2)}{error})")
        for one in group:
            if isinstance(one, str):
                if bits % 8:
                    items.append(f"inline(pad:{-bits % 8})")
                    bits += -bits % 8
                length = lengths[one]
                if not whole and c.chance(1, 2):
                    size = c.number(0, 5)
                    items += [f"{length} = {size}", f"inline({one} : {8 * size})"]
                else:
                    items += [f"inline({length})", f"inline({one} : 8 * (bit<16>) {length})"]
                continue
            name, ty = (one.name if isinstance(one, FieldInfo) else one.text), one.ty
            style = 0 if whole else c.number(0, 6)
            if style in (1, 2):
                items.append(f"{name} = {self.constant(ty)}")
            elif style == 3:
                items.append(f"{name} = {self.expr(ty, ctx, 2)}")
            elif style == 4 and ty.kind == "bit" and ty.width > 1:
                bits += self.parted(items, name, ty, ctx)
            elif style == 5 and ty.kind == "bit" and ty.width > 1:
                width = c.number(1, ty.width - 1)
                bits += width
                low = c.number(0, ty.width - width)
                items.append(f"{name} = (({ty}) inline({name}[{low + width - 1}:{low}])) << {low}" if ty.width <= 64 or low
                             else f"{name} = ({ty}) inline({name}[{low + width - 1}:{low}])")
            elif style == 6 and ty.kind == "bit" and not follows and ty.width <= 64:
                follows = True
                self.followed.add(name)
                items.append(f"{name} = ({ty}) following:{8 * c.number(1, 3)}")
            else:
                bits += ty.width
                items.append(f"inline({name})")
        if bits % 8:
            items.append(f"inline(pad:{-bits % 8})")
        if not whole and c.chance(1, 8):
            items.append(f"where ({self.expr(BOOL, ctx, 1)})")
        return items, follows

    def parted(self, items: list[str], name: str, ty, ctx: Context) -> int:
        """`f = constant ++ inline:n ++ ...`; the bits in line."""
        c = self.choose
        inside = c.number(1, ty.width - 1)
        above = c.number(0, ty.width - inside)
        below = ty.width - inside - above
        parts = []
        if above:
            parts.append(self.leaf(bit(above), ctx) if c.chance(1, 3) else literal(bit(above), c.value(above)))
        parts.append(f"inline:{inside}")
        if below:
            parts.append(literal(bit(below), c.value(below)))
        items.append(f"{name} = {' ++ '.join(parts)}")
        return inside
