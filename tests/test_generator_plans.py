"""What some generated programs are made for (compiler/generate/plans.py) is what is lowered in them."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, islice

import pytest

from lpn.compiler.forms import MOST, SMALL, Form
from lpn.compiler.fuzz.differential import Failure, Refused, Variant, checked, make_case, run_case
from lpn.compiler.generate.base import RandomChoose
from lpn.compiler.generate.modules import Generator
from lpn.compiler.generate.plans import AGAIN, BUILD, CIRCLES, COPY, EARLY, GUESS, LIE, LOOKUP, MEET, NEED, PLANS, REFUSE, SUM, TELL, TWINS, WAYS, WRITE
from lpn.compiler.lower import guess, laid_out, modules
from lpn.compiler.lower.base import Lowering
from lpn.compiler.lower.circles import Circles
from lpn.compiler.lower.meeting import said
from lpn.compiler.lower.modules import ProgramLowering
from lpn.compiler.target import TARGETS
from lpn.lang import ast
from lpn.lang.effects import effects
from lpn.lang.instances import walk
from lpn.lang.types import StructType

PROGRAMS = {CIRCLES: 48, WAYS: 10}              # of most plans 16: what is entered anew in a circle is rarer, an `if` in a guess is not
#: In how many of these programs the way of lowering is met at least: a search in a deparser's guess, a varbit that is summed, what a parser's guess was
#: wrong about going on where guesses of two shapes met, something computed that is put in where it lies, what is made while parts are taken,
#: layouts that are refused, what is taken or emitted in an `if` while something is guessed.
OFTEN = {LOOKUP: 5, AGAIN: 10, GUESS: 6, SUM: 6, CIRCLES: 10, MEET: 5, COPY: 12, TELL: 12, BUILD: 5, WRITE: 7, NEED: 6, LIE: 5, EARLY: 10, REFUSE: 6, WAYS: 4}


def programs(plan: str, most: int | None = None) -> list[ast.Program]:
    seeds = (seed for seed in count(36000) if Generator(RandomChoose(seed)).choose_plan() == plan)       # what a program begins with
    return [checked(Generator(RandomChoose(seed)).program().text) for seed in islice(seeds, most or PROGRAMS.get(plan, 16))]


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

    def parted(args, _) -> bool:
        low, branch = args
        return low.miss is not None and bool(said_by(branch, "extract") or said_by(branch, "emit"))

    ways: dict[str, tuple[object, str, Callable]] = {
        LOOKUP: (Lowering, "data_place", lambda args, place: place is not None), AGAIN: (modules, "repeatable", lambda args, again: bool(again)),
        GUESS: (Lowering, "codec_var", searched), SUM: (Lowering, "sum_varbit", lambda args, sums: True), CIRCLES: (Circles, "entered", entered_anew),
        MEET: (Lowering, "go_on_with", joined), COPY: (Lowering, "copy_varbit", lambda args, done: True),
        TELL: (Lowering, "_call_lookahead", lambda args, done: True), BUILD: (modules, "laid_out", lambda args, found: bool(found)),
        WRITE: (Lowering, "compress_twins", lambda args, tag: True), NEED: (Lowering, "may_appear", lambda args, may: may),
        LIE: (Lowering, "if_valid", lambda args, numbers: bool(numbers)),
        EARLY: (Lowering, "make_early", lambda args, done: bool(args[0].early)),
        WAYS: (Lowering, "_stmt_If", parted), REFUSE: (Lowering, "find_required", lambda args, required: required is not None)}
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
                lowering.fused(hook.name, hook.chain, Form(SMALL if plan in TWINS else MOST, True))
        found += told()
    assert found >= OFTEN[plan], found


def test_what_is_built_has_twins_or_is_sent_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some programs: groups that are lowered as one, and headers that would lie in the output buffer if nothing were sent on the way."""
    twins, spared = set(), set()
    expand, lies, sends = Lowering.expand_twins, laid_out.laid_out, laid_out.sends
    for program in programs(BUILD, 40):
        def would_lie(*args, program=program):
            if sends(program):
                monkeypatch.setattr(laid_out, "sends", lambda _: False)
                spared.update({program} if lies(*args) else ())
                monkeypatch.setattr(laid_out, "sends", sends)
            return lies(*args)

        monkeypatch.setattr(modules, "laid_out", would_lie)
        monkeypatch.setattr(Lowering, "expand_twins", lambda *args, program=program: twins.add(program) or expand(*args))
        lowering = ProgramLowering(program, TARGETS["lpn"], False)
        lowering.fused("radio.rx_done", program.chain, Form(SMALL, True))
    assert len(twins) >= 8 and len(spared) >= 5, (len(twins), len(spared))


def test_what_is_written_alike_is_searched_alike_and_made_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some programs: searches that are one loop, and codecs of twins whose struct is a variable's, of a parser and of a deparser."""
    searched, held = set(), {"extract": set(), "emit": set()}
    search = Lowering.search_twins
    for program in programs(WRITE, 24):
        monkeypatch.setattr(Lowering, "search_twins", lambda *args, program=program: searched.add(program) or search(*args))
        ProgramLowering(program, TARGETS["lpn"], False).fused("radio.rx_done", program.chain, Form(SMALL, True))
        for n in walk(program.chain):
            if isinstance(n, ast.Call) and n.target in held and n.via is not None and n.via.args and isinstance(n.via.args[0], ast.Name):
                held[n.target] |= {program} if isinstance(n.via.args[0].type, StructType) else set()
    found = len(searched), *map(len, held.values())
    assert all(one >= least for one, least in zip(found, (8, 6, 6))), found


