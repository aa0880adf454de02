"""Makes routed.pcap with scapy, the same in every run: `python examples/zigbee/captures/make.py`."""
from __future__ import annotations

import random
from pathlib import Path

from scapy.config import conf
from scapy.layers.dot15d4 import Dot15d4, Dot15d4Data
from scapy.layers.inet6 import Raw
from scapy.layers.zigbee import ZigbeeNWK

from lpn.runtime.capture import Frame, write

conf.dot15d4_protocol = "zigbee"
PAN, NODE = 0x1A62, 1


def frames(count: int = 60) -> list[bytes]:
    """Frames of the network layer for node 1 to deliver or to send on: by its table, or along a source route of up to eight relays."""
    choose, out = random.Random(3626), []
    for n in range(count):
        flags, more = ["security"] if n % 5 == 4 else [], {}
        if n % 2:
            relays = choose.sample(range(2, 100), choose.randrange(1, 9))
            index = choose.randrange(len(relays))
            relays[index] = NODE if choose.random() < 0.8 else 101
            flags.append("source_route")
            more |= {"relay_count": len(relays), "relay_index": index, "relays": relays}
        if n % 3 == 0:
            flags.append("extended_src")
            more["ext_src"] = 0x00124B0000000000 + n
        nwk = ZigbeeNWK(frametype=n % 7 == 6, flags="+".join(flags), destination=choose.choice([1, 5, 6, 7, 8, 0xFFFD] if not n % 2 else [5, 9]), source=20 + n % 4,
                        radius=choose.choice([1, 2, 30, 30]), seqnum=n - (n % 11 == 10) * 4, **more)
        mac = Dot15d4(fcf_frametype=1, fcf_ackreq=1, fcf_panidcompress=1, fcf_destaddrmode=2, fcf_srcaddrmode=2, seqnum=n)
        out.append(bytes(mac / Dot15d4Data(dest_panid=PAN, dest_addr=NODE, src_addr=20) / nwk / Raw(choose.randbytes(choose.randrange(8, 30)))))
    return out


if __name__ == "__main__":
    write(Path(__file__).with_name("routed.pcap"), [Frame(n, 10_000 * n, data) for n, data in enumerate(frames(), 1)])
