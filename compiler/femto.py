"""Target `femto`: images for the stock Femto-Container engine, in the instructions it executes as RFC 9669 says.

Facts about that engine (future-proof-iot/Femto-Container: include/femtocontainer/femtocontainer.h, src/jumptable.c,
src/verify.c), which the rewriting below works around:
- byte swaps, 32-bit arithmetic and comparisons, atomics, local calls and sign extension are not there; NEG has another opcode;
- 64-bit MOV keeps only 32 bits of its source, and does not sign-extend its immediate (mended in February 2022, commit 4891480;
  what is written here runs in engines of before and after);
- `lddw` sign-extends its low word into the high one;
- its pre-flight check refuses a jump to instruction 0 and a text that does not end in `exit`;
- rodata and data are looked for in the wrong place, so an image must have neither;
- a shift by 64 and more is the processor's, a division by zero ends the run, and so does, on a Cortex-M3, an access of 8 octets at an
  address that is no multiple of 4: the code that LLVM makes of a program does none of these.
A run ends after 200 taken jumps (rule 35 of the verifier).
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .isa import (ALU, ALU64, ALU_OPS, EXIT, FRAME_POINTER, JA, LDDW, MODES, SIZES, STX, LDX, X, Instruction, decode, encode,
                  known_to, slot_indices)

if TYPE_CHECKING:                               # who asks whether a file is such an image needs no ELF
    from .elf import Object

MAGIC = 0x72425046                              # "rBPF" as a number: "FPBr" in the file
HEADER = struct.Struct("<7I")                   # magic, version, flags, octets of data, rodata and text, functions
STACK = 512


class FemtoError(ValueError):
    """The container needs something that the stock engine does not execute, or an image is none."""


def image(text: bytes) -> bytes:
    """The stock image: header, no data, no rodata, text."""
    return HEADER.pack(MAGIC, 0, 0, 0, 0, len(text), 0) + text


def begins(data: bytes) -> bool:
    """Whether these octets begin as a stock image does."""
    return data[:4] == MAGIC.to_bytes(4, "little")


def text_of(image: bytes) -> bytes:
    """The text of a stock image as `image` writes it. Raises FemtoError."""
    if len(image) < HEADER.size:
        raise FemtoError("not a whole image for a stock Femto-Container engine")
    magic, _, _, data, rodata, text, _ = HEADER.unpack_from(image)
    if magic != MAGIC or len(image) != HEADER.size + text:
        raise FemtoError("not a whole image for a stock Femto-Container engine")
    if data or rodata:
        raise FemtoError("this image has constants or variables in memory, which the stock engine does not find")
    return image[HEADER.size:]


def stock(code: Object) -> Object:
    """The container's code, rewritten for the stock engine. Raises FemtoError."""
    if code.rodata or code.data:
        raise FemtoError("the container has constants or variables in memory, which the stock engine does not find")
    text, slots = rewrite(code.text)
    return replace(code, text=text, lines=[(slots[slot], name, line) for slot, name, line in code.lines if slot in slots])


# ---------------------------------------------------------------- what is known of a register

# The numbers order by what is lost when paths meet.
HALF, WORD, CONTEXT, POINTER, WIDE = range(5)   # below 2^16; below 2^32; r1 at entry; an address; anything

_NARROW = (HALF, WORD)
_ADD, _SUB, _AND, _OR, _XOR, _RSH, _MOV, _DIV, _MOD, _END = (
    ALU_OPS[n] for n in ("ADD", "SUB", "AND", "OR", "XOR", "RSH", "MOV", "DIV", "MOD", "END"))


def _meet(a: int, b: int) -> int:
    if a == b:
        return a
    if a in _NARROW and b in _NARROW:
        return WORD
    return POINTER if WIDE not in (a, b) else WIDE


