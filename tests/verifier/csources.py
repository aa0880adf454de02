"""Ordinary eBPF C in c/, and what clang-19 -O2 makes of it: NAME.c, and NAME.hex with one line a version of the instruction set and variant,
`v3 good RODATA TEXT` (bytes of read-only data; the text in hex). `python tests/verifier/csources.py` compiles them again.

`good` must be accepted; `twin` (-DTWIN) has the mistake its comment tells, and must be refused by one of the rules named there. `// apart`: ways that meet are told apart for it, as they are of an object;
`// constants`: what its read-only data hold is known, too (RODATA is in hex then); `// versions v3 v4`: of the instruction set, for which it must be so.
"""
from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lpn.compiler.elf import read_object
from lpn.verifier import XDP, Report, verify

FOLDER = Path(__file__).parent / "c"
CLANG = shutil.which("clang-19")
CPUS, VARIANTS = ("v2", "v3", "v4"), ("good", "twin")


@dataclass(frozen=True)
class Compiled:
    name: str
    cpu: str
    variant: str
    rodata: int
    text: bytes
    constants: bytes | None = None                    # what the read-only data hold, where the program needs that to be known

    @property
    def rules(self) -> set[int]:
        """Which a twin breaks."""
        return {int(n) for n in re.search(r"^// twin ([\d ]+):", (FOLDER / f"{self.name}.c").read_text(), re.M)[1].split()}

    @property
    def apart(self) -> bool:
        """Must ways be told apart for it?"""
        return said(self.name, "apart") is not None

    def report(self) -> Report:
        return verify(self.text, XDP, rodata=self.rodata, apart=self.apart, constants=self.constants)


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.c"))


def said(name: str, what: str) -> str | None:
    """What stands behind a word in a program's comments; None: it is not there."""
    found = re.search(rf"^// {what}\b(.*)$", (FOLDER / f"{name}.c").read_text(), re.M)
    return found and found[1]


def cpus(name: str) -> tuple[str, ...]:
    return tuple((said(name, "versions") or " ".join(CPUS)).split())


def usual(name: str) -> str:
    """One of them, v3 where it is one."""
    return "v3" if "v3" in cpus(name) else cpus(name)[-1]


def committed() -> list[Compiled]:
    out = []
    for name in names():
        for line in (FOLDER / f"{name}.hex").read_text().splitlines():
            cpu, variant, rodata, text = line.split()
            constants = bytes.fromhex(rodata) if said(name, "constants") is not None else None
            out.append(Compiled(name, cpu, variant, int(rodata) if constants is None else len(constants), bytes.fromhex(text), constants))
    return out


def compiled(name: str, cpu: str, variant: str, folder: Path) -> Compiled:
    """By the clang that is here."""
    out = folder / f"{name}.o"
    flags = ["-DTWIN"] if variant == "twin" else []
    subprocess.run([str(CLANG), "-O2", "-target", "bpf", f"-mcpu={cpu}", "-Wall", "-Werror", *flags, "-c", FOLDER / f"{name}.c", "-o", out], check=True)
    code = read_object(out.read_bytes(), "xdp")
    return Compiled(name, cpu, variant, len(code.rodata), code.text, code.rodata if said(name, "constants") is not None else None)


def main() -> None:
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        for name in names():
            lines = []
            for cpu in cpus(name):
                for variant in VARIANTS:
                    one = compiled(name, cpu, variant, Path(folder))
                    lines.append(f"{cpu} {variant} {one.rodata if one.constants is None else one.constants.hex()} {one.text.hex()}\n")
            (FOLDER / f"{name}.hex").write_text("".join(lines))


if __name__ == "__main__":
    main()
