"""The usual packet first: what the description's own order calls usual is lowered on its own, straight down.

A codec's rows stand in the order in which a compressor tries them, a header has its usual shapes (`shapes.py`), a `select` its
first case. A parser, and a deparser, is lowered once for packets that are all of that: whole words are compared, no bit
field is tested on its own, every offset is a constant, and what follows knows it. Whatever is not as guessed goes to where the
general lowering begins, anew, or, from the first codec on, to where that comes to it (`meeting.py`): no effect before the end of a deparser,
or of a parser that writes nothing into the packet, is one that a second run does not repeat. What a guess extracts it holds in variables,
whatever the form: the record stays as it was until the guess is known to be right.

Of a chain that is to be short code one guess is made, and it is brief: it is of one shape, and ends behind the rows of the first codec, where it joins
what is lowered for everything.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import llvmlite.ir as ir

from lpn.compiler.bits import Val
from lpn.compiler.layout import RecordLayout
from lpn.lang import ast
from lpn.lang.effects import effects
from lpn.lang.instances import walk
from lpn.lang.types import HeaderType

from .circles import Circles
from .instance import Instance
from .meeting import Arrived, Elsewhere, Known, Meeting, Meetings, common, meeting_of
from .shapes import Shape, shapes

FEW_ROWS = 8                                    # a codec with no more is not worth a guess of its own
MOST_GUESSED = 1000                             # nodes of a parser or deparser with its codecs: a guess is a copy of a part of it
MOST_NODES = 400                                # of the modules behind a parser that are lowered for each guess anew


@dataclass(frozen=True)
class Plan:
    """What a parser or deparser is guessed to find: one of so many shapes, all of which meet at the first codec."""

    shapes: int = 0
    meeting: ast.Call | None = None
    brief: bool = False                         # and no further than that codec


class Guesses(Meetings):
    """Mixed into `Lowering`. `miss`: while something is guessed, where packets go that are otherwise; `guess`: which of the
    shapes that headers usually have; `has_guessed`: whether short code has."""

    miss: ir.Block | None = None
    has_guessed = False
    guess = 0
    touched: dict[Instance, None]               # what a guess has changed of headers

    def usual_first(self, plan: Plan, lower: Callable[[], None]) -> None:
        """Runs `lower` once for each guess, then for everything. It ends each of its ways; behind what is guessed, it
        says `end_guess`."""
        around, outer = self.touched, self.meeting_point        # a deparser's guesses lie within those of its parser
        meeting = self.meeting_point = Meeting(plan.meeting.via.args if plan.meeting is not None else None, plan.brief)
        self.has_guessed |= plan.shapes > 0
        anew = None
        for self.guess in range(plan.shapes):
            anew = self.miss = self.b.append_basic_block("unusual")
            touched = self.touched = {}
            meeting.waited_for = self.guess < plan.shapes - 1
            with suppress(Elsewhere):
                lower()
            self.end_guess()
            if not meeting.waited_for and not meeting.brief:
                self.not_met(anew)
            if meeting.unusual is not None:
                meeting.arrived, meeting.unusual = [self.kept_back(meeting.unusual, plan.shapes)], None
            self.b.position_at_end(anew)
            if not meeting.brief:
                self.mark()                     # what the guess read is read again, not kept for this
            self.forget(touched)
            around.update(touched)
        self.touched = around
        lower()
        if anew is not None:
            self.not_met(anew)
        self.meeting_point = outer

    def worth_it(self, plan: Plan) -> Plan:
        """What of a plan is guessed in this form: nothing where each access is tested by itself. Of a chain that is to be short code, what one codec says, once,
        and what follows is the same for all; nothing where guesses do not meet at one."""
        if not self.target.window:
            return Plan()
        if not self.target.small:
            return plan
        if plan.meeting is None or self.record_in_memory or self.has_guessed:
            return Plan()
        return replace(plan, shapes=1, brief=True)

    def kept_back(self, unusual: Arrived, guessed: int) -> Arrived:
        """What was not as guessed behind the meeting has nothing but the headers in front of it, which have one of so many shapes."""
        self.b.position_at_end(unusual.block)
        self.mark()
        self.forget(inst for inst in self.touched if inst not in unusual.headers)
        for inst in unusual.headers:
            self.place_again(inst, shapes(inst.layout)[:guessed])
        return unusual

    def forget(self, touched: Iterable[Instance]) -> None:
        """What a guess extracted was wrong."""
        for inst in self.instances.values():
            inst.known = None
        for inst in touched:                    # a parser's own headers among them
            inst.known = None
            inst.begin_anew()

    def end_guess(self) -> None:
        self.miss = None

    def keep_headers(self, in_memory: bool) -> None:
        """Where headers that are named from here on live: in the record, or in variables until `publish`, if they fit there."""
        self.record_in_memory = self.images_in_memory = in_memory or self.guessed_in_memory
        self.instances = {}

    @contextmanager
    def one_way(self) -> Iterator[None]:
        """What is done on one way of a guess leaves the others in it as they are."""
        before = self.miss, self.record_in_memory, self.images_in_memory, self.instances
        yield
        self.miss, self.record_in_memory, self.images_in_memory, self.instances = before

    def publish(self) -> None:
        """What a guess held in variables goes into the record, which is all zeros: a wrong guess has left nothing there."""
        if self.record_in_memory:
            return
        found = [inst for inst in self.touched if not inst.local]
        self.keep_headers(in_memory=True)
        for inst in found:
            self.instance(inst.inst.field, inst.inst.index).become(inst, inst.written)

    def usual_shape(self, inst: Instance) -> Shape | None:
        """That of a header whose shape is guessed."""
        found = shapes(inst.layout) if self.miss is not None else []
        return found[min(self.guess, len(found) - 1)] if found else None

    def as_guessed(self, cond: ir.Value, alone: bool = False) -> None:
        """Goes on where the condition holds, else the guess was wrong. `alone`: a test that LLVM must not join with others,
        because a verifier is to see it: behind it stands something of its own, which is no instruction."""
        assert self.miss is not None
        if isinstance(cond, ir.Constant) and cond.constant:
            return
        b = self.b
        ok, wrong = b.append_basic_block("usual"), self.miss
        if alone:
            wrong = b.append_basic_block("unusual")
        self.likely(b.cbranch(cond, ok, wrong))
        if alone:
            b.position_at_end(wrong)
            self.mark()
            b.branch(self.miss)
        b.position_at_end(ok)

    def guess_shape(self, inst: Instance, shape: Shape, word: Val) -> None:
        """Compares the header's first unit with the shape; from here on its bits are known."""
        masked = self.and_(word, self.constant(word.width, shape.mask))
        self.as_guessed(self.eq(masked, self.constant(word.width, shape.value)))
        inst.known = shape.mask, shape.value

    @contextmanager
    def on_some_ways(self, several: bool = True) -> Iterator[None]:
        """What is learned here of the bits of headers is known where it is lowered, and not behind it: there are other ways to there."""
        before = self.known_units() if several else {}
        yield
        if several:
            for inst, found in self.known_units().items():
                inst.known = common([before.get(inst), found])

    def known_units(self) -> dict[Instance, Known | None]:
        return {inst: inst.known for inst in [*self.instances.values(), *self.touched]}

    def forget_assigned(self) -> None:
        """At a parser's end: what is known of headers that modules assign does not stay true."""
        changed = {e.instance for e in effects(self.program) if e.kind not in ("extract", "emit")}
        for inst in self.instances.values():
            if inst.inst.field in changed:
                inst.known = None

    def usual_rows(self, codec: ast.Codec, group: ast.Group) -> list[ast.Row]:
        """The rows of a group that are guessed: the first one, and others like it. In a short codec these are all that say
        the same fields, in a long one those that say constants as the first does."""
        if self.miss is None:
            return group.rows
        first = group.rows[0]
        same = [r for r in group.rows if self.row_fields(r) == self.row_fields(first)]
        if rows_of(codec) <= FEW_ROWS:
            return same
        return [r for r in same if says_constants(r)] if says_constants(first) else [first]


