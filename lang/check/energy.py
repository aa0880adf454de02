"""Energy budgets: how long the radio is on at worst, over every path of the handlers that a clock starts.

One run of a handler of period P, with all that its `after` blocks do, keeps the radio on for at most

    within                      if it switches the radio on, or finds it on: whatever it does meanwhile, and whatever interrupts it
  + T + late + ...              if a path ends with the radio on: until the soonest `after` that switches it off on each of
                                its paths has run, and that one's own time. It begins `jitter` late, or as late as others
                                hold it up
  + TX_US                       for each frame that it sends

or, if it never has the radio on, CCA_US for each look at the channel, which wakes one that is off,

and the shares of all handlers of the program add up. What is longer than its period is on all the time. How long others hold up a handler,
and what interrupts take while it runs, only the compiler knows: it asks once more. Handlers of events
have no period: they may not switch the radio on, look at the channel, nor send, in a program with a budget; chains may look and send, which is not counted.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from .. import ast
from ..diagnostics import Diagnostics
from ..hooks import Hook, Promise, RadioPart, longest, number
from ..instances import children, walk
from ..source import Span
from .contexts import RADIO_OFF, RADIO_ON, reached, switches_radio
from .emits import may_reject
from .timing import shown

#: A frame that is sent: turnaround, then SHR, PHR and aMaxPhyPacketSize octets at 250 kbit/s, then macAckWaitDuration of
#: 54 symbols, which nobody answers (IEEE 802.15.4, O-QPSK PHY). Around it the driver loads the frame, learns of its end and lets the radio
#: sleep: 270 us of RIOT's on the emulated board.
TX_US = 192 + (5 + 1 + 127) * 32 + 54 * 16 + 400
#: A look at the channel by a radio that is off: it wakes, listens, looks and sleeps again. As long as the table of helpers declares.
CCA_US = 917
RADIO_SEND, RADIO_CCA = "radio.send", "radio.cca"
PPM = 1_000_000
WAYS = 256                                      # paths that are told apart


@dataclass(frozen=True)
class Way:
    """A path so far. `on`: where the radio was switched on, if it is on; `pending`: the `after` blocks started on it that use
    the radio; `was_on`: it was on at some time; `off`: where it was switched off last; `failed`: the call that ended it, as its deparser rejected."""

    on: ast.Node | None = None
    pending: frozenset[ast.After] = frozenset()
    was_on: ast.Node | None = None
    off: ast.Node | None = None
    failed: ast.Call | None = None


@dataclass(frozen=True)
class Cost:
    """The worst run: microseconds with the radio on, and where that begins and ends. `late`: the `after` blocks in it that others hold up for longer than the jitter."""

    us: int = 0
    on: ast.Node | None = None
    off: ast.Node | None = None
    late: tuple[ast.After, ...] = ()


class Refused(Exception):
    """No bound: what is wrong, where, and what to do."""

    def __init__(self, message: str, node: ast.Node, hint: str, *notes: tuple[str, Span | None]) -> None:
        super().__init__(message)
        self.message, self.span, self.hint, self.notes = message, node.span, hint, list(notes)


def energy(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Checks every budget, and leaves what was found in `program.promises`."""
    if not any(block.energy for block in blocks_of(program)):
        return
    before = diagnostics.errors
    for hook in program.hooks:
        if hook.event not in ("every", "slot", "after"):
            eventful(hook, diagnostics)
    found = promised(program, diagnostics, {})
    if diagnostics.errors == before:
        program.promises = found
        for hook in program.hooks:
            if hook.period:
                deaf(hook, diagnostics)


def deaf(hook: Hook, diagnostics: Diagnostics) -> None:
    """A handler finds the radio off, where there is a budget, and a radio that is off hears nothing."""
    paths = Paths()
    handler = hook.chain[0]
    assert isinstance(handler, ast.Handler)
    paths.of(handler.body, None)
    for call in paths.deaf:
        diagnostics.warning("the radio may be off here, and hears nothing then", call.span, "switch it on first: radio.on()")


