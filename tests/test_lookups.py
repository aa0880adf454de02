"""What a lookup takes at most: in a table of constant entries no key is looked at for longer, and no lookup on the core takes longer."""
from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Entry, KeyField, Table
from lpn.compiler.deadlines import table_size
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.runtime.engines import EngineError, EngineUnavailable, get_engine
from lpn.verifier import lookups
from lpn.verifier.cost import load as load_costs
from lpn.verifier.lookups import entry_costs, looked_at, together

KINDS = ("exact", "lpm", "ternary", "range")
BITS = 3
TOP = (1 << BITS) - 1


def matches(kind: str, match: tuple[int, ...], value: int) -> bool:
    return {"exact": lambda: value == match[0], "lpm": lambda: (value ^ match[0]) >> BITS - match[1] == 0,
            "ternary": lambda: (value ^ match[0]) & match[1] == 0, "range": lambda: match[0] <= value <= match[1]}[kind]()


@st.composite
def small(draw):
    """Kinds of a key's fields, of three bits each, entries, and what they cost."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    value = st.integers(0, TOP)

    def match(kind: str):
        return {"exact": st.tuples(value), "lpm": st.tuples(value, st.integers(0, BITS)), "ternary": st.tuples(value, value),
                "range": st.tuples(value, value).map(lambda pair: tuple(sorted(pair)))}[kind]
    entries = draw(st.lists(st.tuples(*map(match, kinds)), max_size=6))
    return kinds, entries, draw(st.integers(0, 9)), draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=len(kinds), max_size=len(kinds)))


def of_key(kinds, entries, per_entry, fields, key) -> int:
    """What the entries take, one after the other, none of which ends the lookup."""
    total = 0
    for entry in entries:
        total += per_entry
        for kind, match, value, (passed, missed) in zip(kinds, entry, key, fields):
            total += passed if matches(kind, match, value) else missed
            if not matches(kind, match, value):
                break
    return total


@given(small())
@settings(max_examples=150, deadline=None)
def test_no_key_takes_longer(made):
    kinds, entries, per_entry, fields = made
    most = looked_at(together([(kind, BITS) for kind in kinds], entries), entry_costs(per_entry, fields))
    worst = max(of_key(kinds, entries, per_entry, fields, key) for key in product(range(TOP + 1), repeat=len(kinds)))
    assert worst <= most


@given(small())
@settings(max_examples=100, deadline=None)
def test_the_longest_key_is_found(made):
    """Where a field takes the same whether it matches or not, the bound is what some key takes."""
    kinds, entries, per_entry, fields = made
    fields = [(cost, cost) for cost, _ in fields]
    most = looked_at(together([(kind, BITS) for kind in kinds], entries), entry_costs(per_entry, fields))
    assert most == max(of_key(kinds, entries, per_entry, fields, key) for key in product(range(TOP + 1), repeat=len(kinds)))


def test_a_search_that_takes_too_long_counts_all(monkeypatch):
    """Entries that exclude each other in pairs: one of each pair at once, if there is time to see it."""
    entries = [((0, 1 << pair), (0, 0)) if side else ((1 << pair, 1 << pair), (0, 0)) for pair in range(6) for side in (False, True)]
    alike, costs = together([("ternary", 8), ("ternary", 8)], entries), entry_costs(1, [(10, 10), (10, 10)])
    assert looked_at(alike, costs) == 12 * 11 + 6 * 10
    monkeypatch.setattr(lookups, "STEPS", 20)
    assert looked_at(alike, costs) == 12 * 21


PROGRAM = """
header H { bit<16> kind; bit<8> low; bit<8> high; bit<32> address; bit<16> port; }
struct headers { H h; }
parser P(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor Q(inout headers h, inout meta m) {
    register<bit<8>>[200] seen;
    action to(bit<16> port) { m.port = port; }
    action slow() { for (i in 0..200) { h.h.low = h.h.low + seen[i]; } }
    table fixed {
        key = { h.h.kind : exact; h.h.address : ternary; h.h.port : range; }
        actions = { to; slow; }
        const entries = { OTHERS
            (7, _, 1 .. 5) : to(1); (9, 0x0a000000 &&& 0xff000000, 1000 .. 2000) : slow(); (9, _, _) : to(3); (11, _, _) : to(4); }
    }
    apply { m.verdict = DELIVER; fixed.apply(); }
}
protocol N { on radio.rx_done : P -> Q; }
""".replace("OTHERS", " ".join(f"({kind}, _, _) : to({kind});" for kind in range(100, 115)))        # too many for the container to compare them itself


def program():
    return compile_program(check(load(Source("fixed.lpn", PROGRAM))))


def test_constant_entries_stay_and_are_counted_as_they_are():
    bundle = program().bundle
    [table] = bundle.tables
    assert table.constant and type(bundle).from_bytes(bundle.to_bytes()).tables == bundle.tables
    costs = load_costs("thumb2")
    fixed, any_ = (costs.helper("lookup", 0, [table_size(replace(table, constant=constant))]).most for constant in (True, False))
    assert fixed < any_ - 150                    # no more than two entries have the same kind
    loaded = get_engine("engine").load(bundle)
    loaded.set_entries("fixed", table.entries[:2])
    with pytest.raises(EngineError, match="the entries of table 'fixed' are constant"):
        loaded.set_entries("fixed", [replace(table.entries[0], match=((8,), *table.entries[0].match[1:]))])


def test_the_search_finds_a_key_that_constant_entries_match():
    """Three fields at once: no change by chance makes them right."""
    try:
        from lpn.compiler.slowest.search import Input, search, subjects
        [subject] = subjects(program(), random.Random(0))
    except EngineUnavailable as e:
        pytest.skip(str(e))
    found = search(subject, [Input(bytes.fromhex("1234 5678 9abcdef0 fedc"))], random.Random(1), runs=9_000)
    frame = found.input.frame
    assert frame[:2] == b"\0\x09" and frame[4] == 10 and 1000 <= int.from_bytes(frame[8:10], "big") <= 2000
    assert not found.exceeded and found.ratio < 1.3


def test_no_lookup_on_the_core_exceeds_its_cost():
    """Random constant tables around a key of ones, entries that agree with it in some fields: translated, and what an interpreter takes more."""
    try:
        get_engine("thumb2")
    except EngineUnavailable as e:
        pytest.skip(str(e))
    from lpn.runtime.m3 import measure
    rng, costs, ratios = random.Random(5), load_costs("thumb2"), []
    for _ in range(40):
        shape = tuple((rng.choice(KINDS), rng.choice((1, 1, 2, 3, 4, 6, 9, 16))) for _ in range(rng.randint(1, 3)))
        if all(kind == "exact" for kind, _ in shape):
            shape = (*shape, ("ternary", 1))
        rows = []
        for n in range(rng.randint(1, 12)):
            match = []
            for kind, size in shape:
                key = (1 << 8 * size) - 1
                value = key if rng.random() < 0.6 else key ^ (rng.choice((1, 1 << 8 * rng.randrange(size), rng.randrange(1, key + 1))))
                match.append({"exact": (value,), "lpm": (value, 8 * size), "ternary": (value, key), "range": (rng.choice((value, 0, value - 1)), value)}[kind])
            rows.append(Entry(tuple(match), 1, bytes(4), n))
        table = Table("t", 0, tuple(KeyField(8 * size, kind) for kind, size in shape), 4, len(rows), tuple(rows), (), True)
        took = (measure.run(measure.looking_up(shape, 8), table=table) - measure.run(measure.IDLE)).most
        most = costs.helper("lookup", 0, [replace(table_size(table), room=8)]).most
        assert took <= most
        ratios.append(most / took)
    assert min(ratios) < 1.4                    # of those of which no entry ends the lookup soon
