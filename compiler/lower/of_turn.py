"""A function that says of a second part of its struct what it says of the first, of other fields of a header: `mac_link` says of source and
destination alike what they stand for. Where only the part of a loop's turn is asked for, its statements are lowered once; the fields that they name
are those of the turn.
"""
from __future__ import annotations

from dataclasses import dataclass

import llvmlite.ir as ir

from lpn.compiler.bits import Val
from lpn.compiler.layout import field_width
from lpn.lang import ast
from lpn.lang.instances import walk

from .alike import TOKEN, renamed
from .instance import Instance
from .places import Place, StructPlace, variable


@dataclass(eq=False)
class Half:
    """`statements`: of the function, without those of the other half; `fields`: of headers that it is given, what they are in the other."""

    statements: list[ast.Stmt]
    fields: dict[ast.Field | ast.ChoiceField, ast.Field | ast.ChoiceField]


def half(f: ast.Function, names: dict[str, str]) -> Half | None:
    """Of a function that computes a struct from headers. `names`: of members of the struct, what the other half calls them."""
    *statements, last = f.body.statements
    made = last.value.decl if isinstance(last, ast.Return) and isinstance(last.value, ast.Name) else None
    if not isinstance(made, ast.VarDecl) or made not in statements or made.init is not None:           # which would say something of both halves
        return None
    one: list[ast.Stmt] = []
    other: list[ast.Stmt] = []
    kept: list[ast.Stmt] = []
    for s in statements:
        parts = assigned(s, made)
        if s is made or parts is not None and not parts & {*names, *names.values()}:
            kept.append(s)
        elif parts is not None and parts <= {*names}:
            one.append(s)
            kept.append(s)
        elif parts is not None and parts <= {*names.values()}:
            other.append(s)
        else:
            return None
    texts = [[token for s in part for token in TOKEN.findall(s.span.text)] for part in (one, other)]
    called = renamed(*texts, names)             # what the other half calls anything
    fields = fields_of(one, made, called, names) if called is not None else None
    if fields is None or given_whole(f) or any(isinstance(n, ast.Member) and n.decl in fields for s in kept if s not in one for n in walk(s)):
        return None                             # the fields of the turn are not what they are called there
    return Half([*kept, last], fields)


def given_whole(f: ast.Function) -> bool:
    """Whether a function names what it is given without saying which member of it."""
    bases = {n.base for n in walk(f.body) if isinstance(n, ast.Member)}
    return any(isinstance(n, ast.Name) and n.decl in f.params and n not in bases for n in walk(f.body))


def assigned(s: ast.Stmt, made: ast.VarDecl) -> set[str] | None:
    """The members of `made` that a statement assigns; None if it does anything but that."""
    found = set()
    targets = []
    for n in walk(s):
        if isinstance(n, ast.Assign):
            targets.append(n.target.base if isinstance(n.target, ast.Member) else None)
            if targets[-1] is None or getattr(targets[-1], "decl", None) is not made:
                return None
            found.add(n.target.name)
        elif isinstance(n, ast.Stmt) and not isinstance(n, (ast.If, ast.Block)) or isinstance(n, ast.Name) and n.decl is made and n not in targets:
            return None
    return found


def fields_of(statements: list[ast.Stmt], made: ast.VarDecl, called: dict[str, str], names: dict[str, str]) -> dict | None:
    """What the fields and choices of headers that statements name are in the other half. None if anything else is another there."""
    found: dict = {}
    for n in (n for s in statements for n in walk(s) if isinstance(n, (ast.Name, ast.Member)) and called[n.name] != n.name):
        if isinstance(n, ast.Member) and isinstance(n.base, ast.Name) and n.base.decl is made:
            if names.get(n.name) != called[n.name]:
                return None
        elif isinstance(n, ast.Member) and isinstance(n.base, ast.Name) and isinstance(n.base.decl, ast.Param) \
                and isinstance(n.decl, (ast.Field, ast.ChoiceField)):
            other = next((d for d in (*n.decl.header.fields(), *n.decl.header.items) if getattr(d, "name", None) == called[n.name]), None)
            if not same_kind(n.decl, other, called):
                return None
            found[n.decl] = other
        else:
            return None
    return found


def same_kind(one: ast.Field | ast.ChoiceField, other: object, called: dict[str, str]) -> bool:
    if isinstance(one, ast.Field):
        return isinstance(other, ast.Field) and one.type == other.type
    return isinstance(other, ast.ChoiceField) and called.get(one.tag.name) == other.tag.name \
        and [(a.name, a.number, a.type, a.little) for a in one.arms] == [(a.name, a.number, a.type, a.little) for a in other.arms]


class HeaderOfTurn(Place):
    """A header whose fields are, in a loop's second turn, others. They are looked at where it is made."""

    def __init__(self, lower, inst: Instance, fields: dict, first: ir.Value):
        self.lower, self.of = lower, inst
        b, pairs = lower.b, [(f, g) for f, g in fields.items() if f.header is inst.header]
        blocks, done = [b.append_basic_block(name) for name in ("half.first", "half.second")], b.append_basic_block("half")
        ends: list[tuple[list, ir.Block]] = []
        b.cbranch(first, *blocks)
        for block, which in zip(blocks, (0, 1)):
            b.position_at_end(block)
            ends.append(([self.look(pair[which]) for pair in pairs], b.block))
            b.branch(done)
        b.position_at_end(done)
        self.found = {f: lower.join([(values[at], block) for values, block in ends]) for at, (f, _) in enumerate(pairs)}

    def __getattr__(self, name: str) -> object:
        return getattr(self.of, name)           # all that is the same in both turns

    def look(self, f: ast.Field | ast.ChoiceField) -> Val | ir.Value:
        """A field's value, a choice's place."""
        if isinstance(f, ast.Field):
            return self.of.read(f)
        return self.lower.at(*self.of.pointer(self.of.layout.unit_of[f]))

    def read(self, f: ast.Field) -> Val | ir.Value:
        return self.found[f] if f in self.found else self.of.read(f)

    def read_arm(self, arm: ast.ChoiceArm) -> Val:
        if arm.choice not in self.found:
            return self.of.read_arm(arm)
        low, width = self.lower, field_width(arm)
        tag = self.read(arm.choice.tag.decl)
        v = self.of.load(self.found[arm.choice], 0, width, arm.little)
        return low.select(low.eq(tag, low.constant(tag.width, arm.number)), v, low.constant(width, 0))


class Halves:
    """Mixed into `Lowering`."""

    def made_half(self, call: ast.Call, names: dict[str, str], first: ir.Value) -> StructPlace | None:
        """What a call makes of the half of `names` that is the turn's, `first` or not, by the names of the first."""
        f = call.target
        found = half(f, names)
        insts = [self.place(a) for a in call.args]
        if found is None or any(inst.inst.field in self.program.unseen for inst in insts):
            return None
        result = variable(self, f.return_type.type, f.name)
        result.clear()
        bound = {p: HeaderOfTurn(self, inst, found.fields, first) for p, inst in zip(f.params, insts)}
        self.run_body(bound, ast.Block(f.body.span, found.statements), result)
        return result
