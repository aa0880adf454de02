"""What a symbol can be made to say that a label shares: octets that nobody wrote, packet behind a number that went around 2^32, packet pointers
further apart than they are, turns without end: each was believed once. And a way back that moves a counter otherwise than the others do, which was not."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from struct import pack

from lpn.compiler.asm import assemble
from lpn.verifier.certificate import HAS_FRAME, M32, NUMBER, PKT, POOL, ROW, SHARED, Certificate, Given, Label, LoopRow, varint, zigzag

BYTES = 11                                            # a word of which octets are known; here the pool has it
ANY, START = Given(NUMBER, 0, M32), Given(PKT)
MOST = (1 << 28) - 1                                  # instructions of a run


def shared() -> Iterator[tuple[str, bytes, bytes]]:
    """What is claimed, the text, the certificate."""
    yield from octets()
    yield "packet behind a number that went around", assemble(BEHIND), behind().to_bytes()
    yield "packet behind a number that went around where a label before had said so", assemble(BETWEEN), between().to_bytes()
    yield "bounds around 2^32", assemble("w0 = 20\ngoto here\nhere:\n exit"), around().to_bytes()
    yield "packet pointers whose lower halves are nearer than the pointers", assemble(HALVES), apart(8, 31).to_bytes()
    yield "packet pointers that are nearer than they are", assemble(DISTANCE), apart(5, 0, Label(7, 18, regs={7: ANY})).to_bytes()
    for slow in ("w3 += 1", "w3 <<= 1", "w3 *= 2", "w3 += w3", "w3 ^= 4"):
        yield f"a counter by 4 that another way back moves by {slow}", assemble(TWO_WAYS.replace("SLOW", slow)), two_ways().to_bytes()
    yield "a counter around 2^32 that is set where it is known", assemble(ENDLESS), endless().to_bytes()


def octets() -> Iterator[tuple[str, bytes, bytes]]:
    """A word of which one octet is written, said to be all of it: what compares has the value's number, what takes over its constant."""
    text = assemble("*(u8 *)(r10 - 0x4) = 0\nw0 = 0\ngoto here\nhere:\n r0 = *(u32 *)(r10 - 0x4)\n exit")
    said = bytes([BYTES | SHARED, 0]) + zigzag(15)
    pool = said + bytes(-(POOL - 1 + len(said)) % 16)                 # so that the number has no octet of a word
    number = POOL - 1 + len(pool)
    label = varint(9) + varint(1 | HAS_FRAME) + varint(len(pool) + 1) + bytes([NUMBER])
    row = pack("<BH", 30, number)
    assert number % 16 == 0 and len(row) == ROW
    yield "octets of a word by a shared symbol", text, bytes([19, 60, 1, 1]) + row + varint(3 << 4 | len(label)) + label + b"\1" + pool


#: r2 is -16, and a symbol's 16 less 32: what the packet has behind 16 is not what it has behind 2^32 + 16. Then it comes down, by as much as it may.
BEHIND = """
    r6 = *(u64 *)(r1 + 0x0)
    w2 = -16
    w0 = 0
    goto claimed
claimed:
    w3 = 0
head:
    if w2 < 0x20000 goto out
    w2 -= 0x20000
    w0 += 1
    if w0 < 0x7fff goto head
    exit
out:
    r6 += r2
    *(u8 *)(r6 + 0x0) = 1
    w0 = 0
    exit"""


def behind() -> Certificate:
    return Certificate(3, MOST, [
        Label(4, MOST - 10, shared=[Given(NUMBER, 16, 16, -16)], regs={0: Given(NUMBER), 2: Given(NUMBER, ref=2, off=-32), 6: START}),
        Label(5, 100, shared=[Given(NUMBER, 0, 0x7fff)], loop=1, regs={0: Given(NUMBER, ref=2), 2: Given(NUMBER, 0, M32, 16), 6: START}),
        Label(10, 10, regs={2: Given(NUMBER, 0, 0x1ffff, 16), 6: START})], [LoopRow(5, 0, 1, 4)])


