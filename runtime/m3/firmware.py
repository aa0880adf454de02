"""Builds what runs on the emulated core: an ELF of the C engine, or of any C, and reads its symbols.

`arm-none-eabi-gcc -Os` as a node's firmware is built, no libc; results are cached as the host's engine is.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from lpn.runtime.engine.build import HEADERS, HERE as ENGINE, SOURCES, BuildError, cache_dir, compile_to, digest

HERE = Path(__file__).parent
COMPILER = "arm-none-eabi-gcc"
TARGET = ("-mcpu=cortex-m3", "-mthumb")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow")
FLAGS = (*TARGET, "-std=gnu99", "-g", "-ffreestanding", "-fno-strict-aliasing", "-fno-tree-loop-distribute-patterns")
HOSTS_ONLY = ("node_host.c", "plan_host.c", "certificate_host.c")  #: one needs a real heap, the others are for who writes certificates and bounds
ASSEMBLER = ("load_thumb2.S", "vm32_thumb2.S", "vm32_smallest.S", "env_smallest.S", "thumb2_clean.S", "certificate_thumb2.S")    #: what the engine has in Thumb-2 itself
#: Functions that begin a line of the flash (flash.LINE), wherever they are linked: the first two say so.
LINES = ("lpn_loop32",)
LINK = ("-nostdlib", "-Wl,--entry=0", "-Wl,--fatal-warnings")


@dataclass(frozen=True)
class Section:
    """Bytes at an address."""

    address: int
    content: bytes
    size: int                   #: in memory; what is more than the content is zero


@dataclass(frozen=True)
class Firmware:
    """An ELF: what to load where, and where its functions and variables are."""

    path: Path
    sections: tuple[Section, ...]
    symbols: dict[str, int]             #: functions without the Thumb bit
    functions: dict[str, tuple[int, int]]   #: name -> (address, bytes)
    code: tuple[tuple[int, int], ...]   #: [start, end) of instructions, without literals and tables

    @functools.cached_property
    def starts(self) -> list[int]:
        """Where functions begin, in order."""
        return sorted({address for address, _ in self.functions.values()})

    @functools.cached_property
    def lines(self) -> frozenset[int]:
        """Where those begin that lie at a line of the flash in any firmware."""
        return frozenset(self.functions[name][0] for name in LINES if name in self.functions)

    def size_of(self, *names: str) -> int:
        """Bytes of these functions."""
        return sum(self.functions[name][1] for name in names)


def compiler() -> str:
    """The compiler, or BuildError that says what to install."""
    found = shutil.which(COMPILER)
    if not found:
        raise BuildError(f"the emulated Cortex-M3 needs {COMPILER}: install Debian's gcc-arm-none-eabi")
    return found


def version() -> str:
    """The compiler's version. Raises BuildError."""
    found = subprocess.run([compiler(), "-dumpversion"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def build(name: str, sources: list[Path], *, headers: list[Path] | None = None, optimise: str = "-Os",
          include: tuple[Path, ...] = (), flags: tuple[str, ...] = ()) -> Path:
    """The ELF of these C files, built if it is not there. BuildError when it fails."""
    cc, script = compiler(), HERE / "m3.ld"
    options = (*FLAGS, optimise, *WARNINGS, *flags, *LINK)
    target = cache_dir() / f"lpn-m3-{name}-{digest(cc, *options, script, *sources, *(headers or []))}.elf"
    if not target.exists():
        where = [f"-I{path}" for path in include]
        compile_to(target, [cc, *options, f"-T{script}", *where, *map(str, sources), "-lgcc"])
    return target


def text_of(*names: str, options: tuple[str, ...] = ()) -> int:
    """Bytes of flash that these files of the engine take at -Os: code and constants. `options` as lpn_options.h has them. Raises BuildError."""
    total = 0
    for name in names:
        with _object(name, options).open("rb") as file:
            total += sum(s["sh_size"] for s in ELFFile(file).iter_sections() if s.name.startswith((".text", ".rodata")))
    return total


def align_of(name: str, options: tuple[str, ...] = ()) -> int:
    """What the address of this file's code is a multiple of, wherever it is linked. Raises BuildError."""
    with _object(name, options).open("rb") as file:
        return ELFFile(file).get_section_by_name(".text")["sh_addralign"]


def _object(name: str, options: tuple[str, ...]) -> Path:
    source, headers = ENGINE / name, [ENGINE / header for header in HEADERS]
    flags = (*FLAGS, "-Os", *(f"-D{option}" for option in options), f"-I{ENGINE}", f"-I{HERE / 'libc'}", "-c")
    cc = compiler()
    target = cache_dir() / f"lpn-m3-{source.stem}-{digest(cc, *flags, source, *headers)}.o"
    if not target.exists():
        compile_to(target, [cc, *flags, str(source)])
    return target


def struct_sizes(*names: str) -> dict[str, int]:
    """Bytes of these types of the engine, by its debugging information."""
    out: dict[str, int] = {}
    with engine().path.open("rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                name = die.attributes.get("DW_AT_name")
                if die.tag == "DW_TAG_typedef" and name and name.value.decode() in names and name.value.decode() not in out:
                    of = die.get_DIE_from_attribute("DW_AT_type")
                    out[name.value.decode()] = of.attributes["DW_AT_byte_size"].value
            if len(out) == len(names):
                break
    return out


@functools.cache
def engine(*options: str) -> Firmware:
    """The C engine with its host border; `options` as lpn_options.h has them."""
    libc = [HERE / "libc" / name for name in ("stdlib.h", "string.h")]
    sources = [*(ENGINE / name for name in SOURCES if name not in HOSTS_ONLY), *(ENGINE / name for name in ASSEMBLER), HERE / "support.c"]
    headers = [*(ENGINE / name for name in HEADERS), *libc]
    return read(build("engine", sources, headers=headers, include=(ENGINE, HERE / "libc"), flags=tuple(f"-D{option}" for option in options)))


def read(path: Path) -> Firmware:
    """What a core needs of an ELF."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        sections = tuple(Section(s["p_vaddr"], s.data(), s["p_memsz"]) for s in elf.iter_segments()
                         if s["p_type"] == "PT_LOAD" and s["p_memsz"])
        symbols, functions, marks = {}, {}, {}
        for s in elf.get_section_by_name(".symtab").iter_symbols():
            kind, value = s["st_info"]["type"], s["st_value"]
            if s.name.startswith(("$t", "$d")):
                marks[value] = s.name[1]        # mapping symbols: code or data from here on (ELF for the Arm Architecture)
            elif kind == "STT_FUNC":
                functions[s.name] = value & ~1, s["st_size"]
                symbols[s.name] = value & ~1
            elif kind == "STT_OBJECT":
                symbols[s.name] = value
        text = elf.get_section_by_name(".text")
        end = text["sh_addr"] + text["sh_size"]
    places = [(at, marks[at]) for at in sorted(marks) if text["sh_addr"] <= at < end]
    ends = [at for at, _ in places[1:]] + [end]
    code = tuple((at, stop) for (at, mark), stop in zip(places, ends) if mark == "t")
    return Firmware(path, sections, symbols, functions, code)
