"""A radio on a virtual clock: what it is doing when, and what is on the air around it.

Times are whole microseconds from the start. IEEE 802.15.4, O-QPSK at 2.4 GHz: 250 kbit/s, 32 us an octet. The radio hears a
frame if it listened from its first preamble octet to its last; two frames at the same time destroy each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from lpn.lang.hooks import LONGEST_FRAME

SYMBOL = 16                     #: us
OCTET = 2 * SYMBOL              #: us
FCS = 2                         #: octets that a frame has behind those a program sees
SFD = 5 * OCTET                 #: from a frame's first bit to the end of its start-of-frame delimiter
TURNAROUND = 12 * SYMBOL        #: aTurnaroundTime
CCA = 8 * SYMBOL                #: one clear channel assessment
ACK = TURNAROUND + (6 + 5) * OCTET      #: from a frame's end to the end of its acknowledgement
ACK_WAIT = 54 * SYMBOL          #: macAckWaitDuration
FOREVER = 1 << 62
LONGEST = (6 + 2048 + FCS) * OCTET        #: the airtime of the longest packet there is


def airtime(octets: int) -> int:
    """Microseconds of a frame of so many octets without FCS: preamble 4, delimiter 1, length 1, FCS 2."""
    return (6 + octets + FCS) * OCTET


def wants_ack(frame: bytes) -> bool:
    """Whether the frame's AR bit is set (IEEE 802.15.4, 7.2.2.5)."""
    return len(frame) >= 1 and bool(frame[0] & 0x20)


@dataclass(frozen=True)
class Sending:
    """A frame on its way: `start` its first bit, `end` its last one, `done` when its result is known."""

    frame: bytes
    result: str                 #: OK, BUSY, NOACK
    start: int
    end: int
    done: int


@dataclass
class Heard:
    """A frame of somebody else on the air."""

    frame: bytes
    start: int
    rssi: int = 0
    lqi: int = 0
    clash: bool = False         #: another one came at the same time

    @property
    def end(self) -> int:
        return self.start + airtime(len(self.frame))


@dataclass(frozen=True)
class TxPlan:
    """What happens to frames to be sent: the result, and how much later than usual they start."""

    result: str = "OK"
    delay: int = 0


@dataclass
class Radio:
    """`on`: whether it listens at the start."""

    on: bool = True
    channel: int | None = None
    power: int | None = None
    plans: deque[TxPlan] = field(default_factory=deque)     #: for the next frames, one each
    plan: TxPlan = TxPlan()                                 #: for the ones after those
    _switches: list[tuple[int, bool]] = field(default_factory=list)
    _looks: list[tuple[int, int]] = field(default_factory=list)     #: from when to when it looked at the channel; in order
    _busy: list[tuple[int, int]] = field(default_factory=list)      #: when CCA says BUSY, whatever is on the air; in order
    _sent: list[Sending] = field(default_factory=list)
    _air: list[Heard] = field(default_factory=list)

    # ------------------------------------------------------------ commands

    def switch(self, time: int, on: bool) -> None:
        """radio.on(), radio.off()."""
        insort(self._switches, (time, on), key=lambda each: each[0])

    def hold_up(self, time: int, us: int) -> None:
        """Who is about to switch it after `time` does so that much later."""
        for i in range(bisect_right(self._switches, time, key=lambda each: each[0]), len(self._switches)):
            at, on = self._switches[i]
            self._switches[i] = at + us, on

    def send(self, time: int, frame: bytes) -> Sending | None:
        """Start sending; None when the frame before is still on its way, or this one is longer than any on the air."""
        if len(frame) > LONGEST_FRAME - FCS or self._sent and time < self._sent[-1].done:
            return None
        plan = self.plans.popleft() if self.plans else self.plan
        start = time + plan.delay + (CCA if plan.result == "BUSY" else TURNAROUND)
        end = start if plan.result == "BUSY" else start + airtime(len(frame))
        wait = {"BUSY": 0, "NOACK": ACK_WAIT, "OK": ACK if wants_ack(frame) else 0}[plan.result]
        self._sent.append(Sending(frame, plan.result, start, end, end + wait))
        return self._sent[-1]

    def clear(self, time: int, woke: int | None = None) -> bool:
        """A clear channel assessment that begins at `time`, of a radio that was told so at `woke`: one that is off is on since then."""
        end = time + CCA
        self._looks.append((time if woke is None else woke, end))
        last = bisect_left(self._busy, end, key=lambda each: each[0])
        busy = last > 0 and self._busy[last - 1][1] > time
        sending = self._sent[bisect_right(self._sent, time, key=lambda s: s.done):]
        return not busy and not self._heard(time, end) and not any(s.start < end and time < s.end for s in sending)

    # ------------------------------------------------------------ the world

    def occupy(self, start: int, end: int) -> None:
        """CCA says BUSY from `start` to `end`; what was said before of the time from `start` on is replaced."""
        self.release(start)
        self._busy.append((start, end))

    def release(self, time: int) -> None:
        """Nothing but frames makes CCA say BUSY from `time` on."""
        while self._busy and self._busy[-1][0] >= time:
            self._busy.pop()
        if self._busy:
            start, end = self._busy[-1]
            self._busy[-1] = start, min(end, time)

    def air(self, heard: Heard) -> None:
        """A frame that is, or will be, on the air."""
        for other in self._heard(heard.start, heard.end):
            other.clash = heard.clash = True
        insort(self._air, heard, key=lambda each: each.start)

    def _heard(self, start: int, end: int) -> list[Heard]:
        """The frames on the air at some time between `start` and `end`."""
        low = bisect_left(self._air, start - LONGEST, key=lambda h: h.start)
        high = bisect_left(self._air, end, key=lambda h: h.start)
        return [h for h in self._air[low:high] if h.end > start]

    # ------------------------------------------------------------ questions

    def listening(self, start: int, end: int) -> bool:
        """Whether it listens all the time from `start` to `end`; for times that nothing can change any more."""
        return all(state == "rx" for _, _, state in self.states(start, end))

    def states(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """(from, to, state) from `start` to `end` without gaps; states: off, rx, tx. Waiting for an acknowledgement is rx."""
        switch = bisect_right(self._switches, start, key=lambda each: each[0])
        on = self._switches[switch - 1][1] if switch else self.on
        sending = bisect_right(self._sent, start, key=lambda s: s.done)
        cuts = {start, end}
        for i in range(switch, bisect_left(self._switches, end, key=lambda each: each[0])):
            cuts.add(self._switches[i][0])
        for s in self._sent[sending:]:
            cuts |= {t for t in (s.start, s.end, s.done) if start < t < end}
        since, before = start, ""
        for at in sorted(cuts)[:-1] if start < end else ():
            while switch < len(self._switches) and self._switches[switch][0] <= at:
                on = self._switches[switch][1]
                switch += 1
            while sending < len(self._sent) and self._sent[sending].done <= at:
                sending += 1
            state = "rx" if on else "off"
            if sending < len(self._sent) and self._sent[sending].start <= at:
                state = "tx" if at < self._sent[sending].end else "rx"
            if state != before:
                if before:
                    yield since, at, before
                since, before = at, state
        if before:
            yield since, end, before

    def on_time(self, start: int, end: int) -> int:
        """Microseconds between the two that the radio is not off, or looks at the channel."""
        looks = [(max(a, start), min(b, end)) for a, b in self._looks if b > start and a < end]
        return (sum(b - a for a, b, state in self.states(start, end) if state != "off")
                + sum(b - a for look in looks for a, b, state in self.states(*look) if state == "off"))
