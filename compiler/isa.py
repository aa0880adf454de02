"""The eBPF instruction set (RFC 9669) as data: one value type per instruction, one table of opcodes.

An instruction is 8 bytes: opcode, registers (dst in the low nibble), offset s16, immediate s32, little-endian
(RFC 9669, 3.1). `lddw` takes two of these slots; everything else one. Jump offsets count slots.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, replace

SLOT = struct.Struct("<BBhi")
SLOT_BYTES = 8

# Classes (RFC 9669, table 1) ---------------------------------------------------------------------
LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)
CLASS_NAMES = ("LD", "LDX", "ST", "STX", "ALU", "JMP", "JMP32", "ALU64")

K, X = 0x00, 0x08                                     # source operand: immediate, register

ALU_OPS = {                                           # 4.1; name -> code
    "ADD": 0x00, "SUB": 0x10, "MUL": 0x20, "DIV": 0x30, "OR": 0x40, "AND": 0x50, "LSH": 0x60, "RSH": 0x70,
    "NEG": 0x80, "MOD": 0x90, "XOR": 0xA0, "MOV": 0xB0, "ARSH": 0xC0, "END": 0xD0,
}
JMP_OPS = {                                           # 4.3
    "JA": 0x00, "JEQ": 0x10, "JGT": 0x20, "JGE": 0x30, "JSET": 0x40, "JNE": 0x50, "JSGT": 0x60, "JSGE": 0x70,
    "CALL": 0x80, "EXIT": 0x90, "JLT": 0xA0, "JLE": 0xB0, "JSLT": 0xC0, "JSLE": 0xD0,
}
ALU_NAMES = {code: name for name, code in ALU_OPS.items()}
JMP_NAMES = {code: name for name, code in JMP_OPS.items()}

SIZES = {"W": 0x00, "H": 0x08, "B": 0x10, "DW": 0x18}  # 5, table 9
SIZE_BYTES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}
MODES = {"IMM": 0x00, "ABS": 0x20, "IND": 0x40, "MEM": 0x60, "MEMSX": 0x80, "ATOMIC": 0xC0}

ATOMIC_OPS = {                                        # 5.3: value of imm; FETCH is or-ed in
    "ADD": 0x00, "OR": 0x40, "AND": 0x50, "XOR": 0xA0, "XCHG": 0xE1, "CMPXCHG": 0xF1,
}
FETCH = 0x01

# lddw: what the source register field makes of the immediate (5.4 and the project's two own values).
LDDW = 0x18
LDDW_IMM64, LDDW_RODATA, LDDW_DATA = 0, 8, 9
FEMTO_LDDWD, FEMTO_LDDWR = 0xB8, 0xD8                 # the stock Femto-Container engine's data and rodata loads

CALL, EXIT, JA, JA32 = 0x85, 0x95, 0x05, 0x06
CALL_HELPER, CALL_LOCAL = 0, 1                        # 4.3.1: source register field of CALL
FRAME_POINTER = 10
REGISTERS = 11

# Asked for each instruction, often: the forms of an opcode.
_ALU, _WIDE, _JUMPS = frozenset((ALU, ALU64)), frozenset((ALU64, JMP)), frozenset((JMP, JMP32))
_NO_BRANCH = frozenset(JMP_OPS[name] for name in ("JA", "CALL", "EXIT"))
_LDDW = frozenset((LDDW, FEMTO_LDDWD, FEMTO_LDDWR))
_GOTOS, _ENDS = frozenset((JA, JA32)), frozenset((JA, JA32, EXIT))
_BRANCHES = frozenset(op for op in range(256) if op & 7 in _JUMPS and op & 0xF0 not in _NO_BRANCH)
_TARGETED = _GOTOS | _BRANCHES
_STORES = frozenset(cls | MODES["MEM"] | size for cls in (ST, STX) for size in SIZES.values())
_ATOMICS = frozenset(STX | MODES["ATOMIC"] | size for size in SIZES.values())


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `imm` is signed 32-bit, for `lddw` unsigned 64-bit; `off` is signed 16-bit."""
    op: int
    dst: int = 0
    src: int = 0
    off: int = 0
    imm: int = 0

    @property
    def cls(self) -> int:
        return self.op & 7

    @property
    def code(self) -> int:
        """Operation bits of an arithmetic or jump instruction."""
        return self.op & 0xF0

    @property
    def mode(self) -> int:
        return self.op & 0xE0

    @property
    def size(self) -> int:
        """Bytes a load or store touches."""
        return SIZE_BYTES[self.op & 0x18]

    @property
    def slots(self) -> int:
        return 2 if self.is_lddw else 1

    @property
    def uses_reg(self) -> bool:
        """Second operand of arithmetic or of a comparison is a register."""
        return bool(self.op & X)

    @property
    def is_lddw(self) -> bool:
        return self.op in _LDDW

    @property
    def is_alu(self) -> bool:
        return self.op & 7 in _ALU

    @property
    def is_wide(self) -> bool:
        """64-bit arithmetic or a 64-bit comparison."""
        return self.op & 7 in _WIDE

    @property
    def is_load(self) -> bool:
        return self.op & 7 == LDX

    @property
    def is_atomic(self) -> bool:
        return self.op in _ATOMICS

    @property
    def is_store(self) -> bool:
        """A plain store: atomics are not."""
        return self.op in _STORES

    @property
    def is_call(self) -> bool:
        return self.op == CALL

    @property
    def is_local_call(self) -> bool:
        return self.op == CALL and self.src == CALL_LOCAL

    @property
    def is_exit(self) -> bool:
        return self.op == EXIT

    @property
    def is_goto(self) -> bool:
        return self.op in _GOTOS

    @property
    def is_branch(self) -> bool:
        """A conditional jump."""
        return self.op in _BRANCHES

    @property
    def is_jump(self) -> bool:
        """Has a target inside the text: goto or conditional, not call or exit."""
        return self.op in _TARGETED

    @property
    def ends_block(self) -> bool:
        """Nothing runs on behind it."""
        return self.op in _ENDS

    def target(self, pc: int) -> int:
        """Slot a jump or local call at slot `pc` leads to."""
        return pc + 1 + (self.imm if self.op == JA32 or self.is_local_call else self.off)

    def retarget(self, pc: int, target: int) -> Instruction:
        distance = target - pc - 1
        if self.op == JA32 or self.is_local_call:
            return replace(self, imm=distance)
        return replace(self, off=distance)

    @property
    def name(self) -> str:
        row = OPCODES.get(self.op)
        return row.name if row else f"0x{self.op:02x}"


