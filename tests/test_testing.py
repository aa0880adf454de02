"""`lpn.testing`: what is drawn reaches deep into parsers, shrinks, and the properties find what is wrong."""
from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import Phase, find, given, settings
from programs import ROOT, chain, program

from cli import TAG
from lpn.compiler.fuzz.differential import Case, add_packets, checked, expected
from lpn.compiler.generate.base import Program, RandomChoose
from lpn.compiler.generate.looked_for import interest
from lpn.compiler.runner import ReferenceRunner
from lpn.lang import ast, tables as control
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.reference import Reference, codecs
from lpn.lang.source import Source
from lpn.testing import laws, protocol

EXAMPLES = [path for path in sorted(ROOT.glob("examples/*/*.lpn")) if protocol(path).program.chain]
ECHO = protocol(ROOT / "examples/udp/udp.lpn")
TAGS = protocol(Source("tag.lpn", TAG))


# ---------------------------------------------------------------- strategies

@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_most_packets_are_taken(path):
    """The walk along the parser finds its way, also where a field decides or an octet is looked at ahead; only what a parser
    does with its payload (the options of CoAP) is left to chance."""
    p, seen = protocol(path), Counter()

    @settings(max_examples=60)
    @given(p._walked)
    def draw(drawn):
        seen[p.accepts(drawn.data)] += 1

    draw()
    assert 4 * seen[True] > seen[False], seen


ASKS = {
    "what is looked at ahead": """
        error { NotPage, Far }
        header H { bit<8> page; bit<8> hops; }
        struct headers { H h; }
        parser Rx(packet pkt, out headers h) {
            state start {
                verify(pkt.lookahead<bit<16>>() == 0xf107 && sizeof(payload) < 200, error.NotPage);
                pkt.extract(h.h);
                transition accept;
            }
        }""",
    "how much is left": """
        error { Short }
        header Head { bit<4> kind; bit<12> length; }
        header Cell { le<16> slot; le<16> channel; }
        struct headers { Head head; Cell[3] cells; }
        parser Rx(packet pkt, out headers h) {
            bit<16> left;
            state start {
                pkt.extract(h.head);
                verify(h.head.length >= 2, error.Short);
                left = (bit<16>) h.head.length - 2;
                transition cells;
            }
            state cells max 4 { transition select(left) { 0: accept; 4..65535: cell; } }
            state cell        { pkt.extract(h.cells.next); left = left - 4; transition cells; }
        }""",
    "a field that is computed": """
        error { Short }
        header Head { bit<16> from; bit<16> length = sizeof(payload); }
        header Body { bit<16> what; }
        struct headers { Head head; Body body; }
        parser Rx(packet pkt, out headers h) {
            state start {
                pkt.extract(h.head);
                verify(h.head.length >= 2, error.Short);
                pkt.extract(h.body);
                transition accept;
            }
        }""",
    "a field that another one bounds": """
        error { Index, Kind }
        enum bit<2> Kind { data = 0, command = 1, other = 3 }
        header Route { Kind kind; bit<6> _; bit<8> count; bit<8> index; }
        struct headers { Route route; }
        parser Rx(packet pkt, out headers h) {
            state start {
                pkt.extract(h.route);
                verify(h.route.index < h.route.count, error.Index);
                verify(h.route.kind != Kind.other, error.Kind);
                transition accept;
            }
        }""",
    "a header of a state that comes later": """
        header Item { bit<8> then; }
        struct headers { Item first; }
        parser Rx(packet pkt, out headers h) {
            bit<8> kind;
            state start { pkt.extract(h.first); kind = h.first.then; transition next; }
            state next max 4 { transition select(kind) { 59: accept; 0..3: item; } }
            state item {
                Item one;
                pkt.extract(one);
                kind = one.then;
                transition next;
            }
        }""",
    "what a function makes of a header": """
        error { Large }
        header Number { bit<8> info in { 0..27 }; bit<32> four when (info == 26); }
        function bit<32> value(Number n) { return n.info < 24 ? (bit<32>) n.info : n.four; }
        struct headers { Number n; Number m; }
        parser Rx(packet pkt, out headers h) {
            state start {
                pkt.extract(h.n);
                verify(value(h.n) <= 4, error.Large);
                pkt.extract(h.m);
                verify(value(h.m) > 8, error.Large);
                transition accept;
            }
        }"""}


