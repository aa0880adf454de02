"""How long hooks wait for one another: no run on the C node begins later than the bound, and energy budgets count it."""
from __future__ import annotations

import json
import math
import os

import pytest
from cli import lpnc
from hypothesis import HealthCheck, assume, event, given, settings, strategies as st
from node_programs import native, text
from programs import program

from lpn.compiler.asm import assemble
from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Hook
from lpn.compiler.deadlines import declared
from lpn.compiler.judge import seal
from lpn.compiler.waits import SHORTEST_FRAME_US, Start, Waits, interrupted, interrupts, starts
from lpn.lang import ast
from lpn.lang.check.energy import promised
from lpn.lang.diagnostics import Diagnostics
from lpn.lang.hooks import number
from lpn.lang.instances import children
from lpn.runtime.engines import MAX_COMPLETIONS
from lpn.runtime.node import Costs, Node, native_node
from lpn.runtime.radio import CCA, Radio

SEARCH = os.environ.get("LPN_HYPOTHESIS") == "search"
CHECK = settings(max_examples=5000 if SEARCH else 200, deadline=None, derandomize=not SEARCH, suppress_health_check=[HealthCheck.too_slow])


def hook(event: str, context: str = "radio", **times: int) -> Hook:
    return Hook(event, ("C",), context, **times)


def us(hooks: list[Hook], took: list[float], completing: list[bool] | None = None, started: list[Start | None] | None = None) -> list[float | None]:
    found = Waits(hooks, took, completing or [False] * len(hooks), started or [None] * len(hooks)).found()
    return [None if one is None else one.us for one in found]


# ---------------------------------------------------------------- the rules

def test_the_one_at_work_and_what_is_older():
    """An event of the radio waits for one run of whatever context, then for one event of each other hook of the radio; nobody says how long the net waits."""
    hooks = [hook("radio.tx_done"), hook("radio.ack_timeout"), hook("net.rx", "net"), hook("app.tx", "net")]
    assert us(hooks, [10, 200, 3_000, 40]) == [3_000 + 200, 3_000 + 10, None, None]


def test_a_hook_can_be_at_work_for_its_own_last_event():
    assert us([hook("radio.tx_done"), hook("radio.ack_timeout")], [500, 20]) == [500 + 20, 500 + 500]


def test_two_frames_may_be_older():
    """One is pending, one on the air: its delimiter was there before."""
    assert us([hook("radio.tx_done"), hook("radio.rx_done")], [10, 300]) == [3 * 300, 300 + 10]


def test_interrupts_come_in_between_and_make_room_for_more():
    hooks = [hook("radio.tx_done"), hook("radio.ack_timeout"), hook("radio.rx_start", "isr")]
    assert us(hooks, [0, 100, 100]) == [2 * 100 + 3 * 100, 100 + 2 * 100, None]
    found = Waits(hooks, [0, 100, 100], [False] * 3).found()[0]
    assert found is not None and found.interrupts == 3          # 200 us have room for two, and with those for a third
    assert us(hooks, [0, 100, SHORTEST_FRAME_US]) == [None, None, None]
    assert us(hooks, [0, 0, SHORTEST_FRAME_US]) == [None, None, None]
    assert us(hooks, [0, 0, 100]) == [100, 100, None], "one is at work when the event comes"


def test_the_chain_of_a_buffer_follows_at_once():
    hooks = [hook("radio.tx_done"), hook("radio.ack_timeout"), hook("buffer.complete")]
    assert us(hooks, [0, 100, 30], [False, True, False])[0] == 2 * (100 + 30)
    assert us(hooks, [0, 100, 30], [False, True, True])[0] == 2 * (100 + 30 * MAX_COMPLETIONS), "the chain of the buffer completes another entry"
    assert us(hooks, [0, 100, 30])[0] == 200


