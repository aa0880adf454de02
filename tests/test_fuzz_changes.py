"""Programs that people wrote, changed a little: the changes, what they are made of, and the engines on some of them."""
from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from threading import Thread

import pytest
from cli import RECORDING, lpnc

from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.became import Became
from lpn.compiler.fuzz.changes import Changer, Edit, Originals, applied, written
from lpn.compiler.fuzz.differential import Case, Refused, Variant, add_packets, checked, is_case, load_case, run_case
from lpn.compiler.fuzz.loop import Corpus, Loop
from lpn.compiler.generate.base import Program, RandomChoose
from lpn.compiler.generate.packets import Packets
from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.reference import Reference, Result
from lpn.lang.reference.modules import run_module
from lpn.lang.source import Source

TESTS = Path(__file__).parent
EXAMPLES = [TESTS.parent / "examples" / name / f"{name}.lpn" for name in ("udp", "duty", "forwarding")]
UDP, PAYLOAD = EXAMPLES[0], TESTS / "constructs/payload.lpn"
CASES = [*sorted((TESTS / "constructs").glob("*.lpn")), *sorted((TESTS / "regressions").glob("*.lpn"))]
VARIANTS = (Variant("engine"), Variant("engine", True, SMALL))
GROUPS, EACH = 2, 6


def original(path: Path) -> tuple[str, Case]:
    case = load_case(path) if is_case(path) else Case(Program(""))
    return path.name, Case(Program(written(load(path)), case.program.tables), case.packets)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_program_in_one_text_is_the_same(path: Path) -> None:
    whole = checked(written(load(path)))
    made, again = (compile_program(program, level=0, listings=False) for program in (check(load(path)), whole))
    assert [c.code.text for c in made.containers] == [c.code.text for c in again.containers] and made.state.size == again.state.size


def test_imports_are_left_out_wherever_they_stand(tmp_path: Path) -> None:
    """Several in a line, beside a declaration, one that another file has, too."""
    (tmp_path / "shared.lpn").write_text("import std.udp; import std.ipv6; const bit<8> A = 1;\n")
    (tmp_path / "own.lpn").write_text("import std.ipv6; import shared; const bit<8> B = A; import std.udp;\nstruct headers { Ipv6 ip; Udp(ip) udp; }\n"
                                      "parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.ip); pkt.extract(h.udp); transition accept; } }\n")
    text = written(load(tmp_path / "own.lpn"))
    assert not re.search(r"(?m)^[^/]*\bimport\b", text) and {"A", "B", "Udp"} <= {decl.name for decl in checked(text).decls if isinstance(decl, ast.Decl)}


def test_changes_are_of_all_kinds_and_most_are_programs() -> None:
    """The same number changes alike; three in four changes that are tried come to a program in the end."""
    changer = Changer(original(PAYLOAD)[1].program)
    texts = [changer.changed(RandomChoose(number), 3) for number in range(24)]
    assert texts[:3] == [changer.changed(RandomChoose(number), 3) for number in range(3)]
    programs = {text for text in texts if text is not None}
    assert len(programs) >= 18 and changer.sites.text not in programs
    for text in programs:
        checked(text)
    assert all((changer.sites.exprs, changer.sites.operators, changer.sites.numbers, changer.sites.lists))


def test_edits() -> None:
    assert applied("a + b;", [Edit(4, 5, "(c)"), Edit(2, 3, "-")]) == "a - (c);"
    assert applied("a + b;", [Edit(0, 5, "c"), Edit(2, 3, "-")]) is None            # one lies in the other


def test_the_first_numbers_are_the_programs_themselves() -> None:
    cases = [original(UDP), original(CASES[0])]
    originals = Originals(cases, 3)
    for number, (name, case) in enumerate(cases):
        assert originals(number, RandomChoose(number)).program.text == case.program.text
        assert originals.called(number) == f"{name}, as it is"
    changed = originals(2, RandomChoose(2))
    assert changed.program.text != cases[0][1].program.text and originals.called(2) == "udp.lpn, changed as 2"
    assert Originals(cases, 0)(2, RandomChoose(2)).program.text == cases[0][1].program.text
    assert len(originals(3, RandomChoose(3)).packets) == min(6, len(cases[1][1].packets)) > 0


def test_changed_programs_take_the_tables() -> None:
    """What the control plane gives is of the program as it was; a change with which it could not be is none."""
    path = next(path for path in CASES if load_case(path).program.tables)
    case = original(path)[1]
    changer = Changer(case.program)
    for number in range(6):
        if (text := changer.changed(RandomChoose(number), 3)) is not None:
            add_packets(Case(Program(text, case.program.tables)), RandomChoose(number), 1)


