"""`lpnc engines`: what can run programs here."""
from __future__ import annotations

import click

from ..output import Table, put_json, waiting
from .inputs import json_option

ABOUT = {
    "engine": "the C engine a node runs, compiled for this machine",
    "reference": "the language's meaning, run on the typed program",
    "rbpf": "the rbpf crate, an independent interpreter",
    "m3": "that C engine on an emulated Cortex-M3, its cycles counted",
    "thumb2": "containers translated to Thumb-2 on that core",
    "kernel": "Linux, through bpf(2)",
}


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Which engines can run programs here, and why others cannot."""
    from ..runner import ENGINES
    table = Table(["engine", "available", "what it is", "why not"])
    for name in ENGINES:
        why = missing(name)
        if as_json:
            put_json({"engine": name, "available": why is None, "about": ABOUT.get(name), "why_not": why})
        else:
            table.add(name, "no" if why else "yes", ABOUT.get(name), why, style="dim" if why else "")
    if not as_json:
        table.show()
    return 0


def missing(name: str) -> str | None:
    """One line that says why an engine cannot be used here; None when it can."""
    from lpn.runtime.engines import EngineUnavailable, get_engine
    try:
        if name == "kernel":
            from lpn.runtime.kernel import check_available
            check_available()
        elif name != "reference":
            with waiting(f"building engine {name}"):
                get_engine(name)
    except EngineUnavailable as e:
        return str(e)
    return None
