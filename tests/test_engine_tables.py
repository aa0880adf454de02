"""Tables against a model that says in one line each what a match is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpn.compiler.bundle import Entry, KeyField, Table
from lpn.compiler.helpers import BY_NAME, which
from lpn.runtime.engine.native import NativeHost
from lpn.runtime.engines import EngineError, entry_bytes


def lookup(host: NativeHost, table: Table, key: bytes) -> tuple[int, bytes]:
    """(action, data) for a key; the action is 0 on a miss."""
    data = host.ffi.new("uint8_t[]", table.action_data_bytes + 3)
    given = host.ffi.new("uint8_t[]", key)
    registers = [which(table.index, len(key), len(data)), int(host.ffi.cast("uintptr_t", given)), int(host.ffi.cast("uintptr_t", data)), 0, 0]
    got = host.lib.lpn_host_call(host.handle, BY_NAME["lookup"].number, registers)
    assert got >> 32 == 0
    raw = bytes(host.ffi.buffer(data))
    assert not any(raw[table.action_data_bytes:])
    return got, raw[:table.action_data_bytes]


def field_matches(field: KeyField, match: tuple[int, ...], value: int) -> bool:
    if field.kind == "exact":
        return value == match[0]
    if field.kind == "lpm":
        shift = field.width_bits - match[1]
        return value >> shift == match[0] >> shift
    if field.kind == "ternary":
        return value & match[1] == match[0] & match[1]
    return match[0] <= value <= match[1]


def expected(table: Table, entries, values) -> tuple[int, bytes]:
    kinds = {f.kind for f in table.key}
    hits = [e for e in entries if all(map(field_matches, table.key, e.match, values))]
    if kinds & {"ternary", "range"}:
        hits.sort(key=lambda e: e.priority)
    elif "lpm" in kinds:
        hits.sort(key=lambda e: -sum(m[1] for f, m in zip(table.key, e.match) if f.kind == "lpm"))
    return (hits[0].action, hits[0].data) if hits else (0, bytes(table.action_data_bytes))


def matches(field: KeyField):
    value = st.integers(0, 2**field.width_bits - 1) | st.integers(0, min(3, 2**field.width_bits - 1))
    return {
        "exact": st.tuples(value),
        "lpm": st.tuples(value, st.integers(0, field.width_bits)),
        "ternary": st.tuples(value, value),
        "range": st.tuples(value, value).map(lambda p: tuple(sorted(p))),
    }[field.kind]


@st.composite
def cases(draw):
    """A table, entries that fit it, and keys near them."""
    key = tuple(draw(st.lists(st.builds(KeyField, st.sampled_from([1, 3, 8, 12, 16, 32, 64, 128]),
                                        st.sampled_from(["exact", "lpm", "ternary", "range"])),
                              min_size=1, max_size=3)))
    size = draw(st.integers(0, 4))
    entry = st.builds(Entry, st.tuples(*map(matches, key)), st.integers(1, 65535),
                      st.binary(min_size=size, max_size=size), st.integers(0, 3))
    entries = draw(st.lists(entry, max_size=8))
    table = Table("t", 0, key, size, 8, tuple(entries))
    values = [tuple(m[0] for m in e.match) for e in entries]
    near = st.sampled_from(values) if values else st.nothing()
    free = st.tuples(*(st.integers(0, 2**f.width_bits - 1) for f in key))
    return table, draw(st.lists(near | free, min_size=1, max_size=8))


@given(cases())
def test_lookup_equals_the_model(case):
    table, keys = case
    host = NativeHost(0, 0, 0)
    host.add_table(table)
    for values in keys:
        raw = b"".join(v.to_bytes(f.bytes, "big") for v, f in zip(values, table.key))
        assert lookup(host, table, raw) == expected(table, table.entries, values)


def test_of_entries_with_one_exact_key_the_first_counts():
    """However many others there are, and until it is removed."""
    host = NativeHost(0, 0, 0)
    table = Table("t", 0, (KeyField(8, "exact"),), 1, 12)
    host.add_table(table)
    host.lib.lpn_host_begin(host.handle, 0, 0)
    for i, key in enumerate((5, 2, 5, 9, 2, 5, 1, 5)):
        assert host.lib.lpn_host_entry(host.handle, 0, bytes([key]), bytes(1), i + 1, bytes([key]), 0) == 0
    host.lib.lpn_host_commit(host.handle, 0)
    for firsts in ({5: 1, 2: 2, 9: 4, 1: 7}, {5: 3, 2: 2, 9: 4, 1: 7}, {5: 6, 2: 2, 9: 4, 1: 7}, {5: 8, 2: 2, 9: 4, 1: 7}, {2: 2, 9: 4, 1: 7}):
        assert [lookup(host, table, bytes([key])) for key in range(10)] == [
            (firsts[key], bytes([key])) if key in firsts else (0, bytes(1)) for key in range(10)]
        host.lib.lpn_host_begin(host.handle, 0, 1)
        assert (host.lib.lpn_host_remove(host.handle, 0, bytes([5]), bytes(1), 0) == 0) == (5 in firsts)
        host.lib.lpn_host_commit(host.handle, 0)


@given(cases(), st.data())
def test_adding_and_removing_one_by_one(case, data):
    """A copied set with entries added and removed gives what the remaining list gives."""
    table, keys = case
    host = NativeHost(0, 0, 0)
    host.add_table(Table("t", 0, table.key, table.action_data_bytes, table.size))
    live = []
    for entry in table.entries:
        a, b = entry_bytes(table, entry)
        host.lib.lpn_host_begin(host.handle, 0, 1)
        error = host.lib.lpn_host_entry(host.handle, 0, a, b, entry.action, entry.data, entry.priority)
        assert error == 0
        live.append(entry)
        if data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(live))
            a, b = entry_bytes(table, gone)
            assert host.lib.lpn_host_remove(host.handle, 0, a, b, gone.priority) == 0
            ordered = any(f.kind in ("ternary", "range") for f in table.key)
            same = [e for e in live if stored(table, e) == stored(table, gone)
                    and (not ordered or e.priority == gone.priority)]
            live.remove(same[0])
        host.lib.lpn_host_commit(host.handle, 0)
        for values in keys:
            raw = b"".join(v.to_bytes(f.bytes, "big") for v, f in zip(values, table.key))
            assert lookup(host, table, raw) == expected(table, live, values)


def stored(table, entry):
    """A match as the engine keeps it: values inside their masks."""
    a, b = entry_bytes(table, entry)
    out, at = [], 0
    for f in table.key:
        x, y = a[at:at + f.bytes], b[at:at + f.bytes]
        out.append((bytes(p & q for p, q in zip(x, y)) if f.kind in ("lpm", "ternary") else x, y))
        at += f.bytes
    return out


def exact(size=4, **more):
    return Table("t", 0, (KeyField(16, "exact"),), 1, size, **more)


def test_a_refused_set_leaves_the_old_one():
    host = NativeHost(0, 0, 0)
    old = Entry(((7,),), 1, b"o")
    host.add_table(exact(entries=(old,)))
    with pytest.raises(EngineError, match="table full"):
        host.set_entries(exact(), [Entry(((i,),), 2, b"n") for i in range(5)])
    with pytest.raises(EngineError, match="bad table"):
        host.set_entries(exact(), [Entry(((7,),), 0, b"n")])
    assert lookup(host, exact(), b"\0\7") == (1, b"o")


def test_a_change_is_seen_only_when_committed():
    host = NativeHost(0, 0, 0)
    host.add_table(exact(entries=(Entry(((7,),), 1, b"o"),)))
    host.lib.lpn_host_begin(host.handle, 0, 0)
    assert host.lib.lpn_host_entry(host.handle, 0, b"\0\7", b"\0\0", 2, b"n", 0) == 0
    assert lookup(host, exact(), b"\0\7") == (1, b"o")
    host.lib.lpn_host_commit(host.handle, 0)
    assert lookup(host, exact(), b"\0\7") == (2, b"n")


def test_removing_what_is_not_there():
    host = NativeHost(0, 0, 0)
    host.add_table(exact())
    host.lib.lpn_host_begin(host.handle, 0, 1)
    error = host.lib.lpn_host_remove(host.handle, 0, b"\0\7", b"\0\0", 0)
    assert host.error_name(error) == "no such entry"


@pytest.mark.parametrize("a,b,kind", [(b"\0\0", b"\x00\xf0", "lpm"), (b"\0\0", b"\xf0\xf0", "lpm"),
                                      (b"\0\2", b"\0\1", "range")])
def test_matches_that_are_none(a, b, kind):
    host = NativeHost(0, 0, 0)
    host.add_table(Table("t", 0, (KeyField(16, kind),), 0, 4))
    host.lib.lpn_host_begin(host.handle, 0, 0)
    assert host.error_name(host.lib.lpn_host_entry(host.handle, 0, a, b, 1, b"", 0)) == "bad table"


@pytest.mark.parametrize("match", [(), (1, 2), (65536,), (-1,)])
def test_entries_that_do_not_fit(match):
    with pytest.raises(EngineError, match="is no exact match of 16 bits"):
        entry_bytes(exact(), Entry((match,), 1, b"x"))


@pytest.mark.parametrize("key,data,size", [((), 0, 1), ((KeyField(8, "exact"),) * 9, 0, 1),
                                           ((KeyField(512, "exact"), KeyField(1, "exact")), 0, 1),
                                           ((KeyField(8, "exact"),), 257, 1), ((KeyField(8, "exact"),), 0, 0)])
def test_shapes_that_are_refused(key, data, size):
    host = NativeHost(0, 0, 0)
    with pytest.raises(EngineError, match="bad table"):
        host.add_table(Table("t", 0, key, data, size))
