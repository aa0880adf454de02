"""From a checked program to containers and a bundle: lowering, LLVM, ELF, image."""
from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from lpn.lang import ast, persist, tables as control
from lpn.lang.buffers import buffers
from lpn.lang.deep import deep
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.hooks import RX_DONE, Hook, Promise, in_order

from . import bundle as bundles, externs, femto
from .bytecode import TooFar, bytecode
from .elf import Object
from .forms import MOST, BuildError, Form, Forms, Level, SizeError, StackError, Unfit, forms_of
from .image import STACK_SIZE, STATE_MAX, TEXT_MAX, Flag, Image, ImageError, Kind
from .kept import KeptTable, Migration, ambiguous
from .llvm import emit_assembly, parse, slots_by_line
from .lower.const_entries import compared
from .lower.modules import Lowered, Lowerings, ProgramLowering
from .lower.processor import data_room, entry_data, table_size, tables
from .passes.stack_slots import with_less_stack
from .stack import stack_used, too_large, variable_octets
from .state import StateLayout, scalar_width
from .target import TARGETS, Target

if TYPE_CHECKING:
    from lpn.verifier.verify import Report

FARTHEST = (1 << 15) - 1                        # slots that a jump passes (RFC 9669, section 3.1: a signed 16-bit offset)

NOTHING = "the program has no parser, processor or deparser to compile"


@dataclass
class Container:
    """One compiled container and what it was made from."""

    lowered: Lowered
    object: bytes                               # ELF
    ir: str                                     # as optimised
    code: Object
    image: Image
    target: Target

    @property
    def name(self) -> str:
        return self.lowered.name

    @property
    def stored(self) -> bytes:
        """The container as its target stores it: stock Femto-Containers have a format of their own."""
        return femto.image(self.code.text) if self.target.name == "femto" else self.image.to_bytes()

    @property
    def assembly(self) -> str:
        return emit_assembly(parse(self.ir), self.target)

    @property
    def instructions(self) -> int:
        """eBPF instruction slots; a `lddw` counts as two."""
        return len(self.code.text) // 8


