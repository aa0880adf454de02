"""Random assignments of whole headers, and of varbits."""
from __future__ import annotations

from .base import Context, HeaderInfo
from .wraps import Wraps


class Copies(Wraps):
    in_action: bool                             # in what its caller does not look into: no header becomes invalid there

    def copied(self, ctx: Context) -> str:
        """A header, or a varbit of one, becomes what another one is; "" where there are none."""
        return self.choose.chance(1, 3) and self.copied_varbit(ctx) or self.copied_header(ctx)

    def copied_header(self, ctx: Context) -> str:
        """Where the other one may be invalid, this one is from then on."""
        c = self.choose
        forgets = ctx.place == "processor" and not ctx.looping and not self.in_action
        pairs = [(to, text) for to, info in ctx.headers.items() if ctx.assigns(to) for text, other in ctx.headers.items()
                 if other is info and (text in ctx.valid or forgets)]
        others = [(to, text) for to, text in pairs if to != text]
        if not pairs or not others and c.number(0, 7):
            return ""
        to, text = c.pick(others or pairs)
        if text in ctx.valid:
            ctx.valid.add(to)
        else:
            ctx.valid.discard(to)
        return f"{to} = {text};"

    def copied_varbit(self, ctx: Context) -> str:
        """Mostly with the fields that may say its size: a header whose varbit is of another size is not what it says. What is not known to be
        valid is asked."""
        c = self.choose
        having = [(text, info, name) for text, info in ctx.headers.items() for name in info.varbits]
        pairs = [(to, info, name, text, other, its) for to, info, name in having if ctx.assigns(to) for text, other, its in having
                 if other.varbits[its] <= info.varbits[name] and (to, name) != (text, its)]
        if not pairs:
            return ""
        to, info, name, text, other, its = c.pick(pairs)
        lines = [f"{to}.{name} = {text}.{its};"]
        if info is other and name == its and c.number(0, 2):
            lines[c.number(0, 1):0] = [f"{to}.{f} = {text}.{f};" for f in plain_numbers(info)]
        asked = [one for one in dict.fromkeys((to, text)) if one not in ctx.valid]
        return f"if ({' && '.join(f'{one}.isValid()' for one in asked)}) {{ {' '.join(lines)} }}" if asked else " ".join(lines)


def plain_numbers(info: HeaderInfo) -> list[str]:
    """The fields of a header that may be assigned and may say a varbit's size."""
    return [f.name for f in info.fields if f.ty.kind == "bit" and f.ty.width <= 16 and not f.when and (not f.equation or f.deferred)]
