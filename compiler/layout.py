"""Where a header's bits lie: its units on the wire, and the header record that modules of a chain share.

A *unit* is the smallest run of whole octets that is read or written together: one field, the bit-fields that share octets, a
`word`, a `choice`, or a `varbit`. Units whose presence or size depends on the packet end a *run*, which is no longer than the window: inside a run every
offset is a constant.
"""
from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass, field

from lpn.lang import ast
from lpn.compiler.state import scalar_width
from lpn.compiler.target import WINDOW
from lpn.lang.types import Stack, Varbit


def field_width(f: ast.Field | ast.ChoiceArm) -> int:
    """Bits of a field that is not a varbit."""
    return scalar_width(f.type)


@dataclass(eq=False)
class Unit:
    """`bits`: its size when present (0 for a varbit, the widest arm's for a choice). `fields`: each with the number of its
    least significant bit in the unit's number. `run`, `offset`: octets from the start of that run. `image`: octets from
    the start of the header's image in the record."""

    bits: int
    fields: list[tuple[ast.Field, int]] = field(default_factory=list)
    little: bool = False
    when: ast.Expr | None = None
    choice: ast.ChoiceField | None = None
    varbit: ast.Field | None = None
    run: int = 0
    offset: int = 0
    image: int = 0

    @property
    def variable(self) -> bool:
        return self.when is not None or self.choice is not None or self.varbit is not None

    @property
    def octets(self) -> int:
        return self.bits // 8

    @property
    def max_octets(self) -> int:
        return self.varbit.type.max_width // 8 if self.varbit else self.bits // 8


VARBIT_SLOT = 4                                 # u16 offset in the packet, u16 octets


class HeaderLayout:
    """The units of one header type."""

    def __init__(self, header: ast.Header):
        self.header = header
        self.units: list[Unit] = []
        self.unit_of: dict[object, Unit] = {}
        self.shift_of: dict[ast.Field, int] = {}
        pending: list[ast.Field] = []
        width = 0
        for item in header.items:
            if isinstance(item, ast.Where):
                continue
            if isinstance(item, ast.Field) and item.when is None and not isinstance(item.type, Varbit):
                pending.append(item)
                width += field_width(item)
                alone = len(pending) == 1 and width % 8 == 0
                if width % 8 == 0:
                    at, parts = width, []
                    for f in pending:
                        at -= field_width(f)
                        parts.append((f, at))
                    self._add(Unit(width, parts, little=alone and item.little))
                    pending, width = [], 0
                continue
            if isinstance(item, ast.Field):
                if isinstance(item.type, Varbit):
                    self._add(Unit(0, [], varbit=item, when=item.when))
                else:
                    self._add(Unit(field_width(item), [(item, 0)], little=item.little, when=item.when))
            elif isinstance(item, ast.Word):
                at, parts = 0, []
                for f in item.fields:
                    parts.append((f, at))
                    at += field_width(f)
                self._add(Unit(item.width, parts, little=item.little))
            elif isinstance(item, ast.ChoiceField):
                self._add(Unit(max(field_width(a) for a in item.arms), choice=item))
        self._place()

    def _add(self, unit: Unit) -> None:
        self.units.append(unit)
        for f, shift in unit.fields:
            self.unit_of[f] = unit
            self.shift_of[f] = shift
        if unit.choice:
            self.unit_of[unit.choice] = unit
        if unit.varbit:
            self.unit_of[unit.varbit] = unit

    def _place(self) -> None:
        run = offset = image = 0
        for unit in self.units:
            if offset and offset + unit.octets > WINDOW:        # where a run begins is in the packet: what lies further behind may not be
                run, offset = run + 1, 0
            unit.run, unit.offset = run, offset
            if unit.varbit:
                image = (image + 1) & ~1
            unit.image = image
            image += VARBIT_SLOT if unit.varbit else unit.octets
            offset += unit.octets
            if unit.variable:
                run, offset = run + 1, 0
        # a run without units is only the header's end
        self.runs = (self.units[-1].run + 1) if self.units else 1
        self.image_size = image
        self.fixed = not any(u.variable for u in self.units)
        self.min_octets = sum(u.octets for u in self.units if not u.variable)
        self.max_octets = sum(u.max_octets for u in self.units)