@dataclass
class Compiled:
    """A program compiled for one target. `containers`: each module once, in the order in which hooks name them; fused, one
    for each chain, called after the first hook that has it. `hooks`: what runs, each with the names of its containers; `left_out`: what the target
    does not run."""

    program: ast.Program
    target: Target
    fused: bool
    record_size: int                            # 0: no container keeps anything in it
    record_hash: int
    state: StateLayout
    containers: list[Container]
    hooks: list[tuple[Hook, tuple[str, ...]]]
    migrations: tuple[Migration, ...] = ()
    left_out: list[Hook] = field(default_factory=list)
    forms: Forms = field(default_factory=Forms)
    promises: list[Promise] | None = None                       # its budgets, once it was asked how long handlers wait for one another (budgets.py)
    reports: dict[str, Report] = field(default_factory=dict)    # by container, once the verifier was asked (judge.py)

    @property
    def notes(self) -> list[str]:
        """What is left out, or not in the form that was asked for, and why."""
        return [*self.missing(), *(text for _, text in self.forms.notes())]

    def missing(self) -> Iterator[str]:
        """What is written and does not run, a sentence for each chain and each timing block, with its handlers; what these start `after` a time goes with them."""
        blocks: dict[str, list[str]] = {}
        for hook in self.left_out:
            if not hook.timed:
                yield f"the chain of {hook.name} is left out: target {self.target.name} runs that of {RX_DONE} only"
            elif isinstance(handler := hook.chain[0], ast.Handler) and handler.block is not None and handler.kind != "after":
                blocks.setdefault(handler.block.name, []).append(handler.name)
        for name, handlers in blocks.items():
            yield f"timing block {name} is left out: target {self.target.name} runs chains only, not {', '.join(handlers)}"

    def note(self, container: str) -> str | None:
        """What is left out, and what is not as it was asked for about a container, or about the chains that it belongs to."""
        concerned = {container, *(fused_name(self.program, hook) for hook, names in self.hooks if container in names)}
        return "; ".join([*self.missing(), *(text for name, text in self.forms.notes() if name in concerned)]) or None

    def reseal(self) -> None:
        """To be called when an image has changed: the bundle is made anew."""
        self.__dict__.pop("bundle", None)

    @cached_property
    def bundle(self) -> bundles.Bundle:
        name, version = protocol_name(self.program)
        return bundles.Bundle(
            protocol=name, version=version, modules=tuple(c.image for c in self.containers),
            record_size=self.record_size, record_hash=self.record_hash,
            state_size=self.state.size, state_hash=self.state.hash,
            state_layout=tuple({"name": o.name, "offset": o.offset,
                                "type": {"cell": str(o.cell), "count": o.count, "stride": o.stride}}
                               for o in self.state.objects),
            buffers=tuple(bundle_buffer(name, decl) for name, decl in buffers(self.program)),
            kept=self.state.persistent(), migrations=self.migrations,
            tables=tuple(bundle_table(i, t) for i, t in enumerate(tables(self.program))),
            reasons=tuple(r or "none" for r in self.program.reasons), externs=externs.manifest(self.program),
            hooks=tuple(bundle_hook(h, names) for h, names in self.hooks),
            energy=tuple(self.energy()))

    def energy(self) -> Iterator[bundles.Energy]:
        """The budgets that hold, with the indices of their hooks."""
        index = {id(hook): i for i, (hook, _) in enumerate(self.hooks)}
        for p in (self.program.promises if self.promises is None else self.promises) if self.target.name == "lpn" else ():
            yield bundles.Energy(p.block, p.promised, p.share, tuple((index[id(hook)], us) for hook, us in p.runs))

    def contexts(self, container: str) -> tuple[str, ...]:
        """Where the hooks run that a container belongs to, each once."""
        return tuple(dict.fromkeys(hook.context for hook, names in self.hooks if container in names))

    def source_map(self) -> str:
        """The host-side map from instructions to source lines (JSON); not sent over the air."""
        return json.dumps({"lpn": 1, "modules": {c.name: [list(row) for row in c.code.lines] for c in self.containers}})

    def initial_state(self, given: control.Tables | None) -> bytes:
        """The state region before the first packet."""
        state = bytearray(self.state.size)
        for cell in given.cells if given else ():
            self.state.write(state, cell.register, cell.index, cell.values)
        return bytes(state)

    def entries(self, given: control.Tables | None) -> dict[str, list[bundles.Entry]]:
        """The tables of the engine that a tables file fills, by name."""
        return {t.name: [bundle_entry(t, e) for e in entries] for t, entries in (given.entries if given else {}).items() if not compared(t)}


def protocol_name(program: ast.Program) -> tuple[str, int]:
    for d in program.decls:
        if isinstance(d, ast.Protocol):
            return d.name, int(d.version.const or 0) if d.version is not None else 0
    return "program", 0


def fused_name(program: ast.Program, hook: Hook) -> str:
    """Of a hook's chain as one container."""
    return f"{protocol_name(program)[0]}.{hook.name}"


def bundle_hook(hook: Hook, chain: tuple[str, ...]) -> bundles.Hook:
    return bundles.Hook(hook.event, chain, hook.context, hook.selector, hook.within, hook.period, hook.offset, hook.jitter)


def bundle_buffer(name: str, b: ast.BufferDecl) -> bundles.Buffer:
    timeout = int(b.timeout.const or 0) if b.timeout is not None else 0
    return bundles.Buffer(name, int(b.bytes.const or 0), int(b.size.const or 0), tuple(b.key or (8,)), timeout)


def bundle_table(index: int, t: ast.Table) -> bundles.Table:
    key = tuple(bundles.KeyField(scalar_width(k.expr.type), k.match) for k in t.keys)
    actions = []
    for ref in t.actions:
        at, params = 0, []
        for p in ref.action.params[len(ref.args):]:
            width = scalar_width(p.type)
            params.append(bundles.Param(p.name, at, width, "big"))
            at += (width + 7) // 8
        actions.append(bundles.Action(ref.name, tuple(params)))
    entries = tuple(bundle_entry(t, e) for e in control.constant_entries_of(t))
    return bundles.Table(t.name, index, key, data_room(t), table_size(t), entries, tuple(actions), t.const_entries)


def bundle_entry(t: ast.Table, e: control.Entry) -> bundles.Entry:
    matches = []
    for k, m in zip(t.keys, e.matches):
        matches.append({"exact": (m.value,), "lpm": (m.value, m.prefix), "ternary": (m.value, m.mask),
                        "range": (m.low, m.high)}[k.match])
    return bundles.Entry(tuple(matches), e.action, entry_data(t, e).ljust(data_room(t), b"\0"), e.priority)


