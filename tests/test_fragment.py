"""RFC 4944 fragments: the example that puts them together, the one that makes them, and judges of both."""
from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import corpus
import pytest
from cli import lpnc
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import ABSENT, TSHARK, read_fields
from scapy.layers.inet6 import IPv6

from lpn.compiler.build import compile_program
from lpn.compiler.runner import make_runner
from lpn.lang import tables
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.runtime.capture import read

EXAMPLE = Path(__file__).parents[1] / "examples" / "fragment"
CAPTURE = EXAMPLE / "captures" / "fragments.pcap"
PROGRAM = check(load(EXAMPLE / "reassemble.lpn"))
COMPILED = compile_program(PROGRAM)
NEEDS_TSHARK = pytest.mark.skipif(TSHARK is None, reason=ABSENT)


def given_datagrams() -> list[bytes]:
    """What send.events hands to the sender."""
    lines = (EXAMPLE / "send.events").read_text().splitlines()
    return [bytes.fromhex(line.split()[-1]) for line in lines if " net.tx " in line]


def datagrams(frames: list[tuple[bytes, int]], contexts: dict | None = None, engine: str = "engine") -> list[tuple[bytes, ...]]:
    """For each (frame, time) the datagrams that it gives or completes."""
    given_tables = tables.from_json({"contexts": contexts}, PROGRAM) if contexts else None
    runner = make_runner(engine, PROGRAM, given_tables, compiled=COMPILED)
    out = []
    for data, at in frames:
        result = runner.run(data, {"clock": at & 0xFFFF_FFFF})
        out.append(tuple(one.out for one in (result, *result.completed) if one.out is not None))
    return out


def checksum_holds(datagram: bytes) -> bool:
    """As scapy computes it."""
    packet = IPv6(datagram)
    upper = packet.lastlayer() if packet.nh not in (17, 58) else packet.payload
    name = "chksum" if hasattr(upper, "chksum") else "cksum"
    sent = getattr(upper, name)
    delattr(upper, name)
    return getattr(IPv6(bytes(packet)).payload, name) == sent


# ---------------------------------------------------------------- judges

@pytest.mark.skipif(corpus.CAPTURES is None, reason=corpus.ABSENT)
def test_every_rule_of_the_rfc() -> None:
    """Fragments in any order, twice, overlapping, missing, late, too long, cut: what RFC 4944 says of each frame."""
    assert corpus.CAPTURES is not None
    folder = corpus.CAPTURES / "rfc6282"
    prefixes = {part[15:].partition(":")[0]: part.partition(":")[2].split("/") for part in (folder / "TSHARK_OPTS.txt").read_text().split()
                if part.startswith("6lowpan.")}
    contexts = {number: {"prefix": prefix, "length": int(length)} for number, (prefix, length) in prefixes.items()}
    runner = make_runner("engine", PROGRAM, tables.from_json({"contexts": contexts}, PROGRAM), compiled=COMPILED)
    tally: Counter = Counter()
    for frame, row in zip(read(folder / "frag.pcap"), corpus.rows(folder / "expected" / "frag.truth.tsv"), strict=True):
        result = runner.run(frame.data, {"clock": frame.time_us & 0xFFFF_FFFF})
        outs = [one.out.hex() for one in (result, *result.completed) if one.out is not None]
        good = outs == ([row["rfc"]] if row["rfc"] else []) and (row["verdict"] == "accept" or result.verdict == "DROP")
        if not good and row["strength"] == "OPEN":
            good = "".join(outs) in (row["rfc_alt"] or "", "")
        assert good, (row, result)
        tally[row["strength"]] += 1
    assert tally == {"RFC": 504, "OPEN": 64, "SANE": 60, "C1": 14}


@pytest.mark.parametrize("name", corpus.OWN_FILES)
def test_what_riot_sends(name: str) -> None:
    """Recordings of RIOT nodes: every datagram that was sent in fragments comes out, its checksum right."""
    contexts = json.loads((EXAMPLE.parent / "decompress" / "contexts.json").read_text())["contexts"]
    runner = make_runner("engine", PROGRAM, tables.from_json({"contexts": contexts}, PROGRAM), compiled=COMPILED)
    frames = [frame for frame in read(corpus.path_of(name)) if frame.fcs_ok]
    kinds = {int(row["frame"]): row["kind"] for row in corpus.rows(corpus.path_of(name).with_suffix(".tshark.tsv"))}
    first = {frame.data[2:] for frame in frames if kinds[frame.number] == "first"}      # a frame without acknowledgement comes again
    put_together = [one.out for frame in frames for one in runner.run(frame.data, {"clock": frame.time_us & 0xFFFF_FFFF}).completed]
    assert len(put_together) == len(first) > 2 and all(map(checksum_holds, put_together))


