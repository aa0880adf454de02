"""The translator in Thumb-2 itself (thumb2_clean.S) and in C (thumb2_clean.h) write the same code."""
from __future__ import annotations

import random

import pytest
from engine_isa import EXIT, M64, insn, lddw, mov
from programs import example
from test_thumb2 import Thumb2, call, machine  # noqa: F401 (a fixture)

from lpn.compiler.build import compile_program
from lpn.runtime.variants import OPTIONS, SMALLEST

MEMORY_ERROR, JUMP_ERROR = 26, 21           #: LPN_E_MEMORY, LPN_E_JUMP


@pytest.fixture(scope="module")
def smallest(machine):          # noqa: F811
    return Thumb2(*OPTIONS[SMALLEST])


def translated_there(machine, text: bytes, clean: bool, room: int = 0x10000) -> tuple[int, int, bytes, tuple[int, ...]]:
    """The error, the slot or the bytes used, the code and the map of the core's translator."""
    core, mark = machine.core, machine.core.mark()
    where, code_map, used = core.allocate(len(text), text), core.allocate(len(text) // 4 + 2), core.allocate(4)
    error = core.call("lpn_host_thumb2", where, len(text), int(clean), 64, 0x2000ABCC, 0x20001234, machine.code, room, code_map, used)
    size = int.from_bytes(core.read(used, 4), "little")
    offsets = tuple(2 * int.from_bytes(core.read(code_map + i, 2), "little") for i in range(0, len(text) // 4 + 2, 2))
    core.release(mark)
    return error, size, b"" if error else core.read(machine.code, size), offsets


def translated_here(text: bytes, clean: bool, room: int = 0x10000) -> tuple[int, int, bytes, tuple[int, ...]]:
    """The same of the workstation's."""
    from lpn.runtime.engine.build import library
    ffi, lib = library()
    code, code_map, used = ffi.new("uint16_t[]", 0x8000), ffi.new("uint16_t[]", len(text) // 8 + 1), ffi.new("uint32_t *")
    error = lib.lpn_host_thumb2(ffi.from_buffer("uint8_t[]", text), len(text), clean, 64, 0x2000ABCC, 0x20001234, code, room, code_map, used)
    return error, used[0], b"" if error else bytes(ffi.buffer(code, used[0])), tuple(2 * at for at in code_map)


def test_a_jump_between_functions_is_refused(machine, smallest):
    text = call(1) + EXIT + insn(0x05, off=-2) + EXIT
    nowhere = mov(0, 1) + insn(0x55, 0, off=1) + insn(0x05, off=-1) + EXIT        # to the slot behind it, but that lies in front of it
    over = call(3) + insn(0x55, 0, off=1) + insn(0x05, off=-1) + EXIT + EXIT      # also one that goes where the jump behind it goes
    assert translated_there(machine, text, True)[:2] == (JUMP_ERROR, 2)
    for each in (over, over[:8] + insn(0x55, 0, off=1) + insn(0x05, off=1) + EXIT + EXIT):
        assert translated_there(machine, each, True)[0] == translated_here(each, True)[0]
    assert translated_there(machine, nowhere, True) == translated_here(nowhere, True)
    assert translated_there(smallest, text, True)[:2] == (JUMP_ERROR, 2)
    assert translated_there(smallest, nowhere, True) == translated_here(nowhere, True)


def test_what_has_no_room_is_refused(machine):
    text = mov(0, 1) * 400 + EXIT
    needed = translated_here(text, True)[2]
    for room in (0, 100, 190, 192, 600, len(needed) - 2, len(needed) + 192):
        there = translated_there(machine, text, True, room)
        assert there[0] == translated_here(text, True, room)[0] and (there[0] or there[2] == needed)
    assert there[0] == 0


def random_program(draw: random.Random) -> bytes:
    """Any instructions that the loader takes, none of which need mean anything."""
    low = draw.choice((4, 8, 10))
    offsets = (0, 0, 0, 1, 2, 4, 8, 31, 62, 124, 128, -4, -255, -256, 1000, 4095, 4096, 32767, -32768)
    constants = (0, 1, 2, 7, 8, 16, 31, 32, 63, 64, 255, 256, 0xFFFF, 0xFF00, 0xFF00FF, 0xFF00FF00, 0xABABABAB, 0xFFFFFF, 4095, 4096, -1, -2, -8, -256, -4096,
                 0x12345678, 0x7FFFFFFF, -0x80000000, 508, 511, 1020, 1024)

    def register(most: int = 0) -> int:
        return 10 if most and draw.random() < 0.15 else draw.randrange(low)

    def arithmetic() -> bytes:
        code, width, dst = draw.choice((0, 0, 1, 2, 3, 4, 5, 5, 6, 7, 9, 10, 11, 11, 12)), draw.choice((4, 7)), register()
        off = code in (3, 9) and draw.random() < 0.3
        if draw.random() < 0.5:
            return insn(code << 4 | width, dst, 0, off, draw.choice(constants))
        return insn(code << 4 | 8 | width, dst, register(1), draw.choice((8, 16, 32) if width == 7 else (8, 16)) if code == 11 and draw.random() < 0.2 else off)

    def pair() -> bytes:
        """Neighbours that may become one."""
        a, b = register(), register()
        return draw.choice((
            lambda: insn(0xBF, a, b) + insn(draw.choice((0x0F, 0x07, 0x57, 0x4C, 0x67)), a, 0, 0, 0) + insn(draw.choice((0x69, 0x79)), a, a),
            lambda: insn(draw.choice((0x64, 0x77)), a, imm=draw.randrange(1, 32)) + draw.choice((insn(0x4F, a, b), insn(0x57, a, imm=draw.choice((1, 15, 255, 6))))),
            lambda: insn(0x0F, a, 10) + insn(0x61, a, a),
            lambda: insn(0x69, a, b, draw.choice(offsets)) + insn(0xDC, draw.choice((a, b)), imm=16) + insn(0x07, b, imm=draw.choice((1, 255, 256))),
            lambda: insn(0xBF, a, 10) + insn(0x07, a, imm=draw.choice(constants)),
            lambda: insn(draw.choice((0xDC, 0xD4, 0xD7)), a, imm=draw.choice((16, 32, 64))),
            lambda: insn(0x84, a) + insn(0x16, a, off=0),
            lambda: lddw(a, draw.choice(constants) & M64)))()

    def memory() -> bytes:
        size, kind = draw.choice((0, 8, 16, 24)), draw.random()
        if kind < 0.5:
            return insn(0x61 | size, register(), register(1), draw.choice(offsets))
        if kind < 0.6 and size != 24:
            return insn(0x81 | size, register(), register(1), draw.choice(offsets))
        if kind < 0.8:
            return insn(0x63 | size, register(1), register(1), draw.choice(offsets))
        if kind < 0.97:
            return insn(0x62 | size, register(1), 0, draw.choice(offsets), draw.choice(constants))
        return insn(draw.choice((0xC3, 0xDB)), register(1), register(), draw.choice(offsets), draw.choice((0, 1, 0x41, 0xE1, 0xF1, 0x100, 0x110)))

    slots = b"".join(draw.choice((arithmetic, arithmetic, pair, memory, lambda: insn(0x85, imm=2), lambda: insn(0)))()
                     for _ in range(draw.choice((5, 20, 60, 200, 700))))
    out = [slots[i:i + 8] for i in range(0, len(slots), 8)] + [EXIT]
    places = [i for i, each in enumerate(out) if each[0] and out[i - 1][0] != 0x18]
    for i, each in enumerate(out):
        if each == insn(0) and out[i - 1][0] != 0x18:
            near = [to for to in places if to != i and abs(to - i) < draw.choice((3, 10, 60, 700))] or [len(out) - 1]
            later = [to for to in near if to > i] or [len(out) - 1]
            to = draw.choice(later if draw.random() < 0.8 else near) - i - 1
            op = draw.choice((5, 6, *(code << 4 | by | width for code in (1, 1, 2, 3, 4, 5, 5, 6, 7, 10, 11, 12, 13) for by in (0, 0, 8) for width in (5, 6))))
            by_reg = op & 8 and op != 5
            out[i] = insn(6, imm=to) if op == 6 else insn(5, off=to) if op == 5 else insn(
                op, register(1), register(1) if by_reg else 0, to, 0 if by_reg else draw.choice((0, 0, 0, 1, 255, 256, -1, 0x12345678)))
    return b"".join(out)


def with_functions(draw: random.Random) -> bytes:
    """Several such programs, as functions of one; what was arithmetic calls them here and there."""
    bodies = [random_program(draw) for _ in range(draw.randrange(2, 5))]
    starts = [sum(len(each) for each in bodies[:i]) // 8 for i in range(len(bodies))]
    out = [bytes(slot) for each in bodies for slot in zip(*[iter(each)] * 8)]
    for i, each in enumerate(out):
        if each[0] & 7 in (4, 7) and (i == 0 or out[i - 1][0] != 0x18) and draw.random() < 0.1:
            out[i] = call(draw.choice(starts[1:]) - i - 1)
    return b"".join(out)


def same(here, there) -> bool:
    """What is told where there is no room is not where."""
    return here[0] == there[0] and (here[0] == MEMORY_ERROR or here[:3] == there[:3] and (here[0] != 0 or here[3] == there[3]))


def test_the_core_writes_the_code_that_a_workstation_writes(machine, smallest):
    """thumb2_clean.S and thumb2_clean.h: programs of any instructions, clean and not, with as much room as they need or less."""
    accepted = 0
    for seed in range(150):
        draw = random.Random(seed)
        text = random_program(draw) if seed % 3 else with_functions(draw)
        for core, clean in ((machine, True), (machine, False), (smallest, True)):
            here = translated_here(text, clean)
            for room in (0x10000, draw.choice((here[1], here[1] + draw.randrange(190, 600), 500, 2000))):
                here, there = translated_here(text, clean, room), translated_there(core, text, clean, room)
                assert same(here, there), (seed, clean, room)
                accepted += here[0] == 0
    assert accepted > 600


@pytest.mark.parametrize("name", ["udp/udp", "decompress/recompress", "fragment/reassemble", "tsch_slot/tsch_slot"])
def test_so_it_does_with_examples(machine, smallest, name):
    for container in compile_program(example(name), "lpn", False, 2).containers:
        for core, clean in ((machine, True), (machine, False), (smallest, True)):
            assert translated_here(container.image.text, clean) == translated_there(core, container.image.text, clean)
