"""A chain or module that does not fit in the form asked for, or that the verifier refuses in it, is made in another one, and told."""
from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from cli import RECORDING, TAG, lpnc
from programs import program

from lpn.compiler import build, femto, judge, stack
from lpn.compiler.build import compile_program, make_container
from lpn.compiler.commands.inputs import checked
from lpn.compiler.forms import LEVELS, MOST, SMALL, BuildError, Form, Forms, Level, RefusedError, SizeError, StackError, accepted, forms_of
from lpn.compiler.fuzz.differential import Case, Variant, add_packets, load_case, run_case
from lpn.compiler.generate.base import Program, RandomChoose
from lpn.compiler.image import STACK_SIZE, TEXT_MAX
from lpn.compiler.lower import modules, stacks
from lpn.compiler.lower.parser import Parsers
from lpn.compiler.runner import make_runner
from lpn.lang import ast
from lpn.lang.diagnostics import DiagnosticError
from lpn.runtime.engines import EngineError
from lpn.verifier.certify_labels import NotCounted, NotFollowed
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.verify import Report, verify

EXAMPLES = Path(__file__).parents[1] / "examples"
CELLS = Path(__file__).parent / "constructs" / "loops-over-cells.lpn"
FORMS = Path(__file__).parent / "forms"
CUT_PAYLOAD = FORMS / "octet-of-a-cut-payload.lpn"
ELEMENTS = FORMS / "elements-in-elements.lpn"
MANY_RUNS = Path(__file__).parent / "regressions" / "many-runs-fused.lpn"
WIDE = "struct headers {{ }} parser Rx(packet pkt, out headers h) {{ state start {{ transition accept; }} }} processor P(inout headers h, inout meta m) {{ " \
       "register<bit<128>>[{n}] r; apply {{ {body} }} }} protocol Wide version 1 {{ on radio.rx_done : Rx -> P; }}"


@pytest.fixture
def needing(monkeypatch: pytest.MonkeyPatch):
    """Lets a container need so much stack as is said of its name and form: `needing(used)`, `used(name, level)`."""
    def set_used(used) -> None:
        def made(lowering, lowered, target, form, needs=None):
            if (most := used(lowered.name, form.optimised)) > 512:
                raise StackError(lowered.name, most)
            return make_container(lowering, lowered, target, form, needs)

        monkeypatch.setattr(build, "make_container", made)
    return set_used


def test_limits_are_the_verifiers() -> None:
    assert (STACK_SIZE, TEXT_MAX) == (PROFILES["lpn"].stack, PROFILES["lpn"].max_text)


def test_a_chain_that_is_longer_than_a_container_may_be_is_not_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = max(c.instructions for c in compile_program(program(TAG)).containers)
    monkeypatch.setattr(build, "TEXT_MAX", most)
    made = compile_program(program(TAG), fuse=True)
    assert len(made.containers) == 4 and made.notes[0].endswith(f"instructions, and a container may have {most}: divide it into modules")
    monkeypatch.setattr(build, "TEXT_MAX", 1)
    with pytest.raises(BuildError, match="^Rx has [0-9]+ instructions, and a container may have 1: divide it into modules; most are made of test.lpn:[0-9]+ "):
        compile_program(program(TAG), fuse=True)


