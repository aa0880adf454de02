"""std.coap takes whole CoAP messages apart: those of scapy, those of real captures, as tshark reads them."""
from __future__ import annotations

import subprocess

import pytest
from corpus import ABSENT as NO_CAPTURES, CAPTURES
from hypothesis import given, settings, strategies as st
from judge import ABSENT, TSHARK, number
from programs import chain, program

from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.lang.reference import Reference
from lpn.lang.reference.modules import run_module

TEXT = chain("Coap coap; CoapOption[12] options; CoapMarker marker;", """
    state start { pkt.extract(h.coap); transition options; }
    state options {
        transition select(sizeof(payload)) { 0: accept; default: more; }
    }
    state more {
        transition select(pkt.lookahead<bit<8>>()) { 0xff: marker; default: option; }
    }
    state option { pkt.extract(h.options.next); transition options; }
    state marker { pkt.extract(h.marker); transition accept; }
""", "pkt.emit(h.coap); pkt.emit(h.options); pkt.emit(h.marker);", imports="coap")


def parsed(message: bytes) -> tuple[dict[str, int | bytes], list[tuple[int, bytes]], bytes]:
    """The header's fields, the options by number, the payload; what does not parse is a failure."""
    reference = Reference(program(TEXT))
    run = reference.prepare(message, None, None)
    outcome = run_module(run, reference.program.chain[0])
    assert outcome.verdict == "ACCEPT", (outcome.reason, message.hex())
    coap, options = run.headers.fields["coap"], run.headers.fields["options"]
    number, found = 0, []
    for one in options.elements:
        if one.valid:
            fields = {field.name: one.read(field) for field in one.header.fields()}
            number += {13: 13 + fields["delta_one"], 14: 269 + fields["delta_two"]}.get(fields["delta"], fields["delta"])
            found.append((number, fields["value"]))
    return {field.name: coap.read(field) for field in coap.header.fields()}, found, run.packet.rest


options = st.lists(st.tuples(st.one_of(st.integers(1, 60), st.sampled_from([13, 14, 268, 269, 270, 2049, 65000])),
                             st.one_of(st.binary(max_size=14), st.binary(min_size=12, max_size=15), st.just(bytes(280)))), max_size=8)


def encoded(number: int, before: int, value: bytes) -> bytes:
    """RFC 7252, 3.1, written down a second time."""
    def part(n: int) -> tuple[int, bytes]:
        return (n, b"") if n < 13 else (13, bytes([n - 13])) if n < 269 else (14, (n - 269).to_bytes(2, "big"))
    (delta, more), (length, longer) = part(number - before), part(len(value))
    return bytes([delta << 4 | length]) + more + longer + value


def message(type_: int, code: int, mid: int, token: bytes, given_options: list[tuple[int, bytes]], body: bytes) -> bytes:
    out = bytes([0x40 | type_ << 4 | len(token), code]) + mid.to_bytes(2, "big") + token
    before = 0
    for number, value in sorted(given_options, key=lambda one: one[0]):
        out += encoded(number, before, value)
        before = number
    return out + (b"\xff" + body if body else b"")


messages = st.tuples(st.integers(0, 3), st.sampled_from([1, 2, 0x45, 0x84]), st.integers(0, 65535), st.binary(max_size=8), options,
                     st.binary(max_size=20))


@given(messages)
def test_messages_come_apart(drawn):
    type_, code, mid, token, given_options, body = drawn
    header, found, rest = parsed(message(*drawn))
    assert (header["type"], header["code"], header["id"], header["token"]) == (type_, code, mid, token)
    assert found == sorted(given_options, key=lambda one: one[0])
    assert rest == body


@given(st.lists(st.sampled_from(["Uri-Path", "Uri-Query", "Uri-Host", "Content-Format", "ETag", "Proxy-Uri"]), max_size=6),
       st.binary(max_size=8), st.integers(0, 65535), st.binary(max_size=300))
