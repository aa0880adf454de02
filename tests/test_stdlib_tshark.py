"""The formats of the standard library beside tshark's reading: of frames made from the descriptions, and of real ones."""
from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given, settings
from judge import ABSENT, IEEE802154_NOFCS, RAW_IPV6, TSHARK, fields
from programs import lossless, program
from strategies import valid

from lpn.lang.reference import Reference

pytestmark = pytest.mark.skipif(TSHARK is None, reason=ABSENT)

ND, OPT, RPL, RPLOPT = "icmpv6.nd.", "icmpv6.opt.", "icmpv6.rpl.", "icmpv6.rpl.opt."

# What is compared: the message's ICMPv6 type and code, its headers, and of `x` each field with tshark's name for it.
MESSAGES: dict[str, tuple[int, int, str, dict[str, str], dict[str, str]]] = {
    "echo": (128, 0, "icmpv6", {"x": "IcmpEcho"}, {"id": "icmpv6.echo.identifier", "seq": "icmpv6.echo.sequence_number"}),
    "RA": (134, 0, "nd", {"x": "RouterAdvertisement"}, {
        "cur_hop_limit": ND + "ra.cur_hop_limit", "managed": ND + "ra.flag.m", "other": ND + "ra.flag.o",
        "home_agent": ND + "ra.flag.h", "preference": ND + "ra.flag.prf", "proxy": ND + "ra.flag.p",
        "router_lifetime": ND + "ra.router_lifetime", "reachable_time": ND + "ra.reachable_time",
        "retrans_timer": ND + "ra.retrans_timer"}),
    "NS": (135, 0, "nd", {"x": "NeighborSolicitation"}, {"target": ND + "ns.target_address"}),
    "NA": (136, 0, "nd", {"x": "NeighborAdvertisement"}, {
        "router": ND + "na.flag.r", "solicited": ND + "na.flag.s", "override": ND + "na.flag.o", "target": ND + "na.target_address"}),
    "redirect": (137, 0, "nd", {"x": "Redirect"}, {"target": ND + "rd.target_address"}),
    "SLLA, TLLA": (133, 0, "nd", {"m": "RouterSolicitation", "x": "LinkAddressOption"}, {
        "type": OPT + "type", "length": OPT + "length"}),
    "PIO": (134, 0, "nd", {"m": "RouterAdvertisement", "x": "PrefixInformationOption"}, {
        "prefix_length": OPT + "prefix.length", "on_link": OPT + "prefix.flag.l", "autonomous": OPT + "prefix.flag.a",
        "router_address": OPT + "prefix.flag.r", "valid_lifetime": OPT + "prefix.valid_lifetime",
        "preferred_lifetime": OPT + "prefix.preferred_lifetime", "prefix": OPT + "prefix"}),
    "MTU": (134, 0, "nd", {"m": "RouterAdvertisement", "x": "MtuOption"}, {"mtu": OPT + "mtu"}),
    "ARO": (135, 0, "nd", {"m": "NeighborSolicitation", "x": "AddressRegistrationOption"}, {
        "status": OPT + "aro.status", "lifetime": OPT + "aro.registration_lifetime", "eui64": OPT + "aro.eui64"}),
    "6CO": (134, 0, "nd", {"m": "RouterAdvertisement", "x": "ContextOption"}, {
        "context_length": OPT + "6co.context_length", "compression": OPT + "6co.flag.c", "cid": OPT + "6co.flag.cid",
        "valid_lifetime": OPT + "6co.valid_lifetime"}),
    "ABRO": (134, 0, "nd", {"m": "RouterAdvertisement", "x": "AuthoritativeRouterOption"}, {
        "version_low": OPT + "abro.version_low", "version_high": OPT + "abro.version_high",
        "valid_lifetime": OPT + "abro.valid_lifetime", "router": OPT + "abro.6lbr_address"}),
    "DIS": (155, 0, "rpl", {"x": "RplDis"}, {"flags": RPL + "dis.flags"}),
    "DIO": (155, 1, "rpl", {"x": "RplDio"}, {
        "instance": RPL + "dio.instance", "version": RPL + "dio.version", "rank": RPL + "dio.rank", "grounded": RPL + "dio.flag.g",
        "mode": RPL + "dio.flag.mop", "preference": RPL + "dio.flag.preference", "dtsn": RPL + "dio.dtsn", "dodag": RPL + "dio.dagid"}),
    "DAO": (155, 2, "rpl", {"x": "RplDao"}, {
        "instance": RPL + "dao.instance", "ack_request": RPL + "dao.flag.k", "has_dodag": RPL + "dao.flag.d",
        "sequence": RPL + "dao.sequence", "dodag": RPL + "dao.dodagid"}),
    "DAO-ACK": (155, 3, "rpl", {"x": "RplDaoAck"}, {
        "instance": RPL + "daoack.instance", "has_dodag": RPL + "daoack.flag.d", "sequence": RPL + "daoack.sequence",
        "status": RPL + "daoack.status", "dodag": RPL + "daoack.dodagid"}),
    "CC": (155, 0x8A, "rpl", {"x": "RplConsistency"}, {}),
    "configuration": (155, 1, "rpl", {"m": "RplDio", "x": "RplConfiguration"}, {
        "authentication": RPLOPT + "config.auth", "path_control_size": RPLOPT + "config.pcs",
        "dio_interval_doublings": RPLOPT + "config.interval_double", "dio_interval_min": RPLOPT + "config.interval_min",
        "dio_redundancy": RPLOPT + "config.redundancy", "max_rank_increase": RPLOPT + "config.max_rank_inc",
        "min_hop_rank_increase": RPLOPT + "config.min_hop_rank_inc", "objective_code_point": RPLOPT + "config.ocp",
        "default_lifetime": RPLOPT + "config.def_lifetime", "lifetime_unit": RPLOPT + "config.lifetime_unit"}),
    "route information": (155, 1, "rpl", {"m": "RplDio", "x": "RplRouteInformation"}, {
        "prefix_length": RPLOPT + "route.prefix_length", "preference": RPLOPT + "route.pref", "lifetime": RPLOPT + "route.lifetime"}),
    "target": (155, 2, "rpl", {"m": "RplDao", "x": "RplTarget"}, {"prefix_length": RPLOPT + "target.prefix_length"}),
    "transit": (155, 2, "rpl", {"m": "RplDao", "x": "RplTransit"}, {
        "external": RPLOPT + "transit.flag.e", "path_control": RPLOPT + "transit.pathctl", "path_sequence": RPLOPT + "transit.pathseq",
        "path_lifetime": RPLOPT + "transit.pathlifetime", "parent": RPLOPT + "transit.parent"}),
    "solicited": (155, 0, "rpl", {"m": "RplDis", "x": "RplSolicited"}, {
        "instance": RPLOPT + "solicited.instance", "version_predicate": RPLOPT + "solicited.flag.v",
        "instance_predicate": RPLOPT + "solicited.flag.i", "dodag_predicate": RPLOPT + "solicited.flag.d",
        "dodag": RPLOPT + "solicited.dodagid", "version": RPLOPT + "solicited.version"}),
    "prefix information": (155, 1, "rpl", {"m": "RplDio", "x": "RplPrefixInformation"}, {
        "prefix_length": RPLOPT + "prefix.length", "on_link": RPLOPT + "prefix.flag.l",
        "valid_lifetime": RPLOPT + "prefix.valid_lifetime", "preferred_lifetime": RPLOPT + "prefix.preferred_lifetime"}),
    "target descriptor": (155, 2, "rpl", {"m": "RplDao", "x": "RplTargetDescriptor"}, {"descriptor": RPLOPT + "targetdesc.descriptor"}),
}
EACH = 12


