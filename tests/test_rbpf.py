"""The rbpf crate as an engine: its instructions, what it lacks by name, chains and random programs as in C."""

import pytest
import test_engine_chain as chains
from engine_isa import (ALU, EDGES, EXIT, JUMPS, M32, M64, PATTERN, alu_programs, insn, jump_programs, lddw,
                        linked, load_programs, mov, store_programs, swap_programs)
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.bundle import Entry, KeyField, Table
from lpn.compiler.image import Kind
from lpn.runtime.engine import build as engine_build
from lpn.runtime.engines import EngineError, EngineUnavailable, get_engine
from lpn.runtime.raw import run_raw
from lpn.runtime.rbpf import build
from lpn.runtime.rbpf.engine import run_raw_rbpf
from lpn.runtime.rbpf.translate import translate


@pytest.fixture(autouse=True, scope="module")
def available():
    try:
        get_engine("rbpf")
    except EngineUnavailable as e:
        pytest.skip(str(e))


def value_of(text: bytes, **memory) -> int:
    result = run_raw_rbpf(text, **memory)
    assert result.error == "ok"
    return result.r0


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("name", [n for n in ALU if n not in ("sdiv", "smod")])
def test_alu(name, width, immediate):
    for text, want in alu_programs(name, width, immediate):
        assert value_of(text) == want, text.hex()


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("name", JUMPS)
def test_jumps(name, width, immediate):
    for text, want in jump_programs(name, width, immediate):
        assert value_of(text) == want, text.hex()


def test_neg_swaps_lddw():
    for a in EDGES:
        assert value_of(lddw(0, a) + insn(0x87) + EXIT) == -a & M64
        assert value_of(lddw(0, a) + insn(0x84) + EXIT) == -a & M32
        assert value_of(lddw(0, a) + EXIT) == a
    for name, text, want in swap_programs():
        if not name.startswith("bswap"):
            assert value_of(text) == want, name


def test_memory():
    for text, want in load_programs(False):
        assert value_of(text, ctx=PATTERN) == want
    for register in (False, True):
        for text, want in store_programs(register):
            assert run_raw_rbpf(text, ctx=PATTERN).ctx == want


@pytest.mark.parametrize("op,src,name", [(0x18, 8, "rodata"), (0x18, 9, "data"), (0xD8, 0, "rodata"),
                                         (0xB8, 0, "data")])
def test_addresses_of_rodata_and_data(op, src, name):
    text = insn(op, 6, src, imm=3) + insn(0) + insn(0x71, 0, 6, 1) + EXIT
    assert value_of(text, **{name: b"\1\2\3\4\5"}) == 5


LACKING = {
    "bswap": insn(0xD7, 0, imm=16), "signed division": insn(0x37, 0, 0, 1, 2),
    "sign-extending move": insn(0xBF, 0, 1, 8), "long jump": insn(0x06, imm=0),
    "local call": insn(0x85, 0, 1, imm=0), "sign-extending load": insn(0x91, 0, 1),
    "atomic operation": insn(0xDB, 1, 0),
}


@pytest.mark.parametrize("name", LACKING)
def test_lacking(name):
    with pytest.raises(EngineError, match=f"rbpf has no {name} \\(instruction 1\\)"):
        run_raw_rbpf(mov(0, 0) + LACKING[name] + EXIT)


def test_out_of_bounds_is_seen():
    text = insn(0x79, 6, 1, 0) + insn(0x71, 0, 6, 100) + EXIT
    assert "out of bounds memory load" in run_raw_rbpf(text, layout="lpn", packet=b"abc").error


def test_its_own_verifier_speaks():
    with pytest.raises(EngineError, match="rbpf: .*unknown eBPF opcode"):
        run_raw_rbpf(insn(0x20) + insn(0xFF) + EXIT)
    with pytest.raises(EngineError, match="jump out of the text"):
        run_raw_rbpf(insn(0x05, off=7) + EXIT)


def test_jumps_over_rewritten_instructions():
    """Distances grow with what is inserted, in both directions."""
    text = (mov(6, 3) + insn(0x04, 0, imm=5) + insn(0x14, 6, imm=1) + insn(0x55, 6, off=-3) + insn(0x15, 6, off=2)
            + insn(0x04, 0, imm=100) + lddw(0, 1)[:0] + insn(0x04, 0, imm=100) + EXIT)
    assert value_of(text) == run_raw(text).r0 == 15
    assert len(translate(text, 0, 0)) == len(text) + 4 * 8


# The chain's rules hold here too: the C engine's tests with this engine behind `load`.

@pytest.fixture
def load(monkeypatch):
    def load_rbpf(*images, **more):
        return get_engine("rbpf").load(chains.bundle(*images, **more))
    monkeypatch.setattr(chains, "load", load_rbpf)


