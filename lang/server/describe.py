"""What an editor shows of a name: how it is declared, and what the compiler knows of it."""
from __future__ import annotations

from .. import ast
from ..check.base import kind_of
from ..instances import walk
from ..source import Span
from ..types import Array, HeaderType, Stack, Varbit
from .index import Index
from .known import about
from .layout import bits, where, width
from .places import Point, text_of

LONGEST = 12                                    # lines of a declaration that are shown


def hover(index: Index, decl: object) -> str:
    """Markdown."""
    if isinstance(decl, str):
        return about(decl)
    assert isinstance(decl, ast.Node)
    parts = [f"```lpn\n{head(decl)}\n```", *facts(index, decl)]
    note = comment(decl.span)
    if note:
        parts.append(note)
    return "\n\n".join(part for part in parts if part)


def head(decl: ast.Node) -> str:
    """A declaration as written; a module only as far as its brace."""
    text = text_of(decl.span)
    if isinstance(decl, (ast.Parser, ast.Processor, ast.Deparser, ast.Codec, ast.State, ast.Timing, ast.Protocol, ast.Function, ast.Action)):
        return text.split("{")[0].rstrip()
    lines = text.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    lines = [lines[0], *(line[indent:] for line in lines[1:])]
    if isinstance(decl, (ast.Header, ast.Struct, ast.Enum)) and len(lines) > 1:
        lines = [lines[0], *("    " + line.strip() if line.strip() != "}" else "}" for line in lines[1:])]
    return "\n".join(lines if len(lines) <= LONGEST else [*lines[:LONGEST], "..."])


def comment(span: Span) -> str:
    """The comment above a declaration, or behind its first line."""
    lines = span.source.lines
    above: list[str] = []
    for line in reversed(lines[:span.line - 1]):
        if not line.strip().startswith("//"):
            break
        above.insert(0, line.strip().lstrip("/").strip())
    behind = lines[span.line - 1].partition("//")[2].strip() if span.line <= len(lines) else ""
    return " ".join(above).strip(" -") or behind


def facts(index: Index, decl: ast.Node) -> list[str]:
    owner = index.owner.get(id(decl))
    inside = f" of {kind_of(owner)} `{owner.name}`" if isinstance(owner, ast.Decl) and not isinstance(decl, ast.VarDecl) else ""
    if isinstance(decl, (ast.Field, ast.ChoiceArm, ast.ChoiceField)):
        return field_facts(decl, owner, inside)
    if isinstance(decl, ast.EnumMember):
        return [f"value {decl.number}{inside}"]
    if isinstance(decl, ast.ErrorMember):
        return [f"a reason to drop a packet, number {decl.number} in this program"]
    if isinstance(decl, (ast.Const, ast.ConstDecl)):
        value = decl.value.const
        shown = f" = {value} ({value:#x})" if isinstance(value, int) and not isinstance(value, bool) else ""
        return [f"constant of type `{decl.type}`{shown}"]
    if isinstance(decl, (ast.Register, ast.Counter, ast.Meter)):
        return [storage(decl) + inside]
    if isinstance(decl, ast.Table):
        keys = ", ".join(f"`{text_of(key.expr.span)}` {key.match}" for key in decl.keys) or "none"
        return [f"table{inside}", f"keys: {keys}", "actions: " + ", ".join(f"`{ref.name}`" for ref in decl.actions)]
    if isinstance(decl, ast.Codec):
        size = sum(tag.width for tag in decl.tag)
        return [f"a second representation of header `{decl.header_name}`: {bits(size)} of tag, {len(decl.groups)} groups of rows, "
                f"{sum(len(group.rows) for group in decl.groups)} rows"]
    if isinstance(decl, ast.TagBits):
        rows = [row for group in (owner.groups if isinstance(owner, ast.Codec) else []) for row in group.rows
                if any(tag.decl is decl or tag.name == decl.name for tag in group.tags)]
        return [f"tag variable{inside}, {bits(decl.width)}, {len(rows)} rows"]
    if isinstance(decl, ast.StructField):
        type_ = decl.type
        if isinstance(type_, Stack):
            return [f"stack of {type_.size} headers `{type_.header}`{inside}"]
        return [f"{'header' if isinstance(type_, HeaderType) else 'field'}{inside}, of type `{type_}`"]
    if isinstance(decl, (ast.VarDecl, ast.Param, ast.CodecVar)):
        return [f"{kind_of(decl)} of type `{decl.type}`"]
    return [f"{kind_of(decl)}{inside}"]


def field_facts(decl: ast.Field | ast.ChoiceArm | ast.ChoiceField, owner: ast.Node | None, inside: str) -> list[str]:
    out = []
    size = width(getattr(decl, "type", None))
    if isinstance(decl, ast.ChoiceField):
        out.append(f"choice{inside}: its width follows from `{decl.tag.name}`")
    elif isinstance(decl, ast.Field) and isinstance(decl.type, Varbit):
        out.append(f"field{inside}: whole bytes, at most {decl.type.max_width // 8}")
    else:
        what = f"arm of choice `{decl.choice.name}`" if isinstance(decl, ast.ChoiceArm) and decl.choice else "field"
        little = ", little-endian" if getattr(decl, "little", False) else ""
        out.append(f"{what}{inside}: `{decl.type}`, {bits(size)}{little}" if size is not None else f"{what}{inside}")
    if isinstance(owner, ast.Header):
        place = where(owner, decl)
        out.append(f"at {place}" if place else "")
    if isinstance(decl, ast.Field):
        for condition, words in ((decl.when, "present when"), (decl.equation, "equation: `=`" if not decl.deferred else "equation (asked for with `holds()`): `=`"),
                                 (decl.sized, "bits:")):
            if condition is not None:
                out.append(f"{words} `{' '.join(text_of(condition.span).split())}`")
        if decl.values is not None:
            out.append("one of " + ", ".join(f"`{text_of(value.span)}`" for value in decl.values))
    return out


def storage(decl: ast.Register | ast.Counter | ast.Meter) -> str:
    kind = kind_of(decl)
    persistent = "persistent " if getattr(decl, "persistent", False) else ""
    if isinstance(decl.type, Array):
        return f"{persistent}{kind}, {decl.type.size} cells of type `{decl.type.cell}`"
    return f"{persistent}{kind}, one cell of type `{decl.type}`" if decl.type is not None else f"{persistent}{kind}"


def row_hover(program: ast.Program, source: object, point: Point) -> str:
    """The codec row around a place."""
    for codec in program.decls:
        if not isinstance(codec, ast.Codec) or codec.span.source is not source or not point.within(codec.span):
            continue
        for group in codec.groups:
            for row in group.rows:
                if point.within(row.span) and row.keys:
                    keys = ", ".join(f"{tag.name} = {text_of(key.span)}" for tag, key in zip(group.tags, row.keys))
                    said = sorted({text_of(item.target.span) for item in row.items if isinstance(item, ast.RowAssign)})
                    inline = [text_of(t.target.span) for item in row.items if isinstance(item, ast.RowInline) for t in item.targets if t.target]
                    inline += [text_of(node.span) for item in row.items if isinstance(item, ast.RowAssign)
                               for node in walk(item.value) if isinstance(node, ast.InlinePiece)]
                    return "\n\n".join(filter(None, [
                        f"row of codec `{codec.name}` where {keys}",
                        "fields given by equations: " + ", ".join(f"`{one}`" for one in said) if said else "",
                        "carried in line: " + ", ".join(f"`{one}`" for one in inline) if inline else "nothing is carried in line"]))
    return ""