def made(headers: dict[str, str], imports: str, fixed: dict[str, dict[str, int]]) -> list[tuple[bytes, dict[str, dict[str, int]]]]:
    """Frames of these headers, with the value of each scalar field of each."""
    one = program(lossless(headers, imports))
    reference, out = Reference(one), []

    @settings(max_examples=EACH)
    @given(valid(one, fixed))
    def collect(frame: bytes) -> None:
        out.append((frame, values_of(reference, frame)))

    collect()
    return out


def values_of(reference: Reference, frame: bytes) -> dict[str, dict[str, int]]:
    """Every header of a lossless program's, extracted one after the other: its present fields."""
    run = reference.prepare(frame, None, None)
    out = {}
    for name, instance in run.headers.fields.items():
        instance.extract(run.packet)
        out[name] = {field.name: instance.read(field) for field in instance.header.fields()
                     if instance.present(field) and not isinstance(instance.read(field), bytes)}
    return out


def compare(kinds: dict[str, tuple[list, dict[str, str]]], link_type: int, always: list[str], options: tuple[str, ...] = ()) -> dict[str, list]:
    """By kind, each frame with its fields as described and as tshark finds them: tshark starts once for all."""
    names = list(dict.fromkeys([*always, *(name for _, named in kinds.values() for name in named.values())]))
    found = iter(fields([frame for frames, _ in kinds.values() for frame, _ in frames], link_type, names, options))
    return {kind: [(frame, values, next(found)) for frame, values in frames] for kind, (frames, _) in kinds.items()}


