"""Stacks of elements of one size, taken one behind the other, are where the first one is and how many there are; headers that are emitted last as they were taken
last stay where they lie."""
from __future__ import annotations

import pytest
from programs import chain, program

from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.judge import sealed
from lpn.compiler.lower.modules import ProgramLowering
from lpn.compiler.runner import make_runner
from lpn.compiler.target import TARGETS

VARIANTS = (Variant("engine"), Variant("engine", True), Variant("engine", False, SMALL), Variant("engine", True, SMALL), Variant("rbpf", False, SMALL))
TYPES = """
header Eth { bit<48> dst; bit<48> src; bit<16> type; }
header Hop { bit<1> last; bit<15> port; }
header Far { bit<8> more; bit<96> long; bit<24> x; }
header Tail { bit<8> n; varbit<56> v sized (8 * (bit<16>) n[2:0]); }
header Fixed { bit<3> kind = 5; bit<5> x; bit<8> more; }
header Sum { bit<8> more; bit<8> sum = ~more; }
error { Odd }
"""
STATES = """
state start { pkt.extract(h.eth); transition select(h.eth.type) { 0x1234: hops; 0x1235: tail; default: accept; } }
state hops { pkt.extract(h.s.next); transition select(h.s.last.last) { 1: tail; default: hops; } }
state tail { pkt.extract(h.t); transition accept; }
"""
EMITS = "pkt.emit(h.eth); pkt.emit(h.s); pkt.emit(h.t);"
POP = "apply { if (h.s[0].isValid()) { h.eth.dst = 33w0 ++ h.s[0].port; h.s.pop_front(1); } m.verdict = TRANSMIT; }"
SOURCE = ("Eth eth; Hop[8] s; Tail t;", STATES, EMITS, TYPES, POP)


def made(headers: str = SOURCE[0], states: str = STATES, emits: str = EMITS, processor: str = POP):
    return chain(headers, states, emits, TYPES, processor)


def found(text: str) -> tuple[set[str], list[str]]:
    """The stacks that are runs, and the headers that stay before the payload."""
    lowering = ProgramLowering(program(text), TARGETS["lpn"], False)
    return {f.name for f in lowering.runs}, [f.name for f in lowering.lying_behind(list(lowering.program.hooks[0].chain))]


def frames(kind: str = "hop") -> list[bytes]:
    """Every number of elements, and one more than there may be, cut off anywhere near the end."""
    elements = {"hop": lambda last, n: bytes([last << 7 | n, 7 * n]), "far": lambda last, n: bytes([not last, *range(n, n + 15)]),
                "fixed": lambda last, n: bytes([5 << 5 | n, not last])}[kind]
    out = [bytes(range(12)) + b"\x12\x35\x03abc", bytes(12) + b"\x12\x35\x03ab", bytes(14), b"", bytes(13)]
    for n in range(1, 10):
        whole = bytes(range(12)) + b"\x12\x34" + b"".join(elements(i == n - 1, i) for i in range(n)) + b"\x02ab" + b"payload"[:n]
        out += [whole, whole[:-n], whole[:-n - 1], whole[:-n - 3], whole[:-n - 4]]
    return out


