"""The stock Femto-Container engine on the emulated Cortex-M3: what only 32-bit addresses and the core's own instructions show.

Needs FEMTO_CONTAINER as test_femto_engine.py does, and engine m3.
"""
from __future__ import annotations

from itertools import islice
from pathlib import Path

import corpus
import pytest
from engine_isa import EXIT, insn, lddw, mov
from femto_cases import DEFECTS, MENDED, RETURN_77, modelled, said, sequences
from femto_engine import MANY, OLD, needs_engine
from femto_stock import STACK, Stock, StockChain
from hypothesis import assume, given, settings

from lpn.compiler import femto
from lpn.compiler.build import compile_program
from lpn.compiler.runner import BytecodeRunner
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.runtime.raw import run_raw

pytestmark = needs_engine

EXAMPLES = Path(__file__).parents[1] / "examples"
META = {"node_ext": 0x0212_7400_1122_3344, "node_short": 0x1234, "node_pan": 0xABCD, "clock": 7, "iface": 1}
#: Of ARMv7-M (DDI 0403, A3.2.1) those that fault at an address which is no multiple of 4. The emulator lets them.
ALIGNED = ("ldm", "ldrd", "stm", "strd")


@pytest.fixture(scope="module")
def m3():
    try:
        get_engine("m3")
    except EngineUnavailable as why:
        pytest.skip(str(why))
    import femto_m3
    return femto_m3


def on_the_core(m3, text: bytes, behind: bytes = b"") -> int | str:
    return said(lambda: m3.M3Stock(femto.image(text), behind=behind).execute({STACK: bytearray(512)}))


def test_each_defect_of_the_model(m3):
    wrong = {name: got for name, (text, *_) in (DEFECTS | MENDED).items()
             if (got := on_the_core(m3, text, RETURN_77)) != modelled(text, OLD, RETURN_77)}
    assert wrong == {}


@settings(max_examples=300, deadline=None)
@given(text=sequences())
def test_the_model_is_the_engine(m3, text):
    want = modelled(text, OLD)
    assume(want != "undefined")
    assert on_the_core(m3, text) == want


def test_shift_counts_are_not_masked(m3):
    """What the model calls undefined: by 64 and more."""
    for opcode in (0x67, 0x77):
        text = mov(0, 9) + insn(opcode, 0, imm=65) + EXIT
        assert modelled(text, OLD) == "undefined"
        assert on_the_core(m3, text) != run_raw(text).r0


def test_eight_octets_at_an_odd_address_fault(m3):
    """They are loaded by an instruction that needs a multiple of 4: what the model calls unaligned."""
    import unicorn
    from unicorn import arm_const
    text = insn(0x79, 0, 10, -15) + EXIT
    assert modelled(text, OLD) == "unaligned" and run_raw(insn(0x7A, 10, off=-16) + insn(0x7A, 10, off=-8) + text).error == "ok"
    core, loads = m3.core(), set()
    hook = core.uc.hook_add(unicorn.UC_HOOK_MEM_READ, lambda uc, *_: loads.add(uc.reg_read(arm_const.UC_ARM_REG_PC)), None, STACK, STACK + 511)
    core.uc.ctl_flush_tb()                      # blocks made before have no hook
    on_the_core(m3, text)
    core.uc.hook_del(hook)
    assert loads and all(core.code.at[at].text.startswith(ALIGNED) for at in loads)


def test_the_check_of_bounds_wraps(m3):
    """An access that crosses the middle of the address space is let through, to memory that is not there. A verified container makes none."""
    text = lddw(1, 0x7FFFFFFC) + insn(0x79, 0, 1) + EXIT
    assert (on_the_core(m3, text), modelled(text, OLD)) == ("fault", "illegal memory")
    assert run_raw(text).error == "load out of bounds"


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name, capture", [("udp/udp", "riot_udp"), ("decompress/decompress", "riot_6lowpan"), ("decompress/recompress", "riot_6lowpan"),
                                           ("decompress/recompress", "nhc_ext")])
def test_examples(m3, name, capture, fuse):
    """Theirs on the core, the model of it, and ours. Packets begin anywhere; loads and stores of eight octets are at multiples of 4, or the model would say so."""
    if not corpus.here(capture):
        pytest.skip(corpus.ABSENT)
    program = check(load(EXAMPLES / f"{name}.lpn"))
    tables = None if name == "udp/udp" else control.from_json(corpus.tables_for(capture), program)
    compiled = compile_program(program, "femto", fuse)
    theirs = StockChain(compiled, compiled.initial_state(tables), lambda image: m3.M3Stock(image, MANY))
    model = StockChain(compiled, compiled.initial_state(tables), lambda image: Stock(image, OLD, branches=100_000))
    ours = BytecodeRunner("engine", compiled, tables)
    for frame, _ in islice(corpus.frames_of(capture), 60):
        want, place = ours.run(frame.data, META), frame.number % 4
        assert theirs.run(frame.data, META, place) == model.run(frame.data, META, place) == (want.verdict, want.reason, want.port, want.out)
        assert theirs.taken == model.taken
    assert theirs.state() == model.state() == ours.program.state()
