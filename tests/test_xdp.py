"""Target `xdp`: the kernel loads the programs and agrees with the C engine, and so does its bytecode in the C engine."""
from __future__ import annotations

from functools import cache
from pathlib import Path

import corpus
import pytest
from elftools.elf.elffile import ELFFile
from io import BytesIO

from lpn.compiler import xdp
from lpn.compiler.build import compile_program
from lpn.compiler.kernel_runner import KernelRunner
from lpn.compiler.runner import make_runner
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.loader import Source, load
from lpn.runtime import kernel
from lpn.runtime.engines import EngineUnavailable, check_meta
from lpn.runtime.memory import CONTEXT
from lpn.runtime.raw import run_raw

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = {"udp": "udp/udp.lpn", "decompress": "decompress/decompress.lpn"}
META = {"node_ext": 0x0212_7400_1122_3344, "node_short": 0x1234, "node_pan": 0xABCD, "clock": 7, "iface": 1}


@pytest.fixture
def linux():
    try:
        kernel.check_available()
    except EngineUnavailable as e:
        pytest.skip(str(e))


@cache
def program(name: str):
    return check(load(EXAMPLES / PROGRAMS[name]))


@cache
def compiled(name: str):
    return compile_program(program(name), "xdp", True)


class InOurEngine(KernelRunner):
    """The same bytecode in the C engine's `xdp` layout."""

    def __init__(self, made, given):
        self.compiled = made
        self.layout = xdp.Memory(made.record_size, made.state.size)
        self.container = made.containers[0]
        self.rebuilds = self.container.lowered.rebuilds
        self.memory = bytearray(self.layout.size)
        state = made.initial_state(given)
        self.memory[self.layout.state:self.layout.state + len(state)] = state

    def state(self):
        return bytes(self.memory[self.layout.state:self.layout.state + self.compiled.state.size])

    def run(self, frame, meta=None):
        self.memory[:self.layout.state] = bytes(self.layout.state)
        for name, value in check_meta(meta).items():
            offset, width = CONTEXT[name]
            self.memory[offset:offset + width] = value.to_bytes(width, "little")
        run = run_raw(self.container.code.text, layout="xdp", packet=xdp.ethernet(frame), data=bytes(self.memory),
                      rodata=self.container.code.rodata)
        assert run.error == "ok"
        self.memory = bytearray(run.data)
        self.action = run.r0
        return self.result(self.memory, run.packet[xdp.ETHERNET_HEADER:])


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
    data = bytes(xdp.Memory(compiled("udp").record_size, compiled("udp").state.size).size)
    for packet in (bytes(14), bytes(64), bytes(12) + b"\x86\xdd" + bytes(60), bytes(5)):
        run = run_raw(text, layout="xdp", packet=packet, data=data)
        assert (run.error, run.r0, run.data) == ("ok", xdp.XDP_PASS, data)


def test_object_has_what_loaders_look_for():
    elf = ELFFile(BytesIO(compiled("udp").containers[0].object))
    sections = {s.name: s for s in elf.iter_sections()}
    assert sections["license"].data() == b"GPL\0"
    assert len(sections[".data"].data()) == xdp.Memory(compiled("udp").record_size, compiled("udp").state.size).size
    assert {r["r_info_type"] for r in sections[".relxdp"].iter_relocations()} == {1}


def test_runner_by_name(linux):
    runner = make_runner("kernel", program("udp"))
    assert runner.run(b"").reason == "PacketTooShort"


def test_tables_are_refused():
    source = """
        header H { bit<8> a; }
        struct headers { H h; }
        parser P(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor T(inout headers h, inout meta m) {
            action gone() { m.verdict = DROP; }
            table t { key = { h.h.a: exact; } actions = { gone; } }
            apply { t.apply(); }
        }
        protocol X version 1 { on radio.rx_done : P -> T; }
    """
    with pytest.raises(DiagnosticError, match="table in an XDP program"):
        compile_program(check(load(Source("x.lpn", source))), "xdp")
