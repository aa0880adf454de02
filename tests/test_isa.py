"""Instruction model, assembler and disassembler: each form round-trips, and LLVM agrees where it is at hand."""
import shutil
import subprocess

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler import isa
from lpn.compiler.asm import AsmError, assemble, assemble_program
from lpn.compiler.disasm import disassemble, format_instruction, listing
from lpn.compiler.isa import Instruction, decode, encode

# Every syntactic form once, as llvm-objdump prints it, with LLVM's encoding of it.
FORMS = [
    ("180100008877665500000000 44332211", "r1 = 0x1122334455667788 ll"),
    ("b4010000ffffffff", "w1 = -0x1"), ("8701000000000000", "r1 = -r1"), ("8401000000000000", "w1 = -w1"),
    ("dc01000010000000", "r1 = be16 r1"), ("d401000020000000", "r1 = le32 r1"),
    ("d701000010000000", "r1 = bswap16 r1"), ("3f21010000000000", "r1 s/= r2"),
    ("9401010003000000", "w1 s%= 0x3"), ("bf21080000000000", "r1 = (s8)r2"), ("bc21100000000000", "w1 = (s16)w2"),
    ("9121000000000000", "r1 = *(s8 *)(r2 + 0x0)"), ("0600000001000000", "gotol +0x1"),
    ("db21000000000000", "lock *(u64 *)(r1 + 0x0) += r2"), ("c321000040000000", "lock *(u32 *)(r1 + 0x0) |= w2"),
    ("db01000001000000", "r0 = atomic_fetch_add((u64 *)(r1 + 0x0), r0)"),
    ("c3010800a1000000", "w0 = atomic_fetch_xor((u32 *)(r1 + 0x8), w0)"),
    ("db210000f1000000", "r0 = cmpxchg_64(r1 + 0x0, r0, r2)"),
    ("c3210000f1000000", "w0 = cmpxchg32_32(r1 + 0x0, w0, w2)"),
    ("db120000e1000000", "r1 = xchg_64(r2 + 0x0, r1)"), ("c3120000e1000000", "w1 = xchg32_32(r2 + 0x0, w1)"),
    ("4d21010000000000", "if r1 & r2 goto +0x1"), ("76010100fbffffff", "if w1 s>= -0x5 goto +0x1"),
    ("7201ffff05000000", "*(u8 *)(r1 - 0x1) = 0x5"), ("7a01fffffbffffff", "*(u64 *)(r1 - 0x1) = -0x5"),
    ("8500000005000000", "call 0x5"), ("c701000005000000", "r1 s>>= 0x5"), ("9500000000000000", "exit"),
    ("6321040000000000", "*(u32 *)(r1 + 0x4) = w2"), ("85100000fcffffff", "call -0x4"),
    ("188300001000000000000000 00000000", "r3 = rodata + 0x10 ll"),
    ("189300000000000000000000 00000000", "r3 = data + 0x0 ll"),
]


@pytest.mark.parametrize("code, text", FORMS, ids=[text for _, text in FORMS])
def test_form(code, text):
    raw = bytes.fromhex(code)
    assert disassemble(raw) == [text]
    assert assemble(text) == raw


instructions = st.builds(
    lambda op, dst, src, off, imm, high: Instruction(
        op, dst, src, off, (imm & 0xFFFFFFFF | high << 32) if Instruction(op).is_lddw else imm),
    op=st.one_of(st.sampled_from(sorted(isa.OPCODES)), st.integers(0, 255)), dst=st.integers(0, 15),
    src=st.one_of(st.just(0), st.integers(0, 15)), off=st.one_of(st.sampled_from([0, 1, 8, 16]), st.integers(-32768, 32767)),
    imm=st.one_of(st.sampled_from([0, 1, 16, 32, 64, 0xE1, 0xF1]), st.integers(-(1 << 31), (1 << 31) - 1)), high=st.integers(0, (1 << 32) - 1))


