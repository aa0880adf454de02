"""Every region's edges: what may be read and written, and that nothing beside it can."""

import pytest
from engine_isa import EXIT, SIZES, insn, lddw, mov
from hypothesis import given
from hypothesis import strategies as st

from lpn.compiler.bundle import Entry, KeyField, Table
from lpn.compiler.helpers import which
from lpn.runtime.engine.native import NativeHost
from lpn.runtime.memory import CONTEXT
from lpn.runtime.raw import run_raw

MEMORY = {"layout": "lpn", "packet": b"p" * 20, "record_size": 24, "state": b"s" * 16, "rodata": b"r" * 12,
          "data": b"d" * 8}

#: name -> (code that leaves the region's address in r6, size, first unreadable offset, writable)
CONTEXT_SLOT = {name: insn(0x79, 6, 1, CONTEXT[name][0]) for name in ("pkt", "rec", "state", "out")}
REGIONS = {
    "packet": (CONTEXT_SLOT["pkt"], 20, 84, True),
    "record": (CONTEXT_SLOT["rec"], 24, 24, True),
    "state": (CONTEXT_SLOT["state"], 16, 16, True),
    "out": (CONTEXT_SLOT["out"], 256, 256, True),
    "rodata": (insn(0x18, 6, 8) + insn(0), 12, 12, False),
    "data": (insn(0x18, 6, 9) + insn(0), 8, 8, True),
    "stack": (insn(0xBF, 6, 10) + insn(0x07, 6, imm=-512), 512, 512, True),
    "context": (insn(0xBF, 6, 1), 96, 96, False),
}


def error_of(text: bytes) -> str:
    return run_raw(text + mov(0, 0) + EXIT, **MEMORY).error


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", REGIONS)
def test_edges(name, size):
    base, length, readable, writable = REGIONS[name]

    def load(at):
        return error_of(base + insn(0x61 | SIZES[size], 0, 6, at))

    def store(at):
        return error_of(base + insn(0x62 | SIZES[size], 6, 0, at, 1))

    assert load(0) == load(readable - size) == "ok"
    assert load(readable - size + 1) == load(readable) == load(-1) == "load out of bounds"
    if writable:
        assert store(0) == store(length - size) == "ok"
    else:
        assert store(0) == "store out of bounds"
    assert store(length - size + 1) == store(-1) == store(readable) == "store out of bounds"


def test_an_access_does_not_span_two_regions():
    """Writable slots of the context end at `iface`; an 8-byte store over the edge is refused as a whole."""
    assert error_of(insn(0x7A, 1, 0, 40)) == error_of(insn(0x62, 1, 0, 48)) == "ok"
    assert error_of(insn(0x7A, 1, 0, 48)) == error_of(insn(0x7A, 1, 0, 36)) == "store out of bounds"


@pytest.mark.parametrize("name", [n for n in CONTEXT if n not in ("out_len", "payload", "port", "cut")])
def test_other_context_slots_are_read_only(name):
    offset, width = CONTEXT[name]
    assert error_of(insn(0x62 | SIZES[width], 1, 0, offset)) == "store out of bounds"


@pytest.mark.parametrize("address", [0, 1, 8, 2**31 - 1, 2**32 - 4, 2**63, 2**64 - 8, 2**64 - 1])
def test_wild_pointers(address):
    """No sum in the check wraps, neither at 2**31 nor at 2**64."""
    for off in (0, 1, 7, -1, 32767, -32768):
        for size in SIZES.values():
            assert error_of(lddw(6, address) + insn(0x61 | size, 0, 6, off)) == "load out of bounds"
            assert error_of(lddw(6, address) + insn(0x62 | size, 6, 0, off)) == "store out of bounds"