@dataclass
class Known:
    """Kinds of the registers, and of the 8-octet stack slots by offset."""

    registers: list[int]
    slots: dict[int, int]

    def copy(self) -> Known:
        return Known(list(self.registers), dict(self.slots))

    def meet(self, other: Known) -> bool:
        """Keeps what holds of both; whether anything was lost."""
        old = list(self.registers), dict(self.slots)
        self.registers = [_meet(a, b) for a, b in zip(self.registers, other.registers)]
        self.slots = {k: _meet(v, other.slots[k]) for k, v in self.slots.items() if k in other.slots}
        return old != (self.registers, self.slots)

    def step(self, i: Instruction) -> None:
        r = self.registers
        if i.is_alu:
            r[i.dst] = self._result(i)
        elif i.is_lddw:
            r[i.dst] = WORD if i.imm >> 32 == 0 else WIDE
        elif i.is_load:
            r[i.dst] = self._loaded(i)
        elif i.is_store and i.dst == FRAME_POINTER:
            for k in [k for k in self.slots if k < i.off + i.size and i.off < k + 8]:
                del self.slots[k]
            if i.size == 8 and i.cls == STX:
                self.slots[i.off] = r[i.src]
        elif i.is_store and r[i.dst] == WIDE:
            self.slots.clear()
        elif i.is_call:
            r[:6] = [WIDE] * 6

    def _loaded(self, i: Instruction) -> int:
        if i.size < 8:
            return HALF if i.size < 4 else WORD
        if i.src == FRAME_POINTER:
            return self.slots.get(i.off, WIDE)
        return POINTER if self.registers[i.src] == CONTEXT else WIDE

    def _result(self, i: Instruction) -> int:
        a = self.registers[i.dst]
        b = self.registers[i.src] if i.uses_reg else (HALF if 0 <= i.imm < 1 << 16 else WORD if i.imm >= 0 else WIDE)
        if i.code == _MOV:
            return b
        if i.code == _END:
            return {16: HALF, 32: WORD}.get(i.imm, WIDE)
        if i.code in (_ADD, _SUB):
            addresses = (a in (CONTEXT, POINTER)) + (b in (CONTEXT, POINTER))
            return POINTER if addresses == 1 else WIDE      # a distance may be negative
        if i.code == _AND:
            return min([k for k in (a, b) if k in _NARROW], default=WIDE)
        if i.code == _RSH and not i.uses_reg and i.imm >= 32:
            return HALF if i.imm >= 48 else WORD
        if i.code in (_OR, _XOR):
            return max(a, b) if a in _NARROW and b in _NARROW else WIDE
        if i.code in (_RSH, _DIV, _MOD) and a in _NARROW:
            return a
        return WIDE


class Flow:
    """What is known before each instruction, and which registers are needed after it."""

    def __init__(self, program: list[Instruction]):
        self.program = program
        slots = slot_indices(program)
        index = {slot: n for n, slot in enumerate(slots)}
        self.targets: dict[int, int] = {}
        self.next: list[list[int]] = []
        for n, i in enumerate(program):
            after = [] if i.is_exit or i.is_goto else [n + 1]
            if i.is_jump:
                self.targets[n] = index[i.target(slots[n])]
                after.append(self.targets[n])
            self.next.append(after)
        self.before = self._forward()
        self.live = self._backward()

    def _forward(self) -> list[Known | None]:
        before: list[Known | None] = [None] * len(self.program)
        first = [WIDE] * 11
        first[1], first[FRAME_POINTER] = CONTEXT, POINTER
        before[0] = Known(first, {})
        todo = [0]
        while todo:
            n = todo.pop()
            state = before[n].copy()
            state.step(self.program[n])
            for m in self.next[n]:
                known = before[m]
                if known is None:
                    before[m] = state.copy()
                    todo.append(m)
                elif known.meet(state):
                    todo.append(m)
        return before

    def _backward(self) -> list[set[int]]:
        after: list[set[int]] = [set() for _ in self.program]
        entering: list[set[int]] = [set() for _ in self.program]
        changed = True
        while changed:
            changed = False
            for n in range(len(self.program) - 1, -1, -1):
                after[n] = set().union(*(entering[m] for m in self.next[n]))
                i = self.program[n]
                new = (after[n] - written(i)) | read(i)
                if new != entering[n]:
                    entering[n], changed = new, True
        return after


