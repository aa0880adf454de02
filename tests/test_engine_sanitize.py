"""The engine's tests once more in a build with AddressSanitizer and UBSan."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lpn.runtime.engine import build

HERE = Path(__file__).parent
TESTS = ("test_engine_isa.py", "test_engine_load.py", "test_engine_memory.py", "test_engine_tables.py",
         "test_engine_chain.py", "test_engine_fuzz.py", "test_image.py", "test_node.py", "test_node_buffers.py", "test_node_driver.py",
         "test_node_check.py", "test_node_sets.py", "test_node_model.py", "test_node_machine.py", "test_engine_buffers.py", "test_pack.py")
# Commands load capstone, which loads its library in a way that no sanitizer bears. A compiler that runs on its own is not looked at, and what the verifier refuses
# comes to no engine.
WITHOUT = ("tests/test_pack.py::test_the_command", "tests/test_pack.py::test_nothing_is_written_of_a_bundle_that_the_verifier_refuses",
           "tests/test_node_check.py::test_the_command", "tests/test_engine_load.py::test_engine_compiles_without_a_warning")


def runtime_library(name: str) -> str:
    """The sanitizer's library, which must be in the process before Python."""
    path = subprocess.run([build.compiler(), f"-print-file-name={name}"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not Path(path).is_absolute():
        pytest.skip(f"the compiler has no {name}")
    return path


def sanitized_environment() -> dict[str, str]:
    if os.environ.get("LPN_ENGINE"):
        pytest.skip("already sanitized")
    preload = f"{runtime_library('libasan.so')} {runtime_library('libubsan.so')}"
    try:
        library = build.build(sanitize=True)
    except build.BuildError as e:
        pytest.skip(str(e))
    # Of each of Python's own objects who made it would be noted, 30 calls deep: a third of the time. Of what is wrong the whole way is shown, of where its memory is from one call.
    return os.environ | {"LPN_ENGINE": str(library), "LD_PRELOAD": preload, "PYTHONMALLOC": "malloc",
                         "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:malloc_context_size=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def test_no_sanitizer_speaks():
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                           *(f"--deselect={t}" for t in WITHOUT), *(str(HERE / t) for t in TESTS)],
                          env=sanitized_environment(), capture_output=True, text=True, check=False, cwd=HERE)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert " passed" in done.stdout


def test_the_sanitizer_would_speak():
    """The same set-up with a call that breaks a C function's contract, to know that the check above checks."""
    code = ("from lpn.runtime.engine.build import library; ffi, lib = library();"
            "lib.lpn_crc32(0, ffi.new('uint8_t[]', 8), 64)")
    done = subprocess.run([sys.executable, "-c", code], env=sanitized_environment(), capture_output=True, text=True,
                          check=False)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
