"""Parsers: states, transitions, bounded loops; deparsers: what is emitted in which order."""
from __future__ import annotations

from .. import ast
from ..instances import header_of, is_headers, named_field, walk
from ..limits import MAX_ENTRIES
from ..types import Bits, Bool, EnumType, ErrorType, HeaderType, Integer, Meta, Packet, Stack, StructType, Type
from .base import Base, described, plural
from .emits import one_behind_the_other
from .headers import needs_payload
from .scope import Scope, suggest

FINAL = ("accept", "reject")
EVERYTHING = (1 << 128) - 1


class Parsers(Base):
    def module_params(self, module: ast.Parser | ast.Processor | ast.Deparser) -> None:
        """packet, headers and meta, each at most once; the headers struct is the same in all modules."""
        seen: dict[str, ast.Param] = {}
        for param in module.params:
            self.declare_variable(param.name, param)
            if param.type is None or not isinstance(param.type, (Packet, Meta)) and not is_headers(param.type):
                continue                        # for who applies the module
            kind = "headers" if isinstance(param.type, StructType) else str(param.type)
            if kind in seen:
                self.error("this is a second parameter of headers" if kind == "headers" else f"this is a second {kind}",
                           param)
            seen[kind] = param
            if kind == "headers":
                self.headers_param(module, param)
            elif kind == "packet" and isinstance(module, ast.Processor):
                self.error("a processor has no packet", param, "parse in a parser; payload names what follows the headers")
            elif kind == "meta" and not isinstance(module, ast.Processor):
                self.error("meta is for processors", param, "remove it")
        if not isinstance(module, ast.Processor) and "packet" not in seen:
            self.error(f"{type(module).__name__.lower()} '{module.name}' has no packet", module.span,
                       "its parameters are (packet pkt, ...)")

    def resolve_Parser(self, module: ast.Parser | ast.Processor | ast.Deparser) -> None:
        """Its parameters: what others need to know that apply it."""
        self.params(module.params, (Packet, Meta, StructType, HeaderType, Stack, Bits, Bool, EnumType), f"a {type(module).__name__.lower()}")

    resolve_Processor = resolve_Deparser = resolve_Parser

    def headers_param(self, module: ast.Node, param: ast.Param) -> None:
        assert isinstance(param.type, StructType)
        struct = param.type.decl
        assert isinstance(struct, ast.Struct)
        if self.program.headers_struct is None:
            self.program.headers_struct = struct
        elif self.program.headers_struct is not struct:
            self.error("the modules of a program share one struct of headers", param, f"write {self.program.headers_struct.name}, and declare all headers there: a chain "
                       "extracts those it has",
                       notes=[("the other one is here", self.program.headers_struct.span)])
        wanted = {ast.Parser: ("out", "inout"), ast.Processor: ("in", "inout"), ast.Deparser: ("in",)}[type(module)]
        if param.direction not in wanted:
            self.error(f"the headers of a {type(module).__name__.lower()} are {wanted[-1] if len(wanted) > 1 else wanted[0]}" if not isinstance(module, ast.Parser)
                       else "the headers of a parser are out", param, f"write {'out' if isinstance(module, ast.Parser) else wanted[-1]} {param.type} {param.name}")
            param.direction = wanted[-1] if not isinstance(module, ast.Parser) else wanted[0]       # its uses are right then

    # ------------------------------------------------------------ parser

    def parser_body(self, parser: ast.Parser) -> None:
        with self.inside(Scope(self.globals)), self.setting(module=parser, returns=None):
            self.module_params(parser)
            for local in parser.locals:
                self.statement(local)
            states: dict[str, ast.State] = {}
            for state in parser.states:
                if state.name in FINAL:
                    self.error(f"state '{state.name}' is there already", state, "choose another name")
                elif state.name in states:
                    self.error(f"state '{state.name}' is declared twice", state, "rename one of the two",
                               notes=[("the first one is here", states[state.name].span)])
                else:
                    states[state.name] = state
            if "start" not in states:
                self.error(f"parser '{parser.name}' has no state 'start'", parser.span, "add state start { ... }")
            for state in parser.states:
                self.state(state, states)
            self.reachable(parser, states)
            self.bounded(parser)

    def state(self, state: ast.State, states: dict[str, ast.State]) -> None:
        if state.max is not None:
            bound = self.constant_number(state.max, "max")
            if bound is not None and not 1 <= bound <= 65535:
                self.error("max is 1 to 65535", state.max)
        with self.inside(Scope(self.scope)):
            self.statements(state.statements)
            if state.transition is None:
                self.error(f"state '{state.name}' goes nowhere", state.span,
                           "end it with transition accept; or transition reject;")
            else:
                self.transition(state.transition, states)

    def transition(self, transition: ast.Transition, states: dict[str, ast.State]) -> None:
        types: list[Type | None] = []
        for e in transition.select or []:
            type_ = self.expr(e)
            if isinstance(type_, Integer):
                self.settle(e)
                type_ = e.type
            if type_ is not None and not isinstance(type_, (Bits, Bool, EnumType)):
                self.error(f"select is over numbers, enums and bools, and this is {described(type_)}", e)
                type_ = None
            types.append(type_)
        default: ast.SelectCase | None = None
        seen: list[tuple[ast.SelectCase, list[Taken]]] = []
        for case in transition.cases:
            if default is not None and transition.select is not None:
                self.warning("this case is never taken: an earlier one takes everything", case.span, unused=True)
                default = None
            if transition.select is not None:
                self.case_keys(case, types)
                if all(isinstance(key, ast.DontCare) for key in case.keys):
                    default = case
                taken = list(map(taken_by, case.keys))
                first = next((one for one, before in seen if len(before) == len(taken) and all(map(takes_all, before, taken))), None)
                if first is not None and default is None:
                    same = all(one.const is not None for one in case.keys) and [one.const for one in first.keys] == [one.const for one in case.keys]
                    self.warning(f"this case is never taken: an earlier one {'has the same key' if same else 'takes all of it'}", case.span,
                                 "remove one" if same else "put it before that one", unused=True,
                                 notes=[("the first one is here" if same else "that one is here", first.span)])
                elif default is None:
                    seen.append((case, taken))
            self.target_state(case, states)

    def case_keys(self, case: ast.SelectCase, types: list[Type | None]) -> None:
        keys = case.keys
        if len(keys) == 1 and isinstance(keys[0], ast.DontCare):
            return
        if len(keys) != len(types):
            self.error(f"this case has {plural(len(keys), 'key')}, and the select has {plural(len(types), 'value')}",
                       keys[0].span.to(keys[-1].span),
                       f"write ({', '.join(['_'] * len(types))}), one for each" if len(types) > 1 else "")
            return
        for key, type_ in zip(keys, types):
            if not self.value_set(key, type_):
                self.key(key, type_, "a key of this select")

    def value_set(self, key: ast.Expr, type_: Type | None) -> bool:
        """Whether the key is a value set; it holds values of the type that is selected over."""
        decl = self.scope.find(key.name) if isinstance(key, ast.Name) else None
        if not isinstance(decl, ast.ValueSet):
            return False
        assert isinstance(key, ast.Name)
        key.decl, key.type = decl, type_
        if type_ is not None and decl.type is not None and decl.type != type_:
            self.error(f"'{decl.name}' holds values of {decl.type}, and the select is over {type_}", key)
        return True

    def _stmt_ValueSet(self, one: ast.ValueSet) -> None:
        one.type = self.type_of(one.cell)
        if one.type is not None and not isinstance(one.type, (Bits, Bool, EnumType)):
            self.error(f"a value set holds numbers, enums or bools, and this is {one.type}", one.cell)
            one.type = None
        size = self.constant_number(one.size, "a size")
        if size is not None and not 1 <= size <= MAX_ENTRIES:
            self.error(f"sizes are 1 to {MAX_ENTRIES}", one.size)
        value = ast.Name(one.span, one.name, one)
        value.type = one.type
        hit = ast.ActionRef(one.span, self.no_action.name, [], self.no_action)
        one.table = ast.Table(one.span, one.name, [ast.TableKey(one.span, value, "exact")], [hit], one.size, None, [])
        self.declare_variable(one.name, one)

    def target_state(self, case: ast.SelectCase, states: dict[str, ast.State]) -> None:
        if case.reason is not None:
            self.value(case.reason, ErrorType(), "the reason")
        if case.target in FINAL:
            return
        case.state = states.get(case.target)
        if case.state is None:
            self.error(f"there is no state '{case.target}'", case.span, suggest(case.target, [*states, *FINAL]))

    def reachable(self, parser: ast.Parser, states: dict[str, ast.State]) -> None:
        if any(state.transition is None or any(case.state is None and case.target not in FINAL for case in state.transition.cases)
               for state in parser.states):
            return                                          # where it goes is not known, and was told
        seen: set[ast.State] = set()
        todo = [states["start"]] if "start" in states else list(states.values())
        while todo:
            state = todo.pop()
            if state not in seen:
                seen.add(state)
                todo += successors(state)
        for state in parser.states:
            if state not in seen and states.get(state.name) is state:
                self.warning(f"state '{state.name}' is never reached", state.span, "remove it, or go there", unused=True)

    def bounded(self, parser: ast.Parser) -> None:
        """Every circle of states has a `max`, fills a stack, or takes at least an octet of the packet."""
        if any(param.type is None for param in parser.params):
            return                                          # what is taken of the packet is not known, and was told
        free = [state for state in parser.states if state.max is None and not fills_stack(state) and not takes_octets(state)]
        color: dict[ast.State, int] = {}

        def visit(state: ast.State, path: list[ast.State]) -> bool:
            color[state] = 1
            for other in successors(state):
                if other not in free:
                    continue
                if color.get(other) == 1:
                    circle = [*path[path.index(other):], other]
                    names = " -> ".join(one.name for one in circle)
                    self.error(f"these states can go round for ever: {names}", circle[0].span,
                               f"bound one of them, as in state {circle[0].name} max 16 {{ ... }}, or take something of the packet in each turn")
                    return True
                if other not in color and visit(other, [*path, other]):
                    return True
            color[state] = 2
            return False

        for state in free:
            if state not in color and visit(state, [state]):
                return

    # ------------------------------------------------------------ deparser

    def deparser_body(self, deparser: ast.Deparser) -> None:
        with self.inside(Scope(self.globals)), self.setting(module=deparser, returns=None):
            self.module_params(deparser)
            with self.inside(Scope(self.scope)):
                self.statements(deparser.body.statements)
        self.order_of_emits(deparser)

    def order_of_emits(self, deparser: ast.Deparser) -> None:
        """What a header's equations call its payload is what the struct declares after it: the packet must agree."""
        struct = self.program.headers_struct
        if struct is None:
            return
        places = {field: place for place, field in enumerate(struct.fields)}
        for call, other_call in one_behind_the_other(deparser.body):
            field, other = named_field(call.args[0]), named_field(other_call.args[0])
            if field not in places or other not in places:
                continue                        # another struct is refused where it is a parameter
            if places[other] >= places[field]:
                continue
            for one, one_call in ((field, call), (other, other_call)):
                equation = payload_on_wire(one, one_call)
                if equation is not None:
                    self.error(f"'{other.name}' is emitted after '{field.name}', and the struct declares it before",
                               other_call,
                               f"'{equation.name}' of {header_of(one).name} is computed from what the struct declares after '{one.name}': keep one order")
                    return


