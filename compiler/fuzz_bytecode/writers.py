"""Who writes random bytecode, by name; which of them in turn."""
from __future__ import annotations

#: Name -> what its programs do.
WRITERS = {
    "pieces": "cursors, spills, bounds by copies and differences, loops, calls",
    "lists": "go over lists of as many entries as the packet says",
    "buffers": "fill buffers on the stack",
    "numbers": "compute",
    "searches": "search: two ends and the middle, tables of known content, options with padding, addresses to which an OR adds",
    "compiled": "containers that the compiler made",
}
_TEN = ("pieces", "pieces", "lists", "lists", "searches", "buffers", "numbers", "searches", "buffers", "numbers")
_SHORTER = {"lists": "numbers", "buffers": "numbers", "searches": "pieces"}
#: By a program's number, modulo how many these are; so that each takes about the same time: lists, buffers and searches have long proofs. Every eighth is a container that the
#: compiler made, where it made a short one.
IN_TURN = (*_TEN, *(_SHORTER.get(writer, writer) for _ in range(3) for writer in _TEN))
COMPILED_EVERY = 8
