"""eBPF objects as compilers write them: each global function is a program, and what it calls lies behind it."""
from __future__ import annotations

import io
import json
import random
import struct
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from cli import lpnc
from elftools.elf.elffile import ELFFile

from lpn.compiler.elf import ElfError, Program, programs, read_object
from lpn.compiler.isa import decode, slot_indices
from lpn.compiler.llvm import emit_object, target_machine
from lpn.compiler.target import TARGETS
from lpn.runtime.raw import run_raw

IR = """
target triple = "bpf"
@table = internal constant [4 x i32] [i32 7, i32 11, i32 13, i32 17], align 4

define internal i32 @twice(i32 %x) noinline {{ %r = add i32 %x, %x
  ret i32 %r }}
define i32 @more(i32 %x) noinline {{ %t = call i32 @twice(i32 %x)
  %r = add i32 %t, 1
  ret i32 %r }}
define i32 @one(ptr %ctx) {section} {{ %v = load i32, ptr %ctx
  %t = call i32 @more(i32 %v)
  ret i32 %t }}
define i32 @two(ptr %ctx) {section} {{ %v = load i32, ptr %ctx
  %k = and i32 %v, 3
  %at = getelementptr [4 x i32], ptr @table, i32 0, i32 %k
  %e = load i32, ptr %at
  %t = call i32 @twice(i32 %e)
  ret i32 %t }}
define i32 @alone(ptr %ctx) section "tc" {{ ret i32 5 }}
"""
COUNTS = """
target triple = "bpf"
@base = internal global i32 40, align 4
@turns = internal global i32 0, align 4
define internal void @turn(i32 %by) noinline { %n = load i32, ptr @turns
  %m = add i32 %n, %by
  store i32 %m, ptr @turns
  ret void }
define i32 @only(ptr %ctx) section "xdp" { call void @turn(i32 2)
  %b = load i32, ptr @base
  %n = load i32, ptr @turns
  %r = add i32 %b, %n
  ret i32 %r }
"""


def made(section: str) -> bytes:
    target_machine("v3")
    return emit_object(llvm.parse_assembly(IR.format(section=section)), TARGETS["lpn"])


def result(data: bytes, program: Program, number: int) -> int | None:
    code = read_object(data, program.section, program.function)
    return run_raw(code.text, ctx=number.to_bytes(8, "little"), rodata=code.rodata).r0


@pytest.fixture(scope="module")
def both() -> bytes:
    return made('section "xdp"')


def test_each_function_of_a_section_is_a_program(both) -> None:
    found = programs(ELFFile(io.BytesIO(both)))
    assert found == [Program("xdp", "one"), Program("xdp", "two"), Program("tc")]
    for number in (0, 1, 2, 3, 1000):
        assert [result(both, program, number) for program in found] == [2 * number + 1, 2 * (7, 11, 13, 17)[number & 3], 5]


def test_text_has_what_others_call() -> None:
    """Where it stands alone, functions that nobody calls are the programs: here all but `more`, which is global, too."""
    data = made("")
    assert programs(ELFFile(io.BytesIO(data))) == [Program("tc")]
    only = emit_object(llvm.parse_assembly(IR.format(section="").replace('section "tc"', "")), TARGETS["lpn"])
    found = programs(ELFFile(io.BytesIO(only)))
    assert found == [Program(".text", name) for name in ("one", "two", "alone")]
    assert [result(only, program, 2) for program in found] == [5, 26, 5]


def test_calls_lead_where_functions_begin(both) -> None:
    """Each is there once, in the order in which it is called."""
    code = decode(read_object(both, "xdp", "one").text)
    calls = [(slot, insn.target(slot)) for slot, insn in zip(slot_indices(code), code) if insn.is_local_call]
    ends = [slot for slot, insn in zip(slot_indices(code), code) if insn.is_exit]
    assert [target for _, target in calls] == [end + 1 for end in ends[:2]] and len(ends) == 3


def test_a_section_of_one_function_calls_others_and_has_variables(tmp_path: Path) -> None:
    """Those that begin as 0 (.bss) lie behind the others; the text is more than its section."""
    data = emit_object(llvm.parse_assembly(COUNTS), TARGETS["lpn"])
    elf = ELFFile(io.BytesIO(data))
    assert programs(elf) == [Program("xdp")]
    code = read_object(data, "xdp")
    ran = run_raw(code.text, ctx=bytes(8), data=code.data)
    assert (ran.r0, code.data[:4], ran.data) == (42, (40).to_bytes(4, "little"), (40).to_bytes(8, "little") + (2).to_bytes(4, "little"))
    at = next(i for i, s in enumerate(elf.iter_sections()) if s.name == ".bss")
    struct.pack_into("<Q", damaged := bytearray(data), elf["e_shoff"] + at * elf["e_shentsize"] + 32, 1 << 60)
    with pytest.raises(ElfError, match=r"section .bss has 1152921504606846976 bytes, more than any node has"):
        read_object(bytes(damaged), "xdp")
    (tmp_path / "only.o").write_bytes(data)
    assert lpnc("verify", tmp_path / "only.o").exit_code == 0


def test_what_is_not_there_is_said(both) -> None:
    with pytest.raises(ElfError, match="section 'xdp' has no function 'three'"):
        read_object(both, "xdp", "three")
    with pytest.raises(ElfError, match="the object has no section 'kprobe'"):
        read_object(both, "kprobe")
    lacking = emit_object(llvm.parse_assembly('target triple = "bpf"\ndeclare i32 @gone(i32)\n'
                                              'define i32 @f(i32 %x) section "xdp" { %r = call i32 @gone(i32 %x)\n ret i32 %r }'), TARGETS["lpn"])
    with pytest.raises(ElfError, match="'gone' is called and not in the object"):
        read_object(lacking, "xdp")


