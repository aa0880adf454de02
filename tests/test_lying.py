"""What a sum is of is added up in a loop where it lies in memory, in short code; the sum is the same."""
from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.lower.lying import LyingSums

TEXT = """
    header S {{ bit<8> k; bit<64> x; bit<128> y; bit<16> z; }}
    header H {{ bit<8> k; bit<8> t; bit<48> a; bit<80> b; bit<128> c; le<16> d; bit<16> e; bit<16> f; bit<16> sum = ~inet_sum({of_header}) deferred; }}
    struct Flow {{ bit<8> o; bit<96> m; bit<128> n; bit<128> w; bit<80> p; bit<32> i; bit<128> q; }}
    register<Flow> flow;
    register<bit<128>> r;
    register<bit<128>> kept;
    register<bit<128>>[2] s;
    struct headers {{ H h; S s; }}
    parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.s); transition accept; }} }}
    processor Make(inout headers h, inout meta m) {{
        apply {{
            if (h.s.k[0:0] == 1) {{ flow.m = h.s.y[95:0]; flow.w = h.s.x ++ h.s.y[127:64]; flow.p = h.s.x ++ h.s.z; }}
            if (h.s.k[1:1] == 1) {{ flow.n = h.s.y; r = h.s.x ++ h.s.x; s[1] = h.s.y; flow.q = h.s.y; }}
            h.h.setValid();
            h.h.a = h.s.x[47:0];
            h.h.b = h.s.x ++ h.s.z;
            h.h.c = {c};
            h.h.d = h.s.x[15:0];
            h.h.e = h.s.z;
            if (h.s.k[2:2] == 1) {{ h.h.k = 7; h.h.f = inet_sum({of_state}); }}
            if (h.s.k[3:3] == 1) {{ h.s.setInvalid(); }}
            m.verdict = TRANSMIT;
        }}
    }}
    deparser Tx(packet pkt, in headers h) {{ {emits} }}
    protocol P version 1 {{ on radio.rx_done : Rx -> Make -> Tx; }}"""
HEADER = ["k ++ t", "a", "b", "c", "e", "f", "a ++ e", "16w9", "b[31:0]"]
STATE = ["flow.m", "flow.n", "flow.w", "flow.p", "flow.q", "r", "s[1]", "s[h.s.k[0:0]]", "h.h.c", "h.h.b", "h.h.e", "h.s.y", "h.s.z", "16w3", "flow.n ^ r"]
ORDERS = ["pkt.emit(h.h); pkt.emit(h.s);", "pkt.emit(h.s); pkt.emit(h.h);"]


def pieces_of(text: str, cases: list[bytes], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | None, int]]:
    """Runs packets in short code of both forms, beside the reference. Which regions were summed in loops, so many octets."""
    found = []

    def noted(self, piece, words, plain=LyingSums.sum_memory):
        found.append((piece.region, piece.end - piece.start))
        return plain(self, piece, words)

    monkeypatch.setattr(LyingSums, "sum_memory", noted)
    run_case(Case(Program(text, {}, False), [(frame, {}) for frame in cases]), (Variant("engine", False, SMALL), Variant("engine", True, SMALL)))
    return found


FRAMES = [bytes([k]) + bytes(range(200 - k, 232 - k)) for k in (0, 7, 1, 4, 15, 6)]


def test_what_lies_together_is_one_loop():
    text = TEXT.format(of_header="c, a, k ++ t, b, e, payload", of_state="flow.w, h.s.z, flow.n, r, flow.m", c="h.s.y", emits=ORDERS[0])
    with pytest.MonkeyPatch.context() as patched:
        found = pieces_of(text, FRAMES, patched)
    assert set(found) == {("state", 16 + 16), ("state", 16), (None, 6 + 10 + 16), ("out", 6 + 10 + 16)}


def test_what_is_kept_elsewhere_is_summed_from_there():
    """A member of an array has an index to be tested; what lies the other way round, or at less than 16 octets, is not summed where it is."""
    text = TEXT.format(of_header="d, e, b", of_state="flow.m, s[h.s.k[0:0]], flow.i", c="flow.n", emits=ORDERS[1])
    with pytest.MonkeyPatch.context() as patched:
        assert pieces_of(text, FRAMES, patched) == []


def test_what_a_deparser_says_again_lies_where_it_was_said_from():
    text = TEXT.format(of_header="c", of_state="flow.m", c="kept", emits=ORDERS[1])
    with pytest.MonkeyPatch.context() as patched:
        assert ("state", 16) in pieces_of(text, FRAMES, patched)


@settings(max_examples=20)
@given(st.lists(st.sampled_from(HEADER), min_size=1, max_size=6), st.lists(st.sampled_from(STATE), min_size=1, max_size=6),
       st.sampled_from(["h.s.y", "flow.n", "r", "kept"]), st.sampled_from(ORDERS), st.lists(st.binary(min_size=27, max_size=40), min_size=3, max_size=4),
       st.booleans())
def test_sums_are_the_same(of_header, of_state, c, emits, frames, odd):
    """Wherever it lies; `odd`: at odd octets."""
    text = TEXT.format(of_header=", ".join(of_header), of_state=", ".join(of_state), c=c, emits=emits)
    if odd:
        text = text.replace("bit<8> t; ", "").replace("k ++ t", "a[47:16]")
    with pytest.MonkeyPatch.context() as patched:
        pieces_of(text, frames, patched)
