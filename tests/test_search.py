"""Codecs that search registers, and rows that end in one call: cells of any size, any number of them, every engine says what the reference says."""
from __future__ import annotations

from collections import Counter

from hypothesis import given, settings, strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.disasm import disassemble
from lpn.compiler.fuzz.differential import Case, Variant, checked, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.lower.search import reciprocal

CONDITIONS = ["cells[i].a == x", "cells[i].a == x && other[i] != 3", "cells[i].b[7:0] == x && mix(cells[i], y) == y", "x != 5 && cells[i].a == x",
              "cells[i].a + (bit<8>) i == x", "x != 0 && mix(cells[i], y)[7:0] == x"]
PROGRAM = """header G {{ bit<8> i; bit<8> a; bit<{width}> b; }}
header H {{ bit<8> x; bit<64> y; }}
struct headers {{ G g; H h; }}
struct Cell {{ bit<8> a; bit<{width}> b; }}
register<bit<32>>[{others}] other;
register<Cell>[{cells}] cells;
function bit<64> mix(Cell c, bit<64> v) {{
    bit<64> w = v;
    if (c.a > 3) {{ w = v ^ ((bit<64>) c.b >> c.a); }}
    return w;
}}
codec C() <-> H {{
    tag 0b101010, k:2;
    var bit<8> n = first i in {low}..{high} where ({condition});
    inline(n, x);
    k {{ 2: y = mix(cells[n], 64w7);
        1: y = mix(cells[n], 48w0x1122_3344_5566 ++ inline(y[15:0]));
        0: y = mix(cells[n], inline(y));
        3: inline(y); }}
}}
parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.g); pkt.extract(h.h via C()); transition accept; }} }}
processor P(inout headers h, inout meta m) {{
    apply {{ cells[h.g.i].a = h.g.a; cells[h.g.i].b = h.g.b; other[h.g.i] = (bit<32>) h.g.a; m.verdict = TRANSMIT; }}
}}
deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.g); pkt.emit(h.h via C()); }}
protocol Test version 1 {{ on radio.rx_done : Rx -> P -> Tx; }}
"""


def program(width: int = 64, cells: int = 16, others: int = 16, low: int = 0, high: int = 16, condition: str = CONDITIONS[0]) -> str:
    return PROGRAM.format(width=width, cells=cells, others=others, low=low, high=high, condition=condition)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    width = draw(st.sampled_from([8, 16, 24, 56, 64]))
    low = draw(st.sampled_from([0, 0, 0, 1, 3]))
    high = draw(st.integers(low + 1, 18))
    text = program(width, draw(st.sampled_from([3, 8, 16, 18])), draw(st.sampled_from([16, 18])), low, high, draw(st.sampled_from(CONDITIONS)))
    small = st.integers(0, 9)
    frames = []
    for _ in range(8):
        row = draw(st.integers(0, 3))
        carried = {2: 0, 1: 2, 0: 8, 3: 8}[row]
        frames.append(bytes([draw(st.integers(0, 18)), draw(small)]) + draw(small).to_bytes(width // 8, "big")
                      + bytes([0b10101000 | row, draw(small), draw(small)]) + bytes([draw(small)]) * draw(st.sampled_from([carried, carried, 12])))
    return Case(Program(text, {}, False), [(frame, {}) for frame in frames])


@settings(max_examples=25, derandomize=True, deadline=None)
@given(cases())
def test_engines_agree(case):
    run_case(case, (Variant("engine"), Variant("engine", True)))


def shown(text: str) -> str:
    return "\n".join(disassemble(compile_program(checked(text), fuse=True).containers[0].image.text))


def turns(text: str) -> Counter[int]:
    """What is added to a register in 32 bits, 1 or the size of a cell among it."""
    return Counter(int(line.split()[2], 0) for line in shown(text).split("\n") if line.startswith("w") and " += 0x" in line)


def test_a_turn_steps_from_cell_to_cell():
    """Cells of 9 octets stand 16 apart. Each is counted on its own if two arrays have other cells, if one is too short, or the first is left out.
    The rows that are tried are counted, too."""
    rows = 1
    assert turns(program())[16] == 1 and turns(program())[1] == rows
    for other in (program(condition=CONDITIONS[1]), program(low=1), program(cells=8)):
        assert turns(other)[1] == rows + 1 and 16 not in turns(other)


def test_rows_share_a_call():
    """The three rows that end in it need not much more than one."""
    one = program().replace("1: y = mix(cells[n], 48w0x1122_3344_5566 ++ inline(y[15:0]));", "1: y = 5;").replace("0: y = mix(cells[n], inline(y));", "0: y = 6;")
    three, alone = (len(shown(text.replace("pkt.emit(h.h via C());", "")).split("\n")) for text in (program(), one))
    assert three - alone < 24


@given(st.integers(1, 4096), st.integers(1, 300))
def test_offsets_are_divided_by_a_product(stride, count):
    factor, shift = reciprocal(stride, count)
    assert all(n * stride * factor >> shift == n for n in range(count + 1))
    assert stride * count * factor < 1 << 32 or stride * count >= 1 << 16
