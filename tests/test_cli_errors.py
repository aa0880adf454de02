"""Bad input and bad surroundings: one clear line (for a source, the diagnostic), the right exit status, nothing left behind."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import FRAMES, RECORDING, TAG, UDP, lpnc
from lpn.compiler.build import compile_program
from lpn.compiler.cli import guard
from lpn.compiler.runner import make_runner
from lpn.lang.check import check
from lpn.lang.limits import MAX_TEXT
from lpn.lang.loader import load
from lpn.lang.source import Source


def refusal(*args, status: int = 2, **more) -> str:
    """The one line of a refusal."""
    result = lpnc(*args, **more)
    assert result.exit_code == status, result.output
    assert result.stderr.startswith("lpnc: ") and result.stderr.count("\n") == 1, result.stderr
    assert result.stdout == ""
    return result.stderr.strip().removeprefix("lpnc: ")


COMPILED = compile_program(check(load(Source("tag.lpn", TAG))))
IMAGE = COMPILED.containers[0].image.to_bytes()
BUNDLE = COMPILED.bundle.to_bytes()


# ---------------------------------------------------------------- sources

@pytest.mark.parametrize("command", [["build"], ["verify"], ["disasm"]])
def test_modules_that_are_no_chain_are_told_where_they_stand(tag, command):
    """Without a protocol all modules are one chain; as it is to be, the hint says."""
    tag.write_text(TAG.partition("protocol")[0] + "processor Late(inout headers h, inout meta m) { apply { m.port = 1; } }\n")
    result = lpnc(*command, tag)
    assert result.exit_code == 1 and result.stdout == ""
    assert f"{tag}:{len(tag.read_text().splitlines())}:1: error: a chain is a parser, then processors, then a deparser" in result.stderr
    assert "protocol App version 1 { on radio.rx_done : Rx -> Guard -> Work -> Late -> Tx; }" in result.stderr


@pytest.mark.parametrize("command", [["check"], ["build"], ["verify"], ["disasm"], ["run", "--in", "x"]])
@pytest.mark.parametrize("old,new,line", [("state start {", "state start", 6), ("h.tag.port + base[0]", "h.tag.kind", 21)])
def test_source_errors_are_diagnostics(tag, tmp_path, command, old, new, line):
    tag.write_text(TAG.replace(old, new))
    before = sorted(tmp_path.iterdir())
    result = lpnc(*command, tag)
    assert result.exit_code == 1
    first = result.stderr.splitlines()[0]
    assert first.startswith(f"{tag}:") and ": error: " in first
    assert abs(int(first.split(":")[1]) - line) <= 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", [["check"], ["build"], ["verify"], ["disasm"], ["run", "--in", "x"]])
def test_unreadable_inputs(tmp_path, command):
    last = command[0]
    missing, blob = tmp_path / "missing.lpn", tmp_path / "blob.lpn"
    blob.write_bytes(b"parser \xff\xfe")
    if last == "check":
        for path, why in ((missing, "No such file"), (tmp_path, "directory"), (blob, "UTF-8")):
            result = lpnc("check", path)
            assert result.exit_code == 2 and why in result.stderr and result.stderr.count("\n") == 1
            assert result.stdout == "1 file: 1 error, 0 warnings\n"
        return
    assert "missing.lpn: No such file or directory" in refusal(*command, missing)
    assert "Is a directory" in refusal(*command, tmp_path)
    assert "not UTF-8" in refusal(*command, blob)
    assert "not UTF-8" in refusal(*command, "-", input=b"parser \xff\xfe")


@pytest.mark.parametrize("command,said", [
    (["check"], "1 file: no errors"), (["build", "-o", "."], "wrote "), (["verify"], "4 modules: all accepted"), (["disasm"], "; Guard (processor)"),
    (["run", "--in", RECORDING], " frames: "), (["pack", "-o", "tag.lpnn"], "wrote tag.lpnn"), (["fuzz", "--programs", "0"], "0 programs"),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_a_pipe_is_read_once(tmp_path, command, said):
    """What was read to tell what it is, is what is taken: a pipe is empty behind it, and who opens it again waits for ever. Its imports are the working folder's."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "kinds.lpn").write_text("const bit<8> KIND = 1;\n")
    for text, status in (("import kinds;\n" + TAG.replace("kind == 1", "kind == KIND"), 0), (TAG.replace("m.port = ", "m.door = "), 1)):
        with subprocess.Popen([sys.executable, "-m", "lpn.compiler.cli", command[0], str(pipe), *command[1:]], cwd=tmp_path, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            pipe.write_text(text)
            out, err = process.communicate(timeout=100)
        assert process.returncode == status, err
        assert said in out if status == 0 else err.startswith(f"{pipe}:21:13: error: meta has no 'door'")


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root reads everything")
def test_file_without_permission(tag, tmp_path):
    tag.chmod(0)
    if os.geteuid():
        assert "Permission denied" in refusal("verify", tag)
        return
    tmp_path.chmod(0o755)
    probe = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", "import lpn.compiler.cli"],
                           capture_output=True, check=False, cwd="/")
    if probe.returncode:
        pytest.skip("another user cannot start Python here")
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-m", "lpn.compiler.cli", "verify", str(tag)],
                          capture_output=True, text=True, check=False, cwd="/")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Permission denied" in done.stderr and done.stderr.count("\n") == 1


