"""What moves a parser's cursor, followed on all ways through its states."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lpn.lang import ast
from lpn.lang.effects import instance_of
from lpn.lang.instances import walk
from lpn.lang.types import Stack

from .prefix import MOVES

At = int | None                                 # how far a way has come in what is looked for; None: it is not so there
Step = Callable[[ast.Call, int], At]            # what a call that moves the cursor makes of it


def on_all_ways(parser: ast.Parser, begin: int, step: Step) -> bool:
    """Whether it is so wherever the parser comes."""
    reached: dict[ast.State, set[At]] = {next(s for s in parser.states if s.name == "start"): {begin}}
    todo = list(reached)
    while todo:
        state = todo.pop()
        after = behind(state.statements, step, reached[state])
        if None in after:
            return False
        for case in state.transition.cases if state.transition is not None else []:
            if case.state is not None and not after <= reached.setdefault(case.state, set()):
                reached[case.state] |= after
                todo.append(case.state)
    return True


def behind(statements: Iterable[ast.Stmt], step: Step, at: set[At]) -> set[At]:
    """Where statements end that begin at one of these places."""
    for s in statements:
        at = behind_one(s, step, at)
    return at


def behind_one(s: ast.Stmt, step: Step, at: set[At]) -> set[At]:
    if isinstance(s, ast.Block):
        return behind(s.statements, step, at)
    if isinstance(s, ast.If):
        return behind([s.then], step, at) | (behind([s.otherwise], step, at) if s.otherwise is not None else at)
    if isinstance(s, ast.Switch):
        return at.union(*(behind([block], step, at) for _, block in s.cases if block is not None))
    if isinstance(s, ast.For):
        while not (more := behind([s.body], step, at)) <= at:
            at = at | more
        return at
    for n in walk(s):
        if isinstance(n, ast.Call) and n.target in MOVES:
            at = {step(n, one) if one is not None else None for one in at}
    return at


def taken(call: ast.Call) -> ast.StructField | None:
    """The header, or the stack, of which one is taken as it is, an element as the next one."""
    field = instance_of(call.args[0], {}) if call.target == "extract" and call.via is None else None
    one = call.args[0]
    return field if field is None or not isinstance(field.type, Stack) or isinstance(one, ast.Member) and one.decl == "next" else None


def in_order(fields: Sequence[ast.StructField], others: bool) -> Step:
    """Of these one after the other, elements of a stack too, some of them or none; `others`: what moves the cursor otherwise comes before them all. Begins
    with -1, else it is the last one that was taken."""
    def step(call: ast.Call, at: int) -> At:
        field = taken(call)
        if field not in fields:
            return at if others and at < 0 else None
        number = fields.index(field)
        return number if number > at or number == at and isinstance(field.type, Stack) else None
    return step