def test_chain_rules(load):
    for verdict in (0, 3):
        chains.test_rebuilt_packet(verdict)
    chains.test_rebuilt_packet_without_headers_or_payload()
    chains.test_no_packet_is_rebuilt_after_deliver_or_drop()
    chains.test_fused_container_deparses_when_its_flag_says_so()
    for offset, value in ((40, 257), (40, -1), (44, 3), (44, -1)):
        chains.test_out_len_and_payload_are_checked(offset, value)
    for name in (n for n, (at, _) in chains.CONTEXT.items() if at >= 40):
        chains.test_context_values(name)
    chains.test_packet_pointers_and_length()
    chains.test_record_is_zeroed_and_shared_and_state_is_kept()
    chains.test_data_section_is_the_containers_own_and_kept()
    chains.test_packet_changes_reach_the_result()
    chains.test_traces()
    chains.test_clock_is_the_contexts()
    chains.test_table_entries_change_between_packets()


@pytest.mark.parametrize("verdict", range(7))
def test_verdicts_as_in_c(verdict):
    bundle = chains.bundle(chains.processor(verdict, 1))
    ours, theirs = (get_engine(name).load(bundle).run(b"frame") for name in ("engine", "rbpf"))
    assert chains.summary(ours) == chains.summary(theirs)
    assert (ours.insns, theirs.insns) == (2, None)


def test_bad_lookup_is_a_fault():
    text = mov(1, 3) + insn(0x85, imm=1) + EXIT
    bundle = chains.bundle(chains.image("a", Kind.PROCESSOR, text))
    assert get_engine("rbpf").load(bundle).run(b"").reason == "engine: bad helper argument"


def test_missing_cargo_is_said_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CARGO", raising=False)
    with pytest.raises(engine_build.BuildError, match="needs cargo"):
        build.build()


# Random programs: scalars in r0 and r3-r9, memory through r1 and r10 at known places, jumps forward only, so that
# nothing depends on an address.
scalar = st.sampled_from((0, 3, 4, 5, 6, 7, 8, 9))
numbers = st.integers(-2**31, 2**31 - 1) | st.integers(-3, 70)
places = st.one_of(st.tuples(st.just(1), st.integers(0, 24)), st.tuples(st.just(10), st.integers(-40, -8)))
alu_codes = st.sampled_from(sorted({c for c, off, _ in ALU.values() if not off}))
jump_codes = st.sampled_from([c for c, _ in JUMPS.values()])
steps = st.one_of(
    st.builds(lambda c, w, d, v: insn(c << 4 | w, d, imm=v), alu_codes, st.sampled_from((4, 7)), scalar, numbers),
    st.builds(lambda c, w, d, s: insn(c << 4 | w | 8, d, s), alu_codes, st.sampled_from((4, 7)), scalar, scalar),
    st.builds(lambda o, d: insn(o, d), st.sampled_from((0x84, 0x87)), scalar),
    st.builds(lambda o, d, b: insn(o, d, imm=b), st.sampled_from((0xD4, 0xDC)), scalar, st.sampled_from((16, 32, 64))),
    st.builds(lambda d, v: lddw(d, v), scalar, st.integers(0, 2**64 - 1)),
    st.builds(lambda z, d, p: insn(0x61 | z, d, p[0], p[1]), st.sampled_from((0, 8, 16, 24)), scalar, places),
    st.builds(lambda z, p, v: insn(0x62 | z, p[0], 0, p[1], v), st.sampled_from((0, 8, 16, 24)), places, numbers),
    st.builds(lambda z, p, s: insn(0x63 | z, p[0], s, p[1]), st.sampled_from((0, 8, 16, 24)), places, scalar),
    st.builds(lambda c, w, d, v: (c << 4 | w, d, 0, v), jump_codes, st.sampled_from((5, 6)), scalar, numbers),
    st.builds(lambda c, w, d, s: (c << 4 | w | 8, d, s, 0), jump_codes, st.sampled_from((5, 6)), scalar, scalar),
)


@st.composite
def programs(draw):
    """Steps; each jump goes to the start of a later one."""
    parts = draw(st.lists(steps, max_size=30))
    return linked(parts, lambda first, last: draw(st.integers(first, last))) + EXIT


@settings(max_examples=500)
@given(programs(), st.binary(min_size=32, max_size=32))
def test_random_programs_agree(text, ctx):
    ours, theirs = run_raw(text, ctx=ctx), run_raw_rbpf(text, ctx=ctx)
    assert ours.error == theirs.error == "ok"
    assert (ours.r0, ours.ctx) == (theirs.r0, theirs.ctx)


@given(st.binary(min_size=2, max_size=2))
def test_lookup_agrees(key):
    table = Table("t", 0, (KeyField(16, "lpm"),), 2, 4, (Entry(((0x1200, 8),), 1, b"ab"), Entry(((0, 1),), 2, b"cd")))
    text = (insn(0x79, 2, 1, 0) + mov(1, 0) + mov(3, 2) + insn(0xBF, 4, 10) + insn(0x07, 4, imm=-8) + mov(5, 4)
            + insn(0x85, imm=1) + insn(0x61, 6, 10, -8) + insn(0xBF, 7, 0) + insn(0x67, 7, imm=16)
            + insn(0xBC, 0, 6) + insn(0x4F, 0, 7) + insn(0x67, 0, imm=16) + insn(0x47, 0, imm=2) + EXIT)
    bundle = chains.bundle(chains.image("a", Kind.PROCESSOR, text), tables=(table,))
    ours, theirs = (get_engine(name).load(bundle).run(key) for name in ("engine", "rbpf"))
    assert chains.summary(ours) == chains.summary(theirs)
