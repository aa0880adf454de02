"""What the modules of a program do to header instances, whatever the path: assignments, validity, codecs."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import ast
from .instances import walk
from .types import HeaderType, Stack

Environment = dict[ast.Param, ast.StructField | None]
Place = ast.Field | ast.ChoiceArm


@dataclass(frozen=True)
class Effect:
    """kind: "assign" (place: the field or arm), "setValid", "setInvalid", "move" (push_front, pop_front), "truncate"
    (instance None), "extract" and "emit" (codec: the one it goes through, or None). Headers that an assignment of a
    whole one has on its two sides are "copied"."""

    kind: str
    module: ast.Module
    instance: ast.StructField | None = None
    place: Place | None = None
    codec: ast.Codec | None = None


def effects(program: ast.Program) -> list[Effect]:
    """Every effect in the modules that hooks run; a header passed to a function counts where the function acts."""
    out: list[Effect] = []
    for module in program.modules:
        seen: set[tuple] = set()
        bodies: list[object]
        if isinstance(module, ast.Parser):
            bodies = [module.states]
        elif isinstance(module, ast.Processor):
            bodies = [module.locals, module.apply]
        elif isinstance(module, ast.Handler):
            bodies = [module.body]
        else:
            bodies = [getattr(module, "locals", []), getattr(module, "body", [])]
        for body in bodies:
            out += in_body(body, module, {}, seen)
    return out


def in_body(body: object, module: ast.Module, env: Environment, seen: set[tuple]) -> Iterator[Effect]:
    for node in walk(body):
        if isinstance(node, ast.Assign):
            yield from copied(node, module, env) if isinstance(node.target.type, HeaderType) else assigned(node.target, module, env)
        elif isinstance(node, ast.Call):
            yield from in_call(node, module, env, seen)
        elif isinstance(node, ast.ActionRef) and node.action is not None:
            yield from given_back(node.action.params, node.bound + node.args, module, env)
            yield from once(node.action, {}, module, seen)


def once(called: ast.Function | ast.Action, env: Environment, module: ast.Module, seen: set[tuple]) -> Iterator[Effect]:
    """The effects of a body, unless it has been walked with these headers."""
    key = (called, tuple(env.values()))
    if key not in seen:
        seen.add(key)
        yield from in_body(called.body, module, env, seen)


def in_call(call: ast.Call, module: ast.Module, env: Environment, seen: set[tuple]) -> Iterator[Effect]:
    target = call.target
    if target in ("extract", "emit") and call.args:
        codec = call.via.codec if call.via is not None else None
        yield Effect(str(target), module, instance_of(call.args[0], env), None, codec)
        if codec is not None and call.via is not None:
            yield from given_back(codec.params, call.via.args, module, env)
    elif target in ("setValid", "setInvalid") and isinstance(call.callee, ast.Member):
        yield Effect(str(target), module, instance_of(call.callee.base, env))
    elif target in ("push_front", "pop_front") and isinstance(call.callee, ast.Member):
        yield Effect("move", module, instance_of(call.callee.base, env))
    elif target == "truncate":
        yield Effect("truncate", module)
    elif isinstance(target, ast.Deparser):
        yield from in_body(target.body, module, env, seen)
    elif isinstance(target, (ast.Function, ast.Action)):
        yield from given_back(target.params, call.args, module, env)
        inner: Environment = {p: instance_of(arg, env) for p,
                              arg in zip(target.params, call.args) if isinstance(p.type, (HeaderType, Stack))}
        yield from once(target, inner, module, seen)


def given_back(params: list[ast.Param], args: list[ast.Expr], module: ast.Module, env: Environment) -> Iterator[Effect]:
    """A field passed to an out or inout parameter is assigned."""
    for param, arg in zip(params, args):
        if param.direction in ("out", "inout"):
            yield from assigned(arg, module, env)


def copied(node: ast.Assign, module: ast.Module, env: Environment) -> Iterator[Effect]:
    """`h.a = h.b`: validity and all fields."""
    to = instance_of(node.target, env)
    for kind in ("setValid", "setInvalid"):
        yield Effect(kind, module, to)
    for item in node.target.type.decl.items:                                # type: ignore[union-attr]
        parts = item.arms if isinstance(item, ast.ChoiceField) else item.fields if isinstance(item, ast.Word) else [item]
        for part in parts:
            if not isinstance(part, ast.Where):
                yield Effect("assign", module, to, part)
    yield Effect("copied", module, to)
    yield Effect("copied", module, instance_of(node.value, env))


def assigned(target: ast.Expr, module: ast.Module, env: Environment) -> Iterator[Effect]:
    while isinstance(target, ast.Slice):
        target = target.base
    if isinstance(target, ast.Member):
        if isinstance(target.decl, ast.Field):
            yield Effect("assign", module, instance_of(target.base, env), target.decl)
        elif isinstance(target.decl, ast.ChoiceArm) and isinstance(target.base, ast.Member):
            yield Effect("assign", module, instance_of(target.base.base, env), target.decl)


def instance_of(e: ast.Expr, env: Environment) -> ast.StructField | None:
    """The field of the headers struct that a header expression names; None for a local header."""
    while True:
        if isinstance(e, ast.Member) and isinstance(e.decl, ast.StructField):
            return e.decl
        if isinstance(e, (ast.Member, ast.Index)):
            e = e.base
        elif isinstance(e, ast.Name) and isinstance(e.decl, ast.Param):
            return env.get(e.decl)
        else:
            return None
