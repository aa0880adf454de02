"""The bundle: round trip, each malformed field refused by its path, no input that harms the reader."""

import copy
import zlib

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler import cbor
from lpn.compiler.bundle import Action, Bundle, BundleError, Energy, Entry, Hook, KeyField, Param, Table
from lpn.compiler.image import Image, Kind

EXIT = bytes.fromhex("9500000000000000")
TABLE = Table("routes", 0, (KeyField(128, "lpm"), KeyField(12, "range"), KeyField(3, "ternary"), KeyField(8, "exact")),
              4, 16, (Entry(((0x20 << 120, 16), (1, 9), (5, 7), (3,)), 1, b"abcd", 2),),
              (Action("send", (Param("port", 0, 16), Param("hop", 2, 16, "big"))), Action("drop")))
BUNDLE = Bundle(
    "udp", 3, (Image("parse", Kind.PARSER, EXIT, record_size=8, record_hash=7, state_size=4, state_hash=9),
               Image("emit", Kind.DEPARSER, EXIT, record_size=8, record_hash=7, state_size=4, state_hash=9),
               Image("Duty.every_1", Kind.TIMING, EXIT, record_size=8, record_hash=7, state_size=4, state_hash=9)),
    (Hook("net.rx", ("parse", "emit"), "net", (41, 7), 4000), Hook("radio.rx_done", ("parse",)),
     Hook("radio.rx_done", ("Duty.every_1",)), Hook("slot", ("Duty.every_1",), "radio", (3, 10), 300, 100_000, 30_000, 500)),
    8, 7, 4, 9, ({"name": "count", "offset": 0, "type": {"kind": "bits", "width": 32}},), (TABLE,),
    ("SHORT", "CHECKSUM"), energy=(Energy("Duty", 90_000, 88_800, ((3, 8_880),)),))
RAW = BUNDLE.to_bytes()


def test_round_trip():
    assert Bundle.from_bytes(RAW) == BUNDLE
    assert Bundle.from_bytes(RAW).to_bytes() == RAW


def test_what_a_received_frame_takes():
    assert BUNDLE.chain == ("parse",) and [m.name for m in BUNDLE.chained()] == ["parse"]
    assert [m.name for m in BUNDLE.chained(BUNDLE.hooks[0])] == ["parse", "emit"]
    assert BUNDLE.contexts("parse") == ("net", "radio") and BUNDLE.contexts("Duty.every_1") == ("radio",)
    assert BUNDLE.contexts("none") == () == Bundle("none", 1, ()).chain


def sealed(content: dict) -> bytes:
    """Written with the checksum that fits."""
    content.pop("crc32", None)
    return cbor2.dumps(content | {"crc32": zlib.crc32(cbor.dumps(content))}, canonical=True)


def changed(path: tuple, value) -> bytes:
    content = copy.deepcopy(cbor2.loads(RAW))
    at = content
    for step in path[:-1]:
        at = at[step]
    if value is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return sealed(content)


