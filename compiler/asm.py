"""Assembler for the syntax `llvm-objdump` prints for BPF, with labels; the inverse of `disasm`.

One instruction a line; `;` and `//` start a comment, as does `#`; `name:` is a label. A jump target is a label or a signed
distance in slots (`+0x3`). `call NAME` or `call +N` is a local call, `call N` a helper.
"""
from __future__ import annotations

import re
from dataclasses import replace

from .disasm import ALU_SIGNS, ATOMIC_SIGNS, JMP_SIGNS
from .isa import (ALU, ALU64, ALU_OPS, ATOMIC_OPS, CALL, CALL_LOCAL, EXIT, FEMTO_LDDWD, FEMTO_LDDWR, FETCH, JA, JA32,
                  JMP, JMP32, JMP_OPS, LDDW, LDDW_DATA, LDDW_RODATA, LDX, MODES, SLOT, ST, STX, X, Instruction, encode)


class AsmError(ValueError):
    """A line that is no instruction. `line` counts from 1."""

    def __init__(self, line: int, message: str):
        super().__init__(f"line {line}: {message}")
        self.line, self.message = line, message


class _Raw(Instruction):
    """8 bytes taken as they are."""


_NUM = r"([-+]?(?:0x[0-9a-fA-F]+|\d+))"
_REG = r"([rw])(10|\d)"
_MEM = r"\*\(([us])(8|16|32|64) \*\)\(r(10|\d) ([-+]) (-?0x[0-9a-fA-F]+|-?\d+)\)"
_PLACE = r"r(10|\d) ([-+]) (-?0x[0-9a-fA-F]+|-?\d+)"
_TARGET = r"([-+](?:0x[0-9a-fA-F]+|\d+)|[A-Za-z_.][\w.]*)"
_SIZE_BITS = {8: 0x10, 16: 0x08, 32: 0x00, 64: 0x18}
_ALU_BY_SIGN = {sign: ALU_OPS[name] for name, sign in ALU_SIGNS.items()}
_JMP_BY_SIGN = {sign: JMP_OPS[name] for name, sign in JMP_SIGNS.items()}
_ATOMIC_BY_SIGN = {sign: ATOMIC_OPS[name] for name, sign in ATOMIC_SIGNS.items()}
_FORMS: list[tuple[re.Pattern, object]] = []


def _form(pattern: str):
    def register(function):
        _FORMS.append((re.compile(pattern + r"$"), function))
        return function
    return register


def _int(text: str) -> int:
    return int(text, 0) if not text.lstrip("+-").isdigit() else int(text)


def _imm32(text: str) -> int:
    value = _int(text)
    if not -(1 << 31) <= value < 1 << 32:
        raise ValueError(f"immediate {text} does not fit 32 bits")
    return value - (1 << 32) if value >> 31 > 0 else value


def _off(sign: str, text: str) -> int:
    return -_int(text) if sign == "-" else _int(text)


def _same(a: str, b: str) -> None:
    if a != b:
        raise ValueError(f"operands must agree: {a} and {b}")


@_form(r"\.raw ([0-9a-f]{16})")
def _raw(m):
    op, regs, off, imm = SLOT.unpack(bytes.fromhex(m[1]))
    return _Raw(op, regs & 15, regs >> 4, off, imm)


@_form(r"\.raw ([0-9a-f]{32})")
def _raw_pair(m):
    op, regs, off, imm = SLOT.unpack(bytes.fromhex(m[1][:16]))
    high = SLOT.unpack(bytes.fromhex(m[1][16:]))[3]
    return Instruction(op, regs & 15, regs >> 4, off, imm & 0xFFFFFFFF | (high & 0xFFFFFFFF) << 32)


@_form(r"exit")
def _exit(m):
    return Instruction(EXIT)


@_form(r"call (0x[0-9a-fA-F]+|\d+)")
def _call_helper(m):
    return Instruction(CALL, imm=_imm32(m[1]))


@_form(rf"call {_TARGET}")
def _call_local(m):
    return Instruction(CALL, src=CALL_LOCAL), m[1]


@_form(rf"(goto|gotol) {_TARGET}")
def _goto(m):
    return Instruction(JA if m[1] == "goto" else JA32), m[2]


@_form(rf"if {_REG} (==|!=|s?[<>]=?|&) (?:{_REG}|{_NUM}) goto {_TARGET}")
def _branch(m):
    r, dst, sign, r2, src, number, target = m.groups()
    op = (JMP if r == "r" else JMP32) | _JMP_BY_SIGN[sign]
    if r2:
        _same(r, r2)
        return Instruction(op | X, int(dst), int(src)), target
    return Instruction(op, int(dst), imm=_imm32(number)), target


@_form(rf"r(10|\d) = (rodata|data) \+ {_NUM} ll")
def _lddw_image(m):
    return Instruction(LDDW, int(m[1]), LDDW_RODATA if m[2] == "rodata" else LDDW_DATA, 0, _int(m[3]) % (1 << 64))


@_form(rf"r(10|\d) = (lddwd|lddwr) {_NUM} ll")
def _lddw_femto(m):
    return Instruction(FEMTO_LDDWD if m[2] == "lddwd" else FEMTO_LDDWR, int(m[1]), imm=_int(m[3]) % (1 << 64))


@_form(rf"r(10|\d) = {_NUM} ll")
def _lddw(m):
    return Instruction(LDDW, int(m[1]), imm=_int(m[2]) % (1 << 64))


@_form(rf"{_REG} = -{_REG}")
def _neg(m):
    _same(m[1] + m[2], m[3] + m[4])
    return Instruction((ALU64 if m[1] == "r" else ALU) | ALU_OPS["NEG"], int(m[2]))