def same(frame: bytes, values: dict[str, int], found: dict[str, list[int]], named: dict[str, str]) -> None:
    for field, name in named.items():
        expected = [values[field]] if field in values else []
        assert found[name][:1] == expected, (field, frame.hex())


@lru_cache
def messages() -> dict[str, list]:
    kinds = {}
    for kind, (type_, code, file, headers, named) in MESSAGES.items():
        whole = {"ip": "Ipv6", "icmp": "Icmpv6(ip)", **headers}
        kinds[kind] = made(whole, file, {"ip": {"next_header": 58, "hop_limit": 255}, "icmp": {"type": type_, "code": code}}), named
    return compare(kinds, RAW_IPV6, ["icmpv6.type", "icmpv6.code"])


@pytest.mark.parametrize("kind", MESSAGES)
def test_icmpv6_messages(kind):
    type_, code, *_, named = MESSAGES[kind]
    for frame, values, found in messages()[kind]:
        assert (found["icmpv6.type"][0], found["icmpv6.code"][0]) == (type_, code), frame.hex()
        same(frame, values["x"], found, named)


# ---------------------------------------------------------------- IEEE 802.15.4

BEACON = {"beacon_order": "wpan.beacon_order", "superframe_order": "wpan.superframe_order", "final_cap_slot": "wpan.cap",
          "battery_life_extension": "wpan.battery_ext", "pan_coordinator": "wpan.bcn_coord", "association_permit": "wpan.assoc_permit",
          "gts_count": "wpan.gts.count", "gts_permit": "wpan.gts.permit"}
COMMAND = {"frame_type": 3, "security": 0, "ie_present": 0, "seq_suppression": 0, "version": 1, "dst_mode": 2, "src_mode": 3}
SECURED = {"frame_type": 1, "security": 1, "ie_present": 0, "seq_suppression": 0, "dst_mode": 2, "src_mode": 2, "pan_compression": 1}
SECURITY = {"level": "wpan.aux_sec.sec_level", "key_mode": "wpan.aux_sec.key_id_mode", "frame_counter": "wpan.aux_sec.frame_counter",
            "key_index": "wpan.aux_sec.key_index"}