#: The values that a key takes: from the first to the second number, of which the bits of the third are those of the fourth. None: not known.
Taken = tuple[int, int, int, int] | None


def taken_by(key: ast.Expr) -> Taken:
    if isinstance(key, ast.DontCare):
        return 0, EVERYTHING, 0, 0
    if isinstance(key, ast.RangeSet) and key.low.const is not None and key.high.const is not None and 0 <= key.low.const <= key.high.const:
        low, high = int(key.low.const), int(key.high.const)
        alike = EVERYTHING & -1 << (low ^ high).bit_length()
        return low, high, alike, low & alike
    if isinstance(key, ast.Binary) and key.op == "&&&" and key.left.const is not None and isinstance(key.type, Bits):
        inside = (1 << key.type.width) - 1
        mask = int(key.right.const or 0) & inside
        value = int(key.left.const) & mask
        return value, value | inside & ~mask, mask | EVERYTHING & ~inside, value
    if key.const is not None:
        value = int(key.const) & EVERYTHING
        return value, value, EVERYTHING, value
    return None


def takes_all(one: Taken, other: Taken) -> bool:
    """Whether a key takes all that another one does."""
    if one is None or other is None:
        return False
    low, high, mask, bits = one
    return low <= other[0] and other[1] <= high and not mask & ~other[2] and other[3] & mask == bits


