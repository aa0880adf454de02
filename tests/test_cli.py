"""The commands of `lpnc` on what they are made for."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from cli import FRAMES, RECORDING, TAG, UDP, lpnc, make_capture
from lpn.compiler import bytecode
from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle
from lpn.compiler.cli import COMMANDS
from lpn.compiler.commands import packets
from lpn.compiler.image import Flag, Image
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.runtime.capture import read

REASONS = ["BadKind", "BadKind", None, None, "PacketTooShort"]


@pytest.fixture
def bundle(tag: Path) -> Path:
    assert lpnc("build", tag, "-o", tag.parent / "built").exit_code == 0
    return tag.parent / "built" / "tag.lpnb"


def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


# ---------------------------------------------------------------- check

def test_check(tag):
    result = lpnc("check", tag, UDP)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "2 files: no errors\n", "")


def test_check_standard_input():
    assert lpnc("check", "-", input=TAG.encode()).exit_code == 0
    result = lpnc("check", "-", input=TAG.replace("verify(h.tag.kind", "verify(h.tag.kin").encode())
    assert result.exit_code == 1
    assert result.stderr.startswith("<stdin>:7:")


def test_check_counts_and_goes_on_after_a_bad_file(tag, tmp_path):
    bad = tmp_path / "bad.lpn"
    bad.write_text(TAG.replace("bit<16> port;", "bit<16> port"))
    result = lpnc("check", bad, tag)
    assert result.exit_code == 1
    assert f"{bad}:2:" in result.stderr and "error:" in result.stderr
    assert result.stdout == "2 files: 1 error, 0 warnings\n"


def test_check_json(tmp_path):
    bad = tmp_path / "bad.lpn"
    bad.write_text(TAG.replace("h.tag.kind == 1", "h.tag.kind == true"))
    result = lpnc("check", "--json", bad)
    assert result.exit_code == 1
    [found] = objects(result.stdout)
    assert (found["file"], found["line"], found["severity"]) == (str(bad), 12, "error")
    assert set(found) == {"file", "line", "column", "end_line", "end_column", "severity", "message", "hints", "notes"}


@pytest.mark.parametrize("command", [["build"], ["pack"], ["verify"], ["run", "--in", RECORDING], ["run", "--events", "-"], ["profile", "--in", RECORDING],
                                     ["fuzz", "--programs", "1"], ["fuzz", "--slowest"]], ids=" ".join)
def test_errors_in_a_source_are_the_objects_of_check(tmp_path, command):
    bad = tmp_path / "bad.lpn"
    bad.write_text(TAG.replace("h.tag.kind == 1", "h.tag.kind == true").replace("base[1]", "bass[1]"))
    result = lpnc(*command, bad, "--json", input=b"until 1 s\n")
    assert (result.exit_code, result.stdout, result.stderr) == (1, lpnc("check", "--json", bad).stdout, "")
    assert len(objects(result.stdout)) == 2
    missing = lpnc(*command, tmp_path / "missing.lpn", "--json", input=b"until 1 s\n")
    if "--slowest" in command:                  # a file that is not there is no value of the option
        assert missing.exit_code == 2 and missing.stdout == "" and "missing.lpn" in missing.stderr
    else:
        assert (missing.exit_code, missing.stdout, missing.stderr) == (2, lpnc("check", "--json", tmp_path / "missing.lpn").stdout, "")
        assert "No such file" in objects(missing.stdout)[0]["message"]


@pytest.mark.parametrize("command", [["build"], ["pack"], ["verify"], ["run", "--in", RECORDING], ["run", "--events", "-"], ["profile", "--in", RECORDING],
                                     ["fuzz", "--programs", "1"], ["fuzz", "--slowest"]], ids=" ".join)
@pytest.mark.parametrize("content, status, said", [(TAG.encode("utf-16"), 2, "it is not UTF-8 text (byte 0)"), (b"", 1, "the program has no"), (b"// nothing\n", 1, "")],
                         ids=["utf-16", "empty", "comment"])
def test_what_is_wrong_with_a_program_is_an_object_without_a_place(tmp_path, command, content, status, said):
    bad = tmp_path / "bad.lpn"
    bad.write_bytes(content)
    result = lpnc(*command, bad, "--json", input=b"until 1 s\n")
    assert (result.exit_code, result.stderr) == (status, "")
    [found] = objects(result.stdout)
    assert (found["file"], found["line"], found["severity"]) == (str(bad), None, "error")
    assert said in found["message"] or command == ["run", "--events", "-"] and "nothing runs" in found["message"]
    assert said in (text := lpnc(*command, bad, input=b"until 1 s\n").stderr) or "nothing runs" in text


# ---------------------------------------------------------------- build

def test_build_makes_bundle_and_map(bundle):
    assert sorted(p.name for p in bundle.parent.iterdir()) == ["tag.lpnb", "tag.map.json"]
    made = Bundle.from_bytes(bundle.read_bytes())
    assert made.chain == ("Rx", "Guard", "Work", "Tx") and made.protocol == "TagProtocol"
    rows = json.loads(bundle.with_name("tag.map.json").read_text())["modules"]
    assert set(rows) == set(made.chain)
    assert {file for each in rows.values() for _, file, _ in each} == {str(bundle.parent.parent / "tag.lpn")}


def test_build_table(tag, tmp_path):
    result = lpnc("build", tag, "-o", tmp_path / "x")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["module", "kind", "instructions", "stack", "image", "bytes"]
    assert [line.split()[0] for line in lines[1:6]] == ["Rx", "Guard", "Work", "Tx", "all"]
    assert lines[6].startswith("wrote ")


def test_build_json(tag, tmp_path):
    modules = objects(lpnc("build", tag, "--json", "-o", tmp_path / "x", "--emit", "image").stdout)
    assert [m["name"] for m in modules] == ["Rx", "Guard", "Work", "Tx"]
    for m in modules:
        assert m["accepted"] and m["image_bytes"] == (tmp_path / "x" / f"{m['name']}.lpnc").stat().st_size


def test_build_writes_what_the_verifier_found_into_the_image(tag, tmp_path):
    lpnc("build", tag, "-o", tmp_path, "--emit", "image")
    image = Image.from_bytes((tmp_path / "Rx.lpnc").read_bytes())
    found = objects(lpnc("verify", "--json", tmp_path / "Rx.lpnc").stdout)[0]
    assert image.stack_used == found["stack"]
    assert bool(image.flags & Flag.CLEAN32) == found["clean32"]


@pytest.mark.parametrize("emit", [["--emit", "ir,asm,obj"], ["--emit", "ir", "--emit", "asm", "--emit", "obj"]])
def test_build_all_forms_fused(tag, tmp_path, emit):
    assert lpnc("build", tag, "--fuse", "-o", tmp_path / "x", *emit).exit_code == 0
    files = {p.name: p.read_bytes() for p in (tmp_path / "x").iterdir()}
    assert set(files) == {f"TagProtocol.radio.rx_done.{suffix}" for suffix in ("ll", "s", "o")}
    assert b"define" in files["TagProtocol.radio.rx_done.ll"] and files["TagProtocol.radio.rx_done.o"][:4] == b"\x7fELF"


def test_build_to_standard_output(tag):
    result = lpnc("build", tag, "-o", "-")
    assert result.exit_code == 0
    assert Bundle.from_bytes(result.stdout_bytes).protocol == "TagProtocol"


def test_build_is_reproducible(tag, monkeypatch):
    """Made anew, not what was kept."""
    monkeypatch.delenv(bytecode.FOLDER, raising=False)

    def built() -> bytes:
        bytecode.forget()
        return lpnc("build", tag, "-o", "-").stdout_bytes

    assert built() == built()


def test_build_without_a_processor(tag, tmp_path):
    assert lpnc("build", tag, "--without", "Guard", "-o", tmp_path).exit_code == 0
    assert Bundle.from_bytes((tmp_path / "tag.lpnb").read_bytes()).chain == ("Rx", "Work", "Tx")


def test_build_refuses_what_the_verifier_refuses(tag, tmp_path, monkeypatch):
    """A container that breaks a rule is not written; the message names the line of the program."""
    from lpn.compiler import judge
    compiled = judge.compile_program

    def broken(*args, **more):
        result = compiled(*args, **more)
        image = result.containers[0].image
        object.__setattr__(image, "text", b"\xff" + image.text[1:])
        return result
    monkeypatch.setattr(judge, "compile_program", broken)
    result = lpnc("build", tag, "-o", tmp_path / "x")
    assert result.exit_code == 1
    assert "rule 2" in result.stderr and "nothing is written" in result.stderr
    assert not (tmp_path / "x").exists()


# ---------------------------------------------------------------- verify

FIELDS = {"accepted", "rule", "message", "line", "insn", "stack", "insns", "wcet_cycles", "certificate_bytes"}
RETURN_0 = "b7 00 00 00 00 00 00 00  95 00 00 00 00 00 00 00"


def test_verify_source_bundle_and_image_say_the_same(tag, bundle):
    lpnc("build", tag, "--emit", "image", "-o", bundle.parent)
    source = objects(lpnc("verify", "--json", tag).stdout)
    assert source == objects(lpnc("verify", "--json", bundle).stdout)
    alone = objects(lpnc("verify", "--json", bundle.with_name("Guard.lpnc")).stdout)
    assert alone[0].pop("hooks") == [] and source[1].pop("hooks")[0]["chain"][1] == "Guard"     # an image does not know its chain
    assert source[1:2] == alone
    assert all(m["accepted"] and FIELDS <= set(m) for m in source)


def test_verify_table(tag):
    result = lpnc("verify", tag)
    assert result.exit_code == 0
    assert "cycles" in result.stdout and result.stdout.endswith("4 modules: all accepted\n")


def test_verify_object(tag, tmp_path):
    lpnc("build", tag, "--emit", "obj", "-o", tmp_path)
    result = lpnc("verify", "--json", tmp_path / "Guard.o", "--record-size", "64", "--state-size", "64")
    assert (result.exit_code, objects(result.stdout)[0]["accepted"]) == (0, True)


def test_verify_object_with_writable_text(tag, tmp_path):
    """Rule 12: the flag is set in the section header of the code."""
    lpnc("build", tag, "--emit", "obj", "-o", tmp_path)
    data = bytearray((tmp_path / "Guard.o").read_bytes())
    elf = ELFFile(BytesIO(bytes(data)))
    [index] = [i for i, s in enumerate(elf.iter_sections()) if s["sh_flags"] & 4 and s["sh_size"]]
    data[elf["e_shoff"] + index * elf["e_shentsize"] + 8] |= 1                  # sh_flags: SHF_WRITE
    (tmp_path / "w.o").write_bytes(data)
    result = lpnc("verify", "--json", tmp_path / "w.o", "--record-size", "64", "--state-size", "64")
    [found] = objects(result.stdout)
    assert (result.exit_code, found["rule"], found["help"]) == (1, 12, "mark it read-only")


def test_verify_says_how_it_comes_to_that(tmp_path):
    """Line 3 divides by what line 1 reads, when line 2 does not jump."""
    code = "r2 = *(u32 *)(r1 + 52)\nr0 = 1\nif r2 > 7 goto E\nw0 /= w2\nE: exit"
    result = lpnc("verify", "--json", "--raw", assemble(code).hex())
    [found] = objects(result.stdout)
    assert (result.exit_code, found["rule"], found["insn"], found["line"]) == (1, 28, 3, None)
    assert (found["example"], found["help"]) == ("when r2 is 0, this divides by it", "compare it with 0 first")
    assert found["path"] == [{"insn": 0, "line": None}, {"insn": 3, "line": None}]
    shown = lpnc("verify", "--raw", assemble(code).hex()).stdout
    assert "  for example: when r2 is 0, this divides by it\n  on the path: slot 0 -> 3\n  help: compare it with 0 first\n" in shown


def test_verify_raw(tmp_path):
    (tmp_path / "bytes").write_bytes(bytes.fromhex(RETURN_0))
    (tmp_path / "hex").write_text(RETURN_0 + "\n")
    for given, more in ((RETURN_0, {}), ("0x" + RETURN_0.replace(" ", ""), {}), (str(tmp_path / "bytes"), {}),
                        (str(tmp_path / "hex"), {}), ("-", {"input": bytes.fromhex(RETURN_0)}), ("-", {"input": RETURN_0.encode()})):
        for profile in ("lpn", "xdp", "femto"):
            result = lpnc("verify", "--json", "--raw", given, "--profile", profile, **more)
            assert (result.exit_code, objects(result.stdout)[0]["insns"]) == (0, 2)


@pytest.mark.parametrize("raw,rule", [("", 1), ("95", 1), ("95 00 00 00 00 00 00 00", 14), ("ff 00 00 00 00 00 00 00" + RETURN_0, 2)])
def test_verify_raw_rejected(raw, rule):
    result = lpnc("verify", "--json", "--raw", raw)
    [found] = objects(result.stdout)
    assert (result.exit_code, found["accepted"], found["rule"]) == (1, False, rule)
    assert f"rule {rule}" in lpnc("verify", "--raw", raw).stdout


def test_rejection_names_the_line_of_the_map(tag, bundle):
    """The map beside a bundle turns an instruction into a line."""
    made = Bundle.from_bytes(bundle.read_bytes())
    guard = made.module("Guard")
    object.__setattr__(guard, "text", guard.text[:-8] + b"\xff" + bytes(7))
    bundle.write_bytes(made.to_bytes())
    result = lpnc("verify", bundle)
    assert result.exit_code == 1
    assert f"{tag}:12" in result.stdout and "if (h.tag.kind == 1)" in result.stdout
    assert objects(lpnc("verify", "--json", bundle).stdout)[1]["line"] == 12
    bundle.with_name("tag.map.json").write_text("[]")
    result = lpnc("verify", bundle)
    assert result.exit_code == 1 and "not a source map" in result.stderr and "Guard: rejected" in result.stdout


# ---------------------------------------------------------------- run

def test_run_json(tag, frames):
    rows = objects(lpnc("run", tag, "--in", frames, "--json").stdout)
    assert [set(row) for row in rows] == [{"frame", "verdict", "reason", "port", "out", "insns"}] * 5
    assert [row["frame"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["verdict"] for row in rows] == ["DROP", "DROP", "DELIVER", "TRANSMIT", "DROP"]
    assert [row["reason"] for row in rows] == REASONS
    assert [row["port"] for row in rows] == [None, None, 0x1234, None, None]
    assert [row["out"] for row in rows] == [None, None, None, "03000078797a", None]
    assert all(row["insns"] > 0 for row in rows)


def test_run_bundle_is_run_source(tag, bundle, frames):
    assert lpnc("run", bundle, "--in", frames, "--json").stdout == lpnc("run", tag, "--in", frames, "--json").stdout


@pytest.mark.parametrize("hook", ["app.tx.5683", "net.tx.41.6"])
def test_another_chain_takes_the_frames(tag, frames, hook):
    """The one that takes such a packet; sources, bundles and the profile know hooks by the same names."""
    received = objects(lpnc("run", tag, "--in", frames, "--json").stdout)
    tag.write_text(TAG.replace("protocol", "// protocol") + """
