"""What LLVM's BPF back end leaves on the table: branches it cannot invert, bit tests it has no pattern for.

- `if C goto A; goto B; A:` becomes `if !C goto B`;
- `t = x; t &= m; if t != 0 goto A` becomes `if x & m goto A` (bit_tests.py);
- whether a number is one of several is no question of 64 bits (wide_tests.py);
- `x <<= 32; x >>= 32` becomes `wx = wx`, and `be64 x; x >>= 40` is `be32 x; wx >>= 8` (halves.py);
- a constant that is stored or divided by needs no register (BPF_ST), not even one of 64 bits, and what nobody reads is not made;
- a jump to a jump goes where that goes, a jump to `exit` is `exit`, one to what is next anyway is none;
- two constants that are added one behind the other are one;
- what a register holds is not reloaded, nor a constant, and what nobody reloads is not spilled (spills.py);
- what a helper has not written is not loaded again behind it (over_calls.py);
- what reads a copy reads the original (copies.py);
- a copy whose original nobody needs is the original (renamed.py);
- what is known is not asked (decided.py), nor what the bits of a number tell (known_bits.py);
- whether the highest bits of a number are these is a test of its bounds (high_bits.py);
- bits that nobody reads are not cleared (needed_bits.py);
- a result is made where it is returned (returned.py);
- what one of two ways needs is made on that way (sinking.py);
- what is added, or stored, is so where it is known which number it is (added.py);
- a block stands behind the jump to it (placement.py);
- ways that begin alike share their begin (begins.py), those that end alike their end (tails.py);
- and where code is to be short, the comparison in front of it (ends.py), a place that is one of two (made_once.py), a store where they meet (stored.py).
"""
from __future__ import annotations

from dataclasses import replace

from ..isa import ALU, ALU_OPS, FRAME_POINTER, LDDW, LDDW_IMM64, MODES, SIZES, ST, STX, Instruction, X, signed32
from .added import add_where_known
from .begins import merge_begins
from .bit_tests import bit_tests, constants_first
from .copies import read_originals, step_in_place
from .decided import decide_branches
from .ends import shorten_ends
from .flow import live_out
from .halves import clear_upper_halves, narrow_swaps
from .high_bits import compare_bounds
from .known_bits import decide_by_bits, drop_constants
from .made_once import make_once
from .needed_bits import drop_masks
from .over_calls import keep_over_calls
from .placement import INVERSE, inverted, place_beside, place_blocks
from .renamed import rename_copies
from .returned import compare_originals, sink_results
from .rewrite import Line, read, reads_writes, sweep, targets_of, write
from .sinking import sink
from .spills import drop_reloads, drop_stores, reload_constants
from .stored import store_once
from .tails import merge_tails
from .wide_tests import wide_tests

ADD, MOV, DIV, MOD = (ALU_OPS[name] for name in ("ADD", "MOV", "DIV", "MOD"))
ROUNDS = 12


def improve(text: bytes, lines: list[tuple[int, str, int]], small: bool = False) -> tuple[bytes, list[tuple[int, str, int]]]:
    """Text and its source lines, improved; `small`: to be short. The meaning does not change; offsets of jumps stay within 16 bits."""
    code = read(text, lines)
    if decide_by_bits(code):
        sweep(code)
    in_rounds(code)
    drop_constants(code)
    compare_bounds(code)
    if small:
        make_once(code)
        store_once(code)
        place_beside(code)
    merge_tails(code)
    if small:
        shorten_ends(code)
        merge_tails(code)
    merge_begins(code)
    merge_tails(code)
    if not small and place_blocks(code):        # where ends are shared; what a block begins with may be known there
        sweep(code)
        for one in (read_originals, drop_unread, constants_first, drop_reloads, rename_copies, sink):
            if one(code):
                sweep(code)
    if thread_jumps(code):
        sweep(code)
    return write(code)


def in_rounds(code: list[Line]) -> None:
    """The passes, one after the other, as long as they find something."""
    idle = 0                                    # passes in a row that had nothing to do
    for _ in range(ROUNDS):
        before = len(code)
        for one in PASSES:
            idle = 0 if one(code) else idle + 1
            if not idle:
                sweep(code)
            elif idle == len(PASSES):
                break
        if len(code) == before:
            break


def thread_jumps(code: list[Line]) -> bool:
    changed = False
    for i, line in enumerate(code):
        if line.target is None:
            continue
        if line.target.insn.is_goto:
            seen = {line}
            while line.target.insn.is_goto and line.target not in seen:
                seen.add(line.target)
                line.target, changed = line.target.target, True
        if line.insn.is_goto and line.target.insn.is_exit:
            line.insn, line.target, changed = line.target.insn, None, True
        elif i + 1 < len(code) and line.target is code[i + 1]:
            line.dead = changed = True          # of a branch: both its ways are one
    return changed


