"""Buffers: what becomes of pieces and held packets, the same in every engine, and a model written token by token."""
from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from cli import lpnc
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Bundle, BundleError
from lpn.compiler.bundle_parts import Buffer
from lpn.compiler.commands.engines import missing
from lpn.compiler.helpers import BY_NAME, which
from lpn.compiler.judge import judged, of_compiled
from lpn.compiler.runner import as_result, make_runner
from lpn.compiler.slowest.buffers import Buffers, entry
from lpn.lang.builtins import PUT_RESULTS
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.reference import Result
from lpn.lang.source import Source
from lpn.runtime.engine.native import NativeHost
from lpn.verifier.cost import TableSize, load as load_costs

STORED, COMPLETE, DUPLICATE, FULL, OVERLAP, TOO_LONG, MISMATCH, MISALIGNED = PUT_RESULTS.values()
SECOND = 1_000_000

TEXT = """
header Piece { bit<8> from; bit<8> tag; bit<16> size; bit<16> offset; }
header Order { bit<8> op; bit<8> key; }
header Body  { bit<8> first; }
struct headers { Piece piece; Order order; Body body; }

parser Rx(packet pkt, out headers h) {
    state start { transition select(pkt.lookahead<bit<8>>()) { 0..9: piece; default: order; } }
    state piece { pkt.extract(h.piece); transition accept; }
    state order { pkt.extract(h.order); transition accept; }
}
parser Whole(packet pkt, out headers h) { state start { pkt.extract(h.body); transition accept; } }
deparser Front(packet pkt, in headers h) { pkt.emit(h.body); }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.body); }

buffer<40>[3] queue timeout 5 s;

processor Keep(inout headers h, inout meta m) {
    buffer<64>[2] partial timeout 60 s;
    apply {
        m.verdict = DELIVER;
        if (h.piece.isValid() && h.piece.from == 1) {               // with a header in front of the payload
            h.body.setValid();
            h.body.first = h.piece.tag;
            m.port = (bit<16>) partial.put((h.piece.from, h.piece.tag), h.piece.offset, h.piece.size, Front(h));
        } else if (h.piece.isValid()) {
            m.port = (bit<16>) partial.put((h.piece.from, h.piece.tag), h.piece.offset, h.piece.size);
        } else {
            bit<8> k = h.order.key;
            switch (h.order.op) {
                10: { m.port = (bit<16>) queue.hold(k); }
                11: { m.port = (bit<16>) queue.take(k); }
                12: { m.port = (bit<16>) queue.drop(k); }
                13: { m.port = (bit<16>) queue.take(k) + (bit<16>) queue.take(k); }
                14: { m.port = (bit<16>) queue.hold(k) + (bit<16>) queue.take(k); }
                default: { m.verdict = DROP; }
            }
        }
    }
}
processor Done(inout headers h, inout meta m) {
    apply {
        m.port = sizeof(payload);
        if (h.body.first == 77) { m.port = (bit<16>) queue.hold(h.body.first) + 100; }
        if (h.body.first == 78) { queue.hold(8w78); m.port = (bit<16>) queue.take(8w78); }       // goes on as long as it may
        m.verdict = h.body.first == 5 ? DROP : TRANSMIT;
    }
}
protocol Kept version 1 {
    on radio.rx_done   : Rx -> Keep;
    on partial.complete: Whole -> Done -> Tx;
    on queue.complete  : Whole -> Done -> Tx;
}
"""
PROGRAM = check(load(Source("buffers.lpn", TEXT)))
COMPILED = {fuse: compile_program(PROGRAM, fuse=fuse) for fuse in (False, True)}
WAYS = (("reference", False), ("engine", False), ("engine", True), ("rbpf", False), ("rbpf", True))


def runner(engine: str, fuse: bool = False):
    return make_runner(engine, PROGRAM, compiled=COMPILED[fuse])


def piece(tag: int, size: int, offset: int, data: bytes, source: int = 0) -> bytes:
    return struct.pack(">BBHH", source, tag, size, offset) + data


def said(result) -> tuple:
    return result.verdict, result.reason, result.port, result.out, tuple(map(said, result.completed))


