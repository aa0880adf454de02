"""`lpnc bench` on the emulated Cortex-M3: the small programs do their work, at no more cycles than is said."""

import pytest

from lpn.runtime.engines import EngineError, EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.compiler.bench import m3 as bench_m3, m3_report as bench_m3_report
from lpn.compiler.bench.frames import read_frames
from lpn.runtime.variants import OPTIONS, SMALLEST

#: At most so many times native C: checked, certified.
LIMITS = {"fletcher32": (13.5, 10), "hdrparse": (13.3, 10), "inetck": (12.5, 8.6)}


@pytest.fixture(scope="module")
def micro():
    return {name: bench_m3.micro(name, data) for name, data in bench_m3.INPUTS.items()}


@pytest.mark.parametrize("name", LIMITS)
def test_small_programs(micro, name):
    forms = micro[name]
    for form, limit in zip(("checked", "certified"), LIMITS[name]):
        assert forms["native C"].cycles < forms[form].cycles <= limit * forms["native C"].cycles
    assert forms["certified"].cycles < forms["certified, smallest"].cycles <= 15 * forms["native C"].cycles
    assert forms["checked"].cycles * 2 < forms["64-bit registers"].cycles
    assert forms["checked"].insns == forms["certified"].insns == forms["64-bit registers"].insns


def test_native_forward_and_lpns():
    frames = read_frames()
    native = bench_m3.natively("forward", frames)
    assert native is not None and all(0 < s.cycles < 200 for s in native.values())


def test_a_wrong_result_is_not_measured(monkeypatch):
    call = bench_m3.call
    monkeypatch.setattr(bench_m3, "call", lambda *a, **k: (1, call(*a, **k)[1]))
    with pytest.raises(EngineError, match="inetck, checked: ok, 54600 instead of 1"):
        bench_m3.micro("inetck", bench_m3.INPUTS["inetck"])


def test_translated_code_is_near_native(micro):
    for name, most in {"fletcher32": 1.15, "hdrparse": 1.2, "inetck": 1.1}.items():
        assert micro[name]["translated"].cycles <= most * micro[name]["native C"].cycles


def test_tables(micro):
    found = bench_m3.OnM3(micro=micro, packets={"forward": {"native C": {"f": bench_m3.Spent(1, 2, 3)},
                                                             "fused, m3": {"f": bench_m3.Spent(10, 30, 40)}}}, text={"tables": 7})
    assert ["forward, fused, m3", 10, 30, "15.0", 40] in bench_m3_report.packet_rows(found)
    assert len(bench_m3_report.micro_rows(found)) == 18 and bench_m3_report.size_rows(found) == [["tables", 7, ""]]


#: At most so many bytes of flash, at -Os. The aim is 6 KB for interpreter and check, 10 KB with the translator.
FLASH = {
    "interpreter, 32 bits": 6742,
    "interpreter, 64 bits, and helpers": 5880,
    "images and their check": 2761,
    "certificates": 3732,
    "translator": 6551,
    "what translated code calls": 696,
    "chains": 1134,
    "smallest: interpreter, 32 bits": 1144,
    "smallest: helpers": 394,
    "smallest: translator": 3688,
}
#: And of RAM: a container has 64 at most; the stack of an execution context is 512, for all containers.
RAM = {"a loaded container": 56, "an execution context": 1408, "of it, the interpreter's run": 992}


def test_the_engine_stays_small():
    """Budgets. gcc 12 made these figures; another compiler may need a few bytes more."""
    flash, ram = bench_m3.text_sizes(), bench_m3.memory_sizes()
    assert {part: size for part, size in flash.items() if size > FLASH.get(part, 1 << 20)} == {}
    judged = flash["smallest: interpreter, 32 bits"] + flash["smallest: helpers"] + flash["certificates"]
    assert judged <= 6 << 10 and judged + flash["smallest: translator"] <= 10 << 10
    assert {what: size for what, size in ram.items() if size > RAM[what]} == {}


def test_loading_stays_cheap():
    from lpn.compiler.bench.measure import program_of
    from lpn.compiler.build import compile_program
    from lpn.compiler.judge import sealed
    build = compile_program(program_of("forward"), fuse=False)
    sealed(build)
    spent = bench_m3.loading(build.bundle)
    assert spent.code < 8 * spent.insns < spent.image
    assert 0 < spent.translate <= 8_393 and 0 < spent.check <= 9_081 and 0 < spent.plan <= 4_940      # of 73 slots
    assert 0 < spent.certificate <= 36_827
    usual, smallest = bench_m3.translating(build.bundle), bench_m3.translating(build.bundle, *OPTIONS[SMALLEST])
    assert [each.code for each in smallest.translated] == [each.code for each in usual.translated]
    assert sum(each.cycles for each in smallest.loading) < spent.translate


def test_the_way_around_a_container_stays_short():
    """A frame's cycles from its arrival to the verdict, interpreted and translated. Native C, without tables and set-up, takes 202 and 76."""
    from lpn.compiler.bench.measure import program_of
    from lpn.compiler.build import compile_program
    from lpn.compiler.judge import sealed
    frames = read_frames()
    for name, most in {"decompress": {"m3": 1581, "thumb2": 439}, "forward": {"m3": 1256, "thumb2": 608}}.items():
        build = compile_program(program := program_of(name), fuse=True)
        sealed(build)
        assert build.bundle.record_size == 0            # headers live in registers: there is none to clear
        frame = frames.of(name, bench_m3.PAYLOADS[0])[0]
        assert all(bench_m3.packet(name, program, build, engine, frames, frame).cycles <= cycles for engine, cycles in most.items())
