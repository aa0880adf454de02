"""Files appear whole or not at all, whoever writes them: commands, captures, and the folder of bytecode."""
from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from lpn.compiler.output import Failure, write_files
from lpn.lang.files import Scratch, octets, replaced_by, whole
from lpn.runtime.capture import CaptureError, Writer

ROOT = Path(__file__).resolve().parents[1]
BUILDS = {"runtime/engine/build.py", "runtime/rbpf/build.py"}       # a compiler writes their files


def capture(path: Path) -> None:
    with Writer(path) as writer:
        writer.add(b"frame")


WRITERS = {"files": lambda path: write_files({path: b"content"}), "capture": capture}


def test_one_place_does_it() -> None:
    sources = [path for folder in ("lang", "compiler", "verifier", "runtime") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in sources if re.search(r"os\.replace\(|mkstemp\(", path.read_text(encoding="utf-8"))}
    assert found == {"lang/files.py", *BUILDS}


def test_kept_and_discarded(tmp_path: Path) -> None:
    target = tmp_path / "x"
    for keep, content in ((False, None), (True, b"1")):
        one = Scratch(target)
        one.stream.write(b"1")
        assert not target.exists() and len(list(tmp_path.iterdir())) == 1
        if keep:
            one.keep()
        one.discard()
        assert [path.read_bytes() for path in tmp_path.iterdir()] == ([content] if keep else [])


def test_what_is_read_whole(tmp_path: Path) -> None:
    """Up to the limit, and no octet more."""
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert octets(path, 5) == b"12345" and whole(io.BytesIO(b""), 0) == b""
    with pytest.raises(OSError, match="it has more than 0 MiB"):
        octets(path, 4)
    with pytest.raises(OSError, match="it has more than 1 MiB, the most that is read"):
        octets(Path("/dev/zero"), 1 << 20)


def test_what_is_replaced(tmp_path: Path) -> None:
    link, dangling, pipe = (tmp_path / name for name in ("link", "dangling", "pipe"))
    link.symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"")
    dangling.symlink_to(tmp_path / "none")
    os.mkfifo(pipe)
    assert replaced_by(link) == tmp_path / "file" and replaced_by(dangling) == tmp_path / "none"
    assert replaced_by(tmp_path / "new") == tmp_path / "new"
    assert replaced_by(pipe) is replaced_by(Path("/dev/null")) is replaced_by(tmp_path) is None


@pytest.mark.parametrize("name", WRITERS)
def test_links_devices_permissions(name: str, tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    WRITERS[name](link)
    assert link.is_symlink() and file.read_bytes() != b"old" and file.stat().st_mode & 0o777 == 0o640
    WRITERS[name](Path("/dev/null"))
    with pytest.raises((Failure, CaptureError), match="Is a directory"):
        WRITERS[name](tmp_path)
    assert Path("/dev/null").is_char_device() and sorted(tmp_path.iterdir()) == [file, link]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_no_room(name: str, tmp_path: Path) -> None:
    with pytest.raises((Failure, CaptureError), match="No space left"):
        WRITERS[name](Path("/dev/full"))
