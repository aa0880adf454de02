"""The helper functions a container may call: the one table.

Compiler, verifier, C engine and documentation read this table; nobody keeps a second copy by hand. The C
engine's copy, `runtime/engine/lpn_helpers.h`, is rendered from here (`python -m lpn.compiler.helpers`) and
a test compares the two.

Helpers are called by static id (RFC 9669 section 4.3.1): arguments in r1-r5, the result in r0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from textwrap import wrap

from lpn.lang.hooks import CONTEXTS


class Arg(IntEnum):
    """What an argument register must hold; the engine checks the memory kinds at run time."""

    NONE = 0        #: not an argument: nothing is read
    SCALAR = 1      #: any number
    CONST = 2       #: a number known when the program is verified
    MEM_READ = 4    #: pointer to initialised memory, of as many bytes as argument 1 says (`which`)
    MEM_WRITE = 5   #: pointer to writable memory, perhaps not initialised; wholly written by the call


#: Where argument 1, a constant, says how many bytes the memory has that argument 2 and 3 point to: the first bit, and how many. Below is which
#: table or buffer is meant.
SIZE_BITS = {2: (8, 8), 3: (16, 16)}


def which(number: int, *sizes: int) -> int:
    """Argument 1 of a helper that takes memory: the number of a table or buffer, and how many bytes arguments 2 and 3 point to."""
    return number | sum(size << SIZE_BITS[at][0] for at, size in enumerate(sizes, 2))


def size_said(first: int, at: int) -> int:
    """Bytes that argument `at` points to, as argument 1 says."""
    bit, bits = SIZE_BITS[at]
    return first >> bit & (1 << bits) - 1


def number_said(first: int) -> int:
    """The table or buffer."""
    return first & 0xff


class Ret(IntEnum):
    """What r0 holds after the call."""

    ZERO = 0        #: always 0
    U32 = 1         #: a 32-bit number, zero-extended


@dataclass(frozen=True)
class Helper:
    """One row: the contract of one helper.

    `cost_cycles` is the declared worst case on the Cortex-M3, for what the node does; what the engine does itself, as lookups and
    buffers, is measured on the emulated core (verifier/costs/).
    """

    number: int
    name: str
    args: tuple[Arg, ...]
    ret: Ret
    contexts: tuple[str, ...]
    cost_cycles: int
    doc: str
    declared: bool = False          #: a program may declare it with `extern`; the others are the compiler's own
    apart: bool = False             #: of the program's memory it reads and writes its arguments alone

    @property
    def padded_args(self) -> tuple[Arg, ...]:
        """Exactly five kinds, one per register r1-r5."""
        return self.args + (Arg.NONE,) * (5 - len(self.args))


HELPERS: tuple[Helper, ...] = (
    Helper(1, "lookup", (Arg.CONST, Arg.MEM_READ, Arg.MEM_WRITE), Ret.U32,
           ("net", "radio"), 2000,
           "Look the key at r2 up in a table. 0: no entry matches, the action data is zeroed; n > 0: the number of the entry's "
           "action, its data (zero-padded) is copied to r3. r1: the table, in bits 8 to 15 its key's length, above them the room at "
           "r3, at least its action data's length.", apart=True),
    Helper(2, "clock_us", (), Ret.U32, CONTEXTS, 160,
           "The node's clock in microseconds, modulo 2**32.", declared=True, apart=True),
    Helper(3, "trace", (Arg.SCALAR, Arg.SCALAR), Ret.ZERO, CONTEXTS, 100,
           "Hand two numbers to whoever watches the node; no effect on the program.", declared=True, apart=True),
    Helper(4, "timer_start", (Arg.CONST, Arg.SCALAR), Ret.ZERO, CONTEXTS, 240,
           "Run hook r1 of the bundle, one of event `after`, in r2 microseconds, less than 2**31. Started again "
           "before its time has come, it begins anew.", apart=True),
    # The radio's times are those of RIOT's at86rf2xx on the IoT-LAB M3, whatever the radio does when it is asked, and some room: it wakes from
    # SLEEP in 380 us, listens 110 us later, a CCA takes 140 us; and SPI. Channel, power and CCA wake a radio that sleeps, and let it sleep again.
    Helper(5, "radio_on", (), Ret.ZERO, ("radio", "net"), 43200, "Let the radio listen.", apart=True),
    Helper(6, "radio_off", (), Ret.ZERO, ("radio", "net"), 8000, "Let the radio sleep.", apart=True),
    Helper(7, "radio_cca", (), Ret.U32, ("radio", "net"), 66000,
           "Is the channel in use? 0 CLEAR, 1 BUSY. It waits for the radio.", apart=True),
    Helper(8, "radio_channel", (Arg.SCALAR,), Ret.ZERO, ("radio", "net"), 40000, "Tune the radio to channel r1.", apart=True),
    Helper(9, "radio_power", (Arg.SCALAR,), Ret.ZERO, ("radio", "net"), 40000, "Transmit with r1 dBm, a signed number.", apart=True),
    Helper(10, "radio_send", (Arg.SCALAR, Arg.SCALAR, Arg.SCALAR), Ret.U32, ("radio", "net"), 65000,
           "Give the radio the frame out[0..r1) ++ packet[r2..r2+r3), copied at once. 0: event radio.tx_done "
           "follows; 1: the radio has a frame already, this one is not sent."),
    Helper(11, "net_send", (Arg.SCALAR, Arg.SCALAR, Arg.SCALAR), Ret.U32, ("radio", "net"), 8000,
           "Give the network stack the packet out[0..r1) ++ packet[r2..r2+r3), copied at once. 0: taken; 1: it is "
           "busy, the packet is lost."),
    Helper(12, "buffer_put", (Arg.CONST, Arg.MEM_READ, Arg.MEM_READ), Ret.U32, ("radio", "net"), 900,
           "Store a piece in the entry of a buffer that has the key at r2. r1: the buffer, and the sizes as for lookup. r3: five "
           "words, the piece's offset, the size of the whole (0: not known yet), n, from and length: the piece is out[0..n) "
           "++ packet[from..from+length). Returns enum lpn_put."),
    Helper(13, "buffer_hold", (Arg.CONST, Arg.MEM_READ, Arg.MEM_READ), Ret.U32, ("radio", "net"), 700,
           "Keep a whole packet, given as to buffer_put, under a key until it is taken. Returns enum lpn_put."),
    Helper(14, "buffer_take", (Arg.CONST, Arg.MEM_READ), Ret.U32, ("radio", "net"), 300,
           "Give the oldest packet held under the key to the buffer's chain. 1: it runs next; 0: there is none, or "
           "another one runs next."),
    Helper(15, "buffer_drop", (Arg.CONST, Arg.MEM_READ), Ret.U32, ("radio", "net"), 200,
           "Forget what a buffer has under the key. Returns how many entries."),
)

#: Numbers of the node's own functions, bound by name when a bundle is loaded. They are given numbers in all of r1 to r5, 0 where they take none, and give one.
FIRST_OWN, LAST_OWN, OWN_ARGS = 128, 255, 5

#: Cycles in which a node counts what helpers take (runtime/load.py).
COST_UNIT = 360

BY_NUMBER: dict[int, Helper] = {h.number: h for h in HELPERS}
BY_NAME: dict[str, Helper] = {h.name: h for h in HELPERS}


def own_row(place: int, name: str, params: int, result: int, cost: int, contexts: Iterable[str]) -> Helper:
    """A function of the node's own as a row; `result`: bits, 0 for none."""
    return Helper(FIRST_OWN + place, name, (Arg.SCALAR,) * params, Ret.U32 if result else Ret.ZERO, tuple(contexts), cost, "The node's own.")


