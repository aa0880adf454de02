"""`lpnc twin` and what it is given by mistake: a line that says what to do, never a traceback."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")


def twin(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "lpn.compiler.cli", "twin", *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("twin") / "x.elf"
    path.write_text("no firmware")
    return str(path)


@pytest.mark.parametrize("arguments,what", [
    ((), "Missing argument"),
    (("nothing.elf",), "nothing.elf: No such file or directory"),
    (("a.elf", "b.elf", "--boards", "1"), "2 ELF files for 1 boards"),
    (("a.elf", "--shell", "9:help"), "there is no board 9"),
    (("a.elf", "--json", "--out", "-"), "both want standard output"),
    (("a.elf", "--loss", "2"), "--loss"), (("a.elf", "--loss", "nan"), "--loss"), (("a.elf", "--seconds", "inf"), "--seconds"),
    (("a.elf", "--out", "/nonexistent/x.pcap"), "cannot write /nonexistent/x.pcap: there is no folder /nonexistent"),
])
def test_usage(arguments, what):
    done = twin(*arguments)
    assert done.returncode == 2 and what in done.stderr and "Traceback" not in done.stderr


def test_no_output_takes_the_place_of_an_input(text):
    """The run's capture was refused only when all of it had run; the firmware was written over."""
    assert twin(text, "--out", text).stderr == f"lpnc: {text} is the firmware that is read\n"
    folder = str(Path(text).parent)
    assert twin(text, "--out", folder).stderr == f"lpnc: cannot write {folder}: Is a directory\n"


def test_files_that_are_no_firmware(text):
    done = twin(text)
    assert done.returncode == 2 and "not an ELF" in done.stderr
    host = twin(sys.executable)
    assert host.returncode == 2 and "not for an Arm Cortex-M3" in host.stderr and host.stderr.count("\n") == 1


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
def test_commands_that_no_prompt_asked_for(tmp_path):
    source, elf = tmp_path / "x.s", tmp_path / "x.elf"
    source.write_text(".syntax unified\n.thumb\n.word 0x20004000\n.word 0x08000009\nb .\n")
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-nostdlib", "-Wl,-Ttext=0x08000000,--entry=0", str(source), "-o", str(elf)], check=True)
    done = twin(str(elf), "--seconds", "0.001", "--shell", "help")
    assert (done.returncode, done.stderr) == (0, "note: node1 has shown no prompt for 'help'\n")
