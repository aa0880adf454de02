"""Random bytecode that searches: two ends that come closer to each other and the middle between them, tables of known content, options among which single octets
stand, and addresses to which an OR adds."""
from __future__ import annotations

from .counted import Counting
from .programs import Writer
from .words import NUMBER, UNKNOWN

WRONG = 40                                            #: one choice in so many is wrong


class Searching(Counting):
    """As Writer, and most pieces search."""

    def slip(self) -> bool:
        return self.chance(WRONG)

    # Two ends --------------------------------------------------------------------------------------
    def ends(self) -> None:
        """p: where the list begins; lo, hi: both ends; m: what lies between them; v: what is there."""
        if self.depth > 2 or self.kept:
            return
        p, lo, hi, m, v = 1, 3, 2, 4, 5
        k = self.choose((1, 1, 2, 4, 6))
        self.forget_temporaries()
        with self.keeping(p, lo, hi, m, v):
            self.begin(p, v)
            if self.chance(4):
                self.how_many(p, hi, k)
                self.compare(p, hi, m, lo, v, k)
            elif self.chance(2):                      # all that fit
                self.out(f"r{hi} = r8", f"r{hi} -= r{p}")
                self.divided(hi, k)
            else:
                self.compare_end(7, 2)
                self.out(f"r{hi} = *({self.choose(('u8', 'u8', 'u16'))} *)(r7 + 0)", f"r{m} = r{hi}", *([f"r{m} *= {k}"] if k > 1 else []), f"r{m} += r{p}", f"if r{m} > r8 goto end")
            self.out(f"{self.choose('rw')}{lo} = 0")
            self.choose((self.halving, self.halving, self.meeting))(p, lo, hi, m, v, k)
        self.forget_temporaries()

    def halving(self, p: int, lo: int, hi: int, m: int, v: int, k: int) -> None:
        head, out, upper, back = (self.label() for _ in range(4))
        w = self.choose("rrww")
        last = self.chance(4)                         # is the upper end the last one, or what lies behind it?
        if last:
            self.out(*([] if self.slip() else [f"if {w}{hi} == 0 goto {out}"]), f"{w}{hi} += -1")
        self.out(f"{head}:", f"if {w}{lo} {self.choose(('>', 's>') if last else ('>=', '>=', 's>=', '==')) if not self.slip() else '>'} {w}{hi} goto {out}")
        self.middle(lo, hi, m, w)
        with self.keeping(0):
            self.multiplied(0, m, k)
            self.out(f"r0 += r{p}")
            self.entry(v, 0, k)
            self.out("r0 = 0")
        self.out(f"if w{v} {self.choose(('>', 's>', '=='))} {self.constant()} goto {upper}", f"{w}{lo} = {w}{m}", *([] if self.slip() else [f"{w}{lo} += 1"]))
        self.out(f"goto {back if self.chance(2) else head}", f"{upper}:", f"{w}{hi} = {w}{m}", *([f"{w}{hi} += -1"] if last != self.slip() else []),
                 f"{back}:", f"goto {head}", f"{out}:")

    def middle(self, lo: int, hi: int, m: int, w: str) -> None:
        half = self.choose((f"{w}{m} >>= 1", f"{w}{m} >>= 1", f"{w}{m} /= 2", f"{w}{m} s>>= 1", f"{w}{m} &= -2\n {w}{m} >>= 1"))
        way = self.choose("ssdduc")
        if way == "s":
            self.out(f"{w}{m} = {w}{lo}", f"{w}{m} += {w}{hi}", *([f"{w}{m} += {self.choose((1, -1))}"] if self.slip() else []), half)
        elif way == "d":
            self.out(f"{w}{m} = {w}{hi}", f"{w}{m} -= {w}{lo}", half, f"{w}{m} += {w}{lo}")
        elif way == "u":                              # in the other width
            other = "w" if w == "r" else "r"
            self.out(f"{other}{m} = {other}{hi}", f"{other}{m} += {other}{lo}", f"{other}{m} >>= 1")
        else:                                         # from the upper end down
            self.out(f"{w}{m} = {w}{hi}", f"{w}{m} -= {w}{lo}", half, f"{w}{m} = -{w}{m}", f"{w}{m} += {w}{hi}", *([] if self.slip() else [f"{w}{m} += -1"]))

    def meeting(self, p: int, lo: int, hi: int, m: int, v: int, k: int) -> None:
        """Either end moves, as it is asked; perhaps both."""
        head, out, other = self.label(), self.label(), self.label()
        w = self.choose("rrw")
        self.out(f"{head}:", f"if {w}{lo} {self.choose(('>=', '>=', 's>=')) if not self.slip() else self.choose(('>', '=='))} {w}{hi} goto {out}")
        with self.keeping(0):
            self.out(f"r{m} = r{self.choose((lo, lo, hi))}", *([f"r{m} += -1"] if self.chance(3) else []))
            self.multiplied(0, m, k)
            self.out(f"r0 += r{p}")
            self.entry(v, 0, k)
            self.out("r0 = 0")
        step = self.choose((1, 1, 2, 3))
        self.out(f"if w{v} {self.choose(('>', '=='))} {self.constant()} goto {other}", f"{w}{lo} += {0 if self.slip() else step}",
                 *([f"goto {head}"] if self.chance(2) else []), f"{other}:", f"{w}{hi} += -1", f"goto {head}", f"{out}:")

    # Options -----------------------------------------------------------------------------------------
    def padded(self) -> None:
        """at: a cursor; left: what is left of the packet; n: octets of padding that a loop inside counts; i: the option's length; v."""
        if self.depth > 1 or self.kept:
            return
        at, left, n, i, v = 1, 2, 3, 4, 5
        head, inner, some, out = (self.label() for _ in range(4))
        w = self.choose("rrw")
        self.forget_temporaries()
        with self.keeping(at, left, n, i, v):
            self.out(f"r{at} = r7", f"r{at} += {self.choose((0, 0, 2, 14))}", f"if r{at} > r8 goto end")
            self.out(f"{head}:", f"{w}{left} = {w}8", f"{w}{left} -= {w}{at}", f"if {w}{left} == 0 goto {out}", f"{w}{n} = 0", f"{inner}:")
            self.out(f"r{v} = r{at}", f"r{v} += r{n}", f"r{i} = *(u8 *)(r{v} + 0)", f"if w{i} != {self.choose((0, 1))} goto {some}", f"{w}{n} += 1",
                     f"if {w}{n} {self.choose(('<', '!='))} {w}{left} goto {inner}", f"goto {out}", f"{some}:")
            room = self.near(2)
            self.out(f"r{at} += r{n}")
            if self.chance(2):
                self.out(f"{w}{left} -= {w}{n}", f"if {w}{left} {self.choose(('<', 's<'))} {room} goto {out}")
            else:
                self.out(f"r{v} = r{at}", f"r{v} += {room}", f"if r{v} > r8 goto {out}", f"{w}{left} -= {w}{n}")
            self.out(f"r{i} = *(u8 *)(r{at} + 1)", f"{w}{i} += {2 if not self.slip() else self.choose((0, 1, 3))}",
                     self.choose((f"if {w}{i} > {w}{left} goto {out}", f"if {w}{i} s> {w}{left} goto {out}")))
            if self.chance(2):
                self.out(f"r{v} = r{at}", f"r{v} += r{i}", f"r{v} = *(u8 *)(r{v} - {self.choose((1, 1, 2))})")
            self.out(f"r{at} += r{i}", f"goto {head}", f"{out}:")
        self.forget_temporaries()

    # Addresses ---------------------------------------------------------------------------------------
    def aligned(self) -> None:
        """An OR adds to an address that is aligned above the number."""
        size = self.choose((2, 4, 8, 16))
        x = self.bounded(self.choose((1, 3, 7, 7, 15)))
        p = self.free(x)
        if p == x:
            return
        if self.chance(2):
            at = self.choose((8, 16, 24, 64, 64, 96)) if not self.slip() else self.choose((12, 20, 4))
            for word in range(0, size, 8):
                self.out(f"*(u64 *)(r10 - {max(at - word, 8) & ~7}) = {self.constant()}")
            self.out(f"r{p} = r10", f"r{p} += -{at}", f"r{p} |= r{x}", f"r{p} = *(u8 *)(r{p} + {self.choose((0, 0, 0, 1))})")
        else:
            self.out(f"r{p} = r9", f"r{p} += {self.choose((0, 8, 16, 32)) if not self.slip() else self.choose((4, 12, 2))}", f"r{p} |= r{x}")
            self.out(f"r{p} = *(u8 *)(r{p} + 0)" if self.chance(2) else f"*(u8 *)(r{p} + 0) = 3")
        self.held[p] = NUMBER if "= *(" in self.lines[-1] else UNKNOWN

    # Tables ------------------------------------------------------------------------------------------
    def looked_up(self) -> None:
        """What a table of known content says, used as an index or as what is added to a cursor."""
        x = self.bounded(self.choose((1, 3, 7, 15, 31)))
        p = self.free(x)
        if p == x:
            return
        width, kind = self.choose(((1, "u8"), (1, "u8"), (1, "s8"), (2, "u16"), (2, "s16"), (4, "u32")))
        with self.keeping(p, x):
            self.out(f"r{p} = rodata + {self.choose((0, 0, 1, 4, 8))} ll", *([f"r{x} *= {width}"] if width > 1 and self.chance(2) else []),
                     *([f"r{x} &= {self.choose((-2, -3, 5, 10))}"] if self.chance(4) else []), f"r{p} += r{x}", f"r{p} = *({kind} *)(r{p} + 0)")
        self.held[p] = NUMBER
        if width > 1 and not self.slip():
            self.out(f"r{p} &= {self.choose((15, 31))}")
        way = self.choose("irrc")
        if way == "c":
            with self.keeping(p):
                self.out(f"r{x} = r7", f"r{x} += r{p}")
                self.held[x] = 0
                self.compare_end(x, 1)
            self.load_packet(p, x, 1)
            self.held[x] = UNKNOWN
        else:
            self.out(f"r{x} = r9", f"r{x} += r{p}", f"r{x} = *(u8 *)(r{x} + {self.choose((0, 0, 8))})" if way == "r" else f"*(u8 *)(r{x} + 0) = 1")
            self.held[x] = NUMBER if way == "r" else UNKNOWN

    def program(self, size: int | None = None) -> str:
        return super().program(size or self.choose((1, 2, 3, 4)))

    FLAT = [*Writer.FLAT, *[ends] * len(Writer.FLAT), *[padded] * (len(Writer.FLAT) // 4), *[aligned] * (len(Writer.FLAT) // 4),
            *[looked_up] * (len(Writer.FLAT) // 3)]


def table(choose, size: int) -> bytes:
    """What the read-only data of a program hold: few numbers, mostly small ones."""
    top = choose(((7, 0, 3, 1), (7, 0, 3, 1), (31, 0, 30), (1, 2), (0, 255, 128, 15), (23, 24, 25)))
    return bytes(choose(top) for _ in range(size))
