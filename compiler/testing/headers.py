"""Values for headers: fields drawn so that the header's own checks hold."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import assume, strategies as st

from lpn.compiler.generate.looked_for import Interest, set_of
from lpn.lang import ast
from lpn.lang.check.headers import mentioned
from lpn.lang.reference.headers import Instance
from lpn.lang.reference.packet import Packet
from lpn.lang.reference.run import Run
from lpn.lang.reference.state import State
from lpn.lang.reference.values import StackValue, width_of
from lpn.lang.types import EnumType, Varbit

from .numbers import Draw, looked_for, one_of, payloads

NOTHING = Interest()
LONGEST = 48                                    # octets of a varbit: a header has to fit the output


def declared(program: ast.Program, name: str) -> Any:
    """The declaration `name`, wherever it was imported from."""
    return next(decl for decl in program.decls if getattr(decl, "name", None) == name)


def fresh(program: ast.Program, payload: bytes = b"", state: State | None = None, meta: Mapping[str, int] | None = None) -> Run:
    """Invalid instances of the program's headers, all equations computed, in front of `payload`."""
    run = Run(program, lambda decl, field: True, payload, dict(meta or {}), state or State(program))
    run.packet = Packet(payload)
    return run


def scalar(draw: Draw, instance: Instance, item: ast.Field, wanted: Interest = NOTHING) -> Any:
    """A value that the field's own checks allow."""
    if isinstance(item.type, EnumType):
        allowed = [member.number for member in item.type.decl.members]
    elif item.values is not None:
        inside = range(1 << min(width_of(item.type), 10))
        sought = (number for number in wanted.get(item, ()) if number < 1 << width_of(item.type))
        allowed = sorted({*inside, *(number for each in item.values for number in set_of(each)), *sought})
    else:
        return draw(looked_for(wanted, item, width_of(item.type)))
    fit = tuple(each for each in allowed if allows(instance, item, each))
    some = tuple(each for each in fit if each in wanted.get(item, ()))
    return draw(st.one_of(one_of(some), one_of(fit)) if some else one_of(fit))


def allows(instance: Instance, item: ast.Field, value: int) -> bool:
    """Whether the field's `in { ... }` has the value."""
    scope = instance.run.header_scope(instance)
    return item.values is None or any(instance.run.matches(value, each, scope) for each in item.values)


def run_of_bytes(draw: Draw, instance: Instance, item: ast.Field) -> bytes:
    """Bytes for a varbit whose `sized` expression agrees with what is derived from their number, or with a length field,
    which is drawn anew where it gives too many."""
    assert isinstance(item.type, Varbit)
    first = draw(st.integers(0, LONGEST // 2))
    for size in (*range(first, first + 16), *range(first), *range(first + 16, LONGEST)):
        if sized(instance, item) == size:
            return draw(st.binary(min_size=size, max_size=size))
        instance.stored[item] = bytes(size)
        if 8 * size <= item.type.max_width and sized(instance, item) == size:
            return draw(st.binary(min_size=size, max_size=size))
    assert item.sized is not None
    for other in sorted(mentioned(item.sized, instance.header), key=lambda one: one.name):
        if other.equation is None and instance.present(other):
            fit = [value for value in range(1 << min(8, width_of(other.type))) if allows(instance, other, value)
                   and small(instance, item, other, value)]
            if fit:
                instance.stored[other] = draw(one_of(tuple(fit)))
                size = sized(instance, item)
                return draw(st.binary(min_size=size, max_size=size))
    size = sized(instance, item)
    assume(0 <= 8 * size <= item.type.max_width)    # other headers say it, and say more than there is room for
    return draw(st.binary(min_size=size, max_size=size))


def sized(instance: Instance, item: ast.Field) -> int:
    """Octets that the varbit's expression says."""
    assert item.sized is not None
    return int(instance.evaluate(item.sized)) // 8          # type: ignore[call-overload]


def small(instance: Instance, item: ast.Field, other: ast.Field, value: int) -> bool:
    """Whether this value of another field gives the varbit a size that is drawn."""
    assert isinstance(item.type, Varbit)
    instance.stored[other] = value
    return sized(instance, item) <= min(LONGEST, item.type.max_width // 8)


def fill(draw: Draw, instance: Instance, fixed: Mapping[str, int] = {}, wanted: Interest = NOTHING) -> None:
    """Give every field a value so that the header's checks hold; equations are computed when it is read. `fixed`: values
    by the field's name."""
    instance.clear()
    instance.valid = True
    for item in instance.header.items:
        if isinstance(item, ast.ChoiceField):
            for arm in item.arms:
                if arm.number == instance.read(item.tag.decl):
                    instance.arms[item] = (arm, draw(looked_for(wanted, arm, width_of(arm.type))))
        elif not isinstance(item, ast.Where):
            for part in item.fields if isinstance(item, ast.Word) else [item]:
                if part.equation is not None and not part.deferred or not instance.present(part):
                    continue
                if part.name in fixed:
                    instance.stored[part] = fixed[part.name]
                elif isinstance(part.type, Varbit):
                    instance.stored[part] = run_of_bytes(draw, instance, part)
                else:
                    instance.stored[part] = scalar(draw, instance, part, wanted)
    for item in instance.header.items:
        if isinstance(item, ast.Where):
            assume(instance.evaluate(item.cond))


def some(draw: Draw, value: Any) -> Iterator[Instance]:
    """A header; of a stack, its first ones."""
    if isinstance(value, StackValue):
        yield from value.elements[:draw(st.integers(0, len(value.elements)))]
    else:
        yield value


# Strategies that depend on a program are made inside a function: Hypothesis prints a strategy's arguments, and a
# program is long.

def in_order(program: ast.Program, fixed: Mapping[str, Mapping[str, int]] = {}) -> st.SearchStrategy[bytes]:
    """The program's headers one behind the other, satisfying every check, and a payload: packets for a program that takes
    them so. `fixed`: values of fields, by the header's name."""
    @st.composite
    def make(draw: Draw) -> bytes:
        run = fresh(program, draw(payloads))
        assert run.headers is not None
        chosen = [each for value in run.headers.fields.values() for each in some(draw, value)]
        for instance in chosen:
            fill(draw, instance, fixed.get(instance.name, {}))
        return b"".join(instance.emit() for instance in chosen) + run.packet.rest

    return make()
