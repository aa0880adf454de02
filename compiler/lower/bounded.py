"""Lowering for the Linux kernel (target `xdp`): no window behind the packet, memory in one block, a verifier that counts paths.

The kernel's verifier knows of a packet pointer what a comparison with data_end said of that very pointer plus constants, and
follows every path on its own until it meets a state it has seen. So each read is tested right before it, LLVM is kept
from rewriting a tested pointer into another one (`hide`), and offsets are forgotten where paths join (`forget`): paths that
differ only in how far the cursor is are one path then.
"""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I8, I32, I64, PKT, PTR, Val, i32
from lpn.compiler.layout import Unit, field_width
from lpn.compiler.target import CTX_OUT, CTX_PKT, CTX_PKT_END, CTX_REC, CTX_STATE, MAX_PACKET, OUT_SIZE
from lpn.compiler.xdp import (ACTIONS, BLOCK, ETH_P_IEEE802154, ETHERNET_HEADER, ETHERTYPE_AT, MD_DATA, MD_DATA_END, SCRATCH, VERDICT, XDP_DROP, XDP_PASS,
                              Memory)
from lpn.lang import ast
from lpn.lang import tables as control

from .base import Lowering
from .bounded_loops import BoundedLoops
from .bounded_tables import Rows, TableSearch
from .instance import Instance
from .places import Scalar, StructPlace
from .processor import tables

OFFSET_MASK = 2 * MAX_PACKET - 1                # more than any offset: the test against the end does the rest


class BoundedInstance(Instance):
    """Whether it is valid is read from memory each time: were it in a register, the verifier would follow each of the
    2^n cases of n headers on its own as soon as it is asked for twice."""

    def valid(self) -> ir.Value:
        low = self.lower
        return low.b.icmp_unsigned("!=", low.recall(low.memory.record + self.inst.valid, 1), i32(0))

    def set_valid(self, value: bool | ir.Value) -> None:
        low = self.lower
        flag = i32(int(value)) if isinstance(value, bool) else low.b.zext(value, I32)
        low._store(low.ctx, low.memory.record + self.inst.valid, 1, flag)


    def read_unit(self, u: Unit) -> Val:
        """Of a choice in the packet, the arm that is there: the widest one may not fit before the packet's end."""
        if u.choice is None or not self.inst.in_packet:
            return super().read_unit(u)
        low, tag = self.lower, self.tag(u.choice)
        base, offset = self.pointer(u)
        whole = low.constant(u.bits, 0)
        for arm in u.choice.arms:
            v = low.resize(low.load_packet(base, offset, field_width(arm), False), u.bits)
            v = low.shift(v, low.constant(32, u.bits - field_width(arm)), left=True)
            whole = low.select(low.eq(tag, low.constant(tag.width, arm.number)), v, whole)
        return whole


def memory_of(program: ast.Program, record_size: int, state_size: int) -> Memory:
    return Memory(record_size, state_size, tuple(Rows(t).size for t in tables(program)))


def initial(program: ast.Program, memory: Memory) -> bytes:
    """The block before anything has run: the tables' constant entries."""
    out = bytearray(memory.size)
    for index, t in enumerate(tables(program)):
        rows = Rows(t).filled(control.constant_entries_of(t))
        out[memory.rows(index):memory.rows(index) + len(rows)] = rows
    return bytes(out)


