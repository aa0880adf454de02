"""Codecs: one table of rows, lowered to `expand` in a parser and to `compress` in a deparser."""
from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import llvmlite.ir as ir

from lpn.compiler.bits import Val, i32
from lpn.compiler.layout import field_width
from lpn.compiler.state import scalar_width
from lpn.lang import ast
from lpn.lang.check.headers import in_order_of_need
from lpn.lang.instances import by_reference
from lpn.lang.types import Bits as BitsType, Bool

from .changing import may_change
from .following import has_following, looks_behind, row_key, targets
from .instance import Instance
from .made import RowSwitch
from .meeting import Elsewhere
from .numbered import numbers
from .places import Place, Scalar, Swapped, Value, variable
from .shared import SharedCall


def tag_width(codec: ast.Codec) -> int:
    return sum(t.width for t in codec.tag)


def tag_shift(codec: ast.Codec, piece: ast.TagBits) -> int:
    """The number of the piece's least significant bit in the tag."""
    after = codec.tag[codec.tag.index(piece) + 1:]
    return sum(t.width for t in after)


def group_reason(codec: ast.Codec, group: ast.Group) -> str:
    return f"{codec.name}.{group.tags[-1].name}" if group.tags else f"{codec.name}.where"


def is_state(e: ast.Expr) -> bool:
    """Whether a value is a register, or a part of one."""
    while not isinstance(getattr(e, "decl", None), ast.Register):
        if not isinstance(e, (ast.Cast, ast.Slice, ast.Member, ast.Index)):
            return False
        e = e.operand if isinstance(e, ast.Cast) else e.base
    return True


def inline_octets(row: ast.Row) -> int:
    """Octets that a row carries in line, without varbits."""
    return sum(bits for bits, _ in inline_pieces(row)) // 8


def most_compressed(codec: ast.Codec, of_varbit: int | None = None) -> int:
    """Octets of the form that a codec writes, at most. `of_varbit`: so many bits a varbit counts for, if not as many as it may have."""
    def most(row: ast.Row) -> int:
        return sum(bits or (piece.target.decl.type.max_width if of_varbit is None else of_varbit) for bits, piece in inline_pieces(row))
    return (tag_width(codec) + sum(max(map(most, group.rows), default=0) for group in codec.groups)) // 8


def inline_pieces(row: ast.Row) -> list[tuple[int, object]]:
    """(bits, InlineTarget or InlinePiece) in wire order; varbit targets have 0 bits."""
    out: list[tuple[int, object]] = []

    def walk(e) -> None:
        if isinstance(e, ast.InlinePiece):
            out.append((e.type.width, e))
        elif isinstance(e, list):
            for x in e:
                walk(x)
        elif isinstance(e, ast.Expr):
            for k, v in vars(e).items():
                if k not in ("decl", "target", "type", "via"):
                    walk(v)

    for item in row.items:
        if isinstance(item, ast.RowInline):
            for t in item.targets:
                if t.target is None:
                    out.append((t.width, t))
                elif t.bits is not None:
                    out.append((0, t))
                else:
                    out.append((scalar_width(t.target.type), t))
        elif isinstance(item, ast.RowAssign):
            walk(item.value)
    return out


