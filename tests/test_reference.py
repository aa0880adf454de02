"""The reference interpreter: each rule of the language on a packet small enough to read."""
from __future__ import annotations

import pytest
from programs import chain, program

from lpn.lang.reference import Reference, Result

GO = "state start { pkt.extract(h.x); transition accept; }"


def run(text: str, frame: str, state=None, **meta) -> Result:
    return Reference(program(text)).run(bytes.fromhex(frame), meta, state)


def parse(header: str, frame: str, types: str = "") -> Result:
    """A packet through a header `X` and out again."""
    return run(chain("X x;", GO, "pkt.emit(h.x);", types + f" header X {{ {header} }}"), frame)


# ---------------------------------------------------------------- wire formats

@pytest.mark.parametrize("header, frame", [
    ("bit<4> a; bit<12> b;", "1234"),
    ("le<16> a; le<64> b;", "34120807060504030201"),
    ("word le<16> { bit<3> a; bit<9> b; bit<4> c; }", "cdab"),
    ("word be<16> { bit<3> a; bit<13> b; }", "abcd"),
    ("bit<1> more; bit<7> n; bit<8> extra when (more == 1);", "81ff00"),
    ("bit<1> more; bit<7> n; bit<8> extra when (more == 1);", "01ff00"),
    ("bit<8> n; varbit<64> data sized (8 * (bit<16>) n);", "03aabbccdd"),
    ("bit<3> _; bit<5> b;", "ff"),
    ("K k; bit<6> pad; choice (k) { two: le<16>; four: bit<32>; } v;", "80112233445566"),
    ("K k; bit<6> pad; choice (k) { two: le<16>; four: bit<32>; } v;", "40112233445566"),
    ("K k; bit<6> pad; choice (k) { two: le<16>; four: bit<32>; } v;", "00112233445566"),
])
def test_what_parses_is_emitted_as_it_was(header, frame):
    result = parse(header, frame, "enum bit<2> K { none = 0, two = 1, four = 2 }")
    assert result == Result("ACCEPT", out=bytes.fromhex(frame))


@pytest.mark.parametrize("field, frame, value", [
    ("bit<4> a; bit<12> x;", "1234", 0x234),
    ("le<32> x;", "04030201", 0x01020304),
    ("word le<16> { bit<3> a; bit<9> x; bit<4> c; }", "cdab", 0xABCD >> 3 & 0x1FF),
    ("word be<16> { bit<3> a; bit<9> x; bit<4> c; }", "abcd", 0xABCD >> 3 & 0x1FF),
    ("bit<8> a; bit<8> x when (a == 1);", "0005", 0),
    ("bit<8> a; bit<8> x when (a == 1);", "0105", 5),
])
def test_fields_are_where_the_format_says(field, frame, value):
    text = chain("X x;", GO, types=f"header X {{ {field} }} register<bit<32>> seen;",
                 processor="apply { seen = (bit<32>) h.x.x; }")
    reference = Reference(program(text))
    state = reference.state()
    assert reference.run(bytes.fromhex(frame), {}, state).verdict == "ACCEPT"
    assert state.get("seen") == value


@pytest.mark.parametrize("header, frame, reason", [
    ("bit<16> a;", "12", "PacketTooShort"),
    ("bit<16> a;", "", "PacketTooShort"),
    ("bit<8> a = 1; bit<16> b;", "0212", "PacketTooShort"),             # short before any check of the header
    ("bit<8> a = 1; bit<16> b;", "021234", "X.a"),
    ("bit<8> a in { 1, 4..6 }; bit<8> b = 2;", "0300", "X.a"),
    ("bit<8> a in { 1, 4..6 }; bit<8> b = 2;", "0500", "X.b"),
    ("E a; bit<6> b;", "c0", "X.a"),
    ("word le<8> { bit<6> b; E a; }", "c0", "X.a"),
    ("bit<8> a; where (a != 7);", "07", "X.where"),
    ("bit<8> a; where (a != 7, error.Seven);", "07", "Seven"),
    ("bit<8> a; bit<8> n = sizeof(payload);", "0002aa", "X.n"),
    ("bit<8> n; varbit<16> data sized (8 * (bit<16>) n);", "03aabb", "PacketTooShort"),
    ("bit<8> n; varbit<16> data sized (8 * (bit<16>) n);", "03aabbcc", "X.data"),
    ("bit<8> n; varbit<16> data sized ((bit<16>) n);", "09aabbcc", "X.data"),
])
def test_a_check_that_fails_names_the_field(header, frame, reason):
    header = header.replace("= sizeof", "= (bit<8>) sizeof")
    result = parse(header, frame, "enum bit<2> E { a = 0, b, c } error { Seven }")
    assert result == Result("DROP", reason)


