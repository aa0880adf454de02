"""Where registers are read and written: finds the peripheral of an address, cuts words into bytes, maps single bits.

A peripheral reads and writes whole registers at offsets from its base. What none is modelled for keeps what is written, and is
reported by `unmodelled`, so that nobody takes a result for more than it is.
"""

from __future__ import annotations

from typing import Any, Protocol

from .cpu import Cpu
from .memory import BIT_BAND, BIT_BAND_SIZE, PERIPHERALS, PERIPHERALS_SIZE, PRIVATE, PRIVATE_SIZE, SYSTEM, SYSTEM_SIZE

PAGE = 10                       #: RM0008, 3.3: a peripheral has a multiple of 1 KB
WIDE = {0xE000E000: 0x1000}     #: that have more than one: the system control space


class Peripheral(Protocol):
    def read(self, offset: int) -> int: ...
    def write(self, offset: int, value: int, size: int) -> None: ...


class Plain:
    """Registers that keep what is written and do nothing."""

    def __init__(self, values: dict[int, int] | None = None) -> None:
        self.values = dict(values or {})

    def read(self, offset: int) -> int:
        return self.values.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        self.values[offset] = value


class Bus:
    """`at`: base address -> peripheral."""

    def __init__(self, cpu: Cpu, at: dict[int, Peripheral]) -> None:
        self.cpu = cpu
        self.unmodelled: set[int] = set()
        self._pages = {base + more >> PAGE: (base, device) for base, device in at.items() for more in range(0, WIDE.get(base, 1), 1 << PAGE)}
        uc = cpu.uc
        for start, size in ((PERIPHERALS, PERIPHERALS_SIZE), (PRIVATE, PRIVATE_SIZE), (SYSTEM, SYSTEM_SIZE)):
            uc.mmio_map(start, size, self._read, start, self._write, start)
        uc.mmio_map(BIT_BAND, BIT_BAND_SIZE, self._read_bit, None, self._write_bit, None)

    def _find(self, address: int) -> tuple[int, Any]:
        found = self._pages.get(address >> PAGE)
        if found is None:
            base = address >> PAGE << PAGE
            self.unmodelled.add(base)
            found = self._pages[address >> PAGE] = base, Plain()
        return found

    def _read(self, uc: Any, offset: int, size: int, start: int) -> int:
        try:
            address = start + offset
            base, device = self._find(address)
            shift = 8 * (address & 3)
            return device.read(address - base & ~3) >> shift & (1 << 8 * size) - 1
        except BaseException as e:
            self.cpu.interrupt(e)
            return 0

    def _write(self, uc: Any, offset: int, size: int, value: int, start: int) -> None:
        try:
            address = start + offset
            base, device = self._find(address)
            device.write(address - base, value, size)
        except BaseException as e:
            self.cpu.interrupt(e)

    def _read_bit(self, uc: Any, offset: int, size: int, data: Any) -> int:
        """ARMv7-M ARM, B3.1: a word of the alias is a bit of the register."""
        bit = offset >> 2 & 7
        return self._read(uc, offset >> 5, 1, PERIPHERALS) >> bit & 1

    def _write_bit(self, uc: Any, offset: int, size: int, value: int, data: Any) -> None:
        bit, at = offset >> 2 & 31, offset >> 5 & ~3
        word = self._read(uc, at, 4, PERIPHERALS)
        self._write(uc, at, 4, word & ~(1 << bit) | (value & 1) << bit, PERIPHERALS)


