"""Random bytecode in the shapes that the passes behind LLVM look for, nearly so: `Shapes(rng).program()` gives assembly.

r1, or a copy of it in r6, leads to 24 octets; of the other registers a few are drawn, so that they meet. Blocks follow each other, branches lead ahead, in some
programs back as well, to the first instruction, too. r9 leads where r1 or r6 does, or behind it, r8 into the stack. `nearly(source, rng)` is such a
program with one thing changed where a pass did something: what fits a pass does so no longer, or what did not quite fit does. `nearly_alike` makes many of a few.
"""
from __future__ import annotations

import random
import re
from collections.abc import Iterator

from lpn.compiler.asm import AsmError, assemble
from lpn.compiler.passes.rewrite import LEAVING, Line, read, sweep

WORDS = ("==", "!=", ">", ">=", "<", "<=", "s>", "s>=", "s<", "s<=", "&")
ARITHMETIC = ("+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>=", "s>>=")
NUMBERS = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 128, 255, 256, 0xffff, -1, -2, -8, 0x7fffffff, -0x80000000, 0x8000)
TWICE = {*NUMBERS} - {0, 1, 2, 3, 4, 8}          # what is added once more behind that
PLACES = tuple((at, 8) for at in (8, 16, 24)) + tuple((at, 4) for at in (4, 8, 12, 16, 20)) + tuple((at, 2) for at in (2, 6, 8, 14)) + ((1, 1), (5, 1), (13, 1))
ODD = (12, 8), (20, 8), (6, 4)                  # bytes of two of them
BRANCH, OVER, HERE = "branch ", "over", "here"  # what a shape says of ways: a branch ahead, one to its own end or middle

LIKED = "numbers", "ends", "sum", "ends"                # what passes rarely find elsewhere: sets of numbers, sums of what is known, ways that end alike


