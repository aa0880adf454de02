"""What is not as the compiler guessed (compiler/lower/guess.py) means what it meant: every bit of the common frames turned, every
length of them, and every way to fill a flow, beside the reference."""
from __future__ import annotations

import ipaddress
from functools import cache

import pytest
from hypothesis import given as drawn, settings, strategies as st

from lpn.compiler.bench.frames import FOLDER, read_frames
from lpn.compiler.build import Compiled, compile_program
from lpn.compiler.forms import MOST, SMALL, Level
from lpn.compiler.lower.again import repeatable
from lpn.compiler.runner import make_runner
from lpn.lang import ast, tables as control
from lpn.lang.check import check
from lpn.lang.loader import Source, load

FRAMES = read_frames()
FORMS: dict[str, tuple[bool, Level]] = {"fused": (True, MOST), "short": (True, SMALL), "chain": (False, MOST)}


def close(frame: bytes, headers: int) -> list[bytes]:
    """Frames that differ from this one in a bit of the headers, or end sooner."""
    turned = [frame[:i] + bytes([frame[i] ^ 1 << bit]) + frame[i + 1:] for i in range(headers) for bit in range(8)]
    return turned + [frame[:n] for n in range(0, len(frame))]


@pytest.mark.parametrize("fuse, level", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["decompress", "udp_rx"])
def test_frames_close_to_the_usual(name: str, fuse: bool, level: Level) -> None:
    program = check(load(FOLDER / f"{name}.lpn"))
    seen = set()
    first, second = FRAMES.of(name)[:2]
    given = control.from_json(FRAMES.given(name, first), program)
    compiled = compile_program(program, "lpn", fuse, level)
    engine, reference = (make_runner(kind, program, given, compiled=compiled) for kind in ("engine", "reference"))
    for frame in (first, second, *(FRAMES.of(name)[2:] if level == SMALL else ())):
        for data in [frame.data, *close(frame.data, frame.offset)]:
            got, want = engine.run(data), reference.run(data)
            assert (got.verdict, got.reason, got.port, got.out, got.fault) == (want.verdict, want.reason, want.port, want.out, None), data.hex()
            seen.add((want.verdict, want.reason))
    assert len(seen) > 6


FLOWS = {
    "a context": {"src": "2001:db8::1"}, "both": {"src": "2001:db8::1", "dst": "fd00:1:2:3::9"}, "no link address": {"src": "fe80::1"},
    "a short one": {"src": "fe80::ff:fe00:2"}, "low half": {"dst": "fe80::2:3:4:5"}, "to all": {"dst": "ff02::1a"}, "unspecified": {"src": "::"},
    "dscp": {"dscp": 1}, "ecn": {"ecn": 2}, "label": {"label": 0x54321}, "all of them": {"dscp": 9, "ecn": 1, "label": 7},
    "1 hop": {"hop_limit": 1}, "255 hops": {"hop_limit": 255}, "some hops": {"hop_limit": 63},
    "a port": {"src_port": 0xF000}, "ports": {"src_port": 53, "dst_port": 5683}, "the other port": {"dst_port": 0xF0FF},
    "short source": {"ext_src": False}, "short destination": {"ext_dst": False}, "both short": {"ext_src": False, "ext_dst": False},
    "another interface": {"mac_src": 1}, "another peer": {"mac_dst": 0x1122334455667788},
}


@pytest.mark.parametrize("fuse, level", FORMS.values(), ids=FORMS)
def test_flows_close_to_the_usual(fuse: bool, level: Level) -> None:
    program = check(load(FOLDER / "udp_tx.lpn"))
    compiled, frame = compile_program(program, "lpn", fuse, level), FRAMES.of("udp_tx")[0]
    for change in ({}, *FLOWS.values()):
        for body in (frame.body, frame.body[:3], b""):
            content = FRAMES.given("udp_tx", frame)
            content["flow"] = {**content["flow"], **change}
            given = control.from_json(content, program)
            got, want = (make_runner(name, program, given, compiled=compiled).run(body) for name in ("engine", "reference"))
            assert (got.verdict, got.reason, got.out) == (want.verdict, want.reason, want.out), (change, body)


