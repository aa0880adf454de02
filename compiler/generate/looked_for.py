"""The numbers that a program looks for: what it compares a field with, wherever that is, and what its registers and table entries hold."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice, product
from typing import Any

from lpn.lang import ast
from lpn.lang.builtins import PAYLOAD
from lpn.lang.instances import walk
from lpn.lang.reference.run import node_fields
from lpn.lang.reference.state import State
from lpn.lang.reference.values import Struct, unsigned, width_of
from lpn.lang.tables import Entry
from lpn.lang.types import Bits, Bool, EnumType

DEEP = 3                                        # variables and parameters that lie between two places
PARSING = (ast.Parser, ast.Header, ast.Codec)
MOST = 64                                       # numbers that are put together, of parts of one place or of one expression


class Interest(dict[object, list[int]]):
    """By field, arm, parameter or variable, the numbers that somebody looks for. `behind`: for whom somebody looks behind the parser; `sizes`: what
    says how much follows; `held`: by width, what registers and table entries hold; `payloads`: octets of payload that somebody behind the parser asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.behind: set[object] = set()
        self.sizes: set[object] = set()
        self.held: dict[int, list[int]] = {}
        self.payloads: list[int] = []


def interest(decls: list[Any], state: State | None = None, node: Mapping[str, int] = {}) -> Interest:
    """What is compared with a constant, and with `state` and `node` what is compared with what is there before the first packet; the numbers next
    to it where the order matters. What a `select` or a table's entry looks for counts too."""
    return Search(decls, state, node).found


class Search:
    def __init__(self, decls: list[Any], state: State | None, node: Mapping[str, int]) -> None:
        self.found, self.state = Interest(), state
        self.node = {name: value for name, value in node_fields(dict(node)).items() if f"node_{name}" in node}
        self.parts: dict[object, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))     # by place and mask
        self.flows = flows(decls)
        for decl in decls:
            self.behind = not isinstance(decl, PARSING)
            for one in walk(decl):
                self.look(one)
        for place, parts in self.parts.items():
            whole = product(*([0, *dict.fromkeys(numbers)] for numbers in parts.values()))
            self.found.setdefault(place, []).extend(joined(several) for several in islice(whole, 1, MOST))
        if state is not None:
            for decl, value in state.cells.items():
                if isinstance(decl, ast.Register):
                    self.hold(value, getattr(decl.type, "cell", decl.type))

    def look(self, node: ast.Node) -> None:
        sizes = self.found.sizes
        if isinstance(node, ast.Field) and node.sized is not None:
            sizes |= places_in(node.sized)
        elif isinstance(node, ast.InlineTarget) and node.bits is not None:
            sizes |= places_in(node.bits)
        elif isinstance(node, ast.Call) and node.target == "advance":
            sizes |= places_in(node.args)
        elif isinstance(node, ast.Binary) and node.op in ("==", "!=", "<", "<=", ">", ">="):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                near = (-1, 0, 1) if node.op not in ("==", "!=") else (0,)
                self.note(one, (int(number) + more for number in self.read(other) if isinstance(number, int) for more in near))
        elif isinstance(node, ast.Transition) and node.select:
            for case in node.cases:
                for expr, key in zip(node.select, case.keys):
                    self.note(expr, self.set_of(key))
        elif isinstance(node, ast.Switch):
            for labels, _ in node.cases:
                for label in labels:
                    self.note(node.value, set_of(label))
        elif isinstance(node, ast.Table):
            for entry in node.entries:
                for key, value in zip(node.keys, entry.keys):
                    self.note(key.expr, set_of(value))
            for given in self.entries(node):
                for key, match in zip(node.keys, given.matches):
                    numbers = [match.low, match.high] if match.kind == "range" else [match.value]
                    self.note(key.expr, numbers)
                    self.found.held.setdefault(match.width, []).extend(numbers)
                for param, number in zip(node.actions[given.action - 1].action.params, given.args):     # type: ignore[union-attr]
                    self.hold(number, param.type)
        elif isinstance(node, ast.Codec):
            for group in node.groups:
                for row in group.rows:
                    for item in row.items:
                        if isinstance(item, ast.RowAssign) and item.value.const is not None:
                            self.note(item.target, [int(item.value.const)])

    # ------------------------------------------------------------ what a place is compared with

    def note(self, expr: ast.Expr, numbers: Iterable[int]) -> None:
        """Somebody looks for these values of an expression."""
        if isinstance(expr.type, (Bits, Bool, EnumType)):
            width, least = width_of(expr.type), -(1 << width_of(expr.type) - 1) if getattr(expr.type, "signed", False) else 0
            fit = [unsigned(number, width) for number in numbers if least <= number < 1 << width]
            if fit:
                self.bits(expr, fit, (1 << width) - 1, DEEP)

    def bits(self, expr: ast.Expr, numbers: list[int], mask: int, deep: int) -> None:
        """These bits of it are asked for."""
        if isinstance(expr, ast.Cast):
            self.bits(expr.operand, numbers, mask, deep)
        elif isinstance(expr, ast.Slice):
            low = int(expr.lo.const or 0)
            self.bits(expr.base, [number << low for number in numbers], mask << low, deep)
        elif isinstance(expr, ast.Binary) and expr.op == "++":
            width = width_of(expr.right.type)
            self.bits(expr.left, [number >> width for number in numbers], mask >> width, deep)
            self.bits(expr.right, [number & (1 << width) - 1 for number in numbers], mask & (1 << width) - 1, deep)
        elif isinstance(expr, ast.Binary) and expr.op == "&":
            for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
                if other.const is not None:
                    self.bits(side, numbers, mask & int(other.const), deep)
        elif isinstance(expr, ast.Sizeof) and getattr(expr.operand, "decl", None) == PAYLOAD:
            if self.behind and mask == (1 << width_of(expr.type)) - 1:
                self.found.payloads.extend(number for number in numbers if number not in self.found.payloads)
        elif (place := place_of(expr)) is not None:
            if self.behind:
                self.found.behind.add(place)
            full = (1 << width_of(expr.type)) - 1
            if mask & full == full:
                self.found.setdefault(place, []).extend(numbers)
            elif mask:
                self.parts[place][mask].extend(numbers)
            for each in self.flows.get(place, ()) if deep else ():
                self.bits(each, numbers, mask, deep - 1)

    # ------------------------------------------------------------ what is there before the first packet

    def read(self, expr: ast.Expr, deep: int = DEEP) -> list[Any]:
        """What an expression can be without a packet: constants, cells of registers, the node's addresses, and what is made of them."""
        if expr.const is not None:
            return [expr.const]
        if isinstance(expr, ast.Name):
            if isinstance(expr.decl, ast.Register):
                value = self.state.cells.get(expr.decl, []) if self.state is not None else []
                return value if isinstance(value, list) else [value]
            return [value for each in self.flows.get(expr.decl, ()) for value in self.read(each, deep - 1)] if deep else []
        if isinstance(expr, ast.Index):
            return self.read(expr.base, deep)
        if isinstance(expr, ast.Member):
            if getattr(expr.base, "decl", None) == "node":
                return [self.node[expr.name]] if expr.name in self.node else []
            return [value.fields[expr.name] for value in self.read(expr.base, deep) if isinstance(value, Struct)]
        if isinstance(expr, ast.Cast):
            return self.read(expr.operand, deep)
        if isinstance(expr, ast.Slice):
            low, mask = int(expr.lo.const or 0), (1 << width_of(expr.type)) - 1
            return [int(value) >> low & mask for value in self.read(expr.base, deep)]
        if isinstance(expr, ast.Binary) and expr.op == "++":
            width = width_of(expr.right.type)
            both = product(self.read(expr.left, deep), self.read(expr.right, deep))
            return [int(left) << width | unsigned(right, width) for left, right in islice(both, MOST)]
        return []

    def entries(self, table: ast.Table | None) -> list[Entry]:
        if self.state is None or table is None:
            return []
        return self.state.entries.get(table.shared or table, [])

    def set_of(self, key: ast.Expr) -> list[int]:
        if isinstance(key, ast.Name) and isinstance(key.decl, ast.ValueSet):
            return [entry.matches[0].value for entry in self.entries(key.decl.table)]
        return set_of(key)

    def hold(self, value: Any, type_: Any) -> None:
        """What is not zero of a cell, or of what an entry gives."""
        if isinstance(value, list):
            for each in value:
                self.hold(each, type_)
        elif isinstance(value, Struct):
            for field in value.decl.fields:
                self.hold(value.fields[field.name], field.type)
        elif isinstance(type_, Bits) and value:
            self.found.held.setdefault(type_.width, []).append(unsigned(value, type_.width))


