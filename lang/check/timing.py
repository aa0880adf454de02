"""Timing blocks: handlers, what they may say of time, and what they see."""
from __future__ import annotations

from .. import ast, builtins
from ..handler_names import started_by, started_in
from ..hooks import BOUND, EVENTS, HANDLED, SLOT_US, TIME_MAX, handler_of
from ..times import unit_of
from ..types import Bits, Frame, Type, Void
from .base import Base, plural
from .scope import Scope, suggest


BUDGET = "radio.on"                             # what an energy block can bound
DIGITS = 4                                      # of a percentage, behind the point: budgets are kept in millionths


class Timings(Base):
    handler: ast.Handler | None = None          # whose body is checked

    def timing_body(self, timing: ast.Timing) -> None:
        with self.inside(Scope(self.globals)), self.setting(module=timing, returns=Void()):
            for local in timing.locals:
                if isinstance(local, ast.VarDecl):
                    self.error(f"'{local.name}' would be gone when its handler ends", local,
                               "keep it in a register")
                elif isinstance(local, ast.ConstDecl):
                    self.statement(local)
                elif isinstance(local, ast.Decl):
                    self.ensure_local(local)
                    self.declare_variable(local.name, local)
            first: dict[object, ast.Handler] = {}
            for handler in timing.handlers:
                key = self.occasion(handler)
                handler.name = started_by(timing, handler, names_of(timing))
                handler.block = timing
                old = first.setdefault(key, handler) if key is not None else handler
                if old is not handler:
                    self.error(f"{handler.event or 'this slot'} is handled twice in '{timing.name}'", handler.span,
                               "make one handler of the two", notes=[("the first one is here", old.span)])
                self.handler_body(handler)
            for budget in timing.energy:
                self.budget(timing, budget)

    def budget(self, timing: ast.Timing, budget: ast.EnergyBudget) -> None:
        """What `energy` may say; whether it holds is computed when everything else is right (energy.py)."""
        limit = self.constant_number(budget.limit, "a share of the time")
        if budget.name != BUDGET:
            self.error(f"there is no budget for '{budget.name}'", budget, f"there is one for {BUDGET}")
        elif not budget.percent:
            self.error("a share of the time is in percent", budget.limit, f"write {BUDGET} {budget.op} {limit} %")
        elif len(budget.digits) > DIGITS:
            self.error(f"a share of the time has at most {DIGITS} digits behind the point", budget, "as in 0.5 %, or 0.0125 %")
        elif limit is not None and not 0 <= budget.share <= 1:
            self.error("a share of the time is 0 % to 100 %", budget.limit)
        elif budget is not timing.energy[0]:
            self.error(f"'{timing.name}' has two budgets for {BUDGET}", budget, "keep the smaller one")

    def occasion(self, handler: ast.Handler) -> object | None:
        """What starts the handler, checked; None where nothing else can be the same, or it is wrong."""
        within = self.time(handler.within, "a deadline")
        if handler.kind == "every":
            self.period(handler, within)
            return None
        if handler.kind == "slot":
            return self.slot(handler, within)
        assert handler.event is not None
        if handler.event not in HANDLED:
            once = "every T { ... } begins at the start; what is done once asks a register" if handler.event in ("boot", "start", "startup", "init", "power_on", "reset") else ""
            hint = once or suggest(handler.event, HANDLED) or f"there are {', '.join(HANDLED)}"
            if handler.event in BOUND:
                self.error(f"{handler.event} is not for timing blocks", handler.span, "bind a chain to it in the protocol")
            else:
                self.error(f"there is no hook '{handler.event}'", handler.span, hint)
            return None
        return handler.event

    def period(self, handler: ast.Handler, within: int | None) -> None:
        period = self.time(handler.period, "a period")
        jitter = self.time(handler.jitter, "jitter", 0)
        if period is None:
            return
        if jitter is not None and jitter > period:
            self.error(f"a jitter of {shown(jitter)} is longer than the period, {shown(period)}", handler.jitter or handler)
        elif within is not None and (jitter or 0) + within > period:
            late = f"up to {shown(jitter)} late and " if jitter else ""
            self.error(f"a run that is {late}{shown(within)} long is not over when the next one is due, after {shown(period)}",
                       handler.within or handler, "a hook has one pending run: the next would be lost")

    def slot(self, handler: ast.Handler, within: int | None) -> tuple[int, int] | None:
        assert handler.slot is not None and handler.period is not None
        n, m = self.constant_number(handler.slot, "a slot"), self.constant_number(handler.period, "the number of slots")
        most = TIME_MAX // SLOT_US
        if m is not None and not 1 <= m <= most:
            self.error(f"a slotframe has 1 to {most} slots", handler.period)
        elif n is not None and m is not None and not 0 <= n < m:
            self.error(f"there is no slot {n} of {m}", handler.slot, f"they are numbered from 0 to {m - 1}")
        elif within is not None and within > SLOT_US:
            self.error(f"a slot is over after {shown(SLOT_US)}, and this deadline is {shown(within)}", handler.within or handler)
        return None if n is None or m is None else (n, m)

    def time(self, e: ast.Expr | None, what: str, least: int = 1) -> int | None:
        """A constant time in microseconds; what is no time is told."""
        value = self.constant_number(e, what) if e is not None else None
        if e is None or value is None:
            return None
        if not least <= value <= TIME_MAX:
            self.error(f"{what} is {least} us to {TIME_MAX // 1_000_000} s, and this is {value} us", e)
            return None
        self.unit_of(e)
        return value

    # ------------------------------------------------------------ bodies

    def handler_body(self, handler: ast.Handler) -> None:
        with self.inside(Scope(self.scope)), self.setting(handler=handler):
            event = EVENTS.get(handler.event or "")
            gives = event.gives if event is not None else ""
            if len(handler.params) > (1 if gives else 0) and event is not None:
                takes = f"gives one thing, its {gives}" if gives else "gives nothing"
                self.error(f"{handler.event} {takes}, and {plural(len(handler.params), 'name')} {'is' if len(handler.params) == 1 else 'are'} here",
                           handler.span, f"write on {handler.event}{f'({gives})' if gives else ''} {{ ... }}")
            for param in handler.params:
                param.type = param.type_ref.type = Frame() if gives == "frame" else Bits(8)
                if param.name not in builtins.NAMES:
                    self.declare_variable(param.name, param)
                elif gives and len(handler.params) == 1:
                    self.no_selector(handler, param, gives)
            with self.inside(Scope(self.scope)):
                self.statements(handler.body.statements)

    def no_selector(self, handler: ast.Handler, param: ast.Param, gives: str) -> None:
        """Names of results, as a protocol's binding has them, where the handler's parameter is named."""
        self.error(f"'{param.name}' is a name of the language, and a handler's parameter is a new one, for the {gives}", param,
                   f"write {handler_of(handler.event or '', param.name)}")
        self.scope.names[param.name] = param

    def _stmt_After(self, one: ast.After) -> None:
        """The body runs later, as a handler of its own: it sees the block, and nothing of the handler around."""
        self.delay(one)
        outer, timing = self.handler, self.module
        if outer is None or not isinstance(timing, ast.Timing) or self.function is not None:
            self.error("'after' is for the handlers of a timing block", one, "move it into a timing block")
            return
        name = started_in(timing, outer, one, names_of(timing))
        one.handler = ast.Handler(one.span, "after", None, [], None, None, outer.within, one.body, name=name, block=timing)
        timing.afters.append(one)
        visible = self.scope
        while visible.parent is not self.globals and visible.parent is not None:
            visible = visible.parent
        with self.setting(hidden=(*self.hidden, self.scope), turns=1), self.inside(visible):
            self.handler_body(one.handler)

    def delay(self, one: ast.After) -> None:
        """A constant time, or a number of microseconds that a run computes, of which `max` says how many they are at most."""
        self.expr(one.delay, Bits(32))
        constant = one.delay.const is not None
        if constant:
            self.time(one.delay, "a delay")
        else:
            self.convert(one.delay, Bits(32), "a delay")
        self.time(one.most, "the longest delay")
        if constant and one.most is not None:
            self.error("max is for a delay that is computed, and this one is a constant", one.most, "leave out max")

    def frame_member(self, e: ast.Member) -> Type | None:
        """A member of the `frame` that a handler is given: only what is known when it runs."""
        if e.name not in builtins.FRAME:
            self.error(f"a frame has no '{e.name}'", e, suggest(e.name, builtins.FRAME) or f"it has {', '.join(builtins.FRAME)}")
            return None
        event = self.handler.event if self.handler is not None else None
        known = EVENTS[event].members if event in EVENTS else ()
        if e.name not in known:
            self.error(f"frame.{e.name} is not known at {event}", e, f"there is frame.{', frame.'.join(known)}; the others at radio.rx_done")
            return None
        e.decl = e.name
        return builtins.FRAME[e.name]


def names_of(timing: ast.Timing) -> set[str]:
    """Of the handlers that have one already."""
    return {one.name for one in (*timing.handlers, *(after.handler for after in timing.afters)) if one is not None}


def shown(us: int) -> str:
    """A time in the unit that a person would take: `300 us`, `11.1 ms`, `2 s`."""
    unit, size = unit_of(us)
    text = f"{us // size}.{us % size:0{len(str(size)) - 1}}" if size > 1 else str(us)
    return f"{text.rstrip('0').rstrip('.') if size > 1 else text} {unit}"
