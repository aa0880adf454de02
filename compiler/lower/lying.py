"""What a sum is of where it lies: numbers that are octets of memory one behind the other, in the packet's order, are added up in a loop.

In a row five instructions add up a word, which is loaded, copied, shifted and added twice. A turn of ten does the same for as many pairs of words as lie
there: from `IN_A_LOOP` octets on that is shorter, and executes as much. In a parser, where a sum is only made of what a sender has left out, and in a
module that is a container of its own a turn adds one word, and is shorter still.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite.ir as ir

from lpn.compiler.bits import I32
from lpn.compiler.layout import field_width
from lpn.compiler.state import cell_layout, is_big_endian, scalar_width
from lpn.compiler.target import CTX_OUT
from lpn.lang import ast
from lpn.lang.types import Bits as BitsType

from .instance import Instance

IN_A_LOOP, TURN, SHORT_TURN = 16, 8, 4          # octets


@dataclass
class Lying:
    """Arguments of a sum that lie one behind the other, from octet `start` of a region of memory on to octet `end`; None: of the header
    record."""

    region: str | None
    start: int
    end: int
    args: list[ast.Expr]


class LyingSums:
    """Mixed into `Lowering`."""

    sums_in_loops = True                        # the target's

    def sum_lying(self, args: Sequence[ast.Expr], words: ir.Value) -> tuple[ir.Value, list[ast.Expr]]:
        """Adds what lies in memory to `words`, a sum of half words. And what remains to be added."""
        pieces = [piece for piece in self.lying_pieces(args) if piece.end - piece.start >= IN_A_LOOP]
        for piece in pieces:
            words = self.sum_memory(piece, words)
        done = [e for piece in pieces for e in piece.args]
        return words, [e for e in args if all(e is not d for d in done)]

    def lying_pieces(self, args: Sequence[ast.Expr]) -> list[Lying]:
        out: list[Lying] = []
        found = [piece for piece in map(self.lying, args) if piece is not None] if self.target.small and self.sums_in_loops else []
        for piece in sorted(found, key=lambda p: (p.region or "", p.start)):
            before = out[-1] if out else None
            if before is not None and (before.region, before.end) == (piece.region, piece.start):
                before.end = piece.end
                before.args += piece.args
            else:
                out.append(piece)
        return out

    def lying(self, e: ast.Expr) -> Lying | None:
        """Where the octets of a number are that is nowhere else."""
        decl = getattr(e, "decl", None)
        if isinstance(decl, ast.Field):
            inst = self.place(e.base) if isinstance(e, ast.Member) else self.this
            place = self.field_lying(inst, decl) if inst is self.this or not self.may_be_unseen(e.base, inst) else None
        else:
            place = self.state_lying(e)
        return place if place is None else Lying(*place, [e])

    def field_lying(self, inst: Instance, f: ast.Field) -> tuple[str | None, int, int] | None:
        if not inst.stays or f in self.expanding.get(inst, ()) or not inst.open and (inst.inst.field, f) in self.derived:
            return None
        u = inst.layout.unit_of[f]
        if u.variable:
            return None
        if (inst, f) in self.lazy:
            said = self.lying(self.lazy[inst, f])
            return None if said is None or said.end - said.start != field_width(f) // 8 else (said.region, said.start, said.end)
        if len(u.fields) > 1 or u.little or u in inst.aside or inst.inst.in_packet:
            return None
        if inst.where == "out":
            start = self.laid_out[inst.inst]
        elif self.images_in_memory and not inst.local:
            start = inst.inst.image
        else:
            return None
        return inst.where, start + u.image, start + u.image + u.octets

    def state_lying(self, e: ast.Expr) -> tuple[str | None, int, int] | None:
        """Of a register, or a member of one."""
        register, members = e, []
        while isinstance(register, ast.Member) and isinstance(register.decl, ast.StructField):
            members.append(register.name)
            register = register.base
        if not isinstance(register, ast.Name) or not isinstance(register.decl, ast.Register) or self.old_layout is not None:
            return None
        obj = self.state_layout.by_decl[register.decl]
        cell, at = obj.cell, obj.offset
        for name in reversed(members):
            at += cell_layout(cell)[2][name]
            cell = next(f.type for f in cell.decl.fields if f.name == name)
        width = scalar_width(cell) if isinstance(cell, BitsType) else 0
        return ("state", at, at + width // 8) if is_big_endian(width) and width % 32 == 0 else None

    def region_begin(self, region: str | None) -> ir.Value:
        """Where octet 0 of a region lies; None: of the header record."""
        return {"state": lambda: self.state, "out": lambda: self.context_pointer(CTX_OUT), None: lambda: self.rec}[region]()

    def sum_memory(self, piece: Lying, words: ir.Value) -> ir.Value:
        """Adds half words of memory, so many octets a turn, to a sum of such."""
        b = self.b
        base = self.region_begin(piece.region)
        turn = SHORT_TURN if self.parser_decl is not None or self.record_in_memory else TURN
        octets = (piece.end - piece.start) // turn * turn
        ahead, total = self.alloca(base.type, "sum.ahead"), self.alloca(I32, "sum")
        b.store(words, total)
        b.store(self.at(base, piece.start), ahead)
        end = self.at(base, piece.start + octets)
        head, done = b.append_basic_block("sum.turn"), b.append_basic_block("sum.done")
        b.branch(head)
        b.position_at_end(head)
        p = b.load(ahead, typ=base.type)
        with self.region(piece.region):
            for at in range(0, turn, 2):
                b.store(b.add(b.load(total, typ=I32), self._load(p, at, 2)), total)
        nxt = self.at(p, turn)
        b.store(nxt, ahead)
        b.cbranch(b.icmp_unsigned("<", nxt, end), head, done)
        b.position_at_end(done)
        words = b.load(total, typ=I32)
        with self.region(piece.region):
            for at in range(piece.start + octets, piece.end, 2):
                words = self.add32(words, self._load(base, at, 2))
        return words
