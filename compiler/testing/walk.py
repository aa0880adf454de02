"""Packets drawn by walking the program's own parser.

The parser runs on a packet that is not there yet. Where it extracts a header, one is drawn; at a `select`, the case to take. If
what has been drawn leads elsewhere, the header that decides is drawn again with the wish that it lead there; `verify` is
wished for in the same way. In the end lengths and checksums get the values that their equations give. So every draw has a
meaning, and a packet shrinks to a packet.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from lpn.compiler.generate.followed import LONGEST
from lpn.compiler.generate.looked_for import Interest
from lpn.compiler.generate.packets import write
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.reference.codecs import Expand
from lpn.lang.reference.headers import Instance
from lpn.lang.reference.modules import run_module
from lpn.lang.reference.run import Run
from lpn.lang.reference.scope import Scope
from lpn.lang.reference.state import State
from lpn.lang.reference.values import NotSupported, Rejected, unsigned, width_of

from .encodings import compressed
from .headers import fill
from .numbers import Draw, numbers, one_of, payloads
from .steer import Again, LenientInstance, LenientRun, Mended, WalkingRun

ATTEMPTS = 60                                   # of one packet
TURNS = 8                                       # of them, those that take another case where a packet was refused
MISSES = 4                                      # of one wish; more where it only says what to draw again


@dataclass
class Drawn:
    """A packet. `fields`: where values lie in it, as (name, first bit, bits). `accepted`: the walk came to its end."""

    data: bytes
    fields: list[tuple[str, int, int]] = field(default_factory=list)
    accepted: bool = False


class Walker:
    """One packet being drawn. `data`: the octets so far; `drawn`: where headers begin in them."""

    def __init__(self, draw: Draw, subject: "Subject", state: State, meta: Mapping[str, int]) -> None:
        self.draw, self.subject, self.state, self.meta = draw, subject, state, meta
        self.assigned = subject.assigned
        self.data = b""
        self.drawn: set[int] = set()
        self.followed: set[int] = set()         # where an octet lies that gives what was wished for to the encoding in front of it
        self.wishes: dict[tuple[int, object], int] = {}
        self.decisions: dict[int, ast.SelectCase | None] = {}
        self.misses: dict[object, int] = {}
        self.rows: list[ast.Row] = []           # of the encoding that was drawn last
        self.barred: set[ast.Row] = set()
        self.end: int | None = None             # the packet's length, if somebody has asked for it
        self.visits: dict[int, tuple[int, list[ast.SelectCase]]] = {}       # of selects: where, and the cases that are left to try

    def packet(self) -> Drawn:
        program, parser = self.subject.program, self.subject.parser
        accepted, end, turns = False, 0, 0
        for _ in range(ATTEMPTS):
            run = WalkingRun(self, program, self.subject.derived, b"", dict(self.meta), self.state)
            try:
                run.walk(parser)
                accepted, end = True, run.packet.payload
                break
            except Again as again:
                self.back_to(again.start)
                self.wishes.update(again.wishes)
            except Mended as mended:
                self.mend(mended)
            except Rejected:
                turns += 1
                if turns > TURNS or not self.turn():
                    break
        if accepted:
            missing = 0 if self.end is None else self.end - len(self.data)
            if missing > 0:
                self.data += self.draw(st.binary(min_size=missing, max_size=missing))
            elif self.end is None and len(self.data) == end:
                self.data += self.draw(self.subject.payloads)
        hold = self.draw(st.integers(0, 9)) < 9         # checksums are right, mostly
        return self.finished(accepted, hold)

    def back_to(self, start: int) -> None:
        """Forgets what was drawn from there on; what was looked at ahead stays, if it is all that is there."""
        self.drawn = {at for at in self.drawn if at < start}
        self.followed = {at for at in self.followed if at <= start}
        self.wishes = {key: value for key, value in self.wishes.items() if key[0] <= start}
        self.data = self.data[:start + (start in self.followed)]

    def mend(self, mended: Mended) -> None:
        """Gives fields other values where they lie, and when their header is drawn again."""
        frame = bytearray(self.data)
        for origin, value in mended.values.items():
            if origin.taken is None or origin.located is None:
                self.end = value
                continue
            item = origin.located.field
            write(frame, origin.taken, origin.located, unsigned(value, width_of(item.type)))
            self.wishes[origin.start, item] = value
        self.data = bytes(frame)
        if mended.cut < len(frame):
            self.back_to(mended.cut)
        self.data = self.data[:self.end]

    def turn(self) -> bool:
        """Takes another case of the last select that has one left; False if none has."""
        for visit in sorted(self.visits, reverse=True):
            start, left = self.visits[visit]
            if left and visit in self.decisions:
                case = self.draw(one_of(tuple(left)))
                left.remove(case)
                self.decisions = {at: taken for at, taken in self.decisions.items() if at < visit} | {visit: case}
                self.visits = {at: found for at, found in self.visits.items() if at <= visit}
                self.misses = {what: count for what, count in self.misses.items() if what[0] != "select" or what[1] < visit}     # type: ignore[index]
                self.back_to(start)
                return True
        return False

    def missed(self, what: tuple) -> bool:
        """Whether it is worth another try."""
        self.misses[what] = self.misses.get(what, 0) + 1
        return self.misses[what] <= (MISSES if what[0] == "select" else 3 * MISSES)

    def bar(self) -> None:
        """No more of the rows with conditions that the last encoding has."""
        self.barred |= {row for row in self.rows if any(isinstance(item, ast.RowWhere) for item in row.items)}

    # ------------------------------------------------------------ what is drawn

    def header(self, start: int, instance: Instance, codec: ast.Codec | None, args: list[object]) -> None:
        begins = self.data[start:]
        wishes = {key[1]: value for key, value in self.wishes.items() if key[0] == start}
        if codec is not None:
            encoding = compressed(self.draw, codec, {}, self.subject.wanted, wishes, begins, self.barred)
            self.rows = encoding.rows
            self.drawn.add(start)
            self.data = self.data[:start] + self.sized(start, encoding.data, instance, codec, args)
            if follows := self.follow(codec, wishes):
                self.followed.add(len(self.data))
                self.data += follows
            return
        computed = frozenset(each for each in instance.header.fields() if each.equation is not None and not each.deferred)
        scratch = Instance(instance.run, instance.header, instance.decl, instance.name, instance.args, computed)
        fixed = {decl.name: value for decl, value in wishes.items() if isinstance(decl, ast.Field)}
        fill(self.draw, scratch, fixed, self.subject.wanted)
        for decl, value in wishes.items():
            if isinstance(decl, ast.ChoiceArm) and decl.choice in scratch.arms:
                scratch.arms[decl.choice] = (decl, value)
        content = scratch.emit()
        self.drawn.add(start)
        content = begins + content[len(begins):]
        self.data = self.data[:start] + (self.sized(start, content, instance, None, []) if begins else content)

    def sized(self, start: int, data: bytes, instance: Instance, codec: ast.Codec | None, args: list[object]) -> bytes:
        """A header or an encoding with as many octets as its own fields say."""
        run = LenientRun(self.subject.program, self.subject.derived, self.data[:start] + data + bytes(LONGEST), dict(self.meta), self.state)
        run.packet.payload = start
        scratch = LenientInstance(run, instance.header, instance.decl, instance.name, instance.args)
        try:
            if codec is None:
                scratch.extract(run.packet)
            else:
                Expand(run, codec, list(args), scratch).expand()
        except Rejected:
            return data
        size = run.packet.payload - start
        missing = size - len(data)
        return data[:size] if missing <= 0 else data + self.draw(st.binary(min_size=missing, max_size=missing))

    def follow(self, codec: ast.Codec, wishes: Mapping[object, int]) -> bytes:
        """An octet behind an encoding that looks at what follows it: one that something can begin with, or that gives what is
        wished for."""
        for item in self.subject.looking(codec):
            decl = getattr(item.target, "decl", None)
            if decl in wishes:
                fitting = self.subject.followers(item, wishes[decl])
                if fitting:
                    return bytes([self.draw(one_of(tuple(fitting)))])
        return b""

    def octets(self, count: int) -> bytes:
        """Octets that are read before it is known what they are."""
        first = self.draw(self.subject.first)
        return bytes([first]) + (self.draw(st.binary(min_size=count - 1, max_size=count - 1)) if count > 1 else b"")

    def decision(self, visit: int, transition: ast.Transition, start: int) -> ast.SelectCase | None:
        if self.decisions.get(visit) not in transition.cases:               # or another way leads here now
            cases = [case for case in transition.cases if case.target != "reject" and case.keys]
            cases.sort(key=lambda case: case.target != "accept")
            self.decisions[visit] = self.draw(one_of(tuple(cases))) if cases else None
            self.visits[visit] = start, [case for case in cases if case is not self.decisions[visit]]
        return self.decisions[visit]

    def member(self, key: ast.Expr, width: int) -> int:
        """A number in a set."""
        if isinstance(key, ast.RangeSet):
            return self.draw(st.integers(int(key.low.const or 0), int(key.high.const or 0)))
        if isinstance(key, ast.Binary) and key.op == "&&&":
            value, mask = int(key.left.const or 0), int(key.right.const or 0)
            return value & mask | self.draw(st.integers(0, (1 << width) - 1)) & ~mask & ((1 << width) - 1)
        if key.const is not None:
            return unsigned(int(key.const), width)
        if isinstance(key, ast.Name) and isinstance(key.decl, ast.ValueSet) and (entries := self.state.entries[key.decl.table]):    # type: ignore[index]
            return self.draw(one_of(tuple(entry.matches[0].value for entry in entries)))
        return self.draw(numbers(width))

    # ------------------------------------------------------------ lengths and checksums

    def finished(self, accepted: bool, hold: bool) -> Drawn:
        frame, fields = bytearray(self.data), []
        for _ in range(4):
            run = LenientRun(self.subject.program, self.subject.derived, bytes(frame), dict(self.meta), self.state)
            run_module(run, self.subject.parser)
            before = bytes(frame)
            fields = []
            for taken in run.taken:
                for located in taken.instance.located if taken.codec is None else taken.said:
                    item = located.field
                    fields.append((f"{taken.instance.name}.{item.name}", located.position, located.width))
                    found = run.right.get((taken.instance, item))           # type: ignore[arg-type]
                    if found is not None and (hold or not item.deferred):       # type: ignore[union-attr]
                        write(frame, taken, located, unsigned(int(found), width_of(item.type)))     # type: ignore[call-overload]
            if before == bytes(frame):
                break
        return Drawn(bytes(frame), [each for each in fields if each[1] + each[2] <= 8 * len(frame)], accepted)


class Subject:
    """A program as packets are drawn for it: its parser, and what it looks for."""

    def __init__(self, program: ast.Program, parser: ast.Parser, derived, wanted: Interest) -> None:
        self.program, self.parser, self.derived, self.wanted = program, parser, derived, wanted
        first = tuple(sorted(set(openings(program))))
        self.first = st.one_of(*[one_of(first)] * 3, st.integers(0, 255)) if first else st.integers(0, 255)
        self.assigned = assignments(parser)
        sizes = tuple(size for size in wanted.payloads if size <= LONGEST)
        self.payloads = st.one_of(payloads, one_of(sizes).flatmap(lambda size: st.binary(min_size=size, max_size=size))) if sizes else payloads
        self._looking: dict[ast.Codec, list[ast.RowAssign]] = {}
        self._followers: dict[tuple[object, int], list[int]] = {}

    def looking(self, codec: ast.Codec) -> list[ast.RowAssign]:
        """The rows' assignments that look at what follows the encoding."""
        if codec not in self._looking:
            self._looking[codec] = [item for group in codec.groups for row in group.rows for item in row.items
                                    if isinstance(item, ast.RowAssign) and any(isinstance(each, ast.Following) for each in walk(item.value))]
        return self._looking[codec]

    def followers(self, item: ast.RowAssign, value: int) -> list[int]:
        """The octets that, following, give a row's target this value."""
        key = (item, value)
        if key not in self._followers:
            self._followers[key] = [octet for octet in range(256) if self.follows(item, octet) == value]
        return self._followers[key]

    def reachable(self, item: ast.RowAssign) -> list[int]:
        """The values that a row's target can get from what follows."""
        return sorted({value for octet in range(256) if (value := self.follows(item, octet)) is not None})

    def follows(self, item: ast.RowAssign, octet: int) -> int | None:
        class Ahead:
            def following(self, width: int) -> int:
                return octet if width == 8 else -1
        run = Run(self.program, self.derived, b"", {}, State(self.program))
        try:
            return int(run.evaluate(item.value, Scope(codec=Ahead())))      # type: ignore[call-overload,arg-type]
        except (NotSupported, AssertionError, KeyError, AttributeError, TypeError):
            return None                         # it looks at more than what follows


