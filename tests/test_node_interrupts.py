"""Interrupts in the midst of what the node's thread does, on the emulated Cortex-M3: one at each of its instructions."""
from __future__ import annotations

from pathlib import Path

import pytest

from lpn.runtime.engines import EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

import unicorn

from lpn.runtime.engine.build import HEADERS, HERE as ENGINE
from lpn.runtime.m3 import firmware
from lpn.runtime.m3.core import Core

SOURCE = Path(__file__).parent / "timer_started.c"
AT, DELAY = 1050, 9                 #: the interrupt's timer_start: sooner than what was asked for before, behind the time of the poll


def due_after(core: Core, number: int) -> int | None:
    """When the timer is due two polls later, if an interrupt starts it before this instruction of the first one; None: that has not so many."""
    symbols = core.firmware.symbols
    requested, requested_at, delay = (symbols["hook"] + int.from_bytes(core.read(symbols["places"] + 4 * i, 4), "little") for i in range(3))
    executed = [0]

    def interrupt(*_) -> None:
        if executed[0] == number:
            core.write(requested_at, AT.to_bytes(4, "little"))
            core.write(delay, DELAY.to_bytes(4, "little"))
            core.write(requested, b"\1")
        executed[0] += 1
    core.call("begin")
    core.uc.ctl_flush_tb()
    hook = core.uc.hook_add(unicorn.UC_HOOK_CODE, interrupt)
    core.call("poll")
    core.uc.hook_del(hook)
    core.uc.ctl_flush_tb()
    core.call("poll")
    return core.call("due") if number < executed[0] else None


@pytest.mark.parametrize("optimise", ["-Os", "-O2", "-O0"])
def test_a_timer_that_an_interrupt_starts_anew_is_neither_lost_nor_early(optimise):
    """Compilers may put reading the times of a request before or behind clearing it: what the interrupt asked must be due in the end."""
    core = Core(firmware.read(firmware.build("timer", [ENGINE / "node.c", SOURCE], headers=[ENGINE / name for name in HEADERS], optimise=optimise,
                                             include=(ENGINE,))), counting=False)
    found = []
    while (due := due_after(core, len(found))) is not None:
        found.append(due)
    assert len(found) > 40 and set(found) == {AT + DELAY}, found
