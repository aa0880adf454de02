"""Energy budgets: what is promised is never exceeded, however late handlers begin and whatever the channel answers."""
from __future__ import annotations

import heapq
import random
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from programs import program

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Bundle, Energy
from lpn.compiler.deadlines import declared
from lpn.lang import ast
from lpn.lang.check.energy import CCA_US, TX_US
from lpn.lang.check.timing import shown
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.reference import Reference

PAGE = """
timing Duty {
    register<bit<32>> wakeups;
    every 125 ms jitter 500 us within 300 us {
        radio.on();
        if (radio.cca() == CLEAR) { radio.off(); } else { after 10 ms { radio.off(); } }
        wakeups = wakeups + 1;
    }
    on radio.tx_done { radio.off(); }
    slot 3 of 100 within 2 ms { radio.on(); radio.channel(20); radio.off(); }
    energy { radio.on <= 10 %; }
}
"""


def test_what_the_manifest_says():
    """300 us until the `after` is started, 10 ms, 500 us late, 300 us for its body; and 2 ms of a slotframe of a second."""
    bundle = Bundle.from_bytes(compile_program(program(PAGE)).bundle.to_bytes())
    share = -(-(Fraction(11_100, 125_000) + Fraction(2_000, 1_000_000)) * 1_000_000 // 1)
    assert bundle.energy == (Energy("Duty", 100_000, int(share), ((0, 11_100), (2, 2_000))),)
    assert [bundle.hooks[i].event for i, _ in bundle.energy[0].runs] == ["every", "slot"]


def test_the_message_names_the_path():
    with pytest.raises(DiagnosticError) as e:
        program(PAGE.replace("10 %", "9 %"))
    [one] = e.value.diagnostics
    assert one.message == "the radio may be on 9.08 % of the time, and <= 9 % is promised"
    assert [(text, span.line, span.text) for text, span in one.notes] == [
        ("it is on for up to 11.1 ms of 125 ms, by 'Duty.every_125ms': from here", 5, "radio.on()"), ("to here", 6, "radio.off()"),
        ("it is on for up to 2 ms of 1 s, by 'Duty.slot_3_of_100': from here", 10, "radio.on()"), ("to here", 10, "radio.off()")]


@pytest.mark.parametrize("us,text", [(1, "1 us"), (999, "999 us"), (1000, "1 ms"), (11_100, "11.1 ms"), (1_000_000, "1 s"), (2_000_010, "2.00001 s")])
def test_times_are_shown_as_they_are(us, text):
    assert shown(us) == text


# ---------------------------------------------------------------- the law, on random handlers

HEAD = """
header H { bit<8> a; }
struct headers { H h; }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
function void listen() { radio.on(); }
function bit<8> ask() { radio.off(); return radio.cca(); }
function bit<32> some() { return (bit<32>) radio.cca(); }
function bit<32> quick() { radio.on(); return (bit<32>) radio.cca(); }
"""
WITHIN, JITTER = 700, 400


def statements(depth: int) -> st.SearchStrategy[str]:
    simple = st.sampled_from(["radio.on();", "listen();", "radio.off();", "radio.off();", "return;", "radio.send(Tx(h));"])
    if depth == 0:
        return simple
    body = bodies(depth - 1)
    return st.one_of(
        simple, simple,
        st.builds("radio.on(); {} after {} us {{ headers h; h.h.setValid(); {} radio.off(); {} }}".format, body, st.integers(1, 5_000), body, body),
        st.builds("if ({}() == CLEAR) {{ {} }} else {{ {} }}".format, st.sampled_from(["radio.cca", "ask"]), body, body),
        st.builds("if (radio.cca() == BUSY || ask() == CLEAR) {{ {} }}".format, body),
        st.builds("switch (radio.cca()) {{ CLEAR: {{ {} }} default: {{ {} }} }}".format, body, body),
        st.builds("for (i in 0..{}) {{ {} }}".format, st.integers(0, 2), body),
        st.builds("after {} us {{ headers h; h.h.setValid(); {} }}".format, st.integers(1, 5_000), body),
        st.builds("after {}() {} max {} us {{ headers h; h.h.setValid(); {} radio.off(); {} }}".format, st.sampled_from(["some", "quick"]),
                  st.sampled_from(["", "* 2000", "+ 1"]), st.integers(1, 5_000), body, body))


def bodies(depth: int) -> st.SearchStrategy[str]:
    return st.lists(statements(depth), max_size=4).map(" ".join)


def simulate(checked: ast.Program, end: int, rng: random.Random, answer: int | None) -> int:
    """How long the radio was on, or sent, by runs that were due before `end`. `answer`: of the channel and the radio; with it
    handlers do their worst: they switch on at once and do the rest as late as they may, and timers are late. None: at random."""
    reference, hooks = Reference(checked), checked.hooks
    queue = [(0, i, i) for i, hook in enumerate(hooks) if hook.period]
    due: dict[int, int] = {}
    over: dict[int, int] = {}                   # when the run has ended that started a timer: nothing runs inside it
    number, total, sent = len(hooks), 0, 0
    switches: list[tuple[int, int, bool]] = []
    looks: list[tuple[int, int]] = []           # from when to when the radio was awake for one, if it is off
    while queue:
        at, _, index = heapq.heappop(queue)
        hook, number = hooks[index], number + 1
        if hook.period:
            if at >= end:
                continue
            heapq.heappush(queue, (at + hook.period, number, index))
        elif due.get(index) != at:
            continue                            # it was started again since
        else:
            del due[index]
        late = rng.randint(0, JITTER) if answer is None else 0 if hook.period else JITTER
        effects = reference.run(b"", {}, None, hook, lambda name, before: rng.randint(0, 1) if answer is None else answer).effects
        times = sorted(rng.randint(0, WITHIN) for _ in effects) if answer is None else latest(effects)
        start = max(at + late, over.get(index, 0))
        for time, effect in zip(times, effects):
            time += start
            if effect[0] == "timer_start":
                due[effect[1]], over[effect[1]] = time + effect[2], start + times[-1]
                heapq.heappush(queue, (due[effect[1]], number, effect[1]))
            elif effect[0] in ("radio_on", "radio_off"):
                switches.append((time, len(switches), effect[0] == "radio_on"))
            elif effect[0] == "radio_cca":
                looks.append((time, min(time + CCA_US, start + WITHIN)))
            elif effect[0] == "radio_send":
                sent += TX_US
    since = None
    for time, _, on in sorted(switches):
        if on and since is None:
            since = time
        elif not on and since is not None:
            looks.append((since, time))
            since = None
    assert since is None, "it stays on"
    awake = 0
    for begin, until in sorted(looks):
        total, awake = total + max(until - max(begin, awake), 0), max(until, awake)
    return total + sent


def latest(effects: tuple) -> list[int]:
    """Up to the first that switches on at once, the others at the end."""
    first = next((i for i, effect in enumerate(effects) if effect[0] == "radio_on"), -1)
    return [0 if i <= first or first < 0 and effect[0] == "radio_cca" else WITHIN for i, effect in enumerate(effects)]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(5_000, 60_000), bodies(2)), min_size=1, max_size=2), st.integers(0, 2**32))
