"""Circles of states, and by which of their states they are entered.

A loop of eBPF has one entry. Where the transitions of a parser lead into a circle at several places, each of these has blocks of its own for the
states of the circle: `entered` tells them apart. A circle with others in it is entered by a state that counts its visits: they are the turns, which a node
can count. What takes an element of a stack leads to other blocks, and so to no circle, unless the stack is one of those that are `counted` (stacks.py).
"""
from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from lpn.lang import ast
from lpn.lang.instances import walk


Entered = tuple[ast.State | None, ...]


class Circles:
    """Of one parser, with what was found of them: each transition asks for those around the state that it leads to."""

    def __init__(self, states: Iterable[ast.State], counted: Container, limits: Container = ()) -> None:
        """`limits`: the states that count their visits."""
        self.limits = limits
        self.following = {state: following(state, counted) for state in states}
        self.leading: dict[ast.State, list[ast.State]] = {}
        for state, ahead in self.following.items():
            for one in ahead:
                self.leading.setdefault(one, []).append(state)
        self.found: dict[tuple[ast.State, frozenset[ast.State]], set[ast.State]] = {}

    def entered(self, state: ast.State, before: Entered) -> Entered:
        """The states by which the circles around `state` are entered, the outermost circle first; `before`: those of the state that leads to it. None last:
        the next circle is entered further on, by a state that counts its turns."""
        found: list[ast.State] = []
        while circle := self.around(state, frozenset(found)):
            known = before[len(found)] if len(found) < len(before) else None
            if known not in circle:
                if state not in self.limits and self.has_circles(circle, {*found, state}) and not self.has_circles(circle, {*found, *(one for one in circle if one in self.limits)}):
                    return *found, None
                known = state
            found.append(known)
            if known is state:
                break
        return tuple(found)

    def has_circles(self, states: Iterable[ast.State], without: set[ast.State]) -> bool:
        return any(self.around(state, frozenset(without)) for state in states if state not in without)

    def around(self, state: ast.State, without: frozenset[ast.State]) -> set[ast.State]:
        """The states that lie on circles with `state` none of which goes through the others; empty if there is no such circle."""
        if (state, without) not in self.found:
            self.found[state, without] = set() if state in without else reached(state, self.following, without) & reached(state, self.leading, without)
        return self.found[state, without]


def reached(state: ast.State, by: Mapping[ast.State, Iterable[ast.State]], without: Container[ast.State]) -> set[ast.State]:
    """The states that a way leads to from `state`, a step of which is one of `by`."""
    found: set[ast.State] = set()
    todo = [state]
    while todo:
        for one in by.get(todo.pop(), ()):
            if one not in found and one not in without:
                found.add(one)
                todo.append(one)
    return found


def following(state: ast.State, counted: Container) -> list[ast.State]:
    """The states that a state leads to with its stacks as full as before."""
    if state.transition is None or any(takes_element(s, counted) for s in state.statements):
        return []
    return [case.state for case in state.transition.cases if case.state is not None]


def takes_element(s: ast.Stmt, counted: Container) -> bool:
    return isinstance(s, ast.ExprStmt) and any(isinstance(n, ast.Call) and n.target == "extract" and isinstance(n.args[0], ast.Member)
                                               and n.args[0].decl == "next" and n.args[0].base.decl not in counted for n in walk(s))


def reachable(state: ast.State) -> set[ast.State]:
    """The states that come behind a state, however full its stacks are."""
    found: set[ast.State] = set()
    todo = [state]
    while todo:
        transition = todo.pop().transition
        for case in transition.cases if transition is not None else ():
            if case.state is not None and case.state not in found:
                found.add(case.state)
                todo.append(case.state)
    return found


def goes_round(state: ast.State) -> bool:
    """Whether a state can be reached from itself."""
    return state in reachable(state)
