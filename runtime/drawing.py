"""What plots are drawn with."""
from __future__ import annotations

from typing import Any

import click


class NoDrawing(click.ClickException):
    exit_code = 2


def pyplot() -> Any:
    """matplotlib's, which draws into files. Raises NoDrawing where it is not installed: ask before what takes long."""
    try:
        import matplotlib
    except ImportError:
        raise NoDrawing("a plot needs matplotlib: pip install 'lpn[bench]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as drawing
    return drawing
