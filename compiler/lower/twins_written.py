"""Two groups of a codec whose rows say the same of two fields, written: their rows are tried in one place, for one field and then for the other.

As `twins` has it of packets that are read. What one group alone has of rows is tried in its own turn, where it stands among those of both.
"""
from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import llvmlite.ir as ir

from lpn.compiler.bits import I32, Val, i32
from lpn.compiler.layout import field_width
from lpn.lang import ast
from lpn.lang.types import Bits as BitsType

from .codec import group_reason, tag_shift, tag_width
from .instance import Instance
from .one_of_two import OneOfTwo
from .places import Place, StructPlace, Value, variable
from .twins import Twins


@dataclass(eq=False)
class Written:
    """`tried`: rows in the order in which they are, those together that share a call; of a row that one group has alone: the turn that is its own,
    else None. `moved`: how many bits of the tag the first group's lie above the second's, as they are sent."""

    twins: Twins
    tried: list[tuple[int | None, list[ast.Row]]]
    moved: int


class RowBits(Value):
    """What of the tag says which row it is, kept where the first group's bits are: `by` so many above it. A row that writes nothing says so."""

    def __init__(self, lower, bits: Place, octets: ir.Value, by: int):
        self.lower, self.bits, self.octets, self.by = lower, bits, octets, by

    def set(self, value: Val) -> None:
        self.bits.set(moved(self.lower, value, self.by))
        self.lower.b.store(i32(0), self.octets)


def moved(lower, value: Val, by: int) -> Val:
    return lower.shift(lower.resize(value, 32), lower.constant(32, abs(by)), left=by > 0)


