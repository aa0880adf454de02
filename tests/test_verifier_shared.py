"""What parts of a chain cannot have together: octets of a packet that a buffer is given and loops move over, and headers that exclude each other. The bound has
neither twice, and is below no run."""
from __future__ import annotations

import random
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import instrumented                                                # noqa: E402
from test_verifier_walk import PROFILE, SIZES, SLOW, Clock, any_verdict, bound, flat, kinds, module, table      # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.compiler.helpers import HELPERS                           # noqa: E402
from lpn.verifier import LPN, analyse                              # noqa: E402
from lpn.verifier import domain as d, exclusive, octets, walk      # noqa: E402
from lpn.verifier.cost import TableSize                            # noqa: E402
from lpn.verifier.descriptors import helper_specs                  # noqa: E402
from lpn.verifier.join import join                                 # noqa: E402
from lpn.verifier.order import leq                                 # noqa: E402
from lpn.verifier.shorter import shorter                           # noqa: E402
from lpn.verifier.state import LEN, NUMBER, State, Value, entry_state, number      # noqa: E402
from lpn.verifier.wcet import Weights                              # noqa: E402

ENTRY = 1280                                                       # octets of the buffer's entry
BODY = 10                                                          # instructions in a turn of the loop, but for three


# A buffer and loops ------------------------------------------------------------------------------
#: An option of the packet, an octet that says how many follow and these; a loop takes a turn for each. Then a buffer is given octets of the packet.
PARSE = ("r9 = *(u64 *)(r1 + 0)\nr8 = *(u64 *)(r1 + 8)\nr7 = r9\nr0 = 1\nr3 = r9\nr3 += 1\nif r3 > r8 goto B\nr4 = *(u8 *)(r9 + 0)\nr9 = r3\nr9 += r4\n"
         "if r9 > r8 goto B\nr3 = 0\nL: if r3 >= r4 goto E\n" + "r2 = 0\n" * BODY + "r3 += 1\nif r3 < 255 goto L\nE: r2 = 1\n")
REST = "r5 = r9\nr5 -= r7\nr8 -= r9\n"                             # what is behind the option: its place in r5, how many in r8
WHOLE = "r5 = 0\nr8 -= r7\n"                                       # all of it, the option too
LENGTH = "r5 = 1\nr8 = r4\n"                                       # the option itself
PUT = ("*(u32 *)(r10 - 32) = 0\n*(u32 *)(r10 - 28) = 0\n*(u32 *)(r10 - 24) = 0\n*(u32 *)(r10 - 20) = w5\n*(u32 *)(r10 - 16) = w8\n*(u32 *)(r10 - 8) = 0\n"
       "w1 = 0x140400\nr2 = r10\nr2 += -8\nr3 = r10\nr3 += -32\ncall 12\nr0 = 0\nB: exit")


