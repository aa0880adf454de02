"""Names of a test file against its program: headers, fields, reasons, registers, tables, captures; every value gets its number."""
from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from lpn.lang import ast, tables as control
from lpn.lang.builtins import META, NODE, VERDICTS
from lpn.lang.check.reads import headers_read
from lpn.lang.diagnostics import Diagnostic, DiagnosticError, Diagnostics
from lpn.lang.hooks import NoTaker, called
from lpn.lang.library import imported_by
from lpn.lang.loader import read_file
from lpn.lang.source import Span
from lpn.lang.types import Array, Bits, HeaderType, Stack, StructType, Type, Void
from lpn.runtime.capture import CaptureError, Frame, read
from lpn.runtime.events import read_events

from ..externs import own
from . import model
from .values import Values
from .words import shown

SETTINGS = {"node": {"short": "node_short", "ext": "node_ext", "pan": "node_pan"},
            "meta": {"iface": "iface", "rssi": "rssi", "lqi": "lqi"}}
INDEX = Bits(32)
BEFORE_EVENTS = (model.Send, model.Wait, model.SetCell, model.Entries, model.TablesFile, model.Settings, model.Answer)


@lru_cache(maxsize=8)
def frames_of(path: str, stamp: tuple[int, int]) -> list[Frame]:
    """The frames of a capture; `stamp` (time, size) tells a changed file from the one read before."""
    return list(read(path))


