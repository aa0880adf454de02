"""Ordinary hand-written eBPF C, compiled by clang-19 -O2 for three versions of the instruction set: what is right is accepted, and a
twin of each with one mistake is refused by the rule it breaks. The bytecode is committed; where clang-19 is, it is made anew as well."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import csources                                                    # noqa: E402

COMMITTED = csources.committed()


def judge(one: csources.Compiled) -> None:
    report = one.report()
    if one.variant == "good":
        assert report.accepted, report.message
    else:
        assert report.rule in one.rules, report.message or "accepted"


@pytest.mark.parametrize("one", COMMITTED, ids=[f"{c.name}-{c.cpu}-{c.variant}" for c in COMMITTED])
def test_committed(one):
    judge(one)


def test_all_are_there():
    assert {(c.name, c.cpu, c.variant) for c in COMMITTED} == {(n, c, v) for n in csources.names() for c in csources.CPUS for v in csources.VARIANTS}


@pytest.mark.skipif(csources.CLANG is None, reason="clang-19 is not here")
@pytest.mark.parametrize("name", csources.names())
def test_compiled_here(name, tmp_path):
    for variant in csources.VARIANTS:
        judge(csources.compiled(name, "v3", variant, tmp_path))
