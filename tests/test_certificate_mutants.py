"""Texts and certificates changed at random: whatever the checker accepts runs without a fault, and within its cost; under sanitizers."""
from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from lpn.runtime.engine import build

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "verifier"))

from forge import SIZES, honest                                        # noqa: E402

ENGINE = Path(build.__file__).parent
SOURCES = [HERE / "verifier" / "mutate.c", *(ENGINE / name for name in (
    "image.c", "load.c", "vm.c", "vm32.c", "vm32_plan.c", "tables.c", "chain.c", "certificate.c", "buffers.c", "native.c", "thumb2.c"))]
PAIRS = 200_000


@pytest.fixture(scope="module")
def mutate() -> Path:
    try:
        cc = build.compiler()
        target = build.cache_dir() / f"lpn-mutate-{build.digest(cc, *SOURCES, *(ENGINE / name for name in build.HEADERS))}"
        if not target.exists():
            build.compile_to(target, [cc, "-std=c99", "-O1", "-fno-strict-aliasing", *build.SANITIZE, f"-I{ENGINE}", *map(str, SOURCES)])
    except build.BuildError as e:
        pytest.skip(str(e))
    target.chmod(0o755)
    return target


def test_whatever_is_accepted_runs_without_a_violation(mutate, tmp_path):
    rows = []
    for text, certificate in honest().values():
        raw = certificate.to_bytes()
        rows.append(struct.pack("<7I", len(text), len(raw), SIZES.rodata, SIZES.data, SIZES.record, SIZES.state, SIZES.stack) + text + raw)
    corpus = tmp_path / "corpus"
    corpus.write_bytes(b"".join(rows))
    done = subprocess.run([mutate, corpus, str(PAIRS), "1"], capture_output=True, text=True, check=False, env={"ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{PAIRS} pairs" in done.stdout and "no violation" in done.stdout, done.stdout
