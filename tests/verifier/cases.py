"""Rule cases as text: one file per rule in rules/, each with programs that break it and near misses.

    === name
    profile: lpn | femto | xdp          (lpn if absent)
    sizes: rodata=8 record_size=16      keyword arguments of verify()
    options: max_steps=5                likewise
    contexts: isr, radio                where the container runs (rule 31)
    helpers: 9=find:nullable:entry      a helper instead of the project's
    broken: 16                          the rule the message names, if it is not the file's
    expect: accept | the exact message
    <assembly; `.half HEX` for bytes that are no whole instruction>
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from lpn.compiler.asm import assemble
from lpn.verifier import PROFILES, HelperSpec, Region, Report, verify

HEADERS = ("profile", "sizes", "options", "contexts", "helpers", "broken", "expect")


@dataclass
class Case:
    rule: int
    name: str
    headers: dict[str, str]
    code: str
    expect: str

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
        if self.code.startswith(".half"):
            text = bytes.fromhex(self.code.split()[1])
        else:
            text = assemble(self.code)
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
