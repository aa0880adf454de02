"""Swaps of 16 and 32 bits that stay what they are.

LLVM swaps registers of 64 bits alone, and shifts the result down. That shift and the next one are made one, and where what is shifted is kept for later, the upper
half of a register is, too: the container is not 32-bit clean. Nothing of that is in the IR; what hides a swap's result there keeps the shifts apart.
"""
from __future__ import annotations

import re

from .isa import ALU, ALU64, ALU_OPS, decode

_SWAP = re.compile(r'^  (%(?:[\w.$-]+|"[^"]*")) = ((?:tail )?call i(16|32) @llvm\.bswap\.i(?:16|32)\(.*)$', re.MULTILINE)


def wide_swaps(text: bytes) -> bool:
    """Whether bytecode swaps all of a register."""
    return any(insn.cls in (ALU, ALU64) and insn.code == ALU_OPS["END"] and insn.imm == 64 for insn in decode(text))


def hidden_swaps(text: str, half_register: str) -> str:
    """A module in LLVM IR in which nobody knows what a swap gives."""
    def hide(m: re.Match[str]) -> str:
        name, call, width = m.groups()
        bare = name[1:].strip('"')
        swapped, wide, kept = (f'%"{bare}.{part}"' for part in ("swapped", "wide", "kept"))
        barrier = f'call i32 asm "", "{half_register}"(i32 '
        if width == "32":
            return f"  {swapped} = {call}\n  {name} = {barrier}{swapped})"
        return f"  {swapped} = {call}\n  {wide} = zext i16 {swapped} to i32\n  {kept} = {barrier}{wide})\n  {name} = trunc i32 {kept} to i16"

    return _SWAP.sub(hide, text)
