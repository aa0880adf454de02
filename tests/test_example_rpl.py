"""examples/rpl_dio: several nodes on one clock build a DODAG; tshark reads what they send."""
from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import pytest
from corpus import ABSENT as NO_CAPTURES, CAPTURES
from judge import ABSENT, IEEE802154_NOFCS, TSHARK, fields
from programs import ROOT, declared_in, example

from lpn.compiler.build import Compiled, compile_program
from lpn.compiler.runner import make_runner
from lpn.lang import tables
from lpn.runtime.capture import read
from lpn.runtime.node import Node, native_node
from lpn.runtime.timeline import Sent

FOLDER = ROOT / "examples" / "rpl_dio"
TICK = 64_000                                   # us
SECOND = 1_000_000
INFINITE = 0xFFFF


@lru_cache
def compiled_example() -> Compiled:
    return compile_program(example("rpl_dio/rpl_dio"), "lpn", False, 2)


@dataclass
class Mesh:
    """Nodes that hear each other by `links`; 1 is the root. A frame is heard a tick later, by all or by nobody."""

    links: dict[int, set[int]]
    redundancy: int = 10
    compiled: Compiled = field(default_factory=compiled_example)
    nodes: dict[int, Node] = field(default_factory=dict)
    sent: list[tuple[int, int, bytes]] = field(default_factory=list)        # time, node, frame
    time: int = 0

    def __post_init__(self) -> None:
        root = json.loads((FOLDER / "root.json").read_text()) | {"redundancy": self.redundancy}
        given = tables.from_json(root, example("rpl_dio/rpl_dio"))
        for n in self.links:
            state = self.compiled.initial_state(given if n == 1 else None)
            self.nodes[n] = native_node(self.compiled.bundle, {"node_ext": 0x0200000000000000 | n, "node_pan": 0x23}, state=state, seed=n)

    def run(self, seconds: float) -> None:
        seen = {n: len(node.records) for n, node in self.nodes.items()}
        for _ in range(int(seconds * SECOND / TICK)):
            self.time += TICK
            for n, node in self.nodes.items():
                node.run(self.time)
            for n, node in self.nodes.items():
                fresh, seen[n] = node.records[seen[n]:], len(node.records)
                for record in fresh:
                    if isinstance(record, Sent):
                        self.sent.append((record.time, n, record.frame))
                        for other in self.links[n]:
                            self.nodes[other].post(self.time + 1000 * n, "radio.rx_done", (), record.frame)

    def value(self, node: int, name: str) -> int:
        return self.compiled.state.read(self.nodes[node].dispatch.state(), declared_in(example("rpl_dio/rpl_dio"), name))

    def ranks(self) -> list[int]:
        return [self.value(n, "rank") if self.value(n, "joined") else INFINITE for n in self.nodes]


LINE = {1: {2}, 2: {1, 3}, 3: {2, 4}, 4: {3}}


def test_ranks_grow_along_a_line():
    mesh = Mesh(LINE)
    assert mesh.ranks() == [256] + 3 * [INFINITE]
    mesh.run(20)
    assert mesh.ranks() == [256, 1024, 1792, 2560]
    assert [mesh.value(n, "parent") & 0xFF for n in (2, 3, 4)] == [1, 2, 3]


def test_the_nearer_parent_is_taken():
    mesh = Mesh({1: {2, 3}, 2: {1, 3, 4}, 3: {1, 2, 4}, 4: {2, 3}})
    mesh.run(20)
    assert mesh.ranks() == [256, 1024, 1024, 1792]


def test_dios_become_rare_and_a_question_makes_them_frequent():
    mesh = Mesh({1: {2}, 2: {1}})
    mesh.run(60)
    counts = [sum(1 for time, n, _ in mesh.sent if n == 1 and start * SECOND <= time < (start + 20) * SECOND) for start in (0, 20, 40)]
    assert counts[0] > counts[1] >= 1 and counts[2] >= 1
    assert mesh.value(1, "interval") == 4 << 6          # 2^8 ms are 4 ticks; six doublings
    dis = Mesh({3: set()})                      # a newcomer that nobody answers asks after 10 s
    dis.run(12)
    (_, _, question), = dis.sent
    mesh.nodes[1].post(mesh.time + 1, "radio.rx_done", (), question)
    mesh.run(1)
    assert mesh.value(1, "interval") <= 4 << 2


@pytest.mark.parametrize("redundancy, quiet", [(10, False), (2, True), (0, False)])
def test_redundant_dios_are_not_sent(redundancy, quiet):
    """Of five nodes that all hear each other, each hears up to four in an interval."""
    everyone = {1, 2, 3, 4, 5}
    star = Mesh({n: everyone - {n} for n in everyone}, redundancy=redundancy)
    star.run(30)
    assert all(star.value(n, "rank") == 1024 for n in (2, 3, 4, 5))
    assert (sum(star.value(n, "suppressed") for n in star.nodes) > 0) == quiet


@pytest.mark.skipif(TSHARK is None, reason=ABSENT)
def test_tshark_reads_what_is_sent():
    mesh = Mesh(LINE)
    mesh.run(15)
    names = ["icmpv6.type", "icmpv6.code", "icmpv6.checksum.status", "icmpv6.rpl.dio.rank", "icmpv6.rpl.dio.dagid", "icmpv6.rpl.opt.config.interval_min",
             "icmpv6.rpl.opt.config.max_rank_inc", "ipv6.src", "ipv6.dst", "wpan.src64"]
    read = fields([frame for _, _, frame in mesh.sent], IEEE802154_NOFCS, names)
    ranks: dict[int, int] = {}
    for (_, node, _), found in zip(mesh.sent, read, strict=True):
        assert found["icmpv6.type"] == [155] and found["icmpv6.checksum.status"] == [1]
        assert found["ipv6.dst"] == [0xFF02 << 112 | 0x1A] and found["ipv6.src"] == [0xFE80 << 112 | node]
        if found["icmpv6.code"] == [1]:
            assert found["icmpv6.rpl.dio.dagid"] == [0x20010DB8 << 96 | 1]
            assert (found["icmpv6.rpl.opt.config.interval_min"], found["icmpv6.rpl.opt.config.max_rank_inc"]) == ([8], [4096])
            ranks[node] = found["icmpv6.rpl.dio.rank"][0]
    assert ranks == {1: 256, 2: 1024, 3: 1792, 4: 2560}


@pytest.mark.skipif(CAPTURES is None, reason=NO_CAPTURES)
@pytest.mark.parametrize("name, ti", [("rpl_collect_cooja", False), ("dtls_rpl_frag_a", True)])
def test_a_node_joins_a_real_network(name, ti):
    """Beside the root of a recorded network: its DIOs, checksums included, are understood."""
    program = example("rpl_dio/rpl_dio")
    engine, outcomes = make_runner("engine", program, compiled=compiled_example()), Counter()
    for frame in islice(read(CAPTURES / f"{name}.pcap", "ti" if ti else "crc"), 3000):
        result = engine.run(frame.data, {"node_ext": 0x0200000000000001})
        outcomes[result.reason or result.verdict] += 1
    assert outcomes["CONSUMED"] > 50 and outcomes["BadChecksum"] == 0 and outcomes["OtherDodag"] == 0, outcomes
