"""Instructions as text, in the syntax `llvm-objdump` prints for BPF (LLVM, lib/Target/BPF/BPFInstrInfo.td).

What that syntax cannot carry (reserved fields in use, unknown opcodes) is printed as `.raw` with its 8 bytes, so that
assembling a listing always gives the same bytes back. Local calls get a sign (`call +0x4`), helper calls none;
`lddw` of an image-relative address reads `r1 = rodata + 0x10 ll`.
"""
from __future__ import annotations

from .isa import (ALU, ALU64, ALU_NAMES, ATOMIC_OPS, CALL, EXIT, FEMTO_LDDWD, FETCH, JA, JA32, JMP,
                  JMP32, JMP_NAMES, LDDW, LDDW_DATA, LDDW_RODATA, LDX, MODES, OPCODES, SLOT, ST, STX, DecodeError, Instruction,
                  decode, encode, raw_slots, slot_indices)

ALU_SIGNS = {"ADD": "+=", "SUB": "-=", "MUL": "*=", "DIV": "/=", "OR": "|=", "AND": "&=", "LSH": "<<=", "RSH": ">>=",
             "MOD": "%=", "XOR": "^=", "MOV": "=", "ARSH": "s>>="}
JMP_SIGNS = {"JEQ": "==", "JGT": ">", "JGE": ">=", "JSET": "&", "JNE": "!=", "JSGT": "s>", "JSGE": "s>=", "JLT": "<",
             "JLE": "<=", "JSLT": "s<", "JSLE": "s<="}
ATOMIC_SIGNS = {"ADD": "+=", "OR": "|=", "AND": "&=", "XOR": "^="}
_ATOMIC_NAMES = {value: name for name, value in ATOMIC_OPS.items()}


def _hex(value: int) -> str:
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def _place(reg: int, off: int) -> str:
    return f"r{reg} {'-' if off < 0 else '+'} {abs(off):#x}"


def _memory(insn: Instruction, reg: int) -> str:
    sign = "s" if insn.mode == MODES["MEMSX"] else "u"
    return f"*({sign}{8 * insn.size} *)({_place(reg, insn.off)})"


def _alu(insn: Instruction) -> str | None:
    r = "r" if insn.cls == ALU64 else "w"
    name, dst = ALU_NAMES.get(insn.code), f"{r}{insn.dst}"
    if name == "END":
        if insn.imm not in (16, 32, 64) or insn.off or insn.src or (insn.cls == ALU64 and insn.uses_reg):
            return None
        word = "bswap" if insn.cls == ALU64 else "be" if insn.uses_reg else "le"
        return f"r{insn.dst} = {word}{insn.imm} r{insn.dst}"
    if name == "NEG":
        return f"{dst} = -{dst}" if not (insn.src or insn.off or insn.imm or insn.uses_reg) else None
    if name is None or (insn.imm if insn.uses_reg else insn.src):
        return None
    operand = f"{r}{insn.src}" if insn.uses_reg else _hex(insn.imm)
    sign = ALU_SIGNS[name]
    if insn.off:
        if name in ("DIV", "MOD") and insn.off == 1:
            sign = "s" + sign
        elif name == "MOV" and insn.uses_reg and insn.off in ((8, 16) if insn.cls == ALU else (8, 16, 32)):
            operand = f"(s{insn.off}){operand}"
        else:
            return None
    return f"{dst} {sign} {operand}"


def _jump(insn: Instruction, where: str | None) -> str | None:
    if insn.op == EXIT:
        return "exit" if insn == Instruction(EXIT) else None
    if insn.op == CALL:
        if insn.dst or insn.off or insn.src > 1:
            return None
        if insn.src:
            return f"call {where}" if where else f"call {'-' if insn.imm < 0 else '+'}{abs(insn.imm):#x}"
        return f"call {insn.imm:#x}" if insn.imm >= 0 else None
    if insn.op in (JA, JA32):
        distance, other, word = (insn.off, insn.imm, "goto") if insn.op == JA else (insn.imm, insn.off, "gotol")
        if other or insn.dst or insn.src:
            return None
        return f"{word} {where or f'{distance:+#x}'}"
    name = JMP_NAMES.get(insn.code)
    if name not in JMP_SIGNS or (insn.imm if insn.uses_reg else insn.src):
        return None
    r = "r" if insn.cls == JMP else "w"
    operand = f"{r}{insn.src}" if insn.uses_reg else _hex(insn.imm)
    return f"if {r}{insn.dst} {JMP_SIGNS[name]} {operand} goto {where or f'{insn.off:+#x}'}"


