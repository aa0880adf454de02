"""The events of a node, as data: where the hooks of each run, and what tells its occurrences apart.

A hook is one thing that a protocol runs: an event and the chain that it starts. `hooks_of` lists those of a program, in the
order that every engine and every bundle has them.
"""
from __future__ import annotations

from dataclasses import dataclass

from . import ast

#: Where hooks run: `isr` an interrupt, `radio` the radio driver's thread, `net` the network stack's thread.
CONTEXTS = ("isr", "radio", "net")

RX_DONE = "radio.rx_done"
MODULES = (ast.Parser, ast.Processor, ast.Deparser)


@dataclass(frozen=True)
class Event:
    """`selectors`: what numbers a hook may name to take only some occurrences; each of them, or none, or the first ones.
    `bound`: a protocol names it before a chain; what it does not name comes from a timing block or a buffer.
    `packet`: there are bytes to parse, else the packet is empty."""

    context: str
    selectors: tuple[str, ...] = ()
    bound: bool = True
    packet: bool = False


EVENTS: dict[str, Event] = {
    "radio.rx_start": Event("isr"),
    "radio.rx_done": Event("radio", packet=True),
    "radio.tx_start": Event("isr"),
    "radio.tx_done": Event("radio", ("result",)),
    "radio.ack_timeout": Event("radio"),
    "net.rx": Event("net", ("layer", "selector"), packet=True),
    "net.tx": Event("net", ("layer", "selector"), packet=True),
    "app.tx": Event("net", ("port",), packet=True),
    "every": Event("radio", bound=False),
    "after": Event("radio", bound=False),
    "slot": Event("radio", ("n", "m"), bound=False),
    "buffer.complete": Event("net", ("buffer",), bound=False, packet=True),
}

#: Events that a protocol can bind a chain to.
BOUND = tuple(name for name, event in EVENTS.items() if event.bound)

#: Events that start from a clock, again and again: they have a period.
PERIODIC = ("every", "slot")

SELECTOR_MAX = (1 << 32) - 1
TIME_MAX = (1 << 31) - 1                        # us; half of what a 32-bit clock counts, so that times can be compared


@dataclass
class Hook:
    """One entry of the manifest. Times in microseconds; `within` 0: no deadline."""

    event: str
    chain: list[ast.Decl]
    selector: tuple[int, ...] = ()
    context: str = "radio"
    within: int = 0
    period: int = 0
    offset: int = 0
    jitter: int = 0

    @property
    def timed(self) -> bool:
        """Whether it is a handler of a timing block: one container, that takes no part in a chain."""
        return bool(self.chain) and not isinstance(self.chain[0], MODULES)

    @property
    def name(self) -> str:
        """`radio.rx_done`, `net.rx.41.7`: what a fused container is called after."""
        return ".".join([self.event, *map(str, self.selector)])


def hooks_of(program: ast.Program) -> list[Hook]:
    """The hooks of the program's protocol; without one, its modules in order of declaration at `radio.rx_done`."""
    protocol = next((decl for decl in program.decls if isinstance(decl, ast.Protocol)), None)
    if protocol is None:
        modules = [decl for decl in program.decls if isinstance(decl, MODULES)]
        return [Hook(RX_DONE, modules)] if modules else []
    return [bound(binding) for binding in protocol.bindings if binding.event in BOUND and binding.modules]


def bound(binding: ast.Binding) -> Hook:
    return Hook(binding.event, list(binding.modules), tuple(int(arg.const or 0) for arg in binding.args),
                EVENTS[binding.event].context, number(binding.within))


def number(e: ast.Expr | None) -> int:
    """The value of a constant that may be left out."""
    return int(e.const or 0) if e is not None else 0
