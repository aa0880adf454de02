"""Where a program's time goes on the Cortex-M3: Thumb instructions and cycles of each eBPF instruction, and of the engine's parts.

The core reports every instruction it executes, and every time the engine fetches an eBPF instruction from a container's text:
from there to the next fetch, or till the container is left, is that instruction's. (The interpreter fetches the next one a little early, so that some cycles of an
instruction may be counted to the one behind it, and several that it does at once count as the first of them.) Of translated code the addresses say
which eBPF instruction it was written for; what a helper takes is the calling instruction's. Cycles are the manual's, without wait states.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import unicorn
from unicorn import arm_const as reg

from lpn.compiler.bundle import Bundle, Hook
from lpn.runtime.engine.thumb2 import Translated
from lpn.runtime.engines import DEFAULT_FUEL, Externs

from .core import HEAP, HEAP_SIZE, Core, Count, leave_it_block
from .engine import M3Program, Thumb2Program
from .host import WINDOW
from .timing import REFILL, Insn, decode, operand_cycles, static_cycles, unaligned_cycles

#: The engine's functions by what they do; those of the interpreter itself are told apart by instruction.
PARTS = {
    "lpn_find": "memory checks", "reach": "memory checks", "near": "memory checks", "lpn_step32": "rare instructions", "atomic": "rare instructions",
    "lpn_execute": "instructions", "lpn_loop32": "instructions", "execute64": "instructions",
    "lpn_chain_run": "chain", "execute": "chain",
    "lpn_execute32": "entering containers", "lpn_begin": "entering containers",
    "lpn_zero": "zeroing",
}
BETWEEN = ("chain", "entering containers")
CODE_PART = "translated code"
HELPERS = "helpers"             #: what is called from there and has no part of its own
NOWHERE = ("", -1)              #: before the first instruction of a container


@dataclass
class Cost:
    """Executed how often, and what it took."""

    times: int = 0
    thumb: int = 0
    cycles: int = 0

    def add(self, other: Cost) -> None:
        self.times += other.times
        self.thumb += other.thumb
        self.cycles += other.cycles


@dataclass
class Profile:
    """Of all frames together. `slots`: by module and slot of the eBPF instruction; ("", -1): outside of containers."""

    frames: int = 0
    total: Count = field(default_factory=Count)
    slots: dict[tuple[str, int], Cost] = field(default_factory=dict)
    code: dict[int, Cost] = field(default_factory=dict)     #: of translated code, by address
    parts: dict[str, Cost] = field(default_factory=dict)


class Recorder(Core):
    """A core that attributes each instruction. `profile`: filled with each frame."""

    def __init__(self) -> None:
        super().__init__(window=WINDOW, counting=False)
        self.profile = Profile()
        self._owner = NOWHERE
        self._in, self._return = False, 0
        self._last: Insn | None = None
        self._call = Count()
        self._part_of = self._parts()
        self._slot_of: dict[int, tuple[str, int]] = {}      # of translated code

    def start_counting(self) -> None:
        self.uc.ctl_flush_tb()
        self.uc.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, self._accessed)
        self._watch_plain(self.code.at.values())

    def _watch_plain(self, insns: Iterable[Insn]) -> None:
        for start, end in self._plain_code(insns):
            self.uc.hook_add(unicorn.UC_HOOK_CODE, self._executed_one, None, start, end)

    @staticmethod
    def _plain_code(insns: Iterable[Insn]) -> list[tuple[int, int]]:
        """Stretches of code outside IT blocks: inside them hooks would change the run (see core.leave_it_block)."""
        out: list[list[int]] = []
        for insn in sorted(insns, key=lambda i: i.address):
            if insn.conditional:
                continue
            if out and out[-1][1] + 1 == insn.address:
                out[-1][1] = insn.address + insn.size - 1
            else:
                out.append([insn.address, insn.address + insn.size - 1])
        return [(start, end) for start, end in out]

    def _parts(self) -> dict[int, str]:
        """Address -> part, for all code."""
        starts = sorted((start, name) for name, (start, size) in self.firmware.functions.items())
        places, parts = [start for start, _ in starts], {}
        checking = False
        for address, insn in sorted(self.code.at.items()):
            function = starts[max(0, bisect.bisect_right(places, address) - 1)][1].split(".")[0]
            part = PARTS.get(function, HELPERS)
            if function == "lpn_loop32":        # its macros CHECKED, SECOND_CHANCE, FETCH and GO
                checking = checking or insn.text.startswith(("ldr.w r2, [sl,", "ldr.w ip, [fp,", "ldr.w r2, [sb]"))
                if insn.text.startswith(("ldr.w pc,", "ldrb r0, [lr", "ldrb.w r0, [lr")):
                    part = "dispatch"
                elif checking:
                    part = "memory checks"
                    checking = not insn.text.startswith(("bhi", "str.w sb,"))
            parts[address] = part
        return parts

    # ------------------------------------------------------------------------------------ events
    def watch_text(self, module: str, address: int, size: int) -> None:
        """From now on, fetches from there begin instructions of this module."""
        def fetched(uc: Any, access: int, at: int, length: int, value: int, data: Any) -> None:
            leave_it_block(uc)
            if self._in and (at - address) % 8 == 0:
                owner = (module, (at - address) // 8)
                if owner != self._owner:
                    self.profile.slots.setdefault(owner, Cost()).times += 1
                    self._owner = owner
        self.uc.hook_add(unicorn.UC_HOOK_MEM_READ, fetched, None, address, address + size - 1)

    def watch_code(self, module: str, translated: Translated) -> list[Insn]:
        """From now on, what executes there is for instructions of this module. Returns its instructions."""
        insns = decode(translated.code, translated.address)
        self.code = self.code.and_more(translated.address, translated.code)
        for insn in insns:
            slot = bisect.bisect_right(translated.map, insn.address - translated.address) - 1
            self._slot_of[insn.address] = NOWHERE if slot < 0 else (module, slot)      # before the first: the way in
            self._part_of[insn.address] = CODE_PART
        self._watch_plain(insns)
        return insns

    def _accessed(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> None:
        leave_it_block(uc)
        if self._in and address % size:
            self._add(self._last, 0, unaligned_cycles(address, size))

    def _executed_one(self, uc: Any, address: int, size: int, data: Any) -> None:
        if not self._in:
            if address != self.window:
                return
            self._in, self._return, self._last, self._owner = True, uc.reg_read(reg.UC_ARM_REG_LR) & ~1, None, NOWHERE
        last = self._last
        if last is not None and last.conditional and address == last.address + last.size:
            jumped = False
        else:
            jumped = last is not None and (address != last.address + last.size or last.always)
        if jumped:
            self._add(last, 0, REFILL)
        if address == self._return:
            self._in = False
            return
        insn = self.code.at[address]
        self._attribute(address)
        self._add(insn, 1, static_cycles(insn, None if jumped else last) + self._by_operands(insn))
        self._last = insn
        if insn.conditions:                     # those behind it are not reported
            runs = {run.address for run in self.code.executed(address, uc.reg_read(reg.UC_ARM_REG_XPSR))}
            at = address + insn.size
            for _ in insn.conditions:
                behind = self.code.at[at]
                self._add(behind, 1, static_cycles(behind, None) + self._by_operands(behind) if at in runs else 1)
                at += behind.size
                self._last = behind

    def _by_operands(self, insn: Insn) -> int:
        return operand_cycles(insn, *(self.register(r) for r in insn.operands)) if insn.operands else 0

    def _attribute(self, address: int) -> None:
        """Whose instruction this is: between containers nobody's, and where they are translated that of the instruction it was written for."""
        owner = self._slot_of.get(address)
        if owner is None:
            if self._part_of[address] in BETWEEN:
                self._owner = NOWHERE
        elif owner != self._owner or self._slot_of.get(address - 2) != owner and self._slot_of.get(address - 4) != owner:
            self._owner = owner
            if owner != NOWHERE:
                self.profile.slots.setdefault(owner, Cost()).times += 1

    def _add(self, insn: Insn | None, thumb: int, cycles: int) -> None:
        assert insn is not None
        for cost in (self.profile.slots.setdefault(self._owner, Cost()),
                     self.profile.parts.setdefault(self._part_of[insn.address], Cost())):
            cost.thumb += thumb
            cost.cycles += cycles
        if insn.address in self._slot_of:
            self.profile.code.setdefault(insn.address, Cost()).add(Cost(thumb, thumb, cycles))
        self._call += Count(thumb, cycles)

    def count(self) -> Count:
        """Of the last call."""
        count, self._call = self._call, Count()
        self.profile.total += count
        self.profile.frames += 1
        return count


