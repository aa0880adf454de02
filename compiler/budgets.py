"""Energy budgets of a compiled program, with how long its handlers wait for one another on the node, and for interrupts (waits.py)."""
from __future__ import annotations

import math

from lpn.lang import ast
from lpn.lang.check.energy import promised
from lpn.lang.diagnostics import Diagnostics

from .build import Compiled
from .deadlines import Times, times
from .judge import Sealed
from .waits import SHORTEST_FRAME_US, interrupted, interrupts


def settle(compiled: Compiled, timed: Times) -> Diagnostics:
    """Leaves in `compiled` what is proved of its budgets; says what is not. `timed`: of its hooks."""
    diagnostics = Diagnostics()
    if not compiled.program.promises:
        return diagnostics
    waits: dict[ast.Handler, int] = {}
    interrupt = sum(time.us(time.cost.most) if time.cost is not None else math.inf for time in timed.hooks if time.hook.context == "isr")
    if interrupts(0, interrupt) is None and (handler := next((hook.chain[0] for each in compiled.program.promises for hook, _ in each.runs), None)) is not None:
        diagnostics.error(f"how long interrupts hold up '{handler.name}' is not known, and a budget counts it", handler.span, why_not(timed))
        return diagnostics
    for (hook, _), time in zip(compiled.hooks, timed.hooks):
        if hook.event == "after" and isinstance(handler := hook.chain[0], ast.Handler):
            if time.wait is None:
                diagnostics.error(f"how long '{handler.name}' may wait is not known, and a budget counts it", handler.span, why_not(timed))
                return diagnostics
            waits[handler] = math.ceil(time.wait.us)
    found = promised(compiled.program, diagnostics, waits, lambda us: math.ceil(interrupted(us, interrupt)) if us else 0)
    for error in diagnostics.items:
        error.notes += [(f"an interrupt counts, too, each {SHORTEST_FRAME_US} us: this one takes {math.ceil(time.us(time.cost.most))} us", hook.chain[0].span)
                        for (hook, _), time in zip(compiled.hooks, timed.hooks) if hook.context == "isr" and time.cost is not None]
    if not diagnostics.errors:
        compiled.promises = found
        compiled.reseal()
    return diagnostics


def proved(done: Sealed) -> bool:
    """Whether all is proved on a node that translates, as for `build`; leaves in what was compiled what is proved of its budgets."""
    timed = times(done.units, done.found)
    return not (done.refused() or timed.violations or settle(done.compiled, timed).items)


def why_not(timed: Times) -> str:
    """Why nobody knows how long others take."""
    unknown = [f"the time of {name} is not known: {why}" for name, why in timed.unknown.items()]
    return "; ".join(unknown) or "its interrupts take as long as the shortest frame: make them shorter"
