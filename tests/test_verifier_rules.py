"""Every rule has a program that breaks it alone and a near miss that passes; the exact message is part of the case."""
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import cases                                                       # noqa: E402
import classes                                                     # noqa: E402

import lpn.verifier                                                # noqa: E402
from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.verifier import FEMTO, LPN, RULES, XDP, HelperSpec, render, verify    # noqa: E402
from lpn.verifier.verify import path_text                          # noqa: E402

CASES = cases.all_cases()
# Kept by the worst-case time and the certificate.
ELSEWHERE = {36, 37}


@pytest.mark.parametrize("case", CASES, ids=[f"{c.rule}-{c.name.replace(' ', '-')}" for c in CASES])
def test_case(case):
    report = case.run()
    assert ("accept" if report.accepted else report.message) == case.expect
    if not report.accepted:
        assert report.rule == int(case.headers.get("broken", case.rule))
        assert report.example == case.headers.get("example", "")
        assert [str(slot) for slot in report.path if len(report.path) > 1] == case.headers.get("path", "").split()
        assert report.help and report.message.endswith(f"; {report.help}")


def test_every_class_of_mistakes_has_programs():
    """The table of classes.py, whole: of each some are refused, and near misses are not."""
    assert not {name for case in CASES for name in case.classes} - set(classes.ALL)
    refused = {name for case in CASES if case.expect != "accept" for name in case.classes}
    accepted = {name for case in CASES if case.expect == "accept" for name in case.classes}
    assert [name for name in classes.ALL if name not in refused] == []
    assert [name for name in classes.ALL if name not in accepted] == []


# What only a mistake in the verifier itself, or a program far larger than a test's, leads to.
INTERNAL = ("the loops are too many and too large", "no invariant of the loop was found", "the invariant found is not one", "an unknown has two meanings",
            "the instruction makes too many unknowns", "a pointer to a callee's frame outlives it", "is compared\", \"bound it first\"")


def test_every_message_is_tested():
    """Each place of the verifier that says a rule is broken is reached by a case, whose file has the exact text."""
    with cases.reached() as reached:
        for case in CASES:
            if case.expect != "accept":
                case.run()
    source = {path.name: path.read_text().splitlines() for path in Path(lpn.verifier.__file__).parent.glob("*.py")}
    missed = [f"{file}:{line}: {source[file][line - 1].strip()}" for file, line in sorted(cases.sites() - reached)]
    assert [text for text in missed if not any(known in text for known in INTERNAL)] == []


def test_every_refusal_says_what_could_happen_or_on_which_path():
    without = [f"{case.rule} {case.name}" for case in CASES if case.expect != "accept" and not case.headers.keys() & {"example", "path"}]
    assert without == []


def test_every_rule_has_both_verdicts():
    for number in set(RULES) - ELSEWHERE:
        mine = [c for c in CASES if c.rule == number]
        assert any(c.expect == "accept" for c in mine), f"rule {number} has no near miss"
        assert any(c.expect.startswith(f"rule {number} ") for c in mine), f"nothing breaks rule {number}"


def test_report_names_the_line():
    text = assemble("r0 = 0\nr2 = *(u64 *)(r1 + 0)\nr0 = *(u8 *)(r2 + 70)\nexit")
    report = verify(text, LPN, line_map=[(0, ("a.lpn", 3)), (2, ("a.lpn", 5))])
    assert (report.insn, report.line, report.rule) == (2, ("a.lpn", 5), 19)
    shown = render(report, source={"a.lpn": ["", "", "", "", "    pkt.extract(h);"]}).splitlines()
    assert shown[0].startswith("a.lpn:5: rejected: rule 19 (packet bounds): slot 2: reads 1 byte at packet offset 70")
    assert shown[1] == "  5 |     pkt.extract(h);"
    assert "\x1b[31m" in render(report, color=True)
    assert shown[2:] == ["  for example: when the packet is 0 bytes long, this reads byte 70 of it", "  on the path: a.lpn:3 -> 5",
                         "  help: compare pkt + 71 with pkt_end first", f"  rule 19: {RULES[19].text}"]


def test_long_paths_are_cut():
    """Of a path of more than 12 lines the first two and the last nine are shown; lines of another file are named."""
    code = "r2 = *(u32 *)(r1 + 52)\nr0 = 0\n" + "".join(f"if r2 == {i} goto +0\n" for i in range(20)) + "r0 = r3\nexit"
    report = verify(assemble(code), LPN, line_map=[(i, "a.lpn", i + 1) for i in range(20)] + [(20, "std/b.lpn", 7)])
    assert path_text(report) == "a.lpn:1 -> 4 -> ... -> 13 -> 14 -> 15 -> 16 -> 17 -> 18 -> 19 -> 20 -> std/b.lpn:7"
    assert report.lines[-1] == ("std/b.lpn", 7) and report.path[-1] == report.insn == 22


