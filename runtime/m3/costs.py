"""What each eBPF instruction costs in the interpreter on a Cortex-M3: measured with small programs, one kind of instruction
each, and written to `verifier/costs/`. `python -m lpn.runtime.m3.costs`.

A program holds its instruction a few times and more often; the difference, divided, is one instruction's cost from its fetch
to the next one's. `fewest` is in the manual's times without wait states. `most` is the worst of the manual's times, with the
wait states of the STM32F103's flash wherever the code is linked (`Core.worst`), memory accesses not aligned.

Four tables: 32-bit clean programs, whose accesses are checked (m3_interpreter); the same, certified (m3_certified), and in the smallest
engine (m3_smallest); programs that need 64-bit registers (m3_wide).

`insns` are measured one by one. Of 32-bit clean programs the interpreter does several at once where its plan says so (runtime/engine/vm32_plan.c): these
handlers, and those of which the opcode says too little, are measured alike, under `handlers`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

from lpn.compiler.asm import assemble, assemble_program
from lpn.compiler.helpers import BY_NAME, HELPERS
from lpn.compiler.image import OUT_SIZE, Flag, Image, Kind
from lpn.compiler.isa import ALU, ALU64, JMP, JMP32, OPCODES, Instruction, encode
from lpn.runtime.engine.plan import plan_of
from lpn.runtime.memory import CONTEXT, WINDOW
from lpn.runtime.variants import OPTIONS as VARIANTS, SMALLEST, table_of
from lpn.verifier.certify import Sizes, certify
from lpn.verifier.cost import FOLDER, Cost, CostTable, TableSize, in_pieces, load
from lpn.verifier.descriptors import LPN
from lpn.verifier.frames import MAX_FUNCTIONS
from lpn.verifier.verify import analyse

from .core import Count
from .costs_handlers import shown
from .firmware import engine
from .linked import Linked
from .measure import ALIGN_WINDOW, CUT, DROPPED, HELD, RECORD, SENT, beyond, looking_up, pieces, searched, unaligned
from .measure_buffers import EMPTY, STACK, Interpreted as Buffers, ways
from .operands import ALL, DIVISIONS, operands
from .raw import CERTIFIED, CLEAN32, SINGLY, RawRunner
from .timing import UNALIGNED

MODES = {"m3_interpreter": CLEAN32, "m3_certified": CLEAN32 | CERTIFIED, table_of(SMALLEST): CLEAN32 | CERTIFIED, "m3_wide": 0}
OPTIONS = {table_of(variant): options for variant, options in VARIANTS.items()}
ENGINE = "thumb2"               #: the table of the engine around translated code (measure.py), which is measured before
#: Keys that lookups are measured with.
SHAPES = ((("exact", 4),), (("exact", 16),), (("lpm", 4),), (("lpm", 16),), (("ternary", 1),),
          (("ternary", 4), ("ternary", 4), ("exact", 1), ("range", 2), ("ternary", 1)))
FEW, MANY = 2, 6                #: how often a program holds what is measured
PACKET = 40
MEMORY = {"layout": "lpn", "packet": bytes(PACKET), "record_size": RECORD, "state": bytes(32), "rodata": bytes(16), "data": bytes(16)}


def insn(op: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> Instruction:
    return Instruction(op, dst, src, off, imm)


EXIT, MOV = insn(0x95), insn(0xB7, 0)
COPY = 0xBF                     #: mov dst, src
#: Region -> instructions that leave its address in r7.
WHERE = {"stack": [insn(COPY, 7, 10), insn(0x07, 7, imm=-64)], "ctx": [insn(COPY, 7, 1)],
         **{name: [insn(0x79, 7, 1, CONTEXT[name][0])] for name in ("pkt", "rec", "state", "out")},
         "rodata": [insn(0x18, 7, 8)], "data": [insn(0x18, 7, 9)]}
READ_ONLY = ("rodata", "ctx")


@dataclass(frozen=True)
class Measured:
    """Cycles of one run."""

    fewest: float
    linked: Linked

    @property
    def most(self) -> float:
        return self.linked.most

    def __sub__(self, other: Measured) -> Measured:
        return Measured(self.fewest - other.fewest, self.linked - other.linked)

    def __add__(self, other: Measured) -> Measured:
        return Measured(self.fewest + other.fewest, self.linked + other.linked)

    def __truediv__(self, n: int) -> Measured:
        return Measured(self.fewest / n, self.linked / n)

    def rounded(self, more: int = 0) -> list[int]:
        return rounded(self.fewest, self.most, more)


def rounded(fewest: float, most: float, more: int = 0) -> list[int]:
    return [max(0, int(fewest)), ceil(most) + more]


class Interpreter:
    """One of the interpreters under measurement."""

    def __init__(self, name: str, stack: int = 512) -> None:
        self.name, self.modes = name, MODES[name] | stack << 16
        self.runner = RawRunner(counting=True, firmware=engine(*OPTIONS.get(name, ())))

    def time(self, program: list[Instruction], singly: bool = True, **given) -> Measured:
        """A whole run. `singly`: each instruction by itself, whatever the plan says."""
        text = encode(program)
        result = self.runner.run(text, modes=self.modes | (SINGLY if singly else 0), **{**MEMORY, **given})
        if result.error != "ok":
            raise AssertionError(f"{result.error} at {result.pc}: {text.hex()}")
        count: Count = self.runner.count
        return Measured(count.cycles, self.runner.worst)

    def each(self, unit: list[Instruction], before: list[Instruction], **given) -> Measured:
        """One time through `unit`."""
        few, many = (self.time([*before, *unit * n, MOV, EXIT], **given) for n in (FEW, MANY))
        return (many - few) / (MANY - FEW)

    @cached_property
    def move(self) -> Measured:
        return self.each([insn(COPY, 6, 7)], [])

    # ------------------------------------------------------------------------------------ instructions
    def arithmetic(self) -> Iterator[tuple[str, list[int]]]:
        for op in sorted(op for op in OPCODES if op & 7 in (ALU, ALU64)):
            code = op >> 4
            if code == 0xD:
                for bits in (16, 32, 64):
                    swaps = [self.each([insn(op, 6, imm=bits)], [insn(0x18, 6, imm=a)]) for a in (0, 0xFFFFFFFF)]
                    yield f"0x{op:02x} {bits}", rounded(min(each.fewest for each in swaps), max(each.most for each in swaps))
                continue
            register = bool(op & 8) and code != 8
            yield f"0x{op:02x}", self.operated(op, (0,), register)
            if code in DIVISIONS:
                yield f"0x{op:02x} off", self.operated(op, (1,), register)
            elif code == 0xB and register:
                yield f"0x{op:02x} off", self.operated(op, (8, 16, 32) if op & 7 == ALU64 else (8, 16), register)

    def operated(self, op: int, offsets: tuple[int, ...], register: bool) -> list[int]:
        """With the operands that take least and those that take longest, made anew each time."""
        code, found = op >> 4, []
        for a, b in operands(code, not self.modes & CLEAN32):
            if not register and 1 << 31 <= b <= ALL - (1 << 31):
                continue                        # no immediate
            again, imm = insn(0x18, 2, imm=a), 0 if register or code == 8 else b - (b >> 63 << 64)
            before = [again, insn(0x18, 3, imm=b)]
            load = self.each([again], before)
            found += [self.each([again, insn(op, 2, 3 if register else 0, off, imm)], before) - load for off in offsets]
        return rounded(min(each.fewest for each in found), max(each.most for each in found))

    def jumps(self) -> Iterator[tuple[str, list[int]]]:
        """Each taken (to the next instruction) and not."""
        pairs = list(itertools.product((0, 1, 2, 0xFFFFFFFE), (0, 1, 3)))
        for op in sorted(op for op in OPCODES if op & 7 in (JMP, JMP32) and op not in (0x85, 0x95)):
            if op in (0x05, 0x06):
                yield f"0x{op:02x} taken", self.each([insn(op)], []).rounded()
                continue
            seen: dict[bool, Measured] = {}
            for a, b in pairs:
                before = [insn(0x18, 2, imm=a), insn(0xB7, 3, imm=b)]
                jump = insn(op, 2, 3, 1) if op & 8 else insn(op, 2, 0, 1, b)
                r0 = self.runner.run(encode([*before, insn(0xB7, 0, imm=1), jump, insn(0xB7, 0), EXIT]), modes=self.modes).r0
                unit = insn(op, 2, jump.src, 0, jump.imm)
                now = self.each([unit], before)
                known = seen.get(bool(r0), now)
                seen[bool(r0)] = Measured(min(now.fewest, known.fewest), max(now.linked, known.linked, key=lambda each: each.most))
            yield f"0x{op:02x} taken", seen[True].rounded()
            yield f"0x{op:02x}", seen[False].rounded()

    def accesses(self) -> Iterator[tuple[str, list[int]]]:
        """By region. `most`: the region its register used last was another, and it is found by the slow way."""
        ops = [op for op in sorted(OPCODES) if op & 7 in (1, 2, 3) and op & 0xE0 in (0x60, 0x80)]
        for op in ops:
            write, size = op & 7 != 1, {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}[op & 0x18]
            regions = [r for r in WHERE if not (write and r == "rodata")]
            hits = {r: self.each([self.access(op, r, 7)], self.at(op, r)) for r in regions}
            misses = self.misses(op, regions) if not self.modes & CERTIFIED and self.modes & CLEAN32 else hits
            fewest = {r: hits[r].fewest for r in regions}
            if not write:
                fewest["pkt"] = min(fewest["pkt"], self.each([self.access(op, "pkt", 7, window=False)], self.at(op, "pkt")).fewest)
            for r in regions:
                most = max(misses[r].most, hits[r].most)
                yield f"0x{op:02x} {r}", rounded(fewest[r], most, UNALIGNED[size])
            yield f"0x{op:02x}", [int(min(fewest.values())),
                                  max(misses[r].rounded(UNALIGNED[size])[1] for r in regions)]

    def at(self, op: int, region: str) -> list[Instruction]:
        """The region's address in r7; of the context, what may be written."""
        return [*WHERE[region], *([insn(0x07, 7, imm=CONTEXT["out_len"][0])] if region == "ctx" and op & 7 != 1 else [])]

    def access(self, op: int, region: str, base: int, window: bool = True) -> Instruction:
        """Loads from the packet are from its window, the last region there is, or from its first octets, in the first one."""
        off = PACKET + WINDOW - 8 if window and region == "pkt" and op & 7 == 1 else 0
        return insn(op, 3, base, off) if op & 7 == 1 else insn(op, base, 3 if op & 7 == 3 else 0, off)

    def misses(self, op: int, regions: list[str]) -> dict[str, Measured]:
        """Accesses through one register to two regions in turn: each pair's sum; three sums give each region's cost."""
        def pair(a: str, b: str) -> Measured:
            before = [*self.at(op, a), insn(COPY, 8, 7), *self.at(op, b), insn(COPY, 9, 7)]
            unit = [insn(COPY, 6, 8), self.access(op, a, 6), insn(COPY, 6, 9), self.access(op, b, 6)]
            return self.each(unit, before) - self.move - self.move
        out = {}
        for a in regions:
            b, c = [r for r in ("stack", "rec", "state") if r != a][:2]
            out[a] = (pair(a, b) + pair(a, c) - pair(b, c)) / 2
        return out

    def others(self) -> Iterator[tuple[str, list[int]]]:
        yield "0x18", self.each([insn(0x18, 2, 0, 0, 5)], []).rounded()
        low, high = (self.each([insn(0x18, 2, src, 0, 4)], []) for src in (8, 9))
        yield "0x18 address", rounded(min(low.fewest, high.fewest), max(low.most, high.most))
        for op, name in ((0xB8, "data"), (0xD8, "rodata")):
            yield f"0x{op:02x}", self.each([insn(op, 2, 0, 0, 4)], []).rounded()
        for op, word in ((0xC3, 4), (0xDB, 8)):
            for imm in (0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1, 0x100, 0x110):
                base, value = (3, 7) if imm == 0x100 else (7, 3)
                ways = [self.each([insn(op, base, value, 0, imm)], [*WHERE["data"], insn(0xB7, 0, imm=r0)]) for r0 in (0, 1)]      # is it the one expected?
                yield f"0x{op:02x} {imm}", rounded(min(each.fewest for each in ways), max(each.most for each in ways), 2 * UNALIGNED[word])
        for op, word in ((0xCB, 2), (0xD3, 1)):
            for imm in (0x100, 0x110):
                base, value = (3, 7) if imm == 0x100 else (7, 3)
                yield f"0x{op:02x} {imm}", self.each([insn(op, base, value, 0, imm)], [*WHERE["data"]]).rounded(UNALIGNED[word])
        yield "0x85 local", rounded(self.local(0).fewest, self.local(MAX_FUNCTIONS - 1).most)
        yield "0x85", [0, 0]                    # a helper's: with the helper
        yield "0x95", [0, 0]                    # with the container

    def local(self, behind: int) -> Measured:
        """A call of a function that only returns, and its return. Whose frame it leaves is searched for, the last function's first: so many lie behind."""
        def program(n: int) -> list[Instruction]:
            if not behind:
                return [insn(0x05, off=1), EXIT, *(insn(0x85, 0, 1, 0, -2 - i) for i in range(n)), MOV, EXIT]
            calls = [i % behind for i in range(behind + n)]                # each of them is called
            at = len(calls) + 2
            return [*(insn(0x85, 0, 1, 0, at + f - slot - 1) for slot, f in enumerate(calls)), MOV, EXIT, *[EXIT] * behind]
        return (self.time(program(MANY)) - self.time(program(FEW))) / (MANY - FEW)

    def module(self) -> list[int]:
        """Entering and leaving a container: from the call of lpn_execute to its return. Least with no stack to be zeroed: one piece less than of 16 octets."""
        one, two = (Interpreter(self.name, size).time([MOV, EXIT]).fewest for size in (16, 32))
        return (Measured(one - max(two - one, 0), self.time([MOV, EXIT]).linked) - self.each([MOV], [])).rounded()

    # ------------------------------------------------------------------------------------ helpers
    def helpers(self) -> dict[str, dict[str, list[int]]]:
        number = {name: BY_NAME[name].number for name in ("clock_us", "trace")}
        free = self.each([insn(0x85, imm=number["clock_us"])], [], host=self.runner.host)
        out = {"own": {"call": free.rounded()}}
        for h in HELPERS:
            # the node does it: what the table of helpers declares, behind the interpreter's own way there
            out[h.name] = {"call": rounded(free.fewest, free.most + h.cost_cycles)}
        buffers = Buffers(self.runner.core.firmware, certificate, self.move.linked)
        for name, each in ways().items():           # where arguments are checked, it is not known in which region they lie: it may take as long as another call
            out[name] = {"call": rounded(free.fewest, buffers.beyond(name) if self.modes & CERTIFIED else free.most), "ways": each}
        for name, n in number.items():
            engine = self.each([insn(0x85, imm=n)], [insn(0xB7, 2)], host=self.runner.host)
            out[name] = {"call": rounded(engine.fewest, engine.most + BY_NAME[name].cost_cycles * (name == "clock_us"))}
        out["lookup"] = self.lookup()
        return out

    def lookup(self) -> dict:
        """What grows with the table is what grows behind translated code: the engine's own function. The way there and back is this one's."""
        host, row = self.runner.host, {**unaligned(load(ENGINE).helpers["lookup"], -1), "call": [0, 0]}
        said = CostTable("", 0, "", Cost(0, 0), Cost(0, 0), {}, {"lookup": row})
        least, beyond_it = [], dict.fromkeys((0, 1, 9, 24), 0)
        for index, (shape, data) in enumerate(itertools.product(SHAPES, (0, 7, 256))):
            host.add_table(replace(searched(shape, max(beyond_it), data, False), index=index, entries=()))
            for entries, (hit, room) in itertools.product(beyond_it, {0: ((False, 0), (False, 256)), 7: ((True, 64),), 256: ((True, 256),)}[data]):
                table = replace(searched(shape, entries, data, hit and entries > 0), index=index)
                host.set_entries(table, table.entries)
                *fill, name, pointer, move, out, place, call = assemble_program(looking_up(shape, room).removesuffix(EMPTY))
                unit = [replace(name, imm=name.imm + index), pointer, move, out, place, call]
                took = self.each(unit, fill, host=host) - self.each(unit[:-1], fill)
                key = TableSize(entries, sum(size for _, size in shape), len(shape), kinds=shape, data=data, room=room)
                least.append(took.fewest)
                beyond_it[entries] = max(beyond_it[entries], ceil(took.most) - said.helper("lookup", 0, [key]).most)
        assert beyond_it[24] <= max(beyond_it[0], beyond_it[1], beyond_it[9]), "an entry takes more than it does behind translated code"
        return unaligned({**row, "call": [int(min(least)), max(beyond_it.values())]})

    # ------------------------------------------------------------------------------------ handlers
    def handlers(self) -> Iterator[tuple[str, list[int]]]:
        """Those that this engine has: the smallest none that do several instructions."""
        certified, several = bool(self.modes & CERTIFIED), self.name != table_of(SMALLEST)
        for each in shown(certified):
            if not several and len(each.source) > 1:
                continue
            unit, before = assemble_program("\n".join(each.source)), [*WHERE["rec"], *assemble_program("\n".join(each.before))]
            plan = plan_of(encode([*unit, *unit, MOV, EXIT]), certified=certified, fuse=len(unit) > 1)
            assert [plan[0].name, plan[len(unit)].name] == [each.handler] * 2
            yield each.key, self.each(unit, before, singly=len(unit) == 1).rounded(UNALIGNED[each.octets] if each.octets else 0)

    def table(self, how: str) -> dict:
        insns = dict(sorted({k: v for rows in (self.arithmetic(), self.jumps(), self.accesses(), self.others()) for k, v in rows}.items()))
        handlers = dict(sorted(self.handlers())) if self.modes & CLEAN32 else {}

        def chain(record: int, output: int = 0, **more) -> Measured:
            return chain_cost(record, output, bool(self.modes & CERTIFIED), **more)
        none = chain(0)
        least = min(chain(0, source=source).fewest for source in (EMPTY, DROPPED))
        record = pieces(lambda size: chain(64 + size), (64, 16, 4, 1))
        clear = beyond((ceil((chain(0, size) - none).most), in_pieces(record, size)) for size in range(64, OUT_SIZE + 1, 64))
        rest = beyond((ceil(chain(size).most), ceil(none.most) + clear + in_pieces(record, size)) for size in (1, 4, 8, 15, 63, 64, 76, 127, 300))
        return {"mhz": 72, "how": how, "module": self.module(), "chain": rounded(least, none.most, rest + ALIGN_WINDOW), "record": record,
                "clear": clear, "more": ceil((chain(0, containers=3) - none).most / 2), "deparses": ceil((chain(0, kind=Kind.DEPARSER) - none).most),
                "cuts": ceil((chain(0, source=CUT) - none).most), "insns": insns, "handlers": handlers, "helpers": self.helpers()}


