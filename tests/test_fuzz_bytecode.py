"""The soundness run: it meets both verdicts, finds planted mistakes of the verifier, makes them small, and goes on where it stopped."""
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import faults_searches                                             # noqa: E402, F401
from faults import planted                                         # noqa: E402
from found import FOUND                                            # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.compiler.fuzz_bytecode import trial, writers          # noqa: E402
from lpn.compiler.fuzz_bytecode.loop import Corpus, Loop         # noqa: E402
from lpn.compiler.fuzz_bytecode.mutate import assembled, linked, mutate, shrink   # noqa: E402
from lpn.compiler.fuzz_bytecode.trial import Case, Tally, attempt, family, generated, load_case, smaller   # noqa: E402
from lpn.compiler.generate.base import Program                          # noqa: E402
from lpn.runtime.instrumented.claims import Runner                 # noqa: E402


@pytest.fixture(scope="module")
def runner():
    return Runner()


def test_what_is_accepted_keeps_its_claims(runner):
    """A short soundness run; `lpnc fuzz --bytecode` is the long one."""
    tally = Tally()
    for seed in range(24):
        for case in family(seed, 2) if seed % 8 != 7 else ():
            _, fault = attempt(case, runner, seed, 100, tally)
            assert fault is None, f"{fault}\n{case.source()}"
    assert tally.accepted.total() > 0.4 * tally.programs and tally.lengths > 25 * tally.accepted.total()
    assert tally.with_loops > 0.2 * tally.accepted.total() and len(tally.refused) >= 6


def test_compiled_containers_are_among_them(runner):
    cases = list(family(71, 1))
    assert cases[0].origin == "compiled"
    assert attempt(cases[0], runner, 71, 20)[0].accepted


def test_a_writer_alone_writes_what_it_does_in_turn():
    """By its name, as `--writer` takes it: all are there, each has its turns, and a program of its turn is the same one."""
    assert trial.WRITERS.keys() | {"compiled"} == writers.WRITERS.keys() and set(writers.IN_TURN) == trial.WRITERS.keys()
    for seed, writer in enumerate(writers.IN_TURN):
        assert generated(seed) == generated(seed, writer=writer) and [one.text for one in family(seed, 1, writer)][0] == generated(seed).text
    assert generated(0, writer="numbers") != generated(0)
    assert {one.origin for seed in range(64, 72) for one in family(seed, 0, "compiled")} <= {"compiled"}


@pytest.mark.parametrize("name", FOUND)
def test_a_planted_mistake_is_found(runner, name):
    """Each by a program whose number is known, so that it takes no time; programs change when the generator does, then it is searched."""
    known = FOUND[name]
    tries = [known, *((n, known[1]) for n in range(400))]
    with planted(name):
        assert any(attempt(generated(*program), runner, program[0], 100)[1] is not None for program in tries), "nothing was found"


def test_a_failure_is_made_small(runner):
    source = "r6 = r1\nr9 = *(u64 *)(r6 + 16)\nr2 = *(u32 *)(r6 + 44)\nr3 = 7\nr3 += r2\nif r3 > 100 goto +1\nr2 &= 1\nr2 = *(u8 *)(r9 + 64)\nr0 = 0\nexit"
    case = Case(assemble(source), "lpn", (("rec", 64), ("state", 32)))
    with planted("one_byte_more_of_a_region"):
        fault = attempt(case, runner, 1, 20)[1]
        small = smaller(case, runner, fault, 1, 20)
        assert len(linked(small.text)) <= 5 and attempt(small, runner, 1, 20)[1].what == fault.what


def test_a_saved_program_is_the_same_program(tmp_path):
    case = generated(3)
    (tmp_path / "x.s").write_text(case.source("why: it failed"))
    again = load_case(tmp_path / "x.s")
    assert (again.text, again.profile, again.sizes) == (case.text, case.profile, case.sizes)
    searching = generated(3, writer="searches")
    (tmp_path / "w.s").write_text(searching.source())
    assert searching.constants and load_case(tmp_path / "w.s").constants == searching.constants
    (tmp_path / "w.s").write_text(searching.source() + "; constants: 00\n")
    with pytest.raises(ValueError, match="constants of 1 bytes, rodata has 48"):
        load_case(tmp_path / "w.s")
    (tmp_path / "y.s").write_text("nothing")
    with pytest.raises(ValueError, match="not a saved program"):
        load_case(tmp_path / "y.s")
    (tmp_path / "z.s").write_text(case.source().replace("data=64", "data=4097"))
    with pytest.raises(ValueError, match="data=4097, the interpreter has 4096"):
        load_case(tmp_path / "z.s")


def test_mutants_are_programs():
    import random
    text, rng = generated(5).text, random.Random(1)
    assert assembled(linked(text)) == text
    mutants = {m for m in (mutate(text, rng) for _ in range(60)) if m is not None}
    assert len(mutants) > 40 and text not in mutants or len(mutants) > 41


