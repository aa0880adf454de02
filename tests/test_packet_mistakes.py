"""`lpnc test`: what is wrong in a test file is said at its place, with what to write."""
from __future__ import annotations

import re

import pytest

from cli import lpnc
from packet_files import BEGIN, each_a_test, passed


def test_a_member_is_called_by_its_enum(beside) -> None:
    status, text = beside('test "a" { send { body { seq = ack } }; }', "more")
    assert status == 1 and "there is no value 'ack'" in text and "members are called by their enum: Kind.ack" in text, text


def test_a_struct_is_checked_field_by_field(tmp_path) -> None:
    (tmp_path / "s.lpn").write_text("""header H { bit<8> a; } struct headers { H h; } struct S { bit<8> x; bit<8> y; } register<S>[2] cells;
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) { apply { cells[0].x = 1; } }""")
    (tmp_path / "s.test").write_text('test "a" { check cells[1] == 1; }')
    said = lpnc("test", tmp_path / "s.lpn").output
    assert "s.test:1:18: error: cells[1] is a struct" in said and "help: name a field, as in cells[1].x, or several: cells[1] == { x = ... }" in said, said
    (tmp_path / "s.test").write_text("""
        test "several" { set cells[0] = { y = 7 }; send hex { 00 }; check cells[0] == { x = 1, y = 5..7 }; check cells[1] == { y = 0 }; }
        test "one is not" { set cells[0] = { y = 7 }; send hex { 00 }; check cells[0] == { x = 1, y = 8 }; }""")
    said = lpnc("test", tmp_path / "s.lpn").output
    assert "s.test: 1 passed, 1 failed" in said and "s.test:3:99: failed: one is not: cells[0].y is 7, not 8\n" in said, said


@pytest.mark.parametrize("step, message", [
    ("check cells[0] != { x = 1 };", "error: '!=' compares with one number\n"),
    ("check cells[0] == { z = 1 };", "error: there is no field of S 'z'\n"),
    ("check cells[0] == { x = 256 };", "error: 256 does not fit bit<8>\n"),
    ("check cells[0] == { };", "error: no field is compared\n"),
    ("check cells[0] == { x = 1 << 3 };", "error: ',' or '}' is expected, not '<'\n"),
    ("check cells[2] == { x = 1, y = 1 };", "error: 'cells' has cells 0 to 1\n"),
])
def test_a_mistake_in_the_fields_of_a_check_is_told_once(tmp_path, step, message) -> None:
    (tmp_path / "s.lpn").write_text("""struct S { bit<8> x; bit<8> y; } register<S>[2] cells;
        processor P(inout meta m) { apply { cells[0].x = cells[1].y; } }""")
    (tmp_path / "s.test").write_text(f'test "a" {{ {step} }}')
    said = lpnc("test", tmp_path / "s.lpn").output
    assert message in said and said.count("error:") == 1, said


def test_a_header_that_looks_at_another_goes_by_its_place(tmp_path) -> None:
    (tmp_path / "u.lpn").write_text("""import std.ipv6; import std.udp; struct headers { Ipv6 ip; Udp(ip) udp; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.ip); pkt.extract(h.udp); transition accept; } }""")
    (tmp_path / "u.test").write_text('test "a" { send { ip { } Udp { } }; expect ACCEPT; }')
    said = lpnc("test", tmp_path / "u.lpn").output
    assert "Udp looks at another header, so it goes by its place in the program's headers" in said and "help: write udp { ... }" in said, said


def test_several_keys_stand_in_parentheses(beside) -> None:
    status, text = beside('test "a" { table kinds { 1, 2 : to(2); } }', "more")
    assert status == 1 and "':' and an action is expected, not ','" in text and "help: several keys stand in parentheses: (7, 1) : to(3);" in text, text