def test_checks_come_in_order_of_declaration():
    header = "bit<8> a; where (a != 9, error.Nine); bit<8> b in { 1 }; where (b != a);"
    types = "error { Nine }"
    assert parse(header, "0902", types).reason == "Nine"
    assert parse(header, "0802", types).reason == "X.b"
    assert parse(header, "0101", types).reason == "X.where"


# ---------------------------------------------------------------- parser

def test_select_takes_the_first_case_that_fits():
    states = """state start {
        pkt.extract(h.x);
        transition select(h.x.a, h.x.b) {
            (1, _): reject(error.One);
            (2 .. 4, 0x80 &&& 0x80): reject(error.High);
            (2 .. 4, _): reject(error.Low);
            (5, 5): accept;
        }
    }"""
    text = chain("X x;", states, types="header X { bit<8> a; bit<8> b; } error { One, High, Low }")
    assert [run(text, frame).reason for frame in ("0100", "0390", "0310", "0505", "0506")] == [
        "One", "High", "Low", None, "NoMatch"]


def test_reasons_come_in_program_order():
    states = """state start {
        verify(pkt.lookahead<bit<8>>() != 1, error.One);
        pkt.extract(h.x);
        verify(h.x.b != 2, error.Two);
        pkt.advance(16);
        transition accept;
    }"""
    text = chain("X x;", states, types="header X { bit<8> a; bit<8> b; } error { One, Two }")
    assert [run(text, frame).reason for frame in ("", "01", "02", "0202", "0203", "020300", "02030000")] == [
        "PacketTooShort", "One", "PacketTooShort", "Two", "PacketTooShort", "PacketTooShort", None]


def test_a_stack_fills_up_and_refuses_more():
    states = """state start {
        pkt.extract(h.x.next);
        transition select(h.x.last.more) { 1: start; default: accept; }
    }"""
    text = chain("X[3] x;", states, "pkt.emit(h.x);", "header X { bit<1> more; bit<7> n; }")
    assert run(text, "81820301").out == bytes.fromhex("81820301")
    assert run(text, "81828304").reason == "StackOutOfBounds"
    assert run(text, "8182").reason == "PacketTooShort"


def test_a_bounded_state_is_left_with_its_own_reason():
    states = """state start { transition loop; }
    state loop max 2 { pkt.advance(8); transition select(pkt.lookahead<bit<8>>()) { 0: accept; default: loop; } }"""
    text = chain("X x;", states, types="header X { bit<8> n; }")
    assert run(text, "0100").verdict == "ACCEPT"
    assert run(text, "010100").verdict == "ACCEPT"
    assert run(text, "01010100").reason == "Rx.loop"


def test_locals_of_a_state_are_fresh_and_those_of_the_parser_stay():
    states = """bit<8> kept;
    state start max 3 {
        bit<8> fresh;
        Y y;
        kept = kept + 1;
        fresh = fresh + 1;
        verify(fresh == 1, error.Stale);
        verify(!y.isValid(), error.Stale);
        pkt.extract(y);
        transition select(kept) { 3: end; default: start; }
    }
    state end { pkt.extract(h.x); transition accept; }"""
    text = chain("X x;", states, "pkt.emit(h.x);", "header X { bit<8> n; } header Y { bit<8> n; } error { Stale }")
    assert run(text, "0102030405").out == bytes.fromhex("0405")


# ---------------------------------------------------------------- equations

UDPISH = "header X { bit<8> kind = 7; bit<8> n = 2 + (bit<8>) sizeof(payload); bit<8> a; }"


def test_equations_are_computed_again_when_a_field_changed():
    types = "header X { bit<8> n; bit<8> inverse = ~n; }"
    text = chain("X x;", GO, "pkt.emit(h.x);", types, "apply { h.x.n = h.x.n + 1; }")
    assert run(text, "01fe").out == bytes.fromhex("02fd")
    assert run(text, "01ff").reason == "X.inverse"


def test_a_header_made_valid_is_zero_but_for_its_equations():
    text = chain("X x; Y y;", "state start { pkt.extract(h.y); transition accept; }", "pkt.emit(h.x); pkt.emit(h.y);",
                 UDPISH + " header Y { bit<8> n; }", "apply { h.x.setValid(); h.x.a = 9; }")
    assert run(text, "aabb").out == bytes.fromhex("070409aabb")     # what follows X: Y and the payload


def test_deferred_equations_are_judged_by_holds_only():
    types = "header X { bit<8> n; bit<8> sum = n + 1 deferred; } error { Bad }"
    keep = chain("X x;", GO, "pkt.emit(h.x);", types)
    assert run(keep, "0105").out == bytes.fromhex("0105")           # carried as it came
    judge = chain("X x;", GO, "pkt.emit(h.x);", types,
                  "apply { if (!h.x.holds()) { m.verdict = DROP; m.reason = error.Bad; } }")
    assert run(judge, "0105").reason == "Bad"
    assert run(judge, "0102").out == bytes.fromhex("0102")
    change = chain("X x;", GO, "pkt.emit(h.x);", types, "apply { h.x.n = 8; }")
    assert run(change, "0105").out == bytes.fromhex("0809")


