"""How certificates are made as short as they are: what is asked of the checker, and how often."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.judge import of_compiled, seal
from lpn.lang.check import check
from lpn.lang.loader import Source, load
from lpn.verifier import certify_search
from lpn.verifier.certificate import CTX, LOW, MAX_OFFSET, NUMBER, PKT, Given
from lpn.verifier.certify import certify
from lpn.verifier.certify_layout import Layout
from lpn.verifier.certify_search import Search, weaker_than
from programs import example

GIVEN = st.builds(lambda kind, lo, more, room: Given(kind, lo, min(lo + more, MAX_OFFSET), room), st.sampled_from((NUMBER, PKT, LOW, CTX)), st.integers(0, 300),
                  st.integers(0, 5000), st.none() | st.integers(-50, 300))


@settings(max_examples=200, derandomize=True, deadline=None)
@given(GIVEN, st.integers(0, 300))
def test_each_weaker_value_follows_from_the_next(own, length):
    """So if a label will not do with the last, it will with none of them."""
    def holds(wide: Given, narrow: Given) -> bool:
        room = narrow.room if narrow.room is not None else length - narrow.hi
        return wide.kind == narrow.kind and wide.lo <= narrow.lo and narrow.hi <= wide.hi and (wide.room is None or room >= wide.room)
    values = [*weaker_than(Given(own.kind, ref=2), own, length), own]
    assert all(holds(wide, narrow) for wide, narrow in zip(values, values[1:]))


def test_few_attempts_shorten_an_example(monkeypatch):
    """Each asks the checker about one block; what is behind its limit stays longer than need be."""
    made = {}

    class Counted(Search):
        def shorten(self):
            super().shorten()
            made[len(self.certificate.labels)] = self.attempts
    monkeypatch.setattr(certify_search, "Search", Counted)
    for unit in of_compiled(compile_program(example("decompress/decompress"), listings=False)).items:
        certify(unit.text, *unit.analyse(), unit.sizes(unit.judge().stack))
    assert sum(made.values()) <= 6_663


def test_labels_that_nothing_leads_to_are_inserted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time all labels are written anew: one at a time, 1,000 divisions took a quarter of a minute."""
    written = []
    lay_out = Layout.lay_out
    monkeypatch.setattr(Layout, "lay_out", lambda self: written.append(len(self.certificate.labels)) or lay_out(self))
    text = """header H { bit<32> a; bit<32> b; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { %s } }
protocol S version 1 { on radio.rx_done : Rx -> P; }
""" % " ".join(f"h.h.a = h.h.a / (h.h.b | {2 * n + 1});" for n in range(40))
    compiled = compile_program(check(load(Source("divisions.lpn", text))))
    seal(compiled)
    assert all(c.image.certificate for c in compiled.containers)
    assert max(written) > 40 and len(written) < 20, written
