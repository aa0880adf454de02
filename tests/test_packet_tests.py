"""`lpnc test`: what passes, what fails and how it is shown; never a traceback."""
from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from hypothesis import given, settings, strategies as st

from cli import lpnc, make_capture
from packet_files import BEGIN, GIVES, MORE, PROGRAMS, each_a_test, passed
from lpn.compiler.build import compile_program
from lpn.compiler.packet_test import run as runs, timeline
from lpn.compiler.packet_test.run import Suite
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.source import Source
from lpn.runtime.node import Costs
from lpn.runtime.radio import Radio


# ---------------------------------------------------------------- what passes

PASS = [
    "send hex { 00 0000 }; expect DROP BadKind; expect no packet;",
    "send hex { 02 12 34 }; expect DELIVER 0x1234; expect DELIVER 0x1200..0x12ff; expect DELIVER 0x34 &&& 0xff; expect DELIVER;",
    'send { tag { kind = 2, port = 7 } payload "abc" }; expect DELIVER 7 no packet;',
    'set base[0] = 3; send { tag { kind = 2, port = 7 } }; expect DELIVER 10; check base[0] == 3; check Work.base[1] != 3;',
    'send { tag { kind = 3 } "xyz" }; expect TRANSMIT { tag { kind = 3, port = 0 } payload "xyz" }; expect hex { 03 0000 78 7* ** };',
    'send { tag { kind = 3 } }; expect TRANSMIT unchanged; expect hex { 03 ... }; expect hex { 02/fe 00{2} }; expect { tag { kind = 2..3 } };',
    'send { hex { 03 00 } "\\x00" }; expect TRANSMIT via Rx { tag { kind = 3 } payload hex { } };',
    'send hex { 02 }; expect DROP PacketTooShort;',
    'send hex { 03 00{2} (01 ("a"){2} 02{2} /* and */ (03 4*){0}){3} }; expect hex { 03 0000 (01 6161 0202){2} (** 6* ** ** **){1} }; expect hex { 03 (**){4} (**){13} };',
]
PASS_MORE = [
    'send whole; expect TRANSMIT { link { mode = short, peer.short = 258 } items[0] { id = 0x85 } body { kind = data, seq = 7 } payload "ab" };',
    'send whole; expect TRANSMIT hex { 02 0201 85 7100 02 **** "ab" };',
    "send whole; expect TRANSMIT via Rx { items[0] { id = 0x80..0x8f } no items[1] body { seq = 7 } };",
    "send whole; expect TRANSMIT whole with { body { seq = 7 } };",
    "send via Tx { link { peer.long = 3, extra = 9 } body { kind = ack } }; expect ACCEPT hex { 03 0000000000000003 09 0200 00 fffd };",
    "send whole with { link { peer.long = 3, extra = 9 } }; expect via Rx { link { peer.long = 3, extra = 9, mode = Mode.long } };",
    "send whole; check Route.seen == 1; check seen >= 1; check seen < 2; check last == 0;",
    "wait 20 ms; send whole; check last == 20000; wait 1 s; send whole; check last == 1020 ms;",
    "node { short = 0x77 } send whole; check peers[1].address == 0x77; check peers[1].level == -3; check peers[1].level < 0;",
    "set peers[2] = { address = PORT, level = -1 }; check peers[2].address == PORT; set peers[2].address = 9; check peers[2].level == -1;",
    "set peers[OTHER] = { level = -1 }; check peers[2].level == -1; set peers[Kind.data].address = 7; check peers[OTHER].address == 0; send whole; "
    "expect via Rx { items[0] { id = 0x85 } no items[OTHER] }; expect { link { } items[Mode.none] { id = 0x85 } body { } };",
    "send whole with { body { sum = 1 } }; expect DROP Route.drop;",
    "table ports { (data, 6) : to(PORT); } send whole; expect DELIVER PORT;",
    "table ports { priority = 9: (data, _) : back(); priority = 1: (data, 4 &&& 0xc) : to(3); } send whole; expect DELIVER 3;",
    "table ports { } send whole; expect ACCEPT unchanged;",
    "send { link { peer.short = 1 } body { kind = Kind.data, size = 9 } }; expect DROP Body.size;",
    "send { Item { id = 1 } Item { id = 2 } }; expect DROP Link.mode;",
]


