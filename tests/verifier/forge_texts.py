"""Programs for certificates: honest ones, one for each kind of fact, and texts that break a rule each."""
from __future__ import annotations

from lpn.verifier.certify import Sizes

SIZES = Sizes(rodata=16, data=16, record=64, state=32, stack=64)

#: Programs with certificates, one for each kind of fact.
def counted(first: int, by: str, end: str, load: str, off: str) -> str:
    """Reads the record where a counter says, from `first` to `end`."""
    return f"""
        r2 = *(u64 *)(r1 + 0x10)
        w3 = {first}
        w0 = 0
    head:
        r4 = r2
        r4 += r3
        r5 = *({load} *)(r4 {off})
        w0 += w5
        w3 += {by}
        if w3 != {end} goto head
        exit"""


def looked_at(stored: str, loaded: str) -> str:
    """A word of the stack that is read between two labels, and behind the second one."""
    return f"""
        w0 = 0
        r2 = *({stored} *)(r1 + 0x34)
        *(u64 *)(r10 - 0x8) = r2
    here:
        r3 = *({loaded} *)(r10 - 0x8)
    there:
        r4 = *(u32 *)(r1 + 0x34)
        if w4 > 0x7 goto out
        r5 = *({loaded} *)(r10 - 0x8)
        if w5 > 0x7 goto bad
    out:
        w0 = 0
        exit
    bad:
        w0 = w7
        exit"""


