"""Random programs that go several ways where guesses meet (compiler/lower/guess.py, compiler/lower/meeting.py).

They begin like those in which guesses meet at a codec. What is taken or emitted behind it stands in an `if` at times, with something else on the other way,
and a state that some packets come through takes a header of the packet again. In others a header is taken twice of every packet, in front of the codec, too:
of these one shape is guessed.
"""
from __future__ import annotations

from .base import BOOL, Context, InstanceInfo
from .meeting import Meetings, Taken
from .plans import WAYS
from .stmt import indent


class Ways(Meetings):
    twice = False                               # a header is taken again of every packet

    def taken_by_some(self) -> list[InstanceInfo]:
        shaped = [i for i in self.instances if i.header.choices and not i.header.params] if self.plan == WAYS else []
        return super().taken_by_some() + shaped

    def in_order(self) -> list[Taken]:
        taken = super().in_order()
        if self.plan != WAYS:
            return taken
        c = self.choose
        self.twice = c.chance(1, 3)
        again = [one for one in taken if isinstance(one, InstanceInfo) and not one.size]
        for _ in range(c.number(1, 2) if self.twice and again else 0):
            taken.insert(c.number(1, len(taken)), c.pick([one for one in again if not one.header.codec] or again))
        return taken

    def parts_here(self, ctx: Context) -> bool:
        """Whether ways may part: what branches in front of the codec leaves nothing to meet there."""
        return any(f"h.{i.name}" in ctx.valid for i in self.instances if i.header.codec or self.twice)

    def take(self, one: Taken, ctx: Context, later: Context, locals_: list[str]) -> list[str]:
        """On some ways only, where something was taken before; on the others something else."""
        c = self.choose
        if self.plan != WAYS or not self.parts_here(ctx) or not c.chance(1, 2):
            return super().take(one, ctx, later, locals_)
        condition, before, there = self.some_ways(ctx), set(ctx.valid), ctx.inside()
        then = super().take(one, there, later, locals_)
        if not then:
            return []
        then += self.assignment(there) if c.chance(1, 6) else []
        others = [i if self.twice else i.header for i in self.instances if not i.size and i is not one and not i.header.params]
        other = ctx.inside()
        otherwise = super().take(c.pick(others), other, later, locals_) if others and c.chance(1, 2) else []
        ctx.headers.update(there.headers)
        ctx.valid = there.valid & other.valid | before
        return [f"if ({condition}) {{", *indent(then), *(["} else {", *indent(otherwise)] if otherwise else []), "}"]

    def some_ways(self, ctx: Context) -> str:
        """What decides: a bit of a field mostly."""
        c = self.choose
        bits = [v for v in ctx.readable() if v.ty.kind == "bit" and " " not in v.text and not v.text.startswith("K")]
        if not bits or c.chance(1, 4):
            return self.expr(BOOL, ctx, 2)
        value = c.pick(bits)
        at = c.number(0, min(value.ty.width, 8) - 1)
        return f"{value.text}[{at}:{at}] == {c.number(0, 1)}"

    def ways_deparser(self) -> list[str]:
        """A header of shapes and a codec straight on, if there are any, then the others, some on some ways, and some once more."""
        c = self.choose
        self.module = "deparser"
        ctx = self.context("deparser")                          # type: ignore[attr-defined]
        lines: list[str] = []
        self.inout_locals(ctx, lines)
        if any(i.header.payload for i in self.instances):       # whose order is the struct's
            order = list(self.instances)
        else:
            front = [i for i in self.instances if i.header.choices and not i.size][:1] + [i for i in self.instances if i.header.codec][:1]
            rest = [i for i in self.instances if i not in front]
            rest += [c.pick(front) for _ in range(c.number(1, 2) if front and c.chance(1, 3) else 0)]
            order = [*front, *sorted(rest, key=lambda _: c.number(0, 9))]
        straight = 0 if c.chance(1, 4) else 2   # what is guessed of several shapes comes to the codec on every way
        while order:
            together = order[:c.number(1, 2)]
            del order[:len(together)]
            emits = [f"pkt.emit(h.{i.name}{self.via(i.header, ctx)});" for i in together]
            straight -= len(together)
            if straight < 0 and c.chance(1, 2):
                other = [f"pkt.emit(h.{i.name}{self.via(i.header, ctx)});" for i in together[:1] + together[:0:-1] if c.chance(1, 2) and not i.size]
                emits = [f"if ({self.some_ways(ctx)}) {{", *indent(emits), *(["} else {", *indent(other)] if other else []), "}"]
            lines += emits
        return ["deparser Tx(packet pkt, in headers h) {", *indent(lines), "}"]
