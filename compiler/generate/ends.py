"""Random processors at a chain's end: a lookup whose data may go straight into the packet, assignments that may be said again."""
from __future__ import annotations

from .base import Context, FieldInfo, Ty, bit, literal
from .stmt import indent
from .tables import VERDICTS, Tables


class Ends(Tables):
    nearly = False                              # a lookup that is not what can go straight into the packet, in something

    def last_lookup(self, name: str, first: bool = False) -> list[str]:
        """A processor that ends with a lookup whose data becomes a field, or nearly: where it may go straight into the packet is decided
        by what else is done. `first`: of the packet's first header."""
        c = self.choose
        places = [(f"h.{i.name}", f) for i in self.instances if not i.size for f in i.header.fields     # type: ignore[attr-defined]
                  if f.ty.kind == "bit" and not f.equation and (not first or i is self.instances[0])]   # type: ignore[attr-defined]
        whole = [(where, f) for where, f in places if f.ty.width % 8 == 0 and not f.when] if first else []
        fit = whole or places
        if not fit:
            return self.processor(name, 0)
        where, field = c.pick(fit)
        keys = [one for one in fit if one[0] == where]
        other, key = min((c.pick(keys) for _ in range(3)), key=lambda one: one[1].ty.width)     # what entries may well hit
        kind = c.pick(("exact", "lpm", "ternary", "range"))
        to, none, table = self.fresh("act"), self.fresh("act"), self.fresh("t")
        ctx = self.context("action")                            # type: ignore[attr-defined]
        ctx.state = True
        self.meta_values(ctx)
        ctx.valid = {where}
        ctx.assigns_headers = ctx.payload = True
        self.declares_nothing(in_action=True)
        more = [line for _ in range(c.number(0, 2)) for line in self.assignment(ctx)]
        near = self.nearly = c.chance(1, 2)
        between = (self.assignment(ctx) if c.chance(1, 2) else [self.seen(where, field)]) if near and c.chance(1, 3) else []
        self.in_action = False
        bound = c.chance(1, 5)                  # the table gives the first argument, the entry the second
        self.actions = [(to, [("x", field.ty)]), (none, [])]
        entries = self.given[f"{name}.{table}"] = [self.given_entry([("", key.ty, kind)]) for _ in range(c.number(2 if first else 0, 5))]
        for entry in entries:
            entry["key"] = [self.likely(key.ty)] if c.number(0, 2) else entry["key"]
        body = self.looking_up(where, table, field, ctx)
        value = "x" if not near or c.number(0, 7) else f"(x + {literal(field.ty, 1)})" if field.ty.width <= 64 else "~x"
        put = [f"{where}.{field.name} = {value};"]
        put = [*between, *put, *more, f"m.verdict = {c.pick(VERDICTS)};"] if not near or c.number(0, 5) else [f"m.verdict = {c.pick(VERDICTS)};", *put, *more]
        other_action = none if not near or c.number(0, 7) else "NoAction"
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent([
            f"action {to}({'bit<8> y, ' if bound else ''}{field.ty} x) {{", *indent(put), "}",
            f"action {none}() {{ {self.refusing(where, field)} }}",
            f"table {table} {{", f"    key = {{ {other}.{key.name} : {kind}; }}",
            f"    actions = {{ {to}{'(m.lqi)' if bound else ''}; {none}; {'NoAction; ' if other_action == 'NoAction' else ''}}}",
            *([f"    default_action = {other_action}();"] if not near or c.number(0, 9) else []), "}", "apply {", *indent(body), "}"]), "}"]

    @staticmethod
    def seen(where: str, field: FieldInfo) -> str:
        """Tells what the field is now."""
        return f"m.port = (bit<16>) {where}.{field.name};"

    def likely(self, ty: Ty) -> int:
        """A number of small octets, as packets have them."""
        return sum(self.choose.number(0, 3) << at for at in range(0, ty.width, 8)) & (1 << ty.width) - 1

    def refusing(self, where: str, field: FieldInfo) -> str:
        """What an action does that has no data: it drops the packet and no more, or nearly."""
        c = self.choose
        reason = f"m.reason = error.{c.pick(self.errors)}; " if self.errors and c.chance(1, 2) else ""              # type: ignore[attr-defined]
        match c.number(2, 8) if self.nearly else 0:
            case 5:
                return f"{self.seen(where, field)} m.verdict = {c.pick(('DELIVER', *VERDICTS))};"
            case 6:
                return f"{where}.{field.name} = {self.constant(field.ty)}; m.verdict = DROP;"
            case 7:
                return f"m.verdict = DROP; {reason}m.verdict = {c.pick(VERDICTS)};"
            case 8:
                return f"{reason}m.port = 7; m.verdict = DROP;"
        return f"{reason}m.verdict = DROP;" if c.number(0, 1) else f"m.verdict = DROP; {reason}".strip()

    def looking_up(self, where: str, table: str, field: FieldInfo, ctx: Context) -> list[str]:
        """The lookup is the last thing that the chain does, or nearly."""
        c = self.choose
        lookup = f"{table}.apply();"
        match c.number(3, 9) if self.nearly else 0:
            case 6:
                return [f"if ({where}.isValid()) {{", f"    {lookup}", "}", *self.assignment(self.without_headers(ctx))]
            case 7:
                return [f"if ({where}.isValid()) {{", f"    if ({self.expr(Ty('bool', 1), ctx, 2)}) {{ {lookup} }} else {{ {lookup} }}", "}"]
            case 8:
                return [f"if ({where}.isValid()) {{", f"    if ({table}.apply().hit) {{ m.port = 3; }}", "}"]
            case 9:
                return [f"if ({where}.isValid()) {{", f"    {lookup}", f"    {self.seen(where, field)} m.verdict = DELIVER;", "}"]
        before = self.assignment(ctx) if c.chance(1, 3) else []
        return [f"if ({where}.isValid()) {{", *indent(before), f"    {lookup}", f"}}{' else { m.verdict = DROP; }' if c.chance(1, 2) else ''}"]

    def without_headers(self, ctx: Context) -> Context:
        inner = ctx.inside()
        inner.valid = set()
        return inner

    def saying_again(self, name: str) -> list[str]:
        """Fields of headers become constants and what registers hold: a deparser may read them from there. Some are assigned again, or in
        part, and some registers changed."""
        c = self.choose
        fit = [i for i in self.instances if not i.size and any(f.ty.kind == "bit" for f in i.header.fields)]        # type: ignore[attr-defined]
        if not fit:
            return self.processor(name, 0)
        ctx = self.context("processor")                         # type: ignore[attr-defined]
        ctx.state = ctx.assigns_headers = ctx.payload = True
        self.meta_values(ctx)
        self.declares_nothing(in_action=True)
        lines = [self.register(ctx.registers, "r") for _ in range(c.number(0, 1))]              # type: ignore[attr-defined]
        plain = [v for r in ctx.registers if not r.size and isinstance(r.cell, Ty) for v in [Context("", registers=[r]).readable()[0]]]
        body: list[str] = []
        for i in (c.pick(fit) for _ in range(c.number(1, 2))):
            where = f"h.{i.name}"
            body.append(f"{where}.setValid();")
            ctx.valid.add(where)
            places = [v for v in i.header.values(where, True) if v.writable and "?" not in v.text]
            for place in (c.pick(places) for _ in range(c.number(1, 3) if places else 0)):
                same = [v.text for v in plain if v.ty == place.ty] + [f"(({place.ty}) {v.text})" for v in plain if v.ty.kind == place.ty.kind == "bit"]
                said = c.pick(same) if same and c.number(0, 3) else self.constant(place.ty)
                if c.chance(1, 8):
                    said = f"({said} ^ {said})" if place.ty.kind == "bit" else said
                body.append(f"{place.text} = {said};")
                if c.chance(1, 6):
                    body += self.assignment(ctx)
                if c.chance(1, 24) and (copied := self.copied(ctx)):    # what was said of one header is another's
                    body.append(copied)
                if c.chance(1, 6) and place.ty.kind == "bit" and place.ty.width > 1:
                    high = c.number(0, place.ty.width - 1)
                    body.append(f"{place.text}[{high}:0] = {self.constant(bit(high + 1))};")
            if i.header.choices and c.chance(1, 3):
                arm = c.pick(i.header.arms(where))
                body.append(f"{arm.text} = {self.constant(arm.ty)};")
        if c.chance(1, 5):
            body += c.pick(([f"payload.truncate({c.number(0, 12)});"], [f"if (m.lqi > 3) {{ {where}.setInvalid(); }}"],
                            [f"if (m.lqi > 3) {{ {where}.setInvalid(); }}"] if c.number(0, 3) else [f"{where}.setInvalid();"]))
        if c.chance(1, 4):
            body += self.statement(self.without_headers(ctx), 1)
        ctx = self.without_headers(ctx)
        if c.chance(1, 4) and plain:
            changed = c.pick(plain)
            body.append(f"{changed.text} = {self.expr(changed.ty, ctx, 1)};")
        body.append(f"m.verdict = {c.pick(('TRANSMIT', 'ACCEPT'))};")
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent([*lines, "apply {", *indent(body), "}"]), "}"]

    def changing_in_place(self, name: str) -> list[str]:
        """Fields that are always there become something else, and first elements of a stack are removed."""
        c = self.choose
        ctx = self.context("processor")                         # type: ignore[attr-defined]
        ctx.state = ctx.payload = True
        self.meta_values(ctx)
        self.declares_nothing(in_action=True)
        body: list[str] = []
        for _ in range(c.number(1, 4) if self.instances else 0):     # type: ignore[attr-defined]
            i = c.pick(self.instances)                          # type: ignore[attr-defined]
            fields = [f for f in i.header.fields if f.ty.kind == "bit" and not f.equation and not f.when]
            if fields:
                field, inner = c.pick(fields), ctx.inside()
                where = c.pick(i.texts())
                inner.valid.add(where)
                body.append(f"if ({where}.isValid()) {{ {where}.{field.name} = {self.expr(field.ty, inner, 2)}; }}")
        stacks = [i.name for i in self.instances if i.size]     # type: ignore[attr-defined]
        for _ in range(c.number(1, 2) if stacks and c.number(0, 2) else 0):
            body.insert(c.number(0, len(body)), f"h.{c.pick(stacks)}.pop_front({c.pick((1, 1, 2, 3, 0))});")
        body += [f"payload.truncate({c.number(0, 12)});"] if c.chance(1, 6) else []
        body.append(f"m.verdict = {c.pick(VERDICTS)};")
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent(["apply {", *indent(body), "}"]), "}"]

    def changing_headers(self) -> Context:
        """Of a processor that declares nothing, and changes headers."""
        ctx = self.context("processor")                         # type: ignore[attr-defined]
        ctx.state = ctx.assigns_headers = ctx.payload = ctx.copies = True
        self.meta_values(ctx)
        self.declares_nothing(in_action=False)
        return ctx

    def coming_and_going(self, name: str) -> list[str]:
        """Headers become valid, invalid, others and of other values, those that others look at first of all; how long they are then is told."""
        c = self.choose
        ctx = self.changing_headers()
        looked_at = [f"h.{arg}" for i in self.instances for arg in i.args]      # type: ignore[attr-defined]
        body: list[str] = []
        for _ in range(c.number(2, 5)):
            text = c.pick(looked_at) if looked_at and c.number(0, 2) else c.pick(list(ctx.headers))
            match c.number(0, 4):
                case 0:
                    done = [f"{text}.setInvalid();"]
                case 1:
                    done = [f"{text}.setValid();"]
                case 2 if copied := self.copied_header(ctx):
                    done = [copied]
                case _:
                    inside = ctx.inside()
                    inside.valid.add(text)
                    places = [v for v in ctx.headers[text].values(text, True) if v.writable and "?" not in v.text]
                    place = c.pick(places) if places else None
                    done = [] if place is None else [f"if ({text}.isValid()) {{ {place.text} = {self.expr(place.ty, inside, 1)}; }}"]
            body += [f"if ({self.expr(Ty('bool', 1), ctx, 1)}) {{", *indent(done), "}"] if c.chance(1, 2) else done
            body.append(f"m.port = m.port * 7 + sizeof({c.pick(list(ctx.headers))});")
        body.append(f"m.verdict = {c.pick(('TRANSMIT', 'ACCEPT', 'DELIVER'))};")
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent(["apply {", *indent(body), "}"]), "}"]

    def copying(self, name: str) -> list[str]:
        """Headers become others, and their varbits; what they are then is told, and changed now and then."""
        c = self.choose
        ctx = self.changing_headers()
        body: list[str] = []
        for _ in range(c.number(2, 5)):
            copied = self.copied_varbit(ctx) if c.chance(2, 3) else ""
            copied = copied or self.copied_header(ctx)
            told = [text for text in ctx.headers if ctx.headers[text].varbits]
            body += [copied] if copied else []
            if told and c.chance(1, 3):
                text = c.pick(told)
                varbit, most = c.pick(list(ctx.headers[text].varbits.items()))
                octet = f" + (bit<16>) {text}.{varbit}[{c.number(0, most // 8 - 1)}]" if most >= 8 and c.chance(1, 2) else ""
                body.append(f"if ({text}.isValid()) {{ m.port = m.port + sizeof({text}.{varbit}){octet}; }}")
            body += self.assignment(ctx) if c.chance(1, 3) else []
        body.append(f"m.verdict = {c.pick(('TRANSMIT', 'ACCEPT'))};")
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent(["apply {", *indent(body), "}"]), "}"]
