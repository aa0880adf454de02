"""Why a packet may be dropped: reasons by number, the same for every engine."""
from __future__ import annotations

from .. import ast, builtins
from ..types import EnumType, Varbit


def reasons(program: ast.Program) -> list[str]:
    """Names by number; [0] is "". Built-in ones, the program's errors, then the automatic ones in order of declaration."""
    names = ["", *builtins.REASONS]
    for decl in program.decls:
        if isinstance(decl, ast.ErrorDecl):
            names += [member.name for member in decl.members]
    automatic: list[str] = []
    for decl in program.decls:
        if isinstance(decl, ast.Header):
            automatic += header_reasons(decl)
        elif isinstance(decl, ast.Codec):
            automatic += codec_reasons(decl)
        elif isinstance(decl, ast.Parser):
            automatic += [f"{decl.name}.{state.name}" for state in decl.states if state.max is not None and not state.reason]
        elif isinstance(decl, ast.Processor):
            automatic.append(f"{decl.name}.drop")
    return names + list(dict.fromkeys(automatic))


def header_reasons(header: ast.Header) -> list[str]:
    out = []
    for item in header.items:
        if isinstance(item, ast.Where):
            if item.reason is None:
                out.append(f"{header.name}.where")
            continue
        for field in item.fields if isinstance(item, ast.Word) else [item] if isinstance(item, ast.Field) else []:
            equation = field.equation is not None and not field.deferred
            if equation or field.values is not None or isinstance(field.type, (EnumType, Varbit)):
                out.append(f"{header.name}.{field.name}")
    return out


def codec_reasons(codec: ast.Codec) -> list[str]:
    out = [f"{codec.name}.tag"] if any(piece.value is not None for piece in codec.tag) else []
    return out + [group_reason(codec, group) for group in codec.groups]


def group_reason(codec: ast.Codec, group: ast.Group) -> str:
    """What a group rejects with, where a row gives no error of its own: `Codec.<its last tag variable>`."""
    return f"{codec.name}.{group.tags[-1].name if group.tags else 'where'}"