def mostly_taken(text: str) -> None:
    """Of the packets that are drawn its parser takes most."""
    p, seen = protocol(Source("asks.lpn", text)), Counter()

    @settings(max_examples=60, derandomize=True, database=None)
    @given(p._walked)
    def draw(drawn):
        seen[p.accepts(drawn.data)] += 1

    draw()
    assert seen[True] > 5 * seen[False], seen


@pytest.mark.parametrize("asked", ASKS)
def test_what_a_parser_asks_for_is_drawn(asked):
    mostly_taken(ASKS[asked])


# What a processor asks for before it transmits; what is given to the program, and to the node.
BEHIND = {
    "a constant": ("h.x.dst == ip6\"2001:db8::2\"", {}, {}),
    "a register": ("h.x.dst == address", {"address": "2001:db8::2"}, {}),
    "a cell's field": ("h.x.dst == peers[1].address && h.x.port == peers[1].port", {"peers": {"1": {"address": "2001:db8::2", "port": 61616}}}, {}),
    "a variable of it": ("mine == h.x.dst", {"address": "2001:db8::2"}, {}),
    "what a function compares": ("near(h.x.port)", {}, {}),
    "two halves": ("h.x.dst[127:64] == 0x20010db800000000 && h.x.dst[63:0] == node.ext", {}, {"node_ext": 0x0212_4b00_0102_0304}),
    "two that are put together": ("h.x.port ++ h.x.kind == 0x123456", {}, {}),
    "bits of a field": ("(h.x.port & 0xfff0) == 0x1230", {}, {}),
    "one of a set": ("h.x.some == 700", {}, {}),
    "a table's entry": ("routes.apply().hit", {"routes": [{"key": ["2001:db8::/32"], "action": "pass"}]}, {}),
}


def behind(cond, tables, node):
    return protocol(program(chain("X x;", "state start { pkt.extract(h.x); transition accept; }", "pkt.emit(h.x);", """
        header X { bit<8> kind; bit<128> dst; bit<16> port; bit<16> some in { 1..1000 }; }
        struct Peer { bit<128> address; bit<16> port; }
        register<bit<128>> address;
        register<Peer>[4] peers;
        function bool near(bit<16> port) { return port == 4000 + 1; }
        """, """
        action pass() { }
        table routes { key = { h.x.dst : lpm; } actions = { pass; } size = 4; default_action = pass(); }
        apply { bit<128> mine = address; if (%s) { m.verdict = TRANSMIT; } else { m.verdict = DROP; } }""" % cond)), tables, node)


@pytest.mark.parametrize("asked", BEHIND)
def test_what_is_asked_for_behind_the_parser_is_drawn(asked):
    p, seen = behind(*BEHIND[asked]), Counter()

    @settings(max_examples=100, derandomize=True, database=None)
    @given(p.valid())
    def draw(packet):
        seen[p.run(packet, "reference").verdict] += 1

    draw()
    assert seen["TRANSMIT"] >= 5, seen


def test_what_a_value_set_holds_is_drawn():
    p, seen = protocol(program(chain("X x;", """value_set<bit<16>>[4] ports;
        state start { pkt.extract(h.x); transition select(h.x.port) { ports: accept; default: reject; } }""", types="header X { bit<16> port; }")),
                       {"ports": [61616]}), Counter()

    @settings(max_examples=40, derandomize=True, database=None)
    @given(p._walked)
    def draw(drawn):
        seen[p.accepts(drawn.data)] += 1

    draw()
    assert seen[True] > seen[False], seen


