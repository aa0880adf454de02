"""What is not as the compiler guessed (compiler/lower/guess.py) means what it meant: every bit of the common frames turned, every
length of them, and every way to fill a flow, beside the reference."""
from __future__ import annotations

import pytest

from lpn.compiler.bench_frames import FOLDER, read_frames
from lpn.compiler.build import compile_program
from lpn.compiler.forms import MOST, SMALL, Level
from lpn.compiler.lower.again import repeatable
from lpn.compiler.runner import make_runner
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.loader import load

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


def test_what_is_said_again() -> None:
    """Fields that get their values from registers that stay; not those that a register gives which is assigned, nor arms."""
    program = check(load(FOLDER / "udp_tx.lpn"))
    [hook] = program.hooks
    named = {f"{s.target.base.name}.{s.target.name}" for s in repeatable(program, hook.chain)}
    assert {"ip.src", "ip.dst", "ip.hop_limit", "udp.src", "mac.dst_pan"} <= named
    assert not named & {"mac.seq", "mac.dst_mode"}
