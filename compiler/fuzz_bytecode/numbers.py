"""Random bytecode that computes: many ways from one number to another, in 32 and in 64 bits, and comparisons of what came of it.

What a verifier knows of a number that was made of another one, by a mask, a shift, an extension, a sum, it learns from comparisons of either. Where the two
widths or the two kinds of order are mixed, it may believe too much.
"""
from __future__ import annotations

from .programs import Writer
from .words import NUMBER, WORK

SHORT = (0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 48, 63, 64, 100, 127, 128, 255, 256, 4095, 65535, 65536, 0x7FFFFFFF, -1, -2, -8, -16, -128, -256, -65536, -0x80000000)
WIDE = (0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 1 << 32, 0x1_0000_0010, 0xFF_0000_00FF, 0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_0000_001F, 0x7FFF_FFFF_FFFF_FFFF, 1 << 63,
        0x8000_0000_8000_0000, 0x00FF_00FF_00FF_00FF, 0xFFFF_FFFF_7FFF_FFFF, -5, -0x80000001)
COMPARED = (">", ">=", "<", "<=", "==", "!=", "s>", "s>=", "s<", "s<=", "&")
SHIFTED = ("<<=", ">>=", "s>>=")
DIVIDED = ("/=", "%=", "s/=", "s%=")
#: The same number said in another way, or a part of it.
EXTENDED = ("r{a} = r{b}", "w{a} = w{b}", "r{a} = (s8)r{b}", "r{a} = (s16)r{b}", "r{a} = (s32)r{b}", "w{a} = (s8)w{b}", "w{a} = (s16)w{b}")
TURNED = ("be16", "be32", "be64", "le16", "le32", "bswap16", "bswap32", "bswap64")


