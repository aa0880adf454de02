"""Programs that people wrote, changed a little: what the fuzzer compares the engines on beside programs of its own making.

A program is one text, its imports within it. What is changed is taken from the checked tree: an expression becomes another one of its type, from the
same declaration, or a constant, or is put together with one; an operator becomes another one; what stands in a list (statements, rows, fields, cases,
entries) is dropped, said twice, or changes places. What the checker then refuses is not tried.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate

from lpn.lang import ast, tables as control
from lpn.lang.instances import walk
from lpn.lang.source import Span
from lpn.lang.types import Bits, Bool

from ..generate.base import Choose, Program
from .bounds import drawn
from .differential import Case, Failure, checked

ATTEMPTS = 30                                   # of a change that the checker takes
KEPT = 6                                        # packets of the case that the changed one has, too
OPERATORS = (("+", "-", "&", "|", "^", "*"), ("<", "<=", ">", ">=", "==", "!="), ("&&", "||"), ("<<", ">>"), ("|+|", "|-|"), ("/", "%"))
ALIKE = {op: group for group in OPERATORS for op in group}
LISTED = (ast.Stmt, ast.Row, ast.Group, ast.SelectCase, ast.Field, ast.Word, ast.TableEntry, ast.TableKey, ast.ActionRef, ast.StructField, ast.EnumMember)


@dataclass(frozen=True)
class Edit:
    """From one place of the text to another there is something else."""

    start: int
    end: int
    text: str


@dataclass
class Sites:
    """What of a program's text can be changed. Places are counted in characters."""

    text: str
    exprs: list[tuple[int, int, str, object, int]] = field(default_factory=list)       # start, end, type by name, type, declaration
    operators: list[tuple[int, int, str]] = field(default_factory=list)
    numbers: list[tuple[int, int, int, int]] = field(default_factory=list)              # start, end, value, width
    lists: list[list[tuple[int, int]]] = field(default_factory=list)


def written(program: ast.Program) -> str:
    """A loaded program in one text: what it imports before it."""
    said = [one.span for one in imports_of(program.imports, set())]
    texts = (applied(source.text, [Edit(*places(source.text)(span), "") for span in said if span.source is source]) for source in program.sources)
    return "\n".join(text.strip("\n") for text in texts if text is not None) + "\n"


def imports_of(imports: list[ast.Import], seen: set[ast.Imported]) -> Iterator[ast.Import]:
    """These, and those of the files that they import, each file's once."""
    for one in imports:
        yield one
        if one.module is not None and one.module not in seen:
            seen.add(one.module)
            yield from imports_of(one.module.imports, seen)


