"""A struct that a function makes for a codec, like `mac_link`: in a parser it is made where something reads it, in no packet before.

What the rows of a group read of it, and of the addresses behind it, is made once for all of them, where one of them was chosen;
a packet that carries its addresses in line needs neither. A guess knows which rows there are, and LLVM what they read.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import llvmlite.ir as ir

from lpn.compiler.bits import Val, i32
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bool, HeaderType, StructType

from .instance import Instance
from .places import MadeAnew, Place, StructPlace, ValueAnew, member


class RowSwitch:
    """Ends the builder's block: leads to the block of the row that a packet has."""

    def __init__(self, b: ir.IRBuilder, key: Val, default: ir.Block):
        self.switch = b.switch(key.limbs[0], default)
        self.weights = [0]

    def add(self, key: int, block: ir.Block, weight: int) -> None:
        self.switch.add_case(i32(key), block)
        self.weights.append(weight)
        self.switch.set_weights(self.weights)


@dataclass(eq=False)
class MadeForRows:
    """`place`: what parameter `param` stands for in these rows, made in `block`, from which `switch` leads on to them."""

    param: ast.Param
    rows: list[ast.Row]
    place: Place
    block: ir.Block
    switch: RowSwitch


class MadeStructs:
    """Mixed into `Lowering`."""

    def made_late(self, p: ast.Param, e: ast.Expr, filled: Instance) -> MadeAnew | None:
        """What a codec's parameter stands for whose argument is worth making late: one that what the codec fills does not change."""
        late = (self.parser_decl is not None and self.miss is None and makes_struct(e)
                and all(isinstance(a.type, HeaderType) and self.place(a) is not filled for a in e.args))
        return MadeAnew(p.type, lambda: self.place(e), e) if late else None

    def made_for(self, codec: ast.Codec, rows: list[ast.Row], key: Val, default: ir.Block) -> MadeForRows | None:
        """For two or more of the rows. The builder stays where it is."""
        b, here = self.b, self.b.block
        for p in codec.params:
            reading = [row for row in rows if any(isinstance(n, ast.Name) and n.decl is p for n in walk(row))]
            if len(reading) > 1 and isinstance(self.env[p], MadeAnew):
                block = b.append_basic_block(f"{codec.name}.{p.name}")
                b.position_at_end(block)
                place = self.env[p].get()
                made = MadeForRows(p, reading, place, block, RowSwitch(b, key, default))
                if self.short and isinstance(place, StructPlace):
                    b.position_before(here.terminator)
                    place.clear()
                b.position_at_end(here)
                return made
        return None

    @contextmanager
    def in_row(self, made: MadeForRows | None, row: ast.Row) -> Iterator[None]:
        if made is None or row not in made.rows:
            yield
            return
        anew = self.env[made.param]
        self.env[made.param] = with_truths_anew(made.place, anew) if self.short else made.place
        yield
        self.env[made.param] = anew


def with_truths_anew(made: Place, anew: Place) -> Place:
    """Numbers are kept from where they were made; what is true or false is asked where it decides, or it takes a register until then."""
    if not isinstance(made, StructPlace):
        return made
    return StructPlace(made.type, {name: ValueAnew(part.type, partial(truth_of, anew, name)) if isinstance(part.type, Bool) else part
                                   for name, part in made.fields.items()})


def truth_of(struct: Place, name: str) -> ir.Value:
    return member(struct.get(), name).get()


def makes_struct(e: ast.Expr) -> bool:
    """Whether an argument is a struct that a function computes from headers alone, without loops."""
    return isinstance(e, ast.Call) and isinstance(e.type, StructType) and isinstance(e.target, ast.Function) and computes(e.target.body)


def computes(body: ast.Block) -> bool:
    return not any(isinstance(n, (ast.For, ast.Index)) or isinstance(n, ast.Call)
                   and not (isinstance(n.target, ast.Function) and computes(n.target.body)) for n in walk(body))
