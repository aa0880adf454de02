"""Every example: it has packet tests beside it, and on packets and events drawn for it all engines agree."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from programs import ROOT

from lpn.testing import protocol

EXAMPLES = sorted(ROOT.glob("examples/*/*.lpn"))
each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
# Some only send. udp and decompress have more properties, beside them.
receiver = pytest.mark.parametrize("path", [path for path in EXAMPLES if protocol(path).program.chain], ids=lambda path: path.stem)


@each_example
def test_it_has_packet_tests(path):
    assert path.with_suffix(".test").is_file()


@receiver
def test_engines_agree_on_packets_and_tables(path):
    p = protocol(path)

    @settings(max_examples=10)
    @given(p.packets(), p.circumstances(), p.given())
    def agree(packet, meta, tables):
        p.engines_agree(packet, meta, tables=tables)
        p.no_crash(packet, meta=meta, tables=tables)

    agree()


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.parent.name not in ("udp", "decompress") and protocol(path).program.chain],
                         ids=lambda path: path.stem)
def test_no_run_is_longer_than_the_verifier_says(path):
    p = protocol(path)

    @settings(max_examples=8)
    @given(p.packets())
    def hold(packet):
        p.bounds_hold(packet)

    hold()


@pytest.mark.parametrize("path", [path for path in EXAMPLES if any(hook.timed or hook.event != "radio.rx_done"
                                                                   for hook in protocol(path).program.hooks)],
                         ids=lambda path: path.stem)
def test_nodes_agree_on_events(path):
    p = protocol(path)

    @settings(max_examples=12)
    @given(p.events())
    def agree(events):
        p.nodes_agree(events)

    agree()