def is_chain(hook: Hook) -> None:
    """Raises DiagnosticError for modules that are no chain: without a protocol it is all of them."""
    chain = hook.chain
    if hook.timed or in_order(chain):
        return
    wrong = next(module for number, module in enumerate(chain) if not in_order(chain[:number + 1]))
    first = {kind: next((module.name for module in chain if isinstance(module, kind)), None) for kind in (ast.Parser, ast.Deparser)}
    names = [first[ast.Parser], *(module.name for module in chain if isinstance(module, ast.Processor)), first[ast.Deparser]]
    said = " -> ".join(name for name in names if name is not None)
    raise DiagnosticError([Diagnostic(
        "error", f"a chain is a parser, then processors, then a deparser, and {' -> '.join(module.name for module in chain)} is none", wrong.span,
        [f"without a protocol all modules are one chain, in order of declaration; say what runs: protocol App version 1 {{ on {hook.event} : {said}; }}"])])


def compile_program(program: ast.Program, target: str = "lpn", fuse: bool = False, level: Level = MOST, listings: bool = True,
                    forms: Forms | None = None, lowerings: Lowerings | None = None) -> Compiled:
    """Compiles a checked program. Raises DiagnosticError for what the compiler refuses, BuildError for the rest. `listings`:
    with the source line of each instruction; who compiles thousands does without. `forms`: those that were refused are not
    taken. What does not fit in the form that was asked for is made in another one, and `notes` says so. `lowerings`: of this program, for who compiles it again."""
    with deep():
        lowerings = lowerings or Lowerings(program)
        assert lowerings.program is program
        return compiled(program, TARGETS[target], fuse, level, listings, forms if forms is not None else Forms(), lowerings)


def compiled(program: ast.Program, t: Target, fuse: bool, level: Level, listings: bool, forms: Forms, lowerings: Lowerings) -> Compiled:
    externs.check(program)
    if t.name != "lpn" and externs.own(program):
        raise BuildError(f"target {t.name} has no functions of the node's own, such as {externs.own(program)[0].name}()")
    hooks = program.hooks
    if t.name != "lpn":                         # no other target has timers, or handlers for events
        hooks = [hook for hook in hooks if not hook.timed]
    if t.name == "xdp":                         # one program, for frames that come in; it has no header record to share
        fuse, hooks = True, [hook for hook in hooks if hook.event == RX_DONE]
    if not hooks:
        raise BuildError(NOTHING if not program.hooks else
                         f"the protocol has no chain for {RX_DONE}, and target {t.name} runs no other")
    for hook in hooks:
        is_chain(hook)
    lowering = lowerings.of(t, listings, fuse)
    fits(lowering.state)
    made: dict[str, Container] = {}
    fused: dict[tuple[ast.Module, ...], Container | None] = {}
    made_of: list[tuple[Hook, tuple[str, ...]]] = []

    def apart(module: ast.Module) -> Container:
        one = made.get(module.name) or forms.first(
            module.name, forms_of(level, parses=isinstance(module, ast.Parser)), lambda form: make_container(
                lowering, lowering.module(module, form), t, form))
        if one is None and all(isinstance(why, StackError) for why in forms.whys(module.name)):
            raise too_large(module, min(forms.whys(module.name), key=lambda why: why.used), lowering.record)
        return one or forms.fail(module.name)

    for hook in hooks:
        long = t.name == "lpn" and len(hook.chain) > bundles.MAX_CHAIN      # more than a node binds to a hook: as one
        whole = None
        if (fuse or long) and not hook.timed:
            chain, name = tuple(hook.chain), fused_name(program, hook)
            if chain not in fused:              # hooks with the same modules share what is made of them
                fused[chain] = forms.first(name, forms_of(level, True), lambda form: fused_container(lowering, name, hook.chain, t, form))
            whole = fused[chain]
            if whole is None and (long or t.name == "xdp"):
                forms.fail(name)
        containers_of = [whole] if whole is not None else [apart(module) for module in hook.chain]
        made |= {one.name: one for one in containers_of}
        made_of.append((hook, tuple(one.name for one in containers_of)))
    containers = list(made.values())
    record = lowering.record.size if any(c.lowered.keeps for c in containers) or t.name == "xdp" else 0
    for c in containers:
        c.image = replace(c.image, record_size=record)
    migrations = []
    for block in persist.migrations(program) if t.name == "lpn" else ():
        lowered, needs = lowering.migration(block)
        one = forms.first(block.name, forms_of(level), lambda form: make_container(lowering, lowered, t, form, needs))
        containers.append(one or forms.fail(block.name))
        migrations.append(Migration(block.version, block.name, needs))
    if (same := ambiguous(persist.layout(program))) is not None:
        raise BuildError(f"registers {same[0]} and {same[1]} have names that a node cannot tell apart: rename one")
    return Compiled(program, t, fuse, record, lowering.record.hash, lowering.state, containers, made_of, tuple(migrations),
                    [hook for hook in program.hooks if hook not in hooks], forms)