OTHER = Image("parse", Kind.PARSER, EXIT).to_bytes()
T, H, E = ("tables", 0), ("hooks", 0), ("energy", 0)
WRONG = [
    (("lpn",), 1, "lpn", "format 1, this reads 2"),
    (("lpn",), "1", "lpn", "an integer is expected"),
    (("protocol",), "", "protocol", "1 to 64 bytes"),
    (("protocol",), 5, "protocol", "text is expected"),
    (("protocol",), "a\x1b[2J", "protocol", "control characters"),
    (("version",), -1, "version", "-1 is not in"),
    (("version",), True, "version", "an integer is expected"),
    (("reasons",), KeyError, "bundle", "reasons is missing"),
    (("more",), 1, "bundle", "unknown field 'more'"),
    (("modules",), {}, "modules", "an array is expected"),
    (("modules", 0), 7, "modules[0]", "a map is expected"),
    (("modules", 0, "kind"), "filter", "modules[0].kind", "one of parser, processor"),
    (("modules", 0, "kind"), "processor", "modules[0].kind", "the image says parser"),
    (("modules", 0, "name"), "other", "modules[0].name", "the image says 'parse'"),
    (("modules", 0, "image"), b"LPN1", "modules[0].image", "truncated: 4 bytes"),
    (("modules", 0, "image"), "text", "modules[0].image", "a byte string is expected"),
    (("modules", 0, "image"), OTHER, "modules[0].image", "record hash 0x0, the bundle's is 0x7"),
    (("chain",), ["parse"], "bundle", "unknown field 'chain'"),
    (("hooks",), {}, "hooks", "an array is expected"),
    (H, [], "hooks[0]", "a map is expected"),
    (H + ("when",), 1, "hooks[0]", "unknown field 'when'"),
    (H + ("event",), KeyError, "hooks[0]", "event is missing"),
    (H + ("event",), "net.x", "hooks[0].event", "one of radio.rx_start, radio.rx_done"),
    (H + ("context",), "kernel", "hooks[0].context", "one of isr, radio, net"),
    (H + ("context",), "isr", "hooks[0].context", "isr, net.rx runs in net"),
    (H + ("selector",), 41, "hooks[0].selector", "an array is expected"),
    (H + ("selector",), [1, 2, 3], "hooks[0].selector", "3 elements, the limit is 2"),
    (H + ("selector", 1), -7, "hooks[0].selector[1]", "-7 is not in"),
    (H + ("chain",), "parse", "hooks[0].chain", "an array is expected"),
    (H + ("chain",), [], "hooks[0].chain", "at least one module"),
    (H + ("chain", 1), "work", "hooks[0].chain[1]", "there is no module 'work'"),
    (H + ("chain", 1), "parse", "hooks[0].chain", "module 'parse' twice"),
    (H + ("chain",), ["parse"] * 9, "hooks[0].chain", "9 elements, the limit is 8"),
    (H + ("chain",), ["emit", "parse"], "hooks[0].chain", "a parser, then processors, then a deparser"),
    (H + ("chain",), ["parse", "Duty.every_1"], "hooks[0].chain", "a timing container is alone"),
    (("hooks", 1), {"event": "radio.tx_start", "context": "isr", "chain": ["emit"], "selector": [], "within": 0, "period": 0, "offset": 0,
                    "jitter": 0}, "hooks[1].chain", "an interrupt sends nothing"),
    (H + ("within",), -1, "hooks[0].within", "-1 is not in"),
    (H + ("within",), 2**31, "hooks[0].within", "2147483648 is not in"),
    (H + ("within",), "4 ms", "hooks[0].within", "an integer is expected"),
    (H + ("period",), 125, "hooks[0]", "net.rx has no period, offset or jitter"),
    (H + ("jitter",), 5, "hooks[0]", "net.rx has no period, offset or jitter"),
    (("hooks", 3, "period"), 0, "hooks[3].period", "0, slot has a period"),
    (("hooks", 3, "jitter"), 100_001, "hooks[3].jitter", "100001, the period is 100000"),
    (("hooks", 3, "offset"), 100_000, "hooks[3].offset", "100000, the period is 100000"),
    (("hooks", 2, "chain"), ["emit"], "hooks[2]", "a second chain for radio.rx_done"),
    (("energy",), {}, "energy", "an array is expected"),
    (E + ("block",), 7, "energy[0].block", "text is expected"),
    (E + ("promised",), 1_000_001, "energy[0].promised", "1000001 is not in"),
    (E + ("share",), 90_001, "energy[0].share", "90001, 90000 is promised"),
    (E + ("share",), KeyError, "energy[0]", "share is missing"),
    (E + ("runs", 0), [3], "energy[0].runs[0]", "a hook and a time are expected"),
    (E + ("runs", 0), [4, 1], "energy[0].runs[0][0]", "4 is not in 0..3"),
    (E + ("runs", 0), [3, -1], "energy[0].runs[0][1]", "-1 is not in"),
    (("record", "size"), 65536, "record.size", "65536 is not in"),
    (("record",), [], "record", "a map is expected"),
    (("state", "layout", 0, "offset"), 4, "state.layout[0].offset", "behind the state's 4 bytes"),
    (("state", "layout", 0, "type"), "a\n", "state.layout[0].type", "control characters"),
    (("reasons",), ["A", "A"], "reasons", "reason 'A' twice"),
    (T + ("index",), 1, "tables[0].index", "tables are numbered in order"),
    (T + ("key",), [], "tables[0].key", "at least one"),
    (T + ("key", 0, "kind"), "regex", "tables[0].key[0].kind", "one of exact, lpm"),
    (T + ("key", 0, "width_bits"), 0, "tables[0].key[0].width_bits", "0 is not in"),
    (T + ("key", 0, "width_bits"), 512, "tables[0].key", "longer than 64 bytes"),
    (T + ("size",), 0, "tables[0].size", "0 is not in"),
    (T + ("action_data_bytes",), 257, "tables[0].action_data_bytes", "257 is not in"),
    (T + ("action_data_bytes",), 3, "tables[0].actions[0].params[1]", "ends behind"),
    (T + ("entries", 0, "action"), 0, "tables[0].entries[0].action", "0 is not in 1..2"),
    (T + ("entries", 0, "action"), 3, "tables[0].entries[0].action", "3 is not in 1..2"),
    (T + ("entries", 0, "data"), b"abc", "tables[0].entries[0].data", "3 bytes"),
    (T + ("constant",), 1, "tables[0].constant", "true or false is expected"),
    (T + ("entries", 0, "match"), [], "tables[0].entries[0].match", "0 fields, the key has 4"),
    (T + ("entries", 0, "match", 0, 1), 129, "tables[0].entries[0].match[0][1]", "129 is not in 0..128"),
    (T + ("entries", 0, "match", 1), [b"\0\2", b"\0\1"], "tables[0].entries[0].match[1]", "is empty"),
    (T + ("entries", 0, "match", 1, 0), b"\xff\0", "tables[0].entries[0].match[1][0]", "not a value of 12 bits"),
    (T + ("entries", 0, "match", 3), [b"\3", b"\3"], "tables[0].entries[0].match[3]", "2 values"),
]


