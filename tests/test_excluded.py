"""What a proof excludes is taken out of the text where a container would have no certificate else; what it does stays the same."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.build import Compiled, compile_program
from lpn.compiler.commands.inputs import checked
from lpn.compiler.disasm import disassemble
from lpn.compiler.elf import Object
from lpn.compiler.excluded import without_excluded
from lpn.compiler.forms import LEVELS
from lpn.compiler.fuzz import differential
from lpn.compiler.fuzz.differential import Refused, Variant, make_case, run_case
from lpn.compiler.image import OUT_SIZE
from lpn.compiler.judge import of_compiled, seal, unit_of
from lpn.compiler.target import CTX_OUT, CTX_PKT
from lpn.verifier.certify_labels import NotFollowed
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.verify import analyse

BEHIND_A_SUM = Path(__file__).parent / "regressions" / "an-option-behind-a-sum.lpn"
OPTIONS = Path(__file__).parent / "regressions" / "options-up-to-the-end.lpn"
FORMS = {
    "never": ("w2 = 3\nif w2 > 5 goto A\nw0 = 1\nexit\nA: w0 = 2\nexit", 1),
    "always": ("w2 = 3\nif w2 < 5 goto A\nw0 = 1\nexit\nA: w0 = 2\nexit", 2),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_branch_that_is_decided(name):
    source, result = FORMS[name]
    code = Object(assemble(source), lines=[(0, "a.lpn", 1), (2, "a.lpn", 2), (4, "a.lpn", 3)])
    report, analysis = analyse(code.text, PROFILES["lpn"])
    assert report.accepted
    made = without_excluded(code, analysis)
    assert [line.split("  ")[-1].strip() for line in disassemble(made.text)] == [f"w0 = {result:#x}", "exit"]
    assert made.lines == [(0, "a.lpn", result + 1)]
    assert without_excluded(made, analyse(made.text, PROFILES["lpn"])[1]) is None


def test_a_branch_of_a_function_is_decided_for_all_its_calls():
    """Each call takes another way."""
    code = Object(assemble("w1 = 1\ncall F\nw1 = 2\ncall F\nw0 = 0\nexit\nF: if w1 == 1 goto A\nw0 = 3\nexit\nA: w0 = 4\nexit"))
    report, analysis = analyse(code.text, PROFILES["lpn"])
    assert report.accepted and without_excluded(code, analysis) is None


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_a_loop_that_nobody_enters_costs_no_certificate(level):
    program = checked(OPTIONS)
    [before] = of_compiled(compile_program(program, fuse=True, level=level)).items
    compiled = compile_program(program, fuse=True, level=level)
    units, [(unit, report, _)] = seal(compiled)
    [container] = compiled.containers
    assert unit.certificate and unit.uncertified is None and report.accepted and len(unit.text) < len(before.text)
    assert container.image.text == container.code.text == unit.text and container.image.certificate == unit.certificate
    assert compiled.bundle.modules == (container.image,) and units.items == [unit]


#: What is written begins at most 40 octets into the output, as what is taken off is no more than what there was. The checker has the last test for that, which is never taken.
LESS = f"""
    r6 = *(u64 *)(r1 + {CTX_PKT})
    r7 = *(u64 *)(r1 + {CTX_OUT})
    w2 = *(u8 *)(r6 + 0x0)
    w5 = *(u8 *)(r6 + 0x1)
    if w2 > 40 goto end
    if w5 > w2 goto end
    w3 = w2
    w3 -= w5
    if w3 > 252 goto end
    r7 += r3
    *(u32 *)(r7 + 0x0) = 0
    w0 = 3
    exit
end:
    w0 = 1
    exit"""


def test_a_test_that_ends_the_run_may_be_needed():
    """So may all of the output: where that ends the checker learns from that test alone."""
    compiled = compile_program(checked(BEHIND_A_SUM), fuse=True)
    [container] = compiled.containers
    code = Object(assemble(LESS))
    compiled.containers[0] = replace(container, code=code, image=replace(container.image, text=code.text))
    [(unit, report, analysis)] = seal(compiled)[1]
    assert unit.certificate and report.accepted and report.output < unit.out_size == compiled.containers[0].image.out_size == OUT_SIZE
    assert compiled.containers[0].code.text == code.text and without_excluded(code, analysis) is not None


@pytest.mark.parametrize("name", ("1", "2", "s"))
def test_an_option_behind_a_sum_has_a_certificate(name):
    [(unit, report, _)] = seal(compile_program(checked(BEHIND_A_SUM), fuse=True, level=LEVELS[name]))[1]
    assert unit.certificate and report.output == unit.out_size == 64


def test_what_has_a_certificate_is_left_as_it_is(monkeypatch):
    """So is what has none because of something else."""
    asked = []
    monkeypatch.setattr("lpn.compiler.judge.without_excluded", lambda code, analysis, ends: asked.append(code))
    folder = OPTIONS.parent.parent / "constructs"
    for name in ("loops-the-packet-bounds", "signed-numbers", "codec-of-a-choice"):
        assert not any(isinstance(unit.uncertified, NotFollowed) for unit, _, _ in seal(compile_program(checked(folder / f"{name}.lpn")))[1])
    assert not asked


@pytest.mark.parametrize("group", range(3))
def test_what_is_left_does_the_same(group, monkeypatch):
    """Random programs without all that their proofs exclude: they do what the reference does. Of few the verifier does not accept what is left, since
    what a branch taught it is gone with the branch: these stay as they are."""
    made, kept = [], []
    compile_variant = differential.compile_variant

    def without(program, variant: Variant, lowerings) -> Compiled:
        compiled = compile_variant(program, variant, lowerings)
        for i, (container, unit) in enumerate(zip(compiled.containers, of_compiled(compiled).items)):
            if (code := without_excluded(container.code, unit.analyse()[1])) is not None:
                other = replace(container, code=code, image=replace(container.image, text=code.text))
                if unit_of(compiled, other).analyse()[0].accepted:
                    compiled.containers[i] = other
                    made.append(container.name)
                else:
                    kept.append(container.name)
        assert not differential.refused(compiled)
        return compiled
    monkeypatch.setattr(differential, "compile_variant", without)
    for seed in range(4000 + 8 * group, 4008 + 8 * group):
        try:
            run_case(make_case(seed, 8), (Variant("engine"), Variant("engine", True)))
        except Refused:
            continue
    assert len(made) >= 4 and len(kept) <= len(made) // 4