@pytest.mark.parametrize("options", [[], ["--fuse"], ["-O0"], ["-Os", "--fuse"], ["--engine", "engine"], ["--engine", "reference"]], ids=" ".join)
def test_passes(beside, options):
    passed(beside(each_a_test(PASS), "tag", *options))
    passed(beside(BEGIN + each_a_test(PASS_MORE), "more", *options))


def test_a_header_more_stands_behind_the_one_named_before_it_or_behind_all(beside):
    passed(beside("""packet two { msg { type = 1 } ack { code = 9 } payload "x" }
test "behind msg" { send two with { msg { } ask { id = 7 } }; expect TRANSMIT { msg { } ack { id = 7 } payload hex { 0000 09 "x" } }; }
test "behind all" { send two with { ask { id = 7 } }; expect TRANSMIT { msg { } ack { id = 0 } payload hex { 09 0007 "x" } }; }
test "two of them" { send two with { msg { } ask { id = 7 } Ask { id = 8 } payload "y" }; expect TRANSMIT { msg { } ack { id = 7 } payload hex { 0008 0000 09 "y" } }; }
packet three two with { msg { } ask { id = 6 } };
test "and changed again" { send three with { ask { id = 5 } }; expect TRANSMIT { msg { } ack { id = 5 } payload hex { 0000 09 "x" } }; }
""", "asks"))


def test_frames_of_captures(beside, tmp_path):
    make_capture(tmp_path / "x.pcap")
    passed(beside('test "third" { send frame 3 of "x.pcap"; expect DELIVER 0x1234; }\n'
                  'test "fourth" { set base[1] = 0x1234; send frame 4 of "x.pcap"; expect TRANSMIT frame 4 of "x.pcap"; }'))


def test_tables_files(beside, tmp_path):
    (tmp_path / "t.json").write_text('{"base": {"0": 5}}')
    passed(beside('tables "t.json"; test "it" { send hex { 02 0001 }; expect DELIVER 6; }'))


def test_each_test_begins_anew(beside):
    one = 'send hex { 02 0001 }; expect DELIVER 1; set base[0] = 5; send hex { 02 0001 }; expect DELIVER 6;'
    passed(beside(f'test "a" {{ {one} }} test "b" {{ {one} }}'))


PASS_GIVES = [
    'send { note { } item { n = 3 } "ab" }; expect CONSUMED; expect net.sent { note { kind = 7, length = 3 } item { n = 3 } payload "ab" }; expect no sent; expect net.sent times 1;',
    'send { note { } item { n = 1 } "abcd" }; expect sent times 2; expect sent { note { } item { } payload "cd" } times 1; expect no net.sent; expect no sent hex { 02 ... };',
    'send { note { kind = 9 } "ab" }; expect sent hex { 02 07 62 "ab" } times 1; expect sent times 1;',
    'events { 10 ms air 03 00 00 03 "ab"\n until 250 ms } expect net.sent times 4; expect net.sent { note { kind = 7 } item { } payload "ab" } at 10 ms..11 ms times 1; '
    'expect net.sent hex { 00 00 ** } at 100 ms times 1; expect no sent;',
]


def test_what_a_packet_makes_the_program_send(beside):
    passed(beside(each_a_test(PASS_GIVES), "gives"))
    passed(beside(each_a_test(PASS_GIVES), "gives", "--fuse", "-Os", "--engine", "engine"))
    status, text = beside('test "it" { send { note { } item { n = 3 } "ab" }; expect net.sent { note { } item { n = 4 } }; }', "gives")
    assert status == 1 and "expected a packet given to the network stack as written: there are 0" in text
    assert "item.n  4         3" in text and "and gave the network stack 0307c36162 (5 B)" not in text, text


