"""What is asked of a header behind its extract is made where the last part that it is of has been taken, if that is one of several that may be there (parted.py).

`number = number + coap_delta(one)`: whether the option's number is in four bits, in an octet or in two that follow is known there, on ways of their own. Later it
would be asked again.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from lpn.compiler.layout import Unit
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bits

from .instance import Instance
from .places import Scalar


class MadeEarly:
    """Mixed into `Lowering`. `early`: what was made on the way that is lowered, by the call that asks for it; `wanted`: what is to be made of the header that is being taken."""

    def want_early(self, target: ast.Expr, inst: Instance) -> None:
        """Of a header of the parser's own that stays as it lies in the packet: calls, each of its fields alone, that are made in any case."""
        if not isinstance(target, ast.Name) or not inst.local:
            return
        for e in asked(self.behind, target.decl):
            self.early.pop(e, None)
            fields = fields_of(e, target.decl)
            if self.miss is None and inst.inst.in_packet and fields and isinstance(e.type, Bits):
                self.wanted.append((e, [inst.layout.unit_of[f] for f in fields]))

    def make_early(self, before: Sequence[Unit], taken: Sequence[Unit]) -> None:
        """What is of units that were taken, one of the last ones among them."""
        for e, units in self.wanted:
            if all(u in before or u in taken for u in units) and any(u in taken for u in units):
                made = self.early.pop(e, None) or Scalar(self, e.type, "early")
                made.set(self.value(e))
                self.early[e] = made


def asked(following: Sequence[ast.Stmt], local: ast.Node) -> Iterator[ast.Call]:
    """The calls of functions in these statements that are made whatever a packet says, up to where the header is extracted anew."""
    for s in following:
        if any(isinstance(n, ast.Call) and n.target == "extract" and isinstance(n.args[0], ast.Name) and n.args[0].decl is local for n in walk(s)):
            return
        value = s.value if isinstance(s, ast.Assign) else s.init if isinstance(s, ast.VarDecl) else None
        if value is not None:
            yield from calls(value)


def calls(e: ast.Expr) -> Iterator[ast.Call]:
    """The outermost ones in it that are made in any case."""
    if isinstance(e, ast.Call):
        if isinstance(e.target, ast.Function):
            yield e
    elif isinstance(e, ast.Binary):
        yield from calls(e.left)
        if e.op not in ("&&", "||"):
            yield from calls(e.right)
    elif isinstance(e, (ast.Cast, ast.Unary)):
        yield from calls(e.operand)


def fields_of(e: ast.Call, local: ast.Node) -> set[ast.Field]:
    """The fields of the header that a call is of; none if it is of anything else, or of more than what they hold."""
    fields: set[ast.Field] = set()
    for n in (n for a in e.args for n in walk(a)):
        if isinstance(n, ast.Member) and isinstance(n.decl, ast.Field):
            fields.add(n.decl)
        elif not (isinstance(n, ast.Name) and n.decl is local or is_number(n)):
            return set()
    read = read_by(e.target)
    fields |= read if read is not None else set()
    return fields if read is not None and all(f.equation is None and not f.deferred for f in fields) else set()


def read_by(f: ast.Function) -> set[ast.Field] | None:
    """The fields that a function reads of headers that it is given; None if it reads, or does, anything else."""
    fields: set[ast.Field] = set()
    for n in walk(f.body):
        if isinstance(n, ast.Call):
            read = read_by(n.target) if isinstance(n.target, ast.Function) else None
            if read is None:
                return None
            fields |= read
        elif isinstance(n, ast.Member) and isinstance(n.decl, ast.Field):
            fields.add(n.decl)
        elif not (isinstance(n, ast.Name) and isinstance(n.decl, (ast.Param, ast.VarDecl, ast.Function)) or isinstance(n, (ast.Block, ast.If, ast.Return, ast.VarDecl, ast.Assign))
                  or is_number(n)):
            return None
    return None if any(p.direction in ("out", "inout") for p in f.params) else fields


def is_number(n: ast.Node) -> bool:
    """Whether a node is a constant, or says how numbers become another one."""
    return getattr(n, "const", None) is not None or isinstance(n, (ast.Binary, ast.Unary, ast.Cast, ast.Slice, ast.Conditional, ast.TypeRef))
