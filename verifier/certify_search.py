"""From what the verifier knows at each label to what the checker can follow, and of that to what it needs.

Both ways the checker itself is asked, block by block: a block goes from a label, or from the text's start, to the next label.
"""
from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from .certificate import ANY, CURSOR_END, FIRST, LENGTH, LOW, M32, MAX_OFFSET, NUMBER, PKT, Given, Label, ones
from .certify import ACCEPTED, Checker
from .certify_labels import MAX_SHARED, NotFollowed, Projection
from .certify_layout import SIZE, Layout

NO_ROOM, NOWHERE = -(1 << 15), M32
VALUE, STACK, TARGET, WHOLE_LENGTH = 5, 6, 4, 7       # refusals that say less where they are met: runtime/engine/certificate.h
MAX_JOINS, MAX_TIMES = 20_000, 40                     # effort (rule 38)
MAX_ATTEMPTS, LAID_OUT = 40_000, 300                  # of saying less, and what laying out anew counts: what is left then is longer than need be
SIZES = (1, 0xFF, CURSOR_END, 0xFFFF, M32)            # where what grows without end stops


class Search(Layout):
    """A certificate as it grows: first labels that say less and less, until the checker follows; then those that say no more than it
    needs. A block is accepted still if the labels it leads to say less, and if the one it begins with says more. `related`: labels that the
    verifier needs none of say which values share an unknown, too; few need it, and they are longer. `unrelated`: there is one that does not."""

    def __init__(self, projection: Projection, checker: Checker, related: bool = False):
        self.projection, self.checker, self.related, self.unrelated = projection, checker, related, False
        self.nodes = {node.first: node for node in projection.analysis.graph.nodes}
        self.attempts = 0
        super().__init__(projection.certificate(), checker.ffi)

    def follow(self) -> None:
        """To labels that the checker follows, and their costs."""
        self.repair()
        self.certificate = self.projection.with_costs(self.certificate, self.followed())
        self.lay_out()
        for i in range(-1, len(self.certificate.labels)):
            if refusal := self.checker.block(self.view, SIZE, i, told=True):
                raise self.lost(refusal)

    def shorten(self) -> None:
        """To labels that say no more than is needed: each once, behind those that it leads to; then those again that lead to one that has come to say less."""
        pcs = [label.pc for label in self.certificate.labels]
        leads: list[set[int]] = [set() for _ in pcs]  # of each label those where its block may end
        for node in self.projection.analysis.graph.nodes:
            if (i := bisect_right(pcs, node.first) - 1) >= 0:
                leads[i].update(self.by_pc[succ.first] for succ, _ in node.succs if succ.first in self.by_pc)
        self.changes, self.changed = 0, [0] * len(pcs)
        seen = [0] * len(pcs)
        for first in (True, False):
            for i in inner_first(leads):
                if first or any(self.changed[j] > seen[i] for j in leads[i]):
                    before = self.changes
                    self.weaken(i)
                    seen[i] = before if i in leads[i] else self.changes

    def lost(self, refusal: int) -> NotFollowed:
        slot = self.checker.told.pc
        return NotFollowed(f"the checker does not follow: {self.checker.name(refusal, slot)}", slot)

    def write_all(self) -> None:
        self.attempts = min(self.attempts + LAID_OUT, MAX_ATTEMPTS)
        self.by_pc = {label.pc: i for i, label in enumerate(self.certificate.labels)}
        self.kept = [self.depth(label.loop) for label in self.certificate.labels]
        self.heads = {row.head for row in self.certificate.loops}
        super().write_all()

    def depth(self, loop: int) -> int:
        """How many loops: this one and those around it."""
        n = 0
        while loop:
            n, loop = n + 1, self.certificate.loops[loop - 1].parent
        return n

    # What the checker cannot follow: the label says too much ------------------------------------------
    def repair(self) -> None:
        """Joins to each label what the checker finds on the ways to it, until it follows."""
        self.times: dict[tuple, int] = {}
        joins = 0
        todo = list(range(len(self.certificate.labels) - 1, -2, -1))
        waiting = set(todo)
        wanted: dict[int, Label] = {}           # labels to be inserted, together: each time all are written anew
        while todo or wanted:
            if not todo:
                self.insert(wanted)
                wanted = {}
                todo = list(range(len(self.certificate.labels) - 1, -2, -1))
                waiting = set(todo)
            i = todo.pop()
            waiting.discard(i)
            while refusal := self.checker.block(self.view, SIZE, i, costs=False, told=True):
                told, joins = self.checker.told, joins + 1
                if told.target == NOWHERE or refusal not in (VALUE, STACK, TARGET, WHOLE_LENGTH) or joins > MAX_JOINS:
                    raise self.lost(refusal)
                if refusal == TARGET:
                    if wanted and self.headless(told.target):
                        todo, waiting = [], set()       # the head may be among those
                    elif told.target not in wanted:
                        wanted[told.target] = self.wanted(told.target)
                    break
                target = self.by_pc[told.target]
                self.change(target, self.joined(target, refusal))
                if target not in waiting:
                    waiting.add(target)
                    todo.append(target)

    def followed(self) -> set[tuple[int, int]]:
        """The edges that the checker takes."""
        out = set()
        for i in range(-1, len(self.certificate.labels)):
            if refusal := self.checker.block(self.view, SIZE, i, costs=False, told=True):
                raise self.lost(refusal)
            out |= {(row[0], row[1]) for row in self.checker.told.followed[0:self.checker.told.edges]}
        return out

    def headless(self, pc: int) -> bool:
        """Whether a loop around it has no label."""
        node = self.nodes.get(pc)
        return node is not None and any(head.first not in self.by_pc for head in self.projection.chain(node))

    def wanted(self, pc: int) -> Label:
        """A label where the verifier needs none: the checker does not see that nothing leads there."""
        node = self.nodes.get(pc)
        if node is None or pc in self.by_pc:
            raise self.lost(TARGET)
        return self.projection.label(node) if node in self.projection.analysis.invariants else self.label_of(node)

    def insert(self, labels: dict[int, Label]) -> None:
        self.certificate.labels = sorted([*self.certificate.labels, *labels.values()], key=lambda label: label.pc)
        self.certificate.shared = max(self.certificate.shared, *(FIRST + len(label.shared) for label in labels.values()))
        self.lay_out()

    def label_of(self, node: Any) -> Label:
        """What the checker knows now, as a label."""
        told, chain = self.checker.told, self.projection.chain(node)
        labels = {label.pc: label for label in self.certificate.labels}
        if any(head.first not in labels for head in chain):
            raise self.lost(TARGET)
        label = Label(node.first, 0, told.length, [labels[head.first].shared[k] for k, head in enumerate(chain)],
                      self.projection.number[chain[-1]] if chain else 0)
        regs = {r: told.reg[r] for r in range(10) if self.projection.live[node] >> r & 1}
        stack = sorted(told.slot[0:told.slots], key=lambda row: row.place ^ 1)          # what can be loaded as one word and as two: as two
        names = {LENGTH: (LENGTH, 0)} | {FIRST + k: (FIRST + k, 0) for k in range(len(chain))}
        users = Counter(row.sym for row in (*regs.values(), *stack) if row.kind and not row.any)
        for row in (*regs.values(), *stack):          # what several values share is bounded for all of them
            if row.sym and row.sym not in names and users[row.sym] > 1 and len(label.shared) < MAX_SHARED:
                if not self.related:
                    self.unrelated = True
                    break
                shift = max(0, row.off - row.lo)
                lo, hi, room = self.bounds_of(row, (row.sym, shift))
                if hi <= M32:
                    names[row.sym] = FIRST + len(label.shared), shift
                    label.shared.append(Given(NUMBER, lo, hi, None if room == NO_ROOM else room))

        def given(row: Any) -> Given | None:
            if row.sym in names and abs(off := row.off - names[row.sym][1]) < 1 << 15:
                return Given(row.kind, ref=names[row.sym][0], off=off)
            if row.kind == 0 or row.lo < 0 or row.hi > (M32 if row.kind == NUMBER else MAX_OFFSET):
                return None
            return Given(row.kind, row.lo, row.hi, None if row.room == NO_ROOM or row.lo == row.hi else row.room)
        label.regs = {r: g for r, row in regs.items() if (g := given(row))}
        covered: set[int] = set()
        for row in stack:
            word, pair = divmod(row.place, 2)
            if word not in covered and (g := given(row)):
                label.slots[row.place] = g
                covered |= {word, word + pair}
        label.written = written(told)
        return label

    def joined(self, target: int, refusal: int) -> Label:
        """What holds of both the label and the state that the checker came with."""
        told, label = self.checker.told, self.certificate.labels[target]
        out = label.copy().but(length=min(label.length, told.length), written=label.written & written(told))
        kept, head = self.kept[target], label.pc in self.heads
        if head:
            kept -= 1
        image: dict[int, tuple[int, int]] = {LENGTH: (LENGTH, 0)} | {FIRST + k: (FIRST + k, 0) for k in range(kept)}
        stack = {row.place: row for row in told.slot[0:told.slots]}
        for values, there in ((out.regs, {r: told.reg[r] for r in out.regs}), (out.slots, stack)):
            for place, g in list(values.items()):
                row = there.get(place)
                if row is None or row.kind != g.kind:
                    del values[place]
                elif row.any:
                    values[place] = ANY
                elif g.ref:
                    stands_for = row.sym, row.off - g.off
                    fits = g.ref in image or 0 <= row.lo - g.off and row.hi - g.off <= M32
                    if not fits or image.setdefault(g.ref, stands_for) != stands_for:
                        own = self.own(label, g)
                        self.keep(values, place, own and self.join(own, row, (target, id(values) == id(out.regs), place)))
                else:
                    self.keep(values, place, self.join(g, row, (target, id(values) == id(out.regs), place)))
        rows = {row.sym: row for row in (*told.reg[0:10], *told.slot[0:told.slots]) if row.kind and not row.any}
        for k, g in enumerate(label.shared):
            stands_for = image.get(FIRST + k)
            if stands_for is None:
                continue
            row = rows.get(stands_for[0])
            lo, hi, room = self.bounds_of(row, stands_for)
            if lo is None:
                continue
            if k == kept and head:
                unit = self.certificate.loops[label.loop - 1].unit
                out.shared[k] = self.counter(g, lo + -lo % unit, hi - hi % unit, room, (target, "counter"))
            elif (joined := self.join_bounds(g, lo, hi, room, (target, "shared", k))) is not None:
                out.shared[k] = joined
            else:
                raise self.lost(refusal)
        if out == label:
            raise self.lost(refusal)
        return out

    @staticmethod
    def keep(values: dict, place: int, g: Given | None) -> None:
        if g is None:
            del values[place]
        else:
            values[place] = g

    def bounds_of(self, row: Any, stands_for: tuple[int, int]) -> tuple:
        """Bounds and room of symbol + constant, from a row that holds the symbol."""
        if row is None:
            return None, None, None
        by = stands_for[1] - row.off
        return row.lo + by, row.hi + by, NO_ROOM if row.room == NO_ROOM else row.room - by

    def join(self, g: Given, row: Any, key: tuple) -> Given | None:
        return self.join_bounds(g, row.lo, row.hi, row.room, key)

    def join_bounds(self, g: Given, low: int, high: int, space: int, key: tuple) -> Given | None:
        """Both; if that goes on for long, more than that."""
        most = M32 if g.kind == NUMBER else MAX_OFFSET
        lo, hi = min(g.lo, low), max(g.hi, high)
        room = None if g.room is None or space == NO_ROOM else min(g.room, space)
        joined = g._replace(lo=lo, hi=hi, room=room)
        if joined == g:
            return g
        often = self.times[key] = self.times.get(key, 0) + 1
        if lo < 0 or often > MAX_TIMES:
            return None
        if often > 8:
            sizes = SIZES if g.kind == NUMBER else (CURSOR_END, MAX_OFFSET)
            lo, hi = 0, min((m for m in sizes if m >= hi), default=most + 1)
        if hi > most:
            return None
        return joined._replace(lo=lo, hi=hi, room=None if often > 16 else room)

    def counter(self, g: Given, lo: int, hi: int, space: int, key: tuple) -> Given:
        """A loop's own counter: its bounds are how often it turns."""
        room = g.room if g.room is None or g.room <= space else None
        lo, hi = min(g.lo, lo), max(g.hi, hi)
        if (lo, hi) == (g.lo, g.hi):
            return g._replace(room=room)
        often = self.times[key] = self.times.get(key, 0) + 1
        if often > 3:
            lo, hi = 0, min((m for m in (0xFF, 0x7FF, 0xFFFF) if m >= hi), default=1 << 33)
        if lo < 0 or hi > M32 or often > 12:
            raise self.lost(VALUE)
        return g._replace(lo=lo, hi=hi, room=room)

    def own(self, label: Label, g: Given) -> Given | None:
        """A reference as a value of its own."""
        if g.ref == LENGTH:
            return Given(g.kind, max(0, label.length + g.off), 2048 + max(g.off, 0), room=-g.off)
        s = label.shared[g.ref - FIRST]
        if s.lo + g.off < 0 or s.hi + g.off > (M32 if g.kind == NUMBER else MAX_OFFSET):
            return None
        return Given(g.kind, s.lo + g.off, s.hi + g.off, None if s.room is None else s.room - g.off)

    # What nobody needs --------------------------------------------------------------------------------
    def attempt(self, i: int, **changes: Any) -> bool:
        """Let a label say this instead, if its block is accepted still."""
        before, content, said = self.certificate.labels[i], self.content[i], self.said[i]
        if self.attempts == MAX_ATTEMPTS:
            return False
        self.attempts += 1
        kept = self.kept_at
        self.change(i, before.but(**changes))
        if self.checker.block(self.view, SIZE, i) == ACCEPTED:
            self.changes += 1
            self.changed[i] = self.changes
            return True
        if self.kept_at is kept:
            self.certificate.labels[i], self.said[i] = before, said
            self.write(i, content)
        else:                                         # all was laid out anew
            self.change(i, before)
        return False

    def weaken(self, i: int) -> None:
        if self.attempts == MAX_ATTEMPTS:
            return

        def now() -> Label:
            return self.certificate.labels[i]

        def attempt(**changes: Any) -> bool:
            return any(getattr(now(), field) != value for field, value in changes.items()) and self.attempt(i, **changes)

        if now().length:
            attempt(length=0)
        if now().slots or now().written:
            attempt(slots={}, written=frozenset()) or attempt(slots={}) or attempt(written=frozenset())
        needed = self.projection.read_surely[self.nodes[now().pc]]
        low = 512 - self.projection.sizes.frame
        spilled = {low + byte for place in now().slots for byte in range(place // 2 * 4, place // 2 * 4 + (8 if place & 1 else 4))}
        for part in halves(sorted(place for place in now().slots if not needed >> low + place // 2 * 4 & 1)):
            if part <= now().slots.keys():
                attempt(slots={place: g for place, g in now().slots.items() if place not in part})
        for part in halves(sorted({at // 8 for at in now().written if not needed >> at + low & 1 or at + low in spilled})):
            bytes_of = {8 * k + n for k in part for n in range(8)}
            if now().written & bytes_of:
                attempt(written=now().written - bytes_of)
        for where in ("regs", "slots"):
            label = now()
            choices = [(place, weaker) for place, g in getattr(label, where).items() if (weaker := self.weaker(label, g))]
            if choices:
                self.weaken_values(i, where, choices)
        self.weaken_shared(i)

    def weaken_values(self, i: int, where: str, choices: list[tuple[int, list[Given]]]) -> None:
        """All at once as far as that goes, then halves, then each as far as it goes. `choices`: for places values that say less, the least first."""
        if self.attempts == MAX_ATTEMPTS:
            return
        values = getattr(self.certificate.labels[i], where)
        if self.attempt(i, **{where: values | {place: weaker[0] for place, weaker in choices}}):
            return
        if len(choices) > 1:
            self.weaken_values(i, where, choices[:len(choices) // 2])
            self.weaken_values(i, where, choices[len(choices) // 2:])
            return
        [(place, weaker)] = choices                   # if not even the one that says most will do, none will
        if len(weaker) > 1 and self.attempt(i, **{where: values | {place: weaker[-1]}}):
            any(self.attempt(i, **{where: values | {place: g}}) for g in weaker[1:-1])

    def weaker(self, label: Label, g: Given) -> list[Given]:
        """Weaker values, the weakest first."""
        own = self.own(label, g) if g.ref else g
        return weaker_than(g, own, label.length) if own is not None else []

    def weaken_shared(self, i: int) -> None:
        """Drop symbols nobody refers to any more, and what is known of the others without need."""
        label, kept = self.certificate.labels[i], self.kept[i]
        used = {g.ref for g in (*label.regs.values(), *label.slots.values())}
        order = [k for k in range(len(label.shared)) if k < kept or FIRST + k in used]
        if len(order) < len(label.shared):
            to = {FIRST + k: FIRST + n for n, k in enumerate(order)}
            self.attempt(i, shared=[label.shared[k] for k in order],
                         regs={r: g._replace(ref=to.get(g.ref, g.ref)) for r, g in label.regs.items()},
                         slots={r: g._replace(ref=to.get(g.ref, g.ref)) for r, g in label.slots.items()})
        for k in range(len(self.certificate.labels[i].shared)):
            now = self.certificate.labels[i]
            s = now.shared[k]
            choices = [s._replace(room=None)]
            if not (k == kept - 1 and now.pc in self.heads):         # a counter's bounds are its loop's
                choices = [Given(NUMBER, 0, M32), Given(NUMBER, 0, MAX_OFFSET), Given(NUMBER, 0, CURSOR_END, room=s.room)] + choices
            for weaker in choices:
                if weaker != s and weaker.hi >= s.hi and self.attempt(i, shared=[*now.shared[:k], weaker, *now.shared[k + 1:]]):
                    break


def inner_first(leads: list[set[int]]) -> list[int]:
    """Each behind those that it leads to, where there is no circle; else the later one first."""
    order: list[int] = []
    met: set[int] = set()
    for start in range(len(leads) - 1, -1, -1):
        todo = [(start, False)]
        while todo:
            i, done = todo.pop()
            if done:
                order.append(i)
            elif i not in met:
                met.add(i)
                todo.append((i, True))
                todo.extend((j, False) for j in sorted(leads[i]))
    return order


@lru_cache(maxsize=1 << 14)
def weaker_than(g: Given, own: Given, length: int) -> list[Given]:
    """Weaker values than g, which is `own` by itself, where the packet has so many bytes; the weakest first. Each follows from the next one."""
    out: list[Given] = []
    if g.kind == NUMBER:
        out += [Given(NUMBER, 0, most) for most in (M32, 0xFFFF, 0xFF, 1) if own.hi <= most]
        out.append(own._replace(room=None))
    elif g.kind in (PKT, LOW):
        room = own.room if own.room is not None else length - own.hi
        if own.hi <= CURSOR_END and own.lo != own.hi:
            out.append(Given(g.kind, 0, CURSOR_END, room=room))
    elif own.lo != own.hi:
        out.append(own._replace(room=None))
    out.append(own)
    return [w for w in dict.fromkeys(out) if w != g and w.hi <= (M32 if g.kind == NUMBER else MAX_OFFSET)]


def written(told: Any) -> frozenset[int]:
    """Bytes of the stack that hold numbers, counted from the lowest in use."""
    return ones(int.from_bytes(bytes(told.written), "little"))


def halves(items: list[int]) -> Iterator[set[int]]:
    """Parts to do without: halves, their halves, and so on to single ones, each after the larger one it is of."""
    size = len(items) // 2
    while size:
        for at in range(0, len(items), size):
            yield set(items[at:at + size])
        size //= 2


