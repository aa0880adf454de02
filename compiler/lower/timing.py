"""Handlers of timing blocks, and what reaches beyond the node's memory: the radio, sending, timers."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.compiler.bits import I32, PKT, Val, i32
from lpn.compiler.target import CTX_OUT, CTX_PKT, EVENT_SLOT, MAX_PACKET, META_SLOTS
from lpn.lang import ast
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.hooks import longest
from lpn.lang.types import Bits as BitsType, Frame

from .places import ContextSlot, Place, StructPlace

#: What LPN's own engine alone has, by how its helpers' names begin.
OWN = {"buffer": "buffers", "radio": "radio", "net": "network layer to send to", "timer": "timers"}


class FrameLength(ContextSlot):
    """`frame.length`: octets between the two packet pointers."""

    def __init__(self, lower):
        super().__init__(lower, BitsType(16), CTX_PKT)

    def get(self):
        return self.lower.resize(Val(32, (self.lower.distance(self.lower.pkt, self.lower.end),)), 16)


class Timings:
    """Mixed into `Lowering`."""

    def handler(self, h: ast.Handler, done) -> None:
        """A handler's body; its packet's payload is empty, whatever the event brings."""
        self.handles = True
        self.payload_part = (self.end, self.end)
        for param in h.params:
            self.env[param] = self.frame_place(param.type) if isinstance(param.type, Frame) \
                else ContextSlot(self, param.type, EVENT_SLOT[0])
        end = self.b.append_basic_block(f"{h.name}.end")
        self.returns.append((None, end))
        self.statement(h.body)
        if not self.b.block.is_terminated:
            self.b.branch(end)
        self.returns.pop()
        self.b.position_at_end(end)
        done()

    def frame_place(self, type_: Frame) -> StructPlace:
        fields: dict[str, Place] = {name: ContextSlot(self, BitsType(META_SLOTS[name][1]), META_SLOTS[name][0])
                                    for name in ("time", "rssi", "lqi")}
        return StructPlace(type_, fields | {"length": FrameLength(self)})

    def _stmt_After(self, s: ast.After) -> None:
        """Starts the timer of the hook that the body is."""
        index = next(i for i, hook in enumerate(self.program.hooks) if s.handler in hook.chain)
        most = i32(longest(s))
        delay = self.least(self.bits_of(s.delay).limbs[0], most) if s.delay.const is None else most
        self.outside(s, "timer_start", [i32(index), delay])

    # ---------------------------------------------------------------- the radio

    def outside(self, node: ast.Node, helper: str, args: list[ir.Value]) -> ir.Value:
        self.only_here(node, helper)
        return self.call_helper(helper, args)

    def only_here(self, node: ast.Node, helper: str) -> None:
        """Refuses for other targets what only LPN's own engine has."""
        if self.target.name != "lpn":
            what = OWN[helper.partition("_")[0]]
            raise DiagnosticError([Diagnostic("error", f"target {self.target.name} has no {what}", node.span, [
                "LPN's own engine has: build for --target lpn, or without the module (--without)"])])

    def _call_radio_on(self, e: ast.Call) -> None:
        self.outside(e, "radio_on", [])

    def _call_radio_off(self, e: ast.Call) -> None:
        self.outside(e, "radio_off", [])

    def _call_radio_cca(self, e: ast.Call) -> Val:
        return self.resize(Val(32, (self.outside(e, "radio_cca", []),)), 8)

    def _call_radio_channel(self, e: ast.Call) -> None:
        self.outside(e, "radio_channel", [self.resize(self.bits_of(e.args[0]), 32).limbs[0]])

    def _call_radio_power(self, e: ast.Call) -> None:
        self.outside(e, "radio_power", [self.sign_extend(self.bits_of(e.args[0]), 32).limbs[0]])

    # ---------------------------------------------------------------- sending

    def _call_radio_send(self, e: ast.Call) -> Val:
        return self.send("radio_send", e)

    def _call_net_send(self, e: ast.Call) -> Val:
        return self.send("net_send", e)

    def send(self, helper: str, e: ast.Call) -> Val:
        """What the deparser emits, then the payload or a part of it: what of the part lies beyond the payload is not there."""
        self.only_here(e, helper)
        part = self.payload_slice(e.args[1], e.args[2]) if len(e.args) == 3 else self.payload_part
        octets = self.emit_headers(e.args[0], part)
        return self.resize(Val(32, (self.outside(e, helper, [octets, *self.payload_range(part)]),)), 8)

    def payload_range(self, part: tuple[ir.Value, ir.Value] | None) -> tuple[ir.Value, ir.Value]:
        """Where the payload, or that part of it, begins in the packet, and its octets (i32)."""
        first, end = part or (self.payload_pointer(), self.end)
        length = self.clean_distance(first, end)
        if part is None and self.cut_slot is not None:
            length = self.b.sub(length, self.b.load(self.cut_slot, typ=I32))
        return self.clean_distance(self.pkt, first), length

    def emit_headers(self, e: ast.Call, part: tuple[ir.Value, ir.Value] | None) -> ir.Value:
        """`Tx(h)`: puts the deparser in line, into the output buffer; how many octets it wrote (i32). `part`: the first octet
        of what will follow and the one behind it, where that is not the payload: it is then the payload of the headers'
        equations. The buffer is free again as soon as its content has been taken."""
        saved, self.payload_part = self.payload_part, part
        called_at = self.b.debug_metadata
        self.out_pointer = self.late_pointer(CTX_OUT)
        self.deparse(e.target)
        self.payload_part, self.b.debug_metadata = saved, called_at
        return self.written()

    def payload_slice(self, start: ast.Expr, length: ast.Expr) -> tuple[ir.Value, ir.Value]:
        """(first octet, the one behind the last) of `length` octets of the payload from `start`."""
        b = self.b
        first, size = self.payload_pointer(), self.payload_octets()
        if self.cut_slot is not None:           # what a verifier knows of the difference of two numbers is not enough
            size = b.and_(self.opaque(size), i32(2 * MAX_PACKET - 1))
        at, most = (self.resize(self.bits_of(one), 32).limbs[0] for one in (start, length))
        at = self.least(at, size)
        count = self.least(most, b.sub(size, at))
        return self.bounded_pointer(first, at), self.bounded_pointer(first, b.add(at, count))

    def clean_distance(self, start: ir.Value, end: ir.Value) -> ir.Value:
        """The distance as an argument of a helper: in 32 bits, where LLVM would widen the subtraction to 64."""
        return self.opaque(self.distance(start, end))

    def bounded_pointer(self, base: ir.Value, offset: ir.Value) -> ir.Value:
        """base + offset, which is in the packet: compared with its end once more, for a verifier to see."""
        b, slot = self.b, self.alloca(PKT, "part")
        pointer = self.opaque(self.at(base, offset))
        b.store(pointer, slot)
        with b.if_then(b.icmp_unsigned(">", pointer, self.end), likely=False):
            b.store(self.end, slot)
        return b.load(slot, typ=PKT)
