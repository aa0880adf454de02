"""The packet tests of the examples, as `lpnc test examples` runs them."""
from __future__ import annotations

from pathlib import Path

import pytest
from cli import lpnc

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(EXAMPLES.rglob("*.test"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_packet_tests_pass(path: Path) -> None:
    done = lpnc("test", path)
    assert done.exit_code == 0 and "all passed" in done.stdout, done.output


def test_each_example_has_some() -> None:
    assert {path.relative_to(EXAMPLES).parts[0] for path in FILES} == {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
