"""Conditions become jumps, and where ways meet again the values that come from them."""
from __future__ import annotations

from functools import reduce

import llvmlite.ir as ir

from lpn.compiler.bits import I32, Val
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bits as BitsType


def operands(e: ast.Expr, op: str) -> list[ast.Expr]:
    """The parts of `a && b && c`, or with another operator."""
    return operands(e.left, op) + operands(e.right, op) if isinstance(e, ast.Binary) and e.op == op else [e]


def known_key(e: ast.Expr) -> tuple | None:
    """(field, constant) of a comparison `field == constant` or `field != constant` with one's own field."""
    if isinstance(e, ast.Binary) and e.op in ("==", "!=") and isinstance(e.left, ast.Name) \
            and isinstance(e.left.decl, ast.Field) and e.right.const is not None:
        return e.left.decl, int(e.right.const)
    return None


class Conditions:
    """Mixed into `Lowering`."""

    def branch(self, e: ast.Expr, yes: ir.Block, no: ir.Block) -> None:
        """Ends the block with a jump to `yes` or `no`. `&&`, `||` and `!` become jumps, never values: eBPF has no
        instruction that makes a truth value."""
        b = self.b
        if e.const is not None:
            b.branch(yes if e.const else no)
        elif self.known and (known := self.known.get((self.this, known_key(e)))) is not None:
            b.branch(yes if known == (e.op == "==") else no)
        elif isinstance(e, ast.Unary) and e.op == "!":
            self.branch(e.operand, no, yes)
        elif isinstance(e, ast.Binary) and e.op in ("&&", "||"):
            *before, last = self.together(operands(e, e.op), "==" if e.op == "&&" else "!=")
            for parts in before:
                more = b.append_basic_block("and" if e.op == "&&" else "or")
                self.branch_all(parts, *((more, no) if e.op == "&&" else (yes, more)))
                b.position_at_end(more)
            self.branch_all(last, yes, no)
        elif isinstance(e, ast.Conditional):
            then, otherwise = b.append_basic_block("then"), b.append_basic_block("else")
            self.branch(e.cond, then, otherwise)
            for block, part in ((then, e.then), (otherwise, e.otherwise)):
                b.position_at_end(block)
                self.branch(part, yes, no)
        elif isinstance(e, ast.Binary) and e.op in ("==", "!=") and isinstance(e.left.type, BitsType) and e.left.type.width > 32:
            self.branch_equal(self.bits_of(e.left), self.bits_of(e.right), *((yes, no) if e.op == "==" else (no, yes)))
        else:
            cond = self.condition(e)
            if isinstance(cond, ir.Constant):
                b.branch(yes if cond.constant else no)
            else:
                b.cbranch(cond, yes, no)

    def together(self, parts: list[ast.Expr], op: str) -> list[list[ast.Expr]]:
        """Parts of a chain of `&&` or `||`, those that compare bit-fields of one unit with constants in one list: one test of the unit."""
        out: list[list[ast.Expr]] = []
        units: dict[tuple, list[ast.Expr]] = {}             # of these a list goes on: nothing was called since
        for part in parts:
            unit = self.unit_compared(part, op)
            if unit in units:
                units[unit].append(part)
                continue
            out.append([part])
            if unit is not None:
                units[unit] = out[-1]
            elif any(isinstance(n, ast.Call) and n.target != "isValid" for n in walk(part)):
                units.clear()
        return out

    def unit_compared(self, e: ast.Expr, op: str) -> tuple | None:
        """(instance, unit) of `field == constant`, of a bit-field that is always there; `op`: which comparison it must be."""
        if self.known or not isinstance(e, ast.Binary) or e.op != op or e.right.const is None or not isinstance(e.left, (ast.Name, ast.Member)):
            return None
        f = e.left.decl
        if not isinstance(f, ast.Field) or f.when is not None or not isinstance(f.type, BitsType):
            return None
        inst = self.this if isinstance(e.left, ast.Name) else self.place(e.left.base)
        u = inst.layout.unit_of[f]
        return (inst, u) if len(u.fields) > 1 and u.bits <= 32 else None

    def branch_all(self, parts: list[ast.Expr], yes: ir.Block, no: ir.Block) -> None:
        """A jump by a part of a chain, or by some that LLVM makes one test."""
        if len(parts) == 1:
            self.branch(parts[0], yes, no)
            return
        both = self.land if parts[0].op == "==" else self.lor
        cond = reduce(both, [self.condition(part) for part in parts])
        if isinstance(cond, ir.Constant):
            self.b.branch(yes if cond.constant else no)
        else:
            self.b.cbranch(cond, yes, no)

    def branch_equal(self, x: Val, y: Val, yes: ir.Block, no: ir.Block) -> None:
        """Limb by limb from the most significant: addresses mostly differ in their prefix."""
        for i in reversed(range(len(x.limbs))):
            self.test_alone(self.b.icmp_unsigned("==", x.limbs[i], y.limbs[i]), no)
        self.b.branch(yes)

    def test_alone(self, cond: ir.Value, otherwise: ir.Block, alone: bool = True) -> None:
        """Goes on where the condition holds. `alone`: by a branch of its own. LLVM would make one test of several, and it takes more
        instructions to join their results than to test each; what is guessed is straight anyway."""
        if isinstance(cond, ir.Constant) and cond.constant:
            return
        b, alone = self.b, alone and self.miss is None
        more, wrong = b.append_basic_block("holds"), b.append_basic_block("other") if alone else otherwise
        b.cbranch(cond, more, wrong)
        if alone:
            b.position_at_end(wrong)
            self.mark(keeps=True)
            b.branch(otherwise)
        b.position_at_end(more)

    def choose(self, e: ast.Expr, then, otherwise):
        """The value of `then()` or `otherwise()` (Val, i1 or i32), by the condition `e`."""
        b = self.b
        yes, no, done = (b.append_basic_block(n) for n in ("yes", "no", "chosen"))
        self.branch(e, yes, no)
        ends = []
        for block, make in ((yes, then), (no, otherwise)):
            b.position_at_end(block)
            v = make()
            ends.append((v, b.block))
            b.branch(done)
        b.position_at_end(done)
        return self.join(ends)

    def join(self, ends: list):
        """The value that comes from whichever predecessor was left."""
        first = ends[0][0]
        if not isinstance(first, Val):
            return self.phi(first.type, ends)
        return Val(first.width, tuple(self.phi(I32, [(v.limbs[i], block) for v, block in ends])
                                      for i in range(len(first.limbs))))

    def phi(self, ty: ir.Type, ends: list) -> ir.Value:
        phi = self.b.phi(ty)
        for v, block in ends:
            phi.add_incoming(v, block)
        return phi
