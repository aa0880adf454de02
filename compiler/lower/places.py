"""Places: what an LPN name or member stands for while it is lowered. A place is read with `get`, written with `set`."""
from __future__ import annotations

from collections.abc import Callable

import llvmlite.ir as ir

from lpn.compiler.bits import I1, I32, Val, limb_count
from lpn.compiler.state import cell_layout, is_big_endian, scalar_octets, scalar_width
from lpn.lang import ast
from lpn.lang.types import Bool, StructType, Type


class Place:
    type: Type

    def get(self):
        raise TypeError(f"{type(self).__name__} is not a value")

    def set(self, value) -> None:
        raise TypeError(f"{type(self).__name__} cannot be assigned")


class Value(Place):
    """A value that needs no storage: constants, `in` parameters."""

    def __init__(self, type_: Type, value):
        self.type, self.value = type_, value

    def get(self):
        return self.value


class Scalar(Place):
    """A variable of type bit<N>, enum or bool, in stack slots that LLVM turns into registers."""

    def __init__(self, lower, type_: Type, name: str):
        self.lower, self.type = lower, type_
        self.is_bool = isinstance(type_, Bool)
        self.width = scalar_width(type_)
        if self.is_bool:
            self.slots = [lower.alloca(I1, name)]
        else:
            self.slots = [lower.alloca(I32, name) for _ in range(limb_count(self.width))]

    def clear(self) -> None:
        for slot in self.slots:
            self.lower.b.store(ir.Constant(I1 if self.is_bool else I32, 0), slot)

    def get(self):
        b = self.lower.b
        if self.is_bool:
            return b.load(self.slots[0], typ=I1)
        return Val(self.width, tuple(b.load(s, typ=I32) for s in self.slots))

    def set(self, value) -> None:
        b = self.lower.b
        if self.is_bool:
            b.store(value, self.slots[0])
        else:
            for slot, limb in zip(self.slots, value.limbs):
                b.store(limb, slot)


class Swapped(Scalar):
    """A number of whole words, each kept as it lies in memory: LLVM does not swap again what was copied from there."""

    def get(self):
        return self.swapped(super().get())

    def set(self, value) -> None:
        super().set(self.swapped(value))

    def swapped(self, value: Val) -> Val:
        return Val(self.width, tuple(self.lower._swap(limb, 4) for limb in value.limbs))


class Part(Value):
    """Some bits of a variable that is one number."""

    def __init__(self, lower, type_: Type, whole: Scalar, shift: int):
        self.lower, self.type, self.whole, self.shift, self.width = lower, type_, whole, shift, scalar_width(type_)

    def clear(self) -> None:
        self.set(self.lower.constant(self.width, 0))

    @property
    def value(self) -> Val:
        return self.lower.slice(self.whole.get(), self.shift + self.width - 1, self.shift)

    def set(self, value: Val) -> None:
        low, width = self.lower, self.whole.width
        kept = low.and_(self.whole.get(), low.constant(width, ~(((1 << self.width) - 1) << self.shift)))
        self.whole.set(low.or_(kept, low.shift(low.resize(value, width), low.constant(32, self.shift), left=True)))


class StructPlace(Place):
    """A struct variable: a place for each field."""

    def __init__(self, type_: StructType, fields: dict[str, Place]):
        self.type, self.fields = type_, fields

    @classmethod
    def variable(cls, lower, type_: StructType, name: str) -> "StructPlace":
        return cls(type_, {f.name: variable(lower, f.type, f"{name}.{f.name}") for f in type_.decl.fields})

    def clear(self) -> None:
        for place in self.fields.values():
            place.clear()

    def get(self):
        return self

    def set(self, value: Place) -> None:
        for name, place in self.fields.items():
            place.set(member(value, name).get())


class MadeAnew(Place):
    """A struct that a function makes each time one of its members is read: what is not read is not made. `call`: of that function."""

    def __init__(self, type_: StructType, make: Callable[[], Place], call: ast.Call | None = None):
        self.type, self.get, self.call = type_, make, call


class ValueAnew(Value):
    """A value that is computed each time it is read."""

    def __init__(self, type_: Type, make: Callable[[], object]):
        self.type, self.get = type_, make

    @property
    def value(self):
        return self.get()


class StateCell(Place):
    """A register, counter, array cell or a field of one, in the state region. `inside` is None, or an i1 that is false
    when an index is out of range: then reads give 0 and writes are ignored."""

    def __init__(self, lower, type_: Type, pointer: ir.Value, inside: ir.Value | None = None):
        self.lower, self.type, self.pointer, self.inside = lower, type_, pointer, inside

    def member(self, name: str) -> "StateCell":
        _, _, offsets = cell_layout(self.type)
        f = next(f for f in self.type.decl.fields if f.name == name)
        return StateCell(self.lower, f.type, self.lower.at(self.pointer, offsets[name]), self.inside)

    def get(self):
        if isinstance(self.type, StructType):
            return self
        low, width = self.lower, scalar_width(self.type)
        bits = 8 * scalar_octets(width)
        with low.region("state"):
            v = low.load(self.pointer, 0, bits, little=not is_big_endian(width))
        if low.apart:
            v = Val(v.width, tuple(low.opaque(limb) for limb in v.limbs))
        v = low.resize(v, width)
        if self.inside is not None:
            v = low.select(self.inside, v, low.constant(width, 0))
        return low.b.trunc(v.limbs[0], I1) if isinstance(self.type, Bool) else v

    def set(self, value) -> None:
        low = self.lower
        if isinstance(self.type, StructType):
            for f in self.type.decl.fields:
                self.member(f.name).set(member(value, f.name).get())
            return
        if isinstance(self.type, Bool):
            value = low.bool_to_bits(value)
        width = scalar_width(self.type)
        wide = low.resize(value, 8 * scalar_octets(width))
        if self.inside is None:
            self._store(wide)
            return
        with low.b.if_then(self.inside):
            self._store(wide)

    def _store(self, v: Val) -> None:
        low = self.lower
        with low.region("state"):
            low.store(self.pointer, 0, v, little=not is_big_endian(scalar_width(self.type)))
        if low.record_in_memory:                # else LLVM makes one store of this one and one into the record, of either pointer
            low.mark(keeps=True)


class ContextSlot(Place):
    """A field of `node` or `meta` that the engine provides."""

    def __init__(self, lower, type_: Type, offset: int):
        self.lower, self.type, self.offset = lower, type_, offset

    def get(self):
        low, width = self.lower, scalar_width(self.type)
        v = low.load(low.ctx, self.offset, 32 if width <= 32 else 64, little=True)
        # opaque, or LLVM makes one load of two, at an address that no verifier knows
        return low.resize(Val(v.width, tuple(low.opaque(limb) for limb in v.limbs)), width)


def variable(lower, type_: Type, name: str) -> Place:
    """A new variable, not initialised."""
    if isinstance(type_, StructType):
        return StructPlace.variable(lower, type_, name)
    return Scalar(lower, type_, name)


def member(place: Place, name: str) -> Place:
    if isinstance(place, StructPlace):
        return place.fields[name]
    if isinstance(place, StateCell):
        return place.member(name)
    if isinstance(place, MadeAnew):
        return member(place.get(), name)
    raise TypeError(f"{type(place).__name__} has no member {name}")


def as_it_is(type_: Type, value) -> Place:
    """What a place of this type holds now, whatever is assigned to it later. `value`: as of `get`."""
    if not isinstance(type_, StructType):
        return Value(type_, value)
    return StructPlace(type_, {f.name: as_it_is(f.type, member(value, f.name).get()) for f in type_.decl.fields})