# The table of opcodes ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Opcode:
    """`cpu`: the LLVM `-mcpu=v<cpu>` that first emits it; `targets`: who executes it correctly."""
    op: int
    name: str
    cpu: int
    targets: frozenset[str]


TARGETS = ("lpn", "xdp", "femto")
# Stock Femto-Container, compiled without ALU32 (its default): the jump table of src/jumptable.c. NEG sits at
# 0x8f there, byte swaps, JMP32 and atomics are missing.
_FEMTO_ALU = {"ADD", "SUB", "MUL", "DIV", "OR", "AND", "LSH", "RSH", "MOD", "XOR", "MOV", "ARSH"}


def _rows():
    def row(op, name, cpu, *, femto=False, lpn=True, xdp=True):
        names = [t for t, known in zip(TARGETS, (lpn, xdp, femto)) if known]
        return Opcode(op, name, cpu, frozenset(names))

    for name, code in ALU_OPS.items():
        if name == "END":                             # ALU: to little (K) or big (X) endian; ALU64: swap always
            yield row(ALU | code | K, "LE", 1)
            yield row(ALU | code | X, "BE", 1)
            yield row(ALU64 | code | K, "BSWAP", 4)
            continue
        for source, suffix in ((K, "K"), (X, "X")):
            if name == "NEG" and source == X:
                continue
            label = name if name == "NEG" else f"{name}_{suffix}"
            yield row(ALU | code | source, label + "32", 3)
            yield row(ALU64 | code | source, label, 1, femto=name in _FEMTO_ALU)
    for name, code in JMP_OPS.items():
        if name in ("JA", "CALL", "EXIT"):
            yield row(JMP | code, name, 1, femto=True)
            continue
        cpu = 2 if name in ("JLT", "JLE", "JSLT", "JSLE") else 1
        for source, suffix in ((K, "K"), (X, "X")):
            yield row(JMP | code | source, f"{name}_{suffix}", cpu, femto=True)
            yield row(JMP32 | code | source, f"{name}_{suffix}32", 3)
    yield row(JA32, "JA32", 4)
    for size, bits in SIZES.items():
        mem = MODES["MEM"] | bits
        yield row(LDX | mem, f"LDX_{size}", 1, femto=True)
        yield row(ST | mem, f"ST_{size}", 1, femto=True)
        yield row(STX | mem, f"STX_{size}", 1, femto=True)
        if size != "DW":
            yield row(LDX | MODES["MEMSX"] | bits, f"LDXSX_{size}", 4)
            # Classic BPF's packet loads (5.5): deprecated, and no XDP program may use them.
            yield row(LD | MODES["ABS"] | bits, f"LD_ABS_{size}", 1, lpn=False, xdp=False)
            yield row(LD | MODES["IND"] | bits, f"LD_IND_{size}", 1, lpn=False, xdp=False)
        if size in ("W", "DW"):
            yield row(STX | MODES["ATOMIC"] | bits, f"ATOMIC_{size}", 1)
    yield row(LDDW, "LDDW", 1, femto=True)
    yield row(FEMTO_LDDWD, "LDDWD", 1, femto=True, xdp=False)
    yield row(FEMTO_LDDWR, "LDDWR", 1, femto=True, xdp=False)