TRANSMITTING = """
processor Count() { counter<bit<32>> sent; apply { sent.count(); } }
protocol P version 1 { on radio.tx_done : Count; on radio.ack_timeout : Count; }
"""


def test_no_chain_for_received_frames(tmp_path):
    source, capture = tmp_path / "tx.lpn", RECORDING
    source.write_text(TRANSMITTING)
    assert "no chain for radio.rx_done" in refusal("run", source, "--in", capture, status=1)
    assert "no chain for radio.rx_done" in refusal("build", source, "--target", "xdp", status=1)
    assert lpnc("build", source, "-o", tmp_path).exit_code == 0
    assert "no chain for radio.rx_done" in refusal("run", tmp_path / "tx.lpnb", "--in", capture, status=1)
    assert "no chain for radio.rx_done" in refusal("profile", source, "--in", capture, status=1)


def test_no_chain_of_that_name(tmp_path):
    source, capture = tmp_path / "net.lpn", RECORDING
    source.write_text("parser Rx(packet pkt) { state start { transition accept; } }\nprotocol P version 1 { on net.tx(41) : Rx; }\n")
    assert lpnc("build", source, "-o", tmp_path).exit_code == 0
    for file, command in ((source, "run"), (source, "profile"), (tmp_path / "net.lpnb", "run")):
        assert "which is what frames of a capture take; there is --hook net.tx.41" in refusal(command, file, "--in", capture, status=1)
        assert "no chain takes 'net.tx.42': chains take net.tx.41" in refusal(command, file, "--in", capture, "--hook", "net.tx.42")
        assert "net.tx has 2 numbers: layer, selector" in refusal(command, file, "--in", capture, "--hook", "net.tx.41.1.1")
    assert "no chain takes 'every'" in refusal("run", source, "--in", capture, "--hook", "every")
    assert "--hook belongs to --in" in refusal("run", source, "--events", capture, "--hook", "net.tx.41")
    assert "the kernel runs the chain of radio.rx_done, and no other one" in refusal("run", source, "--in", capture, "--hook", "net.tx.41", "--engine", "kernel", status=1)


def test_a_file_whose_name_is_no_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.lpn"
    Path(os.fsdecode(path)).write_text(TAG)
    for command in (["check"], ["verify"], ["disasm"], ["build", "-o", str(tmp_path)]):
        done = subprocess.run([os.fsencode(sys.executable), b"-m", b"lpn.compiler.cli", *map(os.fsencode, command), path], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b""), command


def test_more_state_than_a_node_has(tmp_path):
    (tmp_path / "x.lpn").write_text("processor P() { register<bit<64>>[9000] r; counter<bit<32>> c; apply { c.count(); r[0] = 1; } }\n")
    assert lpnc("check", tmp_path / "x.lpn").exit_code == 0
    assert refusal("build", tmp_path / "x.lpn", status=1).endswith(
        "x.lpn: registers, counters and meters take 72008 bytes, and a node has 65535 for them: P.r takes 72000")


