"""What can be written at a place: members behind a dot, modules behind `import`, else names and words of the language."""
from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types as lsp

from .. import ast, builtins, library
from ..check.base import kind_of
from ..check.buffers import METHODS as BUFFER_METHODS
from ..grammar.LpnParser import LpnParser
from ..hooks import BOUND, EVENTS, HANDLED
from ..instances import walk
from ..types import Array, ChoiceType, EnumType, HeaderType, Meta, Packet, Stack, StructType, Type
from . import known
from .index import Index
from .places import Point
from .rename import no_name
from .symbols import KINDS

WORDS = sorted(name.strip("'") for name in LpnParser.literalNames if re.fullmatch(r"'[a-z_]+'", name))
STEP = r"[A-Za-z_]\w*\s*(?:\[[^\[\]]*\]\s*)?"
PATH = re.compile(rf"({STEP}(?:\.\s*{STEP})*)\.\s*\w*$")
RESULT = re.compile(r"([A-Za-z_]\w*)\s*\.\s*apply\s*\(\s*\)\s*\.\s*\w*$")     # of a table
VALUE = re.compile(r"[\])]\s*\.\s*\w*$")        # of which nothing is known
IMPORT = re.compile(r"^\s*import\s+([\w.]*)$")
EVENT = re.compile(r"(?<![\w.])on\s+([\w.]*)$")
BEHIND = (("via", ast.Codec), ("transition", ast.State))   # words that one kind of name follows
ELEMENTS = ("next", "last")                    # of a stack
Names = list[tuple[str, lsp.CompletionItemKind, str]]


def complete(index: Index | None, before: str, point: Point, path: Path | None) -> list[lsp.CompletionItem]:
    """before: the text of the line up to the place; path: of the file, if it has one."""
    imported = IMPORT.match(before)
    if imported:
        return items([*modules(imported.group(1)), *(beside(path, imported.group(1)) if path else [])])
    if event := EVENT.search(before):
        return items(events(index, event[1].rpartition(".")[0], point))
    if result := RESULT.search(before):
        return items(results(index, result[1], point))
    if steps := PATH.search(before):
        return items(members(index, re.sub(r"\[[^\]]*\]|\s", lambda found: "[]" if found[0][0] == "[" else "", steps[1]).split("."), point))
    if VALUE.search(before):
        return []
    for word, kind in BEHIND:
        if re.search(rf"\b{word}\s+\w*$", before):
            found = [decl for decl in visible(index, point) if isinstance(decl, kind)] if index else []
            extra: Names = [(name, lsp.CompletionItemKind.Keyword, "") for name in ("accept", "reject", "select")] if kind is ast.State else []
            return items([*named(found), *extra])
    out: Names = [(word, lsp.CompletionItemKind.Keyword, "") for word in WORDS]
    out += [(name, lsp.CompletionItemKind.Constant, "built in") for name in builtins.NAMES]
    return items([*(named(visible(index, point)) if index else []), *out])


def items(names: Names) -> list[lsp.CompletionItem]:
    seen: dict[str, lsp.CompletionItem] = {}
    for name, kind, detail in names:
        seen.setdefault(name, lsp.CompletionItem(name, kind=kind, detail=detail or None))
    return list(seen.values())


def modules(written: str) -> Names:
    kind = lsp.CompletionItemKind.Module
    if "." not in written:
        return [("std", kind, "the standard library")]
    return [(name, kind, f"std.{name}") for name in library.modules()] if written.startswith("std.") else []


def beside(path: Path, written: str) -> Names:
    """What an import can name next: the files, and the folders with files or with folders of files, in the folder that is written so far."""
    *folders, _ = written.split(".")
    if folders[:1] == ["std"]:
        return []
    found = [one for one in sorted(path.parent.joinpath(*folders).glob("*")) if not no_name(one.stem if one.suffix == ".lpn" else one.name)]
    files: Names = [(one.stem, lsp.CompletionItemKind.Module, one.name) for one in found if one.suffix == ".lpn" and one.is_file() and one != path]
    return files + [(one.name, lsp.CompletionItemKind.Folder, f"{one.name}/") for one in found if one.is_dir() and (any(one.glob("*.lpn")) or any(one.glob("*/*.lpn")))]


def events(index: Index | None, written: str, point: Point) -> Names:
    """What a chain can be bound to, or in a timing block what a handler can be for; behind what is written up to the last dot."""
    outer = next((one for one in index.program.main if one.span.line <= point.line <= one.span.end_line), None) if index else None
    names = {name: f"in context {EVENTS[name].context}" for name in (HANDLED if isinstance(outer, ast.Timing) else BOUND)}
    if index and not isinstance(outer, ast.Timing):
        names |= {f"{one.name}.{local.name}.complete": "the buffer has all of it" for one in index.program.decls if isinstance(one, ast.Processor)
                  for local in one.locals if isinstance(local, ast.BufferDecl)}
    begin = f"{written}." if written else ""
    return [(name.removeprefix(begin), lsp.CompletionItemKind.Event, text) for name, text in names.items() if name.startswith(begin)]


def results(index: Index | None, table: str, point: Point) -> Names:
    """What is asked of `t.apply()`."""
    decl = next((one for one in visible(index, point) if getattr(one, "name", None) == table), None) if index else None
    return [(name, lsp.CompletionItemKind.Field, text) for name, text in known.RESULT.items()] if isinstance(decl, ast.Table) else []


