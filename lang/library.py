"""The standard library's modules, and where they declare a name: for messages about names that no import brings."""
from __future__ import annotations

import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

DECLARED = re.compile(r"(?:persistent\s+)?(header|struct|enum|typedef|codec|const|function|register|action|timing)\b[^;={(]*?\b(\w+)(?:\[\w+\])?\s*(?:\(|\{|=|;|<->)")
ERRORS = re.compile(r"error\s*\{([^}]*)\}")
TYPES = ("header", "struct", "enum", "typedef")


def modules() -> dict[str, Traversable]:
    """By name: the file of each, in their order."""
    files = {file.name.removesuffix(".lpn"): file for file in resources.files("lpn.stdlib").iterdir() if file.name.endswith(".lpn")}
    return dict(sorted(files.items()))


@cache
def declared() -> dict[str, tuple[str, str]]:
    """By name: the kind of its declaration, and the module that has it."""
    found: dict[str, tuple[str, str]] = {}
    for module, file in modules().items():
        for line in file.read_text(encoding="utf-8").splitlines():
            if one := DECLARED.match(line):
                found.setdefault(one[2], (one[1], module))
    return found


@cache
def errors() -> dict[str, str]:
    """By name: the module that has an error."""
    return {name.strip(): module for module, file in modules().items() for line in file.read_text(encoding="utf-8").splitlines()
            if (one := ERRORS.match(line)) for name in one[1].split(",")}


def imported_by(name: str, *kinds: str) -> str:
    """The import that brings a declaration of one of these kinds (without any: of any); "" where the library has none."""
    kind, module = declared().get(name, ("", ""))
    return f"add import std.{module};" if kind and (not kinds or kind in kinds) else ""
