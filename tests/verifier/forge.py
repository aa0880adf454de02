"""Forged certificates: someone knows the format and lies in each field. And texts that break a rule under a certificate that fits otherwise."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from forge_lies import lies, torn
from forge_made import sideways
from forge_shared import shared
from forge_texts import AROUND, COMPARED, HONEST, LARGE, RESET, SIZES, WRONG
from forge_told import told

from lpn.compiler.asm import assemble
from lpn.verifier import LPN
from lpn.verifier.certificate import DATA, M32, NUMBER, RODATA, Certificate, Given, Label, LoopRow
from lpn.verifier.certify import Sizes, certificate_of
from lpn.verifier.verify import analyse


@dataclass(frozen=True)
class Pair:
    """A text and a certificate for it. `honest`: it is to be accepted."""
    name: str
    text: bytes
    certificate: bytes
    honest: bool = False
    sizes: Sizes = SIZES


def honest() -> dict[str, tuple[bytes, Certificate]]:
    """The honest programs with their certificates."""
    out = {}
    for name, code in HONEST.items():
        text = assemble(code)
        report, analysis = analyse(text, LPN, rodata=SIZES.rodata, data=SIZES.data, record_size=SIZES.record, state_size=SIZES.state)
        assert report.accepted, (name, report.message)
        out[name] = text, certificate_of(text, report, analysis, replace(SIZES, stack=64))
    return out


def plain(code: str, cost: int = 60) -> tuple[bytes, Certificate]:
    return assemble(code.replace(" ; ", "\n")), Certificate(2, cost, [], [])


def pairs() -> Iterator[Pair]:
    """All of them: honest, then forged."""
    for name, (text, certificate) in honest().items():
        raw = certificate.to_bytes()
        yield Pair(name, text, raw, True)
        yield from (Pair(f"{name}: {lie}", text, forged) for lie, forged in lies(certificate))
        yield from (Pair(f"{name}: {lie}", text, forged) for lie, forged in torn(raw))
    for i, line in enumerate(WRONG.strip().splitlines()):
        text, certificate = plain(line)
        yield Pair(f"wrong {i}: {line}", text, certificate.to_bytes())
    for i, (lie, code, labels, loops) in enumerate(sideways()):
        yield Pair(f"made {i}: {lie}", assemble(code), Certificate(6, 300, labels, loops).to_bytes())
    text, certificate = plain("r2 = 0 ll\nr0 = 0\nexit")
    for register, kind, at, ok in ((8, RODATA, 16, True), (8, RODATA, 17, False), (9, DATA, 16, True), (9, DATA, 17, False)):
        changed = bytearray(text)
        changed[1], changed[4] = 2 | register << 4, at
        yield Pair(f"address {at} of section {register}", bytes(changed), certificate.to_bytes(), ok)
    text, certificate = plain("r2 = *(u64 *)(r1 + 0x20)\n*(u8 *)(r2 + 0x3f) = 1\nr0 = 0\nexit")
    for output, ok in ((64, True), (63, False), (0, False)):
        yield Pair(f"octet 63 of an output of {output}", text, certificate.to_bytes(), ok, replace(SIZES, output=output))
    given = [f"r{reg} = 0" for reg in range(1, 6)]          # all that a function of the node's own may take
    for number, ok in ((0, False), (16, False), (127, False), (128, True), (255, True), (256, False), (1 << 31 | 128, False)):
        text, certificate = plain("\n".join([*given, "call 0", "exit"]))
        called = text[:5 * 8 + 4] + struct.pack("<I", number) + text[6 * 8:]
        yield Pair(f"call of {number}", called, certificate.to_bytes(), ok)
    for reg in range(1, 6):
        for what, instead in (("nothing", []), ("a pointer", [f"r{reg} = r10"])):
            text, certificate = plain("\n".join(["r1 = 0", "call 2", *given[:reg - 1], *instead, *given[reg:], "call 128", "exit"]))
            yield Pair(f"wrong: {what} as argument {reg} of the node's own", text, certificate.to_bytes())
    for i, line in enumerate(COMPARED.strip().splitlines()):      # both ways lead to the same label
        text = assemble(line.replace(" ; ", "\n") + "\nend:\n r0 = 0\n exit")
        yield Pair(f"wrong comparison {i}: {line}", text, Certificate(2, 60, [Label(len(text) // 8 - 2, 2)], []).to_bytes())
    yield Pair("wrong: what a large number has behind it", assemble(AROUND), Certificate(2, 60, [Label(11, 2)], []).to_bytes())
    yield Pair("wrong: room behind a large number", assemble(LARGE), Certificate(2, 60, [Label(7, 2)], []).to_bytes())
    number = Given(NUMBER, 0, M32)
    counted = Label(2, 9, shared=[number], loop=1, regs={0: number, 3: Given(NUMBER, ref=2)})
    reset = replace(counted, pc=6, cost=7, shared=[Given(NUMBER, M32 - 126, M32 - 126)])
    yield Pair("wrong: a counter that goes around", assemble(RESET),
               Certificate(3, (1 << 28) - 1, [counted, reset, Label(8, 1, regs={0: number})], [LoopRow(2, 0, 127, 4)]).to_bytes())
    unknowns = "".join(f"r0 = *(u32 *)(r1 + 0x34)\n*(u32 *)(r10 - {4 * i + 4}) = r0\n" for i in range(128))
    yield Pair("wrong: more unknowns than there is room for", assemble(unknowns + "exit"), Certificate(2, 300, [], []).to_bytes(),
               sizes=replace(SIZES, stack=512))
    spilled = Certificate(2, 60, [Label(3, 9, regs={0: number}, slots={29: number})], []).to_bytes()
    row = struct.pack("<BH", 29, 31)                          # a number in two words: four bytes that hold one
    assert spilled.count(row) == 1
    yield Pair("wrong: a pointer's upper half as 0", assemble("w0 = 0\n*(u64 *)(r10 - 0x8) = r1\ngoto here\nhere:\n r0 = *(u32 *)(r10 - 0x4)\n exit"),
               spilled.replace(row, struct.pack("<BH", 29, 16)))
    foreign = bytes([0xb8, 2]) + bytes(14) + assemble("r0 = 0\nexit")
    yield Pair("wrong: an address as the stock engine has it", foreign, certificate.to_bytes())
    yield from indexed()
    yield from (Pair(f"wrong: {what}", text, certificate) for what, text, certificate in shared())
    yield from (Pair(f"told apart: {what}", text, certificate) for what, text, certificate in told())
    write = bytearray(assemble("r2 = 0 ll\n*(u8 *)(r2 + 0x0) = 1\nr0 = 0\nexit"))
    write[1] = 0x82
    yield Pair("rodata is written", bytes(write), certificate.to_bytes())


def indexed() -> Iterator[Pair]:
    """An index that leads jumps to another label than the one that is taken."""
    code = ["w0 = 0", "if w0 == 0x7 goto l16"]
    for i in range(18):
        code += [f"goto l{i}", f"l{i}:", "w0 += 0x1"]
    text = assemble("\n".join([*code, "w0 = w5", "exit"]))
    number = Given(NUMBER, 0, M32)
    labels = [Label(3 + 2 * i, 100 - 2 * i, regs={0: number}) for i in range(18)]
    true = Certificate(2, 120, labels, []).to_bytes()
    yield Pair("wrong: what no label says", text, true)
    labels[16:] = [replace(label, regs={0: number, 5: number}) for label in labels[16:]]
    claimed = bytearray(Certificate(2, 120, labels, []).to_bytes())
    yield Pair("wrong: what only a label says", text, bytes(claimed))
    at = 3 + 4                                        # the index has two rows, behind the start: a slot, and where
    struct.pack_into("<H", claimed, at + 2, len(claimed))
    yield Pair("wrong: an index that leads elsewhere", text, bytes(claimed) + bytes([2 << 4 | 2, 1, 0, 2 << 4 | 2, 1, 0]))


__all__ = ["HONEST", "Pair", "SIZES", "honest", "pairs"]
