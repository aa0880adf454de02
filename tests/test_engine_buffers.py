"""The engine's buffers and its copying of state against their second writing, call by call; runs in the sanitized build too."""
from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.helpers import BY_NAME, which
from lpn.compiler.kept import Kept, KeptTable
from lpn.lang.reference.entries import COMPLETE, Buffer, Entry
from lpn.runtime.engine.native import NativeHost
from lpn.runtime.engines import EngineError
from lpn.runtime.replace import CARRY_ALL, CARRY_NEW, CARRY_SAME, carried

PACKET = bytes(range(256)) * 8
OUT = bytes(255 - i for i in range(256))


class Both:
    """One buffer in the engine and in the reference; every call goes to both."""

    def __init__(self, size: int, entries: int, timeout: int) -> None:
        number = lambda value: SimpleNamespace(const=value)     # noqa: E731
        self.host = NativeHost(0, 0, 0)
        self.host.check(self.host.lib.lpn_host_buffer(self.host.handle, size, entries, 2, timeout), "buffer")
        self.model = Buffer(SimpleNamespace(bytes=number(size), size=number(entries), timeout=number(timeout)))  # type: ignore[arg-type]
        ffi = self.host.ffi
        self.memory = [ffi.new("uint8_t[]", PACKET), ffi.new("uint8_t[]", OUT)]
        self.waiting: tuple[Entry, object] | None = None        # of the run that goes on

    def address(self, memory) -> int:
        return int(self.host.ffi.cast("uintptr_t", memory))

    def begin(self, now: int) -> None:
        self.now = now & 0xFFFF_FFFF
        self.host.view(self.address(self.memory[0]), len(PACKET), self.address(self.memory[1]), self.now)

    def call(self, helper: str, key: bytes, *words: int) -> int:
        ffi, at = self.host.ffi, ffi_bytes(self.host.ffi, key)
        request = ffi.new("uint32_t[]", words or [0])
        got = self.host.lib.lpn_host_call(self.host.handle, BY_NAME[helper].number,
                                          [which(0, len(key), 4 * len(words)), self.address(at), self.address(request), 0, 0])
        assert got >> 32 == 0, self.host.error_name(got >> 32)
        return got

    def do(self, what: str, key: bytes, offset: int, size: int, head: int, start: int, length: int) -> None:
        names, piece, free = (key[0], key[1]), OUT[:head] + PACKET[start:start + length], self.waiting is None
        self.model.sweep(self.now)
        entry = None
        if what == "put":
            expected, entry = self.model.put(names, offset, size, piece, self.now, free)
            assert self.call("buffer_put", key, offset, size, head, start, length) == expected
            assert (entry is not None) == (expected == COMPLETE)
        elif what == "hold":
            assert self.call("buffer_hold", key, 0, 0, head, start, length) == self.model.hold(names, piece, self.now)
        elif what == "take":
            entry = self.model.take(names, free)
            assert self.call("buffer_take", key) == (entry is not None)
        else:
            assert self.call("buffer_drop", key) == self.model.drop(names)
        if entry is not None:
            self.waiting = entry, None

    def end(self) -> None:
        """The run is over: what it has completed is the same, and free from here on."""
        ffi, lib = self.host.ffi, self.host.lib
        buffer, size, entry, content = ffi.new("uint32_t *"), ffi.new("uint32_t *"), ffi.new("uint8_t **"), ffi.new("uint8_t[]", 2048)
        assert bool(lib.lpn_host_completed(self.host.handle, buffer, content, size, entry)) == (self.waiting is not None)
        if self.waiting is not None:
            assert ffi.buffer(content, size[0])[:] == self.waiting[0].content()
            lib.lpn_host_taken(self.host.handle)
            lib.lpn_host_release(self.host.handle, entry[0])
            self.model.release(self.waiting[0])
            self.waiting = None


def ffi_bytes(ffi, data: bytes):
    return ffi.new("uint8_t[]", data)


calls = st.tuples(st.sampled_from(("put",) * 6 + ("hold", "take", "drop")), st.sampled_from((b"aa", b"ab", b"ba")),
                  st.sampled_from((0, 0, 8, 8, 16, 24, 40, 3, 2040, 65528)), st.sampled_from((0, 8, 16, 20, 20, 24, 48, 48, 2048, 65535)),
                  st.sampled_from((0, 0, 0, 8, 256)), st.sampled_from((0, 5, 2048)), st.sampled_from((0, 4, 8, 8, 8, 16, 24, 40)))
runs = st.lists(st.tuples(st.lists(calls, min_size=1, max_size=4), st.sampled_from((0, 1, 500, 999, 1000, 1 << 31))), max_size=25)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from((8, 20, 48, 64, 2048)), st.integers(1, 4), st.sampled_from((0, 1000)), st.integers(0, 0xFFFF_FFFF), runs)
def test_any_calls(size: int, entries: int, timeout: int, now: int, several: list) -> None:
    both = Both(size, entries, timeout)
    for these, pause in several:
        now += pause
        both.begin(now)
        for what, key, offset, total, head, start, length in these:
            both.do(what, key, offset, total, head, start, min(length, len(PACKET) - start))
        both.end()


names, types = st.sampled_from("abcd"), st.sampled_from(("bit<8>", "bit<16>"))
rows = st.lists(st.builds(Kept, names, types, st.integers(0, 40), st.integers(1, 40)), max_size=5, unique_by=lambda one: one.name)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(rows, rows, st.binary(max_size=48), st.binary(max_size=48), st.sampled_from((CARRY_NEW, CARRY_SAME, CARRY_ALL)))
def test_any_tables(mine: list[Kept], theirs: list[Kept], state: bytes, old: bytes, mode: int) -> None:
    """What is copied is what is said, whatever the tables say, and nothing outside."""
    expected: bytes | None = state
    for one in mine:
        other = next((each for each in theirs if each.name == one.name), None)
        if other is None and mode != CARRY_ALL:
            continue
        if other is None or (one.type, one.size) != (other.type, other.size):
            if other is not None and mode == CARRY_SAME:
                continue
            expected = None
            break
        if one.offset + one.size > len(state) or other.offset + other.size > len(old):
            expected = None
            break
        expected = expected[:one.offset] + old[other.offset:other.offset + one.size] + expected[one.offset + one.size:]
    try:
        got = carried(state, KeptTable(tuple(mine)), old, KeptTable(tuple(theirs)), mode)
    except EngineError:
        got = None
    assert got == expected