def test_slots_of_one_frame_do_not_hold_each_other_up():
    hooks = [hook("slot", period=110_000), hook("slot", period=110_000, offset=40_000), hook("slot", period=70_000), hook("every", period=110_000)]
    assert us(hooks, [1_000, 2_000, 4_000, 8_000]) == [4_000 + 8_000, 4_000 + 8_000, 1_000 + 2_000 + 8_000, 1_000 + 2_000 + 4_000]
    long = [hook("slot", period=110_000), hook("slot", period=110_000, offset=10_000)]
    assert us(long, [9_000, 1]) == [0, 0]
    assert us(long, [11_000, 1]) == [0, 11_000], "the first takes longer than its slot, and is late then for the second"


def test_what_interrupts_take_from_a_run_makes_it_late_for_the_next_slot():
    """6 ms of the thread are over after 12.2 ms, as 32 interrupts come in that time."""
    hooks = [hook("slot", period=110_000), hook("slot", period=110_000, offset=10_000), hook("radio.rx_start", "isr")]
    assert us(hooks, [6_000, 1, 90]) == [90, 6_000 + 59 * 90, None]
    assert us(hooks, [4_000, 1, 90]) == [90, 90, None], "those 4 ms are over after 7.6 ms"


def test_a_late_timer_waits_for_older_ones_that_are_late_too():
    """The `every` begins 9 ms late by its jitter, and behind two others, that may be later still. So what it starts may be at work when it is due again."""
    def bound(delay: int, jitter: int) -> float | None:
        hooks = [hook("every", period=100_000, jitter=9_000), hook("after"), *[hook("every", period=70_000 + i, jitter=jitter) for i in range(2)]]
        return us(hooks, [0, 4_000, 3_000, 3_000], started=[None, Start(0, delay, delay), None, None])[0]
    assert bound(60_000, 20_000) == 2 * 3_000, "it is over by then"
    assert bound(76_000, 20_000) == 2 * 3_000 + 4_000
    assert bound(76_000, 0) == 2 * 3_000, "without jitter the others have run before"


def test_an_after_and_who_starts_it():
    hooks = [hook("every", period=100_000), hook("after"), hook("after")]
    started = [None, Start(0, 10_000, 10_000), Start(1, 1, 50_000)]
    assert us(hooks, [300, 40, 5], started=started) == [0, 0, 40], "the second is due 1 us after it was started: whoever does that is still at work"
    assert us(hooks, [300, 40, 5], started=[None, Start(0, 200, 200), None]) == [2 * 5, 300 + 2 * 5, 300 + 40 + 5]
    assert us(hooks, [300, 40, 5], started=[None, Start(0, 10_000, 99_999), Start(1, 5, 5)])[0] == 40 + 5, "that one may be due with the next run of the first"


def test_whose_after_it_is():
    """By index: blocks in blocks, and handlers behind one another."""
    checked = program("""
timing T {
    every 1 s within 1 ms { radio.on(); after 1 ms { if (radio.cca() == CLEAR) { after 2 ms { radio.off(); } } else { after 3 ms { radio.off(); } } } }
    every 2 s within 1 ms { bit<32> wait = (bit<32>) radio.cca(); after wait max 7 ms { radio.off(); } }
}
""")
    found = starts(checked.hooks)
    assert [h.event for h in checked.hooks] == ["every", "every", "after", "after", "after", "after"]
    assert found[:2] == [None, None]
    assert sorted(found[2:], key=lambda one: one.most) == [Start(0, 1_000, 1_000), Start(2, 2_000, 2_000), Start(2, 3_000, 3_000), Start(1, 0, 7_000)]


# ---------------------------------------------------------------- the law, on the C node

EVENTS = {"radio.tx_done": "radio", "radio.ack_timeout": "radio", "net.rx": "net", "app.tx": "net", "radio.rx_done": "radio"}