# What a select looks at ahead, and the keys of the only case that leads to the header.
LOOKS = {
    "two octets, one behind the other": ("pkt.lookahead<bit<24>>()[23:16], pkt.lookahead<bit<24>>()[15:8]", "(0x50, 0x34)"),
    "two widths": ("pkt.lookahead<bit<8>>(), pkt.lookahead<bit<16>>()[7:0]", "(0x50, 0x34)"),
    "three, one of them anything": ("pkt.lookahead<bit<8>>(), pkt.lookahead<bit<16>>()[7:0], pkt.lookahead<bit<24>>()[7:0]", "(0x50, _, 0x01)"),
    "a part of an octet, and all of them": ("pkt.lookahead<bit<4>>(), pkt.lookahead<bit<32>>()", "(5, 0x50000000 &&& 0xf0ffffff)"),
    "the last octet first": ("pkt.lookahead<bit<8>>(), pkt.lookahead<le<16>>()", "(0x50, 0x3450)"),
    "a number below zero": ("pkt.lookahead<bit<8>>(), pkt.lookahead<int<16>>()", "(0xff, -2)"),
    "a range that another key narrows": ("pkt.lookahead<bit<16>>(), pkt.lookahead<bit<8>>()", "(0x4000..0x5034, 0x50)"),
    "two masks of an octet": ("pkt.lookahead<bit<8>>(), pkt.lookahead<bit<16>>()", "(0x50 &&& 0xf0, 0x0234 &&& 0x0fff)"),
    "bits under a mask": ("pkt.lookahead<bit<16>>() & 0xff", "0x34"),
    "bits under a mask, and other ones": ("0x0fff & pkt.lookahead<bit<16>>(), pkt.lookahead<bit<8>>() & 0xf0", "(0x0234, 0x50)"),
    "what is cast": ("(bit<32>) pkt.lookahead<bit<16>>(), (bit<4>) pkt.lookahead<bit<8>>()", "(0x5034, 0)"),
    "a field and what comes behind it": ("h.first.kind, pkt.lookahead<bit<8>>(), pkt.lookahead<bit<16>>()[7:0]", "(7, 0x50, 0x34)"),
    "what another select has looked at": (None, None)}


def looking(looked, keys):
    states = f"transition select({looked}) {{ {keys}: a; default: accept; }} }}" if looked else """
        transition select(pkt.lookahead<bit<8>>()) { 0x50: more; default: accept; } }
        state more { transition select(pkt.lookahead<bit<8>>()[3:0], pkt.lookahead<bit<16>>()) { (0, 0x5034): a; default: accept; } }"""
    return Source("looks.lpn", """
        header First { bit<8> kind; }
        header A { bit<8> x; bit<8> y; bit<8> z; bit<8> n; }
        struct headers { First first; A a; }
        parser Rx(packet pkt, out headers h) {
            state start { pkt.extract(h.first); %s
            state a { pkt.extract(h.a); transition accept; }
        }
        processor P(inout headers h, inout meta m) { apply { m.verdict = h.a.isValid() ? DELIVER : CONSUMED; } }
        """ % states)


@pytest.mark.parametrize("looked", LOOKS)
def test_a_case_of_a_select_that_looks_ahead_is_taken(looked):
    p, seen = protocol(looking(*LOOKS[looked])), Counter()

    @settings(max_examples=60, derandomize=True, database=None)
    @given(p.valid())
    def draw(packet):
        seen[p.run(packet, "reference").verdict] += 1

    draw()
    assert seen["DELIVER"] >= 20 and seen["CONSUMED"] >= 5, seen


def test_what_a_condition_compares_ahead_is_drawn_at_once():
    mostly_taken(ASKS["what is looked at ahead"].replace(
        "pkt.lookahead<bit<16>>() == 0xf107", "pkt.lookahead<bit<8>>() == 0xf1 && 7 == pkt.lookahead<bit<16>>() & 0xff"))