def test_shrinking_keeps_what_matters():
    text = assemble("r0 = 5\nr1 = 2\nif r1 == 2 goto +1\nr0 = 7\nr0 *= 3\nexit")
    small = shrink(text, lambda t: any(i.op == 0x27 for i, _ in linked(t)))
    assert [i.op for i, _ in linked(small)] == [0x27]


def test_the_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    for expected in (3, 6):
        corpus = Corpus.open(tmp_path)
        Loop(corpus, runs=10, mutants=0).run(programs=3)
        state = json.loads((tmp_path / "bytecode.json").read_text())
        assert state["next_seed"] == expected and sum(state["tally"]["tried"].values()) == expected
    (tmp_path / "bytecode.json").write_text("[]")
    with pytest.raises(ValueError, match="not a state"):
        Corpus.open(tmp_path)


def test_a_failure_is_saved_and_tried_again(tmp_path):
    with planted("jumps_are_not_counted"):
        loop = Loop(Corpus.open(tmp_path), runs=10, mutants=0)
        loop.run(0, programs=2)
        assert loop.found and loop.found[0].path.is_file() and "more jumps" in loop.found[0].what
    loop = Loop(corpus := Corpus.open(tmp_path), runs=10, mutants=0)
    loop.run(programs=0, again=corpus.cases())
    assert loop.tally.tried["saved"] >= 1 and not loop.found


def test_a_verifier_that_stumbles_is_a_failure(monkeypatch):
    monkeypatch.setattr(trial.Case, "judge", lambda self: 1 // 0)
    loop = Loop(Corpus(None), runs=10, mutants=0, reduce=False)
    loop.run(0, programs=1)
    assert "stumbles: ZeroDivisionError" in loop.found[0].what


@pytest.mark.parametrize("reduce", [False, True])
def test_a_compiler_that_stumbles_is_a_failure(monkeypatch, tmp_path, reduce):
    """It is told once for each program, the program is saved, and the run goes on."""
    trial.compiled.cache_clear()
    monkeypatch.setattr("lpn.compiler.build.compile_program", lambda *args, **kwargs: 1 // 0)
    monkeypatch.setattr("lpn.compiler.fuzz.differential.compile_program", lambda *args, **kwargs: 1 // 0)
    monkeypatch.setattr("lpn.compiler.fuzz.differential.reduce_case", lambda case, failure, variants: replace(case, program=Program("error { A }", {}, False)))
    told = []
    loop = Loop(Corpus.open(tmp_path), runs=10, mutants=0, reduce=reduce, told=told.append)
    loop.run(6, programs=11)
    assert [(one.seed, one.what.partition(" by")[0]) for one in loop.found] == [(7, "the compiler stumbles: ZeroDivisionError: integer division or modulo")]
    assert len(told) == 1 and loop.families == 11 and loop.found[0].path.suffix == ".lpn"
    assert (loop.found[0].program == "error { A }") == reduce and loop.found[0].program in loop.found[0].path.read_text()
    trial.compiled.cache_clear()


def test_what_a_run_leaves_is_not_read_again(runner):
    """The repeated run begins with the same octets, to the packet's last: found by program 1001517, which changes the packet."""
    source = """r6 = r1
        r7 = *(u32 *)(r6 + 0)
        r8 = *(u32 *)(r6 + 4)
        w0 = 0
        r5 = r7
        r5 += 8
        if r8 < r5 goto END
        r3 = r7
        LOOP: if r3 > r8 goto END
        r1 = r3
        r1 += 1
        if r1 > r8 goto OUT
        r2 = *(u8 *)(r3 + 0)
        w2 &= 15
        r3 += r2
        r3 += 1
        goto LOOP
        OUT: r1 = 5
        call 41
        END: exit"""
    case = Case(assemble(source), "xdp", ())
    assert attempt(case, runner, 0, 1)[0].accepted
    for seed in (1, 3):
        assert attempt(case, runner, seed, 100)[1] is None


def test_a_wide_number_that_is_shifted_right_needs_its_upper_half(runner):
    """Found by program 2000003: the sum was known to need more than 32 bits, the shift behind it was not."""
    case = Case(assemble("r0 = *(u32 *)(r1 + 56)\nr0 += 0x100000\nr0 >>= 3\nexit"), "lpn", ())
    report, fault = attempt(case, runner, 1, 200)
    assert report.accepted and report.wide == [1, 2] and fault is None


SPILLED = """
r6 = r1
r7 = *(u32 *)(r6 + 0x0)
r9 = data + 0x0 ll
w0 = 0x0
r4 = *(s8 *)(r9 + 0x14)
*(u64 *)(r10 - 0x8) = r7
r1 = r4
if r1 > 0x0 goto +0x1
call 0x29
exit
"""


def test_a_pointer_that_nobody_reads_again_is_no_number(runner):
    """It is forgotten, and where a helper has made it stale nothing is left to say so: what it lies in was claimed to be written."""
    case = Case(assemble(SPILLED), "xdp", tuple(trial.SIZES["xdp"].items()))
    report, fault = attempt(case, runner, 77310089, 200)
    assert report.accepted and fault is None
