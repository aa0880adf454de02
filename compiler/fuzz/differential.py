"""Differential fuzzing: random programs and packets, every engine against the reference interpreter.

What is compared is the verdict, its reason or port, the packet as rebuilt and the state afterwards; every container has
to be accepted by the verifier; a lossless program puts back what it took. On the emulated Cortex-M3 no run takes longer or less than is proved.
"""
from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from pathlib import Path

from lpn.lang import ast, tables as control
from lpn.lang.check import check
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.hooks import BUFFER_COMPLETE, EVENTS
from lpn.lang.loader import load
from lpn.lang.reference import Reference
from lpn.lang.reference.values import unsigned
from lpn.lang.source import Source
from lpn.lang.types import Array, StructType
from lpn.runtime.engines import Engine, EngineError, EngineFull, EngineUnavailable, get_engine
from lpn.runtime.kernel import KernelRejected

from .. import externs
from ..build import Compiled, compile_program
from ..chains import Chains
from ..forms import MOST, SMALL, TOO_LONG, TOO_MANY_JUMPS, BuildError, Forms, Level, RefusedError, SizeError, accepted
from ..generate.base import Choose, Program, RandomChoose
from ..generate.followed import FollowedRun
from ..generate.modules import Generator
from ..generate.packets import Packets
from ..generate.refused import most_of, refusal
from ..image import Flag
from ..judge import PROVED, unit_of
from ..lower.modules import Lowerings
from ..state import scalar_width
from . import timed
from .analysed import once
from .became import Became
from .bounds import Bounds, Proofs, Way, drawn, proofs_of
from .packet import Places, Watched, differs
from .reduce import reduce_text

META = ("iface", "rssi", "lqi", "time", "node_short", "node_ext", "node_pan", "clock")
WIDTHS = (8, 8, 8, 32, 16, 64, 16, 32)

@dataclass(frozen=True)
class Variant:
    """One way to run a program: `engine:fused:O2`. Engine `femto`: what is built for the stock Femto-Container engine, in ours."""

    engine: str
    fuse: bool = False
    level: Level = MOST

    @property
    def target(self) -> str:
        return {"femto": "femto", "kernel": "xdp"}.get(self.engine, "lpn")

    @property
    def built(self) -> tuple[str, bool, Level]:
        """What variants have in common that run the same containers."""
        return self.target, self.fuse, self.level

    def __str__(self) -> str:
        return f"{self.engine}{':fused' if self.fuse else ''}:O{self.level}"


# The same containers in several engines one behind another: their analyses are kept for so long.
VARIANTS = (Variant("engine"), Variant("rbpf"), Variant("m3"), Variant("thumb2"),
            Variant("engine", True), Variant("rbpf", True), Variant("m3", True), Variant("thumb2", True),
            Variant("engine", False, SMALL), Variant("engine", True, SMALL), Variant("engine", False, 1), Variant("engine", False, 0), Variant("engine", True, 0))
STOCK = (Variant("femto"), Variant("femto", True), Variant("femto", False, 1), Variant("femto", False, 0), Variant("femto", True, 0),
         Variant("femto", False, SMALL), Variant("femto", True, SMALL))


REFUSED, AT = "checker refuses", " at "           # a failure's kind; what stands in front of the place of a mistake


class Failure(AssertionError):
    """The engines disagree, or a container is refused. `kind` sorts failures."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Refused(Failure):
    """The compiler says that it cannot do this yet: not a failure of what it does."""


@dataclass
class Case:
    """A program with what the control plane gives it, and packets with their meta. `following`: the text of a version that takes
    over in the middle of them; `events`: of an event file for a node; `bounded`: which of its bounds its runs are compared with."""

    program: Program
    packets: list[tuple[bytes, dict[str, int]]] = field(default_factory=list)
    following: str = ""
    events: str = ""
    bounded: Way = Way()

    def save(self, folder: Path, name: str, note: str = "") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.lpn").write_text(f"// {note}\n{self.program.text}" if note else self.program.text, encoding="utf-8")
        more = {key: text for key, text in (("following", self.following), ("events", self.events)) if text}
        (folder / f"{name}.json").write_text(json.dumps({
            "tables": self.program.tables, "lossless": self.program.lossless, "bounded": self.bounded.as_json(), **more,
            "packets": [{"frame": frame.hex(), "meta": meta} for frame, meta in self.packets]}, indent=1) + "\n", encoding="utf-8")
        return folder / f"{name}.lpn"


def is_case(path: Path) -> bool:
    """Whether a program is one that was saved with its packets."""
    try:
        return "packets" in json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def load_case(path: Path) -> Case:
    """A saved case: NAME.lpn with NAME.json beside it."""
    data = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return Case(Program(path.read_text(encoding="utf-8"), data.get("tables", {}), data.get("lossless", False)),
                [(bytes.fromhex(p["frame"]), p.get("meta", {})) for p in data["packets"]], data.get("following", ""), data.get("events", ""),
                Way(**data.get("bounded", {})))


def node_functions(program: ast.Program) -> dict[str, Callable[..., int]]:
    """The node's own functions that a program declares: each number that they are given counts."""
    return {decl.name: lambda *given: reduce(lambda so_far, one: so_far * 31 + one & 0xFFFF_FFFF, given, len(given)) for decl in externs.own(program)}


