"""Headers that a chain's deparser writes first lie where it writes them, in the output buffer, from the moment a parser finds what they say.

What is in the buffer counts only once its length is said, at the deparser's end. A header that is built, by a codec above all, and then written as it
is need not be kept in registers, or on the stack, until then: each number is stored once, where it belongs. So it is with those that are emitted first,
plainly and one behind the other; but not with what is taken as it lies in the packet, and no more than copied. Where one before is not valid, what follows is
moved up when it is emitted, a unit at a time, in their order: over others that lay there, so those are none of which anything is read later. A chain that
sends packets of its own on the way has the buffer for these.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from lpn.compiler.layout import InstanceLayout, RecordLayout
from lpn.lang import ast
from lpn.lang.effects import effects
from lpn.lang.instances import header_of, is_headers, named_field, walk
from lpn.lang.types import HeaderType, Stack


def laid_out(program: ast.Program, record: RecordLayout, chain: Sequence[ast.Module]) -> dict[InstanceLayout, int]:
    """Where such headers of a fused chain begin in the output buffer."""
    out: dict[InstanceLayout, int] = {}
    last = chain[-1]
    if not isinstance(last, ast.Deparser) or not isinstance(chain[0], ast.Parser) or sends(program):
        return out
    at = 0
    expanded, taken = ({e.instance for e in effects(program) if e.kind == "extract" and (e.codec is None) is plain} for plain in (False, True))
    for s in last.body.statements:
        call = s.call if isinstance(s, ast.ExprStmt) else None
        if not isinstance(call, ast.Call) or call.target != "emit" or call.via is not None or not isinstance(call.args[0].type, HeaderType):
            break
        field = named_field(call.args[0])
        if field is None or isinstance(field.type, Stack):
            break
        inst = record.by_field[field][0]
        if field in taken - expanded or inst.in_packet or inst.through or not inst.layout.fixed or inst in out:
            break
        out[inst] = at
        at += inst.layout.image_size
    while any(spoilt(program, list(out), last.body.statements[len(out):])):
        out.popitem()
    return out


def spoilt(program: ast.Program, insts: list[InstanceLayout], behind: list[ast.Stmt]) -> Iterator[bool]:
    """Of each header that lies in the buffer whether something is read of it when another may have been moved over it. `behind`: what the deparser does
    when they are written. The first one is not moved, nor is anything moved over it; one that is not valid has no fields."""
    ends = list(accumulate((inst.layout.image_size for inst in insts), initial=0))
    later = read_by(program, named(program, behind))
    for n, inst in enumerate(insts[1:], 1):
        up = min(other.layout.image_size for other in insts[:n])                # at least so far what follows is moved up
        yield inst.field in later or any(inst.field in read_by(program, {insts[k].field}) - {insts[k].field} and ends[k] - up > ends[n]
                                         for k in range(n + 1, len(insts)))


def named(program: ast.Program, statements: list[ast.Stmt]) -> set[ast.StructField]:
    """The headers that these name: all of them where they name the struct and not one of its members."""
    nodes = list(walk(statements))
    bases = {n.base for n in nodes if isinstance(n, ast.Member)}
    if any(isinstance(n, ast.Name) and is_headers(n.type) and n not in bases for n in nodes):
        return set(program.headers_struct.fields)
    return {n.decl for n in nodes if isinstance(n, ast.Member) and isinstance(n.decl, ast.StructField) and isinstance(n.decl.type, (HeaderType, Stack))}


def read_by(program: ast.Program, fields: set[ast.StructField]) -> set[ast.StructField]:
    """These, and the headers that their equations look at."""
    found, todo = set(), [*fields]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            header = header_of(one)
            asked = {n.decl for n in walk(header.items) if isinstance(n, ast.Name)}
            todo += [arg for p, arg in zip(header.params, one.args) if p in asked]
            todo += [later for (mine, _), (later, _) in program.summed if mine is one]
    return found


def sends(program: ast.Program) -> bool:
    """Whether a module of chains, or one that these apply, has a deparser write packets of its own."""
    return any(e.kind == "emit" and isinstance(e.module, (ast.Parser, ast.Processor)) for e in effects(program))
