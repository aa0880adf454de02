"""What one instruction does to the state: registers, constants, local calls and exits here, the rest in memory.py, arithmetic.py, calls.py and branches.py."""
from __future__ import annotations

from ..compiler import isa
from ..compiler.isa import Instruction
from . import domain as d
from .arithmetic import Arithmetic
from .branches import Branches
from .calls import Calls
from .descriptors import ContextDescriptor, HelperSpec
from .memory import sample
from .rules import Violation
from .state import BROKEN, CLOBBER, CLOBBERED, LEN, LOW_HALF, NULLABLE, NUMBER, POINTER, STALE, UNUSABLE, Frame, State, Value, number


class Machine(Arithmetic, Calls, Branches):
    """The abstract machine of one container under one profile."""
    unknowns = 12                                     # of one instruction that places hold at a time, beside the first

    def __init__(self, profile: ContextDescriptor, helpers: dict[int, HelperSpec]):
        self.profile, self.helpers = profile, helpers
        self.regions = dict(profile.regions)
        self.found = {spec.ret[1] for spec in helpers.values() if isinstance(spec.ret, tuple)}    # of these there may be several: each call may find another one
        self.checking = False
        self.wide_slots: set[int] = set()             # instructions that need more than 32 bits of a register
        self.output = 0                               # octets of the output that accesses reach, or that are said to be there
        self.kept: dict[int, int] = {}                # of functions that call others: bytes of stack that the engine keeps for each
        self.stack_used: dict[int, int] = {}          # by function
        self.cuts = False                             # the context's field that cuts the packet off may be written
        self.touched: dict[int, set[str]] = {}        # slot of a memory access -> regions; see wcet.py
        self.aligned: dict[int, int] = {}             # and what its address is a multiple of: 1, 2 or 4
        self.constants: dict[int, set[int]] = {}      # slot of a helper call -> values of r1, where known
        self.heads: dict[int, int] = {}               # of what a buffer is given, octets of the output at most
        self.symbols: dict[tuple, int] = {}
        self.patient = False                          # is more tried than is needed mostly: bounds that unknowns are compared with, names of places
        self.compared: dict[int, set[int]] = {}       # unknown -> constants that it was compared with: bounds worth trying where it grows
        self.equated: dict[tuple[int, int], set[int]] = {}          # two unknowns -> differences at which they were asked whether they are equal
        self.held: dict[tuple, d.Num] = {}            # region and addresses -> what may be loaded there
        self.looked = 0                               # and at how many entries was looked for that
        self.effort = 0                               # steps of the last instructions beyond one each (rule 38)
        self.failed: dict[int, tuple[int, str, str, str]] = {}      # slot -> what was broken there when it was met last
        self.culprit: int | None = None               # slot of the rule that the instruction breaks; None: it has broken nothing so far
        self.node = None

    # Symbols and registers -----------------------------------------------------------------------
    def symbol(self, *name) -> int:
        return self.symbols.setdefault(name, len(self.symbols) + LEN + 1)

    def fresh_symbol(self, s: State, slot: int, n: d.Num, first: int = 0) -> int:
        """A new unknown made by this instruction. Its last turn's symbol was renamed at the loop's head."""
        for k in range(first, max(first, self.unknowns) + 1):
            sym = self.symbol(self.node.id, slot, k)
            if sym not in s.vars:
                break
            if all(v.sym != sym for _, v in s.places()):
                s.forget(sym)
                break
        else:
            raise Violation(38, slot, "the instruction makes too many unknowns", "make the program smaller")
        s.vars[sym] = n
        return sym

    def fresh(self, s: State, slot: int, n: d.Num) -> Value:
        if n.is_const:
            return number(n.ulo)
        return Value(NUMBER, None, self.fresh_symbol(s, slot, n), 0)

    def read(self, s: State, reg: int, slot: int) -> Value | None:
        """The value of a register; None (reported) if it holds nothing usable."""
        v = s.regs[reg]
        if v is None:
            self.fail(13, slot, f"r{reg} is not written on every path", "write it first", f"r{reg} holds what the code before this container left in it")
        elif v.kind in UNUSABLE:
            if v.kind == BROKEN:
                rule, detail, hint, example = self.failed[v.off]
                self.fail(rule, v.off, detail, hint, example)
            elif v.kind == CLOBBERED:
                self.fail(15, slot, f"r{reg} was destroyed by a call", "keep it in r6-r9 or on the stack", f"r{reg} holds what the called function left in it")
            elif v.kind == STALE:
                self.fail(20, slot, f"r{reg} points into the packet as it was before a call changed it", "load it from the context again",
                          f"the packet has moved, and r{reg} points to memory that is not the packet's any more")
            else:
                self.fail(13, slot, f"r{reg} holds a pointer on one path and something else on another", "use two registers",
                          f"on one way r{reg} is an address, on the other it is not, and nothing here tells which")
            return None
        return v

    def pointer(self, s: State, reg: int, slot: int) -> Value | None:
        v = self.read(s, reg, slot)
        if v is None or v.kind == POINTER:
            return v
        if v == number(0):
            self.fail(26, slot, f"r{reg} is null here", "use it only on the way where it is not 0", "this follows the null pointer")
        if v.kind == NULLABLE:
            self.fail(26, slot, f"r{reg} may be null", "compare it with 0 first",
                      f"when the helper finds nothing, r{reg} is 0 and this follows the null pointer")
            return v._replace(kind=POINTER, sym=0)
        self.fail(24 if v.kind == LOW_HALF else 22, slot, f"r{reg} is used as an address but holds a {v.kind}",
                  "use the whole pointer" if v.kind == LOW_HALF else "load the address from the context",
                  f"when r{reg} is {sample(s.num(v))}, this touches whatever lies at that address" if v.kind == NUMBER else "")
        return None

    def operand(self, s: State, insn: Instruction, slot: int) -> Value | None:
        """The second operand of arithmetic or of a comparison: immediates are sign-extended (RFC 9669, 4.1)."""
        if insn.uses_reg:
            return self.read(s, insn.src, slot)
        return number(insn.imm if insn.is_wide else insn.imm & d.M32)

    # Straight-line instructions ------------------------------------------------------------------
    def step(self, s: State, slot: int, insn: Instruction) -> None:
        """Execute a non-jump in place; calls of helpers are one, local calls and exits are not."""
        self.culprit = None
        if insn.is_alu:
            s.regs[insn.dst] = self.alu(s, slot, insn) or self.broken()
            self.note_clean(s, slot, insn.dst)
        elif insn.is_lddw:
            s.regs[insn.dst] = self.lddw(insn, slot)
            self.note_clean(s, slot, insn.dst)
        elif insn.is_load:
            s.regs[insn.dst] = self.load(s, insn, slot) or self.broken()
            self.note_clean(s, slot, insn.dst)
        elif insn.is_atomic:
            self.atomic(s, slot, insn)
        elif insn.is_store:
            value = self.read(s, insn.src, slot) if insn.cls == isa.STX else number(insn.imm)
            self.store(s, insn.dst, insn.off, insn.size, value, slot)
        elif insn.is_call:
            self.call(s, slot, insn.imm)

    def broken(self) -> Value | None:
        """For what has no value because a rule is broken, here or where an operand was made: whoever reads it is told of that one."""
        return None if self.culprit is None else Value(BROKEN, None, 0, self.culprit)

    def note_clean(self, s: State, slot: int, reg: int) -> None:
        v = s.regs[reg]
        if v is not None and v.kind == NUMBER and s.num(v).uhi > d.M32:
            self.unclean(slot)

    def lddw(self, insn: Instruction, slot: int) -> Value:
        name = {isa.FEMTO_LDDWD: "data", isa.FEMTO_LDDWR: "rodata"}.get(insn.op) or {
            isa.LDDW_RODATA: "rodata", isa.LDDW_DATA: "data"}.get(insn.src)
        if name is None:
            return number(insn.imm)
        if name not in self.regions or insn.imm > self.regions[name].size:
            size = self.regions[name].size if name in self.regions else 0
            self.fail(22, slot, f"address {insn.imm} of {name}, which has {size} bytes", "give the size of the section, or an offset inside it",
                      f"the pointer would lie {insn.imm - size} bytes behind {name}")
        return Value(POINTER, name, 0, d.s64(insn.imm))

    # Ends of blocks ------------------------------------------------------------------------------
    def enter(self, s: State) -> None:
        """A local call: r1-r5 pass, r6-r9 wait with the caller."""
        s.frames.append(Frame(saved=tuple(s.regs[6:10])))
        s.regs[6:10] = [None] * 4
        s.regs[0] = None
        s.regs[10] = Value(POINTER, f"stack{len(s.frames) - 1}", 0, 0)

    def leave(self, s: State) -> None:
        """Return from a local call: the callee's frame is gone, and so is what points to it."""
        frame = s.frames.pop()
        s.filled = tuple([span for span in s.filled if span[0] < len(s.frames)])
        gone = f"stack{len(s.frames)}"
        s.regs[6:10] = frame.saved
        s.regs[1:6] = [CLOBBER] * 5
        s.regs[10] = Value(POINTER, f"stack{len(s.frames) - 1}", 0, 0)
        if s.regs[0] is not None and s.regs[0].region == gone:
            s.regs[0] = None
        for f in s.frames:
            for off, (_, v) in list(f.slots.items()):
                if v.region == gone:
                    raise Violation(25, None, "a pointer to a callee's frame outlives it", "return numbers only")

    def exit(self, s: State, slot: int) -> None:
        v = s.regs[0]
        if v is not None and v.kind == BROKEN:
            self.read(s, 0, slot)
        elif v is None or v.kind != NUMBER:
            what = "not set on every path" if v is None else f"a {v.kind} to {v.named}" if v.region else "clobbered"
            self.fail(14, slot, f"r0 is {what} at exit", "return a number",
                      "the verdict would be whatever is left in r0" if v is None else f"the verdict would show where {v.named} lies" if v.region else "")
