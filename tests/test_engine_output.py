"""The output buffer: what of it a container may address is cleared for each packet, and no more of it leaves the node."""

from dataclasses import replace

import pytest
from engine_isa import EXIT, insn
from test_engine_chain import bundle, image, ret

from lpn.compiler.image import Flag, Image, Kind
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.verifier import LPN
from lpn.verifier.certify import NoCertificate, Sizes, certify
from lpn.verifier.verify import analyse


def available(name: str):
    try:
        return get_engine(name)
    except EngineUnavailable as e:
        pytest.skip(str(e))


def certified(made: Image) -> Image:
    certificate = certify(made.text, *analyse(made.text, LPN, record_size=16, state_size=8), Sizes(record=16, state=8, output=made.out_size))
    return replace(made, certificate=certificate, flags=made.flags | Flag.CERTIFIED | Flag.CLEAN32)


@pytest.mark.parametrize("name", ["engine", "m3", "thumb2"])
@pytest.mark.parametrize("size", [64, 128, 256])
@pytest.mark.parametrize("way", [certified, lambda made: made])
def test_what_may_be_addressed_of_the_output_is_cleared(way, size, name):
    """For each packet, and for a later container of its chain only what an earlier one cannot have written."""
    address = insn(0x79, 2, 1, 32)

    def changes(at: int, name: str) -> Image:
        """Delivers what is there, if it is not 0, and sets it."""
        text = insn(0x71, 0, 2, at) + insn(0x72, 2, 0, at, 7) + insn(0x16, 0, 0, 2) + insn(0x64, 0, imm=16) + insn(0x44, 0, imm=2) + EXIT
        return way(image(name, Kind.PROCESSOR, address + text, out_size=size))
    for at in (0, size - 1):
        for chain, want in (((changes(at, "one"),), "ACCEPT"), ((changes(at, "one"), changes(at, "two")), "DELIVER")):
            program = available(name).load(bundle(*chain))
            assert [(r.verdict, r.port) for r in (program.run(b"ab") for _ in range(3))] == [(want, 7 if want == "DELIVER" else None)] * 3


@pytest.mark.parametrize("name", ["engine", "m3", "thumb2"])
def test_no_more_of_the_output_leaves_the_node_than_its_containers_may_address(name):
    text = insn(0x79, 2, 1, 32) + insn(0x72, 2, 0, 63, 1) + insn(0x62, 1, 0, 40, 64) + ret(0)
    more = text.replace(insn(0x62, 1, 0, 40, 64), insn(0x62, 1, 0, 40, 65))
    for code, want in ((text, bytes(63) + b"\1ab"), (more, None)):
        result = available(name).load(bundle(certified(image("emit", Kind.DEPARSER, code, out_size=64)))).run(b"ab")
        assert (result.out, result.reason) == (want, None if want else "engine: rebuilt packet out of bounds")


def test_a_container_that_reaches_beyond_its_output_has_no_certificate():
    with pytest.raises(NoCertificate):
        certified(image("emit", Kind.DEPARSER, insn(0x79, 2, 1, 32) + insn(0x72, 2, 0, 64, 1) + ret(0), out_size=64))