def test_what_is_far_too_long_is_not_optimised_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is a little too long, another level may do. What was asked for without optimising is still tried optimised."""
    def tried(times: float, level: Level) -> list[Level]:
        levels: list[Level] = []

        def make(form: Form) -> None:
            levels.append(form.level)
            raise SizeError("x", "is too long", times=times)

        forms = Forms()
        assert forms.first("x", forms_of(level), make) is None and str(forms.whys("x")[0]) == "x is too long"
        return levels

    assert tried(1.1, 2) == [2, "s", 1, 0] and tried(1.5, 2) == [2, "s"] and tried(1.5, 0) == [0, 1, 2, "s"]
    calls = []
    monkeypatch.setattr(modules, "MOST_OPERATIONS", 10)
    monkeypatch.setattr(build, "bytecode", lambda *args: calls.append(args))
    with pytest.raises(BuildError, match="^Rx is lowered to more than 10 operations, and no more are tried for one container: divide it into modules; most are made of test.lpn:[0-9]+ "):
        compile_program(program(TAG))
    assert not calls


@pytest.mark.parametrize("fuse", (False, True))
def test_what_is_lowered_once_is_the_same(fuse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for all of LLVM's levels, once more where it is to be short."""
    given = checked(EXAMPLES / "udp" / "udp.lpn")
    alone = [[c.stored for c in compile_program(given, fuse=fuse, level=level).containers] for level in (0, MOST, SMALL)]
    kept, lower, made = modules.Lowerings(given), modules.ProgramLowering.lower_chain if fuse else modules.ProgramLowering.lower_module, []
    monkeypatch.setattr(modules.ProgramLowering, lower.__name__, lambda *args, **more: made.append(args) or lower(*args, **more))
    again, times = [], []
    for level in (0, MOST, SMALL):
        again.append([c.stored for c in compile_program(given, fuse=fuse, level=level, lowerings=kept).containers])
        times.append(len(made))
    assert again == alone and 0 < times[0] == times[1] < times[2]


def test_hooks_of_the_same_modules_share_a_fused_container() -> None:
    text = TAG.replace("on radio.rx_done", "on net.rx(41, 7) : Rx -> Work; on net.rx(41) : Rx -> Guard -> Work -> Tx; on radio.rx_done")
    made = compile_program(program(text), fuse=True)
    whole = ("TagProtocol.net.rx.41",)
    assert [names for _, names in made.hooks] == [("TagProtocol.net.rx.41.7",), whole, whole] and len(made.containers) == 2
    assert made.contexts(*whole) == ("net", "radio")


@pytest.mark.parametrize("level", LEVELS.values())
def test_the_form_asked_for_is_the_first(level: Level) -> None:
    assert forms_of(level)[0] == Form(level) and forms_of(level, True)[0] == Form(level, True)
    assert len(set(forms_of(level))) == len(LEVELS) and len(set(forms_of(level, True))) == len(set(forms_of(level, parses=True))) == 2 * len(LEVELS)


@pytest.mark.parametrize("name, fuse, smaller", [("udp", True, 1.1), ("udp", False, 1.2), ("coap_sensor", False, 1.1), ("zigbee", True, 1)])
def test_short_code_is_shorter_where_the_usual_packet_has_code_of_its_own(name: str, fuse: bool, smaller: float) -> None:
    """And nearly the same where it has not: only what two ways have in common is shorter (ends.py, placement.py)."""
    program = checked(EXAMPLES / name / f"{name}.lpn")
    fast, short = ([c.code.text for c in compile_program(program, fuse=fuse, level=level).containers] for level in (MOST, SMALL))
    assert len(b"".join(fast)) >= len(b"".join(short)) * smaller
    assert smaller > 1 or len(b"".join(fast)) - len(b"".join(short)) <= 5 * 8


AHEAD = """
header H { bit<128> a; bit<32> b; }
struct headers { H x; H y; H z; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.x); pkt.extract(h.y); pkt.extract(h.z); transition accept; } }
processor Work(inout headers h, inout meta m) { apply { h.z.a = h.x.a; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.z); }
protocol Ahead version 1 { on radio.rx_done : Rx -> Work -> Tx; }
"""


def test_short_code_keeps_loops() -> None:
    """Where fast code writes them out. What a loop counts with is an index that needs no bounds of its own."""
    sizes = {level: {c.name: c.instructions for c in compile_program(checked(CELLS), level=level).containers} for level in (MOST, SMALL)}
    assert sizes[SMALL]["Book"] < 0.5 * sizes[MOST]["Book"]
    loop = "register<bit<32>>[200] r; processor P(inout meta m) { apply { for (i in 0..200) { r[i] = r[i] + 1; } } }"
    [one] = compile_program(program(loop)).containers
    assert one.instructions <= 14


def test_a_parser_that_is_refused_reads_less_far_ahead(monkeypatch) -> None:
    """Before it is compiled at another level: there is nothing to be said of it. Nobody else reads ahead."""
    analyse, asked = judge.Unit.analyse, []

    def refusing(unit):
        asked.append((unit.name, len(unit.text)))
        report, analysis = analyse(unit)
        return (Report(False, 19, "rule 19 (packet bounds): made up"), None) if unit.name == "Rx" and len(asked) <= 3 else (report, analysis)
    monkeypatch.setattr(judge.Unit, "analyse", refusing)
    done = judge.sealed_form(program(AHEAD))
    assert not done.refused() and not done.compiled.notes and [name for name, _ in asked] == ["Rx", "Work", "Tx"] * 2
    assert asked[0][1] < asked[3][1] and asked[1:3] == asked[4:]


