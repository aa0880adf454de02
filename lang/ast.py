"""The abstract syntax of LPN, declared as data; one class a construct, every field named.

The parser (`build.py`) makes these nodes; the checker (`check.py`) fills in the fields marked *checked*:
`type` and `const` of expressions, `decl` of names. Consumers (reference interpreter, lowering) read only
checked programs and never look at source text again.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional, Union

from .source import Span
from .types import Type

if TYPE_CHECKING:
    from .hooks import Hook, Promise


@dataclass(eq=False)
class Node:
    span: Span = field(repr=False)


# ---------------------------------------------------------------- types as written

@dataclass(eq=False)
class TypeRef(Node):
    """A type as written: `bit<8>`, `le<16>`, `varbit<2032>`, `bool`, `Ipv6`, `Ipv6Ext[4]`, `Udp(ip)`.

    name: "bit", "int", "le", "varbit", "bool", "packet", "meta", "void", "error" or a declared name;
    width: the expression in `<...>`; args: header arguments `Udp(ip)`; size: the `[n]` of a stack or array.
    """

    name: str
    width: Optional["Expr"] = None
    args: Optional[list["Expr"]] = None
    size: Optional["Expr"] = None
    type: Optional[Type] = None                 # checked; for `le<N>` Bits(N)


# ---------------------------------------------------------------- expressions

@dataclass(eq=False)
class Expr(Node):
    # checked: the type, and the value (int or bool) if the expression is a compile-time constant
    type: Optional[Type] = field(default=None, init=False)
    const: Optional[int] = field(default=None, init=False)


@dataclass(eq=False)
class Int(Expr):
    """`17`, `0xff`, `0b101`, `8w0x11` (width 8), `4s3` (signed); `ip6"fe80::"` is a `bit<128>`; `eui64"..."`, `125 ms` in time units (value in us)."""

    value: int
    width: Optional[int] = None
    signed: bool = False
    unit: Optional[str] = None                  # "us", "ms", "s" for times; "%" for energy


@dataclass(eq=False)
class BoolLit(Expr):
    value: bool


@dataclass(eq=False)
class Name(Expr):
    """A bare name. decl (checked): Const, VarDecl, Param, Field (inside its header or codec), Instance, State, Action, ...
    or a string for built-ins: "payload", "node", "following", and "CLEAR", "BUSY", "ACCEPT", "DROP", ..."""

    name: str
    decl: object = None


@dataclass(eq=False)
class Member(Expr):
    """`base.name`: struct or header field, choice arm, enum member (`AddrMode.short`), `error.X`, `meta`/`node` field,
    stack `next`/`last`, or a method name when it is the callee of a Call.
    decl (checked): Field, ChoiceField, ChoiceArm, StructField, EnumMember, ErrorMember, or a built-in's name as string."""

    base: Expr
    name: str
    decl: object = None


@dataclass(eq=False)
class Index(Expr):
    """`base[i]`: header stack (i constant), register array, `payload[i]`."""

    base: Expr
    index: Expr


@dataclass(eq=False)
class Slice(Expr):
    """`base[hi:lo]`, both constant, hi >= lo."""

    base: Expr
    hi: Expr
    lo: Expr


@dataclass(eq=False)
class Unary(Expr):
    """op: "-", "~", "!"."""

    op: str
    operand: Expr


@dataclass(eq=False)
class Binary(Expr):
    """op: + - * / % << >> & | ^ == != < <= > >= && || ++ (concatenation), &&& (mask, only in sets), |+| |-| (saturating)."""

    op: str
    left: Expr
    right: Expr


@dataclass(eq=False)
class Conditional(Expr):
    """`cond ? then : otherwise`."""

    cond: Expr
    then: Expr
    otherwise: Expr


@dataclass(eq=False)
class Cast(Expr):
    """`(bit<8>) operand`: truncates or zero-extends (sign-extends from `int<N>`); bool <-> bit<1>; enum <-> bit."""

    target: TypeRef
    operand: Expr


@dataclass(eq=False)
class Call(Expr):
    """`callee(args)`, with type arguments `pkt.lookahead<bit<8>>()`.

    target (checked): Function, Extern, Action, Table (for `t.apply()`), or a built-in method's name:
    "extract", "emit", "advance", "lookahead", "isValid", "setValid", "setInvalid", "holds", "apply", "count", "execute",
    "verify", "inet_sum", "truncate", "push_front", "pop_front", "radio.on", ... ; via: the codec of `extract(h via C(args))`."""

    callee: Expr
    args: list[Expr]
    type_args: list[TypeRef] = field(default_factory=list)
    via: Optional["Via"] = None
    target: object = None


