"""Every opcode with every field changed: the verifier takes exactly the forms of RFC 9669 that the target knows, and names the rule that another one breaks."""
import struct
from itertools import product

import pytest

from lpn.verifier import FEMTO, LPN, XDP
from lpn.verifier.cfg import check_text
from lpn.verifier.rules import Violation

# RFC 9669: classes (table 1), sizes (5), modes (5), operations (4.1, 4.3), atomics (5.3).
LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)
ARITHMETIC = "ADD SUB MUL DIV OR AND LSH RSH NEG MOD XOR MOV ARSH END".split()
JUMPS = "JA JEQ JGT JGE JSET JNE JSGT JSGE CALL EXIT JLT JLE JSLT JSLE".split()
ATOMICS = {0x00, 0x40, 0x50, 0xA0, 0x01, 0x41, 0x51, 0xA1, 0xE1, 0xF1}
REGISTERS = 11
EXIT = struct.pack("<BBhi", 0x95, 0, 0, 0)
PROFILES = {"lpn": LPN, "xdp": XDP, "femto": FEMTO}


def used(op: int, dst: int, src: int, off: int, imm: int, target: str) -> set[str] | None:
    """Fields the form uses; None if the target has no such opcode, {"?"} if one of its fields has a value without meaning."""
    cls, high, register = op & 7, op >> 4, bool(op & 8)
    if cls in (ALU, ALU64):
        if high >= len(ARITHMETIC):
            return None
        name, femto = ARITHMETIC[high], target == "femto"
        if name == "END":
            if femto or register and cls == ALU64:
                return None
            return {"dst", "imm"} if imm in (16, 32, 64) else {"?"}
        if name == "NEG":
            return None if register or femto else {"dst"}
        if femto and (cls == ALU or off):             # the stock engine: no 32-bit arithmetic, offsets are not looked at
            return None
        meant = {"DIV": {1}, "MOD": {1}, "MOV": ({8, 16, 32} if cls == ALU64 else {8, 16}) if register else set()}.get(name, set())
        fields = {"dst", "src" if register else "imm"}
        return fields | {"off"} if off in meant else fields if not off else {"?"}
    if cls in (JMP, JMP32):
        if high >= len(JUMPS):
            return None
        name = JUMPS[high]
        if name == "JA":
            return None if register or cls == JMP32 and target == "femto" else {"off"} if cls == JMP else {"imm"}
        if name in ("CALL", "EXIT"):
            if register or cls == JMP32 or name == "CALL" and src == 1 and target == "femto":
                return None
            return set() if name == "EXIT" else {"imm", "src"} if src in (0, 1) else {"?"}
        return None if cls == JMP32 and target == "femto" else {"dst", "off", "src" if register else "imm"}
    mode, size = op >> 5, op >> 3 & 3                 # sizes: word, half word, byte, double word
    if cls == LD:
        if op == 0x18:
            return {"dst", "imm", "src"} if src in (0, 8, 9) else {"?"}     # 8, 9: our rodata and data
        return ({"dst", "imm"} if not src else {"?"}) if op in (0xB8, 0xD8) and target != "xdp" else None   # the stock engine's
    if mode == 3:
        return {LDX: {"dst", "src", "off"}, ST: {"dst", "off", "imm"}, STX: {"dst", "src", "off"}}[cls]
    if mode == 4 and cls == LDX and size != 3 and target != "femto":
        return {"dst", "src", "off"}
    if mode == 6 and cls == STX and size in (0, 3) and target != "femto":
        return {"dst", "src", "off", "imm"} if imm in ATOMICS else {"?"}
    return None


def rules(op: int, dst: int, src: int, off: int, imm: int, target: str) -> set[int]:
    """Those that the instruction breaks, before another one."""
    fields = used(op, dst, src, off, imm, target)
    if fields is None:
        return {2}
    lddw, call = op in (0x18, 0xB8, 0xD8), op == 0x85
    out = {3} if dst >= REGISTERS or src >= REGISTERS and not (lddw or call) else set()
    if "?" in fields or any(value and name not in fields for name, value in (("dst", dst), ("src", src), ("off", off), ("imm", imm))):
        out.add(4)
    writes = op & 7 in (ALU, ALU64, LDX) or lddw
    if dst == 10 and writes or op & 7 == STX and op >> 5 == 6 and imm & 1 and src == 10:
        out.add(5)
    if target == "femto" and op in (0x18, 0xB7) and imm < 0:            # its loads of constants extend the wrong way
        out.add(11)
    return out


VALUES = {"dst": (0, 1, 9, 10, 11, 15), "src": (0, 1, 2, 7, 8, 9, 10, 11, 15), "off": (0, 1, -1, 7, 8, 9, 16, 17, 32, 33),
          "imm": (0, 1, -1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x40, 0x41, 0x42, 0x50, 0x51, 0x60, 0xA0, 0xA1, 0xE0, 0xE1, 0xF0, 0xF1, 0xF3)}
PAIRS = ("dst", "src"), ("src", "imm"), ("off", "src")
BASES = {"dst": 1, "src": 2, "off": 0, "imm": 0}, {"dst": 1, "src": 0, "off": 0, "imm": 0}, {"dst": 1, "src": 0, "off": 0, "imm": 32}, {"dst": 0, "src": 0, "off": 0, "imm": 0}
FORMS = sorted({tuple({**base, a: x, b: y}.values()) for base in BASES for a, b in PAIRS for x, y in product(VALUES[a], VALUES[b])} |
               {(1, src, off, imm) for src in (0, 2) for off in VALUES["off"] for imm in (0, 16, 32)})


@pytest.mark.parametrize("target", PROFILES)
def test_every_form(target):
    """One instruction alone, with its second half where it has one: what jumps leads out of the text, unless it is to itself or to the next."""
    for op in range(256):
        lddw = op in (0x18, 0xB8, 0xD8)
        for dst, src, off, imm in FORMS if used(op, 1, 0, 0, 0, target) else FORMS[:1]:
            expected = rules(op, dst, src, off, imm, target)
            if not expected and op & 7 in (JMP, JMP32) and op >> 4 != 9 and (op != 0x85 or src == 1):
                target_slot = 1 + (imm if op in (0x06, 0x85) else off)
                expected = set() if target_slot in (0, 1) else {8}
            text = struct.pack("<BBhi", op, src << 4 | dst, off, imm) + (bytes(8) if lddw else EXIT)
            try:
                check_text(text, PROFILES[target])
                found = None
            except Violation as broken:
                found = broken.rule
            assert found in expected if expected else found is None, (f"{op:#x}", dst, src, off, imm, found, expected)
