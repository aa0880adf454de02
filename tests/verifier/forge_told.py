"""Certificates that tell a checker from one with an instruction less: what is rare, or at the edge of the format. Most claim nothing false."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from lpn.compiler.asm import assemble
from lpn.verifier.certificate import CTX, M32, NUMBER, PKT, Certificate, Given, Label, LoopRow, varint

ANY, HAS_FRAME, HAS_SHARED = Given(NUMBER, 0, M32), 1 << 11, 1 << 10
HERE = "w0 = 0\ngoto here\nhere:\n exit"


def zero_to(n: int) -> Given:
    return Given(NUMBER, 0, n)


def told() -> Iterator[tuple[str, bytes, bytes]]:
    """What it tells, text, certificate."""
    for name, code, labels, loops in made():
        yield name, assemble(code), Certificate(6, 300, labels, loops).to_bytes()
    for name, raw in written():
        yield name, assemble(HERE), raw
    yield from addresses()
    yield "labels fewer than those that jumps lead to", *without_the_last()


def made() -> Iterator[tuple[str, str, list[Label], list[LoopRow]]]:
    word = Label(4, 9, regs={0: ANY}, slots={29: zero_to(255)})
    yield "a word that another label says is less", """
        w0 = 0
        r2 = *(u8 *)(r1 + 0x34)
        *(u64 *)(r10 - 0x8) = r2
        goto here
    here:
        w0 = 1
        goto there
    there:
        r3 = *(u64 *)(r10 - 0x8)
        if w3 > 0x7 goto bad
        exit
    bad:
        w0 = w7
        exit""", [word, replace(word, pc=6, cost=7, slots={29: zero_to(7)})], []
    kept = Label(4, 19, regs={0: ANY}, slots={29: zero_to(7)})
    yield "the frame of the label before the last one", """
        w0 = 0
        w2 = 7
        *(u64 *)(r10 - 0x8) = r2
        goto here
    here:
        w0 = 1
        goto there
    there:
        w0 = 2
        goto last
    last:
        r3 = *(u64 *)(r10 - 0x8)
        exit""", [kept, Label(6, 15, regs={0: ANY}), replace(kept, pc=8, cost=9)], []
    flag = Label(3, 9, shared=[zero_to(1)], loop=1, regs={0: ANY, 2: zero_to(255), 3: Given(NUMBER, ref=2)})
    yield "a counter that another unknown takes the place of, which is known", """
        r2 = *(u8 *)(r1 + 0x34)
        w3 = 1
        w0 = 0
    head:
        w0 += 1
        if w3 == 0 goto out
        if w2 != 0 goto out
        w3 = w2
        goto head
    out:
        exit""", [flag, Label(8, 1, regs={0: ANY})], [LoopRow(3, 0, -1, 6)]
    for at in (4, 5):
        yield f"octet {at} with room for five, of more than 16 bits", f"w0 = 0\nexit\n*(u8 *)(r2 + 0x{at:x}) = w0\nexit", [
            Label(2, 9, regs={0: ANY, 2: Given(PKT, 0, 1, room=(1 << 16) + 5)})], []
    yield "more room than there can be", "w0 = 0\nexit\nr2 += -4\n*(u32 *)(r2 + 0x7fff) = w0\nexit", [
        Label(2, 9, regs={0: ANY, 2: Given(PKT, 8, 100, room=32767)})], []
    yield "a helper's buffers of no octets", """
        r1 = 1
        r2 = r10
        r2 += -4
        r3 = 0
        r4 = r10
        r4 += -16
        r5 = 0
        call 1
        exit""", [], []
    yield "a context that is said to be elsewhere", "w0 = 0\nexit\nr0 = *(u32 *)(r1 + 0x30)\nexit", [Label(2, 9, regs={1: Given(CTX, 4, 4)})], []


def written() -> Iterator[tuple[str, bytes]]:
    """Certificates of HERE, octet by octet: the label is that of slot 2."""
    def label(bits: int, *content: int) -> bytes:
        raw = varint(9) + varint(bits) + bytes(content)
        return varint(2 << 4 | len(raw)) + raw

    rows = b"".join(struct.pack("<BH", 2 * (k % 15), NUMBER) for k in range(20))
    yield "a frame of which the certificate has an octet", bytes([19, 60, 1, 20]) + rows + label(1 | HAS_FRAME, 1, NUMBER) + b"\xff"
    yield "a frame without a word", bytes([18, 60, 1]) + label(1 | HAS_FRAME, 1, NUMBER) + b"\xff"
    yield "a number of a value with 17 bits", bytes([18, 60, 1]) + label(1, 0x81, 0x80, 4)
    yield "a number of a shared value with 17 bits", bytes([20, 60, 1, 0, 1]) + label(1 | HAS_SHARED, 1, NUMBER, 0x81, 0x80, 4)


def addresses() -> Iterator[tuple[str, bytes, bytes]]:
    """Octets of a section, behind its address."""
    for section in (8, 9):
        for at in (15, 16):
            text = bytearray(assemble(f"r2 = 0 ll\nr0 = *(u8 *)(r2 + 0x{at:x})\nexit"))
            text[1] = 2 | section << 4
            yield f"octet {at} of section {section}", bytes(text), Certificate(2, 60, [], []).to_bytes()


def without_the_last() -> tuple[bytes, bytes]:
    """Seventeen labels are said to be sixteen: the last one is there, but it is none."""
    code = ["w0 = 0", "if w0 == 0x7 goto l16"]
    for i in range(17):
        code += [f"goto l{i}", f"l{i}:", "w0 += 0x1"]
    labels = [Label(3 + 2 * i, 100 - 2 * i, regs={0: ANY}) for i in range(17)]
    raw = Certificate(2, 120, labels, []).to_bytes()
    assert raw[2] == 17
    return assemble("\n".join([*code, "exit"])), raw[:2] + b"\x10" + raw[3:]


def crowded() -> Iterator[tuple[bytes, bytes]]:
    """More shared symbols than the checker has, and as many: given any work area."""
    text = assemble("\n".join([*(f"r{r} = {r}" for r in range(10)), "goto here", "here:", "exit"]))
    for shared in (124, 125, 126):
        label = Label(11, 3, shared=[zero_to(9)] * shared, regs={r: ANY for r in range(10)})
        yield text, Certificate(2 + shared, 60, [label], []).to_bytes()
