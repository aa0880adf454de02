"""What is in the language, but not yet in the compiler: refused in one place, never ignored."""
from __future__ import annotations

from collections.abc import Callable

from . import ast
from .diagnostics import Diagnostics
from .instances import named_field, walk
from .types import Bits, Stack

DECLARATIONS: dict[type, str] = {
    ast.Timing: "timing blocks", ast.BufferDecl: "buffers", ast.Migrate: "migrate",
}
METHODS = {"push_front": "push_front", "pop_front": "pop_front", "truncate": "payload.truncate"}
LOOP_TURNS = 64                                 # loops are unrolled
PLURAL = ("blocks", "buffers")

Refuse = Callable[[str, ast.Node, str], None]


def unsupported(program: ast.Program, diagnostics: Diagnostics) -> None:
    def refuse(what: str, node: ast.Node, hint: str = "") -> None:
        verb = "are" if what.endswith(PLURAL) else "is"
        diagnostics.error(f"{what} {verb} not supported yet", node.span, hint)

    for decl in program.decls:
        if isinstance(decl, ast.Protocol) and decl.timing:
            refuse("timing in a protocol", decl, "")
        elif isinstance(decl, ast.Codec) and decl.header is not None:
            if any(isinstance(item, ast.ChoiceField) for item in decl.header.items):
                refuse("a codec for a header with a choice", decl)
        for node in walk(decl):
            for kind, what in DECLARATIONS.items():
                if isinstance(node, kind):
                    refuse(what, node)
            if isinstance(node, ast.Timing):
                break
            if isinstance(node, ast.Expr):
                expression(node, refuse)
            elif isinstance(node, ast.Register) and node.persistent:
                refuse("persistent state", node, "remove 'persistent'")
            elif isinstance(node, ast.For) and (node.high.const or 0) - (node.low.const or 0) > LOOP_TURNS:
                refuse(f"a loop of more than {LOOP_TURNS} turns", node)
            elif isinstance(node, ast.If):
                branch(node, refuse)


def expression(node: ast.Expr, refuse: Refuse) -> None:
    if isinstance(node, ast.Call):
        if isinstance(node.target, str) and (node.target in METHODS or "." in node.target):
            refuse(METHODS.get(node.target, node.target + "()"), node, "")
        elif node.target == "emit" and node.via is not None and isinstance(node.args[0].type, Stack):
            refuse("a stack emitted through a codec", node, "emit its elements, as in pkt.emit(h.x[0] via ...)")
    elif isinstance(node, ast.Index) and isinstance(node.base, ast.Name) and node.base.decl == "payload":
        refuse("payload[i]", node, "")
    elif isinstance(node, ast.Member) and node.decl == "lastIndex":
        refuse(f".{node.name}", node, "")
    elif isinstance(node, ast.Binary) and isinstance(node.left.type, Bits) and node.const is None:
        signed = node.left.type.signed
        if signed and node.op in (">>", "/", "%"):
            refuse(f"'{node.op}' of signed numbers", node, "")
        elif node.op in ("|+|", "|-|") and (signed or node.left.type.width > 63):
            refuse(f"'{node.op}' of {node.left.type}", node, "")


def branch(node: ast.If, refuse: Refuse) -> None:
    """How full a stack is must not depend on a branch."""
    def taken(side: ast.Stmt | None) -> list[int]:
        calls = [call.args[0] for call in walk(side) if isinstance(call, ast.Call) and call.target == "extract"]
        following = [header for header in calls if isinstance(header, ast.Member) and header.decl == "next"]
        return sorted(id(named_field(header)) for header in following)

    if taken(node.then) != taken(node.otherwise):
        refuse("an extract into a stack on one branch only", node, "go to a state of its own, with transition select")
