"""What LLVM's BPF back end leaves on the table: branches it cannot invert, bit tests it has no pattern for.

- `if C goto A; goto B; A:` becomes `if !C goto B`;
- `t = x; t &= m; if t != 0 goto A` becomes `if x & m goto A` (JSET, RFC 9669 4.3), also for a sign bit moved to the top;
- `x <<= 32; x >>= 32` becomes `wx = wx`, which clears the upper half as well and keeps to 32 bits;
- `be64 x; x >>= 40`, which LLVM makes of narrower swaps and a shift, is `be32 x; wx >>= 8`;
- a constant that is stored needs no register (BPF_ST), and what nobody reads is not made;
- a jump to a jump goes where that goes, a jump to `exit` is `exit`;
- what a register holds is not reloaded, and what nobody reloads is not spilled (spills.py);
- what reads a copy reads the original (copies.py);
- what is known is not asked (decided.py);
- a result is made where it is returned (returned.py);
- a block stands behind the jump to it (placement.py);
- ways that end alike share their end (tails.py).
"""
from __future__ import annotations

from dataclasses import replace

from .copies import moves, read_originals, step_in_place
from .decided import decide_branches
from .isa import ALU, ALU64, ALU_OPS, JMP, JMP32, JMP_OPS, MODES, ST, STX, X
from .placement import INVERSE, inverted, place_blocks
from .returned import compare_originals, sink_results
from .rewrite import Line, live_out, liveness, neighbours, read, reads_writes, sweep, write
from .spills import drop_reloads, drop_stores
from .tails import merge_tails

AND, MOV, LSH, RSH, ARSH, END = (ALU_OPS[n] for n in ("AND", "MOV", "LSH", "RSH", "ARSH", "END"))
BE, SWAP = ALU | X | END, ALU64 | END            # the same of a little-endian machine; the second is of ISA v4
JEQ, JNE, JSET, JSLT, JSGT = (JMP_OPS[n] for n in ("JEQ", "JNE", "JSET", "JSLT", "JSGT"))
ROUNDS = 12


def improve(text: bytes, lines: list[tuple[int, str, int]]) -> tuple[bytes, list[tuple[int, str, int]]]:
    """Text and its source lines, improved. The meaning does not change; offsets of jumps stay within 16 bits."""
    code = read(text, lines)
    for _ in range(ROUNDS):
        before = len(code)
        thread_jumps(code)
        code = decide_branches(sweep(code))
        clear_upper_halves(code)
        narrow_swaps(code)
        code = sweep(code)
        store_immediates(code)
        drop_reloads(code)
        code = sweep(code)                      # what reads no register any more is not to count
        read_originals(code)
        code = sweep(code)
        step_in_place(code)
        code = sweep(code)
        drop_stores(code)
        drop_unread(code)
        code = sweep(code)
        invert_branches(code)
        code = sweep(code)
        constants_first(code)
        code = bit_tests(code)
        code = sweep(code)
        code = sweep(sink_results(code))
        compare_originals(code)
        code = sweep(place_blocks(sweep(code)))
        if len(code) == before:
            break
    return write(merge_tails(code))


def thread_jumps(code: list[Line]) -> None:
    for i, line in enumerate(code):
        if line.target is None:
            continue
        seen = {line}
        while line.target.insn.is_goto and line.target not in seen:
            seen.add(line.target)
            line.target = line.target.target
        if line.insn.is_goto:
            if line.target.insn.is_exit:
                line.insn, line.target = line.target.insn, None
            elif i + 1 < len(code) and line.target is code[i + 1]:
                line.dead = True


def store_immediates(code: list[Line]) -> None:
    """Constants are followed as far as there is one way to an instruction."""
    targets = {line.target for line in code if line.target is not None}
    known: dict[int, int] = {}
    for line in code:
        insn = line.insn
        if line in targets:
            known = {}
        if insn.cls == STX and insn.mode == MODES["MEM"] and insn.size < 8 and insn.src in known:
            line.insn = insn = replace(insn, op=insn.op & ~7 | ST, src=0, imm=signed32(known[insn.src]))
        if insn.ends_block:
            known = {}
        writes = reads_writes(insn)[1]
        known = {reg: value for reg, value in known.items() if not writes >> reg & 1}
        if insn.is_alu and insn.code == MOV and not insn.uses_reg:
            known[insn.dst] = insn.imm & 0xFFFFFFFF


def drop_unread(code: list[Line]) -> None:
    """What makes a value that nobody reads: constants that were stored as such, reloads that the register allocator left."""
    for line, live in zip(code, live_out(code)):
        insn = line.insn
        if (insn.is_alu or insn.is_load or insn.is_lddw) and not live >> insn.dst & 1:
            line.dead = True


def clear_upper_halves(code: list[Line]) -> None:
    """Also with a `y = x` before, or between the two where x is not needed any more: `wy = wx`."""
    targets = {line.target for line in code if line.target is not None}
    live = live_out(code)

    def shifts(at: int, operation: int) -> bool:
        insn = code[at].insn
        return insn.cls == ALU64 and insn.code == operation and not insn.uses_reg and insn.imm == 32 and not code[at].dead

    def fills(at: int, to: int) -> bool:
        return moves(code[at].insn) and code[at].insn.dst == to and not code[at].dead

    for i in range(1, len(code) - 1):
        if not shifts(i + 1, RSH) or code[i + 1] in targets:
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
        code[i + 1].insn = replace(down, op=ALU | X | MOV, src=source, imm=0)
        for at in gone:
            code[at].dead = True