@pytest.mark.parametrize("args,why", [
    (["run", UDP, "--in", RECORDING, "--out", "-", "--out-linktype", "99999999999"], "99999999999 is not in the range 0<=x<=65535"),
    (["fuzz", "--programs", "-1"], "-1 is not in the range x>=0"), (["fuzz", "--path"], "--path needs --slowest"),
    (["fuzz", "--packets", "-5"], "-5 is not in the range x>=0"), (["fuzz", "--bytecode", "--runs", "0"], "0 is not in the range x>=1"),
    (["fuzz", "--bytecode", "--mutants", "-1"], "-1 is not in the range x>=0"), (["fuzz", "--bytecode", "--writer", "me"], "'me' is not one of"),
    (["fuzz", "--programs", "0", "--corpus", "/dev/null/x"], "/dev/null"),
    (["build", UDP, "--target", "xdp", "--emit", "bundle"], "target xdp has no bundle: those are for nodes, Linux takes the object (--emit obj)"),
    (["build", UDP, "--target", "xdp", "--emit", "obj,image"], "target xdp has no image"),
    (["run", UDP, "--in", RECORDING, "--compare", ""], "there is no engine ''"), (["run", UDP, "--in", RECORDING, "--engine", ""], "there is no engine ''"),
    (["build", UDP, "--json", "-o", "-"], "-o - leaves no room for --json on standard output"),
    (["verify", UDP, "--on", "m3", "--profile", "xdp"], "--on is about worst-case times, and for profile xdp none are computed"),
    (["verify", UDP, "--on", "m3", "--tight", "--profile", "femto"], "--on and --tight are about worst-case times, and for profile femto none"),
    (["verify", "--raw", "9500000000000000", "--tight", "--profile", "xdp"], "--tight is about worst-case times"),
    (["pack", UDP, "--json", "-o", "-"], "-o - leaves no room for --json"), (["pack", "-", "--json"], "-o - leaves no room for --json"),
    (["test", UDP, "--json", "--junit", "-"], "--junit - leaves no room for --json on standard output"),
    (["test", "nope.lpn"], "cannot read nope.lpn: No such file or directory"),
    (["fuzz", "--slowest", UDP, "--bytecode"], "--slowest and --bytecode exclude each other")])
def test_options_that_cannot_be_meant(args, why):
    assert why in refusal(*args)


def test_what_has_no_certificate_has_its_line(tmp_path):
    """The source line of the instruction stands below the reason."""
    source = tmp_path / "x.lpn"
    source.write_text("""
        header H { bit<64> a; bit<64> b; }
        struct headers { H h; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor P(inout headers h, inout meta m) {
            apply {
                h.h.a = h.h.a / h.h.b;
                m.verdict = DELIVER;
            }
        }
        protocol E version 1 { on radio.rx_done : Rx -> P; }""")
    said = lpnc("verify", source).output.splitlines()
    at = next(i for i, line in enumerate(said) if line.startswith("P: no certificate"))
    assert "slot" in said[at] and said[at + 1].endswith("x.lpn:7  h.h.a = h.h.a / h.h.b;")


def test_a_line_longer_than_debug_information_tells(tmp_path):
    (tmp_path / "x.lpn").write_text("processor P() { counter<bit<32>> c; apply { " + " " * 70_000 + "c.count(); } }\n")
    assert lpnc("build", tmp_path / "x.lpn", "-o", tmp_path).exit_code == 0