class _Recorded(M3Program):
    """On a core that records; `profile` grows with each frame."""

    recorder: Recorder

    @property
    def profile(self) -> Profile:
        return self.recorder.profile

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None):
        self.recorder.forget()
        return super().run(frame, meta)


class Profiled(_Recorded):
    """A bundle that is interpreted."""

    def __init__(self, bundle: Bundle, fuel: int = DEFAULT_FUEL, externs: Externs | None = None, hook: Hook | None = None) -> None:
        self.recorder = Recorder()
        super().__init__(bundle, fuel, externs, core=self.recorder, hook=hook)
        heap = self.recorder.read(HEAP, HEAP_SIZE)
        for name, image in {image.name: image for images in self._modules.values() for image in images}.items():
            # each chain has a copy of its own, and there is the one that was handed over, where nothing is fetched
            place, within = heap.find(image.to_bytes()), image.to_bytes().find(image.text)
            while place >= 0:
                self.recorder.watch_text(name, HEAP + place + within, len(image.text))
                place = heap.find(image.to_bytes(), place + 1)


class ProfiledCode(_Recorded, Thumb2Program):
    """One whose containers are translated. `listing`: by module and slot the code written for it."""

    def __init__(self, bundle: Bundle, fuel: int = DEFAULT_FUEL, externs: Externs | None = None, hook: Hook | None = None) -> None:
        self.recorder = Recorder()
        super().__init__(bundle, fuel, externs, core=self.recorder, hook=hook)
        self.listing: dict[tuple[str, int], list[Insn]] = {}
        images = [image for modules in self._modules.values() for image in modules]
        for image, translated in zip(images, self.translated):
            for insn in self.recorder.watch_code(image.name, translated):
                slot = bisect.bisect_right(translated.map, insn.address - translated.address) - 1
                self.listing.setdefault((image.name, slot), []).append(insn)
        self.recorder.count()
        self.recorder.profile = Profile()


def by(slots: Mapping[tuple[str, int], Cost], key: Any) -> dict[Any, Cost]:
    """Sums of slots by `key(module, slot)`."""
    out: dict[Any, Cost] = {}
    for (module, slot), cost in slots.items():
        out.setdefault(key(module, slot), Cost()).add(cost)
    return out

