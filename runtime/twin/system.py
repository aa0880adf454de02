"""The core's own registers: system control block, SysTick, cycle counter (ARMv7-M ARM, B3.2, B3.3, C1.8)."""

from __future__ import annotations

from collections.abc import Callable

from .clock import Event
from .cpu import Cpu
from .nvic import PENDSV, PRIORITY_MASK, SYSTICK

CPUID = 0x411FC231              #: Cortex-M3 r1p1 (Cortex-M3 TRM, 4.2)
KEY = 0x05FA0000                #: of AIRCR
SYSRESETREQ = 4


class SystemControl:
    """0xE000E000: SysTick, NVIC, system control. `reset`: what SYSRESETREQ does."""

    def __init__(self, cpu: Cpu, reset: Callable[[], None]) -> None:
        self.cpu, self.reset = cpu, reset
        self.ccr = 0x200                        # B3.2.8: STKALIGN
        self.other: dict[int, int] = {}
        self.control = self.reload = 0
        self._start = self._value = 0           # of the count, and when it had it
        self._counted = 0                       # when COUNTFLAG was last read
        self._event: Event | None = None

    def read(self, offset: int) -> int:
        if 0x10 <= offset < 0x20:
            return self._read_tick(offset)
        if 0x100 <= offset < 0x400 or 0x400 <= offset < 0x4F0:
            return self.cpu.nvic.read(offset - 0x100)
        nvic = self.cpu.nvic
        if offset == 0xD00:
            return CPUID
        if offset == 0xD04:                     # ICSR
            active = nvic.active[-1] if nvic.active else 0
            return (nvic.pending >> PENDSV & 1) << 28 | (nvic.pending >> SYSTICK & 1) << 26 | nvic.next() << 12 | active
        if offset == 0xD08:
            return self.cpu.vectors
        if offset == 0xD0C:
            return 0xFA050000 | nvic.group << 8
        if offset == 0xD14:
            return self.ccr
        if offset in (0xD18, 0xD1C, 0xD20):
            return sum(nvic.priority.get(offset - 0xD14 + i, 0) << 8 * i for i in range(4))
        return self.other.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        nvic = self.cpu.nvic
        if 0x10 <= offset < 0x20:
            self._write_tick(offset, value)
        elif 0x100 <= offset < 0x4F0:
            nvic.write(offset - 0x100, value, size)
        elif offset == 0xD04:
            for bit, pend, exception in ((28, True, PENDSV), (27, False, PENDSV), (26, True, SYSTICK), (25, False, SYSTICK)):
                if value >> bit & 1:
                    (nvic.pend if pend else nvic.unpend)(exception)
        elif offset == 0xD08:
            self.cpu.vectors = value & ~0x7F
        elif offset == 0xD0C:
            if value & 0xFFFF0000 == KEY:
                nvic.group = value >> 8 & 7
                if value & SYSRESETREQ:
                    self.reset()
        elif offset == 0xD14:
            self.ccr = value
        elif 0xD18 <= offset < 0xD24:
            for i in range(size):
                nvic.priority[offset - 0xD14 + i] = value >> 8 * i & PRIORITY_MASK
        elif offset == 0xF00:                   # STIR
            nvic.pend(16 + (value & 0x1FF))
        else:
            self.other[offset] = value

    # ---------------------------------------------------------------- SysTick
    @property
    def _period(self) -> int:
        """Ticks of a count: the core's clock, or an eighth of it (RM0008, 10.1.1)."""
        return self.cpu.clock.scale * (1 if self.control & 4 else 8)

    def _read_tick(self, offset: int) -> int:
        if offset == 0x10:
            wrapped = self.control & 1 and self._wraps(self.cpu.now) > self._wraps(self._counted)
            self._counted = self.cpu.now
            return self.control | (1 << 16 if wrapped else 0)
        if offset == 0x14:
            return self.reload
        if offset == 0x18:
            return self._count()
        return 0

    def _count(self) -> int:
        if not self.control & 1 or not self.reload:
            return self._value
        passed = (self.cpu.now - self._start) // self._period
        return self._value - passed if passed <= self._value else self.reload - (passed - self._value - 1) % (self.reload + 1)

    def _wraps(self, time: int) -> int:
        passed = max(0, time - self._start) // self._period
        return 0 if passed < self._value else 1 + (passed - self._value) // (self.reload + 1)

    def _write_tick(self, offset: int, value: int) -> None:
        count = self._count()
        if offset == 0x10:
            self._value, self._start, self.control = count, self.cpu.now, value & 7
        elif offset == 0x14:
            self.reload = value & 0xFFFFFF
        elif offset == 0x18:
            self._value, self._start = 0, self.cpu.now
        self._schedule()

    def _schedule(self) -> None:
        if self._event:
            self._event.cancel()
            self._event = None
        if self.control & 3 == 3 and self.reload:
            due = self._start + (self._value or self.reload + 1) * self._period
            while due <= self.cpu.now:
                due += (self.reload + 1) * self._period
            self._event = self.cpu.at(due, self._fire)

    def _fire(self) -> None:
        self.cpu.nvic.pend(SYSTICK)
        self._schedule()


class Trace:
    """0xE0001000: the cycle counter of the data watchpoint unit. It counts while the core runs, and while it sleeps by WFI."""

    def __init__(self, cpu: Cpu) -> None:
        self.cpu = cpu
        self.control, self._zero = 0x40000000, 0
        self.other: dict[int, int] = {}

    def _cycles(self) -> int:
        return self.cpu.clock.cycles + self.cpu.slept // self.cpu.clock.scale

    def read(self, offset: int) -> int:
        if offset == 4:
            return self._cycles() - self._zero & 0xFFFFFFFF if self.control & 1 else 0
        return self.control if offset == 0 else self.other.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == 0:
            self.control = value
        elif offset == 4:
            self._zero = self._cycles() - value
        else:
            self.other[offset] = value
