"""The check of a text in Thumb-2 itself (load_thumb2.S) and in C (load.c) say the same: the error and its slot, or what the program does, where its functions
begin, and how much stack they use."""
from __future__ import annotations

import random

import pytest
from engine_isa import EXIT, insn, lddw
from test_engine_load import REFUSED
from test_thumb2 import call
from test_thumb2_same import random_program, with_functions

from lpn.runtime.engines import EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.runtime.m3.core import Core
from lpn.runtime.m3.firmware import engine

TOLD = 3 + 16                   #: words of lpn_host_load
NOTHING = insn(0xB4)            #: w0 = 0


@pytest.fixture(scope="module")
def core() -> Core:
    return Core(engine(), counting=False)


def there(core: Core, text: bytes) -> tuple[int, ...]:
    mark = core.mark()
    where, told = core.allocate(len(text) or 1, text), core.allocate(4 * TOLD)
    error = core.call("lpn_host_load", where, len(text), told)
    words = core.read(told, 4 * TOLD)
    core.release(mark)
    return said(error, [int.from_bytes(words[i:i + 4], "little") for i in range(0, len(words), 4)])


def here(text: bytes) -> tuple[int, ...]:
    from lpn.runtime.engine.build import library
    ffi, lib = library()
    told = ffi.new("uint32_t[]", TOLD)
    error = lib.lpn_host_load(ffi.from_buffer("uint8_t[]", text), len(text), told)
    return said(error, list(told))


def said(error: int, told: list[int]) -> tuple[int, ...]:
    """Of a text that is refused the error and the slot, of others all."""
    return (error, told[0]) if error else (0, *told[1:3 + told[2]])


def test_what_is_refused(core: Core) -> None:
    for name, (text, *_) in REFUSED.items():
        assert there(core, text) == here(text), name


def test_every_opcode_with_fields_at_their_limits(core: Core) -> None:
    """In front of it r2 is a copy of r10, so what it does with the stack is followed, too."""
    draw, taken = random.Random(1), 0
    for op in range(256):
        for _ in range(40):
            one = insn(op, draw.choice((0, 1, 2, 2, 9, 10, 11, 15)), draw.choice((0, 0, 0, 1, 2, 9, 10, 11, 15)), draw.choice((0, 0, 0, 0, 1, 2, 8, 16, 32, -1, -8, -600)),
                       draw.choice((0, 0, 0, 1, 16, 32, 64, 0x30, -8, 0xE1, 0xF1, 0x100, 0x110, 1 << 31)))
            text = insn(0xBF, 2, 10) + one + draw.choice((b"", insn(0) if op & 7 == 0 else b"")) + insn(0x7B, draw.choice((2, 10)), 1, draw.choice((-8, -20, 0))) + NOTHING + EXIT
            assert there(core, text) == here(text), text.hex()
            taken += here(text)[0] == 0
    assert taken > 300


def followed(draw: random.Random) -> bytes:
    """Addresses on the stack: copies, sums, what is stored there and what is loaded over them."""
    low = draw.choice((3, 10))

    def register() -> int:
        return draw.choice((10, *range(low)))

    def one() -> bytes:
        a, b, by = draw.randrange(low), register(), draw.choice((-8, -16, -1, 0, 1, 8, -64, -100, -512, -511, -513, 512, 1024, -1024, 1025, -1025, 1 << 31, 0x7FFFFFFF))
        near = draw.choice((0, -1, -8, -20, -40, -100, -256, -300, -400, -512, -513, 8, 0x7FFF, -0x8000))
        return draw.choice((
            lambda: insn(0xBF, a, b), lambda: insn(0xBF, a, b, draw.choice((8, 16, 32))), lambda: insn(0xBC, a, b), lambda: insn(draw.choice((0x07, 0x17)), a, 0, 0, by),
            lambda: insn(0x0F, a, b), lambda: insn(0x79, a, b, near), lambda: insn(draw.choice((0x61, 0x71, 0x99 - 8)), a, b, near), lambda: insn(0x7B, b, a, near),
            lambda: insn(0x62, b, 0, near, 1), lambda: insn(0xDB, b, a, near, draw.choice((0, 1, 0xE1, 0xF1, 0x100, 0x110))), lambda: lddw(a, 1 << 40),
            lambda: insn(0x85, imm=2), lambda: insn(draw.choice((0x15, 0x55, 0x1D, 0x16)), b, 0, 0, 0), lambda: insn(0x47, a, 0, 0, 1)))()

    return b"".join(one() for _ in range(draw.randrange(1, 14))) + EXIT


def test_stack_is_followed_alike(core: Core) -> None:
    frames = set()
    for seed in range(3000):
        draw = random.Random(seed)
        text = followed(draw)
        if seed % 2:                # what is known at the end of a function is not known in the next one
            text = call(len(text) // 8) + text + followed(draw)
        found = here(text)
        assert there(core, text) == found, seed
        frames.add(found[-1] >> 16)
    assert len(frames) > 8 and {0, 512} <= frames


def test_random_texts(core: Core) -> None:
    """Any instructions, functions that call each other, and what becomes of them when an octet changes."""
    errors: set[int] = set()
    for seed in range(120):
        draw = random.Random(seed)
        text = random_program(draw) if seed % 3 else with_functions(draw)
        for _ in range(4):
            assert there(core, text) == here(text), seed
            errors.add(here(text)[0])
            at = draw.randrange(len(text))
            text = text[:at] + bytes([draw.choice((text[at] ^ 1 << draw.randrange(8), draw.randrange(256)))]) + text[at + 1:]
    assert len(errors) >= 6


def test_all_alignments(core: Core) -> None:
    text = with_functions(random.Random(5))
    for odd in range(8):
        mark = core.mark()
        where, told = core.allocate(len(text) + 8, bytes(odd) + text), core.allocate(4 * TOLD)
        error = core.call("lpn_host_load", where + odd, len(text), told)
        words = core.read(told, 4 * TOLD)
        core.release(mark)
        assert said(error, [int.from_bytes(words[i:i + 4], "little") for i in range(0, len(words), 4)]) == here(text)