def named(decls: Iterable[ast.Node]) -> Names:
    return [(decl.name, kind(decl), detail(decl)) for decl in decls if getattr(decl, "name", "") not in ("", "_")]       # type: ignore[attr-defined]


def kind(decl: ast.Node) -> lsp.CompletionItemKind:
    symbol = KINDS.get(type(decl))
    return getattr(lsp.CompletionItemKind, symbol.name, lsp.CompletionItemKind.Variable) if symbol else lsp.CompletionItemKind.Variable


def detail(decl: ast.Node) -> str:
    type_ = getattr(decl, "type", None)
    return f"{kind_of(decl)} {type_}" if type_ is not None else kind_of(decl)


def visible(index: Index, point: Point) -> list[ast.Node]:
    """The declarations that can be named at a place, the nearest first."""
    out: list[ast.Node] = []
    for outer in index.program.main:
        if not (outer.span.line <= point.line <= outer.span.end_line):
            continue
        for name in ("params", "locals", "states", "vars", "tag"):
            out += [one for one in getattr(outer, name, []) if isinstance(one, ast.Node)]
        if isinstance(outer, (ast.Header, ast.Codec)):
            header = outer if isinstance(outer, ast.Header) else outer.header
            out += own_fields(header) if header else []
        for node in walk(outer):
            if isinstance(node, (ast.VarDecl, ast.ConstDecl)) and node.span.line <= point.line:
                out.insert(0, node)
            elif isinstance(node, ast.Action) and node.span.line <= point.line <= node.span.end_line:
                out = [*node.params, *out]
            elif isinstance(node, ast.For) and node.var is not None and node.span.line <= point.line <= node.span.end_line:
                out.insert(0, node.var)
    return [*out, *index.top.values()]


def own_fields(header: ast.Header) -> list[ast.Node]:
    return [*header.fields(), *(item for item in header.items if isinstance(item, ast.ChoiceField))]


def members(index: Index | None, path: list[str], point: Point) -> Names:
    """What can follow the last dot of a path such as `h`, `ip`."""
    method, constant = lsp.CompletionItemKind.Method, lsp.CompletionItemKind.Constant
    field = lsp.CompletionItemKind.Field
    first, rest = path[0].removesuffix("[]"), path[1:]
    if first == "error" and not rest:
        declared = [one for decl in (index.program.decls if index else []) if isinstance(decl, ast.ErrorDecl) for one in decl.members]
        return [*named(declared), *((name, constant, "every program has it") for name in (builtins.NO_ERROR, *builtins.REASONS))]
    if first == builtins.NODE_NAME and not rest:
        return [(name, field, str(type_)) for name, type_ in builtins.NODE.items()]
    if first in ("radio", "net") and not rest:
        return [(name.partition(".")[2], method, known.OUTSIDE.get(name, "")) for name in builtins.OUTSIDE if name.startswith(first + ".")]
    if first == builtins.PAYLOAD and not rest:
        return [(name, method, text) for name, text in known.PAYLOAD.items()]
    if index is None:
        return []
    decl: object = next((one for one in visible(index, point) if getattr(one, "name", None) == first), None)
    for step in rest:
        name = step.removesuffix("[]")
        decl = next((one for one in parts(decl) if getattr(one, "name", None) == name), decl if name in ELEMENTS else None)
    if isinstance(decl, ast.Enum):
        return named(decl.members)
    if isinstance(decl, ast.Table):
        return [("apply", method, known.OTHER["apply"])]
    if isinstance(decl, ast.Counter):
        return [("count", method, known.OTHER["count"]), ("reset", method, known.OTHER["reset"])]
    if isinstance(decl, ast.Meter):
        return [("execute", method, "GREEN, YELLOW or RED"), ("reset", method, known.OTHER["reset"])]
    if isinstance(decl, ast.BufferDecl):
        return [(name, method, known.BUFFER.get(name, "")) for name in BUFFER_METHODS]
    type_ = getattr(decl, "type", None)
    if isinstance(type_, Packet):
        return [(name, method, text) for name, text in known.PACKET.items()]
    if isinstance(type_, Meta):
        return [(name, field, str(each)) for name, each in builtins.META.items()]
    if isinstance(type_, Stack) and not path[-1].endswith("[]") and path[-1] not in ELEMENTS:
        return [(name, field if name in ELEMENTS else method, text) for name, text in known.STACK.items()]
    out = named(parts(decl))
    if isinstance(element(type_), HeaderType):
        out += [(name, method, known.HEADER.get(name, "")) for name in builtins.HEADER_METHODS]
    return out


def element(type_: Type | None) -> Type | None:
    return type_.header if isinstance(type_, Stack) else type_.cell if isinstance(type_, Array) else type_


def parts(decl: object) -> list[ast.Node]:
    """The declarations that a value's members name."""
    if isinstance(decl, ast.ChoiceField):
        return list(decl.arms)
    type_ = element(getattr(decl, "type", None))
    if isinstance(type_, HeaderType):
        return own_fields(type_.decl)
    if isinstance(type_, StructType):
        return list(type_.decl.fields)
    if isinstance(type_, EnumType):
        return []
    if isinstance(type_, ChoiceType):
        return list(type_.decl.arms)
    return []