class Numbers(Writer):
    """As Writer, and most pieces compute."""

    def other(self, *but: int) -> int:
        """A register to overwrite that is none of these, if there is one."""
        return self.choose([r for r in WORK if r not in but and r not in self.kept] or [r for r in WORK if r not in but])

    def unknown(self) -> None:
        """A number from memory: of any width, with or without its sign, or one whose two halves have nothing to do with each other."""
        a = self.free()
        if a in self.kept:
            return
        kind = self.choose(("u8", "u8", "u16", "u32", "s8", "s16", "s32", "u64", "u64", "halves", "halves", "constant"))
        if kind == "constant":
            self.constant_in(a)
        elif kind == "halves":
            self.out(f"r{a} = *({self.choose(('u8', 'u32', 's32'))} *)(r9 + {self.choose((0, 4, 20))})")
            with self.keeping(a):
                b = self.other(a)
            if b not in self.kept:
                self.out(f"r{b} = *(u32 *)(r9 + {self.choose((8, 12, 24))})", f"r{b} <<= 32", f"r{a} {self.choose(('|=', '+=', '^='))} r{b}")
                self.held[b] = NUMBER
        else:
            self.out(f"r{a} = *({kind} *)(r9 + {self.choose((0, 8, 16, 24))})")
        self.held[a] = NUMBER

    def constant_in(self, r: int) -> None:
        if self.chance(2):
            self.out(f"r{r} = {self.choose(WIDE)} ll")
        else:
            self.out(f"{self.choose('rw')}{r} = {self.choose(SHORT)}")
        self.held[r] = NUMBER

    def copied(self) -> None:
        b = self.number()
        a = self.other(b)
        if a not in self.kept:
            self.out(self.choose((*EXTENDED, *EXTENDED[:2] * 2)).format(a=a, b=b))
            self.held[a] = NUMBER

    def turned(self) -> None:
        a = self.number()
        if a in self.kept:
            return
        if self.chance(3):
            w = self.choose("rw")
            self.out(f"{w}{a} = -{w}{a}")
        else:
            self.out(f"r{a} = {self.choose(TURNED)} r{a}")

    def shifts_back(self) -> None:
        """As code without an extension has it: up and down again, and perhaps something between."""
        a, n = self.number(), self.choose((8, 16, 24, 31, 32, 48, 56))
        if a in self.kept:
            return
        w = self.choose("rrw") if n < 32 else "r"
        self.out(f"{w}{a} <<= {n}")
        if self.chance(3):
            self.out(f"{w}{a} {self.choose(('+=', '-=', '|=', '&='))} {self.choose((1 << min(n, 30), n, -(1 << min(n, 30)), 1 << min(n + 1, 30)))}")
        if self.chance(3):
            self.asked(a)
        self.out(f"{w}{a} {self.choose(('>>=', 's>>='))} {n if not self.chance(6) else self.choose((8, 24))}")

    def computed(self) -> None:
        """Any operation of two numbers, in 32 or in 64 bits."""
        a = self.number()
        if a in self.kept:
            return
        w, op = self.choose("rww"), self.choose(("+=", "+=", "-=", "-=", "&=", "&=", "|=", "^=", "*=", *SHIFTED, *DIVIDED))
        if op in SHIFTED:
            top = 31 if w == "w" else 63
            if self.chance(2):
                self.out(f"{w}{a} {op} {self.choose([n for n in (1, 2, 3, 4, 7, 8, 16, 24, 31, 32, 33, 48, 63) if n <= top])}")
                return
            b = self.count(a, w, self.choose((1, 3, 7, 15, 31, top)))
            if b != a:
                self.out(f"{w}{a} {op} {w}{b}")
            return
        if op in DIVIDED:
            if self.chance(2):
                self.out(f"{w}{a} {op} {self.choose((1, 2, 3, 4, 7, 8, 10, 64, 255, -1, -2, -8))}")
                return
            b = self.divisor(a, w)
            if b != a:
                self.out(f"{w}{a} {op} {w}{b}")
            return
        if self.chance(3):
            self.out(f"{w}{a} {op} {self.choose(SHORT)}")
            return
        b = self.number(a)
        if b != a:
            self.out(f"{w}{a} {op} {w}{b}")

    def masked(self) -> None:
        """The bits of a constant that a register holds, all 64 of it: which of them does an operation in 32 bits take?"""
        a = self.number()
        b = self.other(a)
        if a in self.kept or b in self.kept or a == b:
            return
        if self.chance(2):                            # the number as it was is kept
            with self.keeping(a, b):
                c = self.other(a, b)
            if c not in self.kept and c not in (a, b):
                self.out(f"r{c} = r{a}")
                self.held[c] = NUMBER
        w = self.choose("rww")
        self.out(f"r{b} = {self.choose((*WIDE, -1, -1, -256, -0x80000000))} ll", f"{w}{a} {self.choose(('&=', '&=', '|=', '^='))} {w}{b}")
        self.held[b] = NUMBER

    def power(self) -> None:
        """A constant shifted by an unknown: where the one is compared, the other one is known better."""
        a, w = self.free(), self.choose("rww")
        b = self.count(a, w, self.choose((3, 7, 15)))
        if b == a or a in self.kept:
            return
        self.out(f"w{a} = {self.choose((1, 1, 2, 4, 8))}", f"{w}{a} <<= {w}{b}")
        self.held[a] = NUMBER
        self.out(f"if {self.choose('rw')}{self.choose((a, a, b))} {self.choose(('>', '<', 's>', 's<', '!=', '=='))} {self.choose((1, 2, 4, 16, 128))} goto end")

    def count(self, but: int, w: str, top: int) -> int:
        """A register that shifts by 0..top: all of it, or its lower half only, which 32-bit shifts take."""
        b = self.number(but)
        if b == but or b in self.kept:
            return but
        way = self.choose("mwcs") if w == "r" else self.choose("mwcsddhhh")
        if way == "m":
            self.out(f"r{b} &= {top}")
        elif way == "w":
            self.out(f"w{b} &= {top}")
        elif way == "c":
            self.out(f"if r{b} > {top} goto end")
        elif way == "s":
            self.out(f"if r{b} s> {top} goto end", f"if r{b} s< 0 goto end")
        elif way == "d":                              # of the upper half nothing is asked
            self.out(f"if w{b} > {top} goto end")
        else:
            with self.keeping(b):
                mask = self.other(b, but)
            if mask in (b, but) or mask in self.kept:
                return but
            self.out(f"r{mask} = {(0xFFFF_FFFF << 32) | top} ll", f"r{b} &= r{mask}")
            self.held[mask] = NUMBER
        return b

    def divisor(self, but: int, w: str) -> int:
        """A register that is not 0, but may be below 0."""
        b = self.number(but)
        if b == but or b in self.kept:
            return but
        if self.chance(3):                            # not 0 as an unsigned number, so not as a signed one either
            n = self.choose((8, 16, 32))
            self.out(f"r{b} &= {(1 << n) - 1}" if n < 32 else f"w{b} = w{b}", self.choose((f"if r{b} == 0 goto end", f"if w{b} == 0 goto end", f"r{b} |= 1")),
                     self.choose((f"r{b} = (s{n})r{b}", f"r{b} <<= {64 - n}\n r{b} s>>= {64 - n}")))
            return b
        if self.chance(3):
            self.out(self.choose((f"if r{b} s> {self.choose((0, 5, 200))} goto end", f"if r{b} s< {self.choose((-1, -7, -300))} goto end", f"{w}{b} &= {self.choose((7, 255))}")))
        self.out(self.choose((f"{w}{b} |= {self.choose((1, 2, 128))}", f"if {w}{b} == 0 goto end", f"if {w}{b} == 0 goto end", f"if {w}{b} s< 1 goto end", f"if {w}{b} s>= 0 goto end",
                              f"if {w}{b} < 1 goto end")))
        return b

    def asked(self, a: int) -> None:
        """One comparison: one way goes on, or both do, and meet behind what one of them learns more."""
        w = self.choose("rw")
        b = self.number(a)
        question = f"{w}{a} {self.choose(COMPARED)} {f'{w}{b}' if b != a and self.chance(2) else self.choose(SHORT)}"
        way = self.choose("enm")
        if way == "e":
            self.out(f"if {question} goto end")
            return
        where = self.label()
        self.out(f"if {question} goto {where}")
        if way == "n":
            self.out("goto end")
        elif a not in self.kept:
            self.out(f"{self.choose('rw')}{a} {self.choose(('+=', '&=', '^=', '='))} {self.choose(SHORT)}")
        self.out(f"{where}:")

    def compared(self) -> None:
        """Comparisons of numbers that may have to do with each other."""
        for _ in range(self.choose((1, 1, 2))):
            self.asked(self.number())

    def chain(self) -> None:
        """A number, another one made of it, and comparisons of both."""
        b = self.number()
        a = self.other(b)
        if a == b or a in self.kept or b in self.kept:
            return
        self.out(self.choose((*EXTENDED, *EXTENDED[:2] * 2)).format(a=a, b=b))
        self.held[a] = NUMBER
        for _ in range(self.choose((1, 1, 2))):
            self.out(self.choose((f"{self.choose('rw')}{a} &= {self.choose(SHORT)}", f"{self.choose('rw')}{a} += {self.choose(SHORT)}", f"r{a} >>= {self.choose((1, 4, 8, 16, 31, 32, 63))}",
                                  f"w{a} >>= {self.choose((1, 4, 8, 16, 31))}", f"w{a} s>>= {self.choose((1, 8, 31))}", f"r{a} <<= {self.choose((1, 4, 8, 32))}",
                                  f"w{a} <<= {self.choose((1, 4, 8, 24))}", f"w{a} *= {self.choose((2, 3, 10, 256))}", f"r{a} *= {self.choose((2, 3, 10, 256))}",
                                  f"r{a} -= r{b}", f"w{a} -= w{b}", f"w{a} ^= -1", f"r{a} ^= -1", f"r{a} = {self.choose(TURNED)} r{a}",
                                  *(line.format(a=a, b=a) for line in EXTENDED[2:]))))
        for _ in range(self.choose((1, 2, 2))):
            self.asked(self.choose((a, b)))
        if self.chance(3):
            self.index(self.choose((a, b)))

    def shrinking_loop(self) -> None:
        """A loop that ends because every turn shifts, divides or folds a number, takes a bit from it, or moves it through 0 in 32 bits."""
        if self.depth > 2 or len(self.kept) > 2:
            return
        c, head, out = self.number(), self.label(), self.label()
        if c in self.kept:
            return
        with self.keeping(c):
            t = self.other(c)
        if t == c or t in self.kept:
            return
        if self.chance(2):                            # how far it is from its end is known
            self.out(self.choose((f"r{c} &= {self.choose((7, 255, 65535, 0x7FFFFFFF))}", f"w{c} = w{c}", f"if r{c} > {self.choose((9, 100, 0x10000))} goto {out}", f"w{c} |= 1",
                                  f"r{c} += 1", f"w{c} = {self.choose((-3, -1, 1, 5, 100))}", f"if w{c} s< -5 goto {out}\n if w{c} s> 20 goto {out}")))
        w, k, question = self.choose("rw"), self.choose((1, 1, 2, 4, 8)), self.label()
        last = self.choose((f"if {self.choose('rw')}{c} {self.choose(('!=', '!=', '>', 's>'))} {self.choose((0, 0, 1, 7))} goto {head}",
                            f"if {self.choose('rw')}{c} {self.choose(('==', '==', '<', '<=', 's<'))} {self.choose((0, 0, 1, 3, 100))} goto {out}\n goto {head}"))
        first = self.chance(2)
        self.out(f"r{t} = 0", *([f"goto {question}"] if first else []), f"{head}:")
        with self.keeping(c):
            if self.chance(3):
                self.pieces(1, inside=True)
            turn = self.choose("rrlddfbzzhm")
            by = self.choose((2, 3, 10, 16, 256))
            width = self.choose((8, 16))
            self.out(*{"r": (f"{w}{c} {self.choose(('>>=', '>>=', 's>>='))} {k}",), "l": (f"{w}{c} <<= {k}",), "d": (f"{w}{c} /= {by}",),
                       "f": (f"r{t} = r{c}", f"{w}{t} >>= {width}", f"{w}{c} &= {(1 << width) - 1}", f"{w}{c} += {w}{t}"),
                       "b": (f"r{t} = r{c}", f"{w}{t} += -1", f"{w}{c} &= {w}{t}"), "z": (f"w{c} += {self.choose((1, -1, 2, -3))}",),
                       "h": (f"{w}{t} = {w}{c}", f"{w}{t} &= {self.choose((-16, -2, 255))}", f"{w}{t} >>= {k}", f"r{c} = r{t}"),
                       "m": (f"r{t} = r{c}", f"r{t} <<= 32", f"r{t} {self.choose(('>>=', 's>>='))} {32 + k}", f"r{c} = r{t}")}[turn])
            if turn == "f" and self.chance(2):
                last = f"r{t} = r{c}\n {self.choose('rw')}{t} >>= {width}\n if {self.choose('rw')}{t} != 0 goto {head}"
            if self.chance(5):                        # or is it as before?
                skip = self.label()
                self.out(f"if r{c} {self.choose(('>', '==', '&'))} {self.choose((2, 8, 300))} goto {skip}", f"{self.choose('rw')}{c} {self.choose(('+=', '>>=', '|='))} 1", f"{skip}:")
        self.out(*([f"{question}:"] if first else []), last, f"{out}:")
        self.forget_temporaries()
        self.held[c] = NUMBER

    NUMERIC = [(unknown, 4), (copied, 5), (turned, 2), (shifts_back, 3), (computed, 12), (masked, 3), (power, 2), (compared, 5), (chain, 8), (shrinking_loop, 4)]
    FLAT = [piece for piece, weight in NUMERIC for _ in range(6 * weight)] + Writer.FLAT

    def program(self, size: int | None = None) -> str:
        """As Writer's, of more pieces: they are short."""
        return super().program(size or self.choose((3, 4, 5, 6, 8, 10, 12, 16)))
