"""A program takes another's place: what is kept, what is migrated, what is refused; the same in every engine."""
from __future__ import annotations

import json
import re
import struct
from dataclasses import replace as with_
from pathlib import Path

import pytest
from cli import lpnc
from engine_isa import EXIT, insn, mov
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Bundle, BundleError
from lpn.compiler.commands.engines import missing
from lpn.compiler.fuzz.differential import cells, compiled_cells
from lpn.compiler.image import Flag
from lpn.compiler.kept import Kept, KeptTable
from lpn.compiler.runner import make_runner
from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.persist import Migration, plan
from lpn.lang.source import Source
from lpn.runtime.capture import Writer
from lpn.runtime.engine.native import open_engine
from lpn.runtime.engines import EngineError, get_engine
from lpn.runtime.replace import CARRY_ALL, CARRY_NEW, CARRY_SAME, carried, replace
from lpn.verifier import LPN
from lpn.verifier.certify import Sizes, certificate_of
from lpn.verifier.verify import analyse

ENGINES = ("reference", "engine", "rbpf", pytest.param("m3", marks=pytest.mark.skipif(missing("m3") is not None, reason="no emulated core")))
HEAD = """
header H { bit<8> a; bit<16> b; }
struct headers { H h; }
struct Pair { bit<16> id; bool on; }
struct Peer { bit<32> id; bool on; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
"""


def program(state: str, apply: str, version: int, more: str = "") -> ast.Program:
    text = f"""{HEAD} {state}
    processor P(inout headers h, inout meta m) {{ {more} apply {{ {apply} }} }}
    protocol X version {version} {{ on radio.rx_done : Rx -> P -> Tx; }}"""
    return check(load(Source("replace.lpn", text)))


OLD = program("persistent register<bit<16>> total; persistent register<Pair>[3] pairs; register<bit<8>> plain;",
              "total = total + 1; plain = plain + 1; seen[h.h.a] = seen[h.h.a] + h.h.b; pairs[h.h.a].id = total; pairs[h.h.a].on = true;", 1,
              "persistent register<bit<16>>[3] seen;")
NEW = program("""register<bit<8>> plain; persistent register<bit<8>> fresh; persistent register<Pair>[3] pairs; persistent register<bit<32>> total;
              function bit<32> wide(bit<16> x) { return (bit<32>) x; }
              migrate version 1 {
                  register<bit<16>> total;
                  register<Pair>[3] pairs;
                  total = 0x10000 + wide(old.total);
                  for (i in 0..3) { if (old.pairs[i].on) { fresh = fresh + 1; } }
                  if (fresh > 2) { return; }
                  fresh = 99;
              }""",
              "h.h.b = total[15:0] + pairs[h.h.a].id + seen[h.h.a][15:0]; h.h.a = fresh + plain;", 2,
              """persistent register<bit<32>>[3] seen;
              migrate version 1 { register<bit<16>>[3] seen; for (i in 0..3) { seen[i] = wide(old.seen[i]) + 7; } }
              migrate version 0 { seen[0] = 1; }""")


def frames(*pairs: tuple[int, int]) -> list[bytes]:
    return [struct.pack(">BH", a, b) for a, b in pairs]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fuse", [False, True])
def test_kept_and_migrated(engine: str, fuse: bool) -> None:
    old, new = make_runner(engine, OLD, fuse=fuse), make_runner(engine, NEW, fuse=fuse)
    for frame in frames((0, 10), (1, 20), (0, 30)):
        old.run(frame)
    plan = new.replace(old)
    assert plan.kept == ("pairs",) and [m.name for m in plan.migrations] == ["migrate.1", "P.migrate.1"]
    # total 0x10003, two pairs are on, so fresh is 99; seen[0] 47, its pair's id 3
    assert new.run(frames((0, 0))[0]).out == struct.pack(">BH", 99, 3 + 3 + 47)
    assert old.run(frames((0, 0))[0]).verdict == "ACCEPT"             # the old one is as it was


