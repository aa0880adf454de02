"""The compact form of images: back to the same bytes, in Python and in place on a node; what is wrong is refused by both."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cli import lpnc
from hypothesis import example, given
from hypothesis import strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Bundle, BundleError
from lpn.compiler.commands.inputs import read_source
from lpn.compiler.compact import MAGIC, USUAL, pack, read_image, unpack
from lpn.compiler.image import HEADER_SIZE, Flag, Image, ImageError, Kind
from lpn.compiler.isa import SLOT
from lpn.runtime.engine import build
from lpn.runtime.engine.build import library

EXAMPLES = Path(__file__).parent.parent / "examples"
EXIT = SLOT.pack(0x95, 0, 0, 0)


def in_place(packed: bytes) -> bytes | None:
    """What the C code makes of it, in a buffer of exactly the image's length; None: it refuses."""
    ffi, lib = library()
    length = lib.lpn_compact_length(packed) if len(packed) >= 8 else 0
    if not len(packed) <= length <= 1 << 20:
        return None
    buffer = ffi.new("uint8_t[]", bytes(length - len(packed)) + packed)
    error = lib.lpn_image_expand(buffer, length, len(packed))
    assert ffi.string(lib.lpn_error_name(error)).decode() in ("ok", "bad compact form")
    return bytes(ffi.buffer(buffer, length)) if error == 0 else None


def in_python(packed: bytes) -> bytes | None:
    try:
        return unpack(packed)
    except ImageError as e:
        assert e.code in ("bad compact form", "bad magic")
        return None


numbers = st.one_of(st.just(0), st.integers(-128, 127), st.integers(-32768, 32767))
slots = st.builds(SLOT.pack, st.integers(0, 255), st.integers(0, 255), numbers,
                  st.one_of(numbers, st.integers(-2**31, 2**31 - 1)))
#: Texts with repetitions near and far, which become copies.
texts = st.lists(st.tuples(slots, st.integers(1, 20)), min_size=1, max_size=8).map(lambda parts: b"".join(s * n for s, n in parts))
images = st.builds(Image, name=st.just("m"), kind=st.sampled_from(Kind), text=st.one_of(texts, st.lists(slots, min_size=1, max_size=40).map(b"".join)),
                   rodata=st.binary(max_size=20), data=st.binary(max_size=20), flags=st.sampled_from([Flag(0), Flag.CLEAN32]),
                   record_hash=st.integers(0, 2**32 - 1), record_size=st.integers(0, 65535), state_size=st.integers(0, 65535))


@given(images)
@example(Image("m", Kind.PARSER, EXIT * 300))
def test_round_trip(image):
    plain = image.to_bytes()
    packed = pack(plain)
    assert read_image(packed) == image
    assert len(packed) <= len(plain)
    if packed != plain:
        assert packed[:4] == MAGIC and unpack(packed) == in_place(packed) == plain


PACKED = pack(Image("m", Kind.PARSER, b"".join(SLOT.pack(0xb4, n % 10, 0, 1000 * n % 77) for n in range(30)) * 3 + EXIT, rodata=b"abc").to_bytes())


