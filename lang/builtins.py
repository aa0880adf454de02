"""The names that the language brings along."""
from __future__ import annotations

from .types import Bits, Bool, ErrorType, Type, Void

# Verdicts of a processor (values of `m.verdict`).
VERDICTS = {"ACCEPT": 0, "DROP": 1, "DELIVER": 2, "TRANSMIT": 3, "CONSUMED": 4}
VERDICT_TYPE = Bits(8)

# Results of radio.tx_done, by their numbers; and of radio.cca(), too.
TX_RESULTS = ("OK", "BUSY", "NOACK")
RADIO_RESULTS = {"CLEAR": 0, **{name: number for number, name in enumerate(TX_RESULTS)}}

# What a meter says of a packet (RFC 2697).
COLOURS = {"GREEN": 0, "YELLOW": 1, "RED": 2}

# What `put` and `hold` of a buffer say, in the order of enum lpn_put (runtime/engine/lpn.h).
PUT_RESULTS = {name: number for number, name in enumerate(
    ("STORED", "COMPLETE", "DUPLICATE", "FULL", "OVERLAP", "TOO_LONG", "MISMATCH", "MISALIGNED"))}

# Fields of `meta`; the last three are written by a processor.
META: dict[str, Type] = {
    "iface": Bits(8), "rssi": Bits(8), "lqi": Bits(8), "time": Bits(32),
    "verdict": VERDICT_TYPE, "port": Bits(16), "reason": ErrorType(),
}
META_WRITABLE = ("verdict", "port", "reason")

# Fields of the `frame` of a handler.
FRAME: dict[str, Type] = {"time": Bits(32), "rssi": Bits(8), "lqi": Bits(8), "length": Bits(16)}

# Fields of `node`.
NODE: dict[str, Type] = {"short": Bits(16), "ext": Bits(64), "pan": Bits(16), "clock": Bits(32)}

# Reasons for a drop that every program has, from number 1.
NO_ERROR = "NoError"                            # of number 0: what errors are at first, and no reason
REASONS = ("PacketTooShort", "NoMatch", "StackOutOfBounds", "PacketTooLong", "RecordMismatch")

PAYLOAD, NODE_NAME = "payload", "node"
NAMES = (*VERDICTS, *RADIO_RESULTS, *COLOURS, *PUT_RESULTS, PAYLOAD, NODE_NAME, "radio", "net")

# Methods by what stands before the dot: (number of arguments, result).
HEADER_METHODS: dict[str, tuple[int, Type]] = {
    "isValid": (0, Bool()), "setValid": (0, Void()), "setInvalid": (0, Void()), "holds": (0, Bool()),
}
STACK_METHODS: dict[str, tuple[int, Type]] = {"push_front": (1, Void()), "pop_front": (1, Void())}
# What stands behind `radio.` and `net.`: (parameters, result). `send` has parameters of its own, and gives OK or BUSY.
OUTSIDE: dict[str, tuple[tuple[Type, ...], Type]] = {
    "radio.on": ((), Void()), "radio.off": ((), Void()), "radio.cca": ((), Bits(8)),
    "radio.channel": ((Bits(8),), Void()), "radio.power": ((Bits(8, True),), Void()),
    "radio.send": ((), Bits(8)), "net.send": ((), Bits(8)),
}
SENDS = ("radio.send", "net.send")