@pytest.mark.parametrize("declared, value, told", [
    ('@counts = global [8 x i8] zeroinitializer, section ".maps"', "ptrtoint (ptr @counts to i64)", "f: 'counts' is a map (section .maps), and containers have none: "),
    ('@table = global [8 x i8] zeroinitializer, section "tables"', "ptrtoint (ptr @table to i64)", "f: 'table' is in section tables, which a container has not: "),
    ("define i32 @g(i32 %x) { ret i32 3 }", "ptrtoint (ptr @g to i64)", "f: takes the address of function 'g': a container calls its functions by name only"),
    ("@there = external global i64", "ptrtoint (ptr @there to i64)", "f: 'there' is not in the object"),
])
def test_addresses_that_no_container_has_are_told(tmp_path: Path, declared: str, value: str, told: str) -> None:
    text = f'target triple = "bpf"\n{declared}\ndefine i64 @f(i64 %x) section "xdp" {{ ret i64 {value} }}\ndefine i32 @h(i32 %x) section "xdp" {{ ret i32 2 }}'
    (tmp_path / "f.o").write_bytes(emit_object(llvm.parse_assembly(text), TARGETS["lpn"]))
    done = lpnc("verify", tmp_path / "f.o")
    assert done.exit_code == 1 and told in done.stderr, done.stderr


def test_programs_are_judged_one_by_one(both, tmp_path: Path) -> None:
    (tmp_path / "two.o").write_bytes(both)
    told = lpnc("verify", tmp_path / "two.o", "--profile", "lpn")
    rows = [line.split()[:2] for line in told.stdout.splitlines()]
    assert ["alone", "accepted"] in rows or ["tc", "accepted"] in rows
    assert told.exit_code in (0, 1) and ["one", "rejected:"] in rows          # a context is no number


def test_one_that_cannot_be_read_keeps_no_other_from_being_judged(tmp_path: Path) -> None:
    text = """target triple = "bpf"
        @there = external global i64
        define i64 @f(ptr %x) section "xdp" { ret i64 ptrtoint (ptr @there to i64) }
        define i64 @g(ptr %x) section "xdp" { ret i64 2 }
        define i64 @h(ptr %x) section "other" { ret i64 ptrtoint (ptr @there to i64) }"""
    (tmp_path / "f.o").write_bytes(emit_object(llvm.parse_assembly(text), TARGETS["lpn"]))
    done = lpnc("verify", tmp_path / "f.o")
    assert done.exit_code == 1 and done.stdout.splitlines()[1].split()[:2] == ["g", "accepted"] and done.stdout.endswith("1 module: all accepted, 2 not read\n")
    assert [line.partition("f.o: ")[2] for line in done.stderr.splitlines()] == ["f: 'there' is not in the object", "other: 'there' is not in the object"]
    rows = lpnc("verify", tmp_path / "f.o", "--json")
    assert rows.exit_code == 1 and [json.loads(line)["name"] for line in rows.stdout.splitlines()] == ["g"] and rows.stderr == done.stderr
    shown = lpnc("disasm", tmp_path / "f.o")
    assert shown.exit_code == 1 and shown.stdout.startswith("; g (object): 2 slots") and shown.stderr == done.stderr


def test_damaged_objects_break_nothing(both, tmp_path: Path) -> None:
    path, draw = tmp_path / "damaged.o", random.Random(1)
    for _ in range(300):
        data = bytearray(both)
        for _ in range(draw.choice((1, 1, 2, 5))):
            at = draw.randrange(len(data) - 8)
            if draw.random() < 0.5:
                data[at] = draw.randrange(256)
            else:
                struct.pack_into("<I", data, at, draw.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, len(data), draw.randrange(1 << 32))))
        path.write_bytes(data[:draw.choice((len(data), draw.randrange(len(data))))])
        assert lpnc("verify", path).exit_code in (0, 1, 2)


@pytest.mark.parametrize("section", ["tc", "socket", "kprobe/tcp_connect", "lwt_in", "cgroup_skb/egress", "tracepoint/sched/sched_switch", "fentry/tcp_connect", "struct_ops.s/init"])
def test_programs_of_the_kernel_are_judged_where_it_is_known_what_they_meet(tmp_path: Path, section: str) -> None:
    (tmp_path / "f.o").write_bytes(emit_object(llvm.parse_assembly(f'target triple = "bpf"\ndefine i64 @f(ptr %x) section "{section}" {{ ret i64 2 }}'), TARGETS["lpn"]))
    done = lpnc("verify", tmp_path / "f.o")
    assert done.exit_code == 1 and not done.stdout
    assert done.stderr.endswith(f"f.o: section {section}: of the kernel's programs those for xdp are known; --profile says what else to judge it as\n"), done.stderr
    assert lpnc("verify", tmp_path / "f.o", "--profile", "lpn").exit_code == 0
    assert lpnc("disasm", tmp_path / "f.o").exit_code == 0
    for other in ("xdp.frags", "tcp", "lpn", "sockets"):
        (tmp_path / "g.o").write_bytes(emit_object(llvm.parse_assembly(f'target triple = "bpf"\ndefine i64 @f(ptr %x) section "{other}" {{ ret i64 2 }}'), TARGETS["lpn"]))
        assert lpnc("verify", tmp_path / "g.o").exit_code == 0
