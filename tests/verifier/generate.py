"""Random programs that look like packet code: cursors, comparisons with the end, masks, spills, loops, helpers, calls.

`program(choose)` returns assembly; `choose(sequence)` picks an element (hypothesis or a seeded Random). r6: context, r7: packet, r8: its end, r9: record;
r0-r5 work. Most pieces are right, some are one off, so that both verdicts and their border are met.
"""
from __future__ import annotations

from lpn.compiler.helpers import which

WORK = [0, 1, 2, 3, 4, 5]
SIZES = [(1, "u8"), (2, "u16"), (4, "u32")]


class Writer:
    def __init__(self, choose):
        self.choose, self.lines, self.labels, self.depth = choose, [], 0, 0
        self.cursors = [7]                            # registers that (probably) hold packet pointers

    def out(self, text):
        self.lines.append(text)

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def reg(self):
        return self.choose(WORK)

    def small(self):
        return self.choose([0, 1, 2, 3, 4, 7, 8, 12, 15, 16, 20, 31, 40, 55, 60, 63, 64, 65, 72])

    def number(self):
        return self.choose([0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 1000, 2047, 2048, 65535, 0x7FFFFFFF,
                            -1, -2, -8, -128, -0x80000000])

    # pieces --------------------------------------------------------------------------------------
    def arithmetic(self):
        w, a, b = self.choose("rww"), self.reg(), self.reg()
        op = self.choose(["+=", "+=", "-=", "&=", "|=", "^=", "*=", "=", "=", "<<=", ">>=", "s>>=", "/=", "%="])
        if op in ("<<=", ">>=", "s>>="):
            if self.choose([0, 0, 1]):
                self.out(f"w{b} &= {self.choose([7, 15, 31, 31, 32, 63])}")
                if self.choose([0, 0, 1]):
                    self.out(f"if w{b} > {self.choose([31, 32, 63])} goto end")
                self.out(f"{w}{a} {op} {w}{b}")
            else:
                self.out(f"{w}{a} {op} {self.choose([1, 2, 3, 4, 8, 16, 24, 31, 32])}" if w == "r" else
                         f"{w}{a} {op} {self.choose([1, 2, 3, 4, 8, 16, 24, 31])}")
        elif op in ("/=", "%="):
            if self.choose([0, 1]):
                self.out(self.choose([f"w{b} |= 1", f"if w{b} == 0 goto end", f"if r{b} == 0 goto end", f"if r{b} < 1 goto end",
                                      f"if w{b} s< 1 goto end", "w0 = 0"]))
                self.out(f"{w}{a} {op} {w}{b}")
            else:
                self.out(f"{w}{a} {op} {self.choose([1, 2, 3, 7, 10, 64])}")
        elif self.choose([0, 1]):
            self.out(f"{w}{a} {op} {w}{b}")
        else:
            self.out(f"{w}{a} {op} {self.number()}")

    def wide(self):
        """Numbers whose upper half matters: negative, near 2^63, unknown in 64 bits; what 32-bit facts say nothing about."""
        a, b = self.choose([0, 1, 2]), self.choose([3, 4, 5])
        self.out(f"r{a} = {self.choose(['*(u64 *)(r6 + 72)', '*(u64 *)(r9 + 8)', '0x7ffffffffffffff0 ll', '0xfffffffffffffff0 ll', '-5', '-1'])}")
        if self.choose([0, 1]):
            self.out(f"r{a} += {self.choose([1, 5, 16, 32, -1, -16])}")
        if self.choose([0, 1]):
            self.out(f"if {self.choose('rww')}{a} {self.choose(['>', '>=', 's>', 's<', '<'])} {self.choose([1, 15, 60, -1])} goto end")
        if self.choose([0, 1]):
            self.out(f"w{b} = w{a}" if self.choose([0, 1]) else f"r{b} = r{a}")
        if self.choose([0, 1]):
            self.out(f"if r{a} {self.choose(['<', '<=', '>', '>=', 's<', 's>=', '=='])} r{b} goto end")
        if self.choose([0, 1]):
            self.out(f"r4 = r9\n r4 += r{self.choose([a, b])}\n r5 = *(u8 *)(r4 + {self.choose([0, 1, 3])})")
            self.cursors = [7]

    def before(self):
        """Around the packet's first byte."""
        self.out(self.choose(["r3 = r7\n r3 += -1\n r2 = *(u8 *)(r3 + 0)", "r2 = *(u16 *)(r7 - 1)", "w5 &= 3\n r3 = r7\n r3 -= r5\n r2 = *(u8 *)(r3 + 3)",
                              "w5 &= 3\n r3 = r7\n r3 -= r5\n r2 = *(u8 *)(r3 + 2)", "r3 = r7\n r3 += -2\n r2 = *(u8 *)(r3 + 2)"]))
        self.cursors = [7]

    def remaining(self):
        """What is left behind a cursor, compared as a number; then as much is read or written."""
        n = self.choose([1, 2, 4, 8, 65, 70])
        k = self.choose([0, 0, 3, 14])
        self.out(f"w5 &= {self.choose([15, 31])}\n r2 = r7\n r2 += r5\n r2 += {k}")
        self.out("r4 = r8\n r4 -= r2")
        if self.choose([0, 1]):
            self.out(f"r4 += {self.choose([2, -1, 8])}")
        if self.choose([0, 0, 1]):
            self.out("if r2 > r8 goto end\n w4 = w4")
        self.out(f"if {self.choose('rrw')}4 {self.choose(['s<', 's<', 's<=', '<'])} {n} goto end")
        self.out(self.choose([f"r4 = *(u8 *)(r2 + {n + self.choose([62, 63, 64, 65])})", f"*(u8 *)(r2 + {n - self.choose([0, 1, 1, 2])}) = 7"]))
        self.cursors = [7, 2]

    def strided_loop(self):
        """From one of two starts in steps, until equal."""
        head, start, step = self.label(), self.label(), self.choose([2, 3, 5, 7, 12])
        times = self.choose([2, 3, 8])
        self.out(f"w2 = {self.choose([0, step, 1, 6])}\n if w3 == 0 goto {start}\n w2 = {self.choose([0, step, 2 * step, 7])}")
        self.out(f"{start}:\n {head}: w2 += {step}")
        self.out("r4 = r9\n r4 += r2\n r5 = *(u8 *)(r4 + 0)" if self.choose([0, 1]) else "w0 += 1")
        self.out(f"if w2 != {step * times + self.choose([0, 0, 0, 1, 7])} goto {head}")
        self.cursors = [7]

    def atomic(self):
        x = self.reg()
        k, r = self.choose([("u64", "r"), ("u32", "w")])
        self.out(f"*(u64 *)(r10 - 32) = {self.choose([3, 60, -1])}")
        self.out(self.choose([f"lock *({k} *)(r10 - 32) {self.choose(['+=', '|=', '&=', '^='])} {r}{x}",
                              f"{r}{x} = atomic_fetch_{self.choose(['add', 'or', 'and', 'xor'])}(({k} *)(r10 - 32), {r}{x})",
                              f"{r}{x} = xchg{'_64' if r == 'r' else '32_32'}(r9 + {self.choose([0, 8, 56, 60])}, {r}{x})",
                              f"{r}0 = cmpxchg{'_64' if r == 'r' else '32_32'}(r10 - 32, {r}0, {r}{x})"]))
        self.out(f"r{self.reg()} = *({k} *)(r10 - 32)")

    def unary(self):
        a = self.reg()
        self.out(self.choose([f"w{a} = -w{a}", f"r{a} = be16 r{a}", f"r{a} = be32 r{a}", f"r{a} = bswap32 r{a}", f"r{a} = (s8)r{a}",
                              f"w{a} = (s16)w{a}", f"r{a} = (s32)r{a}", f"w{a} = w{a}", f"r{a} = le16 r{a}", f"r{a} = -r{a}"]))

    def mask(self):
        self.out(f"w{self.reg()} &= {self.choose([1, 3, 7, 15, 31, 63, 127, 255, 12, 60, 248])}")

    def packet_load(self):
        c, (_, kind) = self.choose(self.cursors), self.choose(SIZES)
        self.out(f"r{self.reg()} = *({self.choose([kind, kind, kind.replace(chr(117), chr(115))])} *)(r{c} + {self.small()})")

    def packet_store(self):
        c, (_, kind) = self.choose(self.cursors), self.choose(SIZES)
        self.out(f"*({kind} *)(r{c} + {self.choose([0, 0, 1, 2, 4, 8, 20])}) = w{self.reg()}")

    def check(self):
        c, t = self.choose(self.cursors), self.reg()
        n = self.small()
        self.out(f"r{t} = r{c}")
        self.out(f"r{t} += {n}")
        self.out(self.choose([f"if r{t} > r8 goto end", f"if r8 < r{t} goto end", f"if r{t} >= r8 goto end", f"if r8 <= r{t} goto end",
                              f"if r{t} == r8 goto end"]))

    def cursor(self):
        c = self.choose([2, 3, 4, 5])
        if self.choose([0, 0, 0, 1]):
            x = self.reg()
            self.out(f"w{x} &= {self.choose([7, 15, 31, 63])}")
            if x == c:
                self.out(f"r0 = r{x}")
                x = 0
            self.out(f"r{c} = r{self.choose(self.cursors)}")
            self.out(f"r{c} += r{x}")
        else:
            self.out(f"r{c} = r{self.choose(self.cursors)}")
            self.out(f"r{c} += {self.choose([0, 1, 2, 4, 8, 16, 40, -1])}")
        self.cursors = [7, 7, c]

    def advance(self):
        c = self.cursors[-1]
        if c != 7:
            x = self.choose([r for r in WORK if r != c])
            self.out(self.choose([f"r{c} += {self.choose([1, 2, 4, 8])}", f"r{c} += -1", f"w{x} &= 7\n r{c} += r{x}", f"r{c} -= 2"]))

    def length(self):
        a = self.reg()
        self.out(self.choose([f"r{a} = r8\n r{a} -= r7", f"w{a} = w8\n w{a} -= w{self.choose(self.cursors)}",
                              f"r{a} = r8\n r{a} -= r{self.choose(self.cursors)}"]))
        if self.choose([0, 1]):
            self.out(f"if {self.choose('rw')}{a} {self.choose(['<', '<=', '>', '>='])} {self.small()} goto end")
            if self.choose([0, 1]):
                self.out(f"r{a} = *(u8 *)(r7 + {self.small()})")

    def by_length(self):
        """An index compared with the length as a number."""
        x, l = 4, 5
        self.out("r5 = r8\n r5 -= r7")
        self.out(f"if r{x} {self.choose(['>=', '>'])} r{l} goto end")
        self.out(f"r3 = r7\n r3 += r{x}")
        self.out(f"r2 = *(u8 *)(r3 + {self.choose([0, 0, 1, 62, 63, 64])})")
        if self.choose([0, 1]):
            self.out("*(u8 *)(r3 + 0) = w2")

    def record(self):
        x = self.reg()
        _, kind = self.choose(SIZES)
        if self.choose([0, 1]):
            p = self.choose([2, 3, 4])
            y = self.choose([0, 1, 5])
            self.out(f"w{y} &= {self.choose([7, 15, 28, 31, 60])}")
            self.out(f"r{p} = r9\n r{p} += r{y}")
            self.out(self.choose([f"*({kind} *)(r{p} + {self.choose([0, 1, 4, 32])}) = w{y}", f"r{y} = *({kind} *)(r{p} + {self.choose([0, 2, 32])})"]))
            self.cursors = [7]
        else:
            off = self.choose([0, 1, 4, 8, 60, 61, 62, 63])
            self.out(self.choose([f"*({kind} *)(r9 + {off}) = w{x}", f"r{x} = *({kind} *)(r9 + {off})"]))

    def context(self):
        x = self.reg()
        self.out(self.choose([f"r{x} = *(u32 *)(r6 + {self.choose([40, 44, 48, 52, 56, 64, 68, 72, 84])})",
                              f"*(u32 *)(r6 + {self.choose([40, 44, 48, 52])}) = w{x}", f"r{x} = *(u64 *)(r6 + {self.choose([0, 8, 16, 24, 72])})",
                              f"r{x} = *(u16 *)(r6 + 68)"]))

    def spill(self):
        x, off = self.choose([*WORK, 7, 8]), self.choose([8, 16, 24, 508, 512])
        y = self.reg()
        kind = self.choose(["u64", "u64", "u64", "u32", "u16"])
        self.out(f"*({kind} *)(r10 - {off}) = r{x}")
        if self.choose([0, 1, 1]):
            self.pieces(1)
        self.out(f"r{y} = *({self.choose([kind, kind, kind, 'u32', 'u8'])} *)(r10 - {off - self.choose([0, 0, 0, 4])})")
        if x in (7, *self.cursors) and kind == "u64" and y not in (0, 1):
            self.cursors = [7, y]

    def stack_index(self):
        x = self.choose([1, 2, 3])
        self.out("*(u64 *)(r10 - 16) = 0\n *(u64 *)(r10 - 8) = 5")
        self.out(f"w{x} &= {self.choose([7, 15])}")
        self.out(f"r4 = r10\n r4 += r{x}\n r5 = *(u8 *)(r4 - {self.choose([16, 16, 17, 15])})")
        if self.choose([0, 1]):
            self.out(f"*(u8 *)(r4 - {self.choose([16, 16, 15])}) = w5")
        self.cursors = [7]

    def branch(self):
        w, a = self.choose("rww"), self.reg()
        op = self.choose(["==", "!=", ">", ">=", "<", "<=", "s>", "s>=", "s<", "s<=", "&"])
        b = f"{w}{self.reg()}" if self.choose([0, 1]) else self.number()
        where = self.label()
        self.out(f"if {w}{a} {op} {b} goto {where}")
        before = list(self.cursors)
        self.pieces(self.choose([1, 2, 3]))
        if self.choose([0, 1]):
            after = self.label()
            self.out(f"goto {after}")
            self.out(f"{where}:")
            self.pieces(self.choose([1, 2]))
            where = after
        self.out(f"{where}:")
        self.cursors = [c for c in self.cursors if c in before] or [7]

    def counted_loop(self):
        c, head = self.choose(WORK), self.label()
        step = self.choose([1, 1, 1, 2, 4, -1])
        w = self.choose("rw")
        bound = self.choose([3, 4, 8, 10, 16, 64])
        if self.choose([0, 0, 1]):                    # bound in a register
            b = self.choose([r for r in WORK if r != c])
            self.out(f"w{b} &= {self.choose([7, 15, 63])}")
            if self.choose([0, 1]):
                self.out(f"if w{b} == 0 goto end")
            bound = f"{w}{b}"
        self.out(f"{w}{c} = {0 if step > 0 else bound}")
        self.out(f"{head}:")
        keep = self.lines
        self.lines = []
        self.pieces(self.choose([1, 1, 2]))
        body = [line for line in self.lines]
        self.lines = keep + body
        self.out(f"{w}{c} += {step}")
        ops = ["<", "<", "!=", "<=", "s<", "s<="] if step > 0 else [">", "!=", "s>", ">="]
        self.out(f"if {w}{c} {self.choose(ops)} {bound if step > 0 else self.choose([0, 0, -1, 1])} goto {head}")

    def indexed_loop(self):
        """i from 0 to n, reading packet or record at i."""
        head = self.label()
        bound = self.choose([4, 8, 16, 60, 64, 65])
        self.out(f"w1 = 0\n r3 = {self.choose(['r7', 'r9'])}")
        self.out(f"{head}:")
        self.out(f"r2 = *(u8 *)(r3 + 0)\n w0 += w2\n r3 += 1\n w1 += 1\n if w1 != {bound} goto {head}")
        self.cursors = [7]

    def walking_loop(self):
        """A cursor that walks to the end: fixed step, or a length read from the packet."""
        head, out = self.label(), self.label()
        n = self.choose([1, 2, 4])
        self.out(f"r2 = r7\n r2 += {self.choose([0, 4, 20])}")
        if self.choose([0, 1]):
            self.out("if r2 > r8 goto end")
        self.out(f"{head}:")
        self.out(f"r3 = r2\n r3 += {n}\n if r3 > r8 goto {out}")
        self.out(f"r4 = *(u8 *)(r2 + {self.choose([0, 0, n - 1, n])})")
        if self.choose([0, 1]):
            self.out(f"*(u8 *)(r2 + {self.choose([0, n - 1])}) = w4")
        way = self.choose([0, 0, 1, 2])
        if way == 0:
            self.out(f"r2 += {self.choose([n, 1])}")
        elif way == 1:
            self.out(f"w4 &= 15\n r2 += r4\n r2 += {self.choose([1, 1, 0])}")
        else:
            skip = self.label()
            self.out(f"r2 += 2\n if w4 == 0 goto {skip}\n r2 += r4\n {skip}:")
        self.out(f"goto {head}")
        self.out(f"{out}:")
        if self.choose([0, 1]):
            self.out("w5 = w8\n w5 -= w2")
        self.cursors = [7, 7, 2]

    def helper(self):
        self.out(self.choose(["call 2", "w1 = 5\n w2 = 6\n call 3",
                              "*(u32 *)(r10 - 24) = 7\n w1 = 0x80400\n r2 = r10\n r2 += -24\n r3 = r10\n r3 += -16\n call 1\n "
                              "r1 = *(u32 *)(r10 - 16)",
                              f"w1 = {which(0, self.choose([4, 16, 60]), 4)}\n r2 = r7\n r3 = r9\n call 1"]))
        self.cursors = [7]
        for r in range(1, 6):
            if self.choose([0, 1, 1, 1, 1, 1, 1, 1]):
                self.out(f"w{r} = {self.choose([0, 1, 3, 9, 77])}")

    def local_call(self):
        self.out(self.choose(["r1 = r7\n r2 = r8\n call f1", "r1 = r10\n r1 += -8\n *(u64 *)(r10 - 8) = 1\n call f2", "call f3"]))
        self.cursors = [7]
        for r in range(1, 6):
            self.out(f"w{r} = {self.choose([0, 1, 3])}")

    PIECES = [arithmetic] * 5 + [unary, mask, mask] + [packet_load] * 4 + [packet_store] * 2 + [check] * 5 + [cursor] * 3 + [
        advance, length, by_length, record, record, context, spill, spill, stack_index] + [branch] * 4 + [counted_loop, indexed_loop,
        walking_loop, helper, local_call, wide, wide, before, remaining, remaining, strided_loop, atomic]

    def pieces(self, n):
        if self.depth > 3:
            return
        self.depth += 1
        for _ in range(n):
            self.choose(self.PIECES)(self)
        self.depth -= 1


