"""Shapes of loops in ordinary eBPF C, and what clang-19 -O2 makes of them for profile lpn: loops.hex, a line each, `NAME: TEXT` in hex.
`python tests/verifier/loops.py` compiles them again.
"""
from __future__ import annotations

import shutil
import subprocess
import tempfile
from enum import Enum
from pathlib import Path

from lpn.compiler.elf import read_object

TEXTS = Path(__file__).with_name("loops.hex")
CLANG = shutil.which("clang-19")
RECORD = 64

HEAD = """
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
struct ctx { u8 *pkt, *end, *rec, *state, *out; u32 out_len, payload, port; };
#define KEEP _Pragma("clang loop unroll(disable) vectorize(disable)")
__attribute__((section("lpn"))) u32 f(struct ctx *c) {
u8 *p = c->pkt, *r = c->rec; u32 s = 0, x = c->port;
"""


class Has(Enum):
    """What a loop has."""
    CERTIFICATE = "a certificate"
    PROOF = "the verifier accepts it alone"
    NOTHING = "it is refused"


YES, ALONE, NO = Has
#: By name: C, and what it has.
LOOPS: dict[str, tuple[str, Has]] = {
    "octets, i < 64": ("KEEP for (int i = 0; i < 64; i++) s += r[i];", YES),
    "words, i += 4": ("KEEP for (u32 i = 0; i < 64; i += 4) s += *(u32 *)(r + i);", YES),
    "words of an array": ("KEEP for (int i = 0; i < 16; i++) s += ((u32 *)r)[i];", YES),
    "structs of 6 octets": ("struct e { u16 a, b, c; } *e = (void *)r; KEEP for (int i = 0; i < 10; i++) s += e[i].b;", YES),
    "structs of 12 octets": ("struct e { u32 a, b, c; } *e = (void *)r; KEEP for (int i = 0; i != 5; i++) s += e[i].b ^ e[i].c;", YES),
    "i != 60, i += 12": ("KEEP for (u32 i = 0; i != 60; i += 12) s += *(u32 *)(r + i + 8);", YES),
    "from 2 by 6, !=": ("KEEP for (u32 i = 2; i != 62; i += 6) s += *(u16 *)(r + i);", YES),
    "do while": ("u32 i = 0; KEEP do { s = s * 3 + r[i]; i += 3; } while (i < 60);", YES),
    "pointer to pointer, !=": ("u8 *e = r + 64; KEEP for (; r != e; r++) s = s * 3 + *r;", YES),
    "pointer to pointer by 4, !=": ("u32 *q = (u32 *)r, *e = q + 16; KEEP for (; q != e; q++) s = s * 3 + *q;", YES),
    "pointer to pointer by 8, <": ("u8 *e = r + 64; KEEP for (; r < e; r += 8) s = s * 3 + *(u32 *)r;", YES),
    "as many as the packet says": ("if (p + 1 > c->end) return 0; u32 n = p[0] & 63; KEEP for (u32 i = 0; i < n; i++) s = s * 3 + r[i];", YES),
    "packet, p + 1 <= end": ("KEEP while (p + 1 <= c->end) s = s * 3 + *p++;", YES),
    "packet, p + 4 <= end": ("KEEP while (p + 4 <= c->end) { s = s * 3 + *(u32 *)p; p += 4; }", YES),
    "packet, p < end": ("KEEP while (p < c->end) s = s * 3 + *p++;", YES),
    "packet, 20 times at most": ("KEEP for (int i = 0; i < 20; i++) { if (p + 2 > c->end) break; s = s * 3 + *(u16 *)p; p += 2; }", YES),
    "options, 8 at most": ("KEEP for (int i = 0; i < 8; i++) { if (p + 2 > c->end) break; s += p[0]; p += 2 + (p[1] & 15); }", YES),
    "CRC, 8 bits of each octet": ("KEEP for (int i = 0; i < 16; i++) { s ^= r[i]; KEEP for (int b = 0; b < 8; b++) s = (s >> 1) ^ (s & 1 ? 0xEDB88320u : 0); }", YES),
    "binary search, 4 times": ("u32 lo = 0, hi = 16; KEEP for (int i = 0; i < 4; i++) { u32 m = (lo + hi) / 2; if (((u32 *)r)[m & 15] < x) lo = m; else hi = m; } s = lo;", YES),
    # A counter that goes below 0 in 64 bits.
    "downwards, i--": ("KEEP for (u32 i = 64; i--;) s = s * 3 + r[i];", ALONE),
    "downwards by 4, !=": ("KEEP for (u32 i = 64; i != 0; i -= 4) s = s * 3 + *(u32 *)(r + i - 4);", ALONE),
    # What ends the loop and what is used in it are two unknowns that move together.
    "packet, p != end": ("KEEP while (p != c->end) s = s * 3 + *p++;", ALONE),
    "rows of 8, and columns": ("KEEP for (int i = 0; i < 8; i++) KEEP for (int j = 0; j < 8; j++) s = s * 3 + r[8 * i + j];", ALONE),
    "search with break": ("KEEP for (u32 i = 0; i < 16; i++) if (((u32 *)r)[i] == x) return i; return 99;", ALONE),
    # No constant.
    "options until the end": ("KEEP while (p + 2 <= c->end) { s += p[0]; p += 2 + (p[1] & 15); }", ALONE),
    "bits, mask <<= 1": ("KEEP for (u32 m = 1; m < 0x10000; m <<= 1) if (x & m) s = s * 3 + m;", ALONE),
    "bits, mask >>= 1": ("KEEP for (u32 m = 0x8000; m; m >>= 1) if (x & m) s = s * 3 + m;", ALONE),
    "bits, x >>= 1": ("KEEP while (x) { s = s * 3 + (x & 1); x >>= 1; }", ALONE),
    "digits, x /= 10": ("KEEP while (x) { s = s * 3 + x % 10; x /= 10; }", ALONE),
    "binary search, while": ("u32 lo = 0, hi = 16; KEEP while (lo < hi) { u32 m = (lo + hi) / 2; if (((u32 *)r)[m & 15] < x) lo = m + 1; else hi = m; } s = lo;", NO),
}


def committed() -> dict[str, bytes]:
    lines = TEXTS.read_text(encoding="ascii").splitlines()
    return {name: bytes.fromhex(text) for name, text in (line.rsplit(": ", 1) for line in lines)}


def compiled(name: str, folder: Path) -> bytes:
    """By the clang that is here."""
    source, out = folder / "loop.c", folder / "loop.o"
    source.write_text(f"{HEAD}{LOOPS[name][0]}\nreturn s; }}\n", encoding="ascii")
    subprocess.run([str(CLANG), "-O2", "-target", "bpf", "-mcpu=v4", "-c", source, "-o", out], check=True)
    return read_object(out.read_bytes(), "lpn").text


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        TEXTS.write_text("".join(f"{name}: {compiled(name, Path(folder)).hex()}\n" for name in LOOPS), encoding="ascii")


if __name__ == "__main__":
    main()
