"""The AT86RF231's serial interface: accesses to registers, frame buffer and SRAM (data sheet 6.2, 6.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rf231_table import Reg, State

if TYPE_CHECKING:
    from .rf231 import Rf231

REGISTER_READ, REGISTER_WRITE, BUFFER_READ, BUFFER_WRITE, SRAM_READ, SRAM_WRITE = range(6)


def kind_of(command: int) -> int | None:
    """Table 6-2."""
    if command & 0x80:
        return REGISTER_WRITE if command & 0x40 else REGISTER_READ
    return {0x20: BUFFER_READ, 0x60: BUFFER_WRITE, 0x00: SRAM_READ, 0x40: SRAM_WRITE}.get(command & 0xE0)


class SerialInterface:
    def __init__(self, radio: Rf231) -> None:
        self.radio = radio
        self.selected = False
        self._kind: int | None = None
        self._at = 0                            # octets since /SEL went low
        self._address = 0

    def select(self, level: bool) -> None:
        """/SEL: low begins an access, high ends it."""
        if level and self.selected and self._kind == BUFFER_READ:
            self.radio.buffer_was_read()
        self.selected, self._at, self._kind = not level, 0, None

    def exchange(self, octet: int) -> int:
        radio = self.radio
        if not self.selected or radio.state == State.SLEEP:
            return 0
        at, self._at = self._at, self._at + 1
        if at == 0:
            self._kind, self._address = kind_of(octet), octet & 0x3F
            return self._status()
        if self._kind == REGISTER_READ:
            return radio.read(self._address) if at == 1 else 0
        if self._kind == REGISTER_WRITE:
            if at == 1:
                radio.write(self._address, octet)
            return 0
        if self._kind == BUFFER_READ:
            return radio.read_buffer(at - 1)
        if self._kind == BUFFER_WRITE:
            if at - 1 < len(radio.buffer):
                radio.buffer[at - 1] = octet
            return 0
        if at == 1:
            self._address = octet
            return 0
        place = self._address + at - 2
        if place >= len(radio.buffer):          # the security module, not modelled
            return 0
        before = radio.buffer[place]
        if self._kind == SRAM_WRITE:
            radio.buffer[place] = octet
        return before

    def _status(self) -> int:
        """Table 6-3."""
        mode = self.radio.registers[Reg.TRX_CTRL_1] >> 2 & 3
        return {0: lambda: 0, 1: lambda: self.radio.read(Reg.TRX_STATUS), 2: lambda: self.radio.read(Reg.PHY_RSSI),
                3: lambda: int(self.radio.pending)}[mode]()
