"""Headers that a deparser which is a container of its own names where it emits them and nowhere else: where they lie is looked for, and compared with the
packet's end, where they are valid. Of those that are absent nothing is asked but that. What a header in front asks of
those behind it, how much they are, say, is looked for once more where it is asked (instance.py).
"""
from __future__ import annotations

from collections import Counter

from lpn.compiler.layout import RecordLayout
from lpn.lang import ast
from lpn.lang.instances import is_headers, walk
from lpn.lang.types import HeaderType, Stack

from .laid_out import read_by
from .prefix import first_headers


def found_late(program: ast.Program, record: RecordLayout, d: ast.Deparser, chains: list[list[ast.Module]]) -> frozenset[ast.StructField]:
    """`chains`: those that it ends."""
    nodes = list(walk(d.body))
    bases = {n.base for n in nodes if isinstance(n, ast.Member)}
    if any(isinstance(n, ast.Name) and is_headers(n.type) and n not in bases for n in nodes):
        return frozenset()                      # all of them are named
    times = Counter(n.decl for n in nodes if isinstance(n, ast.Member) and isinstance(n.decl, ast.StructField) and isinstance(n.decl.type, (HeaderType, Stack)))
    read = {field for one in times for field in read_by(program, {one}) - {one}}
    always = {inst.field for chain in chains if isinstance(chain[0], ast.Parser) for inst in first_headers(chain[0], record)}
    return frozenset(field for s in d.body.statements if (field := emitted_once(s)) is not None and times[field] == 1 and field not in read | always)


def emitted_once(s: ast.Stmt) -> ast.StructField | None:
    """What a statement emits."""
    call = s.call if isinstance(s, ast.ExprStmt) else None
    decl = getattr(call.args[0], "decl", None) if isinstance(call, ast.Call) and call.target == "emit" and call.via is None else None
    return decl if isinstance(decl, ast.StructField) and isinstance(decl.type, (HeaderType, Stack)) else None
