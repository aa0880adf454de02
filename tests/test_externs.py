"""Helpers of the engine that a program declares: what must agree with the helper table, and functions of the node's own."""
from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest
from cli import lpnc

from lpn.compiler import externs
from lpn.compiler.build import BuildError, compile_program
from lpn.compiler.bundle import Bundle
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.helpers import BY_NAME
from lpn.compiler.judge import sealed
from lpn.compiler.runner import make_runner
from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.runtime.capture import Writer
from lpn.runtime.engines import EngineError
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.verify import verify

ENGINES = ("reference", "engine", "rbpf")
TEXT = """
enum bit<4> Color { red = 1, green = 2 }
extern bit<32> clock_us();
extern void trace(bit<32> a, bit<32> b) cost 100 in { isr, radio, net };
extern bit<8> mix(bit<8> a, bit<16> b, bool c, Color d, bit<32> e) cost 200 in { radio };
extern void note(bit<8> a) cost 20 in { radio, net };
extern bool flag() cost 20 in { radio };
extern Color colour(Color c) cost 20 in { radio };
header H { bit<8> a; bit<16> b; bit<32> time; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
function bit<8> twice(bit<8> x) { return mix(x, 0x1234, x == 1, Color.green, 0xffffffff); }
processor P(inout headers h, inout meta m) {
    apply {
        note(h.h.a);
        h.h.time = clock_us();
        trace(1, h.h.time);
        if (flag()) { h.h.b = 16w7; }
        h.h.a = twice(h.h.a);
        h.h.b = h.h.b + (bit<16>) (bit<4>) colour(Color.red);
    }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
"""


def program(text: str) -> ast.Program:
    return externs.check(check(load(Source("externs.lpn", text))))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fuse", [False, True])
def test_functions_of_the_node(engine: str, fuse: bool) -> None:
    """They get their arguments, and of what they return only the bits of the type count."""
    got: list[tuple[int, ...]] = []

    def mix(*args: int) -> int:
        got.append(args)
        return 0xABCDE0 + args[0]

    runner = make_runner(engine, program(TEXT), fuse=fuse, externs={
        "mix": mix, "note": lambda a: got.append((a,)), "flag": lambda: 256, "colour": lambda c: 0xFFF2, "more": lambda: 0})
    result = runner.run(bytes([1, 0, 9, 0, 0, 0, 0]), {"clock": 0x01020304})
    assert (result.verdict, result.out) == ("ACCEPT", bytes([0xE1, 0, 9, 1, 2, 3, 4]))
    assert got == [(1,), (1, 0x1234, 1, 2, 0xFFFFFFFF)]


@pytest.mark.parametrize("fuse", [False, True])
def test_what_calls_them_has_a_certificate(fuse: bool) -> None:
    """It ran with checks before: the checker on the node does not know how many numbers a function takes, so it is given five."""
    made = compile_program(program(TEXT), fuse=fuse)
    sealed(made)
    assert all(image.certificate for image in made.bundle.modules)


def test_calls_take_no_longer_than_is_proved() -> None:
    """Many of them, that do nothing: their time is that of getting there."""
    pytest.importorskip("unicorn")
    calls = "note(h.h.a); h.h.a = mix(h.h.a, h.h.b, true, Color.red, h.h.time); if (flag()) { h.h.b = 0; } h.h.b = h.h.b + (bit<16>) (bit<4>) colour(Color.red); "
    text = TEXT.replace("note(h.h.a);", 20 * calls) + "protocol Q version 1 { on radio.rx_done : Rx -> P -> Tx; }\n"
    tally: Counter[str] = Counter()
    case = Case(Program(text), [(bytes(range(n, n + 7)), {}) for n in range(20)])
    run_case(case, [Variant(engine, fuse) for engine in ("m3", "thumb2") for fuse in (False, True)], tally)
    assert tally["bounded"] == 80, tally


@pytest.mark.parametrize("engine", ENGINES)
def test_unknown_functions_are_refused_by_name(engine: str) -> None:
    with pytest.raises(EngineError, match="needs the function 'flag' of the node; there is mix, note"):
        make_runner(engine, program(TEXT), externs={"mix": lambda *_: 0, "note": lambda _: None})
    with pytest.raises(EngineError, match="needs the function 'mix' of the node; there is none"):
        make_runner(engine, program(TEXT))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_exception_comes_back(engine: str) -> None:
    def fails(_: int) -> int:
        raise ValueError("no such place")

    others = {"mix": lambda *_: 0, "flag": lambda: 0, "colour": lambda _: 0}
    runner = make_runner(engine, program(TEXT), externs={"note": fails, **others})
    with pytest.raises(ValueError, match="no such place"):
        runner.run(bytes(7))


