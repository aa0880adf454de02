"""Worst-case and best-case time: no run takes longer than the bound or less than the other, and the worst path is one."""
import random
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import generate                                                    # noqa: E402
import instrumented                                                # noqa: E402

from lpn.compiler.asm import AsmError, assemble                    # noqa: E402
from lpn.compiler.isa import OPCODES                               # noqa: E402
from lpn.verifier import LPN, analyse                              # noqa: E402
from lpn.verifier.cost import Cost, CostError, CostTable, TableSize   # noqa: E402
from lpn.verifier.wcet import time_of                              # noqa: E402

SIZES = (("rec", 64), ("state", 32), ("out", 256))


def table_of(insns, module, helpers) -> CostTable:
    return CostTable("made up", 72, "", module, Cost(0, 0), {key: Cost(*cost) for key, cost in insns.items()}, helpers)


def table(draw) -> CostTable:
    """Random costs. `draw(low, high)` gives a number."""
    insns = {}
    for op in OPCODES:
        for suffix in ("", " taken"):
            low = draw(1, 20)
            insns[f"0x{op:02x}{suffix}"] = [low, low + draw(0, 9)]
    return table_of(insns, Cost(3, 7), {})


class Clock:
    """Follows a run and adds up what its instructions cost."""

    def __init__(self, costs: CostTable, text: bytes):
        self.costs, self.ops = costs, [struct.unpack_from("<BBhi", text, at) for at in range(0, len(text), 8)]
        self.most, self.fewest, self.before = costs.module.most, costs.module.fewest, None

    def __call__(self, pc, r, machine):
        if self.before is not None:
            self.add(self.before, pc)
        self.before = pc

    def add(self, pc, following):
        op, _, off, imm = self.ops[pc]
        if op & 7 in (5, 6) and op not in (0x85, 0x95):
            ways = {True} if op in (0x05, 0x06) else {True, False} if off == 0 else {following != pc + 1}   # off 0: who knows
        else:
            ways = {False}
        costs = [self.costs.insns[f"0x{op:02x}{' taken' if taken else ''}"] for taken in ways]
        self.most += min(cost.most for cost in costs)
        self.fewest += max(cost.fewest for cost in costs)

    def end(self):
        self.add(self.before, None)


def accepted(rng: random.Random):
    """A random program without helpers that is accepted: text, report, analysis; None for the others."""
    try:
        text = assemble(generate.program(rng.choice))
    except (AsmError, ValueError):
        return None
    report, analysis = analyse(text, LPN, record_size=64, state_size=32, max_insns=100_000)
    return (text, report, analysis) if report.accepted and not report.helpers else None


@given(st.integers(0, 1 << 30))
@settings(max_examples=100, deadline=None)
def test_every_run_is_within_the_bounds(seed):
    rng = random.Random(seed)
    if (made := accepted(rng)) is None:
        return
    text, report, analysis = made
    costs = table(lambda low, high: rng.randint(low, high))
    bound = time_of(analysis, costs, {})
    assert sum(step.cycles for step in bound.path) + costs.module.most == bound.worst
    for n in (0, 1, 8, 64, 200):
        machine = instrumented.Machine(text, rng.randbytes(n), sizes=SIZES, fill=rng.randbytes)
        clock = Clock(costs, text)
        machine.run(report.max_insns, clock)
        clock.end()
        assert clock.most <= bound.worst
        assert clock.fewest >= bound.best


def flat(**more) -> CostTable:
    """Each instruction one cycle."""
    return table_of({f"0x{op:02x}": [1, 1] for op in OPCODES} | more, Cost(0, 0),
                    {"own": {"call": [10, 100]}, "clock_us": {"call": [10, 100]}, "lookup": {"call": [10, 100], "entry": [5], "match": {
                        "exact": {"pass": [3, 8, 2], "miss": [4, 8, 2]}, "lpm": {"pass": [2, 9, 2], "miss": [1, 9, 2]}}}})


def times(source, costs, tables=None):
    report, analysis = analyse(assemble(source), LPN, record_size=64, state_size=32)
    assert report.accepted, report.message
    return time_of(analysis, costs, {1: ("lookup", 2000), 2: ("clock_us", 100), 3: ("trace", 77)}, tables, [(0, 1), (2, 2)])


def test_loops_count_their_turns():
    bound = times("r0 = 0\nr2 = 0\nA: r3 = 0\nB: r3 += 1\nif r3 < 8 goto B\nr2 += 1\nif r2 < 16 goto A\nexit", flat())
    assert bound.worst == 2 + 16 * (1 + 8 * 2 + 2) + 1
    assert bound.best == 2 + 1 + 2 + 2 + 1
    assert [(s.line, s.cycles, s.insns) for s in bound.path] == [(1, 2, 2), (2, bound.worst - 2, bound.worst - 2)]


def test_a_taken_jump_has_its_own_cost():
    branch = "r2 = *(u32 *)(r1 + 52)\nr0 = 0\nif w2 == 0 goto A\nr0 = 1\nr0 = 2\nA: exit"
    assert times(branch, flat()).worst == 6
    bound = times(branch, flat(**{"0x16 taken": [9, 9]}))
    assert (bound.best, bound.worst) == (6, 12)


def test_an_access_costs_what_its_region_costs():
    code = "r2 = *(u64 *)(r1 + 24)\nr3 = *(u32 *)(r2 + 0)\nr0 = 0\nexit"
    assert times(code, flat(**{"0x61 state": [5, 5], "0x61 pkt": [50, 50]})).worst == 8


