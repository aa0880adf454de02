"""Tables at the end of a chain: whatever comes of a lookup, written into the packet at once or copied, every engine says what the reference says."""
from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.disasm import disassemble
from lpn.compiler.fuzz.differential import Case, Variant, checked, run_case
from lpn.compiler.generate.base import Program

FIELDS = {"a": 48, "b": 16, "c": 24, "d": 8, "e": 32}
WAYS = ["m.verdict = DROP;", "m.reason = error.No; m.verdict = DROP;", "m.verdict = TRANSMIT;", "m.verdict = DELIVER;", "", "m.verdict = DROP; exit;",
        "h.h.d = h.h.d + 1; m.verdict = DROP;", "m.verdict = DROP; m.verdict = TRANSMIT;",
        "m.reason = h.h.{f}[0:0] == 0 ? error.No : error.NoMatch; m.verdict = DROP;"]
PUTS = ["h.h.{f} = v; m.verdict = TRANSMIT;", "h.h.{f} = v; h.h.d = h.h.{f}[7:0]; m.verdict = TRANSMIT;", "m.verdict = TRANSMIT; h.h.{f} = v;",
        "h.h.{f} = v; m.verdict = DELIVER;", "h.h.d = h.h.{f}[7:0]; h.h.{f} = v; m.verdict = TRANSMIT;", "h.h.{f} = v + 1; m.verdict = TRANSMIT;"]
ENDS = ["t.apply();", "if (h.h.d > 3) { t.apply(); }", "if (h.h.d > 3) { t.apply(); } else { m.verdict = DROP; }", "t.apply(); h.h.d = h.h.a[7:0];",
        "if (h.h.d > 3) { t.apply(); } h.h.d = h.h.e[7:0];", "if (t.apply().hit) { h.h.b = 7; }",
        "if (h.h.d > 3) { t.apply(); } else { t.apply(); h.h.d = h.h.a[7:0]; }", "if (h.h.d > 3) { t.apply(); } else { t.apply(); }"]

PROGRAM = """error {{ No }}
header G {{ bit<{before}> x; }}
header H {{ {fields} }}
struct headers {{ G g; H h; }}
parser Rx(packet pkt, out headers h) {{ state start {{ {extracts} transition accept; }} }}
processor P(inout headers h, inout meta m) {{
    action put(bit<{width}> v) {{ {put} }}
    action way() {{ {way} }}
    action other() {{ {other} }}
    table t {{ key = {{ h.h.{key} : exact; }} actions = {{ put; way; other; }} size = 4; default_action = {default}; }}
    apply {{ {end} }}
}}
{deparser}
protocol Test version 1 {{ on radio.rx_done : Rx -> P{rest}; }}
"""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = draw(st.permutations(list(FIELDS)))
    to, key = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    deparser = draw(st.sampled_from(["", "", "", "deparser Tx(packet pkt, in headers h) { pkt.emit(h.g); pkt.emit(h.h); }"]))
    text = PROGRAM.format(
        before=draw(st.sampled_from([8, 24])), fields=" ".join(f"bit<{FIELDS[n]}> {n};" for n in names), width=FIELDS[to], key=key,
        extracts=draw(st.sampled_from(["pkt.extract(h.g); pkt.extract(h.h);", "pkt.extract(h.h);"])),
        put=draw(st.sampled_from(PUTS)).format(f=to), way=draw(st.sampled_from(WAYS)).format(f=to), other=draw(st.sampled_from(WAYS)).format(f=to),
        default=draw(st.sampled_from(["way()", "other()", "way()"])), end=draw(st.sampled_from(ENDS)), deparser=deparser,
        rest=" -> Tx" if deparser else "")
    few = st.integers(0, 4).map(lambda n: int.from_bytes(bytes([n]) * (FIELDS[key] // 8), "big"))
    entries = [{"key": [k], "action": "put", "args": [draw(st.integers(0, (1 << FIELDS[to]) - 1))]} if draw(st.booleans()) else
               {"key": [k], "action": draw(st.sampled_from(["way", "other"])), "args": []} for k in draw(st.lists(few, unique=True, max_size=3))]
    frames = [draw(st.integers(0, 5)) for _ in range(6)]
    return Case(Program(text, {"P.t": entries}, False), [(bytes([n]) * draw(st.sampled_from([30, 30, 30, 12])), {}) for n in frames])


@settings(max_examples=40, derandomize=True, deadline=None)
@given(cases())
def test_engines_agree(case):
    run_case(case, (Variant("engine"), Variant("engine", True)))


def test_only_where_nobody_sees_it():
    """The lookup's third argument is the packet's, where put is all there is but drops."""
    def straight(put: str, way: str, end: str) -> bool:
        text = PROGRAM.format(before=8, fields="bit<48> a; bit<16> b; bit<8> d; bit<32> e;", width=48, key="b", extracts="pkt.extract(h.h);", put=put.format(f="a"),
                              way=way.format(f="a"), other=WAYS[1], default="way()", end=end, deparser="", rest="")
        shown = disassemble(compile_program(checked(text), fuse=True).containers[0].image.text)
        call = next(i for i, line in enumerate(shown) if "call 0x1" in line)
        return not any("r3 = r10" in line for line in shown[call - 5:call])
    assert [straight(put, WAYS[0], ENDS[0]) for put in PUTS] == [True, True, False, True, False, False]
    assert [straight(PUTS[0], way, ENDS[0]) for way in WAYS] == [True, True, False, False, False, False, False, False, False]
    assert [straight(PUTS[0], WAYS[0], end) for end in ENDS] == [True, True, True, False, False, False, False, True]


GIVEN = {                                       # to actions: what the field was before the lookup
    "to the one that has data": "action put(bit<16> old, bit<16> v) { h.h.a = v; m.port = old; m.verdict = DELIVER; } action no() { m.verdict = DROP; } "
                                "table t { key = { h.h.k : exact; } actions = { put(h.h.a); no; } default_action = no(); size = 4; }",
    "and given back": "action put(inout bit<16> old, bit<16> v) { h.h.a = v; old = old + 1; m.verdict = DELIVER; } action no() { m.verdict = DROP; } "
                      "table t { key = { h.h.k : exact; } actions = { put(h.h.a); no; } default_action = no(); size = 4; }",
    "to another": "action put(bit<16> v) { h.h.a = v; m.verdict = DELIVER; } action no(error why) { m.reason = why; m.verdict = DROP; } "
                  "table t { key = { h.h.k : exact; } actions = { put; no(h.h.a == 258 ? error.One : error.Two); } default_action = no(); size = 4; }",
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_an_action_is_given_was_said_before(name: str) -> None:
    text = f"""error {{ One, Two }}
        header H {{ bit<8> k; bit<16> a; }}
        struct headers {{ H h; }}
        parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h); transition accept; }} }}
        processor P(inout headers h, inout meta m) {{ {GIVEN[name]} apply {{ t.apply(); }} }}
        protocol G version 1 {{ on radio.rx_done : Rx -> P; }}"""
    packets = [(bytes([k, a, 2]), {}) for k in (1, 2) for a in (0, 1, 7)]
    run_case(Case(Program(text, {"t": [{"key": [1], "action": "put", "args": [0x0708]}]}, False), packets), (Variant("engine"), Variant("engine", True)))
