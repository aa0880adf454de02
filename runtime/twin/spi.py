"""A serial peripheral interface as master: bytes of eight bits, each taking eight cycles of its clock (RM0008, 25.3, 25.5).

Slave mode, 16-bit frames, CRC and DMA are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable

from .cpu import Cpu

CR1, CR2, SR, DR = 0x00, 0x04, 0x08, 0x0C
RXNE, TXE, OVR, BSY = 1, 2, 0x40, 0x80
SPE = 0x40


class Spi:
    """`exchange`: what the slave returns for a byte. `cycle`: ticks of the bus's clock."""

    def __init__(self, cpu: Cpu, cycle: Callable[[], int], interrupt: int, exchange: Callable[[int], int] = lambda byte: 0xFF) -> None:
        self.cpu, self.cycle, self.interrupt, self.exchange = cpu, cycle, interrupt, exchange
        self.registers: dict[int, int] = {}
        self._received: int | None = None       # in the data register
        self._shifting: int | None = None       # what comes back for the byte on the wire
        self._next: int | None = None           # to be sent behind it
        self._done = 0

    @property
    def byte(self) -> int:
        """Ticks."""
        return 8 * self.cycle() * (2 << (self.registers.get(CR1, 0) >> 3 & 7))

    def _update(self) -> None:
        while self._shifting is not None and self.cpu.now >= self._done:
            self._received, self._shifting = self._shifting, None
            if self._next is not None:
                byte, self._next = self._next, None
                self._shift(byte, self._done)

    def _shift(self, byte: int, start: int) -> None:
        self._shifting = self.exchange(byte) & 0xFF
        self._done = start + self.byte

    def read(self, offset: int) -> int:
        self._update()
        if offset == SR:
            if self._shifting is not None:
                self.cpu.wait_for(self._done)
                self._update()
            return ((RXNE if self._received is not None else 0) | (TXE if self._next is None else 0)
                    | (BSY if self._shifting is not None else 0))
        if offset == DR:
            value, self._received = self._received, None
            return value or 0
        return self.registers.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        self._update()
        if offset != DR:
            self.registers[offset] = value
        elif self.registers.get(CR1, 0) & SPE:
            if self._shifting is None:
                self._shift(value & 0xFF, self.cpu.now)
            else:
                self._next = value & 0xFF
