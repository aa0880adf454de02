"""Random bytecode that a verifier has to think about: cursors, spills, bounds by copies and differences, loops, calls.

`Writer(choose, profile).program()` gives assembly. `choose(sequence)` picks an element. r6 holds the context, r7 the packet, r8
its end, r9 a region; r0-r5 work. The writer knows what each register holds and writes what should be accepted; now and
then it slips by one, and mutation (fuzz_bytecode_mutate.py) does the rest.
"""
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
# Helpers a generated program calls: the project's first three, and two that make a pointer or null, and another packet.
FIND, CHANGE = 40, 41


class Writer:
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

    # Words ---------------------------------------------------------------------------------------
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

    # Straight lines ------------------------------------------------------------------------------
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
                                  f"if {self.choose('rrw')}{a} {self.choose(('>', '>=', 's>', 's<', '<', '!=', '==', '&'))} {self.choose((1, 15, 60, -1))} goto end",
                                  f"if {self.choose('rrw')}{a} {self.choose(('>', '>=', 's>', 's<', '<', '==', '!='))} X{b} goto end")))
            self.lines[-1] = _same_width(self.lines[-1], b)
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

    # Memory --------------------------------------------------------------------------------------
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

    def packet_access(self) -> None:
        cursors = [(7, self.room)] + [(r, self.held[r]) for r in WORK if isinstance(self.held[r], int)]
        cursor, room = self.choose(cursors)
        if self.chance(3) and room:
            self.load_packet(self.number(), cursor, room, True)
        else:
            self.load_packet(self.free(cursor), cursor, room)

    def compare_end(self, reg: int, n: int) -> None:
        """Falls through where `n` bytes are behind the cursor."""
        t, n = self.free(reg), self.near(n)
        if t == reg:
            return
        self.held[t] = UNKNOWN
        way = self.choose("aaabbcdef")
        if way == "e":                                # as a number
            self.out(f"r{t} = r8", f"r{t} -= r{reg}", f"if r{t} s< {n} goto end")
            self.held[t] = NUMBER
            return
        if way == "f":                                # in 32 bits, as clang does: the cursor must not be behind the end
            self.out(f"if r{reg} > r8 goto end", f"w{t} = w8", f"w{t} -= w{reg}", f"if w{t} < {n} goto end")
            self.held[t] = NUMBER
            return
        self.out(f"r{t} = r{reg}", f"r{t} += {n}")
        ok = self.label()
        self.out(*{"a": (f"if r{t} > r8 goto end",), "b": (f"if r8 < r{t} goto end",), "c": (f"if r{t} <= r8 goto {ok}", "goto end", f"{ok}:"),
                   "d": (f"if r8 >= r{t} goto {ok}", "goto end", f"{ok}:")}[way])

    def check(self) -> None:
        cursor = self.choose([7] + [r for r in WORK if isinstance(self.held[r], int)])
        n = self.choose((1, 2, 4, 8, 12, 14, 20, 34, 40, 60, 64, 80))
        with self.keeping(cursor) if cursor != 7 else self.keeping():
            self.compare_end(cursor, n)
        if cursor == 7:
            self.room = max(self.room, n)
        else:
            self.held[cursor] = max(self.held[cursor], n)

    def cursor(self) -> None:
        """A new cursor: from the start or another one, by a constant or a bounded number, then checked."""
        base = self.choose([7, 7] + [r for r in WORK if isinstance(self.held[r], int)])
        with self.keeping(*([base] if base != 7 else [])):
            x = self.bounded(self.choose((3, 7, 15, 60, 255))) if self.chance(2) else None
            with self.keeping(*([x] if x is not None else [])):
                c = self.free(base, *([x] if x is not None else []))
            if c in (base, x):
                return
            k = self.choose((0, 0, 1, 2, 4, 14, 20))
            self.out(f"r{c} = r{base}", *([f"r{c} += r{x}"] if x is not None else []), *([f"r{c} += {k}"] if k else []))
            self.held[c] = 0
        if x is None and base == 7:
            self.held[c] = max(0, self.room - k)
        elif self.chance(4):
            self.held[c] = UNKNOWN                    # not compared: nothing is known behind it
            return
        if self.chance(3):
            at, t = self.slot(), self.free(c)
            if t != c:
                self.out(f"*(u64 *)(r10 - {at}) = r{c}", f"r{t} = *(u64 *)(r10 - {at})")
                self.held[t] = 0
                with self.keeping(c, t):
                    self.compare_end(self.choose((c, t)), 8)
                self.held[c] = self.held[t] = 8
                return
        n = self.choose((1, 2, 4, 8, 20))
        with self.keeping(c):
            self.compare_end(c, n)
        self.held[c] = max(self.held[c], n) if isinstance(self.held[c], int) else n

    def length(self) -> None:
        """The length as a number; an index compared with it."""
        l = self.free()
        self.out(f"r{l} = r8", f"r{l} -= r7")
        self.held[l] = NUMBER
        with self.keeping(l):
            x, p = self.number(l), self.free(l)
        if len({l, x, p}) < 3:
            return
        self.out(f"if r{x} {self.choose(('>=', '>='))} r{l} goto end" if not self.slip() else f"if r{x} > r{l} goto end")
        self.out(f"r{p} = r7", f"r{p} += r{x}")
        self.held[p] = 1
        with self.keeping(p):
            self.load_packet(self.free(p), p, 1) if self.chance(2) else self.load_packet(l, p, 1, True)

    def region(self) -> None:
        """A variable place in a region, by a proof of the index."""
        name = self.choose(list(self.sizes))
        size, p = self.sizes[name], self.free()
        width, kind = self.choose(((1, "u8"), (2, "u16"), (4, "u32"), (8, "u64")))
        self.out(f"r{p} = {LOADS[self.profile][name]}")
        self.held[p] = UNKNOWN
        off = 0
        if self.chance(4):
            off = self.near(self.choose((0, size - width)))
        else:
            with self.keeping(p):
                top = self.choose((3, 7, 15, min(31, size - width), size - width))
                top = min(top, size - width)
                x = self.bounded(top)
                if x == p:
                    return
                if width == 8 and self.profile == "lpn":
                    self.out(f"r{x} &= -4" if not self.slip() else "w0 = 0")
                self.out(f"r{p} += r{x}" if not self.chance(6) else f"r{p} += {top}\n r{p} -= r{x}")
                off = self.choose((0, size - width - top))
                off = off & -4 if width == 8 and self.profile == "lpn" else off
        place = f"*({kind} *)(r{p} {'+' if off >= 0 else '-'} {abs(off)})"
        if name == "rodata" and not self.slip() or self.chance(2):
            self.out(f"r{p} = {place}")
            self.held[p] = NUMBER
        else:
            with self.keeping(p):
                v = self.number(p)
            if v != p:
                self.out(f"{place} = {'r' if width == 8 else 'w'}{v}" if self.chance(2) else f"{place} = {self.choose((0, 1, -1, 77))}")

    def spill(self) -> None:
        """Numbers and pointers on the stack; parts of what was stored."""
        at = self.slot()
        if self.chance(2):
            x, y = self.number(), self.free()
            kind = self.choose(("u64", "u64", "u32", "u16"))
            self.out(f"*({kind} *)(r10 - {at}) = {'r' if kind == 'u64' else 'w'}{x}")
            if self.chance(2):
                self.piece()
            back = kind if not self.chance(4) else self.choose(("u8", "u16"))
            if y not in self.kept:
                self.out(f"r{y} = *({back} *)(r10 - {at})")
                self.held[y] = NUMBER
        else:
            y = self.free()
            self.out(f"*(u64 *)(r10 - {at}) = r7")
            room = self.room
            if self.chance(2):
                self.piece()
            if y not in self.kept:
                self.out(f"r{y} = *(u64 *)(r10 - {at})")
                self.held[y] = max(room, self.room)

    def stack_buffer(self) -> None:
        """Bytes of the stack at a variable place."""
        base = 8 * (self.slots + 3 if self.slots < 10 else 16)
        if not self.slip():
            self.out(f"*(u64 *)(r10 - {base}) = {self.constant()}")
        self.out(f"*(u64 *)(r10 - {base - 8}) = 5")
        x = self.bounded(self.choose((7, 15)))
        p = self.free(x)
        if p == x:
            return
        self.out(f"r{p} = r10", f"r{p} += r{x}")
        self.held[p] = UNKNOWN
        with self.keeping(p):
            v = self.number(p)
        if v == p:
            return
        if self.chance(2):
            self.out(f"*(u8 *)(r{p} - {self.near(base)}) = w{v}")
        self.out(f"r{p} = *(u8 *)(r{p} - {self.near(base)})")
        self.held[p] = NUMBER

    def atomic(self) -> None:
        x, (k, r) = self.number(), self.choose((("u64", "r"), ("u32", "w")))
        if x in self.kept or self.held[0] != NUMBER:
            return
        at = self.slot()
        bits = "_64" if r == "r" else "32_32"
        place = f"r10 - {at}" if self.chance(2) else f"r9 + {self.choose((0, 8, 56))}"
        self.out(f"*(u64 *)(r10 - {at}) = {self.constant()}",
                 self.choose((f"lock *({k} *)({place}) {self.choose(('+=', '|=', '&=', '^='))} {r}{x}",
                              f"{r}{x} = atomic_fetch_{self.choose(('add', 'or', 'and', 'xor'))}(({k} *)({place}), {r}{x})",
                              f"{r}{x} = xchg{bits}({place}, {r}{x})",
                              *([f"{r}0 = cmpxchg{bits}({place}, {r}0, {r}{x})"] if 0 not in self.kept else []))))

    # Relations -----------------------------------------------------------------------------------
    def relation(self) -> None:
        """a <= b and b <= top: then a is an index, or b - a is."""
        top = self.choose((15, 31))
        b = self.bounded(top)
        with self.keeping(b):
            a = self.number(b)
            if a == b or a in self.kept:
                return
            op = self.choose((">", ">", "s>"))
            if op == "s>":
                self.out(f"if r{a} s< 0 goto end")
            if self.chance(4):
                at = self.slot()
                self.out(f"*(u64 *)(r10 - {at}) = r{a}")
            self.out(f"if r{a} {op} r{b} goto end")
            with self.keeping(a):
                p = self.free(a, b)
            if p in (a, b):
                return
            if self.chance(2):
                self.out(f"r{p} = r{b}", f"r{p} -= r{a}", f"r{a} = r9", f"r{a} += r{p}")
            else:
                self.out(f"r{p} = r{a}", f"r{a} = r9", f"r{a} += r{p}")
            self.out(f"r{a} = *(u8 *)(r{a} + {self.near(63 - top)})")
            self.held[p] = self.held[a] = NUMBER

    def equal(self) -> None:
        """Two unknowns that a comparison makes one."""
        a = self.number()
        b = self.number(a)
        if a == b:
            return
        self.out(f"if {self.choose('rrw')}{a} != X{b} goto end")
        self.lines[-1] = _same_width(self.lines[-1], b)
        with self.keeping(a, b):
            top = self.choose((7, 15))
            self.out(f"if r{b} > {top} goto end")
            if self.chance(2):
                p = self.free(a, b)
                if p not in (a, b):
                    self.out(f"r{p} = r9", f"r{p} += r{a}", f"r{p} = *(u8 *)(r{p} + 0)")
                    self.held[p] = NUMBER

    # Flow ----------------------------------------------------------------------------------------
    def branch(self) -> None:
        a = self.number()
        b = self.number(a)
        op, w = self.choose(("==", "!=", ">", ">=", "<", "<=", "s>", "s>=", "s<", "s<=", "&")), self.choose("rww")
        where = self.label()
        self.out(f"if {w}{a} {op} {f'{w}{b}' if self.chance(2) else self.constant()} goto {where}")
        start, room = dict(self.held), self.room
        self.pieces(self.choose((1, 1, 2)))
        if self.chance(2):
            after = self.label()
            self.out(f"goto {after}", f"{where}:")
            one, its_room, self.held, self.room = self.held, self.room, start, room
            self.pieces(self.choose((1, 2)))
            start, room, where = one, its_room, after
        self.out(f"{where}:")
        self.held = {r: _both(start[r], self.held[r]) for r in WORK}
        self.room = min(room, self.room)

    def either(self) -> None:
        """Two ways to one register: constants, cursors or places in different distances."""
        a, where, after = self.number(), self.label(), self.label()
        c = self.free(a)
        if c == a:
            return
        self.out(f"if r{a} {self.choose(('==', '>', 's<'))} {self.choose((0, 1, 100))} goto {where}")
        if self.chance(2):
            one, two = self.choose((0, 2, 4, 8)), self.choose((0, 3, 8, 20))
            base = self.choose((7, 7, 9))
            self.out(f"r{c} = r{base}", f"r{c} += {one}", f"goto {after}", f"{where}:", f"r{c} = r{base}", f"r{c} += {two}", f"{after}:")
            self.held[c] = UNKNOWN
            if base == 9:
                self.out(f"r{c} = *(u8 *)(r{c} + {self.near(self.choose((0, 63 - max(one, two))))})")
                self.held[c] = NUMBER
            else:
                with self.keeping(c):
                    self.compare_end(c, 4)
                self.held[c] = 4
        else:
            self.out(f"w{c} = {self.choose((0, 4, 12))}", f"goto {after}", f"{where}:", f"w{c} = {self.choose((1, 8, 20))}", f"{after}:")
            self.held[c] = NUMBER
            if self.chance(2):
                p = self.free(c)
                if p != c:
                    self.out(f"r{p} = r9", f"r{p} += r{c}", f"r{p} = *(u8 *)(r{p} + {self.near(43)})")
                    self.held[p] = NUMBER

    def counted_loop(self) -> None:
        """A counter in a register or on the stack, upwards or downwards, tested before or after."""
        c, head, out = self.free(), self.label(), self.label()
        bound, step, w = self.choose((2, 3, 4, 8, 10, 16)), self.choose((1, 1, 2, 3, 4)), self.choose("rw")
        way = self.choose("ULDESWBN")
        at, limit = self.slot(), str(bound)
        room = self.room
        if way == "B":                                # the bound is a register
            b = self.bounded(self.choose((7, 15)), c)
            if b == c:
                return
            limit = f"{w}{b}"
        b = int(limit[1:]) if way == "B" else c
        with self.keeping(c, b):
            self.forget_temporaries()
            self.held[c] = NUMBER
            if way == "D":
                self.out(f"{w}{c} = {bound}", f"{head}:")
            elif way == "S":
                self.out(f"w{c} = 0", f"*(u32 *)(r10 - {at}) = w{c}", f"{head}:")
            elif way == "W":
                self.out(f"{w}{c} = 0", f"{head}:", f"if {w}{c} {self.choose(('>=', '==')) if step == 1 else '>='} {limit} goto {out}")
            elif way == "B":
                self.out(f"{w}{c} = 0", f"{head}:", f"if {w}{c} >= {limit} goto {out}")
            else:
                self.out(f"{w}{c} = 0", f"{head}:")
            if way != "S" and self.chance(2):         # the counter is an index
                p = self.free(c, b)
                if p not in (c, b):
                    self.out(f"r{p} = r9", f"r{p} += r{c}", f"r{p} = *(u8 *)(r{p} + {self.choose((0, 8))})")
                    self.held[p] = NUMBER
            self.pieces(self.choose((0, 1, 1, 2)), inside=True)
            if way == "D":
                self.out(f"{w}{c} += -1", f"if {w}{c} {self.choose(('!=', '>', 's>'))} 0 goto {head}")
            elif way == "S":
                self.out(f"r{c} = *(u32 *)(r10 - {at})", f"w{c} += {step}", f"*(u32 *)(r10 - {at}) = w{c}", f"if w{c} < {bound * step} goto {head}")
            elif way in "WB":
                self.out(f"{w}{c} += {1 if way == 'B' else step}", f"goto {head}", f"{out}:")
            elif way == "E":
                self.out(f"{w}{c} += {step}", f"if {w}{c} != {self.near(step * bound)} goto {head}")
            elif way == "N":                          # bits shifted out
                self.out(f"{w}{c} += {step}", f"if {w}{c} {self.choose(('s<', 's<=', '<='))} {bound} goto {head}")
            else:
                self.out(f"{w}{c} += {step}", f"if {w}{c} < {bound * step} goto {head}")
            self.forget_temporaries()
        self.room = min(room, self.room)

    def walking_loop(self) -> None:
        """A cursor that walks to the end: by a fixed step or by what the packet says."""
        head, out, c = self.label(), self.label(), self.free()
        room = self.room
        with self.keeping(c):
            n, start = self.choose((1, 2, 4)), self.choose((0, 4, 14))
            self.forget_temporaries()
            t = self.free(c)
            v = self.free(c, t)
            if len({c, t, v}) < 3:
                return
            self.out(f"r{c} = r7", f"r{c} += {start}")
            if self.chance(2):
                self.out(f"if r{c} > r8 goto end")
            self.out(f"{head}:", f"r{t} = r{c}", f"r{t} += {n}", f"if r{t} > r8 goto {out}")
            self.held[c] = n
            self.load_packet(v, c, n)
            if self.chance(3):
                self.load_packet(v, c, n, True)
            step = self.choose("fffvb")
            if self.chance(2):
                with self.keeping(c, v):
                    self.pieces(1, inside=True)
            if step == "f":
                self.out(f"r{c} += {self.choose((n, 1))}")
            elif step == "v":
                self.out(f"w{v} &= {self.choose((7, 15))}", f"r{c} += r{v}", f"r{c} += {0 if self.slip() else 1}")
            else:
                skip = self.label()
                self.out(f"w{v} &= 15", f"r{c} += 2", f"if w{v} == 0 goto {skip}", f"r{c} += r{v}", f"{skip}:")
            self.out(f"goto {head}", f"{out}:")
            self.forget_temporaries()
        self.room, self.held[c] = min(room, self.room), UNKNOWN

    # Calls ---------------------------------------------------------------------------------------
    def clobbered(self) -> None:
        for r in range(1, 6):
            self.held[r] = UNKNOWN
        self.held[0] = NUMBER

    def helper(self) -> None:
        if self.kept:
            return
        at = self.slot()
        what = self.choose("ctllfg")
        if what == "c":
            self.out("call 2")
        elif what == "t":
            x = self.number()
            self.out(f"r2 = r{x}", f"r1 = {self.constant()}", "call 3")
        elif what == "l":
            where, n = self.choose(((f"r10\n r2 += -{at}", 8), ("r9", 16), ("r7", self.room or 1)))
            if n == 8:
                self.out(f"*(u64 *)(r10 - {at}) = {self.constant()}")
            to = self.choose(("r9", f"r10\n r4 += -{at + 8}"))
            if to != "r9":
                self.out(f"*(u64 *)(r10 - {at + 8}) = 5")
                self.slot()
            self.out("w1 = 0", f"r2 = {where}", f"w3 = {self.near(min(n, 16))}", f"r4 = {to}", "w5 = 8", "call 1")
            if to != "r9" and self.chance(2):
                self.out(f"r3 = *(u64 *)(r10 - {at + 8})")
        elif what == "f":
            self.out(f"call {FIND}")
            skip = self.label()
            self.out(f"if r0 == 0 goto {skip}" if not self.slip() else f"if r0 != 0 goto {skip}", f"r3 = *(u32 *)(r0 + {self.near(4)})",
                     "*(u32 *)(r0 + 0) = 9", f"{skip}:", "w0 = 5")
        else:
            self.out("r1 = 5", f"call {CHANGE}", *(() if self.slip() else self.reload()))
            self.room = 0
        self.clobbered()

    def reload(self) -> tuple[str, ...]:
        a, b, w = (0, 8, "u64") if self.profile == "lpn" else (0, 4, "u32")
        return f"r7 = *({w} *)(r6 + {a})", f"r8 = *({w} *)(r6 + {b})"

    def local_call(self) -> None:
        if self.kept or self.in_function or len(self.functions) > 2:
            return
        name, at = f"f{len(self.functions)}", self.slot()
        kind = self.choose("psnl")
        if kind == "p":
            body = ["r3 = r1", "r3 += 4", "w0 = 0", "if r3 > r2 goto " + name + "_end", "r0 = *(u32 *)(r1 + 0)",
                    *(["*(u8 *)(r1 + 3) = 1"] if self.chance(2) else []), name + "_end:", "exit"]
            self.out("r1 = r7", "r2 = r8", f"call {name}")
        elif kind == "s":
            body = ["r0 = *(u64 *)(r1 + 0)", f"*({self.choose(('u64', 'u32', 'u8'))} *)(r1 + {self.choose((0, 4))}) = 9", "*(u64 *)(r10 - 8) = 2", "exit"]
            self.out(f"*(u64 *)(r10 - {at}) = 1", "r1 = r10", f"r1 += -{at}", f"call {name}", f"r3 = *(u64 *)(r10 - {at})")
        elif kind == "n":
            body = ["w0 = w1", f"w0 &= {self.choose((15, 31))}", "r6 = 5", "exit"]
            x = self.number()
            self.out(f"r1 = r{x}", f"call {name}", "r1 = r9", "r1 += r0", f"r1 = *(u8 *)(r1 + {self.near(32)})")
        else:
            body = ["w0 = 0", name + "_l:", "w0 += 1", f"if w0 < {self.choose((3, 8))} goto {name}_l", "exit"]
            self.out(f"call {name}")
        self.functions.append("\n".join([f"{name}:", *body]))
        self.clobbered()

    PIECES = [(arithmetic, 5), (operation, 12), (context, 2), (unary, 2), (edges, 3), (packet_access, 5), (check, 4), (cursor, 6), (length, 2), (region, 6), (spill, 4),
              (stack_buffer, 2), (atomic, 1), (relation, 4), (equal, 2), (branch, 4), (either, 3), (counted_loop, 5), (walking_loop, 4),
              (helper, 3), (local_call, 2)]
    FLAT = [piece for piece, weight in PIECES for _ in range(weight)]

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

    def program(self, size: int | None = None) -> str:
        """`size`: pieces."""
        self.out("r6 = r1", *self.reload(), f"r9 = {LOADS[self.profile]['rec' if self.profile == 'lpn' else 'data']}", "w0 = 0")
        self.held[0] = NUMBER
        if self.chance(2):
            self.check()
        self.pieces(size or self.choose((2, 3, 4, 5, 6, 8, 10)))
        x = self.number()
        self.out(f"r0 = r{x}", "exit", "end:", "w0 = 1", "exit", *self.functions)
        text = "\n".join(self.lines)
        return text if "goto end" in text else text.replace("end:\nw0 = 1\nexit", "").strip()


def _both(a: Any, b: Any) -> Any:
    """What is known of a register after two ways meet."""
    if a == b:
        return a
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else UNKNOWN


def _same_width(line: str, reg: int) -> str:
    """The second register `X` in the width of the first."""
    return line.replace(f"X{reg}", f"{line[3]}{reg}")
