"""What a container may rely on where it will run: the context's layout and the promises of the engine."""
from __future__ import annotations

from dataclasses import dataclass

from lpn.lang.builtins import VERDICTS as VERDICTS      # return value of a container: verdict | argument << 16

# The `lpn` context (docs/context.md): offset of each slot. Pointer slots are 64 bits wide on every host.
CTX_PKT, CTX_PKT_END, CTX_REC, CTX_STATE, CTX_OUT = 0, 8, 16, 24, 32
CTX_OUT_LEN, CTX_PAYLOAD, CTX_PORT, CTX_CUT = 40, 44, 48, 92
CTX_SIZE = 96

META_SLOTS = {"iface": (52, 8), "rssi": (56, 8), "lqi": (60, 8), "time": (64, 32)}
EVENT_SLOT = (88, 32)                           # of `radio.tx_done`: its result
NODE_SLOTS = {"short": (68, 16), "ext": (72, 64), "pan": (80, 16), "clock": (84, 32)}

OUT_SIZE = 256
WINDOW = 64
NEAR = 48                                       # of a parser that reads less far ahead (forms.py)
MAX_PACKET = 2048


@dataclass(frozen=True)
class Target:
    """`cpu`: LLVM's BPF processor; `window`: octets readable behind the packet's end; `small`: code is to be short rather than fast; `counts_turns`: a parser counts those
    of all its circles of states."""

    name: str
    cpu: str
    window: int
    small: bool = False
    counts_turns: bool = False

    @property
    def half_register(self) -> str:
        """The constraint of an opaque place that an i32 goes in and out of."""
        return "=r,0" if self.cpu == "v2" else "=w,0"


TARGETS = {
    "lpn": Target("lpn", "v3", WINDOW),
    "femto": Target("femto", "v2", WINDOW),
    "xdp": Target("xdp", "v3", 0),
}
