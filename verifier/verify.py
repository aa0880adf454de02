"""The verifier: bytes in, a report out. `verify` never raises for bad bytecode."""
from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import prod

from . import cfg, unrolled, witness
from .apart import MORE, OF_DATA, OF_LOOPS, OF_MORE, ROUNDS, TRIES, choices, flags, inside, more
from .descriptors import OUT_SIZE, TURN, ContextDescriptor, Region, helper_specs
from .endless import explain
from .fixpoint import Fixpoint
from .loops import Bound, Shared, heaviest, rank
from .rules import RULES, Violation
from .sections import Section, check_sections
from .state import State
from .together import Together, together
from .transfer import Machine

MAX_INSNS = 1_000_000                                 # rule 34: executed instructions in the worst case
MAX_STEPS = 200_000                                   # rule 38: instructions analysed, counted as often as visited
STEPS_A_SLOT = 100                                    # or so many of each, where that is more
MAX_FACTS = 1_200_000                                 # rule 38: facts kept at a time, about 100 bytes each
Broken = tuple[Fixpoint, Violation]                   # an analysis, and the rule that it found broken
SHOWN = 12                                            # steps of a path that a message shows


@dataclass
class Report:
    """The verdict on one container. `insn` and slots of loops count 8-byte slots from 0."""
    accepted: bool
    rule: int | None = None
    message: str = ""
    line: tuple[str, int] | int | None = None         # as the line map gives it
    insn: int | None = None
    example: str = ""                                 # what could happen, with values
    path: list[int] = field(default_factory=list)     # a way to it: slots where its blocks begin, then the instruction
    lines: list = field(default_factory=list)         # of the path, as the line map gives them; each once in a row
    help: str = ""                                    # what would make it provable
    stack: int = 0                                    # bytes below r10 in use, all frames of the deepest chain
    output: int = 0                                   # bytes of the output buffer that a node clears for it, in whole turns
    insns: int = 0                                    # static, lddw counts as one
    slots: int = 0
    max_insns: int | None = None                      # executed in the worst case
    max_branches: int | None = None                   # of these, taken jumps
    loops: list[Bound] = field(default_factory=list)
    together: list[int] = field(default_factory=list) # heads of loops that share the packet's octets
    clean32: bool = False                             # every register holds a 32-bit value or a pointer
    wide: list[int] = field(default_factory=list)     # if not: slots that need more than 32 bits
    helpers: list[int] = field(default_factory=list)  # called, by number
    wcet_cycles: int | None = None
    analysis_steps: int = 0
    analysis_facts: int = 0                           # kept at the end

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass
class Analysis:
    """What the proof rests on, for the certificate and the worst-case time: the graph and the invariant of each node."""
    graph: cfg.Graph
    invariants: dict[cfg.Node, State]
    bounds: dict[cfg.Node, int]                       # loop head -> most runs per entry
    live: Callable[[cfg.Node, int], bool]             # live(node, i): the i-th edge can be taken
    touched: dict[int, set[str]]                      # slot of a memory access -> regions
    aligned: dict[int, int]                           # and what its address is a multiple of: 1, 2 or 4
    constants: dict[int, set[int]]                    # slot of a helper call -> values of r1, where known
    heads: dict[int, int]                             # of what a buffer is given, octets of the output at most
    cuts: bool                                        # may the packet be cut off?
    out: dict[tuple[cfg.Node, int], State | None]     # what leaves along an edge
    made: dict[cfg.Node, dict[int, int]]              # loop head -> symbol made there -> its place
    together: Together | None                         # loops that take octets, if there are several
    regions: Mapping[str, Region]                     # with their sizes, and what they hold where that is known
    patient: bool = False                             # was more tried than is needed mostly? see Machine

    @property
    def shared(self) -> Shared | None:
        return self.together and self.together.shared


def _helpers(helpers, profile: ContextDescriptor):
    if helpers is None:
        helpers = profile.helpers
    if helpers is None:
        from ..compiler.helpers import HELPERS
        helpers = HELPERS
    return helper_specs(helpers)


def line_of(line_map, slot):
    """The source line of a slot. `line_map`: rows (slot, line), (slot, (file, line)) or (slot, file, line), each valid until the
    next slot named."""
    return lines_of(line_map)(slot)


