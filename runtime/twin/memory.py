"""Where things lie on an STM32F103REY (DS5792, 4 "Memory mapping")."""

from __future__ import annotations

FLASH, FLASH_SIZE = 0x08000000, 0x80000
RAM, RAM_SIZE = 0x20000000, 0x10000
SYSTEM, SYSTEM_SIZE = 0x1FFFF000, 0x1000        #: option bytes, unique identity, size of the flash
PERIPHERALS, PERIPHERALS_SIZE = 0x40000000, 0x30000
BIT_BAND, BIT_BAND_SIZE = 0x42000000, 32 * PERIPHERALS_SIZE    #: one word a bit of the peripherals
PRIVATE, PRIVATE_SIZE = 0xE0000000, 0x100000    #: the core's own peripherals

FLASH_SIZE_REGISTER = 0x1FFFF7E0                #: RM0008, 30.1
IDENTITY = 0x1FFFF7E8                           #: RM0008, 30.2: 96 bits
