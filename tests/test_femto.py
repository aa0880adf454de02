"""Target `femto`: rewritten code does the same in our engine, and in a model of the stock engine with its defects."""
from __future__ import annotations

import json
import re
import struct
from functools import cache
from pathlib import Path

import corpus
import pytest
from cli import lpnc
from femto_stock import STACK, Stock, StockChain, Stop
from hypothesis import given, strategies as st

from lpn.compiler import femto
from lpn.compiler.asm import assemble
from lpn.compiler.build import compile_program as compile_once
from lpn.compiler.disasm import disassemble
from lpn.compiler.elf import Object
from lpn.compiler.isa import decode, known_to
from lpn.compiler.judge import sealed
from lpn.compiler.runner import BytecodeRunner, make_runner
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.loader import Source, load
from lpn.runtime.raw import run_raw
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.verify import verify

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = {"udp": "udp/udp.lpn", "decompress": "decompress/decompress.lpn", "recompress": "decompress/recompress.lpn"}
META = {"node_ext": 0x0212_7400_1122_3344, "node_short": 0x1234, "node_pan": 0xABCD, "clock": 7, "iface": 1}
MANY = 100_000                                  # branches
U64 = st.integers(0, (1 << 64) - 1)


@cache
def program(name: str):
    return check(load(EXAMPLES / PROGRAMS[name]))


@cache
def compile_program(checked, target: str, fuse: bool):
    return compile_once(checked, target, fuse)


def frames(capture: str, limit: int | None):
    for n, (frame, _) in enumerate(corpus.frames_of(capture)):
        if n == limit:
            return
        yield frame.data


def given_for(name: str, capture: str):
    return None if name == "udp" else control.from_json(corpus.tables_for(capture), program(name))


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_only_instructions_the_stock_engine_has(name, fuse):
    for container in compile_program(program(name), "femto", fuse).containers:
        insns = decode(container.code.text)
        assert all(known_to(i, "femto") for i in insns)
        assert not any(i.is_lddw and (i.src or i.imm >> 31 & 1) for i in insns)
        assert container.code.rodata == container.code.data == b""
        assert all(0 <= slot < container.instructions for slot, _, _ in container.code.lines)
        header = struct.unpack_from("<7I", container.stored)
        assert header == (0x72425046, 0, 0, 0, 0, len(container.code.text), 0)
        assert container.stored[28:] == container.code.text


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name,capture,limit", [("udp", "riot_udp", None), ("decompress", "riot_6lowpan", None),
                                                ("recompress", "riot_6lowpan", None), ("decompress", "iphc_ucast", 300),
                                                ("recompress", "nhc_ext", 300), ("udp", "nhc_udp", 300)])
def test_same_results(name, capture, limit, fuse):
    """Target lpn and target femto in our engine, target femto in the model of the stock one; that of an engine which allows more
    branches, since rule 35 refuses some of these modules."""
    if not corpus.here(capture):
        pytest.skip(corpus.ABSENT)
    tables = given_for(name, capture)
    theirs = compile_program(program(name), "femto", fuse)
    plain = BytecodeRunner("engine", compile_program(program(name), "lpn", fuse), tables)
    ours = BytecodeRunner("engine", theirs, tables)
    stock = StockChain(theirs, theirs.initial_state(tables), lambda image: Stock(image, branches=MANY))
    for frame in frames(capture, limit):
        a, b = plain.run(frame, META), ours.run(frame, META)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out) == stock.run(frame, META, len(frame) % 4)
    assert plain.program.state() == ours.program.state() == stock.state()


def rewritten(source: str) -> bytes:
    return femto.stock(Object(assemble(source))).text


def both(source: str) -> None:
    """The original in our engine, and what became of it in ours and the stock one's model."""
    text = rewritten(source)
    want = run_raw(assemble(source))
    assert want.error == "ok"
    assert run_raw(text).r0 == want.r0
    assert Stock(femto.image(text)).execute({STACK: bytearray(512)}) == want.r0


@given(U64, U64, st.sampled_from(["be16", "be32", "be64", "le16", "le32", "le64"]))
def test_byte_swaps(x, y, name):
    both(f"r0 = {x} ll\nr1 = {y} ll\nr0 = {name} r0\nr0 ^= r1\nexit")


