"""Bytecode as rbpf 0.3.0 takes it.

Two things are rewritten: loads of rodata and data addresses become absolute; and a 32-bit move of the register to
itself clears the upper half where rbpf leaves it wrong (RFC 9669 section 4.1): after a 32-bit add, sub or mul, which
it sign-extends, and after a 32-bit mod, whose destination it leaves as it is when the divisor is 0.
Everything rbpf lacks, or executes as something else, is refused by name, never imitated.
"""

from __future__ import annotations

import struct

from lpn.runtime.engines import EngineError

_SLOT = struct.Struct("<BBhi")
_LDDW = 0x18
#: lddw forms of images: (opcode, source) -> which section.
_ADDRESSES = {(0x18, 8): "rodata", (0x18, 9): "data", (0xD8, 0): "rodata", (0xB8, 0): "data"}
_NOT_CLEARED = {0x04, 0x0C, 0x14, 0x1C, 0x24, 0x2C, 0x94, 0x9C}     #: add32, sub32, mul32, mod32
MAX_SLOTS = 0x7FFF      #: rbpf computes jump targets in 16 bits


def unsupported(op: int, src: int, off: int) -> str | None:
    """What rbpf cannot do about an instruction, or None."""
    cls, code = op & 7, op >> 4
    if cls in (4, 7):
        if op == 0xD7:
            return "bswap"
        if code in (3, 9) and off:
            return "signed division"
        if code == 0xB and off:
            return "sign-extending move"
    if op == 0x06:
        return "long jump"
    if op == 0x85 and src == 1:
        return "local call"
    if cls == 1 and op & 0xE0 == 0x80:
        return "sign-extending load"
    if cls == 3 and op & 0xE0 == 0xC0:
        return "atomic operation"
    return None


def translate(text: bytes, rodata: int, data: int) -> bytes:
    """`text` for rbpf, with the addresses of rodata and data; EngineError names what rbpf lacks."""
    if not text or len(text) % 8:
        raise EngineError(f"rbpf: {len(text)} bytes are not one or more whole instructions")
    slots = list(_SLOT.iter_unpack(text))
    base = {"rodata": rodata, "data": data}
    out: list[bytes] = []
    place: list[int] = []           # old slot -> new slot
    jumps: list[tuple[int, int]] = []   # (new slot, old target)
    pc = 0
    while pc < len(slots):
        op, regs, off, imm = slots[pc]
        dst, src = regs & 15, regs >> 4
        missing = unsupported(op, src, off)
        if missing:
            raise EngineError(f"rbpf has no {missing} (instruction {pc})")
        place.append(len(out))
        section = _ADDRESSES.get((op, src))
        if section or op == _LDDW:
            if pc + 1 == len(slots):
                raise EngineError(f"rbpf: incomplete lddw (instruction {pc})")
            second = slots[pc + 1]
            if section:
                address = base[section] + imm & (1 << 64) - 1
                op, regs, imm = _LDDW, dst, _signed(address & 0xFFFFFFFF)
                second = (0, 0, 0, _signed(address >> 32))
            place.append(len(out) + 1)
            out += [_SLOT.pack(op, regs, off, imm), _SLOT.pack(*second)]
            pc += 2
            continue
        if op & 7 in (5, 6) and op not in (0x85, 0x95):
            jumps.append((len(out), pc + 1 + off))
        out.append(_SLOT.pack(op, regs, off, imm))
        if op in _NOT_CLEARED:
            out.append(_SLOT.pack(0xBC, dst | dst << 4, 0, 0))
        pc += 1
    if len(out) > MAX_SLOTS:
        raise EngineError(f"rbpf: {len(out)} instructions, it jumps within {MAX_SLOTS}")
    for at, target in jumps:
        if not 0 <= target < len(place):
            raise EngineError(f"rbpf: jump out of the text (to instruction {target})")
        op, regs, _, imm = _SLOT.unpack(out[at])
        out[at] = _SLOT.pack(op, regs, place[target] - at - 1, imm)
    return b"".join(out)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
