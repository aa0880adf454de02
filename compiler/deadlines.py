"""Worst-case times of containers, and of hooks against their deadlines: what `verify` and `build` share."""
from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lpn.lang.hooks import SLOT_US, TIME_MAX, name_of
from lpn.lang.outside import SENDS
from lpn.runtime.m3.plan_costs import PlanCosts
from lpn.runtime.variants import SMALLEST, TRANSLATED, table_of
from lpn.verifier import domain
from lpn.verifier.cost import Cost, CostError, Costs, CostTable, TableSize, load
from lpn.verifier.descriptors import PROFILES, helper_specs
from lpn.verifier.rules import RULES
from lpn.verifier.shorter import shorter
from lpn.verifier.lookups import together
from lpn.verifier.verify import Analysis, Report
from lpn.verifier.walk import Lost, Module, chain_bound
from lpn.verifier.wcet import Step, Time, Weights, steps_of, time_of

from .bundle import Buffer, Bundle, Hook, Table
from .helpers import HELPERS
from .isa import decode
from .output import count, waiting
from .target import MAX_PACKET, VERDICTS
from .judge import Unit, Units
from .waits import Start, Wait, Waits

DEADLINE = 36
ENDS = [VERDICTS[name] for name in ("DROP", "DELIVER", "CONSUMED")]     #: verdicts behind which a chain does not go on
GOES_ON = [VERDICTS[name] for name in ("ACCEPT", "TRANSMIT")]
COMPLETING = {helper.number for helper in HELPERS if helper.name in ("buffer_put", "buffer_hold", "buffer_take")}     #: what may complete an entry of a buffer
ENGINE = "thumb2"                               #: the table with what a chain itself costs, however its containers run