def test_a_lookup_costs_what_its_table_holds():
    code = ("*(u32 *)(r10 - 8) = 0\n*(u32 *)(r10 - 4) = 0\nw1 = 0x40403\nr2 = r10\nr2 += -8\nr3 = r10\nr3 += -4\n"
            "call 1\nw0 = 0\nexit")
    assert times(code, flat(), {3: TableSize(16, 4)}).worst == 10 + 100 + 16 * (5 + 4 + 8)
    assert times(code, flat(), {3: TableSize(16, 4, 2)}).worst == 10 + 100 + 16 * (5 + 2 + 9 + 4 + 8)
    with pytest.raises(CostError, match="not known"):
        times(code, flat())


def test_a_lookup_that_no_run_comes_to_costs_nothing():
    """LLVM does not know that a length is below 65,536; of what is behind nobody knows the table."""
    code = ("r6 = *(u32 *)(r1 + 52)\nr7 = 0\nif w6 == 7 goto A\nr7 = 8\nA: r7 &= 4\nif w7 == 0 goto Z\n"
            "*(u32 *)(r10 - 8) = 0\n*(u32 *)(r10 - 4) = 0\nw1 = 0x40403\nr2 = r10\nr2 += -8\nr3 = r10\nr3 += -4\ncall 1\nZ: w0 = 0\nexit")
    assert times(code, flat(), {3: TableSize(16, 4)}).worst == 8


def test_a_lookup_costs_what_its_fields_do():
    """By kind of match; exact fields alone are bisected; the data of an action are copied, the rest of the room is zeroed."""
    match = {"lpm": {"pass": [7, 8, 2], "miss": [11, 8, 2]}, "exact": {"pass": [1, 4, 1], "miss": [1, 4, 1]}, "range": {"pass": [20, 16, 4], "miss": [2, 1, 1]}}
    row = {"call": [10, 100], "entry": [5], "match": match, "bisect": [50, 3],
           "copy": [[4, 20], [1, 9]], "zero": [[16, 21], [4, 6], [1, 2]]}
    costs = table_of({}, Cost(0, 0), {"lookup": row})

    def most(kinds, entries=16, data=0, room=0):
        return costs.helper("lookup", 0, [TableSize(entries, sum(n for _, n in kinds), len(kinds), kinds=kinds, data=data, room=room)]).most
    assert most((("lpm", 4),)) == 100 + 16 * (5 + 11 + 8)
    assert most((("lpm", 4), ("range", 2))) == 100 + 16 * (5 + 7 + 8 + 20 + 8)
    assert most((("lpm", 4), ("exact", 1))) == 100 + 16 * (5 + 11 + 8)       # an entry that misses at once takes longer than one that misses behind
    assert most((("exact", 4), ("exact", 2))) == 100 + 6 * (50 + 3 * 6)
    assert most((("exact", 4), ("lpm", 2))) == 100 + 16 * (5 + 1 + 4 + 11 + 4)
    assert most((("lpm", 4),), 1, 6, 28) == 124 + (20 + 2 * 9) + (21 + 6 + 2 * 2)
    assert most((("lpm", 4),), 1, 0, 28) == 124 + 21 + 3 * 6
    unknown = costs.helper("lookup", 0, [TableSize(2, 8, 2, data=0, room=0)]).most
    assert unknown >= most((("range", 4), ("range", 4)), 2)


def test_what_a_buffer_is_given_is_no_longer_than_the_packet_and_the_headers():
    """The head's octets are known here, and the packet has at most 100; else a whole entry is copied."""
    given = "".join(f"*(u32 *)(r10 - {at}) = {value}\n" for at, value in ((32, 0), (28, 0), (24, 20), (20, 0), (16, 8)))
    code = given + ("*(u32 *)(r10 - 8) = 0\nw1 = 0x140400\nr2 = r10\nr2 += -8\nr3 = r10\nr3 += -32\ncall 12\nw0 = 0\nexit")
    report, analysis = analyse(assemble(code), LPN, record_size=64, state_size=32)
    assert report.accepted, report.message
    costs = flat()
    costs.helpers["buffer_put"] = {"call": [10, 100], "ways": [[9, 1, 5, 2, 3, 7], [40, 0, 0, 0, 0, 0]]}
    for longest, size in ((100, 1280), (2048, 1280), (100, 64)):
        most = time_of(analysis, costs, {12: ("buffer_put", 900)}, {}, None, {0: TableSize(2, 4, octets=size)}, longest).worst
        assert most == report.insns + 100 + 9 + 4 + 2 * (5 + 2 * 4) + 3 * size // 8 + 7 * ((min(size, 20 + longest) + 7) // 8)


def test_a_buffers_call_goes_one_way():
    """The longer one counts: what belongs to an entry that is there makes none give way."""
    costs = table_of({}, Cost(0, 0), {"buffer_put": {"call": [10, 100], "ways": [[0, 0, 10, 0, 50, 1], [0, 0, 90, 0, 1, 1]]}})

    def most(entries, octets):
        return costs.helper("buffer_put", 0, [TableSize(entries, 4, octets=octets, piece=0)]).most
    assert most(4, 64) == 100 + max(40 + 8 * 50, 360 + 8) and most(8, 64) == 100 + max(80 + 8 * 50, 720 + 8)
    assert costs.helper("buffer_put", 0, [TableSize(4, 4, octets=9, piece=9)]).most == 100 + 360 + 2 + 2      # units that are begun count


def test_what_the_platform_does_costs_what_is_declared():
    assert times("w1 = 0\nw2 = 0\ncall 3\nw0 = 0\nexit", flat()).worst == 5 + 100 + 77


def test_an_unknown_cost_is_refused():
    costs = flat()
    del costs.insns["0x95"]
    with pytest.raises(CostError, match="does not know opcode 0x95"):
        times("r0 = 0\nexit", costs)
