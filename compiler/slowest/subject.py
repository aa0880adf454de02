"""One hook of a compiled program on the emulated core, translated or interpreted: what a run takes, which ways it goes, what it compares
(where it is translated), which keys it looks up."""
from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from lpn.lang import ast
from lpn.runtime.engines import DEFAULT_FUEL, EngineError, Program, Result, get_engine
from lpn.runtime.variants import TRANSLATED
from lpn.verifier.verify import Analysis, Report

from ..build import Compiled
from ..bundle import Entry, KeyField, Table
from ..deadlines import HookTime, Times, times
from ..helpers import BY_NAME, number_said, size_said
from ..judge import Unit, Units, seal
from .buffers import Buffers

Proved = tuple[Units, list[tuple[Unit, Report, Analysis | None]]]
COMPARES = ("cmp", "cmn", "tst", "cbz", "cbnz")
LOOKUP = BY_NAME["lookup"].number
PLACES = 4                                      #: where a packet may begin, of a word's octets
DECISIVE = 8                                    #: comparisons at the end of a run, of which one may have ended it
ALIKE = 64                                      #: ways in which one field of an entry is made to match
NUMBERS = {"sb": 9, "sl": 10, "fp": 11, "ip": 12}


@dataclass
class Input:
    """What a run depends on."""

    frame: bytes = b""
    meta: dict[str, int] = field(default_factory=dict)
    state: bytes = b""
    answers: int = 0                            #: what the platform answers, a bit for each time it is asked
    place: int = 0                              #: octets from a word's boundary to where the packet begins
    balance: int | None = None                  #: where its frame has two octets that a checksum was made right with; a change goes there, too

    def as_json(self) -> dict:
        return {"frame": self.frame.hex(), "meta": self.meta, "state": self.state.hex(), "answers": self.answers, "place": self.place}

    @classmethod
    def from_json(cls, given: dict) -> Input:
        return cls(bytes.fromhex(given["frame"]), dict(given["meta"]), bytes.fromhex(given["state"]), given["answers"], given.get("place", 0) % PLACES)


@dataclass(frozen=True)
class Cells:
    """An array of the state, in octets."""

    offset: int
    stride: int
    count: int

    @property
    def end(self) -> int:
        return self.offset + self.stride * self.count

    def alike(self, state: bytes, at: int, new: bytes) -> bytes:
        """What one cell has at `at`, all have there."""
        out, first = bytearray(state), self.offset + (at - self.offset) % self.stride
        for place in range(first, self.end, self.stride):
            out[place:place + len(new)] = new
        return bytes(out)


@dataclass(frozen=True)
class Compared:
    """Two numbers that a run compared; `bits`: as sets of bits. `longest`: on the longest path."""

    left: int
    right: int
    bits: bool
    longest: bool


def full(table: Table, rng: random.Random) -> list[Entry]:
    """As many entries as the table has room for."""
    entries: dict[tuple, Entry] = {}
    for n in range(4 * table.size):
        match = []
        for key in table.key:
            top = (1 << key.width_bits) - 1
            value = rng.getrandbits(key.width_bits) if key.width_bits > 16 else (n * 7 + 1) & top
            if key.kind == "lpm":
                plen = rng.randint(0, key.width_bits)
                match.append((value >> key.width_bits - plen << key.width_bits - plen, plen))
            elif key.kind == "ternary":
                mask = rng.getrandbits(key.width_bits)
                match.append((value & mask, mask))
            elif key.kind == "range":
                match.append((value, min(value + rng.getrandbits(8), top)))
            else:
                match.append((value,))
        entries.setdefault(tuple(match), Entry(tuple(match), 1, bytes(table.action_data_bytes), n))
        if len(entries) == table.size:
            break
    return list(entries.values())


def matching(table: Table, key: bytes) -> tuple[tuple[int, ...], ...]:
    """What matches this key alone."""
    values, at = [], 0
    for part in table.key:
        values.append(int.from_bytes(key[at:at + part.bytes], "big"))
        at += part.bytes
    return tuple({"exact": (v,), "lpm": (v, part.width_bits), "ternary": (v, (1 << part.width_bits) - 1), "range": (v, v)}[part.kind]
                 for part, v in zip(table.key, values))