def use_immediates(code: list[Line]) -> bool:
    """A constant that is stored needs no register (BPF_ST), and one of 64 bits that nobody reads whole again is stored in two halves; nor does one
    that something is divided by. Constants are followed as far as there is one way to an instruction."""
    targets, changed = targets_of(code), False
    known: dict[int, int] = {}
    out: list[Line] = []
    for line in code:
        insn = line.insn
        out.append(line)
        if known:
            if line in targets:
                known.clear()
            value = known.get(insn.src) if insn.cls == STX and insn.mode == MODES["MEM"] else None
            if value is not None and (insn.size < 8 or value == signed32(value)):       # it would be extended with its sign
                line.insn = insn = replace(insn, op=insn.op & ~7 | ST, src=0, imm=signed32(value))
                changed = True
            elif value is not None and not stays_whole(code, insn):
                word = replace(insn, op=ST | MODES["MEM"] | SIZES["W"], src=0)
                line.insn = insn = replace(word, imm=signed32(value))
                out.append(Line(replace(word, off=word.off + 4, imm=signed32(value >> 32)), None, line.source))
                changed = True
            by = known.get(insn.src) if insn.is_alu and insn.uses_reg and insn.code in (DIV, MOD) else None
            if by and signed32(by) and (insn.cls == ALU or by == signed32(by)):
                line.insn = insn = replace(insn, op=insn.op & ~X, src=0, imm=signed32(by))
                changed = True
            if insn.ends_block:
                known.clear()
            writes = reads_writes(insn)[1]
            for reg in [reg for reg in known if writes >> reg & 1]:
                del known[reg]
        if insn.is_alu and insn.code == MOV and not insn.uses_reg:
            known[insn.dst] = insn.imm & 0xFFFFFFFF if insn.cls == ALU else insn.imm
        elif insn.op == LDDW and insn.src == LDDW_IMM64:
            known[insn.dst] = insn.imm - (insn.imm >> 63 << 64)         # which is said without a sign
    code[:] = out
    return changed


def join_sums(code: list[Line]) -> bool:
    """Two constants that are added one behind the other are one."""
    targets, changed = targets_of(code), False
    for line, nxt in zip(code, code[1:]):
        one, two = line.insn, nxt.insn
        if two.is_alu and two.code == ADD and not two.uses_reg and (one.op, one.dst) == (two.op, two.dst) and nxt not in targets \
                and (two.cls == ALU or one.imm + two.imm == signed32(one.imm + two.imm)):
            line.dead, nxt.insn, changed = True, replace(two, imm=signed32(one.imm + two.imm)), True
    return changed


def stays_whole(code: list[Line], store: Instruction) -> bool:
    """Whether a store of eight bytes is none of two halves: they are loaded at once from there on the stack, or the second half's offset has no room."""
    return store.off + 4 >= 1 << 15 or store.dst == FRAME_POINTER and any(
        line.insn.is_load and line.insn.size == 8 and line.insn.src == FRAME_POINTER and line.insn.off == store.off for line in code)


def drop_unread(code: list[Line]) -> bool:
    """What makes a value that nobody reads: constants that were stored as such, reloads that the register allocator left."""
    changed = False
    for line, live in zip(code, live_out(code)):
        insn = line.insn
        if not live >> insn.dst & 1 and (insn.is_alu or insn.is_load or insn.is_lddw):
            line.dead = changed = True
    return changed


def invert_branches(code: list[Line]) -> bool:
    targets, changed = targets_of(code), False
    for line, jump, behind in zip(code, code[1:], code[2:]):
        if line.target is behind and line.insn.is_branch and jump.insn.is_goto and jump not in targets and line.insn.code in INVERSE:
            line.insn, line.target = inverted(line.insn), jump.target
            jump.dead = changed = True
    return changed


#: Each changes the code in place, and says whether it did; what it marks as dead, and what nothing leads to any more, is taken out behind it.
PASSES = (thread_jumps, wide_tests, decide_branches, clear_upper_halves, narrow_swaps, use_immediates, join_sums, drop_masks, reload_constants, drop_reloads,
          keep_over_calls, read_originals, step_in_place, rename_copies, drop_stores, drop_unread, invert_branches, constants_first, bit_tests, sink_results, compare_originals,
          sink, add_where_known, place_blocks)
