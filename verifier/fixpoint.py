"""Invariants of every node: iteration with widening at loop heads, narrowing, and an independent check of the result.

Only the last step is trusted: `check` verifies that the entry state, and what each node makes of its invariant, lie
within the invariants of the nodes that follow, and that no instruction breaks a rule under its invariant. A mistake in
widening or in the order of iteration can lose a program, not soundness.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from operator import is_

from ..compiler.isa import ALU_NAMES, JMP_OPS
from . import affine, derived, filled, summands
from .cfg import Graph, Loop, Node
from .join import join, widen
from .liveness import live_stack
from .loops import region_order
from .order import Gap, leq
from .places import Places
from .rules import Violation
from .state import NUMBER, State, entry_state, stack_bits
from .transfer import Machine

WIDEN_AFTER, GIVE_UP_AFTER, NARROWINGS = 2, 60, 2
STAGES = 1, 3                                         # of bounds to try, by how often an unknown has moved
ASKED = 4                                             # moves of an unknown to bounds that it is itself compared with
EQUALITY = JMP_OPS["JEQ"], JMP_OPS["JNE"]
GROWN_AFTER = 6                                       # turns of a search, behind which those inside go on from what they found before
GIVEN_UP = 8                                          # differences that are given up, once an invariant is found


class Fixpoint:
    """`forgetful`: what the stack holds and nobody reads again is not kept."""

    def __init__(self, graph: Graph, machine: Machine, max_steps: int, max_facts: int, forgetful: bool = True):
        self.graph, self.machine = graph, machine
        self.invariant: dict[Node, State] = {}
        self.out: dict[tuple[Node, int], State | None] = {}   # what leaves along an edge; None: never taken
        self.steps, self.max_steps = 0, max_steps
        self.facts, self.max_facts = 0, max_facts             # of the states that are kept
        self.kept: dict[Node, int] = {}                       # node -> of these, its own
        self.entry = entry_state(machine.profile.max_packet)
        self.incoming: dict[Node, list[tuple[Node, int]]] = {n: [] for n in graph.nodes}
        for node in graph.nodes:
            for i, (succ, _) in enumerate(node.succs):
                self.incoming[succ].append((node, i))
        self.thresholds = self._thresholds()
        self.coarse: dict[tuple[Loop, int], list[int]] = {}   # (loop, stage) -> bounds
        self.made_at: dict[Node, dict[int, int]] = {}         # node -> symbol made by a join there -> place
        self.kept_in: dict[Loop, tuple[frozenset, int, frozenset]] = {}     # what `keep` said, and of what
        self.places: dict[Node, dict[int, Places]] = {}       # what joins said of places
        self.orders: dict[Loop, list[Node | Loop]] = {}       # of what is in a loop
        self.seen: dict[Node, list[State | None]] = {}        # node -> what came in when it was visited last
        self.live = live_stack(graph) if forgetful else None  # node -> bytes of the stack that may be read

    def _thresholds(self) -> list[list[int]]:
        """Bounds worth trying, ever fewer: sizes of regions, of the packet and of words.
        A program with many constants would else use up the turns of the widening before the size that matters."""
        words = {0, 1, 65535, 65536, (1 << 31) - 1, (1 << 32) - 1, -1, -65536, -(1 << 31),
                 self.machine.profile.max_packet, self.machine.profile.max_packet + 64}
        sizes = words | {255, 256} | {r.size + more for r in self.machine.regions.values() for more in (0, 64)}
        return [sorted(sizes), sorted(words), [-(1 << 31), 0, (1 << 32) - 1]]

    def steps_at(self, loop: Loop, turn: int, sym: int, moved: int) -> list[int]:
        """The bounds to try in this turn for an unknown that has moved so often; none at last."""
        if turn >= GIVE_UP_AFTER // 2:
            return []
        bounds = self.common_steps(loop, turn, moved)
        asked = self.machine.compared.get(sym) if self.machine.patient and moved <= ASKED else None
        return sorted({n + more for n in asked for more in (-1, 0, 1)}.union(bounds)) if asked else bounds

    def common_steps(self, loop: Loop, turn: int, moved: int) -> list[int]:
        stage = max(min(max(turn - GIVE_UP_AFTER // 5, 0) // (GIVE_UP_AFTER // 10), 2), STAGES[min(moved, len(STAGES) - 1)])
        if (loop, stage) not in self.coarse:
            asked = {n + more for n in self._decisive(loop, stage == 1) for more in (-1, 0, 1)}
            self.coarse[loop, stage] = sorted(asked.union(self.thresholds[stage - 1], self._wrapped(loop) if stage == 1 else ()))
        return self.coarse[loop, stage]

    def _decisive(self, loop: Loop, inside: bool) -> Iterator[int]:
        """Constants that decide whether the loop goes on; `inside`: and those it compares for equality, since what is widened beyond them stays there."""
        for node in loop.body:
            insn = node.last[1]
            if insn.is_branch and not insn.uses_reg and (inside and insn.code in EQUALITY or any(
                    succ is loop.head or succ not in loop.body for succ, _ in node.succs)):
                yield insn.imm

    @staticmethod
    def _wrapped(loop: Loop) -> Iterator[int]:
        """The most that masks and remainders in a loop leave: an index into a ring goes no further."""
        for node in loop.body:
            for _, insn in node.code:
                if insn.is_alu and not insn.uses_reg and insn.imm > 0 and ALU_NAMES[insn.code] in ("AND", "MOD"):
                    yield insn.imm - (ALU_NAMES[insn.code] == "MOD")

    # Search --------------------------------------------------------------------------------------
    def run(self) -> None:
        self.machine.checking = False
        for item in region_order(self.graph, None):
            self.visit(item)

    def visit(self, item: Node | Loop, grown: bool = False) -> None:
        if isinstance(item, Loop):
            self.stabilise(item, grown)
            return
        came = [*map(self.out.get, self.incoming[item])]
        known = self.seen.get(item)
        if known is None or not all(map(is_, came, known)):     # else it would be what it was
            self.seen[item] = came
            self.set(item, self.joined(item))

    def states_into(self, node: Node, without: Iterable[tuple[Node, int]] = ()) -> list[State]:
        states = [self.entry] if node is self.graph.nodes[0] else []
        for e in self.incoming[node]:
            if (s := self.out.get(e)) is not None and e not in without:
                states.append(s)
        return states

    def joined(self, node: Node, head: bool = False, without: Iterable[tuple[Node, int]] = ()) -> State | None:
        states = self.states_into(node, without)
        if not states:
            return None
        loop = node.loop
        keep = self.keep(loop.parent if head else loop)
        if len(states) == 1 and not head:
            self.steps += (len(states[0].vars) + len(states[0].diff)) // 8
            return states[0].collected(keep)
        made = self.made_at.setdefault(node, {})

        def name(place):
            sym = self.machine.symbol(node.id, "at", place)
            made[sym] = place
            return sym
        s = join(states, name, head, keep, self.places.setdefault(node, {}), self.invariant[node].filled if node in self.invariant else ())
        self.steps += (len(s.vars) * len(states) + len(s.diff)) // 8
        return s

    def keep(self, loop: Loop | None) -> frozenset:
        """Symbols of the heads around: counters are measured against them even when no register holds them."""
        if loop is None:
            return frozenset()
        around, own = self.keep(loop.parent), self.made_at.get(loop.head, {})
        known = self.kept_in.get(loop)
        if known is None or known[0] is not around or known[1] != len(own):     # symbols are added only
            known = self.kept_in[loop] = around, len(own), around.union(own)
        return known[2]

    def set(self, node: Node, s: State | None) -> None:
        if s is None:
            self.invariant.pop(node, None)
            for i in range(len(node.succs)):
                self.out[node, i] = None
            return
        known = self.invariant.get(node)
        if known is not None and known == s:          # nothing new: what leaves is what left
            return
        self.invariant[node] = s
        facts = s.facts() * (1 + len(node.succs))
        self.facts += facts - self.kept.get(node, 0)
        self.kept[node] = facts
        if self.facts > self.max_facts:
            raise Violation(38, node.first, f"the analysis keeps more than {self.max_facts} facts", "make the program smaller, or use less stack in it",
                            f"with {len(self.graph.nodes)} blocks, of which each keeps what is known before it, it would take too much memory")
        for i, after in enumerate(self.transfer(node, s)):
            before = self.out.get((node, i))
            if after is None or before is None or before != after:
                self.out[node, i] = after

    def transfer(self, node: Node, before: State) -> list[State | None]:
        """The states along the node's edges."""
        self.steps += len(node.code)
        if self.steps > self.max_steps:
            raise Violation(38, node.first, f"the analysis takes more than {self.max_steps} steps",
                            "make the program smaller or its loops simpler",
                            f"with {len(self.graph.nodes)} blocks and {len(self.graph.loops)} loops, slot {node.first} was reached when they were used up")
        out = self._executed(node, before.copy())
        self.steps, self.machine.effort = self.steps + self.machine.effort, 0
        for (succ, _), s in zip(node.succs, out):
            if s is None:
                continue
            if s.lines:                               # else what ways say where they meet may be more than one of them does
                affine.bound(s)
            if s.defs:
                summands.bound(s)
            if s.halves:
                derived.resolve_halves(s)
            if s.filled:
                filled.settle(s)
            if self.live is not None:
                frame, live = s.frames[0], self.live[succ]
                for off in [off for off, (size, _) in frame.slots.items() if off < 0 and not stack_bits(off, size) & live]:     # others are of other memory
                    size, value = frame.slots.pop(off)
                    if value.kind != NUMBER:          # nor is it a number then: a call may make the pointer stale
                        frame.written &= ~stack_bits(off, size)
        return out

    def _executed(self, node: Node, s: State) -> list[State | None]:
        machine = self.machine
        machine.node = node
        slot, last = node.last
        for at, insn in node.code[:-1]:
            machine.step(s, at, insn)
        if last.is_branch:
            return machine.branch(s, slot, last)
        if last.is_exit:
            if node.depth == 0:
                machine.exit(s, slot)
                return []
            machine.leave(s)
        elif last.is_local_call:
            machine.enter(s)
        elif not last.is_goto:
            machine.step(s, slot, last)
        return [s] * len(node.succs) if len(node.succs) <= 1 else [s.copy() for _ in node.succs]

    def body(self, loop: Loop, grown: bool = False) -> None:
        order = self.orders.get(loop)
        if order is None:
            order = self.orders[loop] = [*region_order(self.graph, loop)]
        for item in order:
            self.visit(item, grown)

    def stabilise(self, loop: Loop, grown: bool = False) -> None:
        """`grown`: since its last search a loop around it has only learnt that more is possible, so what came back then comes back now."""
        head, within = loop.head, lambda a, b: leq(a, b, self.made_at[head]) is None
        back = loop.back_edges()
        came = [self.out.get(e) for e in self.incoming[head] if e not in back]
        known = self.seen.get(head)
        if known is not None and all(map(is_, came, known)):
            return                                    # entered with what it was entered with before
        self.seen[head] = came
        if not self.states_into(head, back):
            for node in loop.body:
                self.set(node, None)
                self.seen.pop(node, None)
            return
        old, turn = None, 0
        moved: Counter[int] = Counter()               # symbol -> how often widening moved a bound of it
        while True:
            new = self.joined(head, True, () if turn or grown else back)    # else what came back is of an earlier search
            if old is not None:
                if within(new, old):
                    break
                if turn > GIVE_UP_AFTER:
                    raise Violation(38, head.first, "no invariant of the loop was found",
                                    "compare its counter with a constant before going back",
                                    f"after {turn} turns of the search more is still possible at its head than before")
                if turn >= WIDEN_AFTER:
                    widen(old, new, frozenset(self.made_at[head]), lambda sym: self.steps_at(loop, turn, sym, moved[sym]),
                          self.machine.profile.max_packet, self.machine.equated, turn >= GIVE_UP_AFTER // 6)
                    moved.update(sym for sym in self.made_at[head] if sym in new.vars and sym in old.vars and new.vars[sym] != old.vars[sym])
                if turn == WIDEN_AFTER and old.filled:
                    new.filled = filled.once_more(old, new)
            self.set(head, new)
            self.body(loop, grown or turn >= GROWN_AFTER)
            old, turn = new, turn + 1
        for _ in range(NARROWINGS):
            new = self.joined(head, True)
            if not within(new, old) or within(old, new):
                break
            self.set(head, new)
            self.body(loop)
            if not within(self.joined(head, True), new):
                self.set(head, old)                   # not inductive: what we had is
                self.body(loop)
                break
            old = new

    # Proof ---------------------------------------------------------------------------------------
    def check(self) -> None:
        """Raises Violation for the first rule broken under the invariants found. A difference that the search believed, and that is not one, is given up:
        what joins know of it depends on the way they were come to. All is looked at once more then."""
        for _ in range(GIVEN_UP):
            found = self.wrong()
            if found is None:
                return
            node, slot, why = found
            if not isinstance(why, Gap):
                break
            self.invariant[node] = self.invariant[node].copy()
            del self.invariant[node].diff[why.pair]
        raise Violation(38, slot, f"the invariant found is not one: {why}")

    def wrong(self) -> tuple[Node, int, str] | None:
        """What an invariant claims and is not so: at which block, behind which instruction. Raises Violation for the first rule broken."""
        self.machine.checking = True
        entry = self.graph.nodes[0]
        if why := leq(self.entry, self.invariant[entry]):
            return entry, entry.first, why
        for node in self.graph.nodes:
            before = self.invariant.get(node)
            if before is None:
                continue
            for i, after in enumerate(self.transfer(node, before)):
                self.out[node, i] = after
                if after is None:
                    continue
                succ = node.succs[i][0]
                if succ not in self.invariant:
                    raise Violation(38, node.last[0], "the invariant found is not one: it was thought unreachable")
                if why := leq(after, self.invariant[succ], self.made_at.get(succ, {})):
                    return succ, node.last[0], why
        return None
