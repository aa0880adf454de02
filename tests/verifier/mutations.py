"""Small mistakes put into Python functions, one at a time: what mutate_verifier.py tries on the verifier.

A mutant changes one place of one function of a module, in its syntax tree: a condition that is never or always true, a term of `and` or `or` left out, a
comparison off by one or turned, `min` for `max`, another operator, a constant one more or one less, an element of a tuple that is searched or a statement left
out. Text of messages is left alone.
"""
from __future__ import annotations

import __future__

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType

FUTURE = __future__.annotations.compiler_flag
COMPARED = {ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
            ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
             ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
REFUSALS = "fail", "Violation"


@dataclass(frozen=True)
class Mutant:
    """One place of a function, changed. `kind`: which of the changes; `key`: names it, whatever line it is in."""

    module: str
    function: str
    lines: range                                      # of the statement, as far as the place
    kind: str
    before: str
    after: str
    number: int                                       # of those that read alike in the function
    code: CodeType

    @property
    def key(self) -> str:
        return f"{self.module}.{self.function}: {self.before} => {self.after}" + (f" #{self.number}" if self.number else "")


Change = tuple[str, str, str, Callable[[ast.AST], None]]                # kind, before, after, what to do with the node


def refuses(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) in REFUSALS


def shown(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:150]


def _set(field: str, value: object) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        setattr(node, field, ast.copy_location(value, node) if isinstance(value, ast.AST) else value)
    return change


def _drop(field: str, at: int) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        left = getattr(node, field)[:at] + getattr(node, field)[at + 1:]
        setattr(node, field, left)
    return change


def _put(field: str, at: int, value: ast.AST) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        items = list(getattr(node, field))
        items[at] = ast.copy_location(value, items[at])
        setattr(node, field, items)
    return change


def changes(node: ast.AST) -> Iterator[Change]:
    """What may be done to one node."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        test = shown(node.test)
        refusing = isinstance(node, ast.If) and any(refuses(n) for statement in node.body for n in ast.walk(statement))
        yield "refusal dropped" if refusing else "condition", f"if {test}", "if False", _set("test", ast.Constant(False))
        if not isinstance(node, ast.While):
            yield "condition", f"if {test}", "if True", _set("test", ast.Constant(True))
    if isinstance(node, ast.comprehension):
        for i, test in enumerate(node.ifs):
            yield "condition", f"for .. if {shown(test)}", "for ..", _drop("ifs", i)
    if isinstance(node, ast.BoolOp):
        for i, term in enumerate(node.values):
            neutral = isinstance(node.op, ast.And)
            yield "term dropped", f"{shown(node)}", f"without {shown(term)}", _put("values", i, ast.Constant(neutral))
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in COMPARED.get(type(op), ()):
                changed = copy.deepcopy(node)
                changed.ops[i] = other()
                yield "comparison", shown(node), shown(changed), _put("ops", i, other())
            right = node.comparators[i]
            if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, (ast.Tuple, ast.Set)) and len(right.elts) > 1:
                for j, element in enumerate(right.elts):
                    left = type(right)(elts=right.elts[:j] + right.elts[j + 1:])
                    if isinstance(left, ast.Tuple):
                        left.ctx = ast.Load()
                    yield "element dropped", shown(node), f"without {shown(element)}", _put("comparators", i, left)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        changed = copy.deepcopy(node)
        changed.op = ast.UAdd()
        yield "negation dropped", shown(node), shown(node.operand), _set("op", ast.UAdd()) if isinstance(node.op, ast.Invert) else _double_negation
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not isinstance(node.left, (ast.JoinedStr, ast.Dict)):
        changed = copy.deepcopy(node)
        changed.op = OPERATORS[type(node.op)]()
        yield "operator", shown(node), shown(changed), _set("op", OPERATORS[type(node.op)]())
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
        changed = copy.deepcopy(node)
        changed.func.id = NAMES[node.func.id]
        yield "min and max", shown(node), shown(changed), _set("func", ast.Name(NAMES[node.func.id], ast.Load()))
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for more in (1, -1):
            yield "constant", f"{node.value} in line", str(node.value + more), _set("value", node.value + more)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "constant", f"{node.value} in line", str(not node.value), _set("value", not node.value)          
    for field in ("body", "orelse"):
        for i, statement in enumerate(getattr(node, field, ()) if not isinstance(node, (ast.Lambda, ast.IfExp)) else ()):
            if _forgettable(statement):
                yield "statement dropped", shown(statement), "pass", _put(field, i, ast.Pass())


def _double_negation(node: ast.AST) -> None:
    """`not x` becomes `not not x`."""
    node.operand = ast.UnaryOp(ast.Not(), node.operand)                 # type: ignore[attr-defined]


def _forgettable(statement: ast.stmt) -> bool:
    """A statement that only changes something: calls, and assignments to parts of objects."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    if isinstance(statement, ast.Assign):
        return any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in statement.targets)
    return isinstance(statement, (ast.AugAssign, ast.Delete, ast.Raise, ast.Continue, ast.Break))