STRUCTS = """header H { bit<8> a; bit<16> b; }
struct headers { H h; }
struct PeerOfVersion1 { bit<16> seen; bool known; }
struct Peer { bit<32> seen; bool known; bit<8> quality; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
persistent register<Peer>[4] peers;
migrate version 1 {
    register<PeerOfVersion1>[2] peers;
    for (i in 0..2) { peers[i] = { (bit<32>) old.peers[i].seen + 0x1_0000, old.peers[i].known, 255 }; }
}
processor P(inout headers h, inout meta m) {
    apply { h.h.b = (bit<16>) (peers[h.h.a].seen >> 8) | (bit<16>) peers[h.h.a].quality; if (peers[h.h.a].known) { h.h.a = 9; } }
}
protocol X version 2 { on radio.rx_done : Rx -> P -> Tx; }
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_of_structs_are_migrated_cell_by_cell(engine: str) -> None:
    """With a list, as docs/language.md has it; the cells that the old version had not begin anew."""
    old = check(load(Source("old.lpn", STRUCTS[:STRUCTS.index("migrate")].replace("PeerOfVersion1", "Peer", 1).replace(
        "struct Peer { bit<32> seen; bool known; bit<8> quality; }\n", "").replace("[4]", "[2]") + """
        processor P(inout headers h, inout meta m) { apply { peers[h.h.a].seen = h.h.b; peers[h.h.a].known = true; } }
        protocol X version 1 { on radio.rx_done : Rx -> P; }""")))
    before, after = make_runner(engine, old), make_runner(engine, check(load(Source("new.lpn", STRUCTS))))
    before.run(frames((1, 0x300))[0])
    assert after.replace(before).kept == ()
    assert [after.run(one).out for one in frames((0, 0), (1, 0), (3, 0))] == frames((0, 0x1ff), (9, 0x1ff | 0x103), (3, 0))


@pytest.mark.parametrize("engine", ENGINES)
def test_each_file_migrates_its_own(engine: str, tmp_path: Path) -> None:
    """A library that keeps state, and the program around it; the later block reads what the earlier one has made."""
    (tmp_path / "lib.lpn").write_text("""persistent register<bit<32>> a;
        migrate version 1 { register<bit<16>> a; if (old.a == 0) { a = 77; return; } a = (bit<32>) old.a + 0x10000; }""")
    (tmp_path / "new.lpn").write_text(f"""import lib; {HEAD}
        persistent register<bit<32>> b;
        migrate version 1 {{ register<bit<8>> b; register<bit<16>> a; b = (bit<32>) old.b + a + (bit<32>) old.a; }}
        processor P(inout headers h, inout meta m) {{ apply {{ h.h.a = a[23:16]; h.h.b = b[15:0]; }} }}
        protocol X version 2 {{ on radio.rx_done : Rx -> P -> Tx; }}""")
    old = program("persistent register<bit<16>> a; persistent register<bit<8>> b;", "a = a + h.h.b; b = b + h.h.a;", 1)
    before, after = make_runner(engine, old), make_runner(engine, check(load(tmp_path / "new.lpn")))
    before.run(frames((5, 300))[0])
    assert [m.name for m in after.replace(before).migrations] == ["migrate.1", "migrate.1_2"]
    assert after.run(frames((0, 0))[0]).out == struct.pack(">BH", 1, 5 + 300 + 300)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_kept_is_refused_by_name(engine: str) -> None:
    old = make_runner(engine, OLD)
    changed = make_runner(engine, program("persistent register<bit<32>> total;", "", 2))
    with pytest.raises(EngineError, match=r"persistent register 'total' is bit<32>, and in version 1, which runs, it is bit<16>: write migrate version 1"):
        changed.replace(old)
    several = make_runner(engine, program("persistent register<bit<32>> total; persistent register<bit<8>>[3] pairs;", "", 2))
    with pytest.raises(EngineError, match="or give it another name; pairs changed, too, and begins anew where no migration says otherwise"):
        several.replace(old)
    missing = make_runner(engine, program("migrate version 1 { register<bit<8>> plain; }", "", 2))
    with pytest.raises(EngineError, match=r"migrate version 1 reads register 'plain', and version 1 keeps no such register \(it keeps total, pairs, P.seen\)"):
        missing.replace(old)
    other = make_runner(engine, program("migrate version 1 { register<Peer>[3] pairs; }", "", 2))
    with pytest.raises(EngineError, match=r"reads register 'pairs' as {id: bit<32>, on: bool}\[3\], and in version 1 it is {id: bit<16>, on: bool}\[3\]"):
        other.replace(old)


@pytest.mark.parametrize("was, becomes", [("bit<32>", "bit<16>"), ("bit<16>", "bit<32>"), ("int<8>", "int<16>"), ("bit<128>", "bit<8>")])
@pytest.mark.parametrize("module", [False, True])
@pytest.mark.parametrize("older, newer", [(1, 2), (2, 1), (2, 2), (1, 0)])
def test_what_is_advised_works(was: str, becomes: str, module: bool, older: int, newer: int) -> None:
    """The advice of a refusal, put into the program as it stands there, is all that was missing; on the way back to an earlier version, too."""
    def version(type_: str, number: int, migrate: str = "") -> ast.Program:
        state = f"persistent register<{type_}> total; {migrate}"
        return program("" if module else state, "total = 1;", number, state if module else "")

    old = make_runner("reference", version(was, older))
    with pytest.raises(EngineError) as caught:
        make_runner("reference", version(becomes, newer)).replace(old)
    advice = re.search(r"(give the new program a version of its own and )?write (migrate version .* }) where it stands", str(caught.value))
    assert advice is not None and bool(advice[1]) == (newer in (0, older))
    old.run(frames((0, 0))[0])
    new = make_runner("reference", version(becomes, 7 if advice[1] else newer, advice[2]))
    new.replace(old)
    assert [list(cells) for cells in new.cells().values()] == [[{"": 1}]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rollback_migrates(engine: str) -> None:
    """Version 1, made again to follow version 2, takes back what that keeps in another type."""
    later = make_runner(engine, program("persistent register<bit<32>>[3] seen;", "seen[h.h.a] = seen[h.h.a] + (bit<32>) h.h.b;", 2))
    for frame in frames((0, 10), (1, 20), (0, 30)):
        later.run(frame)
    earlier = make_runner(engine, program("""persistent register<bit<16>>[3] seen;
        migrate version 2 { register<bit<32>>[3] seen; for (i in 0..3) { seen[i] = (bit<16>) old.seen[i]; } }""", "h.h.b = seen[h.h.a];", 1))
    assert [m.name for m in earlier.replace(later).migrations] == ["migrate.2"]
    assert [earlier.run(frame).out for frame in frames((0, 0), (1, 0))] == frames((0, 40), (1, 20))


TYPES = ("bit<8>", "bit<16>", "bit<32>", "bool", "bit<128>", "Pair", "Peer")
registers = st.dictionaries(st.sampled_from("abcde"), st.tuples(st.booleans(), st.sampled_from(TYPES), st.sampled_from((None, 1, 3))), max_size=5)


def declared(chosen: dict) -> str:
    return "".join(f"{'persistent ' * keep}register<{type_}>{f'[{size}]' if size else ''} {name};\n" for name, (keep, type_, size) in chosen.items())


@settings(max_examples=25, deadline=None, derandomize=True)
@given(registers, registers, st.randoms(use_true_random=False), st.booleans())
def test_engines_keep_the_same(before: dict, after: dict, random, migrates: bool) -> None:
    """Whatever two versions declare, engines and reference refuse the same and keep the same."""
    block = "migrate version 1 { }" if migrates else ""
    old, new = program(declared(before), "", 1), program(declared(after) + block, "", 2)
    content = random.randbytes(2000)
    compiled_old, compiled_new = compile_program(old), compile_program(new)
    loaded_old, loaded_new = (get_engine("engine").load(c.bundle) for c in (compiled_old, compiled_new))
    reference_old, reference_new = make_runner("reference", old), make_runner("reference", new)
    state = bytearray(compiled_old.state.size)
    for number, (name, (_, type_, size)) in enumerate(before.items()):
        for index in range(size or 1):
            at = 40 * (3 * number + index)
            values = {"": content[at] & 1 if type_ == "bool" else int.from_bytes(content[at:at + int(type_[4:-1]) // 8], "big")} \
                if type_[0] == "b" else {"id": content[at], "on": content[at + 1] & 1}
            decl = reference_old.state.find(name)
            compiled_old.state.write(state, decl, index, values)
            reference_old.state.put(decl, index if size else None, values.get("", values))
    loaded_old.set_state(bytes(state))
    try:
        expected = reference_new.replace(reference_old)
    except EngineError as refused:
        with pytest.raises(EngineError) as caught:
            replace(loaded_old, loaded_new)
        assert str(caught.value) == str(refused)
        return
    assert replace(loaded_old, loaded_new).kept == expected.kept
    assert compiled_cells(compiled_new, loaded_new.state()) == cells(new, reference_new.state)


# ---------------------------------------------------------------- the core in C, with tables that lie

def table(*entries: tuple[str, str, int, int]) -> KeptTable:
    return KeptTable(tuple(Kept(*entry) for entry in entries))


def test_rows_outside_the_memory_are_refused() -> None:
    good = table(("a", "bit<64>", 0, 8))
    for bad in (table(("a", "bit<64>", 1, 8)), table(("a", "bit<64>", 0xffff, 8))):
        for mine, theirs in ((good, bad), (bad, good)):
            with pytest.raises(EngineError, match="register a: not enough memory given"):
                carried(bytes(8), mine, bytes(range(8)), theirs, CARRY_NEW)
    assert carried(bytes(8), good, bytes(range(8)), good, CARRY_NEW) == bytes(range(8))


def test_what_each_mode_does() -> None:
    mine = table(("a", "bit<8>", 0, 1), ("b", "bit<8>", 1, 1))
    theirs = table(("b", "bit<16>", 0, 2), ("a", "bit<8>", 2, 1))
    alone = table(("a", "bit<8>", 0, 1))
    old = bytes([1, 2, 3])
    assert carried(b"xy", mine, old, theirs, CARRY_SAME) == b"\x03y"
    for mode in (CARRY_NEW, CARRY_ALL):
        with pytest.raises(EngineError, match="register b: a register that is kept has another type"):
            carried(b"xy", mine, old, theirs, mode)
    assert carried(b"xy", mine, b"\x07", alone, CARRY_NEW) == b"\x07y"
    with pytest.raises(EngineError, match="register b"):
        carried(b"xy", mine, b"\x07", alone, CARRY_ALL)


def test_only_a_migration_migrates() -> None:
    """The engine compares the table with the container, whatever the host believes."""
    ffi, lib = open_engine()
    compiled = compile_program(NEW)
    loaded = get_engine("engine").load(compiled.bundle)
    migration, at = compiled.bundle.migrations[0], ffi.new("uint32_t *")

    def error(image: bytes, needs: KeptTable, state: bytes) -> str:
        number = lib.lpn_host_migrate(loaded.host.handle, image, len(image), needs.rows(), len(needs.entries), OLD_KEPT.rows(),
                                      len(OLD_KEPT.entries), state, len(state), at)
        return ffi.string(lib.lpn_error_name(number)).decode()

    OLD_KEPT = compile_program(OLD).bundle.kept
    state = bytes(compile_program(OLD).state.size)
    image = compiled.bundle.module(migration.module)
    assert error(image.to_bytes(), migration.needs, state) == "ok"
    assert error(image.to_bytes(), migration.needs, state[:4]) == "not enough memory given"
    assert error(image.to_bytes(), compiled.bundle.migrations[1].needs, state) == "record or state hashes differ"
    assert error(compiled.bundle.module("P").to_bytes(), migration.needs, state) == "bad chain"
    assert error(image.to_bytes()[:-1], migration.needs, state) == "truncated"


@pytest.mark.parametrize("engine", ["engine", pytest.param("m3", marks=pytest.mark.skipif(missing("m3") is not None, reason="no emulated core"))])
def test_a_migration_may_use_what_a_certificate_allows(engine: str) -> None:
    """The language writes none that stores into its record, or looks at output and packet. Of one that does a node with its certificate checks nothing, so
    checks do not refuse it either."""
    old, new = compile_program(OLD), compile_program(NEW)
    migration = new.bundle.migrations[0]
    text = b"".join((
        insn(0x79, 2, 1, 16), insn(0x72, 2, imm=5), insn(0x71, 6, 2),                       # of the record the first octet becomes 5
        insn(0x79, 3, 1, 32), insn(0x62, 3, 0, 64, 7), insn(0x61, 7, 3, 64), insn(0x61, 8, 3, 252),     # of the output a word 7, the others are 0
        insn(0x79, 4, 1, 0), insn(0x71, 5, 4, 20),                                          # behind the packet there are zeros
        insn(0x62, 1, 0, 48, 3), insn(0x61, 9, 1, 48),                                      # and a word of the context may be written
        *(insn(0x0C, 6, source) for source in (7, 8, 5, 9)), insn(0x79, 2, 1, 24), insn(0x73, 2, 6), mov(0, 0), EXIT))
    image = with_(new.bundle.module(migration.module), text=text, certificate=b"", flags=Flag(0), stack_used=0)
    sizes = Sizes(record=image.record_size, state=image.state_size)
    report, analysis = analyse(text, profile=LPN, record_size=image.record_size, state_size=image.state_size)
    assert certificate_of(text, report, analysis, sizes)
    before, after = (get_engine(engine).load(bundle) for bundle in (old.bundle, with_(new.bundle, modules=tuple(
        image if one.name == image.name else one for one in new.bundle.modules))))
    after.run(b"\xff" * 3)
    after.migrate(migration, old.bundle, before.state())
    assert after.state()[0] == 5 + 7 + 3


# ---------------------------------------------------------------- bundles and the command

def test_bundles_say_what_they_keep() -> None:
    bundle = Bundle.from_bytes(compile_program(NEW).bundle.to_bytes())
    assert bundle.kept.layout() == {"fresh": "bit<8>", "pairs": "{id: bit<16>, on: bool}[3]", "total": "bit<32>", "P.seen": "bit<32>[3]"}
    assert len(bundle.kept.rows()) == 4 * 12
    assert [(m.version, m.module, m.needs.layout()) for m in bundle.migrations] == [
        (1, "migrate.1", {"total": "bit<16>", "pairs": "{id: bit<16>, on: bool}[3]"}), (1, "P.migrate.1", {"P.seen": "bit<16>[3]"}),
        (0, "P.migrate.0", {})]


def test_bundles_that_lie_are_refused() -> None:
    bundle = compile_program(NEW).bundle
    other = with_(bundle.migrations[0], module="nothing")
    with pytest.raises(BundleError, match="migrations"):
        with_(bundle, migrations=(other, *bundle.migrations[1:])).to_bytes()
    with pytest.raises(BundleError, match="module 'P.migrate.0' is migration, and there are 0 migrations of that name"):
        with_(bundle, migrations=bundle.migrations[:-1]).to_bytes()
    with pytest.raises(BundleError, match="state.kept.entries.*ends behind"):
        with_(bundle, kept=table(("a", "bit<8>", bundle.state_size, 1))).to_bytes()
    with pytest.raises(BundleError, match="starts with no event"):
        with_(bundle, hooks=(with_(bundle.hooks[0], chain=("migrate.1",)),)).to_bytes()


def capture(path: Path) -> Path:
    with Writer(path, 230) as writer:
        for number, frame in enumerate(frames(*[(i % 3, i) for i in range(6)])):
            writer.add(frame, 1000 * number)
    return path


def test_the_command_replaces_between_frames(tmp_path: Path) -> None:
    """No frame is lost, and both programs see their own."""
    for name, one in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.lpn").write_text(one.sources[-1].text)
        (tmp_path / f"{name}.lpnb").write_bytes(compile_program(one).bundle.to_bytes())
    packets = capture(tmp_path / "x.pcap")
    for suffix, more in (("lpn", ["--compare", "engine,reference,rbpf"]), ("lpnb", ["--compare", "engine,rbpf"])):
        done = lpnc("run", tmp_path / f"old.{suffix}", "--in", packets, "--then", tmp_path / f"new.{suffix}", "--at", "4", "--json", *more)
        assert done.exit_code == 0, done.stderr
        outs = [json.loads(line)["out"] for line in done.stdout.splitlines()]
        assert outs[:3] == [frame.hex() for frame in frames((0, 0), (1, 1), (2, 2))] and [out[:2] for out in outs[3:]] == ["03"] * 3
        assert f"frame 4: {tmp_path}/new.{suffix} takes over, keeps pairs, runs migrate.1, runs P.migrate.1" in done.stderr
    back = lpnc("run", tmp_path / "new.lpn", "--in", packets, "--then", tmp_path / "old.lpn", "--at", "2")
    assert back.exit_code == 1 and "cannot take over at frame 2: persistent register 'total' is bit<16>" in back.stderr
    assert lpnc("run", tmp_path / "new.lpn", "--in", packets, "--at", "2").exit_code == 2
    late = lpnc("run", tmp_path / "old.lpn", "--in", packets, "--then", tmp_path / "new.lpn", "--at", "8")
    assert late.exit_code == 1 and "--at 8: there is no such frame" in late.stderr and "6 frames" in late.stdout


def test_what_no_migration_reads_begins_anew() -> None:
    """A migration for the version makes that no error: it is told."""
    block = Migration("migrate.1", 1, {"a": "bit<8>"})
    found = plan({"a": "bit<8>", "b": "bit<8>", "d": "bool"}, 1, {"a": "bit<16>", "b": "bit<16>", "c": "bool", "d": "bool"}, 2, [block])
    assert found.anew == ("b",) and found.kept == ("d",)
