"""General-purpose timers TIM1 to TIM5 and TIM8, counting up: prescaler, reload, four compare channels (RM0008, 15.3, 15.4).

Counting down, capture, slave modes and outputs are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable

from .clock import Event
from .cpu import Cpu

CR1, DIER, SR, EGR, CNT, PSC, ARR, CCR1 = 0x00, 0x0C, 0x10, 0x14, 0x24, 0x28, 0x2C, 0x34
CHANNELS = 4


class Timer:
    """`cycle`: ticks of its clock. `interrupt`: its line's number."""

    def __init__(self, cpu: Cpu, cycle: Callable[[], int], interrupt: int) -> None:
        self.cpu, self.cycle, self.interrupt = cpu, cycle, interrupt
        self.registers = {ARR: 0xFFFF}
        self.status = 0
        self.prescaler = 0                      # the one in use; PSC comes into use with an update
        self._since = 0                         # when the count was `_base`
        self._base = 0
        self._seen = 0                          # counts since `_since` that the flags know of
        self._event: Event | None = None

    @property
    def running(self) -> bool:
        return bool(self.registers.get(CR1, 0) & 1)

    @property
    def _period(self) -> int:
        return self.cycle() * (self.prescaler + 1)

    @property
    def _top(self) -> int:
        return self.registers[ARR] + 1

    def _counts(self) -> int:
        """Since `_since`."""
        return (self.cpu.now - self._since) // self._period if self.running else 0

    @property
    def count(self) -> int:
        return (self._base + self._counts()) % self._top

    def read(self, offset: int) -> int:
        if offset == CNT:
            return self.count
        if offset == SR:
            self._update()
            return self.status
        if offset == EGR:
            return 0
        return self.registers.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        self._update()
        value &= 0xFFFF
        if offset == SR:
            self.status &= value                # rc_w0
        elif offset == EGR:
            if value & 1:
                self._restart(0)
                self.prescaler = self.registers.get(PSC, 0)
                if not self.registers.get(CR1, 0) & 4:      # URS
                    self.status |= 1
            self.status |= value & 0x1E
        elif offset == CNT:
            self._restart(value % self._top)
        elif offset in (CR1, ARR):
            count = self.count
            self.registers[offset] = value
            self._restart(count % self._top)
        else:
            self.registers[offset] = value
        self._react()

    def _restart(self, count: int) -> None:
        self._base, self._since, self._seen = count, self.cpu.now, 0

    def _next(self, value: int, seen: int) -> int | None:
        """The first count behind `seen` that is `value`."""
        if value >= self._top:
            return None
        ahead = (value - self._base - seen) % self._top
        return seen + (ahead or self._top)

    def _update(self) -> None:
        """Flags for what was counted since they were last looked at."""
        counts = self._counts()
        if counts <= self._seen:
            return
        for channel in range(CHANNELS):
            at = self._next(self.registers.get(CCR1 + 4 * channel, 0), self._seen)
            if at is not None and at <= counts:
                self.status |= 2 << channel
        over = self._next(0, self._seen)
        if over is not None and over <= counts:
            self.status |= 1
            if self.registers.get(PSC, 0) != self.prescaler:
                self._take_prescaler(over)
                return
            if self.registers.get(CR1, 0) & 8:  # OPM
                self.registers[CR1] &= ~1
                self._restart(0)
                return
        self._seen = counts

    def _take_prescaler(self, over: int) -> None:
        self._since += over * self._period
        self._base = self._seen = 0
        self.prescaler = self.registers.get(PSC, 0)

    def _react(self) -> None:
        enabled = self.registers.get(DIER, 0) & 0x1F
        self.cpu.nvic.line(self.interrupt, bool(self.status & enabled))
        if self._event:
            self._event.cancel()
            self._event = None
        if not self.running:
            return
        values = [self.registers.get(CCR1 + 4 * i, 0) for i in range(CHANNELS) if enabled & 2 << i and not self.status & 2 << i]
        if enabled & 1 and not self.status & 1:
            values.append(0)
        dues = [at for at in (self._next(value, self._seen) for value in values) if at is not None]
        if dues:
            self._event = self.cpu.at(self._since + min(dues) * self._period, self._fire)

    def _fire(self) -> None:
        self._event = None
        self._update()
        self._react()
