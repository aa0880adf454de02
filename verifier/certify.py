"""From a proof to its certificate: the invariants of the fixpoint, said in the checker's words, and of these what it needs.

Nothing here is trusted: what is written has been accepted by the checker (runtime/engine/certificate.c), else there is no certificate
and a reason.
"""
from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from . import domain as d
from .certificate import (ANY, BOTTOM, CURSOR_END, FIRST, KINDS, LENGTH, LOW, M32, MAX_OFFSET, NUMBER, PKT, STACK, Certificate, Given,
                          Label, LoopRow, body, frame, value, varint)
from .cfg import Loop, Node
from .state import LEN, LOW_HALF, NUMBER as A_NUMBER, POINTER, State, Value, stack_bits
from .verify import Analysis, Report

NO_ROOM, MAX_ROOM = -(1 << 15), (1 << 15) - 1
ACCEPTED = 0
MAX_MENDS, MAX_SWEEPS = 3000, 40                      # effort (rule 38)
SYMBOLS, SLOTS = 120, 64                              # room while it is searched what is needed


class NoCertificate(Exception):
    """The container has none; one line says why."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of what the image brings, and of its stack."""
    rodata: int = 0
    data: int = 0
    record: int = 0
    state: int = 0
    stack: int = 0

    @property
    def frame(self) -> int:
        return (self.stack + 7) // 8 * 8


def certify(text: bytes, report: Report, analysis: Analysis | None, sizes: Sizes) -> bytes:
    """The certificate of an accepted container. Raises NoCertificate."""
    return certificate_of(text, report, analysis, sizes).to_bytes()


def certificate_of(text: bytes, report: Report, analysis: Analysis | None, sizes: Sizes) -> Certificate:
    """As `certify`, before it becomes bytes."""
    if analysis is None:
        raise NoCertificate("it was not accepted")
    if not report.clean32:
        raise NoCertificate(f"slot {report.wide[0]} may need more than 32 bits of a register")
    if any(i.is_local_call for i in analysis.graph.insns.values()):
        raise NoCertificate("it has local functions")
    checker = Checker(text, sizes)
    certificate = Projection(analysis, sizes).certificate()
    try:
        Search(certificate, checker).run()
        return finish(certificate, checker)
    except ValueError as e:
        raise NoCertificate(str(e)) from None


def refusal(text: bytes, certificate: bytes, sizes: Sizes) -> str | None:
    """Why the engine refuses a certificate; None if it accepts it. Raises NoCertificate where there is no engine."""
    checker = Checker(text, sizes)
    found = checker.whole(certificate)
    return None if found == ACCEPTED else checker.name(found)


class Checker:
    """The engine's checker for one text."""

    def __init__(self, text: bytes, sizes: Sizes):
        from ..runtime.engine.build import BuildError, library
        try:
            self.ffi, self.lib = library()
        except (BuildError, OSError) as e:
            raise NoCertificate(f"the engine's checker cannot be built: {e}") from None
        self.text, self.length = self.ffi.from_buffer("uint8_t[]", text), len(text)
        self.sizes = self.ffi.new("uint32_t[]", [sizes.rodata, sizes.data, sizes.record, sizes.state, sizes.stack])
        self.work, self.room = self.ffi.new("uint64_t[]", 1024), 8192
        self.at, self.told = self.ffi.new("uint32_t *"), self.ffi.new("int64_t[8]")

    def refusal(self, certificate: Any, size: int, number: int = -2, room: int | None = None) -> int:
        """0, or why it is refused; `at` says where. `number`: a label's block; -2: everything."""
        return self.lib.lpn_writer_block(self.text, self.length, certificate, size, self.sizes, self.work, self.room if room is None else room,
                                         number, self.at, self.told)

    def whole(self, certificate: bytes, room: int | None = None) -> int:
        return self.refusal(self.ffi.from_buffer("uint8_t[]", certificate), len(certificate), room=room)

    def name(self, refusal: int) -> str:
        return f"{self.ffi.string(self.lib.lpn_writer_refusal_name(refusal)).decode()}, slot {self.at[0]}"