def test_a_chain_that_needs_too_much_stack_is_not_fused(needing) -> None:
    needing(lambda name, level: 528 if "." in name else 0)
    made = compile_program(program(TAG), fuse=True)
    assert [c.name for c in made.containers] == ["Rx", "Guard", "Work", "Tx"] == list(made.bundle.hooks[0].chain)
    assert made.notes == ["TagProtocol.radio.rx_done is not fused: as one container it needs 528 bytes of stack, and there are 512"]
    assert made.note("Guard") == made.notes[0]


def test_another_level_may_fit(needing) -> None:
    needing(lambda name, level: 600 - 100 * (MOST - level) if name in ("Work", "TagProtocol.radio.rx_done") else 0)
    fused = compile_program(program(TAG), fuse=True)
    assert fused.notes == ["TagProtocol.radio.rx_done is compiled with -O1: with -O2 it needs 600 bytes of stack, and there are 512"]
    apart = compile_program(program(TAG))
    assert apart.notes == ["Work is compiled with -O1: with -O2 it needs 600 bytes of stack, and there are 512"]
    assert apart.note("Work") == apart.notes[0] and apart.note("Rx") is None
    assert not compile_program(program(TAG), level=1).notes


def test_another_level_may_run_on_the_stock_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no register and no stack is left for a byte swap, say."""
    stock, asked = femto.stock, []

    def some(code):
        asked.append(code)
        if len(asked) == 2:
            raise femto.FemtoError("nothing is left")
        return stock(code)
    monkeypatch.setattr(femto, "stock", some)
    made = compile_program(program(WIDE.format(n=2, body="r[0] = r[1] ^ 1;")), "femto")
    assert len(asked) == 3 and made.notes == ["P is compiled with -Os: with -O2 it cannot run on the stock engine: nothing is left"]


def test_what_runs_on_the_stock_engine_in_no_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(code):
        raise femto.FemtoError("nothing is left")
    monkeypatch.setattr(femto, "stock", none)
    with pytest.raises(BuildError, match="^Rx cannot run on the stock engine: nothing is left$"):
        compile_program(program(WIDE.format(n=2, body="")), "femto")


def test_the_language_refuses_what_fits_in_no_form(needing) -> None:
    """With its place, the least that it needs, and what is largest in it."""
    body = "bit<128> least = r[0]; bit<64> a = 1; bit<128> b = 2; r[1] = least ^ b ^ (bit<128>) a;"
    needing(lambda name, level: 900 + level if name == "P" else 0)
    with pytest.raises(DiagnosticError) as refused:
        compile_program(program(WIDE.format(n=2, body=body)))
    [found] = refused.value.diagnostics
    assert found.message == "P needs 900 bytes of stack, and there are 512" and found.span.text.startswith("processor P")
    assert [(text, span.text) for text, span in found.notes] == [
        ("least, a variable, has 16 bytes", "bit<128> least = r[0];"), ("b, a variable, has 16 bytes", "bit<128> b = 2;"),
        ("a, a variable, has 8 bytes", "bit<64> a = 1;")]


def test_more_variables_than_there_is_stack_are_refused_by_the_language() -> None:
    """All are read before one is written."""
    n = 64
    body = "".join(f"bit<128> v{i} = r[{i}];" for i in range(n)) + "".join(f"r[{i}] = ~v{(7 * i + 5) % n};" for i in range(n))
    with pytest.raises(DiagnosticError, match=r"P needs \d+ bytes of stack, and there are 512"):
        compile_program(program(WIDE.format(n=n, body=body)))


def test_what_fits_is_taken_as_it_is() -> None:
    made = compile_program(program(TAG), fuse=True)
    assert made.fused and not made.notes and len(made.containers) == 1


@pytest.mark.parametrize("level", [1, 2, SMALL])
def test_an_octet_of_a_cut_payload_is_read_in_the_form_asked_for(level: Level) -> None:
    case, tally = Case(Program(CUT_PAYLOAD.read_text(), {}, False)), Counter()
    run_case(add_packets(case, RandomChoose(1), 5), (Variant("engine", False, level),), tally)
    assert tally["compared engine"] == 5 and not [name for name in tally if name.startswith("other form")]


def test_a_form_that_the_verifier_refuses_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`lpnc build` writes the chain's modules, and says so to people and programs; `lpnc verify` finds the same."""
    analyse = judge.Unit.analyse

    def refusing(unit):
        found = analyse(unit)
        if unit.kind == "fused":
            found[0].accepted, found[0].rule, found[0].help = False, 38, "make it smaller"
            found[0].message = "rule 38 (analysis): too many steps; make it smaller"
        return found

    monkeypatch.setattr(judge.Unit, "analyse", refusing)
    (tmp_path / "tag.lpn").write_text(TAG)
    note = "TagProtocol.radio.rx_done is not fused: as one container it is refused by rule 38 (analysis): too many steps"
    for command in (("build", "-o", str(tmp_path)), ("verify",)):
        done = lpnc(command[0], "--fuse", "--json", str(tmp_path / "tag.lpn"), *command[1:])
        assert done.exit_code == 0 and done.stderr == f"note: {note}\n"
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert [row["name"] for row in rows] == ["Rx", "Guard", "Work", "Tx"] and {row["note"] for row in rows} == {note}
    assert (tmp_path / "tag.lpnb").exists()


