"""Makes requests.pcap with scapy, the same in every run: `python examples/coap_sensor/captures/make.py`."""
from __future__ import annotations

import random
from pathlib import Path

from scapy.config import conf
from scapy.contrib.coap import CoAP
from scapy.layers.dot15d4 import Dot15d4, Dot15d4Data
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, Raw
from scapy.layers.sixlowpan import LoWPAN_IPHC, LoWPANUncompressedIPv6

from lpn.runtime.capture import Frame, write

conf.dot15d4_protocol = "sixlowpan"
PATHS = [["temp"], ["temp"], ["hum"], [], ["temp", "max"], ["a", "temp"], [".well-known", "core"], ["temq"]]


def frames(count: int = 64) -> list[bytes]:
    """Requests of node 9 to this one, node 1: GET mostly, confirmable or not, with tokens and other options."""
    choose, out = random.Random(7252), []
    for n in range(count):
        options = [("Uri-Path", part.encode()) for part in PATHS[n % len(PATHS)]]
        if choose.random() < 0.3:
            options.insert(0, ("Uri-Host", b"node-one.example.org"))
        if choose.random() < 0.3:
            options.append(("Accept", b"\x3c"))
        if choose.random() < 0.1:
            options.append(("Proxy-Scheme", b"coap"))
        code = 1 if choose.random() < 0.8 else choose.choice([0, 2, 3, 4, 0x45])
        coap = CoAP(type=choose.choice([0, 0, 1]), code=code, msg_id=0x1000 + n, token=choose.randbytes(n % 9) if code else b"",
                    options=options if code else [])
        mac = Dot15d4(fcf_frametype=1, fcf_panidcompress=1, fcf_destaddrmode=2, fcf_srcaddrmode=2, fcf_framever=1, seqnum=n)
        lowpan = LoWPANUncompressedIPv6() if n % 3 else LoWPAN_IPHC(tf=3, nh=0, hlim=0, m=0, sam=0, dam=0)
        target = "ff02::fd" if n % 10 == 7 else "2001:db8::1"
        out.append(bytes(mac / Dot15d4Data(dest_panid=0x23, dest_addr=1, src_addr=9) / lowpan / IPv6(src="2001:db8::99", dst=target, hlim=64)
                         / UDP(sport=49152 + n, dport=5683) / Raw(bytes(coap))))
    return out


if __name__ == "__main__":
    write(Path(__file__).with_name("requests.pcap"), [Frame(n, 10_000 * n, data) for n, data in enumerate(frames(), 1)])