HONEST = {
    "straight": "r0 = 0\n exit",
    "branch": "w0 = 0\n r2 = *(u32 *)(r1 + 0x34)\n if w2 > 0x7 goto end\n w0 = 1\nend:\n exit",
    "a record index with a bit set": """
        r2 = *(u32 *)(r1 + 0x34)
        r3 = *(u64 *)(r1 + 0x10)
        if w2 > 0x3 goto out
        w2 <<= 4
        w2 |= 0x8
        r3 += r2
        *(u32 *)(r3 + 0x4) = w2
    out:
        w0 = 0
        exit""",
    "record index": """
        r2 = *(u32 *)(r1 + 0x34)
        r3 = *(u64 *)(r1 + 0x10)
        if w2 > 0x20 goto out
        r4 = 0
        if w2 == 0x3 goto use
        r4 = 1
    use:
        r3 += r2
        *(u8 *)(r3 + 0x1f) = w4
    out:
        w0 = 0
        exit""",
    "packet": """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        r4 = r2
        r4 += 0x14
        if r4 > r3 goto short
        r5 = *(u8 *)(r2 + 0x0)
        if w5 == 0x1 goto one
        *(u8 *)(r2 + 0x13) = w5
    one:
        r6 = *(u8 *)(r2 + 0x13)
        r2 += r5
        r7 = r2
        r7 += 0x4
        if r7 > r3 goto short
        if w6 > 0x5 goto last
        r6 = 5
    last:
        *(u8 *)(r2 + 0x3) = w6
    short:
        w0 = 0
        exit""",
    "spill": """
        r2 = *(u64 *)(r1 + 0x10)
        *(u64 *)(r10 - 0x8) = r2
        w3 = 7
        *(u32 *)(r10 - 0xc) = w3
        *(u8 *)(r10 - 0x10) = w3
        r4 = *(u32 *)(r1 + 0x34)
        if w4 == 0x0 goto skip
        w4 = 3
    skip:
        r5 = *(u64 *)(r10 - 0x8)
        r6 = *(u32 *)(r10 - 0xc)
        r5 += r6
        *(u8 *)(r5 + 0x38) = w4
        r0 = *(u8 *)(r10 - 0x10)
        exit""",
    "words of the stack": """
        *(u64 *)(r10 - 0x8) = 100000
        *(u64 *)(r10 - 0x10) = 7
        *(u32 *)(r10 - 0x14) = 100000
        *(u64 *)(r10 - 0x20) = r1
        r2 = *(u32 *)(r1 + 0x34)
        *(u64 *)(r10 - 0x28) = r2
        if w2 == 0x0 goto skip
        r3 = *(u64 *)(r10 - 0x10)
        r4 = *(u64 *)(r1 + 0x10)
        r4 += r3
        *(u8 *)(r4 + 0x38) = w3
    skip:
        r3 = *(u64 *)(r10 - 0x8)
        r4 = *(u32 *)(r10 - 0x14)
        w4 += w3
        r1 = *(u64 *)(r10 - 0x20)
        r5 = *(u64 *)(r10 - 0x28)
        w5 += w4
        r0 = *(u16 *)(r10 - 0x6)
        if w5 < 0x7 goto last
        r6 = *(u32 *)(r10 - 0x4)
        r7 = *(u64 *)(r10 - 0x28)
        if w7 > 0x20 goto last
        r7 = *(u64 *)(r10 - 0x28)
        r4 = *(u64 *)(r1 + 0x10)
        r4 += r7
        *(u8 *)(r4 + 0x1f) = w6
    last:
        exit""",
    "counted loop": counted(0, "0x4", "0x40", "u8", "+ 0x0"),
    "downwards": counted(16, "-1", "0x0", "u8", "- 0x1"),
    "counted from 2 by 6": counted(2, "0x6", "0x3e", "u16", "+ 0x0"),
    "downwards by 4": counted(60, "-4", "0x0", "u8", "+ 0x0"),
    "one loop behind another": """
        w3 = 0
        w0 = 0
    first:
        w3 += 0x1
        if w3 < 0x5 goto first
        w4 = 0
    second:
        w4 += 0x1
        if w4 < 0x5 goto second
        exit""",
    "two loops behind one": """
        w3 = 0
        w0 = 0
    first:
        w3 += 0x1
        if w3 < 0x5 goto first
        w6 = 0
    outer:
        w7 = 0
    inner:
        w7 += 0x1
        if w7 < 0x5 goto inner
        w6 += 0x1
        if w6 < 0x9 goto outer
        exit""",
    "a flag that counts": """
        w3 = 1
        w0 = 0
    head:
        w0 += 1
        w4 = w3
        w4 &= 0x1
        w3 = 0
        if w4 != 0x0 goto head
        exit""",
    "nested loops": """
        w6 = 0
        w0 = 0
    outer:
        w7 = 0
    inner:
        if w0 > 0x30 goto less
        w0 += 0x1
    less:
        w7 += 0x1
        if w7 < 0x5 goto inner
        w6 += 0x1
        if w6 < 0x9 goto outer
        exit""",
    "cursor": """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        w0 = 0
    head:
        r4 = r2
        r4 += 0x8
        if r4 > r3 goto out
        r5 = *(u8 *)(r2 + 0x7)
        w0 += w5
        r2 = r4
        goto head
    out:
        exit""",
    "helper": """
        w2 = 0
        *(u32 *)(r10 - 0x8) = w2
        r1 = 0x100403
        r2 = r10
        r2 += -8
        r3 = r10
        r3 += -32
        call 1
        if w0 == 0x0 goto out
        r0 = *(u8 *)(r10 - 0x20)
    out:
        exit""",
    "left of the packet": """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        r4 = *(u8 *)(r1 + 0x34)
        r2 += r4
        r5 = r2
        r5 += 0x10
        if r5 > r3 goto out
        r6 = r3
        r6 -= r2
        r6 -= 0x10
        *(u8 *)(r2 + 0xf) = w6
    out:
        w0 = 0
        exit""",
    "lengths in words": """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        w4 = w3
        w4 -= w2
        r5 = *(u32 *)(r1 + 0x2c)
        if w5 > w4 goto out
        r2 += r5
        r0 = *(u8 *)(r2 + 0x3f)
    out:
        w0 = 0
        exit""",
    "unknowns that come and go": """
        r2 = *(u8 *)(r1 + 0x34)
        r3 = *(u8 *)(r1 + 0x34)
        r3 = *(u8 *)(r1 + 0x34)
        r3 = *(u8 *)(r1 + 0x34)
        r3 = *(u8 *)(r1 + 0x34)
        r3 += r2
        r0 = r3
        exit""",
    "numbers of 16 bits": """
        r2 = *(u32 *)(r1 + 0x44)
        r2 += r2
        r3 = *(u32 *)(r1 + 0x34)
        r3 = be16 r3
        r3 += r2
        r0 = r3
        exit""",
    "room behind a sum of unknowns": """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        r4 = *(u8 *)(r1 + 0x34)
        r5 = *(u8 *)(r1 + 0x38)
        w5 &= 0x3
        w0 = 0
        r2 += r4
        r4 = r2
        r4 += 0x8
        if r4 > r3 goto out
        r2 += r5
        *(u8 *)(r2 + 0x4) = w5
    out:
        exit""",
    "a constant and what is not that": """
        r2 = *(u8 *)(r1 + 0x34)
        r3 = 0
        w0 = 8
        if r3 == r2 goto out
        w0 /= w2
    out:
        exit""",
    "an unknown and one more": """
        r2 = *(u8 *)(r1 + 0x34)
        r3 = r2
        r3 += 0x1
        w0 = 0
        if r2 > r3 goto bad
        exit
    bad:
        w0 = 1
        exit""",
    "what is written in the context": """
        r2 = 0x7 ll
        *(u32 *)(r1 + 0x28) = r2
        *(u16 *)(r1 + 0x2c) = 1
        w0 = 0
        exit""",
    "the context, further on": """
        r1 += 0x30
        r0 = *(u32 *)(r1 + 0x4)
        exit""",
    "an octet of an address": """
        r2 = *(u8 *)(r1 + 0x44)
        r2 <<= 24
        r0 = r2
        exit""",
    "further into the packet": """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        r2 += 0x4
        w0 = 0
        r4 = r2
        r4 += 0x8
        if r4 > r3 goto out
        *(u8 *)(r2 + 0x7) = w0
    out:
        exit""",
    "what is left behind a part": """
        r2 = *(u64 *)(r1 + 0x0)
        r4 = *(u64 *)(r1 + 0x8)
        r5 = *(u32 *)(r1 + 0x2c)
        w0 = 0
        w4 -= w2
        if w4 < 0x10 goto out
        w4 += -8
        if w5 > w4 goto out
        r4 -= r5
        w0 = w4
    out:
        exit""",
    "a difference of unknowns": """
        r2 = *(u32 *)(r1 + 0x34)
        r3 = *(u32 *)(r1 + 0x38)
        r4 = *(u64 *)(r1 + 0x10)
        w2 &= 0x1f
        w2 += 0x10
        w3 &= 0x7
        w3 += 0x8
        r2 -= r3
        r4 += r2
        r0 = *(u8 *)(r4 + 0x18)
        exit""",
    "turned round": "r2 = *(u32 *)(r1 + 0x34)\n w2 = -w2\n w0 = w2\n exit",
    "state": """
        r2 = *(u64 *)(r1 + 0x18)
        *(u32 *)(r2 + 0x1c) = 1
        r0 = *(u8 *)(r2 + 0x1f)
        exit""",
    "null": """
        r2 = *(u64 *)(r1 + 0x10)
        w0 = 0
        if r2 == 0x0 goto out
        w0 = 1
    out:
        exit""",
}

