"""A chain whose deparser emits what its parser took, all of it and in its order, of headers that no module makes, removes or resizes: the packet as it lies
is what is sent.

Nothing is written to the output buffer then: the packet goes from its first octet on, and assignments have changed it already. The deparser puts in what
is computed.
"""
from __future__ import annotations

from lpn.compiler.layout import RecordLayout
from lpn.compiler.target import OUT_SIZE
from lpn.lang import ast
from lpn.lang.derive import Derived, representation
from lpn.lang.effects import effects
from lpn.lang.types import HeaderType, Stack

from .moves import in_order, on_all_ways

LEAVES_IT = {"extract", "assign", "emit", "truncate"}      # effects that leave a header where it is


def sent_as_they_lie(program: ast.Program) -> set[ast.StructField]:
    """The headers of such chains, if what is computed of them may lie in the packet."""
    if program.headers_struct is None:
        return set()
    record = RecordLayout(program, representation(program, program.headers_struct.fields))
    chains = [list(hook.chain) for hook in program.hooks]
    return {field for chain in chains if in_place(program, record, chain) for s in chain[-1].body.statements if (field := emitted(s)) is not None}


def in_place(program: ast.Program, record: RecordLayout, chain: list[ast.Module]) -> bool:
    """Whether the packet lies as it is sent where the chain's deparser begins."""
    if not chain or not isinstance(chain[0], ast.Parser) or not isinstance(chain[-1], ast.Deparser):
        return False
    fields = [emitted(s) for s in chain[-1].body.statements]
    if None in fields or len(set(fields)) < len(fields):
        return False
    insts = [inst for field in fields for inst in record.by_field[field]]
    if not all(inst.in_packet for inst in insts) or any(u.varbit for inst in insts for u in inst.layout.units):
        return False
    if sum(inst.layout.max_octets for inst in insts) > OUT_SIZE:           # more is refused
        return False
    if any(e.instance in fields and (e.kind not in LEAVES_IT or e.codec is not None) for e in effects(program)):
        return False
    return on_all_ways(chain[0], -1, in_order(fields, others=False))


def is_computed(derived: Derived, field: ast.StructField) -> bool:
    """Whether something of a header may be sent otherwise than it was received; a constant was compared then."""
    return any(one is field and (f.deferred or f.equation.const is None) for one, f in derived)


def emitted(s: ast.Stmt) -> ast.StructField | None:
    """The header, or the stack, that a statement emits as it is."""
    call = s.call if isinstance(s, ast.ExprStmt) else None
    if not isinstance(call, ast.Call) or call.target != "emit" or call.via is not None:
        return None
    decl = getattr(call.args[0], "decl", None)
    return decl if isinstance(decl, ast.StructField) and isinstance(decl.type, (HeaderType, Stack)) else None