def declared() -> dict[str, int]:
    """Microseconds, rounded up, that are counted for what the radio and the network stack are asked to do, by helper."""
    mhz = load(ENGINE).mhz
    return {helper.name: -(-helper.cost_cycles // mhz) for helper in HELPERS if helper.name.startswith("radio_") or helper.name in SENDS}


@dataclass
class HookTime:
    """A hook's chain on the node. `cost`: cycles, None where a module's are not known; `unknown`: why, of those for which this is all that is
    wrong. `followed`: where the chain was, the steps and branches of its longest path, by module."""

    hook: Hook
    cost: Cost | None
    mhz: int
    unknown: dict[str, CostError] = field(default_factory=dict)
    followed: dict[str, tuple[list[Step], frozenset[int]]] = field(default_factory=dict)
    wait: Wait | None = None                    # from its event to its run; None where there is no bound
    promised_by: Hook | None = None             # whose handler says its times: of an `after` that of who starts it, None where that is not known

    def us(self, cycles: int) -> float:
        return cycles / self.mhz

    @property
    def spread(self) -> float:
        """Microseconds between the longest and the shortest run."""
        return self.us(self.cost.most - self.cost.fewest) if self.cost else 0.0

    @property
    def late(self) -> bool:
        return self.cost is not None and bool(self.hook.within) and self.us(self.cost.most) > self.hook.within

    @property
    def unsteady(self) -> bool:
        return self.cost is not None and bool(self.hook.jitter) and self.spread > self.hook.jitter

    @property
    def tardy(self) -> bool:
        """It may begin later than its jitter says."""
        return self.wait is not None and bool(self.hook.jitter) and self.wait.us > self.hook.jitter

    @property
    def met(self) -> bool | None:
        """None: its time is not known, and it promises none."""
        return False if self.violation() else None if self.cost is None else True

    @property
    def name(self) -> str:
        return "->".join(self.hook.chain) if self.hook.event in ("every", "after", "slot") else name_of(self.hook)

    @property
    def remedy(self) -> str:
        """What is done about a hook that is late, or not steady; promised is only what the language allows."""
        cheaper, by = "make these lines cheaper", self.promised_by
        if self.cost is None or by is None:
            return cheaper
        within = math.ceil(self.us(self.cost.most)) if self.late else self.hook.within
        jitter = math.ceil(self.spread) if self.unsteady else by.jitter
        if by.event == "slot" and within > SLOT_US:
            return f"{cheaper}: a slot is over after {SLOT_US:,} us"
        if by.event == "every" and by.period < jitter + within <= TIME_MAX:
            times = [f"every {jitter + within} us", f"jitter {jitter} us" if jitter else "", f"within {within} us" if within else ""]
            return f"{cheaper}, or run them less often: {' '.join(filter(None, times))} would do"
        if jitter + within > TIME_MAX:
            return f"{cheaper}: nothing may take longer than {TIME_MAX:,} us"
        changed = [f"jitter {jitter} us" if self.unsteady else "", f"within {within} us" if self.late else ""]
        return f"{cheaper}, or allow more time: {' '.join(filter(None, changed))} would do"

    def violation(self) -> str:
        """What is wrong, in words; "" if nothing is."""
        rule = f"rule {DEADLINE} ({RULES[DEADLINE].name}): {self.name}"
        if self.cost is None:
            promised = self.hook.within or self.hook.jitter
            return (f"{rule}: its {'deadline' if self.hook.within else 'jitter'} of {promised:,} us is not proved: the time of "
                    f"{' and '.join(f'{name} is not known ({why})' for name, why in self.unknown.items())}") if promised and self.unknown else ""
        if self.late:
            return (f"{rule}: takes up to {self.cost.most:,} cycles, {self.us(self.cost.most):,.0f} us at {self.mhz} MHz, and its deadline is "
                    f"{self.hook.within:,} us")
        if self.unsteady:
            return (f"{rule}: its runs differ by up to {self.spread:,.0f} us at {self.mhz} MHz, and its jitter is {self.hook.jitter:,} us")
        return ""


@dataclass
class Times:
    """Of every module, or why not; of every hook."""

    modules: dict[str, Time]
    unknown: dict[str, CostError]
    hooks: list[HookTime]
    mhz: int

    @property
    def violations(self) -> list[HookTime]:
        return [each for each in self.hooks if each.violation()]

    @property
    def warnings(self) -> list[str]:
        """Of hooks that may begin later than their jitter says."""
        return [f"{each.name} may begin {each.wait.us:,.0f} us late, and its jitter is {each.hook.jitter:,} us: before it may run {self.behind(each.wait)}"
                for each in self.hooks if each.wait is not None and each.tardy]

    def behind(self, wait: Wait) -> str:
        """Who runs first, what takes longest in front: `Strobe.after_1512 (2 x 389 us), radio.rx_done (3 x 10 us)`."""
        runs = sorted(wait.behind.items(), key=lambda each: -each[1][0] * each[1][1])
        parts = [f"{self.hooks[i].name} ({f'{number} x ' if number > 1 else ''}{us:,.0f} us)" for i, (number, us) in runs]
        return ", ".join(parts + [count(wait.interrupts, "interrupt")] * bool(wait.interrupts))

    def longest(self, hook: HookTime, most: int = 5) -> list[tuple[str, Step]]:
        """The steps of a chain's longest path that take most of the time; none of one whose time is not known."""
        if hook.cost is None:
            return []
        steps = [(name, step) for name in hook.hook.chain for step in (hook.followed[name][0] if hook.followed else self.modules[name].path)]
        return sorted(steps, key=lambda each: -each[1].cycles)[:most]


class Interpreted:
    """The costs of an interpreter's instructions. Its helpers are the engine's, measured with both: what takes longer counts."""

    def __init__(self, costs: Costs, engine: CostTable) -> None:
        self.module, self.insn, self.at_once = costs.module, costs.insn, costs.at_once
        self.tables = costs, engine

    def helper(self, name: str, declared: int, tables: Collection[TableSize]) -> Cost:
        costs = [each.helper(name, declared, tables) for each in self.tables]
        return Cost(min(cost.fewest for cost in costs), max(cost.most for cost in costs))


def costs_of(unit: Unit, report: Report, way: str) -> Costs:
    """Raises CostError."""
    if way == SMALLEST and not unit.certificate:
        raise CostError("the smallest interpreter runs certified containers only")
    if way in (SMALLEST, "m3"):                 # who is certified is 32-bit clean, and its accesses are not checked
        certified, engine = bool(unit.certificate), load(ENGINE)
        if not certified and not report.clean32:
            return Interpreted(load("m3_wide"), engine)
        table = load(table_of(SMALLEST) if way == SMALLEST else "m3_certified" if certified else "m3_interpreter")
        return Interpreted(PlanCosts(unit.text, table, certified=certified, fuse=way != SMALLEST), engine)
    from lpn.runtime.m3.code_costs import CodeCosts     # a disassembler, which takes a while to load
    return CodeCosts(unit.text, report.clean32, report.stack, load(way))


def table_size(table: Table) -> TableSize:
    alike = together([(field.kind, field.width_bits) for field in table.key], [entry.match for entry in table.entries]) if table.constant else ()
    return TableSize(len(table.entries) if table.constant else table.size, sum(field.bytes for field in table.key), len(table.key),
                     kinds=tuple((field.kind, field.bytes) for field in table.key), data=table.action_data_bytes, together=alike)


def buffer_size(buffer: Buffer) -> TableSize:
    return TableSize(buffer.entries, buffer.key_bytes, octets=buffer.size)


def times(units: Units, judgements: list[tuple[Unit, Report, Analysis | None]], way: str = TRANSLATED, tight: bool = False) -> Times:
    """Fills in the reports' `wcet_cycles`, and adds up chains. Of a module that several hooks run, the longest packet counts. A chain that
    would be late, or any if `tight`, is walked through as a whole, which takes longer and knows more."""
    tables = {table.index: table_size(table) for table in units.bundle.tables} if units.bundle else {}
    buffers = {i: buffer_size(buffer) for i, buffer in enumerate(units.bundle.buffers)} if units.bundle else {}
    found: dict[tuple[str, int], Time] = {}
    parts: dict[tuple[str, int], Module] = {}
    modules: dict[str, Time] = {}
    unknown: dict[str, CostError] = {}
    cuts = {unit.name for unit, _, analysis in judgements if analysis is not None and analysis.cuts}
    for unit, report, analysis in judgements:
        if analysis is None or unit.profile != "lpn":
            continue
        helpers = {helper.number: (helper.name, helper.cost_cycles) for helper in unit.helpers}
        lengths = {units.bundle.longest(hook) for hook in units.bundle.hooks if unit.name in hook.chain} if units.bundle else set()
        try:
            costs = costs_of(unit, report, way)
            for longest in sorted(lengths or {MAX_PACKET}):
                shortened = analysis if longest >= MAX_PACKET else shorter(analysis, longest)
                found[unit.name, longest] = modules[unit.name] = time_of(shortened, costs, helpers, tables, unit.lines, buffers, longest)
                parts[unit.name, longest] = Module(Weights(shortened, costs, helpers, tables, buffers, longest), PROFILES[unit.profile].with_sizes(
                    rodata=unit.rodata, data=unit.data, rec=unit.record_size, state=unit.state_size), helper_specs(unit.helpers), costs.module.most)
            report.wcet_cycles = modules[unit.name].worst
        except CostError as e:
            unknown[unit.name] = e.with_traceback(None)
    hooks = hook_times(units, units.bundle, found, unknown, cuts, way) if units.bundle else []
    for hook in hooks:
        if units.bundle and hook.cost is not None and (tight or hook.violation()):
            with waiting(f"following {hook.name}"):
                hook.cost = walked(hook, units.bundle, parts, found, {unit.name: unit.lines for unit in units.items})
    if units.bundle and all(hook.cost is not None for hook in hooks):
        wait(hooks, units)
    return Times(modules, unknown, hooks, load(ENGINE).mhz)


def wait(hooks: list[HookTime], units: Units) -> None:
    """Fills in how long each waits for the others, and for what the node does behind them: it gives the radio what is to be transmitted."""
    by_name = {unit.name: unit for unit in units.items}
    sends = units.sends or [by_name[hook.hook.chain[-1]].deparses for hook in hooks]
    completing = {unit.name for unit in units.items if any(insn.is_call and insn.imm in COMPLETING for insn in decode(unit.text))}
    took = [hook.us(hook.cost.most) + declared()["radio_send"] * its for hook, its in zip(hooks, sends) if hook.cost is not None]
    found = Waits([hook.hook for hook in hooks], took, [any(name in completing for name in hook.hook.chain) for hook in hooks], units.starts).found()
    for hook, one in zip(hooks, found):
        hook.wait = one


def walked(hook: HookTime, bundle: Bundle, parts: dict[tuple[str, int], Module], found: dict[tuple[str, int], Time],
           lines: dict[str, list | None]) -> Cost:
    """The hook's cost, with the bound of its chain as a whole where that is below the sum of its modules'."""
    assert hook.cost is not None
    longest = bundle.longest(hook.hook)
    names = [(name, longest) for name in hook.hook.chain]
    try:
        path = chain_bound([parts[name] for name in names], longest, goes_on)
    except Lost:
        return hook.cost
    less = sum(found[name].worst for name in names) - path.weight
    if less > 0:
        hook.followed = {name: steps_of(parts[name, longest].weights, path, lines.get(name)) for name, _ in names}
    return Cost(hook.cost.fewest, hook.cost.most - max(less, 0))


def goes_on(result: domain.Num) -> tuple[bool, bool]:
    """What a chain may do behind a container that returned this: end, go on. The verdict is in the lower half."""
    verdict = domain.truncate(result, 2)
    return any(each in verdict for each in ENDS) or verdict.uhi > max(VERDICTS.values()), any(each in verdict for each in GOES_ON)


def chain_cost(units: list[Unit], record_size: int, way: str, cuts: int) -> Cost:
    """What the engine does around a chain of these, of which so many may cut the packet off. Where an interpreter checks accesses, all of the output is
    cleared: its table has that."""
    certified, checked = load("m3_certified"), load("m3_interpreter")
    table = load(ENGINE) if way == ENGINE else certified if all(unit.certificate for unit in units) else checked
    outputs = [unit.out_size for unit in units] if table is not checked else []
    cost = table.chain_of(record_size, outputs, len(units), any(map(may_call, units)), units[-1].deparses, cuts)
    if table is checked and units[0].certificate:       # the shortest run ends with it, and nobody has asked for the others' memory
        return Cost(certified.chain.fewest, cost.most)
    return cost


def may_call(unit: Unit) -> bool:
    """Whether its translated code may call the engine: helpers, atomic instructions, or operations of 64 bits, which nothing with a certificate needs."""
    return not unit.certificate or any(insn.is_call or insn.is_atomic for insn in decode(unit.text))


def hook_times(units: Units, bundle: Bundle, found: dict[tuple[str, int], Time], unknown: dict[str, CostError], cuts: Collection[str],
               way: str) -> list[HookTime]:
    """`found`: of a module, for packets of so many octets; `unknown`: why others' are not; `cuts`: modules that may cut the packet off."""
    by_name = {unit.name: unit for unit in units.items}
    out = []
    for place, hook in enumerate(bundle.hooks):
        cost: Cost | None = None
        longest = bundle.longest(hook)
        if all((name, longest) in found for name in hook.chain):
            # the shortest run may end with the first container: it is dropped there
            cost = chain_cost([by_name[name] for name in hook.chain], bundle.record_size, way, sum(name in cuts for name in hook.chain))
            for i, name in enumerate(hook.chain):
                cost += Cost(0 if i else found[name, longest].best, found[name, longest].worst)
        out.append(HookTime(hook, cost, load(ENGINE).mhz, {name: unknown[name] for name in hook.chain if name in unknown},
                            promised_by=promised_by(bundle.hooks, units.starts, place)))
    return out


def promised_by(hooks: Sequence[Hook], starts: Sequence[Start | None], i: int) -> Hook | None:
    """The hook whose handler says the times of hook `i`."""
    while starts and (start := starts[i]) is not None:
        i = start.by
    return hooks[i] if hooks[i].event != "after" else None
