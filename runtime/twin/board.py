"""An IoT-LAB M3: the controller with its peripherals, the radio on its pins, the serial port of its console.

Pins: RIOT's and Contiki's board definitions agree (IoT-LAB M3 schematics): the radio on SPI1, /SEL PA4, SLP_TR PA2, /RST PC1,
IRQ PC4; the console on USART1. What else is on the board (flash, sensors) does not answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from .air import Air
from .bus import Bus, Peripheral, Plain
from .clock import Event, Queue
from .cpu import Cpu
from .flash import FlashController
from .gpio import Afio, Exti, Port
from .memory import FLASH_SIZE, FLASH_SIZE_REGISTER, IDENTITY, SYSTEM
from .program import Program
from .rcc import Rcc
from .rf231 import Rf231
from .rtc import ALARM_LINE, Rtc
from .spi import Spi
from .system import SystemControl, Trace
from .timer import Timer
from .usart import Usart

TIMERS = {0x40000000: (28, 1), 0x40000400: (29, 1), 0x40000800: (30, 1), 0x40000C00: (50, 1),
          0x40012C00: (27, 2)}                  #: base: interrupt, bus; of TIM1 the capture compare interrupt
DEVICE = 0x10016414             #: DBGMCU_IDCODE of a high-density device, revision Z (RM0008, 31.6.1)
RADIO_PORT, SELECT, SLEEP = 0x40010800, 4, 2
CONTROL_PORT, RESET, IRQ = 0x40011000, 1, 4


class Board:
    """`name`: in captures and results. `heard`: told each byte of the console."""

    def __init__(self, program: Program, air: Air, number: int = 0, seed: int = 0) -> None:
        self.program, self.number, self.name = program, number, f"node{number + 1}"
        self.queue = Queue()
        self.cpu = Cpu(program, self.queue)
        self.console = bytearray()
        self.resets = 0
        self.heard: Callable[[int], None] = lambda byte: None
        self.rcc = rcc = Rcc(self.cpu)
        self.ports = [Port() for _ in range(7)]
        self.afio, self.exti = Afio(), Exti(self.cpu)
        for i, port in enumerate(self.ports):
            port.changed = lambda pin, level, i=i: self.exti.edge(pin, level) if self.afio.port_of(pin) == i else None
        control = self.ports[2]
        self.radio = Rf231(self.cpu, air, self.name, seed, lambda level: control.drive(IRQ, level))
        self.ports[0].listeners = {SELECT: self.radio.spi.select, SLEEP: self.radio.set_sleep_pin}
        control.listeners = {RESET: self.radio.set_reset_pin}
        self.usart = Usart(self.cpu, lambda: rcc.bus(2), 37, self._out)
        self.spi = Spi(self.cpu, lambda: rcc.bus(2), 35, self.radio.spi.exchange)
        self.rtc = Rtc(self.cpu, lambda: self.exti.edge(ALARM_LINE, True))
        self.flash = FlashController(self.cpu)
        self.bus = Bus(self.cpu, self._peripherals())
        self.cpu.reset()

    def _peripherals(self) -> dict[int, Peripheral]:
        cpu, rcc = self.cpu, self.rcc
        at: dict[int, Peripheral] = {
            base: Timer(cpu, lambda bus=bus: rcc.timer(bus), interrupt) for base, (interrupt, bus) in TIMERS.items()}
        at |= {RADIO_PORT + 0x400 * i: port for i, port in enumerate(self.ports)}
        at |= {
            0x40002800: self.rtc,
            0x40003800: Spi(cpu, lambda: rcc.bus(1), 36),
            0x40004400: Usart(cpu, lambda: rcc.bus(1), 38),
            0x40006C00: Plain(),                # backup registers
            0x40007000: Plain(),                # power control
            0x40010000: self.afio,
            0x40010400: self.exti,
            0x40013000: self.spi,
            0x40013800: self.usart,
            0x40021000: rcc,
            0x40022000: self.flash,
            0xE0001000: Trace(cpu),
            0xE000E000: SystemControl(cpu, self._restart),
            0xE0042000: Plain({0: DEVICE}),
            SYSTEM + 0x400: Plain({IDENTITY - SYSTEM - 0x400 + 4 * i: word for i, word in enumerate(self._identity())}
                                  | {FLASH_SIZE_REGISTER - SYSTEM - 0x400: FLASH_SIZE >> 10}),
        }
        return at

    def _identity(self) -> list[int]:
        """Another one for each board, the same in every run."""
        raw = hashlib.sha256(f"board {self.number}".encode()).digest()
        return [int.from_bytes(raw[4 * i:4 * i + 4], "little") for i in range(3)]

    def _restart(self) -> None:
        self.resets += 1
        self.flash.restart()
        self.cpu.restart_wanted = True
        self.cpu.uc.emu_stop()

    def _out(self, byte: int) -> None:
        self.console.append(byte)
        self.heard(byte)

    # ---------------------------------------------------------------- for who runs it
    @property
    def now(self) -> int:
        return self.cpu.now

    @property
    def wakes(self) -> int:
        """Before this time it does nothing by itself."""
        return max(self.now, self.queue.next) if self.cpu.asleep and not self.cpu.clock.ready else self.now

    def at(self, time: int, action: Callable[[], None]) -> Event:
        return self.cpu.at(time, action)

    def run(self, until: int) -> None:
        """Until then, in ticks. Raises CpuFault."""
        self.cpu.run(until)

    def shorten(self, until: int) -> None:
        """The run that is going on ends at this time, if not before."""
        self.cpu.shorten(until)

    def type(self, text: str) -> None:
        self.usart.type(text.encode())