class Shapes:
    def __init__(self, rng: random.Random, liked: str = "", kept: bool = False) -> None:
        """`liked`: one of LIKED, of which there is much. `kept`: a word of the stack is a constant, nearly always."""
        self.rng, self.liked, self.kept, self.common = rng, liked, kept, []
        self.registers = rng.sample((0, 2, 3, 4, 5, 7), rng.randint(2, 5))
        self.bare = rng.random() < 0.3          # nothing is there but what the container is given
        self.calls = not self.bare and rng.random() < 0.25
        self.named = not self.bare and rng.random() < 0.2               # the stack has another name
        self.base = "r1" if self.bare else "r6"
        self.small = rng.random() < 0.6
        self.places = rng.sample(PLACES, rng.randint(1, 6)) + [*ODD] * (rng.random() < 0.15)
        shapes = (self.arithmetic, self.by_number, self.copy, self.half, self.constant, self.spill, self.reload, self.load, self.store, self.swap, self.halves,
                  self.steps, self.bits, self.sign, self.numbers, self.sum, self.extended, self.pointer, self.atomic, self.result)
        self.shapes, self.weights = shapes, [rng.choice((0, 1, 1, 3, 6)) if one.__name__ != liked else 60 for one in shapes]
        self.labels = 0

    def one_of(self, *what):
        return self.rng.choice(what)

    def reg(self) -> int:
        return self.rng.choice(self.registers)

    def number(self) -> int:
        return self.one_of(0, 1, 2, 3, 4, 5, 8) if self.small and self.rng.random() < 0.8 else self.rng.choice(NUMBERS)

    def condition(self) -> str:
        width = self.one_of("r", "w")
        return f"{width}{self.reg()} {self.rng.choice(WORDS)} " + (f"{width}{self.reg()}" if self.rng.random() < 0.25 else str(self.number()))

    # ---- shapes: instructions, or ways

    def plain(self) -> list[str]:
        return self.one_of(self.arithmetic, self.by_number, self.copy, self.half, self.constant, self.load, self.store, self.spill, self.reload)()

    def arithmetic(self) -> list[str]:
        width = self.one_of("r", "w")
        return [f"{width}{self.reg()} {self.rng.choice(ARITHMETIC)} {width}{self.reg()}"]

    def by_number(self) -> list[str]:
        width, operation, number = self.one_of("r", "w"), self.rng.choice(ARITHMETIC), self.number()
        if operation in ("<<=", ">>=", "s>>="):
            number = self.one_of(1, 8, 24, 31) if width == "w" else self.one_of(1, 31, 32, 33, 40, 48, 63)
        line = f"{width}{self.reg()} {operation} {number or 3}"
        return [line, line] if operation == "+=" and number in TWICE else [line]

    def copy(self) -> list[str]:
        return [f"r{self.reg()} = r{self.reg()}"]

    def half(self) -> list[str]:
        return [f"w{self.reg()} = w{self.reg()}"]

    def constant(self) -> list[str]:
        return [f"{self.one_of('r', 'w')}{self.reg()} = {self.number()}"]

    def result(self) -> list[str]:
        return [f"{self.one_of('r', 'w')}0 = {self.number()}"]

    def spill(self) -> list[str]:
        if self.named and self.rng.random() < 0.3:
            return [f"*(u32 *)(r8 + 0) = w{self.reg()}"]
        at, octets = self.rng.choice(self.places)
        what = f"{'r' if octets == 8 else 'w'}{self.reg()}" if self.rng.random() < 0.85 else self.number()
        return [f"*(u{8 * octets} *)(r10 - {at}) = {what}"]

    def reload(self) -> list[str]:
        if self.named and self.rng.random() < 0.3:
            return [f"r{self.reg()} = *(u32 *)(r8 + {self.one_of(0, 4)})"]
        at, octets = self.rng.choice(self.places)
        return [f"r{self.reg()} = *({self.sign_of(octets)}{8 * octets} *)(r10 - {at})"]

    def sign_of(self, octets: int) -> str:
        return "s" if octets < 8 and self.rng.random() < 0.1 else "u"

    def load(self) -> list[str]:
        octets = self.one_of(1, 2, 4, 8)
        return [f"r{self.reg()} = *({self.sign_of(octets)}{8 * octets} *)({self.base} + {self.one_of(0, 1, 4, 8, 12, 16)})"]

    def store(self) -> list[str]:
        octets = self.one_of(1, 2, 4, 8)
        what = f"{'r' if octets == 8 else 'w'}{self.reg()}" if self.rng.random() < 0.7 else self.number()
        return [f"*(u{8 * octets} *)({self.base} + {self.one_of(0, 1, 4, 8, 16)}) = {what}"]

    def swap(self) -> list[str]:
        x = y = self.reg()
        out = [f"r{x} = {self.one_of('be64', 'be64', 'bswap64', 'be32', 'be16', 'le32', 'le64')} r{x}"]
        if self.rng.random() < 0.4:
            y = self.reg()
            out.append(f"r{y} = r{x}")
        out += [f"r{z} {self.one_of('>>=', '>>=', 's>>=')} {self.one_of(32, 40, 48, 56, 63, 33, 31)}" for z in (y, x)[:self.rng.randint(0, 2)]]
        if self.rng.random() < 0.25:
            out.insert(self.rng.randint(0, len(out)), BRANCH + self.condition())
        return out

    def halves(self) -> list[str]:
        x, y = self.reg(), self.reg()
        return self.one_of([f"r{x} <<= 32", f"r{x} >>= 32"], [f"r{y} = r{x}", f"r{y} <<= 32", f"r{y} >>= 32"], [f"r{x} <<= 32", f"r{y} = r{x}", f"r{y} >>= 32"])

    def steps(self) -> list[str]:
        x, y = self.reg(), self.reg()
        out = [f"r{y} = r{x}", f"r{y} += {self.number()}", *(self.plain() if self.rng.random() < 0.4 else ()), f"r{x} = r{y}"]
        again = [f"r{x} += {self.number()}", *(self.plain() if self.rng.random() < 0.3 else ()), f"r{self.one_of(0, self.reg())} = r{x}"]
        return out + again * self.rng.randint(0, 1)

    def bits(self) -> list[str]:
        x, y = self.reg(), self.reg()
        return [*([f"r{y} = r{x}"] if self.rng.random() < 0.7 else ()), f"{self.one_of('r', 'w')}{y} &= {self.number()}",
                *(self.plain() if self.rng.random() < 0.3 else ()), f"{BRANCH}{self.one_of('r', 'w')}{y} {self.one_of('==', '!=')} 0"]

    def sign(self) -> list[str]:
        x, y, by = self.reg(), self.reg(), self.one_of(24, 16, 31, 1)
        return [*([f"w{y} = w{x}"] if self.rng.random() < 0.7 else ()), f"w{y} <<= {by}", f"w{y} s>>= {by}", *(self.plain() if self.rng.random() < 0.3 else ()),
                f"{BRANCH}{self.one_of('w', 'w', 'r')}{y} {self.one_of('s< 0', 's> -1', 's<= 0')}"]

    def numbers(self) -> list[str]:
        """Whether one is in a set of them."""
        if len(self.registers) < 3:
            return self.plain()
        x, bit, mask = self.rng.sample(self.registers, 3)
        out = [f"{BRANCH}w{x} > {self.one_of(5, 31, 40, 63, 64)}" if self.rng.random() < 0.6
               else f"{self.one_of('r', 'w')}{x} &= {self.one_of(7, 31, 40, 63, 127)}"]
        out += [f"{self.one_of('r', 'w')}{bit} = 1", f"r{bit} <<= r{x}"]
        for _ in range(self.rng.randint(1, 2)):
            tested, held = (bit, self.one_of(mask, mask, x)) if self.rng.random() < 0.5 else (self.reg(), mask)
            few = sum(1 << n for n in self.rng.sample(range(64), self.rng.randint(1, 5)))
            some = [f"r{held} = {self.one_of(few, few, few ^ (1 << 64) - 1):#x} ll"]
            if tested != bit:
                some.insert(self.rng.randint(0, 1), f"r{tested} = r{bit}")
            short = self.rng.random() < 0.15    # a mask that an instruction has room for
            by = self.one_of(0x30, -8, 5) if short else f"r{held}"
            out += [*some[short and tested == bit:], f"r{tested} &= {by}", f"{BRANCH}r{tested} {self.one_of('==', '!=')} 0"]
        return out

    def sum(self) -> list[str]:
        x, width = self.reg(), self.one_of("r", "w")
        if self.liked == "sum" and self.rng.random() < 0.7:     # nobody else asks for the number
            (asked, y), to, by = self.rng.sample([reg for reg in (0, 2, 3, 4, 5, 7) if reg != x], 2), self.one_of("r", "r", "w"), self.one_of("r", "r", "w")
            return [f"r{x} = {self.one_of(0, 0, 0, 1)}", f"{OVER}w{asked} {self.rng.choice(WORDS)} {self.number()}", f"{to}{x} = {self.number()}", HERE,
                    f"{by}{y} += {by}{x}", *([f"r{x} = {self.number()}"] if self.rng.random() < 0.8 else ())]
        return [f"{self.one_of('r', 'w')}{x} = {self.number()}", OVER + self.condition(), f"{self.one_of('r', 'w')}{x} = {self.number()}", HERE,
                f"{width}{self.reg()} += {width}{x}"]

    def extended(self) -> list[str]:
        width = self.one_of("r", "w")
        return [f"{width}{self.reg()} = (s{self.one_of(8, 16)}){width}{self.reg()}" if self.rng.random() < 0.8 else f"r{self.reg()} = (s32)r{self.reg()}"]

    def pointer(self) -> list[str]:
        return [f"r9 = {self.base}", *([f"r9 += {self.one_of(1, 4, 8)}"] if self.rng.random() < 0.4 else ()),
                *(self.plain() if self.rng.random() < 0.4 else ()),
                f"*(u8 *)(r9 + 2) = w{self.reg()}" if self.rng.random() < 0.5 else f"r{self.reg()} = *(u16 *)(r9 + 3)"]

    def atomic(self) -> list[str]:
        octets, x = self.one_of(4, 8), self.reg()
        return [f"lock *(u{8 * octets} *)({self.base} + 8) {self.one_of('+=', '|=', '&=', '^=')} {'w' if octets == 4 else 'r'}{x}"]

    def call(self) -> list[str]:
        """`trace`; what it spoils is made anew."""
        again = [f"r{reg} = {self.one_of('r0', 'r7', '*(u8 *)(r6 + 1)', '*(u32 *)(r6 + 8)', '7')}" for reg in range(1, 6)]
        before = ["r2 = *(u8 *)(r6 + 1)", self.one_of("r0 += r2", "w3 = w2", "r2 += 1", f"{BRANCH}w2 > 2")] if self.rng.random() < 0.5 else []
        return [*before, f"r1 = {self.number()}", f"r2 = r{self.one_of(2, self.reg())}", *(f"r{reg} = {reg}" for reg in (3, 4, 5)), "call 3", *again]

    # ---- a program

    def shape(self) -> list[str]:
        return self.rng.choices(self.shapes, self.weights)[0]() if any(self.weights) else self.plain()

    def program(self) -> str:
        rng, count = self.rng, self.rng.randint(1, 7)
        back, out, seen = rng.random() < 0.3, [], []
        for at in range(count):
            out.append(f"B{at}:")
            body = list(rng.choice(seen)) if seen and rng.random() < 0.3 else []        # the same once more
            for _ in range(rng.randint(0 if body else 1, 4)):
                body += self.call() if self.calls and rng.random() < 0.12 else self.shape()
            seen.append([line for line in body if line != HERE and not line.startswith(OVER)][-rng.randint(1, 3):])
            if rng.random() < 0.3:
                body += rng.choice(seen)
            to = [f"B{rng.randint(0, count) if back and rng.random() < 0.25 else rng.randint(at + 1, count)}" for _ in body] + [f"B{at + 1}"]
            out += self.laid(body, to)
            end = rng.random()
            if self.liked == "ends" and rng.random() < 0.7:
                self.common = self.common or [self.one_of(self.by_number, self.half, self.constant, self.reload)()[0] for _ in range(rng.randint(1, 4))]
                out += self.common[rng.random() < 0.2:]
                out += [] if at == count - 1 else [f"goto B{count}" if rng.random() < 0.8 else "exit"]
            elif end < 0.5:
                out += [f"if {self.condition()} goto {rng.choice(to)}"] * (end < 0.4) + [f"goto {rng.choice(to)}"] * (end < 0.1 or end > 0.4)
            elif end < 0.65:
                out += [f"if {self.condition()} goto {rng.choice(to)}"] * (end > 0.55) + [f"w0 = {self.one_of(1, 2, self.number())}"] * (end < 0.62) + ["exit"]
        last = self.one_of([], [], [f"w0 = {self.number()}"], [f"r0 += r{self.reg()}"])
        return "\n".join([*self.begin(), *(self.keep_a_word(out) if self.kept else out), f"B{count}:", *last, "exit"])

    def keep_a_word(self, lines: list[str]) -> list[str]:
        """It is stored first, and loaded anywhere; some programs store another number there, or about there."""
        rng, number = self.rng, self.number()
        out = list(lines)
        for _ in range(rng.randint(1, 4)):
            out.insert(rng.randint(0, len(out)), f"r{self.reg()} = *(u32 *)(r10 - 28)")
        if rng.random() < 0.5:
            octets, at = rng.choice(((4, 28), (4, 28), (4, 28), (8, 32), (2, 26), (1, 25)))
            what = rng.choice((str(number), str(number), str(self.number()), f"r{self.reg()}"))
            out.insert(rng.randint(0, len(out)), f"*(u{8 * octets} *)(r10 - {at}) = {what}")
        return [f"*(u32 *)(r10 - 28) = {number}", *out]

    def begin(self) -> list[str]:
        if self.bare:
            return []
        def value() -> str:
            return self.one_of(f"*(u64 *)(r1 + {self.one_of(0, 8, 16)})", f"*(u8 *)(r1 + {self.rng.randrange(24)})", "*(u32 *)(r1 + 4)", str(self.number()))
        given = [f"r{reg} = {value()}" for reg in (0, 2, 3, 4, 5, 7)]
        return ["r6 = r1", *given, *(f"*(u64 *)(r10 - {at}) = r{self.reg()}" for at in (8, 16, 24)),
                *(["r8 = r10", f"r8 += -{self.one_of(8, 12, 16, 24)}"] if self.named else ())]

    def laid(self, body: list[str], to: list[str]) -> list[str]:
        out, end = [], None
        for line in body:
            if line.startswith(BRANCH):
                out.append(f"if {line.removeprefix(BRANCH)} goto {self.rng.choice(to)}")
            elif line.startswith(OVER):
                self.labels += 1
                end = f"L{self.labels}"
                out.append(f"if {line.removeprefix(OVER)} goto {end}")
            elif line == HERE:
                out += [f"{end}:"] if end is not None else []
                end = None
            else:
                out.append(line)
        return out + ([f"{end}:"] if end is not None else [])


