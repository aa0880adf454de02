"""The examples with captures of scapy: the captures can be made again, engines agree on them, tshark reads what comes out."""
from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from judge import ABSENT, IEEE802154_NOFCS, TSHARK, fields
from programs import ROOT, example

from lpn.compiler.runner import make_runner
from lpn.lang import ast, tables
from lpn.runtime.capture import read
from lpn.runtime.engines import Result

EXAMPLES = ROOT / "examples"


def maker(name: str) -> ModuleType:
    """The script that makes an example's capture."""
    path = EXAMPLES / name / "captures" / "make.py"
    spec = importlib.util.spec_from_file_location(f"make_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcomes(program: ast.Program, capture: Path, meta: dict[str, int], given: Path | None = None) -> list[tuple[bytes, Result]]:
    """Each frame and what becomes of it, the same in the C engine and in the reference."""
    state = tables.load(given, program) if given is not None else None
    engine, reference = (make_runner(name, program, state) for name in ("engine", "reference"))
    out = []
    for frame in read(capture):
        result, expected = (runner.run(frame.data, meta) for runner in (engine, reference))
        assert (result.verdict, result.reason, result.port, result.out) == (expected.verdict, expected.reason, expected.port, expected.out), frame
        out.append((frame.data, result))
    return out


@pytest.mark.parametrize("name, capture", [("forwarding", "mesh.pcap"), ("coap_sensor", "requests.pcap"), ("zigbee", "routed.pcap")])
def test_captures_are_what_their_script_makes(name, capture):
    pytest.importorskip("scapy.all", reason="scapy is not here")
    assert [frame.data for frame in read(EXAMPLES / name / "captures" / capture)] == maker(name).frames()


@pytest.mark.skipif(TSHARK is None, reason=ABSENT)
def test_forwarded_packets_are_the_received_ones_a_hop_later():
    folder = EXAMPLES / "forwarding"
    done = outcomes(example("forwarding/forwarding"), folder / "captures" / "mesh.pcap", {"node_short": 1, "node_pan": 0x23}, folder / "tables.json")
    sent = [(frame, result.out) for frame, result in done if result.verdict == "TRANSMIT"]
    assert len(sent) > 15 and all(out is not None for _, out in sent)
    same = ["ipv6.src", "ipv6.dst", "ipv6.nxt", "ipv6.plen", "udp.srcport", "udp.dstport", "udp.checksum", "icmpv6.checksum", "icmpv6.echo.sequence_number"]
    names = [*same, "ipv6.hlim", "wpan.src16", "wpan.dst16", "udp.checksum.status", "icmpv6.checksum.status"]
    checked = ("-o", "udp.check_checksum:TRUE")
    before = fields([frame for frame, _ in sent], IEEE802154_NOFCS, names, checked)
    after = fields([out for _, out in sent], IEEE802154_NOFCS, names, checked)
    for old, new in zip(before, after, strict=True):
        assert {name: new[name] for name in same} == {name: old[name] for name in same}
        assert new["ipv6.hlim"] == [old["ipv6.hlim"][0] - 1]
        assert new["wpan.src16"] == [1] and new["wpan.dst16"][0] in (2, 3, 4)
        assert new["udp.checksum.status"] + new["icmpv6.checksum.status"] == [1]


@pytest.mark.skipif(TSHARK is None, reason=ABSENT)
def test_source_routes_are_followed():
    """What becomes of each frame by tshark's reading of it; radius, relay index and MAC addresses change, and nothing else."""
    folder = EXAMPLES / "zigbee"
    done = outcomes(example("zigbee/zigbee"), folder / "captures" / "routed.pcap", {"node_short": 1, "node_pan": 0x1A62}, folder / "tables.json")
    same = ["zbee_nwk.fcf", "zbee_nwk.dst", "zbee_nwk.src", "zbee_nwk.seqno", "zbee_nwk.src64", "zbee_nwk.relay.count", "zbee_nwk.relay", "wpan.dst_pan"]
    names = [*same, "zbee_nwk.radius", "zbee_nwk.relay.index", "wpan.src16", "wpan.dst16"]
    before = fields([frame for frame, _ in done], IEEE802154_NOFCS, names)
    after = iter(fields([result.out for _, result in done if result.verdict == "TRANSMIT"], IEEE802154_NOFCS, names))
    heard, sent = {}, 0
    for old, (frame, result) in zip(before, done, strict=True):
        dst, (source,), (radius,) = old["zbee_nwk.dst"][0], old["zbee_nwk.src"], old["zbee_nwk.radius"]
        relays, index = old["zbee_nwk.relay"], (old["zbee_nwk.relay.index"] or [0])[0]
        again = heard.get(source) == old["zbee_nwk.seqno"]
        heard[source] = old["zbee_nwk.seqno"]
        if again:
            expected = "Duplicate"
        elif dst == 1 or dst >= 0xFFFC:
            expected = "DELIVER"
        elif radius < 2:
            expected = "Radius"
        elif relays:
            hop = (relays[index - 1] if index else dst) if relays[index] == 1 else 0
            expected = "TRANSMIT" if hop else "NotOurs"
        else:
            hop = {5: 2, 6: 3}.get(dst, 0)
            expected = "TRANSMIT" if hop else "NoRoute"
        assert (result.reason or result.verdict) == expected, frame.hex()
        if expected == "TRANSMIT":
            new = next(after)
            assert {name: new[name] for name in same} == {name: old[name] for name in same}
            assert new["zbee_nwk.radius"] == [radius - 1] and new["wpan.src16"] == [1] and new["wpan.dst16"] == [hop]
            assert new["zbee_nwk.relay.index"] == ([max(index - 1, 0)] if relays else [])
            sent += bool(relays)
    assert sent > 10


SENSOR = {"node_short": 1, "node_ext": 0x0200000000000001, "node_pan": 0x23}


@pytest.mark.skipif(TSHARK is None, reason=ABSENT)
def test_coap_answers_are_those_of_the_requests():
    folder = EXAMPLES / "coap_sensor"
    done = outcomes(example("coap_sensor/coap_sensor"), folder / "captures" / "requests.pcap", SENSOR, folder / "tables.json")
    names = ["coap.type", "coap.code", "coap.mid", "coap.token", "ipv6.src", "ipv6.dst", "udp.srcport", "udp.dstport", "udp.checksum.status",
             "coap.payload_length", "coap.opt.ctype", "wpan.dst16"]
    answered = [(frame, result.out) for frame, result in done if result.verdict == "TRANSMIT"]
    asked, told = (fields([pair[n] for pair in answered], IEEE802154_NOFCS, names, ("-o", "udp.check_checksum:TRUE")) for n in (0, 1))
    codes = set()
    for request, answer in zip(asked, told, strict=True):
        assert answer["udp.checksum.status"] == [1]
        assert (answer["ipv6.dst"], answer["udp.dstport"], answer["udp.srcport"]) == (request["ipv6.src"], request["udp.srcport"], [5683])
        assert answer["coap.token"] == request["coap.token"] and answer["wpan.dst16"] == [9]
        if request["coap.type"] == [0]:
            assert (answer["coap.type"], answer["coap.mid"]) == ([3 if request["coap.code"] == [0] else 2], request["coap.mid"])
        else:
            assert answer["coap.type"] == [1]
        assert answer["coap.payload_length"] == ([3] if answer["coap.code"] == [0x45] else [])
        codes.add(answer["coap.code"][0])
    assert codes >= {0x45, 0x82, 0x84, 0x85}