def openings(program: ast.Program) -> list[int]:
    """First octets of encodings and headers: their constant bits, the others 0 or 1."""
    out = []
    for decl in program.decls:
        bits: list[tuple[int, int | None]] = []
        if isinstance(decl, ast.Codec):
            bits = [(tag.width, tag.value) for tag in decl.tag]
        elif isinstance(decl, ast.Header) and decl.items and isinstance(decl.items[0], ast.Field) and decl.items[0].equation is not None:
            bits = [(width_of(decl.items[0].type), decl.items[0].equation.const)] if decl.items[0].equation.const is not None else []
        if not bits or bits[0][1] is None:
            continue
        value = ones = width = 0
        for size, constant in bits:
            value, ones, width = value << size | (constant or 0), ones << size | ((1 << size) - 1 if constant is None else constant), width + size
            if width >= 8:
                break
        if width >= 8:
            out += [value >> width - 8 & 0xFF, ones >> width - 8 & 0xFF]
        else:
            out += [value << 8 - width, value << 8 - width | (1 << 8 - width) - 1]
    return out


def assignments(parser: ast.Parser) -> dict[object, list[object]]:
    """By variable of the parser: the expressions it is assigned, and (codec, parameter) where a codec gives it back."""
    out: dict[object, list[object]] = {}
    for node in walk(parser):
        if isinstance(node, ast.Assign) and isinstance(node.target, ast.Name):
            out.setdefault(node.target.decl, []).append(node.value)
        if isinstance(node, ast.Call) and node.via is not None and node.via.codec is not None:
            for param, arg in zip(node.via.codec.params, node.via.args):
                if param.direction in ("out", "inout") and isinstance(arg, ast.Name):
                    out.setdefault(arg.decl, []).append((node.via.codec, param))
    return out
