"""A capture's frames on their way through a program: runners, outcomes, totals."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import click

from lpn.lang import ast, tables as control
from lpn.lang.hooks import NoTaker, Occasion, called, name_of
from lpn.lang.instances import walk
from lpn.lang.types import HeaderType
from lpn.runtime import linktype as links
from lpn.runtime.capture import Frame, read
from lpn.runtime.engines import Externs, Result, get_engine

from ..build import Compiled
from ..bundle import Bundle
from ..forms import MOST, Level
from ..output import Failure, count, waiting
from ..runner import ENGINES, NO_CHAIN, LoadedRunner, Runner, make_runner
from .inputs import shown

hook_option = click.option("--hook", metavar="HOOK", help="Whose chain takes the frames, as net.tx.41 or app.tx.5683. Default: radio.rx_done.")

#: Reasons of frames that never reach the program, as on a node: its radio drops what has a wrong FCS, and what is not a
#: whole 802.15.4 frame (cut short by the sniffer, say) is none. Datagrams of a capture of them reach it as they are: programs take these, too.
FCS, NOT_FRAME = "Fcs", "NotFrame"
WORD = 0xFFFF_FFFF
FRAMES_OF = "std/ieee802154.lpn"


@dataclass(frozen=True)
class Outcome:
    """One frame and what each engine made of it, in the order asked for."""

    frame: Frame
    results: tuple[Result, ...]
    meta: Mapping[str, int] = field(default_factory=dict)
    reached: bool = True                        # the program saw it

    @property
    def result(self) -> Result:
        return self.results[0]

    @property
    def obstacle(self) -> str:
        """Why it did not reach the program."""
        return "" if self.reached else self.frame.note or "wrong frame check sequence"

    @property
    def agreed(self) -> bool:
        return len({meaning(r) for r in self.results}) == 1


def meaning(r: Result) -> tuple:
    """What engines must agree on; how many instructions it took is their own business."""
    return r.verdict, r.reason, r.port, r.out, r.effects, tuple(map(meaning, r.completed))


class BundleRunner(LoadedRunner):
    """A bundle as it is, without its program."""

    def __init__(self, name: str, bundle: Bundle, hook: int | None, externs: Externs | None = None):
        self.program = get_engine(name).load(bundle, externs=externs, hook=None if hook is None else bundle.hooks[hook])


def runner(name: str, program: ast.Program, given: control.Tables | None = None, compiled: Compiled | None = None,
           level: Level = MOST, hook: int | None = None, externs: Externs | None = None) -> Runner:
    """A program in an engine; the engine may have to be built first. `hook`: the number of the one whose chain runs; None: radio.rx_done."""
    known(name)
    with waiting(f"preparing engine {name}"):
        return make_runner(name, program, given, level=level, compiled=compiled, externs=externs, hook=hook)


def bundle_runner(name: str, bundle: Bundle, hook: int | None = None, externs: Externs | None = None) -> Runner:
    known(name)
    if name not in ("engine", "rbpf", "m3"):
        raise Failure(f"a bundle cannot run in engine {name}: give the program's source (.lpn)")
    with waiting(f"preparing engine {name}"):
        return BundleRunner(name, bundle, hook, externs)


def chosen(file: str, hook: str | None, program: ast.Program) -> int | None:
    """The number of the hook whose chain takes the frames; None: that of radio.rx_done."""
    return taken_by(file, hook, program.takers, bool(program.chain or not program.hooks))


def taken_by(file: str, hook: str | None, hooks: Mapping[int, Occasion], received: bool) -> int | None:
    """The same of hooks that take packets; `received`: there is one of radio.rx_done."""
    if hook is None:
        if not received:
            raise Failure(f"{shown(file)}: {NO_CHAIN}; " + (f"there is --hook {name_of(next(iter(hooks.values())))}" if hooks else "other hooks run with --events"), 1)
        return None
    try:
        return called(hooks, hook)
    except NoTaker as e:
        raise Failure(f"{shown(file)}: {e}") from None


def known(name: str) -> None:
    if name not in ENGINES:
        raise Failure(f"there is no engine {name!r}: there are {', '.join(ENGINES)} (lpnc engines)")


def outcomes(capture: str, runners: list[Runner], node: Mapping[str, int] | None = None, fcs: str = "auto",
             limit: int | None = None) -> Iterator[Outcome]:
    """Runs the capture's frames. `node`: what `check_meta` allows of node_*. Raises CaptureError where the file is damaged,
    after the frames in front of that."""
    for frame in read(capture, fcs):
        if limit is not None and frame.number > limit:
            return
        reason = NOT_FRAME if frame.note else FCS if frame.fcs_ok is False else None
        if reason is not None:
            yield Outcome(frame, (Result("DROP", reason, None, None, 0),) * len(runners), reached=False)
            continue
        at = frame.time_us & WORD
        meta = {"rssi": frame.rssi or 0, "lqi": frame.lqi or 0, "time": at, "clock": at, **(node or {})}
        yield Outcome(frame, tuple(r.run(frame.data, meta) for r in runners), meta)


def takes_frames(program: ast.Program | None) -> bool:
    """Whether the first header that the chain of radio.rx_done takes is that of an 802.15.4 frame, as the library has it. It need not be: such a chain may take datagrams."""
    parser = program.chain[0] if program is not None and program.chain else None
    start = next((state for state in parser.states if state.name == "start"), None) if isinstance(parser, ast.Parser) else None
    first = next((one for one in walk(start.statements if start is not None else []) if isinstance(one, ast.Call) and one.target == "extract"), None)
    type_ = first.args[0].type if first is not None else None
    return isinstance(type_, HeaderType) and type_.decl.name == "Mhr" and type_.decl.span.source.name == FRAMES_OF


@dataclass
class Totals:
    """Sums over outcomes. `received`: the frames go to the chain of radio.rx_done; `framed`: which begins with a frame's own header."""

    frames: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    insns: list[int] = field(default_factory=list)  # of the frames that reached the program, where counted
    cycles: list[tuple[int, int]] = field(default_factory=list)  # without and with wait states
    completed: Counter[str] = field(default_factory=Counter)    # verdicts on what buffers completed
    others: Counter[int] = field(default_factory=Counter)       # link types of records that are no 802.15.4 frames, of those dropped; `framed`: of all
    unsent: int = 0                             # TRANSMIT, and no deparser made a packet
    differing: int = 0
    received: bool = True
    framed: bool = False

    def add(self, outcome: Outcome) -> None:
        result = outcome.result
        self.frames += 1
        self.completed.update(one.verdict for one in result.completed)
        self.unsent += sum(one.verdict == "TRANSMIT" and one.out is None for one in (result, *result.completed))
        self.verdicts[result.verdict] += 1
        if (self.framed or result.verdict == "DROP") and outcome.frame.linktype != links.IEEE802154_NOFCS:
            self.others[outcome.frame.linktype] += 1
        if result.reason:
            self.reasons[result.reason] += 1
        if outcome.reached and result.insns is not None:
            self.insns.append(result.insns)
        if outcome.reached and result.cycles is not None:
            self.cycles.append((result.cycles, result.flash_cycles or 0))
        self.differing += not outcome.agreed

    def lines(self) -> list[str]:
        """Verdicts, reasons by count, instructions."""
        out = [f"{count(self.frames, 'frame')}: {amounts(self.verdicts) or 'none'}"]
        if self.unsent:
            out.append(f"not sent: {self.unsent:,} TRANSMIT, without a deparser there is no packet (target xdp: as it came)")
        if self.reasons:
            out.append(f"dropped: {amounts(self.reasons)}")
        if self.received and self.frames and self.others.total() == self.frames:
            kinds = ", ".join(links.name(linktype) for linktype in sorted(self.others))
            out.append(f"this capture has no 802.15.4 frames: what it has is of link type {kinds}")
        if self.completed:
            out.append(f"completed in buffers: {amounts(self.completed)}")
        if self.insns:
            out.append(f"eBPF instructions: {self.mean:.1f} a packet in {count(len(self.insns), 'packet')}, at most {max(self.insns):,}")
        if self.cycles:
            plain, waiting_ = zip(*self.cycles)
            out.append(f"Cortex-M3 cycles: {sum(plain) / len(plain):,.0f} a packet, at most {max(plain):,}; with the flash's "
                       f"wait states {sum(waiting_) / len(waiting_):,.0f}, at most {max(waiting_):,}")
        return out

    @property
    def mean(self) -> float:
        return sum(self.insns) / len(self.insns) if self.insns else 0.0


def amounts(counter: Counter[str]) -> str:
    """`129 NotData, 14 NotUdp`, most frequent first."""
    return ", ".join(f"{number:,} {name}" for name, number in sorted(counter.items(), key=lambda item: (-item[1], item[0])))
