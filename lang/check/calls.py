"""Calls: functions and actions of the program, built-in functions, methods of modules and headers, what reaches radio and net."""
from __future__ import annotations

from .. import ast, builtins
from ..instances import is_headers
from ..library import imported_by
from ..types import Bits, Bool, EnumType, ErrorType, HeaderType, Integer, Meta, Packet, Stack, Type, Void
from .base import Base, article, described, kind_of, plural
from .object_methods import ObjectMethods
from .packet_methods import PacketMethods
from .scope import suggest

NO_ACTION = "NoAction"
#: What is written where something else is called as a function.
INSTEAD = {"not": "write !", "reject": "a state ends with transition reject(error.X), and verify(cond, error.X) rejects within it",
           "accept": "a state ends with transition accept", "drop": "set m.verdict = DROP and m.reason",
           **dict.fromkeys(("assert", "require", "ensure"), "a parser rejects with verify(cond, error.X); a processor sets m.verdict = DROP"),
           **dict.fromkeys(("sleep", "delay", "wait", "usleep", "msleep"), "nothing waits: what comes later stands in after 10 ms { ... }"),
           **dict.fromkeys(("len", "length", "size"), "octets are counted by sizeof(...)"),
           **dict.fromkeys(("now", "time", "clock", "millis", "micros"), "the node's clock is node.clock, in microseconds"),
           "clock_us": "declare it: extern bit<32> clock_us(); the node's clock is node.clock, too", "trace": "declare it: extern void trace(bit<32> what, bit<32> value);",
           "min": "write a < b ? a : b", "max": "write a > b ? a : b", "abs": "write x < 0 ? -x : x", "truncate": "write payload.truncate(n)",
           "send": "write radio.send(Tx(h)), or net.send(Tx(h))",
           **dict.fromkeys(("ntohs", "htons", "ntohl", "htonl", "bswap", "be16toh", "htobe16"), "a field says how it lies in the packet: bit<16>, or le<16>"),
           **dict.fromkeys(("rand", "random", "rand16", "random16"), "keep the state of a generator in a register, as csma_delay of std.csma does"),
           **dict.fromkeys(("crc8", "crc16", "crc32", "crc", "hash", "checksum", "csum16"),
                           "there is inet_sum(...), the Internet checksum's; others are functions of a program's own, with ^ and >>, or the node's: extern"),
           **dict.fromkeys(("DROP", "ACCEPT", "TRANSMIT", "CONSUMED"), "a verdict is assigned, m.verdict = DROP, and takes nothing"),
           "DELIVER": "a verdict is assigned, and the port beside it: m.port = 7; m.verdict = DELIVER;",
           **dict.fromkeys(("extract", "emit", "advance"), "it is a method of the packet: pkt.extract(h.x), pkt.emit(h.x)")}

#: What is done with something else than functions, where it is written like a call of one; {}: its name.
DONE_WITH = {ast.Deparser: "what it makes of headers is sent, radio.send({0}(h)), or given to a buffer behind the key, b.hold(key, {0}(h))",
             ast.Parser: "a parser is applied by another one: {}.apply(pkt, ...)", ast.Processor: "a processor is applied by another one: {}.apply(...)",
             ast.Counter: "write {}.count()", ast.Meter: "write {}.execute()",
             ast.Codec: "a codec is named where the packet is read or written: pkt.extract(h.x via {0}(...)), pkt.emit(h.x via {0}(...))"}

#: What is done with a packet's meta, by what it is called elsewhere; {}: its name.
OF_META = {**dict.fromkeys(("drop", "discard", "reject", "deny"), "write {0}.verdict = DROP, and {0}.reason = error.X before it"),
           **dict.fromkeys(("send", "transmit", "forward", "emit"), "write {0}.verdict = TRANSMIT: what the chain's deparser makes of the headers is sent"),
           **dict.fromkeys(("deliver", "port"), "write {0}.port = 7; {0}.verdict = DELIVER;"), "accept": "write {0}.verdict = ACCEPT", "consume": "write {0}.verdict = CONSUMED"}