def test_messages_of_scapy(names, token, mid, value):
    coap = pytest.importorskip("scapy.contrib.coap", reason="scapy is not here")
    numbers = {name: number for number, name in coap.coap_options[0].items()}
    raw = bytes(coap.CoAP(type=1, code=1, msg_id=mid, token=token, options=sorted([(name, value) for name in names], key=lambda one: numbers[one[0]])))
    header, found, rest = parsed(raw)
    assert (header["id"], header["token"], rest) == (mid, token, b"")
    assert found == [(number, value) for number in sorted(numbers[name] for name in names)]


@pytest.mark.parametrize("bad, reason", [
    ("8001 0001", "Coap.version"), ("4901 0001 000000000000000000", "Coap.token_length"), ("4100 0001 00", "Coap.where"),
    ("4001 0001 f0", "CoapOption.delta"), ("4001 0001 0f" + "00" * 15, "CoapOption.length"), ("4001 0001 b5 7465", "PacketTooShort"),
    ("4001 0001 0e 0100" + "00" * 300, "PacketTooShort"), ("4001 0001 0e 1ef3", "CoapOption.length_two"), ("4001", "PacketTooShort")])
def test_what_is_no_message(bad, reason):
    result = Reference(program(TEXT)).run(bytes.fromhex(bad.replace(" ", "")))
    assert (result.verdict, result.reason) == ("DROP", reason)


def test_engines_agree():
    cases: list[tuple[bytes, dict]] = []

    @settings(max_examples=25)
    @given(messages, st.integers(0, 40))
    def collect(drawn, cut: int) -> None:
        whole = message(*drawn)
        cases.extend([(whole, {}), (whole[:cut], {})])

    collect()
    run_case(Case(Program(TEXT.replace("[12]", "[5]"), {}, False), cases), (Variant("engine"),))


@pytest.mark.skipif(CAPTURES is None, reason=NO_CAPTURES)
@pytest.mark.skipif(TSHARK is None, reason=ABSENT)
@pytest.mark.parametrize("name", ["eth_coap_block", "eth_coap_mqtt"])
def test_real_messages(name):
    names = ["udp.payload", "coap.type", "coap.code", "coap.mid", "coap.token_len", "coap.opt.delta", "coap.payload_length",
             "coap.block.reassembled.length"]
    out = subprocess.run([str(TSHARK), "-n", "-r", str(CAPTURES / f"{name}.pcap"), "-Y", "coap && !icmp && !icmpv6 && !_ws.malformed", "-T", "fields",
                          "-E", "occurrence=a", "-E", "aggregator=|", *(part for each in names for part in ("-e", each))],
                         capture_output=True, text=True, check=True).stdout
    compared = 0
    for line in out.splitlines():
        payload, type_, code, mid, length, deltas, rest, whole = line.split("\t")
        if "|" in payload:
            continue
        header, found, body = parsed(bytes.fromhex(payload))
        assert [header[each] for each in ("type", "code", "id", "token_length")] == [number(each) for each in (type_, code, mid, length)]
        assert len(found) == (len(deltas.split("|")) if deltas else 0)
        assert not rest or whole or len(body) == number(rest)
        compared += 1
    assert compared >= 14


KEPT = chain("Coap coap; CoapOwn own;", "state start { pkt.extract(h.coap); transition accept; }", "pkt.emit(h.coap); pkt.emit(h.own);", "register<bit<64>> kept;", """apply {
    h.own.setValid();
    h.own.type = CoapType.ACKNOWLEDGEMENT;
    h.own.code = COAP_VALID;
    h.own.id = h.coap.id;
    kept = coap_token(h.coap);
    coap_give_token(h.own, h.coap.token_length, kept);
    h.coap.setInvalid();
    m.verdict = TRANSMIT;
}""", "coap")


@pytest.mark.parametrize("octets", range(9))
def test_a_token_that_was_kept_is_given_to_a_message_of_ones_own(octets):
    token = bytes(range(0xa0, 0xa0 + octets))
    reference = Reference(program(KEPT))
    outcome = reference.run(message(0, 1, 0x1234, token, [], b"x"))
    assert outcome.out == message(2, 0x43, 0x1234, token, [], b"") + b"\xffx"