# ---------------------------------------------------------------- making cases

def make_case(seed: int, packets: int) -> Case:
    """The program of this number, and packets for it. Every eighth program is lossless."""
    choose = RandomChoose(seed)
    return add_packets(new_case(seed, choose), choose, packets)


def new_case(seed: int, choose: Choose) -> Case:
    generator = Generator(choose, seed % 8 == 7)
    return Case(generator.program(), following=generator.following, bounded=drawn(choose))


def add_packets(case: Case, choose: Choose, packets: int, aim: bool = False) -> Case:
    """`aim`: with the numbers that the program behind its parser looks for."""
    program = checked(case.program.text)
    given = control.from_json(case.program.tables, program)
    reference = Reference(program, node_functions(program))
    begin = [number for number, hook in enumerate(program.hooks) if hook.event != BUFFER_COMPLETE]
    received = next((number for number, hook in enumerate(program.hooks) if hook.chain is program.chain), None)     # who takes frames that name no hook
    several = (len(program.hooks) > 1 or received is None) and len(begin) == len(program.hooks)
    # What is loaded for one hook has buffers of its own.
    alone = received if received is not None else choose.pick(begin) if begin and not several else 0
    if received is None:
        case.packets = [(frame, {"hook": alone, **meta}) for frame, meta in case.packets]
    sources = {number: Packets(reference, reference.state(given), aim, hook) for number, hook in enumerate(program.hooks)
               if any(isinstance(module, ast.Parser) for module in hook.chain)}
    for frame, meta in case.packets:            # those that it comes with are damaged, too
        if frame and (source := sources.get(meta.get("hook", received))) is not None:
            source.good.append(frame)
    takers = list(program.takers)
    handlers = [number for number in begin if number not in takers] if several else []
    for _ in range(packets):
        if handlers and takers and choose.chance(1, 3):
            case.packets.append((b"", drawn_meta(program, choose, choose.pick(handlers), received)))
        hook = choose.pick(takers or handlers) if several and choose.number(0, 3) else alone
        meta = drawn_meta(program, choose, hook, received)
        case.packets.append((sources[hook].packet(choose) if hook in sources else b"", meta))
    if packets and choose.chance(1, 2 if any(hook.timed for hook in program.hooks) else 24) and "extern" not in case.program.text:
        case.events = timed.script(choose, program, [frame for frame, _ in case.packets])
    return case


def drawn_meta(program: ast.Program, choose: Choose, hook: int, received: int | None) -> dict[str, int]:
    """What comes with one run of a hook, the hook itself where it is not the one that takes frames that name none."""
    meta = {name: choose.value(width) for name, width in zip(META, WIDTHS)} if choose.chance(1, 3) else {}
    if hook != received:
        meta["hook"] = hook
        if outcomes := EVENTS[program.hooks[hook].event].outcomes:
            meta["event"] = choose.number(0, len(outcomes) - 1)
    return meta


def takes_packets(program: ast.Program, hook: int | None) -> bool:
    """Whether an event brings octets to the hook; else its runs are a handler's. None: of the chain for received frames."""
    return hook is None or hook in program.takers


@lru_cache(4)
def checked(text: str) -> ast.Program:
    try:
        return check(load(Source("random.lpn", text)))
    except DiagnosticError as error:
        wrong = [d for d in error.diagnostics if d.severity == "error"]
        raise Failure(REFUSED, "\n".join(f"{d.message}{AT}{d.span}" for d in wrong)) from error


def refusing(program: ast.Program, given: control.Tables | None, hook: str, frames: Sequence[bytes]) -> list[str]:
    """Where a hook's chain drops frames as the first ones, a line each place."""
    taker = next((one for one in program.hooks if one.name == hook and one.chain is not program.chain), None)
    reference = Reference(program, node_functions(program))
    found = [refusal(FollowedRun(program, reference.derived, frame, {}, reference.state(given), reference.externs), program.chain_of(taker)) for frame in frames]
    return most_of(one for one in found if one is not None)