@dataclass(eq=False)
class Via(Node):
    """`via Codec(args)` of an extract or emit."""

    name: str
    args: list[Expr]
    codec: Optional["Codec"] = None             # checked


@dataclass(eq=False)
class Sizeof(Expr):
    """`sizeof(payload)`, `sizeof(this)`, `sizeof(varbit field)`, `sizeof(header instance)`: bytes, `bit<16>`.

    operand is None for `this` (the header being described)."""

    operand: Optional[Expr]


@dataclass(eq=False)
class InlinePiece(Expr):
    """In a codec row: `inline:N` inside `++`, or `inline(expr)` as a value. bits read on expand; on compress `source`
    (checked: for `inline:N` the slice of the target it stands for) is written."""

    width: Optional[Expr] = None
    source: Optional[Expr] = None


@dataclass(eq=False)
class Following(Expr):
    """In a codec row, expand only: `following:8`, the bits that follow this header's encoding, not consumed."""

    width: Expr


@dataclass(eq=False)
class RangeSet(Expr):
    """`lo..hi` (both inclusive) as a set element."""

    low: Expr
    high: Expr


@dataclass(eq=False)
class DontCare(Expr):
    """`_` or `default` in a select."""


@dataclass(eq=False)
class Tuple(Expr):
    """`(a, b)` in a select's keyset."""

    elements: list[Expr]


@dataclass(eq=False)
class ListExpr(Expr):
    """`{ a, b, c }`: a struct value in field order, or a set."""

    elements: list[Expr]


# ---------------------------------------------------------------- statements

@dataclass(eq=False)
class Stmt(Node):
    pass


@dataclass(eq=False)
class Block(Stmt):
    statements: list[Stmt]


@dataclass(eq=False)
class VarDecl(Stmt):
    """`bit<8> x = e;`, also `Link l;` and, in a parser, a local header `Ie ie;`. A variable without initial value is zero
    (a header: invalid)."""

    type_ref: TypeRef
    name: str
    init: Optional[Expr]
    type: Optional[Type] = None                 # checked


@dataclass(eq=False)
class ConstDecl(Stmt):
    """`const bit<16> PORT = 7;` (also at top level)."""

    type_ref: TypeRef
    name: str
    value: Expr
    type: Optional[Type] = None


@dataclass(eq=False)
class Assign(Stmt):
    target: Expr
    value: Expr


@dataclass(eq=False)
class If(Stmt):
    cond: Expr
    then: Stmt
    otherwise: Optional[Stmt]


@dataclass(eq=False)
class For(Stmt):
    """`for (i in low..high) body`: i from low to high - 1, both constant."""

    name: str
    low: Expr
    high: Expr
    body: Stmt
    var: Optional["VarDecl"] = None             # checked: the loop variable, bit<32>


@dataclass(eq=False)
class Switch(Stmt):
    """P4's `switch (e) { v: {...} default: {...} }`; also over `t.apply().action_run`."""

    value: Expr
    cases: list[tuple[list[Expr], Optional[Block]]]


@dataclass(eq=False)
class Return(Stmt):
    value: Optional[Expr]


@dataclass(eq=False)
class Exit(Stmt):
    pass


@dataclass(eq=False)
class ExprStmt(Stmt):
    """A call as a statement."""

    call: Call


@dataclass(eq=False)
class Applied(Stmt):
    """checked: an applied module's body, written out; `return` ends it."""

    body: Block


@dataclass(eq=False)
class After(Stmt):
    """In a handler: `after 10 ms { ... }`. handler (checked): the body as a handler of its own."""

    delay: Expr
    body: Block
    handler: Optional["Handler"] = None


# ---------------------------------------------------------------- declarations

@dataclass(eq=False)
class Decl(Node):
    name: str


@dataclass(eq=False)
class Import(Node):
    """`import std.udp;`"""

    path: list[str]


@dataclass(eq=False)
class Const(Decl):
    type_ref: TypeRef
    value: Expr
    type: Optional[Type] = None


@dataclass(eq=False)
class Typedef(Decl):
    type_ref: TypeRef


@dataclass(eq=False)
class EnumMember(Decl):
    value: Optional[Expr]
    number: int = 0                             # checked


@dataclass(eq=False)
class Enum(Decl):
    """`enum bit<2> E { a = 0, b }`. A value not named is rejected when a header with such a field is parsed."""

    base: TypeRef
    members: list[EnumMember]


@dataclass(eq=False)
class ErrorMember(Decl):
    number: int = 0                             # checked: reason number in this program


@dataclass(eq=False)
class ErrorDecl(Node):
    """`error { A, B }`, as in P4; the reasons a parser or action may give."""

    members: list[ErrorMember]


