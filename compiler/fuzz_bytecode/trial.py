"""The verifier on trial: random bytecode, and whatever it accepts runs in the instrumented interpreter.

One case is a text with the profile, the sizes and the helpers it is judged under. A failure is anything an accepted program
does that the verifier claimed it cannot, or a verifier that stumbles.
"""
from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from lpn.runtime.instrumented.claims import LARGEST, Claims, Fault, Runner
from lpn.verifier import PROFILES, Report, analyse
from lpn.verifier.descriptors import ContextDescriptor, HelperSpec, Region, helper_specs
from lpn.verifier.verify import Analysis

from ..asm import assemble
from ..disasm import disassemble
from ..helpers import HELPERS
from .counted import Counting
from .filled import Filling
from .mutate import mutate, shrink
from .numbers import Numbers
from .programs import CHANGE, FIND, Writer
from .searches import Searching, table
from .words import SIZES
from .writers import COMPILED_EVERY, IN_TURN

MAX_INSNS = 60_000                              #: rule 34's limit here: a run is short, so that there are many
MAX_WORK = 4_000_000                            #: instructions executed for one program
WORK = 5_000                                    #: or so many for each run that is asked for, if that is more
MAX_COMPILED = 400                              #: slots of compiled containers that are changed
WRITERS = {"pieces": Writer, "lists": Counting, "buffers": Filling, "numbers": Numbers, "searches": Searching}
EXTRA = (HelperSpec(FIND, "find", (), ("nullable", "entry", 8)), HelperSpec(CHANGE, "change", ("scalar",), changes_packet=True))


@lru_cache
def helpers() -> tuple[HelperSpec, ...]:
    """The project's, one that finds a pointer or null, one that changes the packet."""
    return *helper_specs(HELPERS).values(), *EXTRA


@dataclass(frozen=True)
class Case:
    """`sizes`: of the regions, by name. `origin`: how it came about. `apart`: ways that meet may be told apart (verifier/apart.py). `constants`: what the
    read-only data hold, if that is known."""

    text: bytes
    profile: str
    sizes: tuple[tuple[str, int], ...]
    origin: str = ""
    apart: bool = False
    constants: bytes | None = None

    @cached_property
    def descriptor(self) -> ContextDescriptor:
        profile = PROFILES[self.profile]
        found = replace(profile, contexts=(), max_packet=2048, regions={**profile.regions, "entry": Region(8)}).with_sizes(**dict(self.sizes))
        return found if self.constants is None else found.holding("rodata", self.constants)

    def judge(self) -> tuple[Report, Analysis | None]:
        sizes = dict(self.sizes)
        return analyse(self.text, self.descriptor, rodata=sizes.get("rodata", 0), data=sizes.get("data", 0), record_size=sizes.get("rec", 0),
                       state_size=sizes.get("state", 0), helpers=helpers(), max_insns=MAX_INSNS, apart=self.apart, constants=self.constants)

    def source(self, why: str = "") -> str:
        """As assembly, with what is needed to judge it again."""
        head = [f"; {why}"] if why else []
        head += [f"; profile: {self.profile}", f"; sizes: {' '.join(f'{k}={v}' for k, v in self.sizes)}"]
        head += ["; ways: told apart"] if self.apart else []
        head += [f"; constants: {self.constants.hex()}"] if self.constants is not None else []
        return "\n".join([*head, *disassemble(self.text)]) + "\n"


def load_case(path: Path) -> Case:
    """Raises ValueError for a file that is none."""
    text = path.read_text(encoding="utf-8")
    given = dict(line[2:].split(": ", 1) for line in text.splitlines() if line.startswith("; ") and ": " in line)
    try:
        sizes = tuple((k, int(v)) for k, v in (word.split("=") for word in given["sizes"].split()))
        if too_large := [f"{k}={v}" for k, v in sizes if v > LARGEST]:
            raise ValueError(f"{', '.join(too_large)}, the interpreter has {LARGEST} bytes for a region")
        constants = bytes.fromhex(given["constants"]) if "constants" in given else None
        if constants is not None and len(constants) != dict(sizes).get("rodata"):
            raise ValueError(f"constants of {len(constants)} bytes, rodata has {dict(sizes).get('rodata', 0)}")
        return Case(assemble(text), given["profile"], sizes, str(path), given.get("ways") == "told apart", constants)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: not a saved program: {error}") from error


