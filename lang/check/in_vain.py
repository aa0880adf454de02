"""What a program does to a header that nobody sees: a field is assigned, and the header goes nowhere; one header is emitted twice. Warnings.

What is told is surely true: a read that stands behind an assignment counts, whether a run comes to it or not.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import named_field, walk
from ..types import HeaderType
from .base import in_turn
from .reads import headers_read


def assigned_in_vain(program: ast.Program, diagnostics: Diagnostics, told: Collection[ast.StructField]) -> None:
    """Headers that a processor of a chain with a deparser assigns to, and that nobody reads then and no deparser of the program emits. `told`: of these it is known that
    none emits them."""
    used: set[object] = {None, *told}.union(*(headers_read(decl) for decl in program.decls if isinstance(decl, ast.Deparser)))
    seen = {decl for hook in program.hooks for decl in hook.chain if isinstance(hook.chain[-1], ast.Deparser)}
    for hook in program.hooks:
        if hook.chain[-1] not in seen:
            continue
        processors = [module for module in hook.chain if isinstance(module, ast.Processor)]
        for place, processor in enumerate(processors):
            later = used.union(*(headers_read(one) for each in program.hooks for one in behind(processor, each.chain)))
            for one in walk(processor):
                if not isinstance(one, ast.Assign) or (header := header_in(one.target)) is None or (field := named_field(header)) in later:
                    continue
                if not read_behind(processor, one, field):
                    used.add(field)
                    later.add(field)
                    diagnostics.warning(f"'{in_turn(one.target)}' is assigned here, and no deparser emits '{in_turn(header)}'", one.span,
                                        f"emit it in {hook.chain[-1].name}: pkt.emit({in_turn(header)})")


def behind(module: ast.Module, chain: Sequence[ast.Module]) -> Sequence[ast.Module]:
    """What runs in a chain when a module has."""
    return chain[chain.index(module) + 1:] if module in chain else []


def header_in(place: ast.Expr) -> ast.Member | None:
    """The header of the headers struct that an assigned place is a part of: no stack's, of which others may be meant."""
    while isinstance(place, (ast.Member, ast.Index, ast.Slice)):
        place = place.base
        if isinstance(place, ast.Member) and isinstance(place.decl, ast.StructField):
            return place if isinstance(place.type, HeaderType) else None
    return None


def read_behind(processor: ast.Processor, assign: ast.Assign, field: ast.StructField | None) -> bool:
    """Whether the processor may read the header when it has assigned to it. What it has beside `apply`, and a loop, may run behind any place."""
    own = {id(one) for one in walk(assign)}
    nodes = list(walk(processor.apply))
    at = next((place for place, one in enumerate(nodes) if one is assign), None)
    if at is None or any(isinstance(one, ast.For) and any(each is assign for each in walk(one)) for one in nodes):
        at = -1
    return any(field in headers_read(one) for one in [*processor.locals, *pieces(nodes[at + 1:], own)])


def pieces(nodes: Sequence[ast.Node], left_out: set[int]) -> list[ast.Node]:
    """Statements and expressions as they stand behind one another, each once, without those left out and what they are in."""
    out, done = [], set(left_out)
    for node in nodes:
        if id(node) in done:
            continue
        inner = {id(one) for one in walk(node)}
        if not inner & left_out:
            out.append(node)
            done |= inner
    return out


def emitted_twice(program: ast.Program, diagnostics: Diagnostics) -> None:
    """A header that every run of a deparser emits again as it was. What one form and another, through a codec, is meant; so is what a condition decides."""
    for decl in program.decls:
        before: dict[ast.StructField, ast.Call] = {}
        for call in plain_emits(decl) if isinstance(decl, ast.Deparser) else []:
            header = call.args[0]
            if not isinstance(header, ast.Member) or not isinstance(header.decl, ast.StructField) or not isinstance(header.type, HeaderType):
                continue
            first = before.setdefault(header.decl, call)
            if first is not call:
                diagnostics.warning(f"'{in_turn(header)}' is emitted a second time here: the packet has it twice", call.span, "remove one",
                                    notes=[("it is emitted here", first.span)])


def plain_emits(deparser: ast.Deparser) -> list[ast.Call]:
    """Those of every run, without a codec."""
    calls = [one.call for one in deparser.body.statements if isinstance(one, ast.ExprStmt)]
    return [call for call in calls if call.target == "emit" and call.via is None and call.args]


def never_allowed(program: ast.Program, diagnostics: Diagnostics) -> None:
    """`h.x.setValid()`, of which a field is 0 then and for ever, where its description does not allow that: what is emitted is refused by whoever reads it."""
    nodes = [node for decl in program.decls for node in walk(decl)]
    whole = {node.target.type.decl for node in nodes if isinstance(node, ast.Assign) and isinstance(node.target.type, HeaderType)}
    passed = {arg.type.decl for node in nodes if isinstance(node, ast.Call) and node.target not in ("extract", "emit") for arg in node.args if isinstance(arg.type, HeaderType)}
    named = {node.decl for one in nodes for node in places(one)}
    emitted = {named_field(node.args[0]) for node in nodes if isinstance(node, ast.Call) and node.target == "emit" and node.via is None}
    told: set[object] = set()
    for node in nodes:
        if not isinstance(node, ast.Call) or node.target != "setValid" or not isinstance(node.callee, ast.Member):
            continue
        header = node.callee.base
        if not isinstance(header.type, HeaderType) or (field := named_field(header)) is None or field not in emitted or (made := header.type.decl) in whole | passed:
            continue
        for item in made.fields():
            if item.values and item.when is None and item.equation is None and item not in named | told and not any(map(zero_fits, item.values)):
                told.add(item)
                diagnostics.warning(f"'{in_turn(header)}.{item.name}' is 0 then, which its description does not allow", node.span, f"assign it: {in_turn(header)}.{item.name} = ...")


def places(node: ast.Node) -> list[ast.Member]:
    """The fields that a statement assigns, or gives to a call that may."""
    found = [node.target] if isinstance(node, ast.Assign) else node.args if isinstance(node, ast.Call) else []
    return [one for place in found for one in walk(place) if isinstance(one, ast.Member)]


def zero_fits(value: ast.Expr) -> bool:
    """Whether 0 is among what stands in `in { ... }`, or it is not known."""
    if isinstance(value, ast.Binary) and value.op == "&&&":
        return value.left.const is None or value.right.const is None or not int(value.left.const) & int(value.right.const)
    low = value.low if isinstance(value, ast.RangeSet) else value
    return low.const is None or int(low.const) == 0
