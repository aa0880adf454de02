"""A chain followed as a whole: its bound is that of no impossible way, and no run exceeds it."""
from __future__ import annotations

import random
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import instrumented                                                # noqa: E402
from test_verifier_wcet import SIZES, Clock, accepted, flat, table     # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.verifier import LPN, analyse                              # noqa: E402
from lpn.verifier import bits, octets, walk                        # noqa: E402
from lpn.verifier import domain as d                               # noqa: E402
from lpn.verifier.descriptors import helper_specs                  # noqa: E402
from lpn.verifier.join import join                                 # noqa: E402
from lpn.verifier.loops import Turns, path_of                      # noqa: E402
from lpn.verifier.shorter import shorter                           # noqa: E402
from lpn.verifier.state import LEN, NUMBER, POINTER, State, Value, entry_state, number    # noqa: E402
from lpn.verifier.wcet import Weights, time_of                     # noqa: E402

PROFILE = LPN.with_sizes(rec=64, state=32)


def any_verdict(result):
    """The chain may end or go on, whatever is returned."""
    return True, True


def by_verdict(result):
    """It goes on behind 0 and 3."""
    return any(n in result for n in (1, 2, 4)) or result.uhi > 4, 0 in result or 3 in result


def module(text: bytes, costs, longest: int = 2048) -> tuple[walk.Module, int]:
    """For a chain, and its bound alone."""
    report, analysis = analyse(text, LPN, record_size=64, state_size=32, max_insns=100_000)
    assert report.accepted, report.message
    analysis = shorter(analysis, longest)
    return walk.Module(Weights(analysis, costs, {}), PROFILE, helper_specs(()), costs.module.most), time_of(analysis, costs, {}).worst


def bound(*sources: str, longest: int = 2048, goes_on=any_verdict) -> tuple[int, int]:
    """Followed, and the sum."""
    made = [module(assemble(source), flat(), longest) for source in sources]
    return walk.chain_bound([each for each, _ in made], longest, goes_on).weight, sum(alone for _, alone in made)


SLOW = "\n".join(["r3 = 0"] * 50)


def test_a_flag_tested_twice_is_taken_once():
    """One field, compared twice: long where it is 1, or long where it is 2, never both."""
    assert bound(f"r2 = *(u32 *)(r1 + 52)\nr0 = 0\nif w2 != 1 goto A\n{SLOW}\nA: if w2 != 2 goto B\n{SLOW}\nB: exit") == (2 + 1 + 50 + 1 + 1, 105)


def test_two_fields_of_a_word_exclude_each_other():
    """Bits 0-1 are 3, or bit 1 is 0: the word was loaded twice."""
    source = ("r9 = *(u64 *)(r1 + 0)\nr2 = *(u8 *)(r9 + 1)\nw2 &= 3\nr0 = 0\n"
              f"if w2 != 3 goto A\n{SLOW}\nA: r4 = *(u16 *)(r9 + 0)\nw4 >>= 9\nw4 &= 1\nif w4 != 0 goto B\n{SLOW}\nB: exit")
    followed, alone = bound(source)
    assert alone - followed == 50


def test_what_is_stored_over_a_field_is_what_is_read():
    source = ("r9 = *(u64 *)(r1 + 0)\nr8 = *(u64 *)(r1 + 8)\nr0 = 0\nr3 = r9\nr3 += 4\nif r3 > r8 goto B\nr2 = *(u8 *)(r9 + 1)\n"
              f"if w2 != 3 goto A\n{SLOW}\nA: *(u8 *)(r9 + {{}}) = 9\nr4 = *(u8 *)(r9 + 1)\nif w4 == 3 goto B\n{SLOW}\nB: exit")
    overwritten, elsewhere = (bound(source.format(at)) for at in (1, 2))
    assert overwritten[0] == overwritten[1] == elsewhere[1] == elsewhere[0] + 50


def test_modules_share_the_record():
    """The first says in the record which way it took, the second looks; a record begins with zeros."""
    first = ("r2 = *(u32 *)(r1 + 52)\nr3 = *(u64 *)(r1 + 16)\nr0 = 0\nif w2 != 1 goto A\n*(u32 *)(r3 + 8) = 1\n" + SLOW + "\nA: exit")
    second = "r3 = *(u64 *)(r1 + 16)\nr0 = 0\nr2 = *(u32 *)(r3 + {})\nif w2 {} 0 goto A\n" + SLOW + "\nA: exit"
    for at, compare, less in ((8, "==", 0), (8, "!=", 50), (12, "==", 50), (12, "!=", 0)):
        followed, alone = bound(first, second.format(at, compare))
        assert alone - followed in (less, less + (less == 50 and at == 8))


