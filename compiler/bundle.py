"""The bundle: a protocol's containers, its hooks with their chains, tables and reasons in one CBOR file (`.lpnb`).

Reading trusts nothing: sizes, types, names and cross references are checked, and each field that is wrong is
refused by its path, such as `tables[0].key[1].kind`.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from typing import Any, Callable

from lpn.lang.hooks import BUFFER_COMPLETE, CONTEXTS, EVENTS, PERIODIC, RX_DONE, SELECTOR_MAX, TIME_MAX

from . import cbor
from .compact import pack, read_image
from .helpers import FIRST_OWN, HELPERS, LAST_OWN, Helper, own_row
from .image import Flag, Image, ImageError, Kind
from .kept import KeptTable, Migration, read_migration, read_table
from .target import MAX_PACKET, WINDOW

FORMAT = 1
MAX_BUNDLE = 8 << 20
MAX_MODULES = 64
MAX_HOOKS = 64
MILLION = 1_000_000
MAX_CHAIN = 8               #: LPN_MAX_CHAIN
MAX_TABLES = 64
MAX_BUFFERS = 16
MAX_KEY_FIELDS = 8          #: LPN_MAX_KEY_FIELDS
MAX_KEY_BYTES = 64          #: LPN_MAX_KEY_BYTES
MAX_ACTION_DATA = 256       #: LPN_MAX_ACTION_DATA
MATCH_KINDS = ("exact", "lpm", "ternary", "range")


class BundleError(ValueError):
    """A bundle that is refused. `path` names the field."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


@dataclass(frozen=True)
class KeyField:
    """One field of a table's key."""

    width_bits: int
    kind: str               #: one of MATCH_KINDS

    @property
    def bytes(self) -> int:
        """Bytes in the key, big-endian, upper bits 0."""
        return (self.width_bits + 7) // 8


@dataclass(frozen=True)
class Entry:
    """One table entry. `match` has per key field: exact (value,), lpm (value, prefix length), ternary
    (value, mask), range (low, high). `priority`: lower is tried first; of no meaning in exact and lpm tables."""

    match: tuple[tuple[int, ...], ...]
    action: int             #: 1 or more
    data: bytes = b""       #: action_data_bytes bytes
    priority: int = 0


@dataclass(frozen=True)
class Param:
    """A parameter of a table's action and where its value lies in the action data."""

    name: str
    offset: int
    width_bits: int
    order: str = "little"   #: byte order of the value: little or big


@dataclass(frozen=True)
class Action:
    """An action a table's entries may name; its number is 1 + its place in the table's list."""

    name: str
    params: tuple[Param, ...] = ()


@dataclass(frozen=True)
class Table:
    """A match-action table; helper `lookup` knows it by `index`."""

    name: str
    index: int
    key: tuple[KeyField, ...]
    action_data_bytes: int
    size: int
    entries: tuple[Entry, ...] = ()
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class Hook:
    """Something that runs: an event, and the chain of modules that it starts. Times in microseconds.

    `selector`: numbers an occurrence of the event begins with (layer, port, ...); fewer than it has take more occurrences.
    `within`: the deadline, 0: none. `period`, `offset`, `jitter`: when the clock starts it; 0 for other events."""

    event: str                          #: one of lang/hooks.py EVENTS
    chain: tuple[str, ...]              #: names of modules, in order
    context: str = "radio"              #: one of CONTEXTS
    selector: tuple[int, ...] = ()
    within: int = 0
    period: int = 0
    offset: int = 0
    jitter: int = 0


@dataclass(frozen=True)
class Extern:
    """A function of the node's own that the program calls as helper FIRST_OWN + its place in the list. Widths in bits; result 0: none.
    cost: cycles on the Cortex-M3."""

    name: str
    params: tuple[int, ...]
    result: int
    cost: int
    contexts: tuple[str, ...]


def in_words(n: int) -> int:
    """So many bytes in whole words of 8."""
    return n + 7 & ~7


