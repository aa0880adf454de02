"""Handlers of timing blocks, the radio and sending: reference, C engine and rbpf do the same, in every context."""
from __future__ import annotations

import re
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import example, program

from lpn.compiler.build import BuildError, compile_program
from lpn.compiler.judge import judged, of_compiled
from lpn.compiler.helpers import BY_NAME
from lpn.compiler.image import Kind
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.hooks import ALLOWED, CONTEXTS
from lpn.lang.reference import Reference
from lpn.lang.source import Source
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.runtime.timeline import Sent

NODE = """
header A { bit<8> kind; bit<8> seq; }
header B { bit<16> length = 2 + sizeof(payload); bit<16> sum = inet_sum(length, payload) deferred; }
header C { bit<8> n; varbit<64> data sized (8 * (bit<16>) n); bit<8> x when (n == 1); }
struct headers { A a; B b; C c; }
error { Quiet }
register<bit<32>> busy;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.a); pkt.extract(h.b); transition accept; } }
parser Tail(packet pkt, out headers h) { state start { pkt.extract(h.a); pkt.extract(h.c); transition accept; } }
processor Forward(inout headers h, inout meta m) {
    action again() { radio.send(Tx(h), 1, 2); }
    apply {
        if (h.a.kind == 1) { radio.send(Tx(h)); }
        else if (h.a.kind == 2) { radio.send(Tx(h), 4, 16); radio.send(Tx(h), 20, 1000); m.verdict = TRANSMIT; }
        else if (h.a.kind == 3) {
            h.a.seq = h.a.seq + 1;
            if (net.send(Tx(h), (bit<16>) h.a.seq, m.iface ++ h.a.seq) == BUSY) { busy = busy + 1; }
            m.verdict = TRANSMIT;
        }
        else if (h.a.kind == 4) {
            h.b.setInvalid();
            for (i in 0..3) { if (radio.send(Tx(h), (bit<16>) i, 3) == BUSY) { again(); } }
            h.b.setValid();
        }
        else if (h.a.kind == 6) { payload.truncate(5); radio.send(Tx(h)); radio.send(Tx(h), 3, 9); m.verdict = TRANSMIT; }
        else { radio.off(); m.verdict = DROP; m.reason = error.Quiet; radio.on(); }
    }
}
processor Short(inout headers h) { apply { if (h.c.n == 1) { h.c.x = 7; } net.send(Tx(h)); } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.a); pkt.emit(h.b); pkt.emit(h.c); }
timing Duty {
    register<bit<32>> wakeups;
    register<bit<32>> last_sfd;
    register<bit<40>> info;
    counter<bit<16>>[4] results;
    every 125 ms jitter 500 us within 300 us {
        radio.on();
        if (radio.cca() == CLEAR) { radio.off(); }
        else { after 10 ms { radio.off(); if (wakeups == 2) { after 3 us { radio.channel(wakeups[7:0]); } } } }
        wakeups = wakeups + 1;
        headers h;
        h.a.setValid();
        h.a.kind = 9;
        h.a.seq = wakeups[7:0];
        if (wakeups[1:0] != 1) { h.b.setValid(); }
        if (wakeups[1:0] == 3) { h.c.setValid(); h.c.n = 0; }
        radio.send(Tx(h));
        h.a.setInvalid();
        if (net.send(Tx(h), 0, 9) == OK) { return; }
        busy = busy + 1;
    }
    on radio.rx_start(frame) within 100 us { last_sfd = frame.time; }
    on radio.rx_done(frame) { info = 8w0 ++ frame.rssi ++ frame.lqi ++ frame.length; headers h; h.a.setValid(); radio.send(Tx(h)); }
    on radio.tx_done(result) { results.count(result); if (result == NOACK) { radio.power(-17); } }
    slot 3 of 10 within 1 ms { radio.on(); radio.channel(26); }
}
protocol Node version 1 {
    on radio.rx_done : Rx -> Forward -> Tx within 4 ms;
    on net.tx(7)     : Tail -> Short;
    timing           : Duty;
}
"""
ENGINES = [(name, fuse) for name in ("engine", "rbpf") for fuse in (False, True)]


@lru_cache
def built(fuse: bool = False):
    return compile_program(program(NODE), fuse=fuse)


@lru_cache
def loaded(name: str, fuse: bool, hook: int):
    bundle = built(fuse).bundle
    return get_engine(name).load(bundle, hook=bundle.hooks[hook])


