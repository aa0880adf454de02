"""The lowering of one container: the function under construction, its context, its environment and its ways out."""
from __future__ import annotations

from contextlib import contextmanager

import llvmlite.ir as ir

from lpn.compiler.bits import I1, I32, PKT, PTR, Val, i32, is_const
from lpn.compiler.distances import DISTANCE
from lpn.compiler.layout import InstanceLayout, RecordLayout
from lpn.compiler.state import StateLayout
from lpn.compiler.target import (CTX_OUT, CTX_PAYLOAD, CTX_PKT, CTX_PKT_END, CTX_REC, CTX_STATE, VERDICTS, Target)
from lpn.lang import ast
from lpn.lang.effects import effects
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.instances import header_of
from lpn.lang.types import Bool, Meta

from .asked import AskedOnce
from .buffers import Buffers
from .codec import Codecs
from .conditions import Conditions
from .const_entries import ConstEntries
from .copies import Copies
from .cursor import Cursor, Refused
from .deparser import Deparsers
from .expr import Expressions
from .extract import Extracts
from .following import Followings
from .guess import Guesses
from .of_turn import Halves
from .in_turn import InTurn
from .instance import Instance
from .left_out import LeftOut
from .left_over import LeftOver
from .lying import LyingSums
from .lying_behind import LyingBehind
from .made import MadeStructs
from .made_early import MadeEarly
from .numbered import NumberedRows
from .operations import Builder, Operations
from .parser import Parsers
from .parted import PartedUnits
from .places import Place
from .processor import Processors
from .required import Requirements
from .runs import Element, Runs
from .search import Searches
from .shared import SharedCalls
from .stacks import Stacks
from .stmt import Statements
from .sums import Sums
from .timing import Timings
from .together import SaidTogether
from .tried import TriedInTurn
from .twins import TwinGroups
from .twins_searched import SearchedTwins
from .twins_written import WrittenTwins
from .ways import Ways


# A fused chain keeps header images of up to this many octets in variables; more would not fit the stack beside spills. A guess has no loops
# and no second way: it may have more.
LOCAL_IMAGES, GUESSED_IMAGES = 96, 192
REGIONS = ("packet", "state", "out")            # that are told apart for LLVM


