"""Building the engine: where it goes, when it is rebuilt, what is said when it cannot be."""

import os
import random
import shutil
import subprocess
import sys
import zlib

import pytest

from lpn.runtime.engine import build, native
from lpn.runtime.engines import EngineUnavailable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LPN_BUILD_DIR", str(tmp_path / "a" / "b"))
    return tmp_path / "a" / "b"


def test_built_once_into_the_folder_named(folder):
    first = build.build()
    assert first.parent == folder
    before = first.stat().st_mtime_ns
    assert build.build() == first and first.stat().st_mtime_ns == before
    assert [p.name for p in folder.iterdir()] == [first.name], "no scratch files are left"
    _, lib = build.open_library(first)
    assert lib.lpn_crc32(0, b"123456789", 9) == 0xCBF43926


def test_a_changed_source_gets_another_name():
    assert build.digest("a", b"b") != build.digest("a", b"c")
    assert build.digest("ab", b"c") != build.digest("a", b"bc")


def test_the_checksum_is_zlibs():
    """Of every length around those where it goes on another way, from any state on, and by pieces."""
    _, lib = build.library()
    draw = random.Random(1)
    for size in (*range(64), *range(250, 262), 5003):
        content, state = draw.randbytes(size), draw.getrandbits(32)
        assert lib.lpn_crc32(0, content, size) == zlib.crc32(content)
        assert lib.lpn_crc32(state, content, size) == zlib.crc32(content, state)
        at = draw.randint(0, size)
        assert lib.lpn_crc32(lib.lpn_crc32(0, content[:at], at), content[at:], size - at) == zlib.crc32(content)


def test_two_processes_at_once(folder):
    code = "from lpn.runtime.engine import build; build.open_library(build.build())[1].lpn_crc32"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [p.wait() for p in processes] == [0, 0]
    assert sorted(p.suffix for p in folder.iterdir()) == [".py", ".so"], "the library and its declarations, no scratch files"


def test_no_compiler_is_said_in_one_line(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("LPN_ENGINE", raising=False)
    monkeypatch.setattr(native, "library", build.library.__wrapped__)     # not what this process has loaded
    with pytest.raises(EngineUnavailable, match="^the engine needs a C compiler: install gcc or clang, or set CC$"):
        native.open_engine()


def test_a_compiler_that_fails_is_said_in_one_line(folder, monkeypatch, tmp_path):
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho 'x.c:1: error: no such thing' >&2; echo more >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    with pytest.raises(build.BuildError, match="failed: x.c:1: error: no such thing$"):
        build.build()
    assert not list(folder.iterdir())


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    tmp_path.chmod(0o500)
    monkeypatch.setenv("LPN_BUILD_DIR", str(tmp_path))
    with pytest.raises(build.BuildError, match="cannot be written"):
        build.build()


def test_a_folder_that_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LPN_BUILD_DIR", str(tmp_path / "file" / "x"))
    with pytest.raises(build.BuildError, match="no folder to build in"):
        build.cache_dir()


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc (Debian's gcc-arm-none-eabi)")
@pytest.mark.parametrize("left_out", [(), ("CODE_ONLY", "CLEAN32_ONLY", "NO_TABLES", "NO_BUFFERS", "ONE_SET"), ("CLEAN32_ONLY",)])
@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m0"])
def test_the_engine_compiles_for_a_node_with_riots_warnings(core, left_out):
    """As runtime/riot/lpn compiles it, where warnings are errors; whole, and with parts left out; with what is in Thumb-2 itself, and in C instead."""
    files = [str(build.HERE / name) for name in build.SOURCES if not name.endswith("host.c")]
    done = subprocess.run(["arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", "-Os", "-std=gnu11", "-Wall", "-Wextra", "-Wcast-align", "-Wstrict-prototypes",
                           "-Wold-style-definition", "-Werror", "-ffreestanding", "-fsyntax-only", *(f"-DLPN_{option}=1" for option in left_out), *files],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
