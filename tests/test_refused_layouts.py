"""What is verified of the bits that a header begins with (compiler/lower/required.py): a packet that is not refused runs as few instructions as one whose bits
were looked at before, and one that is has the same reason."""
from __future__ import annotations

import random

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.forms import MOST, SMALL, Level
from lpn.compiler.layout import HeaderLayout
from lpn.compiler.lower.guarded import as_verify
from lpn.compiler.lower.narrowed import Narrowed
from lpn.compiler.runner import make_runner
from lpn.lang import ast
from lpn.lang.instances import walk
from programs import chain, program

ERRORS = "error { Version, Parts, Mode }"
NET = """header Net {
    bit<4> version; bit<1> a; bit<1> b; bit<2> kind; bit<8> next;
    bit<16> x when (a == 1);
    bit<32> y when (b == 1);
    bit<16> z when (version == 4);
    bit<32> w when (version == 6);
    bit<16> port;
}"""
LINK = """enum bit<2> Mode { none = 0, short = 2, ext = 3 }
header Link {
    word le<16> { bit<3> type; bit<1> secured; bit<6> spare; Mode dst_mode; bit<2> version in { 0, 1, 2 }; Mode src_mode; }
    bit<8>  seq when (version != 2);
    choice (dst_mode) { short: le<16>; ext: le<64>; } dst;
    choice (src_mode) { short: le<16>; ext: le<64>; } src;
    le<32>  counter when (secured == 1);
    where (type != 7);
    le<16>  port;
}"""
DELIVER = "apply {{ m.verdict = DELIVER; m.port = h.{}.port; }}"

#: A header, what begins a packet that is not refused, the parser's states; the same with the bits looked at before, where all else is refused at once;
#: how many instructions more the first may run, and how many slots it may have.
CASES = {
    "one verify": (NET, "60", "pkt.extract(h.h); verify(h.h.version == 6 && h.h.a == 0 && h.h.b == 0, error.Version); transition accept;",
                   "verify(pkt.lookahead<bit<8>>()[7:2] == 24, error.Version); pkt.extract(h.h); transition accept;", 1, 36),
    "several": (NET, "64", "pkt.extract(h.h); verify(h.h.version == 6, error.Version); verify(h.h.a == 0, error.Parts); verify(h.h.b == 1, error.Parts); transition accept;",
                "verify(pkt.lookahead<bit<8>>()[7:2] == 25, error.Version); pkt.extract(h.h); transition accept;", 1, 43),
    "bits of two units": (NET, "6c11", "pkt.extract(h.h); verify(h.h.next == 17 && h.h.version == 6, error.Version); verify(h.h.a == 1 && h.h.b == 1, error.Parts); transition accept;",
                          "verify(pkt.lookahead<bit<16>>() == 0x6c11, error.Version); pkt.extract(h.h); transition accept;", 2, 44),
    "a select": (NET, "60", "pkt.extract(h.h); transition select(h.h.version, h.h.a, h.h.b) { (6, 0, 0): accept; }",
                 "verify(pkt.lookahead<bit<8>>()[7:2] == 24, error.Version); pkt.extract(h.h); transition accept;", 1, 36),
    "a number that is none of some": (NET, "50", "pkt.extract(h.h); verify(h.h.version != 4 && h.h.version != 6, error.Version); "
                                      "verify(!(h.h.a == 1 || h.h.b == 1), error.Parts); transition accept;",
                                      "verify(pkt.lookahead<bit<8>>()[7:4] != 4 && pkt.lookahead<bit<8>>()[7:4] != 6, error.Version); "
                                      "verify(pkt.lookahead<bit<8>>()[3:2] == 0, error.Parts); pkt.extract(h.h); transition accept;", 0, 44),
    "a word with choices": (LINK, "0198", "pkt.extract(h.h); verify(h.h.type == 1 && h.h.secured == 0, error.Parts); verify(h.h.version == 1, error.Version); "
                            "verify(h.h.dst_mode == Mode.short && h.h.src_mode == Mode.short, error.Mode); transition accept;",
                            "verify(pkt.lookahead<le<16>>() == 0x9801, error.Parts); pkt.extract(h.h); transition accept;", 2, 70),
}


def text_of(types: str, states: str) -> str:
    return chain(f"{'Net' if types is NET else 'Link'} h;", f"state start {{ {states} }}", types=f"{ERRORS}\n{types}", processor=DELIVER.format("h"))


def ran(text: str, data: bytes, fuse: bool = True, level: Level = MOST):
    return make_runner("engine", program(text), compiled=compile_program(program(text), "lpn", fuse, level)).run(data)


@pytest.mark.parametrize("name", CASES)
def test_runs_as_if_it_had_looked_before(name: str) -> None:
    types, begin, states, looking, more, slots = CASES[name]
    data = bytes.fromhex(begin).ljust(40, b"\1")
    for level in (MOST, SMALL):
        got, other = ran(text_of(types, states), data, True, level), ran(text_of(types, looking), data, True, level)
        assert got.verdict == other.verdict == "DELIVER" and got.port == other.port
        assert got.insns <= other.insns + more, (got.insns, other.insns)
        assert len(compile_program(program(text_of(types, states)), "lpn", True, level).containers[0].image.text) // 8 <= slots


