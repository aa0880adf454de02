"""The real-time clock: a 32-bit counter behind a prescaler, 32768 Hz, with an alarm (RM0008, 18.3, 18.4).

Its interrupt is 3; the alarm is on line 17 of the EXTI too, whose interrupt is 41.
"""

from __future__ import annotations

from collections.abc import Callable

from .clock import SECOND, Event
from .cpu import Cpu

CRH, CRL, PRLH, PRLL, DIVH, DIVL, CNTH, CNTL, ALRH, ALRL = range(0, 0x28, 4)
SECF, ALRF, OWF, RSF, CNF, RTOFF = 1, 2, 4, 8, 16, 32
LSE = 32768
INTERRUPT, ALARM_LINE = 3, 17


class Rtc:
    """`alarm`: told when the alarm comes."""

    def __init__(self, cpu: Cpu, alarm: Callable[[], None]) -> None:
        self.cpu, self.alarm = cpu, alarm
        self.enabled = self.flags = 0
        self.configuring = False
        self.prescaler, self.alarm_at = 0x8000, 0xFFFFFFFF
        self._base = self._since = self._seen = 0
        self._event: Event | None = None

    def _counts(self, time: int) -> int:
        return (time - self._since) * LSE // (SECOND * (self.prescaler + 1))

    def _time_of(self, counts: int) -> int:
        return self._since + -(-counts * SECOND * (self.prescaler + 1) // LSE)

    @property
    def count(self) -> int:
        return self._base + self._counts(self.cpu.now) & 0xFFFFFFFF

    def read(self, offset: int) -> int:
        self._update()
        count = self.count
        return {CRH: self.enabled, CRL: self.flags | RSF | RTOFF | (CNF if self.configuring else 0), DIVL: 0, DIVH: 0,
                CNTH: count >> 16, CNTL: count & 0xFFFF, ALRH: self.alarm_at >> 16, ALRL: self.alarm_at & 0xFFFF}.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        self._update()
        value &= 0xFFFF
        if offset == CRH:
            self.enabled = value & 7
        elif offset == CRL:
            self.flags &= value                 # rc_w0
            self.configuring = bool(value & CNF)
        elif offset in (CNTH, CNTL):
            self._set_count(_half(self.count, value, offset == CNTH))
        elif offset in (ALRH, ALRL):
            self.alarm_at = _half(self.alarm_at, value, offset == ALRH)
        elif offset in (PRLH, PRLL):
            count = self.count
            self.prescaler = _half(self.prescaler, value, offset == PRLH) & 0xFFFFF
            self._set_count(count)
        self._react()

    def _set_count(self, count: int) -> None:
        self._base, self._since, self._seen = count, self.cpu.now, 0

    def _update(self) -> None:
        counts = self._counts(self.cpu.now)
        if counts <= self._seen:
            return
        self.flags |= SECF
        if self._ahead(self.alarm_at) <= counts:
            self.flags |= ALRF
            self.alarm()
        if self._ahead(0) <= counts:
            self.flags |= OWF
        self._seen = counts

    def _ahead(self, value: int) -> int:
        """The first count behind the ones seen that is `value`."""
        ahead = value - self._base - self._seen & 0xFFFFFFFF
        return self._seen + (ahead or 1 << 32)

    def _react(self) -> None:
        self.cpu.nvic.line(INTERRUPT, bool(self.flags & self.enabled))
        if self._event:
            self._event.cancel()
        dues = [self._ahead(self.alarm_at)]
        if self.enabled & OWF:
            dues.append(self._ahead(0))
        if self.enabled & SECF:
            dues.append(self._seen + 1)
        self._event = self.cpu.at(self._time_of(min(dues)), self._fire)

    def _fire(self) -> None:
        self._event = None
        self._update()
        self._react()


def _half(word: int, value: int, high: bool) -> int:
    return word & 0xFFFF | value << 16 if high else word & 0xFFFF0000 | value
