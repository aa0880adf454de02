"""Tables of a few constant entries: the container compares the key itself. The engine has no such table, and is not asked.

Entries of exact keys are told apart limb by limb, first by the limb that differs most; others are tried one after the other, as a lookup tries them. From there
each entry goes to its action, with its data as numbers.
"""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I32, MASK32, Val, i32, limb_count
from lpn.compiler.state import scalar_width
from lpn.lang import ast
from lpn.lang import tables as control
from lpn.lang.types import Bool, Type

MOST = 64                                       # numbers in the entries' keys and data, and actions: an instruction for each, or two


def compared(t: ast.Table) -> bool:
    """Whether the container compares the entries itself: they are constant, and few."""
    return t.const_entries and sum(1 + sum(map(numbers_of, e.matches)) + len(e.args) for e in control.constant_entries_of(t)) <= MOST


def numbers_of(m: control.Match) -> int:
    """How many a key is compared with, at most."""
    return limb_count(m.width) * (2 if m.kind == "range" else 1)


class ConstEntries:
    """Mixed into `Lowering`."""

    def compare_entries(self, t: ast.Table, default: ir.Block) -> dict[int, tuple[ir.Block, list]]:
        """Goes to the action of the entry that fits, else to `default`. By an action's number where it runs, and the values that the entry gives it."""
        b, entries = self.b, control.ordered(t, control.constant_entries_of(t))
        keys = [self.steady(self.key_bits(k), len(entries)) for k in t.keys]
        fits = [b.append_basic_block(f"{t.name}.entry") for _ in entries]
        if all(k.match == "exact" for k in t.keys):
            limbs = [(limb, min(32, v.width - 32 * i)) for v in keys for i, limb in enumerate(v.limbs)]
            self.tell_apart(limbs, [([part for m in e.matches for part in limbs_of(m.value, m.width)], block) for e, block in zip(entries, fits)], default)
        else:
            for e, block in zip(entries, fits):
                following = b.append_basic_block(f"{t.name}.next")
                for v, m in zip(keys, e.matches):
                    self.require_match(v, m, following)
                b.branch(block)
                b.position_at_end(following)
            b.branch(default)
        return {number: self.to_action(t, number, [(e, block) for e, block in zip(entries, fits) if e.action == number])
                for number in sorted({e.action for e in entries})}

    def tell_apart(self, limbs: list[tuple[ir.Value, int]], rows: list[tuple[list[int], ir.Block]], default: ir.Block) -> None:
        """limbs: each with its bits. rows: what they are, and where it goes on then."""
        b = self.b
        if not limbs or not rows:
            b.branch(rows[0][1] if rows else default)
            return
        at = max(range(len(limbs)), key=lambda i: len({values[i] for values, _ in rows}))
        (limb, bits), rest = limbs[at], limbs[:at] + limbs[at + 1:]
        groups: dict[int, list] = {}
        for values, block in rows:
            groups.setdefault(values[at], []).append((values[:at] + values[at + 1:], block))
        every = len(groups) == 1 << bits        # the last is what is left
        blocks = [b.append_basic_block("told") for _ in groups]
        switch = b.switch(self.steady(Val(32, (limb,)), len(groups)).limbs[0], blocks[-1] if every else default)
        for value, block in list(zip(groups, blocks))[:len(groups) - every]:
            switch.add_case(i32(value), block)
        for group, block in zip(groups.values(), blocks):
            b.position_at_end(block)
            self.tell_apart(rest, group, default)

    def require_match(self, v: Val, m: control.Match, otherwise: ir.Block) -> None:
        """Goes on where a key is as an entry has it."""
        if m.kind == "range":
            asked = [self.less(self.constant(m.width, m.low), v, or_equal=True)] if m.low else []
            asked += [self.less(v, self.constant(m.width, m.high), or_equal=True)] if m.high + 1 < 1 << m.width else []
        else:
            parts = zip(v.limbs, limbs_of(m.mask, m.width), limbs_of(m.value, m.width))
            asked = [self.eq(Val(32, (self._and(limb, i32(mask)),)), self.constant(32, value)) for limb, mask, value in parts if mask]
        for cond in asked:
            more = self.b.append_basic_block("holds")
            self.b.cbranch(cond, more, otherwise)
            self.b.position_at_end(more)

    def to_action(self, t: ast.Table, number: int, rows: list[tuple[control.Entry, ir.Block]]) -> tuple[ir.Block, list]:
        """Where the action runs of these entries, which come from these blocks, and the values that they give it."""
        b, ref = self.b, t.actions[number - 1]
        start = b.append_basic_block(f"{t.name}.{ref.name}")
        for _, block in rows:
            b.position_at_end(block)
            b.branch(start)
        b.position_at_end(start)
        params = ref.action.params[len(ref.args):]
        met = [self.phis(scalar_width(p.type), [(e.args[i], block) for e, block in rows]) for i, p in enumerate(params)]
        return start, [self.given(p.type, [limb if isinstance(limb, ir.Constant) else self.given_number(limb) for limb in limbs]) for p, limbs in zip(params, met)]

    def phis(self, width: int, rows: list[tuple[int, ir.Block]]) -> list[ir.Value]:
        """The limbs of what each way brings."""
        out: list[ir.Value] = []
        for parts in zip(*(limbs_of(int(value), width) for value, _ in rows)):
            if len(set(parts)) == 1:
                out.append(i32(parts[0]))
                continue
            phi = self.b.phi(I32)
            for part, (_, block) in zip(parts, rows):
                phi.add_incoming(i32(part), block)
            out.append(phi)
        return out

    def given(self, type_: Type, limbs: list[ir.Value]):
        v = Val(scalar_width(type_), tuple(limbs))
        return self.truth(v) if isinstance(type_, Bool) else v

    def given_number(self, v: ir.Value) -> ir.Value:
        """One that depends on the entry."""
        return v


def limbs_of(value: int, width: int) -> list[int]:
    return [(value & (1 << width) - 1) >> 32 * i & MASK32 for i in range(limb_count(width))]
