"""What was measured as tables: on the terminal, in docs/benchmarks.md, and as a plot."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lpn.runtime.drawing import pyplot

from ..output import Failure, Table, say
from ..pages import rewrite
from . import m3_report
from .m3 import OnM3
from .measure import PAYLOADS, Comparison, Form
from .peers import P4C_FORWARD
from .verifier import Analysed
from .wall_time import Corpus, Times

SHORT = PAYLOADS[0]


@dataclass
class Measured:
    """`times` and `corpus` are None where they were left out."""

    code: Comparison
    times: dict[str, Times] | None = None
    corpus: dict[str, Corpus] | None = None
    machine: str = ""
    m3: OnM3 | None = None
    analysed: dict[str, Analysed] | None = None

    def as_dict(self) -> dict:
        return {"lpn": 1, "code": self.code.as_dict(),
                "times_ms": self.times and {name: vars(t) for name, t in self.times.items()}, "machine": self.machine,
                "corpus": self.corpus and {form: c.as_dict() for form, c in self.corpus.items()},
                "m3": self.m3 and self.m3.as_dict(),
                "verifier": self.analysed and {name: vars(each) for name, each in self.analysed.items()}}


def ratio(form: Form, c: Form | None) -> str:
    return f"{form.common() / c.common():.2f}" if c else ""


# ---------------------------------------------------------------- rows that all outputs share

def code_columns(frames: list[str]) -> list[str]:
    return ["", ">instructions", ">image bytes", ">stack", *(">" + f.replace("-", ", ") for f in frames), ">to C"]


def code_rows(forms: dict[str, Form]) -> Iterator[tuple[str, Form, list]]:
    """(form, what it is, cells). `to C`: executed on the first frame, divided by what the faster C executes."""
    c = forms.get("C")
    for name, form in forms.items():
        executed = [by_payload[SHORT] for by_payload in form.executed.values()]
        yield name, form, [form.instructions, form.image, form.stack, *executed, ratio(form, c)]


def time_rows(times: dict[str, Times]) -> Iterator[list]:
    for name, t in times.items():
        yield [name, *(None if v is None else f"{v:,.0f}" for v in (t.cold, t.warm, t.verify, t.clang, t.clang_llc))]


TIME_COLUMNS = ("", ">lpnc build, cold", ">lpnc build", ">verification", ">clang -c", ">clang, llc")


ANALYSED_COLUMNS = ("", ">slots", ">loops", ">seconds of CPU", ">MB at most")


def analysed_rows(found: dict[str, Analysed]) -> Iterator[list]:
    for name, each in found.items():
        yield [name, each.slots, each.loops, f"{each.seconds:.2f}", each.megabytes]


def show_analysed(found: dict[str, Analysed]) -> None:
    say("\nAnalyses, each alone in a process", style="bold")
    table = Table(ANALYSED_COLUMNS)
    for row in analysed_rows(found):
        table.add(*row)
    table.show()


def corpus_line(form: str, c: Corpus) -> str:
    compared, equal = c.total
    return (f"{form}: {equal:,} of {compared:,} frames of {c.captures} captures equal"
            + (f"; {c.open} more on which the RFC is silent" if c.open else "") + (f"; {c.absent}" if c.absent else ""))


# ---------------------------------------------------------------- terminal

def show(m: Measured) -> None:
    for program, forms in m.code.programs.items():
        say(program, style="bold")
        table = Table(code_columns(list(next(iter(forms.values())).executed)))
        for name, form, cells in code_rows(forms):
            table.add(name, *cells, style="" if form.image else "dim")
        table.show()
        say()
    if m.code.absent:
        say(f"Beside hand-written C: not measured, {m.code.absent}.", style="yellow")
    else:
        say(f"C: hand-written, clang {m.code.clang}; its counts {'are' if m.code.published else 'ARE NOT'} the published ones.",
            style="" if m.code.published else "red")
    if m.times:
        say(f"\nMilliseconds, median of 5; {m.machine}", style="bold")
        table = Table(TIME_COLUMNS)
        for row in time_rows(m.times):
            table.add(*row)
        table.show()
    if m.analysed:
        show_analysed(m.analysed)
    for form, c in (m.corpus or {}).items():
        say(f"decompress, {corpus_line(form, c)}")
    if m.m3:
        m3_report.show(m.m3)


# ---------------------------------------------------------------- docs/benchmarks.md

def markdown(columns: list[str], rows: list[list]) -> str:
    def line(cells) -> str:
        return "| " + " | ".join("" if c is None else f"{c:,}" if isinstance(c, int) else str(c) for c in cells) + " |\n"
    return (line(c.lstrip(">") for c in columns) + "|" + "|".join("---:" if c.startswith(">") else "---" for c in columns) + "|\n"
            + "".join(map(line, rows)))


def sections(m: Measured) -> dict[str, str]:
    """The text between each pair of markers of the page; what was not measured is not in it."""
    out = {}
    for program, forms in m.code.programs.items():
        frames = list(next(iter(forms.values())).executed)
        out[program] = markdown(code_columns(frames), [[name, *cells] for name, _, cells in code_rows(forms)])
    if m.times:
        out["times"] = markdown(list(TIME_COLUMNS), list(time_rows(m.times))) + f"\n{m.machine}.\n"
    if m.analysed:
        out["verifier"] = analysed_section(m.analysed)
    if m.corpus:
        out["corpus"] = "".join(f"- {corpus_line(form, c)}\n" for form, c in m.corpus.items())
    out.update(m3_sections(m.m3))
    return out


def analysed_section(found: dict[str, Analysed]) -> str:
    return markdown(list(ANALYSED_COLUMNS), list(analysed_rows(found)))


def m3_sections(m: OnM3 | None) -> dict[str, str]:
    if m is None or m.absent:
        return {}
    return {name: markdown(columns, rows(m)) for name, (columns, rows) in m3_report.TABLES.items()}


def update(page: Path, m: Measured) -> None:
    """Rewrites the measured parts of the page. Raises Failure where a part would be lost."""
    if m.code.absent:
        raise Failure(f"{page} stays as it is: {m.code.absent}")
    rewrite(page, sections(m))


# ---------------------------------------------------------------- plot

INK, GRID = "#333333", "#dddddd"
BARS = {"chain": ("LPN, chain of containers", "#9ecae1"), "fused": ("LPN, one container", "#2171b5"),
        "C": ("hand-written C, clang -O2", "#bbbbbb"), "p4c": ("P4, p4c and clang -O2 (published)", "#e6a35c")}


def plot(path: Path, m: Measured) -> None:
    """Instructions executed on the common frame, one group of bars a program."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 3.6), dpi=100)
    programs = m.code.programs
    named: set[str] = set()
    for group, (program, forms) in enumerate(programs.items()):
        values = {kind: forms[kind].common() for kind in ("chain", "fused", "C") if kind in forms}
        if program == "forward":
            values["p4c"] = P4C_FORWARD
        for i, (kind, value) in enumerate(values.items()):
            label, color = BARS[kind]
            x = group + (i - (len(values) - 1) / 2) * 0.22
            axes.bar(x, value, 0.2, color=color, label=None if kind in named else label)
            axes.annotate(str(value), (x, value), ha="center", va="bottom", fontsize=8, color=INK)
            named.add(kind)
    axes.set_xticks(range(len(programs)), list(programs))
    axes.set_ylabel("eBPF instructions executed")
    axes.set_title("One frame, common form, 10 bytes of payload", fontsize=10)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)
