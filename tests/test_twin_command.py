"""`lpnc twin` and what it is given by mistake: a line that says what to do, never a traceback."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")
from lpn.runtime.capture import Writer  # noqa: E402
from lpn.runtime.linktype import IEEE802154_WITHFCS  # noqa: E402
from lpn.runtime.twin.mac import with_fcs  # noqa: E402


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


@pytest.fixture(scope="module")
def asleep(tmp_path_factory) -> str:
    """A firmware that sleeps from its first instruction on, which no symbol names."""
    if not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("needs arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("twin")
    source, elf = folder / "x.s", folder / "x.elf"
    source.write_text(".syntax unified\n.thumb\n.word 0x20004000\n.word 0x08000009\nwfi\nb .\n")
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-nostdlib", "-Wl,-Ttext=0x08000000,--entry=0", str(source), "-o", str(elf)], check=True)
    return str(elf)


def test_commands_that_no_prompt_asked_for(asleep):
    done = twin(asleep, "--seconds", "0.001", "--shell", "help")
    assert (done.returncode, done.stderr) == (0, "note: node1 has shown no prompt for 'help'\n")


def test_records_that_no_radio_could_have_sent(asleep, tmp_path):
    """They were on the air, with a right FCS, whatever they were; and what came after the end was not told of."""
    path = tmp_path / "x.pcap"
    with Writer(path, IEEE802154_WITHFCS) as out:
        for at, psdu in enumerate((with_fcs(bytes(10)), bytes(9) + b"1", with_fcs(bytes(126)), with_fcs(bytes(11)), with_fcs(bytes(12)))):
            out.add_verbatim(psdu, at * 1_000_000)
    given = asleep, "--frames", str(path), "--frames-at", "0.5", "--seconds", "4"
    told = f"note: 2 records of {path} not put on the air, no whole frame or a wrong FCS\nnote: 1 frame of {path} would come later than --seconds 4\n"
    assert twin(*given).stderr == told
    found = json.loads(twin(*given, "--json").stdout)
    assert (found["left_out"], found["to_come"]) == (2, 1) and [frame["time_us"] for frame in found["frames"]] == [500_000, 3_500_000]
    ethernet = tmp_path / "y.pcap"
    with Writer(ethernet, 1) as out:
        out.add_verbatim(bytes(60), 0)
    assert json.loads(twin(asleep, "--frames", str(ethernet), "--json").stdout)["frames"] == []


def test_code_that_no_symbol_names_is_not_said_to_be_in_ram(asleep):
    (profile,) = json.loads(twin(asleep, "--seconds", "0.001", "--profile", "--json").stdout)["profile"]
    assert [row["function"] for row in profile["functions"]] == ["code without a symbol"]