def costs_in_units(helpers: tuple[Helper, ...] = HELPERS) -> list[int]:
    """What each takes at most, by number, in units; each fits an octet."""
    costs = {h.number: -(-h.cost_cycles // COST_UNIT) for h in helpers}
    return list(bytes(costs.get(number, 0) for number in range(max(costs) + 1)))


def render_header(helpers: tuple[Helper, ...] = HELPERS) -> str:
    """The text of `runtime/engine/lpn_helpers.h`."""
    lines = [
        "/* SPDX-License-Identifier: LGPL-2.1-only */",
        "/* Rendered by `python -m lpn.compiler.helpers` from compiler/helpers.py. Do not edit. */",
        "#ifndef LPN_HELPERS_H",
        "#define LPN_HELPERS_H",
        "",
        "/** What an argument register must hold. */",
        *(f"#define LPN_ARG_{a.name} {a.value}" for a in Arg),
        "",
        "/** Argument 1 of a helper that takes memory: which table or buffer, and how many bytes arguments 2 and 3 point to. */",
        f"#define LPN_WHICH(r1) ((r1) & {number_said(-1):#x}u)",
        *(f"#define LPN_SIZE{at}(r1) ((r1) >> {bit} & {(1 << bits) - 1:#x}u)" for at, (bit, bits) in SIZE_BITS.items()),
        "",
    ]
    for h in helpers:
        doc = "\n".join(wrap(f"/** {h.doc} */", 100, subsequent_indent=" *  "))
        lines += [doc, f"#define LPN_HELPER_{h.name.upper()} {h.number}"]
    lines += [
        f"#define LPN_HELPER_MAX {max(h.number for h in helpers)}",
        "/** A bit for each helper that is not allowed in context isr. */",
        f"#define LPN_HELPERS_NOT_IN_ISR {sum(1 << h.number for h in helpers if 'isr' not in h.contexts):#x}u",
        f"/** What each helper takes at most, from number 0 on: in units of {COST_UNIT} cycles. */",
        f"#define LPN_HELPER_COSTS {', '.join(map(str, costs_in_units(helpers)))}",
        "/** Numbers of the node's own functions. */",
        f"#define LPN_HELPER_OWN {FIRST_OWN}",
        f"#define LPN_HELPER_OWN_MAX {LAST_OWN}",
        "",
        "/** X(number, name, kind of r1, r2, r3, r4, r5) for each helper. */",
        "#define LPN_HELPERS(X) \\",
    ]
    rows = [f"    X({h.number}, {h.name}, {', '.join(f'LPN_ARG_{a.name}' for a in h.padded_args)})"
            for h in helpers]
    lines += [" \\\n".join(rows), "", "#endif", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    from pathlib import Path

    Path(__file__).parent.parent.joinpath("runtime/engine/lpn_helpers.h").write_text(
        render_header(), encoding="utf-8")