class WrittenTwins:
    """Mixed into `Lowering`."""

    def written_alike(self, codec: ast.Codec, index: int) -> Written | None:
        """That a group and the next one are twins, and can be written as such."""
        twins = self.twins(codec, index, self.said_alone) if self.walks and self.may_pair else None
        if twins is None:
            return None
        places = [place_of_bits(codec, group) for group in (twins.first, twins.second)]
        tried = self.in_one_order(twins)
        if None in places or tried is None or places[0] + sum(name.decl.width for name in twins.second.tags) > 32:
            return None
        return Written(twins, tried, places[0] - places[1])

    def said_alone(self, group: ast.Group) -> list[ast.Field]:
        """The field that all rows of a group say, if it is one of some words."""
        named = set().union(*(self.row_fields(row) for row in group.rows))
        return [f for f in named if isinstance(f, ast.Field) and isinstance(f.type, BitsType) and field_width(f) % 32 == 0 and not f.little and f.when is None]

    def in_one_order(self, twins: Twins) -> list[tuple[int | None, list[ast.Row]]] | None:
        """The rows of both groups, each in the order of its own; None if what both have stands in two orders."""
        rest = [*twins.second.rows]
        said = {row: other for other, row in twins.rows.items()}
        out: list[tuple[int | None, list[ast.Row]]] = []
        for together in self.in_turns(twins.first.rows):
            others = [said.get(row) for row in together]
            if others == [None]:
                out.append((0, together))
                continue
            while rest and rest[0] is not others[0]:
                if rest[0] in twins.rows:
                    return None
                out.append((1, [rest.pop(0)]))
            if rest[:len(others)] != others:
                return None
            del rest[:len(others)]
            out.append((None, together))
        return None if any(row in twins.rows for row in rest) else out + [(1, [row]) for row in rest]

    def compress_twins(self, codec: ast.Codec, inst: Instance, pair: Written) -> Val:
        """Writes both groups; the bits of the tag that say how."""
        b, twins, (f, g) = self.b, pair.twins, pair.twins.fields
        self.paired = True
        turn, begin, octets = (self.alloca(I32, name) for name in ("turn", "begin", "octets"))
        start, width, before = self.here(), tag_width(codec), self.at_most
        head, written, again, last = (b.append_basic_block(f"twins.{n}") for n in ("head", "written", "again", "last"))
        bits, word = variable(self, BitsType(32), f"{codec.name}.tag"), OneOfTwo(self, inst, twins.fields)
        first = variable(self, BitsType(32), f"{codec.name}.tag")
        variables = {v.name: v for v in codec.vars}
        numbers = {v: variable(self, v.type, v.name) for v in codec.vars if twins.names.get(v.name) in variables}
        others = {variables[twins.names[v.name]]: place for v, place in numbers.items()}
        structs = {p: self.turns_of(self.env[p], twins.names) for p in codec.params
                   if isinstance(self.env[p], StructPlace) and any(s.name in twins.names for s in p.type.decl.fields)}
        for mine, names in ((True, {}), (False, twins.names)):
            word.be(not mine)
            for v, place in numbers.items():
                place.set(self.env[v if mine else variables[twins.names[v.name]]].get())
            for p, place in structs.items():
                given = self.env[p].fields
                for name in twins.names.keys() & given.keys():
                    other = names.get(name, name)
                    alike = other in given and given[other].type == given[name].type        # else the name is one of something else
                    place.fields[name].set(given[other if alike else name].get())
            b.store(b.load(octets, typ=I32) if not mine else i32(0), begin)
            b.store(self.opaque(i32(not mine), here=True), turn)
            b.branch(head)
            b.position_at_end(again)
            if mine:
                first.set(bits.get())
        b.position_at_end(head)
        self.mark(keeps=True, once=True)        # a turn whose answers are known begins there all the same: a loop has one entry
        # Not moved on from turn to turn, of which no verifier would know an end: where it begins is where the first turn ended.
        b.store(self.at(start, b.load(begin, typ=I32)), self.at_slot)
        self.said_octets, most = octets, [0, 0]
        for only, entries in groupby(pair.tried, key=lambda entry: entry[0]):
            past = None
            if only is not None:
                past, own = b.append_basic_block("twins.past"), b.append_basic_block("twins.own")
                b.cbranch(b.icmp_unsigned("==", b.load(turn, typ=I32), i32(only)), own, past)
                b.position_at_end(own)
            group = twins.second if only else twins.first
            field, stands = (f, {**numbers, **structs}) if only != 1 else (g, others)
            with self.reading_instead(field, word), self.standing_for(stands):
                for _, together in entries:
                    self.at_most = before               # what walks asks for no room
                    goes_on = self.try_in_order(codec, inst, group, together, RowBits(self, bits, octets, pair.moved if only else 0), written)
                    for n in (0, 1):
                        most[n] = max(most[n], self.at_most - before) if only in (None, n) else most[n]
                    if not goes_on:
                        break
            if past is not None:
                if goes_on:
                    b.branch(past)
                b.position_at_end(past)
            elif not goes_on:
                break
        else:
            for n, group in enumerate((twins.first, twins.second)):
                none, other = b.append_basic_block("no_row"), b.append_basic_block("twins.other")
                b.cbranch(b.icmp_unsigned("==", b.load(turn, typ=I32), i32(n)), none, other)
                b.position_at_end(none)
                self.return_drop(i32(self.reason(group_reason(codec, group))))
                b.position_at_end(other)
            b.unreachable()
        b.position_at_end(written)
        self.at_most = before + sum(most)
        self.said_octets = None
        b.cbranch(b.icmp_unsigned("==", b.load(turn, typ=I32), i32(0)), again, last)
        b.position_at_end(last)
        b.store(self.at(self.here(), b.load(octets, typ=I32)), self.at_slot)
        return self.or_(self.resize(first.get(), width), self.resize(moved(self, bits.get(), -pair.moved), width))

    def turns_of(self, place: StructPlace, names: dict[str, str]) -> StructPlace:
        """A variable for what a codec is given, by the names of the first group, whichever turn it is."""
        return StructPlace(place.type, {name: variable(self, part.type, name) if name in names else part for name, part in place.fields.items()})


def place_of_bits(codec: ast.Codec, group: ast.Group) -> int | None:
    """The number of the least significant bit that says which row of a group it is, in a tag as it is sent; None if they lie apart, or it has more
    bits than a register."""
    pieces = [name.decl for name in group.tags]
    if not pieces or tag_width(codec) > 32:
        return None
    shifts = [tag_shift(codec, piece) for piece in pieces]
    if any(shift != other + piece.width for shift, other, piece in zip(shifts, shifts[1:], pieces[1:])):
        return None
    low, high = shifts[-1], shifts[0] + pieces[0].width - 1
    return 8 * (tag_width(codec) // 8 - 1 - low // 8) + low % 8 if low // 8 == high // 8 else None
