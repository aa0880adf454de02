"""When modules run: handlers, timing blocks, the protocol; and the whole program."""
from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Optional, Union

from .declarations import Decl, ErrorDecl, Import, Param, Struct, StructField
from .expressions import Expr, Node
from .modules import Deparser, Parser, Processor
from .objects import BufferDecl
from .statements import After, Block

if TYPE_CHECKING:
    from ..hooks import Hook, Promise
    from ..source import Span


@dataclass(eq=False)
class Handler(Node):
    """`every T jitter J within D {...}`, `on radio.rx_start(frame) within D {...}`, `slot n of m {...}` (period: m), and the body
    of an `after` (period None). name (checked): of handler_names.py."""

    kind: str                                   # every, on, slot, after
    event: Optional[str]
    params: list[Param]                         # their types are the event's (checked)
    period: Optional[Expr]
    jitter: Optional[Expr]
    within: Optional[Expr]
    body: Block
    slot: Optional[Expr] = None
    name: str = ""
    block: Optional["Timing"] = None            # checked


@dataclass(eq=False)
class EnergyBudget(Node):
    """`radio.on <= 9 %;` digits: those behind the point, as in `0.5 %`; percent: the sign is there."""

    name: str
    op: str
    limit: Expr
    digits: str = ""
    percent: bool = False

    @property
    def share(self) -> Fraction:
        """What is promised at most, of the time; the limit is checked."""
        return Fraction(self.text) / 100

    @property
    def text(self) -> str:
        """The percentage."""
        return f"{self.limit.const or 0}" + (f".{self.digits}" if self.digits else "")


@dataclass(eq=False)
class Timing(Decl):
    """afters (checked): the `after` blocks of its handlers, in the order in which they are written."""

    locals: list[Node]
    handlers: list[Handler]
    energy: list[EnergyBudget]
    afters: list[After] = field(default_factory=list)


@dataclass(eq=False)
class Binding(Node):
    """`on radio.rx_done : Rx -> Forward -> Tx within 4 ms;`"""

    event: str
    args: list[Expr]
    chain: list[str]
    chain_spans: list[Span]
    within: Optional[Expr]
    modules: list[Decl] = field(default_factory=list)      # checked
    buffer: Optional[BufferDecl] = None                    # checked: of `on NAME.complete`


@dataclass(eq=False)
class Protocol(Decl):
    version: Optional[Expr]
    bindings: list[Binding]
    timing: list[str]
    timing_spans: list[Span]
    blocks: list[Timing] = field(default_factory=list)     # checked


Module = Union[Parser, Processor, Deparser, Handler]        # what becomes a container


@dataclass(eq=False)
class Program(Node):
    """One compilation unit with everything it imports, in dependency order. `main`: the declarations of the given file."""

    imports: list[Import]
    decls: list[Union[Decl, ErrorDecl]]
    sources: list = field(default_factory=list)
    main: list[Union[Decl, ErrorDecl]] = field(default_factory=list)
    # checked:
    headers_struct: Optional[Struct] = None     # the `headers` struct the modules share
    hooks: list["Hook"] = field(default_factory=list)      # what runs, and when: hooks.py
    applied: list[Decl] = field(default_factory=list)      # modules that others apply
    promises: list["Promise"] = field(default_factory=list)     # energy budgets that hold
    reasons: list[str] = field(default_factory=list)       # drop reasons by number; [0] is "" (none)
    summed: set = field(default_factory=set)               # ((StructField, index), (the same)): the second may follow the first, which sums it
    unseen: set[StructField] = field(default_factory=set)  # headers that may be invalid where one is valid that looks at them
    warnings: list = field(default_factory=list)           # diagnostics that did not stop the checker

    @property
    def chain(self) -> list[Module]:
        """The modules that a received frame takes, in order: the chain of `radio.rx_done`."""
        return next((hook.chain for hook in self.hooks if hook.event == "radio.rx_done" and not hook.timed), [])

    def chain_of(self, hook: Optional["Hook"]) -> list[Module]:
        """The modules of a hook's chain; None: of `radio.rx_done`."""
        return self.chain if hook is None else hook.chain

    def hook(self, number: Optional[int]) -> Optional["Hook"]:
        """The hook of that number; None stands for that of `radio.rx_done`, whether it has one or not."""
        return None if number is None else self.hooks[number]

    @property
    def takers(self) -> dict[int, "Hook"]:
        """By their numbers, the hooks that give packets to a chain."""
        return {number: hook for number, hook in enumerate(self.hooks) if hook.parses}

    @property
    def modules(self) -> list[Module]:
        """The modules of all hooks, each once, in the order in which hooks name them."""
        return list(dict.fromkeys(module for hook in self.hooks for module in hook.chain))

    def reason_number(self, name: str) -> int:
        """The number of a drop reason."""
        return self.reasons.index(name)
