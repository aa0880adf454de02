"""The command `lpnc`: finds the command, runs it, and turns whatever happens into one clear message and an exit status.

Exit status 0: done, accepted. 1: rejected (an error in the source, a rule violated, engines that differ). 2: usage, or
input that cannot be read. 130: interrupted; 141: whoever read our output has left.
"""
from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TextIO

import click

from .output import JSON, Failure, NoProgram, one_line, put_json, say
from .start import INTERRUPTED

COMMANDS = {
    "check": "Parse and type-check programs.",
    "build": "Compile a program to containers and a bundle.",
    "pack": "Write a program in the form that nodes take.",
    "verify": "Prove that containers keep the rules.",
    "run": "Run a capture's frames through a program.",
    "profile": "Where a program's time goes on a Cortex-M3.",
    "disasm": "Show the bytecode with its source lines.",
    "engines": "Which engines can run programs here.",
    "fmt": "Format programs.",
    "lsp": "Serve an editor (Language Server Protocol).",
    "test": "Run the tests of programs.",
    "fuzz": "Compare the engines on generated programs.",
    "twin": "Run firmware on emulated IoT-LAB M3 boards.",
    "bench": "Measure the compiler and the engines.",
}
PIPE_CLOSED = 141                               # as a shell reports SIGPIPE


def module_of(name: str) -> str | None:
    """The module of a command, if there is one; it is not imported."""
    module = f"lpn.compiler.commands.{name}"
    return module if name in COMMANDS and find_spec(module) else None


class Cli(click.Group):
    """Imports a command when it is used; `main` is the guard."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if module_of(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = module_of(cmd_name)
        return importlib.import_module(module).command if module else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list, without importing every command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def resolve_command(self, ctx: click.Context, args: list[str]):
        """As click does, with a suggestion."""
        from difflib import get_close_matches
        try:
            found = super().resolve_command(ctx, args)
        except click.UsageError:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"there is no command {args[0]!r}: {hint}", ctx) from None
        name, command, rest = found
        if command is not None and (twice := given_twice(command, rest)) is not None:
            raise click.UsageError(f"{name}: {twice} is given twice, and takes one value", ctx)
        return found

    def main(self, args=None, prog_name=None, complete_var=None, standalone_mode=True, **extra):
        if not standalone_mode or "_LPNC_COMPLETE" in os.environ:
            return super().main(args, prog_name or "lpnc", complete_var, standalone_mode, **extra)
        given = list(sys.argv[1:] if args is None else args)
        sys.exit(guard(lambda: self.run(given)))

    def run(self, args: list[str]) -> int:
        if not args:
            with self.make_context("lpnc", ["check"], resilient_parsing=True) as ctx:
                click.echo(self.get_help(ctx), err=True)
            return 2
        from lpn.lang.diagnostics import DiagnosticError
        with self.make_context("lpnc", args) as ctx:
            try:
                return self.invoke(ctx) or 0
            except (DiagnosticError, NoProgram) as e:
                if not ctx.meta.get(JSON):
                    raise
                from .commands.check import found_in, object_of, status_of
                for one in found_in(e):
                    put_json(object_of(one, getattr(e, "path", None)))
                return status_of(e)


def given_twice(command: click.Command, args: list[str]) -> str | None:
    """An option of one value that is there again: click takes the last value and passes the others over."""
    options = {name: one for one in command.params if isinstance(one, click.Option) and not one.is_flag and not one.count for name in one.opts}
    seen: set[str | None] = set()
    left = iter(args)
    for arg in left:
        if arg == "--":
            return None
        name, attached = (arg.partition("=")[0], "=" in arg) if arg.startswith("--") else (arg[:2], len(arg) > 2)
        option = options.get(name)
        if option is None:
            continue
        if option.name in seen and not option.multiple:
            return name
        seen.add(option.name)
        if not attached:
            next(left, None)
    return None


def guard(work: Callable[[], int]) -> int:
    """The exit status of `work`; exceptions become messages. With LPN_DEBUG set, a bug of ours shows its traceback."""
    try:
        try:
            status = work()
            sys.stdout.flush()
            return status
        except click.exceptions.Exit as e:
            sys.stdout.flush()
            return e.exit_code
        except (KeyboardInterrupt, click.Abort):
            return INTERRUPTED
        except BrokenPipeError:
            raise
        except Exception as e:
            text, status = explain(e)
            if status is None:
                if os.environ.get("LPN_DEBUG"):
                    raise
                text, status = f"this is a bug in lpnc: {type(e).__name__}: {e} (LPN_DEBUG=1 shows where)", 2
            _flush_quietly()
            try:
                say(f"lpnc: {one_line(text)}" if isinstance(text, str) else text, err=True)
            except OSError as unsaid:           # the status still says it
                if isinstance(unsaid, BrokenPipeError):
                    raise
                _abandon(sys.stderr)
            return status
    except BrokenPipeError:
        _abandon(sys.stdout)
        return PIPE_CLOSED


def explain(e: Exception):
    """(message or `rich` Text, exit status); the status is None for what should never have come here."""
    from lpn.lang.diagnostics import DiagnosticError, rich_text
    if isinstance(e, Failure):
        return str(e), e.status
    if isinstance(e, click.ClickException):
        path = e.ctx.command_path if isinstance(e, click.UsageError) and e.ctx else ""
        more = f" ({path} --help)" if path else ""
        name = path.removeprefix("lpnc").strip()
        return f"{name + ': ' if name else ''}{e.format_message().rstrip('.')}{more}", 2
    if isinstance(e, DiagnosticError):
        from lpn.lang.loader import Unreadable
        if isinstance(e, Unreadable):
            return e.diagnostics[0].message, 2
        text = rich_text(e.diagnostics)
        text.rstrip()
        return text, getattr(e, "status", 1)
    for status, module, name in KNOWN:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(e, getattr(loaded, name, ())):
            return str(e), status
    if isinstance(e, MemoryError):
        return "there is not enough memory", 2
    if isinstance(e, OSError):
        where = e.filename or ("standard output" if e.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO) else "")
        return f"{where}{': ' * bool(where)}{e.strerror or e}", 2
    return str(e), None


# Errors that are the input's, with their exit status; a class that is not loaded cannot have been raised.
KNOWN = (
    (2, "lpn.lang.tables", "TablesError"), (2, "lpn.runtime.capture", "CaptureError"),
    (2, "lpn.compiler.image", "ImageError"), (2, "lpn.compiler.bundle", "BundleError"),
    (2, "lpn.runtime.engines", "EngineUnavailable"), (1, "lpn.runtime.engines", "EngineError"),
    (1, "lpn.compiler.forms", "BuildError"), (1, "lpn.compiler.elf", "ElfError"),
    (1, "lpn.lang.reference", "NotSupported"), (2, "elftools.common.exceptions", "ELFError"),
)


def _flush_quietly() -> None:
    """What was printed comes before the message; a disk that is full is the message."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        _abandon(sys.stdout)


