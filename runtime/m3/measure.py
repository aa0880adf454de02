"""What the engine around translated code costs: `python -m lpn.runtime.m3.measure` writes verifier/costs/thumb2.json.

As the tables of the interpreter (costs.py): `most` is the worst of the manual's times with the wait states of the STM32F103's flash
wherever the code is linked, the worst of several runs. What grows with a table is a line above all that was measured.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import ceil

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Entry, Hook, KeyField, Table
from lpn.compiler.bundle_parts import Buffer
from lpn.compiler.helpers import HELPERS, which
from lpn.compiler.image import OUT_SIZE, Flag, Image, Kind
from lpn.compiler.isa import ALU64, Instruction, encode
from lpn.compiler.output import write_files
from lpn.compiler.target import CTX_CUT, VERDICTS
from lpn.runtime.engines import DEFAULT_FUEL
from lpn.verifier.cost import FOLDER, Cost, CostTable, TableSize, in_pieces

from .core import CODE, CODE_SIZE, Core
from .engine import Thumb2Program
from .host import WINDOW
from .linked import Linked
from .measure_buffers import EMPTY, IDLE, ways
from .operands import DIVISIONS, operands
from .timing import UNALIGNED

HOW = ("measured on the emulated Cortex-M3 by python -m lpn.runtime.m3.measure; most: TRM worst case, 2 wait states at 72 MHz, each function "
       "linked where it waits most, accesses not aligned; "
       "helpers that the node does: as declared in compiler/helpers.py")
#: What is measured is aligned. Cycles more where it is not: of the window behind a packet, whose first and last word need not be; of a word that is
#: copied or zeroed for a lookup; of a word of a key, compared with one, with a mask or with two bounds.
ALIGN_WINDOW = 2 * UNALIGNED[4]
ALIGN_ZERO, ALIGN_COPY = UNALIGNED[4], 2 * UNALIGNED[4]
ALIGN_KEY = {kind: words * UNALIGNED[4] for kind, words in (("exact", 2), ("lpm", 3), ("ternary", 3), ("range", 4))}
RECORD = 64                     #: octets of the header record, where it does not matter
FRAME = bytes(60)
SENT = f"w0 = {VERDICTS['TRANSMIT']}\nexit"       #: the verdict that takes longest: the chain goes on
DROPPED = f"w0 = {VERDICTS['DROP']}\nexit"       #: and the one that takes least
CUT = f"*(u32 *)(r1 + {CTX_CUT}) = 4\n{SENT}"
HELD = Buffer("b", 64, 1, (8,))                 #: what a chain takes more where its program has buffers
CALL = "w1 = 0\nw2 = 0\ncall {}\n" + EMPTY


def run(*modules: str | bytes, record: int = RECORD, output: int = 0, table: Table | None = None, flags: Flag = Flag.CLEAN32,
        last: Kind = Kind.PROCESSOR) -> Linked:
    """The cycles of a chain of these modules at most, without their own code. `record`, `output`: octets to be cleared; `last`: what the last one is."""
    texts = [assemble(each) if isinstance(each, str) else each for each in modules]
    images = tuple(Image(f"m{i}", last if i + 1 == len(texts) else Kind.PROCESSOR, text, flags=flags, record_size=record, record_hash=1, out_size=output)
                   for i, text in enumerate(texts))
    bundle = Bundle("p", 1, images, (Hook("radio.rx_done", tuple(each.name for each in images)),), record_size=record, record_hash=1,
                    tables=(table,) if table else (), buffers=[HELD])
    program = Thumb2Program(bundle, DEFAULT_FUEL, core=Core(window=WINDOW))
    host, core = program.host, program.host.core
    core.forget()
    host.run(FRAME)
    return core.worst(apart=(CODE, CODE + CODE_SIZE))


def most(*modules: str, record: int = RECORD, output: int = 0, table: Table | None = None) -> int:
    """The same, wherever it is linked."""
    return ceil(run(*modules, record=record, output=output, table=table).most)


Shape = tuple[tuple[str, int], ...]             #: of a key: each field's kind of match and octets


def fields(kind: str, key_bytes: int, number: int) -> Shape:
    return ((kind, key_bytes // number),) * number


def look_up(shape: Shape, entries: int, data: int = 0, room: int | None = None, hit: bool = False, at: int = 1, low: int = 0) -> Linked:
    """A lookup that misses all entries, each in the octet `at` from the end of its last field, or all but the last one (exact: or all but the
    first). `data`: octets of action data; `room`: octets that the caller gives for them; `low`: so far below the key ranges that match begin."""
    return run(looking_up(shape, data if room is None else room), table=searched(shape, entries, data, hit, at, low)) - run(IDLE)


def searched(shape: Shape, entries: int, data: int, hit: bool, at: int = 1, low: int = 0) -> Table:
    """What it looks at."""
    exact = all(kind == "exact" for kind, _ in shape)

    def match(kind: str, key: int, value: int) -> tuple[int, ...]:
        return {"exact": (value,), "lpm": (value, key.bit_length()), "ternary": (value, key), "range": (value - low * (key == value), value)}[kind]
    keys = [(kind, (1 << 8 * size) - 1) for kind, size in shape]
    hits = tuple(match(kind, key, key) for kind, key in keys)
    kind, last = keys[-1]                       # exact ones are sorted and bisected: all octets are the same but the last
    rows = [Entry((*hits[:-1], match(kind, last, last - (1 + exact * i << 8 * (at - 1)))), 1, bytes(data), i) for i in range(entries)]
    if hit:
        rows[-1] = Entry(hits, 1, bytes(data), entries)
    return Table("t", 0, tuple(KeyField(8 * size, kind) for kind, size in shape), data, entries, tuple(rows))


def looking_up(shape: Shape, room: int) -> str:
    """A container that does, with a key of ones."""
    key_bytes = sum(size for _, size in shape)
    size = (key_bytes + 7) // 8 * 8
    stores = "".join(f"*(u64 *)(r10 - {at}) = -1\n" for at in range(8, size + 1, 8))
    return f"{stores}w1 = {which(0, key_bytes, room)}\nr2 = r10\nr2 += -{size}\nr3 = r10\nr3 += -{size + 256}\ncall 1\n{EMPTY}"


def lookup(shape: Shape, entries: int, data: int = 0, room: int | None = None, hit: bool = False) -> int:
    """The same, wherever it is linked."""
    return ceil(look_up(shape, entries, data, room, hit).most)


def pieces(cost: Callable[[int], Linked], sizes: Sequence[int]) -> list[list[int]]:
    """[octets, cycles] of the pieces in which so many octets are written, large ones first."""
    return [[size, ceil(((cost(times * size) - cost(0)) / times).most)] for size, times in zip(sizes, [8] + [3] * len(sizes))]


def beyond(found: Iterable[tuple[int, int]]) -> int:
    """How much more is measured at most than the rows say. `found`: measured and said."""
    return max(0, *(measured - said for measured, said in found))


SIZES = 1, 2, 3, 4, 5, 7, 8, 16                 #: octets of keys: words and what is left of them


def slope(shape: Shape, **more: int) -> Linked:
    """What an entry takes in a table that is searched entry by entry."""
    return (look_up(shape, 24, **more) - look_up(shape, 4, **more)) / 20


def missed(kind: str) -> dict[int, float]:
    """By a field's octets: cycles per entry at most that misses there, wherever in the field."""
    def places(size: int) -> set[int]:
        return {1, *range(size % 4 + 1, size + 1, 4)}       # the last octet, and that of each word
    if kind != "exact":
        return {size: max(slope(((kind, size),), at=at).most for at in places(size)) for size in SIZES}
    other = ("ternary", 1)                      # exact ones alone are bisected
    before = slope((other, other)) - slope((other,))
    return {size: max((slope((other, (kind, size)), at=at) - before).most for at in places(size)) for size in SIZES}


