"""What the verifier knows at each label, in the checker's words; and what is left to be executed from there.

A container's proof is the fixpoint's invariants. certify_search.py makes of these what the checker can follow.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace

from .certificate import BOTTOM, FIRST, KINDS, LENGTH, LOW, M32, MAX_OFFSET, NUMBER, PKT, Certificate, Given, Label, LoopRow, ones
from .cfg import Loop, Node
from .descriptors import OUT_SIZE
from .liveness import live_at
from .state import LEN, LOW_HALF, NUMBER as A_NUMBER, POINTER, State, Value, stack_bits
from .verify import Analysis

MAX_ROOM = (1 << 15) - 1
MAX_SHARED = 60                                       # symbols of one label: a node has room for them in its work area


class NoCertificate(Exception):
    """The container has none; one line says why. `slot`: the instruction that it is about, if there is one."""

    def __init__(self, why: str, slot: int | None = None):
        super().__init__(why)
        self.slot = slot


class NotFollowed(NoCertificate):
    """The checker does not see what the verifier does."""


class NotCounted(NoCertificate):
    """A loop in which nothing moves by a constant."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of what the image brings, of its stack, and of the output that it may address."""
    rodata: int = 0
    data: int = 0
    record: int = 0
    state: int = 0
    stack: int = 0
    output: int = OUT_SIZE

    @property
    def frame(self) -> int:
        return (self.stack + 7) // 8 * 8


# Costs -------------------------------------------------------------------------------------------
class Costs:
    """What is left to be executed from each node on if the loops around are in their last turn, and what a turn costs at most."""

    def __init__(self, analysis: Analysis, turns: Mapping[Node, int], live: Callable[[Node, int], bool], reached: Container[Node]):
        self.turns, self.live, self.reached = turns, live, reached
        self.body: dict[Node, int] = {}               # by head
        round_trips: dict[Node, dict[Node, int]] = {}
        for loop in sorted(analysis.graph.loops, key=lambda l: -l.depth):
            if loop.head in reached:
                round_trips[loop.head] = self.ways_round(loop)
                self.body[loop.head] = round_trips[loop.head].get(loop.head, 0)
        out: dict[Node, int] = {}
        for node in reversed(analysis.graph.nodes):
            if node in reached:
                out[node] = len(node.code) + max((out[succ] + self.entering(node, succ) for succ in self.forward(node)), default=0)
        self.left: dict[Node, int] = {}
        for node in analysis.graph.nodes:             # a way back owes what the head needs for its last turn
            if node in out:
                most, loop = out[node], node.loop
                while loop is not None:
                    if node in round_trips[loop.head]:
                        most = max(most, round_trips[loop.head][node] + self.left.get(loop.head, out[loop.head]) - self.body[loop.head])
                    loop = loop.parent
                self.left[node] = most

    def forward(self, node: Node) -> Iterable[Node]:
        return (succ for i, (succ, _) in enumerate(node.succs) if self.live(node, i) and succ.order > node.order)

    def entering(self, node: Node, succ: Node) -> int:
        """More than the head's own cost, on the way into a loop."""
        loop = succ.loop
        if loop is None or loop.head is not succ or node in loop.body:
            return 0
        return self.body[succ] * self.turns[succ]

    def ways_round(self, loop: Loop) -> dict[Node, int]:
        """The longest way from each node of the body to the head, where there is one."""
        out: dict[Node, int] = {}
        for node in sorted(loop.body, key=lambda n: -n.order):
            ways = [0 if succ is loop.head else out[succ] + self.entering(node, succ) for i, (succ, _) in enumerate(node.succs)
                    if self.live(node, i) and (succ is loop.head or succ in out and succ.order > node.order)]
            if ways and node in self.reached:
                out[node] = len(node.code) + max(ways)
        return out


# Projection --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Counter:
    """A loop's counter: the verifier's symbol, what is added to make it unsigned and a multiple of `unit`, how much it moves, how often it can; `flag`:
    it has two values, and is set to one of them, 2 if it is not known whether it was the other one."""
    sym: int
    shift: int
    step: int
    turns: int
    unit: int = 1
    flag: int = 0
    plain_shift: int = 0                              # what is added to make it unsigned alone


