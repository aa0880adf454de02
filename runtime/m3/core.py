"""An emulated Cortex-M3: runs functions of a firmware and counts what they execute.

The emulator (`unicorn`) reports each straight block it enters; how often each pair of blocks follows each other is all that
is kept, and times come from the tables of `timing.py` and `flash.py` afterwards. What they need of operands is read where it
is executed. `record` reports single instructions instead, in order, for the profile; tests hold that both count the same.

Memory: flash (read, execute), the firmware's variables, a heap, a stack; nothing else is there, address 0 neither. An access
elsewhere ends the run with `Fault`.
"""

from __future__ import annotations

import bisect
import functools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpn.runtime.engine.build import BuildError
from lpn.runtime.engines import EngineError, EngineUnavailable

from .firmware import Firmware, engine
from .interrupts import Held

try:
    import unicorn
    from unicorn import arm_const as reg

    from . import hooks
    from .timing import MOST_REFILL, REFILL, Insn, decode, holds, make_disassembler, most_refill, operand_cycles, straight_cycles
    from .flash import WAIT, fetch_waits, most_waits
    from .linked import PLACES, Linked
except ImportError as e:
    unicorn, MISSING = None, f"engine m3 needs the package unicorn: pip install 'lpn[m3]' ({e})"

FLASH, FLASH_SIZE = 0x08000000, 0x80000
STATIC, STATIC_SIZE = 0x20000000, 0x10000
STACK_END, STACK_SIZE = 0x20040000, 0x4000
CODE, CODE_SIZE = 0x20080000, 0x20000   #: where a program may put code of its own
HEAP, HEAP_SIZE = 0x20100000, 0x100000
RETURN = 0x08070000             #: where functions called from here return to
IT_STATE = 0x0600FC00          #: of the program status register
ACCESSES = Path(__file__).parent / "accesses.c"
PAGE = 1 << 10                  #: of the emulator
PAGE_ENDS = (PAGE - 2, 0, 2)    #: where the first instruction behind one begins
FOLD = 1 << 16                  #: blocks kept in order before they are counted


class Fault(EngineError):
    """The core did what it must not: an access to memory that is not there, an unknown instruction."""


@dataclass(frozen=True)
class Count:
    """What was executed. `waits`: cycles more with the flash's wait states; `most_waits`: each function linked where it waits most."""

    thumb: int = 0
    cycles: int = 0
    waits: int = 0
    most_waits: int = 0

    @property
    def flash_cycles(self) -> int:
        return self.cycles + self.waits

    @property
    def most_cycles(self) -> int:
        return self.cycles + self.most_waits

    def __add__(self, other: Count) -> Count:
        return Count(self.thumb + other.thumb, self.cycles + other.cycles, self.waits + other.waits, self.most_waits + other.most_waits)


def check_available() -> None:
    """EngineUnavailable unless everything is installed."""
    why = _missing()
    if why:
        raise EngineUnavailable(why)


@functools.cache
def _missing() -> str:
    """What is missing; one attempt a process."""
    if unicorn is None:
        return MISSING
    try:
        engine()
        hooks.library("m3", ACCESSES)
    except (BuildError, OSError) as e:
        return str(e)
    return ""


#: Of a block: its conditional instructions, its time, its waits at each of PLACES.
Timed = tuple[list[Insn], Count, tuple[int, ...]]


class Code:
    """A firmware's instructions, decoded once."""

    def __init__(self, firmware: Firmware) -> None:
        md, self.at = make_disassembler(), {}
        for start, end in firmware.code:
            for insn in decode(content(firmware, start, end - start), start, md):
                self.at[insn.address] = insn
        self._times: dict[tuple, Timed] = {}

    def and_more(self, address: int, code: bytes) -> Code:
        """These instructions, and others that a program put into memory: nothing but instructions, without gaps."""
        more = Code.__new__(Code)
        more.at = dict(self.at)
        more._times = {}
        for insn in decode(code, address, make_disassembler()):
            more.at[insn.address] = insn
        return more

    def block(self, start: int, size: int) -> list[Insn]:
        """The instructions of `size` bytes."""
        out = []
        while size > 0:
            insn = self.at[start]
            out.append(insn)
            start, size = start + insn.size, size - insn.size
        return out

    def executed(self, it: int, flags: int) -> list[Insn]:
        """What an IT instruction at this address lets execute. Behind a comparison inside its block: everything."""
        insn, out = self.at[it], []
        at, known = it + insn.size, True
        for condition in insn.conditions:
            next_ = self.at[at]
            if not known or holds(condition, flags):
                out.append(next_)
                known = known and not next_.compares
            at += next_.size
        return out

    def last(self, block: int) -> Insn:
        """The last instruction of a block, given as address * 65536 + bytes."""
        return self.block(block >> 16, block & 0xFFFF)[-1]

    def time(self, start: int, size: int, jumped: bool, before: Insn | None) -> Timed:
        """Of a block; its time is without operands, and conditional instructions count as executed."""
        key = start, size, jumped, before.address if before else None
        known = self._times.get(key)
        if known is None:
            insns = self.block(start, size)
            waits = tuple(fetch_waits(insns, jumped, before, shift) for shift in PLACES)
            known = self._times[key] = [insn for insn in insns if insn.conditional], Count(len(insns), straight_cycles(insns, before), waits[0]), waits
        return known


