"""Processors: state, actions, tables; what is declared at top level beside them."""
from __future__ import annotations

from dataclasses import replace

from .. import ast, meters
from ..instances import by_reference, is_headers, written_alike
from ..limits import MAX_ENTRIES, MAX_PRIORITY
from ..types import (Array, Bits, Bool, EnumType, ErrorType, HeaderType, Meta, Packet, Stack, StructType, Type, Varbit, Void)
from . import fold
from .base import MAX_COUNT, Base, described, plural
from .calls import NO_ACTION
from .scope import Scope, suggest
from .statements import always_leaves

KINDS = ("exact", "lpm", "ternary", "range")


class Processors(Base):
    # ------------------------------------------------------------ constants, enums, structs, typedefs

    def resolve_Const(self, decl: ast.Const) -> None:
        self.const(decl)

    def resolve_Typedef(self, decl: ast.Typedef) -> None:
        self.type_of(decl.type_ref)

    def resolve_Enum(self, decl: ast.Enum) -> None:
        base = self.type_of(decl.base)
        if base is not None and (not isinstance(base, Bits) or base.signed or base.width > 32):
            self.error(f"an enum is bit<1> to bit<32>, and this is {described(base)}", decl.base)
            base = None
        names: dict[str, ast.EnumMember] = {}
        numbers: dict[int, ast.EnumMember] = {}
        following, told = 0, False              # one number that is wrong makes those behind it wrong
        for place, member in enumerate(decl.members):
            if member.name in names:
                self.error(f"'{member.name}' is here twice", member,
                           notes=[("the first one is here", names[member.name].span)])
            names.setdefault(member.name, member)
            if member.value is not None and self.value(member.value, base, "a member's value"):
                if member.value.const is None:
                    self.error("a member's value must be a constant", member.value)
                    continue
                following = int(member.value.const)
            elif isinstance(base, Bits) and not told and not fold.fits(following, base):
                told = True
                self.error(f"'{member.name}' would be {following}, which does not fit {base}", member,
                           "give the enum more bits")
                decl.base.type = Bits((following + len(decl.members) - place - 1).bit_length())      # what its headers need
            member.number = following
            if following in numbers:
                self.error(f"'{member.name}' has the value of '{numbers[following].name}', {following}", member,
                           notes=[("that one is here", numbers[following].span)])
                member.number = following = max(numbers) + 1
            numbers.setdefault(following, member)
            following += 1

    def resolve_Struct(self, decl: ast.Struct) -> None:
        seen: dict[str, ast.StructField] = {}
        for field in decl.fields:
            if field.name in seen:
                self.error(f"field '{field.name}' is declared twice", field, "rename one of the two",
                           notes=[("the first one is here", seen[field.name].span)])
            field.type = self.type_of(field.type_ref)
            if isinstance(field.type, (Packet, Meta, Void, Varbit)) or is_headers(field.type):
                self.error(f"a field cannot be {field.type}", field, "put its headers here one by one" if is_headers(field.type) else "")
                field.type = None
                self.told_structs.add(decl)
            if field.init is not None:
                self.error("a struct's fields have no values here", field.init,
                           "give the value where a variable is declared")
            self.header_arguments(field, seen)
            seen.setdefault(field.name, field)
        headers = [f for f in decl.fields if isinstance(f.type, (HeaderType, Stack))]
        for field in decl.fields:
            if headers and field.type is not None and field not in headers:
                self.error(f"a struct of headers holds only headers, and '{field.name}' is {field.type}", field,
                           "keep it in a variable, or in another struct")

    def header_arguments(self, field: ast.StructField, before: dict[str, ast.StructField]) -> None:
        """`Udp(ip) udp;`: the headers that this one looks at are declared before it."""
        args = field.type_ref.args or []
        type_ = field.type.header if isinstance(field.type, Stack) else field.type
        params = type_.decl.params if isinstance(type_, HeaderType) else []
        if field.type is None or any(p.type is None for p in params):       # told
            return
        if field.type_ref.args is not None and not isinstance(type_, HeaderType):
            self.error(f"{field.type} takes no arguments", field.type_ref)
            return
        if len(args) != len(params):
            wants = ", ".join(f"{p.type} {p.name}" for p in params)
            self.error(f"header {type_} looks at {plural(len(params), 'other header')}, and {len(args)} {'are' if len(args) != 1 else 'is'} given",
                       field, f"write {type_}({', '.join(p.name for p in params)}) {field.name}; it wants ({wants})" if params else "")
            return
        for arg, param in zip(args, params):
            other = before.get(arg.name) if isinstance(arg, ast.Name) else None
            if other is None or not isinstance(arg, ast.Name):
                self.error("the argument of a header is an earlier field of this struct", arg,
                           suggest(getattr(arg, "name", ""), before))
            elif param.type is not None and other.type != param.type:
                self.error(f"parameter '{param.name}' is {param.type}, and '{other.name}' is {other.type}", arg)
            else:
                arg.decl, arg.type = other, other.type
                field.args.append(other)

    # ------------------------------------------------------------ state

    def cell(self, ref: ast.TypeRef, size: ast.Expr | None, what: str) -> Type | None:
        cell = self.type_of(ref)
        allowed = (Bits,) if what == "counter" else (Bits, Bool, EnumType, ErrorType, StructType)
        if cell is not None and (not isinstance(cell, allowed) or is_headers(cell)):
            self.error(f"a {what} cannot hold {cell}", ref)
            return None
        return self.array(cell, size, what)

    def array(self, cell: Type | None, size: ast.Expr | None, what: str) -> Type | None:
        if size is None:
            return cell
        count = self.constant_number(size, "a size")
        if count is None or cell is None:
            return None
        if not 1 <= count <= MAX_COUNT:
            self.error(f"a {what} of {count} cells is not possible", size, f"sizes are 1 to {MAX_COUNT}")
            return None
        return Array(cell, count)

    def resolve_Register(self, decl: ast.Register) -> None:
        decl.type = self.cell(decl.cell, decl.size, "register")
        if decl.persistent and holds_errors(decl.type):
            self.error("a persistent register cannot hold errors", decl.cell, "their numbers are others in another version: keep an enum")

    def resolve_Counter(self, decl: ast.Counter) -> None:
        decl.type = self.cell(decl.cell, decl.size, "counter")

    def resolve_Meter(self, decl: ast.Meter) -> None:
        amount = self.type_of(decl.amount)
        if amount is not None and (not isinstance(amount, Bits) or amount.signed or amount.width > 32):
            self.error(f"a meter counts bit<1> to bit<32>, and this is {amount}", decl.amount)
        decl.type = self.array(meters.CELL, decl.size, "meter")
        numbers = [self.constant_number(arg, "an argument of a meter") for arg in decl.args]
        if len(numbers) not in (2, 3):
            self.error("a meter has an interval, a burst, and perhaps an excess burst", decl,
                       "as in meter<bit<16>> m(10 ms, 5): a token every 10 ms, at most 5")
            return
        interval, *bursts = numbers
        if interval is None or None in bursts:
            return
        if interval < 1:
            self.error("the time from one token to the next is at least 1 us", decl.args[0])
        elif bursts[0] < 1:
            self.error("a meter without tokens lets nothing through", decl.args[1], "the burst is at least 1")
        else:
            self.unit_of(decl.args[0])
            for burst, arg in zip(bursts, decl.args[1:]):
                if burst < 0 or interval * burst >= meters.LIMIT:
                    self.error(f"{burst} tokens at {interval} us are more than the {meters.LIMIT} us that a bucket holds", arg,
                               "lower the burst or the interval")

    # ------------------------------------------------------------ functions

    def resolve_Function(self, decl: ast.Function) -> None:
        self.type_of(decl.return_type)
        result = decl.return_type.type
        if result is not None and (not isinstance(result, (Bits, Bool, EnumType, ErrorType, StructType, Void))
                                   or is_headers(result)):
            self.error(f"a function cannot return {result}", decl.return_type)
            decl.return_type.type = None
        self.params(decl.params, (Bits, Bool, EnumType, ErrorType, StructType, HeaderType), "a function")

    def function_body(self, decl: ast.Function) -> None:
        result = decl.return_type.type
        self.body(decl, self.globals, result)
        if result is not None and not isinstance(result, Void) and not always_leaves(decl.body):
            end = decl.body.span
            brace = replace(end, line=end.end_line, column=end.end_column - 1)
            self.error(f"function '{decl.name}' does not return a value on every path", decl.span,
                       f"end it with return of a {result}", notes=[("the end is reached here", brace)])

    def resolve_Action(self, decl: ast.Action) -> None:
        """Parameters only; bodies are checked where their module's names are known."""
        self.params(decl.params, (Bits, Bool, EnumType, ErrorType, StructType, Meta), "an action")
        for param in decl.params:
            if param.direction == "" and by_reference(param.type):
                self.error(f"parameter '{param.name}' of an action needs a direction", param, f"write inout {param.type} {param.name}")

    # ------------------------------------------------------------ processor

    def processor_body(self, processor: ast.Processor) -> None:
        with self.inside(Scope(self.globals)), self.setting(module=processor, returns=Void()):
            self.module_params(processor)
            for local in processor.locals:
                if isinstance(local, (ast.VarDecl, ast.ConstDecl)):
                    self.statement(local)
                elif isinstance(local, ast.Decl):
                    self.ensure_local(local)
                    self.declare_variable(local.name, local)
            scope = self.scope
            for local in processor.locals:
                if isinstance(local, ast.Action):
                    self.body(local, scope, Void())
            for local in processor.locals:
                if isinstance(local, ast.Table):
                    self.table(local)
                elif isinstance(local, ast.Migrate):
                    self.migrate_body(local)
            self.block(processor.apply)

    def ensure_local(self, decl: ast.Decl) -> None:
        """A declaration inside a module sees the module's constants."""
        if decl not in self.resolved:
            self.resolved.add(decl)
            resolve = getattr(self, "resolve_" + type(decl).__name__, None)
            if resolve is not None:
                resolve(decl)

    # ------------------------------------------------------------ tables

    def table(self, table: ast.Table) -> None:
        for key in table.keys:
            type_ = self.expr(key.expr)
            if type_ is not None and not isinstance(type_, (Bits, Bool, EnumType)):
                self.error(f"a key is a number, an enum or a bool, and this is {described(type_)}", key.expr)
                key.expr.type = None
            if key.match not in KINDS:
                self.error(f"there is no match kind '{key.match}'", key,
                           suggest(key.match, KINDS) or f"there are {', '.join(KINDS)}")
            elif key.match != "exact" and isinstance(type_, (Bool, EnumType)):
                self.error(f"{type_} is matched exact", key, "write exact")
        if not table.keys and (table.entries or table.size is not None):
            self.error(f"table '{table.name}' has no key", table.span, "add key = { expression : exact; }")
        names: dict[str, ast.ActionRef] = {}
        for ref in table.actions:
            if ref.name in names:
                self.error(f"action '{ref.name}' is listed twice", ref, "remove one")
            names[ref.name] = ref
            self.action_ref(ref)
            self.bound_arguments(ref)
        if not table.actions:
            self.error(f"table '{table.name}' has no actions", table.span, "add actions = { ...; }")
        if table.size is not None:
            size = self.constant_number(table.size, "a size")
            if size is not None and not 1 <= size <= MAX_ENTRIES:
                self.error(f"sizes are 1 to {MAX_ENTRIES}", table.size)
            elif size is not None and len(table.entries) > size:
                self.error(f"the table has {len(table.entries)} entries, and its size is {size}", table.entries[size].span)
        if table.default_action is not None:
            self.chosen_action(table.default_action, table, names, "default_action")
        for entry in table.entries:
            self.entry(table, entry, names)
        if table.const_entries:
            self.entries_alike(table.entries)

    def action_ref(self, ref: ast.ActionRef) -> None:
        decl = self.scope.find(ref.name)
        if decl is None and ref.name == NO_ACTION:
            ref.action = self.no_action
            return
        if isinstance(decl, ast.Action):
            ref.action = decl
            return
        names = self.names_of(ast.Action)
        self.error(f"there is no action '{ref.name}'", ref, suggest(ref.name, names))

    def bound_arguments(self, ref: ast.ActionRef) -> None:
        if ref.action is None:
            return
        if len(ref.args) > len(ref.action.params):
            self.error(f"action '{ref.name}' has {plural(len(ref.action.params), 'parameter')}", ref)
            return
        if ref.args:
            self.arguments(ref, ref.action.params[:len(ref.args)], ref.args, f"action '{ref.name}'")
        for param in ref.action.params[len(ref.args):]:
            if isinstance(param.type, (StructType, Meta)) or param.direction:
                self.error(f"a table cannot give parameter '{param.name}' of action '{ref.name}'", ref,
                           "tables give numbers without direction" if param.direction else "tables give numbers, enums, errors and bools")

    def chosen_action(self, ref: ast.ActionRef, table: ast.Table, names: dict[str, ast.ActionRef], what: str) -> None:
        self.action_ref(ref)
        if ref.action is None:
            return
        if ref.name not in names and not (what == "default_action" and ref.name == NO_ACTION):
            self.error(f"action '{ref.name}' is not among the actions of table '{table.name}'", ref,
                       f"add {ref.name}; to actions")
            return
        listed = names.get(ref.name)
        ref.bound = listed.args if listed is not None else []
        if ref.bound and len(ref.args) == len(ref.action.params):           # P4 repeats what the list binds
            self.repeated(ref)
        if self.arguments(ref, ref.action.params[len(ref.bound):], ref.args, f"action '{ref.name}'"):
            for arg in ref.args:
                self.is_constant(arg, "an argument of a table's action")

    def repeated(self, ref: ast.ActionRef) -> None:
        """`default_action = send(1, 2)` where the list says `send(1)`: the same arguments again, which are taken off."""
        again, ref.args = ref.args[:len(ref.bound)], ref.args[len(ref.bound):]
        for old, new in zip(ref.bound, again):
            if not written_alike(old, new):
                self.error("the table's list of actions binds this argument to another value", new, "leave it out: the list says it",
                           notes=[("it is bound here", old.span)])

    def entry(self, table: ast.Table, entry: ast.TableEntry, names: dict[str, ast.ActionRef]) -> None:
        if len(entry.keys) != len(table.keys):
            self.error(f"this entry has {plural(len(entry.keys), 'key')}, and the table has {len(table.keys)}", entry.span)
        for key, value in zip(table.keys, entry.keys):
            if key.expr.type is not None:
                self.entry_key(key, value)
        if entry.priority is not None and entry.priority > MAX_PRIORITY:
            self.error(f"priorities are 0 to {MAX_PRIORITY}, and this is {entry.priority}", entry.span)
        elif entry.priority is not None and not table.prioritized:
            self.error("entries of exact and lpm keys have no priority", entry.span,
                       "leave it out: the longest prefix is taken, and of entries with the same key the first")
        self.chosen_action(entry.action, table, names, "entry")

    def entries_alike(self, entries: list[ast.TableEntry]) -> None:
        """Of entries with the same key the first is taken, or the one with the lower priority."""
        taken: dict[tuple, ast.TableEntry] = {}
        for entry in sorted(entries, key=lambda one: one.priority or 0):
            key = tuple(map(key_values, entry.keys))
            first = taken.setdefault(key, entry)
            if first is not entry:
                self.warning("this entry is never taken: another one has the same key", entry.span, "remove one", unused=True,
                             notes=[("that one is here", first.span)])

    def entry_key(self, key: ast.TableKey, value: ast.Expr) -> None:
        place = "a key of this table"
        match value:
            case ast.DontCare() if key.match == "exact":
                self.error("an exact key has a value", value, "use ternary for keys that may be anything")
            case ast.Binary(op="/") if key.match == "lpm":
                value.type = key.expr.type
                if not self.value(value.left, key.expr.type, place) or not self.is_constant(value.left, place):
                    return
                length = self.constant_number(value.right, "a prefix length")
                width = self.width_of(key.expr.type) or 0
                if length is not None and not 0 <= length <= width:
                    self.error(f"a prefix of {key.expr.type} has 0 to {width} bits", value.right)
                elif length is not None and int(value.left.const or 0) & (1 << width - length) - 1:
                    self.error("the address has bits behind its prefix", value.left, "set them to zero")
            case ast.RangeSet() if key.match != "range":
                self.error(f"a range is for range keys, and this is {key.match}", value)
            case ast.Binary(op="&&&") if key.match not in ("ternary", "lpm"):
                self.error(f"a mask is for ternary keys, and this is {key.match}", value)
            case ast.Binary(op="&&&") if key.match == "lpm":
                if self.key(value, key.expr.type, place):
                    self.prefix_mask(value, self.width_of(key.expr.type) or 0)
            case _:
                self.key(value, key.expr.type, place)

    def prefix_mask(self, value: ast.Binary, width: int) -> None:
        """P4 writes prefixes as masks; the entry then reads `address / length`."""
        mask = int(value.right.const or 0)
        length = mask.bit_count()
        if mask != ((1 << length) - 1) << width - length:
            self.error("this mask is no prefix", value.right, "write address / length")
            return
        value.op = "/"
        value.right = ast.Int(value.right.span, length)
        value.right.type, value.right.const = Bits(32), length


def holds_errors(type_: Type | None) -> bool:
    if isinstance(type_, Array):
        return holds_errors(type_.cell)
    return isinstance(type_, ErrorType) or isinstance(type_, StructType) and any(holds_errors(field.type) for field in type_.decl.fields)


def key_values(key: ast.Expr) -> tuple:
    """What tells a key of an entry from others."""
    match key:
        case ast.DontCare():
            return ()
        case ast.Binary(op="/", left=left, right=right, const=None):        # of an lpm key; elsewhere it is a number
            return "/", left.const, right.const
        case ast.Binary(op="&&&", left=ast.Expr(const=int() as value), right=ast.Expr(const=int() as mask)):
            return "&&&", value & mask, mask
        case ast.RangeSet(low=low, high=high):
            return "..", low.const, high.const
    return (key.const if key.const is not None else key,)       # else it is wrong
