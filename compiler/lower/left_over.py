"""Whether anything is left of the packet is a comparison of places where a parser selects by that: the octet that is looked at or taken next needs none of its own."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I1, i32
from lpn.lang import ast


class LeftOver:
    """Mixed into `Lowering`."""

    def asks_for_end(self, e: ast.Expr, key: ast.Expr) -> bool:
        """Whether a key asks that nothing lies behind the cursor."""
        return (key.const == 0 and isinstance(e, ast.Sizeof) and isinstance(e.operand, ast.Name) and e.operand.decl == "payload" and self.target.window > 0
                and self.this is None and self.codec_start is None and self.payload_part is None and self.cut_slot is None)

    def is_at_end(self) -> ir.Value:
        return self.b.icmp_unsigned(">", self.at(self.cursor(), 1), self.end)

    def stands_at_end(self, select: list[ast.Expr], keys: list[ast.Expr]) -> None:
        """Behind a case's keys: that no octets are left LLVM is to know of their number, too. Where the cursor may lie beyond the end it is another one."""
        if not self.bound and any(self.asks_for_end(e, key) for e, key in zip(select, keys)):
            assume = self.fn.module.declare_intrinsic("llvm.assume", (), ir.FunctionType(ir.VoidType(), [I1]))
            self.b.call(assume, [self.b.icmp_unsigned("==", self.payload_octets(), i32(0))])
