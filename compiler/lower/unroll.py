"""Which loops are written out turn by turn: then the number of the turn is a constant in them."""
from __future__ import annotations

from lpn.lang import ast
from lpn.lang.check.contexts import in_line
from lpn.lang.instances import walk

TURNS, NODES = 64, 1500                         # beyond either a loop stays one
NODES_SMALL = 64                                # where code is to be short


def unrolled(s: ast.For, small: bool, known: dict[object, int] | None = None) -> bool:
    """`known`: weights of bodies."""
    turns = int(s.high.const) - int(s.low.const)
    if turns > TURNS:
        return False
    return turns < 2 or turns * weight(s.body, small, {} if known is None else known) <= (NODES_SMALL if small else NODES) or fills_stack(s)


def weight(body: ast.Node, small: bool, known: dict[object, int]) -> int:
    """Nodes that are lowered for a body, with those that stand in line there; of a loop that is written out in each turn."""
    if body not in known:
        known[body] = 0
        for node in walk(body):
            known[body] += 1
            if isinstance(node, ast.For) and unrolled(node, small, known):
                known[body] += (int(node.high.const) - int(node.low.const) - 1) * weight(node.body, small, known)
            if (part := in_line(node)) is not None:
                known[body] += weight(part, small, known)
    return known[body]


def fills_stack(s: ast.For) -> bool:
    """Whether it extracts into a stack: how full that is, is known while lowering."""
    return any(isinstance(n, ast.Member) and n.decl == "next" for n in walk(s.body))
