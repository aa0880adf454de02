"""Small programs for tests of the node: as containers, and as what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Hook
from lpn.compiler.helpers import BY_NAME
from lpn.compiler.image import Flag, Image, Kind
from lpn.compiler.kept import Kept, KeptTable
from lpn.lang.hooks import RadioPart
from lpn.lang.persist import Plan, plan
from lpn.runtime.dispatch import Event, ModelDispatch, Outcome, hook_names
from lpn.runtime.engine.node_native import NativeDispatch
from lpn.runtime.engines import VERDICTS
from lpn.runtime.node import Node

STATE = 64
REASONS = ("none", "SHORT", "OTHER")

#: An operation: its name, then numbers. on, off, cca, channel n, power dbm, timer hook us, send n (octets of out), net n,
#: count cell, tail from n (radio.send of a part of the packet), trace a b, fault; verdict v arg (ends the program); promises, quiets: what its image says.
Op = tuple
SAID = "promises", "quiets"
#: What an interrupt may do.
IN_ISR = "count", "timer", "trace", "fault", "verdict", *SAID


def text(program: Sequence[Op]) -> str:
    """The container of a program; the context stays in r6."""
    lines = ["r6 = r1"]
    for op, *args in program:
        if op == "count":
            at = 4 * args[0]
            lines += ["r2 = *(u64 *)(r6 + 24)", f"w3 = *(u32 *)(r2 + {at})", "w3 += 1", f"*(u32 *)(r2 + {at}) = w3"]
        elif op in SAID:
            continue
        elif op == "fault":
            lines += ["r2 = 0", "r0 = *(u64 *)(r2 + 0)"]
        elif op == "verdict":
            lines += [f"w0 = {args[0] | args[1] << 16}", "exit"]
        else:
            name = {"timer": "timer_start", "send": "radio_send", "tail": "radio_send", "net": "net_send", "trace": "trace"}.get(op, f"radio_{op}")
            given = {"send": (*args, 0, 0), "net": (*args, 0, 0), "tail": (0, *args)}.get(op, args)
            lines += [f"r{i} = {value}" for i, value in enumerate(given, 1)] + [f"call {BY_NAME[name].number}"]
    return "\n".join([*lines, "w0 = 0", "exit"])


class Meaning:
    """The same programs, executed here. `state`: cells of 32 bits."""

    def __init__(self, programs: Sequence[Sequence[Op]]) -> None:
        self.programs = programs
        self.state = [0] * (STATE // 4)

    def run(self, hook: int, event: Event, clock: int, dispatch: ModelDispatch) -> Outcome:
        packet = event.packet or b""
        platform = dispatch.platform
        deparses = dispatch.hooks[hook].context != "isr" and not dispatch.timing[hook]
        for op, *args in self.programs[hook]:
            if op in SAID:
                continue
            if op == "verdict":
                verdict = VERDICTS[args[0]]
                reason = (REASONS[args[1]] if args[1] < len(REASONS) else f"reason {args[1]}") if verdict == "DROP" else None
                return Outcome(verdict, reason, args[1] if verdict == "DELIVER" else None, packet, rebuilt=deparses and verdict in ("ACCEPT", "TRANSMIT"))
            if op == "fault" or op == "tail" and sum(args) > len(packet):
                text = "load out of bounds" if op == "fault" else "bad helper argument"
                return Outcome("DROP", f"engine: {text}", packet=packet, fault=text)
            if op == "count":
                self.state[args[0]] += 1
            elif op == "timer":
                dispatch.start_timer(*args)
            elif op == "trace":
                platform.trace(*args)
            elif op in ("send", "net"):
                dispatch.send("radio" if op == "send" else "net", bytes(args[0]))
            elif op == "tail":
                dispatch.send("radio", packet[args[0]:sum(args)])
            else:
                platform.radio(op, (args[0] & 0xFFFFFFFF) if args else 0)
        return Outcome(packet=packet, rebuilt=deparses)


#: Cells 0 to 7 are persistent registers.
KEPT = KeptTable(tuple(Kept(f"cell{i}", "bit<32>", 4 * i, 4) for i in range(8)))


def bundle(hooks: Sequence[Hook], programs: Sequence[Sequence[Op]], version: int = 1, state_hash: int = 2, kept: KeptTable = KEPT) -> Bundle:
    """Hook i's chain is a container of its own that runs program i; `T...` names handlers of a timing block,
    other names deparsers that emit no header, in an interrupt, which sends nothing, processors."""
    images = [Image(hook.chain[0], kind(hook), assemble(text(program)), record_size=16,
                    state_size=STATE, record_hash=1, state_hash=state_hash, flags=Flag.of_radio(part(program))) for hook, program in zip(hooks, programs, strict=True)]
    return Bundle("p", version, tuple(images), tuple(hooks), record_size=16, state_size=STATE, record_hash=1, state_hash=state_hash,
                  reasons=REASONS, kept=kept)


def kind(hook: Hook) -> Kind:
    return Kind.TIMING if timing(hook.chain[0]) else Kind.PROCESSOR if hook.context == "isr" else Kind.DEPARSER


def timing(name: str) -> bool:
    return name.startswith("T")


def part(program: Sequence[Op]) -> RadioPart:
    """What is said of it; of "promises" and "quiets" it says so itself."""
    ops = {op for op, *_ in program}
    said = {"on": RadioPart.SWITCHES, "off": RadioPart.SWITCHES, "promises": RadioPart.PROMISES, "quiets": RadioPart.QUIETS}
    return reduce(or_, (its for op, its in said.items() if op in ops), RadioPart(0))


def roles(hooks: Sequence[Hook], programs: Sequence[Sequence[Op]]) -> tuple[list[bool], list[RadioPart], list[str]]:
    """What a model is told of hooks: which are handlers of a timing block, the part of each in how long the radio is on, and their names."""
    return [timing(h.chain[0]) for h in hooks], [part(program) for program in programs], hook_names(hooks, timing)


class Watched(Node):
    """A node that remembers all that was asked of its timer."""

    def __init__(self, *args, **options) -> None:
        self.alarms: list[int | None] = []
        super().__init__(*args, **options)

    def set_timer(self, at: int | None) -> None:
        self.alarms.append(at)
        super().set_timer(at)


def native(hooks: Sequence[Hook], programs: Sequence[Sequence[Op]], **options) -> Watched:
    """The programs on the C node."""
    return Watched(lambda platform: NativeDispatch(bundle(hooks, programs), platform), **options)


def model(hooks: Sequence[Hook], programs: Sequence[Sequence[Op]], **options) -> Watched:
    """The programs on the node's second writing."""
    return Watched(lambda platform: ModelDispatch(hooks, *roles(hooks, programs), Meaning(programs), platform), **options)


def swapped(node: Node, hooks: Sequence[Hook], programs: Sequence[Sequence[Op]]) -> Plan:
    """Others take their place, on either."""
    if isinstance(node.dispatch, ModelDispatch):
        meaning = Meaning(programs)
        meaning.state[:8] = node.dispatch.executor.state[:8]
        node.dispatch.swap(hooks, *roles(hooks, programs), meaning)
        return plan(KEPT.layout(), 1, KEPT.layout(), 1, [])
    return node.dispatch.swap(bundle(hooks, programs))


def cells(node: Node) -> list[int]:
    """The state."""
    if isinstance(node.dispatch, ModelDispatch):
        return node.dispatch.executor.state
    raw = node.dispatch.state()
    return [int.from_bytes(raw[i:i + 4], "little") for i in range(0, STATE, 4)]
