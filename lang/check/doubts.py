"""What a program says that is hardly what was meant: warnings of what other languages write alike, and what would be wrong without a word."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from .. import ast, builtins
from ..diagnostics import Diagnostics
from ..hooks import SLOT_US
from ..instances import named_field, walk
from ..types import Array, Bits, EnumType, StructType
from .base import in_turn, number, root_name
from .counted import Gone, counted_and_gone
from .expressions import ORDER
from .in_vain import assigned_in_vain, emitted_twice, never_allowed
from .long_times import long_times
from .ranges import Ranges, returned
from .reads import headers_read
from .statements import always_leaves

DROP = builtins.VERDICTS["DROP"]
MOST_CHANNEL = 26                               # of the O-QPSK PHY at 2450 MHz; those below 11 are those below 1 GHz (IEEE 802.15.4, channel page 0)
CLOCKS = ("clock", "time")                      # of the node; of the meta and of a frame
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def doubts(program: ast.Program, diagnostics: Diagnostics) -> list[Gone]:
    """Looks through a program that was found right, before what it applies is written out. What depends on the ways that packets take is returned."""
    found: defaultdict[type, list[Any]] = defaultdict(list)
    for node in walk(program.decls):
        found[type(node)].append(node)
    for e in found[ast.Binary]:
        if e.op in ORDER:
            decided(e, diagnostics)
            clocks(e, diagnostics)
        elif e.op in ("==", "!=") and e.const is None:
            for side in (e.left, e.right):
                joined(side, diagnostics, "compare with each: x == 1 || x == 2")
    for key in [key for case in found[ast.SelectCase] for key in case.keys]:
        joined(key, diagnostics, "each value is a case of its own; a range is written 0..3")
        masked(key, diagnostics)
        divided(key, True, diagnostics)
    for table in found[ast.Table]:
        for entry in table.entries or ():
            for part, key in zip(table.keys, entry.keys):
                if part.match != "lpm":
                    divided(key, part.match == "ternary", diagnostics)
    for label in [label for switch in found[ast.Switch] for labels, _ in switch.cases for label in labels]:
        joined(label, diagnostics, "write {}: {{ ... }}")
    for value in [value for field in found[ast.Field] for value in field.values or []]:
        joined(value, diagnostics, "the values are separated by ','")
        masked(value, diagnostics)
    given = assigned(found)
    octets, ranges = Octets(given, found[ast.Function]), Ranges(found, given)
    for field in found[ast.Field]:
        if field.sized is not None:
            number_of_bits(field.sized, "sized ({})", "a size is in bits, and this need not be whole octets", octets, ranges, diagnostics)
    for call in found[ast.Call]:
        if call.target == "advance":
            number_of_bits(call.args[0], "advance({})", "advance takes bits, and these need not be whole octets", octets, ranges, diagnostics)
        elif call.target == "radio.channel" and call.args[0].const is not None and int(call.args[0].const) > MOST_CHANNEL:
            diagnostics.warning(f"no radio of IEEE 802.15.4 has channel {int(call.args[0].const)} on page 0", call.args[0].span, "at 2.4 GHz they are 11 to 26")
    for e in found[ast.Binary]:
        if e.op in ("<<", ">>") and isinstance(e.left.type, Bits):
            wraps(e.right, e.left.type.width.bit_length(), ranges, diagnostics)
    long_times(found, ranges, is_clock, diagnostics)
    for one in found[ast.Assign]:
        if isinstance(one.target, ast.Member) and isinstance(one.target.decl, ast.Field) and one.target.decl.equation is not None:
            diagnostics.warning(f"what is assigned here is never emitted: '{one.target.name}' is computed from its equation", one.span, "remove the assignment")
    for loop in found[ast.For]:
        past_the_end(loop, diagnostics)
    for one in [*found[ast.If], *found[ast.For]]:
        nothing_behind(one, diagnostics)
    for handler in found[ast.Handler]:
        begins_anew(handler, diagnostics)
    if found[ast.Register]:
        for block in [one.apply for one in found[ast.Processor]] + [one.body for kind in (ast.Function, ast.Action, ast.Handler) for one in found[kind]]:
            copies(block, diagnostics)
    applied = {call.target for call in found[ast.Call]}
    for processor in found[ast.Processor]:
        if processor not in applied:            # who applies it may drop
            reasons_alone(processor, diagnostics)
    emitted = {named_field(call.args[0]) for call in found[ast.Call] if call.target == "emit"}
    if None not in emitted:                     # that of a deparser which others apply
        assigned_in_vain(program, diagnostics, never_emitted(program, diagnostics))
        emitted_twice(program, diagnostics)
        never_allowed(program, diagnostics)
        return counted_and_gone(program, found[ast.Call], emitted, diagnostics)
    return []


# ---------------------------------------------------------------- comparisons

def decided(e: ast.Binary, diagnostics: Diagnostics) -> None:
    """`x < 0` of a number without a sign: a comparison with the end of a type's range."""
    what, by, op = (e.left, e.right, e.op) if e.right.const is not None else (e.right, e.left, TURNED[e.op])
    if what.const is not None or by.const is None or not isinstance(what.type, Bits) or any(isinstance(one, ast.Name) for one in walk(by)):
        return
    type_, bound = what.type, int(by.const)
    low, high = (-(1 << type_.width - 1) if type_.signed else 0), (1 << type_.width - type_.signed) - 1
    if bound == low and op in ("<", ">="):
        told = f"{type_} is never less than {low}"
    elif bound == high and op in (">", "<="):
        told = f"{type_} is never more than {number(high)}"
    elif isinstance(what, ast.Binary) and what.op == "-" and bound == low == 0:
        diagnostics.warning("a difference wraps: it is 0 where both are the same, and else more", e.span,
                            f"compare its parts, {in_turn(what.left)} {op} {in_turn(what.right)}, or where numbers begin anew, with half of their range")
        return
    else:
        return
    signed = isinstance(what, ast.Binary) and what.op == "-" and not low
    diagnostics.warning(f"this is always {'true' if '=' in op else 'false'}: {told}", e.span,
                        f"a difference wraps: compare its parts, {in_turn(what.left)} {op} {in_turn(what.right)}" if signed else "")     # type: ignore[attr-defined]


