"""What the engine around translated code costs: `python -m lpn.runtime.m3.measure` writes verifier/costs/thumb2.json.

As the tables of the interpreter (costs.py): `most` is the worst of the manual's times with the wait states of the STM32F103's flash
wherever the code is linked, the worst of several runs. What grows with a table is a line above all that was measured.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import ceil

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Entry, Hook, KeyField, Table
from lpn.compiler.helpers import HELPERS
from lpn.compiler.image import Flag, Image, Kind
from lpn.compiler.output import write_files
from lpn.runtime.engines import DEFAULT_FUEL
from lpn.verifier.cost import FOLDER, RECORD, Cost, CostTable, TableSize, in_pieces

from .core import CODE, CODE_SIZE, Core
from .engine import Thumb2Program
from .host import SCRATCH, WINDOW
from .linked import Linked

HOW = ("measured on the emulated Cortex-M3 by python -m lpn.runtime.m3.measure; most: TRM worst case, 2 wait states at 72 MHz, each function "
       "linked where it waits most; "
       "helpers that the node does: as declared in compiler/helpers.py")
FRAME = bytes(60)
EMPTY = "w0 = 0\nexit"
CALL = "w1 = 0\nw2 = 0\ncall {}\n" + EMPTY


def run(*modules: str, record: int = RECORD, table: Table | None = None) -> Linked:
    """The cycles of a chain of these modules at most, without their own code."""
    images = tuple(Image(f"m{i}", Kind.PROCESSOR, assemble(source), flags=Flag.CLEAN32, record_size=record, record_hash=1)
                   for i, source in enumerate(modules))
    bundle = Bundle("p", 1, images, (Hook("radio.rx_done", tuple(each.name for each in images)),), record_size=record, record_hash=1,
                    tables=(table,) if table else ())
    program = Thumb2Program(bundle, DEFAULT_FUEL, core=Core(window=WINDOW))
    host, core = program.host, program.host.core
    core.forget()
    core.call("lpn_host_run", host.handle, host.put("frame", FRAME), len(FRAME), host.put("meta", bytes(SCRATCH)),
              host.room("packet"), host.room("c"), host.room("result"))
    return core.worst(apart=(CODE, CODE + CODE_SIZE))


def most(*modules: str, record: int = RECORD, table: Table | None = None) -> int:
    """The same, wherever it is linked."""
    return ceil(run(*modules, record=record, table=table).most)


def look_up(kind: str, key_bytes: int, fields: int, entries: int, data: int = 0, room: int | None = None, hit: bool = False) -> Linked:
    """A lookup that misses all entries, each in the last byte of its last field, or all but the last one (exact: or all but the first).
    `data`: octets of action data; `room`: octets that the caller gives for them."""
    room = data if room is None else room
    width = key_bytes // fields * 8
    key = (1 << width) - 1
    other = key - 1
    match = {"exact": (other,), "lpm": (other, width), "ternary": (other, key), "range": (other, other)}[kind]
    hits = {"exact": (key,), "lpm": (key, width), "ternary": (key, key), "range": (key, key)}[kind]
    rows = [Entry((hits,) * (fields - 1) + (match,), 1, bytes(data), i) for i in range(entries)]
    if kind == "exact":                         # sorted and bisected: all octets are the same but the last
        rows = [Entry((hits,) * (fields - 1) + ((other - i,),), 1, bytes(data), i) for i in range(entries)]
    if hit:
        rows[-1] = Entry((hits,) * fields, 1, bytes(data), entries)
    table = Table("t", 0, tuple(KeyField(width, kind) for _ in range(fields)), data, entries, tuple(rows))
    size = (key_bytes + 7) // 8 * 8
    stores = "".join(f"*(u64 *)(r10 - {at}) = -1\n" for at in range(8, size + 1, 8))
    source = (f"{stores}w1 = 0\nr2 = r10\nr2 += -{size}\nw3 = {key_bytes}\nr4 = r10\nr4 += -{size + 256}\nw5 = {room}\ncall 1\n{EMPTY}")
    return run(source, table=table) - run(EMPTY)


def lookup(kind: str, key_bytes: int, fields: int, entries: int, data: int = 0, room: int | None = None, hit: bool = False) -> int:
    """The same, wherever it is linked."""
    return ceil(look_up(kind, key_bytes, fields, entries, data, room, hit).most)


def pieces(cost: Callable[[int], Linked], sizes: Sequence[int]) -> list[list[int]]:
    """[octets, cycles] of the pieces in which so many octets are written, large ones first."""
    return [[size, ceil(((cost(times * size) - cost(0)) / times).most)] for size, times in zip(sizes, [8] + [3] * len(sizes))]


def beyond(found: Iterable[tuple[int, int]]) -> int:
    """How much more is measured at most than the rows say. `found`: measured and said."""
    return max(0, *(measured - said for measured, said in found))


def slopes(kind: str) -> tuple[float, float, float]:
    """Of a table that is searched entry by entry: cycles per entry with a field, per entry and further field, per entry and octet."""
    def slope(key_bytes: int, fields: int) -> Linked:
        return (look_up(kind, key_bytes, fields, 24) - look_up(kind, key_bytes, fields, 4)) / 20
    small, large, more = slope(4, 1), slope(16, 1), slope(16, 4)
    byte = ((large - small) / 12).most
    return small.most - 4 * byte, ((more - large) / 3).most, byte


def lookups(record: list[list[int]]) -> dict:
    """The row of the helper `lookup`. `record`: how octets are zeroed."""
    match, entry = {}, 0.0
    for kind in ("lpm", "ternary", "range"):
        first, field, byte = slopes(kind)
        match[kind], entry = [ceil(field), ceil(byte)], max(entry, first - ceil(field))
    # an exact field beside one of another kind is compared once, as a range is twice
    match["exact"] = match["range"]
    few, many = ((look_up("exact", size, 1, 31, hit=True) - look_up("exact", size, 1, 3, hit=True)) / 3 for size in (4, 16))
    byte = ((many - few) / 12).most
    row: dict = {"entry": [max(0, ceil(entry))], "match": match, "bisect": [ceil(few.most - 4 * byte), ceil(byte)],
                 "copy": pieces(lambda n: look_up("lpm", 4, 1, 1, n, n, True), (4, 1)), "zero": record, "call": [1, 0]}
    shapes = [(kind, size, fields, n, hit, data, room) for kind, (size, fields), n, (hit, data, room) in product(
        match, ((1, 1), (4, 1), (16, 1), (16, 4)), (1, 5, 24), ((False, 0, 0), (False, 0, 256), (True, 0, 0), (True, 7, 64), (True, 256, 256)))]
    said = CostTable("", 0, "", Cost(0, 0), Cost(0, 0), {}, {"lookup": row})
    row["call"][1] = beyond((lookup(kind, size, fields, n, data, room, hit), said.helper("lookup", 0, [
        TableSize(n, size, fields, kinds=((kind, size // fields),) * fields, data=data, room=room)]).most)
        for kind, size, fields, n, hit, data, room in shapes)
    return row


def measure() -> dict:
    """The table."""
    def chain(record: int) -> Linked:
        return run(EMPTY, record=record)
    none, one, two = run(EMPTY, record=0), run(EMPTY, EMPTY, record=0), run(EMPTY, EMPTY, EMPTY, record=0)
    module = ceil(max((one - none).most, (two - one).most))
    record = pieces(chain, (64, 16, 4, 1))
    least = ceil(none.most)
    rest = beyond((ceil(chain(size).most), least + in_pieces(record, size)) for size in (8, 15, 63, 76, 127, 140, 300))
    call = ceil(max((run(CALL.format(n), record=0) - none).most for n in (2, 3)))
    helpers = {h.name: {"call": [1, call + h.cost_cycles]} | ({"entry": list(h.grows[:2]), "octet": [h.grows[2]]} if any(h.grows) else {})
               for h in HELPERS}
    for name in ("clock_us", "trace"):
        helpers[name] = {"call": [1, call]}
    helpers["lookup"] = lookups(record)
    return {"mhz": 72, "how": HOW, "module": [1, module], "chain": [1, least - module + rest], "record": record, "insns": {}, "helpers": helpers}


if __name__ == "__main__":
    content = json.dumps(measure(), indent=1).replace("[\n   ", "[").replace(",\n   ", ", ").replace("\n  ]", "]")
    write_files({FOLDER / "thumb2.json": (content + "\n").encode()})
