"""What every packet that a parser accepts begins with: headers of known sizes, one after the other, whatever comes behind them.

Where such a header lies is a constant, and that the packet holds it is known to a verifier wherever the parser has accepted.
"""
from __future__ import annotations

from lpn.compiler.layout import InstanceLayout, RecordLayout
from lpn.lang import ast
from lpn.lang.instances import walk

from .circles import goes_round

MOVES = {"extract", "advance"}


def first_headers(parser: ast.Parser, record: RecordLayout) -> dict[InstanceLayout, int]:
    """Each with its offset in the packet, in octets."""
    calls = [n for n in walk(parser) if isinstance(n, ast.Call) and n.target == "extract"]
    extracted = [named_header(c) for c in calls]
    found: dict[InstanceLayout, int] = {}
    at, state = 0, next(s for s in parser.states if s.name == "start")
    while state is not None:
        if goes_round(state):                   # its headers are not where they were first
            return found
        for s in state.statements:
            if not any(isinstance(n, ast.Call) and n.target in MOVES for n in walk(s)):
                continue
            header = named_header(s.call) if isinstance(s, ast.ExprStmt) and s.call in calls else None
            if header is None or extracted.count(header) > 1:
                return found
            inst = record.element(header, None)
            if not inst.in_packet or any(u.variable for u in inst.layout.units):
                return found
            found[inst] = at
            at += sum(u.octets for u in inst.layout.units)
        state = only_way(state)
    return found


def named_header(extract: ast.Call) -> ast.StructField | None:
    """The header that is extracted as it is: no element of a stack, none of the parser's own, through no codec."""
    target = extract.args[0]
    if extract.via is None and isinstance(target, ast.Member) and isinstance(target.decl, ast.StructField):
        return target.decl
    return None


def only_way(state: ast.State) -> ast.State | None:
    """The state that follows wherever the packet is not rejected."""
    cases = state.transition.cases if state.transition is not None else []
    targets = {c.state for c in cases if c.target != "reject"}
    return targets.pop() if len(targets) == 1 else None
