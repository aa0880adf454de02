"""The public conformance programs: https://github.com/Alan-Jowett/bpf_conformance, which are not part of the project.

`LPN_CONFORMANCE` names a folder with its tests (*.data); without it only the assembler for their syntax is tested here, and
the project's own ISA tests (engine_isa.py) stand alone. Each program runs as it is on the host, in the interpreter on the emulated
Cortex-M3, and translated: there as a local function of a program that keeps all 64 bits of its result.
"""
from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from engine_isa import insn

from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.runtime.raw import run_raw

FOLDER = os.environ.get("LPN_CONFORMANCE", "")
PROGRAMS = sorted(Path(FOLDER).glob("*.data")) if FOLDER else []
#: What they ask for is not in RFC 9669: a call by register, a helper of the suite's own.
FOREIGN = {"callx.data", "call_unwind_fail.data"}

ALU = {name: code for code, name in enumerate("add sub mul div or and lsh rsh neg mod xor mov arsh".split())} | {
    "sdiv": 3, "smod": 9, "movsx": 11}
JUMPS = {"jeq": 1, "jgt": 2, "jge": 3, "jset": 4, "jne": 5, "jsgt": 6, "jsge": 7, "jlt": 10, "jle": 11, "jslt": 12, "jsle": 13}
SIZES = {"w": 0x00, "h": 0x08, "b": 0x10, "dw": 0x18}
ATOMICS = {"add": 0x00, "or": 0x40, "and": 0x50, "xor": 0xA0, "xchg": 0xE1, "cmpxchg": 0xF1}
EXIT = insn(0x95)


def assemble(source: str) -> bytes:
    """The syntax of that suite."""
    rows, labels, count = [], {}, 0
    for line in source.splitlines():
        line = line.split("#")[0].strip()
        if label := re.fullmatch(r"(\w+):", line):
            labels[label[1]] = count
        elif line:
            rows.append((count, line))
            count += 2 if line.startswith("lddw") else 1
    labels.setdefault("exit", next((at for at, line in reversed(rows) if line == "exit"), 0))
    return b"".join(one(at, line, labels) for at, line in rows)


def one(at: int, line: str, labels: dict[str, int]) -> bytes:
    """An instruction at slot `at`."""
    words = line.replace(",", " ").split()
    name, rest = words[0], words[1:]

    def number(text: str) -> int:
        return int(text, 0)

    def register(text: str) -> int:
        return int(text.removeprefix("%r"))

    def memory(text: str) -> tuple[int, int]:
        found = re.fullmatch(r"\[%r(\d+)(?:([+-])(\w+))?\]", text)
        assert found, line
        return int(found[1]), int((found[2] or "+") + str(number(found[3] or "0")))

    def distance(text: str) -> int:
        return number(text) if text[0] in "+-" else labels[text] - at - 1

    def operand(op: int, dst: int, text: str, off: int = 0) -> bytes:
        return insn(op | 8, dst, register(text), off) if text.startswith("%") else insn(op, dst, 0, off, imm32(number(text)))

    if name == "exit":
        return EXIT
    if name == "lddw":
        value = number(rest[1]) & (1 << 64) - 1
        return insn(0x18, register(rest[0]), 0, 0, imm32(value & 0xFFFFFFFF)) + insn(0, 0, 0, 0, imm32(value >> 32))
    if name == "ja":
        return insn(0x05, 0, 0, distance(rest[0]))
    if name == "ja32":
        return insn(0x06, 0, 0, 0, distance(rest[0]))
    if name == "call":
        return insn(0x85, 0, 1, 0, distance(rest[1])) if rest[0] == "local" else insn(0x85, 0, 0, 0, number(rest[1]))
    if name.startswith("lock"):
        fetch = rest[0] == "fetch"
        rest = rest[fetch:]
        kind = rest[0].removesuffix("32")
        base, off = memory(rest[1])
        word = rest[0].endswith("32")
        return insn(0xC3 if word else 0xDB, base, register(rest[2]), off, ATOMICS[kind] | fetch)
    for prefix, op in (("ldxs", 0x81), ("ldx", 0x61), ("stx", 0x63), ("st", 0x62)):
        if name.startswith(prefix) and name[len(prefix):] in SIZES:
            op |= SIZES[name[len(prefix):]]
            if op & 7 == 1:
                base, off = memory(rest[1])
                return insn(op, register(rest[0]), base, off)
            base, off = memory(rest[0])
            return insn(op, base, register(rest[1]), off) if op & 7 == 3 else insn(op, base, 0, off, imm32(number(rest[1])))
    if swap := re.fullmatch(r"(be|le|swap|bswap)(16|32|64)", name):
        return insn({"be": 0xDC, "le": 0xD4}.get(swap[1], 0xD7), register(rest[0]), 0, 0, int(swap[2]))
    narrow = name.endswith("32") and not name.startswith("movsx") or name.startswith("movsx") and name[-2:] == "32" and len(name) > 7
    stem = name.removesuffix("32").removesuffix("64") if not name.startswith("movsx") else "movsx"
    if stem in JUMPS:
        return operand(JUMPS[stem] << 4 | (6 if narrow else 5), register(rest[0]), rest[1], distance(rest[2]))
    off = int(re.fullmatch(r"movsx(8|16|32)(?:32|64)?", name)[1]) if stem == "movsx" else int(stem in ("sdiv", "smod"))
    op = ALU[stem] << 4 | (4 if narrow else 7)
    return insn(op, register(rest[0]), 0, off) if stem == "neg" else operand(op, register(rest[0]), rest[1], off)