MAC: dict[str, tuple[str, dict[str, str], dict[str, dict[str, int]], dict[str, str]]] = {
    "beacon": ("ieee802154", {"x": "BeaconFrame"}, {"mac": COMMAND | {"frame_type": 0, "dst_mode": 0}}, BEACON),
    "association request": ("ieee802154", {"c": "CommandFrame", "x": "AssociationRequest"}, {"mac": COMMAND, "c": {"id": 1}}, {
        "alternate_coordinator": "wpan.cinfo.alt_coord", "full_function": "wpan.cinfo.device_type",
        "mains_powered": "wpan.cinfo.power_src", "rx_on_when_idle": "wpan.cinfo.idle_rx",
        "security_capable": "wpan.cinfo.sec_capable", "allocate_address": "wpan.cinfo.alloc_addr"}),
    "association response": ("ieee802154", {"c": "CommandFrame", "x": "AssociationResponse"}, {
        "mac": COMMAND | {"dst_mode": 3, "pan_compression": 1}, "c": {"id": 2}}, {"address": "wpan.asoc.addr", "status": "wpan.assoc.status"}),
    "disassociation": ("ieee802154", {"c": "CommandFrame", "x": "Disassociation"}, {
        "mac": COMMAND | {"dst_mode": 3, "pan_compression": 1}, "c": {"id": 3}}, {"reason": "wpan.disassoc.reason"}),
    "realignment": ("ieee802154", {"c": "CommandFrame", "x": "CoordinatorRealignment"}, {
        "mac": COMMAND | {"dst_pan": 0xFFFF}, "c": {"id": 8}}, {
            "pan": "wpan.realign.pan", "coordinator": "wpan.realign.addr", "channel": "wpan.realign.channel"}),
    "GTS request": ("ieee802154", {"c": "CommandFrame", "x": "GtsRequest"}, {
        "mac": COMMAND | {"dst_mode": 0, "src_mode": 2}, "c": {"id": 9}}, {
            "length": "wpan.gtsreq.length", "receive": "wpan.gtsreq.direction", "allocate": "wpan.gtsreq.type"}),
    "security, 2006": ("ieee802154", {"x": "AuxSecurity(mac)"}, {"mac": SECURED | {"version": 1}, "x": {"level": 0}}, SECURITY),
    "security": ("ieee802154", {"x": "AuxSecurity(mac)"}, {"mac": SECURED | {"version": 2}, "x": {"level": 0}}, SECURITY | {
        "counter_suppression": "wpan.aux_sec.frame_counter_suppression", "asn_in_nonce": "wpan.aux_sec.asn_in_nonce"}),
    "time correction": ("tsch", {"ie": "HeaderIe", "x": "TschTimeCorrection"}, {
        "mac": {"frame_type": 2, "security": 0, "ie_present": 1, "seq_suppression": 0, "version": 2, "dst_mode": 2, "src_mode": 0, "pan_compression": 0},
        "ie": {"length": 2, "id": 0x1E}}, {"correction": "wpan.header_ie.time_correction.value"}),
}
TIMES = {
    "cca_offset": "wpan.tsch.timeslot.cca_offset", "cca": "wpan.tsch.timeslot.cca", "tx_offset": "wpan.tsch.timeslot.tx_offset",
    "rx_offset": "wpan.tsch.timeslot.rx_offset", "rx_ack_delay": "wpan.tsch.timeslot.rx_ack_delay",
    "tx_ack_delay": "wpan.tsch.timeslot.tx_ack_delay", "rx_wait": "wpan.tsch.timeslot.rx_wait",
    "ack_wait": "wpan.tsch.timeslot.ack_wait", "rx_tx": "wpan.tsch.timeslot.turnaround", "max_ack": "wpan.tsch.timeslot.max_ack",
    "max_tx": "wpan.tsch.timeslot.max_tx", "length": "wpan.tsch.timeslot.length"}
NESTED = {"mac": {"frame_type": 0, "security": 0, "ie_present": 1, "seq_suppression": 0, "version": 2, "dst_mode": 0, "src_mode": 3, "pan_compression": 0},
          "end": {"length": 0, "id": 0x7E}}