# ---------------------------------------------------------------- comparing

def cells(program: ast.Program, state) -> dict[str, list]:
    """The reference's state as unsigned numbers, by object."""
    out = {}
    for decl, value in state.cells.items():
        values = value if isinstance(value, list) else [value]
        cell = decl.type.cell if isinstance(decl.type, Array) else decl.type
        out[decl] = [flat(each, cell) for each in values]
    return out


def flat(value: object, cell: object) -> tuple:
    if isinstance(cell, StructType):
        return tuple(one for f in cell.decl.fields for one in flat(value.fields[f.name], f.type))           # type: ignore[attr-defined]
    return (unsigned(int(value), scalar_width(cell)),)                      # type: ignore[arg-type,call-overload]


def compiled_cells(compiled: Compiled, data: bytes) -> dict[str, list]:
    out = {}
    for obj in compiled.state.objects:
        rows = []
        for index in range(obj.count):
            read = compiled.state.read(data, obj.decl, index)
            rows.append(tuple(read.values()) if isinstance(read, dict) else (read,))
        out[obj.decl] = rows
    return out


def show(r) -> str:
    effects = f" effects={r.effects}" if r.effects else ""
    completed = f" completed={[show(one) for one in r.completed]}" if r.completed else ""
    return f"{r.verdict} reason={r.reason} port={r.port} out={r.out.hex() if r.out is not None else None}{effects}{completed}"


def expected(program: ast.Program, case: Case) -> tuple[list, dict, list[Places]]:
    """Results, cells, and what is left of each packet."""
    reference = Watched(program, node_functions(program))
    state = reference.state(control.from_json(case.program.tables, program))
    results, left = [], []
    try:
        for frame, meta in case.packets:
            hook, meta = split_meta(meta)
            results.append(reference.run(frame, meta, state, program.hooks[hook] if hook is not None else None))
            left.append(reference.left(results[-1]))
    except RecursionError as error:
        raise Failure("reference crashes", str(error)) from error
    except Exception as error:
        raise Failure(f"reference crashes {type(error).__name__}", str(error)) from error
    return results, cells(program, state), left


def compile_variant(program: ast.Program, variant: Variant, lowerings: Lowerings | None = None) -> Compiled:
    """As `lpnc build` makes it: every container is one that the verifier accepts."""
    lowerings = lowerings or Lowerings(program)

    def make(forms: Forms) -> tuple[Compiled, list[RefusedError]]:
        compiled = compile_program(program, variant.target, variant.fuse, variant.level, listings=False, forms=forms, lowerings=lowerings)
        return compiled, refused(compiled)

    try:
        compiled, wrong = accepted(make, lambda made: made[1])
    except DiagnosticError as error:
        raise Refused("compiler refuses", error.diagnostics[0].message) from error
    except SizeError as error:
        raise Refused("build refuses", str(error)) from error
    except BuildError as error:
        if variant.target != "lpn":             # which has not what the program needs
            raise Refused("build refuses", str(error)) from error
        raise Failure("build refuses", f"{variant}: {error}") from error
    except Exception as error:
        raise Failure(f"compiler crashes {type(error).__name__} {'fused' if variant.fuse else ''}", str(error)[:400]) from error
    for why in wrong:
        if why.rule in (TOO_LONG, TOO_MANY_JUMPS):          # right, and too long: loops that the packet bounds may be
            raise Refused("verifier refuses", why.what)
        raise Failure(f"verifier rule {why.rule}{' for the kernel' if variant.target == 'xdp' else ''}", f"{variant} {why}")
    return compiled


def refused(compiled: Compiled) -> list[RefusedError]:
    """What the verifier does not accept. Of the others it says in the images whether they are 32-bit clean: engine m3 keeps 32-bit registers then."""
    out = []
    for c in compiled.containers:
        report, _ = once(unit_of(compiled, c))
        if not report.accepted:
            out.append(RefusedError(c.name, report))
        elif report.clean32:
            c.image = replace(c.image, flags=c.image.flags | Flag.CLEAN32)
    compiled.reseal()
    return out


class Loaded(Chains):
    """A compiled program in an engine, for the packets of a case, whose meta may name the hook."""

    def __init__(self, compiled: Compiled, engine: str, given: control.Tables):
        first = None if compiled.program.chain else 0
        super().__init__(compiled, self.called(engine), given, node_functions(compiled.program), first)

    def called(self, engine: str) -> Engine:
        """The engine of a variant."""
        return get_engine("engine" if engine == "femto" else engine)

    def run(self, frame: bytes, meta: dict[str, int]):                      # type: ignore[override]
        hook, meta = split_meta(meta)
        return super().run(frame, meta, hook)


