"""The instrumented interpreter in C does what its Python twin does, and it sees what it must see."""
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import generate                                                    # noqa: E402
import instrumented                                                # noqa: E402

from lpn.compiler.asm import AsmError, assemble                    # noqa: E402
from lpn.runtime.instrumented.claims import Claims, Runner, Tables     # noqa: E402
from lpn.verifier import LPN, analyse                              # noqa: E402
from lpn.verifier import domain as d                               # noqa: E402
from lpn.verifier.state import NUMBER, Value, entry_state          # noqa: E402

PROFILE = LPN.with_sizes(rec=64, state=32)
SIZES = (("rec", 64), ("state", 32), ("out", 256))


@pytest.fixture(scope="module")
def runner():
    return Runner()


def both(runner, text, packet, seed):
    """What the twin returned or its fault, and the C machine's fault."""
    rng = random.Random(seed)
    twin = instrumented.Machine(text, packet, sizes=SIZES, fill=rng.randbytes)
    given = {name: bytes(twin.regions[name].data) for name, _ in SIZES}
    scalars = {off: int.from_bytes(twin.regions["ctx"].data[off:off + 4], "little") for off in range(40, 88, 4)}
    window = bytes(twin.regions["pkt"].data[len(packet):])
    claims = Claims(text, PROFILE)
    claims.program.max_insns = 5000
    try:
        theirs = twin.run(5000)
    except instrumented.Fault as fault:
        theirs = fault
    fault = runner.once(claims, packet, given, {**scalars, 88: 0, 92: 0}, window)
    return theirs, fault


def test_the_same_as_its_twin(runner):
    """Programs that need not be safe: the same result, or a fault in both."""
    ran = faults = 0
    for seed in range(400):
        rng = random.Random(seed)
        try:
            text = assemble(generate.program(rng.choice))
        except (AsmError, ValueError):
            continue
        packet = rng.randbytes(rng.choice((0, 3, 20, 64, 200)))
        theirs, fault = both(runner, text, packet, seed)
        if isinstance(theirs, instrumented.Fault):
            assert fault is not None, (seed, str(theirs))
            faults += 1
            continue
        assert fault is None, (seed, str(fault))
        result = runner.result
        assert (result.r0, result.insns, result.branches, result.stack, bool(result.clean32)) == (
            theirs.r0, theirs.insns, theirs.branches, theirs.stack, theirs.clean32), seed
        ran += 1
    assert ran > 150 and faults > 30


UNSAFE = [
    ("r0 = 0\n r0 = r3\n exit", "read before it is written"),
    ("r0 = *(u64 *)(r10 - 8)\n exit", "stack bytes are read"),
    ("*(u32 *)(r10 - 516) = 0\n r0 = 0\n exit", "a write outside"),
    ("r2 = *(u64 *)(r1 + 0)\n r0 = *(u8 *)(r2 + 2112)\n exit", "a read outside"),
    ("r2 = *(u64 *)(r1 + 0)\n *(u8 *)(r2 + 2047) = 0\n r0 = 0\n exit", "a write outside"),
    ("r2 = *(u64 *)(r1 + 0)\n r2 += -1\n r0 = *(u8 *)(r2 + 0)\n exit", "a read outside"),
    ("r2 = *(u64 *)(r1 + 16)\n r0 = *(u8 *)(r2 + 64)\n exit", "a read outside"),
    ("r2 = *(u64 *)(r1 + 16)\n r0 = *(u64 *)(r2 + 2)\n exit", "not aligned"),
    ("*(u32 *)(r1 + 52) = 0\n r0 = 0\n exit", "against its descriptor"),
    ("r0 = *(u32 *)(r1 + 0)\n exit", "against its descriptor"),
    ("r0 = r1\n exit", "others see"),
    ("r2 = *(u64 *)(r1 + 16)\n *(u64 *)(r2 + 0) = r1\n r0 = 0\n exit", "others see"),
    ("*(u64 *)(r10 - 8) = r1\n r0 = *(u32 *)(r10 - 8)\n exit", "part of a pointer"),
    ("r2 = *(u64 *)(r1 + 16)\n r2 *= 2\n r0 = 0\n exit", "arithmetic that pointers"),
    ("r2 = *(u64 *)(r1 + 16)\n r2 -= r1\n r0 = 0\n exit", "different regions"),
    ("r0 = 0\n if r1 > 5 goto +0\n exit", "compared with something else"),
    ("r0 = 1\n r2 = 0\n r0 /= r2\n exit", "division by zero"),
    ("r0 = 1\n r2 = 64\n r0 <<= r2\n exit", "a shift by the width"),
    ("call 99\n exit", "a helper is called"),
    ("call 2\n r0 = r1\n exit", "read before it is written"),
    ("r1 = 1\n call 3\n r0 = 0\n exit", "read before it is written"),
    ("r2 = r1\n r1 = 1\n call 3\n exit", "others see"),
    ("r0 = 0\n A: goto A", "more instructions"),
    ("r1 = 7\n r0 = *(u8 *)(r1 + 0)\n exit", "a number is used as an address"),
]


