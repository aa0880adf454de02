"""`lpnc bench`: the programs do their work, in the form its page describes. Counts are exact, so limits are exact; nothing is timed."""
from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner

from lpn.compiler.bench import m3_report as bench_m3_report, measure as bench_measure, peers as bench_peers, report as bench_report, verifier as bench_verifier
from lpn.compiler.bench.frames import ROOT, read_frames
from lpn.compiler.build import compile_program
from lpn.compiler.commands import bench
from lpn.compiler.forms import SMALL
from lpn.compiler.pages import sections
from lpn.runtime.engines import EngineError
from lpn.verifier import PROFILES, analyse

FRAMES = read_frames()


@pytest.fixture(scope="module")
def comparison() -> bench_measure.Comparison:
    """Measuring checks every result: the headers, the frame, the port."""
    return bench_measure.measure(FRAMES)


def test_all_forms_of_all_programs(comparison):
    assert list(comparison.programs) == list(bench_measure.PROGRAMS)
    for name, forms in comparison.programs.items():
        assert {"fused", "chain"} <= set(forms)
        for form in forms.values():
            assert list(form.executed) == [f.name for f in FRAMES.of(name)]
            assert all(set(counts) == set(bench_measure.PAYLOADS) for counts in form.executed.values())
        assert forms["fused"].common() < forms["chain"].common()


#: Instruction slots, then executed on each frame. Counts may only fall.
BUDGET = {
    ("decompress", "fused"): (783, (80, 80, 209, 220, 77, 201)),
    ("decompress", "fused, -Os"): (500, (79, 166, 179, 199, 75, 186)),
    ("decompress", "fused, -Os, no sum"): (468, (80, 167, 180, 200, 76, 187)),
    ("decompress", "chain"): (1039, (153, 153, 278, 274, 150, 250)),
    ("udp_rx", "fused"): (835, (110, 110, 217, 236, 107, 202)),
    ("udp_rx", "fused, -Os"): (576, (132, 186, 204, 219, 130, 205)),
    ("udp_rx", "chain"): (1094, (186, 186, 307, 305, 183, 282)),
    ("udp_tx", "fused"): (998, (171, 177, 294, 395, 174, 567)),
    ("udp_tx", "fused, -Os"): (676, (198, 321, 319, 490, 202, 708)),
    ("udp_tx", "chain"): (1269, (316, 324, 443, 523, 320, 698)),
    ("forward", "fused"): (34, (21,)),
    ("forward", "fused, -Os"): (31, (22,)),
    ("forward", "chain"): (72, (56,)),
}


@pytest.mark.parametrize("name, kind", BUDGET)
def test_no_more_instructions_than_there_were(comparison, name, kind):
    form, (static, executed) = comparison.programs[name][kind], BUDGET[name, kind]
    assert form.clean32
    assert form.instructions <= static
    assert [(frame, c[10]) for (frame, c), most in zip(form.executed.items(), executed) if c[10] > most] == []


def test_less_than_the_c_on_the_common_frame(comparison):
    """Four fifths of what is published of the hand-written C."""
    for name in ("decompress", "udp_rx", "udp_tx"):
        assert comparison.programs[name]["fused"].common() * 5 <= bench_peers.PUBLISHED[name][1][0] * 4


def test_short_code_is_less_than_the_c_too(comparison):
    """One form is both: four fifths of what the C executes on the common frame, and no larger. It does the same work: of the first program's that leaves an
    elided checksum alone."""
    for name in ("decompress", "udp_rx", "udp_tx", "forward"):
        form = comparison.programs[name]["fused, -Os, no sum" if name == "decompress" else "fused, -Os"]
        assert form.common() * 5 <= bench_peers.PUBLISHED[name][1][0] * 4
        assert form.instructions <= bench_peers.PUBLISHED[name][0]


@pytest.mark.parametrize("frame", FRAMES.of("decompress", 10), ids=lambda f: f.name)
def test_an_elided_checksum_is_left_alone_as_by_the_c(frame, tmp_path):
    """LOWPAN_NHC stands in front of ports, and these in front of a checksum of two octets; its bit 2 says that there is none."""
    inline = {0xf0: 4, 0xf1: 3, 0xf2: 3, 0xf3: 1}
    at = next(i for i in range(frame.offset - 7, frame.offset) if inline.get(frame.data[i]) == frame.offset - i - 3)
    data = bytearray(frame.data)
    data[at] |= 4
    del data[frame.offset - 2:frame.offset]
    elided = replace(frame, data=bytes(data), header=frame.header[:-2] + b"\0\0", offset=frame.offset - 2)
    program = bench_measure.program_of(bench_measure.UNSUMMED)
    build = compile_program(program, fuse=True, level=SMALL)
    assert bench_measure.run("decompress", program, build, build.bundle, FRAMES, elided, "fused") > 0
    try:
        code = bench_peers.build("decompress", tmp_path)
    except bench_peers.Absent:
        return
    assert bench_peers.run("decompress", code, FRAMES, elided) > 0


def test_counts_are_exact(comparison):
    again = bench_measure.own_forms("forward", FRAMES)
    assert {k: f.executed for k, f in again.items()} == {k: comparison.programs["forward"][k].executed for k in again}