def test_manifest():
    bundle = built().bundle
    assert [(h.event, h.context, h.selector, h.within, h.period, h.offset, h.jitter, *h.chain) for h in bundle.hooks] == [
        ("radio.rx_done", "radio", (), 4000, 0, 0, 0, "Rx", "Forward", "Tx"),
        ("net.tx", "net", (7,), 0, 0, 0, 0, "Tail", "Short"),
        ("every", "radio", (), 300, 125_000, 0, 500, "Duty.every_125ms"),
        ("radio.rx_start", "isr", (), 100, 0, 0, 0, "Duty.on_rx_start"),
        ("radio.rx_done", "radio", (), 0, 0, 0, 0, "Duty.on_rx_done"),
        ("radio.tx_done", "radio", (), 0, 0, 0, 0, "Duty.on_tx_done"),
        ("slot", "radio", (3, 10), 1000, 100_000, 30_000, 0, "Duty.slot_3_of_10"),
        ("after", "radio", (), 300, 0, 0, 0, "Duty.after_7473"),
        ("after", "radio", (), 300, 0, 0, 0, "Duty.after_c408"),
    ]
    kinds = {m.name: m.kind for m in bundle.modules}
    assert {name for name, kind in kinds.items() if kind == Kind.TIMING} == {h.chain[0] for h in bundle.hooks[2:]}
    assert [slot["name"] for slot in bundle.state_layout] == ["busy", "Duty.wakeups", "Duty.last_sfd", "Duty.info", "Duty.results"]


def test_fused_chains_and_the_same_handlers():
    apart, fused = built().bundle, built(True).bundle
    assert [m.name for m in fused.modules][:2] == ["Node.radio.rx_done", "Node.net.tx.7"]
    assert fused.modules[2:] == apart.modules[-7:]


@pytest.mark.parametrize("fuse", [False, True])
def test_every_container_is_accepted_and_32_bit_clean(fuse):
    for unit, report in judged(of_compiled(built(fuse))):
        assert report.accepted and report.clean32, (unit.name, report.message, report.wide)


def test_rule_31_knows_the_contexts_of_a_container():
    """The same container in an interrupt: the verifier refuses it without knowing the language."""
    from dataclasses import replace
    unit = next(one for one in of_compiled(built()).items if one.name == "Duty.slot_3_of_10")
    assert unit.contexts == ("radio",)
    report = replace(unit, contexts=("radio", "isr")).judge()
    assert (report.accepted, report.rule) == (False, 31) and "helper radio_on is not allowed in context isr; it is allowed in radio, net" in report.message
    assert report.line[1] == next(n for n, line in enumerate(NODE.split("\n"), 1) if "slot 3 of 10" in line)


FRAMES = st.one_of(st.binary(max_size=40), st.builds(lambda kind, seq, rest: bytes([kind, seq]) + (2 + len(rest)).to_bytes(2, "big") + rest,
                                                     st.integers(1, 6), st.integers(0, 255), st.binary(min_size=2, max_size=60)),
                   st.builds(lambda n, rest: bytes([0, 0, n]) + rest, st.integers(0, 9), st.binary(max_size=20)))
META = st.fixed_dictionaries({"event": st.integers(0, 3), "rssi": st.integers(-100, 0), "lqi": st.integers(0, 255),
                              "iface": st.integers(0, 3), "time": st.integers(0, 2**32 - 1)})


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 8), FRAMES, META, st.integers(0, 3)), min_size=1, max_size=12))
def test_engines_agree(runs):
    """Verdict, packet, state, and what was done beyond the node, run after run."""
    checked = program(NODE)
    reference, state = Reference(checked), Reference(checked).state()
    states = {engine: bytes(built().state.size) for engine in ENGINES}
    for index, frame, meta, answers in runs:
        def answer(name, before, bits=answers):
            return bits >> (before & 1) & 1
        hook = checked.hooks[index]
        frame = frame if hook.event in ("radio.rx_done", "net.tx") else b""
        want = reference.run(frame, meta, state, hook, answer)
        for name, fuse in ENGINES:
            one = loaded(name, fuse, index)
            one.set_state(states[name, fuse])
            one.answer = answer
            got = one.run(frame, meta)
            assert (got.verdict, got.reason, got.port, got.out, got.effects) == (want.verdict, want.reason, want.port, want.out, want.effects)
            states[name, fuse] = one.state()
    assert len(set(states.values())) == 1
    layout, raw = built().state, states["engine", False]
    for o in layout.objects:
        cells = state.cells[o.decl] if o.count > 1 else [state.cells[o.decl]]
        assert [layout.read(raw, o.decl, i) for i in range(o.count)] == list(cells)


def ran(index: int, frame: bytes = b"", answer: int = 0, **meta: int):
    hook = program(NODE).hooks[index]
    return Reference(program(NODE)).run(frame, meta, None, hook, lambda name, before: answer).effects


