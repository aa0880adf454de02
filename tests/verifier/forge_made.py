"""Whole containers made to deceive: loops without end, ways in from the side, labels that say what never was."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from forge_texts import looked_at

from lpn.verifier.certificate import M32, NUMBER, PKT, Given, Label, LoopRow


def sideways() -> Iterator[tuple[str, str, list[Label], list]]:
    """Whole containers made to deceive."""
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
    steps = """
        r2 = *(u64 *)(r1 + 0x10)
        r3 = *(u32 *)(r1 + 0x34)
        w0 = 0
        if w3 > 0x3c goto out
    head:
        r4 = r2
        r4 += r3
        r5 = *(u8 *)(r4 + 0x0)
        w3 += 0x4
        if w3 != 0x40 goto head
    out:
        exit"""
    record, end = Given(6), Label(9, 1, regs={0: number})
    stepping = Label(4, 6, shared=[zero_to(60)], loop=1, regs={0: number, 2: record, 3: Given(NUMBER, ref=2)})
    yield "a counter that begins anywhere, as a multiple", steps, [stepping, end], [LoopRow(4, 0, 4, 5, 4)]
    yield "a counter that begins between its multiples", steps.replace("r3 = *(u32 *)(r1 + 0x34)", "w3 = 1"), [stepping, end], [LoopRow(4, 0, 4, 5, 4)]
    yield "a counter that moves between its multiples", steps.replace("r3 = *(u32 *)(r1 + 0x34)", "w3 = 0").replace("w3 += 0x4", "w3 += 0x5"), [
        stepping, end], [LoopRow(4, 0, 4, 5, 4)]
    around = replace(stepping, shared=[Given(NUMBER, 0xFFFFFFF1, 0xFFFFFFFC)], regs=stepping.regs | {3: Given(NUMBER, ref=2, off=16)})
    yield "a multiple that went around", """
        r2 = *(u64 *)(r1 + 0x10)
        w3 = 4
        w0 = 0
        goto head
    head:
        r4 = r2
        r4 += r3
        r5 = *(u8 *)(r4 + 0x33)
        w3 += 0x3
        if w3 < 0xf goto head
        exit""", [around], [LoopRow(4, 0, 3, 5, 3)]
    flag = Label(2, 6, shared=[zero_to(1)], loop=1, regs={0: number, 3: Given(NUMBER, ref=2)})
    yield "a flag that is set as it is", "w3 = 0\nw0 = 0\nhead:\n w0 += 1\n w3 = 0\n goto head", [flag], [LoopRow(2, 0, -1, 3)]
    yield "a counter that is set to what it may be", "w3 = 0\nw0 = 0\nhead:\n w0 += 1\n w3 = 1\n goto head", [flag], [LoopRow(2, 0, 1, 3)]
    yield "a flag that is set to what it was", "w3 = 1\nw0 = 0\nhead:\n w0 += 1\n if w3 == 0 goto out\n w3 = 1\n goto head\nout:\n exit", [
        flag, Label(6, 1, regs={0: number})], [LoopRow(2, 0, -1, 4)]
    yield "a flag whose other bits are set", """
        r3 = *(u8 *)(r1 + 0x34)
        w0 = 0
    head:
        w0 += 1
        w4 = w3
        w4 &= 0x1
        w3 = 0
        if w4 == 0x0 goto head
        exit""", [replace(flag, shared=[zero_to(255)])], [LoopRow(2, 0, -1, 5)]
    yield "numbers that are said to be bytes compare as equal", """
        r2 = *(u32 *)(r1 + 0x34)
        r3 = *(u32 *)(r1 + 0x38)
        w0 = 0
        goto here
    here:
        if r2 == r3 goto out
        w0 = w7
    out:
        exit""", [Label(4, 9, regs={0: number, 2: Given(11), 3: Given(11)}), Label(6, 1, regs={0: number})], []
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
    yield "the packet's length less a constant, below 0", """
        r2 = *(u64 *)(r1 + 0x0)
        r3 = *(u64 *)(r1 + 0x8)
        w0 = 0
        r5 = r2
        r5 += 0x64
        if r5 > r3 goto out
        w4 = w3
        w4 -= w2
        w4 += -0x32
        goto here
    here:
        if w4 < 0x3d goto bad
    out:
        exit
    bad:
        w0 = w7
        exit""", [Label(10, 9, regs={0: number, 4: Given(NUMBER, ref=1, off=-50)}), Label(11, 5, regs={0: number})], []
    yield "packet pointers further apart than they are", """
        r2 = *(u64 *)(r1 + 0x0)
        w0 = 0
        r5 = r2
        r5 += 5
        goto here
    here:
        w6 = w2
        w6 -= w5
        if w6 > 0x500000 goto bad
        exit
    bad:
        w0 = w7
        exit""", [Label(5, 9, regs={0: number, 2: Given(PKT, 0, 0x400000), 5: Given(PKT, 0, 0xFFE00000)})], []
    yield "a frame that was so before a store", """
        w0 = 0
        *(u64 *)(r10 - 0x8) = r1
        goto here
    here:
        *(u64 *)(r10 - 0x8) = 7
        goto there
    there:
        r2 = *(u64 *)(r10 - 0x8)
        r0 = *(u32 *)(r2 + 0x34)
        exit""", [Label(3, 9, regs={0: number}, slots={29: Given(4)}), Label(5, 5, regs={0: number}, slots={29: Given(4)})], []
    yield "a frame that was so before a helper", """
        w0 = 0
        *(u64 *)(r10 - 0x8) = r1
        *(u32 *)(r10 - 0x10) = 0
        goto here
    here:
        r1 = 0x80401
        r2 = r10
        r2 += -16
        r3 = r10
        r3 += -8
        call 1
        goto there
    there:
        r2 = *(u64 *)(r10 - 0x8)
        r0 = *(u32 *)(r2 + 0x34)
        exit""", [Label(4, 19, regs={0: number}, slots={29: Given(4)}, written=frozenset(range(48, 52))),
                  Label(13, 5, regs={0: number}, slots={29: Given(4)}, written=frozenset(range(48, 52)))], []
    word = Label(3, 19, regs={0: number, 1: Given(4)}, slots={29: zero_to(255)})
    yield "a frame of which a word was looked at", looked_at("u8", "u64"), [word, replace(word, pc=4, cost=9), Label(8, 2)], []
    yield "a pointer of which a half is gone", """
        w0 = 0
        *(u64 *)(r10 - 0x8) = r1
        *(u32 *)(r10 - 0x4) = 1
        goto here
    here:
        r2 = *(u64 *)(r10 - 0x8)
        r0 = *(u32 *)(r2 + 0x34)
        exit""", [Label(4, 9, regs={0: number}, slots={29: Given(4)})], []
    shares = {28: Given(NUMBER, ref=2)}
    yield "a frame whose symbol another label has for another", """
        w0 = 0
        r3 = *(u8 *)(r1 + 0x34)
        *(u32 *)(r10 - 0x8) = r3
        goto here
    here:
        r3 = *(u8 *)(r1 + 0x34)
        goto there
    there:
        r4 = *(u32 *)(r10 - 0x8)
        if w3 > w4 goto bad
        exit
    bad:
        w0 = w7
        exit""", [Label(4, 9, shared=[zero_to(255)], regs={0: number, 1: Given(4), 3: Given(NUMBER, ref=2)}, slots=shares),
                  Label(6, 5, shared=[zero_to(255)], regs={0: number, 3: Given(NUMBER, ref=2)}, slots=shares)], []
    yield "a frame with a symbol that the label has not", """
        w0 = 0
        r3 = *(u8 *)(r1 + 0x34)
        r4 = *(u8 *)(r1 + 0x34)
        *(u32 *)(r10 - 0x8) = r3
        goto here
    here:
        w0 = 1
        goto there
    there:
        r5 = *(u32 *)(r10 - 0x8)
        if w4 > w5 goto bad
        exit
    bad:
        w0 = w7
        exit""", [Label(5, 9, shared=[zero_to(255), zero_to(255)], slots=shares,
                        regs={0: number, 3: Given(NUMBER, ref=2), 4: Given(NUMBER, ref=3)}),
                  Label(7, 5, shared=[zero_to(255)], regs={0: number, 3: Given(NUMBER, ref=2), 4: Given(NUMBER, ref=2)}, slots=shares)], []
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
    yield "bytes beyond the stack", "w0 = 0\nexit\nw0 = 0\nexit", [Label(2, 9, written=frozenset({0, *range(400, 512)}))], []
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
    overlap = Label(3, 9, regs={0: number}, slots={29: Given(2), 28: Given(NUMBER, 0, 9)}, written=frozenset(range(56, 64)))
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
    yield "frames too many", "w0 = 0\ngoto here\nhere:\n exit", [replace(bare, slots={2 * i: Given(NUMBER, 0, 9) for i in range(20)})], []
