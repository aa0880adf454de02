"""Buffers of a program: their numbers, their keys, and which hooks complete them."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from . import ast
from .hooks import BUFFER_COMPLETE, Hook
from .tables import declared

#: Calls that may complete an entry, whose chain then runs.
COMPLETING = ("buffer.put", "buffer.take")
CALLS = ("buffer.put", "buffer.hold", "buffer.take", "buffer.drop")


def buffers(program: ast.Program) -> list[tuple[str, ast.BufferDecl]]:
    """Every buffer with its name, `Module.name` in a module; the place in the list is its number."""
    return [(name, decl) for name, decl in declared(program) if isinstance(decl, ast.BufferDecl)]


def named(program: ast.Program, name: str) -> list[ast.BufferDecl]:
    """The buffers that a name can mean: by full name, else by its last part."""
    full = [decl for each, decl in buffers(program) if each == name]
    return full or [decl for each, decl in buffers(program) if each.rpartition(".")[2] == name]


def of_call(node: ast.Node) -> ast.BufferDecl | None:
    """The buffer whose method a call is."""
    if isinstance(node, ast.Call) and node.target in CALLS and isinstance(node.callee, ast.Member) and isinstance(node.callee.base, ast.Name):
        decl = node.callee.base.decl
        assert isinstance(decl, ast.BufferDecl)
        return decl
    return None


def emitted(call: ast.Call) -> ast.Call | None:
    """`Tx(h)` among the arguments: what stands in front of the payload."""
    last = call.args[-1] if call.args else None
    return last if isinstance(last, ast.Call) and isinstance(last.target, ast.Deparser) else None


def key_values(call: ast.Call) -> list[ast.Expr]:
    """The values of the key, the first argument of every method."""
    key = call.args[0]
    return key.elements if isinstance(key, ast.Tuple) else [key]


Reached = Callable[[ast.Module], Iterable[ast.Node]]


def completions(hooks: list[Hook], reached: Reached) -> Iterator[tuple[ast.BufferDecl, ast.Call, Hook]]:
    """Each call that may complete a buffer, with the hook that runs it."""
    for hook in hooks:
        for module in hook.chain:
            for node in reached(module):
                decl = of_call(node)
                if decl is not None and isinstance(node, ast.Call) and node.target in COMPLETING:
                    yield decl, node, hook


def give_contexts(hooks: list[Hook], program: ast.Program, reached: Reached) -> None:
    """A buffer's chain runs where the chain ran that completed it; one buffer's chain may complete another."""
    numbers = {decl: number for number, (_, decl) in enumerate(buffers(program))}
    found = list(completions(hooks, reached))
    for _ in range(len(numbers) + 1):
        for decl, _, hook in found:
            for other in hooks:
                if other.event == BUFFER_COMPLETE and other.selector == (numbers[decl],) and hook.context != "":
                    other.context = hook.context if other.context in ("", hook.context) else other.context
