"""The parts of a bundle, and how large it may be (what a node has room for: lpn.lang.limits)."""

from __future__ import annotations

from dataclasses import dataclass

from .target import WINDOW

MAX_BUNDLE = 8 << 20
MILLION = 1_000_000
MAX_CHAIN = 8               #: LPN_MAX_CHAIN
MATCH_KINDS = ("exact", "lpm", "ternary", "range")


class BundleError(ValueError):
    """A bundle that is refused. `path` names the field."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


@dataclass(frozen=True)
class KeyField:
    """One field of a table's key."""

    width_bits: int
    kind: str               #: one of MATCH_KINDS

    @property
    def bytes(self) -> int:
        """Bytes in the key, big-endian, upper bits 0."""
        return (self.width_bits + 7) // 8


@dataclass(frozen=True)
class Entry:
    """One table entry. `match` has per key field: exact (value,), lpm (value, prefix length), ternary
    (value, mask), range (low, high). `priority`: lower is tried first; of no meaning in exact and lpm tables."""

    match: tuple[tuple[int, ...], ...]
    action: int             #: 1 or more
    data: bytes = b""       #: action_data_bytes bytes
    priority: int = 0


@dataclass(frozen=True)
class Param:
    """A parameter of a table's action and where its value lies in the action data."""

    name: str
    offset: int
    width_bits: int
    order: str = "little"   #: byte order of the value: little or big


@dataclass(frozen=True)
class Action:
    """An action a table's entries may name; its number is 1 + its place in the table's list."""

    name: str
    params: tuple[Param, ...] = ()


@dataclass(frozen=True)
class Table:
    """A match-action table; helper `lookup` knows it by `index`."""

    name: str
    index: int
    key: tuple[KeyField, ...]
    action_data_bytes: int
    size: int
    entries: tuple[Entry, ...] = ()
    actions: tuple[Action, ...] = ()
    constant: bool = False                  #: it has these entries and never others


@dataclass(frozen=True)
class Hook:
    """Something that runs: an event, and the chain of modules that it starts. Times in microseconds.

    `selector`: numbers an occurrence of the event begins with (layer, port, ...); fewer than it has take more occurrences.
    `within`: the deadline, 0: none. `period`, `offset`, `jitter`: when the clock starts it; 0 for other events."""

    event: str                          #: one of lang/hooks.py EVENTS
    chain: tuple[str, ...]              #: names of modules, in order
    context: str = "radio"              #: one of CONTEXTS
    selector: tuple[int, ...] = ()
    within: int = 0
    period: int = 0
    offset: int = 0
    jitter: int = 0


@dataclass(frozen=True)
class Extern:
    """A function of the node's own that the program calls as helper FIRST_OWN + its place in the list. Widths in bits; result 0: none.
    cost: cycles on the Cortex-M3."""

    name: str
    params: tuple[int, ...]
    result: int
    cost: int
    contexts: tuple[str, ...]


def in_words(n: int) -> int:
    """So many bytes in whole words of 8."""
    return n + 7 & ~7


@dataclass(frozen=True)
class Buffer:
    """Bytes that are kept across packets; helpers know it by its place in the list. size: octets of an entry; key: bits of each
    value; timeout: microseconds, 0: none."""

    name: str
    size: int
    entries: int
    key: tuple[int, ...]
    timeout: int = 0

    @property
    def key_bytes(self) -> int:
        return sum((width + 7) // 8 for width in self.key)

    # In a node's memory (runtime/engine/buffers.c) an entry is a head, the key, two maps with a bit for 8 octets, the content and the window
    # behind it, each in whole words of 8 bytes.
    HEAD = 16

    @property
    def map_bytes(self) -> int:
        return in_words((self.size + 7) // 8 // 8 + 1)

    @property
    def memory_bytes(self) -> int:
        """Of all its entries."""
        return self.entries * (self.HEAD + in_words(self.key_bytes) + 2 * self.map_bytes + in_words(self.size) + WINDOW)


@dataclass(frozen=True)
class Energy:
    """An energy budget, and what was found. `promised` and `share` of the time in millionths; `runs`: (index of a hook,
    microseconds that one run of it keeps the radio on at most, with all that it starts)."""

    block: str
    promised: int
    share: int
    runs: tuple[tuple[int, int], ...] = ()