def test_what_is_sent():
    """Equations count the part of the payload that follows; what lies beyond the payload is not there."""
    payload = bytes(range(30))
    frame = bytes([2, 5, 0, 32, 0, 0]) + payload
    first, rest = ran(0, frame)
    assert first[:1] == rest[:1] == ("radio_send",)
    assert first[1][:4] == bytes([2, 5, 0, 18]) and first[1][6:] == payload[4:20]
    assert rest[1][:4] == bytes([2, 5, 0, 12]) and rest[1][6:] == payload[20:]
    words = [int.from_bytes(part, "big") for part in (first[1][2:4], *(payload[at:at + 2] for at in range(4, 20, 2)))]
    assert int.from_bytes(first[1][4:6], "big") == sum(words) % 65535


def test_after_starts_its_hook():
    assert ran(2, answer=1)[:3] == (("radio_on",), ("radio_cca", 1), ("timer_start", 7, 10_000))
    assert ran(2)[:3] == (("radio_on",), ("radio_cca", 0), ("radio_off",))
    assert ran(5, event=2) == (("radio_power", -17),) and ran(5, event=0) == ()


@pytest.mark.parametrize("target", ["xdp", "femto"])
def test_other_targets_have_no_radio(target):
    with pytest.raises(DiagnosticError, match=f"target {target} has no radio"):
        compile_program(program(NODE), target)
    with pytest.raises(BuildError, match="no chain for radio.rx_done|no parser, processor or deparser"):
        compile_program(program("timing T { every 1 s { } }"), target)
    with pytest.raises(DiagnosticError, match=f"target {target} has no buffers"):
        compile_program(example("fragment/reassemble"), target)


def test_contexts_are_those_of_the_helpers():
    """The language says where an operation may run, the helpers' table says it to verifier and engine."""
    names = {"table": "lookup", "after": "timer_start"}
    for operation, contexts in ALLOWED.items():
        helper = BY_NAME[names.get(operation, operation.replace(".", "_"))]
        assert sorted(helper.contexts) == sorted(contexts) and set(contexts) <= set(CONTEXTS)


@pytest.mark.parametrize("name", ["m3", "thumb2"])
def test_the_emulated_core_agrees(name):
    """A frame that sends twice, and handlers that switch, ask, send and start timers, as the reference has them."""
    bundle, checked = built().bundle, program(NODE)
    reference, state = Reference(checked), Reference(checked).state()
    raw = bytes(bundle.state_size)
    for index in (0, 2, 5):
        try:
            one = get_engine(name).load(bundle, hook=bundle.hooks[index])
        except EngineUnavailable as e:
            pytest.skip(str(e))
        one.set_state(raw)
        one.answer = lambda helper, before: before & 1
        frame = bytes([2, 5, 0, 27, 0, 0]) + bytes(range(25)) if index == 0 else b""
        want = reference.run(frame, {"event": 2, "time": 9}, state, checked.hooks[index], lambda helper, before: before & 1)
        got = one.run(frame, {"event": 2, "time": 9})
        assert (got.verdict, got.reason, got.port, got.out, got.effects) == (want.verdict, want.reason, want.port, want.out, want.effects)
        raw = one.state()


WAITS = """
timing T {
    register<bit<8>> ran;
    on radio.rx_done(frame) {
        after frame.time { ran = 1; }
        after frame.time max 700 us { ran = 2; }
        after frame.time == 5 ? 32w9 : frame.time * 2 max 1 s { ran = 3; }
    }
}
"""


@pytest.mark.parametrize("name", ["engine", "rbpf", "m3", "thumb2"])
@pytest.mark.parametrize("level", [0, 2, "s"])
def test_a_computed_delay_has_an_end(name, level):
    """What is more than `max` counts as `max`; without it, as the longest time there is. 0 is no wait."""
    checked = program(WAITS)
    [index] = [i for i, hook in enumerate(checked.hooks) if hook.event == "radio.rx_done"]
    bundle = compile_program(checked, level=level).bundle
    try:
        one = get_engine(name).load(bundle, hook=bundle.hooks[index])
    except EngineUnavailable as e:
        pytest.skip(str(e))
    for time in (0, 1, 5, 350, 699, 700, 701, 500_000, 500_001, 2**31 - 1, 2**31, 2**31 + 3, 2**32 - 1):
        doubled = 9 if time == 5 else time * 2 % 2**32
        want = tuple(("timer_start", i, us) for i, us in zip(range(index + 1, index + 4), (min(time, 2**31 - 1), min(time, 700), min(doubled, 1_000_000))))
        assert Reference(checked).run(b"", {"time": time}, None, checked.hooks[index]).effects == want
        assert one.run(b"", {"time": time}).effects == want


