"""Random bytecode that fills buffers on the stack in loops and reads them: by one counter or another one, upwards, downwards, by more than a byte, left
early."""
from __future__ import annotations

from .programs import Writer
from .words import NUMBER

KINDS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
WRONG = 12                                            #: one choice in so many is wrong


class Filling(Writer):
    """As Writer, and each other piece is such a buffer."""

    def slip(self) -> bool:
        return self.chance(WRONG)

    def filled(self) -> None:
        """r10 - base is the buffer's first byte; `count` pieces of `width` bytes."""
        if self.depth > 2:
            return
        count, width = self.choose((2, 3, 4, 6, 8)), self.choose((1, 1, 1, 2, 4))
        size = count * width
        base = self.choose((160, 128, 64, 8 * (self.slots + 1))) // width * width + size      # perhaps among the slots
        if base > 500:
            return
        c = self.free()
        p = self.free(c)
        v = self.free(c, p)
        n = self.free(c, p, v)
        if len({c, p, v, n}) < 4:
            return
        way = self.choose("UUDPCBNS")
        self.alone = not self.kept
        with self.keeping(c, n):
            self.forget_temporaries()
            {"U": self.upwards, "D": self.downwards, "P": self.along, "C": self.chosen, "B": self.broken_off, "N": self.up_to, "S": self.shifting}[way](
                c, p, v, n, base, count, width)
            self.held[c] = self.held[n] = NUMBER
            self.forget_temporaries()
        if self.called:
            self.clobbered()
            self.called = False

    alone, called = True, False                       # no register is kept by what is around; a function was called behind the loop
    FLAT = [*Writer.FLAT, *[filled] * len(Writer.FLAT)]

    # Parts ---------------------------------------------------------------------------------------
    def store(self, v: int, p: int, base: int, width: int, at: int = 0) -> None:
        """One piece, perhaps in two parts, perhaps not all of it."""
        if self.chance(3):
            self.out(f"w{v} = {self.constant()}")
        else:
            self.out(f"r{v} = *(u8 *)(r9 + {self.choose((0, 5))})")
        if width > 1 and self.chance(3):
            half = width // 2
            for off in (0, half) if not self.slip() else (half,):
                self.out(f"*({KINDS[half]} *)(r{p} - {base - at - off}) = w{v}")
        else:
            self.out(f"*({KINDS[width if width == 1 or not self.slip() else width // 2]} *)(r{p} - {self.near(base - at)}) = w{v}")

    def place(self, p: int, c: int, width: int) -> None:
        if width == 1:
            self.out(f"r{p} = r10", f"r{p} += r{c}")
        else:
            self.out(f"r{p} = r{c}", f"r{p} <<= {self.near(width).bit_length() - 1}", f"r{p} += r10")

    def inside(self, p: int, base: int) -> None:
        """What else a turn does: other pieces, or a pointer is spilled nearby and lost again."""
        if self.chance(4):
            self.pieces(1, inside=True)
        elif self.chance(6):
            at = (base + self.choose((0, 7, 8, 16))) // 8 * 8
            self.out(f"*(u64 *)(r10 - {at}) = r9", *([f"*(u8 *)(r10 - {at - self.choose((0, 3))}) = 1"] if self.chance(2) else []))

    def read_all(self, p: int, v: int, base: int, size: int) -> None:
        """At a constant, at an index, or in a function."""
        if self.chance(6) and self.alone and not self.in_function and len(self.functions) <= 2:
            name, frame = f"f{len(self.functions)}", "r10" if self.slip() else "r1"
            self.out("r1 = r10", f"call {name}")
            self.functions.append(f"{name}:\nr0 = *(u8 *)({frame} - {base - self.choose((0, size - 1))})\nexit")
            self.called = True
        elif self.chance(2):
            for off in self.choose(((0, size - 1), (size - 1,), (0,), (size // 2, size - 1))):
                self.out(f"r{v} = *(u8 *)(r10 - {self.near(base - off)})")
        else:
            x = self.bounded(size - 1, p, v)
            if x in (p, v):
                return
            self.out(f"r{p} = r10", f"r{p} += r{x}", f"r{v} = *(u8 *)(r{p} - {self.near(base)})")
            if self.chance(2):
                self.out(f"*(u8 *)(r{p} - {base}) = w{v}", f"r{v} = *(u8 *)(r10 - {base - size + 1})")
        self.held[v] = NUMBER

    def read_to(self, c: int, p: int, v: int, n: int, base: int, width: int) -> None:
        """As many as there are, in register n."""
        head, done = self.label(), self.label()
        self.out(f"r{c} = 0", f"{head}:", f"if r{c} {'>' if self.slip() else '>='} r{n} goto {done}")
        self.place(p, c, width)
        self.out(f"r{v} = *({KINDS[width]} *)(r{p} - {self.near(base)})", f"r{c} += 1", f"goto {head}", f"{done}:")

    # Loops ---------------------------------------------------------------------------------------
    def upwards(self, c: int, p: int, v: int, n: int, base: int, count: int, width: int) -> None:
        head, w = self.label(), self.choose("rw")
        start = 1 if self.slip() else 0
        if self.chance(4):
            start = 1
            self.out(f"*({KINDS[width]} *)(r10 - {base}) = 3")
        self.out(f"{w}{c} = {start}", f"{head}:")
        self.place(p, c, width)
        if self.chance(5):                            # what was written before
            self.out(f"r{v} = r{c}", f"if r{v} == 0 goto +1", f"r{v} = *(u8 *)(r{p} - {base + self.choose((1, width))})")
        self.store(v, p, base, width)
        self.inside(p, base)
        self.out(f"{w}{c} += {2 if self.slip() else 1}", f"if {w}{c} {self.choose(('<', '!=', 's<'))} {self.near(count)} goto {head}")
        self.read_all(p, v, base, count * width)

    def downwards(self, c: int, p: int, v: int, n: int, base: int, count: int, width: int) -> None:
        head = self.label()
        if self.chance(2):                            # the counter comes down
            self.out(f"r{c} = {count - 1}", f"{head}:")
            self.place(p, c, width)
            self.store(v, p, base, width)
            self.out(f"r{c} += -1", f"if r{c} s{'>' if self.slip() else '>='} 0 goto {head}")
        else:                                         # it goes up, and the place comes down
            self.out(f"r{c} = 0", f"{head}:", f"r{p} = {width * (count - 1)}", f"r{v} = r{c}",
                     *([f"r{v} <<= {width.bit_length() - 1}"] if width > 1 else []), f"r{p} -= r{v}", f"r{p} += r10")
            self.store(v, p, base, width)
            self.out(f"r{c} += 1", f"if r{c} < {self.near(count)} goto {head}")
        self.read_all(p, v, base, count * width)

    def along(self, c: int, p: int, v: int, n: int, base: int, count: int, width: int) -> None:
        """A pointer of its own, and a counter that says when it is enough."""
        head, down = self.label(), self.chance(2)
        self.out(f"r{n} = r10", f"r{c} = {count if down else 0}", f"{head}:")
        self.store(v, n, base, width)
        self.inside(p, base)
        self.out(f"r{n} += {width * 2 if self.slip() else width}", f"r{c} += {-1 if down else 1}",
                 f"if r{c} != {0 if down else self.near(count)} goto {head}", f"w{n} = 0")
        self.read_all(p, v, base, count * width)

    def chosen(self, c: int, p: int, v: int, n: int, base: int, count: int, width: int) -> None:
        """n counts what is kept."""
        head, skip, at = self.label(), self.label(), self.slot()
        self.out(f"r{c} = 0", f"r{n} = 0", f"{head}:", f"r{p} = r9", f"r{p} += r{c}", f"r{v} = *(u8 *)(r{p} + 0)",
                 f"if w{v} {self.choose(('==', '>', '&'))} {self.choose((1, 3, 100))} goto {skip}")
        self.place(p, n, width)
        self.store(v, p, base, width)
        self.out(f"r{n} += 1", *([f"{skip}:"] if not self.slip() else [f"r{n} += 1", f"{skip}:"]))
        if self.chance(4):
            self.out(f"*(u64 *)(r10 - {at}) = r{n}", f"r{n} = *(u64 *)(r10 - {at})")
        self.out(f"r{c} += 1", f"if r{c} < {count} goto {head}")
        self.read_to(c, p, v, n, base, width)

    def broken_off(self, c: int, p: int, v: int, n: int, base: int, count: int, width: int) -> None:
        """Left early; then as much is read, in any case the first one."""
        head, out = self.label(), self.label()
        first = self.chance(2)
        self.out(f"r{n} = 0", f"{head}:")
        test = f"r{v} = *(u8 *)(r9 + {self.choose((0, 7))})", f"if r{v} == r{n} goto {out}"
        if not first:
            self.out(*test)
        self.place(p, n, width)
        self.store(v, p, base, width)
        self.out(f"r{n} += 1")
        if first:
            self.out(*test)
        self.out(f"if r{n} < {self.near(count)} goto {head}", f"{out}:")
        if first and self.chance(2):
            self.out(f"r{v} = *(u8 *)(r10 - {self.near(base)})")
        if self.slip():
            self.out(f"r{n} += 1")
        self.read_to(c, p, v, n, base, width)

    def up_to(self, c: int, p: int, v: int, n: int, base: int, count: int, width: int) -> None:
        """As many as a number says."""
        head, out = self.label(), self.label()
        x = self.bounded(count, c, p, v)
        if x in (c, p, v):
            return
        self.out(f"r{n} = r{x}", f"r{c} = 0", f"{head}:", f"if r{c} {'>' if self.slip() else '>='} r{n} goto {out}")
        self.place(p, c, width)
        self.store(v, p, base, width)
        self.out(f"r{c} += 1", f"goto {head}", f"{out}:")
        self.read_to(c, p, v, n, base, width)

    def shifting(self, c: int, p: int, v: int, n: int, base: int, count: int, width: int) -> None:
        """A sort: the new byte goes where those above it have moved up from."""
        head, move, put = self.label(), self.label(), self.label()
        self.out(f"r{n} = 0", f"{head}:", f"r{c} = r{n}", f"{move}:", f"if r{c} == 0 goto {put}", f"r{p} = r10", f"r{p} += r{c}",
                 f"r{v} = *(u8 *)(r{p} - {self.near(base + 1)})", f"if w{v} > {self.choose((3, 128))} goto {put}",
                 f"*(u8 *)(r{p} - {base}) = w{v}", f"r{c} += -1", f"goto {move}", f"{put}:", f"r{p} = r10", f"r{p} += r{c}")
        self.store(v, p, base, 1)
        self.out(f"r{n} += 1", f"if r{n} < {self.near(count)} goto {head}")
        self.read_all(p, v, base, count)
