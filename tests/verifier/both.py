"""The certificate's checker twice: in C (certificate.c), on the workstation, and in Thumb-2 (certificate_thumb2.S), on the emulated core.

There nothing is mapped but the code, which can only be read, and what the checker is given, each on pages of its own: its stack, the image's fields, text,
certificate, work area, and the word for its answer. Whatever else is read or written is a fault.

As a program: both judge pairs that are changed at random, python tests/verifier/both.py PAIRS SEED [BUNDLE...]. Exit status 1 if they differ.
"""
from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cffi
import unicorn
from unicorn import arm_const as reg

from lpn.compiler.bundle import Bundle
from lpn.compiler.image import Image
from lpn.runtime.engine import build
from lpn.runtime.m3 import firmware

sys.path.insert(0, str(Path(__file__).parent))

from both_changed import CERTIFICATE_MOST, PAGE, TEXT_MOST, WORK_MOST, Case, changed      # noqa: E402
from forge import Pair, pairs                                                             # noqa: E402

ENGINE = Path(build.__file__).parent
CODE, STACK, IMAGE, ANSWER, TEXT, CERTIFICATE, WORK = (0x08000000 + n * 0x1000000 for n in range(7))
CODE_MOST = 2 * PAGE
RETURN = CODE + CODE_MOST       #: a page of its own
STACK_MOST, ABOVE = 412, 64     #: bytes that the checker takes of its caller's stack at most, as its calls are nested; that are its caller's
LOADED, FAULT = 20, -1          #: verdicts that are none of the checker's: refused by the loader, faulted
SIZES = "rodata", "data", "record", "state", "stack", "output"


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
    """A form on the core; `code`: of an ELF's checker alone, linked to CODE, whose function begins at `entry`. `stack`: bytes of it that there are."""

    def __init__(self, code: bytes, entry: int, stack: int = STACK_MOST) -> None:
        self.uc = uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.ctl_set_cpu_model(reg.UC_CPU_ARM_CORTEX_M3)
        both = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE
        uc.mem_map(CODE, CODE_MOST, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        uc.mem_map(RETURN, PAGE, unicorn.UC_PROT_EXEC)
        uc.mem_map(STACK, PAGE, both)
        for at, size in ((IMAGE, PAGE), (TEXT, TEXT_MOST), (CERTIFICATE, CERTIFICATE_MOST)):
            uc.mem_map(at, size, unicorn.UC_PROT_READ)
        uc.mem_map(ANSWER, PAGE, both)
        uc.mem_map(WORK, WORK_MOST, both)
        self.entry, self.stack, self.deepest, self.why = entry, stack, 0, ""
        self.put(code)

    def put(self, code: bytes) -> None:
        """Other code in its place."""
        self.uc.mem_write(CODE, code)
        self.uc.ctl_flush_tb()

    def check(self, case: Case, insns: int = 0) -> Verdict:
        """`insns`: it is stopped behind so many, which is a fault; 0: it ends by itself."""
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
        uc.mem_write(STACK, b"\x5a" * (self.stack + ABOVE))
        uc.mem_write(ANSWER, b"\x5a" * 12)
        for register, value in zip((reg.UC_ARM_REG_R0, reg.UC_ARM_REG_R1, reg.UC_ARM_REG_R2, reg.UC_ARM_REG_R3), (image, work, case.room, ANSWER + 4)):
            uc.reg_write(register, value)
        kept = [reg.UC_ARM_REG_R4 + n for n in range(8)]
        for n, register in enumerate(kept):
            uc.reg_write(register, 0x1000 + n)
        uc.reg_write(reg.UC_ARM_REG_SP, STACK + self.stack)
        uc.reg_write(reg.UC_ARM_REG_LR, RETURN | 1)
        try:
            uc.emu_start(self.entry | 1, RETURN, count=insns)
        except unicorn.UcError as e:
            self.why = f"{e} at {uc.reg_read(reg.UC_ARM_REG_PC):#x}"
            return Verdict(FAULT, 0)
        stack = bytes(uc.mem_read(STACK, self.stack + ABOVE))
        self.deepest = max(self.deepest, len(stack.lstrip(b"\x5a")) - ABOVE)
        answer = bytes(uc.mem_read(ANSWER, 12))
        left = (uc.reg_read(reg.UC_ARM_REG_PC) == RETURN and uc.reg_read(reg.UC_ARM_REG_SP) == STACK + self.stack
                and stack[self.stack:] == b"\x5a" * ABOVE and answer[:4] == answer[8:] == b"\x5a" * 4
                and all(uc.reg_read(register) == 0x1000 + n for n, register in enumerate(kept))
                and bytes(uc.mem_read(work + case.room, spare)) == b"\x5a" * spare)
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


def case_of(pair: Pair, room: int = 1024) -> Case:
    return Case(pair.text, pair.certificate, tuple(getattr(pair.sizes, name) for name in SIZES), room)


def case_of_image(image: Image) -> Case:
    return Case(image.text, image.certificate, (len(image.rodata), len(image.data), image.record_size, image.state_size, image.stack_used, image.out_size))


def differing(here: Here, there: There, given: Iterable[Case], insns: int = 0) -> Iterator[tuple[Case, Verdict, Verdict]]:
    """Those that are not judged alike, of what passes the loader."""
    for case in given:
        c = here.check(case)
        if c.why != LOADED:
            asm = there.check(case, insns)
            if asm != c:
                yield case, c, asm


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} PAIRS SEED [BUNDLE...]")
    begun = [case_of(pair) for pair in pairs() if pair.honest]
    begun += [case_of_image(image) for path in sys.argv[3:] for image in Bundle.from_bytes(Path(path).read_bytes()).modules if image.certificate]
    code, entry, _ = linked()
    different = list(differing(Here(), There(code, entry), changed(begun, random.Random(int(sys.argv[2])), int(sys.argv[1]))))
    for case, c, asm in different[:10]:
        print(f"C: {c}, Thumb-2: {asm}: {case}")
    print(f"{sys.argv[1]} pairs, {len(different)} judged otherwise")
    sys.exit(bool(different))