@given(U64, st.sampled_from(["be32", "be64"]))
def test_byte_swap_without_a_free_register(x, name):
    keep = "\n".join(f"r{n} = {n + 1}" for n in range(1, 10))
    use = "\n".join(f"r0 *= 3\nr0 += r{n}" for n in range(1, 10))
    both(f"r0 = {x} ll\n{keep}\n*(u64 *)(r10 - 8) = r9\nr0 = {name} r0\n{use}\nr1 = *(u64 *)(r10 - 8)\nr0 += r1\nexit")


@given(U64, st.integers(-(1 << 31), (1 << 31) - 1))
def test_moves_and_constants(x, k):
    both(f"r1 = {x} ll\nr2 = r1\nr3 = {k}\nr2 ^= r3\nr0 = r2\nr0 = -r0\nexit")


def judge(text: bytes):
    return verify(text, PROFILES["femto"])


def test_a_copy_of_any_number_is_known_to_be_a_copy():
    """Moves keep 32 bits only, so such a copy is made otherwise: what is learnt of it says the same of what it is a copy of."""
    walk = """
        r6 = *(u64 *)(r1 + 32)
        r2 = *(u32 *)(r1 + 52)
        r3 = *(u16 *)(r1 + 44)
        r2 &= 511
        r2 += r3
        r4 = r2
        r4 <<= 32
        r4 >>= 32
        if r4 > {last} goto end
        r6 += r4
        r5 = r2
        r5 <<= 32
        r5 >>= 32
        if r5 == 255 goto end
        *(u8 *)(r6 + 1) = 1
        end: r0 = 0
        exit"""
    text = rewritten(walk.format(last=255))
    assert "r4 += r2" in disassemble(text) and judge(text).accepted
    assert judge(rewritten(walk.format(last=256))).rule == 22


def test_a_copy_of_a_number_or_an_address():
    """What is loaded by an address from the stack is taken for anything: copied, it is an address still."""
    text = rewritten("""
        r2 = *(u64 *)(r1 + 32)
        *(u64 *)(r10 - 8) = r2
        r3 = r10
        r3 += -8
        r4 = *(u64 *)(r3 + 0)
        r5 = r4
        *(u8 *)(r5 + 255) = 1
        r0 = 0
        exit""")
    assert "r5 += r4" in disassemble(text) and judge(text).accepted


COPIES = """
header V { bit<8> n; varbit<2040> v sized (8 * (bit<16>) n); }
header S { bit<8> k; varbit<56> w sized (8 * (bit<16>) k); }
struct headers { V a; V b; V c; S d; }
parser Rx(packet pkt, out headers h) {
    state start { pkt.extract(h.a); pkt.extract(h.b); pkt.extract(h.c); pkt.extract(h.d); transition accept; }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.b); pkt.emit(h.d); pkt.emit(h.a); pkt.emit(h.c); }
protocol Copies version 1 { on radio.rx_done : Rx -> Tx; }
"""
SUM = """
header C { bit<16> sum = inet_sum(payload); }
struct headers { C c; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.c); transition accept; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.c); }
protocol Sum version 1 { on radio.rx_done : Rx -> Tx; }
"""


def agrees(source: str, frames: list[bytes], most: int) -> None:
    """Each frame in the reference, our engine and the stock one's model; how many jumps a run takes at most."""
    checked = check(load(Source("x.lpn", source)))
    theirs = compile_once(checked, "femto")
    assert all(report.accepted for _, report in sealed(theirs))
    assert max(report.max_branches for _, report in sealed(theirs)) == most
    reference, ours, stock = make_runner("reference", checked), BytecodeRunner("engine", theirs, None), StockChain(theirs, b"")
    for frame in frames:
        a, b = reference.run(frame), ours.run(frame)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out) == stock.run(frame, {}), frame.hex()
    assert stock.taken <= most


def test_octets_are_copied_in_few_jumps():
    """All sizes, from and to all places; what does not fit."""
    octets = bytes(range(1, 256))
    sizes = [(a, b, c, d) for a in (*range(36), 100) for b, c, d in ((0, 0, 0), (3, 17, a % 8), (a, a, 7), (16, 1, 4))]
    sizes += [(a, b, 0, 0) for a in range(120, 128) for b in range(120, 135)] + [(252, 0, 0, 0), (253, 0, 0, 0), (255, 255, 255, 7), (1, 1, 247, 0), (0, 0, 249, 3)]
    frames = [b"".join(bytes([n]) + octets[k:k + n] if n <= 255 - k else bytes([n]) + octets[:n] for k, n in enumerate(each)) for each in sizes]
    agrees(COPIES, [*frames, *(frames[1][:n] for n in range(len(frames[1]))), *(frame + b"rest" for frame in frames[::7])], 113)


