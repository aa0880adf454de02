"""Transmitting: at once, or with CSMA-CA, waiting for an acknowledgement and trying again (data sheet 7.1.2.6, 7.2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import mac
from .air import LEAD, Transmission
from .clock import US, Event
from .rf231_table import ACK_WAIT, BACKOFF, CCA_TIME, IRQ_LATENCY, Irq, Reg, State, Trac

if TYPE_CHECKING:
    from .rf231 import Rf231

NO_CSMA = 7                     #: MAX_CSMA_RETRIES: at once, and once


class Transmitter:
    def __init__(self, radio: Rf231) -> None:
        self.radio = radio
        self._sending: Transmission | None = None
        self._awaited: int | None = None        # the sequence number of the acknowledgement waited for
        self._timeout: Event | None = None
        self._frame_tries = self._csma_tries = 0

    @property
    def waits_for_ack(self) -> bool:
        return self._awaited is not None

    def abort(self) -> None:
        """The state is forced to change."""
        if self._sending is not None and self._sending.end > self.radio.host.now:
            self._sending.cut = max(self._sending.start, self.radio.host.now)
        self._sending, self._awaited = None, None

    def emit(self, psdu: bytes) -> Transmission:
        """Put it on the air, from t_TR10 on."""
        radio = self.radio
        sent = Transmission(radio, radio.name, radio.channel, psdu, radio.host.now + LEAD, radio.octet)
        self._sending = sent
        radio.air.send(sent)
        return sent

    def _psdu(self) -> bytes:
        """What is in the frame buffer; the radio computes the FCS unless it is told not to (TX_AUTO_CRC_ON)."""
        radio = self.radio
        psdu = bytes(radio.buffer[1:1 + (radio.buffer[0] & 0x7F)])
        if radio.registers[Reg.TRX_CTRL_1] & 0x20 and len(psdu) >= 2:
            psdu = mac.with_fcs(psdu[:-2])
        return psdu

    def start(self, automatic: bool) -> None:
        """TX_START, or SLP_TR. `automatic`: TX_ARET."""
        radio = self.radio
        if not radio.buffer[0] & 0x7F:
            return
        if not automatic:
            radio.go(State.BUSY_TX)
            sent = self.emit(self._psdu())
            radio.plan((sent.end - radio.host.now) / US, self._plain_end)
            return
        radio.go(State.BUSY_TX_ARET)
        radio.trac = Trac.INVALID
        self._frame_tries = 0
        self._try()

    def _plain_end(self) -> None:
        self.radio.counts["sent"] += 1
        self._sending = None
        self.radio.go(State.PLL_ON)
        self.radio.raise_irq(Irq.TRX_END, 0)

    # ---------------------------------------------------------------- TX_ARET
    @property
    def _csma_retries(self) -> int:
        return self.radio.registers[Reg.XAH_CTRL_0] >> 1 & 7

    def _try(self) -> None:
        self._csma_tries = 0
        if self._csma_retries == NO_CSMA:
            self._send()
        else:
            self._back_off()

    def _back_off(self) -> None:
        """IEEE 802.15.4-2006, 7.5.1.4, unslotted."""
        radio = self.radio
        bounds = radio.registers[Reg.CSMA_BE]
        exponent = min((bounds & 15) + self._csma_tries, max(bounds >> 4, bounds & 15))
        radio.plan(radio.random.randrange(1 << exponent) * BACKOFF, self._assess)

    def _assess(self) -> None:
        radio = self.radio
        start = radio.host.now

        def done() -> None:
            if radio.clear_channel(start):
                self._send()
                return
            self._csma_tries += 1
            radio.counts["busy"] += 1
            if self._csma_tries > self._csma_retries:
                self._finish(Trac.CHANNEL_ACCESS_FAILURE)
            else:
                self._back_off()
        radio.plan(CCA_TIME, done)

    def _send(self) -> None:
        radio = self.radio
        psdu = self._psdu()
        sent = self.emit(psdu)

        def ended() -> None:
            radio.counts["sent"] += 1
            self._sending = None
            if len(psdu) >= 3 and psdu[0] & 0x20:
                self._awaited = psdu[2]
                self._timeout = radio.plan(ACK_WAIT, self._missed)
            else:
                self._finish(Trac.SUCCESS)
        radio.plan((sent.end - radio.host.now) / US, ended)

    def hears(self, t: Transmission, level: int) -> None:
        """A frame ended while an acknowledgement is waited for. This does not touch the frame buffer."""
        radio = self.radio
        if self._awaited is None or t.channel != radio.channel or not radio.air.intact(t, radio, level):
            return
        if mac.answers(t.psdu, self._awaited):
            self._awaited = None
            if self._timeout:
                self._timeout.cancel()
            self._finish(Trac.SUCCESS_DATA_PENDING if t.psdu[0] & 0x10 else Trac.SUCCESS)

    def _missed(self) -> None:
        self._awaited = None
        self.radio.counts["no acknowledgement"] += 1
        retries = self.radio.registers[Reg.XAH_CTRL_0] >> 4
        self._frame_tries += 1
        if self._csma_retries == NO_CSMA or self._frame_tries > retries:
            self._finish(Trac.NO_ACK)
        else:
            self._try()

    def _finish(self, result: Trac) -> None:
        """The state is TX_ARET_ON again when the interrupt comes."""
        radio = self.radio

        def done() -> None:
            radio.trac = result
            radio.counts[result.name.lower()] += 1
            radio.raise_irq(Irq.TRX_END, 0)
            radio.go(State.TX_ARET_ON)
        radio.plan(IRQ_LATENCY, done)
