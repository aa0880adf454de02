"""An accepted container's proof as tables for the instrumented interpreter: what holds before each instruction.

The claims are those of `verifier.analyse`: the invariant of every block, and from there each instruction's effect as the
verifier computes it. Region 0 is the packet, 1 the context; frames of the stack follow behind 16.
"""
from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from typing import Any

from lpn.compiler import isa
from lpn.verifier import domain as d
from lpn.verifier.cfg import Node
from lpn.verifier.descriptors import ContextDescriptor, HelperSpec, helper_specs
from lpn.verifier.loops import heaviest, lightest
from lpn.verifier.state import COMPLEMENT, LEN, LOW_COMPLEMENT, LOW_HALF, NULLABLE, NUMBER, POINTER, State
from lpn.verifier.transfer import Machine
from lpn.verifier.verify import Analysis, Report

from .build import library

REGIONS = {"pkt": 0, "ctx": 1, "rec": 2, "state": 3, "out": 4, "rodata": 5, "data": 6, "entry": 7}
STACK, FRAMES = 16, 9
LARGEST = 4096                                  #: bytes of a region, at most (machine.h)
KINDS = {NUMBER: 1, POINTER: 2, LOW_HALF: 3, NULLABLE: 4, COMPLEMENT: 5, LOW_COMPLEMENT: 6}
ARGS = {"scalar": 1, "const": 2, "read": 3, "write": 4, "region": 5}
RETS = {"zero": 0, "u32": 1, "scalar": 2}
FIRST_LOCAL = 2                                 # numbers of symbols: 0 is zero, 1 the packet's length

_NUM, _CHECK, _PLACE = struct.Struct("<QQQQqqIIii"), struct.Struct("<BBBBI"), struct.Struct("<iBBBBiiq")
_VAR, _DIFF, _DEF, _STRIDE = struct.Struct("<iI"), struct.Struct("<iiqqII"), struct.Struct("<iiiiq"), struct.Struct("<iiqq")
_PART, _SPAN = struct.Struct("<iiq"), struct.Struct("<6Iqq")
_RELATIONS, _NODE, _SUCC, _LOOP = struct.Struct("<14I"), struct.Struct("<5IiiiI"), struct.Struct("<IBBHI"), struct.Struct("<QII")
_S64 = 1 << 63


def region_number(name: str | None) -> int:
    if name is None:
        return 0
    return STACK + int(name[5:]) if name.startswith("stack") else REGIONS[name]


