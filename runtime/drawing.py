"""What the plots of the emulated board are drawn with."""
from __future__ import annotations

from typing import Any

import click


def pyplot() -> Any:
    """matplotlib's, which draws into files. Raises ClickException where it is not installed: ask before what takes long."""
    try:
        import matplotlib
    except ImportError:
        raise click.ClickException("a plot needs matplotlib: pip install 'lpn[bench]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as drawing
    return drawing
