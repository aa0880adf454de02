"""The node form of a bundle: it becomes the same node as the bundle, and nothing that is wrong in it gets far."""
from __future__ import annotations

import functools
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from cli import lpnc
from hypothesis import given, settings, strategies as st
from programs import ROOT, example

from lpn.compiler import compact
from lpn.compiler.build import Compiled, compile_program
from lpn.compiler.bundle import Bundle, BundleError, Entry
from lpn.compiler.judge import seal
from lpn.compiler.commands.pack import uncertified
from lpn.lang import tables
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.runtime.dispatch import hook_names
from lpn.runtime.engine.build import library
from lpn.runtime.engine.native import NativeHost
from lpn.runtime.engine.node_native import NativeDispatch
from lpn.runtime.engine.thumb2 import translate
from lpn.runtime.engines import EngineError, Externs
from lpn.runtime.events import read_events
from lpn.runtime.node import Node
from lpn.runtime.pack import CRC_AT, HEADER, pack
from lpn.runtime.radio import Radio
from lpn.runtime.timeline import meaning

AREA = 1 << 18
DUTY = str(ROOT / "examples/duty/duty.lpn")


class PackedDispatch(NativeDispatch):
    """A node whose set is made of the node form."""

    def swap(self, bundle: Bundle, *, state: bytes | None = None, entries: Mapping[str, Iterable[Entry]] | None = None,
             externs: Externs | None = None) -> None:
        self.load(pack(bundle, state=state, entries=entries), bundle)

    def load(self, raw: bytes, bundle: Bundle, area: int = AREA, without: int = 0, certified: bool = False) -> int:
        """Bytes of working memory. EngineError says what is refused."""
        fault = self.ffi.new("lpn_node_host_fault *")
        before = getattr(self, "hooks", ()), getattr(self, "names", ())
        self.hooks, self.names = bundle.hooks, hook_names(bundle.hooks, lambda name: bundle.module(name).kind.name == "TIMING")
        error = self.lib.lpn_node_host_pack(self.handle, raw, len(raw), area, without, certified, fault)
        if error:
            self.hooks, self.names = before
            where = self.ffi.string(fault.part).decode() + (f" {fault.index}" if fault.index < 2**32 - 1 else "")
            raise EngineError(f"{where}: {NativeHost(0, 0, 1).error_name(error)}")
        self.bundle = bundle
        return fault.used


@functools.cache
def compiled(name: str) -> Compiled:
    return compile_program(example(name), "lpn", False, 2)


def played(name: str, kind: type[NativeDispatch], events: str, given_: str | None) -> list:
    """The time line of an example with its events."""
    folder = (ROOT / "examples" / name).parent
    program, made = example(name), compiled(name)
    script = read_events((folder / events).read_text(), events, folder)
    first = tables.load(folder / given_, program) if given_ else None
    node = Node(lambda platform: kind(made.bundle, platform, script.node, state=made.initial_state(first), entries=made.entries(first)),
                radio=Radio(on=script.radio_on), start=script.clock)
    script.apply(node)
    node.run(script.until)
    return [[meaning(record) for record in node.sorted_records()], [s.stats for s in node.summaries()], node.dispatch.drops(), node.dispatch.counts()]


@pytest.mark.parametrize("name,events,given_", [
    ("duty/duty", "duty.events", None), ("duty_cycle/duty_cycle", "sensor.events", "sensor.json"),
    ("fragment/send", "send.events", None), ("tsch_slot/tsch_slot", "tsch_slot.events", None),
    ("rpl_dio/rpl_dio", "newcomer.events", None)])
def test_a_pack_is_the_same_node_as_its_bundle(name, events, given_):
    assert played(name, PackedDispatch, events, given_) == played(name, NativeDispatch, events, given_)


def node(kind: type[NativeDispatch], made: Compiled) -> Node:
    return Node(lambda platform: kind(made.bundle, platform))


def test_entries_of_tables_and_first_state_are_in_the_pack():
    program = example("forwarding/forwarding")
    made = compile_program(program, "lpn", False, 2)
    first = tables.load(ROOT / "examples/forwarding/tables.json", program)
    with_entries = pack(made.bundle, state=made.initial_state(first), entries=made.entries(first))
    assert bytes.fromhex("20010db8") in with_entries and len(with_entries) > len(pack(made.bundle)) + 4 * 40


def test_a_processor_can_be_left_out_of_its_chains():
    made = compiled("udp/udp")
    one = node(PackedDispatch, made).dispatch
    assert isinstance(one, PackedDispatch)
    names = [image.name for image in made.bundle.modules]
    one.load(pack(made.bundle), made.bundle, without=1 << names.index("Checksum"))
    with pytest.raises(EngineError, match="hook 0: bad chain"):
        one.load(pack(made.bundle), made.bundle, without=1 << names.index("Rx"))


