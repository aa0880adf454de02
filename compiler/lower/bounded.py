"""Lowering for the Linux kernel (target `xdp`): no window behind the packet, memory in one block, a verifier that counts paths.

The kernel's verifier knows of a packet pointer what a comparison with data_end said of that very pointer plus constants, and
follows every path on its own until it meets a state it has seen; what it reads from memory it knows nothing of. So each read of the packet is
tested right before it, LLVM is kept from rewriting a tested pointer into another one (`hide`), offsets are forgotten where paths join
(`forget`), and headers are copied into memory: paths that differ only in where things lie, or in what is there, are one path then.
"""
from __future__ import annotations

from itertools import takewhile

import llvmlite.ir as ir

from lpn.compiler.bits import I1, I8, I32, I64, PKT, PTR, Val, i32
from lpn.compiler.layout import InstanceLayout, Unit, field_width
from lpn.compiler.target import CTX_CUT, CTX_OUT, CTX_PKT, CTX_PKT_END, CTX_REC, CTX_STATE, MAX_PACKET, OUT_SIZE
from lpn.compiler.xdp import (ACTIONS, BLOCK, ETH_P_IEEE802154, ETHERNET_HEADER, ETHERTYPE_AT, MD_DATA, MD_DATA_END, SCRATCH, VERDICT, XDP_DROP, XDP_PASS,
                              Memory)
from lpn.lang import ast
from lpn.lang import tables as control
from lpn.lang.derive import representation
from lpn.lang.effects import effects

from .base import Lowering
from .bounded_loops import BoundedLoops
from .bounded_tables import Rows, TableSearch
from .instance import Instance
from .parsed import found_before
from .places import Scalar, StructPlace
from .processor import tables

OFFSET_MASK = 2 * MAX_PACKET - 1                # more than any offset: the test against the end does the rest


class BoundedInstance(Instance):
    """Whether it is valid is read from memory each time: were it in a register, the verifier would follow each of the
    2^n cases of n headers on its own as soon as it is asked for twice."""

    def valid(self) -> ir.Value:
        low = self.lower
        if low.parser_decl is not None and low.lowered is not None and self.inst.field not in low.found[low.lowered]:
            return ir.Constant(I1, 0)           # it is behind all that can have been found
        return low.b.icmp_unsigned("!=", low.recall(low.memory.record + self.inst.valid, 1), i32(0))

    def set_valid(self, value: bool | ir.Value) -> None:
        low = self.lower
        flag = i32(int(value)) if isinstance(value, bool) else low.b.zext(value, I32)
        low._store(low.ctx, low.memory.record + self.inst.valid, 1, flag)

    def set_base(self, run: int, pointer: ir.Value) -> None:
        low = self.lower
        low._store(low.ctx, low.memory.record + self.inst.bases[run], 2, low.distance(low.pkt, pointer))

    def write_unit(self, u: Unit, v: Val) -> None:
        super().write_unit(u, v)
        if self.inst.through:
            low = self.lower
            base = low.packet_at(low.recall(low.memory.record + self.inst.bases[u.run], 2))
            low.store(low.prove_writable(base, u.offset + u.octets), u.offset, v, u.little)


def copied(program: ast.Program) -> dict[ast.StructField, str]:
    """For each field of the headers struct "image", or "through": what is assigned to it goes into the packet, too. The verifier follows
    what it knows of each pointer into the packet along every path; of what lies in memory it knows nothing."""
    assigned = {e.instance for e in effects(program) if e.kind == "assign"}
    return {f: "through" if how == "packet" and f in assigned else "image" for f, how in representation(program).items()}


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
    sums_in_loops = divides = False

    def __init__(self, program, record, state_layout, derived, target, fn, record_in_memory, debug=None, operations=None):
        self.memory = memory_of(program, record.size, state_layout.size)
        super().__init__(program, record, state_layout, derived, target, fn, record_in_memory, debug, operations)
        self.md = self.ctx
        self.images_in_memory = True
        self.found: dict[ast.State, set[ast.StructField | None]] = {}
        self.octets_ahead = 0                   # that are surely there and not yet proven
        block = self.block = ir.GlobalVariable(fn.module, ir.ArrayType(I8, 0), BLOCK)
        block.section, block.align = ".data", 8
        block.type = PTR
        self.block_size = self.memory.size
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
        if any(e.kind == "truncate" for e in effects(self.program)):
            self._store(self.ctx, CTX_CUT, 4, i32(0))           # or what was cut off the packet before would be off this one
        self.block.value_type = ir.ArrayType(I8, self.block_size)
        self.block.initializer = ir.Constant(self.block.value_type, bytearray(initial(self.program, self.memory).ljust(self.block_size, b"\0")))
        super().finish()

    def image_in_memory(self, inst: InstanceLayout, local: bool) -> ir.Value | None:
        """A parser's own header lies in the block, too, behind all else."""
        if not local:
            return super().image_in_memory(inst, local)
        place, self.block_size = self.block_size, self.block_size + (inst.layout.image_size + 7 & ~7)
        return self.at_entry(lambda: self.at(self.ctx, place))

    def stays_in_packet(self, s: ast.VarDecl) -> bool:
        """No header does."""
        return False

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
        return self.b.asm(ir.FunctionType(v.type, [v.type]), "", "=r,0", [v], side_effect=False)

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

    def parser(self, p: ast.Parser, accept) -> None:
        self.found = found_before(p)
        super().parser(p, accept)

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

    def extract_units(self, inst: Instance, units: list[Unit], oversize: dict) -> None:
        """One test for all units in a row that are surely there."""
        while units:
            first = units[0]
            if inst.inst.through and (first is inst.layout.units[0] or first.offset == 0):
                inst.set_base(first.run, self.cursor())
            several = list(takewhile(lambda u: not u.variable and u.run == first.run, units))
            self.octets_ahead = sum(u.octets for u in several)
            super().extract_units(inst, several or [first], oversize)
            units = units[len(several) or 1:]

    def extract_unit(self, inst: Instance, u: Unit) -> None:
        """One unit that is not a varbit: read into the image, and passed."""
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
            if self.may_appear(inst, u):
                inst.put(u, self.absent(inst, u))
            there, done = b.append_basic_block("there"), b.append_basic_block("done")
            with self.this_is(inst):
                self.branch(u.when, there, done)
            b.position_at_end(there)
            self.pass_octets(inst, u, u.bits, u.little)
            b.branch(done)
            b.position_at_end(done)
        else:
            self.need(self.octets_ahead)
            self.octets_ahead = 0
            self.read_octets(inst, u, u.bits, u.little)

    def pass_octets(self, inst: Instance, u: Unit, width: int, little: bool) -> None:
        self.need(width // 8)
        self.read_octets(inst, u, width, little)

    def read_octets(self, inst: Instance, u: Unit, width: int, little: bool) -> None:
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
