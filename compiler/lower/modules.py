"""From a checked program to LLVM modules: one per container, or one for the whole chain (fused)."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from math import inf
from operator import or_

import llvmlite.ir as ir

from lpn.compiler.bits import I32, PKT, PTR, i32
from lpn.compiler.forms import MOST, SMALL, Form, SizeError
from lpn.compiler.kept import KeptTable
from lpn.compiler.layout import RecordLayout
from lpn.compiler.llvm import text_of
from lpn.compiler.state import StateLayout
from lpn.compiler.target import NEAR, VERDICTS, Target
from lpn.lang import ast
from lpn.lang.check.energy import radio_part
from lpn.lang.derive import derived, representation
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.effects import effects
from lpn.lang.hooks import RadioPart
from lpn.lang.persist import Migration
from lpn.lang.tables import stateful

from .again import repeatable
from .base import Lowering
from .bounded import BoundedLowering, copied
from .debug import DebugInfo
from .found_late import found_late
from .guess import Plan, deparser_guesses, is_short, parser_guesses
from .in_place import in_place, sent_as_they_lie
from .in_turn import in_turn
from .laid_out import laid_out
from .left_out import left_out
from .lying_behind import lying_behind
from .operations import MOST_OPERATIONS, Operations, TooMany
from .payload import tells_payload
from .prefix import first_headers
from .runs import runs
from .stacks import counted_stacks
from .stock import StockLowering

KINDS = {ast.Parser: 1, ast.Processor: 2, ast.Deparser: 3, ast.Handler: 4}
FUSED = 5
MIGRATION = 6
ENTRY = "entry"                                 # the function's symbol in the object file


@dataclass(frozen=True)
class Lowered:
    """`text`: the module as LLVM is given it."""

    name: str
    kind: int
    text: str
    rebuilds: bool                              # contains a deparser
    keeps: bool                                 # something in the header record
    radio: RadioPart = RadioPart(0)
    paired: bool = False                        # what a codec writes of two fields is one loop


@contextmanager
def bounded(low: Lowering, name: str) -> Iterator[None]:
    """What is too much of a container, or too deep, is told with the statement that it is of."""
    try:
        yield
    except TooMany as e:
        raise SizeError(name, f"is lowered to more than {low.operations.most} operations, and no more are tried for one container: divide it into modules",
                        e.made_of, inf) from None
    except RecursionError:
        raise DiagnosticError([Diagnostic("error", "calls and expressions are nested too deeply here, with what is put in line", low.operations.at,
                                          ["split it: name the parts"])]) from None


class ProgramLowering:
    """What all modules of a program share, and the lowering of each."""

    def __init__(self, program: ast.Program, target: Target, listings: bool = True, most: int = MOST_OPERATIONS, fuse: bool = True):
        """`fuse`: for chains that are one container. Modules of their own read a header of which something is computed where the record has it: that is shorter."""
        self.program, self.target, self.listings, self.most = program, target, listings, most
        lying = sent_as_they_lie(program) if fuse else ()
        self.derived = derived(program)
        self.runs = runs(program, self.derived) if target.window else frozenset()
        self.record = RecordLayout(program, copied(program) if target.name == "xdp" else representation(program, lying), self.runs)
        self.state = StateLayout(stateful(program))
        self.made: dict[tuple, Lowered] = {}

    def once(self, key: tuple, form: Form, make: Callable[[Form], Lowered]) -> Lowered:
        """What was lowered before is not lowered again: for another of LLVM's levels it is the same."""
        alike = replace(form, level=SMALL if form.small else MOST)
        if (key, alike) not in self.made:
            self.made[key, alike] = make(alike)
        return self.made[key, alike]

    def new_function(self, name: str, span) -> tuple[ir.Module, ir.Function, DebugInfo | None]:
        module = ir.Module(name)
        module.triple = "bpfel"
        fn = ir.Function(module, ir.FunctionType(I32, [PTR]), ENTRY)
        fn.section = "xdp" if self.target.name == "xdp" else "lpn"
        fn.attributes.add("nounwind")
        set.add(fn.attributes, '"no-jump-tables"="true"')        # nor tables of values: no verifier knows what is in them
        fn.args[0].add_attribute("noalias")
        return module, fn, DebugInfo(module, fn, span, self.program.sources[-1].path is not None) if self.listings else None

    def lowering(self, fn: ir.Function, debug: DebugInfo | None, in_memory: bool, form: Form | None = None,
                 chain: list[ast.Module] | None = None) -> Lowering:
        kind, target = {"lpn": Lowering, "femto": StockLowering, "xdp": BoundedLowering}[self.target.name], self.target
        if form is not None:
            target = replace(target, window=min(target.window, NEAR) if form.near else target.window, small=form.small, counts_turns=form.counts_turns)
        low = kind(self.program, self.record, self.state, self.derived, target, fn, in_memory, debug, Operations(self.most))
        low.runs = self.runs
        if target.name == "lpn" and target.small:
            low.stacks_in_turn = in_turn(self.program, self.record, self.derived, chain)
            low.recorded = low.stacks_in_turn if chain is not None else frozenset()
        if debug is not None:
            low.b.debug_metadata = debug.start
        return low

    def in_place(self, *chains: list[ast.Module]) -> bool:
        """Whether the packet lies as it is sent where the deparser begins that all of these end with."""
        return self.target.window > 0 and bool(chains) and all(in_place(self.program, self.record, chain) for chain in chains)

    def lying_behind(self, *chains: list[ast.Module]) -> list[ast.StructField]:
        """The headers that are sent as they lie before the payload, the same in all of these chains."""
        found = [lying_behind(self.program, self.record, self.derived, chain) for chain in chains if self.target.window]
        return found[0] if found and all(one == found[0] for one in found) else []

    def module(self, decl: ast.Module, form: Form) -> Lowered:
        """One module as a container of its own; the header record is in memory."""
        return self.once((id(decl),), form, partial(self.lower_module, decl))

    def lower_module(self, decl: ast.Module, form: Form) -> Lowered:
        module, fn, debug = self.new_function(decl.name, decl.span)
        low = self.lowering(fn, debug, True, form)
        accept = lambda: low.b.ret(i32(VERDICTS["ACCEPT"]))        # noqa: E731
        with bounded(low, decl.name):
            if isinstance(decl, ast.Parser):
                self.parser(low, decl, accept)
            elif isinstance(decl, ast.Processor):
                low.processor(decl, low.return_verdict)
            elif isinstance(decl, ast.Handler):
                low.handler(decl, accept)
            else:
                chains = [list(hook.chain) for hook in self.program.hooks if decl in hook.chain]
                low.in_place, low.lying_behind = self.in_place(*chains), self.lying_behind(*chains)
                if self.target.window and not low.in_place and not low.worth_it(deparser_guesses(decl, self.record)).shapes:
                    low.found_late = found_late(self.program, self.record, decl, chains) - low.stacks_in_turn - self.runs
                low.deparser(decl, accept)
            low.finish()
        return Lowered(decl.name, KINDS[type(decl)], text_of(module, self.target), isinstance(decl, ast.Deparser), low.keeps_record, radio_part(decl))

    def parser(self, low: Lowering, decl: ast.Parser, accept) -> None:
        def publish() -> None:
            with low.one_way():                 # another way may end as guessed, too
                low.end_guess()
                low.publish()
                accept()

        def lower() -> None:
            if not low.guess or low.miss is None:           # what several guesses find meets in the same headers
                low.keep_headers(in_memory=low.miss is None)
            low.parser(decl, publish if low.miss is not None else accept)

        low.usual_first(self.guesses(low, decl), lower)

    def migration(self, block: Migration) -> tuple[Lowered, KeptTable]:
        """A `migrate` block: a container whose record is the old registers that it declares; the table says where they lie."""
        assert block.decl is not None
        module, fn, debug = self.new_function(block.name, block.decl.span)
        low = self.lowering(fn, debug, in_memory=True)
        low.old_layout = StateLayout(zip(block.needs, block.decl.old))
        end = low.b.append_basic_block("end")
        low.returns.append((None, end))
        with bounded(low, block.name):
            low.run(block.decl.body.statements)
        if not low.b.block.is_terminated:
            low.b.branch(end)
        low.b.position_at_end(end)
        low.leave(i32(0))
        low.finish()
        return Lowered(block.name, MIGRATION, text_of(module, self.target), False, low.keeps_record), low.old_layout.kept(low.old_layout.objects)

    def fused(self, name: str, chain: list[ast.Module], form: Form, meets: bool = True, pairs: bool = True) -> Lowered:
        """The whole chain in one function; the header record lives in variables. `meets`: whether packets that are refused may meet before their ends
        are looked at. Of a parser alone LLVM's register allocator makes more where they do not. `pairs`: whether what a codec writes of two fields may
        be one loop. Where LLVM knows one of them that is more."""
        return self.once((name, *map(id, chain), meets, pairs), form, partial(self.lower_chain, name, chain, meets=meets, pairs=pairs))

    def lower_chain(self, name: str, chain: list[ast.Module], form: Form, meets: bool, pairs: bool) -> Lowered:
        module, fn, debug = self.new_function(name, chain[0].span)
        low = self.lowering(fn, debug, in_memory=False, form=form, chain=chain)
        low.images_in_memory |= form.in_memory
        low.may_meet = meets and bool(self.target.window)
        low.may_pair = pairs
        low.verdict_slot = low.alloca(I32, "verdict")
        low.payload_slot = low.alloca(PKT, "payload")
        low.in_place, low.lying_behind = self.in_place(chain), self.lying_behind(chain)
        low.tells_payload = tells_payload(self.program, chain, low.in_place or bool(low.lying_behind))
        low.repeats = repeatable(self.program, chain)
        low.may_be_left_out = left_out(self.program, chain, self.derived) if form.small else set()
        low.laid_out = laid_out(self.program, self.record, chain) if form.small and self.target.window and not low.images_in_memory else {}
        done = low.b.append_basic_block("done")
        rest = chain
        with bounded(low, name):
            if isinstance(chain[0], ast.Parser):
                rest = chain[1:]
                if self.target.window:          # else each access is tested by itself
                    low.first_headers = first_headers(chain[0], low.record)
                self.fused_parsers(low, chain[0], rest, done)
            self.fused_rest(low, rest, done)
        low.b.position_at_end(done)
        low.leave(low.b.load(low.verdict_slot, typ=I32))
        low.finish()
        return Lowered(name, FUSED, text_of(module, self.target), any(isinstance(decl, ast.Deparser) for decl in chain), low.keeps_record, reduce(or_, map(radio_part, chain)), low.paired)

    def guesses(self, low: Lowering, decl: ast.Parser) -> Plan:
        """Nothing where the parser writes into the packet: the second run would read what the first one wrote; nor where it counts elements of stacks."""
        writes = any(e.kind == "assign" and e.module is decl and e.instance is not None for e in effects(self.program))
        return Plan() if writes or counted_stacks(decl, low.target.small) else low.worth_it(parser_guesses(decl, self.record))

    def fused_parsers(self, low: Lowering, decl: ast.Parser, rest: list[ast.Module], done: ir.Block) -> None:
        """The parser, for each guess with a short rest of the chain of its own. Ends where the rest begins for everything else."""
        after = low.b.append_basic_block(f"after.{decl.name}")
        short = is_short(rest)

        def lower() -> None:
            alone = low.miss is not None and short and not low.meeting_point.waited_for and not low.meeting_point.brief
            own = low.b.append_basic_block("after.usual") if alone else after
            self.fused_parser(low, decl, own)
            low.end_guess()
            if own is not after:
                low.b.position_at_end(own)
                low.forget_assigned()
                low.module_ended()
                self.fused_rest(low, rest, done)
                low.cut_slot = None

        low.usual_first(self.guesses(low, decl), lower)
        low.b.position_at_end(after)
        low.module_ended()

    def fused_rest(self, low: Lowering, chain: list[ast.Module], done: ir.Block) -> None:
        for decl in chain:
            after = low.b.append_basic_block(f"after.{decl.name}")
            if isinstance(decl, ast.Processor):
                low.ends_with = decl if decl is chain[-1] and self.target.window else None
                self.fused_processor(low, decl, after)
            else:
                low.deparser(decl, lambda: low.b.branch(after))
            low.b.position_at_end(after)
            low.module_ended()
        low.b.branch(done)

    @staticmethod
    def fused_parser(low: Lowering, decl: ast.Parser, after: ir.Block) -> None:
        def accept() -> None:
            low.b.store(low.cursor(), low.payload_slot)
            low.b.branch(after)
        low.parser(decl, accept)
        low.parser_decl = None

    @staticmethod
    def fused_processor(low: Lowering, decl: ast.Processor, after: ir.Block) -> None:
        def done(verdict, reason, port) -> None:
            b = low.b
            go_on, stop = b.append_basic_block("go_on"), b.append_basic_block("stop")
            accept, transmit = (b.icmp_unsigned("==", verdict, i32(VERDICTS[n])) for n in ("ACCEPT", "TRANSMIT"))
            b.cbranch(b.or_(accept, transmit), go_on, stop)
            b.position_at_end(stop)
            low.return_verdict(verdict, reason, port)
            b.position_at_end(go_on)
            so_far = b.load(low.verdict_slot, typ=I32)
            b.store(b.select(accept, so_far, verdict), low.verdict_slot)
            b.branch(after)
        low.processor(decl, done)


class Lowerings:
    """What is lowered of a program, kept for who compiles it several times: at several of LLVM's levels, or without the forms that were refused."""

    def __init__(self, program: ast.Program) -> None:
        self.program = program
        self.kept: dict[tuple[Target, bool, bool], ProgramLowering] = {}

    def of(self, target: Target, listings: bool, fuse: bool) -> ProgramLowering:
        key = target, listings, fuse
        if key not in self.kept:
            self.kept[key] = ProgramLowering(self.program, target, listings, MOST_OPERATIONS, fuse)
        return self.kept[key]