def test_accepted_report():
    text = assemble("r6 = r1\n*(u32 *)(r10 - 4) = 7\nw0 = 0\nL: w0 += 1\nif w0 < 10 goto L\ncall 2\nw0 = 0\nexit")
    report = verify(text, LPN)
    assert report.accepted and report.clean32 and report.helpers == [2]
    assert (report.stack, report.insns, report.max_insns) == (8, 8, 3 + 2 * 10 + 3)
    assert verify(assemble("*(u8 *)(r10 - 1) = 7\nr0 = 0\nexit"), LPN).stack == 8
    assert [(b.head, b.bound, b.depth) for b in report.loops] == [(3, 10, 1)]
    assert "accepted: 8 instructions, at most 26 executed, 8 bytes of stack, 1 loop, 32-bit clean" in render(report)
    assert report.as_dict()["loops"][0]["counter"] == "r0 moves by 1 a turn"


def test_clean32():
    def clean(source):
        report = verify(assemble(source), LPN)
        assert report.accepted, report.message
        return report.clean32
    assert clean("r0 = *(u32 *)(r1 + 52)\nr0 += 0\nexit")
    assert clean("r2 = *(u64 *)(r1 + 0)\nr3 = *(u64 *)(r1 + 8)\nr3 -= r2\nw0 = w3\nexit")
    assert not clean("r0 = *(u32 *)(r1 + 52)\nr0 += 1\nw0 = w0\nexit")
    assert not clean("r0 = -1\nw0 = w0\nexit")
    assert not clean("r0 = *(u64 *)(r1 + 72)\nw0 = w0\nexit")
    assert not clean("r2 = *(u32 *)(r1 + 52)\nr0 = 1\nif r2 s< 0 goto L\nL: exit")
    assert not verify(assemble("call 1\nexit"), LPN, helpers=[HelperSpec(1, "any")]).clean32
    assert verify(assemble("call 1\nexit"), LPN, helpers=[HelperSpec(1, "any", (), "u32")]).clean32


@given(st.binary(max_size=80), st.sampled_from([LPN, XDP, FEMTO]), st.integers(0, 1 << 30))
@settings(max_examples=300, deadline=None)
def test_any_bytes_get_a_verdict(noise, profile, seed):
    """Nothing raises, whatever the bytes: plain noise, and a program with some bytes changed."""
    import generate
    rng = random.Random(seed)
    assert not verify(noise, profile).accepted or noise[-8:] == assemble("exit")
    text = bytearray(assemble(generate.program(rng.choice, 2)))
    for _ in range(rng.randrange(1, 4)):
        text[rng.randrange(len(text))] = rng.randrange(256)
    report = verify(bytes(text), profile, record_size=64, state_size=32, max_steps=20_000)
    assert report.accepted or (report.rule in RULES and report.message)


def test_the_line_of_what_the_whole_breaks():
    """Of the innermost loop of those that turn most."""
    code = assemble("r1 = 0\nA: r1 += 1\nif r1 < 9 goto A\nr2 = 0\nB: r3 = 0\nC: r3 += 1\nif r3 < 2000 goto C\nr2 += 1\nif r2 < 1000 goto B\nr0 = 0\nexit")
    report = verify(code, LPN, line_map=[(slot, "x.lpn", 10 + slot) for slot in range(len(code) // 8)])
    assert report.rule == 34 and report.insn is None and report.line == ("x.lpn", 15)
    report = verify(code, FEMTO, max_insns=10**9, line_map=[(slot, "x.lpn", 10 + slot) for slot in range(len(code) // 8)])
    assert report.rule == 35 and report.line == ("x.lpn", 15)


@pytest.mark.parametrize("stores,output", [("*(u32 *)(r1 + 40) = 3", 64), ("*(u8 *)(r1 + 40) = 3", 256), ("*(u8 *)(r1 + 41) = 1\n*(u8 *)(r1 + 42) = 0", 256)])
def test_an_output_that_is_said_octet_by_octet_may_be_all_of_it(stores, output):
    """The engine clears, and accepts, as many octets as the report says."""
    report = verify(assemble(f"{stores}\nr0 = 0\nexit"), LPN)
    assert report.accepted and report.output == output