def test_a_chain_longer_than_a_node_binds_is_one_container(tmp_path):
    """It runs like the chain of modules that it is."""
    steps = [f"processor P{n}(inout headers h, inout meta m) {{ apply {{ h.h.a = h.h.a * 3 + {n}; m.verdict = TRANSMIT; }} }}" for n in range(9)]
    text = ("header H { bit<8> a; }\nstruct headers { H h; }\nparser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }\n"
            + "\n".join(steps) + "\ndeparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }\nprotocol Long version 1 { on radio.rx_done : Rx -> "
            + " -> ".join(f"P{n}" for n in range(9)) + " -> Tx; }\n")
    (tmp_path / "x.lpn").write_text(text)
    compiled = compile_program(check(load(tmp_path / "x.lpn")))
    assert [c.name for c in compiled.containers] == ["Long.radio.rx_done"]
    result = lpnc("run", tmp_path / "x.lpn", "--in", RECORDING, "--limit", 5, "--compare", "engine,reference")
    assert result.exit_code == 0 and "agree in all 5 frames" in result.output


def test_no_modules_to_compile(tmp_path):
    (tmp_path / "empty.lpn").write_text("")
    for args in (["build"], ["fuzz", "--programs", "1"]):
        assert refusal(*args, tmp_path / "empty.lpn", status=1).endswith("empty.lpn: the program has no parser, processor or deparser to compile")


# ---------------------------------------------------------------- captures and tables

def pcap(linktype: int, *records: bytes) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, linktype)
    return head + b"".join(struct.pack("<IIII", 1, 0, len(r), len(r)) + r for r in records)


@pytest.mark.parametrize("content,why", [
    (b"", "empty file"), (b"PK\3\4 something else", "not a capture"), (TAG.encode(), "not a capture"),
    (pcap(113, b"abc"), "link type 113 (Linux cooked capture) is not supported"), (pcap(230)[:10], ""),
])
def test_bad_captures(tag, tmp_path, content, why):
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(content)
    out = tmp_path / "out.pcap"
    line = refusal("run", tag, "--in", bad, "--json", "--out", out)
    assert line.startswith(f"{bad}: ") and why in line
    assert not out.exists() and not list(tmp_path.glob(".lpn-*"))


def test_truncated_capture(tag, tmp_path):
    """What comes before the damage is shown; nothing is written."""
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(pcap(230, *FRAMES)[:-1])
    result = lpnc("run", tag, "--in", bad, "--json", "--out", tmp_path / "out.pcap")
    assert result.exit_code == 2
    assert len(result.stdout.splitlines()) == 4
    assert result.stderr.startswith(f"lpnc: {bad}: ") and result.stderr.count("\n") == 1
    assert not (tmp_path / "out.pcap").exists()


def test_missing_capture(tag, tmp_path):
    assert refusal("run", tag, "--in", tmp_path / "x.pcap") == f"{tmp_path}/x.pcap: No such file or directory"
    assert "directory" in refusal("run", tag, "--in", tmp_path)


@pytest.mark.parametrize("text,why", [("{", "not JSON"), ("[]", "object"), ('{"bace": 1}', "no such register"), ('{"base": {"2": 1}}', "out of range")])
def test_bad_tables(tag, frames, tmp_path, text, why):
    (tmp_path / "t.json").write_text(text)
    line = refusal("run", tag, "--in", frames, "--tables", tmp_path / "t.json")
    assert line.startswith(f"{tmp_path}/t.json: ") and why in line


def test_a_byte_order_mark_is_no_text(tag, frames, tmp_path):
    """As editors write it: sources and tests had it already, tables and events were refused for it."""
    for path, text in ((tag, TAG), (tmp_path / "t.json", '{"base": {"1": 1}}'), (tmp_path / "x.events", "node short=2\r\nuntil 1 s\r\n")):
        path.write_text(text, encoding="utf-8-sig", newline="")
    for given in (("--in", frames), ("--events", tmp_path / "x.events")):
        assert lpnc("run", tag, *given, "--tables", tmp_path / "t.json").exit_code == 0


# ---------------------------------------------------------------- images and bundles