@_form(r"r(10|\d) = (be|le|bswap)(16|32|64) r(10|\d)")
def _swap(m):
    _same(m[1], m[4])
    cls = ALU64 if m[2] == "bswap" else ALU | (X if m[2] == "be" else 0)
    return Instruction(cls | ALU_OPS["END"], int(m[1]), imm=int(m[3]))


@_form(rf"{_REG} = \(s(8|16|32)\){_REG}")
def _movsx(m):
    _same(m[1], m[4])
    return Instruction((ALU64 if m[1] == "r" else ALU) | ALU_OPS["MOV"] | X, int(m[2]), int(m[5]), int(m[3]))


@_form(rf"([rw])(10|\d) = (xchg_64|xchg32_32)\({_PLACE}, ([rw])(10|\d)\)")
def _xchg(m):
    _same(m[1] + m[2], m[7] + m[8])
    bits = 0x18 if m[3] == "xchg_64" else 0
    return Instruction(STX | MODES["ATOMIC"] | bits, int(m[4]), int(m[2]), _off(m[5], m[6]), ATOMIC_OPS["XCHG"])


@_form(rf"([rw])0 = (cmpxchg_64|cmpxchg32_32)\({_PLACE}, ([rw])0, ([rw])(10|\d)\)")
def _cmpxchg(m):
    bits = 0x18 if m[2] == "cmpxchg_64" else 0
    return Instruction(STX | MODES["ATOMIC"] | bits, int(m[3]), int(m[8]), _off(m[4], m[5]), ATOMIC_OPS["CMPXCHG"])


@_form(rf"([rw])(10|\d) = atomic_fetch_(add|or|and|xor)\(\(u(32|64) \*\)\({_PLACE}\), ([rw])(10|\d)\)")
def _fetch(m):
    _same(m[1] + m[2], m[8] + m[9])
    return Instruction(STX | MODES["ATOMIC"] | _SIZE_BITS[int(m[4])], int(m[5]), int(m[2]), _off(m[6], m[7]),
                       ATOMIC_OPS[m[3].upper()] | FETCH)


@_form(rf"lock \*\(u(32|64) \*\)\({_PLACE}\) (\+=|\|=|&=|\^=) ([rw])(10|\d)")
def _lock(m):
    return Instruction(STX | MODES["ATOMIC"] | _SIZE_BITS[int(m[1])], int(m[2]), int(m[7]), _off(m[3], m[4]),
                       _ATOMIC_BY_SIGN[m[5]])


@_form(rf"[rw](10|\d) = {_MEM}")
def _load(m):
    mode = MODES["MEMSX"] if m[2] == "s" else MODES["MEM"]
    return Instruction(LDX | mode | _SIZE_BITS[int(m[3])], int(m[1]), int(m[4]), _off(m[5], m[6]))


@_form(rf"{_MEM} = (?:[rw](10|\d)|{_NUM})")
def _store(m):
    if m[1] == "s":
        raise ValueError("a store has no signed form")
    cls = STX if m[6] is not None else ST
    insn = Instruction(cls | MODES["MEM"] | _SIZE_BITS[int(m[2])], int(m[3]), off=_off(m[4], m[5]))
    return replace(insn, src=int(m[6])) if m[6] is not None else replace(insn, imm=_imm32(m[7]))


@_form(rf"{_REG} (s?/=|s?%=|s?>>=|<<=|[-+*|&^]?=) (?:{_REG}|{_NUM})")
def _alu(m):
    r, dst, sign, r2, src, number = m.groups()
    off = 1 if sign in ("s/=", "s%=") else 0
    op = (ALU64 if r == "r" else ALU) | _ALU_BY_SIGN[sign[1:] if off else sign]
    if r2:
        _same(r, r2)
        return Instruction(op | X, int(dst), int(src), off)
    return Instruction(op, int(dst), 0, off, _imm32(number))


def parse_line(line: str):
    """(instruction, label of its target or None). Raises ValueError."""
    line = " ".join(line.split())
    for pattern, build in _FORMS:
        m = pattern.match(line)
        if m:
            made = build(m)
            return made if isinstance(made, tuple) else (made, None)
    raise ValueError(f"not an instruction: {line}")


_COMMENT = re.compile(r"\s*(;|//|#).*$")
_LABEL = re.compile(r"\s*([A-Za-z_.][\w.]*):")


def assemble_program(source: str) -> list[Instruction]:
    """Instructions of `source`, labels resolved. Raises AsmError. `.raw` slots stay single instructions."""
    program, labels, wanted, slot = [], {}, [], 0
    for number, line in enumerate(source.splitlines(), 1):
        line = _COMMENT.sub("", line)
        while m := _LABEL.match(line):
            if m[1] in labels:
                raise AsmError(number, f"label {m[1]} is already at slot {labels[m[1]]}")
            labels[m[1]] = slot
            line = line[m.end():]
        if not line.strip():
            continue
        try:
            insn, target = parse_line(line)
        except ValueError as error:
            raise AsmError(number, str(error)) from None
        if target:
            wanted.append((len(program), slot, target, number))
        program.append(insn)
        slot += 1 if isinstance(insn, _Raw) else insn.slots
    for index, slot, target, number in wanted:
        if target[0] in "+-":
            goal = slot + 1 + _int(target)
        elif target in labels:
            goal = labels[target]
        else:
            raise AsmError(number, f"no label {target}")
        program[index] = program[index].retarget(slot, goal)
    return program


def assemble(source: str) -> bytes:
    """A text section from assembly. Raises AsmError; ValueError if a distance does not fit its field."""
    out = bytearray()
    for insn in assemble_program(source):
        if isinstance(insn, _Raw):
            out += SLOT.pack(insn.op, insn.dst | insn.src << 4, insn.off, insn.imm)
        else:
            out += encode([insn])
    return bytes(out)