@given(st.integers(0, 2**64 - 1), st.integers(-32768, 32767), st.sampled_from(sorted(SIZES)))
def test_pointer_plus_any_number(delta, off, size):
    """Inside exactly when the byte-exact arithmetic says so."""
    text = insn(0x79, 6, 1, 16) + lddw(7, delta) + insn(0x0F, 6, 7) + insn(0x61 | SIZES[size], 0, 6, off)
    at = delta + off
    at = at - 2**64 if at >= 2**63 else at
    if not -(1 << 20) < at < 1 << 20:       # far from every buffer of this process' heap
        assert error_of(text) == "load out of bounds"
    elif 0 <= at <= 24 - size:
        assert error_of(text) == "ok"


def test_window_reads_as_zero_and_is_not_writable():
    text = CONTEXT_SLOT["pkt"] + insn(0x79, 0, 6, 76) + EXIT
    assert run_raw(text, **MEMORY).r0 == 0
    assert error_of(CONTEXT_SLOT["pkt"] + insn(0x72, 6, 0, 20, 1)) == "store out of bounds"


def test_atomics_are_checked():
    for op in (0, 1, 0xE1, 0xF1, 0x110):
        assert error_of(insn(0x18, 6, 8) + insn(0) + insn(0xDB, 6, 7, 0, op)) == "store out of bounds"
    assert error_of(insn(0x18, 6, 8) + insn(0) + insn(0xDB, 7, 6, 0, 0x100)) == "ok"
    assert error_of(insn(0x18, 6, 8) + insn(0) + insn(0xDB, 7, 6, 5, 0x100)) == "load out of bounds"


def lookup(table=0, key="stack", key_size=2, data="stack", data_size=4) -> bytes:
    """A call of helper lookup; addresses: the stack, rodata, one byte short of the stack's end, or null."""
    places = {
        "stack": lambda reg: insn(0xBF, reg, 10) + insn(0x07, reg, imm=-8 * reg),
        "rodata": lambda reg: insn(0x18, reg, 8) + insn(0),
        "edge": lambda reg: insn(0xBF, reg, 10) + insn(0x07, reg, imm=-1),
        "null": lambda reg: mov(reg, 0),
    }
    return (lddw(1, which(table, key_size, data_size)) + places[key](2) + places[data](3)
            + insn(0x85, imm=1) + insn(0x61, 6, 10, -24) + insn(0x67, 6, imm=32) + insn(0x4F, 0, 6) + EXIT)


@pytest.fixture
def host():
    host = NativeHost(0, 0, 1000)
    host.add_table(Table("t", 0, (KeyField(16, "exact"),), 4, 2, (Entry(((0,),), 3, b"\1\0\0\0"),)))
    return host


def test_lookup_hit(host):
    assert run_raw(lookup(), rodata=bytes(4), host=host).r0 == 3 | 1 << 32
    assert run_raw(lookup(key="rodata"), rodata=bytes(4), host=host).r0 == 3 | 1 << 32


def test_lookup_miss_zeroes_the_data(host):
    text = insn(0x7A, 10, 0, -24, -1) + lookup(key="rodata")
    result = run_raw(text, rodata=b"\0\1", host=host)
    assert result.r0 == 0


@pytest.mark.parametrize("change,error", [
    ({"table": 1}, "bad helper argument"), ({"table": 2**32}, "bad helper argument"),
    ({"key_size": 1}, "bad helper argument"), ({"key_size": 255}, "helper argument out of bounds"),
    ({"key_size": 3}, "bad helper argument"), ({"data_size": 3}, "bad helper argument"),
    ({"data_size": 2**16 - 1}, "helper argument out of bounds"), ({"key": "edge"}, "helper argument out of bounds"),
    ({"key": "null"}, "helper argument out of bounds"), ({"data": "null"}, "helper argument out of bounds"),
    ({"data": "edge"}, "helper argument out of bounds"), ({"data": "rodata"}, "helper argument out of bounds"),
    ({"key_size": 0, "key": "null"}, "bad helper argument"),
])
def test_lookup_arguments_are_checked(host, change, error):
    assert run_raw(lookup(**change), rodata=bytes(8), host=host).error == error
