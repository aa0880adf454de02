"""Where names stand: renaming all that a file declares changes nothing else of it."""
from __future__ import annotations

from pathlib import Path

import pytest
from antlr4 import InputStream

from lpn.lang.grammar.LpnLexer import LpnLexer
from lpn.lang.hooks import CONTEXTS, EVENTS
from test_lang_docs import PROGRAMS

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'lpn[lsp]'")

from lpn.lang.server.analysis import Analysis, analyse    # noqa: E402
from lpn.lang.server.index import Mention, key            # noqa: E402
from lpn.lang.server.places import Point               # noqa: E402
from lpn.lang.server.rename import clash, no_name, places, refusal        # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for folder in ("stdlib", "examples") for path in (ROOT / folder).rglob("*.lpn") if "mistakes" not in path.parts)
#: Names that are words of the language, too, or stand in comments beside what they name.
ODD = """import std.udp;
const bit<8> MOST = 1;                          // MOST
error { partial }
enum bit<8> Kind { max = 0, size = 2 }
header Tag(Ipv6 ip) { Kind kind; choice (kind) { size: bit<16>; } state; }
header Other { bit<8> DROP; bit<8> most = MOST; }
codec Short(Tag tag) <-> Tag { tag 0b1, word:7; word { 1: inline(kind), state.size = inline:16; } }
struct headers { Ipv6 ip; Tag(ip) tag; Other other; }
parser Rx(packet pkt, out headers h) {
    value_set<bit<8>>[2] value_set;
    state start { pkt.extract(h.ip); transition select(h.ip.next_header) { value_set: state; default: /* state */ state; } }
    state state { pkt.extract(h.tag); verify(h.tag.kind == Kind.size && h.ip.hop_limit > MOST, error.partial); transition accept; }
}
processor Keep(inout headers h, inout meta m) {
    buffer<64>[2] buffer timeout 1 s;
    action /* action */ register(bit<16> port) { m.port = port; }
    table table_of { key = { h.tag.kind : exact; } actions = { register; } const entries = { Kind.max : register(7); } size = 2; const default_action = register(9); }
    apply {
        bit<8> left = h.ip.hop_limit;
        table_of.apply();
        if (left > 1) { if (buffer.put(left, 0, sizeof(payload)) == COMPLETE) { buffer.take(left); } }
    }
}
parser Again(packet pkt, out headers h) { state start { pkt.extract(h.ip); transition accept; } }
protocol protocol { on radio.rx_done : Rx -> Keep; on /* Keep */ Keep.buffer.complete : Again; }
"""

TEXTS = [pytest.param(ODD, None, id="odd"), *(pytest.param(path.read_text(), path, id=str(path.relative_to(ROOT))) for path in FILES),
         *(pytest.param(one.values[0], ROOT / "doc.lpn", id=f"{one.id}") for one in PROGRAMS)]
#: Names of the language that stand for nothing that could be asked about.
BUILT_IN = {"_", "packet", "packet_in", "packet_out", "meta", "accept", "reject", "pad", "this", "exact", "lpm", "ternary", "range", *CONTEXTS,
            *(part for event in EVENTS for part in event.split("."))}


def declared(analysis: Analysis) -> list[Mention]:
    """What may be renamed, each declaration once."""
    assert analysis.index is not None
    found = {key(one.decl): one for one in analysis.index.mentions if one.declares and one.span.source is analysis.source and not refusal(analysis, one)}
    return list(found.values())


def told(analysis: Analysis) -> list[tuple[str, int | None]]:
    return [(one.severity, one.span.line if one.span else None) for one in analysis.diagnostics]


def renamed(analysis: Analysis, names: dict[str, list]) -> str:
    """The text with other names at their places, all at once."""
    lines = list(analysis.source.lines)
    for span, new in sorted(((span, new) for new, spans in names.items() for span in spans), key=lambda one: (-one[0].line, -one[0].column)):
        line = lines[span.line - 1]
        lines[span.line - 1] = line[:span.column - 1] + new + line[span.end_column - 1:]
    return "\n".join(lines)


