"""The core: an emulated Cortex-M3 that runs to a time, takes exceptions and sleeps.

Instructions are the emulator's (`unicorn`); exceptions are ours (ARMv7-M Architecture Reference Manual, DDI 0403, B1.5.6 to
B1.5.8): eight words on the stack, aligned to eight bytes, and a return when the program counter gets a value from 0xFFFFFFF0
on. Entry and return take 12 cycles each (Cortex-M3 TRM, 5.8). Interrupts are taken between blocks of straight code.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import unicorn
from unicorn import arm_const as reg

from lpn.runtime.m3 import hooks
from lpn.runtime.m3.interrupts import Held

from . import blocks, native
from .clock import Queue
from .memory import FLASH, FLASH_SIZE, RAM, RAM_SIZE
from .nvic import SVC, Nvic
from .program import Program

STACKING = 12                   #: cycles
EXC_RETURN = 0xFFFFFFF0
FRAME = (reg.UC_ARM_REG_R0, reg.UC_ARM_REG_R1, reg.UC_ARM_REG_R2, reg.UC_ARM_REG_R3, reg.UC_ARM_REG_R12, reg.UC_ARM_REG_LR)
EXCEPTION = 0x1FF               #: of the program status register: the exception's number
INTERRUPTED = 0x0600FC00        #: of it: the state of an IT block
THUMB = 1 << 24
PADDED = 1 << 9                 #: of it, on the stack
SWI, EXCEPTION_EXIT = 2, 8      #: what the emulator reports


class CpuFault(Exception):
    """The firmware did what the core or the board cannot do; one line says what and where."""


class Cpu:
    """A core with flash and RAM. Times are ticks (see clock.py). `queue`: what is due."""

    def __init__(self, program: Program, queue: Queue | None = None) -> None:
        self.program = program
        self.queue = queue or Queue()
        self.nvic = Nvic(self._look)
        self.vectors = FLASH
        self.asleep = False
        self.restart_wanted = False
        self._until = 0
        self.slept = 0                          # ticks
        self.taken: list[Callable[[int], None]] = []        # told of each exception
        self.left: list[Callable[[int], None]] = []         # and when its handler has returned
        self._requests: list[int] = []
        self._wild = ""
        self._why: BaseException | None = None
        self._idle: dict[int, bool] = {}
        self._make()

    # ---------------------------------------------------------------- setting up
    def _make(self) -> None:
        self.uc = uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.ctl_set_cpu_model(reg.UC_CPU_ARM_CORTEX_M3)
        uc.mem_map(FLASH, FLASH_SIZE)                     # who may write it: flash.py
        uc.mem_write(FLASH, b"\xFF" * FLASH_SIZE)
        uc.mem_map(0, FLASH_SIZE, unicorn.UC_PROT_READ)     # RM0008, 3.4: booting from flash, it is there too
        self._ram = ctypes.create_string_buffer(RAM_SIZE)
        self.ram = memoryview(self._ram).cast("B")
        uc.mem_map_ptr(RAM, RAM_SIZE, unicorn.UC_PROT_ALL, ctypes.addressof(self._ram))
        for address, content in self.program.flash:
            uc.mem_write(address, content)
            uc.mem_write(address - FLASH, content)
        self._held = Held(uc)
        uc.hook_add(unicorn.UC_HOOK_INTR, self._request)
        uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._note_wild)
        self._make_clock()
        for start, end in self.program.code:
            code = self._flash(start, end - start)
            for site in blocks.sites(code, start):
                self._watch_operands(site)
            for at in blocks.waits_for_interrupt(code, start):
                uc.hook_add(unicorn.UC_HOOK_CODE, self._wait, None, at, at)

    def _make_clock(self) -> None:
        ffi, lib = native.library()
        self._ffi, self._lib = ffi, lib
        clock = self.clock = ffi.new("twin_clock *")
        self._arrays = [ffi.new("twin_block[]", FLASH_SIZE // 2), ffi.new("twin_block[]", RAM_SIZE // 2),
                        ffi.new("twin_count[]", FLASH_SIZE // 2), ffi.new("twin_count[]", RAM_SIZE // 2)]
        clock.flash, clock.ram, clock.in_flash, clock.in_ram = self._arrays
        clock.ram_bytes = ffi.cast("uint8_t *", ctypes.addressof(self._ram))
        clock.emu_stop = hooks.function_of(ffi, "uc_emu_stop")
        clock.reg_read = hooks.function_of(ffi, "uc_reg_read")
        clock.primask = reg.UC_ARM_REG_PRIMASK
        clock.scale = 1
        self._learn_callback = ffi.callback("void(uint32_t, uint32_t)", self._learn)
        clock.learn = self._learn_callback
        self._sites: list[Any] = []
        hooks.add(self.uc, ffi, unicorn.UC_HOOK_BLOCK, lib.twin_enter_hook(), clock)

    def _watch_operands(self, site: blocks.Site) -> None:
        data = self._ffi.new("twin_site *", {"clock": self.clock, "kind": site.kind, "a": _REGISTERS[site.a], "b": _REGISTERS[site.b]})
        self._sites.append(data)
        hooks.add(self.uc, self._ffi, unicorn.UC_HOOK_CODE, self._lib.twin_operands_hook(), data, site.address, site.address)

    def _learn(self, address: int, size: int) -> None:
        """The clock's question what a block costs."""
        code = self._code(address, size)
        cost = blocks.cost(code, address)
        block = self._block(address)
        block.size, block.insns, block.cycles = size, cost.insns, cost.cycles
        block.jumped, block.untaken, block.layer = cost.jumped, cost.untaken, self.layer_of(address)
        self._idle.pop(address, None)

    def layer_of(self, address: int) -> int:
        """To be replaced by whoever counts by layer."""
        return 0

    def _block(self, address: int) -> Any:
        return self.clock.flash[address - FLASH >> 1] if address < RAM else self.clock.ram[address - RAM >> 1]

    def _code(self, address: int, size: int) -> bytes:
        return self._flash(address, size) if address < RAM else bytes(self.ram[address - RAM:address - RAM + size])

    def _flash(self, address: int, size: int) -> bytes:
        return bytes(self.uc.mem_read(address, size))

    # ---------------------------------------------------------------- running
    @property
    def now(self) -> int:
        return self.clock.now

    def reset(self) -> None:
        """ARMv7-M ARM, B1.5.5: the stack and the first instruction are the first two words of the vector table."""
        self.asleep, self.vectors = False, FLASH
        self.nvic.__init__(self._look)
        uc = self.uc
        uc.reg_write(reg.UC_ARM_REG_IPSR, 0)
        uc.reg_write(reg.UC_ARM_REG_CONTROL, 0)
        uc.reg_write(reg.UC_ARM_REG_PRIMASK, 0)
        stack, start = struct.unpack("<2I", self._flash(FLASH, 8))
        uc.reg_write(reg.UC_ARM_REG_MSP, stack)
        uc.reg_write(reg.UC_ARM_REG_SP, stack)
        self._go(start)

    def run(self, until: int) -> None:
        """Execute until then. Raises CpuFault."""
        clock, queue = self.clock, self.queue
        self._until = until
        while clock.now < (until := self._until):
            queue.run(clock.now)
            if self.asleep:
                if not clock.ready:
                    time = max(clock.now, min(queue.next, until))
                    self.slept += time - clock.now
                    clock.now = time
                    continue
                self.asleep = False
                self._go(self.pc + 2, fell=True)
            if clock.ready and not self.uc.reg_read(reg.UC_ARM_REG_PRIMASK) & 1:
                self._enter(self.nvic.next(), self.pc)
                continue
            clock.deadline = min(queue.next, until)
            self._emulate()

    def shorten(self, until: int) -> None:
        """The run that is going on ends at this time, if not before."""
        self._until = min(self._until, until)
        self.clock.deadline = min(self.clock.deadline, self._until)

    def _emulate(self) -> None:
        try:
            with self._held:
                self.uc.emu_start(self.pc | 1, 0xFFFFFFFF)
        except unicorn.UcError as e:
            if self.pc < EXC_RETURN - 1:
                raise CpuFault(f"the firmware faults in {self.program.place(self.pc)}: {self._wild or str(e).split(' (')[0].lower()}"
                               ) from None
            self._requests.append(EXCEPTION_EXIT)
        if self.restart_wanted:
            self.restart_wanted = False
            self._requests.clear()
            self.reset()
            return
        if self._why:
            why, self._why = self._why, None
            raise why
        while self._requests:
            number = self._requests.pop(0)
            if number == SWI:
                self._enter(SVC, self.pc)
            elif number == EXCEPTION_EXIT:
                self._leave(self.pc | 1)
            else:
                raise CpuFault(f"the firmware stops in {self.program.place(self.pc)}: exception {number}")

    def interrupt(self, why: BaseException) -> None:
        """End the run with this exception: for devices, whose own cannot pass the emulator."""
        self._why = why
        self.uc.emu_stop()

    def at(self, time: int, action: Callable[[], None]) -> Any:
        """An event; the core stops for it."""
        event = self.queue.at(time, action)
        if time < self.clock.deadline:
            self.clock.deadline = time
        return event

    def wait_for(self, time: int) -> None:
        """A status register is read that will change at `time`: if the core does nothing but read it again and again, it has
        done so until then, or until something else is due."""
        clock, lib = self.clock, self._lib
        turn = lib.twin_turn(clock)
        if not turn or time <= clock.now:
            return
        address = clock.here
        idle = self._idle.get(address)
        if idle is None:
            idle = self._idle[address] = blocks.idle(self._code(address, clock.behind - address), address)
        ends = min(time, clock.deadline) - clock.now
        if idle and ends > 0 and not clock.ready:
            lib.twin_turns(clock, -(-ends // (turn * clock.scale)))

    # ---------------------------------------------------------------- exceptions
    @property
    def pc(self) -> int:
        return self.uc.reg_read(reg.UC_ARM_REG_PC)

    def _go(self, address: int, fell: bool = False) -> None:
        self.uc.reg_write(reg.UC_ARM_REG_PC, address | 1)
        if not fell:
            self.clock.here = self.clock.before = self.clock.behind = 0

    def _look(self) -> None:
        """What is pending has changed."""
        self.clock.ready = self.nvic.next() != 0

    def _enter(self, exception: int, back: int) -> None:
        uc, nvic = self.uc, self.nvic
        *frame, sp, status, control = uc.reg_read_batch((*FRAME, reg.UC_ARM_REG_SP, reg.UC_ARM_REG_XPSR, reg.UC_ARM_REG_CONTROL))
        padded = sp >> 2 & 1
        at = (sp - 32) & ~7
        current = nvic.active[-1] if nvic.active else 0
        status = status & ~(EXCEPTION | PADDED) | THUMB | padded << 9 | current
        self._put(at, struct.pack("<8I", *frame, back & ~1, status))
        on_process_stack = not nvic.active and control & 2
        returns = 0xFFFFFFF1 if nvic.active else 0xFFFFFFFD if on_process_stack else 0xFFFFFFF9
        uc.reg_write(reg.UC_ARM_REG_SP, at)
        uc.reg_write(reg.UC_ARM_REG_XPSR, status & ~INTERRUPTED)
        uc.reg_write(reg.UC_ARM_REG_IPSR, exception)        # the main stack from here on
        uc.reg_write(reg.UC_ARM_REG_LR, returns)
        nvic.take(exception)
        self._spend(STACKING)
        self._go(struct.unpack("<I", self._get(self.vectors + 4 * exception, 4))[0])
        for told in self.taken:
            told(exception)

    def _leave(self, returns: int) -> None:
        uc, nvic = self.uc, self.nvic
        if not nvic.active:
            raise CpuFault(f"the firmware jumps to {returns:#x} outside of an exception")
        exception = nvic.leave()
        uc.reg_write(reg.UC_ARM_REG_IPSR, nvic.active[-1] if nvic.active else 0)
        if not nvic.active:
            uc.reg_write(reg.UC_ARM_REG_CONTROL, uc.reg_read(reg.UC_ARM_REG_CONTROL) & ~2 | (returns >> 1 & 2))
        sp = uc.reg_read(reg.UC_ARM_REG_SP)
        *frame, back, status = struct.unpack("<8I", self._get(sp, 32))
        uc.reg_write(reg.UC_ARM_REG_SP, sp + 32 + (4 if status & PADDED else 0))
        for which, value in zip(FRAME, frame):
            uc.reg_write(which, value)
        uc.reg_write(reg.UC_ARM_REG_XPSR, status & ~(EXCEPTION | PADDED) | (nvic.active[-1] if nvic.active else 0))
        self._spend(STACKING)
        self._go(back)
        for told in self.left:
            told(exception)

    def _spend(self, cycles: int) -> None:
        self._lib.twin_spend(self.clock, cycles)

    def _put(self, address: int, content: bytes) -> None:
        if not RAM <= address <= RAM + RAM_SIZE - len(content):
            raise CpuFault(f"the stack of {self.program.place(self.pc)} is at {address:#x}, where there is no RAM")
        self.ram[address - RAM:address - RAM + len(content)] = content

    def _get(self, address: int, size: int) -> bytes:
        try:
            return bytes(self.uc.mem_read(address, size))
        except unicorn.UcError:
            raise CpuFault(f"nothing to read at {address:#x} in {self.program.place(self.pc)}") from None

    # ---------------------------------------------------------------- the emulator's calls
    def _request(self, uc: Any, number: int, data: Any) -> None:
        self._requests.append(number)
        uc.emu_stop()

    def _wait(self, uc: Any, address: int, size: int, data: Any) -> None:
        """WFI: goes on behind it as soon as an exception of a sufficient priority is pending, PRIMASK or not (B1.5.19)."""
        self.asleep = True
        uc.emu_stop()

    def _note_wild(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        name = {unicorn.UC_MEM_READ_UNMAPPED: "read of", unicorn.UC_MEM_WRITE_UNMAPPED: "write to",
                unicorn.UC_MEM_WRITE_PROT: "write to flash at"}.get(access, "execution at")
        self._wild = f"{name} {address:#x}, {size} byte{'s' * (size != 1)}"
        return False


_REGISTERS = [reg.UC_ARM_REG_R0 + i for i in range(13)] + [reg.UC_ARM_REG_SP, reg.UC_ARM_REG_LR, reg.UC_ARM_REG_PC]