def test_what_the_verifier_refuses_in_all_forms_is_told_of_the_form_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(judge.Unit, "analyse", lambda unit: (Report(False, 13, f"rule 13 (initialised): {unit.kind}"), None))
    (tmp_path / "tag.lpn").write_text(TAG)
    done = lpnc("build", "--fuse", str(tmp_path / "tag.lpn"), "-o", str(tmp_path))
    assert done.exit_code == 1 and "rule 13 (initialised): fused" in done.stderr and "note:" not in done.stderr


def test_loops_that_are_too_long_are_tried_once_at_each_level() -> None:
    """Reading less far ahead leaves as many turns."""
    tried: list[Form] = []

    def make(forms: Forms) -> Forms:
        if not forms.first("M", forms_of(2, parses=True), lambda form: tried.append(form) or True):
            forms.fail("M")
        return forms

    for rule, times in ((34, len(LEVELS)), (38, 2 * len(LEVELS))):
        tried.clear()
        made = accepted(make, lambda forms: [RefusedError("M", Report(False, rule, f"rule {rule}"))])      # noqa: B023
        assert len(tried) == times and made.taken == {"M": Form(2)}


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier follows the modules of `ELEMENTS` (the parser in 6,000 steps), and not its chain (36,000)."""
    for limit, steps in (("MAX_STEPS", 20_000), ("STEPS_A_SLOT", 1)):
        monkeypatch.setattr(sys.modules[Report.__module__], limit, steps)


def test_circles_of_states_that_are_too_many_for_one_container(few_steps: None) -> None:
    """Information elements in information elements, cells among them, and the modules behind the parser."""
    case = Case(Program(ELEMENTS.read_text(), {}, False))
    tally: Counter = Counter()
    run_case(add_packets(case, RandomChoose(1), 30), (Variant("engine", True),), tally)
    assert tally["compared engine"] == 30 and tally["containers"] == 3
    assert [name for name in tally if name.startswith("other form: is not fused: as one container it is refused by rule 38")]


def test_what_runs_is_what_build_makes(tmp_path: Path, few_steps: None) -> None:
    """A chain that the verifier does not take as one container runs as its modules, in each command, with the note that `build` gives."""
    note = "note: Ies.radio.rx_done is not fused: as one container it is refused by rule 38"
    copy = tmp_path / "ies.lpn"
    copy.write_text(ELEMENTS.read_text())
    (tmp_path / "ies.test").write_text('packet other { mac { version = 0, seq = 1, dst.short = 1, src.short = 2 } }\ntest "no elements" { send other; expect DROP NotV2; }\n')
    for arguments in (("run", str(copy), "--in", RECORDING), ("test", str(tmp_path))):
        done = lpnc(*arguments, "--fuse", "--engine", "thumb2")
        assert done.exit_code == 0 and note in done.output, done.output


def test_translated_code_is_of_proved_containers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MAX_STEPS", "STEPS_A_SLOT"):
        monkeypatch.setattr(sys.modules[Report.__module__], limit, 1)
    with pytest.raises(EngineError, match="^Rx is refused by rule 38 .*; thumb2 runs nothing that is not proved$"):
        make_runner("thumb2", program(TAG))
    assert make_runner("m3", program(TAG)).run(b"").verdict == "DROP"             # checked while it runs


def test_a_long_parser_may_take_more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more cells there are more loops, one behind the other: what the analysis takes is a share of the text."""
    monkeypatch.setattr(stacks, "MOST_COPIES", 1 << 20)
    monkeypatch.setattr(sys.modules[Report.__module__], "MAX_STEPS", 20_000)
    parser = compile_program(program(ELEMENTS.read_text().replace("Cell[6]", "Cell[20]"))).containers[0].image
    sizes = {"record_size": parser.record_size, "state_size": parser.state_size}
    report = verify(parser.text, PROFILES["lpn"], **sizes, max_steps=20_000)
    assert report.rule == 38 and verify(parser.text, PROFILES["lpn"], **sizes).accepted


