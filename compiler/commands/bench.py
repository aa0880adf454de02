"""`lpnc bench`: what LPN's code costs, beside hand-written C for the same work. Method: docs/benchmarks.md."""
from __future__ import annotations

import json
from pathlib import Path

import click

from ..output import Failure, say, waiting, write_files
from ..pages import rewrite

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"


@click.command()
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), default=ROOT / "build" / "bench.json",
              metavar="FILE", help="Where all figures go. Default: build/bench.json of the checkout.")
@click.option("--quick", is_flag=True, help="Counts only: no times, and of the captures the project's own.")
@click.option("--plot", "plot_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Draw the counts (PNG or SVG; needs matplotlib).")
@click.option("--update-docs", is_flag=True, help="Rewrite the tables and the plot of docs/benchmarks.md.")
@click.option("--m3", "m3_only", is_flag=True, help="Only what runs on the emulated Cortex-M3.")
@click.option("--verifier", "verifier_only", is_flag=True, help="Only what analyses take: seconds of CPU and memory.")
def command(json_file: Path, quick: bool, plot_file: Path | None, update_docs: bool, m3_only: bool, verifier_only: bool) -> int:
    """Measure the compiler and the engine, in a checkout.

    Instructions executed are counted by the C engine and are exact. Beside them
    the same work in hand-written C, where it is found (in
    the folder LPN_PEERS, or beside the checkout) and clang is installed.
    """
    from lpn.runtime.drawing import pyplot

    from ..bench import m3, report, verifier
    from ..bench.frames import read_frames
    from ..bench.measure import measure
    from ..bench.wall_time import corpus, machine, timed

    if update_docs and quick:
        raise click.UsageError("--update-docs needs all figures, --quick leaves some out", click.get_current_context())
    if m3_only and verifier_only:
        raise click.UsageError("--m3 and --verifier exclude each other", click.get_current_context())
    frames = read_frames()
    if m3_only:
        return on_m3(frames, json_file, update_docs)
    if verifier_only:
        return analyses(json_file, update_docs)
    if plot_file or update_docs:
        pyplot()
    where = machine()
    with waiting("counting"):
        measured = report.Measured(measure(frames))
    with waiting("comparing captures"):
        measured.corpus = corpus(quick)
    if not quick:
        with waiting("running on the emulated Cortex-M3"):
            measured.m3 = m3.measure(frames)
        with waiting("timing"):
            measured.times, measured.machine = timed(), where
        with waiting("analysing"):
            measured.analysed = verifier.measured()
    report.show(measured)
    write_files({json_file: (json.dumps(measured.as_dict(), indent=1) + "\n").encode()})
    say(f"\n{json_file}")
    if plot_file or update_docs:
        for path in filter(None, (plot_file, PAGE.with_suffix(".png") if update_docs else None)):
            report.plot(path, measured)
            say(str(path))
    if update_docs:
        report.update(PAGE, measured)
        say(str(PAGE))
    different = [form for form, c in (measured.corpus or {}).items() if c.total[0] != c.total[1]]
    return int(bool(different) or measured.code.published is False)


def on_m3(frames, json_file: Path, update_docs: bool) -> int:
    """The emulated Cortex-M3's part alone; other figures in the JSON file go."""
    from ..bench import m3, m3_report, report
    with waiting("running on the emulated Cortex-M3"):
        found = m3.measure(frames)
    m3_report.show(found)
    write_files({json_file: (json.dumps({"lpn": 1, "m3": found.as_dict()}, indent=1) + "\n").encode()})
    say(f"{json_file}")
    if update_docs:
        if found.absent:
            raise Failure(f"{PAGE} stays as it is: {found.absent}")
        rewrite(PAGE, report.m3_sections(found))
        say(str(PAGE))
    return 0


def analyses(json_file: Path, update_docs: bool) -> int:
    """The verifier's part alone; other figures in the JSON file go."""
    from ..bench import report, verifier
    with waiting("analysing"):
        found = verifier.measured()
    report.show_analysed(found)
    write_files({json_file: (json.dumps({"lpn": 1, "verifier": {name: vars(each) for name, each in found.items()}}, indent=1) + "\n").encode()})
    say(f"{json_file}")
    if update_docs:
        rewrite(PAGE, {"verifier": report.analysed_section(found)})
        say(str(PAGE))
    return 0


if __name__ == "__main__":
    from ..cli import guard
    raise SystemExit(guard(lambda: command.main(standalone_mode=False) or 0))
