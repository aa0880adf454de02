"""Short programs of each operation and each comparison of RFC 9669, on operands of which different things are known: all are accepted, and every claim about
them is looked at when they run.
"""
from __future__ import annotations

import random
from collections.abc import Iterator

BINARY = {"+=": "any", "-=": "any", "*=": "any", "|=": "any", "&=": "any", "^=": "any", "<<=": "count", ">>=": "count", "s>>=": "count", "/=": "divisor",
          "%=": "divisor", "s/=": "divisor", "s%=": "divisor"}
UNARY = ["r2 = -r2", "w2 = -w2", "w2 = w2", "r2 = (s8)r2", "r2 = (s16)r2", "r2 = (s32)r2", "w2 = (s8)w2", "w2 = (s16)w2",
         *(f"r2 = {way}{bits} r2" for way in ("le", "be", "bswap") for bits in (16, 32, 64)), "r2 <<= 32\nr2 >>= 32", "r2 <<= 32\nr2 s>>= 32"]
COMPARED = ["==", "!=", "<", "<=", ">", ">=", "s<", "s<=", "s>", "s>=", "&"]
WORDS = [0, 1, 2, 7, 8, 15, 40, 127, 128, 255, 256, 1000, 32767, 32768, 65535, 65536, 0x7FFFFFFE, 0x7FFFFFFF, -1, -2, -8, -128, -129, -256, -32768, -0x7FFFFFFF, -0x80000000]
LONG = [0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x8000000000000001, 0xFFFFFFFF00000000, 0x1234567890ABCDEF]


class Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.lines, self.at, self.labels = rng, [], 0, 0

    def out(self, *lines: str) -> None:
        self.lines += lines

    def operand(self, r: int) -> None:
        """A number of which something is known, in a register."""
        rng = self.rng
        kind = rng.choice("bhwqsskkmmooccccx")
        size = {"b": "u8", "h": "u16", "w": "u32", "q": "u64", "s": rng.choice(("s8", "s16", "s32"))}.get(kind, rng.choice(("u8", "u16", "u32", "u32", "u64")))
        if kind == "k":
            self.out(f"r{r} = {rng.choice(WORDS)}" if rng.random() < 0.6 else f"r{r} = {rng.choice(LONG):#x} ll")
            return
        self.at = (self.at + 8) % 64
        self.out(f"r{r} = *({size} *)(r9 + {self.at})")
        if kind == "m":
            self.out(f"{rng.choice('rw')}{r} &= {rng.choice(WORDS[1:])}")
        elif kind == "o":
            self.out(f"{rng.choice('rw')}{r} {rng.choice(('|=', '*=', '+=', '^='))} {rng.choice(WORDS[1:])}", *([f"r{r} += {rng.choice(WORDS)}"] if rng.random() < 0.3 else []))
        elif kind == "c":
            for _ in range(rng.choice((1, 2))):
                self.out(f"if {rng.choice('rrw')}{r} {rng.choice(COMPARED)} {rng.choice(WORDS)} goto end")
        elif kind == "x":
            self.out(f"r{r} <<= {rng.choice((3, 8, 32))}")

    def after(self, r: int) -> None:
        """Something that uses the result."""
        rng = self.rng
        what = rng.choice("nccsshtdl")
        self.labels += 1
        skip = f"L{self.labels}"
        if what == "c":
            w = rng.choice("rrw")
            self.out(f"if {w}{r} {rng.choice(COMPARED)} {rng.choice((w + '3', rng.choice(WORDS)))} goto {skip}", f"r4 = r{r}", "w5 = w4", f"{skip}:")
        elif what in "sh":
            bits, off = rng.choice((8, 16, 32, 64)), rng.choice((8, 16))
            narrow = rng.choice([b for b in (8, 16, 32, 64) if b <= bits])
            self.out(f"*(u{bits} *)(r10 - {off}) = r{r}", f"r4 = *({'us'[narrow < 64 and rng.random() < 0.3]}{narrow} *)(r10 - {off})",
                     f"if r4 {rng.choice(COMPARED)} {rng.choice(WORDS)} goto {skip}", f"r5 = r{r}", "w5 += 3", f"{skip}:")
        elif what == "t":
            self.out(f"w4 = w{r}", f"if w4 {rng.choice(COMPARED)} {rng.choice(WORDS)} goto {skip}", f"r5 = r{r}", "r5 += 1", f"{skip}:")
        elif what == "d":
            self.out(f"r4 = r{r}", f"{rng.choice('rw')}4 += {rng.choice(WORDS)}", f"if {rng.choice('rw')}4 {rng.choice(COMPARED)} {rng.choice(WORDS)} goto {skip}",
                     f"r5 = r{r}", rng.choice(("r5 -= r4", "w5 -= w4", "r5 -= 8")), f"{skip}:")

    def program(self) -> str:
        return "\n".join(["r9 = *(u64 *)(r1 + 16)", "r0 = 0", *self.lines, "r0 = r2", "end: exit"])