# Costs -------------------------------------------------------------------------------------------
class Costs:
    """What is left to be executed from each node on if the loops around are in their last turn, and what a turn costs at most."""

    def __init__(self, analysis: Analysis, turns: Mapping[Node, int]):
        self.analysis, self.turns = analysis, turns
        self.body: dict[Node, int] = {}               # by head
        round_trips: dict[Node, dict[Node, int]] = {}
        for loop in sorted(analysis.graph.loops, key=lambda l: -l.depth):
            if loop.head in analysis.invariants:
                round_trips[loop.head] = self.ways_round(loop)
                self.body[loop.head] = round_trips[loop.head].get(loop.head, 0)
        out: dict[Node, int] = {}
        for node in reversed(analysis.graph.nodes):
            if node in analysis.invariants:
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
        return (succ for i, (succ, _) in enumerate(node.succs) if self.analysis.live(node, i) and succ.order > node.order)

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
                    if self.analysis.live(node, i) and (succ is loop.head or succ in out and succ.order > node.order)]
            if ways and node in self.analysis.invariants:
                out[node] = len(node.code) + max(ways)
        return out


# Projection --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Counter:
    """A loop's counter: the verifier's symbol, what is added to make it unsigned, how much it moves, how often it can."""
    sym: int
    shift: int
    step: int
    turns: int


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
    live = {node: 0 for node in analysis.graph.nodes}
    changed = True
    while changed:
        changed = False
        for node in reversed(analysis.graph.nodes):
            behind = 0
            for succ, _ in node.succs:
                behind |= live[succ]
            new = use[node][0] | behind & ~use[node][1]
            if new != live[node]:
                live[node], changed = new, True
    return live


def live_stack(analysis: Analysis) -> dict[Node, int]:
    """For each node a bit for each byte of the stack (as Frame.written has them) that may be read before it is written."""
    everything = (1 << 512) - 1
    use: dict[Node, tuple[int, int]] = {}
    for node in analysis.graph.nodes:
        used = written = 0
        for slot, i in node.code:
            stack = any(region.startswith("stack") for region in analysis.touched.get(slot, ()))
            if i.is_load and stack or i.is_call:
                used |= (stack_bits(i.off, i.size) if i.is_load and i.src == 10 else everything if stack or i.is_call else 0) & ~written
            elif i.is_store and i.dst == 10:
                written |= stack_bits(i.off, i.size)
        use[node] = used, written
    live = {node: 0 for node in analysis.graph.nodes}
    changed = True
    while changed:
        changed = False
        for node in reversed(analysis.graph.nodes):
            behind = 0
            for succ, _ in node.succs:
                behind |= live[succ]
            new = use[node][0] | behind & ~use[node][1]
            if new != live[node]:
                live[node], changed = new, True
    return live


