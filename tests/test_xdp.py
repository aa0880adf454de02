"""Target `xdp`: the kernel loads the programs and agrees with the C engine, and so does its bytecode in the C engine."""
from __future__ import annotations

from functools import cache
from pathlib import Path

import corpus
import pytest
from cli import lpnc
from elftools.elf.elffile import ELFFile
from hypothesis import given, strategies as st
from io import BytesIO
from xdp_ours import InOurEngine, memory

from lpn.compiler import xdp
from lpn.compiler.build import compile_program
from lpn.compiler.judge import sealed
from lpn.compiler.kernel_runner import KernelRunner
from lpn.compiler.lower.bounded_tables import Rows
from lpn.compiler.lower.processor import tables
from lpn.compiler.runner import make_runner
from lpn.compiler.target import MAX_PACKET
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.loader import Source, load
from lpn.runtime import kernel
from lpn.runtime.capture import read
from lpn.runtime.engines import EngineError, EngineUnavailable
from lpn.runtime.raw import run_raw

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = {"udp": "udp/udp.lpn", "decompress": "decompress/decompress.lpn"}
TESTED = ["coap_sensor/coap_sensor", "decompress/recompress", "duty_cycle/duty_cycle", "from_p4/router", "from_p4/firewall", "from_p4/source_route",
          "rpl_dio/rpl_dio", "tsch_slot/tsch_slot", "zigbee/zigbee"]      # the others below, with captures
META = {"node_ext": 0x0212_7400_1122_3344, "node_short": 0x1234, "node_pan": 0xABCD, "clock": 7, "iface": 1}


@pytest.fixture
def linux():
    try:
        kernel.check_available()
    except EngineUnavailable as e:
        pytest.skip(str(e))


@cache
def program(name: str):
    return program_of(EXAMPLES / PROGRAMS[name])


def program_of(path: Path):
    return check(load(path))


@cache
def compiled(name: str):
    return compile_program(program(name), "xdp", True)


def given_for(name: str, capture: str):
    if not corpus.here(capture):
        pytest.skip(corpus.ABSENT)
    return None if name == "udp" else control.from_json(corpus.tables_for(capture), program(name))


def agree(runner, name: str, capture: str, limit: int | None) -> None:
    if not corpus.here(capture):
        pytest.skip(corpus.ABSENT)
    engine = make_runner("engine", program(name), given_for(name, capture), fuse=True)
    for n, (frame, _) in enumerate(corpus.frames_of(capture)):
        if n == limit:
            break
        a, b = engine.run(frame.data, META), runner.run(frame.data, META)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), frame.number
    assert engine.program.state() == runner.state()


CASES = [("udp", "riot_udp", None), ("udp", "nhc_udp", 500), ("udp", "trunc", 500), ("decompress", "riot_6lowpan", None),
         ("decompress", "iphc_ucast", 500), ("decompress", "nhc_ext", 500), ("decompress", "trunc", 500)]


@pytest.mark.parametrize("name,capture,limit", CASES)
def test_kernel_agrees(linux, name, capture, limit):
    agree(KernelRunner(compiled(name), given_for(name, capture)), name, capture, limit)


@pytest.mark.parametrize("name,capture,limit", CASES)
def test_our_engine_agrees_on_the_same_bytecode(name, capture, limit):
    agree(InOurEngine(compiled(name), given_for(name, capture)), name, capture, limit)


def test_every_length_of_a_frame():
    """Whatever is cut off, nothing beyond the end is read, and the reason is the same."""
    capture = "riot_udp"
    engine = make_runner("engine", program("udp"), fuse=True)
    runner = InOurEngine(compiled("udp"), None)
    whole = max((f.data for f, _ in corpus.frames_of(capture)), key=len)
    for n in range(len(whole) + 1):
        a, b = engine.run(whole[:n], META), runner.run(whole[:n], META)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), n
        assert runner.action == {"DROP": 1, "DELIVER": 2, "TRANSMIT": 3}[b.verdict]