def near_misses(table: Table, key: bytes, hit: bool = False) -> list[Entry]:
    """As many entries as there is room for, none of which matches `key`, and each but for its last bits; if `hit`, the last one does. Where the
    last field has not as many values, the fields before it match in several ways."""
    own = matching(table, key)
    misses = [list(islice(_distinct(_misses(part, match[0])), table.size)) for part, match in zip(table.key, own)]
    matches: dict[tuple, None] = {}
    for before in _alike(table.key[:-1], own[:-1]):
        for each in misses[-1]:
            matches.setdefault((*before, each))
            if len(matches) >= table.size:
                break
        if len(matches) >= table.size or not misses[-1]:
            break
    for i in reversed(range(len(own) - 1)):         # all fields before it match in one way only
        for each in misses[i]:
            if len(matches) < table.size:
                matches.setdefault((*own[:i], each, *own[i + 1:]))
    # of longer prefixes one is found before those that are shorter
    last = tuple((v >> min(8, part.width_bits) << min(8, part.width_bits), max(0, part.width_bits - 8)) if part.kind == "lpm" else match
                 for part, match in zip(table.key, own) for v in match[:1])
    entries = list(matches)[:table.size - hit] + [last] * hit
    return [Entry(match, 1, bytes(table.action_data_bytes), n) for n, match in enumerate(entries)]


def _distinct(matches: Iterable[tuple]) -> Iterator[tuple]:
    seen: set[tuple] = set()
    for each in matches:
        if each not in seen:
            seen.add(each)
            yield each


def _misses(part: KeyField, value: int) -> Iterator[tuple]:
    """What does not match a value, but for its last bits."""
    top = (1 << part.width_bits) - 1
    for d in range(1, min(top, 1 << 20) + 1):
        match part.kind:
            case "lpm":
                for cut in range(min(8, part.width_bits)):
                    if d >> cut:
                        yield (value ^ d) >> cut << cut, part.width_bits - cut
            case "ternary":
                yield value ^ d, top
            case "range":
                yield (value - d, value - d) if value >= d else (value + d, value + d)
            case _:
                yield value ^ d,


def _alike(key: Sequence[KeyField], own: Sequence[tuple[int, ...]]) -> Iterator[tuple]:
    """Ways in which a value of each field matches, the value itself first."""
    if not key:
        yield ()
        return
    for before in _alike(key[:-1], own[:-1]):
        yield *before, own[-1]
        value, width = own[-1][0], key[-1].width_bits
        for n in range(min(ALIKE, (1 << width) - 1) if key[-1].kind == "ternary" else min(ALIKE, width) if key[-1].kind == "lpm" else 0):
            mask = (1 << width) - 1 ^ (n + 1 if key[-1].kind == "ternary" else (1 << n + 1) - 1)
            yield *before, (value & mask, mask if key[-1].kind == "ternary" else width - n - 1)


