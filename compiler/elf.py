"""Reads the eBPF ELF object that LLVM writes: text, read-only data, relocations, and the line table."""
from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.constants import DW_LNE_set_address
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Symbol

R_BPF_64_64, R_BPF_64_ABS64, R_BPF_64_32 = 1, 2, 10     # LLVM's BPF relocations: lddw of an address, an address in debug sections, a call
SRC_RODATA, SRC_DATA = 8, 9                     # pseudo source registers of `lddw` (docs/image.md)
CALL, LOCAL = 0x85, 1                           # opcode of a call, source register of one of a local function
MAPS = (".maps", "maps")                        # sections with the kernel's maps, of libbpf and of the time before
MOST_DATA = 1 << 20                             # bytes of a section


class ElfError(Exception):
    """The object is not one that a container can be made from."""


#: What a reader of ELF or DWARF stumbles over in a damaged object.
DAMAGE = (ELFError, DWARFError, AssertionError, AttributeError, LookupError, OverflowError, TypeError, UnicodeDecodeError, struct.error)


@dataclass
class Object:
    text: bytes
    rodata: bytes = b""
    data: bytes = b""
    lines: list[tuple[int, str, int]] = field(default_factory=list)       # (instruction slot, file, line), by slot


@dataclass(frozen=True)
class Program:
    """One of an object's programs. `function`: None if it is all of its section."""
    section: str
    function: str | None = None


