"""The node form of a bundle: what a node needs of it, without CBOR, names of hosts and source lines.

`runtime/engine/pack.c` reads it; docs/image.md has the layout. Numbers are little-endian, each part is padded with zeros
to a multiple of 4, so that images run from where they lie.
"""
from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lpn.compiler import compact
from lpn.compiler.bundle import Bundle, BundleError, Entry, Table
from lpn.compiler.bundle_parts import MATCH_KINDS
from lpn.compiler.image import Flag, Image
from lpn.compiler.kept import Migration
from lpn.lang.hooks import CONTEXTS, EVENTS

from .engine.thumb2 import TranslateError, translate
from .engines import EngineError, entry_bytes

MAGIC, FORMAT, FORMAT_CODE = b"LPNN", 1, 2
COMPACT = b"LPNP"
HEADER = struct.Struct("<4sHHIIIHHHHBBBBBBHHH")
EXIT = bytes.fromhex("9500000000000000")        #: all the bytecode of a module that is code
LENGTH_AT, CRC_AT, IMAGES_AT = 8, 12, 38
HOOK = struct.Struct("<BBBB2I4I8s")
WORD = 0xffff_ffff
LIMIT = 1 << 20                                 #: LPN_MAX_IMAGE
_EVENTS = tuple(EVENTS)


def pack(bundle: Bundle, *, state: bytes | None = None, entries: Mapping[str, Iterable[Entry]] | None = None,
         small: bool = False, code: bool = False) -> bytes:
    """The node form. `state`: what the state region begins with, zeros if not given; `entries`: of tables, by name, instead
    of the bundle's; `small`: its compact form, if that is smaller; `code`: Thumb-2 code in place of bytecode. BundleError when it does not fit the form."""
    pieces = b""
    if code:
        bundle, pieces = _translated(bundle)
    first = (state if state is not None else b"").rstrip(b"\0")
    numbers = {image.name: i for i, image in enumerate(bundle.modules)}
    name, rows = bundle.protocol.encode(), bundle.kept.rows()
    body = b"".join([
        _padded(name), _padded(first), rows,
        *(HOOK.pack(_EVENTS.index(h.event), CONTEXTS.index(h.context), len(h.selector), len(h.chain), *(*h.selector, 0, 0)[:2],
                    h.within, h.period, h.offset, h.jitter, bytes(numbers[m] for m in h.chain)) for h in bundle.hooks),
        *(_migration(m, numbers[m.module]) for m in bundle.migrations),
        *(_table(t, (entries or {}).get(t.name, t.entries)) for t in bundle.tables),
        *(_padded(struct.pack("<BBH", len(e.params), len(e.name.encode()), 0) + e.name.encode()) for e in bundle.externs),
        *(struct.pack("<HHHHI", b.size, b.entries, b.key_bytes, 0, b.timeout) for b in bundle.buffers),
        *(_padded(image.to_bytes()) for image in bundle.modules), pieces])
    if HEADER.size + len(body) > LIMIT:
        raise BundleError("bundle", f"{HEADER.size + len(body):,} bytes for a node, the limit is {LIMIT:,}")
    header = HEADER.pack(
        MAGIC, FORMAT_CODE if code else FORMAT, HEADER.size, HEADER.size + len(body), 0, bundle.version & WORD, bundle.record_size, bundle.state_size,
        len(bundle.reasons), len(first), len(bundle.modules), len(bundle.hooks), len(bundle.tables), len(bundle.buffers),
        len(bundle.externs), len(bundle.migrations), len(bundle.kept.entries), len(name), 0)
    crc = zlib.crc32(header + body)
    whole = header[:CRC_AT] + struct.pack("<I", crc) + header[CRC_AT + 4:] + body
    return _compact(whole, [image.to_bytes() for image in bundle.modules]) if small else whole


def expanded_size(data: bytes) -> int:
    """Bytes that a node needs for a pack, which is expanded where it was loaded."""
    return int.from_bytes(data[LENGTH_AT:LENGTH_AT + 4], "little")


def translated(bundle: Bundle) -> list[bytes]:
    """Thumb-2 code of each module, in whole words. BundleError for what a firmware cannot have as code."""
    if bundle.migrations:
        raise BundleError("bundle", "code is for a firmware, which replaces no other version: it has migrations")
    pieces = []
    for image in bundle.modules:
        if image.rodata or image.data:
            raise BundleError(f"module {image.name}", "has constants or data in memory, whose addresses are not known before it runs")
        try:
            pieces.append(_padded(translate(image.text, clean32=bool(image.flags & Flag.CLEAN32), stack=image.stack_used).code))
        except TranslateError as e:
            raise BundleError(f"module {image.name}", f"is not translated: {e}") from None
    return pieces


def bare(image: Image) -> Image:
    """What a container that is code still needs of its image."""
    return replace(image, text=EXIT, certificate=b"", flags=image.flags & ~Flag.CERTIFIED)


def _translated(bundle: Bundle) -> tuple[Bundle, bytes]:
    """Modules without bytecode, and their code, each behind its size. A node takes it only as a part of its firmware."""
    pieces = translated(bundle)
    return replace(bundle, modules=tuple(map(bare, bundle.modules))), b"".join(struct.pack("<I", len(code)) + code for code in pieces)


def _compact(whole: bytes, images: Sequence[bytes]) -> bytes:
    """Header and parts as they are, but for where the modules begin; then each as a number of bytes and its compact form, or,
    where that is not smaller, as it is."""
    begins = len(whole) - sum(map(len, images))
    if begins // 4 > 0xffff:
        return whole
    head = COMPACT + whole[4:IMAGES_AT] + struct.pack("<H", begins // 4) + whole[IMAGES_AT + 2:begins]
    modules = ((image, compact.pack(image)) for image in images)
    found = head + b"".join(struct.pack("<I", len(small)) + small if len(small) + 4 <= len(image) and small != image else image
                            for image, small in modules)
    return min(whole, found, key=len)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)


def _migration(m: Migration, module: int) -> bytes:
    return struct.pack("<IHHB3x", m.version & WORD, m.needs.size, len(m.needs.entries), module) + m.needs.rows()


def _table(table: Table, entries: Iterable[Entry]) -> bytes:
    """Shape, fields of the key, entries: action, priority, values or lows, masks or highs, the action's data."""
    found = list(entries)
    if table.constant and not set(found) <= set(table.entries):
        raise BundleError(f"table {table.name}", "its entries are constant")
    if len(found) > table.size:
        raise BundleError(f"table {table.name}", f"{len(found)} entries, there is room for {table.size}")
    out = [struct.pack("<BBHHH", len(table.key), 0, table.action_data_bytes, table.size, len(found))]
    out += [struct.pack("<HBB", f.width_bits, MATCH_KINDS.index(f.kind), 0) for f in table.key]
    for entry in found:
        try:
            a, b = entry_bytes(table, entry)
        except EngineError as e:
            raise BundleError(f"table {table.name}", str(e)) from None
        out.append(struct.pack("<HH", entry.action, entry.priority) + a + b + entry.data)
    return _padded(b"".join(out))
