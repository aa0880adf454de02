"""Write down how tshark reads a recording: an independent reading to test against.

    python expect.py CAPTURE [CONTEXTS.json]

prints a table with one line a frame: its number, whether the FCS is right, kind (`ack`, `first`, `next`
for fragments, `whole`, `bad`), the UDP ports, whether the UDP checksum is right, and the IPv6 datagram that
is complete with this frame, after decompression and reassembly.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

FIELDS = ("frame.number", "wpan.fcs_ok", "wpan.frame_type", "6lowpan.pattern",
          "udp.srcport", "udp.dstport", "udp.checksum.status", "icmpv6.type")
COLUMNS = ("frame", "fcs_ok", "kind", "srcport", "dstport", "udp_ok", "datagram")


def tshark(capture: str, contexts: dict[str, dict], *more: str) -> str:
    options = ["-o", "udp.check_checksum:TRUE"]
    for number, context in contexts.items():
        options += ["-o", f"6lowpan.context{number}:{context['prefix']}/{context['length']}"]
    return subprocess.run(["tshark", "-n", "-r", capture, *options, *more],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def true(value: str) -> str:
    """0 or 1; newer versions of tshark print words."""
    return str(int(value in ("1", "True", "Good"))) if value else ""


def kind(fcs_ok: str, frame_type: str, pattern: str) -> str:
    if fcs_ok != "1":
        return "bad"
    if int(frame_type, 0) == 2:
        return "ack"
    return {0x18: "first", 0x1C: "next"}.get(int(pattern, 0), "whole")  # RFC 4944, 5.3


def datagrams(text: str) -> list[dict[str, bytes]]:
    """Per frame the octets of each tab that Wireshark would show, by name, from `tshark -x`."""
    frames: list[dict[str, bytes]] = []
    for block in text.strip().split("\n\n"):
        tabs = {"Frame": b""}  # the only tab has no title
        name = "Frame"
        for line in block.splitlines():
            if title := re.match(r"(.*) \(\d+ bytes\):$", line):
                name = title[1]
                tabs[name] = b""
            else:
                tabs[name] += bytes.fromhex(line[6:53])
        frames.append(tabs)
    return frames


def main() -> None:
    capture = sys.argv[1]
    contexts = {}
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as stream:
            contexts = json.load(stream)["contexts"]
    fields = [arg for field in FIELDS for arg in ("-e", field)]
    rows = tshark(capture, contexts, "-T", "fields", "-E", "occurrence=f", *fields).splitlines()
    print("\t".join(COLUMNS))
    for row, tabs in zip(rows, datagrams(tshark(capture, contexts, "-x")), strict=True):
        number, fcs_ok, frame_type, pattern, source, target, status, icmp = row.split("\t")
        fcs_ok, status = true(fcs_ok), true(status)
        what = kind(fcs_ok, frame_type, pattern)
        whole = tabs.get("Reassembled 6LoWPAN", b"")
        if what == "whole":
            whole = tabs.get("Decompressed 6LoWPAN IPHC", b"")
        if icmp or not whole:  # the ports inside an ICMPv6 error are not the frame's
            source = target = status = ""
        print(number, fcs_ok, what, source, target, status, whole.hex(), sep="\t")


if __name__ == "__main__":
    main()
