"""Who reads, behind a run, where the payload begins: nobody, unless something is delivered, rebuilt or cut off."""
from __future__ import annotations

from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Meta

WITHOUT = {"ACCEPT", "DROP", "TRANSMIT"}        # the packet stays as it is, or goes


def tells_payload(program: ast.Program, chain: list[ast.Module], in_place: bool) -> bool:
    """Whether the chain must say where its payload begins. It need not if it has no deparser, or one that leaves the packet where it is, cuts nothing off,
    and no verdict of the program's is but a name that is not DELIVER."""
    nodes = list(walk(program))
    verdicts = {n.target: n.value for n in nodes if isinstance(n, ast.Assign)}
    for n in nodes:
        if isinstance(n, ast.Call) and n.target == "truncate":
            return True
        if isinstance(n, ast.Member) and isinstance(n.base.type, Meta) and n.name == "verdict":
            value = verdicts.get(n)
            if not (isinstance(value, ast.Name) and value.decl in WITHOUT):
                return True
    return not in_place and any(isinstance(module, ast.Deparser) for module in chain)