def test_other_ethernet_types_pass():
    text = compiled("udp").containers[0].code.text
    data = bytes(memory(compiled("udp")).size)
    for packet in (bytes(14), bytes(64), bytes(12) + b"\x86\xdd" + bytes(60), bytes(5)):
        run = run_raw(text, layout="xdp", packet=packet, data=data)
        assert (run.error, run.r0, run.data) == ("ok", xdp.XDP_PASS, data)


LOOP = """
header O { bit<8> k; }
struct headers { O last; }
parser P(packet pkt, out headers h) {
    state start { O o; pkt.extract(o); transition select(o.k) { 0: start; 1: last; default: reject; } }
    state last { pkt.extract(h.last); transition accept; }
}
deparser D(packet pkt, in headers h) { pkt.emit(h.last); }
protocol L version 1 { on radio.rx_done : P -> D; }
"""


def test_a_loop_that_only_the_packet_bounds():
    """Packets that are longer than any of ours pass: in one of 4096 octets a masked cursor would begin again, and the loop never end."""
    made = compile_program(check(load(Source("x.lpn", LOOP))), "xdp", True)
    [(_, report)] = sealed(made)
    assert report.accepted and [loop.bound for loop in report.loops] == [MAX_PACKET + 1], report.message
    runner, reference = InOurEngine(made, None), make_runner("reference", made.program)
    for octets in (0, 1, 2, MAX_PACKET - 2, MAX_PACKET - 1, MAX_PACKET):
        for frame in (bytes(octets), bytes(max(octets - 2, 0)) + b"\1\7"):
            a, b = reference.run(frame[:octets]), runner.run(frame[:octets])
            assert (a.verdict, a.reason, a.out) == (b.verdict, b.reason, b.out), octets
    code = made.containers[0].code
    text, data = code.text, bytes(len(code.data))
    for octets in (MAX_PACKET + 1, 4096, 4097, 9000):
        run = run_raw(text, layout="xdp", packet=xdp.ethernet(bytes(octets)), data=data)
        assert (run.error, run.r0, run.data) == ("ok", xdp.XDP_PASS, data), octets


SUMS = """
header C { bit<16> sum = inet_sum(payload); }
header V { bit<8> n; varbit<2040> v sized (8 * (bit<16>) n); bit<8> k; varbit<24> w sized (8 * (bit<16>) k); }
struct headers { C c; V v; }
parser P(packet pkt, out headers h) { state start { pkt.extract(h.c); pkt.extract(h.v); transition accept; } }
deparser D(packet pkt, in headers h) { pkt.emit(h.c); pkt.emit(h.v); }
protocol S version 1 { on radio.rx_done : P -> D; }
"""


def summed():
    """Sums over octets of all numbers, from even and odd places on, right and wrong; cut, and too long."""
    octets = bytes(n * 89 + 7 & 0xFF for n in range(256))
    for n, k in [*((n, n % 4) for n in range(70)), *((n, k) for n in (0, 1, 15, 16, 17, 100) for k in range(4)), (247, 3), (248, 0), (249, 0), (255, 0)]:
        v = bytes([n]) + octets[:n] + bytes([k]) + octets[9:9 + k]
        for rest in (b"", octets[:n % 5]):
            data = v + rest
            total = sum(data[0::2]) * 256 + sum(data[1::2])
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            yield total.to_bytes(2, "big") + data
            yield (total ^ 0x8000).to_bytes(2, "big") + data
    yield from ((total.to_bytes(2, "big") + v)[:cut] for cut in range(20))


def agree_about_sums(runner, reference):
    verdicts = set()
    for frame in summed():
        a, b = reference.run(frame), runner.run(frame)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), frame.hex()
        verdicts.add(a.reason)
    assert verdicts == {None, "C.sum", "PacketTooShort", "PacketTooLong"}


def sums_program():
    return check(load(Source("x.lpn", SUMS)))


def test_sums_over_octets_in_our_engine():
    made = compile_program(sums_program(), "xdp", True)
    assert all(report.accepted for _, report in sealed(made))
    agree_about_sums(InOurEngine(made, None), make_runner("reference", made.program))


def test_sums_over_octets_in_the_kernel(linux):
    made = sums_program()
    agree_about_sums(make_runner("kernel", made), make_runner("reference", made))


