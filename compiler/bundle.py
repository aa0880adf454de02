"""The bundle: a protocol's containers, its hooks with their chains, tables and reasons in one CBOR file (`.lpnb`).

Reading trusts nothing: sizes, types, names and cross references are checked, and each field that is wrong is
refused by its path, such as `tables[0].key[1].kind`.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from typing import Any, Callable

from lpn.lang.hooks import BUFFER_COMPLETE, EVENTS, RX_DONE
from lpn.lang.limits import MAX_HOOKS, MAX_TABLES

from . import cbor
from .bundle_parts import (
    MAX_BUNDLE, MAX_CHAIN, Action, Buffer, BundleError, Energy, Entry, Extern, Hook, KeyField, Param, Table)
from .bundle_read import Reader, read_buffer, read_energy, read_extern, read_hook, read_module, read_slot, read_table, unique
from .compact import pack
from .helpers import FIRST_OWN, HELPERS, LAST_OWN, Helper, own_row
from .image import Flag, Image, Kind
from .kept import KeptTable, Migration, read_migration
from .kept import read_table as read_kept
from .target import MAX_PACKET

__all__ = ["Action", "Buffer", "Bundle", "BundleError", "Energy", "Entry", "Extern", "Hook", "KeyField", "Param", "Table"]

FORMAT = 2
MAX_MODULES = 64
MAX_BUFFERS = 16


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

    def parses(self, hook: Hook) -> bool:
        """Whether it is a chain that an event brings octets to."""
        return EVENTS[hook.event].packet and self.module(hook.chain[0]).kind != Kind.TIMING

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
        if not raw:
            raise BundleError("bundle", "the file is empty")
        try:
            item = cbor.loads(raw, MAX_BUNDLE)
        except cbor.Short as e:
            raise BundleError("bundle", f"it is cut off, build it again: {e}") from None
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
        "name": t.name, "index": t.index, "action_data_bytes": t.action_data_bytes, "size": t.size, "constant": t.constant,
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


def _read_bundle(item: Any) -> Bundle:
    r = Reader(item, "bundle")
    if not isinstance(item, dict) or "lpn" not in item:
        raise r.fail("not an LPN bundle")
    if Reader(item["lpn"], "lpn").int(0, 2**32) != FORMAT:
        raise BundleError("lpn", f"format {item['lpn']}, this reads {FORMAT}")
    top = r.map("lpn", "protocol", "version", "modules", "record", "state", "migrations", "tables", "reasons",
                "buffers", "energy", "externs", "hooks", "crc32")
    crc = top["crc32"].int(0, 2**32 - 1)
    if zlib.crc32(cbor.dumps({k: v for k, v in item.items() if k != "crc32"})) != crc:
        raise BundleError("crc32", "the checksum is another one: the bundle is damaged, build it again")
    record = top["record"].map("size", "hash")
    state = top["state"].map("size", "hash", "layout", "kept")
    reasons = [x.text() for x in top["reasons"].list(0xff00)]
    unique(reasons, top["reasons"], "reason")
    tables = [read_table(t) for t in top["tables"].list(MAX_TABLES)]
    unique([t.name for t in tables], top["tables"], "table")
    for i, table in enumerate(tables):
        if table.index != i:
            raise BundleError(f"tables[{i}].index", f"{table.index}, tables are numbered in order")
    bundle = Bundle(
        protocol=top["protocol"].text(),
        version=top["version"].int(0, 2**63),
        modules=tuple(read_module(m) for m in top["modules"].list(MAX_MODULES)),
        record_size=record["size"].int(0, 0xffff), record_hash=record["hash"].int(0, 2**32 - 1),
        state_size=state["size"].int(0, 0xffff), state_hash=state["hash"].int(0, 2**32 - 1),
        state_layout=tuple(read_slot(s, state["size"].item) for s in state["layout"].list(4096)),
        kept=read_kept(state["kept"], state["size"].int(0, 0xffff)),
        migrations=tuple(read_migration(m) for m in top["migrations"].list(MAX_MODULES)),
        tables=tuple(tables),
        reasons=tuple(reasons),
        buffers=tuple(read_buffer(x) for x in top["buffers"].list(MAX_BUFFERS)),
        energy=tuple(read_energy(e, len(top["hooks"].list(MAX_HOOKS))) for e in top["energy"].list(MAX_HOOKS)),
        externs=tuple(read_extern(e) for e in top["externs"].list(LAST_OWN - FIRST_OWN + 1)),
        hooks=tuple(read_hook(h) for h in top["hooks"].list(MAX_HOOKS)),
    )
    _cross_check(bundle, top)
    return bundle


def _cross_check(b: Bundle, top: dict[str, Reader]) -> None:
    unique([m.name for m in b.modules], top["modules"], "module")
    unique([e.name for e in b.externs], top["externs"], "function")
    unique([x.name for x in b.buffers], top["buffers"], "buffer")
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
        _check_chain(b, hook, Reader(hook.chain, f"{r.path}.chain"))
        if b.module(hook.chain[0]).kind != Kind.TIMING:
            if (hook.event, hook.selector) in starts:
                raise r.fail(f"a second chain for {hook.event} {list(hook.selector) or ''}".rstrip())
            starts.add((hook.event, hook.selector))


ORDER = {Kind.PARSER: 0, Kind.PROCESSOR: 1, Kind.DEPARSER: 2}


def _needs(b: Bundle, image: Image, r: Reader) -> KeptTable | None:
    """What a migration container has as its record; each is that of one migration."""
    found = [m.needs for m in b.migrations if m.module == image.name]
    if len(found) > 1 or bool(found) != (image.kind == Kind.MIGRATION):
        raise r.fail(f"module {image.name!r} is {image.kind.name.lower()}, and there are {len(found)} migrations of that name")
    return found[0] if found else None


def _check_chain(b: Bundle, hook: Hook, r: Reader) -> None:
    """A parser, then processors, then a deparser; or one fused or timing container."""
    known = {m.name: m.kind for m in b.modules}
    for i, name in enumerate(hook.chain):
        if name not in known:
            raise BundleError(f"{r.path}[{i}]", f"there is no module {name!r}")
    unique(list(hook.chain), r, "module")
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