def clocks(e: ast.Binary, diagnostics: Diagnostics) -> None:
    """`node.clock > then`: which of two times is the later one is not known from the numbers."""
    if e.left.const is not None or e.right.const is not None:
        return
    for now, then in ((e.left, e.right), (e.right, e.left)):
        if is_clock(now) and not isinstance(then, ast.Cast):
            since = root(then)
            passed = f"{now.span.text} - {in_turn(since)} < {'60 s' if since is then else '...'}"
            diagnostics.warning("the clock begins anew after 71 minutes: the later time may be the smaller number", e.span,
                                f"compare how much has passed, as in {passed}")
            return


def is_clock(e: ast.Expr) -> bool:
    return isinstance(e, ast.Member) and e.name in CLOCKS and isinstance(e.decl, str) and e.type == Bits(32)


def root(e: ast.Expr) -> ast.Expr:
    """The time that something is added to."""
    return next((side for side in (e.left, e.right) if side.const is None), e) if isinstance(e, ast.Binary) else e


# ---------------------------------------------------------------- values that are matched

def joined(e: ast.Expr, diagnostics: Diagnostics, help: str) -> None:
    """`1 | 2` is 3, where Rust and others mean one or the other; `0xf0 & 0xf0` is no mask. Flags that have names are joined."""
    if not isinstance(e, ast.Binary) or e.op not in ("|", "&") or e.const is None:
        return
    leaves = [one for one in walk(e) if not isinstance(one, ast.Binary)]
    if all(isinstance(one, ast.Int) or isinstance(one, ast.Name) and isinstance(one.decl, str) for one in leaves):
        texts = [one.span.text for one in leaves]
        mask = f"a value and its mask are written {e.left.span.text} &&& {e.right.span.text}"
        diagnostics.warning(f"'{e.op}' makes one number of these, {hex(int(e.const)) if texts[0].startswith('0x') else e.const}", e.span,
                            mask if e.op == "&" else help.format(": ".join(texts)))


def masked(e: ast.Expr, diagnostics: Diagnostics) -> None:
    """`0xff &&& 0xf0`, which 0xf0 fits too."""
    if not isinstance(e, ast.Binary) or e.op != "&&&":
        return
    value, mask = int(e.left.const or 0), int(e.right.const or 0)
    if value > 0 and value & ~mask:
        diagnostics.warning(f"{e.left.span.text} has bits that the mask leaves out", e.span, f"write {value & mask:#x} &&& {e.right.span.text}, or a mask that has them")