def test_stack_is_saved_before_a_chain_is_divided(tmp_path: Path) -> None:
    done = lpnc("verify", "--fuse", str(MANY_RUNS), "--json")
    [row] = [json.loads(line) for line in done.stdout.splitlines()]
    assert row["accepted"] and row["stack"] <= 512
    assert stack.stack_used(compile_program(program(MANY_RUNS.read_text()), fuse=True).containers[0].image.text) <= 512


@pytest.mark.parametrize(("name", "level", "fused"), [("flag-that-ends-a-walk", MOST, False), ("flag-that-ends-a-walk", SMALL, False), ("flag-that-ends-a-walk", MOST, True)])
def test_what_has_a_certificate_at_another_level_is_made_there(name: str, level: Level, fused: bool) -> None:
    """LLVM makes loops that begin in several places, where it optimises most."""
    asked = compile_program(checked(FORMS / f"{name}.lpn"), fuse=fused, level=level)
    assert any(unit.uncertified for unit, *_ in judge.seal(asked)[1])
    done = judge.sealed_form(checked(FORMS / f"{name}.lpn"), fuse=fused, level=level)
    assert not done.refused() and all(unit.certificate for unit, *_ in done.found) and len(done.compiled.containers) == len(asked.containers)
    [note] = done.compiled.notes
    assert re.search(rf" is compiled with -O[12]: with -O{level} it has no certificate: .* slot \d+.* \(\S*{name}\.lpn:\d+\)$", note), note


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_what_was_spilled_on_the_way_back_has_a_certificate(level: Level) -> None:
    """Short code had none until a stack's elements were a number and a begin."""
    done = judge.sealed_form(checked(FORMS / "spilled-on-the-way-back.lpn"), level=level)
    assert all(unit.certificate for unit, *_ in done.found) and not done.compiled.notes


UNCOUNTED = """header Option { bit<8> kind; bit<8> size; }
        header One { bit<8> kind; }
        struct headers { One one; Option[3] some; }
        parser Rx(packet pkt, out headers h) {
            state start { transition select(payload[0]) { 0: end; 1: option; 2: some; default: one; } }
            state one { One o; pkt.extract(o); transition start; }
            state option { Option o; pkt.extract(o); pkt.advance(8 * (bit<16>) o.size); transition start; }
            state some { pkt.extract(h.some.next); transition start; }
            state end { pkt.extract(h.one); transition accept; }
        }
        processor P(inout headers h, inout meta m) { apply { m.verdict = DELIVER; m.port = (bit<16>) sizeof(payload); } }"""


def none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*_: object) -> bytes:
        raise NotFollowed("it was not looked for", 0)
    monkeypatch.setattr(judge, "certify", no)


def test_what_has_none_at_any_level_stays_as_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    none_is_found(monkeypatch)
    done = judge.sealed_form(program(UNCOUNTED))
    assert [unit.certificate for unit, *_ in done.found] == [b"", b""] and not done.compiled.notes


