"""Random programs for targets `femto` and `xdp`: what the verifier refuses of what is built is what the target has no room for, and runs agree with the reference.

The programs are the same in every run; `lpnc fuzz --engine femto --engine kernel` looks for new ones.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import lpnc
from femto_stock import StockChain
from xdp_ours import InOurEngine

from lpn.compiler.build import Compiled
from lpn.compiler.forms import MOST, SMALL
from lpn.compiler.fuzz.differential import Case, Failure, Loaded, Refused, Variant, checked, compile_variant, compiled_cells, expected, load_case, make_case
from lpn.compiler.isa import decode
from lpn.lang import tables as control
from lpn.verifier.descriptors import FEMTO

#: What a target has not, in the words of who says it.
LIMITS = re.compile(r"target (femto|xdp) has no (buffers|radio|timers|network layer to send to|functions of the node's own)|rule 3[45] |no register and no stack is left"
                    r"|needs \d+ bytes of stack")
LEVELS = (0, 1, SMALL)
FIRST, EACH, GROUPS, PACKETS = 16, 4, 4, 6
FOUND = Path(__file__).parent / "regressions"


def built(seed: int, variants: list[Variant]) -> Iterator[tuple[Case, Compiled, list, dict]]:
    """The program of this number as each variant has it, unless the target has no room for it; with what the reference makes of its packets, and its state then."""
    case = make_case(seed, PACKETS)
    program = checked(case.program.text)
    case.packets = [(frame, meta) for frame, meta in case.packets if "hook" not in meta]        # timers, say
    results, state, _ = expected(program, case)
    for variant in variants:
        try:
            yield case, compile_variant(program, variant), results, state
        except Refused as why:
            assert LIMITS.search(str(why)), f"program {seed}: {why}"
        except Failure as failure:
            pytest.fail(f"program {seed}: {failure}\n{case.program.text}")


def agree(runner, case: Case, compiled: Compiled, results: list, state: dict) -> int:
    """How many packets were compared."""
    for want, (frame, meta) in zip(results, case.packets):
        got = runner.run(frame, meta)
        assert (got.verdict, got.reason, got.port, got.out) == (want.verdict, want.reason, want.port, want.out), f"{frame.hex()} {meta}"
    assert compiled_cells(compiled, runner.state()) == state
    return len(case.packets)


@pytest.mark.parametrize("group", range(GROUPS))
def test_for_a_stock_engine(group: int) -> None:
    """In our engine, and in the model of theirs, which has no helpers and whose check before a run takes them."""
    compared = 0
    for seed in range(FIRST + group * EACH, FIRST + (group + 1) * EACH):
        for case, compiled, *wanted in built(seed, [Variant("femto"), Variant("femto", bool(seed & 4), LEVELS[seed % 3])]):
            if not compiled.program.chain:
                continue
            given = control.from_json(case.program.tables, compiled.program)
            compared += agree(Loaded(compiled, "femto", given), case, compiled, *wanted)
            if len(compiled.hooks) == 1 and not any(i.is_call and not i.is_local_call for c in compiled.containers for i in decode(c.code.text)):
                model = StockChain(compiled, compiled.initial_state(given))
                agree(model, case, compiled, *wanted)
                assert model.taken <= FEMTO.branch_budget
    assert compared


@pytest.mark.parametrize("group", range(GROUPS))
def test_for_the_kernel(group: int) -> None:
    """In our engine, with the layout that the kernel gives; test_differential.py asks the kernel itself."""
    compared = 0
    for seed in range(FIRST + group * EACH, FIRST + (group + 1) * EACH):
        for case, compiled, *wanted in built(seed, [Variant("kernel", True), Variant("kernel", True, LEVELS[seed % 3])]):
            compared += agree(InOurEngine(compiled, control.from_json(case.program.tables, compiled.program)), case, compiled, *wanted)
    assert compared


@pytest.mark.parametrize("level", [0, 1, MOST, SMALL])
def test_a_loop_is_entered_at_its_head_only(level) -> None:
    """What LLVM loaded for the next turn of a parser's loop, at its end, was loaded on ways into it too, which led through the same block."""
    case = load_case(FOUND / "loop-of-states-entered-twice.lpn")
    with pytest.raises(Refused, match="rule 35 "):
        compile_variant(checked(case.program.text), Variant("femto", False, level))


def test_what_a_target_does_not_run_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "timed.lpn"
    path.write_text("""
        header H { bit<8> a; }
        struct headers { H h; }
        register<bit<8>> n;
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) { apply { if (n > 5) { m.verdict = DROP; } n = n + 1; } }
        timing T { every 1 s within 1 ms { after 5 ms { n = 0; } } on radio.tx_done { n = 1; } }
        timing Unbound { every 2 s { n = 0; } }
        protocol X version 1 { on radio.rx_done : Rx -> P; on net.rx(41) : Rx; timing : T; }""")
    block = "timing block T is left out: target {} runs chains only, not T.every_1s, T.on_tx_done"
    wanted = {"femto": [block.format("femto")], "lpn": [],
              "xdp": ["the chain of net.rx.41 is left out: target xdp runs that of radio.rx_done only", block.format("xdp")]}
    for target, notes in wanted.items():
        for command in (("build", "-o", str(tmp_path)), ("verify",)):
            done = lpnc(command[0], "--target", target, "--json", str(path), *command[1:])
            assert done.exit_code == 0 and [line for line in done.stderr.splitlines() if line.startswith("note")] == [f"note: {note}" for note in notes]
            assert {json.loads(line)["note"] for line in done.stdout.splitlines()} == {"; ".join(notes) or None}