@pytest.mark.usefixtures("control_c")
@pytest.mark.parametrize("engine", ENGINES)
def test_control_c_comes_back(engine: str, capfd: pytest.CaptureFixture[str]) -> None:
    """It was printed and lost where C calls."""
    others = {"mix": lambda *_: 0, "flag": lambda: 0, "colour": lambda _: 0, "more": lambda: 0}
    runner = make_runner(engine, program(TEXT), externs={"note": lambda _: signal.raise_signal(signal.SIGINT), **others})
    with pytest.raises(KeyboardInterrupt):
        runner.run(bytes(7))
    assert capfd.readouterr().err == ""


def test_the_c_binding_compares_names_and_numbers() -> None:
    from lpn.runtime.engine.native import NativeHost
    host = NativeHost(0, 0, 0)
    call = host.ffi.callback("uint32_t(void *, const uint32_t *)", lambda user, args: args[0] + 1)
    names = [host.ffi.new("char[]", name) for name in (b"beep", b"beeper")]
    for name, args in zip(names, (1, 2)):
        assert host.lib.lpn_host_offer(host.handle, name, args, False, call, host.ffi.NULL) == 0
    bind = lambda name, args: host.error_name(host.lib.lpn_host_bind(host.handle, name, len(name), args))        # noqa: E731
    assert [bind(b"beep", 1), bind(b"beeper", 2), bind(b"beep", 2), bind(b"bee", 1), bind(b"beepers", 2), bind(b"", 1)] \
        == ["ok", "ok", *["no such function of the node"] * 4]
    assert host.lib.lpn_host_call(host.handle, 128, [41, 0, 0, 0, 0]) == 42
    assert host.lib.lpn_host_call(host.handle, 130, [41, 0, 0, 0, 0]) >> 32


def test_the_bundle_lists_them() -> None:
    bundle = Bundle.from_bytes(compile_program(program(TEXT)).bundle.to_bytes())
    assert [(e.name, e.params, e.result, e.cost, e.contexts) for e in bundle.externs] == [
        ("mix", (8, 16, 1, 4, 32), 8, 200, ("radio",)), ("note", (8,), 0, 20, ("radio", "net")), ("flag", (), 1, 20, ("radio",)),
        ("colour", (4,), 4, 20, ("radio",))]
    image = bundle.module("P")
    report = verify(image.text, PROFILES["lpn"], record_size=image.record_size, state_size=image.state_size, helpers=bundle.helpers(),
                    contexts=("radio",))
    assert report.accepted and set(report.helpers) == {2, 3, 128, 129, 130, 131}
    refused = verify(image.text, PROFILES["lpn"], record_size=image.record_size, state_size=image.state_size, helpers=bundle.helpers(),
                     contexts=("net",))
    assert refused.rule == 31


def test_only_our_engines_have_them() -> None:
    with pytest.raises(BuildError, match="target xdp has no functions of the node's own, such as mix"):
        compile_program(program(TEXT), "xdp")


WRONG = {
    "extern bit<16> clock_us();": "the engine's helper 'clock_us' is bit<32> clock_us(), and this is bit<16> clock_us()",
    "extern bit<32> clock_us(bit<8> x);": "the engine's helper 'clock_us' is bit<32> clock_us(), and this is bit<32> clock_us(bit<8>)",
    "extern void trace(bit<32> a);": "the engine's helper 'trace' is void trace(bit<32>, bit<32>), and this is void trace(bit<32>)",
    "extern bit<32> clock_us() cost 7;": f"the engine's helper 'clock_us' costs {BY_NAME['clock_us'].cost_cycles} cycles, and this says 7",
    "extern bit<32> clock_us() in { net };": "the engine's helper 'clock_us' runs in isr, radio, net, and this says net",
    "extern bit<32> lookup(bit<32> a);": "the engine's helper 'lookup' is the compiler's own",
    "extern void beep() in { net };": "what 'beep' costs is not known",
    "extern void beep() cost 5;": "where 'beep' may be called is not known",
}