def test_object_has_what_loaders_look_for():
    elf = ELFFile(BytesIO(compiled("udp").containers[0].object))
    sections = {s.name: s for s in elf.iter_sections()}
    assert sections["license"].data() == b"GPL\0"
    assert len(sections[".data"].data()) >= memory(compiled("udp")).size
    assert {r["r_info_type"] for r in sections[".relxdp"].iter_relocations()} == {1}


def test_runner_by_name(linux):
    runner = make_runner("kernel", program("udp"))
    assert runner.run(b"").reason == "PacketTooShort"


TABLES = """
header H { bit<8> a; bit<16> b; bit<32> c; bit<48> d; }
struct headers { H h; }
parser P(packet pkt, out headers h) {
    value_set<bit<8>>(4) odd;
    state start { pkt.extract(h.h); transition select(h.h.a) { odd: reject; _: accept; } }
}
processor T(inout headers h, inout meta m) {
    action gone() { m.verdict = DROP; }
    action port(bit<16> p, bit<32> x) { m.port = p; h.h.c = x; m.verdict = DELIVER; }
    table written {
        key = { h.h.a: exact; h.h.b: lpm; } actions = { gone; port; } size = 4;
        entries = { (1, 0x1200/8): port(7, 9); (1, 0x1234/16): port(8, 10); }
    }
    table compared {
        key = { h.h.a: exact; h.h.c: exact; } actions = { gone; port; }
        const entries = { (2, 1): port(3, 4); (2, 2): port(5, 4); (1, 2): gone; (2, 0x101): port(6, 7); }
    }
    table given { key = { h.h.b: range; h.h.c: ternary; h.h.d: range; } actions = { gone; port; } default_action = port(1, 2); }
    apply { if (!written.apply().hit && !compared.apply().hit) { given.apply(); } }
}
deparser D(packet pkt, in headers h) { pkt.emit(h.h); }
protocol X version 1 { on radio.rx_done : P -> T -> D; }
"""
ENTRIES = {"odd": [9, 11],
           "given": [{"key": ["0x10..0x20", "0x1 &&& 0xff", "_"], "action": "gone", "priority": 2},
                     {"key": ["0x18..0x30", "_", "0x100000000..0x2_0000_0000"], "action": "port", "args": [77, 5], "priority": 1}]}


@cache
def tables_program():
    return check(load(Source("x.lpn", TABLES)))


def agree_about_tables(runner, packets):
    reference = make_runner("reference", tables_program(), control.from_json(ENTRIES, tables_program()))
    for frame in packets:
        a, b = reference.run(frame), runner.run(frame)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), frame.hex()


KEYS = [bytes([a]) + b.to_bytes(2, "big") + c.to_bytes(4, "big") + d.to_bytes(6, "big")
        for a in (1, 2, 3, 9) for b in (0x1234, 0x12FF, 0x0F, 0x10, 0x18, 0x20, 0x21, 0x30, 0x31) for c in (1, 0x101, 2)
        for d in (0xFFFFFFFF, 1 << 32, 2 << 32, (2 << 32) + 1)]


def test_tables_in_the_kernel(linux):
    agree_about_tables(make_runner("kernel", tables_program(), control.from_json(ENTRIES, tables_program())), KEYS)


def test_tables_in_our_engine():
    made = compile_program(tables_program(), "xdp", True)
    agree_about_tables(InOurEngine(made, control.from_json(ENTRIES, tables_program())), KEYS)


def test_more_entries_than_a_table_holds():
    made = compile_program(tables_program(), "xdp", True)
    full = control.Tables(entries={tables(made.program)[1]: control.constant_entries_of(tables(made.program)[1]) * 3})
    with pytest.raises(EngineError, match="table written: 6 entries, it holds 4"):
        InOurEngine(made, full)


def test_a_loader_finds_the_constant_entries():
    made = compile_program(tables_program(), "xdp", True)
    data = made.containers[0].code.data
    assert data[memory(made).rows(1):].startswith(Rows(tables(made.program)[1]).filled(control.constant_entries(made.program)[tables(made.program)[1]]))


