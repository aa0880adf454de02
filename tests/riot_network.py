"""RIOT nodes on this machine, over emulated IEEE 802.15.4: builds the firmware once, starts a dispatcher and nodes, talks to
their shells.

A node forks a process that survives SIGTERM; so each is started as the leader of a process group, and the group is killed.
"""
from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from riot_air import Air

ROOT = Path(__file__).parent.parent
APPLICATION = ROOT / "runtime" / "riot" / "node"
RIOTBASE = os.environ.get("RIOTBASE", "")
HERE = bool(RIOTBASE) and (Path(RIOTBASE) / "Makefile.include").is_file()

#: For every test that needs RIOT.
needs_riot = pytest.mark.skipif(not HERE, reason="needs RIOT: set RIOTBASE to a checkout of https://github.com/RIOT-OS/RIOT")

PAN = 0x0023
SETTLE = 0.3                                    # seconds until a node has said what it has to say


def build(application: Path = APPLICATION, name: str = "lpn_node", board: str = "native64", **variables: str) -> Path:
    """The ELF of an application, built below build/riot."""
    tag = "-".join([board, *(f"{k}{re.sub('[^A-Za-z0-9]+', '_', v)[-60:]}" for k, v in sorted(variables.items()))])
    where = ROOT / "build" / "riot" / application.name / tag
    env = {**os.environ, "BINDIRBASE": str(where), "RIOTBASE": RIOTBASE, "BOARD": board, **variables}
    done = subprocess.run(["make", "-C", str(application), "-j2", "all"], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
        pytest.fail(f"{application.name} for {board} does not build: " + "\n".join(lines[:5]))
    found = where / board / f"{name}.elf"
    assert found.is_file()
    return found


def dispatcher() -> Path:
    """RIOT's zep_dispatch."""
    folder = Path(RIOTBASE) / "dist" / "tools" / "zep_dispatch"
    found = folder / "bin" / "zep_dispatch"
    if not found.is_file():
        subprocess.run(["make", "-C", str(folder)], capture_output=True, check=True)
    return found


def kill_group(process: subprocess.Popen) -> None:
    """End a process that we started, and what it forked."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


class Node:
    """A node and its shell."""

    def __init__(self, elf: Path, port: int, number: int, log: Path) -> None:
        self.number, self.port, self.log = number, port, log
        self.eui64 = f"02:4c:50:4e:00:00:00:{number:02x}"
        self.link_local = f"fe80::4c:504e:0:{number:x}"
        self.process = subprocess.Popen([str(elf), "-z", f"[::1]:{port}", "--eui64", self.eui64], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.process.stdout, selectors.EVENT_READ)
        self.heard = ""                         # all that it said

    def read(self, seconds: float = SETTLE, until: str | None = None) -> str:
        """What it says until a pattern comes; without one, for that long. AssertionError when the pattern does not come."""
        begin, end = len(self.heard), time.monotonic() + seconds
        while time.monotonic() < end:
            if self._selector.select(max(0.0, end - time.monotonic())):
                assert self.process.stdout is not None
                chunk = self.process.stdout.read() or b""
                assert chunk or self.process.poll() is None, f"node {self.number} ended:\n{self.heard[-2000:]}"
                self.heard += chunk.decode("utf-8", "replace")
            if until is not None and re.search(until, self.heard[begin:], re.MULTILINE):
                return self.heard[begin:]
        self.log.write_text(self.heard)
        assert until is None, f"node {self.number} did not say {until!r} but:\n{self.heard[begin:][-2000:]}"
        return self.heard[begin:]

    def type(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def ask(self, line: str, until: str | None = None, seconds: float = 5.0) -> str:
        """Type a line, and read what comes of it up to the next prompt."""
        self.read(0.01)
        self.type(line)
        return self.read(seconds, until or r"^> ")

    def load(self, slot: int, pack: bytes) -> str:
        """Over the shell; the answer to the last line."""
        digits = pack.hex()
        lines = [f"lpn load {slot} {digits[at:at + 96]}" for at in range(0, len(digits), 96)]
        for each in (f"lpn load {slot} begin {len(pack)}", *lines):     # its input has room for one: a prompt behind the line's own echo
            self.ask(each, re.escape(each) + r"[\s\S]*?^> ")
        end = f"lpn load {slot} end"
        return self.ask(end, re.escape(end) + r"[\s\S]*?^lpn: .*\n")

    def run(self, pack: bytes, slot: int = 0, word: str = "attach") -> None:
        """Load, and let it run."""
        assert "lpn: ok" in self.load(slot, pack)
        assert "lpn: ok" in self.ask(f"lpn {word} {slot}", r"^lpn: .*$")

    def interface(self) -> int:
        """The number of its network interface."""
        found = re.search(r"^Iface +(\d+)", self.ask("ifconfig"), re.MULTILINE)
        assert found, self.heard[-1000:]
        return int(found[1])

    def stats(self) -> dict[str, dict[str, int]]:
        """`lpn stats`: by the words before the numbers."""
        text = self.ask("lpn stats", r"^radio on-us.*$")
        found: dict[str, dict[str, int]] = {}
        for line in text.splitlines():
            m = re.match(r"(?:> )?(hook \d+ \S+|drop reason \d+|node|frames|radio)(.*)", line)
            if m:
                words = m[2].split()
                numbers = {words[i]: int(words[i + 1]) for i in range(len(words) - 1) if words[i + 1].isdigit() and not words[i].isdigit()}
                found[m[1]] = numbers
        assert "radio" in found, text
        return found

    def buffer_is_empty(self) -> bool:
        """No packet is held: the whole packet buffer is one free piece."""
        text = self.ask("pktbuf")
        unused = re.findall(r"unused: \S+ \(next: (\S+), size: +(\d+)\)", text)
        total = re.search(r"packet buffer: first byte: \S+, last byte: \S+ \(size: +(\d+)\)", text)
        assert total and unused, text
        return len(unused) == 1 and unused[0][1] == total[1]


@dataclass(frozen=True)
class Link:
    """Nodes by number, and the share of frames that are lost each way."""

    a: int
    b: int
    loss: float = 0.0


def line(count: int, loss: float = 0.0) -> list[Link]:
    return [Link(i, i + 1, loss) for i in range(1, count)]


def star(count: int, loss: float = 0.0) -> list[Link]:
    return [Link(1, i, loss) for i in range(2, count + 1)]


def free_port() -> int:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind(("::1", 0))
        return s.getsockname()[1]


def join(router: Node, a: Node, c: Node) -> None:
    """Routes between two nodes of GNRC over one in between: node n has 2001:db8:n::n, its port 9 is listened to at `c`."""
    for node, other in ((a, c), (c, a)):
        i = node.interface()
        node.ask(f"ifconfig {i} add 2001:db8:{node.number}::{node.number}/64")
        node.ask(f"nib route add {i} 2001:db8:{other.number}::/64 {router.link_local}")
    c.ask("udp server start 9")
    c.read(0.5)


@contextmanager
def network(elfs: Sequence[Path | None], links: Sequence[Link], seed: int = 42, acks: bool = False) -> Iterator[list]:
    """Nodes 1, 2, ... each with its ELF, on links; they are ended at the end. None in place of an ELF: a radio of ours (`Air`).

    `acks`: GNRC asks for acknowledgements. RIOT's submac waits 864 us for one, which a busy machine is often too slow for, and an
    unmodified GNRC node can then stay deaf (seen with RIOT's own example); so the tests do without, and see all losses."""
    folder = Path(tempfile.mkdtemp(prefix="lpn-riot-"))
    names = {i: f"02:4C:50:4E:00:00:00:{i:02X}" for i in range(1, len(elfs) + 1)}
    text = "".join(f"N{i} := {name}\n" for i, name in names.items())
    text += "".join(f"N{link.a} N{link.b} {1 - link.loss:g}\n" for link in links)
    (folder / "links.topo").write_text(text)
    port = free_port()
    air = subprocess.Popen([str(dispatcher()), "-t", str(folder / "links.topo"), "-s", str(seed), "::1", str(port)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    nodes: list[Node | Air] = []
    try:
        time.sleep(SETTLE)
        for i, elf in enumerate(elfs, 1):
            nodes.append(Node(elf, port, i, folder / f"node{i}.log") if elf else Air(port, i))
        for node in nodes:
            if isinstance(node, Air):
                continue
            node.read(10.0, r"^(LPN node|main\(\)|RIOT).*")
            node.ask("help", r"reboot")
            if not acks:
                node.ask(f"ifconfig {node.interface()} -ack_req")
        yield nodes
    finally:
        for node in nodes:
            if isinstance(node, Air):
                node.close()
            else:
                kill_group(node.process)
        kill_group(air)
        shutil.rmtree(folder, ignore_errors=True)
