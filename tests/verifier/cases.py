"""Rule cases as text: one file per rule in rules/, each with programs that break it and near misses.

    === name
    profile: lpn | femto | xdp          (lpn if absent)
    class: group/name, ...              of classes.py
    sizes: rodata=8 record_size=16      keyword arguments of verify()
    options: max_steps=5                likewise; packet_write=0: the packet is read-only; slots=9: jumps to the next instruction go ahead until the text has so many
    sections: text@64+16 data@80+8w     of the file that the text is from (rule 12): name, place, size, w if writable
    contexts: isr, radio                where the container runs (rule 31)
    helpers: 9=find:nullable:entry      a helper instead of the project's; or changes_packet, or region:NAME for what it takes
    broken: 16                          the rule the message names, if it is not the file's
    expect: accept | the exact message
    example: the exact text             what could happen; absent: none is given
    path: 0 3 4                         slots of a way to it; absent: one block or none
    <assembly; `.half HEX` for bytes that are no whole instruction>
"""
from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lpn.compiler.asm import assemble
from lpn import verifier
from lpn.verifier import PROFILES, HelperSpec, Region, Report, Section, Violation, verify
from lpn.verifier.descriptors import ContextDescriptor
from lpn.verifier.memory import Memory

HEADERS = ("profile", "class", "sizes", "options", "sections", "contexts", "helpers", "broken", "expect", "example", "path")


@dataclass
class Case:
    rule: int
    name: str
    headers: dict[str, str]
    code: str
    expect: str

    @property
    def classes(self) -> list[str]:
        return [c for c in self.headers.get("class", "").split(", ") if c]

    def run(self) -> Report:
        text, profile, options = self.judged()
        return verify(text, profile, **options)

    def judged(self) -> tuple[bytes, ContextDescriptor, dict[str, Any]]:
        """What is judged: text, profile, keyword arguments of verify()."""
        profile = PROFILES[self.headers.get("profile", "lpn")]
        words = self.headers.get("sizes", "").split() + self.headers.get("options", "").split()
        options: dict[str, Any] = {k: int(v) for k, v in (w.split("=") for w in words)}
        if "contexts" in self.headers:
            profile = replace(profile, contexts=tuple(self.headers["contexts"].split(", ")))
        if not options.pop("packet_write", 1):
            profile = replace(profile, packet_write=False)
        if "helpers" in self.headers:
            number, what = self.headers["helpers"].split("=")
            name, kind, *rest = what.split(":")
            args = (("region", rest[0]),) if kind == "region" else ()
            ret = ("nullable", rest[0], 8) if kind == "nullable" else "u32"
            options["helpers"] = [HelperSpec(int(number), name, args, ret, changes_packet=kind == "changes_packet")]
            profile = replace(profile, regions={**profile.regions, "entry": Region(8)})
        if "sections" in self.headers:
            found = re.findall(r"(\w+)@(\d+)\+(\d+)(w?)", self.headers["sections"])
            options["sections"] = [Section(name, int(at), int(size), bool(w)) for name, at, size, w in found]
        if self.code.startswith(".half"):
            text = bytes.fromhex(self.code.split()[1])
        else:
            text = assemble(self.code)
        text = assemble("goto +0") * (options.pop("slots", 0) - len(text) // 8) + text
        return text, profile, options


def read(path: Path) -> list[Case]:
    rule, out = int(path.name.split("-")[0]), []
    for block in path.read_text().split("\n=== ")[1:]:
        name, *lines = block.splitlines()
        headers = {}
        while lines and lines[0].split(":")[0] in HEADERS:
            key, value = lines.pop(0).split(":", 1)
            headers[key] = value.strip()
        out.append(Case(rule, name, headers, "\n".join(lines).strip(), headers.pop("expect")))
    return out


def all_cases() -> list[Case]:
    return [case for path in sorted(Path(__file__).parent.joinpath("rules").glob("*.txt")) for case in read(path)]


# Messages ------------------------------------------------------------------------------------------
def sites() -> set[tuple[str, int]]:
    """Every place of the verifier that says a rule is broken: (file, line of the call)."""
    out = set()
    for path in Path(verifier.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and (getattr(node.func, "id", "") == "Violation" or getattr(node.func, "attr", "") == "fail"):
                out.add((path.name, node.lineno))
    return out


@contextmanager
def reached() -> Iterator[set[tuple[str, int]]]:
    """The places among them from which violations came in the meantime, at once or where a value that breaks a rule was read later."""
    out: set[tuple[str, int]] = set()
    told: dict[str, tuple[str, int]] = {}             # by what was said of the value
    made, fail = Violation.__init__, Memory.fail

    def told_of(self, rule, slot, detail, *more):
        frame = sys._getframe(1)
        told.setdefault(detail, (Path(frame.f_code.co_filename).name, frame.f_lineno))
        fail(self, rule, slot, detail, *more)

    def noted(self, *args, **more):
        frame = sys._getframe(1)
        out.update({told[args[2]]} if args[2] in told else ())
        while frame.f_code.co_name in ("fail", "told_of", "noted"):
            out.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
            frame = frame.f_back
        out.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
        made(self, *args, **more)
    Violation.__init__, Memory.fail = noted, told_of
    try:
        yield out
    finally:
        Violation.__init__, Memory.fail = made, fail