processor Other(inout meta m) { apply { m.port = 9; m.verdict = DELIVER; } }
protocol P version 1 { on app.tx(5683) : Rx -> Guard -> Work -> Tx; on net.tx(41) : Rx -> Guard -> Work -> Tx; on app.tx : Rx -> Other; }
""")
    rows = objects(lpnc("run", tag, "--in", frames, "--hook", hook, "--json", "--compare", "engine,reference").stdout)
    assert [{name: value for name, value in row.items() if name in received[0]} for row in rows] == received
    assert {row["port"] for row in objects(lpnc("run", tag, "--in", frames, "--hook", "app.tx", "--json").stdout)} == {9, None}
    assert lpnc("build", tag, "-o", tag.parent).exit_code == 0
    assert objects(lpnc("run", tag.with_suffix(".lpnb"), "--in", frames, "--hook", hook, "--json").stdout) == received
    assert "tag: Tag" in lpnc("run", tag, "--in", frames, "--hook", hook, "-v").stdout


def test_run_reference_has_no_instructions(tag, frames):
    rows = objects(lpnc("run", tag, "--in", frames, "--json", "--engine", "reference").stdout)
    assert [row["reason"] for row in rows] == REASONS
    assert all(row["insns"] is None for row in rows)


def test_run_table(tag, frames):
    lines = lpnc("run", tag, "--in", frames).stdout.splitlines()
    assert lines[0].split() == ["frame", "time", "bytes", "verdict", "reason", "port", "insns", "packet"]
    assert lines[3].split()[:5] == ["3", "2.000000", "6", "DELIVER", "4660"]
    assert lines[7:9] == ["5 frames: 3 DROP, 1 DELIVER, 1 TRANSMIT", "dropped: 2 BadKind, 1 PacketTooShort"]


def test_run_tables_file(tag, frames, tmp_path):
    tables = tmp_path / "tables.json"
    tables.write_text('{"base": {"0": 1, "1": 258}}')
    rows = objects(lpnc("run", tag, "--in", frames, "--tables", tables, "--json").stdout)
    assert (rows[2]["port"], rows[3]["out"]) == (0x1235, "03010278797a")


def test_run_out(tag, frames, tmp_path):
    assert lpnc("run", tag, "--in", frames, "--out", tmp_path / "out.pcap").exit_code == 0
    [frame] = read(tmp_path / "out.pcap")
    assert (frame.data, frame.time_us, frame.linktype) == (b"\3\0\0xyz", 4_000_000, 230)
    result = lpnc("run", tag, "--in", frames, "--out", "-")
    assert result.stdout_bytes == (tmp_path / "out.pcap").read_bytes()


def test_run_out_of_datagrams_is_raw_ipv6(tmp_path):
    program = tmp_path / "copy.lpn"
    program.write_text(TAG.replace("h.tag.kind == 3", "h.tag.kind == 0x60").replace("h.tag.port = base[1];", ""))
    datagram = b"\x60" + bytes(4) + b"\2" + bytes(34) + b"hi"
    out = tmp_path / "out.pcap"
    lpnc("run", program, "--in", make_capture(tmp_path / "in.pcap", [datagram]), "--out", out)
    [frame] = read(out)
    assert (frame.data, frame.linktype) == (datagram, 229)
    lpnc("run", program, "--in", tmp_path / "in.pcap", "--out", out, "--out-linktype", "230")
    assert next(read(out)).linktype == 230


def test_run_compare(tag, frames):
    result = lpnc("run", tag, "--in", frames, "--compare", "engine,reference")
    assert result.exit_code == 0
    assert result.stdout.endswith("engine, reference agree in all 5 frames\n")
    rows = objects(lpnc("run", tag, "--in", frames, "--compare", "engine,reference", "--json").stdout)
    assert all(row["agree"] and set(row["engines"]) == {"engine", "reference"} for row in rows)


def test_a_packet_that_no_engine_takes_is_dropped_in_the_reference_too(tag, tmp_path):
    capture = make_capture(tmp_path / "long.pcap", [b"\2\x12\x34" + bytes(size - 3) for size in (2048, 2049)])
    rows = objects(lpnc("run", tag, "--in", capture, "--json", "--compare", "engine,reference,rbpf").stdout)
    assert [(row["verdict"], row.get("reason")) for row in rows[:2]] == [("DELIVER", None), ("DROP", "engine: packet too long")]
    assert all(row["agree"] for row in rows[:2])


def test_run_compare_differing(tag, frames, monkeypatch):
    from lpn.lang.reference import Reference, Result
    monkeypatch.setattr(Reference, "run", lambda *a: Result("ACCEPT"))
    result = lpnc("run", tag, "--in", frames, "--compare", "engine,reference")
    assert result.exit_code == 1
    assert "differ in 5 of 5 frames" in result.stdout
    rows = objects(lpnc("run", tag, "--in", frames, "--compare", "engine,reference", "--json").stdout)
    assert [row["agree"] for row in rows] == [False] * 5


def test_run_without_a_processor(tag, frames):
    rows = objects(lpnc("run", tag, "--in", frames, "--without", "Guard", "--json").stdout)
    assert rows[1]["verdict"] == "DELIVER"


def test_run_limit_and_verbose(tag, frames):
    result = lpnc("run", tag, "--in", frames, "--limit", "3", "-v")
    assert "frame 3: DELIVER port 4660" in result.stdout and "tag: Tag, bytes 0 to 2" in result.stdout
    assert "frame 4" not in result.stdout and "3 frames: " in result.stdout


def test_run_node_and_meta(tmp_path):
    program = tmp_path / "node.lpn"
    program.write_text(TAG.replace("h.tag.port + base[0]", "node.short").replace("base[1]", "node.ext[63:48]"))
    capture = make_capture(tmp_path / "in.pcap")
    rows = objects(lpnc("run", program, "--in", capture, "--json", "--node-short", "0xbeef", "--node-ext", "02:4c:00:00:00:00:00:01").stdout)
    assert (rows[2]["port"], rows[3]["out"][:6]) == (0xBEEF, "03024c")


def test_frames_the_radio_drops_never_reach_the_program(tag, tmp_path):
    from lpn.runtime.capture import Writer
    with Writer(tmp_path / "x.pcap", 195) as writer:
        writer.add(FRAMES[2])
        writer.add_verbatim(FRAMES[2] + b"\0\0")
        writer.add_verbatim(b"\2")
    rows = objects(lpnc("run", tag, "--in", tmp_path / "x.pcap", "--json").stdout)
    assert [(row["verdict"], row["reason"]) for row in rows] == [("DELIVER", None), ("DROP", "Fcs"), ("DROP", "NotFrame")]
    assert rows[1]["insns"] == 0


def test_the_udp_example(tmp_path):
    rows = objects(lpnc("run", UDP, "--in", RECORDING, "--json").stdout)
    assert len(rows) == 277
    assert [row["frame"] for row in rows if row["reason"] == "Fcs"] == [260, 276]
    assert [row["frame"] for row in rows if row["reason"] == "BadChecksum"] == [256, 258, 271, 274]
    fused = objects(lpnc("run", UDP, "--in", RECORDING, "--json", "--fuse").stdout)
    assert [row | {"insns": 0} for row in rows] == [row | {"insns": 0} for row in fused]
    assert sum(row["insns"] for row in fused) < sum(row["insns"] for row in rows)
    assert "2001:db8::2.50003 > 2001:db8::1.7" in lpnc("run", UDP, "--in", RECORDING).stdout


# ---------------------------------------------------------------- the others

def test_disasm(tag, bundle):
    text = lpnc("disasm", tag).stdout
    assert f"; {tag}:12  apply {{ if (h.tag.kind == 1)" in text and "; Guard (processor): " in text and "exit" in text
    assert lpnc("disasm", bundle).stdout == text
    bare = lpnc("disasm", bundle, "--no-source", "--module", "Guard").stdout
    assert str(tag) not in bare and "; Rx" not in bare


def test_lines_name_files_of_the_same_name_apart():
    """examples/udp/udp.lpn and std/udp.lpn."""
    text = lpnc("disasm", UDP).stdout
    assert f"; {UDP}:49  if (!h.udp.holds())" in text and "; std/checksum.lpn:" in text and "; udp.lpn:" not in text


def test_behind_a_call_lines_are_the_callers_again(tmp_path):
    (tmp_path / "x.lpn").write_text("""header H { bit<8> a; bit<16> b; }
