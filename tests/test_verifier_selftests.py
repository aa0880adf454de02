"""The Linux kernel's own tests of its verifier, given to ours (tests/verifier/selftests.py). They are not part of the project.

`LPN_LINUX` names a folder with the kernel's sources, 6.1 for one; without it the programs are not judged. Where the two differ it is said here why.
"""
from __future__ import annotations

import os
import re
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import selftests                                                   # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.verifier import XDP, Report, verify                       # noqa: E402

LINUX = os.environ.get("LPN_LINUX", "")
#: What the kernel says of a program of another type, or where it knows less of that type's context than one of XDP has.
OTHER_TYPE = "invalid bpf_context access|R0 has (value|unknown scalar value)"
#: Accepted here, refused there.
ACCEPTED = {
    "invalid 64-bit BPF_END": "bswap is of a later instruction set",
    "invalid fp arithmetic": "r10 - 8 by a subtraction is a place like any other",
    "calls: calls with misaligned stack access": "it asks for aligned accesses of 4 bytes",
    "calls: ambiguous return value": "the context's address is not 0, so r0 is always set",
    "bounded loop, start in the middle": "the kernel lets only root have loops",
    "Spill a u32 const scalar.  Refill as u16.  Offset to skb->data": "half of a constant is one",
    "Spill u32 const scalars.  Refill as u64.  Offset to skb->data": "two constants side by side are one",
    "Spill and refill a u32 const scalar at non 8byte aligned stack addr.  Offset to skb->data": "a constant is kept at any place",
    "unpriv: spill/fill of different pointers stx": "the context's address is not 0, so it is one pointer",
    "unpriv: spill/fill of different pointers ldx": "the context's address is not 0, so it is one pointer",
    "calls: spill into caller stack frame": "the place is in the caller's own frame, which is there as long",
    "direct packet access: test23 (x += pkt_ptr, 4)": "it is written where no packet is as long as was compared",
    "XDP pkt read, pkt_end mangling, bad access 2": "8 bytes before the packet's end is a place like any other",
}
#: Refused here, accepted there even without privileges: by rule, or by name.
STRICTER = {
    2: "legacy loads of the packet",
    21: "contexts of other types, XDP's metadata",
    25: "pointers stored in the packet",
    28: "division by zero, which engines do not agree about",
}
REFUSED = {
    "calls: invalid kfunc call unreachable": 4,                    # code that is never reached is judged, too
    "bounded loop that jumps out rather than in": 14,              # r0 is set in the loop, which is always entered
    "calls: pkt_ptr spill into caller stack": 14,                  # a pointer is returned
    "calls: pkt_ptr spill into caller stack 8": 14,
    "precise: ST insn causing spi > allocated_stack": 24,          # an address compared with a number
    "precise: STX insn causing spi > allocated_stack": 24,
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[selftests.Selftest, Report]]:
    if not LINUX:
        pytest.skip("LPN_LINUX names no sources of the Linux kernel")
    return [(test, verify(test.text, XDP, apart=True)) for test in selftests.selftests(Path(LINUX), tmp_path_factory.mktemp("linux"))]


def test_what_the_kernel_refuses_is_refused(judged) -> None:
    accepted = {test.name for test, report in judged if report.accepted and not test.root and not re.search(OTHER_TYPE, test.why)}
    assert accepted <= ACCEPTED.keys()
    assert sum(not report.accepted and not test.root for test, report in judged) > 200


def test_what_the_kernel_accepts_is_accepted(judged) -> None:
    refused = {(test.name, report.rule) for test, report in judged if not report.accepted and test.unprivileged}
    assert {(name, rule) for name, rule in refused if rule not in STRICTER} <= set(REFUSED.items())
    assert sum(report.accepted and test.root for test, report in judged) > 300


def test_a_program_of_another_type_is_one_for_xdp() -> None:
    """Offsets in the context, in copies of it too; what is loaded by other registers is left alone."""
    theirs = assemble("r6 = r1; r2 = *(u32 *)(r6 + 76); r3 = *(u32 *)(r1 + 80); r4 = *(u32 *)(r6 + 48); r1 = r2; r5 = *(u32 *)(r1 + 76); call 7; exit".replace("; ", "\n"))
    ours = assemble("r6 = r1; r2 = *(u32 *)(r6 + 0); r3 = *(u32 *)(r1 + 4); r4 = *(u32 *)(r6 + 12); r1 = r2; r5 = *(u32 *)(r1 + 76); call 7; exit".replace("; ", "\n"))
    assert selftests.ours(theirs, 3) == ours
    assert selftests.ours(theirs, selftests.XDP_TYPE) == theirs[:-16] + struct.pack("<BBhi", 0x85, 0, 0, 7) + theirs[-8:]
    assert selftests.ours(assemble("call 1\nexit"), 3) is None
