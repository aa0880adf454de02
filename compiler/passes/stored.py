"""What each of several ways has stored is stored where they meet, for short code.

`[s] = x; if C goto L; x += 2; [s] = x; L:` lets who jumps over the second store jump to it: there the register and its slot have the same number. The
first store is for nobody then.
"""
from __future__ import annotations

from collections import defaultdict

from ..isa import STX
from .flow import forward
from .rewrite import Line, repeated
from .spills import Held, drop_stores, slot_of, takes_address


@repeated
def store_once(code: list[Line]) -> bool:
    """Keeps what leaves stores out."""
    held, ways = Held(code), defaultdict(list)
    if not held.slots or any(takes_address(line) for line in code):
        return False
    facts = dict(zip(code, forward(code, [held.step(line) for line in code], held.behind)))
    for line in code:
        if line.target is not None:
            ways[line.target].append(line)
    for store, place in zip(code, code[1:]):
        slot = slot_of(store)
        if place not in ways or slot is None or slot[1] < 4 or store.insn.cls != STX or store in ways:
            continue
        jumps = ways[place]
        if any((known := facts[jump]) is None or not held.has(store.insn.src, slot, known) for jump in jumps):
            continue
        for jump in jumps:
            jump.target = store
        if drop_stores(code):
            return True
        for jump in jumps:
            jump.target = place
    return False
