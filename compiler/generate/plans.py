"""What a program is made for. Most are made for nothing; some ways of lowering need several things at once, which come together by
chance in one program of hundreds."""
from __future__ import annotations

from .base import BOOL, Choose, Context, FieldInfo, HeaderInfo, RegisterInfo, Value, bit
from .header import Headers

LOOKUP = "action data in the packet"            # the chain ends with a lookup whose key and data lie in the packet (lower/straight.py)
AGAIN = "said again"                            # assignments that the deparser repeats (lower/again.py)
GUESS = "guessed"                               # a long codec on the usual way of a parser and a deparser (lower/guess.py)
MEET = "met"                                    # and headers of several shapes in front of it (lower/meeting.py)
SUM = "summed"                                  # a sum over headers of any size, asked for and computed (lower/sums.py)
CIRCLES = "circles"                             # states that lead back to others than themselves (lower/circles.py)
COPY = "copied"                                 # whole headers and varbits are assigned, and emitted (lower/instance.py)
TELL = "told"                                   # every value that is taken or looked at, and its sign, goes into the state
BUILD = "built"                                 # headers that codecs build, of twins mostly, are changed and sent (lower/laid_out.py, lower/twins.py)
WRITE = "written"                               # and these codecs write them, with nothing else in the buffer (lower/twins_written.py)
NEED = "needed"                                 # equations need each other, conditions what is computed or of another header; codecs say some of it
LIE = "sent as it lies"                         # headers stay where they are, and what is computed of them is put in there (lower/in_place.py), or the first
                                                # elements of stacks go (lower/runs.py)
EARLY = "asked early"                           # what is asked of a header's parts is made while they are taken (lower/made_early.py, lower/parted.py)
WAYS = "on some ways"                           # the same, where headers are taken again, and taken and emitted in an `if`
REFUSE = "refused layouts"                      # what a header begins with decides what it has, and is verified (lower/required.py)
PLANS = (LOOKUP, AGAIN, GUESS, SUM, CIRCLES, MEET, COPY, TELL, BUILD, WRITE, NEED, LIE, EARLY, REFUSE, WAYS)
GUESSED, TWINS, MEETINGS = (GUESS, MEET, EARLY, WAYS), (BUILD, WRITE), (MEET, WAYS)