class Projection:
    """The invariants, as labels."""

    def __init__(self, analysis: Analysis, sizes: Sizes):
        from ..compiler.helpers import BY_NUMBER
        self.analysis, self.sizes, graph = analysis, sizes, analysis.graph
        self.live = live_registers(analysis, {n: len(h.args) for n, h in BY_NUMBER.items()})
        self.live_stack = live_stack(analysis)
        self.loops = [loop for loop in graph.loops if loop.head in analysis.invariants and any(
            analysis.out.get(e) is not None for e in loop.back_edges())]
        self.number = {loop.head: i for i, loop in enumerate(self.loops, 1)}
        self.counters = {loop.head: self.counter(loop) for loop in self.loops}

    def counter(self, loop: Loop) -> Counter:
        """What every turn moves by a constant, and has bounds at the head; the fewest turns."""
        head = self.analysis.invariants[loop.head]
        at_head = dict(head.places())
        best = None
        for sym, place in self.analysis.made.get(loop.head, {}).items():
            moves = set()
            for edge in loop.back_edges():
                state = self.analysis.out.get(edge)
                if state is None:
                    continue
                v, old = dict(state.places()).get(place), at_head.get(place)
                if v is None or old is None or v.kind != old.kind or v.region != old.region or v.sym != old.sym != sym or v.sym != sym:
                    moves.add(None)
                    break
                moves.add(v.off - old.off)
            if not moves or None in moves or 0 in moves or len({m > 0 for m in moves}) > 1:
                continue
            step = min(moves, key=abs)
            lo, hi = head.bounds(sym)
            if hi - lo > M32 or abs(step) > 127:
                continue
            found = Counter(sym, max(0, -lo), step, (hi - lo) // abs(step))
            if best is None or found.turns < best.turns:
                best = found
        if best is None:
            raise NoCertificate(f"no register or stack slot counts the loop at slot {loop.head.first} by a constant")
        return best

    def chain(self, node: Node) -> list[Node]:
        """Heads of the loops around a node, outermost first."""
        out, loop = [], node.loop
        while loop is not None:
            if loop.head in self.number:
                out.append(loop.head)
            loop = loop.parent
        return out[::-1]

    def certificate(self) -> Certificate:
        analysis, graph = self.analysis, self.analysis.graph
        turns = {node: 0 for node in analysis.invariants} | {head: c.turns for head, c in self.counters.items()}
        costs = Costs(analysis, turns)
        targets = {succ for node in graph.nodes for i, (succ, kind) in enumerate(node.succs) if kind == "taken" and analysis.live(node, i)}
        labels = [self.label(node, costs.left[node]) for node in sorted(targets, key=lambda n: n.first) if node in analysis.invariants]
        entry = graph.nodes[0]
        cost = costs.left[entry] + (costs.body[entry] * turns[entry] if entry in self.number else 0)
        rows = [LoopRow(loop.head.first, self.number.get(loop.parent.head, 0) if loop.parent else 0, self.counters[loop.head].step,
                        costs.body[loop.head]) for loop in self.loops]
        most = max((len(label.shared) for label in labels), default=0)
        return Certificate(SYMBOLS, FIRST + most, SLOTS, cost, labels, rows)

    def label(self, node: Node, cost: int) -> Label:
        s, chain = self.analysis.invariants[node], self.chain(node)
        counters = {self.counters[head].sym: i for i, head in enumerate(chain)}
        values = {("r", r): v for r, v in enumerate(s.regs[:10]) if v is not None and self.live[node] >> r & 1 and self.known(s, v)}
        spilled = set()
        for off, (size, v) in s.frames[0].slots.items():
            if v.kind in (POINTER, LOW_HALF):
                spilled |= set(range(off, off + size))
            if size in (4, 8) and off % 4 == 0 and self.known(s, v) and self.live_stack[node] & stack_bits(off, size):
                values["s", (off + BOTTOM) // 4 | (128 if size == 8 else 0)] = v
        users: dict[int, int] = {}
        for v in values.values():
            users[v.sym] = users.get(v.sym, 0) + 1
        shared = [self.symbol(s, sym, self.counters[head].shift) for head, sym in ((h, self.counters[h].sym) for h in chain)]
        names = {sym: (FIRST + i, self.counters[chain[i]].shift) for sym, i in counters.items()} | {LEN: (LENGTH, 0)}
        for sym, count in users.items():
            if sym and sym not in names and count > 1 and len(shared) < 60:
                lo, hi = s.bounds(sym)
                shift = max(0, -lo)
                if hi + shift <= M32:
                    names[sym] = FIRST + len(shared), shift
                    shared.append(self.symbol(s, sym, shift))
        label = Label(node.first, cost, min(s.bounds(LEN)[0], 2048), shared, self.number[chain[-1]] if chain else 0)
        for (where, place), v in values.items():
            off = v.off + (BOTTOM if v.region == "stack0" else 0)
            kind = NUMBER if v.kind == A_NUMBER else LOW if v.kind == LOW_HALF else KINDS[v.region or ""]
            if v.sym in names and abs(off - names[v.sym][1]) < 1 << 15:
                g: Given | None = Given(kind, ref=names[v.sym][0], off=off - names[v.sym][1])
            else:
                g = self.own(s, v, kind)
            if g is not None:
                (label.regs if where == "r" else label.slots)[place] = g
        low = 512 - self.sizes.frame
        label.written = frozenset(i - low for i in range(low, 512) if s.frames[0].written & self.live_stack[node] & 1 << i and i - 512 not in spilled)
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
            n, shift = s.num(v), BOTTOM if v.region == "stack0" else 0
            lo, hi = (x + shift for x in s.offsets(v))
            if lo < 0 or hi > MAX_OFFSET:
                return None
        lo, hi, step = self.stepped(s, v, n, lo, hi)
        return Given(kind, lo, hi, step, room=self.room(s, v) if lo < hi and kind in (NUMBER, PKT, LOW) else None)

    def symbol(self, s: State, sym: int, shift: int) -> Given:
        v = Value(A_NUMBER, None, sym, shift)
        lo, hi = s.offsets(v)
        lo, hi, step = self.stepped(s, v, s.num(v), lo, hi)
        return Given(NUMBER, lo, hi, step, self.room(s, v))

    def stepped(self, s: State, v: Value, n: d.Num, lo: int, hi: int) -> tuple[int, int, int]:
        """The bounds with the step between values, by what is known of its multiples or of its lowest bits."""
        m, r = s.stride(v)
        low = n.mask & -n.mask
        step, rest = (low, n.bits) if low > m else (m, r)
        while step > 255:
            step = step // 2 if step % 2 == 0 else 1
        if step <= 1 or lo == hi or n.uhi > M32:
            return lo, hi, 1
        shift = BOTTOM if v.region == "stack0" else 0
        lo += (rest + shift - lo) % step
        return lo, hi - (hi - lo) % step, step

    def room(self, s: State, v: Value) -> int | None:
        gap = s.gap(v.sym, LEN)[0] - v.off
        return gap if -2200 < gap <= MAX_ROOM else None


# What is needed ----------------------------------------------------------------------------------
class Search:
    """Weakens each label, block by block from the text's end on, as long as the checker still accepts the block behind it: what is
    weaker is never harder to reach."""

    SLACK = 12

    def __init__(self, certificate: Certificate, checker: Checker):
        self.certificate, self.checker = certificate, checker
        labels = certificate.labels
        self.frames: dict[bytes, int] = {}
        head = certificate.begin(1, len(labels))
        tables = len(head)
        self.frame_table = tables + 4 * len(labels) + 8 * len(certificate.loops)
        at = self.frame_table + 2 * len(labels)
        bodies = [body(label, i if frame(label) else 0) for i, label in enumerate(labels, 1)]
        self.start, self.room, index = [], [], []
        for label, content in zip(labels, bodies):
            self.start.append(at)
            self.room.append(len(content) + self.SLACK)
            index.append(struct.pack("<HH", label.pc, at & 0xFFFF))
            at += self.room[-1]
        blob = bytearray(head + b"".join(index) + certificate.loop_rows() + bytes(2 * len(labels)))
        for content, room in zip(bodies, self.room):
            blob += content.ljust(room, b"\0")
        self.free = self.first_frame = len(blob)
        self.sweeps = 0
        blob += bytes(0x10000)
        self.blob = blob
        self.view = checker.ffi.from_buffer("uint8_t[]", blob)
        if self.free > 0xF000 and labels:
            raise ValueError("the certificate has more than 65535 bytes")
        for i, label in enumerate(labels):
            self.put_frame(i, label)

    def put_frame(self, i: int, label: Label) -> None:
        content = frame(label)
        if content and content not in self.frames:
            if self.free + len(content) > 0xFFFF:
                self.sweep(i)
            if self.free + len(content) > 0xFFFF:
                raise ValueError("the certificate has more than 65535 bytes")
            self.blob[self.free:self.free + len(content)] = content
            self.frames[content] = self.free
            self.free += len(content)
        at = self.frame_table + 2 * i
        self.blob[at:at + 2] = struct.pack("<H", self.frames[content] if content else 0)

    def sweep(self, but: int) -> None:
        """Forget the frames no label has. ValueError when that goes on for long."""
        self.sweeps += 1
        if self.sweeps > MAX_SWEEPS:
            raise ValueError("what its labels say of the stack takes too much room")
        used = {}
        for n, label in enumerate(self.certificate.labels):
            if n != but and (content := frame(label)):
                used.setdefault(content, []).append(n)
        self.frames, self.free = {}, self.first_frame
        for content, users in used.items():
            self.blob[self.free:self.free + len(content)] = content
            self.frames[content] = self.free
            for n in users:
                at = self.frame_table + 2 * n
                self.blob[at:at + 2] = struct.pack("<H", self.free)
            self.free += len(content)

    def accepted(self, i: int) -> bool:
        return self.checker.refusal(self.view, 0xFFFF, i) == ACCEPTED

    def put(self, i: int, label: Label) -> bool:
        content = body(label, i + 1 if frame(label) else 0)
        if len(content) > self.room[i]:
            return False
        self.blob[self.start[i]:self.start[i] + len(content)] = content
        self.put_frame(i, label)
        return True

    def attempt(self, i: int, label: Label) -> bool:
        """Take this label instead, if its block is accepted still."""
        before = self.certificate.labels[i]
        free = self.free
        if self.put(i, label) and self.accepted(i):
            self.certificate.labels[i] = label
            return True
        if self.free != free:                         # a frame nobody uses
            self.frames = {content: at for content, at in self.frames.items() if at < free}
            self.free = free
        self.put(i, before)
        return False

    def run(self) -> None:
        labels = self.certificate.labels
        self.repair()
        for _ in range(2):
            for i in range(len(labels) - 1, -1, -1):
                self.weaken(i)

    # What the checker cannot follow: the label says too much
    def repair(self) -> None:
        """Joins to each label what the checker finds on the ways to it, until it follows."""
        labels = self.certificate.labels
        self.by_start = {at: i for i, at in enumerate(self.start)}
        self.times: dict[tuple, int] = {}
        self.mends = 0
        todo = list(range(len(labels) - 1, -2, -1))
        waiting = set(todo)
        while todo:
            i = todo.pop()
            waiting.discard(i)
            while (refusal := self.checker.refusal(self.view, 0xFFFF, i)) != ACCEPTED:
                target = self.target(i)
                if target is None or not self.mend(target, refusal):
                    raise NoCertificate(f"the checker does not follow: {self.checker.name(refusal)}")
                if target not in waiting:
                    waiting.add(target)
                    todo.append(target)

    def target(self, i: int) -> int | None:
        """The label that the last refused edge leads to."""
        at = self.checker.at[0]
        labels, text = self.certificate.labels, self.checker.ffi.buffer(self.checker.text)
        pcs = {label.pc: n for n, label in enumerate(labels)}
        if at in pcs and pcs[at] == i + 1:            # it falls into the next one
            return pcs[at]
        op, _, off, imm = struct.unpack_from("<BBhi", text, 8 * at)
        if op & 7 not in (5, 6) or op in (0x85, 0x95):
            return None
        return pcs.get(at + 1 + (imm if op == 0x06 else off))

    def mend(self, target: int, refusal: int) -> bool:
        """Say less where it was refused. False when that cannot be."""
        label, told = self.certificate.labels[target].copy(), list(self.checker.told)
        what, place = told[0], None
        key: tuple
        if refusal == 7:
            label.length = max(0, told[7])
            key = "length",
        elif refusal == 6 and what == 3:
            label.slots.pop(told[2])
            key = "slot", told[2]
        elif refusal == 6 and what == 4:
            label.written = label.written - {told[2]}
            key = "written", told[2]
        elif refusal != 5:
            return False
        elif what == 1:
            where, place = self.place(target, told[1])
            values = label.regs if where == "r" else label.slots
            g = values[place]
            key = where, place
            if g.kind != told[2]:
                del values[place]
            elif g.ref:
                own = self.own(label, g)
                if own is None:
                    return False
                values[place] = own
            else:
                self.join(values, place, g, told, (target, *key))
        elif what == 2:
            k = self.shared_at(target, told[1])
            values = dict(enumerate(label.shared))
            key = "shared", k
            if label.pc in (row.head for row in self.certificate.loops) and k == self.kept(label) - 1:
                g = replace(label.shared[k], room=None)     # its bounds are what the loop's cost rests on
                g = g if g != label.shared[k] else replace(g, step=1)
                if g == label.shared[k]:
                    return False
                values[k] = g
            else:
                self.join(values, k, label.shared[k], told, (target, *key))
            label.shared = [values[n] for n in range(len(label.shared))]
        else:
            return False
        self.times[target, *key] = self.times.get((target, *key), 0) + 1
        self.mends += 1
        if self.times[target, *key] > 60 or self.mends > MAX_MENDS:
            return False
        self.certificate.labels[target] = label
        return self.put(target, label)

    def join(self, values: dict, place: Any, g: Given, told: list[int], key: tuple) -> None:
        """What holds of both; if that goes on for long, more than that."""
        lo, hi, often = min(g.lo, told[3]), max(g.hi, told[4]), self.times.get(key, 0)
        room = None if g.room is None or told[6] == NO_ROOM else min(g.room, told[6])
        step = gcd(g.step, told[5], abs(g.lo - told[3])) if g.lo != g.hi else gcd(told[5], abs(g.lo - told[3])) or 1
        if lo < 0 or often > 4 and g.kind != NUMBER and hi > MAX_OFFSET // 2:
            del values[place]
            return
        if often > 4:
            lo, step = 0, 1
            hi = min(m for m in (1, 0xFF, 0xFFFF, M32) if m >= hi) if g.kind == NUMBER else 2 * hi
        if often > 8:
            room = None
        values[place] = replace(g, lo=lo, hi=hi, step=step if step < 256 else 1, room=room)

    def own(self, label: Label, g: Given) -> Given | None:
        """A reference as a value of its own."""
        if g.ref == LENGTH:
            return Given(g.kind, max(0, label.length + g.off), 2048 + max(g.off, 0), room=-g.off)
        s = label.shared[g.ref - FIRST]
        if s.lo + g.off < 0 or s.hi + g.off > (M32 if g.kind == NUMBER else MAX_OFFSET):
            return None
        return Given(g.kind, s.lo + g.off, s.hi + g.off, s.step, None if s.room is None else s.room - g.off)

    def kept(self, label: Label) -> int:
        """How many loops it lies in."""
        n, loop = 0, label.loop
        while loop:
            n, loop = n + 1, self.certificate.loops[loop - 1].parent
        return n

    def place(self, target: int, end: int) -> tuple[str, int]:
        """The register or slot whose value ends there."""
        label = self.certificate.labels[target]
        content = frame(label)
        if content and (start := self.frames[content]) < end <= start + len(content):
            at = start + len(varint(len(label.slots)))
            for place, g in sorted(label.slots.items()):
                at += 1 + len(value(g))
                if at == end:
                    return "s", place
        at = self.start[target] + len(body(label, target + 1 if content else 0))
        for r, g in sorted(label.regs.items(), reverse=True):
            if at == end:
                return "r", r
            at -= len(value(g))
        raise NoCertificate("the checker lost its way")

    def shared_at(self, target: int, end: int) -> int:
        label = self.certificate.labels[target]
        at = self.start[target] + len(varint(label.cost)) + 2 + (len(varint(label.length)) if label.length else 0) + len(varint(len(label.shared)))
        for k, g in enumerate(label.shared):
            at += len(value(replace(g, kind=NUMBER)))
            if at == end:
                return k
        raise NoCertificate("the checker lost its way")

    # What nobody needs
    def weaken(self, i: int) -> None:
        labels = self.certificate.labels

        def attempt(**changes: Any) -> bool:
            return self.attempt(i, replace(labels[i].copy(), **changes))

        label = labels[i]
        if label.length:
            attempt(length=0)
        if label.slots or label.written:
            attempt(slots={}, written=frozenset()) or attempt(slots={}) or attempt(written=frozenset())
        for place in list(labels[i].slots):
            slots = dict(labels[i].slots)
            del slots[place]
            attempt(slots=slots)
        self.weaken_written(i)
        for where in ("regs", "slots"):
            for place in list(getattr(labels[i], where)):
                for weaker in self.weaker(labels[i], getattr(labels[i], where)[place]):
                    if attempt(**{where: getattr(labels[i], where) | {place: weaker}}):
                        break
        self.weaken_shared(i)

    def weaken_written(self, i: int) -> None:
        """Drop runs of eight bytes, then single bytes' runs."""
        label = self.certificate.labels[i]
        for first in sorted({at // 8 for at in label.written}):
            now = self.certificate.labels[i]
            self.attempt(i, replace(now.copy(), written=now.written - set(range(8 * first, 8 * first + 8))))

    def weaker(self, label: Label, g: Given) -> list[Given]:
        """Weaker values, the weakest first."""
        out: list[Given] = []
        own = self.own(label, g) if g.ref else g
        if own is None:
            return out
        if g.kind == NUMBER:
            out += [Given(NUMBER, 0, most) for most in (M32, 0xFFFF, 0xFF, 1) if own.hi <= most]
            out += [replace(own, room=None, step=1), replace(own, room=None)]
        elif g.kind in (PKT, LOW):
            if own.room is not None and own.hi <= CURSOR_END:
                out.append(Given(g.kind, 0, CURSOR_END, room=own.room))
            out += [replace(own, step=1)]
        elif own.lo != own.hi:
            out += [replace(own, step=1, room=None), replace(own, room=None)]
        out.append(own)
        return [w for w in out if w != g and w.hi <= (M32 if g.kind == NUMBER else MAX_OFFSET)]

    def weaken_shared(self, i: int) -> None:
        """Drop symbols nobody refers to any more, and what is known of the others without need."""
        label = self.certificate.labels[i]
        kept = self.kept(label)
        used = {g.ref for g in (*label.regs.values(), *label.slots.values())}
        order = [k for k in range(len(label.shared)) if k < kept or FIRST + k in used]
        if len(order) < len(label.shared):
            to = {FIRST + k: FIRST + n for n, k in enumerate(order)}
            fewer = replace(label.copy(), shared=[label.shared[k] for k in order],
                            regs={r: replace(g, ref=to.get(g.ref, g.ref)) for r, g in label.regs.items()},
                            slots={r: replace(g, ref=to.get(g.ref, g.ref)) for r, g in label.slots.items()})
            self.attempt(i, fewer)
        heads = {row.head for row in self.certificate.loops}
        for k in range(len(self.certificate.labels[i].shared)):
            now = self.certificate.labels[i]
            s = now.shared[k]
            own_counter = k == kept - 1 and now.pc in heads          # its bounds are the loop's
            choices = [replace(s, room=None, step=1), replace(s, room=None), replace(s, step=1)]
            if not own_counter:
                choices = [Given(NUMBER, 0, M32), Given(NUMBER, 0, MAX_OFFSET), Given(NUMBER, 0, CURSOR_END, room=s.room)] + choices
            for weaker in choices:
                if weaker != s and weaker.hi >= s.hi and self.attempt(i, replace(now.copy(), shared=[*now.shared[:k], weaker, *now.shared[k + 1:]])):
                    break


def finish(certificate: Certificate, checker: Checker) -> Certificate:
    """With room for no more symbols and slots than needed, as the checker accepts it."""
    certificate = replace(certificate, shared=FIRST + max((len(label.shared) for label in certificate.labels), default=0))

    def fits(**sizes: int) -> bool:
        return checker.whole(replace(certificate, **sizes).to_bytes()) == ACCEPTED
    if not fits():
        raise NoCertificate(f"the checker refuses it: {checker.name(checker.whole(certificate.to_bytes()))}")
    for name, low in (("slots", 0), ("symbols", certificate.shared)):
        high = getattr(certificate, name)
        while low < high:                             # more room never makes a difference for the worse
            middle = (low + high) // 2
            if fits(**{name: middle}):
                high = middle
            else:
                low = middle + 1
        certificate = replace(certificate, **{name: high})
    if not fits():
        raise NoCertificate(f"the checker refuses it: {checker.name(checker.whole(certificate.to_bytes()))}")
    return certificate