def _nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Every node but what makes the text of messages, in a fixed order."""
    todo = [function]
    while todo:
        node = todo.pop()
        yield node
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
                continue
            if field == "args" and refuses(node) or isinstance(node, ast.JoinedStr):
                continue
            todo += [n for n in (value if isinstance(value, list) else [value]) if isinstance(n, ast.AST)]


def functions(module: ModuleType, tree: ast.Module) -> Iterator[tuple[str, FunctionType, ast.FunctionDef]]:
    """The module's own functions and methods: name, function, syntax."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, plain(vars(module)[node.name]), node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", plain(vars(vars(module)[node.name])[inner.name]), inner


def plain(thing: object) -> FunctionType:
    """What a decorator made of a function, undone."""
    for name in ("__wrapped__", "__func__", "fget"):
        thing = getattr(thing, name, thing)
    assert isinstance(thing, FunctionType), thing
    return thing




def of_function(module: str, file: str, name: str, syntax: ast.FunctionDef, wanted: Callable[[str], bool] = lambda kind: True) -> Iterator[Mutant]:
    """All mutants of one function."""
    seen: Counter[tuple[str, str]] = Counter()
    parents = {child: node for node in ast.walk(syntax) for child in ast.iter_child_nodes(node)}
    for at, node in enumerate(_nodes(syntax)):
        for which, (kind, before, after, _) in enumerate(changes(node)):
            if not wanted(kind):
                continue
            if kind == "constant":
                around = parents.get(node, node)
                before = before.replace("line", shown(around) if not isinstance(around, ast.stmt) or not hasattr(around, "body") else "the head")
            number = seen[before, after]
            seen[before, after] += 1
            changed = copy.deepcopy(syntax)
            target = next(n for i, n in enumerate(_nodes(changed)) if i == at)
            list(changes(target))[which][3](target)
            changed.decorator_list = []
            whole = ast.fix_missing_locations(ast.Module([changed], []))
            code = compile(whole, file, "exec", flags=FUTURE, dont_inherit=True)
            inner = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == syntax.name)
            yield Mutant(module, name, _lines(node, before, parents), kind, before, after, number, inner)


def _lines(node: ast.AST, before: str, parents: dict[ast.AST, ast.AST]) -> range:
    """From the beginning of the statement that a change is in to the end of what it changes."""
    last = node.test if isinstance(node, (ast.If, ast.While, ast.IfExp)) else node
    for field in ("body", "orelse"):
        for inner in getattr(node, field, ()) if isinstance(node, ast.stmt) else ():
            if shown(inner) == before:
                return range(inner.lineno, inner.end_lineno + 1)
    if isinstance(node, ast.If) and any(map(refuses, ast.walk(node))):
        last = node.body[-1]
    end = getattr(last, "end_lineno", None)
    while not isinstance(node, ast.stmt):
        node = parents[node]
    return range(node.lineno, (end or node.lineno) + 1)