class Subject:
    """Raises EngineError, EngineUnavailable."""

    def __init__(self, compiled: Compiled, timed: HookTime, rng: random.Random, known: Times | None = None, way: str = TRANSLATED) -> None:
        from lpn.runtime.m3.core import Core, check_available
        from lpn.runtime.m3.engine import M3Program, Thumb2Program
        from lpn.runtime.m3.host import WINDOW
        check_available()
        assert timed.cost is not None
        self.compiled, self.hook, self.bound, self.way = compiled, timed.hook, timed.cost.most, way
        self.longest = compiled.bundle.longest(timed.hook)      #: octets of a packet, at most
        self.parser = next((module for each in compiled.program.hooks for module in each.chain
                            if module.name in timed.hook.chain and isinstance(module, ast.Parser)), None)
        #: of each module on the bound's longest path, the slots of its branches
        self.path = {name: branches for name, (_, branches) in timed.followed.items()} or {
            name: known.modules[name].branches for name in timed.hook.chain if known is not None and name in known.modules}
        #: that path by module and source line
        self.steps = [(name, step) for name in timed.hook.chain for step in (
            timed.followed[name][0] if timed.followed else known.modules[name].path if known is not None and name in known.modules else ())]
        self.ways: set[tuple[int, int]] = set()         #: pairs of blocks that the last run executed one after the other
        subject = self

        class Watched(Core):
            def count(self) -> Any:
                subject.ways.update(self._entries)
                return super().count()
        self.core = Watched(window=WINDOW)
        self.program = {TRANSLATED: Thumb2Program, "m3": M3Program}[way](compiled.bundle, DEFAULT_FUEL, core=self.core, hook=timed.hook)
        #: another core with the same program, which tells what it compares
        self._asked = Thumb2Program(compiled.bundle, DEFAULT_FUEL, hook=timed.hook) if way == TRANSLATED else self.program
        self._found: dict[Compared, None] = {}
        self.host = get_engine("engine").load(compiled.bundle, hook=timed.hook)
        self.initial = compiled.initial_state(None)
        self.arrays = [Cells(each.offset, each.stride, each.count) for each in compiled.state.objects if each.count > 1]
        self.keys: dict[int, bytes] = {}                #: table -> the key looked up last
        self.entries: dict[str, list[Entry]] = {}       #: of each table that was filled
        self.tables = {table.index: table for table in compiled.bundle.tables}
        for table in self.tables.values():
            self.fill(table, full(table, rng))
        if self.tables:
            self._watch_lookups()
        self.buffers = Buffers(self.core, compiled.bundle.buffers) if compiled.bundle.buffers else None
        sizes = {buffer.size for buffer in compiled.bundle.buffers if buffer.size < self.longest}
        self.lengths = [self.longest, *sorted(sizes)]   #: of packets, worth trying
        self._compares = dict(self._comparing())
        if self._compares:
            self._listen()

    def fill(self, table: Table, entries: list[Entry]) -> None:
        try:
            for program in (self.program, self.host, self._asked):
                program.set_entries(table.name, entries)
            self.entries[table.name] = entries
        except EngineError:
            pass                                # a value set, or entries of its own: as they are

    def miss(self, given: Input, hit: bool) -> None:
        """Fills tables with entries that the keys of this run miss in their last bits; if `hit`, they find the last one."""
        self.keys.clear()
        self.run(given)
        for number, key in self.keys.items():
            if number in self.tables:
                self.fill(self.tables[number], near_misses(self.tables[number], key, hit))

    def run(self, given: Input) -> int:
        """Cycles, with the flash's wait states, the engine linked and buffers filled as they take longest; what the platform does, which is not
        emulated, as it is declared."""
        self.ways.clear()

        def once() -> int:
            result = self.play(self.program, given)
            return result.most_cycles + sum(BY_NAME[effect[0]].cost_cycles for effect in result.effects)
        return max(self.buffers.fillings(once)) if self.buffers is not None else once()

    def play(self, program: Program, given: Input) -> Result:
        if program is not self.host:
            program.place_packet(given.place)
        program.set_state(given.state or self.initial)
        program.answer = lambda name, number: given.answers >> number & 1
        return program.run(given.frame, given.meta)

    def estimate(self, given: Input) -> tuple[int, Hashable, Hashable]:
        """About how slow a run is, by the instructions that this machine executes for it, hundred times as fast; what tells it from others; how it ends."""
        result = self.play(self.host, given)
        done = tuple(effect[0] for effect in result.effects)
        end = result.verdict, result.reason, done
        copied = len(given.frame) if self.buffers is not None and len(given.frame) <= self.lengths[-1] else 0
        return 2 * (result.insns or 0) + 4 * copied + sum(BY_NAME[name].cost_cycles for name in done), (*end, result.insns), end

    def compared(self, given: Input) -> list[Compared]:
        """What a run compares, each pair once: what it compared last, then numbers on the longest path. Nothing is known of an interpreter's."""
        if not self._compares:
            return []
        self._found.clear()
        self.play(self._asked, given)
        last = [*reversed(self._found)]
        return last[:DECISIVE] + sorted(last[DECISIVE:], key=lambda each: not each.longest)

    # ------------------------------------------------------------------------------------ inside
    def _listen(self) -> None:
        """The core that is asked tells what it compares."""
        from unicorn import UC_HOOK_CODE
        from unicorn import arm_const as reg
        numbers, compares, found = [getattr(reg, f"UC_ARM_REG_R{i}") for i in range(13)], self._compares, self._found

        def seen(uc: Any, address: int, size: int, data: Any) -> None:
            what = compares.get(address)
            if what is not None:
                left, right, constant, bits, longest = what
                one = Compared(uc.reg_read(numbers[left]), constant if right is None else uc.reg_read(numbers[right]), bits, longest)
                found.pop(one, None)
                found[one] = None
        self._asked.host.core.uc.hook_add(UC_HOOK_CODE, seen, None, *self._range)

    def _comparing(self) -> Iterator[tuple[int, tuple]]:
        """Comparing instructions of the translated code: address, (left register, right register or None, constant, bits, longest)."""
        from lpn.runtime.m3.timing import decode
        self._range = (0, 0)
        images = [image for modules in self._asked._modules.values() for image in modules]
        for image, code in zip(images, self._asked.translated):
            self._range = (min(self._range[0] or code.address, code.address), max(self._range[1], code.address + len(code.code)))
            branches = self.path.get(image.name) or frozenset()
            for insn in decode(code.code, code.address):
                name, _, rest = insn.text.partition(" ")
                if insn.conditional or name.split(".")[0] not in COMPARES:
                    continue
                parts = [part.strip() for part in rest.split(",")]
                left = _register(parts[0])
                right = _register(parts[1]) if len(parts) > 1 else None
                constant = int(parts[1][1:], 0) & 0xFFFFFFFF if len(parts) > 1 and parts[1].startswith("#") and not name.startswith("cb") else 0
                slot = bisect_right(code.map, insn.address - code.address) - 1
                if left is not None and len(parts) <= 2:
                    yield insn.address, (left, right, constant, name.startswith("tst"), slot in branches)

    def _watch_lookups(self) -> None:
        from unicorn import UC_HOOK_CODE
        from unicorn import arm_const as reg

        def noted(at: int, word: int) -> None:
            r = self.core.read(at, 2 * word)
            first, key = (int.from_bytes(r[i:i + word], "little") for i in range(0, 2 * word, word))
            self.keys[number_said(first)] = self.core.read(key, size_said(first, 2))

        def called(uc: Any, address: int, size: int, data: Any) -> None:
            if uc.reg_read(reg.UC_ARM_REG_R2) == LOOKUP:
                noted(uc.reg_read(reg.UC_ARM_REG_R3), 8)

        def looked_up(uc: Any, address: int, size: int, data: Any) -> None:
            noted(uc.reg_read(reg.UC_ARM_REG_R1), 4)
        for name, hook in (("lpn_env_call", called), ("lpn_env_lookup", looked_up)):     # interpreted, and translated
            at = self.core.firmware.symbols[name]
            self.core.uc.hook_add(UC_HOOK_CODE, hook, None, at, at)


def _register(text: str) -> int | None:
    """The number of r0 to r12."""
    found = re.fullmatch(r"r(\d+)", text)
    return int(found[1]) if found else NUMBERS.get(text)


def subjects(compiled: Compiled, rng: random.Random, way: str = TRANSLATED, proved: Proved | None = None) -> Iterator[Subject]:
    """A subject for each hook whose time is known, its chain followed as a whole. `proved`: what `seal` gave for the program, if it was."""
    known = times(*(proved or seal(compiled)), way, tight=True)
    for timed in known.hooks:
        if timed.cost is not None:
            yield Subject(compiled, timed, rng, known, way)