frames = st.one_of(
    st.builds(piece, st.integers(1, 2), st.sampled_from((0, 3, 8, 16, 20, 20, 24, 64, 65)), st.sampled_from((0, 0, 4, 8, 8, 16, 16, 24, 40)),
              st.builds(lambda n, fill: bytes([fill]) * n, st.sampled_from((0, 4, 7, 8, 8, 8, 16, 20, 24)), st.sampled_from((5, 6, 77, 78))),
              st.sampled_from((0, 0, 0, 1, 2))),
    st.builds(lambda op, key, data: bytes([op, key]) + data, st.integers(10, 14), st.integers(5, 6),
              st.sampled_from((b"", b"abc", b"\x4d", b"\x4e", b"x" * 40, b"x" * 41))))
pauses = st.sampled_from((0, 1, SECOND, 6 * SECOND, 59 * SECOND, 1 << 30))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(frames, pauses), min_size=5, max_size=40), st.integers(0, 0xFFFF_FFFF))
def test_engines_agree(packets: list[tuple[bytes, int]], clock: int) -> None:
    runners = [runner(*way) for way in WAYS]
    for frame, pause in packets:
        clock = (clock + pause) & 0xFFFF_FFFF
        results = {said(one.run(frame, {"clock": clock, "rssi": -40})) for one in runners}
        assert len(results) == 1, (frame.hex(), results)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.binary(min_size=1, max_size=64), st.lists(st.integers(1, 7), max_size=7), st.randoms(use_true_random=False))
def test_any_order_gives_the_whole(whole: bytes, cuts: list[int], random) -> None:
    """Pieces in any order, some of them twice: the last new one completes, and the content is what was cut."""
    edges = sorted({0, *(8 * cut for cut in cuts if 8 * cut < len(whole)), len(whole)})
    pieces = [(start, whole[start:end]) for start, end in zip(edges, edges[1:])]
    order = pieces + [random.choice(pieces) for _ in range(2)]
    random.shuffle(order)
    engine, seen = runner("engine"), set()
    for offset, data in order:
        result = engine.run(piece(1, len(whole), offset, data))
        if set(seen) == {start for start, _ in pieces}:
            break                               # delivered: what comes now begins anew
        fresh = offset not in seen
        seen.add(offset)
        done = len(seen) == len(pieces) and fresh
        assert result.port == (COMPLETE if done else STORED if fresh else DUPLICATE)
        assert len(result.completed) >= done
        if done and result.completed[0].verdict == "TRANSMIT":
            assert result.completed[0].out == whole


M3, THUMB2 = (pytest.param(name, marks=pytest.mark.skipif(missing("m3") is not None, reason="no emulated core")) for name in ("m3", "thumb2"))


@pytest.mark.parametrize("engine", ["reference", "engine", "rbpf", M3, THUMB2])
def test_the_rules(engine: str) -> None:
    """RFC 4944, 5.3 and RFC 8200, 4.5, one by one."""
    def put(*args, clock: int = 0) -> int:
        return one.run(piece(*args), {"clock": clock}).port

    one = runner(engine)
    assert put(1, 20, 8, b"b" * 8) == STORED
    assert put(1, 20, 8, b"c" * 8) == DUPLICATE                  # the first content stays
    assert put(1, 20, 16, b"dddd") == STORED
    last = one.run(piece(1, 20, 0, b"a" * 8))
    assert last.port == COMPLETE and [r.out for r in last.completed] == [b"a" * 8 + b"b" * 8 + b"dddd"]

    assert put(1, 24, 0, b"a" * 16) == STORED
    assert put(1, 24, 8, b"b" * 16) == OVERLAP                   # all is discarded
    assert put(1, 24, 16, b"c" * 8) == STORED
    assert put(1, 24, 8, b"c" * 16) == OVERLAP                   # the same end, another beginning
    assert put(1, 24, 0, b"a" * 8) == STORED
    assert put(1, 24, 0, b"a" * 16) == OVERLAP                   # the same beginning, another end

    assert put(1, 20, 16, b"ccccc") == TOO_LONG
    assert put(1, 65, 0, b"a" * 8) == TOO_LONG
    assert put(1, 20, 4, b"a" * 8) == MISALIGNED
    assert put(1, 20, 0, b"a" * 7) == MISALIGNED
    assert put(1, 20, 0, b"") == DUPLICATE                       # nothing new

    assert put(1, 0, 8, b"b" * 8) == STORED                      # RFC 8200: the size comes with the last fragment
    assert put(1, 0, 0, b"a" * 8) == STORED
    assert put(1, 12, 8, b"b" * 4) == MISMATCH
    assert put(1, 0, 0, b"a" * 8) == STORED
    assert put(1, 12, 8, b"b" * 4) == COMPLETE

    assert put(1, 20, 0, b"a" * 8, clock=100) == STORED
    assert put(1, 20, 8, b"b" * 8, clock=60 * SECOND + 99) == STORED
    assert put(1, 20, 16, b"cccc", clock=60 * SECOND + 100) == STORED      # since the first piece, not the last
    assert put(2, 20, 0, b"a" * 8, clock=60 * SECOND + 200) == STORED
    assert put(3, 20, 0, b"a" * 8, clock=60 * SECOND + 200) == STORED      # the oldest, 1, gives way
    assert put(1, 20, 16, b"cccc", clock=60 * SECOND + 200) == STORED      # and now 2
    assert put(3, 20, 0, b"a" * 8, clock=60 * SECOND + 200) == DUPLICATE


