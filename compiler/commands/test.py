"""`lpnc test`: packet tests beside programs."""
from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import click

from lpn.lang.diagnostics import Diagnostic, DiagnosticError, pieces
from lpn.lang.loader import Unreadable, decode
from lpn.lang.source import Source

from ..build import BuildError
from ..forms import Level
from ..output import STDOUT, Failure, check_target, count, put_json, say, waiting, write_files
from ..packet_test.run import Outcome, Suite
from ..packet_test.show import render as render_failure, text as failure_text
from .check import object_of
from .frames import known
from .inputs import STDIN, fuse_option, json_option, level_option, read_bytes
from .judge import tell

SUFFIX = ".test"
INPUT = Path("<stdin>")                         # as messages call it


@dataclass
class FileReport:
    """A test file: what became of its tests, and what is wrong with the file or its program."""

    path: Path
    outcomes: list[Outcome] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    status: int = 0
    left_out: int = 0

    @property
    def failed(self) -> list[Outcome]:
        return [each for each in self.outcomes if each.failure is not None]


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--engine", "engines", multiple=True, metavar="NAME",
              help="An engine to test in (repeatable, or with commas). Default: engine and reference; they must agree.")
@fuse_option
@level_option
@click.option("-k", "words", multiple=True, metavar="TEXT", help="Only tests with this in their name (repeatable: one of them).")
@click.option("--junit", metavar="X.xml", help="Write a report in JUnit's format (`-`: standard output).")
@click.option("-v", "--verbose", is_flag=True, help="A line for each test.")
@json_option
def command(paths: tuple[str, ...], engines: tuple[str, ...], fuse: bool, level: Level, words: tuple[str, ...], junit: str | None,
            verbose: bool, as_json: bool) -> int:
    """Run the packet tests of PATH: test files (X.test; `-` reads standard
    input, where program "x.lpn"; names the program), programs (X.lpn: the X.test
    beside it), or folders with any of them inside.

    \b
      lpnc test examples
      lpnc test examples/udp/udp.test -k echo -v
      lpnc test x.lpn --engine engine,reference,rbpf --fuse -Os

    docs/testing.md says what is in a test file. With --json one object per
    test: file, line, test, status (passed, failed, error), message, details,
    seconds, engines; one per mistake in a test file: as `lpnc check` has them,
    with status error.

    Exit status 1 when a test fails or a file is wrong; 2 when nothing can be
    read or there is no test.
    """
    if as_json and junit == STDOUT:
        raise click.UsageError("--junit - leaves no room for --json on standard output")
    chosen = list(dict.fromkeys(name.strip() for one in engines for name in one.split(","))) or ["engine", "reference"]
    for name in chosen:
        known(name)
    reports, found = [], files(paths)
    check_target(junit, *(("test file", str(path)) for path in found), *(("program", path) for path in paths), makes_folder=True)
    with waiting("testing"):
        for path in found:
            reports.append(report := tested(path, chosen, fuse, level, words))
            if as_json:
                put_report(report, chosen)
            elif junit != STDOUT:
                show_report(report, verbose)
    if junit is not None:
        from ..packet_test.junit import document
        write_files({Path(junit): document([(str(r.path), r.outcomes, r.diagnostics) for r in reports])})
    total = sum(len(r.outcomes) for r in reports)
    if not total and not any(r.diagnostics for r in reports):
        raise Failure("no test has this in its name" if words else f"there are no tests in {', '.join(paths)}")
    if not as_json and junit != STDOUT:
        summary(reports, chosen)
    return max(r.status for r in reports)


def files(paths: Iterable[str]) -> list[Path]:
    """The test files, each once, those of a folder by name. Raises Failure."""
    out: dict[Path, None] = {}
    for each in paths:
        path = INPUT if each == STDIN else Path(each)
        if path.is_dir():
            found = sorted(one for one in path.rglob(f"*{SUFFIX}") if one.is_file())
            if not found:
                raise Failure(f"{each}: there is no test file (*{SUFFIX}) in this folder")
            out |= dict.fromkeys(found)
        elif path.suffix == ".py":
            raise Failure(f"{each}: this is Python: run it with python -m pytest")
        elif path.suffix == ".lpn":
            if not path.exists():
                raise Failure(f"cannot read {each}: {os.strerror(errno.ENOENT)}")
            if not path.with_suffix(SUFFIX).is_file():
                raise Failure(f"{each}: there is no {path.with_suffix(SUFFIX).name} beside it")
            out[path.with_suffix(SUFFIX)] = None
        else:
            out[path] = None
    return list(out)


