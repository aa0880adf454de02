"""Reading the parts of a bundle from decoded CBOR: types, sizes and names are checked, what is wrong is refused by its path."""

from __future__ import annotations

from typing import Any, Callable

from lpn.lang.hooks import CONTEXTS, EVENTS, PERIODIC, SELECTOR_MAX, TIME_MAX
from lpn.lang.limits import MAX_ACTION_DATA, MAX_HOOKS, MAX_KEY_BYTES, MAX_KEY_FIELDS, MAX_TABLES

from . import cbor
from .bundle_parts import (
    MATCH_KINDS, MAX_BUNDLE, MAX_CHAIN, MILLION, Action, Buffer, BundleError, Energy, Entry, Extern, Hook, KeyField, Param, Table)
from .compact import read_image
from .image import Image, ImageError, Kind


class Reader:
    """Typed access to a decoded item; knows its path, for the error."""

    def __init__(self, item: Any, path: str) -> None:
        self.item, self.path = item, path

    def fail(self, detail: str) -> BundleError:
        return BundleError(self.path, detail)

    def map(self, *keys: str) -> dict[str, Reader]:
        """A map with exactly these keys."""
        if not isinstance(self.item, dict):
            raise self.fail("a map is expected")
        for key in keys:
            if key not in self.item:
                raise self.fail(f"{key} is missing")
        for key in self.item:
            if key not in keys:
                raise self.fail(f"unknown field {key[:40]!r}")
        dot = f"{self.path}." if self.path != "bundle" else ""
        return {key: Reader(self.item[key], dot + key) for key in keys}

    def list(self, limit: int) -> list[Reader]:
        if not isinstance(self.item, list):
            raise self.fail("an array is expected")
        if len(self.item) > limit:
            raise self.fail(f"{len(self.item)} elements, the limit is {limit}")
        return [Reader(e, f"{self.path}[{i}]") for i, e in enumerate(self.item)]

    def int(self, low: int, high: int) -> int:
        if not isinstance(self.item, int) or isinstance(self.item, bool):
            raise self.fail("an integer is expected")
        if not low <= self.item <= high:
            raise self.fail(f"{self.item} is not in {low}..{high}")
        return self.item

    def text(self, limit: int = 64) -> str:
        """Non-empty text a person can read."""
        if not isinstance(self.item, str):
            raise self.fail("text is expected")
        if not 1 <= len(self.item.encode("utf-8", "surrogatepass")) <= limit:
            raise self.fail(f"1 to {limit} bytes of text are expected")
        if not self.item.isprintable():
            raise self.fail("control characters")
        return self.item

    def bool(self) -> bool:
        if not isinstance(self.item, bool):
            raise self.fail("true or false is expected")
        return self.item

    def one_of(self, words: tuple[str, ...]) -> str:
        if self.item not in words or not isinstance(self.item, str):
            raise self.fail(f"one of {', '.join(words)} is expected")
        return self.item

    def bytes(self, limit: int) -> bytes:
        if not isinstance(self.item, bytes):
            raise self.fail("a byte string is expected")
        if len(self.item) > limit:
            raise self.fail(f"{len(self.item)} bytes, the limit is {limit}")
        return self.item


