"""The events of a node, as data: where the hooks of each run, and what tells its occurrences apart.

A hook is one thing that a protocol runs: an event and the chain that it starts. `hooks_of` lists those of a program, in the
order that every engine and every bundle has them.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Protocol

from . import ast
from .builtins import TX_RESULTS
from .instances import is_headers
from .source import Span
from .types import Meta, Packet, StructType

#: Where hooks run: `isr` an interrupt, `radio` the radio driver's thread, `net` the network stack's thread.
CONTEXTS = ("isr", "radio", "net")

#: What waits, for the radio or for another thread, cannot stand in an interrupt.
THREADS = ("radio", "net")
#: Where an operation may run; what is not here may run anywhere. The helpers' table (compiler/helpers.py) reads it too.
ALLOWED: dict[str, tuple[str, ...]] = {
    "table": THREADS, "radio.on": THREADS, "radio.off": THREADS, "radio.cca": THREADS, "radio.channel": THREADS,
    "radio.power": THREADS, "radio.send": THREADS, "net.send": THREADS, "after": CONTEXTS,
    "buffer.put": THREADS, "buffer.hold": THREADS, "buffer.take": THREADS, "buffer.drop": THREADS,
}

RX_DONE, BUFFER_COMPLETE = "radio.rx_done", "buffer.complete"
LONGEST_FRAME = 127                             # IEEE 802.15.4, aMaxPhyPacketSize
MODULES = (ast.Parser, ast.Processor, ast.Deparser)


class Occasion(Protocol):
    """What a hook is for; those of a bundle are one, too."""

    event: str
    selector: Sequence[int]


@dataclass(frozen=True)
class Event:
    """`selectors`: what numbers a hook may name to take only some occurrences; each of them, or none, or the first ones.
    `bound`: a protocol names it before a chain; what it does not name comes from a timing block or a buffer.
    `packet`: there are bytes to parse, else the packet is empty; `longest`: octets, where the event says how many. `handled`: a timing block has handlers for it, which may
    name `gives`: "frame", with the members that are known, or "result". `outcomes`: what its one number stands for, if it is one of a few."""

    context: str
    selectors: tuple[str, ...] = ()
    bound: bool = True
    packet: bool = False
    handled: bool = False
    gives: str = ""
    members: tuple[str, ...] = ()
    longest: int | None = None
    outcomes: tuple[str, ...] = ()


EVENTS: dict[str, Event] = {
    "radio.rx_start": Event("isr", handled=True, gives="frame", members=("time",)),
    "radio.rx_done": Event("radio", packet=True, handled=True, gives="frame", members=("time", "rssi", "lqi", "length"),
                           longest=LONGEST_FRAME),
    "radio.tx_start": Event("isr", handled=True),
    "radio.tx_done": Event("radio", ("result",), handled=True, gives="result", outcomes=TX_RESULTS),
    "radio.ack_timeout": Event("radio", handled=True),
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

#: Events that a timing block has handlers for, beside those of a clock.
HANDLED = tuple(name for name, event in EVENTS.items() if event.handled)

#: Events that start from a clock, again and again: they have a period.
PERIODIC = ("every", "slot")

SELECTOR_MAX = (1 << 32) - 1
TIME_MAX = (1 << 31) - 1                        # us; half of what a 32-bit clock counts, so that times can be compared


class RadioPart(Flag):
    """The part that a module has in how long the radio is on, which a node asks for when another set of hooks takes over."""

    SWITCHES = auto()                           # it, or an `after` that it starts, switches the radio
    PROMISES = auto()                           # its timing block promises that the radio is off for some of the time
    QUIETS = auto()                             # the body of an `after`: each of its paths ends with the radio off


SLOT_US = 10_000                                # IEEE 802.15.4, TSCH: macTsTimeslotLength


@dataclass
class Hook:
    """One entry of the manifest. Times in microseconds; `within` 0: no deadline."""

    event: str
    chain: list[ast.Module]
    selector: tuple[int, ...] = ()
    context: str = "radio"
    within: int = 0
    period: int = 0
    offset: int = 0
    jitter: int = 0
    span: Span | None = None

    @property
    def timed(self) -> bool:
        """Whether it is a handler of a timing block: one container, that takes no part in a chain."""
        return bool(self.chain) and not isinstance(self.chain[0], MODULES)

    @property
    def name(self) -> str:
        """`radio.rx_done`, `net.rx.41.7`: what a fused container is called after."""
        return name_of(self)

    @property
    def parses(self) -> bool:
        """Whether it is a chain that an event brings octets to."""
        return not self.timed and EVENTS[self.event].packet


@dataclass(frozen=True)
class Promise:
    """An energy budget that holds. `promised` and `share`: of the time, in millionths, the share rounded up; `runs`: (hook,
    microseconds that one run of it keeps the radio on at most, with all that it starts)."""

    block: str
    promised: int
    share: int
    runs: list[tuple[Hook, int]]


def is_part(module: ast.Decl) -> bool:
    """Whether a module has parameters that only another module can give it: it cannot stand in a chain. A struct without
    fields is none: P4 programs without metadata of their own pass one."""
    return bool(not_given(module))


def not_given(module: ast.Decl) -> list[ast.Param]:
    """The parameters that a chain does not give."""
    def given(type_: object) -> bool:
        return isinstance(type_, (Packet, Meta)) or is_headers(type_) or isinstance(type_, StructType) and not type_.decl.fields

    return [param for param in getattr(module, "params", []) if param.type is not None and not given(param.type)]


def in_order(chain: list[ast.Module]) -> bool:
    """Whether modules can be a chain: a parser, then processors, then a deparser, each optional."""
    kinds = [type(module) for module in chain]
    return kinds == sorted(kinds, key=MODULES.index) and kinds.count(ast.Parser) <= 1 and kinds.count(ast.Deparser) <= 1      # type: ignore[arg-type]


def hooks_of(program: ast.Program) -> list[Hook]:
    """The hooks of the program's protocol: its chains, then the handlers of its timing blocks. Without a protocol, the
    modules in order of declaration are the chain of `radio.rx_done`, but for those that only another module can apply, and all timing blocks run."""
    protocol = next((decl for decl in program.decls if isinstance(decl, ast.Protocol)), None)
    if protocol is None:
        modules = [decl for decl in program.decls if isinstance(decl, MODULES) and decl not in program.applied and not is_part(decl)]
        blocks = [decl for decl in program.decls if isinstance(decl, ast.Timing)]
        chains = [Hook(RX_DONE, modules, span=modules[0].span)] if modules else []
    else:
        blocks = protocol.blocks
        chains = [bound(binding) for binding in protocol.bindings if binding.event in BOUND and binding.modules]
        chains += [completed(binding, program) for binding in protocol.bindings if binding.buffer is not None and binding.modules]
    return chains + [hook for block in blocks for hook in handlers_of(block)]


def handler_of(event: str, outcome: str = "") -> str:
    """How a handler of an event is written; of `outcome`, where the event has it, or its last one, where it has several."""
    gives, outcomes = EVENTS[event].gives, EVENTS[event].outcomes
    asked = outcome if outcome in outcomes else outcomes[-1] if outcomes else ""
    return f"on {event}{f'({gives})' if gives else ''} {{ {f'if ({gives} == {asked}) {{ ... }}' if asked else '...'} }}"


def name_of(hook: Occasion) -> str:
    """`net.tx.41`: the event with its numbers."""
    return ".".join([hook.event, *map(str, hook.selector)])


def wants(hook: Occasion, event: str, selector: Sequence[int]) -> bool:
    """Whether an occurrence of an event is one that the hook takes."""
    given = (*selector, 0, 0)
    return hook.event == event and tuple(hook.selector) == given[:len(hook.selector)]


def taker(hooks: Mapping[int, Occasion], event: str, selector: Sequence[int]) -> int | None:
    """The chain that takes the packet, by its number: of those that want the event, the one that names it most exactly."""
    found = [number for number, hook in hooks.items() if wants(hook, event, selector)]
    return max(found, key=lambda number: (len(hooks[number].selector), -number), default=None)


class NoTaker(Exception):
    """No chain takes a packet: what is wrong, and what there is."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}: {hint}" if hint else message)
        self.message, self.hint = message, hint


