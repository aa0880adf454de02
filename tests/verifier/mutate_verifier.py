"""Mistakes put into the verifier, one at a time: does a test notice? python tests/verifier/mutate_verifier.py [MODULE...] [--part K/N] [--seeds N] [--out FILE]

Each mutant (mutations.py) lives in a process of its own. There the programs of the rules, the traps and the loops are judged, the laws of numbers tried, and
random bytecode is judged and, where it is accepted with other claims than before, run in the instrumented interpreter. A mutant that nothing tells from
the verifier survives. It is said of it how it judged the random programs: whether it accepts more than before, refuses more, or claims something else.
"""
from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import cases                                                           # noqa: E402
import filled_laws                                                     # noqa: E402
import laws                                                            # noqa: E402
import mutations                                                       # noqa: E402
import operations                                                      # noqa: E402
import state_laws                                                      # noqa: E402
from faults import forget                                                  # noqa: E402
from mutations import Mutant                                           # noqa: E402

from lpn import verifier                                               # noqa: E402
from lpn.compiler.asm import assemble                                  # noqa: E402
from lpn.compiler.fuzz_bytecode import trial                                 # noqa: E402
from lpn.compiler.fuzz_bytecode.trial import family                          # noqa: E402
from lpn.runtime.instrumented.claims import Claims, Runner             # noqa: E402
from lpn.verifier import LPN, analyse                                  # noqa: E402

FOLDER = Path(verifier.__file__).parent
PROOF = ("cfg", "sections", "transfer", "memory", "arithmetic", "calls", "branches", "state", "affine", "summands", "chains", "derived", "domain", "order", "fixpoint", "loops",
         "shrinking", "together", "verify", "filled")
SEARCH = ("join", "fixpoint")                         # a mistake there must not make anything pass
#: Of these modules what the proof rests on.
PROVED = {"fixpoint": {"Fixpoint.__init__", "Fixpoint.transfer", "Fixpoint._executed", "Fixpoint.check"}}
#: Of the others what only the search for an invariant does: what it forgets or finds is looked at again by the proof.
SEARCHED = {"state": {"State.collect", "State.facts", "State.copy", "State.__eq__", "Frame.copy", "Frame.__eq__"}, "domain": {"widen"},
            "filled": {"collect", "joined", "wanted", "lasting", "once_more", "_needed", "_within", "_holds", "_plain", "_guesses", "_translated", "_pieces", "_moving"}}
#: What makes the text of messages, or looks for an example.
TEXTS = {"_instead", "spread", "count", "extent", "below", "sample", "_outside", "_beyond", "_moves", "place_name", "_product", "render", "path_text", "line_of",
         "lines_of", "__str__", "__repr__", "_short", "as_dict", "broken", "available", "steps_of"}
SECONDS = 5                                           # of the processor, for one mutant and one program
RUNS, WORK = 100, 300_000                             # of a program; instructions of them all


