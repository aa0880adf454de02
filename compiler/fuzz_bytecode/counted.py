"""Random bytecode with lists of as many entries as the packet says, compared with its end at once, and with flags that are asked late."""
from __future__ import annotations

from .programs import Writer
from .words import NUMBER, UNKNOWN

WIDTHS = ((1, "u8"), (1, "s8"), (2, "u16"), (4, "u32"))
WRONG = 16                                            #: one choice in so many is wrong


class Counting(Writer):
    """As Writer, and each other piece is such a list or flag."""

    def slip(self) -> bool:
        return self.chance(WRONG)

    def counted(self) -> None:
        """p: where the list begins; n: how many entries it has, of k bytes; i, q, v: to go over it."""
        if self.depth > 2 or self.kept:
            return
        p, n, i, q, v = regs = range(1, 6)
        k = self.choose((1, 2, 2, 3, 4, 4, 6, 8, 12, 16))
        self.forget_temporaries()
        with self.keeping(*regs):
            self.begin(p, v)
            self.how_many(p, n, k)
            self.compare(p, n, i, q, v, k)
            if self.chance(4):
                self.past(p, n, i, q, v, k)
            if self.chance(6):                        # what is known survives other ways
                skip = self.label()
                self.out(f"if w{v} {self.choose(('==', '>'))} {self.constant()} goto {skip}", f"r{v} = 5", f"{skip}:")
            for _ in range(self.choose((1, 1, 2))):
                {"i": self.indexed, "b": self.before_last, "z": self.last, "u": self.upwards, "w": self.walked, "e": self.to_the_end, "o": self.by_offset,
                 "d": self.downwards}[self.choose("ibzuuwweodd")](p, n, i, q, v, k)
        self.forget_temporaries()

    def flag(self) -> None:
        """What one way compared is used where a flag says that it was gone."""
        if self.depth > 1 or len(self.kept) > 3:
            return
        f, a = self.free(), self.number()
        if f == a:
            return
        off, skip = self.label(), self.label()
        n, room = self.choose((1, 2, 4, 8, 14)), self.room
        self.out(f"w{f} = {self.choose((0, 0, 2))}", f"if r{a} {self.choose(('==', '>', 's<'))} {self.choose((0, 1, 100))} goto {off}")
        with self.keeping(f):
            self.compare_end(7, n)
            self.out(f"w{f} = {0 if self.slip() else self.choose((1, 1, 7))}", f"{off}:")
            self.held[f] = NUMBER
            if self.chance(2):
                self.pieces(self.choose((1, 2)), inside=True)
            self.room = room
            self.out(self.choose((f"if w{f} != 1 goto {skip}", f"if r{f} == 0 goto {skip}", f"if w{f} & 1 goto {off}_\n goto {skip}\n {off}_:")))
            self.load_packet(self.free(f), 7, n)
            self.out(f"{skip}:")
        self.room = room

    FLAT = [*Writer.FLAT, *[counted] * (len(Writer.FLAT) * 2 // 3), *[flag] * (len(Writer.FLAT) // 3)]

    # Parts ---------------------------------------------------------------------------------------
    def begin(self, p: int, v: int) -> None:
        at = self.choose((0, 1, 2, 4, 14))
        self.out(f"r{p} = r7", f"r{p} += {at}")
        if self.chance(3):                            # behind a header whose length it says
            self.compare_end(7, 2)
            self.out(f"r{v} = *(u8 *)(r7 + 1)", f"r{v} &= {self.choose((15, 60, 255))}", *([f"r{v} *= {self.choose((2, 8))}"] if self.chance(3) else []), f"r{p} += r{v}")
        if not self.slip():
            self.out(f"if r{p} > r8 goto end")
        self.held[p] = self.held[v] = UNKNOWN

    def compare_end(self, reg: int, n: int) -> None:
        """With registers that the list leaves alone: all of r1 to r5 are its own."""
        if reg != 7 or 0 in self.kept:
            super().compare_end(reg, n)
            return
        self.out("r0 = r7", f"r0 += {self.near(n)}", "if r0 > r8 goto end", "r0 = 0")
        self.held[0] = NUMBER

    def how_many(self, p: int, n: int, k: int) -> None:
        way = self.choose("bbbhsdc")
        if way in "bhs":
            self.compare_end(7, 2)
            self.out(f"r{n} = *({'u8' if way == 'b' else 'u16'} *)(r7 + 0)", *([f"r{n} = be16 r{n}"] if way == "s" else []))
        elif way == "d":                              # all that fit
            self.out(f"r{n} = r8", f"r{n} -= r{p}")
            self.divided(n, k)
        else:
            self.out(f"r{n} = *(u32 *)(r9 + {self.choose((0, 4, 20))})")
        if self.chance(2):
            self.out(self.choose((f"r{n} &= {self.choose((7, 15, 63))}", f"if r{n} > {self.choose((3, 9, 40))} goto end", f"w{n} >>= {self.choose((1, 3, 24))}",
                                  f"if r{n} == 0 goto end")))
        self.held[n] = NUMBER

    def divided(self, r: int, k: int) -> None:
        power = k & (k - 1) == 0
        if k > 1:
            self.out(f"r{r} >>= {k.bit_length() - 1}" if power and self.chance(2) else f"r{r} /= {self.near(k)}")

    def multiplied(self, to: int, n: int, k: int) -> None:
        k, w = self.near(k), self.choose("rrrw")
        power = k & (k - 1) == 0
        self.out(f"{w}{to} = {w}{n}", *([] if k == 1 else [f"{w}{to} <<= {k.bit_length() - 1}" if k > 1 and power and self.chance(2) else f"{w}{to} *= {k}"]))

    def compare(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        """Falls through where n entries are there."""
        way = self.choose("pppllncch3mx")
        more = self.choose((0, 0, 0, 1, 4, -1)) if way in "pl" else 0
        if way == "p":
            self.multiplied(q, n, k)
            self.out(*self.choose(((f"r{q} += r{p}",), (f"r{v} = r{p}", f"r{v} += r{q}", f"r{q} = r{v}"))), *([f"r{q} += {more}"] if more else []),
                     f"if r{q} > r8 goto end")
        elif way == "l":
            self.multiplied(q, n, k)
            self.out(*([f"r{q} += {more}"] if more else []), f"r{v} = r8", f"r{v} -= r{p}", self.choose((f"if r{q} > r{v} goto end", f"if r{v} < r{q} goto end",
                                                                                                       f"if r{q} s> r{v} goto end", f"if w{q} > w{v} goto end")))
        elif way == "n":
            self.out(f"r{v} = r8", f"r{v} -= r{p}")
            self.divided(v, k)
            self.out(f"if r{n} > r{v} goto end")
        elif way == "c":                              # the complement of a pointer: what is left, less one
            self.out(f"r{v} = r{p}", f"r{v} ^= -1", f"r{v} += r8")
            if self.chance(2):
                self.divided(v, k)
                self.out(f"if r{n} > r{v} goto end")
            else:
                self.multiplied(q, n, k)
                self.out(self.choose((f"if r{q} > r{v} goto end", f"r{q} += -1\n if r{q} > r{v} goto end")))
        elif way == "h":                              # the same in 32 bits
            self.multiplied(q, n, k)
            self.out(f"w{v} = w{p}", f"{self.choose('wwwr')}{v} ^= -1", f"w{v} += w8", f"if r{q} > r{v} goto end")
        elif way == "m":                              # both turned negative
            self.multiplied(q, n, k)
            self.out(*([f"if r{q} == 0 goto end"] if not self.slip() else []), *([f"if r{p} == r8 goto end"] if not self.slip() else []), f"r{v} = r{p}", f"r{v} -= r8")
            self.out(*self.choose(((f"r{q} = -r{q}",), (f"w{q} = -w{q}", "r0 = -4294967296 ll", f"r{q} |= r0", "r0 = 0"))), f"if r{v} {self.choose(('>', '>='))} r{q} goto end")
        elif way == "3":
            self.multiplied(q, n, k)
            self.out(f"w{v} = w8", f"w{v} -= w{p}", f"if w{q} > w{v} goto end")
        else:                                         # not at all, or one of them only
            self.out(f"r{q} = r{p}", f"r{q} += {k}", f"if r{q} > r8 goto end")

    def past(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        """Another list begins behind this one."""
        self.multiplied(q, n, k)
        self.out(f"r{p} += r{q}")
        if not self.chance(3):
            self.compare(p, n, i, q, v, k)

    def entry(self, to: int, place: int, k: int) -> None:
        """Reads or writes in an entry."""
        width, kind = self.choose([one for one in WIDTHS if one[0] <= k])
        off = self.near(self.choose((0, k - width)))
        where = f"(r{place} {'+' if off >= 0 else '-'} {abs(off)})"
        self.out(f"r{to} = *({kind} *){where}" if not self.chance(5) else f"*({kind.replace('s', 'u')} *){where} = 7")

    # Ways over it ----------------------------------------------------------------------------------
    def indexed(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        self.out(f"r{i} = *(u8 *)(r9 + 5)", f"if r{i} {'>' if self.slip() else '>='} r{n} goto end")
        self.multiplied(q, i, k)
        self.out(f"r{q} += r{p}")
        self.entry(v, q, k)

    def last(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        self.out(*([f"if r{n} == 0 goto end"] if not self.slip() else []), f"r{i} = r{n}", f"r{i} += -{self.choose((1, 1, 2))}")
        self.multiplied(q, i, k)
        self.out(f"r{q} += r{p}")
        self.entry(v, q, k)

    def before_last(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        """So many before the last one: `n - 1 - x` is `n + ~x`."""
        w = self.choose("rrw")
        self.out(f"r{i} = *(u8 *)(r9 + 5)", f"if r{i} {'>' if self.slip() else '>='} r{n} goto end", f"{w}{i} ^= -1", f"{w}{i} += {w}{n}")
        self.multiplied(q, i, k)
        self.out(f"r{q} += r{p}")
        self.entry(v, q, k)

    def upwards(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        head, out, w = self.label(), self.label(), self.choose("rrw")
        self.out(f"{w}{i} = 0", f"{head}:", f"if {w}{i} {'>' if self.slip() else self.choose(('>=', '>=', '=='))} {w}{n} goto {out}")
        self.multiplied(q, i, k)
        self.out(f"r{q} += r{p}")
        self.entry(v, q, k)
        self.out(f"{w}{i} += {self.choose((1, 1, 1, 2))}", f"goto {head}", f"{out}:")

    def walked(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        """A cursor goes up, the number of entries down."""
        head, out, w = self.label(), self.label(), self.choose("rrw")
        self.out(f"r{q} = r{p}", f"{w}{i} = {w}{n}", f"{head}:", f"if {w}{i} {'s<' if self.slip() else '=='} 0 goto {out}")
        self.entry(v, q, k)
        self.out(f"r{q} += {self.near(k)}", f"{w}{i} += -1", f"goto {head}", f"{out}:")

    def downwards(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        """From the last one to the first, by the number or by a cursor."""
        head, out = self.label(), self.label()
        self.out(f"r{i} = r{n}")
        if self.chance(2):
            self.out(f"{head}:", f"if r{i} == 0 goto {out}", f"r{i} += -1")
            self.multiplied(q, i, k)
            self.out(f"r{q} += r{p}")
            self.entry(v, q, k)
            self.out(f"goto {head}", f"{out}:")
        else:
            self.multiplied(q, n, k)
            self.out(f"r{q} += r{p}", f"{head}:", f"if r{q} {self.choose(('<=', '=='))} r{p} goto {out}", f"r{q} += -{self.near(k)}")
            self.entry(v, q, k)
            self.out(f"goto {head}", f"{out}:")

    def to_the_end(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        """Up to where the list ends, as a pointer."""
        head, out = self.label(), self.label()
        self.multiplied(i, n, k)
        self.out(f"r{i} += r{p}", f"r{q} = r{p}", f"{head}:", f"if r{q} {self.choose(('>=', '>=', '==', '>' if self.slip() else '=='))} r{i} goto {out}")
        self.entry(v, q, k)
        self.out(f"r{q} += {self.near(k)}", f"goto {head}", f"{out}:")

    def by_offset(self, p: int, n: int, i: int, q: int, v: int, k: int) -> None:
        """An offset goes from one entry to the next."""
        head, out = self.label(), self.label()
        self.multiplied(q, n, k)
        self.out(f"r{i} = 0", f"{head}:", f"if r{i} {self.choose(('>=', '>=', '=='))} r{q} goto {out}", f"r{v} = r{p}", f"r{v} += r{i}")
        self.entry(v, v, k)
        self.out(f"r{i} += {self.near(k)}", f"goto {head}", f"{out}:")
