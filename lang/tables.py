"""What the control plane gives a program: register cells and table entries, from a JSON file.

    {"contexts": {"0": {"prefix": "2001:db8::", "length": 64}},
     "limit": 5,
     "ports": [61616, "0xf0b0"],
     "routes": [{"key": ["aaaa::/64"], "action": "send_to", "args": [7], "priority": 1}]}

An object of a module is `Module.name`, or `name` where only one module has it. Everything is checked against the
program; what comes out knows nothing of any engine.
"""
from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Optional, Sequence, Union

from . import ast
from .builtins import NO_ERROR
from .files import octets
from .limits import MAX_PRIORITY
from .types import Array, Bits, Bool, EnumType, ErrorType, StructType, Type

Stateful = Union[ast.Register, ast.Counter, ast.Meter, ast.BufferDecl, ast.Table, ast.ValueSet]


class TablesError(Exception):
    """One line: where in the file, then what is wrong."""


@dataclass(frozen=True)
class Cell:
    """A register's cell and the values given: by field (`outer.inner` in a struct in a struct), "" for a plain cell."""

    register: ast.Register
    index: int
    values: dict[str, int]


@dataclass(frozen=True)
class Match:
    """What one key must be. exact, lpm, ternary: `key & mask == value`; range: `low <= key <= high`, of unsigned numbers (`range_number`)."""

    kind: str
    width: int
    value: int = 0
    mask: int = 0
    prefix: int = 0                             # lpm: its length in bits
    low: int = 0
    high: int = 0

    def holds(self, key: int) -> bool:
        return self.low <= key <= self.high if self.kind == "range" else key & self.mask == self.value


@dataclass(frozen=True)
class Entry:
    """A table's entry. `action` counts the table's actions from 1; the lower `priority` number comes first."""

    matches: tuple[Match, ...]
    action: int
    args: tuple[int, ...]
    priority: int


@dataclass
class Tables:
    """Register cells to set, and for each table named in the file all its entries: the program's constant ones,
    then the file's."""

    cells: list[Cell] = field(default_factory=list)
    entries: dict[ast.Table, list[Entry]] = field(default_factory=dict)


def load(path: str | Path, program: ast.Program) -> Tables:
    """Read a tables file. Raises TablesError, the file's name in front."""
    try:
        return from_text(octets(Path(path)).decode("utf-8-sig"), program)
    except OSError as error:
        raise TablesError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise TablesError(f"{path}: not UTF-8 text") from error
    except TablesError as error:
        raise TablesError(f"{path}: {error}") from error


def from_text(text: str, program: ast.Program) -> Tables:
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        raise TablesError(f"not JSON: {error}") from error
    except ValueError as error:                 # Python's limit
        raise TablesError("a number has too many digits") from error
    return from_json(value, program)


def from_json(value: object, program: ast.Program) -> Tables:
    """Check a file's content (already parsed) against the program."""
    if not isinstance(value, dict):
        raise TablesError("an object with registers and tables by name is expected")
    tables = Tables()
    for name, content in value.items():
        decl = find(program, name)
        if isinstance(decl, ast.Register):
            tables.cells.extend(_cells(name, decl, content, program.reasons))
        elif isinstance(decl, ast.Table):
            tables.entries[decl] = _table(name, decl, content, program.reasons)
        elif isinstance(decl, ast.ValueSet) and decl.table is not None:
            tables.entries[decl.table] = _value_set(name, decl, content)
        else:
            raise TablesError(f"{name}: a {type(decl).__name__.lower()} cannot be set")
    return tables


# ---------------------------------------------------------------- names

def declared(program: ast.Program) -> Iterator[tuple[str, Stateful]]:
    """Every stateful object and table in order of declaration, imports first."""
    kinds = (ast.Register, ast.Counter, ast.Meter, ast.BufferDecl, ast.Table, ast.ValueSet)
    for decl in program.decls:
        if isinstance(decl, kinds):
            yield decl.name, decl
        for local in getattr(decl, "locals", []):
            if isinstance(local, kinds) and isinstance(decl, ast.Decl) and getattr(local, "shared", None) is None:
                yield f"{decl.name}.{local.name}", local


def stateful(program: ast.Program) -> Iterator[tuple[str, ast.Register | ast.Counter | ast.Meter]]:
    """What has cells in the program's state."""
    return ((name, decl) for name, decl in declared(program) if isinstance(decl, (ast.Register, ast.Counter, ast.Meter)))


def find(program: ast.Program, name: str) -> Stateful:
    full = [decl for each, decl in declared(program) if each == name]
    short = [(each, decl) for each, decl in declared(program) if each.rpartition(".")[2] == name]
    if full:
        return full[0]
    if len(short) > 1:
        raise TablesError(f"{name}: say which one: {' or '.join(each for each, _ in short)}")
    if not short:
        known = sorted(each for each, decl in declared(program) if isinstance(decl, (ast.Register, ast.Table, ast.ValueSet)))
        raise TablesError(f"{name}: the program has no such register, table or value set"
                          + (f" (it has {', '.join(known)})" if known else ""))
    return short[0][1]