def binary(rng: random.Random, sign: str, wide: bool, register: bool) -> str:
    w, made = Writer(rng), BINARY[sign]
    r = "r" if wide else "w"
    w.operand(2)
    w.operand(3)
    width = 64 if wide else 32
    if not register:
        b = rng.choice({"count": [0, 1, 3, 8, 16, 31] + [32, 33, 48, 63] * wide, "divisor": [1, 2, 3, 8, 10, 255, 65536, -1, -2, -7, 0x7FFFFFFF]}.get(made, WORDS))
        w.out(f"{r}2 {sign} {b}")
    else:
        if made == "count":
            w.out(f"r3 &= {rng.choice((width - 1, 7, 31))}")
        elif made == "divisor":
            w.out(*rng.choice((["r3 |= 1"], [f"if {r}3 == 0 goto end"], [f"if {r}3 == 0 goto end", f"if {r}3 > 9 goto end"], [f"if {r}3 < 3 goto end"])))
        w.out(f"{r}2 {sign} {r}{rng.choice((3, 3, 3, 3, 2)) if made == 'any' else 3}")
    w.after(2)
    w.after(2)
    return w.program()


def unary(rng: random.Random, form: str) -> str:
    w = Writer(rng)
    w.operand(3)
    w.operand(2)
    w.out("r3 = r2", form)
    w.after(2)
    w.after(3)
    return w.program()


def comparison(rng: random.Random, sign: str, wide: bool, register: bool) -> str:
    w = Writer(rng)
    w.operand(2)
    w.operand(3)
    r = "r" if wide else "w"
    if rng.random() < 0.4:                            # correlated: a sum or a copy that moved
        w.out(*rng.choice((["r3 = r2", f"r3 += {rng.choice((1, 8, -8))}"], ["r4 = *(u16 *)(r9 + 6)", "r3 = r2", "r3 += r4"], ["w3 = w2"], ["r4 = r2", "r4 -= r3", "r3 = r4"])))
    w.out("r4 = 0", "r5 = 0", f"if {r}2 {sign} {r + '3' if register else rng.choice(WORDS)} goto T", "r4 = r2", "r5 = r3", "r5 -= r2", "goto J",
          "T: r4 = r2", "w5 = w3", "w5 -= w4", "J: r4 += r5")
    w.after(2)
    w.after(3)
    return w.program()


