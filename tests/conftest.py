"""What the tests of commands are given: a small program and a capture of its frames."""
from __future__ import annotations

from pathlib import Path

import pytest

from cli import TAG, make_capture


@pytest.fixture
def tag(tmp_path: Path) -> Path:
    path = tmp_path / "tag.lpn"
    path.write_text(TAG)
    return path


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    return make_capture(tmp_path / "in.pcap")
