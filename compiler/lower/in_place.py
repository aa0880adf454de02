"""A chain whose deparser emits what its parser took, all of it and in its order, of headers that no module makes, removes or resizes: the packet as it lies
is what is sent.

Nothing is written to the output buffer then: the packet goes from its first octet on, and assignments have changed it already. The deparser puts in what
is computed.
"""
from __future__ import annotations

from lpn.compiler.layout import RecordLayout
from lpn.compiler.target import OUT_SIZE
from lpn.lang import ast
from lpn.lang.derive import representation
from lpn.lang.effects import effects
from lpn.lang.instances import walk
from lpn.lang.types import HeaderType, Stack

from .prefix import MOVES

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
    return in_order(chain[0], fields)


def emitted(s: ast.Stmt) -> ast.StructField | None:
    """The header, or the stack, that a statement emits as it is."""
    call = s.call if isinstance(s, ast.ExprStmt) else None
    if not isinstance(call, ast.Call) or call.target != "emit" or call.via is not None:
        return None
    decl = getattr(call.args[0], "decl", None)
    return decl if isinstance(decl, ast.StructField) and isinstance(decl.type, (HeaderType, Stack)) else None


def in_order(parser: ast.Parser, fields: list[ast.StructField]) -> bool:
    """Whether the parser takes these and nothing else, on each way in this order; a stack's elements one after the other."""
    last = {next(s for s in parser.states if s.name == "start"): -1}           # by state that is reached: the last of those that may have been taken
    todo = list(last)
    while todo:
        state = todo.pop()
        at = last[state]
        for s in state.statements:
            if not any(isinstance(n, ast.Call) and n.target in MOVES for n in walk(s)):
                continue
            field = taken(s)
            if field not in fields or fields.index(field) < at + (not isinstance(field.type, Stack)):
                return False
            at = fields.index(field)
        for case in state.transition.cases if state.transition is not None else []:
            if case.state is not None and last.get(case.state, -2) < at:
                last[case.state] = at
                todo.append(case.state)
    return True


def taken(s: ast.Stmt) -> ast.StructField | None:
    """The header, or the stack, that a statement extracts one of as it is."""
    call = s.call if isinstance(s, ast.ExprStmt) else None
    if not isinstance(call, ast.Call) or call.target != "extract" or call.via is not None:
        return None
    target = call.args[0]
    if isinstance(target, ast.Member) and target.decl == "next":
        target = target.base
    decl = getattr(target, "decl", None)
    return decl if isinstance(decl, ast.StructField) else None
