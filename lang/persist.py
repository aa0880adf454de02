"""What a program keeps when another version takes its place: persistent registers by name and type, and migrations.

Both kinds of programs, checked ones and bundles, ask here what is kept; both tell it by `Layout`.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from . import ast
from .handler_names import alone
from .tables import stateful
from .types import Array, Bool, EnumType, StructType, Type

#: Persistent registers: name (`Module.name`) to type, as `shape` writes it.
Layout = Mapping[str, str]

_NUMBER = re.compile(r"(?:bit|int)<\d+>")


class StateError(Exception):
    """The state of the program that runs cannot become the new one's; one line that names the register."""


def shape(type_: Type | None) -> str:
    """A register's type by what its cells hold, so that types with the same text have the same bits in the same places."""
    if isinstance(type_, Array):
        return f"{shape(type_.cell)}[{type_.size}]"
    if isinstance(type_, StructType):
        return "{" + ", ".join(f"{field.name}: {shape(field.type)}" for field in type_.decl.fields) + "}"
    if isinstance(type_, EnumType):
        return shape(type_.decl.base.type)
    return "bool" if isinstance(type_, Bool) else str(type_)


def layout(program: ast.Program) -> dict[str, str]:
    return {name: shape(decl.type) for name, decl in stateful(program) if isinstance(decl, ast.Register) and decl.persistent}


def version(program: ast.Program) -> int:
    """The version of the program's protocol; 0 where it has none."""
    protocol = next((decl for decl in program.decls if isinstance(decl, ast.Protocol)), None)
    return int(protocol.version.const or 0) if protocol is not None and protocol.version is not None else 0


@dataclass(frozen=True)
class Migration:
    """A `migrate` block. `name`: its container's; `needs`: what it reads of the old state."""

    name: str
    version: int
    needs: Layout
    decl: ast.Migrate | None = None


def migrations(program: ast.Program) -> list[Migration]:
    """Every `migrate` block, in order of declaration. Those of one version that stand at the same place are numbered from the second on."""
    found: dict[str, Migration] = {}
    for prefix, decl in migrate_blocks(program):
        number = int(decl.version.const or 0)
        name = alone(f"{prefix}migrate.{number}", found)
        found[name] = Migration(name, number, {prefix + old.name: shape(old.type) for old in decl.old}, decl)
    return list(found.values())


def migrate_blocks(program: ast.Program) -> Iterator[tuple[str, ast.Migrate]]:
    """Each with what stands before the names of its module's registers."""
    for decl in program.decls:
        if isinstance(decl, ast.Migrate):
            yield "", decl
        elif isinstance(decl, ast.Processor):
            for local in decl.locals:
                if isinstance(local, ast.Migrate):
                    yield f"{decl.name}.", local


def advice(name: str, was: str, becomes: str, old_version: int, new_version: int) -> str:
    """How to write what takes the old content of a register over; whole where a cast does."""
    module, _, own = name.rpartition(".")
    cell, array = re.fullmatch(r"(.*?)((?:\[\d+\])?)", was).groups()                     # type: ignore[union-attr]
    declared = f"register<{'...' if '{' in cell else cell}>{array} {own}"
    value = f"({becomes}) old.{own}" if all(map(_NUMBER.fullmatch, (was, becomes))) else f"... old.{own} ..."
    text = f"write migrate version {old_version} {{ {declared}; {own} = {value}; }} where it stands{', which no timing block can have' if module else ''}"
    return f"give the new program a version of its own and {text}" if new_version in (0, old_version) else text


@dataclass(frozen=True)
class Plan:
    """What becomes of the new program's persistent registers: `kept` have the old content, then the migrations run. `anew`: those of
    another type than before, that no migration reads; `lost`: the old program's that the new one has not, and no migration reads."""

    kept: tuple[str, ...]
    migrations: tuple[Migration, ...]
    anew: tuple[str, ...]
    lost: tuple[str, ...] = ()

    def told(self) -> list[tuple[str, str]]:
        """For people: (what a replacement does, with what). Nothing where the old program kept nothing and no migration runs."""
        if not (self.kept or self.migrations or self.anew or self.lost):
            return []
        return [("keeps", ", ".join(self.kept) or "nothing"), *(("runs", migration.name) for migration in self.migrations),
                *(("begins", f"{name} anew, which had another type and no migration reads") for name in self.anew),
                *(("loses", f"{name}, which it does not have and no migration reads") for name in self.lost)]


def plan(old: Layout, old_version: int, new: Layout, new_version: int, blocks: Sequence[Migration]) -> Plan:
    """How the old state becomes the new one; the old version may be the later one. Raises StateError."""
    chosen = tuple(block for block in blocks if block.version == old_version)
    for block in chosen:
        for name, type_ in block.needs.items():
            if name not in old:
                raise StateError(f"migrate version {old_version} reads register '{name}', and version {old_version} keeps no such register"
                                 f" (it keeps {', '.join(old) or 'none'})")
            if old[name] != type_:
                raise StateError(f"migrate version {old_version} reads register '{name}' as {type_}, and in version {old_version} it is {old[name]}")
    changed = [name for name, type_ in new.items() if old.get(name, type_) != type_]
    if changed and not chosen:
        name, *others = changed
        also = f"; {', '.join(others)} changed, too, and begin{'s' * (len(others) == 1)} anew where no migration says otherwise" if others else ""
        raise StateError(f"persistent register '{name}' is {new[name]}, and in version {old_version}, which runs, it is {old[name]}: "
                         f"{advice(name, old[name], new[name], old_version, new_version)}, or give it another name{also}")
    anew = tuple(name for name in changed if not any(name in block.needs for block in chosen))
    lost = tuple(name for name in old if name not in new and not any(name in block.needs for block in chosen))
    return Plan(tuple(name for name, type_ in new.items() if old.get(name) == type_), chosen, anew, lost)