@dataclass
class Tables:
    """The arrays of machine.h, as bytes."""
    nums: bytearray = field(default_factory=bytearray)
    checks: bytearray = field(default_factory=bytearray)
    check_at: list[int] = field(default_factory=list)
    step_cost: list[int] = field(default_factory=list)
    places: bytearray = field(default_factory=bytearray)
    vars: bytearray = field(default_factory=bytearray)
    diffs: bytearray = field(default_factory=bytearray)
    defs: bytearray = field(default_factory=bytearray)
    strides: bytearray = field(default_factory=bytearray)
    parts: bytearray = field(default_factory=bytearray)
    spans: bytearray = field(default_factory=bytearray)
    relations: bytearray = field(default_factory=bytearray)
    written: bytearray = field(default_factory=bytearray)
    nodes: bytearray = field(default_factory=bytearray)
    succs: bytearray = field(default_factory=bytearray)
    loops: bytearray = field(default_factory=bytearray)
    members: bytearray = field(default_factory=bytearray)
    known: dict[d.Num, int] = field(default_factory=dict)

    def num(self, n: d.Num) -> int:
        if n not in self.known:
            self.known[n] = len(self.known)
            self.nums += _NUM.pack(*n.fields())
        return self.known[n]

    def state(self, s: State) -> int:
        """The relations of a state; their number."""
        local = {0: 0, LEN: 1}
        arrays = (self.places, _PLACE), (self.vars, _VAR), (self.diffs, _DIFF), (self.defs, _DEF), (self.strides, _STRIDE), (self.spans, _SPAN)
        first = [len(a) // f.size for a, f in arrays]

        def number(sym: int) -> int:
            return local.setdefault(sym, len(local))
        for place, v in s.places():
            if v.kind not in KINDS:
                continue
            size = s.frames[place // 1000 - 1].slots[place % 1000 - 600][0] if place % 1000 >= 10 and place >= 1000 else 8
            self.places += _PLACE.pack(place, KINDS[v.kind], region_number(v.region), size, 0, number(v.sym), 0, d.s64(v.off))
        for sym, n in s.vars.items():
            if sym in local:
                self.vars += _VAR.pack(local[sym], self.num(n))
        for (a, b), (lo, hi) in s.diff.items():
            if a in local and b in local:
                has = (-_S64 <= lo < _S64) | (-_S64 <= hi < _S64) << 1
                self.diffs += _DIFF.pack(local[a], local[b], lo if has & 1 else 0, hi if has & 2 else 0, has, 0)
        sums = [(x, *t) for t_of in (s.defs, s.added) for x, t in t_of.items()]
        sums += [(x, y, base, c) if k < 0 else (base, y, x, -c) for (x, y), (base, k, c) in s.lines.items() if abs(k) == 1]
        for x, v, w, c in sums:
            if x in local and v in local and w in local:
                self.defs += _DEF.pack(local[x], local[v], local[w], 0, d.s64(c))
        for x, (m, r) in s.strides.items():
            if x in local and m < _S64:
                self.strides += _STRIDE.pack(local[x], 0, m, r)
        for depth, *ends in s.filled:
            if all(sym in local for _, parts in ends for sym, _ in parts):
                ranges = []
                for _, parts in ends:
                    ranges += [len(self.parts) // _PART.size, len(parts)]
                    self.parts += b"".join(_PART.pack(local[sym], 0, k) for sym, k in parts)
                self.spans += _SPAN.pack(depth, *ranges, 0, *(c for c, _ in ends))
        end = [len(a) // f.size for a, f in arrays]
        bounds = [x for a, b in zip(first, end) for x in (a, b - a)]
        self.relations += _RELATIONS.pack(*bounds, len(self.written), len(s.frames))
        for frame in s.frames:
            self.written += frame.written.to_bytes(64, "little")
        return len(self.relations) // _RELATIONS.size - 1

    def checks_of(self, s: State, before: dict[int, tuple]) -> None:
        """What each register holds; those that held the same before, unwritten, need no second look."""
        for reg, v in enumerate(s.regs):
            if v is None or v.kind not in KINDS:
                before.pop(reg, None)
                continue
            claim = v.kind, v.region, s.num(v)
            if before.get(reg) != claim:
                before[reg] = claim
                self.checks += _CHECK.pack(reg, KINDS[v.kind], region_number(v.region), 0, self.num(claim[2]))


class Claims:
    """An accepted container with its claims, ready to run. Raises ValueError for a region that is too large for the interpreter."""

    def __init__(self, text: bytes, profile: ContextDescriptor, helpers: Any = None, judged: tuple[Report, Analysis | None] | None = None,
                 seed: int = 0) -> None:
        self.ffi, self.lib = library()
        self.text, self.profile = text, profile
        self.program = self.ffi.new("it_program *")
        self._keep: list[Any] = []
        self.specs = helper_specs(_rows(helpers))
        self._describe(helpers)
        self.program.max_insns = 1_000_000
        self.covered = bytearray(max(len(text) // 8, 1))
        self.program.covered = self._array("uint8_t *", self.covered)
        self._words()
        if judged is not None and judged[1] is not None:
            self._claim(*judged, random.Random(seed))

    def _array(self, kind: str, content: bytes | bytearray) -> Any:
        held = self.ffi.from_buffer("uint8_t[]", content) if content else self.ffi.new("uint8_t[]", 8)
        self._keep += [content, held]
        return self.ffi.cast(kind, held)

    def _ints(self, kind: str, code: str, values: list[int]) -> Any:
        return self._array(kind, struct.pack(f"<{len(values)}{code}", *values))

    def _describe(self, helpers: Any) -> None:
        p, profile = self.program, self.profile
        p.text, p.slots = self._array("const uint8_t *", self.text), len(self.text) // 8
        p.max_packet, p.window, p.stack = profile.max_packet, profile.window, profile.stack
        p.align, p.align8, p.ctx_size, p.packet_write = profile.align, profile.align8, profile.size, profile.packet_write
        regions = self.ffi.new("it_region[]", STACK)
        for name, region in profile.regions.items():
            if region.size > LARGEST:
                raise ValueError(f"{name} has {region.size} bytes, the instrumented interpreter has {LARGEST} for it")
            row = regions[REGIONS[name]]
            row.size, row.align, row.read, row.write, row.used = region.size, region.align, region.read, region.write, True
            if region.holds:
                row.holds = self._array("const uint8_t *", region.holds)
        for name in ("pkt", "ctx"):
            regions[REGIONS[name]].align = profile.align
        for row in regions:
            row.align = row.align or 8
        fields = self.ffi.new("it_field[]", len(profile.fields))
        for row, f in zip(fields, profile.fields):
            kind = 0 if f.kind == "scalar" else 2 if f.kind == "pkt_end" else 1
            row.offset, row.width, row.kind, row.writable, row.max = f.offset, f.width, kind, f.writable, f.max or 0
            row.region = REGIONS[f.kind] if kind == 1 else 0
        table = self.ffi.new("it_helper[]", max(len(self.specs), 1))
        for row, spec in zip(table, self.specs.values()):
            _helper_row(row, spec)
        self._keep += [regions, fields, table]
        p.regions, p.fields, p.helpers = regions, fields, table
        p.n_fields, p.n_helpers = len(profile.fields), len(self.specs)

    def _words(self) -> None:
        """Numbers the program mentions."""
        words = {0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 32, (1 << 63) - 1, 1 << 63}
        upper = 0                                     # of a constant of 64 bits, which stands in two slots
        for op, _, off, imm in reversed([*struct.iter_unpack("<BBhi", self.text)]):
            words |= {upper << 32 | imm & d.M32} if op == isa.LDDW else set()
            upper = imm & d.M32
            words |= {imm & d.M64, imm & d.M32} if op & 7 in (4, 5, 6, 7) else {off & 0xFFFF} if op & 7 in (1, 2, 3) else set()
        ordered = sorted(words)
        self.program.words, self.program.n_words = self._ints("const uint64_t *", "Q", ordered), len(ordered)

    # Claims --------------------------------------------------------------------------------------
    def _claim(self, report: Report, analysis: Analysis, rng: random.Random) -> None:
        p, graph, t = self.program, analysis.graph, Tables()
        order = {node: i for i, node in enumerate(graph.nodes)}
        heads = {loop.head: i for i, loop in enumerate(graph.loops)}
        machine = Machine(self.profile, self.specs)
        machine.patient = analysis.patient
        used = max((sym for state in analysis.invariants.values() for sym in state.vars), default=LEN)
        machine.symbols = {("known", sym): sym for sym in range(LEN + 1, used + 1)}     # new unknowns are numbered behind those
        costs = {node: [rng.randrange(1, 30) for _ in node.code] for node in graph.nodes}
        edges = {(node, i): rng.randrange(0, 9) for node in graph.nodes for i in range(len(node.succs))}
        steps = succs = 0
        for node in graph.nodes:
            state = analysis.invariants.get(node)
            before = last = -1
            t.check_at += [] if state is not None else [len(t.checks) // 8] * len(node.code)
            if state is not None:
                before, last = t.state(state), self._walk(machine, node, state.copy(), t)
            t.step_cost += costs[node]
            t.nodes += _NODE.pack(node.first, steps, len(node.code), succs, len(node.succs), before, last, heads.get(node, -1), state is not None)
            for i, (succ, kind) in enumerate(node.succs):
                taken = node.last[1].is_branch and kind == "taken"
                t.succs += _SUCC.pack(order[succ], analysis.live(node, i), taken, 0, edges[node, i])
            steps, succs = steps + len(node.code), succs + len(node.succs)
        t.check_at.append(len(t.checks) // 8)
        for loop in graph.loops:
            t.loops += _LOOP.pack(min(analysis.bounds[loop.head], d.M64), len(t.members), 0)
            t.members += bytes(node in loop.body for node in graph.nodes)
        for name in ("nums", "checks", "places", "vars", "diffs", "defs", "strides", "parts", "spans", "relations", "nodes", "succs", "loops"):
            setattr(p, name, self._array(f"const {_C_NAMES[name]} *", bytes(getattr(t, name))))
        self.numbers = list(t.known)                  # in the order of `nums`
        p.written, p.members = self._array("const uint8_t *", bytes(t.written)), self._array("const uint8_t *", bytes(t.members))
        p.check_at, p.step_cost = self._ints("const uint32_t *", "I", t.check_at), self._ints("const uint32_t *", "I", t.step_cost)
        p.n_nodes, p.n_loops = len(graph.nodes), len(graph.loops)
        touched = [sum({1 << min(region_number(name if name != "stack" else "stack0"), STACK) for name in analysis.touched.get(slot, ())})
                   for slot in range(p.slots)]
        p.touched = self._ints("const uint32_t *", "I", touched)
        p.aligned = self._array("const uint8_t *", bytes(analysis.aligned.get(slot, 1) for slot in range(p.slots)))
        wide = set(report.wide)
        p.wide = self._array("const uint8_t *", bytes(slot in wide for slot in range(p.slots)))
        p.max_insns, p.max_branches = report.max_insns, report.max_branches
        p.most_cost = heaviest(graph, analysis.bounds, analysis.live, lambda n: sum(costs[n]), lambda n, i: edges[n, i]).weight
        p.least_cost = lightest(graph, analysis.live, lambda n: sum(costs[n]), lambda n, i: edges[n, i])
        p.stack_used, p.clean32, p.claims = report.stack, report.clean32, 1

    def _walk(self, machine: Machine, node: Node, s: State, t: Tables) -> int:
        """Checks before each instruction of the block; the relations before its last one."""
        machine.node, held = node, {}
        for at, insn in node.code[:-1]:
            t.check_at.append(len(t.checks) // 8)
            t.checks_of(s, held)
            for reg in _written(insn):
                held.pop(reg, None)
            machine.step(s, at, insn)
        t.check_at.append(len(t.checks) // 8)
        t.checks_of(s, held)
        return t.state(s) if len(node.code) > 1 else -1


_C_NAMES = {"nums": "it_num", "checks": "it_check", "places": "it_place", "vars": "it_var", "diffs": "it_diff", "defs": "it_def",
            "strides": "it_stride", "parts": "it_part", "spans": "it_span", "relations": "it_relations",
            "nodes": "it_node", "succs": "it_succ", "loops": "it_loop"}


def _rows(helpers: Any) -> Any:
    if helpers is None:
        from lpn.compiler.helpers import HELPERS
        return HELPERS
    return helpers


def _written(insn: Any) -> tuple[int, ...]:
    """Registers an instruction may write."""
    if insn.is_call:
        return 0, 1, 2, 3, 4, 5
    return (insn.dst, insn.src, 0) if insn.is_atomic else (insn.dst,) if insn.is_alu or insn.is_load or insn.is_lddw else ()


def _helper_row(row: Any, spec: HelperSpec) -> None:
    row.number, row.changes_packet = spec.number, spec.changes_packet
    for i, arg in enumerate(spec.args):
        name, what = arg if isinstance(arg, tuple) else (arg, 0)
        row.args[i] = ARGS[name]
        if name == "region":
            row.region = REGIONS[what]
        else:
            row.sizes[i] = what
    if isinstance(spec.ret, tuple):
        row.ret, row.region = 3, REGIONS[spec.ret[1]]
    else:
        row.ret = RETS[spec.ret]


@dataclass(frozen=True)
class Fault:
    """What an accepted program did. `run`: number of the run in its batch."""
    what: str
    slot: int
    run: int
    detail: str

    def __str__(self) -> str:
        return f"slot {self.slot}: {self.what} ({self.detail})"


class Runner:
    """A machine; its memory is kept between runs."""

    def __init__(self) -> None:
        self.ffi, self.lib = library()
        self.handle = self.ffi.gc(self.lib.it_new(), self.lib.it_free)
        self.result = self.ffi.new("it_result *")

    def batch(self, claims: Claims, seed: int, runs: int) -> Fault | None:
        """So many runs over random memory; `result.insns` is what they executed in all."""
        if not self.lib.it_batch(self.handle, claims.program, seed & d.M64, runs, self.result):
            return None
        return self.fault()

    def fault(self) -> Fault:
        r = self.result
        what = self.ffi.string(self.lib.it_fault_name(r.fault)).decode()
        return Fault(what, r.slot, r.run, f"block {r.node}, r{r.reg}, {d.s64(r.got)} and {d.s64(r.other)}")

    def once(self, claims: Claims, packet: bytes, regions: dict[str, bytes], scalars: dict[int, int], window: bytes = bytes(64), place: int = 1,
             seed: int = 0) -> Fault | None:
        """One run over given memory. `scalars`: of the context, by offset (4 bytes each); `window`: what follows the packet."""
        self.lib.it_packet(self.handle, packet, len(packet), len(window))
        self.ffi.memmove(self.lib.it_packet_bytes(self.handle) + len(packet), window, len(window))
        for name, content in regions.items():
            self.ffi.memmove(self.lib.it_region_bytes(self.handle, REGIONS[name]), content, len(content))
        for offset, value in scalars.items():
            self.ffi.memmove(self.lib.it_region_bytes(self.handle, REGIONS["ctx"]) + offset, struct.pack("<I", value), 4)
        return self.fault() if self.lib.it_run(self.handle, claims.program, place, seed, self.result) else None

    def bytes_of(self, name: str, size: int) -> bytes:
        at = self.lib.it_packet_bytes(self.handle) if name == "pkt" else self.lib.it_region_bytes(self.handle, REGIONS[name])
        return self.ffi.buffer(at, size)[:]
