"""Buffers: bytes kept across packets, by the rules of RFC 4944, 5.3 and RFC 8200, 4.5."""
from __future__ import annotations

from dataclasses import dataclass, field

from .. import ast, builtins

UNIT = 8                                        # octets: offsets and all pieces but the last are multiples
Key = tuple[int, ...]
(STORED, COMPLETE, DUPLICATE, FULL, OVERLAP, TOO_LONG, MISMATCH, MISALIGNED) = builtins.PUT_RESULTS.values()


@dataclass
class Entry:
    """A packet, whole (`held`) or in pieces by where they begin. `total`: its size, 0 while that is not known. `busy`: its
    chain runs, or is about to."""

    key: Key
    since: int
    held: bool
    total: int = 0
    pieces: dict[int, bytes] = field(default_factory=dict)
    busy: bool = False

    def content(self) -> bytes:
        return b"".join(self.pieces[start] for start in sorted(self.pieces))


class Buffer:
    """One buffer's entries, oldest first."""

    def __init__(self, decl: ast.BufferDecl) -> None:
        self.size, self.room = int(decl.bytes.const or 0), int(decl.size.const or 0)
        self.timeout = int(decl.timeout.const or 0) if decl.timeout is not None else 0
        self.entries: list[Entry] = []

    def sweep(self, now: int) -> None:
        """The time-out counts from the first piece on."""
        if self.timeout:
            self.entries = [one for one in self.entries if one.busy or (now - one.since & 0xFFFF_FFFF) < self.timeout]

    def find(self, key: Key, held: bool) -> Entry | None:
        return next((one for one in self.entries if one.key == key and one.held is held and not one.busy), None)

    def put(self, key: Key, offset: int, total: int, piece: bytes, now: int, free: bool) -> tuple[int, Entry | None]:
        """What becomes of a piece, and the entry that it makes complete. `free`: none waits for its chain."""
        entry, end = self.find(key, False), offset + len(piece)
        if entry is not None and total:
            furthest = max(start + len(one) for start, one in entry.pieces.items())
            if entry.total not in (0, total) or furthest > total:
                self.entries.remove(entry)
                return MISMATCH, None
        total = total or (entry.total if entry is not None else 0)
        if max(end, total) > self.size or total and end > total:
            return TOO_LONG, None
        if offset % UNIT or len(piece) % UNIT and end != total:
            return MISALIGNED, None
        if not piece or entry is not None and len(entry.pieces.get(offset, b"")) == len(piece):
            return DUPLICATE, None
        if entry is not None and any(start < end and offset < start + len(one) for start, one in entry.pieces.items()):
            self.entries.remove(entry)
            return OVERLAP, None
        if entry is None:
            if len(self.entries) == self.room:
                oldest = next((one for one in self.entries if not one.held and not one.busy), None)
                if oldest is None:
                    return FULL, None
                self.entries.remove(oldest)     # what has waited longest gives way
            entry = Entry(key, now, False)
            self.entries.append(entry)
        entry.total, entry.pieces[offset] = total, piece
        if not total or sum(map(len, entry.pieces.values())) < total:
            return STORED, None
        if not free:
            self.entries.remove(entry)
            return FULL, None
        entry.busy = True
        return COMPLETE, entry

    def hold(self, key: Key, packet: bytes, now: int) -> int:
        if len(packet) > self.size:
            return TOO_LONG
        if len(self.entries) == self.room:
            return FULL
        self.entries.append(Entry(key, now, True, len(packet), {0: packet}))
        return STORED

    def take(self, key: Key, free: bool) -> Entry | None:
        entry = self.find(key, True)
        if entry is None or not free:
            return None
        entry.busy = True
        return entry

    def drop(self, key: Key) -> int:
        """How many entries it has forgotten."""
        kept = [one for one in self.entries if one.busy or one.key != key]
        dropped = len(self.entries) - len(kept)
        self.entries = kept
        return dropped

    def release(self, entry: Entry) -> None:
        self.entries.remove(entry)
