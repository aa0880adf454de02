"""A header instance while a module is lowered: its validity, where its units lie, reading and writing its fields."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import llvmlite.ir as ir

from lpn.compiler.bits import I1, I8, I16, I32, PKT, Val, i32
from lpn.compiler.layout import VARBIT_SLOT, InstanceLayout, Unit, field_width
from lpn.lang import ast
from lpn.lang.types import Bits, Bool

from .places import Place, Scalar


MOST_HELD = 32                                  # bits of a part that is kept


class Instance(Place):
    """`lower.this_is(instance)` makes bare field names mean this instance's. `stays`: it is always the same header."""

    stays = True

    def __init__(self, lower, inst: InstanceLayout, local: bool = False):
        self.lower, self.inst = lower, inst
        self.layout, self.header = inst.layout, inst.header
        self.local = local                      # a parser's own header: not in the record
        self.in_record = (lower.record_in_memory or inst.field in lower.recorded) and not local     # else in variables alone
        self.late = inst.field in lower.found_late and inst.in_packet and not local     # see found_late.py
        self.open = False                       # being extracted: fields read as they came from the wire
        self.known: tuple[int, int] | None = None       # (mask, value): bits of the first unit that are known here
        self.told: dict[ast.Field, Val] = {}    # fields that are told apart here; see parted.py
        self.valid_slot = lower.alloca(I1, f"{inst.name}.valid")
        self.image: ir.Value | None = None
        self.where: str | None = None           # the region that the image lies in, for LLVM
        self.aside: dict[Unit, Scalar] = {}     # what of the image is in variables all the same
        self.base_slots: list[ir.Value] = []
        self.varbit_slots: dict[Unit, tuple[ir.Value, ir.Value]] = {}
        self.written: dict[Unit, None] = {}     # of the image, on any way
        self.held: dict[Unit, Scalar] = {}      # of a header that stays in the packet: parts that may be absent, as they were taken
        if inst.in_packet:
            self.base_slots = [lower.alloca(PKT, f"{inst.name}.base{r}") for r in range(inst.layout.runs)]
            self.held = {u: Scalar(lower, Bits(u.bits), inst.name) for u in inst.layout.units if self.is_held(u)}
        elif inst in lower.laid_out and not local:
            self.image, self.where = lower.image_in_memory(inst, local), "out"
            self.aside = {u: Scalar(lower, Bits(u.bits), inst.name) for u in lower.said_last(inst)}
        elif (image := lower.image_in_memory(inst, local)) is not None:
            self.image = image
        else:
            size = (inst.layout.image_size + 3) & ~3
            self.image = lower.alloca(ir.ArrayType(I8, max(size, 4)), f"{inst.name}.image", align=8)
            lower.at_entry(self.clear)
            for u in inst.layout.units:
                if u.varbit:
                    self.varbit_slots[u] = (lower.alloca(PKT, f"{inst.name}.{u.varbit.name}"),
                                            lower.alloca(I32, f"{inst.name}.{u.varbit.name}.len"))
        if lower.record_in_memory and not local and lower.parser_decl is None:
            lower.at_entry(self.begin_absent if lower.handles else self.load_from_record)

    def is_held(self, u: Unit) -> bool:
        """Whether a part is kept when it is taken. Without a window that would be a test more, whoever reads it."""
        return self.local and u.when is not None and 0 < u.bits <= MOST_HELD and self.lower.target.window > 0

    def begin_absent(self) -> None:
        """At the entry of a handler, whose packet is empty: what it does not make valid is not emitted, counted or summed."""
        low = self.lower
        low.b.store(ir.Constant(I1, 0), self.valid_slot)
        for slot in self.base_slots:
            low.b.store(low.pkt, slot)

    def load_from_record(self) -> None:
        """At the entry of a module that is not the parser: the record says what is valid and where it lies. It is not
        trusted: offsets beyond the packet are refused before the module does anything."""
        if not self.late:
            self.lower.b.store(self.recorded_valid(), self.valid_slot)
            self.lower.entry_checks += self.find()

    def recorded_valid(self) -> ir.Value:
        low, b = self.lower, self.lower.b
        flag = b.load(low.at(low.rec, self.inst.valid), typ=I8, align=1)
        # All who write it write 0 or 1: where it is copied, to another element of a stack, say, no branch makes it one of them.
        flag.set_metadata("range", b.module.add_metadata([ir.Constant(I8, 0), ir.Constant(I8, 2)]))
        return b.icmp_unsigned("!=", flag, ir.Constant(I8, 0))

    def find(self) -> list[ir.Value]:
        """Where the record says that it lies, which counts once it is compared with the packet's end."""
        low, b, found = self.lower, self.lower.b, []
        for slot, offset in zip(self.base_slots, self.inst.bases):
            at = b.zext(b.load(low.at(low.rec, offset), typ=I16, align=2), I32)
            found.append(low.at(low.pkt, at))
            b.store(found[-1], slot)
        return found

    @contextmanager
    def found_here(self) -> Iterator[None]:
        """What is late is looked for where it is valid."""
        if not self.late:
            yield
            return
        low = self.lower
        for pointer in self.find():
            self.in_packet_or_refused(pointer)
        low.b.store(ir.Constant(I1, 1), self.valid_slot)
        self.late = False
        yield
        self.late = True

    def in_packet_or_refused(self, pointer: ir.Value) -> None:
        self.lower.reject_unless(self.lower.b.icmp_unsigned("<=", pointer, self.lower.end), "RecordMismatch")

    # ---- validity

    def valid(self) -> ir.Value:
        return self.recorded_valid() if self.late else self.lower.b.load(self.valid_slot, typ=I1)

    def set_valid(self, value: bool | ir.Value) -> None:
        low = self.lower
        if low.miss is not None:
            low.touched[self] = None
        flag = ir.Constant(I1, int(value)) if isinstance(value, bool) else value
        low.b.store(flag, self.valid_slot)
        if self.in_record:
            octet = ir.Constant(I8, int(value)) if isinstance(value, bool) else low.b.zext(flag, I8)
            low.b.store(octet, low.at(low.rec, self.inst.valid), align=1)

    def set_base(self, run: int, pointer: ir.Value) -> None:
        """Where a run of units of a header in the packet begins. The record learns it at once, so that nothing has to be
        kept for the end; it counts only if the header is valid."""
        low = self.lower
        low.b.store(pointer, self.base_slots[run])
        if self.in_record:
            low._store(low.rec, self.inst.bases[run], 2, low.distance(low.pkt, pointer))

    def put(self, u: Unit, v: Val, little: bool | None = None) -> None:
        """Writes a unit of the image, or an arm of a choice, whatever the fields say of it."""
        self.written[u] = None
        if u in self.aside:
            self.aside[u].set(v)
            return
        with self.lower.region(self.where):
            self.lower.store(self.image, u.image, v, u.little if little is None else little)

    def clear(self) -> None:
        """Zeros for all units of the image: no path may read a stack octet that was never written. The output buffer is all zeros before."""
        if self.where == "out":
            return
        for u in self.layout.units:
            self.lower.store(self.image, u.image, self.lower.constant(8 * VARBIT_SLOT if u.varbit else u.bits, 0), u.little)

    def begin_anew(self) -> None:
        """As before the packet was looked at."""
        low = self.lower
        self.set_valid(False)
        for slot in self.base_slots:
            low.b.store(low.pkt, slot)
        for held in self.held.values():
            held.clear()
        if self.image is not None:
            self.clear()
        for pointer, octets in self.varbit_slots.values():
            low.b.store(low.pkt, pointer)
            low.b.store(i32(0), octets)

    def become(self, other: "Instance", units: Iterable[Unit]) -> None:
        """Takes over validity and the values of these units from another header of the same type; both have an image, or both
        lie in the packet."""
        low = self.lower
        self.known = None
        for run, base in enumerate(other.base_slots):
            self.set_base(run, low.b.load(base, typ=PKT))
        for u in units if self.image is not None else ():
            if u in self.varbit_slots or u in other.varbit_slots:
                self.set_varbit(u, *other.varbit(u))
                continue
            if u in self.aside or u in other.aside:
                self.put(u, other.read_unit(u))
                continue
            at, end = u.image, u.image + (VARBIT_SLOT if u.varbit else u.octets)
            while at < end:
                size = next(n for n in (4, 2, 1) if n <= end - at)
                low._store(self.image, at, size, low._load(other.image, at, size))
                at += size
        self.set_valid(other.valid())

    def make_valid(self) -> None:
        """setValid(): all fields become 0 if the header was invalid."""
        low = self.lower
        self.known = None
        with low.b.if_then(low.lnot(self.valid())):
            for u in self.layout.units:
                if u.varbit:
                    self.set_varbit(u, low.pkt, i32(0))
                else:
                    self.put(u, low.constant(u.bits, 0))
            for f in self.header.fields():
                value = low.constant_equation(f) if not f.deferred else None
                if value is not None:
                    self.write_stored(f, value)
        self.set_valid(True)

    # ---- where units are

    def pointer(self, u: Unit) -> tuple[ir.Value, int]:
        """(base, constant offset) of a unit."""
        if self.late:                           # others ask for it: how much follows them, say
            base = self.lower.at(self.lower.pkt, self.lower._load(self.lower.rec, self.inst.bases[u.run], 2))
            self.in_packet_or_refused(base)
            return base, u.offset
        if self.inst.in_packet:
            return self.lower.b.load(self.base_slots[u.run], typ=PKT), u.offset
        return self.image, u.image

    def if_present(self, u: Unit, then, otherwise):
        """`then()` where the unit is there, `otherwise()` where its `when` says that it is not."""
        low = self.lower
        if u.when is None:
            return then()
        with low.this_is(self):
            return low.choose(u.when, then, otherwise)

    def tag(self, choice: ast.ChoiceField) -> Val:
        with self.lower.this_is(self):
            return self.lower.bits_of(choice.tag)

    def varbit(self, u: Unit) -> tuple[ir.Value, ir.Value]:
        """(pointer to the first octet, octets as i32). With the record in memory both come from it: an offset beyond the
        packet's end is the record's mismatch."""
        low = self.lower
        if self.inst.in_packet:
            base, offset = self.pointer(u)
            return low.at(base, offset), self.varbit_length(u)
        if u in self.varbit_slots:
            return low.b.load(self.varbit_slots[u][0], typ=PKT), self.varbit_length(u)
        offset = low.b.zext(low.b.load(low.at(self.image, u.image), typ=I16, align=2), I32)
        return low.packet_at(offset), self.varbit_length(u)

    def varbit_length(self, u: Unit) -> ir.Value:
        """Octets of a varbit that is there, as i32."""
        low = self.lower
        if self.inst.in_packet:
            return self.varbit_octets(u)
        if u in self.varbit_slots:
            return low.b.load(self.varbit_slots[u][1], typ=I32)
        return low.b.zext(low.b.load(low.at(self.image, u.image + 2), typ=I16, align=2), I32)

    def set_varbit(self, u: Unit, pointer: ir.Value, octets: ir.Value) -> None:
        low = self.lower
        self.written[u] = None
        if u in self.varbit_slots:
            p, n = self.varbit_slots[u]
            low.b.store(pointer, p)
            low.b.store(octets, n)
            return
        low.b.store(low.b.trunc(low.distance(low.pkt, pointer), I16), low.at(self.image, u.image), align=2)
        low.b.store(low.b.trunc(octets, I16), low.at(self.image, u.image + 2), align=2)

    def varbit_octets(self, u: Unit) -> ir.Value:
        """The size that `sized` gives, in octets."""
        low = self.lower
        with low.this_is(self):
            return low.whole_octets(low.bits_of(u.varbit.sized), u.varbit.sized)

    def octets(self, u: Unit) -> ir.Value:
        """The unit's size now, as i32."""
        low = self.lower
        if u.choice:
            tag = self.tag(u.choice)
            arms = [(arm.number, i32(field_width(arm) // 8)) for arm in u.choice.arms]
            return low.by_number(tag, arms, i32(0))
        return self.if_present(u, lambda: self.varbit_length(u) if u.varbit else i32(u.octets), lambda: i32(0))

    @property
    def lies_whole(self) -> bool:
        """Whether it is sent as it lies in the packet, and copied as one, as a varbit of it would be anyway: where other parts may be absent, too, or code
        is to be short."""
        low, units = self.lower, self.layout.units
        if not self.inst.in_packet or self.open or low.target.name != "lpn" or not any(u.varbit for u in units):
            return False
        return low.target.small or sum(u.variable for u in units) > 1

    def size(self) -> ir.Value:
        """The header's size now, uncompressed, whatever its validity."""
        if self.lies_whole:
            return self.whole()[1]
        total = i32(0)
        for u in self.layout.units:
            total = self.lower.add32(total, self.octets(u))
        return total

    def whole(self) -> tuple[ir.Value, ir.Value]:
        """(pointer to the first octet, octets as i32) of a header in the packet."""
        low, last = self.lower, self.layout.units[-1]
        (first, _), (base, offset) = self.pointer(self.layout.units[0]), self.pointer(last)
        return first, low.add32(low.distance(first, base), low.add32(i32(offset), self.octets(last)))

    # ---- fields

    def load(self, base: ir.Value, offset: int, width: int, little: bool) -> Val:
        if self.inst.in_packet:
            return self.lower.load_packet(base, offset, width, little)
        with self.lower.region(self.where):
            return self.lower.load(base, offset, width, little)

    def read_unit(self, u: Unit) -> Val:
        if u in self.aside:
            return self.aside[u].get()
        base, offset = self.pointer(u)
        v = self.load(base, offset, u.bits, u.little)
        if self.known is not None and u is self.layout.units[0]:
            mask, value = (self.lower.constant(u.bits, x) for x in self.known)
            v = self.lower.or_(self.lower.and_(v, self.lower.not_(mask)), value)
        return v

    def write_unit(self, u: Unit, v: Val) -> None:
        if u is self.layout.units[0]:
            self.known = None
        if not self.inst.in_packet:
            self.put(u, v)
            return
        base, offset = self.pointer(u)
        if not self.lower.surely_there(self.inst):
            base = self.lower.prove_writable(base, offset + u.octets)
        self.lower.store(base, offset, v, u.little)

    def read(self, f: ast.Field) -> Val | ir.Value:
        """The field's value: derived ones from their equation, absent ones are 0. Bools as i1."""
        low = self.lower
        if self.open or (self.inst.field, f) not in low.derived:
            return self.read_stored(f)
        constant = low.constant_equation(f)
        if constant is not None and f.when is None:
            return constant
        if constant is not None and not low.stored_differs(self.inst.field, f):
            return self.read_stored(f)
        v = self.if_present(self.layout.unit_of[f], lambda: self.equation(f), lambda: low.constant(field_width(f), 0))
        return low.truth(v) if isinstance(f.type, Bool) else v

    def computed(self, f: ast.Field) -> Val | ir.Value:
        """What the equation of a field gives, where that is there. Bools as i1."""
        return self.lower.truth(self.equation(f)) if isinstance(f.type, Bool) else self.equation(f)

    def read_stored(self, f: ast.Field) -> Val | ir.Value:
        low, u = self.lower, self.layout.unit_of[f]
        said = low.lazy.get((self, f))
        if u in self.held:                      # 0 where it is absent
            v = self.part(self.held[u].get(), f)
        else:
            v = self.if_present(u, lambda: self.slice_of(f) if said is None else low.resize(low.bits_of(said), field_width(f)),
                                lambda: low.constant(field_width(f), 0))
        return low.truth(v) if isinstance(f.type, Bool) else v

    def slice_of(self, f: ast.Field) -> Val:
        """The field's bits, for one that is there."""
        if f in self.told:
            return self.told[f]
        return self.part(self.read_unit(self.layout.unit_of[f]), f)

    def part(self, unit: Val, f: ast.Field) -> Val:
        shift = self.layout.shift_of[f]
        return self.lower.slice(unit, shift + field_width(f) - 1, shift)

    def equation(self, f: ast.Field) -> Val:
        low = self.lower
        with low.this_is(self):
            return low.bits_of(f.equation)

    def write_stored(self, f: ast.Field, v: Val | ir.Value) -> None:
        low = self.lower
        if isinstance(f.type, Bool):
            v = low.bool_to_bits(v)
        u = self.layout.unit_of[f]
        if len(u.fields) > 1:
            v = self.insert(u, self.read_unit(u), f, v)
        self.write_unit(u, v)

    def insert(self, u: Unit, whole: Val, f: ast.Field, v: Val) -> Val:
        """The unit's number `whole` with field `f` replaced."""
        low = self.lower
        shift = self.layout.shift_of[f]
        mask = ((1 << v.width) - 1) << shift
        kept = low.and_(whole, low.constant(u.bits, ~mask))
        return low.or_(kept, low.shift(low.resize(v, u.bits), low.constant(32, shift), left=True))

    def write(self, f: ast.Field, v: Val | ir.Value) -> None:
        """An assignment; setting a choice's tag to another value makes the new arm's value 0."""
        for u in self.layout.units:
            if u.choice and u.choice.tag.decl is f:
                changed = self.lower.lnot(self.lower.eq(self.tag(u.choice), v))
                with self.lower.b.if_then(changed):
                    self.put(u, self.lower.constant(u.bits, 0))
        self.write_stored(f, v)

    # ---- choices

    def read_arm(self, arm: ast.ChoiceArm) -> Val:
        low = self.lower
        u = self.layout.unit_of[arm.choice]
        base, offset = self.pointer(u)
        width = field_width(arm)
        v = self.load(base, offset, width, arm.little)
        zero = low.constant(width, 0)
        tag = self.tag(arm.choice)
        return low.select(low.eq(tag, low.constant(tag.width, arm.number)), v, zero)

    def write_arm(self, arm: ast.ChoiceArm, v: Val) -> None:
        low = self.lower
        u = self.layout.unit_of[arm.choice]
        tag = arm.choice.tag.decl
        self.write(tag, low.constant(field_width(tag), arm.number))        # other choices may have the same tag
        if not low.images_in_memory:            # in variables whole words, not halves from here and there
            v = low.resize(Val(v.width, tuple(low.opaque(limb) for limb in v.limbs)), u.bits)
            v = v if arm.little else low.shift(v, low.constant(32, u.bits - field_width(arm)), left=True)
        self.put(u, v, arm.little)