def passed(kind: str) -> dict[int, float]:
    """Of a field that matches, before one of any kind that does not: cycles per entry more."""
    none = {last: slope(((last, 1),)) for last in ("lpm", "ternary", "range")}
    return {size: max((slope(((kind, size), (last, 1)), low=low) - alone).most for last, alone in none.items() for low in range(1 + (kind == "range")))
            for size in SIZES}


def line(found: dict[int, float]) -> list[float]:
    """For the field, each word and each octet that is left: a line above all that was measured, by octets."""
    word, octet = (found[16] - found[4]) / 3, max((found[3] - found[1]) / 2, (found[7] - found[5]) / 2, 0.0)
    return [max(each - size // 4 * word - size % 4 * octet for size, each in found.items()), word, octet]


def lookups(record: list[list[int]]) -> dict:
    """The row of the helper `lookup`. `record`: how octets are zeroed."""
    kinds = "lpm", "ternary", "range", "exact"
    passes, misses = {kind: passed(kind) for kind in kinds}, {kind: missed(kind) for kind in kinds}
    entry = max(0, int(min(misses[kind][1] - passes[kind][1] for kind in kinds)))
    match = {kind: {"pass": [ceil(each) for each in line(passes[kind])],
                    "miss": [ceil(each) for each in line({size: each - entry for size, each in misses[kind].items()})]} for kind in kinds}
    steps = {size: (look_up((("exact", size),), 31, hit=True) - look_up((("exact", size),), 3, hit=True)) / 3 for size in SIZES}
    byte = ((steps[16] - steps[4]) / 12).most
    first = max(step.most - size * byte for size, step in steps.items())
    row: dict = {"entry": [entry], "match": match, "bisect": [ceil(first), ceil(byte)],
                 "copy": pieces(lambda n: look_up((("lpm", 4),), 1, n, n, True), (4, 1)), "zero": record, "call": [1, 0]}
    keys = [fields(kind, size, number) for kind, (size, number) in product(match, ((1, 1), (3, 1), (4, 1), (7, 1), (16, 1), (12, 4), (16, 4)))]
    keys += [(*fields("exact", size, number), (last, 1)) for (size, number), last in product(((1, 1), (4, 1), (16, 4)), match)]
    keys += [(("ternary", 4), ("ternary", 4), ("exact", 1), ("range", 2), ("ternary", 1)), (("range", 6), ("exact", 11), ("lpm", 13), ("range", 9))]
    shapes = [(shape, n, data, room, hit) for shape, n, (hit, data, room) in product(
        keys, (1, 5, 24), ((False, 0, 0), (False, 0, 256), (True, 0, 0), (True, 7, 64), (True, 256, 256)))]
    said = CostTable("", 0, "", Cost(0, 0), Cost(0, 0), {}, {"lookup": row})
    row["call"][1] = beyond((lookup(shape, n, data, room, hit), said.helper("lookup", 0, [
        TableSize(n, sum(size for _, size in shape), len(shape), kinds=shape, data=data, room=room)]).most) for shape, n, data, room, hit in shapes)
    return unaligned(row)


def unaligned(row: dict, sign: int = 1) -> dict:
    """A lookup's row where neither keys nor data lie at words; -1: of such a row that where they do."""
    step, byte = row["bisect"]
    match = {kind: {way: [first, word + sign * ALIGN_KEY[kind], octet] for way, (first, word, octet) in ways.items()} for kind, ways in row["match"].items()}
    return {**row, "zero": [[size, cycles + sign * (size // 4 * ALIGN_ZERO)] for size, cycles in row["zero"]],
            "copy": [[size, cycles + sign * (size // 4 * ALIGN_COPY)] for size, cycles in row["copy"]],
            "match": match, "bisect": [step, byte + sign * ceil(ALIGN_KEY["exact"] / 4)],
            "call": [row["call"][0], row["call"][1] + sign * 2 * UNALIGNED[2]]}         # an entry's rank and action


#: Operations of 64 bits that are functions of the engine's, and what atomic instructions do, of 4 and of 8 octets (native.c).
FUNCTIONS = 0x2, 0x3, 0x6, 0x7, 0x9, 0xC
ATOMIC, ATOMICS = {0xC3: 4, 0xDB: 8}, (0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1)
EXIT = [Instruction(0xB7), Instruction(0x95)]
WIDE = Flag(0)                  #: a container that is not 32-bit clean


def functions() -> dict[str, list[int]]:
    """By instruction, what the engine's function for it takes behind the code that calls it."""
    out: dict[str, list[int]] = {}
    for code, off in [*((code, 0) for code in FUNCTIONS), *((code, 1) for code in DIVISIONS)]:
        took = 0
        for a, b in operands(code, True):
            numbers = [Instruction(0x18, 2, imm=a), Instruction(0x18, 3, imm=b)]
            once = encode([*numbers, Instruction(code << 4 | 8 | ALU64, 2, 3, off), *EXIT])
            took = max(took, ceil((run(once, flags=WIDE) - run(encode([*numbers, *EXIT]), flags=WIDE)).most))
        for op in (code << 4 | ALU64, code << 4 | 8 | ALU64):
            out[f"0x{op:02x} off" if off else f"0x{op:02x}"] = [1, took]
    for op, octets in ATOMIC.items():
        for imm, flags in product(ATOMICS, (WIDE, Flag.CLEAN32)):
            took = 0
            for r0 in (0, 1):                   # is it the one expected?
                before = [Instruction(0x7A, 10, off=-8), Instruction(0xB7, 0, imm=r0), Instruction(0xB7, 3, imm=5)]
                once = encode([*before, Instruction(op, 10, 3, -8, imm), *EXIT])
                took = max(took, ceil((run(once, flags=flags) - run(IDLE, flags=flags)).most) + 2 * UNALIGNED[4] * (octets // 4))
            key = f"0x{op:02x} {imm}"
            out[key] = [1, max(took, out.get(key, [0, 0])[1])]
    return dict(sorted(out.items()))


def measure() -> dict:
    """The table."""
    def chain(record: int) -> Linked:
        return run(SENT, record=64 + record)
    none, one, two = run(SENT, record=0), run(SENT, SENT, record=0), run(SENT, SENT, SENT, record=0)
    able, twice = run(IDLE, record=0), run(IDLE, IDLE, record=0)
    module = ceil(max((one - none).most, (two - one).most, (twice - able).most))
    calls = ceil((able - run(EMPTY, record=0)).most)
    deparses = ceil((run(SENT, record=0, last=Kind.DEPARSER) - none).most)
    cuts = ceil(max((run(CUT, record=0) - none).most, (run(CUT, SENT, record=0) - one).most))
    record = pieces(chain, (64, 16, 4, 1))
    least = ceil(none.most)
    clear = beyond((ceil((run(SENT, record=0, output=size) - none).most), in_pieces(record, size)) for size in range(64, OUT_SIZE + 1, 64))
    rest = beyond((ceil(run(SENT, record=size).most), least + clear + in_pieces(record, size)) for size in (1, 4, 8, 15, 63, 64, 76, 127, 140, 300))
    call = ceil(max((run(CALL.format(n), record=0) - able).most for n in (2, 3)))
    upper = ceil(max((run(CALL.format(n), flags=WIDE) - run(IDLE, flags=WIDE)).most for n in (2, 3))) - call
    helpers: dict[str, dict] = {h.name: {"call": [1, call + h.cost_cycles]} for h in HELPERS} | {
        name: {"call": [1, 0], "ways": each} for name, each in ways().items()}
    helpers["trace"] = helpers["own"] = {"call": [1, call]}
    helpers["lookup"] = lookups(record)
    return {"mhz": 72, "how": HOW, "module": [1, module], "chain": [1, least - module + rest + ALIGN_WINDOW], "calls": calls, "deparses": deparses,
            "cuts": cuts, "upper": upper,
            "record": record, "clear": clear, "insns": functions(), "helpers": helpers}


if __name__ == "__main__":
    content = re.sub(r"\[[^][{}]*\]", lambda numbers: "".join(numbers[0].split()).replace(",", ", "), json.dumps(measure(), indent=1))
    write_files({FOLDER / "thumb2.json": (content + "\n").encode()})