def unique(names: list[str], r: Reader, what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise r.fail(f"{what} {name!r} twice")
        seen.add(name)


def read_module(r: Reader) -> Image:
    m = r.map("name", "kind", "image")
    kind = m["kind"].one_of(tuple(k.name.lower() for k in Kind))
    name = m["name"].text()
    try:
        image = read_image(m["image"].bytes(MAX_BUNDLE))
    except ImageError as e:
        raise m["image"].fail(str(e)) from None
    if image.name != name:
        raise m["name"].fail(f"{name!r}, the image says {image.name!r}")
    if image.kind.name.lower() != kind:
        raise m["kind"].fail(f"{kind}, the image says {image.kind.name.lower()}")
    return image


def read_table(r: Reader) -> Table:
    t = r.map("name", "index", "key", "action_data_bytes", "size", "constant", "entries", "actions")
    fields = t["key"].list(MAX_KEY_FIELDS)
    key = tuple(KeyField(f.map("width_bits", "kind")["width_bits"].int(1, 8 * MAX_KEY_BYTES),
                         f.map("width_bits", "kind")["kind"].one_of(MATCH_KINDS)) for f in fields)
    if not key:
        raise t["key"].fail("a table has at least one key field")
    if sum(f.bytes for f in key) > MAX_KEY_BYTES:
        raise t["key"].fail(f"longer than {MAX_KEY_BYTES} bytes")
    data = t["action_data_bytes"].int(0, MAX_ACTION_DATA)
    size = t["size"].int(1, 0xffff)
    actions = tuple(_read_action(a, data) for a in t["actions"].list(256))
    unique([a.name for a in actions], t["actions"], "action")
    limit = len(actions) or 0xffff
    entries = tuple(_read_entry(e, key, data, limit) for e in t["entries"].list(size))
    return Table(t["name"].text(), t["index"].int(0, MAX_TABLES - 1), key, data, size, entries, actions, t["constant"].bool())


def read_buffer(r: Reader) -> Buffer:
    b = r.map("name", "size", "entries", "key", "timeout")
    key = tuple(width.int(1, 8 * MAX_KEY_BYTES) for width in b["key"].list(MAX_KEY_BYTES))
    buffer = Buffer(b["name"].text(256), b["size"].int(1, 2048), b["entries"].int(1, 256), key, b["timeout"].int(0, TIME_MAX))
    if not 1 <= buffer.key_bytes <= MAX_KEY_BYTES:
        raise b["key"].fail(f"{buffer.key_bytes} bytes, 1 to {MAX_KEY_BYTES} are allowed")
    return buffer


def read_extern(r: Reader) -> Extern:
    e = r.map("name", "params", "result", "cost", "contexts")
    params = tuple(p.int(1, 32) for p in e["params"].list(5))
    contexts = tuple(c.one_of(CONTEXTS) for c in e["contexts"].list(len(CONTEXTS)))
    return Extern(e["name"].text(), params, e["result"].int(0, 32), e["cost"].int(1, 2**32 - 1), contexts)


def _read_action(r: Reader, data_bytes: int) -> Action:
    a = r.map("name", "params")
    params = []
    for p in a["params"].list(32):
        m = p.map("name", "offset", "width_bits", "order")
        width = m["width_bits"].int(1, 8 * MAX_ACTION_DATA)
        offset = m["offset"].int(0, MAX_ACTION_DATA)
        if offset + (width + 7) // 8 > data_bytes:
            raise p.fail(f"ends behind the action data's {data_bytes} bytes")
        params.append(Param(m["name"].text(), offset, width, m["order"].one_of(("little", "big"))))
    unique([p.name for p in params], a["params"], "parameter")
    return Action(a["name"].text(), tuple(params))


def _read_entry(r: Reader, key: tuple[KeyField, ...], data_bytes: int, actions: int) -> Entry:
    e = r.map("match", "action", "data", "priority")
    matches = e["match"].list(MAX_KEY_FIELDS)
    if len(matches) != len(key):
        raise e["match"].fail(f"{len(matches)} fields, the key has {len(key)}")
    data = e["data"].bytes(MAX_ACTION_DATA)
    if len(data) != data_bytes:
        raise e["data"].fail(f"{len(data)} bytes, the table's actions have {data_bytes}")
    return Entry(tuple(_read_match(m, f) for m, f in zip(matches, key)), e["action"].int(1, actions), data,
                 e["priority"].int(0, 0xffff))


def _read_match(r: Reader, f: KeyField) -> tuple[int, ...]:
    parts = r.list(2)
    if len(parts) != (1 if f.kind == "exact" else 2):
        raise r.fail(f"{len(parts)} values, a match of kind {f.kind} has {1 if f.kind == 'exact' else 2}")

    def number(part: Reader) -> int:
        raw = part.bytes(f.bytes)
        value = int.from_bytes(raw, "big")
        if len(raw) != f.bytes or value >> f.width_bits:
            raise part.fail(f"not a value of {f.width_bits} bits in {f.bytes} bytes")
        return value

    if f.kind == "lpm":
        return number(parts[0]), parts[1].int(0, f.width_bits)
    values = tuple(number(p) for p in parts)
    if f.kind == "range" and values[0] > values[1]:
        raise r.fail(f"the range {values[0]}..{values[1]} is empty")
    return values


def read_slot(r: Reader, state_size: int) -> dict[str, Any]:
    s = r.map("name", "offset", "type")
    s["name"].text(256)
    if s["offset"].int(0, 0xffff) >= max(state_size, 1):
        raise s["offset"].fail(f"behind the state's {state_size} bytes")
    _plain(s["type"])
    return r.item


def read_energy(r: Reader, hooks: int) -> Energy:
    e = r.map("block", "promised", "share", "runs")
    runs = []
    for run in e["runs"].list(MAX_HOOKS):
        pair = run.list(2)
        if len(pair) != 2:
            raise run.fail("a hook and a time are expected")
        runs.append((pair[0].int(0, hooks - 1), pair[1].int(0, TIME_MAX)))
    energy = Energy(e["block"].text(), e["promised"].int(0, MILLION), e["share"].int(0, MILLION), tuple(runs))
    if energy.share > energy.promised:
        raise e["share"].fail(f"{energy.share}, {energy.promised} is promised")
    return energy


def read_hook(r: Reader) -> Hook:
    h = r.map("event", "selector", "context", "chain", "within", "period", "offset", "jitter")
    name = h["event"].one_of(tuple(EVENTS))
    event = EVENTS[name]
    selector = tuple(n.int(0, SELECTOR_MAX) for n in h["selector"].list(len(event.selectors)))
    context = h["context"].one_of(CONTEXTS)
    if context != event.context and name != "buffer.complete":      # a buffer's: that of the chain which completed it
        raise h["context"].fail(f"{context}, {name} runs in {event.context}")
    chain = tuple(c.text() for c in h["chain"].list(MAX_CHAIN))
    if not chain:
        raise h["chain"].fail("a chain has at least one module")
    within, period, offset, jitter = (h[key].int(0, TIME_MAX) for key in ("within", "period", "offset", "jitter"))
    if name in PERIODIC and not period:
        raise h["period"].fail(f"0, {name} has a period")
    if name not in PERIODIC and (period or offset or jitter):
        raise r.fail(f"{name} has no period, offset or jitter")
    if jitter > period or offset and offset >= period:
        key, value = ("jitter", jitter) if jitter > period else ("offset", offset)
        raise h[key].fail(f"{value}, the period is {period}")
    return Hook(name, chain, context, selector, within, period, offset, jitter)


def _plain(r: Reader) -> None:
    """Nested plain data; the CBOR guard has bounded depth and size."""
    checks: dict[type, Callable[[], Any]] = {
        str: lambda: r.item.isprintable() or _raise(r.fail("control characters")),
        dict: lambda: [_plain(Reader(v, f"{r.path}.{k[:40]}")) for k, v in r.item.items()],
        list: lambda: [_plain(x) for x in r.list(cbor.MAX_ITEMS)],
    }
    checks.get(type(r.item), lambda: None)()


def _raise(error: BundleError) -> None:
    raise error
