"""Packets made from a program's own descriptions: valid, nearly valid, arbitrary."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import assume, strategies as st

from lpn.lang import ast
from lpn.lang.check.headers import mentioned
from lpn.lang.reference.headers import Instance
from lpn.lang.reference.packet import Packet, Writer
from lpn.lang.reference.run import Run
from lpn.lang.reference.state import State
from lpn.lang.reference.values import StackValue, width_of
from lpn.lang.types import EnumType, Varbit

Draw = Callable[[st.SearchStrategy], Any]

payloads = st.one_of(st.just(b""), st.binary(max_size=4), st.binary(max_size=40))


def declared(program: ast.Program, name: str) -> Any:
    """The declaration `name`, wherever it was imported from."""
    return next(decl for decl in program.decls if getattr(decl, "name", None) == name)


def numbers(width: int) -> st.SearchStrategy[int]:
    """Numbers of a width; the ends more often than chance gives them."""
    top = (1 << width) - 1
    return st.one_of(st.integers(0, top), st.sampled_from(sorted({0, 1 & top, top, top ^ (top >> 1)})))


# ---------------------------------------------------------------- headers

def headers_of(program: ast.Program, payload: bytes) -> Run:
    """Invalid instances of the program's headers, all equations derived, in front of `payload`."""
    run = Run(program, lambda decl, field: True, payload, {}, State(program))
    run.packet = Packet(payload)
    return run


def scalar(draw: Draw, instance: Instance, item: ast.Field) -> Any:
    """A value that the field's own checks allow."""
    if isinstance(item.type, EnumType):
        allowed = [member.number for member in item.type.decl.members]
    elif item.values is not None:
        allowed = list(range(1 << min(width_of(item.type), 10)))
    else:
        return draw(numbers(width_of(item.type)))
    return draw(st.sampled_from([each for each in allowed if allows(instance, item, each)]))


LONGEST = 48                                    # octets of a varbit: a header has to fit the output


def run_of_bytes(draw: Draw, instance: Instance, item: ast.Field) -> bytes:
    """Bytes for a varbit whose `sized` expression agrees with what is derived from their number, or with a length field,
    which is drawn anew where it gives too many."""
    assert isinstance(item.type, Varbit)
    first = draw(st.integers(0, 24))
    for size in (*range(first, first + 16), *range(first), *range(first + 16, LONGEST)):
        if sized(instance, item) == size:
            return draw(st.binary(min_size=size, max_size=size))
        instance.stored[item] = bytes(size)
        if 8 * size <= item.type.max_width and sized(instance, item) == size:
            return draw(st.binary(min_size=size, max_size=size))
    assert item.sized is not None
    for field in sorted(mentioned(item.sized, instance.header), key=lambda one: one.name):
        if field.equation is None and instance.present(field):
            fit = [value for value in range(1 << min(8, width_of(field.type))) if allows(instance, field, value)
                   and small(instance, item, field, value)]
            if fit:
                instance.stored[field] = draw(st.sampled_from(fit))
                size = sized(instance, item)
                return draw(st.binary(min_size=size, max_size=size))
    raise AssertionError(f"no size of {item.name} fits")


def sized(instance: Instance, item: ast.Field) -> int:
    """Octets that the varbit's expression says."""
    assert item.sized is not None
    return int(instance.evaluate(item.sized)) // 8          # type: ignore[call-overload]


