"""The UDP example, run by the reference interpreter on a recording of RIOT nodes."""
from __future__ import annotations

import corpus
from programs import example

from lpn.lang.reference import Reference
from lpn.lang.reference.values import inet_sum

ECHO = 7
NODE = 0x024C504E00000009


def answers() -> list[dict[str, str]]:
    return corpus.rows(corpus.path_of("riot_udp").with_suffix(".tshark.tsv"))


def test_the_example_on_its_recording():
    udp, expand = Reference(example("udp/udp")), Reference(example("decompress/decompress"))
    state = udp.state()
    seen = {"DELIVER": 0, "TRANSMIT": 0, "BadChecksum": 0, "other": 0}
    frames = {frame.number: frame.data for frame in corpus.captures.read(corpus.path_of("riot_udp"))}
    for row in answers():
        if row["kind"] == "bad":
            continue
        result = udp.run(frames[int(row["frame"])], {"node_ext": NODE}, state)
        if not row["dstport"] or row["kind"] != "whole":
            assert result.verdict == "DROP"
            seen["other"] += 1
        elif row["udp_ok"] == "0":
            assert (result.verdict, result.reason) == ("DROP", "BadChecksum")
            seen["BadChecksum"] += 1
        elif int(row["dstport"]) == ECHO:
            assert result.verdict == "TRANSMIT" and result.out is not None
            echo, datagram = expand.run(result.out).out, bytes.fromhex(row["datagram"])
            assert echo is not None
            assert (echo[24:40], echo[40:42], echo[42:44]) == (datagram[8:24], b"\0\7", datagram[40:42])
            assert echo[8:24] == bytes.fromhex("fe80000000000000") + (NODE ^ 1 << 57).to_bytes(8, "big")
            assert (echo[7], echo[48:]) == (64, datagram[48:])
            pseudo = echo[8:40] + echo[4:6] + b"\0\x11"
            assert inet_sum(pseudo + echo[40:]) == 0xFFFF
            seen["TRANSMIT"] += 1
        else:
            assert (result.verdict, result.port) == ("DELIVER", int(row["dstport"]))
            seen["DELIVER"] += 1
    assert seen["BadChecksum"] == 4 and min(seen.values()) > 3
    assert (state.get("echoed"), state.get("delivered")) == (seen["TRANSMIT"], seen["DELIVER"])
