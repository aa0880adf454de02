"""The chains of a compiled program in an engine, which loads one: each that runs is loaded for itself, and the state goes from one to the next."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from lpn.lang import tables as control
from lpn.runtime.engines import Engine, Entry, Externs, Program, Result

from .build import Compiled


class Chains:
    """`hook`, in all of it: the number of the one whose chain is meant; None: radio.rx_done."""

    def __init__(self, compiled: Compiled, engine: Engine, given: control.Tables | None, externs: Externs | None = None, first: int | None = None):
        self.bundle, self.engine, self.externs = compiled.bundle, engine, externs
        self.entries: dict[str, list[Entry]] = dict(compiled.entries(given))
        self.loaded: dict[int | None, Program] = {}
        self.holder = self.at(first)            # it has the state
        self.holder.set_state(compiled.initial_state(given))

    def at(self, hook: int | None) -> Program:
        """What runs the chain."""
        if hook not in self.loaded:
            one = self.loaded[hook] = self.engine.load(self.bundle, externs=self.externs, hook=None if hook is None else self.bundle.hooks[hook])
            for table, entries in self.entries.items():
                one.set_entries(table, entries)
        return self.loaded[hook]

    def run(self, frame: bytes, meta: Mapping[str, int] | None, hook: int | None) -> Result:
        """One frame through the chain. What is kept in buffers is the chain's own."""
        one = self.at(hook)
        if one is not self.holder:
            one.set_state(self.holder.state())
            self.holder = one
        return one.run(frame, meta)

    def state(self) -> bytes:
        return self.holder.state()

    def set_entries(self, table: str, entries: Iterable[Entry]) -> None:
        """For all chains."""
        self.entries[table] = list(entries)
        for one in self.loaded.values():
            one.set_entries(table, self.entries[table])
