"""Types as C, Rust and P4 call them, and how LPN writes the same."""
from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address

UNSIGNED = re.compile(r"(?:__)?(?:u|uint)(8|16|32|64|128)(?:_t)?|(?:__)?be(16|32|64)")         # the last ones: Linux' types
SIGNED = re.compile(r"(?:__)?(?:s|i|int)(8|16|32|64|128)(?:_t)?")
LITTLE = re.compile(r"(?:__)?le(16|32|64)")
WORDS = {"char": "bit<8>", "byte": "bit<8>", "short": "int<16>", "unsigned": "bit<32>", "uint": "bit<32>", "long": "int<32>", "size_t": "bit<16>",
         "boolean": "bool", "_Bool": "bool", "counter": "counter<bit<32>>", "register": "register<bit<32>>"}
#: Addresses that are no values, by what stands in front of them: the base of their numbers, and how many bits they have.
ADDRESSES = {**dict.fromkeys(("ip4", "ipv4", "ip"), (10, 32)), **dict.fromkeys(("mac", "eui48", "eth", "ether", "hwaddr"), (16, 48))}
UNTYPED = ("var", "let", "auto")


def written_here(name: str) -> str:
    """What to do where a type is called so; "" where nobody's language has it."""
    if name in UNTYPED:
        return "a variable begins with its type: bit<8> n = ...;"
    if name in ("float", "double"):
        return "numbers are whole: bit<N>, or int<N> with a sign; scale them"
    if name == "goto":
        return "states of a parser go on with transition"
    for pattern, ours in ((UNSIGNED, "bit"), (SIGNED, "int"), (LITTLE, "le")):
        if found := pattern.fullmatch(name):
            return f"write {ours}<{found[found.lastindex]}>"
    return f"write {WORDS[name]}" if name in WORDS else ""


def address_as_number(kind: str, text: str) -> str:
    """What to write for such an address; "" where it is none."""
    base, width = ADDRESSES.get(kind.lower(), (0, 0))
    groups = re.findall(r"[0-9a-fA-F]+" if base == 16 else r"[0-9]+", text)
    octets = [int(group, base) for group in groups] if len(groups) == width // 8 else []
    return f"an address of {width} bits is a number: {width}w0x{bytes(octets).hex() if octets and max(octets) < 256 else '...'}" if width else ""


def address_kind(text: str) -> str:
    """`ip6` or `eui64`, if it is such an address; else ""."""
    if re.fullmatch(r"(?:[0-9a-fA-F]{2}[:-]){7}[0-9a-fA-F]{2}", text):
        return "eui64"
    try:
        return "ip6" if text.count(":") > 1 and any(map(str.isdigit, text)) and IPv6Address(text) else ""
    except AddressValueError:
        return ""
