"""The costs of what the interpreter does at once: programs on the emulated core take what the plan and the tables say, not more, and where there is one way
only not less."""
from __future__ import annotations

import json
import random
from math import ceil

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler.asm import assemble
from lpn.runtime.engines import EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from test_m3_plan import MARKERS, SEVERAL
from test_verifier_wcet import accepted

from lpn.runtime.engine.plan import handlers, plan_of
from lpn.runtime.m3.costs import FOLDER, MODES, OPTIONS, Interpreter
from lpn.runtime.m3.costs_handlers import LOADS
from lpn.runtime.m3.firmware import engine
from lpn.runtime.m3.plan_costs import PlanCosts
from lpn.runtime.m3.raw import CERTIFIED, CLEAN32, SINGLY, RawRunner
from lpn.runtime.memory import CONTEXT
from lpn.runtime.variants import SMALLEST, table_of
from lpn.verifier import LPN, analyse
from lpn.verifier.cost import load
from lpn.verifier.wcet import time_of

PLANNED = [name for name in MODES if MODES[name] & CLEAN32]
SIZES = {"record_size": 64, "state": bytes(32)}
#: What may stand between: of one instruction each.
SINGLE = ("w{d} *= {i}", "w{d} -= w{s}", "if w{d} == 0 goto +1", "if w{d} != 0 goto +1", "if w{d} == {i} goto +2", "if w{s} > {i} goto +1", "w{d} ^= {j}",
          "if w{d} == {i} goto +1\nif w{d} == {j} goto +1", "w{d} <<= {i}")
START = ("r6 = r1", f"r9 = *(u64 *)(r6 + {CONTEXT['state'][0]})", "w0 = 0")


def certified(name: str) -> bool:
    return bool(MODES[name] & CERTIFIED)


def program(rng: random.Random, known: bool) -> bytes:
    """Many of them, one behind the other, with jumps into their midst. `known`: no branch depends on what is not known."""
    lines = [*START, *(f"w{n} = {rng.randint(0, 5)}" if known else f"r{n} = *(u8 *)(r9 + {n})" for n in (2, 3, 4, 5, 7, 8))]
    for _ in range(rng.randint(4, 14)):
        name = rng.choice([*SEVERAL, *SINGLE])
        group, more = SEVERAL.get(name, tuple(name.split("\n"))), ()
        at = {letter: rng.choice((2, 3, 4)) for letter in "dste"} | {letter: rng.randint(0, 5) for letter in "ijk"}
        if "*(" in "".join(group):
            if known:
                continue
            lines += ["r1 = r9", "w5 &= 7"]
            at, more = at | {"s": 1, "p": 1, "q": 5}, ("w1 = 0",)
        elif rng.random() < 0.4:
            lines.append(f"if w{rng.choice((7, 8, 2))} {rng.choice(('==', '!=', '>'))} {rng.randint(0, 3)} goto +{rng.randint(1, 3)}")
        lines += [line.format(**at) for line in (*group, *more, *(MARKERS if "goto" in "".join(group) else MARKERS[:1]))]
    return assemble("\n".join([*lines, *MARKERS, "w0 = 0", "exit"]))


@pytest.fixture(scope="module")
def cores():
    return {name: RawRunner(counting=True, firmware=engine(*OPTIONS.get(name, ()))) for name in PLANNED}


def bound_of(text: bytes, name: str):
    report, analysis = analyse(text, LPN, record_size=64, state_size=32)
    assert report.accepted and report.clean32, report.message
    return bound(text, analysis, name)


def bound(text: bytes, analysis, name: str):
    return time_of(analysis, PlanCosts(text, load(name), certified=certified(name), fuse=name != table_of(SMALLEST)), {})


def run(core: RawRunner, text: bytes, modes: int, **given) -> tuple[int, int]:
    """Cycles at least, at most."""
    assert core.run(text, layout="lpn", modes=modes, **{**SIZES, **given}).error == "ok"
    return core.count.cycles, ceil(core.worst.most)


@given(st.integers(0, 1 << 30), st.sampled_from(PLANNED))
@settings(max_examples=25, deadline=None)
def test_one_way_takes_what_is_said(cores, seed, name):
    """But for the first loads, which may not be aligned, and whose regions, if they are checked, are looked for; least with a small stack."""
    text = program(random.Random(seed), True)
    found = bound_of(text, name)
    worst, least = run(cores[name], text, MODES[name] | 512 << 16)[1], run(cores[name], text, MODES[name] | 8 << 16)[0]
    assert worst <= found.worst <= worst + 12
    assert least - (16 if certified(name) else 200) <= found.best <= least


@given(st.integers(0, 1 << 30), st.sampled_from(PLANNED), st.data())
@settings(max_examples=25, deadline=None)
def test_no_way_takes_longer_or_less(cores, seed, name, data):
    text = program(random.Random(seed), False)
    found = bound_of(text, name)
    for _ in range(3):
        octets = data.draw(st.binary(min_size=32, max_size=32))
        least, worst = run(cores[name], text, MODES[name], state=octets)
        assert found.best <= least and worst <= found.worst


@given(st.integers(0, 1 << 30), st.sampled_from(PLANNED))
@settings(max_examples=25, deadline=None)
def test_no_packet_takes_longer_or_less(cores, seed, name):
    """Programs that look like packet code, with loops."""
    rng = random.Random(seed)
    made = next((made for _ in range(30) if (made := accepted(rng)) is not None and made[1].clean32), None)
    assert made is not None
    text, _, analysis = made
    found = bound(text, analysis, name)
    for n in (0, 8, 64):
        least, worst = run(cores[name], text, MODES[name], packet=rng.randbytes(n), state=rng.randbytes(32))
        assert found.best <= least and worst <= found.worst


@pytest.mark.parametrize("name", PLANNED)
def test_every_handler_has_its_cost(name):
    """Those of several instructions, in all ways in which they end; loads among them may be unaligned."""
    rows = load(name).handlers
    several = {each.name: each.instructions for each in handlers() if each.instructions > 1}
    fused = {} if name == table_of(SMALLEST) else several if certified(name) else {each: n for each, n in several.items() if each not in LOADS}
    assert set(rows) == {"jeq_zero", "jne_zero", *fused}
    for handler, n in fused.items():
        branches = {i for i, line in enumerate(SEVERAL[handler], 1) if line.startswith("if")}
        assert set(rows[handler]) == {0, *branches}


@pytest.mark.parametrize("name", PLANNED)
def test_measured_again(name):
    found = dict(Interpreter(name).handlers())
    assert found == json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["handlers"]


@given(st.integers(0, 1 << 30), st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_plan_is_the_core_s(cores, seed, is_certified, fuse):
    """The workstation's C and the core's make the same of any text."""
    text, core = program(random.Random(seed), False), cores["m3_certified"]
    run(core, text, CLEAN32 | CERTIFIED * is_certified | SINGLY * (not fuse))
    [at] = [address for name, address in core.core.firmware.symbols.items() if name.startswith("plan.")]
    numbers = {handler: number for number, handler in enumerate(handlers())}
    assert [numbers[each] for each in plan_of(text, certified=is_certified, fuse=fuse)] == list(core.core.read(at, len(text) // 8))
