"""What keeps to the lower halves of registers: shifts that only clear an upper half, and swaps of 64 bits of which 32 are used."""
from __future__ import annotations

from dataclasses import replace

from ..isa import ALU, ALU64, ALU_OPS, JMP32, K, MODES, STX, X
from .copies import moves
from .flow import live_out, liveness, neighbours
from .rewrite import Line, reads_writes, targets_of

MOV, LSH, RSH, ARSH, END = (ALU_OPS[n] for n in ("MOV", "LSH", "RSH", "ARSH", "END"))
BE, SWAP = ALU | X | END, ALU64 | END            # the same of a little-endian machine; the second is of ISA v4


def clear_upper_halves(code: list[Line]) -> bool:
    """`x <<= 32; x >>= 32` is `wx = wx`. Also with a `y = x` before, or between the two where x is not needed any more: `wy = wx`."""
    def shifts(at: int, operation: int) -> bool:
        insn = code[at].insn
        return insn.op == ALU64 | K | operation and insn.imm == 32 and not code[at].dead

    def fills(at: int, to: int) -> bool:
        return moves(code[at].insn) and code[at].insn.dst == to and not code[at].dead

    shifted = [i - 1 for i in range(2, len(code)) if shifts(i, RSH)]
    if not shifted:
        return False
    targets, live, changed = targets_of(code), live_out(code), False
    for i in shifted:
        if code[i + 1] in targets:
            continue
        down = code[i + 1].insn
        if shifts(i, LSH) and code[i].insn.dst == down.dst:
            source, gone = down.dst, [i]
            if fills(i - 1, down.dst) and code[i] not in targets:
                source, gone = code[i - 1].insn.src, [i - 1, i]
        elif fills(i, down.dst) and shifts(i - 1, LSH) and code[i - 1].insn.dst == code[i].insn.src and code[i] not in targets \
                and not live[i + 1] >> code[i].insn.src & 1:
            source, gone = code[i].insn.src, [i - 1, i]
        else:
            continue
        code[i + 1].insn, changed = replace(down, op=ALU | X | MOV, src=source, imm=0), True
        for at in gone:
            code[at].dead = True
    return changed


def narrow_swaps(code: list[Line]) -> bool:
    """`be64 x; x >>= 40`, which LLVM makes of narrower swaps and a shift, is `be32 x; wx >>= 8`."""
    wide, changed = [i for i, line in enumerate(code) if line.insn.op in (BE, SWAP) and line.insn.imm == 64], False
    if not wide:
        return False
    before, (following, preceding) = liveness(code)[0], neighbours(code)
    for i in wide:                              # the upper half of x is what the shifts drop
        shifts = shifts_of(code, i, before, following, preceding)
        if shifts and all(code[at].insn.imm >= 32 for at in shifts):
            code[i].insn, changed = replace(code[i].insn, imm=32), True
            for at in shifts:
                insn = code[at].insn
                code[at].insn = replace(insn, op=ALU | insn.code, imm=insn.imm - 32)
                code[at].dead = insn.imm == 32 and insn.code == RSH
    return changed


def shifts_of(code: list[Line], i: int, before: list[int], following: list[list[int]], preceding: list[list[int]]) -> list[int]:
    """The shifts to the right that are all that is made of instruction i's result, copies of it included; [] if there is more, or if
    another value comes to one of them, too."""
    held: dict[int, frozenset[int]] = {}        # the registers that hold the result before an instruction
    left = {i: frozenset({code[i].insn.dst})}   # and behind it
    shifts: list[int] = []
    todo = [(j, i) for j in following[i]]
    while todo:
        at, last = todo.pop()
        holding = living(left[last], before[at])
        if at in held or not holding:
            continue
        held[at] = holding
        insn = code[at].insn
        reads, writes = reads_writes(insn)
        left[at] = frozenset(reg for reg in holding if not writes >> reg & 1)
        if insn.is_alu and insn.cls == ALU64 and insn.dst in holding and insn.code in (RSH, ARSH) and not insn.uses_reg:
            if insn.code == ARSH and not half_is_enough(code, at, before, following):
                return []
            shifts.append(at)
        elif insn.is_alu and insn.cls == ALU64 and insn.code == MOV and insn.uses_reg and insn.off == 0 and insn.src in holding:
            left[at] |= {insn.dst}
        elif any(reads >> reg & 1 for reg in holding):
            return []
        todo += [(j, at) for j in following[at]]
    same = all(p in left and living(left[p], before[at]) == holding for at, holding in held.items() for p in preceding[at])
    return shifts if same and 0 not in held else []         # to the first instruction comes what the container is given


def living(registers: frozenset[int], live: int) -> frozenset[int]:
    return frozenset(reg for reg in registers if live >> reg & 1)


def half_is_enough(code: list[Line], at: int, before: list[int], following: list[list[int]]) -> bool:
    """Whether nobody reads the upper half of what instruction `at` makes, nor of a copy."""
    seen: set[tuple[int, int]] = set()
    todo = [(j, code[at].insn.dst) for j in following[at]]
    while todo:
        i, reg = todo.pop()
        if (i, reg) in seen or not before[i] >> reg & 1:
            continue
        seen.add((i, reg))
        insn = code[i].insn
        reads, writes = reads_writes(insn)
        if reads >> reg & 1:
            copies = insn.is_alu and insn.cls == ALU64 and insn.code == MOV and insn.off == 0
            narrow = insn.is_alu and insn.cls == ALU and not (insn.code == END and insn.imm == 64) or insn.is_branch and insn.cls == JMP32 \
                or insn.cls == STX and insn.mode == MODES["MEM"] and insn.size < 8 and insn.dst != reg
            if not (copies or narrow):
                return False
            todo += [(j, insn.dst) for j in following[i]] if copies else []
        if not writes >> reg & 1:
            todo += [(j, reg) for j in following[i]]
    return True
