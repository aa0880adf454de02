"""The stack of functions: what the verifier takes each one to keep is what the engine keeps, and what it accepts runs to its end there."""
from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from test_load_same import here, with_addresses, with_opcodes
from test_thumb2_same import with_functions

from lpn.compiler.asm import assemble
from lpn.compiler.fuzz_bytecode.trial import family
from lpn.compiler.isa import decode, slot_indices
from lpn.runtime.raw import run_raw
from lpn.verifier.frames import frame

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import cases                                                       # noqa: E402

SIZES = {"rodata": "rodata", "data": "data", "rec": "record_size", "state": "state"}
KNOWN = {1, 2, 3}                                   #: helpers that a bare run has


def texts() -> Iterator[bytes]:
    yield from with_opcodes(12)
    yield from with_addresses(range(1500))
    yield from (with_functions(random.Random(seed)) for seed in range(60))


def test_the_verifier_knows_what_the_engine_keeps() -> None:
    looked = several = 0
    for text in texts():
        error, *told = here(text)
        if error:
            continue
        insns = decode(text)
        code = dict(zip(slot_indices(insns), insns))
        entries = [word & 0xFFFF for word in told[2:]]
        ends = [*entries[1:], len(text) // 8]
        kept = [frame((slot, insn) for slot, insn in code.items() if entry <= slot < end) for entry, end in zip(entries, ends)]
        assert kept == [word >> 16 for word in told[2:]], text.hex()
        looked, several = looked + any(kept), several + (len(kept) > 1)
    assert looked > 500 and several > 100


def runs(text: bytes, sizes: dict[str, int], packet: bytes) -> str:
    """How a run of the engine with all its checks ends."""
    amount = {SIZES[name]: size if name == "rec" else bytes(size) for name, size in sizes.items() if name in SIZES}
    return run_raw(text, layout="lpn", packet=packet, **amount).error


def helpers_of(text: bytes) -> set[int]:
    return {insn.imm for insn in decode(text) if insn.is_call and not insn.is_local_call}


@pytest.mark.parametrize("case", [case for case in cases.all_cases() if case.expect == "accept" and case.headers.get("profile", "lpn") == "lpn"
                                  and not {"helpers", "options", "contexts"} & case.headers.keys()],
                         ids=lambda case: f"{case.rule}-{case.name.replace(' ', '-')}")
def test_near_misses_run_to_their_end(case) -> None:
    text, _, options = case.judged()
    if not helpers_of(text) <= KNOWN - {1, 3}:
        pytest.skip("it calls what a bare run has not")
    sizes = {"rec" if name == "record_size" else name.removesuffix("_size"): size for name, size in options.items() if isinstance(size, int)}
    for length in (0, 1, 20, 64, 127, 1000):
        assert runs(text, sizes, random.Random(length).randbytes(length)) in ("ok", "out of fuel"), length


def test_what_is_accepted_runs_to_its_end() -> None:
    """Random programs and changed ones, those that call local functions above all."""
    ran = calling = 0
    for seed in range(0, 160, 2):
        for case in family(seed, 4, "pieces"):
            if case.profile != "lpn" or not helpers_of(case.text) <= KNOWN - {1, 3} or not (report := case.judge()[0]).accepted:
                continue
            for length in (0, 30, 127):
                assert runs(case.text, dict(case.sizes), random.Random(seed + length).randbytes(length)) == "ok", (seed, case.source())
            ran, calling = ran + 1, calling + (report.stack > 0 and any(insn.is_local_call for insn in decode(case.text)))
    assert ran > 60 and calling > 5


STACK = st.sampled_from([8, 16, 24, 64, 128, 200, 256])
PLACES = ("*(u64 *)(r10 - {}) = {}", "r3 = {}; r2 = r10; r2 -= r3; *(u64 *)(r2 + 0) = {}", "r2 = r10; r2 += -{}; *(u64 *)(r2 + 0) = {}",
          "r3 = -{}; r2 = r10; r2 += r3; *(u64 *)(r2 + 0) = {}", "r2 = r10; r3 = 8; r2 += r3; *(u64 *)(r2 - {2}) = {1}")


@settings(max_examples=400)
@given(st.lists(st.tuples(st.lists(st.integers(1, 4), max_size=2), STACK, st.sampled_from(PLACES), st.integers(0, 2**31 - 1), st.booleans()), min_size=2, max_size=5))
def test_functions_do_not_write_over_each_other(functions) -> None:
    """Each one stores a number, calls later ones, and finds its number again; or the verifier says no."""
    from lpn.verifier import LPN, verify
    lines, reached = [], {0}
    for i, (calls, at, place, mark, back) in enumerate(functions):
        if i not in reached:
            continue
        others = [i + by for by in calls if i + by < len(functions)]
        reached |= set(others)
        lines += [f"f{i}: r0 = 0", *place.format(at, mark, at + 8).split("; "), *(f"call f{other}" for other in others), f"if r0 == 1 goto B{i}",
                  *((f"r1 = *(u64 *)(r10 - {at})",) if back else ("r2 = r10", f"r3 = {-at}", "r2 += r3", "r1 = *(u64 *)(r2 + 0)")),
                  "r0 = 0", f"if r1 == {mark} goto E{i}", f"B{i}: r0 = 1", f"E{i}: exit"]
    text = assemble("\n".join(lines))
    if verify(text, LPN).accepted:
        ended = run_raw(text, layout="lpn")
        assert (ended.error, ended.r0) == ("ok", 0)
