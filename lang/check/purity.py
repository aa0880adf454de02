"""Only processors change state: functions that write registers or count cannot be called from anywhere else; those that look
at the payload, not from descriptions. What changes something does not say which place is read and then assigned,
and what can change not what is there of a header."""
from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import ast, builtins
from ..buffers import CALLS
from ..diagnostics import Diagnostics
from ..instances import walk
from ..types import HeaderType, Varbit
from .base import kind_of
from .statements import written_registers

PLACES = {ast.Header: "a header's description", ast.Codec: "a codec", ast.Parser: "a parser", ast.Deparser: "a deparser"}


def purity(program: ast.Program, diagnostics: Diagnostics) -> None:
    writers: dict[ast.Function, str] = {}
    functions = [decl for decl in program.decls if isinstance(decl, ast.Function)]
    again = True
    while again:
        again = False
        for function in functions:
            if function in writers:
                continue
            name = next((written for node in walk(function.body) if (written := changes(node, writers)) is not None), None)
            if name is not None:
                writers[function] = name
                again = True
    for place in named_twice(program):
        for call in walk(place):
            if isinstance(call, ast.Call) and (isinstance(call.target, ast.Table) or changes(call, writers) is not None
                                               or isinstance(call.target, ast.Function) and any(p.direction in ("out", "inout") for p in call.target.params)):
                diagnostics.error(f"what '{called(call)}' gives says which place is read and then assigned: it would be called twice", call.span,
                                  "keep its result in a variable first")
    for decl in program.decls:
        for item in decl.items if isinstance(decl, ast.Header) else ():
            for e in (item.when, item.sized) if isinstance(item, ast.Field) else ():
                register = next((node for node in reached(e) if isinstance(node, ast.Name) and isinstance(node.decl, ast.Register)), None)
                if e is not None and register is not None:
                    diagnostics.error(f"what is there of '{decl.name}' depends on register '{register.name}', which can change", e.span,
                                      "only earlier fields are known here")
    readers = those_with(functions, reads_payload)
    copiers = those_with(functions, assigns_whole)
    for decl in program.decls:
        for node in walk(decl) if isinstance(decl, (ast.Header, ast.Codec)) else ():
            if isinstance(node, ast.Call) and node.target in readers:
                diagnostics.error(f"'{node.target.name}' looks at the payload, and is called in {PLACES[type(decl)]}", node.span,
                                  "only the description itself says which payload: write sizeof(payload) or inet_sum(..., payload) in it")
        if type(decl) in PLACES:
            for node in walk(decl):
                if isinstance(node, ast.Call) and node.target in copiers:
                    diagnostics.error(f"'{node.target.name}' assigns a whole header or a varbit, and is called in {PLACES[type(decl)]}", node.span,
                                      "call it in a processor")
                target = node.target if isinstance(node, ast.Call) else node.codec if isinstance(node, ast.Via) else None
                if isinstance(target, (ast.Function, ast.Extern, ast.Codec)) and changes(node, writers):
                    diagnostics.error(f"'{target.name}' changes {changes(node, writers)}, and {PLACES[type(decl)]} changes no state",
                                      node.span, "change it in a processor")


def named_twice(program: ast.Program) -> Iterator[ast.Expr]:
    """Places that are evaluated to be read, and again to be assigned: of which a part is assigned, or that are given to be changed. A module that
    is applied has been written out: what it is given stands in a variable's declaration and in an assignment."""
    nodes = list(walk(program.decls))
    copied_in = {id(node.init) for node in nodes if isinstance(node, ast.VarDecl)}
    for node in nodes:
        if isinstance(node, ast.Assign) and (isinstance(node.target, ast.Slice) or id(node.target) in copied_in):
            yield node.target
        elif isinstance(node, ast.Call) and isinstance(node.target, (ast.Function, ast.Action)):
            yield from (arg for p, arg in zip(node.target.params, node.args) if p.direction == "inout")
        elif isinstance(node, ast.ActionRef) and node.action is not None:
            yield from (arg for p, arg in zip(node.action.params, node.args) if p.direction == "inout")


def called(call: ast.Call) -> str:
    """As it is written."""
    if isinstance(call.callee, ast.Member) and isinstance(call.callee.base, ast.Name):
        return f"{call.callee.base.name}.{call.callee.name}"
    return call.callee.name


def reached(e: object) -> Iterator[ast.Node]:
    """The nodes of an expression, and of the functions that it calls."""
    for node in walk(e):
        yield node
        if isinstance(node, ast.Call) and isinstance(node.target, ast.Function):
            yield from reached(node.target.body)


def those_with(functions: list[ast.Function], what: Callable[[ast.Node], bool]) -> set[ast.Function]:
    """Those that have such a node, or call one that has."""
    found: set[ast.Function] = set()
    again = True
    while again:
        again = False
        for function in functions:
            if function not in found and any(what(node) or isinstance(node, ast.Call) and node.target in found for node in walk(function.body)):
                found.add(function)
                again = True
    return found


def reads_payload(node: ast.Node) -> bool:
    """Its value may depend on what follows the headers."""
    return isinstance(node, ast.Name) and node.decl == builtins.PAYLOAD


def assigns_whole(node: ast.Node) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.target.type, (HeaderType, Varbit))


def changes(node: ast.Node, writers: dict[ast.Function, str]) -> str | None:
    """The state that a statement or call changes, in words."""
    for register in written_registers(node):
        return f"register '{register.name}'"
    if isinstance(node, ast.Call):
        if node.target in ("count", "execute", "reset", *CALLS) and isinstance(node.callee, ast.Member) and isinstance(base := node.callee.base, ast.Name):
            return f"{kind_of(base.decl)} '{base.name}'"
        if isinstance(node.target, ast.Extern):
            return "the node"
        if node.target in builtins.OUTSIDE:
            return f"the {node.target.partition('.')[0]}, with {node.target}()"
        if isinstance(node.target, ast.Function):
            return writers.get(node.target)
    return None
