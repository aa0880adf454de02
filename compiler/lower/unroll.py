"""Which loops are written out turn by turn: then the number of the turn is a constant in them."""
from __future__ import annotations

from lpn.lang import ast
from lpn.lang.check.contexts import called
from lpn.lang.instances import walk

TURNS, NODES = 64, 1500                         # beyond either a loop stays one
NODES_SMALL = 64                                # where code is to be short


def unrolled(s: ast.For, small: bool) -> bool:
    turns = int(s.high.const) - int(s.low.const)
    if turns > TURNS:
        return False
    return turns < 2 or turns * weight(s.body, small, {}) <= (NODES_SMALL if small else NODES) or fills_stack(s)


def weight(body: object, small: bool, known: dict[object, int]) -> int:
    """Nodes that are lowered for a body: those of what it calls stand in line, and those of a loop that is written out stand there turn by turn. `known`: of bodies that
    are called."""
    total = 0
    for node in walk(body):
        total += 1
        if isinstance(node, ast.For) and unrolled(node, small):
            total += (int(node.high.const) - int(node.low.const) - 1) * weight(node.body, small, known)
        for part in parts(node):
            if part not in known:
                known[part] = weight(part, small, known)
            total += known[part]
    return total


def parts(node: ast.Node) -> list[ast.Node]:
    """What is put in line where a node stands."""
    found: list[object] = []
    if isinstance(node, ast.Call):
        found = [called(node)]
    elif isinstance(node, ast.ActionRef):
        found = [node.action and node.action.body]
    elif isinstance(node, ast.Via):
        found = [node.codec]
    return [part for part in found if isinstance(part, ast.Node)]


def fills_stack(s: ast.For) -> bool:
    """Whether it extracts into a stack: how full that is, is known while lowering."""
    return any(isinstance(n, ast.Member) and n.decl == "next" for n in walk(s.body))