# ---------------------------------------------------------------- registers

def _cells(name: str, decl: ast.Register, content: object, reasons: list[str]) -> Iterator[Cell]:
    if not isinstance(decl.type, Array):
        yield Cell(decl, 0, dict(_values(name, decl.type, content, reasons)))
        return
    if not isinstance(content, dict):
        raise TablesError(f"{name}: an object with cells by index is expected")
    for key, value in content.items():
        if not re.fullmatch(r"0|[1-9][0-9]{0,8}", key):
            raise TablesError(f"{name}: {key!r} is not an index")
        if int(key) >= decl.type.size:
            raise TablesError(f"{name}: index {key} is out of range 0 to {decl.type.size - 1}")
        yield Cell(decl, int(key), dict(_values(f"{name}[{int(key)}]", decl.type.cell, value, reasons)))


def _values(where: str, type_: Optional[Type], value: object, reasons: list[str], path: str = "") -> Iterator[tuple[str, int]]:
    if not isinstance(type_, StructType):
        yield path, number(where, type_, value, reasons)
        return
    if not isinstance(value, dict):
        raise TablesError(f"{where}: an object with fields of {type_} is expected")
    fields = {each.name: each for each in type_.decl.fields}
    for name, part in value.items():
        if name not in fields:
            raise TablesError(f"{where}: {type_} has no field {name} (it has {', '.join(fields)})")
        yield from _values(f"{where}.{name}", fields[name].type, part, reasons, f"{path}.{name}" if path else name)


# ---------------------------------------------------------------- values

def number(where: str, type_: Optional[Type], value: object, reasons: Sequence[str] = ()) -> int:
    """A scalar of the given type: an integer, "0x..", an address, the name of an enum's member or of one of the program's errors, true or false."""
    if isinstance(type_, Bool):
        if not isinstance(value, bool):
            raise TablesError(f"{where}: true or false is expected, not {_shown(value)}")
        return int(value)
    if isinstance(type_, EnumType):
        return _enum(where, type_, value)
    if isinstance(type_, ErrorType):
        errors = errors_of(reasons)
        name = value.removeprefix("error.") if isinstance(value, str) else ""
        if name not in errors:
            raise TablesError(f"{where}: {_shown(value)} is not one of the errors {', '.join(errors)}")
        return errors[name]
    if not isinstance(type_, Bits):
        raise TablesError(f"{where}: a value of type {type_} cannot be given")
    result = _text(value, type_) if isinstance(value, str) else value
    if not isinstance(result, int) or isinstance(result, bool):
        raise TablesError(f"{where}: {_shown(value)} is not a value of {type_}")
    low, high = (-(1 << type_.width - 1), (1 << type_.width - 1) - 1) if type_.signed else (0, (1 << type_.width) - 1)
    if not low <= result <= high:
        raise TablesError(f"{where}: {_shown(value)} does not fit {type_}")
    return result


def written(type_: Optional[Type], value: int, reasons: Sequence[str] = ()) -> object:
    """A scalar as `number` reads it: by name what has one, wider than 64 bits an address or in hex."""
    if isinstance(type_, Bool):
        return bool(value)
    if isinstance(type_, EnumType):
        return next((member.name for member in type_.decl.members if member.number == value), value)
    if isinstance(type_, ErrorType):
        return next((name for name, error in errors_of(reasons).items() if error == value), value)
    if isinstance(type_, Bits) and type_.width > 64:
        return str(ipaddress.IPv6Address(value)) if type_.width == 128 else f"{value:#x}"
    return value


def errors_of(reasons: Sequence[str]) -> dict[str, int]:
    """The errors that a program can name, by name: of its reasons those that do not come by themselves."""
    return {name or NO_ERROR: number for number, name in enumerate(reasons) if "." not in name}


