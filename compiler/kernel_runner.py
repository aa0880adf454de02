"""Runs an XDP program (target `xdp`) in the Linux kernel, frame by frame: engine `kernel`."""
from __future__ import annotations

import struct
from collections.abc import Mapping

from lpn.lang import ast
from lpn.lang import tables as control
from lpn.runtime.engines import OUT_SIZE, VERDICTS, EngineError, Result, check_meta
from lpn.runtime.kernel import ArrayMap, load_xdp
from lpn.runtime.memory import CONTEXT

from . import xdp
from .build import Compiled
from .elf import SRC_DATA, SRC_RODATA
from .isa import LDDW, decode, slot_indices
from .lower.bounded import memory_of
from .lower.bounded_tables import Rows
from .lower.const_entries import compared
from .lower.processor import tables
from .runner import ONE_CHAIN, Cells, Runner, compiled_cells
from .target import CTX_CUT, CTX_OUT_LEN, CTX_PAYLOAD, MAX_PACKET


def address_loads(text: bytes, source: int) -> dict[int, int]:
    """Slots of the `lddw` that load an address of this section, with the offsets they load."""
    program = decode(text)
    return {slot: insn.imm & 0xFFFFFFFF for slot, insn in zip(slot_indices(program), program)
            if insn.op == LDDW and insn.src == source}


def without_source(text: bytes) -> bytes:
    """The text with the source fields of `lddw` cleared, as loaders expect it before they relocate."""
    code = bytearray(text)
    for source in (SRC_DATA, SRC_RODATA):
        for slot in address_loads(text, source):
            code[8 * slot + 1] &= 15
    return bytes(code)


class KernelRunner(Runner):
    """A program in the kernel. Its memory is one array map, into which each frame's circumstances are written before and
    from which the verdict is read after; the state stays in it. Raises KernelRejected, EngineUnavailable."""

    def __init__(self, compiled: Compiled, given: control.Tables | None):
        self.compiled = compiled
        [container] = compiled.containers
        code = container.code
        self.layout = memory_of(compiled.program, compiled.record_size, compiled.state.size)
        self.rebuilds = container.lowered.rebuilds
        self.map = ArrayMap(len(code.data))
        self.map.update(code.data)
        values = {slot: (self.map, at) for slot, at in address_loads(code.text, SRC_DATA).items()}
        constants = address_loads(code.text, SRC_RODATA)
        if constants:
            self.rodata = ArrayMap(len(code.rodata))
            self.rodata.update(code.rodata)
            values |= {slot: (self.rodata, at) for slot, at in constants.items()}
        self.program = load_xdp(without_source(code.text), values=values, name=container.name[:15])
        self.set_state(compiled.initial_state(given))
        for table, entries in (given.entries if given else {}).items():
            self.set_entries(table, entries)

    def state(self) -> bytes:
        at = self.layout.state
        return self.map.lookup()[at:at + self.compiled.state.size]

    def set_state(self, state: bytes) -> None:
        self.put(self.layout.state, state)

    def cells(self) -> Cells:
        return compiled_cells(self.compiled, self.state())

    def set_cell(self, cell: control.Cell) -> None:
        state = bytearray(self.state())
        self.compiled.state.write(state, cell.register, cell.index, cell.values)
        self.set_state(bytes(state))

    def set_entries(self, table: ast.Table, entries: list[control.Entry]) -> None:
        if compared(table):                     # they are those that the program knows
            return
        try:
            self.put(self.layout.rows(tables(self.compiled.program).index(table)), Rows(table).filled(entries))
        except ValueError as e:
            raise EngineError(str(e)) from None

    def put(self, at: int, content: bytes) -> None:
        memory = bytearray(self.map.lookup())
        memory[at:at + len(content)] = content
        self.map.update(bytes(memory))

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None, hook: int | None = None) -> Result:
        if hook is not None:
            raise EngineError(ONE_CHAIN)
        if len(frame) > MAX_PACKET:
            raise EngineError(f"a frame of {len(frame)} bytes, at most {MAX_PACKET} are possible")
        memory = bytearray(self.map.lookup())
        for name, value in check_meta(meta).items():
            offset, width = CONTEXT[name]
            memory[offset:offset + width] = value.to_bytes(width, "little")
        self.map.update(bytes(memory))
        run = self.program.run(xdp.ethernet(frame))
        memory = bytearray(self.map.lookup())
        return self.result(memory, run.data[xdp.ETHERNET_HEADER:])

    def result(self, memory: bytes, packet: bytes) -> Result:
        code, = struct.unpack_from("<I", memory, xdp.VERDICT)
        verdict, argument = VERDICTS[code & 0xFFFF], code >> 16
        reason = self.compiled.program.reasons[argument] if verdict == "DROP" else None
        out = None
        if self.rebuilds and verdict in ("ACCEPT", "TRANSMIT"):
            length, payload, cut = (struct.unpack_from("<I", memory, at)[0] for at in (CTX_OUT_LEN, CTX_PAYLOAD, CTX_CUT))
            packet = packet[:max(len(packet) - cut, 0)]
            if length > OUT_SIZE or payload > len(packet):
                raise EngineError(f"the program left {length} bytes of headers, payload at {payload} of {len(packet)}")
            out = bytes(memory[self.layout.out:self.layout.out + length]) + packet[payload:]
        return Result(verdict, reason, argument if verdict == "DELIVER" else None, out, None, packet)