@pytest.mark.parametrize("source,what", UNSAFE, ids=lambda x: None)
def test_it_sees(runner, source, what):
    claims = Claims(assemble(source), PROFILE)
    claims.program.max_insns = 100
    fault = runner.batch(claims, 1, 50)
    assert fault is not None and what in str(fault)


def accepted(source):
    text = assemble(source)
    judged = analyse(text, PROFILE, record_size=64, state_size=32)
    assert judged[0].accepted, judged[0].message
    return Claims(text, PROFILE, None, judged)


LOOP = "w2 = 0\n A: w2 += 1\n if w2 < 8 goto A\n r3 = *(u64 *)(r1 + 72)\n r3 &= 7\n *(u64 *)(r10 - 16) = 1\n r0 = *(u64 *)(r10 - 16)\n r0 += r3\n exit"


@pytest.mark.parametrize("name,value,what", [
    ("max_insns", 20, "more instructions"), ("max_branches", 6, "more jumps"), ("stack_used", 8, "more stack"), ("most_cost", 10, "costs more"),
    ("least_cost", 1 << 40, "costs less"),
])
def test_claims_of_the_whole_are_checked(runner, name, value, what):
    claims = accepted(LOOP)
    assert runner.batch(claims, 1, 50) is None
    setattr(claims.program, name, value)
    assert what in str(runner.batch(claims, 1, 50))


def test_claims_of_loops_and_ranges_are_checked(runner):
    claims = accepted(LOOP)
    loop = claims.ffi.cast("it_loop *", claims.program.loops)
    loop.bound = 7
    assert "more often" in str(runner.batch(claims, 1, 50))
    loop.bound = 8
    nums = claims.ffi.cast("it_num *", claims.program.nums)
    wrong = 0
    for i in range(len(claims.numbers)):
        kept = nums[i].uhi
        if nums[i].ulo < kept:
            nums[i].uhi = nums[i].ulo
            wrong += runner.batch(claims, 1, 50) is not None
            nums[i].uhi = kept
    assert wrong >= 3 and runner.batch(claims, 1, 50) is None


@pytest.mark.parametrize("source", [
    "r9 = *(u64 *)(r1 + 16)\nr2 = *(u64 *)(r9 + 0)\nr3 = -9223372036854775803 ll\nif r2 s> r3 goto E\nw4 = w2\nif r4 == 3 goto E\nE: r0 = 0\nexit",
    "r3 = *(u32 *)(r1 + 40)\nr2 = -9223372036854775808 ll\nif r3 == 0 goto A\nr2 = -9223372036854775802 ll\nA: r0 = 0\nif r2 s> 0 goto E\nE: exit"],
    ids=["a low half that is the number and 2^63", "a multiple, and something, from the least number on"])
def test_claims_at_the_ends_of_64_bits_are_true(runner, source):
    """What is claimed in whole numbers is checked in them."""
    claims = accepted(source)
    assert runner.batch(claims, 1, 2000) is None


def test_a_region_that_the_interpreter_does_not_have_is_refused():
    with pytest.raises(ValueError, match="rec has 4097 bytes"):
        Claims(assemble("r0 = 0\nexit"), LPN.with_sizes(rec=4097))


def test_numbers_that_are_further_apart_than_a_word_says():
    """Of two numbers one may be more than 2^63 above the other: then the claim's other side is looked at."""
    s = entry_state(2048)
    s.vars[5], s.vars[6] = d.signed(-(1 << 63), -(1 << 62)), d.signed(1 << 62, (1 << 63) - 1)
    s.regs[2], s.regs[3] = Value(NUMBER, None, 5, 0), Value(NUMBER, None, 6, 0)
    for bounds, has in (((1 << 63, (1 << 64) - 1), 0), (((1 << 63) - 1, 1 << 63), 1), ((-(1 << 63) - 1, -(1 << 63)), 2), ((3, 4), 3)):
        s.diff[5, 6] = bounds
        tables = Tables()
        tables.state(s)
        assert tables.diffs[-8] == has
