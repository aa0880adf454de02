"""Who sends to whom: one line about a packet, from its headers as the program's parser finds them."""
from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping

from lpn.lang import ast
from lpn.lang.reference import NotSupported, Reference, State
from lpn.lang.reference.draw import values
from lpn.lang.reference.modules import run_module
from lpn.lang.types import Bits, HeaderType, Stack
from lpn.runtime import linktype as links

UDP, TCP = 17, 6
ENDS = {"src", "dst"}                           # the fields, or choices, of a header that say who sends to whom


class Describer:
    """Describes frames of one chain of a program: of each header that has a source and a destination, these; the innermost addresses
    and the ports are kept. The program's state is not changed. `hook`: the number of the chain's hook; None: radio.rx_done."""

    def __init__(self, program: ast.Program, state: State | None = None, hook: int | None = None):
        self.reference = Reference(program)
        self.state, self.hook = state, program.hook(hook)
        self.telling = program.headers_struct is not None and any(map(tells, program.headers_struct.fields))

    def describe(self, frame: bytes, meta: Mapping[str, int]) -> str:
        if not self.telling:
            return ""
        run = self.reference.prepare(frame, dict(meta), self.state)
        try:
            for module in self.reference.program.chain_of(self.hook):
                if isinstance(module, ast.Parser) and run_module(run, module).reason:
                    break
        except NotSupported:
            return ""
        ends: tuple[str, str] | None = None
        ports: tuple[str, str] | None = None
        for instance in run.order:
            if not instance.valid:
                continue
            found = {name.partition(".")[0]: (name, item, value) for name, item, value in values(instance, ENDS)}
            if not ENDS <= found.keys():
                continue
            pair = shown(*found["src"]), shown(*found["dst"])
            if is_port(*found["src"]):
                ports = pair
            elif all(pair):
                ends, ports = pair, None
        return arrow(ends, ports)


def tells(field: ast.StructField) -> bool:
    """Whether a header, or an element of a stack, has a source and a destination."""
    type_ = field.type.header if isinstance(field.type, Stack) else field.type
    if not isinstance(type_, HeaderType):
        return False
    choices = (item.name for item in type_.decl.items if isinstance(item, ast.ChoiceField))
    return ENDS <= {*choices, *(item.name for item in type_.decl.fields())}


def is_port(name: str, item: object, value: object) -> bool:
    """A plain 16-bit field; a short address is an arm of a choice."""
    return "." not in name and isinstance(item.type, Bits) and item.type.width == 16        # type: ignore[attr-defined]


def shown(name: str, item: object, value: object) -> str:
    type_ = item.type                                                       # type: ignore[attr-defined]
    if not isinstance(type_, Bits) or not isinstance(value, int):
        return ""
    if is_port(name, item, value):
        return str(value)
    if type_.width == 128:
        return str(ipaddress.IPv6Address(value))
    if type_.width == 64:
        return value.to_bytes(8, "big").hex(":")
    return f"0x{value:0{(type_.width + 3) // 4}x}"


def arrow(ends: tuple[str, str] | None, ports: tuple[str, str] | None) -> str:
    """`fe80::1.5683 > fe80::2.7`, as tcpdump writes it."""
    if ends is None:
        return ""
    (a, b), (p, q) = ends, ports or ("", "")
    return f"{a}.{p} > {b}.{q}" if ports else f"{a} > {b}"


def is_datagram(data: bytes) -> bool:
    """A whole IPv6 datagram: version 6 and the right length (RFC 8200, 3)."""
    return len(data) >= 40 and data[0] >> 4 == 6 and int.from_bytes(data[4:6], "big") == len(data) - 40


def linktype_of(packets: Iterable[bytes]) -> int:
    """Of a capture of these: raw IPv6 where each is a whole datagram, else 802.15.4."""
    found = [is_datagram(data) for data in packets]
    return links.RAW_IPV6 if found and all(found) else links.IEEE802154_NOFCS


def describe_datagram(data: bytes | None) -> str:
    """The same line of an IPv6 datagram, when there is no program to ask."""
    if data is None or not is_datagram(data):
        return ""
    ends = str(ipaddress.IPv6Address(data[8:24])), str(ipaddress.IPv6Address(data[24:40]))
    ports = None
    if data[6] in (UDP, TCP) and len(data) >= 44:
        ports = str(int.from_bytes(data[40:42], "big")), str(int.from_bytes(data[42:44], "big"))
    return arrow(ends, ports)
