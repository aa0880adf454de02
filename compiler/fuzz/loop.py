"""The endless fuzzer: program after program, each in all engines; what fails is made small and kept, what is new is kept too.

A corpus is a folder. In `failures/` are the first cases of each kind of failure, in `kept/` the cases that showed something new
(an operator on a type in a kind of module, a reason, an opcode), in `state.json` the next program's number, the totals
so far and what was seen. A run with a corpus first tries its failures and kept cases again, then goes on where the
last one stopped.
"""
from __future__ import annotations

import gc
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.runtime.engines import EngineUnavailable
from lpn.runtime.kernel import KernelRejected

from ..forms import MOST, SMALL
from ..generate.base import Choose, Program, RandomChoose
from ..output import write_files
from .became import Became
from .differential import STOCK, VARIANTS, Case, Failure, Refused, Variant, add_packets, checked, load_case, new_case, reduce_case, run_case, run_kernel

DEFAULT_ENGINES = ("engine", "rbpf", "kernel")
OF_A_KIND = 4                                   # failures that are kept: they may have different causes
COLLECT_EVERY = 4                               # programs: an emulated core takes 10 MB until then; collecting takes a fifth of the time if Python decides
PROGRESS_EVERY, SAVE_EVERY = 2.0, 60.0          # seconds


@dataclass
class Found:
    """A failure: the seed of its program, the small case, where it was saved."""

    seed: int
    failure: Failure
    case: Case
    path: Path | None = None

    def as_json(self) -> dict:
        return {"seed": self.seed, "kind": self.failure.kind, "message": str(self.failure), "path": str(self.path) if self.path else None}


@dataclass
class Totals:
    """What has been tried, over all runs of a corpus."""

    programs: int = 0
    packets: int = 0                            # runs of a packet in an engine that were compared with the reference
    seconds: float = 0.0
    tally: Counter = field(default_factory=Counter)


@dataclass
class Corpus:
    """`folder` None: nothing is kept."""

    folder: Path | None
    next_seed: int | None = None
    totals: Totals = field(default_factory=Totals)
    seen: set[str] = field(default_factory=set)

    @classmethod
    def open(cls, folder: Path | None) -> Corpus:
        """Raises ValueError for a state file that is none."""
        corpus = cls(folder)
        path = folder / "state.json" if folder is not None else None
        if path is not None and path.is_file():
            try:
                state = json.loads(path.read_text(encoding="utf-8"))
                corpus.next_seed, corpus.seen = int(state["next_seed"]), set(state["seen"])
                corpus.totals = Totals(state["programs"], state["packets"], state["seconds"], Counter(state["tally"]))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: not a fuzzer's state: {error}") from error
        return corpus

    def save(self) -> None:
        if self.folder is None:
            return
        state = {"next_seed": self.next_seed, "programs": self.totals.programs, "packets": self.totals.packets,
                 "seconds": round(self.totals.seconds, 1), "tally": dict(sorted(self.totals.tally.items())), "seen": sorted(self.seen)}
        write_files({self.folder / "state.json": (json.dumps(state, indent=1) + "\n").encode()})

    def cases(self) -> Iterator[Path]:
        for name in ("failures", "kept"):
            if self.folder is not None:
                yield from sorted((self.folder / name).glob("*.lpn"))

    def keep_new(self, seed: int, case: Case, features: set[str]) -> None:
        new = features - self.seen
        self.seen |= new
        if new and self.folder is not None:
            case.save(self.folder / "kept", f"program-{seed}", f"new: {', '.join(sorted(new)[:6])}")


def features(program: ast.Program) -> set[str]:
    """The constructs of a program: each with the kind of module it stands in, operators with their operands' kind."""
    out = set()
    for decl in program.decls:
        place = type(decl).__name__
        for node in walk(decl):
            name = type(node).__name__
            if isinstance(node, ast.Call):
                name += f" {node.target if isinstance(node.target, str) else type(node.target).__name__}"
            elif isinstance(node, (ast.Binary, ast.Unary)):
                operand = getattr(node, "left", getattr(node, "operand", None))
                width = getattr(operand.type, "width", 0)
                limbs = "" if not width else "128" if width > 64 else "64" if width > 32 else "32"
                name += f" {node.op} {type(operand.type).__name__}{' signed' if getattr(operand.type, 'signed', False) else ''}{limbs}"
            elif isinstance(node, ast.Member) and isinstance(node.decl, str):
                name += f" {node.decl}"
            out.add(f"{place}: {name}")
    return out


def variants_of(seed: int, engines: Sequence[str]) -> list[Variant]:
    """Each program runs optimised, as a chain and fused; not optimised at all every other, short the others, at O1 every fourth."""
    def taken(v: Variant) -> bool:
        return v.level == MOST or v.level == 1 and seed % 4 == 1 or v.level == (SMALL if seed % 2 else 0) and v.fuse == bool(seed & 2)
    return [v for v in VARIANTS + STOCK if v.engine in engines and taken(v)]


