"""Where guesses meet: at the first codec, packets of all usual shapes go on as one, and those that are unusual from there on join the rest.

Each shape of a header is compared and taken apart on its own, straight down, as far as that codec. What the codec is given is a variable
there, and so is where the packet is read or written; what follows is lowered once. A packet that is not as guessed behind the meeting has
its first headers all the same: it goes to where the general lowering comes to this codec, and only one that is no usual shape goes to
where that begins. A brief guess waits behind the codec's rows instead, for the general lowering to come there.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import llvmlite.ir as ir

from lpn.compiler.bits import I32, PKT, PTR, Val, is_const
from lpn.lang import ast
from lpn.lang.instances import walk

from .instance import Instance
from .places import MadeAnew, Place, Scalar, StructPlace, Value, member, variable

Env = dict[object, Place]
Known = tuple[int, int]                         # mask and value of a header's first unit


class Elsewhere(Exception):
    """What is being lowered goes on where the next guess meets it."""


@dataclass(eq=False)
class Arrived:
    """A way that waits at the end of `block` for what goes on for it, and all that the two may differ in."""

    block: ir.Block
    env: Env
    bound: Env                                  #: the codec's parameters, and behind its rows what else it has
    at: ir.Value                                #: where the packet is read, or written
    headers: list[Instance]                     #: that were extracted
    known: dict[Instance, Known | None]
    read_to: tuple[int, int]                    #: `bound` and `look`, see `Cursor`
    at_most: int                                #: see `Deparsers`
    stack_next: dict[ast.StructField, int]      #: see `Parsers`: a state has blocks of its own for each


@dataclass
class Meeting:
    """`args`: of the codec where guesses meet; `waited_for`: whether one more guess comes there; `unusual`: what went on from there and
    was not as guessed; `brief`: nothing is guessed behind the codec, where what is as guessed waits, `behind`."""

    args: list[ast.Expr] | None
    brief: bool = False
    arrived: list[Arrived] = field(default_factory=list)
    waited_for: bool = False
    unusual: Arrived | None = None
    behind: list[Arrived] = field(default_factory=list)


class Meetings:
    """Mixed into `Lowering`."""

    meeting_point = Meeting(None)

    def meets(self, args: list[ast.Expr]) -> bool:
        """Whether this is where guesses meet, or where what they were wrong about comes from them."""
        meeting = self.meeting_point
        return args is meeting.args and not meeting.brief and (self.miss is not None or any(other.stack_next == self.stacks for other in meeting.arrived))

    @property
    def stacks(self) -> dict[ast.StructField, int]:
        return dict(self.stack_next) if self.parser_decl is not None else {}

    def meet(self, bound: Env) -> Env:
        """Goes on for all that have arrived, or, in a guess behind which another one comes, waits for that."""
        meeting, b = self.meeting_point, self.b
        if meeting.waited_for:
            meeting.arrived.append(self.arrive(b.block, bound))
            raise Elsewhere
        others = [other for other in meeting.arrived if other.stack_next == self.stacks]
        meeting.arrived = [other for other in meeting.arrived if other not in others]
        if others:
            bound = self.go_on_with(bound, others)
        if self.miss is not None:
            self.miss = b.append_basic_block("unusual.here")
            meeting.unusual = self.arrive(self.miss, bound)
        return bound

    def meet_behind(self, args: list[ast.Expr], inside: Env) -> Env:
        """Behind the rows of the codec where guesses meet: a brief one ends here, and everything else goes on with what was as guessed.
        `inside`: all that the codec has."""
        meeting = self.meeting_point
        if args is not meeting.args or not meeting.brief:
            return inside
        if self.miss is not None:
            meeting.behind.append(self.arrive(self.b.block, inside))
            raise Elsewhere
        others = [other for other in meeting.behind if other.stack_next == self.stacks]
        meeting.behind = [other for other in meeting.behind if other not in others]
        return self.go_on_with(inside, others) if others else inside

    def arrive(self, block: ir.Block, bound: Env) -> Arrived:
        parsing = self.parser_decl is not None
        slot, kind = self.packet_slot()
        return Arrived(block, {key: frozen(place) for key, place in self.env.items()}, {key: frozen(place) for key, place in bound.items()},
                       self.b.load(slot, typ=kind), list(self.touched), self.known_units(),
                       (self.bound, self.look) if parsing else (0, 0), 0 if parsing else self.at_most, self.stacks)

    def go_on_with(self, bound: Env, others: list[Arrived]) -> Env:
        """Everything that has arrived goes on here as one."""
        b, parsing = self.b, self.parser_decl is not None
        bound = {p: self.held(p, place, [other.bound[p] for other in others]) for p, place in bound.items()}
        slot, _ = self.packet_slot()
        self.early = {}                         # of what has arrived nothing was made early
        if parsing and any(other.read_to[1] != self.look for other in others):
            self.require_lookahead()
        known = self.known_units()
        read_to, most = [(self.bound, self.look)] if parsing else [], [] if parsing else [self.at_most]
        met = b.append_basic_block("met")
        b.branch(met)
        for other in others:
            b.position_at_end(other.block)
            for key, place in bound.items():
                take_over(place, other.bound[key])
            for key, place in self.env.items():
                if key in other.env:
                    take_over(place, other.env[key])
            for inst in other.headers:
                own = inst if inst.local else self.instance(inst.inst.field, inst.inst.index)
                if own is not inst:
                    own.become(inst, inst.written)
            b.store(other.at, slot)
            if parsing:
                self.bound, self.look = other.read_to
                if self.look != read_to[0][1]:
                    self.require_lookahead()
                read_to.append((self.bound, self.look))
            else:
                most.append(other.at_most)
            b.branch(met)
        b.position_at_end(met)
        for inst, found in known.items():
            inst.known = common([found, *(other.known.get(inst) for other in others)])
        if parsing:
            self.bound, self.look = (max(each) for each in zip(*read_to))
        else:
            self.at_most = max(most)
        return bound

    def packet_slot(self) -> tuple[ir.Value, ir.Type]:
        """Where it is kept how far the packet was read, or written; its type."""
        return (self.cursor_slot, PKT) if self.parser_decl is not None else (self.at_slot, PTR if self.walks else I32)

    def held(self, p: ast.Param, place: Place, others: list[Place]) -> Place:
        """A parameter in a variable of its own, unless it lies in one, is a header, is the same for all, or is made where it is read."""
        if isinstance(place, (MadeAnew, Instance)) or in_variables(place) or all(same(place, other) for other in others):
            return place
        own = variable(self, p.type, p.name)
        own.set(place.get())
        return own

    def not_met(self, elsewhere: ir.Block) -> None:
        """What has arrived, and nothing has gone on for, begins anew."""
        meeting = self.meeting_point
        for other in (*meeting.arrived, *meeting.behind):
            self.b.position_at_end(other.block)
            self.b.branch(elsewhere)
        meeting.arrived, meeting.behind = [], []


def frozen(place: Place) -> Place:
    """What is in a variable now."""
    if isinstance(place, StructPlace):
        return StructPlace(place.type, {name: frozen(part) for name, part in place.fields.items()})
    return Value(place.type, place.get()) if isinstance(place, Scalar) else place


def in_variables(place: Place) -> bool:
    """All of it: a struct that is written out as its members is none."""
    return isinstance(place, Scalar) or isinstance(place, StructPlace) and all(map(in_variables, place.fields.values()))


def take_over(place: Place, other: Place) -> None:
    """Sets what lies in variables to what it is elsewhere."""
    if isinstance(place, StructPlace):
        struct = other.get()
        for name, part in place.fields.items():
            take_over(part, member(struct, name))
    elif isinstance(place, Scalar):
        place.set(other.get())


def same(one: Place, other: Place) -> bool:
    """Whether two places stand for the same constant."""
    if not isinstance(one, Value) or not isinstance(other, Value):
        return False
    x, y = one.value, other.value
    if isinstance(x, Val) and isinstance(y, Val):
        return all(is_const(i) and is_const(j, i.constant) for i, j in zip(x.limbs, y.limbs))
    return is_const(x) and is_const(y, x.constant)


def common(known: Iterable[Known | None]) -> Known | None:
    """The bits that are known on every way, and alike."""
    found, *others = known
    for other in others:
        if found is None or other is None:
            return None
        mask = found[0] & other[0] & ~(found[1] ^ other[1])
        found = mask, found[1] & mask
    return found


def meeting_of(statements: list[ast.Stmt], method: str) -> ast.Call | None:
    """The first call of a packet's method that names a codec, if every packet of the usual ones comes to it: before it nothing
    branches but on the way to a reject. No header is said twice: a packet that is not as guessed behind the meeting has those in front of it."""
    calls = [n for s in statements for n in walk(s) if isinstance(n, ast.Call) and n.target == method]
    headers = [said(n.args[0]) for n in calls]
    if len(set(headers)) < len(headers):
        return None
    for s in statements:
        found = next((n for n in walk(s) if n in calls and n.via is not None), None)
        if found is not None:
            return found if isinstance(s, ast.ExprStmt) and s.call is found else None
        if any(isinstance(n, (ast.If, ast.Switch, ast.For)) for n in walk(s)):
            return None
    return None


def said(e: ast.Expr) -> object:
    """The declaration of the header, or of the stack of headers, that an expression names."""
    while isinstance(e, ast.Index) or isinstance(e, ast.Member) and e.decl in ("next", "last"):
        e = e.base
    return e.decl
