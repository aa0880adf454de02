"""Certificates that tell a checker from one with an instruction less: what is rare, or at the edge of the format. Most claim nothing false."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from forge_texts import looked_at

from lpn.compiler.asm import assemble
from lpn.verifier.certificate import CTX, M32, NUMBER, PKT, REC, Certificate, Given, Label, LoopRow, varint

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
    for at in (*range(96, 176, 4), 0x7FFC, -4):
        for access in (f"r2 = *(u32 *)(r1 {at:+#x})", f"r2 = *(u64 *)(r1 {at:+#x})", f"*(u8 *)(r1 {at:+#x}) = 1"):
            text = assemble(access.replace("+", "+ ").replace("-", "- ") + "\nr0 = 0\nexit")
            yield f"{access}: outside of the context", text, Certificate(2, 60, [], []).to_bytes()
    yield "labels fewer than those that jumps lead to", *without_the_last()
    yield "a label behind the eighth that the index has elsewhere", *elsewhere()


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
    for load, given in (("u8", zero_to(255)), ("u32", ANY)):        # spilled as a number with bounds, and as octets
        looked = Label(3, 19, regs={0: ANY, 1: Given(CTX)}, slots={29: given})
        yield f"a frame of which a word of {load} was looked at", looked_at(load, "u32"), [looked, replace(looked, pc=4, cost=9), Label(8, 2)], []
    yield "octets of the stack as an index into the packet", """
        r2 = *(u64 *)(r1 + 0x0)
        *(u16 *)(r10 - 0x8) = 1
        *(u16 *)(r10 - 0x6) = 1
        r3 = *(u32 *)(r10 - 0x8)
        if w3 > 0x7f goto out
        r2 += r3
        r0 = *(u8 *)(r2 + 0x0)
    out:
        w0 = 0
        exit""", [Label(7, 2)], []
    words = {30 - 2 * i: Given(NUMBER, i, i) for i in range(9)}
    for missing in words:
        code = ["w0 = 0", *(f"w2 = {i}\n*(u32 *)(r10 - 0x{4 + 4 * i:x}) = w2" for i in range(9)), "goto here", "here:", "w0 = 1", "goto there", "there:"]
        yield f"nine words, and then eight, without that at {missing}", "\n".join([*code, f"r3 = *(u32 *)(r10 - 0x{64 - 2 * missing:x})", "exit"]), [
            Label(20, 19, regs={0: ANY}, slots=words),
            Label(22, 9, regs={0: ANY}, slots={place: what for place, what in words.items() if place != missing})], []
    pointer = Label(3, 9, regs={0: ANY}, slots={29: Given(CTX)})
    yield "a frame that is still so", """
        w0 = 0
        *(u64 *)(r10 - 0x8) = r1
        goto here
    here:
        w0 = 1
        goto there
    there:
        r2 = *(u64 *)(r10 - 0x8)
        r0 = *(u32 *)(r2 + 0x34)
        exit""", [pointer, replace(pointer, pc=5, cost=7)], []
    for at in (-1, 0):
        yield f"octet {at} behind what is in the packet", f"""
            r2 = *(u64 *)(r1 + 0x0)
            r3 = *(u64 *)(r1 + 0x8)
            r4 = *(u8 *)(r1 + 0x34)
            w0 = 0
            r2 += r4
            r2 += 0x8
            if r2 > r3 goto out
            *(u8 *)(r2 + {at}) = w0
        out:
            exit""".replace("+ -1", "- 0x1").replace("+ 0)", "+ 0x0)"), [Label(8, 2, regs={0: ANY})], []
    yield "a word that is looked at again", """
        r2 = *(u8 *)(r1 + 0x34)
        *(u64 *)(r10 - 0x8) = r2
        r1 = *(u64 *)(r1 + 0x10)
        w0 = 0
        goto here
    here:
        r3 = *(u64 *)(r10 - 0x8)
        if w3 > 0x20 goto out
        r4 = *(u64 *)(r10 - 0x8)
        r1 += r4
        *(u8 *)(r1 + 0x1f) = w0
    out:
        exit""", [Label(5, 9, regs={0: ANY, 1: Given(REC)}, slots={29: zero_to(255)}), Label(10, 2, regs={0: ANY})], []
    yield "half of a packet pointer", """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        w2 = w2
        *(u32 *)(r10 - 0x8) = r2
        r4 = *(u32 *)(r10 - 0x8)
        w3 -= w4
        r0 = r3
        exit""", [], []
    yield "eight octets of the packet at once", """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        r4 = r2
        r4 += 0x10
        if r4 > r3 goto out
        *(u64 *)(r2 + 0x0) = 1
    out:
        w0 = 0
        exit""", [Label(6, 2)], []
    yield "a pointer below its region, less another one", "w0 = 0\nexit\nr2 -= r5\nw0 = 0\nexit", [
        Label(2, 9, shared=[zero_to(5)], regs={2: Given(PKT, ref=2, off=-100), 5: Given(PKT, 0, 5)})], []
    for end in (64, 66):
        yield f"a counter in fours up to 62 that comes back below {end}", f"w3 = 0\nw0 = 0\nhead:\n w3 += 4\n if w3 < {end} goto head\n exit", [
            Label(2, 9, shared=[zero_to(62)], loop=1, regs={0: ANY, 3: Given(NUMBER, ref=2)})], [LoopRow(2, 0, 4, 2, 4)]
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
        r1 = 0x1
        r2 = r10
        r2 += -4
        r3 = r10
        r3 += -16
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
    yield "a number of five octets that goes on", bytes([20, 60, 1, 0, 1]) + label(1 | HAS_SHARED, 1, 0x81, 0x80, 0x80, 0x80, 0x80, NUMBER)
    yield "a number of a shared value with 17 bits", bytes([20, 60, 1, 0, 1]) + label(1 | HAS_SHARED, 1, NUMBER, 0x81, 0x80, 4)


def addresses() -> Iterator[tuple[str, bytes, bytes]]:
    """Octets of a section, behind its address."""
    for section in (8, 9):
        for at in (15, 16):
            text = bytearray(assemble(f"r2 = 0 ll\nr0 = *(u8 *)(r2 + 0x{at:x})\nexit"))
            text[1] = 2 | section << 4
            yield f"octet {at} of section {section}", bytes(text), Certificate(2, 60, [], []).to_bytes()


def without_the_last() -> tuple[bytes, bytes]:
    """Eighteen labels are said to be seventeen: the last one is there, but it is none."""
    text, raw = in_a_row(18)
    assert raw[2] == 18
    return text, raw[:2] + b"\x11" + raw[3:]


def elsewhere() -> tuple[bytes, bytes]:
    """Who goes on behind the eighth label finds one that the pass does not."""
    text, raw = in_a_row(9)
    return text, raw[:3] + b"\xff\x7f" + raw[5:]


def in_a_row(count: int) -> tuple[bytes, bytes]:
    """So many labels, of which the first jump leads to the last one."""
    code = ["r0 = *(u32 *)(r1 + 0x34)", f"if w0 == 0x7 goto l{count - 1}"]
    for i in range(count):
        code += [f"goto l{i}", f"l{i}:", "w0 += 0x1"]
    labels = [Label(3 + 2 * i, 100 - 2 * i, regs={0: ANY}) for i in range(count)]
    return assemble("\n".join([*code, "exit"])), Certificate(2, 120, labels, []).to_bytes()


def crowded() -> Iterator[tuple[bytes, bytes]]:
    """More shared symbols than the checker has, and as many: given any work area."""
    text = assemble("\n".join([*(f"r{r} = {r}" for r in range(10)), "goto here", "here:", "exit"]))
    for shared in (124, 125, 126):
        label = Label(11, 3, shared=[zero_to(9)] * shared, regs={r: ANY for r in range(10)})
        yield text, Certificate(2 + shared, 60, [label], []).to_bytes()