class Loop:
    """One run of the fuzzer. `progress` gets a line now and then, `told` one for each failure that is kept. `new`: the case of a number;
    `called`: what its program is called; `file`: where people wrote it. Packets are aimed at such a program, and `became` is what became of them."""

    def __init__(self, corpus: Corpus, engines: Sequence[str] = DEFAULT_ENGINES, packets: int = 20, reduce: bool = True,
                 progress: Callable[[str], None] = lambda line: None, told: Callable[[str], None] = lambda line: None,
                 new: Callable[[int, Choose], Case] = new_case, called: Callable[[int], str] = "program {}".format,
                 file: Callable[[int], str] | None = None):
        self.corpus, self.engines, self.packets, self.reduce = corpus, list(engines), packets, reduce
        self.new, self.called, self.file = new, called, file
        self.progress, self.told = progress, told
        self.found: list[Found] = []
        self.tally: Counter = Counter()
        self.became: dict[str, Became] = {}
        self.programs = 0
        self.began = self.shown = self.saved = time.monotonic()
        self.seconds: float | None = None
        self.before = replace(corpus.totals, tally=Counter(corpus.totals.tally))

    # ------------------------------------------------------------ one program

    def again(self) -> None:
        """The corpus's own cases, before new ones."""
        for path in self.corpus.cases():
            self.attempt(0, load_case(path), None)

    def program(self, seed: int) -> None:
        choose = RandomChoose(seed)
        if self.file is not None:                           # one may take long
            self.show(seed)
        try:
            case = self.new(seed, choose)
        except Exception as problem:
            self.failed(seed, Failure(f"generator stumbles {type(problem).__name__}", str(problem)), Case(Program("", {}, False)))
            return
        self.attempt(seed, case, choose)
        self.programs += 1
        if self.programs % COLLECT_EVERY == 0:
            gc.collect()
        if time.monotonic() - self.shown > PROGRESS_EVERY:
            self.show()

    def attempt(self, seed: int, case: Case, choose: RandomChoose | None) -> None:
        try:
            became = None
            if choose is not None:
                add_packets(case, choose, self.packets, self.file is not None)
                became = self.became.setdefault(self.file(seed), Became()) if self.file is not None else None
            run_case(case, variants_of(seed, self.engines), self.tally, became, lambda variant: self.goes_on(seed, variant))
            if "kernel" in self.engines and seed % 2 == 0 and not self.over:
                self.kernel(case)
            self.corpus.keep_new(seed, case, features(checked(case.program.text)))
        except Refused as error:
            self.tally[f"refused: {str(error)[:70]}"] += 1
        except Failure as failure:
            self.failed(seed, failure, case)
        except Exception as problem:
            self.failed(seed, Failure(f"fuzzer stumbles {type(problem).__name__}", str(problem)), case)

    @property
    def over(self) -> bool:
        return self.seconds is not None and time.monotonic() - self.began >= self.seconds

    def goes_on(self, seed: int, variant: Variant) -> bool:
        """A long program takes minutes in all its forms."""
        if time.monotonic() - self.shown > PROGRESS_EVERY:
            self.show(seed, variant)
        return not self.over

    def kernel(self, case: Case) -> None:
        try:
            run_kernel(case, self.tally)
        except EngineUnavailable as why:
            self.engines.remove("kernel")
            self.tally[f"skipped kernel: {str(why)[:60]}"] += 1
        except Refused as error:
            self.tally[f"refused for the kernel: {str(error).split('error: ')[-1].splitlines()[0][:60]}"] += 1
        except KernelRejected as error:
            self.tally[f"refused by the kernel: {kernel_words(str(error))}"] += 1

    def failed(self, seed: int, failure: Failure, case: Case) -> None:
        self.tally[f"failed: {failure.kind}"] += 1
        if sum(one.failure.kind == failure.kind for one in self.found) >= OF_A_KIND:
            return
        self.progress(f"{self.called(seed)}: {failure.kind}: making it small")
        in_kernel = failure.kind.endswith("the kernel")
        small = reduce_case(case, failure, kernel=in_kernel) if self.reduce else case
        path = None
        if self.corpus.folder is not None:
            name = "".join(c if c.isalnum() else "-" for c in failure.kind).strip("-")
            path = small.save(self.corpus.folder / "failures", f"{name}-{seed}", str(failure).splitlines()[0][:160])
        self.found.append(Found(seed, failure, small, path))
        self.told(f"{self.called(seed)}: {str(failure).splitlines()[0][:200]}{f', saved as {path}' if path else ''}")

    # ------------------------------------------------------------ all of them

    @property
    def compared(self) -> int:
        return sum(n for k, n in self.tally.items() if k.startswith("compared"))

    def run(self, seed: int | None = None, seconds: float | None = None, programs: int | None = None, stop_at: int | None = None) -> None:
        """Until the time, the number of programs or of failures is reached; else for ever. The last program is not run in every form where the time is over."""
        self.seconds = seconds
        at = seed if seed is not None else self.corpus.next_seed or 0
        enabled = gc.isenabled()
        gc.disable()
        try:
            self.again()
            while programs is None or self.programs < programs:
                if self.over or stop_at is not None and len(self.found) >= stop_at:
                    break
                self.program(at)
                at += 1
                self.corpus.next_seed = at
                if time.monotonic() - self.saved > SAVE_EVERY:
                    self.save()
        finally:
            if enabled:
                gc.enable()
            self.save()

    def save(self) -> None:
        self.saved = time.monotonic()
        before = self.before
        self.corpus.totals = Totals(before.programs + self.programs, before.packets + self.compared,
                                    before.seconds + self.saved - self.began, before.tally + self.tally)
        self.corpus.save()

    def show(self, seed: int | None = None, variant: Variant | None = None) -> None:
        """`seed`: of the program that comes now; `variant`: in this form."""
        self.shown = time.monotonic()
        passed = max(self.shown - self.began, 1e-3)
        now = "" if seed is None else f"; now {self.called(seed)}{f' in {variant}' if variant else ''}"
        self.progress(f"{self.programs} programs, {self.compared} packets compared, {len(self.found)} failures kept, "
                      f"{self.programs / passed:.1f} programs a second{now}")


def kernel_words(message: str) -> str:
    """What a refusal of the kernel's verifier has in common with others."""
    last = message.split("rejects the program: ")[-1]
    return "".join("N" if c.isdigit() else c for c in last)[:50]