@pytest.mark.parametrize("file", TESTED)
def test_packet_tests_in_the_kernel(linux, file):
    """Examples that take frames and ask for nothing that only a node has."""
    done = lpnc("test", EXAMPLES / f"{file}.test", "--engine", "kernel")
    assert done.exit_code == 0, done.output


PARTS = """
header Head { bit<8> kind; bit<8> count; }
header Part {
    bit<8>  id;
    bit<16> length = sizeof(this);
    bit<8>  more  when (id[0:0] == 1);
    bit<16> wide  when (id[1:1] == 1);
    varbit<512> data sized (8 * (bit<16>) id[7:4]);
}
struct headers { Head head; Part a; Part b; Part c; Part d; Part e; Part f; }
parser P(packet pkt, out headers h) {
    state start { pkt.extract(h.head); transition select(h.head.count) { 0: accept; _: a; } }
    state a { pkt.extract(h.a); transition select(h.head.count) { 1: accept; _: b; } }
    state b { pkt.extract(h.b); transition select(h.head.count) { 2: accept; _: c; } }
    state c { pkt.extract(h.c); transition select(h.head.count) { 3: accept; _: d; } }
    state d { pkt.extract(h.d); transition select(h.head.count) { 4: accept; _: e; } }
    state e { pkt.extract(h.e); transition select(h.head.count) { 5: accept; _: f; } }
    state f { pkt.extract(h.f); transition accept; }
}
processor C(inout headers h, inout meta m) {
    apply {
        h.head.kind = 7;
        if (h.head.count == 9) { m.verdict = DELIVER; }
    }
}
deparser D(packet pkt, in headers h) {
    pkt.emit(h.head); pkt.emit(h.a); pkt.emit(h.b); pkt.emit(h.c); pkt.emit(h.d); pkt.emit(h.e); pkt.emit(h.f);
}
protocol Q version 1 { on radio.rx_done : P -> C -> D; }
"""


def part(number: int, data: bytes) -> bytes:
    ends = bytes(1) * (number & 1) + bytes(2) * (number >> 1 & 1) + data
    return bytes([number | len(data) << 4]) + (3 + len(ends)).to_bytes(2, "big") + ends


@cache
def parts():
    made = compile_program(check(load(Source("parts.lpn", PARTS))), "xdp", True)
    return made, InOurEngine(made, None), make_runner("engine", made.program, fuse=True)


@given(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=15)), max_size=7), st.binary(max_size=4), st.integers(0, 9))
def test_headers_are_in_memory_and_what_is_assigned_is_in_the_packet_too(count, found, rest, cut):
    """Parts that may be absent and have any length, in any number: a state for each of the ways they may be would be too many for the kernel.
    What goes up is the packet itself."""
    frame = bytes([1, count]) + b"".join(part(*one) for one in found) + rest
    frame = frame[:max(len(frame) - cut, 0)]
    _, runner, engine = parts()
    a, b = engine.run(frame), runner.run(frame)
    assert (a.verdict, a.reason, a.out, a.packet) == (b.verdict, b.reason, b.out, b.packet)
    assert count != 9 or a.verdict != "DELIVER" or b.packet[0] == 7


def test_absent_parts_in_the_kernel(linux):
    made, _, engine = parts()
    runner = KernelRunner(made, None)
    for number in range(4):
        for count in (0, 1, 6, 9):
            frame = bytes([1, count]) + b"".join(part(number + k & 3, bytes(k)) for k in range(6))
            a, b = engine.run(frame), runner.run(frame)
            assert (a.verdict, a.reason, a.out, a.packet) == (b.verdict, b.reason, b.out, b.packet)


def test_forwarding_in_the_kernel(linux):
    folder = EXAMPLES / "forwarding"
    made = program_of(folder / "forwarding.lpn")
    given = control.load(folder / "tables.json", made)
    reference, runner = make_runner("reference", made, given), make_runner("kernel", made, given)
    for frame in read(next((folder / "captures").glob("*.pcap"))):
        a, b = reference.run(frame.data), runner.run(frame.data)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), frame.number
