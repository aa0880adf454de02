"""Packets drawn by walking the program's own parser.

The parser runs on a packet that is not there yet. Where it extracts a header, one is drawn; at a `select`, the case to take. If
what has been drawn leads elsewhere, the header that decides is drawn again with the wish that it lead there; `verify` is
wished for in the same way. In the end lengths and checksums get the values that their equations give. So every draw has a
meaning, and a packet shrinks to a packet.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from lpn.compiler.generate_packets import put, write
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.reference.calls import Calls
from lpn.lang.reference.codecs import Expand
from lpn.lang.reference.expressions import COMPARE
from lpn.lang.reference.headers import Instance
from lpn.lang.reference.modules import module_scope, next_state, run_module
from lpn.lang.reference.packet import Packet
from lpn.lang.reference.run import Run
from lpn.lang.reference.scope import Scope
from lpn.lang.reference.state import State
from lpn.lang.reference.values import NotSupported, Rejected, unsigned, width_of

from .encodings import compressed
from .headers import fill
from .numbers import Draw, Interest, numbers, one_of, payloads

ATTEMPTS = 60                                   # of one packet
MISSES = 4                                      # of one wish; more where it only says what to draw again
LONGEST = 300                                   # octets of headers


@dataclass
class Drawn:
    """A packet. `fields`: where values lie in it, as (name, first bit, bits). `accepted`: the walk came to its end."""

    data: bytes
    fields: list[tuple[str, int, int]] = field(default_factory=list)
    accepted: bool = False


class Again(Exception):
    """Draw the header at `start` again; `wishes`: values for fields and parameters of headers, by where these begin."""

    def __init__(self, start: int, wishes: dict[tuple[int, object], int]) -> None:
        self.start, self.wishes = start, wishes


class LenientInstance(Instance):
    """A header whose equations are not checked: they are made true at the end."""

    def holds(self) -> bool:
        return self.valid

    def allowed(self, item: ast.Field, sized: dict[ast.Field, int]) -> bool:
        if item.equation is None:
            return super().allowed(item, sized)
        assert isinstance(self.run, LenientRun)
        self.run.right[self, item] = self.equation(item)
        return True


class LenientRun(Run):
    """`right`: what equations say at the moment when their header is taken, all that follows still ahead."""

    def __init__(self, *args: Any) -> None:
        self.right: dict[tuple[Instance, ast.Field], object] = {}
        super().__init__(*args)

    def new_header(self, decl, type_, name, args):
        made = super().new_header(decl, type_, name, args)
        if isinstance(made, Instance):
            return LenientInstance(made.run, made.header, made.decl, made.name, made.args, made.derived)
        return made

    def extract(self, instance: Instance, codec, args: list[object]):
        result = super().extract(instance, codec, args)
        for item in instance.header.fields() if codec is not None else ():
            if item.deferred and item.equation is not None:
                self.right[instance, item] = instance.equation(item)
        return result


class GrowingPacket(Packet):
    """Octets are drawn when somebody reads them."""

    walker: "Walker"

    def need(self, octets: int) -> None:
        if len(self.data) < octets <= LONGEST:
            self.data += self.walker.octets(octets - len(self.data))
            self.walker.data = self.data

    def bits(self, position: int, count: int) -> int:
        self.need(-(-(position + count) // 8))
        return super().bits(position, count)

    def take(self, start: int, count: int) -> bytes:
        self.need(start + count)
        return super().take(start, count)

    def advance(self, count: int) -> None:
        self.need(self.payload + count)
        super().advance(count)


class WalkingCalls(Calls):
    def do_verify(self, expr: ast.Call, scope: Scope) -> None:
        assert isinstance(self.run, WalkingRun)
        if not self.run.evaluate(expr.args[0], scope):
            self.run.wish(expr.args[0], True, scope)
        super().do_verify(expr, scope)


class WalkingRun(LenientRun):
    def __init__(self, walker: "Walker", *args: Any) -> None:
        super().__init__(*args)
        self.walker = walker
        self.calls = WalkingCalls(self)
        self.packet: GrowingPacket = GrowingPacket(walker.data)
        self.packet.walker = walker
        self.selects = 0

    def extract(self, instance: Instance, codec, args: list[object]):
        start = self.packet.payload
        if start not in self.walker.drawn:
            self.walker.header(start, instance, codec, args)
            self.packet.data = self.walker.data
        try:
            result = super().extract(instance, codec, args)
        except Rejected:
            if codec is not None and self.walker.missed(("codec", start)):
                self.walker.bar()
                raise Again(start, {}) from None                # a row that asks for what is not there
            raise
        return result

    def size_of_payload(self, instance: Instance | None) -> int:
        """A parser that asks how much follows gets something to follow."""
        if instance is None and self.packet.payload == len(self.packet.data) and self.walker.asked is None:
            self.walker.asked = self.packet.payload
            self.packet.data += self.walker.draw(payloads)
            self.walker.data = self.packet.data
        return super().size_of_payload(instance)

    # ------------------------------------------------------------ the way through the states

    def walk(self, parser: ast.Parser) -> None:
        """As the parser runs, with an eye to the case that a select should take. Raises Rejected, Again."""
        scope = module_scope(self, parser.params, parser.locals)
        states = {state.name: state for state in parser.states}
        entered = dict.fromkeys(states, 0)
        state: ast.State | None = states["start"]
        while state is not None:
            entered[state.name] += 1
            if state.max is not None and entered[state.name] > self.number(state.max, scope):
                raise Rejected(f"{parser.name}.{state.name}")
            self.statements.body(state.statements, scope)
            if state.transition is not None and state.transition.select is not None:
                self.steer(state.transition, scope)
            state = next_state(self, states, state.transition, scope)

    def steer(self, transition: ast.Transition, scope: Scope) -> None:
        visit, self.selects = self.selects, self.selects + 1
        case = self.walker.decision(visit, transition)
        if case is None:
            return
        assert transition.select is not None
        for expr, key in zip(transition.select, case.keys):
            self.look_ahead(expr, key, scope)
        values = [self.evaluate(each, scope) for each in transition.select]
        taken = next((each for each in transition.cases if self.expressions.match_keys(values, each.keys, scope)), None)
        if taken is case or taken is not None and taken.target != "reject" and any(isinstance(key, ast.DontCare) for key in case.keys):
            return
        wishes: dict[tuple[int, object], int] = {}
        for expr, key, value in zip(transition.select, case.keys, values):
            if not isinstance(key, ast.DontCare) and self.matches(value, key, scope):
                continue
            origin = self.origin(whole(expr), scope)
            if isinstance(key, ast.DontCare):
                if origin is not None and (other := self.elsewhere(origin, expr, transition, scope)):
                    wishes[origin] = self.walker.draw(one_of(tuple(other)))
                continue
            if origin is None:
                return
            wishes[origin] = self.put_into(expr, self.walker.member(key, width_of(expr.type)), scope)
        if wishes and self.walker.missed(("select", visit)):
            raise Again(min(start for start, _ in wishes), wishes)

    def elsewhere(self, origin: tuple[int, object], expr: ast.Expr, transition: ast.Transition, scope: Scope) -> list[int]:
        """Values that no case of a select of one expression names: those that lead to its default."""
        if transition.select is None or len(transition.select) != 1:
            return []
        named = [case.keys[0] for case in transition.cases if len(case.keys) == 1 and not isinstance(case.keys[0], ast.DontCare)]
        start, place = origin
        codec = next((taken.codec for taken in self.taken if taken.start == start), None)
        known = [*self.walker.subject.wanted.get(place, []), *range(4)]
        for item in self.walker.subject.looking(codec) if codec is not None else []:
            known = self.walker.subject.reachable(item) if getattr(item.target, "decl", None) is place else known
        return sorted({n for n in known if 0 <= n < 1 << width_of(expr.type) and not any(self.matches(n, key, scope) for key in named)})

    def look_ahead(self, expr: ast.Expr, key: ast.Expr, scope: Scope) -> None:
        """Octets that nobody has drawn yet and a select looks at: those of its case."""
        part, shift = width_of(expr.type), 0
        if isinstance(expr, ast.Slice):
            expr, shift = expr.base, int(expr.lo.const or 0)
        if not isinstance(expr, ast.Call) or expr.target != "lookahead" or self.packet.payload != len(self.packet.data):
            return
        width = width_of(expr.type)
        if width % 8 == 0 and not isinstance(key, ast.DontCare):
            mask = (1 << part) - 1 << shift
            rest = self.walker.draw(numbers(width)) & ~mask if part < width else 0
            self.packet.data += (rest | self.walker.member(key, part) << shift).to_bytes(width // 8, "big")
            self.walker.data = self.packet.data

    # ------------------------------------------------------------ wishes

    def wish(self, cond: ast.Expr, truth: bool, scope: Scope) -> None:
        """Raises Again if the headers can be drawn so that a condition holds."""
        wishes = self.wanted(cond, truth, scope)
        if wishes and self.walker.missed(("verify", id(cond), self.packet.payload)):
            raise Again(min(start for start, _ in wishes), wishes)

    def wanted(self, cond: ast.Expr, truth: bool, scope: Scope) -> dict[tuple[int, object], int]:
        """What makes the condition so; empty where nothing is known."""
        if isinstance(cond, ast.Unary) and cond.op == "!":
            return self.wanted(cond.operand, not truth, scope)
        if isinstance(cond, ast.Binary) and cond.op in ("&&", "||"):
            both = (cond.op == "&&") == truth
            sides = [side for side in (cond.left, cond.right) if bool(self.evaluate(side, scope)) != truth]
            found = [self.wanted(side, truth, scope) for side in sides]
            if both:
                return {} if not all(found) else {key: value for one in found for key, value in one.items()}
            return next((one for one in found if one), {})
        if isinstance(cond, ast.Binary) and cond.op in ("==", "!=", "<", "<=", ">", ">="):
            for side, other in ((cond.left, cond.right), (cond.right, cond.left)):
                origin = self.origin(whole(side), scope)
                if origin is not None and other.const is not None:
                    fitting = [n for n in near(int(other.const), width_of(side.type))
                               if self.compares(cond, side, n, int(other.const)) == truth]
                    if fitting:
                        return {origin: self.put_into(side, self.walker.draw(one_of(tuple(fitting))), scope)}
        found = [origin for node in walk(cond) if isinstance(node, (ast.Member, ast.Name)) and (origin := self.origin(node, scope))]
        return {(max(start for start, _ in found), "again"): 0} if found else {}     # draw what decides once more

    def put_into(self, expr: ast.Expr, number: int, scope: Scope) -> int:
        """The value of which `number` is the slice that an expression takes."""
        if not isinstance(expr, ast.Slice):
            return number
        low, part = int(expr.lo.const or 0), width_of(expr.type)
        return self.number(expr.base, scope) & ~((1 << part) - 1 << low) | number << low

    def compares(self, cond: ast.Binary, side: ast.Expr, number: int, constant: int) -> bool:
        return COMPARE[cond.op](number, constant) if side is cond.left else COMPARE[cond.op](constant, number)

    def origin(self, expr: ast.Expr, scope: Scope) -> tuple[int, object] | None:
        """The header (by where it begins) and its field or codec's parameter that a value comes from."""
        while isinstance(expr, ast.Cast):
            expr = expr.operand
        if isinstance(expr, ast.Member) and isinstance(expr.decl, (ast.Field, ast.ChoiceArm)):
            base = expr.base if isinstance(expr.decl, ast.Field) else getattr(expr.base, "base", None)
            instance = self.evaluate(base, scope) if base is not None else None
            start = max((taken.start for taken in self.taken if taken.instance is instance), default=None)
            return None if start is None else (start, expr.decl)
        if isinstance(expr, ast.Name) and isinstance(expr.decl, ast.VarDecl):
            found = [origin for each in self.walker.assigned.get(expr.decl, []) if (origin := self.source(each, scope))]
            return max(found, key=lambda one: one[0], default=None)
        return None

    def source(self, each: object, scope: Scope) -> tuple[int, object] | None:
        """Of an assignment to a variable: an expression, or a codec with the parameter that gives it."""
        if isinstance(each, tuple):
            codec, param = each
            start = max((taken.start for taken in self.taken if taken.codec is codec), default=None)
            return None if start is None else (start, param)
        return self.origin(each, scope) if isinstance(each, ast.Member) else None


