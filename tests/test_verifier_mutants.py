"""Each refusal of the verifier, taken away, is missed: a program of the rules is judged otherwise. All other changes, which take longer, are tried by hand:
python tests/verifier/mutate_verifier.py."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import cases                                                       # noqa: E402
import mutate_verifier                                             # noqa: E402
from test_verifier_rules import INTERNAL                           # noqa: E402


def test_every_refusal_is_missed():
    reached: dict[tuple[str, int], list[mutate_verifier.Judgment]] = {}
    for case in cases.all_cases():
        if case.expect != "accept" and case.rule != 38:             # without a limit they take long
            judgment = mutate_verifier.of_rule(case)
            with cases.reached() as sites:
                judgment.learn()
            for file, line in sites:
                reached.setdefault((file.removesuffix(".py"), line), []).append(judgment)
    tried = 0
    for mutant in mutate_verifier.mutants(mutate_verifier.PROOF, lambda kind: kind == "refusal dropped"):
        order = sorted((judgment for line in mutant.lines for judgment in reached.get((mutant.module, line), ())), key=lambda judgment: len(judgment.text))
        source = (mutate_verifier.FOLDER / f"{mutant.module}.py").read_text(encoding="utf-8").splitlines()
        if not order and any(text in source[line - 1] for line in mutant.lines for text in (*INTERNAL, "Violation(38")):
            continue
        assert mutate_verifier.tried(mutant, order[:3]).how, f"{mutant.module}.py:{mutant.lines[0]}: nothing misses it: {mutant.key}"
        tried += 1
    assert tried > 90
