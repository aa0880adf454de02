"""tshark as an independent judge of formats: the fields it finds in frames, as numbers."""
from __future__ import annotations

import csv
import io
import ipaddress
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

TSHARK = shutil.which("tshark")
ABSENT = "tshark is not here"
RAW_IPV6, IEEE802154_NOFCS, USER_DLT = 101, 230, 147
OPTIONS = ("-n", "-o", "6lowpan.context0:aaaa::/64")


def pcap(frames: list[bytes], link_type: int) -> bytes:
    records = b"".join(struct.pack("<IIII", n, 0, len(f), len(f)) + f for n, f in enumerate(frames))
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type) + records


def read_fields(path: Path, names: list[str], options: tuple[str, ...] = (), only: str = "") -> list[dict[str, list[int]]]:
    """For each frame the values of each field, in the order in which they occur; what has no number is left out."""
    assert TSHARK is not None
    command = [TSHARK, *OPTIONS, *options, "-r", str(path), "-T", "fields", "-E", "header=y", "-E", "separator=/t", "-E", "occurrence=a",
               "-E", "aggregator=|", *(["-Y", only] if only else []), *(part for name in names for part in ("-e", name))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = csv.DictReader(io.StringIO(done.stdout), delimiter="\t")
    return [{name: [number(part) for part in (row[name] or "").split("|") if part] for name in names} for row in rows]


def fields(frames: list[bytes], link_type: int, names: list[str], options: tuple[str, ...] = ()) -> list[dict[str, list[int]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.pcap"
        path.write_bytes(pcap(frames, link_type))
        return read_fields(path, names, options)


def number(text: str) -> int:
    """A value as tshark writes it: decimal, hex, an address, octets, true or false."""
    if text in ("True", "False"):
        return int(text == "True")
    try:
        return int(text, 0)
    except ValueError:
        pass
    if "::" in text or text.count(":") == 7 and len(text.replace(":", "")) != 16:
        return int(ipaddress.IPv6Address(text))
    try:
        if text.count(":") == 7:                # an EUI-64 has two digits everywhere, an IPv6 address need not
            groups = text.split(":")
            return int("".join(groups), 16) if all(len(g) == 2 for g in groups) else int(ipaddress.IPv6Address(text))
        return int(text.replace(":", "").replace(".", ""), 16)
    except ValueError:
        return -1
