"""Random bytecode that a verifier has to think about: cursors, spills, bounds by copies and differences, loops, calls.

`Writer(choose, profile).program()` gives assembly. `choose(sequence)` picks an element. r6 holds the context, r7 the packet, r8
its end, r9 a region; r0-r5 work. The writer knows what each register holds and writes what should be accepted; now and
then it slips by one, and mutation (mutate.py) does the rest.
"""
from __future__ import annotations

from ..helpers import which
from .flow import Flow
from .words import LOADS, NUMBER, UNKNOWN

# Helpers a generated program calls: the project's first three, and two that make a pointer or null, and another packet.
FIND, CHANGE = 40, 41


class Writer(Flow):
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
            to = self.choose(("r9", f"r10\n r3 += -{at + 8}"))
            if to != "r9":
                self.out(f"*(u64 *)(r10 - {at + 8}) = 5")
                self.slot()
            self.out(f"w1 = {which(0, self.near(min(n, 16)), 8)}", f"r2 = {where}", f"r3 = {to}", "call 1")
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
        kind = self.choose("psnlc")
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
        elif kind == "c":                             # a cursor that lies on the caller's stack
            body = ["r2 = *(u64 *)(r1 + 0)", f"r2 += {self.choose((1, 2, 4))}", f"*(u64 *)(r1 + 0) = {'r10' if self.slip() else 'r2'}", "w0 = 0", "exit"]
            skip = self.label()
            self.out(f"*(u64 *)(r10 - {at}) = {self.choose(('r7', 'r7', 'r10'))}", "r1 = r10", f"r1 += -{at}", f"call {name}", f"r3 = *(u64 *)(r10 - {at})",
                     "r4 = r3", "r4 += 1", f"if r4 > r8 goto {skip}", "r5 = *(u8 *)(r3 + 0)", f"{skip}:")
        else:
            body = ["w0 = 0", name + "_l:", "w0 += 1", f"if w0 < {self.choose((3, 8))} goto {name}_l", "exit"]
            self.out(f"call {name}")
        self.functions.append("\n".join([f"{name}:", *body]))
        self.clobbered()

    PIECES = [(Flow.arithmetic, 5), (Flow.operation, 12), (Flow.context, 2), (Flow.unary, 2), (Flow.edges, 3),
              (Flow.packet_access, 5), (Flow.check, 4), (Flow.cursor, 6), (Flow.length, 2), (Flow.region, 6), (Flow.spill, 4),
              (Flow.stack_buffer, 2), (Flow.atomic, 1), (Flow.relation, 4), (Flow.equal, 2), (Flow.branch, 4), (Flow.either, 3),
              (Flow.counted_loop, 5), (Flow.walking_loop, 4), (helper, 3), (local_call, 2)]
    FLAT = [piece for piece, weight in PIECES for _ in range(weight)]

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