def test_a_chain_ends_with_a_verdict():
    """The long way drops the packet: the second module never runs behind it."""
    first = f"r2 = *(u32 *)(r1 + 52)\nr0 = 0\nif w2 != 1 goto A\nr0 = 1\n{SLOW}\nA: exit"
    second = f"r0 = 0\n{SLOW}\nexit"
    followed, alone = bound(first, second, goes_on=by_verdict)
    assert alone - followed == 51 and bound(first, second) == (alone, alone)


def test_a_way_that_ends_the_chain_is_not_joined_with_one_that_goes_on(monkeypatch):
    """Of many ways, more than stay apart, all but a short one drop the packet; that is known still where they have met."""
    ways = "".join(f"if w2 != {i} goto N{i}\n*(u32 *)(r3 + 8) = {i}\n{SLOW}\ngoto X\nN{i}: r4 = 0\n" for i in range(20))
    monkeypatch.setattr(walk, "APART_IF_CHEAP", ())
    first = f"r2 = *(u32 *)(r1 + 52)\nr3 = *(u64 *)(r1 + 16)\nr8 = 1\n{ways}r8 = 0\nX: r5 = *(u32 *)(r1 + 56)\nif w5 == 0 goto Y\nr5 = 0\nY: r0 = r8\nexit"
    second = f"r3 = *(u64 *)(r1 + 16)\nr2 = *(u32 *)(r3 + 8)\nr0 = 0\nif w2 == 30 goto A\n{SLOW}\nA: exit"
    followed, alone = bound(first, second, goes_on=by_verdict)
    assert alone - followed >= 50


def test_a_loop_turns_as_often_as_the_way_to_it_lets_it():
    source = ("r2 = *(u32 *)(r1 + 52)\nr4 = 4\nr0 = 0\nif w2 != 1 goto A\n{}r4 = 200\ngoto L\nA: {}\n"
              "L: r0 += 1\nif r0 < r4 goto L\nr0 = 0\nexit")
    followed, alone = bound(source.format("", SLOW))
    assert followed < alone


INDEXED = ("r2 = *(u32 *)(r1 + 52)\nr0 = 0\n*(u64 *)(r10 - 8) = 0\n*(u64 *)(r10 - 16) = 0\n*(u64 *)(r10 - 24) = 0\nr3 = r2\nr3 /= 3\nif r2 > 15 goto E\n"
           "r4 = r10\nr4 += r3\n*(u8 *)(r4 - 16) = 1\nr5 = *(u64 *)(r10 - {})\nif r5 == 0 goto E\n" + SLOW + "\nE: exit")


def test_what_is_stored_at_an_index_is_stored_in_the_walk_too(monkeypatch):
    """That the index is small only patience finds: the walk has it as well, and gives up where it has not, instead of taking the store for none."""
    assert bound(INDEXED.format(16)) == (64, 64)
    assert bound(INDEXED.format(24)) == (14, 14)
    monkeypatch.setattr(walk.Remembering, "patient", property(lambda self: False, lambda self, value: None), raising=False)
    with pytest.raises(walk.Lost):
        bound(INDEXED.format(16))


def named(gap: int) -> str:
    """Two parts of a packet behind two octets that say how long they are; what follows is compared with the end as a place behind one that has a name already.
    Then a loop over each."""
    source = ("r9 = *(u64 *)(r1 + 0)\nr8 = *(u64 *)(r1 + 8)\nr7 = *(u64 *)(r1 + 16)\nr0 = 1\nr3 = r9\nr3 += 2\nif r3 > r8 goto B\nr2 = *(u8 *)(r9 + 0)\nr5 = *(u8 *)(r9 + 1)\n"
              f"r3 = r9\nr3 += r2\nr4 = r8\nr4 -= r3\nif r4 s< r5 goto B\nr3 += {gap}\nr3 += r5\nif r3 > r8 goto B\n*(u16 *)(r7 + 0) = r2\n*(u16 *)(r7 + 4) = r5\n")
    for i in range(2):
        source += f"r4 = *(u16 *)(r7 + {4 * i})\nr3 = 0\nL{i}: if r3 >= r4 goto E{i}\n" + "r2 = 0\n" * 10 + f"r3 += 1\nif r3 < 255 goto L{i}\nE{i}: r2 = 1\n"
    return source + "r0 = 0\nB: exit"


