"""The stock Femto-Container engine itself as a judge: of what target `femto` builds, and of the model (femto_stock.py).

FEMTO_CONTAINER names a checkout of its source; without it all this is skipped.
"""
from __future__ import annotations

from itertools import islice
from pathlib import Path

import corpus
import pytest
from cli import lpnc
from engine_isa import EXIT, insn, mov
from femto_cases import DEFECTS, MENDED, NOT_LOADED, RETURN_77, modelled, sequences
from femto_engine import MANY, OLD, StockEngine, StockVm, needs_engine, outcome
from hypothesis import assume, given, settings

from lpn.compiler import femto
from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz import differential
from lpn.compiler.fuzz.differential import Refused, Variant, load_case, make_case, run_case
from lpn.compiler.generate.base import RandomChoose
from lpn.compiler.generate.packets import Packets
from lpn.compiler.judge import sealed
from lpn.compiler.runner import BytecodeRunner, compiled_cells, make_runner
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.reference import Reference
from lpn.runtime import capture as captures
from lpn.runtime.memory import READ, WRITE, Buffer
from lpn.runtime.raw import run_raw

pytestmark = needs_engine

TESTS = Path(__file__).parent
FOLDER_OF_EXAMPLES = TESTS.parent / "examples"
M64 = (1 << 64) - 1


# ---------------------------------------------------------------- what is built runs there

@pytest.fixture
def stock(monkeypatch):
    """Variant `femto` of the fuzzer runs in the stock engine."""
    class InTheirs(differential.Loaded):
        def called(self, engine):
            return StockEngine()

    monkeypatch.setattr(differential, "Loaded", InTheirs)


def judged(case, variants) -> int:
    """How many runs of the stock engine agreed with the reference: verdict, reason, port, packets, effects, state. What the target has no room for is none."""
    tally: differential.Counter = differential.Counter()
    try:
        run_case(case, variants, tally)
    except Refused:
        pass
    return tally["compared femto"]


@pytest.mark.parametrize("path", sorted((*TESTS.glob("constructs/*.lpn"), *TESTS.glob("regressions/*.lpn"))), ids=lambda path: path.stem)
def test_constructs_and_what_was_found_once(stock, path, record_property):
    record_property("runs", judged(load_case(path), [Variant("femto"), Variant("femto", True)]))


@pytest.mark.parametrize("group", range(4))
def test_random_programs(stock, group, record_property):
    runs = sum(judged(make_case(seed, 6), [Variant("femto"), Variant("femto", bool(seed & 4), (0, 1, SMALL)[seed % 3])])
               for seed in range(group * 8, group * 8 + 8))
    record_property("runs", runs)
    assert runs > 20


#: Example -> its tables file, or a capture whose contexts it is given. What takes no frame, or keeps pieces of packets, is not there.
EXAMPLES = {
    "udp/udp": None, "decompress/decompress": "riot_6lowpan", "decompress/recompress": "riot_6lowpan", "forwarding/forwarding": "tables.json",
    "coap_sensor/coap_sensor": "tables.json", "zigbee/zigbee": "tables.json", "duty/duty": None, "duty_cycle/duty_cycle": "sensor.json",
    "rpl_dio/rpl_dio": "root.json", "tsch_slot/tsch_slot": None, "from_p4/firewall": None, "from_p4/router": None, "from_p4/source_route": None,
}
META = {"node_ext": 0x0212_7400_1122_3344, "node_short": 0x1234, "node_pan": 0xABCD, "clock": 7, "iface": 1}
FOREIGN = ("riot_udp", "riot_6lowpan", "nhc_udp", "nhc_ext", "iphc_ucast")


def frames_for(name: str) -> list[bytes]:
    """Its own recordings, others', and packets drawn from it."""
    folder, path = (FOLDER_OF_EXAMPLES / name).parent / "captures", FOLDER_OF_EXAMPLES / f"{name}.lpn"
    own = [frame.data for capture in sorted(folder.glob("*.pcap")) for frame in captures.read(capture)]
    others = [frame.data for capture in FOREIGN if corpus.here(capture) for frame, _ in islice(corpus.frames_of(capture), 100)]
    program = check(load(path))
    if program.chain:
        reference = Reference(program)
        drawn, source = RandomChoose(1), Packets(reference, reference.state(None))
        own += [source.packet(drawn) for _ in range(40)]
    return [frame for frame in own + others if len(frame) <= 127]


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name, fuse, record_property):
    """Theirs, as it is where rule 35 accepts all of a program; ours; the reference. The verdict, what follows from it, the state in the end."""
    program = check(load(FOLDER_OF_EXAMPLES / f"{name}.lpn"))
    tables = EXAMPLES[name]
    given = tables and (control.from_json(corpus.tables_for(tables), program) if "." not in tables else
                        control.load((FOLDER_OF_EXAMPLES / name).parent / tables, program))
    compiled = compile_program(program, "femto", fuse)
    reports = [report for _, report in sealed(compiled)]
    within = all(report.accepted for report in reports)
    theirs = StockEngine(*(() if within else (MANY,))).load(compiled.bundle)
    theirs.set_state(compiled.initial_state(given))
    for table, entries in compiled.entries(given).items():
        theirs.set_entries(table, entries)
    ours, reference = BytecodeRunner("engine", compiled, given), make_runner("reference", program, given)
    frames = frames_for(name)
    for frame in frames:
        want = differential.told(reference.run(frame, META))
        assert differential.told(ours.run(frame, META)) == want
        assert differential.told(theirs.run(frame, META)) == want, frame.hex()
    assert theirs.state() == ours.program.state() and compiled_cells(compiled, theirs.state()) == reference.cells()
    assert not within or theirs.taken <= max(report.max_branches for report in reports) <= 200
    record_property("runs", len(frames))