@dataclass(eq=False)
class InstanceLayout:
    """One header instance of the program: `field` of the headers struct, `index` in a stack or None.

    Record offsets: `valid` (u8); if it lives in the packet, or what is assigned is written there too (`through`), `bases`, a u16 offset in the packet
    for each run; if it has an image, `image`, where its units lie at their image offsets. `field` is None for a parser's own header. Elements that are a `run` in the
    packet share one octet, how many there are, and one offset, that of the first."""

    field: ast.StructField | None
    index: int | None
    header: ast.Header
    layout: HeaderLayout
    in_packet: bool
    through: bool = False
    run: bool = False
    valid: int = 0
    bases: list[int] = field(default_factory=list)
    image: int = 0

    @property
    def name(self) -> str:
        if self.field is None:                  # a parser's own header
            return self.header.name
        return self.field.name if self.index is None else f"{self.field.name}[{self.index}]"


class RecordLayout:
    """The header record: validity octets, then packet offsets, then images. `hash` identifies the layout."""

    def __init__(self, program: ast.Program, representation: dict[ast.StructField, str], runs: Collection[ast.StructField] = ()):
        """`runs`: the stacks whose elements are."""
        self.layouts: dict[ast.Header, HeaderLayout] = {}
        self.instances: list[InstanceLayout] = []
        self.by_field: dict[ast.StructField, list[InstanceLayout]] = {}
        if program.headers_struct is not None:
            for f in program.headers_struct.fields:
                t = f.type
                header = t.header.decl if isinstance(t, Stack) else t.decl
                indices = range(t.size) if isinstance(t, Stack) else [None]
                for i in indices:
                    in_packet = f in runs or representation[f] == "packet"
                    inst = InstanceLayout(f, i, header, self.header(header), in_packet, representation[f] == "through", f in runs)
                    self.instances.append(inst)
                    self.by_field.setdefault(f, []).append(inst)
        self._place()

    def header(self, header: ast.Header) -> HeaderLayout:
        if header not in self.layouts:
            self.layouts[header] = HeaderLayout(header)
        return self.layouts[header]

    def _place(self) -> None:
        at = 0
        own = [inst for inst in self.instances if not (inst.run and inst.index)]
        for inst in own:
            inst.valid, at = at, at + 1
        at = (at + 1) & ~1
        for inst in own:
            if inst.in_packet or inst.through:
                inst.bases = [at + 2 * r for r in range(inst.layout.runs)]
                at += 2 * inst.layout.runs
        for inst in self.instances:
            if not inst.in_packet:
                at = (at + 3) & ~3
                inst.image, at = at, at + inst.layout.image_size
        for inst in self.instances:
            if inst.run:
                first = self.element(inst.field, 0)
                inst.valid, inst.bases = first.valid, first.bases
        self.size = (at + 7) & ~7
        self.hash = zlib.crc32(self.describe().encode())

    def describe(self) -> str:
        """The layout as text; two programs with the same text can exchange modules."""
        lines = []
        for inst in self.instances:
            where = f"run {inst.bases}" if inst.run else f"bases {inst.bases}" if inst.in_packet else f"image {inst.image}"
            units = ",".join(f"{u.run}:{u.offset}:{u.bits}:{u.image}:{'+'.join(f.name for f, _ in u.fields)}"
                             for u in inst.layout.units)
            lines.append(f"{inst.name} {inst.header.name} valid {inst.valid} {where} [{units}]")
        return "\n".join(lines)

    def element(self, f: ast.StructField, index: int | None) -> InstanceLayout:
        return self.by_field[f][index or 0]

    def after(self, inst: InstanceLayout) -> list[InstanceLayout]:
        """The instances declared after this one: what follows it in a packet."""
        return self.instances[self.instances.index(inst) + 1:]