@pytest.mark.parametrize("gap", [4, 40])
def test_octets_behind_a_place_with_a_name_are_counted_once(gap):
    """Parts that fill the packet up to the gap take what the bound says."""
    source = named(gap)
    machine = instrumented.Machine(assemble(source), bytes([30 - gap // 2, 34 - gap + gap // 2]) + bytes(62), sizes=SIZES)
    assert bound(source, longest=64)[0] == machine.run(100_000).insns


def kinds(marked: list[str], turns: int = 5, mark: int = 2) -> str:
    """A field says which octets of the record are marked; then comes a loop, then as much for each octet that is marked. A mark of 1 is a flag
    (exclusive.py)."""
    source = "r2 = *(u32 *)(r1 + 52)\nr9 = *(u64 *)(r1 + 16)\nr0 = 0\n"
    source += "".join(f"if w2 != {i} goto N{i}\n" + "".join(f"*(u8 *)(r9 + {at}) = {mark}\n" for at in each) + f"goto L\nN{i}: r4 = 0\n" for i, each in enumerate(marked))
    source += f"L: r5 = 0\nT: r5 += 1\nif w5 < {turns} goto T\n"
    return source + "".join(f"r4 = *(u8 *)(r9 + {at})\nif w4 == 0 goto S{at}\n{SLOW}\nS{at}: r4 = 0\n" for at in "01234") + "exit"


def test_ways_stay_apart_behind_a_loop(monkeypatch):
    """One kind of five is marked: of what each takes, one counts. Where two are marked together, both do."""
    few = bound(kinds(["0", "1", "2", "3", "4"]))
    both = bound(kinds(["0", "1", "2", "34", "4"]))
    assert few[1] - few[0] == 4 * 50 and 49 <= both[0] - few[0] <= 52
    monkeypatch.setattr(walk, "CHEAP", 0)
    assert bound(kinds(["0", "1", "2", "3", "4"]))[0] > few[0] + 2 * 50


def test_a_walk_that_takes_too_long_says_so(monkeypatch):
    monkeypatch.setattr(walk, "STEPS", 20)
    with pytest.raises(walk.Lost, match="more than 20 steps"):
        bound(f"r0 = 0\n{SLOW}\nexit")


@given(st.integers(0, 1 << 30))
@settings(max_examples=80, deadline=None)
def test_every_run_of_a_random_program_is_within_the_bound(seed):
    rng = random.Random(seed)
    if (made := accepted(rng)) is None:
        return
    text, report, _ = made
    costs = table(lambda low, high: rng.randint(low, high))
    for longest in (2048, 64):
        part, alone = module(text, costs, longest)
        try:
            most = walk.chain_bound([part], longest, any_verdict).weight
        except walk.Lost:
            continue
        assert most <= alone
        for n in (0, 1, 8, 64, 200):
            if n <= longest:
                machine = instrumented.Machine(text, rng.randbytes(n), sizes=SIZES, fill=lambda size: bytes(size))
                clock = Clock(costs, text)
                machine.run(report.max_insns, clock)
                clock.end()
                assert clock.most <= most


def choosing(ways: list[tuple], turns: int = 9) -> str:
    """A loop whose rounds go one of several ways, as an octet of the packet says: of each what it does first, how many instructions come then, and how it
    ends."""
    source = "r9 = *(u64 *)(r1 + 0)\nr8 = *(u64 *)(r1 + 8)\nr0 = 1\nr6 = 0\nr7 = 0\nr5 = 0\nr3 = 0\n"
    source += "L: r4 = r9\nr4 += 1\nif r4 > r8 goto X\nr2 = *(u8 *)(r9 + 0)\nr9 = r4\n"
    for i, (first, body, *end) in enumerate(ways):
        source += f"if w2 != {i} goto W{i}\n{first}\n" + "r4 = 0\n" * body + "".join(f"{each}\n" for each in end) + f"{'' if 'goto Y' in end else 'goto C'}\nW{i}: "
    return source + f"r4 = 0\nC: r5 += 1\nif r5 < {turns} goto L\nr0 = 0\nX: exit"


ONCE = "if r6 != 0 goto X\nr6 += 1"


def test_a_way_that_a_counter_lets_a_loop_go_once_is_counted_once():
    """Not in every round; as often as the counter says, and in each where another way sets it back."""
    turn, body = 10, 60
    free, _ = bound(choosing([("r4 = 0", body)]))
    once, alone = bound(choosing([(ONCE, body)]))
    assert free > 9 * body and alone > 9 * body
    assert body < once < 2 * body + 9 * turn + 20                   # in the last turn, which is no round, once more
    twice, _ = bound(choosing([("if r6 > 1 goto X\nr6 += 1", body)]))
    assert body - 10 < twice - once < body + 10
    assert bound(choosing([(ONCE, body), ("r6 = 0", 0)]))[0] > 5 * body
    assert bound(choosing([(ONCE, body), ("if r7 != 0 goto X\nr7 += 1\nr6 = 0", 0)]))[0] >= 2 * body
    both, _ = bound(choosing([(ONCE, body), ("if r7 > 2 goto X\nr7 += 1", 30)]))
    assert 30 * 3 - 30 <= both - once <= 30 * 3 + 60


def test_a_bit_is_a_counter_too():
    """That is set, and tested before: the way is taken once."""
    once, _ = bound(choosing([("if w6 & 4 goto X\nw6 |= 4", 60)]))
    assert once < 3 * 60 + 9 * 14 + 20


@given(st.lists(st.tuples(st.sampled_from([
    ONCE, ONCE, "if r6 > 2 goto X\nr6 += 1", "if r7 > 3 goto X\nr7 += 2", "if r7 != 0 goto X\nr7 += 1", "r6 = 0", "r7 = 0", "r6 += 1", "r6 = r7", "r7 += 1\nr6 = 0",
    "if r7 != 0 goto C\nr7 += 1", "r4 = 1", "if r6 == 0 goto C\nr6 += -1", "if w6 & 2 goto X\nw6 |= 2", "if r7 > 1 goto C\nr6 = 0\nr7 += 1", "w6 ^= 1",
    "r7 = r2\nr7 &= 3"]), st.integers(0, 40), st.sampled_from(["r4 = 0", "r4 = 0", "goto Y", "if r5 > 1 goto Y", "if r5 > 0 goto X"])),
                min_size=1, max_size=3),
       st.integers(2, 4), st.booleans(), st.integers(0, 1 << 30))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_run_of_rounds_that_differ_exceeds_the_bound(ways, turns, inner, seed):
    """All orders of ways there are; in some a loop of its own stands where rounds end."""
    rng = random.Random(seed)
    source = choosing(ways, turns) + f"\nY: r0 = 2\n{SLOW}\nexit" * any("Y" in end for _, _, end in ways)
    if inner:
        source = source.replace("C: ", "C: r4 = 0\nI: r4 += 1\nif r4 < 3 goto I\n")
    text, costs = assemble(source), table(lambda low, high: rng.randint(low, high))
    report, analysis = analyse(text, LPN, record_size=64, state_size=32, max_insns=100_000)
    assert report.accepted or report.rule == 10 and "goto Y" in source, report.message      # what can never be reached
    if not report.accepted:
        return
    part, alone = module(text, costs)
    most = walk.chain_bound([part], 2048, any_verdict).weight
    assert most <= alone
    for frame in product(range(len(ways) + 1), repeat=turns):
        machine = instrumented.Machine(text, bytes(frame), sizes=SIZES)
        clock = Clock(costs, text)
        machine.run(report.max_insns, clock)
        clock.end()
        assert clock.most <= most


@given(st.integers(0, d.M64), st.integers(0, d.M64), st.integers(0, 63), st.sampled_from(["AND", "OR", "XOR"]), st.sampled_from([16, 32, 64]))
def test_rows_say_what_the_operation_does(value, constant, shift, name, width):
    """A row of an unknown, evaluated at a value, is what the operation makes of the value."""
    s: State = entry_state(2048)
    sym, own = 7, 8
    s.vars[sym] = d.TOP
    row = bits.row_of(s, number(0)._replace(sym=sym))

    def at(row, result):
        return sum((entry if type(entry) is int else (value if entry[0] == sym else result) >> entry[1] & 1) << i for i, entry in enumerate(row))
    result = {"AND": value & constant, "OR": value | constant, "XOR": value ^ constant}[name]
    assert at(bits.combined(name, row, bits.constant(constant), own), result) == result
    assert at(bits.shifted(row, shift), 0) == value << shift & d.M64 and at(bits.shifted(row, -shift), 0) == value >> shift
    assert at(bits.swapped(row, width), 0) == int.from_bytes((value & (1 << width) - 1).to_bytes(width // 8, "little"), "big")


def test_a_symbol_that_means_something_else_now_has_no_bits_of_what_it_was():
    """An instruction in a loop makes the same symbol in each turn; a row that was read before still names it."""
    s: State = entry_state(2048)
    s.vars[7] = s.vars[8] = d.TOP
    bits.keep(s, 8, ((8, 3), (7, 1), *[0] * 62))
    assert s.bits[8][:2] == ((8, 0), (7, 1))


def test_a_loop_that_shifts_the_word_it_reads():
    """In each turn another bit of the same word is looked at: both ways are open in every turn."""
    source = ("r9 = *(u64 *)(r1 + 0)\nr2 = *(u32 *)(r9 + 0)\nr3 = 0\nr0 = 0\nL: r4 = r2\nw4 &= 1\nif w4 == 0 goto A\nr0 += 1\nr5 = 1\nr5 = 2\n"
              "A: w2 >>= 1\nr3 += 1\nif r3 < 8 goto L\nr0 = 0\nexit")
    followed, alone = bound(source)
    assert followed == alone == 4 + 8 * 9 + 2


def options(lengths: int, bodies: list[tuple[int, int]], handed_over: bool = False) -> list[str]:
    """Options of a packet, an octet that says how many follow and these, one behind the other; then for each a loop that takes steps over its octets.
    `bodies`: of each loop the step and the instructions of a turn. In one module, or in two: the second one finds the lengths in the record."""
    parse = ["r9 = *(u64 *)(r1 + 0)", "r8 = *(u64 *)(r1 + 8)", "r7 = *(u64 *)(r1 + 16)", "r0 = 1"]
    for i in range(lengths):
        parse += ["r3 = r9", "r3 += 1", "if r3 > r8 goto B", "r4 = *(u8 *)(r9 + 0)", "r9 = r3", "r9 += r4", "if r9 > r8 goto B", f"*(u16 *)(r7 + {4 * i}) = r4"]
    loops = []
    for i, (step, body) in enumerate(bodies):
        loops += [f"r4 = *(u16 *)(r7 + {4 * i})", "r3 = 0", f"L{i}: if r3 >= r4 goto E{i}", *["r2 = 0"] * body, f"r3 += {step}", f"if r3 < 255 goto L{i}", f"E{i}: r2 = 1"]
    if handed_over:
        return ["\n".join([*parse, "r0 = 0", "B: exit"]), "\n".join(["r7 = *(u64 *)(r1 + 16)", "r0 = 0", *loops, "exit"])]
    return ["\n".join([*parse, *loops, "r0 = 0", "B: exit"])]


@pytest.mark.parametrize("handed_over", [False, True])
def test_loops_over_parts_of_a_packet_share_its_octets(handed_over):
    """Four options have 60 octets together, not each."""
    followed, alone = bound(*options(4, [(1, 10)] * 4, handed_over), longest=64, goes_on=by_verdict)
    turn = 10 + 3
    assert alone > 4 * 60 * turn
    assert 60 * turn <= followed <= 60 * turn + 150


def test_a_loop_of_more_cycles_has_the_octets():
    """Of the loops the one whose turn takes longest an octet, whichever comes first."""
    for bodies in ([(1, 10), (4, 60)], [(4, 60), (1, 10)]):
        followed, _ = bound(*options(2, bodies), longest=64)
        assert 62 / 4 * 63 <= followed <= 64 / 4 * 63 + 64 + 60


def test_the_longest_path_takes_what_the_bound_says():
    """Also what a loop takes that is bounded by an option's length and goes far beyond it: one over 16 cells, behind an option of one octet at most."""
    cells = "r3 = 0\nA: " + "r2 = 0\n" * 10 + "r3 += 1\nif r3 < 16 goto A\nr0 = 0\nB:"
    short = options(2, [(1, 3)])[0].replace("r9 = r3", "if r4 > 1 goto B\nr9 = r3").replace("r0 = 0\nB:", cells)
    for source in (options(2, [(4, 10)])[0], options(1, [(1, 10)])[0], short):
        part, _ = module(assemble(source), flat(), 64)
        path = walk.chain_bound([part], 64, any_verdict)
        nodes = sum(turns * part.weights.node(node).most for node, turns in path.turns.items())
        edges = sum(turns * part.weights.edge(*edge).most for edge, turns in path.edges.items())
        assert 0 <= path.weight - nodes - edges <= 15


def test_no_line_of_the_longest_path_is_taken_less_than_never():
    """Rounds of one kind, at most three, then the others up to ten, of a loop that turns as often as its octets let it; what was settled before is known then."""
    a, b, end, visit = ("a", 0), ("b", 0), ("end", 0), object()
    trace = (((None, (None, a, 1), (visit, 0, 3)), (None, b, 1), (visit, 3, 10)), end, 1)
    taken = [path_of(0, trace, visits).edges for visits in ({}, {visit: 20}, {visit: 5}, {visit: 2}, {visit: 0})]
    assert [(edges[a], edges[b]) for edges in taken] == [(3, 7), (3, 7), (3, 2), (2, 0), (0, 0)]
    settled = path_of(0, ((trace, Turns({visit: 4}), 1), a, 1), {visit: 9}).edges
    assert (settled[a], settled[b], settled[end]) == (4, 1, 1)


def test_an_option_counted_twice_is_no_part_of_a_packet():
    """Both loops run over the same option: its octets are there for both."""
    source = options(1, [(1, 10)])[0].replace("r0 = 0\nB:", "r3 = 0\nM: if r3 >= r4 goto F\n" + "r2 = 0\n" * 10 + "r3 += 1\nif r3 < 255 goto M\nF: r0 = 0\nB:")
    followed, _ = bound(source, longest=64)
    assert followed >= 2 * 63 * 13


@given(st.integers(1, 3), st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9)), min_size=1, max_size=3), st.booleans(), st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_run_over_options_exceeds_the_bound(lengths, bodies, handed_over, seed):
    """Whatever their lengths are."""
    rng = random.Random(seed)
    longest = rng.choice([20, 64])
    sources = options(lengths, bodies[:lengths], handed_over)
    costs = table(lambda low, high: rng.randint(low, high))
    parts = [module(assemble(source), costs, longest) for source in sources]
    most = walk.chain_bound([part for part, _ in parts], longest, by_verdict).weight
    for _ in range(12):
        left, frame = rng.choice([longest, rng.randint(0, longest)]), b""
        for i in range(lengths):
            n = min(rng.choice([left, 0, rng.randint(0, left)]), left - 1 if left else 0, 255)
            frame += bytes([n]) + rng.randbytes(n) if left else b""
            left -= n + 1 if left else 0
        record, took, verdict = bytes(64), 0, 0
        for source in sources:
            if verdict & 0xFFFF:
                break
            text = assemble(source)
            machine = instrumented.Machine(text, frame, sizes=SIZES)
            machine.regions["rec"].data[:] = record
            clock = Clock(costs, text)
            verdict = machine.run(100_000, clock).r0
            clock.end()
            took += clock.most
            record = bytes(machine.regions["rec"].data)
        assert took <= most


WAYS = ["r9 += r4\nif r9 > r8 goto B", "r5 = r8\nr5 -= r9\nif r5 s< r4 goto B\nr9 += {}\nr9 += r4\nif r9 > r8 goto B", "r5 = r8\nr5 -= r9\nif r4 > r5 goto B\nr9 += {}\nr9 += r4",
        "r3 = r9\nr3 += r4\nr3 += {}\nif r3 > r8 goto B\nr9 += r4", "r9 += r4\nr3 = r9\nr3 += {}\nif r3 > r8 goto B\nr9 = r3"]


@given(st.lists(st.tuples(st.sampled_from(WAYS), st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=3), st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_run_over_parts_of_a_packet_exceeds_the_bound(parts, seed):
    """Parts whose lengths stand before them, each compared with the end in one of several ways, with something between; then a loop over each."""
    rng, longest, source = random.Random(seed), 48, f"r9 = *(u64 *)(r1 + 0)\nr8 = *(u64 *)(r1 + 8)\nr7 = r9\nr0 = 1\nr9 += {len(parts)}\nif r9 > r8 goto B\n"
    for i, (way, gap, _) in enumerate(parts):
        source += f"r4 = *(u8 *)(r7 + {i})\n{way.format(gap)}\n"
    for i, (_, _, step) in enumerate(parts):
        source += f"r4 = *(u8 *)(r7 + {i})\nr3 = 0\nL{i}: if r3 >= r4 goto E{i}\n" + "r2 = 0\n" * 5 + f"r3 += {step}\nif r3 < 255 goto L{i}\nE{i}: r2 = 1\n"
    text = assemble(source + "r0 = 0\nB: exit")
    part, _ = module(text, flat(), longest)
    most = walk.chain_bound([part], longest, by_verdict).weight
    for _ in range(30):
        left, lengths = longest - len(parts), []
        for _ in parts:
            lengths.append(rng.choice([left, rng.randint(0, left), max(0, left - rng.randint(0, 12))]))
            left -= lengths[-1]
        assert instrumented.Machine(text, bytes(lengths) + bytes(longest - len(lengths)), sizes=SIZES).run(100_000).insns <= most


def known(data) -> tuple[State, dict[int, int]]:
    """A state that knows sums and what is owed, and numbers that are as it says."""
    s, numbers = entry_state(2048), {}
    for sym in data.draw(st.sets(st.integers(10, 15), min_size=1)):
        low = data.draw(st.integers(0, 5))
        s.vars[sym] = d.unsigned(low, low + data.draw(st.integers(0, 9)))
        numbers[sym] = data.draw(st.integers(s.vars[sym].slo, s.vars[sym].shi))
    syms = sorted(numbers)
    members = data.draw(st.sets(st.sampled_from(syms)))
    k = data.draw(st.integers(-5, 5))
    place = sum(numbers[x] for x in members) + k + data.draw(st.integers(0, 3))
    s.sums[30], s.vars[30], numbers[30] = (frozenset(members), k), d.signed(-100, 2000), place
    s.vars[LEN], numbers[LEN] = d.unsigned(0, 2048), max(place, 0)
    s.sums[LEN] = frozenset(members), k
    s.regs[0] = Value(POINTER, "pkt", 30, data.draw(st.integers(0, 3)))
    for r in range(1, 6):
        s.regs[r] = data.draw(st.sampled_from([number(0), number(7), *(Value(NUMBER, None, x, off) for x in syms for off in (0, 0, 2))]))
    for x in data.draw(st.sets(st.sampled_from(syms))):
        rate, fixed = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
        s.owed[x] = octets.Owed(Fraction(rate), Fraction(fixed), Fraction(data.draw(st.integers(0, 100))), ())
    return s, numbers


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_what_ways_know_together_is_true_of_each(data):
    """Sums and what is owed, joined: with the numbers of either way the sum is no more than the place, and not less is owed."""
    ways = [known(data), known(data)]
    out = join([s for s, _ in ways], lambda place: 100 + place, False)
    for s, numbers in ways:
        now = {0: 0, **numbers}
        for r in range(6):
            was, is_now = s.regs[r], out.regs[r]
            if is_now.sym:
                now[is_now.sym] = now[was.sym] + was.off - is_now.off
        for place, (members, k) in out.sums.items():
            assert now[place] >= sum(now[x] for x in members) + k and all(now[x] >= 0 for x in members)
        assert sum(owed.of(now[x]) for x, owed in out.owed.items()) + out.settled >= sum(owed.of(numbers[x]) for x, owed in s.owed.items())
        assert octets.owing(s)[0] >= sum(owed.of(numbers[x]) for x, owed in s.owed.items()) or numbers[LEN] < sum(numbers[x] for x in s.sums[LEN][0]) + s.sums[LEN][1]


def filled(lengths: int, room: int, overlap: bool = False) -> str:
    """Options of a packet, and for each a loop over its octets, behind which a number grows by them, that must stay below `room`; with `overlap` the
    first one's octets are added each time."""
    loops = ["r6 = 0"]
    for i in range(lengths):
        at = 0 if overlap else 4 * i
        loops += [f"r4 = *(u16 *)(r7 + {at})", "r3 = 0", f"L{i}: if r3 >= r4 goto E{i}", "r2 = r3", "w2 += w6", f"if w2 > {room} goto B", *["r2 = 0"] * 10,
                  "r3 += 1", f"if r3 < 255 goto L{i}", f"E{i}: w6 += w4", f"if w6 > {room} goto B"]
    source = options(lengths, [])[0]
    return source.replace("r0 = 0\nB:", "\n".join([*loops, "r0 = 0", "B:"]))


def test_loops_that_fill_one_output_share_its_room():
    """Four options of 255 octets are in the packet, and 60 octets in the output: of all loops together, and of the one that finds it full. An option that
    is added each time has them each time."""
    turn = 10 + 6
    followed, alone = bound(filled(4, 60), longest=2048, goes_on=by_verdict)
    assert alone > 4 * 60 * turn and 60 * turn <= followed <= 2 * 61 * turn + 100
    assert bound(filled(4, 240), longest=2048, goes_on=by_verdict)[0] >= 240 * turn
    assert bound(filled(4, 60, overlap=True), longest=2048, goes_on=by_verdict)[0] >= 4 * 15 * turn


@given(st.integers(1, 4), st.integers(5, 80), st.booleans(), st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_run_that_fills_an_output_exceeds_the_bound(lengths, room, overlap, seed):
    rng = random.Random(seed)
    costs = table(lambda low, high: rng.randint(low, high))
    longest = rng.choice([40, 2048])
    text = assemble(filled(lengths, room, overlap))
    part, _ = module(text, costs, longest)
    most = walk.chain_bound([part], longest, by_verdict).weight
    for _ in range(12):
        left, frame = room, b""
        for i in range(lengths):
            n = min(rng.choice([left, 0, rng.randint(0, left), left // lengths]), 255, max(0, longest - len(frame) - 1))
            frame += bytes([n]) + rng.randbytes(n)
            left -= n
        machine = instrumented.Machine(text, frame[:longest], sizes=SIZES)
        clock = Clock(costs, text)
        machine.run(100_000, clock)
        clock.end()
        assert clock.most <= most


def test_a_number_that_differs_is_a_sum_still():
    """Of ways that meet each knows the output's length by a name of its own, but what it has in it is known by both."""
    ways = []
    for sym, k in ((20, 1), (21, 2)):
        s = entry_state(2048)
        s.vars[10], s.vars[sym], s.sums[sym] = d.unsigned(0, 9), d.unsigned(0, 99), (frozenset({10}), k)
        s.regs[2], s.regs[3] = Value(NUMBER, None, 10, 0), Value(NUMBER, None, sym, 0)
        ways.append(s)
    out = join(ways, lambda place: 100 + place, False)
    assert out.sums[out.regs[3].sym] == (frozenset({out.regs[2].sym}), 1)


def test_a_packet_of_one_option_has_its_octets():
    """So that these are known still where its way meets one of two options."""
    ways = []
    for more in (False, True):
        s = entry_state(2048)
        for sym in (10, 11, 12)[:3 if more else 1]:
            s.vars[sym] = d.unsigned(0, 200)
        s.sums |= {12: (frozenset({10, 11}), 2)} if more else {}
        s.regs[2], s.regs[3] = Value(NUMBER, None, 10, 0), Value(NUMBER, None, 11, 0) if more else number(0)
        s.learn_gap(12 if more else 10, LEN, 1, 4000)
        octets.before_end(s, 12 if more else 10)
        ways.append(s)
    assert [s.sums[LEN] for s in ways] == [(frozenset({10}), 1), (frozenset({10, 11}), 3)]
    out = join(ways, lambda place: 100 + place, False)
    assert out.sums[LEN] == (frozenset({out.regs[2].sym, out.regs[3].sym}), 1)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_added_is_not_below_its_parts(data):
    """And of a sum that is bounded, no more is owed for its parts than it says."""
    s, numbers = known(data)
    a, b = (data.draw(st.sampled_from([v for v in s.regs[1:6]])) for _ in range(2))
    wide = data.draw(st.booleans())
    total = sum(numbers.get(v.sym, 0) + v.off for v in (a, b))
    s.vars[31], numbers[31] = d.signed(total - data.draw(st.integers(0, 3)), total + data.draw(st.integers(0, 3))), total
    if numbers[LEN] < sum(numbers[x] for x in s.sums[LEN][0]) + s.sums[LEN][1]:
        return
    octets.added(s, Value(NUMBER, None, 31, 0), a, b, wide)
    members, k = s.sums.get(31, (frozenset(), 0))
    assert not members or total >= sum(numbers[x] for x in members) + k
    assert octets.owing(s)[0] >= sum(owed.of(numbers[x]) for x, owed in s.owed.items())