def test_what_a_packet_has_and_a_test_changes_is_told_in_the_test(tmp_path) -> None:
    (tmp_path / "c.lpn").write_text("""enum bit<8> Mode { none = 0, short = 1, long = 2 }
        header H { Mode mode; choice (mode) { short: bit<16>; long: bit<64>; } to;
            bit<8> hops when (mode != Mode.long); } struct headers { H h; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) { apply { m.verdict = DROP; } }""")
    (tmp_path / "c.test").write_text("""packet near { h { to.short = 7 } }
test "another arm" { send near with { h { to.long = 7 } }; expect DROP; }
test "no arm" { send near with { h { mode = none } }; expect DROP; }
packet hop { h { mode = short, hops = 3 } }
test "no field" { send hop with { h { mode = long } }; expect DROP; }
test "nor in its own words" { send { h { mode = long, hops = 3 } }; expect DROP; }
""")
    said = lpnc("test", tmp_path / "c.lpn").output
    assert "c.test:3:34: error: h has no field 'to.short' as its other fields are" in said, said
    assert "help: the packet that this changes has it, and 'mode' selects another arm here: give that one instead, as in to.long = ..., or write" in said, said
    assert "c.test:5:35: error: h has no field 'hops' as its other fields are" in said, said
    assert "help: the packet that this changes has it, and the condition behind its `when` is false here: set what that looks at, or write" in said, said
    assert "c.test:6:55: error: h has no field 'hops'" in said and "help: the condition behind its `when` is false: set" in said, said
    assert "1 passed, 3 errors" in said, said


def test_entries_of_exact_keys_have_no_priority(beside) -> None:
    status, text = beside('test "a" { table kinds { priority = 1: data : to(2); } }', "more")
    assert status == 1 and "entries of exact and lpm keys have no priority" in text and "help: leave it out" in text, text


