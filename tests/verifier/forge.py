"""Forged certificates: someone knows the format and lies in each field. And texts that break a rule under a certificate that fits otherwise."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lpn.compiler.asm import assemble
from lpn.verifier import LPN
from lpn.verifier.certificate import DATA, LENGTH, LOW, M32, NUMBER, PKT, RODATA, STACK, Certificate, Given, Label
from lpn.verifier.certify import NoCertificate, Sizes, certificate_of
from lpn.verifier.verify import analyse

SIZES = Sizes(rodata=16, data=16, record=64, state=32, stack=64)

#: Programs with certificates, one for each kind of fact.
HONEST = {
    "straight": "r0 = 0\n exit",
    "branch": "w0 = 0\n r2 = *(u32 *)(r1 + 0x34)\n if w2 > 0x7 goto end\n w0 = 1\nend:\n exit",
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
    "counted loop": """
        r2 = *(u64 *)(r1 + 0x10)
        w3 = 0
        w0 = 0
    head:
        r4 = r2
        r4 += r3
        r5 = *(u8 *)(r4 + 0x0)
        w0 += w5
        w3 += 0x4
        if w3 != 0x40 goto head
        exit""",
    "downwards": """
        r2 = *(u64 *)(r1 + 0x10)
        w3 = 16
        w0 = 0
    head:
        r4 = r2
        r4 += r3
        r5 = *(u8 *)(r4 - 0x1)
        w0 += w5
        w3 += -1
        if w3 != 0x0 goto head
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
        r1 = 3
        r2 = r10
        r2 += -8
        r3 = 4
        r4 = r10
        r4 += -32
        r5 = 16
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
}

