"""The entry point `lpnc`: control-C while the command itself is being loaded ends it as it does later."""
from __future__ import annotations

import sys

INTERRUPTED = 130                               # as a shell reports SIGINT


def main() -> None:
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()
