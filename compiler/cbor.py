"""A guard before `cbor2`: only the plain, bounded subset of CBOR (RFC 8949) that LPN writes is let through.

Definite lengths, integers, byte and text strings, arrays, maps with text keys, false, true, null. No tags, no
floats, no indefinite lengths: nothing whose decoding could run code, recurse deeply or claim memory that the
input does not pay for.
"""

from __future__ import annotations

from typing import Any

import cbor2

MAX_DEPTH = 12
MAX_ITEMS = 200_000


class CborError(ValueError):
    """Not the CBOR subset above; the message says what stands at which byte."""


class Short(CborError):
    """The octets end before the item does."""


def loads(raw: bytes, limit: int) -> Any:
    """Decode one item that fills `raw`, at most `limit` bytes."""
    if len(raw) > limit:
        raise CborError(f"{len(raw)} bytes, the limit is {limit}")
    _check(raw)
    try:
        return cbor2.loads(raw)
    except (cbor2.CBORDecodeError, ValueError) as e:    # text that is not UTF-8
        raise CborError(f"not decodable: {type(e).__name__}") from None


def dumps(item: Any) -> bytes:
    """Encode deterministically (RFC 8949 section 4.2)."""
    return cbor2.dumps(item, canonical=True)


def _check(raw: bytes) -> None:
    """One pass without recursion. `open_items` holds what is left of each open array or map."""
    open_items: list[list[int]] = []    # [items left, 1 when a map, 1 when the next one is a key]
    keys: list[set[bytes]] = []
    at = items = 0
    while True:
        start = at
        items += 1
        if items > MAX_ITEMS:
            raise CborError(f"more than {MAX_ITEMS} items")
        if at >= len(raw):
            raise Short(f"ends at byte {at} where an item is expected")
        major, info = raw[at] >> 5, raw[at] & 31
        at += 1
        if info < 24:
            value = info
        elif info < 28:
            width = 1 << (info - 24)
            if len(raw) - at < width:
                raise Short(f"ends inside the item at byte {start}")
            value = int.from_bytes(raw[at:at + width], "big")
            at += width
        else:
            raise CborError(f"indefinite or reserved length at byte {start}")
        is_key = bool(open_items) and open_items[-1][1] == 1 and open_items[-1][2] == 1
        if is_key and major != 3:
            raise CborError(f"a map key that is not text at byte {start}")
        if major in (2, 3):
            if value > len(raw) - at:
                raise Short(f"a string of {value} bytes at byte {start}, {len(raw) - at} are left")
            if is_key:
                key = raw[at:at + value]
                if key in keys[-1]:
                    raise CborError(f"a map key twice, at byte {start}")
                keys[-1].add(key)
            at += value
        elif major == 6:
            raise CborError(f"a tag at byte {start}")
        elif major == 7 and (info > 22 or info < 20):
            raise CborError(f"a float or simple value at byte {start}")
        if open_items:
            open_items[-1][0] -= 1
            open_items[-1][2] ^= 1
        if major in (4, 5):
            if value > len(raw) - at:       # each element has at least one byte
                raise Short(f"{value} elements at byte {start}, {len(raw) - at} bytes are left")
            if len(open_items) >= MAX_DEPTH:
                raise CborError(f"nested deeper than {MAX_DEPTH} at byte {start}")
            open_items.append([value * (2 if major == 5 else 1), int(major == 5), 1])
            keys.append(set())
        while open_items and open_items[-1][0] == 0:
            open_items.pop()
            keys.pop()
        if not open_items:
            break
    if at != len(raw):
        raise CborError(f"{len(raw) - at} bytes follow the item")
