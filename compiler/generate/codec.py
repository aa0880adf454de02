"""Random codecs for simple headers."""
from __future__ import annotations

from .base import BOOL, ChoiceInfo, Context, FieldInfo, FunctionInfo, HeaderInfo, RegisterInfo, StructInfo, Ty, Value, bit, literal
from .plans import GUESSED, MEETINGS, NEED
from .stmt import indent
from .twins import Pair, Twins

TAG_BITS = 64                                   # the longest tag


class Codecs(Twins):
    def codec(self, info: HeaderInfo, headers: list[HeaderInfo], registers: list[RegisterInfo]) -> list[str]:
        c = self.choose
        info.codec = f"C{info.name}"
        before, pair = self.twin_parts(info, headers[0]) if info.twins and headers else ([], None)
        ctx = Context("codec", registers=list(registers), functions=[f for f in self.functions if f.plain])
        params, makers = self.codec_params(info, headers, ctx)
        if pair is not None:
            params, makers = [self.twin_param(pair, info, ctx), *params], [*before, *makers]
        tagged = {choice.tag for choice in info.choices}
        said = [f for f in info.fields if (not f.equation or c.chance(2 if self.plan == NEED else 1, 4)) and f.name not in tagged
                and not (pair and (f in info.twins or f.name == info.both))]
        self.computed = {f.name for f in said if f.equation}    # what need not be said
        known = list(ctx.values)
        fields = {f.name: Value(f.name, f.ty) for f in info.fields}
        variables: list[str] = []
        lengths: dict[str, str] = {}
        for name in info.varbits:
            lengths[name] = self.fresh("n")
            variables.append(f"var bit<8> {lengths[name]} = (bit<8>) sizeof({name});")
        extra: list[Value] = []
        for _ in range(c.number(1 if self.plan in GUESSED else 0, 1)):
            inner = Context("codec", values=known + [fields[f.name] for f in info.fields], structs=ctx.structs, functions=ctx.functions)
            extra.append(self.variable_of(ctx, inner, variables))
        if pair is not None:
            variables += self.twin_variables(pair)
            extra = [*pair.numbers, *extra]
            self.named = {number.text for number in pair.numbers}
        todo: list[object] = [*said, *extra, *info.varbits]
        for choice in info.choices:             # before or behind other fields of its tag's octet
            todo.insert(c.number(0, len(todo)), choice)
        if pair is not None:                    # behind the numbers that it names
            todo.insert(c.number(todo.index(pair.numbers[1]) + 1, len(todo)), pair)
        self.tags: list[tuple[str, int]] = []
        body: list[str] = []
        follows = False
        many = 2 if self.plan in GUESSED else 12 if c.chance(1, 6) else 3          # a row of many fields
        self.most_rows = 4 if self.plan in GUESSED or c.chance(1, 4) else 3
        while todo:
            if isinstance(todo[0], Pair):
                todo.pop(0)
                body += self.twin_groups(pair, ctx, TAG_BITS - 8 - sum(width for _, width in self.tags))
                ctx.values += [fields[f.name] for f in info.twins] if not pair.follows else []
                continue
            choice = todo.pop(0) if isinstance(todo[0], ChoiceInfo) else None
            group: list = []
            most = c.number(1, many) if choice is None else c.number(0, 2)
            while todo and len(group) < most and not isinstance(todo[0], (ChoiceInfo, Pair)):
                group.append(todo.pop(0))
            lines, follows = self.group(group, choice, ctx, lengths, follows)
            body += lines
            ctx.values += [fields[f.name] if isinstance(f, FieldInfo) else f for f in group if not isinstance(f, str)
                           and (f.name if isinstance(f, FieldInfo) else f.text) not in self.followed | self.computed]
            if choice is not None:
                ctx.values += [fields[choice.tag], *info.chosen(choice, "")]
        text = ", ".join(params)
        return [*makers, f"codec {info.codec}({text}) <-> {info.name} {{",
                *indent([*self.tag(self.tags), *variables, *body]), "}"]

    def variable_of(self, ctx: Context, inner: Context, variables: list[str]) -> Value:
        """One that the codec computes when compressing; `inner`: what its value may name."""
        c = self.choose
        ty, name = bit(self.width(16)), self.fresh("x")
        arrays = [r for r in ctx.registers if r.size and self.number_of(r) is not None]
        plain = [v for v in inner.values if v.ty.kind == "bit" and v.ty.width >= 8 and "." not in v.text]
        small = [r for r in arrays if r.cell == bit(8)]
        if self.plan in GUESSED and small and plain and c.number(0, 9):       # one that finds something now and then
            one, asked, ty = c.pick(plain), c.pick(plain), bit(8)
            condition = f"{asked.text}[{c.number(0, 1)}:0] != 0 && {small[0].name}[i] == {one.text}[7:0]"
            variables.append(f"var bit<8> {name} = first i in 0..{small[0].size} where ({condition});")
        elif arrays and (self.plan in GUESSED or c.chance(1, 2)):
            register = c.pick(arrays)
            ty = bit(8)
            part, cell = self.number_of(register)       # type: ignore[misc]
            condition = f"{register.name}[i]{part} == {self.expr(cell, inner, 1)}"
            for _ in range(c.number(0, 2)):
                more = f"{register.name}[i]{part} != {literal(cell, 0)}" if c.chance(1, 2) else self.expr(BOOL, inner, 1)
                condition = f"{more} && {condition}" if c.chance(1, 2) else f"{condition} && {more}"
            low = c.number(0, register.size - 1) if c.chance(1, 4) else 0
            variables.append(f"var bit<8> {name} = first i in {low}..{register.size} where ({condition});")
        else:
            variables.append(f"var {ty} {name} = {self.expr(ty, inner, 2)};")
        return Value(name, ty)

    def number_of(self, register: RegisterInfo) -> tuple[str, Ty] | None:
        """A number that a register's cells have: how it is written behind the index."""
        if isinstance(register.cell, Ty):
            return ("", register.cell) if register.cell.kind == "bit" else None
        return next(((f".{name}", ty) for name, ty in register.cell.fields if ty.kind == "bit"), None)

    def group(self, group: list, choice: ChoiceInfo | None, ctx: Context, lengths: dict[str, str], follows: bool) -> tuple[list[str], bool]:
        """A group whose rows say every member of `group`, and the choice."""
        c = self.choose
        left = TAG_BITS - 8 - sum(width for _, width in self.tags)
        guessed = self.plan in GUESSED          # a codec of many rows
        widths = [c.number(2 if guessed else 1, 3) for _ in range(c.number(1 if guessed else 0, 2) if choice is None else 1)]
        if choice is not None:
            widths = [3] if c.number(0, 2) else [1, 2]
        names = [(self.fresh("t"), width) for width in widths] if sum(widths) <= left else []
        self.tags += names
        if not names:
            items, follows = self.row(group, ctx, lengths, c.chance(4, 5), follows)
            items = items or ["inline(pad:8)"]
            if choice is not None:
                items.append(f"inline({choice.name}.{choice.arms[0][0]})")
            return [", ".join(items) + ";"], follows
        out = [f"{', '.join(n for n, _ in names)} {{"]
        keys: list[tuple[int, ...]] = []
        said = self.chosen(choice) if choice is not None else []
        rows = len(said) or (c.number(3 if guessed else 2, self.most_rows) if c.number(0, 3) or guessed else 1)
        alike = self.alike(group, ctx) if choice is None and c.chance(1, 2 if self.plan in MEETINGS else 4) else None
        for at in range(rows):
            key = tuple(c.value(w) for _, w in names) if not said else (at,) if len(names) == 1 else (at & 1, at >> 1)
            if key in keys:
                continue
            keys.append(key)
            items, follows = self.row(group, ctx, lengths, at == rows - 1 if not said else bool(c.number(0, 2)), follows, alike)
            if said:
                items.insert(len(items) if c.number(0, 2) else 0, said[at])
            out.append(f"    {', '.join(map(str, key))}: {', '.join(items)};")
        return [*out, "}"], follows

    def alike(self, group: list, ctx: Context) -> tuple[object, FunctionInfo] | None:
        """A field that the group's rows say by calls of one function."""
        structs = [struct for _, struct, _ in ctx.structs]
        fit = [(one, f) for one in group if not isinstance(one, str) for f in ctx.functions
               if f.result == one.ty and all(isinstance(what, Ty) or what in structs for _, what in f.params)]
        return self.choose.pick(fit) if fit else None

    def codec_params(self, info: HeaderInfo, headers: list[HeaderInfo], ctx: Context) -> tuple[list[str], list[str]]:
        """The parameters, and functions that make some of them."""
        c = self.choose
        texts: list[str] = []
        makers: list[str] = []
        for at in range(c.number(0, 2)):
            name = self.fresh("q")
            match c.number(0, 7):
                case 3 if headers:
                    header = c.pick(headers)
                    info.codec_params.append(("", header))
                    ctx.values += [v for v in header.values(name, False) if "?" not in v.text]
                    texts.append(f"{header.name} {name}")
                case 4 if self.structs:
                    self.struct_param(c.pick(self.structs), name, info, ctx, texts)
                case 5 | 6:
                    types = [f.ty for f in info.fields] or [bit(8)]
                    struct = StructInfo(self.fresh("S"), tuple((f"s{n}", c.pick(types)) for n in range(c.number(1, 3))))
                    makers.append(f"struct {struct.name} {{ {' '.join(f'{t} {n};' for n, t in struct.fields)} }}")
                    self.struct_param(struct, name, info, ctx, texts)
                    makers += self.maker(struct, [h for h in [*headers, info] if not h.params])
                    self.structs.append(struct)
                case 2 | 7:
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
        return texts, makers

    def struct_param(self, struct: StructInfo, name: str, info: HeaderInfo, ctx: Context, texts: list[str]) -> None:
        info.codec_params.append(("", struct))
        ctx.structs.append((name, struct, False))
        texts.append(f"{struct.name} {name}")

    def maker(self, struct: StructInfo, headers: list[HeaderInfo]) -> list[str]:
        """A function that makes a struct of headers: a codec's argument, which may be made of the header that the codec fills."""
        c = self.choose
        name, made, ctx = self.fresh("mk"), self.fresh("r"), Context("function")
        params: list[tuple[str, HeaderInfo]] = []
        for at in range(c.number(1, 2) if headers else 0):
            header = headers[-1] if c.number(0, 2) else c.pick(headers)
            params.append((f"p{at}", header))
            ctx.headers[f"p{at}"] = header
            ctx.valid.add(f"p{at}")
        body = [f"{struct.name} {made};"]
        ctx.structs.append((made, struct, True))
        for field, ty in struct.fields:
            said = f"{made}.{field} = {self.expr(ty, ctx, 2)};"
            match c.number(0, 3):
                case 0:
                    body.append(f"if ({self.expr(BOOL, ctx, 2)}) {{ {said} }} else {{ {made}.{field} = {self.expr(ty, ctx, 1)}; }}")
                case 1:
                    body.append(f"if ({self.expr(BOOL, ctx, 1)}) {{ {said} }}")
                case _:
                    body.append(said)
        self.functions.append(FunctionInfo(name, struct, tuple(("", h) for _, h in params), plain=True))
        texts = ", ".join(f"{h.name} {n}" for n, h in params)
        return [f"function {struct.name} {name}({texts}) {{", *indent([*body, f"return {made};"]), "}"]

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
    computed: set[str] = set()
    followed: set[str] = set()                  # what `following` says is known only at the end
    named: set[str] = set()                     # what later rows name: it must be known then

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

    def row(self, group: list, ctx: Context, lengths: dict[str, str], whole: bool, follows: bool,
            alike: tuple[object, FunctionInfo] | None = None) -> tuple[list[str], bool]:
        """The items of a row that says every member of `group`. `whole`: everything is carried in line; `alike`: what it may say
        last, by a call."""
        c = self.choose
        items: list[str] = []
        bits = 0
        last: list[str] = []
        carried = 0
        given = {v.ty: v.text for struct in ctx.structs for v in struct[1].values(struct[0])}
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
            if name in self.computed and c.chance(1, 3):
                continue
            style = 0 if whole else c.number(0, 6)
            if alike is not None and one is alike[0] and not whole and c.number(0, 3):
                text, carried = self.called(alike[1], name, ty, ctx)
                last.append(f"{name} = {text}")
            elif style in (1, 2, 3) and ty in given and c.number(0, 2):
                items.append(f"{name} = {given[ty]}")
            elif style in (1, 2):
                items.append(f"{name} = {c.value(ty.width) if ty.kind == 'bit' and c.chance(1, 6) else self.constant(ty)}")
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
            elif style == 6 and ty.kind == "bit" and not follows and ty.width <= 64 and name not in self.named:
                follows = True
                self.followed.add(name)
                wide = 8 * c.number(1, 3)
                takers = [f for f in ctx.functions if f.result == ty and [what for _, what in f.params] == [bit(8)]]
                items.append(f"{name} = {takers[-1].name}(following:8)" if takers and c.number(0, 3) else f"{name} = ({ty}) following:{wide}")
            else:
                bits += ty.width
                items.append(f"inline({name})")
        if (bits + carried) % 8:
            items.append(f"inline(pad:{-(bits + carried) % 8})")
        if not whole and c.chance(1, 8):
            items.append(f"where ({self.expr(BOOL, ctx, 1)})")
        return [*items, *last], follows

    def called(self, function: FunctionInfo, name: str, ty: Ty, ctx: Context) -> tuple[str, int]:
        """A call that says a field; some of its arguments are in line. The bits of these."""
        c = self.choose
        args, bits = [], 0
        for _, what in function.params:
            if isinstance(what, Ty) and what.kind == "bit" and not bits and ty.kind == "bit" and what.width <= ty.width and c.chance(1, 2):
                low = c.number(0, ty.width - what.width)
                args.append(f"inline({name}[{low + what.width - 1}:{low}])")
                bits = what.width
            else:
                args += self.arguments(FunctionInfo("", None, (("", what),)), ctx, 2) or []
        return f"{function.name}({', '.join(args)})", bits

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