def test_a_field_in_line_is_what_a_register_holds():
    """A compressed header has the row that can say it, and what is looked at ahead stays when a header behind it is drawn again."""
    p, seen = protocol(Source("inline.lpn", """
        import std.sixlowpan;
        error { NotUdp, Zero }
        struct headers { Mhr mac; Ipv6 ip; Udp(ip) udp; }
        register<bit<128>> address;
        parser Rx(packet pkt, out headers h) {
            bit<1> nhc;
            state start {
                pkt.extract(h.mac);
                verify(h.mac.frame_type == FrameType.DATA && h.mac.security == 0, error.NotData);
                pkt.extract(h.ip via Iphc(mac_link(h.mac), nhc));
                transition select(nhc, h.ip.next_header) { (1, UDP): udp; default: reject(error.NotUdp); }
            }
            state udp {
                pkt.extract(h.udp via UdpNhc());
                verify(h.udp.src != 0 && h.udp.dst > 1000, error.Zero);
                transition accept;
            }
        }
        processor P(inout headers h, inout meta m) { apply { m.verdict = h.ip.dst == address ? TRANSMIT : DROP; } }
        """), {"address": "2001:db8::2"}), Counter()

    @settings(max_examples=400, derandomize=True, database=None)
    @given(p._walked)
    def draw(drawn):
        seen[p.run(drawn.data, "reference").verdict] += 1
        seen[p.accepts(drawn.data)] += 1

    draw()
    assert seen["TRANSMIT"] >= 20 and seen[True] > 2 * seen[False], seen


@settings(max_examples=40)
@given(ECHO.valid())
def test_valid_packets_are_taken(packet):
    assert ECHO.accepts(packet)


def test_every_verdict_and_most_reasons_are_met():
    seen: Counter = Counter()

    @settings(max_examples=300)
    @given(ECHO.packets())
    def draw(packet):
        result = ECHO.run(packet, "reference")
        seen[result.reason or result.verdict] += 1

    draw()
    assert {"DELIVER", "TRANSMIT", "BadChecksum", "PacketTooShort", "NotData"} <= set(seen) and len(seen) > 5, seen


def test_packets_shrink_to_plain_ones():
    """Of all echo requests, one with as little in it as there can be."""
    small = find(ECHO.packets(), lambda packet: ECHO.run(packet, "reference").verdict == "TRANSMIT",
                 settings=settings(max_examples=300, derandomize=True, database=None))
    assert len(small) <= 52 and sum(octet != 0 for octet in small) <= 16, small.hex()


def test_constants_of_the_program_are_what_is_tried():
    fields: dict[str, set[int]] = {}
    for place, numbers in interest(ECHO.program.decls).items():
        fields.setdefault(getattr(place, "name", ""), set()).update(numbers)
    assert {7} <= fields["dst"] and {17} <= fields["next_header"] and {1} <= fields["frame_type"]


@given(TAGS.values("tag"))
def test_values_of_a_header(values):
    assert set(values) == {"kind", "port"} and values["kind"] < 256


ROUTES = """
    action to(bit<16> port) { m.port = port; m.verdict = DELIVER; }
    action drop() { m.verdict = DROP; }
    table exactly { key = { h.x.kind : exact; } actions = { to; drop; } size = 4; }
    table longest { key = { h.x.dst : lpm; } actions = { to; drop; } size = 4; }
    table first { key = { h.x.dst : ternary; h.x.port : range; } actions = { to; drop; } size = 4; default_action = to(9); }
    register<bit<16>>[3] last;
    apply { if (!exactly.apply().hit) { if (!longest.apply().hit) { first.apply(); } } last[1] = h.x.port; }
"""
ROUTER = protocol(program(chain("X x;", "state start { pkt.extract(h.x); transition accept; }",
                                types="header X { bit<8> kind; bit<128> dst; bit<16> port; }", processor=ROUTES)))


@settings(max_examples=40)
@given(ROUTER.given(registers=True), ROUTER.packets())
def test_tables_are_ones_that_a_file_could_have(tables, packet):
    control.from_json(tables, ROUTER.program)
    ROUTER.engines_agree(packet, tables=tables)


# ---------------------------------------------------------------- properties find what is wrong

def test_engines_that_differ_are_told_apart(monkeypatch):
    real = ReferenceRunner.run
    monkeypatch.setattr(ReferenceRunner, "run", lambda self, frame, meta=None: type(r := real(self, frame, meta))(
        r.verdict, r.reason, r.port and r.port ^ 1, r.out, None))
    TAGS.engines_agree(b"\1\0\0")
    with pytest.raises(AssertionError, match="packet 020007\nengine: DELIVER 7\nreference: DELIVER 6"):
        TAGS.engines_agree([b"\1\0\0", b"\2\0\7"])