def fits(state: StateLayout) -> None:
    """Raises BuildError where a node has no room for it."""
    if state.size > STATE_MAX:
        largest = max(state.objects, key=lambda one: one.size)
        raise BuildError(f"registers, counters and meters take {state.size} bytes, and a node has {STATE_MAX} for them: {largest.name} takes {largest.size}")


def made_of(lines: list[tuple[int, str, int]], count: int) -> Counter[tuple[str, int]]:
    """Of so many slots those of each source line, (file, line)."""
    out: Counter[tuple[str, int]] = Counter()
    for (slot, file, line), behind in zip(lines, [*(row[0] for row in lines[1:]), count]):
        out[file, line] += behind - slot
    return out


def fused_container(lowering: ProgramLowering, name: str, chain: list[ast.Module], target: Target, form: Form) -> Container:
    """What is to be short is made in two ways, or three, since none is always the shortest. Raises BuildError."""
    made: dict[tuple[bool, bool], Container] = {}               # by `meets` and `pairs`
    wrong: Unfit | None = None

    def make(meets: bool, pairs: bool) -> Lowered:
        nonlocal wrong
        lowered = lowering.fused(name, chain, form, meets, pairs)
        try:
            made[meets, pairs] = make_container(lowering, lowered, target, form)
        except Unfit as e:
            wrong = e
        return lowered

    def shortest() -> tuple[bool, bool]:
        return min(made, key=lambda way: len(made[way].code.text), default=(True, True))

    if make(True, True).paired:
        make(True, False)
    if form.small and target.window:
        make(False, shortest()[1])
    if not made:
        assert wrong is not None
        raise wrong
    return made[shortest()]


def make_container(lowering: ProgramLowering, lowered: Lowered, target: Target, form: Form, needs: KeptTable | None = None) -> Container:
    """Its image has no record yet but a migration's, which is what it `needs`. Raises BuildError."""
    try:
        made = bytecode(lowered.text, target, form.optimised, lowered.kind == Kind.FUSED, form.small and target.name == "lpn", FARTHEST)
    except TooFar as e:
        raise SizeError(lowered.name, f"has more than {FARTHEST} instructions, and a jump reaches no farther: divide it into modules",
                        slots_by_line(e.ref, target), e.slots / TEXT_MAX) from None
    code = made.code
    if target.name == "lpn" and stack_used(code.text):
        code.text, code.lines = with_less_stack(code.text, code.lines, variable_octets(made.ir))
    if (used := stack_used(code.text)) > STACK_SIZE:
        raise StackError(lowered.name, used)
    if target.name == "femto":
        try:
            code = femto.stock(code)
        except femto.FemtoError as e:
            raise Unfit(lowered.name, f"cannot run on the stock engine: {e}") from None
    if (count := len(code.text) // 8) > TEXT_MAX:
        raise SizeError(lowered.name, f"has {count} instructions, and a container may have {TEXT_MAX}: divide it into modules", made_of(code.lines, count),
                        count / TEXT_MAX)
    flags = Flag.of_radio(lowered.radio) | (Flag.DEPARSES if lowered.rebuilds and lowered.kind == Kind.FUSED else Flag(0))
    try:
        image = Image(name=lowered.name, kind=Kind(lowered.kind), text=code.text, rodata=code.rodata, data=code.data,
                      flags=flags, record_hash=zlib.crc32(needs.rows()) if needs else lowering.record.hash,
                      record_size=needs.size if needs else 0,
                      state_hash=lowering.state.hash, state_size=lowering.state.size)
    except ImageError as e:
        raise SizeError(lowered.name, f"makes no image: {e}") from None
    return Container(lowered, made.object, made.ir, code, image, target)