def divided(e: ast.Expr, masks: bool, diagnostics: Diagnostics) -> None:
    """`0xfe80 / 10`, which is a prefix where a table looks for the longest one, and one number everywhere else."""
    if not isinstance(e, ast.Binary) or e.op != "/" or not isinstance(e.left, ast.Int) or not isinstance(e.right, ast.Int) or not isinstance(e.type, Bits):
        return
    length, width = e.right.value, e.type.width
    if length <= width:
        mask = ((1 << length) - 1) << width - length
        quotient = int(e.const or 0)
        diagnostics.warning(f"'/' divides here: this is {f'{quotient:#x}' if '0x' in e.left.span.text else quotient}", e.span,
                            f"prefixes of this length are written {e.left.span.text} &&& {mask:#x}" if masks else "prefixes are for lpm keys; if the quotient is meant, write it")


# ---------------------------------------------------------------- octets

def number_of_bits(e: ast.Expr, place: str, broken: str, octets: Octets, ranges: Ranges, diagnostics: Diagnostics) -> None:
    """Of a size, or of what the parser goes on by. What wraps is a small number again: a packet that says 8 * 8192 in 16 bits would be taken as
    one that says 0."""
    if octets.broken(e):
        wide = Bits(16 if ranges.meant(e)[1] < 1 << 13 else 32)
        diagnostics.warning(broken, e.span, f"where it counts octets, write {place.format(f'8 * ({wide}) {in_turn(e)}')}")
    wraps(e, 32, ranges, diagnostics)


def wraps(e: ast.Expr, enough: int, ranges: Ranges, diagnostics: Diagnostics) -> None:
    """Products, and sums with a constant, that their type is too narrow for; `enough`: bits that are not."""
    for one in walk(e):
        if isinstance(one, ast.Binary) and one.op in ("*", "+") and one.const is None and isinstance(one.type, Bits) and one.type.width < enough:
            by, most = one.right if one.left.const is None else one.left, ranges.within(one)[1]
            if by.const is not None and most >> one.type.width:
                wide = Bits(32 if most >> 16 else 16)
                diagnostics.warning(f"this {'product' if one.op == '*' else 'sum'} is {one.type}: it wraps at {1 << one.type.width}", one.span,
                                    f"cast first: {in_turn(by)} {one.op} ({wide}) ...")


def assigned(found: Mapping[type, list[Any]]) -> dict[object, list[ast.Expr]]:
    """The values that each variable is assigned."""
    given: dict[object, list[ast.Expr]] = {}
    for one in found[ast.Assign]:
        if isinstance(one.target, ast.Name):
            given.setdefault(one.target.decl, []).append(one.value)
    for one in found[ast.VarDecl]:
        if one.init is not None:
            given.setdefault(one, []).append(one.init)
    return given


class Octets:
    """Whether numbers of bits are whole octets, as far as it can be told: numbers out of the packet may be any."""

    def __init__(self, given: Mapping[object, list[ast.Expr]], functions: list[ast.Function]) -> None:
        values = {**given, **{function: returned(function) for function in functions}}
        self.known, before = dict.fromkeys(values, 8), {}      # of a variable or a function
        while self.known != before:
            before = dict(self.known)
            for what, of in values.items():
                self.known[what] = min(map(self.factor, of), default=8)

    def broken(self, e: ast.Expr) -> bool:
        return self.factor(e) % 8 != 0

    def factor(self, e: ast.Expr) -> int:
        """A power of two, at most 8, that divides the number; 8 where nothing is known."""
        if e.const is not None:
            value = int(e.const)
            return min(value & -value, 8) if value else 8
        match e:
            case ast.Cast():
                return self.factor(e.operand)
            case ast.Binary(op="*"):
                return min(self.factor(e.left) * self.factor(e.right), 8)
            case ast.Binary(op="<<"):
                return min(self.factor(e.left) << min(int(e.right.const), 3), 8) if e.right.const is not None else self.factor(e.left)
            case ast.Binary(op="+" | "-" | "|" | "^"):
                return min(self.factor(e.left), self.factor(e.right))
            case ast.Binary(op="&"):
                return max(self.factor(e.left), self.factor(e.right))
            case ast.Binary(op="++"):
                return self.factor(e.right)
            case ast.Conditional():
                return min(self.factor(e.then), self.factor(e.otherwise))
            case ast.Sizeof():
                return 1
            case ast.Call() if isinstance(e.target, ast.Function):
                return self.known.get(e.target, 8)
            case ast.Name() | ast.Member() if isinstance(e.decl, ast.Field):
                return self.field(e.decl)
            case ast.Name() if isinstance(e.decl, ast.VarDecl):
                return self.known.get(e.decl, 8)
        return 8

    def field(self, field: ast.Field) -> int:
        """Of a field that is one of some values, what divides all of these."""
        if field.equation is not None:
            return 8
        if isinstance(field.type, EnumType):
            return min((self.power(member.number) for member in field.type.decl.members), default=1)
        if field.values is None or any(value.const is None for value in field.values):
            return 1
        return min((self.power(int(value.const or 0)) for value in field.values), default=1)

    @staticmethod
    def power(value: int) -> int:
        return min(value & -value, 8) if value else 8


