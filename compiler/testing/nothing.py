"""What is said where no valid packet is found."""
from __future__ import annotations

from lpn.compiler.generate.refused import Refusal, most_of

ENOUGH = 45                                     # packets, none of which is taken: with 50 Hypothesis gives up, and cannot say why


class NothingValid(Exception):
    """The parser takes none of the packets that were drawn along it."""


class Judged:
    """Packets that were drawn as valid ones for a program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.taken = False
        self.refused: list[Refusal] = []

    def refuse(self, one: Refusal) -> None:
        """Raises NothingValid if that is so of all, and these are many."""
        self.refused.append(one)
        if not self.taken and len(self.refused) >= ENOUGH:
            raise NothingValid("\n  ".join([f"{self.name}: its parser takes none of {ENOUGH} packets that were drawn along it. Refused were",
                                            *most_of(self.refused[:ENOUGH])]))
