"""What may be done where a hook runs: no waiting in an interrupt, and no state that an interrupt could tear or lose."""
from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..diagnostics import Diagnostics
from ..hooks import ALLOWED, CONTEXTS, Hook
from ..instances import children
from ..types import Array, Bits, StructType, Type
from .base import plural
from .statements import written_registers

Cells = ast.Register | ast.Counter | ast.Meter
RADIO_ON, RADIO_OFF = "radio.on", "radio.off"
WORD = 32                                       # bits that one instruction reads or writes


def contexts(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Tells each operation that stands in a context where it may not, and each cell that an interrupt makes unsafe."""
    uses: dict[Cells, list[Use]] = {}
    refused: set[ast.Node] = set()
    for hook in program.hooks:
        for module in hook.chain:
            for node in reached(module):
                told = allowed(node)
                if told is not None and hook.context not in told[1] and node not in refused:
                    refused.add(node)
                    refuse(node, *told, hook, module, diagnostics)
                for use in used(node, hook):
                    uses.setdefault(use.cells, []).append(use)
    for cells, several in uses.items():
        shared(cells, several, diagnostics)


def reached(module: ast.Module) -> Iterator[ast.Node]:
    """Every node that runs with the module: what it calls is put in line, an `after` is a handler of its own."""
    seen: set[ast.Node] = set()
    todo: list[object] = [body_of(module)]
    while todo:
        node = todo.pop()
        if isinstance(node, (list, tuple)):
            todo.extend(node)
        if not isinstance(node, ast.Node) or node in seen:
            continue
        seen.add(node)
        yield node
        parts = [getattr(node, name) for name in children(type(node)) if not isinstance(node, ast.After) or name != "body"]
        todo.extend(parts)
        todo.append(in_line(node))


def in_line(node: ast.Node) -> ast.Node | None:
    """What stands in line where a node stands."""
    match node:
        case ast.Call():
            return called(node)
        case ast.ActionRef():
            return node.action
        case ast.Via():
            return node.codec
    return None


def switches_radio(module: ast.Module) -> bool:
    """Whether a module, or an `after` that it starts, switches the radio."""
    return any(isinstance(node, ast.Call) and node.target in (RADIO_ON, RADIO_OFF) or isinstance(node, ast.After) and node.handler is not None and switches_radio(node.handler)
               for node in reached(module))


def body_of(module: ast.Module) -> object:
    """What runs when the module runs: of a processor not the actions and tables that nothing applies."""
    if isinstance(module, ast.Processor):
        return [*(one for one in module.locals if isinstance(one, (ast.VarDecl, ast.ConstDecl))), module.apply]
    return module.body if isinstance(module, ast.Handler) else module


def called(call: ast.Call) -> ast.Node | None:
    """What a call puts in line."""
    target = call.target
    if isinstance(target, ast.Function | ast.Action | ast.Deparser):
        return target.body
    return target if isinstance(target, ast.Table) else None


# ---------------------------------------------------------------- operations

def allowed(node: ast.Node) -> tuple[str, tuple[str, ...]] | None:
    """(operation in words, contexts it may run in), of what may not run everywhere."""
    if isinstance(node, ast.After):
        return "'after'", ALLOWED["after"]
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.target, ast.Table):
        return f"{node.target.name}.apply()", ALLOWED["table"]
    if isinstance(node.target, ast.Extern):
        return f"'{node.target.name}'", tuple(node.target.contexts) or CONTEXTS
    if isinstance(node.target, str) and node.target in ALLOWED:
        return f"{node.target}()", ALLOWED[node.target]
    return None


def refuse(node: ast.Node, what: str, where: tuple[str, ...], hook: Hook, module: ast.Module, diagnostics: Diagnostics) -> None:
    message = f"{what} cannot be called in context {hook.context}, where {hook.event} runs '{module.name}'"
    if isinstance(node, ast.Call) and isinstance(node.target, ast.Extern):
        diagnostics.error(message, node.span, f"it is declared for {plural(len(where), 'context')}: {', '.join(where)}",
                          notes=[("it is declared here", node.target.span)])
        return
    hint = f"it is allowed in {' and '.join(where)}"
    if hook.context == "isr":
        hint += "; an interrupt has registers, counters, the clock, and after T { ... } for the rest"
    diagnostics.error(message, node.span, hint)


# ---------------------------------------------------------------- state

class Use:
    """A register, counter or meter that a hook reads or writes."""

    def __init__(self, cells: Cells, writes: bool, node: ast.Node, hook: Hook):
        self.cells, self.writes, self.node, self.hook = cells, writes, node, hook

    @property
    def interrupt(self) -> bool:
        return self.hook.context == "isr"


def used(node: ast.Node, hook: Hook) -> list[Use]:
    found = [Use(register, True, node, hook) for register in written_registers(node)]
    if isinstance(node, ast.Call) and node.target in ("count", "execute", "reset") and isinstance(node.callee, ast.Member):
        base = node.callee.base
        if isinstance(base, ast.Name) and isinstance(base.decl, (ast.Counter, ast.Meter)):
            found.append(Use(base.decl, True, node, hook))
    if isinstance(node, ast.Name) and isinstance(node.decl, ast.Register):
        found.append(Use(node.decl, False, node, hook))
    return found


def shared(cells: Cells, uses: list[Use], diagnostics: Diagnostics) -> None:
    """An interrupt comes between any two instructions of a thread, never the other way."""
    writers = [one for one in uses if one.writes]
    inside, outside = ([one for one in writers if one.interrupt is kind] for kind in (True, False))
    if inside and outside:
        diagnostics.error(f"'{cells.name}' is written by {inside[0].hook.event} in an interrupt, and by {outside[0].hook.event}",
                          outside[0].node.span, "an interrupt between reading and writing would be lost: give each its own",
                          notes=[("in the interrupt it is written here", inside[0].node.span)])
        return
    other = [one for one in uses if one.interrupt is not bool(inside)]
    width = widest(cells.type.cell if isinstance(cells.type, Array) else cells.type)
    if writers and other and width > WORD:
        diagnostics.error(f"'{cells.name}' has values of {width} bits, written by {writers[0].hook.event} and read by {other[0].hook.event}",
                          other[0].node.span, f"an interrupt could come between its words: share at most {WORD} bits",
                          notes=[("it is written here", writers[0].node.span)])


def widest(type_: Type | None) -> int:
    """Bits of the widest value in a cell."""
    if isinstance(type_, StructType):
        return max((widest(field.type) for field in type_.decl.fields), default=0)
    return type_.width if isinstance(type_, Bits) else 1
