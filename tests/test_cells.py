"""Cells of an array that are named again by the same index have one address and one test, as long as nothing changes it."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from programs import program

from lpn.compiler.build import compile_program
from lpn.compiler.commands.inputs import checked
from lpn.compiler.disasm import disassemble
from lpn.compiler.forms import MOST, SMALL, Level

NAMED_AGAIN = Path(__file__).parent / "constructs" / "cells-named-again.lpn"
PROGRAM = """
struct Cell {{ bit<8> a; bit<16> b; bit<32> c; bit<32> d; }}
register<Cell>[9] cells;
processor P(inout meta m) {{
    apply {{
        bit<8> at = m.lqi;
        cells[at].a = 1;
        {between}
        cells[at].c = m.time;
        cells[at].d = cells[at].d + cells[at].c;
    }}
}}
"""


def addresses(between: str) -> int:
    """How often an index is multiplied by the size of a cell."""
    [one] = compile_program(program(PROGRAM.format(between=between))).containers
    return len(re.findall(r"\bw\d \*= 0xc\b", "\n".join(disassemble(one.code.text))))


@pytest.mark.parametrize("between, count", [
    ("", 1),
    ("cells[at].b = cells[at].b + 1; if (m.rssi > 9) { m.port = 1; cells[m.lqi].b = 7; }", 1),
    ("at = at ^ 1;", 2),
    ("if (m.rssi > 9) { at = m.iface; m.port = 1; }", 2),
])
def test_one_address_while_nothing_changes_the_index(between: str, count: int) -> None:
    assert addresses(between) == count


#: Slots of the MPL forwarder, which names cells of two arrays 29 times. They may only fall: with an address and a test for each it had 475 and 258.
@pytest.mark.parametrize("level, most", [(MOST, 404), (SMALL, 186)])
def test_an_mpl_forwarder(level: Level, most: int) -> None:
    found = {c.name: c.instructions for c in compile_program(checked(NAMED_AGAIN), level=level).containers}
    assert found["Forward"] <= most
