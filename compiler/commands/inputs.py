"""What commands are given: sources, images, bundles, objects; and the source map beside them."""
from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from lpn.lang import ast, tables as control
from lpn.lang.check import check, check_chains
from lpn.lang.check.unsent import unsent
from lpn.lang.files import octets, too_long, whole
from lpn.lang.limits import MAX_BINARY, MAX_TEXT
from lpn.lang.loader import decode, load, refuse_others
from lpn.lang.source import Source
from lpn.runtime.variants import SMALLEST, TRANSLATED, WAYS

from .. import compact, externs, femto, image
from ..forms import LEVELS, MOST
from ..output import JSON, Failure, NoProgram, say

if TYPE_CHECKING:
    from lpn.lang.diagnostics import Diagnostic

    from ..judge import Lines

T = TypeVar("T")
STDIN = "-"
# What is no program, by how it begins.
PACK = "a pack, the form that nodes take: give the bundle (.lpnb) or the source (.lpn)"
CAPTURE = "a capture, not a program"
MAP = "a source map: give the bundle (.lpnb) or the image (.lpnc) that it lies beside, or the source (.lpn)"
LISTING = "{}: give the object (.o, of --emit obj), the bundle (.lpnb) or the source (.lpn)"
OTHERS = {b"LPNN": PACK, b"LPNP": PACK, b"\x0a\x0d\x0d\x0a": CAPTURE, b"\xd4\xc3\xb2\xa1": CAPTURE, b"\xa1\xb2\xc3\xd4": CAPTURE,
          b"\x4d\x3c\xb2\xa1": CAPTURE, b"\xa1\xb2\x3c\x4d": CAPTURE, b'{"lpn": ': MAP, b"\t.file\t": LISTING.format("assembly"),
          b"; ModuleID = ": LISTING.format("LLVM IR"), b"lpn load ": PACK}


class Real(click.FloatRange):
    """A number of a range, as click's, that is one: `nan` is outside of no range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number that can be meant", param, ctx)
        return number


def read_bytes(path: str, most: int = MAX_TEXT) -> bytes:
    """A file's content, or standard input's, of at most so many octets. Raises Failure."""
    try:
        return whole(sys.stdin.buffer, most) if path == STDIN else octets(Path(path), most)
    except OSError as e:
        raise Failure(f"cannot read {shown(path)}: {e.strerror or e}") from None


def tables_of(path: str | None, program: ast.Program, /, **others: str | None) -> control.Tables | None:
    """What a tables file says, or standard input. `others`: what else is read, by what it is. Raises TablesError, Failure, click.UsageError."""
    if not path:
        return None
    for what, other in others.items():
        if path == other == STDIN:
            raise click.UsageError(f"the {what} and the tables cannot both be on standard input", click.get_current_context())
    try:
        return control.from_text(tables_text(path), program)
    except control.TablesError as error:
        raise control.TablesError(f"{shown(path)}: {error}") from None


def tables_text(path: str) -> str:
    """The text of a tables file, or of standard input: each version of a program is given it, and of a pipe there is no more. Raises TablesError, Failure."""
    meta = click.get_current_context().meta
    if "tables" not in meta:
        try:
            meta["tables"] = (read_bytes(path) if path == STDIN else octets(Path(path))).decode("utf-8-sig")
        except OSError as error:
            raise control.TablesError(error.strerror or f"{error}") from error
        except UnicodeDecodeError as error:
            raise control.TablesError("not UTF-8 text") from error
    return meta["tables"]


def shown(path: str) -> str:
    return "standard input" if path == STDIN else path


@dataclass
class Input:
    """A file given to a command. `kind`: source, image, bundle or object."""

    path: str
    kind: str
    data: bytes

    @property
    def stem(self) -> str:
        return "stdin" if self.path == STDIN else Path(self.path).stem

    def decode(self, reader: Callable[[bytes], T]) -> T:
        """What `reader` makes of the content; its refusal gets the file's name in front."""
        try:
            return reader(self.data)
        except ValueError as e:                 # ImageError and BundleError are
            raise NoProgram(f"{shown(self.path)}: {e}", self.path) from None

    def program(self, without: Iterable[str] = ()) -> ast.Program:
        return checked(self.source(), without)

    def source(self) -> Source:
        """The text that was read: of a pipe there is no more. It has no folder, either; what it imports is looked for in the working folder, as for standard input."""
        name = "<stdin>" if self.path == STDIN else self.path
        path = Path(self.path) if self.path != STDIN and os.path.isfile(self.path) else None
        if path is not None:
            refuse_others(path, name)
        try:
            return Source(name, decode(self.data), path)
        except UnicodeDecodeError as e:
            raise NoProgram(f"cannot read {shown(self.path)}: it is not UTF-8 text (byte {e.start})", self.path) from None


def read_input(path: str) -> Input:
    """A file, its kind told by its content; a name's suffix decides where the content is damaged. Raises NoProgram."""
    try:
        data = read_bytes(path, MAX_BINARY)
    except Failure as e:
        raise NoProgram(str(e), path) from None
    suffix = Path(path).suffix
    for begin, what in OTHERS.items():
        if data.startswith(begin):
            raise NoProgram(f"{shown(path)}: this is {what}", path)
    if data[:4] in (image.MAGIC, compact.MAGIC) or femto.begins(data) or suffix == ".lpnc":
        kind = "image"
    elif data[:4] == b"\x7fELF":
        kind = "object"
    elif data[:1] and 0xA0 <= data[0] <= 0xBF or suffix == ".lpnb":     # a CBOR map; no UTF-8 text begins so
        if is_text(data):
            raise NoProgram(f"{shown(path)}: this is text, a source (.lpn) perhaps, and not a bundle", path)
        kind = "bundle"
    else:
        kind = "source"
        if len(data) > MAX_TEXT:
            raise NoProgram(f"cannot read {shown(path)}: {too_long(MAX_TEXT).strerror}", path)
    return Input(path, kind, data)