# ---------------------------------------------------------------- nearly the same

NUMBER, REGISTER = re.compile(r"(?<=[=&<>+-] )-?\d+\b"), re.compile(r"\b([rw])([0-57])\b")
WRITTEN = ((" += ", " = "), (" = ", " += "), ("u32", "u64"), ("u64", "u32"), ("u8", "u16"), ("<<=", ">>="), (" >>=", " s>>="), ("be64", "be32"), ("==", "!="),
           ("!=", "=="), (" > ", " s> "), (" < ", " <= "), ("&=", "|="), (" & ", " > "), (" r", " w"), (" w", " r"), ("r", "w"), ("w", "r"))


def nearly_alike(sources: list[str], seeds: int, around: range) -> Iterator[tuple[str, list[Line]]]:
    """For each seed one of these programs with one or two things changed, as text and as instructions, where that is a program."""
    for seed in range(seeds):
        rng = random.Random(seed)
        source = rng.choice(sources).replace(": ", ":\n")
        try:
            for _ in range(rng.randint(1, 2)):
                source, _ = nearly(source, rng, [*around])
            lines = read(assemble(source), [])
        except (AsmError, IndexError, KeyError):
            continue
        sweep(lines)
        if lines[-1].insn.op in LEAVING:
            yield f"program {seed}\n{source}", lines


