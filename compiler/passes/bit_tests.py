"""`t = x; t &= m; if t != 0 goto A` is `if x & m goto A` (JSET, RFC 9669 4.3), also for a sign bit moved to the top."""
from __future__ import annotations

from dataclasses import replace

from ..isa import ALU, ALU64, ALU_OPS, JMP, JMP32, JMP_OPS, K, X, Instruction, signed32
from .flow import live_out
from .rewrite import Line, reads_writes, targets_of

AND, MOV, LSH, ARSH = (ALU_OPS[n] for n in ("AND", "MOV", "LSH", "ARSH"))
JEQ, JNE, JSET, JSLT, JSGT = (JMP_OPS[n] for n in ("JEQ", "JNE", "JSET", "JSLT", "JSGT"))
FIRST = {width | operation for width in (ALU, ALU64) for operation in (X | MOV, K | AND, K | LSH)}      # what such a test begins with


def constants_first(code: list[Line]) -> bool:
    """What stands between what makes a value and the test of it, a constant or what is stored, is done before: the value's last steps may be a bit test."""
    targets, changed = targets_of(code), False
    for i in range(1, len(code) - 1):
        insn, test = code[i].insn, code[i + 1].insn
        if not (test.is_branch and not test.uses_reg and is_apart(insn, test.dst)) or code[i] in targets or code[i + 1] in targets:
            continue
        reads, writes = reads_writes(insn)
        at = to = i                             # what is passed, and the first of the value's last steps
        while at > 0 and code[at - 1] not in targets and code[at - 1].insn.is_alu and not conflict(code[at - 1].insn, reads, writes):
            at -= 1
            if code[at].insn.dst == test.dst:
                to = at
            elif code[at].insn.code != MOV:
                break
        at = to
        if at < i:
            code.insert(at, code.pop(i))
            changed = True
    return changed


def conflict(insn: Instruction, reads: int, writes: int) -> bool:
    """Whether an instruction must not change places with one that reads and writes these registers."""
    its_reads, its_writes = reads_writes(insn)
    return bool(its_reads & writes or its_writes & (reads | writes))


def is_apart(insn: Instruction, tested: int) -> bool:
    """Whether an instruction has nothing to do with a register, and may as well stand before what makes that: constants, stores, loads."""
    reads, writes = reads_writes(insn)
    return (insn.is_alu and insn.code == MOV or insn.is_store or insn.is_load) and not (reads | writes) >> tested & 1


def bit_tests(code: list[Line]) -> bool:
    targets, live = targets_of(code), live_out(code)
    out: list[Line] = []
    begins: dict[Line, Line] = {}               # how what was there began -> the test
    i = 0
    while i < len(code):
        found = match(code, i, live, targets) if code[i].insn.op in FIRST else None
        if found is None:
            out.append(code[i])
            i += 1
            continue
        length, test, mask, jump, if_set = found
        op = (JMP if jump.insn.cls == JMP else JMP32) | JSET
        begins[code[i]] = set_jump = Line(replace(jump.insn, op=op, dst=test, src=0, imm=mask, off=0), jump.target, jump.source)
        out.append(set_jump)
        if not if_set:
            set_jump.target = code[i + length] if i + length < len(code) else None
            out.append(Line(replace(jump.insn, op=JMP, dst=0, src=0, imm=0, off=0), jump.target, jump.source))
        i += length
    for line in out:
        line.target = begins.get(line.target, line.target)
    code[:] = out
    return bool(begins)


def match(code: list[Line], i: int, live: list[int], targets: set):
    """A bit test that begins at i: (instructions, register tested, mask, the jump, whether it jumps if a bit is set)."""
    first = code[i].insn
    at, test, temp = i, first.dst, first.dst
    if first.code == MOV:
        if first.off:                           # with a sign
            return None
        test, at = first.src, i + 1
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
    if wide:                                    # of 64 bits what was moved in 32 has no sign
        return None
    if insn.code == JSLT and insn.imm == 0:
        return at + 1 - i, test, signed32(mask), jump, True
    if insn.code == JSGT and insn.imm == -1:
        return at + 1 - i, test, signed32(mask), jump, False
    return None
