"""The longest way through a chain of containers, with what is known on the way.

Where the bound of one container (wcet.py) joins everything that leads to a block, the walk keeps ways apart as long as what they know
differs: values in registers, on the stack, in the header record. What one module leaves in the record, the next one begins with. So ways
that cannot be taken together are not added up. The ways kept apart at a block are bounded: the longest ones stay, the others are joined, and
a join takes the time of its longest. A loop is entered with what is known, its invariant is found anew and proved, and so are its turns.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import floor

from . import bits, domain as d, exclusive, octets
from .cfg import Graph, Loop, Node
from .descriptors import ContextDescriptor, HelperSpec
from .fixpoint import Fixpoint
from .growth import growing
from .join import join
from .loops import Given, Path, Trace, Turns, heaviest_inside, path_of, rank, region_order, turning_together
from .order import leq
from .relevance import relevant
from .remembering import ANYWHERE, MOVED, ROOM, Lost, Remembering, of_one_shape, remember, remembered
from .rounds import rounds_of
from .rules import Violation
from .state import LEN, NUMBER, State, Value, entry_state, number
from .wcet import Weights

STEPS = 200_000                                       # instructions that the walk through one chain executes, all ways together
APART, APART_IF_CHEAP = ((8, 2), (4, 2)), ((8, 4, True), (16, 16))     # ways kept apart at a block, at a loop; whether the others are joined by what they know
CHEAP = STEPS // 10                                   # steps of the first time
APART_AT_END = 64                                     # at the last block: not all of them go on
DECISIVE = 2                                          # registers that matter where ways are kept apart by them, too
SETTLED = 0.5                                         # part of what is owed
ZEROED = ("out_len", "payload", "cut")                # of the context, when a chain begins; the record is zeroed as a whole


@dataclass(frozen=True)
class Way:
    """What is known, the most cycles it took to get there, and on which blocks."""
    state: State
    cycles: int                                       # without what is owed (octets.py)
    trace: Trace = None

    @cached_property
    def all(self) -> int:
        """What it took at most, with what is owed."""
        return self.cycles + floor(octets.in_all(self.state)) if self.state.owed or self.state.settled else self.cycles


@dataclass(frozen=True)
class Module:
    """One container of a chain: `weights` has its analysis, for packets as long as the chain meets. `over`: cycles to enter and leave."""
    weights: Weights
    profile: ContextDescriptor                        # with its regions' sizes
    helpers: dict[int, HelperSpec]
    over: int


def chain_bound(modules: list[Module], longest: int, goes_on: Callable[[d.Num], tuple[bool, bool]]) -> Path:
    """The longest path of one run, through all modules' blocks; in its weight, `over` of each. `goes_on`: of a value of r0, whether the chain may
    end with it, whether it may go on. Raises Lost.

    Which ways are joined where there are too many decides what is still known of copies behind them: more ways apart are not always the better
    bound. So the chain is followed with more and with fewer, and what holds each time holds. A chain that is soon followed is so once more with many
    ways apart at loops, too: what tells them apart is else forgotten at the first loop."""
    found, lost, tries = [], Lost(), [*APART]
    for most in tries:
        steps = [STEPS]
        try:
            found.append(_followed(modules, longest, goes_on, most, steps))
        except (Lost, Violation) as e:
            lost = Lost(str(e))
        if most is APART[0] and steps[0] > STEPS - CHEAP:
            tries += APART_IF_CHEAP
    if not found:
        raise lost
    return min(found, key=lambda path: path.weight)


def _followed(modules: list[Module], longest: int, goes_on: Callable[[d.Num], tuple[bool, bool]], most: tuple[int, ...], steps: list[int]) -> Path:
    """The same, with so many ways apart at a block, and at a loop. `steps`: that are left."""
    longest_way = Way(_beginning(modules[0].profile, longest), 0)
    ways = [longest_way]
    walks: list[_Walk] = []
    for module in reversed(modules):
        walks.insert(0, _Walk(module, len(modules) - 1 - len(walks), most, steps, walks[0].read[walks[0].graph.nodes[0]] if walks else frozenset()))
    for place, (module, walk) in enumerate(zip(modules, walks)):
        if place:
            ways = [Way(_handed_over(way.state, walk.machine, module.profile), way.cycles, way.trace) for way in ways]
        left = []
        for way in walk.run(ways):
            way = replace(way, cycles=way.cycles + module.over)
            result = way.state.regs[0]
            ends, goes = goes_on(way.state.num(result) if result is not None and result.kind == NUMBER else d.TOP)
            if ends or place == len(modules) - 1:
                longest_way = max(longest_way, way, key=lambda each: each.all)
            if goes:
                left.append(way)
        wanted = walks[place + 1].read[walks[place + 1].graph.nodes[0]] if place + 1 < len(walks) else frozenset()
        ways = walk.apart(left, lambda s: walk.content(s, wanted, True), most[0], "end", wanted, lambda s: walk.content(s, wanted, False))
        if not ways:
            break
    return path_of(longest_way.all, longest_way.trace, octets.owing(longest_way.state)[1])


def _beginning(profile: ContextDescriptor, longest: int) -> State:
    s = entry_state(longest)
    s.exclusive = exclusive.NONE
    for offset in range(profile.regions["rec"].size):
        remember(s, "rec", offset, 1, number(0))
    for field in profile.fields:
        if field.name in ZEROED:
            remember(s, "ctx", field.offset, field.width, number(0))
    return s


def _handed_over(s: State, machine: Remembering, profile: ContextDescriptor) -> State:
    """What the next container begins with: memory, and what is known of the numbers there. Its packet is not longer."""
    out = entry_state(s.vars[LEN].shi)
    held = remembered(s)
    cut = next((f for f in profile.fields if f.name == "cut"), None)
    known = held.get(ROOM * 2 + cut.offset) if cut else None
    to = {0: 0}
    if known is not None and known[1] == number(0):   # else the engine makes the packet shorter
        to[LEN] = LEN
        out.vars[LEN] = s.vars[LEN]

    def renamed(sym: int) -> int:
        if sym not in to:
            to[sym] = machine.symbol("from before", sym)
            out.vars[to[sym]] = s.vars[sym]
        return to[sym]
    for off, (size, v) in held.items():
        out.frames[0].slots[off] = size, v._replace(sym=renamed(v.sym))
    for x, row in s.bits.items():
        if x in to:
            out.bits[to[x]] = bits.Kept([(renamed(entry[0]), entry[1]) if type(entry) is tuple else entry for entry in row])
    for (a, b), (lo, hi) in s.diff.items():
        if a in to and b in to:
            x, y = to[a], to[b]
            out.diff[(x, y) if x < y else (y, x)] = (lo, hi) if x < y else (-hi, -lo)
    for place, (members, k) in s.sums.items():
        if place in to and (kept := frozenset(to[x] for x in members if x in to)):
            out.sums[to[place]] = kept, k
    out.exclusive = exclusive.of_pairs([(to[x], to[y]) for x, others in (s.exclusive or {}).items() for y in others if x in to and y in to])
    for x, owed in s.owed.items():
        out.owed[renamed(x)] = owed
    out.settled = s.settled
    if cut:
        remember(out, "ctx", cut.offset, cut.width, number(0))
    return out


@cache
def _anywhere(wanted: frozenset[int]) -> frozenset[int]:
    """Regions, by number, of which some octet is read."""
    return frozenset([off // ROOM for off in wanted if off % ROOM == ANYWHERE])


@cache
def _reading(wanted: frozenset[int]) -> dict[int, frozenset[int]]:
    """By size where memory of that size holds some octet that is read."""
    return {size: frozenset([off - i for off in wanted for i in range(size)]) for size in (1, 2, 4, 8)}


class _Walk:
    """Through one container, the chain's module number `place`. `most`: ways apart at a block, and at a loop; `steps`: what is left
    of them, shared by a chain; `behind`: octets of memory that the modules behind it read."""

    def __init__(self, module: Module, place: int, most: tuple[int, ...], steps: list[int], behind: frozenset[int]) -> None:
        self.weights, (self.most, self.in_loops, *alike), self.steps = module.weights, most, steps
        self.alike = any(alike)
        analysis = module.weights.analysis
        self.graph: Graph = analysis.graph
        self.live, self.bounds, self.shared = analysis.live, analysis.bounds, analysis.shared
        self.machine = Remembering(module.profile, module.helpers)
        self.machine.patient = analysis.patient
        self.fix = Fixpoint(self.graph, self.machine, 1 << 60, 1 << 60, forgetful=False)      # what was spilled once tells ways apart
        self.relevant = relevant(self.graph)
        self.read = self.read_later(behind)
        self.counted: set[int] = set()
        self.moved = MOVED + ROOM * place             # slots of what loops' cursors moved over

    def run(self, entries: Iterable[Way]) -> list[Way]:
        """The ways at all exits, r0 as it is returned."""
        arrived: dict[Node, list[Way]] = {node: [] for node in self.graph.nodes}
        arrived[self.graph.nodes[0]] = list(entries)
        exits: list[Way] = []
        for item in region_order(self.graph, None):
            node = item.head if isinstance(item, Loop) else item
            most = self.in_loops if isinstance(item, Loop) else self.most if node.succs else APART_AT_END
            ways = self.apart(arrived.pop(node), lambda s: self.differs(node, s, True), most, node.id, self.read[node], lambda s: self.differs(node, s, False),
                              len(self.relevant[node]) <= DECISIVE)
            for way in ways:
                if isinstance(item, Loop):
                    self.loop(item, way, arrived)
                else:
                    self.block(item, way, arrived, exits)
        return exits

    def block(self, node: Node, way: Way, arrived: dict[Node, list[Way]], exits: list[Way]) -> None:
        self.spend(len(node.code))
        spent, trace = way.cycles + self.weights.node(node).most, (way.trace, node, 1)
        machine = self.machine
        machine.ends = self.moved + ROOM // 2, self.weights.longest
        if node.last[1].is_exit and node.depth == 0:
            s = way.state.copy()
            machine.node = node
            with self.proving():
                for slot, insn in node.code[:-1]:
                    machine.step(s, slot, insn)
            less, trace = self.owe_given(node, [s], trace)
            exits.append(Way(s, spent - less, trace))
        else:
            with self.proving():
                ways = self.fix.transfer(node, way.state)
            less, trace = self.owe_given(node, [after for after in ways if after is not None], trace)
            for i, after in enumerate(ways):
                if after is not None and self.live(node, i):
                    arrived[node.succs[i][0]].append(Way(after, spent - less + self.weights.edge(node, i).most, (trace, (node, i), 1)))
        machine.ends = None

    @contextmanager
    def proving(self) -> Iterator[None]:
        """In here the walk is lost where something is written and it is not known where: of such a store nothing is noted."""
        self.machine.proving = True
        try:
            yield
        finally:
            self.machine.proving = False

    def owe_given(self, node: Node, ways: list[State], trace: Trace) -> tuple[int, Trace]:
        """For octets of the packet that buffers were given in the block just followed time is owed: loops have not moved over them. Returns how much the block
        costs less for it, and the trace of its ways."""
        less, given = 0, self.machine.given
        for slot, n in given.items():
            extra = self.weights.by_octets(slot)
            if extra.rate and all(n.sym in s.vars for s in ways):
                less, visit = less + floor(extra.most), object()
                owed = replace(extra, fixed=extra.fixed + extra.rate * n.off, visits=((visit, 1, 0),))
                for s in ways:
                    octets.owe(s, n.sym, owed)
                trace = trace, Given(visit, node, slot, lambda x, owed=owed: floor(owed.most - owed.of(x))), 1
        given.clear()
        return less, trace

    def read_later(self, behind: frozenset[int]) -> dict[Node, frozenset[int]]:
        """Of each block the octets of memory that it, or what can follow, reads at places known before."""
        read: dict[Node, frozenset[int]] = {}
        noted: list[int] = []
        machine = self.machine
        machine.noted, invariants = noted, self.weights.analysis.invariants
        for node in reversed(self.graph.nodes):
            noted.clear()
            if node in invariants:
                self.fix.transfer(node, invariants[node])
            read[node] = frozenset(noted).union(*[read[succ] for succ, _ in node.succs if succ in read]) | (frozenset() if node.succs else behind)
        machine.noted = None
        for loop in reversed(self.graph.loops):       # what is read in a loop is read again
            inside = frozenset().union(*[read[node] for node in loop.body])
            for node in loop.body:
                read[node] |= inside
        return read

    def spend(self, steps: int) -> None:
        self.steps[0] -= steps
        if self.steps[0] < 0:
            raise Lost(f"more than {STEPS:,} steps")

    # Ways together ---------------------------------------------------------------------------------
    def apart(self, ways: list[Way], differs: Callable[[State], tuple], most: int, where: object, wanted: frozenset[int],
              coarse: Callable[[State], tuple] | None = None, decisive: bool = False) -> list[Way]:
        """Ways that know the same are one; of the others at most so many stay apart, the longest ones. `wanted`: octets of memory still read; `decisive`: what
        remains is a matter of a few registers, the first that `coarse` gives, a verdict perhaps: ways that differ in these are not made one."""
        if len(ways) <= 1:
            return ways
        groups = _grouped(ways, differs)
        if len(groups) > most and coarse is not None:
            groups = _grouped(ways, coarse)
        groups.sort(key=lambda group: -max(way.all for way in group))
        if len(groups) > most:
            if self.alike and coarse is not None:
                groups = _alike(groups, [_known(coarse(max(group, key=lambda way: way.all).state)) for group in groups], most)
            else:
                rest = [way for group in groups[most - 1:] for way in group]
                apart = _grouped(rest, lambda s: coarse(s)[0]) if decisive and coarse is not None else [rest]
                groups[most - 1:] = apart if len(apart) <= most else [rest]
        return [self.joined(group, where, wanted) for group in groups]

    def joined(self, ways: list[Way], where: object, wanted: frozenset[int]) -> Way:
        if len(ways) == 1:
            return ways[0]
        try:
            s = join(of_one_shape([way.state for way in ways]), lambda place: self.machine.symbol(where, "way", place), False)
        except Violation as e:
            raise Lost(str(e)) from None
        self.forget_unread(s, wanted)
        s.collect()
        self.spend(len(s.vars) // 4)
        longest = max(ways, key=lambda way: way.all)
        out = Way(s, max(way.cycles for way in ways), longest.trace)
        # of one way the most is owed, another one took long: what is owed may as well be settled, where more is lost than it can bring later
        if s.owed and out.all - longest.all > SETTLED * (longest.all - longest.cycles):
            s.owed, s.settled = {}, 0
            out = replace(out, cycles=longest.all, trace=(longest.trace, Turns(octets.owing(longest.state)[1]), 1))
        return out

    def differs(self, node: Node, s: State, fine: bool) -> tuple:
        """What ways are kept apart for: what branches may depend on; `fine`: numbers that are not constant too."""
        def of(v: Value | None) -> object:
            if v is None:
                return None
            n = s.num(v)
            if v.kind != NUMBER:
                return v.kind, v.region, n.fields() if fine else None
            return n.ulo if n.is_const else n.fields() if fine else ()
        return tuple([of(s.regs[r]) for r in self.relevant[node]]), self.content(s, self.read[node], fine), s.bounds(LEN) if fine else None

    def forget_unread(self, s: State, wanted: frozenset[int]) -> None:
        """What memory holds that nobody reads any more, but for octets that sums count, of this way or of another one. The context is
        left alone: the engine reads there, how long the packet is."""
        slots, counted = s.frames[0].slots, s.sums.get(LEN, (frozenset(), 0))[0]
        self.counted |= {off for off, (_, v) in slots.items() if v.sym in counted or v.sym in s.owed}
        for off in [off for off, (size, v) in slots.items() if ROOM <= off < MOVED and not 2 * ROOM <= off < 3 * ROOM and off not in self.counted
                    and off // ROOM * ROOM + ANYWHERE not in wanted and wanted.isdisjoint(range(off, off + size))]:
            del slots[off]

    @staticmethod
    def content(s: State, wanted: frozenset[int], fine: bool) -> frozenset:
        """What memory holds that is still read; numbers that are not constant, and the packet, only if `fine`."""
        rooms, variables, read = _anywhere(wanted), s.vars, _reading(wanted)
        held = [(off, v) for off, (size, v) in s.frames[0].slots.items()
                if off < ROOM or (fine or off < 3 * ROOM) and (off in read[size] or rooms and off // ROOM in rooms)]
        out: list[tuple] = [(off, v[3] & d.M64) for off, v in held if not v[2] and v[0] == NUMBER]      # most of them
        for off, v in held:
            if v[0] != NUMBER:
                out.append((off, v[1]))
            elif v[2]:
                n = s.num(v) if v[3] else variables[v[2]]
                out.append((off, n.ulo if n.is_const else n if fine else ()))
        return frozenset(out)

    # Loops -----------------------------------------------------------------------------------------
    def loop(self, loop: Loop, way: Way, arrived: dict[Node, list[Way]]) -> None:
        fix, back = self.fix, set(loop.back_edges())
        entries = [edge for edge in fix.incoming[loop.head] if edge not in back]
        if not entries:
            raise Lost(f"the loop at slot {loop.head.first} is where the container begins")
        for node in loop.body:
            fix.invariant.pop(node, None)
            fix.seen.pop(node, None)
            for i in range(len(node.succs)):
                fix.out[node, i] = None
        for edge in entries:
            fix.out[edge] = None
        fix.out[entries[0]] = way.state
        before = fix.steps
        try:
            fix.stabilise(loop)
        except Violation as e:
            raise Lost(str(e)) from None
        self.prove(loop, way.state)
        self.spend(fix.steps - before)
        bounds = {}
        for inner in self.graph.loops:
            if inner.head not in loop.body:
                continue
            head, known = fix.invariant.get(inner.head), self.bounds[inner.head]
            bounds[inner.head] = 0
            if head is not None:
                try:
                    turns, _ = rank(inner, head, [fix.out.get(edge) for edge in inner.back_edges()], fix.made_at.get(inner.head, {}), True)
                    bounds[inner.head] = min(turns, known)
                except Violation:
                    bounds[inner.head] = known
        weights = lambda node: self.weights.node(node).most, lambda node, i: self.weights.edge(node, i).most

        def live(node: Node, i: int) -> bool:
            return fix.out.get((node, i)) is not None

        def heaviest(without: frozenset[Node]) -> tuple[dict[Node, tuple[int, Trace]], tuple[int, Trace]]:
            return heaviest_inside(self.graph, loop, bounds, lambda node, i: live(node, i) and node.succs[i][0] not in without, *weights)
        inside, _ = heaviest(frozenset())
        again, head, made = max(0, bounds[loop.head] - 1), fix.invariant[loop.head], fix.made_at.get(loop.head, {})
        came = [s for edge in loop.back_edges() if (s := fix.out.get(edge)) is not None]
        rounds = rounds_of(loop, head, came, made, again, lambda without: heaviest(without)[1], lambda node: self.through(loop, node))
        turn, visit = rounds.turn, object()
        grown = growing(loop, way.state, head, came, made, again) if again and turn else None
        before, first = way.trace, 0
        for kind, often in rounds.kinds:
            before, first = (before, kind, (visit, first, first + often)), first + often
        before, more, repeated = (before, rounds.trace, (visit, first, again)), rounds.more, again * turn
        if self.shared is not None and again:
            counted = turning_together(self.graph, loop, bounds, live, *weights, self.shared)
            if counted.more + _longest(counted.inside) < more + repeated + _longest(inside):
                inside, before, more, repeated, grown = counted.inside, counted.after(way.trace), counted.more, 0, None
        for node, (cycles, trace) in inside.items():
            for i, (succ, _) in enumerate(node.succs):
                if succ in loop.body or (after := fix.out.get((node, i))) is None:
                    continue
                after, kept = after.copy(), after.owed
                after.settled, after.owed = way.state.settled, {}
                for x, owed in way.state.owed.items():
                    if x in kept:
                        after.owed[x] = owed
                    else:
                        after.settled += octets.most_of(way.state, x)
                owes = grown is not None and grown.owe(after, self.machine.symbol("octets of", loop.head.id), self.moved + loop.head.first, turn, visit)
                arrived[succ].append(Way(after, way.cycles + more + (0 if owes else repeated) + cycles + self.weights.edge(node, i).most,
                                         ((before, trace, 1), (node, i), 1)))

    def through(self, loop: Loop, start: Node) -> list[State] | None:
        """What is known at the end of the rounds that go through a block of the body; None if nothing is known of them alone."""
        fix, keep, ends = self.fix, self.fix.keep(loop), []
        arrived: dict[Node, list[State]] = {start: [fix.invariant[start]]}
        for item in region_order(self.graph, loop):
            if isinstance(item, Loop):
                if not arrived.keys().isdisjoint(item.body):
                    return None
                continue
            if (states := arrived.pop(item, None)) is None:
                continue
            self.spend(len(item.code))
            try:
                s = join(of_one_shape(states), lambda place: self.machine.symbol(item.id, "through", start.id, place), False, keep)
                with self.proving():
                    left = fix.transfer(item, s)
            except (Lost, Violation):
                return None
            for (succ, _), after in zip(item.succs, left):
                if after is not None and succ is loop.head:
                    ends.append(after)
                elif after is not None and succ in loop.body:
                    arrived.setdefault(succ, []).append(after)
        return ends

    def prove(self, loop: Loop, entry: State) -> None:
        """What the search found holds when the loop is entered, and follows from itself."""
        fix = self.fix
        made = fix.made_at
        if leq(entry, fix.invariant[loop.head], made.get(loop.head, {})) is not None:
            raise Lost(f"no invariant of the loop at slot {loop.head.first}")
        for node in sorted(loop.body, key=lambda n: n.order):
            if node not in fix.invariant:
                continue
            with self.proving():
                found = fix.transfer(node, fix.invariant[node])
            for i, after in enumerate(found):
                fix.out[node, i] = after
                succ = node.succs[i][0]
                if after is not None and succ in loop.body and (
                        succ not in fix.invariant or leq(after, fix.invariant[succ], made.get(succ, {})) is not None):
                    raise Lost(f"no invariant of the loop at slot {loop.head.first}")


def _longest(inside: dict[Node, tuple[int, Trace]]) -> int:
    return max((cycles for cycles, _ in inside.values()), default=0)


def _known(key: tuple | frozenset) -> frozenset:
    """Of what ways are kept apart for the single facts."""
    return key if isinstance(key, frozenset) else key[1] | frozenset(enumerate(key[0]))


def _alike(groups: list[list[Way]], known: list[frozenset], most: int) -> list[list[Way]]:
    """So many groups: again and again the two whose facts differ least, of all in them, are one."""
    groups, left = list(groups), set(range(len(groups)))
    apart = {(j, i): len(known[i] ^ known[j]) for i in left for j in range(i)}
    while len(left) > most:
        j, i = min(((j, i) for i in left for j in left if j < i), key=lambda pair: (apart[pair], -pair[1]))
        groups[j] = groups[j] + groups[i]
        left.remove(i)
        for k in left - {j}:
            pair = min(j, k), max(j, k)
            apart[pair] = max(apart[pair], apart[min(i, k), max(i, k)])
    return [groups[i] for i in sorted(left)]


def _grouped(ways: list[Way], differs: Callable[[State], tuple]) -> list[list[Way]]:
    groups: dict[tuple, list[Way]] = {}
    for way in ways:
        groups.setdefault(differs(way.state), []).append(way)
    return list(groups.values())
