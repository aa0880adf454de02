"""What the call around a place takes: its parameters, and which of them is being written."""
from __future__ import annotations

import re
from dataclasses import dataclass

from lsprotocol import types as lsp

from .. import ast, builtins
from ..check.buffers import METHODS as BUFFER_METHODS
from . import known
from .complete import visible
from .describe import comment
from .index import Index
from .places import Point, text_of

LINES = 20                                      # of a call, above the place
CALLED = re.compile(r"(?:([A-Za-z_]\w*)\s*\.\s*)?([A-Za-z_]\w*)\s*(?:<[^<>()]*(?:<\w*>)?\s*>\s*)?$")
OPENS, CLOSES, ENDS = "([", ")]", ";{}"


@dataclass(frozen=True)
class Open:
    """The call that is not closed at a place: what stands before the dot ("" without one), the name, and how many arguments are written."""

    before: str
    name: str
    written: int


def around(lines: list[str], point: Point) -> Open | None:
    rows = [line.split("//")[0] for line in lines[max(0, point.line - LINES):point.line - 1]]
    text = "\n".join([*rows, lines[point.line - 1][:point.column - 1] if point.line <= len(lines) else ""])
    if "//" in text.rpartition("\n")[2]:
        return None
    depth = written = 0
    for at in range(len(text) - 1, -1, -1):
        one = text[at]
        if one in CLOSES:
            depth += 1
        elif one in OPENS and depth:
            depth -= 1
        elif one == "(" and (found := CALLED.search(text[:at])):
            return Open(found[1] or "", found[2], written)
        elif one in OPENS:                      # what only stands in brackets
            written = 0
        elif one == "," and not depth:
            written += 1
        elif one in ENDS:
            return None
    return None


def signature(index: Index | None, lines: list[str], point: Point) -> lsp.SignatureHelp | None:
    call = around(lines, point)
    found = declared(index, call, point) or built_in(index, call, point) if call else None
    if call is None or found is None:
        return None
    head, params, tail, about = found
    last = max(len(params) - 1, 0)
    return lsp.SignatureHelp([lsp.SignatureInformation(f"{head}({', '.join(params)}){tail}", about or None, [lsp.ParameterInformation(one) for one in params])],
                             active_signature=0, active_parameter=min(call.written, last))


Shown = tuple[str, list[str], str, str]         # what stands before the parameters, these, what stands behind, and what is said of it


def declared(index: Index | None, call: Open, point: Point) -> Shown | None:
    if index is None:
        return None
    name = call.before if call.name == "apply" else "" if call.before else call.name
    decl = next((one for one in visible(index, point) if getattr(one, "name", None) == name), None)
    if isinstance(decl, ast.Table) and call.name == "apply":
        return f"{name}.apply", [], "", known.OTHER["apply"]
    params = getattr(decl, "params", None)
    if not isinstance(decl, ast.Decl) or params is None:
        return None
    given = text_of(decl.return_type.span) + " " if isinstance(decl, (ast.Function, ast.Extern)) else ""
    tail = f" <-> {decl.header_name}" if isinstance(decl, ast.Codec) else ""
    return f"{given}{name}{'.apply' if call.name == 'apply' else ''}", [" ".join(text_of(one.span).split()) for one in params], tail, comment(decl.span)


def built_in(index: Index | None, call: Open, point: Point) -> Shown | None:
    whole = f"{call.before}.{call.name}" if call.before else call.name
    if whole in known.TAKES:
        return whole, list(known.TAKES[whole]), "", known.OUTSIDE.get(whole) or known.OTHER.get(whole, "")
    if whole in builtins.OUTSIDE:
        return whole, [str(one) for one in builtins.OUTSIDE[whole][0]], "", known.OUTSIDE[whole]
    decl = next((one for one in visible(index, point) if getattr(one, "name", None) == call.before), None) if index and call.before else None
    if isinstance(decl, ast.BufferDecl):
        return (whole, list(BUFFER_METHODS[call.name]), "", known.BUFFER[call.name]) if call.name in BUFFER_METHODS else None
    about = next((table[call.name] for table in (known.PACKET, known.STACK, known.PAYLOAD) if call.name in table), "")
    return (whole, list(known.TAKES[f".{call.name}"]), "", about) if call.before and f".{call.name}" in known.TAKES else None