#: Methods of a header by what they are called elsewhere.
OF_HEADERS = {**dict.fromkeys(("invalidate", "setinvalid", "set_invalid", "remove", "delete", "removeHeader"), "setInvalid"),
              **dict.fromkeys(("validate", "setvalid", "set_valid", "add", "create", "addHeader"), "setValid"),
              **dict.fromkeys(("valid", "is_valid", "exists", "present", "isPresent"), "isValid")}


class Calls(PacketMethods, ObjectMethods, Base):
    def _Call(self, e: ast.Call, want: Type | None) -> Type | None:
        if isinstance(e.callee, ast.Name):
            return self.named_call(e, e.callee)
        if isinstance(e.callee, ast.Member):
            return self.method(e, e.callee)
        self.error("this cannot be called", e.callee)
        return None

    def of_a_processor(self, name: str) -> str:
        """What to do where an action of some other module is called."""
        owner = next((decl for decl in self.program.decls if isinstance(decl, ast.Processor) and decl is not self.module
                      and any(isinstance(one, ast.Action) and one.name == name for one in decl.locals)), None)
        return f"'{name}' is an action of '{owner.name}': what others call, too, is a function outside of it" if owner is not None else ""

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
            self.error(f"there is no function '{callee.name}'", callee,
                       INSTEAD.get(callee.name) or self.of_a_processor(callee.name) or imported_by(callee.name, "function", "action") or suggest(callee.name, [*names, "inet_sum", "verify"]))
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
                self.error(f"action '{decl.name}' can only be called in a processor", e,
                           "a verdict is a processor's: a function can return what it found" if any(isinstance(param.type, Meta) for param in decl.params) else
                           f"make it a function, which all can call: function void {decl.name}({', '.join(param.span.text for param in decl.params)}) {{ ... }}")
                return None
            return Void() if self.arguments(e, decl.params, e.args, f"{decl.name}()") else None
        if isinstance(decl, ast.Table):
            self.error("a table is applied", e, f"write {decl.name}.apply()")
            return None
        self.error(f"'{callee.name}' is {article(kind_of(decl))} and cannot be called", callee, DONE_WITH.get(type(decl), "").format(callee.name))
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
                alike = type_ == param.type or isinstance(type_, EnumType) and self.representation(type_) == param.type
                if type_ is not None and param.type is not None and not alike:
                    self.error(f"{param.direction} parameter '{param.name}' is {param.type}, and this is {described(type_)}", arg,
                               f"give it a variable of its type: {param.type} {param.name};" if isinstance(param.type, (Bits, Bool, EnumType)) else "")
                    return False
                good &= type_ is not None
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
            hint = f"write pkt.{callee.name}({base.span.text})" if methods and callee.name in ("extract", "emit") else suggest(OF_HEADERS.get(callee.name, callee.name), methods)
            if isinstance(type_, Meta):
                hint = OF_META.get(callee.name, "the verdict is assigned, {0}.verdict = DROP; what it has is read").format(base.span.text)
            if isinstance(function := self.scope.find(callee.name), ast.Function):
                hint = f"write {callee.name}({callee.base.span.text}{', ...' if len(function.params) > 1 else ''})"
            self.error(f"{what} has no method '{callee.name}'", callee, hint or (f"it has {', '.join(methods)}" if methods else ""))
            return None
        e.target = callee.name
        return self.header_method(e, base, type_, *methods[callee.name])

    def apply_module(self, e: ast.Call, callee: ast.Member, module: ast.Parser | ast.Processor | ast.Deparser) -> Type | None:
        """`Options.apply(pkt, h.options)`: a module runs as a part of this one."""
        callee.decl = callee.name
        kind = kind_of(module)
        if callee.name != "apply":
            self.error(f"{article(kind)} has no method '{callee.name}'", callee, suggest(callee.name, ("apply",)) or "it has apply")
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
            if self.kept(base):
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
        self.sent.add(decl)
        e.callee.decl, e.target, e.type = decl, decl, Void()                # type: ignore[attr-defined]
        return type_ is not None