def joined(several: Iterable[int]) -> int:
    out = 0
    for number in several:
        out |= number
    return out


def flows(decls: list[Any]) -> dict[object, list[ast.Expr]]:
    """By variable and parameter, the expressions that it is given; not in parsers, where a variable counts what is left more often than not."""
    out: dict[object, list[ast.Expr]] = defaultdict(list)
    for node in walk([decl for decl in decls if not isinstance(decl, ast.Parser)]):
        if isinstance(node, ast.VarDecl) and node.init is not None:
            out[node].append(node.init)
        elif isinstance(node, ast.Assign) and isinstance(node.target, ast.Name) and isinstance(node.target.decl, (ast.VarDecl, ast.Param)):
            out[node.target.decl].append(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.target, (ast.Function, ast.Action)):
            for param, arg in zip(node.target.params, node.args):
                out[param].append(arg)
    return out


def places_in(expr: Any) -> set[object]:
    return {place for node in walk(expr) if isinstance(node, ast.Expr) and (place := place_of(node)) is not None}


def place_of(expr: Any) -> object | None:
    """The declaration whose value an expression is, as it is or cast."""
    while isinstance(expr, ast.Cast):
        expr = expr.operand
    decl = getattr(expr, "decl", None) if isinstance(expr, (ast.Name, ast.Member)) else None
    return decl if isinstance(decl, (ast.Field, ast.ChoiceArm, ast.Param, ast.VarDecl, ast.CodecVar)) else None


def set_of(key: Any) -> list[int]:
    """Numbers of a set: the ends of a range, the value of a mask."""
    if isinstance(key, ast.RangeSet):
        return [int(each.const) for each in (key.low, key.high) if each.const is not None]
    if isinstance(key, ast.Binary) and key.op == "&&&":
        return [int(key.left.const)] if key.left.const is not None else []
    return [int(key.const)] if getattr(key, "const", None) is not None else []
