"""Pieces of random bytecode that reach memory: packet, regions, stack, spills, atomics."""
from __future__ import annotations

from .lines import Lines
from .words import LOADS, NUMBER, UNKNOWN, WORK


class Memory(Lines):
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
