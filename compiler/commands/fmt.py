"""`lpnc fmt`: programs in the one style."""
from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from lpn.lang.diagnostics import DiagnosticError, rich_text
from lpn.lang.format import format_source
from lpn.lang.loader import Unreadable, decode, read_program
from lpn.lang.source import Source

from ..output import STDOUT, Failure, coloured, count, put_json, say, write_files
from .inputs import STDIN, json_option, read_bytes, read_source, shown

COLOURS = {"+": "green", "-": "red", "@": "cyan"}           # of a diff's lines, on a terminal


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Write nothing; name the files that would change, and exit with 1 if there are any.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@json_option
def command(files: tuple[str, ...], check: bool, diff: bool, as_json: bool) -> int:
    """Format programs in place; `-` formats standard input to standard output.

    \b
      lpnc fmt examples/udp/udp.lpn
      lpnc fmt --check stdlib/*.lpn
      lpnc fmt - <udp.lpn

    Indentation, blanks and columns are set by rule; line ends inside a statement
    and blank lines (at most one) are yours. A file with a syntax error is left as
    it is. With --json, one object per file: file, changed, and error if it could
    not be formatted.
    """
    if as_json and STDIN in files and not (check or diff):
        raise click.UsageError("--json and `-` both write to standard output: add --check")
    status, changed, failed = 0, 0, 0
    for path in files:
        try:
            old, new = formatted(path)
            put(path, old, new, check, diff, as_json)
        except (Failure, DiagnosticError) as e:
            failed += 1
            status = max(status, e.status if isinstance(e, Failure) else 1 if e.diagnostics[0].span else 2)
            tell(path, e, as_json)
            continue
        changed += old != new
        if as_json:
            put_json({"file": shown(path), "changed": old != new})
    if check and changed:
        status = max(status, 1)
    if not as_json and (check or not diff) and files != (STDIN,):
        verb = "would change" if check else "changed"
        more = f", {failed} with errors" if failed else ""
        say(f"{count(len(files), 'file')}: {changed or 'none'} {verb}{more}", style="red" if status else "green")
    return status


def formatted(path: str) -> tuple[str, str]:
    """A file's text and the same in the one style. Raises DiagnosticError or Failure."""
    if path == STDIN:
        try:
            source = Source("<stdin>", decode(read_bytes(STDIN)))
        except UnicodeDecodeError as e:
            raise Failure(f"cannot read standard input: it is not UTF-8 text (byte {e.start})") from None
    else:
        try:
            source = read_program(Path(path), path)
        except Unreadable:
            if Path(path).is_file():
                read_source(path)               # what it is instead, if that is known
            raise
    return source.written, format_source(source)


def put(path: str, old: str, new: str, check: bool, diff: bool, as_json: bool) -> None:
    """Writes what was asked for: the file, standard output, a diff, or a name."""
    if diff and not as_json:
        name = shown(path)
        for line in difflib.unified_diff(lines(old), lines(new), name, name):
            click.echo(click.style(line, fg=COLOURS.get(line[0])), nl=False, color=coloured())
    elif check and old != new and not as_json:
        say(f"{shown(path)} would change")
    if check or diff:
        return
    if path == STDIN:
        write_files({Path(STDOUT): new.encode()})
    elif old != new:
        write_files({Path(path).resolve(): new.encode()})


def lines(text: str) -> list[str]:
    """The lines of a diff; a missing end of the last one is said as `diff` says it."""
    out = [line + "\n" for line in text.split("\n")]
    return out[:-1] if out[-1] == "\n" else [*out[:-1], out[-1].rstrip("\n") + "\n\\ No newline at end of file\n"]


def tell(path: str, error: Failure | DiagnosticError, as_json: bool) -> None:
    if as_json:
        put_json({"file": shown(path), "changed": False, "error": str(error)})
    elif isinstance(error, Failure):
        sys.stdout.flush()
        say(f"lpnc: {error}", err=True)
    else:
        sys.stdout.flush()
        text = rich_text(error.diagnostics)
        text.rstrip()
        say(text, err=True)
