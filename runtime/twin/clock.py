"""Virtual time: ticks of 1/144 us, so that cycles at 8, 16, 36 and 72 MHz are whole ticks; and what is due when."""

from __future__ import annotations

import heapq
from collections.abc import Callable

US = 144                        #: ticks of a microsecond
SECOND = US * 1_000_000
NEVER = 1 << 62


class Event:
    """Something due; `cancel` it when it is not any more."""

    __slots__ = ("time", "action")

    def __init__(self, time: int, action: Callable[[], None]) -> None:
        self.time = time
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Queue:
    """What is due, in order of time; what is due at the same time in the order it was asked for."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Event]] = []
        self._count = 0

    def at(self, time: int, action: Callable[[], None]) -> Event:
        event = Event(time, action)
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, event))
        return event

    @property
    def next(self) -> int:
        """When; NEVER if nothing is."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else NEVER

    def run(self, now: int) -> None:
        """Do everything that is due by `now`."""
        while self.next <= now:
            _, _, event = heapq.heappop(self._heap)
            action, event.action = event.action, None
            if action:
                action()
