"""What rows of a codec say, kept together until it is needed: numbers of one word in one variable, and a field that many rows say, to be stored once."""
from __future__ import annotations

from lpn.compiler.layout import InstanceLayout, Unit, field_width
from lpn.compiler.state import scalar_width
from lpn.lang import ast
from lpn.lang.types import Bits as BitsType, Bool

from .following import has_following
from .instance import Instance
from .places import Part, Place, Scalar

MANY_ROWS = 4                                   # that say a field: fewer each store it


class SaidTogether:
    """Mixed into `Lowering`."""

    def read_together(self, codec: ast.Codec) -> dict[object, Place]:
        """What a row reads of one word is one number until it is asked for."""
        found: dict[object, Place] = {}
        for item in (item for group in codec.groups for row in group.rows for item in row.items if isinstance(item, ast.RowInline)):
            parts = [getattr(t.target, "decl", None) for t in item.targets if t.bits is None]
            if len(parts) < 2 or len(parts) < len(item.targets) or any(not isinstance(v, ast.CodecVar) or v in found for v in parts):
                continue
            width = sum(scalar_width(v.type) for v in parts)
            if width <= 32 and not any(isinstance(v.type, Bool) for v in parts):
                whole = Scalar(self, BitsType(width), "together")
                whole.clear()
                found[item] = whole             # known by that, where guesses meet
                for v in parts:
                    width -= scalar_width(v.type)
                    found[v] = Part(self, v.type, whole, width)
        return found

    def said_last(self, inst: InstanceLayout) -> list[Unit]:
        """Units of one field each that a codec's rows say when they look at what follows: the packet may be refused for that."""
        fields = {item.target.decl for decl in self.program.decls if isinstance(decl, ast.Codec) for group in decl.groups for row in group.rows
                  for item in row.items if isinstance(item, ast.RowAssign) and has_following(item.value)}
        return [u for u in inst.layout.units if len(u.fields) == 1 and u.fields[0][0] in fields and u.bits <= 32]

    def said_whole(self, inst: Instance, codec: ast.Codec, group: ast.Group) -> list[ast.Field]:
        """Fields of some words that many rows of a group say: of a header that lies where it is sent they are stored behind the rows, once."""
        if inst.inst not in self.laid_out or not group.tags:
            return []
        named = [f for row in group.rows for f in self.row_fields(row) if isinstance(f, ast.Field)]
        return [f for f in dict.fromkeys(named) if named.count(f) >= MANY_ROWS and field_width(f) % 32 == 0 and not f.little
                and sum(f in self.row_fields(row) for g in codec.groups for row in g.rows) == named.count(f)]

    def store_said(self, inst: Instance, codec: ast.Codec, group: ast.Group) -> None:
        for f in self.said_whole(inst, codec, group):
            value = self.expanding[inst].pop(f).get()
            self.row_store(inst, f, value)
