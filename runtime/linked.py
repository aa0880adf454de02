"""The linked form of a bundle: C source of the set that a node would make of its pack, with Thumb-2 code for containers.

For a firmware that has one program, built in: nothing is read, checked or made when it starts, so what does that is not in it, and what
never changes lies in flash. `lpn_linked` and `lpn_linked_begin` of lpn_pack.h are what it defines; docs/image.md describes it.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lpn.compiler.bundle import Bundle, BundleError, Buffer, Entry, Table
from lpn.compiler.bundle_parts import MATCH_KINDS
from lpn.compiler.image import Flag, Image, Kind
from lpn.compiler.isa import decode
from lpn.lang.hooks import CONTEXTS, EVENTS

from .engines import EngineError, entry_bytes
from .pack import bare, translated

ISR = CONTEXTS.index("isr")
_EVENTS = tuple(EVENTS)
_WIDTH = 12                                     #: numbers in a line


@dataclass(frozen=True)
class Needs:
    """What of the engine a linked set uses; the rest may be left out (lpn.h)."""

    clean32: bool
    tables: bool
    buffers: bool

    @property
    def left_out(self) -> dict[str, int]:
        """The engine's options with which the firmware is smallest."""
        return {"LPN_CODE_ONLY": 1, "LPN_CLEAN32_ONLY": int(self.clean32), "LPN_NO_TABLES": int(not self.tables), "LPN_NO_BUFFERS": int(not self.buffers), "LPN_ONE_SET": 1}


def needs(bundle: Bundle) -> Needs:
    return Needs(all(image.flags & Flag.CLEAN32 for image in bundle.modules), bool(bundle.tables), bool(bundle.buffers))


def linked(bundle: Bundle, *, state: bytes | None = None, entries: Mapping[str, Iterable[Entry]] | None = None) -> str:
    """The C file. `state`, `entries`: as pack() has them. BundleError for what cannot be linked."""
    if not bundle.hooks:
        raise BundleError("hooks", "there are none: nothing would ever run")
    if bundle.externs:
        raise BundleError("externs", f"the node's own function {bundle.externs[0].name} is found by its name when a pack is loaded: give the firmware a pack")
    codes = translated(bundle)
    names = _symbols(bundle.modules)
    first = (state if state is not None else b"").rstrip(b"\0")
    given = {t.name: list((entries or {}).get(t.name, t.entries)) for t in bundle.tables}
    parts = [_head(bundle)]
    parts += [_code(name, code) for name, code in zip(names, codes)]
    parts += [_containers(bundle.modules, names), _hooks(bundle), _memory(bundle, first)]
    parts += [_table(i, t, given[t.name]) for i, t in enumerate(bundle.tables)]
    parts += [_buffers(bundle.buffers)] if bundle.buffers else []
    return "\n".join([*parts, _set(bundle), _begin(bundle, first, [len(given[t.name]) for t in bundle.tables])])


def _head(bundle: Bundle) -> str:
    uses = needs(bundle)
    refused = [f"#if {option}\n#error \"this set needs what {option} leaves out\"\n#endif" for option, may in uses.left_out.items() if not may]
    return "\n".join([f"/* {bundle.protocol} version {bundle.version}, linked: written by `lpnc pack --linked`. */", "#include <string.h>", "",
                      '#include "lpn_pack.h"', "", *refused, "", "#define CODE(of) ((lpn_native_code *)((uintptr_t)(of) + 1))      /* the lowest bit says: Thumb */",
                      "#define WORDS(bytes) (((bytes) + 7) / 8 + ((bytes) == 0))", ""])


def _symbols(images: Iterable[Image]) -> list[str]:
    found: list[str] = []
    for image in images:
        name = re.sub(r"[^A-Za-z0-9_]", "_", image.name)
        found.append(name if name not in found else f"{name}_{len(found)}")
    return found


def _numbers(values: Iterable[int]) -> Iterator[str]:
    every = [f"{value:#x}" for value in values]
    for at in range(0, len(every), _WIDTH):
        yield "    " + ", ".join(every[at:at + _WIDTH]) + ","


