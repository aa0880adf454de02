"""Helpers that reach beyond the node's memory, on a host that has no radio: what they are asked for is recorded."""
from __future__ import annotations

from collections.abc import Callable

from lpn.compiler.helpers import BY_NUMBER
from lpn.lang.outside import ASKS, SENDS, Answer, Effect, all_clear

from .engines import MAX_PACKET, OUT_SIZE

Octets = Callable[[], bytes]


class BadArgument(Exception):
    """What a helper was given is out of range: a bad helper argument."""


class Outside:
    """The effects of one run. `out` and `packet`: the output buffer and the packet as they are now."""

    def __init__(self, out: Octets, packet: Octets, timers: range) -> None:
        self.out, self.packet, self.timers = out, packet, timers
        self.answer: Answer = all_clear
        self.effects: list[Effect] = []

    def begin(self) -> None:
        self.effects = []

    def call(self, number: int, r: list[int]) -> int:
        """Does helper `number` with r1 to r5: records it, and returns r0. Raises BadArgument, or KeyError where there is no such helper."""
        name = BY_NUMBER[number].name
        given: tuple = ()
        if name == "timer_start":
            if r[0] not in self.timers or r[1] >> 31:
                raise BadArgument
            given = r[0], r[1]
        elif name == "radio_channel":
            given = (r[0] & 0xFFFF_FFFF,)
        elif name == "radio_power":
            given = ((r[0] & 0xFFFF_FFFF ^ 1 << 31) - (1 << 31),)
        elif name in SENDS:
            given = (self.frame(*r[:3]),)
        elif name not in ("radio_on", "radio_off", "radio_cca"):
            raise KeyError(name)
        answer = self.answer(name, len(self.effects)) & 0xFFFF_FFFF if name in ASKS else 0
        self.effects.append((name, *given, answer) if name in ASKS else (name, *given))
        return answer

    def frame(self, head: int, start: int, size: int) -> bytes:
        """out[0..head) ++ packet[start..start + size)."""
        packet = self.packet()
        if head > OUT_SIZE or start > len(packet) or size > len(packet) - start or head + size > MAX_PACKET:
            raise BadArgument
        return self.out()[:head] + packet[start:start + size]
