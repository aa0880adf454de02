"""A deferred field that a codec leaves out has the value that its equation gives: whether it holds need not be computed.

LOWPAN_NHC may elide UDP's checksum. The header then has the one that is computed, and `holds()` would compute it once more to compare the two. In a
fused chain where nobody reads the field but `holds()`, and nothing has changed by then, it is enough to know that it was left out. That is for short
code: what has room does not ask.
"""
from __future__ import annotations

from collections.abc import Sequence

import llvmlite.ir as ir

from lpn.compiler.bits import I1, Val
from lpn.lang import ast
from lpn.lang.derive import Derived
from lpn.lang.effects import effects
from lpn.lang.instances import header_of, named_field, walk
from lpn.lang.types import HeaderType

from .instance import Instance

Field = tuple[ast.StructField, ast.Field]       # of an instance
OF_PACKET = (ast.Function, ast.Field, ast.ChoiceField, ast.ChoiceArm, ast.StructField, ast.Param, ast.VarDecl, ast.Const, ast.EnumMember)
CHANGES = {"assign", "setValid", "setInvalid", "move", "truncate", "extract", "copied"}


def left_out(program: ast.Program, chain: Sequence[ast.Module], derived: Derived) -> set[Field]:
    """Of a chain: deferred fields of which only `holds()` says anything, asked where all is as it was extracted."""
    parser = chain[0]
    if not isinstance(parser, ast.Parser) or any(named_field(one) is None for one in asked_of(program.decls)):      # of a function's parameter
        return set()
    asked = {module: asks(module) for module in chain}
    found = effects(program)
    out: set[Field] = set()
    for instance in set().union(*asked.values()):
        last = max(i for i, module in enumerate(chain) if instance in asked[module])
        before = chain[1:last + 1]
        if not isinstance(instance.type, HeaderType) or instance in asked[parser] or not all(ends_with(state, instance) for state in parser.states):
            continue
        if any(e.kind in CHANGES and (e.instance is not None or e.kind == "truncate") and any(e.module is m for m in before) for e in found):
            continue
        if any(e.instance is instance and e.kind == "copied" for e in found) or any(instance in (one, later) for (one, _), (later, _) in program.summed):
            continue
        emitted = any(e.kind == "emit" and e.instance is instance and any(e.module is m for m in chain) for e in found)
        out |= {(instance, f) for f in header_of(instance).fields() if f.deferred and f.equation is not None and of_packet(f.equation)
                and not is_read(program, f) and (not emitted or (instance, f) in derived)}
    return out


def asks(module: ast.Module) -> set[ast.StructField]:
    """The instances of which a module asks whether they hold."""
    return {instance for one in asked_of(module) if (instance := named_field(one)) is not None}


def asked_of(part: object) -> list[ast.Expr]:
    return [n.callee.base for n in walk(part) if isinstance(n, ast.Call) and n.target == "holds" and isinstance(n.callee, ast.Member)]


def ends_with(state: ast.State, instance: ast.StructField) -> bool:
    """Whether the parser accepts as soon as the state has extracted the instance, if it does."""
    if not any(isinstance(n, ast.Member) and n.decl is instance for n in walk(state.statements)):
        return True
    last = state.statements[-1]
    call = last.call if isinstance(last, ast.ExprStmt) else None
    if not isinstance(call, ast.Call) or call.target != "extract" or named_field(call.args[0]) is not instance:
        return False
    if any(isinstance(n, ast.Member) and n.decl is instance for s in state.statements[:-1] for n in walk(s)):
        return False
    to = state.transition
    return to is not None and to.select is None and [case.target for case in to.cases] == ["accept"]


def of_packet(part: object) -> bool:
    """Whether what an equation says depends on the packet alone, and not on state, which may have changed by then."""
    for n in walk(part):
        if isinstance(n, (ast.Name, ast.Member)) and not isinstance(n.decl, OF_PACKET) and n.decl not in ("payload", "inet_sum"):
            return False
        if isinstance(n, ast.Call) and not (of_packet(n.target.body) if isinstance(n.target, ast.Function) else n.target == "inet_sum"):
            return False
    return True


def is_read(program: ast.Program, field: ast.Field) -> bool:
    """Whether the program names the field of any header, but for codecs that say it."""
    return any(isinstance(n, (ast.Member, ast.Name)) and n.decl is field for decl in program.decls if not isinstance(decl, ast.Codec) for n in walk(decl))


class LeftOut:
    """Mixed into `Lowering`. `may_be_left_out`: such fields; `was_left_out`: for each a variable that says whether the packet left it out."""

    may_be_left_out: set[Field]
    was_left_out: dict[Field, ir.Value]

    def may_be_asked(self, inst: Instance) -> bool:
        """Whether something asks if headers of this type hold."""
        return any(isinstance(one.type, HeaderType) and one.type.decl is inst.header for one in asked_of(self.program.decls))

    def say_left_out(self, inst: Instance, f: ast.Field, missing: ir.Value) -> bool:
        """Where a header was expanded; whether its field needs no value."""
        key = (inst.inst.field, f)
        if key not in self.may_be_left_out:
            return False
        if key not in self.was_left_out:
            self.was_left_out[key] = self.alloca(I1, f"{f.name}.left.out")
        self.b.store(missing, self.was_left_out[key])
        return True

    def nothing_left_out(self, inst: Instance) -> None:
        """Where a plain header was extracted: an attempt to guess may have gone before."""
        for (instance, _), variable in self.was_left_out.items():
            if instance is inst.inst.field:
                self.b.store(ir.Constant(I1, 0), variable)

    def holds(self, inst: Instance, f: ast.Field) -> ir.Value:
        """Whether a deferred field has the value of its equation, or is absent."""
        return inst.if_present(inst.layout.unit_of[f], lambda: self.equals(inst, f), lambda: self.bool_const(True))

    def equals(self, inst: Instance, f: ast.Field) -> ir.Value:
        variable = self.was_left_out.get((inst.inst.field, f))
        if variable is None:
            return self.eq(self.stored_bits(inst, f), inst.equation(f))
        b = self.b
        compare, done = b.append_basic_block("compare"), b.append_basic_block("compared")
        stored = None if self.images_in_memory else self.stored_bits(inst, f)         # which is in no memory where it was left out
        before = b.block
        b.cbranch(b.load(variable, typ=I1), done, compare)
        b.position_at_end(compare)
        equal = self.eq(stored or self.stored_bits(inst, f), inst.equation(f))
        ends = [(ir.Constant(I1, 1), before), (equal, b.block)]
        b.branch(done)
        b.position_at_end(done)
        return self.phi(I1, ends)

    def stored_bits(self, inst: Instance, f: ast.Field) -> Val:
        v = inst.read_stored(f)
        return v if isinstance(v, Val) else self.bool_to_bits(v)
