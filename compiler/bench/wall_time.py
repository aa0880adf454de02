"""Wall time of whole processes: `lpnc build` and clang on the same work; time of verification; the captures."""
from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.loader import load

from ..build import compile_program
from ..bytecode import FOLDER
from ..judge import of_compiled
from ..output import Failure
from . import peers
from .frames import ROOT

TIMES = 5

#: Example, and the C programs of the same work.
EXAMPLES = {"decompress": ("examples/decompress/decompress.lpn", ("decompress",)),
            "udp": ("examples/udp/udp.lpn", ("udp_rx", "udp_tx"))}


@dataclass
class Times:
    """Medians in milliseconds of whole processes, but `verify`: of all containers, inside one process."""

    cold: float                                 # no compiled Python anywhere, not even of the standard library
    warm: float
    verify: float
    clang: float | None = None                  # -c; one process for each C file
    clang_llc: float | None = None              # to LLVM IR, then llc


def machine() -> str:
    """What the times depend on; call it before timing, which is load of its own."""
    import platform
    return (f"{os.cpu_count()} {platform.machine()} processors, load {os.getloadavg()[0]:.1f} before the first run, "
            f"Python {platform.python_version()}")


def medians(runs: dict[str, Callable[[], object]], times: int = TIMES) -> dict[str, float]:
    """Milliseconds. All take turns, so that whatever else the machine does meets all of them."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(times):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - begin)
    return {name: round(1000 * statistics.median(each), 1) for name, each in taken.items()}


def timed() -> dict[str, Times]:
    return {name: times_of(ROOT / source, c) for name, (source, c) in EXAMPLES.items()}


def times_of(source: Path, c: tuple[str, ...]) -> Times:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turn = iter(range(1000))
        units = of_compiled(compile_program(program_at(source))).items
        build(source, folder, "warm")
        runs: dict[str, Callable[[], object]] = {
            "cold": lambda: build(source, folder, f"cold{next(turn)}"),
            "warm": lambda: build(source, folder, "warm"),
            "verify": lambda: [unit.judge() for unit in units],
        }
        try:
            peers.sources(), peers.clang()
            runs["clang"] = lambda: clang(c, folder)
            if llc():
                runs["clang_llc"] = lambda: clang_llc(c, folder)
        except peers.Absent:
            pass
        return Times(**medians(runs))


def program_at(source: Path) -> ast.Program:
    return check(load(source))


def build(source: Path, folder: Path, cache: str) -> None:
    """`lpnc build` in a process of its own, Python's bytecode cache in a folder of this name."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / cache), "XDG_CACHE_HOME": str(folder / cache)}
    for name in ("PYTHONDONTWRITEBYTECODE", FOLDER):
        env.pop(name, None)
    done([sys.executable, "-m", "lpn.compiler.cli", "build", str(source), "-o", str(folder / "out")], env)


def clang(names: tuple[str, ...], folder: Path) -> None:
    for name in names:
        done(peers.command(name, folder / f"{name}.o"))


def llc() -> str | None:
    """The llc beside that clang: an older one does not read what it writes."""
    compiler = Path(peers.clang())
    for path in (compiler.with_name(compiler.name.replace("clang", "llc")), compiler.resolve().with_name("llc")):
        if path.exists():
            return str(path)
    return None


def clang_llc(names: tuple[str, ...], folder: Path) -> None:
    for name in names:
        done([*peers.command(name, folder / f"{name}.bc"), "-emit-llvm"])
        done([str(llc()), "-march=bpf", "-mcpu=v3", "-filetype=obj", str(folder / f"{name}.bc"), "-o", str(folder / f"{name}.o")])


def done(command: list[str], env: dict[str, str] | None = None) -> None:
    ran = subprocess.run(command, env=env, capture_output=True, text=True)
    if ran.returncode:
        raise Failure(f"{' '.join(command[:4])} ... failed: {(ran.stderr.splitlines() or ['no message'])[-1]}", 1)


# ---------------------------------------------------------------- captures

@dataclass
class Corpus:
    """Frames of captures with known answers: compared and equal, by how sure the answer is (tests/corpus.py). `open`: frames
    on which the RFC is silent; any reading of them is right."""

    captures: int = 0
    compared: dict[str, int] = field(default_factory=dict)
    equal: dict[str, int] = field(default_factory=dict)
    open: int = 0
    absent: str | None = None

    @property
    def total(self) -> tuple[int, int]:
        return sum(self.compared.values()), sum(self.equal.values())

    def as_dict(self) -> dict:
        return asdict(self)


def corpus(quick: bool = False) -> dict[str, Corpus]:
    """`examples/decompress`, fused and as a chain, on every capture that is here. Raises Failure without a checkout."""
    from lpn.lang import tables as control

    from ..runner import make_runner
    known = the_corpus()
    names = list(known.OWN_FILES) + ([] if quick else [*known.RFC_FILES, *known.REAL_FILES])
    program, results = program_at(ROOT / EXAMPLES["decompress"][0]), {}
    for form, fuse in (("fused", True), ("chain", False)):
        compiled, result = compile_program(program, fuse=fuse), Corpus()
        for name in names:
            if not known.here(name):
                result.absent = known.ABSENT
                continue
            given = control.from_json(known.tables_for(name), program)
            found = known.compare(make_runner("engine", program, given, compiled=compiled), name)
            result.captures += 1
            result.open += found.compared.pop("OPEN", 0)
            found.equal.pop("OPEN", None)
            for into, counts in ((result.compared, found.compared), (result.equal, found.equal)):
                for strength, number in counts.items():
                    into[strength] = into.get(strength, 0) + number
        results[form] = result
    return results


def the_corpus():
    """tests/corpus.py, which is not installed."""
    folder = str(ROOT / "tests")
    if not (ROOT / "tests" / "corpus.py").is_file():
        raise Failure(f"{folder} is not there: the captures need a checkout")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("corpus")
    finally:
        sys.path.remove(folder)
