"""Processors: actions, tables and the verdict."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I8, I32, I64, Val, i32
from lpn.compiler.externs import helper_number, result_width
from lpn.compiler.helpers import BY_NAME, BY_NUMBER, FIRST_OWN, OWN_ARGS, Arg, which
from lpn.compiler.state import scalar_width
from lpn.compiler.target import CTX_CUT, META_SLOTS, VERDICTS
from lpn.lang import ast
from lpn.lang import tables as control
from lpn.lang.instances import walk
from lpn.lang.types import Bits as BitsType, Bool, ErrorType, Meta

from .const_entries import compared
from .instance import Instance
from .places import ContextSlot, Place, Scalar, StructPlace
from .straight import field_of_data

DEFAULT_TABLE_SIZE = 64         #: entries of a table that does not say

MEMORY = {Arg.MEM_READ: "readonly", Arg.MEM_WRITE: "writeonly"}
META_TYPES = {"verdict": BitsType(8), "reason": ErrorType(), "port": BitsType(16)}


class Processors:
    """Mixed into `Lowering`."""

    def meta_place(self, type_: Meta) -> StructPlace:
        fields: dict[str, Place] = {}
        for name, t in META_TYPES.items():
            fields[name] = Scalar(self, t, name)
        for name, (offset, width) in META_SLOTS.items():
            fields[name] = ContextSlot(self, BitsType(width), offset)
        return StructPlace(type_, fields)

    def processor(self, p: ast.Processor, done) -> None:
        """Lowers the body, then calls `done(verdict, reason, port)` with i32 values."""
        self.bind_packet_params(p.params)
        meta = next((self.env[x] for x in p.params if isinstance(x.type, Meta)), None)
        for local in p.locals:
            if isinstance(local, (ast.VarDecl, ast.ConstDecl)):
                self.statement(local)
        if meta is not None:
            for name in META_TYPES:
                meta.fields[name].clear()
        if self.cut_slot is None and any(isinstance(x, ast.Call) and x.target == "truncate" for x in walk([p.locals, p.apply])):
            self.cut_slot = self.alloca(I32, "cut")
        end = self.b.append_basic_block(f"{p.name}.end")
        self.returns.append((None, end))
        self.statement(p.apply)
        if not self.b.block.is_terminated:
            self.b.branch(end)
        self.returns.pop()
        self.b.position_at_end(end)
        if meta is None:
            done(i32(VERDICTS["ACCEPT"]), i32(0), i32(0))
            return
        reason = meta.fields["reason"].get().limbs[0]
        default = i32(self.reason(f"{p.name}.drop"))
        reason = self.b.select(self.b.icmp_unsigned("==", reason, i32(0)), default, reason)
        done(meta.fields["verdict"].get().limbs[0], reason, meta.fields["port"].get().limbs[0])

    def return_verdict(self, verdict: ir.Value, reason: ir.Value, port: ir.Value) -> None:
        """verdict | argument << 16: the reason of a DROP, the port of a DELIVER."""
        b = self.b
        drop, deliver = (b.icmp_unsigned("==", verdict, i32(VERDICTS[n])) for n in ("DROP", "DELIVER"))
        argument = b.select(drop, reason, b.select(deliver, port, i32(0)))
        self.leave(b.or_(b.shl(argument, i32(16)), verdict))

    def _call_push_front(self, e: ast.Call) -> None:
        self.move_stack(e, int(e.args[0].const))

    def _call_pop_front(self, e: ast.Call) -> None:
        self.move_stack(e, -int(e.args[0].const))

    def move_stack(self, e: ast.Call, by: int) -> None:
        """Every element goes `by` places up; those that nothing comes to become invalid."""
        field = self.place(e.callee.base)
        if field in self.runs:
            self.pop_run(field, -by)
            return
        stack = self.elements(field)
        order = range(len(stack)) if by < 0 else reversed(range(len(stack)))
        for i in order if by else ():
            if 0 <= i - by < len(stack):
                stack[i].become(stack[i - by], stack[i].layout.units)
            else:
                stack[i].set_valid(False)

    def _call_truncate(self, e: ast.Call) -> None:
        """What the payload has more than the given number of octets is cut off; in a fused chain this function goes on with
        what is left, else the engine lets the next module see it."""
        b, octets = self.b, self.payload_octets()
        keep = self.resize(self.bits_of(e.args[0]), 32).limbs[0]
        more = self.pick(b.icmp_unsigned("<", keep, octets), b.sub(octets, keep), i32(0))
        total = b.add(b.load(self.cut_slot, typ=I32), more)
        b.store(total, self.cut_slot)
        self._store(self.ctx, CTX_CUT, 4, total)

    # ---------------------------------------------------------------- tables

    def _expr_Call(self, e: ast.Call):
        if isinstance(e.target, ast.Table):
            return self.apply_table(e.target)[0]
        if isinstance(e.target, ast.Extern):
            return self.call_extern(e)
        if isinstance(e.target, ast.Action):
            self.call_body(e.target.params, e.args, e.target.body, None)
            return None
        return super()._expr_Call(e)

    def builtin_member(self, e: ast.Member):
        """`t.apply().hit` and `.miss`."""
        if isinstance(e.base, ast.Call) and isinstance(e.base.target, ast.Table) and e.name in ("hit", "miss"):
            hit = self.apply_table(e.base.target)[0]
            return hit if e.name == "hit" else self.lnot(hit)
        return super().builtin_member(e)

    def _stmt_Switch(self, s: ast.Switch) -> None:
        """`switch (t.apply().action_run)`: over the number of the action that ran."""
        if not isinstance(s.value, ast.Member) or s.value.decl != "action_run":
            super()._stmt_Switch(s)
            return
        actions = [ref.action for ref in s.value.base.target.actions]
        ran = self.apply_table(s.value.base.target)[1]
        self.switch(s, Val(32, (ran,)), lambda label: self.constant(32, 1 + actions.index(label.decl)))

    def apply_table(self, t: ast.Table) -> tuple[ir.Value, ir.Value]:
        """Looks the key up, runs the action. Whether an entry was hit (i1), and which of the table's actions ran: its number
        from 1, 0 where it is none of them (i32)."""
        b = self.b
        done, hit = b.append_basic_block(f"{t.name}.done"), Scalar(self, self.bool_type, f"{t.name}.hit")
        ran = self.alloca(I32, f"{t.name}.ran")
        default = b.append_basic_block(f"{t.name}.default")
        if t.keys:
            self.look_up(t, hit, ran, default, done)
        else:
            b.branch(default)
        b.position_at_end(default)
        hit.set(self.bool_const(False))
        ref, listed = t.default_action, [one.action for one in t.actions]
        b.store(i32(1 + listed.index(ref.action) if ref is not None and ref.action in listed else 0), ran)      # in a loop another one ran before
        if ref is not None:
            self.call_body(ref.action.params, ref.bound + ref.args, ref.action.body, None)
        b.branch(done)
        b.position_at_end(done)
        return hit.get(), b.load(ran, typ=I32)

    def look_up(self, t: ast.Table, hit: Scalar, ran: ir.Value, default: ir.Block, done: ir.Block) -> None:
        """Runs the action of the entry that fits, or goes to `default`."""
        b = self.b
        if compared(t):
            for number, (block, given) in self.compare_entries(t, default).items():
                b.position_at_end(block)
                self.run_action(t, number, given, hit, ran)
                b.branch(done)
            return
        number, data = self.found_entry(t)
        switch = b.switch(number, default)
        for i, ref in enumerate(t.actions, 1):
            block = b.append_basic_block(f"{t.name}.{ref.name}")
            switch.add_case(i32(i), block)
            b.position_at_end(block)
            self.run_action(t, i, self.data_given(ref, data), hit, ran)
            b.branch(done)

    def found_entry(self, t: ast.Table) -> tuple[ir.Value, ir.Value]:
        """(the entry's action, 0 for a miss; where its data is), for the key of now."""
        place = self.key_in_packet(t)
        return self.entry_at(t, *place) if place is not None else self.entry_of(t, [self.key_bits(k) for k in t.keys])

    def key_in_packet(self, t: ast.Table) -> tuple[ir.Value, int] | None:
        """(where it is, octets), if the key is one field that lies in the packet as the table has it."""
        return self.octets_in_packet(t.keys[0].expr) if len(t.keys) == 1 and not control.turns_sign(t.keys[0]) else None

    def key_bits(self, key: ast.TableKey) -> Val:
        v = self.bits_of(key.expr)
        return self.xor(v, self.constant(v.width, 1 << v.width - 1)) if control.turns_sign(key) else v

    def octets_in_packet(self, e: ast.Expr) -> tuple[ir.Value, int] | None:
        """(where it is, octets), if it is a field that lies in the packet in whole octets, big-endian."""
        if not (isinstance(e, ast.Member) and isinstance(e.decl, ast.Field)):
            return None
        inst = self.place(e.base)
        if not isinstance(inst, Instance) or not self.surely_there(inst.inst) or (inst.inst.field, e.decl) in self.derived:
            return None
        u, shift, width = inst.layout.unit_of[e.decl], inst.layout.shift_of[e.decl], self.width_of(e.decl.type)
        if u.little or shift % 8 or width % 8 or (inst, e.decl) in self.lazy:
            return None
        base, offset = inst.pointer(u)
        return self.at(base, offset + (u.bits - shift - width) // 8), width // 8

    def entry_of(self, t: ast.Table, keys: list[Val]) -> tuple[ir.Value, ir.Value]:
        """(the entry's action, 0 for a miss; where its data is)."""
        key, at = self.lookup_memory()[0], 0
        for v in keys:
            octets = (v.width + 7) // 8
            self.store(key, at, self.resize(v, 8 * octets))
            at += octets
        return self.entry_at(t, key, at)

    def entry_at(self, t: ast.Table, key: ir.Value, octets: int) -> tuple[ir.Value, ir.Value]:
        """The same, for a key of so many octets in memory."""
        data = self.data_place(t) or self.lookup_memory()[1]
        return self.call_helper("lookup", [i32(which(self.table_index(t), octets, data_room(t))), key, data]), data

    def data_place(self, t: ast.Table) -> ir.Value | None:
        """Where in the packet an entry's data may be written at once."""
        field = field_of_data(t, self.ends_with, self.program) if self.ends_with is not None else None
        place = self.octets_in_packet(field) if field is not None else None
        return place[0] if place is not None and place[1] == data_octets(t) else None

    def lookup_memory(self) -> tuple[ir.Value, ir.Value]:
        """Where keys are written and action data read: the same for all tables, or LLVM would make one load of two that follow
        different calls, from one of two places."""
        if self.lookup_places is None:
            all_tables = tables(self.program)
            sizes = max(key_octets(t) for t in all_tables), max(8, *(data_octets(t) for t in all_tables))
            self.lookup_places = tuple(self.alloca(ir.ArrayType(I8, (size + 7) & ~7), f"lookup.{name}", align=8)
                                       for size, name in zip(sizes, ("key", "data")))
        return self.lookup_places

    def in_set(self, v: Val, values: ast.ValueSet) -> ir.Value:
        """Whether a value set holds the value."""
        return self.b.icmp_unsigned("!=", self.entry_of(values.table, [v])[0], i32(0))

    def data_given(self, ref: ast.ActionRef, data: ir.Value) -> list:
        """The values of an action's parameters that an entry gives, whose data is there."""
        values: list = []
        at = 0
        for p in ref.action.params[len(ref.args):]:
            width = self.width_of(p.type)
            octets = (width + 7) // 8
            v = self.resize(self.load(data, at, 8 * octets), width)
            values.append(v if not isinstance(p.type, Bool) else self.truth(v))
            at += octets
        return values

    def run_action(self, t: ast.Table, number: int, given: list, hit: Scalar, ran: ir.Value) -> None:
        ref = t.actions[number - 1]
        hit.set(self.bool_const(True))
        self.b.store(i32(number), ran)
        self.call_body(ref.action.params, [*ref.args, *given], ref.action.body, None)

    def table_index(self, t: ast.Table) -> int:
        return tables(self.program).index(t.shared or t)

    def call_extern(self, e: ast.Call):
        """A helper that the program declares. Of what it returns, the bits of the type count; for a bool, whether there are any."""
        number, args = helper_number(self.program, e.target), [self.bits_of(arg).limbs[0] for arg in e.args]
        if number >= FIRST_OWN:                 # whoever checks the certificate does not know how many it takes
            args += [i32(0)] * (OWN_ARGS - len(args))
        result = self.call_number(number, args)
        width = result_width(e.target)
        if not width:
            return None
        if isinstance(e.target.return_type.type, Bool):
            return self.truth(Val(32, (result,)))
        return self.resize(Val(32, (result,)), width)

    def call_helper(self, name: str, args: list[ir.Value]) -> ir.Value:
        """Calls helper `name` of the helper table; the result is 32 bits.

        LLVM would make one of two calls that end two branches, and a phi of their constants, which the verifier must know:
        behind each call stands something of its own, which is no instruction."""
        result = self.call_number(BY_NAME[name].number, args)
        if Arg.CONST in BY_NAME[name].args:
            self.mark(keeps=True)
        return result

    def mark(self, keeps: bool = False, once: bool = False) -> None:
        """Something of its own, which is no instruction: LLVM makes one of two places only if they are the same. `keeps`: what
        was read from memory before it stays known; `once`: LLVM makes no copy of it, so that no way to it goes on behind it."""
        self.marks += 1
        place = self.b.asm(ir.FunctionType(ir.VoidType(), [I32]), "", "i", [i32(self.marks)], side_effect=True)
        if keeps and not self.forgetful:
            set.add(place.attributes, "readnone")
        if once:
            set.add(place.attributes, "noduplicate")

    def call_number(self, number: int, args: list[ir.Value]) -> ir.Value:
        types = [a.type if isinstance(a.type, ir.PointerType) else I64 for a in args]
        signature = ir.FunctionType(I64, types)
        fn = ir.Constant(I64, number).inttoptr(signature.as_pointer())
        fn.function_type = signature            # llvmlite asks for it where pointers are opaque
        wide = [a if isinstance(a.type, ir.PointerType) else self.b.zext(a, I64) for a in args]
        call = self.b.call(fn, wide)
        if any(isinstance(a.type, ir.PointerType) for a in args):
            set.add(call.attributes, "nomerge")     # of two calls made one, no verifier knows which memory the pointer means
        row = BY_NUMBER.get(number)
        if row is not None and row.apart:
            set.add(call.attributes, "memory(argmem: readwrite, inaccessiblemem: readwrite)")
            for i, kind in enumerate(row.args):
                if kind in MEMORY:
                    call.arg_attributes[i] = ir.values.ArgumentAttributes()
                    set.add(call.arg_attributes[i], MEMORY[kind])
        return self.b.trunc(call, I32)


def tables(program: ast.Program) -> list[ast.Table]:
    """The tables that the engine looks keys up in, in order of their index, a parser's value sets among them. One without a key always runs its
    default action, and one whose entries the container compares itself is not the engine's."""
    out = []
    for decl in program.decls:
        for x in decl.locals if isinstance(decl, (ast.Parser, ast.Processor)) else []:
            table = x.table if isinstance(x, ast.ValueSet) else x
            if isinstance(table, ast.Table) and table.keys and table.shared is None and not compared(table):
                out.append(table)
    return out


def table_size(t: ast.Table) -> int:
    """How many entries it holds. Constant ones need no room for others."""
    if t.size is not None:
        return int(t.size.const or 0)
    return max(len(t.entries), 1 if t.const_entries else DEFAULT_TABLE_SIZE)


def entry_data(t: ast.Table, e: control.Entry) -> bytes:
    """An entry's action data: each argument in whole octets, big-endian."""
    ref = t.actions[e.action - 1]
    return b"".join((int(a) & (1 << scalar_width(p.type)) - 1).to_bytes((scalar_width(p.type) + 7) // 8, "big")
                    for p, a in zip(ref.action.params[len(ref.args):], e.args))


def key_octets(t: ast.Table) -> int:
    return sum((scalar_width(k.expr.type) + 7) // 8 for k in t.keys)


def data_room(t: ast.Table) -> int:
    """Octets of an entry's data, at least one."""
    return max(data_octets(t), 1)


def data_octets(t: ast.Table) -> int:
    """Octets of action data: the largest action's parameters that the control plane gives, each in whole octets."""
    return max((sum((scalar_width(p.type) + 7) // 8 for p in a.action.params[len(a.args):]) for a in t.actions), default=0)
