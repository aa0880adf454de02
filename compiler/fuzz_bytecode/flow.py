"""Pieces of random bytecode with several ways: relations between numbers, branches, loops."""
from __future__ import annotations

from typing import Any

from .memory import Memory
from .words import NUMBER, UNKNOWN, WORK, same_width


class Flow(Memory):
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
        self.lines[-1] = same_width(self.lines[-1], b)
        with self.keeping(a, b):
            top = self.choose((7, 15))
            self.out(f"if r{b} > {top} goto end")
            if self.chance(2):
                p = self.free(a, b)
                if p not in (a, b):
                    self.out(f"r{p} = r9", f"r{p} += r{a}", f"r{p} = *(u8 *)(r{p} + 0)")
                    self.held[p] = NUMBER

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
        self.held = {r: both(start[r], self.held[r]) for r in WORK}
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


def both(a: Any, b: Any) -> Any:
    """What is known of a register after two ways meet."""
    if a == b:
        return a
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else UNKNOWN
