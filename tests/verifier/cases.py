"""Rule cases as text: one file per rule in rules/, each with programs that break it and near misses.

    === name
    profile: lpn | femto | xdp          (lpn if absent)
    class: group/name, ...              of classes.py
    sizes: rodata=8 record_size=16      keyword arguments of verify()
    options: max_steps=5                likewise; slots=9: jumps to the next instruction go ahead until the text has so many
    sections: text@64+16 data@80+8w     of the file that the text is from (rule 12): name, place, size, w if writable
    contexts: isr, radio                where the container runs (rule 31)
    helpers: 9=find:nullable:entry      a helper instead of the project's
    broken: 16                          the rule the message names, if it is not the file's
    expect: accept | the exact message
    example: the exact text             what could happen; absent: none is given
    path: 0 3 4                         slots of a way to it; absent: one block or none
    <assembly; `.half HEX` for bytes that are no whole instruction>
"""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from lpn.compiler.asm import assemble
from lpn.verifier import PROFILES, HelperSpec, Region, Report, Section, verify

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
        profile = PROFILES[self.headers.get("profile", "lpn")]
        words = self.headers.get("sizes", "").split() + self.headers.get("options", "").split()
        options = {k: int(v) for k, v in (w.split("=") for w in words)}
        if "contexts" in self.headers:
            profile = replace(profile, contexts=tuple(self.headers["contexts"].split(", ")))
        if "helpers" in self.headers:
            number, what = self.headers["helpers"].split("=")
            name, kind, *rest = what.split(":")
            ret = ("nullable", rest[0], 8) if kind == "nullable" else "u32"
            options["helpers"] = [HelperSpec(int(number), name, (), ret, changes_packet=kind == "changes_packet")]
            profile = replace(profile, regions={**profile.regions, "entry": Region(8)})
        if "sections" in self.headers:
            found = re.findall(r"(\w+)@(\d+)\+(\d+)(w?)", self.headers["sections"])
            options["sections"] = [Section(name, int(at), int(size), bool(w)) for name, at, size, w in found]
        if self.code.startswith(".half"):
            text = bytes.fromhex(self.code.split()[1])
        else:
            text = assemble(self.code)
        text = assemble("goto +0") * (options.pop("slots", 0) - len(text) // 8) + text
        return verify(text, profile, **options)


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
