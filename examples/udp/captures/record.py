"""Record the 802.15.4 traffic of RIOT nodes, all on this machine.

    RIOTBASE=/path/to/RIOT python record.py [FOLDER]

builds the application in `node/` for RIOT's board native64 and runs three nodes of it, whose radios
are emulated over UDP (ZEP, RIOT's socket_zep). This script is the air between them: it hands each
frame to the nodes in range and writes it down, once. FOLDER (default: where the project keeps
them) gets `riot_udp.pcap` and `riot_6lowpan.pcap`, link type 195. README.md says what is in them.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from lpn.runtime.capture import Writer
from lpn.runtime.linktype import IEEE802154_WITHFCS, crc16

HERE = Path(__file__).resolve().parent
ZEP_HEADER = 32  # of a version 2 data packet
NAMES = "ABC"


class Air:
    """The radio medium: a ZEP hub that knows who hears whom, and the record of all frames."""

    def __init__(self, links: set[str]) -> None:
        self.links = links | {pair[::-1] for pair in links}
        self.frames: list[tuple[int, str, bytes]] = []  # time in us, sender, frame with FCS
        self.nodes: dict[str, tuple] = {}
        self.expected = ""
        self.header = b""
        self.socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.bind(("::1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            packet, sender = self.socket.recvfrom(2048)
            name = next((n for n, where in self.nodes.items() if where == sender), None)
            if name is None:  # a node says hello before it says anything else
                name = self.expected
                self.nodes[name] = sender
            self._pass(packet, name)

    def _pass(self, packet: bytes, name: str) -> None:
        if packet[:4] != b"EX\2\1" or len(packet) <= ZEP_HEADER:
            return
        frame = packet[ZEP_HEADER:]
        self.header = packet[:ZEP_HEADER - 1]
        self.frames.append((time.time_ns() // 1000, name, frame))
        for other, where in self.nodes.items():
            if name + other in self.links:
                self.socket.sendto(packet, where)

    def sent(self, name: str, text: bytes) -> bytes:
        """The latest frame of a node that contains `text`, without FCS."""
        return next(frame[:-2] for _, who, frame in reversed(self.frames) if who == name and text in frame)

    def damaged(self, name: str, frame: bytes, at: int, bits: int, fcs_error: bool = False) -> None:
        """Send a frame again as if from `name`, `bits` changed in the octet `at`, under a right FCS or a
        wrong one."""
        copy = bytearray(frame)
        copy[at] ^= bits
        copy[2] = (copy[2] + 1) & 0xFF  # another sequence number, or it would count as a duplicate
        fcs = crc16(bytes(copy)) ^ (0x5555 if fcs_error else 0)
        copy += fcs.to_bytes(2, "little")
        self._pass(self.header + bytes([len(copy)]) + bytes(copy), name)


class Node:
    """One RIOT process; the leader of its own group, because it forks a reader of its input."""

    def __init__(self, air: Air, elf: Path, name: str) -> None:
        self.name = name
        self.output: list[str] = []
        air.expected = name
        eui64 = f"02:4c:50:4e:00:00:00:{NAMES.index(name) + 1:02x}"
        self.process = subprocess.Popen(
            [elf, "-z", f"[::1]:{air.port}", "--eui64", eui64], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        threading.Thread(target=self._listen, daemon=True).start()
        wait_for(lambda: name in air.nodes and any("ready" in line for line in self.output), f"node {name}")
        lines = self.run("ifconfig")
        self.interface = re.search(r"Iface\s+(\d+)", lines)[1]
        self.local = re.search(r"inet6 addr: (fe80::\S+)", lines)[1]

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.output.append(line.rstrip())

    def run(self, command: str, seconds: float = 0.25) -> str:
        """Give a shell command and return what the node prints within some seconds."""
        start = len(self.output)
        self.process.stdin.write(command.replace("IF", self.interface if "IF" in command else "") + "\n")
        self.process.stdin.flush()
        time.sleep(seconds)
        text = "\n".join(self.output[start:])
        if os.environ.get("VERBOSE"):
            print(f"--- {self.name}: {command}\n{text}")
        return text

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def wait_for(condition, what: str, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"record: {what} does not come up")
        time.sleep(0.02)


def udp(air: Air, a: Node, b: Node, c: Node) -> None:
    """Full mesh: datagrams between ports of all three compressions of RFC 6282, 4.3.3."""
    for node, ports in ((a, (7, 0xF0B1)), (b, (7, 0xF0B1, 0xF0BF, 0xF023, 5683)), (c, (7, 0xF0B4, 0xF0FF))):
        for port in ports:
            node.run(f"echo {port}", 0.1)
    a.run("ifconfig IF", 1.5)  # the router solicitations of the start are over
    pairs = [(0xF0B2, 0xF0B1, 4), (0xF0B2, 0xF0BF, 12), (0xF0B0, 0xF0B1, 0), (0xF012, 0xF023, 10),
             (0xF0B2, 0xF023, 6), (0xF012, 7, 20), (0xF0B2, 7, 1), (50000, 0xF023, 9),
             (50001, 0xF0B1, 33), (50002, 7, 5), (50003, 5683, 48), (5683, 5683, 16)]
    for source, target, size in pairs:
        a.run(f"send {b.local} {source} {target} {size}")
    for source, target, size in pairs[:6]:
        b.run(f"send {a.local} {source} {0xF0B1 if target != 7 else 7} {size}")
        c.run(f"send {b.local} {source} {target} {size + 1}")
    a.run(f"send {c.local} 50004 {0xF0B4} 60")
    a.run(f"send {c.local} 50004 {0xF0FF} 61")
    for target in (7, 0xF0B1):
        a.run(f"send ff02::1 50005 {target} 8", 0.4)
        c.run(f"send ff02::1 {0xF0B7} {target} 8", 0.4)
    for port in (9, 0xF0B9, 0xF0AA):  # nobody listens: ICMPv6 port unreachable
        a.run(f"send {b.local} {0xF0B3} {port} 14")
    a.run(f"ping -c 1 -s 8 {b.local}", 0.5)
    addresses(a, b, c, "2001:db8::")
    for source, target, size in pairs:
        a.run(f"send 2001:db8::2 {source} {target} {size}")
        if source != 5683:  # B echoes on that port: two echo servers would never end
            b.run(f"send 2001:db8::1 {source} {0xF0B1 if target > 0xF000 else 7} {size}")
    a.run(f"send 2001:db8::3 50006 {0xF0FF} 40")
    # Damage: one bit in the payload under a right FCS (the UDP checksum is wrong), and a wrong FCS.
    for host in (b.local, "2001:db8::2"):
        a.run(f"send {host} 50010 {0xF0B1} 26")
        a.run(f"send {host} {0xF0B2} {0xF023} 26")
        frame = air.sent("A", b"klmnop")
        air.damaged("A", frame, -3, 0x40)
        time.sleep(0.1)
        air.damaged("A", frame, -1, 0x01)
        time.sleep(0.1)
        air.damaged("A", frame, -3, 0x40, fcs_error=True)
        time.sleep(0.1)


def addresses(a: Node, b: Node, c: Node, prefix: str) -> None:
    """Addresses prefix1, prefix2, prefix3, and who is reached directly."""
    nodes = (a, b, c)
    for i, node in enumerate(nodes, start=1):
        node.run(f"ifconfig IF add {prefix}{i}/64", 0.1)
        for j, other in enumerate(nodes, start=1):
            if other is not node:
                mac = f"02:4C:50:4E:00:00:00:{j:02X}"
                node.run(f"nib neigh add IF {prefix}{j} {mac}", 0.1)


def sixlowpan(air: Air, a: Node, b: Node, c: Node) -> None:
    """A line A - B - C: fragments, contexts, short addresses, multicast, RPL over two hops."""
    for node in (a, b, c):
        node.run("echo 7", 0.1)
        node.run(f"echo {0xF0B1}", 0.1)
    a.run("ifconfig IF", 1.5)
    # Link-local: elided addresses, small and fragmented.
    for size in (0, 8, 64, 100, 200, 400):
        a.run(f"ping -c 1 -s {size} {b.local}", 0.4)
    a.run(f"ping -c 1 -t 1 -s 4 {b.local}", 0.4)
    a.run(f"ping -c 1 -t 255 -s 4 {b.local}", 0.4)
    a.run(f"ping -c 1 -t 17 -s 4 {b.local}", 0.4)
    b.run("ping -c 1 -s 4 ff02::1", 0.6)
    b.run("ping -c 1 -s 4 ff02::2", 0.6)
    for size in (1, 90, 300):
        a.run(f"send {b.local} 50000 7 {size}", 0.3)
    b.run(f"send ff02::1 {0xF0B2} {0xF0B1} 5", 0.5)
    b.run("send ff05::1:3 50001 7 5", 0.3)
    # Another interface identifier than that of the link-layer address: 64 bits inline.
    a.run("ifconfig IF add fe80::1234:5678:9abc:def0", 0.1)
    b.run("ifconfig IF add fe80::ff:fe00:b", 0.1)
    for node, other, host in ((b, a, "fe80::1234:5678:9abc:def0"), (a, b, "fe80::ff:fe00:b")):
        mac = f"02:4C:50:4E:00:00:00:{NAMES.index(other.name) + 1:02X}"
        node.run(f"nib neigh add IF {host} {mac}", 0.1)
        node.run(f"ping -c 1 -s 6 {host}", 0.5)
    # Global addresses, first in full, then with context 0, then with a second context.
    addresses(a, b, c, "2001:db8::")
    a.run("ping -c 1 -s 6 2001:db8::2", 0.5)
    for node in (a, b, c):
        node.run("6ctx add 0 2001:db8::/64 600", 0.1)
    for size in (6, 120):
        a.run(f"ping -c 1 -s {size} 2001:db8::2", 0.5)
        b.run(f"ping -c 1 -s {size} 2001:db8::1", 0.5)
        a.run(f"send 2001:db8::2 {0xF0B2} {0xF0B1} {size}", 0.3)
    for node in (a, b, c):
        node.run("6ctx add 3 2001:db8:0:3::/64 600", 0.1)
    addresses(a, b, c, "2001:db8:0:3::")
    a.run("ping -c 1 -s 6 2001:db8:0:3::2", 0.5)
    a.run("send 2001:db8:0:3::2 50002 7 30", 0.3)
    # Short addresses: C sends from 0x000c.
    c.run("ifconfig IF set addr_short 00:0C", 0.1)
    c.run("ifconfig IF set src_len 2", 0.1)
    c.run("ifconfig IF add fe80::ff:fe00:c", 0.1)
    b.run("nib neigh add IF fe80::ff:fe00:c 00:0C", 0.1)
    b.run("ping -c 1 -s 6 fe80::ff:fe00:c", 0.5)
    c.run(f"ping -c 1 -s 6 {b.local}", 0.5)
    c.run(f"send {b.local} {0xF0B2} 7 11", 0.3)
    c.run("send 2001:db8::2 50004 7 11", 0.3)
    c.run("ping -c 1 -s 6 ff02::1", 0.5)
    c.run("ifconfig IF set src_len 8", 0.1)
    # RPL: B forwards, with another hop limit.
    for node in (a, b, c):
        node.run("rpl init IF", 0.1)
    a.run("ifconfig IF add 2001:db8:0:5:24c:504e:0:1/64", 0.1)
    a.run("rpl root 7 2001:db8:0:5:24c:504e:0:1", 7)
    for size in (8, 150):
        c.run(f"ping -c 1 -s {size} 2001:db8:0:5:24c:504e:0:1", 1)
    c.run(f"send 2001:db8:0:5:24c:504e:0:1 {0xF0B2} {0xF0B1} 25", 0.5)
    c.run("send 2001:db8:0:5:24c:504e:0:1 50003 7 140", 0.5)


def record(path: Path, elf: Path, links: set[str], scenario) -> None:
    air = Air(links)
    nodes: list[Node] = []
    try:
        for name in NAMES:
            nodes.append(Node(air, elf, name))
        scenario(air, *nodes)
    finally:
        for node in nodes:
            node.stop()
    with Writer(path, IEEE802154_WITHFCS) as out:
        for when, _, frame in air.frames:
            out.add_verbatim(frame, when)
    print(f"record: {len(air.frames)} frames in {path}")


def main() -> None:
    riot = os.environ.get("RIOTBASE")
    if not riot:
        print("record: skipped: set RIOTBASE to a checkout of RIOT")
        return
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as build:
        subprocess.run(["make", "-C", HERE / "node", f"RIOTBASE={Path(riot).resolve()}", "BOARD=native64",
                        f"BINDIRBASE={build}"], check=True, stdout=subprocess.DEVNULL)
        elf = Path(build) / "native64" / "lpn_capture_node.elf"
        record((folder or HERE) / "riot_udp.pcap", elf, {"AB", "AC", "BC"}, udp)
        record((folder or HERE.parents[1] / "decompress" / "captures") / "riot_6lowpan.pcap", elf,
               {"AB", "BC"}, sixlowpan)


if __name__ == "__main__":
    main()
