"""Which equation fields are computed rather than kept, and which headers live in the packet rather than in a copy.

Both are decided once for the whole program, whatever the path; compiler and reference ask here.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from . import ast
from .check.codecs import said_by
from .check.headers import mentioned, needs_payload
from .check.sums import extracted_again, sums_payload
from .effects import Effect, effects
from .instances import header_of, walk
from .types import HeaderType, Varbit


class Derived(frozenset):
    """Pairs (field of the headers struct, header field). `derived(instance, field)` asks for one."""

    def __call__(self, instance: object, field: ast.Field) -> bool:
        return (instance, field) in self


def derived(program: ast.Program) -> Derived:
    """The equation fields that have no value of their own: reading and emitting them evaluates the equation.

    A field is derived where its instance is extracted through a codec that never says the field, and where something its
    equation may depend on is changed after extraction.
    """
    struct = program.headers_struct
    if struct is None:
        return Derived()
    found = effects(program)
    out: set[tuple[ast.StructField, ast.Field]] = set()
    changed: set[tuple[ast.StructField, ast.Field]] = set()
    for place, instance in enumerate(struct.fields):
        later = set(struct.fields[place + 1:])
        if instance.type != header_type(instance):
            later.add(instance)                             # a stack: its later elements
        for field in header_of(instance).fields():
            if field.equation is None:
                continue
            if any(e.kind == "extract" and e.instance is instance and e.codec is not None and not says(e.codec, field)
                   for e in found):
                out.add((instance, field))
            if any(changes(e, instance, field, later) for e in found):
                changed.add((instance, field))
    spread(struct, changed)
    return Derived(out | changed)


def header_type(instance: ast.StructField) -> HeaderType:
    return HeaderType(header_of(instance))


def says(codec: ast.Codec, field: ast.Field) -> bool:
    return any(field in said_by(row) for group in codec.groups for row in group.rows)


def changes(e: Effect, instance: ast.StructField, field: ast.Field, later: set[ast.StructField]) -> bool:
    """Whether an effect may change what the field's equation gives."""
    in_parser = isinstance(e.module, ast.Parser)
    header = header_of(instance)
    if e.instance is instance:
        if e.kind in ("setValid", "move"):
            return True
        if e.kind == "assign":
            return not in_parser or e.place in mentions(field, header) or e.place is field
    if not in_parser and of_own_size(field) and decides(e, instance):
        return True
    if e.kind == "assign" and not in_parser and e.instance in instance.args:
        param = header.params[instance.args.index(e.instance)]
        if any(place is e.place for place in read_of(param, field.equation)):
            return True
    if not in_parser and needs_payload(field.equation):
        if e.kind == "truncate" or any(decides(e, one) for one in later):
            return True
        if e.instance in later:
            return e.kind in ("setValid", "setInvalid", "move") or e.kind == "assign" and (
                sums_payload(field.equation) or e.place in shape(header_of(e.instance)))
    return False


def read_of(param: ast.Param, e: object) -> list[object]:
    """The fields of a header parameter that an expression, or some, read, or a function that is given it; of a choice, its arms and its tag."""
    found: list[object] = []
    for node in walk(e):
        if isinstance(node, ast.Call) and isinstance(node.target, ast.Function):
            found += [place for p, arg in zip(node.target.params, node.args) if isinstance(arg, ast.Name) and arg.decl is param
                      for place in read_of(p, node.target.body)]
        if isinstance(node, ast.Member) and isinstance(node.base, ast.Name) and node.base.decl is param:
            found.append(node.decl)
            if isinstance(node.decl, ast.ChoiceField):
                found += [node.decl.tag.decl, *node.decl.arms]
    return found


def mentions(field: ast.Field, header: ast.Header) -> set[object]:
    """The header's own fields, and arms of its choices, that the field's equation reads."""
    found: set[object] = set(mentioned(field.equation, header))
    members = [node for node in walk(field.equation) if isinstance(node, ast.Member)]
    found |= {member.decl for member in members if isinstance(member.decl, ast.ChoiceArm)}
    if of_own_size(field):
        found |= shape(header)
    return found


def of_own_size(field: ast.Field) -> bool:
    return any(isinstance(node, ast.Sizeof) and node.operand is None for node in walk(field.equation))


def shape(header: ast.Header) -> set[object]:
    """What decides a header's size when it is assigned: fields that conditions, tags and sizes look at, and arms."""
    found: set[object] = set()
    for item in header.items:
        if isinstance(item, ast.ChoiceField):
            found |= {item.tag.decl, *item.arms}
        elif isinstance(item, ast.Field):
            found |= mentioned(item.when, header) | mentioned(item.sized, header)
            if isinstance(item.type, Varbit):
                found.add(item)
    return found