def _text(text: str, type_: Bits) -> Optional[int]:
    if re.fullmatch(r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|-?[0-9]+", text):
        try:
            return int(text, 10 if text.lstrip("-").isdigit() else 0)
        except ValueError:                      # underscores where there must be none
            return None
    if type_.width == 128:
        try:
            return int(ipaddress.IPv6Address(text)) if "%" not in text else None
        except ipaddress.AddressValueError:
            return None
    if type_.width == 64 and re.fullmatch(r"[0-9a-fA-F]{2}(([:-])[0-9a-fA-F]{2})(\2[0-9a-fA-F]{2}){6}", text):
        return int(re.sub("[:-]", "", text), 16)
    return None


def _enum(where: str, type_: EnumType, value: object) -> int:
    for member in type_.decl.members:
        if value == member.name or (value == member.number and not isinstance(value, bool)):
            return member.number
    raise TablesError(f"{where}: {_shown(value)} is not one of {', '.join(each.name for each in type_.decl.members)}")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result:
            raise TablesError(f"{key} is given twice")
        result[key] = value
    return result


# ---------------------------------------------------------------- tables

def _table(name: str, table: ast.Table, content: object, reasons: list[str]) -> list[Entry]:
    constant = constant_entries_of(table)
    if not table.keys:
        raise TablesError(f"{name}: the table has no key, so it has no entries")
    if not isinstance(content, list):
        raise TablesError(f"{name}: a list of entries is expected")
    if table.const_entries and content:
        raise TablesError(f"{name}: its entries are constant")
    entries = constant + [_entry(f"{name}[{at}]", table, each, len(constant) + at, reasons) for at, each in enumerate(content)]
    if table.size is not None and table.size.const is not None and len(entries) > table.size.const:
        raise TablesError(f"{name}: {len(entries)} entries, the table's size is {table.size.const}")
    return reachable(table, entries)


def _value_set(name: str, decl: ast.ValueSet, content: object) -> list[Entry]:
    """A list of values, each once."""
    if not isinstance(content, list):
        raise TablesError(f"{name}: a list of values is expected")
    assert decl.table is not None and decl.size is not None
    if len(content) > int(decl.size.const or 0):
        raise TablesError(f"{name}: {len(content)} values, the set's size is {decl.size.const}")
    values = [number(f"{name}[{at}]", decl.type, value) for at, value in enumerate(content)]
    for at, value in enumerate(values):
        if value in values[:at]:
            raise TablesError(f"{name}[{at}]: {_shown(content[at])} is given twice")
    return [Entry((match("exact", decl.type, value),), 1, (), at) for at, value in enumerate(values)]


def _entry(where: str, table: ast.Table, content: object, position: int, reasons: list[str]) -> Entry:
    if not isinstance(content, dict):
        raise TablesError(f"{where}: an object with key and action is expected")
    unknown = sorted(set(content) - {"key", "action", "args", "priority"})
    if unknown:
        raise TablesError(f"{where}: unknown {unknown[0]!r} (an entry has key, action, args, priority)")
    keys, name, args = content.get("key"), content.get("action"), content.get("args", [])
    priority = content.get("priority", position)
    if not isinstance(keys, list) or len(keys) != len(table.keys):
        raise TablesError(f"{where}: key must be a list of {len(table.keys)}")
    names = [each.name for each in table.actions]
    if name not in names:
        raise TablesError(f"{where}: {_shown(name)} is not one of the table's actions {', '.join(names)}")
    if not isinstance(priority, int) or isinstance(priority, bool) or not 0 <= priority <= MAX_PRIORITY:
        raise TablesError(f"{where}: priority must be 0 to {MAX_PRIORITY}")
    if "priority" in content and not table.prioritized:
        raise TablesError(f"{where}: entries of exact and lpm keys have no priority; leave it out")
    ref = table.actions[names.index(name)]
    assert ref.action is not None
    params = ref.action.params[len(ref.args):]
    if not isinstance(args, list) or len(args) != len(params):
        raise TablesError(f"{where}: {name} takes {len(params)} arguments")
    return Entry(tuple(_match(f"{where}.key[{at}]", key, value) for at, (key, value) in enumerate(zip(table.keys, keys))),
                 names.index(name) + 1,
                 tuple(number(f"{where}.{param.name}", param.type, value, reasons) for param, value in zip(params, args)),
                 priority)


def _match(where: str, key: ast.TableKey, value: object) -> Match:
    """exact: v; lpm: "v/n", v; ternary: "v &&& m", "_", v; range: "lo..hi", "_", v."""
    type_ = key.expr.type
    width = key_width(type_)
    text = value if isinstance(value, str) else ""
    if text == "_" and key.match != "exact":
        return match(key.match, type_, None)
    if key.match == "lpm" and "/" in text:
        text, _, length = text.rpartition("/")
        if not re.fullmatch("[0-9]{1,3}", length) or int(length) > width:
            raise TablesError(f"{where}: prefix length must be 0 to {width}")
        return match("lpm", type_, number(where, type_, text), prefix=int(length))
    if key.match == "ternary" and "&&&" in text:
        text, _, mask = text.partition("&&&")
        return match("ternary", type_, number(where, type_, text.strip()), mask=number(where, type_, mask.strip()))
    if key.match == "range" and ".." in text:
        text, _, end = text.partition("..")
        low, high = number(where, type_, text.strip()), number(where, type_, end.strip())
        if low > high:
            raise TablesError(f"{where}: {text}..{end} is empty")
        return match("range", type_, low, high=high)
    return match(key.match, type_, number(where, type_, value))


def match(kind: str, type_: Optional[Type], value: int | None, mask: int | None = None, prefix: int | None = None, high: int | None = None) -> Match:
    """A Match of one value unless a mask, a prefix or a range's high end is given; of all, if the value is None."""
    width = key_width(type_)
    ones = (1 << width) - 1
    if kind == "range":
        low, end = (0, ones) if value is None else (range_number(type_, each) for each in (value, value if high is None else high))
        return Match(kind, width, low, ones, width, low, end)
    if value is None:
        value, mask, prefix = 0, 0, 0
    if kind == "lpm" and prefix is None and mask is not None:
        prefix = (mask & ones).bit_count()      # P4's way to write a prefix: value &&& mask
    prefix = width if prefix is None else prefix
    if kind == "lpm":
        mask = ones ^ (ones >> prefix)
    mask = ones if mask is None else mask & ones
    return Match(kind, width, value & mask, mask, prefix if kind == "lpm" else width, 0, 0)


def turns_sign(key: ast.TableKey) -> bool:
    """Whether a key's sign bit is looked up the other way round: the ranges of a node are of unsigned numbers."""
    return key.match == "range" and isinstance(key.expr.type, Bits) and key.expr.type.signed


def range_number(type_: Optional[Type], number: int) -> int:
    """A number of a range key as it is compared: those of `int<N>` in their order, from 0."""
    width = key_width(type_)
    return number + (1 << width - 1) if isinstance(type_, Bits) and type_.signed else number & (1 << width) - 1


def key_number(key: ast.TableKey, number: int) -> int:
    """The number that a key is looked up by."""
    return range_number(key.expr.type, number) if turns_sign(key) else number & (1 << key_width(key.expr.type)) - 1


def key_width(type_: Optional[Type]) -> int:
    if isinstance(type_, Bits):
        return type_.width
    if isinstance(type_, Bool):
        return 1
    assert isinstance(type_, EnumType) and isinstance(type_.decl.base.type, Bits)
    return type_.decl.base.type.width


def constant_entries(program: ast.Program) -> dict[ast.Table, list[Entry]]:
    """Every table of the program with the entries written in it."""
    tables = [decl.table if isinstance(decl, ast.ValueSet) else decl for _, decl in declared(program)]
    return {table: constant_entries_of(table) for table in tables if isinstance(table, ast.Table)}


def constant_entries_of(table: ast.Table) -> list[Entry]:
    """In order of declaration, which is their priority where none is written."""
    names = [each.name for each in table.actions]
    return reachable(table, [Entry(tuple(_constant(key, value) for key, value in zip(table.keys, entry.keys, strict=True)),
                                   names.index(entry.action.name) + 1, tuple(_const(arg) for arg in entry.action.args),
                                   entry.priority if entry.priority is not None else position)
                             for position, entry in enumerate(table.entries)])


def reachable(table: ast.Table, entries: list[Entry]) -> list[Entry]:
    """Without those of an exact table that come behind one of the same key: a node looks for any that fits."""
    if any(key.match != "exact" for key in table.keys):
        return entries
    first: dict[tuple[Match, ...], Entry] = {}
    for entry in entries:
        first.setdefault(entry.matches, entry)
    return list(first.values())


def _constant(key: ast.TableKey, value: ast.Expr) -> Match:
    type_ = key.expr.type
    if isinstance(value, ast.DontCare):
        return match(key.match, type_, None)
    if isinstance(value, ast.RangeSet):
        return match(key.match, type_, _const(value.low), high=_const(value.high))
    if isinstance(value, ast.Binary) and value.op == "&&&":
        return match(key.match, type_, _const(value.left), mask=_const(value.right))
    if isinstance(value, ast.Binary) and value.op == "/" and key.match == "lpm":
        return match(key.match, type_, _const(value.left), prefix=_const(value.right))
    return match(key.match, type_, _const(value))


def _const(expr: ast.Expr) -> int:
    assert expr.const is not None, f"{expr.span}: a constant is expected"
    return int(expr.const)


def ordered(table: ast.Table, entries: list[Entry]) -> list[Entry]:
    """Entries in the order in which a lookup tries them: by priority where a key is ternary or range, else the
    longest prefixes first; then as given."""
    if table.prioritized:
        return sorted(entries, key=lambda entry: entry.priority)
    return sorted(entries, key=lambda entry: -sum(match.prefix for match in entry.matches if match.kind == "lpm"))


def lookup(table: ast.Table, entries: list[Entry], keys: list[int]) -> Optional[Entry]:
    """The entry that `keys` hit, None for a miss."""
    for entry in ordered(table, entries):
        if all(match.holds(key) for match, key in zip(entry.matches, keys, strict=True)):
            return entry
    return None
