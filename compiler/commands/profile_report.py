"""What `lpnc profile` says of a program that was profiled: by part of the engine, module, source line, instruction."""
from __future__ import annotations

from bisect import bisect_right

from lpn.runtime.m3.profile import NOWHERE, Cost, Profile, Profiled, ProfiledCode, by

from ..build import Compiled
from ..disasm import format_instruction
from ..isa import decode, slot_indices
from ..judge import Lines, Unit, of_compiled
from ..output import Table, count, put_json, say


class Report:
    """What is said of profiled programs, all compiled as `made`."""

    def __init__(self, made: Compiled, top: int, listing: bool) -> None:
        self.units, self.top, self.listing = of_compiled(made), top, listing
        self.where = {unit.name: Places(unit, self.units.sources) for unit in self.units.items}

    def lines(self, found: Profile) -> dict[tuple[str, int], Cost]:
        return by(inside(found), lambda module, slot: self.where[module].line(slot))

    def put(self, profiled: Profiled | ProfiledCode, hook: str | None) -> None:
        found, code = profiled.profile, code_of(profiled)
        put_json(({} if hook is None else {"hook": hook}) | {
            "frames": found.frames, "thumb": found.total.thumb, "cycles": found.total.cycles,
            "parts": [{"part": name, **cost(c)} for name, c in ranked(found.parts)],
            "outside": cost(found.slots[NOWHERE]),
            "modules": [{"module": name, "executed": c.times, **cost(c)} for name, c in ranked(modules(found))],
            "lines": [{"file": at[0], "line": at[1], "executed": c.times, **cost(c)} for at, c in ranked(self.lines(found))],
            "instructions": [{"module": module, "slot": slot, "text": self.where[module].text[slot], "executed": c.times, **cost(c),
                              **({"code": [insn.text for insn in code.get((module, slot), ())]} if code else {})}
                             for (module, slot), c in sorted(found.slots.items()) if module]})

    def show(self, profiled: Profiled | ProfiledCode, what: str) -> None:
        """`what` it is that runs: a packet, a run."""
        found, sources = profiled.profile, self.units.sources
        everything = found.total.cycles
        say(f"{count(found.frames, what)}: {found.total.cycles / found.frames:,.0f} cycles and {found.total.thumb / found.frames:,.0f} "
            f"Thumb instructions each, on average\n")
        show("part of the engine", found.parts, found.frames, everything)
        show("module", {**modules(found), "(between modules)": found.slots[NOWHERE]}, found.frames, everything, executed=True)
        first = dict(ranked(self.lines(found))[:self.top])
        show("source line", {called(at): c for at, c in first.items()}, found.frames, everything, executed=True,
             quote={called(at): quoted(sources, *at) for at in first})
        ran = {module for module, _ in inside(found)}
        for unit in self.units.items if self.listing else ():
            if what == "packet" or unit.name in ran:
                annotated(unit, self.where[unit.name], found, code_of(profiled), everything)


class Places:
    """A module's instructions by slot, and the source lines they come from."""

    def __init__(self, unit: Unit, sources: dict[str, list[str]]):
        program = decode(unit.text)
        self.text = dict(zip(slot_indices(program), map(format_instruction, program)))
        rows: Lines = sorted(unit.lines)
        self.slots, self.rows = [row[0] for row in rows], rows

    def line(self, slot: int) -> tuple[str, int]:
        at = bisect_right(self.slots, slot) - 1
        return self.rows[at][1:] if at >= 0 else ("", 0)


def code_of(profiled: Profiled | ProfiledCode) -> dict:
    """What was written for each instruction, by module and slot, where containers are translated."""
    return profiled.listing if isinstance(profiled, ProfiledCode) else {}


def inside(found: Profile) -> dict[tuple[str, int], Cost]:
    """What was executed in containers."""
    return {place: c for place, c in found.slots.items() if place != NOWHERE}


def modules(found: Profile) -> dict[str, Cost]:
    return by(inside(found), lambda module, slot: module)


def called(line: tuple[str, int]) -> str:
    return f"{line[0]}:{line[1]}" if line[1] else "(no line)"        # a container's first instructions


def cost(c: Cost) -> dict[str, int]:
    return {"thumb": c.thumb, "cycles": c.cycles}


def ranked(costs: dict) -> list:
    return sorted(costs.items(), key=lambda item: (-item[1].cycles, str(item[0])))


def quoted(sources: dict[str, list[str]], file: str, line: int) -> str:
    lines = sources.get(file, ())
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def show(what: str, costs: dict, frames: int, everything: int, executed: bool = False, quote: dict[str, str] | None = None) -> None:
    """A table, the costliest first; numbers are of a packet in the mean."""
    table = Table([what, *([">eBPF"] if executed else []), ">Thumb", ">cycles", ">%", *([">cycles/eBPF"] if executed else []),
                   *(["source"] if quote else [])])
    for name, c in ranked(costs):
        more = [f"{c.cycles / c.times:.1f}" if c.times else ""] if executed else []
        table.add(name, *([f"{c.times / frames:,.1f}"] if executed else []), f"{c.thumb / frames:,.1f}", f"{c.cycles / frames:,.1f}",
                  f"{100 * c.cycles / everything:.1f}", *more, *([quote[name]] if quote else []))
    table.show()
    say()


def annotated(unit: Unit, places: Places, found: Profile, code: dict, everything: int) -> None:
    """Every instruction: executed, cycles, share; under it the Thumb code, where there is some."""
    def figures(c: Cost | None) -> str:
        return f"{c.times:8,} {c.cycles:10,} {100 * c.cycles / everything:5.1f} %" if c else " " * 27

    def thumb(slot: int) -> None:
        for insn in code.get((unit.name, slot), ()):
            say(f"{figures(found.code.get(insn.address))}            {insn.address & 0xFFFFF:05x}  {insn.text}")

    say(f"; {unit.name}")
    thumb(-1)                                   # the way in
    before = None
    for slot, text in places.text.items():
        line = places.line(slot)
        if line != before:
            say(f"; {called(line)}")
            before = line
        say(f"{figures(found.slots.get((unit.name, slot)))} {slot:6}:  {text}")
        thumb(slot)
    say()