@pytest.mark.parametrize(("fuse", "level"), [(False, MOST), (False, SMALL), (True, MOST), (False, 1)])
def test_turns_that_a_cursor_bounds_are_counted_for_the_certificate(fuse: bool, level: Level) -> None:
    """The checker follows no cursor. However many octets there are, the limit is not reached: each turn takes one."""
    source = program(UNCOUNTED)
    asked = judge.seal(compile_program(source, fuse=fuse, level=level))[1]
    assert isinstance(asked[0][0].uncertified, NotCounted)
    done = judge.sealed_form(source, fuse=fuse, level=level)
    assert all(unit.certificate for unit, *_ in done.found)
    [note] = done.compiled.notes
    assert re.fullmatch(r"\S+ counts how often its states are entered again, as a `max` does: it would have no certificate else", note)
    runners = [make_runner("engine", source, compiled=done.compiled), make_runner("reference", source)]
    for packet in (b"\3" * 2047 + b"\0", b"\3" * 2048, b"\1\0" * 1023 + b"\0", b"\2\7" * 3 + b"\3" * 2041 + b"\0", b"\2\7" * 4, b"\3\1\2ab\0cd", b"\1\xff", b""):
        ours, theirs = [runner.run(packet) for runner in runners]
        assert (ours.verdict, ours.reason, ours.port) == (theirs.verdict, theirs.reason, theirs.port), packet[:8]


@pytest.mark.parametrize("name", ["two-differences-that-widen-each-other", "loops-the-packet-bounds", "circle-where-guesses-meet", "gap-learned-by-closure",
                                  "loop-of-states-entered-twice", "range-that-begins-behind-zero"])
def test_what_counts_turns_means_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, first, before = [], Forms.first, Parsers.count_circles

    def count(self: Parsers, p: ast.Parser) -> None:
        known = dict(self.limits)
        before(self, p)
        counted.extend(self.limits.keys() - known.keys())
    monkeypatch.setattr(Parsers, "count_circles", count)
    monkeypatch.setattr(Forms, "first", lambda self, name, forms, make: first(self, name, [replace(form, counts_turns=True) for form in forms], make))
    [path] = [path for folder in ("regressions", "constructs") for path in (FORMS.parent / folder).glob(f"{name}.lpn")]
    run_case(load_case(path), (Variant("engine"), Variant("engine", True), Variant("engine", False, SMALL)))
    assert counted


def test_what_has_none_is_told_where_it_is_built_and_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none_is_found(monkeypatch)
    source, out = tmp_path / "a.lpn", str(tmp_path / "out")
    source.write_text(UNCOUNTED)
    for command in (["build", str(source), "-o", out], ["verify", str(source)]):
        done = lpnc(*command)
        assert done.exit_code == 0 and re.search(r"^P: no certificate, it runs with checks: it was not looked for\n  \S+a.lpn:11 +processor P", done.stdout, re.M), done.output
    built, _ = map(json.loads, lpnc("build", str(source), "-o", out, "--json").stdout.splitlines())
    assert built["uncertified"] == "it was not looked for" and built["certificate_bytes"] == 0


def test_loops_of_one_circle_share_the_packet() -> None:
    """Elements of two stacks, in any order: LLVM makes five loops of it, each with one inside. All of them take octets of one packet."""
    done = judge.sealed_form(checked(FORMS / "stacks-in-one-circle.lpn"))
    [(_, report, analysis)] = done.found
    assert not done.refused() and not done.compiled.notes
    assert len(report.loops) == len(analysis.together.steps) == 10 and report.max_insns < 100_000


def test_loops_that_turn_too_often_may_turn_less_at_another_level(monkeypatch) -> None:
    """As above, where it takes too much effort to find out what they share, and nobody asks for a certificate, for which their turns are counted."""
    none_is_found(monkeypatch)
    monkeypatch.setattr(sys.modules["lpn.verifier.verify"], "together", lambda *_: None)
    done = judge.sealed_form(checked(FORMS / "stacks-in-one-circle.lpn"))
    [note] = done.compiled.notes
    assert not done.refused() and re.match(r"Rx is compiled with -O\w: with -O2 it is refused by rule 34", note), note
