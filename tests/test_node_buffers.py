"""Buffers on the C node, and in the reference."""

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler.build import compile_program
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.runtime.node import Costs, native_node
from lpn.runtime.node_reference import reference_node
from lpn.runtime.timeline import Overrun, Ran, meaning


REASSEMBLY = """
header Piece { bit<8> key; bit<8> offset; bit<8> size; bit<8> next; }
struct headers { Piece piece; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.piece); transition accept; } }
processor Keep(inout headers h, inout meta m) {
    buffer<64>[2] whole timeout 5 ms;
    apply {
        m.verdict = CONSUMED;
        whole.put(h.piece.key, (bit<16>) h.piece.offset, (bit<16>) h.piece.size);
    }
}
processor Take(inout headers h, inout meta m) { apply { radio.channel((bit<8>) sizeof(payload)); m.verdict = DELIVER; m.port = 3; } }
protocol P version 1 {
    on radio.rx_done : Rx -> Keep;
    on Keep.whole.complete : Rx -> Take;
}
"""


@pytest.fixture(scope="module")
def reassembly(tmp_path_factory):
    path = tmp_path_factory.mktemp("buffers") / "p.lpn"
    path.write_text(REASSEMBLY)
    program = check(load(path))
    return program, compile_program(program).bundle


def lives(reassembly, pieces):
    """The same pieces in the engine and in the reference."""
    program, made = reassembly
    nodes = [native_node(made, costs=Costs(0, 0, 100)), reference_node(program, costs=Costs(0, 0, 100))]
    for node in nodes:
        for time, piece in pieces:
            node.post(time, "radio.rx_done", (), piece)
        node.run(50_000)
    assert [meaning(r) for r in nodes[0].records] == [meaning(r) for r in nodes[1].records]
    return nodes[0]


def test_a_completed_buffer_runs_after_the_chain_and_before_anything_else(reassembly):
    first, last = bytes([1, 0, 12, 0]) + bytes(range(8)), bytes([1, 8, 12, 0]) + b"last"
    node = lives(reassembly, [(0, last), (10, first), (10, b"\2\0\1\0x")])
    ran = [(r.hook, r.time, r.delivered) for r in node.records if isinstance(r, Ran)]
    assert ran == [("radio.rx_done", 0, None), ("radio.rx_done", 10, None), ("buffer.complete.0", 10, bytes(range(4, 8)) + b"last")]
    assert [r.hook for r in node.records if isinstance(r, Overrun)] == ["radio.rx_done"]
    runs = [r for r in node.records if isinstance(r, Ran)]
    assert runs[2].cause == runs[1].number
    node = lives(reassembly, [(0, last), (6000, first)])        # timed out
    assert "buffer.complete.0" not in [r.hook for r in node.records if isinstance(r, Ran)]


def test_the_entry_is_free_again_once_its_chain_has_run(reassembly):
    whole = bytes([1, 0, 8, 9]) + bytes(8)
    node = lives(reassembly, [(1000 * i, whole) for i in range(9)])
    assert [node.dispatch.stats(i).runs for i in (0, 1)] == [9, 9]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(range(0, 20_000, 250)), st.tuples(st.integers(0, 2), st.sampled_from([0, 8, 16]), st.sampled_from([8, 12, 20]), st.sampled_from([0, 0, 9]))), max_size=25))
def test_buffers_in_engine_and_reference(reassembly, pieces):
    lives(reassembly, [(time, bytes(head) + bytes(min(8, max(head[2] - head[1], 0)))) for time, head in pieces])