#: The same, but what the packet has behind 16 is said a label later, and one turn more: the octet that is written is the last one below 2^17.
BETWEEN = BEHIND.replace("goto claimed\nclaimed:", "goto between\nbetween:\n    goto claimed\nclaimed:").replace("< 0x7fff", "< 0x8000")


def between() -> Certificate:
    said, head, out = behind().labels
    return Certificate(3, MOST, [replace(said, cost=MOST - 9, shared=[Given(NUMBER, 16, 16)]), replace(said, pc=5),
                                 replace(head, pc=6, shared=[Given(NUMBER, 0, 0x8000)]), replace(out, pc=11)], [LoopRow(6, 0, 1, 4)])


def around() -> Certificate:
    """A symbol is 20 or more, or, around 2^32, 10 or less."""
    return Certificate(3, 9, [Label(2, 1, shared=[Given(NUMBER, 20, M32 + 11)], regs={0: Given(NUMBER, ref=2, off=-11)})], [])


#: r6 is a pointer 2000 octets into the packet, said to be anywhere: no more than r7 less something between 0 and 2^32 - 1.
HALVES = """
    r6 = *(u64 *)(r1 + 0x0)
    r2 = *(u32 *)(r1 + 0x34)
    w2 &= 0x1f
    r7 = r6
    r7 += r2
    r6 += 0x7d0
    w0 = 0
    goto claimed
claimed:
    w7 = w7
    w6 = w6
    w7 -= w6
    r8 = r10
    r8 += -64
    r8 += r7
    *(u8 *)(r8 + 0x0) = 1
    w0 = 0
    exit"""

#: The same in 64 bits, of which nobody asks what they are before they are any number.
DISTANCE = """
    r6 = *(u64 *)(r1 + 0x0)
    r7 = r6
    r6 += 0x7d0
    w0 = 0
    goto claimed
claimed:
    r7 -= r6
    goto here
here:
    r7 >>= 28
    w0 = 0
    exit"""


def apart(at: int, most: int, *behind: Label) -> Certificate:
    """r7: at most so many octets into the packet."""
    return Certificate(3, 100, [Label(at, 20, shared=[ANY], regs={6: Given(PKT, ref=2), 7: Given(PKT, 0, most)}), *behind], [])


#: Two ways back; the certificate is true if both move by 4.
TWO_WAYS = """
    w3 = 0
    r2 = *(u32 *)(r1 + 0x34)
head:
    if w3 > 60 goto out
    if w2 == 7 goto slow
    w3 += 4
    goto head
slow:
    SLOW
    goto head
out:
    w0 = 0
    exit"""


def two_ways() -> Certificate:
    head = Label(2, 6, shared=[Given(NUMBER, 0, 64)], loop=1, regs={2: ANY, 3: Given(NUMBER, ref=2)})
    return Certificate(3, 3 + 5 + 16 * 4, [head, replace(head, pc=6, cost=4, shared=[Given(NUMBER, 0, 60)]), Label(8, 2)], [LoopRow(2, 0, 4, 4)])


#: r0 goes up from 255 to 2^32 - 1, and is 255 again. Its symbol, 11 more, is between 20 and, around 2^32, 10.
ENDLESS = """
    w0 = 255
    goto head
head:
    if w0 == -1 goto reset
    if w0 > -16129 goto out
    if w0 > -16131 goto last
    if w0 > -16140 goto out
    w0 += 16128
    goto head
last:
    w0 += 16128
    goto head
reset:
    w0 = 255
    goto head
out:
    w0 = 0
    exit"""


def endless() -> Certificate:
    held = {0: Given(NUMBER, ref=2, off=-11)}

    def one(lo: int, hi: int) -> list[Given]:
        return [Given(NUMBER, lo, hi)]

    return Certificate(3, MOST, [
        Label(2, 6, shared=one(20, M32 + 11), loop=1, regs=held), Label(8, 3, shared=one(M32 - 16118, M32 - 16117), loop=1, regs=held),
        Label(10, 5, shared=one(10, 10), loop=1, regs=held), Label(12, 2)], [LoopRow(2, 0, 127, 6)])
