"""Random modules that others apply, timing blocks, and the bindings of a protocol."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import BOOL, Context, HeaderInfo, InstanceInfo, RegisterInfo, StructInfo, Ty, Value, bit
from .stmt import indent
from .turns import Turns


@dataclass(frozen=True)
class PartInfo:
    """A module that others apply. A parameter is (direction, what), as a function's; `first`: what comes before them."""

    name: str
    first: str
    params: tuple[tuple[str, Any], ...]


class Parts(Turns):
    instances: list[InstanceInfo]
    parsers: list[PartInfo]
    processors: list[PartInfo]

    # ------------------------------------------------------------ parsers

    def sub_parser(self, at: int) -> list[str]:
        """Takes one header, that of its parameter, and perhaps one of its own."""
        c = self.choose
        fit = [i.header for i in self.instances if not i.args]
        if not fit:
            return []
        stacks = [i for i in self.instances if i.size]
        if stacks and c.chance(1, 2):
            return self.sub_parser_of_stack(at, c.pick(stacks))
        header = c.pick(fit)
        name, params, texts = f"Sub{at}", [("out", header)], ["packet pkt", f"out {header.name} x"]
        ctx = Context("parser", registers=list(self.registers), functions=list(self.functions), octets=True, lookahead=True)
        ctx.payload = ctx.assigns_headers = True
        for n in range(c.number(0, 2)):
            ty, direction = self.scalar(64), c.pick(("", "inout", "out"))
            params.append((direction, ty))
            texts.append(f"{direction} {ty} p{n}".strip())
            ctx.values.append(Value(f"p{n}", ty, bool(direction)))
        lines: list[str] = []
        self.inout_locals(ctx, lines)                           # type: ignore[attr-defined]
        body: list[str] = []
        inner = ctx.inside()
        for _ in range(c.number(0, 1)):
            body += self.statement(inner, 1)
        inner.headers["x"] = header
        body.append(self.extract("x", header, inner))           # type: ignore[attr-defined]
        inner.valid.add("x")
        for _ in range(c.number(0, 2)):
            body += self.statement(inner, 1)
        if c.chance(1, 3):
            more, taken = self.fresh("y"), f"pkt.advance({8 * c.number(0, 2)});"
            lines += ["state start {", *indent(body), f"    transition select({self.expr(BOOL, inner, 2)}) {{ true: {more}; default: accept; }}", "}",
                      f"state {more} max {c.number(1, 3)} {{", f"    {taken}", *indent(self.block(ctx, 1, 1)),
                      f"    transition select({self.expr(BOOL, ctx, 2)}) {{ true: {more}; default: {c.pick(('accept', 'reject'))}; }}", "}"]
        else:
            lines += ["state start {", *indent(body), "    transition accept;", "}"]
        self.parsers.append(PartInfo(name, "pkt, ", tuple(params)))
        return [f"parser {name}({', '.join(texts)}) {{", *indent(lines), "}"]

    def sub_parser_of_stack(self, at: int, one: InstanceInfo) -> list[str]:
        """Takes some elements of a stack, as many as its argument says."""
        c = self.choose
        ctx = Context("parser", registers=list(self.registers), functions=list(self.functions), octets=True, lookahead=True, payload=True)
        ctx.values += [Value("p0", bit(8)), Value("p1", bit(16), True), Value("left", bit(8), True)]
        lines: list[str] = ["bit<8> left;"]
        self.inout_locals(ctx, lines)                           # type: ignore[attr-defined]
        take = self.extract("list.next", one.header, ctx)       # type: ignore[attr-defined]
        ctx.headers["list.last"], ctx.assigns_headers = one.header, False
        ctx.valid.add("list.last")
        more = [line for _ in range(c.number(0, 2)) for line in self.assignment(ctx)]
        lines += ["state start {", f"    left = p0{c.pick(('[1:0] ++ 6w0', ' & 3', ''))};".replace("p0[1:0] ++ 6w0", "6w0 ++ p0[1:0]"), "    transition next;", "}",
                  f"state next max {c.number(1, one.size + 2)} {{ transition select(left) {{ 0: accept; default: take; }} }}",
                  "state take {", f"    {take}", *indent(more), "    left = left - 1;", "    transition next;", "}"]
        what = f"{one.header.name}[{one.size}]"
        self.stack_parsers.append((f"Sub{at}", one.header, one.size))       # type: ignore[attr-defined]
        return [f"parser Sub{at}(packet pkt, out {what} list, bit<8> p0, inout bit<16> p1) {{", *indent(lines), "}"]

    def apply_parser(self, ctx: Context) -> list[str]:
        """A statement of a state; the header that the part takes is valid behind it."""
        c = self.choose
        places = [v.text for v in ctx.values if v.ty == bit(16) and v.writable]
        if self.stack_parsers and places and (not self.parsers or c.chance(1, 2)):     # type: ignore[attr-defined]
            name, header, size = c.pick(self.stack_parsers)     # type: ignore[attr-defined]
            fit = [i for i in self.instances if i.header is header and i.size == size]
            return [f"{name}.apply(pkt, h.{c.pick(fit).name}, {self.expr(bit(8), ctx, 2)}, {c.pick(places)});"]
        if not self.parsers:
            return []
        part = c.pick(self.parsers)
        fit = [i for i in self.instances if i.header is part.params[0][1] and not i.size and not i.args]
        args = self.arguments(PartInfo("", "", part.params[1:]), ctx, 2)
        if not fit or args is None:
            return []
        text = f"h.{c.pick(fit).name}"
        line = f"{part.name}.apply({', '.join(['pkt', text, *args])});"
        if c.chance(1, 3):
            return [f"if ({self.expr(BOOL, ctx, 2)}) {{", f"    {line}", "}"]
        ctx.valid.add(text)
        return [line]

    # ------------------------------------------------------------ processors

    def sub_processor(self, at: int) -> list[str]:
        c = self.choose
        if c.chance(1, 4):
            return self.sub_processor_of_all(at)
        name, params, texts = f"Part{at}", [], ["inout meta m"]
        ctx = Context("processor", registers=list(self.registers), functions=list(self.functions), octets=True, payload=True, state=True)
        self.meta_values(ctx)
        for n in range(c.number(1, 3)):
            direction, kind = c.pick(("", "inout")), c.number(0, 3)
            if kind == 0 and self.instances:
                what: HeaderInfo | StructInfo | Ty = c.pick(self.instances).header
                if what.params:
                    continue
                ctx.headers[f"p{n}"], ctx.assigns_headers = what, False
                ctx.valid.add(f"p{n}")
                direction = "in"
            elif kind == 1 and self.structs:
                what = c.pick(self.structs)
                ctx.structs.append((f"p{n}", what, direction == "inout"))
            else:
                what = self.scalar(64)
                ctx.values.append(Value(f"p{n}", what, direction == "inout"))
            params.append((direction, what))
            texts.append(f"{direction} {what.name if isinstance(what, (HeaderInfo, StructInfo)) else what} p{n}".strip())
        lines, body = [], []
        own: list[RegisterInfo] = []
        if c.chance(1, 2):
            lines.append(self.register(own, "r"))               # type: ignore[attr-defined]
            ctx.registers += own
        self.counters = []
        if c.chance(1, 2):
            self.counters = [(self.fresh("n"), 0)]
            lines.append(f"counter<{bit(self.width(64))}> {self.counters[0][0]};")
        self.actions, self.applied, self.meters, self.buffers, self.in_action = [], [], [], [], True
        for _ in range(c.number(1, 3)):
            body += self.statement(ctx, 1)
        self.in_action = False
        self.processors.append(PartInfo(name, "m, ", tuple(params)))
        return [f"processor {name}({', '.join(texts)}) {{", *indent([*lines, "apply {", *indent(body), "}"]), "}"]

    def sub_processor_of_all(self, at: int) -> list[str]:
        """One that is given all headers, with actions and tables of its own."""
        lines = self.processor(f"Part{at}", at, inner=True)     # type: ignore[attr-defined]
        self.processors.append(PartInfo(f"Part{at}", "h, m, ", ()))
        return lines

    # ------------------------------------------------------------ time

    def migrate(self) -> list[str]:
        """What the second version of a program has besides: a register of its own, and mostly a block that fills registers from
        those of the first one."""
        fresh = RegisterInfo(self.fresh("R"), self.scalar(64))
        lines = [f"register<{fresh.cell}> {fresh.name};"]
        return lines + (self.migration(fresh, self.kept) if self.choose.chance(3, 4) else [])       # type: ignore[attr-defined]

    def migration(self, fresh: RegisterInfo, kept: list[RegisterInfo]) -> list[str]:
        """Fills `fresh`, and perhaps other registers, from those that were kept."""
        c, old = self.choose, []
        ctx = Context("migrate", registers=[*self.registers, fresh], state=True)
        for r in kept:
            cell = r.cell if isinstance(r.cell, Ty) else r.cell.name
            old.append(f"register<{cell}>{f'[{r.size}]' if r.size else ''} {r.name};")
            base = f"old.{r.name}" + (f"[{c.number(0, r.size - 1)}]" if r.size else "")
            ctx.values += [Value(base, r.cell)] if isinstance(r.cell, Ty) else r.cell.values(base, False)
        body = [f"{fresh.name} = {self.expr(fresh.cell, ctx, 2)};"]
        for _ in range(c.number(0, 3)):
            body += self.assignment(ctx)
        return ["migrate version 1 {", *indent([*old, *body]), "}"]

    def migrating(self, text: list[str]) -> list[str]:
        """The program's lines, where some processors have a register more, which their own block fills."""
        out = list(text)
        for name, kept in self.persists.items():                # type: ignore[attr-defined]
            if self.choose.chance(2, 3):
                fresh = RegisterInfo(self.fresh("r"), self.scalar(64))
                at = next(at for at, line in enumerate(out) if line.startswith(f"processor {name}("))
                out[at + 1:at + 1] = indent([f"register<{fresh.cell}> {fresh.name};", *self.migration(fresh, kept)])
        return out

    def timing(self, others: list[str]) -> list[str]:
        """A block of handlers that share its registers. `others`: lines of the modules, of which a budget asks something, too."""
        c = self.choose
        lines: list[str] = []
        own: list[RegisterInfo] = []
        for _ in range(c.number(1, 2)):
            lines.append(self.register(own, "w"))               # type: ignore[attr-defined]
        self.counters = [(self.fresh("n"), c.pick((0, 4)))]
        lines.append(f"counter<bit<16>>{f'[{self.counters[0][1]}]' if self.counters[0][1] else ''} {self.counters[0][0]};")
        self.actions, self.applied, self.meters, self.buffers = [], [], [], []
        caught = self.interrupts(lines)
        for _ in range(c.number(1, 3)):
            ctx = Context("timing", registers=[*self.registers, *own], functions=list(self.functions), state=True)
            ctx.values += [Value(name, bit(32)) for name in caught]
            match c.number(0, 3):
                case 0:
                    head = f"every {c.number(1, 200)} ms"
                case 1:
                    head = f"slot {c.number(0, 3)} of {c.number(4, 10)}"
                case 2:
                    head = "on radio.rx_done(frame)"
                    ctx.values += [Value("frame.time", bit(32)), Value("frame.rssi", bit(8)), Value("frame.lqi", bit(8)), Value("frame.length", bit(16))]
                case _:
                    head = "on radio.tx_done(result)"
                    ctx.values.append(Value("result", bit(8)))
            if not head.startswith("every") and any(line.startswith(head.split("(")[0] if head.startswith("on") else "slot ") for line in lines):
                continue                        # an event, a slot, is handled once
            body = self.handler(ctx, 2)
            if self.sends and not head.startswith("on") and c.chance(1, 2):
                body += self.beacon()
            if head.startswith("every") and c.chance(1, 3):
                head += f" jitter {c.number(1, 900)} us"
            lines += [f"{head} {{", *indent(body), "}"]
        if c.chance(1, 3) and not any("radio." in line for line in lines) and not any("radio.on(" in line for line in others):
            # else each handler would need a deadline, and no event may turn it on
            lines.append("energy { radio.on <= 100 %; }")
        return ["timing Clock {", *indent(lines), "}"]

    def interrupts(self, lines: list[str]) -> list[str]:
        """Handlers in the interrupt; the registers that they alone write."""
        c = self.choose
        caught: list[str] = []
        for head, value in (("on radio.rx_start(frame)", "frame.time"), ("on radio.tx_start", "8w1 ++ 24w0"), ("on radio.ack_timeout", "node.clock")):
            if c.chance(1, 5):
                name = self.fresh("i")
                caught.append(name)
                ctx = Context("bare", values=[Value(name, bit(32)), *([Value(value, bit(32))] if "." in value else [])])
                lines.insert(0, f"register<bit<32>> {name};")
                lines += [f"{head} {{", f"    if ({self.expr(BOOL, ctx, 1)}) {{ {name} = {value}; }} else {{ {name} = {name} + 1; }}", "}"]
        return caught

    def beacon(self) -> list[str]:
        """A packet that a handler makes and sends."""
        c = self.choose
        fit = [i for i in self.instances if not i.size and not i.args]
        if not fit:
            return []
        one = c.pick(fit)
        ctx = Context("bare", values=[Value("node.short", bit(16)), Value("node.clock", bit(32))], assigns_headers=True)
        ctx.headers[f"h.{one.name}"] = one.header
        ctx.valid.add(f"h.{one.name}")
        body = [line for _ in range(c.number(1, 2)) for line in self.assignment(ctx)]
        return ["headers h;", f"h.{one.name}.setValid();", *body, f"{c.pick(('radio', 'net'))}.send(Tx(h));"]

    def handler(self, ctx: Context, depth: int) -> list[str]:
        c = self.choose
        body: list[str] = []
        for _ in range(c.number(1, 3)):
            body += self.statement(ctx, depth)
        if depth and c.chance(1, 3):
            inner = Context("timing", registers=list(ctx.registers), functions=list(ctx.functions), state=True)
            body += [f"after {self.delay(ctx)} {{", *indent(self.handler(inner, 0)), "}"]
        return body

    def delay(self, ctx: Context) -> str:
        """A constant, or what a run computes, with and without a bound."""
        c = self.choose
        if not c.chance(1, 2):
            return f"{c.number(1, 900)} us"
        most = f" max {c.number(1, 900)} us" if c.chance(2, 3) else ""
        return f"({self.expr(bit(32), ctx, 1)} ^ node.clock) % {c.number(2, 2000)}{most}"

    def radio(self, ctx: Context) -> list[str]:
        """What only processors and handlers do."""
        c = self.choose
        match c.number(0, 4):
            case 0:
                return [f"radio.{c.pick(('on', 'off'))}();"]
            case 1:
                return [f"radio.channel({self.expr(bit(8), ctx, 1)});"]
            case 2:
                return [f"if (radio.cca() == {c.pick(('CLEAR', 'BUSY'))}) {{", *indent(self.block(ctx, 1, 0)), "}"]
        if not self.sends or not any(text.startswith("h.") for text in ctx.headers):
            return [f"radio.power({self.expr(Ty('int', 8), ctx, 1)});"]
        part = f", {self.expr(bit(16), ctx, 1)}, {self.expr(bit(16), ctx, 1)}" if c.chance(1, 3) else ""
        call = f"{c.pick(('radio', 'net'))}.send(Tx(h){part})"
        if call.startswith("radio") and c.chance(1, 3):
            return [f"if ({call} == {c.pick(('OK', 'BUSY'))}) {{", *indent(self.block(ctx, 1, 0)), "}"]
        return [f"{call};"]

    # ------------------------------------------------------------ bindings

    def bindings(self, chain: list[str], timed: bool) -> list[str]:
        """The protocol's lines: the chain, and perhaps a second one of some of its modules."""
        c = self.choose
        within = f" within {c.number(1, 9)} s" if c.chance(1, 8) else ""
        lines = [f"on radio.rx_done : {' -> '.join(chain)}{within};"]
        plain = [name for name in chain[1:] if not any(b.startswith(name + ".") for b in self.completing)]    # type: ignore[attr-defined]
        for one in self.completing:                             # type: ignore[attr-defined]
            lines.append(f"on {one}.complete : {' -> '.join([chain[0], *plain])};")
        if not self.lossless and not self.completing and c.chance(1, 5):    # type: ignore[attr-defined]
            some = [name for name in chain[1:] if c.chance(1, 2)]
            lines.append(f"on {c.pick(('net.rx', 'net.tx(7)', 'app.tx(2)', 'net.rx(41, 6)', 'app.tx'))} : {' -> '.join([chain[0], *some])};")
        if self.lost:                           # type: ignore[attr-defined]
            lines.append(f"on {c.pick(('radio.tx_done', 'radio.tx_done(NOACK)', 'radio.tx_done(OK)'))} : Lost;")
        return lines + ["timing : Clock;"] * timed
