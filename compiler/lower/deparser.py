"""Deparsers: valid headers are written to the output buffer, the payload follows where it lies and is never copied."""
from __future__ import annotations

from math import inf

import llvmlite.ir as ir

from lpn.compiler.bits import I32, PTR, Val, i32
from lpn.compiler.layout import HeaderLayout, Unit, field_width
from lpn.compiler.target import CTX_OUT, CTX_OUT_LEN, CTX_PAYLOAD, OUT_SIZE, WINDOW
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bits as BitsType, Stack

from .codec import group_reason, inline_pieces, most_compressed, tag_shift, tag_width
from .conditions import operands
from .following import has_following
from .guess import deparser_guesses
from .instance import Instance
from .lying_behind import longest_of
from .places import Place, variable
from .search import mentions
from .shapes import Shape


class Deparsers:
    """Mixed into `Lowering`. `at_slot`: octets written so far, or, if the deparser `walks`, the place behind them; `at_most`: what is known
    of it while lowering; `in_all`: more is never emitted; `full`: where a packet is dropped whose copy does not fit, if there is one."""

    walks = False
    said_octets: ir.Value | None = None             # where a row says what it wrote, instead of moving on
    full: ir.Block | None = None
    in_all: float = inf

    def deparser(self, d: ast.Deparser, done) -> None:
        def lower() -> None:
            self.lazy = {(self.place(s.target.base), s.target.decl): s.value for s in self.repeats}
            self.deparse(d, len(d.body.statements) - len(self.lying_behind))
            self.lazy = {}
            self.end_guess()
            if len(self.lying_behind) < len(d.body.statements):
                self._store(self.ctx, CTX_OUT_LEN, 4, self.written())
            if self.lying_behind:
                self.send_lying()
            done()

        if self.in_place:
            self.put_in_place(d)
            done()
            return
        self.out_pointer = self.context_pointer(CTX_OUT) if self.laid_out else self.late_pointer(CTX_OUT)
        self.usual_first(self.worth_it(deparser_guesses(d, self.record)), lower)

    def put_in_place(self, d: ast.Deparser) -> None:
        """Nothing is written but what is computed, all of which is made of the packet as it is before; it is sent from its begin."""
        self.bind_packet_params(d.params)
        made: list[tuple[ast.Stmt, Instance, Unit, Val]] = []
        for s in d.body.statements:
            self.stand_at(s)
            for inst in self.emitted_by(s.call):
                units = [u for u in inst.layout.units if self.computes(inst, u)]
                made += [(s, inst, u, v) for u, v in zip(units, self.if_valid(inst, units))]
        for s, inst, u, v in made:
            self.stand_at(s)
            store, done = self.b.append_basic_block("in.place"), self.b.append_basic_block("stored")
            self.b.cbranch(inst.valid(), store, done)
            self.b.position_at_end(store)
            if u.when is not None:
                store = self.b.append_basic_block("there")
                with self.this_is(inst):
                    self.branch(u.when, store, done)
                self.b.position_at_end(store)
            inst.write_unit(u, v)
            self.b.branch(done)
            self.b.position_at_end(done)
        if self.tells_payload:
            self._store(self.ctx, CTX_PAYLOAD, 4, i32(0))

    def emitted_by(self, e: ast.Call) -> list[Instance]:
        target = e.args[0]
        return self.elements(target.decl) if isinstance(target.type, Stack) else [self.place(target)]

    def if_valid(self, inst: Instance, units: list[Unit]) -> list[Val]:
        """The units as they are sent; of a header that is not valid, and of units that are not there, 0."""
        if not units:
            return []
        b = self.b
        here, valid, done = b.block, b.append_basic_block("valid"), b.append_basic_block("computed")
        b.cbranch(inst.valid(), valid, done)
        b.position_at_end(valid)
        numbers = [inst.if_present(u, lambda: self.unit_number(inst, u), lambda: self.constant(u.bits, 0)) for u in units]
        last = b.block
        b.branch(done)
        b.position_at_end(done)
        return [self.join([(v, last), (self.constant(v.width, 0), here)]) for v in numbers]

    def deparse(self, d: ast.Deparser, statements: int | None = None) -> None:
        """Writes what the deparser's statements, or its first ones, emit to the output buffer, which `out_pointer` is the begin of."""
        self.walks, self.at_most, self.full = self.target.window > 0 and self.fits(d), 0, None
        self.in_all = longest_of(self.record, d)
        self.at_slot = self.alloca(PTR if self.walks else I32, "out.at")
        self.b.store(self.out if self.walks else i32(0), self.at_slot)
        self.bind_packet_params(d.params)
        self.run(d.body.statements[:statements])

    def fits(self, d: ast.Deparser) -> bool:
        """Whether the buffer has room for all that a deparser can emit, so that nothing is tested where it stands, and headers are of different
        sizes, so that where it stands is no constant."""
        emits = [n for n in walk(d.body) if isinstance(n, ast.Call) and n.target == "emit"]
        vary = any(e.via is not None or any(u.variable for u in self.header_of(e).units) for e in emits)
        return vary and not any(isinstance(n, ast.For) for n in walk(d.body)) and sum(map(self.most_octets, emits)) <= OUT_SIZE

    def header_of(self, emit: ast.Call) -> HeaderLayout:
        t = emit.args[0].type
        return self.record.header((t.header if isinstance(t, Stack) else t).decl)

    def most_octets(self, emit: ast.Call) -> int:
        """That are written; more than there is room for, if a header has varbits."""
        t = emit.args[0].type
        count = t.size if isinstance(t, Stack) else 1
        if emit.via is None and isinstance(t, Stack) and emit.args[0].decl in self.runs and not self.is_straight(emit.args[0].decl):
            return OUT_SIZE + 1                 # copied as varbits are
        if emit.via is None:
            return count * sum(OUT_SIZE + 1 if u.varbit else u.octets for u in self.header_of(emit).units)
        return count * most_compressed(emit.via.codec, 8 * (OUT_SIZE + 1))

    def written(self) -> ir.Value:
        at = self.b.load(self.at_slot, typ=PTR if self.walks else I32)
        return self.distance(self.out, at) if self.walks else at

    def room(self, octets: int) -> None:
        """The buffer must hold `octets` more; tested only where it is not known."""
        if self.at_most + octets <= OUT_SIZE:
            return
        assert not self.walks                   # see `fits`
        self.test_room(self.in_all - octets if octets <= self.in_all <= OUT_SIZE else OUT_SIZE - octets)

    def has_room_for(self, octets: int, more: int) -> bool:
        """Whether the buffer surely holds `more`, where so many octets are emitted at most; what a verifier must know of that is tested."""
        if self.at_most + more <= OUT_SIZE:
            return True
        if octets > self.in_all or self.in_all - octets + more > OUT_SIZE:
            return False
        self.test_room(self.in_all - octets)
        return True

    def test_room(self, limit: int) -> None:
        """No more than so many octets are written."""
        at = self.written()
        if any(inst.layout.min_octets > WINDOW for inst in self.record.instances):
            # Many numbers are written after one test then, and LLVM may compare what the offset was made from.
            at = self.opaque(at)
            self.b.store(at, self.at_slot)
        fits = self.b.icmp_unsigned("<=", at, i32(limit)) if limit >= 0 else self.bool_const(False)
        self.reject_unless(fits, "PacketTooLong")
        self.at_most = max(limit, 0)

    def here(self) -> ir.Value:
        return self.b.load(self.at_slot, typ=PTR) if self.walks else self.at(self.out, self.written())

    def wrote(self, octets: ir.Value | int, most: int) -> None:
        if self.said_octets is not None:
            self.b.store(i32(octets), self.said_octets)
        elif self.walks:
            self.b.store(self.at(self.here(), octets), self.at_slot)
        else:
            self.b.store(self.add32(self.written(), i32(octets) if isinstance(octets, int) else octets), self.at_slot)
        self.at_most += most

    # ---------------------------------------------------------------- emit

    def _call_emit(self, e: ast.Call) -> None:
        target = e.args[0]
        if isinstance(target.type, Stack) and e.via is None and self.is_loop(target.decl):
            self.emit_in_turn(target.decl, e)
            return
        if isinstance(target.type, Stack) and e.via is None and target.decl in self.runs:
            self.emit_run_of(target.decl)
            return
        for inst in self.emitted_by(e):
            self.emit_if_valid(inst, e)

    def emit_if_valid(self, inst: Instance, call: ast.Call | None) -> None:
        b = self.b
        if self.miss is not None:
            self.as_guessed(inst.valid())
            self.emit_valid(inst, call)
            return
        emit, done = b.append_basic_block("emit"), b.append_basic_block("emitted")
        b.cbranch(inst.valid(), emit, done)
        b.position_at_end(emit)
        before = self.at_most
        self.emit_valid(inst, call)
        self.at_most = max(before, self.at_most)
        b.branch(done)
        b.position_at_end(done)
        self.rejoined()

    def emit_valid(self, inst: Instance, call: ast.Call | None) -> None:
        with inst.found_here():
            self.emit_found(inst, call)

    def emit_found(self, inst: Instance, call: ast.Call | None) -> None:
        shape = self.usual_shape(inst)
        if call is not None and call.via is not None:
            self.compress(call.via.codec, inst, call.via.args)
        elif inst.inst in self.laid_out:
            self.emit_laid_out(inst)
        elif shape is not None:
            self.guess_shape(inst, shape, self.unit_number(inst, inst.layout.units[0]))         # what is computed of it decides what is there
            self.emit_shape(inst, shape)
        else:
            self.emit_plain(inst)
        if not inst.inst.in_packet:             # else LLVM copies this one and one that lies in the packet with the same loads
            self.mark(keeps=True)

    def emit_shape(self, inst: Instance, shape: Shape) -> None:
        """Units of a header that has this shape."""
        first, octets = inst.layout.units[0], sum(shape.octets.values())
        self.room(first.octets + octets)
        here, at = self.here(), first.octets
        self.store_unit(inst, first, here, 0)
        for u, size in shape.octets.items():
            if u.choice is None and size:
                self.store_unit(inst, u, here, at)
            elif size:                          # a choice as it lies there: the arm comes first
                base, offset = inst.pointer(u)
                v = (self.load_packet if inst.inst.in_packet else self.load)(base, offset, 8 * size, True)
                self.put(here, at, v, True)
            at += size
        self.wrote(at, at)

    def emit_laid_out(self, inst: Instance) -> None:
        """What lies there already: only what is derived is written, unless it has to be moved up."""
        b, octets = self.b, inst.layout.image_size
        there, elsewhere, done = (b.append_basic_block(n) for n in ("in.place", "moves", "emitted"))
        self.room(octets)
        b.cbranch(b.icmp_unsigned("==", self.here(), inst.image), there, elsewhere)
        b.position_at_end(there)
        for u in inst.layout.units:
            if u in inst.aside or self.computes(inst, u):
                self.store_unit(inst, u, inst.image, u.image)
        b.branch(done)
        b.position_at_end(elsewhere)
        computed = {u: self.unit_number(inst, u) for u in inst.layout.units if self.computes(inst, u)}      # of what is written over then
        for u in inst.layout.units:
            self.put(self.here(), u.image, computed[u] if u in computed else self.unit_number(inst, u), u.little)
        b.branch(done)
        b.position_at_end(done)
        self.wrote(octets, octets)

    def emit_plain(self, inst: Instance) -> None:
        """Units as they are stored, derived fields computed. A unit that may be absent is written all the same and then
        not counted: the next one overwrites it."""
        if inst.lies_whole:
            self.copy(*inst.whole(), inst.layout.max_octets, 0)
            return
        run: list[Unit] = []
        for u in inst.layout.units:
            if not u.variable:
                run.append(u)
                continue
            self.emit_run(inst, run)
            run = []
            if u.varbit:
                self.emit_varbit(inst, u)
                continue
            if self.at_most + u.octets <= OUT_SIZE or self.in_all <= OUT_SIZE:
                self.room(u.octets)
                self.store_unit(inst, u, self.here(), 0)
                self.wrote(inst.octets(u), u.octets)
            else:
                self.emit_where_there(inst, u)
        self.emit_run(inst, run)

    def emit_where_there(self, inst: Instance, u: Unit) -> None:
        """A unit that the buffer may have no room for: what is there of it needs room, and what is absent needs none."""
        b, before, octets = self.b, self.at_most, inst.octets(u)
        sizes = {field_width(arm) // 8 for arm in u.choice.arms} if u.choice else {u.octets}
        for size in sorted(sizes - {0}):
            with b.if_then(b.icmp_unsigned("==", octets, i32(size))):
                self.room(size)
                whole = self.unit_number(inst, u)
                self.put(self.here(), 0, whole if size == u.octets else self.slice(whole, u.bits - 1, u.bits - 8 * size), u.little)
            self.at_most = before               # on the other way nothing was tested
            self.rejoined()
        self.wrote(octets, u.octets)

    def emit_run(self, inst: Instance, run: list[Unit]) -> None:
        octets = sum(u.octets for u in run)
        if not octets:
            return
        self.room(octets)
        here, at = self.here(), 0
        for u in run:
            self.store_unit(inst, u, here, at)
            at += u.octets
        self.wrote(octets, octets)

    def store_unit(self, inst: Instance, u: Unit, base: ir.Value, offset: int) -> None:
        self.put(base, offset, self.unit_number(inst, u), u.little)

    def put(self, base: ir.Value, offset: int, v: Val, little: bool = False) -> None:
        """Into the output buffer."""
        with self.region("out"):
            self.store(base, offset, v, little)

    def unit_number(self, inst: Instance, u: Unit) -> Val:
        """The unit as it is sent: derived fields computed."""
        v = inst.read_unit(u)
        for f in self.computes(inst, u):
            computed = inst.equation(f)
            v = computed if len(u.fields) == 1 else inst.insert(u, v, f, computed)
        return v

    def computes(self, inst: Instance, u: Unit) -> list[ast.Field]:
        """The derived fields of a unit that are not stored as they are sent."""
        return [f for f, _ in u.fields if (inst.inst.field, f) in self.derived
                and (self.constant_equation(f) is None or self.stored_differs(inst.inst.field, f))]

    def emit_varbit(self, inst: Instance, u: Unit) -> None:
        source, octets = inst.varbit(u)
        octets = inst.if_present(u, lambda: octets, lambda: i32(0))
        self.copy(source, octets, u.max_octets, u.offset if inst.inst.in_packet else None)

    # ---------------------------------------------------------------- compress

    def compress(self, codec: ast.Codec, inst: Instance, args: list[ast.Expr]) -> None:
        """Writes the instance in the codec's form: of each group the first row that holds."""
        with self.codec_scope(codec, inst, args):
            self.codec_vars(codec)
            tag_octets = tag_width(codec) // 8
            self.room(tag_octets)
            tag_at = self.here() if self.walks else self.written()
            self.wrote(tag_octets, tag_octets)
            literal = sum(piece.value << tag_shift(codec, piece) for piece in codec.tag if piece.value is not None)
            tag = self.constant(tag_width(codec), as_sent(codec, literal)) if tag_octets else None
            second: ast.Group | None = None     # that was written with the first of two
            for i, group in enumerate(codec.groups):
                if group is second:
                    continue
                if (pair := self.written_alike(codec, i)) is not None:
                    tag = self.or_(tag, self.compress_twins(codec, inst, pair))
                    second = pair.twins.second
                    continue
                bits = variable(self, BitsType(tag_width(codec)), f"{codec.name}.tag") if group.tags else None
                self.compress_group(codec, inst, group, bits)
                if bits is not None:
                    tag = self.or_(tag, bits.get())
            if tag is not None:
                self.put(tag_at if self.walks else self.at(self.out, tag_at), 0, tag, little=True)
            self.meet_behind(args, {p: self.env[p] for p in codec.params if p.direction in ("out", "inout")})

    def codec_vars(self, codec: ast.Codec) -> None:
        second: ast.CodecVar | None = None      # that was found with the first of two
        for v, other in zip(codec.vars, [*codec.vars[1:], None]):
            if v is second:
                continue
            if (pair := self.searched_alike(v, other)) is not None:
                self.search_twins(pair)
                second = other
            else:
                self.codec_var(v)

    def codec_var(self, v: ast.CodecVar) -> None:
        place = self.env[v]
        if v.cond is None:
            if v.value is None:
                place.clear()
            else:
                place.set(self.value(v.value))
            return
        b = self.b
        parts = operands(v.cond, "&&")
        once = [part for part in parts if not mentions(part, v.loop)]
        if self.miss is not None and once:      # none is searched for
            usual = b.append_basic_block("usual")
            self.branch(once[0], self.miss, usual)
            b.position_at_end(usual)
            place.set(self.constant(place.width, int(v.low.const)))
            return
        self.search(v, place, once, [part for part in parts if part not in once])

    def compress_group(self, codec: ast.Codec, inst: Instance, group: ast.Group, bits: Place | None) -> None:
        """`bits`: those of the tag that say which row it is, as they are sent."""
        b = self.b
        done = b.append_basic_block(f"{codec.name}.written")
        before, most = self.at_most, 0
        rows = self.usual_rows(codec, group)
        if self.miss is not None and len(rows) == 1:
            self.row_holds(inst, rows[0])
            self.choose_row(codec, inst, group, rows[0], bits)
            b.branch(done)
            b.position_at_end(done)
            return
        for together in self.in_turns(rows):
            self.at_most = before
            goes_on = self.try_in_order(codec, inst, group, together, bits, done)
            most = max(most, self.at_most)
            if not goes_on:
                break
        else:
            if self.miss is not None:
                b.branch(self.miss)
            else:
                self.return_drop(i32(self.reason(group_reason(codec, group))))
        b.position_at_end(done)
        self.at_most = most
        self.rejoined()

    def try_in_order(self, codec: ast.Codec, inst: Instance, group: ast.Group, rows: list[ast.Row], bits: Place | None, done: ir.Block) -> bool:
        """Goes on where none of them holds; whether that may be."""
        b = self.b
        if len(rows) > 1:
            self.try_rows(codec, inst, group, rows, bits, done)
            return True
        nxt = b.append_basic_block("next")
        self.row_holds(inst, rows[0], nxt)
        self.choose_row(codec, inst, group, rows[0], bits)
        b.branch(done)
        b.position_at_end(nxt)
        if not self.may_fail(rows[0]):
            b.unreachable()
            return False
        return True

    def choose_row(self, codec: ast.Codec, inst: Instance, group: ast.Group, row: ast.Row, bits: Place | None) -> None:
        if bits is not None:
            number = sum(int(key.const or 0) << tag_shift(codec, name.decl) for name, key in zip(group.tags, row.keys))
            bits.set(self.constant(tag_width(codec), as_sent(codec, number)))
        self.write_row(inst, row)

    def may_fail(self, row: ast.Row) -> bool:
        """Whether the row asks anything of the header."""
        return any(isinstance(item, ast.RowWhere) or isinstance(item, ast.RowAssign) and not has_following(item.value)
                   or isinstance(item, ast.RowInline) and any(self.arm(t.target) or t.bits is not None for t in item.targets)
                   for item in row.items)

    def row_holds(self, inst: Instance, row: ast.Row, otherwise: ir.Block | None = None) -> None:
        self.items_hold(inst, row.items, otherwise)

    def items_hold(self, inst: Instance, items: list, otherwise: ir.Block | None) -> None:
        """Goes on where every assignment is true of the header, an in-line piece standing for what it is made from. Numbers are compared
        from their most significant words: rows that ask the same of these become one test. What does not hold of a row that is
        guessed ends the guess (no `otherwise`)."""
        def test(cond: ir.Value, alone: bool = True) -> None:
            if otherwise is None:
                self.as_guessed(cond)
            else:
                self.test_alone(cond, otherwise, alone)

        # what is guessed asks for the most first
        for item in sorted(items, key=lambda item: not isinstance(item, ast.RowAssign)) if otherwise is None else items:
            if isinstance(item, ast.RowWhere):
                test(self.condition(item.cond))
            elif isinstance(item, ast.RowAssign) and not has_following(item.value):
                test(self.chosen(inst, item.target))
                left, right = self.value(item.target), self.value(item.value)
                if isinstance(left, Val) and isinstance(right, Val):
                    limbs = list(zip(left.limbs, right.limbs))
                    for n, (x, y) in reversed(list(enumerate(limbs))):          # the words of a prefix are what rows share
                        test(self.eq(Val(32, (x,)), Val(32, (y,))), n > 1 or len(limbs) == 1)
                else:
                    test(self.equal(item.target, item.value))
            elif isinstance(item, ast.RowInline):
                for t in item.targets:
                    test(self.chosen(inst, t.target))
                    if t.bits is not None:
                        octets = inst.varbit_length(inst.layout.unit_of[t.target.decl])
                        size = self.bits_of(t.bits)
                        width = max(size.width, 32)
                        test(self.eq(self.resize(size, width), self.resize(Val(32, (self._shl(octets, 3),)), width)))

    @staticmethod
    def arm(target: ast.Expr | None) -> ast.ChoiceArm | None:
        decl = getattr(target, "decl", None)
        return decl if isinstance(decl, ast.ChoiceArm) else None

    def chosen(self, inst: Instance, target: ast.Expr | None) -> ir.Value:
        """A row that says an arm is for headers whose tag names it."""
        arm = self.arm(target)
        if arm is None:
            return self.bool_const(True)
        tag = inst.tag(arm.choice)
        return self.eq(tag, self.constant(tag.width, arm.number))

    def inline_piece(self, e: ast.InlinePiece):
        if self.parser_decl is not None:
            return self.row_take(e.type.width)
        return self.resize(self.bits_of(e.source), e.type.width)

    def write_row(self, inst: Instance, row: ast.Row) -> None:
        parts: list[Val] = []

        def flush() -> None:
            if parts:
                v = self.concat(*parts)
                self.room(v.width // 8)
                self.put(self.here(), 0, v)
                self.wrote(v.width // 8, v.width // 8)
                parts.clear()

        for bits, piece in inline_pieces(row):
            if isinstance(piece, ast.InlinePiece):
                parts.append(self.resize(self.bits_of(piece.source), bits))
            elif piece.target is None:
                parts.append(self.constant(bits, 0))
            elif piece.bits is not None:
                flush()
                u = inst.layout.unit_of[piece.target.decl]
                source, octets = inst.varbit(u)
                self.copy(source, octets, u.max_octets)
            else:
                parts.append(self.bits_of(piece.target))
        flush()


def as_sent(codec: ast.Codec, tag: int) -> int:
    """A tag's number as its octets are read from the least significant one on: they are written as they are."""
    return int.from_bytes(tag.to_bytes(tag_width(codec) // 8, "big"), "little")
