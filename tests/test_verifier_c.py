"""Ordinary hand-written eBPF C, compiled by clang-19 -O2 for three versions of the instruction set: what is right is accepted, and a
twin of each with one mistake is refused by the rule it breaks. The bytecode is committed; where clang-19 is, it is made anew as well."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import csources                                                    # noqa: E402

from lpn.runtime.instrumented.claims import Claims, Runner        # noqa: E402
from lpn.verifier import XDP, analyse                             # noqa: E402

COMMITTED = csources.committed()


@pytest.fixture(scope="module")
def runner():
    return Runner()


def judge(one: csources.Compiled) -> None:
    report = one.report()
    if one.variant == "good":
        assert report.accepted, report.message
    else:
        assert report.rule in one.rules, report.message or "accepted"


@pytest.mark.parametrize("one", COMMITTED, ids=[f"{c.name}-{c.cpu}-{c.variant}" for c in COMMITTED])
def test_committed(one):
    judge(one)


@pytest.mark.parametrize("name", csources.names())
def test_what_is_claimed_is_true(name, runner):
    """Of what was accepted, over random packets."""
    for one in COMMITTED:
        if (one.name, one.cpu, one.variant) == (name, csources.usual(name), "good"):
            profile = XDP.with_sizes(rodata=one.rodata)
            claims = Claims(one.text, profile if one.constants is None else profile.holding("rodata", one.constants), None,
                            analyse(one.text, XDP, rodata=one.rodata, apart=one.apart, constants=one.constants), 1)
            assert runner.batch(claims, 1, 60) is None


def test_all_are_there():
    assert {(c.name, c.cpu, c.variant) for c in COMMITTED} == {(n, c, v) for n in csources.names() for c in csources.cpus(n) for v in csources.VARIANTS}


@pytest.mark.skipif(csources.CLANG is None, reason="clang-19 is not here")
@pytest.mark.parametrize("name", csources.names())
def test_compiled_here(name, tmp_path):
    for variant in csources.VARIANTS:
        judge(csources.compiled(name, csources.usual(name), variant, tmp_path))


def test_loops_are_not_unrolled_in_vain_for_ever(monkeypatch):
    """Two nested loops and one mistake that no copies help: with a quarter of the effort gone no more are tried."""
    verifying, spent = sys.modules["lpn.verifier.verify"], []
    right = verifying._turn_by_turn

    def turn_by_turn(attempts, known):
        before = attempts.left
        found = right(attempts, known)
        spent.append((before - attempts.left, before, max(one[0].analysis_steps for one in attempts.made)))
        return found
    monkeypatch.setattr(verifying, "_turn_by_turn", turn_by_turn)
    judge(next(one for one in COMMITTED if (one.name, one.cpu, one.variant) == ("merged", "v4", "twin")))
    (effort, left, last), = spent
    assert last < effort <= left // 4 + last