@pytest.mark.parametrize("line, message", [
    ("expect DELIVERED 7;", "22: a verdict is expected, not 'DELIVERED' | did you mean DELIVER?"),
    ("send hex 00 01;", "24: '{' and octets is expected, not '00' | octets stand in braces: hex { 41 88 05 }"),
    ("sand hex { 00 };", "15: a step is expected, not 'sand' | did you mean send?"),
    ("send hex { 0 };", "26: '0' is not an octet |"),
    ("send hex { 0102{3} };", "26: one octet is repeated, or a group | write (0102){3}, or 01 02{3}"),
    ("send hex { 03 } ; expect hex { ****{3} };", "46: one octet is repeated, or a group | write (****){3}, or ** **{3}"),
    ("send hex { 01 (02 03 };", "29: this group is never closed | end it with ')' and how often: (00 01){8}"),
    ("send hex { 01 02) };", "31: ')' is not an octet |"),
    ("send hex { 01 02){3} };", "31: '){3}' is not an octet |"),
    ("send hex { ((00{4096}){4096}){4096} };", "24: more than 4,096 octets"),
    ("send hex { 00{10000} };", "24: more than 4,096 octets"),
    ("send hex { (00 01){" + "9" * 5000 + "} };", "24: more than 4,096 octets"),
    ("send hex { 00{x} };", "26: how often is a number, not 'x' | as in 00{8} and (00 01){8}"),
    ("send hex { 00{} };", "26: how often? | as in 00{8} and (00 01){8}"),
    ("send hex { (00 01){-1} };", "32: how often is a number, not '-1' | as in 00{8} and (00 01){8}"),
    ("send hex { 00 }; expect hex { (00 ...){2} };", "52: nothing can follow `...` |"),
    ("check base[NO] == 1;", "26: there is no value 'NO' | write a number or a constant of the program"),
    ("check base[] == 1;", "26: an index is expected, not ']' | a number, or a constant's name"),
    ("set base[true] = 1;", "24: this is no value of type bit<32>"),
    ("send hex { ** };", "20: a packet that is sent has no octets left open |"),
    ("send { Udp { } };", "22: there is no header 'Udp' | add import std.udp; to the program"),
    ("send { tga { } };", "22: there is no header 'tga' | did you mean tag?"),
    ("send { tag { kid = 1 } };", "28: there is no field of Tag 'kid' | did you mean kind?"),
    ("send { tag { kind = 256 } };", "35: 256 does not fit bit<8> | bit<8> holds 0 to 255"),
    ("send { tag { kind = X } };", "35: there is no value 'X' | write a number or a constant of the program"),
    ("send { tag { kind = _ } };", "35: a field that is sent has one value |"),
    ("send frame 9 of \"x.pcap\";", "20: cannot read "),
    ("send via Ty { };", "20: there is no deparser 'Ty' | there are Tx"),
    ("send ping;", "20: there is no packet 'ping' |"),
    ("send hex { 00 }; expect DROPP;", "39: there is no verdict and no packet 'DROPP' | did you mean DROP?"),
    ("send hex { 00 }; expect DROP check base[0] == 1;", "44: ';' is expected, not 'check' | put it behind the step before"),
    ("send hex { 00 }; expect DROP } test \"more\" {", "44: ';' is expected, not '}' | put it behind the step before"),
    ("send good expect DROP;", "25: ';' is expected, not 'expect' | put it behind the step before"),
    ("expect DROP;", "15: nothing is sent before this | put send ...; in front of it"),
    ("send hex { 00 }; expect drop;", "39: a verdict is expected, not 'drop' | did you mean DROP?"),
    ("send hex { 00 }; expect DROP BadKnd;", "32: there is no reason 'BadKnd' | did you mean BadKind?"),
    ("send hex { 00 }; expect DELIVER 70000;", "47: 70000 does not fit bit<16>"),
    ("send hex { 00 }; expect { no tag };", "44: only a parser knows that a header is not there |"),
    ("table t { priority = 65536: 1 : to(2); }", "36: priorities are 0 to 65535"),
    ("check bas[0] == 1;", "21: there is no register or counter 'bas' | did you mean Work.base?"),
    ("check base == 1;", "21: 'base' has cells 0 to 1 | write base[0]"),
    ("check base[0] = 1;", "29: one of == != < <= > >= is expected, not '='"),
    ("set base[7] = 1;", "19: 'base' has cells 0 to 1"),
    ("table routes { }", "15: there is no table 'routes'"),
    ("node { shirt = 1 }", "22: there is no setting of node 'shirt' | did you mean short?"),
    ("send hex { 00 } to app.tx.1;", "34: no chain takes 'app.tx.1' | chains take radio.rx_done"),
    ("send hex { 00 } to net.tx.99999999999;", "34: no chain takes 'net.tx.99999999999'"),
    ("send hex { 00 } to radio.rx_done.3;", "34: radio.rx_done has no number |"),
    ("send hex { 00 } to;", "33: a hook's name is expected, not ';'"),
    ("wait 20;", "20: a time is expected | write it with its unit, as in 20 ms, 1 s, 300 us"),
    ("wait 4295 s;", "20: this is too long | times are below 2^32 us, 4294 s; more is waited for in parts"),
    ("wait 2 hours;", "20: there is no unit 'hours' | there are us, ms, s, min: 1500 us, 60 s"),
    ("wait 1.5 ms;", "20: numbers are whole | take a smaller unit, as in 1500 us"),
    ("events { until 1 ms\n2 ms air 00 }", "1: this is behind the end of the run, and does not happen | until 1ms is what the file says"),
    ("tables \"no.json\";", "15: "),
    ("send hex { 40/1f };", "26: 40 has bits outside of its mask 1f | write 00/1f"),
    ("send hex { 00 ", "24: this hex block is never closed"),
    ("send hex { 00 }", "13: this test is never closed"),
    ('send "abc', "20: this text is never closed"),
])
def test_mistakes_are_diagnostics(beside, line, message):
    status, text = beside(f'test "here" {{ {line}\n}}' if "closed" not in message else f'test "here" {{ {line}\n')
    assert status == 1
    said = [f"{m[2]}: {m[3]} | {m[4] or ''}" for m in re.finditer(
        r"^tag\.test:(\d+):(\d+): error: (.*)\n(?:.*\n){2}(?:  help: (.*))?", text, re.M)]
    assert any(one.startswith(message) for one in said), text