def programs(elf: ELFFile) -> list[Program]:
    """The programs of an object, as libbpf finds them: global functions of a section are programs, `.text` has what they call; alone it has those that nobody calls."""
    sections = [(i, s) for i, s in enumerate(elf.iter_sections()) if s["sh_type"] == "SHT_PROGBITS" and s["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and s["sh_size"]]
    functions = _functions(elf)
    linker, out = _Linker(elf, functions), []
    for i, section in sections:
        own = [f for f in functions if f.section == i]
        entries = [f for f in own if f.public]
        if section.name == ".text":
            if len(sections) > 1:
                continue
            called = {place for f in own for place in linker.calls(f)}
            entries = [f for f in entries if f.place not in called]
        if len(own) < 2 or not entries:
            out.append(Program(section.name))
        else:
            out += [Program(section.name, f.name) for f in sorted(entries, key=lambda f: f.start)]
    return out


def read_object(data: bytes, section: str, function: str | None = None) -> Object:
    """The program that is this section, or this function with what it calls behind it, as one text."""
    elf = ELFFile(io.BytesIO(data))
    index = elf.get_section_index(section)
    if index is None:
        raise ElfError(f"the object has no section '{section}'")
    linker = _Linker(elf, _functions(elf))
    first = _Function(section, index, 0, elf.get_section(index)["sh_size"])
    if function is not None:
        first = next((f for f in linker.functions.values() if f.name == function and f.section == index), None)
        if first is None:
            raise ElfError(f"section '{section}' has no function '{function}'")
    return linker.linked(first)


@dataclass(frozen=True)
class _Function:
    """Where code lies: section, first byte, size."""
    name: str
    section: int
    start: int
    size: int
    public: bool = False

    @property
    def place(self) -> tuple[int, int]:
        return self.section, self.start

    def has(self, place: tuple[int, int]) -> bool:
        return self.section == place[0] and self.start <= place[1] < self.start + self.size


def _functions(elf: ELFFile) -> list[_Function]:
    symbols = elf.get_section_by_name(".symtab")
    return [_Function(s.name, s["st_shndx"], s["st_value"], s["st_size"], s["st_info"]["bind"] != "STB_LOCAL")
            for s in (symbols.iter_symbols() if symbols is not None else ()) if s["st_info"]["type"] == "STT_FUNC" and isinstance(s["st_shndx"], int)]


class _Linker:
    """Puts a function and what it calls behind each other."""

    def __init__(self, elf: ELFFile, functions: list[_Function]) -> None:
        self.elf = elf
        self.functions = {f.place: f for f in functions}
        self.rodata, self.rodata_at = _gather(elf, ".rodata")
        self.data, self.data_at = _gather(elf, ".data", ".bss")
        self.relocated: dict[tuple[int, int], tuple[int, Symbol]] = {}        # (section, offset) -> type, symbol
        symbols = elf.get_section_by_name(".symtab")
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection):
                for r in section.iter_relocations():
                    self.relocated[section["sh_info"], r["r_offset"]] = r["r_info_type"], symbols.get_symbol(r["r_info_sym"])

    def code(self, f: _Function) -> bytes:
        return self.elf.get_section(f.section).data()[f.start:f.start + f.size]

    def calls(self, f: _Function) -> dict[tuple[int, int], int]:
        """Where local functions begin that it calls -> the byte of a call in it."""
        code, out = self.code(f), {}
        for at in range(0, len(code) - 7, 8):
            if code[at] == CALL and code[at + 1] >> 4 == LOCAL:
                out[self.called(f, at, code)] = at
        return out

    def called(self, f: _Function, at: int, code: bytes) -> tuple[int, int]:
        distance = 8 * (1 + struct.unpack_from("<i", code, at + 4)[0])
        found = self.relocated.get((f.section, f.start + at))
        if found is None:
            return f.section, f.start + at + distance
        kind, symbol = found
        if kind != R_BPF_64_32 or not isinstance(symbol["st_shndx"], int):
            raise ElfError(f"'{symbol.name}' is called and not in the object")
        return symbol["st_shndx"], symbol["st_value"] + distance

    def linked(self, first: _Function) -> Object:
        order, begins, size = [first], {}, 0
        for f in order:
            begins[f], size = size, size + f.size
            for place in self.calls(f):
                if not any(g.has(place) for g in order):
                    if place not in self.functions:
                        raise ElfError(f"a call in {f.name} leads to byte {place[1]} of section {self.elf.get_section(place[0]).name}, where no function begins")
                    order.append(self.functions[place])
        text = b"".join(self.resolved(f, begins) for f in order)
        tables = line_tables(self.elf)
        lines = [((begins[f] + 8 * slot - f.start) // 8, file, line) for f in order for slot, file, line in tables.get(f.section, ()) if f.has((f.section, 8 * slot))]
        return Object(text, self.rodata, self.data, lines)

    def resolved(self, f: _Function, begins: dict[_Function, int]) -> bytes:
        """Its code with the addresses and calls of the text in which its and the other functions begin there."""
        text = bytearray(self.code(f))
        for place, (kind, symbol) in self.relocated.items():
            if not f.has(place) or text[place[1] - f.start] == CALL:
                continue
            at, index = place[1] - f.start, symbol["st_shndx"]
            if kind != R_BPF_64_64 or not isinstance(index, int):
                missing = kind == R_BPF_64_64 and index == "SHN_UNDEF"
                raise ElfError(self.place_of(f, place) + (f"'{symbol.name}' is not in the object" if missing else
                                                          f"relocation of type {kind} against '{symbol.name}' cannot be resolved"))
            base, source = (self.rodata_at[index], SRC_RODATA) if index in self.rodata_at else (self.data_at.get(index), SRC_DATA)
            if base is None:
                raise ElfError(self.place_of(f, place) + self.not_there(index, symbol, struct.unpack_from("<i", text, at + 4)[0]))
            addend = struct.unpack_from("<i", text, at + 4)[0]
            text[at + 1] = (text[at + 1] & 0x0F) | source << 4
            struct.pack_into("<i", text, at + 4, base + symbol["st_value"] + addend)
            struct.pack_into("<i", text, at + 12, 0)
        for at in range(0, len(text) - 7, 8):
            if text[at] == CALL and text[at + 1] >> 4 == LOCAL:
                target = self.called(f, at, bytes(text))
                g = f if f.has(target) else next((g for g in begins if g.has(target)), None)
                if g is not None:
                    struct.pack_into("<i", text, at + 4, (begins[g] + target[1] - g.start - begins[f] - at) // 8 - 1)
        return bytes(text)

    def place_of(self, f: _Function, place: tuple[int, int]) -> str:
        """Where something stands, as it begins a message."""
        line = next((f"{file}:{line}: " for slot, file, line in reversed(line_tables(self.elf).get(f.section, ())) if 8 * slot <= place[1]), "")
        return f"{line}{f.name}: "

    def not_there(self, index: int, symbol: Symbol, addend: int) -> str:
        """Why what lies in another section has no address."""
        section = self.elf.get_section(index)
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR:
            function = self.functions.get((index, symbol["st_value"] + addend))
            return f"takes the address of function '{function.name if function else symbol.name or section.name}': a container calls its functions by name only"
        if section.name in MAPS:
            return f"'{symbol.name}' is a map (section {section.name}), and containers have none: a variable keeps its value from run to run, too"
        return f"'{symbol.name or section.name}' is in section {section.name}, which a container has not: it has .rodata, .data and .bss"


def _gather(elf: ELFFile, *names: str) -> tuple[bytes, dict[int, int]]:
    """All sections of these names, one behind the other at multiples of 8, and where each begins."""
    out, where = bytearray(), {}
    for i, s in enumerate(elf.iter_sections()):
        if any(s.name == name or s.name.startswith(name + ".") for name in names):
            if s["sh_size"] > MOST_DATA:
                raise ElfError(f"section {s.name} has {s['sh_size']} bytes, more than any node has")
            out += bytes(-len(out) % 8)
            where[i] = len(out)
            out += s.data()
    return bytes(out), where


def line_tables(elf: ELFFile) -> dict[int, list[tuple[int, str, int]]]:
    """Section -> (slot, file, line), by slot; the file's folder in front: `udp.lpn` and `std/udp.lpn` are two files."""
    if not elf.has_dwarf_info():
        return {}
    rows: dict[int, dict[int, tuple[int, str, int]]] = {}
    sections = _sections_of_lines(elf)
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        first = 1 if program["version"] < 5 else 0          # DWARF 5 counts files and folders from 0
        folders = ([b"."] if first else []) + list(program["include_directory"])
        names = [(f.name if f.name.startswith(b"/") else b"/".join(p for p in (folders[f.dir_index], f.name) if p != b".")).decode()
                 for f in program["file_entry"]]
        section = 0
        for entry in program.get_entries():
            state = entry.state
            if entry.is_extended and entry.command == DW_LNE_set_address:
                section = next(sections, 0)
            elif state is not None and not state.end_sequence and state.line:
                rows.setdefault(section, {})[state.address // 8] = (state.address // 8, names[state.file - first], state.line)
    return {section: sorted(of.values()) for section, of in rows.items()}   # a later row for the same address says where it is from


def _sections_of_lines(elf: ELFFile) -> Iterator[int]:
    """The sections of the addresses that the line table sets, one after the other."""
    relocations, symbols = elf.get_section_by_name(".rel.debug_line"), elf.get_section_by_name(".symtab")
    if relocations is not None:
        for r in sorted(relocations.iter_relocations(), key=lambda r: r["r_offset"]):
            if r["r_info_type"] == R_BPF_64_ABS64:
                yield symbols.get_symbol(r["r_info_sym"])["st_shndx"]