def test_what_lies_in_a_row_loses_its_first_elements() -> None:
    """Of some programs: stacks that are a begin and a number (lower/runs.py), those of them that lose elements, and what stays where it lies then."""
    found: Counter = Counter()
    for program in programs(LIE):
        lowering = ProgramLowering(program, TARGETS["lpn"], False)
        moved = {e.instance for e in effects(program) if e.kind == "move"} & lowering.runs
        found.update({"runs": bool(lowering.runs), "moved": bool(moved), "behind": bool(moved) and bool(lowering.lying_behind(program.chain))})
    assert found["runs"] >= 6 and found["moved"] >= 3 and found["behind"] >= 1, found


def test_some_ways_where_something_is_guessed() -> None:
    """Of some programs, in what is guessed: headers that are taken twice, what is taken on some ways where several shapes meet, there with a header that other
    states take again, and what a deparser emits on some ways."""
    found: Counter = Counter()
    for program in programs(WAYS, 28):
        lowering = ProgramLowering(program, TARGETS["lpn"], False)
        parser, deparser = program.chain[0], program.chain[-1]
        plan, usual = guess.parser_guesses(parser, lowering.record), [*usual_statements(parser)]
        headers, of_all = said_by(usual, "extract"), said_by([s for state in parser.states for s in state.statements], "extract")
        found["twice"] += plan.shapes > 0 and len(set(headers)) < len(headers)
        if plan.meeting is not None and plan.shapes > 1:
            found["some take where shapes meet"] += parts(usual, "extract")
            found["and some take again"] += len(set(of_all)) < len(of_all)
        if isinstance(deparser, ast.Deparser):
            found["some emit"] += guess.deparser_guesses(deparser, lowering.record).shapes > 0 and parts(deparser.body, "emit")
    assert all(found[name] >= 3 for name in ("twice", "some take where shapes meet", "and some take again", "some emit")), found


def usual_statements(parser: ast.Parser) -> Iterator[ast.Stmt]:
    """Of the states that a guess goes through."""
    seen: set[ast.State] = set()
    state: ast.State | None = next(s for s in parser.states if s.name == "start")
    while state is not None and state not in seen:
        seen.add(state)
        yield from state.statements
        case = guess.usual_case(state)
        state = case.state if case is not None else None


def said_by(part: object, method: str) -> list[object]:
    return [said(n.args[0]) for n in walk(part) if isinstance(n, ast.Call) and n.target == method]


def parts(part: object, method: str) -> bool:
    """Whether that is called on some ways."""
    return any(said_by(n, method) for n in walk(part) if isinstance(n, ast.If))


def test_many_programs_have_a_plan() -> None:
    plans: Counter = Counter()
    for seed in range(600):
        generator = Generator(RandomChoose(seed))
        generator.plan = generator.choose_plan()
        plans[generator.plan] += 1
    assert all(plans[plan] > 15 for plan in PLANS) and plans[""] > 240 and plans[TELL] > 45


#: Lowered wrong on purpose: a method of the lowering, and what does the same but for one thing.
FAULTS: dict[str, tuple[str, Callable]] = {
    "octets of a little-endian number": ("load_packet", lambda right: lambda low, base, offset, width, little:
                                         right(low, base, offset, width, little and width != 24)),
    "sign": ("sign_extend", lambda right: lambda low, v, width: low.resize(v, width) if v.width % 8 else right(low, v, width)),
    "place of what is looked at ahead": ("_call_lookahead", lambda right: lambda low, e:
                                         low.slice(low.peek(-(-low.width_of(e.type) // 8) * 8, e.type_args[0].name == "le"), low.width_of(e.type) - 1, 0)),
    "octets of what is looked at ahead": ("peek", lambda right: lambda low, width, little=False: right(low, width, False)),
    "sign in a comparison": ("less", lambda right: lambda low, a, c, or_equal=False, signed=False: right(low, a, c, or_equal, False)),
    "reason of a check": ("reason", lambda right: lambda low, name: right(low, "NoMatch" if name.startswith("H0.") else name)),
    "reason of a verify": ("check_that", lambda right: lambda low, cond, reason: right(low, cond, "NoMatch")),
}
FEW = 60                                        # programs of any kind: some six of them tell what they find


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_lowered_wrong_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, make = FAULTS[fault]
    monkeypatch.setattr(Lowering, name, make(getattr(Lowering, name)))
    noticed = ""
    for seed in range(37000, 37000 + 10 * FEW):
        generator = Generator(RandomChoose(seed), seed % 8 == 7)
        generator.program()
        if generator.plan != TELL:
            continue
        try:
            run_case(make_case(seed, 20), [Variant("engine")])
        except Refused:
            continue
        except Failure as failure:
            noticed = failure.kind
            break
        if seed > 37000 + FEW:
            break
    assert noticed.endswith("differs"), noticed