class Resolver:
    def __init__(self, file: model.File, program: ast.Program, folder: Path, diagnostics: Diagnostics) -> None:
        self.file, self.program, self.folder, self.diagnostics = file, program, folder, diagnostics
        self.values = Values(program, diagnostics)

    def error(self, message: str, span: Span | None, *hints: str) -> None:
        self.diagnostics.error(message, span, *hints)

    def unknown(self, what: str, name: str, span: Span, known: list[str]) -> None:
        short = {each.rpartition(".")[2]: each for each in known}
        near = [short.get(each, each) for each in get_close_matches(name, [*known, *short], 1)]
        few = f"there are {', '.join(known[:24])}{', ...' * (len(known) > 24)}" if known else ""
        self.error(f"there is no {what} {shown(name)}", span, f"did you mean {near[0]}?" if near else few)

    def file_at(self, path: str) -> Path:
        return self.folder / path

    # ------------------------------------------------------------ steps

    def resolve(self) -> None:
        for packet in self.file.packets.values():
            self.packet(packet, sending=True)
        for step in self.file.setup:
            self.step(step)
        for test in self.file.tests:
            sent = played = False
            for step in test.steps:
                if isinstance(step, model.Events) and played:
                    self.error("a test has events once", step.span, "write another test")
                if isinstance(step, (model.ExpectRecord, model.ExpectRadio)) and not played and not (sent and step.timeless):
                    self.error("there is no time line before this", step.span, "put events ...; in front of it")
                if isinstance(step, BEFORE_EVENTS) and played:
                    self.error("behind events there is only what they did", step.span, "put it in front, or write another test")
                played = played or isinstance(step, model.Events)
                if isinstance(step, model.Expect) and not sent:
                    self.error("nothing is sent before this", step.span, "put send ...; in front of it")
                sent = sent or isinstance(step, model.Send)
                self.step(step)

    def step(self, step: model.Step) -> None:
        if isinstance(step, model.Send):
            self.packet(step.packet, sending=True)
            self.taker(step)
        elif isinstance(step, model.Expect):
            self.expect(step)
        elif isinstance(step, model.Check):
            self.check(step)
        elif isinstance(step, model.Settings):
            self.settings(step)
        elif isinstance(step, model.Answer):
            self.answer(step)
        elif isinstance(step, model.SetCell):
            self.set_cell(step)
        elif isinstance(step, model.Entries):
            self.entries(step)
        elif isinstance(step, model.Events):
            self.events(step)
        elif isinstance(step, model.ExpectRecord):
            names = [hook.chain[0].name if hook.timed else hook.name for hook in self.program.hooks]
            if step.name_span is not None and step.name not in names:
                self.unknown("hook", step.name, step.name_span, names)
            if step.packet is not None:
                self.packet(step.packet, sending=False)
                if step.packet.kind == "unchanged":
                    self.error("unchanged is for packets that were sent", step.packet.span)
            if step.at is not None and step.at[1] < step.at[0]:
                self.error("this ends before it begins", step.span)
        elif isinstance(step, model.TablesFile):
            try:
                step.tables = control.load(self.file_at(step.path), self.program)
            except control.TablesError as e:
                self.error(str(e), step.span)

    def check(self, step: model.Check) -> None:
        place, pattern = step.place, step.pattern
        if not self.place(place):
            return
        if pattern is None:
            for part in step.parts:
                self.check(part)
        elif isinstance(place.type, StructType):
            name = place.type.decl.fields[0].name
            self.error(f"{place.text} is a struct", place.span, f"name a field, as in {place.text}.{name}, or several: {place.text} == {{ {name} = ... }}")
        else:
            step.wanted = self.values.numbers(pattern, place.type)
            if step.op not in ("==", "!=") and (pattern.mask or pattern.high or pattern.value is None):
                self.error(f"'{step.op}' compares with one number", pattern.span)

    def taker(self, step: model.Send) -> None:
        """Whose chain takes the packet."""
        hooks = self.program.takers
        if not step.to:
            if self.program.chain:
                return
            if len(hooks) == 1:                 # it can be for no other
                step.hook, = hooks
            else:
                example = next((hook.name for hook in hooks.values()), "")
                self.error("the program has no chain for received frames", step.span,
                           f"say which one takes it, as in send ... to {example};" if example else "what starts its hooks is in events { ... }")
            return
        try:
            step.hook = called(hooks, step.to)
        except NoTaker as e:
            self.error(e.message, step.to_span, e.hint)
            return
        if self.program.hooks[step.hook].chain == self.program.chain:
            step.hook = None

    def expect(self, step: model.Expect) -> None:
        if step.reason and not step.reason.startswith("engine:") and step.reason not in self.program.reasons[1:]:
            self.unknown("reason", step.reason, step.span, [each for each in self.program.reasons[1:] if each])
        if step.port is not None:
            step.ports = self.values.numbers(step.port, Bits(16))
        if step.packet is not None and step.packet.kind == "named" and step.packet.name not in self.file.packets and step.verdict is None and (
                near := get_close_matches(step.packet.name, VERDICTS, 1)):
            self.error(f"there is no verdict and no packet {shown(step.packet.name)}", step.packet.span, f"did you mean {near[0]}?")
        elif step.packet is not None:
            self.packet(step.packet, sending=False)

    def settings(self, step: model.Settings) -> None:
        names, types = SETTINGS[step.what], NODE if step.what == "node" else META
        for item in step.fields:
            if item.name not in names:
                self.unknown(f"setting of {step.what}", item.name, item.span, list(names))
                continue
            number = self.values.one(item.pattern, signed_where(item.pattern, types[item.name]) if item.name == "rssi" else types[item.name])
            if number is not None:
                step.meta[names[item.name]] = number

    def answer(self, step: model.Answer) -> None:
        functions = {decl.name: decl for decl in own(self.program)}
        if step.name not in functions:
            self.unknown("function of the node's own", step.name, step.name_span, list(functions))
        elif isinstance(type_ := functions[step.name].return_type.type, Void):
            self.error(f"{step.name}() answers nothing", step.name_span)
        else:
            step.number = self.values.one(step.pattern, signed_where(step.pattern, type_)) or 0
            step.number &= (1 << type_.width) - 1 if isinstance(type_, Bits) else step.number

    def events(self, step: model.Events) -> None:
        """Reads the script; its mistakes have their own places."""
        try:
            source = step.source or read_file(self.file_at(step.path), str(self.file_at(step.path)))
            folder = self.file_at(step.path).parent if step.path else self.folder
            step.script = read_events(source.text, source.name, folder)
        except DiagnosticError as e:
            self.diagnostics.items += [each if each.span else Diagnostic("error", each.message, step.span) for each in e.diagnostics]
            return
        except (CaptureError, OSError, ValueError) as e:
            self.error(str(e), step.span)
            return
        for late in step.script.warnings:
            self.diagnostics.error(late.message, late.span, *late.hints)
        if step.script.replacements:
            self.error("a test has one version of the program: `replace` is not for it", step.span)

    # ------------------------------------------------------------ state

    def place(self, place: model.StatePath) -> bool:
        """Finds the register or counter, perhaps with a field of a struct behind it."""
        name, path = place.name, place.path
        known = [each for each, _ in control.stateful(self.program)]
        found = self.stateful(name)
        while not found and "." in name and place.cell is None:
            name, _, last = name.rpartition(".")
            path = f"{last}.{path}" if path else last
            found = self.stateful(name)
        if len(found) != 1:
            if found:
                self.error(f"more than one register or counter is called {shown(name)}", place.span,
                           f"say which one: {' or '.join(each for each in known if each.endswith('.' + name))}")
            else:
                self.unknown("register or counter", place.name, place.span, known)
            return False
        place.decl, place.path = found[0], path
        type_: Type | None = place.decl.type
        if isinstance(type_, Array):
            place.index = self.index(place.cell, type_.size, f"{shown(name)} has cells", f"write {name}[0]", place.span)
            if place.index is None:
                return False
            type_ = type_.cell
        elif place.cell is not None:
            self.error(f"{shown(name)} has one cell", place.span, "leave the index out")
            return False
        for part in path.split(".") if path else []:
            fields = {each.name: each for each in type_.decl.fields} if isinstance(type_, StructType) else {}
            if part not in fields:
                self.unknown(f"field of {type_}", part, place.span, list(fields))
                return False
            type_ = fields[part].type
        place.type = type_
        return True

    def index(self, cell: model.Value | None, size: int, what: str, hint: str, span: Span) -> int | None:
        """The number of a cell or an element, which a constant may name; None, and an error, if there is no such."""
        number = self.values.number(cell, INDEX) if cell is not None else size
        if number is None or number < size:
            return number
        self.error(f"{what} 0 to {size - 1}", span, hint)
        return None

    def stateful(self, name: str) -> list[ast.Register | ast.Counter | ast.Meter]:
        both = list(control.stateful(self.program))
        full = [decl for each, decl in both if each == name]
        return full or [decl for each, decl in both if each.rpartition(".")[2] == name]

    def set_cell(self, step: model.SetCell) -> None:
        if not self.place(step.place):
            return
        decl, type_ = step.place.decl, step.place.type
        assert decl is not None and (type_ is None or isinstance(type_, Type))
        values: dict[str, int] = {}
        if isinstance(step.value, model.Value):
            self.cell_value(values, step.place.path, step.value, type_)
        for name, value in step.value if isinstance(step.value, list) else []:
            part = type_
            for each in name.split("."):
                fields = {one.name: one.type for one in part.decl.fields} if isinstance(part, StructType) else {}
                if each not in fields:
                    self.unknown(f"field of {part}", each, value.span, list(fields))
                    return
                part = fields[each]
            self.cell_value(values, f"{step.place.path}.{name}" if step.place.path else name, value, part)
        step.cell = control.Cell(decl, step.place.index or 0, values)       # type: ignore[arg-type]

    def cell_value(self, values: dict[str, int], path: str, value: model.Value, type_: Type | None) -> None:
        if isinstance(type_, StructType):
            self.error(f"a value of type {type_} is given by its fields", value.span, "write { field = value, ... }")
            return
        number = self.values.number(value, type_)
        if number is not None:
            values[path] = number

    # ------------------------------------------------------------ tables

    def entries(self, step: model.Entries) -> None:
        try:
            found = control.find(self.program, step.name)
        except control.TablesError:
            found = None
        if not isinstance(found, ast.Table):
            self.unknown("table", step.name, step.span, [name for name, d in control.declared(self.program) if isinstance(d, ast.Table)])
            return
        step.table = found
        if found.const_entries:
            self.error(f"the entries of {step.name} are constant", step.span)
            return
        constant = control.constant_entries_of(found)
        step.entries = constant + [entry for at, item in enumerate(step.items)
                                   if (entry := self.entry(found, item, len(constant) + at)) is not None]
        if found.size is not None and found.size.const is not None and len(step.entries) > found.size.const:
            self.error(f"{len(step.entries)} entries, the table's size is {found.size.const}", step.span)

    def entry(self, table: ast.Table, item: model.EntryItem, position: int) -> control.Entry | None:
        names = [each.name for each in table.actions]
        if len(item.keys) != len(table.keys):
            self.error(f"{len(item.keys)} keys, the table has {len(table.keys)}", item.span)
            return None
        if item.action not in names:
            self.unknown("action of this table", item.action, item.span, names)
            return None
        if item.priority is not None and not table.prioritized:
            self.error("entries of exact and lpm keys have no priority", item.span, "leave it out")
        ref = table.actions[names.index(item.action)]
        assert ref.action is not None
        params = ref.action.params[len(ref.args):]
        if len(item.args) != len(params):
            self.error(f"{item.action} takes {len(params)} arguments, not {len(item.args)}", item.span)
            return None
        args = [self.values.number(value, param.type) for value, param in zip(item.args, params)]
        matches = [self.values.match(pattern, key) for pattern, key in zip(item.keys, table.keys)]
        if any(each is None for each in (*args, *matches)):
            return None
        priority = item.priority if item.priority is not None else position
        return control.Entry(tuple(matches), names.index(item.action) + 1, tuple(args), priority)   # type: ignore[arg-type]

    # ------------------------------------------------------------ packets

    def packet(self, packet: model.Packet, sending: bool) -> None:
        if packet.kind == "frame":
            self.frame(packet)
        sending = sending or packet.kind == "named"         # that very packet is expected
        if packet.kind == "named" and packet.name not in self.file.packets:
            self.unknown("packet", packet.name, packet.span, list(self.file.packets))
        if packet.via:
            kind = ast.Deparser if sending else ast.Parser
            known = {each.name: each for each in self.program.decls if isinstance(each, kind)}
            if packet.via in known:
                packet.module = known[packet.via]
            else:
                self.unknown(kind.__name__.lower(), packet.via, packet.span, list(known))
        for piece in packet.pieces:
            if isinstance(piece, model.HeaderItem):
                self.header(piece, sending, bool(packet.via))
                if piece.absent and not packet.via:
                    self.error("only a parser knows that a header is not there", piece.span, "write via and the parser's name in front of the headers")
                if isinstance(packet.module, ast.Deparser) and piece.instance is not None and piece.instance not in headers_read(packet.module):
                    self.error(f"{packet.via} does not emit {piece.name}", piece.span,
                               "a packet that no deparser makes is written by its headers alone, { msg { ... } ask { ... } }, or in octets")
            elif sending and not piece.exact:
                self.error("a packet that is sent has no octets left open", piece.span, "`*`, `...` and masks are for what is expected")
        last = max((at for at, each in enumerate(packet.pieces) if isinstance(each, model.HeaderItem)), default=-1)
        if packet.via:
            for piece in packet.pieces[:last]:
                if isinstance(piece, model.Octets):
                    self.error(f"{packet.via} says what lies between headers", piece.span, "octets can only be the payload, behind the headers")

    def frame(self, packet: model.Packet) -> None:
        path = self.file_at(packet.path)
        try:
            stat = path.stat()
            frames = frames_of(str(path), (stat.st_mtime_ns, stat.st_size))
        except (CaptureError, ValueError) as e:
            self.error(str(e), packet.span)
            return
        except OSError as e:
            self.error(f"cannot read {path}: {e.strerror or e}", packet.span)
            return
        if not 1 <= packet.frame <= len(frames):
            self.error(f"{packet.path} has frames 1 to {len(frames)}", packet.span)
            return
        frame = frames[packet.frame - 1]
        packet.data = frame.data
        packet.meta = {"rssi": frame.rssi or 0, "lqi": frame.lqi or 0}

    def header(self, item: model.HeaderItem, sending: bool, via: bool) -> None:
        struct = self.program.headers_struct
        fields = {each.name: each for each in struct.fields} if struct else {}
        types = {each.name: each for each in self.program.decls if isinstance(each, ast.Header) and not each.params}
        if item.name in fields:
            item.instance = fields[item.name]
            type_ = item.instance.type
            if isinstance(type_, Stack):
                item.header = type_.header.decl
                item.index = self.index(item.cell, type_.size, f"{item.name} is a stack of headers", f"write {item.name}[0]", item.span)
            else:
                assert isinstance(type_, HeaderType)
                item.header = type_.decl
                if item.cell is not None:
                    self.error(f"{item.name} is one header", item.span, "leave the index out")
        elif item.name in types and not via:
            item.header = types[item.name]
        else:
            declared = next((each for each in self.program.decls if getattr(each, "name", None) == item.name), None)
            places = [each.name for each in fields.values() if isinstance(each.type, HeaderType) and each.type.decl is declared and each.args]
            if places:
                self.error(f"{item.name} looks at another header, so it goes by its place in the program's headers", item.span, f"write {places[0]} {{ ... }}")
            elif not declared and (missing := imported_by(item.name, "header")):
                self.error(f"there is no header {shown(item.name)}", item.span, f"{missing} to the program")
            else:
                self.unknown("header", item.name, item.span, [*fields, *([] if via else types)])
            return
        for each in item.fields:
            self.field(item.header, each, sending)

    def field(self, header: ast.Header, item: model.FieldItem, sending: bool) -> None:
        places = places_of(header)
        if item.name not in places:
            self.unknown(f"field of {header.name}", item.name, item.span, list(places))
            return
        item.place = places[item.name]
        if sending and (item.pattern.value is None or item.pattern.mask or item.pattern.high):
            self.error("a field that is sent has one value", item.pattern.span)
            return
        item.wanted = self.values.wanted(item.pattern, item.place.type, sending)


def signed_where(pattern: model.Pattern, type_: Type) -> Type:
    """The type that a number of a node's is given in: with a sign where it is negative."""
    value = pattern.value
    negative = value is not None and value.kind == "number" and int(value.value) < 0      # type: ignore[call-overload]
    return Bits(type_.width, True) if negative and isinstance(type_, Bits) else type_


def places_of(header: ast.Header) -> dict[str, model.Place]:
    """Fields by name, arms of a choice as `dst.short`."""
    out: dict[str, model.Place] = {}
    for item in header.items:
        if isinstance(item, ast.ChoiceField):
            out |= {f"{item.name}.{arm.name}": arm for arm in item.arms}
        elif not isinstance(item, ast.Where):
            out |= {part.name: part for part in (item.fields if isinstance(item, ast.Word) else [item]) if part.name != "_"}
    return out