def is_text(data: bytes) -> bool:
    """Whether a file that is called a bundle is what somebody wrote: lines, and nothing else."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return "\n" in text and all(c.isprintable() or c in "\t\r\n" for c in text)


def read_source(path: str) -> Input:
    """A file that must be a program's source."""
    found = read_input(path)
    if found.kind != "source":
        raise NoProgram(f"{shown(path)}: this is a compiled {found.kind}, the program's source is needed", path)
    return found


def checked(source: Source, without: Iterable[str] = ()) -> ast.Program:
    """Loads and checks a program. Raises DiagnosticError or Failure."""
    program = externs.check(check(load(source)))
    leave_out(program, without)
    return program


def leave_out(program: ast.Program, without: Iterable[str]) -> None:
    """Takes processors out of all chains: the others keep their meaning, as a processor only reads and changes headers. Raises DiagnosticError where
    they read what only a processor that is out made valid."""
    for name in without:
        found = [m for hook in program.hooks if not hook.timed for m in hook.chain if m.name == name]
        if not found:
            chains = "; ".join(" -> ".join(m.name for m in hook.chain) for hook in program.hooks if not hook.timed)
            raise Failure(f"--without {name}: the chain has no such module, it is {chains}")
        if not isinstance(found[0], ast.Processor):
            raise Failure(f"--without {name}: it is a {type(found[0]).__name__.lower()}, only processors can be left out")
        for hook in program.hooks:
            hook.chain = [m for m in hook.chain if m is not found[0]]
        program.hooks = [hook for hook in program.hooks if hook.chain]
    if without:
        check_chains(program)


def warnings(program: ast.Program, for_node: bool = True) -> None:
    """Shows what the checker warned about; `for_node`: and what a node would not send."""
    told = program.warnings + (unsent(program) if for_node else [])
    if told:
        show_diagnostics(told)


def show_diagnostics(items: list[Diagnostic], err: bool = True) -> None:
    """With their places in the source."""
    from lpn.lang.diagnostics import rich_text
    text = rich_text(items)
    text.rstrip()
    say(text, err=err)


# ---------------------------------------------------------------- source maps

def map_path(path: str) -> Path:
    """`udp.lpnb` has its map in `udp.map.json`."""
    return Path(path).with_suffix(".map.json")


def source_map(path: str) -> dict[str, Lines]:
    """By module, the lines of the map beside a bundle or image; empty where there is none."""
    if path == STDIN or not map_path(path).is_file():
        return {}
    try:
        item = json.loads(octets(map_path(path), MAX_BINARY))
        return {name: [(int(slot), str(file), int(line)) for slot, file, line in rows]
                for name, rows in item["modules"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        say(f"lpnc: {map_path(path)} is not a source map, going on without", err=True)
        return {}


def source_texts(maps: Iterable[Lines]) -> dict[str, list[str]]:
    """The lines of each file that maps name, as far as the files are here."""
    from importlib import resources
    texts = {}
    for name in {file for rows in maps for _, file, _ in rows}:
        path: Any = Path(name)
        if name.startswith("std/") and not path.is_file():
            path = resources.files("lpn.stdlib").joinpath(name.removeprefix("std/"))
        try:
            texts[name] = Source(name, decode(octets(path))).lines
        except (OSError, UnicodeDecodeError):
            continue
    return texts


# ---------------------------------------------------------------- options that several commands have

def asked(*options: str) -> list[str]:
    """Those of the command's options, by their long names, that are on the command line."""
    context = click.get_current_context()
    return [one.opts[-1] for one in context.command.params
            if one.opts[-1] in options and context.get_parameter_source(str(one.name)) == ParameterSource.COMMANDLINE]


def need_source(path: str, *more: str) -> None:
    """What is compiled is not compiled again. Raises Failure where options of the compiler, or `more`, are on the command line."""
    if given := asked(*more, "--fuse", "--without", "-O"):
        raise Failure(f"{shown(path)}: {' and '.join(given)} need{'s' if len(given) == 1 else ''} the program's source (.lpn)")


def listed(choices: Iterable[str]) -> Callable[[click.Context, click.Parameter, Any], tuple[str, ...]]:
    """For an option that may be repeated, or given once with commas."""
    allowed = tuple(choices)

    def callback(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
        words = tuple(word.strip() for one in value for word in one.split(","))
        for word in words:
            if word not in allowed:
                raise click.BadParameter(f"{word!r} is not one of {', '.join(allowed)}", ctx, param)
        return tuple(dict.fromkeys(words))
    return callback


level_option = click.option("-O", "level", type=click.Choice(list(LEVELS)), default=str(MOST), metavar="LEVEL",
                            callback=lambda _ctx, _param, name: LEVELS[name], help="Optimisation level: 0 to 2 (the default), or s: short rather than fast.")
fuse_option = click.option("--fuse", is_flag=True, help="Compile each chain into one container.")
without_option = click.option("--without", multiple=True, metavar="MODULE", help="Leave a processor out of all chains (repeatable).")


on_option = click.option("--on", "way", type=click.Choice(sorted((*WAYS, SMALLEST))), default=TRANSLATED, show_default=True,
                         help="How the node executes containers: what worst-case times and deadlines are computed for.")


def compile_options(command: Callable) -> Callable:
    for option in (level_option, without_option, fuse_option):
        command = option(command)
    return command


def as_objects(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:
    """For an option --json: errors in a source are objects, too (cli.py)."""
    ctx.meta[JSON] = value
    return value


json_option = click.option("--json", "as_json", is_flag=True, callback=as_objects, help="JSON on standard output, one object a line.")
