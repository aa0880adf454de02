"""`m.port = ...` in a processor that does not deliver, and does not look at the port: warnings, since the next one begins with port 0."""
from __future__ import annotations

from .. import ast, builtins
from ..diagnostics import Diagnostics
from ..instances import walk
from .doubts import decides
from .reads import with_called

DELIVER = builtins.VERDICTS["DELIVER"]


def ports(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Looks through a program that was found right, before what it applies is written out."""
    applied = {node.target for node in walk(program.decls) if isinstance(node, ast.Call)}
    for processor in program.decls:
        if isinstance(processor, ast.Processor) and processor not in applied:      # who applies it may deliver
            port_alone(processor, program, diagnostics)


def port_alone(processor: ast.Processor, program: ast.Program, diagnostics: Diagnostics) -> None:
    nodes = list(with_called(processor, set()))
    targets = {id(node.target) for node in nodes if isinstance(node, ast.Assign)}
    if any(is_port(node) and id(node) not in targets or decides(node, DELIVER) for node in nodes):
        return
    later = (module for hook in program.hooks if processor in hook.chain for module in hook.chain[hook.chain.index(processor) + 1:])
    delivers = next((module for module in later if any(decides(node, DELIVER) for node in with_called(module, set()))), None)
    for node in walk(processor):
        if isinstance(node, ast.Assign) and is_port(node.target):
            if delivers is not None:
                diagnostics.warning(f"this port is forgotten: '{processor.name}' does not deliver, and each processor begins with port 0", node.span,
                                    f"set it where the packet is delivered, in '{delivers.name}'")
            else:
                diagnostics.warning("this port is never looked at: the packet is not delivered", node.span, "set m.verdict = DELIVER too; what the radio sends, m.verdict = TRANSMIT, has no port")


def is_port(node: ast.Node) -> bool:
    return isinstance(node, ast.Member) and node.decl == "port"
