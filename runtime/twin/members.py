"""Where the members of a C structure lie, from a firmware's debug information."""

from __future__ import annotations

from pathlib import Path

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from .program import ProgramError


def offsets(path: Path, source: str, structures: dict[str, tuple[str, ...]]) -> dict[str, dict[str, int]]:
    """Typedef's name -> member -> bytes from its start, as the file whose name ends in `source` was compiled. Raises ProgramError."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        if elf.has_dwarf_info():
            for unit in elf.get_dwarf_info().iter_CUs():
                top = unit.get_top_DIE()
                if _name(top).endswith(source):
                    found = {_name(die): _members(die) for die in top.iter_children()
                             if die.tag == "DW_TAG_typedef" and _name(die) in structures}
                    if all(set(wanted) <= set(found.get(name, ())) for name, wanted in structures.items()):
                        return found
    raise ProgramError(f"{path}: has no debug information of {', '.join(structures)} from {source}")


def _name(die: DIE) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode(errors="replace") if attribute else ""


def _members(typedef: DIE) -> dict[str, int]:
    if "DW_AT_type" not in typedef.attributes:
        return {}
    structure = typedef.get_DIE_from_attribute("DW_AT_type")
    return {_name(die): die.attributes["DW_AT_data_member_location"].value for die in structure.iter_children()
            if die.tag == "DW_TAG_member" and "DW_AT_data_member_location" in die.attributes}
