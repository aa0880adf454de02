"""A parser's place in the packet: bytes are read ahead within the window and compared with the packet's end once.

A parser has no side effects, so that bytes are missing may be noticed later: a check that fails reports `PacketTooShort`
instead of its own reason if the cursor has passed the end by then, and what is accepted is compared with it once. What is
reported is what checking every step at once would have reported (docs/language.md, "Short packets").
"""
from __future__ import annotations

from typing import NamedTuple

import llvmlite.ir as ir

from lpn.compiler.bits import PKT, Val, i32, is_const
from lpn.compiler.state import scalar_width
from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.types import Bits

Reason = str | ast.Expr                         # an automatic one by its name, or the program's

MOST_BITS = 0xFFFF                              # more than the longest packet has

#: So many places that are refused compare for themselves: to meet costs one more register than it saves instructions.
FEW_REFUSED = 3


class Refused(NamedTuple):
    """Where a check has failed: a block without an end yet, the reason's number, how far the packet must reach for that to count, the source's place."""

    block: ir.Block
    number: ir.Value
    cursor: ir.Value
    debug: ir.DIValue | None


class Cursor:
    """Mixed into `Lowering`. `bound`: how far the cursor may lie beyond what is known to be inside the packet; `look`: octets
    behind the cursor that a lookahead needs."""

    def cursor(self) -> ir.Value:
        return self.b.load(self.cursor_slot, typ=PKT)

    def need(self, octets: int) -> None:
        """Makes `octets` behind the cursor readable."""
        if octets == 0:
            return
        if self.bound + octets > self.target.window:
            self.short_unless(self.cursor())
            self.bound = 0

    def short_unless(self, pointer: ir.Value) -> None:
        """Rejects as too short if `pointer` lies beyond the packet's end."""
        self.reject_unless(self.b.icmp_unsigned("<=", pointer, self.end), "PacketTooShort")

    def advance_static(self, octets: int) -> None:
        if octets:
            self.b.store(self.at(self.cursor(), octets), self.cursor_slot)
            self.bound += octets
            self.look = max(0, self.look - octets)

    def advance_by(self, octets: ir.Value) -> None:
        """A run-time number of octets; the packet must hold them."""
        self.require_lookahead()
        self.b.store(self.at(self.cursor(), octets), self.cursor_slot)
        self.short_unless(self.cursor())
        self.bound = 0

    def require_lookahead(self) -> None:
        if self.look and self.miss is None:     # what is guessed is compared with the end once
            self.short_unless(self.at(self.cursor(), self.look))
            self.bound = self.look = 0

    def whole_octets(self, bits: Val, e: ast.Expr) -> ir.Value:
        """The octets in a number of bits, as i32, `e` being what it is of. Of numbers beyond all packets one is as good as another, and a verifier wants
        to know one that they do not exceed."""
        if greatest(e) > MOST_BITS:
            b, v = self.b, Val(bits.width, tuple(self.opaque(limb) for limb in bits.limbs))       # see `array_cell`
            low = self.opaque(b.select(b.icmp_unsigned("<=", v.limbs[0], i32(MOST_BITS)), v.limbs[0], i32(MOST_BITS)), here=True)
            if v.width > 32:
                above = self.slice(v, v.width - 1, 32)
                low = b.select(self.eq(above, self.constant(above.width, 0)), low, i32(MOST_BITS))
            bits = Val(32, (low,))
        octets = self._shr(self.resize(bits, 32).limbs[0], 3)
        return self._and(self.opaque(octets), i32(MOST_BITS >> 3)) if is_kept(e) and not is_const(octets) else octets

    def take(self, width: int) -> Val:
        self.need(width // 8)
        v = self.load_packet(self.cursor(), 0, width, False)
        self.advance_static(width // 8)
        return v

    def peek(self, width: int, little: bool = False) -> Val:
        if self.tentative:                      # not on every path: what it needs is tested here
            self.short_unless(self.at(self.cursor(), width // 8))
            return self.load_packet(self.cursor(), 0, width, little)
        self.need(width // 8)
        self.look = max(self.look, width // 8)
        return self.load_packet(self.cursor(), 0, width, little)

    def check(self, cond: ir.Value, reason: str) -> None:
        """Rejects with `reason` if false."""
        self.reject_if_not(cond, reason, self.at(self.cursor(), self.look))

    def check_that(self, e: ast.Expr, reason: Reason) -> None:
        """Rejects with `reason` unless the condition `e` holds."""
        if e.const:
            return
        b = self.b
        if self.miss is not None:
            ok = b.append_basic_block("usual")
            self.branch(e, ok, self.miss)
            b.position_at_end(ok)
            return
        ok, fail = b.append_basic_block("ok"), b.append_basic_block("fail")
        self.branch(e, ok, fail)
        b.position_at_end(fail)
        self.reject_now(reason)
        b.position_at_end(ok)

    def reject_at(self, reason: Reason, cursor: ir.Value | None) -> None:
        """Ends the block: too short if the cursor lies beyond the end, else `reason`. One that looks ahead does so here only."""
        if self.miss is not None:
            self.b.branch(self.miss)
            return
        saved = self.bound, self.look
        number = self.reason_of(reason)
        if self.look > saved[1]:
            cursor = self.at(self.cursor(), self.look)
        self.bound, self.look = saved
        if cursor is None or reason == "PacketTooShort":
            self.return_drop(number)
            return
        refused = Refused(self.b.block, number, cursor, self.b.debug_metadata)
        if self.may_meet:
            self.refused.append(refused._replace(block=self.b.append_basic_block("refused")))
            self.b.branch(self.refused[-1].block)
        else:
            self.refuse(refused)

    def reason_of(self, reason: Reason) -> ir.Value:
        """Its number. An error that was never set is no reason: NoMatch."""
        if isinstance(reason, str):
            return i32(self.reason(reason))
        number = self.resize(self.bits_of(reason), 32).limbs[0]
        if is_const(number) and number.constant:
            return number
        return self.b.select(self.b.icmp_unsigned("==", number, i32(0)), i32(self.reason("NoMatch")), number)

    def refuse(self, at: Refused) -> None:
        """Ends the block."""
        b = self.b
        b.position_at_end(at.block)
        b.debug_metadata = at.debug
        inside = b.icmp_unsigned("<=", at.cursor, self.end)
        self.return_drop(b.select(inside, at.number, i32(self.reason("PacketTooShort"))))

    def finish_refused(self) -> None:
        """Says what happens where checks fail that may meet: one comparison with the end does for many. Call once, when all of these places are known."""
        if len(self.refused) > FEW_REFUSED:
            self.meet_refused()
            return
        for at in self.refused:
            self.refuse(at)

    def meet_refused(self) -> None:
        b, codes = self.b, []
        meet, refused = b.append_basic_block("refused.all"), b.append_basic_block("refused.so")
        for at in self.refused:
            b.position_at_end(at.block)
            b.debug_metadata = at.debug
            codes.append(self.drop_code(at.number, cold=True))
            b.branch(meet)
        b.position_at_end(meet)
        code, cursor = b.phi(codes[0].type), b.phi(PKT)
        for at, its in zip(self.refused, codes):
            code.add_incoming(its, at.block)
            cursor.add_incoming(at.cursor, at.block)
        b.cbranch(b.icmp_unsigned("<=", cursor, self.end), refused, self.drop_block("PacketTooShort"))
        b.position_at_end(refused)
        self.leave(code)

    def reject_now(self, reason: Reason) -> None:
        self.reject_at(reason, self.at(self.cursor(), self.look))

    def reject_if_not(self, cond: ir.Value, reason: Reason, cursor: ir.Value) -> None:
        if isinstance(cond, ir.Constant) and cond.constant:
            return
        if self.miss is not None:
            self.as_guessed(cond)
            return
        b = self.b
        ok, fail = b.append_basic_block("ok"), b.append_basic_block("fail")
        self.likely(b.cbranch(cond, ok, fail))
        b.position_at_end(fail)
        self.reject_at(reason, cursor)
        b.position_at_end(ok)

    # ---------------------------------------------------------------- other packet methods

    def _call_advance(self, e: ast.Call) -> None:
        bits = self.bits_of(e.args[0])
        if bits.const is not None:
            self.need(bits.const // 8)
            self.advance_static(bits.const // 8)
        else:
            self.advance_by(self.whole_octets(bits, e.args[0]))

    def _call_lookahead(self, e: ast.Call) -> Val:
        width = self.width_of(e.type)
        whole = (width + 7) // 8 * 8
        v = self.peek(whole, e.type_args[0].name == "le")
        return self.slice(v, whole - 1, whole - width) if width < whole else v

    def _call_verify(self, e: ast.Call) -> None:
        self.check_that(e.args[0], e.args[1])


def greatest(e: ast.Expr) -> int:
    """No value of an unsigned expression is more."""
    ones = (1 << scalar_width(e.type)) - 1 if e.const is None else int(e.const)
    if e.const is None and isinstance(e, ast.Cast) and not getattr(e.operand.type, "signed", False):
        return min(ones, greatest(e.operand))
    if e.const is None and isinstance(e, ast.Binary) and e.op in GREATEST:
        return min(ones, GREATEST[e.op](greatest(e.left), greatest(e.right)))
    return ones


def is_kept(e: ast.Expr) -> bool:
    """Whether a number is made of variables: LLVM leaves out the mask that bounds it where it knows more of them than a verifier does, as behind a
    comparison of two."""
    return any(isinstance(n, ast.Name) and n.const is None and isinstance(n.decl, ast.VarDecl) and isinstance(n.decl.type, Bits) for n in walk(e))


GREATEST = {"*": lambda x, y: x * y, "+": lambda x, y: x + y, "<<": lambda x, y: x << min(y, 64), "&": min}
