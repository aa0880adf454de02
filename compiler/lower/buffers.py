"""Buffers: a key and a request on the stack, handed to the engine."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I8, Val, i32
from lpn.compiler.helpers import which
from lpn.lang import ast
from lpn.lang.buffers import buffers, emitted, key_values, of_call

WORD = 4


class Buffers:
    """Mixed into `Lowering`."""

    def _call_buffer_put(self, e: ast.Call) -> Val:
        offset, size = (self.resize(self.bits_of(arg), 32).limbs[0] for arg in e.args[1:3])
        return self.buffer("buffer_put", e, [offset, size])

    def _call_buffer_hold(self, e: ast.Call) -> Val:
        return self.buffer("buffer_hold", e, [i32(0), i32(0)])

    def _call_buffer_take(self, e: ast.Call) -> Val:
        return self.buffer("buffer_take", e, None)

    def _call_buffer_drop(self, e: ast.Call) -> Val:
        return self.buffer("buffer_drop", e, None)

    def buffer(self, helper: str, e: ast.Call, where: list[ir.Value] | None) -> Val:
        """Calls the helper. `where`: offset and size of what is stored: the headers that a deparser emits, then the payload."""
        number = [decl for _, decl in buffers(self.program)].index(of_call(e))
        key, octets = self.buffer_key(e)
        args = [i32(which(number, octets)), key]
        if where is not None:
            self.only_here(e, helper)
            front, part = emitted(e), self.payload_part
            head = self.emit_headers(front, part) if front is not None else i32(0)
            words = [*where, head, *self.payload_range(part)]
            request = self.alloca(ir.ArrayType(I8, WORD * len(words)), "request", align=8)
            for at, word in enumerate(words):       # opaque: LLVM would store two constants as one of 64 bits
                self._store(request, WORD * at, WORD, self.opaque(word) if isinstance(word, ir.Constant) else word)
            args = [i32(which(number, octets, WORD * len(words))), key, request]
        return self.resize(Val(32, (self.outside(e, helper, args),)), 8)

    def buffer_key(self, e: ast.Call) -> tuple[ir.Value, int]:
        """The key's values, each in whole octets: where they lie, and how many octets they are."""
        values = [self.bits_of(value) for value in key_values(e)]
        octets = sum((value.width + 7) // 8 for value in values)
        key = self.alloca(ir.ArrayType(I8, octets), "key", align=8)
        at = 0
        for value in values:
            self.store(key, at, self.resize(value, (value.width + 7) // 8 * 8))
            at += (value.width + 7) // 8
        return key, octets