def whole(expr: ast.Expr) -> ast.Expr:
    """What a slice is taken of."""
    return expr.base if isinstance(expr, ast.Slice) else expr


def near(constant: int, width: int) -> list[int]:
    return sorted({n for n in (constant, constant - 1, constant + 1, 0, (1 << width) - 1) if 0 <= n < 1 << width},
                  key=lambda n: n != constant)


class Walker:
    """One packet being drawn. `data`: the octets so far; `drawn`: where headers begin in them."""

    def __init__(self, draw: Draw, subject: "Subject", state: State, meta: Mapping[str, int]) -> None:
        self.draw, self.subject, self.state, self.meta = draw, subject, state, meta
        self.assigned = subject.assigned
        self.data = b""
        self.drawn: dict[int, dict[ast.Field, tuple[int, int]]] = {}
        self.wishes: dict[tuple[int, object], int] = {}
        self.decisions: dict[int, ast.SelectCase | None] = {}
        self.misses: dict[object, int] = {}
        self.rows: list[ast.Row] = []           # of the encoding that was drawn last
        self.barred: set[ast.Row] = set()
        self.asked: int | None = None           # where a parser asked how much follows

    def packet(self) -> Drawn:
        program, parser = self.subject.program, self.subject.parser
        accepted, end = False, 0
        for _ in range(ATTEMPTS):
            run = WalkingRun(self, program, self.subject.derived, b"", dict(self.meta), self.state)
            try:
                run.walk(parser)
                accepted, end = True, run.packet.payload
                break
            except Again as again:
                self.back_to(again.start)
                self.wishes.update(again.wishes)
            except Rejected:
                if self.asked is None or not self.missed(("asked", self.asked)):
                    break
                self.back_to(self.asked)            # what follows was anything: another anything
        if accepted and len(self.data) == end:
            self.data += self.draw(payloads)
        hold = self.draw(st.integers(0, 9)) < 9         # checksums are right, mostly
        return self.finished(accepted, hold)

    def back_to(self, start: int) -> None:
        """Forgets what was drawn from there on; what was looked at ahead stays, if it is all that is there."""
        self.drawn = {at: said for at, said in self.drawn.items() if at < start}
        self.wishes = {key: value for key, value in self.wishes.items() if key[0] <= start}
        self.data = self.data[:start]
        self.asked = None

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
            self.drawn[start] = {item: (8 * start + at, width) for item, (at, width) in encoding.said.items()}
            self.data = self.data[:start] + self.sized(start, encoding.data, instance, codec, args) + self.follow(codec, wishes)
            return
        computed = frozenset(each for each in instance.header.fields() if each.equation is not None and not each.deferred)
        scratch = Instance(instance.run, instance.header, instance.decl, instance.name, instance.args, computed)
        fixed = {decl.name: value for decl, value in wishes.items() if isinstance(decl, ast.Field)}
        fill(self.draw, scratch, fixed, self.subject.wanted)
        for decl, value in wishes.items():
            if isinstance(decl, ast.ChoiceArm) and decl.choice in scratch.arms:
                scratch.arms[decl.choice] = (decl, value)
        content = scratch.emit()
        self.drawn[start] = {}
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

    def decision(self, visit: int, transition: ast.Transition) -> ast.SelectCase | None:
        if visit not in self.decisions:
            cases = [case for case in transition.cases if case.target != "reject" and case.keys]
            cases.sort(key=lambda case: case.target != "accept")
            self.decisions[visit] = self.draw(one_of(tuple(cases))) if cases else None
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
                said = self.drawn.get(taken.start, {}) if taken.codec is not None else {}
                places = {**said, **{one.field: (one.position, one.width) for one in taken.instance.located}}
                for item, (at, width) in places.items():
                    fields.append((f"{taken.instance.name}.{item.name}", at, width))        # type: ignore[union-attr]
                    found = run.right.get((taken.instance, item))           # type: ignore[arg-type]
                    if found is not None and (hold or not item.deferred):       # type: ignore[union-attr]
                        right = unsigned(int(found), width_of(item.type))       # type: ignore[call-overload]
                        if taken.codec is None:
                            write(frame, taken.instance, item, at, width, right)
                        else:
                            put(frame, at, width, right)
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
