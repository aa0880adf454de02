"""Random programs: every engine gives what the reference interpreter gives, and the verifier accepts every container.

The programs are the same in every run. New ones are looked for by hand, with `lpnc fuzz`; what it finds comes into
tests/regressions.
"""
from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from lpn.compiler.build import compile_program, stack_used
from lpn.compiler.fuzz.differential import Case, Failure, Refused, Variant, checked, load_case, make_case, reduce_case, run_case, run_kernel
from lpn.compiler.fuzz.loop import Corpus, Loop
from lpn.compiler.generate.base import Program, RandomChoose
from lpn.compiler.generate.modules import Generator
from lpn.runtime.engines import EngineUnavailable
from lpn.runtime.kernel import KernelRejected

REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.lpn"))
CONSTRUCTS = sorted((Path(__file__).parent / "constructs").glob("*.lpn"))
VARIANTS = (Variant("engine"), Variant("engine", True), Variant("rbpf"))
BEYOND_THE_KERNEL = {
    "signed-numbers", "applied-modules", "value-sets", "stacks-that-move",   # too many ways
    "loops-the-packet-bounds", "long-loops-and-ways",                      # the kernel's verifier follows every turn of every loop
}
FIRST, EACH, GROUPS = 1000, 6, 6


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_found_once(path: Path) -> None:
    """What once went wrong; where the kernel may be asked, there too."""
    case = load_case(path)
    run_case(case)
    try:
        run_kernel(case)
    except (EngineUnavailable, Refused, KernelRejected):
        pass                                    # it need not take all of them; test_constructs says which it does


@pytest.mark.parametrize("path", CONSTRUCTS, ids=lambda path: path.stem)
def test_constructs(path: Path) -> None:
    """Each construct in every engine; the kernel too, where it may be asked and its verifier has an end."""
    case = load_case(path)
    run_case(case)
    try:
        run_kernel(case)
    except EngineUnavailable as why:
        pytest.skip(str(why))
    except (Refused, KernelRejected) as why:
        assert path.stem in BEYOND_THE_KERNEL, why


@pytest.mark.parametrize("group", range(GROUPS))
def test_engines_agree(group: int) -> None:
    tally: Counter = Counter()
    for seed in range(FIRST + group * EACH, FIRST + (group + 1) * EACH):
        try:
            run_case(make_case(seed, 8), VARIANTS, tally)
        except Refused:
            continue
        except Failure as failure:
            pytest.fail(f"program {seed}: {failure}\n{make_case(seed, 0).program.text}")
    assert tally["compared engine"] >= 2 * 8 * EACH // 2


def test_packets_reach_the_end() -> None:
    """Packets made for a program are mostly taken by its parser, or the rest would not be tested."""
    tally: Counter = Counter()
    for seed in range(7, 80, 8):                # lossless ones
        run_case(make_case(seed, 8), (), tally)
    assert tally["packets ACCEPT"] > tally["packets DROP"] / 2


def test_same_seed_same_program() -> None:
    one, other = (Generator(RandomChoose(3)).program() for _ in range(2))
    assert one == other


def test_saved_cases_come_back(tmp_path: Path) -> None:
    case = make_case(5, 3)
    assert load_case(case.save(tmp_path, "case")) == case


def test_what_is_refused_is_made_small_for_the_same_mistake() -> None:
    """What is left of a program may be none for another reason: that is another failure. Warnings are none."""
    text = "error { Bad }\nconst bit<8> A = 3;\nconst bit<8> B = A + 2;\nconst bit<16> C = 8w1 ++ 4w0;\nstruct S { bit<8> x; }\n"
    with pytest.raises(Failure) as refused:
        checked(text)
    assert refused.value.kind == "checker refuses" and len(str(refused.value).splitlines()) == 1 and "random.lpn:4:" in str(refused.value)
    small = reduce_case(Case(Program(text, {}, False)), refused.value)
    assert "C =" in small.program.text and "S" not in small.program.text and "B" not in small.program.text


def test_failures_are_made_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An engine that is wrong about one verdict is found, and the program that shows it is short."""
    from lpn.compiler.fuzz import differential
    right = differential.show
    results = differential.expected

    def wrong(program, case):
        out, state, left = results(program, case)
        return [type(r)("CONSUMED") if r.verdict == "ACCEPT" else r for r in out], state, left

    monkeypatch.setattr(differential, "expected", wrong)
    loop = Loop(Corpus.open(tmp_path), ("engine",), packets=4)
    loop.run(10, programs=1)
    found = loop.found
    assert [f.failure.kind for f in found] == ["verdict differs"] and right is differential.show
    assert len(found[0].case.program.text.splitlines()) < 30 and len(found[0].case.packets) == 1
    assert load_case(found[0].path).program.text.endswith(found[0].case.program.text)


def test_a_corpus_is_gone_on_with(tmp_path: Path) -> None:
    """Programs that show something new are kept and tried again, totals add up, and the next run begins behind the last."""
    first = Loop(Corpus.open(tmp_path), ("engine",), packets=2)
    first.run(40, programs=2)
    kept = sorted(path.name for path in (tmp_path / "kept").glob("*.lpn"))
    assert kept[0] == "program-40.lpn" and not (tmp_path / "failures").exists()
    corpus = Corpus.open(tmp_path)
    assert corpus.next_seed == 42 and (corpus.totals.programs, corpus.totals.packets) == (2, first.compared)
    again = Loop(corpus, ("engine",), packets=2)
    again.run(programs=1)
    assert corpus.next_seed == 43 and again.compared > first.compared / 2 and corpus.totals.packets == first.compared + again.compared


def test_time_may_be_over_within_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in all its forms may take minutes: the first form is run, and others while there is time."""
    loop = Loop(Corpus(None), ("engine", "rbpf"), packets=2)
    loop.began = loop.shown = loop.saved = 0.0
    monkeypatch.setattr("lpn.compiler.fuzz.loop.time", SimpleNamespace(monotonic=lambda: 2.0 if loop.tally["compared engine"] else 0.0))
    loop.run(40, seconds=1)
    assert loop.programs == 1 and loop.tally["compared engine"] > 0 and not loop.tally["compared rbpf"] and not loop.found


def test_a_corpus_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"next_seed": "x"}')
    with pytest.raises(ValueError, match="state.json: not a fuzzer's state"):
        Corpus.open(tmp_path)


def test_generated_programs_are_well_typed() -> None:
    """All of them check, and between them they have what the language has."""
    text = "".join(checked(program.text) and program.text for program in (Generator(RandomChoose(seed)).program() for seed in range(40)))
    for part in ("value_set<", "payload[", ".truncate(", "meter<", ".apply(", "choice (", "persistent register", "timing Clock", "buffer<",
                 "on net.rx", " via ", "lookahead", "select("):
        assert part in text, part


def test_a_fused_chain_that_needs_too_much_stack_has_its_headers_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here 160 bytes in variables, 40 in the record. Seed 7603042 needed 624."""
    case = load_case(CONSTRUCTS[[path.stem for path in CONSTRUCTS].index("codec-of-a-choice")])
    monkeypatch.setattr("lpn.compiler.build.STACK_SIZE", 100)
    monkeypatch.setattr("lpn.compiler.build.with_less_stack", lambda text, lines, variables: (text, lines))      # which alone would do here
    made = compile_program(checked(case.program.text), fuse=True)
    assert made.record_size > 0 and stack_used(made.containers[0].code.text) <= 100
    run_case(case, (Variant("engine", True), Variant("rbpf", True)))
