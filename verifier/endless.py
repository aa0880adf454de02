"""Why no counter bounds a loop, in words: what moves, what stands still, and what its exits compare."""
from __future__ import annotations

from ..compiler import isa
from ..compiler.disasm import format_instruction
from ..compiler.isa import Instruction
from .cfg import Loop
from .fixpoint import Fixpoint
from .loops import place_name
from .rules import Violation

SHOWN = 5                                             # values of a counter that a message lists


def explain(fix: Fixpoint, loop: Loop, broken: Violation) -> Violation:
    """The violation, with the reason and an example where one is seen."""
    code = [(slot, insn) for node in loop.body for slot, insn in node.code]
    exits = sorted({(node.last[0], node.last[1], kind, fix.out.get((node, i)) is not None) for node in loop.body
                    for i, (succ, kind) in enumerate(node.succs) if succ not in loop.body}, key=lambda e: e[0])
    detail, example = _reason(fix, loop, code, exits)
    if not detail:
        return broken
    return Violation(33, broken.slot, f"no counter bounds the loop: {detail}", broken.hint, example)


def never_left(fix: Fixpoint, loop: Loop | None) -> bool:
    """Whether a loop, or one around it, runs for ever once it is entered: no way out of it is ever taken. So it does however often its body is copied."""
    return loop is not None and (never_left(fix, loop.parent) or not any(
        fix.out.get((node, i)) is not None for node in loop.body for i, (succ, _) in enumerate(node.succs) if succ not in loop.body))


def _reason(fix: Fixpoint, loop: Loop, code, exits) -> tuple[str, str]:
    if not exits:
        return "nothing leads out of it", "once entered, it runs for ever"
    for slot, insn, kind, _ in exits:
        if not insn.is_branch:
            continue
        for reg in {insn.dst, insn.src} if insn.uses_reg else {insn.dst}:
            step = _steps(code, reg)
            if step and not insn.uses_reg and _wants_equal(insn, kind):
                start = _start(fix, loop, reg)
                if start is not None and (insn.imm - start) % step:
                    values = ", ".join(str(start + k * step) for k in range(SHOWN))
                    return (f"r{reg} moves by {step} a turn and steps over {insn.imm}, the only value with which slot {slot} ends it",
                            f"r{reg} is {values}, ... and passes {insn.imm}")
    tests = [(slot, insn) for slot, insn, _, taken in exits if taken and insn.is_branch]
    if not any(taken for *_, taken in exits):
        slot, insn = exits[0][:2]
        what = format_instruction(insn).split(" goto")[0][3:] if insn.is_branch else "a jump that is never reached"
        return (f"the only way out, slot {slot}, is never taken: {what} decides it" if len(exits) == 1 else
                f"none of the ways out, slots {', '.join(str(e[0]) for e in exits)}, is ever taken", "once entered, it runs for ever")
    still = _standing(fix, loop)
    if still:
        place, lo, hi = still
        return f"{place} moves by {lo}..{hi} in a turn, so it may stand still", f"when {place} moves by 0, every turn is like the one before"
    written = {insn.dst: (slot, insn) for slot, insn in code if insn.is_load or insn.is_alu or insn.is_lddw}
    for slot, insn in tests:
        if insn.dst in written and written[insn.dst][1].is_load:
            at, load = written[insn.dst]
            return (f"it ends by {format_instruction(insn).split(' goto')[0][3:]} (slot {slot}), and what r{insn.dst} is, every turn reads anew (slot {at})",
                    f"it goes on as long as {format_instruction(load).split(' = ')[1]} does not let it end")
    for reg in range(10):
        if (step := _steps(code, reg)):
            compared = [s for s, i in tests if reg in ({i.dst, i.src} if i.uses_reg else {i.dst})]
            return (f"r{reg} moves by {step} a turn, but "
                    + (f"the comparison in slot {compared[0]} does not bound it" if compared else "no comparison of it ends the loop"),
                    f"r{reg} can pass every value and begin again")
    for slot, insn in tests:
        if not insn.uses_reg and insn.dst not in written and not any(i.is_call for _, i in code):
            return f"r{insn.dst}, which slot {slot} compares, is not changed in it", "entered with a value that does not end it, it runs for ever"
    for slot, insn in tests:
        for reg in (insn.dst, insn.src) if insn.uses_reg else (insn.dst,):
            writes = sorted(at for at, i in code if (i.is_alu or i.is_load or i.is_lddw) and i.dst == reg)
            if len(writes) > 1:
                return (f"r{reg}, which slot {slot} compares, is written in slots {', '.join(map(str, writes))} of it, not by a constant in one direction",
                        "")
    return "", ""


def _steps(code: list[tuple[int, Instruction]], reg: int) -> int:
    """The constant that the loop adds to the register in the one place where it writes it; else 0."""
    writes = [i for _, i in code if (i.is_alu or i.is_load or i.is_lddw) and i.dst == reg or i.is_call and reg < 6]
    if len(writes) != 1 or not writes[0].is_alu or writes[0].uses_reg:
        return 0
    return {isa.ALU_OPS["ADD"]: writes[0].imm, isa.ALU_OPS["SUB"]: -writes[0].imm}.get(writes[0].code, 0)


def _wants_equal(insn: Instruction, kind: str) -> bool:
    """The way out is taken only when both sides are equal."""
    name = isa.JMP_NAMES[insn.code]
    return (name, kind) in (("JEQ", "taken"), ("JNE", "next"))


def _start(fix: Fixpoint, loop: Loop, reg: int) -> int | None:
    """The constant the register has whenever the loop is entered."""
    came = [fix.out.get((node, i)) for node, i in fix.incoming[loop.head] if node not in loop.body]
    values = {s.regs[reg] for s in came if s is not None}
    if len(values) == 1 and (v := values.pop()) is not None and v.kind == "number" and not v.sym:
        return v.off
    return None


def _standing(fix: Fixpoint, loop: Loop) -> tuple[str, int, int] | None:
    """A place that every turn moves in one direction or not at all."""
    head, symbols = fix.invariant[loop.head], fix.made_at[loop.head]
    at_head, found = dict(head.places()), None
    for sym in sorted({v.sym for v in at_head.values()} & set(symbols)):
        lo, hi = None, None
        for edge in loop.back_edges():
            s = fix.out.get(edge)
            if s is None:
                continue
            v, old = dict(s.places()).get(symbols[sym]), at_head[symbols[sym]]
            if v is None or v.kind != old.kind or v.region != old.region or sym not in s.vars:
                return None
            l, h = s.gap(sym, v.sym)
            l, h = l + v.off - old.off, h + v.off - old.off
            lo, hi = (l, h) if lo is None else (min(lo, l), max(hi, h))
        if lo is not None and (lo == 0) != (hi == 0) and max(-lo, hi) < 1 << 31:
            found = found or (place_name(symbols[sym]), lo, hi)
    return found