def test_no_run_exceeds_the_promise(handlers, seed):
    rows = [f"every {period} us jitter {JITTER} us within {WITHIN} us {{ headers h; h.h.setValid(); {body} }}" for period, body in handlers]
    text = HEAD + "timing T {\n" + "\n".join(rows) + "\nenergy { radio.on <= 100 %; }\n}\n"
    try:
        checked = program(text)
    except DiagnosticError as e:
        assert all("leaves the radio on" in one.message or "is promised" in one.message or one.severity == "warning" for one in e.diagnostics), str(e)
        assume(False)
    [promise] = checked.promises
    assume(promise.share < 1_000_000)           # more than all the time it is not
    end = 8 * max(hook.period for hook in checked.hooks)
    most = sum(-(-end // hook.period) * us for hook, us in promise.runs)
    for answer in (0, 1, None):
        assert simulate(checked, end, random.Random(seed), answer) <= most, (answer, text)


def test_the_bound_is_reached():
    """A path that takes all the time it may: the bound is not a loose one."""
    checked = program(PAGE.replace("slot 3 of 100 within 2 ms { radio.on(); radio.channel(20); radio.off(); }", "")
                      .replace("500 us", f"{JITTER} us").replace("300 us", f"{WITHIN} us"))
    [(hook, us)] = checked.promises[0].runs
    assert us == WITHIN + 10_000 + JITTER + WITHIN
    assert simulate(checked, hook.period, random.Random(1), 1) == us


@pytest.mark.parametrize("within, on, us", [("", "", 3 * CCA_US), ("within 1 ms ", "", 1_000), ("within 9 ms ", "radio.on(); radio.off(); ", 9_000),
                                            ("within 9 ms ", "if (n == 1) { return; } ", 3 * CCA_US), ("within 9 ms ", "if (n == 1) { after 1 ms { radio.cca(); } } ", 4 * CCA_US)])
def test_a_look_wakes_a_radio_that_is_off(within, on, us):
    [promise] = program("timing Duty { register<bit<32>> n; every 100 ms %s{ %sfor (i in 0..3) { if (radio.cca() == BUSY) { n = n + 1; } } } energy { radio.on <= 100 %%; } }"
                        % (within, on)).promises
    assert [each for _, each in promise.runs] == [us]


def test_no_radio_is_on_for_more_than_all_the_time():
    text = "timing Duty {{ every 1 s within 1 ms {{ radio.on(); after 900 ms {{ radio.off(); }} }} every 2 s within 1 ms {{ radio.on(); after 1900 ms {{ radio.off(); }} }} energy {{ radio.on {}; }} }}"
    [promise] = program(text.format("<= 100 %")).promises
    assert promise.share == 1_000_000
    with pytest.raises(DiagnosticError, match="the radio may be on all the time, and < 100 % is promised"):
        program(text.format("< 100 %"))


def test_a_look_takes_as_long_as_is_declared():
    assert CCA_US == declared()["radio_cca"]


def test_what_comes_with_an_event_does_not_look():
    with pytest.raises(DiagnosticError) as e:
        program("timing T { register<bit<8>> n; on radio.tx_done(result) { n = radio.cca(); } energy { radio.on <= 100 %; } }")
    assert e.value.diagnostics[0].message == "radio.cca() runs here as often as radio.tx_done happens, for which there is no energy budget"


# ---------------------------------------------------------------- parts of a percent

RARE = "timing Duty {{ every 10 s jitter 500 us within 300 us {{ radio.on(); after 10 ms {{ radio.off(); }} }} energy {{ radio.on {} ; }} }}".format


@pytest.mark.parametrize("promise, holds", [("<= 0.111 %", True), ("<= 0.1110 %", True), ("< 0.1111 %", True), ("< 0.111 %", False), ("<= 0.1109 %", False), ("<= 1 %", True),
                                            ("<= 0.0 %", False), ("<= 99.9999 %", True), ("<= 100.0 %", True)])
def test_parts_of_a_percent(promise, holds):
    """11.1 ms of 10 s: 0.111 %."""
    if holds:
        [energy] = compile_program(program(RARE(promise))).bundle.energy
        assert (energy.promised, energy.share) == (int(Fraction(promise.split()[1]) * 10_000), 1110)
    else:
        with pytest.raises(DiagnosticError) as e:
            program(RARE(promise))
        assert e.value.diagnostics[0].message == f"the radio may be on 0.111 % of the time, and {promise} is promised"


@pytest.mark.parametrize("promise, message", [
    ("<= 0.12345 %", "a share of the time has at most 4 digits behind the point"), ("<= 100.5 %", "a share of the time is 0 % to 100 %"), ("<= 0.5", "numbers are whole")])
def test_what_is_no_part_of_a_percent(promise, message):
    with pytest.raises(DiagnosticError) as e:
        program(RARE(promise))
    assert e.value.diagnostics[0].message == message
