"""Which exception comes when: the nested vectored interrupt controller and the priorities of the core.

ARMv7-M Architecture Reference Manual (DDI 0403), B1.5 and B3.4. Exceptions have their numbers, 16 + n for interrupt n. An
interrupt's line may stay active; then it is pending again when its handler has returned. STM32F103: four bits of priority.
"""

from __future__ import annotations

from collections.abc import Callable

SVC, PENDSV, SYSTICK, FIRST_INTERRUPT = 11, 14, 15, 16
INTERRUPTS = 60                 #: RM0008, 10.1.2, high-density devices
PRIORITY_MASK = 0xF0
FIXED = {1: -3, 2: -2, 3: -1}   #: reset, NMI, HardFault
THREAD = 256                    #: the priority of code outside of handlers


class Nvic:
    """`changed`: called whenever it may be that another exception is to be taken now."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
        self.enabled = 0                        # bits by exception number
        self.pending = 0
        self.lines = 0
        self.active: list[int] = []             # innermost last
        self.priority: dict[int, int] = {}
        self.group = 0                          # PRIGROUP
        self.base = 0                           # BASEPRI

    def level_of(self, exception: int) -> int:
        """Its group priority; lower ones come first."""
        if exception in FIXED:
            return FIXED[exception]
        return self.priority.get(exception, 0) >> (self.group + 1) << (self.group + 1)

    @property
    def level(self) -> int:
        """What runs has this priority, PRIMASK aside."""
        now = min((self.level_of(e) for e in self.active), default=THREAD)
        return min(now, self.base) if self.base else now

    def next(self) -> int:
        """The exception to be taken, PRIMASK aside; 0: none."""
        waiting, best, where = self.pending & (self.enabled | 0xFFFF), 0, (THREAD, 0)
        while waiting:
            exception = (waiting & -waiting).bit_length() - 1
            waiting &= waiting - 1
            at = self.level_of(exception), self.priority.get(exception, 0)
            if not best or at < where:
                best, where = exception, at
        return best if best and where[0] < self.level else 0

    def pend(self, exception: int) -> None:
        if not self.pending >> exception & 1:
            self.pending |= 1 << exception
            self.changed()

    def unpend(self, exception: int) -> None:
        self.pending &= ~(1 << exception)
        self.changed()

    def line(self, interrupt: int, active: bool) -> None:
        """A peripheral's interrupt line."""
        bit = 1 << (FIRST_INTERRUPT + interrupt)
        if active and not self.lines & bit:
            self.lines |= bit
            self.pend(FIRST_INTERRUPT + interrupt)
        elif not active:
            self.lines &= ~bit

    def take(self, exception: int) -> None:
        self.pending &= ~(1 << exception)
        self.active.append(exception)
        self.changed()

    def leave(self) -> int:
        """The innermost handler has returned."""
        exception = self.active.pop()
        self.pending |= self.lines & 1 << exception
        self.changed()
        return exception

    # ---------------------------------------------------------------- registers, from 0xE000E100 on
    def read(self, offset: int) -> int:
        kind, word = offset >> 7, offset >> 2 & 31
        if kind in (0, 1):                      # ISER, ICER
            return self._word(self.enabled, word)
        if kind in (2, 3):                      # ISPR, ICPR
            return self._word(self.pending, word)
        if kind == 4:                           # IABR
            return self._word(sum(1 << e for e in set(self.active)), word)
        if 0x300 <= offset < 0x300 + INTERRUPTS:
            first = FIRST_INTERRUPT + (offset - 0x300 & ~3)
            return sum(self.priority.get(first + i, 0) << 8 * i for i in range(4))
        return 0

    def write(self, offset: int, value: int, size: int) -> None:
        kind, bits = offset >> 7, value << FIRST_INTERRUPT + 32 * (offset >> 2 & 31)
        bits &= ((1 << INTERRUPTS) - 1) << FIRST_INTERRUPT
        if kind == 0:
            self.enabled |= bits
        elif kind == 1:
            self.enabled &= ~bits
        elif kind == 2:
            self.pending |= bits
        elif kind == 3:
            self.pending = self.pending & ~bits | self.lines & bits
        elif 0x300 <= offset < 0x300 + INTERRUPTS:
            for i in range(size):
                self.priority[FIRST_INTERRUPT + offset - 0x300 + i] = value >> 8 * i & PRIORITY_MASK
        self.changed()

    @staticmethod
    def _word(bits: int, word: int) -> int:
        return bits >> FIRST_INTERRUPT + 32 * word & 0xFFFFFFFF