@st.composite
def worlds(draw):
    """(hooks, programs, who starts whom, events). What takes time is looking at the channel, and in interrupts counting."""
    hooks, programs, started = [], [], []
    for i in range(draw(st.integers(2, 6))):
        event = draw(st.sampled_from(["every", "slot", "slot", "after", "after", *EVENTS]))
        if event == "after" and not i:
            event = "every"
        times = {}
        if event in ("every", "slot"):
            times = {"period": draw(st.sampled_from([10_000, 10_000, 4_000, 25_000]))}
            times["offset"] = draw(st.integers(0, 9)) * times["period"] // 10 if event == "slot" else 0
            times["jitter"] = draw(st.sampled_from([0, 0, 300, 2_000])) if event == "every" else 0
        hooks.append(Hook(event, (f"T{i}" if event not in EVENTS else f"C{i}",), EVENTS.get(event, "radio"), **times))
        programs.append([("cca",)] * draw(st.integers(0, 8)))
        started.append(None)
        if event == "after":
            by, delay = draw(st.integers(0, i - 1)), draw(st.sampled_from([1, 100, 900, 2_000, 6_000]))
            place = draw(st.integers(0, len(programs[by])))
            programs[by].insert(place, ("timer", i, delay))
            started[i] = Start(by, delay, delay)
    near = st.builds(lambda beat, off: max(beat * 1_000 + off, 0), st.integers(0, 60), st.sampled_from([-1_000, -500, -200, -100, -1, 0, 1, 128]))
    happens = draw(st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), near), min_size=5, max_size=60))
    if draw(st.booleans()):
        hooks.append(Hook("radio.rx_start", (f"T{len(hooks)}",), "isr"))
        programs.append([("count", 0)] * draw(st.sampled_from([1, 10, 30])))
        started.append(None)
        first, often = draw(st.integers(0, SHORTEST_FRAME_US)), draw(st.sampled_from([1, 1, 2, 7]))
        happens += [("radio.rx_start", at) for at in range(first, 65_000, often * SHORTEST_FRAME_US)]
    return hooks, programs, started, happens


def takes(one: list[tuple]) -> int:
    """Microseconds: one an instruction, and what it looks at the channel for."""
    return len(assemble(text(one))) // 8 + sum(op == "cca" for op, *_ in one) * CCA


def happened(node: Node, happens: list[tuple[str, int]]) -> Node:
    for event, time in happens:
        node.post(time, event, (), b"frame" if event in ("radio.rx_done", "net.rx", "app.tx") else None)
    node.run(70_000)
    return node


@CHECK
@given(worlds())
def test_no_run_begins_later(world):
    """Than the bound; a timer that is late by its jitter than that and those who are older."""
    hooks, programs, started, happens = world
    waits = Waits(hooks, [takes(one) for one in programs], [False] * len(hooks), started)
    bounds = waits.found()
    assert all((bound is None) == (hook.context != "radio") for hook, bound in zip(hooks, bounds))
    node = happened(native(hooks, programs, radio=Radio(True), costs=Costs(1_000, CCA, 0)), happens)
    for i, (hook, bound) in enumerate(zip(hooks, bounds)):
        stats = node.dispatch.stats(i)
        assert stats.time_worst <= takes(programs[i])
        if bound is not None and stats.runs:
            assert stats.wait_worst <= max(bound.us, interrupted(hook.jitter + bound.late, waits.interrupt) if hook.jitter else 0), hook
            event("reached" if bound.us and stats.wait_worst > 0.8 * bound.us else "far" if bound.us else "none")


def test_the_bound_is_reached():
    """A run of the net begins just before the event, and all others of the radio are older by 1 us."""
    hooks = [hook("every", period=10_000), hook("radio.tx_done"), hook("radio.ack_timeout"), hook("net.rx", "net")]
    hooks = [Hook(one.event, (f"{'T' if not i else 'C'}{i}",), one.context, period=one.period) for i, one in enumerate(hooks)]
    programs = [[("cca",)], [("cca",)] * 2, [("cca",)] * 3, [("cca",)] * 4]
    node = happened(native(hooks, programs, radio=Radio(True), costs=Costs(1_000, CCA, 0)),
                    [("net.rx", 9_998), ("radio.tx_done", 9_999), ("radio.ack_timeout", 9_999)])
    assert node.dispatch.stats(0).wait_worst == us(hooks, [takes(one) for one in programs])[0] - 2


