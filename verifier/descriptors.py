"""What a container meets at run time, as data: the context's layout, the regions, the packet, the helpers.

The profiles: `lpn` (ours), `xdp` (Linux, include/uapi/linux/bpf.h, struct xdp_md), `femto` (our context on the stock
Femto-Container engine).
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Mapping

MAX_PACKET, WINDOW, STACK, OUT_SIZE = 2048, 64, 512, 256
TURN = 64                                             # octets of it that the engine clears at once (env.c)


@dataclass(frozen=True, slots=True)
class Field:
    """A context slot. `kind`: `scalar`, `pkt`, `pkt_end`, or the name of a region the slot points to."""
    offset: int
    width: int
    name: str
    kind: str = "scalar"
    writable: bool = False
    max: int | None = None                            # of a scalar, if below what its width allows


@dataclass(frozen=True, slots=True)
class Region:
    """Memory of fixed size. `align`: of its first byte."""
    size: int
    read: bool = True
    write: bool = True
    align: int = 8
    holds: bytes | None = None                        # what is in it in every run; None: anything


@dataclass(frozen=True, slots=True)
class HelperSpec:
    """A helper as the verifier sees it.

    `args`, for r1.. in order: `scalar`, `const`, `read` and `write` (a buffer, whose size argument 1 says: compiler/helpers.py), ("read", n) and ("write", n) (n bytes), ("region", name) (a pointer to the start of it).
    `ret`: `zero`, `u32`, `scalar`, or ("nullable", region, size)."""
    number: int
    name: str
    args: tuple = ()
    ret: Any = "scalar"
    contexts: tuple[str, ...] | None = None
    changes_packet: bool = False


@dataclass(frozen=True)
class ContextDescriptor:
    name: str
    target: str                                       # column of the opcode table
    size: int
    fields: tuple[Field, ...]
    regions: Mapping[str, Region]                     # sizes of rodata, data, rec and state are given to verify()
    max_packet: int = MAX_PACKET
    whole: bool = False                               # numbers of the context are read whole: it is no memory
    window: int = WINDOW                              # readable bytes behind pkt_end
    headroom: int = 0                                 # writable bytes before pkt
    packet_write: bool = True
    stack: int = STACK
    align: int = 8                                    # of the context, and of the stack's end
    max_text: int = 16384                             # slots
    align8: int = 1                                   # rule 27: alignment an 8-byte access needs
    align_atomic: bool = False                        # and an atomic one: of its size
    branch_budget: int | None = None                  # rule 35
    contexts: tuple[str, ...] = ()                    # rule 31: where helpers must be allowed; () asks nothing
    helpers: tuple[HelperSpec, ...] | None = None     # that there are; None: the project's (compiler/helpers.py)
    unknown: str = "call one of the table of helpers, or declare it with extern"    # what to do about others
    unknown_does: str = "the node would end the run, or call a function of its own"
    unsupported: tuple[Field, ...] = ()               # slots that there are, and that nothing is known of here

    def field_at(self, offset: int) -> Field | None:
        return _at(self.fields, offset)

    def unsupported_at(self, offset: int) -> Field | None:
        return _at(self.unsupported, offset)

    def with_sizes(self, **sizes: int) -> ContextDescriptor:
        regions = dict(self.regions)
        for name, size in sizes.items():
            if name in regions:
                regions[name] = replace(regions[name], size=size)
        return replace(self, regions=regions)

    def holding(self, name: str, content: bytes) -> ContextDescriptor:
        """With what is in a region in every run."""
        return self if name not in self.regions else replace(self, regions={**self.regions, name: replace(self.regions[name], size=len(content), holds=content)})


def _at(fields: tuple[Field, ...], offset: int) -> Field | None:
    return next((f for f in fields if f.offset <= offset < f.offset + f.width), None)


_LPN_FIELDS = (
    Field(0, 8, "pkt", "pkt"), Field(8, 8, "pkt_end", "pkt_end"), Field(16, 8, "rec", "rec"),
    Field(24, 8, "state", "state"), Field(32, 8, "out", "out"),
    Field(40, 4, "out_len", writable=True), Field(44, 4, "payload", writable=True), Field(48, 4, "port", writable=True),
    Field(52, 4, "iface"), Field(56, 4, "rssi"), Field(60, 4, "lqi"), Field(64, 4, "time"),
    Field(68, 4, "node_short", max=0xFFFF), Field(72, 4, "node_ext_low"), Field(76, 4, "node_ext_high"),
    Field(80, 4, "node_pan", max=0xFFFF), Field(84, 4, "clock"), Field(88, 4, "event"),
    Field(92, 4, "cut", writable=True),
)
_LPN_REGIONS = {"rec": Region(0), "state": Region(0), "out": Region(OUT_SIZE), "rodata": Region(0, write=False, align=4),
                "data": Region(0, align=4)}

LPN = ContextDescriptor("lpn", "lpn", 96, _LPN_FIELDS, _LPN_REGIONS, align8=4)
#: The stock engine's stack and context are what an application gives it: words.
FEMTO = ContextDescriptor("femto", "femto", 96, _LPN_FIELDS, _LPN_REGIONS, align=4, align8=4, branch_budget=200, helpers=(),
                          unknown="those of a stock engine are not known here: do without")
#: Of the kernel's helpers (include/uapi/linux/bpf.h) those that take nothing and give a number.
LINUX = (HelperSpec(5, "ktime_get_ns"), HelperSpec(7, "get_prandom_u32", ret="u32"), HelperSpec(8, "get_smp_processor_id", ret="u32"), HelperSpec(42, "get_numa_node_id"),
         HelperSpec(118, "jiffies64"), HelperSpec(125, "ktime_get_boot_ns"), HelperSpec(160, "ktime_get_coarse_ns"))
XDP = ContextDescriptor("xdp", "xdp", 24, (
    Field(0, 4, "data", "pkt"), Field(4, 4, "data_end", "pkt_end"), Field(12, 4, "ingress_ifindex"),
    Field(16, 4, "rx_queue_index")), {"rodata": Region(0, write=False), "data": Region(0)},
    max_packet=0xFFFF, window=0, whole=True, align_atomic=True, helpers=LINUX,
    unknown="of the kernel's those are known that take no pointers: " + ", ".join(f"{one.name} ({one.number})" for one in LINUX),
    unknown_does="nothing is known here of what it takes, gives and changes: it could move the packet",
    unsupported=(Field(8, 4, "data_meta"), Field(20, 4, "egress_ifindex")))

PROFILES = {"lpn": LPN, "xdp": XDP, "femto": FEMTO}


_ARGS = {"NONE": None, "SCALAR": "scalar", "CONST": "const", "MEM_READ": "read", "MEM_WRITE": "write"}
_RETS = {"ZERO": "zero", "U32": "u32"}


def helper_specs(table) -> dict[int, HelperSpec]:
    """From the project's table (rows of compiler/helpers.py) or rows that are HelperSpec already."""
    rows = table.values() if isinstance(table, Mapping) else table
    out = {}
    for row in rows:
        if not isinstance(row, HelperSpec):
            args = [_ARGS[a.name] for a in row.args if a.name != "NONE"]
            row = HelperSpec(row.number, row.name, tuple(args), _RETS[row.ret.name], tuple(row.contexts),
                             getattr(row, "changes_packet", False))
        out[row.number] = row
    return out
