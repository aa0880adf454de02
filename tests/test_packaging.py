"""setup.cfg lists every package, and every file a package reads is shipped with it."""

from __future__ import annotations

import configparser
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("lang", "compiler", "verifier", "runtime", "stdlib")


def config() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def folders_with_python() -> set[Path]:
    return {path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "target" not in path.parts}


def named(folder: Path) -> str:
    """The package that a folder is: as `package_dir` says, or by its path."""
    lines = config()["options"]["package_dir"].strip().splitlines()
    given = {path.strip(): name.strip() for name, path in (line.split("=") for line in lines)}
    path = folder.relative_to(ROOT)
    return given.get(str(path)) or "lpn." + ".".join(path.parts)


def test_every_folder_with_python_is_a_listed_package():
    listed = set(config()["options"]["packages"].split())
    found = {named(folder) for folder in folders_with_python()}
    assert listed == found
    assert all((folder / "__init__.py").is_file() for folder in folders_with_python())


def test_every_source_that_is_not_python_is_package_data():
    data = {name: patterns.replace(",", " ").split() for name, patterns in config()["options.package_data"].items()}
    for folder in folders_with_python():
        name = named(folder)
        for file in folder.iterdir():
            if file.suffix in {".lpn", ".c", ".h", ".g4", ".toml", ".rs", ".json"}:
                assert any(fnmatch(file.name, pattern) for pattern in data.get(name, [])), f"{file} is not shipped"