struct headers { H h; }
register<bit<16>>[8] cells;
function bit<8> twice(bit<8> x) {
    return x * 2;
}
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) {
    apply { h.h.b = cells[twice(h.h.a)]; }
}
""")
    _, inside, behind = lpnc("disasm", tmp_path / "x.lpn", "--module", "P").stdout.rpartition("return x * 2;")
    assert inside and "x.lpn:9  apply { h.h.b" in behind


def test_engines():
    found = {row["engine"]: row for row in objects(lpnc("engines", "--json").stdout)}
    assert found["reference"]["available"] and found["engine"]["available"]
    assert all(row["available"] == (row["why_not"] is None) for row in found.values())


@pytest.mark.parametrize("command", ["check", "build", "verify", "run", "disasm", "engines"])
def test_help_has_examples(command):
    result = lpnc(command, "--help")
    assert result.exit_code == 0 and "Usage: lpnc " + command in result.stdout
    assert command == "engines" or f"  lpnc {command} " in result.stdout


def test_top_level():
    assert lpnc("--version").stdout.startswith("lpnc, version ")
    text = lpnc("--help").stdout
    assert all(word in text for word in ("check", "build", "verify", "run", "disasm", "Exit status"))
    assert set(COMMANDS) >= {"check", "build", "verify", "run", "disasm", "engines"}
    assert lpnc().exit_code == 2


def test_demo(capsys):
    from lpn.compiler import demo
    assert demo.main() == 0
    text = capsys.readouterr().out
    for words in ("Rx ", "chain without Checksum", "fused", "TRANSMIT", "BadChecksum", "277 frames", "lpnc run", "112 DELIVER instead of 108"):
        assert words in text


# ---------------------------------------------------------------- what is not sent

REFLECTS = """header H { bit<8> a; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { h.h.a = 3; m.verdict = TRANSMIT; } }
protocol X version 1 { on radio.rx_done : Rx -> P; }
"""


def test_a_chain_without_a_deparser_sends_nothing_on_a_node(tmp_path):
    """The kernel sends the packet as it came: of a program for it, and by check, which knows of no target, nothing is said."""
    file, capture = tmp_path / "x.lpn", tmp_path / "x.pcap"
    file.write_text(REFLECTS)
    make_capture(capture, FRAMES)
    told = "4:65: warning: a node sends nothing here: the chain of radio.rx_done has no deparser"
    ran = lpnc("run", file, "--in", capture)
    assert told in ran.stderr and "help: put one behind it: Rx -> P -> Tx" in ran.stderr
    assert f"not sent: {len(FRAMES)} TRANSMIT, without a deparser there is no packet" in ran.stdout
    for target, warned in (("lpn", True), ("femto", True), ("xdp", False)):
        built = lpnc("build", file, "--target", target, "-o", tmp_path / target)
        assert built.exit_code == 0 and (told in built.stderr) == warned, target
    assert lpnc("check", file).stderr == ""
    sends = REFLECTS.replace("protocol", "deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }\nprotocol").replace("-> P;", "-> P -> Tx;")
    file.write_text(sends)
    ran = lpnc("run", file, "--in", capture)
    assert ran.stderr == "" and "not sent" not in ran.stdout


# ---------------------------------------------------------------- captures of something else

@pytest.mark.parametrize("linktype,told", [(1, "link type 1 (Ethernet)"), (101, "link type 229 (raw IPv6)"), (230, None)])
def test_a_capture_without_frames_is_told(tag, tmp_path, linktype, told):
    """Where all of it was dropped: the chain of radio.rx_done may take datagrams, too."""
    capture = make_capture(tmp_path / "x.pcap", [b"\x60" + bytes(39)] * 2, linktype)
    drops = tmp_path / "drops.lpn"
    drops.write_text(TAG.replace("== 1)", "== 0x60)"))
    line = "this capture has no 802.15.4 frames: what it has is of "
    said = lpnc("run", drops, "--in", capture).stdout
    assert line + told in said if told else line not in said
    assert (line in lpnc("run", tag, "--in", capture).stdout) == (linktype == 1)


def test_a_capture_without_frames_is_told_where_frames_are_taken(tmp_path):
    """A chain that begins with the library's frame header, also where it took what was none."""
    capture = make_capture(tmp_path / "x.pcap", [b"\x41\x88" + bytes(39)] * 2, 229)
    file = tmp_path / "frames.lpn"
    file.write_text("""import std.ieee802154;
struct headers { Mhr mac; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.mac); transition accept; } }
processor P(inout headers h, inout meta m) { apply { m.verdict = CONSUMED; } }
protocol X version 1 { on radio.rx_done : Rx -> P; }
""")
    line = "this capture has no 802.15.4 frames: what it has is of link type 229 (raw IPv6)"
    said = lpnc("run", file, "--in", capture).stdout
    assert "2 CONSUMED" in said and line in said
    assert line not in lpnc("run", file, "--in", make_capture(tmp_path / "y.pcap", [b"\x41\x88" + bytes(39)] * 2, 230)).stdout