@pytest.mark.parametrize("group", range(GROUPS))
def test_engines_agree_on_changed_programs(group: int) -> None:
    originals = Originals([original(path) for path in CASES], 3)
    tally: Counter = Counter()
    for number in range(len(CASES) + group, 4 * len(CASES), 4 * len(CASES) // (GROUPS * EACH)):
        choose = RandomChoose(number)
        case = originals(number, choose)
        add_packets(case, choose, 6)
        try:
            run_case(case, VARIANTS, tally)
        except Refused:
            continue
    assert tally["compared engine"] >= 6 * len(VARIANTS) * EACH // 2


def test_a_wrong_engine_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lpn.compiler.fuzz import differential
    results = differential.expected

    def wrong(program, case):
        out, state, left = results(program, case)
        return [type(r)("CONSUMED") if r.verdict == "ACCEPT" else r for r in out], state, left

    monkeypatch.setattr(differential, "expected", wrong)
    told: list[str] = []
    name, case = original(TESTS / "constructs/payload.lpn")
    originals = Originals([(name, case)], 0)
    loop = Loop(Corpus.open(tmp_path), ("engine",), packets=4, reduce=False, told=told.append, new=originals, called=originals.called)
    loop.run(programs=1)
    assert [one.failure.kind for one in loop.found] == ["verdict differs"] and told[0].startswith("payload.lpn, as it is: verdict differs")
    assert is_case(loop.found[0].path)


def test_command(tmp_path: Path) -> None:
    done = lpnc("fuzz", str(PAYLOAD), "--changes", "1", "--in", RECORDING, "--programs", "2", "--packets", "8", "--engine", "engine,thumb2",
                "--corpus", str(tmp_path), "--json")
    said = json.loads(done.stdout)
    assert done.exit_code == 0 and said["programs"] == 2 and said["failures"] == [] and said["tally"]["compared engine"] >= 32 and said["tally"]["compared thumb2"]
    assert is_case(next((tmp_path / "kept").glob("*.lpn")))


def test_tables_come_from_standard_input_or_a_pipe(tmp_path: Path) -> None:
    """Of either there is but one reading."""
    program, text = tmp_path / "keyed.lpn", json.dumps({"wanted": 7})
    program.write_text("""header H { bit<8> a; } struct headers { H h; } register<bit<8>> wanted;
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) { apply { if (wanted == 7) { m.verdict = CONSUMED; } } }""")
    args = ("fuzz", str(program), "--changes", "0", "--programs", "1", "--engine", "engine", "--json")
    os.mkfifo(pipe := tmp_path / "pipe")
    Thread(target=pipe.write_text, args=(text,), daemon=True).start()
    for done in (lpnc(*args, "--tables", "-", input=text), lpnc(*args, "--tables", str(pipe))):
        assert done.exit_code == 0 and json.loads(done.stdout)["became"][str(program)]["verdicts"]["CONSUMED"], done.output
    assert "standard input: wnted: the program has no such register" in lpnc(*args, "--tables", "-", input='{"wnted": 7}').output


@pytest.mark.parametrize("args, said", [
    ([str(UDP), "--bytecode"], "FILE, --slowest and --bytecode exclude each other"),
    (["--in", RECORDING, "--seconds", "1"], "--in needs FILE or --slowest"),
    (["--tables", "x.json", "--seconds", "1"], "--tables needs FILE"),
    (["--changes", "2", "--seconds", "1"], "--changes needs FILE"),
    (["--bytecode", "--changes", "3", "--seconds", "1"], "--changes means nothing with --bytecode: it is for FILE alone"),
    (["--slowest", str(UDP), "--tables", "x.json", "--seconds", "1"], "--tables means nothing with --slowest: it is for FILE alone"),
    (["--bytecode", "--engine", "rbpf", "--seconds", "1"], "--engine means nothing with --bytecode"),
    (["--bytecode", "--in", RECORDING, "--seconds", "1"], "--in means nothing with --bytecode: it is for FILE or --slowest"),
    (["--engine", "engine,qemu", "--seconds", "1"], "'qemu' is not one of engine, rbpf, kernel, m3, thumb2, femto"),
    (["--mutants", "1", "--seconds", "1"], "--mutants needs --bytecode"),
    (["--writer", "numbers", "--seconds", "1"], "--writer needs --bytecode"),
    ([str(UDP), "--runs", "1", "--seconds", "1"], "--runs means nothing with FILE: it is for --bytecode"),
    (["--slowest", str(UDP), "--programs", "1"], "--programs means nothing with --slowest"),
    ([str(UDP), "--tables", "nowhere.json", "--seconds", "1"], "nowhere.json: No such file"),
    ([str(UDP), "--in", str(UDP), "--seconds", "1"], "not a capture"),
    (["nowhere.lpn", "--seconds", "1"], "cannot read nowhere.lpn"),
])
def test_what_is_asked_for_wrongly(args: list[str], said: str) -> None:
    done = lpnc("fuzz", *args)
    assert done.exit_code == 2 and said in done.stderr


@pytest.mark.parametrize("path, least", [(UDP, 8), (TESTS.parent / "examples/zigbee/zigbee.lpn", 12), (TESTS.parent / "examples/from_p4/source_route.lpn", 20)],
                         ids=lambda value: getattr(value, "stem", ""))
def test_packets_for_a_program_are_taken_by_its_parser(path: Path, least: int) -> None:
    """Of 40 that are made of nothing but what it asks for: frame types, versions, flags, dispatch octets, a length."""
    reference = Reference(check(load(path)))
    packets, taken = Packets(reference, reference.state(None)), 0
    for number in range(40):
        run = reference.prepare(packets.packet(RandomChoose(number)), {}, packets.state)
        taken += run_module(run, packets.parsers[0]).reason is None
    assert taken >= least


@pytest.mark.parametrize("condition, following, least", [
    ("length <= sizeof(payload)", "pkt.advance(8 * (bit<32>) h.records.last.length); transition select(sizeof(payload)) { 0: accept; default: start; }", 20),
    ("length == 2 * (bit<16>) kind", "transition accept;", 20),
    ("length ^ 0x5aa5 == sizeof(payload)", "transition accept;", 8),
])
def test_what_a_where_asks_is_found(condition: str, following: str, least: int) -> None:
    """Of a header's fields, and of how much follows it; also record behind record."""
    program = check(load(Source("where.lpn", f"""
        header Record {{ bit<8> kind; bit<16> length; where ({condition}); }}
        struct headers {{ Record[4] records; }}
        parser Rx(packet pkt, out headers h) {{ state start {{ pkt.extract(h.records.next); {following} }} }}
        """)))
    reference, taken = Reference(program), 0
    packets = Packets(reference, reference.state(None), True)
    for number in range(40):
        run = reference.prepare(packets.packet(RandomChoose(number)), {}, packets.state)
        taken += run_module(run, packets.parsers[0]).reason is None
    assert taken >= least, taken


def test_options_behind_lengths_and_sums_are_found() -> None:
    """What grows makes three numbers wrong that were right before: that they are mended again takes no part of the patience. What has no room goes, too."""
    program = check(load(Source("options.lpn", """
        import std.ipv6;
        import std.udp;
        error { BadSum, Twice, Other }
        header Option { bit<8> type; bit<8> length in { 1..20 }; varbit<160> data sized (8 * (bit<16>) length); where (type < 4); }
        struct headers { Ipv6 ip; Udp(ip) udp; Option[3] options; }
        parser Rx(packet pkt, out headers h) {
            state start { pkt.extract(h.ip); verify(h.ip.next_header == UDP, error.Other); pkt.extract(h.udp); verify(h.udp.holds(), error.BadSum);
                          verify(h.udp.dst == 19788, error.Other); transition more; }
            state more { transition select(sizeof(payload)) { 0: accept; default: option; } }
            state option { pkt.extract(h.options.next); transition more; }
        }
        """)))
    reference, taken = Reference(program), Counter()
    packets = Packets(reference, reference.state(None), True)
    for number in range(40):
        run = reference.prepare(packets.packet(RandomChoose(number)), {}, packets.state)
        if run_module(run, packets.parsers[0]).reason is None:
            taken[sum(one.instance.header.name == "Option" for one in run.taken)] += 1
    assert taken.total() >= 20 and len(taken) == 4, taken


ADDRESSED = """
header Ip { bit<128> dst; le<16> port; bit<8> hops; }
struct headers { Ip ip; }
register<bit<128>> address;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.ip); transition accept; } }
processor P(inout headers h, inout meta m) {
    action take() { m.verdict = TRANSMIT; }
    action drop() { m.verdict = DROP; }
    table ports { key = { h.ip.port : exact; } actions = { take; drop; } size = 4; default_action = drop(); }
    apply { m.verdict = DROP; if (h.ip.dst == address) { ports.apply(); } }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.ip); }
protocol X version 1 { on radio.rx_done : Rx -> P -> Tx; }
"""
GIVEN = {"address": "2001:db8::2", "ports": [{"key": [61616], "action": "take"}]}


def test_packets_have_what_a_program_looks_for_behind_its_parser() -> None:
    """Octets of an address that a register holds, and a port that an entry does; without the aim, none."""
    for aim, least, most in ((False, 0, 0), (True, 4, 60)):
        tally: Counter = Counter()
        for number in range(4):
            run_case(add_packets(Case(Program(ADDRESSED, GIVEN)), RandomChoose(number), 20, aim), VARIANTS[:1], tally)
        assert least <= tally["packets TRANSMIT"] <= most, tally


def test_a_field_of_a_compressed_header_is_aimed_at() -> None:
    program = check(load(Source("inline.lpn", """import std.sixlowpan;
        struct headers { Mhr mac; Ipv6 ip; }
        parser Rx(packet pkt, out headers h) {
            bit<1> nhc;
            state start { pkt.extract(h.mac); pkt.extract(h.ip via Iphc(mac_link(h.mac), nhc)); transition accept; }
        }
        processor P(inout headers h, inout meta m) { apply { if (h.ip.dst != ip6"2001:db8::2") { m.verdict = DROP; } } }
        """)))
    reference = Reference(program)
    packets, hits = Packets(reference, reference.state(None), True), 0
    for number in range(100):
        hits += bytes.fromhex("20010db8000000000000000000000002") in packets.packet(RandomChoose(number))
    assert hits >= 1, hits


@pytest.mark.parametrize("looked, keys", [
    ("h.first.kind", "0x1234"),
    ("pkt.lookahead<bit<24>>()", "0x503401"),
    ("pkt.lookahead<bit<24>>()[23:16], pkt.lookahead<bit<24>>()[15:8]", "(0x50, 0x34)"),
    ("pkt.lookahead<le<16>>(), h.first.kind", "(0x3450, 7)"),
    ("pkt.lookahead<bit<16>>() & 0xfff", "0x034 &&& 0x7ff"),
])
def test_a_case_that_no_packet_is_refused_without_is_taken(looked: str, keys: str) -> None:
    """A select whose default goes on as well; behind it, what the program looks for there."""
    program = check(load(Source("select.lpn", """
        header First { bit<16> kind; }
        header A { bit<24> x; bit<32> n; }
        struct headers { First first; A a; }
        parser Rx(packet pkt, out headers h) {
            state start { pkt.extract(h.first); transition select(%s) { %s: a; default: accept; } }
            state a { pkt.extract(h.a); transition accept; }
        }
        processor P(inout headers h, inout meta m) { apply { if (h.a.isValid() && h.a.n == 0x12345678) { m.verdict = DROP; } } }
        """ % (looked, keys))))
    reference = Reference(program)
    packets, seen = Packets(reference, reference.state(None), True), Counter()
    for number in range(100):
        run = reference.prepare(packet := packets.packet(RandomChoose(number)), {}, packets.state)
        run_module(run, packets.parsers[0])
        seen[len(run.taken)] += 1
        seen["sought"] += bytes.fromhex("12345678") in packet
    assert seen[2] >= 15 and seen[1] >= 15 and seen["sought"] >= 5, seen


def test_what_became_of_the_packets_is_said(tmp_path: Path) -> None:
    """And where all were dropped, that nothing behind that was compared."""
    path, given = tmp_path / "a.lpn", tmp_path / "given.json"
    path.write_text(ADDRESSED)
    given.write_text(json.dumps(GIVEN))
    args = ("fuzz", str(path), "--changes", "0", "--programs", "2", "--engine", "engine")
    done = lpnc(*args, "--tables", str(given))
    assert done.exit_code == 0 and "a.lpn: 40 packets: " in done.stdout and " TRANSMIT" in done.stdout
    assert "\ndropped: " in done.stdout and "warning" not in done.stdout
    done = lpnc(*args)                          # no entry: no packet gets through
    assert done.exit_code == 0 and "a.lpn: 40 packets: 40 DROP\n" in done.stdout
    assert "a.lpn: all 40 packets for radio.rx_done were dropped: " in done.stdout and "behind that was not compared" in done.stdout
    done = lpnc(*args, "--json")
    became = json.loads(done.stdout)["became"]
    assert [one["verdicts"] for one in became.values()] == [{"DROP": 40}] and sum(next(iter(became.values()))["dropped"].values()) == 40
    assert [one["all_dropped"] for one in became.values()] == [["radio.rx_done"]] and "warning: " in done.stderr
    done = lpnc("fuzz", "--programs", "1", "--packets", "2", "--engine", "engine", "--json")
    assert "became" not in json.loads(done.stdout)


def test_each_hook_is_asked_what_got_through() -> None:
    """A chain without a parser, as a timer's, gets no packets: that it ran says nothing."""
    program = checked(ADDRESSED)
    became, dropped, taken = Became(), Result("DROP", "P.drop"), Result("TRANSMIT")
    became.note(program, None, dropped)
    assert became.all_dropped() == {"radio.rx_done": {"P.drop": 1}}
    became["", "ACCEPT", ""] += 1
    assert became.all_dropped() == {"radio.rx_done": {"P.drop": 1}} and became.verdicts == {"DROP": 1, "ACCEPT": 1}
    became.note(program, 0, taken)
    assert became.all_dropped() == {}


TIMED = """
header H { bit<8> kind; }
struct headers { H h; }
register<bit<32>> seen;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor Count(inout headers h, inout meta m) { apply { seen = seen + 1; m.verdict = CONSUMED; } }
timing T { every 1 s within 1 ms { seen = 0; } on radio.tx_done(res) { seen = 2; } }
protocol Timed version 1 { on radio.rx_done : Rx -> Count; timing : T; }
"""


def test_runs_of_handlers_are_no_packets(tmp_path: Path) -> None:
    """As many packets are drawn as are asked for, and what became of them is not mixed with what handlers return."""
    path = tmp_path / "timed.lpn"
    path.write_text(TIMED)
    args = ("fuzz", str(path), "--changes", "0", "--programs", "1", "--packets", "60", "--engine", "engine")
    said = json.loads(lpnc(*args, "--json").stdout)
    became, = said["became"].values()
    assert sum(became["verdicts"].values()) == 60 and set(became["verdicts"]) <= {"CONSUMED", "DROP"} and became["verdicts"]["CONSUMED"] > 30
    assert became["handlers"] > 10 and said["tally"]["runs of handlers"] == became["handlers"] and "packets ACCEPT" not in said["tally"]
    assert said["packets"] == said["tally"]["compared engine"] and said["packets"] % 60 == 0
    assert f"timed.lpn: 60 packets: {became['verdicts']['CONSUMED']} CONSUMED" in (text := lpnc(*args).stdout) and f"; {became['handlers']} runs of handlers\n" in text


@pytest.mark.parametrize("said", ['{"packets": 5}', '{"packets": [1]}', '{"packets": [{"frame": "zz"}]}', '{"packets": [{}]}'])
def test_a_saved_case_that_is_none_is_named(said: str, tmp_path: Path) -> None:
    (tmp_path / "a.lpn").write_text(PAYLOAD.read_text())
    (tmp_path / "a.json").write_text(said)
    done = lpnc("fuzz", str(tmp_path / "a.lpn"), "--programs", "1")
    assert done.exit_code == 2 and "a.json: not the packets of a saved case" in done.stderr


def test_what_a_field_cannot_hold_is_not_written_into_it() -> None:
    program = checked("""header H { bit<8> a; } struct headers { H h; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); verify((bit<16>) h.h.a == 300, error.NoMatch); transition accept; } }
        protocol X version 1 { on radio.rx_done : Rx; }""")
    reference = Reference(program)
    packets = Packets(reference, reference.state(None))
    assert any(packets.packet(RandomChoose(number))[:1] == bytes([300 & 0xFF]) for number in range(40))


MIGRATES = """header H { bit<8> a; }
struct headers { H h; }
persistent register<bit<8>> x;
migrate version 1 { register<bit<8>>[90] b; x = old.b[89]; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { x = h.h.a; m.verdict = CONSUMED; } }
protocol X version 2 { on radio.rx_done : Rx -> P; }
"""


def test_a_migration_is_judged_with_the_state_that_it_reads(tmp_path: Path) -> None:
    """What it has as its record is the old version's state, larger here than the chain's record."""
    path = tmp_path / "a.lpn"
    path.write_text(MIGRATES)
    done = lpnc("fuzz", str(path), "--changes", "0", "--programs", "1", "--engine", "engine")
    assert done.exit_code == 0 and "0 failures kept" in done.stdout


def test_progress_is_told_where_there_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then a line; a program that takes long is named while it does."""
    path = tmp_path / "a.lpn"
    path.write_text(ADDRESSED)
    args = ("fuzz", str(path), "--changes", "0", "--programs", "2", "--packets", "1", "--engine", "engine")
    assert lpnc(*args).stderr == ""
    monkeypatch.setattr("lpn.compiler.commands.fuzz.LINE_EVERY", 0.0)
    lines = lpnc(*args).stderr.splitlines()
    assert lines[0].startswith("0 programs, 0 packets compared") and lines[0].endswith(f"; now {path}, as it is") and lines[1].startswith("1 programs, ")
