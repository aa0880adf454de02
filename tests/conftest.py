"""What the tests of commands are given: a small program, a capture of its frames, test files beside programs."""
from __future__ import annotations

from pathlib import Path

import pytest

from cli import TAG, lpnc, make_capture
from packet_files import PROGRAMS


@pytest.fixture
def tag(tmp_path: Path) -> Path:
    path = tmp_path / "tag.lpn"
    path.write_text(TAG)
    return path


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    return make_capture(tmp_path / "in.pcap")


@pytest.fixture
def beside(tmp_path: Path):
    """Writes a test file beside its program, and runs it; (status, what was printed)."""
    def write(text: str, program: str = "tag", *options: str) -> tuple[int, str]:
        (tmp_path / f"{program}.lpn").write_text(PROGRAMS[program])
        (tmp_path / f"{program}.test").write_text(text)
        result = lpnc("test", tmp_path / f"{program}.test", *options)
        return result.exit_code, (result.stdout + result.stderr).replace(f"{tmp_path}/", "")
    return write
