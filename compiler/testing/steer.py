"""A parser's run on a packet that is being drawn: what it asks for is drawn, and where it goes astray it says what to draw again, or which
fields get other values."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lpn.compiler.generate.asked import is_ahead, seen_ahead
from lpn.compiler.generate.followed import LONGEST, Asked, Followed, FollowedCalls, FollowedRun, Origin, first, made
from lpn.compiler.generate.solve import solve
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.reference.expressions import COMPARE
from lpn.lang.reference.headers import Instance
from lpn.lang.reference.modules import module_scope, next_state
from lpn.lang.reference.packet import Packet
from lpn.lang.reference.run import Run
from lpn.lang.reference.scope import Scope
from lpn.lang.reference.values import Rejected, width_of, wrap
from lpn.lang.types import Bits, EnumType, HeaderType

from .numbers import following, numbers, one_of

if TYPE_CHECKING:
    from .walk import Walker


class Again(Exception):
    """Draw the header at `start` again; `wishes`: values for fields and parameters of headers, by where these begin."""

    def __init__(self, start: int, wishes: dict[tuple[int, object], int]) -> None:
        self.start, self.wishes = start, wishes


class Mended(Exception):
    """Other values for fields of headers, and for the packet's length, with which the run goes on. `cut`: from where on the packet does not fit them."""

    def __init__(self, values: dict[Origin, int], cut: int) -> None:
        self.values, self.cut = values, cut


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
    run: "WalkingRun"

    def need(self, octets: int) -> None:
        if len(self.data) < octets <= LONGEST:
            self.data += self.walker.octets(octets - len(self.data))
            self.walker.data = self.data
            self.run.room()

    def bits(self, position: int, count: int) -> int:
        self.need(-(-(position + count) // 8))
        return super().bits(position, count)

    def take(self, start: int, count: int) -> bytes:
        self.need(start + count)
        return super().take(start, count)

    def advance(self, count: int) -> None:
        self.need(self.payload + count)
        super().advance(count)


class WalkingCalls(FollowedCalls):
    run: "WalkingRun"

    def do_verify(self, expr: ast.Call, scope: Scope) -> None:
        self.run.look_ahead(list(asked_ahead(expr.args[0])), scope)
        super().do_verify(expr, scope)

    def refuse(self, found: object, expr: ast.Call, scope: Scope) -> None:
        if self.run.computed_later(expr.args[0], scope):
            return
        self.run.mend([(found, True)])
        self.run.wish(expr.args[0], True, scope)
        super().refuse(found, expr, scope)


class WalkingRun(FollowedRun, LenientRun):
    def __init__(self, walker: "Walker", *args: Any) -> None:
        self.walker = walker
        super().__init__(*args)
        self.calls = WalkingCalls(self)
        self.packet: GrowingPacket = GrowingPacket(walker.data)
        self.packet.walker, self.packet.run = walker, self
        self.selects = 0

    def extract(self, instance: Instance, codec, args: list[object]):
        start = self.packet.payload
        if start not in self.walker.drawn:
            self.walker.header(start, instance, codec, args)
            self.packet.data = self.walker.data
            self.room()
        try:
            result = super().extract(instance, codec, args)
        except Rejected:
            if codec is not None and self.walker.missed(("codec", start)):
                self.walker.bar()
                raise Again(start, {}) from None                # a row that asks for what is not there
            raise
        return result

    def ahead(self, value: object, expr: ast.Call) -> object:
        """What lies ahead is drawn with a wish."""
        return value

    @property
    def length(self) -> int:
        """Octets of the packet, those too that nobody has drawn yet."""
        return max(self.walker.end or 0, len(self.walker.data))

    def size_of_payload(self, instance: Instance | None) -> int:
        """A parser that asks how much follows gets something to follow; what that is, is drawn when it is read."""
        if instance is not None:
            return super().size_of_payload(instance)
        if self.walker.end is None:
            self.walker.end = self.length + self.walker.draw(following)
        self.end.value = self.walker.end = self.length
        return self.length - self.packet.payload

    def room(self) -> None:
        """Raises Mended, or Rejected, where there is more than the packet's length allows that somebody has asked for."""
        octets = len(self.packet.data)
        if self.walker.end is not None and octets > self.walker.end:
            self.mend([(made(lambda end: end >= octets, first(self.end), turns=((first(self.end), octets),)), True)])
            raise Rejected("PacketTooShort")

    def mend(self, asked: list[tuple[object, bool]]) -> None:
        """Raises Mended if there are values with which all this comes out as it should, and what was asked before as it did."""
        if not all(isinstance(found, Followed) or bool(found) == wanted for found, wanted in asked):
            return
        new = [Asked(found, wanted) for found, wanted in asked if isinstance(found, Followed)]
        values = solve(self, [*self.path, *new], lambda fitting: self.walker.draw(one_of(tuple(fitting)))) if new else None
        if values is not None:
            cut = min((at for at, origins in self.moved if not origins.isdisjoint(values)), default=LONGEST)
            raise Mended(values, cut)

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
        case = self.walker.decision(visit, transition, self.packet.payload)
        if case is None:
            return
        assert transition.select is not None
        self.look_ahead(list(zip(transition.select, case.keys)), scope)
        values = [self.evaluate(each, scope) for each in transition.select]
        found = [(each, self.expressions.matching(values, each.keys, scope)) for each in transition.cases]
        taken = next((each for each, matched in found if matched), None)
        if taken is case:
            return
        at = transition.cases.index(case)
        self.mend([*((matched, False) for _, matched in found[:at]), (found[at][1], True)])
        if taken is not None and taken.target != "reject" and any(isinstance(key, ast.DontCare) for key in case.keys):
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
            if origin is None and seen_ahead(expr) is not None:
                wishes[self.packet.payload, "again"] = 0        # what is looked at was drawn for something else, or is not what all keys ask for
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

    def look_ahead(self, asked: list[tuple[ast.Expr, ast.Expr]], scope: Scope) -> None:
        """Octets that nobody has drawn yet, and that are looked at by several expressions at once, each with a key: those that all keys ask for.
        The bits that a key names come first; a number of a range or a set is one that has them."""
        looks = [(expr, key, places) for expr, key in asked if not isinstance(key, ast.DontCare) and (places := seen_ahead(expr)) is not None]
        octets = max((octets_ahead(expr) for expr, _, _ in looks), default=0)
        there = self.packet.rest[:octets]
        if octets == len(there):
            return
        known = {place: there[place >> 3] >> (~place & 7) & 1 for place in range(8 * len(there))}
        for expr, key, places in sorted(looks, key=lambda look: named_bits(look[1]) is None):
            number, named = named_bits(key) or (self.having(known, expr, key, places, scope), -1)
            for at, place in enumerate(places):
                if place is not None and named >> at & 1:
                    known.setdefault(place, number >> at & 1)
        drawn = self.walker.draw(numbers(8 * (octets - len(there)))) if len(known) < 8 * octets else 0
        for place, bit in known.items():
            at = 8 * octets - 1 - place
            drawn = drawn & ~(1 << at) | bit << at
        self.packet.data += drawn.to_bytes(octets, "big")[len(there):]
        self.walker.data = self.packet.data
        self.room()

    def having(self, known: dict[int, int], expr: ast.Expr, key: ast.Expr, places: list[int | None], scope: Scope) -> int:
        """A number in a set, with the bits that are known of the octets it is looked for in, if one of those tried has them."""
        number = self.walker.member(key, len(places))
        settled = {at: known.get(place, 0) for at, place in enumerate(places) if place is None or place in known}     # type: ignore[arg-type]
        mask, bits = sum(1 << at for at in settled), sum(bit << at for at, bit in settled.items())
        ends = [int(each.const or 0) for each in (key.low, key.high)] if isinstance(key, ast.RangeSet) else []
        tried = [each & ~mask | bits for each in (number, *ends)]
        return next((each for each in tried if self.matches(wrap(each, expr.type), key, scope)), number)

    def computed_later(self, cond: ast.Expr, scope: Scope) -> bool:
        """Whether it asks for a field that gets the value of its equation when all is drawn."""
        found = [origin[1] for node in walk(cond) if isinstance(node, ast.Member) and (origin := self.origin(node, scope))]
        return any(isinstance(item, ast.Field) and item.equation is not None and not item.deferred for item in found)

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
                if origin is not None and (other.const is not None or isinstance(side.type, Bits)):
                    number, theirs = self.number(other, scope), self.origin(other, scope)
                    tried = [one.number for one in side.type.decl.members] if isinstance(side.type, EnumType) else near(number, width_of(side.type))
                    fitting = [n for n in tried if self.compares(cond, side, n, number) == truth]
                    if fitting:
                        stays = {theirs: number} if theirs is not None and theirs[0] == origin[0] and theirs != origin else {}
                        return {**stays, origin: self.put_into(side, self.walker.draw(one_of(tuple(fitting))), scope)}
        found = [origin for node in walk(cond) if isinstance(node, (ast.Member, ast.Name)) and (origin := self.origin(node, scope))]
        return {(max(start for start, _ in found), "again"): 0} if found else {}     # draw what decides once more

    def put_into(self, expr: ast.Expr, number: int, scope: Scope) -> int:
        """The value of what an expression comes from, with which it is `number`: what a slice is taken of."""
        if not isinstance(expr, ast.Slice):
            return number
        low, part = int(expr.lo.const or 0), width_of(expr.type)
        return self.number(expr.base, scope) & ~((1 << part) - 1 << low) | number << low

    def compares(self, cond: ast.Binary, side: ast.Expr, number: int, constant: int) -> bool:
        return COMPARE[cond.op](number, constant) if side is cond.left else COMPARE[cond.op](constant, number)

    def origin(self, expr: ast.Expr, scope: Scope) -> tuple[int, object] | None:
        """The header (by where it begins) and its field or codec's parameter that a value comes from."""
        expr = uncast(expr)
        if isinstance(expr, ast.Member) and isinstance(expr.decl, (ast.Field, ast.ChoiceArm)):
            base = expr.base if isinstance(expr.decl, ast.Field) else getattr(expr.base, "base", None)
            instance = self.evaluate(base, scope) if base is not None and self.seen(base, scope) else None
            start = max((taken.start for taken in self.taken if taken.instance is instance), default=None)
            return None if start is None else (start, expr.decl)
        if isinstance(expr.type, HeaderType):               # all of it: what a function is given
            instance = self.evaluate(expr, scope)
            start = max((taken.start for taken in self.taken if taken.instance is instance), default=None)
            return None if start is None else (start, "again")
        if isinstance(expr, ast.Name) and isinstance(expr.decl, ast.VarDecl):
            found = [origin for each in self.walker.assigned.get(expr.decl, []) if (origin := self.source(each, scope))]
            if not found and isinstance(value := self.evaluate(expr, scope), Followed):
                found = [(origin.start, "again") for origin in value.origins if origin.taken is not None]
            return max(found, key=lambda one: one[0], default=None)
        return None

    def seen(self, expr: ast.Expr, scope: Scope) -> bool:
        """Whether the header it names is there already: a state's own comes with the first visit."""
        return not isinstance(expr, ast.Name) or not isinstance(expr.decl, ast.VarDecl) or scope.holder(expr.decl) is not None

    def source(self, each: object, scope: Scope) -> tuple[int, object] | None:
        """Of an assignment to a variable: an expression, or a codec with the parameter that gives it."""
        if isinstance(each, tuple):
            codec, param = each
            start = max((taken.start for taken in self.taken if taken.codec is codec), default=None)
            return None if start is None else (start, param)
        return self.origin(each, scope) if isinstance(each, ast.Member) else None


def uncast(expr: ast.Expr) -> ast.Expr:
    while isinstance(expr, ast.Cast):
        expr = expr.operand
    return expr


def whole(expr: ast.Expr) -> ast.Expr:
    """What a slice is taken of."""
    return expr.base if isinstance(expr, ast.Slice) else expr


def asked_ahead(cond: ast.Expr) -> Iterator[tuple[ast.Expr, ast.Expr]]:
    """What a condition compares with a constant, all of which is to hold."""
    if isinstance(cond, ast.Binary) and cond.op == "&&":
        yield from asked_ahead(cond.left)
        yield from asked_ahead(cond.right)
    elif isinstance(cond, ast.Binary) and cond.op == "==":
        for side, other in ((cond.left, cond.right), (cond.right, cond.left)):
            if other.const is not None:
                yield side, other


def octets_ahead(expr: ast.Expr) -> int:
    """How many octets its lookahead asks for."""
    return max((width_of(node.type) + 7) // 8 for node in walk(expr) if is_ahead(node))


def named_bits(key: ast.Expr) -> tuple[int, int] | None:
    """The number that a key is, and which of its bits count; None of a range or a set, which leave a choice."""
    if isinstance(key, ast.Binary) and key.op == "&&&":
        return int(key.left.const or 0), int(key.right.const or 0)
    return (int(key.const), -1) if key.const is not None else None


def near(constant: int, width: int) -> list[int]:
    return sorted({n for n in (constant, constant - 1, constant + 1, 0, (1 << width) - 1) if 0 <= n < 1 << width},
                  key=lambda n: n != constant)
