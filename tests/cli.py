"""What the tests of `lpnc` share: a small program, captures, a way to call a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from lpn.compiler.cli import cli
from lpn.runtime.capture import Frame, write

ROOT = Path(__file__).resolve().parents[1]
UDP = str(ROOT / "examples" / "udp" / "udp.lpn")
RECORDING = str(ROOT / "examples" / "udp" / "captures" / "riot_udp.pcap")

TAG = """\
error { BadKind }
header Tag { bit<8> kind; bit<16> port; }
struct headers { Tag tag; }
parser Rx(packet pkt, out headers h) {
    state start {
        pkt.extract(h.tag);
        verify(h.tag.kind != 0, error.BadKind);
        transition accept;
    }
}
processor Guard(inout headers h, inout meta m) {
    apply { if (h.tag.kind == 1) { m.verdict = DROP; m.reason = error.BadKind; } }
}
processor Work(inout headers h, inout meta m) {
    register<bit<16>>[2] base;
    apply {
        if (h.tag.kind == 3) {
            h.tag.port = base[1];
            m.verdict = TRANSMIT;
        } else {
            m.port = h.tag.port + base[0];
            m.verdict = DELIVER;
        }
    }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.tag); }
protocol TagProtocol version 1 { on radio.rx_done : Rx -> Guard -> Work -> Tx; }
"""

#: Frames for TAG: refused by the parser, by Guard, delivered to port 0x1234, sent on, too short.
FRAMES = (b"\0\0\0", b"\1\0\0", b"\2\x12\x34abc", b"\3\x12\x34xyz", b"\2")


def lpnc(*args: str, input: bytes | None = None, env: dict[str, str] | None = None) -> Result:  # noqa: A002
    """The command in this process; an exception that should not be is raised here."""
    return CliRunner().invoke(cli, [str(a) for a in args], input=input, catch_exceptions=False, env={"LPN_DEBUG": "1", **(env or {})})


def lpnc_process(*args: str, **more) -> subprocess.CompletedProcess:
    """The command as users start it."""
    env = {k: v for k, v in os.environ.items() if k not in ("LPN_DEBUG", "NO_COLOR", "FORCE_COLOR")}
    env |= more.pop("env", {})
    return subprocess.run([sys.executable, "-m", "lpn.compiler.cli", *map(str, args)], env=env, timeout=120, check=False,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})


def make_capture(path: Path, frames=FRAMES, linktype: int = 195) -> Path:
    write(path, [Frame(n, 1_000_000 * n, data) for n, data in enumerate(frames, 1)], linktype)
    return path