def test_interrupts_take_time_from_a_run():
    """A slot's 6 ms are over behind the next slot's beginning, because interrupts come all the time; those of one at work when a slot begins count, too."""
    hooks = [Hook("slot", ("T0",), "radio", period=110_000), Hook("slot", ("T1",), "radio", period=110_000, offset=10_000), Hook("radio.rx_start", ("T2",), "isr")]
    programs = [[("cca",)] * 46, [("cca",)], [("count", 0)] * 22]
    bounds, times = us(hooks, [takes(one) for one in programs]), range(100, 60_000, SHORTEST_FRAME_US)
    node = happened(native(hooks, programs, radio=Radio(True), costs=Costs(1_000, CCA, 0)), [("radio.rx_start", at) for at in times])
    assert 1_000 < node.dispatch.stats(1).wait_worst <= bounds[1]
    node = happened(native(hooks[1:], programs[1:], radio=Radio(True), costs=Costs(1_000, CCA, 0)), [("radio.rx_start", 9_990)])
    assert 0 < node.dispatch.stats(0).wait_worst <= us(hooks[1:], [takes(one) for one in programs[1:]])[0]


# ---------------------------------------------------------------- what a user sees

BUSY = """
timing Duty {
    every 125 ms jitter 2 ms within 2 ms {
        radio.on();
        if (radio.cca() == CLEAR) { radio.off(); } else { after 10 ms { radio.off(); } }
    }
    energy { radio.on <= 13 %; }
}
timing Survey {
    register<bit<32>> tuned;
    every 1 s { for (i in 0..12) { radio.channel(20); tuned = tuned + 1; } }
}
"""


@pytest.fixture
def busy(tmp_path):
    path = tmp_path / "busy.lpn"
    path.write_text(BUSY)
    return path


