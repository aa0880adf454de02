"""Address spaces that keep memories apart while LLVM optimises.

Of two loads at the ends of two branches it makes one, with either's address: right, and no verifier knows what is read where one
address is the packet's and the other the stack's. It does not do so across address spaces, so packet pointers have one of
their own until the optimiser has run; the BPF back end knows one kind of pointer.
"""
from __future__ import annotations

import re

PACKET_SPACE = 1

_POINTER = re.compile(r"\bptr addrspace\(\d+\)")
_INTRINSIC = re.compile(r"(@llvm\.[\w.]*)")


def flattened(text: str) -> str:
    """The module's text with one kind of pointer, and each function declared once: what there was for two kinds is one now."""
    text = _INTRINSIC.sub(lambda m: re.sub(r"\.p\d+\b", ".p0", m[1]), _POINTER.sub("ptr", text))
    lines, declared = [], set()
    for line in text.split("\n"):
        if line.startswith("declare "):
            name = line.split("(")[0]
            if name in declared:
                continue
            declared.add(name)
        lines.append(line)
    return "\n".join(lines)