def narrow_swaps(code: list[Line]) -> None:
    wide = [i for i, line in enumerate(code) if line.insn.op in (BE, SWAP) and line.insn.imm == 64]
    if not wide:
        return
    before, (following, preceding) = liveness(code)[0], neighbours(code)
    for i in wide:                              # the upper half of x is what the shifts drop
        shifts = shifts_of(code, i, before, following, preceding)
        if shifts and all(code[at].insn.imm >= 32 for at in shifts):
            code[i].insn = replace(code[i].insn, imm=32)
            for at in shifts:
                insn = code[at].insn
                code[at].insn = replace(insn, op=ALU | insn.code, imm=insn.imm - 32)
                code[at].dead = insn.imm == 32 and insn.code == RSH


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
    return shifts if same else []


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


def invert_branches(code: list[Line]) -> None:
    targets = {line.target for line in code if line.target is not None}
    for i in range(len(code) - 2):
        line, jump = code[i], code[i + 1]
        if (line.insn.is_branch and line.target is code[i + 2] and jump.insn.is_goto and jump not in targets
                and line.insn.code in INVERSE):
            line.insn = inverted(line.insn)
            line.target = jump.target
            jump.dead = True


def constants_first(code: list[Line]) -> None:
    """A constant that is made between what makes a value and the test of it is made before: the value's last steps may be a bit test."""
    targets = {line.target for line in code if line.target is not None}
    for i in range(1, len(code) - 1):
        made, test = code[i], code[i + 1].insn
        insn = made.insn
        if not (insn.is_alu and insn.code == MOV and not insn.uses_reg and test.is_branch and not test.uses_reg and test.dst != insn.dst):
            continue
        at = i
        while at > 0 and code[at - 1] not in targets and code[at - 1].insn.is_alu and code[at - 1].insn.dst == test.dst \
                and not reads_writes(code[at - 1].insn)[0] >> insn.dst & 1:
            at -= 1
        if code[i] not in targets and code[i + 1] not in targets:
            code.insert(at, code.pop(i))


def bit_tests(code: list[Line]) -> list[Line]:
    targets = {line.target for line in code if line.target is not None}
    live = live_out(code)
    out: list[Line] = []
    i = 0
    while i < len(code):
        found = match(code, i, live, targets)
        if found is None:
            out.append(code[i])
            i += 1
            continue
        length, test, mask, jump, if_set = found
        wide = jump.insn.cls == JMP
        op = (JMP if wide else JMP32) | JSET
        set_jump = Line(replace(jump.insn, op=op, dst=test, src=0, imm=mask, off=0), None, jump.source)
        following = code[i + length] if i + length < len(code) else None
        code[i].dead = False
        if if_set:
            set_jump.target = jump.target
            new = [set_jump]
        else:
            skip = Line(replace(jump.insn, op=JMP, dst=0, src=0, imm=0, off=0), jump.target, jump.source)
            set_jump.target = following
            new = [set_jump, skip]
        for line in code:                       # jumps to the pattern's start now reach the test
            if line.target is code[i]:
                line.target = new[0]
        for line in out:
            if line.target is code[i]:
                line.target = new[0]
        out += new
        i += length
    return out


def match(code: list[Line], i: int, live: list[int], targets: set):
    """A bit test that begins at i: (instructions, register tested, mask, the jump, whether it jumps if a bit is set)."""
    first = code[i].insn
    if first.cls not in (ALU, ALU64) or i + 1 >= len(code):
        return None
    at, test, temp = i, first.dst, first.dst
    if first.code == MOV and first.uses_reg and first.off == 0:
        test, at = first.src, i + 1
    elif first.code not in (AND, LSH):
        return None
    step = code[at].insn if at < len(code) else None
    if step is None or step.dst != temp or step.uses_reg or (at > i and code[at] in targets):
        return None
    if step.code == AND and step.cls in (ALU, ALU64):
        return finish(code, i, at + 1, test, temp, step, step.imm & 0xFFFFFFFF, live, targets, (JEQ, JNE))
    if step.code == LSH and step.cls == ALU and at + 1 < len(code):
        back = code[at + 1]
        if back in targets or back.insn.cls != ALU or back.insn.code != ARSH or back.insn.dst != temp or back.insn.uses_reg \
                or back.insn.imm != step.imm or not 0 < step.imm < 32:
            return None
        return finish(code, i, at + 2, test, temp, step, 1 << (31 - step.imm), live, targets, (JSLT, JSGT))
    return None


def finish(code, i: int, at: int, test: int, temp: int, step, mask: int, live, targets, jumps):
    if at >= len(code) or code[at] in targets:
        return None
    jump = code[at]
    insn = jump.insn
    if not insn.is_branch or insn.uses_reg or insn.dst != temp or insn.code not in jumps or live[at] >> temp & 1:
        return None
    wide = insn.cls == JMP
    if step.cls == ALU and wide:              # the upper half is zero after a 32-bit operation: test 32 bits
        jump = Line(replace(insn, op=insn.op & 0xF8 | JMP32), jump.target, jump.source)
    if step.cls == ALU64 and (not wide or mask >> 31):
        return None
    if jumps == (JEQ, JNE):
        if insn.imm != 0:
            return None
        return at + 1 - i, test, signed32(mask), jump, insn.code == JNE
    if insn.code == JSLT and insn.imm == 0:
        return at + 1 - i, test, signed32(mask), jump, True
    if insn.code == JSGT and insn.imm == -1:
        return at + 1 - i, test, signed32(mask), jump, False
    return None


def signed32(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v
