"""Who writes random bytecode, by name; which of them in turn."""
from __future__ import annotations

#: Name -> what its programs do.
WRITERS = {
    "pieces": "cursors, spills, bounds by copies and differences, loops, calls",
    "lists": "go over lists of as many entries as the packet says",
    "buffers": "fill buffers on the stack",
    "numbers": "compute",
    "compiled": "containers that the compiler made",
}
_TEN = ("pieces", "pieces", "lists", "lists", "pieces", "buffers", "numbers", "pieces", "buffers", "numbers")
#: By a program's number, modulo how many these are; so that each takes about the same time: lists and buffers have long proofs. Every eighth is a container that the
#: compiler made, where it made a short one.
IN_TURN = (*_TEN, *(("numbers" if writer in ("lists", "buffers") else writer) for _ in range(3) for writer in _TEN))
COMPILED_EVERY = 8