def test_tables_come_from_standard_input(tmp_path):
    """Also where several versions of a program are given them."""
    for version in (1, 2):
        (tmp_path / f"v{version}.lpn").write_text(TAG.replace("version 1", f"version {version}"))
    make_capture(tmp_path / "x.pcap")
    (tmp_path / "x.events").write_text("1 ms air 02 0001\n2 ms replace v2.lpn\n3 ms air 02 0001\nuntil 9 ms\n")
    program, tables = str(tmp_path / "v1.lpn"), '{"base": {"0": 5}}'
    frames = ["--in", str(tmp_path / "x.pcap"), "--tables", "-", "--json"]
    assert lpnc("run", program, *frames, input=tables).stdout == lpnc("run", program, *frames[:-2], file_of(tmp_path, tables), "--json").stdout != ""
    lived = lpnc("run", program, "--events", str(tmp_path / "x.events"), "--tables", "-", input=tables)
    assert lived.exit_code == 0 and lived.stdout.count("DELIVER 6") == 2, lived.output
    assert lpnc("pack", program, "--tables", "-", "-o", str(tmp_path / "x.lpnn"), input=tables).exit_code == 0
    assert "standard input: not JSON" in lpnc("run", program, *frames, input="{").output
    for args in (["-", "--in", str(tmp_path / "x.pcap")], [program, "--in", "-"], [program, "--events", "-"]):
        refused = lpnc("run", *args, "--tables", "-", input=TAG if args[0] == "-" else "")
        assert refused.exit_code == 2 and "and the tables cannot both be on standard input" in refused.output, refused.output


def file_of(folder, text):
    (folder / "tables.json").write_text(text)
    return str(folder / "tables.json")


@pytest.mark.parametrize("headers, packet, said", [
    ("header H { bit<8> kind; bit<64> src; bit<64> dst; }", "01" + 7 * "00" + "01" + 7 * "00" + "02", "00:00:00:00:00:00:00:01 > 00:00:00:00:00:00:00:02"),
    ("header H { word le<16> { bit<8> src; bit<8> dst; } }", "0102", "0x01 > 0x02"),
    ("header H { bit<8> kind; bit<8> sender; }", "0102", ""),
])
def test_who_sends_to_whom_is_asked_of_headers_that_say_it(monkeypatch: pytest.MonkeyPatch, headers: str, packet: str, said: str) -> None:
    """Of other programs no packet is parsed once more."""
    parsed: list[bytes] = []
    whole = packets.run_module
    monkeypatch.setattr(packets, "run_module", lambda run, module: parsed.append(run.packet.data) or whole(run, module))
    program = check(load(Source("ends.lpn", headers + """ struct headers { H[2] h; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h.next); transition accept; } }""")))
    assert packets.Describer(program).describe(bytes.fromhex(packet), {}) == said and bool(parsed) == bool(said)
