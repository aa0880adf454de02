"""Headers that a chain's deparser writes first lie where it writes them, in the output buffer, from the moment a parser finds what they say.

What is in the buffer counts only once its length is said, at the deparser's end. A header that is built, by a codec above all, and then written as it
is need not be kept in registers, or on the stack, until then: each number is stored once, where it belongs. So it is with those that are emitted first,
plainly and one behind the other. Where one before is not valid, what follows is moved up when it is emitted, a unit at a time, in their order.
A chain that sends packets of its own on the way has the buffer for these.
"""
from __future__ import annotations

from collections.abc import Sequence

from lpn.compiler.layout import InstanceLayout, RecordLayout
from lpn.lang import ast
from lpn.lang.effects import effects
from lpn.lang.instances import named_field
from lpn.lang.types import HeaderType


def laid_out(program: ast.Program, record: RecordLayout, chain: Sequence[ast.Module]) -> dict[InstanceLayout, int]:
    """Where such headers of a fused chain begin in the output buffer."""
    out: dict[InstanceLayout, int] = {}
    last = chain[-1]
    if not isinstance(last, ast.Deparser) or not isinstance(chain[0], ast.Parser) or sends(program):
        return out
    at = 0
    for s in last.body.statements:
        call = s.call if isinstance(s, ast.ExprStmt) else None
        if not isinstance(call, ast.Call) or call.target != "emit" or call.via is not None or not isinstance(call.args[0].type, HeaderType):
            break
        field = named_field(call.args[0])
        if field is None:
            break
        inst = record.by_field[field][0]
        if inst.in_packet or inst.through or not inst.layout.fixed or inst in out:
            break
        out[inst] = at
        at += inst.layout.image_size
    return out


def sends(program: ast.Program) -> bool:
    """Whether a module of chains, or one that these apply, has a deparser write packets of its own."""
    return any(e.kind == "emit" and isinstance(e.module, (ast.Parser, ast.Processor)) for e in effects(program))
