"""Which emits of a deparser one run can make one behind the other, and whether they can fail."""
from __future__ import annotations

from .. import ast
from ..hooks import number
from ..instances import walk
from ..limits import OUT_SIZE
from ..tables import key_width
from ..types import Stack, Varbit

Calls = list[ast.Call]
Pairs = list[tuple[ast.Call, ast.Call]]


def one_behind_the_other(body: ast.Stmt) -> Pairs:
    """Pairs of emits that a run can make, the first one first: not those of different branches."""
    pairs: Pairs = []
    follow(body, [], pairs)
    return pairs


def follow(node: ast.Stmt, before: Calls, pairs: Pairs) -> Calls:
    """The emits that may have been made behind a statement. `before`: those made in front of it. The turns of a loop count as they are written."""
    match node:
        case ast.Block(statements=statements):
            for statement in statements:
                before = follow(statement, before, pairs)
            return before
        case ast.If(then=then, otherwise=otherwise):
            return branches([then, otherwise], before, pairs)
        case ast.Switch(cases=cases):
            return branches([block for _, block in cases], before, pairs)
        case ast.For(written=True, body=body) | ast.Applied(body=body):
            return follow(body, before, pairs)
    calls = [each for each in walk(node) if isinstance(each, ast.Call) and each.target == "emit" and each.args]
    pairs += [(one, call) for i, call in enumerate(calls) for one in [*before, *calls[:i]]]
    return [*before, *calls]


def branches(several: list[ast.Stmt | None], before: Calls, pairs: Pairs) -> Calls:
    """One of them runs, or none."""
    made = [follow(branch, before, pairs)[len(before):] for branch in several if branch is not None]
    return before + [call for calls in made for call in calls]


# ---------------------------------------------------------------- what fails

def may_reject(deparser: ast.Deparser) -> bool:
    """Whether a run of it can end in a reject: a codec has no fitting row, or what is emitted is too long."""
    emits = [call for call in walk(deparser.body) if isinstance(call, ast.Call) and call.target == "emit"]
    for loop in walk(deparser.body):
        if isinstance(loop, ast.For) and not loop.written:
            emits += [call for call in walk(loop.body) if call in emits] * (number(loop.high) - number(loop.low) - 1)
    return sum(map(most_octets, emits)) > OUT_SIZE or any(call.via is not None and not always_fits(call.via.codec) for call in emits)


def most_octets(emit: ast.Call) -> int:
    """What an emit writes at most: the header, or through a codec its tag, too."""
    type_ = emit.args[0].type
    header, times = (type_.header.decl, type_.size) if isinstance(type_, Stack) else (type_.decl, 1)       # type: ignore[union-attr]
    bits = sum(piece.width for piece in emit.via.codec.tag) if emit.via is not None and emit.via.codec is not None else 0
    for item in header.items:
        if isinstance(item, ast.Word):
            bits += item.width
        elif isinstance(item, ast.Field):
            bits += item.type.max_width if isinstance(item.type, Varbit) else key_width(item.type)
        elif isinstance(item, ast.ChoiceField):
            bits += max(key_width(arm.type) for arm in item.arms)
    return (bits + 7) // 8 * times


def always_fits(codec: ast.Codec | None) -> bool:
    """Whether each group has a row that asks nothing of the header."""
    return codec is not None and all(any(not asks(row) for row in group.rows) for group in codec.groups)


def asks(row: ast.Row) -> bool:
    """Whether a row looks at the header before it is taken."""
    for item in row.items:
        if isinstance(item, ast.RowWhere) or isinstance(item, ast.RowAssign) and not any(isinstance(one, ast.Following) for one in walk(item.value)):
            return True
        if isinstance(item, ast.RowInline) and any(one.bits is not None or isinstance(getattr(one.target, "decl", None), ast.ChoiceArm) for one in item.targets):
            return True
    return False