def test_a_state_that_differs_is_told(monkeypatch):
    monkeypatch.setattr(ReferenceRunner, "cells", lambda self: {decl: [{"": 5}] * 2 for decl in self.state.cells})
    with pytest.raises(AssertionError, match="Work.base after 020007"):
        TAGS.engines_agree(b"\2\0\7")


def test_a_name_that_nothing_has_is_told():
    with pytest.raises(ValueError, match="there is no 'short' beside a packet: there are .*node_short"):
        protocol(ROOT / "examples/udp/udp.lpn", node={"short": 2})
    with pytest.raises(ValueError, match="there is no 'rsi'"):
        TAGS.run(b"", meta={"rsi": 200})


SENSOR = Source("sensor.lpn", """
extern bit<16> battery(bit<8> cell) cost 400 in { radio, net };
header H { bit<8> cell; bit<16> level; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { h.h.level = battery(h.h.cell); m.verdict = TRANSMIT; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
""")


def test_functions_of_the_node_answer():
    for externs, level in (({}, "0000"), ({"battery": 2900}, "0b54"), ({"battery": lambda cell: 7 * cell}, "000e")):
        p = protocol(SENSOR, externs=externs)
        for fuse in (False, True):
            assert p.run(b"\2\0\0", fuse=fuse).out == p.run(b"\2\0\0", "reference").out == bytes.fromhex("02" + level)
        p.engines_agree([b"\1\0\0", b"\2\0\0"])
        for fuse in (False, True):
            p.bounds_hold(b"\1\0\0", 3, fuse=fuse)
    with pytest.raises(ValueError, match="no function 'batery' of the node's own: there are battery"):
        protocol(SENSOR, externs={"batery": 1})


TWO = Source("two.lpn", """
header A { bit<8> a; }
header B { bit<8> kind in { 7 }; bit<8> n; bit<128> rest; }
struct headers { A a; B b; }
parser Short(packet pkt, out headers h) { state start { pkt.extract(h.a); transition accept; } }
parser Long(packet pkt, out headers h) { state start { pkt.extract(h.b); transition accept; } }
processor P(inout headers h, inout meta m) { apply { if (h.b.isValid()) { h.b.n = h.b.n + 1; } m.verdict = TRANSMIT; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.a); pkt.emit(h.b); }
protocol Two version 1 { on net.tx(41) : Long -> P -> Tx; on radio.rx_done : Short -> P -> Tx; }
""")


def test_packets_of_another_hook():
    received, sent = protocol(TWO), protocol(TWO, hook="net.tx.41")
    assert find(received.valid(), lambda _: True) == b"\0" and find(sent.valid(), lambda _: True) == b"\7" + bytes(17)
    for fuse in (False, True):
        for engine in ("engine", "reference"):
            assert received.run(b"\3", engine, fuse=fuse).out == b"\3" and sent.run(b"\7" + bytes(17), engine, fuse=fuse).out == b"\7\1" + bytes(16)
        assert sent.most_instructions(fuse) > received.most_instructions(fuse)
    assert sent.rebuilt(b"\7" + bytes(17)) == b"\7" + bytes(17)
    assert sent.accepts(b"\7" + bytes(17)) and not sent.accepts(b"\3") and received.accepts(b"\3")
    sent.engines_agree([b"\7" + bytes(17), b"\3"])
    with pytest.raises(ValueError, match="no chain takes 'net.rx.41': chains take net.tx.41, radio.rx_done"):
        protocol(TWO, hook="net.rx.41")
    alone = protocol(Source("one.lpn", TWO.text.replace(" on radio.rx_done : Short -> P -> Tx;", "")))
    assert find(alone.valid(), lambda _: True) == b"\7" + bytes(17) and alone.run(b"\3").reason == "PacketTooShort"