@given(st.lists(instructions, max_size=8))
@settings(max_examples=300, deadline=None)
def test_assembling_a_disassembly_gives_the_bytes_back(program):
    text = encode(program)
    assert decode(text) == program
    assert assemble("\n".join(disassemble(text))) == text


@given(st.binary(max_size=64).map(lambda b: b[:len(b) // 8 * 8]))
@settings(max_examples=200, deadline=None)
def test_any_slots_survive(text):
    assert assemble("\n".join(disassemble(text))) == text


def test_labels():
    program = assemble_program("""
        r0 = 0
        r1 = 5 ll           ; two slots
    loop: r0 += 1
        if r0 < 10 goto loop
        goto end            // forward
        call f
    end: exit
    f: exit
    """)
    assert [i.off for i in program] == [0, 0, 0, -2, 1, 0, 0, 0]
    assert program[5] == Instruction(isa.CALL, src=isa.CALL_LOCAL, imm=1)


@pytest.mark.parametrize("source, message", [
    ("r1 = r11", "line 1: not an instruction: r1 = r11"),
    ("\nr1 += w2", "line 2: operands must agree: r and w"),
    ("goto nowhere", "line 1: no label nowhere"),
    ("a:\na: exit", "line 2: label a is already at slot 0"),
    ("w1 = 0x123456789", "line 1: immediate 0x123456789 does not fit 32 bits"),
])
def test_errors_name_the_line(source, message):
    with pytest.raises(AsmError) as error:
        assemble(source)
    assert str(error.value) == message


def test_decode_refuses():
    with pytest.raises(isa.DecodeError, match="ends inside an instruction"):
        decode(b"\0" * 12)
    with pytest.raises(isa.DecodeError, match="without its second slot"):
        decode(bytes.fromhex("1801000000000000"))


def test_versions_and_targets():
    versions = {text: isa.cpu_version(decode(bytes.fromhex(code))[0]) for code, text in FORMS}
    assert versions["r1 = -r1"] == 1 and versions["w1 = -w1"] == 3
    assert versions["r1 s/= r2"] == versions["r1 = (s8)r2"] == versions["gotol +0x1"] == 4
    femto = {row.name for row in isa.OPCODES.values() if "femto" in row.targets}
    assert {"LDDWD", "LDDWR", "JSLT_X", "ARSH_K"} <= femto
    assert not {"NEG", "BE", "LE", "JEQ_K32", "ADD_K32", "ATOMIC_W"} & femto


def test_listing_interleaves_the_source():
    text = assemble("r0 = 1\nif r0 == 0 goto +0\nexit")
    out = listing(text, [(0, ("a.lpn", 2))], {"a.lpn": ["header H {", "  x = 1;"]})
    assert out.splitlines()[0] == "; a.lpn:2  x = 1;"
    assert "L0:" in out and "if r0 == 0x0 goto L0" in out


@pytest.mark.skipif(not shutil.which("llvm-objdump-19") or not shutil.which("clang-19"), reason="clang-19 is not installed")
def test_llvm_prints_the_same(tmp_path):
    """clang assembles our text to our bytes (local calls and image-relative loads are written differently)."""
    own = ("rodata", "data", "call")
    lines = [text for _, text in FORMS if not any(word in text for word in own)]
    (tmp_path / "a.s").write_text("\n".join(lines) + "\n")
    subprocess.run(["clang-19", "-target", "bpf", "-mcpu=v4", "-c", "a.s", "-o", "a.o"], cwd=tmp_path, check=True)
    out = subprocess.run(["llvm-objdump-19", "-d", "--mcpu=v4", "--no-show-raw-insn", "--no-leading-addr", "a.o"], cwd=tmp_path, check=True,
                         capture_output=True, text=True).stdout
    theirs = [line.split("<")[0].strip() for line in out.splitlines() if line.startswith("\t")]
    assert theirs == [format_instruction(i) for i in decode(assemble("\n".join(lines)))]
