"""Instructions that the interpreter of 32-bit clean programs does several at once (vm32_plan.c): all kinds, over all ways in which their
registers can coincide, entered at the first and in the midst, give what the host's interpreter gives for one at a time."""

import itertools

import pytest

from lpn.compiler.asm import assemble
from lpn.runtime.engines import EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.runtime.engine.plan import handlers
from lpn.runtime.m3.firmware import engine
from lpn.runtime.m3.raw import CERTIFIED, CLEAN32, SINGLY, RawRunner, run_raw_m3
from lpn.runtime.raw import run_raw
from lpn.runtime.variants import OPTIONS, SMALLEST

LEFT_OUT = "this firmware leaves out what it needs"
PATTERN = bytes(range(0x81, 0xA1))
#: Several instructions by name; {d}, {s}, {t}, {e}: registers, {i}, {j}, {k}: constants. A jump goes behind the markers that follow.
SEVERAL = {
    **{f"mov_{name}": ("w{d} = w{s}", f"w{{d}} {op}= {{i}}") for name, op in
       (("add", "+"), ("or", "|"), ("and", "&"), ("lsh", "<<"), ("rsh", ">>"))},
    "mov_add_reg": ("w{d} = w{s}", "w{d} += w{t}"),
    "mov_rsh_and": ("w{d} = w{s}", "w{d} >>= {i}", "w{d} &= {j}"),
    "mov_and_jeq": ("w{d} = w{s}", "w{d} &= {j}", "if w{d} == {i} goto +1"),
    "mov_and_jne": ("w{d} = w{s}", "w{d} &= {j}", "if w{d} != {i} goto +1"),
    "mov_add_jgt": ("w{d} = w{s}", "w{d} += {i}", "if w{d} > w{t} goto +1"),
    "and_jeq": ("w{d} &= {j}", "if w{d} == {i} goto +1"),
    "and_jne": ("w{d} &= {j}", "if w{d} != {i} goto +1"),
    "mov_add_load1": ("r{p} = r{s}", "r{p} += r{q}", "r{d} = *(u8 *)(r{p} + {i})"),
    "mov_add_load2": ("r{p} = r{s}", "r{p} += r{q}", "r{d} = *(u16 *)(r{p} + {i})"),
    "lsh_or": ("w{d} <<= {i}", "w{d} |= w{s}"),
    "mov_jeq": ("w{d} = w{s}", "if w{e} == {i} goto +1"),
    "add_mov": ("w{d} += {i}", "w{e} = w{s}"),
    "mov_imm_jeq": ("w{d} = {i}", "if w{e} == {j} goto +1"),
    "jeq_jeq": ("if w{d} == {i} goto +2", "if w{d} == {j} goto +2"),
    "jeq_jne": ("if w{d} == {i} goto +2", "if w{d} != {j} goto +2"),
    "jeq_jeq_jne": ("if w{d} == {i} goto +3", "if w{d} == {j} goto +3", "if w{d} != {k} goto +3"),
    "load2_add": ("r{d} = *(u16 *)(r1 + {i})", "w{e} += w{d}"),
    "load2_add_step": ("r{d} = *(u16 *)(r1 + 0)", "w{e} += w{d}", "r1 += {i}"),
    "load2_swap": ("r{d} = *(u16 *)(r1 + {i})", "r{d} = be16 r{d}"),
    "load4_swap": ("r{d} = *(u32 *)(r1 + {i})", "r{d} = be32 r{d}"),
}
MARKERS = ("w0 += 1", "w0 += 2", "w0 += 4", "w0 += 8")
CONSTANTS = ((0, 3, 2), (2, 2, 0), (5, 0, 7))
FOLD = [line for n in range(6) for line in ("w8 *= 31", f"w8 += w{n if n != 1 else 9}")]


