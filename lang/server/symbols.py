"""The outline of a file."""
from __future__ import annotations

from lsprotocol import types as lsp

from .. import ast
from ..check.base import kind_of
from ..source import Source
from .places import name_span, range_of

KINDS: dict[type, lsp.SymbolKind] = {
    ast.Const: lsp.SymbolKind.Constant, ast.ConstDecl: lsp.SymbolKind.Constant, ast.Enum: lsp.SymbolKind.Enum,
    ast.EnumMember: lsp.SymbolKind.EnumMember, ast.ErrorMember: lsp.SymbolKind.EnumMember, ast.Struct: lsp.SymbolKind.Struct,
    ast.StructField: lsp.SymbolKind.Field, ast.Header: lsp.SymbolKind.Struct, ast.Field: lsp.SymbolKind.Field,
    ast.ChoiceField: lsp.SymbolKind.Field, ast.Codec: lsp.SymbolKind.Interface, ast.Function: lsp.SymbolKind.Function,
    ast.Extern: lsp.SymbolKind.Function, ast.Action: lsp.SymbolKind.Method, ast.Table: lsp.SymbolKind.Object,
    ast.Parser: lsp.SymbolKind.Class, ast.Processor: lsp.SymbolKind.Class, ast.Deparser: lsp.SymbolKind.Class,
    ast.State: lsp.SymbolKind.Method, ast.Timing: lsp.SymbolKind.Event, ast.Protocol: lsp.SymbolKind.Module,
    ast.Typedef: lsp.SymbolKind.TypeParameter,
}


def children(decl: ast.Node) -> list[ast.Node]:
    if isinstance(decl, ast.Header):
        return [one for item in decl.items for one in (item.fields if isinstance(item, ast.Word) else [item])]
    return [one for name in ("members", "fields", "locals", "states") for one in getattr(decl, name, [])]


def symbols(source: Source, decls: list) -> list[lsp.DocumentSymbol]:
    out = []
    for decl in decls:
        name = getattr(decl, "name", None) or ("error" if isinstance(decl, ast.ErrorDecl) else None)
        if name in (None, "_") or decl.span.source is not source:
            continue
        kind = KINDS.get(type(decl), lsp.SymbolKind.Variable)
        own = range_of(decl.span)
        named = range_of(name_span(decl, name))
        out.append(lsp.DocumentSymbol(name, kind, own, named, detail=kind_of(decl) if not isinstance(decl, ast.ErrorDecl) else "reasons",
                                      children=symbols(source, children(decl))))
    return out