@pytest.mark.parametrize("engine", ["reference", "engine", "rbpf", M3, THUMB2])
def test_queues(engine: str) -> None:
    """The oldest comes first; one is taken at a time; one chain that starts another ends."""
    one = runner(engine)

    def order(op: int, data: bytes = b"", clock: int = 0):
        result = one.run(bytes([op, 5]) + data, {"clock": clock})
        return result.port, [r.out for r in result.completed]

    assert order(10, b"one") == order(10, b"two") == order(10, b"six") == (STORED, [])
    assert order(10, b"ten") == (FULL, [])
    assert order(11) == (1, [b"one"]) and order(13) == (1, [b"two"])      # the second take of a run finds the place taken
    assert order(12) == (1, []) and order(11) == (0, [])
    assert order(10, b"x" * 41) == (TOO_LONG, [])
    assert order(10, b"old") == (STORED, []) and order(11, clock=5 * SECOND) == (0, [])
    assert order(14, b"\x4e") == (1, [b"\x4e", None])                     # what the chain holds and takes is empty: dropped


def test_an_entry_is_taken_until_its_chain_has_run() -> None:
    """The chain over a full buffer's entry finds no room; the next packet does."""
    for engine, fuse in WAYS:
        one = runner(engine, fuse)
        results = [one.run(bytes([10, 5]) + b"\x4d") for _ in range(3)] + [one.run(bytes([11, 5]))]
        assert [r.port for r in results] == [STORED, STORED, STORED, 1]
        assert [(r.verdict, r.out) for r in results[3].completed] == [("TRANSMIT", b"\x4d")]
        assert one.run(bytes([10, 5])).port == STORED


def test_the_verifier_accepts_them() -> None:
    for compiled in COMPILED.values():
        assert all(report.accepted and report.clean32 for _, report in judged(of_compiled(compiled)))


def test_the_bundle_lists_them() -> None:
    bundle = Bundle.from_bytes(COMPILED[False].bundle.to_bytes())
    assert [(b.name, b.size, b.entries, b.key, b.timeout) for b in bundle.buffers] == [
        ("queue", 40, 3, (8,), 5 * SECOND), ("Keep.partial", 64, 2, (8, 8), 60 * SECOND)]
    assert [(h.selector, h.context) for h in bundle.hooks if h.event == "buffer.complete"] == [((1,), "radio"), ((0,), "radio")]
    hook = next(h for h in bundle.hooks if h.event == "buffer.complete")
    with pytest.raises(BundleError, match="there are 1 buffers"):
        replace(bundle, buffers=bundle.buffers[:1], hooks=(hook,)).to_bytes()


