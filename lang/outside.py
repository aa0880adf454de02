"""What a program does beyond the node's memory, as every engine records it.

An effect is a tuple that begins with the helper's name, so that engines can be compared: ("radio_on",), ("radio_off",),
("radio_cca", answer), ("radio_channel", n), ("radio_power", dBm), ("radio_send", frame, answer), ("net_send", packet,
answer), ("timer_start", index of the hook, delay in us).
"""
from __future__ import annotations

from collections.abc import Callable

Effect = tuple
#: What the radio or the stack answers: (name of the helper, how many effects of the run came before) -> a number.
Answer = Callable[[str, int], int]

SENDS = ("radio_send", "net_send")
ASKS = ("radio_cca", *SENDS)


def all_clear(name: str, before: int) -> int:
    """The channel is clear, and what is sent is taken."""
    return 0
