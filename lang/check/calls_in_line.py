"""How much is put in line where it is called: functions, actions, and modules that others apply. What calls twice what calls others twice doubles with each of
them, so it is counted, each body once, and refused before anybody follows or writes out that much."""
from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import walk
from ..limits import MAX_APPLIED, MAX_CALLS, MAX_CALLS_DEEP
from .contexts import body_of

APPLIED = (ast.Parser, ast.Processor, ast.Deparser)
IN_LINE = (ast.Function, ast.Action, ast.Table, *APPLIED)

Target = ast.Function | ast.Action | ast.Table | ast.Parser | ast.Processor | ast.Deparser


@dataclass(frozen=True)
class Count:
    """Of a body, or of calls: `calls` that are put in line, `applied` modules that are written out among them, calls that are `deep` in each other."""

    calls: int = 0
    applied: int = 0
    deep: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.calls + other.calls, self.applied + other.applied, max(self.deep, other.deep))

    @property
    def over(self) -> bool:
        return self.calls > MAX_CALLS or self.applied > MAX_APPLIED or self.deep > MAX_CALLS_DEEP


class Counts:
    def __init__(self) -> None:
        self.known: dict[ast.Node, Count] = {}
        self.calls: dict[ast.Node, list[tuple[ast.Call | ast.ActionRef, Target]]] = {}        # of a body: what puts in line, and what that is

    def of(self, body: ast.Node) -> Count:
        if body not in self.known:
            self.known[body] = Count()          # a circle was told elsewhere
            parts = [body.keys, body.actions, body.default_action] if isinstance(body, ast.Table) else body_of(body)      # type: ignore[arg-type]
            self.calls[body] = [(one, target) for one in walk(parts) if isinstance(one, ast.Call | ast.ActionRef)
                                and isinstance(target := one.action if isinstance(one, ast.ActionRef) else one.target, IN_LINE)]
            self.known[body] = reduce(Count.__add__, (self.through(target) for _, target in self.calls[body]), Count())
        return self.known[body]

    def through(self, target: Target) -> Count:
        inside = self.of(target)
        return Count(inside.calls + 1, inside.applied + isinstance(target, APPLIED), inside.deep + 1)


def calls_in_line(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Tells bodies of which more is put in line than is followed, innermost: not what calls them."""
    counts = Counts()
    for decl in program.decls:
        for body in decl.handlers if isinstance(decl, ast.Timing) else [decl] if isinstance(decl, (ast.Migrate, *IN_LINE)) else []:
            counts.of(body)
    for body, whole in list(counts.known.items()):
        calls = counts.calls[body]
        if not whole.over or any(counts.of(target).over for _, target in calls):
            continue
        if whole.deep > MAX_CALLS_DEEP:
            at, target = max(calls, key=lambda one: counts.through(one[1]).deep)
            diagnostics.error(f"'{target.name}' calls what calls others, {whole.deep} in each other, and at most {MAX_CALLS_DEEP} are put in line", at.span,
                              "make one of some of them")
        elif whole.applied > MAX_APPLIED:
            at, target = max(calls, key=lambda one: counts.through(one[1]).applied)
            diagnostics.error(f"{whole.applied} modules are applied here, with those that '{target.name}' applies, and at most {MAX_APPLIED} are written out", at.span,
                              "apply it once, as in a loop, or apply less in it")
        else:
            at, target = max(calls, key=lambda one: counts.through(one[1]).calls)
            diagnostics.error(f"{whole.calls} calls are put in line here, with those of '{target.name}', and at most {MAX_CALLS} are", at.span,
                              "call it once, as in a loop, or call less in it")