def test_what_is_written_behind_a_header_is_its_payload(beside):
    """Lengths and sums count octets between headers, and headers that go by their type, in what is sent and in what is expected."""
    PROGRAMS["between"] = GIVES.replace("state item { pkt.extract(h.item);", "state item { Item skipped; pkt.extract(skipped); pkt.advance(8); pkt.extract(h.item);").replace(
        "if (h.item.n == 3)", "if (h.item.n == 4) { h.item.setInvalid(); m.verdict = DELIVER; return; } if (h.item.n == 3)")
    written = 'note { kind = 1 } Item { n = 5 } hex { 06 } item { n = 4 } "x"'
    passed(beside(f"""test "sent" {{ send {{ {written} }}; expect DELIVER; }}
        test "a length" {{ send {{ {written.replace("kind = 1", "kind = 1, length = 3")} }}; expect DROP Note.length; }}
        test "expected" {{ send hex {{ 04 09 0a 05 06 04 78 }}; expect TRANSMIT {{ note {{ }} Item {{ n = 5 }} hex {{ 06 }} item {{ }} }}; }}
        test "sums, too" {{ send {{ note {{ kind = 9 }} Item {{ n = 5 }} hex {{ 06 }} item {{ n = 4 }} "x" }};
                           expect TRANSMIT {{ note {{ }} Item {{ n = 5 }} hex {{ 06 }} item {{ n = 4 }} payload "x" }}; }}""", "between"))


# ---------------------------------------------------------------- what fails, and how it is shown

FAIL = [
    ("send hex { 02 0007 }; expect DELIVER 8;", "expected DELIVER 8, got DELIVER 7"),
    ("send hex { 02 0007 }; expect DROP BadKind;", "expected DROP BadKind, got DELIVER 7"),
    ("send hex { 00 0007 }; expect DROP PacketTooShort;", "expected DROP PacketTooShort, got DROP BadKind"),
    ("send hex { 02 0007 }; expect TRANSMIT;", "expected TRANSMIT, got DELIVER 7"),
    ("send hex { 02 0007 }; expect hex { 02 };", "expected a packet, and there is none: DELIVER 7"),
    ("send hex { 03 0007 }; expect no packet;", "expected no packet, and there is one"),
    ("send hex { 03 0007 }; expect unchanged;", "the packet is not as expected"),
    ("send hex { 03 0007 }; check base[0] == 1;", "base[0] is 0, not 1"),
    ("check base[0] != 0;", "base[0] is 0, not != 0"),
    ("check base[0] > 0;", "base[0] is 0, not > 0"),
    ("check base[0] == 1;", "base[0] is 0, not 1"),
]


def test_fails(beside):
    status, text = beside(each_a_test([steps for steps, _ in FAIL]), "tag", "--json")
    assert status == 1
    assert [(one["status"], one["message"]) for one in map(json.loads, text.splitlines())] == [("failed", message) for _, message in FAIL]


def test_a_bool_is_called_so_and_a_whole_frame_is_shown(beside, tmp_path):
    (tmp_path / "bool.lpn").write_text("""header H { bit<8> a; }
        struct headers { H h; }
        register<bool> known;
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) { apply { known = h.h.a == 1; } }""")
    status, text = beside('program "bool.lpn"; test "it" { send hex { 01 00{125} 77 }; check known == false; }')
    assert status == 1 and "known is true, not false" in text and f"sent 127 octets: 01{'00' * 125}77\n" in text
    status, text = beside('program "bool.lpn"; test "it" { send hex { 00{127} 77 }; check known == true; }')
    assert status == 1 and "known is false, not true" in text and f"sent 128 octets: {'00' * 127}...\n" in text


def shown(outcome: tuple[int, str]) -> str:
    """What is printed between the line of the test and the totals."""
    assert outcome[0] == 1
    return outcome[1].split("^\n", 1)[1].split("\n\n")[0]