def _array(kind: str, name: str, values: Iterable[int], attributes: str = "") -> str:
    return "\n".join([f"static const {kind} {name}[]{attributes} = {{", *_numbers(values), "};", ""])


def _code(name: str, code: bytes) -> str:
    halves = (int.from_bytes(code[at:at + 2], "little") for at in range(0, len(code), 2))
    return _array("uint16_t", f"lpn_code_{name}", halves, f' __attribute__((aligned(4), section(".text.lpn_code_{name}")))')


def _containers(images: Iterable[Image], names: Iterable[str]) -> str:
    out, rows = [], []
    for image, name in zip(images, names):
        out.append(_array("uint8_t", f"image_{name}", bare(image).to_bytes(), " __attribute__((aligned(4)))"))
        calls = any(insn.is_call or insn.is_atomic for insn in decode(image.text))
        rows.append(f"    {{ .image = image_{name}, .program = {{ .certified = true, .clean32 = {str(bool(image.flags & Flag.CLEAN32)).lower()}, "
                    f".marks = {'LPN_MARK_HELPER' if calls else '0'} }},"
                    f" .native = CODE(lpn_code_{name}), .deparses = {str(image.kind == Kind.DEPARSER or bool(image.flags & Flag.DEPARSES)).lower()}, .output = {image.out_size} }},")
    return "\n".join([*out, "static const lpn_container container[] = {", *rows, "};", ""])


def _hooks(bundle: Bundle) -> str:
    numbers = {image.name: i for i, image in enumerate(bundle.modules)}
    chains, rows = [], []
    for i, h in enumerate(bundle.hooks):
        chains.append(f"static const lpn_container *const chain_{i}[] = {{ " + ", ".join(f"&container[{numbers[m]}]" for m in h.chain) + " };")
        selector = ", ".join(f"{s}u" for s in (*h.selector, 0, 0)[:2])
        rows.append(f"    {{ .chain = chain_{i}, .containers = {len(h.chain)}, .event = {_EVENTS.index(h.event)} /* {h.event} */, .context = {CONTEXTS.index(h.context)},"
                    f" .selectors = {len(h.selector)}, .selector = {{ {selector} }},\n"
                    f"      .within = {h.within}u, .period = {h.period}u, .offset = {h.offset}u, .jitter = {h.jitter}u }},")
    return "\n".join([*chains, "static lpn_hook hook[] = {", *rows, "};", ""])


def _memory(bundle: Bundle, first: bytes) -> str:
    out = [f"static uint64_t record[WORDS({bundle.record_size})], state[WORDS({bundle.state_size})];", f"static uint32_t drop[{len(bundle.reasons) + 1}];"]
    if _has_isr(bundle):
        out += ["static lpn_work isr;", f"static uint64_t isr_record[WORDS({bundle.record_size})];"]
    if first:
        out += [_array("uint8_t", "first", first)]
    return "\n".join([*out, ""])


def _has_isr(bundle: Bundle) -> bool:
    return any(CONTEXTS.index(h.context) == ISR for h in bundle.hooks)


def _table(i: int, table: Table, entries: list[Entry]) -> str:
    """Shape, memory and rows: action, priority, values or lows, masks or highs, the action's data."""
    if len(entries) > table.size:
        raise BundleError(f"table {table.name}", f"{len(entries)} entries, there is room for {table.size}")
    fields = ", ".join(f"{{ {f.width_bits}, {MATCH_KINDS.index(f.kind)} }}" for f in table.key)
    key = sum(f.bytes for f in table.key)
    exact = all(f.kind == "exact" for f in table.key)
    stride = 4 + (1 if exact else 2) * key + table.action_data_bytes         # tables.c
    out = [f"static const lpn_table_shape shape_{i} = {{ .fields = {len(table.key)}, .field = {{ {fields} }}, .action_data = {table.action_data_bytes},"
           f" .capacity = {table.size} }};", f"static uint64_t entries_{i}[WORDS({2 * stride * table.size})];"]
    raw = b""
    for entry in entries:
        try:
            a, b = entry_bytes(table, entry)
        except EngineError as e:
            raise BundleError(f"table {table.name}", str(e)) from None
        raw += entry.action.to_bytes(2, "little") + entry.priority.to_bytes(2, "little") + a + b + entry.data
    if entries:
        out.append(_array("uint8_t", f"rows_{i}", raw))
    return "\n".join([*out, ""])


