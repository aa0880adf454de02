"""Taking a header from the packet: where its units lie, and the checks its description asks for."""
from __future__ import annotations

from functools import cached_property

import llvmlite.ir as ir

from lpn.compiler.bits import PKT, Val, i32, is_const
from lpn.compiler.layout import Unit, field_width
from lpn.lang import ast
from lpn.lang.derive import Unsteady, unsteady
from lpn.lang.effects import effects
from lpn.lang.instances import walk
from lpn.lang.types import EnumType

from .conditions import known_key
from .instance import Instance
from .shapes import Shape, shapes

FEW_BITS = 4                                    # numbers so short are checked by what they must not be


class Extracts:
    """Mixed into `Lowering`; the cursor is the parser's."""

    def stack_element(self, e: ast.Member) -> Instance:
        f = e.base.decl
        index = self.stack_next.get(f, 0)
        if self.parser_decl is None:
            raise self.unsupported(e, f"'.{e.name}' outside a parser")
        if e.decl == "next" and index >= f.type.size:
            self.reject_now("StackOutOfBounds")
            self.b.position_at_end(self.b.append_basic_block("never"))      # what would be done with it
            return self.instance(f, index - 1)
        if e.decl == "next":
            return self.instance(f, index)
        return self.instance(f, max(index - 1, 0))

    def _call_extract(self, e: ast.Call) -> None:
        target = e.args[0]
        if self.is_full(target):
            self.reject_now("StackOutOfBounds")
            return
        inst = self.place(target)
        inst.known = None                       # of what it was before
        if e.via is not None:
            self.expand(e.via.codec, inst, e.via.args)
        else:
            inst.open = True
            self.want_early(target, inst)
            self.extract(inst)
            self.all_extracted(inst)
        self.extracted(target)

    def is_full(self, target: ast.Expr) -> bool:
        """Whether it is the next element of a stack that has no more."""
        return isinstance(target, ast.Member) and target.decl == "next" and self.stack_next.get(target.base.decl, 0) >= target.base.decl.type.size

    def extracted(self, target: ast.Expr) -> None:
        """From here on the element of a stack that was the next is the last."""
        if isinstance(target, ast.Member) and target.decl == "next":
            self.one_more(target.base.decl)

    def all_extracted(self, inst: Instance) -> None:
        inst.open, self.wanted = False, []
        self.nothing_left_out(inst)

    def extract(self, inst: Instance) -> None:
        """A plain header: first, of those that have any, its usual shapes, each straight down; then the rest."""
        units = inst.layout.units
        shape = self.usual_shape(inst)
        if shape is not None:
            self.extract_units(inst, units[:1], {})
            self.guess_shape(inst, shape, inst.read_unit(units[0]))
            self.extract_shape(inst, shape)
            return
        usual = shapes(inst.layout) if self.target.window and not self.meeting_point.arrived else []     # or they come from where they were guessed
        if not usual:
            self.extract_rest(inst, units)
            return
        self.extract_units(inst, units[:1], {})
        self.extract_later(inst, units[1:], usual)

    def extract_later(self, inst: Instance, units: list[Unit], usual: list[Shape], known: Shape | None = None) -> None:
        """The units behind the first one, or the first ones, of a header of any shape: first the usual ones. `known`: what is known of the others."""
        b = self.b
        word, done = inst.read_unit(inst.layout.units[0]), b.append_basic_block("extracted")
        before, after = (self.bound, self.look), []
        for shape in [*usual, None]:
            self.bound, self.look = before
            miss = None
            if shape is not None:
                hit, miss = b.append_basic_block("shape"), b.append_basic_block("shape.no")
                masked = self.and_(word, self.constant(word.width, shape.mask))
                self.likely(b.cbranch(self.eq(masked, self.constant(word.width, shape.value)), hit, miss))
                b.position_at_end(hit)
                self.extract_shape(inst, shape)
            elif known is not None and all(u in known.octets for u in units):
                self.extract_shape(inst, known)
            else:
                self.shape = known
                self.extract_rest(inst, units)
                self.shape = None
            after.append((self.bound, self.look))
            b.branch(done)
            if miss is not None:
                b.position_at_end(miss)
        b.position_at_end(done)
        self.bound, self.look = max(x for x, _ in after), max(x for _, x in after)

    def extract_shape(self, inst: Instance, shape: Shape) -> None:
        """What follows the first unit, of a header that has this shape."""
        self.shape = shape
        self.extract_units(inst, [u for u in inst.layout.units if u in shape.octets], {})
        self.end_header(inst, {})
        self.shape = None

    def place_again(self, inst: Instance, usual: list[Shape]) -> None:
        """Says anew where the runs of a header begin that is known to have one of these shapes: so much is not kept until it is asked for."""
        if len(usual) < 2 or not inst.inst.in_packet:
            return
        units, start = inst.layout.units, self.b.load(inst.base_slots[0], typ=PKT)
        word = inst.read_unit(units[0])
        hits = [self.eq(self.and_(word, self.constant(word.width, s.mask)), self.constant(word.width, s.value)) for s in usual[:-1]]
        for run in range(1, inst.layout.runs):
            before = units[1:next(i for i, u in enumerate(units) if u.run == run)]
            *firsts, at = [i32(units[0].octets + sum(s.octets[u] for u in before)) for s in usual]
            for hit, other in reversed(list(zip(hits, firsts))):
                at = at if is_const(at, other.constant) else self.b.select(hit, other, at)
            inst.set_base(run, self.at(start, at))

    def extract_rest(self, inst: Instance, units: list[Unit]) -> None:
        """What several parts of the header depend on is asked once, and the rest lowered for either answer."""
        split = shared_condition(inst.header, inst.layout)
        oversize: dict[ast.Field, ir.Value] = {}
        if split is None:
            self.extract_to_end(inst, units, oversize)
            return
        if units[0] is inst.layout.units[0]:
            self.extract_units(inst, units[:1], oversize)
            units = units[1:]
        b = self.b
        yes, no, done = (b.append_basic_block(n) for n in ("split.yes", "split.no", "split.done"))
        with self.this_is(inst):
            self.branch(split, yes, no)
        before, after = (self.bound, self.look), []
        for block, answer in ((yes, True), (no, False)):
            b.position_at_end(block)
            self.bound, self.look = before
            self.known = {(inst, known_key(split)): answer == (split.op == "==")}
            self.extract_units(inst, units, oversize)
            self.end_header(inst, oversize)
            after.append((self.bound, self.look))
            b.branch(done)
        self.known = {}
        b.position_at_end(done)
        self.bound, self.look = max(x for x, _ in after), max(x for _, x in after)

    def extract_units(self, inst: Instance, units: list[Unit], oversize: dict) -> None:
        for u in units:
            if inst.inst.in_packet and (u is inst.layout.units[0] or u.offset == 0):
                self.place_run(inst, u.run)
            if u.varbit:
                self.extract_varbit(inst, u, oversize)
            else:
                self.extract_unit(inst, u)

    def end_header(self, inst: Instance, oversize: dict) -> None:
        if self.look:                           # a header no longer than what was looked at
            self.require_lookahead()
        early = looks_at_others(inst.header)    # it follows them already
        if early:
            inst.set_valid(True)
        self.header_checks(inst, oversize)
        if not early:
            inst.set_valid(True)

    def extract_unit(self, inst: Instance, u: Unit) -> None:
        """A unit that is not a varbit. What may be absent is read all the same and then not counted."""
        known = self.shape.octets.get(u) if self.shape is not None else None
        octets = u.octets if known is None else known
        self.need(octets)
        if not inst.inst.in_packet:
            zero = self.absent(inst, u)
            if octets:
                v = self.load_packet(self.cursor(), 0, 8 * octets, u.little)
                if known is None and self.may_appear(inst, u):
                    v = inst.if_present(u, lambda: v, lambda: zero)
                inst.put(u, v)
            elif self.may_appear(inst, u):
                inst.put(u, zero)
        if known is not None:
            if u in inst.held:
                self.hold(inst, u, octets)
            self.advance_static(octets)
        elif u.variable:
            self.require_lookahead()
            if self.meeting_point.brief or u in inst.held:
                self.step_over(inst, u)
            else:
                self.b.store(self.at(self.cursor(), inst.octets(u)), self.cursor_slot)
            self.bound += u.octets
        else:
            self.advance_static(u.octets)

    def step_over(self, inst: Instance, u: Unit) -> None:
        """What may be absent, or of several sizes: each adds its octets where it is chosen. LLVM would choose a number and add that. What is held is taken
        there: nobody asks again whether it is."""
        b, done = self.b, self.b.append_basic_block("stepped")

        def step(octets: int) -> None:
            self.mark(keeps=True)
            if u in inst.held:
                self.hold(inst, u, octets)
            b.store(self.at(self.cursor(), octets), self.cursor_slot)
            b.branch(done)

        if u in inst.held:
            self.hold(inst, u, 0)
        if u.choice is None:
            there = b.append_basic_block("there")
            with self.this_is(inst):
                self.branch(u.when, there, done)
            b.position_at_end(there)
            step(u.octets)
        else:
            tag = inst.tag(u.choice)
            for arm in u.choice.arms:
                hit, miss = b.append_basic_block("arm"), b.append_basic_block("other")
                b.cbranch(self.eq(tag, self.constant(tag.width, arm.number)), hit, miss)
                b.position_at_end(hit)
                step(field_width(arm) // 8)
                b.position_at_end(miss)
            b.branch(done)
        b.position_at_end(done)

    def hold(self, inst: Instance, u: Unit, octets: int) -> None:
        """What lies at the cursor, or 0 where the part is absent."""
        inst.held[u].set(self.load_packet(self.cursor(), 0, u.bits, u.little) if octets else self.constant(u.bits, 0))

    def absent(self, inst: Instance, u: Unit) -> Val:
        """What a unit that is not in the packet has if it is there later: 0, or the constant that its equation gives."""
        for f, _ in u.fields:
            value = self.constant_equation(f)
            if value is not None and not f.deferred and (inst.inst.field, f) in self.derived:
                return value if isinstance(value, Val) else self.bool_to_bits(value)
        return self.constant(u.bits, 0)

    @cached_property
    def unsteady(self) -> Unsteady:
        return unsteady(self.program)

    def may_appear(self, inst: Instance, u: Unit) -> bool:
        """Whether a unit that was absent in the packet can be there later: its value is 0 then."""
        if u.when is None:
            return False
        return inst.local or any(e.kind == "copied" and e.instance is inst.inst.field for e in effects(self.program)) \
            or self.unsteady.decides(inst.inst.field, [u.when])

    def place_run(self, inst: Instance, run: int) -> None:
        """A run of units of a header in the packet begins at the cursor."""
        if run:
            self.joined()
        inst.set_base(run, self.cursor())

    def extract_varbit(self, inst: Instance, u: Unit, oversize: dict) -> None:
        start, sized = self.cursor(), u.varbit.sized
        with self.this_is(inst):
            bits = inst.if_present(u, lambda: self.bits_of(sized), lambda: self.constant(self.width_of(sized.type), 0))
        octets = self.whole_octets(bits, sized)
        self.advance_by(octets)
        if not inst.inst.in_packet:
            inst.set_varbit(u, start, octets)
        if u.when is None:                      # as it is said
            with self.this_is(inst):
                bits = self.bits_of(sized)
        oversize[u.varbit] = self.is_size(bits, octets, u)

    def is_size(self, bits: Val, octets: ir.Value, u: Unit) -> ir.Value:
        """Whether a varbit can have so many bits, which are so many octets."""
        fits = self.b.icmp_unsigned("<=", octets, i32(u.max_octets))
        return self.land(fits, self.b.icmp_unsigned("==", self._and(bits.limbs[0], i32(7)), i32(0)))

    def header_checks(self, inst: Instance, varbits: dict) -> None:
        """Named enum values, `in`, equations and `where`, in order of declaration."""
        header = inst.header
        with self.this_is(inst):
            known = self.shape.checked if self.shape is not None else frozenset()
            for item in header.items:
                if item in known:
                    continue
                if isinstance(item, ast.Where):
                    self.check_that(item.cond, item.reason or f"{header.name}.where")
                elif isinstance(item, ast.Word):
                    for f in item.fields:
                        if f not in known:
                            self.field_checks(inst, f)
                elif isinstance(item, ast.Field):
                    if item in varbits:
                        self.check(varbits[item], f"{header.name}.{item.name}")
                    else:
                        self.field_checks(inst, item)

    def field_checks(self, inst: Instance, f: ast.Field) -> None:
        """A field that is absent is not checked."""
        named = isinstance(f.type, EnumType) and len(f.type.decl.members) < 1 << field_width(f)
        equation = f.equation is not None and not f.deferred
        if not (named or f.values is not None or equation):
            return
        u, reason = inst.layout.unit_of[f], f"{inst.header.name}.{f.name}"
        b = self.b
        done = None
        if u.when is not None:
            there, done = b.append_basic_block("there"), b.append_basic_block("checked")
            self.branch(u.when, there, done)
            b.position_at_end(there)
        v = inst.slice_of(f)
        if f.values is not None and any(x.const is None for x in f.values):
            v = self.steady(v, len(f.values))
            self.check(self.any_of([self.matches(v, x) for x in f.values]), reason)
        elif f.values is not None or named:
            numbers = {int(x.const) for x in f.values} if f.values is not None else {m.number for m in f.type.decl.members}
            self.check(self.one_of(v, {n & (1 << v.width) - 1 for n in numbers}), reason)
        if equation:
            self.check(self.eq(v, self.bits_of(f.equation)), reason)
        if done is not None:
            b.branch(done)
            b.position_at_end(done)

    def one_of(self, v: Val, numbers: set[int]) -> ir.Value:
        """Whether it is one of these, asked by what it must not be where that is less."""
        others = set(range(1 << v.width)) - numbers if v.width <= FEW_BITS else numbers
        asked = min(numbers, others, key=len)
        v = self.steady(v, len(asked))
        found = self.any_of([self.eq(v, self.constant(v.width, n)) for n in sorted(asked)])
        return found if asked is numbers else self.lnot(found)

    def steady(self, v: Val, tests: int) -> Val:
        """A number that is compared with several constants. LLVM may make one test of them, a bit of a word that the number
        chooses; compared and chosen with is the same register then. A guess compares once."""
        if self.miss is not None or tests < 3 or v.const is not None or len(v.limbs) > 1:
            return v
        return Val(v.width, (self.opaque(v.limbs[0]),))

    def any_of(self, conds: list) -> ir.Value:
        r = self.bool_const(False)
        for c in conds:
            r = self.lor(r, c)
        return r

    def matches(self, v: Val, key: ast.Expr) -> ir.Value:
        """A keyset element: constant, `v &&& mask`, `lo..hi`, `_`."""
        if isinstance(key, ast.DontCare):
            return self.bool_const(True)
        if isinstance(key, ast.Binary) and key.op == "&&&":
            mask = self.resize(self.bits_of(key.right), v.width)
            return self.eq(self.and_(v, mask), self.and_(self.resize(self.bits_of(key.left), v.width), mask))
        if isinstance(key, ast.RangeSet):
            low, high = (self.resize(self.bits_of(x), v.width) for x in (key.low, key.high))
            signed = getattr(key.low.type, "signed", False)
            return self.land(self.less(low, v, or_equal=True, signed=signed), self.less(v, high, or_equal=True, signed=signed))
        return self.eq(v, self.resize(self.bits_of(key), v.width))

    def take_varbit(self, inst: Instance, t: ast.InlineTarget) -> None:
        """`inline(data : bits)` on expand."""
        u = inst.layout.unit_of[t.target.decl]
        start = self.cursor()
        bits = self.bits_of(t.bits)
        octets = self.whole_octets(bits, t.bits)
        self.advance_by(octets)
        self.reject_if_not(self.is_size(bits, octets, u), f"{inst.header.name}.{t.target.decl.name}", self.cursor())
        inst.set_varbit(u, start, octets)


def looks_at_others(header: ast.Header) -> bool:
    """Whether a check of the header looks at its parameters, whose sizes and sums may count what follows them."""
    checks = [item.cond for item in header.items if isinstance(item, ast.Where)]
    checks += [f.equation for f in header.fields() if f.equation is not None and not f.deferred]
    return any(isinstance(node, ast.Name) and node.decl in header.params for e in checks for node in walk(e))


def shared_condition(header: ast.Header, layout) -> ast.Binary | None:
    """A comparison of a field with a constant that at least two `when` or `where` conditions make, the field being of the
    first unit: deciding it once is shorter than deciding it each time."""
    counts: dict[tuple, list[ast.Binary]] = {}
    for item in header.items:
        cond = item.cond if isinstance(item, ast.Where) else getattr(item, "when", None)
        if cond is None:
            continue
        found = {known_key(n): n for n in walk(cond) if known_key(n) is not None}
        for key, node in found.items():
            counts.setdefault(key, []).append(node)
    best = max(counts.values(), key=len, default=[])
    if len(best) < 2 or layout.unit_of[best[0].left.decl] is not layout.units[0]:
        return None
    return best[0]
