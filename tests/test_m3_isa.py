"""Every instruction and every region's edges on the emulated Cortex-M3: the host's tests with another engine behind them.

Of the thousands of operand pairs it takes every fifth, in another phase for each instruction; the host has them all."""

import itertools
import zlib

import pytest
import test_engine_isa
import test_engine_memory
from test_engine_isa import *  # noqa: F403
from test_engine_memory import test_an_access_does_not_span_two_regions, test_edges  # noqa: F401

from lpn.runtime.engines import EngineUnavailable, get_engine

EVERY = 5


@pytest.fixture(autouse=True)
def on_the_core(monkeypatch):
    try:
        get_engine("m3")
    except EngineUnavailable as e:
        pytest.skip(str(e))
    from lpn.runtime.m3.raw import run_raw_m3
    for module in (test_engine_isa, test_engine_memory):
        monkeypatch.setattr(module, "run_raw", run_raw_m3)
    for name in ("alu_programs", "jump_programs"):
        monkeypatch.setattr(test_engine_isa, name, fewer(getattr(test_engine_isa, name)))


def fewer(programs):
    def some(*which):
        phase = zlib.crc32(repr(which).encode()) % EVERY
        return itertools.islice(programs(*which), phase, None, EVERY)
    return some


def test_fewer_are_not_none():
    assert len(list(fewer(lambda *_: range(100))("add", 64, True))) == 100 // EVERY