def payload_on_wire(field: ast.StructField, call: ast.Call) -> ast.Field | None:
    """A field of the header as emitted whose equation looks at the payload."""
    header = header_of(field)
    candidates = [one for one in header.fields() if needs_payload(one.equation)]
    codec = call.via.codec if call.via is not None else None
    if codec is not None:
        inline = {getattr(target.target, "decl", None) for node in walk(codec.groups) if isinstance(node, ast.RowInline)
                  for target in node.targets}
        candidates = [one for one in candidates if one in inline]
    return candidates[0] if candidates else None


def successors(state: ast.State) -> list[ast.State]:
    return [case.state for case in state.transition.cases if case.state is not None] if state.transition else []


def takes_octets(state: ast.State) -> bool:
    """Whether every visit takes at least one octet: the packet has an end."""
    for one in state.statements:
        call = one.call if isinstance(one, ast.ExprStmt) else None
        if call is None or not call.args:
            continue
        if call.target == "advance" and (call.args[0].const or 0) >= 8:
            return True
        if call.target == "extract" and not isinstance(call.args[0].type, HeaderType):
            return True                                     # what should be taken was told to be wrong
        if call.target == "extract" and isinstance(call.args[0].type, HeaderType):
            codec = call.via.codec if call.via is not None else None
            if call.via is None and least_bits(call.args[0].type.decl) >= 8 or codec is not None and sum(one.width for one in codec.tag) >= 8:
                return True
    return False


def least_bits(header: ast.Header) -> int:
    """Bits that a header has whatever its parts."""
    total = 0
    for item in header.items:
        if isinstance(item, ast.Word):
            total += item.width
        elif isinstance(item, ast.Field) and item.when is None:
            base = item.type.decl.base.type if isinstance(item.type, EnumType) else item.type
            total += base.width if isinstance(base, Bits) else isinstance(base, Bool)
    return total


def fills_stack(state: ast.State) -> bool:
    """Whether every visit takes an element of a stack."""
    for one in state.statements:
        call = one.call if isinstance(one, ast.ExprStmt) else None
        if call is not None and call.target == "extract" and call.args:
            header = call.args[0]
            if isinstance(header, ast.Member) and header.decl == "next":
                return True
    return False