def _buffers(buffers: Iterable[Buffer]) -> str:
    memory, rows = [], []
    for i, b in enumerate(buffers):
        memory.append(f"static uint64_t buffer_{i}[WORDS({b.memory_bytes})];")
        rows.append(f"    {{ .size = {b.size}, .entries = {b.entries}, .key_size = {b.key_bytes}, .timeout = {b.timeout}u, .memory = (uint8_t *)buffer_{i} }},")
    return "\n".join([*memory, "static lpn_buffer buffer[] = {", *rows, "};", ""])


def _set(bundle: Bundle) -> str:
    tables = [f"static lpn_table table[{len(bundle.tables)}];"] if bundle.tables else []
    rows = ["    .set = {", "        .hook = hook, .hooks = sizeof hook / sizeof hook[0],",
            f"        .state = (uint8_t *)state, .state_size = {bundle.state_size}, .version = {bundle.version & 0xffffffff}u,",
            "        .drop = drop, .drops = sizeof drop / sizeof drop[0],"]
    rows += ["        .tables = table, .table_count = sizeof table / sizeof table[0],"] if bundle.tables else []
    rows += ["        .buffers = &lpn_linked.buffers,"] if bundle.buffers else []
    rows += ["    },", f"    .record = (uint8_t *)record, .record_size = {bundle.record_size}, .translated = {len(bundle.modules)},"]
    rows += ["    .isr = &isr, .isr_record = (uint8_t *)isr_record,"] if _has_isr(bundle) else []
    rows += ["    .buffers = { .buffer = buffer, .count = sizeof buffer / sizeof buffer[0] },"] if bundle.buffers else []
    return "\n".join([*tables, "lpn_packed lpn_linked = {", *rows, "};", ""])


_FILL = """static int fill(lpn_table *of, const lpn_table_shape *shape, uint8_t *memory, size_t size, const uint8_t *row, uint32_t rows)
{
    int error = lpn_table_init(of, shape, memory, size);
    lpn_table_set *set = error == LPN_OK ? lpn_table_begin(of, false) : NULL;
    for (uint32_t i = 0; i < rows && error == LPN_OK; i++) {
        const uint8_t *a = row + 4, *data = a + 2 * of->key_size;
        error = lpn_table_add(of, set, a, a + of->key_size, (uint16_t)(row[0] | row[1] << 8), data, (uint16_t)(row[2] | row[3] << 8));
        row = data + shape->action_data;
    }
    if (error == LPN_OK) {
        lpn_table_commit(of, set);
    }
    return error;
}
"""


def _begin(bundle: Bundle, first: bytes, entries: list[int]) -> str:
    """`entries`: how many, of each table."""
    body = ["    memset(state, 0, sizeof state);", "    memset(drop, 0, sizeof drop);"]
    body += ["    memcpy(state, first, sizeof first);"] if first else []
    body += [f"    memset(buffer_{i}, 0, sizeof buffer_{i});" for i in range(len(bundle.buffers))]
    for i, count in enumerate(entries):
        rows = f"rows_{i}, {count}" if count else "NULL, 0"
        body.append(f"    error = error == LPN_OK ? fill(&table[{i}], &shape_{i}, (uint8_t *)entries_{i}, sizeof entries_{i}, {rows}) : error;")
    return "\n".join([*([_FILL] if bundle.tables else []), "int lpn_linked_begin(void)", "{", "    int error = LPN_OK;", *body, "    return error;", "}", ""])
