"""What a bundle keeps for its successor: a table of registers, in words for a host and in 12 octets a row for a node.

A row is four little-endian numbers: CRC-32 of the register's name, CRC-32 of its type, offset (u16) and size (u16) in octets.
`runtime/engine/state.c` compares and copies rows.
"""
from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from lpn.lang.persist import Migration as Block

ROW = struct.Struct("<IIHH")


@dataclass(frozen=True)
class Kept:
    """A register; `type` as lang/persist.py writes it; offset and size in octets."""

    name: str
    type: str
    offset: int
    size: int

    def row(self) -> bytes:
        return ROW.pack(zlib.crc32(self.name.encode()), zlib.crc32(self.type.encode()), self.offset, self.size)


@dataclass(frozen=True)
class KeptTable:
    entries: tuple[Kept, ...] = ()

    def rows(self) -> bytes:
        return b"".join(entry.row() for entry in self.entries)

    def layout(self) -> dict[str, str]:
        return {entry.name: entry.type for entry in self.entries}

    @property
    def size(self) -> int:
        """Octets that the registers span, in whole words of 8."""
        return max((entry.offset + entry.size + 7 & ~7 for entry in self.entries), default=0)

    def content(self) -> dict[str, Any]:
        return {"entries": [asdict(entry) for entry in self.entries], "rows": self.rows()}


@dataclass(frozen=True)
class Migration:
    """A container that runs once, when this bundle replaces one of `version`. Its record has the old registers of `needs`."""

    version: int
    module: str
    needs: KeptTable

    def content(self) -> dict[str, Any]:
        return {"version": self.version, "module": self.module, "needs": self.needs.content()}

    def block(self) -> Block:
        return Block(self.module, self.version, self.needs.layout())


def ambiguous(names: Iterable[str]) -> tuple[str, str] | None:
    """Two names that a node cannot tell apart."""
    seen: dict[int, str] = {}
    for name in names:
        other = seen.setdefault(zlib.crc32(name.encode()), name)
        if other != name:
            return other, name
    return None


def read_table(r: Any, limit: int) -> KeptTable:
    """From a bundle; `r`: bundle_read.py's reader, `limit`: octets of the region."""
    t = r.map("entries", "rows")
    entries = []
    for one in t["entries"].list(4096):
        e = one.map("name", "type", "offset", "size")
        entry = Kept(e["name"].text(256), e["type"].text(4096), e["offset"].int(0, 0xffff), e["size"].int(1, 0xffff))
        if entry.offset + entry.size > limit:
            raise one.fail(f"ends behind the {limit} bytes there are")
        entries.append(entry)
    table = KeptTable(tuple(entries))
    if len({entry.name for entry in entries}) != len(entries):
        raise t["entries"].fail("a register twice")
    if t["rows"].bytes(4096 * ROW.size) != table.rows():
        raise t["rows"].fail("the rows are not those of the entries")
    return table


def read_migration(r: Any) -> Migration:
    m = r.map("version", "module", "needs")
    return Migration(m["version"].int(0, 0xffff), m["module"].text(), read_table(m["needs"], 0xffff))
