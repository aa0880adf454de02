"""Small containers for tests of the node, assembled by hand."""

from __future__ import annotations

from collections.abc import Sequence

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Hook
from lpn.compiler.image import Image, Kind

STATE = 64
ACCEPT = "w0 = 0\nexit"


def image(name: str, text: str, kind: Kind = Kind.TIMING, **more) -> Image:
    return Image(name, kind, assemble(text), record_size=16, state_size=STATE, record_hash=1, state_hash=2, **more)


def bundle(hooks: Sequence[Hook], images: Sequence[Image], **more) -> Bundle:
    return Bundle("p", 1, tuple(images), tuple(hooks), record_size=16, state_size=STATE, record_hash=1, state_hash=2,
                  reasons=("none", "SHORT", "OTHER"), **more)


def call(number: int, *args: int) -> str:
    return "".join(f"r{i} = {value}\n" for i, value in enumerate(args, 1)) + f"call {number}\n"


def count(cell: int) -> str:
    """state[cell] += 1, 32 bits; r1 must be the context and is kept."""
    return f"r2 = *(u64 *)(r1 + 24)\nw3 = *(u32 *)(r2 + {4 * cell})\nw3 += 1\n*(u32 *)(r2 + {4 * cell}) = w3\n"


TIMER, ON, OFF, CCA, CHANNEL, POWER, SEND, NET = 4, 5, 6, 7, 8, 9, 10, 11
