"""Calls: functions and actions of the program, methods of packets, headers, tables and counters, built-in functions."""
from __future__ import annotations

from .. import ast, builtins
from ..instances import is_headers
from ..types import Array, Bits, ErrorType, HeaderType, Integer, Packet, Stack, Type, Void
from .base import Base, article, described, kind_of, plural
from .scope import suggest

NO_ACTION = "NoAction"


class Calls(Base):
    def _Call(self, e: ast.Call, want: Type | None) -> Type | None:
        if isinstance(e.callee, ast.Name):
            return self.named_call(e, e.callee)
        if isinstance(e.callee, ast.Member):
            return self.method(e, e.callee)
        self.error("this cannot be called", e.callee)
        return None

    def no_extras(self, e: ast.Call) -> bool:
        """Type arguments and `via` belong to methods of the packet."""
        if e.type_args:
            self.error("this call takes no type", e.type_args[0])
            return False
        if e.via is not None:
            self.error("'via' belongs to extract and emit", e.via)
            return False
        return True

    def named_call(self, e: ast.Call, callee: ast.Name) -> Type | None:
        if not self.no_extras(e):
            return None
        decl = self.scope.find(callee.name)
        if decl is None and callee.name in ("inet_sum", "verify"):
            callee.decl = e.target = callee.name
            return self.inet_sum(e) if callee.name == "inet_sum" else self.verify(e)
        if decl is None and callee.name in ("isValid", "setValid", "setInvalid"):
            self.error(f"'{callee.name}' is a method", callee, f"write h.x.{callee.name}()")
            return None
        if decl is None:
            names = self.names_of(ast.Function, ast.Extern, ast.Action)
            self.error(f"there is no function '{callee.name}'", callee, suggest(callee.name, [*names, "inet_sum", "verify"]))
            return None
        callee.decl = decl
        if isinstance(decl, (ast.Function, ast.Extern)):
            if not self.ensure(decl):
                return None
            e.target = decl
            return decl.return_type.type if self.arguments(e, decl.params, e.args, f"{decl.name}()") else None
        if isinstance(decl, ast.Action):
            e.target = decl
            if not isinstance(self.module, ast.Processor) and not isinstance(self.function, ast.Action):
                self.error(f"action '{decl.name}' can only be called in a processor", e)
                return None
            return Void() if self.arguments(e, decl.params, e.args, f"{decl.name}()") else None
        if isinstance(decl, ast.Table):
            self.error("a table is applied", e, f"write {decl.name}.apply()")
            return None
        self.error(f"'{callee.name}' is {article(kind_of(decl))} and cannot be called", callee)
        return None

    def arguments(self, e: ast.Node, params: list[ast.Param], args: list[ast.Expr], what: str) -> bool:
        if len(params) != len(args):
            takes = plural(len(params), "argument") if params else "no arguments"
            names = ", ".join(f"{p.type_ref.name} {p.name}" if p.type is None else f"{p.type} {p.name}" for p in params)
            left = [f"'{p.name}'" for p in params[len(args):]]
            missing = f"; {' and '.join([', '.join(left[:-1]), left[-1]] if left[1:] else left)} {'are' if left[1:] else 'is'} missing" if left else ""
            self.error(f"{what} takes {takes}, and {len(args)} {'is' if len(args) == 1 else 'are'} given", e,
                       f"they are ({names}){missing}" if names else "")
            for arg in args:
                self.expr(arg)
            return False
        good = True
        for param, arg in zip(params, args):
            if param.direction in ("out", "inout"):
                if self.codec is not None:
                    self.error("a codec's rows change nothing: a function with out parameters cannot be called here", arg)
                    return False
                type_ = self.target(arg)
                good &= type_ is not None and self.convert(arg, param.type, f"parameter '{param.name}'")
                if isinstance(arg, ast.Slice) or isinstance(arg, ast.Member) and arg.decl == "verdict":
                    self.error(f"{param.direction} parameter '{param.name}' needs a variable", arg)
                    good = False
            else:
                good &= self.value(arg, param.type, f"parameter '{param.name}'")
        return good

    # ------------------------------------------------------------ built-in functions

    def inet_sum(self, e: ast.Call) -> Type | None:
        good = bool(e.args)
        if not e.args:
            self.error("inet_sum needs something to sum", e)
        for place, arg in enumerate(e.args):
            if isinstance(arg, ast.Name) and arg.name == builtins.PAYLOAD and self.scope.find(arg.name) is None:
                arg.decl = builtins.PAYLOAD
                if place != len(e.args) - 1:
                    self.error("payload comes last in inet_sum", arg, "the order of the others does not change the sum")
                    good = False
                continue
            type_ = self.expr(arg)
            if isinstance(type_, Integer):
                self.error("a number in inet_sum needs a width", arg, "as in 16w17")
                good = False
            elif type_ is not None and not isinstance(type_, Bits):
                self.error(f"inet_sum is of bit<N>, and this is {described(type_)}", arg)
                good = False
            elif isinstance(type_, Bits) and type_.width % 16:
                self.error(f"inet_sum is of 16-bit words, and this is {type_}", arg, "join it with others: a ++ b")
                good = False
            good &= type_ is not None
        return Bits(16) if good else None

    def verify(self, e: ast.Call) -> Type | None:
        if not isinstance(self.module, ast.Parser):
            self.error("verify is for parsers", e, "in a processor set m.verdict = DROP and m.reason")
            return None
        if len(e.args) != 2:
            self.error("verify takes a condition and an error", e, "as in verify(x == 1, error.Bad)")
            return None
        self.condition(e.args[0])
        return Void() if self.value(e.args[1], ErrorType(), "the reason") else None

    # ------------------------------------------------------------ methods

    def method(self, e: ast.Call, callee: ast.Member) -> Type | None:
        base = callee.base
        if isinstance(base, ast.Name):
            known = self.scope.find(base.name)
            if known is None and base.name in ("radio", "net"):
                base.decl = base.name
                return self.outside(e, callee, base.name)
            if known is None and base.name == builtins.PAYLOAD:
                base.decl = builtins.PAYLOAD
                return self.payload_method(e, callee)
            if isinstance(known, (ast.Parser, ast.Processor, ast.Deparser)):
                base.decl = known
                return self.apply_module(e, callee, known)
            if isinstance(known, (ast.Table, ast.Counter, ast.Meter, ast.BufferDecl, ast.Register)):
                base.decl = known
                return self.object_method(e, callee, known)
        type_ = self.expr(base)
        if type_ is None:
            return None
        callee.decl = callee.name
        if isinstance(type_, Packet):
            return self.packet_method(e, callee)
        if not self.no_extras(e):
            return None
        methods: dict[str, tuple[int, Type]] = {}
        if isinstance(type_, (HeaderType, Stack)):
            methods = builtins.HEADER_METHODS if isinstance(type_, HeaderType) else builtins.STACK_METHODS
        if callee.name not in methods:
            what = f"header {type_}" if isinstance(type_, HeaderType) else described(type_)
            self.error(f"{what} has no method '{callee.name}'", callee, suggest(callee.name, methods))
            return None
        e.target = callee.name
        return self.header_method(e, base, type_, *methods[callee.name])

    def apply_module(self, e: ast.Call, callee: ast.Member, module: ast.Parser | ast.Processor | ast.Deparser) -> Type | None:
        """`Options.apply(pkt, h.options)`: a module runs as a part of this one."""
        callee.decl = callee.name
        kind = kind_of(module)
        if callee.name != "apply":
            self.error(f"{article(kind)} has no method '{callee.name}'", callee, suggest(callee.name, ("apply",)))
            return None
        if not self.no_extras(e):
            return None
        if type(self.module) is not type(module) or self.function is not None:
            self.error(f"{article(kind)} is applied by {article(kind)}", e,
                       f"apply it in {'a state' if kind == 'parser' else 'the apply block'}" if type(self.module) is type(module) else "")
            return None
        self.ensure(module)
        e.target = module
        if module not in self.program.applied:
            self.program.applied.append(module)
        if not self.arguments(e, module.params, e.args, f"{module.name}.apply()"):
            return None
        for arg in e.args:
            if isinstance(arg, ast.Member) and arg.decl == "next":
                self.error("the next element of a stack is extracted where the stack is known", arg, "give the whole stack")
                return None
        return Void()

    def header_method(self, e: ast.Call, base: ast.Expr, type_: Type, count: int, result: Type) -> Type | None:
        name = e.target
        if len(e.args) != count:
            self.error(f"{name}() takes {count or 'no'} argument{'s' if count != 1 else ''}", e)
            return None
        if name in ("setValid", "setInvalid", "push_front", "pop_front"):
            why = self.not_assignable(base)
            if why is not None:
                self.error(why[0], base, *why[1:])
                return None
        if name == "holds" and isinstance(type_, HeaderType) and not any(f.deferred for f in type_.decl.fields()):
            self.error(f"header {type_} has no deferred equation that could hold", e,
                       "its equations hold whenever it is parsed")
            return None
        if count:
            if not isinstance(self.module, ast.Processor):
                self.error(f"{name} is for processors", e)
                return None
            places = self.constant_number(e.args[0], f"the argument of {name}")
            if places is None:
                return None
            if not 0 <= places < 1 << 16:
                self.error(f"{name} moves by 0 to 65535 elements", e.args[0], "use the other method for the other way" if places < 0 else "")
                return None
        return result

    def packet_method(self, e: ast.Call, callee: ast.Member) -> Type | None:
        name = callee.name
        if name not in ("extract", "emit", "advance", "lookahead"):
            self.error(f"packet has no method '{name}'", callee, suggest(name, ("extract", "emit", "advance", "lookahead")))
            return None
        e.target = name
        home = ast.Deparser if name == "emit" else ast.Parser
        if not isinstance(self.module, home) or self.function is not None:
            self.error(f"{name} is for {'deparsers' if name == 'emit' else 'parsers'}", e)
            return None
        if e.via is not None and name not in ("extract", "emit"):
            self.error("'via' belongs to extract and emit", e.via)
            return None
        if e.type_args and name != "lookahead":
            self.error(f"{name} takes no type", e.type_args[0])
            return None
        if name == "lookahead":
            return self.lookahead(e)
        if len(e.args) != 1:
            self.error(f"{name} takes one argument", e, {"advance": "the number of bits"}.get(name, "the header"))
            return None
        if name == "advance":
            return self.advance(e)
        return self.extract(e, name)

    def lookahead(self, e: ast.Call) -> Type | None:
        if e.args or len(e.type_args) != 1:
            self.error("lookahead takes a type and no arguments", e, "as in pkt.lookahead<bit<8>>()")
            return None
        type_ = self.type_of(e.type_args[0])
        if type_ is None:
            return None
        if not isinstance(type_, Bits) or type_.width % 8:
            self.error(f"lookahead is of whole bytes, and this is {type_}", e.type_args[0],
                       "use bit<8>, bit<16>, ... and a slice")
            return None
        return type_

    def advance(self, e: ast.Call) -> Type | None:
        bits = e.args[0]
        type_ = self.expr(bits)
        if type_ is None:
            return None
        if not isinstance(type_, (Bits, Integer)):
            self.error(f"advance takes a number of bits, and this is {described(type_)}", bits)
            return None
        if bits.const is not None and (bits.const < 0 or bits.const % 8):
            self.error(f"the packet is read in whole bytes, and {bits.const} bits are not", bits, "use a multiple of 8")
            return None
        self.settle(bits)
        return Void()

    def extract(self, e: ast.Call, name: str) -> Type | None:
        header = e.args[0]
        type_ = self.expr(header)
        if type_ is None:
            return None
        if isinstance(type_, Stack) and name == "extract":
            self.error("a stack is extracted one header at a time", header, "extract its .next")
            return None
        if isinstance(type_, Stack) and e.via is None:
            return Void()
        if isinstance(type_, Stack):
            type_ = type_.header
        if not isinstance(type_, HeaderType):
            self.error(f"{name} is for headers, and this is {described(type_)}", header)
            return None
        if name == "extract":
            why = self.not_assignable(header)
            if why is not None:
                self.error(why[0], header, *why[1:])
                return None
        if e.via is not None and not self.via(e.via, type_):
            return None
        return Void()

    def via(self, via: ast.Via, header: HeaderType) -> bool:
        codec = self.find(via.name, via, "codec", lambda decl: isinstance(decl, ast.Codec))
        if codec is None:
            return False
        if not isinstance(codec, ast.Codec):
            self.error(f"'{via.name}' is {article(kind_of(codec))}, not a codec", via)
            return False
        self.ensure(codec)
        via.codec = codec
        if codec.header is None:
            return False
        if codec.header is not header.decl:
            self.error(f"codec {codec.name} is for {codec.header.name}, and this is {header}", via)
            return False
        return self.arguments(via, codec.params, via.args, f"codec {codec.name}")

    # ------------------------------------------------------------ tables, counters, ...

    def object_method(self, e: ast.Call, callee: ast.Member, decl: ast.Decl) -> Type | None:
        if not self.no_extras(e):
            return None
        callee.decl = callee.name
        methods = {ast.Table: ("apply",), ast.Counter: ("count",), ast.Meter: ("execute",),
                   ast.BufferDecl: ("put", "hold", "take", "drop"), ast.Register: ()}[type(decl)]
        if callee.name not in methods:
            hint = suggest(callee.name, methods)
            if isinstance(decl, ast.Register):
                hint = f"a register is read by its name and written by assignment: {decl.name} = {decl.name} + 1"
            self.error(f"{article(kind_of(decl))} has no method '{callee.name}'", callee, hint)
            return None
        if isinstance(decl, ast.Table):
            e.target = decl
            if self.function is not None:
                self.error("an action applies no tables", e, "apply it in the apply block")
                return None
            if e.args:
                self.error("apply() takes no arguments", e)
                return None
            return Void()
        e.target = callee.name
        self.ensure(decl)
        if isinstance(decl, ast.Counter):
            return self.count(e, decl)
        if isinstance(decl, ast.Meter):
            return self.execute(e, decl)
        assert isinstance(decl, ast.BufferDecl)
        return self.buffer_method(e, callee, decl)

    def count(self, e: ast.Call, counter: ast.Counter) -> Type | None:
        if isinstance(self.module, (ast.Parser, ast.Deparser)):
            self.error(f"a {kind_of(self.module)} counts nothing", e, "count in a processor")
            return None
        wants = 1 if isinstance(counter.type, Array) else 0
        if len(e.args) != wants:
            self.error(f"counter '{counter.name}' {'is an array: count(i)' if wants else 'is one counter: count()'}", e)
            return None
        if isinstance(counter.type, Array):
            if not self.cell_index(e.args[0], counter.type):
                return None
        return Void()

    def execute(self, e: ast.Call, meter: ast.Meter) -> Type | None:
        """`m.execute()`, `m.execute(amount)`, of an array with the index in front."""
        if isinstance(self.module, (ast.Parser, ast.Deparser)):
            self.error(f"a {kind_of(self.module)} meters nothing", e, "ask the meter in a processor")
            return None
        indices = 1 if isinstance(meter.type, Array) else 0
        if not indices <= len(e.args) <= indices + 1:
            self.error(f"meter '{meter.name}' {'is an array: execute(i) or execute(i, amount)' if indices else 'is one meter: execute() or execute(amount)'}", e)
            return None
        if isinstance(meter.type, Array) and not self.cell_index(e.args[0], meter.type):
            return None
        if len(e.args) > indices and not self.value(e.args[indices], meter.amount.type, "what a packet takes"):
            return None
        return Bits(8)

    def cell_index(self, e: ast.Expr, array: Array) -> bool:
        """An index; a constant one is within the array."""
        if not self.index(e):
            return False
        if e.const is not None and e.const >= array.size:
            self.error(f"index {e.const} is out of range", e, f"the last of {array.size} is {array.size - 1}")
            return False
        return True

    def payload_method(self, e: ast.Call, callee: ast.Member) -> Type | None:
        callee.decl = callee.name
        if callee.name != "truncate":
            self.error(f"payload has no method '{callee.name}'", callee, suggest(callee.name, ("truncate",)))
            return None
        e.target = "truncate"
        if not isinstance(self.module, ast.Processor):
            self.error("truncate is for processors", e)
            return None
        if len(e.args) != 1:
            self.error("truncate takes the number of bytes to keep", e)
            return None
        return Void() if self.value(e.args[0], Bits(16), "the number of bytes") else None

    # ------------------------------------------------------------ radio and net

    def outside(self, e: ast.Call, callee: ast.Member, base: str) -> Type | None:
        """`radio.on()`, `radio.send(Tx(h))`, ...: what reaches beyond the node's memory."""
        if not self.no_extras(e):
            return None
        name = f"{base}.{callee.name}"
        if name not in builtins.OUTSIDE:
            known = [one.partition(".")[2] for one in builtins.OUTSIDE if one.startswith(f"{base}.")]
            self.error(f"{base} has no method '{callee.name}'", callee, suggest(callee.name, known) or f"it has {', '.join(known)}")
            return None
        callee.decl, e.target = callee.name, name
        if self.codec is not None or self.header is not None or isinstance(self.module, (ast.Parser, ast.Deparser)):
            self.error(f"{name}() is for processors and handlers", e, "a parser or deparser only looks at the packet")
            return None
        params, result = builtins.OUTSIDE[name]
        if name in builtins.SENDS:
            return result if self.send(e, name) else None
        if len(e.args) != len(params):
            self.error(f"{name}() takes {plural(len(params), 'argument') if params else 'no arguments'}", e)
            return None
        return result if all([self.value(arg, want, f"the argument of {name}") for arg, want in zip(e.args, params)]) else None

    def send(self, e: ast.Call, name: str) -> bool:
        """`send(Tx(h))`: what deparser Tx emits, then the payload; `send(Tx(h), from, length)`: that part of the payload."""
        if len(e.args) not in (1, 3):
            self.error(f"{name} takes a packet, and from where how much of the payload follows", e,
                       f"as in {name}(Tx(h)) or {name}(Tx(h), from, length)")
            return False
        good = self.emitted(e.args[0], name)
        for arg, what in zip(e.args[1:], ("where the payload begins", "how much of the payload follows")):
            good &= self.value(arg, Bits(16), what)
        return good

    def emitted(self, e: ast.Expr, name: str) -> bool:
        """`Tx(h)`: a deparser put in line; the call's target is the deparser."""
        decl = self.scope.find(e.callee.name) if isinstance(e, ast.Call) and isinstance(e.callee, ast.Name) else None
        if not isinstance(e, ast.Call) or not isinstance(decl, ast.Deparser):
            self.error(f"{name} takes what a deparser makes of headers", e, f"as in {name}(Tx(h))")
            return False
        if not self.no_extras(e):
            return False
        headers = e.args[0] if len(e.args) == 1 else None
        type_ = self.expr(headers) if headers is not None else None
        if not isinstance(headers, ast.Name) or type_ is not None and not is_headers(type_):
            self.error(f"deparser {decl.name} takes the headers", e, f"write {decl.name}(h)")
            return False
        e.callee.decl, e.target, e.type = decl, decl, Void()                # type: ignore[attr-defined]
        return type_ is not None
