"""The formats of the standard library on real traffic, field by field as tshark reads it."""
from __future__ import annotations

import csv
import shlex
from functools import lru_cache

import pytest
from corpus import ABSENT as NO_CAPTURES, CAPTURES
from judge import ABSENT, TSHARK, read_fields
from programs import chain, program
from test_stdlib_tshark import BEACON, MAC, MESSAGES

from lpn.lang.reference import Reference
from lpn.lang.reference.modules import run_module
from lpn.runtime.capture import read

pytestmark = [pytest.mark.skipif(TSHARK is None, reason=ABSENT), pytest.mark.skipif(CAPTURES is None, reason=NO_CAPTURES)]

MAC_TEXT = chain("Mhr mac; BeaconFrame beacon; CommandFrame command; AssociationRequest request; AssociationResponse response;", """
    state start {
        pkt.extract(h.mac);
        transition select(h.mac.security, h.mac.ie_present, h.mac.frame_type) {
            (0, 0, FrameType.BEACON):  beacon;
            (0, 0, FrameType.COMMAND): command;
            default:                   accept;
        }
    }
    state beacon { pkt.extract(h.beacon); transition accept; }
    state command {
        pkt.extract(h.command);
        transition select(h.command.id) {
            CMD_ASSOCIATION_REQUEST:  request;
            CMD_ASSOCIATION_RESPONSE: response;
            default: accept;
        }
    }
    state request  { pkt.extract(h.request);  transition accept; }
    state response { pkt.extract(h.response); transition accept; }
""", "pkt.emit(h.mac);", imports="ieee802154")

RPL_TEXT = chain("Ipv6 ip; Ipv6Ext[1] ext; Icmpv6(ip) icmp; RplDis dis; RplDio dio; RplDao dao; RplDaoAck ack; NeighborSolicitation ns; "
                 "NeighborAdvertisement na; IcmpEcho echo; RplConfiguration configuration; RplPrefixInformation prefix; RplTarget target; "
                 "RplTransit transit; RplOption[6] other;", """
    bit<8> next;
    state start { pkt.extract(h.ip); transition select(h.ip.next_header) { HOP_BY_HOP: ext; ICMPV6: icmp; default: reject; } }
    state ext { pkt.extract(h.ext.next); transition select(h.ext.last.next_header) { ICMPV6: icmp; default: reject; } }
    state icmp {
        pkt.extract(h.icmp);
        transition select(h.icmp.type, h.icmp.code) {
            (RPL_CONTROL, RPL_DIS):      dis;
            (RPL_CONTROL, RPL_DIO):      dio;
            (RPL_CONTROL, RPL_DAO):      dao;
            (RPL_CONTROL, RPL_DAO_ACK):  ack;
            (NEIGHBOR_SOLICITATION, 0):  ns;
            (NEIGHBOR_ADVERTISEMENT, 0): na;
            (ECHO_REQUEST, 0):           echo;
            (ECHO_REPLY, 0):             echo;
        }
    }
    state ns   { pkt.extract(h.ns);   transition accept; }
    state na   { pkt.extract(h.na);   transition accept; }
    state echo { pkt.extract(h.echo); transition accept; }
    state dis  { pkt.extract(h.dis);  transition options; }
    state dio  { pkt.extract(h.dio);  transition options; }
    state dao  { pkt.extract(h.dao);  transition options; }
    state ack  { pkt.extract(h.ack);  transition options; }
    state options max 12 { transition select(sizeof(payload)) { 0: accept; default: option; } }
    state option {
        transition select(pkt.lookahead<bit<8>>()) {
            RPL_CONFIGURATION:      configuration;
            RPL_PREFIX_INFORMATION: prefix;
            RPL_TARGET:             target;
            RPL_TRANSIT:            transit;
            default:                other;
        }
    }
    state configuration { pkt.extract(h.configuration); transition options; }
    state prefix        { pkt.extract(h.prefix);        transition options; }
    state target        { pkt.extract(h.target);        transition options; }
    state transit       { pkt.extract(h.transit);       transition options; }
    state other         { pkt.extract(h.other.next);    transition options; }
""", "pkt.emit(h.ip);", imports="rpl nd")


def values(text: str, frame: bytes) -> tuple[str | None, dict[str, dict[str, int]]]:
    """Why the frame is rejected, or None; the valid headers' fields that are there."""
    reference = Reference(program(text))
    run = reference.prepare(frame, None, None)
    outcome = run_module(run, reference.program.chain[0])
    out = {}
    for name, one in run.headers.fields.items():
        if getattr(one, "valid", False):
            out[name] = {field.name: one.read(field) for field in one.header.fields() if one.present(field)}
    return outcome.reason if outcome.verdict == "DROP" else None, out


def agree(header: dict[str, int], found: dict[str, list[int]], named: dict[str, str], frame: bytes) -> None:
    for field, name in named.items():
        assert found[name][:1] == ([header[field]] if field in header else []), (field, frame.hex())


