"""Two groups of a codec whose rows say the same of two fields are lowered once, for short code: as the two turns of a loop.

Source and destination of a compressed IPv6 header are made in the same ways, of other bits of the tag and of the other end of the link. What rows say
alike but for names is lowered for the first of the two; in the second turn the names stand for the other one's. A packet whose second field is none of
what both have leaves the loop for the rest of the second group.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import llvmlite.ir as ir

from lpn.compiler.bits import I32, Val, i32
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import StructType

from .alike import TOKEN, renamed
from .codec import inline_octets, tag_shift
from .following import row_key
from .instance import Instance
from .places import MadeAnew, Place, StructPlace, Value, member, variable

FEW_TWINS = 4                                   # rows alike: fewer are not worth a loop


@dataclass(eq=False)
class Twins:
    """`names`: what the first group calls something, and the second; `keys`: of the rows that both have; `rows`: the second group's of them, and
    the first group's that say the same."""

    first: ast.Group
    second: ast.Group
    fields: tuple[ast.Field, ast.Field]
    names: dict[str, str] = field(default_factory=dict)
    keys: set[int] = field(default_factory=set)
    rows: dict[ast.Row, ast.Row] = field(default_factory=dict)


class TwinGroups:
    """Mixed into `Lowering`."""

    def twins(self, codec: ast.Codec, index: int, said: Callable[[ast.Group], list[ast.Field]]) -> Twins | None:
        """That a group and the next one are. `said`: fields that rows of a group say, and that a variable can hold."""
        if self.miss is not None or not self.target.small or not self.target.window or index + 1 >= len(codec.groups):
            return None
        one, two = codec.groups[index:index + 2]
        fields = [said(group) for group in (one, two)]
        if any(len(named) != 1 or any(self.row_fields(row) != set(named) for row in group.rows) for group, named in zip((one, two), fields)):
            return None
        found = Twins(one, two, (fields[0][0], fields[1][0]))
        names: dict[str, str] = {}                # be they the same: they are in all rows then
        for row in one.rows:
            key = row_key(one, row)
            other = next((r for r in two.rows if row_key(two, r) == key), None)
            if any(isinstance(item, ast.RowWhere) and item.reason is None for item in row.items):
                continue                        # its reason is the group's
            if other is not None and (more := renamed(tokens(row), tokens(other), names)) is not None:
                names, found.keys = more, found.keys | {key}
                found.rows[other] = row
        found.names = {x: y for x, y in names.items() if x != y}
        return found if len(found.rows) >= FEW_TWINS and self.can_stand(codec, found) else None

    def can_stand(self, codec: ast.Codec, twins: Twins) -> bool:
        """Whether all that is named differently is the field, a number of the codec, or a member of a struct that it is given; and the other
        is the same, of the same type."""
        (f, g), left = twins.fields, dict(twins.names)
        structs = MadeAnew if self.parser_decl is not None else StructPlace             # what each turn has of its own; see `structs`, `turns_of`
        variables = {v.name: v.type for v in codec.vars}
        parts = [n.base for row in twins.first.rows for n in walk(row) if isinstance(n, ast.Member)]
        if any(isinstance(n, ast.Name) and isinstance(n.decl, ast.Param) and n not in parts and isinstance(self.env[n.decl], structs)
               for row in twins.first.rows for n in walk(row)):
            return False                        # a struct as a whole has all its members by their own names
        for n in (n for row in twins.first.rows for n in walk(row) if isinstance(n, (ast.Name, ast.Member)) and n.name in twins.names):
            other = twins.names[n.name]
            if isinstance(n, ast.Member):
                given = isinstance(n.base, ast.Name) and isinstance(n.base.decl, ast.Param) and isinstance(self.env[n.base.decl], structs)
                members = {s.name: s.type for s in n.base.decl.type.decl.fields} if given else {}
                alike = given and members.get(other) == members[n.name]
            elif isinstance(n.decl, ast.CodecVar):
                alike = variables.get(other) == n.decl.type
            else:
                alike = n.decl is f and other == g.name and f.type == g.type
            if not alike:
                return False
            left.pop(n.name, None)
        return not left                         # what is no name of these, such as a function's or a type's

    def expand_twins(self, codec: ast.Codec, inst: Instance, twins: Twins, tag: Val) -> None:
        b, held, (f, g) = self.b, self.expanding[inst], twins.fields
        turn, key = self.alloca(I32, "turn"), self.alloca(I32, "key")
        head, again, rest, last, done = (b.append_basic_block(f"twins.{n}") for n in ("head", "again", "rest", "last", "done"))
        word = held[g] = held[f]
        variables = {v.name: v for v in codec.vars}
        numbers = {v: variable(self, v.type, v.name) for v in codec.vars if twins.names.get(v.name) in variables}
        for v, place in numbers.items():
            place.set(self.env[v].get())
        b.store(self.opaque(i32(0), here=True), turn)
        b.store(self.group_key(twins.first).limbs[0], key)
        b.branch(head)
        b.position_at_end(head)
        width = sum(name.decl.width for name in twins.first.tags)
        stands: dict[object, Place] = {**numbers, **self.structs(codec, twins, turn)}
        asked = Val(width, (b.load(key, typ=I32),))
        for name in twins.first.tags:
            width -= name.decl.width
            stands[name.decl] = Value(name.decl.type, self.slice(asked, width + name.decl.width - 1, width))
        with self.standing_for(stands):
            self.expand_group(codec, inst, twins.first)
        # The last turn begins where the packet has been compared with its end.
        bound = min(self.bound, max(inline_octets(row) for row in twins.first.rows))
        following = self.opaque(b.add(b.load(turn, typ=I32), i32(1)), here=True)
        b.store(following, turn)
        b.cbranch(b.icmp_unsigned("<", following, i32(2)), again, last)
        b.position_at_end(again)
        del held[f]
        self.row_store(inst, f, word.get())
        for v, place in numbers.items():
            place.set(self.env[variables[twins.names[v.name]]].get())
        self.prove_cursor()
        with self.standing_for(self.tag_anew(codec, twins.second, tag)):
            other = self.group_key(twins.second)
            b.store(other.limbs[0], key)
            for k in sorted(set(range(1 << other.width)) - twins.keys):
                ok = b.append_basic_block("twins.key")
                b.cbranch(b.icmp_unsigned("==", other.limbs[0], i32(k)), rest, ok)
                b.position_at_end(ok)
            b.branch(head)
            b.position_at_end(rest)
            self.expand_group(codec, inst, twins.second, twins.rows)
        b.branch(done)
        b.position_at_end(last)
        b.branch(done)
        b.position_at_end(done)
        self.bound = max(bound, self.bound)

    def tag_anew(self, codec: ast.Codec, group: ast.Group, tag: Val) -> dict[ast.TagBits, Value]:
        """Its bits of a group. What they were before takes a register until here."""
        anew, shifts = self.apart_of(tag), {name.decl: tag_shift(codec, name.decl) for name in group.tags}
        return {piece: Value(piece.type, self.slice(anew, shift + piece.width - 1, shift)) for piece, shift in shifts.items()}

    def structs(self, codec: ast.Codec, twins: Twins, turn: ir.Value) -> dict[ast.Param, MadeAnew]:
        """What the codec is given, by the names of the first group, whichever turn it is."""
        return {p: MadeAnew(p.type, lambda p=p, anew=self.env[p]: self.of_turn(p.type, anew, twins.names, turn))
                for p in codec.params if isinstance(self.env[p], MadeAnew) and any(s.name in twins.names for s in p.type.decl.fields)}

    def of_turn(self, type_: StructType, anew: Place, names: dict[str, str], turn: ir.Value) -> StructPlace:
        b, types = self.b, {s.name: s.type for s in type_.decl.fields}
        first = b.icmp_unsigned("==", b.load(turn, typ=I32), i32(0))
        named = {x: y for x, y in names.items() if x in types and types.get(y) == types[x]}
        if (made := self.made_half(anew.call, named, first)) is not None:
            return made
        place = StructPlace.variable(self, type_, "of.turn")
        one, two, done = (b.append_basic_block(f"twins.{n}") for n in ("first", "second", "made"))
        b.cbranch(first, one, two)
        for block, called in ((one, {}), (two, named)):
            b.position_at_end(block)
            made = anew.get()
            for name, part in place.fields.items():
                part.set(member(made, called.get(name, name)).get())
            b.branch(done)
        b.position_at_end(done)
        return place


def tokens(row: ast.Row) -> list[str]:
    return [token for item in row.items for token in (*TOKEN.findall(item.span.text), ";")]
