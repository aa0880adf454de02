"""What a writer of random bytecode needs for each piece: registers and what they hold, numbers, bounds by one of many proofs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

Choose = Callable[[Sequence[Any]], Any]
WORK = (0, 1, 2, 3, 4, 5)
#: Sizes of the regions a generated program may use, by profile.
SIZES = {"lpn": {"rec": 64, "state": 32, "out": 256, "rodata": 48, "data": 40}, "xdp": {"rodata": 48, "data": 64}}
LOADS = {"lpn": {"rec": "*(u64 *)(r6 + 16)", "state": "*(u64 *)(r6 + 24)", "out": "*(u64 *)(r6 + 32)",
                 "rodata": "rodata + 0 ll", "data": "data + 0 ll"}, "xdp": {"rodata": "rodata + 0 ll", "data": "data + 0 ll"}}
SLIP = 25                                             #: one choice in so many is wrong
NUMBER, UNKNOWN = "number", "unknown"


class Words:
    #: The pieces, each as often as it is to be chosen.
    FLAT: list[Callable[[Any], None]]

    def __init__(self, choose: Choose, profile: str = "lpn") -> None:
        self.choose, self.profile, self.lines, self.labels, self.depth = choose, profile, [], 0, 0
        self.sizes = SIZES[profile]
        self.window = 64 if profile == "lpn" else 0
        self.held: dict[int, Any] = {r: UNKNOWN for r in WORK}      # NUMBER, UNKNOWN, or the packet bytes proven behind a cursor
        self.kept: set[int] = set()                                 # registers the pieces inside must leave alone
        self.room = 0                                               # packet bytes proven behind r7
        self.slots = 0                                              # stack slots in use: they grow downwards
        self.functions: list[str] = []
        self.in_function = False

    def out(self, *lines: str) -> None:
        self.lines += lines

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def chance(self, one_in: int) -> bool:
        return self.choose(range(one_in)) == 0

    def slip(self) -> bool:
        return self.chance(SLIP)

    def near(self, n: int) -> int:
        """The right constant, mostly."""
        return n + self.choose((1, -1, 4)) if self.slip() else n

    def free(self, *but: int) -> int:
        """A register to overwrite."""
        return self.choose([r for r in WORK if r not in self.kept and r not in but] or [0])

    def number(self, *but: int) -> int:
        """A register that holds a number."""
        known = [r for r in WORK if self.held[r] == NUMBER and r not in but]
        if known and not self.chance(6):
            return self.choose(known)
        if not [r for r in WORK if r not in self.kept and r not in but]:
            return self.choose(known or [0])
        r = self.free(*but)
        kind = self.choose("cccccppwrx")
        if kind == "p" and self.room + self.window:
            self.load_packet(r, 7, self.room)
        elif kind == "c" and self.profile == "lpn":
            self.out(f"r{r} = *(u32 *)(r6 + {self.choose((40, 44, 48, 52, 56, 60, 64, 68, 84))})")
        elif kind == "w":
            self.out(f"r{r} = *(u64 *)(r9 + {self.choose((0, 8, 16, 24))})")
        elif kind == "r":
            self.out(f"r{r} = *({self.choose(('u8', 'u16', 'u32', 's8', 's16', 's32'))} *)(r9 + {self.choose((0, 4, 20))})")
        else:
            self.out(f"{self.choose('rw')}{r} = {self.constant()}")
        self.held[r] = NUMBER
        return r

    def constant(self) -> int:
        return self.choose((0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 60, 63, 64, 100, 255, 256, 2047, 65535, 0x7FFFFFFF, -1, -2, -8, -0x80000000))

    def bounded(self, top: int, *but: int) -> int:
        """A register with a number 0..top, by one of many proofs. Leaves the flow where it is proven."""
        r = self.number(*but)
        if r in self.kept:
            copy = self.free(r, *but)
            self.out(f"r{copy} = r{r}")
            r = copy
            self.held[r] = NUMBER
        top = self.near(top)
        mask = (1 << top.bit_length()) - 1
        mask = mask if mask <= top else mask >> 1
        way = self.choose("mmmuucsSlrRdhneb")
        other = self.free(r, *but)
        if way == "m" or mask < 1 or other == r:
            self.out(f"{self.choose('rw')}{r} &= {max(mask, 0)}")
            self.held[r] = NUMBER
            return r
        if way == "u":                                # unsigned, 64 bits
            self.out(self.choose((f"if r{r} > {top} goto end", f"if r{r} >= {top + 1} goto end")))
        elif way == "c":                              # through a copy
            self.out(f"r{other} = r{r}", f"if r{other} > {top} goto end")
            self.held[other] = NUMBER
        elif way == "s":                              # signed, both sides
            self.out(f"if r{r} s> {top} goto end", f"if r{r} s< 0 goto end")
        elif way == "S":                              # 32 bits and zero-extended
            self.out(f"w{r} = w{r}", f"if w{r} > {top} goto end")
        elif way == "l":                              # the other direction
            ok = self.label()
            self.out(f"if r{r} < {top + 1} goto {ok}", "goto end", f"{ok}:")
        elif way == "r":                              # by another register's bound
            self.out(f"r{other} = {top}", f"if r{r} > r{other} goto end")
            self.held[other] = NUMBER
        elif way == "R":                              # the remainder
            self.out(f"{self.choose('rw')}{r} %= {top + 1}")
        elif way == "d":
            self.out(f"w{r} = w{r}", f"w{r} >>= {32 - mask.bit_length()}")
        elif way == "h":                              # through the stack
            at = self.slot()
            self.out(f"*(u64 *)(r10 - {at}) = r{r}", f"r{other} = *(u64 *)(r10 - {at})", f"if r{other} > {top} goto end")
            if self.chance(2):
                self.out(f"r{r} = *(u64 *)(r10 - {at})")
            self.held[other] = NUMBER
        elif way == "n":                              # a sum that is bounded, then less
            self.out(f"w{r} &= {mask}", f"r{r} += 8", f"if r{r} > {top + 8} goto end", f"r{r} += -8")
        elif way == "e":                              # sign extension and a test
            self.out(f"r{r} = (s{self.choose((8, 16, 32))})r{r}", f"if r{r} s< 0 goto end", f"if r{r} s> {top} goto end")
        else:                                         # bits
            self.out(f"if w{r} & {0xFFFFFFFF & ~mask} goto end", f"w{r} = w{r}")
        self.held[r] = NUMBER
        return r

    def slot(self) -> int:
        """A fresh 8-byte slot."""
        self.slots = self.slots + 1 if self.slots < 12 else 3
        return 8 * self.slots

    @contextmanager
    def keeping(self, *regs: int):
        before = set(self.kept)
        self.kept |= set(regs)
        yield
        self.kept = before

    def forget_temporaries(self) -> None:
        for r in WORK:
            if r not in self.kept:
                self.held[r] = UNKNOWN

    def load_packet(self, to: int, cursor: int, room: int, write: bool = False) -> None:
        size, kind = self.choose(((1, "u8"), (2, "u16"), (4, "u32"), (8, "u64"), (1, "s8"), (4, "s32")))
        if size == 8 and self.profile == "lpn":
            size, kind = 4, "u32"
        last = room + (0 if write else self.window) - size
        if last < 0:
            size, kind, last = 1, "u8", room + (0 if write else self.window) - 1
        if last < 0:
            return
        off = self.near(self.choose((0, last, last, last // 2, min(last, 4))))
        place = f"(r{cursor} {'+' if off >= 0 else '-'} {abs(off)})"
        if write:
            self.out(f"*({kind.replace('s', 'u')} *){place} = {'r' if size == 8 else 'w'}{to}")
        else:
            self.out(f"r{to} = *({kind} *){place}")
            self.held[to] = NUMBER

    def piece(self) -> None:
        self.pieces(1)

    def pieces(self, n: int, inside: bool = False) -> None:
        if self.depth > 3:
            return
        self.depth += 1
        for _ in range(n):
            room, held = self.room, dict(self.held)
            self.choose(self.FLAT)(self)
            if inside:                                # what a turn proves, the next one must not need
                self.room = room
                self.held.update({r: held[r] for r in self.kept})
        self.depth -= 1


def same_width(line: str, reg: int) -> str:
    """The second register `X` in the width of the first."""
    return line.replace(f"X{reg}", f"{line[3]}{reg}")
