"""Sizes by part, of a linker's map. With RIOTBASE tests/test_twin_evaluate.py looks at those of real firmware."""
from __future__ import annotations

import re
import sys

import pytest
from click.testing import CliRunner

from lpn.runtime.twin import evaluate, latency, sizes
from lpn.runtime.twin.program import ProgramError
from lpn.runtime.twin.sizes import TABLE, part_of, pieces, table

MAP = """Archive member included to satisfy reference by file (symbol)

Linker script and memory map

LOAD /out/iotlab-m3/lpn/node.o
.text           0x08000000     0x1a4
 .text.lpn_node_poll
                0x08000100       0xa0 /out/iotlab-m3/lpn/node.o
                0x08000100                lpn_node_poll
 .text.run      0x080001a0        0x4 /out/iotlab-m3/lpn/node.o
 *fill*         0x080001a4        0x2
 .text.memcpy   0x080001a6       0x10 /usr/lib/libc_nano.a(lib_a-memcpy.o)

.relocate       0x20000000       0x10 load address 0x080002a4
 .data.hook     0x20000000       0x10 /out/iotlab-m3/application_lpn_measure/containers.o

.bss            0x20000010       0x20
 .bss._netif    0x20000010       0x20 /out/iotlab-m3/gnrc_netif_init_devs/auto_init_at86rf2xx.o
 .debug_info    0x00000000      0x123 /out/iotlab-m3/lpn/node.o
"""


def test_a_map_is_read():
    assert [(p.name, p.address, p.size, p.copied) for p in pieces(MAP)] == [
        ("lpn/node.o:.text.lpn_node_poll", 0x08000100, 0xa0, False), ("lpn/node.o:.text.run", 0x080001a0, 4, False),
        ("libc_nano.a:lib_a-memcpy.o:.text.memcpy", 0x080001a6, 0x10, False),
        ("application_lpn_measure/containers.o:.data.hook", 0x20000000, 0x10, True),
        ("gnrc_netif_init_devs/auto_init_at86rf2xx.o:.bss._netif", 0x20000010, 0x20, False), ("lpn/node.o:.debug_info", 0, 0x123, False)]
    with pytest.raises(ProgramError):
        list(pieces("no map"))


@pytest.mark.parametrize("name,part", [
    ("lpn/lpn_flash.o:.flash_writable._pages", "slot in flash"), ("lpn/vm32_thumb2.o:.text", "engine: interpreter, helpers"), ("lpn/thumb2_clean.o:.text", "engine: translator"), ("lpn/certificate_thumb2.o:.text", "engine: checker"), ("lpn/pack_build.o:.text.get", "engine: reading packs"), ("lpn/load_thumb2.o:.text", "engine: reading packs"), ("lpn/lpn_radio.o:.bss._rx", "module: radio, thread"),
    ("gnrc_netif/gnrc_netif.o:.text.x", "MAC"), ("gnrc_ipv6_nib/nib.o:.text.x", "IPv6, neighbours"), ("gnrc_sixlowpan_iphc/x.o:.text", "6LoWPAN"),
    ("gnrc_udp/gnrc_udp.o:.text", "UDP"), ("gnrc_pktbuf_static/x.o:.bss", "packet buffer, dispatch"), ("core/sched.o:.text", "kernel, board"),
    ("libgcc.a:_udivmoddi4.o:.text", "libraries"), ("application_lpn_measure/containers.o:.text.lpn_code_Rx", "containers"),
    ("application_lpn_measure/main.o:.text.main", "application")])
def test_pieces_have_their_part(name, part):
    assert part_of(name) == part


def test_every_part_is_one_that_some_piece_can_have():
    assert len(dict.fromkeys(part for _, part in TABLE)) == len(TABLE)
    assert all(isinstance(pattern, re.Pattern) for pattern, _ in TABLE)


def test_the_table_compares_with_the_first():
    text = table({"a": {"rom": {"MAC": 100}, "ram": {"MAC": 10}}, "b": {"rom": {"MAC": 51, "UDP": 51}, "ram": {"MAC": 9}}})
    assert "| all | 100 | 102 |" in text and "| to the first | +0.0 % | +2.0 % |" in text and "| to the first | +0.0 % | -10.0 % |" in text


@pytest.mark.parametrize("command", [sizes, evaluate, latency], ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_plot_without_matplotlib_is_refused_before_anything_is_measured(command, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = CliRunner().invoke(command.main, [str(tmp_path / "none.elf"), "--plot", str(tmp_path / "plot.png")])
    assert told.exit_code == 2 and told.output == "Error: a plot needs matplotlib: pip install 'lpn[bench]'\n"
