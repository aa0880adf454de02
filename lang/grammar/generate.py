"""Makes the parser from `Lpn.g4`: `python -m lpn.lang.grammar.generate [folder]`. Needs Java and the ANTLR tool's jar."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

HERE = Path(__file__).parent
VERSION = "4.13.2"
FILES = ["LpnLexer.py", "LpnParser.py"]


def jar() -> Path | None:
    """The ANTLR tool: `$ANTLR_JAR`, or where `antlr4-tools` and Maven keep it."""
    name = f"antlr4-{VERSION}-complete.jar"
    candidates = [Path(os.environ["ANTLR_JAR"])] if "ANTLR_JAR" in os.environ else []
    candidates.append(Path.home() / ".m2/repository/org/antlr/antlr4" / VERSION / name)
    return next((path for path in candidates if path.is_file()), None)


def missing() -> str | None:
    """Why the parser cannot be made here, or None."""
    if which("java") is None:
        return "there is no java"
    if jar() is None:
        return f"there is no antlr4-{VERSION}-complete.jar: pip install antlr4-tools && antlr4 -v {VERSION}, or set ANTLR_JAR"
    return None


def generate(folder: Path) -> None:
    """Writes LpnLexer.py and LpnParser.py to `folder`."""
    command = ["java", "-Xmx512m", "-jar", str(jar()), "-Dlanguage=Python3", "-no-listener", "-no-visitor", "-o", str(folder.resolve()), "Lpn.g4"]
    subprocess.run(command, cwd=HERE, check=True)
    for extra in folder.glob("Lpn*.interp"):
        extra.unlink()
    for extra in folder.glob("Lpn*.tokens"):
        extra.unlink()


if __name__ == "__main__":
    if why := missing():
        sys.exit(f"cannot make the parser: {why}")
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
