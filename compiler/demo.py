"""`make demo`: the UDP example, from its source to a capture of real nodes. Uses what the commands use."""
from __future__ import annotations

import os
import sys
from pathlib import Path

from lpn.lang import ast

from .build import Compiled, compile_program
from .cli import guard
from .commands.build import table_of
from .commands.frames import Outcome, Totals, outcomes, runner
from .commands.inputs import checked
from .judge import sealed
from .commands.packets import Describer
from .commands.run import STYLES
from .output import Failure, Table, say

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "udp"
CAPTURE = Path("captures") / "riot_udp.pcap"
OPTIONAL = "Checksum"
#: How many packets of each kind are shown, at most.
# The node that runs the program: B of the recording (captures/README.md).
NODE = {"node_ext": 0x024C_504E_0000_0002}
SHOWN = {("DELIVER", None): 4, ("TRANSMIT", None): 3, ("DROP", "BadChecksum"): 2, ("DROP", "NotUdp"): 2, ("DROP", "Fcs"): 1}


def main() -> int:
    folder = Path(os.path.relpath(EXAMPLE)) if EXAMPLE.is_relative_to(Path.cwd()) else EXAMPLE
    source, capture = folder / "udp.lpn", folder / CAPTURE
    for path in (source, capture):
        if not path.is_file():
            raise Failure(f"{path} is not there: the demo runs in a checkout")
    say(f"{source}: UDP over 6LoWPAN for a radio node, {len(source.read_text('utf-8').splitlines())} lines", style="bold")
    say("Each module of its chain becomes an eBPF container; the verifier accepts all of them:")
    say()
    program = checked(source)
    forms = [(f"{name}{label}", without, fuse) for name, fuse in (("chain", False), ("fused", True))
             for label, without in (("", ()), (f" without {OPTIONAL}", (OPTIONAL,)))]
    sizes = Table(["", ">containers", ">instructions", ">image bytes", ">executed a packet"])
    runs: list[tuple[Totals, list[Outcome]]] = []
    for name, without, fuse in forms:
        variant = checked(source, without)
        result = compile_program(variant, fuse=fuse)
        judgements = sealed(result)
        for container, report in judgements:
            if not report.accepted:
                raise Failure(f"the verifier refuses {container.name}: {report.message}", 1)
        if not runs:
            table_of(judgements).show()
        runs.append(run(variant, result, str(capture)))
        sizes.add(name, len(judgements), sum(report.insns for _, report in judgements),
                  sum(len(c.image.to_bytes()) for c in result.containers), f"{runs[-1][0].mean:.1f}")
    say()
    say(f"The whole chain can also be one container, and {OPTIONAL} can be left out:")
    say()
    sizes.show()
    say()
    say(f"Some of the {runs[0][0].frames} frames of {capture}, recorded between RIOT nodes, in the chain on the C engine:")
    say()
    packets(program, chosen(runs[0][1])).show()
    say()
    for line in runs[0][0].lines():
        say(line)
    say(f"without {OPTIONAL}: " + difference(runs[0][0], runs[1][0]))
    say()
    say("Go on with", style="bold")
    say(f"  lpnc run {source} --in {capture} --verbose --limit 7")
    say(f"  lpnc run {source} --in {capture} --compare engine,reference")
    say(f"  lpnc disasm {source} --module Serve")
    say("lpnc is in .venv/bin; lpnc --help lists the commands, README.md explains them.")
    return 0


def run(program: ast.Program, result: Compiled, capture: str) -> tuple[Totals, list[Outcome]]:
    totals, seen = Totals(), []
    for outcome in outcomes(capture, [runner("engine", program, compiled=result)], NODE):
        totals.add(outcome)
        seen.append(outcome)
    return totals, seen


def chosen(seen: list[Outcome]) -> list[Outcome]:
    """A few of each verdict and reason, of different lengths."""
    groups: dict[tuple[str, str | None], dict[int, Outcome]] = {}
    for outcome in seen:
        groups.setdefault((outcome.result.verdict, outcome.result.reason), {}).setdefault(len(outcome.frame.data), outcome)
    picked = []
    for kind, group in groups.items():
        different = sorted(group.values(), key=lambda o: len(o.frame.data))
        most = min(SHOWN.get(kind, 1), len(different))
        picked += [different[i * (len(different) - 1) // max(most - 1, 1)] for i in range(most)]
    return sorted(picked, key=lambda o: o.frame.number)


def packets(program: ast.Program, some: list[Outcome]) -> Table:
    describer = Describer(program)
    table = Table([">frame", ">bytes", "verdict", "reason", ">port", ">instructions", "packet"])
    for o in some:
        table.add(o.frame.number, len(o.frame.data), o.result.verdict, o.result.reason,
                  None if o.result.port is None else str(o.result.port), o.result.insns if o.reached else None,
                  describer.describe(o.frame.data, o.meta) if o.reached else o.obstacle, style=STYLES.get(o.result.verdict, ""))
    return table


def difference(full: Totals, less: Totals) -> str:
    """What the optional module changes."""
    changes = [f"{less_count:,} {name} instead of {full[name]:,}" for full, less in
               ((full.verdicts, less.verdicts), (full.reasons, less.reasons))
               for name in sorted(full.keys() | less.keys()) if (less_count := less[name]) != full[name]]
    return ", ".join(changes) or "the same"


if __name__ == "__main__":
    sys.exit(guard(main))
