"""Halves of the packet's end that LLVM keeps on the stack.

What is left of the packet is a difference of 32 bits, for which LLVM takes the lower halves of both pointers. The end is the same on all ways: it takes the half of it once,
where these part, and keeps that where it has no register for it. No verifier knows what it is then. Where nobody knows that it is the end it is halved where it is used.
"""
from __future__ import annotations

import re

from .isa import STX
from .passes.flow import forward
from .passes.rewrite import read
from .passes.spills import Held, slot_of

_END = re.compile(r'^  (%(?:"lpn\.[^"]*\.end\.number"|lpn\.[^"\s]*\.end\.number)) = ptrtoint ptr (%(?:[\w.$-]+|"[^"]*")) to i64(.*)$', re.MULTILINE)


def half_pointers(text: bytes) -> bool:
    """Whether bytecode stores half of a register on the stack whose upper half is no zero."""
    code = read(text, [])
    stores = [i for i, line in enumerate(code) if line.insn.is_store and line.insn.cls == STX and line.insn.size == 4 and slot_of(line) is not None]
    if not stores:
        return False
    held = Held(code)
    facts = forward(code, [held.step(line) for line in code], held.behind)
    return any((known := facts[i]) is not None and not held.has(code[i].insn.src, None, known) for i in stores)


def hidden_ends(text: str) -> str:
    """A module in LLVM IR in which nobody knows up to where differences go."""
    def hide(m: re.Match[str]) -> str:
        name, pointer, rest = m.groups()
        hidden = name.replace(".end.number", ".end.hidden")
        return f'  {hidden} = call ptr asm "", "=r,0"(ptr {pointer}){rest}\n  {name} = ptrtoint ptr {hidden} to i64{rest}'

    return _END.sub(hide, text)
