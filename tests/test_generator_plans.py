"""What some generated programs are made for (compiler/generate_plans.py) is what is lowered in them."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count

import pytest

from lpn.compiler.forms import MOST, Form
from lpn.compiler.fuzz import checked
from lpn.compiler.generate import RandomChoose
from lpn.compiler.generate_modules import Generator
from lpn.compiler.generate_plans import AGAIN, CIRCLES, COPY, GUESS, LOOKUP, MEET, PLANS, SUM
from lpn.compiler.lower import modules
from lpn.compiler.lower.base import Lowering
from lpn.compiler.lower.circles import Circles
from lpn.compiler.lower.modules import ProgramLowering
from lpn.compiler.target import TARGETS
from lpn.lang import ast

PROGRAMS = 16
#: In how many of these programs the way of lowering is met at least: a search in a deparser's guess, a varbit that is summed, what a parser's guess was
#: wrong about going on where guesses of two shapes met.
OFTEN = {LOOKUP: 5, AGAIN: 10, GUESS: 6, SUM: 6, CIRCLES: 5, MEET: 5, COPY: 12}


def programs(plan: str) -> list[ast.Program]:
    found: list[ast.Program] = []
    for seed in count(36000):
        generator = Generator(RandomChoose(seed))
        text = generator.program().text
        if generator.plan == plan:
            found.append(checked(text))
            if len(found) == PROGRAMS:
                return found


def met(plan: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Watches the lowering; tells whether the plan's own way was gone since it was asked last."""
    seen: list[bool] = []
    entries: dict[ast.State, set] = {}

    def watch(where: object, name: str, says: Callable) -> None:
        lower = getattr(where, name)

        def watched(*args):
            result = lower(*args)
            seen.append(says(args, result))
            return result

        monkeypatch.setattr(where, name, watched)

    def entered_anew(args, circles) -> bool:
        _of, state, _before = args
        entries.setdefault(state, set()).add(circles)
        return len(entries[state]) > 1

    def searched(args, _) -> bool:
        low, variable = args
        return low.miss is not None and low.parser_decl is None and variable.cond is not None

    def joined(args, _) -> bool:
        low, _bound, others = args
        return low.miss is None and low.parser_decl is not None and bool(others)

    ways: dict[str, tuple[object, str, Callable]] = {
        LOOKUP: (Lowering, "data_place", lambda args, place: place is not None), AGAIN: (modules, "repeatable", lambda args, again: bool(again)),
        GUESS: (Lowering, "codec_var", searched), SUM: (Lowering, "sum_varbit", lambda args, sums: True), CIRCLES: (Circles, "entered", entered_anew),
        MEET: (Lowering, "go_on_with", joined), COPY: (Lowering, "copy_varbit", lambda args, done: True)}
    watch(*ways[plan])

    def told() -> bool:
        was = any(seen)
        seen.clear()
        entries.clear()
        return was

    return told


@pytest.mark.parametrize("plan", PLANS)
def test_plans_are_met(plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told, found = met(plan, monkeypatch), 0
    for program in programs(plan):
        lowering = ProgramLowering(program, TARGETS["lpn"], False)
        for hook in program.hooks:
            if not hook.timed:
                lowering.fused(hook.name, hook.chain, Form(MOST, True))
        found += told()
    assert found >= OFTEN[plan], found


def test_a_third_of_the_programs_has_a_plan() -> None:
    plans: Counter = Counter()
    for seed in range(300):
        generator = Generator(RandomChoose(seed))
        generator.plan = generator.choose_plan()
        plans[generator.plan] += 1
    assert all(plans[plan] > 10 for plan in PLANS) and plans[""] > 150
