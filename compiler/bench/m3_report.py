"""The figures of the emulated Cortex-M3 as tables."""
from __future__ import annotations

from ..output import Table, say
from .m3 import OnM3, Spent

MICRO = ["", ">eBPF executed", ">Thumb", ">cycles", ">to native C", ">with wait states", ">to native C "]
PACKETS = ["", ">Thumb", ">cycles", ">to native C", ">with wait states"]
SIZES = ["part of the engine", ">bytes of flash", ">bytes of RAM"]
LOADING = ["", ">eBPF slots", ">image bytes", ">Thumb bytes", ">check, cycles a slot", ">certificate", ">plan", ">translate"]


def times(spent: Spent, native: Spent | None, waiting: bool = False) -> str:
    """How many times as long as native C."""
    if native is None:
        return ""
    mine, theirs = (s.flash_cycles if waiting else s.cycles for s in (spent, native))
    return f"{mine / theirs:.1f}"


def micro_rows(m: OnM3) -> list[list]:
    return [[f"{name}, {form}", s.insns, s.thumb, s.cycles, times(s, forms["native C"]), s.flash_cycles, times(s, forms["native C"], True)]
            for name, forms in m.micro.items() for form, s in forms.items()]


def packet_rows(m: OnM3) -> list[list]:
    """The first frame."""
    rows = []
    for name, forms in m.packets.items():
        first = {form: next(iter(by_frame.values())) for form, by_frame in forms.items()}
        rows += [[f"{name}, {form}", s.thumb, s.cycles, times(s, first.get("native C")), s.flash_cycles] for form, s in first.items()]
    return rows


def size_rows(m: OnM3) -> list[list]:
    return [[part, size, ""] for part, size in m.text.items()] + [[what, "", size] for what, size in m.memory.items()]


def loading_rows(m: OnM3) -> list[list]:
    return [[name, x.insns, x.image, x.code, *(f"{cycles / x.insns:,.0f}" for cycles in (x.check, x.certificate, x.plan, x.translate))]
            for name, x in m.loading.items()]


TABLES = {"m3_micro": (MICRO, micro_rows), "m3_packets": (PACKETS, packet_rows), "m3_loading": (LOADING, loading_rows),
          "m3_sizes": (SIZES, size_rows)}


def show(m: OnM3) -> None:
    """On the terminal."""
    if m.absent:
        say(f"On the Cortex-M3: not measured, {m.absent}.", style="yellow")
        return
    say(f"\nOn an emulated Cortex-M3; gcc {m.compiler}", style="bold")
    for columns, rows in TABLES.values():
        table = Table(columns)
        for row in rows(m):
            table.add(*row)
        table.show()
        say()
