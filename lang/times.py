"""Times: whole microseconds, and the units that they are written in."""
from __future__ import annotations

#: Microseconds of each that times are shown in, the shortest first; and of each that they may be written in.
UNITS = {"us": 1, "ms": 1000, "s": 1_000_000}
WRITTEN = {**UNITS, "min": 60_000_000}


def unit_of(us: int) -> tuple[str, int]:
    """The longest unit that a time is at least one of, and its microseconds."""
    return next((unit, size) for unit, size in reversed(UNITS.items()) if us >= size or size == 1)