@pytest.mark.parametrize("text", WRONG)
def test_declarations_agree_with_the_table(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        program(text)
    assert [(one.message, one.span.line) for one in caught.value.diagnostics] == [(WRONG[text], 1)]


@pytest.mark.parametrize("text, written", [
    ("extern void beep() in { net, isr };", "say it in cycles: extern ... cost 100 in { net, isr };"), ("extern void beep() cost 300;", "say it: extern ... cost 300 in { net, radio };"),
])
def test_what_is_missing_is_told_with_what_is_there(text: str, written: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        program(text)
    assert [one.hints for one in caught.value.diagnostics] == [[written]]


def test_there_are_so_many_numbers() -> None:
    with pytest.raises(DiagnosticError, match="at most 128 functions"):
        program("".join(f"extern void f{i}() cost 1 in {{ net }};\n" for i in range(129)))


# ---------------------------------------------------------------- in the commands

NODE = """extern bit<16> warmth() cost 100 in { radio };
extern void note(bit<8> a) cost 20 in { radio };
header H { bit<16> a; }
struct headers { H h; }
register<bit<16>> last;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { note(1); h.h.a = warmth(); m.verdict = TRANSMIT; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
timing T { every 1 s { last = warmth(); } }
protocol Node version 1 { on radio.rx_done : Rx -> P -> Tx; timing : T; }
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "node.lpn").write_text(NODE)
    (tmp_path / "node.events").write_text("until 1500 ms\n100 ms air 0000\n")
    with Writer(tmp_path / "x.pcap") as capture:
        capture.add(b"\0\0")
    return tmp_path / "node.lpn"


@pytest.mark.parametrize("engines", ["engine,reference,rbpf", "reference,m3,thumb2"])
def test_run_is_told_what_they_answer(node: Path, engines: str) -> None:
    result = lpnc("run", node, "--in", node.with_name("x.pcap"), "--extern", "warmth=0xfffe", "--compare", engines, "--json")
    assert json.loads(result.stdout.splitlines()[0])["out"] == "fffe" and result.exit_code == 0


def test_run_on_a_node_is_told_too(node: Path) -> None:
    result = lpnc("run", node, "--events", node.with_name("node.events"), "--extern", "warmth=0xfffe", "--compare", "engine,reference")
    assert "radio.send fffe" in result.stdout and "agree in all" in result.stdout


def test_a_bundle_is_told_too(node: Path) -> None:
    assert lpnc("build", node, "-o", node.parent).exit_code == 0
    bundle = node.with_suffix(".lpnb")
    assert '"out": "0007"' in lpnc("run", bundle, "--in", node.with_name("x.pcap"), "--extern", "warmth=7", "--json").stdout
    assert "radio.send 0007" in lpnc("run", bundle, "--events", node.with_name("node.events"), "--extern", "warmth=7").stdout


def test_a_negative_answer_is_its_twos_complement(node: Path) -> None:
    for answer, out in (("-5", "fffb"), ("-32768", "8000")):
        assert f'"out": "{out}"' in lpnc("run", node, "--in", node.with_name("x.pcap"), "--extern", f"warmth={answer}", "--json").stdout
    node.with_suffix(".test").write_text('test "cold" { extern warmth = -5; send hex { 00 00 }; expect TRANSMIT hex { ff fb }; }')
    assert "all passed" in lpnc("test", node).stdout
    node.with_suffix(".test").write_text('test "cold" { extern warmth = -32769; send hex { 00 00 }; expect TRANSMIT; }')
    assert "-32769 does not fit int<16>" in lpnc("test", node).output


def test_profile_is_told_too(node: Path) -> None:
    assert "1 packet" in lpnc("profile", node, "--in", node.with_name("x.pcap"), "--extern", "warmth=7").stdout


@pytest.mark.parametrize("answers, message", [
    ([], "warmth() is a function of the node's own: say what it answers, as in --extern warmth=1"),
    (["warm=1"], "warmth() is a function of the node's own: say what it answers, as in --extern warmth=1; it declares no warm()"),
    (["warmth=-32769"], "--extern warmth=-32769: the answer has 16 bits"), (["warmth=65536"], "--extern warmth=65536: the answer has 16 bits"),
    (["note=-1", "warmth=1"], "--extern note=-1: the answer has 0 bits"),
    (["warmth=1", "warm=1"], "the program declares no function 'warm' of the node's own; there is note, warmth"),
    (["warmth"], "'warmth' is no function and what it answers")])
@pytest.mark.parametrize("what", ["--in", "--events"])
def test_what_is_answered_is_known_and_fits(node: Path, what: str, answers: list[str], message: str) -> None:
    file = node.with_name("x.pcap" if what == "--in" else "node.events")
    result = lpnc("run", node, what, file, *(word for answer in answers for word in ("--extern", answer)))
    assert message in result.stderr and result.exit_code == 2


def test_packet_tests_say_what_they_answer(node: Path) -> None:
    node.with_suffix(".test").write_text("""extern warmth = 0xfffb;
test "once" {
    send hex { 00 00 };
    expect TRANSMIT hex { ff fb };
    extern warmth = 300;
    send hex { 00 00 };
    expect TRANSMIT hex { 01 2c };
}
test "again" { send hex { 00 00 }; expect TRANSMIT { h { a = 0xfffb } }; }
test "on a node" { extern warmth = 9; events "node.events"; expect sent hex { 00 09 }; check last == 9; }
""")
    result = lpnc("test", node, "--engine", "engine,reference,rbpf,m3,thumb2")
    assert "all passed" in result.stdout, result.stdout


@pytest.mark.parametrize("step, message", [
    ("extern warm = 1;", "there is no function of the node's own 'warm'"),
    ("extern warmth = 65536;", "65536 does not fit bit<16>"),
    ("extern note = 1;", "note() answers nothing"),
    ("extern warmth 1;", "'=' in front of what it answers is expected")])
def test_mistakes_in_packet_tests(node: Path, step: str, message: str) -> None:
    node.with_suffix(".test").write_text(step + "\n")
    result = lpnc("test", node)
    assert message in result.stdout + result.stderr and result.exit_code == 1