OPCODES: dict[int, Opcode] = {row.op: row for row in _rows()}


def cpu_version(insn: Instruction) -> int:
    """The first `-mcpu` version that has this very form (an offset or immediate can make it newer)."""
    cpu = OPCODES[insn.op].cpu
    if insn.is_alu and insn.off:                      # SDIV, SMOD, MOVSX
        return 4
    if insn.is_atomic and insn.imm != ATOMIC_OPS["ADD"]:
        return 3
    return cpu


def known_to(insn: Instruction, target: str) -> bool:
    """Whether `target` executes this form. Stock Femto-Container ignores offsets of arithmetic and has no local calls."""
    row = OPCODES.get(insn.op)
    if row is None or target not in row.targets:
        return False
    return target != "femto" or not ((insn.is_alu and insn.off) or insn.is_local_call)


# Text <-> instructions ---------------------------------------------------------------------------
class DecodeError(ValueError):
    """Bytes that are not a text section. `slot`: where; `rule`: number of the verifier rule it breaks."""

    def __init__(self, rule: int, slot: int, message: str):
        super().__init__(f"slot {slot}: {message}")
        self.rule, self.slot, self.message = rule, slot, message


def raw_slots(text: bytes) -> list[Instruction]:
    """Every 8 bytes as one instruction, `lddw` not joined. The length must be a multiple of 8."""
    return [Instruction(op, regs & 15, regs >> 4, off, imm) for op, regs, off, imm in SLOT.iter_unpack(text)]


def decode(text: bytes) -> list[Instruction]:
    """The instructions of a text section, `lddw` joined. Raises DecodeError (rules 1 and 6)."""
    if len(text) % SLOT_BYTES:
        raise DecodeError(1, len(text) // SLOT_BYTES, f"text of {len(text)} bytes ends inside an instruction")
    raw, out, i = raw_slots(text), [], 0
    while i < len(raw):
        insn = raw[i]
        if insn.is_lddw:
            second = raw[i + 1] if i + 1 < len(raw) else None
            if second is None:
                raise DecodeError(6, i, "lddw without its second slot")
            if second != Instruction(0, imm=second.imm):
                raise DecodeError(6, i + 1, "second slot of lddw has fields other than the immediate")
            insn = replace(insn, imm=insn.imm & 0xFFFFFFFF | (second.imm & 0xFFFFFFFF) << 32)
        out.append(insn)
        i += insn.slots
    return out


def signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def encode(program) -> bytes:
    """Inverse of `decode`. Raises ValueError for a field that does not fit."""
    out = bytearray()
    for i, insn in enumerate(program):
        if not (0 <= insn.op < 256 and 0 <= insn.dst < 16 and 0 <= insn.src < 16):
            raise ValueError(f"instruction {i}: opcode or register out of range: {insn}")
        if not -0x8000 <= insn.off < 0x8000:
            raise ValueError(f"instruction {i}: offset {insn.off} does not fit 16 bits")
        regs = insn.dst | insn.src << 4
        if insn.is_lddw:
            if not 0 <= insn.imm < 1 << 64:
                raise ValueError(f"instruction {i}: immediate of lddw does not fit 64 bits")
            out += SLOT.pack(insn.op, regs, insn.off, signed32(insn.imm))
            out += SLOT.pack(0, 0, 0, signed32(insn.imm >> 32))
        else:
            if not -(1 << 31) <= insn.imm < 1 << 31:
                raise ValueError(f"instruction {i}: immediate {insn.imm} does not fit 32 bits")
            out += SLOT.pack(insn.op, regs, insn.off, insn.imm)
    return bytes(out)


def slot_indices(program) -> list[int]:
    """Slot index of each instruction."""
    out, slot = [], 0
    for insn in program:
        out.append(slot)
        slot += insn.slots
    return out