def nearly(source: str, rng: random.Random, around: list[int]) -> tuple[str, int]:
    """And the number of the instruction that is another. `around`: the numbers of some; what is changed is one of these or close to one. It may be no
    program: an instruction that there is not, or none at the end."""
    lines = source.split("\n")
    labels = [line[:-1] for line in lines if line.endswith(":")]
    code = [i for i, line in enumerate(lines) if not line.endswith(":")]
    place = min(max(rng.choice(around) + rng.choice((0, 0, 0, 1, -1, 2, -2)), 0), len(code) - 1)
    at, other = code[place], rng.choice(code)
    line, reg, word, number = lines[at], rng.choice((0, 2, 3, 4, 5, 7)), rng.choice(WORDS), rng.choice((0, 1, 2, 3, 255))
    match rng.randrange(10):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[other])
        case 2 | 3:
            lines[at] = another(line, REGISTER, rng, lambda m: f"{m[1]}{reg}")
        case 4:
            lines[at] = another(line, NUMBER, rng, lambda m: str(rng.choice((0, 1, 2, 3, 4, 5, 8, 16, 24, 31, 32, -1, 255, int(m[0]) + 1))))
        case 5:                                 # a way around what follows
            lines.insert(at, f"if {rng.choice('rw')}{reg} {word} {number} goto {rng.choice(labels)}")
        case 6:                                 # one more way to it
            lines.insert(at, "M:")
            lines.insert(other + (other >= at), f"if w{reg} {word} {number} goto M")
        case 7 if at + 1 < len(lines):
            lines[at:at + 2] = lines[at + 1], line
        case 8 if "goto" in line:
            lines[at] = f"{line.rsplit(' ', 1)[0]} {rng.choice(labels)}"
        case _:
            fit = [pair for pair in WRITTEN if pair[0] in line]
            lines[at] = line.replace(*rng.choice(fit), 1) if fit else line
    return "\n".join(lines), place


def another(line: str, what: re.Pattern[str], rng: random.Random, by) -> str:
    found = list(what.finditer(line.split(" goto")[0]))
    if not found:
        return line
    m = rng.choice(found)
    return line[:m.start()] + by(m) + line[m.end():]