def test_what_ends_a_line(tmp_path):
    """A line feed, a carriage return, or both: the same place, and the same program in every command."""
    good = "// a tag\nimport std.ieee802154;\n" + TAG.replace("header Tag", "// a comment ends with its line\nheader Tag")
    bad = good.replace("h.tag.kind == 1", "h.tag.kind == true")
    said = set()
    for number, end in enumerate(("\n", "\r\n", "\r")):
        path = tmp_path / f"{number}.lpn"
        path.write_bytes(bad.replace("\n", end).encode())
        said.add(lpnc("check", path).stderr.replace(path.name, "x.lpn"))
        path.write_bytes(good.replace("\n", end).encode())
        assert lpnc("check", path).exit_code == 0
        assert "checker refuses" not in (done := lpnc("fuzz", path, "--changes", "1", "--programs", "3", "--packets", "2", "--engine", "engine")).stdout
        assert done.exit_code == 0
        assert lpnc("fmt", path).exit_code == 0 and b"\r" not in path.read_bytes()
    assert len(said) == 1 and "x.lpn:15:" in said.pop()


@pytest.mark.parametrize("command", [["check"], ["fmt"], ["fmt", "--check"], ["build"], ["verify"], ["verify", "--raw"], ["disasm"], ["pack"], ["test"], ["fuzz"],
                                     ["run", "--in", RECORDING], ["run", UDP, "--events"], ["run", UDP, "--in", RECORDING, "--tables"]], ids=lambda c: " ".join(c[:1] + c[-1:]))
def test_a_file_without_an_end_is_left(command):
    """Not read until there is no memory left."""
    result = lpnc(*command, "/dev/zero")
    assert result.exit_code == 2 and re.search(r"it has more than (16|64) MiB, the most that is read", result.output)


def test_a_source_is_not_longer_than_a_text(tmp_path):
    """Where it is told by its content what it is, a program that is compiled may be longer."""
    path = tmp_path / "x.lpn"
    path.write_bytes(b" " * (MAX_TEXT + 1))
    (tmp_path / "y.lpn").write_text("import x;")
    assert refusal("verify", path) == f"cannot read {path}: it has more than 16 MiB, the most that is read"
    result = lpnc("check", tmp_path / "y.lpn")
    assert result.exit_code == 1 and "y.lpn:1:1: error: cannot read " in result.stderr and "x.lpn: it has more than 16 MiB" in result.stderr


def test_image_of_another_version(tmp_path):
    path = tmp_path / "x.lpnc"
    path.write_bytes(IMAGE[:4] + b"\1\0" + IMAGE[6:])
    assert refusal("verify", path) == f"{path}: unsupported version: version 1, this reads 2"
    assert refusal("disasm", path) == f"{path}: unsupported version: version 1, this reads 2"