def test_less_than_p4c(comparison):
    assert comparison.programs["forward"]["fused"].common() * 4 < bench_peers.P4C_FORWARD


def test_the_c_counts_as_published(comparison):
    """Its authors' own counts validate the method."""
    if comparison.absent:
        pytest.skip(comparison.absent)
    for name, (static, executed) in bench_peers.PUBLISHED.items():
        form = comparison.programs[name]["C"]
        assert (form.instructions, tuple(c[10] for c in form.executed.values())) == (static, executed)
    assert comparison.published


def test_a_wrong_result_is_not_measured(monkeypatch):
    monkeypatch.setattr(bench_measure, "right", lambda *_: False)
    with pytest.raises(EngineError, match="forward, fused, frame ethernet: TRANSMIT"):
        bench_measure.own_forms("forward", FRAMES)


def test_without_the_c(monkeypatch, tmp_path):
    monkeypatch.setenv("LPN_PEERS", str(tmp_path))
    monkeypatch.setattr(bench_measure, "own_forms", lambda name, _: {"fused": form(100)})
    alone = bench_measure.measure(FRAMES)
    assert alone.absent and "LPN_PEERS" in alone.absent and alone.published is None
    assert all(set(forms) == {"fused"} for forms in alone.programs.values())


def form(executed: int) -> bench_measure.Form:
    return bench_measure.Form(7, 120, 8, True, {"ext-elided": {10: executed, 64: executed}})


def comparison_of(executed: int, absent: str | None = None) -> bench_report.Measured:
    programs = {name: {"fused": form(executed), "C": form(50)} for name in bench_measure.PROGRAMS}
    return bench_report.Measured(bench_measure.Comparison(programs, absent, "19", True))


def test_the_page_is_rewritten_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("".join(f"before\n<!-- {name} -->\nold\n<!-- end -->\n" for name in bench_measure.PROGRAMS) + "after\n")
    bench_report.update(page, comparison_of(100))
    first = page.read_text()
    assert first.count("| fused | 7 | 120 | 8 | 100 | 2.00 |") == 4 and "old" not in first and first.endswith("after\n")
    bench_report.update(page, comparison_of(75))
    assert page.read_text() == first.replace("| 100 | 2.00 |", "| 75 | 1.50 |")


def test_the_page_keeps_what_cannot_be_measured(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- decompress -->\nold\n<!-- end -->\n")
    for measured, why in ((comparison_of(1, "no clang"), "no clang"), (comparison_of(1), "no place for forward")):
        with pytest.raises(bench_report.Failure, match=why):
            bench_report.update(page, measured)
    assert "old" in page.read_text()


def test_the_page_has_a_place_for_everything():
    assert sections(ROOT / "docs" / "benchmarks.md") == {*bench_measure.PROGRAMS, "times", "corpus", "verifier", *bench_m3_report.TABLES}


def test_an_analysis_is_measured():
    """Seconds and memory of one that is accepted, a line of the page; one that is refused is no measurement."""
    found = bench_verifier.timed(partial(analyse, bench_verifier.loops(1, bench_verifier.counted, 3), PROFILES["lpn"]))
    assert found.loops == 1 and found.slots > 20 and 0 < found.seconds < 5 and found.megabytes > 5
    assert f"| one | {found.slots} | 1 | {found.seconds:.2f} | {found.megabytes:,} |" in bench_report.analysed_section({"one": found})
    with pytest.raises(bench_report.Failure, match="not accepted: rule 1 "):
        bench_verifier.timed(partial(analyse, b"", PROFILES["lpn"]))


def test_many_branches_in_loops_take_few_steps():
    """A few turns of the search for each loop: it took 45,000 steps, and 200 constants that are compared were each a bound to try."""
    for piece in (bench_verifier.along, bench_verifier.counted):
        report, _ = analyse(bench_verifier.loops(7, piece), PROFILES["lpn"], max_insns=bench_verifier.UNBOUNDED, max_steps=20_000)
        assert report.accepted and len(report.loops) == 7, report.message


def test_the_command(tmp_path, monkeypatch):
    """Quick, its measurement replaced; the captures are the project's own."""
    monkeypatch.setattr(bench_measure, "measure", lambda _: comparison_of(100).code)
    out = tmp_path / "new" / "bench.json"
    result = CliRunner().invoke(bench.command, ["--quick", "--json", str(out)], standalone_mode=False)
    assert result.return_value == 0, result.output
    content = json.loads(out.read_text())
    assert content["times_ms"] is None
    assert content["code"]["programs"]["forward"]["fused"]["executed"]["ext-elided"]["10"] == 100
    for form_ in ("fused", "chain"):
        assert content["corpus"][form_]["compared"] == content["corpus"][form_]["equal"]
        assert content["corpus"][form_]["captures"] == 2


def test_the_plot(tmp_path):
    pytest.importorskip("matplotlib")
    bench_report.plot(tmp_path / "plot.png", comparison_of(100))
    assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"


def test_a_plot_without_matplotlib_is_refused_before_anything_is_measured(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = CliRunner().invoke(bench.command, ["--plot", str(tmp_path / "plot.png"), "--json", str(tmp_path / "bench.json")])
    assert told.exit_code == 2 and told.stderr == "Error: a plot needs matplotlib: pip install 'lpn[bench]'\n"
    assert not list(tmp_path.iterdir())