def test_arguments_are_checked_at_run_time() -> None:
    """The helpers trust no program: numbers of buffers, sizes of keys and requests, places in the packet."""
    host = NativeHost(0, 0, 0)
    assert host.lib.lpn_host_buffer(host.handle, 16, 1, 2, 0) == 0
    shapes = [(0, 1, 1), (2049, 1, 1), (16, 0, 1), (16, 1, 0), (16, 1, 65), (1 << 16, 1, 1)]
    assert all(host.lib.lpn_host_buffer(host.handle, size, entries, key, 0) for size, entries, key in shapes)
    packet, out = host.ffi.new("uint8_t[]", b"0123456789"), host.ffi.new("uint8_t[]", 256)
    address = lambda x: int(host.ffi.cast("uintptr_t", x))      # noqa: E731
    host.view(address(packet), 10, address(out), 0)
    key = host.ffi.new("uint8_t[]", b"ab")

    def put(*words: int, number: int = 0, key_size: int = 2, size: int = 20, helper: int = 12) -> str:
        request = host.ffi.new("uint32_t[]", words or [0, 8, 0, 0, 8])
        got = host.lib.lpn_host_call(host.handle, helper, [which(number, key_size, size), address(key), address(request), 0, 0])
        return host.error_name(got >> 32) if got >> 32 else str(got)

    bad = "bad helper argument"
    assert put(number=1) == put(key_size=3) == put(size=16) == put(0, 8, 257, 0, 0) == put(0, 8, 0, 11, 0) == put(0, 8, 0, 3, 8) == bad
    assert put(1 << 16, 8, 0, 0, 8) == put(0, 1 << 16, 0, 0, 8) == put(number=7, helper=14) == bad
    assert put(0, 8, 0, 0, 9) == str(TOO_LONG) and put(0, 8, 0, 10, 0) == str(DUPLICATE) and put() == str(COMPLETE)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_node_runs_their_chains(seed: int, tmp_path: Path) -> None:
    """The C node and its second writing have the same time line, overruns of too many completions included."""
    rng, at, lines = Random(seed), 0, ["node short=1", "until 400 s"]
    while at < 390 * SECOND:
        at += rng.choice((5_000, 50_000, SECOND, 6 * SECOND))
        fill = rng.choice((b"\x05", b"\x06", b"\x4d", b"\x4e"))
        if rng.random() < 0.8:
            frame = piece(rng.choice((1, 2)), rng.choice((0, 8, 16, 20, 20, 24)), rng.choice((0, 8, 16, 4)), fill * rng.choice((8, 8, 8, 4, 16, 0, 7)),
                          rng.choice((0, 0, 1, 2)))
        else:
            frame = bytes([rng.randrange(10, 15), rng.choice((5, 6))]) + fill * rng.choice((0, 3, 40, 41))
        lines.append(f"{at} us air {frame.hex()}")
    (tmp_path / "kept.lpn").write_text(TEXT)
    (tmp_path / "kept.events").write_text("\n".join(lines) + "\n")
    done = lpnc("run", tmp_path / "kept.lpn", "--events", tmp_path / "kept.events", "--compare", "engine,reference")
    assert done.exit_code == 0, done.output[-2000:]
    assert "buffer.complete.0" in done.output and "buffer.complete.1" in done.output


@pytest.mark.skipif(missing("m3") is not None, reason="no emulated core")
@pytest.mark.parametrize("size, entries, key, octets", [(64, 1, 1, 64), (2048, 1, 1, 2048), (64, 32, 1, 64), (64, 16, 64, 8), (1280, 4, 18, 1280)])
def test_the_declared_cost_is_never_exceeded(size: int, entries: int, key: int, octets: int) -> None:
    """On the emulated core, with wait states: all entries taken, their keys alike but for the last octet."""
    called = Called(size, entries, key)
    for name in ("buffer_put", "buffer_hold", "buffer_take", "buffer_drop"):
        for last in range(2, entries + 2):
            called.cycles("buffer_put", last, 8)
        assert called.cycles(name, 1, octets, total=octets if name == "buffer_put" else 0) <= called.bound(name, octets)
        for last in range(1, entries + 2):
            called.cycles("buffer_drop", last, 8)