def radio_part(module: ast.Module) -> RadioPart:
    """What a module has to do with how long the radio is on."""
    part = RadioPart.SWITCHES if switches_radio(module) else RadioPart(0)
    if isinstance(module, ast.Handler):
        if module.block is not None and any(budget.op == "<" or budget.share < 1 for budget in module.block.energy):
            part |= RadioPart.PROMISES
        if module.kind == "after" and quiets(module):
            part |= RadioPart.QUIETS
    return part


def quiets(body: ast.Handler) -> bool:
    """Whether each path of what finds the radio on ends with it off."""
    try:
        return all(way.on is None for way in Paths().of(body.body, body))
    except Refused:                             # more paths than are told apart
        return False


def blocks_of(program: ast.Program) -> list[ast.Timing]:
    """The timing blocks that run."""
    blocks = (hook.chain[0].block for hook in program.hooks if isinstance(hook.chain[0], ast.Handler))
    return list(dict.fromkeys(block for block in blocks if block is not None))


def promised(program: ast.Program, diagnostics: Diagnostics, waits: Mapping[ast.Handler, int], interrupted: Callable[[int], int] = int) -> list[Promise]:
    """The budgets that hold. `waits`: how long others may hold up bodies of `after` blocks, microseconds; `interrupted`: how long a run of so many microseconds
    lasts with the interrupts that come in it."""
    before = diagnostics.errors
    runs: list[tuple[Hook, Cost]] = []
    for hook in program.hooks:
        if hook.period:
            try:
                runs.append((hook, Handlers(hook, waits, interrupted).worst()))
            except Refused as e:
                diagnostics.error(e.message, e.span, e.hint, notes=e.notes)
    if diagnostics.errors > before:
        return []
    found: list[Promise] = []
    share = min(sum((Fraction(cost.us, hook.period) for hook, cost in runs), Fraction(0)), Fraction(1))      # it is not on for more than all the time
    on = [(hook, cost.us) for hook, cost in runs if cost.us]
    for block in blocks_of(program):
        for budget in block.energy:
            if share > budget.share or budget.op == "<" and share == budget.share:
                exceeded(budget, share, runs, waits, diagnostics)
            else:
                found.append(Promise(block.name, int(budget.share * PPM), int(-(-share * PPM // 1)), on))
    return found


def exceeded(budget: ast.EnergyBudget, share: Fraction, runs: list[tuple[Hook, Cost]], waits: Mapping[ast.Handler, int], diagnostics: Diagnostics) -> None:
    notes: list[tuple[str, Span | None]] = []
    for hook, cost in sorted(runs, key=lambda run: -Fraction(run[1].us, run[0].period)):
        if not cost.us:
            continue
        times = f"{shown(cost.us)} of {shown(hook.period)}, by '{hook.chain[0].name}'"
        notes.append((f"it is on for up to {times}" + (": from here" if cost.on is not None else ", which sends"), cost.on.span if cost.on is not None else hook.span))
        if cost.off is not None:
            notes.append(("to here", cost.off.span))
        notes += [(f"which may begin {shown(waits[after.handler])} late, while others run", after.span) for after in cost.late if after.handler is not None]
    total = "all the time" if share >= 1 else f"{percent(share)} of the time"
    diagnostics.error(f"the radio may be on {total}, and {budget.op} {budget.text} % is promised", budget.span,
                      "make the times shorter or the periods longer", notes=notes)


def percent(share: Fraction) -> str:
    """Rounded up to hundredths of a percent, to millionths of the time below one percent, with the digits it takes."""
    parts = 100 if share >= Fraction(1, 100) else 10_000
    return f"{int(-(-share * 100 * parts // 1)) / parts:g} %"


def eventful(hook: Hook, diagnostics: Diagnostics) -> None:
    """What runs whenever an event comes has no share of the time."""
    for module in hook.chain:
        forbidden = (RADIO_ON, RADIO_CCA, RADIO_SEND) if isinstance(module, ast.Handler) else (RADIO_ON,)
        nodes = list(reached(module))
        for after in afters(module) if isinstance(module, ast.Handler) else ():
            nodes += reached(after.handler) if after.handler is not None else ()
        for node in nodes:
            if isinstance(node, ast.Call) and node.target in forbidden:
                diagnostics.error(f"{node.target}() runs here as often as {hook.event} happens, for which there is no energy budget", node.span,
                                  "a program with a budget does that in the handlers of every and slot, and in their after blocks",
                                  notes=[(f"{hook.event} is handled here", hook.span)])


def afters(handler: ast.Handler) -> Iterator[ast.After]:
    """All `after` blocks below a handler."""
    return (node for node in walk(handler.body) if isinstance(node, ast.After))


class Handlers:
    """One handler that a clock starts, with its `after` blocks."""

    def __init__(self, hook: Hook, waits: Mapping[ast.Handler, int], interrupted: Callable[[int], int] = int) -> None:
        assert isinstance(hook.chain[0], ast.Handler)
        self.root, self.jitter, self.waits, self.interrupted = hook.chain[0], hook.jitter, waits, interrupted
        self.known: dict[tuple[ast.Handler, bool], Cost | Refused] = {}

    def worst(self) -> Cost:
        """Of one run and what it starts. Raises Refused."""
        return self.cost(self.root, None)

    def cost(self, handler: ast.Handler, on: ast.Node | None) -> Cost:
        """`on`: where the radio was switched on that is on when the handler begins."""
        key = handler, on is not None
        if key not in self.known:
            try:
                self.known[key] = self.compute(handler, on)
            except Refused as e:
                self.known[key] = e
        found = self.known[key]
        if isinstance(found, Refused):
            raise found
        return found

    def compute(self, handler: ast.Handler, on: ast.Node | None) -> Cost:
        paths = Paths()
        ends = paths.of(handler.body, on)
        looks = most(handler.body, lambda call: call in paths.deaf)
        costs = [self.of_way(handler, way, on, looks, next(iter(paths.deaf), None)) for way in ends]
        worst = max(costs, key=lambda cost: cost.us, default=Cost())
        return replace(worst, us=worst.us + TX_US * most(handler.body, lambda call: call.target == RADIO_SEND))

    def of_way(self, handler: ast.Handler, way: Way, on: ast.Node | None, looks: int, look: ast.Call | None) -> Cost:
        """`looks`: how often a run looks at the channel at most where the radio may be off, first of all at `look`."""
        us, off = self.interrupted(min(CCA_US * looks, number(handler.within) or CCA_US * looks)), way.off
        late: tuple[ast.After, ...] = ()
        if way.was_on is not None:
            us = self.interrupted(number(handler.within))
            if not us:
                raise Refused(f"how long '{self.root.name}' may take is not known", handler, "the radio is on meanwhile: give it a deadline, as in within 1 ms",
                              ("it is switched on here", way.was_on.span))
        rest = set(way.pending)
        if way.on is not None:
            until = self.switched_off(way, handler, on)
            rest.discard(until)
            after = self.cost(until.handler, way.on)                        # type: ignore[arg-type]
            if until.delay.const is None and until.most is None:
                raise Refused("how long this waits is not known", until.delay, "the radio is on meanwhile: say how long at most, as in after wait max 10 ms { ... }",
                              ("it is switched on here", way.on.span))
            wait = self.waits.get(until.handler, 0)                         # type: ignore[arg-type]
            us += longest(until) + max(self.jitter, wait) + after.us
            off, late = after.off, (*((until,) if wait > self.jitter else ()), *after.late)
        us += sum(max(self.started(after, None), self.started(after, after)) for after in rest)
        return Cost(us, way.was_on or look or next((self.cost(one.handler, None).on for one in rest if one.handler is not None), None), off, late)

    def started(self, after: ast.After, on: ast.Node | None) -> int:
        """What an `after` costs that is not the one which switches off: with the radio on, what it leaves on is not its own."""
        try:
            return self.cost(after.handler, on).us                          # type: ignore[arg-type]
        except Refused:
            if on is None:
                raise
            return 0

    def switched_off(self, way: Way, handler: ast.Handler, on: ast.Node | None) -> ast.After:
        """The soonest `after` that switches the radio off on each of its paths. `on`: as for cost()."""
        assert way.on is not None
        bounds: list[tuple[int, int, ast.After]] = []
        sometimes: list[Refused] = []           # of those that switch it off on some of their paths
        for place, after in enumerate(sorted(way.pending, key=lambda one: (one.span.line, one.span.column))):
            try:
                bounds.append((longest(after) + self.cost(after.handler, way.on).us, place, after))     # type: ignore[arg-type]
            except Refused as e:
                if "deadline" in e.hint:
                    raise
                if any(isinstance(one, ast.Call) and one.target == RADIO_OFF for one in below(after)):
                    sometimes.append(e)
        if not bounds and sometimes:
            raise sometimes[0]
        if not bounds and way.on is on and way.failed is None:
            raise Refused(f"a path of '{self.root.name}' leaves the radio on here", left_on(handler.body, on),
                          "switch it off on every path of this after, or start another one that does: after 10 ms { radio.off(); }",
                          ("it is switched on here", on.span))
        if not bounds:
            raise Refused(f"a path of '{self.root.name}' leaves the radio on", way.on,
                          "switch it off on every path, or start an after that does: after 10 ms { radio.off(); }",
                          *[(f"the run ends here if '{way.failed.callee.name}' cannot emit", way.failed.span)] if way.failed is not None else [])
        return min(bounds)[2]


class Paths:
    """Every path of a body, as ways from its beginning to its ends."""

    def __init__(self) -> None:
        self.left: list[set[Way]] = [set()]     # by `return`, of the handler and of functions put in line
        self.deaf: dict[ast.Call, None] = {}    # that listen to the channel, on a path where it may be off
        self.known: dict[tuple[ast.Function, frozenset[Way]], set[Way]] = {}    # behind a function, by the ways that lead to it

    def of(self, body: ast.Block, on: ast.Node | None) -> set[Way]:
        return self.run(body, {Way(on, was_on=on)}) | self.left[0]

    def run(self, node: ast.Stmt | None, ways: set[Way]) -> set[Way]:
        if node is None or not ways:
            return ways
        match node:
            case ast.Block():
                for one in node.statements:
                    ways = self.run(one, ways)
            case ast.If():
                ways = self.expression(node.cond, ways)
                ways = self.run(node.then, ways) | self.run(node.otherwise, ways)
            case ast.Switch():
                ways = self.expression(node.value, ways)
                ends = [self.run(block, ways) for _, block in node.cases if block is not None]
                default = any(isinstance(label, ast.DontCare) for labels, _ in node.cases for label in labels)
                ways = set().union(*ends) if default and node.cases[-1][1] is not None else ways.union(*ends)
            case ast.For():
                ways = self.loop(node, ways)
            case ast.Return():
                self.left[-1] |= self.expression(node.value, ways)
                return set()
            case ast.After():
                ways = self.expression(node.delay, ways)
                if any(isinstance(one, ast.Call) and one.target in (RADIO_ON, RADIO_OFF, RADIO_CCA, RADIO_SEND) for one in below(node)):
                    ways = {replace(way, pending=way.pending | {node}) for way in ways}
            case ast.Assign():
                ways = self.expression(node.target, self.expression(node.value, ways))
            case ast.VarDecl():
                ways = self.expression(node.init, ways)
            case ast.ExprStmt():
                ways = self.expression(node.call, ways)
        return few(ways)

    def loop(self, node: ast.For, ways: set[Way]) -> set[Way]:
        """Until no turn brings a new way."""
        turns = number(node.high) - number(node.low)
        seen = self.run(node.body, ways) if turns > 0 else ways
        for _ in range(turns - 1):
            more = seen | self.run(node.body, seen)
            if more == seen:
                break
            seen = more
        return seen

    def expression(self, e: ast.Expr | None, ways: set[Way]) -> set[Way]:
        """The calls in it, in order; where a part of it may not be evaluated, also the way without."""
        maybe = any(isinstance(one, ast.Conditional) or isinstance(one, ast.Binary) and one.op in ("&&", "||") for one in walk(e))
        for call in calls(e):
            after = self.call(call, ways)
            ways = after | ways if maybe else after
        return ways

    def call(self, call: ast.Call, ways: set[Way]) -> set[Way]:
        if call.target == RADIO_ON:
            return {replace(way, on=way.on or call, was_on=way.was_on or call) for way in ways}
        if call.target == RADIO_CCA and any(way.on is None for way in ways):
            self.deaf[call] = None
        if call.target == RADIO_OFF:
            return {replace(way, on=None, off=call) for way in ways}
        if isinstance(call.target, ast.Function):
            key = call.target, frozenset(ways)
            if key not in self.known:
                self.left.append(set())
                behind = self.run(call.target.body, ways)
                self.known[key] = behind | self.left.pop()
            ways = self.known[key]
        for sent in call.args:
            if isinstance(sent, ast.Call) and isinstance(sent.target, ast.Deparser) and may_reject(sent.target):
                self.left[0] |= {replace(way, failed=sent) for way in ways}
        return ways


def left_on(body: ast.Block, on: ast.Node) -> ast.Node:
    """The innermost choice behind which the radio is on or off, by how it falls; else the whole."""
    found: ast.Node = body
    for node in walk(body):
        if isinstance(node, (ast.If, ast.Switch)) and len({way.on is None for way in Paths().run(node, {Way(on)})}) > 1:
            found = node
    return found


def calls(e: object) -> Iterator[ast.Call]:
    """The calls of an expression as they are evaluated: arguments first."""
    if isinstance(e, (list, tuple)):
        for one in e:
            yield from calls(one)
    elif isinstance(e, ast.Node):
        for name in children(type(e)):
            yield from calls(getattr(e, name))
        if isinstance(e, ast.Call):
            yield e


def few(ways: set[Way]) -> set[Way]:
    """Where there are too many, those stand for all that differ in nothing but where they switched."""
    if len(ways) <= WAYS:
        return ways
    ways = set({(way.on is None, way.was_on is None, way.pending): way for way in ways}.values())
    if len(ways) > 16 * WAYS:
        node = next(iter(ways)).pending
        raise Refused("this handler has too many ways to switch the radio", next(iter(node)), "make it two handlers")
    return ways


def below(after: ast.After) -> Iterator[ast.Node]:
    """What runs in an `after`, and in those that it starts."""
    todo, seen = [after.body], {after.body}
    while todo:
        for node in walk(todo.pop()):
            yield node
            if isinstance(node, ast.Call) and isinstance(node.target, ast.Function) and node.target.body not in seen:
                seen.add(node.target.body)
                todo.append(node.target.body)


def most(node: object, counted: Callable[[ast.Call], bool], known: dict[ast.Function, int] | None = None) -> int:
    """How many such calls a run makes at most, without those of its `after` blocks. `known`: of functions."""
    known = {} if known is None else known
    match node:
        case None:
            return 0
        case ast.After():
            return most(node.delay, counted, known)
        case ast.If():
            return most(node.cond, counted, known) + max(most(node.then, counted, known), most(node.otherwise, counted, known))
        case ast.Switch():
            return most(node.value, counted, known) + max((most(block, counted, known) for _, block in node.cases), default=0)
        case ast.For():
            return max(number(node.high) - number(node.low), 0) * most(node.body, counted, known)
        case ast.Block():
            return sum(most(one, counted, known) for one in node.statements)
        case ast.Assign():
            return most(node.value, counted, known) + most(node.target, counted, known)
        case ast.VarDecl():
            return most(node.init, counted, known)
        case ast.Return():
            return most(node.value, counted, known)
        case ast.ExprStmt():
            return most(node.call, counted, known)
        case ast.Expr():
            total = 0
            for one in walk(node):
                if isinstance(one, ast.Call) and isinstance(one.target, ast.Function):
                    if one.target not in known:
                        known[one.target] = most(one.target.body, counted, known)
                    total += known[one.target]
                elif isinstance(one, ast.Call):
                    total += counted(one)
            return total
    return 0
