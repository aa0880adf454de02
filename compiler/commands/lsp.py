"""`lpnc lsp`: the language server."""
from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import click

from ..output import Failure, say


@click.command()
@click.option("--stdio", is_flag=True, help="Speak over standard input and output; it always does.")
def command(stdio: bool) -> int:
    """Serve an editor with diagnostics, hover, definitions, completion and formatting.

    It speaks the Language Server Protocol over standard input and output; an
    editor starts it. docs/editor.md says how to set editors up.
    """
    if find_spec("pygls") is None:
        raise Failure("the language server needs the package pygls: pip install 'lpn[lsp]'")
    if sys.stdin.isatty():
        say("lpnc lsp: an editor starts this and speaks with it; docs/editor.md says how (ctrl-C ends it)", err=True)
    from lpn.lang.server.messages import MessageError, Messages
    from lpn.lang.server.server import server
    # The protocol has standard output for itself, and closes it: whatever is printed goes where it does no harm.
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    try:
        server.start_io(Messages(sys.stdin.buffer), stream)
    except MessageError as e:
        raise Failure(f"{e}; the language server ends") from None
    return server.protocol.status
