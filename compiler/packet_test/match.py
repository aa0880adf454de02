"""What came out against what is expected: octet by octet, or field by field with names and offsets."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from lpn.lang import ast
from lpn.lang.derive import derived
from lpn.lang.reference import State
from lpn.lang.reference.headers import ChoiceValue, Instance
from lpn.lang.reference.modules import run_module
from lpn.lang.reference.run import Run
from lpn.lang.reference.values import Rejected, unsigned, width_of
from lpn.lang.types import Type, Varbit

from ..contents import value_text
from . import model
from .make import Written, computable, instance_of, there

Pair = tuple[int, int]


@dataclass
class Difference:
    """`offset`: the octet where the field begins in what came out, None where it is not there."""

    name: str
    offset: Optional[int]
    expected: str
    got: str


@dataclass
class Comparison:
    """How a packet differs from what is expected. `expected`: (value, mask) octet by octet, empty where that is not known."""

    got: bytes
    differences: list[Difference] = field(default_factory=list)
    expected: list[Pair] = field(default_factory=list)
    marks: set[int] = field(default_factory=set)    # the octets of `got` that are wrong
    patch: dict[int, Pair] = field(default_factory=dict)    # of these, what they should be

    def differs(self, name: str, at: Optional[tuple[int, int]], expected: str, got: str) -> None:
        """`at`: first bit, and the number of bits that are marked as wrong."""
        if at is not None and at[1]:
            first, last = at[0] // 8, (at[0] + at[1] - 1) // 8
            self.marks |= set(range(first, last + 1))
        self.differences.append(Difference(name, at[0] // 8 if at is not None else None, expected, got))


# ---------------------------------------------------------------- octets

def compare_octets(wanted: model.Octets, got: bytes, labels: list[str]) -> Comparison:
    """`labels`: the name of what lies at each octet of `got`."""
    out = Comparison(got, expected=list(wanted.pairs))
    at = 0
    while at < min(len(got), len(wanted.pairs)):
        end = at
        while end < min(len(got), len(wanted.pairs)) and not same(got[end], wanted.pairs[end]) and name_at(labels, end) == name_at(labels, at):
            end += 1
        if end > at:
            out.differs(name_at(labels, at), (8 * at, 8 * (end - at)), octets(wanted.pairs[at:end]), got[at:end].hex(" "))
        at = max(end, at + 1)
    size = len(wanted.pairs)
    if len(got) < size or len(got) > size and not wanted.open:
        out.differs("length", None, f"{size} octets{' or more' if wanted.open else ''}", f"{len(got)} octets")
        out.marks |= set(range(min(size, len(got)), max(size, len(got))))
    return out


def same(octet: int, pair: Pair) -> bool:
    return octet & pair[1] == pair[0]


def name_at(labels: list[str], at: int) -> str:
    return labels[at] if at < len(labels) else ""


def octets(pairs: list[Pair]) -> str:
    return " ".join(octet(each) for each in pairs)


def octet(pair: Pair) -> str:
    """`4*` where a digit may be any; a mask that is none of digits is shown as such."""
    value, mask = pair
    if mask in (0xFF, 0xF0, 0x0F, 0):
        return (f"{value >> 4:x}" if mask & 0xF0 else "*") + (f"{value & 15:x}" if mask & 0x0F else "*")
    return f"{value:02x}/{mask:02x}"


# ---------------------------------------------------------------- fields

def compare_fields(packet: model.Packet, got: bytes, program: ast.Program, state: State, meta: Mapping[str, int]) -> Comparison:
    """The headers as parser `via` finds them, or one behind the other as they are listed; then the payload."""
    out = Comparison(got)
    computed = derived(program) if packet.module is not None else None
    run = Written(program, got, meta, state, lambda decl, item: computed is not None and not item.deferred and computed(decl, item))
    whole = parsed(out, packet.module, run) if isinstance(packet.module, ast.Parser) else True
    headers = [piece for piece in packet.pieces if isinstance(piece, model.HeaderItem)]
    split = packet.pieces.index(headers[-1]) + 1 if headers else 0
    seen: list[tuple[model.HeaderItem, Instance]] = []
    for piece in packet.pieces[:split]:
        if isinstance(piece, model.Octets):
            whole = whole and passed(out, piece, run)
        elif packet.module is not None:
            instance = instance_of(run, piece)
            if instance.valid and not piece.absent:
                seen.append((piece, instance))
            elif whole and instance.valid == piece.absent:
                out.differs(piece.label, None, "no such header" if piece.absent else "a header", "a header" if piece.absent else "no such header")
        elif whole:
            instance = instance_of(run, piece)
            whole = taken(out, piece, instance, run)
            run.behind[instance] = [run.packet.rest]
            seen.append((piece, instance))
    for piece, instance in seen:
        computable(instance, piece)
        header(out, piece, instance)
    rest = [piece for piece in packet.pieces[split:] if isinstance(piece, model.Octets)]
    if whole and rest:
        payload(out, rest, run)
    for piece, instance in seen:
        mark_fields(out, piece, instance)
    out.marks |= set(out.patch)
    out.expected = expected_octets(out)
    return out


def parsed(out: Comparison, parser: ast.Parser, run: Run) -> bool:
    reason = run_module(run, parser).reason
    if reason is not None:
        out.differs("packet", (8 * run.packet.payload, 8) if run.packet.payload < len(out.got) else None,
                    f"one that {parser.name} takes", reason)
    return reason is None


def passed(out: Comparison, piece: model.Octets, run: Run) -> bool:
    """Octets between headers."""
    at = run.packet.payload
    found = compare_octets(piece, out.got[at:at + len(piece.pairs)], [])
    for each in found.differences:
        first = at + each.offset if each.offset is not None else at
        out.patch |= {at + mark: piece.pairs[mark] for mark in found.marks if mark < len(piece.pairs)}
        out.differs("octets", (8 * first, 8 * max(len(each.got.split()), 1)) if first < len(out.got) else None, each.expected, each.got)
    run.packet.payload = min(at + len(piece.pairs), len(out.got))
    return at + len(piece.pairs) <= len(out.got)


def taken(out: Comparison, piece: model.HeaderItem, instance: Instance, run: Run) -> bool:
    """Takes a header at the cursor; one whose checks fail is still looked at. False: octets are missing."""
    start = run.packet.payload
    try:
        instance.extract(run.packet)
    except Rejected as e:
        if e.reason == "PacketTooShort":
            out.differs(piece.label, (8 * start, 8) if start < len(out.got) else None, instance.header.name, f"{len(out.got) - start} octets: too short")
            return False
        instance.valid = True
        if not any(e.reason == f"{instance.header.name}.{each.name}" for each in piece.fields):
            located = {each.field: each for each in instance.located}
            place = next((one for one in located if e.reason == f"{instance.header.name}.{one.name}"), None)
            at = (located[place].position, located[place].width) if place is not None else (8 * start, 8)
            wanted = "a value that it may have"
            if isinstance(place, ast.Field) and place.equation is not None:
                wanted = value_text(instance.equation(place), place.type)
            name = f"{piece.label}.{place.name}" if place is not None else piece.label
            out.differs(name, at, wanted, value_text(instance.received(place), place.type) if isinstance(place, ast.Field) else e.reason)
    return True


def header(out: Comparison, piece: model.HeaderItem, instance: Instance) -> None:
    located = {each.field: (each.position, each.width) for each in instance.located}
    for each in piece.fields:
        name = f"{piece.label}.{each.name}"
        if each.wanted is None or each.place is None:
            continue
        if not there(instance, each.place):
            out.differs(name, None, pattern_text(each.wanted, each.place.type), "not there")
            continue
        value = value_of(instance, each.place)
        if not holds(each.wanted, value, each.place.type):
            at = located.get(each.place)
            single = isinstance(each.wanted, model.Numbers) and each.wanted.mask == -1 and each.wanted.high is None
            out.differs(name, (at[0], 0 if single else at[1]) if at else None, pattern_text(each.wanted, each.place.type),
                        value_text(value, each.place.type))
    named = {each.place for each in piece.fields}
    for item in instance.header.fields():
        if item.deferred and item not in named and instance.present(item) and item.equation is not None:
            got, right = instance.received(item), instance.equation(item)
            if got != right:
                out.differs(f"{piece.label}.{item.name}", located.get(item), value_text(right, item.type), value_text(got, item.type))


def payload(out: Comparison, pieces: list[model.Octets], run: Run) -> None:
    pairs = [pair for piece in pieces for pair in piece.pairs]
    rest, at = run.packet.rest, run.packet.payload
    found = compare_octets(model.Octets(pieces[0].span, pairs, pieces[-1].open), rest, [])
    for each in found.differences:
        name, first = ("payload", at + each.offset) if each.offset is not None else ("sizeof(payload)", None)
        out.differences.append(Difference(name, first, each.expected, each.got))
    out.marks |= {at + mark for mark in found.marks if mark < len(rest)}
    out.patch |= {at + mark: pairs[mark] for mark in found.marks if mark < min(len(pairs), len(rest))}


def value_of(instance: Instance, place: model.Place) -> object:
    if isinstance(place, ast.ChoiceArm):
        assert place.choice is not None
        return ChoiceValue(instance, place.choice).read(place)
    return instance.read(place)


def holds(wanted: model.Numbers | model.Octets, value: object, type_: Type | None) -> bool:
    if isinstance(wanted, model.Octets):
        assert isinstance(value, bytes)
        return not compare_octets(wanted, value, []).differences
    return wanted.holds(int(value))                     # type: ignore[call-overload]


def mark_fields(out: Comparison, piece: model.HeaderItem, instance: Instance) -> None:
    """Gives the header its expected values, as far as they are single numbers; what then lies differently is what is wrong."""
    if not instance.located:
        return                                          # not in the packet as it is: behind a codec
    start = min(each.position for each in instance.located) // 8
    before = instance.emit()
    for each in piece.fields:
        if isinstance(each.wanted, model.Numbers) and each.wanted.mask == -1 and each.wanted.high is None and there(instance, each.place):
            if isinstance(each.place, ast.ChoiceArm):
                assert each.place.choice is not None
                instance.arms[each.place.choice] = (each.place, each.wanted.value)
            elif each.place is not None:
                instance.stored[each.place] = each.wanted.value
    after = instance.emit()
    if len(after) == len(before):
        out.patch |= {start + at: (new, 0xFF) for at, (old, new) in enumerate(zip(before, after)) if old != new}


def expected_octets(out: Comparison) -> list[Pair]:
    """What came out with what is expected in the marked octets; `**` where that is not known."""
    if not out.patch:
        return []
    return [out.patch.get(at, (octet, 0xFF) if at not in out.marks else (0, 0)) for at, octet in enumerate(out.got)]


# ---------------------------------------------------------------- as text

def pattern_text(wanted: model.Numbers | model.Octets, type_: Type | None) -> str:
    if isinstance(wanted, model.Octets):
        return octets(wanted.pairs) + " ..." * wanted.open or "no octets"
    if wanted.high is not None:
        return f"{value_text(wanted.value, type_)} to {value_text(wanted.high, type_)}"
    text = value_text(wanted.value, type_)
    return text if wanted.mask == -1 or isinstance(type_, Varbit) else f"{text} &&& {unsigned(wanted.mask, width_of(type_)):#x}"
