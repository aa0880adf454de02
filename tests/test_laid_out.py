"""Headers that a deparser writes first lie in the output buffer from the start, in short code; what is sent is the same."""
from __future__ import annotations

import pytest

from lpn.compiler.bench.frames import FOLDER, read_frames
from lpn.compiler.build import compile_program
from lpn.compiler.forms import MOST, SMALL
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.layout import RecordLayout
from lpn.compiler.lower.laid_out import laid_out
from lpn.compiler.runner import make_runner
from lpn.lang import tables as control
from lpn.lang.derive import representation
from programs import example, program

FRAMES = read_frames()
TEXT = (FOLDER / "decompress.lpn").read_text("utf-8")
EMITS = "    pkt.emit(h.ip);\n    pkt.emit(h.udp);\n"
PROCESSOR = "processor Work(inout headers h, inout meta m) {{ apply {{ {} }} }}\nprotocol"
CASES = {                                       # how the program differs, which headers lie where they are sent
    "as it is": ({}, {"ip": 0, "udp": 40}),
    "one of them": ({EMITS: "    pkt.emit(h.udp);\n"}, {"udp": 0}),
    "behind one in the packet": ({EMITS: "    pkt.emit(h.mac);\n" + EMITS}, {}),
    "by a codec": ({EMITS: "    bit<1> nhc = 1;\n    pkt.emit(h.ip via Iphc(mac_link(h.mac), nhc));\n    pkt.emit(h.udp via UdpNhc());\n"}, {}),
    "not where there is a choice": ({EMITS: "    if (h.ip.hop_limit == 64) { pkt.emit(h.ip); }\n    pkt.emit(h.udp);\n"}, {}),
    "the first one taken away": ({"protocol": PROCESSOR.format("if (h.ip.hop_limit != 255) { h.ip.setInvalid(); }"),
                                 "Rx -> Tx": "Rx -> Work -> Tx"}, {"ip": 0, "udp": 40}),
    "changed": ({"protocol": PROCESSOR.format("h.ip.hop_limit = h.ip.hop_limit - 1; if (h.udp.isValid()) { h.udp.src = h.udp.dst; } h.ip.dst = h.ip.src;"),
                 "Rx -> Tx": "Rx -> Work -> Tx"}, {"ip": 0, "udp": 40}),
    "taken as it is": ({"pkt.extract(h.udp via UdpNhc());": "pkt.extract(h.udp);"}, {"ip": 0}),
    "dropped": ({"protocol": PROCESSOR.format("if (h.ip.src[63:0] == h.ip.dst[63:0] || h.ip.next_header == UDP) { m.verdict = DROP; }"),
                 "Rx -> Tx": "Rx -> Work -> Tx"}, {"ip": 0, "udp": 40}),
}


def made(name: str):
    changes, lie = CASES[name]
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    return program(text), lie


def frames() -> list[bytes]:
    """Those of the benchmark; each with its next header and its ports in line, and cut short."""
    out = []
    for frame in FRAMES.of("decompress"):
        out += [frame.data, frame.data[:-9]]
        at = frame.data.index(b"\x11", 9) if b"\x11" in frame.data[9:] else None
        iphc = next(i for i in range(9, 24) if frame.data[i] >> 5 == 3)
        plain = bytearray(frame.data)
        plain[iphc] &= ~4
        out += [bytes(plain), bytes(plain[:iphc + 2]) + b"\x11" + bytes(plain[iphc + 2:])]
        if at is not None:
            out.append(frame.data[:at] + b"\x3a" + frame.data[at + 1:])
    return out


@pytest.mark.parametrize("name", CASES)
def test_what_is_sent_is_the_same(name: str) -> None:
    given, lie = made(name)
    chain = list(given.hooks[0].chain)
    found = laid_out(given, RecordLayout(given, representation(given)), chain)
    assert {inst.name: at for inst, at in found.items()} == lie
    compiled = compile_program(given, fuse=True, level=SMALL)
    assert len(compiled.containers) == 1
    tables = control.from_json(FRAMES.given("decompress", FRAMES.of("decompress")[0]), given)
    engine, reference = (make_runner(kind, given, tables, compiled=compiled) for kind in ("engine", "reference"))
    sent = set()
    for data in frames():
        got, want = engine.run(data), reference.run(data)
        assert (got.verdict, got.reason, got.out, got.fault) == (want.verdict, want.reason, want.out, None), data.hex()
        sent.add(want.out and len(want.out))
    assert len(sent) > 3


def test_what_is_only_copied_stays_where_it_was_taken() -> None:
    """Each octet would be stored when it is taken, and what is changed once more. One that a codec makes, too, lies in the buffer on all ways."""
    for name, lie in (("duty/duty", []), ("decompress/decompress", ["ip"])):
        given = example(name)
        chain = next(list(hook.chain) for hook in given.hooks if not hook.timed)
        assert [inst.name for inst in laid_out(given, RecordLayout(given, representation(given)), chain)] == lie
    short, fast = (compile_program(example("duty/duty"), fuse=True, level=level).containers[0] for level in (SMALL, MOST))
    assert len(short.code.text) <= len(fast.code.text)


