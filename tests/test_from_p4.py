"""P4_16 programs for v1model and the same as LPN: only the architecture's own lines differ, and each of them is listed here."""
from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings, strategies as st
from programs import ROOT, example

from lpn.lang import tables
from lpn.lang.reference import Reference

FOLDER = ROOT / "examples" / "from_p4"
INCLUDES = ["-#include <core.p4>", "-#include <v1model.p4>", "+import std.v1model;"]


def parser(name: str) -> list[str]:
    """A parser has no standard metadata: what it would say of the packet, `meta`, is for processors."""
    given = f"parser {name}(packet_in packet, out headers hdr, inout metadata meta"
    return [f"-{given}, inout standard_metadata_t standard_metadata) {{", f"+{given}) {{"]


def package(name: str) -> list[str]:
    """The package becomes a protocol: the modules that run, and when."""
    return [f"-V1Switch({name}Parser(), {name}VerifyChecksum(), {name}Ingress(), {name}Egress(), {name}ComputeChecksum(), {name}Deparser()) main;",
            f"+protocol {name} version 1 {{", f"+    on radio.rx_done : {name}Parser -> {name}Ingress -> {name}Egress -> {name}Deparser;", "+}"]


# v1model sends a packet to a port; a radio has one, so there is only the decision to send it.
EGRESS = ["-        standard_metadata.egress_spec = port;", "+        standard_metadata.verdict = TRANSMIT;"]

# v1model's checksum functions become an equation of the header, which names the same fields in the same order.
ROUTER_FIELDS = ["-            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_length, hdr.ipv4.identification,",
                 "-              hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },",
                 "-            hdr.ipv4.checksum, HashAlgorithm.csum16);", "-    }", "-}", "-"]

DIFFERENCES = {
    "router": [
        *INCLUDES,
        "-    bit<16>     checksum;",
        "+    bit<16>     checksum = ~inet_sum(version ++ ihl ++ diffserv, total_length, identification, flags ++ fragment_offset, "
        "ttl ++ protocol, src, dst) deferred;",
        *parser("RouterParser"),
        "-control RouterVerifyChecksum(inout headers hdr, inout metadata meta) {", "-    apply {", "-        verify_checksum(hdr.ipv4.isValid(),",
        *ROUTER_FIELDS,
        *EGRESS,
        "-            if (standard_metadata.checksum_error == 1) {", "+            if (!hdr.ipv4.holds()) {",
        "-control RouterComputeChecksum(inout headers hdr, inout metadata meta) {", "-    apply {", "-        update_checksum(hdr.ipv4.isValid(),",
        *ROUTER_FIELDS,
        *package("Router"),
    ],
    "source_route": [
        *INCLUDES,
        *parser("RouteParser"),
        # the ports of a radio are its neighbours: the next one is named by the destination address
        "-        standard_metadata.egress_spec = hdr.hops[0].port;",
        "+        hdr.ethernet.dst = 39w0 ++ hdr.hops[0].port;", "+        standard_metadata.verdict = TRANSMIT;",
        *package("Route"),
    ],
    "firewall": [
        *INCLUDES,
        "-    bit<16> checksum;",
        "+    bit<16> checksum = ~inet_sum(version ++ ihl ++ dscp ++ ecn, total_length, identification, "
        "reserved ++ dont_fragment ++ more_fragments ++ fragment_offset, ttl ++ protocol, src, dst) deferred;",
        *parser("FilterParser"),
        *EGRESS, *EGRESS,
        "-control FilterComputeChecksum(inout headers hdr, inout metadata meta) {", "-    apply {", "-        update_checksum(hdr.ipv4.isValid(),",
        "-            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length, hdr.ipv4.identification,",
        "-              hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.ttl,",
        "-              hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },",
        "-            hdr.ipv4.checksum, HashAlgorithm.csum16);", "-    }", "-}", "-",
        *package("Filter"),
    ],
}


def lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", DIFFERENCES)
def test_only_the_architectures_lines_differ(name):
    found = [line for line in difflib.unified_diff(lines(f"{name}.p4"), lines(f"{name}.lpn"), lineterm="", n=0)
             if not line.startswith(("---", "+++", "@@"))]
    assert found == DIFFERENCES[name]
    assert len(lines(f"{name}.p4")) > 3 * sum(line.startswith("-") for line in found)


def test_every_program_is_here():
    assert {path.stem for path in FOLDER.glob("*.p4")} == {path.stem for path in FOLDER.glob("*.lpn")} == set(DIFFERENCES)


@settings(max_examples=40)
@given(st.integers(0, 255), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 65535), st.binary(max_size=30), st.booleans())
def test_the_router_does_what_scapy_computes(ttl, src, low, identification, body, tagged):
    scapy = pytest.importorskip("scapy.all", reason="scapy is not here")
    destination = 0x0A000000 | low & 0xFFFFFF
    given_program = example("from_p4/router")
    entries = tables.from_json({"routes": [{"key": [f"{0x0A000000}/8"], "action": "forward", "args": [0x0200000000AA, 1]}]}, given_program)
    reference = Reference(given_program)

    def frame(ttl: int, target: str, source: str) -> bytes:
        ether = scapy.Ether(dst=target, src=source)
        tag = scapy.Dot1Q(vlan=7) if tagged else None
        ip = scapy.IP(src=src, dst=destination, ttl=ttl, id=identification, proto=17) / scapy.Raw(body)
        return bytes(ether / tag / ip if tag else ether / ip)

    result = reference.run(frame(ttl, "02:00:00:00:00:01", "02:00:00:00:00:02"), {}, reference.state(entries))
    if ttl <= 1:
        assert result.verdict == "DROP"
    else:
        assert (result.verdict, result.out) == ("TRANSMIT", frame(ttl - 1, "02:00:00:00:00:aa", "02:00:00:00:00:01"))