PREFIXES = ["fe80::", "2001:db8::", "fd00:1:2:3::", "fd00:1:2:4::", "2001:db8:0:1::", "::", "fe80:0:0:1::", "ff02::", "ff05::", "ff3e:40:2001:db8::", "ff0e:0:0:1::"]
LAST = [0, 1, 0x1A, 0xFF_FE00_0002, 0xFF_FE00_0001, 0xFF_FF00_0002, 0x1_0000_0001, 0x2_0003_0004_0005, 0x0222_3344_5566_7788, 0x0102_0304_0506_0708, 0x1234_5678]
ADDRESSES = st.builds(lambda prefix, last: str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | last)), st.sampled_from(PREFIXES), st.sampled_from(LAST))
LINKS = st.sampled_from([0x0022_3344_5566_7788, 0x0302_0304_0506_0708, 2, 1])
PORTS = st.sampled_from([0xF0B0, 0xF0BF, 0xF000, 0xF0FF, 5683, 0xF0B])
ANY_FLOW = st.fixed_dictionaries({}, optional={
    "dscp": st.integers(0, 63), "ecn": st.integers(0, 3), "label": st.sampled_from([0, 1, 0xFFFFF]), "hop_limit": st.sampled_from([0, 1, 2, 64, 255]),
    "src": ADDRESSES, "dst": ADDRESSES, "src_port": PORTS, "dst_port": PORTS, "ext_src": st.booleans(), "ext_dst": st.booleans(), "mac_src": LINKS, "mac_dst": LINKS})


@settings(max_examples=150)
@drawn(ANY_FLOW, st.binary(max_size=20))
def test_any_flow_is_sent_as_it_is_meant(change: dict, body: bytes) -> None:
    """By all forms, each once: what two addresses have in common is one code for both where it is short."""
    content = FRAMES.given("udp_tx", FRAMES.of("udp_tx")[0])
    content["flow"] = {**content["flow"], **change}
    program, forms = sender()
    given = control.from_json(content, program)
    want = make_runner("reference", program, given, compiled=forms[0]).run(body)
    for compiled in forms:
        got = make_runner("engine", program, given, compiled=compiled).run(body)
        assert (got.verdict, got.reason, got.out) == (want.verdict, want.reason, want.out)


@cache
def sender() -> tuple[ast.Program, list[Compiled]]:
    program = check(load(FOLDER / "udp_tx.lpn"))
    return program, [compile_program(program, "lpn", fuse, level) for fuse, level in FORMS.values()]


def test_what_is_said_again() -> None:
    """Fields that get their values from registers that stay; not those that a register gives which is assigned, nor arms."""
    program = check(load(FOLDER / "udp_tx.lpn"))
    [hook] = program.hooks
    named = {f"{s.target.base.name}.{s.target.name}" for s in repeatable(program, hook.chain)}
    assert {"ip.src", "ip.dst", "ip.hop_limit", "udp.src", "mac.dst_pan"} <= named
    assert not named & {"mac.seq", "mac.dst_mode"}


@pytest.mark.parametrize("says", ["last = frame.time;", "note(frame.time);"])
def test_what_an_interrupt_changes_is_not_said_again(says: str) -> None:
    """Between a processor and its deparser, by a function, too."""
    text = f"""header H {{ bit<32> a; bit<32> b; }}
struct headers {{ H h; }}
register<bit<32>> last;
register<bit<32>> mine;
function void note(bit<32> t) {{ last = t; }}
parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h); transition accept; }} }}
processor P(inout headers h, inout meta m) {{ apply {{ h.h.a = last; h.h.b = mine; m.verdict = TRANSMIT; }} }}
deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.h); }}
timing T {{ on radio.rx_start(frame) {{ {says} }} }}
protocol X version 1 {{ on radio.rx_done : Rx -> P -> Tx; timing : T; }}
"""
    program = check(load(Source("interrupted.lpn", text)))
    assert [s.target.name for s in repeatable(program, program.chain)] == ["b"]