MOVED = """
    header A { bit<16> a; bit<16> c; }
    header B { bit<64> x; bit<32> y; bit<64> z; bit<8> n; }
    codec Ca() <-> A { tag 0b1010101, t:1; t { 0: inline(a, c); 1: a = 5, inline(c); } }
    codec Cb() <-> B { tag 0b11, t:6; t { 0: inline(x, y, z, n); 1: x = 7, y = 32w0x01020304, inline(z, n); } }
    struct headers { A a; B b; }
    parser Rx(packet pkt, out headers h) {
        state start { transition select(pkt.lookahead<bit<8>>()) { 0b1010_1010 &&& 0xfe: first; default: second; } }
        state first { pkt.extract(h.a via Ca()); transition second; }
        state second { pkt.extract(h.b via Cb()); transition accept; }
    }
    processor Work(inout headers h, inout meta m) { apply { if (h.b.n == 9) { h.a.setInvalid(); } if (h.b.n == 8) { h.b.setInvalid(); } } }
    deparser Tx(packet pkt, in headers h) { pkt.emit(h.a); pkt.emit(h.b); }
    protocol Moved version 1 { on radio.rx_done : Rx -> Work -> Tx; }"""


def test_what_is_moved_up_is_not_spoilt() -> None:
    """By less than its own length: a header that is taken away was in front of it, or never came."""
    given = program(MOVED)
    assert list(laid_out(given, RecordLayout(given, representation(given)), list(given.hooks[0].chain)).values()) == [0, 4]
    long, short = b"\xc0" + bytes(range(1, 21)), b"\xc1" + bytes(range(30, 38))
    packets = [a + b + n + rest for a in (b"", b"\xaa\x11\x22\x33\x44", b"\xab\x55\x66") for b in (long, short, b"\xc2")
               for n in (b"\x07", b"\x08", b"\x09", b"") for rest in (b"", b"rest")]
    run_case(Case(Program(MOVED, {}, False), [(packet, {}) for packet in packets]), (Variant("engine", True), Variant("engine", True, SMALL)))


@pytest.mark.parametrize("send", ["radio.send(Own(h))", "net.send(Own(h))"])
def test_what_is_sent_on_the_way_has_the_buffer(send: str) -> None:
    """It was written over headers that lay there."""
    text = MOVED.replace("header A", "header Q { bit<32> q; bit<32> r; }\n    header A").replace("A a; B b; }\n    parser", "A a; B b; Q q; }\n    parser")
    text = text.replace("deparser Tx", "deparser Own(packet pkt, in headers h) { pkt.emit(h.q); }\n    deparser Tx")
    text = text.replace("apply { ", f"apply {{ h.q.setValid(); h.q.q = 0xdeadbeef; h.q.r = 0x01020304; {send}; h.q.setInvalid(); ")
    given = program(text)
    assert laid_out(given, RecordLayout(given, representation(given)), list(given.hooks[0].chain)) == {}
    packets = [a + b"\xc1" + bytes(range(30, 38)) + n for a in (b"", b"\xaa\x11\x22\x33\x44") for n in (b"\x07", b"\x08", b"\x09")]
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets]), (Variant("engine", True), Variant("engine", True, SMALL)))


COPIED = """
    header L { bit<8> n; }
    header H { bit<32> a; bit<32> b; bit<8> c; }
    codec C <-> H {
        tag t:8;
        t { 4: a = (bit<32>) following:16, b = 5; 3: inline(a), b = 7; }
        inline(c);
    }
    struct headers { L l; H x; H y; }
    parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.l); pkt.extract(h.x via C); transition accept; } }
    processor P(inout headers h) { apply { h.y = h.x; h.x.a = 9; if (h.l.n == 1) { h.x = h.y; } } }
    deparser Tx(packet pkt, in headers h) { pkt.emit(h.x); pkt.emit(h.y); }
    protocol R version 1 { on radio.rx_done : Rx -> P -> Tx; }"""


def test_what_is_said_of_what_follows_is_copied() -> None:
    """It lies beside the others until all is known."""
    packets = [bytes.fromhex(text) for text in ("000401123456", "010401123456", "00030102030405", "01030102030405", "000401")]
    run_case(Case(Program(COPIED, {}, False), [(packet, {}) for packet in packets]), (Variant("engine", True), Variant("engine", True, SMALL)))


