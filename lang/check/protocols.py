"""Protocols and timing blocks: hooks, and the chain of modules that a packet takes."""
from __future__ import annotations

from .. import ast, builtins
from ..types import Bits, Void
from .base import Base, article, kind_of
from .scope import Scope, suggest

MODULES = (ast.Parser, ast.Processor, ast.Deparser)


class Protocols(Base):
    def timing_body(self, timing: ast.Timing) -> None:
        with self.inside(Scope(self.globals)), self.setting(module=timing, returns=Void()):
            for local in timing.locals:
                if isinstance(local, (ast.VarDecl, ast.ConstDecl)):
                    self.statement(local)
                elif isinstance(local, ast.Decl):
                    self.ensure_local(local)
                    self.declare(local.name, local)
            for handler in timing.handlers:
                self.handler(handler)
            for budget in timing.energy:
                self.constant_number(budget.limit, "a limit")

    def handler(self, handler: ast.Handler) -> None:
        if handler.event is not None:
            self.hook(handler.event, handler)
        for e in (handler.period, handler.jitter, handler.within, handler.slot):
            if e is not None:
                self.constant_number(e, "a time")
        with self.inside(Scope(self.scope)):
            for name in handler.params:
                param = ast.Param(handler.span, name, "in", ast.TypeRef(handler.span, "bit"))
                param.type = Bits(32)
                self.declare(name, param)
            if not handler.params:
                self.block(handler.body)

    def hook(self, event: str, where: ast.Node) -> None:
        if event not in builtins.HOOKS:
            hint = suggest(event, builtins.HOOKS) or f"there are {', '.join(builtins.HOOKS)}"
            self.error(f"there is no hook '{event}'", where, hint)

    def protocol_body(self, protocol: ast.Protocol) -> None:
        if protocol.version is not None:
            version = self.constant_number(protocol.version, "a version")
            if version is not None and not 0 <= version < 1 << 16:
                self.error("a version is 0 to 65535", protocol.version)
        for binding in protocol.bindings:
            self.hook(binding.event, binding)
            for arg in binding.args:
                self.expr(arg)
                self.settle(arg)
            if binding.within is not None:
                self.constant_number(binding.within, "a time")
            self.binding(binding)
        for name in protocol.timing:
            decl = self.find(name, protocol, "timing block", lambda decl: isinstance(decl, ast.Timing))
            if decl is not None and not isinstance(decl, ast.Timing):
                self.error(f"'{name}' is {article(kind_of(decl))}, not a timing block", protocol)

    def binding(self, binding: ast.Binding) -> None:
        for name in binding.chain:
            decl = self.find(name, binding, "module", lambda decl: isinstance(decl, MODULES))
            if isinstance(decl, MODULES):
                if decl in binding.modules:
                    self.error(f"{kind_of(decl)} '{name}' is in the chain twice", binding)
                binding.modules.append(decl)
            elif decl is not None:
                self.error(f"'{name}' is {article(kind_of(decl))}, not a parser, processor or deparser", binding)
        kinds = [type(module) for module in binding.modules]
        if len(kinds) != len(binding.chain):
            return
        order = sorted(kinds, key=MODULES.index)
        if kinds != order or kinds.count(ast.Parser) > 1 or kinds.count(ast.Deparser) > 1:
            self.error("a chain is a parser, then processors, then a deparser", binding,
                       "each is optional; of parsers and deparsers there is at most one")
        elif kinds and kinds[0] is ast.Deparser:
            self.error("a deparser alone has no headers to emit", binding, "put a parser before it")

    def set_chain(self) -> None:
        """The modules of the first rx_done binding; without a protocol, those of the given file in order of declaration."""
        protocols = [decl for decl in self.program.decls if isinstance(decl, ast.Protocol)]
        for extra in protocols[1:]:
            self.error(f"there is a second protocol, '{extra.name}'", extra.span,
                       notes=[("the first one is here", protocols[0].span)])
        if protocols:
            for binding in protocols[0].bindings:
                if binding.event == "radio.rx_done":
                    self.program.chain = list(binding.modules)
                    return
        else:
            self.program.chain = [decl for decl in self.program.decls if isinstance(decl, MODULES)]