class Called:
    """A buffer on the emulated core, whose helpers are called from outside."""

    def __init__(self, size: int, entries: int, key: int, timeout: int = 0) -> None:
        from lpn.runtime.m3.core import Core
        from lpn.runtime.m3.host import M3Host
        self.buffer, self.key, self.costs = Buffer("b", size, entries, (8 * key,), timeout), key, load_costs("thumb2")
        self.host = M3Host(0, 0, 1000, Core())
        self.core = self.host.core
        assert self.core.call("lpn_host_buffer", self.host.handle, size, entries, key, timeout) == 0
        packet, out, self.keys, self.request, self.registers = (self.core.allocate(room) for room in (2049, 256, 64, 20, 40))
        self.core.call("lpn_host_view", self.host.handle, packet + 1, 2048, out, 5)     # the packet lies at no word
        self.kept = Buffers(self.core, [self.buffer])

    def cycles(self, name: str, last: int, length: int, head: int = 0, offset: int = 0, total: int = 0) -> int:
        self.core.write(self.keys, (b"\1" * (self.key - 1) + bytes([last])).ljust(64, b"\0"))
        self.core.write(self.request, struct.pack("<5I", offset, total, head, 0, length))
        self.core.write(self.registers, struct.pack("<5Q", which(0, self.key, 20), self.keys, self.request, 0, 0))
        self.core.forget()
        self.core.call("lpn_host_call", self.host.handle, BY_NAME[name].number, self.registers)
        return self.core.count().most_cycles

    def bound(self, name: str, piece: int) -> int:
        """With the way from a container to the helper, for which that from outside stands."""
        return self.costs.helper(name, 0, [TableSize(self.buffer.entries, self.key, octets=self.buffer.size, piece=piece)]).most


@pytest.mark.skipif(missing("m3") is not None, reason="no emulated core")
@pytest.mark.parametrize("seed", range(6))
def test_a_call_takes_one_way(seed: int) -> None:
    """Whatever lies in the entries: what is found, what gives way, what was there before, what does not belong together."""
    rng = Random(seed)
    size, entries, key = rng.choice((64, 256, 1280)), rng.choice((1, 3, 9)), rng.choice((1, 5, 20))
    called = Called(size, entries, key, 1 << 30)
    called.cycles("buffer_drop", 1, 8)                                  # now it is known where the entries lie
    [memory], units, longest = called.kept.memory, size // 8, 0.0
    for _ in range(60):
        name = rng.choice(("buffer_put",) * 4 + ("buffer_hold", "buffer_take", "buffer_drop"))
        first, last = sorted(rng.choice((0, 1, units // 2, units)) for _ in range(2))
        piece = 8 * (last - first) or 8
        head = rng.choice((0, min(piece, 256)))
        offset, total = min(8 * first, size - piece), rng.choice((0, size, size))
        rows = []
        for i in range(entries):
            have = rng.choice((set(), {1 % units}, set(range(units)), set(range(units)) - set(range(offset // 8, (offset + piece) // 8)),
                               {each for each in range(units) if rng.random() < 0.9}))
            own = b"\1" * (key - 1) + bytes([rng.choice((1, 2 + i, 2 + i))])
            row = bytearray(entry(called.buffer, rng.choice((0, 1, 1, 1, 2)), own, 0, rng.choice((i, entries - i)), rng.choice((0, size)), have))
            if rng.random() < 0.5:                                      # came as one piece: this very one, perhaps
                begins = 16 + (key + 7) // 8 * 8 + called.buffer.map_bytes
                row[begins:begins + called.buffer.map_bytes] = (1 << offset // 8).to_bytes(called.buffer.map_bytes, "little")
            rows.append(bytes(row))
        called.core.write(memory, b"".join(rows))
        took, bound = called.cycles(name, 1, piece - head, head, offset, total), called.bound(name, piece)
        assert took <= bound, (name, piece, head, offset, total)
        longest = max(longest, took / bound)
        called.core.call("lpn_host_taken", called.host.handle)
    assert longest > 0.5


def test_the_reference_says_which_buffer_started_a_chain_as_engines_do():
    assert [one.buffer for one in as_result(Result("ACCEPT", None, None, completed=(Result("DROP", None, None, buffer=3),))).completed] == [3]
