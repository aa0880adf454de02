"""Target `xdp`: a program the Linux kernel loads, and the memory beside the packet that it works on.

An XDP program gets `struct xdp_md` and nothing else, so what the `lpn` context points to lies in one block of memory: a
variable of section `.data`, which loaders (libbpf, runtime/kernel.py) make the value of an array map whose address `lddw`
loads directly (BPF_PSEUDO_MAP_VALUE, RFC 9669 section 5.4). The block begins with the context's scalars at their usual
offsets; then come the output buffer, the header record, the state and the
tables' entries.

Frames arrive as IEEE 802.15.4 over Ethernet: 14 octets of Ethernet header of type ETH_P_IEEE802154 (linux/if_ether.h), then
the frame without FCS. Frames of other types, and longer ones than any of ours (target.py), are none of the program's business: XDP_PASS.
"""
from __future__ import annotations

from dataclasses import dataclass

from .target import CTX_SIZE, OUT_SIZE

ETHERNET_HEADER = 14
ETHERTYPE_AT = 12
ETH_P_IEEE802154 = 0x00F6

MD_DATA, MD_DATA_END = 0, 4                     # struct xdp_md (linux/bpf.h); both load as pointers

XDP_DROP, XDP_PASS, XDP_TX = 1, 2, 3
# By verdict, four bits each: ACCEPT and DELIVER go up the kernel's own stack, CONSUMED ends here.
ACTIONS = XDP_PASS | XDP_DROP << 4 | XDP_PASS << 8 | XDP_TX << 12 | XDP_DROP << 16

# In the block; the context's slots from 40 on (docs/context.md) are where they always are.
VERDICT = 88                                    # u32: verdict | argument << 16
# The context's pointer slots, unused here: numbers pass through them so that the verifier forgets what they are.
SCRATCH, COPY_START, COPY_OCTETS = 0, 4, 8
BLOCK = "lpn_memory"                            # the variable's symbol


@dataclass(frozen=True)
class Memory:
    """Offsets in the block."""

    record_size: int
    state_size: int
    tables: tuple[int, ...]             # octets of each one's rows

    @property
    def out(self) -> int:
        return CTX_SIZE

    @property
    def record(self) -> int:
        return self.out + OUT_SIZE

    @property
    def state(self) -> int:
        return self.record + (self.record_size + 7 & ~7)

    @property
    def found(self) -> int:
        """What the last search of a table found: the action's number, and where among the rows the entry lies."""
        return self.state + (self.state_size + 7 & ~7)

    @property
    def found_at(self) -> int:
        return self.found + 4

    def rows(self, table: int) -> int:
        return self.found + 8 + sum(size + 7 & ~7 for size in self.tables[:table])

    @property
    def size(self) -> int:
        return self.rows(len(self.tables)) if self.tables else self.found


def ethernet(frame: bytes) -> bytes:
    """The frame as the program expects it."""
    return bytes(ETHERTYPE_AT) + ETH_P_IEEE802154.to_bytes(2, "big") + frame