#: Texts without labels that break one rule each.
WRONG = """
r0 = r2 ; exit
r0 = r1 ; exit
exit
r0 = 0
r2 = *(u64 *)(r1 + 0x4) ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x1) ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x35) ; r0 = 0 ; exit
r2 = *(u16 *)(r1 + 0x37) ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x34) ; r0 = 0 ; exit
*(u32 *)(r1 + 0x29) = 1 ; r0 = 0 ; exit
*(u64 *)(r1 + 0x10) = 7 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x0) ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x60) ; r0 = 0 ; exit
*(u32 *)(r1 + 0x34) = 1 ; r0 = 0 ; exit
*(u32 *)(r1 + 0x28) = r1 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r1 += r2 ; r0 = *(u32 *)(r1 + 0x34) ; exit
r2 = *(u64 *)(r1 + 0x0) ; r0 = *(u8 *)(r2 + 0x40) ; exit
r2 = *(u64 *)(r1 + 0x0) ; *(u8 *)(r2 + 0x0) = 1 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; r0 = *(u8 *)(r2 - 0x1) ; exit
r2 = *(u64 *)(r1 + 0x0) ; r0 = *(u64 *)(r2 + 0x0) ; exit
r2 = *(u64 *)(r1 + 0x8) ; r0 = *(u8 *)(r2 + 0x40) ; exit
r2 = *(u64 *)(r1 + 0x0) ; r3 = *(u32 *)(r1 + 0x34) ; r2 += r3 ; r0 = *(u8 *)(r2 + 0x0) ; exit
r2 = *(u64 *)(r1 + 0x0) ; r3 = *(u16 *)(r1 + 0x34) ; r2 += r3 ; r0 = *(u8 *)(r2 + 0x0) ; exit
r2 = *(u64 *)(r1 + 0x10) ; r0 = *(u8 *)(r2 + 0x40) ; exit
r2 = *(u64 *)(r1 + 0x10) ; r3 = *(u32 *)(r2 + 0x3c) ; r0 = *(u32 *)(r10 - 0x4) ; exit
r2 = *(u64 *)(r1 + 0x10) ; r0 = *(u8 *)(r2 - 0x1) ; exit
r2 = *(u64 *)(r1 + 0x10) ; *(u64 *)(r2 + 0x0) = r2 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; *(u64 *)(r2 + 0x2) = 1 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r0 = *(u64 *)(r2 + 0x0) ; exit
r2 = *(u64 *)(r1 + 0x10) ; r3 = *(u32 *)(r1 + 0x34) ; w3 &= 3 ; r2 += r3 ; *(u64 *)(r2 + 0x0) = 1 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r3 = *(u64 *)(r1 + 0x18) ; r2 += r3 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r3 = *(u64 *)(r1 + 0x18) ; r2 -= r3 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r2 *= 2 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; w2 = w2 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; w2 += 4 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r2 = be32 r2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 = be32 r2 ; r2 += 1 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x48) ; r2 += 1 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r2 = -r2 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; r0 = *(u8 *)(r2 + 0x0) ; exit
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; r2 += 4 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; w2 += 4 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; w3 = w2 ; w2 = w3 ; r0 = r2 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r2 += 0x40000000 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r2 += 8 ; w3 = -4 ; r2 += r3 ; r0 = *(u8 *)(r2 + 0x0) ; exit
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; *(u16 *)(r10 - 0x8) = r2 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; *(u32 *)(r10 - 0x6) = r2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; w2 &= 7 ; *(u32 *)(r10 - 0x4) = 1 ; r3 = r10 ; r3 += -16 ; r3 += r2 ; w1 = 0xffff0401 ; r2 = r10 ; r2 += -4 ; call 1 ; exit
r2 = *(u64 *)(r1 + 0x20) ; r0 = *(u8 *)(r2 + 0x100) ; exit
r2 = *(u64 *)(r1 + 0x18) ; r0 = *(u8 *)(r2 + 0x20) ; exit
r2 = 5 ; r0 = *(u8 *)(r2 + 0x0) ; exit
r0 = *(u8 *)(r4 + 0x0) ; exit
r0 = *(u8 *)(r10 - 0x1) ; exit
r0 = *(u8 *)(r10 + 0x0) ; exit
r0 = *(u8 *)(r10 - 0x41) ; exit
*(u8 *)(r10 - 0x41) = 1 ; r0 = 0 ; exit
*(u8 *)(r10 + 0x0) = 1 ; r0 = 0 ; exit
*(u8 *)(r10 - 0x1) = 1 ; r0 = *(u16 *)(r10 - 0x2) ; exit
*(u64 *)(r10 - 0x8) = r1 ; r0 = *(u32 *)(r10 - 0x8) ; exit
*(u64 *)(r10 - 0x8) = r1 ; r0 = *(u64 *)(r10 - 0x8) ; exit
*(u64 *)(r10 - 0x8) = r1 ; r0 = *(u8 *)(r10 - 0x6) ; exit
*(u64 *)(r10 - 0x8) = r1 ; r0 = *(u8 *)(r10 - 0x1) ; exit
*(u64 *)(r10 - 0x8) = r1 ; *(u8 *)(r10 - 0x8) = 1 ; r0 = *(u8 *)(r10 - 0x7) ; exit
*(u64 *)(r10 - 0x8) = r1 ; *(u8 *)(r10 - 0x8) = 1 ; r2 = *(u64 *)(r10 - 0x8) ; r0 = *(u32 *)(r2 + 0x34) ; exit
*(u64 *)(r10 - 0xc) = r1 ; r0 = 0 ; exit
*(u64 *)(r10 - 0x8) = r1 ; *(u32 *)(r10 - 0x4) = 1 ; r2 = *(u64 *)(r10 - 0x8) ; r0 = *(u32 *)(r2 + 0x34) ; exit
*(u64 *)(r10 - 0x8) = r1 ; *(u32 *)(r10 - 0x8) = 1 ; r2 = *(u64 *)(r10 - 0x8) ; r0 = *(u32 *)(r2 + 0x34) ; exit
*(u64 *)(r10 - 0x8) = r1 ; *(u32 *)(r10 - 0x8) = 1 ; r0 = *(u64 *)(r10 - 0x8) ; exit
*(u64 *)(r10 - 0x8) = r1 ; r0 = *(u32 *)(r10 - 0x4) ; exit
*(u32 *)(r10 - 0x8) = 1 ; *(u32 *)(r10 - 0x4) = 1 ; r0 = *(u64 *)(r10 - 0x8) ; exit
*(u32 *)(r10 - 0x8) = 100000 ; *(u32 *)(r10 - 0x4) = 100000 ; r0 = *(u64 *)(r10 - 0x8) ; exit
*(u64 *)(r10 - 0x8) = 7 ; *(u8 *)(r10 - 0x1) = 1 ; r0 = *(u64 *)(r10 - 0x8) ; exit
r2 = *(u64 *)(r1 + 0x0) ; *(u64 *)(r10 - 0x8) = r2 ; w2 = w2 ; *(u32 *)(r10 - 0x8) = r2 ; r3 = *(u64 *)(r10 - 0x8) ; w3 -= w2 ; r0 = 0 ; exit
*(u32 *)(r10 - 0x8) = r1 ; r0 = 0 ; exit
*(u64 *)(r10 - 0x8) = 1 ; *(u64 *)(r10 - 0xa) = 1 ; r0 = 0 ; exit
*(u32 *)(r10 - 0x8) = r4 ; r0 = 0 ; exit
*(u64 *)(r10 - 0x8) = -1 ; r0 = *(u64 *)(r10 - 0x8) ; exit
r2 = *(u32 *)(r1 + 0x34) ; w2 &= 7 ; r3 = r10 ; r3 += -16 ; r3 += r2 ; *(u8 *)(r3 + 0x0) = 1 ; r0 = *(u8 *)(r10 - 0x10) ; exit
r2 = *(u32 *)(r1 + 0x34) ; w2 &= 7 ; r3 = r10 ; r3 += -16 ; r3 += r2 ; *(u64 *)(r10 - 0x10) = r1 ; *(u8 *)(r3 + 0x0) = 1 ; r4 = *(u64 *)(r10 - 0x10) ; r0 = *(u32 *)(r4 + 0x34) ; exit
r2 = *(u32 *)(r1 + 0x34) ; w2 &= 7 ; r3 = r10 ; r3 += -16 ; r3 += r2 ; *(u64 *)(r3 + 0x0) = r1 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; w2 &= 7 ; r3 = r10 ; r3 += -16 ; r3 += r2 ; *(u32 *)(r10 - 0x10) = 1 ; r0 = *(u32 *)(r3 + 0x0) ; exit
r2 = *(u32 *)(r1 + 0x34) ; r0 = 1 ; w0 /= w2 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r0 = 1 ; w0 %= w2 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r0 = 1 ; w0 <<= w2 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r0 = 1 ; r0 >>= r2 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 += 1 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 += -1 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 *= 2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 *= -2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 <<= 1 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 |= -2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 /= -2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 s>>= 1 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 s/= 3 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 = -r2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 = be64 r2 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r3 = *(u32 *)(r1 + 0x34) ; r2 -= r3 ; r0 = 0 ; exit
r2 = *(u32 *)(r1 + 0x34) ; r2 = (s8)r2 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; r2 = (s32)r2 ; r0 = 0 ; exit
r2 = *(s8 *)(r1 + 0x34) ; r0 = 0 ; exit
r2 = -1 ; r0 = 0 ; exit
r2 = 0x100000000 ll ; r0 = 0 ; exit
r0 = be32 r0 ; exit
r0 += 1 ; exit
w0 = w7 ; exit
r2 = 1 ; r2 += r7 ; r0 = 0 ; exit
r2 = 1 ; r2 += r1 ; r2 += r1 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; r3 = *(u64 *)(r1 + 0x8) ; r2 -= r3 ; r0 = 0 ; exit
r2 = 7 ; r3 = *(u64 *)(r1 + 0x0) ; r2 -= r3 ; r0 = 0 ; exit
call 2 ; r0 = *(u32 *)(r1 + 0x34) ; exit
call 3 ; r0 = 0 ; exit
r2 = 0 ; call 3 ; r0 = 0 ; exit
call 130 ; r0 = 0 ; exit
call +0 ; r0 = 0 ; exit
r1 = 0x80401 ; r2 = r10 ; r2 += -4 ; r3 = r10 ; r3 += -16 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = *(u32 *)(r1 + 0x34) ; r2 = r10 ; r2 += -4 ; r3 = r10 ; r3 += -16 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = *(u16 *)(r1 + 0x34) ; w1 |= 0x80401 ; r2 = r10 ; r2 += -4 ; r3 = r10 ; r3 += -16 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = 0x80401 ; r2 = 7 ; r3 = r10 ; r3 += -16 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; w1 = 0x80000401 ; r2 = r10 ; r2 += -4 ; r3 = r10 ; r3 += -16 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = 0x80401 ; r2 = r10 ; r2 += -4 ; r3 = r10 ; r3 += -68 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = 0x401 ; r2 = r10 ; r2 += -4 ; call 1 ; exit
*(u64 *)(r10 - 0x8) = r1 ; r1 = 0x80801 ; r2 = r10 ; r2 += -8 ; r3 = r10 ; r3 += -32 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; *(u64 *)(r10 - 0x10) = r1 ; r1 = 0x40401 ; r2 = r10 ; r2 += -4 ; r3 = r10 ; r3 += -16 ; call 1 ; r2 = *(u64 *)(r10 - 0x10) ; exit
r2 = r10 ; r1 = 1 ; call 3 ; exit
lock *(u32 *)(r10 - 0x8) += w1 ; r0 = 0 ; exit
r0 = 0 ; r0 += r1 ; exit
r2 += 1 ; r0 = 0 ; exit
*(u64 *)(r10 - 0x8) = r4 ; r0 = 0 ; exit
r2 = *(u8 *)(r1 + 0x34) ; r1 += r2 ; r0 = *(u32 *)(r1 + 0x34) ; exit
r2 = *(u64 *)(r1 + 0x0) ; r3 = *(u8 *)(r1 + 0x34) ; r2 -= r3 ; r4 = *(u64 *)(r1 + 0x8) ; if r2 > r4 goto +0 ; r0 = *(u8 *)(r2 + 0x100) ; r0 = 0 ; exit
call +2 ; r0 = 0 ; exit ; r0 = 1 ; exit
if r3 == 0x0 goto +0 ; r0 = 0 ; exit
if r1 == 0x1 goto +0 ; r0 = 0 ; exit
if r1 > 0x0 goto +0 ; r0 = 0 ; exit
r0 = 0 ; goto +0 ; exit
"""