def told(r) -> tuple:
    """What a run says: of its packet, what it did beyond the node's memory, and of what it completed."""
    return r.verdict, r.reason, r.port, r.out, tuple(r.effects), r.buffer, tuple(told(one) for one in r.completed)


def split_meta(meta: dict[str, int]) -> tuple[int | None, dict[str, int]]:
    """(the hook that this packet runs, its meta without that)."""
    return meta.get("hook"), {name: value for name, value in meta.items() if name != "hook"}


def run_case(case: Case, variants: Sequence[Variant] = VARIANTS, tally: Counter | None = None, became: Became | None = None,
             goes_on: Callable[[Variant], bool] = lambda variant: True) -> None:
    """Raises Failure at the first disagreement, or where a container is refused; Refused if the compiler cannot do a part of the program yet.
    `goes_on`: asked before each variant but the first whether there is time for it."""
    tally = tally if tally is not None else Counter()
    program = checked(case.program.text)
    results, state, left = expected(program, case)
    for r, (frame, meta) in zip(results, case.packets):
        hook = split_meta(meta)[0]
        tally[f"packets {r.verdict}" if takes_packets(program, hook) else "runs of handlers"] += 1
        if became is not None:
            became.note(program, hook, r, frame)
        if case.program.lossless and r.verdict == "ACCEPT" and r.out != frame:
            raise Failure("lossless", f"{frame.hex()} became {r.out.hex() if r.out is not None else None}")
    given, lowerings = control.from_json(case.program.tables, program), Lowerings(program)
    built: dict[tuple[str, bool, Level], Compiled] = {}
    proofs: dict[tuple[str, bool, Level], Proofs] = {}
    refused: Refused | None = None
    for variant in variants:
        if variant is not variants[0] and not goes_on(variant):
            return
        key = variant.built
        try:
            if key not in built:
                built[key] = compile_variant(program, variant, lowerings)
                tally["containers"] += len(built[key].containers)
                for _, note in built[key].forms.notes():
                    tally["other form: " + " ".join(note.split(" ")[1:])[:60]] += 1
            if variant.target != "lpn" and any(hook.timed for hook in program.hooks):
                raise Refused("no hook", f"target {variant.target} has no timers")
            if variant.engine in PROVED and key not in proofs:
                proofs[key] = proofs_of(built[key], case.bounded)
            bounds = Bounds(built[key], variant.engine, case.bounded, proofs[key]) if variant.engine in PROVED else None
            loaded = Loaded(built[key], variant.engine, given)
        except Refused as error:
            if "supported" in str(error) and variant.level == MOST and variant.target == "lpn":
                raise
            tally[f"refused {variant}: {str(error)[:60]}"] += 1
            refused = error
            continue
        except EngineError as error:
            if variant.engine != "rbpf" and not isinstance(error, (EngineFull, EngineUnavailable)):
                raise Failure("engine refuses", f"{variant}: {error}") from error
            tally[f"skipped {variant.engine}"] += 1
            continue
        for at, ((frame, meta), want) in enumerate(zip(case.packets, results)):
            got = loaded.run(frame, meta)
            tally[f"compared {variant.engine}" if takes_packets(program, split_meta(meta)[0]) else "runs of handlers compared"] += 1
            if told(got) != told(want):
                raise Failure(f"{what_differs(got, want)} differs",
                              f"{variant}: packet {at} {frame.hex()} {meta}\n  reference {show(want)}\n  {variant} {show(got)} {got.fault or ''}")
            if bounds is not None and (said := bounds.broken(meta.get("hook"), frame, got, tally)) is not None:
                raise Failure("bound", f"{variant}: {said}: packet {at} {frame.hex()} {meta}")
            if (said := differs(left[at], got.packet)) is not None:
                raise Failure("what is left differs", f"{variant}: {said}: packet {at} {frame.hex()} {meta}")
        after = compiled_cells(built[key], loaded.state())
        for decl, rows in state.items():
            if after[decl] != rows:
                raise Failure("state differs", f"{variant}: {decl.name}: reference {rows}, {variant} {after[decl]}")
    if refused is not None and not built:
        raise refused
    over_time(case, lowerings, variants, tally)