class BoundedLowering(TableSearch, BoundedLoops, Lowering):
    """`Lowering` of one fused chain into an XDP program."""

    forgetful = True                            # the kernel is to forget what a register held

    def __init__(self, program, record, state_layout, derived, target, fn, record_in_memory, debug=None):
        self.memory = memory_of(program, record.size, state_layout.size)
        super().__init__(program, record, state_layout, derived, target, fn, record_in_memory, debug)
        self.md = self.ctx
        self.meeting = False
        ty = ir.ArrayType(I8, self.memory.size)
        block = ir.GlobalVariable(fn.module, ty, BLOCK)
        block.initializer = ir.Constant(ty, bytearray(initial(program, self.memory)))
        block.section, block.align = ".data", 8
        block.type = PTR
        license_ = ir.GlobalVariable(fn.module, ir.ArrayType(I8, 4), "_license")
        license_.initializer = ir.Constant(license_.value_type, bytearray(b"GPL\0"))
        license_.section = "license"
        self.ctx = block

    def instance(self, f: ast.StructField, index: int | None) -> Instance:
        inst = self.record.element(f, index)
        if inst not in self.instances:
            self.instances[inst] = BoundedInstance(self, inst)
        return self.instances[inst]

    # ---- context

    def context_pointer(self, offset: int) -> ir.Value:
        if offset not in self._entry_values:
            self._entry_values[offset] = self.at_entry(lambda: self.make_pointer(offset))
        return self._entry_values[offset]

    def late_pointer(self, offset: int) -> ir.Value:
        return self.context_pointer(offset)

    def make_pointer(self, offset: int) -> ir.Value:
        if offset in (CTX_PKT, CTX_PKT_END):
            word = self.b.load(self.at(self.md, MD_DATA if offset == CTX_PKT else MD_DATA_END), typ=I32, align=4)
            pointer = self.b.inttoptr(self.b.zext(word, I64), PKT)
            return self.at(pointer, ETHERNET_HEADER) if offset == CTX_PKT else pointer
        where = {CTX_REC: self.memory.record, CTX_STATE: self.memory.state, CTX_OUT: self.memory.out}[offset]
        return self.at(self.ctx, where)

    def finish(self) -> None:
        """Frames that are not ours go their way before anything is done: of another type, or longer than a packet may be, where a cursor that is masked
        (`forget`) would begin again."""
        pkt, end = self.pkt, self.end
        b = self.b = self.entry_builder
        passed, longer, shorter, ours = (b.append_basic_block(n) for n in ("pass", "longer", "shorter", "ours"))
        b.cbranch(b.icmp_unsigned("<=", pkt, end), longer, passed)
        b.position_at_end(longer)
        b.cbranch(b.icmp_unsigned("<=", end, self.hide(self.at(pkt, MAX_PACKET))), shorter, passed)
        b.position_at_end(shorter)
        kind = self._load(pkt, ETHERTYPE_AT - ETHERNET_HEADER, 2)
        swapped = ETH_P_IEEE802154 >> 8 | (ETH_P_IEEE802154 & 0xFF) << 8
        b.cbranch(b.icmp_unsigned("==", kind, i32(swapped)), ours, passed)
        b.position_at_end(passed)
        b.ret(i32(XDP_PASS))
        b.position_at_end(ours)
        for inst in self.record.instances:
            self._store(self.ctx, self.memory.record + inst.valid, 1, i32(0))
        super().finish()

    def leave(self, code: ir.Value) -> None:
        """The whole verdict goes to memory, the kernel gets its own word for it."""
        self._store(self.ctx, VERDICT, 4, code)
        shift = self._shl(self._and(code, i32(7)), 2)
        self.b.ret(self.b.and_(self.b.lshr(i32(ACTIONS), shift), i32(7)))

    def return_drop(self, reason: ir.Value) -> None:
        code = self.verdict("DROP", reason)
        self._store(self.ctx, VERDICT, 4, code)
        self.b.ret(i32(XDP_DROP))

    # ---- what LLVM and the verifier are not to know

    def hide(self, v: ir.Value) -> ir.Value:
        """The same value, of which LLVM knows nothing."""
        return self.b.asm(ir.FunctionType(v.type, [v.type]), "", "=r,0", [v], side_effect=True)

    def forget(self, pointer: ir.Value) -> ir.Value:
        """The same packet pointer, of which the verifier knows only that it is in reach of the packet's start: a difference
        of packet pointers is an unknown number to it."""
        b = self.b
        distance = b.sub(b.ptrtoint(self.hide(pointer), I64), b.ptrtoint(self.pkt, I64))
        bounded = b.and_(distance, ir.Constant(I64, OFFSET_MASK))
        return self.hide(self.at(self.pkt, self.hide(bounded)))

    def forget_number(self, v: ir.Value) -> ir.Value:
        """The same number, unknown to the verifier because it comes from memory."""
        self._store(self.ctx, SCRATCH, 4, v)
        return self.recall(SCRATCH)

    def distance(self, start: ir.Value, end: ir.Value) -> ir.Value:
        """The kernel subtracts pointers in 64 bits only, which LLVM must not narrow."""
        b = self.b
        return b.trunc(self.hide(b.sub(b.ptrtoint(end, I64), b.ptrtoint(start, I64))), I32)

    def recall(self, place: int, octets: int = 4) -> ir.Value:
        """The number at this place of the block; read anew each time."""
        self.reread()
        return self._load(self.ctx, place, octets)

    def reread(self) -> None:
        """What was read from memory is read anew from here on."""
        self.b.asm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", [], side_effect=True)

    # ---- packet access

    def inside(self, pointer: ir.Value) -> ir.Value:
        return self.b.icmp_unsigned("<=", pointer, self.end)

    def load_packet(self, base: ir.Value, offset: int, width: int, little: bool) -> Val:
        """Tested right before. Beyond the end it yields 0: what is absent may lie there, and its value is not used."""
        b = self.b
        start = b.block
        ok, done = b.append_basic_block("load"), b.append_basic_block("loaded")
        self.likely(b.cbranch(self.inside(self.at(base, offset + width // 8)), ok, done))
        b.position_at_end(ok)
        v = self.load(base, offset, width, little)
        last = b.block
        b.branch(done)
        b.position_at_end(done)
        return self.join([(v, last), (self.constant(width, 0), start)])

    def prove_writable(self, base: ir.Value, offset: int) -> ir.Value:
        self.reject_unless(self.inside(self.at(base, offset)), "RecordMismatch")
        return base

    def packet_at(self, offset: ir.Value) -> ir.Value:
        bounded = self.b.and_(self.b.zext(offset, I64), ir.Constant(I64, OFFSET_MASK))
        return self.hide(self.at(self.pkt, self.hide(bounded)))

    def payload_at(self, start: ir.Value, index: ir.Value) -> ir.Value:
        bounded = self.b.and_(self.hide(self.b.zext(index, I64)), ir.Constant(I64, OFFSET_MASK))
        return self.forget(self.at(start, self.hide(bounded)))

    def joined(self) -> None:
        self.b.store(self.forget(self.cursor()), self.cursor_slot)
        if self.meeting:
            self.meeting = False
            self.forget_headers()

    def rejoined(self) -> None:
        """Tested anew at the next write."""
        self.b.store(self.forget_number(self.written()), self.at_slot)
        self.at_most = OUT_SIZE

    def found_first(self, place) -> None:
        """One path, not one for each turn of the search."""
        v = place.get()
        place.set(self.resize(Val(32, (self.forget_number(v.limbs[0]),)), v.width))

    def module_ended(self) -> None:
        """What the packet was found to be is not known any more: no read rests on it, each is tested."""
        b = self.b
        b.store(self.forget(b.load(self.payload_slot, typ=PKT)), self.payload_slot)
        b.store(self.forget_number(b.load(self.verdict_slot, typ=I32)), self.verdict_slot)
        self.forget_headers()

    def forget_headers(self) -> None:
        b = self.b
        for layout in self.record.instances:
            inst = self.instance(layout.field, layout.index)
            for slot in inst.base_slots:
                b.store(self.forget(b.load(slot, typ=PKT)), slot)
            for pointer, octets in inst.varbit_slots.values():
                b.store(self.forget(b.load(pointer, typ=PKT)), pointer)
                b.store(self.forget_number(b.load(octets, typ=I32)), octets)

    def emit_state(self, state: ast.State, *rest) -> None:
        """A state that can be reached in several ways begins as if nothing were known of them."""
        ways = sum(c.state is state for s in self.parser_decl.states if s.transition is not None
                   for c in s.transition.cases)
        self.meeting = ways > 1
        super().emit_state(state, *rest)

    def call_function(self, f: ast.Function, args: list):
        """A function's ways to its result are one path behind it."""
        result = super().call_function(f, args)
        if isinstance(result, Val) and len(result.limbs) == 1 and result.const is None:
            return self.resize(Val(32, (self.forget_number(result.limbs[0]),)), result.width)
        self.forget_place(result)
        return result

    def forget_place(self, place) -> None:
        """Numbers of up to 32 bits and truth values in variables."""
        if isinstance(place, StructPlace):
            for field in place.fields.values():
                self.forget_place(field)
        elif isinstance(place, Scalar) and place.is_bool:
            flag = self.forget_number(self.b.zext(place.get(), I32))
            place.set(self.b.icmp_unsigned("!=", flag, i32(0)))
        elif isinstance(place, Scalar) and len(place.slots) == 1:
            place.set(self.resize(Val(32, (self.forget_number(place.get().limbs[0]),)), place.width))

    def compress(self, codec: ast.Codec, inst, args: list[ast.Expr]) -> None:
        for a in args:
            if isinstance(a, ast.Name):
                self.forget_place(self.env.get(a.decl))
        super().compress(codec, inst, args)

    def row_holds(self, inst, row: ast.Row, otherwise: ir.Block | None = None) -> None:
        """What one row asked of a field is not remembered for the next."""
        self.reread()
        super().row_holds(inst, row, otherwise)

    # ---- parsers: every read is proven, nothing is read ahead

    def need(self, octets: int) -> None:
        if octets:
            self.short_unless(self.at(self.cursor(), octets))

    def advance_static(self, octets: int) -> None:
        if octets:
            self.b.store(self.at(self.cursor(), octets), self.cursor_slot)

    def advance_by(self, octets: ir.Value) -> None:
        """A number of octets that no packet can hold is too many whatever the cursor is."""
        b = self.b
        octets = self.hide(b.zext(octets, I64))
        self.reject_unless(b.icmp_unsigned("<=", octets, ir.Constant(I64, MAX_PACKET)), "PacketTooShort")
        b.store(self.hide(self.at(self.cursor(), octets)), self.cursor_slot)
        self.short_unless(self.cursor())
        b.store(self.forget(self.cursor()), self.cursor_slot)
        self.short_unless(self.cursor())

    def take(self, width: int) -> Val:
        self.need(width // 8)
        v = self.load(self.cursor(), 0, width, False)
        self.advance_static(width // 8)
        return v

    def peek(self, width: int, little: bool = False) -> Val:
        self.need(width // 8)
        return self.load(self.cursor(), 0, width, little)

    def extract_unit(self, inst, u: Unit) -> None:
        """One unit that is not a varbit: read into the image if there is one, and passed."""
        b = self.b
        if u.choice is not None:
            tag = inst.tag(u.choice)
            done = b.append_basic_block("chosen")
            switch = b.switch(tag.limbs[0], done)
            for arm in u.choice.arms:
                block = b.append_basic_block(f"arm.{arm.name}")
                switch.add_case(i32(arm.number), block)
                b.position_at_end(block)
                self.pass_octets(inst, u, field_width(arm), arm.little)
                b.branch(done)
            b.position_at_end(done)
        elif u.when is not None:
            if not inst.inst.in_packet and self.may_appear(inst, u):
                inst.put(u, self.absent(inst, u))
            there, done = b.append_basic_block("there"), b.append_basic_block("done")
            with self.this_is(inst):
                self.branch(u.when, there, done)
            b.position_at_end(there)
            self.pass_octets(inst, u, u.bits, u.little)
            b.branch(done)
            b.position_at_end(done)
        else:
            self.pass_octets(inst, u, u.bits, u.little)

    def pass_octets(self, inst, u: Unit, width: int, little: bool) -> None:
        self.need(width // 8)
        if not inst.inst.in_packet:
            inst.put(u, self.load(self.cursor(), 0, width, little), little)
        self.advance_static(width // 8)

    def need_row(self, octets: int) -> None:
        """Each piece is proven when it is taken."""

    def row_take(self, width: int) -> Val:
        stop = (self.row_bit + width + 7) // 8
        self.short_unless(self.at(self.row_base, stop))
        first, last = self.row_bit, self.row_bit + width
        whole = self.load(self.row_base, first // 8, 8 * (stop - first // 8), False)
        self.row_bit = last
        low = 8 * stop - last
        return self.slice(whole, low + width - 1, low)