#: Comparisons that must not be.
COMPARED = """
if r3 == 0x0 goto end
if r1 == 0x1 goto end
if r1 > 0x0 goto end
if r1 s> r1 goto end
if w1 == w1 goto end
if r1 & r1 goto end
r2 = *(u64 *)(r1 + 0x10) ; if r1 == r2 goto end
r2 = 0 ; if r2 == r1 goto end
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; if w2 == 0x0 goto end
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; w3 = w2 ; if r2 == r3 goto end
r2 = *(u32 *)(r1 + 0x34) ; if r2 == -1 goto end
r2 = *(u32 *)(r1 + 0x34) ; if r2 s> 0x1 goto end
"""

#: A number less a large constant lies anywhere, not before the packet's end.
LARGE = """
    r2 = *(u64 *)(r1 + 0x0)
    r3 = *(u32 *)(r1 + 0x34)
    if w3 < 0x100000 goto end
    w3 -= 0x100000
    if w3 > 0xffff goto end
    r2 += r3
    r0 = *(u8 *)(r2 + 0x0)
end:
    r0 = 0
    exit"""


#: A number less a large constant shares no unknown with it: what one has behind it says nothing of the other.
AROUND = """
    r2 = *(u64 *)(r1 + 0x0)
    r8 = *(u64 *)(r1 + 0x8)
    r3 = *(u32 *)(r1 + 0x34)
    w4 = -4
    if w3 < w4 goto end
    w5 = w3
    w5 -= w4
    w6 = w8
    w6 -= w2
    if w5 > w6 goto end
    r6 -= r3
end:
    r0 = 0
    exit"""

#: A counter that goes around: from 2^32 - 127 to 0, which is 127 more in 32 bits.
RESET = """
    w3 = 0
    w0 = 0
head:
    if w3 > -127 goto out
    if w3 == -127 goto reset
    w3 += 0x7f
    goto head
reset:
    w3 = 0
    goto head
out:
    exit"""
