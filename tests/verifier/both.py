"""The certificate's checker twice: in C (certificate.c), on the workstation, and in Thumb-2 (certificate_thumb2.S), on the emulated core.

There nothing is mapped but the code, which can only be read, and what the checker is given, each on pages of its own: its stack, the image's fields, text,
certificate, work area, and the word for its answer. Whatever else is read or written is a fault.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path

import cffi
import unicorn
from unicorn import arm_const as reg

from lpn.runtime.engine import build
from lpn.runtime.m3 import firmware

ENGINE = Path(build.__file__).parent
PAGE = 4096
CODE, STACK, IMAGE, ANSWER, TEXT, CERTIFICATE, WORK = (0x08000000 + n * 0x1000000 for n in range(7))
TEXT_MOST, CERTIFICATE_MOST, WORK_MOST = 64 * PAGE, 16 * PAGE, 2 * PAGE
RETURN = CODE + 0x7F000
ABOVE = 64                      #: bytes above that, which it must not touch
STACK_MOST = 600                #: bytes that the checker may take of its caller's stack
LOADED, FAULT = 20, -1          #: verdicts that are none of the checker's: refused by the loader, faulted
SIZES = "rodata", "data", "record", "state", "stack", "output"


@dataclass(frozen=True)
class Case:
    """A text, its certificate, the sizes of its regions in the order of SIZES, the bytes of work area. `high`: each buffer ends where its pages do, else it begins there."""
    text: bytes
    certificate: bytes
    sizes: tuple[int, ...]
    room: int = 1024
    high: bool = True


@dataclass(frozen=True)
class Verdict:
    """Why it is refused (0: accepted), and where, or what it costs."""
    why: int
    at: int


class Here:
    """The C form, as a library; the loader is asked first."""

    def __init__(self) -> None:
        self.ffi = cffi.FFI()
        self.ffi.cdef("int judged(const uint8_t *, uint32_t, const uint8_t *, uint32_t, const uint32_t *, void *, uint32_t, uint32_t *);")
        cc, files = build.compiler(), [Path(__file__).parent / "judged.c", *(ENGINE / name for name in ("certificate.c", "load.c"))]
        target = build.cache_dir() / f"lpn-both-{build.digest(cc, *files, *(ENGINE / name for name in build.HEADERS))}.so"
        if not target.exists():
            build.compile_to(target, [cc, "-std=c99", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", f"-I{ENGINE}", *map(str, files)])
        self.lib = self.ffi.dlopen(str(target))
        self.work, self.at = self.ffi.new("uint64_t[]", WORK_MOST // 8), self.ffi.new("uint32_t *")

    def check(self, case: Case) -> Verdict:
        ffi = self.ffi
        why = self.lib.judged(ffi.from_buffer(case.text or b"\0"), len(case.text), ffi.from_buffer(case.certificate or b"\0"), len(case.certificate),
                              ffi.new("uint32_t[]", case.sizes), self.work, case.room, self.at)
        return Verdict(why, self.at[0])


class There:
    """A form on the core; `code`: of an ELF's checker alone, linked to CODE, whose function begins at `entry`."""

    def __init__(self, code: bytes, entry: int) -> None:
        self.uc = uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.ctl_set_cpu_model(reg.UC_CPU_ARM_CORTEX_M3)
        both = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE
        uc.mem_map(CODE, 0x80000, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        uc.mem_map(STACK, PAGE, both)
        for at, size in ((IMAGE, PAGE), (TEXT, TEXT_MOST), (CERTIFICATE, CERTIFICATE_MOST)):
            uc.mem_map(at, size, unicorn.UC_PROT_READ)
        uc.mem_map(ANSWER, PAGE, both)
        uc.mem_map(WORK, WORK_MOST, both)
        self.entry, self.deepest, self.why = entry, 0, ""
        self.put(code)

    def put(self, code: bytes) -> None:
        """Other code in its place."""
        self.uc.mem_write(CODE, code)
        self.uc.ctl_flush_tb()

    def check(self, case: Case, insns: int = 0) -> Verdict:
        uc = self.uc

        def placed(base: int, most: int, content: bytes, align: int) -> int:
            at = base + most - (len(content) + align - 1) // align * align if case.high else base
            if content:
                uc.mem_write(at, content)
            return at

        sizes = dict(zip(SIZES, case.sizes))
        text = placed(TEXT, TEXT_MOST, case.text, 4)
        certificate = placed(CERTIFICATE, CERTIFICATE_MOST, case.certificate, 1)
        fields = struct.pack("<12I5HBx", text, 0, 0, certificate, 0, len(case.text), sizes["rodata"], sizes["data"], len(case.certificate), 0, 0, 0,
                             sizes["record"], sizes["state"], 0, sizes["stack"], sizes["output"], 0)
        spare = -case.room % 8
        image, work = placed(IMAGE, PAGE, fields, 4), placed(WORK, WORK_MOST, b"\xa5" * case.room + b"\x5a" * spare, 8)
        uc.mem_write(STACK, b"\x5a" * (STACK_MOST + ABOVE))
        uc.mem_write(ANSWER, b"\x5a" * 12)
        for register, value in zip((reg.UC_ARM_REG_R0, reg.UC_ARM_REG_R1, reg.UC_ARM_REG_R2, reg.UC_ARM_REG_R3), (image, work, case.room, ANSWER + 4)):
            uc.reg_write(register, value)
        kept = [reg.UC_ARM_REG_R4 + n for n in range(8)]
        for n, register in enumerate(kept):
            uc.reg_write(register, 0x1000 + n)
        uc.reg_write(reg.UC_ARM_REG_SP, STACK + STACK_MOST)
        uc.reg_write(reg.UC_ARM_REG_LR, RETURN | 1)
        try:
            uc.emu_start(self.entry | 1, RETURN, count=insns)
        except unicorn.UcError as e:
            self.why = f"{e} at {uc.reg_read(reg.UC_ARM_REG_PC):#x}"
            return Verdict(FAULT, 0)
        stack = bytes(uc.mem_read(STACK, STACK_MOST + ABOVE))
        self.deepest = max(self.deepest, len(stack.lstrip(b"\x5a")) - ABOVE)
        answer = bytes(uc.mem_read(ANSWER, 12))
        left = (uc.reg_read(reg.UC_ARM_REG_PC) == RETURN and uc.reg_read(reg.UC_ARM_REG_SP) == STACK + STACK_MOST
                and stack[STACK_MOST:] == b"\x5a" * ABOVE and answer[:4] == answer[8:] == b"\x5a" * 4
                and all(uc.reg_read(register) == 0x1000 + n for n, register in enumerate(kept)) and bytes(uc.mem_read(work + case.room, spare)) == b"\x5a" * spare)
        if not left:
            self.why = f"not as it was found, or no end: pc {uc.reg_read(reg.UC_ARM_REG_PC):#x}"
            return Verdict(FAULT, 1)
        return Verdict(uc.reg_read(reg.UC_ARM_REG_R0), int.from_bytes(answer[4:8], "little"))


def linked(*options: str) -> tuple[bytes, int, list[tuple[int, int]]]:
    """The checker alone, linked to CODE: its bytes, where it begins, and where its instructions are, without tables."""
    sources = [ENGINE / "certificate.c", ENGINE / "certificate_thumb2.S"]
    flags = tuple(f"-D{option}" for option in options) + (f"-Wl,-Ttext={CODE:#x}",)
    path = firmware.build("certificate", sources, headers=[ENGINE / name for name in build.HEADERS], include=(ENGINE, ENGINE.parent / "m3" / "libc"),
                          flags=flags)
    made = firmware.read(path)
    code = b""
    for section in made.sections:
        if section.content and section.address >= CODE:
            code = code.ljust(section.address - CODE, b"\0") + section.content
    return code, made.symbols["lpn_certificate_check"], list(made.code)


def cases(given: list[Case], rng, count: int):
    """Cases changed at random: text, certificate, sizes, room; several at once, too."""
    for _ in range(count):
        case = rng.choice(given)
        what = rng.randrange(16)
        text, certificate, sizes, room = case.text, case.certificate, case.sizes, case.room
        if what != 0 and what != 8:
            certificate = changed(certificate, rng)
        if what == 0 or what > 9:
            text = changed_text(text, rng, rng.choice(given).text)
        if what in (3, 8):
            at = rng.randrange(6)
            sizes = (*sizes[:at], max(0, rng.choice((sizes[at] - 8, sizes[at] - 1, sizes[at] + 1, sizes[at] + 9, 0, rng.randrange(600)))), *sizes[at + 1:])
        if what in (4, 8):
            room = rng.randrange(2 * WORK_MOST // 3) if rng.random() < 0.2 else rng.randrange(400)
        yield replace(case, text=text, certificate=certificate, sizes=sizes, room=room, high=rng.random() < 0.8)


def changed(raw: bytes, rng) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not out:
            break
        at, how = rng.randrange(len(out)), rng.randrange(9)
        if how == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            out[at] = rng.randrange(256)
        elif how == 2:
            out[at] = (out[at] + rng.choice((1, -1))) & 255
        elif how == 3:
            out[at] = out[rng.randrange(len(out))]
        elif how == 4:
            del out[at]
        elif how == 5:
            out.insert(at, rng.randrange(256))
        elif how == 6:
            out[at] = rng.choice((0, 1, 2, 16, 31, 32, 127, 128, 255))
        elif how == 7:
            out[at:at + 1] = bytes([out[at] | 128, rng.choice((0, 1, 2, 127, 128, 255))])
        else:
            del out[at:len(out) if rng.random() < 0.3 else at + 2]
    return bytes(out)


def changed_text(raw: bytes, rng, other: bytes) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2))):
        at, how = 8 * rng.randrange(len(out) // 8), rng.randrange(10)
        if how == 0:
            place = 8 * rng.randrange(len(other) // 8)
            out[at:at + 8] = other[place:place + 8]
        elif how == 1:
            place = 8 * rng.randrange(len(out) // 8)
            out[at:at + 8] = out[place:place + 8]
        elif how == 2:
            out[at + 1] = out[at + 1] & 0xF0 | rng.randrange(11)
        elif how == 3:
            out[at + 1] = out[at + 1] & 15 | rng.randrange(11) << 4
        elif how == 4:
            out[at] = other[8 * rng.randrange(len(other) // 8)]
        elif how == 5:
            out[at + rng.randrange(2, 8)] = rng.randrange(256)
        elif how == 6:
            byte = at + rng.choice((2, 4))
            out[byte] = (out[byte] + rng.randrange(-4, 5)) & 255
        elif how == 7:
            out[at] ^= rng.choice((8, 3, 0x10, 0x20, 0x40, 0x80))
        elif how == 8:
            struct.pack_into("<i", out, at + 4, rng.choice((0, 1, -1, 2, 4, 8, 16, 31, 32, 63, 64, 255, 256, 32767, 32768, 65535, 65536, 131072, 131073, 1 << 30, -1 << 31)))
        else:
            out[at + rng.randrange(8)] ^= 1 << rng.randrange(8)
    return bytes(out)