@lru_cache
def readings(name: str, names: tuple[str, ...]) -> list[dict[str, list[int]]]:
    with open(CAPTURES / "MANIFEST.tsv", newline="", encoding="utf-8") as stream:
        row = next(row for row in csv.DictReader(stream, delimiter="\t") if row["file"] == f"{name}.pcap")
    return read_fields(CAPTURES / f"{name}.pcap", list(names), tuple(shlex.split(row["tshark_opts"])))


@pytest.mark.parametrize("name, beacons, commands", [("zigbee_control4", 4, 10), ("zigbee_hue_tap", 1, 4), ("mac_mle_vectors", 2, 6)])
def test_beacons_and_commands(name, beacons, commands):
    named = {"request": MAC["association request"][3], "response": MAC["association response"][3]}
    names = ("wpan.fcs_ok", "wpan.cmd", "_ws.malformed", *BEACON.values(), *named["request"].values(), *named["response"].values())
    seen = {"beacon": 0, "command": 0}
    for frame, found in zip(read(CAPTURES / f"{name}.pcap"), readings(name, names), strict=True):
        if frame.fcs_ok is False:
            continue
        reason, headers = values(MAC_TEXT, frame.data)
        if reason is not None:
            continue
        if "beacon" in headers:
            agree(headers["beacon"], found, BEACON, frame.data)
        for part in set(named) & set(headers):
            agree(headers[part], found, named[part], frame.data)
        if "command" in headers:
            assert found["wpan.cmd"] == [headers["command"]["id"]]
        for part in seen:
            seen[part] += part in headers
    assert (seen["beacon"], seen["command"]) >= (beacons, commands), seen


SENT = {"dio": MESSAGES["DIO"][4], "dao": MESSAGES["DAO"][4], "ack": MESSAGES["DAO-ACK"][4], "dis": MESSAGES["DIS"][4],
        "ns": MESSAGES["NS"][4], "na": MESSAGES["NA"][4], "echo": MESSAGES["echo"][4], "configuration": MESSAGES["configuration"][4],
        "prefix": MESSAGES["prefix information"][4], "target": MESSAGES["target"][4],
        "transit": MESSAGES["transit"][4]}


@pytest.mark.parametrize("name, step, least", [
    ("rpl_collect_cooja", 25, {"dio": 200, "dao": 50, "configuration": 200, "prefix": 200}),
    ("dtls_rpl_frag_a", 1, {"dio": 300, "dao": 4, "ns": 3}), ("plugtest_hc", 1, {"echo": 30})])
def test_icmpv6_messages(name, step, least):
    names = tuple(dict.fromkeys(each for named in SENT.values() for each in named.values()))
    found_in = dict(enumerate(readings(name, ("icmpv6.type", "icmpv6.checksum.status", *names)), 1))
    seen = dict.fromkeys(SENT, 0)
    with open(CAPTURES / "expected" / f"{name}.bytes.tsv", newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if "IPHC" in row["data_source"]]
    for row in rows[::step]:
        found, datagram = found_in[int(row["frame.number"])], bytes.fromhex(row["hex"])
        if len(found["icmpv6.type"]) != 1:
            continue
        reason, headers = values(RPL_TEXT, datagram)
        assert reason is None or found["icmpv6.type"][0] not in (128, 129, 135, 136, 155), (reason, datagram.hex())
        for part in set(SENT) & set(headers):
            agree(headers[part], found, SENT[part], datagram)
            seen[part] += 1
    assert all(seen[part] >= count for part, count in least.items()), seen


IE_TEXT = chain("Mhr mac; AuxSecurity(mac) security; HeaderIe ie; TschTimeCorrection time;", """
    state start {
        pkt.extract(h.mac);
        transition select(h.mac.ie_present, h.mac.security) { (1, 1): secured; (1, 0): ie; default: accept; }
    }
    state secured { pkt.extract(h.security); transition ie; }
    state ie { pkt.extract(h.ie); transition select(h.ie.id) { TIME_CORRECTION_IE: time; default: accept; } }
    state time { pkt.extract(h.time); transition accept; }
""", "pkt.emit(h.mac);", imports="tsch")
SECURITY = {"level": "wpan.aux_sec.sec_level", "key_mode": "wpan.aux_sec.key_id_mode", "frame_counter": "wpan.aux_sec.frame_counter",
            "counter_suppression": "wpan.aux_sec.frame_counter_suppression", "asn_in_nonce": "wpan.aux_sec.asn_in_nonce"}


def test_header_ies_of_6tisch():
    """The addressing, security and header IEs of frames of version 2."""
    named = {"security": SECURITY, "ie": {"id": "wpan.header_ie.id", "length": "wpan.header_ie.length"},
             "time": MAC["time correction"][3]}
    names = tuple(each for part in named.values() for each in part.values())
    seen = dict.fromkeys(named, 0)
    for frame, found in zip(read(CAPTURES / "tsch_6tisch.pcap"), readings("tsch_6tisch", names), strict=True):
        reason, headers = values(IE_TEXT, frame.data)
        assert reason is None, (reason, frame.data.hex())
        for part in set(named) & set(headers):
            agree(headers[part], found, named[part], frame.data)
            seen[part] += 1
    assert seen["security"] > 300 and seen["time"] > 200, seen
