"""The soundness run: one random program after the other, for as long as it may; goes on where it stopped."""
from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lpn.runtime.instrumented.claims import Fault, Runner

from ..fuzz import differential
from ..generate.base import Program
from ..output import write_files
from .trial import Case, Stumbled, Tally, attempt, family, load_case, smaller

PROGRESS_EVERY, SAVE_EVERY, OF_A_KIND = 2.0, 60.0, 3


@dataclass
class Found:
    """A failure: the number of its program, what happened, the program made small (of the compiler's the source), where it was saved."""

    seed: int
    what: str
    program: str
    path: Path | None = None

    def as_json(self) -> dict:
        return {"seed": self.seed, "what": self.what, "path": str(self.path) if self.path else None, "program": self.program}


@dataclass
class Corpus:
    """`folder` None: nothing is kept."""

    folder: Path | None
    next_seed: int | None = None
    before: Tally = field(default_factory=Tally)    # of earlier runs

    @classmethod
    def open(cls, folder: Path | None) -> Corpus:
        """Raises ValueError for a state file that is none."""
        corpus = cls(folder)
        path = folder / "bytecode.json" if folder is not None else None
        if path is not None and path.is_file():
            try:
                state = json.loads(path.read_text(encoding="utf-8"))
                corpus.next_seed, corpus.before = int(state["next_seed"]), Tally.from_json(state["tally"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{path}: not a state of lpnc fuzz --bytecode: {error}") from error
        return corpus

    def save(self, now: Tally) -> None:
        if self.folder is None:
            return
        state = {"next_seed": self.next_seed, "tally": self.total(now).as_json()}
        write_files({self.folder / "bytecode.json": (json.dumps(state, indent=1) + "\n").encode()})

    def total(self, now: Tally) -> Tally:
        """Of this run and the ones before."""
        out = Tally()
        out.add(self.before)
        out.add(now)
        return out

    def cases(self) -> list[Case]:
        """Raises ValueError."""
        return [] if self.folder is None else [load_case(path) for path in sorted((self.folder / "failures").glob("*.s"))]


class Loop:
    """`progress` gets a line now and then, `told` one for each failure. `writer`: all programs are its; None: all have their turns."""

    def __init__(self, corpus: Corpus, runs: int, mutants: int, reduce: bool = True, progress: Callable[[str], None] = lambda line: None,
                 told: Callable[[str], None] = lambda line: None, writer: str | None = None) -> None:
        self.corpus, self.runs, self.mutants, self.reduce, self.progress, self.told, self.writer = corpus, runs, mutants, reduce, progress, told, writer
        self.runner, self.tally, self.found = Runner(), Tally(), []
        self.families = 0
        self.broken: set[str] = set()           # programs that the compiler stumbled over: eight numbers have the same one
        self.began = self.shown = self.saved = time.monotonic()

    def attempt(self, seed: int, case: Case) -> None:
        try:
            fault = attempt(case, self.runner, seed, self.runs, self.tally)[1]
        except Exception as problem:
            self.failed(seed, case, f"the verifier stumbles: {type(problem).__name__}: {problem}", None)
            return
        if fault is not None:
            self.failed(seed, case, str(fault), fault)
        if time.monotonic() - self.shown > PROGRESS_EVERY:
            self.shown = time.monotonic()
            self.progress(self.line())

    def stumbled(self, seed: int, problem: Stumbled) -> None:
        """The compiler made no containers of a program: that is what was found."""
        what = str(problem)
        if problem.text in self.broken or not self.is_new(what[:60]):
            return
        self.broken.add(problem.text)
        case, variant = differential.Case(Program(problem.text, {}, False)), differential.Variant("engine", problem.fuse, problem.level)
        if self.reduce:
            self.progress(f"program {seed}: {what[:60]}: making it small")
            try:
                differential.run_case(case, [variant])
            except differential.Failure as failure:
                case = differential.reduce_case(case, failure, [variant])
        one = Found(seed, what, case.program.text)
        if self.corpus.folder is not None:
            one.path = case.save(self.corpus.folder / "failures", name_of(what[:60], seed), f"program {seed}: {what}".replace("\n", " "))
        self.keep(one)

    def is_new(self, kind: str) -> bool:
        return sum(kind in one.what for one in self.found) < OF_A_KIND

    def keep(self, one: Found) -> None:
        self.found.append(one)
        self.told(f"program {one.seed}: {one.what[:200]}{f', saved as {one.path}' if one.path else ''}")

    def failed(self, seed: int, case: Case, what: str, fault: Fault | None) -> None:
        kind = fault.what if fault else what[:60]
        if not self.is_new(kind):
            return
        self.progress(f"program {seed}: {kind}: making it small")
        if self.reduce:
            case = smaller(case, self.runner, fault, seed, 4 * self.runs)
            again = attempt(case, self.runner, seed, 4 * self.runs)[1] if fault else None
            what = str(again or what)
        one = Found(seed, what, case.source())
        if self.corpus.folder is not None:
            one.path = self.corpus.folder / "failures" / f"{name_of(kind, seed)}.s"
            write_files({one.path: case.source(f"program {seed}, {case.origin}: {what}".replace("\n", " ")).encode()})
        self.keep(one)

    def run(self, seed: int | None = None, seconds: float | None = None, programs: int | None = None, again: Sequence[Case] = ()) -> None:
        """Until the time or the number of programs is reached; else for ever. `again`: to be tried first. Each program counts as one,
        with its mutants."""
        at = seed if seed is not None else self.corpus.next_seed or 0
        try:
            for case in again:
                self.attempt(0, replace(case, origin="saved"))
            while (programs is None or self.families < programs) and (seconds is None or time.monotonic() - self.began < seconds):
                try:
                    for case in family(at, self.mutants, self.writer):
                        self.attempt(at, case)
                except Stumbled as problem:
                    self.stumbled(at, problem)
                at += 1
                self.families += 1
                self.corpus.next_seed = at
                if time.monotonic() - self.saved > SAVE_EVERY:
                    self.save()
        finally:
            self.save()

    def save(self) -> None:
        self.saved = time.monotonic()
        self.tally.seconds = self.saved - self.began
        self.corpus.save(self.tally)

    def line(self) -> str:
        t = self.tally
        return (f"{t.programs:,} programs, {t.accepted.total():,} accepted, {t.runs:,} runs of {t.insns:,} instructions, "
                f"{len(self.found)} failures")


def name_of(kind: str, seed: int) -> str:
    """A failure's file, without its suffix."""
    return f"{''.join(c if c.isalnum() else '-' for c in kind).strip('-')}-{seed}"
