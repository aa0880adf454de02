"""What hooks of `every` and `slot` may take of a node's time: the rule by which a node refuses a pack, as runtime/engine/node_check.c has it.

A run counts with the instructions that its container's certificate claims, what each call of a helper in it takes, once, and some for what the node does
around it. Without a certificate it counts with all that a run has. What functions of the node's own take is not counted, nor what it starts.
"""
from __future__ import annotations

from collections.abc import Iterator

from lpn.compiler.bundle import Bundle
from lpn.compiler.helpers import costs_in_units
from lpn.compiler.image import Image
from lpn.compiler.isa import decode
from lpn.lang.hooks import PERIODIC

LOAD_US, RUN_INSNS, COST_INSNS = 4096, 40, 4                   #: lpn_node.h
SHARE, INSN_NS, FUEL = 50, 1250, 100_000        #: what a node has where nobody says otherwise: CLOCK_SHARE, INSN_NS and FUEL of lpn_riot.h
MOST = 0xFFFF_FFFF
EMPTY = 16                                      #: how a certificate begins, + how many numbers follow


def limit(share: int = SHARE, insn_ns: int = INSN_NS) -> int:
    """Instructions that these hooks may take in LOAD_US microseconds: `share` percent of the time, an instruction in `insn_ns`."""
    return share * LOAD_US * 10 // insn_ns


def claimed(image: Image) -> int | None:
    """The most instructions of a run, as the image's certificate claims; None without one."""
    if not image.certificate:
        return None
    numbers = varints(image.certificate)
    return next(numbers) if next(numbers) > EMPTY else 0


def varints(octets: bytes) -> Iterator[int]:
    value = bit = 0
    for octet in octets:
        value |= (octet & 127) << bit
        bit += 7
        if octet < 128 or bit == 35:
            yield value & MOST
            value = bit = 0


def helpers_of(text: bytes) -> int:
    """What calls of helpers take, in instructions, if each is made once."""
    costs = dict(enumerate(costs_in_units()))
    return sum(COST_INSNS * costs.get(insn.imm, 0) for insn in decode(text) if insn.is_call and not insn.src)


def load_of(insns: int, period: int, text: bytes = b"") -> int:
    """What of LOAD_US a hook takes at most that runs each `period` microseconds."""
    if insns * LOAD_US > MOST or not period:
        return MOST
    full = (insns + helpers_of(text) + RUN_INSNS) * LOAD_US
    return MOST if full > MOST else -(-full // period)


def loads(bundle: Bundle, fuel: int = FUEL) -> dict[int, int]:
    """By the number of a hook, for those that a clock starts. `fuel`: instructions that a run has."""
    found = {}
    for i, hook in enumerate(bundle.hooks):
        if hook.event in PERIODIC:
            image = bundle.module(hook.chain[0])
            cost = claimed(image)
            found[i] = load_of(fuel if cost is None else min(cost, fuel), hook.period, image.text)
    return found


def refused(bundle: Bundle, most: int, fuel: int = FUEL) -> int | None:
    """The first hook for which a node has no time left."""
    taken = 0
    for i, load in loads(bundle, fuel).items():
        taken += load
        if taken > most:
            return i
    return None
