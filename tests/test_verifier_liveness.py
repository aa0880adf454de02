"""What may be read of the stack later: of the rest the verifier forgets what it holds."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.asm import assemble
from lpn.verifier import cfg, fixpoint
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.liveness import live_stack, stack_pointers
from lpn.verifier.state import stack_bits
from lpn.verifier.verify import analyse

PROFILE = PROFILES["lpn"]
ALL = (1 << 512) - 1


def live(source: str) -> dict[int, int] | None:
    """By the slot at which a block begins."""
    found = live_stack(cfg.build(assemble(source), PROFILE))
    return None if found is None else {node.first: bits for node, bits in found.items()}


def test_what_is_read_is_live_up_to_its_last_read() -> None:
    found = live("*(u64 *)(r10 - 8) = 5\n*(u32 *)(r10 - 16) = 6\nr2 = *(u32 *)(r1 + 52)\nif w2 == 0 goto A\nr3 = *(u32 *)(r10 - 8)\nA: r0 = *(u8 *)(r10 - 16)\nif w2 > 1 goto B\n"
                 "r0 = 1\nB: exit")
    assert found == {0: 0, 4: stack_bits(-8, 4) | stack_bits(-16, 1), 5: stack_bits(-16, 1), 7: 0, 8: 0}


def test_what_is_written_again_was_not_live() -> None:
    assert live("r2 = *(u32 *)(r1 + 52)\nif w2 == 0 goto A\nr0 = 0\nA: *(u32 *)(r10 - 8) = 1\nr0 = *(u64 *)(r10 - 8)\nexit") == {0: stack_bits(-4, 4), 2: stack_bits(-4, 4), 3: stack_bits(-4, 4)}


@pytest.mark.parametrize(("use", "bits"), [
    ("r0 = *(u8 *)(r3 + 0)", ALL), ("r2 = r3\nr1 = 0x10800\nr3 = r10\ncall 1", ALL), ("r4 = 1\nr4 += r3\nr0 = *(u8 *)(r4 + 0)", ALL), ("w3 = w3\nr0 = *(u8 *)(r3 + 0)", ALL),
    ("r3 = be64 r3\nr0 = *(u8 *)(r3 + 0)", ALL),
    ("r3 = *(u64 *)(r1 + 0)\nr0 = *(u8 *)(r3 + 0)", 0), ("r3 = 5\nr0 = *(u8 *)(r1 + 52)", 0), ("r3 = 5 ll\nr0 = *(u8 *)(r3 + 0)", 0), ("*(u8 *)(r3 + 0) = 1", 0), ("call 2", ALL), ("r3 = 5\ncall 2\nr0 = *(u8 *)(r3 + 0)", 0),
    ("r5 = be16 r5\nr0 = *(u8 *)(r5 + 0)", 0), ("r1 = 1\nr2 = 2\nr3 = 3\ncall 3", 0)])
def test_who_has_a_pointer_may_read_everything(use: str, bits: int) -> None:
    found = live(f"r5 = *(u64 *)(r1 + 0)\nr3 = r10\nr3 += -8\nw2 = *(u32 *)(r1 + 52)\nif w2 == 0 goto A\nr0 = 0\nA: {use}\nr0 = 0\nexit")
    assert found is not None and found[0] == bits


@pytest.mark.parametrize("source", ["r2 = r10\n*(u64 *)(r10 - 8) = r2\nr0 = 0\nexit", "*(u64 *)(r10 - 8) = r10\nr0 = 0\nexit",
                                    "call F\nr0 = 0\nexit\nF: r0 = 0\nexit", "r2 = 1\nr0 = 0\n*(u64 *)(r10 - 8) = 0\nlock *(u64 *)(r10 - 8) += r2\nexit"])
def test_nobody_knows_where_pointers_lie_in_memory(source: str) -> None:
    assert live(source) is None


def test_ways_meet_with_the_pointers_of_each() -> None:
    graph = cfg.build(assemble("r2 = *(u32 *)(r1 + 52)\nr3 = 0\nif w2 == 0 goto A\nr3 = r10\nA: r0 = 0\nexit"), PROFILE)
    found = stack_pointers(graph)
    assert found is not None and [bits for _, bits in sorted((node.first, bits) for node, bits in found.items())] == [1 << 10, 1 << 10, 1 << 10 | 1 << 3]


def test_what_is_not_read_again_is_forgotten() -> None:
    """But that it was written is known still."""
    source = "r2 = *(u32 *)(r1 + 52)\n*(u64 *)(r10 - 8) = r2\nif w2 == 0 goto A\nr3 = *(u64 *)(r10 - 8)\nr0 = r3\nif w2 == 7 goto B\nA: r0 = 0\nB: exit"
    report, analysis = analyse(assemble(source), PROFILE)
    assert report.accepted and analysis is not None
    kept = {node.first: sorted(state.frames[0].slots) for node, state in analysis.invariants.items()}
    assert kept == {0: [], 3: [-8], 6: [], 7: []}
    assert all(state.frames[0].written == stack_bits(-8, 8) for node, state in analysis.invariants.items() if node.first)


LINES = st.one_of(
    st.builds("*(u{} *)(r10 - {}) = r{}".format, st.sampled_from((32, 64)), st.sampled_from((8, 16, 24)), st.sampled_from((2, 3, 4, 7))),
    st.builds("r{} = *(u{} *)(r10 - {})".format, st.integers(2, 4), st.sampled_from((32, 64)), st.sampled_from((8, 16, 24))),
    st.builds("r5 = r{}\nr5 += -{}".format, st.just(10), st.sampled_from((8, 16, 24))), st.builds("r{} = *(u64 *)(r5 + 0)".format, st.integers(2, 4)),
    st.builds("*(u64 *)(r5 + 0) = r{}".format, st.integers(2, 4)), st.builds("r{} = r{}".format, st.integers(2, 4), st.integers(2, 4)),
    st.builds("r{} = {}".format, st.integers(2, 4), st.integers(0, 9)), st.builds("r{} = *(u64 *)(r1 + 0)".format, st.sampled_from((7, 4))),
    st.builds("r{} = *(u8 *)(r7 + 0)".format, st.integers(2, 4)), st.builds("if w{} > {} goto +{}".format, st.integers(2, 4), st.integers(0, 9), st.integers(0, 5)),
    st.builds("w{} &= 7".format, st.integers(2, 4)))
BEGIN = "r7 = *(u64 *)(r1 + 0)\nr5 = r10\nr5 += -8\nr2 = 1\nr3 = 2\nr4 = *(u32 *)(r1 + 52)\n*(u64 *)(r10 - 8) = 1\n*(u64 *)(r10 - 16) = r4\n*(u64 *)(r10 - 24) = r7\n"


@given(st.lists(LINES, max_size=24))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_program_is_lost(lines: list[str]) -> None:
    """Whoever is accepted with all that is known of the stack is accepted without what is not read again."""
    text = assemble(BEGIN + "\n".join([*lines, "r0 = 0", *["exit"] * 7]))
    now = analyse(text, PROFILE)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixpoint, "live_stack", lambda graph: None)
        before = analyse(text, PROFILE)[0]
    assert (now.accepted, now.rule) == (before.accepted, before.rule)