def read(i: Instruction) -> set[int]:
    if i.is_exit:
        return {0}
    if i.is_call:
        return {1, 2, 3, 4, 5}
    if i.is_alu:
        used = {i.src} if i.uses_reg and i.code != _END else set()
        return used if i.code == _MOV else used | {i.dst}
    if i.is_load:
        return {i.src}
    if i.is_store or i.is_atomic:
        return {i.dst, i.src} if i.cls == STX else {i.dst}
    if i.is_branch:
        return {i.dst, i.src} if i.uses_reg else {i.dst}
    return set()


def written(i: Instruction) -> set[int]:
    if i.is_call:
        return {0, 1, 2, 3, 4, 5}
    return {i.dst} if i.is_alu or i.is_lddw or i.is_load else set()


# ---------------------------------------------------------------- rewriting

def op(name: str, dst: int, imm: int = 0, src: int | None = None) -> Instruction:
    """A 64-bit arithmetic instruction."""
    if src is None:
        return Instruction(ALU64 | ALU_OPS[name], dst, imm=imm)
    return Instruction(ALU64 | ALU_OPS[name] | X, dst, src)


def rewrite(text: bytes) -> tuple[bytes, dict[int, int]]:
    """The text in stock instructions, and the new slot of each old one."""
    program = decode(text)
    flow = Flow(program)
    spill = lowest(program) - 8
    parts = [expand(i, flow.before[n], flow.live[n], spill) for n, i in enumerate(program)]
    ahead = int(0 in flow.targets.values())     # refused by the pre-flight check; r0 is not needed yet
    if ahead:
        parts.insert(0, [op("MOV", 0)])
    goals = {n + ahead: m + ahead for n, m in flow.targets.items()}
    if not parts[-1][-1].is_exit:               # an exit that is reached: another one jumps to it
        n = next((n for n, p in enumerate(parts) if p[-1].is_exit), None)
        if n is None:
            raise FemtoError("the container never ends")
        parts[n] = [Instruction(JA)]
        goals[n] = len(parts)
        parts.append([Instruction(EXIT)])
    starts, at = [], 0
    for part in parts:
        starts.append(at)
        at += sum(i.slots for i in part)
    out: list[Instruction] = []
    for n, part in enumerate(parts):
        out += part
        if n in goals:
            slot = starts[n] + sum(i.slots for i in part[:-1])
            out[-1] = out[-1].retarget(slot, starts[goals[n]])
    check(out)
    return encode(out), {slot: starts[n + ahead] for n, slot in enumerate(slot_indices(program))}


def lowest(program: list[Instruction]) -> int:
    """The lowest stack offset that the program may use: by r10, or by a copy to which a constant is added."""
    offsets = [0]
    for i in program:
        if (i.is_store or i.is_atomic) and i.dst == FRAME_POINTER or i.is_load and i.src == FRAME_POINTER:
            offsets.append(i.off)
        if i.is_alu and i.code == _ADD and not i.uses_reg and -STACK <= i.imm < 0:
            offsets.append(i.imm)
    return min(offsets) // 8 * 8


def expand(i: Instruction, known: Known | None, live: set[int], spill: int) -> list[Instruction]:
    """What does the same on the stock engine; a jump stays last."""
    if known is None:
        raise FemtoError("the container has code that is never reached")
    if i.is_lddw:
        return constant(i)
    if not i.is_alu:
        return [i]
    kind = known.registers[i.dst]
    if i.code == _END:
        if i.cls != ALU:
            raise FemtoError("an unconditional byte swap")
        return swap(i, kind, live, spill)
    if i.code == ALU_OPS["NEG"]:
        return [op("XOR", i.dst, -1), op("ADD", i.dst, 1)]
    if i.code == _MOV and i.cls == ALU64:
        if not i.uses_reg and i.imm < 0:
            return [op("MOV", i.dst), op("ADD", i.dst, i.imm)]
        if i.uses_reg and known.registers[i.src] == WIDE:
            return copy(i.dst, i.src, False) if i.dst != i.src else [op("ADD", i.dst)]
    return [i]