@pytest.mark.parametrize("text, path", TEXTS)
def test_all_names_of_a_file_can_be_others(text: str, path: Path | None) -> None:
    """Each gets a fresh one. Nothing more is wrong then, and the old names give the old text."""
    before = analyse("x.lpn", text, path)
    found = declared(before)
    fresh = {f"zz{number}_{one.span.text}": one for number, one in enumerate(found)}
    after = analyse("x.lpn", renamed(before, {new: places(before, one.decl) for new, one in fresh.items()}), path)
    assert told(after) == told(before)
    again = {one.span.text: one for one in declared(after)}
    assert again.keys() == fresh.keys()
    back: dict[str, list] = {}
    for new, one in fresh.items():
        back.setdefault(one.span.text, []).extend(places(after, again[new].decl))
    assert renamed(after, back) == text


@pytest.mark.parametrize("text, path", TEXTS)
def test_every_name_is_known(text: str, path: Path | None) -> None:
    """What is written as a name is one of a declaration, or of the language."""
    analysis = analyse("x.lpn", text, path)
    assert analysis.index is not None
    known = {(one.span.line, one.span.column) for one in analysis.index.mentions if one.span.source is analysis.source}
    known |= {(one.span.line, 0) for one in analysis.index.program.imports}
    lexer = LpnLexer(InputStream(text))
    missing = [(token.text, token.line) for token in lexer.getAllTokens() if token.type == LpnLexer.IDENT and token.text not in BUILT_IN
               and not {(token.line, token.column + 1), (token.line, 0)} & known]
    assert missing == []


@pytest.mark.parametrize("marked, new, said", [
    ("MOST = 1", "highest", ""),
    ("MOST = 1", "max", ""),
    ("MOST = 1", "Kind", "'Kind' is declared twice"),
    ("MOST = 1", "Udp", "'Udp' is declared twice"),
    ("MOST = 1", "DROP", "'DROP' is a name of the language"),
    ("MOST = 1", "h", "'h' hides the constant of that name"),
    ("MOST = 1", "in", "'in' is a word of the language and cannot be a name"),
    ("MOST = 1", "m\u00f6st", "'m\u00f6st' cannot be a name: these are letters, digits and _, and do not begin with a digit"),
    ("MOST = 1", "1st", "'1st' cannot be a name: these are letters, digits and _, and do not begin with a digit"),
    ("MOST = 1", "_", "'_' cannot be a name: these are letters, digits and _, and do not begin with a digit"),
    ("kind; choice", "DROP", ""),
    ("DROP;", "MOST", "'MOST' would mean something else in one of these places"),
    ("left = ", "m", "'m' hides the parameter of that name"),
    ("left = ", "sizeof", "'sizeof' is a word of the language and cannot be a name"),
    ("buffer timeout", "left", "'left' hides the buffer of that name"),
    ("protocol { on", "Keep", "'Keep' is declared twice"),
    ("state { pkt", "accept", "state 'accept' is there already"),
    ("state { pkt", "start", "state 'start' is declared twice"),
    ("start { pkt", "begin", "a parser begins in the state of this name"),
    ("max = 0", "least", ""),
    ("size = 2 }", "most", "a choice has an arm of this name"),
    ("size: bit", "most", "an arm has the name of an enum's member"),
    ("hop_limit", "hops", "this is declared in another file; rename it there"),
    ("payload", "x", "this name is built in"),
])
def test_new_names(marked: str, new: str, said: str) -> None:
    analysis = analyse("odd.lpn", ODD, None)
    assert analysis.index is not None
    start = ODD.index(marked)
    point = Point(ODD.count("\n", 0, start) + 1, start - ODD.rfind("\n", 0, start))
    found = analysis.index.at(analysis.source, point)
    assert found is not None
    assert (refusal(analysis, found) or no_name(new) or clash(analysis, found, new, None, {})) == said
