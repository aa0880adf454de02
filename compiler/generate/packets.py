"""Packets for a program: random bytes, repaired until its parser takes them, then perhaps damaged.

The reference interpreter says where a packet is refused and where the refused field lies; the field is given a value that
its own check allows, and the packet tried again. That needs no inverse of the parser, and reaches deep states. Behind the parser
fields get the numbers that somebody looks for there, if that is asked for.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from lpn.lang import ast
from lpn.lang.hooks import Hook
from lpn.lang.instances import walk
from lpn.lang.reference import Reference
from lpn.lang.reference.headers import Instance, Located, swap
from lpn.lang.reference.modules import run_module
from lpn.lang.reference.run import Run, Taken
from lpn.lang.reference.scope import Scope
from lpn.lang.reference.values import unsigned, width_of
from lpn.lang.types import EnumType, Varbit

from .asked import Wish, little, place, seen_ahead, ways, wishes
from .base import Choose
from .followed import Asked, Followed, FollowedRun, Matched, NotingCalls
from .looked_for import PARSING, interest
from .solve import solve

REPAIRS = 40
AGAIN = 60                                      # of what was mended before, beyond these
BACK = 3                                        # selects back from where a packet is refused that may take another case
VAIN = 6                                        # times that no other values are found: then they are looked for as rarely
MAX_FRAME = 300
NO_ROOM = "PacketTooShort", "StackOutOfBounds"
NODE = {"node_short": 0, "node_ext": 0, "node_pan": 0}      # of most packets: those that come with nothing beside them


class Packets:
    """For the chain of a hook, by default that of `radio.rx_done`. `aim`: at what is behind the parser; then no trouble is spared to get
    through that."""

    def __init__(self, reference: Reference, state, aim: bool = False, hook: Hook | None = None) -> None:
        self.reference, self.state = reference, state
        program = reference.program
        self.good: list[bytes] = []             # frames that the parser took
        self.vain: Counter[str] = Counter()     # by reason, for how many no other values were found since some were
        self.failed = 0                         # repairs that came to no end: the parser takes hardly anything
        self.parsers = [m for m in program.chain_of(hook) if isinstance(m, ast.Parser)]
        self.wishes = wishes(program)
        self.cases = {id(case.keys): node for parser in self.parsers[:1] for node in walk(parser) if isinstance(node, ast.Transition) and node.select is not None
                      for case in node.cases}
        self.ways = ways(self.parsers[0]) if aim and self.parsers else []
        self.codecs = any(isinstance(decl, ast.Codec) for decl in program.decls)
        behind = [decl for decl in program.decls if not isinstance(decl, PARSING)]
        self.looked_for = interest(behind, state, NODE) if aim else None

    def packet(self, choose: Choose) -> bytes:
        """A frame; every other one has numbers that the program looks for."""
        frame = self.new(choose)
        if self.looked_for is None:
            return frame
        if choose.chance(1, 2):
            frame = self.aimed(frame, choose)
        return self.summed(frame) if choose.chance(1, 2) else frame

    def summed(self, frame: bytes) -> bytes:
        """The frame with right checksums, as far as the parser came."""
        made, run = bytearray(frame), self.reference.prepare(frame, {}, self.state)
        if self.parsers:
            run_module(run, self.parsers[0])
        self.make_hold(made, run)
        return bytes(made)

    def aimed(self, frame: bytes, choose: Choose) -> bytes:
        """A frame that the parser takes, some of its fields as the program behind looks for them; every other one goes the way of one
        of the cases of the parser's selects, if it comes there."""
        run = self.taking(frame)
        if run is None:
            return frame
        frame = bytes(self.repair(self.long(self.sought(frame, run.taken, choose), run.packet.payload, choose), choose, 1))
        if self.ways and choose.chance(1, 2) and (run := self.taking(frame)) is not None:
            way = choose.pick(self.ways)
            frame = self.led(bytearray(frame), run, way, choose)
            led = self.taking(frame)
            if led is not None and len(led.taken) > len(run.taken):     # those before are not changed: where one grows, others begin elsewhere
                frame = self.led(self.sought(frame, led.taken[len(run.taken):], choose), run, way, choose)
        return frame

    def led(self, frame: bytearray, run: Run, way: list[Wish], choose: Choose) -> bytes:
        """The frame with what a case asks for, where the run came to it; again where numbers were written over that."""
        for wish in way:
            self.give(frame, run, wish)
        return bytes(self.repair(frame, choose, 1))

    def sought(self, frame: bytes, headers: list[Taken], choose: Choose) -> bytearray:
        """The frame with numbers in these headers that the program looks for."""
        assert self.looked_for is not None
        made = bytearray(frame)
        for taken in headers:
            for located in self.places(taken):
                item = located.field
                width = 0 if isinstance(item.type, Varbit) else width_of(item.type)
                numbers = [one for one in self.looked_for.get(item) or self.looked_for.held.get(width, ()) if one < 1 << width]
                if numbers and choose.chance(1, 2):
                    write(made, taken, located, choose.pick(numbers))
        return made

    def long(self, frame: bytearray, payload: int, choose: Choose) -> bytearray:
        """The frame, every other one with as much behind its headers as the program looks for."""
        assert self.looked_for is not None
        sizes = [size for size in self.looked_for.payloads if payload + size <= MAX_FRAME]
        if not sizes or choose.chance(1, 2):
            return frame
        size = choose.pick(sizes)
        return frame[:payload + size] + bytes(choose.value(8) for _ in range(payload + size - len(frame)))

    def taking(self, frame: bytes) -> Run | None:
        """The parser's run on a frame that it takes."""
        run = self.looking(frame)
        return run if self.parsers and run_module(run, self.parsers[0]).reason is None else None

    def looking(self, frame: bytes) -> Run:
        """A run that remembers where it looks ahead."""
        run = self.reference.prepare(frame, {}, self.state)
        run.calls = NotingCalls(run)
        return run

    def places(self, taken: Taken) -> list[Located]:
        """Where fields of a header lie."""
        if taken.codec is None:
            return taken.instance.located
        return taken.said if self.looked_for is not None else []

    def new(self, choose: Choose) -> bytes:
        """A new frame, or one that was taken with a few octets changed."""
        if self.good and choose.chance(1, 2):
            frame = bytearray(choose.pick(self.good))
            for _ in range(choose.number(0, 3)):
                frame[choose.number(0, len(frame) - 1)] = choose.value(8)
            return bytes(frame)
        frame = bytearray(choose.value(8) for _ in range(choose.number(0, 12)))
        filling = choose.number(0, (1 << 16) - 1)
        kind = choose.number(0, 7)
        if kind:
            frame = self.repair(frame, choose, filling)
        if kind in (3, 4) and self.codecs:
            frame = self.make_usual(frame, choose, filling)
        if kind == 5 and frame:
            frame[choose.number(0, len(frame) - 1)] ^= 1 << choose.number(0, 7)
        elif kind == 6:
            lost = choose.number(1, 3) if choose.chance(1, 2) else choose.number(0, len(frame))        # what is missed then is the last that is asked for
            frame = frame[:max(len(frame) - lost, 0)]
        elif kind == 7:
            frame += bytes(choose.value(8) for _ in range(choose.number(1, 9)))
        return bytes(frame)

    def repair(self, frame: bytearray, choose: Choose, filling: int) -> bytearray:
        met: set[str] = set()                   # reasons for which what is written there was tried first: that is quick
        held: set[str] = set()                  # those for which sums were made right
        turns, turn, free = REPAIRS if self.failed < 2 or self.looked_for is not None else REPAIRS // 4, 0, AGAIN
        while turn < turns:
            run = self.looking(bytes(frame))
            reason = run_module(run, self.parsers[0]).reason if self.parsers else None
            turn += 1
            if reason is None:
                if filling & 1:
                    self.make_hold(frame, run)
                if frame:
                    self.good.append(bytes(frame))
                return frame
            if turn > 12 and reason in NO_ROOM and self.make_room(frame, run, filling := drawn(filling)):
                pass                            # tried again
            elif reason == "PacketTooShort":
                if len(frame) > MAX_FRAME:
                    return frame
                for _ in range(2 if turn <= 6 else 8 if turn <= 12 else 24):
                    filling = drawn(filling)
                    frame.append(filling >> 16 & (0xFF if filling & 0x300000 else 3))
            elif self.mend(frame, run, reason, choose) or reason in held and self.make_hold(frame, run):
                if reason in met and free:      # it was right before something grew
                    turn, free = turn - 1, free - 1
            elif not (reason in met and self.solvable(reason, choose) and self.solved(frame, reason, choose)) and not self.grant(frame, run, reason, choose):
                if self.make_hold(frame, run):
                    held.add(reason)
                elif not frame:
                    return frame
                else:
                    filling = drawn(filling)
                    low = min(run.taken[-1].start, len(frame) - 1) if run.taken and filling & 0x100 else 0
                    frame[low + (filling >> 9) % (len(frame) - low)] = filling >> 20 & (0xFF if filling & 0x10000 else 3)
            met.add(reason)
        self.failed += 1
        return frame

    def make_room(self, frame: bytearray, run: Run, number: int) -> bool:
        """Without what has no room, which may be the last of many, or with a small number in a field of it, which may say how long it is. Every other time neither."""
        match number >> 20 & 3:
            case 0 if 0 < run.packet.payload < len(frame):
                del frame[run.packet.payload:]
                return True
            case 1 if run.taken and (taken := run.taken[-1]).codec is None and taken.end is None:
                fields = [one for one in taken.instance.located if not isinstance(one.field.type, Varbit)]
                if fields:
                    located = fields[(number >> 5) % len(fields)]
                    write(frame, taken, located, number >> 10 & 7 & (1 << width_of(located.field.type)) - 1)
                return bool(fields)
        return False

    def mend(self, frame: bytearray, run: Run, reason: str, choose: Choose) -> bool:
        """Change the packet so that the check called `reason` passes."""
        if not run.taken:
            return False
        taken = run.taken[-1]
        instance = taken.instance
        if taken.codec is not None:
            return self.mend_tag(frame, taken.codec, 8 * taken.start, reason, choose)
        for located in instance.located:
            item = located.field
            if isinstance(item, ast.Field) and reason == f"{instance.header.name}.{item.name}":
                value = self.allowed(instance, item, choose)
                if value is not None and (item.name != "_" or wrong(instance, item)):
                    write(frame, taken, located, value)
                    if item.name != "_":
                        return True
        return False

    def solved(self, frame: bytearray, reason: str, choose: Choose) -> bool:
        """Other values of what is read, with which the packet goes on where it was refused, or takes another way to there."""
        run = FollowedRun(self.reference.program, self.reference.derived, bytes(frame), {}, self.state, self.reference.externs)
        run_module(run, self.parsers[0])
        for asked in self.others(run, reason, choose):
            found = solve(run, asked, lambda fitting: fitting[0] if choose.chance(1, 2) else choose.pick(fitting), choose.chance(1, 2))
            if found is not None:
                for origin, value in found.items():
                    if origin.located is None:
                        frame[:] = frame[:value] + bytes(choose.value(8) for _ in range(value - len(frame)))
                    elif origin.taken is None:
                        position, width, value = origin.located.position, origin.located.width, unsigned(value, origin.located.width)
                        put(frame, position, width, swap(value, width) if little(origin.located.field) else value)      # type: ignore[arg-type]
                    else:
                        write(frame, origin.taken, origin.located, unsigned(value, width_of(origin.located.field.type)))
                self.vain[reason] = 0
                return True
        self.vain[reason] += 1
        return False

    def solvable(self, reason: str, choose: Choose) -> bool:
        """Whether it is worth the time: what a codec says of a row that nobody can choose, say, is asked for in vain."""
        return self.vain[reason] < VAIN or choose.chance(1, VAIN)

    def others(self, run: FollowedRun, reason: str, choose: Choose) -> Iterator[list[Asked]]:
        """What would have to hold: the condition that refused it, or another case of the select that did, or of those that led where there is no room left."""
        if run.refusing is not None:
            if isinstance(run.refusing, Followed):
                yield [*run.path, Asked(run.refusing, True)]
            return
        selects: dict[int, list[Matched]] = {}
        for one in run.matched:
            if id(one.keys) in self.cases:
                selects.setdefault(id(one.values), []).append(one)
        for select in islice(reversed(selects.values()), BACK):
            transition = self.cases[id(select[0].keys)]
            before = run.path[:select[0].before]
            scope = Scope()
            cases = [(case, run.expressions.matching(select[0].values, case.keys, scope)) for case in transition.cases]
            taken = next((case for case, found in cases if found), None)
            going = [at for at, (case, _) in enumerate(cases) if case.target != "reject" and case is not taken]
            lost = taken is None or taken.target == "reject"
            if not lost and reason != "StackOutOfBounds" and run.place is not select[-1].keys[0]:
                return
            if going:
                at = choose.pick(going)
                asked = [*((found, False) for _, found in cases[:at]), (cases[at][1], True)]
                if all(isinstance(found, Followed) or bool(found) == wanted for found, wanted in asked):
                    yield [*before, *(Asked(found, wanted) for found, wanted in asked if isinstance(found, Followed))]
            if lost:
                return

    def grant(self, frame: bytearray, run: Run, reason: str, choose: Choose) -> bool:
        """One of the things that the program asks for where it refuses a packet for this reason; now and then none."""
        found = self.wishes.get(reason)
        if not found or choose.chance(1, 4):
            return False
        return self.give(frame, run, choose.pick(found))

    def give(self, frame: bytearray, run: Run, wish: Wish) -> bool:
        """What is wished for, where the run took the field or looked ahead."""
        if (places := seen_ahead(wish.what)) is not None:
            assert isinstance(run.calls, NotingCalls)
            start = next((run.calls.seen[node] for node in walk(wish.what) if node in run.calls.seen), None)
            for at, bit in enumerate(places) if start is not None else ():
                if bit is not None:
                    put(frame, 8 * start + bit, 1, wish.number >> at & 1)
            return start is not None
        field, shift = place(wish.what)
        for taken in reversed(run.taken):
            for located in self.places(taken) if field is not None else ():
                if located.field is field:
                    low = ((1 << width_of(wish.what.type)) - 1 << shift) & (1 << width_of(field.type)) - 1
                    before = unsigned(int(taken.instance.received(field)), width_of(field.type))        # type: ignore[call-overload]
                    write(frame, taken, located, before & ~low | wish.number << shift & low)
                    return True
        return False

    def mend_tag(self, frame: bytearray, codec: ast.Codec, at: int, reason: str, choose: Choose) -> bool:
        """The tag's constants, or the keys of one of the group's rows."""
        wanted = {tag: tag.value for tag in codec.tag if tag.value is not None} if reason == f"{codec.name}.tag" else {}
        for group in codec.groups:
            if group.tags and reason == f"{codec.name}.{group.tags[-1].name}":
                wanted = {n.decl: int(k.const or 0) for n, k in zip(group.tags, choose.pick(group.rows).keys)}
        for tag in codec.tag:
            if tag in wanted:
                put(frame, at, tag.width, wanted[tag])
            at += tag.width
        return bool(wanted)

    def make_usual(self, frame: bytearray, choose: Choose, filling: int) -> bytearray:
        """What is compressed says the first row of each group, or mostly: the frame that a guess is made for (compiler/lower/guess.py)."""
        run = self.reference.prepare(bytes(frame), {}, self.state)
        if self.parsers:
            run_module(run, self.parsers[0])
        for taken in run.taken:
            if taken.codec is None:
                continue
            first = {name.decl: int(key.const or 0) for group in taken.codec.groups for name, key in zip(group.tags, group.rows[0].keys)}
            if first and choose.chance(1, 4):
                first.pop(choose.pick(list(first)))
            at = 8 * taken.start
            for tag in taken.codec.tag:
                if tag in first:
                    put(frame, at, tag.width, first[tag])
                at += tag.width
        return self.repair(frame, choose, filling)

    def allowed(self, instance: Instance, item: ast.Field, choose: Choose) -> int | None:
        if isinstance(item.type, Varbit):
            return None
        instance.open = True
        try:
            if item.equation is not None:
                return unsigned(int(instance.equation(item)), width_of(item.type))      # type: ignore[call-overload]
            if item.values:
                one = choose.pick(item.values)
                if isinstance(one, ast.RangeSet):
                    return unsigned(int(one.low.const or 0), width_of(item.type))
                if isinstance(one, ast.Binary):
                    return unsigned(int(one.left.const or 0) & int(one.right.const or 0), width_of(item.type))
                return unsigned(int(one.const or 0), width_of(item.type))
            if isinstance(item.type, EnumType):
                return choose.pick(item.type.decl.members).number       # type: ignore[attr-defined]
        finally:
            instance.open = False
        return None

    def make_hold(self, frame: bytearray, run: Run) -> bool:
        """Deferred equations too; whether one did not. While a header is taken nobody knows of all that they are of."""
        if run.taken and run.taken[-1].end is None:
            return False
        before = bytes(frame)
        for taken in run.taken:
            instance = taken.instance
            if taken.codec is not None or not instance.valid:
                continue
            for located in instance.located:
                item = located.field
                if isinstance(item, ast.Field) and item.deferred:
                    value = unsigned(int(instance.equation(item)), width_of(item.type))     # type: ignore[call-overload]
                    write(frame, taken, located, value)
        return frame != before


