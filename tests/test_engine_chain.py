"""A packet's way through a chain: context, verdicts, rebuilding, faults."""

from dataclasses import replace

import pytest
from engine_isa import EXIT, insn, lddw, mov

from lpn.compiler.bundle import Bundle, Entry, Hook, KeyField, Table
from lpn.compiler.helpers import which
from lpn.compiler.image import Flag, Image, Kind
from lpn.runtime.engines import EngineError, get_engine
from lpn.runtime.memory import CONTEXT

META = {"port": 5, "iface": 1, "rssi": -71, "lqi": 200, "time": 4_000_000_000, "node_short": 0xBEEF,
        "node_ext": 0x0011223344556677, "node_pan": 0xABCD, "clock": 4_000_000_100}


def image(name: str, kind: Kind, text: bytes, **more) -> Image:
    return Image(name, kind, text, record_size=16, state_size=8, record_hash=1, state_hash=2, **more)


def bundle(*images: Image, **more) -> Bundle:
    chain = tuple(i.name for i in images)
    return Bundle("p", 1, images, (Hook("radio.rx_done", chain),) if chain else (), record_size=16, state_size=8, record_hash=1,
                  state_hash=2, reasons=("SHORT", "OTHER"), **more)


def load(*images: Image, **more):
    return get_engine("engine").load(bundle(*images, **more))


def ret(verdict: int, arg: int = 0) -> bytes:
    return insn(0xB4, 0, imm=verdict | arg << 16) + EXIT


def parser(verdict=0, arg=0, payload=0):
    return image("parse", Kind.PARSER, insn(0x62, 1, 0, 44, payload) + ret(verdict, arg))


def processor(verdict=0, arg=0, name="work"):
    return image(name, Kind.PROCESSOR, ret(verdict, arg))


def deparser(out=b"", verdict=0, arg=0):
    text = insn(0x79, 2, 1, 32) + b"".join(insn(0x72, 2, 0, i, b) for i, b in enumerate(out))
    return image("emit", Kind.DEPARSER, text + insn(0x62, 1, 0, 40, len(out)) + ret(verdict, arg))


def summary(result):
    return result.verdict, result.reason, result.port, result.out


@pytest.mark.parametrize("verdict,arg,want", [
    (0, 0, ("ACCEPT", None, None, None)), (1, 1, ("DROP", "OTHER", None, None)),
    (1, 9, ("DROP", "reason 9", None, None)), (2, 5683, ("DELIVER", None, 5683, None)),
    (3, 0, ("TRANSMIT", None, None, None)), (4, 0, ("CONSUMED", None, None, None)),
])
def test_verdicts(verdict, arg, want):
    assert summary(load(processor(verdict, arg)).run(b"frame")) == want


@pytest.mark.parametrize("verdict", [5, 255, 0xFFFF])
def test_unknown_verdict_is_an_engine_drop(verdict):
    result = load(processor(verdict)).run(b"frame")
    assert summary(result) == ("DROP", "engine: unknown verdict", None, None)
    assert result.fault == "module work, instruction 1: unknown verdict"


def test_accept_and_transmit_go_on_the_others_end_the_chain():
    first, second = processor(3, name="a"), processor(0, name="b")
    assert load(first, second).run(b"").verdict == "TRANSMIT"
    assert load(second, first).run(b"").verdict == "TRANSMIT"
    for verdict, insns in ((0, 4), (3, 4), (1, 2), (2, 2), (4, 2)):
        assert load(processor(verdict, name="a"), second).run(b"").insns == insns
    assert load(first, processor(1, 1, name="c")).run(b"").reason == "OTHER"


@pytest.mark.parametrize("verdict", [0, 3])
def test_rebuilt_packet(verdict):
    result = load(parser(payload=3), processor(verdict), deparser(b"HD")).run(b"abcdef")
    assert (result.verdict, result.out) == (("ACCEPT", "TRANSMIT")[verdict == 3], b"HDdef")


def test_rebuilt_packet_without_headers_or_payload():
    assert load(parser(payload=2), deparser(b"")).run(b"ab").out == b""
    assert load(parser(payload=0), deparser(b"")).run(b"ab").out == b"ab"


def test_no_packet_is_rebuilt_after_deliver_or_drop():
    assert load(parser(), processor(2, 7), deparser(b"HD")).run(b"ab").out is None
    assert load(parser(), deparser(b"HD", 1, 0)).run(b"ab").out is None


def test_fused_container_deparses_when_its_flag_says_so():
    text = deparser(b"HD").text
    for flags, want in ((Flag(0), None), (Flag.DEPARSES, b"HDab")):
        assert load(image("all", Kind.FUSED, text, flags=flags)).run(b"ab").out == want


@pytest.mark.parametrize("offset,value", [(40, 257), (40, -1), (44, 3), (44, -1)])
def test_out_len_and_payload_are_checked(offset, value):
    bad = image("emit", Kind.DEPARSER, insn(0x62, 1, 0, offset, value) + ret(0))
    assert load(bad).run(b"ab").reason == "engine: rebuilt packet out of bounds"