class Plans(Headers):
    """`plan`: what this program is made for, "" for nothing."""

    choose: Choose
    plan = ""
    registers: list[RegisterInfo]

    def choose_plan(self) -> str:
        c = self.choose
        if c.chance(7, 16):
            plan = c.pick((*[plan for plan in PLANS if plan not in (*TWINS, NEED, LIE, EARLY, REFUSE, WAYS)], TELL))  # twice as often: it is what finds most
            if plan in (AGAIN, LOOKUP, CIRCLES, GUESS):
                return plan if c.number(0, 4) else EARLY
            if plan in (COPY, MEET) and not c.number(0, 2):
                return REFUSE if c.number(0, 2) else WAYS
            return plan
        match c.number(0, 9):
            case 9:
                return c.pick(TWINS)            # what meets in these rarely meets in others
            case 8:
                return NEED if c.number(0, 2) else WAYS
            case 7 if c.number(0, 2):
                return LIE
        return ""

    def flat_header(self, name: str, most: int = 6) -> tuple[HeaderInfo, list[str]]:
        """One whose fields are always there, mostly of whole octets."""
        c = self.choose
        info = HeaderInfo(name)
        self.free = []
        lines: list[str] = []
        for _ in range(c.number(2, most)):
            match c.number(0, 5):
                case 4:
                    lines += self.bits(info)
                case 5:
                    lines += self.word(info)
                case _:
                    lines.append(self.add(info, "{ty} {};", bit(8 * c.pick((1, 2, 4, 3, 6, 8, 16)))))
        return info, [f"header {name} {{", *("    " + line for line in lines), "}"]

    def shaped_header(self, name: str) -> tuple[HeaderInfo, list[str]]:
        """One whose first octets say what of it is there: it has usual shapes (lower/shapes.py)."""
        c = self.choose
        info = HeaderInfo(name)
        self.free = []
        enums = [c.pick(self.enums) for _ in range(c.number(1, 2))]
        lines = [self.add(info, "{ty} {};", enum.ty) for enum in enums]
        tags = list(zip(info.fields, enums))
        rest = -sum(enum.ty.width for enum in enums) % 8
        lines += [self.add(info, "{ty} {};", bit(rest))] if rest else []
        lines += [self.plain(info, bit(8))] if c.chance(1, 2) else []
        for tag, enum in tags:
            lines += self.arms(info, tag, enum, bool(c.number(0, 3)))
        return info, [f"header {name} {{", *("    " + line for line in lines), "}"]

    def summing_header(self, name: str) -> tuple[HeaderInfo, list[str]]:
        """One that sums all that follows it."""
        c = self.choose
        info, lines = self.flat_header(name)
        values = [f.name for f in info.fields if f.ty.kind == "bit" and f.ty.width % 16 == 0]
        sum_ = self.fresh("a")
        args = ", ".join([*values[:c.number(0, 2)], "payload"])
        info.payload = info.sums = True
        info.fields.append(FieldInfo(sum_, bit(16), True, deferred=True))
        return info, [*lines[:-1], f"    bit<16> {sum_} = {c.pick(('~', ''))}inet_sum({args}) deferred;", lines[-1]]

    def needing_header(self, name: str, params: list[tuple[HeaderInfo, str]], simple: bool) -> tuple[HeaderInfo, list[str]]:
        """Its equations name each other's fields, whichever comes first, and what is there of it is decided by what they compute, and by the headers
        that it looks at."""
        c = self.choose
        info = HeaderInfo(name, params=params)
        self.free = []
        lines = [self.plain(info, bit(8)) for _ in range(c.number(1, 2))]
        lines += self.bits(info) if c.chance(1, 3) else []
        computed: list[str] = []
        for _ in range(c.number(2, 3)):
            computed.append(self.needing(info, f" = {self.expr(bit(8), self.all_of(info), 2)}", c.chance(1, 3)))
        for line in computed:
            lines.insert(c.number(0, len(lines)), line)
        for _ in range(c.number(1, 3)):
            ctx = self.all_of(info)
            value = c.pick([v for v in ctx.values if v.ty.kind == "bit"])
            if c.chance(1, 6) and not (simple and info.varbits) and 2 <= value.ty.width <= 16:
                note = self.fresh("d")
                info.varbits[note] = 24
                lines.append(f"varbit<24> {note} sized (8 * (bit<16>) {value.text}[1:0]);")
                continue
            at = c.number(0, min(value.ty.width, 8) - 1)
            condition = f"{value.text}[{at}:{at}] == {c.number(0, 1)}"
            if c.chance(1, 3):
                condition = f"{condition} {c.pick(('&&', '||'))} {self.expr(BOOL, ctx, 1)}"
            equation = f" = {self.expr(bit(8), ctx, 1)}" if c.chance(1, 3) else ""
            lines.append(self.needing(info, equation, bool(equation) and c.chance(1, 2), f" when ({condition})"))
        if c.chance(1, 3):                      # nothing that decides its size needs this
            size = f"bit<8> {{}} = (bit<8>) (sizeof(this) {c.pick('+-*')} {c.number(0, 4)});"
            lines.insert(c.number(0, len(lines)), self.add(info, size, bit(8), free=False, equation=True))
        text = ", ".join(f"{h.name} {n}" for h, n in params)
        return info, [f"header {name}{f'({text})' if params else ''} {{", *("    " + line for line in lines), "}"]

    def all_of(self, info: HeaderInfo) -> Context:
        """What an equation or a condition can name: fields that are always there, what is computed, what the header looks at."""
        values = [*self.free, *(Value(f.name, f.ty) for f in info.fields if f.equation and not f.when)]
        return Context("header", values=[*values, *(Value(f"{name}.{f.name}", f.ty) for header, name in info.params for f in header.fields if not f.when)])

    def needing(self, info: HeaderInfo, equation: str, deferred: bool, when: str = "") -> str:
        return self.add(info, f"bit<8> {{}}{equation}{' deferred' if deferred else ''}{when};", bit(8), free=False, equation=bool(equation),
                        deferred=deferred, when=bool(when))

    def odd_header(self, name: str) -> tuple[HeaderInfo, list[str]]:
        """Of parts that may be absent or of any size, one behind the other: what follows lies at an odd place now and then."""
        c = self.choose
        info = HeaderInfo(name)
        self.free = []
        lines = [self.plain(info, bit(8))]
        for _ in range(c.number(1, 4)):
            lines += self.item(info, c.pick((6, 4, 5, 6, 0, 2)), False)
        return info, [f"header {name} {{", *("    " + line for line in lines), "}"]

    def noted_header(self, name: str) -> tuple[HeaderInfo, list[str]]:
        """A short varbit of any size is in it, and perhaps something odd in front or behind: most packets have it."""
        c = self.choose
        info = HeaderInfo(name)
        self.free = []
        width, note = c.pick((2, 3, 1)), self.fresh("d")
        lines = [self.add(info, "{ty} {};", bit(8 - width)), self.add(info, "{ty} {};", bit(width))]
        size = info.fields[-1].name
        odd = [self.plain(info, bit(8)), *(self.item(info, c.pick((4, 5, 0, 2)), False) if c.chance(1, 2) else [])]
        info.varbits[note] = 8 * ((1 << width) - 1)
        lines[2:] = [f"varbit<{info.varbits[note]}> {note} sized (8 * (bit<16>) {size});", *odd] if c.number(0, 2) else \
            [*odd, f"varbit<{info.varbits[note]}> {note} sized (8 * (bit<16>) {size});"]
        return info, [f"header {name} {{", *("    " + line for line in lines), "}"]
