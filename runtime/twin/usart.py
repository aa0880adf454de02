"""A serial port: bytes take the time of their bits, both ways (RM0008, 27.3, 27.6). Framing errors and DMA are not modelled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .cpu import Cpu

SR, DR, BRR, CR1, CR2, CR3 = range(0, 0x18, 4)
TXE, TC, RXNE, ORE = 0x80, 0x40, 0x20, 0x08
UE, TE, RE = 1 << 13, 8, 4


class Usart:
    """`sent`: told each byte when its stop bit is out. `cycle`: ticks of its clock."""

    def __init__(self, cpu: Cpu, cycle: Callable[[], int], interrupt: int, sent: Callable[[int], None] = lambda byte: None) -> None:
        self.cpu, self.cycle, self.interrupt, self.sent = cpu, cycle, interrupt, sent
        self.registers: dict[int, int] = {}
        self.status = 0
        self._empty = self._done = 0            # when the data register is empty, and the last byte out
        self._received = 0
        self._input: deque[int] = deque()
        self.gap = 0                            # ticks between received bytes

    @property
    def byte(self) -> int:
        """Ticks of a start bit, eight or nine bits and a stop bit."""
        bits = 11 if self.registers.get(CR1, 0) & 1 << 12 else 10
        return bits * max(1, self.registers.get(BRR, 0)) * self.cycle()

    def read(self, offset: int) -> int:
        now = self.cpu.now
        if offset == SR:
            if now < self._empty:
                self.cpu.wait_for(self._empty)
            elif now < self._done:
                self.cpu.wait_for(self._done)
            return self._flags()
        if offset == DR:
            self.status &= ~(RXNE | ORE)
            self._react()
            return self._received
        return self.registers.get(offset, 0)

    def _flags(self) -> int:
        now = self.cpu.now
        return self.status | (TXE if now >= self._empty else 0) | (TC if now >= self._done else 0)

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == DR:
            self._send(value & 0xFF)
        elif offset == SR:
            self.status &= value | ~RXNE
        else:
            self.registers[offset] = value
        self._react()

    def _send(self, byte: int) -> None:
        if not self.registers.get(CR1, 0) & TE:
            return
        start = max(self.cpu.now, self._done)
        self._empty, self._done = start, start + self.byte
        self.cpu.at(self._done, lambda: self.sent(byte))
        self.cpu.at(self._done, self._react)
        if start > self.cpu.now:
            self.cpu.at(start, self._react)

    def _react(self) -> None:
        control, flags = self.registers.get(CR1, 0), self._flags()
        active = flags & (TXE | TC) & control or (flags & (RXNE | ORE) and control & RXNE)
        self.cpu.nvic.line(self.interrupt, bool(active and control & UE))

    # ---------------------------------------------------------------- the other end
    def type(self, content: bytes) -> None:
        """Bytes for the board, one after the other."""
        idle = not self._input
        self._input.extend(content)
        if idle and content:
            self.cpu.at(self.cpu.now + self.byte + self.gap, self._arrive)

    def _arrive(self) -> None:
        byte = self._input.popleft()
        if self.registers.get(CR1, 0) & (UE | RE) == UE | RE:
            if self.status & RXNE:
                self.status |= ORE              # 27.3.3: the new byte is lost
            else:
                self._received, self.status = byte, self.status | RXNE
            self._react()
        if self._input:
            self.cpu.at(self.cpu.now + self.byte + self.gap, self._arrive)
