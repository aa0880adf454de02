"""Whether a chain sends; `m.verdict = TRANSMIT` in one without a deparser: warnings for those who build for a node or run one, where nothing is sent then. `lpnc check` does not
know whom a program is for: the Linux kernel sends the packet as it came (target xdp)."""
from __future__ import annotations

from collections.abc import Sequence

from .. import ast
from ..builtins import VERDICTS
from ..diagnostics import Diagnostic, Diagnostics
from ..hooks import EVENTS
from ..instances import walk
from .reads import with_called


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


def may_send(chain: Sequence[ast.Module]) -> bool:
    """Whether the packet may be given to the radio when a chain has run: there is one, and a verdict that may be TRANSMIT."""
    def other(value: ast.Expr) -> bool:
        return isinstance(value, ast.Name) and value.decl in VERDICTS and value.decl != "TRANSMIT"
    return isinstance(chain[-1], ast.Deparser) and any(
        sets_verdict(node) and not other(node.value) for module in chain for node in with_called(module, set()))


def sets_verdict(node: ast.Node) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.target, ast.Member) and node.target.decl == "verdict"


def sends(node: ast.Node) -> bool:
    return sets_verdict(node) and any(isinstance(one, ast.Name) and one.decl == "TRANSMIT" for one in walk(node.value))