@dataclass(eq=False)
class StructField(Decl):
    type_ref: TypeRef
    type: Optional[Type] = None                 # checked
    args: list["StructField"] = field(default_factory=list)   # checked: `Udp(ip) udp` -> [field ip]
    init: Optional[Expr] = None


@dataclass(eq=False)
class Struct(Decl):
    fields: list[StructField]


# ---- headers

@dataclass(eq=False)
class Field(Decl):
    """A field. name "_" is anonymous. `equation`: `= e`; `deferred`: checked only by `h.holds()`; `values`: `in {...}`;
    `when`: presence condition; `sized`: bits of a varbit. little: `le<N>` outside a word."""

    type_ref: TypeRef
    when: Optional[Expr] = None
    equation: Optional[Expr] = None
    deferred: bool = False
    values: Optional[list[Expr]] = None
    sized: Optional[Expr] = None
    type: Optional[Type] = None                 # checked: Bits, Bool, EnumType or Varbit
    little: bool = False
    header: Optional["Header"] = None           # checked: the header it belongs to


@dataclass(eq=False)
class Word(Node):
    """`word le<16> { ... }`: fields from the least significant bit of a little-endian word of `width` bits
    (`word be<16>`/`word bit<16>`: from the least significant bit of a big-endian word)."""

    width: int
    little: bool
    fields: list[Field]


@dataclass(eq=False)
class ChoiceArm(Decl):
    """`short: le<16>;` name is an enum member's name of the tag's type."""

    type_ref: TypeRef
    type: Optional[Type] = None
    little: bool = False
    number: int = 0                             # checked: the tag's value
    choice: Optional["ChoiceField"] = None


@dataclass(eq=False)
class ChoiceField(Decl):
    """`choice (dst_mode) { short: le<16>; ext: le<64>; } dst;` a tag value without an arm takes no bytes."""

    tag: Name
    arms: list[ChoiceArm]
    header: Optional["Header"] = None


@dataclass(eq=False)
class Where(Node):
    """`where (cond);` or `where (cond, error.X);` in a header: checked when parsed; default reason `Header.where`."""

    cond: Expr
    reason: Optional[Expr] = None


HeaderItem = Union[Field, Word, ChoiceField, Where]


@dataclass(eq=False)
class Param(Decl):
    """direction: "", "in", "out", "inout"."""

    direction: str
    type_ref: TypeRef
    type: Optional[Type] = None


@dataclass(eq=False)
class Header(Decl):
    params: list[Param]
    items: list[HeaderItem]

    def fields(self) -> list[Field]:
        """All fields in wire order of their items (the fields of a word from its least significant bit)."""
        out: list[Field] = []
        for item in self.items:
            if isinstance(item, Field):
                out.append(item)
            elif isinstance(item, Word):
                out.extend(item.fields)
        return out


# ---- codecs

@dataclass(eq=False)
class TagBits(Decl):
    """One piece of a codec's `tag`: a constant (`0b011`, name "") or a variable `tf:2`."""

    width: int
    value: Optional[int] = None
    type: Optional[Type] = None


@dataclass(eq=False)
class CodecVar(Decl):
    """`var bit<8> len = sizeof(data);` value on compress; rows assign it on expand.
    With `first`: `var bit<4> sci = first i in 0..16 where (cond);` the first i that satisfies cond, else low."""

    type_ref: TypeRef
    value: Optional[Expr]
    loop: Optional[VarDecl] = None
    low: Optional[Expr] = None
    high: Optional[Expr] = None
    cond: Optional[Expr] = None
    type: Optional[Type] = None


@dataclass(eq=False)
class RowInline(Node):
    """`inline(a, pad:2, b, data)`: each target in wire order. pad: zero on compress, ignored on expand.
    A varbit target takes `bits` from its `(data, 8 * len)` form: `inline(data : 8 * len)`."""

    targets: list["InlineTarget"]


@dataclass(eq=False)
class InlineTarget(Node):
    """target None: padding of `width` bits. bits: the run-time size of a varbit target, in bits."""

    target: Optional[Expr]
    width: Optional[int] = None
    bits: Optional[Expr] = None


@dataclass(eq=False)
class RowAssign(Node):
    """`src = LINK_LOCAL ++ inline:64`. On expand assigns; on compress the row holds only if the target equals the value
    (inline pieces taken from their source); a value with `following` holds always."""

    target: Expr
    value: Expr


@dataclass(eq=False)
class RowWhere(Node):
    """`where (cond)` or `where (cond, error.X)`: on expand a row whose cond is false rejects (default reason: the
    group's, `Codec.<last tag of the group>`); on compress the row does not hold."""

    cond: Expr
    reason: Optional[Expr] = None