# ---------------------------------------------------------------- making programs

class Stumbled(Exception):
    """The compiler broke over a generated program. `text`: the program; `fuse`, `level`: how it was to be compiled."""

    def __init__(self, text: str, fuse: bool, level: int, error: Exception) -> None:
        super().__init__(f"the compiler stumbles: {type(error).__name__}: {error}")
        self.text, self.fuse, self.level = text, fuse, level


def generated(seed: int, size: int | None = None, writer: str | None = None) -> Case:
    """Programs of even numbers are for profile lpn, of odd ones for xdp, and ways are told apart in each third. `size`: pieces, any number if it is not given.
    `writer`: whose turn it is, if it is not given."""
    profile = ("lpn", "xdp")[seed & 1]
    made, choose = WRITERS[writer or IN_TURN[seed % len(IN_TURN)]], random.Random(seed).choice
    text = assemble(made(choose, profile).program(size))
    constants = table(choose, SIZES[profile]["rodata"]) if made is Searching else None
    return Case(text, profile, tuple(SIZES[profile].items()), "generated", seed % 3 == 0, constants)


@lru_cache(maxsize=8)
def compiled(number: int) -> tuple[Case, ...]:
    """The short containers of a generated program that the compiler made, perhaps none. Raises Stumbled."""
    from lpn.lang.diagnostics import DiagnosticError

    from ..build import BuildError, compile_program
    from ..fuzz.differential import Failure, checked
    from ..generate.base import RandomChoose
    from ..generate.modules import Generator
    program, fuse, level = Generator(RandomChoose(number), False).program(), number % 3 == 0, 1 + number % 2
    try:
        made = compile_program(checked(program.text), "lpn", fuse, level, listings=False)
    except (DiagnosticError, BuildError, Failure):
        return ()
    except Exception as error:
        raise Stumbled(program.text, fuse, level, error) from error
    return tuple(Case(c.image.text, "lpn", (("rec", c.image.record_size), ("state", c.image.state_size), ("out", 256), ("rodata", len(c.image.rodata)),
                                            ("data", len(c.image.data))), "compiled")
                 for c in made.containers if len(c.image.text) // 8 <= MAX_COMPILED and max(c.image.record_size, c.image.state_size, len(c.image.rodata), len(c.image.data)) <= LARGEST)


def containers(seed: int, writer: str | None) -> tuple[Case, ...]:
    """Those that the compiler made of which a program may be one: as many programs have the same ones. Raises Stumbled."""
    if writer == "compiled":
        return compiled(seed // COMPILED_EVERY)
    return compiled(seed // COMPILED_EVERY ** 2) if writer is None and seed % COMPILED_EVERY == COMPILED_EVERY - 1 else ()


def family(seed: int, mutants: int, writer: str | None = None) -> Iterator[Case]:
    """The program of a number and what became of it by small changes; nothing, if the compiler made none. `writer`: one of writers.py's; None: in turn.
    Raises Stumbled."""
    rng = random.Random(seed ^ 0x5EED << 32)
    found = containers(seed, writer)
    if not found and writer == "compiled":
        return
    first = rng.choice(found) if found else generated(seed, writer=writer)
    yield first
    latest = first.text
    for _ in range(mutants):
        text = mutate(rng.choice((first.text, latest)), rng)
        if text is not None:
            latest = text
            yield replace(first, text=text, origin=f"{first.origin}, changed")


# ---------------------------------------------------------------- trying them

@dataclass
class Tally:
    """What was tried. `refused`: by rule; `lengths`, `covered`: instructions of the accepted, and of these the executed ones; `cut`: accepted
    programs that ran less often than was asked for, as their runs are long."""

    accepted: Counter = field(default_factory=Counter)            # by origin
    refused: Counter = field(default_factory=Counter)
    tried: Counter = field(default_factory=Counter)
    runs: int = 0
    insns: int = 0
    lengths: int = 0
    covered: int = 0
    with_loops: int = 0
    with_spills: int = 0
    cut: int = 0
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        for name in ("accepted", "refused", "tried"):
            getattr(self, name).update(getattr(other, name))
        for name in ("runs", "insns", "lengths", "covered", "with_loops", "with_spills", "cut", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def programs(self) -> int:
        return self.tried.total()

    def lines(self) -> list[str]:
        """For people."""
        n = max(self.accepted.total(), 1)
        out = [f"{self.accepted[name]:10,}  of {self.tried[name]:,} accepted: {name}" for name in sorted(self.tried)]
        out += [f"{count:10,}  refused by rule {rule}" for rule, count in sorted(self.refused.items())]
        out += [f"{self.cut:10,}  of the accepted ran less often than was asked for: their runs are long"] if self.cut else []
        return [*out, f"{self.with_loops:10,}  of the accepted with loops, {self.with_spills:,} with the stack",
                f"{self.lengths / n:10.1f}  instructions an accepted program, {100 * self.covered / max(self.lengths, 1):.0f} % of them executed"]

    def as_json(self) -> dict:
        return {"tried": dict(sorted(self.tried.items())), "accepted": dict(sorted(self.accepted.items())),
                "refused": {str(k): v for k, v in sorted(self.refused.items())}, "runs": self.runs, "insns": self.insns, "lengths": self.lengths,
                "covered": self.covered, "with_loops": self.with_loops, "with_spills": self.with_spills, "cut": self.cut, "seconds": round(self.seconds, 1)}

    @classmethod
    def from_json(cls, given: dict) -> Tally:
        """Raises KeyError, TypeError, ValueError."""
        return cls(Counter(given["accepted"]), Counter({int(k): v for k, v in given["refused"].items()}), Counter(given["tried"]),
                   *(given[name] for name in ("runs", "insns", "lengths", "covered", "with_loops", "with_spills")), given.get("cut", 0), given["seconds"])


def attempt(case: Case, runner: Runner, seed: int, runs: int, tally: Tally | None = None) -> tuple[Report, Fault | None]:
    """Judge a program, run it if it is accepted. Raises whatever the verifier stumbles over."""
    tally = tally if tally is not None else Tally()
    report, analysis = case.judge()
    tally.tried[case.origin] += 1
    if analysis is None:
        tally.refused[report.rule or 0] += 1
        return report, None
    claims = Claims(case.text, case.descriptor, helpers(), (report, analysis), seed)
    tally.accepted[case.origin] += 1
    done = work = 0
    fault, most = None, max(MAX_WORK, WORK * runs)
    while fault is None and done < runs and work < most:
        some = min(runs - done, 50)
        fault = runner.batch(claims, seed + done, some)
        work += runner.result.insns
        done += some
    tally.runs += done
    tally.cut += fault is None and done < runs
    tally.insns += work
    tally.lengths += report.insns
    tally.covered += sum(claims.covered)
    tally.with_loops += bool(report.loops)
    tally.with_spills += bool(report.stack)
    return report, fault


def smaller(case: Case, runner: Runner, fault: Fault | None, seed: int, runs: int, seconds: float = 30.0) -> Case:
    """A short program that fails in the same way; `fault` None: the verifier stumbles over it."""
    end = time.monotonic() + seconds

    def fails(text: bytes) -> bool:
        if time.monotonic() > end:
            return False
        try:
            found = attempt(replace(case, text=text), runner, seed, runs)[1]
        except Exception:
            return fault is None
        return fault is not None and found is not None and found.what == fault.what
    return replace(case, text=shrink(case.text, fails))
