"""Fuzzing what happens over time: another version of a program takes over between two packets; timed events reach a node.

Versions are compared in the reference interpreter and the engines, nodes in Python with the reference and in C.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lpn.lang import ast, tables as control
from lpn.runtime.engines import EngineError
from lpn.runtime.events import read_events
from lpn.runtime.node import NodeError

from ..build import compile_program
from ..generate.base import Choose
from ..lower.modules import Lowerings
from ..packet_test.timeline import cells_of, difference, live
from ..runner import make_runner

if TYPE_CHECKING:
    from .differential import Case

SWAPPING = (("engine", False), ("engine", True), ("rbpf", False))


def script(choose: Choose, program: ast.Program, frames: list[bytes]) -> str:
    """The text of an event file (docs/events.md): frames on the air and to chains, a busy channel, results of sending."""
    bound = {hook.event for hook in program.hooks}
    kinds = ["air", "air", "cca", "tx", "radio", *(name for name in ("app.tx", "net.rx", "net.tx") if name in bound)]
    lines = [f"node clock={choose.pick((0, (1 << 32) - 1000))}", f"radio {choose.pick(('on', 'off'))}"]
    for _ in range(choose.number(1, 10)):
        after = f"+{choose.pick((0, choose.number(0, 2000), choose.number(0, 300_000)))} us "
        frame = choose.pick(frames)[:125].hex() or "00" if frames else "00"
        match choose.pick(kinds):
            case "air":
                lines.append(f"{after}air {frame} rssi=-{choose.number(0, 100)} lqi={choose.value(8)}")
            case "cca":
                lines.append(f"{after}cca BUSY for {choose.number(1, 300_000)} us")
            case "tx":
                lines.append(f"{after}tx {choose.pick(('OK', 'BUSY', 'NOACK'))} x{choose.number(1, 3)}")
            case "radio":
                lines.append(f"{after}radio {choose.pick(('on', 'off'))}")
            case "app.tx":
                lines.append(f"{after}app.tx port={choose.value(16)} {frame}")
            case layered:
                lines.append(f"{after}{layered} layer={choose.value(8)} selector={choose.value(8)} {frame}")
    return "\n".join(lines) + "\n"


def run_events(case: Case, lowerings: Lowerings, fuse: bool, tally: Counter) -> str | None:
    """What the two nodes do not agree about, if anything."""
    program = lowerings.program
    given = control.from_json(case.program.tables, program)
    compiled = compile_program(program, "lpn", fuse, listings=False, lowerings=lowerings)
    try:
        nodes = live(program, compiled, read_events(case.events, "events"), ("reference", "engine"), given, {})
    except NodeError:                           # a program that starts itself in no time is stopped
        tally["nodes stopped"] += 1
        return None
    tally["time lines compared"] += 1
    tally["records of nodes compared"] += len(nodes["engine"].sorted_records())
    if (found := difference(nodes)) is not None:
        number, said = found
        return "\n".join([f"record {number}", case.events, *(f"{name}: {text}" for name, text in said.items())])
    first, second = (cells_of(node, compiled) for node in nodes.values())
    return next((f"{decl.name} after\n{case.events}\nreference {rows}\nengine {second[decl]}"      # type: ignore[attr-defined]
                 for decl, rows in first.items() if second[decl] != rows), None)


def run_swap(case: Case, old: Lowerings, new: Lowerings, told, tally: Counter,
             functions: Callable[[ast.Program], Mapping[str, Callable[..., int]]]) -> str | None:
    """The second version takes over in the middle of the packets; what an engine does not do as the reference, if anything. `functions`: the node's
    own that a program declares."""
    packets = [(frame, meta) for frame, meta in case.packets if "hook" not in meta]
    half = (len(packets) + 1) // 2

    def through(name: str, fuse: bool) -> tuple[list, dict]:
        versions = [make_runner(name, program := one.program, control.from_json(case.program.tables, program), fuse,
                                compiled=compile_program(program, "lpn", fuse, listings=False, lowerings=one) if name != "reference" else None,
                                externs=functions(program)) for one in (old, new)]
        results = [told(versions[0].run(frame, meta)) for frame, meta in packets[:half]]
        try:
            plan = versions[1].replace(versions[0])
        except EngineError as refused:
            return [*results, str(refused)], {}
        results += [plan.kept, *(told(versions[1].run(frame, meta)) for frame, meta in packets[half:])]
        return results, {decl.name: rows for decl, rows in versions[1].cells().items()}     # type: ignore[attr-defined]

    want, state = through("reference", False)
    tally["refused to take over" if isinstance(want[-1], str) else "took over"] += 1
    for name, fuse in SWAPPING:
        try:
            got, after = through(name, fuse)
        except EngineError:
            if name != "rbpf":                  # it may refuse a program, as where packets alone are compared
                raise
            tally[f"skipped {name}"] += 1
            continue
        tally[f"compared {name} over two versions"] += len(packets)
        if got != want:
            at = next(i for i, (a, b) in enumerate(zip(got, want)) if a != b)
            return f"{name}{':fused' if fuse else ''}: result {at} of {half} + 1 + {len(packets) - half}\n  reference {want[at]}\n  {name} {got[at]}"
        if after != state:
            return f"{name}{':fused' if fuse else ''}: state: reference {state}, {name} {after}"
    return None