def lines_of(line_map) -> Callable:
    """`line_of` for many slots of one map."""
    rows = sorted(((row[0], row[1] if len(row) == 2 else tuple(row[1:])) for row in line_map or ()), key=lambda row: row[0])
    starts = [row[0] for row in rows]

    def line(slot):
        i = bisect_right(starts, slot) - 1 if slot is not None else -1
        return rows[i][1] if i >= 0 else None
    return line


Attempt = tuple[Report, Analysis | None, cfg.Graph | None, Broken | None]


@dataclass
class Attempts:
    """Analyses of one text with more and more copies of its parts. `left`: the effort that all of them may take yet; `patient`: see Machine; `made`: all of them;
    `large`: instructions of the last graph, which take effort, too, where few of them are reached."""
    attempt: Callable[[Sequence[cfg.Split], int, bool], Attempt]
    left: int
    patient: bool = False
    made: list[Attempt] = field(default_factory=list)
    large: int = 0

    def of(self, splits: Sequence[cfg.Split]) -> Attempt:
        found = self.attempt(splits, self.left, self.patient)
        if (graph := found[2]) is not None:
            self.large = graph.expanded
        self.left -= max(found[0].analysis_steps, self.large)
        self.made.append(found)
        return found

    def furthest(self, known: Attempt) -> Attempt:
        """Of refusals the one that is told: what is right has been proved by that which found the mistake behind it."""
        for again in self.made:
            if _further(again, known):
                known = again
        return known


def _further(again: Attempt, known: Attempt) -> bool:
    """Is what one analysis stopped at proved in the other one, which stopped at something else?"""
    at, rule = known[0].insn, again[0].rule
    if again[0].accepted or again[3] is None or at is None or known[0].rule not in OF_DATA or rule not in (*OF_DATA, *OF_LOOPS):
        return False
    fix, broken = again[3]
    if rule in OF_LOOPS:                              # asked of what is proved otherwise
        return True
    there = fix.graph.nodes.index(fix.machine.node)   # they are looked at in this order, and up to here nothing is wrong
    return broken.slot != at and all(i < there for i, node in enumerate(fix.graph.nodes) if any(slot == at for slot, _ in node.code))


