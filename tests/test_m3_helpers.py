"""What programs reach by helpers, twice: in C (env.c), and in Thumb-2 for the smallest engine (env_smallest.S). Both call, write and return the same."""
from __future__ import annotations

import random
import struct

import pytest

from lpn.compiler.helpers import BY_NAME, HELPERS, which
from lpn.runtime.engines import EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

import unicorn
from unicorn import arm_const as reg

from lpn.runtime.m3.core import HEAP, Core
from lpn.runtime.m3.firmware import engine
from lpn.runtime.variants import OPTIONS, SMALLEST

OWN = 128                       #: numbers of the node's own functions begin here
ENV, VALUE, ARGUMENTS, TABLES, EXTERNS, SHAPE, VIEW, DATA, KEYS, NAMES, MEMORY = (HEAP + 0x400 * n for n in range(11))
USER, SLOT = 0x1234, DATA + 0x300
EXACT = 0                       #: enum lpn_match
ROOM = 280                      #: bytes looked at where a lookup's data goes
NAMES_OFFERED = (b"battery", b"bat", b"b", b"", b"battery2"), (0, 1, 5, 1, 1)
HOW_MANY = {"lpn_buffers_call": 5, "lpn_effect_seen": 4, "lpn_outside": 1, "lpn_table_lookup": 2}     #: arguments that are compared


class Form:
    """One of the two; `seen`: what is called, and with what."""

    def __init__(self, *options: str) -> None:
        self.core, self.seen = Core(engine(*options), counting=False), []
        self.trace = False              # lpn_effect_seen is called as the env's trace
        for name in HOW_MANY:
            at = self.core.firmware.symbols[name]
            self.core.uc.hook_add(unicorn.UC_HOOK_CODE, self.called, name, at, at)

    def called(self, uc, _at, _size, name) -> None:
        sp = uc.reg_read(reg.UC_ARM_REG_SP)
        assert sp % 8 == 0
        given = [uc.reg_read(reg.UC_ARM_REG_R0 + n) for n in range(4)] + list(struct.unpack("<II", uc.mem_read(sp, 8)))
        if name == "lpn_effect_seen" and self.trace:
            given = given[:1] + given[2:]
        elif name == "lpn_outside" and given[0] >> 12 == 5:             # a function of the node: five words
            given = given[:1] + list(struct.unpack("<5I", uc.mem_read(given[1], 20)))
        else:
            given = given[:HOW_MANY[name]]
        self.seen.append((name, *given))

    def address(self, name: str) -> int:
        return self.core.firmware.symbols[name] | 1

    def result(self, function: str, *arguments: int) -> tuple:
        """What is returned, called and written by a call."""
        self.seen.clear()
        error = self.core.call(function, *arguments)
        return error, list(self.seen), self.core.read(VALUE, 4), self.core.read(DATA, ROOM), self.core.read(SLOT, 16)

    def set_up(self, clock: bool = True, trace: bool = True, call: bool = True) -> None:
        core, outside, effect = self.core, self.address("lpn_outside"), self.address("lpn_effect_seen")
        core.write(ENV, struct.pack("<9I", TABLES, 1, 777, clock and outside, (effect if trace else 0), (effect if call else 0), EXTERNS, 2, USER))
        core.write(EXTERNS, b"".join(struct.pack("<4I", 0, 5, outside, 0x5000 + n) for n in range(2)))
        for name in ("lpn_outside_value", "lpn_effect_value", "lpn_effect_error"):
            core.write(core.firmware.symbols[name], struct.pack("<I", 41))
        core.write(VIEW, struct.pack("<IIHHI", DATA, DATA, 8, 8, 0))
        core.write(DATA, b"\xaa" * ROOM)
        core.write(VALUE, b"\xaa" * 4)
        core.write(SLOT, b"\xaa" * 16)


@pytest.fixture(scope="module")
def forms() -> tuple[Form, Form]:
    return Form(), Form(*OPTIONS[SMALLEST])


def both(forms, function: str, *arguments: int, words: tuple[int, ...] = (), wide: bool = True, **env) -> tuple:
    """The result, which is the same of both."""
    results = []
    for form in forms:
        form.set_up(**env)
        form.trace = function == "lpn_env_call" and arguments[2] == BY_NAME["trace"].number
        form.core.write(ARGUMENTS, struct.pack(f"<{len(words)}{'Q' if wide else 'I'}", *words))
        results.append(form.result(function, *arguments))
    assert results[0] == results[1]
    return results[0]


def call(forms, number: int, *words: int, there: bool = True, **env) -> tuple:
    return both(forms, "lpn_env_call", ENV if there else 0, VIEW, number, ARGUMENTS, VALUE, words=words, **env)


