"""What the stock Femto-Container engine gets wrong, case by case: none of it is ours, in any engine.

Each program runs on the host, in the interpreter on the emulated Cortex-M3, and translated.
"""
from __future__ import annotations

import pytest
from engine_isa import EXIT, insn
from test_conformance import ENGINES, assemble

from lpn.compiler.image import Image, ImageError, Kind
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.runtime.raw import run_raw

U64 = (1 << 64) - 1
#: Name -> (program in the syntax of the conformance suite, r0)
PROGRAMS = {
    "byte swap": ("mov %r0, 0x1234\nbe16 %r0\nexit", 0x3412),
    "64-bit byte swap": ("lddw %r0, 0x0102030405060708\nbe64 %r0\nexit", 0x0807060504030201),
    "32-bit jumps": ("lddw %r1, 0x100000001\nmov %r0, 1\njeq32 %r1, 1, exit\nmov %r0, 0\nexit", 1),
    "32-bit arithmetic": ("lddw %r0, 0x1ffffffff\nadd32 %r0, 1\nexit", 0),
    "negation": ("mov %r0, 5\nneg %r0\nexit", U64 - 4),
    "atomics": ("stdw [%r10-8], 40\nmov %r1, 2\nlock fetch add [%r10-8], %r1\nldxdw %r0, [%r10-8]\nadd %r0, %r1\nexit", 82),
    "local calls": ("mov %r1, 20\ncall local twice\nexit\ntwice:\nmov %r0, %r1\nadd %r0, %r1\nexit", 40),
    "lddw's low word is not signed": ("lddw %r0, 0x80000000\nexit", 0x80000000),
    "arsh32 clears the upper half": ("mov %r0, -16\narsh32 %r0, 1\nexit", 0xFFFFFFF8),
    "neg32 clears the upper half": ("mov %r0, 1\nneg32 %r0\nexit", 0xFFFFFFFF),
    "shift counts are masked": ("mov %r0, 1\nmov %r1, 65\nlsh %r0, %r1\nexit", 2),
    "32-bit shift counts, too": ("mov %r0, 1\nmov %r1, 33\nlsh32 %r0, %r1\nexit", 2),
    "a division by zero gives 0": ("mov %r0, 7\nmov %r1, 0\ndiv %r0, %r1\nexit", 0),
    "modulo zero leaves the dividend": ("mov %r0, 7\nmov %r1, 0\nmod %r0, %r1\nexit", 7),
    "a thousand branches": ("mov %r0, 0\nagain:\nadd %r0, 1\njlt %r0, 1000, again\nexit", 1000),
    "a misaligned load of 8 bytes": ("lddw %r1, 0x1122334455667788\nstxdw [%r10-15], %r1\nldxdw %r0, [%r10-15]\nexit",
                                     0x1122334455667788),
    "a misaligned store of 8 bytes": ("stdw [%r10-13], -2\nldxw %r0, [%r10-11]\nexit", 0xFFFFFFFF),
    "a misaligned atomic": ("mov %r1, 3\nstdw [%r10-15], 4\nlock add [%r10-15], %r1\nldxdw %r0, [%r10-15]\nexit", 7),
}
# A jump to instruction 0 is one to the loop's head.
BACK_TO_0 = insn(0x07, 0, imm=1) + insn(0xA5, 0, 0, -2, 10) + EXIT


@pytest.fixture(params=ENGINES)
def run(request):
    if request.param != "host":
        try:
            get_engine("m3")
        except EngineUnavailable as e:
            pytest.skip(str(e))
    return ENGINES[request.param]


def test_results(run):
    wrong = {name: (hex(got), hex(want)) for name, (source, want) in PROGRAMS.items() if (got := run(assemble(source), b"")) != want}
    assert wrong == {}


@pytest.mark.parametrize("text, error", [
    (insn(0x05, off=1) + EXIT, "jump out of the text or into an lddw"),                     # one past the end
    (insn(0x05, off=1) + insn(0x18, 0) + insn(0) + EXIT, "jump out of the text or into an lddw"),
    (insn(0xB7, 10, imm=1) + EXIT, "write to r10"),
])
def test_what_the_loader_refuses(text, error):
    assert run_raw(text).error == error


def test_a_jump_to_instruction_0():
    assert run_raw(BACK_TO_0).r0 == 10


def test_a_text_longer_than_its_image():
    image = Image("m", Kind.PROCESSOR, insn(0xB7, 0) + EXIT, record_size=0, record_hash=1).to_bytes()
    with pytest.raises(ImageError):
        Image.from_bytes(image[:-8])


def test_bounds_do_not_wrap(run):
    if run is ENGINES["thumb2"]:
        pytest.skip("translated code is proved before; it checks nothing")
    for address in ("0x7fffffff", "0x7ffffffffffffffc", "0xfffffffffffffffc", "0xfffffffc"):
        assert run(assemble(f"lddw %r1, {address}\nldxdw %r0, [%r1+0]\nexit"), b"12345678") is None


def test_helpers_get_checked_pointers():
    """lookup with a key at an address that is nowhere."""
    text = assemble("mov %r1, 0x80400\nlddw %r2, 0x10\nmov %r3, %r10\nadd %r3, -8\ncall helper 1\nexit")
    assert run_raw(text).error == "helper argument out of bounds"