def test_memory_that_is_too_small_is_told_and_what_ran_goes_on():
    made = compiled("duty/duty")
    running = node(PackedDispatch, made)
    one = running.dispatch
    assert isinstance(one, PackedDispatch)
    used = one.load(pack(made.bundle), made.bundle)
    assert 500 < used < 8192
    for area in range(0, used, 8):
        with pytest.raises(EngineError, match="not enough memory"):
            one.load(pack(made.bundle), made.bundle, area)
    assert one.load(pack(made.bundle), made.bundle, used) == used
    running.run(1_000_000)
    assert sum(s.stats.runs for s in running.summaries()) > 8


def test_a_node_may_ask_for_certificates():
    made = compiled("duty/duty")
    one = node(PackedDispatch, made).dispatch
    assert isinstance(one, PackedDispatch)
    bare = pack(made.bundle)                    # compiled, not verified: nothing certifies it
    with pytest.raises(EngineError, match="module 0: no certificate"):
        one.load(bare, made.bundle, certified=True)


def sealed(raw: bytes) -> bytes:
    """With the checksum that its content has."""
    crc = zlib.crc32(raw[:CRC_AT] + bytes(4) + raw[CRC_AT + 4:])
    return raw[:CRC_AT] + struct.pack("<I", crc) + raw[CRC_AT + 4:]


@pytest.mark.parametrize("change,said", [
    (lambda r: r[:30], "header: truncated"), (lambda r: b"X" + r[1:], "header: bad magic"), (lambda r: r[:-4], "header: truncated"),
    (lambda r: r + bytes(4), "header: length mismatch"), (lambda r: r[:50] + b"\1" + r[51:], "header: checksum mismatch"),
    (lambda r: sealed(r[:38] + b"\1" + r[39:]), "header: reserved field set"),
    (lambda r: sealed(r[:40] + b"\7" + r[41:]), "name: bad name"),
    (lambda r: sealed(r[:28] + b"\3" + r[29:]), "end: length mismatch"),
    (lambda r: sealed(r[:28] + b"\x09" + r[29:]), "module 8: truncated"),
    (lambda r: sealed(r[:29] + b"\7" + r[30:]), "migration|table|function|module")])
def test_what_is_wrong_is_named(change, said):
    made = compiled("duty/duty")
    one = node(PackedDispatch, made).dispatch
    assert isinstance(one, PackedDispatch)
    with pytest.raises(EngineError, match=said):
        one.load(change(pack(made.bundle)), made.bundle)


_PACKS = ("duty/duty", "fragment/send", "fragment/reassemble", "rpl_dio/rpl_dio", "forwarding/forwarding")


@settings(max_examples=150)
@given(st.data())
def test_damaged_packs_are_refused_or_run_and_never_crash(data):
    """Whatever a sender with a right checksum does. The same under sanitizers in test_engine_sanitize.py."""
    name = data.draw(st.sampled_from(_PACKS))
    made = compiled(name)
    raw = bytearray(pack(made.bundle))
    head = HEADER.size + 600
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.one_of(st.integers(16, HEADER.size - 1), st.integers(HEADER.size, head), st.integers(0, len(raw) - 1)))
        raw[min(at, len(raw) - 1)] = data.draw(st.sampled_from([0, 1, 2, 3, 4, 7, 8, 0x7f, 0x80, 0xff]))
    cut = data.draw(st.sampled_from([0, 0, 0, 1, 4, 64, 500]))
    whole = bytes(raw[:max(len(raw) - cut, 0)])
    if len(whole) >= HEADER.size and data.draw(st.booleans()):
        whole = whole[:8] + struct.pack("<I", len(whole)) + whole[12:]
    try:
        one = node(PackedDispatch, made).dispatch
        assert isinstance(one, PackedDispatch)
        one.load(sealed(whole) if len(whole) >= 16 else whole, made.bundle)
    except EngineError:
        return


def test_the_command_packs_sources_and_bundles_and_writes_shell_lines(tmp_path):
    assert lpnc("pack", DUTY, "-o", str(tmp_path / "duty.lpnn")).exit_code == 0
    raw = (tmp_path / "duty.lpnn").read_bytes()
    assert lpnc("build", DUTY, "-o", str(tmp_path)).exit_code == 0
    assert lpnc("pack", str(tmp_path / "duty.lpnb"), "-o", str(tmp_path / "two.lpnn")).exit_code == 0
    assert (tmp_path / "two.lpnn").read_bytes() == raw
    assert lpnc("pack", DUTY, "--hex", "3", "-o", str(tmp_path / "duty.hex")).exit_code == 0
    lines = (tmp_path / "duty.hex").read_text().splitlines()
    assert lines[0] == f"lpn load 3 begin {len(raw)}" and lines[-1] == "lpn load 3 end" and max(map(len, lines)) < 128
    assert bytes.fromhex("".join(line.removeprefix("lpn load 3 ") for line in lines[1:-1])) == raw