def certificate(text: bytes) -> bytes:
    """Of a container that calls a buffer."""
    return certify(text, *analyse(text, LPN), Sizes(stack=STACK, output=0))


def chain_cost(record: int, output: int, certified: bool, containers: int = 1, source: str = SENT, kind: Kind = Kind.PROCESSOR) -> Measured:
    """lpn_chain_run without its containers' runs, a record and an output of so many bytes: containers that do nothing. Not certified
    they have all of the output cleared."""
    from lpn.compiler.bundle import Bundle, Hook

    from .core import Core
    from .engine import M3Program
    text = assemble(source)
    image = Image("one", kind, text, record_size=record, flags=Flag.CLEAN32, stack_used=8, out_size=output)
    if certified:
        certificate = certify(text, *analyse(text, LPN), Sizes(record=record, stack=8, output=output))
        image = replace(image, certificate=certificate, flags=image.flags | Flag.CERTIFIED)
    images = tuple(replace(image, name=f"m{i}") for i in range(containers))
    bundle = Bundle("chain", 1, images, (Hook("radio.rx_done", tuple(each.name for each in images)),), record_size=record, state_size=0,
                    buffers=[HELD])

    def run(window: str) -> Measured:
        core = Core(window=window)
        host = M3Program(bundle, 1000, core=core).host
        core.forget()
        host.run(bytes(PACKET))
        worst = core.worst()
        return Measured(core.count().cycles, worst)
    return run("lpn_chain_run") - run("lpn_execute")


def render(name: str) -> str:
    """The text of verifier/costs/NAME.json."""
    how = (f"measured on the emulated Cortex-M3 by python -m lpn.runtime.m3.costs ({name}); fewest: TRM times without wait states; "
           f"most: TRM worst case, 2 wait states at 72 MHz, each function linked where it waits most, accesses not aligned; "
           "helpers that the node does: as declared in compiler/helpers.py")
    content = Interpreter(name).table(how)
    parts = {name: ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in content[name].items()) for name in ("insns", "handlers", "helpers")}
    head = "".join(f' "{key}": {json.dumps(content[key])},\n' for key in ("mhz", "how", "module", "chain", "record", "clear", "more", "deparses", "cuts"))
    return "{\n" + head + ",\n".join(f' "{name}": {{\n{rows}\n }}' for name, rows in parts.items() if rows) + "\n}\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for table_name in MODES:
        (FOLDER / f"{table_name}.json").write_text(render(table_name), encoding="utf-8")
        print(FOLDER / f"{table_name}.json")
