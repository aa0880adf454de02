"""What is in the language, but not yet in the compiler: refused in one place, never ignored."""
from __future__ import annotations

from . import ast
from .diagnostics import Diagnostics
from .instances import walk
from .types import Bits

DECLARATIONS: dict[type, str] = {
    ast.Timing: "timing blocks", ast.Meter: "meters", ast.BufferDecl: "buffers", ast.Migrate: "migrate", ast.Extern: "extern functions",
}
METHODS = {"push_front": "push_front", "pop_front": "pop_front", "truncate": "payload.truncate"}


def unsupported(program: ast.Program, diagnostics: Diagnostics) -> None:
    def refuse(what: str, node: ast.Node, hint: str = "") -> None:
        diagnostics.error(f"{what} {'are' if what.endswith('s') else 'is'} not supported yet", node.span, hint)

    for decl in program.decls:
        if isinstance(decl, ast.Action):
            refuse("an action outside a processor", decl, "move it into the processor")
        if isinstance(decl, ast.Protocol):
            for binding in decl.bindings:
                if binding.event != "radio.rx_done":
                    refuse(f"the hook {binding.event}", binding, "there is radio.rx_done")
            if len(decl.bindings) > 1:
                refuse("more than one binding of a hook", decl.bindings[1])
            if decl.timing:
                refuse("timing in a protocol", decl)
        for node in walk(decl):
            for kind, what in DECLARATIONS.items():
                if isinstance(node, kind):
                    refuse(what, node)
            if isinstance(node, ast.Timing):
                break
            if isinstance(node, ast.Register) and node.persistent:
                refuse("persistent state", node, "remove 'persistent'")
            elif isinstance(node, ast.Call):
                if isinstance(node.target, str) and (node.target in METHODS or "." in node.target):
                    refuse(METHODS.get(node.target, node.target + "()"), node)
            elif isinstance(node, ast.Index) and isinstance(node.base, ast.Name) and node.base.decl == "payload":
                refuse("payload[i]", node)
            elif isinstance(node, ast.Member) and node.decl in ("lastIndex", "action_run"):
                refuse(f".{node.name}", node)
            elif isinstance(node, ast.TypeRef) and isinstance(node.type, Bits) and node.type.signed and node.type.width > 64:
                refuse(f"{node.type}", node)
