"""`m.verdict = TRANSMIT` in a chain without a deparser: warnings for those who build for a node or run one, where nothing is sent then. `lpnc check` does not
know whom a program is for: the Linux kernel sends the packet as it came (target xdp)."""
from __future__ import annotations

from .. import ast
from ..diagnostics import Diagnostic, Diagnostics
from ..hooks import EVENTS
from ..instances import walk
from .ports import with_called


def unsent(program: ast.Program) -> list[Diagnostic]:
    """Of a checked program: of each chain the first place that means to send."""
    out = Diagnostics()
    for hook in program.hooks:
        if hook.timed or isinstance(hook.chain[-1], ast.Deparser):
            continue
        place = next((node for module in hook.chain for node in with_called(module, set()) if sends(node)), None)
        if place is not None:
            names = " -> ".join(module.name for module in hook.chain)
            interrupt = hook.event in EVENTS and EVENTS[hook.event].context == "isr"
            out.warning(f"a node sends nothing here: the chain of {hook.name} has no deparser", place.span,
                        "" if interrupt else f"put one behind it: {names} -> Tx")
    return out.items


def sends(node: ast.Node) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.target, ast.Member) or node.target.decl != "verdict":
        return False
    return any(isinstance(one, ast.Name) and one.decl == "TRANSMIT" for one in walk(node.value))