@given(st.lists(st.tuples(st.integers(4, len(PACKED) - 1), st.integers(0, 255)), max_size=4), st.integers(0, len(PACKED)))
def test_what_is_wrong_is_refused_alike(changes, cut):
    raw = bytearray(PACKED)
    for at, byte in changes:
        raw[at] = byte
    raw = bytes(raw[:cut] if cut > len(PACKED) // 2 else raw)
    assert in_python(raw) == in_place(raw)


@given(st.binary(min_size=30, max_size=80), st.integers(64, 200))
def test_any_bytes(rest, length):
    raw = MAGIC + length.to_bytes(3, "little") + rest
    assert in_python(raw) == in_place(raw)


REFUSED = {
    "another magic": (b"LPNX" + PACKED[4:], "bad magic: a compact image starts with b'LPNZ', not b'LPNX'"),
    "cut in the header": (PACKED[:15], "amid what must follow"),
    "longer than the image": (MAGIC + (70).to_bytes(3, "little") + PACKED[7:], f"{len(PACKED)} bytes for an image of 70"),
    "too long an image": (MAGIC + b"\xff\xff\xff" + PACKED[7:], "bytes for an image of 16777215"),
    "a copy of nothing": (MAGIC + (200).to_bytes(3, "little") + bytes(4) + b"\x10\x40" + bytes(5) + b"\x02\x01" + bytes(100),
                          "a copy of 16 bytes from 1 instructions before"),
    "something behind": (MAGIC + (len(unpack(PACKED)) + 1).to_bytes(3, "little") + PACKED[7:], "bytes of an image of"),
    "no room": (MAGIC + (HEADER_SIZE).to_bytes(3, "little") + bytes(HEADER_SIZE - 7), "is overwritten before it is read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    raw, message = REFUSED[case]
    with pytest.raises(ImageError, match=message.replace("(", r"\(")):
        Image.from_bytes(unpack(raw))


def test_a_changed_instruction_fails_the_checksum():
    at = PACKED.index(b"\xb4\1")
    raw = PACKED[:at + 1] + bytes([PACKED[at + 1] ^ 1]) + PACKED[at + 2:]
    with pytest.raises(ImageError, match="checksum mismatch"):
        read_image(raw)


def test_no_usual_shape_is_a_token_of_another_kind():
    assert {low & 7 for low in USUAL} == {1, 3, 4, 5, 6, 7}


@pytest.mark.parametrize("source", ["duty/duty.lpn", "duty_cycle/duty_cycle.lpn"])
def test_examples_become_half_as_large(source):
    bundle = compile_program(read_source(str(EXAMPLES / source)).program(())).bundle
    saved = 0
    for image in bundle.modules:
        plain = image.to_bytes()
        packed = pack(plain)
        assert in_place(packed) == plain and len(packed) <= 0.55 * len(plain)
        saved += len(plain) - len(packed)
    compact = bundle.to_bytes(compact=True)
    assert Bundle.from_bytes(compact) == bundle
    assert len(compact) <= len(bundle.to_bytes()) - saved


def test_a_bundle_refuses_a_broken_compact_image(monkeypatch):
    bundle = compile_program(read_source(str(EXAMPLES / "duty/duty.lpn")).program(())).bundle
    monkeypatch.setattr("lpn.compiler.bundle.pack", lambda image: pack(image)[:-1])
    with pytest.raises(BundleError, match=r"modules\[0\]\.image"):
        bundle.to_bytes(compact=True)


def test_command(tmp_path):
    duty = str(EXAMPLES / "duty/duty.lpn")
    assert lpnc("build", duty, "--compact", "--emit", "image,bundle", "-o", tmp_path).exit_code == 0
    one = tmp_path / "Rx.lpnc"
    assert one.read_bytes()[:4] == MAGIC
    assert lpnc("verify", one).exit_code == 0
    assert lpnc("disasm", tmp_path / "duty.lpnb").exit_code == 0
    one.write_bytes(one.read_bytes()[:60])
    refused = lpnc("verify", one)
    assert refused.exit_code == 2 and "bad compact form" in refused.output
    wrong = lpnc("build", duty, "--compact", "--target", "xdp", "-o", tmp_path)
    assert wrong.exit_code == 2 and "--compact" in wrong.output


def test_the_node_expands_with_less_than_500_bytes_of_code(tmp_path):
    cc = shutil.which("arm-none-eabi-gcc")
    if cc is None:
        pytest.skip("there is no arm-none-eabi-gcc")
    out = tmp_path / "expand.o"
    subprocess.run([cc, "-mcpu=cortex-m3", "-mthumb", "-Os", "-std=c99", "-c", Path(build.__file__).parent / "expand.c", "-o", out], check=True)
    sizes = subprocess.run(["arm-none-eabi-size", out], check=True, capture_output=True, text=True).stdout.splitlines()[1].split()
    assert int(sizes[0]) < 500 and sizes[1:3] == ["0", "0"]
