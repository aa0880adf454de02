"""Nodes on a virtual clock for tests: the same events for the C node and the reference's, and what their time lines have."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lpn.lang import ast, tables as control
from lpn.lang.types import Bits
from lpn.runtime.engine.node_native import NativeDispatch
from lpn.runtime.engines import Externs, Result
from lpn.runtime.events import Script
from lpn.runtime.node import Costs, Node, native_node
from lpn.runtime.node_reference import ReferenceDispatch, ReferenceExecutor, reference_node
from lpn.runtime.radio import Radio
from lpn.runtime.timeline import Overrun, Ran, Received, Record, Sent, clock, length, meaning, row, shown

from ..build import Compiled
from ..runner import Cells, compiled_cells, reference_cells
from . import model
from .match import pattern_text

NODES = ("engine", "reference")                 # the engines that run nodes


def live(program: ast.Program, compiled: Compiled | None, script: Script, engines: Iterable[str], given: control.Tables | None = None,
         address: Mapping[str, int] | None = None, externs: Externs | None = None) -> dict[str, Node]:
    """A node for each engine, behind the script's last event. Instructions take no time, as only one engine counts them.
    `address`: node_short, ...; they count more than the script's. Raises NodeError, EngineError."""
    own = {**script.node, **{key: value for key, value in (address or {}).items() if key.startswith("node_")}}
    out = {}
    for name in engines:
        options: dict[str, Any] = {"radio": Radio(script.radio_on), "costs": Costs(0), "start": script.clock}
        if name == "reference":
            node = reference_node(program, given, own, externs, **options)
        else:
            assert compiled is not None
            node = native_node(compiled.bundle, own, state=compiled.initial_state(given), entries=compiled.entries(given),
                               externs=externs, **options)
        script.apply(node)
        node.run(script.until)
        out[name] = node
    return out


def difference(nodes: Mapping[str, Node]) -> tuple[int, dict[str, str]] | None:
    """The number of the first record in which nodes differ, from 1, and what the two have there."""
    (first, one), *others = nodes.items()
    mine = one.sorted_records()
    for name, other in others:
        theirs = other.sorted_records()
        for at in range(max(len(mine), len(theirs))):
            pair = [records[at] if at < len(records) else None for records in (mine, theirs)]
            if pair[0] is None or pair[1] is None or meaning(pair[0]) != meaning(pair[1]):
                return at + 1, {engine: "nothing more" if each is None else "  ".join(row(each)) for engine, each in zip((first, name), pair)}
    return None


def cells_of(node: Node, compiled: Compiled | None) -> Cells:
    """A node's state in the end."""
    if isinstance(node.dispatch, ReferenceDispatch):
        assert isinstance(node.dispatch.executor, ReferenceExecutor)
        return reference_cells(node.dispatch.executor.state)
    assert isinstance(node.dispatch, NativeDispatch) and compiled is not None
    return compiled_cells(compiled, node.dispatch.state())


# ---------------------------------------------------------------- what is expected of a time line, or of one packet

@dataclass(kw_only=True)
class Passed(Record):
    """A packet that a run gave to the network stack."""

    frame: bytes


def records(node: Node) -> list[Record]:
    """The time line; behind a run what it gave to the network stack, each packet a record of its own."""
    out: list[Record] = []
    for each in node.sorted_records():
        out.append(each)
        if isinstance(each, Ran):
            out += [Passed(number=each.number, time=one.time, cause=each.number, frame=one.frame or b"")
                    for one in each.effects if one.what == "net.send" and not one.detail]
    return out


def line(record: Record) -> str:
    if isinstance(record, Passed):
        return f"{clock(record.time)}    net.send  {shown(record.frame)}"
    return "  ".join(row(record)).rstrip()


def given(what: str, result: Result) -> list[bytes]:
    """What the run of one packet, and the chains that buffers started behind it, gave to the radio (`sent`) or to the network stack (`net.sent`)."""
    out = []
    for each in (result, *result.completed):
        out += [effect[1] for effect in each.effects if effect[0] == {"sent": "radio_send", "net.sent": "net_send"}[what]]
        if what == "sent" and each.verdict == "TRANSMIT" and each.out is not None:
            out.append(each.out)
    return out


def of_kind(step: model.ExpectRecord, record: Record) -> bool:
    """Whether a record is of the kind that is expected, whenever it was and whatever frame it has."""
    if isinstance(record, Ran):
        return step.what == "run" and record.hook == step.name and step.word in ("", record.verdict)
    if isinstance(record, Overrun):
        return step.what == "overrun" and record.hook == step.name
    if isinstance(record, Sent):
        return step.what == "sent" and step.word in ("", record.result)
    if isinstance(record, Passed):
        return step.what == "net.sent"
    return isinstance(record, Received) and step.what == record.fate


def told(step: model.ExpectRecord) -> str:
    """`a run of Heart.every_125ms at 125 ms to 126 ms, 3 times`."""
    what = {"run": f"a run of {step.name}", "overrun": f"an overrun of {step.name}", "sent": "a frame sent",
            "net.sent": "a packet given to the network stack"}.get(step.what, f"a frame {step.what}")
    at = "" if step.at is None else f" at {length(step.at[0])}" + (f" to {length(step.at[1])}" if step.at[1] > step.at[0] else "")
    often = ""
    if step.times is not None:
        many = pattern_text(step.times, Bits(64, True))
        often = ", never" if not step.times.value and not step.times.high else ", once" if many == "1" else f", {many} times"
    return f"{what}{' ' + step.word if step.word else ''}{' as written' if step.packet else ''}{at}{often}"