def test_a_deparser_makes_what_it_emits(beside):
    """A header that it does not emit was left out without a word; the headers alone have it."""
    passed(beside('test "a" { send { msg { length = 4, type = 1 } ask { id = 7 } }; expect TRANSMIT hex { 05 02 0007 00 }; }', "asks"))
    status, text = beside('test "a" { send via Tx { msg { type = 1 } ask { id = 7 } }; expect TRANSMIT; }', "asks")
    assert status == 1 and "asks.test:1:43: error: Tx does not emit ask" in text and "written by its headers alone" in text, text


def test_a_header_more_is_one_that_the_deparser_emits(beside):
    plain = 'packet plain via Tx { msg { type = 1 } payload hex { 0007 } }\n'
    passed(beside(plain + 'test "a" { send plain with { ack { id = 8, code = 1 } }; expect TRANSMIT { msg { } ack { id = 8 } payload hex { 01 0007 } }; }', "asks"))
    status, text = beside(plain + 'test "a" { send plain with { ask { id = 7 } }; expect TRANSMIT; }', "asks")
    assert status == 1 and "asks.test:2:30: error: Tx, which makes packet 'plain', does not emit ask" in text, text


def test_a_checksum_over_a_header_that_the_packet_does_not_give(beside):
    """It was one over zeros, sent and expected without a word: the packet was dropped, and the one expected never came."""
    whole = "send { ip { src = 1 } udp { } }; expect TRANSMIT"
    passed(beside(each_a_test([
        f"{whole} {{ ip {{ }} udp {{ }} }}; expect via Rx {{ udp {{ }} }}; expect {{ hex {{ 0001 0000 }} udp {{ sum = _ }} }};",
        "send { hex { 0001 0000 } udp { sum = 0 } }; expect DROP;",
        "send via Tx { ip { src = 1 } udp { } }; expect TRANSMIT;"]), "sums"))
    for steps in ("send { hex { 0001 0000 } udp { } };", "send via Tx { udp { } };", f"{whole} {{ hex {{ 0001 0000 }} udp {{ }} }};"):
        status, text = beside(each_a_test([steps]), "sums")
        assert status == 1 and "error: 'sum' of udp looks at ip, which is not given here as a header" in text, text
        assert "help: name ip { ... } in front of it, let a deparser write or a parser read the packet, via NAME { ... }, or give sum" in text, text


def test_several_mistakes_in_one_run(beside):
    status, text = beside('test "a" { send ping; sand; expect DROP Nothing; }\ntest "b" { check x == 1; }\ntest "a" { }')
    assert status == 1
    assert re.findall(r"error: (.*)", text) == ["a step is expected, not 'sand'", "a test called 'a' is here already"]
    status, text = beside('test "a" { send ping; expect DROP Nothing; }\ntest "b" { check x == 1; }\n')
    assert re.findall(r"error: (.*)", text) == ["there is no packet 'ping'", "there is no reason 'Nothing'",
                                                "there is no register or counter 'x'"]


UNMADE = [
    ("send { link { peer.short = 1, extra = 3 } };", "link has no field 'extra' as its other fields are"),
    ("send { link { peer.short = 1, mode = long } };", "link has no field 'peer.short' as its other fields are"),
    ("send { link { peer.short = 1 } link { peer.short = 1 } };", "link is in this packet already"),
    ("send { body { } body { } };", "body is in this packet already"),
    ("send odd with { body { kind = ack } };", "only a packet that is given by its headers can be changed with `with`"),
    ("send round;", "packet 'round' is made of itself"),
]


def test_packets_that_cannot_be_made(beside):
    """The other tests are run all the same."""
    status, text = beside(BEGIN + "packet odd hex { 00 };\npacket round round;\n" + each_a_test(["send whole;", *(steps for steps, _ in UNMADE)]), "more")
    assert status == 1 and "more.test: 1 passed" in text
    assert re.findall("error: (.*)", text) == [message for _, message in UNMADE]
    assert "help: a header that the program does not keep goes by its type, Body { ... }" in text


def test_a_program_that_is_none(beside, tmp_path):
    (tmp_path / "bad.lpn").write_text("header H { bit<8> a }")
    status, text = beside('program "bad.lpn"; test "it" { }')
    assert status == 1 and text.startswith("bad.lpn:1:")
