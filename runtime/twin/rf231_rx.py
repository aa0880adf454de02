"""Receiving: finding a frame, its interrupts, the frame filter and the automatic acknowledgement (data sheet 7.1.2.5, 7.2.3, 8.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import mac
from .air import Transmission
from .clock import US
from .rf231_table import (ACK_TIME, ACK_TIME_SHORT, HEARD_FROM, PHR, RSSI_BASE, SENSITIVITY, SHR, TX_DELAY, TX_TO_RX, Irq, Reg,
                          State)

if TYPE_CHECKING:
    from .rf231 import Rf231


class Receiver:
    def __init__(self, radio: Rf231) -> None:
        self.radio = radio
        self.clear()

    def clear(self) -> None:
        self._on: Transmission | None = None    # being received
        self.protected = False
        self.crc_valid = False
        self._level = 0

    @property
    def busy(self) -> bool:
        return self._on is not None

    def left(self) -> None:
        """The radio stops listening: what it was receiving is lost."""
        if self._on is not None:
            self.radio.counts["reception aborted"] += 1
        self._on = None
        self.protected = False

    # ---------------------------------------------------------------- finding frames
    def hears(self, t: Transmission, level: int) -> None:
        radio = self.radio
        transmitter = radio.transmitter
        if transmitter.waits_for_ack:
            radio.host.at(t.end, lambda: transmitter.hears(t, level))
            return
        radio.host.at(t.start + HEARD_FROM * US, lambda: self._find(t, level))

    def _find(self, t: Transmission, level: int) -> None:
        radio = self.radio
        if not radio.listening or t.channel != radio.channel or level < self._sensitivity():
            if t.channel == radio.channel:
                radio.counts["not listening"] += 1
            return
        self._on, self._level = t, level
        radio.plan(SHR - HEARD_FROM, lambda: self._at(t, self._found))

    def _sensitivity(self) -> int:
        """RX_PDT_LEVEL (9.1.3)."""
        level = self.radio.registers[Reg.RX_SYN] & 15
        return SENSITIVITY if not level else RSSI_BASE + 3 * (level - 1)

    def _at(self, t: Transmission, step) -> None:
        """The next step, if the frame is still being received."""
        if self._on is t:
            step(t)

    def _found(self, t: Transmission) -> None:
        """The start of frame delimiter."""
        radio = self.radio
        radio.go(State.BUSY_RX_AACK if radio.state == State.RX_AACK_ON else State.BUSY_RX)
        radio.plan(PHR, lambda: self._at(t, self._length))
        radio.host.at(t.end, lambda: self._at(t, self._ended))

    def _length(self, t: Transmission) -> None:
        radio = self.radio
        radio.raise_irq(Irq.RX_START)
        if radio.state == State.BUSY_RX_AACK and t.octet:
            header = mac.Header.of(t.psdu[:-2])
            if header and self._takes(header):
                radio.plan(header.size * t.octet / US, lambda: self._at(t, self._matched))

    def _matched(self, t: Transmission) -> None:
        self.radio.raise_irq(Irq.AMI)

    def _takes(self, header: mac.Header) -> bool:
        radio = self.radio
        control = radio.registers[Reg.XAH_CTRL_1]
        if control & 2:                         # AACK_PROM_MODE
            return True
        return mac.takes(header, mac.Own.of(dict(enumerate(radio.registers))), reserved=bool(control & 0x10))

    # ---------------------------------------------------------------- its end
    def _ended(self, t: Transmission) -> None:
        radio = self.radio
        self._on = None
        psdu = t.psdu
        if not radio.air.intact(t, radio, self._level):
            psdu = _damaged(psdu)
        right = mac.fcs_right(psdu)
        if radio.state == State.BUSY_RX:
            self._store(psdu, right)
            radio.go(State.RX_ON)
            radio.raise_irq(Irq.TRX_END)
            return
        promiscuous = radio.registers[Reg.XAH_CTRL_1] & 2
        header = mac.Header.of(psdu[:-2]) if right else None
        if not promiscuous and (header is None or not self._takes(header)):
            radio.counts["damaged" if not right else "filtered"] += 1
            radio.go(State.RX_AACK_ON)
            return
        self._store(psdu, right)
        radio.raise_irq(Irq.TRX_END)
        if header is not None and mac.takes(header, mac.Own.of(dict(enumerate(radio.registers)))) \
                and mac.acknowledges(header, dict(enumerate(radio.registers))):
            self._acknowledge(header)
        else:
            radio.go(State.RX_AACK_ON)

    def _store(self, psdu: bytes, right: bool) -> None:
        radio = self.radio
        radio.counts["received"] += 1
        radio.buffer[0] = len(psdu)
        radio.buffer[1:1 + len(psdu)] = psdu
        radio.lqi = lqi(self._level)
        radio.registers[Reg.PHY_ED_LEVEL] = max(0, min(84, self._level - RSSI_BASE))
        self.crc_valid = right
        self.protected = right

    def _acknowledge(self, header: mac.Header) -> None:
        radio = self.radio
        wait = ACK_TIME_SHORT if radio.registers[Reg.XAH_CTRL_1] & 4 else ACK_TIME
        psdu = mac.acknowledgement(header.sequence, bool(radio.registers[Reg.CSMA_SEED_1] & 0x20))

        def send() -> None:
            sent = radio.transmitter.emit(psdu)
            radio.counts["acknowledged"] += 1
            radio.plan((sent.end - radio.host.now) / US + TX_TO_RX, lambda: radio.go(State.RX_AACK_ON))
        radio.plan(wait - TX_DELAY, send)


def lqi(level: int) -> int:
    """8.6: near 255 for a link without errors, falling with the level close to the sensitivity (a model)."""
    return max(0, min(255, 255 - 16 * max(0, SENSITIVITY + 16 - level)))


def _damaged(psdu: bytes) -> bytes:
    """Bits of the last octet before the FCS have flipped."""
    return psdu[:-3] + bytes((psdu[-3] ^ 0xFF,)) + psdu[-2:] if len(psdu) >= 3 else psdu
