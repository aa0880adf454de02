"""Certificates: what the verifier accepts gets one, what is forged is refused, and each condition of the checker counts."""
from __future__ import annotations

import faulthandler
import os
import signal
import struct
import sys
from pathlib import Path

import cffi
import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.helpers import HELPERS, SIZE_BITS, Arg, number_said, size_said, which
from lpn.lang.limits import MAX_ACTION_DATA, MAX_KEY_BYTES, MAX_TABLES
from lpn.runtime.engine import build
from lpn.verifier import LPN, context_table, fixpoint
from lpn.verifier.certificate import M32, NUMBER, Certificate, Given, Label
from lpn.verifier.certify import NoCertificate, Sizes, certificate_of
from lpn.verifier.verify import analyse

sys.path.insert(0, str(Path(__file__).parent / "verifier"))

from forge import Pair, honest, pairs                                  # noqa: E402
from forge_texts import HONEST, SIZES                                  # noqa: E402
from loops import CLANG, LOOPS, RECORD, Has, committed, compiled       # noqa: E402

ENGINE = Path(build.__file__).parent


def test_the_context_table_of_the_checker_is_the_descriptor():
    assert (ENGINE / "lpn_context.h").read_text(encoding="utf-8") == context_table.render(), "run python -m lpn.verifier.context_table"


def test_no_helper_writes_a_buffer_before_it_reads_one():
    """The checker goes through a call's arguments once: what is written there counts as written for what is read behind it."""
    for helper in HELPERS:
        assert Arg.MEM_WRITE not in helper.args or Arg.MEM_READ not in helper.args[helper.args.index(Arg.MEM_WRITE):], helper.name


def test_one_argument_says_how_much_memory_the_others_point_to():
    """Every helper that takes memory begins with that constant, and all that a program may have fits into it."""
    for helper in HELPERS:
        places = [at for at, kind in enumerate(helper.args, 1) if kind in (Arg.MEM_READ, Arg.MEM_WRITE)]
        assert not places or helper.args[0] == Arg.CONST and set(places) <= SIZE_BITS.keys(), helper.name
    most = which(MAX_TABLES - 1, MAX_KEY_BYTES, MAX_ACTION_DATA)
    assert (number_said(most), size_said(most, 2), size_said(most, 3)) == (MAX_TABLES - 1, MAX_KEY_BYTES, MAX_ACTION_DATA)
    assert most < 1 << 31


@pytest.fixture(scope="module")
def checker():
    """(ffi, lib): the checker alone, with a variable that disables one of its conditions; sanitized by the compiler's own means."""
    ffi = cffi.FFI()
    ffi.cdef("extern int lpn_check_fault, lpn_check_faults;"
             "int judged(const uint8_t *, uint32_t, const uint8_t *, uint32_t, const uint32_t *, void *, uint32_t, uint32_t *);")
    try:
        cc = build.compiler()
        files = [Path(__file__).parent / "verifier" / "judged.c", *(ENGINE / name for name in ("certificate.c", "load.c"))]
        target = build.cache_dir() / f"lpn-faults-{build.digest(cc, *files, *(ENGINE / name for name in build.HEADERS))}.so"
        if not target.exists():
            build.compile_to(target, [cc, "-std=c99", "-O1", "-fPIC", "-shared", "-DLPN_CHECK_FAULTS", "-fno-strict-aliasing", f"-I{ENGINE}", *map(str, files)])
    except build.BuildError as e:
        pytest.skip(str(e))
    return ffi, ffi.dlopen(str(target))


class Checker:
    def __init__(self, opened):
        self.ffi, self.lib = opened
        self.work, self.at = self.ffi.new("uint64_t[]", 256), self.ffi.new("uint32_t *")

    def refusal(self, pair: Pair, room: int = 2048) -> int:
        """0: accepted."""
        s = pair.sizes
        sizes = self.ffi.new("uint32_t[]", [s.rodata, s.data, s.record, s.state, s.stack, s.output])
        # Each buffer on its own, so that a sanitizer or a guard sees what is read behind it.
        return self.lib.judged(self.ffi.from_buffer(pair.text), len(pair.text), self.ffi.from_buffer(pair.certificate or b"\0"),
                               len(pair.certificate), sizes, self.work, room, self.at)

    def verdicts(self, given: list[Pair]) -> list[bool]:
        return [self.refusal(pair) == 0 for pair in given]


@pytest.fixture(scope="module")
def everything() -> list[Pair]:
    return list(pairs())


def test_honest_programs_are_certified_and_accepted(checker, everything):
    one = Checker(checker)
    for pair in everything:
        if pair.honest:
            assert one.refusal(pair) == 0, pair.name