def test_a_packet_that_differs_is_shown_field_by_field(beside):
    outcome = beside(BEGIN + """test "it" {
        send whole;
        expect TRANSMIT { link { peer.short = 0x0103 } items[0] { id = 0x86 } body { kind = ack, seq = 7 } payload "aB" }
    }""", "more")
    assert shown(outcome) == """\
  offset  field            expected     got
       1  link.peer.short  259 (0x103)  258 (0x102)
       3  items[0].id      134 (0x86)   133 (0x85)
       4  body.kind        ack (2)      data (1)
      10  payload          42           62
  expected     0  02 03 01 86 72 00 02 9e 9c 61 42
  got          0  02 02 01 85 71 00 02 9e 9c 61 62
                     ^^    ^^ ^^                ^^
  sent 11 octets: 020201856100029e9c6162"""


def test_octets_that_differ_are_marked_and_named(beside):
    outcome = beside(BEGIN + 'test "it" { send whole; expect TRANSMIT hex { 02 0202 85 70/f1 ** 02 **** 61 6* 63 }; }', "more")
    assert shown(outcome) == """\
  offset  field            expected   got
       2  link.peer.short  02         01
       4  body.kind seq    70/f1      71
          length           12 octets  11 octets
  expected     0  02 02 02 85 70/f1 ** 02 ** ** 61 6* 63
  got          0  02 02 01 85 71    00 02 9e 9c 61 62
                        ^^    ^^                      ^^
  sent 11 octets: 020201856100029e9c6162"""


def test_a_cell_that_is_not_as_expected_comes_with_what_became_of_the_packet(beside):
    assert shown(beside('test "it" { send hex { 00 0007 }; check base[0] == 1; }')) == "  sent 3 octets: 000007\n  which became DROP BadKind"
    assert "sent" not in beside('test "it" { check base[0] == 1; }')[1]


def test_what_is_not_in_the_packet_as_it_is_has_no_offset(beside):
    outcome = beside(BEGIN + 'test "it" { send whole; expect TRANSMIT via Rx { link { extra = 1, peer.long = 2 } no items[0] items[1] { } }; }', "more")
    assert shown(outcome) == """\
  offset  field           expected                 got
          items[0]        no such header           a header
          items[1]        a header                 no such header
          link.extra      1                        not there
          link.peer.long  00:00:00:00:00:00:00:02  not there
  got          0  02 02 01 85 71 00 02 9e 9c 61 62
  sent 11 octets: 020201856100029e9c6162"""


def test_a_wrong_equation_in_what_came_out_is_seen(beside):
    """A header that is expected has right equations, deferred ones too, also where nobody wrote them down."""
    text = MORE.replace("if (!h.body.holds()) { m.verdict = DROP; return; }", "").replace("h.body.seq = h.body.seq + 1; ", "")
    PROGRAMS["loose"] = text
    outcome = beside(BEGIN + 'test "it" { send whole with { body { sum = 1 } }; expect TRANSMIT via Rx { body { kind = data } }; }', "loose")
    assert ["7", "body.sum", "40604", "(0x9e9c)", "1"] in [line.split() for line in shown(outcome).splitlines()]
    passed(beside(BEGIN + 'test "it" { send whole with { body { sum = 1 } }; expect TRANSMIT via Rx { body { sum = _ } }; }', "loose"))


def test_engines_that_differ_fail(beside, monkeypatch):
    """An engine that is wrong about the port is not believed."""
    real = runs.make_runner

    def wrong(name, *args, **more):
        runner = real(name, *args, **more)
        run = runner.run
        runner.run = lambda frame, meta=None, hook=None: type(r := run(frame, meta, hook))(r.verdict, r.reason, r.port and r.port + 1, r.out, r.insns)
        return runner
    monkeypatch.setattr(runs, "make_runner", wrong)
    status, text = beside('test "it" { send hex { 02 0007 }; expect DELIVER; }')
    assert status == 1 and "failed: it: engine and reference differ" in text
    assert ["port", "8", "7"] in [line.split() for line in text.splitlines()]


# ---------------------------------------------------------------- a node in time

