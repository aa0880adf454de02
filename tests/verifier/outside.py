"""The same bytecode under three judges: our verifier (profile xdp), the Linux kernel's as root, and with CAP_BPF + CAP_NET_ADMIN only.

    python tests/verifier/outside.py [PROGRAMS]     prints the table, with so many generated programs
"""
from __future__ import annotations

import random
import re
import struct
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import cases                                                       # noqa: E402

from lpn.compiler.asm import AsmError, assemble                    # noqa: E402
from lpn.compiler.fuzz_bytecode.mutate import mutate               # noqa: E402
from lpn.compiler.fuzz_bytecode.trial import SIZES, generated            # noqa: E402
from lpn.compiler.helpers import HELPERS                            # noqa: E402
from lpn.compiler.isa import DecodeError, decode, slot_indices     # noqa: E402
from lpn.runtime import kernel                                     # noqa: E402
from lpn.runtime.capabilities import CAP_BPF, CAP_NET_ADMIN, in_child   # noqa: E402
from lpn.verifier import XDP, verify                               # noqa: E402

#: Why the kernel, asked with fewer capabilities, refuses what we accept. Words of its message -> the reason.
REASONS = {
    "pointer -= pointer prohibited|pointer comparison prohibited": "a difference or an order of two places in one region says nothing about addresses",
    "partial copy of pointer": "the low half of a pointer may only be subtracted from another one's: a length",
    "prohibited for !root": "measures against speculation: places that differ by path, variable places on the stack",
    "too complex|too large|infinite loop detected": "the kernel walks every path and gives up",
    "cannot spill pointers to stack into stack frame of the caller": "a place in the caller's own frame is there as long as that frame",
    "bitwise operator .* on pointer": "an OR of an aligned address and bits below is their sum; the kernel takes sums alone",
    "misaligned stack access": "the kernel follows the stack in aligned words; the machine needs no alignment",
    "outside of the packet|unbounded|out of bounds|math between|min value|max value|invalid access": "the kernel knows less of this number",
}
LESS = "the kernel knows less of this number"   # what is accepted against this runs in the instrumented interpreter

RODATA, DATA = SIZES["xdp"]["rodata"], SIZES["xdp"]["data"]
CLOCK, THEIR_CLOCK = 2, 5                       # clock_us here, bpf_ktime_get_ns there: no arguments, a number


@dataclass
class Row:
    """One program. `ours`, `root`, `caps`: None where it was accepted, else what was said."""
    name: str
    text: bytes
    ours: str | None
    rule: int | None
    root: str | None = None
    caps: str | None = None


def theirs(text: bytes) -> tuple[bytes, list[tuple[int, int, int]]] | None:
    """The text as the kernel loads it, and (slot, 8 rodata or 9 data, offset) for its addresses. None: it has what the kernel does not."""
    code, addresses = bytearray(text), []
    try:
        program = decode(text)
    except DecodeError:
        return bytes(code), []
    for slot, insn in zip(slot_indices(program), program):
        if insn.is_lddw and insn.src in (8, 9) and insn.op == 0x18:
            addresses.append((slot, insn.src, insn.imm & 0xFFFFFFFF))
            code[8 * slot + 1] &= 15
        elif insn.op == 0x85 and not insn.src:
            if insn.imm != CLOCK:
                return None
            struct.pack_into("<i", code, 8 * slot + 4, THEIR_CLOCK)
    return bytes(code), addresses


def kernel_says(texts: list[bytes]) -> list[str | None]:
    """The kernel's last word on each; None: accepted."""
    out: list[str | None] = []
    with kernel.ArrayMap(RODATA, constant=True) as rodata, kernel.ArrayMap(DATA) as data:
        for text in texts:
            made = theirs(text)
            assert made is not None
            code, addresses = made
            try:
                kernel.load_xdp(code, values={slot: (rodata if kind == 8 else data, at) for slot, kind, at in addresses}).close()
                out.append(None)
            except kernel.KernelRejected as e:
                out.append(last_word(e))
            except kernel.EngineError as e:
                out.append(str(e))
    return out