def _atomic(insn: Instruction) -> str | None:
    wide = insn.size == 8
    r, kind = ("r", "u64") if wide else ("w", "u32")
    place, name = _place(insn.dst, insn.off), _ATOMIC_NAMES.get(insn.imm)
    if name in ATOMIC_SIGNS:
        return f"lock *({kind} *)({place}) {ATOMIC_SIGNS[name]} {r}{insn.src}"
    if name == "XCHG":
        return f"{r}{insn.src} = {'xchg_64' if wide else 'xchg32_32'}({place}, {r}{insn.src})"
    if name == "CMPXCHG":
        return f"{r}0 = {'cmpxchg_64' if wide else 'cmpxchg32_32'}({place}, {r}0, {r}{insn.src})"
    name = _ATOMIC_NAMES.get(insn.imm & ~FETCH) if insn.imm & FETCH else None
    if name in ATOMIC_SIGNS:
        return f"{r}{insn.src} = atomic_fetch_{name.lower()}(({kind} *)({place}), {r}{insn.src})"
    return None


def _lddw(insn: Instruction) -> str | None:
    if insn.off:
        return None
    if insn.op != LDDW:
        return None if insn.src else f"r{insn.dst} = {'lddwd' if insn.op == FEMTO_LDDWD else 'lddwr'} {insn.imm:#x} ll"
    if insn.src in (LDDW_RODATA, LDDW_DATA):
        return f"r{insn.dst} = {'rodata' if insn.src == LDDW_RODATA else 'data'} + {insn.imm:#x} ll"
    return f"r{insn.dst} = {insn.imm:#x} ll" if insn.src == 0 else None


def _text(insn: Instruction, where: str | None) -> str | None:
    if insn.op not in OPCODES or insn.dst > 10 or insn.src > 10:
        return None
    if insn.is_lddw:
        return _lddw(insn)
    if insn.cls in (ALU, ALU64):
        return _alu(insn)
    if insn.cls in (JMP, JMP32):
        return _jump(insn, where)
    if insn.is_atomic:
        return _atomic(insn)
    if insn.cls == LDX and not insn.imm:
        return f"r{insn.dst} = {_memory(insn, insn.src)}"
    if insn.cls == ST and not insn.src:
        return f"{_memory(insn, insn.dst)} = {_hex(insn.imm)}"
    if insn.cls == STX and not insn.imm:
        r = "r" if insn.size == 8 else "w"
        return f"{_memory(insn, insn.dst)} = {r}{insn.src}"
    return None


def format_instruction(insn: Instruction, where: str | None = None) -> str:
    """One instruction as text. `where`: a label to print for its target instead of the distance."""
    return _text(insn, where) or f".raw {encode([insn]).hex()}"


def disassemble(text: bytes) -> list[str]:
    """One line per instruction, assembling to the same bytes. Never raises for whole slots."""
    try:
        program = decode(text)
    except DecodeError as error:
        if error.rule == 1:
            raise
        return [format_instruction(i) if not i.is_lddw else f".raw {SLOT.pack(i.op, i.dst | i.src << 4, i.off, i.imm).hex()}"
                for i in raw_slots(text)]
    return [format_instruction(insn) for insn in program]


def listing(text: bytes, source_map=(), sources=None, labels: bool = True) -> str:
    """A readable listing: slot index, bytes, text, labels at jump targets.

    `source_map`: (slot index, (file, line)) or (slot index, file, line) pairs, each valid until the next one; `sources`: file -> its lines, to
    print the line itself. The output is for people: use `disassemble` for text to assemble again."""
    program = decode(text)
    slots = slot_indices(program)
    targets = sorted({i.target(s) for i, s in zip(program, slots) if i.is_jump or i.is_local_call})
    names = {t: f"L{n}" for n, t in enumerate(targets)} if labels else {}
    origins = {}
    for row in source_map:
        slot, (file, line) = row[0], row[1] if len(row) == 2 else row[1:]
        origins[slot] = (file, line)
    out = []
    for insn, slot in zip(program, slots):
        if slot in origins:
            file, line = origins[slot]
            lines = (sources or {}).get(file, ())
            quoted = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            out.append(f"; {file}:{line}" + (f"  {quoted}" if quoted else ""))
        if slot in names:
            out.append(f"{names[slot]}:")
        where = names.get(insn.target(slot)) if insn.is_jump or insn.is_local_call else None
        out.append(f"{slot:6}:  {encode([insn])[:8].hex(' ')}  {format_instruction(insn, where)}")
    return "\n".join(out) + "\n"
