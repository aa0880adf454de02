"""Wait states of the STM32F103's flash at 72 MHz: a model of its prefetch buffer.

RM0008, 3.3.3 and PM0075, 2.1: at 48 to 72 MHz a read takes two wait states; code is fetched in lines of 64 bits into a
prefetch buffer of two lines. The model:

- after a jump the line jumped to is there after two more cycles; behind it the next line is fetched, three cycles a line,
  as soon as one of the two lines of the buffer has been executed;
- an instruction waits until the line of its last byte is there; so straight 16-bit code never waits, straight 32-bit
  instructions of one cycle do;
- a load of data from flash (literals, tables) takes two more cycles.

What it leaves out: a load of data delays the fetch of a line too. RAM has no wait states; code there is fetched through
the system bus, which is not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence

from .timing import Insn, static_cycles

WAIT = 2                        #: wait states of a read
LINE = 8                        #: bytes of a line of the prefetch buffer
RAM = 0x20000000                #: from here on


def fetch_waits(insns: Sequence[Insn], jumped: bool, before: Insn | None = None, shift: int = 0) -> int:
    """Cycles that straight code waits for its lines. `jumped`: whether it was jumped to. `shift`: as if it lay so many bytes on."""
    if not insns or insns[0].address >= RAM:
        return 0
    line = (insns[0].address + shift) // LINE
    come = WAIT if jumped else 0                # when this line is there
    entered = now = waited = 0                  # when execution came to it
    for insn in insns:
        last = (insn.address + shift + insn.size - 1) // LINE
        while line < last:
            line, come = line + 1, max(come, entered) + WAIT + 1
            entered = max(now, come)
        if come > now:
            waited += come - now
            now = come
        now += static_cycles(insn, before)
        before = insn
    return waited


def most_waits(insns: Sequence[Insn], jumped: bool, shift: int = 0) -> int:
    """The same of code that lies `shift` bytes on, where nothing is known of the buffer: a line that begins with this code is as late
    behind the one before as behind a jump."""
    return fetch_waits(insns, jumped or (insns[0].address + shift) % LINE == 0, None, shift) if insns else 0