#: Texts without labels that break one rule each.
WRONG = """
r0 = r2 ; exit
r0 = r1 ; exit
exit
r0 = 0
r2 = *(u64 *)(r1 + 0x4) ; r0 = 0 ; exit
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
r2 = *(u64 *)(r1 + 0x10) ; r2 = -r2 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; r0 = *(u8 *)(r2 + 0x0) ; exit
r2 = *(u64 *)(r1 + 0x0) ; w2 = w2 ; r2 += 4 ; r0 = 0 ; exit
r2 = *(u64 *)(r1 + 0x0) ; w3 = w2 ; w2 = w3 ; r0 = r2 ; exit
r2 = *(u64 *)(r1 + 0x10) ; r2 += 0x40000000 ; r0 = 0 ; exit
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
*(u64 *)(r10 - 0x8) = r1 ; *(u8 *)(r10 - 0x8) = 1 ; r0 = *(u8 *)(r10 - 0x7) ; exit
*(u64 *)(r10 - 0x8) = r1 ; *(u8 *)(r10 - 0x8) = 1 ; r2 = *(u64 *)(r10 - 0x8) ; r0 = *(u32 *)(r2 + 0x34) ; exit
*(u64 *)(r10 - 0xc) = r1 ; r0 = 0 ; exit
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
r1 = 1 ; r2 = r10 ; r2 += -4 ; r3 = 4 ; r4 = r10 ; r4 += -16 ; r5 = 8 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = *(u32 *)(r1 + 0x34) ; r2 = r10 ; r2 += -4 ; r3 = 4 ; r4 = r10 ; r4 += -16 ; r5 = 8 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r3 = *(u32 *)(r1 + 0x34) ; r1 = 1 ; r2 = r10 ; r2 += -4 ; r4 = r10 ; r4 += -16 ; r5 = 8 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = 1 ; r2 = 7 ; r3 = 4 ; r4 = r10 ; r4 += -16 ; r5 = 8 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = 1 ; r2 = r10 ; r2 += -4 ; r3 = 4 ; r4 = r10 ; r4 += -16 ; r5 = 0x20000 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = 1 ; r2 = r10 ; r2 += -4 ; r3 = 4 ; r4 = r10 ; r4 += -68 ; r5 = 8 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; r1 = 1 ; r2 = r10 ; r2 += -4 ; r3 = 4 ; r5 = 0 ; call 1 ; exit
*(u64 *)(r10 - 0x8) = r1 ; r1 = 1 ; r2 = r10 ; r2 += -8 ; r3 = 8 ; r4 = r10 ; r4 += -32 ; r5 = 8 ; call 1 ; exit
*(u32 *)(r10 - 0x4) = 1 ; *(u64 *)(r10 - 0x10) = r1 ; r1 = 1 ; r2 = r10 ; r2 += -4 ; r3 = 4 ; r4 = r10 ; r4 += -16 ; r5 = 4 ; call 1 ; r2 = *(u64 *)(r10 - 0x10) ; exit
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
    return assemble(code.replace(" ; ", "\n")), Certificate(24, 2, 8, cost, [], [])


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
        yield Pair(f"made {i}: {lie}", assemble(code), Certificate(24, 6, 8, 300, labels, loops).to_bytes())
    text, certificate = plain("r2 = 0 ll\nr0 = 0\nexit")
    for register, kind, at, ok in ((8, RODATA, 16, True), (8, RODATA, 17, False), (9, DATA, 16, True), (9, DATA, 17, False)):
        changed = bytearray(text)
        changed[1], changed[4] = 2 | register << 4, at
        yield Pair(f"address {at} of section {register}", bytes(changed), certificate.to_bytes(), ok)
    for i, line in enumerate(COMPARED.strip().splitlines()):      # both ways lead to the same label
        text = assemble(line.replace(" ; ", "\n") + "\nend:\n r0 = 0\n exit")
        yield Pair(f"wrong comparison {i}: {line}", text, Certificate(24, 2, 8, 60, [Label(len(text) // 8 - 2, 2)], []).to_bytes())
    yield Pair("wrong: what a large number has behind it", assemble(AROUND), Certificate(24, 2, 8, 60, [Label(11, 2)], []).to_bytes())
    yield Pair("wrong: room behind a large number", assemble(LARGE), Certificate(24, 2, 8, 60, [Label(7, 2)], []).to_bytes())
    foreign = bytes([0xb8, 2]) + bytes(14) + assemble("r0 = 0\nexit")
    yield Pair("wrong: an address as the stock engine has it", foreign, certificate.to_bytes())
    yield from indexed()
    write = bytearray(assemble("r2 = 0 ll\n*(u8 *)(r2 + 0x0) = 1\nr0 = 0\nexit"))
    write[1] = 0x82
    yield Pair("rodata is written", bytes(write), certificate.to_bytes())


def values_changed(g: Given) -> Iterator[tuple[str, Given]]:
    """A value that says more than is so, or something else."""
    if g.ref:
        yield "another constant", replace(g, off=g.off + 1)
        yield "another symbol", replace(g, ref=LENGTH if g.ref != LENGTH else 2)
        yield "a symbol that is not there", replace(g, ref=g.ref + 1)
        yield "the zero symbol", replace(g, ref=200)
    else:
        if g.lo < g.hi:
            yield "lowest raised", replace(g, lo=g.lo + g.step)
            yield "highest lowered", replace(g, hi=g.hi - g.step)
            yield "a constant", replace(g, hi=g.lo)
            yield "a larger step", replace(g, step=min(255, 2 * g.step))
            yield "more room", replace(g, room=(-100 if g.room is None else g.room) + 1)
        yield "elsewhere", replace(g, lo=g.lo + 1, hi=min(g.hi + 1, M32))
        yield "shared with nobody", Given(g.kind, ref=2)
    yield "another kind", replace(g, kind=PKT if g.kind == NUMBER else NUMBER, room=None)
    yield "half a pointer", replace(g, kind=LOW)
    yield "a kind that is none", replace(g, kind=15)
    yield "no kind", replace(g, kind=0)


def lies(c: Certificate) -> Iterator[tuple[str, bytes]]:
    def made(**changes) -> bytes:
        return replace(c, **changes).to_bytes()

    def with_label(i: int, label: Label) -> bytes:
        return made(labels=[*c.labels[:i], label, *c.labels[i + 1:]])

    yield "cost lowered", made(cost=c.cost - 1)
    yield "cost beyond all", made(cost=1 << 29)
    yield "no cost", made(cost=0)
    for what in ("symbols", "slots", "shared"):
        if getattr(c, what) > (2 if what != "slots" else 0):
            yield f"fewer {what}", made(**{what: getattr(c, what) - 1})
    yield "more shared than symbols", made(shared=c.symbols + 1)
    yield "no shared", made(shared=1)
    yield "memory beyond all", made(symbols=255, slots=255)
    for i, label in enumerate(c.labels):
        at = f"label {i}"
        yield f"{at} dropped", made(labels=[*c.labels[:i], *c.labels[i + 1:]])
        yield f"{at} twice", made(labels=[*c.labels[:i + 1], label, *c.labels[i + 1:]])
        yield f"{at} moved on", with_label(i, replace(label, pc=label.pc + 1))
        yield f"{at} far", with_label(i, replace(label, pc=60000))
        if i:
            yield f"{at} before the last", made(labels=[*c.labels[:i - 1], label, c.labels[i - 1], *c.labels[i + 1:]]) \
                if c.labels[i - 1].pc == label.pc else b"\1"
        yield f"{at} costs less", with_label(i, replace(label, cost=label.cost - 1))
        yield f"{at} costs beyond all", with_label(i, replace(label, cost=1 << 29))
        yield f"{at} costs more", with_label(i, replace(label, cost=label.cost + 200))
        yield f"{at} with a longer packet", with_label(i, replace(label, length=label.length + 1))
        yield f"{at} with a packet beyond all", with_label(i, replace(label, length=2049))
        yield f"{at} with another loop", with_label(i, replace(label, loop=label.loop - 1 if label.loop else 1))
        yield f"{at} with a loop more", with_label(i, replace(label, loop=label.loop + 1))
        for r in range(10):
            if r not in label.regs:
                for g in (Given(NUMBER, 0, M32), Given(PKT), Given(STACK, 512, 512)):
                    yield f"{at}: r{r} is there", with_label(i, replace(label, regs=label.regs | {r: g}))
            else:
                yield f"{at}: r{r} is gone", with_label(i, replace(label, regs={k: v for k, v in label.regs.items() if k != r}))
                for lie, g in values_changed(label.regs[r]):
                    yield f"{at}: r{r} {lie}", with_label(i, replace(label, regs=label.regs | {r: g}))
        for place in (*label.slots, 120, 254, 126, 125, 111, 240, 239, 127, 255):
            if place in label.slots:
                yield f"{at}: slot {place} gone", with_label(i, replace(label, slots={k: v for k, v in label.slots.items() if k != place}))
                for lie, g in values_changed(label.slots[place]):
                    yield f"{at}: slot {place} {lie}", with_label(i, replace(label, slots=label.slots | {place: g}))
            else:
                yield f"{at}: slot {place} is there", with_label(i, replace(label, slots=label.slots | {place: Given(PKT)}))
        for byte in (0, 1, 30, 55, 56, 63, 64, 65, 100):
            if byte not in label.written:
                yield f"{at}: byte {byte} is written", with_label(i, replace(label, written=label.written | {byte}))
        if label.written:
            yield f"{at}: nothing is written", with_label(i, replace(label, written=frozenset()))
        for k, g in enumerate(label.shared):
            for lie, g2 in values_changed(g):
                yield f"{at}: symbol {k} {lie}", with_label(i, replace(label, shared=[*label.shared[:k], g2, *label.shared[k + 1:]]))
            yield f"{at}: symbol {k} gone", with_label(i, replace(label, shared=[*label.shared[:k], *label.shared[k + 1:]]))
        if label.shared:
            yield f"{at}: symbols too many", with_label(i, replace(label, shared=label.shared * 30))
    for i, row in enumerate(c.loops):
        for lie, changed in (("body lowered", replace(row, body=row.body - 1)), ("no step", replace(row, step=0)),
                             ("a larger step", replace(row, step=2 * row.step)), ("the other way", replace(row, step=-row.step)),
                             ("step by one more", replace(row, step=row.step + (1 if row.step > 0 else -1))),
                             ("its own parent", replace(row, parent=i + 1)), ("another parent", replace(row, parent=0 if row.parent else 1)),
                             ("another head", replace(row, head=row.head + 1)), ("body beyond all", replace(row, body=1 << 29)),
                             ("a head that is none", replace(row, head=0xFFFF))):
            yield f"loop {i}: {lie}", made(loops=[*c.loops[:i], changed, *c.loops[i + 1:]])
        yield f"loop {i} gone", made(loops=[*c.loops[:i], *c.loops[i + 1:]])


def torn(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """What has nothing to do with its meaning."""
    yield "nothing", b""
    for n in range(1, len(raw)):
        yield f"cut to {n}", raw[:n]
    yield "another version", bytes([2]) + raw[1:]
    yield "varint without end", raw[:3] + b"\xff" * 8 + raw[4:]
    yield "varint of 35 bits", raw[:3] + b"\xff\xff\xff\xff\x7f" + raw[4:]
    for at in range(len(raw)):
        for bit in range(8):
            changed = bytearray(raw)
            changed[at] ^= 1 << bit
            yield f"byte {at} bit {bit}", bytes(changed)


def indexed() -> Iterator[Pair]:
    """An index that leads jumps to another label than the one that is taken."""
    code = ["w0 = 0", "if w0 == 0x7 goto l16"]
    for i in range(18):
        code += [f"goto l{i}", f"l{i}:", "w0 += 0x1"]
    text = assemble("\n".join([*code, "w0 = w5", "exit"]))
    number = Given(NUMBER, 0, M32)
    labels = [Label(3 + 2 * i, 100 - 2 * i, regs={0: number}) for i in range(18)]
    true = Certificate(24, 2, 0, 120, labels, []).to_bytes()
    yield Pair("wrong: what no label says", text, true)
    labels[16:] = [replace(label, regs={0: number, 5: number}) for label in labels[16:]]
    claimed = bytearray(Certificate(24, 2, 0, 120, labels, []).to_bytes())
    yield Pair("wrong: what only a label says", text, bytes(claimed))
    at = 7                                            # the index has one row, behind the start
    struct.pack_into("<H", claimed, at, len(claimed))
    yield Pair("wrong: an index that leads elsewhere", text, bytes(claimed) + bytes([labels[16].pc, 1, 0, 2, 1, 0]))


def sideways() -> Iterator[tuple[str, str, list[Label], list]]:
    """Whole containers made to deceive."""
    from lpn.verifier.certificate import LoopRow
    number, zero_to = Given(NUMBER, 0, M32), lambda n: Given(NUMBER, 0, n)
    loop = "w0 = 0\nw3 = 0\nhead:\n w3 += 1\n if w3 < 9 goto head\n exit"
    head = Label(2, 20, shared=[zero_to(9)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2)})
    yield "a loop without bound", "w0 = 0\nhead:\n w0 += 1\n goto head", [Label(1, 100, regs={0: number})], []
    yield "a loop whose bound is not checked", "w0 = 0\nhead:\n w0 += 1\n goto head", [
        Label(1, 3, shared=[zero_to(9)], loop=1, regs={0: Given(NUMBER, ref=2)})], [LoopRow(1, 0, 1, 2)]
    yield "a counter that stands still", "w0 = 0\nhead:\n goto head", [
        Label(1, 3, shared=[zero_to(9)], loop=1, regs={0: Given(NUMBER, ref=2)})], [LoopRow(1, 0, 1, 2)]
    yield "a counter set anew", "w0 = 0\nw3 = 0\nhead:\n w3 = 5\n if w0 < 9 goto head\n exit", [head], [LoopRow(2, 0, 1, 3)]
    yield "a counter nobody holds", loop, [replace(head, regs={0: number, 3: zero_to(9)})], [LoopRow(2, 0, 1, 3)]
    yield "a body that costs nothing", loop, [head], [LoopRow(2, 0, 1, 0)]
    yield "entered from the side", """
        w0 = 0
        w3 = 0
        r2 = *(u32 *)(r1 + 0x34)
        if w2 == 0x7 goto side
    head:
        w3 += 1
    side:
        w0 += 1
        if w3 < 9 goto head
        exit""", [Label(4, 20, shared=[zero_to(9)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2)}),
                  Label(5, 19, shared=[zero_to(9)], loop=1, regs={0: number, 3: zero_to(9)})], [LoopRow(4, 0, 1, 6)]
    yield "side door into the same turn", """
        w0 = 0
        w3 = 0
    head:
        w3 += 1
    again:
        w0 += 1
        if w0 < 100 goto again
        if w3 < 9 goto head
        exit""", [Label(2, 20, shared=[zero_to(9)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2)}),
                  Label(3, 19, shared=[zero_to(9)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2, off=1)})], [LoopRow(2, 0, 1, 6)]
    yield "an inner loop that moves the outer counter back", """
        w0 = 0
        w3 = 0
    head:
        w3 += 1
        w4 = 0
    inner:
        w4 += 1
        w3 = 0
        if w4 < 5 goto inner
        if w3 < 9 goto head
        exit""", [Label(2, 90, shared=[zero_to(9)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2)}),
                  Label(4, 8, shared=[zero_to(9), zero_to(9)], loop=2, regs={0: number, 3: number, 4: Given(NUMBER, ref=3)})], [
                      LoopRow(2, 0, 1, 60), LoopRow(4, 1, 1, 4)]
    yield "bounds that wrap around", """
        r2 = *(u8 *)(r1 + 0x34)
        w0 = 0
        goto here
    here:
        if w2 < 0x5 goto bad
        exit
    bad:
        w0 = w7
        exit""", [Label(3, 9, regs={0: number, 2: Given(NUMBER, 0xFFFFFF00, 0x1000000FF)})], []
    yield "a shared symbol less a constant, below 0", """
        r2 = *(u8 *)(r1 + 0x34)
        w0 = 0
        if w2 < 0x4 goto out
        r3 = r2
        r3 += -4
        goto here
    here:
        if w3 < 0x8 goto bad
    out:
        exit
    bad:
        w0 = w7
        exit""", [Label(6, 9, shared=[zero_to(255)], regs={0: number, 2: Given(NUMBER, ref=2), 3: Given(NUMBER, ref=2, off=-4)}),
                  Label(7, 5, regs={0: number})], []
    yield "a constant beyond 16 bits", """
        r2 = *(u8 *)(r1 + 0x34)
        w0 = 0
        w2 &= 0x1
        w2 += 0x7fff
        goto here
    here:
        if w2 < 0x10000 goto bad
        exit
    bad:
        w0 = w7
        exit""", [Label(5, 9, shared=[Given(NUMBER, 0xFFFF8000, 0xFFFF8001)], regs={0: number, 2: Given(NUMBER, ref=2, off=-1)})], []
    yield "bytes beyond the stack", "w0 = 0\nexit\nw0 = 0\nexit", [Label(2, 9, written=frozenset({0, *range(60_000, 62_000)}))], []
    yield "a turn for nothing", """
        w0 = 0
        r3 = *(u8 *)(r1 + 0x34)
        if w3 > 0x7 goto out
        w3 += 0x1
        goto side
    head:
        w3 += 0x1
    side:
        w0 += 0x1
        if w3 < 0x9 goto head
    out:
        exit""", [Label(5, 4, shared=[zero_to(9)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2)}),
                  Label(6, 3, shared=[zero_to(9)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2, off=1)}),
                  Label(8, 1, regs={0: number})], [LoopRow(5, 0, 1, 3)]
    overlap = Label(3, 9, regs={0: number}, slots={126 | 128: Given(2), 126: number}, written=frozenset(range(56, 64)))
    yield "a pointer's bytes as numbers", """
        w0 = 0
        r2 = *(u64 *)(r1 + 0x0)
        *(u64 *)(r10 - 0x8) = r2
    here:
        r0 = *(u32 *)(r10 - 0x8)
        if w0 == 0x0 goto here
        exit""", [overlap], []
    bare = Label(2, 9, regs={0: number})
    yield "two symbols for one register", "w0 = 0\ngoto here\nhere:\n exit", [replace(bare, shared=[number, number], regs={0: Given(NUMBER, ref=2)})], []
    yield "two registers, one symbol", """
        r0 = *(u8 *)(r1 + 0x34)
        r2 = *(u8 *)(r1 + 0x34)
        goto here
    here:
        w0 -= w2
        r1 = *(u64 *)(r1 + 0x10)
        exit""", [Label(3, 9, shared=[zero_to(255)], regs={0: Given(NUMBER, ref=2), 2: Given(NUMBER, ref=2), 1: Given(4)})], []
    yield "frames too many", "w0 = 0\ngoto here\nhere:\n exit", [replace(bare, slots={i: number for i in range(112, 124)})], []


__all__ = ["HONEST", "Pair", "SIZES", "honest", "pairs", "NoCertificate"]
