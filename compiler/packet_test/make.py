"""The packets that tests send: headers filled in by name, laid out as the program lays them out."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lpn.lang import ast
from lpn.lang.check.reads import headers_read
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.instances import walk
from lpn.lang.reference import NotSupported, State
from lpn.lang.reference.headers import ChoiceValue, Instance
from lpn.lang.reference.modules import run_module
from lpn.lang.reference.run import Derived, Run
from lpn.lang.reference.values import StackValue, wrap, zero
from lpn.lang.source import Span
from lpn.lang.types import EnumType

from . import model
from .words import shown


def refused(message: str, span: Span, *hints: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic("error", message, span, [hint for hint in hints if hint])])


class Written(Run):
    """A packet as it is written: what follows a header there is its payload, also octets and headers that go by their type.
    `behind`: of each header, what stands behind it."""

    def __init__(self, program: ast.Program, frame: bytes, meta: Mapping[str, int], state: State, derived: Derived) -> None:
        self.behind: dict[Instance, list[Instance | bytes]] = {}
        super().__init__(program, derived, frame, dict(meta), state)

    def size_of_payload(self, instance: Instance | None) -> int:
        if instance is None or instance not in self.behind:
            return super().size_of_payload(instance)
        return sum(len(each) if isinstance(each, bytes) else each.size() for each in self.behind[instance])

    def payload_of(self, instance: Instance | None) -> bytes:
        if instance is None or instance not in self.behind:
            return super().payload_of(instance)
        return b"".join(each if isinstance(each, bytes) else each.emit() for each in self.behind[instance])


def build(packet: model.Packet, program: ast.Program, state: State, meta: Mapping[str, int],
          named: Mapping[str, model.Packet]) -> bytes:
    """The octets of a packet. `state`: what a deparser may look at. Raises DiagnosticError where it cannot be made."""
    if packet.kind == "named":
        packet = combined(packet, named)
    if packet.kind == "frame":
        return packet.data
    headers = [piece for piece in packet.pieces if isinstance(piece, model.HeaderItem)]
    split = packet.pieces.index(headers[-1]) + 1 if headers else 0
    payload = b"".join(piece.data for piece in packet.pieces[split:] if isinstance(piece, model.Octets))
    run = Written(program, payload, meta, state, lambda decl, field: True)
    made = {id(item): instance_of(run, item) for item in headers}
    if packet.module is None:
        written = [made[id(piece)] if isinstance(piece, model.HeaderItem) else piece.data for piece in packet.pieces]
        run.behind = {each: written[at + 1:] for at, each in enumerate(written) if isinstance(each, Instance)}
    for item in headers:
        fill(made[id(item)], item)
    for item in headers:
        computable(made[id(item)], item)
    if isinstance(packet.module, ast.Deparser):
        try:
            outcome = run_module(run, packet.module)
        except NotSupported as e:
            raise refused(f"{packet.via} cannot make this packet here: {e}", packet.span) from None
        if outcome.out is None:
            raise refused(f"{packet.via} does not emit this packet: {outcome.reason}", packet.span, "change its fields, or give its octets")
        return outcome.out + run.packet.rest
    return b"".join(each.emit() if isinstance(each, Instance) else each for each in written)


def instance_of(run: Run, item: model.HeaderItem) -> Instance:
    """The instance that an item names: of the program's headers, or a new one of its type."""
    if item.instance is None:
        assert item.header is not None
        computed = frozenset(each for each in item.header.fields() if each.equation is not None)
        return Instance(run, item.header, item.header, item.name, [], computed)
    assert run.headers is not None
    value = run.headers.fields[item.instance.name]
    if isinstance(value, StackValue):
        assert item.index is not None
        value = value.elements[item.index]
    assert isinstance(value, Instance)
    return value


def fill(instance: Instance, item: model.HeaderItem) -> None:
    """What is given is taken as it is, right or wrong. Equations give the fields that are not given; what has none is 0, or
    the first value that the field may have."""
    if instance.valid:
        raise refused(f"{item.label} is in this packet already", item.span,
                      "" if instance.header.params else f"a header that the program does not keep goes by its type, {instance.header.name} {{ ... }}")
    instance.clear()
    instance.valid = True
    instance.derived = instance.derived - {each.place for each in item.fields}
    for each in item.fields:
        value = each.wanted.data if isinstance(each.wanted, model.Octets) else each.wanted.value if each.wanted else 0
        if isinstance(each.place, ast.ChoiceArm):
            assert each.place.choice is not None
            ChoiceValue(instance, each.place.choice).write(each.place, value)
        else:
            assert each.place is not None
            instance.write(each.place, value if isinstance(value, bytes) else wrap(value, each.place.type))
    for part in instance.header.fields():
        if part not in instance.stored and part.equation is None:
            instance.stored[part] = first_allowed(instance, part)
    for each in item.fields:
        if not there(instance, each.place):
            of_base = each in item.base
            raise refused(f"{item.label} has no field {shown(each.name)} as its other fields are", item.span if of_base else each.span,
                          because(each.place, of_base))