def live_registers(analysis: Analysis, helpers: Mapping[int, int]) -> dict[Node, int]:
    """For each node a bit for each register that is read before it is written. `helpers`: arguments by number."""
    use: dict[Node, tuple[int, int]] = {}
    for node in analysis.graph.nodes:
        used = written = 0
        for _, i in node.code:
            reads = writes = 0
            if i.is_alu:
                writes = 1 << i.dst
                reads = (1 << i.src if i.uses_reg and i.code != 0xD0 else 0) | (0 if i.code == 0xB0 else writes)
            elif i.is_lddw:
                writes = 1 << i.dst
            elif i.is_load:
                reads, writes = 1 << i.src, 1 << i.dst
            elif i.is_atomic or i.is_store:
                reads = 1 << i.dst | (1 << i.src if i.cls == 3 else 0)
            elif i.is_branch:
                reads = 1 << i.dst | (1 << i.src if i.uses_reg else 0)
            elif i.is_call:
                reads, writes = (1 << helpers.get(i.imm, 5) + 1) - 2, 0b111111
            elif i.is_exit:
                reads = 1
            used |= reads & ~written
            written |= writes
        use[node] = used, written
    return live_at(analysis.graph, use)


def live_stack(analysis: Analysis, surely: bool = False) -> dict[Node, int]:
    """For each node a bit for each byte of the stack (as Frame.written has them) that may be read before it is written. `surely`: only what
    an instruction reads that says where."""
    everything = (1 << 512) - 1
    use: dict[Node, tuple[int, int]] = {}
    for node in analysis.graph.nodes:
        used = written = 0
        for slot, i in node.code:
            stack = any(region.startswith("stack") for region in analysis.touched.get(slot, ()))
            if i.is_load and stack or i.is_call:
                used |= (stack_bits(i.off, i.size) if i.is_load and i.src == 10 else 0 if surely else everything) & ~written
            elif i.is_store and i.dst == 10:
                written |= stack_bits(i.off, i.size)
        use[node] = used, written
    return live_at(analysis.graph, use)