@NEEDS_TSHARK
def test_tshark_reads_what_is_sent() -> None:
    """Of the frames that the sender makes: the sizes of what they are part of, and right UDP checksums."""
    fields = read_fields(CAPTURE, ["6lowpan.frag.size", "6lowpan.reassembled.length", "udp.checksum.status"], ("-o", "udp.check_checksum:TRUE"))
    sizes = [len(one) for one in given_datagrams()]
    assert [row["6lowpan.reassembled.length"][0] for row in fields if row["6lowpan.reassembled.length"]] == [248, 348, 1280, 151, 108]
    assert {size for row in fields for size in row["6lowpan.frag.size"]} == {size for size in sizes if size > 99}
    assert [status for row in fields for status in row["udp.checksum.status"]] == [1] * 6


# ---------------------------------------------------------------- there and back

def test_the_capture_is_what_the_sender_makes(tmp_path: Path) -> None:
    run = ("run", EXAMPLE / "send.lpn", "--events", EXAMPLE / "send.events")
    assert lpnc(*run, "--compare", "engine,reference").exit_code == 0
    assert lpnc(*run, "--out", tmp_path / "x.pcap").exit_code == 0
    made, kept = ([frame.data for frame in read(path)] for path in (tmp_path / "x.pcap", CAPTURE))
    assert made == kept                         # their times hang on how many instructions the containers have
    assert all(len(frame.data) <= 125 for frame in read(CAPTURE))


@pytest.mark.parametrize("engine", ["engine", "reference", "rbpf"])
def test_there_and_back(engine: str) -> None:
    """All that was sent arrives, but for the one whose first fragment nobody acknowledged."""
    frames = [(frame.data, frame.time_us) for frame in read(CAPTURE)]
    arrived = [one for several in datagrams(frames, engine=engine) for one in several]
    sent = given_datagrams()
    assert arrived == sent[:7] + sent[8:] and all(map(checksum_holds, arrived))


FRAGMENTED = [(frame.data, index) for index, frame in enumerate(read(CAPTURE)) if frame.data[9] >> 5 in (6, 7)][:3 + 4]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.permutations(FRAGMENTED), st.lists(st.sampled_from(FRAGMENTED), max_size=4), st.randoms(use_true_random=False))
def test_order_and_repeats_do_not_matter(order, repeated, random) -> None:
    """Two datagrams, their fragments mixed; a repeat in front of the last new fragment of its datagram changes nothing."""
    frames = list(order)
    for again in repeated:
        first = next(place for place, one in enumerate(frames) if one == again)
        rest = [place for place, one in enumerate(frames) if place > first and one[0][10:13] == again[0][10:13] and one not in frames[:place]]
        if rest:
            frames.insert(random.randint(first + 1, rest[-1]), again)
    arrived = [one for several in datagrams([(data, 0) for data, _ in frames]) for one in several]
    sent = given_datagrams()
    assert sorted(arrived) == sorted((sent[1], sent[3]))


@pytest.mark.skipif(corpus.CAPTURES is None, reason=corpus.ABSENT)
@pytest.mark.parametrize("name, late", [("dtls_rpl_frag_a", []), ("thread_commissioning", []), ("rpl_collect_cooja", [15943])])
def test_real_traffic(name: str, late: list[int]) -> None:
    """What tshark puts together, octet for octet; it has no time-out, and here one datagram's last fragment comes too late."""
    assert corpus.CAPTURES is not None
    given_tables = tables.from_json(corpus.tables_for(name) or {}, PROGRAM)
    runner = make_runner("engine", PROGRAM, given_tables, compiled=COMPILED)
    wanted = {int(row["frame.number"]): bytes.fromhex(row["hex"]) for row in corpus.rows(corpus.CAPTURES / "expected" / f"{name}.bytes.tsv")
              if row["data_source"].startswith("Reassembled")}
    got = {}
    for frame in read(corpus.path_of(name)):
        if frame.fcs_ok is not False:
            for one in runner.run(frame.data, {"clock": frame.time_us & 0xFFFF_FFFF}).completed:
                got[frame.number] = one.out
    assert got == {number: data for number, data in wanted.items() if number not in late} and set(late) <= set(wanted)
