"""Makes mesh.pcap with scapy, the same in every run: `python examples/forwarding/captures/make.py`."""
from __future__ import annotations

import random
from pathlib import Path

from scapy.config import conf
from scapy.layers.dot15d4 import Dot15d4, Dot15d4Data
from scapy.layers.inet import UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, Raw
from scapy.layers.sixlowpan import LoWPAN_IPHC, LoWPANUncompressedIPv6

from lpn.runtime.capture import Frame, write

conf.dot15d4_protocol = "sixlowpan"
TARGETS = ["2001:db8::1", "2001:db8::9", "2001:db8:1::5", "2001:db8:1:1::6", "2001:db8:1:2::7", "2001:db9::1", "ff02::1"]


def frames(count: int = 60) -> list[bytes]:
    """Datagrams from node 9 to this one, node 1, compressed or not, with UDP or an echo request in them."""
    choose, out = random.Random(6550), []
    for n in range(count):
        target, whole = TARGETS[n % len(TARGETS)], choose.random() < 0.5
        body = UDP(sport=61616 + n % 16, dport=5683 + n % 3) if n % 4 else ICMPv6EchoRequest(id=7, seq=n)
        ip = IPv6(src="2001:db8::99", dst=target, hlim=choose.choice([1, 2, 64, 255]))
        mac = Dot15d4(fcf_frametype=1, fcf_panidcompress=1, fcf_destaddrmode=2, fcf_srcaddrmode=2, fcf_framever=1, seqnum=n)
        lowpan = LoWPANUncompressedIPv6() if whole else LoWPAN_IPHC(tf=3, nh=0, hlim=0, m=0, sam=0, dam=0)
        out.append(bytes(mac / Dot15d4Data(dest_panid=0x23, dest_addr=1, src_addr=9) / lowpan / ip / body
                         / Raw(choose.randbytes(choose.randrange(20)))))
    return out


if __name__ == "__main__":
    write(Path(__file__).with_name("mesh.pcap"), [Frame(n, 10_000 * n, data) for n, data in enumerate(frames(), 1)])
