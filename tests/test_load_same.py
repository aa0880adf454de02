"""The check of a text in Thumb-2 itself (load_thumb2.S) and in C (load.c) say the same: the error and its slot, or what the program does, where its functions
begin, and how much stack they use."""
from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_isa import EXIT, insn, lddw
from test_engine_load import REFUSED
from test_thumb2 import call
from test_thumb2_same import random_program, with_functions

from lpn.runtime.engines import EngineError, EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.runtime.m3.core import Core
from lpn.runtime.m3.firmware import engine

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
from flip import flipped                                            # noqa: E402

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


def with_opcodes(each: int) -> Iterator[bytes]:
    """So many texts for every opcode, its fields at their limits. In front of it r2 is a copy of r10, so what it does with the stack is followed, too."""
    draw = random.Random(1)
    for op in range(256):
        for _ in range(each):
            one = insn(op, draw.choice((0, 1, 2, 2, 9, 10, 11, 15)), draw.choice((0, 0, 0, 1, 2, 9, 10, 11, 15)), draw.choice((0, 0, 0, 0, 1, 2, 8, 16, 32, -1, -8, -600)),
                       draw.choice((0, 0, 0, 1, 16, 32, 64, 0x30, -8, 0xE1, 0xF1, 0x100, 0x110, 1 << 31)))
            yield insn(0xBF, 2, 10) + one + draw.choice((b"", insn(0) if op & 7 == 0 else b"")) + insn(0x7B, draw.choice((2, 10)), 1, draw.choice((-8, -20, 0))) + NOTHING + EXIT


def test_every_opcode_with_fields_at_their_limits(core: Core) -> None:
    taken = 0
    for text in with_opcodes(40):
        found = here(text)
        assert there(core, text) == found, text.hex()
        taken += found[0] == 0
    assert taken > 300


def followed(draw: random.Random) -> bytes:
    """Addresses on the stack: copies, sums, what is stored there and what is loaded over them."""
    low = draw.choice((2, 3, 10))

    def register() -> int:
        return 10 if draw.random() < 0.3 else draw.randrange(low)

    def one() -> bytes:
        a, b, far = draw.randrange(low), register(), draw.random() < 0.06          # what is far away hides the rest
        by = draw.choice((-511, -512, -513, 512, 1024, -1024, 1025, -1025, 1 << 31, 0x7FFFFFFF) if far else (-8, -16, -1, 0, 1, 8, -64, -100))
        near = draw.choice((-300, -511, -512, -513, 0x7FFF, -0x8000) if far else (0, -1, -8, -20, -40, -100, 8))
        copied, moved, stored = insn(0xBF, a, b), insn(draw.choice((0x07, 0x17)), a, 0, 0, by), insn(0x7B, b, a, near)
        return draw.choice((
            copied, copied, copied, moved, moved, moved, stored, stored, insn(0x62, b, 0, near, 1), insn(0x79, a, b, near), insn(draw.choice((0x61, 0x71, 0x91)), a, b, near),
            insn(0xBF, a, b, draw.choice((8, 16, 32))), insn(0xBC, a, b), insn(0x0F, a, b), insn(0x47, a, 0, 0, 1), lddw(a, 1 << 40), insn(0x85, imm=2),
            insn(0xDB, a, b, near, draw.choice((0, 1, 0xE1, 0xF1, 0x100, 0x100, 0x100, 0x110))), insn(draw.choice((0x15, 0x55, 0x1D, 0x16)), b)))

    return b"".join(one() for _ in range(draw.randrange(1, 14))) + EXIT


def with_addresses(seeds: range) -> Iterator[bytes]:
    """Every other one is two functions: what is known at the end of the first is not known in the second."""
    for seed in seeds:
        draw = random.Random(seed)
        text = followed(draw)
        yield call(len(text) // 8) + text + followed(draw) if seed % 2 else text


def test_stack_is_followed_alike(core: Core) -> None:
    frames = set()
    for text in with_addresses(range(3000)):
        found = here(text)
        assert there(core, text) == found, text.hex()
        frames.add(found[-1] >> 16)
    assert len(frames) > 10 and {0, 512} <= frames


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


def test_conditions_turned_round_are_noticed() -> None:
    """Each condition of the machine code the other way round, one at a time. Two ask what is swapped: who judges, C or this, makes no difference."""
    texts = [text for text, *_ in REFUSED.values()] + list(with_opcodes(12)) + list(with_addresses(range(2500))) + [random_program(random.Random(seed)) for seed in range(12)]
    truth = [(text, here(text)) for text in texts]
    start, size = engine().functions["lpn_check_function"]
    core, alive = fresh(), []
    code = core.read(start, size)
    for at, turned in flipped(code, start, [(start, start + size - 4)]):        # behind it is where the table lies
        put(core, start, turned)
        try:
            if all(there(core, text) == found for text, found in truth):
                alive.append(at)
        except EngineError:
            core = fresh()
        put(core, start, code)
    assert len(alive) <= 2


def fresh() -> Core:
    """One whose code can be changed."""
    core = Core(engine(), counting=False)
    start, size = engine().functions["lpn_check_function"]
    page = start & ~0xFFF
    core.uc.mem_protect(page, (start + size - page + 0xFFF) & ~0xFFF)
    return core


def put(core: Core, start: int, code: bytes) -> None:
    core.write(start, code)
    core.uc.ctl_remove_cache(start, start + len(code))


def test_all_alignments(core: Core) -> None:
    text = with_functions(random.Random(5))
    for odd in range(8):
        mark = core.mark()
        where, told = core.allocate(len(text) + 8, bytes(odd) + text), core.allocate(4 * TOLD)
        error = core.call("lpn_host_load", where + odd, len(text), told)
        words = core.read(told, 4 * TOLD)
        core.release(mark)
        assert said(error, [int.from_bytes(words[i:i + 4], "little") for i in range(0, len(words), 4)]) == here(text)