RUNS = {                                        # (program, runs, what stays)
    "popped": (made(), {"s"}, ["s", "t"]),
    "popped on some ways, and more": (made(processor="apply { h.s.pop_front(1); if (h.eth.dst == 7) { h.s.pop_front(2); } if (h.s[2].isValid()) { h.s.pop_front(8); } "
                                           "h.s.pop_front(0); m.verdict = h.s[1].isValid() ? TRANSMIT : DELIVER; }"), {"s"}, ["s", "t"]),
    "written where they lie": (made(processor="apply { for (i in 0..8) { if (h.s[i].isValid()) { h.s[i].port = h.s[i].port + 1; } } h.s.pop_front(3); "
                                    "if (h.s[4].isValid()) { h.s[4].port = 1; } m.verdict = TRANSMIT; }"), {"s"}, ["s", "t"]),
    "written in the parser": (made(states=STATES.replace("tail { ", "tail { if (h.s[0].isValid()) { h.s[0].port = h.s[0].port + 3; } ")), {"s"}, ["s", "t"]),
    "counted": (made(processor="apply { m.port = sizeof(h.s); h.eth.src = 32w0 ++ (bit<16>) sizeof(h.s[3]); h.s.pop_front(2); "
                     "h.eth.type = sizeof(h.s) + sizeof(payload); m.verdict = TRANSMIT; }"), {"s"}, ["s", "t"]),
    "cut off": (made(processor="apply { h.s.pop_front(1); payload.truncate(1); m.verdict = TRANSMIT; }"), {"s"}, ["s", "t"]),
    "an element by itself": (made(emits="pkt.emit(h.eth); pkt.emit(h.s[1]); pkt.emit(h.s[0]); pkt.emit(h.t);"), {"s"}, ["t"]),
    "in another order": (made(emits="pkt.emit(h.t); pkt.emit(h.s); pkt.emit(h.eth);"), {"s"}, []),
    "twice": (made(emits="pkt.emit(h.s); pkt.emit(h.eth); pkt.emit(h.s); pkt.emit(h.t);"), {"s"}, ["t"]),
    "with something before it that is gone": (made(processor="apply { h.eth.setInvalid(); h.s.pop_front(1); m.verdict = TRANSMIT; }"), {"s"}, ["s", "t"]),
    "behind the payload's begin": (made(states=STATES.replace("tail { pkt.extract(h.t);", "tail { pkt.extract(h.t); pkt.advance(8);")), {"s"}, []),
    "with something between": (made(states=STATES.replace("hops { pkt.extract(h.s.next);", "hops { pkt.extract(h.s.next); pkt.advance(8);")), set(), ["t"]),
    "with something between on a way": (made(states=STATES.replace("hops { pkt.extract(h.s.next);",
                                                                   "hops { pkt.extract(h.s.next); if (h.s.last.port == 7) { pkt.advance(8); }")), set(), ["t"]),
    "several in a state": (made(states=STATES.replace("hops { ", "hops { pkt.extract(h.s.next); if (h.s.last.port == 7) { pkt.extract(h.s.next); } ")), {"s"}, ["s", "t"]),
    "in a loop": (made(states=STATES.replace("hops { ", "hops { for (i in 0..3) { pkt.extract(h.s.next); } ")), {"s"}, ["s", "t"]),
    "verified": (made(states=STATES.replace("transition select(h.s.last", "verify(h.s.last.port != 263, error.Odd); transition select(h.s.last")), {"s"}, ["s", "t"]),
    "moved up": (made(processor="apply { h.s.push_front(1); m.verdict = TRANSMIT; }"), set(), ["t"]),
    "one made": (made(processor="apply { h.s[3].setValid(); m.verdict = TRANSMIT; }"), set(), ["t"]),
    "one removed": (made(processor="apply { h.s[1].setInvalid(); m.verdict = TRANSMIT; }"), set(), ["t"]),
    "one copied": (made(processor="apply { h.s[1] = h.s[0]; m.verdict = TRANSMIT; }"), set(), ["t"]),
    "followed by one that is removed": (made(processor="apply { h.s.pop_front(1); h.t.setInvalid(); m.verdict = TRANSMIT; }"), {"s"}, []),
    "of any size": (made("Eth eth; Tail[3] s; Tail t;", STATES.replace("h.s.last.last", "h.s.last.n[6:6]"), processor="apply { m.verdict = TRANSMIT; }"), set(), ["eth", "s", "t"][3:]),
}
LONG = {
    "longer than the window": ("far", made("Eth eth; Far[8] s; Tail t;", STATES.replace("last.last) { 1", "last.more) { 0"), processor="""apply {
        if (h.s[7].isValid()) { h.eth.src = 24w0 ++ h.s[7].x; h.s[6].x = 5; } h.s.pop_front(1); if (h.s[5].isValid()) { h.eth.dst = 24w0 ++ h.s[5].x; } m.verdict = TRANSMIT; }""")),
    "popped in turns": ("far", made("Eth eth; Far[5] s; Tail t;", STATES.replace("last.last) { 1", "last.more) { 0"), processor="""apply {
        for (i in 0..70) { if (h.s[1].isValid()) { h.eth.src = h.eth.src + 1; h.s[1].x = h.s[0].x; h.s[0].x = h.s[0].x + 2; h.s.pop_front(1); } } m.verdict = TRANSMIT; }""")),
    "popped more than there are": ("far", made("Eth eth; Far[3] s; Tail t;", STATES.replace("last.last) { 1", "last.more) { 0"), processor="""apply {
        if (h.eth.type == 0x1234) { h.s.pop_front(3); } h.s.pop_front(1); h.s.pop_front(1); if (h.s[0].isValid()) { h.s[0].x = 9; } m.verdict = TRANSMIT; }""")),
    "copied in a loop": ("far", made("Eth eth; Far[8] s; Tail t;", STATES.replace("last.last) { 1", "last.more) { 0"), "pkt.emit(h.s); pkt.emit(h.eth); pkt.emit(h.s[1]);",
                                     "apply { h.s.pop_front(1); m.verdict = TRANSMIT; }")),
    "more than can be emitted": ("far", made("Eth eth; Far[9] s; Far[9] s2; Tail t;", STATES.replace("last.last) { 1", "last.more) { 0"),
                                             "pkt.emit(h.s); pkt.emit(h.s); pkt.emit(h.eth);", "apply { h.s.pop_front(1); m.verdict = TRANSMIT; }")),
    "with a constant": ("fixed", made("Eth eth; Fixed[8] s; Tail t;", STATES.replace("last.last) { 1", "last.more) { 0"), processor=POP.replace("port", "x").replace("33w0", "43w0"))),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_a_run_and_what_stays(name: str) -> None:
    text, runs, stays = RUNS[name]
    if name == "of any size":
        assert found(text)[0] == runs
    else:
        assert found(text) == (runs, stays)
    run_case(Case(Program(text, {}, False), [(frame, {}) for frame in frames()]), VARIANTS)


@pytest.mark.parametrize("name", LONG)
def test_long_ones(name: str) -> None:
    kind, text = LONG[name]
    assert found(text)[0] >= {"s"}
    run_case(Case(Program(text, {}, False), [(frame, {}) for frame in frames(kind)]), VARIANTS)


def test_what_is_computed_of_elements_is_no_run() -> None:
    text = made("Eth eth; Sum[3] s; Tail t;", STATES.replace("last.last) { 1", "last.more) { 0"), processor="apply { h.s.pop_front(1); m.verdict = TRANSMIT; }")
    assert found(text)[0] == set()


SHORT = """
header Eth {{ bit<48> dst; bit<48> src; bit<16> type; }}
header Hop {{ bit<1> last; bit<15> port; }}
struct headers {{ Eth eth; Hop[{}] hops; }}
parser Rx(packet pkt, out headers h) {{
    state start {{ pkt.extract(h.eth); transition select(h.eth.type) {{ 0x1234: hops; default: accept; }} }}
    state hops {{ pkt.extract(h.hops.next); transition select(h.hops.last.last) {{ 1: accept; default: hops; }} }}
}}
processor P(inout headers h, inout meta m) {{
    apply {{
        if (h.hops[0].isValid()) {{
            if (h.hops[0].last == 1) {{ h.eth.type = 0x0800; }}
            h.eth.dst = 33w0 ++ h.hops[0].port;
            h.hops.pop_front(1);
            m.verdict = TRANSMIT;
        }} else {{ m.verdict = DROP; }}
    }}
}}
deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.eth); pkt.emit(h.hops); }}
protocol Pop version 1 {{ on radio.rx_done : Rx -> P -> Tx; }}
"""


def executed(text: str, elements: int, level=2) -> tuple[int, int]:
    """Slots, and instructions executed for a packet of so many elements."""
    checked = program(text)
    compiled = compile_program(checked, fuse=True, level=level)
    [(container, report)] = sealed(compiled)
    assert report.accepted
    packet = bytes(12) + b"\x12\x34" + b"\0\5" * (elements - 1) + b"\x80\7payload"
    result = make_runner("engine", checked, compiled=compiled).run(packet)
    assert result.verdict == "TRANSMIT" and result.out == make_runner("reference", checked).run(packet).out
    return container.instructions, result.insns


def test_an_element_removed_costs_what_it_does_in_c() -> None:
    """Written in C by hand it is 96 slots, and 26 instructions for one element with 6 for each more; each was some 60 and 11, and 203 slots."""
    slots, one = executed(SHORT.format(8), 1)
    assert slots <= 90 and one <= 27
    assert executed(SHORT.format(8), 8)[1] <= one + 13