PASS_TIMED = [
    "events { until 250 ms } expect sent times 3; expect run Heart.every_100ms times 3; expect no heard; check number == 3;",
    "events { until 250 ms } expect sent times 1 at 100 ms..101 ms; expect run Heart.every_100ms times 2..3 at 0 ms..250 ms; expect no sent at 10 ms..90 ms;",
    "set number = 7; events { until 50 ms } expect sent OK { beat { number = 7 } } at 0 ms..1 ms; expect sent hex { 07 } times 1; check number == 8;",
    "events { 30 ms air 05 } expect heard hex { 05 } at 30 ms; expect run radio.rx_done CONSUMED at 30 ms..31 ms; check heard == 1;",
    "events { radio off\n 30 ms air 05 // nobody }\n } expect missed { beat { number = 5 } }; expect no run radio.rx_done; check heard == 0;",
    "set number = 0x20; events { 30 ms tx NOACK always\n until 250 ms } expect sent NOACK times 2; expect sent OK times 1; expect radio on > 99 %;",
    "send hex { 01 }; expect CONSUMED; events { until 10 ms } expect sent times 1..2; check heard == 0;",
]
FAIL_TIMED = [
    ("events { until 250 ms } expect sent times 2 at 100 ms..101 ms;", "expected a frame sent at 100 ms to 101 ms, 2 times: there is 1"),
    ("events { until 250 ms } expect sent times 4;", "expected a frame sent, 4 times: there are 3"),
    ("events { until 250 ms } expect sent hex { 01 } at 0 ms..50 ms;",
     "expected a frame sent as written at 0 us to 50 ms: there are 0, and that of 0.000192 differs"),
    ("events { until 250 ms } expect no run Heart.every_100ms;", "expected a run of Heart.every_100ms, never: there are 3"),
    ("events { until 250 ms } expect run Heart.every_100ms DROP;", "expected a run of Heart.every_100ms DROP: there are 0"),
    ("events { until 250 ms } expect run Heart.every_100ms DROP times 1;", "expected a run of Heart.every_100ms DROP, once: there are 0"),
    ("events { until 250 ms } expect radio on < 99 %;", "the radio is on for 100.00 % of the time, not < 99 %"),
    ("events { until 250 ms } expect radio on <= 99.5 %;", "the radio is on for 100.00 % of the time, not <= 99.5 %"),
    ("events { until 250 ms } check number == 4;", "number is 3, not 4"),
]


def test_time_lines(beside):
    passed(beside(each_a_test(PASS_TIMED), "timed"))
    status, text = beside(each_a_test([steps for steps, _ in FAIL_TIMED]), "timed", "--json")
    assert status == 1
    assert [one["message"] for one in map(json.loads, text.splitlines())] == [message for _, message in FAIL_TIMED]
    status, text = beside('test "here" { events { until 50 ms } expect run Heart.every_100ms DROP at 0 ms; }', "timed")
    assert "\n  0.000000  Heart.every_100ms  ACCEPT" in text, text     # the runs of the hook, whatever their verdict
    status, text = beside('test "here" { events { until 250 ms } expect sent { beat { number = 9 } } at 100 ms..200 ms; }', "timed")
    assert "there are 0, and that of 0.100192 differs" in text and "beat.number  9         1" in text, text


@pytest.mark.parametrize("steps, message", [
    ("expect sent;", "1:15: error: there is no time line before this"),
    ("events { } events { }", "1:26: error: a test has events once"),
    ("events { } send hex { 01 };", "1:26: error: behind events there is only what they did"),
    ("events { } set number = 5;", "1:26: error: behind events there is only what they did"),
    ("events { } node { short = 2 }", "1:26: error: behind events there is only what they did"),
    ("events { 10 ms aier 05 }", "1:30: error: there is no event 'aier'"),
    ("events { 10 ms {", "1:22: error: this block is never closed"),
    ('events "no.events";', "1:15: error: cannot read no.events"),
    ("events { } expect run Hart.every_100ms;", "1:37: error: there is no hook 'Hart.every_100ms'"),
    ("events { } expect run Hart.every_100ms; expect no overrun Heart.every_10ms;", "1:73: error: there is no hook 'Heart.every_10ms'"),
    ("events { } expect sent at 2 ms..1 ms;", "1:26: error: this ends before it begins"),
])
def test_mistakes_about_time_lines(beside, steps, message):
    status, text = beside(f'test "here" {{ {steps} }}', "timed")
    assert status == 1 and f"timed.test:{message}" in text, text


