"""Translates containers to Thumb-2 on the workstation, for a core elsewhere: an emulated one, or a listing's reader."""
from __future__ import annotations

from dataclasses import dataclass

from .build import library


class TranslateError(ValueError):
    """A container the translator refuses; `slot` says where."""

    def __init__(self, name: str, slot: int) -> None:
        super().__init__(f"{name} at slot {slot}")
        self.slot = slot


@dataclass(frozen=True)
class Translated:
    """Thumb-2 code and where it lies. `map[slot]`: byte offset of the slot's code; one entry more, the code's end."""
    code: bytes
    address: int
    map: tuple[int, ...]


def translate(text: bytes, *, clean32: bool, stack: int = 0, rodata: int = 0, data: int = 0) -> Translated:
    """The code of a container whose safety somebody else has proved: it checks no access.

    `clean32`: each register holds 32 bits. `stack`: bytes below r10. `rodata`, `data`: addresses on the core. Raises TranslateError.
    """
    ffi, lib = library()
    slots = len(text) // 8
    size = 64 * slots + 256
    code, map_, used = ffi.new("uint16_t[]", size // 2), ffi.new("uint16_t[]", slots + 1), ffi.new("uint32_t *")
    error = lib.lpn_host_thumb2(ffi.from_buffer("uint8_t[]", text), len(text), clean32, stack, rodata, data, code, size, map_, used)
    if error:
        raise TranslateError(ffi.string(lib.lpn_error_name(error)).decode(), used[0])
    return Translated(bytes(ffi.buffer(code, used[0])), 0, tuple(2 * at for at in map_))