class Lowering(Guesses, Timings, Buffers, Parsers, Stacks, Ways, Requirements, Cursor, LeftOver, Extracts, PartedUnits, MadeEarly, Processors, ConstEntries, Deparsers, Codecs,
               Followings, SaidTogether, SharedCalls, NumberedRows, TriedInTurn, Halves, TwinGroups, WrittenTwins, SearchedTwins, AskedOnce, MadeStructs, LeftOut, Searches,
               LyingSums, Sums, Conditions, Expressions, Statements, InTurn, Runs, Copies, LyingBehind):
    """Lowers modules into one LLVM function `(ctx) -> i32` (verdict | argument << 16).

    `record_in_memory`: the header record is the region the context points to; otherwise (fused) it lives in variables."""

    def __init__(self, program: ast.Program, record: RecordLayout, state_layout: StateLayout, derived: set,
                 target: Target, fn: ir.Function, record_in_memory: bool, debug=None, operations: Operations | None = None):
        images = sum(i.layout.image_size for i in record.instances if not i.in_packet)
        self.program, self.record, self.state_layout = program, record, state_layout
        self.derived, self.target, self.fn = derived, target, fn
        self.old_layout: StateLayout | None = None          # in a migration: the old registers, where the record is
        self.record_in_memory, self.debug = record_in_memory, debug
        self.images_in_memory, self.guessed_in_memory = record_in_memory or images > LOCAL_IMAGES, images > GUESSED_IMAGES
        self.half_register = target.half_register
        self.env: dict[object, Place] = {}
        self.this: Instance | None = None
        self.instead: dict[ast.Field, Place] = {}
        self.expanding: dict[Instance, dict] = {}
        self.known: dict[tuple, bool] = {}      # comparisons of a header's fields that were decided on the way here
        self.instances: dict[InstanceLayout, Instance] = {}
        self.masked, self.stepped = {}, {}
        self._said: set | None = None           # (field of the headers struct, field) that codecs say
        self.apart = False                      # state is read where another path reads the packet: LLVM is not to make it one load
        self.returns: list = []
        self.totals, self.complements = {}, {}  # what sums that were folded are of, and complements of them; see sums.py
        self.loops_around, self.unproven = 0, {}            # loops that are lowered now; see runs.py
        self.marks = 0                          # places that LLVM must not take for one
        self.may_be_left_out, self.was_left_out = set(), {}     # fused: see left_out.py
        self.lookup_places: tuple | None = None # keys, action data
        self.touched: dict = {}                 # see guess.py
        self.requirements: dict = {}            # see required.py
        self.early, self.wanted, self.behind = {}, [], []       # see made_early.py; the statements behind the one that is lowered
        self.operations = operations or Operations()
        self.in_line = 0                        # bodies in each other that are put in line where the module calls them
        self.entry_builder = Builder(fn.append_basic_block("entry"), self.operations)
        self.b = Builder(fn.append_basic_block("body"), self.operations)
        self.body = self.b.block
        self.ctx = fn.args[0]
        self.ctx.name = "ctx"
        self._entry_values: dict[int, ir.Value] = {}
        self.entry_checks: list[ir.Value] = []  # pointers that must not lie beyond the packet's end
        self.found_late: frozenset[ast.StructField] = frozenset()              # of a deparser alone: see found_late.py
        self.may_meet = False                   # what is refused; see cursor.py
        self.refused: list[Refused] = []
        self.may_pair = True                    # what a codec writes of two fields; see twins_written.py
        self.paired = False
        self.parser_decl: ast.Parser | None = None
        self.handles = False                    # a handler's body: no header is valid at its beginning
        self.ends_with: ast.Processor | None = None             # the processor behind which nothing looks at the packet
        self.tells_payload = True               # see payload.py
        self.in_place = False                   # whether a deparser finds the packet as it is sent; see in_place.py
        self.payload_slot: ir.Value | None = None           # fused: where the parser left off
        self.codec_start: ir.Value | None = None            # the payload's begin while a codec expands what begins there
        self.first_headers: dict[InstanceLayout, int] = {}  # fused: see prefix.py
        self.laid_out: dict[InstanceLayout, int] = {}       # fused: see laid_out.py
        self.payload_part: tuple[ir.Value, ir.Value] | None = None      # what follows the headers, where that is not the payload
        self.verdict_slot: ir.Value | None = None           # fused: the verdict so far
        self.reaches: str | None = None
        self.scopes_of: dict[str, tuple[ir.MDValue, ir.MDValue]] = {}
        self.repeats: list[ast.Assign] = []                 # fused: what a deparser may say again
        self.lazy: dict[tuple[Instance, ast.Field], ast.Expr] = {}      # while it does: by header and field
        self.at_slot: ir.Value | None = None                # a deparser's: octets written
        self.cut_slot: ir.Value | None = None               # from the first processor on that truncates: octets cut off the end

    def finish(self) -> None:
        """Closes the entry block, and those where checks fail; call once, last."""
        self.finish_refused()
        b = self.b = self.entry_builder
        for pointer in self.entry_checks:
            ok = b.append_basic_block("entry.ok")
            drop = self.drop_block("RecordMismatch")
            self.likely(b.cbranch(b.icmp_unsigned("<=", pointer, self.end), ok, drop))
            b.position_at_end(ok)
        b.branch(self.body)

    @property
    def short(self) -> bool:
        """Whether a chain is to be short code; its modules have the record between them, which holds what a register would."""
        return self.target.small and not self.record_in_memory

    # ---- which memory an access reaches

    @contextmanager
    def region(self, name: str):
        """All loads and stores in it are of this region: its octets are no other's (docs/context.md)."""
        saved, self.reaches = self.reaches, name
        yield
        self.reaches = saved

    def reached(self, access: ir.Instruction) -> ir.Instruction:
        if self.reaches is not None and not self.forgetful:
            its, others = self.alias_scopes(self.reaches)
            access.set_metadata("alias.scope", its)
            access.set_metadata("noalias", others)
        return access

    def alias_scopes(self, region: str) -> tuple[ir.MDValue, ir.MDValue]:
        """A list of a region's scope, and one of all others'."""
        if region not in self.scopes_of:
            module = self.fn.module
            scopes = {name: module.add_metadata([name, module.add_metadata(["lpn"])]) for name in REGIONS}
            self.scopes_of[region] = (module.add_metadata([scopes[region]]),
                                      module.add_metadata([s for name, s in scopes.items() if name != region]))
        return self.scopes_of[region]

    # ---- entry block

    def alloca(self, ty: ir.Type, name: str = "", align: int | None = None) -> ir.Value:
        zero = {I1: ir.Constant(I1, 0), I32: i32(0), PKT: self.pkt if ty == PKT else None}.get(ty)
        slot = self.entry_builder.alloca(ty, name=name)
        if align:
            slot.align = align
        if zero is not None:
            self.entry_builder.store(zero, slot)
        if isinstance(ty, ir.ArrayType):
            slot.type = PTR                     # memory, addressed by octets
        return slot

    def at_entry(self, make) -> ir.Value:
        """Runs `make` with the builder at the end of the entry block."""
        saved, self.b = self.b, self.entry_builder
        try:
            return make()
        finally:
            self.b = saved

    def context_pointer(self, offset: int) -> ir.Value:
        if offset not in self._entry_values:
            kind = PKT if offset in (CTX_PKT, CTX_PKT_END) else PTR
            self._entry_values[offset] = self.at_entry(lambda: self.b.load(self.at(self.ctx, offset), typ=kind, align=8))
        return self._entry_values[offset]

    def late_pointer(self, offset: int) -> ir.Value:
        return self.b.load(self.at(self.ctx, offset), typ=PTR, align=8)

    @property
    def pkt(self) -> ir.Value:
        return self.context_pointer(CTX_PKT)

    @property
    def end(self) -> ir.Value:
        return self.context_pointer(CTX_PKT_END)

    @property
    def rec(self) -> ir.Value:
        return self.context_pointer(CTX_REC)

    @property
    def keeps_record(self) -> bool:
        """Has anything asked for the header record?"""
        return CTX_REC in self._entry_values

    @property
    def state(self) -> ir.Value:
        """Loaded where it is used: few packets need it."""
        return self.late_pointer(CTX_STATE)

    @property
    def out(self) -> ir.Value:
        """Loaded where the deparser begins."""
        return self.out_pointer

    bool_type = Bool()

    # ---- small helpers on i32

    def add32(self, x: ir.Value, y: ir.Value) -> ir.Value:
        if is_const(x) and is_const(y):
            return i32(x.constant + y.constant)
        if is_const(x, 0):
            return y
        return x if is_const(y, 0) else self.b.add(x, y)

    def by_number(self, v: Val, cases: list[tuple[int, ir.Value]], default: ir.Value) -> ir.Value:
        """The i32 that belongs to the number `v`."""
        b = self.b
        if v.const is not None:
            return dict(cases).get(v.const, default)
        done, other = b.append_basic_block("numbered"), b.append_basic_block("other")
        switch = b.switch(v.limbs[0], other)
        ends = [(default, other)]
        for number, result in cases:
            block = b.append_basic_block(f"number.{number}")
            switch.add_case(i32(number), block)
            ends.append((result, block))
        for i, (_, block) in enumerate(ends):
            b.position_at_end(block)
            if i == 1 and on_a_line(cases):     # or LLVM computes the result from `v`, and no verifier sees its bounds
                self.mark(keeps=True)
            b.branch(done)
        b.position_at_end(done)
        return self.phi(I32, ends)

    def pick(self, cond: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        if isinstance(cond, ir.Constant):
            return x if cond.constant else y
        return self.b.select(cond, x, y)

    def distance(self, start: ir.Value, end: ir.Value) -> ir.Value:
        """end - start as i32; a packet is at most 2048 octets. LLVM learns what this is after it has optimised."""
        name = DISTANCE if start.type == PKT else f"{DISTANCE}.out"
        declared = self.fn.module.globals.get(name)
        if declared is None:
            declared = ir.Function(self.fn.module, ir.FunctionType(I32, [start.type, end.type]), name)
            declared.attributes.add("readnone")
            declared.attributes.add("nounwind")
        return self.b.call(declared, [start, end])

    # ---- instances

    def instance(self, f: ast.StructField, index: int | None) -> Instance:
        inst = self.record.element(f, index)
        if inst not in self.instances:
            self.instances[inst] = Element(self, inst) if f in self.runs else Instance(self, inst)
        return self.instances[inst]

    def image_in_memory(self, inst: InstanceLayout, local: bool) -> ir.Value | None:
        """Where the image of a header lies that is not in variables."""
        if inst in self.laid_out:
            return self.at_entry(lambda: self.at(self.context_pointer(CTX_OUT), self.laid_out[inst]))
        in_memory = self.images_in_memory or inst.field in self.recorded
        return self.at_entry(lambda: self.at(self.rec, inst.image)) if in_memory and not local else None

    def elements(self, f: ast.StructField) -> list[Instance]:
        """A stack's."""
        return [self.instance(f, inst.index) for inst in self.record.by_field[f]]

    @contextmanager
    def this_is(self, inst: Instance):
        saved, self.this, self.instead = (self.this, self.instead), inst, {}
        try:
            yield
        finally:
            self.this, self.instead = saved

    @contextmanager
    def reading_instead(self, f: ast.Field, place: Place):
        """`this` header's field is read there; what headers are described by means what it says."""
        saved, self.instead = self.instead, {f: place}
        yield
        self.instead = saved

    def constant_equation(self, f: ast.Field) -> Val | None:
        """The value of an equation that is a constant: such a field is stored like any other."""
        e = f.equation
        return self.of_type(f.type, int(e.const)) if e is not None and e.const is not None else None

    def stored_differs(self, instance: object, f: ast.Field) -> bool:
        """Whether the value received may be another than that of the field's constant equation: where a codec says it, it may be another
        header's, or nothing has compared them."""
        if self._said is None:
            self._said = {(e.instance, x) for e in effects(self.program) if e.kind == "extract" and e.codec is not None
                          for x in self.assigned_fields(e.codec)}
            self._said |= {(e.instance, x) for e in effects(self.program) if e.kind == "copied" and e.instance is not None
                           for x in header_of(e.instance).fields()}
        return f.deferred or (instance, f) in self._said

    # ---- packet access

    def load_packet(self, base: ir.Value, offset: int, width: int, little: bool) -> Val:
        """Reads within the window need no test."""
        with self.region("packet"):
            return self.load(base, offset, width, little)

    def packet_at(self, offset: ir.Value) -> ir.Value:
        """The place in the packet whose offset (i32) was kept in memory."""
        return self.at(self.pkt, offset)

    def joined(self) -> None:
        """Paths of a parser that differ in how far they have come meet here."""

    def rejoined(self) -> None:
        """The same of a deparser."""

    def module_ended(self) -> None:
        """Fused: the paths of one module meet before the next."""

    def found_first(self, place: Place) -> None:
        """`place` is what a search found."""

    def prove_writable(self, base: ir.Value, offset: int) -> ir.Value:
        """A write in place must lie before the packet's end. In a parser, which reads ahead, the packet is too short if it
        does not; elsewhere the record is not this packet's. The base again, to write from."""
        place = self.at(base, offset)
        if self.parser_decl is not None:        # a test of its own: joined with that of the next header, it says nothing to a verifier
            place = self.opaque(place, here=True)
            base = self.at(place, -offset)
        self.reject_unless(self.b.icmp_unsigned("<=", place, self.end), "RecordMismatch" if self.parser_decl is None else "PacketTooShort")
        return base

    def surely_there(self, inst: InstanceLayout) -> bool:
        """Behind the parser: whether a verifier, too, knows that the packet holds the header."""
        return self.parser_decl is None and inst in self.first_headers

    def payload_pointer(self) -> ir.Value:
        """The first octet of what follows the headers."""
        if self.payload_part is not None:
            return self.payload_part[0]
        if self.parser_decl is not None:
            return self.codec_start or self.cursor()
        if self.payload_slot is not None:
            return self.b.load(self.payload_slot, typ=PKT)
        pointer = self.at(self.pkt, self._load(self.ctx, CTX_PAYLOAD, 2))
        self.reject_unless(self.b.icmp_unsigned("<=", pointer, self.end), "RecordMismatch")
        return pointer

    def payload_octets(self) -> ir.Value:
        """How many follow the headers, as i32."""
        if self.payload_part is not None:
            return self.distance(*self.payload_part)
        octets = self.distance(self.payload_pointer(), self.end)
        return octets if self.cut_slot is None else self.b.sub(octets, self.b.load(self.cut_slot, typ=I32))

    def payload_at(self, start: ir.Value, index: ir.Value) -> ir.Value:
        """The place of an octet of the payload; the index is below MAX_PACKET."""
        return self.at(start, index)

    def bind_packet_params(self, params: list[ast.Param]) -> None:
        """`meta` gets its variables; packets and headers need no binding: members carry their declarations."""
        for p in params:
            if isinstance(p.type, Meta):
                self.env[p] = self.meta_place(p.type)

    # ---- ways out

    def verdict(self, name: str, argument: ir.Value | None = None) -> ir.Value:
        code = i32(VERDICTS[name])
        return code if argument is None else self._or(self._shl(argument, 16), code)

    def reason(self, name: str) -> int:
        return self.program.reason_number(name)

    def drop_block(self, name: str) -> ir.Block:
        """A cold block that drops with this reason. The constant is made behind a barrier: otherwise LLVM sets it on the hot
        path, once a test, because a phi's constant is cheaper there in bytes."""
        b = self.b
        here = b.block
        block = b.append_basic_block(f"drop.{name}")
        b.position_at_end(block)
        self.return_drop(i32(self.reason(name)))
        b.position_at_end(here)
        return block

    def leave(self, code: ir.Value) -> None:
        """Ends the container with this return value."""
        self.b.ret(code)

    def return_drop(self, reason: ir.Value) -> None:
        self.leave(self.drop_code(reason))

    def drop_code(self, reason: ir.Value, cold: bool = False) -> ir.Value:
        """The verdict; a constant is made behind a barrier (`drop_block`), which nobody is likely to reach if it is cold."""
        code = self.verdict("DROP", reason)
        if isinstance(code, ir.Constant):
            code = self.b.asm(ir.FunctionType(I32, [I32]), "", self.half_register, [code], side_effect=True)
            if cold:
                set.add(code.attributes, "cold")            # llvmlite's own list of what a call may be lacks it
        return code

    def reject_unless(self, cond: ir.Value, name: str) -> None:
        if isinstance(cond, ir.Constant) and cond.constant:
            return
        if self.miss is not None and self.parser_decl is not None:
            self.as_guessed(cond, alone=True)
            return
        b = self.b
        drop = self.drop_block(name)
        ok = b.append_basic_block("ok")
        self.likely(b.cbranch(cond, ok, drop))
        b.position_at_end(ok)

    def likely(self, branch) -> None:
        branch.set_weights([2000, 1])

    def unsupported(self, node: ast.Node, what: str) -> DiagnosticError:
        return DiagnosticError([Diagnostic("error", f"{what} is not supported by the compiler yet", node.span)])


def on_a_line(cases: list[tuple[int, ir.Value]]) -> bool:
    """Whether constants for three or more numbers in a row grow by the same amount from one to the next."""
    found = sorted((number, result.constant) for number, result in cases if isinstance(result, ir.Constant))
    steps = {(b[0] - a[0], b[1] - a[1]) for a, b in zip(found, found[1:])}
    return len(found) > 2 and len(steps) == 1 and steps.pop()[0] == 1
