"""Which layer of the node a source file belongs to: RIOT's folders as one table. The first line that fits counts."""

from __future__ import annotations

OUTSIDE = "no source known"
TRANSLATED = "code in RAM"

#: (part of the file's path, layer)
TABLE: tuple[tuple[str, str], ...] = (
    ("lpn_code_", "code in flash"), ("lpn_rom", "code in flash"),
    ("riot/measure/", "application"), ("riot/node/", "application"), ("runtime/engine/", "containers"), ("riot/lpn/", "containers"),
    ("cpu/cortexm_common/vectors", "interrupt"), ("cpu/stm32/vectors", "interrupt"), ("periph/gpio", "interrupt"),
    ("cpu/cortexm_common/thread_arch", "kernel"), ("/core/", "kernel"), ("core/", "kernel"), ("sys/event/", "kernel"),
    ("drivers/at86rf2xx", "driver"), ("periph/spi", "driver"), ("periph_common/spi", "driver"), ("cpu/stm32/cpu_common", "driver"),
    ("periph/uart", "console"), ("sys/stdio", "console"), ("sys/shell", "console"), ("printf", "console"), ("sys/isrpipe", "console"),
    ("sys/tsrb", "console"), ("/stdio/", "console"), ("syscalls", "console"), ("sys/fmt", "console"), ("sys/od/", "console"),
    ("periph/timer", "timers"), ("periph_common/timer", "timers"), ("periph/rtt", "timers"), ("sys/ztimer", "timers"),
    ("sys/evtimer", "timers"), ("sys/frac", "timers"),
    ("drivers/netdev", "MAC"), ("gnrc/netif", "MAC"), ("sys/net/link_layer", "MAC"), ("gnrc/link_layer", "MAC"), ("sys/net/netif", "MAC"),
    ("gnrc/pktbuf", "packet buffer"), ("gnrc/pkt/", "packet buffer"), ("gnrc/netapi", "packet buffer"), ("gnrc/netreg", "packet buffer"),
    ("sys/iolist", "packet buffer"),
    ("network_layer/sixlowpan", "6LoWPAN"),
    ("gnrc/network_layer", "network"), ("sys/net/network_layer", "network"), ("gnrc/routing", "network"), ("sys/net/crosslayer", "transport"),
    ("transport_layer", "transport"), ("gnrc/sock", "transport"), ("net/sock", "transport"),
    ("periph/pm", "power management"), ("sys/pm_layered", "power management"), ("cpu/cortexm_common/periph/pm", "power management"),
    ("newlib", "library"), ("libgcc", "library"), ("picolibc", "library"), ("sys/libc", "library"),
    ("cpu/", "startup"), ("boards/", "startup"), ("drivers/periph_common", "startup"), ("sys/auto_init", "startup"), ("sys/luid", "startup"),
    ("gnrc/", "network"), ("application_layer", "application"), ("examples/", "application"), ("tests/", "application"), ("sys/", "other of the system"),
)


def layer_of(source: str) -> str:
    """The layer of a file, given as the compiler was called with it."""
    if not source:
        return OUTSIDE
    return next((layer for part, layer in TABLE if part in source), "application")


#: All, in the order of their numbers: the clock counts by number.
LAYERS: tuple[str, ...] = tuple(dict.fromkeys((OUTSIDE, TRANSLATED, *(layer for _, layer in TABLE), "application")))