def called(hooks: Mapping[int, Occasion], name: str) -> int:
    """The number of the chain that takes a packet of an event which is called like `net.tx.41`, with its numbers behind it. Raises NoTaker."""
    event, selector = name, []
    while event not in EVENTS and (last := event.rpartition(".")[2]).isdecimal() and len(last) <= len(str(SELECTOR_MAX)):
        event = event.rpartition(".")[0]
        selector.insert(0, int(last))
    found = taker(hooks, event, selector)
    if found is None:
        names = [name_of(hook) for hook in hooks.values()]
        raise NoTaker(f"no chain takes {name!r}", f"chains take {', '.join(names)}" if names else "")
    known = EVENTS[event].selectors
    if len(selector) > len(known):
        raise NoTaker(f"{event} has {'no number' if not known else '1 number' if len(known) == 1 else f'{len(known)} numbers'}", ", ".join(known))
    return found


def bound(binding: ast.Binding) -> Hook:
    return Hook(binding.event, list(binding.modules), tuple(int(arg.const or 0) for arg in binding.args),
                EVENTS[binding.event].context, number(binding.within), span=binding.span)


def completed(binding: ast.Binding, program: ast.Program) -> Hook:
    """The chain of a buffer; where it runs is found when all chains are known."""
    from .buffers import buffers
    place = [decl for _, decl in buffers(program)].index(binding.buffer)
    return Hook(BUFFER_COMPLETE, list(binding.modules), (place,), "", number(binding.within), span=binding.span)


def handlers_of(block: ast.Timing) -> list[Hook]:
    """The block's handlers, then the bodies of their `after` blocks."""
    bodies = [after.handler for after in block.afters if after.handler is not None]
    return [handled(one) for one in [*block.handlers, *bodies]]


def handled(handler: ast.Handler) -> Hook:
    event = handler.event or handler.kind
    hook = Hook(event, [handler], (), EVENTS[event].context if event in EVENTS else "radio", number(handler.within), span=handler.span)
    if handler.kind == "every":
        hook.period, hook.jitter = number(handler.period), number(handler.jitter)
    elif handler.kind == "slot":
        hook.selector = number(handler.slot), number(handler.period)
        hook.period, hook.offset = hook.selector[1] * SLOT_US, hook.selector[0] * SLOT_US
    return hook


def longest(after: ast.After) -> int:
    """Microseconds that an `after` waits at most; what a run computes counts as this where it is more."""
    return number(after.delay if after.delay.const is not None else after.most) or TIME_MAX


def number(e: ast.Expr | None) -> int:
    """The value of a constant that may be left out."""
    return int(e.const or 0) if e is not None else 0