def programs(name):
    """Programs that hold the same instructions many times, each time with other registers and constants."""
    group = SEVERAL[name]
    used = [letter for letter in "dste" if any(f"{{{letter}}}" in line for line in group)]
    pointers = "{p}" in "".join(group)
    for (i, j, k), enter in itertools.product(CONSTANTS, range(len(group))):
        lines = ["w8 = 0", "r6 = r1"]
        for chosen in itertools.product((2, 3, 4), repeat=len(used)):
            at = dict(zip(used, chosen))
            if pointers and enter or (pointers and at["s"] != 2):
                continue                        # the address is made by what would be left out
            lines += ["r1 = r6", "w0 = 0", "w2 = 2", "w3 = 3", "w4 = 0x70005", "w5 = 5"]
            if pointers:
                lines += ["r2 = r6"]
            if "*(" in group[0] and enter:
                lines += [f"w{at['d']} = 0x1234"]
            if enter:
                lines += [f"goto +{enter}"]
            lines += [line.format(**at, i=i, j=j, k=k, p=3, q=5) for line in group]
            lines += MARKERS
            lines += ["r9 = r1", "r9 -= r6"]    # addresses differ from engine to engine
            lines += [f"w{n} = 0" for n in (2, 3) if pointers and n != at["d"]]
            lines += FOLD
        if len(lines) > 2:
            yield assemble("\n".join([*lines, "w0 = w8", "exit"]))


@pytest.mark.parametrize("name", SEVERAL)
def test_as_one_at_a_time(name):
    for text in programs(name):
        want = run_raw(text, ctx=PATTERN)
        assert want.error == "ok"
        for modes in (CLEAN32, CLEAN32 | CERTIFIED):
            found = run_raw_m3(text, ctx=PATTERN, modes=modes)
            assert (found.error, found.r0, found.insns) == ("ok", want.r0, want.insns), (name, modes)


@pytest.fixture(scope="module")
def counting():
    return RawRunner(counting=True)


@pytest.mark.parametrize("name", SEVERAL)
def test_takes_less_time(counting, name):
    text = assemble("\n".join(["r2 = r1", "w3 = 0", "w4 = 0", "w5 = 0", *(line.format(d=4, s=2, t=5, e=3, i=1, j=0, k=0, p=3, q=5)
                                                                     for line in SEVERAL[name]), *MARKERS, "w0 = 0", "exit"]))
    cycles = []
    for modes in (CLEAN32 | CERTIFIED, CLEAN32 | CERTIFIED | SINGLY):
        assert counting.run(text, ctx=PATTERN, modes=modes).error == "ok"
        cycles.append(counting.count.cycles)
    assert cycles[0] < cycles[1]


@pytest.fixture(scope="module")
def smallest():
    return RawRunner(firmware=engine(*OPTIONS[SMALLEST]))


@pytest.mark.parametrize("name", SEVERAL)
def test_the_smallest_interpreter(smallest, name):
    """It gives the same results, and runs nothing that would have to be checked."""
    text = next(programs(name))
    want = run_raw(text, ctx=PATTERN)
    found = smallest.run(text, ctx=PATTERN, modes=CLEAN32 | CERTIFIED)
    assert (found.error, found.r0, found.insns) == ("ok", want.r0, want.insns)
    assert smallest.run(text, ctx=PATTERN, modes=CLEAN32).error == smallest.run(text, ctx=PATTERN).error == LEFT_OUT


def test_only_certified(name="mov_add_load1"):
    """Beside the interpreter with 64-bit registers, which then runs what has to be checked."""
    runner, text = RawRunner(firmware=engine("LPN_CERTIFIED_ONLY=1")), next(programs(name))
    want = run_raw(text, ctx=PATTERN)
    for modes in (0, CLEAN32, CLEAN32 | CERTIFIED):
        assert runner.run(text, ctx=PATTERN, modes=modes).r0 == want.r0
    outside = assemble("r0 = *(u8 *)(r1 + 4096)\nexit")
    assert runner.run(outside, ctx=PATTERN, modes=CLEAN32).error == "load out of bounds"


def test_all_are_here():
    """The list that the engine reads."""
    assert {handler.name: handler.instructions for handler in handlers() if handler.instructions > 1} == {name: len(lines) for name, lines in SEVERAL.items()}
