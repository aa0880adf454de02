"""A protocol of a thousand lines is checked with so much work as a second has room for, and the command starts quickly."""

from __future__ import annotations

import subprocess
import sys

from lpn.lang.check import check
from lpn.lang.format import format_source
from lpn.lang.loader import load
from lpn.lang.source import Source
from work import calls

MESSAGES = 20
START = """
import std.ieee802154;
import std.sixlowpan;
import std.ipv6;
import std.udp;
"""
MESSAGE = """
// Message @.
enum bit<4> Kind@ { REQUEST = 0, ANSWER = 1, FAILURE = 2 }

header Message@ {
    bit<8>  type = @;
    Kind@   kind;
    bit<4>  version in { 1, 2 };
    bit<16> sequence;
    bit<8>  hops;
    bit<8>  flags;
    bit<32> time when (flags[0:0] == 1);
    bit<64> origin;
    bit<16> length = sizeof(this);
    where (hops <= 64, error.Bad@);
}
"""
STATE = """
    state message@ {
        pkt.extract(h.m@);
        verify(h.m@.sequence != 0, error.Bad@);
        transition select(h.m@.kind, h.m@.hops) {
            (Kind@.REQUEST, 1..63): accept;
            (Kind@.ANSWER, _):      accept;
            default:                reject(error.Bad@);
        }
    }
"""
PARTS = """
    register<bit<32>>[4] last@;
    counter<bit<32>>     seen@;

    action forward@(bit<16> next) {
        h.mac.dst.short = next;
        m.verdict = TRANSMIT;
    }
    table routes@ {
        key            = { h.ip.dst : lpm; }
        actions        = { forward@; NoAction; }
        size           = 8;
        default_action = NoAction();
    }
"""
USE = """
        if (h.m@.isValid()) {
            seen@.count();
            h.m@.hops = h.m@.hops + 1;
            if (h.m@.kind == Kind@.REQUEST && h.m@.hops < 32) {
                last@[h.m@.flags[1:0]] = h.m@.origin[31:0] ^ ((bit<32>) h.m@.sequence << 3);
                routes@.apply();
            } else {
                m.verdict = DROP;
                m.reason = error.Bad@;
            }
        }
"""


def each(text: str) -> str:
    return "".join(text.replace("@", str(number)) for number in range(MESSAGES))


def protocol() -> str:
    """A protocol of many messages, each with a header, a state, registers, an action and a table."""
    return f"""{START}
error {{ {", ".join(f"Bad{n}" for n in range(MESSAGES))} }}
{each(MESSAGE)}
struct headers {{ Mhr mac; Ipv6 ip; Udp(ip) udp; {each("Message@ m@; ")} }}
parser Rx(packet pkt, out headers h) {{
    bit<1> nhc;
    state start {{
        pkt.extract(h.mac);
        pkt.extract(h.ip via Iphc(mac_link(h.mac), nhc));
        pkt.extract(h.udp);
        transition select(pkt.lookahead<bit<8>>()) {{ {each("@: message@; ")} default: accept; }}
    }}
{each(STATE)}
}}
processor Serve(inout headers h, inout meta m) {{
{each(PARTS)}
    apply {{
{each(USE)}
    }}
}}
deparser Tx(packet pkt, in headers h) {{
    pkt.emit(h.udp);
{each("    pkt.emit(h.m@);")}
}}
protocol Many version 1 {{ on radio.rx_done : Rx -> Serve -> Tx; }}
"""


def test_a_thousand_lines_take_less_than_a_second() -> None:
    source = Source("many.lpn", format_source(Source("many.lpn", protocol())))
    assert len(source.lines) > 1000
    check(load(source))                         # the first time builds the parser's automata
    assert calls(lambda: check(load(source))) < 4_500_000


def test_functions_that_are_given_all_headers_are_followed_once() -> None:
    """Each calls the one before twice: what a call leaves valid is found out once, not for every way to it."""
    functions = "".join(f"function void f{n}(inout headers h) {{ f{n - 1}(h); f{n - 1}(h); }}\n" for n in range(1, 16))
    source = Source("nested.lpn", f"""header H {{ bit<8> a; }} struct headers {{ H h; }}
function void f0(inout headers h) {{ h.h.setValid(); }}
{functions}processor P(inout headers h) {{ apply {{ f15(h); h.h.a = 1; }} }}
""")
    check(load(source))
    assert calls(lambda: check(load(source))) < 500_000


def test_statements_in_a_row_are_not_looked_at_again_from_each_of_them() -> None:
    """Whether a reason is that of a drop before it or behind it."""
    rows = "\n".join(f"bit<8> v{n} = 0; if (x > {n}) {{ v{n} = (bit<8>) x; }} x = x + (bit<32>) v{n};" for n in range(300))
    source = Source("rows.lpn", f"""header H {{ bit<32> a; }} struct headers {{ H h; }}
parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h); transition accept; }} }}
processor P(inout headers h, inout meta m) {{ apply {{ bit<32> x = h.h.a;
{rows}
h.h.a = x; m.verdict = TRANSMIT; }} }}
""")
    check(load(source))
    assert calls(lambda: check(load(source))) < 6_000_000


def test_help_loads_neither_front_end_nor_compiler() -> None:
    script = ("import sys; from lpn.compiler.cli import cli\n"
              "try: cli(['--help'])\n"
              "except SystemExit: pass\n"
              "heavy = [name for name in ('antlr4', 'llvmlite', 'lpn.lang.ast', 'lpn.lang.grammar.LpnParser', 'rich.table') if name in sys.modules]\n"
              "sys.exit(', '.join(heavy) or None)")
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, "") and "lsp" in made.stdout


def test_check_does_not_load_the_compiler() -> None:
    script = ("import sys; from lpn.compiler.commands.check import command\n"
              "sys.exit(', '.join(name for name in ('llvmlite', 'elftools', 'lpn.compiler.build', 'lpn.verifier') if name in sys.modules) or None)")
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, "")
