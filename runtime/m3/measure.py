"""What the engine around translated code costs: `python -m lpn.runtime.m3.measure` writes verifier/costs/thumb2.json.

As the tables of the interpreter (costs.py): `most` is the worst of the manual's times with the wait states of the STM32F103's flash
wherever the code is linked, the worst of several runs. What grows with a table is a line above all that was measured.
"""
from __future__ import annotations

import json
from itertools import product
from math import ceil

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Entry, Hook, KeyField, Table
from lpn.compiler.helpers import HELPERS
from lpn.compiler.image import Flag, Image, Kind
from lpn.compiler.output import write_files
from lpn.runtime.engines import DEFAULT_FUEL
from lpn.verifier.cost import FOLDER, RECORD

from .code_costs import cost_of
from .core import Core
from .engine import Thumb2Program
from .host import SCRATCH, WINDOW
from .timing import decode

HOW = ("measured on the emulated Cortex-M3 by python -m lpn.runtime.m3.measure; most: TRM worst case, 2 wait states at 72 MHz, any linking; "
       "helpers that the node does: as declared in compiler/helpers.py")
FRAME = bytes(60)
EMPTY = "w0 = 0\nexit"
CALL = "w1 = 0\nw2 = 0\ncall {}\n" + EMPTY


def most(*modules: str, record: int = RECORD, table: Table | None = None) -> int:
    """The cycles of a chain of these modules at most, less the fewest of their own code."""
    images = tuple(Image(f"m{i}", Kind.PROCESSOR, assemble(source), flags=Flag.CLEAN32, record_size=record, record_hash=1)
                   for i, source in enumerate(modules))
    bundle = Bundle("p", 1, images, (Hook("radio.rx_done", tuple(each.name for each in images)),), record_size=record, record_hash=1,
                    tables=(table,) if table else ())
    program = Thumb2Program(bundle, DEFAULT_FUEL, core=Core(window=WINDOW))
    host, core = program.host, program.host.core
    core.forget()
    core.call("lpn_host_run", host.handle, host.put("frame", FRAME), len(FRAME), host.put("meta", bytes(SCRATCH)),
              host.room("packet"), host.room("c"), host.room("result"))
    return ceil(core.worst()) - sum(cost_of(decode(each.code, 0)).fewest for each in program.translated)


def lookup(kind: str, key_bytes: int, fields: int, entries: int) -> int:
    """A lookup that misses all entries, each in the last byte of its last field; 256 bytes of action data are zeroed."""
    width = key_bytes // fields * 8
    key = (1 << width) - 1
    other = key - 1
    match = {"exact": (other,), "lpm": (other, width), "ternary": (other, key), "range": (other, other)}[kind]
    hits = {"exact": (key,), "lpm": (key, width), "ternary": (key, key), "range": (key, key)}[kind]
    table = Table("t", 0, tuple(KeyField(width, kind) for _ in range(fields)), 256, entries,
                  tuple(Entry((hits,) * (fields - 1) + (match,), 1, bytes(256), i) for i in range(entries)))
    room = (key_bytes + 7) // 8 * 8
    stores = "".join(f"*(u64 *)(r10 - {at}) = -1\n" for at in range(8, room + 1, 8))
    source = (f"{stores}w1 = 0\nr2 = r10\nr2 += -{room}\nw3 = {key_bytes}\nr4 = r10\nr4 += -{room + 256}\nw5 = 256\ncall 1\n{EMPTY}")
    return most(source, table=table) - most(EMPTY)


def measure() -> dict:
    """The table."""
    one, two, three = most(EMPTY), most(EMPTY, EMPTY), most(EMPTY, EMPTY, EMPTY)
    module = max(two - one, three - two)
    record = ceil((most(EMPTY, record=512) - one) / (512 - RECORD))
    rest = max(0, *(most(EMPTY, record=RECORD + more) - one - record * more for more in (12, 15, 48, 60, 63)))   # not a whole block
    call = max(most(CALL.format(n)) - one for n in (2, 3))
    entry = field = byte = 0.0
    for kind in ("lpm", "ternary", "range"):
        def slope(key_bytes: int, fields: int) -> float:
            return (lookup(kind, key_bytes, fields, 24) - lookup(kind, key_bytes, fields, 4)) / 20     # noqa: B023
        each = (slope(16, 1) - slope(4, 1)) / 12
        byte, field = max(byte, each), max(field, (slope(16, 4) - slope(16, 1)) / 3)
        entry = max(entry, slope(4, 1) - 4 * each)
    slopes = [ceil(x) for x in (entry, byte, field)]
    shapes = product(("exact", "lpm", "ternary", "range"), ((1, 1), (4, 1), (16, 1), (16, 4)), (1, 5, 24))
    base = max(lookup(kind, size, fields, n) - n * (slopes[0] + slopes[1] * size + slopes[2] * (fields - 1))
               for kind, (size, fields), n in shapes)
    helpers = {h.name: {"call": [1, call + h.cost_cycles]} | ({"entry": list(h.grows[:2]), "octet": [h.grows[2]]} if any(h.grows) else {})
               for h in HELPERS}
    for name in ("clock_us", "trace"):
        helpers[name] = {"call": [1, call]}
    helpers["lookup"] = {"call": [1, base], "entry": slopes}
    return {"mhz": 72, "how": HOW, "module": [1, module], "chain": [1, one - module + rest], "record": record, "insns": {}, "helpers": helpers}


if __name__ == "__main__":
    content = json.dumps(measure(), indent=1).replace("[\n   ", "[").replace(",\n   ", ", ").replace("\n  ]", "]")
    write_files({FOLDER / "thumb2.json": (content + "\n").encode()})