def decides(e: Effect, instance: ast.StructField) -> bool:
    """Whether an effect on a header that this one looks at may change what is there of it, or how long that is."""
    if e.instance not in instance.args or e.kind not in ("assign", "setValid", "setInvalid", "move"):
        return False
    header = header_of(instance)
    read = read_of(header.params[instance.args.index(e.instance)], conditions(header))
    return bool(read) if e.kind != "assign" else any(place is e.place for place in read)


def conditions(header: ast.Header) -> list[ast.Expr]:
    """What decides which fields of a header are there, and how long they are, but for the tags of its choices."""
    return [e for item in header.items if isinstance(item, ast.Field) for e in (item.when, item.sized) if e is not None]


def asked_by(instance: ast.StructField, asked: list[ast.Expr]) -> set[tuple[ast.StructField, object]]:
    """The fields, of a header itself and of those that it looks at, that expressions of its description read."""
    header = header_of(instance)
    return {(instance, one) for e in asked for one in mentioned(e, header)} \
        | {(arg, place) for param, arg in zip(header.params, instance.args) for place in read_of(param, asked)}


@dataclass(frozen=True)
class Unsteady:
    """The fields and arms that may read as something else than when their header was extracted: `changed` is assigned or computed, or comes and goes;
    `made` is of headers that are made valid or invalid, moved, or extracted again: all of it is another's then."""

    changed: set[tuple[ast.StructField, object]]
    made: set[tuple[ast.StructField, object]]

    def decides(self, instance: ast.StructField, asked: list[ast.Expr]) -> bool:
        """Whether it changes what these expressions say of a header that stays."""
        return any(pair in self.changed or pair[0] is not instance and pair in self.made for pair in asked_by(instance, asked))


def unsteady(program: ast.Program) -> Unsteady:
    assert program.headers_struct is not None
    places = {one: [place for item in header_of(one).items if not isinstance(item, ast.Where)
                    for place in (item.fields if isinstance(item, ast.Word) else item.arms if isinstance(item, ast.ChoiceField) else [item])]
              for one in program.headers_struct.fields}
    anew = extracted_again(program) | {e.instance for e in effects(program) if e.instance is not None and e.kind in ("setValid", "setInvalid", "move")}
    out = Unsteady(set(derived(program)), {(one, place) for one in anew for place in places[one]})
    for e in effects(program):
        if e.instance is not None and e.kind == "assign":
            out.changed.update((e.instance, place) for place in (e.place, *([e.place.choice.tag.decl] if isinstance(e.place, ast.ChoiceArm) else [])))
    before = -1
    while before < len(out.changed):
        before = len(out.changed)
        for one, found in places.items():
            out.changed.update((one, place) for place in found if isinstance(place, ast.ChoiceArm) and (one, place.choice.tag.decl) in out.changed
                               or isinstance(place, ast.Field) and place.when is not None and out.decides(one, [place.when]))
    return out


def spread(struct: ast.Struct, changed: set[tuple[ast.StructField, ast.Field]]) -> None:
    """An equation that reads a changed field of its header, or of a header it is bound to, or sums one of a later header,
    changes too."""
    again = True
    while again:
        again = False
        for place, instance in enumerate(struct.fields):
            header, later = header_of(instance), struct.fields[place + 1:]
            for field in header.fields():
                if field.equation is None or (instance, field) in changed:
                    continue
                own = any((instance, one) in changed for one in mentioned(field.equation, header))
                bound = any((arg, place) in changed for param, arg in zip(header.params, instance.args)
                            for place in read_of(param, field.equation))
                summed = sums_payload(field.equation) and any(one in later for one, _ in changed)
                counted = [instance] * of_own_size(field) + (later if needs_payload(field.equation) else [])
                if own or bound or summed or any(asked_by(one, conditions(header_of(one))) & changed for one in counted):
                    changed.add((instance, field))
                    again = True


def representation(program: ast.Program, sent_as_they_lie: Collection[ast.StructField] = ()) -> dict[ast.StructField, str]:
    """For each field of the headers struct "packet", read and written where it lies, or "image", kept in the record. A header of which something is computed
    has an image, unless it is one of those that are sent as they lie: the numbers are put in there."""
    if program.headers_struct is None:
        return {}
    found, changing = effects(program), unsteady(program)
    computed = {instance for instance, _ in derived(program)} - set(sent_as_they_lie)
    out = {}
    for instance in program.headers_struct.fields:
        moved = shape(header_of(instance))
        image = instance in computed or changing.decides(instance, conditions(header_of(instance))) or any(
            e.instance is instance and (e.kind in ("setValid", "move", "copied") or e.kind == "extract" and e.codec is not None
                                        or e.kind == "assign" and (e.place in moved or isinstance(e.place, ast.ChoiceArm)
                                                                   or e.place.when is not None))    # absent, it has no place in the packet
            for e in found)
        out[instance] = "image" if image else "packet"
    return out