def test_time_lines_that_differ_fail(beside, monkeypatch):
    real = timeline.reference_node
    slow = {"radio": Radio(True), "costs": Costs(0, command_us=3)}
    monkeypatch.setattr(timeline, "reference_node", lambda program, given, address, externs, **options: real(program, given, address, externs, **options | slow))
    status, text = beside('test "it" { events { until 50 ms } }', "timed")
    assert status == 1 and "engine and reference differ in record" in text


# ---------------------------------------------------------------- the command

def test_folders_and_programs_name_test_files(beside, tmp_path):
    beside('test "it" { }')
    for path in (tmp_path, tmp_path / "tag.lpn"):
        assert lpnc("test", path).exit_code == 0
    (tmp_path / "empty").mkdir()
    for path in ("empty", "no.test", "empty.lpn"):
        result = lpnc("test", tmp_path / path)
        assert result.exit_code == 2, result.output
    assert lpnc("test", tmp_path / "tag.lpn", "-k", "other").exit_code == 2
    assert lpnc("test", tmp_path / "tag.lpn", "--engine", "none").exit_code == 2


def test_standard_input_is_a_test_file(beside, tmp_path, monkeypatch):
    """It names its program, seen from the working folder."""
    beside('test "it" { }')
    monkeypatch.chdir(tmp_path)
    done = lpnc("test", "-", input='program "tag.lpn";\ntest "it" { check base[0] == 1; }')
    assert done.exit_code == 1 and done.stdout.startswith("<stdin>:2:13: failed: it: base[0] is 0, not 1\n"), done.output
    assert "no program stands beside this test" in lpnc("test", "-", input='test "it" { }').output
    assert "standard input: it is not UTF-8 text (byte 0)" in lpnc("test", "-", input=b"\xff").output


def test_chosen_by_name(beside):
    text = 'test "one way" { } test "other way" { check base[0] == 1; }'
    assert beside(text, "tag", "-k", "one")[0] == 0
    assert beside(text, "tag", "-k", "ONE", "-k", "other")[0] == 1


def test_json(beside):
    _, text = beside('test "good" { } test "bad" { check base[0] == 1; }', "tag", "--json", "--engine", "reference")
    good, bad = map(json.loads, text.splitlines())
    assert good["status"] == "passed" and good["test"] == "good" and good["line"] == 1 and good["engines"] == ["reference"]
    assert bad["status"] == "failed" and bad["message"] == "base[0] is 0, not 1" and "^^^" in bad["details"]
    _, text = beside('test "good" { oops; }', "tag", "--json")
    assert json.loads(text)["status"] == "error" and json.loads(text)["line"] == 1


def test_junit(beside, tmp_path):
    beside('test "good" { } test "bad \\x01" { check base[0] == 1; }', "tag", "--junit", tmp_path / "x.xml")
    root = xml.fromstring((tmp_path / "x.xml").read_bytes())
    assert [(case.get("name"), [child.tag for child in case]) for case in root.iter("testcase")] == [("good", []), ("bad ?", ["failure"])]


# ---------------------------------------------------------------- no traceback