def test_forged_certificates_are_refused_or_true(checker, everything):
    """A lie is refused; some changes say less, or the same in other words, and those may pass: none of the named lies below."""
    one, refused, passed = Checker(checker), 0, []
    for pair in everything:
        if not pair.honest:
            if one.refusal(pair):
                refused += 1
            else:
                passed.append(pair.name)
    assert refused > 3500
    plain = [name for name in passed if name.startswith(("wrong", "made"))]
    assert not [name for name in plain if name.startswith("wrong")], plain
    lies = ("twice", "cut to", "another version", "cost lowered", "no cost", "no step", "beyond all", "without end", "35 bits")
    assert not [name for name in passed if any(lie in name for lie in lies)], [name for name in passed if any(lie in name for lie in lies)]


def test_work_area_too_small_is_refused(checker):
    one = Checker(checker)
    for name, (text, certificate) in honest().items():
        pair = Pair(name, text, certificate.to_bytes(), True)
        enough = next(room for room in range(0, 2048, 8) if one.refusal(pair, room) == 0)
        assert one.refusal(pair, enough - 8) != 0
        assert enough <= 256, name


def test_more_shared_symbols_than_there_are_at_most_are_refused(checker):
    """Whatever the work area: the checker has 127 symbols, of which one is left at least. Once it made new ones behind these."""
    one = Checker(checker)
    one.work = one.ffi.new("uint64_t[]", 1024)
    text = assemble("\n".join([*(f"r{r} = {r}" for r in range(10)), "goto here", "here:", "exit"]))
    for shared, accepted in ((100, True), (124, True), (125, False), (126, False), (200, False), (253, False)):
        label = Label(11, 3, shared=[Given(NUMBER, 0, 9)] * shared, regs={r: Given(NUMBER, 0, M32) for r in range(10)})
        assert (one.refusal(Pair("", text, Certificate(2 + shared, 60, [label], []).to_bytes()), 8192) == 0) == accepted, shared


def test_every_condition_of_the_checker_counts(checker, everything):
    """Each condition disabled in turn: some forgery passes that was refused, or the checker does what it must not."""
    one = Checker(checker)
    truth = one.verdicts(everything)
    total = checker[1].lpn_check_faults
    survivors = [fault for fault in range(total) if not killed(one, fault, everything, truth)]
    assert total > 60
    assert not survivors, f"{len(survivors)} of {total} faults are not noticed: {lines(survivors)}"


