"""The container image: round trip, each refusal by name, Python and C of one mind."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpn.compiler.image import HEADER_SIZE, Flag, Image, ImageError, Kind, Profile
from lpn.runtime.engine.build import library

EXIT = struct.pack("<BBhI", 0x95, 0, 0, 0)


def c_code(raw: bytes) -> str:
    ffi, lib = library()
    return ffi.string(lib.lpn_error_name(lib.lpn_host_parse(raw, len(raw)))).decode()


def python_code(raw: bytes) -> str:
    try:
        assert Image.from_bytes(raw).to_bytes() == raw
    except ImageError as e:
        return e.code
    return "ok"


def sealed(raw: bytes) -> bytes:
    """The bytes with a checksum that fits, so that the checks behind it are reached."""
    return raw[:12] + struct.pack("<I", zlib.crc32(raw[:12] + bytes(4) + raw[16:])) + raw[16:]


images = st.builds(
    Image,
    name=st.text(st.characters(min_codepoint=0x20, exclude_characters="\x7f", exclude_categories=["Cs"]),
                 min_size=1, max_size=16),
    kind=st.sampled_from(Kind), text=st.integers(1, 4).flatmap(lambda n: st.binary(min_size=8 * n, max_size=8 * n)),
    rodata=st.binary(max_size=9), data=st.binary(max_size=9), certificate=st.just(b""),
    flags=st.sampled_from([Flag(0), Flag.CLEAN32, Flag.RADIO | Flag.BUDGET, Flag.QUIETS]), profile=st.just(Profile.LPN),
    record_hash=st.integers(0, 2**32 - 1), record_size=st.integers(0, 65535),
    state_hash=st.integers(0, 2**32 - 1), state_size=st.integers(0, 65535), stack_used=st.integers(0, 512), out_size=st.integers(0, 256))

GOOD = Image("m", Kind.PARSER, EXIT * 2, rodata=b"ro", data=b"dat", certificate=b"c", flags=Flag.CERTIFIED).to_bytes()


@given(images)
def test_round_trip(image):
    raw = image.to_bytes()
    assert Image.from_bytes(raw) == image
    assert c_code(raw) == "ok"


def patched(offset: int, value: bytes, *, seal: bool = True) -> bytes:
    raw = GOOD[:offset] + value + GOOD[offset + len(value):]
    return sealed(raw) if seal else raw


REFUSED = {
    "nothing": (b"", "bad magic"),
    "other magic": (b"rBPF" + GOOD[4:], "bad magic"),
    "header cut": (GOOD[:HEADER_SIZE - 1], "truncated"),
    "version": (patched(4, b"\1\0"), "unsupported version"),
    "header size": (patched(6, b"\x48\0"), "length mismatch"),
    "cut": (GOOD[:-1], "truncated"),
    "longer": (GOOD + b"\0", "length mismatch"),
    "too large": (patched(8, b"\1\0\x10\0"), "too large"),
    "text length": (patched(20, b"\x18"), "length mismatch"),
    "lengths that wrap": (patched(24, b"\xff\xff\xff\xff"), "length mismatch"),
    "checksum": (patched(12, b"\0\0\0\0", seal=False), "checksum mismatch"),
    "one bit of text": (patched(70, b"\1", seal=False), "checksum mismatch"),
    "kind 0": (patched(16, b"\0"), "bad kind"),
    "kind 7": (patched(16, b"\7"), "bad kind"),
    "profile": (patched(17, b"\2"), "bad profile"),
    "flag": (patched(18, b"\x42"), "bad flags"),
    "deparsing parser": (patched(18, b"\6"), "bad flags"),
    "certificate without its flag": (patched(18, b"\0"), "bad flags"),
    "output": (patched(54, struct.pack("<H", 257)), "bad field"),
    "reserved": (patched(56, b"\1"), "reserved field set"),
    "reserved behind": (patched(63, b"\1"), "reserved field set"),
    "stack": (patched(52, struct.pack("<H", 513)), "bad field"),
    "padding": (patched(HEADER_SIZE + 16 + 3, b"\1"), "bad padding"),
    "name": (patched(len(GOOD) - 4, b"\xff"), "bad name"),
    "control character": (patched(len(GOOD) - 4, b"\n"), "bad name"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    raw, code = REFUSED[name]
    assert (python_code(raw), c_code(raw)) == (code, code)


def test_text_that_is_not_whole_instructions():
    header = bytearray(GOOD[:HEADER_SIZE])
    struct.pack_into("<I", header, 20, 12)
    raw = sealed(bytes(header) + GOOD[HEADER_SIZE:])
    assert (python_code(raw), c_code(raw)) == ("bad text", "bad text")


@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda b: GOOD[:64] + b)
       | st.binary(max_size=100).map(lambda b: b"LPN1" + b))
def test_any_bytes(raw):
    assert python_code(raw) == c_code(raw)


def test_every_bit_flip_is_refused_and_alike():
    for bit in range(8 * len(GOOD)):
        raw = bytearray(GOOD)
        raw[bit // 8] ^= 1 << bit % 8
        assert python_code(bytes(raw)) == c_code(bytes(raw)) != "ok"


@given(st.integers(16, len(GOOD) - 1), st.binary(min_size=1, max_size=4))
def test_any_change_under_a_fitting_checksum(at, value):
    raw = sealed((GOOD[:at] + value + GOOD[at + len(value):])[:len(GOOD)])
    assert python_code(raw) == c_code(raw)


@given(st.binary(min_size=1, max_size=70))
def test_names_in_utf_8(name):
    image = Image("x", Kind.PARSER, EXIT).to_bytes()
    padding = bytes(-len(name) % 4)
    header = bytearray(image[:HEADER_SIZE])
    struct.pack_into("<I", header, 8, HEADER_SIZE + 8 + len(name) + len(padding))
    struct.pack_into("<I", header, 36, len(name))
    raw = sealed(bytes(header) + EXIT + name + padding)
    assert python_code(raw) == c_code(raw)


@pytest.mark.parametrize("field,value", [("text", b""), ("text", b"1234567"), ("name", ""), ("name", "a\n"),
                                         ("name", "\ud800"), ("record_size", 65536), ("stack_used", 513), ("out_size", 257), ("out_size", -1),
                                         ("record_hash", -1), ("certificate", b"x"),
                                         ("rodata", bytes(2**20))])
def test_an_image_that_cannot_be_written_is_not_made(field, value):
    with pytest.raises(ImageError):
        Image(**{"name": "m", "kind": Kind.PARSER, "text": EXIT} | {field: value})