def test_the_internet_checksum_pads_an_odd_octet():
    types = "header X { bit<16> sum = ~inet_sum(payload) deferred; }"
    text = chain("X x;", GO, "pkt.emit(h.x);", types, "apply { if (!h.x.holds()) { m.verdict = DROP; } }")
    assert run(text, "fbfd0102 03".replace(" ", "")).verdict == "ACCEPT"     # ~(0102 + 0300)
    assert run(text, "fbfd0102 04".replace(" ", "")).reason == "P.drop"


# ---------------------------------------------------------------- choices

CHOICE = ("enum bit<8> K { none = 0, two = 1, four = 2 } "
          "header X { K k; choice (k) { two: le<16>; four: bit<32>; } v; }")


@pytest.mark.parametrize("apply, out", [
    ("h.x.v.four = 0x01020304;", "0201020304"),
    ("h.x.v.two = 0x0102;", "010201"),
    ("h.x.k = K.four;", "0200000000"),                  # the new arm's value is 0
    ("h.x.k = K.two;", "013412"),                       # nothing changed
    ("h.x.k = K.none;", "00"),
    ("h.x.k = K.four; h.x.k = K.two;", "010000"),       # the old value is gone
])
def test_an_assigned_arm_sets_the_tag(apply, out):
    text = chain("X x;", GO, "pkt.emit(h.x);", CHOICE, f"apply {{ {apply} }}")
    assert run(text, "013412").out == bytes.fromhex(out)


# ---------------------------------------------------------------- values

def value_of(type_: str, expr: str, before: str = "") -> object:
    text = chain("X x;", GO, types=f"header X {{ bit<8> a; }} register<{type_}> seen;",
                 processor=f"apply {{ {before} seen = {expr}; }}")
    reference = Reference(program(text))
    state = reference.state()
    assert reference.run(b"\x05", {}, state).verdict == "ACCEPT"
    return state.get("seen")


@pytest.mark.parametrize("type_, expr, value", [
    ("bit<8>", "h.x.a - 6", 255), ("bit<8>", "h.x.a * 100", 500 % 256), ("bit<8>", "~h.x.a", 250),
    ("bit<8>", "h.x.a << 7", 128), ("bit<8>", "h.x.a << 8", 0), ("bit<8>", "h.x.a >> 9", 0), ("bit<8>", "h.x.a >> h.x.a", 0),
    ("bit<8>", "h.x.a / 2", 2), ("bit<8>", "h.x.a % 3", 2), ("bit<8>", "-h.x.a", 251),
    ("bit<8>", "100 / (h.x.a - 5)", 0), ("bit<8>", "h.x.a % (h.x.a - 5)", 5),
    ("bit<8>", "h.x.a |+| 253", 255), ("bit<8>", "h.x.a |-| 9", 0),
    ("bit<16>", "h.x.a ++ h.x.a", 0x0505), ("bit<3>", "h.x.a[2:0]", 5), ("bit<1>", "h.x.a[1:1]", 0),
    ("bit<16>", "(bit<16>) h.x.a", 5), ("bit<2>", "(bit<2>) h.x.a", 1),
    ("bit<8>", "h.x.a == 5 ? 8w1 : 8w2", 1), ("bool", "h.x.a < 5 || h.x.a >= 6", False), ("bool", "!(h.x.a != 5)", True),
    ("bit<128>", "ip6\"2001:db8::1\" & ~128w1", 0x20010DB8 << 96), ("bit<128>", "128w1 << 127", 1 << 127),
    ("bit<64>", "eui64\"00:12:4b:00:14:b5:d9:4f\" ^ 64w0x0200_0000_0000_0000", 0x02124B0014B5D94F),
])
def test_arithmetic(type_, expr, value):
    assert value_of(type_, expr) == value


# ---------------------------------------------------------------- processors

def test_registers_out_of_range_read_zero_and_take_nothing():
    types = "header X { bit<8> a; } register<bit<8>>[4] r; register<bit<8>> seen;"
    text = chain("X x;", GO, types=types, processor="apply { r[h.x.a] = 7; seen = r[h.x.a] + 1; }")
    reference = Reference(program(text))
    state = reference.state()
    reference.run(b"\x03", {}, state)
    assert state.get("r") == [0, 0, 0, 7] and state.get("seen") == 8
    reference.run(b"\x04", {}, state)
    assert state.get("r") == [0, 0, 0, 7] and state.get("seen") == 1