@pytest.mark.parametrize("arguments,said", [
    (["{bundle}", "--tables", "x.json"], "--tables needs the program's source"), (["{image}"], "alone is no program")])
def test_the_command_says_what_it_needs(tmp_path, arguments, said):
    assert lpnc("build", DUTY, "--emit", "image,bundle", "-o", str(tmp_path)).exit_code == 0
    names = {"bundle": str(tmp_path / "duty.lpnb"), "image": str(tmp_path / "Rx.lpnc")}
    result = lpnc("pack", *(a.format(**names) for a in arguments))
    assert result.exit_code == 2 and said in result.output


@pytest.mark.parametrize("options", [[], ["--trusted"], ["--compact"], ["--code"]], ids=" ".join)
def test_nothing_is_written_of_a_bundle_that_the_verifier_refuses(tmp_path, options):
    """One for Linux begins as one of ours does, and its containers find another context."""
    path = tmp_path / "echo.lpnb"
    path.write_bytes(compile_program(check(load(ROOT / "examples/udp/udp.lpn")), "xdp", True).bundle.to_bytes())
    result = lpnc("pack", str(path), *options)
    assert result.exit_code == 1 and "rule " in result.stderr and "the verifier refuses 1 container: nothing is written" in result.stderr
    assert list(tmp_path.iterdir()) == [path]


SLOW = """
register<bit<32>>[32] r;
timing T { every 100 ms within 20 us { bit<32> n = 0; for (i in 0..31) { n = n + r[i]; } r[0] = n; } }
protocol P version 1 { timing : T; }
"""


@pytest.mark.parametrize("command, suffix", [("build", "lpnb"), ("pack", "lpnn")])
def test_the_command_proves_deadlines_of_the_node_that_is_named(tmp_path, command, suffix):
    """The loop takes 5 us translated, and 28 interpreted."""
    path, out = tmp_path / "slow.lpn", tmp_path / "out"
    path.write_text(SLOW)
    made = ["-o", str(out if command == "build" else out / "slow.lpnn")]
    refused = lpnc(command, str(path), *made, "--on", "m3")
    assert refused.exit_code == 1 and "rule 36 (deadline): T.every_100ms" in refused.stderr and "lpnc verify --path --on m3 shows" in refused.stderr
    assert not out.exists()
    assert lpnc(command, str(path), *made).exit_code == 0 and (out / f"slow.{suffix}").exists()


@pytest.mark.parametrize("arguments, said", [(["pack", DUTY, "--code"], "--code is Thumb-2 code"), (["pack", DUTY, "--linked"], "--linked is Thumb-2 code"),
                                             (["build", DUTY, "--target", "femto"], "for target femto none are computed")])
def test_on_is_for_what_is_interpreted(tmp_path, arguments, said):
    result = lpnc(*arguments, "--on", "m3", "-o", str(tmp_path / "x"))
    assert result.exit_code == 2 and said in result.stderr


# ------------------------------------------------------------ the compact form

def expanded(small: bytes, room: int | None = None) -> bytes | str:
    """What a node makes of a compact pack in so much memory, or the error's name."""
    ffi, lib = library()
    whole = int.from_bytes(small[8:12], "little") if room is None else room
    memory, length = ffi.new("uint8_t[]", max(whole if whole < 1 << 21 else 0, len(small))), ffi.new("uint32_t *")
    ffi.buffer(memory, len(small))[:] = small
    error = lib.lpn_pack_expand(memory, len(memory) if room is None else room, len(small), length)
    return bytes(ffi.buffer(memory, length[0])) if error == 0 else ffi.string(lib.lpn_error_name(error)).decode()


@pytest.mark.parametrize("name", _PACKS)
def test_a_compact_pack_is_expanded_in_place(name):
    bundle = compiled(name).bundle
    whole, small = pack(bundle), pack(bundle, small=True)
    assert expanded(small) == whole and len(small) < 0.6 * len(whole)
    assert expanded(small, len(whole) - 1) == "not enough memory given"


def test_a_module_without_a_compact_form_stays_as_it_is(monkeypatch):
    bundle, calls = compiled("duty/duty").bundle, iter([True, False] * 4)
    real = compact.pack
    monkeypatch.setattr(compact, "pack", lambda image: real(image) if next(calls) else image)
    small = pack(bundle, small=True)
    assert len(small) < len(pack(bundle)) and small.count(b"LPN1") == 4
    assert expanded(small) == pack(bundle)


