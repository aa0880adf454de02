"""Two searches of a codec that ask the same of two fields are one loop, which is gone through for one field and then for the other, in short code.

A context is searched for a source and for a destination. What is asked before either search is its own; and one of them may ask something else first, as
of a group's address, whose context is told by other bits.
"""
from __future__ import annotations

from dataclasses import dataclass

import llvmlite.ir as ir

from lpn.compiler.bits import I32, i32
from lpn.compiler.layout import field_width
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bits as BitsType

from .alike import TOKEN
from .conditions import operands
from .one_of_two import OneOfTwo
from .places import variable
from .search import mentions


@dataclass(eq=False)
class Searched:
    """`once`: what is asked before each of the searches; `each`: of the first, in each turn; `other`: (a condition, what the second asks in each turn
    where that holds), if it does not always ask the same."""

    searches: tuple[ast.CodecVar, ast.CodecVar]
    fields: tuple[ast.Field, ast.Field]
    once: tuple[list[ast.Expr], list[ast.Expr]]
    each: list[ast.Expr]
    other: tuple[ast.Expr, list[ast.Expr]] | None
    stride: int


class SearchedTwins:
    """Mixed into `Lowering`."""

    def searched_alike(self, v: ast.CodecVar, w: ast.CodecVar | None) -> Searched | None:
        """That two searches can be one loop."""
        if self.miss is not None or not self.may_pair or not self.target.small or not self.target.window or w is None or v.cond is None or w.cond is None \
                or (v.low.const, v.high.const, v.type) != (w.low.const, w.high.const, w.type):
            return None
        once, each = zip(*(divided(x) for x in (v, w)))
        mine, (yours, other) = each[0], alternative(each[1])
        fields = same_but_for_a_field(mine, yours)
        if fields is None or other is not None and mentions(other[0], w.loop):
            return None
        stride = self.one_stride(v, mine)
        if self.one_stride(w, [*yours, *(other[1] if other is not None else [])]) != stride:
            return None
        return Searched((v, w), fields, once, mine, other, stride)

    def search_twins(self, pair: Searched) -> None:
        b, (v, w), (f, g) = self.b, pair.searches, pair.fields
        self.paired = True
        turn, differs = self.alloca(I32, "turn"), self.alloca(I32, "differs")
        word, number = OneOfTwo(self, self.this, pair.fields), variable(self, v.type, v.name)
        head, again, loop, done = (b.append_basic_block(f"searches.{n}") for n in ("head", "again", "loop", "done"))
        begins = [b.append_basic_block(f"searches.{n}") for n in ("first", "second")]
        for x in pair.searches:
            self.env[x].set(self.constant(self.env[x].width, int(x.low.const)))
        for n, block in enumerate((b.block, again)):
            b.position_at_end(block)
            if word.lies:                       # one of two numbers, in whichever turn: what is copied waits until it is asked for
                word.be(n)
            b.store(self.opaque(i32(n), here=True), turn)
            b.branch(head)
        b.position_at_end(head)
        self.mark(keeps=True, once=True)        # a turn that is known to find nothing begins there all the same: a loop has one entry
        b.cbranch(b.icmp_unsigned("==", b.load(turn, typ=I32), i32(0)), *begins)
        for n, (block, once, otherwise) in enumerate(zip(begins, pair.once, (again, done))):
            b.position_at_end(block)
            self.require_all(once, otherwise)
            if not word.lies:
                word.be(n)
            b.store(i32(0), differs)
            if pair.other is not None and n:
                other = b.append_basic_block("searches.other")
                self.branch(pair.other[0], other, loop)
                b.position_at_end(other)
                b.store(i32(1), differs)
            b.branch(loop)
        b.position_at_end(loop)

        def asks(otherwise: ir.Block) -> None:
            holds = b.append_basic_block("searches.holds")
            if pair.other is not None:
                alike, others = b.append_basic_block("searches.alike"), b.append_basic_block("searches.others")
                b.cbranch(b.icmp_unsigned("==", b.load(differs, typ=I32), i32(0)), alike, others)
                b.position_at_end(others)
                for table in (self.masked, self.stepped):
                    if v.loop in table:
                        table[w.loop] = table[v.loop]
                with self.reading_instead(g, word), self.standing_for({w.loop: self.env[v.loop]}):
                    self.require_all(pair.other[1], otherwise)
                b.branch(holds)
                b.position_at_end(alike)
            with self.reading_instead(f, word):
                self.require_all(pair.each, otherwise)
            b.branch(holds)
            b.position_at_end(holds)

        self.search_where(v, number, pair.stride, lambda block: None, asks)
        found = [b.append_basic_block("searches.found") for _ in pair.searches]
        b.cbranch(b.icmp_unsigned("==", b.load(turn, typ=I32), i32(0)), *found)
        for block, x, to in zip(found, pair.searches, (again, done)):
            b.position_at_end(block)
            self.env[x].set(number.get())
            b.branch(to)
        b.position_at_end(done)


def divided(v: ast.CodecVar) -> tuple[list[ast.Expr], list[ast.Expr]]:
    """The parts of a search's condition that are asked before, and in each turn."""
    parts = operands(v.cond, "&&")
    once = [part for part in parts if not mentions(part, v.loop)]
    return once, [part for part in parts if part not in once]


def alternative(each: list[ast.Expr]) -> tuple[list[ast.Expr], tuple[ast.Expr, list[ast.Expr]] | None]:
    """What is asked in each turn, and of `a ? b : c` what else."""
    if len(each) == 1 and isinstance(each[0], ast.Conditional):
        return operands(each[0].otherwise, "&&"), (each[0].cond, operands(each[0].then, "&&"))
    return each, None


def same_but_for_a_field(one: list[ast.Expr], other: list[ast.Expr]) -> tuple[ast.Field, ast.Field] | None:
    """The field that one asks about, and the one of the other, if all else is written alike."""
    texts = [[TOKEN.findall(e.span.text) for e in parts] for parts in (one, other)]
    named = [{n.decl for e in parts for n in walk(e) if isinstance(n, ast.Name) and isinstance(n.decl, ast.Field)} for parts in (one, other)]
    if any(len(fields) != 1 for fields in named) or len(texts[0]) != len(texts[1]):
        return None
    [f], [g] = named
    if f.type != g.type or not isinstance(f.type, BitsType) or field_width(f) % 32 or f.little or g.little or f.when is not None or g.when is not None:
        return None
    if any(isinstance(n, (ast.Name, ast.Member)) and n.name in (f.name, g.name) and n.decl not in (f, g) for e in (*one, *other) for n in walk(e)):
        return None
    return (f, g) if [[g.name if t == f.name else t for t in text] for text in texts[0]] == texts[1] else None
