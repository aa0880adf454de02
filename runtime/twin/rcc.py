"""Reset and clock control: which clock the core runs from, and how fast the buses are (RM0008, 7.3).

Oscillators and the PLL are ready as soon as they are switched on. That a peripheral's clock is off is not modelled.
"""

from __future__ import annotations

from .clock import US
from .cpu import Cpu

HSI, HSE = 8_000_000, 16_000_000                #: the board's crystal (IoT-LAB M3)
CR, CFGR, BDCR, CSR = 0x00, 0x04, 0x20, 0x24
AHB = {8: 2, 9: 4, 10: 8, 11: 16, 12: 64, 13: 128, 14: 256, 15: 512}
APB = {4: 2, 5: 4, 6: 8, 7: 16}


class Rcc:
    def __init__(self, cpu: Cpu) -> None:
        self.cpu = cpu
        self.registers = {CR: 0x83, CFGR: 0, 0x14: 0x14, CSR: 0x0C000000}
        self._apply()

    def read(self, offset: int) -> int:
        value = self.registers.get(offset, 0)
        if offset == CR:                        # ready bits follow the switches
            for on, ready in ((0, 1), (16, 17), (24, 25)):
                value = value & ~(1 << ready) | (value >> on & 1) << ready
        elif offset == CFGR:
            value = value & ~0xC | (value & 3) << 2
        elif offset in (BDCR, CSR):
            value = value & ~2 | (value & 1) << 1
        return value

    def write(self, offset: int, value: int, size: int) -> None:
        shift = 8 * (offset & 3)
        offset &= ~3
        mask = (1 << 8 * size) - 1 << shift
        self.registers[offset] = self.registers.get(offset, 0) & ~mask | value << shift & mask
        if offset == CFGR:
            self._apply()

    def _apply(self) -> None:
        self.cpu.clock.scale = max(1, round(US * 1_000_000 / self.core))

    @property
    def core(self) -> int:
        """Hz."""
        value = self.registers[CFGR]
        source = value & 3
        if source == 2:
            pll = (HSE // (2 if value >> 17 & 1 else 1)) if value >> 16 & 1 else HSI // 2
            clock = pll * min(16, (value >> 18 & 15) + 2)
        else:
            clock = HSE if source == 1 else HSI
        return clock // AHB.get(value >> 4 & 15, 1)

    def bus(self, which: int) -> int:
        """Ticks of a cycle of APB1 or APB2."""
        shift = 8 if which == 1 else 11
        return self.cpu.clock.scale * APB.get(self.registers[CFGR] >> shift & 7, 1)

    def timer(self, which: int) -> int:
        """Ticks of a cycle of the timers on APB1 or APB2: twice the bus's clock if that is divided (RM0008, 7.2)."""
        shift = 8 if which == 1 else 11
        divided = APB.get(self.registers[CFGR] >> shift & 7, 1)
        return self.cpu.clock.scale * max(1, divided // 2)