@settings(max_examples=200)
@given(st.data())
def test_damaged_compact_packs_are_refused_or_packs(data):
    small = bytearray(pack(compiled("duty/duty").bundle, small=True))
    for _ in range(data.draw(st.integers(1, 4))):
        small[data.draw(st.integers(4, len(small) - 1))] = data.draw(st.integers(0, 255))
    small = small[:data.draw(st.integers(1, len(small)))] if data.draw(st.booleans()) else small
    found = expanded(bytes(small))
    assert found in ("bad compact form", "not enough memory given") or isinstance(found, bytes)


@functools.cache
def certified(name: str) -> Bundle:
    """Sealed as `lpnc pack` seals it."""
    made = compile_program(example(name), "lpn", False, 2)
    seal(made)
    return made.bundle


def without_certificates(bundle: Bundle) -> Bundle:
    return replace(bundle, modules=tuple(uncertified(image) for image in bundle.modules))


def test_the_command_writes_what_the_library_does(tmp_path):
    out, bundle = tmp_path / "duty.lpnn", certified("duty/duty")
    for options, want in (((), pack(bundle)), (("--compact",), pack(bundle, small=True)), (("--trusted",), pack(without_certificates(bundle))),
                          (("--code",), pack(bundle, code=True))):
        assert lpnc("pack", DUTY, "-o", str(out), *options).exit_code == 0
        assert out.read_bytes() == want
    both = lpnc("pack", DUTY, "--code", "--compact", "-o", str(out))
    assert both.exit_code == 2 and "exclude each other" in both.output


@pytest.mark.parametrize("options", [(), ("--hex", "3")], ids=["file", "hex"])
def test_the_command_says_what_a_slot_has_to_hold(tmp_path, options):
    out, whole = tmp_path / "x", pack(certified("duty/duty"))
    small = pack(certified("duty/duty"), small=True)
    for more, size, said in ((("--compact",), len(small), f"{len(small):,} bytes ({len(whole):,} where the node has expanded it), 8 modules"),
                             ((), len(whole), f"{len(whole):,} bytes, 8 modules")):
        facts = json.loads(lpnc("pack", DUTY, "-o", str(out), *options, *more, "--json").stdout)
        assert (facts["bytes"], facts["expanded"]) == (size, len(whole)) and said in lpnc("pack", DUTY, "-o", str(out), *options, *more).stdout


def test_compact_packs_and_ones_without_certificates():
    bundle = certified("duty/duty")
    whole, small, bare = pack(bundle), pack(bundle, small=True), pack(without_certificates(bundle))
    assert expanded(small) == whole
    assert len(small) < len(bare) < len(whole)
    one = node(PackedDispatch, compiled("duty/duty")).dispatch
    assert isinstance(one, PackedDispatch)
    with pytest.raises(EngineError, match="no certificate"):
        one.load(bare, one.bundle, certified=True)
    assert one.load(bare, one.bundle, certified=2) > 0      # who gives it vouches for it
    assert one.load(whole, one.bundle, certified=True) > 0


def test_code_in_place_of_bytecode_is_for_a_firmware_on_its_core():
    """It is the translator's; a node takes it only where it trusts the pack, and not on this machine."""
    made, bundle = compiled("duty/duty"), certified("duty/duty")
    raw = pack(bundle, code=True)
    assert len(raw) < len(pack(made.bundle))
    for image in bundle.modules:
        assert translate(image.text, clean32=True, stack=image.stack_used).code in raw
    one = node(PackedDispatch, made).dispatch
    assert isinstance(one, PackedDispatch)
    with pytest.raises(EngineError, match="module 0: no certificate, and this node asks for one"):
        one.load(raw, made.bundle)
    with pytest.raises(EngineError, match="module 0: this firmware leaves out"):
        one.load(raw, made.bundle, certified=2)
    for change, said in ((raw[:-4], "code 7: truncated"), (raw + bytes(4), "end: length mismatch"), (raw[:33] + b"\1" + raw[34:], "bad field")):
        with pytest.raises(EngineError, match=said):
            one.load(sealed(change[:8] + struct.pack("<I", len(change)) + change[12:]), made.bundle)


def test_code_is_refused_where_addresses_are_not_known(tmp_path):
    constant = compiled("duty/duty").bundle
    image = replace(constant.modules[0], rodata=bytes(8))
    with pytest.raises(BundleError, match="whose addresses are not known"):
        pack(replace(constant, modules=(image, *constant.modules[1:])), code=True)