def computable(instance: Instance, item: model.HeaderItem) -> None:
    """A checksum over addresses that the packet does not give would be one over zeros."""
    given = {each.place for each in item.fields}
    for part in instance.header.fields():
        if part.equation is None or part in given or not instance.present(part):
            continue
        for name in walk(part.equation):
            other = dict(zip(instance.header.params, instance.args)).get(getattr(name, "decl", None))   # type: ignore[arg-type]
            if other is not None and not other.valid:
                raise refused(f"'{part.name}' of {item.label} looks at {other.name}, which is not given here as a header", item.span,
                              f"name {other.name} {{ ... }} in front of it, let a deparser write or a parser read the packet, via NAME {{ ... }}, "
                              f"or give {part.name}")


def there(instance: Instance, place: model.Place | None) -> bool:
    """Whether a field is present, or an arm the one that the tag selects."""
    if isinstance(place, ast.ChoiceArm):
        assert place.choice is not None
        return ChoiceValue(instance, place.choice).arm() is place
    return place is not None and instance.present(place)


def because(place: model.Place | None, of_base: bool) -> str:
    if isinstance(place, ast.ChoiceArm) and place.choice is not None:
        if of_base:
            other = next((f", as in {place.choice.name}.{arm.name} = ..." for arm in place.choice.arms if arm is not place), "")
            return (f"the packet that this changes has it, and '{place.choice.tag.name}' selects another arm here: give that one instead{other}, "
                    "or write a packet of its own")
        return f"'{place.choice.tag.name}' selects another arm; leave it out: it follows from the arm"
    if of_base:
        return "the packet that this changes has it, and the condition behind its `when` is false here: set what that looks at, or write a packet of its own"
    return "the condition behind its `when` is false: set what it looks at"


def first_allowed(instance: Instance, part: ast.Field) -> object:
    """0, or where that is not allowed the first value in the field's `in { ... }` or its enum."""
    nothing = zero(part.type)
    if isinstance(nothing, bytes):
        return nothing
    candidates = [0]
    for one in part.values or []:
        start = one.low if isinstance(one, ast.RangeSet) else one.left if isinstance(one, ast.Binary) else one
        candidates.append(int(start.const or 0))
    named = [member.number for member in part.type.decl.members] if isinstance(part.type, EnumType) else None
    candidates += named or []
    scope = instance.run.header_scope(instance)
    for number in candidates:
        value = wrap(number, part.type)
        if (named is None or number in named) and (part.values is None or any(
                instance.run.matches(value, one, scope) for one in part.values)):
            return value
    return nothing


# ---------------------------------------------------------------- packets by name

def combined(packet: model.Packet, named: Mapping[str, model.Packet]) -> model.Packet:
    """The named packet with other values in some fields, perhaps more headers or another payload."""
    base = named[packet.name]
    seen = {packet.name}
    chain = [packet]
    while base.kind == "named":
        if base.name in seen:
            raise refused(f"packet {shown(base.name)} is made of itself", base.span)
        seen.add(base.name)
        chain.append(base)
        base = named[base.name]
    for each in reversed(chain):
        if each.pieces:
            base = changed(base, each)
    return base


def changed(base: model.Packet, other: model.Packet) -> model.Packet:
    """A header that the packet does not have stands behind the one that is named before it, or behind all."""
    if base.kind != "fields":
        raise refused("only a packet that is given by its headers can be changed with `with`", other.span)
    headers = [piece for piece in base.pieces if isinstance(piece, model.HeaderItem)]
    split = base.pieces.index(headers[-1]) + 1 if headers else 0
    front, payload = list(base.pieces[:split]), base.pieces[split:]
    labels = [piece.label if isinstance(piece, model.HeaderItem) else "" for piece in front]
    given = [piece for piece in other.pieces if isinstance(piece, model.Octets)]
    behind = len(front)
    for piece in other.pieces:
        if not isinstance(piece, model.HeaderItem):
            continue
        if piece.label not in labels:
            if base.module is not None and piece.instance not in headers_read(base.module):
                raise refused(f"{base.via}, which makes packet {shown(other.name)}, does not emit {piece.label}", piece.span)
            front.insert(behind, piece)
            labels.insert(behind, piece.label)
            behind += 1
            continue
        at = labels.index(piece.label)
        behind = at + 1
        old = front[at]
        assert isinstance(old, model.HeaderItem)
        replaced = {stem(each) for each in piece.fields}
        kept = [each for each in old.fields if stem(each) not in replaced]
        front[at] = replace(old, span=piece.span, fields=kept + piece.fields, base=kept)
    return replace(base, pieces=[*front, *(given or payload)])


def stem(item: model.FieldItem) -> str:
    """Two arms of one choice exclude each other."""
    return item.name.partition(".")[0]
