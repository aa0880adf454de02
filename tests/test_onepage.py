"""The whole language on one page: it compiles, is accepted, and does what it says, on recorded frames and in time."""
from __future__ import annotations

from pathlib import Path

import pytest
from cli import RECORDING, lpnc

from lpn.compiler.build import compile_program
from lpn.compiler.judge import judged, of_compiled
from lpn.compiler.runner import make_runner
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.reference import Reference
from lpn.runtime.capture import read
from lpn.runtime.engines import get_engine

PAGE = check(load(Path(__file__).with_name("onepage.lpn")))
NODE = {"node_short": 0xBEEF}
#: The recording is of 024c:504e::1 and 2 (EUI-64s); node 2 is this one, and the rest is behind 0x1234.
TABLES = {"address": "fe80::4c:504e:0:2", "routes": [{"key": ["fe80::/10"], "action": "send_to", "args": [0x1234]}]}


def given() -> control.Tables:
    return control.from_json(TABLES, PAGE)


@pytest.mark.parametrize("fuse", [False, True])
def test_accepted(fuse):
    made = compile_program(PAGE, fuse=fuse)
    assert all(report.accepted for _, report in judged(of_compiled(made)))
    assert [h.event for h in made.bundle.hooks] == ["radio.rx_done", "every", "radio.rx_start", "after"]
    [energy] = made.bundle.energy
    assert (energy.promised, energy.share, energy.runs) == (140_000, 128_000, ((1, 16_000),))


def test_build_says_what_is_promised(tmp_path):
    shown = lpnc("build", Path(__file__).with_name("onepage.lpn"), "-o", tmp_path)
    assert "DutyCycle: the radio is on for at most 13.8344 % of the time, 14 % is promised" in shown.stdout and shown.exit_code == 0


def test_frames_in_all_engines():
    """Delivered to us, or sent on with one hop less and a short address; the checksum of UDP is right again."""
    runners = [make_runner(name, PAGE, given(), fuse=fuse) for name, fuse in (("reference", False), ("engine", False), ("engine", True), ("rbpf", True))]
    seen: dict[str, int] = {}
    for frame in list(read(RECORDING))[:80]:
        if frame.fcs_ok is False:
            continue
        want, *others = [runner.run(frame.data, NODE) for runner in runners]
        assert all((r.verdict, r.reason, r.port, r.out) == (want.verdict, want.reason, want.port, want.out) for r in others)
        seen[want.verdict] = seen.get(want.verdict, 0) + 1
        if want.verdict == "TRANSMIT":
            assert want.out is not None and (0xBEEF).to_bytes(2, "little") in want.out[:12] and (0x1234).to_bytes(2, "little") in want.out[:12]
    assert {"DELIVER", "TRANSMIT", "DROP"} <= seen.keys()


@pytest.mark.parametrize("name", ["engine", "rbpf"])
def test_handlers(name):
    bundle = compile_program(PAGE).bundle
    reference, state = Reference(PAGE), Reference(PAGE).state()
    raw = bytes(bundle.state_size)
    for busy in (0, 1, 1):
        for hook, source in zip(bundle.hooks[1:], PAGE.hooks[1:]):
            loaded = get_engine(name).load(bundle, hook=hook)
            loaded.set_state(raw)
            loaded.answer = lambda helper, before: busy                     # noqa: B023
            got = loaded.run(b"", {"time": 77})
            want = reference.run(b"", {"time": 77}, state, source, lambda helper, before: busy)             # noqa: B023
            assert got.effects == want.effects
            raw = loaded.state()
    layout = {slot["name"]: slot["offset"] for slot in bundle.state_layout}
    numbers = {key: int.from_bytes(raw[at:at + 4], "little") for key, at in layout.items() if key.startswith("DutyCycle")}
    assert numbers == {"DutyCycle.wakeups": 3, "DutyCycle.last_sfd": 77}
