"""The stack bytes that loops fill: laws, planted mistakes, how often the loops turn, and what an analysis of many of them takes."""
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import csources                                                    # noqa: E402
import filled_laws                                                 # noqa: E402
from faults import FAULTS, planted                                 # noqa: E402
import faults_filled                                               # noqa: E402, F401
from found import FOUND_FILLED                                     # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.compiler.fuzz_bytecode.trial import attempt, generated          # noqa: E402
from lpn.runtime.instrumented.claims import Claims, Runner         # noqa: E402
from lpn.verifier import LPN, XDP, analyse, verify                 # noqa: E402

BY_LAWS = ("spans_outlive_their_unknowns", "a_factor_is_one")
FILLED = [one for one in csources.committed() if one.name.startswith("filled") and one.variant == "good"]


@pytest.fixture(scope="module")
def runner():
    return Runner()


def test_laws():
    filled_laws.SEEN.clear()
    assert next(filled_laws.broken(), None) is None
    assert {name for name, count in filled_laws.SEEN.items() if count > 100} == {"covered", "not covered", "certain", "cut", "left", "met", "follows"}


def test_every_fault_is_one_that_a_program_or_a_law_finds():
    assert {name for name, f in FAULTS.items() if f.__module__ == "faults_filled"} == FOUND_FILLED.keys() | {*BY_LAWS}


@pytest.mark.parametrize("name", FOUND_FILLED)
def test_a_planted_mistake_is_found(runner, name):
    seed, size = FOUND_FILLED[name]
    tries = [(seed, size), *((n, size) for n in range(80))]
    with planted(name):
        assert any(attempt(generated(seed, size, "buffers"), runner, seed, 100)[1] is not None for seed, size in tries), "nothing was found"


@pytest.mark.parametrize("name", BY_LAWS)
def test_a_planted_mistake_breaks_a_law(name):
    with planted(name):
        assert next(filled_laws.broken(), None) is not None


@pytest.mark.parametrize("one", FILLED, ids=[f"{c.name}-{c.cpu}" for c in FILLED])
def test_what_is_claimed_of_them_holds_in_runs(runner, one):
    judged = analyse(one.text, XDP, rodata=one.rodata)
    assert judged[0].accepted
    claims = Claims(one.text, XDP, None, judged, 1)
    assert runner.batch(claims, 7, 200) is None
    if one.name not in ("filled_brackets", "filled_until_end", "filled_window"):     # as often as packets let them
        assert all(claims.covered[i] for i in range(len(claims.covered)) if i in judged[1].graph.insns)


def test_how_often_a_loop_turns_that_fills():
    """Sixteen stores, and behind them eight loads: what is executed at most is what each run executes."""
    report = verify(assemble("w6 = 0\nL: r2 = r10\nr2 += r6\n*(u8 *)(r2 - 16) = 1\nr6 += 1\nif r6 < 16 goto L\n"
                             "w6 = 0\nM: r2 = r10\nr2 += r6\nr0 = *(u16 *)(r2 - 16)\nr6 += 2\nif r6 != 16 goto M\nexit"), LPN)
    assert report.accepted, report.message
    assert [loop.bound for loop in report.loops] == [16, 8] and report.max_insns == 1 + 16 * 5 + 1 + 8 * 5 + 1


def test_a_program_with_many_such_loops_takes_no_longer_than_others():
    """4,000 instructions, 75 loops that fill, with ten branches each."""
    lines = ["r7 = *(u64 *)(r1 + 0)", "w0 = 0", "w5 = 0"]
    for k in range(75):
        lines += ["r6 = 0", f"L{k}: r2 = r10", "r2 += r6", "r3 = r7", "r3 += r6", "r3 = *(u8 *)(r3 + 0)", f"*(u8 *)(r2 - {16 * (k % 28 + 2)}) = r3"]
        for b in range(10):
            lines += [f"if w3 {('!=', '>', '<')[b % 3]} {7 * b + 3} goto B{k}_{b}", f"*(u8 *)(r2 - {16 * (k % 28 + 2)}) = r5" if b % 2 else "w5 = w3",
                      f"B{k}_{b}: w0 += w3"]
        lines += ["r6 += 1", f"if r6 < 16 goto L{k}", f"r3 = *(u8 *)(r10 - {16 * (k % 28 + 1) + 1})"]
    text = assemble("\n".join([*lines, "w0 &= 1", "exit"]))
    begin = time.process_time()
    report = verify(text, LPN, max_insns=1 << 30)
    assert report.accepted, report.message
    assert time.process_time() - begin < 6            # 1.5 s where nothing else runs