# Judgments -----------------------------------------------------------------------------------------
class Noticed(Exception):
    """A test fails. `how`: accepts, refuses, message, violation, law."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


@dataclass
class Judgment:
    """A program and what must be said of it. `judge` gives report, analysis, profile and helpers; `said`, what a test compares of a report (None: nothing)."""

    name: str
    judge: Callable[[], tuple]
    said: Callable[[Any], Any] | None
    verdict: Any = None
    accepted: bool = False
    kept: tuple = ()
    lines: frozenset[tuple[str, int]] = frozenset()

    def learn(self) -> None:
        """What is said by the verifier as it is."""
        report, analysis, profile, helpers = self.judge()
        self.accepted, self.verdict = report.accepted, self.said(report) if self.said else None
        self.kept = said_of_blocks(report, analysis)

    @property
    def text(self) -> bytes:
        return self.judge.__self__.bytecode            # type: ignore[attr-defined]

    def compare(self, seen: Counter[str]) -> None:
        """Raises Noticed."""
        report, analysis, profile, helpers = self.judge()
        if self.said and self.said(report) != self.verdict:
            raise Noticed("accepts" if report.accepted and not self.accepted else "refuses" if self.accepted and not report.accepted else "message")
        if report.accepted != self.accepted:
            seen["accepts more" if report.accepted else "refuses more"] += 1
            if report.accepted:
                EXAMPLES.append(self.name)
        if analysis is None:
            return
        if said_of_blocks(report, analysis) != self.kept:
            seen["claims differ"] += self.accepted
            claims = Claims(self.text, profile, helpers, (report, analysis), 1)
            if runner().batch(claims, 1, min(RUNS, 1 + WORK // max(report.max_insns, 1))):
                raise Noticed("violation")


EXAMPLES: list[str] = []
_RUNNER: list[Runner] = []


def runner() -> Runner:
    if not _RUNNER:
        _RUNNER.append(Runner())
    return _RUNNER[0]


def said_of_blocks(report: Any, analysis: Any) -> tuple:
    """What is claimed of an accepted program, as far as it is kept: before and behind each block, and of all of it."""
    if analysis is None:
        return ()
    nodes = analysis.graph.nodes
    return (report.max_insns, report.max_branches, report.stack, report.wide, [b.bound for b in report.loops], [analysis.invariants.get(n) for n in nodes],
            [analysis.out.get((n, i)) for n in nodes for i in range(len(n.succs))], analysis.touched)


@dataclass
class Program:
    """A text that is judged with fixed options."""

    bytecode: bytes
    profile: Any
    options: dict[str, Any]

    def judge(self) -> tuple:
        report, analysis = analyse(self.bytecode, self.profile, **self.options)
        sizes = {"rodata": "rodata", "data": "data", "record_size": "rec", "state_size": "state"}
        profile = replace(self.profile, contexts=()).with_sizes(**{sizes[k]: v for k, v in self.options.items() if k in sizes})
        return report, analysis, profile, self.options.get("helpers")


@dataclass
class Random(Program):
    case: trial.Case | None = None

    def judge(self) -> tuple:
        return *self.case.judge(), self.case.descriptor, trial.helpers()     # type: ignore[union-attr]


def of_case(report: Any) -> tuple:
    return ("accept",) if report.accepted else (report.rule, report.message, report.example, tuple(report.path), report.help)


def of_rule(case: cases.Case) -> Judgment:
    return Judgment(f"rule {case.rule}: {case.name}", Program(*case.judged()).judge, of_case)


def judgments(seeds: int, each: int) -> Iterator[Judgment]:
    import test_verifier_loops as loops
    import test_verifier_shrinking as shrinking
    import test_verifier_traps as traps
    yield from (of_rule(case) for case in cases.all_cases() if len(case.judged()[0]) < 8 * 5000)
    for name, _, code in traps.TRAPS:
        yield Judgment(f"trap: {name}", Program(assemble(traps.START + code), LPN, {"record_size": 64, "helpers": traps.HELPERS}).judge, lambda r: r.rule)
    for name, code, *_ in traps.NEAR:
        yield Judgment(f"near miss: {name}", Program(assemble(traps.START + code), LPN, {"record_size": 64, "helpers": traps.HELPERS}).judge,
                       lambda r: r.rule or [b.bound for b in r.loops])
    for name, code, _ in loops.LOOPS:
        yield Judgment(f"loop: {name}", Program(assemble(loops.PACKET + code + "\nexit"), LPN, {"state_size": 128}).judge,
                       lambda r: r.rule or [b.bound for b in r.loops])
    for name, code in [*((name, code) for name, (code, _) in shrinking.ENDING.items()), *shrinking.STANDING.items()]:
        yield Judgment(f"shrinking: {name}", Program(assemble(shrinking.START + code), LPN, {"record_size": 64}).judge, lambda r: r.rule or [b.bound for b in r.loops])
    for name, source in operations.programs(each):
        yield Judgment(name, Program(assemble(source), LPN, {"record_size": 72}).judge, lambda r: r.accepted)
    for seed in range(seeds):
        for i, one in enumerate(family(seed, 3) if seed % 8 != 7 else ()):
            yield Judgment(f"program {seed}.{i}", Random(one.text, None, {}, one).judge, None)


# Mutants -------------------------------------------------------------------------------------------
def mutants(modules: Iterable[str], wanted: Callable[[str], bool] = lambda kind: True) -> Iterator[Mutant]:
    for name in modules:
        path = FOLDER / f"{name}.py"
        module = importlib.import_module(f"lpn.verifier.{name}")
        for function, _, syntax in mutations.functions(module, ast.parse(path.read_text(encoding="utf-8"))):
            if function.rpartition(".")[2] not in TEXTS and function in PROVED.get(name, {function}) and function not in SEARCHED.get(name, ()):
                yield from mutations.of_function(name, str(path), function, syntax, wanted)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """In this process."""
    function: Any = importlib.import_module(f"lpn.verifier.{mutant.module}")
    for name in mutant.function.split("."):
        function = vars(function)[name]
    function = mutations.plain(function)
    before = function.__code__
    function.__code__ = mutant.code
    forget()
    try:
        yield
    finally:
        function.__code__ = before
        forget()


@dataclass
class Outcome:
    """`how`: what told the mutant from the verifier, empty if nothing did; `by`: which judgment."""

    how: str = ""
    by: str = ""
    seen: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    seconds: float = 0.0


def tried(mutant: Mutant, order: Iterable[Judgment | Law]) -> Outcome:
    """In this process: for mutants that do not hang."""
    seen: Counter[str] = Counter()
    name = ""
    EXAMPLES.clear()
    with applied(mutant):
        try:
            for judgment in order:
                name = judgment.name
                _limit(SECONDS)
                judgment.compare(seen)
        except Noticed as noticed:
            return Outcome(noticed.how, name, dict(seen), EXAMPLES[:5])
        except Exception as problem:
            return Outcome("stumbles", f"{name}: {type(problem).__name__}: {problem}"[:200], dict(seen))
        finally:
            _limit(0)
    return Outcome("", "", dict(seen), EXAMPLES[:5])


def _limit(seconds: float) -> None:
    """Of the processor, where somebody waits for the signal."""
    if callable(signal.getsignal(signal.SIGVTALRM)):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def tried_apart(mutant: Mutant, order: Iterable[Judgment | Law]) -> Outcome:
    """In a process of its own."""
    began = time.monotonic()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            said = pipe.read()
        os.waitpid(pid, 0)
        out = Outcome(**json.loads(said)) if said else Outcome("stumbles", "the process ended")
        return replace(out, seconds=round(time.monotonic() - began, 2))

    def hangs(*_: object) -> None:
        raise Noticed("hangs")
    try:
        os.close(reading)
        signal.signal(signal.SIGVTALRM, hangs)
        gc.disable()
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        os.write(writing, json.dumps(vars(tried(mutant, order))).encode())
    finally:
        os._exit(0)


# The run -------------------------------------------------------------------------------------------
def traced(call: Callable[[], object]) -> frozenset[tuple[str, int]]:
    """The lines of the verifier that the call executes."""
    lines: set[tuple[str, int]] = set()
    folder = str(FOLDER)

    def local(frame: Any, event: str, _: object) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def called(frame: Any, event: str, _: object) -> Any:
        return local(frame, event, _) if frame.f_code.co_filename.startswith(folder) else None
    sys.settrace(called)
    try:
        call()
    finally:
        sys.settrace(None)
    return frozenset((Path(file).stem, line) for file, line in lines)


@dataclass
class Law:
    name: str
    broken: Callable[[], Iterator[str]]

    def compare(self, seen: Counter[str]) -> None:
        """Raises Noticed."""
        if next(self.broken(), None) is not None:
            raise Noticed("law")


def forms() -> Iterator[str]:
    """tests/test_verifier_forms.py."""
    import test_verifier_forms
    for target in test_verifier_forms.PROFILES:
        try:
            test_verifier_forms.test_every_form(target)
        except AssertionError as why:
            yield str(why)


def folding() -> Iterator[str]:
    import test_verifier_shrinking
    for width in range(1, 7):
        try:
            test_verifier_shrinking.test_the_largest_that_folding_gives(width)
        except AssertionError:
            yield f"folding to {width} bits"


#: Which laws speak of a module.
NUMBERS, STATES = [Law(f"numbers, {seed}", partial(laws.broken, seed)) for seed in (1, 2)], Law("states", state_laws.broken)
LAWS = {**{module: [STATES] for module in ("state", "affine", "summands", "chains", "derived", "order", "join", "places")}, "domain": [*NUMBERS, STATES],
        "filled": [Law("what loops fill", filled_laws.broken)], "cfg": [Law("forms", forms)], "shrinking": [Law("folding", folding)]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=PROOF, metavar="MODULE")
    parser.add_argument("--part", default="0/1", help="every N-th mutant from K on")
    parser.add_argument("--seeds", type=int, default=40, help="families of random programs")
    parser.add_argument("--each", type=int, default=4, help="programs of each operation")
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--again", type=Path, help="only those that survived, as this file of --out says")
    parser.add_argument("--out", type=Path, help="a line of JSON for each mutant; those that have one are not tried again")
    options = parser.parse_args()
    k, n = map(int, options.part.split("/"))
    every = list(judgments(options.seeds, options.each))
    for judgment in every:
        judgment.lines = traced(judgment.learn)
    print(f"{len(every)} judgments", file=sys.stderr)
    gc.freeze()
    again = None
    if options.again:
        again = {row["key"] for row in map(json.loads, options.again.read_text(encoding="utf-8").splitlines()) if not row["how"]}
    done = {json.loads(line)["key"] for line in options.out.read_text(encoding="utf-8").splitlines()} if options.out and options.out.exists() else set()
    out = options.out.open("a", encoding="utf-8") if options.out else None
    totals: dict[str, Counter[str]] = {}
    for at, mutant in enumerate(mutants(options.modules)):
        if at % n != k or options.only not in mutant.key or mutant.key in done or again is not None and mutant.key not in again:
            continue
        order = [j for j in every if mutant.module == "domain" or any((mutant.module, line) in j.lines for line in mutant.lines)]
        known, random = [j for j in order if j.said is not None], [j for j in order if j.said is None]
        outcome = tried_apart(mutant, [*LAWS["domain"], *known] if mutant.module == "domain" else [*known, *LAWS.get(mutant.module, ()), *random])
        totals.setdefault(mutant.module, Counter())[outcome.how or "survived"] += 1
        if out:
            out.write(json.dumps({"key": mutant.key, "line": mutant.lines[0], "kind": mutant.kind, "judged": len(order), **vars(outcome)}) + "\n")
            out.flush()
        if not outcome.how:
            print(f"{mutant.module}.py:{mutant.lines[0]}: survived: {mutant.key}; {outcome.seen or 'no difference'}; {' '.join(outcome.examples)}", flush=True)
    for module, counts in totals.items():
        print(f"{module}: {counts.total()} mutants: " + ", ".join(f"{counts[how]} {how}" for how in sorted(counts)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        traceback.print_exc(limit=0)
        sys.exit(130)