MAC |= {
    "TSCH synchronization": ("tsch", {"end": "HeaderIe", "mlme": "PayloadIe", "ie": "ShortIe", "x": "TschSynchronization"},
                             NESTED | {"mlme": {"length": 8, "group": 1}, "ie": {"length": 6, "id": 0x1A}}, {
        "asn": "wpan.tsch.asn", "join_metric": "wpan.tsch.join_metric"}),
    "TSCH slotframe": ("tsch", {"end": "HeaderIe", "mlme": "PayloadIe", "ie": "ShortIe", "n": "TschSlotframes", "x": "TschSlotframe"},
                       NESTED | {"mlme": {"length": 7, "group": 1}, "ie": {"length": 5, "id": 0x1B}, "n": {"count": 1}, "x": {"links": 0}}, {
        "handle": "wpan.tsch.slotframe_handle", "size": "wpan.tsch.slotframe_size", "links": "wpan.tsch.nb_links"}),
    "TSCH link": ("tsch", {"end": "HeaderIe", "mlme": "PayloadIe", "ie": "ShortIe", "n": "TschSlotframes", "s": "TschSlotframe", "x": "TschLink"},
                  NESTED | {"mlme": {"length": 12, "group": 1}, "ie": {"length": 10, "id": 0x1B}, "n": {"count": 1}, "s": {"links": 1}}, {
        "timeslot": "wpan.tsch.link_timeslot", "channel_offset": "wpan.tsch.channel_offset", "transmit": "wpan.tsch.link_options.tx",
        "receive": "wpan.tsch.link_options.rx", "shared": "wpan.tsch.link_options.shared",
        "timekeeping": "wpan.tsch.link_options.timekeeping", "priority": "wpan.tsch.link_options.priority"}),
    "TSCH timeslot": ("tsch", {"end": "HeaderIe", "mlme": "PayloadIe", "ie": "ShortIe", "t": "TschTimeslot", "x": "TschTimeslotTimes"},
                      NESTED | {"mlme": {"length": 27, "group": 1}, "ie": {"length": 25, "id": 0x1C}}, TIMES),
    "TSCH timeslot of 27": ("tsch", {"end": "HeaderIe", "mlme": "PayloadIe", "ie": "ShortIe", "t": "TschTimeslot", "x": "TschTimeslotLongTimes"},
                            NESTED | {"mlme": {"length": 29, "group": 1}, "ie": {"length": 27, "id": 0x1C}}, TIMES),
    "TSCH hopping": ("tsch", {"end": "HeaderIe", "mlme": "PayloadIe", "ie": "LongIe", "x": "TschHopping"},
                     NESTED | {"mlme": {"length": 3, "group": 1}, "ie": {"length": 1, "id": 9}}, {"sequence": "wpan.tsch.hopping_sequence_id"}),
}
SIXTOP = {"mac": {"frame_type": 1, "security": 0, "ie_present": 1, "seq_suppression": 0, "version": 2, "dst_mode": 2, "src_mode": 2, "pan_compression": 1},
          "end": {"length": 0, "id": 0x7E}}
SIXP_CELLS = {"metadata": "wpan.6top_metadata", "transmit": "wpan.6top_cell_option_tx", "receive": "wpan.6top_cell_option_rx",
              "shared": "wpan.6top_cell_option_shared"}


@lru_cache
def sub_id() -> int:
    """Of 6top, as this tshark has it: RFC 8480's, or that of the draft."""
    if TSHARK is None:
        return 0x01
    ask = bytes.fromhex("41aa00000000000000003f05a80100070000")
    [found] = fields([ask], IEEE802154_NOFCS, ["wpan.frame_type", "wpan.6top_code"])
    return 0x01 if found["wpan.6top_code"] else 0xC9


def sixtop(length: int, **fixed: dict[str, int]) -> dict[str, dict[str, int]]:
    """What is fixed of a 6P message whose IE has so many octets."""
    return SIXTOP | {"ie": {"length": length, "group": 5}, "sub": {"subtype": sub_id()}} | fixed


