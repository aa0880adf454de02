"""Which headers may follow one whose equation sums its payload: `inet_sum(..., payload)` covers them."""
from __future__ import annotations

from .. import ast
from ..diagnostics import Diagnostics
from ..instances import Instance, header_of, instances, named_field, walk
from ..types import HeaderType, Stack
from .headers import mentioned, needs_payload
from .parsers import successors
from .purity import reached


def sums_payload(e: object) -> bool:
    """Whether an expression has an `inet_sum(..., payload)`."""
    return any(isinstance(node, ast.Call) and node.target == "inet_sum" and needs_payload(node) for node in walk(e))


def summed_headers(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Fills `program.summed`: the pairs (header that sums its payload, one that may follow it).

    Of two such headers the one in front would need the other's sum first: refused, and so is an equation behind one that
    reads the sum it is part of."""
    order = instances(program)
    if not any(sums_payload(one.header.items) for one in order):
        return
    met = together(program)
    for place, one in enumerate(order):
        if not sums_payload(one.header.items):
            continue
        for later in order[place + 1:]:
            if frozenset((one.field, later.field)) not in met:
                continue
            if sums_payload(later.header.items):
                diagnostics.error(f"'{one}' sums its payload, and so does '{later}', which can be valid with it", one.field.span,
                                  "one checksum inside another: declare the inner header without that equation, its checksum a plain field")
                return
            if one.field in later.field.args and reads_a_sum(one.header, later):
                diagnostics.error(f"'{later}' looks at a sum in '{one.field.name}' that '{later}' is part of", later.field.span,
                                  "break the circle")
                return
            program.summed.add((key(one), key(later)))


def together(program: ast.Program) -> set[frozenset[ast.StructField]]:
    """Fields of the headers struct that can be valid at the same time: made valid by the program, or extracted by states of
    a parser one of which leads to the other."""
    assert program.headers_struct is not None
    fields, made = program.headers_struct.fields, made_valid(program)
    met = {frozenset((one, other)) for one in made for other in fields}
    for parser in program.decls:
        if not isinstance(parser, ast.Parser):
            continue
        taken = {state: set(extracted(state.statements)) for state in parser.states}
        for state in parser.states:
            later = {field for each in reachable(state) for field in taken[each]}
            met |= {frozenset((one, other)) for one in taken[state] for other in later}
    return met


def extracted(body: object) -> list[ast.StructField]:
    """The fields of the headers struct that statements extract, each as often as they say it."""
    fields = [named_field(node.args[0]) for node in walk(body) if isinstance(node, ast.Call) and node.target == "extract" and node.args]
    return [field for field in fields if field is not None]


def extracted_again(program: ast.Program) -> set[ast.StructField]:
    """The fields that a parser may extract when it has extracted them before: in the same state, or in one that led there."""
    again: set[ast.StructField] = set()
    for parser in program.modules:
        states = parser.states if isinstance(parser, ast.Parser) else []
        taken = {state: extracted(state.statements) for state in states}
        for state in states:
            own = taken[state]
            turns = [field for loop in walk(state.statements) if isinstance(loop, ast.For) for field in extracted(loop)]
            later = {field for one in successors(state) for each in reachable(one) for field in taken[each]}
            again |= {field for field in own if own.count(field) > 1 or field in turns or field in later}
    return again


def reachable(state: ast.State) -> set[ast.State]:
    """The state and those that can come after it."""
    found, todo = {state}, [state]
    while todo:
        one = todo.pop()
        for each in successors(one):
            if each not in found:
                found.add(each)
                todo.append(each)
    return found


def key(one: Instance) -> tuple[ast.StructField, int | None]:
    return one.field, one.index


def made_valid(program: ast.Program) -> set[ast.StructField]:
    """Headers that something else than extraction can make valid: their fields of the headers struct."""
    assert program.headers_struct is not None
    fields: set[object] = set()
    types: set[object] = set()
    for node in walk(program.decls):
        place = None
        if isinstance(node, ast.Call) and node.target in ("setValid", "push_front", "pop_front") and isinstance(node.callee, ast.Member):
            place = node.callee.base
        elif isinstance(node, ast.Assign) and isinstance(node.target.type, (HeaderType, Stack)):
            place = node.target
        if place is not None:
            fields.add(named_field(place))
            if named_field(place) is None:      # a function's parameter: any header of its type
                types.add(place.type.header.decl if isinstance(place.type, Stack) else getattr(place.type, "decl", None))
    return {field for field in program.headers_struct.fields if field in fields or header_of(field) in types}


def reads_a_sum(header: ast.Header, later: Instance) -> bool:
    """Whether an equation of `later` reads a field of `header`, its parameter, that a sum over the payload decides."""
    summed = {field for field in header.fields() if sums_payload(field.equation)}
    again = True
    while again:
        more = {field for field in header.fields() if field not in summed and mentioned(field.equation, header) & summed}
        summed |= more
        again = bool(more)
    return any(isinstance(node, ast.Member) and node.decl in summed for node in reached(later.header.items))


def size_circles(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Refuses a computed length of which a later header's size is made: each would need the other first. As long as nothing
    changes, a length stays what was received, and may be looked at."""
    from ..derive import derived, read_of       # it needs this file
    if program.headers_struct is None:
        return
    computed, fields = derived(program), program.headers_struct.fields
    for place, one in enumerate(fields):
        counted = {field for field in header_of(one).fields() if (one, field) in computed and needs_payload(field.equation)}
        for later in fields[place + 1:]:
            if not counted or one not in later.args:
                continue
            param = header_of(later).params[later.args.index(one)]
            for node in walk([part for item in header_of(later).items if isinstance(item, ast.Field) for part in (item.when, item.sized)]):
                place = next((place for place in read_of(param, node) if place in counted), None) if isinstance(node, (ast.Member, ast.Call)) else None
                if place is not None:
                    name = f"{one.name}.{place.name}"       # type: ignore[attr-defined]
                    diagnostics.error(f"the size of '{later.name}' depends on '{name}', which is computed here and counts it", node.span,
                                      f"the program changes what '{name}' depends on: break the circle")
                    return
