"""Programs that have test files beside them in the tests of `lpnc test`."""
from __future__ import annotations

from cli import TAG

# TAG with what else a test can look at: a table, a struct in a register, a header with a choice, a stack, signs.
MORE = """\
enum bit<8> Mode { none, short = 2, long = 3 }
enum bit<4> Kind { data = 1, ack = 2 }
header Link { Mode mode; choice (mode) { short: le<16>; long: bit<64>; } peer; bit<8> extra when (mode == Mode.long); }
header Item { bit<8> id; }
header Body { word le<16> { Kind kind; bit<12> seq; } bit<8> size = sizeof(payload)[7:0]; bit<16> sum = ~inet_sum(seq_of(kind), payload) deferred; }
function bit<16> seq_of(Kind k) { return (bit<16>) ((bit<4>) k); }
const bit<16> PORT = 0x1234;
const bit<2> OTHER = 2;
struct Peer { bit<16> address; int<8> level; }
register<Peer>[4] peers;
struct headers { Link link; Item[3] items; Body body; }
parser Rx(packet pkt, out headers h) {
    state start { pkt.extract(h.link); transition items; }
    state items {
        transition select(pkt.lookahead<bit<8>>()) { 0x80..0xff: item; default: body; }
    }
    state item { pkt.extract(h.items.next); transition items; }
    state body { pkt.extract(h.body); transition accept; }
}
processor Route(inout headers h, inout meta m) {
    counter<bit<32>> seen;
    register<bit<32>> last;
    action to(bit<16> port) { m.port = port; m.verdict = DELIVER; }
    action back() { h.body.seq = h.body.seq + 1; m.verdict = TRANSMIT; }
    table ports {
        key = { h.body.kind : exact; h.body.seq : ternary; }
        actions = { to; back; }
        size = 4;
    }
    table kinds { key = { h.body.kind : exact; } actions = { to; back; } }
    apply {
        seen.count();
        last = m.time;
        if (!h.body.holds()) { m.verdict = DROP; return; }
        peers[1].address = node.short;
        peers[1].level = -3;
        ports.apply();
    }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.link); pkt.emit(h.items); pkt.emit(h.body); }
protocol More version 1 { on radio.rx_done : Rx -> Route -> Tx; }
"""
TIMED = """\
header Beat { bit<8> number; }
struct headers { Beat beat; }
register<bit<8>> number;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.beat); transition accept; } }
processor Keep(inout headers h, inout meta m) {
    counter<bit<8>> heard;
    apply { heard.count(); m.verdict = CONSUMED; }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.beat); }
timing Heart {
    every 100 ms { headers h; h.beat.setValid(); h.beat.number = number; number = number + 1; radio.send(Tx(h)); }
}
protocol Beats version 1 { on radio.rx_done : Rx -> Keep; timing : Heart; }
"""
ASKS = """\
header Msg { bit<8> length = 2 + (bit<8>) sizeof(payload); bit<8> type; }
header Ask { bit<16> id; }
header Ack { bit<16> id; bit<8> code; }
struct headers { Msg msg; Ask ask; Ack ack; }
parser Rx(packet pkt, out headers h) {
    state start { pkt.extract(h.msg); transition select(h.msg.type) { 1: ask; } }
    state ask { pkt.extract(h.ask); transition accept; }
}
processor Answer(inout headers h, inout meta m) {
    apply { h.msg.type = 2; h.ack.setValid(); h.ack.id = h.ask.id; h.ask.setInvalid(); m.verdict = TRANSMIT; }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.msg); pkt.emit(h.ack); }
protocol Asks version 1 { on radio.rx_done : Rx -> Answer -> Tx; }
"""
#: Gives packets to the radio and to the network stack, from a chain and from a clock.
GIVES = """\
header Note { bit<8> length = sizeof(payload)[7:0]; bit<8> kind; bit<8> sum = (bit<8>) inet_sum(payload) deferred; }
header Item { bit<8> n; }
struct headers { Note note; Item item; Item last; }
parser Rx(packet pkt, out headers h) {
    state start { pkt.extract(h.note); transition select(h.note.kind) { 9: accept; default: item; } }
    state item { pkt.extract(h.item); transition accept; }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.note); pkt.emit(h.item); }
processor Split(inout headers h, inout meta m) {
    apply {
        h.note.kind = 7;
        if (!h.item.isValid()) { m.verdict = TRANSMIT; return; }
        m.verdict = CONSUMED;
        if (h.item.n == 3) { net.send(Tx(h)); return; }
        radio.send(Tx(h), 0, 2);
        radio.send(Tx(h), 2, 2);
    }
}
timing Clock { every 100 ms { headers h; h.note.setValid(); net.send(Tx(h)); } }
protocol Gives version 1 { on radio.rx_done : Rx -> Split -> Tx; timing : Clock; }
"""
#: A checksum that looks at the header in front.
SUMS = """\
header Ip { bit<16> src; bit<16> dst; }
header Udp(Ip ip) { bit<16> length = sizeof(this); bit<16> sum = ~inet_sum(ip.src, length) deferred; }
struct headers { Ip ip; Udp(ip) udp; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.ip); pkt.extract(h.udp); transition accept; } }
processor P(inout headers h, inout meta m) { apply { if (h.udp.holds()) { m.verdict = TRANSMIT; } else { m.verdict = DROP; } } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.ip); pkt.emit(h.udp); }
protocol Sums version 1 { on radio.rx_done : Rx -> P -> Tx; }
"""
PROGRAMS = {"gives": GIVES, "sums": SUMS, "tag": TAG, "more": MORE, "timed": TIMED, "asks": ASKS}
#: Beside `more`: a packet that its parser takes, and entries.
BEGIN = """\
packet whole { link { peer.short = 0x0102 } items[0] { id = 0x85 } body { kind = data, seq = 6 } payload "ab" }
table ports { (Kind.data, _) : back(); }
"""


def each_a_test(cases: list[str]) -> str:
    return "\n".join(f'test "{at}" {{ {steps} }}' for at, steps in enumerate(cases))


def passed(outcome: tuple[int, str]) -> None:
    assert outcome[0] == 0, outcome[1]