def analyse(text: bytes, profile: ContextDescriptor, *, rodata: int = 0, data: int = 0, record_size: int = 0,
            state_size: int = 0, out_size: int = OUT_SIZE, helpers=None, line_map=None, contexts: tuple[str, ...] = (), sections: Iterable[Section] = (),
            max_insns: int = MAX_INSNS, max_steps: int | None = None, max_facts: int = MAX_FACTS, apart: bool = False,
            constants: bytes | None = None) -> tuple[Report, Analysis | None]:
    """As `verify`, with the invariants when the container is accepted. `apart`: ways that meet are told apart where that makes it provable; such a
    container has no certificate, nor has one whose `constants` are known."""
    profile = replace(profile, contexts=tuple(contexts) or profile.contexts)
    profile = profile.with_sizes(rodata=rodata, data=data, rec=record_size, state=state_size, out=out_size)
    if constants is not None:
        profile = profile.holding("rodata", constants)
    steps = max(MAX_STEPS, STEPS_A_SLOT * (len(text) // 8)) if max_steps is None else max_steps


    def attempt(splits: Sequence[cfg.Split], left: int, patient: bool) -> Attempt:
        return _attempt(text, profile, out_size, helpers, line_map, sections, max_insns, left, max_facts, splits, patient)

    splits: list[cfg.Split] = []
    attempts = Attempts(attempt, steps)
    first = report, analysis, graph, broken = attempts.of(splits)
    if report.rule in (*OF_DATA, *OF_LOOPS) and graph is not None and attempts.left > 0:
        attempts.patient = True
        if (again := attempts.of(splits))[0].rule not in (report.rule, 38):        # what the quick search found is told, unless this one gets further
            first = report, analysis, graph, broken = again
    room = MORE + graph.expanded if graph is not None else 0
    for turn in range(ROUNDS if apart else 0):
        if report.rule not in OF_MORE or report.insn is None or graph is None or attempts.left <= 0:
            break
        found = more(graph, report.insn, 1 << turn, room - graph.expanded)
        if not found:
            break
        splits += found
        again = attempts.of(splits)
        if not again[0].accepted and again[0].rule not in OF_MORE:      # too much effort: what was found before is told
            break
        report, analysis, graph, broken = again
    for last_try in (_by_ways_back, _by_flags, _by_choices, _turn_by_turn) if apart else ():
        if not report.accepted and (found := last_try(attempts, first)) is not None:
            report, analysis, _, broken = found
    if not report.accepted:
        report, _, _, broken = attempts.furthest((report, analysis, graph, broken))
    if broken is not None:
        _show_way(report, *broken, line_map)
    return report, analysis


def _by_ways_back(attempts: Attempts, known: Attempt) -> Attempt | None:
    """Accepted, where in a loop that nothing is known to end the ways stay apart on which it goes on; else None."""
    report, _, graph, _ = known
    splits: list[cfg.Split] = []
    for turn in range(ROUNDS):
        if report.rule != 33 or report.insn is None or graph is None or attempts.left <= 0:
            return None
        found = inside(graph, report.insn, 1 << turn, MORE + report.insns - graph.expanded)
        if not found:
            return None
        splits += found
        known = report, _, graph, _ = attempts.of(splits)
        if report.accepted:
            return known
    return None


def _by_flags(attempts: Attempts, known: Attempt) -> Attempt | None:
    """Accepted, where ways that differ in a constant stay apart; else None."""
    return _kept_apart(attempts, known, flags)


def _by_choices(attempts: Attempts, known: Attempt) -> Attempt | None:
    """Accepted, where ways that have taken the less of two numbers stay apart; else None."""
    return _kept_apart(attempts, known, choices)


def _kept_apart(attempts: Attempts, known: Attempt, which: Callable[[Fixpoint, int, int], Iterator[cfg.Node]]) -> Attempt | None:
    splits: list[cfg.Split] = []
    tries = TRIES
    while True:
        report, _, graph, broken = known
        if report.accepted:
            return known
        if report.rule not in OF_DATA or report.insn is None or broken is None:
            return None
        nearest = None
        for node in which(broken[0], report.insn, MORE - graph.expanded + report.insns):
            if not tries or attempts.left <= 0:
                return None
            tries -= 1
            again = attempts.of([*splits, (node.id, report.insn)])
            if again[0].accepted or again[0].insn != report.insn:       # proved there, if not all of it
                splits.append((node.id, report.insn))
                known = again
                break
            if nearest is None and again[0].rule != 38:
                nearest = node, again
        else:
            if nearest is None:
                return None
            splits.append((nearest[0].id, report.insn))     # one alone may not be enough
            known = nearest[1]


def _turn_by_turn(attempts: Attempts, known: Attempt) -> Attempt | None:
    """Accepted, where loops of a few turns are unrolled; else None. What is tried grows with each loop: no more is begun where a quarter of the effort is gone."""
    splits: list[cfg.Split] = []
    tries, enough = TRIES, attempts.left - attempts.left // 4
    while True:
        report, _, graph, broken = known
        if report.rule not in (*OF_DATA, *OF_LOOPS) or report.insn is None or broken is None:
            return None
        further = None
        for wanted in unrolled.candidates(broken[0], report.insn, unrolled.ROOM - graph.expanded + report.insns):
            if not tries or attempts.left <= enough:
                return None
            tries -= 1
            again = attempts.of([*splits, wanted])
            if again[0].accepted:
                return again
            if again[0].rule != 38:
                further = wanted, again
                if again[0].insn != report.insn:
                    break
        if further is None:
            return None
        splits.append(further[0])                     # of several that do not help alone the largest one: others may lie in it
        known = further[1]


def _show_way(report: Report, fix: Fixpoint, broken: Violation, line_map) -> None:
    """How it comes to what the message tells, if a way is found."""
    if way := witness.find(fix, broken):
        report.path, report.example = way.path, way.example or broken.example
        lines = [*map(lines_of(line_map), way.path)]
        report.lines = [line for i, line in enumerate(lines) if line is not None and (not i or line != lines[i - 1])]


def _attempt(text: bytes, profile: ContextDescriptor, out_size: int, helpers, line_map, sections: Iterable[Section], max_insns: int, max_steps: int,
             max_facts: int, splits: Sequence[cfg.Split], patient: bool) -> Attempt:
    report = Report(False, slots=len(text) // 8)
    fix = graph = None
    try:
        check_sections(sections, text)
        graph = cfg.build(text, profile, splits)
        report.insns = len(graph.insns)
        machine = Machine(profile, _helpers(helpers, profile))
        machine.kept, machine.patient = graph.frames.kept, patient
        fix = Fixpoint(graph, machine, max_steps, max_facts)
        with _no_collector():
            fix.run()
            fix.check()
        frames = graph.frames.deepest(machine.stack_used)
        report.stack = sum(frames)
        if report.stack > profile.stack:
            raise Violation(17, None, f"the frames of nested calls take {report.stack} bytes of the stack's {profile.stack}: {' + '.join(map(str, frames))}",
                            "use less stack in one of the functions, or call them one after the other",
                            f"the deepest call would write {report.stack - profile.stack} bytes below the stack")
        bounds = _bounds(report, fix, machine)
        live = lambda node, i: fix.out.get((node, i)) is not None
        with _no_collector():
            joint = together(fix, max_steps - fix.steps, max_facts - fix.facts, lambda shared: _most(graph, bounds, live, shared) <= max_insns)
        report.together = sorted(head.first for head in joint.steps) if joint else []
        _totals(report, graph, bounds, live, profile, max_insns, joint and joint.shared)
    except Violation as v:
        report.rule, report.message, report.insn, report.help, report.example = v.rule, v.message, v.slot, v.hint, v.example
        at = v.most if v.slot is None else v.slot
        report.line = None if at is None else line_of(line_map, at)
        report.analysis_steps = fix.steps if fix else 0
        return report, None, graph, (fix, v) if fix is not None and v.slot is not None and v.rule != 38 else None
    report.accepted, report.analysis_steps, report.analysis_facts = True, fix.steps, fix.facts
    report.output = min(-(-machine.output // TURN) * TURN, out_size)
    report.clean32, report.wide = not machine.wide_slots, sorted(machine.wide_slots)
    report.helpers = sorted({i.imm for i in graph.insns.values() if i.is_call and not i.is_local_call})
    return report, Analysis(graph, fix.invariant, bounds, live, machine.touched, machine.aligned, machine.constants, machine.heads,
                            machine.cuts, fix.out, fix.made_at, joint, machine.regions, patient), graph, None


@contextmanager
def _no_collector() -> Iterator[None]:
    """States refer to no one that refers to them: the search for cycles would only walk through them, again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _bounds(report: Report, fix: Fixpoint, machine: Machine) -> dict:
    bounds = {}
    for loop in fix.graph.loops:
        head = fix.invariant.get(loop.head)
        if head is None:
            bounds[loop.head] = 0
            continue
        stable = not any(i.is_call and not i.is_local_call and machine.helpers[i.imm].changes_packet
                         for n in loop.body for _, i in n.code)
        back = [fix.out.get(edge) for edge in loop.back_edges()]
        try:
            bound, counter = rank(loop, head, back, fix.made_at.get(loop.head, {}), stable)
        except Violation as broken:
            raise explain(fix, loop, broken) from None
        bounds[loop.head] = bound
        report.loops.append(Bound(loop.head.first, bound, loop.depth, counter))
    return bounds


def _most(graph: cfg.Graph, bounds: dict[cfg.Node, int], live: Callable[[cfg.Node, int], bool], shared: Shared | None = None) -> int:
    return heaviest(graph, bounds, live, lambda n: len(n.code), shared=shared).weight


def _totals(report: Report, graph, bounds, live, profile, max_insns, shared) -> None:
    report.max_insns = _most(graph, bounds, live, shared)
    if report.max_insns > max_insns:
        nest = _worst_nest(graph.loops, bounds)
        raise Violation(34, None, f"up to {report.max_insns} instructions are executed, the limit is {max_insns}; loops: " + ", ".join(
            f"slot {b.head} x {b.bound}" for b in report.loops), "lower a bound", _product(nest, bounds), _head(nest))
    report.max_branches = heaviest(graph, bounds, live, lambda n: 0, lambda n, i: n.succs[i][1] == "taken", shared).weight
    if profile.branch_budget is not None and report.max_branches > profile.branch_budget:
        raise Violation(35, None, f"up to {report.max_branches} jumps are taken, this engine ends a run after {profile.branch_budget}",
                        "lower a loop's bound", f"the run that takes {report.max_branches} of them is ended without a verdict",
                        _head(_worst_nest(graph.loops, bounds)))


def _worst_nest(loops: list[cfg.Loop], bounds: dict[cfg.Node, int]) -> list[cfg.Loop]:
    """The loops inside one another that turn most, the outermost first; none where there is none."""
    nests: list[list[cfg.Loop]] = []
    for loop in loops:
        nest: list[cfg.Loop] = []
        around: cfg.Loop | None = loop
        while around is not None:
            nest.insert(0, around)
            around = around.parent
        nests.append(nest)
    return max(nests, key=lambda nest: prod(bounds[one.head] for one in nest), default=[])


def _head(nest: list[cfg.Loop]) -> int | None:
    """Of the innermost one, whose line is shown."""
    return nest[-1].head.first if nest else None


def _product(nest: list[cfg.Loop], bounds: dict[cfg.Node, int]) -> str:
    """How often they turn."""
    turns = [bounds[one.head] for one in nest]
    return f"{' x '.join(f'{n:,}' for n in turns)} = {prod(turns):,} turns of the innermost loop" if len(nest) > 1 else (
        f"the loop at slot {nest[0].head.first} turns {turns[0]:,} times" if nest else "")


def verify(text: bytes, profile: ContextDescriptor, *, rodata: int = 0, data: int = 0, record_size: int = 0,
           state_size: int = 0, out_size: int = OUT_SIZE, helpers=None, line_map=None, contexts: tuple[str, ...] = (),
           sections: Iterable[Section] = (), max_insns: int = MAX_INSNS, max_steps: int | None = None, max_facts: int = MAX_FACTS,
           apart: bool = False, constants: bytes | None = None) -> Report:
    """Judge a text section under a context descriptor.

    `rodata`, `data`, `record_size`, `state_size`, `out_size`: sizes of these regions in bytes. `helpers`: rows of compiler/helpers.py
    or HelperSpec (None: those of the profile). `line_map`: rows (slot, file, line) in any order. `contexts`: where the container runs (rule 31). `sections`: of the file it is from (rule 12).
    `max_insns`: most executed instructions (rule 34); `max_steps` (None: as the text is long), `max_facts`: effort and memory (rule 38). `apart`: ways that meet are
    told apart where that makes it provable. `constants`: what the read-only data hold, where that is known."""
    return analyse(text, profile, rodata=rodata, data=data, record_size=record_size, state_size=state_size, out_size=out_size,
                   helpers=helpers, line_map=line_map, contexts=contexts, sections=sections, max_insns=max_insns, max_steps=max_steps, max_facts=max_facts, apart=apart,
                   constants=constants)[0]


def render(report: Report, color: bool = False, source: dict[str, list[str]] | None = None, name: str = "container") -> str:
    """The report for people: verdict, rule, source line. `source`: file -> its lines."""
    paint = (lambda code, s: f"\x1b[{code}m{s}\x1b[0m") if color else (lambda code, s: s)
    if report.accepted:
        loops = f", {len(report.loops)} loop{'s' * (len(report.loops) != 1)}" if report.loops else ""
        out = [f"{name}: {paint('32', 'accepted')}: {report.insns} instructions, at most {report.max_insns} executed, "
               f"{report.stack} bytes of stack{loops}" + (", 32-bit clean" if report.clean32 else "")]
        out += [f"  loop at slot {b.head}: at most {b.bound} turns ({b.counter})" for b in report.loops]
        if report.together:
            out.append(f"  loops at slots {', '.join(map(str, report.together))}: together no more turns than the packet has octets for")
        return "\n".join(out)
    out = []
    message = report.message.removesuffix(f"; {report.help}")
    if isinstance(report.line, tuple):
        file, line = report.line
        out.append(paint("1", f"{file}:{line}: ") + paint("31", "rejected: ") + message)
        lines = (source or {}).get(file, ())
        if 0 < line <= len(lines):
            out.append(f"  {line} | {lines[line - 1].rstrip()}")
    else:
        where = f"{name}:{report.line}: " if report.line is not None else f"{name}: "
        out.append(paint("1", where) + paint("31", "rejected: ") + message)
    if report.example:
        out.append(f"  for example: {report.example}")
    if way := path_text(report):
        out.append(f"  on the path: {way}")
    if report.help:
        out.append(f"  help: {report.help}")
    if report.rule:
        out.append(f"  rule {report.rule}: {RULES[report.rule].text}")
    return "\n".join(out)


def path_text(report: Report) -> str:
    """The way to the broken rule: by source lines, where they are known, else by slots; of a long one the beginning and the end."""
    steps, last = [], None
    for at in report.lines:
        file, line = at if isinstance(at, tuple) else (None, at)
        steps.append(f"line {line}" if file is None and not steps else str(line) if file == last else f"{file}:{line}")
        last = file
    if not steps:
        steps = [f"slot {slot}" if not i else str(slot) for i, slot in enumerate(report.path)]
    if len(steps) < 2:
        return ""
    if len(steps) > SHOWN:
        steps = steps[:2] + ["..."] + steps[-SHOWN + 3:]
    return " -> ".join(steps)
