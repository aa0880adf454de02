"""Random processors: their state, actions, tables and statements."""
from __future__ import annotations

import re
from typing import Any

from .base import BOOL, ERROR, Context, FunctionInfo, RegisterInfo, StructInfo, Ty, Value, as_number, bit, most
from .plans import SUM
from .stmt import Statements, indent

VERDICTS = ("ACCEPT", "TRANSMIT", "DELIVER", "DROP", "CONSUMED")


class Tables(Statements):
    given: dict[str, object]
    buffers: list[str] = []                     # of the processor that is made
    listed: dict[str, list[str]] = {}           # the actions of each table
    touched = 0                                 # counters and meters, so often: now and then one begins anew, too
    changing: dict[str, Ty] = {}                # actions whose first parameter they change, and its type

    def declares_nothing(self, in_action: bool) -> None:
        """Of the processor that is made: it has no counter, action, applied module, meter or buffer."""
        self.counters, self.actions, self.applied, self.meters, self.buffers, self.in_action = [], [], [], [], [], in_action

    def processor(self, name: str, number: int, inner: bool = False) -> list[str]:
        """`inner`: one that others apply: it applies none, and completes no buffer."""
        c = self.choose
        self.module = "processor"
        self.in_action = False
        ctx = self.context("processor")                         # type: ignore[attr-defined]
        ctx.payload = ctx.assigns_headers = ctx.octets = ctx.state = ctx.copies = True
        self.meta_values(ctx)
        lines: list[str] = []
        for _ in range(c.number(0, 2)):
            persists = not inner and not self.lossless and c.chance(1, 12)      # type: ignore[attr-defined]
            lines.append(("persistent " if persists else "") + self.register(ctx.registers, "r", persists))     # type: ignore[attr-defined]
            if persists:
                self.persists.setdefault(name, []).append(ctx.registers[-1])    # type: ignore[attr-defined]
        self.counters: list[tuple[str, int]] = []
        for _ in range(c.number(0, 2)):
            counter, size = self.fresh("n"), c.pick((0, 3, 8))
            self.counters.append((counter, size))
            lines.append(f"counter<{bit(self.width(64))}>{f'[{size}]' if size else ''} {counter};")
        self.meters: list[tuple[str, int, Ty]] = []
        for _ in range(c.number(1, 2) if c.chance(1, 6) else 0):
            lines.append(self.meter())
        self.buffers: list[str] = []
        if not inner and c.chance(1, 10):
            self.buffers.append(self.fresh("buf"))
            self.paired = c.chance(1, 3)        # keys of two numbers
            self.completing.append(f"{name}.{self.buffers[0]}")             # type: ignore[attr-defined]
            lines.append(f"buffer<{c.pick((64, 16, 256))}>[{c.number(1, 3)}] {self.buffers[0]} timeout {c.number(1, 9)} s;")
        lines += self.local_names(ctx)
        self.actions: list[tuple[str, list]] = []
        self.applied: list[str] = []
        names = []
        for _ in range(c.number(0, 3)):
            action = self.fresh("act")
            params = [(f"p{n}", self.scalar(64) if c.number(0, 7) else ERROR) for n in range(c.number(0, 2))]
            places = [v.ty for v in self.given_back(ctx)]
            if places and params and c.chance(1, 4):            # its first one is changed: tables bind it
                params[0] = ("p0", c.pick(places))
                self.changing[action] = params[0][1]
            inner = ctx.inside()
            inner.place, inner.valid = "action", set()
            inner.values += [Value(n, t, not at and action in self.changing) for at, (n, t) in enumerate(params)]
            self.in_action = True
            body: list[str] = []
            for _ in range(c.number(1, 3)):
                body += self.statement(inner, 1)
            self.in_action = False
            if c.chance(1, 6):
                body.insert(0, f"if ({self.expr(BOOL, inner_of(inner, params), 1)}) {{ return; }}")
            texts = [f"{'inout ' if not at and action in self.changing else ''}{t} {n}" for at, (n, t) in enumerate(params)]
            lines += [f"action {action}({', '.join(texts)}) {{", *indent(body), "}"]
            names.append((action, params))
        self.actions = names
        tables = []
        if names:
            for _ in range(c.number(0, 2)):
                table = self.fresh("t")
                lines += self.table(table, name, ctx)
                tables.append(table)
        self.applied = tables
        body = [line for table in tables for line in self.apply_table(table, ctx)]
        if self.buffers:                        # what nothing completes has no chain
            piece = "0, sizeof(payload)" if c.number(0, 1) else f"16w{8 * c.number(0, 2)}, {c.pick((0, 16, 24))}"      # all of it in one, or some
            body.append(f"bit<8> {self.fresh('v')} = {self.buffers[0]}.put({'(8w1, m.lqi)' if self.paired else '8w1'}, {piece});")
        if self.plan == SUM:                    # type: ignore[attr-defined]
            self.counters.append((self.fresh("n"), 0))
            lines.append(f"counter<bit<32>> {self.counters[-1][0]};")
            body += [*self.asking(ctx), *self.complemented(ctx)]
        for _ in range(c.number(1, 5)):
            if self.processors and not inner and c.chance(1, 3):            # type: ignore[attr-defined]
                body += self.apply_processor(ctx)
            body += self.statement(ctx, 2)
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent([*lines, "apply {", *indent(body), "}"]), "}"]

    def asking(self, ctx: Context) -> list[str]:
        """Whether a header's sum holds; or it becomes valid, and its sum is computed."""
        c = self.choose
        text = next((text for text, info in ctx.headers.items() if info.deferred), None)
        if text is None:
            return []
        if c.chance(1, 3):
            ctx.valid.add(text)
            return [f"{text}.setValid();"]
        return [f"if ({text}.isValid()) {{", f"    if ({text}.holds()) {{ {self.counters[-1][0]}.count(); }}", "}"]

    def complemented(self, ctx: Context) -> list[str]:
        """A sum that is made wider, or less, before it is complemented, or behind that; the port tells all of it."""
        c = self.choose
        width = c.pick((32, 24, 16, 48, 20))
        sum_ = self.sum_of(ctx, 2)
        text = f"~((bit<{width}>) {sum_})" if c.number(0, 2) else f"((bit<{width}>) ~{sum_})"
        name = self.fresh("v")
        ctx.values.append(Value(name, bit(width), True))
        return [f"bit<{width}> {name} = {text};", f"m.port = {name}[15:0] {c.pick('+^')} {name}[{width - 1}:{width - 16}];"]

    def local_names(self, ctx: Context) -> list[str]:
        """Variables and constants of a module, beside what it declares."""
        c = self.choose
        lines = []
        for _ in range(c.number(1, 2) if c.chance(1, 5) else 0):
            ty, constant = self.scalar(64), c.chance(1, 3)
            name = self.fresh("K" if constant else "u")
            said = f" = {self.constant(ty)}" if constant or c.chance(1, 2) else ""
            lines.append(f"{'const ' if constant else ''}{ty} {name}{said};")
            ctx.values.append(Value(name, ty, not constant))
        return lines

    def bare(self, name: str, headers: bool) -> list[str]:
        """A processor that takes no meta, and perhaps no headers: it gives no verdict."""
        c = self.choose
        ctx = self.context("bare")                              # type: ignore[attr-defined]
        ctx.headers = ctx.headers if headers else {}
        ctx.payload = ctx.octets = ctx.assigns_headers = ctx.copies = headers
        ctx.state = True
        counter = self.fresh("n")
        lines = [f"counter<{bit(self.width(64))}> {counter};", self.register(ctx.registers, "r")]       # type: ignore[attr-defined]
        self.in_action = True
        body = [f"{counter}.count();"]
        for _ in range(c.number(1, 4)):
            body += self.statement(ctx, 2)
        self.in_action = False
        return [f"processor {name}({'inout headers h' if headers else ''}) {{", *indent([*lines, "apply {", *indent(body), "}"]), "}"]

    def meta_values(self, ctx: Context) -> None:
        ctx.meta = True
        ctx.values += [Value("m.iface", bit(8)), Value("m.rssi", bit(8)), Value("m.lqi", bit(8)), Value("m.time", bit(32)),
                       Value("m.port", bit(16), True), Value("m.reason", ERROR, True)]

    # ------------------------------------------------------------ statements of processors

    def special_statement(self, ctx: Context, depth: int) -> list[str]:
        c = self.choose
        if ctx.place not in ("processor", "action", "timing"):
            return []
        if ctx.place == "timing" or self.radios and c.chance(1, 5):
            return self.radio(ctx)                              # type: ignore[attr-defined]
        match c.number(0, 13) if not self.buffers or c.chance(1, 2) else 13:
            case 13 if self.buffers:
                return self.buffered(ctx)
            case 8:
                return [f"payload.truncate({self.expr(bit(16), ctx, 1) if c.chance(1, 2) else c.number(0, 12)});"]
            case 9 if not ctx.looping and not self.in_action:
                stacks = sorted({t.split("[")[0] for t in ctx.headers if "[" in t})
                if stacks:
                    stack = c.pick(stacks)
                    ctx.valid -= {t for t in ctx.headers if t.startswith(stack + "[")}
                    return [f"{stack}.{c.pick(('push_front', 'pop_front'))}({c.number(0, 3)});"]
            case 10 if self.meters:
                return self.metered(ctx)
            case 11 if self.processors and not self.in_action:  # type: ignore[attr-defined]
                return self.apply_processor(ctx) or [";"]
            case 12 if self.global_actions and not self.in_action:          # type: ignore[attr-defined]
                action = c.pick(self.global_actions)            # type: ignore[attr-defined]
                args = self.arguments(action, ctx, 2)
                if args is not None:
                    return [f"{action.name}({', '.join(args)});"]
            case 0:
                verdict = c.pick(VERDICTS)
                if c.chance(1, 3):
                    return [f"m.verdict = {self.expr(BOOL, ctx, 2)} ? {verdict} : {c.pick(VERDICTS)};"]
                return [f"m.verdict = {verdict};"]
            case 1 if self.errors:                              # type: ignore[attr-defined]
                return ["m.verdict = DROP;", f"m.reason = error.{c.pick(self.errors)};"]    # type: ignore[attr-defined]
            case 2 if self.counters:
                name, size = c.pick(self.counters)
                does = "reset" if self.anew(name) else "count"
                if not size:
                    return [f"{name}.{does}();"]
                return [f"{name}.{does}({self.index(RegisterInfo(name, bit(8), size), ctx, 2)});"]
            case 3 if self.applied:
                return self.apply_table(c.pick(self.applied), ctx)
            case 4 if self.actions and not self.in_action:
                name, params = c.pick(self.actions)
                return [f"{name}({', '.join(self.action_arguments(name, params, ctx, 2))});"]
            case 6 if self.packet_actions and not self.in_action and c.chance(1, 2) and any(t.startswith("h.") for t in ctx.headers):     # type: ignore[attr-defined]
                return [f"{c.pick(self.packet_actions)}(h, m);"]            # type: ignore[attr-defined]
            case 5:
                names = [t for t in ctx.headers if t not in ctx.valid]
                if names:
                    text = c.pick(names)
                    ctx.valid.add(text)
                    return [f"{text}.setValid();"]
            case 6 if not ctx.looping and not self.in_action:
                names = list(ctx.headers)
                if names:
                    text = c.pick(names)
                    ctx.valid.discard(text)
                    return [f"{text}.setInvalid();"]
            case 7 if depth < 2 and not ctx.looping:
                return [f"if ({self.expr(BOOL, ctx, 1)}) {{ {c.pick(('return', 'exit') if ctx.place == 'processor' else ('return', 'exit'))}; }}"]
        return []

    def apply_table(self, table: str, ctx: Context) -> list[str]:
        c = self.choose
        if c.chance(1, 4):
            arms = [line for name in self.listed[table] if c.chance(1, 2)
                    for line in (f"    {name}: {{", *indent(indent(self.block(ctx, 1, 0))), "    }")]
            return [f"switch ({table}.apply().action_run) {{", *arms, "    default: { }", "}"]
        if c.chance(1, 2):
            return [f"if ({table}.apply().{c.pick(('hit', 'miss'))}) {{", *indent(self.block(ctx, 1, 0)), "}"]
        return [f"{table}.apply();"]

    def given_back(self, ctx: Context) -> list[Value]:
        """What an action may change that it is given: variables and registers."""
        return [v for v in ctx.readable() if v.writable and not v.text.startswith("h.") and v.ty != ERROR and "[" not in v.text]

    def action_arguments(self, name: str, params: list, ctx: Context, depth: int) -> list[str]:
        first = [self.choose.pick([v.text for v in self.given_back(ctx) if v.ty == self.changing[name]])] if name in self.changing and params else []
        return first + [self.expr(t, ctx, depth) for _, t in params[len(first):]]

    def apply_processor(self, ctx: Context) -> list[str]:
        part = self.choose.pick(self.processors)                # type: ignore[attr-defined]
        args = self.arguments(part, ctx, 2)
        if part.first.startswith("h"):          # it may make headers invalid
            if ctx.looping or not any(text.startswith("h.") for text in ctx.headers):
                return []
            ctx.valid.clear()
        return [f"{part.name}.apply({part.first}{', '.join(args)});".replace(", )", ")")] if args is not None else []

    def anew(self, name: str) -> bool:
        """Whether a counter or meter is reset here: nothing is drawn for that, so that programs stay what they are."""
        self.touched += 1
        return (self.touched + int(re.sub(r"\D", "", name))) % 3 == 0

    def meter(self) -> str:
        c = self.choose
        name, size, ty = self.fresh("mt"), c.pick((0, 4)), bit(c.pick((8, 16, 32)))
        self.meters.append((name, size, ty))
        interval = f"{c.number(1, 900)} {c.pick(('us', 'ms'))}"
        excess = f", {c.number(1, 100)}" if c.chance(1, 2) else ""
        return f"meter<{ty}>{f'[{size}]' if size else ''} {name}({interval}, {c.number(1, 200)}{excess});"

    def metered(self, ctx: Context) -> list[str]:
        c = self.choose
        name, size, ty = c.pick(self.meters)
        args = [self.index(RegisterInfo(name, bit(8), size), ctx, 2)] if size else []
        full = [f"{name}.reset({args[0] if size else ''});"] if self.anew(name) else []
        if c.chance(1, 2):
            args.append(self.expr(ty, ctx, 1))
        colour = self.fresh("v")
        ctx.values.append(Value(colour, bit(8), True))
        return [*full, f"bit<8> {colour} = {name}.execute({', '.join(args)});",
                f"if ({colour} == {c.pick(('GREEN', 'YELLOW', 'RED'))}) {{", *indent(self.block(ctx, 1, 0)), "}"]

    def buffered(self, ctx: Context) -> list[str]:
        c = self.choose
        name, key, result = self.buffers[0], c.pick(("8w1", "8w2", "m.iface")), self.fresh("v")
        key = f"({key}, m.lqi)" if self.paired else key
        offset = f"(({self.expr(bit(16), ctx, 1)}) & 24)" if c.chance(1, 2) else str(8 * c.number(0, 3))
        more = ", Tx(h)" if self.sends and not self.in_action and not ctx.looping and c.chance(1, 2) else ""     # type: ignore[attr-defined]
        call = c.pick((f"put({key}, {offset}, {c.pick((0, 16, 24, 40))}{more})", f"hold({key}{more})", f"take({key})", f"drop({key})",
                       f"put({key}, {offset}, {c.pick((0, 16, 24, 40))})"))
        ctx.values.append(Value(result, bit(8), True))
        return [f"bit<8> {result} = {name}.{call};"]

    def global_action(self) -> list[str]:
        c = self.choose
        name, params = self.fresh("glob"), []
        if c.chance(1, 3):
            ctx = self.context("bare")                          # type: ignore[attr-defined]
            ctx.state = ctx.payload = ctx.octets = ctx.assigns_headers = ctx.copies = True
            self.meta_values(ctx)
            lines = [line for _ in range(c.number(1, 3)) for line in self.statement(ctx, 1)]
            lines += [f"m.verdict = {c.pick(VERDICTS)};"] if c.chance(1, 2) else []
            self.packet_actions.append(name)                    # type: ignore[attr-defined]
            return [f"action {name}(inout headers h, inout meta m) {{", *indent(lines), "}"]
        inner = Context("action", registers=list(self.registers), functions=list(self.functions), octets=True, payload=True, state=True)     # type: ignore[attr-defined]
        for n in range(c.number(1, 2)):
            ty, direction = self.scalar(64), c.pick(("", "inout"))
            params.append((direction, ty))
            inner.values.append(Value(f"p{n}", ty, bool(direction)))
        body: list[str] = []
        for _ in range(c.number(1, 2)):
            body += self.assignment(inner)
        self.global_actions.append(FunctionInfo(name, None, tuple(params)))                 # type: ignore[attr-defined]
        texts = [f"{d} {t} p{n}".strip() for n, (d, t) in enumerate(params)]
        return [f"action {name}({', '.join(texts)}) {{", *indent(body), "}"]

    # ------------------------------------------------------------ tables

    def table(self, name: str, module: str, ctx: Context) -> list[str]:
        c = self.choose
        keys: list[tuple[str, Ty, str]] = []
        for _ in range(c.number(1, 2) if c.number(0, 9) else 0):
            ty = self.scalar(128 if c.chance(1, 4) else 64)
            ty = bit(ty.width) if ty.kind == "int" and not self.is_number(ty) else ty
            kind = "exact" if not self.is_number(ty) else c.pick(("exact", "lpm", "ternary", "range"))
            keys.append((self.expr(ty, ctx, 2), ty, kind))
        plain = [one for one in self.actions if one[0] not in self.changing]
        if not keys and plain:                  # it always runs its default action
            action, params = c.pick(plain)
            self.listed[name] = [one for one, _ in plain]
            return [f"table {name} {{", f"    actions = {{ {' '.join(f'{one};' for one, _ in plain)} }}",
                    f"    default_action = {action}({', '.join(self.constant(t) for _, t in params)});", "}"]
        if not keys:
            keys.append(("m.lqi", bit(8), "exact"))
        lines = [f"table {name} {{", f"    key = {{ {' '.join(f'{e} : {k};' for e, _, k in keys)} }}"]
        every, self.actions = self.actions, []
        bound = []
        for action, params in every:            # some get their first arguments here, the entry gives the rest
            given = params[:c.number(action in self.changing, len(params))] if c.chance(1, 4) or action in self.changing else []
            bound.append(f"{action}({', '.join(self.action_arguments(action, given, ctx, 1))});" if given else f"{action};")
            self.actions.append((action, params[len(given):]))
        if self.packet_actions and ctx.headers and c.chance(1, 2):          # type: ignore[attr-defined]
            action = c.pick(self.packet_actions)                # type: ignore[attr-defined]
            bound.append(f"{action}(h, m);")
            self.actions.append((action, []))
        lines.append(f"    actions = {{ {' '.join(bound)} }}")
        self.listed[name] = [one for one, _ in self.actions]
        entries, constant = c.number(0, 3), c.chance(1, 2)
        if constant and entries:
            if c.chance(1, 6):                  # the engine's, or about as many as the container compares itself
                entries = c.number(4, 40)
            lines.append("    const entries = {")
            for _ in range(entries):
                texts = [self.table_key(t, k) for _, t, k in keys]
                action, params = c.pick(self.actions)
                first = f"priority = {c.number(0, 9)}: " if c.chance(1, 4) and any(k in ("ternary", "range") for _, _, k in keys) else ""
                lines.append(f"        {first}{texts[0] if len(texts) == 1 else '(' + ', '.join(texts) + ')'}: {action}({', '.join(self.constant(t) for _, t in params)});")
            lines.append("    }")
        elif entries:
            self.given[f"{module}.{name}"] = [self.given_entry(keys) for _ in range(entries)]
        if c.chance(1, 2):
            action, params = c.pick(self.actions)
            lines.append(f"    default_action = {action}({', '.join(self.constant(t) for _, t in params)});")
        self.actions = every
        return [*lines, *([f"    size = {max(entries, c.number(4, 16))};"] if c.number(0, 7) else []), "}"]

    def near(self, width: int) -> int:
        return self.choose.value(min(width, 3)) if self.choose.chance(1, 2) else self.choose.value(width)

    def table_key(self, ty, kind: str) -> str:
        c = self.choose
        if ty.kind not in ("bit", "int"):
            return self.constant(ty)
        bits = self.near(ty.width)
        value = as_number(ty, bits)
        if kind != "exact" and c.chance(1, 8):
            return "_"
        if kind == "lpm" and c.number(0, 2):
            length = c.number(0, ty.width)
            return f"{as_number(ty, bits >> ty.width - length << ty.width - length)}/{length}"
        if kind == "ternary" and c.number(0, 2):
            return f"{value} &&& {as_number(ty, c.value(ty.width))}"
        if kind == "range" and c.number(0, 2):
            return f"{value}..{c.number(value, most(ty))}"
        return str(value)

    def given_value(self, ty: Ty) -> object:
        """A number as the control plane writes it."""
        c = self.choose
        if ty.kind == "bool":
            return bool(c.number(0, 1))
        if ty.kind == "enum":
            return c.pick(next(e for e in self.enums if e.ty == ty).members)[0]
        if ty == ERROR:
            return self.constant(ty).removeprefix("error.")
        if ty.kind == "int":
            return c.number(-(1 << ty.width - 1), (1 << ty.width - 1) - 1)
        return c.value(ty.width)

    def given_cell(self, cell: Ty | StructInfo) -> object:
        if isinstance(cell, Ty):
            return self.given_value(cell)
        out: dict[str, Any] = {}
        for path, ty in cell.fields:
            *outer, name = path.split(".")
            place = out
            for one in outer:
                place = place.setdefault(one, {})
            place[name] = self.given_value(ty)
        return out

    def given_entry(self, keys: list) -> dict[str, object]:
        c = self.choose
        out: list[object] = []
        for _, ty, kind in keys:
            if ty.kind in ("bool", "enum"):
                out.append(self.given_value(ty))
            else:
                text = self.table_key(ty, kind)
                out.append(int(text) if text.isdigit() else text)
        action, params = c.pick(self.actions)
        args: list[object] = []
        args += [self.given_value(ty) for _, ty in params]
        entry: dict[str, object] = {"key": out, "action": action, "args": args}
        priority = c.number(0, 5) if c.chance(1, 3) else None
        if priority is not None and any(kind in ("ternary", "range") for _, _, kind in keys):
            entry["priority"] = priority
        return entry


def inner_of(ctx: Context, params: list) -> Context:
    """Only the parameters: what is declared in the body comes later."""
    return Context("function", values=[Value(n, t) for n, t in params] or [Value("m.port", bit(16))])