FULL = BEGIN + """
program "more.lpn";   // named all the same
node { short = 2, ext = eui64"00-12-4b-00-01-02-03-04" } meta { rssi = -60, lqi = 200 }
packet other via Tx { link { peer.long = 1, extra = 2 } body { kind = ack } payload hex { 01 02 // two
} }
test "a" {
    set peers[0] = { address = 0x10, level = -3 }; wait 20 ms;
    table ports { priority = 3: (data, 4 &&& 12) : to(PORT); (ack, _) : back(); }
    send whole with { link { peer.short = 7 } }; expect DELIVER 0x1000..0x2000 no packet; check peers[1].level == -3;
    send other; expect TRANSMIT via Rx { link { extra = 2 } no items[0] body { seq = 1, sum = _ } payload hex { 0* 02/0f ... } };
    send hex { 02 01 02 00{3} "x\\n" }; expect DROP "Body.kind"; check Route.seen >= 2;
}
"""


def tried(text: str, folder: Path) -> None:
    """A mutant is run, or refused with places in it."""
    source = Source("more.test", text, folder / "more.test")
    try:
        suite = Suite.read(source, ("reference",))
        for test in suite.file.tests:
            suite.run(test)
    except DiagnosticError as e:
        assert e.diagnostics and all(d.message for d in e.diagnostics)
        str(e)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("mutants")
    (path / "more.lpn").write_text(MORE)
    tried(FULL, path)
    return path


WORDS = re.findall(r"\w+|\s+|.", FULL)


@settings(max_examples=80)
@given(edits=st.lists(st.tuples(st.integers(0, len(WORDS) - 1), st.sampled_from(["drop", "twice", "swap", "other"]),
                                st.sampled_from(sorted(set(WORDS)) + ["\0", "ü", "\x1b", "9" * 5000, "0x", '"', "/*", "hex {"])),
                      min_size=1, max_size=4))
def test_mutants_are_run_or_refused(folder, edits):
    words = list(WORDS)
    for at, how, other in edits:
        if how == "swap":
            words[at], words[-at] = words[-at], words[at]
        else:
            words[at] = {"drop": "", "twice": words[at] * 2, "other": other}[how]
    tried("".join(words), folder)


@settings(max_examples=60)
@given(st.text(alphabet=st.sampled_from('test{}"hex;=,.[]()&/*_0123456789ab \n'), max_size=60))
def test_any_text_is_run_or_refused(folder, text):
    tried(text, folder)
    tried('test "x" {' + text, folder)


def test_the_whole_file_passes(folder):
    suite = Suite.read(Source("more.test", FULL, folder / "more.test"))
    assert [outcome.failure and outcome.failure.message for outcome in map(suite.run, suite.file.tests)] == [None]


def test_errors_are_called_by_name(tmp_path):
    (tmp_path / "e.lpn").write_text("""
        error { Blocked, Quota } header H { bit<8> from; } struct headers { H h; } register<error> latest;
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) {
            action deny(error why) { m.verdict = DROP; m.reason = why; latest = why; }
            action again()         { m.verdict = DROP; m.reason = latest; }
            table rules { key = { h.h.from : exact; } actions = { deny; again; } size = 4; }
            apply { rules.apply(); }
        }
        protocol E version 1 { on radio.rx_done : Rx -> P; }""")
    steps = """table rules { 1 : deny(Blocked); 2 : again(); }
        send hex { 01 }; expect DROP Blocked; check latest == error.Blocked; set latest = Quota; send hex { 02 }; expect DROP Quota;"""
    (tmp_path / "e.test").write_text(f'test "here" {{ {steps} }}')
    assert lpnc("test", tmp_path / "e.lpn").exit_code == 0
    (tmp_path / "e.test").write_text('test "here" { check latest == Quoto; set latest = 3; }')
    said = lpnc("test", tmp_path / "e.lpn").output
    assert "e.test:1:31: error: there is no error 'Quoto'" in said and "did you mean Quota?" in said
    assert "e.test:1:51: error: this is no value of type error" in said


def test_the_level_is_that_of_the_build(folder):
    def texts(level):
        suite = Suite.read(Source("more.test", FULL, folder / "more.test"), ("engine",), level=level)
        assert all(suite.run(test).failure is None for test in suite.file.tests)
        return suite.program, [each.image.text for each in suite.compiled.containers]
    program, plain = texts(0)
    assert texts(2)[1] != plain == [each.image.text for each in compile_program(program, level=0).containers]
