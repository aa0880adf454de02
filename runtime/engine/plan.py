"""The plan by which the interpreter of 32-bit clean programs goes (vm32_plan.c), as a node makes it: the engine's own C, run here."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .build import library


@dataclass(frozen=True)
class Handler:
    """What one jump of the interpreter does: so many instructions of a slot each, or one of any size."""
    name: str
    instructions: int


@cache
def handlers() -> tuple[Handler, ...]:
    """All there are, by their numbers in a plan (vm32_ops.h)."""
    ffi, lib = library()
    count, out = ffi.new("uint32_t *"), []
    while (name := lib.lpn_host_handler(len(out), count)) != ffi.NULL:
        out.append(Handler(ffi.string(name).decode(), count[0]))
    return tuple(out)


def plan_of(text: bytes, *, certified: bool, fuse: bool = True) -> list[Handler]:
    """Of each slot the handler that begins there. `certified`: its accesses are not checked; `fuse`: several instructions may be done at once."""
    ffi, lib = library()
    slots = len(text) // 8
    plan = ffi.new("uint8_t[]", slots)
    lib.lpn_host_plan(ffi.from_buffer("uint8_t[]", text), slots, certified, fuse, plan)
    return [handlers()[number] for number in plan]