def test_each_helper_is_called_alike(forms):
    random_ = random.Random(1)
    for number in (0, *(helper.number for helper in HELPERS if helper.name != "lookup"), 16, 127, OWN, OWN + 1, OWN + 2, 255, 1 << 31):
        for env in ({}, {"clock": False}, {"trace": False}, {"call": False}, {"there": False}):
            call(forms, number, *(random_.getrandbits(32) for _ in range(5)), **env)


def test_what_is_called(forms):
    assert call(forms, OWN + 1, 1, 2, 3, 4, 5)[:3] == (0, [("lpn_outside", 0x5001, 1, 2, 3, 4, 5)], struct.pack("<I", 41))
    assert call(forms, BY_NAME["trace"].number, 1 << 31, 9)[1] == [("lpn_effect_seen", USER, 1 << 31, 0, 9, 0)]
    assert call(forms, BY_NAME["radio_cca"].number)[:2] == (41, [("lpn_effect_seen", USER, BY_NAME["radio_cca"].number, ARGUMENTS, VALUE)])
    assert call(forms, BY_NAME["clock_us"].number, clock=False)[2] == struct.pack("<I", 777)
    assert call(forms, BY_NAME["buffer_take"].number)[1][-1] == ("lpn_buffers_call", VIEW, 2, ARGUMENTS, 41, VALUE)


def shape(key_size: int, data_size: int) -> bytes:
    """An lpn_table_shape of one field."""
    return struct.pack("<BxHBx28xHH", 1, 8 * key_size, EXACT, data_size, 4)


@pytest.fixture(scope="module", params=[0, 1, 3, 4, 7, 8, 255, 256])
def table(request, forms) -> tuple[int, int]:
    """(bytes of a key, of data); key 00.. is in it."""
    key_size, data_size = 3, request.param
    for form in forms:
        core = form.core
        core.write(SHAPE, shape(key_size, data_size))
        assert core.call("lpn_table_init", TABLES, SHAPE, MEMORY, 0x4000) == 0
        entries = core.call("lpn_table_begin", TABLES, 0)
        core.write(KEYS, bytes(key_size))
        core.write(NAMES, bytes(range(1, 256)) + b"\xff")
        assert core.call("lpn_table_add", TABLES, entries, KEYS, KEYS, 9, NAMES, 0) == 0
        core.call("lpn_table_commit", TABLES, entries)
    return key_size, data_size


def test_lookups(forms, table):
    key_size, data_size = table
    for form in forms:
        form.core.write(KEYS, bytes(key_size) + b"\x01" * key_size)
    for where in (DATA, DATA + 1, DATA + 2):
        for key in (KEYS, KEYS + key_size):
            for index, keys, room in ((0, key_size, data_size), (0, key_size, data_size + 5), (0, key_size, 256), (0, key_size, 257), (1, key_size, data_size),
                                      (0, key_size + 1, data_size), (0, key_size, data_size - 1 if data_size else 300)):
                words = which(index, keys, room), key, where, 0, 0
                found = call(forms, BY_NAME["lookup"].number, *words)
                assert both(forms, "lpn_env_lookup", ENV, ARGUMENTS, VALUE, words=words, wide=False) == found
                assert call(forms, BY_NAME["lookup"].number, *words, there=False)[0] != 0
                good = index == 0 and keys == key_size and data_size <= room <= 256
                assert (found[0] == 0) == good and (found[2] == struct.pack("<I", 9)) == (good and key == KEYS)


def test_names_are_bound_alike(forms):
    names, args = NAMES_OFFERED
    for form in forms:
        at = NAMES
        for n, (name, takes) in enumerate(zip(names, args)):
            form.core.write(at, name + b"\0")
            form.core.write(MEMORY + 16 * n, struct.pack("<4I", at, takes, 0x100 + n, 0x200 + n))
            at += len(name) + 1
    bound = 0
    for name in (*names, b"batter", b"battery22", b"bat\0", b"x"):
        for form in forms:
            form.core.write(KEYS, name + b"\xee")
        for takes in (0, 1, 5):
            for count in (0, 3, 5):
                found = both(forms, "lpn_extern_bind", SLOT, MEMORY, count, KEYS, len(name), takes)
                bound += found[0] == 0
    assert bound == 8


def test_zeroing_takes_what_it_is_given(forms):
    core = forms[1].core
    for size in (*range(140), 191, 192, 193, 200, 256, 271):
        for at in range(MEMORY + 68, MEMORY + 72):
            core.write(MEMORY, b"\xff" * 400)
            core.call("lpn_zero", at, size)
            assert core.read(MEMORY, 400) == b"\xff" * (at - MEMORY) + bytes(size) + b"\xff" * (MEMORY + 400 - at - size)
