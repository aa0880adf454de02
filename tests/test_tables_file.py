"""Tables files: what a program accepts of them, and one clear line for what it does not."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from programs import chain, example, program

from lpn.lang import tables
from lpn.lang.reference import Reference
from lpn.lang.tables import TablesError

TEXT = chain("X x;", "state start { pkt.extract(h.x); transition accept; }", types="""
    enum bit<8> Color { red = 1, green = 2 }
    header X { bit<16> a; bit<8> b; }
    struct Inner { bit<64> ext; bool on; }
    struct Outer { Inner inner; bit<128> address; int<8> offset; Color color; }
    register<Outer>[4] cells;
    register<bit<16>> limit;
    """, processor="""
    counter<bit<32>> seen;
    action to(bit<16> port) { m.verdict = DELIVER; m.port = port; }
    action drop() { m.verdict = DROP; }
    table routes { key = { h.x.a : lpm; h.x.b : exact; } actions = { to; drop; } size = 3; default_action = drop();
                   entries = { (0x1200 &&& 0xff00, 7) : to(1); } }
    table filters { key = { h.x.a : ternary; h.x.b : range; } actions = { drop; to; } size = 8; }
    apply { routes.apply(); filters.apply(); }""")


def load(value: object) -> tables.Tables:
    return tables.from_text(json.dumps(value), program(TEXT))


def test_contexts_of_the_standard_library():
    text = '{"contexts": {"0": {"prefix": "2001:db8::", "length": 64}, "15": {"prefix": "0xff", "length": "0x80"}}}'
    state = Reference(example("decompress/decompress")).state(tables.from_text(text, example("decompress/decompress")))
    assert state.get("contexts", 0) == {"prefix": 0x20010DB8 << 96, "length": 64}
    assert state.get("contexts", 15) == {"prefix": 255, "length": 128}
    assert state.get("contexts", 1) == {"prefix": 0, "length": 0}


def test_cells_are_named_by_register_index_and_field():
    found = load({"cells": {"2": {"inner": {"ext": "00:12:4b:00:14:b5:d9:4f", "on": True}, "offset": -5, "color": "green"}},
                  "limit": 300})
    assert [(cell.register.name, cell.index, cell.values) for cell in found.cells] == [
        ("cells", 2, {"inner.ext": 0x00124B0014B5D94F, "inner.on": 1, "offset": -5, "color": 2}), ("limit", 0, {"": 300})]
    state = Reference(program(TEXT)).state(found)
    assert state.get("cells", 2) == {"inner": {"ext": 0x00124B0014B5D94F, "on": True}, "address": 0, "offset": -5, "color": 2}


def test_entries_follow_the_constant_ones():
    found = load({"routes": [{"key": ["0x1230/12", 7], "action": "to", "args": [9]}],
                  "P.filters": [{"key": ["0x1000 &&& 0xf000", "5..9"], "action": "drop", "priority": 3},
                                {"key": ["_", "_"], "action": "to", "args": ["0x10"], "priority": 2}]})
    routes, filters = found.entries.values()
    assert [(entry.matches[0].prefix, entry.action, entry.args) for entry in routes] == [(8, 1, (1,)), (12, 1, (9,))]
    assert (filters[0].matches[0].mask, filters[0].matches[1].low, filters[0].matches[1].high) == (0xF000, 5, 9)
    reference = Reference(program(TEXT))
    state = reference.state(found)
    run = lambda frame: reference.run(bytes.fromhex(frame), {}, state)      # noqa: E731
    assert run("123407").port == 16                                         # `to(9)`, then the filter
    routes_only = load({"routes": [{"key": ["0x1230/12", 7], "action": "to", "args": [9]}]})
    state = reference.state(routes_only)
    assert [run(frame).port for frame in ("123407", "124407")] == [9, 1]    # the longest prefix
    assert run("123408").reason == "P.drop"


@pytest.mark.parametrize("value, message", [
    ([], "an object with registers and tables by name is expected"),
    ({"nope": 1}, "nope: the program has no such register, table or value set (it has P.filters, P.routes, cells, limit)"),
    ({"seen": 1}, "seen: a counter cannot be set"),
    ({"limit": 65536}, "limit: 65536 does not fit bit<16>"),
    ({"limit": -1}, "limit: -1 does not fit bit<16>"),
    ({"limit": True}, "limit: true is not a value of bit<16>"),
    ({"limit": 1.5}, "limit: 1.5 is not a value of bit<16>"),
    ({"limit": "::1"}, 'limit: "::1" is not a value of bit<16>'),
    ({"limit": None}, "limit: null is not a value of bit<16>"),
    ({"cells": 1}, "cells: an object with cells by index is expected"),
    ({"cells": {"4": {}}}, "cells: index 4 is out of range 0 to 3"),
    ({"cells": {"x": {}}}, "cells: 'x' is not an index"),
    ({"cells": {"01": {}}}, "cells: '01' is not an index"),
    ({"cells": {"0": 5}}, "cells[0]: an object with fields of Outer is expected"),
    ({"cells": {"0": {"nope": 5}}}, "cells[0]: Outer has no field nope (it has inner, address, offset, color)"),
    ({"cells": {"0": {"inner": {"on": 1}}}}, "cells[0].inner.on: true or false is expected, not 1"),
    ({"cells": {"0": {"inner": {"ext": "00:12"}}}}, 'cells[0].inner.ext: "00:12" is not a value of bit<64>'),
    ({"cells": {"0": {"address": "fe80::1%eth0"}}}, 'cells[0].address: "fe80::1%eth0" is not a value of bit<128>'),
    ({"cells": {"0": {"offset": 128}}}, "cells[0].offset: 128 does not fit int<8>"),
    ({"cells": {"0": {"color": "blue"}}}, 'cells[0].color: "blue" is not one of red, green'),
    ({"routes": {}}, "routes: a list of entries is expected"),
    ({"routes": [5]}, "routes[0]: an object with key and action is expected"),
    ({"routes": [{"key": [1], "action": "to"}]}, "routes[0]: key must be a list of 2"),
    ({"routes": [{"key": [1, 1], "action": "fly"}]}, 'routes[0]: "fly" is not one of the table\'s actions to, drop'),
    ({"routes": [{"key": [1, 1], "action": "to"}]}, "routes[0]: to takes 1 arguments"),
    ({"routes": [{"key": [1, 1], "action": "to", "args": [70000]}]}, "routes[0].port: 70000 does not fit bit<16>"),
    ({"routes": [{"key": ["1/17", 1], "action": "drop"}]}, "routes[0].key[0]: prefix length must be 0 to 16"),
    ({"routes": [{"key": [1, 1], "action": "drop", "prio": 1}]},
     "routes[0]: unknown 'prio' (an entry has key, action, args, priority)"),
    ({"routes": [{"key": [1, 1], "action": "drop", "priority": -1}]}, "routes[0]: priority must be 0 to 65535"),
    ({"filters": [{"key": ["_", "_"], "action": "drop", "priority": 65536}]}, "filters[0]: priority must be 0 to 65535"),
    ({"routes": [{"key": [1, 1], "action": "drop", "priority": 1}]}, "routes[0]: entries of exact and lpm keys have no priority; leave it out"),
    ({"routes": [{"key": ["1/²", 1], "action": "drop"}]}, "routes[0].key[0]: prefix length must be 0 to 16"),
    ({"routes": [{"key": [f"1/{'9' * 5000}", 1], "action": "drop"}]}, "routes[0].key[0]: prefix length must be 0 to 16"),
    ({"routes": [{"key": [1, 1], "action": "drop"}] * 3}, "routes: 4 entries, the table's size is 3"),
    ({"filters": [{"key": [1, "9..5"], "action": "drop"}]}, "filters[0].key[1]: 9..5 is empty"),
])
def test_what_is_wrong_is_said_in_one_line(value, message):
    with pytest.raises(TablesError) as caught:
        load(value)
    assert str(caught.value) == message


def test_errors_are_given_by_name():
    text = program(chain("X x;", "state start { pkt.extract(h.x); transition accept; }", types="""
        error { Early, Late } header X { bit<16> a; bit<8> b; }
        register<error> last; register<error>[2] each;""", processor="""
        action deny(error why) { m.verdict = DROP; m.reason = why; }
        table rules { key = { h.x.b : exact; } actions = { deny; NoAction; } size = 4; }
        apply { rules.apply(); }"""))
    given = {"rules": [{"key": [7], "action": "deny", "args": ["error.Late"]}, {"key": [8], "action": "deny", "args": ["NoMatch"]}],
             "last": "Early", "each": {"1": "Late"}}
    reference = Reference(text)
    state = reference.state(tables.from_text(json.dumps(given), text))
    assert (state.get("last"), state.get("each")) == (text.reason_number("Early"), [0, text.reason_number("Late")])
    assert [reference.run(bytes.fromhex(frame), {}, state).reason for frame in ("000007", "000008", "000009")] == ["Late", "NoMatch", None]
    for wrong in ("Lat", 6, "X.b", ""):
        with pytest.raises(TablesError, match="^last: .* is not one of the errors NoError, PacketTooShort, NoMatch, .*, Early, Late$"):
            tables.from_text(json.dumps({"last": wrong}), text)


@pytest.mark.parametrize("text, message", [
    ("{", "not JSON"), ('{"limit": 1, "limit": 2}', "limit is given twice"), ("[" * 100000, "not JSON"),
])
def test_what_is_no_json_is_refused(text, message):
    with pytest.raises(TablesError, match=message):
        tables.from_text(text, program(TEXT))


def test_the_file_is_named(tmp_path):
    path = tmp_path / "t.json"
    with pytest.raises(TablesError, match=r"t\.json: No such file or directory"):
        tables.load(path, program(TEXT))
    path.write_bytes(b"\xff")
    with pytest.raises(TablesError, match=r"t\.json: not UTF-8 text"):
        tables.load(path, program(TEXT))
    path.write_text('{"limit": 65536}')
    with pytest.raises(TablesError, match=r"t\.json: limit: 65536 does not fit bit<16>"):
        tables.load(path, program(TEXT))
    path.write_text('{"limit": 6}')
    assert len(tables.load(path, program(TEXT)).cells) == 1


VALUE_SETS = """
enum bit<4> K { a = 1, b = 2 }
header H { K k; bit<4> z; bit<16> port; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) {
    value_set<bit<16>>[2] ports;
    value_set<K>[2] kinds;
    state start { pkt.extract(h.h); transition select(h.h.port, h.h.k) { (ports, kinds): accept; default: reject; } }
}
"""


def test_value_sets_hold_values_of_their_type() -> None:
    given = tables.from_json({"Rx.ports": [7, "0x100"], "kinds": ["a"]}, program(VALUE_SETS))
    assert [[e.matches[0].value for e in entries] for entries in given.entries.values()] == [[7, 256], [1]]


@pytest.mark.parametrize("value, message", [
    ({"ports": 7}, "ports: a list of values is expected"),
    ({"ports": [1, 2, 3]}, "ports: 3 values, the set's size is 2"),
    ({"ports": [1, "0x1"]}, 'ports[1]: "0x1" is given twice'),
    ({"ports": [65536]}, "ports[0]: 65536 does not fit bit<16>"),
    ({"kinds": ["c"]}, 'kinds[0]: "c" is not one of a, b'),
])
def test_what_is_wrong_with_a_value_set(value: object, message: str) -> None:
    with pytest.raises(TablesError) as error:
        tables.from_json(value, program(VALUE_SETS))
    assert str(error.value) == message


def test_the_file_in_the_documentation():
    """It fits a program of the kind that it is for, and says what the page says."""
    page = (Path(__file__).parent.parent / "docs" / "language.md").read_text()
    text = re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0]
    known = program(chain("X x;", "state start { pkt.extract(h.x); transition accept; }", types="""
        enum bit<2> Mode { none, short = 2, ext }
        struct Peer { bit<64> address; Mode mode; bool known; bit<8> other; }
        header X { bit<128> dst; bit<16> port; bit<8> kind; }
        register<Peer>[4] peers;
        register<bit<16>> limit;
        """, processor="""
        action to(bit<16> port) { m.verdict = DELIVER; m.port = port; }
        action drop() { m.verdict = DROP; }
        table routes { key = { h.x.dst : lpm; h.x.kind : exact; } actions = { to; drop; } }
        table choices { key = { h.x.kind : ternary; h.x.port : range; } actions = { to; drop; } }
        apply { routes.apply(); choices.apply(); }"""))
    given = tables.from_text(text, known)
    routes, choices = given.entries.values()
    assert [(entry.action, entry.args) for entry in routes] == [(1, (0xF0B0,)), (2, ())]
    assert [(entry.action, entry.priority) for entry in choices] == [(1, 2), (2, 1)]
    assert (choices[0].matches[0].mask, choices[0].matches[1].high, choices[1].matches[0].mask) == (0xE1, 1023, 0)
    state = Reference(known).state(given)
    assert state.get("peers", 3) == {"address": 0x024C504E00000002, "mode": 3, "known": True, "other": 0} and state.get("limit") == 5
