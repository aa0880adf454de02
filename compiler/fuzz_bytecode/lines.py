"""Pieces of random bytecode without memory or branches but for tests: arithmetic, and numbers where 32 and 64 bits differ."""
from __future__ import annotations

from .words import NUMBER, Words, same_width


class Lines(Words):
    def arithmetic(self) -> None:
        a = self.number()
        if a in self.kept:
            return
        b = self.number(a)
        w = self.choose("rww")
        op = self.choose(("+=", "+=", "-=", "-=", "&=", "|=", "^=", "*=", "=", "<<=", ">>=", "s>>=", "/=", "%=", "s/=", "s%="))
        if op in ("<<=", ">>=", "s>>="):
            if self.chance(3):
                b = self.bounded(self.choose((7, 15, 31)), a)
                if b != a:
                    self.out(f"{w}{a} {op} {w}{b}")
            else:
                self.out(f"{w}{a} {op} {self.choose((1, 2, 3, 4, 8, 16, 24, 31))}" if w == "w" or self.chance(2) else
                         f"{w}{a} {op} {self.choose((1, 8, 31, 32, 33, 48, 63))}")
        elif op in ("/=", "%=", "s/=", "s%="):
            if self.chance(2) and b not in self.kept:
                self.out(self.choose((f"{w}{b} |= 1", f"if {w}{b} == 0 goto end", f"if r{b} s< 1 goto end" if w == "r" else f"if w{b} s< 1 goto end",
                                      f"if w{b} == 0 goto end")))
                self.out(f"{w}{a} {op} {w}{b}")
            else:
                self.out(f"{w}{a} {op} {self.choose((1, 2, 3, 7, 10, 64, -1, 255))}")
        else:
            self.out(f"{w}{a} {op} {w}{b}" if self.chance(2) else f"{w}{a} {op} {self.constant()}")

    def operation(self) -> None:
        """Numbers within bounds, operations on them, and a look at the result."""
        a = self.bounded(self.choose((1, 2, 4, 5, 9, 20, 31, 100, 255, 1000, 65535)))
        for _ in range(self.choose((1, 1, 2))):
            with self.keeping(a):
                op = self.choose(("+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>=", "s>>=", "/=", "%=", "s/=", "s%="))
                b = self.bounded(self.choose((7, 20, 31)) if "<<" in op or ">>" in op else self.choose((3, 5, 18, 255, 4000)))
                if a == b:
                    return
            w = self.choose("rw")
            if self.chance(3):
                self.out(f"{w}{a} += {self.choose((-1, -8, 100, -300, 1 << 20))}")
            if "/" in op or "%" in op or self.chance(5):
                self.out(self.choose((f"r{b} |= 1", f"r{b} += 1", f"if r{b} == 0 goto end")))
            self.out(f"{w}{a} {op} {w}{b}")
        if self.chance(2):
            self.index(a)

    def context(self) -> None:
        """The context's slots: most may not be written."""
        if self.profile != "lpn":
            return
        x = self.number()
        off = self.choose((40, 44, 48, 92)) if not self.slip() else self.choose((52, 56, 68, 84, 88))
        self.out(f"*({self.choose(('u32', 'u32', 'u16', 'u8'))} *)(r6 + {off}) = w{x}")
        if self.chance(2):
            y = self.free()
            self.out(f"r{y} = *({self.choose(('u32', 'u32', 'u16'))} *)(r6 + {self.choose((off, 44, 68, 80))})")
            self.held[y] = NUMBER

    def unary(self) -> None:
        a = self.number()
        if a not in self.kept:
            self.out(self.choose((f"w{a} = -w{a}", f"r{a} = -r{a}", f"r{a} = be16 r{a}", f"r{a} = be32 r{a}", f"r{a} = bswap32 r{a}", f"r{a} = bswap64 r{a}",
                                  f"r{a} = (s8)r{a}", f"w{a} = (s16)w{a}", f"r{a} = (s32)r{a}", f"w{a} = w{a}", f"r{a} = le16 r{a}",
                                  f"r{a} <<= 32\n r{a} >>= 32", f"r{a} <<= 32\n r{a} s>>= 32")))

    def edges(self) -> None:
        """Numbers where 64 and 32 bits, signed and unsigned differ."""
        a, b = self.free(), self.number()
        if a == b:
            return
        self.out(f"r{a} = {self.choose(('*(u64 *)(r9 + 8)', '0x7ffffffffffffff0 ll', '0xfffffffffffffff0 ll', '0xffffffff ll', '-5', '0x100000000 ll'))}")
        self.held[a] = NUMBER
        for _ in range(self.choose((1, 2, 3))):
            self.out(self.choose((f"r{a} += {self.choose((1, 5, 16, 32, -1, -16))}", f"w{a} += {self.choose((1, 16, -1))}",
                                  f"if {self.choose('rrw')}{a} {self.choose(('>', '>=', 's>', 's<', '<', '!=', '==', '&'))} "
                                  f"{self.choose((1, 15, 60, -1))} goto end",
                                  f"if {self.choose('rrw')}{a} {self.choose(('>', '>=', 's>', 's<', '<', '==', '!='))} X{b} goto end")))
            self.lines[-1] = same_width(self.lines[-1], b)
        if self.chance(2):
            self.index(a)

    def index(self, r: int) -> None:
        """Use a number as an index, bounded just before or not at all."""
        top = self.choose((15, 31, 56))
        if not self.chance(8):
            self.out(f"if r{r} > {self.near(top)} goto end")
        p = self.free(r)
        if p == r:
            return
        self.out(f"r{p} = r9", f"r{p} += r{r}", f"r{p} = *(u8 *)(r{p} + {self.choose((0, 0, 63 - top))})")
        self.held[p] = NUMBER