def cursors(rng: random.Random) -> str:
    """Places in the packet and lengths, added and taken away, compared with each other, with the end and with what is left; their differences at the end."""
    lines = ["r9 = *(u64 *)(r1 + 16)", "r8 = *(u64 *)(r1 + 8)", "r7 = *(u64 *)(r1 + 0)", "r0 = 0", "r2 = *(u8 *)(r9 + 0)", "r3 = *(u8 *)(r9 + 1)", f"r2 &= {rng.choice((7, 63, 255))}",
             "r4 = r7", f"r4 += {rng.choice('23')}".replace("+= ", "+= r") if rng.random() < 0.7 else "r4 += 2", "r5 = r4", "r5 += r2", "r6 = r8", f"r6 -= r{rng.choice('45')}"]
    for _ in range(rng.randrange(4, 9)):
        p, q, n = rng.choice("45"), rng.choice("45"), rng.choice("23")
        c = rng.choice((-4, -1, 1, 2, 9))
        lines += rng.choice(([f"if r{p} {rng.choice(('>', '>='))} r8 goto end"], [f"r{p} += {c}"], [f"r{p} = r{q}", f"r{p} += r{n}"], [f"r{p} -= r{n}"],
                             [f"if {rng.choice('rw')}6 < {rng.choice('rw')}{n} goto end".replace("r6 < w", "r6 < r").replace("w6 < r", "w6 < w")],
                             [f"if r6 s< r{n} goto end", f"r6 -= r{n}", f"r{p} += r{n}"], [f"if w{n} < 9 goto end", f"w{n} += {-abs(c)}"],
                             [f"r1 = {(1 << 32) - abs(c):#x} ll", f"if r{n} < {rng.choice((1, 9))} goto end", f"r{n} += r1", f"w{n} = w{n}", f"if r{n} > 300 goto end"], [f"r4 += {c}", "r5 = r4", f"r5 += r{n}", "r4 += 3", f"r4 += r{n}"],
                             [f"if w{n} < 9 goto end", f"w{n} += {-abs(c)}", "r5 = r4", f"r4 -= r{n}", "r4 += 1", f"r4 += r{n}"],
                             [f"if w{n} >= w{'5' if n == '2' else '2'} goto end".replace("w5", "w3")], [f"if r{p} > r{q} goto end"], ["r6 = r8", f"r6 -= r{p}"],
                             [f"w{n} += -1", f"if w{n} > 255 goto end"], [f"if r2 {rng.choice(COMPARED[2:6])} r3 goto end"]))
    return "\n".join([*lines, "r1 = r5", "r1 -= r4", "r3 += r1", "r1 = r8", "r1 -= r5", "r6 -= r1", "r2 += r6", "r4 -= r7", "end: r0 = 0", "exit"])


def shifting(rng: random.Random, sign: str, wide: bool) -> str:
    """A loop whose counter is shifted."""
    r = "r" if wide else "w"
    first = rng.choice(("w2 = 1", "r2 = *(u16 *)(r9 + 0)\nif r2 == 0 goto end", f"r2 = *(u32 *)(r9 + 0)\nif r2 == 0 goto end\nr2 &= {rng.choice((255, 0xFFFF))}\nr2 |= 1", "r2 = 3"))
    stop = rng.choice(("!= 0", "> 3", "s> 1")) if sign == ">>=" else f"< {rng.choice((128, 1000, 0x10000))}"
    return (f"r9 = *(u64 *)(r1 + 16)\nr0 = 0\n{first}\nL: r3 = r2\n{r}2 {sign} {rng.choice((1, 1, 2, 3))}\nr0 += 1\nif {rng.choice((r + '2', r + '3'))} {stop} goto L\n"
            "r3 += r0\nw4 = w2\nend: exit")


def programs(each: int = 4, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Name, assembly for profile lpn with a record of 72 octets. `each`: of each form."""
    for i in range(each):
        for sign in BINARY:
            for wide in (True, False):
                for register in (True, False):
                    name = f"{'r' if wide else 'w'}2 {sign} {'register' if register else 'constant'}, {i}"
                    yield name, binary(random.Random(f"{seed} {name}"), sign, wide, register)
        for form in UNARY:
            name = f"{form.splitlines()[-1]}, {i}"
            yield name, unary(random.Random(f"{seed} {name}"), form)
        for sign in COMPARED:
            for wide in (True, False):
                for register in (True, False):
                    name = f"if {'r' if wide else 'w'}2 {sign} {'register' if register else 'constant'}, {i}"
                    yield name, comparison(random.Random(f"{seed} {name}"), sign, wide, register)
        for sign in ("<<=", ">>="):
            for wide in (True, False):
                name = f"{'r' if wide else 'w'}2 {sign} in a loop, {i}"
                yield name, shifting(random.Random(f"{seed} {name}"), sign, wide)
        for form in range(25):
            name = f"cursors {form}, {i}"
            yield name, cursors(random.Random(f"{seed} {name}"))