def test_images_as_they_are_written(tmp_path):
    """The files that `lpnc build --target femto` writes are what ran in the tests above."""
    path = FOLDER_OF_EXAMPLES / "from_p4/source_route.lpn"
    built = lpnc("build", str(path), "--target", "femto", "-o", str(tmp_path))
    assert built.exit_code == 0, built.stderr
    for container in compile_program(check(load(path)), "femto").containers:
        image = (tmp_path / f"{container.name}.rbpf").read_bytes()
        assert image == femto.image(container.image.text)
        assert StockVm(image).execute(0, 0, [])[1] in ("illegal memory", "ok")          # past the check, without a context


# ---------------------------------------------------------------- what it gets wrong, and the model of it

@pytest.mark.parametrize("name", [*DEFECTS, *MENDED])
def test_each_defect_of_the_model_is_one_of_the_engine(name):
    """And none of ours. Behind the image lies something that returns 77."""
    text, right, wrong = (DEFECTS | MENDED)[name]
    wrong = right if name in MENDED and not OLD else wrong
    assert outcome(text, RETURN_77) == modelled(text, OLD, RETURN_77) == wrong
    run = run_raw(text)
    assert (run.r0 if run.error == "ok" else NOT_LOADED if run.insns == 0 else run.error) == right


def test_constants_and_variables_are_looked_for_elsewhere():
    """Why an image has neither: an address in them leads to octets behind them."""
    constants = bytes(range(1, 9))
    for opcode, place in ((0xD8, 4), (0xB8, 3)):            # octets of rodata, of data
        text = insn(opcode, 1) + insn(0) + insn(0x79, 0, 1) + EXIT + b"".join(mov(2, n) for n in range(60)) + EXIT
        header = [femto.MAGIC, 0, 0, 0, 0, len(text), 0]
        header[place] = len(constants)
        run, status = StockVm(femto.HEADER.pack(*header) + constants + text).execute(0, 0, [])
        assert status == "ok" and (run.r0 & M64).to_bytes(8, "little") != constants
        assert (femto.HEADER.pack(*header) + constants + text).index((run.r0 & M64).to_bytes(8, "little")) > femto.HEADER.size + 8


def test_a_text_longer_than_its_image():
    image = femto.HEADER.pack(femto.MAGIC, 0, 0, 0, 0, 24, 0) + mov(0, 5)
    assert StockVm(image + RETURN_77).execute(0, 0, [])[0].r0 == 77


def test_no_magic_is_asked_for():
    assert StockVm(femto.HEADER.pack(1, 2, 3, 0, 0, 16, 0) + RETURN_77).execute(0, 0, [])[0].r0 == 77


def test_helpers_ask_with_eight_bits():
    """What a host's helper can ask the engine of an argument: 256 octets and more count modulo 256."""
    vm, memory = StockVm(femto.image(RETURN_77)), Buffer(16, low=True)
    rights = [(memory.address, 16, READ | WRITE)]
    assert [size for size in (16, 17, 255, 256, 272, 273) if vm.readable(rights, memory.address, size)] == [16, 256, 272]


@pytest.mark.parametrize("text, theirs, right, wrong", [
    (insn(0xC4, 0, imm=1), 0xC4, 0xFFFFFFFD, M64 - 2),
    (insn(0x84, 0), 0x8C, 5, 5),
    (insn(0x04, 0, imm=10) + insn(0x84, 0), 0x8C, 0xFFFFFFFB, M64 - 4)])
def test_its_32_bit_arithmetic_where_it_is_compiled_in(text, theirs, right, wrong):
    """FEMTO_CONTAINER_ENABLE_ALU32: ARSH and NEG extend the sign where they should clear the upper half. `femto` uses none of it."""
    begin = mov(0, 0) + insn(0x07, 0, imm=-5)
    assert outcome(begin + text[:-8] + bytes([theirs]) + text[-7:] + EXIT, options=("-DFEMTO_CONTAINER_ENABLE_ALU32=1",)) == wrong
    assert run_raw(begin + text + EXIT).r0 == right


@settings(max_examples=2000, deadline=None)
@given(sequences())
def test_the_model_is_the_engine(text):
    want = modelled(text, OLD)
    assume(want != "undefined")
    assert outcome(text) == want
