"""The Linux kernel's own tests of its verifier, as programs for ours: tools/testing/selftests/bpf/verifier/*.c of a kernel's sources (up to 6.3).

Each is a program of some type and says whether the kernel takes it, as root and unprivileged. Here it is one for XDP: `data` and `data_end` of a socket
buffer are those of `xdp_md`, and any other word of the context is its interface's number. Programs with maps, with helpers that take arguments, or the kernel's own functions have no counterpart.
"""
from __future__ import annotations

import json
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

SELFTESTS = Path("tools/testing/selftests/bpf")
XDP_TYPE = 6                                        # BPF_PROG_TYPE_XDP
DATA, DATA_END = (76, 0), (80, 4)                   # offsets in __sk_buff, in xdp_md
NUMBER = 12                                         # ingress_ifindex
PLAIN_HELPERS = 5, 7, 8                              # ktime_get_ns, get_prandom_u32, get_smp_processor_id
MOST = 20_000                                       # slots; longer ones are made by functions to be too long

#: What test_verifier.c has in front of its table, without what a table does not need.
LEFT_OUT = ("#include <bpf/", "cap_helpers.h", "bpf_util.h", "linux/bpf_perf_event.h", "../../../include/linux/filter.h")
HEAD = """#define ARRAY_SIZE(x) (sizeof(x) / sizeof(*(x)))
#define offsetofend(T, M) (offsetof(T, M) + sizeof(((T *)0)->M))
#define __maybe_unused __attribute__((unused))
#include <linux/types.h>
#include "filter.h"
struct bpf_perf_event_data { char regs[168]; __u64 sample_period, addr; };
"""
TAIL = r"""
static void text(const char *name, const char *s)
{
    printf("\"%s\": \"", name);
    for (; s && *s; s++)
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else
            putchar(*s < ' ' ? ' ' : *s);
    printf("\", ");
}

int main(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(tests); i++) {
        struct bpf_test *t = &tests[i];
        const struct bpf_insn *code = t->insns;
        int n = MAX_INSNS, needs = t->kfunc != NULL || t->fixup_kfunc_btf_id[0].kfunc != NULL;
        if (t->descr == NULL)
            continue;
        if (t->fill_helper != NULL) {
            code = t->fill_insns = calloc(MAX_TEST_INSNS, sizeof *code);
            t->fill_helper(t);
            n = t->prog_len;
        }
        while (n > 1 && code[n - 1].code == 0 && code[n - 1].imm == 0)
            n--;
        for (const int *at = t->fixup_map_hash_8b; at < (const int *)t->fixup_kfunc_btf_id; at++)
            needs |= *at != 0;
        putchar('{');
        text("name", t->descr);
        text("why", t->errstr);
        printf("\"root\": %d, \"unprivileged\": %d, \"type\": %d, \"needs\": %d, \"code\": \"", t->result != REJECT,
               (t->result_unpriv != UNDEF ? t->result_unpriv : t->result) != REJECT, t->prog_type, needs || n > MOST);
        for (int k = 0; k < 8 * n && n <= MOST; k++)
            printf("%02x", ((const unsigned char *)code)[k]);
        puts("\"}");
    }
}
"""


@dataclass(frozen=True)
class Selftest:
    """`why`: the kernel's words, where it refuses. `root`, `unprivileged`: whether it accepts."""
    name: str
    text: bytes
    root: bool
    unprivileged: bool
    why: str


def table(linux: Path, folder: Path) -> list[dict]:
    """All tests of the sources in `linux`, by way of a program that is made in `folder`."""
    tests = linux / SELFTESTS
    source = (tests / "test_verifier.c").read_text(encoding="utf-8")
    front = source[:source.index("static int probe_filter_length")]
    front = "\n".join(line for line in front.splitlines() if not any(words in line for words in LEFT_OUT))
    (folder / "verifier").mkdir()
    (folder / "verifier" / "tests.h").write_text("".join(f'#include "{path}"\n' for path in sorted((tests / "verifier").glob("*.c"))), encoding="utf-8")
    (folder / "linux").mkdir()
    for header in ("bpf.h", "bpf_common.h", "btf.h"):
        (folder / "linux" / header).write_bytes((linux / "tools/include/uapi/linux" / header).read_bytes())
    (folder / "filter.h").write_bytes((linux / "tools/include/linux/filter.h").read_bytes())
    (folder / "table.c").write_text(f"#define MOST {MOST}\n#include <stddef.h>\n#include <linux/bpf.h>\n{HEAD}{front}\n{TAIL}", encoding="utf-8")
    subprocess.run(["cc", "-w", "-I", folder, "-I", tests, "-o", folder / "table", folder / "table.c"], check=True)
    return [json.loads(line) for line in subprocess.run([folder / "table"], check=True, capture_output=True, text=True).stdout.splitlines()]


def selftests(linux: Path, folder: Path) -> list[Selftest]:
    """Those that have a counterpart."""
    out = []
    for row in table(linux, folder):
        text = None if row["needs"] else ours(bytes.fromhex(row["code"]), row["type"])
        if text is not None:
            out.append(Selftest(row["name"], text, bool(row["root"]), bool(row["unprivileged"]), row["why"]))
    return out


def ours(code: bytes, kind: int) -> bytes | None:
    """The program for XDP; None if it calls what is not there."""
    out, second, context = b"", False, {1}          # registers that hold the context's address
    for at in range(0, len(code), 8):
        op, registers, off, imm = struct.unpack_from("<BBhi", code, at)
        dst, src = registers & 15, registers >> 4
        if not second:
            if op == 0x85 and src == 0:
                if imm not in PLAIN_HELPERS:
                    return None
            elif op == 0x61 and src in context and kind != XDP_TYPE:
                off = dict((DATA, DATA_END)).get(off, NUMBER)
            if op == 0xBF and src in context:
                context.add(dst)
            elif op & 7 in (0, 1, 4, 7):
                context.discard(dst)
        second = op == 0x18 and not second
        out += struct.pack("<BBhi", op, registers, off, imm)
    return out
