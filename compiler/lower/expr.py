"""Expressions: one method a node of `lang/ast/`. Bits become `Val`, bool an i1, structs and headers a `Place`."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import llvmlite.ir as ir

from lpn.compiler.bits import I32, Val, i32, is_const
from lpn.compiler.cells import CELL
from lpn.compiler.layout import InstanceLayout
from lpn.compiler.quotients import Quotients
from lpn.compiler.state import ERROR_WIDTH, StateObject, scalar_width
from lpn.compiler.target import MAX_PACKET, NODE_SLOTS, VERDICTS
from lpn.lang import ast, meters
from lpn.lang.types import Array, Bits as BitsType, Bool, HeaderType, Stack, StructType, Varbit

from .changing import may_change
from .instance import Instance
from .places import ContextSlot, Place, Scalar, StateCell, StructPlace, Value, as_it_is, member


class Expressions(Quotients):
    """Mixed into `Lowering`; uses its environment, instances and builder."""

    # ---- entry points

    def bits_of(self, e: ast.Expr) -> Val:
        v = self.value(e)
        return v if isinstance(v, Val) else self.bool_to_bits(v)

    def condition(self, e: ast.Expr) -> ir.Value:
        v = self.value(e)
        return self.truth(v) if isinstance(v, Val) else v

    def truth(self, v: Val) -> ir.Value:
        if v.const is not None:
            return self.bool_const(bool(v.const))
        return self.b.icmp_unsigned("!=", v.limbs[0], i32(0))

    def value(self, e: ast.Expr):
        """The value of an expression: Val, i1 or an aggregate's Place."""
        if e.const is not None and not isinstance(e, (ast.InlinePiece, ast.Following)):
            return self.of_type(e.type, int(e.const))
        v = getattr(self, "_expr_" + type(e).__name__)(e)
        return v.get() if isinstance(v, (Scalar, StateCell, Value, ContextSlot)) else v

    def place(self, e: ast.Expr) -> Place:
        """What an assignable expression or aggregate stands for."""
        return getattr(self, "_expr_" + type(e).__name__)(e)

    def of_type(self, t, number: int):
        if isinstance(t, Bool):
            return self.bool_const(bool(number))
        return self.constant(self.width_of(t), number)

    def width_of(self, t) -> int:
        return scalar_width(t)

    # ---- names

    def _expr_Int(self, e: ast.Int):
        return self.of_type(e.type, e.value)

    def _expr_BoolLit(self, e: ast.BoolLit):
        return self.bool_const(e.value)

    def _expr_Name(self, e: ast.Name):
        decl = e.decl
        if decl in self.env:
            return self.env[decl]
        if isinstance(decl, ast.Param) and self.this is not None and decl in self.this.header.params:
            arg = self.this.inst.field.args[self.this.header.params.index(decl)]
            return self.instance(arg, None)
        if isinstance(decl, ast.Field):
            return self.instead[decl] if decl in self.instead else self.field_value(self.this, decl)
        if isinstance(decl, (ast.Register, ast.Counter)):
            return self.state_object(decl)
        if isinstance(decl, ast.StructField):
            return self.instance(decl, None)
        if isinstance(decl, str) and decl in VERDICTS:
            return self.constant(8, VERDICTS[decl])
        raise self.unsupported(e, f"'{e.name}' here")

    def field_value(self, inst: Instance, f: ast.Field):
        if inst in self.expanding:              # a codec's fields still in variables
            held = self.expanding[inst].get(f)
            if held is not None and (inst.open or (inst.inst.field, f) not in self.derived):
                return held
        return inst.read(f)

    def _expr_Member(self, e: ast.Member):
        decl = e.decl
        if isinstance(decl, ast.StructField):
            if isinstance(decl.type, (HeaderType, Stack)):
                return self.instance(decl, None) if isinstance(decl.type, HeaderType) else decl
            return member(self.place(e.base), e.name)
        if isinstance(decl, ast.Field):
            return self.if_seen(e.base, lambda inst: self.field_value(inst, decl))
        if isinstance(decl, ast.ChoiceArm):
            return self.if_seen(e.base.base, lambda inst: inst.read_arm(decl)) if isinstance(e.base, ast.Member) else self.this.read_arm(decl)
        if isinstance(decl, ast.EnumMember):
            return self.constant(self.width_of(e.type), decl.number)
        if isinstance(decl, ast.ErrorMember):
            return self.constant(ERROR_WIDTH, decl.number)
        if isinstance(decl, ast.Register):      # old.x
            return self.state_object(decl)
        if decl in ("next", "last"):
            return self.stack_element(e)
        if decl == "lastIndex":
            return self.constant(32, max(self.stack_next.get(e.base.decl, 0) - 1, 0))
        if isinstance(decl, str):
            return self.builtin_member(e)
        raise self.unsupported(e, f"'.{e.name}' here")

    def if_seen(self, base: ast.Expr, read: Callable[[Instance], object]):
        """What is read of a header. One that another looks at may be invalid: then that is 0. It is a branch, as LLVM would count octets by what is
        chosen in ways that the verifier cannot follow."""
        inst, b = self.place(base), self.b
        if not self.may_be_unseen(base, inst):
            return read(inst)
        seen, unseen, done = (b.append_basic_block(name) for name in ("seen", "unseen", "read"))
        b.cbranch(inst.valid(), seen, unseen)
        b.position_at_end(seen)
        value = read(inst)
        value = value.get() if isinstance(value, Place) else value
        ends = [(value, b.block), (self.constant(value.width, 0) if isinstance(value, Val) else self.bool_const(False), unseen)]
        b.branch(done)
        b.position_at_end(unseen)
        b.branch(done)
        b.position_at_end(done)
        return self.join(ends)

    def may_be_unseen(self, base: ast.Expr, inst: Instance) -> bool:
        return isinstance(base, ast.Name) and not inst.local and inst.inst.field in self.program.unseen

    def builtin_member(self, e: ast.Member):
        base = e.base.decl if isinstance(e.base, ast.Name) else None
        if base == "node" and e.name in NODE_SLOTS:
            return ContextSlot(self, e.type, NODE_SLOTS[e.name][0])
        if base in self.env and isinstance(self.env[base], StructPlace):      # meta
            return self.env[base].fields[e.name]
        raise self.unsupported(e, f"'{e.name}' here")

    def _expr_Index(self, e: ast.Index):
        if isinstance(e.base, ast.Name) and e.base.decl == "payload":
            return self.payload_octet(self.bits_of(e.index))
        if isinstance(e.base.type, Stack):
            return self.instance(self.place(e.base), e.index.const)
        if isinstance(e.base.type, Varbit):
            return self.if_seen(e.base.base, lambda inst: self.varbit_octet(inst, e.base.decl, self.bits_of(e.index)))
        cells = self.state_object(e.base.decl)
        return self.array_cell(e.base.decl, e.index) if isinstance(e.base.type, Array) else cells

    def payload_octet(self, index: Val) -> Val:
        """`payload[i]`, 0 behind its end."""
        start = self.payload_pointer()
        return self.octet_at(start, index, MAX_PACKET, self.payload_octets() if self.cut_slot is not None else None)

    def varbit_octet(self, inst: Instance, field: ast.Field, index: Val) -> Val:
        """`h.x.f[i]`, 0 behind its end and where it is absent."""
        u = inst.layout.unit_of[field]
        start, octets = inst.varbit(u)
        return self.octet_at(start, index, min(u.max_octets, MAX_PACKET), inst.if_present(u, lambda: octets, lambda: i32(0)))

    def octet_at(self, start: ir.Value, index: Val, most: int, octets: ir.Value | None) -> Val:
        """An octet of the packet from a place on: of `octets`, else of all that there are, never more than `most`. The index is compared as it is used, see
        `array_cell`; then the place with the end: only that says that it can be read."""
        b, i = self.b, self.opaque(index.limbs[0]) if index.const is None else index.limbs[0]
        conds = []
        if index.const is None or index.const >= most:
            conds += [self.eq(self.slice(index, index.width - 1, 32), self.constant(index.width - 32, 0))] if index.width > 32 else []
            conds.append(b.icmp_unsigned("<", i, i32(most)))
        if octets is not None:
            conds.append(b.icmp_unsigned("<", i, octets))
        done, ends = b.append_basic_block("octet.done"), []
        zero = self.constant(8, 0)

        def more(cond: ir.Value) -> None:
            ends.append((zero, b.block))
            ok = b.append_basic_block("octet")
            b.cbranch(cond, ok, done)
            b.position_at_end(ok)

        for cond in conds:
            more(cond)
            if isinstance(i, ir.Constant):                                          # each test is a branch of its own
                start = self.opaque(start, here=True, keeps=True)
            else:
                i = self.opaque(i, here=True)
        place = self.payload_at(start, i)
        more(b.icmp_unsigned("<=", self.at(place, 1), self.end))
        ends.append((self.load(place, 0, 8), b.block))
        b.branch(done)
        b.position_at_end(done)
        return self.join(ends)

    # ---- state

    def state_object(self, decl) -> StateCell:
        obj, region = self.state_region(decl)
        return StateCell(self, obj.cell, self.at(region, obj.offset))

    def state_region(self, decl) -> tuple[StateObject, ir.Value]:
        """An object and the start of the region that has it."""
        if self.old_layout is not None and decl in self.old_layout.by_decl:
            return self.old_layout.by_decl[decl], self.rec
        return self.state_layout.by_decl[decl], self.state

    def index_limit(self, index: ast.Expr, v: Val) -> int:
        """More than any value of the index; a codec's `first` has masked its own."""
        limit = 1 << v.width
        return min(limit, self.masked.get(getattr(index, "decl", None), limit))

    def array_cell(self, decl, index: ast.Expr) -> StateCell:
        obj, region = self.state_region(decl)
        v = self.bits_of(index)
        if v.const is not None:                 # beyond the end only in a turn of an unrolled loop
            inside = None if v.const < obj.count else self.bool_const(False)
            return StateCell(self, obj.cell, self.at(region, obj.offset + min(v.const, obj.count - 1) * obj.stride), inside)
        stride, at = self.stepped.get(getattr(index, "decl", None), (1, None))
        if stride == obj.stride > 1:
            return StateCell(self, obj.cell, self.at(region, self.b.add(at, i32(obj.offset))))
        inside, i = None, v.limbs[0]
        if self.index_limit(index, v) > obj.count:
            # opaque, or LLVM compares what the index was made from; and `cell_number`, or it drops the choice where the result is
            # not used: in both cases the offset has no bound that a verifier knows
            v = Val(v.width, tuple(self.opaque(limb) for limb in v.limbs))
            low = self.resize(v, min(v.width, 32))          # of a wide number what is compared alone has a bound
            inside = self.less(low, self.constant(low.width, obj.count))
            i = self.cell_number(self.b.select(inside, v.limbs[0], i32(0)))
            if v.width > 32:
                above = self.slice(v, v.width - 1, 32)
                inside = self.land(inside, self.eq(above, self.constant(above.width, 0)))
        at = self.b.add(self.b.mul(i, i32(obj.stride)), i32(obj.offset))
        return StateCell(self, obj.cell, self.at(region, at), inside)

    def cell_number(self, index: ir.Value) -> ir.Value:
        """An index that is in range, as an opaque number that LLVM knows again: cells of one index have one address (compiler/cells.py)."""
        if self.forgetful:
            return self.opaque(index, here=True)
        declared = self.fn.module.globals.get(CELL)
        if declared is None:
            declared = ir.Function(self.fn.module, ir.FunctionType(I32, [I32]), CELL)
            declared.attributes.add("readnone")
            declared.attributes.add("nounwind")
        return self.b.call(declared, [index])

    # ---- operators

    def _expr_Slice(self, e: ast.Slice):
        return self.slice(self.bits_of(e.base), int(e.hi.const), int(e.lo.const))

    def _expr_Unary(self, e: ast.Unary):
        if e.op == "!":
            return self.lnot(self.condition(e.operand))
        v = self.bits_of(e.operand)
        return self.complement(v) if e.op == "~" else self.neg(v)

    def _expr_Binary(self, e: ast.Binary):
        op = e.op
        if op in ("&&", "||"):
            return self.choose(e, lambda: self.bool_const(True), lambda: self.bool_const(False))
        if op == "++":
            return self.concat(self.bits_of(e.left), self.bits_of(e.right))
        if op in ("==", "!="):
            r = self.equal(e.left, e.right)
            return r if op == "==" else self.lnot(r)
        a, c = self.bits_of(e.left), self.bits_of(e.right)
        signed = getattr(e.left.type, "signed", False)
        if op in ("<", "<=", ">", ">="):
            if op[0] == ">":
                a, c = c, a
            return self.less(a, c, or_equal=op.endswith("="), signed=signed)
        if op in ("<<", ">>"):
            return self.shift_signed(a, c) if op == ">>" and signed else self.shift(a, c, left=op == "<<")
        if op in ("|+|", "|-|"):
            return self.saturate(a, c, op == "|-|", signed)
        simple = {"+": self.add, "-": self.sub, "*": self.mul, "&": self.and_, "|": self.or_, "^": self.xor}
        if op in simple:
            return simple[op](a, c)
        return (self.divide_signed if signed else self.divide)(a, c, remainder=op == "%")

    def equal(self, left: ast.Expr, right: ast.Expr) -> ir.Value:
        a, c = self.value(left), self.value(right)
        if isinstance(a, Val) and isinstance(c, Val):
            return self.eq(a, c)
        if isinstance(a, (Place,)) or isinstance(c, (Place,)):
            raise self.unsupported(left, "comparison of structs or headers")
        return self.eq(self.bool_to_bits(a), self.bool_to_bits(c))

    def _expr_Conditional(self, e: ast.Conditional):
        if e.cond.const is not None:
            return self.value(e.then if e.cond.const else e.otherwise)
        if isinstance(e.type, (StructType, HeaderType, Stack)):
            raise self.unsupported(e, "'?:' of structs or headers")
        if (v := self.zero_left_out(e)) is not None:
            return v
        with self.steady_choice(e):
            return self.choose(e.cond, lambda: self.pinned(e, e.then), lambda: self.pinned(e, e.otherwise))

    def zero_left_out(self, e: ast.Conditional) -> Val | None:
        """`x == 0 ? 0xffff : x` of the complement of a sum."""
        cond, name = e.cond, e.otherwise
        if (not isinstance(cond, ast.Binary) or cond.op != "==" or cond.right.const != 0 or e.then.const != 0xFFFF or self.width_of(e.type) != 16
                or not isinstance(name, ast.Name) or not isinstance(cond.left, ast.Name) or cond.left.decl is not name.decl or name.decl not in self.env):
            return None
        v = self.env[name.decl].get()
        return self.not_zero(v) if isinstance(v, Val) and v.const is None else None

    @contextmanager
    def steady_choice(self, e: ast.Conditional) -> Iterator[None]:
        """`x == c ? d : x` takes x as it is compared: of a complement LLVM would compare what it is made from, and complement it behind that."""
        name = e.cond.left if isinstance(e.cond, ast.Binary) and e.cond.op in ("==", "!=") and e.cond.right.const is not None else None
        chosen = [part.decl for part in (e.then, e.otherwise) if isinstance(part, ast.Name)]
        place = self.env.get(name.decl) if isinstance(name, ast.Name) and name.decl in chosen else None
        v = place.get() if place is not None else None
        if not isinstance(v, Val) or v.const is not None or len(v.limbs) > 1 or may_change(e, name):
            yield
            return
        self.env[name.decl] = Value(name.type, Val(v.width, (self.opaque(v.limbs[0]),)))
        yield
        self.env[name.decl] = place

    def pinned(self, e: ast.Conditional, part: ast.Expr):
        """One of the two values; opaque where both may be loads: LLVM would make them one, from a pointer that is to
        different regions on different paths."""
        v = self.value(part)
        if e.then.const is not None or e.otherwise.const is not None or not isinstance(v, Val):
            return v
        return Val(v.width, tuple(x if isinstance(x, ir.Constant) else self.opaque(x) for x in v.limbs))

    def _expr_Cast(self, e: ast.Cast):
        v = self.value(e.operand)
        source, target = e.operand.type, e.type
        if isinstance(target, Bool):
            return v if not isinstance(v, Val) else self.truth(v)
        if not isinstance(v, Val):
            return self.bool_to_bits(v, self.width_of(target))
        width = self.width_of(target)
        return self.sign_extend(v, width) if getattr(source, "signed", False) else self.resize(v, width)

    def _expr_ListExpr(self, e: ast.ListExpr):
        if not isinstance(e.type, StructType):
            raise self.unsupported(e, "a list here")
        return StructPlace(e.type, {f.name: as_it_is(f.type, self.value(x)) for f, x in zip(e.type.decl.fields, e.elements)})

    # ---- codec rows

    def _expr_InlinePiece(self, e: ast.InlinePiece):
        return self.inline_piece(e)

    def _expr_Following(self, e: ast.Following):
        return self.peek(int(e.width.const if e.width.const is not None else e.width.value))

    # ---- sizes

    def _expr_Sizeof(self, e: ast.Sizeof):
        if e.operand is None:
            return self.resize(Val(32, (self.this.size(),)), 16)
        operand = e.operand
        if isinstance(operand, ast.Name) and operand.decl == "payload":
            return self.resize(Val(32, (self.payload_size(),)), 16)
        if isinstance(operand, (ast.Name, ast.Member)) and isinstance(operand.decl, ast.Field):
            inst = self.this if isinstance(operand, ast.Name) else self.place(operand.base)
            octets = inst.octets(inst.layout.unit_of[operand.decl])
            if isinstance(operand, ast.Member) and self.may_be_unseen(operand.base, inst):
                octets = self.pick(inst.valid(), octets, i32(0))
            return self.resize(Val(32, (octets,)), 16)
        named = self.place(operand)
        if isinstance(named, Instance):
            octets = self.pick(named.valid(), named.size(), i32(0))
        else:
            octets = self.sizes(self.record.by_field[named], i32(0))
        return self.resize(Val(32, (octets,)), 16)

    def payload_size(self) -> ir.Value:
        """Octets that follow `this` header: the valid instances after it and the rest of the packet (i32)."""
        total = self.payload_octets()
        if self.this is not None and not self.this.local:
            total = self.sizes(self.record.after(self.this.inst), total)
        return total

    def sizes(self, instances: list[InstanceLayout], total: ir.Value) -> ir.Value:
        """With the octets of these, those that are valid."""
        for one in self.each(instances):
            if isinstance(one, Instance):
                valid = one.valid()
                if not is_const(valid, 0):
                    total = self.add32(total, self.pick(valid, one.size(), i32(0)))
                continue
            slot = self.alloca(I32, "sizes")
            self.b.store(total, slot)
            self.in_turns_of(one, lambda element: self.add_size(element, slot))
            total = self.b.load(slot, typ=I32)
        return total

    def add_size(self, inst: Instance, total: ir.Value) -> None:
        """To a variable, of a header that is valid."""
        with self.b.if_then(inst.valid()):
            self.b.store(self.b.add(self.b.load(total, typ=I32), inst.size()), total)

    # ---- calls that yield values

    def _expr_Call(self, e: ast.Call):
        target = e.target
        if e in self.early:
            return self.early[e].get()
        if isinstance(target, ast.Function):
            return self.call_function(target, e.args)
        if isinstance(target, str):
            handler = getattr(self, "_call_" + target.replace(".", "_"), None)
            if handler is not None:
                return handler(e)
        raise self.unsupported(e, "this call")

    def _call_isValid(self, e: ast.Call):
        return self.place(e.callee.base).valid()

    def _call_setValid(self, e: ast.Call):
        self.place(e.callee.base).make_valid()

    def _call_setInvalid(self, e: ast.Call):
        self.place(e.callee.base).set_valid(False)

    def _call_holds(self, e: ast.Call):
        """Every deferred equation equals the field's stored value."""
        inst = self.place(e.callee.base)
        result = inst.valid()
        for f in inst.header.fields():
            if f.deferred:
                result = self.land(result, self.holds(inst, f))
        return result

    def _call_count(self, e: ast.Call):
        decl = e.callee.base.decl
        cell = self.array_cell(decl, e.args[0]) if e.args else self.state_object(decl)
        v = cell.get()
        cell.set(self.add(v, self.constant(v.width, 1)))

    def _call_reset(self, e: ast.Call):
        """`c.reset([i])`, `m.reset([i])`: what a cell is at first, all zero."""
        decl = e.callee.base.decl
        cell = self.array_cell(decl, e.args[0]) if e.args else self.state_object(decl)
        for part in [cell.member(name) for name in meters.FIELDS] if isinstance(decl, ast.Meter) else [cell]:
            part.set(self.constant(self.width_of(part.type), 0))

    def _call_execute(self, e: ast.Call) -> Val:
        """`m.execute([i][, amount])`: RFC 2697 in 32 bits, as `lang/meters.py` has it."""
        b = self.b
        meter, args = e.callee.base.decl, list(e.args)
        cell = self.array_cell(meter, args.pop(0)) if isinstance(meter.type, Array) else self.state_object(meter)
        amount = self.bits_of(args[0]).limbs[0] if args else i32(1)
        rate = meters.rate(meter)
        now = ContextSlot(self, BitsType(32), NODE_SLOTS["clock"][0]).get().limbs[0]
        committed, excess, time = (cell.member(name) for name in meters.FIELDS)
        missing, missing_excess = committed.get().limbs[0], excess.get().limbs[0]
        passed = b.sub(now, time.get().limbs[0])
        refilled = self.least(passed, missing)
        missing = b.sub(missing, refilled)
        missing_excess = b.sub(missing_excess, self.least(b.sub(passed, refilled), missing_excess))
        colour = Scalar(self, BitsType(8), "colour")
        colour.set(self.constant(8, meters.RED))
        time.set(Val(32, (now,)))
        committed.set(Val(32, (missing,)))
        excess.set(Val(32, (missing_excess,)))
        done = b.append_basic_block("metered")
        for place, value, tokens, name in ((committed, missing, rate.burst, meters.GREEN), (excess, missing_excess, rate.excess, meters.YELLOW)):
            take, fits, nxt = (b.append_basic_block(n) for n in ("take", "fits", "next"))
            b.cbranch(b.icmp_unsigned("<=", amount, i32(tokens)), fits, nxt)
            b.position_at_end(fits)
            cost = b.mul(amount, i32(rate.interval))
            b.cbranch(b.icmp_unsigned("<=", cost, b.sub(i32(tokens * rate.interval), value)), take, nxt)
            b.position_at_end(take)
            place.set(Val(32, (b.add(value, cost),)))
            colour.set(self.constant(8, name))
            b.branch(done)
            b.position_at_end(nxt)
        b.branch(done)
        b.position_at_end(done)
        result = colour.get()
        return result if cell.inside is None else self.select(cell.inside, result, self.constant(8, meters.RED))

    def least(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.b.select(self.b.icmp_unsigned("<", x, y), x, y)