class Projection:
    """The invariants, as labels."""

    def __init__(self, analysis: Analysis, sizes: Sizes):
        from ..compiler.helpers import BY_NUMBER
        self.analysis, self.sizes, graph = analysis, sizes, analysis.graph
        self.live = live_registers(analysis, {n: len(h.args) for n, h in BY_NUMBER.items()})
        self.live_stack, self.read_surely = live_stack(analysis), live_stack(analysis, surely=True)
        self.loops = [loop for loop in graph.loops if loop.head in analysis.invariants and any(
            analysis.out.get(e) is not None for e in loop.back_edges())]
        self.number = {loop.head: i for i, loop in enumerate(self.loops, 1)}
        self.counters = {loop.head: self.counter(loop) for loop in self.loops}

    def counter(self, loop: Loop) -> Counter:
        """What every turn moves by a constant, and has bounds at the head; the fewest turns. If there is none: what has two values, and each
        turn sets to the same one."""
        found = [counter for sym, place in self.analysis.made.get(loop.head, {}).items() if (counter := self.counted(loop, sym, place))]
        if not found:
            raise NotCounted(f"no register or stack slot counts the loop at slot {loop.head.first} by a constant", loop.head.first)
        return min(found, key=lambda counter: (counter.flag, counter.turns))

    def without_units(self) -> Projection:
        """The same, but of no counter it says what it is a multiple of."""
        out = copy(self)
        out.counters = {head: replace(counter, shift=counter.plain_shift, unit=1) for head, counter in self.counters.items()}
        return out

    def counted(self, loop: Loop, sym: int, place: int) -> Counter | None:
        """How what stands in a place counts a loop; None if it does not."""
        head, moves, flag = self.analysis.invariants[loop.head], set(), 0
        if sym not in head.vars:                      # made in the search, and not there at its end
            return None
        lo, hi = head.bounds(sym)
        old = dict(head.places()).get(place)
        for edge in loop.back_edges():
            state = self.analysis.out.get(edge)
            if state is None:
                continue
            v = dict(state.places()).get(place)
            if v is None or old is None or v.kind != old.kind or v.region != old.region or old.sym != sym:
                return None
            if v.sym == sym:
                moves.add(v.off - old.off)
            elif hi - lo == 1 and v.sym == 0:         # it was the other one: the checker sees to that
                moves.add(-1 if v.off - old.off == lo else 1)
                flag = max(flag, 1 if sym in state.vars and len({*state.bounds(sym)}) == 1 else 2)
            else:
                return None
        if not moves or 0 in moves or len({m > 0 for m in moves}) > 1:
            return None
        step = min(moves, key=abs)
        if hi - lo > M32 or abs(step) > 127:
            return None
        plain = max(0, -lo)
        unit, shift = self.multiples(loop, place, math.gcd(*moves), plain)
        return Counter(sym, shift, step, (hi - lo) // abs(step), unit, flag, plain)

    def multiples(self, loop: Loop, place: int, unit: int, shift: int) -> tuple[int, int]:
        """What a loop's counter is a multiple of if enough is added to it, and how much: its moves are multiples of `unit`, so it is if it
        begins with one constant on all ways in, or with such as differ by multiples."""
        at_head, begins = dict(self.analysis.invariants[loop.head].places())[place], set()
        for node in self.analysis.graph.nodes:
            for i, (succ, _) in enumerate(node.succs):
                if succ is loop.head and node not in loop.body and (state := self.analysis.out.get((node, i))) is not None:
                    lo, hi = state.offsets(dict(state.places())[place])
                    begins.add((lo - at_head.off) % unit if lo == hi else None)
        if len(begins) != 1 or None in begins:
            return 1, shift
        return unit, shift + -(shift + begins.pop()) % unit

    def chain(self, node: Node) -> list[Node]:
        """Heads of the loops around a node, outermost first."""
        out, loop = [], node.loop
        while loop is not None:
            if loop.head in self.number:
                out.append(loop.head)
            loop = loop.parent
        return out[::-1]

    def certificate(self) -> Certificate:
        """What the verifier knows at each jump target; without costs."""
        analysis, graph = self.analysis, self.analysis.graph
        targets = {succ for node in graph.nodes for i, (succ, kind) in enumerate(node.succs) if kind == "taken" and analysis.live(node, i)}
        labels = [self.label(node) for node in sorted(targets, key=lambda n: n.first) if node in analysis.invariants]
        rows = [LoopRow(loop.head.first, self.number.get(loop.parent.head, 0) if loop.parent else 0,
                        self.counters[loop.head].step, 0, self.counters[loop.head].unit)
                for loop in self.loops]
        return Certificate(FIRST + max((len(label.shared) for label in labels), default=0), 0, labels, rows)

    def with_costs(self, certificate: Certificate, followed: set[tuple[int, int]]) -> Certificate:
        """`followed`: edges that the checker takes, by the slots they lead from and to, beside those of the verifier."""
        graph = self.analysis.graph
        live, reached = set(), {graph.nodes[0], *self.analysis.invariants}
        for node in graph.nodes:
            for i, (succ, _) in enumerate(node.succs):
                if node in reached and (self.analysis.live(node, i) or len(node.succs) == 1 or (node.last[0], succ.first) in followed):
                    live.add((node, i))
                    reached.add(succ)
        labels = {label.pc: label for label in certificate.labels}
        turns = {node: 0 for node in graph.nodes}
        for loop, row in zip(self.loops, certificate.loops):
            turns[loop.head] = self.turns(labels, loop, row)
        costs = Costs(self.analysis, turns, lambda node, i: (node, i) in live, reached)
        entry = graph.nodes[0]
        cost = costs.left[entry] + (costs.body[entry] * turns[entry] if entry in self.number else 0)
        at = {node.first: node for node in graph.nodes}
        return replace(certificate, cost=cost, labels=[label.but(cost=costs.left[at[label.pc]]) for label in certificate.labels],
                       loops=[replace(row, body=costs.body[loop.head]) for loop, row in zip(self.loops, certificate.loops)])

    def turns_more(self, certificate: Certificate) -> bool:
        """May a loop whose counter has a unit turn more often than the verifier knows?"""
        labels = {label.pc: label for label in certificate.labels}
        counters = [self.counters[loop.head] for loop in self.loops]
        return any(counter.unit > 1 and self.turns(labels, loop, row) > counter.turns
                   for counter, loop, row in zip(counters, self.loops, certificate.loops))

    def turns(self, labels: Mapping[int, Label], loop: Loop, row: LoopRow) -> int:
        """The most that may follow a loop's first one."""
        counter = labels[loop.head.first].shared[len(self.chain(loop.head)) - 1]
        return (counter.hi - counter.lo) // abs(row.step)

    def label(self, node: Node) -> Label:
        s, chain = self.analysis.invariants[node], self.chain(node)
        counters = {self.counters[head].sym: i for i, head in enumerate(chain)}
        values = {("r", r): v for r, v in enumerate(s.regs[:10]) if v is not None and self.live[node] >> r & 1 and self.known(s, v)}
        spilled = 0                                   # bytes, as Frame.written has them
        for off, (size, v) in s.frames[0].slots.items():
            if v.kind in (POINTER, LOW_HALF):
                spilled |= stack_bits(off, size)
            if size in (4, 8) and off % 4 == 0 and self.known(s, v) and self.live_stack[node] & stack_bits(off, size):
                values["s", (off + self.sizes.frame) // 4 * 2 + (size == 8)] = v
        users: dict[int, int] = {}
        for v in values.values():
            users[v.sym] = users.get(v.sym, 0) + 1
        shared = [self.symbol(s, sym, self.counters[head].shift) for head, sym in ((h, self.counters[h].sym) for h in chain)]
        if node in self.number:                       # its own counter
            unit, g = self.counters[node].unit, shared[-1]
            shared[-1] = g._replace(lo=g.lo + -g.lo % unit, hi=g.hi - g.hi % unit)
        names = {sym: (FIRST + i, self.counters[chain[i]].shift) for sym, i in counters.items()} | {LEN: (LENGTH, 0)}
        for sym, count in users.items():
            if sym and sym not in names and count > 1 and len(shared) < MAX_SHARED:
                lo, hi = s.bounds(sym)
                shift = max(0, -lo)
                if hi + shift <= M32:
                    names[sym] = FIRST + len(shared), shift
                    shared.append(self.symbol(s, sym, shift))
        label = Label(node.first, 0, min(s.bounds(LEN)[0], 2048), shared, self.number[chain[-1]] if chain else 0)
        for (where, place), v in values.items():
            off = v.off + (BOTTOM if v.region == "stack0" else 0)
            kind = NUMBER if v.kind == A_NUMBER else LOW if v.kind == LOW_HALF else KINDS[v.region or ""]
            if v.sym in names and abs(off - names[v.sym][1]) < 1 << 15:
                g: Given | None = Given(kind, ref=names[v.sym][0], off=off - names[v.sym][1])
            else:
                g = self.own(s, v, kind)
            if g is not None:
                (label.regs if where == "r" else label.slots)[place] = g
        label.written = ones((s.frames[0].written & self.live_stack[node] & ~spilled) >> 512 - self.sizes.frame)
        return label

    def known(self, s: State, v: Value) -> bool:
        """Can the checker say it?"""
        if v.kind == A_NUMBER:
            return s.num(v).uhi <= M32
        return v.kind == POINTER and v.region in KINDS or v.kind == LOW_HALF and v.region == "pkt"

    def own(self, s: State, v: Value, kind: int) -> Given | None:
        """A value by itself."""
        if kind == NUMBER:
            n = s.num(v)
            lo, hi = n.ulo, n.uhi
        else:
            shift = BOTTOM if v.region == "stack0" else 0
            lo, hi = (x + shift for x in s.offsets(v))
            if lo < 0 or hi > MAX_OFFSET:
                return None
        return Given(kind, lo, hi, room=self.room(s, v) if lo < hi and kind in (NUMBER, PKT, LOW) else None)

    def symbol(self, s: State, sym: int, shift: int) -> Given:
        v = Value(A_NUMBER, None, sym, shift)
        lo, hi = s.offsets(v)
        return Given(NUMBER, lo, hi, self.room(s, v))

    def room(self, s: State, v: Value) -> int | None:
        gap = max(s.gap(v.sym, LEN)[0] - v.off, s.bounds(LEN)[0] - s.offsets(v)[1])
        return gap if -2200 < gap <= MAX_ROOM else None
