"""What a chain leaves of its packet, where no deparser makes another: fields that are assigned where they lie, and all else as it came."""
from __future__ import annotations

from lpn.lang import ast
from lpn.lang.derive import representation
from lpn.lang.reference import Reference, Result
from lpn.lang.reference.run import Run

Places = list[tuple[int, bytes]]                # first octet, and what lies there


class Watched(Reference):
    """The reference, and what its headers are when a run has ended."""

    def __init__(self, program: ast.Program, externs) -> None:
        super().__init__(program, externs)
        self.lying = {field for field, how in representation(program).items() if how == "packet"}
        self.runs: list[Run] = []

    def prepare(self, frame: bytes, meta, state) -> Run:
        self.runs.append(super().prepare(frame, meta, state))
        return self.runs[-1]

    def left(self, result: Result) -> Places:
        """Behind the run that gave `result`: the octets of the headers of its first chain that the program reads and writes in the packet, where they
        lie. A dropped packet is nobody's, and of one that a deparser made anew nobody asks what was left of the old."""
        run, self.runs = self.runs[0], []
        taken = [one.instance for one in run.taken]
        return [(one.start, one.instance.emit()) for one in run.taken if result.verdict != "DROP" and result.out is None and one.end is not None
                and one.codec is None and one.instance.decl in self.lying and one.instance.valid and taken.count(one.instance) == 1]


def differs(places: Places, packet: bytes) -> str | None:
    """What lies elsewhere than the reference says, if anything."""
    return next((f"octets {start} to {start + len(octets) - 1} of the packet are {packet[start:start + len(octets)].hex()}, the reference's {octets.hex()}"
                 for start, octets in places if packet[start:start + len(octets)] != octets), None)