def test_octets_are_summed_in_few_jumps():
    octets = bytes(n * 89 & 0xFF for n in range(2048))
    agrees(SUM, [octets[at:at + n] for n in (*range(140), 1000, 2046, 2047, 2048) for at in (0, 3)], 70)


def test_jump_to_the_start_and_no_exit_at_the_end():
    both("""
        start: r3 += 1
        if r3 < 5 goto start
        goto end
        middle: r0 = r3
        exit
        end: goto middle""")


def test_what_cannot_run_is_named():
    for source, what in (("w0 = 1\nexit", "MOV_K32"), ("r0 = rodata + 8 ll\nexit", "address of its data"),
                         ("lock *(u64 *)(r10 - 8) += r1\nr0 = 0\nexit", "ATOMIC_DW"),
                         ("r0 = bswap32 r0\nexit", "unconditional byte swap")):
        with pytest.raises(femto.FemtoError, match=what):
            rewritten(source)
    with pytest.raises(femto.FemtoError, match="constants"):
        femto.stock(Object(assemble("r0 = 0\nexit"), b"12345678"))


def test_the_model_has_the_defects():
    """What the rewriting is for: each of these goes wrong unchanged."""
    def run(source: str) -> int:
        return Stock(femto.image(assemble(source))).execute({})
    assert run("r0 = -1\nexit") == 0xFFFFFFFF
    assert run("r1 = 0x100000001 ll\nr0 = r1\nexit") == 1
    assert run("r0 = 0x80000000 ll\nexit") == 0xFFFFFFFF80000000
    for source in ("r0 = be16 r0\nexit", "w0 = 1\nexit", "r0 = -r0\nexit"):
        with pytest.raises(Stop, match="illegal instruction"):
            run(source)


def rows(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_what_is_written_can_be_read(tmp_path):
    """Images are listed and verified as bundles are; nothing in one says how large record and state are."""
    (tmp_path / "echo.lpn").write_text(SUM)
    built = lpnc("build", str(tmp_path / "echo.lpn"), "--target", "femto", "-o", str(tmp_path))
    record = re.search(r"^they share (\d+) bytes of record and 0 bytes of state, which their host gives them$", built.stdout, re.MULTILINE)
    one, _ = rows(lpnc("build", str(tmp_path / "echo.lpn"), "--target", "femto", "-o", str(tmp_path), "--json").stdout)
    assert built.exit_code == 0 and (one["record_bytes"], one["state_bytes"]) == (int(record[1]), 0) and one["record_bytes"]
    for name in ("Rx", "Tx"):
        image = str(tmp_path / f"{name}.rbpf")
        assert lpnc("disasm", image).stdout.startswith(f"; {name} (stock image): ")
        assert lpnc("verify", image, "--record-size", record[1]).exit_code == 0
        assert lpnc("verify", image).exit_code == 1
        ran = lpnc("run", image, "--in", str(EXAMPLES / "udp/captures/riot_udp.pcap"))
        assert (ran.exit_code, ran.stderr) == (2, f"lpnc: {image}: an image alone cannot run: give the bundle (.lpnb) or the source (.lpn)\n")


def test_an_image_that_is_none_is_said(tmp_path):
    whole = femto.image(assemble("r0 = 0\nexit"))
    for data, what in ((whole[:-1], "not a whole image"), (whole[:20], "not a whole image"), (whole + b"x", "not a whole image"),
                       (whole[:12] + b"\1" + whole[13:], "constants or variables")):
        (tmp_path / "x.rbpf").write_bytes(data)
        refused = lpnc("verify", str(tmp_path / "x.rbpf"))
        assert refused.exit_code == 2 and what in refused.stderr


def test_a_bundle_runs_in_our_engines(tmp_path):
    """`--emit bundle` has the same code in LPN's images: what is fitted to the stock engine can be tried without it."""
    (tmp_path / "echo.lpn").write_text(SUM)
    assert lpnc("build", str(tmp_path / "echo.lpn"), "--target", "femto", "--emit", "bundle", "-o", str(tmp_path)).exit_code == 0
    capture = str(EXAMPLES / "udp/captures/riot_udp.pcap")
    texts = [lpnc("run", str(tmp_path / name), "--in", capture, "--limit", "20", "--json").stdout for name in ("echo.lpn", "echo.lpnb")]
    wanted, got = ([{key: row[key] for key in ("verdict", "reason", "out")} for row in rows(text)] for text in texts)
    assert got == wanted and len(got) == 20