def small(instance: Instance, item: ast.Field, field: ast.Field, value: int) -> bool:
    assert isinstance(item.type, Varbit)
    instance.stored[field] = value
    return sized(instance, item) <= min(LONGEST, item.type.max_width // 8)


def allows(instance: Instance, field: ast.Field, value: int) -> bool:
    scope = instance.run.header_scope(instance)
    return field.values is None or any(instance.run.matches(value, each, scope) for each in field.values)


def fill(draw: Draw, instance: Instance, fixed: dict[str, int]) -> None:
    """Give every field a value so that the header's checks hold; equations are computed when it is read."""
    instance.clear()
    instance.valid = True
    for item in instance.header.items:
        if isinstance(item, ast.ChoiceField):
            for arm in item.arms:
                if arm.number == instance.read(item.tag.decl):
                    instance.arms[item] = (arm, draw(numbers(width_of(arm.type))))
        elif not isinstance(item, ast.Where):
            for part in item.fields if isinstance(item, ast.Word) else [item]:
                if part.equation is not None and not part.deferred or not instance.present(part):
                    continue
                if part.name in fixed:
                    instance.stored[part] = fixed[part.name]
                elif isinstance(part.type, Varbit):
                    instance.stored[part] = run_of_bytes(draw, instance, part)
                else:
                    instance.stored[part] = scalar(draw, instance, part)
    for item in instance.header.items:
        if isinstance(item, ast.Where):
            assume(instance.evaluate(item.cond))


def some(draw: Draw, value: Any) -> Iterator[Instance]:
    if isinstance(value, StackValue):
        yield from value.elements[:draw(st.integers(0, len(value.elements)))]
    else:
        yield value


# The strategies that depend on a program are made inside a function: Hypothesis prints a strategy's arguments, and a
# program is long.

def valid(program: ast.Program, fixed: dict[str, dict[str, int]] = {}) -> st.SearchStrategy[bytes]:
    """The bytes of the program's headers that satisfy every check, and a payload. `fixed`: values of fields, by the
    header's name."""
    @st.composite
    def make(draw: Draw) -> bytes:
        run = headers_of(program, draw(payloads))
        assert run.headers is not None
        chosen = [each for value in run.headers.fields.values() for each in some(draw, value)]
        for instance in chosen:
            fill(draw, instance, fixed.get(instance.name, {}))
        return b"".join(instance.emit() for instance in chosen) + run.packet.rest

    return make()


@st.composite
def damaged(draw: Draw, frames: st.SearchStrategy[bytes]) -> bytes:
    """A frame with one thing wrong: a bit, an octet, its end."""
    frame = bytearray(draw(frames))
    how = draw(st.sampled_from(["bit", "octet", "cut", "longer"]))
    if how == "cut":
        return bytes(frame[:draw(st.integers(0, len(frame)))])
    if how == "longer":
        return bytes(frame) + draw(st.binary(min_size=1, max_size=9))
    if frame:
        at = draw(st.integers(0, len(frame) - 1))
        frame[at] ^= 1 << draw(st.integers(0, 7)) if how == "bit" else draw(st.integers(1, 255))
    return bytes(frame)


def frames(program: ast.Program, **how: Any) -> st.SearchStrategy[bytes]:
    """Valid, nearly valid and arbitrary bytes for the headers of a program."""
    good = valid(program, **how)
    return st.one_of(good, damaged(good), st.binary(max_size=127))


# ---------------------------------------------------------------- codecs

def compressed(draw: Draw, codec: ast.Codec, fixed: dict[str, int] = {}) -> bytes:
    """Bytes that a codec's table can read: for each group one of its rows, its tag, and inline bits at random.
    `fixed`: tag variables. An octet that is a length may promise more than there is."""
    tags: dict[object, int] = {}
    body = Writer()
    for group in codec.groups:
        row = draw(st.sampled_from([row for row in group.rows if row_allowed(group, row, fixed)]))
        for tag, key in zip(group.tags, row.keys):
            tags[tag.decl] = int(key.const) if key.const is not None else 0
        for item in row.items:
            for target, width in pieces(item):
                if width is None:
                    body.bytes(draw(st.binary(max_size=12)))
                elif width == 8 and target in ("len", "length"):
                    body.bits(draw(st.integers(0, 12)), 8)
                else:
                    body.bits(draw(numbers(width)), width)
    head = Writer()
    for tag in codec.tag:
        value = tag.value if tag.value is not None else fixed.get(tag.name, tags.get(tag, 0))
        head.bits(value, tag.width)
    return head.finish() + body.finish()


def row_allowed(group: ast.Group, row: ast.Row, fixed: dict[str, int]) -> bool:
    return all(tag.name not in fixed or key.const is None or key.const == fixed[tag.name]
               for tag, key in zip(group.tags, row.keys))


def pieces(item: ast.RowItem) -> Iterator[tuple[str, int | None]]:
    """The inline pieces of a row's item: name and width; None for a run of bytes."""
    if isinstance(item, ast.RowInline):
        for target in item.targets:
            if target.target is None:
                yield "", target.width
            else:
                width = None if isinstance(target.target.type, Varbit) else width_of(target.target.type)
                yield getattr(target.target, "name", ""), width
    elif isinstance(item, ast.RowAssign):
        yield from (("", width_of(each.type)) for each in nodes(item.value) if isinstance(each, ast.InlinePiece))


def nodes(expr: Any) -> Iterator[Any]:
    """The nodes of an expression in the order in which they are evaluated."""
    yield expr
    for name in ("base", "left", "right", "operand", "cond", "then", "otherwise", "args", "elements"):
        child = getattr(expr, name, None)
        for each in child if isinstance(child, list) else [child]:
            if isinstance(each, ast.Node):
                yield from nodes(each)


# ---------------------------------------------------------------- 6LoWPAN frames

def lowpan(program: ast.Program) -> st.SearchStrategy[bytes]:
    """Data frames in LOWPAN_IPHC with LOWPAN_NHC headers, some in a mesh, some in an uncompressed datagram. The
    program has headers `mac` and, perhaps, `mesh` and `broadcast`."""
    @st.composite
    def make(draw: Draw) -> bytes:
        run = headers_of(program, b"")
        assert run.headers is not None
        names = run.headers.fields
        fill(draw, names["mac"], {"frame_type": 1, "security": 0, "ie_present": 0})             # type: ignore[arg-type]
        frame = names["mac"].emit()                                                             # type: ignore[attr-defined]
        if "mesh" in names and draw(st.integers(0, 4)) == 0:
            fill(draw, names["mesh"], {})                                                       # type: ignore[arg-type]
            frame += names["mesh"].emit()                                                       # type: ignore[attr-defined]
        more = draw(st.integers(0, 1))
        frame += compressed(draw, declared(program, "Iphc"), {"nh": more})
        for _ in range(draw(st.integers(0, 5))):
            if more and draw(st.booleans()):
                more = draw(st.integers(0, 1))
                frame += compressed(draw, declared(program, "ExtNhc"), {"nh": more})
        if more and draw(st.integers(0, 9)):
            frame += compressed(draw, declared(program, "UdpNhc"))
        return frame + draw(payloads)

    return make()
