"""Reads the eBPF ELF object that LLVM writes: text, read-only data, relocations, and the line table."""
from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

R_BPF_64_64 = 1                                 # lddw: address of a symbol (LLVM's BPF relocations)
SRC_RODATA, SRC_DATA = 8, 9                     # pseudo source registers of `lddw` (docs/image.md)


class ElfError(Exception):
    """The object is not one that a container can be made from."""


@dataclass
class Object:
    text: bytes
    rodata: bytes = b""
    data: bytes = b""
    lines: list[tuple[int, str, int]] = field(default_factory=list)       # (instruction slot, file, line), by slot


def read_object(data: bytes, section: str) -> Object:
    elf = ELFFile(io.BytesIO(data))
    text_section = elf.get_section_by_name(section)
    if text_section is None:
        raise ElfError(f"the object has no section '{section}'")
    text = bytearray(text_section.data())
    rodata, rodata_at = _gather(elf, ".rodata")
    mutable, data_at = _gather(elf, ".data")
    symbols = elf.get_section_by_name(".symtab")
    for relocations in elf.iter_sections():
        if not isinstance(relocations, RelocationSection) or elf.get_section(relocations["sh_info"]).name != section:
            continue
        for r in relocations.iter_relocations():
            symbol = symbols.get_symbol(r["r_info_sym"])
            index = symbol["st_shndx"]
            offset = r["r_offset"]
            if r["r_info_type"] != R_BPF_64_64 or not isinstance(index, int):
                raise ElfError(f"relocation of type {r['r_info_type']} against '{symbol.name}' cannot be resolved")
            base, source = (rodata_at[index], SRC_RODATA) if index in rodata_at else (data_at.get(index), SRC_DATA)
            if base is None:
                raise ElfError(f"'{symbol.name}' is in section {elf.get_section(index).name}, which a container has not")
            addend = struct.unpack_from("<i", text, offset + 4)[0]
            text[offset + 1] = (text[offset + 1] & 0x0F) | source << 4
            struct.pack_into("<i", text, offset + 4, base + symbol["st_value"] + addend)
            struct.pack_into("<i", text, offset + 12, 0)
    return Object(bytes(text), rodata, mutable, line_table(elf))


def _gather(elf: ELFFile, prefix: str) -> tuple[bytes, dict[int, int]]:
    """All sections of that name, one behind the other at multiples of 8, and where each begins."""
    out, where = bytearray(), {}
    for i, s in enumerate(elf.iter_sections()):
        if s.name == prefix or s.name.startswith(prefix + "."):
            out += bytes(-len(out) % 8)
            where[i] = len(out)
            out += s.data()
    return bytes(out), where


def line_table(elf: ELFFile) -> list[tuple[int, str, int]]:
    """(slot, file, line), by slot; the file's folder in front: `udp.lpn` and `std/udp.lpn` are two files."""
    if not elf.has_dwarf_info():
        return []
    rows: dict[int, tuple[int, str, int]] = {}
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        first = 1 if program["version"] < 5 else 0          # DWARF 5 counts files and folders from 0
        folders = ([b"."] if first else []) + list(program["include_directory"])
        names = [b"/".join(p for p in (folders[f.dir_index], f.name) if p != b".").decode() for f in program["file_entry"]]
        for entry in program.get_entries():
            state = entry.state
            if state is not None and not state.end_sequence and state.line:
                rows[state.address // 8] = (state.address // 8, names[state.file - first], state.line)
    return sorted(rows.values())                            # a later row for the same address says where it is from