RowItem = Union[RowInline, RowAssign, RowWhere]


@dataclass(eq=False)
class Row(Node):
    """`0, 3: items;` keys: one constant or DontCare per tag variable of the group."""

    keys: list[Expr]
    items: list[RowItem]


@dataclass(eq=False)
class Group(Node):
    """`sac, sam { rows }`; groups are on the wire in this order. A group without tag variables (`tags` empty) has one
    row without keys: unconditional items written directly in the codec's body."""

    tags: list[Name]
    rows: list[Row]


@dataclass(eq=False)
class Codec(Decl):
    """`codec C(params) <-> H { tag ...; var ...; groups }`: a second representation of header H."""

    params: list[Param]
    header_name: str
    tag: list[TagBits]
    vars: list[CodecVar]
    groups: list[Group]
    header: Optional[Header] = None             # checked


# ---- functions, externs

@dataclass(eq=False)
class Function(Decl):
    return_type: TypeRef
    params: list[Param]
    body: Block


@dataclass(eq=False)
class Extern(Decl):
    """`extern bit<32> f(bit<32> x) cost 100 in { net, radio };`"""

    return_type: TypeRef
    params: list[Param]
    cost: Optional[Expr]
    contexts: list[str]


# ---- stateful objects

@dataclass(eq=False)
class Register(Decl):
    """`register<T> r;`, `register<T>[n] r;`, `persistent register<T> r;` at top level or in a processor."""

    cell: TypeRef
    size: Optional[Expr]
    persistent: bool = False
    type: Optional[Type] = None                 # checked: the cell's type, or Array


@dataclass(eq=False)
class Counter(Decl):
    cell: TypeRef
    size: Optional[Expr]
    type: Optional[Type] = None


@dataclass(eq=False)
class Meter(Decl):
    """`meter<bit<16>>[n] m(interval, burst, excess);` see `meters.py`. amount: the type of what a packet takes."""

    amount: TypeRef
    args: list[Expr]
    size: Optional[Expr] = None
    type: Optional[Type] = None                 # checked: the cell's type, or Array


@dataclass(eq=False)
class Migrate(Node):
    """`migrate version 1 { register<T> r; ... }`: makes the state of this version from that of version 1, whose registers
    are declared in front and read as `old.r`."""

    version: Expr
    old: list[Register]
    body: Block


@dataclass(eq=False)
class BufferDecl(Decl):
    """`buffer<1280>[2] partial timeout 60 s;` bytes: octets of an entry, size: how many entries."""

    bytes: Expr
    size: Expr
    timeout: Optional[Expr]
    key: Optional[list[int]] = None             # checked: bits of each value of the key, as the first use has them


# ---- tables

@dataclass(eq=False)
class Action(Decl):
    params: list[Param]
    body: Block


@dataclass(eq=False)
class TableKey(Node):
    expr: Expr
    match: str                                  # exact, lpm, ternary, range


@dataclass(eq=False)
class ActionRef(Node):
    """In a table's list `args` are bound: the action's first parameters. Elsewhere (`default_action`, an entry) they are
    what the table gives; checked: what the list binds is taken off the front and kept in `bound`."""

    name: str
    args: list[Expr]
    action: Optional[Action] = None             # checked
    bound: list[Expr] = field(default_factory=list)         # checked


@dataclass(eq=False)
class TableEntry(Node):
    """A constant entry: `(ip6"aaaa::" / 16) : send_to(7);`"""

    keys: list[Expr]
    action: ActionRef
    priority: Optional[int] = None


@dataclass(eq=False)
class Table(Decl):
    keys: list[TableKey]
    actions: list[ActionRef]
    size: Optional[Expr]
    default_action: Optional[ActionRef]
    entries: list[TableEntry]
    const_entries: bool = False
    const_default: bool = False


# ---- parser, processor, deparser
    shared: Optional["Table"] = None            # checked: of a copy in a module that applies the table's: whose entries it has


@dataclass(eq=False)
class SelectCase(Node):
    """keys: one element, or several for a tuple select. target: a state name, "accept" or "reject"; reason for `reject(X)`."""

    keys: list[Expr]
    target: str
    reason: Optional[Expr] = None
    state: Optional["State"] = None             # checked


@dataclass(eq=False)
class Transition(Node):
    """`transition accept;`, `transition next;`, `transition reject(X);` (cases has one with keys []) or a select."""

    select: Optional[list[Expr]]
    cases: list[SelectCase]
    inner: bool = False                         # checked: between parts of what was written as one state