def from_input() -> Source:
    """A test file on standard input, of which there is no more. Raises Unreadable."""
    try:
        return Source(str(INPUT), decode(read_bytes(STDIN)))
    except UnicodeDecodeError as e:
        raise Unreadable(f"cannot read standard input: it is not UTF-8 text (byte {e.start})", STDIN) from None


def tested(path: Path, engines: list[str], fuse: bool, level: Level, words: tuple[str, ...]) -> FileReport:
    report = FileReport(path)
    try:
        suite = Suite.read(from_input(), engines, fuse, level) if path == INPUT else Suite.load(path, engines, fuse, level)
        tests = [test for test in suite.file.tests if not words or any(word.lower() in test.name.lower() for word in words)]
        report.left_out = len(suite.file.tests) - len(tests)
        for test in tests:
            try:
                report.outcomes.append(suite.run(test))
            except DiagnosticError as e:        # a packet that cannot be made: the others still can
                report.diagnostics += [each for each in e.diagnostics if each not in report.diagnostics]
                report.status = 1
                if any(each.span is None or each.span.source is not suite.file.source for each in e.diagnostics):
                    break                       # the program itself
        if suite.compiled is not None:
            tell(suite.compiled)
    except Unreadable as e:
        report.diagnostics, report.status = e.diagnostics, 2
    except DiagnosticError as e:
        report.diagnostics, report.status = e.diagnostics, 1
    except BuildError as e:
        report.diagnostics, report.status = [Diagnostic("error", str(e), None)], 1
    if report.failed:
        report.status = max(report.status, 1)
    return report


# ---------------------------------------------------------------- showing

def put_report(report: FileReport, engines: list[str]) -> None:
    for one in report.diagnostics:
        put_json({"file": str(report.path), "status": "error"} | object_of(one, str(report.path)))
    for each in report.outcomes:
        failure = each.failure
        put_json({"file": str(report.path), "line": each.test.span.line, "test": each.test.name,
                  "status": "failed" if failure else "passed", "message": failure.message.removeprefix(f"{each.test.name}: ") if failure else None,
                  "failed_line": failure.span.line if failure else None, "details": failure_text(failure) if failure else None,
                  "seconds": round(each.seconds, 6), "engines": engines})


def show_report(report: FileReport, verbose: bool) -> None:
    for one in report.diagnostics:
        show(pieces(one))
        say()
    for each in report.outcomes:
        if verbose:
            say(f"{'FAILED' if each.failure else 'passed'}  {report.path}:{each.test.span.line}  {each.test.name}",
                style="red" if each.failure else "green")
        if each.failure:
            show(render_failure(each.failure))
            say()
    if not verbose:
        say(line_about(report), style="red" if report.status else None)


def line_about(report: FileReport) -> str:
    done = len(report.outcomes) - len(report.failed)
    parts = [f"{done} passed"] if done or not report.diagnostics else []
    parts += [f"{len(report.failed)} failed"] if report.failed else []
    parts += [count(len(report.diagnostics), "error")] if report.diagnostics else []
    return f"{report.path}: {', '.join(parts)}"


def show(styled: Iterable[tuple[str, str]]) -> None:
    from rich.text import Text
    styles = {"error": "bold red", "failed": "bold red", "place": "bold", "gutter": "dim", "hint": "bold green", "note": "bold cyan", "warning": "bold yellow"}
    out = Text()
    for text, style in styled:
        out.append(text, style=styles.get(style))
    out.rstrip()
    say(out)


def summary(reports: list[FileReport], engines: list[str]) -> None:
    failed = sum(len(r.failed) for r in reports)
    wrong = sum(len(r.diagnostics) for r in reports)
    total = sum(len(r.outcomes) for r in reports)
    result = ", ".join([f"{failed} failed"] * bool(failed) + [count(wrong, "error")] * bool(wrong)) or "all passed"
    say(f"{count(total, 'test')} in {count(len(reports), 'file')}, {', '.join(engines)}: {result}", style="bold red" if failed or wrong else "green")