def put_cost(octets_given: int, per_unit: int) -> int:
    return 100 + per_unit * -(-octets_given // 8)


def with_buffer(text: bytes, per_unit: int, longest: int) -> walk.Module:
    report, analysis = analyse(text, LPN, record_size=64, state_size=32)
    assert report.accepted, report.message
    costs = flat()
    costs.helpers["buffer_put"] = {"call": [10, 100], "ways": [[0, 0, 0, 0, 0, per_unit]]}
    weights = Weights(shorter(analysis, longest), costs, {12: ("buffer_put", 900)}, {}, {0: TableSize(2, 4, octets=ENTRY)}, longest)
    return walk.Module(weights, PROFILE, helper_specs(HELPERS), 0)


def followed(sources: list[str], per_unit: int, longest: int) -> int:
    return walk.chain_bound([with_buffer(assemble(source), per_unit, longest) for source in sources], longest, any_verdict).weight


def around(source: str) -> int:
    """Instructions of a run, but for those in turns of the loop, at most."""
    return source.count("\n") + 1 - (BODY + 3) + 1


@pytest.mark.parametrize("per_unit", [0, 8, 80, 800])
@pytest.mark.parametrize("longest", [20, 127])
def test_what_a_buffer_is_given_no_loop_has_moved_over(per_unit, longest):
    """All ways to share the octets are tried: the bound is not below the slowest, and not far above."""
    source = PARSE + REST + PUT
    slowest = max((BODY + 3) * n + put_cost(longest - 1 - n, per_unit) for n in range(longest)) + around(source) - 6
    most = followed([source], per_unit, longest)
    assert slowest <= most <= slowest + 2 * per_unit + 5 * (BODY + 3)


@pytest.mark.parametrize("taken", [WHOLE, LENGTH])
def test_octets_that_both_have_count_twice(taken):
    """A buffer is given the option itself, that a loop has moved over, too."""
    source, longest = PARSE + taken + PUT, 127
    most = followed([source], 80, longest)
    assert most >= (BODY + 3) * (longest - 1) + put_cost(longest - 1, 80)


def test_octets_from_anywhere_count_twice():
    """Where the piece begins stands in the packet's first octets."""
    source = PARSE + "r5 = *(u8 *)(r7 + 1)\nr8 -= r9\n" + PUT
    assert followed([source], 80, 127) >= (BODY + 3) * 126 + put_cost(126, 80)


def test_a_piece_given_in_one_of_two_ways():
    """The ways meet behind the call, and a loop goes on over the option: what is owed of both is known there."""
    again = "r3 = 0\nM: if r3 >= r6 goto F\n" + "r2 = 0\n" * BODY + "r3 += 1\nif r3 < 255 goto M\nF: r0 = 0\nB: exit"
    put = PUT.replace("\nr0 = 0\nB: exit", "")
    odd = "r6 = r4\n*(u64 *)(r10 - 40) = r6\nr5 = *(u8 *)(r7 + 0)\nw5 &= 1\nif w5 == 0 goto S\n"
    source = PARSE + odd + REST + put + "\nS: r6 = *(u64 *)(r10 - 40)\n" + again
    for per_unit in (8, 80, 800):
        slowest = max(2 * (BODY + 3) * n + n % 2 * put_cost(126 - n, per_unit) for n in range(127))
        assert followed([source], per_unit, 127) >= slowest


def test_what_was_cut_off_is_given_still():
    """The first module moves over the option and cuts all behind it off; the second one gives a buffer what was there: the helper asks how long the
    packet was."""
    first = PARSE.replace("r0 = 1\n", "r0 = 0\n") + "r8 -= r9\n*(u32 *)(r1 + 92) = w8\nr0 = 0\nB: exit"
    cut = next(f for f in PROFILE.fields if f.name == "cut")
    first = first.replace("r1 + 92", f"r1 + {cut.offset}")
    second = "r8 = *(u64 *)(r1 + 8)\nr7 = *(u64 *)(r1 + 0)\nr0 = 0\nr5 = r8\nr5 -= r7\nif r5 > 40 goto B\nw8 = *(u8 *)(r7 + 0)\n" + PUT
    for per_unit in (80, 800):
        assert followed([first, second], per_unit, 127) >= max((BODY + 3) * n + put_cost(126 - n, per_unit) for n in range(40))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_what_is_owed_in_two_places_is_not_less_than_it_is(data):
    """Unknowns that the packet's length has, another place, both or none."""
    s, numbers = entry_state(2048), {}
    for sym in range(10, 10 + data.draw(st.integers(1, 5))):
        low = data.draw(st.integers(0, 5))
        s.vars[sym] = d.unsigned(low, low + data.draw(st.integers(0, 20)))
        numbers[sym] = data.draw(st.integers(s.vars[sym].slo, s.vars[sym].shi))
        rate, fixed = Fraction(data.draw(st.integers(0, 9)), data.draw(st.integers(1, 3))), data.draw(st.integers(0, 9))
        s.owed[sym] = octets.Owed(rate, Fraction(fixed), Fraction(data.draw(st.integers(0, 100))), ())
    for place in (LEN, 30, 31):
        members, k = data.draw(st.frozensets(st.sampled_from(sorted(numbers)))), data.draw(st.integers(-3, 3))
        least = sum(numbers[x] for x in members) + k
        s.vars[place] = d.signed(min(0, least), least + data.draw(st.integers(0, 4)))
        s.sums[place] = members, k
    s.settled = data.draw(st.integers(0, 9))
    assert octets.owing(s)[0] >= s.settled + sum(owed.of(numbers[x]) for x, owed in s.owed.items())


# Flags -------------------------------------------------------------------------------------------
def test_flags_that_exclude_each_other_do_so_where_ways_have_met(monkeypatch):
    """One kind of five is marked, and more ways meet than stay apart: of what each takes one counts. Where two are marked together, both do."""
    monkeypatch.setattr(walk, "CHEAP", 0)
    monkeypatch.setattr(walk, "APART", ((2, 2),))
    one, alone = bound(kinds(["0", "1", "2", "3", "4"], mark=1))
    assert alone - one >= 4 * 50 - 10
    two, _ = bound(kinds(["0", "1", "2", "34", "4"], mark=1))
    assert 49 <= two - one <= 60
    assert bound(kinds(["0", "1", "2", "034", "04"], mark=1))[0] - two >= 49


def test_a_flag_that_is_set_again_excludes_nothing(monkeypatch):
    """What was 0 beside another one is set behind the place where they met."""
    monkeypatch.setattr(walk, "APART", ((1, 1),))
    source = kinds(["0", "1"], mark=1).replace("T: ", "*(u8 *)(r9 + 1) = 1\nT: ", 1)
    assert source != kinds(["0", "1"], mark=1) and bound(source)[0] - bound(kinds(["0", "1"], mark=1))[0] >= 49


@given(st.lists(st.sets(st.sampled_from("01234")), min_size=2, max_size=8), st.lists(st.sets(st.sampled_from("01234")), min_size=1, max_size=4),
       st.sampled_from([1, 2, 8]), st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_run_with_flags_exceeds_the_bound(marked, again, most, seed):
    """Two octets say what is marked, one behind the other; a loop lies between, and flags that are marked may be taken back."""
    rng, at = random.Random(seed), {}
    source = "r9 = *(u64 *)(r1 + 16)\nr8 = *(u64 *)(r1 + 0)\nr0 = 0\nw2 = *(u8 *)(r8 + 0)\n"
    for part, sets in enumerate((marked, again)):
        for i, each in enumerate(sets):
            flags = "".join(f"*(u8 *)(r9 + {flag}) = {rng.choice([1, 1, 1, 0, 2]) if part else 1}\n" for flag in sorted(each))
            source += f"if w2 != {i} goto N{part}{i}\n{flags}goto L{part}\nN{part}{i}: r4 = 0\n"
        source += f"L{part}: r5 = 0\nT{part}: r5 += 1\nif w5 < 3 goto T{part}\nw2 = *(u8 *)(r8 + 1)\n"
        at[part] = len(sets) + 1
    order = rng.sample("01234", 5)
    source += "".join(f"r4 = *(u8 *)(r9 + {flag})\nif w4 == 0 goto S{flag}\n{SLOW}\nS{flag}: r4 = 0\n" for flag in order) + "exit"
    text, costs = assemble(source), table(lambda low, high: rng.randint(low, high))
    part, alone = module(text, costs)
    within = walk._followed([part], 2048, any_verdict, (most, most), [walk.STEPS]).weight
    for first in range(at[0]):
        for second in range(at[1]):
            machine = instrumented.Machine(text, bytes([first, second]), sizes=SIZES, fill=lambda size: bytes(size))
            clock = Clock(costs, text)
            machine.run(100_000, clock)
            clock.end()
            assert clock.most <= within <= alone


def ways_with_flags(data) -> tuple[State, dict[int, int]]:
    """A state that knows of flags what excludes what, and numbers that are as it says."""
    s, numbers = entry_state(2048), {0: 0}
    s.exclusive = exclusive.NONE
    for sym in range(10, 14):
        s.vars[sym] = data.draw(st.sampled_from([d.unsigned(0, 1), d.unsigned(0, 1), d.const(0), d.const(1), d.unsigned(0, 3)]))
        numbers[sym] = data.draw(st.integers(s.vars[sym].slo, s.vars[sym].shi))
    pairs = [(x, y) for x in range(10, 14) for y in range(10, x) if not numbers[x] * numbers[y] and data.draw(st.booleans())]
    s.exclusive = exclusive.of_pairs(pairs)
    for r in range(1, 6):
        s.regs[r] = data.draw(st.sampled_from([number(0), number(1), *(Value(NUMBER, None, x, 0) for x in range(10, 14)), Value(NUMBER, None, 10, 1)]))
    return s, numbers


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_what_is_joined_excludes_no_more_than_each_way(data):
    ways = [ways_with_flags(data) for _ in range(data.draw(st.integers(2, 3)))]
    out = join([s for s, _ in ways], lambda place: 100 + place, False)
    for s, numbers in ways:
        now = dict(numbers)
        for r in range(1, 6):
            was, is_now = s.regs[r], out.regs[r]
            if is_now.sym:
                now[is_now.sym] = now[was.sym] + was.off - is_now.off
        for x, others in out.exclusive.items():
            assert all(not now[x] or not now[y] for y in others)
        learnt = out.copy()
        for x in out.vars.keys() & now.keys() - {LEN}:              # what is so is not impossible
            assert learnt.learn(Value(NUMBER, None, x, 0), d.const(now[x]))


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_state_within_another_excludes_as_much(data):
    """If the proof finds one within the other, which excludes more or less, its numbers are as the other one says."""
    a, numbers = ways_with_flags(data)
    b = a.copy()
    for r in data.draw(st.sets(st.integers(1, 5))):                # constants too are numbers that are not known there
        if not a.regs[r].sym:
            b.regs[r], b.vars[20 + r], numbers[20 + r] = Value(NUMBER, None, 20 + r, 0), d.unsigned(0, 1), a.regs[r].off
    flags = sorted(b.vars.keys() - {LEN})
    b.exclusive = exclusive.of_pairs([(x, y) for x in flags for y in flags if y < x and data.draw(st.sampled_from([True, False, False]))])
    if leq(a, b, set(range(20, 26))) is None:
        assert all(not numbers[x] or not numbers[y] for x, others in b.exclusive.items() for y in others)


def test_what_is_forgotten_excludes_nothing():
    """A symbol that stands for something else now."""
    s = entry_state(2048)
    s.vars[10] = s.vars[11] = s.vars[12] = d.unsigned(0, 1)
    s.exclusive = exclusive.of_pairs([(10, 11), (11, 12)])
    s.forget(10)
    assert s.exclusive == exclusive.of_pairs([(11, 12)])
    s.regs[2] = Value(NUMBER, None, 11, 0)
    s.collect()
    assert not s.exclusive


# Memory ------------------------------------------------------------------------------------------
def test_the_low_part_of_a_number_that_fits_is_the_number():
    """A word that is at most 255 is read as an octet; of one that is more the octet is not all there is."""
    source = "r9 = *(u64 *)(r1 + 16)\nr8 = *(u64 *)(r1 + 0)\nr0 = 0\nw2 = *(u{} *)(r8 + 0)\n*(u32 *)(r9 + 4) = w2\nw4 = *(u8 *)(r9 + 4)\n"
    once = f"if w2 != 7 goto A\n{SLOW}\nA: if w4 == 7 goto B\n{SLOW}\nB: exit"
    both = f"if w2 != 263 goto B\n{SLOW}\nif w4 != 7 goto B\n{SLOW}\nB: exit"
    followed, alone = bound(source.format(8) + once)
    assert alone - followed == 50
    followed, alone = bound(source.format(16) + both)
    assert followed == alone > 100
