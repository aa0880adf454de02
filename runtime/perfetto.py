"""A time line as Chrome trace JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Format: "Trace Event Format" of the Chromium project, JSON object form. Tracks are threads of one process: the radio's states,
what is on the air, what is sent, then each hook. Times are microseconds, as there. An arrow (phases `s` and `f`, which
bind to the slices around them) leads from each cause to what it made happen.
"""

from __future__ import annotations

import json
from typing import Any

from lpn.runtime.node import Node
from lpn.runtime.timeline import Given, Overrun, Ran, Received, Record, Replaced, Sent, effect_text, shown

PROCESS = 1
RADIO, GIVEN, FIRST = 1, 2, 10                  # tracks; hooks and lanes follow from FIRST
STATES = {"rx": "listening", "tx": "sending"}


def trace(node: Node, name: str) -> dict[str, Any]:
    """What happened to `node` up to now. `name`: of the protocol."""
    return _Trace(node, name).made()


def trace_json(node: Node, name: str) -> bytes:
    return (json.dumps(trace(node, name), ensure_ascii=False, separators=(",", ":")) + "\n").encode()


class _Trace:
    def __init__(self, node: Node, name: str) -> None:
        self.node, self.name = node, name
        self.events: list[dict[str, Any]] = []
        self.slices: dict[int, tuple[int, int, int]] = {}       # record number: (track, start, duration)
        self.hooks = {hook: FIRST + i for i, hook in enumerate(dict.fromkeys(
            [s.name for each in [*node.retired, node.summaries()] for s in each]))}
        self.lanes: dict[str, list[int]] = {}                   # kind: when each of its tracks is free again
        self.tracks: dict[tuple[str, int], int] = {}

    def made(self) -> dict[str, Any]:
        self.metadata("process_name", 0, name=f"LPN {self.name}")
        self.track(RADIO, "radio")
        for start, end, state in self.node.radio_state.states(0, self.node.time):
            if state in STATES:
                self.slice(RADIO, STATES[state], start, end - start, {})
        records = self.node.sorted_records()
        if any(isinstance(r, Given) for r in records):
            self.track(GIVEN, "events")
        for hook, track in self.hooks.items():
            self.track(track, hook)
        for record in records:
            self.record(record)
        for record in records:
            self.arrow(record)
        return {"displayTimeUnit": "ms", "traceEvents": self.events}

    # ------------------------------------------------------------ events

    def event(self, phase: str, track: int, **more: Any) -> None:
        self.events.append({"ph": phase, "pid": PROCESS, "tid": track, **more})

    def metadata(self, what: str, track: int, **args: Any) -> None:
        self.event("M", track, name=what, args=args)

    def track(self, number: int, name: str) -> None:
        self.metadata("thread_name", number, name=name)
        self.metadata("thread_sort_index", number, sort_index=number)

    def slice(self, track: int, name: str, start: int, duration: int, args: dict[str, Any]) -> None:
        self.event("X", track, name=name, cat="lpn", ts=start, dur=duration, args=args)

    def record(self, record: Record) -> None:
        if isinstance(record, Overrun):
            self.event("i", self.hooks[record.hook], name="OVERRUN", cat="lpn", ts=record.time, s="t")
            return
        if isinstance(record, Replaced):
            self.event("i", RADIO, name=f"replaced: {record.what}", cat="lpn", ts=record.time, s="g")
            return
        if isinstance(record, Ran):
            track, name, duration = self.hooks[record.hook], record.verdict, record.took
            args = {"reason": record.reason, "port": record.port, "instructions": record.insns, "due": record.due,
                    "late": record.late or None, "fault": record.fault, "effects": [effect_text(e) for e in record.effects] or None}
        elif isinstance(record, Given):
            track, name, duration = GIVEN, record.event, 0
            args = {"frame": record.frame.hex() if record.frame is not None else None}
        else:
            assert isinstance(record, (Sent, Received))
            kind = "sent" if isinstance(record, Sent) else "on the air"
            fate = record.result if isinstance(record, Sent) else record.fate
            duration = min(record.end, self.node.time) - record.time
            track, name = self.lane(kind, record.time, record.time + max(duration, 1)), f"{fate} {shown(record.frame, 4)}"
            args = {"frame": record.frame.hex()}
        duration = max(duration, 1)             # what takes no time has to be seen all the same
        self.slices[record.number] = track, record.time, duration
        self.slice(track, name, record.time, duration, {k: v for k, v in args.items() if v is not None})

    def lane(self, kind: str, start: int, end: int) -> int:
        """The first track of this kind that is free: slices of one track must not overlap."""
        lanes = self.lanes.setdefault(kind, [])
        i = next((i for i, free in enumerate(lanes) if free <= start), len(lanes))
        if i == len(lanes):
            lanes.append(0)
            self.tracks[kind, i] = FIRST + len(self.hooks) + len(self.tracks)
            self.track(self.tracks[kind, i], kind if i == 0 else f"{kind} ({i + 1})")
        lanes[i] = end
        return self.tracks[kind, i]

    def arrow(self, record: Record) -> None:
        """From the cause's slice to the record's."""
        if record.cause not in self.slices or record.number not in self.slices:
            return
        track, start, duration = self.slices[record.cause]
        leaves = min(max(record.time, start), start + duration - 1)
        common = {"name": "cause", "cat": "lpn", "id": record.number}
        self.event("s", track, ts=leaves, **common)
        track, start, _ = self.slices[record.number]
        self.event("f", track, ts=start, bp="e", **common)
