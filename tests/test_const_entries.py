"""Tables of a few constant entries: the container compares the key itself, and what it finds is what the reference finds."""
from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from programs import program

from lpn.compiler.build import compile_program
from lpn.compiler.helpers import BY_NAME
from lpn.compiler.isa import decode
from lpn.compiler.judge import sealed
from lpn.compiler.runner import make_runner
from lpn.lang import tables as control

PROGRAM = """
enum bit<2> E {{ a = 0, b = 1, c = 2, d = 3 }}
header H {{ bit<8> a; bit<16> b; bit<64> c; bit<2> d; bit<1> e; bit<5> f; int<8> g; bit<40> told; bit<8> number; }}
struct headers {{ H h; }}
parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h); transition accept; }} }}
processor P(inout headers h, inout meta m) {{
    action tell(bit<40> x) {{ h.h.told = x; m.port = 1; }}
    action both(bit<8> bound, bit<16> x, bool y) {{ m.port = x; h.h.number = y ? bound : 8w0; }}
    action drop() {{ m.verdict = DROP; }}
    table t {{
        key = {{ {keys} }}
        actions = {{ tell; both(h.h.a); drop; }}
        const entries = {{
            {entries}
        }}
        default_action = tell(9);
    }}
    apply {{ m.verdict = DELIVER; if (t.apply().miss) {{ h.h.number = 77; }} }}
}}
deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.h); }}
protocol N {{ on radio.rx_done : Rx -> P -> Tx; }}
"""
#: Bits, and whether they are a number without a sign.
FIELDS = {"a": (8, True), "b": (16, True), "c": (64, True), "d": (2, True), "e": (1, True), "g": (8, False)}


def frame(values: dict[str, int]) -> bytes:
    out = 0
    for name, width in (("a", 8), ("b", 16), ("c", 64), ("d", 2), ("e", 1), ("f", 5), ("g", 8)):
        out = out << width | values.get(name, 0)
    return out.to_bytes(13, "big") + bytes(6)


@st.composite
def cases(draw):
    """A program, and frames whose keys are what its entries say, or near."""
    fields = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3, unique=True))
    mixed = draw(st.booleans())
    kinds = [draw(st.sampled_from(("exact", "range", "lpm", "ternary")[:4 if FIELDS[f][1] else 2])) if mixed else "exact" for f in fields]
    near: dict[str, set[int]] = {f: {0, 1, (1 << FIELDS[f][0]) - 1} for f in fields}

    def match(f: str, kind: str) -> str:
        width, plain = FIELDS[f]
        value = draw(st.one_of(st.integers(0, min(7, (1 << width) - 1)), st.integers(0, (1 << width) - 1)))
        near[f] |= {(value + step) % (1 << width) for step in (-1, 0, 1, 1 << width // 2, 1 << width - 1)}
        signed = value if plain or value < 128 else value - 256
        if kind != "exact" and draw(st.integers(0, 5)) == 0:
            return "_"
        if kind == "lpm":
            length = draw(st.integers(0, width))
            return f"{value >> width - length << width - length}/{length}"
        if kind == "ternary":
            return f"{value} &&& {draw(st.integers(0, (1 << width) - 1))}"
        if kind == "range":
            high = draw(st.integers(signed, min(signed + 9, ((1 << width) if plain else 128) - 1)))
            near[f] |= {high % (1 << width), (high + 1) % (1 << width)}
            return f"{signed}..{high}"
        return str(signed)
    actions = st.one_of(st.integers(0, (1 << 40) - 1).map(lambda x: f"tell({x})"), st.just("drop()"),
                        st.tuples(st.integers(0, 65535), st.booleans()).map(lambda two: f"both({two[0]}, {str(two[1]).lower()})"))
    entries = []
    for _ in range(draw(st.integers(1, 8))):
        keys = [match(f, kind) for f, kind in zip(fields, kinds)]
        entries.append(f"{keys[0] if len(keys) == 1 else '(' + ', '.join(keys) + ')'} : {draw(actions)};")
    text = PROGRAM.format(keys=" ".join(f"h.h.{f} : {kind};" for f, kind in zip(fields, kinds)), entries="\n            ".join(entries))
    values = st.fixed_dictionaries({f: st.sampled_from(sorted(near[f])) for f in fields})
    return text, [frame(one) for one in draw(st.lists(values, min_size=8, max_size=25))]


@given(cases(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_what_is_found_is_what_the_reference_finds(made, fuse):
    text, frames = made
    checked = program(text)
    compiled = compile_program(checked, fuse=fuse)
    assert not calls_lookup(compiled) and not compiled.bundle.tables
    sealed(compiled)
    assert all(report.accepted for report in compiled.reports.values())
    agree(checked, compiled, frames)


def agree(checked, compiled, frames, given=None):
    reference, engine = make_runner("reference", checked, given), make_runner("engine", checked, given, compiled=compiled)
    for one in frames:
        a, b = reference.run(one), engine.run(one)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), one.hex()


def calls_lookup(compiled) -> bool:
    return any(insn.is_call and insn.imm == BY_NAME["lookup"].number for container in compiled.containers for insn in decode(container.code.text))


def of_a(entries: dict[int, str]):
    return program(PROGRAM.format(keys="h.h.a : exact;", entries=" ".join(f"{n} : {action};" for n, action in entries.items())))


def test_many_entries_are_the_engine_s():
    few, many = (of_a({n: f"tell({n})" for n in range(count)}) for count in (21, 22))
    compared, looked_up = compile_program(few, fuse=True), compile_program(many, fuse=True)
    assert not calls_lookup(compared) and [table.name for table in looked_up.bundle.tables] == ["t"]
    for checked, compiled in ((few, compared), (many, looked_up)):
        agree(checked, compiled, [frame({"a": n}) for n in range(24)])


def test_entries_that_can_be_changed_are_the_engine_s():
    checked = program(PROGRAM.format(keys="h.h.a : exact;", entries="1 : drop();").replace("const entries", "entries"))
    compiled = compile_program(checked)
    assert [table.name for table in compiled.bundle.tables] == ["t"]
    agree(checked, compiled, [frame({"a": n}) for n in range(4)], control.from_json({"t": [{"key": [2], "action": "drop"}]}, checked))


def test_a_tables_file_may_name_it():
    """It can give it nothing."""
    checked = of_a({1: "drop()"})
    given = control.from_json({"t": []}, checked)
    agree(checked, compile_program(checked), [frame({"a": n}) for n in range(3)], given)
    for fresh in (make_runner("engine", checked), make_runner("reference", checked)):
        [(table, entries)] = given.entries.items()
        fresh.set_entries(table, entries)
        assert fresh.run(frame({"a": 1})).verdict == "DROP"
    with pytest.raises(control.TablesError, match="its entries are constant"):
        control.from_json({"t": [{"key": [2], "action": "drop"}]}, checked)


def test_no_lookup_is_waited_for():
    """Eight ports in two handfuls of comparisons: a lookup of the engine takes at least 700 cycles."""
    checked = of_a({n * n: f"tell({n})" for n in range(8)})
    compiled = compile_program(checked, fuse=True)
    [(_, report)] = sealed(compiled)
    assert report.accepted and report.max_insns < 70


def test_a_stock_engine_has_no_lookup():
    """And needs none."""
    compiled = compile_program(of_a({1: "drop()", 5: "tell(8)"}), "femto")
    assert all(report.accepted for _, report in sealed(compiled))