@given(st.integers(0, 8 * len(IMAGE) - 1))
def test_image_with_a_flipped_bit(tmp_path_factory, bit):
    data = bytearray(IMAGE)
    data[bit // 8] ^= 1 << bit % 8
    path = tmp_path_factory.getbasetemp() / "flipped.lpnc"
    path.write_bytes(data)
    assert str(path) in refusal("verify", path)


@given(st.integers(0, 8 * len(BUNDLE) - 1))
def test_bundle_with_a_flipped_bit(tmp_path_factory, bit):
    data = bytearray(BUNDLE)
    data[bit // 8] ^= 1 << bit % 8
    path = tmp_path_factory.getbasetemp() / "flipped.lpnb"
    path.write_bytes(data)
    assert str(path) in refusal("verify", path)


@given(st.sampled_from([IMAGE, BUNDLE, COMPILED.containers[0].object]), st.data())
def test_cut_files(tmp_path_factory, whole, data):
    path = tmp_path_factory.getbasetemp() / "cut.bin"
    path.write_bytes(whole[:data.draw(st.integers(4, len(whole) - 1))])
    result = lpnc("verify", path)
    assert result.exit_code in (0, 1, 2) and result.stderr.count("\n") <= 1


@given(st.binary(max_size=200))
def test_any_octets_are_judged_or_refused(tmp_path_factory, octets):
    """As a file of unknown kind and as bare bytecode: an answer, never a traceback."""
    path = tmp_path_factory.getbasetemp() / "octets"
    path.write_bytes(octets)
    for args in (["verify", path], ["disasm", path], ["verify", "--raw", path, "--profile", "xdp"]):
        assert lpnc(*args).exit_code in (0, 1, 2)


@pytest.mark.parametrize("command", ["check", "build", "verify", "disasm", "pack", "run"])
def test_what_is_no_program_is_named(tag, tmp_path, command):
    pack = tmp_path / "tag.lpnn"
    if command == "verify":
        assert lpnc("pack", tag, "-o", pack).exit_code == 0
    else:
        pack.write_bytes(b"LPNP\1\0")
    more = ["--in", RECORDING] if command == "run" else []
    if command == "verify":
        assert lpnc("build", tag, "-o", tmp_path, "--fuse", "--emit", "ir,asm,image,bundle").exit_code == 0
        assert lpnc("pack", tag, "--hex", "0").exit_code == 0
    else:
        for name, begin in (("tag.map.json", '{"lpn": 1, "modules": {}}'), ("TagProtocol.s", '\t.file\t"<string>"'), ("TagProtocol.ll", "; ModuleID = 'x'"),
                            ("tag.hex", "lpn load 0 begin 400")):
            (tmp_path / name).write_text(begin)
    for path, what in ((pack, "a pack, the form that nodes take"), (RECORDING, "a capture, not a program"), (tmp_path / "tag.hex", "a pack, the form that"),
                       (tmp_path / "tag.map.json", "a source map: give the bundle (.lpnb) or the image (.lpnc) that it lies beside, or the source (.lpn)"),
                       (next(tmp_path.glob("*.s")), "assembly: give the object (.o, of --emit obj), the bundle (.lpnb) or the source (.lpn)"),
                       (next(tmp_path.glob("*.ll")), "LLVM IR: give the object")):
        result = lpnc(command, path, *more)
        assert result.exit_code == 2 and f"{path}: this is {what}" in result.stderr and result.stderr.count("\n") == 1


def test_object_of_another_machine():
    assert "not for eBPF" in refusal("verify", sys.executable)


def test_what_a_processor_made_sure_of_is_missed_without_it(tmp_path, frames):
    path = tmp_path / "x.lpn"
    path.write_text("""header K { bit<8> k; }
        struct headers { K k; }
        parser Rx(packet pkt, out headers h) { state start { transition accept; } }
        processor Make(inout headers h) { apply { h.k.setValid(); } }
        processor Use(inout headers h, inout meta m) { apply { m.port = (bit<16>) h.k.k; m.verdict = DELIVER; } }
        protocol X version 1 { on radio.rx_done : Rx -> Make -> Use; }""")
    assert lpnc("run", path, "--in", frames, "--without", "Use").exit_code == 0
    result = lpnc("run", path, "--in", frames, "--without", "Make")
    assert result.exit_code == 1 and "x.lpn:5:83: error: 'h.k' is not valid here" in result.stderr


def test_a_bundle_that_is_no_longer_whole(tmp_path, frames):
    path = tmp_path / "x.lpnb"
    for octets, told in ((b"", "bundle: the file is empty"), (BUNDLE[:-40], "bundle: it is cut off, build it again"),
                         (BUNDLE.replace(b"Guard", b"Gaurd"), "crc32: the checksum is another one: the bundle is damaged, build it again")):
        path.write_bytes(octets)
        assert told in refusal("run", path, "--in", frames)


def test_what_a_bundle_cannot_do(tmp_path, frames):
    path = tmp_path / "x.lpnb"
    path.write_bytes(BUNDLE)
    assert "cannot run in engine reference: give the program's source" in refusal("run", path, "--in", frames, "--engine", "reference")
    assert "--without needs the program's source" in refusal("run", path, "--in", frames, "--without", "Guard")
    assert "the program's source is needed" in refusal("build", path)
    (tmp_path / "x.lpnc").write_bytes(IMAGE)
    assert "an image alone cannot run" in refusal("run", tmp_path / "x.lpnc", "--in", frames)


# ---------------------------------------------------------------- outputs

@pytest.mark.parametrize("args,why", [
    (["verify", "{}.lpnb", "-O", "s"], ".lpnb: -O needs the program's source"), (["disasm", "{}.lpnb", "-O0"], ".lpnb: -O needs the program's source"),
    (["pack", "{}.lpnb", "-O", "s"], ".lpnb: -O needs the program's source"), (["run", "{}.lpnb", "--in", RECORDING, "-Os"], ".lpnb: -O needs"),
    (["run", "{}.lpnb", "--in", RECORDING, "--tables", "x.json"], ".lpnb: --tables needs the program's source"),
    (["run", "{}.lpnb", "--in", RECORDING, "--state", "-v"], ".lpnb: --state and --verbose need the program's source"),
    (["verify", "{}.lpn", "--record-size", "3"], "--record-size would say what this source says itself"),
    (["verify", "{}.lpnb", "--state-size", "3", "--data-size", "1"], "--state-size and --data-size would say what this bundle says itself"),
    (["verify", "--raw", "95", "--fuse"], "need a program's source, and --raw is bytecode"), (["verify", "--raw", "95", "-O1"], "--raw is bytecode"),
])
def test_no_option_is_passed_over(tag, args, why):
    tag.with_suffix(".lpnb").write_bytes(BUNDLE)
    assert why in refusal(*(arg.format(tag.with_suffix("")) for arg in args))


@pytest.mark.parametrize("args,why", [
    (["run", "{}", "--in", "a.pcap", "--in", "b.pcap"], "run: --in is given twice, and takes one value"),
    (["run", "{}", "--in=a.pcap", "--in=a.pcap"], "run: --in is given twice"), (["build", "{}", "-O0", "-O", "s"], "build: -O is given twice"),
    (["build", "{}", "-o", ""], "-o takes a folder's name"), (["pack", "{}", "-o", ""], "an output without a name"),
    (["run", "{}", "--in", RECORDING, "--out", ""], "an output without a name"),
])
def test_options_that_say_nothing_or_two_things(tag, args, why):
    assert why in refusal(*(arg.format(tag) for arg in args))


def test_an_option_of_several_values_may_be_repeated(tag):
    """And what another option takes is no option."""
    assert lpnc("build", tag, "--emit", "ir", "--emit", "asm", "-o", tag.parent / "out").exit_code == 0
    assert "--in is given twice" not in refusal("run", tag, "--in", "--in")


def test_output_folder_that_is_missing(tag, frames, tmp_path):
    assert "there is no folder" in refusal("run", tag, "--in", frames, "--out", tmp_path / "no" / "y.pcap")
    assert not (tmp_path / "no").exists()


def test_output_that_is_a_folder_or_the_input(tag, frames, tmp_path):
    assert "Is a directory" in refusal("run", tag, "--in", frames, "--out", tmp_path)
    assert "is the capture that is read" in refusal("run", tag, "--in", frames, "--out", frames)


def test_no_output_takes_the_place_of_an_input(tag, frames, tmp_path):
    """`pack -o FILE` and `--out FILE` wrote over the program, what `--out` cannot write was told when all had run."""
    content = {"tables.json": "{}", "x.events": "until 1 s\n", "tag.test": 'test "a" { }\n'}
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    tables, events, test = (tmp_path / name for name in content)
    before = {path: path.read_bytes() for path in (tag, frames, tables, events, test)}
    (tmp_path / "folder").mkdir()
    missing = tmp_path / "no" / "y.pcap"
    run, node = ("run", tag, "--in", frames, "--tables", tables), ("run", tag, "--events", events, "--tables", tables)
    for args, option, targets in ((run, "--out", (tag, tables)), (node, "--out", (tag, events, tables)), (node, "--trace", (tag, events, tables)),
                                  (("pack", tag, "--tables", tables), "-o", (tag, tables)), (("test", test), "--junit", (test,)), (("test", tag), "--junit", (tag,))):
        for target in targets:
            assert refusal(*args, option, target).endswith("that is read")
        assert refusal(*args, option, tmp_path / "folder").endswith("folder: Is a directory")
    assert refusal(*node, "--out", missing) == f"cannot write {missing}: there is no folder {missing.parent}"
    assert {path: path.read_bytes() for path in before} == before
    assert "it is not a folder" in refusal("build", tag, "-o", frames)


def test_build_writes_all_files_or_none(tag, tmp_path):
    (tmp_path / "x" / "tag.map.json").mkdir(parents=True)
    result = lpnc("build", tag, "-o", tmp_path / "x")
    assert result.exit_code == 2 and "tag.map.json: Is a directory" in result.stderr
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["tag.map.json"]


def test_what_is_no_plain_file_is_written_to(tag, tmp_path):
    """Root's `-o /dev/null` took the device's place; a link lost where it leads."""
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to("real")
    reads = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    for path in (fifo, link):
        assert lpnc("pack", tag, "-o", path).exit_code == 0
    assert fifo.is_fifo() and link.is_symlink()
    assert os.read(reads, 1 << 16) == (tmp_path / "real").read_bytes()
    os.close(reads)


# ---------------------------------------------------------------- usage

@pytest.mark.parametrize("args,why", [
    (["chek"], "did you mean check?"), (["--nonsense"], "No such option"), (["run", UDP], "--in"), (["check"], "FILE"),
    (["build", UDP, "--emit", "exe"], "not one of ir, asm, obj, image, bundle"), (["build", UDP, "--target", "arm"], "arm"),
    (["verify"], "one of FILE and --raw"), (["verify", UDP, "--raw", "00"], "one of FILE and --raw"), (["verify", "--raw", "zz"], "neither a file nor hex"),
    (["verify", "--raw", "123"], "no whole bytes"), (["run", "-", "--in", "-"], "cannot both"),
    (["run", UDP, "--in", "x", "--engine", "m4"], "there is no engine 'm4'"), (["run", UDP, "--in", "x", "--compare", "engine,x"], "there is no engine 'x'"),
    (["run", UDP, "--in", "x", "--compare", "engine,engine"], "--compare needs another engine beside engine"),
    (["run", UDP, "--in", "x", "--node-ext", "1:2"], "not an address of 64 bits"), (["run", UDP, "--in", "x", "--node-short", "65536"], "does not fit 16 bits"),
    (["run", UDP, "--in", "x", "--out", "-", "--json"], "no room"), (["build", UDP, "--without", "Rx"], "only processors"),
    (["build", UDP, "--without", "Nobody"], "Rx -> Checksum -> Serve -> Tx"), (["build", UDP, "-o", "-", "--emit", "image"], "takes one file"),
])
def test_usage(args, why):
    assert why in refusal(*args)


def test_a_bug_of_ours_is_one_line(monkeypatch, capsys):
    def bug():
        raise KeyError("some\nthing")
    monkeypatch.delenv("LPN_DEBUG", raising=False)
    assert guard(bug) == 2
    assert capsys.readouterr().err == "lpnc: this is a bug in lpnc: KeyError: 'some\\nthing' (LPN_DEBUG=1 shows where)\n"
    monkeypatch.setenv("LPN_DEBUG", "1")
    with pytest.raises(KeyError):
        guard(bug)


def test_too_little_memory_is_no_bug(capsys):
    assert guard(lambda: len(bytearray(1 << 62))) == 2
    assert capsys.readouterr().err == "lpnc: there is not enough memory\n"


def test_what_a_file_is_instead(tmp_path):
    """A source that is called a bundle, Python among tests, a capture to be formatted."""
    renamed, script = tmp_path / "tag.lpnb", tmp_path / "test_tag.py"
    renamed.write_text(TAG)
    script.write_text("@given\ndef test(): pass\n")
    assert refusal("verify", renamed) == f"{renamed}: this is text, a source (.lpn) perhaps, and not a bundle"
    assert refusal("test", script) == f"{script}: this is Python: run it with python -m pytest"
    done = lpnc("fmt", RECORDING)
    assert done.exit_code == 2 and done.stderr == f"lpnc: {RECORDING}: this is a capture, not a program\n"
    cut = tmp_path / "cut.lpnb"
    cut.write_bytes(BUNDLE[:40])
    assert "this is text" not in refusal("verify", cut)


def test_a_level_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="there is no level '0': there are 0, 1, 2, 's'"):
        make_runner("engine", check(load(Source("tag.lpn", TAG))), level="0")