# ---------------------------------------------------------------- loops and copies

def past_the_end(loop: ast.For, diagnostics: Diagnostics) -> None:
    """A loop over more than an array has, where nothing in it asks how far it is."""
    if loop.written or loop.high.const is None or loop.low.const is None or loop.high.const <= loop.low.const:
        return
    asked = (ast.If, ast.Conditional, ast.Switch)
    conditions = [node.cond if not isinstance(node, ast.Switch) else node.value for node in walk(loop.body) if isinstance(node, asked)]
    conditions += [node.left for node in walk(loop.body) if isinstance(node, ast.Binary) and node.op in ("&&", "||")]
    compared = [node for node in walk(conditions) if isinstance(node, ast.Binary)]
    if any(isinstance(side, (ast.Name, ast.Cast)) and the_variable(side, loop) for node in compared for side in (node.left, node.right)):
        return
    for node in walk(loop.body):
        if not isinstance(node, ast.Index) or not isinstance(node.base.type, Array):
            continue
        more = 0 if the_variable(node.index, loop) else above(node.index, loop)
        last, size = int(loop.high.const) - 1 + (more or 0), node.base.type.size
        if more is not None and last >= size:
            what, high = (f"'{loop.name}'", str(size)) if not more else (f"'{node.index.span.text}'", str(max(size - more, 0)))
            diagnostics.warning(f"{what} goes up to {last}, and the last of {size} is {size - 1}", node.index.span,
                                f"behind it reading gives 0, and writing does nothing: for ({loop.name} in {loop.low.span.text}..{high})")
            return


def above(e: ast.Expr, loop: ast.For) -> int | None:
    """By how much an index `i + 1` is above the loop's variable."""
    if not isinstance(e, ast.Binary) or e.op != "+":
        return None
    by = e.right if the_variable(e.left, loop) else e.left if the_variable(e.right, loop) else None
    return int(by.const) if by is not None and by.const is not None else None


def the_variable(e: ast.Expr, loop: ast.For) -> bool:
    while isinstance(e, ast.Cast):
        e = e.operand
    return isinstance(e, ast.Name) and e.decl is loop.var


def nothing_behind(one: ast.If | ast.For, diagnostics: Diagnostics) -> None:
    """`if (x == 1); { ... }`: what stands in the braces is done in any case."""
    for body in (one.then, one.otherwise) if isinstance(one, ast.If) else (one.body,):
        if isinstance(body, ast.Block) and body.span.text == ";":
            what = "this loop" if isinstance(one, ast.For) else "this `if`" if body is one.then else "this `else`"
            diagnostics.warning(f"{what} does nothing: it ends with the ';'", body.span, "remove the ';'; what does nothing on purpose is { }")


def begins_anew(handler: ast.Handler, diagnostics: Diagnostics) -> None:
    """An `after` that each run starts, and that waits for longer than it takes to the next one."""
    if handler.kind not in ("every", "slot") or handler.period is None or handler.period.const is None:
        return
    jitter = int(handler.jitter.const or 0) if handler.jitter is not None else 0
    period = int(handler.period.const) * (SLOT_US if handler.kind == "slot" else 1)
    for one in handler.body.statements:
        if isinstance(one, ast.After):
            if one.delay.const is None or int(one.delay.const) <= period + jitter:
                continue
            diagnostics.warning(f"this never runs: each run of the handler begins it anew, and the next one comes before {one.delay.span.text} are over",
                                one.delay.span, "start it in some runs alone, as behind an if, or let a register count runs")
        elif any(isinstance(node, (ast.Return, ast.Exit)) or isinstance(node, ast.Call) and node.target in builtins.SENDS for node in walk(one)):
            return                              # a run ends where a deparser cannot emit


