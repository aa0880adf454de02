"""What an analysis takes: seconds of a processor and memory, for containers of about 500 instructions and of about 5000, loops included."""
from __future__ import annotations

import multiprocessing
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lpn.verifier import PROFILES, Region, analyse
from lpn.verifier.descriptors import ContextDescriptor, Field

from ..asm import assemble
from ..build import compile_program
from ..elf import read_object
from ..judge import of_compiled
from ..output import Failure
from . import peers
from .frames import ROOT
from .wall_time import done, program_at

TIMES = 3
UNBOUNDED = 1 << 30                             #: rule 34 would refuse long loops behind the analysis
COMPILED = (("tests/constructs/payload.lpn", True), ("tests/constructs/stacks-that-move.lpn", False), ("examples/fragment/reassemble.lpn", False),
            ("examples/decompress/decompress.lpn", True), ("examples/fragment/reassemble.lpn", True), ("examples/decompress/recompress.lpn", True))
SIZES = range(440, 720), range(3800, 7200)              #: instructions that count as about 500, and as about 5000
PEERS = "decompress", "udp_rx", "udp_tx"
#: The context of the hand-written C (lpn_ctx.h); before the packet lie 72 bytes.
PEER = ContextDescriptor("peer", "lpn", 40, (
    Field(0, 8, "pkt", "pkt"), Field(8, 8, "pkt_end", "pkt_end"), Field(16, 8, "rec", "rec"), Field(24, 8, "state", "state"),
    Field(32, 4, "verdict_port", writable=True), Field(36, 4, "hdr_len", writable=True)),
    {"rec": Region(0), "state": Region(0), "entry": Region(8)}, headroom=72, align8=4)


@dataclass
class Analysed:
    """One container: instruction slots, loops; seconds of a processor, the least of some, with everything imported; MB of a process that does nothing else."""

    slots: int
    loops: int
    seconds: float
    megabytes: int


def measured() -> dict[str, Analysed]:
    """By name, those of one size behind each other."""
    found = {}
    for name, work in subjects():
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            found[name] = alone.apply(timed, (work,))
    return dict(sorted(found.items(), key=lambda item: item[1].slots > SIZES[1].start // 2))


def timed(work: partial) -> Analysed:
    """In a process of its own: peak memory is that of this analysis."""
    seconds = []
    for _ in range(TIMES):
        begin = time.process_time()
        report, _ = work()
        seconds.append(time.process_time() - begin)
    if not report.accepted:
        raise Failure(f"a container of {report.slots} slots is not accepted: {report.message}", 1)
    return Analysed(report.slots, len(report.loops), round(min(seconds), 3), round(peak()))


def peak() -> float:
    """MB of memory that this process had at most. Linux's getrusage counts what its parent had before, too."""
    try:
        return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
    except (OSError, TypeError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)


def subjects() -> Iterator[tuple[str, partial]]:
    """What the compiler made, hand-written C where it is found, and loops written for this."""
    seen: set[bytes] = set()
    for source, fuse in COMPILED:
        for unit in of_compiled(compile_program(program_at(ROOT / source), fuse=fuse)).items:
            if any(len(unit.text) // 8 in size for size in SIZES) and unit.text not in seen:
                seen.add(unit.text)
                yield f"{Path(source).stem}, {unit.name}", partial(
                    analyse, unit.text, PROFILES[unit.profile], rodata=unit.rodata, data=unit.data, record_size=unit.record_size,
                    state_size=unit.state_size, contexts=unit.contexts, helpers=unit.helpers)
    for name in PEERS:
        try:
            yield f"C, {name}", partial(analyse, by_clang(name), PEER, record_size=72, state_size=1024)
        except peers.Absent:
            break
    for count in (7, 75):
        for kind, piece in (("along the packet", along), ("counted", counted)):
            yield f"{count} loops of 20 branches, {kind}", partial(analyse, loops(count, piece), PROFILES["lpn"], max_insns=UNBOUNDED)


def by_clang(name: str) -> bytes:
    """The text of a hand-written program. Raises Absent."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.o"
        done(peers.command(name, path))
        return read_object(path.read_bytes(), ".text").text


# ---------------------------------------------------------------- loops

def loops(count: int, piece, branches: int = 20) -> bytes:
    """Loops one behind the other, each turn of which tests octets and its own numbers and does something or not: hard to find invariants for."""
    rng = random.Random(1)
    lines = ["r7 = *(u64 *)(r1 + 0)", "r8 = *(u64 *)(r1 + 8)", "r0 = 0", "r5 = 0", "r9 = 0", *(f"*(u64 *)(r10 - {8 * i}) = 0" for i in range(1, 6))]
    for k in range(count):
        lines += piece(k, branches, rng)
    return assemble("\n".join([*lines, "w0 &= 1", "exit"]))


def along(k: int, branches: int, rng: random.Random) -> list[str]:
    """A cursor moves by what an octet says until the packet ends."""
    head = ["r6 = r7", "r9 = 0", f"L{k}: r2 = r6", "r2 += 2", f"if r2 > r8 goto E{k}", "r3 = *(u8 *)(r6 + 0)", "r4 = *(u8 *)(r6 + 1)"]
    return [*head, *tests(k, branches, rng), "r6 += r4", "r6 += 2", f"goto L{k}", f"E{k}: w9 = 0"]


def counted(k: int, branches: int, rng: random.Random) -> list[str]:
    """A counter that ends at a constant."""
    head = ["w6 = 0", f"L{k}: w3 = w6", "w3 &= 31", "r4 = r7", "r4 += r3", "r4 = *(u8 *)(r4 + 0)"]
    return [*head, *tests(k, branches, rng), "w6 += 1", f"if w6 < {rng.randrange(3, 200)} goto L{k}"]


def tests(k: int, branches: int, rng: random.Random) -> Iterator[str]:
    for b in range(branches):
        constant = rng.randrange(1, 250)
        yield f"if w{rng.choice('0345')} {rng.choice(['!=', '>', '<', '=='])} {constant} goto B{k}_{b}"
        yield rng.choice(["w0 += w4", f"w0 ^= {constant}", "w5 = w3", "w5 += w4", f"*(u64 *)(r10 - {8 * rng.randrange(1, 6)}) = r3",
                          f"w0 += {constant}", "w5 |= w3"])
        yield f"B{k}_{b}: " + rng.choice(["w0 &= 0xffff", "w5 &= 255", "w9 += 1"])