SIXP = {"end": "HeaderIe", "ie": "PayloadIe", "sub": "IetfIe", "p": "SixpHeader"}
MAC |= {
    "6P": ("sixtop", {"end": "HeaderIe", "ie": "PayloadIe", "sub": "IetfIe", "x": "SixpHeader"}, sixtop(5, x={"version": 0}), {
        "version": "wpan.6top_version", "type": "wpan.6top_type", "code": "wpan.6top_code", "sfid": "wpan.6top_sfid", "seq": "wpan.6top_seqnum"}),
    "6P ADD": ("sixtop", SIXP | {"x": "SixpCellsRequest", "cell": "SixpCell"}, sixtop(13, p={"version": 0, "type": 0, "code": 1}), SIXP_CELLS | {"count": "wpan.6top_num_cells"}),
    "6P cell": ("sixtop", SIXP | {"x": "SixpCell"}, sixtop(9, p={"version": 0, "type": 1, "code": 0}), {
        "slot_offset": "wpan.6top_cell_slot_offset", "channel_offset": "wpan.6top_channel_offset"}),
    "6P COUNT": ("sixtop", SIXP | {"x": "SixpCountRequest"}, sixtop(8, p={"version": 0, "type": 0, "code": 4}), SIXP_CELLS),
    "6P count": ("sixtop", SIXP | {"x": "SixpCount"}, sixtop(7, p={"version": 0, "type": 1, "code": 0}), {"cells": "wpan.6top_total_num_cells"}),
    "6P LIST": ("sixtop", SIXP | {"x": "SixpListRequest"}, sixtop(13, p={"version": 0, "type": 0, "code": 5}), SIXP_CELLS | {
        "offset": "wpan.6top_offset", "max_count": "wpan.6top_max_num_cells"}),
    "6P CLEAR": ("sixtop", SIXP | {"x": "SixpPlainRequest"}, sixtop(7, p={"version": 0, "type": 0, "code": 7}), {"metadata": "wpan.6top_metadata"}),
}


@lru_cache
def mac_frames() -> dict[str, list]:
    return compare({kind: (made({"mac": "Mhr", **headers}, file, fixed), named) for kind, (file, headers, fixed, named) in MAC.items()},
                   IEEE802154_NOFCS, ["wpan.frame_type"])


@pytest.mark.parametrize("kind", MAC)
def test_mac_frames(kind):
    for frame, values, found in mac_frames()[kind]:
        assert found["wpan.frame_type"][:1] == [values["mac"]["frame_type"]], frame.hex()
        same(frame, values["x"], found, MAC[kind][3])


# ---------------------------------------------------------------- 6LoWPAN routing headers

LOWPAN = {"mac": {"frame_type": 1, "security": 0, "ie_present": 0, "seq_suppression": 0, "version": 1, "dst_mode": 2, "src_mode": 2, "pan_compression": 1,
                  "dst_pan": 0x23}, "page": {"page": 1}}
RPI = {"down": "6lowpan.6loRH.bitO", "rank_error": "6lowpan.6loRH.bitR", "forwarding_error": "6lowpan.6loRH.bitF",
       "instance_elided": "6lowpan.6loRH.bitI", "rank_compressed": "6lowpan.6loRH.bitK", "type": "6lowpan.rhtype"}
LORH: dict[str, tuple[str, dict[str, int], dict[str, str]]] = {
    "RPI": ("RpiLorh", {"instance_elided": 0, "rank_compressed": 0}, RPI | {"instance": "6lowpan.rpl.instance", "sender_rank": "6lowpan.sender.rank"}),
    "RPI, I and K": ("RpiLorh", {"instance_elided": 1, "rank_compressed": 1}, RPI | {"sender_rank_high": "6lowpan.sender.rank"}),
    "SRH": ("SrhLorh", {}, {"size": "6lowpan.HopNuevo", "type": "6lowpan.rhtype"}),
    "IP-in-IP": ("IpInIpLorh", {"length": 1}, {"length": "6lowpan.rhElength", "type": "6lowpan.rhtype", "hop_limit": "6lowpan.rhhop.limit"}),
}


@lru_cache
def routed() -> dict[str, list]:
    return compare({kind: (made({"mac": "Mhr", "page": "Paging", "x": header}, "sixlorh sixlowpan", LOWPAN | {"x": fixed}), named)
                    for kind, (header, fixed, named) in LORH.items()}, IEEE802154_NOFCS, ["6lowpan.pagenb"], ("-d", "wpan.panid==0x23,6lowpan"))


@pytest.mark.parametrize("kind", LORH)
def test_routing_headers(kind):
    for frame, values, found in routed()[kind]:
        assert found["6lowpan.pagenb"] == [1], frame.hex()
        same(frame, values["x"], found, LORH[kind][2])