def last_word(refusal: kernel.KernelRejected) -> str:
    """Of a log, which ends with states and statistics."""
    lines = [line for line in refusal.log.strip().splitlines() if not re.match(r"processed|verification|stack depth|old state|cur state|from \d|\d+: \(", line)
             or "too large" in line or "infinite loop" in line]
    known = [line for line in lines[-4:] if any(re.search(pattern, line) for pattern in REASONS)]
    return (known or lines or [str(refusal)])[-1]


def reason(said: str) -> str | None:
    return next((why for pattern, why in REASONS.items() if re.search(pattern, said)), None)


def as_xdp(source: str) -> str:
    """A rule's case, written for our context, in the kernel's: packet, end and record."""
    for offset, instead in ((0, "*(u32 *)({} + 0)"), (8, "*(u32 *)({} + 4)")):
        source = re.sub(rf"\*\(u64 \*\)\((r\d) \+ (?:0x)?{offset}\)(?=\s*$)", lambda m: instead.format(m[1]), source, flags=re.M)
    return re.sub(r"\*\(u64 \*\)\(r\d \+ (?:16|24|32|0x10|0x18|0x20)\)(?=\s*$)", "data + 0 ll", source, flags=re.M)


def judge(named: list[tuple[str, bytes]], longest: int = 1_000_000) -> list[Row]:
    """Those the kernel can judge; `longest`: executed instructions at most, for it walks each. Raises EngineUnavailable."""
    rows = []
    for name, text in named:
        if not text or len(text) % 8 or theirs(text) is None:
            continue
        report = verify(text, XDP, rodata=RODATA, data=DATA, helpers=HELPERS)
        if (report.max_insns or 0) > longest:
            continue
        rows.append(Row(name, text, None if report.accepted else report.message, report.rule))
    texts = [row.text for row in rows]
    for row, root, caps in zip(rows, kernel_says(texts), in_child({CAP_BPF, CAP_NET_ADMIN}, lambda: kernel_says(texts)), strict=True):
        row.root, row.caps = root, caps
    return rows


def rule_cases(first: int = 1) -> list[tuple[str, bytes]]:
    """The programs of tests/verifier/rules, from rule `first` on."""
    out = []
    for case in cases.all_cases():
        if case.rule < first or case.code.startswith(".half") or case.headers.get("profile") == "femto":
            continue
        source = case.code if case.headers.get("profile") == "xdp" else as_xdp(case.code)
        try:
            out.append((f"{case.rule}: {case.name}", assemble(source)))
        except (AsmError, ValueError):
            pass
    return out


def random_programs(count: int) -> list[tuple[str, bytes]]:
    """Generated for profile xdp, and changed."""
    out = []
    for n in range(count):
        seed, rng = 2 * n + 1, random.Random(n)
        text = (made if (made := generated(seed)).constants is None else generated(seed, writer="pieces")).text      # the kernel is given no tables
        out.append((f"generated {seed}", text))
        changed = mutate(text, rng)
        if changed is not None:
            out.append((f"changed {seed}", changed))
    return out


def table(rows: list[Row]) -> str:
    tally = Counter((row.ours is None, row.root is None, row.caps is None) for row in rows)
    word = {True: "accepted", False: "refused"}
    lines = [f"{'ours':10}{'root':10}{'caps only':11}programs"]
    lines += [f"{word[a]:10}{word[b]:10}{word[c]:11}{tally[a, b, c]:8}" for a, b, c in sorted(tally, reverse=True)]
    only = Counter(reason(row.caps) or row.caps for row in rows if row.ours is None and row.caps is not None)
    lines += ["", "accepted by us, refused with capabilities only:", *(f"{n:8}  {what}" for what, n in only.most_common())]
    less = Counter(row.rule for row in rows if row.ours is not None and row.root is None)
    return "\n".join([*lines, "", "accepted for root, refused by us:", *(f"{n:8}  rule {rule}" for rule, n in less.most_common())])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for title, programs in (("rules", rule_cases()), (f"{count} generated programs and as many changed", random_programs(count))):
        rows = judge(programs)
        print(f"{title}: {len(rows)} programs\n{table(rows)}\n")
        if "-v" in sys.argv:
            for row in rows:
                if row.ours is None and row.caps is not None or row.ours is not None and row.root is None:
                    print(f"  {row.name}\n    ours: {row.ours}\n    root: {row.root}\n    caps: {row.caps}")


if __name__ == "__main__":
    main()