def constant(i: Instruction) -> list[Instruction]:
    """`lddw` whose low word has bit 31 set, 16 bits at a time; others are right as they are."""
    if i.op != LDDW or i.src:
        raise FemtoError("the container loads an address of its data")
    if not i.imm >> 31 & 1:
        return [i]
    words = [i.imm >> s & 0xFFFF for s in (48, 32, 16, 0)]
    while not words[0]:
        words.pop(0)
    out = [op("MOV", i.dst, words[0])]
    for word in words[1:]:
        out += [op("LSH", i.dst, 16)] + ([op("OR", i.dst, word)] if word else [])
    return out


def swap(i: Instruction, kind: int, live: set[int], spill: int) -> list[Instruction]:
    x = i.dst
    if not i.uses_reg:                          # to little-endian: the other bits are cleared, no more
        return {16: [op("AND", x, 0xFFFF)], 32: [op("LSH", x, 32), op("RSH", x, 32)], 64: [op("ADD", x)]}[i.imm]
    if i.imm == 16:                             # the octets twice, then the middle
        clear = [] if kind == HALF else [op("AND", x, 0xFFFF)]
        return [*clear, op("MUL", x, 0x10001), op("RSH", x, 8), op("AND", x, 0xFFFF)]
    if i.imm == 64:
        return with_scratch(2, x, live, spill, lambda t, m: swap64(x, t, m))
    return with_scratch(1, x, live, spill, lambda t: swap32(x, t, kind in _NARROW))


def with_scratch(count: int, x: int, live: set[int], spill: int, make) -> list[Instruction]:
    """What `make` does with so many registers: ones that are not needed, or else ones saved on the stack."""
    others = [r for r in range(10) if r != x]
    chosen = sorted(others, key=lambda r: r in live)[:count]
    saved = [(r, spill - 8 * k) for k, r in enumerate(r for r in chosen if r in live)]
    if saved and saved[-1][1] < -STACK:
        raise FemtoError("no register and no stack is left for a byte swap")
    wide = MODES["MEM"] | SIZES["DW"]
    return [*(Instruction(STX | wide, FRAME_POINTER, r, at) for r, at in saved), *make(*chosen),
            *(Instruction(LDX | wide, r, FRAME_POINTER, at) for r, at in saved)]


def copy(dst: int, src: int, narrow: bool) -> list[Instruction]:
    return [op("MOV", dst, src=src)] if narrow else [op("MOV", dst), op("ADD", dst, src=src)]


def swap32(x: int, t: int, narrow: bool) -> list[Instruction]:
    """The octets of each half change places, then the halves."""
    return [*copy(t, x, narrow), op("AND", t, 0xFF00FF), op("LSH", t, 8), op("RSH", x, 8), op("AND", x, 0xFF00FF),
            op("OR", x, src=t), op("MOV", t, src=x), op("LSH", t, 48), op("RSH", t, 32), op("RSH", x, 16),
            op("OR", x, src=t)]


def swap64(x: int, t: int, m: int) -> list[Instruction]:
    """Octets, then 16 bits, then 32 change places."""
    out = []
    for mask, bits in ((0xFF00FF, 8), (0xFFFF, 16)):
        out += [op("MOV", m, mask), op("LSH", m, 32), op("OR", m, mask), *copy(t, x, False),
                op("AND", t, src=m), op("LSH", t, bits), op("RSH", x, bits), op("AND", x, src=m), op("OR", x, src=t)]
    return [*out, *copy(t, x, False), op("LSH", t, 32), op("RSH", x, 32), op("OR", x, src=t)]


def check(program: list[Instruction]) -> None:
    """Nothing is left that the stock engine has not."""
    for i in program:
        if not known_to(i, "femto"):
            raise FemtoError(f"instruction {i.name}")
