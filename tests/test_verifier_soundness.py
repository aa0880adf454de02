"""Whatever the verifier accepts runs without a fault, within the promised bounds, inside the invariants it found.

Random packet programs (verifier/generate.py) are run in an interpreter that watches itself (verifier/instrumented.py). Three
independent oracles: the interpreter's own checks; every concrete state lies in the invariant of its node; addresses do not
influence the result (the run is repeated with all regions elsewhere).
"""
import os
import random
import sys
from pathlib import Path

from hypothesis import given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import generate                                                    # noqa: E402
import instrumented                                                # noqa: E402

from lpn.compiler.asm import AsmError, assemble                    # noqa: E402
from lpn.verifier import LPN, analyse                              # noqa: E402
from lpn.verifier import domain as d                               # noqa: E402
from lpn.verifier.state import LEN, NUMBER, POINTER                # noqa: E402

SIZES = (("rec", 64), ("state", 32), ("out", 256))


class Follower:
    """Checks at each block's start that the machine is in the block's invariant, and counts loop turns."""

    def __init__(self, analysis):
        self.analysis, self.node, self.left = analysis, None, 0
        self.heads = {l.head: l for l in analysis.graph.loops}
        self.turns = {}

    def __call__(self, pc, r, machine):
        if self.left:
            self.left -= 1
            return
        before = self.node
        if before is None:
            self.node = self.analysis.graph.nodes[0]
        else:
            found = [s for s, _ in before.succs if s.first == pc]
            assert found, f"control went to {pc} from {before}"
            self.node = found[0]
        node = self.node
        self.left = len(node.code) - 1
        for head, loop in self.heads.items():
            if node is head:
                entered = before is None or before not in loop.body
                self.turns[head] = 1 if entered else self.turns[head] + 1
                assert self.turns[head] <= self.analysis.bounds[head], f"{head} runs {self.turns[head]} times"
        state = self.analysis.invariants.get(node)
        assert state is not None, f"{node} was thought unreachable"
        check_inside(state, r, machine, node)


def check_inside(state, r, machine, node):
    syms = {0: 0, LEN: machine.length}

    def value_is(v, concrete, where):
        if v.kind == NUMBER:
            x = d.s64(concrete)
        elif v.kind == POINTER:
            x = concrete - (machine.regions[v.region].base + (512 if v.region.startswith("stack") else 0))
        else:
            return
        x -= v.off
        assert syms.setdefault(v.sym, x) == x, f"{node}: {where} is {concrete}, not {v} (symbol is {syms[v.sym]})"

    for i, v in enumerate(state.regs):
        if v is not None and v.kind in (NUMBER, POINTER):
            assert r[i] is not None, f"{node}: r{i} is not set"
            value_is(v, r[i], f"r{i}")
    for depth, frame in enumerate(state.frames):
        m = machine.regions[f"stack{depth}"]
        for off, (size, v) in frame.slots.items():
            value_is(v, int.from_bytes(m.data[512 + off:512 + off + size], "little"), f"stack {off}")
        for byte in range(512):
            if frame.written >> byte & 1:
                assert m.written[byte], f"{node}: stack byte {byte - 512} is not written"
    for sym, n in state.vars.items():
        if sym in syms:
            assert syms[sym] & d.M64 in n, f"{node}: symbol {sym} is {syms[sym]}, not in {n}"
    for (a, b), (lo, hi) in state.diff.items():
        if a in syms and b in syms:
            assert lo <= syms[b] - syms[a] <= hi, f"{node}: symbols {a}, {b} differ by {syms[b] - syms[a]}, not {lo}..{hi}"
    for x, (v, w, c) in state.defs.items():
        if {x, v, w} <= set(syms):
            assert syms[x] == syms[w] - syms[v] + c
    for depth, *ends in state.filled:
        if all(sym in syms for _, parts in ends for sym, _ in parts):
            first, end = (c + sum(k * syms[sym] for sym, k in parts) for c, parts in ends)
            for byte in range(first, end):
                assert -512 <= byte < 0 and machine.regions[f"stack{depth}"].written[512 + byte] == 1, f"{node}: stack byte {byte} is not written"


def run_once(text, packet, report, analysis, seed, shift=0):
    rng = random.Random(seed)
    machine = instrumented.Machine(text, packet, shift=shift, sizes=SIZES, fill=rng.randbytes)
    result = machine.run(report.max_insns, Follower(analysis))
    assert result.stack <= report.stack
    assert result.branches <= report.max_branches
    assert result.clean32 or not report.clean32
    visible = [bytes(machine.regions[name].data) for name in ("pkt", "rec", "state", "out")] + [bytes(machine.regions["ctx"].data[40:52])]
    return result.r0, visible


def packets(rng):
    yield b""
    for n in (1, rng.randrange(2, 30), rng.randrange(30, 80), 64, 1500, 2048):
        yield rng.choice([rng.randbytes(n), bytes(n), b"\xff" * n, bytes(rng.choice([0, 1, 255, 128]) for _ in range(n))])


def examine(source, seed, verdicts=None):
    """Verify a program; run it if accepted. Returns the report."""
    text = assemble(source)
    report, analysis = analyse(text, LPN, record_size=64, state_size=32, max_insns=100_000)
    if verdicts is not None:
        verdicts.append(report)
    if report.accepted:
        rng = random.Random(seed)
        for i, packet in enumerate(packets(rng)):
            here = run_once(text, packet, report, analysis, seed + i)
            assert here == run_once(text, packet, report, analysis, seed + i, shift=0x1234_5600), "addresses are visible"
    return report


@given(st.data(), st.integers(0, 1 << 30))
@settings(max_examples=int(os.environ.get("LPN_PROGRAMS", 200)), deadline=None)   # more by hand: LPN_PROGRAMS=100000
def test_accepted_programs_keep_the_rules(data, seed):
    rng = random.Random(data.draw(st.integers(0, 1 << 40)))
    source = generate.program(rng.choice)
    try:
        assemble(source)
    except (AsmError, ValueError):
        return
    examine(source, seed)


def test_the_generator_meets_both_verdicts():
    """A test of the test: enough is accepted, loops and calls included, and what is refused breaks many rules."""
    verdicts = []
    for seed in range(150):
        rng = random.Random(seed)
        verdicts.append(analyse(assemble(generate.program(rng.choice)), LPN, record_size=64, state_size=32, max_insns=100_000)[0])
    accepted = [v for v in verdicts if v.accepted]
    assert len(accepted) > 40
    assert sum(bool(v.loops) for v in accepted) > 5
    assert len({v.rule for v in verdicts if not v.accepted}) >= 5
