"""Rule 12: how the parts of a container's file lie in it. The text must not be changed by anything, least of all by its own data."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .rules import Violation

TEXT, CODE = "text", "code"                           # all of what runs; what functions of it are taken from
READ_ONLY = {TEXT, CODE, "rodata", "certificate"}


@dataclass(frozen=True)
class Section:
    """A part of the file: octets `at` to `at + size`. `writable`: the file asks that the running container may change it."""
    name: str
    at: int
    size: int
    writable: bool = False

    def __str__(self) -> str:
        return f"{self.name} (bytes {self.at} to {self.at + self.size - 1})"


def check_sections(sections: Iterable[Section], text: bytes) -> None:
    """Raises Violation. Sections without bytes lie nowhere."""
    found = sorted((s for s in sections if s.size), key=lambda s: (s.at, s.size))
    for s in found:
        if s.writable and s.name in READ_ONLY:
            raise Violation(12, None, f"section {s} is writable", "mark it read-only",
                            "the container could change its own instructions after they were verified" if s.name in (TEXT, CODE) else
                            "constants that the proof relies on could change")
        if s.name == TEXT and s.size != len(text):
            raise Violation(12, None, f"section {s} has {s.size} bytes, the text that runs has {len(text)}", "load the whole section",
                            "a jump could lead to instructions that nobody verified")
    for before, after in zip(found, found[1:]):
        if before.at + before.size > after.at:
            raise Violation(12, None, f"sections {before} and {after} overlap", "lay one behind the other",
                            f"a store to byte {after.at} changes both")