@pytest.mark.parametrize("cut,want", [(0, b"HDbcd"), (1, b"HDbc"), (3, b"HD"), (4, None), (-1, None)])
def test_what_a_container_cuts_off_lies_behind_the_headers(cut, want):
    """The next module sees a shorter packet; more than the payload cannot be cut off."""
    work = image("work", Kind.PROCESSOR, insn(0x62, 1, 0, CONTEXT["cut"][0], cut) + ret(0))
    result = load(parser(payload=1), work, deparser(b"HD")).run(b"abcd")
    assert (result.out, result.reason) == (want, None if want is not None else "engine: rebuilt packet out of bounds")


def test_a_rebuilt_packet_is_no_longer_than_a_packet():
    program = load(parser(payload=1), deparser(b"HD"))
    assert len(program.run(bytes(2047)).out) == 2048
    assert program.run(bytes(2048)).reason == "engine: rebuilt packet out of bounds"


@pytest.mark.parametrize("name", [n for n in CONTEXT if CONTEXT[n][0] >= 40])
def test_context_values(name):
    """Each slot, read with its width: upper half checked against a shifted copy in a DELIVER argument."""
    offset, width = CONTEXT[name]
    want = (META.get(name, 0) % 2**32 if name == "rssi" else META.get(name, 0))
    for shift in range(0, 8 * width, 16):
        text = insn(0x79 if width == 8 else 0x61, 0, 1, offset) + insn(0x77, 0, imm=shift) \
            + insn(0x57, 0, imm=0xFFFF) + insn(0x67, 0, imm=16) + insn(0x47, 0, imm=2) + EXIT
        assert load(image("read", Kind.PROCESSOR, text)).run(b"abc", META).port == want >> shift & 0xFFFF


def test_packet_pointers_and_length():
    text = insn(0x79, 2, 1, 0) + insn(0x79, 0, 1, 8) + insn(0x1F, 0, 2) + insn(0x67, 0, imm=16) \
        + insn(0x47, 0, imm=2) + EXIT
    program = load(image("length", Kind.PROCESSOR, text))
    for size in (0, 1, 127, 2048):
        assert program.run(bytes(size)).port == size
    assert program.run(bytes(2049)).reason == "engine: packet too long"


def test_record_is_zeroed_and_shared_and_state_is_kept():
    write = insn(0x79, 2, 1, 16) + insn(0x79, 3, 1, 24) + insn(0x61, 4, 2) + insn(0x61, 5, 3) \
        + insn(0x07, 4, imm=1) + insn(0x07, 5, imm=1) + insn(0x63, 2, 4) + insn(0x63, 3, 5) + ret(0)
    read = insn(0x79, 2, 1, 16) + insn(0x61, 0, 2) + insn(0x67, 0, imm=16) + insn(0x47, 0, imm=2) + EXIT
    program = load(image("a", Kind.PROCESSOR, write), image("b", Kind.PROCESSOR, read))
    for count in (1, 2, 3):
        assert program.run(b"x").port == 1
        assert program.state() == count.to_bytes(8, "little")
    program.set_state(bytes(7) + b"\x01")
    assert program.state() == bytes(7) + b"\x01"
    with pytest.raises(EngineError, match="7 bytes of state, the bundle has 8"):
        program.set_state(bytes(7))


def test_data_section_is_the_containers_own_and_kept():
    text = insn(0x18, 6, 9) + insn(0) + insn(0x61, 0, 6) + insn(0x07, 0, imm=1) + insn(0x63, 6, 0) \
        + insn(0x67, 0, imm=16) + insn(0x47, 0, imm=2) + EXIT
    program = load(image("a", Kind.PROCESSOR, text, data=b"\x29\0\0\0"))
    assert [program.run(b"").port for _ in range(3)] == [42, 43, 44]


def test_packet_changes_reach_the_result():
    text = insn(0x79, 2, 1, 0) + insn(0x72, 2, 0, 1, 0x58) + ret(3)
    assert load(image("a", Kind.PROCESSOR, text)).run(b"abc").packet == b"aXc"


def test_fault_names_module_and_instruction():
    bad = image("bad", Kind.PROCESSOR, mov(2, 0) + insn(0x71, 0, 2) + EXIT)
    result = load(parser(), bad, deparser(b"x")).run(b"abc")
    assert summary(result) == ("DROP", "engine: load out of bounds", None, None)
    assert result.fault == "module bad, instruction 1: load out of bounds"


def test_budget_is_the_chains():
    program = get_engine("engine").load(bundle(processor(0, name="a"), processor(0, name="b")), fuel=3)
    result = program.run(b"")
    assert (result.reason, result.insns) == ("engine: instruction budget used up", 3)