@dataclass(eq=False)
class ValueSet(Decl):
    """P4's `value_set<bit<16>>[8] ports;` in a parser: values that the control plane gives, a key of a select."""

    cell: TypeRef
    size: Optional[Expr]
    type: Optional[Type] = None                 # checked
    table: Optional[Table] = None               # checked: one exact key, a hit says that the value is in the set


@dataclass(eq=False)
class State(Decl):
    """`state s [max n] { statements; transition ... }`; max bounds how often it is entered for one packet."""

    statements: list[Stmt]
    transition: Optional[Transition]
    max: Optional[Expr] = None
    reason: str = ""                            # checked: of what was copied from an applied parser, what it rejects with


@dataclass(eq=False)
class Parser(Decl):
    params: list[Param]
    locals: list[Union[VarDecl, ConstDecl, ValueSet]]
    states: list[State]


@dataclass(eq=False)
class Processor(Decl):
    """P4's `control`. locals: Register, Counter, Meter, BufferDecl, Action, Table, VarDecl, ConstDecl, instances."""

    params: list[Param]
    locals: list[Node]
    apply: Block


@dataclass(eq=False)
class Deparser(Decl):
    params: list[Param]
    locals: list[Node]
    body: Block


# ---- time

@dataclass(eq=False)
class Handler(Node):
    """`every T jitter J within D {...}`, `on radio.rx_start(frame) within D {...}`, `slot n of m {...}` (period: m), and the body
    of an `after` (period None). name (checked): `Block.every_1`, `Block.on_rx_start`, `Block.after_1`; values (checked): its params."""

    kind: str                                   # every, on, slot, after
    event: Optional[str]
    params: list[str]
    period: Optional[Expr]
    jitter: Optional[Expr]
    within: Optional[Expr]
    body: Block
    slot: Optional[Expr] = None
    name: str = ""
    values: list[Param] = field(default_factory=list)
    block: Optional["Timing"] = None            # checked


@dataclass(eq=False)
class EnergyBudget(Node):
    """`radio.on <= 9 %;` percent: the sign is there."""

    name: str
    op: str
    limit: Expr
    percent: bool = False


@dataclass(eq=False)
class Timing(Decl):
    """afters (checked): the `after` blocks of its handlers, in the order in which they are written."""

    locals: list[Node]
    handlers: list[Handler]
    energy: list[EnergyBudget]
    afters: list[After] = field(default_factory=list)


@dataclass(eq=False)
class Binding(Node):
    """`on radio.rx_done : Rx -> Forward -> Tx within 4 ms;`"""

    event: str
    args: list[Expr]
    chain: list[str]
    within: Optional[Expr]
    modules: list[Decl] = field(default_factory=list)      # checked
    buffer: Optional[BufferDecl] = None                    # checked: of `on NAME.complete`


@dataclass(eq=False)
class Protocol(Decl):
    version: Optional[Expr]
    bindings: list[Binding]
    timing: list[str]
    blocks: list[Timing] = field(default_factory=list)     # checked


Module = Union[Parser, Processor, Deparser, Handler]        # what becomes a container


@dataclass(eq=False)
class Program(Node):
    """One compilation unit with everything it imports, in dependency order. `main`: the declarations of the given file."""

    imports: list[Import]
    decls: list[Union[Decl, ErrorDecl]]
    sources: list = field(default_factory=list)
    main: list[Union[Decl, ErrorDecl]] = field(default_factory=list)
    # checked:
    headers_struct: Optional[Struct] = None     # the `headers` struct the modules share
    hooks: list["Hook"] = field(default_factory=list)      # what runs, and when: hooks.py
    applied: list[Decl] = field(default_factory=list)      # modules that others apply
    promises: list["Promise"] = field(default_factory=list)     # energy budgets that hold
    reasons: list[str] = field(default_factory=list)       # drop reasons by number; [0] is "" (none)
    summed: set = field(default_factory=set)               # ((StructField, index), (the same)): the second may follow the first, which sums it
    warnings: list = field(default_factory=list)           # diagnostics that did not stop the checker

    @property
    def chain(self) -> list[Module]:
        """The modules that a received frame takes, in order: the chain of `radio.rx_done`."""
        return next((hook.chain for hook in self.hooks if hook.event == "radio.rx_done" and not hook.timed), [])

    @property
    def modules(self) -> list[Module]:
        """The modules of all hooks, each once, in the order in which hooks name them."""
        return list(dict.fromkeys(module for hook in self.hooks for module in hook.chain))

    def reason_number(self, name: str) -> int:
        """The number of a drop reason."""
        return self.reasons.index(name)