@pytest.mark.parametrize("fuse, level", [(True, MOST), (True, SMALL), (False, MOST)], ids=["fused", "short", "chain"])
@pytest.mark.parametrize("name", CASES)
def test_reasons_stay(name: str, fuse: bool, level: Level) -> None:
    """Every length of packets that begin with anything near it: too short before all else, then what the header says of itself, then each verify."""
    types, begin, states, *_ = CASES[name]
    text, first, rng, seen = program(text_of(types, states)), bytes.fromhex(begin), random.Random(name), set()
    compiled = compile_program(text, "lpn", fuse, level)
    engine, reference = (make_runner(kind, text, compiled=compiled) for kind in ("engine", "reference"))
    begins = [first, *(bytes([first[0] ^ 1 << bit]) + first[1:] for bit in range(8)), *(rng.randbytes(2) for _ in range(20))]
    for one in begins:
        for length in range(28):
            data = (one + rng.randbytes(28))[:length]
            got, want = engine.run(data), reference.run(data)
            assert (got.verdict, got.reason, got.port, got.fault) == (want.verdict, want.reason, want.port, None), data.hex()
            seen.add(want.reason)
    assert {"PacketTooShort", None} < seen


#: A condition of Net; which of x, y, z, w it leaves open, and bits that are known.
DECIDED = {
    "h.h.version == 6": ("xy", 4), "h.h.version != 6": ("xyz", 0), "h.h.version[3:3] == 1": ("xy", 1), "h.h.version >= 8": ("xy", 1), "h.h.version < 2": ("xy", 3),
    "h.h.version == 4 || h.h.version == 6": ("xyzw", 3), "(h.h.version & 1) == 1": ("xy", 1), "h.h.a == h.h.b": ("xyzw", 0), "h.h.port == 7": ("xyzw", 0),
    "h.h.a == 1 && h.h.b != 1": ("zw", 2), "h.h.version == 6 && pkt.lookahead<bit<8>>() == 3": ("xy", 4), "h.h.next == 17": ("xyzw", 8),
    "h.h.kind == 1 || h.h.port == 7": ("xyzw", 0), "(h.h.a == 1 ? h.h.version == 6 : h.h.version == 4)": ("xyzw", 3),
}


@pytest.mark.parametrize("condition", DECIDED)
def test_what_is_known_of_a_layout(condition: str) -> None:
    text = program(text_of(NET, f"pkt.extract(h.h); verify({condition}, error.Version); transition accept;"))
    compiled = compile_program(text, "lpn", True)
    [taken, verified] = [n for n in walk(text.chain[0].states) if isinstance(n, ast.Call) and n.target in ("extract", "verify")]
    narrowed = Narrowed(HeaderLayout(taken.args[0].type.decl), taken.args[0])
    conditions = [verified.args[0]]
    while any(isinstance(e, ast.Binary) and e.op == "&&" for e in conditions):
        conditions = [part for e in conditions for part in ((e.left, e.right) if isinstance(e, ast.Binary) and e.op == "&&" else (e,))]
    for e in conditions:
        narrowed.learn(e)
    open_, known = DECIDED[condition]
    assert ("".join(u.fields[0][0].name for u in narrowed.open()), narrowed.mask.bit_count()) == (open_, known) and compiled.containers


#: A select; whether it is a verify.
SELECTS = {
    "(h.h.version) { 6: accept; }": True, "(h.h.version) { 6: accept; default: reject; }": True, "(h.h.version) { 6: accept; default: reject(error.Version); }": True,
    "(h.h.version) { 4: reject(error.Version); 6: accept; default: reject(error.Version); }": True, "(h.h.version) { 4: reject(error.Version); default: accept; }": True,
    "(h.h.version) { 4: reject(error.Parts); 6: accept; default: reject(error.Version); }": False, "(h.h.version) { 4: reject(error.Version); 6: accept; }": False,
    "(h.h.version) { 4: accept; default: accept; }": False, "(h.h.version) { 4: next; default: accept; }": False, "(h.h.version) { 1..3: accept; 4 &&& 6: accept; }": True,
    "(h.h.version, h.h.a) { (6, _): accept; (_, 1): accept; }": True,
}


@pytest.mark.parametrize("select", SELECTS)
def test_selects_that_are_verifies(select: str) -> None:
    states = f"pkt.extract(h.h); transition select{select} }} state next {{ transition accept;"
    text = program(text_of(NET, states))
    assert (as_verify(text.chain[0].states[0].transition) is not None) == SELECTS[select]


CHANGES = {                                     # what is asked between the extract and what is required
    "a function that changes the header": "verify(raised(h.h) != 9, error.Parts);", "one within the same condition": "verify(raised(h.h) != 9 && h.h.a == 0, error.Parts);",
    "bytes behind the header": "verify(pkt.lookahead<bit<24>>() != 0x010101, error.Parts);",
    "a field of it that is no part of what it begins with": "verify(h.h.port != 0x0101, error.Parts);",
}


@pytest.mark.parametrize("asked", CHANGES)
def test_what_is_asked_before(asked: str) -> None:
    """It is asked where it stands, and of what the header is then."""
    function = "function bit<16> raised(inout Net n) { n.version = n.version + 1; return n.port; }"
    text = program(text_of(f"{function}\n{NET}", f"pkt.extract(h.h); {CHANGES[asked]} verify(h.h.version == 6 && h.h.b == 0, error.Version); transition accept;").replace(
        "Link h;", "Net h;"))
    engine, reference = (make_runner(kind, text, compiled=compile_program(text, "lpn", True)) for kind in ("engine", "reference"))
    for first in (0x50, 0x60, 0x64, 0x68, 0x70, 0x40):
        for length in range(20):
            for fill in (1, 2, 0):
                data = (bytes([first]) + bytes([fill]) * 19)[:length]
                got, want = engine.run(data), reference.run(data)
                assert (got.verdict, got.reason, got.port) == (want.verdict, want.reason, want.port), data.hex()
