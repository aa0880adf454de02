"""`lpnc` as a process: pipes, closed streams, full devices, interrupts, terminals."""
from __future__ import annotations

import configparser
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli import RECORDING, TAG, UDP, lpnc, lpnc_process, make_capture
from lpn.compiler.output import Failure, write_files


def test_process_plain_text_and_errors(tag, frames):
    done = lpnc_process("run", tag, "--in", frames)
    assert done.returncode == 0 and b"\x1b" not in done.stdout and done.stderr == b""
    done = lpnc_process("run", tag, "--in", "/nonexistent", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"lpnc: /nonexistent: No such file or directory\n")


def test_closed_pipe():
    """`lpnc ... | head -1`: nothing is said about the pipe."""
    command = f"{sys.executable} -m lpn.compiler.cli disasm {UDP} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == "" and done.stdout.splitlines()[-1] == "141"


@pytest.mark.parametrize("command", ["check", "verify", "disasm", "build", "run"])
def test_nobody_reads(tag, tmp_path, command):
    """Status 1 would say that the program was rejected."""
    reads, writes = os.pipe()
    os.close(reads)
    more = {"build": ["-o", tmp_path], "run": ["--in", RECORDING, "--out", "-"]}.get(command, [])
    done = subprocess.run([sys.executable, "-m", "lpn.compiler.cli", command, tag, *more], stdout=writes, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("command", [["check"], ["fmt", "--check"], ["verify"], ["run", "--in", "x.pcap"]], ids=lambda each: each[0])
def test_files_beside_a_program_are_no_programs(tmp_path, command):
    """They were read as programs: an error for each string in them."""
    for name, text, told in (("x.test", 'test "it" { send hex { 00 }; }', "lpnc test {}"), ("x.events", '10 ms air "hello"', "lpnc run X.lpn --events {}")):
        (tmp_path / name).write_text(text)
        done = lpnc_process(*command, tmp_path / name, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"{name} is no program, " in done.stderr
        assert done.stderr.endswith(told.format(tmp_path / name) + "\n")


def test_closed_standard_output(tag):
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m lpn.compiler.cli check {tag} >&-"], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["build {} -o - --emit bundle", "pack {} -o -", "fmt -", "run {} --in {}.pcap --out -"])
def test_closed_standard_output_takes_no_file(tag, command):
    """What was asked for is not there: status 0 said that it was."""
    make_capture(Path(f"{tag}.pcap"))
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m lpn.compiler.cli {command.format(tag, tag)} < {tag} >&-"], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"lpnc: cannot write standard output: it is closed\n")


def test_closed_standard_input():
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m lpn.compiler.cli verify - <&-"], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"lpnc: cannot read standard input: it is closed\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_device_that_takes_nothing_leaves_no_files(tmp_path):
    """All or none."""
    with pytest.raises(Failure, match="^cannot write /dev/full: No space left on device$"):
        write_files({tmp_path / "one": b"x", Path("/dev/full"): b"y"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_full_disk(tag, frames):
    with open("/dev/full", "wb") as full:
        done = lpnc_process("run", tag, "--in", frames, stdout=full)
        unsaid = subprocess.run([sys.executable, "-m", "lpn.compiler.cli", "verify", "/nonexistent"], stderr=full, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"lpnc: standard output: No space left on device\n")
    assert unsaid.returncode == 2               # 1 would say that something was rejected


def test_interrupt(tag, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen([sys.executable, "-m", "lpn.compiler.cli", "run", str(tag), "--in", str(fifo), "--out", str(tmp_path / "o.pcap")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))     # a shell's `&` ignores it
    stream = os.open(fifo, os.O_WRONLY)         # opened: the program is being read, or the capture waited for
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    os.close(stream)
    assert process.returncode == 130 and b"Traceback" not in errors
    assert not (tmp_path / "o.pcap").exists()


def test_interrupt_while_loading(tmp_path):
    """A traceback of the modules that were being imported."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    config = configparser.ConfigParser()
    config.read(Path(__file__).parents[1] / "setup.cfg")
    module, _, main = config["options.entry_points"]["console_scripts"].split("=")[1].strip().partition(":")
    done = subprocess.run([sys.executable, "-c", f"from {module} import {main} as main; main()", "check", UDP], capture_output=True, check=False,
                          timeout=60, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (130, b"")


def on_terminal(args: list[str], columns: int = 100, **env: str) -> str:
    """What a command prints on a terminal."""
    import fcntl
    import pty
    import termios
    try:
        master, slave = pty.openpty()
    except OSError as e:
        pytest.skip(f"no terminal can be made here: {e}")
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([sys.executable, "-m", "lpn.compiler.cli", *args], stdin=slave, stdout=slave, stderr=slave,
                               env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")} | {"TERM": "xterm-256color"} | env)
    os.close(slave)
    out = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    process.wait(timeout=60)
    os.close(master)
    return out.decode()


def test_colours_on_a_terminal_only(tag, frames):
    args = ["run", str(tag), "--in", str(frames)]
    shown = on_terminal(args)
    assert "\x1b[3" in shown and "DELIVER" in shown
    assert "\x1b[3" not in on_terminal(args, NO_COLOR="1")
    assert "\x1b[" in on_terminal(["check", "/nonexistent.lpn"])


def test_a_table_loses_nothing_on_a_narrow_terminal(tag, frames):
    """Of 80 columns `verify` left out whether a deadline is met, and cut numbers and verdicts; on fewer 1,265 cycles were 1,26."""
    duty = Path(UDP).parents[1] / "duty"
    for args, columns in ((["verify", str(tag)], 80), (["run", str(duty / "duty.lpn"), "--events", str(duty / "duty.events")], 20)):
        assert sorted(on_terminal(args, columns, TERM="dumb").split()) == sorted(lpnc(*args).stdout.split())
    shown = on_terminal(["run", str(tag), "--in", str(frames)], 80, TERM="dumb")
    assert max(map(len, shown.splitlines())) <= 80


def test_a_dumb_terminal_gets_no_colours(tag):
    tag.write_text(TAG + "const bit<8>   UNTIDY = 1 ;\n")
    assert "\x1b" in on_terminal(["fmt", "--diff", str(tag)])
    for env in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
        shown = on_terminal(["fmt", "--diff", str(tag)], **env)
        assert "UNTIDY" in shown and "\x1b" not in shown