# ---------------------------------------------------------------- what is worth a guess


def rows_of(codec: ast.Codec) -> int:
    return sum(len(group.rows) for group in codec.groups)


def says_constants(row: ast.Row) -> bool:
    return all(isinstance(item, ast.RowAssign) and item.value.const is not None for item in row.items)


def usual_case(state: ast.State) -> ast.SelectCase | None:
    """The case of a state's transition that is guessed: the first that does not reject."""
    if state.transition is None:
        return None
    return next((case for case in state.transition.cases if case.target != "reject"), None)


def parser_guesses(p: ast.Parser, record: RecordLayout) -> Plan:
    """What is guessed of a parser: nothing unless its usual way expands a long codec. A way with loops is no usual one."""
    if nodes(p) > MOST_GUESSED:
        return Plan()
    seen: list[ast.State] = []
    state: ast.State | None = next(s for s in p.states if s.name == "start")
    while state is not None:
        if state in seen or state.max is not None:
            return Plan()
        seen.append(state)
        case = usual_case(state)
        state = case.state if case is not None else None
    plan = planned([s for state in seen for s in state.statements], "extract", record)
    if plan.meeting is not None:
        circles = Circles(p.states, ())
        if any(circles.around(state, frozenset()) for state in seen if plan.meeting in walk(state.statements)):
            return Plan(1)                      # what comes to the codec from a guess would be one more entry of a loop
    return plan


def deparser_guesses(d: ast.Deparser, record: RecordLayout) -> Plan:
    """The same of a deparser, which is guessed to emit each of its headers; of stacks there is no usual number."""
    emits = [n for n in walk(d.body) if isinstance(n, ast.Call) and n.target == "emit"]
    if nodes(d) > MOST_GUESSED or any(not isinstance(e.args[0].type, HeaderType) for e in emits):
        return Plan()
    return planned(d.body.statements, "emit", record)


def planned(body: list[ast.Stmt], method: str, record: RecordLayout) -> Plan:
    calls = [n for n in walk(body) if isinstance(n, ast.Call) and n.target == method]
    if any(isinstance(n, ast.For) for n in walk(body)):
        return Plan()
    if not any(c.via is not None and rows_of(c.via.codec) > FEW_ROWS for c in calls):
        return Plan()
    headers = [c.args[0].type.decl for c in calls if c.via is None and isinstance(c.args[0].type, HeaderType)]
    meeting = meeting_of(body, method)
    return Plan(max([1, *(len(shapes(record.header(h))) for h in headers)]), meeting) if meeting is not None else Plan(1)


def is_short(modules: list[ast.Module]) -> bool:
    """Whether modules are lowered for each guess of the parser before them; else all ways meet behind it."""
    return sum(map(nodes, modules)) <= MOST_NODES


def nodes(module: ast.Module) -> int:
    """Of a module and the codecs that it names."""
    codecs = [n.via.codec for n in walk(module) if isinstance(n, ast.Call) and n.via is not None]
    return sum(1 for part in (module, *codecs) for _ in walk(part))
