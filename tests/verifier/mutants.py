"""Texts and certificates changed at random: python tests/verifier/mutants.py PAIRS SEED [BUNDLE...].

Starts from the honest programs of forge.py and the certified containers of the bundles given. Exit status 1 for a violation; its text and certificate are then in
build/mutant.
"""
from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from forge import SIZES, honest                                        # noqa: E402

from lpn.compiler.bundle import Bundle                                 # noqa: E402
from lpn.runtime.engine import build                                   # noqa: E402
from lpn.runtime.instrumented import build as machine                  # noqa: E402
from lpn.runtime.instrumented.claims import LARGEST                    # noqa: E402

ENGINE, MACHINE = build.HERE, machine.HERE
SOURCES = [Path(__file__).parent / "mutate.c", *(ENGINE / name for name in ("load.c", "certificate.c")),
           *(MACHINE / name for name in machine.SOURCES)]


def program() -> Path:
    """The harness, built with sanitizers. BuildError."""
    cc = build.compiler()
    files = [*SOURCES, *(ENGINE / name for name in build.HEADERS), *(MACHINE / name for name in machine.HEADERS)]
    target = build.cache_dir() / f"lpn-mutate-{build.digest(cc, *files)}"
    if not target.exists():
        build.compile_to(target, [cc, "-std=c99", "-O2", "-fno-strict-aliasing", *build.SANITIZE, f"-I{ENGINE}", f"-I{MACHINE}", *map(str, SOURCES)])
    target.chmod(0o755)
    return target


def row(text: bytes, certificate: bytes, sizes: tuple[int, ...]) -> bytes:
    return struct.pack("<8I", len(text), len(certificate), *sizes) + text + certificate


def corpus(bundles: Iterable[Path] = ()) -> bytes:
    """Honest pairs, those of the bundles behind them."""
    sizes = SIZES.rodata, SIZES.data, SIZES.record, SIZES.state, SIZES.stack, SIZES.output
    rows = [row(text, certificate.to_bytes(), sizes) for text, certificate in honest().values()]
    for path in bundles:
        for image in Bundle.from_bytes(path.read_bytes()).modules:
            sizes = len(image.rodata), len(image.data), image.record_size, image.state_size, image.stack_used, image.out_size
            if image.certificate and max(sizes) <= LARGEST:
                rows.append(row(image.text, image.certificate, sizes))
    return b"".join(rows)


def run(folder: Path, pairs: int, seed: int, bundles: Iterable[Path] = ()) -> subprocess.CompletedProcess:
    """`folder`: for the corpus, and for a pair that violates something."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus").write_bytes(corpus(bundles))
    return subprocess.run([program(), folder / "corpus", str(pairs), str(seed), folder], capture_output=True, text=True, check=False,
                          env={"ASAN_OPTIONS": "detect_leaks=0"})


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} PAIRS SEED [BUNDLE...]")
    done = run(build.cache_dir() / "mutant", int(sys.argv[1]), int(sys.argv[2]), map(Path, sys.argv[3:]))
    print(done.stdout + done.stderr, end="")
    sys.exit(done.returncode)
