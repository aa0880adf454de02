"""Protocols: hooks, and the chains of modules that packets take."""
from __future__ import annotations

from .. import ast
from ..buffers import buffers
from ..hooks import BOUND, BUFFER_COMPLETE, EVENTS, MODULES, SELECTOR_MAX, hooks_of, in_order, is_part, not_given
from ..types import HeaderType, StructType
from .base import Base, article, kind_of, plural
from .scope import suggest


class Protocols(Base):
    def hook(self, event: str, where: ast.Node) -> bool:
        if event not in BOUND:
            name = next((name for name, _ in buffers(self.program) if event.startswith(f"{name}.")), "")
            buffer = f"what buffer '{name}' completes is taken by {name}.complete" if name else ""
            self.error(f"there is no hook '{event}'", where, buffer or suggest(event, BOUND) or f"there are {', '.join(BOUND)}")
        return event in BOUND

    def protocol_body(self, protocol: ast.Protocol) -> None:
        if protocol.version is not None:
            version = self.constant_number(protocol.version, "a version")
            if version is not None and not 0 <= version < 1 << 16:
                self.error("a version is 0 to 65535", protocol.version)
        bound: dict[tuple, ast.Binding] = {}
        for binding in protocol.bindings:
            if binding.event.endswith(".complete"):
                selector = self.buffer_binding(binding)
                known = selector is not None
            else:
                timed = next((name for name in binding.chain if isinstance(self.globals.find(name), ast.Timing)), None)
                if timed is not None:           # what it begins with is in its handlers
                    self.error(f"'{timed}' is a timing block, and no part of a chain", binding, f"write timing : {timed};")
                    self.hook_refused = True
                    continue
                known = self.hook(binding.event, binding)
                selector = self.selector(binding)
            self.hook_refused |= not known
            self.time(binding.within, "a deadline")
            self.binding(binding)
            event = binding.event if binding.buffer is None else BUFFER_COMPLETE
            first = bound.setdefault((event, selector), binding) if known and selector is not None else binding
            if first is not binding:
                self.error(f"{binding.event} starts two chains", binding, "join them: a chain has any number of processors",
                           notes=[("the first one is here", first.span)])
        for name, place in zip(protocol.timing, protocol.timing_spans):
            decl = self.find(name, place, "timing block", lambda decl: isinstance(decl, ast.Timing))
            if decl in protocol.blocks:
                self.error(f"timing block '{name}' is bound twice", place, "name it once")
            elif isinstance(decl, ast.Timing):
                protocol.blocks.append(decl)
            elif decl is not None and name not in self.twice:
                self.error(f"'{name}' is {article(kind_of(decl))}, not a timing block", place)

    def selector(self, binding: ast.Binding) -> tuple[int, ...] | None:
        """The numbers in `on net.rx(41, 7) : ...`: which occurrences start the chain."""
        event = EVENTS[binding.event] if binding.event in BOUND else None
        names = event.selectors if event is not None else None
        if names is not None and len(binding.args) > len(names):
            takes = f"{plural(len(names), 'number')}: {', '.join(names)}" if names else "no numbers"
            self.error(f"{binding.event} takes {takes}", binding.args[len(names)])
            return None
        numbers: list[int | None] = []
        for place, arg in enumerate(binding.args):
            what = names[place] if names is not None else "number"
            value = self.constant_number(arg, f"a {what}")
            if value is not None and not 0 <= value <= SELECTOR_MAX:
                self.error(f"a {what} is 0 to {SELECTOR_MAX}", arg)
                value = None
            elif value is not None and event is not None and event.outcomes and value >= len(event.outcomes):
                self.error(f"a {what} is {', '.join(event.outcomes[:-1])} or {event.outcomes[-1]}, and this is {value}: it never starts", arg)
            numbers.append(value)
        return None if None in numbers else tuple(int(one or 0) for one in numbers)

    def binding(self, binding: ast.Binding) -> None:
        for name, place in zip(binding.chain, binding.chain_spans):
            decl = self.find(name, place, "module", lambda decl: isinstance(decl, MODULES))
            if isinstance(decl, MODULES):
                if decl in binding.modules:
                    self.error(f"{kind_of(decl)} '{name}' is in the chain twice", place)
                binding.modules.append(decl)
                if is_part(decl) and not any(isinstance(param.type, (HeaderType, StructType)) and param.type.decl in self.told_structs for param in decl.params):
                    others = not_given(decl)
                    self.error(f"{kind_of(decl)} '{name}' has parameters that a chain does not give", place, f"apply it in another {kind_of(decl)}: {name}.apply(...)",
                               "or keep what modules tell one another in a header of its own, first in the headers struct, which no deparser emits"
                               if any(isinstance(param.type, StructType) for param in others) else "",
                               notes=[(f"'{param.name}' is not given", param.span) for param in others])
            elif decl is not None and name not in self.twice:
                self.error(f"'{name}' is {article(kind_of(decl))}, not a parser, processor or deparser", place)
        kinds = [type(module) for module in binding.modules]
        if ast.Parser in kinds and binding.event in BOUND and not EVENTS[binding.event].packet:
            self.error(f"{binding.event} has no packet to parse", binding, "bind processors alone")
        if ast.Deparser in kinds and binding.event in BOUND and EVENTS[binding.event].context == "isr":
            self.error(f"nothing is sent from {binding.event}, which is an interrupt", binding, "bind processors alone")
        if len(kinds) != len(binding.chain):
            return
        if not in_order(binding.modules):
            self.error("a chain is a parser, then processors, then a deparser", binding,
                       "each is optional; of parsers and deparsers there is at most one")
        elif kinds and kinds[0] is ast.Deparser:
            self.error("a deparser alone has no headers to emit", binding, "put a parser before it")

    def set_hooks(self) -> None:
        """What the one protocol runs; without a protocol, the given modules in order of declaration."""
        protocols = [decl for decl in self.program.decls if isinstance(decl, ast.Protocol)]
        for extra in protocols[1:]:
            self.error(f"there is a second protocol, '{extra.name}'", extra.span,
                       notes=[("the first one is here", protocols[0].span)])
        self.program.hooks = hooks_of(self.program)
        if protocols and not self.diagnostics.errors:
            self.never_run(protocols[0])
        self.set_buffers()

    def never_run(self, protocol: ast.Protocol) -> None:
        """Warns of what the protocol's own file declares and nothing runs; a module that does nothing may stand there for its name."""
        run = {*protocol.blocks, *self.program.applied, *self.sent, *(module for binding in protocol.bindings for module in binding.modules)}
        for decl in self.program.decls:
            if not isinstance(decl, (*MODULES, ast.Timing)) or decl in run or decl.span.source is not protocol.span.source:
                continue
            if isinstance(decl, ast.Processor) and not decl.apply.statements:
                continue
            if isinstance(decl, ast.Timing):
                hint = f"bind it: timing : {decl.name};"
            elif is_part(decl):
                hint = f"apply it: {decl.name}.apply(...)"
            else:
                chain = {ast.Parser: f"{decl.name} -> P", ast.Processor: f"Rx -> {decl.name}", ast.Deparser: f"Rx -> P -> {decl.name}"}[type(decl)]
                hint = f"put it into a chain, as in on radio.rx_done : {chain};"
            self.warning(f"{kind_of(decl)} '{decl.name}' never runs", decl, hint, unused=True)