def imm32(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def parts_of(path: Path) -> tuple[bytes, bytes, int]:
    """(text, memory, result)"""
    found: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("-- "):
            rows = found.setdefault(line[3:].strip(), [])
        else:
            rows.append(line)
    memory = bytes.fromhex(" ".join(line.split("#")[0] for line in found.get("mem", ())))
    result = next(line for line in found["result"] if line.strip())
    return assemble("\n".join(found["asm"])), memory, int(result, 0) & (1 << 64) - 1


def on_host(text: bytes, memory: bytes) -> int | None:
    return run_raw(text, ctx=memory).r0


def on_m3(text: bytes, memory: bytes) -> int | None:
    from lpn.runtime.m3.raw import run_raw_m3
    return run_raw_m3(text, ctx=memory).r0


_machine = None


def translated(text: bytes, memory: bytes) -> int | None:
    global _machine
    if _machine is None:
        from test_thumb2 import Thumb2
        _machine = Thumb2()
    at = (len(memory) + 7) // 8 * 8
    around = insn(0xB7, 2, imm=len(memory)) + insn(0xBF, 6, 1) + insn(0x85, 0, 1, 0, 2) + insn(0x7B, 6, 0, at) + EXIT
    _, after = _machine.run(around + text, ctx=memory + bytes(at + 8 - len(memory)), whole=False)     # r0 goes behind the memory
    return int.from_bytes(after[at:at + 8], "little")


ENGINES = {"host": on_host, "m3": on_m3, "thumb2": translated}


@pytest.mark.skipif(not FOLDER, reason="LPN_CONFORMANCE names no folder with the suite's programs")
@pytest.mark.parametrize("engine", ENGINES)
def test_the_suite(engine):
    assert PROGRAMS, f"{FOLDER} has no programs (*.data)"
    if engine != "host":
        try:
            get_engine("m3")
        except EngineUnavailable as e:
            pytest.skip(str(e))
    wrong = {}
    for path in PROGRAMS:
        if path.name in FOREIGN:
            continue
        text, memory, want = parts_of(path)
        got = ENGINES[engine](text, memory)
        if got != want:
            wrong[path.name] = (got, want)
    assert wrong == {} and len(PROGRAMS) > 300


def test_the_assembler():
    """A little of everything the suite uses, on the host."""
    text = assemble("""
mov %r6, 5          # a comment
lddw %r0, 0x1122334455667788
stxdw [%r10-8], %r0
lock fetch add [%r10-8], %r6
jne32 %r6, 0x55667788, fail
be16 %r0
movsx832 %r1, %r0
call local twice
ja exit
fail:
mov32 %r0, -1
exit
twice:
mov %r0, %r1
add %r0, %r1
exit
""")
    assert run_raw(text).r0 == 2 * 0x77