def places(text: str) -> Callable[[Span], tuple[int, int]]:
    """Of spans of this text, where they begin and end in it."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    return lambda span: (starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1)


def sites(program: ast.Program, text: str) -> Sites:
    """Of a checked program of one source, what can be changed."""
    place, out = places(text), Sites(text)
    seen: set[tuple[int, int]] = set()

    for number, decl in enumerate(program.decls):
        for node in walk(decl):
            for several in lists_of(node):
                out.lists.append([place(one.span) for one in several])
            if not isinstance(node, ast.Expr) or (at := place(node.span)) in seen or at[0] >= at[1]:
                continue
            seen.add(at)
            if isinstance(node, ast.Binary) and node.op in ALIKE:
                left, right = place(node.left.span)[1], place(node.right.span)[0]
                found = text.find(node.op, left, right)
                if found >= 0:
                    out.operators.append((found, found + len(node.op), node.op))
            if isinstance(node, ast.Int) and node.unit is None and text[at[0]:at[1]][:1].isdigit():
                out.numbers.append((*at, node.value, getattr(node.type, "width", 8)))
            if node.type is not None and not isinstance(node, (ast.RangeSet, ast.DontCare, ast.Tuple, ast.ListExpr)):
                out.exprs.append((*at, str(node.type), node.type, number))
    return out


def lists_of(node: ast.Node) -> Iterator[list[ast.Node]]:
    """The lists of a node that hold what can be dropped, doubled or moved."""
    for value in vars(node).values():
        if isinstance(value, list) and value and all(isinstance(one, LISTED) for one in value):
            yield value


class Changer:
    """Makes changed programs of one, which may be given what it was given by the control plane."""

    def __init__(self, program: Program) -> None:
        self.tables = program.tables
        self.sites = sites(checked(program.text), program.text)

    def edits(self, choose: Choose) -> list[Edit]:
        """One change."""
        kind = choose.number(0, 9)
        if kind < 5 and self.sites.exprs:
            return [self.expression(choose)]
        if kind == 5 and self.sites.operators:
            start, end, op = choose.pick(self.sites.operators)
            return [Edit(start, end, choose.pick(ALIKE[op]))]
        if kind in (6, 7) and self.sites.numbers:
            start, end, value, width = choose.pick(self.sites.numbers)
            near = (value + 1, max(value - 1, 0), value * 2, value // 2, choose.pick(self.sites.numbers)[2], choose.value(min(max(width, 1), 64)))
            return [Edit(start, end, str(choose.pick(near)))]
        return self.listed(choose) if self.sites.lists else []

    def expression(self, choose: Choose) -> Edit:
        start, end, name, type_, decl = choose.pick(self.sites.exprs)
        alike = [(s, e) for s, e, other, _, where in self.sites.exprs if other == name and (where == decl or choose.chance(1, 8))]
        other = self.sites.text[slice(*choose.pick(alike))] if alike else "0"
        own = self.sites.text[start:end]
        number = str(choose.value(type_.width)) if isinstance(type_, Bits) and type_.width else choose.pick(("true", "false"))
        if isinstance(type_, Bool):
            made = (other, f"!({own})", f"({own}) && ({other})", f"({own}) || ({other})", f"({own}) == ({other})", number)
        elif isinstance(type_, Bits):
            op = choose.pick(("+", "-", "&", "|", "^", "*"))
            made = (other, f"(({own}) {op} ({other}))", f"(({own}) {op} {number})", number, f"(({own}) == ({other}) ? ({other}) : ({own}))", f"(~({own}))")
        else:
            made = (other, other)
        return Edit(start, end, choose.pick(made))

    def listed(self, choose: Choose) -> list[Edit]:
        several = choose.pick(self.sites.lists)
        start, end = choose.pick(several)
        one = self.sites.text[start:end]
        match choose.number(0, 4):
            case 0:
                return [Edit(start, end, "")]
            case 1:
                return [Edit(end, end, f" {one}")]
            case 2:
                other = choose.pick(several)
                if other == (start, end):
                    return []
                return [Edit(start, end, self.sites.text[slice(*other)]), Edit(*other, one)]
            case 3:
                at = choose.pick(several)[0]
                return [Edit(at, at, f"{one} ")]
        other = choose.pick(choose.pick(self.sites.lists))
        return [Edit(end, end, f" {self.sites.text[slice(*other)]}")]

    def changed(self, choose: Choose, most: int) -> str | None:
        """A program with up to `most` changes that the checker takes; None if none was found."""
        for _ in range(ATTEMPTS):
            edits: list[Edit] = []
            for _ in range(choose.number(1, most)):
                edits += self.edits(choose)
            text = applied(self.sites.text, edits)
            if text is None or text == self.sites.text:
                continue
            try:
                control.from_json(self.tables, checked(text))
            except (Failure, control.TablesError):
                continue
            return text
        return None


def applied(text: str, edits: list[Edit]) -> str | None:
    """The text with all of them; None if two overlap."""
    edits = sorted(edits, key=lambda edit: (edit.start, edit.end))
    if any(one.end > other.start for one, other in zip(edits, edits[1:])):
        return None
    for edit in reversed(edits):
        text = text[:edit.start] + edit.text + text[edit.end:]
    return text


class Originals:
    """Programs that people wrote, what the control plane gives them, and frames for them: the fuzzer's cases are made of these. The first numbers
    are the programs as they are; a number behind them is one of them in turn, with up to `most` changes."""

    def __init__(self, cases: list[tuple[str, Case]], most: int) -> None:
        self.cases, self.most = cases, most
        self.changers: dict[int, Changer] = {}

    def __call__(self, number: int, choose: Choose) -> Case:
        at = number % len(self.cases)
        case = self.cases[at][1]
        text, following = case.program.text, case.following
        if number >= len(self.cases) and self.most:
            if at not in self.changers:
                self.changers[at] = Changer(case.program)
            text = self.changers[at].changed(choose, self.most) or text
            # another version of it takes over in the middle of the packets
            following = self.changers[at].changed(choose, self.most) or "" if choose.chance(1, 4) else ""
        packets = [choose.pick(case.packets) for _ in range(min(KEPT, len(case.packets)))]
        return replace(case, program=replace(case.program, text=text, lossless=False), packets=packets, following=following, bounded=drawn(choose))

    def file(self, number: int) -> str:
        return self.cases[number % len(self.cases)][0]

    def called(self, number: int) -> str:
        """The program of this number, for who reads of it."""
        return f"{self.file(number)}, {f'changed as {number}' if number >= len(self.cases) and self.most else 'as it is'}"
