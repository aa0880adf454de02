"""What the kernel would run, in the C engine: it has the layout of an XDP program too."""
from __future__ import annotations

from lpn.compiler import xdp
from lpn.compiler.kernel_runner import KernelRunner
from lpn.compiler.lower.bounded import memory_of
from lpn.runtime.engines import check_meta
from lpn.runtime.memory import CONTEXT
from lpn.runtime.raw import run_raw


def memory(made) -> xdp.Memory:
    return memory_of(made.program, made.record_size, made.state.size)


class InOurEngine(KernelRunner):
    """The same bytecode in the C engine's `xdp` layout."""

    def __init__(self, made, given):
        self.compiled = made
        self.layout = memory(made)
        self.container = made.containers[0]
        self.rebuilds = self.container.lowered.rebuilds
        self.memory = bytearray(self.container.code.data)
        self.set_state(made.initial_state(given))
        for table, entries in (given.entries if given else {}).items():
            self.set_entries(table, entries)

    def put(self, at, content):
        self.memory[at:at + len(content)] = content

    def state(self):
        return bytes(self.memory[self.layout.state:self.layout.state + self.compiled.state.size])

    def run(self, frame, meta=None):
        self.memory[:self.layout.state] = bytes(self.layout.state)
        for name, value in check_meta(meta).items():
            offset, width = CONTEXT[name]
            self.memory[offset:offset + width] = value.to_bytes(width, "little")
        run = run_raw(self.container.code.text, layout="xdp", packet=xdp.ethernet(frame), data=bytes(self.memory),
                      rodata=self.container.code.rodata)
        assert run.error == "ok"
        self.memory = bytearray(run.data)
        self.action = run.r0
        return self.result(self.memory, run.packet[xdp.ETHERNET_HEADER:])
