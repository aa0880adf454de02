"""`lpnc check`: is it a program?"""
from __future__ import annotations

import click

from lpn.lang.diagnostics import Diagnostic, DiagnosticError, rich_text
from lpn.lang.loader import Unreadable

from ..output import Failure, count, put_json, say
from .inputs import json_option, read_source, shown


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@json_option
def command(files: tuple[str, ...], as_json: bool) -> int:
    """Parse and type-check programs; `-` reads standard input.

    \b
      lpnc check examples/udp/udp.lpn
      lpnc check --json *.lpn

    With --json, one object per error or warning: file, line, column, end_line,
    end_column, severity, message, hints, notes.
    """
    status, errors, warned = 0, 0, 0
    for path in files:
        found, mine = diagnose(path)
        status = max(status, mine)
        errors += sum(d.severity == "error" for d in found)
        warned += sum(d.severity == "warning" for d in found)
        if as_json:
            for one in found:
                put_json(object_of(one, path))
        elif found:
            text = rich_text(found)
            text.rstrip()
            say(text, err=True)
    if not as_json:
        total = f"{count(errors, 'error')}, {count(warned, 'warning')}" if errors or warned else "no errors"
        say(f"{count(len(files), 'file')}: {total}", style="red" if errors else "green")
    return status


def diagnose(path: str) -> tuple[list[Diagnostic], int]:
    """(what is wrong, exit status) of one file."""
    try:
        return read_source(path).program().warnings, 0
    except (DiagnosticError, Failure) as e:
        return found_in(e), status_of(e)


def found_in(e: DiagnosticError | Failure) -> list[Diagnostic]:
    """What is wrong with a program."""
    return e.diagnostics if isinstance(e, DiagnosticError) else [Diagnostic("error", str(e), None)]


def status_of(e: DiagnosticError | Failure) -> int:
    return 2 if isinstance(e, Unreadable) else getattr(e, "status", 1)


def object_of(one: Diagnostic, path: str | None) -> dict:
    """A diagnostic as JSON; places count from 1, `end_column` is one past the last. `path`: of the program, for what has no place in it."""
    span = one.span
    return {
        "file": span.source.name if span else path and shown(path), "line": span and span.line, "column": span and span.column,
        "end_line": span and span.end_line, "end_column": span and span.end_column,
        "severity": one.severity, "message": one.message, "hints": one.hints,
        "notes": [{"message": text, "file": at and at.source.name, "line": at and at.line, "column": at and at.column}
                  for text, at in one.notes],
    }
