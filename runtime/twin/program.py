"""The firmware: what of an ELF a board is loaded with, and which function and source file an address belongs to."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from .memory import FLASH, FLASH_SIZE, RAM

MAGIC = b"\x7fELF"
#: Containers that are code in flash: of a linked set (runtime/linked.py) each, and the pack that they lie in.
CONTAINERS = ("lpn_code_", "lpn_rom")


class ProgramError(Exception):
    """The file is no firmware for this board; one line says why."""


@dataclass(frozen=True)
class Function:
    name: str
    start: int
    size: int
    source: str = ""            #: its file, as the compiler was called; empty without debug information


@dataclass(frozen=True)
class Program:
    """`code`: [start, end) of instructions, without literals and tables."""

    path: Path
    flash: tuple[tuple[int, bytes], ...]
    functions: tuple[Function, ...]         #: by start
    symbols: dict[str, int]                 #: functions without the Thumb bit, and variables
    sizes: dict[str, int]
    code: tuple[tuple[int, int], ...]
    sections: dict[str, int]                #: bytes of text, data and bss
    _starts: list[int] = field(default_factory=list)

    def function_at(self, address: int) -> Function | None:
        """The function that this address lies in, or behind."""
        i = bisect.bisect_right(self._starts, address) - 1
        return self.functions[i] if i >= 0 else None

    def place(self, address: int) -> str:
        """An address for a reader: function+offset."""
        function = self.function_at(address)
        if function is None or address - function.start > max(function.size, 1 << 12):
            return f"{address:#x}"
        return f"{function.name}+{address - function.start:#x}"


def read(path: str | Path) -> Program:
    """A firmware. Raises ProgramError, and OSError."""
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise ProgramError(f"{path}: not an ELF: what runs is a node's firmware, as RIOT's build leaves it in bin/iotlab-m3/NAME.elf")
            return _program(Path(path), ELFFile(file))
    except (ELFError, UnicodeDecodeError, ValueError, KeyError) as e:
        raise ProgramError(f"{path}: not an ELF that can be read: {e}") from None


def _program(path: Path, elf: ELFFile) -> Program:
    if elf["e_machine"] != "EM_ARM" or elf.elfclass != 32:
        raise ProgramError(f"{path}: built for {elf.get_machine_arch()}, not for an Arm Cortex-M3 (BOARD=iotlab-m3)")
    flash = []
    for s in elf.iter_segments():
        if s["p_type"] == "PT_LOAD" and s["p_filesz"]:
            if not FLASH <= s["p_paddr"] <= FLASH + FLASH_SIZE - s["p_filesz"]:
                raise ProgramError(f"{path}: loads {s['p_filesz']} bytes to {s['p_paddr']:#x}, where the board has no flash")
            flash.append((s["p_paddr"], s.data()))
    if not flash:
        raise ProgramError(f"{path}: nothing to load")
    table = elf.get_section_by_name(".symtab")
    if table is None:
        raise ProgramError(f"{path}: has no symbols; do not strip the firmware")
    symbols, sizes, marks, spans = {}, {}, {}, {}
    for s in table.iter_symbols():
        kind, value = s["st_info"]["type"], s["st_value"]
        if s.name.startswith(("$t", "$d")):
            marks[value] = s.name[1]            # mapping symbols: ELF for the Arm Architecture, 5.5.5
        elif kind in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE") and s.name and s["st_shndx"] != "SHN_UNDEF":
            value = value & ~1 if kind == "STT_FUNC" else value
            symbols[s.name], sizes[s.name] = value, s["st_size"]
            if kind == "STT_FUNC" or s.name.startswith(CONTAINERS[0]) or s.name == CONTAINERS[1]:
                spans.setdefault(value, (s.name, s["st_size"]))
    sources = _sources(elf)
    functions = tuple(Function(name, at, size, name if name.startswith(CONTAINERS) else sources.at(at)) for at, (name, size) in sorted(spans.items()))
    end = max(at + len(data) for at, data in flash)
    places = [(at, marks[at]) for at in sorted(marks) if FLASH <= at < end]
    ends = [at for at, _ in places[1:]] + [end]
    code = tuple((at, stop) for (at, mark), stop in zip(places, ends) if mark == "t")
    code += tuple((f.start, f.start + f.size) for f in functions if f.name.startswith(CONTAINERS[0]))
    return Program(path, tuple(flash), functions, symbols, sizes, code, _sections(elf), [f.start for f in functions])


def _sections(elf: ELFFile) -> dict[str, int]:
    """As `size` counts: what is read only, or kept free in flash; what is copied to RAM; what is zeroed."""
    out = {"text": 0, "data": 0, "bss": 0}
    for s in elf.iter_sections():
        if s["sh_flags"] & 2:                   # SHF_ALLOC
            kind = "bss" if s["sh_type"] == "SHT_NOBITS" and s["sh_addr"] >= RAM else "data" if s["sh_flags"] & 1 else "text"
            out[kind] += s["sh_size"]
    return out


class _sources:
    """Address -> source file, from the address ranges of DWARF's compilation units."""

    def __init__(self, elf: ELFFile) -> None:
        self.ranges: list[tuple[int, int, str]] = []
        if not elf.has_dwarf_info():
            return
        dwarf = elf.get_dwarf_info()
        aranges = dwarf.get_aranges()
        names: dict[int, str] = {}
        for entry in aranges.entries if aranges else ():
            if entry.info_offset not in names:
                top = dwarf.get_CU_at(entry.info_offset).get_top_DIE().attributes.get("DW_AT_name")
                names[entry.info_offset] = top.value.decode(errors="replace") if top else ""
            self.ranges.append((entry.begin_addr, entry.begin_addr + entry.length, names[entry.info_offset]))
        self.ranges.sort()
        self._starts = [start for start, _, _ in self.ranges]

    def at(self, address: int) -> str:
        i = bisect.bisect_right(self._starts, address) - 1 if self.ranges else -1
        if i < 0 or address >= self.ranges[i][1]:
            return ""
        return self.ranges[i][2]