def test_state_is_by_name_and_stays():
    text = chain("X x;", GO, types="header X { bit<8> a; }", processor="counter<bit<8>>[4] c; apply { c.count(h.x.a); }")
    reference = Reference(program(text))
    state = reference.state()
    state.set("P.c", 255, 1)
    for octet in (0, 1, 3, 3, 4):
        reference.run(bytes([octet]), {}, state)
    assert state.get("c") == [1, 0, 0, 2]
    with pytest.raises(KeyError):
        state.get("d")


@pytest.mark.parametrize("apply, result", [
    ("", Result("ACCEPT", out=b"\x05\xff")),
    ("m.verdict = TRANSMIT;", Result("TRANSMIT", out=b"\x05\xff")),
    ("m.verdict = DELIVER; m.port = 70;", Result("DELIVER", port=70)),
    ("m.verdict = CONSUMED;", Result("CONSUMED")),
    ("m.verdict = DROP;", Result("DROP", "P.drop")),
    ("m.verdict = DROP; m.reason = error.Mine;", Result("DROP", "Mine")),
    ("m.verdict = DROP; return; m.verdict = ACCEPT;", Result("DROP", "P.drop")),
    ("h.x.setInvalid();", Result("ACCEPT", out=b"\xff")),
])
def test_verdicts(apply, result):
    text = chain("X x;", GO, "pkt.emit(h.x);", "header X { bit<8> a; } error { Mine }", f"apply {{ {apply} }}")
    assert run(text, "05ff") == result


def test_meta_and_node_come_from_outside():
    text = chain("X x;", GO, types="header X { bit<8> a; } register<bit<64>>[5] seen;", processor="""apply {
        seen[0] = (bit<64>) m.rssi; seen[1] = (bit<64>) m.time; seen[2] = node.ext;
        seen[3] = (bit<64>) node.short; seen[4] = (bit<64>) m.iface; }""")
    reference = Reference(program(text))
    state = reference.state()
    reference.run(b"\0", {"rssi": -90, "time": 7, "node_ext": 1 << 63, "node_short": 0xBEEF, "iface": 3}, state)
    assert state.get("seen") == [166, 7, 1 << 63, 0xBEEF, 3]


def test_functions_take_copies_and_give_back_what_is_inout():
    types = """header X { bit<8> a; } struct S { bit<8> n; } register<bit<8>>[3] seen;
    function bit<8> twice(bit<8> n) { return n + n; }
    function void bump(inout S s, S t) { s.n = s.n + 1; s.n = s.n + t.n; }
    function void fresh(out S s) { s.n = s.n + 7; }"""
    text = chain("X x;", GO, types=types, processor="""apply {
        S s; bit<8> n = h.x.a;
        seen[0] = twice(n) + n;
        s.n = 10;
        bump(s, s);
        seen[1] = s.n;
        fresh(s);
        seen[2] = s.n; }""")
    reference = Reference(program(text))
    state = reference.state()
    reference.run(b"\x05", {}, state)
    assert state.get("seen") == [15, 21, 7]     # an `out` one begins at zero


# ---------------------------------------------------------------- tables

ROUTES = """action to(bit<16> port) { m.verdict = DELIVER; m.port = port; }
    action drop() { m.verdict = DROP; }
    table routes { key = { h.x.a : %s; } actions = { to; drop; } size = 8; default_action = %s; %s }
    apply { %s }"""


def route(kind: str, frame: str, entries: str = "", default: str = "drop()", apply: str = "routes.apply();") -> Result:
    text = chain("X x;", GO, types="header X { bit<16> a; }", processor=ROUTES % (kind, default, entries, apply))
    return run(text, frame)


def test_constant_entries_in_order():
    entries = "entries = { (0x1200 &&& 0xff00) : to(1); (0x1234) : to(2); (_) : to(3); }"
    assert [route("ternary", frame, entries).port for frame in ("1234", "1299", "0000")] == [1, 1, 3]


def test_a_miss_takes_the_default_action():
    entries = "entries = { (5) : to(1); }"
    assert route("exact", "0006", entries).reason == "P.drop"
    assert route("exact", "0005", entries).port == 1
    hit = "if (routes.apply().hit) { m.verdict = TRANSMIT; }"
    assert route("exact", "0005", entries, apply=hit).verdict == "TRANSMIT"


# ---------------------------------------------------------------- drawing

def test_a_packet_is_drawn_with_its_offsets():
    text = chain("X x;", GO, "pkt.emit(h.x);", CHOICE)
    drawn = Reference(program(text)).explain(bytes.fromhex("01341200ff"))
    assert drawn.splitlines() == ["x: X, bytes 0 to 2", "     0   k                two (1)",
                                  "     1   v.two            0x1234 (4660)", "payload: bytes 3 to 4", "     3   00 ff"]
    assert "rejected" in Reference(program(text)).explain(b"\x07")
