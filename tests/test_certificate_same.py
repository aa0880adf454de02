"""The certificate's checker in Thumb-2 itself (certificate_thumb2.S) and in C (certificate.c) say the same of each pair: verdict, reason, slot, cost."""
from __future__ import annotations

import random
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from programs import example

from lpn.compiler.build import compile_program
from lpn.compiler.judge import sealed
from lpn.runtime.m3 import firmware

unicorn = pytest.importorskip("unicorn")
sys.path.insert(0, str(Path(__file__).parent / "verifier"))

if not shutil.which(firmware.COMPILER):
    pytest.skip(f"{firmware.COMPILER} is missing", allow_module_level=True)

from both import LOADED, STACK_MOST, Here, There, case_of, case_of_image, differing, linked     # noqa: E402
from both_changed import Case, changed                                                          # noqa: E402
from flip import everything, survivors                                                          # noqa: E402
from forge import pairs                                                                         # noqa: E402

EXAMPLES = "udp/udp", "fragment/reassemble", "tsch_slot/tsch_slot"


@pytest.fixture(scope="module")
def here() -> Here:
    return Here()


@pytest.fixture(scope="module")
def there() -> There:
    code, entry, _ = linked()
    return There(code, entry)


@pytest.fixture(scope="module")
def honest() -> list[Case]:
    return [case_of(pair) for pair in pairs() if pair.honest]


@pytest.fixture(scope="module")
def examples() -> list[Case]:
    out = []
    for name in EXAMPLES:
        build = compile_program(example(name), "lpn", False, 2)
        sealed(build)
        out += [case_of_image(image) for image in build.bundle.modules if image.certificate]
    assert len(out) > 5
    return out


def test_both_judge_forged_certificates_alike(here, there):
    given = [case_of(pair) for pair in pairs()]
    assert len({here.check(case) for case in given}) > 200          # reasons and slots
    assert not list(differing(here, there, given))


def test_both_judge_what_is_changed_at_random_alike(here, there, honest, examples):
    """Texts, certificates, sizes of regions and of the work area; nothing else is read or written, each buffer at the end or the start of its pages."""
    assert not list(differing(here, there, changed(honest, random.Random(1), 8000)))
    assert not list(differing(here, there, changed(examples, random.Random(2), 1000)))


def test_both_take_as_much_work_area(here, there, honest, examples):
    for case in honest:
        assert not list(differing(here, there, (replace(case, room=room) for room in range(0, 260, 3))))
    for case in examples:
        rooms = [replace(case, room=room, high=room % 16 == 0) for room in range(0, 700, 8)]
        assert not list(differing(here, there, rooms))
        assert here.check(rooms[-1]).why == 0


def test_certificates_cut_anywhere(here, there, examples):
    case = min(examples, key=lambda case: len(case.certificate))
    assert not list(differing(here, there, (replace(case, certificate=case.certificate[:n]) for n in range(len(case.certificate)))))
    assert not list(differing(here, there, (replace(case, certificate=case.certificate[n:]) for n in range(len(case.certificate)))))


def test_the_stack_that_it_takes_is_known(here, there):
    """There are STACK_MOST bytes, and what is below is not there. The C takes 516."""
    for case in map(case_of, pairs()):
        if here.check(case).why != LOADED:
            there.check(case)
    assert STACK_MOST - 16 <= there.deepest <= STACK_MOST


def test_tables_are_found_wherever_it_is_linked():
    assert firmware.align_of("certificate_thumb2.S") % 4 == 0


def test_the_c_form_runs_on_the_core_too(here, there, honest):
    code, entry, _ = linked("LPN_CERTIFICATE_IN_C=1")
    given = list(changed(honest, random.Random(3), 300))
    compiled = There(code, entry, stack=600)
    assert not list(differing(here, compiled, honest + given))


def test_conditions_turned_round_are_noticed():
    """Some of the machine code's; all of them: python tests/verifier/flip.py."""
    code, entry, ranges = linked()
    tried, alive = survivors(Here(), There(code, entry), code, ranges, everything(), every=8)
    assert tried > 30 and not alive, [hex(at) for at in alive]
