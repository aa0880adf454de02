"""What is declared and never used: warnings, of the file that has the protocol, since what others declare is there for whoever imports it.

A name counts as used wherever it is written once more, but as what belongs to one module, action or struct: what is told is surely true. A variable is used
where it is read. What begins with `_` is meant to be there.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import walk
from .base import kind_of, root_name

NO_NAMES = re.compile(r'//[^\n]*|/\*.*?\*/|\w*"[^"\n]*"', re.S)
NAME = re.compile(r"[A-Za-z_]\w*")
NAMED = (ast.Const, ast.ConstDecl, ast.Typedef, ast.Enum, ast.Struct, ast.Header, ast.Codec, ast.Function, ast.Extern, ast.Register, ast.Counter, ast.Meter,
         ast.BufferDecl, ast.Action, ast.Table, ast.ValueSet, ast.ErrorMember)
INSIDE = (ast.VarDecl, ast.Param, ast.StructField, ast.Field)       # what may have the name of something else


def unused(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Looks through a program that was found right."""
    if not any(isinstance(decl, ast.Protocol) for decl in program.main):
        return
    text = program.span.source.text
    written = Counter(NAME.findall(NO_NAMES.sub(" ", text)))
    nodes = list(walk(program.main))
    others = Counter(name for name, _ in set(named_inside(nodes)))
    referred = {id(node.decl) for node in nodes if isinstance(node, (ast.Name, ast.Member))}
    lists = {id(node.table) for node in nodes if isinstance(node, ast.ValueSet)}      # a value set has a table of its name
    for node in nodes:
        once = isinstance(node, NAMED) and id(node) not in referred and written[node.name] - others[node.name] == 1
        if once and not node.name.startswith("_") and not kept(node) and id(node) not in lists:
            diagnostics.warning(f"{kind_of(node)} '{node.name}' is never used", node.span, "remove it", unused=True)
    headers(program, diagnostics)
    variables(nodes, diagnostics)
    imports(program, set(written), diagnostics)


def named_inside(nodes: list[ast.Node]) -> Iterator[tuple[str, tuple]]:
    """Names, with their places, of what is declared inside of something, and where it is named. One of which nothing is known yet is no such name."""
    for node in nodes:
        declared = isinstance(node, (*INSIDE, ast.For))
        if declared or isinstance(node, (ast.Name, ast.Member)) and isinstance(node.decl, INSIDE) and node.decl.name == node.name:
            yield node.name, (declared, node.span.line, node.span.column)


def kept(decl: ast.Node) -> bool:
    """Whether an update keeps it for the versions that come."""
    return isinstance(decl, ast.Register) and decl.persistent


def headers(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Those of the headers struct that no module names, and no other header is given."""
    struct = program.headers_struct
    if struct is None or struct not in program.main:
        return
    used = {node.decl for node in walk(program.decls) if isinstance(node, ast.Member) and isinstance(node.decl, ast.StructField)}
    used.update(arg for field in struct.fields for arg in field.args)
    for field in struct.fields:
        if field not in used and not field.name.startswith("_"):
            diagnostics.warning(f"no module takes, makes or emits header '{field.name}'", field.span, "remove it", unused=True)


def variables(nodes: list[ast.Node], diagnostics: Diagnostics) -> None:
    """Those that nothing reads. What is assigned to a part of one reads nothing of it."""
    targets = {id(root_name(node.target)) for node in nodes if isinstance(node, ast.Assign)}
    read = {id(node.decl) for node in nodes if isinstance(node, ast.Name) and id(node) not in targets}
    for node in nodes:
        if isinstance(node, ast.VarDecl) and id(node) not in read and not node.name.startswith("_"):
            diagnostics.warning(f"variable '{node.name}' is never read", node.span, "remove it", unused=True)


def imports(program: ast.Program, written: set[str], diagnostics: Diagnostics) -> None:
    """Those of which the file names nothing, nor of what they import in turn."""
    for one in program.imports:
        if one.module is not None and not any(name in written for name in names(one.module)):
            diagnostics.warning(f"nothing of {'.'.join(one.path)} is used", one.span, "remove it", unused=True)


def names(module: ast.Imported) -> Iterator[str]:
    """Of all that an import brings."""
    for decl in module.decls:
        if isinstance(decl, ast.ErrorDecl):
            yield from (member.name for member in decl.members)
        elif isinstance(decl, ast.Decl):
            yield decl.name
    for one in module.imports:
        if one.module is not None:
            yield from names(one.module)
