"""Buffers: their sizes, their keys, their methods, and the chain that runs when an entry is complete."""
from __future__ import annotations

from .. import ast
from ..buffers import buffers, completions, give_contexts, key_values, named
from ..hooks import BUFFER_COMPLETE, TIME_MAX
from ..limits import MAX_KEY_BYTES
from ..types import Bits, Bool, EnumType, Integer, Type
from .base import HEADERS, Base, article, described, kind_of, plural
from .contexts import reached
from .scope import suggest

MAX_BYTES = 2048                                # what an engine takes as a packet
MAX_ENTRIES, MAX_BUFFERS = 256, 16

#: Arguments of each method; after them `put` and `hold` may have Tx(h).
METHODS: dict[str, tuple[str, ...]] = {"put": ("key", "offset", "size"), "hold": ("key",), "take": ("key",), "drop": ("key",)}


class Buffers(Base):
    def resolve_BufferDecl(self, decl: ast.BufferDecl) -> None:
        size = self.constant_number(decl.bytes, "a size")
        if size is not None and not 1 <= size <= MAX_BYTES:
            self.error(f"an entry of a buffer has 1 to {MAX_BYTES} octets, and this has {size}", decl.bytes)
        count = self.constant_number(decl.size, "a size")
        if count is not None and not 1 <= count <= MAX_ENTRIES:
            self.error(f"a buffer has 1 to {MAX_ENTRIES} entries, and this has {count}", decl.size)
        timeout = self.constant_number(decl.timeout, "a time") if decl.timeout is not None else None
        if decl.timeout is not None and timeout is not None and not 1 <= timeout <= TIME_MAX:
            self.error(f"a time-out is 1 us to {TIME_MAX // 1_000_000} s, and this is {timeout} us", decl.timeout)
        self.unit_of(decl.timeout)

    def buffer_method(self, e: ast.Call, callee: ast.Member, decl: ast.BufferDecl) -> Type | None:
        """`b.put(key, offset, size[, Tx(h)])`, `b.hold(key[, Tx(h)])`, `b.take(key)`, `b.drop(key)`."""
        name = callee.name
        if not isinstance(self.module, (ast.Processor, ast.Timing)) and not isinstance(self.function, ast.Action):
            self.error(f"{name}() is for processors and handlers", e, "a parser, a deparser or a function keeps no packets")
            return None
        params = METHODS[name]
        more = 1 if name in ("put", "hold") else 0
        if self.several_keys(e, len(params), bool(more)):
            self.misused.add(decl)
            return None
        if not len(params) <= len(e.args) <= len(params) + more:
            shape = ", ".join(params)
            self.error(f"{name} takes {plural(len(params), 'argument')}: {shape}" + (", and perhaps the headers in front of the payload" if more else ""),
                       e, f"as in {decl.name}.{name}({shape}" + (", Tx(h))" if more else ")"))
            return None
        e.target = f"buffer.{name}"
        good = self.buffer_key(e, decl)
        for arg, what in zip(e.args[1:], ("the offset", "the size of the whole")):
            if what == "the offset" and name == "hold":
                break
            good &= self.value(arg, Bits(16), what)
        if len(e.args) > len(params):
            good &= self.emitted(e.args[-1], name)
        return Bits(8) if good else None

    def several_keys(self, e: ast.Call, wants: int, more: bool) -> bool:
        """Tells of values of a key that are given like arguments; behind all of them may be what a deparser makes, or headers that should be that."""
        last = e.args[-1] if e.args else None
        made = more and (isinstance(last, ast.Call) or isinstance(last, ast.Name) and last.name in HEADERS)
        keys = len(e.args) - made - wants + 1
        if keys < 2 or any(isinstance(arg, (ast.Call, ast.Tuple)) for arg in e.args[:keys]):
            return False
        written = [arg.span.text for arg in e.args]
        written[:keys] = [f"({', '.join(written[:keys])})"]
        self.error("a key of several values stands in parentheses", e, f"write {e.callee.span.text}({', '.join(written)})")
        return True

    def buffer_key(self, e: ast.Call, decl: ast.BufferDecl) -> bool:
        widths: list[int] = []
        for value in key_values(e):
            type_ = self.expr(value)
            if isinstance(type_, Integer):
                self.error("a number in a key needs a width", value, "as in 8w1")
            elif type_ is not None and not isinstance(type_, (Bits, Bool, EnumType)):
                self.error(f"a key is of numbers, enums and bools, and this is {described(type_)}", value)
            width = self.width_of(type_)
            if width is None or isinstance(type_, Integer):
                return False
            widths.append(width)
        if isinstance(e.args[0], ast.Tuple):
            e.args[0].type = Bits(8)            # never asked for: a key is its values
        if sum((width + 7) // 8 for width in widths) > MAX_KEY_BYTES:
            self.error(f"a key has at most {MAX_KEY_BYTES} octets", e.args[0])
            return False
        if decl.key is None:
            decl.key = widths
        elif decl.key != widths:
            was, here = (", ".join(f"bit<{width}>" for width in one) for one in (decl.key, widths))
            self.error(f"the key of buffer '{decl.name}' is ({was}), and this is ({here})", e.args[0], "a buffer has keys of one shape")
            return False
        return True

    # ------------------------------------------------------------ bindings

    def buffer_binding(self, binding: ast.Binding) -> tuple[int, ...] | None:
        """`on NAME.complete : ...`; the number of the buffer."""
        name = binding.event.removesuffix(".complete")
        found = named(self.program, name)
        if not found:
            decl = self.scope.find(name)
            if decl is not None:
                self.error(f"'{name}' is {article(kind_of(decl))}, not a buffer", binding)
            else:
                known = [each for each, _ in buffers(self.program)]
                alike = [each for each in known if each.rpartition(".")[2] == name.rpartition(".")[2]]      # of another place
                self.error(f"there is no buffer '{name}'", binding, f"did you mean {alike[0]}?" if alike else suggest(name, known))
            return None
        if len(found) > 1:
            self.error(f"there are several buffers '{name}'", binding, "name its processor: on Processor." + binding.event)
            return None
        if binding.args:
            self.error(f"{binding.event} takes no numbers", binding.args[0])
            return None
        binding.buffer = found[0]
        return ([decl for _, decl in buffers(self.program)].index(found[0]),)

    def set_buffers(self) -> None:
        """What completes each buffer, and whether its chain can run there."""
        program = self.program
        every = buffers(program)
        for _, decl in every[MAX_BUFFERS:]:
            self.error(f"a program has at most {MAX_BUFFERS} buffers", decl)
        give_contexts(program.hooks, program, reached)
        bound = {hook.selector[0]: hook for hook in program.hooks if hook.event == BUFFER_COMPLETE}
        numbers = {decl: number for number, (_, decl) in enumerate(every)}
        used: set[int] = set()
        for decl, call, hook in completions(program.hooks, reached):
            number = numbers[decl]
            first = number not in used
            used.add(number)
            if number not in bound and first and not self.hook_refused:     # else that binding may be the one
                self.error(f"no chain takes what buffer '{decl.name}' completes", call, f"bind one in the protocol: on {decl.name}.complete : ...;")
            elif number in bound and hook.context and bound[number].context != hook.context:
                self.error(f"buffer '{decl.name}' is completed in context {hook.context}, and in {bound[number].context}", call,
                           "a chain runs in one context: give each a buffer of its own")
        for number, hook in bound.items():
            if number not in used and every[number][1] not in self.misused:
                self.error(f"nothing completes buffer '{every[number][1].name}'", hook.span or program.span, "put into it, or take from it")
                hook.context = "net"