def test_traces():
    text = lddw(1, 2**63) + mov(2, -1) + insn(0x85, imm=3) + mov(1, 1) + insn(0x85, imm=3) + EXIT
    program = load(image("a", Kind.PROCESSOR, text))
    for _ in range(2):
        assert program.run(b"").traces == ((2**63, 2**64 - 1), (1, 2**64 - 1))


def test_clock_is_the_contexts():
    text = insn(0x85, imm=2) + insn(0xBF, 1, 0) + insn(0x85, imm=3) + ret(0)
    assert load(image("a", Kind.PROCESSOR, text)).run(b"", META).traces[0][0] == META["clock"]


def test_table_entries_change_between_packets():
    """The packet's first byte is the key, the action's data byte the port."""
    text = insn(0x79, 2, 1, 0) + mov(1, which(0, 1, 1)) + insn(0xBF, 3, 10) + insn(0x07, 3, imm=-8) \
        + insn(0x85, imm=1) + insn(0x71, 0, 10, -8) + insn(0x67, 0, imm=16) + insn(0x47, 0, imm=2) + EXIT
    table = Table("ports", 0, (KeyField(8, "exact"),), 1, 4, (Entry(((1,),), 1, b"\x11"),))
    program = load(image("a", Kind.PROCESSOR, text), tables=(table,))
    assert [program.run(bytes([k])).port for k in (1, 2)] == [0x11, 0]
    program.set_entries("ports", [Entry(((2,),), 1, b"\x22")])
    assert [program.run(bytes([k])).port for k in (1, 2)] == [0, 0x22]
    with pytest.raises(EngineError, match="no table 'x'; tables: ports"):
        program.set_entries("x", [])


@pytest.mark.parametrize("images,error", [
    ([processor(name="a"), parser()], "bad chain"),
    ([deparser(), processor()], "bad chain"),
    ([], "bad chain"),
    ([processor(name=f"p{i}") for i in range(9)], "bad chain"),
    ([replace(processor(), record_size=17)], "not enough memory given"),
    ([replace(processor(), state_size=9)], "not enough memory given"),
    ([image("t", Kind.TIMING, ret(0))], "bad chain"),
    ([image("f", Kind.FUSED, ret(0)), processor()], "bad chain"),
    ([image("bad", Kind.PROCESSOR, mov(10, 1) + EXIT)], "module bad, instruction 0: write to r10"),
])
def test_chains_that_are_refused(images, error):
    with pytest.raises(EngineError, match=error):
        load(*images)


def test_a_chain_whose_hashes_differ_is_refused():
    """The bundle's reader says so; the engine does as well when it is handed the images."""
    odd = replace(processor(name="odd"), record_hash=9)
    with pytest.raises(EngineError, match="record or state hashes differ"):
        load(processor(), odd)


@pytest.mark.parametrize("meta,error", [({"x": 1}, "unknown meta field 'x'"), ({"port": 2**32}, "32 bits"),
                                        ({"node_pan": 65536}, "16 bits"), ({"lqi": "1"}, "32 bits")])
def test_meta_is_checked(meta, error):
    with pytest.raises(EngineError, match=error):
        load(processor()).run(b"", meta)


def test_unknown_engine():
    with pytest.raises(EngineError, match="no engine 'x'"):
        get_engine("x")


def test_bytes_are_loaded_too():
    program = get_engine("engine").load(bundle(processor(2, 9)).to_bytes())
    assert program.run(b"").port == 9
    with pytest.raises(EngineError, match="bundle: the file is empty"):
        get_engine("engine").load(b"")


def test_local_functions_of_images():
    """The functions of each image have frames of their own: what the callers stored is there when the deepest has returned."""
    main = insn(0xBF, 6, 1) + insn(0x85, 0, 1, imm=6) + insn(0x79, 1, 6, CONTEXT["state"][0]) + insn(0x61, 2, 1) + insn(0x0F, 2, 0) + insn(0x63, 1, 2)
    first = insn(0x7A, 10, 0, -8, 5) + insn(0x85, 0, 1, imm=3) + insn(0x79, 2, 10, -8) + insn(0x0F, 0, 2) + EXIT
    second = insn(0x7A, 10, 0, -8, 11) + insn(0x7A, 10, 0, -16, 6) + insn(0x85, 0, 1, imm=3) + insn(0x79, 2, 10, -8) + insn(0x0F, 0, 2) + EXIT
    third = insn(0x7A, 10, 0, -8, 100) + insn(0x7A, 10, 0, -24, 1000) + insn(0xB7, 0, imm=48) + EXIT
    program = load(*(image(name, Kind.PROCESSOR, main + ret(0) + first + second + third, data=b"unaligned"[:n]) for name, n in (("one", 7), ("two", 0))))
    result = program.run(b"frame")
    assert summary(result) == ("ACCEPT", None, None, None), result.fault
    assert int.from_bytes(program.state()[:4], "little") == 2 * (5 + 11 + 48)
