"""Migrations: which version they are from, and that they only read the old registers and write the new."""
from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import walk
from ..persist import migrate_blocks
from ..types import Void
from .base import Base, root_name
from .scope import Scope, suggest

OUTSIDE = ("node", "payload", "radio", "net")


class Migrations(Base):
    def migrate_body(self, decl: ast.Migrate) -> None:
        version = self.constant_number(decl.version, "a version")
        if version is not None and not 0 <= version < 1 << 16:
            self.error("a version is 0 to 65535", decl.version)
        with self.setting(module=decl, returns=Void()):
            seen: dict[str, ast.Register] = {}
            for register in decl.old:
                self.ensure_local(register)
                if register.name in seen:
                    self.error(f"'{register.name}' is declared twice", register, "remove one of the two",
                               notes=[("the first one is here", seen[register.name].span)])
                seen.setdefault(register.name, register)
            with self.inside(Scope(self.scope)):
                self.block(decl.body)

    def old_member(self, e: ast.Member, base: ast.Name, decl: ast.Migrate):
        """`old.name`."""
        base.decl = "old"
        for register in decl.old:
            if register.name == e.name:
                e.decl = register
                return register.type
        self.error(f"the old state has no register '{e.name}' here", e,
                   suggest(e.name, [register.name for register in decl.old]) or f"declare it as it was, in front: register<...> {e.name};")
        return None


def migrations(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Rules across the program."""
    protocol = next((decl for decl in program.decls if isinstance(decl, ast.Protocol)), None)
    own = int(protocol.version.const or 0) if protocol is not None and protocol.version is not None else None
    written: dict[tuple[str, int, ast.Register], ast.Migrate] = {}
    for prefix, decl in migrate_blocks(program):
        version = int(decl.version.const or 0)
        for register, place in assigned(decl).items():
            first = written.setdefault((prefix, version, register), decl)
            if first is not decl:
                diagnostics.error(f"'{register.name}' is migrated twice from version {version}", place.span, "let one of the two blocks assign it",
                                  notes=[("the first one is here", first.span)])
        if own is None:
            diagnostics.error("a program without a version replaces none", decl.span, "give its protocol a version: protocol P version 2 { ... }")
        elif version == own:
            diagnostics.error(f"this program is version {own}: it replaces others, not itself", decl.version.span,
                              "name the version that ran before: an earlier one, or, where one goes back, a later one")
        mine = {node for node in walk(decl.body) if isinstance(node, ast.VarDecl)} | {node.var for node in walk(decl.body) if isinstance(node, ast.For)}
        for node in walk(decl.body):
            if isinstance(node, ast.Name) and isinstance(node.decl, (ast.Param, ast.VarDecl)) and node.decl not in mine:
                diagnostics.error(f"a migration only reads the old registers and writes the new, and this is '{node.name}' of its processor", node.span)
        for node, what in outside(decl, set()):
            diagnostics.error(f"a migration only reads the old registers and writes the new, and this is {what}", node.span)


def assigned(decl: ast.Migrate) -> dict[ast.Register, ast.Node]:
    """The registers that a block assigns, or what it calls; each with the first place in the block."""
    def targets(node: object, seen: set[ast.Function]) -> Iterator[tuple[ast.Node, ast.Expr]]:
        for one in walk(node):
            if isinstance(one, ast.Assign):
                yield one, one.target
            elif isinstance(one, ast.Call) and isinstance(one.target, ast.Function):
                yield from ((one, arg) for param, arg in zip(one.target.params, one.args) if param.direction in ("out", "inout"))
                if one.target not in seen:
                    seen.add(one.target)
                    yield from ((one, target) for _, target in targets(one.target.body, seen))

    found: dict[ast.Register, ast.Node] = {}
    for place, target in targets(decl.body, set()):
        name = root_name(target)
        if name is not None and isinstance(name.decl, ast.Register):
            found.setdefault(name.decl, place)
    return found


def outside(node: object, seen: set[ast.Node]) -> Iterator[tuple[ast.Node, str]]:
    """What a migration has not."""
    for one in walk(node):
        if isinstance(one, ast.Name) and one.decl in OUTSIDE:
            yield one, f"'{one.name}'"
        elif isinstance(one, ast.Call) and isinstance(one.target, ast.Extern):
            yield one, "a helper of the engine"
        elif isinstance(one, ast.Call) and isinstance(one.callee, ast.Member) and isinstance(one.callee.base, ast.Name) \
                and isinstance(one.callee.base.decl, (ast.Counter, ast.Meter, ast.BufferDecl, ast.Table)):
            yield one, f"'{one.callee.base.name}.{one.callee.name}()'"
        elif isinstance(one, ast.Call) and isinstance(one.target, ast.Function) and one.target not in seen:
            seen.add(one.target)
            yield from outside(one.target.body, seen)
