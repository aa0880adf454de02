"""Judged from outside: what the Linux kernel's verifier, as root and with fewer capabilities, says of the same bytecode.

`python tests/verifier/outside.py 1000` prints the table for more programs.
"""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import outside                                                     # noqa: E402

from lpn.compiler.fuzz_bytecode.trial import SIZES, Case, attempt        # noqa: E402
from lpn.runtime import capabilities                               # noqa: E402
from lpn.runtime.engines import EngineUnavailable                  # noqa: E402
from lpn.runtime.instrumented.claims import Runner                 # noqa: E402

#: Cases of tests/verifier/rules that we accept and the kernel, asked with fewer capabilities, does not -> why.
WALKS, SPECULATION, DIFFERENCE, HALF, ALIGNED, OUTER, JOINED = (outside.reason(words) for words in (
    "infinite loop detected", "prohibited for !root", "pointer comparison prohibited", "partial copy of pointer", "misaligned stack access",
    "cannot spill pointers to stack into stack frame of the caller", "bitwise operator |= on pointer"))
EXPLAINED = {
    "8: to the start": WALKS,
    "33: one of two counters goes on in each turn": WALKS,
    "33: one of two counters goes on by more than the other one goes back": WALKS,
    **{f"16: {name}": SPECULATION for name in (           # what a loop fills has a variable place; root may read what was never written
        "a loop fills eight bytes",
        "a loop moves by two and writes two bytes",
        "a loop moves by four and writes all of them",
        "a loop begins with the second byte, the first one is there",
        "a loop comes down to the first byte",
        "a loop that goes up fills downwards",
        "a loop writes another number on one way",
        "a loop is left early, as much is read",
        "a byte is read when it was written, in the loop",
        "the byte before is read in the loop",
        "another counter, that moves as this one does, says when the loop is left",
        "a counter below zero, of 64 bits",
        "four bytes for each turn",
        "a loop overwrites a spilled pointer",
        "a pointer is spilled in each turn beside what the loop fills",
        "an index into what a loop has filled",
        "a store at an index into what a loop has filled",
        "a store at an index writes this one",
        "a function reads what its caller has filled",
        "a function fills what its caller reads",
        "rows of four bytes",
        "an atomic addition to what a loop has filled",
        "the counter is on the stack",
        "the counter is on the stack, and the last turn writes over it before it is stored again",
        "a word is read of which the loop has written the last byte, too")},
    "17: 600 below, 88 of them added again": SPECULATION,
    "19: compared from the end backwards": DIFFERENCE,
    "19: a length that does not wrap": SPECULATION,
    "19: an unsigned byte as an index": SPECULATION,
    "19: the last one of as many entries as the packet says, by a product that is computed anew": SPECULATION,
    "22: a signed half word of the stack, and as much added": SPECULATION,
    "22: a signed word of the stack, and as much added": outside.LESS,
    **{f"19: {name}": DIFFERENCE for name in (
        "a length less than what is left, as both turned negative: clang has it of `if (p + i + 1 > end)` in each turn",
        "a length turned negative, compared as signed numbers",
        "a length turned negative in 64 bits",
        "what is left behind a cursor and a length, both turned negative")},
    "23: or of a pointer and an index below its alignment": JOINED,
    "23: or of an aligned pointer and a constant": JOINED,
    "24: two pointers into the packet": DIFFERENCE,
    "24: equal in 32 bits": DIFFERENCE,
    "24: unequal in 32 bits, and the other way taken": DIFFERENCE,
    "25: the low half of a pointer spilled": HALF,
    "25: a difference of pointers is a number": DIFFERENCE,
    "25: the low half of a pointer in 8 bytes": HALF,
    "25: a place in the caller's frame, in that frame": OUTER,
    "27: 8 bytes of the stack at 3": ALIGNED,
    "33: steps that meet the bound": WALKS,
    "33: a cursor that always moves": SPECULATION,
    "33: a counter that jumps to itself": WALKS,
    "33: steps of 4 that meet 10": WALKS,
    "33: another register set back": WALKS,
    "33: a 32-bit counter below its bound": WALKS,
    "34: 2 levels of 100": WALKS,
    "34: 10^5 turns": WALKS,
    "34: 50 times 50 times 50": WALKS,
    "35: no budget on our engine": WALKS,
    "38: more steps than allowed": WALKS,
    "38: enough steps": WALKS,
}
#: What root may load and we refuse: rules about initialised memory, addresses, kinds that depend on the path, the analysis' own limit.
STRICTER = {4, 13, 14, 16, 21, 23, 24, 25, 28, 38}
#: What the kernel takes even with fewer capabilities, and we do not.
FREE = {
    "4: an offset in exit": "unused fields are zero (RFC 9669, 3.1)",
    "21: a signed load on XDP": "no document says what it gives where the kernel replaces the load",
    "23: a pointer moved step by step, out of the world": "it is never used",
    "28: the constant 2^32": "RFC 9669 gives division by zero a meaning; engines differ",
    "28: 256 in a byte": "the same",
    "28: 65536 as two octets, least first": "the same",
    "28: what was divided by a number below 0 may be 0": "the same",
}


@pytest.fixture(scope="module")
def judged():
    try:
        return outside.judge(outside.rule_cases(13), 300), outside.judge(outside.random_programs(12), 300)
    except EngineUnavailable as e:
        pytest.skip(f"the kernel cannot be asked here: {e}")


def test_what_the_kernel_refuses_and_we_accept_is_explained(judged):
    rules, programs = judged
    found = {row.name: outside.reason(row.caps) for row in rules if row.ours is None and row.caps is not None}
    assert found.items() <= EXPLAINED.items()
    unexplained = [(row.name, row.caps) for row in programs if row.ours is None and row.caps is not None and outside.reason(row.caps) is None]
    assert not unexplained


def test_where_the_kernel_knows_less_the_claims_hold(judged):
    """Those programs run, with every claim looked at."""
    runner = Runner()
    for row in [*judged[0], *judged[1]]:
        if row.ours is None and outside.LESS in (outside.reason(row.caps or ""), outside.reason(row.root or "")):
            report, fault = attempt(Case(row.text, "xdp", tuple(SIZES["xdp"].items())), runner, 1, 300)
            assert fault is None, f"{row.name}: {fault}"


def test_what_we_refuse_and_the_kernel_does_not_is_known(judged):
    """Root may read uninitialised stack and leak addresses; the rest has a name."""
    rules, programs = judged
    accepted = {row.rule for row in [*rules, *programs] if row.ours is not None and row.root is None}
    assert accepted <= STRICTER
    assert {row.name for row in rules if row.ours is not None and row.caps is None and row.rule != 38} <= set(FREE)     # 38: a limit of ours


def test_both_verdicts_are_met(judged):
    rules, programs = judged
    assert len(rules) > 100 and len(programs) > 5
    assert sum(row.ours is None and row.caps is None for row in [*rules, *programs]) > 30
    assert sum(row.ours is not None and row.caps is not None for row in rules) > 60


def test_a_child_has_what_it_is_given_and_no_more():
    def bits():
        status = Path("/proc/self/status").read_text()
        return [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff")][0]
    try:
        assert capabilities.in_child({capabilities.CAP_BPF}, bits) == 1 << capabilities.CAP_BPF
    except EngineUnavailable as e:
        pytest.skip(str(e))
    with pytest.raises(EngineUnavailable, match="ended with status"):
        capabilities.in_child({capabilities.CAP_BPF}, lambda: 1 // 0)