class Codecs:
    """Mixed into `Lowering`."""

    @contextmanager
    def codec_scope(self, codec: ast.Codec, inst: Instance, args: list[ast.Expr]):
        """Binds parameters; `inout` ones are copied back to the caller's place."""
        bound: dict[object, Place] = {}
        for at, (p, a) in enumerate(zip(codec.params, args)):
            changes = not by_reference(p.type) and any(may_change(one, part) for one in args[at + 1:] for part in (a, *getattr(a, "args", ())))
            if p.direction in ("out", "inout") or changes:
                bound[p] = self.copied_in(p, a)
            elif (late := self.made_late(p, a, inst)) is not None:
                bound[p] = late
            elif a.const is None and not isinstance(p.type, BitsType):
                v = self.place(a) if isinstance(a, (ast.Name, ast.Member, ast.Index, ast.Call)) else self.value(a)
                bound[p] = v if isinstance(v, Place) else Value(p.type, v)
            else:
                bound[p] = Value(p.type, self.value(a))
        if self.meets(args):
            bound = self.meet(bound)
        for v in codec.vars:
            bound[v] = variable(self, v.type, v.name)
        with self.standing_for(bound), self.this_is(inst):
            yield
        self.copy_back(codec.params, args, bound)

    # ---------------------------------------------------------------- expand

    def expand(self, codec: ast.Codec, inst: Instance, args: list[ast.Expr]) -> None:
        """Reads the compressed form at the cursor and fills the instance's image.

        Bit-fields that share a unit are held in variables and stored once at the end."""
        with self.codec_scope(codec, inst, args):
            if self.short:
                self.env.update(self.read_together(codec))
            for v in codec.vars:
                self.env[v].clear()
            self.begin_expand(codec, inst)
            inst.open = True
            self.codec_start = self.cursor()
            width = tag_width(codec)
            guessed = self.guess_tag(codec) if self.miss is not None else {}
            tag = self.take(width) if width else self.constant(0, 0)
            if self.short and not guessed and looks_behind(codec):
                tag = self.apart_of(tag)        # it is asked again, see below
            for piece in codec.tag:
                shift = tag_shift(codec, piece)
                v = self.slice(tag, shift + piece.width - 1, shift)
                if piece in guessed:
                    self.env[piece] = Value(piece.type, self.constant(piece.width, guessed[piece]))
                elif piece.value is not None:
                    self.check(self.eq(v, self.constant(piece.width, piece.value)), f"{codec.name}.tag")
                else:
                    self.env[piece] = Value(piece.type, v)
            self.require_lookahead()            # rows take different numbers of octets
            delayed: list[tuple[ast.Group, ast.Row, ast.RowAssign]] = []
            second: ast.Group | None = None     # that was expanded with the first of two
            for i, group in enumerate(codec.groups):
                delayed += [(group, row, item) for row in self.usual_rows(codec, group) for item in row.items
                            if isinstance(item, ast.RowAssign) and has_following(item.value)]
                if (twins := self.twins(codec, i, partial(self.said_whole, inst, codec))) is not None:
                    self.expand_twins(codec, inst, twins, tag)
                    second = twins.second
                    continue
                if group is not second:
                    self.expand_group(codec, inst, group)
                self.store_said(inst, codec, group)
                if not self.record_in_memory:   # one variable to keep instead of several
                    self.end_units(inst, self.open_fields(codec, inst, codec.groups[i + 1:]))
            if delayed and self.short and width and not guessed:          # asked anew: what is asked of a tag is one test of a bit
                again = self.apart_of(tag)
                for piece in {name.decl for group, *_ in delayed for name in group.tags}:
                    shift = tag_shift(codec, piece)
                    self.env[piece] = Value(piece.type, self.slice(again, shift + piece.width - 1, shift))
            asked = [*codec.params, *(piece for piece in codec.tag if piece.value is None)]
            try:
                met = self.meet_behind(args, {name: self.env[name] for name in asked} | self.expanding[inst])
            except Elsewhere:                   # what is lowered next is not inside this header
                inst.open, self.codec_start = False, None
                del self.expanding[inst]
                raise
            self.env.update((name, met[name]) for name in asked)
            if inst.inst in self.laid_out:
                self.mark()                     # what lies there is read there, or LLVM would keep it in registers, too
            for group, row, item in delayed:
                self.run_following(codec, inst, group, row, item)
            inst.open, self.codec_start = False, None
            said, unsaid = self.assigned_fields(codec), self.unsaid(codec, inst)
            for f in in_order_of_need(inst.header):
                if f in said and not self.always_assigns(codec, f):
                    missing = self.unassigned(codec, f)
                    if self.say_left_out(inst, f, missing):
                        continue
                    if isinstance(missing, ir.Constant) and not missing.constant:
                        continue
                    with self.b.if_then(missing):
                        self.store_computed(inst, f)
                elif f in unsaid and not self.say_left_out(inst, f, self.bool_const(True)):
                    self.store_computed(inst, f)
            self.end_units(inst, set())
            del self.expanding[inst]
        inst.set_valid(True)

    def begin_expand(self, codec: ast.Codec, inst: Instance) -> None:
        held: dict[ast.Field, Scalar] = {}
        tags = {u.choice.tag.decl for u in inst.layout.units if u.choice is not None}
        for u in inst.layout.units:
            for f, _ in u.fields:
                if len(u.fields) > 1:
                    held[f] = Scalar(self, f.type, f.name)
                    held[f].clear()
                    value = self.constant_equation(f)
                    if value is not None:
                        held[f].set(value)
                elif f.deferred and u.when is not None:         # an absent one has no value, and where it appears `holds` says so
                    inst.put(u, self.constant(u.bits, 0))
                elif self.constant_equation(f) is not None:
                    inst.put(u, self.constant_equation(f))
                elif inst.inst in self.laid_out and f.equation is not None and f in self.assigned_fields(codec):
                    pass                        # a row says it, or it is computed
                elif (inst.inst.field, f) not in self.derived and (not self.always_assigns(codec, f) or f in tags):
                    inst.put(u, self.constant(u.bits, 0))
            if u.varbit:
                inst.set_varbit(u, self.pkt, i32(0))
            if u.choice is not None:
                inst.put(u, self.constant(u.bits, 0))
        for f in (f for group in codec.groups for f in self.said_whole(inst, codec, group)):
            held[f] = Swapped(self, f.type, f.name)
            held[f].clear()
        self.expanding[inst], self.ended = held, set()

    def unsaid(self, codec: ast.Codec, inst: Instance) -> list[ast.Field]:
        """Fields that no row says and whose equations give them what is kept: nothing derives those of a parser's own header, and `holds` asks for what
        they were."""
        return [f for f in inst.header.fields() if f.equation is not None and f not in self.assigned_fields(codec)
                and (inst.local or f.deferred and self.may_be_asked(inst))]

    def open_fields(self, codec: ast.Codec, inst: Instance, later: list[ast.Group]) -> set[ast.Field]:
        """The fields that may still be assigned when these groups follow."""
        rows = [row for g in later for row in g.rows]
        rows += [row for g in codec.groups for row in g.rows if any(isinstance(x, ast.RowAssign) and has_following(x.value) for x in row.items)]
        found = set().union(*(self.row_fields(row) for row in rows))
        found |= {arm.choice.tag.decl for arm in found if isinstance(arm, ast.ChoiceArm)}
        found |= {f for f in self.assigned_fields(codec) if f.equation is not None and not self.always_assigns(codec, f)}
        return found.union(self.unsaid(codec, inst))

    def end_units(self, inst: Instance, fields: set[ast.Field]) -> None:
        """Stores the units whose bit-fields are in variables, but for those that have one of these fields."""
        held = self.expanding[inst]
        for u in inst.layout.units:
            if len(u.fields) > 1 and u not in self.ended and not any(f in fields for f, _ in u.fields):
                self.ended.add(u)
                whole = self.constant(u.bits, 0)
                for f, shift in u.fields:
                    v = held[f].get()
                    v = v if isinstance(v, Val) else self.bool_to_bits(v)
                    whole = self.or_(whole, self.shift(self.resize(v, u.bits), self.constant(32, shift), left=True))
                inst.put(u, whole)

    def expand_group(self, codec: ast.Codec, inst: Instance, group: ast.Group, but: Collection[ast.Row] = ()) -> None:
        """`but`: rows that no packet has that comes here."""
        b = self.b
        if not group.tags:
            for row in group.rows:
                self.expand_row(codec, inst, group, row)
            return
        key = self.group_key(group)
        rows = [(row, row_key(group, row)) for row in self.usual_rows(codec, group) if row not in but]
        if key.const is not None:
            for row, number in rows:
                if key.const == number:
                    self.expand_row(codec, inst, group, row)
                    return
        # One test for all rows, if any takes one: LLVM adds one of two numbers behind them, and which of them was tested is forgotten.
        self.need_row(max((inline_octets(row) for row, _ in rows), default=0))
        done = b.append_basic_block(f"{codec.name}.{group.tags[-1].name}.done")
        default = b.append_basic_block("no_row")
        switch = RowSwitch(b, key, default)
        bound, look = self.bound, self.look
        worst = worst_look = 0
        weight = 1 << 14
        shared = self.shared_calls([row for row, _ in rows])
        made = self.made_for(codec, [row for row, _ in rows], key, default)
        asked = self.asked_first(codec, group, [row for row, _ in rows], key, made)
        table = numbers(rows) if self.short else None
        numbered: ir.Block | None = None
        for row, number in rows:
            if table is not None and row in table.rows:
                numbered = numbered or b.append_basic_block(f"{codec.name}.numbers")
                switch.add(number, numbered, weight)
                worst, worst_look = max(worst, bound), max(worst_look, look)
                weight = max(weight // 4, 1)
                continue
            block = b.append_basic_block(f"{codec.name}.row")
            at = switch
            for step in ([made] if made is not None and row in made.rows else []) + asked.get(row, []):
                at.add(number, step.block, weight)
                at = step.switch
            at.add(number, block, weight)
            weight = max(weight // 4, 1)        # rows stand in the order in which a compressor tries them: best first
            b.position_at_end(block)
            self.bound, self.look = bound, look
            call = shared.get(row)
            with self.in_row(made, row):
                self.expand_row(codec, inst, group, row, call, len(asked.get(row, [])))
            worst, worst_look = max(worst, self.bound), max(worst_look, self.look)
            b.branch(done if call is None else call.block)
        self.bound, self.look = worst, worst_look
        if table is not None:
            b.position_at_end(numbered)
            self.row_assign(inst, table.target, self.number(table, key))
            b.branch(done)
        for call in dict.fromkeys(shared.values()):
            b.position_at_end(call.block)
            self.row_assign(inst, call.target, self.make_call(call))
            b.branch(done)
        b.position_at_end(default)
        if len(rows) == 1 << key.width:
            b.unreachable()
        else:
            self.bound, self.look = bound, look
            self.reject_now(group_reason(codec, group))
        b.position_at_end(done)
        self.bound, self.look = worst, worst_look
        self.joined()

    def guess_tag(self, codec: ast.Codec) -> dict[ast.TagBits, int]:
        """Compares the tag at the cursor, as it lies there, with that of the usual rows. The pieces whose values are known then."""
        width, mask, value, known = tag_width(codec), 0, 0, {}
        for piece in codec.tag:
            if piece.value is not None:
                known[piece] = piece.value
        for group in codec.groups:
            rows = self.usual_rows(codec, group) if group.tags else []
            if len(rows) == 1:
                key = row_key(group, rows[0])
                for name in reversed(group.tags):
                    known[name.decl] = key & ((1 << name.decl.width) - 1)
                    key >>= name.decl.width
        for piece, number in known.items():
            mask |= ((1 << piece.width) - 1) << tag_shift(codec, piece)
            value |= number << tag_shift(codec, piece)
        if known:
            mask, value = (int.from_bytes(x.to_bytes(width // 8, "big"), "little") for x in (mask, value))
            self.need(width // 8)
            word = self.load_packet(self.cursor(), 0, width, True)
            self.as_guessed(self.eq(self.and_(word, self.constant(width, mask)), self.constant(width, value)))
        return known

    @contextmanager
    def at_row(self) -> Iterator[None]:
        """A row's octets in line begin at the cursor."""
        saved = self.row_base, self.row_bit
        self.row_base, self.row_bit = self.cursor(), 0
        yield
        self.row_base, self.row_bit = saved

    def expand_row(self, codec: ast.Codec, inst: Instance, group: ast.Group, row: ast.Row, shared: SharedCall | None = None,
                   asked: int = 0) -> None:
        """`shared`: what the row's last item goes on to; `asked`: so many of its items have been asked."""
        self.need_row(inline_octets(row))
        with self.at_row():
            self.expand_items(codec, inst, group, row, row.items[asked:], shared)
            self.advance_static(self.row_bit // 8)

    def expand_items(self, codec: ast.Codec, inst: Instance, group: ast.Group, row: ast.Row, items: list, shared: SharedCall | None) -> None:
        for item in items:
            if shared is not None and item is row.items[-1]:
                self.give_args(shared, row)
            elif isinstance(item, ast.RowWhere):
                self.row_where(item, codec, group)
            elif isinstance(item, ast.RowAssign):
                if not has_following(item.value):
                    self.apart = is_state(item.value)
                    self.row_assign(inst, item.target, self.value(item.value))
                    self.apart = False
            else:
                for t in item.targets:
                    if t.bits is not None:
                        self.advance_static(self.row_bit // 8)
                        self.take_varbit(inst, t)
                        self.row_base, self.row_bit = self.cursor(), 0
                    elif t.target is None:
                        self.row_bit += t.width
                    else:
                        self.row_assign(inst, t.target, self.row_take(self.width_of(t.target.type)))

    def need_row(self, octets: int) -> None:
        """All that the row carries in line is read ahead."""
        self.need(octets)

    def row_take(self, width: int) -> Val:
        """The next `width` in-line bits of the row."""
        first, last = self.row_bit, self.row_bit + width
        start, stop = first // 8, (last + 7) // 8
        if self.bound + stop > self.target.window > 0:      # of a row longer than the window
            self.short_unless(self.at(self.row_base, stop))
        whole = self.load_packet(self.row_base, start, 8 * (stop - start), False)
        self.row_bit = last
        low = 8 * stop - last
        return self.slice(whole, low + width - 1, low)

    def row_where(self, item: ast.RowWhere, codec: ast.Codec, group: ast.Group) -> None:
        """What the row has read before this item counts as read."""
        self.reject_if_not(self.condition(item.cond), item.reason or group_reason(codec, group), self.at(self.row_base, (self.row_bit + 7) // 8))

    def row_assign(self, inst: Instance, target: ast.Expr, value) -> None:
        decl = getattr(target, "decl", None)
        if isinstance(decl, ast.Field):
            if isinstance(value, Val) and value.width != field_width(decl):
                value = self.resize(value, field_width(decl))
            if isinstance(decl.type, Bool) and isinstance(value, Val):
                value = self.truth(value)
            self.row_store(inst, decl, value)
        elif isinstance(decl, ast.ChoiceArm):
            tag = decl.choice.tag.decl
            self.row_store(inst, tag, self.constant(field_width(tag), decl.number))
            inst.put(inst.layout.unit_of[decl.choice], value, decl.little)
        else:
            self.place(target).set(value)

    def row_store(self, inst: Instance, f: ast.Field, value) -> None:
        for u in inst.layout.units:
            if u.choice is not None and u.choice.tag.decl is f:         # another tag: the new arm begins as 0
                with self.b.if_then(self.lnot(self.eq(inst.tag(u.choice), value))):
                    inst.put(u, self.constant(u.bits, 0))
        held = self.expanding[inst].get(f)
        if held is not None:
            held.set(value)
        else:
            inst.write_stored(f, value)

    def store_computed(self, inst: Instance, f: ast.Field) -> None:
        """What the equation gives; nothing to a deferred field that is absent."""
        when = inst.layout.unit_of[f].when if f.deferred else None
        with self.b.if_then(self.condition(when)) if when is not None else nullcontext():
            self.row_store(inst, f, inst.computed(f))

    def unassigned(self, codec: ast.Codec, f: ast.Field) -> ir.Value:
        """Whether no row that was taken assigned the field."""
        cond = self.bool_const(True)
        for g in codec.groups:
            if any(f in self.row_fields(row) for row in g.rows):
                left_alone = self.bool_const(False)
                for row in g.rows:
                    if f not in self.row_fields(row):
                        left_alone = self.lor(left_alone, self.took(g, row))
                cond = self.land(cond, left_alone)
        return cond

    def group_key(self, group: ast.Group) -> Val:
        return self.concat(*[self.env[n.decl].get() for n in group.tags])

    # ---- which fields rows assign

    def row_fields(self, row: ast.Row) -> set:
        return set(targets(row))

    def assigned_fields(self, codec: ast.Codec) -> set[ast.Field]:
        found = set()
        for g in codec.groups:
            for row in g.rows:
                found |= {d for d in self.row_fields(row) if isinstance(d, ast.Field)}
        return found

    def always_assigns(self, codec: ast.Codec, f: ast.Field) -> bool:
        return any(all(f in self.row_fields(row) for row in g.rows) for g in codec.groups)
