"""A radio without a controller: it acknowledges what is for it, and sends what it is told to, as a node with a fast driver would."""

from __future__ import annotations

from collections.abc import Callable

from .air import Air
from .clock import US, Event, Queue
from .rf231 import Rf231
from .rf231_table import Command, Reg, State

SETTLE = 200                    #: us: longer than any change of state


class Station:
    """`received`: called with each frame for it, without FCS."""

    def __init__(self, air: Air, eui64: int, pan: int = 0x23, channel: int = 26, name: str = "station",
                 received: Callable[[bytes], None] = lambda frame: None) -> None:
        self.name = name
        self.queue = Queue()
        self._time = self._until = 0
        self.radio = radio = Rf231(self, air, name)
        self._received = received
        radio.command(Command.TRX_OFF)
        self.at(SETTLE * US, lambda: self._configure(eui64, pan, channel))

    def _configure(self, eui64: int, pan: int, channel: int) -> None:
        radio = self.radio
        for i in range(2):
            radio.write(Reg.PAN_ID_0 + i, pan >> 8 * i & 0xFF)
        for i in range(8):
            radio.write(Reg.IEEE_ADDR_0 + i, eui64 >> 8 * i & 0xFF)
        radio.write(Reg.PHY_CC_CCA, radio.read(Reg.PHY_CC_CCA) & 0xE0 | channel)
        radio.write(Reg.IRQ_MASK, 8)
        radio.irq = self._interrupt
        radio.command(Command.RX_AACK_ON)

    def _interrupt(self, level: bool) -> None:
        if not level:
            return
        radio = self.radio
        radio.read(Reg.IRQ_STATUS)
        if radio.state in (State.RX_AACK_ON, State.BUSY_RX_AACK):
            self._received(bytes(radio.buffer[1:radio.buffer[0] - 1]))
            radio.buffer_was_read()
        else:                                   # a transmission is over
            self.at(self.now + US, self._listen)

    def _listen(self) -> None:
        self.radio.command(Command.PLL_ON)
        self.at(self.now + 2 * US, lambda: self.radio.command(Command.RX_AACK_ON))

    def send(self, frame: bytes) -> None:
        """With CSMA-CA, retries and all; when it receives, after that. One at a time."""
        radio = self.radio

        def start() -> None:
            if radio.state != State.TX_ARET_ON:
                self.at(self.now + 100 * US, lambda: self.send(frame))
                return
            radio.buffer[0] = len(frame) + 2
            radio.buffer[1:1 + len(frame)] = frame
            radio.command(Command.TX_START)
        radio.command(Command.PLL_ON)
        self.at(self.now + 2 * US, lambda: radio.command(Command.TX_ARET_ON))
        self.at(self.now + 4 * US, start)

    # ---------------------------------------------------------------- as a board is run
    @property
    def now(self) -> int:
        return self._time

    @property
    def wakes(self) -> int:
        return max(self._time, self.queue.next)

    def at(self, time: int, action: Callable[[], None]) -> Event:
        return self.queue.at(time, action)

    def shorten(self, until: int) -> None:
        self._until = min(self._until, until)

    def run(self, until: int) -> None:
        self._until = until
        while (next_ := self.queue.next) < self._until:
            self._time = max(self._time, next_)
            self.queue.run(self._time)
        self._time = max(self._time, self._until)
