"""Hand-written C for the same work, compiled by clang and executed in our engine: what LPN's code is compared with.

The sources are not part of the project: `peers/c` in the folder LPN_PEERS, or in ../shared/peers beside the checkout.
Their context (lpn_ctx.h) is not ours, so its memory is laid out here.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lpn.runtime.engine.native import open_engine
from lpn.runtime.engines import DEFAULT_FUEL, WINDOW, EngineError
from lpn.runtime.memory import READ, WRITE, Buffer

from ..elf import Object, read_object
from ..isa import CALL, Instruction, decode, encode
from .frames import CONTEXTS, EXT, ROOT, SHORT, Frame, Frames

FLAGS = ("-O2", "-target", "bpf", "-mcpu=v3", "-ffreestanding", "-fno-strict-aliasing")
LEAST_CLANG = 15
HEADROOM = 72                                   # lpn_ctx.h: LPN_HEADROOM
RECORD, L2 = 72, 48                             # sizeof(struct lpn_rec), where its link-layer part begins
ROW = 32                                        # sizeof(struct lpn_context)
CONTEXT = 40                                    # sizeof(struct lpn_ctx)
HDR_LEN = 36
DELIVER, TRANSMIT = 0x200, 0x300

#: What was published of these programs (peers/c/README.md): static, then executed on the six frames, or the one.
PUBLISHED = {
    "decompress": (472, (137, 133, 143, 167, 131, 145)),
    "udp_rx": (665, (239, 236, 246, 269, 233, 249)),
    "udp_tx": (685, (250, 245, 231, 311, 249, 501)),
    "forward": (31, (30,)),
}
#: p4c's uBPF back end on the work of `forward`, through clang -O2: instructions, nearly all of them executed (PEERS).
P4C_FORWARD = 375


class Absent(Exception):
    """There is nothing to compare with here; one line says why."""


def sources() -> Path:
    folder = Path(os.environ.get("LPN_PEERS", ROOT.parent / "shared" / "peers")) / "c"
    if not (folder / "expand.h").is_file():
        raise Absent("the hand-written C is not here (LPN_PEERS names the folder it is in)")
    return folder


def clang() -> str:
    """The first clang that knows what the sources need."""
    for name in (os.environ.get("CLANG"), "clang-19", "clang-20", "clang-21", "clang-18", "clang-17", "clang-16", "clang-15", "clang"):
        path = shutil.which(name) if name else None
        if path:
            found = re.search(r"version (\d+)", subprocess.run([path, "--version"], capture_output=True, text=True).stdout)
            if found and int(found[1]) >= LEAST_CLANG:
                return path
    raise Absent(f"there is no clang {LEAST_CLANG} or newer")


def clang_version() -> str:
    found = re.search(r"version ([\d.]+)", subprocess.run([clang(), "--version"], capture_output=True, text=True).stdout)
    return found[1] if found else "?"


def command(name: str, out: Path, *flags: str) -> list[str]:
    return [clang(), *FLAGS, *flags, "-c", str(sources() / f"{name}.c"), "-o", str(out)]


def build(name: str, folder: Path, *flags: str) -> Object:
    """The object code of one program. Raises Absent."""
    out = folder / f"{name}.o"
    ran = subprocess.run(command(name, out, *flags), capture_output=True, text=True)
    if ran.returncode:
        raise Absent(f"clang cannot compile {name}.c: {(ran.stderr.splitlines() or ['no message'])[0]}")
    code = read_object(out.read_bytes(), ".text")
    if name == "forward":
        code.text = returns_entry(code.text)
    return code


def returns_entry(text: bytes) -> bytes:
    """The same program with its call of a lookup replaced by `r0 = r1`: our helper has other arguments, and `r1` is the
    state, where the entry is put. As many instructions are executed: a call counts as one."""
    return encode([Instruction(0xBF, 0, 1) if i.op == CALL else i for i in decode(text)])


@dataclass(frozen=True)
class Ran:
    r0: int
    insns: int
    packet: bytes                               # headroom in front
    record: bytes
    context: bytes


def execute(code: Object, packet: bytes, record: bytes, state: bytes) -> Ran:
    """One run in the C engine, every access checked. Raises EngineError."""
    ffi, lib = open_engine()
    frame = Buffer(HEADROOM + len(packet) + WINDOW, bytes(HEADROOM) + packet)
    rec, cells, rodata = Buffer(RECORD, record), Buffer(len(state), state), Buffer(len(code.rodata), code.rodata)
    start = frame.address + HEADROOM
    pointers = (start, start + len(packet), rec.address, cells.address)
    ctx = Buffer(CONTEXT, b"".join(p.to_bytes(8, "little") for p in pointers))
    both = READ | WRITE
    regions = [[frame.address, frame.size - WINDOW, both], [frame.address, frame.size, READ], [rec.address, RECORD, both],
               [cells.address, len(state), both], [ctx.address, CONTEXT, READ], [ctx.address + 32, CONTEXT - 32, both]]
    result = ffi.new("lpn_host_raw_result *")
    lib.lpn_host_raw(code.text, len(code.text), ffi.new("lpn_host_region[]", regions), len(regions),
                     ffi.cast("uint8_t *", rodata.address), len(code.rodata), ffi.NULL, 0, ctx.address, 0, DEFAULT_FUEL, 0,
                     ffi.NULL, result)
    if result.error:
        raise EngineError(f"hand-written C: {ffi.string(lib.lpn_error_name(result.error)).decode()} at instruction {result.pc}")
    return Ran(result.r0, result.insns, frame.bytes()[:HEADROOM + len(packet)], rec.bytes(), ctx.bytes())


def run(name: str, code: Object, frames: Frames, frame: Frame) -> int:
    """Instructions executed. Raises EngineError unless the program did its work on the frame."""
    if name == "forward":
        mac = int(frames.routes[0]["args"][0], 16).to_bytes(6, "big")
        ran = execute(code, frame.data, b"", mac.ljust(8, b"\0"))
        right = ran.r0 == TRANSMIT and ran.packet[HEADROOM:] == forwarded(frame.data, mac)
    elif name == "udp_tx":
        ran = execute(code, frame.body, record_of(frame), state_of(frames))
        written = int.from_bytes(ran.context[HDR_LEN:HDR_LEN + 4], "little")
        right = ran.r0 == TRANSMIT and ran.packet[HEADROOM - written:] == frame.data
    else:
        ran = execute(code, frame.data, b"", state_of(frames))
        right = (ran.r0 == (DELIVER if name == "udp_rx" else len(frame.header)) and ran.record[:len(frame.header)] == frame.header
                 and int.from_bytes(ran.context[HDR_LEN:HDR_LEN + 4], "little") == frame.offset)
    if not right:
        raise EngineError(f"hand-written C: {name} does not do its work on frame {frame.name}: it returns {ran.r0:#x}")
    return ran.insns


def forwarded(data: bytes, mac: bytes) -> bytes:
    """An Ethernet frame with a new destination and one hop less."""
    return mac + data[6:21] + bytes([data[21] - 1]) + data[22:]


def state_of(frames: Frames) -> bytes:
    """struct lpn_state: the contexts, how many rows count, the sequence number."""
    rows = bytearray(CONTEXTS * ROW)
    for index, prefix, length in frames.context_rows():
        keep = (1 << max(0, 128 - max(length, 64))) - 1
        rows[index * ROW:(index + 1) * ROW] = prefix + keep.to_bytes(8, "big") + bytes([length, 1]) + bytes(6)
    return bytes(rows) + CONTEXTS.to_bytes(4, "little") + bytes([frames.sequence]) + bytes(3)


def record_of(frame: Frame) -> bytes:
    """struct lpn_rec for what `udp_tx` is to send: lengths and checksum are computed by it."""
    dst, src = frame.link
    modes = sum((EXT if m == EXT else SHORT) << at for m, at in zip(frame.modes, (10, 14)))
    rec = frame.header[:4] + b"\xee\xee" + frame.header[6:44] + b"\xee" * 4
    return rec + dst + src + frame.pan * 2 + modes.to_bytes(4, "little")