def wrong(instance: Instance, item: ast.Field) -> bool:
    return instance.received(item) != instance.equation(item)


def drawn(number: int) -> int:
    """The number behind this one."""
    return (number * 1103515245 + 12345) & 0x7FFFFFFF


def put(frame: bytearray, at: int, width: int, value: int) -> None:
    """Bits in network order."""
    if (at + width + 7) // 8 > len(frame):
        return
    whole = int.from_bytes(frame, "big")
    shift = 8 * len(frame) - at - width
    whole = whole & ~((1 << width) - 1 << shift) | value << shift
    frame[:] = whole.to_bytes(len(frame), "big")


def write(frame: bytearray, taken: Taken, located: Located, value: int) -> None:
    """A field's value, where it lies."""
    item, at = located.field, located.position
    for word in taken.instance.header.items if taken.codec is None else ():
        if isinstance(word, ast.Word) and item in word.fields:
            shift = sum(width_of(f.type) for f in word.fields[:word.fields.index(item)])        # type: ignore[arg-type]
            low, size = at // 8, word.width // 8
            order = "little" if word.little else "big"
            whole = int.from_bytes(frame[low:low + size], order)        # type: ignore[arg-type]
            mask = (1 << width_of(item.type)) - 1
            if low + size <= len(frame):
                frame[low:low + size] = (whole & ~(mask << shift) | value << shift).to_bytes(size, order)   # type: ignore[arg-type]
            return
    width = width_of(item.type)
    put(frame, at, width, swap(value, width) if item.little and taken.codec is None else value)
