"""What decides of a header which fields it has, and what these are, is another's, or computed: engines agree when that changes."""
from __future__ import annotations

import pytest
from programs import chain

from lpn.compiler.fuzz import Case, Variant, run_case
from lpn.compiler.generate import Program

ENGINES = (Variant("engine"), Variant("engine", True))
AGAIN = chain("K k; B(k) b; K l; B(l) c;", """
    state start max 3 { pkt.extract(h.k); transition select(h.k.k) { 1: body; default: turns; } }
    state body { pkt.extract(h.b); transition start; }
    state turns { for (i in 0..2) { pkt.extract(h.l); if (i == 0) { pkt.extract(h.c); } } transition accept; }""",
    "pkt.emit(h.b); pkt.emit(h.c);", "header K { bit<8> k; } header B(K up) { bit<8> a; bit<8> more when (up.k == 2); bit<8> z; }")

CASES = {"what is looked at is extracted again, in a circle of states and in a loop": (AGAIN, "01a0b00201c0d00277 01a0b00302c0d0e00177 01a0b001a1b10202c0d0e002")}


@pytest.mark.parametrize("text, packets", CASES.values(), ids=CASES)
def test_engines_agree(text: str, packets: str) -> None:
    run_case(Case(Program(text, {}, False), [(bytes.fromhex(packet), {}) for packet in packets.split()]), ENGINES)