def over_time(case: Case, lowerings: Lowerings, variants: Sequence[Variant], tally: Counter) -> None:
    """What takes more than packets, where the case has it: events for a node, a version that takes over."""
    if not any(variant.engine == "engine" for variant in variants):
        return
    try:
        for fuse in (False, True) if case.events else ():
            if (said := timed.run_events(case, lowerings, fuse, tally)) is not None:
                raise Failure("nodes differ", said)
        following = checked(case.following) if case.following else None
        if following is not None and lowerings.program.chain and following.chain \
                and (said := timed.run_swap(case, lowerings, Lowerings(following), told, tally, node_functions)) is not None:
            raise Failure("versions differ", said)
    except (DiagnosticError, BuildError) as error:
        raise Refused("compiler refuses", str(error)) from error
    except EngineError as error:
        raise Failure("engine refuses", str(error)) from error


def run_kernel(case: Case, tally: Counter | None = None) -> None:
    """The same in the Linux kernel (target xdp). Raises EngineUnavailable and KernelRejected too."""
    from ..kernel_runner import KernelRunner     # bpf(2) by ctypes: only for who asks
    program = checked(case.program.text)
    case = Case(case.program, [(frame, meta) for frame, meta in case.packets if "hook" not in meta])
    results, state, _ = expected(program, case)
    given = control.from_json(case.program.tables, program)
    compiled = compile_variant(program, Variant("kernel", True))
    try:
        runner = KernelRunner(compiled, given)
    except (EngineUnavailable, KernelRejected):
        raise
    except EngineError as error:
        raise Refused("the kernel refuses", str(error)) from error
    for at, ((frame, meta), want) in enumerate(zip(case.packets, results)):
        got = runner.run(frame, meta)
        if tally is not None:
            tally["compared kernel"] += 1
        if (got.verdict, got.reason, got.port, got.out) != (want.verdict, want.reason, want.port, want.out):
            raise Failure(f"{what_differs(got, want)} differs in the kernel",
                          f"packet {at} {frame.hex()} {meta}\n  reference {show(want)}\n  kernel {show(got)}")
    after = compiled_cells(compiled, runner.state())
    for decl, rows in state.items():
        if after[decl] != rows:
            raise Failure("state differs in the kernel", f"{decl.name}: reference {rows}, kernel {after[decl]}")


def what_differs(got, want) -> str:
    if got.verdict != want.verdict:
        return "verdict" if not (got.reason or "").startswith("engine:") else "fault"
    return next((name for name in ("reason", "port", "out", "effects") if getattr(got, name) != getattr(want, name)), "completed")


# ---------------------------------------------------------------- making a failure small

def alike(error: Failure, failure: Failure) -> bool:
    """Whether it is the same failure. What is no program any more is refused as well, for something else."""
    if error.kind != failure.kind:
        return False
    if error.kind == REFUSED:
        said, before = ({line.partition(AT)[0] for line in str(each).removeprefix(f"{REFUSED}: ").splitlines()} for each in (error, failure))
        return said <= before
    return "crashes" not in error.kind or str(error)[:80] == str(failure)[:80]


def shows(case: Case, failure: Failure, variants: Sequence[Variant], kernel: bool = False) -> bool:
    try:
        if kernel:
            run_kernel(case)
        else:
            run_case(case, variants)
    except Refused:
        return False
    except Failure as error:
        return alike(error, failure)
    except Exception:
        return False
    return False


def reduce_case(case: Case, failure: Failure, variants: Sequence[Variant] = VARIANTS, seconds: float = 60.0, kernel: bool = False) -> Case:
    """A smaller case with the same kind of failure: fewer packets, then less text, then shorter packets."""
    end = time.monotonic() + seconds
    variants = [v for v in variants if f"{v}:" in str(failure) or f"{v} " in str(failure)] or list(variants)

    def fails(packets: list, program: Program = case.program) -> bool:
        return time.monotonic() < end and shows(replace(case, program=program, packets=packets), failure, variants, kernel)

    packets = case.packets
    for some in ([], *([p] for p in packets)):
        if fails(some):
            packets = some
            break
    else:
        for at in reversed(range(len(packets))):
            less = packets[:at] + packets[at + 1:]
            if fails(less):
                packets = less
    program = case.program
    if program.tables and fails(packets, Program(program.text, {}, program.lossless)):
        program = Program(program.text, {}, program.lossless)
    text = reduce_text(program.text, lambda text: fails(packets, Program(text, program.tables, program.lossless)))
    program = Program(text, program.tables, program.lossless)
    for at, (frame, meta) in enumerate(packets):
        for simpler in ((frame, {}), *((bytes(n), meta) for n in (0, len(frame))), *((frame[:n], meta) for n in range(len(frame)))):
            tried = packets[:at] + [simpler] + packets[at + 1:]
            if simpler != (frame, meta) and fails(tried, program):
                packets = tried
                frame, meta = simpler
                break
    return replace(case, program=program, packets=packets)