def copies(body: ast.Node, diagnostics: Diagnostics) -> None:
    """A variable that is a cell's copy, of which fields are assigned and nothing is read any more: in Python, or with a pointer, that would change the cell."""
    nodes = list(walk(body))
    variables = [node for node in nodes if isinstance(node, ast.VarDecl) and isinstance(node.type, StructType) and node.init is not None
                 and (cell := root_name(node.init)) is not None and isinstance(cell.decl, ast.Register)]
    if not variables:
        return
    places = {id(node): place for place, node in enumerate(nodes)}
    targets = {id(root_name(node.target)) for node in nodes if isinstance(node, ast.Assign)}
    loops = [(places[id(node)], places[id(node)] + sum(1 for _ in walk(node))) for node in nodes if isinstance(node, ast.For)]
    for variable in variables:
        written = [one for one in nodes if isinstance(one, ast.Assign) and isinstance(one.target, ast.Member)
                   and (of := root_name(one.target)) is not None and of.decl is variable]
        read = [places[id(one)] for one in nodes if isinstance(one, ast.Name) and one.decl is variable and id(one) not in targets]
        if not written:
            continue
        last = places[id(written[-1])]
        turn = min((begin for begin, end in loops if begin <= last < end and not begin <= places[id(variable)] < end), default=last)
        if all(place < turn for place in read):
            cell = variable.init.span.text                                  # type: ignore[union-attr]
            diagnostics.warning(f"'{variable.name}' is a copy, and what is assigned to it here is never read", written[-1].span,
                                f"assign to the cell, {written[-1].target.span.text.replace(variable.name, cell, 1)} = ..., or write {cell} = {variable.name}; in the end",
                                notes=[("it is copied here", variable.span)])


# ---------------------------------------------------------------- verdicts and headers without an effect

def reasons_alone(processor: ast.Processor, diagnostics: Diagnostics) -> None:
    """`m.reason = ...` where nothing before or behind it sets the verdict that it is the reason of."""
    def visit(block: ast.Node | None, before: bool, behind: bool) -> None:
        statements = block.statements if isinstance(block, ast.Block) else [block] if block is not None else []
        behind = behind and not any(map(always_leaves, statements))
        behind_each = [behind]
        for one in reversed(statements[1:]):
            behind_each.append(behind_each[-1] or drops(one))
        sooner = before
        for one, later in zip(statements, reversed(behind_each)):
            match one:
                case ast.Assign(target=ast.Member(decl="reason")) if not sooner and not later:
                    diagnostics.warning("this reason is never looked at: the packet is not dropped", one.span, "set m.verdict = DROP too")
                case ast.If():
                    visit(one.then, sooner, later)
                    visit(one.otherwise, sooner, later)
                case ast.For():
                    visit(one.body, sooner or drops(one.body), later)
                case ast.Switch():
                    for _, inner in one.cases:
                        visit(inner, sooner, later)
                case ast.Block():
                    visit(one, sooner, later)
            sooner = sooner or dropped_behind(one)

    visit(processor.apply, False, False)


def decides(node: ast.Node, verdict: int) -> bool:
    """Whether a statement is one that may assign this verdict."""
    return isinstance(node, ast.Assign) and isinstance(node.target, ast.Member) and node.target.decl == "verdict" and node.value.const in (None, verdict)


def drops(node: ast.Node) -> bool:
    """Whether a statement may set the verdict to DROP, or has a part that may."""
    for one in walk(node):
        if decides(one, DROP):
            return True
        if isinstance(one, ast.Call) and isinstance(one.target, (ast.Action, ast.Table, ast.Processor)):
            return True
    return False


def dropped_behind(node: ast.Node | None) -> bool:
    """Whether a statement may have set the verdict to DROP where the run goes on behind it."""
    match node:
        case None:
            return False
        case ast.Block():
            return not always_leaves(node) and any(map(dropped_behind, node.statements))
        case ast.If():
            return drops(node.cond) or dropped_behind(node.then) or dropped_behind(node.otherwise)
        case ast.Switch():
            return drops(node.value) or any(dropped_behind(block) for _, block in node.cases)
    return drops(node)


def never_emitted(program: ast.Program, diagnostics: Diagnostics) -> set[ast.StructField]:
    """Headers that a chain makes valid, and that no deparser of the program emits, and none and no later processor reads. Which it told."""
    told = set()
    used: set[object] = {None}.union(*(headers_read(decl) for decl in program.decls if isinstance(decl, ast.Deparser)))
    for hook in program.hooks:
        deparser = next((module for module in hook.chain if isinstance(module, ast.Deparser)), None)
        processors = [module for module in hook.chain if isinstance(module, ast.Processor)] if deparser is not None else []
        for place, processor in enumerate(processors):
            later = used.union(*map(headers_read, processors[place + 1:]))
            for node in walk(processor):
                if isinstance(node, ast.Call) and node.target == "setValid" and isinstance(node.callee, ast.Member):
                    header = node.callee.base
                    if (field := named_field(header)) is not None and field not in later:
                        told.add(field)
                        diagnostics.warning(f"no deparser emits '{header.span.text}'", node.span, f"emit it in {deparser.name}: pkt.emit({header.span.text})")
    return told
