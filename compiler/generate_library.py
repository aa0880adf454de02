"""What a program takes from the library: headers and codecs of IEEE 802.15.4 and 6LoWPAN, which are lowered with guesses."""
from __future__ import annotations

from .generate import ChoiceInfo, EnumInfo, FieldInfo, FunctionInfo, HeaderInfo, RegisterInfo, StructInfo, Ty, bit

FRAME_TYPE = EnumInfo(Ty("enum", 3, "FrameType"), (("BEACON", 0), ("DATA", 1), ("ACK", 2), ("COMMAND", 3)))
ADDR_MODE = EnumInfo(Ty("enum", 2, "AddrMode"), (("NONE", 0), ("short", 2), ("ext", 3)))
LINK = StructInfo("Link", (("has_src", Ty("bool", 1)), ("has_dst", Ty("bool", 1)), ("src", bit(64)), ("dst", bit(64))))
CONTEXTS = RegisterInfo("contexts", StructInfo("Context", (("prefix", bit(128)), ("length", bit(8)))), 16)
IMPORTS = ("std.ieee802154", "std.ipv6", "std.udp", "std.sixlowpan")


def fields(**widths: int) -> list[FieldInfo]:
    return [FieldInfo(name, bit(width)) for name, width in widths.items()]


def library() -> tuple[list[HeaderInfo], list[FunctionInfo]]:
    """The headers, each behind those that it looks at, and functions that make something of them."""
    arms = (("short", bit(16)), ("ext", bit(64)))
    mhr = HeaderInfo("Mhr", [FieldInfo("frame_type", FRAME_TYPE.ty), *fields(security=1, pending=1, ack_request=1, pan_compression=1),
                             FieldInfo("dst_mode", ADDR_MODE.ty), FieldInfo("src_mode", ADDR_MODE.ty), *fields(version=2),
                             FieldInfo("seq", bit(8), when=True), FieldInfo("dst_pan", bit(16), when=True)],
                     [ChoiceInfo("dst", "dst_mode", ADDR_MODE, arms), ChoiceInfo("src", "src_mode", ADDR_MODE, arms)])
    ip = HeaderInfo("Ipv6", [*fields(dscp=6, ecn=2, flow=20, next_header=8, hop_limit=8, src=128, dst=128), FieldInfo("length", bit(16), True)],
                    payload=True, codec="Iphc", codec_params=[("", LINK), ("inout", bit(1))])
    extension = HeaderInfo("Ipv6Ext", [*fields(next_header=8), FieldInfo("length", bit(8), True)], varbits=["data"],
                           codec="ExtNhc", codec_params=[("", bit(8)), ("inout", bit(1))])
    udp = HeaderInfo("Udp", [*fields(src=16, dst=16), FieldInfo("length", bit(16), True), FieldInfo("checksum", bit(16), True, deferred=True)],
                     params=[(ip, "ip")], payload=True, sums=True, codec="UdpNhc")
    functions = [FunctionInfo("ipv6_link", LINK, (("", ip),), plain=True), FunctionInfo("mac_link", LINK, (("", mhr),), plain=True),
                 FunctionInfo("iid_short", bit(64), (("", bit(16)),), plain=True), FunctionInfo("nhc_protocol", bit(8), (("", bit(8)),), plain=True)]
    return [mhr, ip, extension, udp], functions
