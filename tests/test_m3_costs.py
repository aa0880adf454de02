"""The cost tables of the interpreter: what is in them is what is measured, and no run takes longer or less than they say."""

import json
from dataclasses import replace

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.judge import sealed
from lpn.compiler.helpers import BY_NAME, HELPERS
from lpn.compiler.image import Flag
from lpn.compiler.isa import EXIT, OPCODES, Instruction
from lpn.lang.check import check
from lpn.lang.loader import load as load_source
from lpn.runtime import capture
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.verifier import LPN, analyse
from lpn.verifier.cost import FOLDER, TableSize, load
from lpn.verifier.wcet import time_of

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from cli import RECORDING, UDP

from lpn.runtime.m3.core import Core
from lpn.runtime.m3.costs import COPY, MODES, OPTIONS, WHERE, Interpreter, certificate, insn
from lpn.runtime.m3.engine import M3Program
from lpn.runtime.m3.firmware import align_of, engine
from lpn.runtime.m3.flash import LINE
from lpn.runtime.m3.measure_buffers import Case, Interpreted
from lpn.runtime.m3.plan_costs import PlanCosts


@pytest.mark.parametrize("name", MODES)
def test_every_instruction_and_helper_has_a_cost(name):
    table = load(name)
    for op in (op for op in OPCODES if op & 7 or op == 0x18):      # the engine has no legacy packet loads
        swap, atomic = op in (0xD4, 0xD7, 0xDC), op & 0xE7 == 0xC3
        for imm in (16, 32, 64) if swap else (0x100, 0x110) if atomic else (0, 16):
            for taken in (False, True):
                cost = table.insn(0, Instruction(op, imm=imm), frozenset(["pkt"]) if op & 7 in (1, 2, 3) else frozenset(), taken)
                assert 0 <= cost.fewest <= cost.most
    for helper in HELPERS:
        cost = table.helper(helper.name, helper.cost_cycles, [TableSize(4, 4)])
        assert 0 < cost.fewest <= cost.most
    assert 0 < table.module.fewest <= table.module.most and 0 < table.chain.fewest <= table.chain.most


@pytest.mark.parametrize("name,rows", [
    ("m3_interpreter", {"0x0f": insn(0x0F, 2, 3), "0xb4": insn(0xB4, 2), "0xa7": insn(0xA7, 2, imm=5), "0x35 taken": insn(0x35, 2)}),
    ("m3_certified", {"0x61 rec": insn(0x61, 3, 7), "0x73 rec": insn(0x73, 7, 3), "0xbf": insn(COPY, 2, 3)})])
def test_measured_again(name, rows):
    """Those that vm32_thumb2.S does: the same whatever compiler there is."""
    table, interpreter = json.loads((FOLDER / f"{name}.json").read_text())["insns"], Interpreter(name)
    for key, each in rows.items():
        memory = each.op & 7 in (1, 2, 3)
        found = interpreter.each([each], WHERE["rec"] if memory else [insn(0xB7, 2)]).rounded(
            {0x61: 2, 0x73: 0}[each.op] if memory else 0)
        assert found == table[key], key


def test_the_certified_one_costs_less():
    checked, certified, wide = (load(name) for name in ("m3_interpreter", "m3_certified", "m3_wide"))
    for key, cost in certified.insns.items():
        assert cost.most <= checked.insns[key].most or key in ("0x85", "0x95")
    assert sum(c.fewest for c in checked.insns.values()) < sum(c.fewest for c in wide.insns.values()) / 1.5


@pytest.mark.parametrize("name", ["m3_certified", "m3_smallest"])
def test_the_way_to_a_buffer_counts_once(name):
    """What the helper's ways take has translated code's way there in it: an interpreter's takes so much more, and not its own in whole."""
    table, interpreter = load(name), Interpreter(name)
    measured = Interpreted(interpreter.runner.core.firmware, certificate, interpreter.move.linked)
    for helper, way, case in (("buffer_take", 1, Case(4, 1)), ("buffer_drop", 1, Case(2, 18)), ("buffer_put", 2, Case(1, 3, 64, 0, 8)), ("buffer_hold", 1, Case(4, 4, 512, 0, 8))):
        took, bound = measured.call(helper, way, case).most, table.helper(helper, 0, [case.said]).most
        assert took <= bound and (took > bound - 40 or way == 2 or helper == "buffer_hold")     # what is copied may lie anywhere
    assert table.helpers["buffer_take"]["call"][1] < table.helpers["clock_us"]["call"][1] - BY_NAME["clock_us"].cost_cycles - 150


@pytest.mark.parametrize("name", MODES)
def test_no_run_takes_longer_or_less(name):
    """The UDP example on recorded frames, between the bounds of its worst and best way."""
    compiled = compile_program(check(load_source(UDP)), fuse=True)
    certified = name in ("m3_certified", "m3_smallest")
    if name != "m3_wide":
        sealed(compiled)
    if not certified:
        container = compiled.containers[0]
        container.image = replace(container.image, certificate=b"", flags=container.image.flags & ~Flag.CERTIFIED)
        compiled.reseal()
    image = compiled.containers[0].image
    _, analysis = analyse(image.text, LPN, rodata=len(image.rodata), data=len(image.data), record_size=compiled.record_size,
                          state_size=compiled.state.size)
    costs = load(name) if name == "m3_wide" else PlanCosts(image.text, load(name), certified=certified, fuse=name != "m3_smallest")
    bound = time_of(analysis, costs, {h.number: (h.name, h.cost_cycles) for h in HELPERS})
    program = M3Program(compiled.bundle, 10_000, core=Core(engine(*OPTIONS.get(name, ())), window="lpn_execute"))
    program.set_state(compiled.initial_state(None))
    results = [program.run(frame.data) for frame in list(capture.read(RECORDING))[:60]]
    assert all(bound.best <= r.cycles and r.flash_cycles <= bound.worst for r in results)
    assert len({r.cycles for r in results}) > 3


@pytest.mark.parametrize("name", MODES)
def test_the_loop_begins_a_line_of_the_flash(name):
    """Wherever it is linked: the section it is in says so."""
    firmware = engine(*OPTIONS.get(name, ()))
    assert firmware.lines and all(address % LINE == 0 for address in firmware.lines)
    file = "vm32_smallest.S" if name == "m3_smallest" else "vm32_thumb2.S"
    assert align_of(file, options=OPTIONS.get(name, ())) % LINE == 0


def test_a_call_takes_longer_with_functions_behind_it():
    """Whose frame it leaves is searched for."""
    table = load("m3_certified").insns["0x85 local"]
    few, all_ = (Interpreter("m3_certified").local(behind) for behind in (1, 15))
    assert table.fewest < few.fewest and few.most + 100 < all_.most <= table.most


def test_the_stack_is_part_of_entering():
    small, large = (Interpreter("m3_interpreter", stack).time([insn(0xB7), insn(EXIT)]) for stack in (8, 512))
    certified = Interpreter("m3_certified").time([insn(0xB7), insn(EXIT)])
    assert certified.fewest < small.fewest < large.fewest
