"""Random sums of 32 bits, made of longer numbers and asked for as such: what would be above the 32 bits is none of them."""
from __future__ import annotations

from .base import BOOL, Context, Value, bit, literal
from .expr import Expressions

LONG = (64, 33, 63, 40, 48, 128)


class Wraps(Expressions):
    def wrapped(self, ctx: Context) -> list[str]:
        """Statements. Which numbers are added is asked first; some are 0, and some take the sum beyond its 32 bits."""
        c = self.choose
        long, wrap, whole = (self.fresh("v") for _ in range(3))
        longer = [v for v in ctx.readable() if v.ty.kind == "bit" and v.ty.width > 32]
        value = c.pick(longer) if longer and c.number(0, 4) else None
        ty = value.ty if value is not None else bit(c.pick(LONG))
        low = c.pick((0, ty.width - 32)) if c.chance(1, 4) else 0
        lines = [f"{ty} {long} = {value.text if value is not None else self.expr(ty, ctx, 2)};", f"bit<32> {wrap} = {long}[{low + 31}:{low}];"]
        for _ in range(c.number(1, 3)):
            operator, condition = c.pick("++-"), self.expr(BOOL, ctx, 2)
            some, other = self.added(), self.added()
            match c.number(0, 3):
                case 0:
                    lines.append(f"if ({condition}) {{ {wrap} = {wrap} {operator} {some}; }}")
                case 1:
                    lines.append(f"if ({condition}) {{ {wrap} = {wrap} {operator} {some}; }} else if ({self.expr(BOOL, ctx, 1)}) "
                                 f"{{ {wrap} = {wrap} + {other}; }} else {{ {wrap} = {wrap} + {self.added()}; }}")
                case _:
                    lines.append(f"{wrap} = {wrap} {operator} ({condition} ? {some} : {other});")
        lines.append(f"bit<64> {whole} = {c.pick((f'32w0 ++ {wrap}', f'((bit<64>) {wrap})', f'(32w0 ++ {wrap}) {self.either()} 64w{c.number(1, 9)}'))};")
        ctx.values += [Value(long, ty, True), Value(wrap, bit(32), True), Value(whole, bit(64), True)]
        places = [v for v in ctx.readable() if v.writable and v.ty.kind == "bit" and v.ty.width > 32 and v.text not in (long, wrap, whole)]
        if places:
            place = c.pick(places)
            lines.append(f"{place.text} = {f'({place.text} * 3) + ' if place.ty.width <= 64 and c.number(0, 2) else ''}"
                         f"{whole if place.ty.width == 64 else f'(({place.ty}) {whole})'};")
        return lines

    def added(self) -> str:
        return literal(bit(32), self.choose.pick((0, 1, 0xffffffff, 0x80000000, self.choose.value(32))))

    def either(self) -> str:
        return self.choose.pick("+*-")
