"""What is on the air: transmissions, who hears them how loud, what is lost, what collides.

Whoever sends says so at least `LEAD` before the first symbol (the transceiver needs that long for its own), so boards may run
`LEAD` apart. A frame that is lost on a link is not found by that receiver, but its energy is there; two that overlap destroy
each other where neither is `CAPTURE` louder.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .clock import US
from .rf231_table import FLOOR, OCTET, TX_DELAY

if TYPE_CHECKING:
    from .rf231 import Rf231

LEAD = TX_DELAY * US            #: ticks
CAPTURE = 10                    #: dB
LEVEL = -50                     #: dBm at a receiver, unless a link says otherwise
FORGET = 20_000 * US            #: what ended so long ago is of no interest
MANY = 32


@dataclass
class Transmission:
    """`psdu`: with FCS. Times are ticks: the preamble's first symbol, the end of the last octet."""

    sender: Rf231 | None
    name: str
    channel: int
    psdu: bytes
    start: int
    octet: int = OCTET * US
    lost: set[int] = field(default_factory=set)     #: numbers of radios that do not find it
    cut: int | None = None                          #: when its sender gave up

    @property
    def end(self) -> int:
        return self.start + 6 * OCTET * US + len(self.psdu) * self.octet if self.cut is None else self.cut


@dataclass(frozen=True)
class Link:
    """`loss`: of frames, 0 to 1. `level`: dBm at the receiver; None: out of reach."""

    loss: float = 0.0
    level: int | None = LEVEL


class Air:
    """`links`: by (sender, receiver), numbers of radios. `told`: called with each transmission."""

    def __init__(self, seed: int = 0, loss: float = 0.0) -> None:
        self.random = random.Random(f"air {seed}")
        self.default = Link(loss)
        self.links: dict[tuple[int, int], Link] = {}
        self.radios: list[Rf231] = []
        self.told: list[Callable[[Transmission], None]] = []
        self._recent: list[Transmission] = []

    def join(self, radio: Rf231) -> int:
        self.radios.append(radio)
        return len(self.radios) - 1

    def link(self, sender: Rf231 | None, receiver: Rf231) -> Link:
        if sender is None:
            return self.default
        return self.links.get((sender.number, receiver.number), self.default)

    def send(self, transmission: Transmission) -> None:
        """Announce it; `start` is at least LEAD ahead."""
        t = transmission
        if len(self._recent) > MANY and self.radios:
            now = min(radio.host.now for radio in self.radios)
            self._recent = [old for old in self._recent if old.end + FORGET > now]
        self._recent.append(t)
        for radio in self.radios:
            if radio is t.sender:
                continue
            link = self.link(t.sender, radio)
            if link.level is None:
                continue
            if self.random.random() < link.loss:
                t.lost.add(radio.number)
            else:
                radio.host.at(t.start, lambda radio=radio, level=link.level: radio.hears(t, level))
        for told in self.told:
            told(t)

    def level(self, radio: Rf231, start: int, end: int, but: Transmission | None = None) -> int:
        """The loudest between these times on the radio's channel, dBm."""
        loudest = FLOOR
        for t in self._recent:
            if t is but or t.sender is radio or t.channel != radio.channel or t.end <= start or t.start >= end:
                continue
            level = self.link(t.sender, radio).level
            if level is not None:
                loudest = max(loudest, level)
        return loudest

    def intact(self, transmission: Transmission, radio: Rf231, level: int) -> bool:
        """Nothing else was nearly as loud at this receiver, and its sender did not give up."""
        t = transmission
        return t.cut is None and self.level(radio, t.start, t.end, but=t) < max(level - CAPTURE + 1, FLOOR + 1)