@pytest.mark.parametrize("path,value,where,what", WRONG, ids=[f"{w[2]}-{i}" for i, w in enumerate(WRONG)])
def test_refused_by_path(path, value, where, what):
    with pytest.raises(BundleError) as e:
        Bundle.from_bytes(changed(path, value))
    assert e.value.path == where
    assert what in e.value.detail


NOT_CBOR = {
    "nothing": (b"", "the file is empty"),
    "cut": (RAW[:-1], "it is cut off, build it again: ends at byte"),
    "cut in a string": (RAW[:len(RAW) // 2], "it is cut off, build it again: a string of"),
    "more behind": (RAW + b"\0", "1 bytes follow"),
    "nested arrays": (b"\x81" * 1_000_000, "nested deeper than 12"),
    "nested tags": (b"\xc1" * 1_000_000 + b"\0", "a tag at byte 0"),
    "huge array": (b"\x9b" + b"\xff" * 8, "elements at byte 0"),
    "huge string": (b"\x5b" + b"\x7f" * 8, "a string of"),
    "endless": (b"\x9f" * 10, "indefinite"),
    "float": (b"\xfb" + bytes(8), "a float"),
    "undefined": (b"\xf7", "a float or simple value"),
    "bignum": (b"\xc2\x41\1", "a tag"),
    "shared reference": (b"\xd8\x1d\0", "a tag"),
    "key that is a number": (b"\xa1\0\0", "not text"),
    "key twice": (b"\xa2\x61a\0\x61a\0", "twice"),
    "not UTF-8": (b"\x61\xff", "not decodable"),
    "list": (b"\x80", "not an LPN bundle"),
    "too long": (bytes(9 << 20), "the limit is"),
    "many items": (b"\x9a\0\4\0\0" + bytes(0x40000), "more than 200000 items"),
}


@pytest.mark.parametrize("name", NOT_CBOR)
def test_not_a_bundle(name):
    raw, what = NOT_CBOR[name]
    with pytest.raises(BundleError, match=what):
        Bundle.from_bytes(raw)


def accepted_equal_or_refused(raw: bytes) -> None:
    try:
        bundle = Bundle.from_bytes(raw)
    except BundleError as e:
        assert str(e) and "\n" not in str(e)
    else:
        assert bundle == BUNDLE


@given(st.binary(max_size=300))
def test_any_bytes(raw):
    accepted_equal_or_refused(raw)


@settings(max_examples=500)
@given(st.integers(0, 8 * len(RAW) - 1))
def test_any_bit_flip(bit):
    raw = bytearray(RAW)
    raw[bit // 8] ^= 1 << bit % 8
    accepted_equal_or_refused(bytes(raw))


plain = st.recursive(st.none() | st.booleans() | st.integers(-2**64, 2**64 - 1) | st.text(max_size=5)
                     | st.binary(max_size=5),
                     lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=4), x, max_size=3))


@given(st.sampled_from(WRONG), plain)
def test_any_value_in_any_field(where, value):
    """Whatever stands in a field, the reader answers with a bundle or a BundleError, even when all else fits."""
    try:
        raw = changed(where[0], value)
    except (TypeError, UnicodeEncodeError):
        return
    try:
        Bundle.from_bytes(raw)
    except BundleError as e:
        assert "\n" not in e.path
