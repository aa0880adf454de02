"""Settings that all tests share, those of the examples too."""

from __future__ import annotations

import gc
import os
import signal
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

gc.set_threshold(8_000_000, 20, 100)     # many compilers in one process: looking for cycles took a twelfth of the time

# The same examples in every run, so that a red build means a change and not luck. Look for new
# ones by hand: LPN_HYPOTHESIS=search make test
settings.register_profile("ci", derandomize=True, database=None, deadline=None, print_blob=True,
                          suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", database=None, deadline=None, max_examples=5000, print_blob=True,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("LPN_HYPOTHESIS", "ci"))


# Files whose tests take longest, begun first: two processes that share the files end together then. The Makefile asks for this order.
LONGEST = ("test_differential", "test_deadlines", "test_engine_sanitize", "test_docs", "test_examples", "test_examples_packets", "test_excluded", "test_forms", "test_generator_plans",
           "test_certificate_same", "test_bench", "test_cli", "test_certificate_mutants", "test_verifier_wcet", "test_m3_profile", "test_femto", "test_certificate",
           "test_linked", "test_verifier_rules", "test_verifier_soundness", "test_accepted", "test_m3_bench", "test_format", "test_engine_kernel_random",
           "test_cli_errors", "test_clean32", "test_m3_isa", "test_thumb2", "test_packet_tests", "test_replace")


# What LLVM has made of a program, it has made for all processes of the tests: those beside one another, the commands they start, those of the next run.
BYTECODE = Path(__file__).parent / "build" / "bytecode"


def pytest_configure(config) -> None:
    os.environ.setdefault("LPN_BYTECODE", str(BYTECODE))
    if not hasattr(config, "workerinput") and not os.environ.get("LPN_ENGINE"):
        import_module("lpn.compiler.bytecode").drop_others(BYTECODE)


def pytest_collection_modifyitems(items: list) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


def pytest_collection_finish() -> None:
    """Hypothesis draws constants of the modules that are loaded. All of them are, before the first test: what is drawn would depend on what ran before."""
    if os.environ.get("LPN_ENGINE"):            # a sanitizer is in the process, and capstone's library cannot be loaded: one order, always
        return
    root = Path(__file__).parent
    for folder in ("lang", "compiler", "verifier", "runtime"):
        for path in sorted((root / folder).rglob("*.py")):
            try:
                import_module("lpn." + ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"))
            except ImportError:                 # of a package that is not installed
                pass
    gc.freeze()                                 # all that is loaded stays: no use in looking for cycles there, again and again


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    gc.freeze()                                 # pytest looks for cycles five times before it ends, which takes long where there are so many objects


@pytest.fixture
def control_c():
    """It interrupts as in a terminal, even where a shell's `&` has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_report_header() -> list[str]:
    """An installation that is older than setup.cfg lacks packages."""
    return [] if find_spec("lpn.testing") else ["lpn: setup.cfg has new packages: run `make setup`"]