@dataclass(frozen=True)
class Buffer:
    """Bytes that are kept across packets; helpers know it by its place in the list. size: octets of an entry; key: bits of each
    value; timeout: microseconds, 0: none."""

    name: str
    size: int
    entries: int
    key: tuple[int, ...]
    timeout: int = 0

    @property
    def key_bytes(self) -> int:
        return sum((width + 7) // 8 for width in self.key)

    # In a node's memory (runtime/engine/buffers.c) an entry is a head, the key, two maps with a bit for 8 octets, the content and the window
    # behind it, each in whole words of 8 bytes.
    HEAD = 16

    @property
    def map_bytes(self) -> int:
        return in_words((self.size + 7) // 8 // 8 + 1)

    @property
    def memory_bytes(self) -> int:
        """Of all its entries."""
        return self.entries * (self.HEAD + in_words(self.key_bytes) + 2 * self.map_bytes + in_words(self.size) + WINDOW)


@dataclass(frozen=True)
class Energy:
    """An energy budget, and what was found. `promised` and `share` of the time in millionths; `runs`: (index of a hook,
    microseconds that one run of it keeps the radio on at most, with all that it starts)."""

    block: str
    promised: int
    share: int
    runs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Bundle:
    """A protocol, ready to run. The images' hashes and sizes of record and state equal the bundle's."""

    protocol: str
    version: int
    modules: tuple[Image, ...]
    hooks: tuple[Hook, ...] = ()        #: `timer_start` knows a hook by its index
    record_size: int = 0
    record_hash: int = 0
    state_size: int = 0
    state_hash: int = 0
    state_layout: tuple[dict[str, Any], ...] = ()
    tables: tuple[Table, ...] = ()
    reasons: tuple[str, ...] = ()       #: index = reason number of DROP
    externs: tuple[Extern, ...] = ()    #: what it needs of the node's own
    buffers: tuple[Buffer, ...] = ()
    kept: KeptTable = KeptTable()       #: its persistent registers
    migrations: tuple[Migration, ...] = ()
    energy: tuple[Energy, ...] = ()     #: budgets that hold

    def helpers(self) -> tuple[Helper, ...]:
        """All helpers that its containers may call."""
        return HELPERS + tuple(own_row(i, e.name, len(e.params), e.result, e.cost, e.contexts) for i, e in enumerate(self.externs))

    def module(self, name: str) -> Image:
        """The module of that name; KeyError when there is none."""
        for image in self.modules:
            if image.name == name:
                return image
        raise KeyError(name)

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of the modules that a received frame takes: the chain of `radio.rx_done`. Empty when there is none."""
        return next((hook.chain for hook in self.hooks if hook.event == RX_DONE
                     and self.module(hook.chain[0]).kind != Kind.TIMING), ())

    def completing(self) -> dict[int, Hook]:
        """By the number of a buffer, the hook that runs over what it completes."""
        return {hook.selector[0]: hook for hook in self.hooks if hook.event == BUFFER_COMPLETE}

    def chained(self, hook: Hook | None = None) -> tuple[Image, ...]:
        """The modules of a hook's chain, in order; without a hook, of `radio.rx_done`."""
        return tuple(self.module(name) for name in (hook.chain if hook else self.chain))

    def contexts(self, module: str) -> tuple[str, ...]:
        """Where the hooks run that a module belongs to, each once."""
        return tuple(dict.fromkeys(hook.context for hook in self.hooks if module in hook.chain))

    def longest(self, hook: Hook) -> int:
        """Octets of a packet that the hook's chain meets, at most."""
        if hook.event == BUFFER_COMPLETE:
            return self.buffers[hook.selector[0]].size
        return EVENTS[hook.event].longest or MAX_PACKET

    def to_bytes(self, compact: bool = False) -> bytes:
        """The bundle as CBOR, with its images in the compact form or not; BundleError when it could not be read back."""
        content = _content(self, pack if compact else bytes)
        raw = cbor.dumps(content | {"crc32": zlib.crc32(cbor.dumps(content))})
        Bundle.from_bytes(raw)
        return raw

    @classmethod
    def from_bytes(cls, raw: bytes) -> Bundle:
        """Read a bundle; BundleError names the first field that is wrong."""
        try:
            item = cbor.loads(raw, MAX_BUNDLE)
        except cbor.CborError as e:
            raise BundleError("bundle", str(e)) from None
        return _read_bundle(item)


def _content(b: Bundle, stored: Callable[[bytes], bytes] = bytes) -> dict[str, Any]:
    return {
        "lpn": FORMAT,
        "protocol": b.protocol,
        "version": b.version,
        "modules": [{"name": m.name, "kind": m.kind.name.lower(), "image": stored(m.to_bytes())} for m in b.modules],
        "record": {"size": b.record_size, "hash": b.record_hash},
        "state": {"size": b.state_size, "hash": b.state_hash, "layout": list(b.state_layout), "kept": b.kept.content()},
        "migrations": [m.content() for m in b.migrations],
        "tables": [_table_content(t) for t in b.tables],
        "reasons": list(b.reasons),
        "buffers": [asdict(x) | {"key": list(x.key)} for x in b.buffers],
        "energy": [asdict(e) | {"runs": [list(run) for run in e.runs]} for e in b.energy],
        "externs": [asdict(e) | {"params": list(e.params), "contexts": list(e.contexts)} for e in b.externs],
        "hooks": [asdict(h) | {"chain": list(h.chain), "selector": list(h.selector)} for h in b.hooks],
    }


def _table_content(t: Table) -> dict[str, Any]:
    return {
        "name": t.name, "index": t.index, "action_data_bytes": t.action_data_bytes, "size": t.size,
        "key": [{"width_bits": f.width_bits, "kind": f.kind} for f in t.key],
        "actions": [{"name": a.name, "params": [
            {"name": p.name, "offset": p.offset, "width_bits": p.width_bits, "order": p.order}
            for p in a.params]} for a in t.actions],
        "entries": [{
            "match": [_match_content(f, m) for f, m in zip(t.key, e.match, strict=True)],
            "action": e.action, "data": e.data, "priority": e.priority} for e in t.entries],
    }


def _match_content(f: KeyField, match: tuple[int, ...]) -> list[Any]:
    """Values are byte strings, as the key has them: no integers above 64 bits in the format."""
    try:
        values = [v if f.kind == "lpm" and i == 1 else v.to_bytes(f.bytes, "big") for i, v in enumerate(match)]
    except OverflowError:
        raise BundleError("entry", f"match {match} does not fit {f.width_bits} bits") from None
    return values


class _Reader:
    """Typed access to a decoded item; knows its path, for the error."""

    def __init__(self, item: Any, path: str) -> None:
        self.item, self.path = item, path

    def fail(self, detail: str) -> BundleError:
        return BundleError(self.path, detail)

    def map(self, *keys: str) -> dict[str, _Reader]:
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
        return {key: _Reader(self.item[key], dot + key) for key in keys}

    def list(self, limit: int) -> list[_Reader]:
        if not isinstance(self.item, list):
            raise self.fail("an array is expected")
        if len(self.item) > limit:
            raise self.fail(f"{len(self.item)} elements, the limit is {limit}")
        return [_Reader(e, f"{self.path}[{i}]") for i, e in enumerate(self.item)]

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


def _unique(names: list[str], r: _Reader, what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise r.fail(f"{what} {name!r} twice")
        seen.add(name)


def _read_bundle(item: Any) -> Bundle:
    r = _Reader(item, "bundle")
    if not isinstance(item, dict) or "lpn" not in item:
        raise r.fail("not an LPN bundle")
    if _Reader(item["lpn"], "lpn").int(0, 2**32) != FORMAT:
        raise BundleError("lpn", f"format {item['lpn']}, this reads {FORMAT}")
    top = r.map("lpn", "protocol", "version", "modules", "record", "state", "migrations", "tables", "reasons",
                "buffers", "energy", "externs", "hooks", "crc32")
    crc = top["crc32"].int(0, 2**32 - 1)
    if zlib.crc32(cbor.dumps({k: v for k, v in item.items() if k != "crc32"})) != crc:
        raise BundleError("crc32", "checksum mismatch")
    record = top["record"].map("size", "hash")
    state = top["state"].map("size", "hash", "layout", "kept")
    reasons = [x.text() for x in top["reasons"].list(0xff00)]
    _unique(reasons, top["reasons"], "reason")
    tables = [_read_table(t) for t in top["tables"].list(MAX_TABLES)]
    _unique([t.name for t in tables], top["tables"], "table")
    for i, table in enumerate(tables):
        if table.index != i:
            raise BundleError(f"tables[{i}].index", f"{table.index}, tables are numbered in order")
    bundle = Bundle(
        protocol=top["protocol"].text(),
        version=top["version"].int(0, 2**63),
        modules=tuple(_read_module(m) for m in top["modules"].list(MAX_MODULES)),
        record_size=record["size"].int(0, 0xffff), record_hash=record["hash"].int(0, 2**32 - 1),
        state_size=state["size"].int(0, 0xffff), state_hash=state["hash"].int(0, 2**32 - 1),
        state_layout=tuple(_read_slot(s, state["size"].item) for s in state["layout"].list(4096)),
        kept=read_table(state["kept"], state["size"].int(0, 0xffff)),
        migrations=tuple(read_migration(m) for m in top["migrations"].list(MAX_MODULES)),
        tables=tuple(tables),
        reasons=tuple(reasons),
        buffers=tuple(_read_buffer(x) for x in top["buffers"].list(MAX_BUFFERS)),
        energy=tuple(_read_energy(e, len(top["hooks"].list(MAX_HOOKS))) for e in top["energy"].list(MAX_HOOKS)),
        externs=tuple(_read_extern(e) for e in top["externs"].list(LAST_OWN - FIRST_OWN + 1)),
        hooks=tuple(_read_hook(h) for h in top["hooks"].list(MAX_HOOKS)),
    )
    _cross_check(bundle, top)
    return bundle


def _cross_check(b: Bundle, top: dict[str, _Reader]) -> None:
    _unique([m.name for m in b.modules], top["modules"], "module")
    _unique([e.name for e in b.externs], top["externs"], "function")
    _unique([x.name for x in b.buffers], top["buffers"], "buffer")
    for i, hook in enumerate(b.hooks):
        if hook.event == BUFFER_COMPLETE and (len(hook.selector) != 1 or hook.selector[0] >= len(b.buffers)):
            raise BundleError(f"hooks[{i}].selector", f"{list(hook.selector)}, there are {len(b.buffers)} buffers")
    for i, m in enumerate(b.modules):
        needs = _needs(b, m, top["migrations"])
        for what, mine, ours in (("record hash", m.record_hash, zlib.crc32(needs.rows()) if needs else b.record_hash),
                                 ("record size", m.record_size, needs.size if needs else b.record_size),
                                 ("state hash", m.state_hash, b.state_hash),
                                 ("state size", m.state_size, b.state_size)):
            if mine != ours:
                raise BundleError(f"modules[{i}].image", f"{what} {mine:#x}, the bundle's is {ours:#x}")
    names = {m.name for m in b.modules}
    for i, migration in enumerate(b.migrations):
        if migration.module not in names:
            raise BundleError(f"migrations[{i}].module", f"there is no module {migration.module!r}")
    starts: set[tuple] = set()
    for hook, r in zip(b.hooks, top["hooks"].list(MAX_HOOKS)):
        _check_chain(b, hook, _Reader(hook.chain, f"{r.path}.chain"))
        if b.module(hook.chain[0]).kind != Kind.TIMING:
            if (hook.event, hook.selector) in starts:
                raise r.fail(f"a second chain for {hook.event} {list(hook.selector) or ''}".rstrip())
            starts.add((hook.event, hook.selector))


ORDER = {Kind.PARSER: 0, Kind.PROCESSOR: 1, Kind.DEPARSER: 2}


def _needs(b: Bundle, image: Image, r: _Reader) -> KeptTable | None:
    """What a migration container has as its record; each is that of one migration."""
    found = [m.needs for m in b.migrations if m.module == image.name]
    if len(found) > 1 or bool(found) != (image.kind == Kind.MIGRATION):
        raise r.fail(f"module {image.name!r} is {image.kind.name.lower()}, and there are {len(found)} migrations of that name")
    return found[0] if found else None


def _check_chain(b: Bundle, hook: Hook, r: _Reader) -> None:
    """A parser, then processors, then a deparser; or one fused or timing container."""
    known = {m.name: m.kind for m in b.modules}
    for i, name in enumerate(hook.chain):
        if name not in known:
            raise BundleError(f"{r.path}[{i}]", f"there is no module {name!r}")
    _unique(list(hook.chain), r, "module")
    kinds = [known[name] for name in hook.chain]
    if hook.context == "isr" and any(one.kind == Kind.DEPARSER or one.flags & Flag.DEPARSES for one in b.chained(hook)):
        raise r.fail("an interrupt sends nothing: there is a deparser")
    if Kind.MIGRATION in kinds:
        raise r.fail("a migration runs when a bundle replaces another, and starts with no event")
    if len(kinds) == 1:
        return
    places = [ORDER.get(kind, -1) for kind in kinds]
    if -1 in places:
        raise r.fail(f"a {kinds[places.index(-1)].name.lower()} container is alone in its chain")
    if places != sorted(places) or kinds.count(Kind.PARSER) > 1 or kinds.count(Kind.DEPARSER) > 1:
        raise r.fail("a chain is a parser, then processors, then a deparser")


def _read_module(r: _Reader) -> Image:
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


def _read_table(r: _Reader) -> Table:
    t = r.map("name", "index", "key", "action_data_bytes", "size", "entries", "actions")
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
    _unique([a.name for a in actions], t["actions"], "action")
    limit = len(actions) or 0xffff
    entries = tuple(_read_entry(e, key, data, limit) for e in t["entries"].list(size))
    return Table(t["name"].text(), t["index"].int(0, MAX_TABLES - 1), key, data, size, entries, actions)


def _read_buffer(r: _Reader) -> Buffer:
    b = r.map("name", "size", "entries", "key", "timeout")
    key = tuple(width.int(1, 8 * MAX_KEY_BYTES) for width in b["key"].list(MAX_KEY_BYTES))
    buffer = Buffer(b["name"].text(256), b["size"].int(1, 2048), b["entries"].int(1, 256), key, b["timeout"].int(0, TIME_MAX))
    if not 1 <= buffer.key_bytes <= MAX_KEY_BYTES:
        raise b["key"].fail(f"{buffer.key_bytes} bytes, 1 to {MAX_KEY_BYTES} are allowed")
    return buffer


def _read_extern(r: _Reader) -> Extern:
    e = r.map("name", "params", "result", "cost", "contexts")
    params = tuple(p.int(1, 32) for p in e["params"].list(5))
    contexts = tuple(c.one_of(CONTEXTS) for c in e["contexts"].list(len(CONTEXTS)))
    return Extern(e["name"].text(), params, e["result"].int(0, 32), e["cost"].int(1, 2**32 - 1), contexts)


def _read_action(r: _Reader, data_bytes: int) -> Action:
    a = r.map("name", "params")
    params = []
    for p in a["params"].list(32):
        m = p.map("name", "offset", "width_bits", "order")
        width = m["width_bits"].int(1, 8 * MAX_ACTION_DATA)
        offset = m["offset"].int(0, MAX_ACTION_DATA)
        if offset + (width + 7) // 8 > data_bytes:
            raise p.fail(f"ends behind the action data's {data_bytes} bytes")
        params.append(Param(m["name"].text(), offset, width, m["order"].one_of(("little", "big"))))
    _unique([p.name for p in params], a["params"], "parameter")
    return Action(a["name"].text(), tuple(params))


def _read_entry(r: _Reader, key: tuple[KeyField, ...], data_bytes: int, actions: int) -> Entry:
    e = r.map("match", "action", "data", "priority")
    matches = e["match"].list(MAX_KEY_FIELDS)
    if len(matches) != len(key):
        raise e["match"].fail(f"{len(matches)} fields, the key has {len(key)}")
    data = e["data"].bytes(MAX_ACTION_DATA)
    if len(data) != data_bytes:
        raise e["data"].fail(f"{len(data)} bytes, the table's actions have {data_bytes}")
    return Entry(tuple(_read_match(m, f) for m, f in zip(matches, key)), e["action"].int(1, actions), data,
                 e["priority"].int(0, 0xffff))


def _read_match(r: _Reader, f: KeyField) -> tuple[int, ...]:
    parts = r.list(2)
    if len(parts) != (1 if f.kind == "exact" else 2):
        raise r.fail(f"{len(parts)} values, a match of kind {f.kind} has {1 if f.kind == 'exact' else 2}")

    def number(part: _Reader) -> int:
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


def _read_slot(r: _Reader, state_size: int) -> dict[str, Any]:
    s = r.map("name", "offset", "type")
    s["name"].text(256)
    if s["offset"].int(0, 0xffff) >= max(state_size, 1):
        raise s["offset"].fail(f"behind the state's {state_size} bytes")
    _plain(s["type"])
    return r.item


def _read_energy(r: _Reader, hooks: int) -> Energy:
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


def _read_hook(r: _Reader) -> Hook:
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


def _plain(r: _Reader) -> None:
    """Nested plain data; the CBOR guard has bounded depth and size."""
    checks: dict[type, Callable[[], Any]] = {
        str: lambda: r.item.isprintable() or _raise(r.fail("control characters")),
        dict: lambda: [_plain(_Reader(v, f"{r.path}.{k[:40]}")) for k, v in r.item.items()],
        list: lambda: [_plain(x) for x in r.list(cbor.MAX_ITEMS)],
    }
    checks.get(type(r.item), lambda: None)()


def _raise(error: BundleError) -> None:
    raise error
