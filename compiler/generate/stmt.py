"""Random statements and functions."""
from __future__ import annotations

from collections.abc import Sequence

from .base import BOOL, ERROR, Context, FunctionInfo, HeaderInfo, RegisterInfo, StructInfo, Ty, Value, bit, literal
from .copies import Copies


class Statements(Copies):
    structs: list[StructInfo]
    counter = 0
    wraps = False                               # whether sums of 32 bits are among the statements

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    # ------------------------------------------------------------ blocks

    def block(self, ctx: Context, length: int, depth: int) -> list[str]:
        """Statements in a scope of their own; what they make invalid is forgotten outside too."""
        inner = ctx.inside()
        out: list[str] = []
        for _ in range(length):
            out += self.statement(inner, depth)
        ctx.valid &= inner.valid
        return out

    def statement(self, ctx: Context, depth: int) -> list[str]:
        c = self.choose
        kind = c.number(0, 19 if ctx.place == "processor" else 15)
        if kind <= 3:
            return self.assignment(ctx)
        if kind <= 5:
            return self.wrapped(ctx) if self.wraps and c.chance(1, 8) else self.declaration(ctx)
        if kind <= 8 and depth > 0:
            return self.branch(ctx, depth)
        if kind == 9 and depth > 0:
            return self.loop(ctx, depth)
        if kind == 10 and depth > 0:
            return self.switch(ctx, depth)
        if kind == 11 and ctx.callable:
            called = self.call_statement(ctx)
            if called:
                return called
        if kind >= 12:
            special = self.special_statement(ctx, depth)
            if special:
                return special
        return self.assignment(ctx)

    def special_statement(self, ctx: Context, depth: int) -> list[str]:
        """What only this kind of module has."""
        return []

    # ------------------------------------------------------------ simple ones

    def declaration(self, ctx: Context) -> list[str]:
        c = self.choose
        name = self.fresh("v")
        if self.structs and c.chance(1, 5):
            struct = c.pick(self.structs)
            giving = [f for f in ctx.callable if f.result is struct]
            text = f"{struct.name} {name};"
            if giving and c.chance(1, 2):
                args = self.arguments(c.pick(giving[:1]), ctx, 2)
                text = f"{struct.name} {name} = {giving[0].name}({', '.join(args)});" if args is not None else text
            elif c.chance(1, 2) and self.is_listed(struct):
                text = f"{struct.name} {name} = {self.list_of(struct, ctx, 2)};"
            ctx.structs.append((name, struct, True))
            return [text]
        ty = ERROR if c.chance(1, 20) else self.scalar(128 if c.chance(1, 6) else 64)
        if c.chance(1, 20) and ty != ERROR:
            name = f"K{name}"                   # as those of the program: no index, which must be inside
            value = self.constant(ty)
            ctx.values.append(Value(name, ty))
            return [f"const {ty} {name} = {value};"]
        init = self.expr(ty, ctx, 3) if c.number(0, 3) else ""
        named = [v for v in ctx.readable() if v.ty.kind == "enum"]
        if named and c.chance(1, 12):           # an enum's value as its bits
            value = c.pick(named)
            ty, init = bit(value.ty.width), value.text
        ctx.values.append(Value(name, ty, True))
        return [f"{ty} {name} = {init};" if init else f"{ty} {name};"]

    def places(self, ctx: Context) -> list[Value]:
        out = [v for v in ctx.readable() if v.writable]
        for text in ctx.headers:
            if text in ctx.valid and ctx.assigns(text):
                out += ctx.headers[text].arms(text)
        return out

    def assignment(self, ctx: Context) -> list[str]:
        c = self.choose
        if ctx.copies and c.chance(1, 8):
            copied = self.copied(ctx)
            if copied:
                return [copied]
        arrays = [r for r in ctx.registers if r.size] if ctx.state else []
        if arrays and c.chance(1, 6):
            register = c.pick(arrays)
            index = self.index(register, ctx, 2)
            if isinstance(register.cell, StructInfo):
                name, ty = c.pick(register.cell.fields)
                return [f"{register.name}[{index}].{name} = {self.expr(ty, ctx, 2)};"]
            return [f"{register.name}[{index}] = {self.expr(register.cell, ctx, 2)};"]
        places = self.places(ctx)
        if not places:
            return self.declaration(ctx)
        place = c.pick(places)
        if place.ty.kind == "bit" and c.chance(1, 16):
            return [f"{place.text} = {c.value(place.ty.width)};"]
        if (ctx.structs or any(isinstance(r.cell, StructInfo) for r in ctx.registers)) and c.chance(1, 6):
            whole = self.whole(ctx)
            if whole:
                return [whole]
        if place.ty.kind == "bit" and place.ty.width > 1 and c.chance(1, 5) and " " not in place.text:
            low = c.number(0, place.ty.width - 1)
            high = c.number(low, place.ty.width - 1)
            return [f"{place.text}[{high}:{low}] = {self.expr(bit(high - low + 1), ctx, 2)};"]
        return [f"{place.text} = {self.expr(place.ty, ctx, 3)};"]

    def whole(self, ctx: Context) -> str:
        """A struct, or a register of one, becomes another."""
        c = self.choose
        cells = [(f"{r.name}[{self.index(r, ctx, 2)}]" if r.size else r.name, r.cell, ctx.state) for r in ctx.registers if isinstance(r.cell, StructInfo)]
        targets = [(name, struct) for name, struct, writable in [*ctx.structs, *cells] if writable]
        if not targets:
            return ""
        name, struct = c.pick(targets)
        sources = [text for text, one, _ in [*ctx.structs, *cells] if one is struct and text != name] + self.makings(struct, ctx, 2)
        if not self.plan:
            sources.append(self.list_of(struct, ctx, 2))
        return f"{name} = {c.pick(sources)};" if sources else ""

    def call_statement(self, ctx: Context) -> list[str]:
        function = self.choose.pick(ctx.callable)
        if function.result is not None and not any(d == "inout" or d == "out" for d, _ in function.params):
            return []
        args = self.arguments(function, ctx, 2)
        return [f"{function.name}({', '.join(args)});"] if args is not None else []

    # ------------------------------------------------------------ branches

    def branch(self, ctx: Context, depth: int) -> list[str]:
        c = self.choose
        guarded = [t for t in ctx.headers if t not in ctx.valid and "." in t]
        if guarded and ctx.place in ("parser", "processor", "deparser", "action", "bare") and c.number(0, 2):
            text = c.pick(guarded)
            inner = ctx.inside()
            inner.valid.add(text)
            body = self.block(inner, c.number(1, 3), depth - 1)
            ctx.valid &= inner.valid | {text}
            return [f"if ({text}.isValid()) {{", *indent(body), "}"]
        deferred = [t for t, info in ctx.headers.items() if info.deferred and t in ctx.valid and all(a in ctx.valid for a in ctx.bound.get(t, ()))]
        asked = deferred and ctx.place == "processor" and c.chance(1, 2)
        condition = f"{c.pick(('', '!'))}{c.pick(deferred)}.holds()" if asked else self.expr(BOOL, ctx, 2)
        then = self.block(ctx, c.number(1, 3), depth - 1)
        if c.chance(1, 2):
            return [f"if ({condition}) {{", *indent(then), "}"]
        return [f"if ({condition}) {{", *indent(then), "} else {", *indent(self.block(ctx, c.number(1, 2), depth - 1)), "}"]

    def loop(self, ctx: Context, depth: int) -> list[str]:
        c = self.choose
        name, low = self.fresh("i"), c.number(0, 2)
        turns, length = c.number(0, 4), c.number(1, 2)
        if not ctx.looping and c.chance(1, 10):             # one that stays a loop
            turns, length, depth = c.pick((65, 70, 100, 200)), 1, 1
        inner = ctx.inside()
        inner.looping = True
        inner.long = ctx.long or turns > 64
        inner.values.append(Value(name, bit(32)))
        stacks = sorted({text.rpartition("[")[0] for text in ctx.headers if text.endswith("]")}) if ctx.place in ("processor", "deparser", "action") else []
        if stacks and not inner.long and c.chance(1, 2):
            return self.elements(ctx, inner, name, c.pick(stacks), depth)
        body = self.block(inner, length, depth - 1)
        return [f"for ({name} in {low}..{low + turns}) {{", *indent(body), "}"]

    def elements(self, ctx: Context, inner: Context, name: str, stack: str, depth: int) -> list[str]:
        """A loop over elements of a stack."""
        c = self.choose
        texts = [text for text in ctx.headers if text.startswith(f"{stack}[")]
        low = c.number(0, len(texts) - 1)
        turns, one = c.number(1, len(texts) - low), f"{stack}[{name}]"
        inner.values[-1] = Value(name, bit(32), below=low + turns)
        inner.headers = {one: ctx.headers[texts[0]]} | {text: header for text, header in ctx.headers.items() if text not in texts}
        inner.valid -= set(texts)
        if all(text in ctx.valid for text in texts[low:low + turns]):
            inner.valid.add(one)
        if one in inner.valid or c.chance(1, 4):
            body = self.block(inner, c.number(1, 2), depth - 1)
        else:
            inner.valid.add(one)
            body = [f"if ({one}.isValid()) {{", *indent(self.block(inner, c.number(1, 3), depth - 1)), "}"]
        if any(f"{one}.setInvalid()" in line for line in body):
            ctx.valid -= set(texts)
        return [f"for ({name} in {low}..{low + turns}) {{", *indent(body), "}"]

    def switch(self, ctx: Context, depth: int) -> list[str]:
        c = self.choose
        enums = [e for e in self.enums] if c.chance(1, 3) else []
        ty = c.pick(enums).ty if enums else bit(self.width(32))
        out = [f"switch ({self.expr(ty, ctx, 2)}) {{"]
        seen: set[int] = set()
        for _ in range(c.number(1, 3)):
            if enums:
                info = next(e for e in self.enums if e.ty == ty)
                member, number = c.pick(info.members)
                label = f"{ty.name}.{member}"
            else:
                number = c.value(min(ty.width, 3)) if c.number(0, 2) else c.value(ty.width)
                label = literal(ty, number)
            if number in seen:
                continue
            seen.add(number)
            if c.chance(1, 5):
                out.append(f"    {label}:")
                continue
            out += [f"    {label}: {{", *indent(indent(self.block(ctx, c.number(1, 2), depth - 1))), "    }"]
        if c.chance(2, 3):
            out += ["    default: {", *indent(indent(self.block(ctx, 1, depth - 1))), "    }"]
        elif out[-1].endswith(":"):
            out[-1] += " { }"
        return [*out, "}"]

    # ------------------------------------------------------------ functions

    def function(self, headers: list[HeaderInfo], functions: list[FunctionInfo], plain: bool = False,
                 registers: Sequence[RegisterInfo] = ()) -> tuple[FunctionInfo, list[str]]:
        """`plain`: descriptions of headers may call it; `registers`: what it may change."""
        c = self.choose
        name = self.fresh("f")
        result: Ty | StructInfo | None = self.scalar(128 if c.chance(1, 6) else 64)
        if not plain and c.chance(1, 5):
            result = None
        elif c.chance(1, 16):
            result = ERROR
        elif self.structs and c.chance(1, 4):
            result = c.pick(self.structs)
        ctx = Context("function", functions=[f for f in functions if f.plain or not plain], result=result, octets=not plain)
        ctx.registers, ctx.state = list(registers), bool(registers)
        params: list[tuple[str, object]] = []
        texts = []
        changing = ctx.assigns_headers = c.chance(1, 3)         # all header parameters alike
        ctx.copies = changing and not plain and c.chance(1, 2)
        for at in range(c.number(1, 3)):
            param = f"p{at}"
            direction = "inout" if not plain and c.chance(1, 4) else ""
            if headers and c.chance(1, 4):
                header = c.pick(headers)
                ctx.headers[param] = header
                ctx.valid.add(param)
                what: object = header
                direction = "inout" if changing else ""
                texts.append(f"{direction} {header.name} {param}".strip())
            elif self.structs and c.chance(1, 4):
                what = c.pick(self.structs)
                ctx.structs.append((param, what, direction == "inout"))     # type: ignore[arg-type]
                texts.append(f"{direction} {what.name} {param}".strip())    # type: ignore[attr-defined]
            else:
                what = self.scalar(128 if c.chance(1, 6) else 64) if c.number(0, 15) else ERROR
                if direction and c.chance(1, 3):
                    direction = "out"
                ctx.values.append(Value(param, what, bool(direction)))      # type: ignore[arg-type]
                texts.append(f"{direction} {what} {param}".strip())
            params.append((direction, what))
        body: list[str] = []
        for _ in range(c.number(0, 3)):
            body += self.statement(ctx, 2)
        if isinstance(result, StructInfo):
            made = self.fresh("r")
            body.append(f"{result.name} {made};")
            ctx.structs.append((made, result, True))
            body += [f"{made}.{n} = {self.expr(t, ctx, 2)};" for n, t in result.fields if c.number(0, 3)]
            body.append(f"return {made};")
        elif result is not None:
            if c.chance(1, 3):
                body.append(f"if ({self.expr(BOOL, ctx, 2)}) {{ return {self.expr(result, ctx, 2)}; }}")
            body.append(f"return {self.expr(result, ctx, 3)};")
        elif c.chance(1, 3) and body:
            body.insert(c.number(0, 0), f"if ({self.expr(BOOL, Context('function', values=[v for v in ctx.values if v.text.startswith('p')]), 1)}) {{ return; }}")
        kind = "void" if result is None else result.name if isinstance(result, StructInfo) else str(result)
        text = [f"function {kind} {name}({', '.join(texts)}) {{", *indent(body), "}"]
        return FunctionInfo(name, result, tuple(params), plain, ctx.state, ctx.copies), text


def indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