READ = """
    header A {{ {a} }}
    header B {{ bit<32> x; bit<32> y; bit<16> own = ~inet_sum(x, y); bit<16> z; }}
    header D(B b) {{ bit<32> p; bit<32> q; bit<32> r; {sum} bit<16> n; }}
    codec Ca() <-> A {{ tag 0b1010101, t:1; t {{ 0: inline(a, c); 1: a = 5, c = 7; }} }}
    codec Cb() <-> B {{ tag 0b11, t:6; t {{ 0: inline(x, y, z); 1: x = 7, z = 3, inline(y); }} }}
    codec Cd() <-> D {{ tag 0b11, t:6; t {{ 0: inline(p, q, n), r = 99; 1: p = 7, r = 5, inline(q, n); }} }}
    struct S {{ bit<8> b; }}
    struct headers {{ A a; B b; D(b) d; }}
    parser Rx(packet pkt, out headers h) {{
        state start {{ transition select(pkt.lookahead<bit<8>>()) {{ 0b1010_1010 &&& 0xfe: first; default: second; }} }}
        state first {{ pkt.extract(h.a via Ca()); transition second; }}
        state second {{ pkt.extract(h.b via Cb()); pkt.extract(h.d via Cd()); transition accept; }}
    }}
    processor Work(inout headers h, inout meta m) {{ apply {{ h.b.x = h.b.x + 1; if (h.d.n == 9) {{ h.a.setInvalid(); }} }} }}
    deparser Tx(packet pkt, in headers h) {{ {emits} }}
    protocol Read version 1 {{ on radio.rx_done : Rx -> Work -> Tx; }}"""
SHORT, LONG = ("bit<16> a; bit<16> c;", 4), ("bit<64> a; bit<64> c;", 16)
SUM, EMITS = "bit<16> sum = ~inet_sum(b.x, b.y, p, payload);", ("pkt.emit(h.a);", "pkt.emit(h.b);", "pkt.emit(h.d);")
READS = {                                       # the first header, what the last one computes, what is emitted; where headers lie
    "of itself": (SHORT, "", EMITS, {"a": 0, "b": 4, "d": 16}),
    "by the next one": (SHORT, SUM, EMITS, {"a": 0}),
    "by the next one, far enough": (LONG, SUM, EMITS, {"a": 0, "b": 16, "d": 28}),
    "by one that lies elsewhere": (SHORT, SUM, (*EMITS[:2], "pkt.emit(h.d via Cd());"), {"a": 0}),
    "by a condition": (SHORT, "", (*EMITS[:2], "if (h.b.isValid() && h.b.x == 0x1020305) { pkt.emit(h.d); }"), {"a": 0}),
    "by a function": (SHORT, "", (*EMITS[:2], "if (h.d.isValid() && asked(h)) { pkt.emit(h.d); }"), {"a": 0}),
    "of a struct": (SHORT, "", (*EMITS[:2], "S s; if (s.b == 0) { pkt.emit(h.d); }"), {"a": 0, "b": 4}),
    "and emitted again": (SHORT, "", (*EMITS, EMITS[1]), {"a": 0}),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_read_when_another_was_moved_is_not_spoilt(name: str) -> None:
    (a, octets), computed, emits, lie = READS[name]
    text = READ.format(a=a, sum=computed, emits=" ".join(emits))
    if "asked" in emits[-1]:
        asked = "function bool asked(headers h) { if (h.b.isValid()) { return h.b.x == 0x1020305; } return false; }"
        text = text.replace("deparser", f"{asked}\n    deparser")
    given = program(text)
    found = laid_out(given, RecordLayout(given, representation(given)), list(given.hooks[0].chain))
    assert {inst.name: at for inst, at in found.items()} == lie
    packets = [a + b + d + n + b"rest" for a in (b"", b"\xaa" + bytes(range(50, 50 + octets)), b"\xab") for b in (b"\xc0" + bytes(range(1, 11)), b"\xc1" + bytes(4))
               for d in (b"\xc0" + bytes(range(101, 109)), b"\xc1" + bytes(range(130, 134))) for n in (b"\0\x07", b"\0\x09")]
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets]), (Variant("engine", True), Variant("engine", True, SMALL)))


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_elements_of_a_stack_lie_elsewhere(order: tuple[int, int]) -> None:
    """One of them was taken for the first."""
    text = """
        header A { bit<32> a; bit<32> b; }
        codec Ca() <-> A { tag 0b1010101, t:1; t { 0: inline(a, b); 1: a = 5, inline(b); } }
        struct headers { A[2] s; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.s.next via Ca()); pkt.extract(h.s.next via Ca()); transition accept; } }
        processor Work(inout headers h) { apply { h.s[0].a = h.s[0].a + 1; if (h.s[0].b == 9) { h.s[0].setInvalid(); } } }
        deparser Tx(packet pkt, in headers h) { %s }
        protocol S version 1 { on radio.rx_done : Rx -> Work -> Tx; }""" % " ".join(f"pkt.emit(h.s[{n}]);" for n in order)
    packets = [one + other for one in (b"\xaa" + bytes(range(1, 9)), b"\xab\0\0\0\x09") for other in (b"\xaa" + bytes(range(50, 58)), b"\xab\1\2\3\4rest")]
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets]), (Variant("engine", True), Variant("engine", True, SMALL)))
