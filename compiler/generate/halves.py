"""Random functions that make a struct, and say of one half of it what they say of the other, of another field of a header (compiler/lower/of_turn.py).

Where a loop is made of both halves only one is asked for, unless there is more to it: what is said of both halves, a struct that begins as
something, or a header that is given on to another function.
"""
from __future__ import annotations

import re

from .base import BOOL, Context, HeaderInfo, StructInfo, Ty, literal, zero
from .plans import Plans, WRITE

NAME = re.compile(r'\w*"[^"]*"|\w+')


class Halves(Plans):
    def half_and_half(self, lines: list[str], struct: StructInfo, names: list[str], link: HeaderInfo) -> list[str]:
        """The function that `lines` are, as one of two halves, or nearly; behind the functions that it calls."""
        c = self.choose
        ctx = Context("function", headers={"p0": link}, valid={"p0"})
        made, ty = lines[1].split()[-1].rstrip(";"), struct.fields[2][1]
        plain = [f.name for f in link.fields if f.ty.kind == "bit"]
        before: list[str] = []
        match c.number(0, 4) if self.plan == WRITE and plain else 0:
            case 3:                             # what is not said of a half is what it begins as
                lines = [*lines[:2], *(f"    if ({self.expr(BOOL, ctx, 1)}) {{ {line.strip()} }}" for line in lines[2:6]), *lines[6:]]
                return begun(halved(lines, struct, names, link), struct, ", ".join(self.expr(one, ctx, 1) for _, one in struct.fields))
            case 4:
                both = self.fresh("f")
                before = [f"function {ty} {both}({link.name} p0) {{", f"    return {' ^ '.join(cast(ty, link, name) for name in plain)};", "}"]
                lines = [*lines[:4], f"    {made}.{names[2]} = {both}(p0) {c.pick('^|&')} {cast(ty, link, c.pick(plain))};", *lines[5:]]
        return [*before, *halved(lines, struct, names, link)]


def cast(ty: Ty, link: HeaderInfo, name: str) -> str:
    """A field as a number of the type."""
    width = next(f.ty.width for f in link.fields if f.name == name)
    return f"p0.{name}" if width == ty.width else f"(({ty}) p0.{name})" if width < ty.width else f"p0.{name}[{ty.width - 1}:0]"


def begun(lines: list[str], struct: StructInfo, members: str) -> list[str]:
    """The same with a struct that begins as these."""
    made = lines[1].split()[-1].rstrip(";")
    return [lines[0], f"    {struct.name} {made} = {{{members}}};", *lines[2:]]


def halved(lines: list[str], struct: StructInfo, names: list[str], link: HeaderInfo) -> list[str]:
    """A function that makes a struct, and says of its second and fourth members what it says of the first and the third, of another field of the header."""
    pairs = [(f.name, g.name) for at, f in enumerate(link.fields) for g in link.fields[at + 1:] if f.ty == g.ty]
    called = {names[0]: names[1], names[2]: names[3], **dict(pairs[:1])}
    made = lines[1].split()[-1].rstrip(";")
    types = dict(struct.fields)

    def said(m: re.Match) -> str:
        """It reads none of them, or it would be no half; and divides by none that is 0."""
        return f"{m[1]}({literal(types[m[2]], 1)})" if m[1] else f"({zero(types[m[2]])})"
    first, _, third, _, *more = (re.sub(rf"([/%] )?\b{made}\.(\w+)\b(?! = )", said, line) for line in lines[2:-2])
    second, fourth = (NAME.sub(lambda m: called.get(m[0], m[0]), line) for line in (first, third))
    return [*lines[:2], first, second, third, fourth, *more, *lines[-2:]]
