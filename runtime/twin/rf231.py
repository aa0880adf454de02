"""The AT86RF231: registers, pins, states and what moves it from one to another.

Data sheet 8111C, 6.4 to 7.2; the tables are in rf231_table.py. Receiving is in rf231_rx.py, transmitting in rf231_tx.py.
A command that a state does not know is ignored; one that comes in a busy state is carried out when that ends; one that comes
during a transition is ignored (7.1.5: "do not try to initiate a further state change").
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from .air import Air
from .clock import US, Event
from .rf231_rx import Receiver
from .rf231_spi import SerialInterface
from .rf231_table import (AWAKE_END, BUSY, CCA_TIME, ED_TIME, FORCED, IRQ_LATENCY, LISTENING, READ_ONLY, RESET, RESET_TIME, RSSI_BASE, SLEEP_AFTER,
                          TRANSITIONS, WAKE, Command, Irq, Reg, State, Trac)
from .rf231_tx import Transmitter

READY = frozenset((State.PLL_ON, State.RX_ON, State.RX_AACK_ON, State.TX_ARET_ON))      #: the PLL runs
NO_FORCE_PLL = frozenset((State.SLEEP, State.P_ON, State.TRX_OFF))


class Host(Protocol):
    """What the radio needs of its board: time, in ticks."""

    @property
    def now(self) -> int: ...
    def at(self, time: int, action: Callable[[], None]) -> Event: ...


class Rf231:
    """`irq`: told the level of the pin IRQ. `told`: called with each new state."""

    def __init__(self, host: Host, air: Air, name: str = "radio", seed: int = 0,
                 irq: Callable[[bool], None] = lambda level: None) -> None:
        self.host, self.air, self.name, self.irq = host, air, name, irq
        self.number = air.join(self)
        self.random = random.Random(f"radio {seed} {self.number}")
        self.spi = SerialInterface(self)
        self.receiver, self.transmitter = Receiver(self), Transmitter(self)
        self.told: list[Callable[[State], None]] = []
        self.spent: Counter[State] = Counter()      # ticks by state
        self.counts: Counter[str] = Counter()       # what happened to frames
        self._since = 0
        self.state = State.P_ON
        self._reset_pin = True
        self.sleep_pin = False
        self._planned: list[Event] = []
        self._wanted: Command | None = None
        self._clear()

    def _clear(self) -> None:
        self.registers = [0] * 0x40
        for register, value in RESET.items():
            self.registers[register] = value
        self.buffer = bytearray(128)            # PHR, PSDU
        self.lqi = 0
        self.pending = Irq(0)
        self.trac = Trac.SUCCESS
        self.cca_done = self.cca_clear = False
        self.receiver.clear()
        self._show()

    # ---------------------------------------------------------------- what others ask
    @property
    def channel(self) -> int:
        return self.registers[Reg.PHY_CC_CCA] & 0x1F

    @property
    def listening(self) -> bool:
        """Can it find the start of a frame?"""
        return (self.state in LISTENING and not self.registers[Reg.RX_SYN] & 0x80 and not self.receiver.busy
                and not (self.receiver.protected and self.registers[Reg.TRX_CTRL_2] & 0x80))

    @property
    def octet(self) -> int:
        """Ticks of an octet behind the header: OQPSK_DATA_RATE (11.3)."""
        return 32 * US >> (self.registers[Reg.TRX_CTRL_2] & 3)

    def hears(self, transmission, level: int) -> None:
        """A frame begins here."""
        self.receiver.hears(transmission, level)

    def settle(self) -> None:
        """Account the time in this state up to now."""
        self.spent[self.state] += self.host.now - self._since
        self._since = self.host.now

    # ---------------------------------------------------------------- states
    def go(self, state: State) -> None:
        """Be in this state from now on."""
        self.settle()
        before, self.state = self.state, state
        if before in LISTENING and state not in LISTENING and state not in BUSY:
            self.receiver.left()
        for told in self.told:
            told(state)
        if state not in BUSY and state != State.TRANSITION and self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            self.command(wanted)

    def plan(self, delay: float, action: Callable[[], None]) -> Event:
        """In so many microseconds, unless the state is forced to change before."""
        event = self.host.at(self.host.now + round(delay * US), action)
        self._planned = [e for e in self._planned if e.action is not None]
        self._planned.append(event)
        return event

    def _drop_plans(self) -> None:
        for event in self._planned:
            event.cancel()
        self._planned.clear()
        self._wanted = None
        self.receiver.left()
        self.transmitter.abort()

    def command(self, command: int) -> None:
        """TRX_CMD."""
        if command == Command.FORCE_TRX_OFF and self.state not in (State.SLEEP, State.P_ON):
            self._force(State.TRX_OFF)
        elif command == Command.FORCE_PLL_ON and self.state not in NO_FORCE_PLL:
            self._force(State.PLL_ON)
        elif command == Command.TX_START:
            self._start()
        elif self.state in BUSY:
            if command in set(Command) - {Command.NOP, Command.FORCE_TRX_OFF, Command.FORCE_PLL_ON}:
                self._wanted = Command(command)
        else:
            found = TRANSITIONS.get(self.state, {}).get(command)    # type: ignore[call-overload]
            if found:
                self._change(*found)

    def _force(self, state: State) -> None:
        self._drop_plans()
        self._change(state, FORCED)

    def _change(self, state: State, delay: int) -> None:
        starts_pll = self.state == State.TRX_OFF and state in READY
        self.go(State.TRANSITION)

        def arrive() -> None:
            if state in (State.RX_AACK_ON, State.TX_ARET_ON):
                self.trac = Trac.INVALID
            self.go(state)
            if starts_pll:
                self.raise_irq(Irq.PLL_LOCK, 0)
        self.plan(delay, arrive)

    def _start(self) -> None:
        if self.state in (State.PLL_ON, State.TX_ARET_ON):
            self.transmitter.start(self.state == State.TX_ARET_ON)

    # ---------------------------------------------------------------- pins
    def set_sleep_pin(self, level: bool) -> None:
        """SLP_TR (6.5)."""
        before, self.sleep_pin = self.sleep_pin, level
        if level and not before:
            if self.state == State.TRX_OFF:
                self.plan(SLEEP_AFTER, lambda: self.go(State.SLEEP))
            else:
                self._start()
        elif before and not level and self.state in (State.SLEEP, State.TRX_OFF):
            self._drop_plans()
            if self.state == State.SLEEP:
                self.plan(WAKE, self._awake)

    def _awake(self) -> None:
        self.go(State.TRX_OFF)
        self.raise_irq(AWAKE_END, 0)

    def set_reset_pin(self, level: bool) -> None:
        """/RST: low resets; from P_ON it comes back to P_ON, else to TRX_OFF (7.1.4.5)."""
        before, self._reset_pin = self._reset_pin, level
        if before and not level:
            self._drop_plans()
            self._clear()
            if self.state != State.P_ON:
                self.go(State.TRANSITION)
        elif level and not before and self.state != State.P_ON:
            self.plan(RESET_TIME, self._awake)

    # ---------------------------------------------------------------- interrupts
    def raise_irq(self, which: Irq, latency: float = IRQ_LATENCY) -> None:
        """An event that this interrupt tells of happens now."""
        if latency:
            self.host.at(self.host.now + round(latency * US), lambda: self._raise(which))
        else:
            self._raise(which)

    def _raise(self, which: Irq) -> None:
        masked = not self.registers[Reg.IRQ_MASK] & which
        if masked and not self.registers[Reg.TRX_CTRL_1] & 2:       # IRQ_MASK_MODE
            return
        self.pending |= which
        self._show()

    def _show(self) -> None:
        """Pin IRQ; IRQ_POLARITY says what active is."""
        active = bool(self.pending & self.registers[Reg.IRQ_MASK])
        self.irq(active != bool(self.registers[Reg.TRX_CTRL_1] & 1))

    # ---------------------------------------------------------------- registers
    def read(self, register: int) -> int:
        if register == Reg.TRX_STATUS:
            value = self.state | self.cca_done << 7 | self.cca_clear << 6
            return value
        if register == Reg.TRX_STATE:
            return self.registers[register] & 0x1F | self.trac << 5
        if register == Reg.IRQ_STATUS:
            value, self.pending = int(self.pending), Irq(0)
            self._show()
            return value
        if register == Reg.PHY_RSSI:
            return self.receiver.crc_valid << 7 | self.random.getrandbits(2) << 5 | self._rssi()
        return self.registers[register]

    def _rssi(self) -> int:
        """0 to 28, 3 dB a step (8.3.3)."""
        if self.state not in LISTENING and self.state not in (State.BUSY_RX, State.BUSY_RX_AACK):
            return 0
        level = self.air.level(self, self.host.now - 2 * US, self.host.now + 1)
        return max(0, min(28, (level - RSSI_BASE) // 3 + 1))

    def write(self, register: int, value: int) -> None:
        if register == Reg.TRX_STATE:
            self.registers[register] = value & 0x1F
            self.command(value & 0x1F)
            return
        if register in READ_ONLY:
            return
        if register == Reg.PHY_ED_LEVEL:
            self._measure(ED_TIME)
            return
        if register == Reg.PHY_CC_CCA:
            self.registers[register] = value & 0x7F
            if value & 0x80:
                self.cca_done = False
                self._measure(CCA_TIME)
            return
        self.registers[register] = value
        if register in (Reg.IRQ_MASK, Reg.TRX_CTRL_1):
            self._show()
        if register == Reg.TRX_CTRL_2 and not value & 0x80:
            self.receiver.protected = False

    def _measure(self, time: int) -> None:
        """ED and CCA by hand: in RX_ON and BUSY_RX only (8.4.2, 8.5.2)."""
        if self.state not in (State.RX_ON, State.BUSY_RX):
            return
        start = self.host.now

        def done() -> None:
            level = self.air.level(self, start, self.host.now)
            if time == ED_TIME:
                self.registers[Reg.PHY_ED_LEVEL] = max(0, min(84, level - RSSI_BASE))
            self.cca_done, self.cca_clear = True, self.clear_channel(start)
            self.raise_irq(Irq.CCA_ED_DONE, 0)
        self.plan(time, done)

    def clear_channel(self, start: int) -> bool:
        """The assessment of the time from `start` to now; modes of CCA_MODE (8.5.1). Carrier sense sees every frame."""
        level = self.air.level(self, start, self.host.now)
        threshold = RSSI_BASE + 2 * (self.registers[Reg.CCA_THRES] & 15)
        energy, carrier = level >= threshold, level > RSSI_BASE - 10
        mode = self.registers[Reg.PHY_CC_CCA] >> 5 & 3
        busy = (energy or carrier, energy, carrier, energy and carrier)[mode]
        return not busy

    # ---------------------------------------------------------------- the frame buffer
    def read_buffer(self, at: int) -> int:
        """PHR, PSDU, LQI (6.2.2)."""
        length = self.buffer[0] & 0x7F
        if at <= length:
            return self.buffer[at]
        return self.lqi if at == length + 1 else 0

    def buffer_was_read(self) -> None:
        self.receiver.protected = False         # 11.8