# ---------------------------------------------------------------- the packet of a handler's own

MANY = """header Kind { bit<8> kind; }
header Tlv { bit<8> n; varbit<2040> value sized (8 * (bit<16>) n); }
header Sum { bit<16> sum = ~inet_sum(payload); }
struct headers { Kind kind; Sum sum; Tlv[3] tlv; Kind more; }
register<bit<8>> n;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.kind); pkt.extract(h.tlv.next); transition accept; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.kind); pkt.emit(h.tlv); pkt.emit(h.more); }
timing T {
    every 1 s within 1 ms {
        headers h;
        h.kind.setValid();
        h.kind.kind = n;
        if (n == 1) { h.more.setValid(); h.more.kind = 7; }
        radio.send(Tx(h));
        n = n + 1;
    }
}
protocol Many version 1 { on radio.rx_done : Rx -> Tx; timing : T; }
"""


def test_what_a_handler_never_makes_valid_is_not_emitted():
    """The record is empty at its beginning: nothing is asked of headers that only a parser's packets have."""
    result = compile_program(program(MANY))
    slots = {each.name: len(each.image.text) // 8 for each in result.containers}
    assert slots["T.every_1s"] <= 40 < 100 < slots["Tx"], slots


def test_nodes_agree_on_what_a_handler_sends():
    from lpn.testing import protocol
    p = protocol(Source("many.lpn", MANY))
    node, *_ = p.live("until 2500 ms").values()
    assert [each.frame.hex() for each in node.sorted_records() if isinstance(each, Sent)] == ["00", "0107", "02"]
    p.nodes_agree("until 2500 ms")


SENDS = """
header H { bit<8> kind; }
struct headers { H h; }
deparser Tx(packet pkt, in headers h) {
    pkt.emit(h.h);
}
timing T {
    every 1 s {
        headers h;
        h.h.setValid();
        radio.send(Tx(h));
    }
}
"""


def test_sending_belongs_to_the_line_that_sends():
    """Not to the last line of the deparser, which stands there in line."""
    container = compile_program(program(SENDS)).containers[-1]
    [call] = [slot for slot in range(container.instructions) if container.code.text[8 * slot] == 0x85]
    line = [line for slot, _, line in container.code.lines if slot <= call][-1]
    assert SENDS.splitlines()[line - 1].strip() == "radio.send(Tx(h));"


TURNS = """
header H {{ bit<32> a; }}
struct headers {{ H h; }}
register<bit<32>>[16] cells;
deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.h); pkt.emit(h.h); pkt.emit(h.h); pkt.emit(h.h); }}
function bit<8> find(bit<32> a) {{
    for (k in 0..16) {{ if (cells[k] == a) {{ return (bit<8>) k; }} }}
    return 16;
}}
timing T {{
    every 1 s {{
        headers h;
        h.h.setValid();
        for (i in 0..{turns}) {{ {body} }}
    }}
}}
"""


@pytest.mark.parametrize("body", ["h.h.a = (bit<32>) find(h.h.a);", "h.h.a = i; radio.send(Tx(h));"])
def test_a_loop_is_not_written_out_for_what_its_calls_put_in_line(body):
    """A few more turns take as much code."""
    sizes = [compile_program(program(TURNS.format(body=body, turns=turns))).containers[-1].instructions for turns in (60, 64)]
    assert sizes[1] <= sizes[0] + 2 and sizes[0] < 400, sizes


def test_names_say_what_starts_a_handler():
    """Each its own; none changes when others are written beside it."""
    block = "timing T {{ register<bit<8>> seen; {} }}"
    some = "every 1500 us { after 5 ms { seen = 1; after 5 ms { seen = 2; } } after 6 ms { seen = 3; } } slot 3 of 7 { after 5 ms { } after (bit<32>) seen max 5 ms { } }"
    more = "on radio.tx_done { after 5 ms { } } every 2 s { after 5 ms { after 6 ms { } } } slot 2 of 7 { after 5 ms { } }"
    few, all_ = ([hook.chain[0].name for hook in program(block.format(text)).hooks] for text in (some, more + some + "every 1500 us { after 5 ms { } }"))
    assert len(set(few)) == len(few) == 7 and len(set(all_)) == len(all_) == 16 and set(few) < set(all_)
    assert {"T.every_1500us", "T.slot_3_of_7"} < set(few) and {"T.every_2s", "T.slot_2_of_7", "T.on_tx_done", "T.every_1500us_2"} < set(all_)
    assert all(re.fullmatch(r"T\.after_[0-9a-f]{4}", name) for name in all_ if "after" in name)