def killed(one: Checker, fault: int, everything: list[Pair], truth: list[bool]) -> bool:
    """In a process of its own: a checker with a fault may read or write anywhere, or never end."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        signal.alarm(5)
        one.lib.lpn_check_fault = fault
        os._exit(int(all((one.refusal(pair) == 0) == true for pair, true in zip(everything, truth))))
    return os.waitpid(child, 0)[1] >> 8 != 1


def lines(faults: list[int]) -> list[str]:
    """Where the conditions stand: they are numbered as the compiler meets them."""
    at = [f"{name}:{i}: {line.strip()}" for name in ("certificate_label.h", "certificate_step.h", "certificate.c")
          for i, line in enumerate((ENGINE / name).read_text(encoding="utf-8").splitlines(), 1)
          if "#define" not in line and "if (HOLDS(condition))" not in line
          for _ in range(sum(line.count(word) for word in ("REFUSE_IF(", "STOP_IF(", "HOLDS(")))]
    return [at[fault] for fault in faults]


def test_the_checker_stays_within_its_budget_on_the_node():
    """Bytes of Thumb-2 code and tables: 4 KB at most; what it has today."""
    import shutil

    from lpn.runtime.m3 import firmware
    if not shutil.which(firmware.COMPILER):
        pytest.skip(f"{firmware.COMPILER} is missing")
    assert firmware.text_of("certificate.c", "certificate_thumb2.S") <= 3_732
    assert firmware.text_of("certificate.c", "certificate_thumb2.S", options=("LPN_CERTIFICATE_IN_C=1",)) <= 5_744


def test_a_bundle_runs_by_its_certificates(checker, tmp_path):
    """The engine checks what an image brings; one flipped byte of a certificate refuses the image by name, or is true still."""
    from dataclasses import replace

    from lpn.compiler.image import Flag, Image, Kind
    from lpn.runtime.engine.build import library
    ffi, lib = library()
    text, certificate = honest()["spill"]
    image = Image("Spill", Kind.PROCESSOR, text, certificate=certificate.to_bytes(), flags=Flag.CERTIFIED | Flag.CLEAN32, record_size=64,
                  state_size=32, stack_used=64)
    at = ffi.new("uint32_t *")

    def added(image: Image, policy: int = 0) -> tuple[str, bool]:
        host = ffi.gc(lib.lpn_host_new(64, 32, 10_000), lib.lpn_host_free)
        lib.lpn_host_policy(host, policy)
        raw = image.to_bytes()
        return ffi.string(lib.lpn_error_name(lib.lpn_host_add(host, raw, len(raw), at))).decode(), lib.lpn_host_certified(host, 0)

    assert added(image) == ("ok", True)
    bad = replace(image, certificate=image.certificate[:-1])
    assert added(bad) == ("certificate refused", False)
    assert added(bad, 2) == ("ok", False)
    none = replace(image, certificate=b"", flags=Flag.CLEAN32)
    assert added(none) == ("ok", False)
    assert added(none, 1) == ("no certificate, and this node asks for one", False)
    changed = text[:-8] + struct.pack("<BBhi", 0x71, 0x20, 0, 0) + text[-8:]
    assert added(replace(image, text=changed))[0] == "certificate refused"


@pytest.mark.parametrize("step, end, last", [(1, "!=", 64), (4, "<", 64), (4, "!=", 64), (3, "!=", 63), (6, "!=", 60), (20, "!=", 60), (-4, "!=", 0)])
def test_a_loop_may_step_over_numbers(step, end, last):
    """However it ends: the checker knows what a counter is a multiple of, so one that is not 64 yet and less than 68 is 60 at most."""
    begin = 64 if step < 0 else 0
    text = assemble(HONEST["counted loop"].replace("w3 = 0", f"w3 = {begin}").replace("(r4 + 0x0)", f"(r4 - {begin // 64})")
                    .replace("w3 += 0x4", f"w3 += {step}").replace("w3 != 0x40", f"w3 {end} {last}"))
    report, analysis = analyse(text, LPN, rodata=SIZES.rodata, data=SIZES.data, record_size=SIZES.record, state_size=SIZES.state)
    assert report.accepted
    certificate = certificate_of(text, report, analysis, SIZES)
    turns = abs(last - begin) // abs(step)
    assert certificate.cost == 3 + 6 * turns + 1


@pytest.mark.parametrize("name", LOOPS)
def test_loops_as_a_c_compiler_makes_them(name):
    """Which have a certificate, which the verifier accepts without one."""
    text = committed()[name]
    report, analysis = analyse(text, LPN, record_size=RECORD)
    found = Has.PROOF if report.accepted else Has.NOTHING
    if report.accepted:
        try:
            certificate_of(text, report, analysis, Sizes(record=RECORD, stack=report.stack))
            found = Has.CERTIFICATE
        except NoCertificate:
            pass
    assert found == LOOPS[name][1], report.message


@pytest.mark.skipif(CLANG is None, reason="clang-19 is missing")
def test_the_texts_of_the_loops_are_the_compilers(tmp_path):
    assert {name: compiled(name, tmp_path) for name in LOOPS} == committed()


def test_one_that_would_be_too_large_is_none():
    """Labels name places in the certificate with 16 bits. What was known at each of these took more to write down at all."""
    registers = [0, 1, 2, 3, 4, 5, 6, 8, 9]
    blocks = "".join(f"*(u32 *)(r7 + 4) = w{r}\nw{r} = *(u32 *)(r7 + 0)\nw{r} &= {1 + 2 * i}\nif w{r} == 0 goto B{i}\nB{i}:\n"
                     for i in range(2500) for r in (registers[i % 9],))
    text = assemble("r7 = *(u64 *)(r1 + 16)\n" + "".join(f"w{r} = 0\n" for r in registers) + blocks + "w0 = 0\nexit")
    report, analysis = analyse(text, LPN, record_size=RECORD)
    assert report.accepted, report.message
    with pytest.raises(NoCertificate, match="65535"):
        certificate_of(text, report, analysis, Sizes(record=RECORD))


def test_what_only_the_search_knew_counts_no_loop(monkeypatch):
    """A place that differed at a loop's head during the search, and does not under the invariant: looking for the counter stumbled over it. It is one
    of the stack that nobody reads again, so all of the stack is kept here. The text was made of a deparser that copied varbits, before their turns were known."""
    from lpn.compiler.judge import Unit
    monkeypatch.setattr(fixpoint, "live_stack", lambda graph: None)
    text = bytes.fromhex((Path(__file__).parent / "verifier" / "differed.hex").read_text())
    unit = Unit("Tx", text, record_size=24, state_size=2408)
    report, analysis = unit.analyse()
    assert any(analysis.made[head].keys() - s.vars.keys() for head, s in analysis.invariants.items() if head in analysis.bounds and head in analysis.made)
    assert certificate_of(unit.text, report, analysis, unit.sizes(report.stack)).loops


@pytest.mark.parametrize("name, fuse", [("copy-that-does-not-fit", False), ("copy-that-does-not-fit", True), ("offset-with-a-sign", True),
                                        ("advance-by-what-is-left", False), ("advance-by-what-is-left", True),
                                        ("circle-entered-behind-its-head", False)])
def test_what_is_compiled_has_one(name, fuse):
    """Behind a multiple of four octets none of the last word's fit: the verifier knows, the checker sees the ways and their unknowns. An offset
    that LLVM makes of another one has no sign. What is left of a number of octets has a bound. The turns of a circle of states are visits of one."""
    from lpn.compiler.build import compile_program
    from lpn.compiler.commands.inputs import checked
    from lpn.compiler.judge import of_compiled
    program = checked(Path(__file__).parent / "regressions" / f"{name}.lpn")
    for unit in of_compiled(compile_program(program, fuse=fuse)).items:
        report, analysis = unit.analyse()
        certificate_of(unit.text, report, analysis, unit.sizes(report.stack))
