"""Stacks that are counted while a parser runs mean the same as those whose elements have places of their own in its states."""
from __future__ import annotations

from pathlib import Path

import pytest
from programs import program

from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.differential import Case, Variant, add_packets, load_case, run_case
from lpn.compiler.generate.base import Program, RandomChoose
from lpn.compiler.lower import stacks
from lpn.compiler.lower.stacks import counted_stacks, taken
from lpn.lang import ast

HERE = Path(__file__).parent
OPTIONS = """
header Link   {{ bit<8> kind = 1; bit<8> a; }}
header Prefix {{ bit<8> kind = 2; bit<16> b; }}
header Other  {{ bit<8> kind; }}
struct headers {{ Link[{links}] links; Prefix[{prefixes}] prefixes; Other[{others}] others; }}
parser Rx(packet pkt, out headers h) {{
    state start max 12 {{ transition select(sizeof(payload)) {{ 0: accept; default: option; }} }}
    state option {{ transition select(pkt.lookahead<bit<8>>()) {{ 1: link; 2: prefix; default: other; }} }}
    state link   {{ pkt.extract(h.links.next); transition start; }}
    state prefix {{
        pkt.extract(h.prefixes.next);
        if (h.prefixes.last.b == 7) {{ pkt.extract(h.others.next); }}
        transition start;
    }}
    state other  {{ pkt.extract(h.others.next); transition start; }}
}}
protocol Options version 1 {{ on radio.rx_done : Rx; }}
"""


def parser_of(**sizes: int) -> ast.Parser:
    return next(m for m in program(OPTIONS.format(**sizes)).modules if isinstance(m, ast.Parser))


def test_as_few_stacks_are_counted_as_do_the_longest_first() -> None:
    def counted(small: bool = False, **sizes: int) -> set[str]:
        return {f.name for f in counted_stacks(parser_of(**sizes), small)}
    assert counted(links=1, prefixes=1, others=1) == set()
    assert counted(links=2, prefixes=1, others=2) == {"links"}
    assert counted(links=1, prefixes=2, others=4) == {"others", "prefixes"}
    assert counted(links=32, prefixes=32, others=32) == {"links", "prefixes", "others"}
    assert counted(True, links=1, prefixes=1, others=1) == {"links", "prefixes", "others"}


def test_what_ways_through_a_state_take() -> None:
    ways = {s.name: taken(s.statements) for s in parser_of(links=1, prefixes=1, others=1).states}
    assert ways["option"] == {()} and ways["link"] == {(("links", 1),)}
    assert ways["prefix"] == {(("prefixes", 1),), (("others", 1), ("prefixes", 1))}


def test_short_stacks_that_multiply_make_no_long_container() -> None:
    """As two kinds of options in any order do: 25 ways to be full, and a copy of every state for each was 1,849 slots."""
    [rx] = compile_program(program(OPTIONS.format(links=4, prefixes=4, others=1))).containers
    assert rx.instructions < 350


def test_where_code_is_to_be_short_stacks_that_multiply_are_counted_sooner() -> None:
    """Two stacks of three elements were 397 slots with -Os, and of eight 203."""
    text = """
        header A {{ bit<8> t; bit<16> v; }}
        struct headers {{ A[{n}] a; A[{n}] b; }}
        parser Rx(packet pkt, out headers h) {{
            state start {{ transition select(sizeof(payload)) {{ 0: accept; default: which; }} }}
            state which {{ transition select(pkt.lookahead<bit<8>>()) {{ 0: accept; 1: one; 2: two; default: reject; }} }}
            state one {{ pkt.extract(h.a.next); transition start; }}
            state two {{ pkt.extract(h.b.next); transition start; }}
        }}
        processor P(inout headers h, inout meta m) {{ apply {{ m.verdict = DELIVER; }} }}
        protocol X version 1 {{ on radio.rx_done : Rx -> P; }}
    """
    sizes = [compile_program(program(text.format(n=n)), level=SMALL).containers[0].instructions for n in (1, 2, 3, 4, 8)]
    assert sizes == sorted(sizes) and sizes[2] < 120
    case = add_packets(Case(Program(text.format(n=3))), RandomChoose(1), 12)
    run_case(case, (Variant("engine", False, SMALL), Variant("engine", True, SMALL), Variant("rbpf", False, SMALL)))


def test_long_stacks_make_no_long_container() -> None:
    [rx] = compile_program(program(OPTIONS.format(links=12, prefixes=12, others=12))).containers
    assert rx.instructions < 5000


@pytest.mark.parametrize("path", ["constructs/stacks-that-move", "constructs/applied-modules", "regressions/one-load-of-packet-or-image"])
def test_all_stacks_may_be_counted(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "MOST_COPIES", 0)
    case = load_case(HERE / f"{path}.lpn")
    run_case(case, (Variant("engine"), Variant("engine", True), Variant("rbpf")))


def test_validity_is_copied_as_an_octet() -> None:
    """Where elements move up: a load and a store each, and no test of what is 0 or 1."""
    text = """
        header H {{ bit<8> a; }}
        struct headers {{ H[{n}] h; }}
        parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h.next); transition select(h.h.last.a) {{ 0: accept; default: start; }} }} }}
        processor P(inout headers h, inout meta m) {{ apply {{ h.h.pop_front(1); }} }}
        protocol Moves version 1 {{ on radio.rx_done : Rx -> P; }}
    """
    few, many = (next(c.instructions for c in compile_program(program(text.format(n=n))).containers if c.name == "P") for n in (4, 12))
    assert many - few < 8 * 5                   # the octet of the header, too