def content(firmware: Firmware, address: int, size: int) -> bytes:
    for s in firmware.sections:
        if s.address <= address and address + size <= s.address + len(s.content):
            return s.content[address - s.address:address - s.address + size]
    raise Fault(f"nothing at {address:#x}")


_codes: dict[str, Code] = {}


def code_of(firmware: Firmware) -> Code:
    """The decoded instructions, shared by all cores with this firmware."""
    name = str(firmware.path)
    if name not in _codes:
        _codes[name] = Code(firmware)
    return _codes[name]


class Core:
    """A core with its memory. `window`: count only inside calls of this function; default: all of `call`."""

    def __init__(self, firmware: Firmware | None = None, *, window: str | None = None, counting: bool = True) -> None:
        check_available()
        self.firmware = firmware or engine()
        self.code = code_of(self.firmware)
        self.uc = uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.ctl_set_cpu_model(reg.UC_CPU_ARM_CORTEX_M3)
        self._held = Held(uc)
        both = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE
        uc.mem_map(FLASH, FLASH_SIZE, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        uc.mem_map(STATIC, STATIC_SIZE, both)
        uc.mem_map(STACK_END - STACK_SIZE, STACK_SIZE, both)
        uc.mem_map(HEAP, HEAP_SIZE, both)
        uc.mem_map(CODE, CODE_SIZE, both | unicorn.UC_PROT_EXEC)
        for section in self.firmware.sections:
            uc.mem_write(section.address, section.content)
        self._next = HEAP
        self._wild = ""                             # the access that ended the run
        uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._note_wild)
        self.window = self.firmware.symbols[window] if window else None
        self._entries: Counter = Counter()          # (block before, block) -> times
        self._executed: Counter = Counter()         # conditional instructions whose condition held
        self._operands = 0
        ffi, _ = hooks.library("m3", ACCESSES)
        self._accesses = ffi.new("m3_accesses *", {"status": reg.UC_ARM_REG_XPSR, "flash": FLASH, "flash_size": FLASH_SIZE, **{
            name: hooks.function_of(ffi, f"uc_{name}") for name in ("reg_read", "reg_write")}})
        self._blocks: list[int] = []                # executed in the window, not yet in _entries
        self._last = 0                              # the block executed last
        self._open = False                          # inside the window
        self._back = 0                              # where it ends
        self._counting = False
        if counting:
            self.start_counting()

    def start_counting(self) -> None:
        """What ran before ran at full speed and is not counted."""
        if not self._counting:
            self._counting = True
            self.uc.ctl_flush_tb()
            self._add_hooks()

    # Memory ----------------------------------------------------------------------------------------
    def allocate(self, size: int, bytes_: bytes = b"") -> int:
        """The address of `size` new zeroed bytes, 8-aligned. With the engine's firmware, before its own heap is set."""
        address = self._next
        self._next += (max(size, len(bytes_), 1) + 7) & ~7
        if self._next > HEAP + HEAP_SIZE:
            raise EngineError("the emulated core has no memory left")
        self.write(address, bytes_)
        return address

    def mark(self) -> int:
        """For `release`: gives back what is allocated from here on."""
        return self._next

    def release(self, mark: int) -> None:
        self._next = mark

    def give_heap(self, size: int) -> None:
        """Hand this much memory to the firmware's calloc."""
        start = self.allocate(size)
        for name, value in (("lpn_heap", start), ("lpn_heap_end", start + size)):
            self.write(self.firmware.symbols[name], value.to_bytes(4, "little"))

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.uc.mem_read(address, size)) if size else b""

    def write(self, address: int, content: bytes) -> None:
        if content:
            self.uc.mem_write(address, bytes(content))

    # Execution -------------------------------------------------------------------------------------
    def call(self, function: str | int, *arguments: int) -> int:
        """Call a C function, by name or address, with 32-bit arguments; returns r0. Fault when it does what the core cannot."""
        uc, symbols = self.uc, self.firmware.symbols
        sp = STACK_END - (4 * max(0, len(arguments) - 4) + 7 & ~7)
        for i, value in enumerate(arguments):
            if i < 4:
                uc.reg_write(reg.UC_ARM_REG_R0 + i, value & 0xFFFFFFFF)
            else:
                uc.mem_write(sp + 4 * (i - 4), (value & 0xFFFFFFFF).to_bytes(4, "little"))
        uc.reg_write(reg.UC_ARM_REG_SP, sp)
        uc.reg_write(reg.UC_ARM_REG_LR, RETURN | 1)
        self._wild = ""
        self._open, self._back = self.window is None, RETURN
        self._accesses.open = self._open
        self._blocks[:] = [0] if self._open else []
        try:
            with self._held:
                uc.emu_start((function if isinstance(function, int) else symbols[function]) | 1, RETURN)
        except unicorn.UcError as e:
            self.forget()
            what = self._wild or str(e).split(" (")[0].lower()
            raise Fault(f"the core faults in {self._place(uc.reg_read(reg.UC_ARM_REG_PC))}: {what}") from None
        if self._open:
            self._close()
        return uc.reg_read(reg.UC_ARM_REG_R0)

    def watch(self, function: str, called: Callable[[int, int], None]) -> None:
        """Call `called` with r0 and r1 whenever this function is entered."""
        def entered(uc: Any, address: int, size: int, data: Any) -> None:
            called(uc.reg_read(reg.UC_ARM_REG_R0), uc.reg_read(reg.UC_ARM_REG_R1))
        at = self.firmware.symbols[function]
        self.uc.hook_add(unicorn.UC_HOOK_CODE, entered, None, at, at)

    def _note_wild(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        name = {unicorn.UC_MEM_READ_UNMAPPED: "read of", unicorn.UC_MEM_WRITE_UNMAPPED: "write to",
                unicorn.UC_MEM_WRITE_PROT: "write to flash at"}.get(access, "execution at")
        self._wild = f"{name} {address:#x}, {size} byte{'s' * (size != 1)}"
        return False

    def _place(self, pc: int) -> str:
        below = [(start, name) for name, (start, _) in self.firmware.functions.items() if start <= pc]
        start, name = max(below, default=(0, "nothing"))
        return f"{name}+{pc - start:#x}"

    # Counting --------------------------------------------------------------------------------------
    def _add_hooks(self) -> None:
        uc, blocks = self.uc, self._blocks

        def block(uc: Any, address: int, size: int, data: Any) -> None:
            if address % PAGE in PAGE_ENDS and self._open:
                before = blocks[-1]             # the emulator ends blocks at its pages; code does not
                if before & 0xFFFF and (before >> 16) + (before & 0xFFFF) == address and not self.code.last(before).jump:
                    blocks[-1] = self._last = before + size
                    return
            self._last = address << 16 | size
            if self._open:
                if address == self._back:
                    self._close()
                    return
                blocks.append(self._last)
                if len(blocks) > FOLD:
                    self._entries.update(zip(blocks, blocks[1:]))
                    del blocks[:-1]

        def opened(uc: Any, address: int, size: int, data: Any) -> None:
            if not self._open:
                self._open, self._back = True, uc.reg_read(reg.UC_ARM_REG_LR) & ~1
                self._accesses.open = True
                blocks[:] = [0, self._last]

        def condition(uc: Any, address: int, size: int, data: Any) -> None:
            if self._open:
                flags = uc.reg_read(reg.UC_ARM_REG_XPSR)
                self._executed.update(run.address for run in self.code.executed(address, flags))

        def operands(uc: Any, address: int, size: int, insn: Insn) -> None:
            if self._open:
                self._operands += operand_cycles(insn, *(self.register(r) for r in insn.operands))

        uc.hook_add(unicorn.UC_HOOK_BLOCK, block)
        if self.window is not None:
            uc.hook_add(unicorn.UC_HOOK_CODE, opened, None, self.window, self.window)
        ffi, lib = hooks.library("m3", ACCESSES)
        hooks.add(uc, ffi, unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, lib.m3_access_hook(), self._accesses)
        self._condition, self._take_operands = condition, operands
        self._watch(self.code.at.values())

    def _watch(self, insns: Iterable[Insn]) -> None:
        for insn in insns:
            if insn.conditions:
                self.uc.hook_add(unicorn.UC_HOOK_CODE, self._condition, None, insn.address, insn.address)
            if insn.operands:
                self.uc.hook_add(unicorn.UC_HOOK_CODE, self._take_operands, insn, insn.address, insn.address)

    def learn(self, address: int, size: int) -> None:
        """What a program wrote to the code memory from `address` on is instructions: execute and count them."""
        self.uc.ctl_remove_cache(address, address + size)
        if self._counting:
            before, self.code = self.code, self.code.and_more(address, self.read(address, size))
            self._watch(insn for at, insn in self.code.at.items() if at not in before.at)

    def register(self, number: int) -> int:
        """The value of a register, by capstone's number."""
        return self.uc.reg_read(_UNICORN[number])

    def _close(self) -> None:
        self._open = self._accesses.open = False
        self._blocks.append(self._back << 16)
        self._entries.update(zip(self._blocks, self._blocks[1:]))
        self._blocks.clear()

    def worst(self, apart: tuple[int, int] = (0, 0)) -> Linked:
        """Cycles of what was executed since `forget` at the manual's worst, with wait states: jumps refill the pipeline as slowly as they
        can, no load is pipelined across a jump, conditional instructions count as executed. `apart`: [start, end) of code that is not
        counted; a jump out of it is its own."""
        fixed, functions = self._operands + WAIT * self._accesses.loads, {}
        for (before, block), times in self._entries.items():
            start, size = block >> 16, block & 0xFFFF
            target = self.code.at.get(start)            # none where the window ends
            if apart[0] <= start < apart[1]:
                if not apart[0] <= before >> 16 < apart[1]:
                    fixed += times * (most_refill(target) if target else MOST_REFILL)
                continue
            insns = self.code.block(start, size)
            jumped = self._jumped(before, start)
            fixed += times * straight_cycles(insns)
            refilled = jumped and before != 0 and not apart[0] <= before >> 16 < apart[1]
            if start >= STATIC or target is None:
                fixed += times * (most_refill(target) if target else MOST_REFILL) * refilled
                continue
            function = self._anywhere(start)
            if function is None:
                fixed += times * (most_waits(insns, jumped) + most_refill(target) * refilled)
                continue
            here = functions.setdefault(function, [0] * len(PLACES))
            for i, shift in enumerate(PLACES):
                here[i] += times * (most_waits(insns, jumped, shift) + most_refill(target, shift) * refilled)
        return Linked(fixed, {function: tuple(waits) for function, waits in functions.items()})

    def _jumped(self, before: int, start: int) -> bool:
        """Was this block jumped to from that one? It may also lie behind it."""
        return before == 0 or (before >> 16) + (before & 0xFFFF) != start or before & 0xFFFF > 0 and self.code.last(before).always

    def _anywhere(self, address: int) -> int | None:
        """Where the function begins that has this instruction of the firmware, if it may be linked at any even address."""
        starts = self.firmware.starts
        function = starts[max(0, bisect.bisect_right(starts, address) - 1)]
        return None if function in self.firmware.lines else function

    def forget(self) -> None:
        """Count anew from here on."""
        self._entries.clear()
        self._executed.clear()
        self._blocks.clear()
        self._operands = self._accesses.cycles = self._accesses.loads = 0

    def count(self) -> Count:
        """What was executed since the last call or `forget`; the first instruction's own fetch is the caller's."""
        total, passed = Count(cycles=self._operands + self._accesses.cycles, waits=WAIT * self._accesses.loads), Counter()
        functions: dict[int, list[int]] = {}        # by address, waits at each place
        for (before, block), times in self._entries.items():
            start, size = block >> 16, block & 0xFFFF
            jumped = self._jumped(before, start)
            refill = REFILL if jumped and before else 0
            insns: list[Insn] = []
            time = Count()
            if size:
                insns, time, waits = self.code.time(start, size, jumped, None if jumped else self.code.last(before))
                if start < STATIC and (function := self._anywhere(start)) is not None:
                    here = functions.setdefault(function, [0] * len(PLACES))
                    for place, wait in enumerate(waits):
                        here[place] += times * wait
            total += Count(times * time.thumb, times * (time.cycles + refill), times * time.waits)
            for insn in insns:
                passed[insn] += times
        skipped = sum((insn.cycles - 1) * (times - self._executed[insn.address]) for insn, times in passed.items())
        self.forget()
        return Count(total.thumb, total.cycles - skipped, total.waits, total.waits + sum(max(waits) - waits[0] for waits in functions.values()))


def leave_it_block(uc: Any) -> None:
    """To be called first in each memory hook. For it the emulator writes its IT state down, and inside an IT block it would
    go on with that at the start of the next block."""
    status = uc.reg_read(reg.UC_ARM_REG_XPSR)
    if status & IT_STATE:
        uc.reg_write(reg.UC_ARM_REG_XPSR, status & ~IT_STATE)


_UNICORN: dict[int, int] = {}
if unicorn is not None:
    from capstone import arm
    for _i in range(13):
        _UNICORN[arm.ARM_REG_R0 + _i] = reg.UC_ARM_REG_R0 + _i
    _UNICORN |= {arm.ARM_REG_SP: reg.UC_ARM_REG_SP, arm.ARM_REG_LR: reg.UC_ARM_REG_LR}
