"""Pins: ports, which port's pins the external interrupts are on, and those (RM0008, 9.2, 9.4, 10.3).

What a pin's mode is does not matter here: an output tells its listener, an input has the level that somebody drives.
"""

from __future__ import annotations

from collections.abc import Callable

from .cpu import Cpu

CRL, CRH, IDR, ODR, BSRR, BRR, LCKR = range(0, 0x1C, 4)
INTERRUPTS = {**{line: 6 + line for line in range(5)}, **dict.fromkeys(range(5, 10), 23), **dict.fromkeys(range(10, 16), 40),
              16: 1, 17: 41, 18: 42}            #: of the lines


class Port:
    """`listeners`: pin -> told its level when it is an output that changes. `changed`: told (pin, level) of inputs."""

    def __init__(self) -> None:
        self.modes = {CRL: 0x44444444, CRH: 0x44444444}
        self.output = self.input = 0
        self.driven = 0                         # pins with somebody outside who drives them
        self.listeners: dict[int, Callable[[bool], None]] = {}
        self.changed: Callable[[int, bool], None] = lambda pin, level: None

    def is_output(self, pin: int) -> bool:
        return bool(self.modes[CRL if pin < 8 else CRH] >> 4 * (pin & 7) & 3)

    def read(self, offset: int) -> int:
        if offset == IDR:
            outputs = sum(1 << pin for pin in range(16) if self.is_output(pin))
            pulled = self.output & ~outputs     # 9.1.9: of inputs the output register says which way they are pulled
            return self.input & self.driven | (self.output & outputs | pulled) & ~self.driven
        return self.output if offset == ODR else self.modes.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == BSRR:
            self._set(self.output & ~(value >> 16) | value & 0xFFFF)
        elif offset == BRR:
            self._set(self.output & ~value)
        elif offset == ODR:
            self._set(value & 0xFFFF)
        elif offset in (CRL, CRH):
            self.modes[offset] = value

    def _set(self, output: int) -> None:
        changed, self.output = self.output ^ output, output
        for pin, told in self.listeners.items():
            if changed >> pin & 1:
                told(bool(output >> pin & 1))

    def drive(self, pin: int, level: bool) -> None:
        """From outside."""
        before = self.input >> pin & 1
        self.driven |= 1 << pin
        self.input = self.input & ~(1 << pin) | level << pin
        if level != before:
            self.changed(pin, level)


class Afio:
    """0x40010000: EXTICR says which port line n is on."""

    def __init__(self) -> None:
        self.registers: dict[int, int] = {}

    def port_of(self, line: int) -> int:
        return self.registers.get(0x08 + (line & ~3), 0) >> 4 * (line & 3) & 15

    def read(self, offset: int) -> int:
        return self.registers.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        self.registers[offset] = value


class Exti:
    """0x40010400. Edges set a line's pending bit; its interrupt line is active as long as that is set."""

    IMR, EMR, RTSR, FTSR, SWIER, PR = range(0, 0x18, 4)

    def __init__(self, cpu: Cpu) -> None:
        self.cpu = cpu
        self.registers = {at: 0 for at in range(0, 0x18, 4)}

    def edge(self, line: int, level: bool) -> None:
        if self.registers[self.RTSR if level else self.FTSR] >> line & 1:
            self.registers[self.PR] |= 1 << line
            self._react()

    def read(self, offset: int) -> int:
        return self.registers.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == self.PR:
            self.registers[self.PR] &= ~value
            self.registers[self.SWIER] &= ~value
        elif offset == self.SWIER:
            self.registers[self.PR] |= value & ~self.registers[self.SWIER]
            self.registers[self.SWIER] |= value
        else:
            self.registers[offset] = value
        self._react()

    def _react(self) -> None:
        active = self.registers[self.PR] & self.registers[self.IMR]
        interrupts: dict[int, bool] = {}
        for line, interrupt in INTERRUPTS.items():
            interrupts[interrupt] = interrupts.get(interrupt, False) or bool(active >> line & 1)
        for interrupt, on in interrupts.items():
            self.cpu.nvic.line(interrupt, on)