def test_a_budget_counts_the_wait(busy, tmp_path):
    """The other handler tunes the radio for 6 ms, and may be at work when the radio is to be switched off. Alone, 12.8 % are proved."""
    assert lpnc("check", str(busy)).exit_code == 0
    done = lpnc("build", str(busy), "-o", str(tmp_path / "out"))
    assert done.exit_code == 1
    assert "the radio may be on 16.5" in done.stderr and "and <= 13 % is promised" in done.stderr
    assert "which may begin 6.7" in done.stderr and "ms late, while others run" in done.stderr
    assert "lpnc: 1 energy budget not proved: nothing is written" in done.stderr
    assert not (tmp_path / "out").exists()
    verified = lpnc("verify", str(busy))
    assert verified.exit_code == 1 and "3 modules: all accepted, 1 energy budget not proved" in verified.stdout
    busy.write_text(BUSY.replace("13 %", "17 %"))
    done = lpnc("build", str(busy), "-o", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    share = float(done.stdout.split("the radio is on for at most ")[1].split(" %")[0])
    assert 16.5 < share < 16.6
    for given in (tmp_path / "out/busy.lpnb", busy):
        shown = lpnc("run", str(given), "--events", "-", input="radio off\nuntil 1 s\n")
        assert f"(proved: {share:.2f} %)" in shown.stdout, "what is in the bundle counts it, and of a source what would be in it"
    assert f"(proved: {share:.2f} %)" in lpnc("run", str(busy), "--engine", "reference", "--events", "-", input="until 1 s\n").stdout


def test_what_is_not_proved_is_not_said_to_be(busy):
    """A source runs whatever is proved of it."""
    shown = lpnc("run", str(busy), "--events", "-", input="cca BUSY\n20 ms radio on\n100 ms radio off\nuntil 1 s\n")
    assert "Duty promises at most 13 % (not proved: lpnc build says why)\n" in shown.stdout and shown.exit_code == 0
    done = lpnc("run", str(busy), "--events", "-", "--json", input="until 1 s\n")
    [promise] = json.loads(done.stdout.splitlines()[-1])["promises"]
    assert promise["promised"] == 13 and promise["proved"] is None and promise["kept"] is True


def test_a_jitter_that_is_shorter_than_the_wait_is_told(busy):
    done = lpnc("build", str(busy), "-o", str(busy.parent / "out"))
    [line] = [line for line in done.stderr.splitlines() if "its jitter is 2,000 us" in line]
    assert line.startswith("Duty.every_125ms may begin 6,7") and "before it may run Survey.every_1s (6,7" in line
    rows = {tuple(each["chain"]): each for line in lpnc("verify", str(busy), "--json").stdout.splitlines() for each in json.loads(line)["hooks"]}
    assert 6_700 < rows["Duty.every_125ms",]["wait_us"] < 6_800
    assert rows["Survey.every_1s",]["wait_us"] < 1_800


ECHO = """
header H {{ bit<8> kind; }}
struct headers {{ H h; }}
parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h); transition accept; }} }}
processor Answer(inout headers h, inout meta m) {{ apply {{ {verdict} }} }}
{deparser}
timing T {{ register<bit<32>> n; every 100 ms within 100 us {{ n = n + 1; }} }}
protocol P version 1 {{ on radio.rx_done : Rx -> Answer{chain}; timing : T; }}
"""


@pytest.mark.parametrize(("verdict", "deparses", "sends"), [
    ("m.verdict = TRANSMIT;", True, True), ("m.verdict = TRANSMIT;", False, False), ("m.verdict = h.h.kind == 1 ? TRANSMIT : DROP;", True, True),
    ("m.verdict = DELIVER; m.port = 7;", True, False), ("if (h.h.kind == 2) { m.verdict = DROP; } else { m.verdict = TRANSMIT; }", True, True)])
def test_who_transmits_holds_up_the_others_until_the_radio_has_it(tmp_path, verdict, deparses, sends):
    """The node gives the radio what a chain rebuilt before it looks for the next event. Two frames may be older, and one at work."""
    path = tmp_path / "echo.lpn"
    path.write_text(ECHO.format(verdict=verdict, deparser="deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }" * deparses, chain=" -> Tx" * deparses))
    rows = {each["event"]: each for line in lpnc("verify", str(path), "--json").stdout.splitlines() for each in json.loads(line)["hooks"]}
    bound, send = rows["every"]["wait_us"], declared()["radio_send"]
    assert (bound > 3 * send) == sends and bound < 3 * (send * sends + 30)
    done = lpnc("run", str(path), "--events", "-", "--declared", "--json", input="99600 us air 01\nuntil 150 ms\n")
    [waited] = [each["wait_worst"] for each in json.loads(done.stdout.splitlines()[-1])["hooks"] if each["hook"] == "T.every_100ms"]
    assert (waited > send // 2) == sends and waited <= bound, "on this machine's node it waits as long, or less"


# ---------------------------------------------------------------- budgets on the C node

ROW = "every {period} us within 2 ms {{ radio.on(); if (radio.cca() == {answer}) {{ {looks} radio.off(); }} else {{ after {delay} us {{ {looks} radio.off(); }} }} }}"
OTHER = "every {period} us {{ for (i in 0..{turns}) {{ radio.channel(20); seen = seen + 1; }} after {delay} us {{ for (i in 0..{turns}) {{ radio.channel(21); }} }} }}"
PERIODS = st.sampled_from([20_000, 30_000, 31_000, 50_000])
ROWS = st.builds(ROW.format, period=PERIODS, answer=st.sampled_from(["BUSY", "BUSY", "CLEAR"]), looks=st.sampled_from(["", "if (radio.cca() == BUSY) { seen = 1; }"]),
                 delay=st.sampled_from([1, 900, 4_000]))
OTHERS = st.builds(OTHER.format, period=PERIODS, turns=st.integers(1, 40), delay=st.sampled_from([1, 5_000, 9_000]))


@settings(CHECK, max_examples=1000 if SEARCH else 20)
@given(st.lists(ROWS, min_size=1, max_size=2), st.lists(OTHERS, min_size=1, max_size=2), st.integers(0, 3))
def test_the_radio_is_not_on_for_longer(rows, others, seed):
    """By what is proved with the waits of this node, whose instructions take 1 us each, and that is tuned as quickly as it looks at the channel."""
    checked = program("register<bit<32>> seen;\ntiming Duty {\n" + "\n".join(rows) + "\nenergy { radio.on <= 100 %; }\n}\ntiming Others {\n" + "\n".join(others) + "\n}\n")
    compiled = compile_program(checked)
    counted = {c.name: c.code.text for c in compiled.containers}
    units, found = seal(compiled)
    most = {unit.name: report.max_insns for unit, report, _ in found}
    looks = {h.chain[0].name: looks_of(h.chain[0].body) for h in checked.hooks}
    assert counted.keys() == looks.keys()
    took = [most[name] + CCA * looks[name] for _, (name,) in compiled.hooks]
    waits = Waits(compiled.bundle.hooks, took, [False] * len(took), starts(checked.hooks)).found()
    diagnostics = Diagnostics()
    proved = promised(checked, diagnostics, {h.chain[0]: math.ceil(one.us) for h, one in zip(checked.hooks, waits) if h.event == "after"})
    assume(not diagnostics.errors)              # more than all the time it is not
    node = native_node(compiled.bundle, radio=Radio(False), costs=Costs(1_000, CCA, 0, {"radio_channel": CCA}), seed=seed)
    node.run(end := 930_000)
    on = node.radio_state.on_time(0, node.time)
    runs = sum((end // h.period + 1) * us for h, us in proved[0].runs)
    assert on <= runs
    event(f"{min(10 * on // runs, 9)} tenths of what is proved")


def test_the_radio_is_on_while_interrupts_hold_up_who_switches_it_off():
    checked = program("""
register<bit<32>> seen;
register<bit<32>>[16] times;
timing Duty {
    every 20 ms within 2 ms { radio.on(); for (i in 0..14) { if (radio.cca() == BUSY) { seen = seen + 1; } } radio.off(); }
    on radio.rx_start(frame) { for (i in 0..16) { times[i] = frame.time + i; } }
    energy { radio.on <= 100 %; }
}
""")
    compiled = compile_program(checked)
    units, found = seal(compiled)
    _, interrupt = [report.max_insns for _, report, _ in found]
    node = native_node(compiled.bundle, radio=Radio(False), costs=Costs(1_000, CCA, 0))
    for at in range(0, 200_000, SHORTEST_FRAME_US):
        node.post(at, "radio.rx_start")
    node.run(200_000)
    on = node.radio_state.on_time(0, node.time)
    [alone], [counted] = (promised(checked, Diagnostics(), {}, *lasts) for lasts in ((), (lambda us: us + interrupts(us, interrupt) * interrupt,)))
    assert 10 * alone.runs[0][1] < on <= 10 * counted.runs[0][1]


@pytest.mark.parametrize(("turns", "told"), [(1, ""), (300, "of the time, and <= 11 % is promised"),
                                             (900, "how long interrupts hold up 'Duty.every_20ms' is not known, and a budget counts it")])
def test_a_budget_counts_interrupts(tmp_path, turns, told):
    path = tmp_path / "busy.lpn"
    path.write_text(f"""
register<bit<32>>[900] heard;
timing Duty {{
    every 20 ms within 2 ms {{ radio.on(); if (radio.cca() == CLEAR) {{ radio.off(); }} radio.off(); }}
    on radio.rx_start(frame) {{ for (i in 0..{turns}) {{ heard[i] = heard[i] / (frame.time | 1); }} }}
    energy {{ radio.on <= 11 %; }}
}}
""")
    assert lpnc("check", str(path)).exit_code == 0
    done = lpnc("verify", str(path))
    assert (done.exit_code == 1) == bool(told) and told in done.stdout + done.stderr
    assert ("an interrupt counts, too, each 192 us: this one takes " in done.stdout + done.stderr) == ("promised" in told)


def looks_of(node: object) -> int:
    """How often a handler looks at the channel at most, or tunes to one, without what it starts."""
    match node:
        case ast.After():
            return 0
        case ast.For():
            return number(node.high) * looks_of(node.body)
        case ast.Call():
            return int(node.target in ("radio.cca", "radio.channel"))
        case list() | tuple():
            return sum(map(looks_of, node))
        case ast.Node():
            return sum(looks_of(getattr(node, name)) for name in children(type(node)))
    return 0