FUNCTIONS = {
    "f1": "f1:\n r3 = r1\n r3 += 4\n w0 = 0\n if r3 > r2 goto f1end\n r0 = *(u32 *)(r1 + 0)\n *(u8 *)(r1 + 3) = 1\n f1end:\n exit",
    "f2": "f2:\n r0 = *(u64 *)(r1 + 0)\n *(u64 *)(r1 + 0) = 9\n *(u64 *)(r10 - 8) = 2\n exit",
    "f3": "f3:\n w0 = 3\n r6 = 5\n call f2x\n exit\n f2x:\n w0 = 4\n exit",
}


def program(choose, size=None) -> str:
    w = Writer(choose)
    w.out("r6 = r1\n r7 = *(u64 *)(r6 + 0)\n r8 = *(u64 *)(r6 + 8)\n r9 = *(u64 *)(r6 + 16)\n w0 = 0")
    for r in range(1, 6):
        w.out(choose([f"r{r} = *(u32 *)(r6 + {choose([44, 56, 64])})", f"w{r} = {choose([0, 1, 5, 60])}", f"r{r} = *(u8 *)(r7 + {r})"]))
    if choose([0, 1]):
        w.out(f"r2 = r7\n r2 += {choose([7, 20, 64])}\n if r2 > r8 goto end\n w2 = 1")
    w.pieces(size or choose([2, 3, 4, 5, 6, 8]))
    if choose([0, 1, 1]):
        w.out("w0 = w0" if choose([0, 1]) else "w0 = 1")
    w.out("exit\n end: w0 = 1\n exit")
    text = "\n".join(w.lines)
    for name, body in FUNCTIONS.items():
        if f"call {name}\n" in text + "\n":
            text += "\n" + body
    return text