def _abandon(stream: TextIO) -> None:
    """Nobody reads it any more: the interpreter's own flush at exit must not complain."""
    name = "stdout" if stream is sys.stdout else "stderr"
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


class Closed(io.RawIOBase):
    """Standard input that whoever started us has closed."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise OSError(errno.EBADF, "it is closed", "standard input")


HELP = """The compiler of LPN: packet programs for low-power radio nodes.

\b
  lpnc check  examples/udp/udp.lpn
  lpnc build  examples/udp/udp.lpn -o build/udp
  lpnc verify examples/udp/udp.lpn
  lpnc run    examples/udp/udp.lpn --in examples/udp/captures/riot_udp.pcap
  lpnc test   examples/udp
  lpnc disasm examples/udp/udp.lpn
  lpnc fmt    --check examples/udp/udp.lpn

\b
Exit status: 0 done, accepted; 1 rejected (an error in the source, a rule
violated, engines that differ); 2 usage, or input that cannot be read;
130 interrupted (control-C); 141 whoever read the output has left.

With --json, what is wrong with a program is an object on standard output,
whatever the command, with the members that lpnc check --json gives it: errors
in a source, with their place, and without one that it cannot be read, or that
nothing can be made of it. Warnings are objects with lpnc check alone, elsewhere
text on standard error, as is what is wrong with other files and options.
"""


@click.group(cls=Cli, help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="lpn", prog_name="lpnc")
def cli() -> None:
    pass


def main() -> None:
    """What start.py runs."""
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(Closed()))
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:          # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        getattr(sys, name).reconfigure(errors="backslashreplace")
    gc.set_threshold(1_000_000, 20, 100)        # a compiler makes many objects that stay; looking for cycles took a fifth of its time
    try:
        cli()
    finally:
        gc.freeze()                             # nor is it worth to look for them when all of it goes


if __name__ == "__main__":
    main()
