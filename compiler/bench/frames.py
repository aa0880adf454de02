"""The frames that everything is measured on (tests/bench/frames.json), and what programs are given beside them."""
from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..output import Failure

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "bench"

PAYLOAD = 10                                    # bytes of payload in the tables
CONTEXTS = 16                                   # RFC 6282, 3.1.1
EXT, SHORT = 3, 2                               # IEEE 802.15.4-2020, Table 7-3


@dataclass(frozen=True)
class Frame:
    """`header`: the IPv6 and UDP headers that a radio frame means; `offset`: of its payload."""

    name: str
    payload: int
    data: bytes
    header: bytes = b""
    offset: int = 0

    @property
    def modes(self) -> tuple[int, int]:
        """Address modes of destination and source, of the frame control field."""
        fcf = int.from_bytes(self.data[:2], "little")
        return fcf >> 10 & 3, fcf >> 14 & 3

    @property
    def pan(self) -> bytes:
        return self.data[3:5]

    @cached_property
    def link(self) -> tuple[bytes, bytes]:
        """Destination and source on the link as they lie in the frame (little-endian), in 8 bytes each."""
        sizes = [8 if mode == EXT else 2 for mode in self.modes]
        dst, src = self.data[5:5 + sizes[0]], self.data[5 + sizes[0]:5 + sum(sizes)]
        return dst.ljust(8, b"\0"), src.ljust(8, b"\0")

    @property
    def body(self) -> bytes:
        return self.data[self.offset:]

    def flow(self) -> dict:
        """What `udp_tx.lpn` sends this frame from, as its register's fields."""
        word = int.from_bytes(self.header[:4], "big")
        (dst_mode, src_mode), (dst, src) = self.modes, self.link
        return {"dscp": word >> 22 & 0x3F, "ecn": word >> 20 & 3, "label": word & 0xFFFFF, "hop_limit": self.header[7],
                "src": str(ipaddress.IPv6Address(self.header[8:24])), "dst": str(ipaddress.IPv6Address(self.header[24:40])),
                "src_port": int.from_bytes(self.header[40:42], "big"), "dst_port": int.from_bytes(self.header[42:44], "big"),
                "ext_src": src_mode == EXT, "ext_dst": dst_mode == EXT, "mac_src": int.from_bytes(src, "little"),
                "mac_dst": int.from_bytes(dst, "little"), "pan": int.from_bytes(self.pan, "little")}


@dataclass(frozen=True)
class Frames:
    radio: tuple[Frame, ...]
    ethernet: tuple[Frame, ...]
    contexts: dict[str, dict]
    routes: list[dict]
    sequence: int                               # of the next frame sent

    def of(self, program: str, payload: int = PAYLOAD) -> list[Frame]:
        return [f for f in (self.ethernet if program == "forward" else self.radio) if f.payload == payload]

    def given(self, program: str, frame: Frame) -> dict:
        """What a tables file would say for this program and frame."""
        if program == "forward":
            return {"routes": self.routes}
        sent = {"flow": frame.flow(), "seq": self.sequence} if program == "udp_tx" else {}
        return {"contexts": self.contexts, **sent}

    def context_rows(self) -> list[tuple[int, bytes, int]]:
        return [(int(i), ipaddress.IPv6Address(c["prefix"]).packed, c["length"]) for i, c in self.contexts.items()]


def read_frames() -> Frames:
    """Raises Failure where there is no checkout."""
    try:
        content = json.loads((FOLDER / "frames.json").read_text("utf-8"))
    except OSError:
        raise Failure(f"{FOLDER} is not there: measuring needs a checkout") from None

    def frames(rows: list[dict]) -> tuple[Frame, ...]:
        return tuple(Frame(r["name"], r["payload"], bytes.fromhex(r["hex"]), bytes.fromhex(r.get("header", "")),
                           r.get("offset", 0)) for r in rows)
    return Frames(frames(content["radio"]), frames(content["ethernet"]), content["contexts"], content["routes"],
                  content["sequence"])
