"""The flash's controller: pages are erased, halfwords are programmed (PM0075, 2.3 and 3).

While it is busy the status register says so. That the core cannot read flash meanwhile shows in time only where the firmware waits for
the status, as drivers do. Option bytes, protection and interrupts are not modelled.
"""

from __future__ import annotations

from typing import Any

import unicorn

from .clock import US
from .cpu import Cpu, CpuFault
from .memory import FLASH, FLASH_SIZE

ACR, KEYR, SR, CR, AR = 0x00, 0x04, 0x0C, 0x10, 0x14
PAGE = 2048                                     #: of a high-density device
KEYS = (0x45670123, 0xCDEF89AB)
BUSY, PROGRAM_ERROR, PROTECTED, END = 1, 1 << 2, 1 << 4, 1 << 5         #: of SR
PROGRAM, ERASE, ERASE_ALL, START, LOCK = 1, 1 << 1, 1 << 2, 1 << 6, 1 << 7      #: of CR
ERASE_TIME, PROGRAM_TIME = 20_000 * US, 52 * US         #: DS5792, 5.3.9: 20 to 40 ms; 52.5 us typically


class FlashController:
    """`erased`, `programmed`: how many pages and halfwords."""

    def __init__(self, cpu: Cpu) -> None:
        self.cpu = cpu
        self.registers = {ACR: 0x30, CR: LOCK}
        self.status = 0
        self.erased = self.programmed = 0
        self._keys: list[int] = []
        self._busy_until = 0
        cpu.uc.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._written, None, FLASH, FLASH + FLASH_SIZE - 1)

    def restart(self) -> None:
        """The controller is as after a reset; what is in flash stays."""
        self.registers = {ACR: 0x30, CR: LOCK}
        self.status, self._keys = 0, []

    def read(self, offset: int) -> int:
        if offset == SR:
            self.cpu.wait_for(self._busy_until)
            return self.status | (BUSY if self.cpu.now < self._busy_until else 0)
        return 0 if offset == KEYR else self.registers.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == KEYR:
            self._keys = [*self._keys[-1:], value]
            if tuple(self._keys) == KEYS:
                self.registers[CR] &= ~LOCK
        elif offset == SR:                      # a one clears
            self.status &= ~value
        elif offset == CR:
            self._control(value)
        else:
            self.registers[offset] = value

    def _control(self, value: int) -> None:
        if self.registers[CR] & LOCK:           # nothing but the keys opens it
            return
        self.registers[CR] = value & ~START
        if value & START and value & ERASE_ALL:
            self._erase(FLASH, FLASH_SIZE)
        elif value & START and value & ERASE:
            self._erase(self.registers.get(AR, 0) // PAGE * PAGE, PAGE)

    def _erase(self, address: int, size: int) -> None:
        if FLASH <= address <= FLASH + FLASH_SIZE - size:
            self._later(address, b"\xff" * size)
            self.erased += size // PAGE
            self._spend(ERASE_TIME)

    def _later(self, address: int, content: bytes) -> None:
        """What is in flash then: as soon as the core stops, because the emulator is in the midst of an instruction."""
        def put() -> None:
            for at in (address, address - FLASH):       # it has two addresses
                self.cpu.uc.mem_write(at, content)
        self.cpu.at(self.cpu.now, put)

    def _spend(self, time: int) -> None:
        self._busy_until = self.cpu.now + time
        self.status |= END

    def _written(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> None:
        """Before the store. One that the controller does not allow is put back."""
        try:
            before = bytes(uc.mem_read(address, size))
            content = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            if self.registers[CR] & (PROGRAM | LOCK) != PROGRAM:
                self._later(address, before)
                raise CpuFault(f"the firmware faults in {self.cpu.program.place(self.cpu.pc)}: write to flash at {address:#x}, {size} byte{'s' * (size != 1)}")
            if size == 2 and (before == b"\xff\xff" or content == b"\0\0"):
                self.programmed += 1
                self._later(address, content)
                self._spend(PROGRAM_TIME)
            else:
                self.status |= PROGRAM_ERROR
                self._later(address, before)
        except BaseException as e:
            self.cpu.interrupt(e)
