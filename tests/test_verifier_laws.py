"""What the verifier says of numbers, of states and of single operations, tried on the same few thousand examples each time; and what is accepted in the tables of
tests/verifier runs with every claim looked at. tests/verifier/mutate_verifier.py tells which mistakes these find."""
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import cases                                                       # noqa: E402
import laws                                                        # noqa: E402
import operations                                                  # noqa: E402
import state_laws                                                  # noqa: E402
import test_verifier_traps as traps                                # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.runtime.instrumented.claims import Claims, Runner         # noqa: E402
from lpn.verifier import LPN, analyse, fixpoint                    # noqa: E402
from lpn.verifier.state import number                              # noqa: E402


@pytest.fixture(scope="module")
def runner():
    return Runner()


@pytest.mark.parametrize("seed", [1, 2])
def test_numbers(seed):
    assert list(laws.broken(seed)) == []


def test_states():
    state_laws.AGREED.clear()
    assert list(state_laws.broken(1)) == []
    assert len(state_laws.AGREED) > 700                             # else the proof refuses nearly everything


def test_operations(runner):
    refused = {}
    for name, source in operations.programs():
        text = assemble(source)
        report, analysis = analyse(text, LPN, record_size=72)
        if not report.accepted:
            refused[name] = report.message
            continue
        fault = runner.batch(Claims(text, LPN.with_sizes(rec=72), None, (report, analysis), 1), 1, 60)
        assert fault is None, f"{fault}\n{source}"
    assert len(refused) < 4, refused


def test_near_misses_keep_their_claims(runner):
    """Those of the rules and those beside the traps: what was found of the text is true of its runs."""
    regions = {"rodata": "rodata", "data": "data", "record_size": "rec", "state_size": "state"}
    ran = 0                                           # the interpreter has no loads of the stock engine's own
    for case in cases.all_cases():
        text, profile, options = case.judged()
        if case.expect != "accept" or "of the stock engine" in case.name or len(text) > 8000 or max(options.get(name, 0) for name in regions) > 4096:
            continue
        profile = replace(profile, max_packet=2048, contexts=())
        report, analysis = analyse(text, profile, **{name: value for name, value in options.items() if name != "contexts"})
        assert report.accepted, report.message
        claims = Claims(text, profile.with_sizes(**{regions[name]: value for name, value in options.items() if name in regions}), options.get("helpers"), (report, analysis), 1)
        fault = runner.batch(claims, 1, min(40, 1 + 100_000 // report.max_insns))
        assert fault is None, f"rule {case.rule}: {case.name}: {fault}"
        ran += 1
    assert ran > 150
    for name, code, *_ in traps.NEAR:
        text = assemble(traps.START + code)
        judged = analyse(text, LPN, record_size=64, helpers=traps.HELPERS)
        claims = Claims(text, LPN.with_sizes(rec=64), traps.HELPERS, judged, 1)
        fault = runner.batch(claims, 1, min(200, 1 + 100_000 // judged[0].max_insns))
        assert fault is None, f"{name}: {fault}"


def test_the_proof_does_not_follow_a_search_that_is_wrong(monkeypatch):
    """What the search says of a stack byte that is written on one way, of a register where the program begins, of a block nobody came to."""
    code = assemble("r2 = *(u32 *)(r1 + 52)\nif r2 == 0 goto L\n*(u64 *)(r10 - 8) = 1\nL: r0 = *(u64 *)(r10 - 8)\nexit")
    join, run = fixpoint.join, fixpoint.Fixpoint.run

    def written(states, name, head, keep=frozenset(), known=None, guesses=()):
        out = join(states, name, head, keep)
        for frame in out.frames:
            frame.written |= (1 << 512) - 1
        return out
    with monkeypatch.context() as during:
        during.setattr(fixpoint, "join", written)
        assert "the invariant found is not one: stack bytes of frame 0 not written" in analyse(code, LPN)[0].message

    def known(self):
        run(self)
        first = self.graph.nodes[0]
        self.invariant[first] = self.invariant[first].copy()
        self.invariant[first].regs[0] = number(0)

    def unreached(self):
        run(self)
        del self.invariant[self.graph.nodes[-1]]
    for wrong, text, why in ((known, "exit", "place 0: None is not"), (unreached, "r0 = 0\nif r1 == 0 goto L\nr0 = 1\nL: exit", "it was thought unreachable"),
                             (unreached, "r2 = *(u32 *)(r1 + 52)\nr0 = 0\nif r2 == 0 goto L\nr0 = 1\nL: exit", "it was thought unreachable")):
        with monkeypatch.context() as during:
            during.setattr(fixpoint.Fixpoint, "run", wrong)
            report = analyse(assemble(text), LPN)[0]
            assert report.rule == 38 and f"the invariant found is not one: {why}" in report.message