def test_packets_for_each_hook_are_drawn_along_its_own_parser():
    case = add_packets(Case(Program(TWO.text)), RandomChoose(1), 60)
    results = expected(checked(TWO.text), case)[0]
    taken = {hook: [r.verdict for (_, meta), r in zip(case.packets, results) if meta.get("hook") == hook] for hook in (None, 0)}
    assert all(verdicts.count("TRANSMIT") > len(verdicts) // 2 > 3 for verdicts in taken.values())


def test_drops_are_told():
    TAGS.never_drops(b"\2\0\7")
    TAGS.never_drops(b"\0\0\7", {"BadKind"})
    with pytest.raises(AssertionError, match="packet 000007 is dropped: BadKind"):
        TAGS.never_drops(b"\0\0\7")


def test_bounds_that_do_not_hold_are_told(monkeypatch):
    TAGS.bounds_hold(b"\3\0\0abc", 6, {"Work.base": range(1)})
    with pytest.raises(AssertionError, match="becomes 6 octets, at most 5 are allowed"):
        TAGS.bounds_hold(b"\3\0\0abc", 5)
    with pytest.raises(AssertionError, match=r"Work.base\[0\] is 0, not in range\(1, 3\)"):
        TAGS.bounds_hold(b"\3\0\0abc", 9, {"Work.base": range(1, 3)})
    monkeypatch.setitem(TAGS._bounds, False, 3)
    with pytest.raises(AssertionError, match="the verifier's bound is 3"):
        TAGS.bounds_hold(b"\3\0\0abc")


def test_what_does_not_come_back_is_told():
    both = "state start { pkt.extract(h.a); pkt.extract(h.b); transition accept; }"
    types = "header A { bit<8> x; } header B { bit<16> y; }"
    whole, half = (protocol(program(chain("A a; B b;", both, emits, types))) for emits in ("pkt.emit(h.a); pkt.emit(h.b);", "pkt.emit(h.b);"))
    whole.round_trip(b"\1\2\3\4")
    half.round_trip(b"\1\2")                    # the parser rejects it
    with pytest.raises(AssertionError, match="packet 01020304 comes back as 020304"):
        half.round_trip(b"\1\2\3\4")
    with pytest.raises(AssertionError, match="a.x: 1, then 2"):
        half.round_trip(b"\1\2\3\4", exact=False)


def test_faults_are_told(monkeypatch):
    TAGS.no_crash([b"", b"\1", b"\3\0\0"])
    monkeypatch.setattr(ReferenceRunner, "run", lambda self, frame, meta=None: type("R", (), {"fault": "module Rx: out of bounds", "reason": None}))
    with pytest.raises(AssertionError, match="packet 01: module Rx: out of bounds"):
        TAGS.no_crash(b"\1", engine="reference")


# ---------------------------------------------------------------- laws find what is wrong

@pytest.fixture
def unshrunk():
    """Failures are found and not made small."""
    settings.register_profile("unshrunk", settings.default, phases=[Phase.generate])
    before = settings.get_current_profile_name()
    settings.load_profile("unshrunk")
    yield
    settings.load_profile(before)


def broken(file: str, name: str) -> list[str]:
    """The laws of a header or codec that do not hold now."""
    out = []
    for law in laws(ROOT / "stdlib" / file, examples=60):
        if law.name == name:
            try:
                law.check()
            except AssertionError:
                out.append(law.statement)
    return out


def test_a_compressor_that_takes_a_wrong_row_breaks_the_law(monkeypatch, unshrunk):
    assert broken("sixlowpan.lpn", "UdpNhc") == []
    real = codecs.Compress.holds
    monkeypatch.setattr(codecs.Compress, "holds", lambda self, item: real(self, item) or isinstance(item, ast.RowAssign))
    assert broken("sixlowpan.lpn", "UdpNhc") == ["expands what it compressed", "compresses what it expanded"]


def test_a_header_that_loses_something_breaks_the_law(monkeypatch, unshrunk):
    real = Reference.run

    def forgets(self, frame, meta=None, state=None):
        result = real(self, frame, meta, state)
        return result if result.out is None else replace(result, out=result.out[:-1] + b"\0")
    monkeypatch.setattr(Reference, "run", forgets)
    assert len(broken("udp.lpn", "Udp")) == 3


WHOLE = """header One { bit<8> a; bit<8> b = a + 1; }
codec Short() <-> One { tag kind:1, 0b0000000; kind { 0: a = 0; 1: inline(a); } }
struct headers { One one; }
persistent register<bit<16>> seen;
migrate version 1 { register<bit<8>> seen; seen = (bit<16>) old.seen; }
parser LawTakes(packet pkt, out headers h) { state start { pkt.extract(h.one); transition accept; } }
processor P(inout headers h, inout meta m) { apply { seen = seen + 1; m.verdict = DELIVER; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.one); }
const bit<8> LawHeaders = 1;
protocol Law version 2 { on radio.rx_done : LawTakes -> P -> Tx; }
"""


def test_laws_of_a_whole_program(tmp_path):
    """Its own struct of headers, modules and protocol stay out of the way, also with the names that a law's have."""
    (tmp_path / "a-whole.lpn").write_text(WHOLE)
    found = laws(tmp_path / "a-whole.lpn", examples=10)
    assert [str(law) for law in found] == [
        "One is emitted as it came", "One takes what its description allows", "One has equations that give what they gave",
        "Short expands what it compressed", "Short compresses what it expanded"]
    for law in found:
        law.check()


def test_a_broken_law_of_a_codec_is_told_in_few_lines(tmp_path, monkeypatch):
    """A row that was drawn is shown as it is written, not as all that it leads to."""
    (tmp_path / "short.lpn").write_text(WHOLE)
    monkeypatch.setattr(codecs.Compress, "compress", lambda self: b"\x80\xff")
    law = next(law for law in laws(tmp_path / "short.lpn", examples=60) if law.statement == "compresses what it expanded")
    with pytest.raises(AssertionError, match="which expands to another header") as failed:
        law.check()
    told = "\n".join([str(failed.value), *failed.value.__notes__])
    assert "short.lpn:2:" in told and ": Row at " in told and "Source(" not in told and len(told) < 2000


# ---------------------------------------------------------------- around it

def test_a_program_that_is_none_is_a_diagnostic(tmp_path):
    (tmp_path / "bad.lpn").write_text("header H { bit<8> a }")
    with pytest.raises(DiagnosticError):
        protocol(tmp_path / "bad.lpn")
    with pytest.raises(DiagnosticError, match="cannot read"):
        protocol("nowhere.lpn")


def test_files_are_seen_from_the_caller(tmp_path):
    (tmp_path / "tag.lpn").write_text(TAG)
    (tmp_path / "use.py").write_text("from lpn.testing import protocol\nprint(protocol('tag.lpn').run(b'\\2\\0\\7').port)\n")
    assert subprocess.run([sys.executable, tmp_path / "use.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "7\n"


def test_without_hypothesis_it_says_so():
    done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['hypothesis'] = None; import lpn.testing"],
                          capture_output=True, text=True, check=False)
    assert "ImportError: lpn.testing needs Hypothesis: install lpn[test], or hypothesis itself" in done.stderr


def test_what_is_held_is_read_by_name():
    p = protocol(Source("held.lpn", """
        header H { bit<8> a; }
        struct headers { H h; }
        struct Last { int<8> a; bool odd; }
        register<Last> last;
        register<bit<8>>[4] seen;
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) {
            counter<bit<32>> all;
            apply { all.count(); last = { (int<8>) h.h.a, h.h.a[0:0] == 1 }; seen[h.h.a[1:0]] = h.h.a; }
        }
        protocol Held version 1 { on radio.rx_done : Rx -> P; }"""))
    held = {"registers": {"last": {"a": -1, "odd": True}, "seen": {"2": 6, "3": 255}}, "counters": {"P.all": 2}, "meters": {}}
    for engine in ("engine", "reference"):
        runner = p.runner(engine)
        for octet in (6, 255):
            runner.run(bytes([octet]))
        assert p.held(runner) == held
    for node in p.live("1 ms air 06\n10 ms air ff\n").values():
        assert p.held(node) == held
